"""Mixtures of rows with independent columns, by partition and by EM.

A partition splits the segmentations of a text by the presence or absence of a segment, then one of
the two parts, and so on.  The columns of a part are its exact marginals, and no row gives any
probability to what lies in another part, so the divergence of the mixture from the model is the
weighted sum of the divergences of the parts.  Splitting by a segment of column y lowers it by the
mutual information of the segment's presence with each of the other columns, so it never rises.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.potentials import Potentials
from caesura.records.uncertain_columns import Listed, Part, parts_of
from caesura.segments import Segment

__all__ = ["Mixture", "by_em", "by_partition", "divergence"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
LEAST_FALL = 1e-9  # in nats; splits with a smaller estimated gain are not made
MOST_EVENTS = 100  # maximum number of values that may split the listed rows, to initialise EM


class _Leaf:
    """A part with its listed segmentations and its best split."""

    def __init__(self, text: _Text, part: Part, rows: Ints) -> None:
        self.text, self.part, self.rows = text, part, rows
        self.weight = math.exp(min(0.0, part.log_partition - text.log_z))

    @functools.cached_property
    def split(self) -> tuple[Segment | None, float]:
        """The best segment to split on, and the estimated fall in divergence."""
        some = self.text.listed.some(self.rows)
        if not some.weights.sum() > 0:
            return None, 0.0
        segment, fall = _best_split(some, self.text.codes[self.rows], self.text.labels)
        return segment, self.weight * fall


class _Text:
    """The partition of the segmentations of one text."""

    def __init__(self, root: Potentials, listed: Listed, labels: Sequence[str]) -> None:
        self.root, self.listed, self.labels = root, listed, labels
        self.codes = _codes([[one[y] for y in labels] for one in listed.spans], len(labels))
        self.leaves: list[_Leaf] = []
        self.log_z = math.nan

    def add(self, part: Part, rows: Ints) -> None:
        """Add a leaf; the first is the whole set."""
        if math.isnan(self.log_z):
            self.log_z = part.log_partition
        self.leaves.append(_Leaf(self, part, rows))

    def next(self) -> int | None:
        """Return the leaf to split next."""
        best = max(range(len(self.leaves)), key=lambda i: self.leaves[i].split[1])
        return best if self.leaves[best].split[1] > LEAST_FALL else None

    def halves(self, i: int) -> list[tuple[Potentials, Ints]]:
        """Return the segmentations of a leaf with and without its segment."""
        leaf = self.leaves[i]
        segment, _ = leaf.split
        assert segment is not None
        start, end, label = segment
        has = [(start, end) in self.listed.spans[k][label] for k in leaf.rows]
        here = np.array(has, bool)
        p = leaf.part.potentials
        required, forbidden = p.copy(), p.copy()
        required.constrain(required=[segment])
        forbidden.constrain(forbidden=[segment])
        return [(required, leaf.rows[here]), (forbidden, leaf.rows[~here])]


def by_partition(
    ps: Sequence[Potentials],
    listed: Sequence[Listed],
    labels: Sequence[str],
    k: int,
    min_probability: float,
    n_threads: int | None = None,
) -> list[list[tuple[float, Part]]]:
    """Partition the segmentations of each text into up to k parts, greedily by divergence.

    Parameters
    ----------
    ps : list of Potentials
        One for each text.
    listed : list of Listed
        Segmentations from which the fall in divergence of each split is estimated; the parts
        themselves are exact whatever these are.
    labels : sequence of str
        The columns.
    k : int
        Number of parts of each text, at most.
    min_probability, n_threads
        As in `parts_of`.

    Returns
    -------
    list of list of (weight, Part)
        The parts of each text, the heaviest first.  All texts are split in step, so that the
        engine answers for all of them at once.
    """
    texts = [_Text(p.copy(), some, labels) for p, some in zip(ps, listed, strict=True)]
    grown = [(text, text.root, np.arange(len(text.listed.spans))) for text in texts]
    while grown:
        asked = [p for _, p, _ in grown]
        seen = [text.listed.some(rows) for text, _, rows in grown]
        parts = parts_of(asked, seen, labels, min_probability, n_threads)
        for (text, _, rows), part in zip(grown, parts, strict=True):
            text.add(part, rows)
        grown = []
        for text in texts:
            chosen = text.next() if len(text.leaves) < k else None
            if chosen is not None:
                grown += [(text, *half) for half in text.halves(chosen)]
                del text.leaves[chosen]
    return [
        sorted(((leaf.weight, leaf.part) for leaf in text.leaves), key=lambda leaf: -leaf[0])
        for text in texts
    ]


def _best_split(listed: Listed, codes: Ints, labels: Sequence[str]) -> tuple[Segment | None, float]:
    """Return the segment most informative about the other columns, and its information."""
    where: dict[Segment, list[int]] = {}
    for i, one in enumerate(listed.spans):
        for label in labels:
            for start, end in one[label]:
                where.setdefault(Segment(start, end, label), []).append(i)
    segments = [one for one in sorted(where) if len(where[one]) < len(listed.spans)]
    inside = np.zeros((len(segments), len(listed.spans)), bool)
    for k, segment in enumerate(segments):
        inside[k, where[segment]] = True
    own = np.array([labels.index(segment.label) for segment in segments], np.int64)
    best, fall = _most_informative(inside, own, codes, listed.weights)
    return (None, 0.0) if best is None else (segments[best], fall)


def _most_informative(
    inside: Bools, own: Ints, codes: Ints, weights: Floats
) -> tuple[int | None, float]:
    """Return the event most informative about other columns, and its information.

    Parameters
    ----------
    inside : array of shape (events, N)
        Which listed rows each event has.
    own : array of shape (events,)
        The column of each event.
    codes : array of shape (N, columns)
        The value of each column in each row.
    weights : array of shape (N,)
        The weights of the rows.
    """
    p = weights / weights.sum()
    mine = inside * p  # (events, N)
    chances = mine.sum(axis=1)
    event = _plogp(chances) + _plogp(1.0 - chances)
    fall = np.zeros(len(inside))
    for j in range(codes.shape[1]):
        value = _sums(p[None], codes[:, j])[0]  # (values,)
        if np.count_nonzero(value) < 2:
            continue
        joint = _sums(mine, codes[:, j])  # (events, values)
        both = _plogp(joint).sum(axis=1) + _plogp(value - joint).sum(axis=1)
        fall += np.where(own == j, 0.0, np.maximum(0.0, both - event - _plogp(value).sum()))
    fall[(chances <= 0) | (chances >= 1)] = 0.0
    if not len(fall) or fall.max() <= LEAST_FALL:
        return None, 0.0
    best = int(np.flatnonzero(fall >= fall.max() - LEAST_FALL)[0])
    return best, float(fall[best])


def _plogp(chances: Floats) -> Floats:
    some = np.maximum(chances, 0.0)
    return some * np.log(np.where(some > 0, some, 1.0))


# ---- mixtures of listed rows ---------------------------------------------------------------------


class Mixture(NamedTuple):
    """Weighted rows of independent columns over numbered values."""

    weights: Floats  # (k,)
    columns: list[Floats]  # (k, values) for each column: the probability of each value

    def densities(self, codes: Ints) -> Floats:
        """Return weight times probability of each listed row in each row, of shape (N, k)."""
        out = np.tile(self.weights, (len(codes), 1))
        for j, column in enumerate(self.columns):
            out *= column[:, codes[:, j]].T
        return out


def by_em(
    rows: Sequence[Sequence[Hashable]],
    weights: Floats,
    k: int,
    listed: Bools | None = None,
    max_iterations: int = 200,
    tolerance: float = 1e-9,
) -> tuple[Mixture, list[list[Hashable]], float]:
    """Fit a mixture of k rows with independent columns to listed rows by EM.

    EM maximises ``sum p ln q`` and so never raises the divergence.  It starts from the greedy
    partition of the listed rows, softened so that the parts can exchange rows, and from the
    partition itself, of which the better is kept.

    Parameters
    ----------
    rows : sequence of sequences
        The value of each column in each listed row.
    weights : array of shape (N,)
        Their probabilities; only their ratios count.
    k : int
        Number of rows of the mixture, at most.
    listed : array of shape (N,), optional
        Which rows have their own probabilities; the weights of the others are those of samples, and
        all of them count as one row in the divergence that is returned.
    max_iterations : int
        Number of EM steps, at most.
    tolerance : float
        A step that lowers the divergence by less is the last.

    Returns
    -------
    Mixture, list of list, float
        The mixture, the values of each column in the order of its probabilities, and the divergence
        of the mixture from the listed distribution.

    Examples
    --------
    >>> import numpy as np
    >>> rows = [("Paris", "France"), ("Rome", "Italy")]
    >>> mixture, values, kl = by_em(rows, np.array([0.6, 0.4]), 2)
    >>> mixture.weights.round(3), round(kl, 6)
    (array([0.6, 0.4]), 0.0)
    """
    p = weights / weights.sum()
    columns = len(rows[0]) if rows else 0
    values: list[list[Hashable]] = [list(dict.fromkeys(r[j] for r in rows)) for j in range(columns)]
    codes = _codes(rows, columns)
    hard = _partition(codes, p, k)
    soft = 0.8 * hard + 0.2 / hard.shape[1]
    best, least = None, math.inf
    for start in (hard, soft):
        found = _maximised(codes, p, start)
        kl = divergence(found, codes, p)
        for _ in range(max_iterations):
            q = found.densities(codes)
            total = q.sum(axis=1, keepdims=True)
            found = _maximised(codes, p, q / total)
            before, kl = kl, divergence(found, codes, p)
            if before - kl < tolerance:
                break
        if kl < least - LEAST_FALL:
            best, least = found, kl
    assert best is not None
    if listed is not None:
        least = _lumped(best, codes, p, listed)
    return best, values, max(0.0, least)


def _lumped(mixture: Mixture, codes: Ints, p: Floats, listed: Bools) -> float:
    """Return the divergence over the listed rows, with all others as one."""
    q = mixture.densities(codes[listed]).sum(axis=1)
    inside, rest = p[listed], 1.0 - p[listed].sum()
    kl = float((inside * np.log(inside / q)).sum())
    beyond = max(1.0 - float(q.sum()), 1e-300)
    return kl + float(rest * math.log(rest / beyond)) if rest > 0 else kl


def divergence(mixture: Mixture, codes: Ints, p: Floats) -> float:
    """Return the KL divergence of a mixture from listed rows with the probabilities p."""
    with np.errstate(divide="ignore"):
        log_q = np.log(mixture.densities(codes).sum(axis=1))
    some = p > 0
    return float((p[some] * (np.log(p[some]) - log_q[some])).sum())


def _maximised(codes: Ints, p: Floats, shares: Floats) -> Mixture:
    """Return the best mixture for given responsibilities (the M step)."""
    counts = p[:, None] * shares  # (N, k)
    counts = counts[:, counts.sum(axis=0) > 0]
    weights = counts.sum(axis=0)
    sums = [_sums(counts.T, column) for column in codes.T]
    return Mixture(weights, [some / weights[:, None] for some in sums])


def _sums(weights: Floats, codes: Ints) -> Floats:
    """Return the sum of weights of shape (M, N) over the rows with each value, (M, values)."""
    size = int(codes.max(initial=-1)) + 1
    out = np.zeros((len(weights), size))
    for one, row in zip(out, weights, strict=True):
        one[:] = np.bincount(codes, row, size)
    return out


def _partition(codes: Ints, p: Floats, k: int) -> Floats:
    """Partition listed rows greedily by column values; return the assignment, (N, k)."""
    leaves = [np.arange(len(codes))]
    splits: list[tuple[Bools, float]] = []
    while len(leaves) < k:
        splits += [_split_by_value(codes[rows], p[rows]) for rows in leaves[len(splits) :]]
        best = max(range(len(leaves)), key=lambda i: splits[i][1])
        inside, fall = splits[best]
        if fall <= LEAST_FALL:
            break
        rows = leaves.pop(best)
        del splits[best]
        leaves += [rows[inside], rows[~inside]]
    out = np.zeros((len(codes), len(leaves)))
    for i, rows in enumerate(leaves):
        out[rows, i] = 1.0
    return out


def _split_by_value(codes: Ints, p: Floats) -> tuple[Bools, float]:
    """Return the rows with the most informative value, and its information."""
    values = [np.unique(codes[:, j]) for j in range(codes.shape[1])]
    own = np.repeat(np.arange(len(values)), [len(some) for some in values])
    which = np.concatenate([*values, np.zeros(0, np.int64)])
    if len(which) > MOST_EVENTS:  # values are numbered by their first row, the most probable first
        few = np.sort(np.argsort(which, kind="stable")[:MOST_EVENTS])
        own, which = own[few], which[few]
    inside = np.zeros((len(own), len(codes)), bool)
    for k, (j, value) in enumerate(zip(own, which, strict=True)):
        inside[k] = codes[:, j] == value
    best, fall = _most_informative(inside, own, codes, p) if len(own) else (None, 0.0)
    if best is None:
        return np.zeros(len(codes), bool), 0.0
    return inside[best], float(p.sum()) * fall


def _codes(rows: Sequence[Sequence[Hashable]], columns: int) -> Ints:
    """Return values as integers, numbered by column in order of first occurrence."""
    out = np.zeros((len(rows), columns), np.int64)
    for j in range(columns):
        numbers: dict[Hashable, int] = {}
        for i, row in enumerate(rows):
            out[i, j] = numbers.setdefault(row[j], len(numbers))
    return out
