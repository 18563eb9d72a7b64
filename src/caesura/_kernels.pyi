"""Compiled kernels; use them through caesura's functions."""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def name() -> str:
    """The instruction set in use: plain or wide."""

class Automaton:
    """Label history: patterns and rules over label sequences."""

    def __init__(self, n_labels: int, histories: Sequence[Sequence[int]], rules: Sequence[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]]], same_label_adjacent: bool, most_states: int) -> None: ...

    @property
    def n_states(self) -> int: ...

class Problem:
    """The potentials of one sequence, indexed for the kernels."""

    def __init__(self, automaton: Automaton, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], emission: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], transition: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], spans: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | None, same_label_adjacent: bool, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], boundary: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], flags: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], edge_scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], histories: Sequence[Sequence[int]], static_targets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], static_scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def score(self, segments: list[tuple[int, int, int]]) -> float: ...

    def tally(self, method: int) -> dict[str, int]: ...

class Posterior:
    """ln Z and expected counts."""

    @property
    def log_partition(self) -> float: ...

    @property
    def entropy(self) -> float: ...

    @property
    def tokens(self) -> Annotated[NDArray[numpy.float64], dict(order='C')]: ...

    @property
    def boundaries(self) -> Annotated[NDArray[numpy.float64], dict(order='C')]: ...

    @property
    def transitions(self) -> Annotated[NDArray[numpy.float64], dict(order='C')]: ...

    @property
    def starts(self) -> Annotated[NDArray[numpy.float64], dict(order='C')]: ...

    @property
    def ends(self) -> Annotated[NDArray[numpy.float64], dict(order='C')]: ...

    @property
    def spans(self) -> Annotated[NDArray[numpy.float64], dict(order='C')]: ...

    @property
    def potentials(self) -> Annotated[NDArray[numpy.float64], dict(order='C')]: ...

    @property
    def edges(self) -> Annotated[NDArray[numpy.float64], dict(order='C')]: ...

    @property
    def patterns(self) -> Annotated[NDArray[numpy.float64], dict(order='C')]: ...

class Lookup:
    """Probabilities of single segments and transitions."""

    def __init__(self, problem: Problem, method: int) -> None: ...

    @property
    def log_partition(self) -> float: ...

    def segment(self, start: int, end: int, label: int) -> float: ...

    def transition(self, position: int, previous: int, label: int) -> float: ...

    def segments(self, min_probability: float) -> list[tuple[int, int, int, float]]: ...

def log_partition(problems: Sequence[Problem], method: int, n_threads: int) -> list[float]: ...

def posterior(problems: Sequence[Problem], method: int, n_threads: int, want_entropy: bool) -> list[Posterior]: ...

def best(problems: Sequence[Problem], method: int, n_threads: int) -> list[tuple[list[tuple[int, int, int]], float] | None]: ...

def n_best(problems: Sequence[Problem], n: int, method: int, n_threads: int) -> list[list[tuple[list[tuple[int, int, int]], float]]]: ...

def n_best_limited(problem: Problem, n: int, limits: NDArray[numpy.uint8], method: int, most_entries: int) -> list[tuple[list[tuple[int, int, int]], float]] | None: ...

def sample(problems: Sequence[Problem], n: int, seeds: Sequence[int], method: int, n_threads: int) -> list[list[list[tuple[int, int, int]]]]: ...

class Trie:
    """Sequences of keys, and where they occur."""

    def __init__(self) -> None: ...

    def add(self, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], payload: int) -> None: ...

    def scan(self, keys: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """All entries inside each document: starts, ends, payloads."""

class Interner:
    """Strings to numbers, in the order of their first coming."""

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    def ids(self, words: Sequence, grow: bool) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The number of each word; -1 where it is not known."""

    def bags(self, sequences: Sequence, grow: bool, flatten: Callable) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))] | None]:
        """
        Offsets of the sequences, then the attributes of each token as ptr, ids, values.
        """

    def text(self, id: int) -> str: ...

    def texts(self, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """The bytes of some texts, one after the other, and how many each has."""

class Corpus:
    """Encoded sequences: attributes on rows."""

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    @property
    def n_attributes(self) -> int: ...

    @property
    def lengths(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def row_attributes(self, i: int) -> tuple:
        """
        Of sequence i: ptr, attributes and values of all rows, then the spans and flags of its sites.
        """

    def edge_attributes(self, i: int) -> tuple: ...

class Extractor:
    """Templates over columns of numbers make attributes on rows."""

    def __init__(self, templates: Sequence[tuple[Sequence[tuple[int, int]], int]], orders: Sequence[int] | None = None) -> None: ...

    def __len__(self) -> int: ...

    def extract(self, corpus: Corpus, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None]], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], flags: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], sources: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], grow: bool) -> None: ...

    def restore(self, sources: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def keys(self) -> tuple:
        """The template and the values of each attribute: sources, ptr, values."""

class Gold:
    """The labels of a corpus."""

    def __init__(self, lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, ptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def hint(self, i: int, allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, boundary: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

class Design:
    """A corpus with the places of its weights."""

    def __len__(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_items(self) -> int: ...

class Parameters:
    """Which attribute has a weight with which label."""

    def __init__(self, corpus: Corpus, gold: Gold, n_labels: int, attributes: Extractor, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], barred: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, barred_start: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, barred_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, min_frequency: float, all_states: bool, all_transitions: bool, ends: bool, patterns: Sequence[Sequence[int]] = []) -> None: ...

    @staticmethod
    def restore(n_labels: int, attributes: Extractor, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], barred: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, barred_start: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, barred_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, attribute: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], edge_attribute: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], edge_pair: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], transition: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], patterns: Sequence[Sequence[int]] = [], n_plain: int = 0) -> Parameters: ...

    def __len__(self) -> int: ...

    def with_structure(self, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], transition: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Parameters: ...

    def compile(self, corpus: Corpus) -> Design: ...

    @property
    def attribute(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def label(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def edge_attribute(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def edge_pair(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def transition(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def patterns(self) -> list[list[int]]:
        """Label sequences; the first n_plain have a weight of their own."""

    @property
    def n_plain(self) -> int: ...

    @property
    def row_patterns(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def n_states(self) -> int: ...

    @property
    def start(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def end(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class Scorer:
    """Fixed weights, for prediction."""

    def __init__(self, parameters: Parameters, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], barred: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, barred_start: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, barred_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, automaton: Automaton, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def best(self, design: Design, n_threads: int, joined: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> list:
        """For each sequence its best segments, or None."""

    def names(self, design: Design, states: list, n_threads: int) -> list:
        """For each sequence the state of each token, or None."""

    def problems(self, design: Design) -> list: ...

    def rows(self, design: Design, i: int) -> tuple: ...

    def edges(self, design: Design, i: int) -> tuple: ...

class Objective:
    """Weights in, negative log-likelihood and gradient out."""

    def __init__(self, parameters: Parameters, design: Design, gold: Gold, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, automaton: Automaton, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def __len__(self) -> int: ...

    @property
    def n_careful(self) -> int:
        """How often the last evaluation had to ask the general sweeps."""

    def release(self) -> None: ...

    def evaluate(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sequences: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, single: bool, n_threads: int) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]: ...

    def maximum(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sequences: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, costed: bool, n_threads: int) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        The best score less the gold score, summed over sequences, and a subgradient.
        """

    def path(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], i: int, starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        The score of a segmentation of one sequence, without costs, and its counts.
        """

    def expectations(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], i: int, constrained: bool) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        ln Z of one sequence, or of what agrees with its partial labels, and expected counts.
        """

    def cost_segments(self, i: int, starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Adds costs to the scores of some segments of a sequence."""

class OnlinePass:
    """
    A pass of SGD or AdaGrad, which touches the weights of each batch only.
    """

    def __init__(self, objective: Objective, adagrad: bool, average: bool, rate: float, slowing: float, power: float, kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], c1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], averages: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], done: int) -> None: ...

    def run(self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, batch_size: int, seconds: float) -> int:
        """
        Batches from `begin` on until the time is over; returns where the next one begins.
        """

    def finish(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], averages: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Writes the weights, their averages and the sums of squared gradients."""

    @property
    def loss(self) -> float:
        """Sum over the batches, each before its step."""

    @loss.setter
    def loss(self, arg: float, /) -> None: ...

    @property
    def rate(self) -> float:
        """Learning rate of the last batch."""

    @property
    def done(self) -> int:
        """Batches, with those before the pass."""

def dot(a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int) -> float:
    """a.b, the same on any number of threads."""

def direction(gradient: NDArray[numpy.float64], s: Sequence[NDArray[numpy.float64]], y: Sequence[NDArray[numpy.float64]], rho: NDArray[numpy.float64], c1: NDArray[numpy.float64], n_threads: int, out: NDArray[numpy.float64]) -> float:
    """
    out = -H gradient by the two-loop recursion over the pairs, oldest first; returns gradient.out.
    """

def penalise(w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> tuple[float, float, float, float]:
    """
    out = gradient + 2 c2 w; returns the penalty, w.w, g.g of the (pseudo-)gradient, the weights not 0.
    """

def pseudo_gradient(w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """out = the gradient with c1 |w|_1, its least where there are two."""

def move(w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], d: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], step: float, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """
    out = w + step d, kept in its orthant where c1 > 0; returns gradient.(out - w).
    """

def subtract(a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """out = a - b; returns out.out."""
