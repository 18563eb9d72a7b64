"""Settings of a match score, chosen by cross-validation over entities.

A logistic regression fits single pairs, but entities are groups.  An entity with 60 mentions has
1,770 pairs and outweighs hundreds of small ones, and a wrong pair that merges two groups brings all
pairs between them.  Therefore the penalty, the weights of the pairs and the threshold are chosen
for the F1 of the pairs within *groups*, over entities that the weights were not fitted to.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput
from caesura.records.pairs import Pair, logistic, merged

__all__ = ["Settings", "checked_entities", "fitted", "tuned"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
PENALTIES = (1.0, 10.0)  # factors of c2 to try
THRESHOLDS = (-2.0, -1.0, 0.0, 1.0, 2.0)
ROUNDS = 2  # rounds of two-fold cross-validation


class Settings(NamedTuple):
    """How the weights of a match score are fitted.

    Examples
    --------
    >>> Settings(c2=1.0).threshold
    0.0
    """

    c2: float
    balanced: bool = False  # whether pairs of large entities count less
    threshold: float = 0.0  # the log-odds above which a pair counts as a match


def fitted(X: Floats, pairs: Sequence[Pair], entity: Ints, settings: Settings) -> Floats:
    """Return the weights of a match score.

    Parameters
    ----------
    X : array of shape (pairs, weights)
        Similarities of each pair.
    pairs : sequence of (int, int)
        Pairs of records.
    entity : array of shape (records,)
        The entity of each record.
    settings : Settings
        The threshold is not part of the weights.
    """
    i, j = np.array(pairs).reshape(-1, 2).T
    weights = np.ones(len(pairs))
    if settings.balanced:
        others = np.maximum(np.bincount(entity)[entity] - 1, 1)  # other mentions of the entity
        weights = 1.0 / np.sqrt(others[i] * others[j])
    right = (entity[i] == entity[j]).astype(np.float64)
    return logistic(X, right, settings.c2, weights * (len(pairs) / weights.sum()))


def tuned(X: Floats, pairs: Sequence[Pair], entity: Ints, c2: float) -> Settings:
    """Return the settings with the highest mean F1 in cross-validation; see `fitted`."""
    i, j = np.array(pairs, np.int64).reshape(-1, 2).T
    folds = list(_folds(i, j, entity))
    if not folds:
        came, expected = f"{len(pairs)} pairs", "matches and others in both halves of the entities"
        raise InvalidInput(place="tune", got=came, expected=expected, remedy="give more records")
    best, chosen = -1.0, Settings(c2)
    for factor, balanced in product(PENALTIES, (False, True)):
        settings = Settings(c2 * factor, balanced)
        totals = np.zeros((ROUNDS, len(THRESHOLDS), 3))
        for number, asked, learn, ask in folds:
            some = [pairs[k] for k in np.flatnonzero(learn).tolist()]
            scores = X[ask] @ fitted(X[learn], some, entity, settings)
            some = [pairs[k] for k in np.flatnonzero(ask).tolist()]
            for t, threshold in enumerate(THRESHOLDS):
                odds = dict(zip(some, (scores - threshold).tolist(), strict=True))
                totals[number, t] += _counts(merged(len(entity), odds), entity, asked)
        f1 = (2 * totals[..., 0] / np.maximum(totals[..., 1] + totals[..., 2], 1)).mean(axis=0)
        if f1.max() > best:
            best = float(f1.max())
            chosen = settings._replace(threshold=THRESHOLDS[int(f1.argmax())])
    return chosen


def checked_entities(known: set[Pair], count: int, one_set: bool) -> Ints:
    """Return the entity of each record, for cross-validation."""
    came, advice = "records of two sets", "leave out others=, or tune=True"
    if one_set:
        entity = np.array(merged(count, dict.fromkeys(known, 1.0)))
        several = Counter(entity.tolist())
        if len(several) >= 4 and sum(size > 1 for size in several.values()) >= 2:
            return entity
        came, advice = f"{len(several)} entities", "give more records, or leave out tune=True"
    expected = "one set with four entities or more, two of which have several records"
    raise InvalidInput(place="tune", got=came, expected=expected, remedy=advice)


def _folds(i: Ints, j: Ints, entity: Ints) -> Iterator[tuple[int, Bools, Bools, Bools]]:
    """Yield the halves to ask about, with the pairs to learn from and those to ask about.

    Halves whose other half has no matches, or nothing but matches, are left out.
    """
    same = entity[i] == entity[j]
    for number, asked in _halves(entity):
        learn, ask = ~asked[i] & ~asked[j], asked[i] & asked[j]
        if same[learn].any() and not same[learn].all():
            yield number, asked, learn, ask


def _halves(entity: Ints) -> Iterator[tuple[int, Bools]]:
    """Yield the number of a round, and which records are in one half of the entities."""
    for number in range(ROUNDS):
        found = np.unique(entity).tolist()
        random.Random(number).shuffle(found)
        for k in range(2):
            yield number, np.isin(entity, found[k::2])


def _counts(group: Sequence[int], entity: Ints, asked: npt.NDArray[np.bool_]) -> list[int]:
    """Return how many pairs of the records asked about are right, found and true."""
    places = np.flatnonzero(asked).tolist()
    groups, true = [group[k] for k in places], [int(entity[k]) for k in places]
    keys = (zip(groups, true, strict=True), groups, true)
    return [sum(n * (n - 1) // 2 for n in Counter(some).values()) for some in keys]
