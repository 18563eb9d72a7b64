"""Exact column distributions of uncertain rows, from constrained log-partitions.

A column belongs to a label, and its value is the tuple of the segments with that label: empty where
the label is absent, and of one segment where it occurs at most once.  Every probability here is a
difference of two log-partition functions or a marginal of the engine; there is no recursion.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import inference
from caesura.errors import Impossible
from caesura.inference import Marginals
from caesura.potentials import Potentials
from caesura.segments import Segment

__all__ = ["Column", "Listed", "Part", "Spans", "choices", "log_partition_of", "parts_of"]

Spans = tuple[tuple[int, int], ...]  # the segments of one label, in order
SURE = 1e-12  # smaller probabilities count as rounding errors
SEVERAL = 10  # factor on min_probability for values of several segments, which cost more to compute
GOLDEN = 2 * math.log((1 + math.sqrt(5)) / 2)  # T tokens have at most exp(GOLDEN * T) values


class Listed(NamedTuple):
    """Weighted segmentations of one text, with their column values."""

    spans: list[Mapping[str, Spans]]
    weights: npt.NDArray[np.float64]  # (N,)

    def values(self, label: str) -> dict[Spans, float]:
        """Return the values of one column with their weights."""
        sums: dict[Spans, float] = {}
        for one, weight in zip(self.spans, self.weights.tolist(), strict=True):
            sums[one[label]] = sums.get(one[label], 0.0) + weight
        return sums

    def some(self, rows: npt.NDArray[np.int64]) -> Listed:
        """Return some of the segmentations."""
        return Listed([self.spans[i] for i in rows], self.weights[rows])


class Column(NamedTuple):
    """The values of one label and their probabilities."""

    values: dict[Spans, float]  # the listed values
    other: float  # probability of all unlisted values
    slack: float  # upper bound on the entropy that these add, beyond that of a single value

    @property
    def entropy(self) -> float:
        """The entropy in nats, with all unlisted values as one."""
        return -sum(x * math.log(x) for x in (*self.values.values(), self.other) if x > 0)


class Part(NamedTuple):
    """A constrained set of segmentations and its best row of independent columns."""

    potentials: Potentials  # with the constraints of the part
    log_partition: float
    entropy: float
    columns: dict[str, Column]

    @property
    def kl(self) -> float:
        """KL divergence of the row from the part, the sum of the columns' entropies - entropy."""
        return math.fsum([*(c.entropy for c in self.columns.values()), -self.entropy])

    @property
    def slack(self) -> float:
        """The maximum contribution of unlisted values to the KL divergence."""
        return math.fsum(c.slack for c in self.columns.values())


def parts_of(
    ps: Sequence[Potentials],
    listed: Sequence[Listed],
    labels: Sequence[str],
    min_probability: float,
    n_threads: int | None = None,
) -> list[Part]:
    """Return the part for each constrained potentials object.

    Parameters
    ----------
    ps : list of Potentials
        Their scores are changed and restored, so they must not be used elsewhere during the call.
    listed : for each, some of its segmentations
        Values of several segments are taken from them; others count as not listed.
    labels : sequence of str
        The columns.
    min_probability : float
        Segments with less probability are not listed, nor values of several segments to which
        the listed segmentations give less than ten times as much.
    n_threads : int, optional
        As in `caesura.marginals`.
    """
    found = inference.marginals(ps, n_threads=n_threads)
    entropies = inference.entropy(ps, n_threads=n_threads)
    parts = []
    for p, m, entropy, some in zip(ps, found, entropies, listed, strict=True):
        single = _segments(m, min_probability)
        columns = {
            label: _column(p, m, label, single.get(label, {}), some, min_probability)
            for label in labels
        }
        parts.append(Part(p, m.log_partition, entropy, columns))
    return parts


def choices(segments: Iterable[Segment], labels: Sequence[str]) -> dict[str, Spans]:
    """Return the value of each column in one segmentation.

    Examples
    --------
    >>> from caesura import Segment
    >>> choices([Segment(0, 2, "author"), Segment(2, 3, "year")], ["author", "note"])
    {'author': ((0, 2),), 'note': ()}
    """
    spans: dict[str, list[tuple[int, int]]] = {label: [] for label in labels}
    for start, end, label in segments:
        if label in spans:
            spans[label].append((start, end))
    return {label: tuple(found) for label, found in spans.items()}


def log_partition_of(p: Potentials, values: Mapping[str, Spans]) -> float:
    """Return ln Z over the segmentations with exactly these values.

    Other labels are free.  The scores of p are changed and restored, which costs no new problem for
    the kernels, unless two segments with one label touch.
    """
    emission, transition = p.emission.copy(), p.transition.copy()
    indexed = {p.label_index(label): spans for label, spans in values.items()}
    try:
        inside = np.full(p.length, -1)
        for y, spans in indexed.items():
            for start, end in spans:
                if (inside[start:end] >= 0).any():
                    return -math.inf
                inside[start:end] = y
        for y, spans in indexed.items():
            p.emission[inside != y, y] = -np.inf
            p.emission[np.ix_(inside == y, np.arange(len(p.labels)) != y)] = -np.inf
            if not _touch(spans):
                p.transition[y, y] = -np.inf  # these segments must not be divided
        asked = p
        if any(_touch(spans) for spans in indexed.values()):
            required = [(s, e, y) for y, spans in indexed.items() for s, e in spans]
            asked = p.copy().constrain(required=required)
        return inference.log_partition(asked)
    finally:
        p.emission[...] = emission
        p.transition[...] = transition


def _touch(spans: Spans) -> bool:
    return any(a[1] == b[0] for a, b in pairwise(spans))


def _segments(m: Marginals, min_probability: float) -> dict[str, dict[Spans, float]]:
    """Return the probable segments of each label."""
    found: dict[str, dict[Spans, float]] = {}
    for (start, end, label), probability in m.segments(min_probability):
        found.setdefault(label, {})[((start, end),)] = probability
    return found


def _column(
    p: Potentials,
    m: Marginals,
    label: str,
    single: dict[Spans, float],
    listed: Listed,
    min_probability: float,
) -> Column:
    """Return the distribution of one label's value."""
    T, y, log_z = p.length, p.label_index(label), m.log_partition
    absent = math.exp(log_partition_of(p, {label: ()}) - log_z)
    expected = float(m.starts[y] + m.transitions[:, y].sum())  # expected number of segments
    several = any(len(spans) > 1 for spans in listed.values(label))
    if y in p.parts.constraints.once or (not several and expected - (1.0 - absent) < SURE):
        column = _listed({(): absent, **single})
        return column._replace(slack=column.other * math.log(T * (T + 1) / 2 + 1))
    values: dict[Spans, float] = {(): absent}
    if single:
        values |= _alone(p, log_z, label, list(single))
    least = SEVERAL * min_probability * float(listed.weights.sum())
    for spans, weight in listed.values(label).items():
        if len(spans) > 1 and weight >= least:
            values[spans] = math.exp(log_partition_of(p, {label: spans}) - log_z)
    column = _listed(values)
    slack = _bound(column, single, expected, T) if column.other else 0.0
    return column._replace(slack=slack)


def _alone(p: Potentials, log_z: float, label: str, values: Sequence[Spans]) -> dict[Spans, float]:
    """Return the probability that each segment is the only one with its label."""
    try:
        m = inference.marginals(p.copy().constrain(exactly_once=[label]), n_threads=1)
    except Impossible:
        return {}
    share = math.exp(m.log_partition - log_z)
    return {spans: share * m.segment(*spans[0], label) for spans in values}


def _bound(column: Column, single: Mapping[Spans, float], expected: float, T: int) -> float:
    """Return an upper bound on the entropy contribution of unlisted values.

    It is their probability times the entropy of the value, given that it is not listed.  The value
    is known if it is known of each segment whether it is there, so that the entropies of these
    events bound that entropy from above.  Segments that are too improbable to be listed have most
    entropy where they share the expected number that is left evenly.
    """
    left = {spans[0]: chance for spans, chance in single.items()}
    for spans, chance in column.values.items():
        expected -= len(spans) * chance
        for span in spans:
            if span in left:
                left[span] -= chance
    given = [min(1.0, max(0.0, chance) / column.other) for chance in left.values()]
    bound = math.fsum(map(_binary_entropy, given))
    rest = max(0.0, expected / column.other - math.fsum(given))
    count = T * (T + 1) // 2 - len(given)
    bound += count * _binary_entropy(min(0.5, rest / count)) if count else 0.0
    return column.other * min(bound, GOLDEN * T)


def _binary_entropy(chance: float) -> float:
    if not 0.0 < chance < 1.0:
        return 0.0
    return -chance * math.log(chance) - (1.0 - chance) * math.log1p(-chance)


def _listed(values: dict[Spans, float]) -> Column:
    listed = {spans: chance for spans, chance in values.items() if chance > 0}
    other = 1.0 - math.fsum(listed.values())
    return Column(listed, other if other > SURE else 0.0, 0.0)
