"""Features with label-history weights: the segment's own label and those before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.features.batch import Batch, Firings
from caesura.features.segment_base import SegmentFeature
from caesura.features.templates import HIGHEST, Column, Template
from caesura.segments import Segment

__all__ = ["SegmentHistory", "history"]


@dataclass(frozen=True, repr=False)
class SegmentHistory(SegmentFeature):
    """A segment feature whose weights depend on a label history.

    Parameters
    ----------
    feature : SegmentFeature
        The feature that fires.
    order : int
        Number of preceding labels.

    Examples
    --------
    >>> from caesura.features import Length
    >>> SegmentHistory(Length(exact=2), 1).name
    'history1:length'
    """

    feature: SegmentFeature
    order: int

    def __post_init__(self) -> None:
        whole("order", self.order, 1, HIGHEST)
        if not isinstance(self.feature, SegmentFeature) or self.feature.order:
            remedy = "give each feature one history, as history(Length(exact=3), 2)"
            raise InvalidInput(
                message("feature", self.feature, "a feature of segments without a history", remedy)
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """The prefix of its attribute names."""
        return f"history{self.order}:{self.feature.name}"

    @property
    def says(self) -> tuple[str, ...]:
        """The part of the name after the prefix."""
        return self.feature.says

    @property
    def learns(self) -> bool:
        """Whether the feature learns from labelled documents."""
        return self.feature.learns

    def fit(self, batch: Batch, segments: Sequence[Sequence[Segment]]) -> SegmentHistory:
        """Return the feature fitted to labelled documents."""
        return replace(self, feature=self.feature.fit(batch, segments))

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        return self.feature.firings(batch)

    def __repr__(self) -> str:
        return f"history({self.feature!r}, {self.order})"


def history(feature: Any, order: int) -> Any:
    """Make the weights of a feature depend on the last labels, not only on the segment's own.

    A weight of an attribute then belongs to ``order + 1`` labels: those of the ``order`` segments
    before, and the segment's own.  Only label histories of the training data have weights.

    Parameters
    ----------
    feature : Template, Column or SegmentFeature
        The feature, which determines where it fires: at every token of the segment, at its first
        token, at the boundary before it, or for its length.
    order : int
        Number of preceding labels, 1 to 255.  ``edge(...)`` has 1 by itself.

    Returns
    -------
    Template or SegmentFeature

    Examples
    --------
    >>> from caesura.features import Length, edge, first, word
    >>> history(first(word[0]), 2)
    history(first(word[0]), 2)
    >>> history(edge(word[0]), 1) == edge(word[0])
    True
    >>> history(Length(exact=3), 1).name
    'history1:length'
    """
    whole("order", order, 1, HIGHEST)
    if isinstance(feature, Column):
        feature = feature[0]
    if isinstance(feature, Template | SegmentFeature) and not feature.order:
        if isinstance(feature, Template):
            return replace(feature, order=int(order))
        return SegmentHistory(feature, int(order))
    remedy = "write history(first(word[0]), 2) or history(Length(exact=3), 1)"
    expected = "a template or a feature of segments, without a history"
    raise InvalidInput(message("feature", feature, expected, remedy))
