"""Compiled kernels; use them through caesura's functions."""

from collections.abc import Sequence
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

def sgd_update(w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], average: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rate: float, fraction: float, c2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: float, n_threads: int) -> None:
    """One step of SGD, in place."""

def adagrad_update(w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], average: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rate: float, fraction: float, c1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: float, n_threads: int) -> None:
    """One step of AdaGrad, in place."""
