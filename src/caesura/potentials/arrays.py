"""The score arrays of a sequence, and its length bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import assign, booleans, listed, whole, zeros
from caesura.errors import InvalidInput, message
from caesura.potentials.labels import LabelIndex

__all__ = ["ScoreArrays"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class ScoreArrays(LabelIndex):
    """The arrays of `caesura.Potentials`, documented there.

    Parameters
    ----------
    length : int
        Number of tokens, T.
    labels : tuple of str
        The names of the labels, Y of them.
    max_length : None, int, or one of these per label
        Longest segment.
    same_label_adjacent : bool
        Whether two adjacent segments may carry the same label.
    """

    def __init__(
        self,
        length: int,
        labels: tuple[str, ...],
        max_length: int | Sequence[int | None] | None,
        same_label_adjacent: bool,
    ) -> None:
        super().__init__(length, labels)
        T, Y = self.length, len(self.labels)
        self._emission: Floats = zeros("length, labels", T, Y)
        self._transition: Floats = zeros("labels", Y, Y)
        self._start: Floats = np.zeros(Y)
        self._end: Floats = np.zeros(Y)
        self._spans: Floats | None = None
        self._problem: _kernels.Problem | None = None
        self.same_label_adjacent = same_label_adjacent
        self.max_length = max_length

    def changed(self) -> None:
        """Invalidate the compiled form after a change."""
        self._problem = None

    @property
    def emission(self) -> Floats:
        """Scores of tokens lying inside a segment of each label, of shape (T, Y)."""
        return self._emission

    @emission.setter
    def emission(self, value: npt.ArrayLike) -> None:
        assign("emission", self._emission, value)

    @property
    def transition(self) -> Floats:
        """Scores of ``[previous, label]`` between adjacent segments, of shape (Y, Y)."""
        return self._transition

    @transition.setter
    def transition(self, value: npt.ArrayLike) -> None:
        assign("transition", self._transition, value)

    @property
    def start(self) -> Floats:
        """Scores of the label of the first segment, of shape (Y,)."""
        return self._start

    @start.setter
    def start(self, value: npt.ArrayLike) -> None:
        assign("start", self._start, value)

    @property
    def end(self) -> Floats:
        """Scores of the label of the last segment, of shape (Y,)."""
        return self._end

    @end.setter
    def end(self, value: npt.ArrayLike) -> None:
        assign("end", self._end, value)

    @property
    def spans(self) -> Floats:
        """Scores of exact segments [s, s + k) at ``spans[s, k - 1, y]``, of shape (T, L, Y)."""
        if self._spans is None:
            bounds = self._bounds
            if not bounds.all():
                raise InvalidInput(
                    "every label needs a max_length, or the array would have no size",
                    place="spans",
                    got=f"max_length={self.max_length!r}",
                    remedy="give max_length, or add single spans",
                )
            longest = min(int(bounds.max(initial=0)), self.length)
            self._spans = zeros("spans", self.length, longest, len(self.labels))
            self.changed()
        return self._spans

    @spans.setter
    def spans(self, value: npt.ArrayLike) -> None:
        assign("spans", self.spans, value)

    @property
    def max_length(self) -> int | tuple[int | None, ...] | None:
        """Maximum segment length, None for no bound, or one of these per label."""
        return self._max_length

    @max_length.setter
    def max_length(self, value: int | Sequence[int | None] | None) -> None:
        if self._spans is not None:
            raise InvalidInput(
                "cannot change once spans is in use",
                place="max_length",
                remedy="make new Potentials",
            )
        Y = len(self.labels)
        if not (value is None or isinstance(value, int | np.integer | Sequence | np.ndarray)):
            raise InvalidInput(
                message(
                    "max_length",
                    value,
                    "None, a whole number, or one per label",
                    "pass 10, for example",
                )
            )
        if value is None or isinstance(value, int | np.integer):
            self._max_length: int | tuple[int | None, ...] | None = (
                None if value is None else whole("max_length", value, 1)
            )
            bounds = [self._max_length] * Y
        else:
            value = listed("max_length", value, "None, a whole number, or one per label")
            if len(value) != Y:
                raise InvalidInput(
                    place="max_length",
                    got=f"{len(value)} bounds",
                    expected=f"one per label, {Y}",
                    remedy="give one for each label",
                )
            bounds = [None if v is None else whole("max_length", v, 1) for v in value]
            self._max_length = tuple(bounds)
        largest = np.iinfo(np.int32).max
        self._bounds: Ints = np.array([min(b or 0, largest) for b in bounds], np.int32)
        self.changed()

    @property
    def same_label_adjacent(self) -> bool:
        """Whether two adjacent segments may have the same label."""
        return self._same_label_adjacent

    @same_label_adjacent.setter
    def same_label_adjacent(self, value: bool) -> None:
        self._same_label_adjacent = bool(booleans("same_label_adjacent", value).all())
        self.changed()
