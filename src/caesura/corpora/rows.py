"""Lines with columns, grouped into sequences before interpretation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from caesura.corpora.files import Source
from caesura.errors import InvalidInput

__all__ = [
    "CORRECT_COLUMNS",
    "CORRECT_LINE",
    "DOCUMENT_START",
    "TAG",
    "TOKEN",
    "Form",
    "Rows",
    "sequences",
]

CORRECT_LINE = "correct the line, or pass separator"  # remedies in errors
CORRECT_COLUMNS = "correct the line or columns, or pass separator"
DOCUMENT_START = "-DOCSTART-"
TOKEN, TAG = "token", "tag"
_METADATA = re.compile(r"# (global\.columns|text|text_json|offsets) = (.*)", re.DOTALL)
_FIELD = re.compile(r"[^ \t]+")
_LETTERED = re.compile(r"O|[BIESLUMC](-.*)?")


class Rows(NamedTuple):
    """The lines of one sequence."""

    fields: list[list[str]]  # the fields of each token
    lines: list[int]  # the line number of each token
    metadata: dict[str, tuple[str, int]]  # from comments: key -> value and line number
    problem: InvalidInput | None = None  # why the rest of the sequence could not be read


class Form(NamedTuple):
    """The options for reading lines with columns."""

    columns: Sequence[str | None] | None
    separator: str | None
    comment: str | None
    boundary: str = DOCUMENT_START  # first field of lines that also separate sequences
    between: Callable[[list[str]], None] | None = None  # called with the fields of these lines

    def split(self, line: str) -> list[str]:
        """Return the fields of a line."""
        return _FIELD.findall(line) if self.separator is None else line.split(self.separator)

    def marked(self, line: str) -> bool:
        """Return whether a line starts like a comment."""
        return self.comment is not None and line.startswith(self.comment)

    def metadata(self, line: str) -> tuple[str, str] | None:
        """Return the key and value in a metadata comment."""
        found = _METADATA.fullmatch(line) if self.comment == "#" else None
        return None if found is None else (found[1], found[2])


class _Shape(NamedTuple):
    """The layout of the columns, as the first line with fields shows it."""

    width: int
    layout: dict[str, int]  # index of each named column
    shown: str  # where the layout comes from, for errors
    example: str | None  # the line itself, unless it is a header

    def is_row(self, line: str, fields: list[str], form: Form) -> bool:
        """Return whether a line that starts like a comment is a row of its sequence."""
        if len(fields) != self.width or self.example is None:
            return len(fields) == self.width
        if line.count("\t") != self.example.count("\t"):
            return False
        tag = self.layout.get(TAG)
        if tag is None or not _LETTERED.fullmatch(form.split(self.example)[tag]):
            return True
        return _LETTERED.fullmatch(fields[tag]) is not None


def sequences(source: Source, form: Form) -> Iterator[tuple[Rows, dict[str, int]]]:
    """Yield the sequences of a file, each with the positions of its columns."""
    shape, numbered = _begin(source, form)
    if shape is None:  # only comments and blank lines
        return
    rows = Rows([], [], {})
    for number, line in numbered:
        if isinstance(line, str) and rows.problem is None and not form.marked(line):
            fields = form.split(line)  # the fast path: most lines are rows
            apart = fields[:1] in ([DOCUMENT_START], [form.boundary])
            if len(fields) == shape.width and not line.isspace() and not apart:
                rows.fields.append(fields)
                rows.lines.append(number)
                continue
        if isinstance(line, InvalidInput):
            rows = rows if rows.problem else rows._replace(problem=line)
        elif _ends(line, form):
            if form.between is not None:
                form.between(form.split(line))
            if rows.fields or rows.problem:
                yield rows, shape.layout
            rows = Rows([], [], {})
        elif rows.problem is None:
            rows = _with(rows, number, line, (source, form, shape))
    if rows.fields or rows.problem:
        yield rows, shape.layout


def _ends(line: str, form: Form) -> bool:
    """Return whether a line separates sequences."""
    if DOCUMENT_START not in line and form.boundary not in line:
        return not line.strip(" \t")
    return form.split(line)[0] in (DOCUMENT_START, form.boundary)


def _with(rows: Rows, number: int, line: str, reading: tuple[Source, Form, _Shape]) -> Rows:
    """Return the rows of a sequence with one more row, or with its error."""
    source, form, shape = reading
    fields = form.split(line)
    marked = form.marked(line)
    told = form.metadata(line) if marked else None
    if told is not None:
        rows.metadata[told[0]] = told[1], number
    elif marked and not rows.fields and not shape.is_row(line, fields, form):
        pass
    elif len(fields) == shape.width:
        rows.fields.append(fields)
        rows.lines.append(number)
    elif not marked:
        error = InvalidInput(
            got=f"{len(fields)} fields",
            expected=f"{shape.width}, {shape.shown}",
            remedy=CORRECT_LINE if form.columns is None else CORRECT_COLUMNS,
        )
        return rows._replace(problem=source.error(number, error))
    return rows


def _begin(
    source: Source, form: Form
) -> tuple[_Shape | None, Iterator[tuple[int, str | InvalidInput]]]:
    """Read up to the line that shows the columns; return them and all lines so far."""
    numbered = source.lines()
    read: list[tuple[int, str | InvalidInput]] = []
    for number, line in numbered:
        read.append((number, line))
        if isinstance(line, InvalidInput):
            continue
        fields, told = form.split(line), form.metadata(line)
        if told is not None and told[0] == "global.columns" and TOKEN in told[1].split():
            return _shape(form, number, told[1].split(), None), chain(read, numbered)
        if not _ends(line, form) and not form.marked(line):
            width = len(fields)
            names = [TOKEN, *(f"column{i}" for i in range(1, width - 1)), TAG][:width]
            return _shape(form, number, names, line), chain(read, numbered)
    broken = any(isinstance(line, InvalidInput) for _, line in read)
    return (_shape(form, 1, [TOKEN], None) if broken else None), iter(read)


def _shape(form: Form, line: int, names: Sequence[str], example: str | None) -> _Shape:
    """Return the layout for these column names, unless other names are given."""
    given = names if form.columns is None else form.columns
    shown = f"as on line {line}" if form.columns is None else "the number of the given columns"
    layout = {name: i for i, name in enumerate(given) if name is not None}
    return _Shape(len(given), layout, shown, example)
