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
_MARKS = " ,;:()[]“”\""


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
    text = whole.strip(_MARKS)
    if segment.label not in _PEOPLE or re.search(r"(?<!\bal)(?<=[a-z]{2})\.$", text):
        text = text.rstrip(". ").rstrip(_MARKS)
    text = re.sub("^" + _ANNOUNCE.get(segment.label, ""), "", text).strip(_MARKS)
    return text or whole


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
