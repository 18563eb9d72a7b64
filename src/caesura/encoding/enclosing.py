"""Columns over the words that contain tokens, computed once for each distinct word.

The words of a batch are types of their own, and so are the two pieces of a word that is cut at a
token.  `caesura.features.enclosing` has the definition.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.features.batch import UNSEEN, Batch, Words
from caesura.features.enclosing import PLACES_IN_WORDS, EnclosingColumn, PlaceColumn
from caesura.features.templates import AFTER, BEFORE

__all__ = ["enclosing_values", "place_values"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
# The offsets from the token's word at which each view sees pieces of words.
_PIECES = {"before": (0, -1), "after": (0, 1)}


class _BatchAround:
    """The words of a batch of documents, and the word that contains each token."""

    def __init__(self, batch: Batch, by: str) -> None:
        self.words = batch.words.nested(by)
        self.around = _kernels.words_around(
            self.words.types, batch.words.types, batch.tokens, *batch.texts(), by
        )
        self.tokens = self.around.words
        self._cut: dict[str, Words] = {}

    def documents(self) -> list[Document]:
        """Return documents whose tokens are the words."""
        words, types = self.words.words, self.tokens.types.tolist()
        ends = self.tokens.offsets.tolist()
        tokens = [words[k] for k in types]
        return [Document(tuple(tokens[i:j])) for i, j in pairwise(ends)]

    def cut(self, view: str) -> Words:
        """Return the pieces of words that a view sees."""
        if view not in self._cut:
            self._cut[view] = self.words.nested(view)
            self.around.cut(view, self.words.types, self._cut[view].types)
        return self._cut[view]


def _around(batch: Batch, by: str) -> _BatchAround:
    """Return the words that contain the tokens of a batch, computed once."""
    if by not in batch.enclosed:
        batch.enclosed[by] = _BatchAround(batch, by)
    found: _BatchAround = batch.enclosed[by]
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
    found = _around(batch, column.by)
    before, after = _numbers((BEFORE, AFTER), values, grow).tolist()
    if not column.column.per_word:
        words = Batch(found.documents, found.words, batch.first, found.tokens, batch.name)
        ptr, ids, _ = of_batch(words)
        return found.around.values_of(column.view, column.offset, before, after, ptr, ids)
    tables: list[Any] = []
    cut = column.offset in _PIECES.get(column.view, ())
    for types in (found.words, *([found.cut(column.view)] if cut else [])):
        index = types.column(column, column.column, values)
        types.compute(index, column.column, values, grow)
        tables += types.types, index
    if column.view in _PIECES:
        found.cut(column.view)
    return found.around.values(column.view, column.offset, before, after, *tables)


def place_values(column: PlaceColumn, values: _kernels.Interner, batch: Batch, grow: bool) -> Ints:
    """Return the index of each token's position in its word."""
    numbers = _numbers(PLACES_IN_WORDS, values, grow)
    return _around(batch, column.by).around.places(numbers)


def _numbers(names: tuple[str, ...], values: _kernels.Interner, grow: bool) -> Ints:
    """Return the numbers of values, or UNSEEN."""
    found = values.ids(list(names), grow)
    return np.where(found < 0, np.int32(UNSEEN), found)
