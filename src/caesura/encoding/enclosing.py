"""Columns over the words that contain tokens, computed once for each distinct word.

The words of a batch are types of their own, and so are the two pieces of a word that is cut at a
token.  `caesura.features.enclosing` has the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.features.batch import UNSEEN, Batch
from caesura.features.enclosing import (
    PLACES_IN_WORDS,
    EnclosingColumn,
    PlaceColumn,
    pieces,
    words_around,
)
from caesura.features.templates import AFTER, BEFORE

__all__ = ["BatchAround", "enclosing_values", "place_values"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
CUT = ("before", "after")  # views that see pieces of words


class BatchAround:
    """The words of a batch of documents, and the word that contains each token."""

    def __init__(self, batch: Batch, by: str) -> None:
        self.found = [words_around(document, by) for document in batch.documents]
        self.words = batch.words.nested(by)
        rows = [around.words for around in self.found]
        self.tokens = self.words.types.read_tokens(rows)
        counts = np.diff(batch.offsets)
        begins = self.tokens.offsets
        self.first = np.repeat(begins[:-1], counts)  # per token: the first word of its document
        self.stop = np.repeat(begins[1:], counts)
        self.of_token = self.first + _flat(around.of_token for around in self.found)
        changed = np.diff(self.of_token) != 0
        self.begins = np.concatenate([[True], changed])[: len(self.of_token)]
        self.ends = np.concatenate([changed, [True]])[: len(self.of_token)]
        self._cut: dict[str, tuple[_kernels.TokenBatch, npt.NDArray[np.bool_]]] = {}

    def documents(self) -> list[Document]:
        """Return documents whose tokens are the words."""
        return [Document(tuple(around.words)) for around in self.found]

    def cut(self, view: str) -> tuple[_kernels.TokenBatch, npt.NDArray[np.bool_]]:
        """Return the pieces of words that are tokens, then the others, and a mask of the latter."""
        if view not in self._cut:
            pairs = list(chain.from_iterable(pieces(around, view) for around in self.found))
            rows = [[own for own, _ in pairs], [other for _, other in pairs]]
            there = np.array([bool(other) for _, other in pairs], bool)
            self._cut[view] = self.words.types.read_tokens(rows), there
        return self._cut[view]

    def places(self, view: str, offset: int) -> Longs:
        """Return the index of each token's value.

        That is the number of a word, or behind all words, its own piece and then its other one
        where the view has pieces; and behind these, 0 for <s>, 1 for </s>, 2 for nothing.
        """
        at = self.of_token + offset
        U, N = int(self.tokens.offsets[-1]), len(at)
        side = {"before": -1, "after": 1}.get(view, 0)
        rest = U + 2 * N * abs(side)
        if offset * side > 0:
            at = at - side * self.cut(view)[1]  # the rest of the token's own word counts as a word
        at = np.where(at < self.first, rest, np.where(at >= self.stop, rest + 1, at))
        if side and offset == 0:
            return U + np.arange(N)
        if side and offset == side:
            return np.where(self.cut(view)[1], U + N + np.arange(N), at)
        return np.where(self.begins, at, rest + 2) if view == "first" else at


def _flat(lists: Iterable[Iterable[int]]) -> Longs:
    return np.array(list(chain.from_iterable(lists)), np.int64)


def around(batch: Batch, by: str) -> BatchAround:
    """Return the words that contain the tokens of a batch, computed once."""
    if by not in batch.enclosed:
        batch.enclosed[by] = BatchAround(batch, by)
    found: BatchAround = batch.enclosed[by]
    return found


def enclosing_values(
    column: EnclosingColumn,
    values: _kernels.Interner,
    batch: Batch,
    grow: bool,
    of_batch: Callable[[Batch], tuple[Any, Ints, Any]],
) -> tuple[Longs | None, Ints]:
    """Return the values of a column at each token, with ptr where there are several.

    `of_batch` gives those of a column that looks at tokens, for a batch of words.
    """
    found = around(batch, column.by)
    if column.column.per_word:
        tables = _of_words(column, values, found, grow)
    else:
        words = Batch(found.documents, found.words, batch.first, found.tokens, batch.name)
        tables = [of_batch(words)[:2]]
    ends = values.ids([BEFORE, AFTER], grow)
    last = np.append(np.where(ends < 0, np.int32(UNSEEN), ends), np.int32(UNSEEN))
    numbers = np.concatenate([*(ids for _, ids in tables), last])
    places = found.places(column.view, column.offset)
    if all(ptr is None for ptr, _ in tables):
        return None, numbers[places]
    sizes = [np.ones(len(ids), np.int64) if ptr is None else np.diff(ptr) for ptr, ids in tables]
    counts = np.concatenate([*sizes, np.ones(3, np.int64)])
    starts = np.cumsum(counts) - counts
    taken = counts[places]
    ptr = np.concatenate([[0], np.cumsum(taken)])
    return ptr, numbers[np.repeat(starts[places] - ptr[:-1], taken) + np.arange(ptr[-1])]


def _of_words(
    column: EnclosingColumn, values: _kernels.Interner, found: BatchAround, grow: bool
) -> list[tuple[Longs | None, Ints]]:
    """Return the values of a word column for the words, and for pieces where it reads them."""
    batches = [found.tokens]
    if column.view in CUT:
        batches.append(found.cut(column.view)[0])
    index = found.words.column(column, column.column, values)
    found.words.compute(index, column.column, values, grow)
    return [found.words.types.take([index], tokens)[0][:2] for tokens in batches]


def place_values(column: PlaceColumn, values: _kernels.Interner, batch: Batch, grow: bool) -> Ints:
    """Return the index of each token's position in its word."""
    found = around(batch, column.by)
    numbers = values.ids(list(PLACES_IN_WORDS), grow)
    numbers = np.where(numbers < 0, np.int32(UNSEEN), numbers)
    inside = np.where(found.ends, numbers[3], numbers[2])
    out: Ints = np.where(found.begins, np.where(found.ends, numbers[0], numbers[1]), inside)
    return out
