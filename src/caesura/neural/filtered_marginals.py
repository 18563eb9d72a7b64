"""Marginals under a filtered semi-CRF, which covers only the kept spans."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message
from caesura.segments import Segment

__all__ = ["FilteredMarginals"]


class FilteredMarginals(NamedTuple):
    """The marginals of the kept spans of one sequence; all others have probability 0.

    Attributes
    ----------
    log_partition : float
        ln Z over the paths through the kept spans.
    length : int
        Number of tokens.
    labels : tuple of str
        The label of text outside, and those of segments.
    spans : list of (Segment, float)
        The kept spans with their probabilities.

    Examples
    --------
    >>> found = FilteredMarginals(0.0, 3, ("O", "name"), [(Segment(0, 2, "name"), 0.75)])
    >>> found.segment(0, 2, "name"), found.segment(1, 2, "name")
    (0.75, 0.0)
    >>> found.tokens.tolist()
    [[0.25, 0.75], [0.25, 0.75], [1.0, 0.0]]
    """

    log_partition: float
    length: int
    labels: tuple[str, ...]
    spans: list[tuple[Segment, float]]

    @property
    def tokens(self) -> npt.NDArray[np.float64]:
        """Probability of shape (T, 1 + Y) that a token lies outside, or in a segment labelled y."""
        found = np.zeros((self.length, len(self.labels)))
        for (start, end, label), p in self.spans:
            found[start:end, self.labels.index(label)] += p
        found[:, 0] = np.clip(1.0 - found[:, 1:].sum(axis=1), 0.0, 1.0)
        return found

    def segment(self, start: int, end: int, label: str) -> float:
        """Return the probability of a segment; 0 if the filter has dropped it."""
        if label not in self.labels[1:]:
            expected = f"one of {list(self.labels[1:])}"
            raise InvalidInput(message("label", label, expected, "pass one of them"))
        return dict(self.spans).get(Segment(start, end, label), 0.0)

    def segments(self, min_probability: float = 0.01) -> list[tuple[Segment, float]]:
        """Return the segments of at least this probability, the most probable first."""
        if not 0.0 <= min_probability <= 1.0:
            raise InvalidInput(
                message("min_probability", min_probability, "0 to 1", "pass for example 0.5")
            )
        return sorted((x for x in self.spans if x[1] >= min_probability), key=lambda one: -one[1])
