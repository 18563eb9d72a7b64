"""Confidence intervals of scores by bootstrap over sequences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.evaluation.input_checks import Sequences, checked
from caesura.evaluation.scores import sequence_counts

__all__ = ["Interval", "Range", "bootstrap"]

ROUNDS = 2000
_AT_ONCE = 2**20  # random numbers in memory at a time


class Range(NamedTuple):
    """A closed interval.

    Examples
    --------
    >>> print(Range(0.25, 0.5))
    0.250 to 0.500
    """

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}"


class Interval(NamedTuple):
    """Confidence intervals of micro-averaged precision, recall and F1.

    Examples
    --------
    >>> print(Interval(0.95, 2000, Range(0.8, 1.0), Range(0.6, 0.8), Range(0.7, 0.9)))
    95 % intervals: precision 0.800 to 1.000, recall 0.600 to 0.800, F1 0.700 to 0.900
    """

    confidence: float
    rounds: int
    precision: Range
    recall: Range
    f1: Range

    def __str__(self) -> str:
        shares = f"precision {self.precision}, recall {self.recall}, F1 {self.f1}"
        return f"{100 * self.confidence:g} % intervals: {shares}"


def bootstrap(
    gold: Sequences,
    predicted: Sequences,
    confidence: float = 0.95,
    rounds: int = ROUNDS,
    seed: int = 0,
    outside: str = "O",
) -> Interval:
    """Compute confidence intervals of precision, recall and F1 by bootstrap over sequences.

    As many sequences as there are get drawn, with replacement, again and again; the interval
    holds the middle of the scores so found (the percentile method).

    Parameters
    ----------
    gold, predicted : iterable of iterable of (start, end, label)
        The segments of each sequence.
    confidence : float
        The share of the drawn scores inside, above 0 and below 1.
    rounds : int
        Number of bootstrap samples.
    seed : int
        Seed of the random number generator.
    outside : str
        The label of text outside any segment, which does not count.

    Returns
    -------
    Interval
        For all segments together (micro).

    Examples
    --------
    >>> gold = [[(0, 1, "A")]] * 100
    >>> bootstrap(gold, gold[:80] + [[]] * 20).recall
    Range(low=0.72, high=0.88)
    """
    pairs = checked(gold, predicted, outside)
    counts = sequence_counts((a for a, _ in pairs), (b for _, b in pairs), outside)
    return interval_of(counts, confidence, whole("rounds", rounds, 1), whole("seed", seed, 0))


def bound_of_wrong(count: int, confidence: float) -> str:
    """Return how many sequences may be wrong although `count` of them are all right.

    If a share p is wrong, n sequences are all right with the probability (1 - p)^n.

    Examples
    --------
    >>> bound_of_wrong(16, 0.95)
    'resampling sequences that are all right shows no spread: up to 17.1 % of further ones may be
    wrong (95 % bound)'
    """
    share = 1 - (1 - confidence) ** (1 / count)
    return (
        f"resampling sequences that are all right shows no spread: up to {100 * share:.1f} % of "
        f"further ones may be wrong ({100 * confidence:g} % bound)"
    )


def interval_of(
    counts: npt.NDArray[np.int64], confidence: float, rounds: int = ROUNDS, seed: int = 0
) -> Interval:
    """Compute the intervals of `bootstrap` from counts of shape (sequences, 3)."""
    number = isinstance(confidence, int | float | np.floating)
    if not number or not 0 < confidence < 1:
        expected, remedy = "a share above 0 and below 1", "pass 0.95 for 95 %"
        raise InvalidInput(message("confidence", confidence, expected, remedy))
    drawn = _drawn(counts, rounds, seed)  # (rounds, 3): gold, predicted, correct
    gold, predicted, correct = drawn.T
    shares = (
        correct / np.maximum(predicted, 1),
        correct / np.maximum(gold, 1),
        2 * correct / np.maximum(gold + predicted, 1),
    )
    tail = (1 - confidence) / 2
    ends = [Range(*np.quantile(share, [tail, 1 - tail]).tolist()) for share in shares]
    return Interval(float(confidence), rounds, *ends)


def _drawn(counts: npt.NDArray[np.int64], rounds: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the summed counts of the resampled sequences of each round.

    Sequences with the same counts are drawn together: how often each kind comes up is
    multinomial, and there are far fewer kinds than sequences.
    """
    if not len(counts):
        return np.zeros((rounds, 3), np.int64)
    kinds, times = np.unique(counts, axis=0, return_counts=True)
    random = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // len(kinds))
    sizes = [min(step, rounds - done) for done in range(0, rounds, step)]
    chances = times / times.sum()
    sums = [random.multinomial(len(counts), chances, size) @ kinds for size in sizes]
    return np.concatenate(sums)
