"""Record pairs: training samples, logistic regression and grouping."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message

__all__ = ["Distinct", "Link", "Pair", "checked_matches", "logistic", "merged", "one_to_one_links"]
__all__ += ["probabilities", "spread", "strangers"]

Pair = tuple[int, int]
T = TypeVar("T", bound=Hashable)
Floats = npt.NDArray[np.float64]
STEPS = 30  # maximum number of Newton steps


class Link(NamedTuple):
    """Two records of the same entity.

    Examples
    --------
    >>> Link(0, 7, 0.99).other
    7
    """

    record: int
    other: int
    probability: float


class Distinct(Generic[T]):
    """Distinct values with their occurrences.

    Examples
    --------
    >>> some = Distinct(["a", "b", "a"])
    >>> some.values, some.numbers, some.places
    (['a', 'b'], [0, 1, 0], [[0, 2], [1]])
    """

    def __init__(self, values: Iterable[T]) -> None:
        known: dict[T, int] = {}
        self.numbers = [known.setdefault(value, len(known)) for value in values]  # by place
        self.values = list(known)
        self.places: list[list[int]] = [[] for _ in known]  # the places of each value
        for place, number in enumerate(self.numbers):
            self.places[number].append(place)


def spread(mine: Sequence[int], theirs: Sequence[int], most: int, same: bool) -> set[Pair]:
    """Return pairs of the positions of two values, with a limit for each position.

    Examples
    --------
    >>> sorted(spread([0, 2, 3], [0, 2, 3], 1, same=True))
    [(0, 2), (0, 3)]
    """
    pairs = {(i, j) for i in mine for j in islice((j for j in theirs if not same or i != j), most)}
    return {(min(pair), max(pair)) for pair in pairs} if same else pairs


def checked_matches(matches: Iterable[Pair], mine: int, theirs: int, same: bool) -> set[Pair]:
    """Return checked matching pairs; within one set, with the smaller index first.

    Examples
    --------
    >>> checked_matches([(2, 0)], 3, 3, same=True)
    {(0, 2)}
    """
    if not isinstance(matches, Iterable):
        expected = "a list of pairs of places"
        raise InvalidInput(message("matches", matches, expected, "pass [(0, 1), ...]"))
    known = set()
    for k, pair in enumerate(matches):
        try:
            i, j = map(operator.index, pair)
        except (TypeError, ValueError):
            i = j = -1
        if not (0 <= i < mine and 0 <= j < theirs) or (same and i == j):
            expected = f"places of two records, below {mine} and {theirs}"
            raise InvalidInput(message(f"matches[{k}]", pair, expected, "number them from 0"))
        known.add((min(i, j), max(i, j)) if same else (i, j))
    return known


def strangers(mine: int, theirs: int, same: bool) -> set[Pair]:
    """Return one presumably non-matching pair for each record."""
    pairs = {(i, (i + theirs // 2 + 1) % theirs) for i in range(mine)} if theirs else set()
    return {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]} if same else pairs


def merged(
    count: int, scores: Mapping[Pair, float], sizes: Sequence[int] | None = None
) -> list[int]:
    """Return the first record of each record's group.

    Groups are merged, the best pair first, as long as the scores between them add up to more
    than 0. A record that stands for several equal ones counts as often.

    Examples
    --------
    >>> merged(3, {(0, 1): 2.0, (1, 2): 1.0, (0, 2): -3.0})
    [0, 0, 2]
    """
    group, members = list(range(count)), [[i] for i in range(count)]
    between: list[dict[int, float]] = [{} for _ in range(count)]  # between groups: sums of scores
    for (i, j), score in scores.items():
        times = 1 if sizes is None else sizes[i] * sizes[j]
        between[i][j] = between[i].get(j, 0.0) + times * score
        between[j][i] = between[j].get(i, 0.0) + times * score
    for (i, j), score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        a, b = group[i], group[j]
        if score <= 0.0 or a == b or between[a][b] <= 0.0:
            continue
        if len(members[a]) + len(between[a]) < len(members[b]) + len(between[b]):
            a, b = b, a  # the smaller group is merged into the larger
        for i in members[b]:
            group[i] = a
        members[a] += members[b]
        for other, total in between[b].items():
            del between[other][b]
            if other != a:
                between[a][other] = between[other][a] = between[a].get(other, 0.0) + total
    firsts = {a: min(members[a]) for a in set(group)}
    return [firsts[a] for a in group]


def one_to_one_links(links: list[Link]) -> list[Link]:
    """Return the links that stay if a record has one at most; the likeliest are taken first."""
    mine: set[int] = set()
    theirs: set[int] = set()
    kept = []
    for link in sorted(links, key=lambda link: (-link.probability, link.record, link.other)):
        if link.record not in mine and link.other not in theirs:
            mine.add(link.record)
            theirs.add(link.other)
            kept.append(link)
    return sorted(kept)


def probabilities(scores: Floats) -> Floats:
    """Return the probabilities of log-odds."""
    return 0.5 * (1.0 + np.tanh(0.5 * scores))


def logistic(X: Floats, y: Floats, c2: float, weights: Floats | None = None) -> Floats:
    """Fit a logistic regression by Newton's method with step halving.

    It minimises ``sum of v ln(1 + exp(-(2 y - 1) X w)) + c2 |w|^2``, which is convex; v are the
    weights of the rows, 1 by default.
    """
    w = np.zeros(X.shape[1])
    v = np.ones(len(y)) if weights is None else weights

    def loss(w: Floats) -> float:
        return float(v @ np.logaddexp(0.0, (1.0 - 2.0 * y) * (X @ w)) + c2 * w @ w)

    for _ in range(STEPS):
        p = probabilities(X @ w)
        gradient = X.T @ (v * (p - y)) + 2.0 * c2 * w
        hessian = (X * (v * p * (1.0 - p))[:, None]).T @ X + 2.0 * max(c2, 1e-9) * np.eye(len(w))
        step, size, now = np.linalg.solve(hessian, gradient), 1.0, loss(w)
        while size > 1e-6 and loss(w - size * step) > now:
            size /= 2.0
        w = w - size * step
        if math.sqrt(float(gradient @ gradient)) < 1e-8 * len(y):
            break
    return w
