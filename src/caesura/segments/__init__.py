"""Segments, segmentations, and the tag schemes that write them as one tag for each token.

A segmentation is a list of `Segment`, in order. Gaps between segments are text outside any
segment; only the strict constructor `segmentation` rejects them.

::

    segments with gaps  -- fill_gaps -->  segmentation of all tokens
                       <- drop_outside -
    segments with gaps  --- to_tags --->  one tag for each token
                       <-- from_tags ---

Every tag scheme is one row of a table: the letter for each place that a token can have in its
segment. Tags are read by one rule, which also repairs ill-formed ones, and a sequence is well
formed exactly when writing what was read gives it back.
"""

from caesura.segments.segmentation import Segment, drop_outside, fill_gaps, in_order, segmentation
from caesura.segments.tags import SCHEMES, SCHEMES_BY_NAME, TAG_SCHEMES, Scheme, from_tags, to_tags

__all__ = [
    "SCHEMES",
    "SCHEMES_BY_NAME",
    "TAG_SCHEMES",
    "Scheme",
    "Segment",
    "drop_outside",
    "fill_gaps",
    "from_tags",
    "in_order",
    "segmentation",
    "to_tags",
]
