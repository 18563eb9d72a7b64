"""Segments and segmentations, with and without gaps."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NamedTuple

from caesura.errors import InvalidInput, message

__all__ = ["Segment", "drop_outside", "fill_gaps", "in_order", "segmentation", "token_count"]


class Segment(NamedTuple):
    """A labelled span of tokens, from `start` up to but excluding `end`.

    Examples
    --------
    >>> city = Segment(3, 5, "LOC")
    >>> city.length
    2
    >>> city == (3, 5, "LOC")
    True
    >>> ["to", "meet", "in", "New", "York"][city.start : city.end]
    ['New', 'York']
    """

    start: int  # index of the first token, from 0
    end: int  # one past the last token
    label: str  # the index of the label if labels have no names

    @property
    def length(self) -> int:
        """The number of tokens."""
        return self.end - self.start


def segmentation(segments: Iterable[tuple[int, int, str]], length: int) -> list[Segment]:
    """Check that segments cover all tokens exactly once, in order.

    Parameters
    ----------
    segments : iterable of (start, end, label)
        Half-open spans in order.
    length : int
        The number of tokens.

    Returns
    -------
    list of Segment
        The segments, checked to cover [0, length) without gaps.

    Raises
    ------
    InvalidInput
        For a gap (`fill_gaps` labels them instead), an overlap, an empty segment, one out of
        order or out of range.

    Examples
    --------
    >>> segmentation([(0, 2, "PER"), (2, 3, "O")], length=3)
    [Segment(start=0, end=2, label='PER'), Segment(start=2, end=3, label='O')]
    >>> segmentation([(0, 2, "PER")], length=3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: segments: got tokens 2 to 3 in no segment, expected ...
    """
    checked = in_order(segments, length := token_count(length))
    reached = 0
    for i, (start, end, _) in enumerate([*checked, Segment(length, length, "")]):
        if start != reached:
            where = f"segments[{i}]" if i < len(checked) else "segments"
            raise InvalidInput(
                place=where,
                got=f"tokens {reached} to {start} in no segment",
                expected=f"segments that cover 0 to {length}",
                remedy="use fill_gaps to label the tokens between as outside",
            )
        reached = end
    return checked


def fill_gaps(
    segments: Iterable[tuple[int, int, str]],
    length: int,
    outside: str = "O",
    outside_length: int | None = 1,
) -> list[Segment]:
    """Complete segments to a segmentation by labelling the gaps as outside.

    Parameters
    ----------
    segments : iterable of (start, end, label)
        Half-open spans in order, with or without gaps. Those labelled outside count as gaps, so
        that text outside is cut in one way only.
    length : int
        The number of tokens.
    outside : str
        The label of text outside any segment.
    outside_length : {1, None}
        One outside segment for each token (1), or for each maximal run of tokens (None).

    Returns
    -------
    list of Segment
        A segmentation of all tokens; invalid segments are rejected as by `segmentation`.

    Examples
    --------
    >>> [tuple(s) for s in fill_gaps([(2, 3, "LOC")], length=4)]
    [(0, 1, 'O'), (1, 2, 'O'), (2, 3, 'LOC'), (3, 4, 'O')]
    >>> [tuple(s) for s in fill_gaps([(2, 3, "LOC")], length=4, outside_length=None)]
    [(0, 2, 'O'), (2, 3, 'LOC'), (3, 4, 'O')]
    """
    if outside_length not in (1, None):
        expected = "1 (a segment for each token) or None (maximal runs)"
        raise InvalidInput(message("outside_length", outside_length, expected, "pass one of them"))
    checked = in_order(segments, length := token_count(length))
    filled: list[Segment] = []
    reached = 0
    for segment in [*drop_outside(checked, outside), Segment(length, length, outside)]:
        if reached < segment.start:
            step = 1 if outside_length else segment.start - reached
            gap = range(reached, segment.start, step)
            filled.extend(Segment(t, t + step, outside) for t in gap)
        filled.append(segment)
        reached = segment.end
    return filled[:-1]  # without the empty segment that marks the end


def drop_outside(segments: Iterable[tuple[int, int, str]], outside: str = "O") -> list[Segment]:
    """Remove the segments labelled `outside`; the inverse of `fill_gaps`.

    Examples
    --------
    >>> drop_outside([(0, 2, "O"), (2, 3, "LOC"), (3, 4, "O")])
    [Segment(start=2, end=3, label='LOC')]
    """
    return [Segment(*segment) for segment in segments if segment[2] != outside]


def token_count(length: int) -> int:
    """Return a checked number of tokens."""
    try:
        count = operator.index(length)
    except TypeError:
        count = -1
    if count < 0:
        expected = "a whole number, 0 or more"
        raise InvalidInput(message("length", length, expected, "pass the number of tokens"))
    return count


def typed(segments: Iterable[Any]) -> list[tuple[int, int, Any]]:
    """Return segments as two whole numbers and a name or an index each, or raise."""
    out: list[tuple[int, int, Any]] = []
    try:
        found = list(segments)
    except TypeError:
        remedy = "pass a list"
        raise InvalidInput(message("segments", segments, "a list of segments", remedy)) from None
    for i, item in enumerate(found):
        try:
            start, end, label = item
            hash(label)
            out.append((operator.index(start), operator.index(end), label))
        except (TypeError, ValueError):
            expected = "(start, end, label) with two whole numbers"
            name = f"segments[{i}]"
            raise InvalidInput(message(name, item, expected, "pass a Segment")) from None
    return out


def in_order(segments: Iterable[tuple[int, int, str]], length: int | None) -> list[Segment]:
    """Return the segments as `Segment`, or raise for an invalid or misplaced one."""
    checked: list[Segment] = []
    for i, item in enumerate(segments):
        try:
            start, end, label = item
            segment = Segment(operator.index(start), operator.index(end), label)
        except (TypeError, ValueError):
            segment = None
        if segment is None or not isinstance(segment.label, str):
            expected = "(start, end, label) with two whole numbers and a string"
            raise InvalidInput(message(f"segments[{i}]", item, expected, "pass a Segment"))
        problem = _problem(segment, checked[-1] if checked else None, length)
        if problem is not None:
            raise InvalidInput(message(f"segments[{i}]", tuple(segment), *problem))
        checked.append(segment)
    return checked


def _problem(
    segment: Segment, previous: Segment | None, length: int | None
) -> tuple[str, str] | None:
    """Return the expectation and the remedy for an invalid segment; None if it is valid."""
    start, end, _ = segment
    if start >= end:
        one = f"one token {start} is ({start}, {start + 1}, label)"
        return "a segment that is not empty, start < end", f"ends are exclusive: {one}"
    if start < 0:
        return "a segment in range, start >= 0", "count tokens from 0, never from the back"
    if length is not None and end > length:
        expected = f"a segment in range, end <= length, which is {length}"
        return expected, "count tokens from 0, with exclusive ends"
    if previous is not None and start < previous.end:
        expected = f"start >= {previous.end}, where the segment before it, {tuple(previous)}, ends"
        if end <= previous.start:
            return expected, "they are in the wrong order: sort the segments"
        return expected, "they overlap: shorten or drop one of them"
    return None
