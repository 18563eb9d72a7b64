"""Compiled kernels; use them through caesura's functions."""

from collections.abc import Callable, Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def name() -> str:
    """The instruction set in use: plain or wide."""

class Automaton:
    """Label history: patterns and rules over label sequences."""

    def __init__(self, order: Sequence[int]) -> None:
        """The automaton of a first-order model without rules."""

    @property
    def n_states(self) -> int: ...

class Problem:
    """The potentials of one sequence, indexed for the kernels."""

    def __init__(self, rules: Sequence[tuple[str, Sequence[int]]], spelling: tuple[Sequence[int], Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]] | None, emission: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], transition: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], spans: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | None, same_label_adjacent: bool, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], boundary: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], flags: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], edge_scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], histories: Sequence[Sequence[int]], static_targets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], static_scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

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

    def run(self, start: int, end: int, tags: Sequence[int], joined: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> float:
        """The probability that these tags say a segment of a chain."""

    def transition(self, position: int, previous: int, label: int) -> float: ...

    def likely_segments(self, most: int, skipped: int) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.float64]]: ...

    def segments(self, min_probability: float) -> list[tuple[int, int, int, float]]: ...

def log_partition(problems: Sequence[Problem], method: int, n_threads: int) -> list[float]: ...

def posterior(problems: Sequence[Problem], method: int, n_threads: int, want_entropy: bool) -> list[Posterior]: ...

def best(problems: Sequence[Problem], method: int, n_threads: int) -> list[tuple[list[tuple[int, int, int]], float] | None]: ...

def n_best(problems: Sequence[Problem], n: int, method: int, n_threads: int, kind: type[tuple], names: list[list[str]], path: type[tuple], origins: list[object]) -> list[list]: ...

def n_best_spelled(problems: Sequence[Problem], reading: Reading, n: int, method: int, n_threads: int) -> list[list[tuple[list[tuple[int, int, int]], float]]]: ...

def best_without(problem: Problem, method: int, reading: Reading, path: list[tuple[int, int, int]], segments: Sequence[tuple[int, int, int]]) -> list[tuple[int, list[tuple[int, int, int]], int] | None]: ...

def sample(problems: Sequence[Problem], n: int, seeds: Sequence[int], method: int, n_threads: int, kind: type[tuple], names: list[list[str]]) -> list[list[list]]: ...

class Batch32:
    """The scores of a batch of sequences, read where they are."""

    def __init__(self, n_labels: int, n_rows: int, lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tokens: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, segments: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, longest: int, starts: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, ends: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None, boundaries: Annotated[NDArray[numpy.int8], dict(order='C', device='cpu', writable=False)] | None, span_index: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, span_scores: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, transition: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, start: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, end: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], same_label_adjacent: bool, patterns: Sequence[Sequence[int]], pattern_scores: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, rules: Sequence[tuple[str, Sequence[int]]]) -> None: ...

    @staticmethod
    def zeros(shape: Sequence[int]) -> NDArray[numpy.float32]: ...

    def log_partition(self, out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C')], n_threads: int) -> None: ...

    def posterior(self, log_z: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, entropy: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, tokens: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, segments: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, starts: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, ends: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, spans: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, transition: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, start: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, end: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, patterns: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')] | None, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_threads: int) -> None: ...

    def best(self, n_threads: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int64]]: ...

    def n_best(self, n: int, n_threads: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int64]]: ...

    def sample(self, n: int, seed: int, n_threads: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int64]]: ...

class Batch64:
    """The scores of a batch of sequences, read where they are."""

    def __init__(self, n_labels: int, n_rows: int, lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tokens: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, segments: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, longest: int, starts: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, ends: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None, boundaries: Annotated[NDArray[numpy.int8], dict(order='C', device='cpu', writable=False)] | None, span_index: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, span_scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, transition: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, start: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, end: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], same_label_adjacent: bool, patterns: Sequence[Sequence[int]], pattern_scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, rules: Sequence[tuple[str, Sequence[int]]]) -> None: ...

    @staticmethod
    def zeros(shape: Sequence[int]) -> NDArray[numpy.float64]: ...

    def log_partition(self, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], n_threads: int) -> None: ...

    def posterior(self, log_z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, entropy: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, tokens: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, segments: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, starts: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, ends: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, spans: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, transition: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, start: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, end: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, patterns: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_threads: int) -> None: ...

    def best(self, n_threads: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int64]]: ...

    def n_best(self, n: int, n_threads: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int64]]: ...

    def sample(self, n: int, seed: int, n_threads: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int64]]: ...

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

    def text(self, id: int) -> str: ...

    def texts(self, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """The bytes of some texts, one after the other, and how many each has."""

    def add_texts(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The numbers of texts in the form of `texts`, which become known."""

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

    @property
    def limit(self) -> int:
        """How many attributes there may be: those that come later are not known."""

    @limit.setter
    def limit(self, arg: int, /) -> None: ...

    @overload
    def extract(self, corpus: Corpus, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None]], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], flags: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], sources: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], grow: bool) -> None: ...

    @overload
    def extract(self, corpus: Corpus, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None]], firings: Firings, grow: bool, words: WordRows | None = None, types: TokenTypes | None = None, tokens: TokenBatch | None = None) -> None: ...

    def restore(self, sources: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def keys(self) -> tuple:
        """The template and the values of each attribute: sources, ptr, values."""

def read_bags(interner: Interner, sequences: Sequence, grow: bool, flatten: Callable) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))] | None]:
    """
    Offsets of the sequences, then the attributes of each token as ptr, ids, values.  flatten(bag, i, t) returns the names and values of a bag of an unusual type, or raises.
    """

def are_bags(sequences: list) -> bool:
    """
    Whether all sequences are lists of the attributes of tokens, which are lists or dicts.
    """

def flat_bags(sequence: object, flatten: Callable) -> list:
    """
    For each token a list of the names of its attributes, or a dict with their values where some are not 1.
    """

class Characters:
    """Properties of code points, read from Python in pages."""

    def __init__(self, read_page: Callable, normalise: Callable) -> None: ...

    def spans(self, text: str, tokeniser: str) -> list[tuple[int, int]]:
        """The character span of each token."""

class Pattern:
    """A regular expression of the part that is a regular language."""

    @staticmethod
    def compile(source: str, search: bool = False) -> Pattern:
        """
        A pattern, or None if the expression is not of that part.  One to search with may have anchors and word boundaries, and is only for that.
        """

    def find(self, text: str, characters: Characters, most: int) -> list[tuple[int, int]] | None:
        """
        The spans of re.finditer that are not empty, in linear time; None if that takes more than `most` bytes.
        """

    def fullmatch(self, word: str, characters: Characters) -> bool:
        """Whether the whole word matches."""

class TokenBatch:
    """The types of the tokens of many sequences, in one row."""

    def __len__(self) -> int: ...

    @property
    def types(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

class TokenTypes:
    """The distinct tokens met so far, and their columns."""

    def __init__(self, characters: Characters) -> None: ...

    def __len__(self) -> int: ...

    @property
    def generation(self) -> int:
        """It changes when types are forgotten."""

    def add_column(self, kind: str, normalisers: Sequence[str], values: Interner, *, low: int = 0, high: int = 0, buckets: Sequence[str] = [], pattern: Pattern | None = None, known: Interner | None = None, every: bool = False) -> int:
        """Add a column of words, and return its index."""

    def read_texts(self, texts: Sequence, tokeniser: str, located: bool = False) -> TokenBatch:
        """
        Cut texts into tokens, and return their types, with their places if asked for.
        """

    def read_matches(self, texts: Sequence, pattern: Pattern, most: int, located: bool = False) -> TokenBatch:
        """
        The same with the matches of a pattern; None if a text takes more than `most` bytes.
        """

    def read_spans(self, texts: Sequence, spans: list, located: bool = False) -> TokenBatch:
        """
        The same with the spans of tokens in each text, of which empty ones are left out.
        """

    def read_tokens(self, sequences: Sequence) -> TokenBatch:
        """Return the types of tokens."""

    def extend(self, first: int, last: int, grow: bool) -> None:
        """
        Compute columns for the types that have come since; not those of kind python.
        """

    def n_done(self, column: int) -> int:
        """The number of types whose values are there."""

    def put(self, column: int, counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Give a column of kind python the values of the next types."""

    def take(self, columns: Sequence[int], batch: TokenBatch) -> list[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None, Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))] | None]]:
        """
        The values of each token in each column: ptr (None: one a token), numbers, None.
        """

    def words(self, first: int = 0) -> list:
        """The tokens of the types from `first` on."""

    def forget(self) -> None:
        """Forget all types."""

def positions(batch: TokenBatch, origin: str, limit: int, values: Interner, grow: bool) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """The number of each token's place in its sequence."""

def repeats(batch: TokenBatch, offset: int, values: Interner, grow: bool) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    The number of yes or no for each token: whether it is the same as another.
    """

class WordsAround:
    """The words that contain the tokens of a batch."""

    @property
    def words(self) -> TokenBatch:
        """The words of all sequences."""

    def cut(self, view: str, words: TokenTypes, pieces: TokenTypes) -> None:
        """Read the two pieces of the word of each token."""

    def values(self, view: str, offset: int, before: int, after: int, words: TokenTypes, column: int, pieces: TokenTypes | None = None, of_piece: int = -1) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        The values, at each token, of the word at an offset from its own: ptr or None, numbers.
        """

    def values_of(self, view: str, offset: int, before: int, after: int, ptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """The same with a column that has its own values at each word."""

    def places(self, numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The number of each token's position: only, first, inside or last."""

def words_around(words: TokenTypes, own: TokenTypes, tokens: TokenBatch, texts: list | None, offsets: list | None, by: str) -> WordsAround:
    """The words that contain the tokens of a batch."""

class SimilarEntries:
    """The entries of a lexicon, and which spans are similar to one."""

    def __init__(self, n_characters: int, space: int, characters: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], having: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], having_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def reached(self, characters: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], types: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], document_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], thresholds: Sequence[float], max_length: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        The spans that reach a threshold: starts, ends, and how many thresholds.
        """

class EntryFinder:
    """The entries of a lexicon, and where they occur."""

    def __init__(self, loose: bool) -> None: ...

    def add(self, keys: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], entry: int) -> None: ...

    def find(self, keys: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], marks: bool) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """All matches inside each document: starts, ends, entries."""

    def places(self, keys: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int8], dict(shape=(None,))]:
        """
        Where in an entry each token is: begin, inside, end, single (0 to 3), or -1.
        """

class SpanShapes:
    """The attributes of spans, by what is said of their tokens."""

    def __init__(self, max_length: int, collapse: bool) -> None: ...

    def forget(self) -> None:
        """Forget the numbers of attributes."""

class Firings:
    """Where features of segments fire."""

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    def add(self, source: int, starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], flags: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Add what was found in Python; ids below 0 are left out."""

    def add_lengths(self, source: int, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Interner, rules: Sequence[tuple[int, int, str, float]]) -> None:
        """Add segments of some lengths."""

    def add_entries(self, source: int, keys: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], finder: EntryFinder, tables: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> None:
        """Add the matches of a lexicon."""

    def add_shapes(self, source: int, numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], shapes: SpanShapes, said: Interner, values: Interner) -> None:
        """Add the spans whose attributes are known."""

    def add_pattern(self, source: int, batch: TokenBatch, types: TokenTypes, pattern: Pattern, joiner: str, max_length: int, id: int) -> None:
        """Add the spans whose text matches."""

    def sort(self, n_tokens: int) -> None:
        """Sort by start; features stay in their order."""

class SpanCorpus:
    """Sequences for features that look back."""

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    @property
    def lengths(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def checksum(self) -> int:
        """A hash of everything in it."""

    def append(self, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Sequence[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None]], values: Sequence[Interner], firings: Firings, sources: Sequence[tuple[int, str]]) -> None: ...

class SpanModel:
    """Weights of features that look back, by keys."""

    def __init__(self, n_columns: int, n_labels: int, boundary_weights: bool, tokens: Sequence[tuple[Sequence[tuple[int, int]], int, str]], segments: Sequence[tuple[Sequence[tuple[int, int, int]], str]], sees_everything: bool) -> None: ...

    def __len__(self) -> int: ...

    @property
    def depth(self) -> int: ...

    @property
    def keys(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

    @property
    def weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def n_texts(self) -> int: ...

    def texts(self, k: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

    def known(self, k: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
        """Hashes of the texts of column k that are in some key."""

    def know(self, k: int, hashes: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Adds to what `known` says."""

    def scaled(self, share: float) -> SpanModel:
        """The model with all weights times a number."""

    def restore(self, keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], texts: Sequence[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> None: ...

    def compile(self, corpus: SpanCorpus) -> SpanCorpus:
        """Keys are looked for when they are needed, so a corpus stays as it is."""

class SpanObjective:
    """Log-likelihood with features of pairs."""

    def __init__(self, model: SpanModel, corpus: SpanCorpus, gold: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]], bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], barred: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], barred_start: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], barred_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], min_freq: float, n_threads: int) -> None: ...

    def __len__(self) -> int: ...

    @property
    def size(self) -> int: ...

    def evaluate(self, w: NDArray[numpy.float64], n_threads: int) -> tuple[float, NDArray[numpy.float64]]: ...

    def put(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class SpanPerceptron:
    """The averaged perceptron with an agenda."""

    def __init__(self, model: SpanModel, corpus: SpanCorpus, gold: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]], bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], barred: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], barred_start: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], barred_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beam: int | None, update: int) -> None: ...

    def run(self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, seconds: float, own: object | None) -> int: ...

    def averaged(self) -> SpanModel: ...

    @property
    def sums(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def date(self) -> float: ...

    def resume(self, model: SpanModel, sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], date: float, updates: int) -> None:
        """Goes on from where another run was."""

    @property
    def updates(self) -> int: ...

class SpanPosterior:
    """Probabilities of the spans of one sequence."""

    @property
    def log_partition(self) -> float: ...

    @property
    def entropy(self) -> float: ...

    @property
    def shape(self) -> tuple[int, int, int]: ...

    @property
    def spans(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def transitions(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def starts(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def ends(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class SpanScorer:
    """A model with features that look back, which answers."""

    def __init__(self, model: SpanModel, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], barred: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], barred_start: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], barred_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], entry_bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, beam: int | None) -> None: ...

    @property
    def depth(self) -> int: ...

    def best(self, design: SpanCorpus, reading: Reading | None, n_threads: int, own: object | None = None) -> Paths: ...

    def confident(self, design: SpanCorpus, reading: Reading, n_threads: int) -> Paths: ...

    def posterior(self, design: SpanCorpus, want_entropy: bool, n_threads: int) -> list[SpanPosterior]: ...

    def log_partition(self, design: SpanCorpus, n_threads: int) -> list[float]: ...

    def n_best(self, design: SpanCorpus, reading: Reading, kind: object, names: list, n: int, n_threads: int) -> list: ...

    def sample(self, design: SpanCorpus, reading: Reading, kind: object, names: list, n: int, seed: int, n_threads: int) -> list: ...

    def score(self, design: SpanCorpus, i: int, segments: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> float: ...

    def said(self, design: SpanCorpus, i: int, segments: NDArray[numpy.int32]) -> list[tuple[int, int, float]]: ...

    def tally(self, design: SpanCorpus, i: int) -> tuple[int, int]: ...

class SpanGraphs:
    """The graphs of labelled spans of a batch of sequences."""

    def __init__(self, lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, rule: int, spans: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], transition: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int) -> None: ...

    def arcs(self) -> NDArray[numpy.int64]: ...

    def log_partition(self, n_threads: int) -> NDArray[numpy.float64]: ...

    def posterior(self, want_entropy: bool, n_threads: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...

    def n_best(self, n: int, n_threads: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.float64]]: ...

    def sample(self, n: int, seed: int, n_threads: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.float64]]: ...

class SpanGraph:
    """A graph of labelled spans, indexed for the kernels."""

    def __init__(self, length: int, n_labels: int, rule: int, spans: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], transition: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], arcs: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], arc_scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def broken_arc(self) -> int: ...

    def score(self, path: Sequence[int]) -> float: ...

    def log_partition(self) -> float: ...

    def posterior(self, want_entropy: bool) -> tuple[float, float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...

    def n_best(self, n: int) -> list[tuple[list[int], float]]: ...

    def sample(self, n: int, seed: int) -> list[tuple[list[int], float]]: ...

    def tally(self) -> dict[str, int]: ...

class Gold:
    """The labels of a corpus."""

    def __init__(self, lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, ptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def hint(self, i: int, allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, boundary: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    def first_broken(self, rules: Sequence[tuple[str, Sequence[int]]], spelling: tuple[Sequence[int], Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]] | None) -> tuple[int, int] | None:
        """
        The first fully labelled sequence that breaks a rule, and the number of that rule.
        """

class Design:
    """A corpus with the places of its weights."""

    def __len__(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

class Parameters:
    """Which attribute has a weight with which label."""

    def __init__(self, corpus: Corpus, gold: Gold, n_labels: int, attributes: Extractor, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], barred: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, barred_start: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, barred_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, min_frequency: float, all_states: bool, all_transitions: bool, ends: bool, patterns: Sequence[Sequence[int]] = []) -> None: ...

    @staticmethod
    def restore(n_labels: int, attributes: Extractor, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], barred: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, barred_start: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, barred_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, attribute: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], edge_attribute: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], edge_pair: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], transition: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], patterns: Sequence[Sequence[int]] = [], n_plain: int = 0) -> Parameters: ...

    def __len__(self) -> int: ...

    def with_structure(self, bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], transition: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Parameters: ...

    def with_rules(self, rules: Sequence[tuple[str, Sequence[int]]], spelling: tuple[Sequence[int], Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]] | None) -> Parameters:
        """The same weights where every segmentation keeps rules."""

    def ruled_like(self, other: Parameters) -> Parameters:
        """
        The same weights where every segmentation keeps the rules of another model.
        """

    def compile(self, corpus: Corpus, folder: str | None = None) -> Design:
        """
        The corpus with the places of its weights; in memory, or in files of a folder.
        """

    @property
    def frequency(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """How often each pair of `attribute` and `label` was observed."""

    @property
    def edge_frequency(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

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
    def n_states(self) -> int: ...

    @property
    def start(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def end(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class Reading:
    """What the states of a model say about segments."""

    def __init__(self, label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], joined: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None) -> None: ...

class Condition:
    """What the answers about one sequence must keep."""

    def __init__(self, n_labels: int, allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, boundary: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], forbidden: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], histories: Sequence[tuple[int, int, Sequence[int]]], rules: Sequence[tuple[str, Sequence[int]]], spelling: tuple[Sequence[int], Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]] | None) -> None: ...

class Paths:
    """The best segments of many sequences."""

    def __len__(self) -> int: ...

    @property
    def ptr(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def probabilities(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def segments(self, kind: object, names: list) -> list:
        """
        For each sequence its segments, or None where no segmentation is possible.
        """

    def confident(self, outer: object, kind: object, names: list, probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], calibrated: bool, least: float) -> list:
        """The same, each with its probability."""

    def tokens(self, names: list) -> list:
        """For each sequence the state of each token, or None."""

class Scorer:
    """A trained model, which answers about encoded sequences."""

    def __init__(self, parameters: Parameters, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], barred: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], barred_start: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], barred_end: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], entry_bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    @property
    def transition(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def start(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def end(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def best(self, design: Design, reading: Reading | None, n_threads: int, conditions: Sequence[Condition] | None = None) -> Paths: ...

    def confident(self, design: Design, reading: Reading, n_threads: int, conditions: Sequence[Condition] | None = None) -> Paths: ...

    def posterior(self, design: Design, want_entropy: bool, n_threads: int, conditions: Sequence[Condition] | None = None) -> list: ...

    def log_partition(self, design: Design, n_threads: int, conditions: Sequence[Condition] | None = None) -> list[float]: ...

    def n_best(self, design: Design, reading: Reading, kind: object, names: list, n: int, n_threads: int, conditions: Sequence[Condition] | None = None) -> list: ...

    def sample(self, design: Design, reading: Reading, kind: object, names: list, n: int, seed: int, n_threads: int, conditions: Sequence[Condition] | None = None) -> list: ...

    def n_best_spelled(self, design: Design, reading: Reading, kind: object, names: list, n: int, n_threads: int, conditions: Sequence[Condition] | None = None) -> list: ...

    def problem(self, design: Design, i: int, conditions: Sequence[Condition] | None = None) -> Problem: ...

    def potentials(self, design: Design, i: int) -> tuple: ...

class WordRows:
    """What words score by themselves, added up beforehand."""

    def __init__(self, parameters: Parameters, scorer: Scorer, attributes: Extractor, columns: Sequence[int]) -> None: ...

    @property
    def bytes(self) -> int:
        """Memory of the rows that words have now."""

    @property
    def needed(self) -> list[int]:
        """For each column whether it is looked at beside these rows."""

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

    def best(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], i: int, costed: bool) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], float]:
        """
        The best segmentation of one sequence as starts, ends and labels, and its cost.
        """

    def set_loss(self, name: str, reading: Reading, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None:
        """
        What a wrong segmentation costs, in place of all costs before: none, hamming, segments or zero-one.
        """

    def expectations(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], i: int, constrained: bool) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        ln Z of one sequence, or of what agrees with its partial labels, and expected counts.
        """

class OnlinePass:
    """
    A pass of SGD or AdaGrad, which touches the weights of each batch only.
    """

    def __init__(self, objective: Objective, adagrad: bool, average: bool, rate: float, slowing: float, power: float, n_sequences: float, kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], c1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], averages: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], done: int) -> None: ...

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

class PathStep(enum.Enum):
    """How a learner of `PathPass` changes weights."""

    PERCEPTRON = 0

    PASSIVE_AGGRESSIVE = 1

    AROW = 2

    FRANK_WOLFE = 3

class PathPass:
    """
    Passes of a learner that looks at best paths, which touch only the weights that a step changes.
    """

    def __init__(self, objective: Objective, step: PathStep, pa_type: int, c: float, by_errors: bool, r: float, c2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, variance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, blocks: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]] | None, done: int) -> None: ...

    def run(self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, seconds: float) -> int:
        """
        Steps from `begin` on until the time is over; returns where the next one begins.
        """

    def settle(self) -> None:
        """
        Steps of Frank-Wolfe between the paths that are kept, without any search.
        """

    def finish(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, variance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None) -> None:
        """Writes the weights, the sums of their average and their variances."""

    def blocks(self) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        The paths of Frank-Wolfe: those of each sequence, their weights and values, costs and shares.
        """

    def hinge(self, n_threads: int) -> float:
        """Sum of the losses at the weights of now."""

    @property
    def penalty(self) -> float:
        """c2 |w|^2"""

    @property
    def dual(self) -> float:
        """Value of the dual."""

    @property
    def loss(self) -> float:
        """Sum over the steps, each before its change."""

    @loss.setter
    def loss(self, arg: float, /) -> None: ...

    @property
    def mistakes(self) -> int:
        """Steps that changed the weights."""

    @mistakes.setter
    def mistakes(self, arg: int, /) -> None: ...

    @property
    def done(self) -> int:
        """Steps, with those before the pass."""

class DualPass:
    """Passes of exponentiated gradient over a corpus."""

    def __init__(self, objective: Objective, log: bool, mu: float, c2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], eta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], fresh: bool) -> None: ...

    @staticmethod
    def n_scores(objective: Objective) -> int:
        """How many scores the dual has."""

    def run(self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, seconds: float) -> int:
        """
        Steps from `begin` on until the time is over; returns where the next one begins.
        """

    def finish(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], eta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Writes the weights and the dual."""

    @property
    def penalty(self) -> float:
        """c2 |w|^2"""

    @property
    def dual(self) -> float:
        """Value of the dual."""

    @property
    def entropy(self) -> float:
        """Sum of the entropies."""

    def set_mu(self, mu: float) -> None:
        """What the entropies count in the next steps."""

def dot(a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int) -> float:
    """a.b, the same on any number of threads."""

@overload
def direction(gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], y: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], products: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float: ...

@overload
def direction(gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Sequence[Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]], y: Sequence[Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]], products: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], c1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """
    out = -H gradient by the pairs, oldest first, with their products s[i].y[j], i <= j, and y[i].y[j], and 0 where c1 keeps a weight w = 0 at zero; returns gradient.out.
    """

@overload
def pair_products(s: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], y: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

@overload
def pair_products(s: Sequence[Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]], y: Sequence[Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]], n_threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """out[0] = s[i].y[-1], out[1] = y[i].y[-1]."""

@overload
def correction_pair(w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], g0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, s: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], y: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> tuple[float, float, float]: ...

@overload
def correction_pair(w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], g0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, s: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], y: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> tuple[float, float, float]:
    """
    s = w - w0, y = g - g0, rounded to float32, or to its upper half in uint16; returns s.s, y.y and s.y.
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
