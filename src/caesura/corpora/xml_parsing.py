"""Incremental parsing of XML into records.

Entities are not expanded and nothing else is opened: a file that declares entities is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.parsers import expat

from caesura.corpora.files import Damaged, Source
from caesura.errors import InvalidInput, message

__all__ = ["SEGMENT", "Record", "records"]

SEGMENT = "segment"  # element whose label is in an attribute
_CHUNK = 2**16
_DEEPEST = 200  # maximum nesting depth of elements


class Record(NamedTuple):
    """The XML element of one document."""

    line: int
    pieces: list[tuple[str | None, str]]  # (label, text); the label is None between elements
    preserved: bool  # whether white space is preserved
    labelled: bool  # False if its segments are marked as unknown
    error: InvalidInput | None = None


class _Parser:
    """The parser and its state."""

    def __init__(self, record: str | None, encoding: str | None, line: int = 0) -> None:
        self.record = record
        self.encoding = encoding
        self.line = line  # lines before the input of this parser
        self.root = ""
        self.child = record or ""  # element name of the documents
        self.seen = False  # whether such an element has been found
        self.done: list[Record] = []
        self._open: list[str] = []
        self._inside = 0  # depth of the open document element; 0 outside
        self._now: dict[str, Any] = {}
        self._parser = expat.ParserCreate(encoding)
        self._parser.buffer_text = True
        self._parser.buffer_size = 2**20
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.XmlDeclHandler = self._declared
        self._parser.EntityDeclHandler = self._entity
        self._parser.SkippedEntityHandler = self._entity

    def feed(self, content: bytes, last: bool = False) -> None:
        """Parse more bytes."""
        self._parser.Parse(content, last)

    def taken(self) -> list[Record]:
        """Return the records completed since the last call."""
        done, self.done = self.done, []
        return done

    @property
    def place(self) -> tuple[int, int]:
        """The current line number, and the byte offset of the current event."""
        return self.line + self._parser.CurrentLineNumber, self._parser.CurrentByteIndex

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.encoding = self.encoding or encoding

    def _entity(self, name: str, *_: object) -> None:
        raise InvalidInput(
            got=f"the entity {name!r}", expected="none but those of XML", remedy="write it out"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._open.append(name)
        depth = len(self._open)
        self.root = self.root or name
        if depth > _DEEPEST:
            raise InvalidInput(
                got=f"{depth} elements inside one another",
                expected=f"{_DEEPEST} or fewer",
                remedy="nest them less deeply",
            )
        if not self._inside:
            if name == self.record or (self.record is None and depth == 2):
                self._inside, self.child, self.seen = depth, name, True
                preserved = attributes.get("xml:space") == "preserve"
                labelled = attributes.get("labelled") != "no"
                self._now = {"line": self.place[0], "preserved": preserved, "labelled": labelled}
                self._now["pieces"] = []
        elif depth == self._inside + 1:
            self._now["pieces"].append(
                (attributes.get("label", name) if name == SEGMENT else name, "")
            )
        elif depth == self._inside + 2:
            text = message(f"<{self._open[-2]}>", f"<{name}>", "text in it", "take it out")
            self._now.setdefault("error", InvalidInput(text))

    def _end(self, _name: str) -> None:
        if self._inside and len(self._open) == self._inside:
            self.done.append(Record(**self._now))
            self._inside = 0
        self._open.pop()

    def _data(self, text: str) -> None:
        depth = len(self._open)
        if not self._inside:
            if self.record is None and text.strip():
                expected, remedy = "documents in elements of their own", "or pass record"
                raise InvalidInput(message("text outside of them", text.strip(), expected, remedy))
            return
        pieces = self._now["pieces"]
        if depth == self._inside and (not pieces or pieces[-1][0] is not None):
            pieces.append((None, text))
        else:
            label, before = pieces[-1]
            pieces[-1] = label, before + text


def records(
    source: Source, record: str | None, encoding: str | None
) -> Iterator[Record | InvalidInput]:
    """Yield the records of a file, or an error in place of an unreadable one.

    After an error, reading continues at the next document.
    """
    parser, fed = _Parser(record, encoding), 0
    try:
        with source.opened() as file:
            content = file.read(_CHUNK)
            while True:
                last = not content
                try:
                    parser.feed(content, last)
                except (expat.ExpatError, LookupError, ValueError) as error:
                    yield from parser.taken()
                    line, place = parser.place
                    yield source.error(line, _explained(error))
                    begun = None if last else _next(file, content[max(place - fed, 0) :], parser)
                    if begun is None:
                        return
                    lines, content = begun
                    opening = f"<{parser.root}>".encode()
                    parser = _again(parser, line + lines - 1)
                    parser.feed(opening)
                    fed = len(opening)
                    continue
                yield from parser.taken()
                if last:
                    break
                fed += len(content)
                content = file.read(_CHUNK)
    except Damaged as error:
        yield from parser.taken()
        yield source.error(parser.place[0], error)
        return
    if parser.record is not None and not parser.seen:
        expected = f"<{parser.record}>, as record says"
        refused = InvalidInput(
            got="no such element up to the end", expected=expected, remedy="pass another name"
        )
        yield source.error(parser.place[0], refused)


def _again(parser: _Parser, line: int) -> _Parser:
    """Return a new parser that continues in the same kind of file."""
    again = _Parser(parser.record, parser.encoding, line)
    again.child, again.seen = parser.child, parser.seen
    return again


def _explained(error: Exception) -> InvalidInput:
    """Return an error of the parser with what was expected."""
    if isinstance(error, InvalidInput):
        return error
    if isinstance(error, expat.ExpatError):
        came, expected = expat.ErrorString(error.code), "well-formed XML"
        return InvalidInput(got=came, expected=expected, remedy="correct the file")
    expected = "an encoding that can be read"
    return InvalidInput(got=str(error), expected=expected, remedy="pass encoding='utf-8'")


def _next(file: Any, content: bytes, parser: _Parser) -> tuple[int, bytes] | None:
    """Find the start of the next record: the line ends before it, and the bytes from there."""
    wide = (parser.encoding or "utf-8").lower().replace("_", "-").startswith(("utf-16", "utf16"))
    if not parser.child or not parser.root or wide:
        return None
    begins = re.compile(b"<" + re.escape(parser.child.encode()) + rb"[\s/>]")
    lines, skipped = 0, 1  # skips the record that may begin here, which was refused
    while True:
        found = begins.search(content, skipped)
        if found is not None:
            lines += content.count(b"\n", 0, found.start())
            return lines, content[found.start() :]
        kept = min(len(content), len(parser.child) * 4 + 2)
        lines += content.count(b"\n", 0, len(content) - kept)
        more = file.read(_CHUNK)
        if not more:
            return None
        content, skipped = content[len(content) - kept :] + more, 0
