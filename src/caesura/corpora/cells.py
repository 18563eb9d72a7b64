r"""Conversion of table rows to documents and back.

Several segments with one label stand in one cell, as ``Lee | Wu``; a bar inside a segment is
written ``\|``. Readers find each segment in the text, the longest first, each where it can first
be. One that could be in several places is put where the order of the cells is kept, if those with
one place keep it. Where that would be another place, writers say which it is: ``Lee @12:15``.
"""

from __future__ import annotations

import itertools
import re
import reprlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from caesura.corpora.columns import (
    BETWEEN,
    CORRECT_CELL,
    RECORDED,
    TEXT,
    Columns,
    parts_of,
    text_cell,
)
from caesura.corpora.corpus import Tally
from caesura.corpora.spans import Span, labelled, spans_of, text_of
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, message

__all__ = ["cells_of", "document_of", "row_of", "wrong_width"]


# ---- reading -------------------------------------------------------------------------------------


def document_of(
    columns: Columns,
    place: Mapping[str, int],
    row: Sequence[Any],
    tokeniser: Tokeniser,
    tally: Tally,
) -> Document:
    """Convert a row, whose cells are in the order of the columns, to a document.

    Examples
    --------
    >>> columns = Columns(("id", "text", "year"), "text", ("year",))
    >>> place = {name: i for i, name in enumerate(columns.names)}
    >>> row = ["7", "Lee, 1999", "1999"]
    >>> found = document_of(columns, place, row, Tokeniser(), Tally("raise", "strict"))
    >>> found.segments, found.carried
    ((Segment(start=2, end=3, label='year'),), {'id': '7'})
    """
    if len(row) != len(columns.names):
        raise wrong_width(len(row), len(columns.names))
    cells = [(name, part) for name in columns.labels for part in parts_of(row[place[name]])]
    carried = {name: row[place[name]] for name in columns.carried}
    if columns.text is None:
        return replace(_joined(cells, tokeniser, tally), carried=carried)
    text = text_cell(row[place[columns.text]], columns.text)
    document = Document.from_text(text, tokeniser)
    if carried:
        object.__setattr__(document, "carried", carried)
    if not columns.labels:
        return document
    found, searched = _found(document, cells)
    several = [i for i in searched if _elsewhere(document, found[i], found)]
    for i in several:
        tally.repeated(text[found[i].start : found[i].end], found[i].label)
    if several:
        _put_in_order(document, found, several)
    return labelled(document, found, tally, [span.label for span in found])


def wrong_width(got: int, expected: int) -> InvalidInput:
    """Return the error for a row with too few or too many cells.

    Examples
    --------
    >>> wrong_width(3, 2)
    InvalidInput('got 3 cells, expected 2, as in the first line; quote cells that contain the
    separator')
    """
    return InvalidInput(
        got=f"{got} cells",
        expected=f"{expected}, as in the first line",
        remedy="quote cells that contain the separator",
    )


def _joined(cells: Sequence[tuple[str, str]], tokeniser: Tokeniser, tally: Tally) -> Document:
    """Return a document whose text is the label cells joined by spaces."""
    spans, reached = [], 0
    for label, part in cells:
        spans.append(Span(reached, reached + len(part), label))
        reached += len(part) + 1
    text = " ".join(part for _, part in cells)
    return labelled(Document.from_text(text, tokeniser), spans, tally, [n for n, _ in cells])


def _elsewhere(document: Document, span: Span, taken: Sequence[Span]) -> list[int]:
    """Return the other occurrences of a span's text as whole tokens outside other spans."""
    text, length = document.text or "", span.end - span.start
    places = _places(text, text[span.start : span.end], taken)
    return [start for start in places if _is_whole(document, start, length)]


def _put_in_order(document: Document, spans: list[Span], several: Sequence[int]) -> None:
    """Move ambiguous segments so that segments follow the order of their cells.

    Nothing is moved if the segments that have one place only are in another order.
    """
    fixed = [i for i in range(len(spans)) if i not in several]
    starts = [spans[i].start for i in fixed]
    if not fixed or starts != sorted(starts):
        return
    for i in several:
        label = spans[i].label
        low = max((spans[j].end for j in fixed if j < i), default=0)
        high = min((spans[j].start for j in fixed if j > i), default=len(document.text or ""))
        length = spans[i].end - spans[i].start
        possible = sorted([spans[i].start, *_elsewhere(document, spans[i], spans)])
        start = next((at for at in possible if low <= at <= high - length), None)
        if start is not None:
            spans[i] = Span(start, start + length, label)
            fixed.append(i)


def _found(
    document: Document, cells: Sequence[tuple[str, str]], unique: bool = False
) -> tuple[list[Span], list[int]]:
    """Find cell values in the text; with `unique`, only unambiguous ones.

    They are in the order of the cells; the second list has the indices of those whose cells do not
    tell their place.

    That is so in any order of columns: segments of one length do not make room for each other.
    """
    text = document.text or ""
    cells = [(label, _as_in(text, part)) for label, part in cells]
    spans: list[Span] = []
    numbers: list[int] = []
    searched: list[int] = []
    longest_first = sorted(enumerate(cells), key=lambda cell: -len(cell[1][1]))
    for _, alike in itertools.groupby(longest_first, key=lambda cell: len(cell[1][1])):
        taken = list(spans) if unique else spans
        for number, (label, part) in alike:
            span = _recorded_span(text, label, part)
            if span is None:
                places = _places(text, part.strip(), taken)
                start = next(places, None) if unique else _best(places, len(part.strip()), document)
                if start is None or (unique and next(places, None) is not None):
                    raise _not_found(text, label, part.strip(), taken)
                span = Span(start, start + len(part.strip()), label)
                searched.append(number)
            spans.append(span)
            numbers.append(number)
    return [span for _, span in sorted(zip(numbers, spans, strict=True))], sorted(searched)


def _as_in(text: str, part: str) -> str:
    """Return a value with the white space that it has in the text."""
    if not part.strip() or part.strip() in text or RECORDED.fullmatch(part):
        return part
    found = re.search(r"\s+".join(map(re.escape, part.split())), text)
    return part if found is None else found[0]


def _not_found(text: str, label: str, part: str, taken: Sequence[Span]) -> InvalidInput:
    """Return the error about a value without a place of its own in the text."""
    expected = "a value that occurs in the text and does not overlap other fields"
    start = text.find(part)
    over = [one for one in taken if start < one.end and one.start < start + len(part)]
    if start >= 0 and over:
        other = over[0]
        shown = reprlib.repr(text[other.start : other.end])
        expected = f"a value that does not overlap the field {other.label!r}, {shown}"
    return InvalidInput(message(label, part, expected, CORRECT_CELL))


def _recorded_span(text: str, label: str, part: str) -> Span | None:
    """Return the span recorded in a cell, if there is one."""
    recorded = RECORDED.fullmatch(part)
    if recorded is None:
        return None
    start, end = int(recorded[2]), int(recorded[3])
    right = start < end <= len(text) and text[start:end].strip() == recorded[1].strip()
    return Span(start, end, label) if right else None


def _places(text: str, part: str, taken: Sequence[Span]) -> Iterator[int]:
    """Return the occurrences of a value outside other spans."""
    start = text.find(part) if part else -1
    while start >= 0:
        end = start + len(part)
        if all(end <= other.start or other.end <= start for other in taken):
            yield start
        start = text.find(part, start + 1)


def _best(places: Iterable[int], length: int, document: Document) -> int | None:
    """Return the first occurrence at token boundaries, else inside words, else any."""
    possible = []
    for start in places:
        if _is_whole(document, start, length):
            return start
        possible.append(start)
    if len(possible) > 1:
        parts = Document.from_text(document.text or "", "parts")
        possible = [at for at in possible if _is_whole(parts, at, length)] or possible
    return possible[0] if possible else None


def _is_whole(document: Document, start: int, length: int) -> bool:
    """Return whether a character span consists of whole tokens."""
    offsets = document.offsets or ()
    i, j = bisect_left(offsets, (start, 0)), bisect_left(offsets, (start + length, 0))
    return i < j and (offsets[i][0], offsets[j - 1][1]) == (start, start + length)


# ---- writing -------------------------------------------------------------------------------------


def cells_of(document: Document, labels: Sequence[str], i: int = 0, text: str = TEXT) -> list[str]:
    """Return the text and the cell of each label of document number `i`.

    Examples
    --------
    >>> ann = Document(("Ann", "met", "Lee"), segments=((0, 1, "PER"), (2, 3, "PER")))
    >>> cells_of(ann, ["PER", "LOC"])
    ['Ann met Lee', 'Ann | Lee', '']
    """
    content, cells = row_of(document, i, text, labels)
    return [content, *(BETWEEN.join(cells.get(label, ())) for label in labels)]


def row_of(
    document: Document, i: int = 0, text: str = TEXT, labels: Sequence[str] | None = None
) -> tuple[str, dict[str, list[str]]]:
    """Return the text and the parts of each label's cell of document number `i`."""
    try:
        content, spans = text_of(document), spans_of(document) or []
        for span in spans:
            right = span.label.strip() and span.label != text and span.label.isprintable()
            if not right or (labels is not None and span.label not in labels):
                expected = f"the name of a column other than {text!r}"
                expected = (
                    expected if labels is None else f"one of the labels in labels={list(labels)}"
                )
                raise InvalidInput(message("segments", span.label, expected, "rename the label"))
    except InvalidInput as error:
        raise error.within(f"documents[{i}]", ".") from None
    cells = _parts(content, spans, "")
    read = [(label, part.replace("\\|", "|")) for label, some in cells.items() for part in some]
    try:
        right = sorted(_found(Document((), content), read, unique=True)[0]) == sorted(spans)
    except InvalidInput:
        right = False
    return content, cells if right else _parts(content, spans, " @{}:{}")


def _parts(content: str, spans: Iterable[Span], place: str) -> dict[str, list[str]]:
    """Return the parts of each cell with their positions."""
    cells: dict[str, list[str]] = {}
    for start, end, label in spans:
        part = content[start:end].replace("|", "\\|") + place.format(start, end)
        cells.setdefault(label, []).append(part)
    return cells
