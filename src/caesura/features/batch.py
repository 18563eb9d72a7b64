"""Many documents side by side, so that features are computed once for each distinct word."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.documents import Document

__all__ = ["Batch", "Firings", "Words"]

OPEN_START, OPEN_END = 1, 2  # bits of Firings.flags, as in potentials


class _Index(dict[str, int]):
    """The type of each word; a new word gets a new one."""

    def __missing__(self, word: str) -> int:
        found = self[word] = len(self)
        return found


class Words:
    """The distinct words seen so far; a word's index is its type."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._index = _Index()
        self._said: dict[Hashable, _Index] = {}
        self._numbers: dict[Hashable, npt.NDArray[np.int64]] = {}

    def types(self, tokens: Iterable[str]) -> list[int]:
        """Return the type of each token; new words get new types."""
        types = list(map(self._index.__getitem__, tokens))
        self.words += islice(self._index, len(self.words), None)
        return types

    def numbers(self, key: Hashable, number: Callable[[str], int]) -> npt.NDArray[np.int64]:
        """Return a number of each word; what was found under a key is kept."""
        known = self._numbers.get(key, np.zeros(0, np.int64))
        if len(known) < len(self.words):
            new = np.array([number(word) for word in self.words[len(known) :]], np.int64)
            known = self._numbers[key] = np.concatenate([known, new])
        return known

    def said(
        self, key: Hashable, say: Callable[[str], str]
    ) -> tuple[list[str], npt.NDArray[np.int64]]:
        """Return the distinct strings said of words, and the index of each word's."""
        index = self._said.setdefault(key, _Index())
        numbers = self.numbers((key, "said"), lambda word: index[say(word)])
        return list(index), numbers


class Batch:
    """The tokens of many documents in one row.

    Document i has the tokens offsets[i] to offsets[i + 1]; errors call it X[first + i], or by
    another name than X.
    """

    def __init__(
        self, documents: Sequence[Document], words: Words, first: int = 0, name: str = "X"
    ) -> None:
        self.documents, self.first, self.name = documents, first, name
        self.words = words
        lengths = [len(document) for document in documents]
        self.offsets: npt.NDArray[np.int64] = np.cumsum([0, *lengths], dtype=np.int64)
        self._types: npt.NDArray[np.int32] | None = None

    @property
    def types(self) -> npt.NDArray[np.int32]:
        """The type of each token, of shape (N,): an index into words.words."""
        # Not a cached_property: before Python 3.12 all instances share a lock, which a forked child
        # may find taken for ever.
        if self._types is None:
            tokens = chain.from_iterable(document.tokens for document in self.documents)
            self._types = np.array(self.words.types(tokens), np.int32)
        return self._types


class Firings(NamedTuple):
    """Where a feature fires in a batch: parallel arrays, in any order.

    Spans count tokens from the start of the batch, not of the document. An attribute's full name is
    the feature's name followed by its entry in `names`.
    """

    starts: npt.NDArray[np.int32]  # core span [start, end)
    ends: npt.NDArray[np.int32]
    flags: npt.NDArray[np.uint8]  # OPEN_START | OPEN_END
    names: list[str]  # the distinct attributes, as "=3" or ">=0.8"
    which: npt.NDArray[np.int32]  # index into names
    values: npt.NDArray[np.float64]
