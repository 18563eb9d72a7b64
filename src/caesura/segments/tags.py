"""Tag schemes, which encode segments as one tag for each token.

Every scheme is one row of a table: the letter for each place that a token can have in its segment.
Tags are read by one rule, which also repairs ill-formed ones, and a sequence is well formed exactly
when writing what was read gives it back.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from caesura.errors import InvalidInput, message
from caesura.segments.segmentation import Segment, drop_outside, in_order, token_count

__all__ = ["SCHEMES", "SCHEMES_BY_NAME", "TAG_SCHEMES", "Scheme", "from_tags", "to_tags"]

_OUTSIDE = "O"
ALIKE = 0.8  # minimum similarity of two labels, one of which may be a misspelling of the other
Repair = Literal["error", "repair", "drop"]
_Place = tuple[str, str] | None  # letter and label of a tag; None if it is outside
READ_ILL_FORMED = (
    "correct the tags, or pass repair='repair' to read them so, or 'drop' to leave them out"
)


class Scheme(NamedTuple):
    """A tag scheme: the letter for each position of a token in a segment."""

    name: str
    begin: str  # the first of two or more tokens; empty if tags are plain labels
    inside: str  # neither the first nor the last
    end: str  # the last of two or more tokens
    single: str  # the only token
    aliases: tuple[str, ...] = ()
    begin_always: bool = True  # if False, it is written only after a segment with the same label
    end_always: bool = True  # if False, it is written only before a segment with the same label

    @property
    def marks_boundaries(self) -> bool:
        """Whether the scheme separates adjacent segments with the same label."""
        return len({self.begin, self.inside, self.end, self.single}) > 1

    def joins(self, left: str, right: str) -> bool:
        """Return whether adjacent tokens with these letters and the same label share a segment."""
        return left in (self.begin, self.inside) and right in (self.inside, self.end)

    def may_begin(self, letter: str, same_label: bool) -> bool:
        """Return whether a segment may start so; `same_label`: the tag before has its label."""
        if self.begin_always:
            return letter in (self.begin, self.single)
        return letter == self.inside or same_label

    def may_end(self, letter: str, same_label: bool) -> bool:
        """Return whether a segment may end so; `same_label`: the tag after has its label."""
        if self.end_always:
            return letter in (self.end, self.single)
        return letter == self.inside or same_label

    def fits(self, left: str, right: str, same_label: bool) -> bool:
        """Return whether two letters may be adjacent; no letter is outside or an end."""
        same = bool(left and right) and same_label
        if same and self.joins(left, right):
            return True
        ended = not left or self.may_end(left, same)
        return ended and (not right or self.may_begin(right, same))

    def write(self, segment: Segment, same: tuple[bool, bool], untyped: str) -> list[str]:
        """Return the tags of a segment; `same` tells whether each neighbour has its label."""
        if not self.begin:
            return [segment.label] * segment.length
        letters = [self.single]
        if segment.length > 1:
            letters = [self.begin, *[self.inside] * (segment.length - 2), self.end]
        if not (self.begin_always or same[0]):
            letters[0] = self.inside
        if not (self.end_always or same[1]):
            letters[-1] = self.inside
        suffix = "" if segment.label == untyped else f"-{segment.label}"
        return [letter + suffix for letter in letters]


SCHEMES = (
    Scheme("plain", "", "", "", ""),
    Scheme("BIO", "B", "I", "I", "B", ("IOB2", "BIO2")),
    Scheme("IOB1", "B", "I", "I", "B", begin_always=False),
    Scheme("BIOES", "B", "I", "E", "S", ("IOBES", "BIES")),
    Scheme("BILOU", "B", "I", "L", "U", ("BILUO",)),
    Scheme("BMES", "B", "M", "E", "S", ("BMESO",)),
    Scheme("BCEU", "B", "C", "E", "U", ("BCEUO",)),
    Scheme("SA", "S", "A", "A", "S", ("S/A",)),
    Scheme("IO", "I", "I", "I", "I"),
    Scheme("IOE1", "I", "I", "E", "E", end_always=False),
    Scheme("IOE2", "I", "I", "E", "E"),
)
# "IOB" is not an alias, because it is ambiguous: some use it for IOB1, others for IOB2.
SCHEMES_BY_NAME = {name.upper(): row for row in SCHEMES for name in (row.name, *row.aliases)}

TAG_SCHEMES: tuple[str, ...] = tuple(row.name for row in SCHEMES)
"""The names of the tag schemes, without their aliases."""


def to_tags(
    segments: Iterable[tuple[int, int, str]],
    scheme: str,
    length: int | None = None,
    outside: str = "O",
    *,
    untyped: str = "",
) -> list[str]:
    """Encode segments as one tag for each token.

    Parameters
    ----------
    segments : iterable of (start, end, label)
        Half-open spans in order, with or without gaps.
    scheme : str
        Case-insensitive: plain, BIO (also IOB2, BIO2), IOB1, BIOES (IOBES, BIES), BILOU (BILUO),
        BMES (BMESO), BCEU (BCEUO), SA (S/A), IO, IOE1 or IOE2.
    length : int, optional
        The number of tokens; the end of the last segment if not given.
    outside : str
        The label of text outside any segment. Tokens in gaps and in segments with this label are
        tagged O, or with this label in the plain scheme.
    untyped : str
        The label that is omitted in tags, which are then bare letters, such as B, M, E, S.

    Returns
    -------
    list of str
        One tag for each token.

    Raises
    ------
    InvalidInput
        For invalid segments, such as overlapping ones, and in the schemes plain and IO for adjacent
        segments with the same label, which these schemes cannot separate.

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
    count = None if length is None else token_count(length)
    checked = in_order(segments, count)
    if not row.marks_boundaries:
        _check_boundaries_show(checked, row, outside)
    if count is None:
        count = checked[-1].end if checked else 0
    return _write(drop_outside(checked, outside), row, count, outside, untyped)


def from_tags(
    tags: Iterable[str],
    scheme: str,
    outside: str = "O",
    repair: Repair = "error",
    *,
    untyped: str = "",
) -> list[Segment]:
    """Decode segments from one tag for each token; the inverse of `to_tags`.

    Parameters
    ----------
    tags : iterable of str
        For each token O, a letter of the scheme, or a letter and a label (B-LOC), which may
        contain hyphens.
    scheme : str
        As in `to_tags`.
    outside : str
        The label of text outside any segment, which is left out.
    repair : {"error", "repair", "drop"}
        Treatment of tags that `to_tags` never produces: raise; read them as conlleval and seqeval
        do; or drop them as seqeval does in its strict mode. A letter that the scheme does not have
        is always an error.
    untyped : str
        The label of bare letters.

    Returns
    -------
    list of Segment
        In order, without the text outside.

    Notes
    -----
    One rule, that of conlleval, decodes every scheme and repairs ill-formed tags. A token
    continues the segment of the token before it if that one's letter leaves a segment open (begin
    or inside), its own letter continues one (inside or end), and the labels are equal. Any
    other token that is not outside begins a segment. So a missing begin is added, and a segment
    without its end ends where it cannot continue.

    With ``repair="drop"``, a token that continues no segment and that the scheme would not write
    as the beginning of one is read as text outside, and a segment whose last token the scheme
    would not write as an end is left out.

    Examples
    --------
    >>> from_tags(["B-PER", "O", "O", "B-LOC", "I-LOC"], "BIO")
    [Segment(start=0, end=1, label='PER'), Segment(start=3, end=5, label='LOC')]
    >>> from_tags(["O", "I-LOC", "I-LOC"], "BIO", repair="repair")
    [Segment(start=1, end=3, label='LOC')]
    >>> from_tags(["O", "I-LOC", "I-LOC"], "BIO", repair="drop")
    []
    >>> from_tags(["O", "I-LOC", "I-LOC"], "BIO")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: tags[1]: got 'I-LOC', expected 'B-LOC', ...
    """
    check_repair(repair)
    row = _row(scheme)
    given = list(tags)
    places = _read(given, row, outside, untyped)
    segments = drop_outside((_kept if repair == "drop" else _join)(places, row), outside)
    written = given if repair != "error" else _write(segments, row, len(given), outside, untyped)
    if given != written:
        t = next(t for t, tag in enumerate(given) if tag != written[t])
        around = [tuple(segment) for segment in segments if segment.start <= t < segment.end]
        meant = f"segment {around[0]}" if around else "text outside"
        expected = f"{written[t]!r}, as {row.name} writes {meant}"
        before = given[t - 1] if t else ""
        if difflib.SequenceMatcher(None, before[2:], given[t][2:]).ratio() >= ALIKE:
            expected += f", or the label of the tag before it, {before!r}"
        raise InvalidInput(message(f"tags[{t}]", given[t], expected, READ_ILL_FORMED))
    return segments


def check_repair(repair: str) -> None:
    """Raise if the policy for ill-formed tags is unknown."""
    if repair not in get_args(Repair):
        expected = "'error', 'repair' or 'drop'"
        raise InvalidInput(message("repair", repair, expected, "pass one of them"))


def _row(scheme: str) -> Scheme:
    """Return the scheme for a name or an alias, or raise."""
    row = SCHEMES_BY_NAME.get(str(scheme).upper())
    if row is None:
        known = [f"{r.name} ({', '.join(r.aliases)})" if r.aliases else r.name for r in SCHEMES]
        raise InvalidInput(message("scheme", scheme, ", ".join(known), "pass one of these names"))
    return row


def _write(
    segments: Sequence[Segment], row: Scheme, length: int, outside: str, untyped: str
) -> list[str]:
    """Return the tags of checked segments without outside ones."""
    tags = [_OUTSIDE if row.begin else outside] * length
    touching = [a.end == b.start and a.label == b.label for a, b in pairwise(segments)]
    same = zip([False, *touching], [*touching, False], strict=True)
    for segment, sides in zip(segments, same, strict=False):
        tags[segment.start : segment.end] = row.write(segment, sides, untyped)
    return tags


def _read(tags: Sequence[str], row: Scheme, outside: str, untyped: str) -> list[_Place]:
    """Return the letter and label of each tag, None for outside; raise for unknown letters."""
    letters = dict.fromkeys((row.begin, row.inside, row.end, row.single))
    places: list[_Place] = []
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


def _join(places: Sequence[_Place], row: Scheme) -> list[Segment]:
    """Return the segments, by the first rule in the notes of `from_tags`."""
    opens, continues = {row.begin, row.inside}, {row.inside, row.end}  # as in `joins`, but faster
    segments: list[Segment] = []
    previous: _Place = None
    for t, place in enumerate(places):
        if place is not None:
            letter, label = place
            is_open = previous is not None and previous[0] in opens and previous[1] == label
            start = segments.pop().start if is_open and letter in continues else t
            segments.append(Segment(start, t + 1, label))
        previous = place
    return segments


def _goes_on(before: _Place, after: _Place, row: Scheme) -> bool:
    """Return whether a token continues the segment of the previous one."""
    if before is None or after is None or before[1] != after[1]:
        return False
    return row.joins(before[0], after[0])


def _kept(places: Sequence[_Place], row: Scheme) -> list[Segment]:
    """Return the well-formed segments, by the second rule in the notes of `from_tags`."""
    segments: list[Segment] = []
    start: int | None = None  # start of the current segment
    around = zip([None, *places], places, [*places[1:], None], strict=False)
    for t, (before, place, after) in enumerate(around):
        if place is None:
            start = None
            continue
        letter, label = place
        if start is None or not _goes_on(before, place, row):
            same = before is not None and before[1] == label
            start = t if row.may_begin(letter, same) else None
        same = after is not None and after[1] == label
        if start is not None and not _goes_on(place, after, row) and row.may_end(letter, same):
            segments.append(Segment(start, t + 1, label))
    return segments


def _check_boundaries_show(segments: Sequence[Segment], row: Scheme, outside: str) -> None:
    """Raise if two adjacent segments have the same label, other than outside."""
    for i in range(1, len(segments)):
        previous, segment = segments[i - 1], segments[i]
        if previous.end == segment.start and previous.label == segment.label != outside:
            expected = f"a label other than that of segments[{i - 1}], which it touches"
            other = "BIO" if row.begin else "BIO or another with letters"
            remedy = f"the {row.name} scheme would lose the boundary: use {other}"
            raise InvalidInput(message(f"segments[{i}]", tuple(segment), expected, remedy))
