"""Calibration of probabilities to the observed share of exactly correct segments."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.checks import nothing
from caesura.errors import InvalidInput, message
from caesura.segments import Segment

__all__ = ["Calibration", "Confident", "calibrate", "not_constrained"]

Floats = npt.NDArray[np.float64]
SUREST = 30.0  # log-odds beyond this are treated as equal


class Confident(NamedTuple):
    """A predicted segment with the probability that it is exactly right."""

    segment: Segment
    probability: float
    calibrated: bool  # if False, the probability is that of the model
    review: bool  # whether it is below the threshold


class Calibration(NamedTuple):
    """An increasing function from model probabilities to observed accuracy."""

    method: str
    knots: Floats  # (K,) probabilities of the model, increasing
    values: Floats  # (K,) calibrated probabilities at the knots, non-decreasing
    seen: Floats  # (n,) calibrated probabilities of the held-out segments
    right: npt.NDArray[np.bool_]  # (n,) whether each of these segments is correct
    outside_bias: float = 0.0  # the outside bias of the predictions that it was fitted to

    def __call__(self, probabilities: Floats) -> Floats:
        """Return calibrated probabilities."""
        return np.interp(probabilities, self.knots, self.values)

    def threshold_for(self, precision: float) -> float:
        """Return the smallest threshold above which this share of held-out segments is correct."""
        if not isinstance(precision, Real) or not 0 <= precision <= 1:
            expected = "a number from 0 to 1"
            raise InvalidInput(message("precision", precision, expected, "pass for example 0.95"))
        order = np.argsort(-self.seen, kind="stable")
        seen, right = self.seen[order], self.right[order]
        share = np.cumsum(right) / np.arange(1, len(right) + 1)
        last_of_tie = np.append(seen[1:] != seen[:-1], True)
        good = np.flatnonzero((share >= precision) & last_of_tie)
        return float(seen[good[-1]]) if len(good) else float("inf")


def calibrate(probabilities: Floats, right: npt.NDArray[np.bool_], method: str) -> Calibration:
    """Fit a calibration to held-out segments.

    Examples
    --------
    >>> chances = np.array([0.9, 0.9, 0.9, 0.9, 0.4, 0.4])
    >>> fitted = calibrate(chances, np.array([True, True, True, False, False, False]), "isotonic")
    >>> fitted(np.array([0.9, 0.4])).round(2).tolist()
    [0.67, 0.25]

    No probability is 0 or 1. A step of the isotonic function over n held-out segments of
    which k are correct has the value (k + 1) / (n + 2), as if one more were correct and one wrong;
    with a temperature, probabilities are limited to [1 / (n + 2), (n + 1) / (n + 2)].
    """
    if len(probabilities) == 0:
        raise nothing("X", "predicted segments", "pass more held-out sequences")
    probabilities = np.clip(probabilities, 0.0, 1.0)  # sums may round to slightly above 1
    if method == "isotonic":
        knots, values = _isotonic(probabilities, right)
    else:
        log_odds = np.linspace(-SUREST, SUREST, 2001)
        knots = _share(log_odds)
        least = 1.0 / (len(right) + 2.0)
        values = _share(log_odds / _temperature(probabilities, right)).clip(least, 1.0 - least)
    seen = np.interp(probabilities, knots, values)
    return Calibration(method, knots, values, seen, right)


def _isotonic(x: Floats, right: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Fit an increasing step function by pooling adjacent violators.

    That gives the nearest one; its steps are pooled again once a right and a wrong segment are
    added to each, as shares of few segments then change more than those of many.
    """
    points, which = np.unique(x, return_inverse=True)  # equal probabilities form one point
    hits = np.bincount(which, right, len(points)).tolist()
    counts = np.bincount(which, minlength=len(points)).tolist()
    singles = [_Block(*block) for block in zip(hits, counts, points, points, strict=True)]
    blocks = _pooled(_pooled(singles, added=0), added=1)
    knots = np.array([point for block in blocks for point in (block.first, block.last)])
    values = np.array([block.share(1) for block in blocks for _ in range(2)])
    keep = np.append(True, np.diff(knots) > 0)
    return knots[keep], values[keep]


class _Block(NamedTuple):
    """A pool of adjacent held-out segments."""

    right: float
    all: int
    first: float  # the smallest probability in the pool
    last: float

    def share(self, added: int) -> float:
        """Return the accuracy of the pool, with `added` correct and wrong segments each."""
        return (self.right + added) / (self.all + 2 * added)


def _pooled(blocks: Iterable[_Block], added: int) -> list[_Block]:
    """Return pools with increasing accuracy."""
    out: list[_Block] = []
    for block in blocks:
        while out and out[-1].share(added) >= block.share(added):
            last = out.pop()
            right, count = last.right + block.right, last.all + block.all
            block = _Block(right, count, last.first, block.last)
        out.append(block)
    return out


def _share(log_odds: Floats) -> Floats:
    """Return probabilities from log-odds."""
    return 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))


def _temperature(p: Floats, right: npt.NDArray[np.bool_]) -> float:
    """Return the temperature of log-odds with the highest likelihood, by golden section.

    The truth of n segments of a kind counts as (n + 1) / (n + 2), as Platt proposed: data that is
    right throughout says little about how sure to be.
    """
    sure = np.clip(p, 1e-12, 1 - 1e-12)
    log_odds = np.log(sure / (1 - sure))
    n = int(right.sum())
    truth = np.where(right, (n + 1.0) / (n + 2.0), 1.0 / (len(right) - n + 2.0))

    def loss(log_temperature: float) -> float:
        scores = log_odds / np.exp(log_temperature)
        both = truth * np.logaddexp(0.0, -scores) + (1.0 - truth) * np.logaddexp(0.0, scores)
        return float(both.sum())

    low, high, ratio = -4.0, 4.0, (5**0.5 - 1) / 2
    for _ in range(60):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return float(np.exp((low + high) / 2))


def not_constrained(place: str) -> InvalidInput:
    """Return the error for a precision requested under constraints."""
    return InvalidInput(
        "cannot be combined with precision, because the calibration holds for unconstrained "
        "predictions",
        place=place,
        remedy="pass a threshold instead",
    )
