"""The spans kept by the filter model for many sequences, in concatenated arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.features.document_columns import answered
from caesura.models.estimator import fitted_of
from caesura.models.semi import SemiCRF
from caesura.segments import Segment

__all__ = ["Kept", "Pool", "Seen", "in_training_order", "pooled", "threshold_for"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Kept = list[tuple[Segment, float]]  # spans and their probabilities under the filter model
MOST_ODDS = 12.0  # log-odds are clipped to this size


class Seen(NamedTuple):
    """The predictions of the filter model for one sequence."""

    marginals: Any
    outside: Floats  # (T,) probability that each token is outside

    @classmethod
    def of(cls, first: SemiCRF, documents: Sequence[Document]) -> list[Seen]:
        """Run the filter model, whose states are the labels followed by outside."""
        n = len(first.labels_)
        found = first.predict_marginals(documents)
        return [cls(m, 1.0 - np.asarray(m.tokens)[:, :n].sum(axis=1)) for m in found]

    def chance(self, segment: Segment) -> float:
        """Return the probability of a segment; 0 for unknown labels."""
        try:
            return float(self.marginals.segment(*segment))
        except InvalidInput:
            return 0.0


class Pool(NamedTuple):
    """The concatenated spans of many sequences, with a separator after each sequence."""

    spans: Ints  # (n, 2) start and end in the concatenation
    labels: Ints  # (n,) 0 for outside, Y + 1 for the separator
    odds: Floats  # (n,) log-odds under the filter model
    owner: Ints  # (m,) index of the span of each attribute
    attributes: Ints  # (m,) index of each attribute in the vocabulary
    values: Floats  # (m,) value of each attribute
    offsets: list[int]  # start of each sequence, then the total length


def in_training_order(first: SemiCRF, documents: Sequence[Document]) -> Sequence[Document]:
    """Return documents with named dense columns in the order that the filter model was given."""
    return fitted_of(first).encoder.arranged(documents, False)


def pooled(
    documents: Sequence[Document],
    seen: Sequence[Seen],
    kept: Sequence[Kept],
    number: Mapping[str, int],
    features: Callable[[Document, int, int], Iterable[str]],
    vocabulary: dict[str, int],
    grow: bool,
) -> Pool:
    """Return the kept spans of sequences with their attributes, concatenated.

    Parameters
    ----------
    documents, seen, kept : sequences
        The sequences, the predictions of the filter model, and its kept spans.
    number : mapping
        The number of each label, from 1 on; 0 is outside.
    features : callable
        The attributes of a span, as strings or a dict with values.
    vocabulary : dict
        The number of each attribute.
    grow : bool
        Whether new attributes are added; otherwise they are ignored.
    """
    rows: list[tuple[int, int, int]] = []
    chances: list[float] = []
    owner: list[int] = []
    attributes: list[int] = []
    values: list[float] = []
    offsets, place = [], 0
    for document, one, some in zip(documents, seen, kept, strict=True):
        offsets.append(place)
        rows += [(place + t, place + t + 1, 0) for t in range(len(document))]
        chances += one.outside.tolist()
        for (start, end, label), p in some:
            where = f"features(document, {start}, {end}) of X[{len(offsets) - 1}]"
            bag = answered(features, where, document, start, end)
            for name, value in bag.items() if isinstance(bag, dict) else ((x, 1.0) for x in bag):
                known = vocabulary.get(name)
                if known is None and grow:
                    known = vocabulary[name] = len(vocabulary)
                if known is not None:
                    owner.append(len(rows))
                    attributes.append(known)
                    values.append(value)
            rows.append((place + start, place + end, number[label]))
            chances.append(p)
        place += len(document)
        rows.append((place, place + 1, len(number) + 1))
        chances.append(0.5)
        place += 1
    table = np.array(rows, np.int64).reshape(-1, 3)
    fired = np.array(owner, np.int64), np.array(attributes, np.int64), np.array(values, float)
    return Pool(table[:, :2], table[:, 2], _log_odds(chances), *fired, [*offsets, place])


def threshold_for(chances: Sequence[float], max_lost: float) -> tuple[float, float]:
    """Return the highest threshold with at most a given share of numbers below, and that share.

    Examples
    --------
    >>> threshold_for([0.9, 0.2, 0.5, 0.7], 0.25)
    (0.5, 0.25)
    >>> threshold_for([0.9, 0.2], 0.0)
    (0.2, 0.0)
    """
    ordered = np.sort(np.asarray(chances, np.float64))
    allowed = int(np.floor(max_lost * len(ordered) + 1e-9))
    least = float(ordered[min(allowed, len(ordered) - 1)])
    return least, float((ordered < least).mean())


def _log_odds(p: Sequence[float]) -> Floats:
    chance = np.clip(np.asarray(p, np.float64), 1e-9, 1.0 - 1e-9)
    found: Floats = np.clip(np.log(chance) - np.log1p(-chance), -MOST_ODDS, MOST_ODDS)
    return found
