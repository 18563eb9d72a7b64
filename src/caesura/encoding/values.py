"""Encoding of column values, numbered by distinct value."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.encoding.enclosing import enclosing_values, place_values
from caesura.errors import InvalidInput, message
from caesura.features import Column, Template
from caesura.features.bags import pairs
from caesura.features.batch import UNSEEN, Batch
from caesura.features.dense_columns import arranged, dense_names
from caesura.features.dictionary import PLACES_IN_ENTRIES, MatchedColumn, finder
from caesura.features.document_columns import (
    AttributesColumn,
    DenseColumn,
    GivenColumn,
    PositionColumn,
    RepeatColumn,
)
from caesura.features.enclosing import EnclosingColumn, PlaceColumn

__all__ = [
    "FARTHEST",
    "UNSEEN",
    "Ints",
    "Longs",
    "Values",
    "check_offsets",
    "read_bags",
    "seen",
    "values_of",
]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# ptr (None if each token has one value), numbers, weights (None if all are 1).
Values = tuple[Longs | None, Ints, Floats | None]

FARTHEST = 1_000_000  # maximum distance of an offset, in tokens
USUAL = 100.0  # columns with a mean size above this, or below its inverse, cause a warning
MOST_PLACES = 10_000  # maximum number of positions that the kernels distinguish in a column


def seen(numbers: Ints) -> Ints:
    """Return value numbers with the interner's -1 for new values replaced by UNSEEN."""
    if (numbers < 0).any():
        numbers[numbers < 0] = UNSEEN
    return numbers


def values_of(
    column: Column, values: _kernels.Interner, batch: Batch, grow: bool, first: int
) -> Values:
    """Return the values of a document column; errors count documents from `first`."""
    if isinstance(column, AttributesColumn):
        return _bags(values, batch, grow, first)
    if isinstance(column, DenseColumn):
        return _dense(column, values, batch, grow, first)
    if type(column) is PositionColumn and column.limit <= MOST_PLACES:
        return (
            None,
            _kernels.positions(batch.tokens, column.origin, column.limit, values, grow),
            None,
        )
    if type(column) is RepeatColumn and abs(column.offset) <= FARTHEST:
        return None, _kernels.repeats(batch.tokens, column.offset, values, grow), None
    if type(column) is MatchedColumn:
        return None, _matched(column, values, batch, grow), None
    if type(column) is EnclosingColumn:

        def inner(words: Batch) -> Values:
            return values_of(column.column, values, words, grow, first)

        return *enclosing_values(column, values, batch, grow, inner), None
    if type(column) is PlaceColumn:
        return None, place_values(column, values, batch, grow), None
    if isinstance(column, GivenColumn):
        given = [document.columns.get(column.name) for document in batch.documents]
        if all(one is not None for one in given):
            numbers = values.ids(list(chain.from_iterable(one for one in given if one)), grow)
            return None, seen(numbers), None
    return _column_values(column, values, batch, grow, first)


def _matched(column: MatchedColumn, values: _kernels.Interner, batch: Batch, grow: bool) -> Ints:
    """Return the position of each token in a lexicon entry."""
    places = finder(column.lexicon, column.casefold, column.loose).places(batch)
    table = np.full(len(PLACES_IN_ENTRIES) + 1, UNSEEN, np.int32)  # [-1]: tokens outside entries
    there = [place for place in dict.fromkeys(places.tolist()) if place >= 0]
    table[there] = seen(values.ids([PLACES_IN_ENTRIES[place] for place in there], grow))
    return table[places]


def _column_values(
    column: Column, values: _kernels.Interner, batch: Batch, grow: bool, first: int
) -> Values:
    """Return the values of a column for each document."""
    said: list[Any] = []
    for i, document in enumerate(batch.documents, first):
        try:
            one = column.of_document(document)
        except InvalidInput as error:
            raise error.within(f"X[{i}]") from error
        if len(one) != len(document):
            raise InvalidInput(
                place=f"X[{i}]",
                got=f"{len(one)} values of {column.name}",
                expected=f"{len(document)}, one for each token",
                remedy="correct the column's of_document",
            )
        said += one
    ptr = np.cumsum([0, *map(len, said)], dtype=np.int64)
    numbers = seen(values.ids(list(chain.from_iterable(said)), grow))
    if not any(isinstance(one, Mapping) for one in said):
        return ptr, numbers, None
    weights = [one[name] if isinstance(one, Mapping) else 1.0 for one in said for name in one]
    return ptr, numbers, np.array(weights, np.float64)


def _bags(values: _kernels.Interner, batch: Batch, grow: bool, first: int) -> Values:
    """Return the attributes of documents."""
    for i, document in enumerate(batch.documents, first):
        if document.attributes is None:
            expected = "a list of attributes for each token, as features asks for attributes"
            remedy = (
                "give the attributes that the model was trained with, or fit it with features that "
                "are computed from words"
            )
            raise InvalidInput(message(f"X[{i}].attributes", None, expected, remedy))
    given = [document.attributes for document in batch.documents]
    return read_bags(values, given, grow, first)[1]


def read_bags(
    values: _kernels.Interner, given: Sequence[Any], grow: bool, first: int
) -> tuple[Longs, Values]:
    """Return the offsets of sequences of attributes, and the attributes of their tokens."""

    def flatten(bag: Any, i: int, t: int) -> Iterable[tuple[str, float]]:
        return pairs(bag, f"X[{first + i}]: attributes[{t}]")

    offsets, ptr, numbers, weights = _kernels.read_bags(values, given, grow, flatten)
    return offsets, (ptr, numbers, weights)


def _dense(
    column: DenseColumn, values: _kernels.Interner, batch: Batch, grow: bool, first: int
) -> Values:
    """Return the dense arrays of documents."""
    arrays: list[Floats] = []
    names = [values.text(d) for d in range(len(values))]
    for i, document in enumerate(batch.documents, first):
        if document.dense is None:
            expected = "an array of shape (T, D), as features asks for dense"
            remedy = "give every sequence one, or leave dense out of features"
            raise InvalidInput(message(f"X[{i}].dense", None, expected, remedy))
        if not names and grow and len(document):  # the first non-empty document defines the columns
            names = dense_names(document)
        arrays.append(arranged(document, names, f"X[{i}]"))
    N, D = int(batch.offsets[-1]), len(names)
    numbers = np.tile(np.arange(D, dtype=np.int32), N)
    flat = np.concatenate([*(one for one in arrays if len(one)), np.zeros((0, D))])
    flat = column.scaled(flat.astype(np.float64, copy=False))
    if grow and len(values) < D:
        values.ids(names, True)
        _warn_of_scale(flat)
    return np.arange(N + 1, dtype=np.int64) * D, numbers, flat.ravel()


def _warn_of_scale(numbers: Floats) -> None:
    """Warn about columns whose scales differ too much for a single penalty."""
    there = np.maximum((numbers != 0).sum(axis=0), 1)
    size = np.abs(numbers).sum(axis=0) / there
    off = np.flatnonzero((size > USUAL) | ((size > 0) & (size < 1 / USUAL)))
    if len(off):
        d = int(off[0])
        warnings.warn(
            f"dense: the numbers of {len(off)} of {len(size)} columns are far from 1, as in column "
            f"{d}, of {size[d]:.3g} on average; penalties are the same for all, so that such "
            "columns count too much or too little: pass standardise=True, which subtracts their "
            "means and divides by their standard deviations, those of the training data",
            stacklevel=2,
        )


def check_offsets(template: Template) -> None:
    """Raise if a template offset exceeds the range of the kernels."""
    low, high = template.reach
    if not -FARTHEST <= low <= high <= FARTHEST:
        expected = f"offsets from -{FARTHEST} to {FARTHEST}"
        raise InvalidInput(message("features", template, expected, "look at nearer tokens"))
