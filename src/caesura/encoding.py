"""From documents to numbers: the only thing that the kernels are given.

::

    documents -> columns of value numbers -> templates -> attributes on rows (a Corpus)

Strings are met once: each distinct value of a column has a number, and an attribute is a template
with the numbers that it found. What is computed from a word alone is computed once for each
distinct word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.features import Column, SegmentFeature, Template
from caesura.features.bags import bag
from caesura.features.batch import Batch, Words
from caesura.features.given import AttributesColumn, DenseColumn, GivenColumn
from caesura.features.templates import AFTER, BEFORE, PLACES

__all__ = ["Encoder"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Values = tuple[Longs | None, Ints, Floats | None]  # ptr (None: one value a token), numbers, weights

UNSEEN = -3  # the number of a value that no attribute has; cpp/corpus.hpp has the same
MOST_WORDS = 200_000  # distinct words whose values are remembered


class Encoder:
    """Turn documents into attributes on rows.

    Parameters
    ----------
    features : sequence of Template and SegmentFeature
        What to look at; those that learn have learnt.

    Examples
    --------
    >>> from caesura.features import word
    >>> encoder = Encoder([word[0], word[-1]])
    >>> corpus = encoder.encode([Document(("New", "Zealand"))], grow=True)
    >>> [encoder.name(a) for a in range(len(encoder))]
    ['word[0]=New', 'word[-1]=<s>', 'word[0]=Zealand', 'word[-1]=New']
    """

    def __init__(self, features: Sequence[Template | SegmentFeature]) -> None:
        self.features = list(features)
        self.columns: list[Column] = []
        self._templates: list[Template | SegmentFeature] = []  # in the kernels' order
        self.values: list[_kernels.Interner] = []  # of each column, then of each segment feature
        self._segments: list[int] = []  # which of the templates are segment features
        index: dict[Column, int] = {}
        plans: list[tuple[list[tuple[int, int]], int]] = []
        for feature in self.features:
            parts: list[tuple[int, int]] = []
            place = 0
            if isinstance(feature, Template):
                parts = [(index.setdefault(c, len(index)), offset) for c, offset in feature.parts]
                place = PLACES.index(feature.place)
            else:
                self._segments.append(len(plans))
            plans.append((parts, place))
        self._plans = plans
        self.columns = list(index)
        self.values = [_kernels.Interner() for _ in (*self.columns, *self._segments)]
        self._extractor = _kernels.Extractor(plans)
        self._lock = Lock()
        self.forget()

    def __len__(self) -> int:
        return len(self._extractor)

    def forget(self) -> None:
        """Forget the words seen, but not their numbers."""
        self._words = Words()
        self._tables = {c: _Table() for c, column in enumerate(self.columns) if column.per_word}

    def encode(
        self, documents: Sequence[Document], grow: bool, corpus: _kernels.Corpus | None = None
    ) -> _kernels.Corpus:
        """Append documents to a corpus, or to a new one.

        Parameters
        ----------
        documents : sequence of Document
            What to encode.
        grow : bool
            Whether attributes that are not known yet become known, or are left out.
        corpus : Corpus, optional
            Where to append.
        """
        corpus = _kernels.Corpus() if corpus is None else corpus
        with self._lock:
            batch = Batch(documents, self._words)
            columns = [self._column(c, batch, grow) for c in range(len(self.columns))]
            firings = self._firings(batch, grow)
            self._extractor.extract(corpus, batch.offsets, columns, *firings, grow)
            if len(self._words.words) > MOST_WORDS:
                self.forget()
        return corpus

    # -- columns -----------------------------------------------------------------------------

    def _column(self, c: int, batch: Batch, grow: bool) -> Values:
        """Return the values of all tokens of a batch, as numbers."""
        column, values = self.columns[c], self.values[c]
        if column.per_word:
            types = batch.types  # this may meet new words
            self._tables[c].extend(column, values, batch.words.words, grow)
            return self._tables[c].take(types)
        if isinstance(column, AttributesColumn):
            return _bags(values, batch, grow)
        if isinstance(column, DenseColumn):
            return _dense(values, batch, grow)
        if isinstance(column, GivenColumn):
            given = [document.columns.get(column.name) for document in batch.documents]
            if all(one is not None for one in given) and not any(None in one for one in given if one):
                numbers = values.ids(list(chain.from_iterable(one for one in given if one)), grow)
                return None, _seen(numbers), None
        return _said(column, values, batch, grow)

    def _firings(self, batch: Batch, grow: bool) -> tuple[Any, ...]:
        """Return where the segment features fire: six arrays, sorted by start."""
        parts: list[list[npt.NDArray[Any]]] = [[] for _ in range(6)]
        for k, source in enumerate(self._segments):
            feature = self.features[source]
            assert isinstance(feature, SegmentFeature)
            fired = feature.firings(batch)
            numbers = _seen(self.values[len(self.columns) + k].ids(fired.names, grow))
            ids = numbers[fired.which] if len(numbers) else np.zeros(0, np.int32)
            kept = ids != UNSEEN
            sources = np.full(len(ids), source, np.int32)
            row = (fired.starts, fired.ends, fired.flags, sources, ids, fired.values)
            for part, array in zip(parts, row, strict=True):
                part.append(array[kept])
        types = (np.int32, np.int32, np.uint8, np.int32, np.int32, np.float64)
        joined = [
            np.concatenate([*part, np.zeros(0, dtype)]).astype(dtype)
            for part, dtype in zip(parts, types, strict=True)
        ]
        order = np.argsort(joined[0], kind="stable")
        return tuple(np.ascontiguousarray(array[order]) for array in joined)

    # -- names and files ---------------------------------------------------------------------

    def name(self, attribute: int) -> str:
        """Return the name of an attribute, as it is shown to people."""
        return self.names([attribute])[0]

    def names(self, attributes: Iterable[int]) -> list[str]:
        """Return the names of attributes."""
        sources, ptr, values = self._extractor.keys()
        out = []
        for a in attributes:
            source = int(sources[a])
            feature = self.features[source]
            numbers = values[ptr[a] : ptr[a + 1]].tolist()
            if not isinstance(feature, Template):
                k = len(self.columns) + self._segments.index(source)
                out.append(feature.name + self.values[k].text(numbers[0]))
                continue
            parts = self._plans[source][0]
            texts = [
                self._text(column, n) for (column, _), n in zip(parts, numbers, strict=True)
            ]
            only = feature.parts[0][0] if len(parts) == 1 else None
            given = isinstance(only, AttributesColumn) and feature.place == "token"
            out.append(texts[0] if given and feature.parts[0][1] == 0 else feature.attribute(texts))
        return out

    def _text(self, column: int, number: int) -> str:
        return (AFTER, BEFORE)[number + 2] if number < 0 else self.values[column].text(number)

    @property
    def sources(self) -> Ints:
        """The index of the feature of each attribute."""
        return self._extractor.keys()[0]

    def state(self, attributes: Ints) -> dict[str, npt.NDArray[Any]]:
        """Return what `restore` needs to know these attributes again, as 0, 1, ..."""
        sources, ptr, values = self._extractor.keys()
        counts = np.diff(ptr)[attributes]
        out: dict[str, npt.NDArray[Any]] = {"sources": sources[attributes]}
        out["ptr"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.repeat(ptr[:-1][attributes] - out["ptr"][:-1], counts)
        numbers = values[places + np.arange(len(places))]
        owner = self._owners(np.repeat(out["sources"], counts), out["ptr"])
        for k, interner in enumerate(self.values):
            mine = (owner == k) & (numbers >= 0)
            used, renumbered = np.unique(numbers[mine], return_inverse=True)
            numbers[mine] = renumbered
            texts = "\0".join(interner.text(int(n)) for n in used).encode("utf-8", "surrogatepass")
            out[f"values{k}"] = np.frombuffer(texts, np.uint8)
            out[f"n_values{k}"] = np.array([len(used)], np.int64)
        out["numbers"] = numbers.astype(np.int32)
        return out

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Know the attributes that `state` wrote."""
        for k, interner in enumerate(self.values):
            if int(state[f"n_values{k}"][0]):
                texts = state[f"values{k}"].tobytes().decode("utf-8", "surrogatepass").split("\0")
                interner.ids(texts, True)
        self._extractor.restore(state["sources"], state["ptr"], state["numbers"])

    def _owners(self, sources: Ints, ptr: Longs) -> Ints:
        """Return for each number of some attributes whose value it is."""
        place = np.arange(len(sources)) - np.repeat(ptr[:-1], np.diff(ptr))
        out = np.zeros(len(sources), np.int32)
        for source, (parts, _) in enumerate(self._plans):
            mine = sources == source
            if parts:
                out[mine] = np.array([column for column, _ in parts], np.int32)[place[mine]]
            else:
                out[mine] = len(self.columns) + self._segments.index(source)
        return out


class _Table:
    """The values of each distinct word in one column."""

    def __init__(self) -> None:
        self.ptr: Longs = np.zeros(1, np.int64)
        self.numbers: Ints = np.zeros(0, np.int32)
        self.single = True

    def extend(
        self, column: Column, values: _kernels.Interner, words: Sequence[str], grow: bool
    ) -> None:
        """Look at the words that have come since."""
        new = [column.of_word(word) for word in words[len(self.ptr) - 1 :]]
        if not new:
            return
        counts = np.array([len(one) for one in new], np.int64)
        numbers = _seen(values.ids(list(chain.from_iterable(new)), grow))
        self.single = self.single and bool((counts == 1).all())
        self.ptr = np.concatenate([self.ptr, self.ptr[-1] + np.cumsum(counts)])
        self.numbers = np.concatenate([self.numbers, numbers])

    def take(self, types: Ints) -> Values:
        """Return the values of tokens of these types."""
        if self.single:
            return None, self.numbers[types], None
        counts = np.diff(self.ptr)[types]
        ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.repeat(self.ptr[:-1][types] - ptr[:-1], counts) + np.arange(ptr[-1])
        return ptr, self.numbers[places], None


def _seen(numbers: Ints) -> Ints:
    """Return numbers of values with -1, which the interner gives for a new one, made UNSEEN."""
    if (numbers < 0).any():
        numbers[numbers < 0] = UNSEEN
    return numbers


def _said(column: Column, values: _kernels.Interner, batch: Batch, grow: bool) -> Values:
    """Return what a column says about each document."""
    said: list[Any] = []
    for i, document in enumerate(batch.documents):
        try:
            said += column.of_document(document)
        except InvalidInput as error:
            raise InvalidInput(f"sequence {i}: {error}") from error
    ptr = np.cumsum([0, *map(len, said)], dtype=np.int64)
    numbers = _seen(values.ids(list(chain.from_iterable(said)), grow))
    if not any(isinstance(one, Mapping) for one in said):
        return ptr, numbers, None
    weights = [
        one[name] if isinstance(one, Mapping) else 1.0 for one in said for name in one
    ]
    return ptr, numbers, np.array(weights, np.float64)


def _bags(values: _kernels.Interner, batch: Batch, grow: bool) -> Values:
    """Return the attributes that documents carry."""

    def flatten(given: Any, i: int, t: int) -> Iterable[tuple[str, float]]:
        made = bag(given, f"attributes of token {t} of sequence {i}")
        return made.items() if isinstance(made, dict) else ((name, 1.0) for name in made)

    for i, document in enumerate(batch.documents):
        if document.attributes is None:
            raise InvalidInput(
                f"sequence {i}: got no attributes, expected a list of attributes for each token, as "
                "the other sequences have"
            )
    given = [document.attributes for document in batch.documents]
    _, ptr, ids, weights = values.bags(given, grow, flatten)
    return ptr, ids, weights


def _dense(values: _kernels.Interner, batch: Batch, grow: bool) -> Values:
    """Return the numbers that documents carry."""
    arrays = [document.dense for document in batch.documents]
    for i, array in enumerate(arrays):
        if array is None:
            raise InvalidInput(
                f"sequence {i}: got no dense array, expected one of shape (T, D), as the other "
                "sequences have"
            )
    widths = {array.shape[1] for array in arrays if array is not None and len(array)}
    if not grow and len(values):
        widths.add(len(values))
    if len(widths) > 1:
        raise InvalidInput(
            f"dense: got arrays with {sorted(widths)} columns, expected the same number in all"
        )
    D = widths.pop() if widths else 0
    if grow or len(values) == 0:
        values.ids([f"x{d}" for d in range(D)], True)
    N = int(batch.offsets[-1])
    numbers = np.tile(np.arange(D, dtype=np.int32), N)
    flat = [array.ravel() for array in arrays if array is not None]
    weights = np.concatenate([*flat, np.zeros(0)]).astype(np.float64)
    return np.arange(N + 1, dtype=np.int64) * D, numbers, weights
