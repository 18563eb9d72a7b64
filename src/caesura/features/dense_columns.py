"""Dense columns: order by name, and standardisation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from caesura.documents import Document
from caesura.documents.document import document_without_words, has_no_words
from caesura.errors import InvalidInput, message
from caesura.features.document_columns import DenseColumn
from caesura.features.segment_base import SegmentFeature
from caesura.features.templates import Template

__all__ = [
    "arranged",
    "dense_names",
    "has_dense",
    "in_order",
    "is_standardised",
    "plain_dense",
    "standardised",
]

Feature = Template | SegmentFeature
FAR = 1000  # a value so many times as far from the median as most causes a warning
FEW = 3  # if there are more such values, or more than 1 in 1000, they are hardly mistakes
Floats = npt.NDArray[np.float64]


def dense_names(document: Document) -> list[str]:
    """Return the names of a document's dense columns; x0, x1, ... by default.

    Examples
    --------
    >>> dense_names(Document(("",), dense=np.zeros((1, 2))))
    ['x0', 'x1']
    """
    if document.dense is None:
        return []
    if document.dense_names is not None:
        return list(document.dense_names)
    return [f"x{d}" for d in range(document.dense.shape[1])]


def arranged(document: Document, names: Sequence[str], where: str) -> Floats:
    """Return a document's dense values in the order of names, or raise if columns differ.

    Columns without names are kept in their order.
    """
    dense = document.dense
    assert dense is not None
    own, known = document.dense_names, list(names)
    if own is not None and list(own) != known and known != [f"x{d}" for d in range(len(known))]:
        if sorted(own) != sorted(known):
            lost, new = sorted(set(known) - set(own)), sorted(set(own) - set(known))
            listed = (("without", lost), ("with", new))
            found = [f"{how} {', '.join(some)}" for how, some in listed if some]
            raise InvalidInput(
                place=f"{where}.dense",
                got=f"columns {' and '.join(found)}",
                expected=f"those of the training data: {', '.join(known)}",
                remedy="give these columns, in any order",
            )
        dense = dense[:, [list(own).index(name) for name in known]]
    if dense.shape[1] != len(known) and len(document):
        expected = (
            f"({len(document)}, {len(known)}), with as many columns as in the sequences before"
        )
        remedy = "give every sequence the same columns"
        raise InvalidInput(message(f"{where}.dense", f"shape {dense.shape}", expected, remedy))
    return dense


def in_order(document: Document, names: Sequence[str], where: str) -> Document:
    """Return a document with its dense columns in the order of names, or raise if columns differ.

    Examples
    --------
    >>> document = Document(("",), dense=np.array([[1.0, 2.0]]), dense_names=("b", "a"))
    >>> in_order(document, ["a", "b"], "X[0]").dense
    array([[2., 1.]])
    """
    dense = arranged(document, names, where)
    if dense is document.dense:
        return document
    made = replace(document, dense=dense, dense_names=tuple(names))
    return document_without_words(made) if has_no_words(document) else made


def standardised(features: Sequence[Feature], documents: Iterable[Document]) -> list[Feature]:
    """Return features that scale each dense column to mean 0 and standard deviation 1.

    Mean and deviation are those of the documents, over all tokens; a constant column becomes 0.

    Examples
    --------
    >>> from caesura.features import dense
    >>> document = Document(("", ""), dense=np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> [feature] = standardised([dense[0]], [document])
    >>> feature.parts[0][0].of_document(document)
    [{'x0': -1.0, 'x1': 0.0}, {'x0': 1.0, 'x1': 0.0}]
    """
    if not has_dense(features):
        expected = "features that look at dense numbers"
        remedy = "give arrays of numbers or DataFrames as X, or leave it out"
        raise InvalidInput(message("standardise", True, expected, remedy))
    some = {i: one for i, one in enumerate(documents) if one.dense is not None and len(one)}
    if not some:
        return list(features)
    names = dense_names(next(iter(some.values())))
    arrays = [arranged(one, names, f"X[{i}]") for i, one in some.items()]
    _warn_of_far(arrays, names, list(some))
    n = sum(map(len, arrays))
    mean = sum(array.sum(axis=0) for array in arrays) / n
    spread = np.sqrt(sum(((array - mean) ** 2).sum(axis=0) for array in arrays) / n)
    constant = spread <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    scale = np.where(constant, 1.0, spread)
    learnt = DenseColumn(tuple(mean.tolist()), tuple(scale.tolist()))
    return [_with_dense(one, learnt) for one in features]


def _warn_of_far(arrays: Sequence[Floats], names: Sequence[str], numbers: Sequence[int]) -> None:
    """Warn about the farthest value of a column if it, or few, dominate mean and deviation.

    The distance that nine tenths of the values do not exceed hardly depends on mistaken values.
    Where many values are far, as in a channel that is idle between events, all may be right.
    """
    ends = np.cumsum([len(array) for array in arrays])
    for d, name in enumerate(names):
        column = np.concatenate([array[:, d] for array in arrays])
        far = np.abs(column - np.median(column))
        usual, k = np.quantile(far, 0.9, method="lower"), int(far.argmax())
        beyond = np.count_nonzero(far > usual * FAR)
        if usual > 0 and 0 < beyond <= max(1, min(FEW, len(far) // 1000)):
            i = int(np.searchsorted(ends, k, side="right"))
            warnings.warn(
                f"X[{numbers[i]}]: {column[k]:g} in row {k - ends[i] + len(arrays[i])}, column "
                f"{name!r}, is {far[k] / usual:,.0f} times as far from the median of the training "
                "data as nine tenths of the values, so that standardise=True makes these nearly "
                "equal; correct or clip it",
                stacklevel=7,
            )


def plain_dense(feature: Feature) -> Feature:
    """Return a feature without its standardisation."""
    return _with_dense(feature, DenseColumn())


def has_dense(features: Iterable[Feature]) -> bool:
    """Return whether features use dense columns."""
    return any(_dense_columns(one) for one in features)


def is_standardised(features: Iterable[Feature]) -> bool:
    """Return whether features are standardised."""
    return any(column.mean for one in features for column in _dense_columns(one))


def _dense_columns(feature: Feature) -> list[DenseColumn]:
    parts = feature.parts if isinstance(feature, Template) else ()
    return [column for column, _ in parts if isinstance(column, DenseColumn)]


def _with_dense(feature: Feature, column: DenseColumn) -> Feature:
    """Return a feature with its dense column replaced."""
    if not isinstance(feature, Template) or not _dense_columns(feature):
        return feature
    parts = [(column if isinstance(one, DenseColumn) else one, n) for one, n in feature.parts]
    return replace(feature, parts=tuple(parts))
