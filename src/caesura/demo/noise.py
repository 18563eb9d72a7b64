"""Noise in references: missing fields, typing habits and OCR errors."""

from __future__ import annotations

import random
import re

from caesura.demo.records import Record
from caesura.demo.words import capitalised

__all__ = ["Piece", "forgotten", "habits", "scanned"]

Piece = tuple[str, str]  # label, text with leading white space

_FORGOTTEN = {  # field -> how often people leave it out
    "number": 0.15,
    "pages": 0.05,
    "publisher": 0.2,
    "place": 0.25,
    "volume": 0.03,
    "year": 0.03,
    "month": 0.4,
    "note": 0.1,
}
_SLIPS = (  # (true, read) pairs that a scanner confuses
    *(("1", "l"), ("l", "1"), ("0", "O"), ("O", "0"), ("rn", "m"), ("m", "rn"), ("cl", "d")),
    *(("5", "S"), ("e", "c"), ("i", "j"), ("h", "b"), ("I", "l"), ("li", "h"), ("ü", "ii")),
)
_MARKS = ",,,...::;"  # punctuation after a field


def forgotten(record: Record, draw: random.Random, noise: float) -> Record:
    """Return a record with some random fields missing, but never its authors or title.

    Examples
    --------
    >>> from caesura.demo.records import records
    >>> forgotten(records()[0], random.Random(0), noise=0.0) == records()[0]
    True
    """
    gone: dict[str, object] = {
        field: type(getattr(record, field))()
        for field, often in _FORGOTTEN.items()
        if draw.random() < often * noise
    }
    if draw.random() < 0.4 * noise:
        gone["editors"] = ()
    if len(record.authors) > 1 and draw.random() < 0.08 * noise:
        gone |= {"authors": record.authors[:1], "more": True}
    return record._replace(**gone)  # type: ignore[arg-type]


def habits(pieces: list[Piece], draw: random.Random, noise: float) -> list[Piece]:
    """Vary quotation marks, dashes, capitals and punctuation as people type them.

    Examples
    --------
    >>> habits([("title", " “On growth,”")], random.Random(1), noise=9.0)
    [('title', ' "ON GROWTH,"')]
    """
    straight = draw.random() < 0.6 * noise
    dash = draw.choice(["–", "-", "-", "--", " - "]) if draw.random() < 0.3 * noise else "–"
    case = draw.random() / noise if noise else 1.0
    careless = draw.random() < 0.25 * noise
    out = []
    for label, text in pieces:
        if careless and text[-1] in _MARKS and draw.random() < 0.3:
            text = text[:-1] + draw.choice(_MARKS)
        if straight:
            text = text.replace("“", '"').replace("”", '"').replace("’", "'")
        if label == "pages":
            text = text.replace("–", dash)
        if label == "title" and case < 0.17:
            change = str.upper if case < 0.03 else str.lower if case < 0.07 else capitalised
            text = change(text)
        if label == "author" and 0.95 < case < 0.98:
            text = text.upper()
        out.append((label, text))
    return out


def scanned(pieces: list[Piece], draw: random.Random, noise: float) -> list[Piece]:
    """Add OCR errors to one reference in five.

    Examples
    --------
    >>> scanned([("date", " 1948.")], random.Random(0), noise=0.0)
    [('date', ' 1948.')]
    """
    if draw.random() >= 0.2 * noise:
        return pieces
    return [(label, _read(text, draw)) for label, text in pieces]


def _read(text: str, draw: random.Random) -> str:
    """Return text with OCR errors; it is never empty."""
    for true, read in _SLIPS:
        if true in text and draw.random() < 0.06:
            at = draw.choice([found.start() for found in re.finditer(re.escape(true), text)])
            text = text[:at] + read + text[at + len(true) :]
    if draw.random() < 0.1:  # the space after a mark is lost
        text = re.sub(r"([.,:;)]) (?=\w)", r"\1", text, count=1)
    if draw.random() < 0.1:  # the leading space is lost
        text = text.lstrip()
    if len(text.strip()) > 2 and draw.random() < 0.08:  # the final mark is lost
        text = text[:-1] if text[-1] in _MARKS else text
    long = list(re.finditer(r"[a-z]{4}(?=[a-z]{3})", text))
    if long and draw.random() < 0.1:  # a word is broken at the end of a line
        at = draw.choice(long).end()
        text = f"{text[:at]}- {text[at:]}"
    return text
