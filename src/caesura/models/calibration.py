"""Probabilities that mean what they say: of predicted segments, how many are exactly right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message
from caesura.segments import Segment

__all__ = ["Calibration", "Confident", "calibrate"]

Floats = npt.NDArray[np.float64]
SUREST = 30.0  # log-odds beyond which nothing is told apart


class Confident(NamedTuple):
    """A predicted segment with the probability that it is exactly right."""

    segment: Segment
    probability: float
    calibrated: bool  # False: the probability is the model's own
    review: bool  # it is below the threshold


class Calibration(NamedTuple):
    """A rising function from the model's probabilities to shares of right segments."""

    method: str
    knots: Floats  # (K,) the model's probabilities, rising
    values: Floats  # (K,) what they mean, rising
    seen: Floats  # (n,) calibrated probabilities of the held-out segments
    right: npt.NDArray[np.bool_]  # (n,)

    def __call__(self, probabilities: Floats) -> Floats:
        """Return calibrated probabilities."""
        return np.interp(probabilities, self.knots, self.values)

    def threshold_for(self, precision: float) -> float:
        """Return the smallest threshold above which this share of held-out segments is right."""
        if not 0 <= precision <= 1:
            raise InvalidInput(message("precision", precision, "a share from 0 to 1", "correct it"))
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
    [0.75, 0.0]
    """
    if len(probabilities) == 0:
        raise InvalidInput("X: got no predicted segments, expected some to learn from")
    if method == "isotonic":
        knots, values = _isotonic(probabilities, right)
    else:
        log_odds = np.linspace(-SUREST, SUREST, 2001)
        knots = _share(log_odds)
        values = _share(log_odds / _temperature(probabilities, right))
    seen = np.interp(probabilities, knots, values)
    return Calibration(method, knots, values, seen, right)


def _isotonic(x: Floats, right: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the rising step function nearest to the data, by pooling neighbours that fall."""
    points, which = np.unique(x, return_inverse=True)  # equal probabilities stay together
    hits = np.bincount(which, right, len(points)).tolist()
    counts = np.bincount(which, minlength=len(points)).tolist()
    blocks: list[tuple[float, int, float, float]] = []  # right, all, first and last probability
    for hit, count, point in zip(hits, counts, points.tolist(), strict=True):
        block = (hit, count, point, point)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            last = blocks.pop()
            block = (last[0] + block[0], last[1] + block[1], last[2], block[3])
        blocks.append(block)
    knots = np.array([point for block in blocks for point in block[2:]])
    values = np.array([block[0] / block[1] for block in blocks for _ in range(2)])
    keep = np.append(True, np.diff(knots) > 0)
    return knots[keep], values[keep]


def _share(log_odds: Floats) -> Floats:
    """Return probabilities."""
    return 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))


def _temperature(p: Floats, right: npt.NDArray[np.bool_]) -> float:
    """Return what log-odds must be divided by to make the data most likely, by golden section."""
    sure = np.clip(p, 1e-12, 1 - 1e-12)
    towards_truth = np.log(sure / (1 - sure)) * np.where(right, 1.0, -1.0)

    def loss(log_temperature: float) -> float:
        return float(np.logaddexp(0.0, -towards_truth / np.exp(log_temperature)).sum())

    low, high, ratio = -4.0, 4.0, (5**0.5 - 1) / 2
    for _ in range(60):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return float(np.exp((low + high) / 2))
