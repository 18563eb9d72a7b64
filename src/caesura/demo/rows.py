"""Segments of a reference as a row of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable

from caesura.documents import Document
from caesura.segments import Segment

__all__ = ["BETWEEN", "field", "row"]

BETWEEN = " | "  # fields of one label in a cell
_ANNOUNCE = {
    "booktitle": r"[Ii]n:?\s+",
    "editor": r"([Ii]n:?\s+)?(\(?\s*[Ee]ds?\b\.?\s*|edited by\s+)?",
    "pages": r"(pp?\b\.?|pages)\s*",
    "volume": r"[Vv]ol\b\.?\s*",
}
_PEOPLE = ("author", "editor")
_MARKS = ' ,;:“”"'


def field(document: Document, segment: Segment) -> str:
    """Return the text of a segment without the marks and words around the field.

    Examples
    --------
    >>> text = "Codd, E. F. In Proc. VLDB, (pp. 3-5)."
    >>> document = Document.from_text(text)
    >>> [field(document, Segment(*s)) for s in ((0, 6, "author"), (6, 11, "booktitle"))]
    ['Codd, E. F.', 'Proc. VLDB']
    >>> field(document, Segment(11, len(document), "pages"))
    '3-5'
    """
    offsets = document.offsets or ()
    start, end = offsets[segment.start][0], offsets[segment.end - 1][1]
    whole = (document.text or "")[start:end]
    text = _bare(whole)
    if segment.label not in _PEOPLE or re.search(r"(?<!\bal)(?<=[a-z]{2})\.$", text):
        text = _bare(text.rstrip(". "))
    text = _bare(re.sub("^" + _ANNOUNCE.get(segment.label, ""), "", text))
    return text or whole


def _bare(text: str) -> str:
    """Return text without marks at its ends, and without brackets that hold all of it or nothing.

    Examples
    --------
    >>> _bare("(1970),"), _bare("13(6),"), _bare("1998),"), _bare("ACM (")
    ('1970', '13(6)', '1998', 'ACM')
    """
    text = text.strip(_MARKS)
    for opening, closing in ("()", "[]"):
        text = text.removesuffix(opening).rstrip(_MARKS)
        depth = text[:-1].count(opening) - text[:-1].count(closing)
        if text.endswith(closing) and (depth < 1 or text.startswith(opening)):
            text = text[:-1].rstrip(_MARKS)
        if text.startswith(opening) and text.count(opening) > text.count(closing):
            text = text[1:].lstrip(_MARKS)
    return text


def row(document: Document, segments: Iterable[Segment], labels: Iterable[str]) -> list[str]:
    """Return the text of a document and its fields, a cell for each label.

    Examples
    --------
    >>> document = Document.from_text("Codd (1970).")
    >>> row(document, [Segment(0, 1, "author"), Segment(1, 5, "date")], ["author", "title", "date"])
    ['Codd (1970).', 'Codd', '', '1970']
    """
    cells: dict[str, list[str]] = {label: [] for label in labels}
    for segment in segments:
        cells[segment.label].append(field(document, segment))
    return [document.text or "", *(BETWEEN.join(cell) for cell in cells.values())]
