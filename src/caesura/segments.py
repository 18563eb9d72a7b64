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

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from caesura.errors import InvalidInput, message

__all__ = [
    "TAG_SCHEMES",
    "Segment",
    "drop_outside",
    "fill_gaps",
    "from_tags",
    "segmentation",
    "to_tags",
]


class Segment(NamedTuple):
    """Hold a labelled span of tokens, from `start` up to and without `end`.

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

    start: int  # the first token, counted from 0
    end: int  # the token after the last
    label: str  # an index where the labels have no names

    @property
    def length(self) -> int:
        """The number of tokens."""
        return self.end - self.start


# ---- segmentations ----------------------------------------------------------------------------


def segmentation(segments: Iterable[tuple[int, int, str]], length: int) -> list[Segment]:
    """Check that segments cover all tokens, in order, each token once.

    Parameters
    ----------
    segments : iterable of (start, end, label)
        Half-open spans in order.
    length : int
        The number of tokens.

    Returns
    -------
    list of Segment
        The first starts at 0, each other where the one before ends, the last ends at `length`.

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
    checked = _in_order(segments, length := _count(length))
    reached = 0
    for i, (start, end, _) in enumerate([*checked, Segment(length, length, "")]):
        if start != reached:
            where = f"segments[{i}]" if i < len(checked) else "segments"
            raise InvalidInput(
                f"{where}: got tokens {reached} to {start} in no segment, expected segments that "
                f"cover 0 to {length}; use fill_gaps to label the tokens between as outside"
            )
        reached = end
    return checked


def fill_gaps(
    segments: Iterable[tuple[int, int, str]],
    length: int,
    outside: str = "O",
    outside_length: int | None = 1,
) -> list[Segment]:
    """Make a segmentation of segments with gaps, by labelling the gaps outside.

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
        A segmentation of all tokens; overlaps and the like are rejected as by `segmentation`.

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
    checked = _in_order(segments, length := _count(length))
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
    """Leave out the segments labelled `outside`: the inverse of `fill_gaps`.

    Examples
    --------
    >>> drop_outside([(0, 2, "O"), (2, 3, "LOC"), (3, 4, "O")])
    [Segment(start=2, end=3, label='LOC')]
    """
    return [Segment(*segment) for segment in segments if segment[2] != outside]


def _count(length: int) -> int:
    """Return a number of tokens, or raise."""
    try:
        count = operator.index(length)
    except TypeError:
        count = -1
    if count < 0:
        expected = "a whole number, 0 or more"
        raise InvalidInput(message("length", length, expected, "pass the number of tokens"))
    return count


def _in_order(segments: Iterable[tuple[int, int, str]], length: int | None) -> list[Segment]:
    """Return the segments as `Segment`, or raise if one is wrong by itself or by its place."""
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
    """Return what was expected of a segment in its place, and what to do; None if it is right."""
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


# ---- tag schemes ------------------------------------------------------------------------------

_OUTSIDE = "O"


class _Scheme(NamedTuple):
    """How a scheme writes a segment: a letter for each place that a token can have in it."""

    name: str
    begin: str  # the first of two tokens or more; no letter: the tag is the label
    inside: str  # neither first nor last
    end: str  # the last of two tokens or more
    single: str  # the only token
    aliases: tuple[str, ...] = ()
    begin_always: bool = True  # False: written only after a segment with the same label

    def write(self, segment: Segment, after_same_label: bool, untyped: str) -> list[str]:
        """Return the tags of a segment."""
        if not self.begin:
            return [segment.label] * segment.length
        letters = [self.single]
        if segment.length > 1:
            letters = [self.begin, *[self.inside] * (segment.length - 2), self.end]
        if not (self.begin_always or after_same_label):
            letters[0] = self.inside
        suffix = "" if segment.label == untyped else f"-{segment.label}"
        return [letter + suffix for letter in letters]


_SCHEMES = (
    _Scheme("plain", "", "", "", ""),
    _Scheme("BIO", "B", "I", "I", "B", ("IOB2", "BIO2")),
    _Scheme("IOB1", "B", "I", "I", "B", begin_always=False),
    _Scheme("BIOES", "B", "I", "E", "S", ("IOBES", "BIES")),
    _Scheme("BILOU", "B", "I", "L", "U", ("BILUO",)),
    _Scheme("BMES", "B", "M", "E", "S", ("BMESO",)),
    _Scheme("BCEU", "B", "C", "E", "U", ("BCEUO",)),
    _Scheme("SA", "S", "A", "A", "S", ("S/A",)),
)
# "IOB" alone is left out: people mean IOB1 or IOB2 by it.
_BY_NAME = {name.upper(): row for row in _SCHEMES for name in (row.name, *row.aliases)}

TAG_SCHEMES: tuple[str, ...] = tuple(row.name for row in _SCHEMES)
"""The names of the tag schemes, without their aliases."""


def to_tags(
    segments: Iterable[tuple[int, int, str]],
    scheme: str,
    length: int | None = None,
    outside: str = "O",
    *,
    untyped: str = "",
) -> list[str]:
    """Write segments as one tag for each token.

    Parameters
    ----------
    segments : iterable of (start, end, label)
        Half-open spans in order, with or without gaps.
    scheme : str
        In any case: plain, BIO (also IOB2, BIO2), IOB1, BIOES (IOBES, BIES), BILOU (BILUO),
        BMES (BMESO), BCEU (BCEUO) or SA (S/A).
    length : int, optional
        The number of tokens; the end of the last segment if not given.
    outside : str
        The label of text outside any segment. Tokens in gaps and in segments with this label are
        tagged O, or with this label in the plain scheme.
    untyped : str
        The label that is not written: its tags are bare letters, as B, M, E, S for words.

    Returns
    -------
    list of str
        One tag for each token.

    Raises
    ------
    InvalidInput
        For segments that overlap or the like, and in the plain scheme for adjacent segments with
        one label, which it cannot tell apart.

    Examples
    --------
    >>> names = [Segment(0, 1, "PER"), Segment(3, 5, "LOC")]
    >>> to_tags(names, "BIO", length=6)
    ['B-PER', 'O', 'O', 'B-LOC', 'I-LOC', 'O']
    >>> to_tags(names, "BCEU")
    ['U-PER', 'O', 'O', 'B-LOC', 'E-LOC']
    >>> to_tags([(0, 3, "word"), (3, 4, "word")], "BMES", untyped="word")
    ['B', 'M', 'E', 'S']
    """
    row = _row(scheme)
    count = None if length is None else _count(length)
    checked = _in_order(segments, count)
    if not row.begin:
        _check_boundaries_show(checked, outside)
    if count is None:
        count = checked[-1].end if checked else 0
    return _write(drop_outside(checked, outside), row, count, outside, untyped)


def from_tags(
    tags: Iterable[str],
    scheme: str,
    outside: str = "O",
    repair: Literal["error", "repair"] = "error",
    *,
    untyped: str = "",
) -> list[Segment]:
    """Read segments from one tag for each token: the inverse of `to_tags`.

    Parameters
    ----------
    tags : iterable of str
        For each token O, a letter of the scheme, or a letter and a label (B-LOC), which may
        contain hyphens.
    scheme : str
        As in `to_tags`.
    outside : str
        The label of text outside any segment, which is left out.
    repair : {"error", "repair"}
        What to do with tags that `to_tags` never writes: raise, or read them by the rule below.
        A letter that the scheme does not have is always an error.
    untyped : str
        The label of bare letters.

    Returns
    -------
    list of Segment
        In order, without the text outside.

    Notes
    -----
    One rule, that of conlleval, reads every scheme and repairs what is ill formed. A token
    continues the segment of the token before it if that one's letter leaves a segment open (begin
    or inside), its own letter goes on with one (inside or end), and the labels are equal. Any
    other token that is not outside begins a segment. So a missing begin is put in, and a segment
    without its end ends where it cannot go on.

    Examples
    --------
    >>> from_tags(["B-PER", "O", "O", "B-LOC", "I-LOC"], "BIO")
    [Segment(start=0, end=1, label='PER'), Segment(start=3, end=5, label='LOC')]
    >>> from_tags(["O", "I-LOC", "I-LOC"], "BIO", repair="repair")
    [Segment(start=1, end=3, label='LOC')]
    >>> from_tags(["O", "I-LOC", "I-LOC"], "BIO")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: tags[1]: got 'I-LOC', expected 'B-LOC', ...
    """
    if repair not in ("error", "repair"):
        raise InvalidInput(message("repair", repair, "'error' or 'repair'", "pass one of them"))
    row = _row(scheme)
    given = list(tags)
    segments = drop_outside(_join(_read(given, row, outside, untyped), row), outside)
    written = given if repair == "repair" else _write(segments, row, len(given), outside, untyped)
    if given != written:
        t = next(t for t, tag in enumerate(given) if tag != written[t])
        around = [tuple(segment) for segment in segments if segment.start <= t < segment.end]
        meant = f"segment {around[0]}" if around else "text outside"
        expected = f"{written[t]!r}, as {row.name} writes {meant}"
        remedy = "correct the tags, or pass repair='repair' to read them so"
        raise InvalidInput(message(f"tags[{t}]", given[t], expected, remedy))
    return segments


def _row(scheme: str) -> _Scheme:
    """Return the row of the table for a name or an alias, or raise."""
    row = _BY_NAME.get(str(scheme).upper())
    if row is None:
        known = [f"{r.name} ({', '.join(r.aliases)})" if r.aliases else r.name for r in _SCHEMES]
        raise InvalidInput(message("scheme", scheme, ", ".join(known), "pass one of these names"))
    return row


def _write(
    segments: Sequence[Segment], row: _Scheme, length: int, outside: str, untyped: str
) -> list[str]:
    """Return the tags of checked segments without outside ones."""
    tags = [_OUTSIDE if row.begin else outside] * length
    before: tuple[int, str] | None = None  # end and label of the segment before
    for segment in segments:
        after_same_label = before == (segment.start, segment.label)
        tags[segment.start : segment.end] = row.write(segment, after_same_label, untyped)
        before = segment.end, segment.label
    return tags


def _read(
    tags: Sequence[str], row: _Scheme, outside: str, untyped: str
) -> list[tuple[str, str] | None]:
    """Return letter and label of each tag, None for those outside; raise at an unknown letter."""
    letters = dict.fromkeys((row.begin, row.inside, row.end, row.single))
    places: list[tuple[str, str] | None] = []
    for t, tag in enumerate(tags):
        if not isinstance(tag, str):
            remedy = "pass one tag for each token"
            raise InvalidInput(message(f"tags[{t}]", tag, "a string", remedy))
        if tag == (_OUTSIDE if row.begin else outside):
            places.append(None)
            continue
        letter, hyphen, label = tag.partition("-") if row.begin else ("", "-", tag)
        if letter not in letters:
            expected = f"O, or {', '.join(letters)} with or without -label, in scheme {row.name}"
            remedy = "correct the tag or name its scheme"
            raise InvalidInput(message(f"tags[{t}]", tag, expected, remedy))
        places.append((letter, label if hyphen else untyped))
    return places


def _join(places: Sequence[tuple[str, str] | None], row: _Scheme) -> list[Segment]:
    """Return the segments, by the rule in the notes of `from_tags`."""
    opens, continues = {row.begin, row.inside}, {row.inside, row.end}
    segments: list[Segment] = []
    previous: tuple[str, str] | None = None
    for t, place in enumerate(places):
        if place is not None:
            letter, label = place
            is_open = previous is not None and previous[0] in opens and previous[1] == label
            start = segments.pop().start if is_open and letter in continues else t
            segments.append(Segment(start, t + 1, label))
        previous = place
    return segments


def _check_boundaries_show(segments: Sequence[Segment], outside: str) -> None:
    """Raise if two adjacent segments carry one label, other than the outside label."""
    for i in range(1, len(segments)):
        previous, segment = segments[i - 1], segments[i]
        if previous.end == segment.start and previous.label == segment.label != outside:
            expected = f"a label other than that of segments[{i - 1}], which it touches"
            remedy = "the plain scheme would lose the boundary: use BIO or another with letters"
            raise InvalidInput(message(f"segments[{i}]", tuple(segment), expected, remedy))
