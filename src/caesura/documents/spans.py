"""Conversion of character spans to segments of tokens."""

from __future__ import annotations

import copy
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from caesura.errors import InvalidInput, message
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.documents.document import Document
    from caesura.documents.tokeniser_fitting import Fitting

__all__ = ["OTHER_ALIGNMENT", "Alignment", "Span", "checked_spans", "is_cut", "labelled"]

# Remedy in errors about a span that cuts a token.
OTHER_ALIGNMENT = "pass tokeniser='parts' or 'characters', or align='expand' or 'contract'"


class Span(NamedTuple):
    """A labelled span of characters, half-open."""

    start: int
    end: int
    label: str


class _Place(NamedTuple):
    """The tokens that a span touches, half-open, and whether it cuts the first and the last."""

    first: int
    last: int
    cut_first: bool
    cut_last: bool

    @property
    def cut(self) -> bool:
        return self.cut_first or self.cut_last or self.first >= self.last


class Alignment:
    """The policy for spans that cut a token, and their number."""

    align: Literal["strict", "expand", "contract"] = "strict"
    cut: int = 0  # number of spans that cut a token
    lost: int = 0  # number of those that were left without tokens
    fitting: Fitting | None = None  # if given, a cut token leads to finer tokens, not an error


def labelled(
    document: Document, spans: Sequence[Span], tally: Alignment, names: Sequence[str] | None = None
) -> Document:
    """Return a document with segments from character spans; errors call them `names`.

    A span that cuts a token is counted. ``strict`` raises; ``expand`` takes the whole token, unless
    the span before has it; ``contract`` leaves the token out. A span without tokens is dropped.
    """
    length = len(document.text or "")
    segments: list[Segment] = []
    reached = end_before = 0
    for i in sorted(range(len(spans)), key=spans.__getitem__):
        start, end, label = spans[i]
        name = f"spans[{i}]" if names is None else names[i]
        if not 0 <= start < end <= length:
            expected = f"[start, end, label] within the {length} characters"
            raise InvalidInput(message(name, list(spans[i]), expected, "ends are exclusive"))
        if start < end_before:
            expected = f"start >= {end_before}, where the span before it ends"
            remedy = "they overlap: shorten or drop one of them"
            raise InvalidInput(message(name, list(spans[i]), expected, remedy))
        place = _placed(document, start, end)
        first, last = place.first, place.last
        if place.cut:
            if tally.align == "strict":
                finer = _finer(document, spans[i], place, tally.fitting)
                if finer is not None:
                    return labelled(finer, spans, tally, names)
            tally.cut += 1
            if tally.align == "strict":
                raise _cut(document, name, spans[i], place)
        if tally.align == "contract":
            first, last = first + place.cut_first, last - place.cut_last
        first = max(first, reached)
        end_before = end
        if first >= last:
            tally.lost += 1
            continue
        segments.append(Segment(first, last, label))
        reached = last
    with_segments = copy.copy(document)  # its fields have already been checked
    object.__setattr__(with_segments, "segments", tuple(segments))
    return with_segments


def _placed(document: Document, start: int, end: int) -> _Place:
    """Find the tokens of a span."""
    offsets = document.offsets or ()
    first = bisect_right(offsets, start, key=lambda span: span[1])
    last = bisect_left(offsets, end, key=lambda span: span[0])
    if first >= last:
        return _Place(first, first, False, False)
    return _Place(first, last, offsets[first][0] < start, end < offsets[last - 1][1])


def _finer(
    document: Document, span: Span, place: _Place, fitting: Fitting | None
) -> Document | None:
    """Return a document with finer tokens, while a tokeniser is being chosen."""
    if fitting is None or place.first >= place.last:
        return None
    return fitting.finer(document, span, _cut_token(document, place))


def _cut_token(document: Document, place: _Place) -> str:
    return document.tokens[place.first if place.cut_first else place.last - 1]


def is_cut(document: Document, span: Span) -> bool:
    """Return whether a span starts or ends inside a token, or contains none."""
    return _placed(document, span.start, span.end).cut


def _cut(document: Document, name: str, span: Span, place: _Place) -> InvalidInput:
    """Return the error for a span that does not meet token boundaries."""
    if place.first >= place.last:
        return InvalidInput(message(name, list(span), "a token in it", "leave it out"))
    expected = f"whole tokens, but {_cut_token(document, place)!r} is cut"
    return InvalidInput(message(name, list(span), expected, OTHER_ALIGNMENT))


def checked_spans(spans: Any, document: Document) -> list[Span]:
    """Return checked character spans, or raise."""
    if document.offsets is None:
        came = "no text" if document.text is None else "tokens that do not occur in the text"
        raise InvalidInput(
            place="spans", got=came, expected="text", remedy="pass offsets, or segments by tokens"
        )
    checked = []
    for i, span in enumerate(spans if isinstance(spans, list) else [spans]):
        if isinstance(span, Mapping) and span.keys() >= {"start", "end", "label"}:
            span = [span["start"], span["end"], span["label"]]
        try:
            start, end, label = operator.index(span[0]), operator.index(span[1]), span[2]
            right = len(span) == 3 and isinstance(label, str)
        except (TypeError, IndexError, KeyError):
            right = False
        if not right:
            expected = f"[start, end, label] within the {len(document.text or '')} characters"
            raise InvalidInput(message(f"spans[{i}]", span, expected, "ends are exclusive"))
        checked.append(Span(start, end, label))
    return checked
