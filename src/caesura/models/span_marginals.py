"""Marginals of one sequence under a model with look-back features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import share, whole
from caesura.errors import InvalidInput, message
from caesura.segments import Segment

__all__ = ["PairMarginals"]

Floats = npt.NDArray[np.float64]


class PairMarginals:
    """Marginals where scores depend on pairs of segments.

    It has the attributes of `Marginals` that do not ask for potentials.

    Parameters
    ----------
    row : SpanPosterior
        The result of the kernels.
    labels : sequence of str
        The model's states.

    Attributes
    ----------
    log_partition : float
        ln Z.
    tokens : array of shape (T, Y)
        Probability that token t lies in a segment labelled y.
    boundaries : array of shape (T + 1,)
        Probability that two segments meet at t; 1 at both ends.
    transitions : array of shape (Y, Y)
        Expected number of adjacent segments labelled (previous, label).
    starts, ends : arrays of shape (Y,)
        Probability of the label of the first and of the last segment.
    spans : array of shape (T, L, Y)
        Probability of the exact segment [s, s + k) with label y, at [s, k - 1, y].
    """

    def __init__(self, row: _kernels.SpanPosterior, labels: Sequence[str]) -> None:
        T, L, Y = row.shape
        self.labels = tuple(labels)
        self.log_partition = row.log_partition
        self.spans: Floats = row.spans.reshape(T, L, Y)
        self.transitions: Floats = row.transitions.reshape(Y, Y)
        self.starts: Floats = row.starts
        self.ends: Floats = row.ends

    @property
    def tokens(self) -> Floats:
        """Probability of the label of each token."""
        T, L, Y = self.spans.shape
        out = np.zeros((T, Y))
        for k in range(min(L, T)):
            for t in range(k + 1):
                out[t : T - k + t] += self.spans[: T - k, k]
        return out

    @property
    def boundaries(self) -> Floats:
        """Probability of each boundary between two segments; 1 at both ends."""
        started: Floats = self.spans.sum(axis=(1, 2))
        return np.append(started, 1.0)

    def segment(self, start: int, end: int, label: str) -> float:
        """Return the probability of the exact segment [start, end) with a label."""
        if not isinstance(label, str) or label not in self.labels:
            raise InvalidInput(
                message("label", label, ", ".join(self.labels), "pass one of the labels")
            )
        T, L, _ = self.spans.shape
        start, end = whole("start", start, 0), whole("end", end, 0)
        if not 0 <= start < end <= T:
            raise InvalidInput(
                message("segment", (start, end), f"0 <= start < end <= {T}", "count from 0")
            )
        if end - start > L:
            return 0.0
        return float(self.spans[start, end - start - 1, self.labels.index(label)])

    def segments(self, min_probability: float = 0.01) -> list[tuple[Segment, float]]:
        """Return the segments of at least this probability, the most probable first."""
        least = share("min_probability", min_probability)
        found = np.argwhere((self.spans >= least) & (self.spans > 0.0)).tolist()
        rows = [
            (Segment(s, s + k + 1, self.labels[y]), float(self.spans[s, k, y])) for s, k, y in found
        ]
        return sorted(rows, key=lambda row: -row[1])
