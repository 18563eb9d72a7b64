"""Significance tests of the difference between two systems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.evaluation.input_checks import Sequences, checked, listed
from caesura.evaluation.scores import Score, sequence_counts
from caesura.notebooks import card, table

__all__ = ["Comparison", "compare"]

_TOLERANCE = 1e-12  # tolerance for rounding when differences are compared
_AT_ONCE = 2**20  # random numbers in memory at a time


class Comparison(NamedTuple):
    """The comparison of two systems on the same sequences; ``print`` shows it.

    Examples
    --------
    >>> print(Comparison(Score(10, 10, 9), Score(10, 10, 7), 0.045, 999))
    F1 0.900 (a) and 0.700 (b), difference 0.200, p = 0.045
    by approximate randomisation, 999 rounds
    """

    a: Score
    b: Score
    p_value: float
    rounds: int

    @property
    def difference(self) -> float:
        """The F1 of a minus the F1 of b."""
        return self.a.f1 - self.b.f1

    def __str__(self) -> str:
        return (
            f"F1 {self.a.f1:.3f} (a) and {self.b.f1:.3f} (b), difference {self.difference:.3f}, "
            f"p = {self.p_value:.2g}\nby approximate randomisation, {self.rounds} rounds"
        )

    def _repr_html_(self) -> str:
        """Show both scores and the p-value in a notebook."""
        rows: list[tuple[str, ...]] = [("", "precision", "recall", "F1")]
        for name, score in (("a", self.a), ("b", self.b)):
            shares = score.precision, score.recall, score.f1
            rows.append((name, *(f"{share:.3f}" for share in shares)))
        title = f"F1 differs by {self.difference:.3f}, p = {self.p_value:.2g}"
        return card(title, table(f"Approximate randomisation, {self.rounds} rounds.", rows))


def compare(
    gold: Sequences,
    a: Sequences,
    b: Sequences,
    rounds: int = 9999,
    seed: int = 0,
    outside: str = "O",
) -> Comparison:
    """Test whether two systems differ in segment F1, by approximate randomisation.

    Under the null hypothesis the answers of the two systems are exchangeable. In each round, the
    answers to each sequence are swapped with probability one half.

    Parameters
    ----------
    gold, a, b : iterable of iterable of (start, end, label)
        The segments of each sequence: gold, and those of the two systems.
    rounds : int
        Number of randomisation rounds. The smallest p-value is 1 / (rounds + 1).
    seed : int
        Random seed.
    outside : str
        The label of text outside any segment, which does not count.

    Returns
    -------
    Comparison
        The scores, their difference and p = (c + 1) / (rounds + 1), where c counts the rounds with
        a difference, in either direction, at least as large as the one observed.

    Examples
    --------
    >>> gold = [[(0, 1, "A")]] * 12
    >>> compare(gold, gold, [[]] * 12, rounds=999).p_value
    0.001
    >>> compare(gold, gold, gold).p_value
    1.0
    """
    rounds, seed = whole("rounds", rounds, 1), whole("seed", seed, 0)
    right = listed("gold", gold)
    counts = []
    for name, system in (("a", a), ("b", b)):
        pairs = checked(right, listed(name, system), outside, name)
        counts.append(sequence_counts([g for g, _ in pairs], [s for _, s in pairs], outside))
    of_a, of_b = counts
    totals = [Score(*count.sum(axis=0).tolist()) for count in counts]
    exceeding = _exceeding(of_a, of_b, rounds, seed)
    return Comparison(totals[0], totals[1], (exceeding + 1) / (rounds + 1), rounds)


def _exceeding(
    of_a: npt.NDArray[np.int64], of_b: npt.NDArray[np.int64], rounds: int, seed: int
) -> int:
    """Count the rounds with a difference at least as large as the observed one."""
    gained = of_b - of_a  # (n, 3) what a gains, and b loses, if the two are swapped
    gained = gained[gained.any(axis=1)].astype(np.float64)
    sum_a, sum_b = of_a.sum(axis=0), of_b.sum(axis=0)
    observed = _differences(sum_a[None, :], sum_b[None, :])[0]
    random = np.random.default_rng(seed)
    exceeding = done = 0
    while done < rounds:
        size = min(rounds - done, max(1, _AT_ONCE // max(1, len(gained))))
        swapped = random.integers(0, 2, (size, len(gained)), np.uint8)
        moved = swapped.astype(np.float64) @ gained  # (size, 3)
        differences = _differences(sum_a + moved, sum_b - moved)
        exceeding += int((differences >= observed - _TOLERANCE).sum())
        done += size
    return exceeding


def _differences(
    a: npt.NDArray[np.float64] | npt.NDArray[np.int64],
    b: npt.NDArray[np.float64] | npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Return |F1 of a - F1 of b| for rows of counts: gold, predicted, correct."""
    f1 = [2 * counts[:, 2] / np.maximum(counts[:, 0] + counts[:, 1], 1) for counts in (a, b)]
    return np.asarray(np.abs(f1[0] - f1[1]))
