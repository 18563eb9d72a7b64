"""Segments, segmentations, and the tag schemes that write them as one tag for each token.

A segmentation is a list of `Segment`, in order. Gaps between segments are text outside any
segment; only the strict constructor `segmentation` rejects them.

::

    segments with gaps  -- fill_gaps -->  segmentation of all tokens
                       <- drop_outside -
    segments with gaps  --- to_tags --->  one tag for each token
                       <-- from_tags ---
"""

from caesura.segments.spans import Segment, drop_outside, fill_gaps, segmentation
from caesura.segments.tags import TAG_SCHEMES, from_tags, to_tags

__all__ = [
    "TAG_SCHEMES",
    "Segment",
    "drop_outside",
    "fill_gaps",
    "from_tags",
    "segmentation",
    "to_tags",
]
