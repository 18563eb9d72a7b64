"""Reliability of probabilities: of the segments with probability 0.8, are 80 % correct?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.evaluation.input_checks import Sequences, checked
from caesura.evaluation.tables import for_terminals, plain

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Bin", "Reliability", "reliability", "right_segments"]


class Bin(NamedTuple):
    """The segments with a probability in the interval (low, high].

    Examples
    --------
    >>> reliability([0.9, 0.7], [True, False], bins=1).bins[0]
    Bin(low=0.0, high=1.0, segments=2, confidence=0.8, accuracy=0.5)
    """

    low: float
    high: float
    segments: int
    confidence: float  # the mean probability; 0 if there are no segments
    accuracy: float  # the share of correct segments; 0 if there are none


class Reliability(NamedTuple):
    """Probabilities compared with the observed share of correct segments; ``print`` shows a table.

    Examples
    --------
    >>> print(reliability([0.9, 0.9, 0.6, 0.3], [True, True, False, True], bins=2))
                 segments  mean probability  share right
    0.00 - 0.50         1             0.300        1.000
    0.50 - 1.00         3             0.800        0.667
    expected calibration error 0.275, largest 0.700, of 4 segments
    """

    bins: tuple[Bin, ...]

    @property
    def segments(self) -> int:
        """The number of segments."""
        return sum(bin.segments for bin in self.bins)

    @property
    def expected_calibration_error(self) -> float:
        """The mean absolute gap between probability and accuracy, weighted by bin size."""
        gaps = sum(bin.segments * abs(bin.accuracy - bin.confidence) for bin in self.bins)
        return gaps / self.segments if self.segments else 0.0

    @property
    def maximum_calibration_error(self) -> float:
        """The largest gap of any non-empty bin."""
        return max((abs(b.accuracy - b.confidence) for b in self.bins if b.segments), default=0.0)

    def __str__(self) -> str:
        return plain(self.rows(), [self.line()])

    def __rich__(self) -> Group:
        return for_terminals(self.rows(), [self.line()])

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table as rows, one for each bin, after a header."""
        rows: list[tuple[str, ...]] = [("", "segments", "mean probability", "share right")]
        for low, high, count, confidence, accuracy in self.bins:
            means = (f"{confidence:.3f}", f"{accuracy:.3f}") if count else ("", "")
            rows.append((f"{low:.2f} - {high:.2f}", str(count), *means))
        return rows

    def line(self) -> str:
        """Return a one-line summary of the calibration error."""
        mean, largest = self.expected_calibration_error, self.maximum_calibration_error
        gaps = f"expected calibration error {mean:.3f}, largest {largest:.3f}"
        return f"{gaps}, of {self.segments} segments"


def reliability(
    confidences: npt.ArrayLike, right: Sequence[bool] | npt.NDArray[np.bool_], bins: int = 10
) -> Reliability:
    """Compare probabilities with observed correctness, in bins of equal width.

    Parameters
    ----------
    confidences : array of shape (n,)
        The probability of each predicted segment, from 0 to 1.
    right : array of shape (n,)
        Whether it is correct, as returned by `right_segments`.
    bins : int
        The number of bins.

    Returns
    -------
    Reliability
        The bins, and the expected calibration error: the mean over segments of the gap, in their
        bin, between the mean probability and the share that is right.

    Examples
    --------
    >>> reliability([0.8] * 5, [True, True, True, True, False]).expected_calibration_error < 1e-9
    True
    """
    bins = whole("bins", bins, 1)
    try:
        p, hit = np.asarray(confidences, np.float64), np.asarray(right)
    except (TypeError, ValueError):
        expected, remedy = "numbers from 0 to 1 in one list", "join those of all sequences"
        raise InvalidInput(message("confidences", confidences, expected, remedy)) from None
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        expected, remedy = "numbers from 0 to 1 in one list", "pass probabilities, not scores"
        raise InvalidInput(message("confidences", confidences, expected, remedy))
    if hit.shape != p.shape or not np.isin(hit, (0, 1)).all():
        expected, remedy = f"True or False for each of {len(p)}", "pass one for each number"
        raise InvalidInput(message("right", right, expected, remedy))
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.searchsorted(edges[1:-1], p)
    counts = np.bincount(place, minlength=bins)
    some = np.maximum(counts, 1)
    means = np.bincount(place, p, bins) / some
    shares = np.bincount(place, hit.astype(np.float64), bins) / some
    columns = (edges[:-1], edges[1:], counts, means, shares)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return Reliability(tuple(Bin(*row) for row in rows))


def right_segments(gold: Sequences, predicted: Sequences, outside: str = "O") -> list[list[bool]]:
    """Return whether each predicted segment is exactly correct; outside ones are ignored.

    Examples
    --------
    >>> right_segments([[(0, 1, "A")]], [[(0, 1, "A"), (1, 2, "B")]])
    [[True, False]]
    """
    return [
        [segment in there for segment in guess]
        for right, guess in checked(gold, predicted, outside)
        for there in (set(right),)
    ]
