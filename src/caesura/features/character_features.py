"""Character features derived from word features.

A template for words becomes one that sees the parts of words around characters.  What it says of
each token of a segment, it says once for each part, at its first character.  What it says of the
ends of segments and of boundaries, it says as if words were cut there, so that a segment that ends
inside a word has a last word like others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from caesura.features.columns import bias, lower
from caesura.features.dictionary import Dictionary, MatchedColumn, Text
from caesura.features.enclosing import enclosing, place_in
from caesura.features.segment_base import SegmentFeature
from caesura.features.templates import Column, Template, edge, first, last

__all__ = ["for_characters"]

Feature = Template | SegmentFeature
_VIEWS = {"token": "first", "within": "first", "first": "before", "edge": "before", "last": "after"}


def for_characters(features: Iterable[Feature], segments: bool) -> list[Feature]:
    """Adapt word features to documents whose tokens are characters.

    Lengths and shapes of segments count words, so they are left out, as are features that cannot
    be said of parts of words.

    Parameters
    ----------
    features : iterable of Template and SegmentFeature
        Features for words.
    segments : bool
        Whether a semi-CRF will use them.

    Examples
    --------
    >>> from caesura.features import last, word
    >>> for_characters([last(word[1])], True)[0]
    last(enclosing(word, 1, parts, after)[0])
    """
    out: list[Feature] = []
    for one in features:
        if isinstance(one, Template):
            moved = _around_parts(one)
            out += [] if moved is None else [moved]
        elif isinstance(one, Dictionary | Text):
            out.append(one)
    return list(dict.fromkeys([*out, *_of_characters(segments)]))


def _around_parts(template: Template) -> Template | None:
    """Return a template over the word parts that contain characters; None if there is none."""
    view, parts = _VIEWS.get(template.place), template.parts
    if any(isinstance(column, MatchedColumn) for column, _ in parts):
        return template if all(offset == 0 for _, offset in parts) else None
    if view is None or (view != "first" and not all(column.per_word for column, _ in parts)):
        return None
    offsets = [offset for _, offset in parts]
    shift = 0
    more: tuple[tuple[Column, int], ...] = ()
    if template.place == "within" and max(offsets) > min(offsets):
        if max(offsets) - min(offsets) > 1:
            return None
        # Two adjacent parts lie inside the segment if the last character of one and the first
        # character of the other do.
        shift, more = -max(offsets), ((bias, -1),)
    moved = ((enclosing(column, n + shift, "parts", view), 0) for column, n in parts)
    return replace(template, parts=(*moved, *more))


def _of_characters(segments: bool) -> list[Feature]:
    """Return templates over characters and their positions in words."""
    c, gaps = lower, [place_in(by) for by in ("parts", "words", "whitespace")]
    features: list[Feature] = [
        bias[0],
        *(c[t] for t in range(-2, 3)),
        *(c[t] & c[t + 1] for t in range(-2, 2)),
        *(gap[0] for gap in gaps),
        enclosing(lower)[0] & place_in()[0],
    ]
    if segments:
        features += [place(gap[0]) for gap in gaps for place in (first, last, edge)]
        features += [
            *(first(bias[0]), first(c[0]), last(c[0]), first(c[-1]), last(c[1])),
            *(first(c[-1] & c[0]), last(c[0] & c[1]), edge(c[-1] & c[0])),
            first(enclosing(lower, view="first")[0]),
        ]
    return features
