r"""Tables: a row for each document, its text and a column for each label.

::

    text,author,year
    "Lee, Ann. 1999. On rain.","Lee, Ann.",1999

Several segments with one label stand in one cell, as ``Lee | Wu``; a bar inside a segment is
written ``\|``. Readers find each segment in the text, the longest first, each where it can first
be. Where that would be another place, writers say which it is: ``Lee @12:15``.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from caesura.corpora.corpus import Align, Corpus, OnError, Tally
from caesura.corpora.files import Name, Source, unpacked_suffix, writing
from caesura.corpora.spans import Span, labelled, spans_of, text_of
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, message

__all__ = ["read_csv", "write_csv"]

TEXT = "text"
_BETWEEN = " | "
_PLACED = re.compile(r"(.*) @([0-9]{1,15}):([0-9]{1,15})", re.DOTALL)
_Row = tuple[str, dict[str, list[str]]]  # a text, and the parts in the cell of each label
_LONGEST = 2**24  # characters of a cell: a quote that is never closed ends here


# ---- reading ----------------------------------------------------------------------------------


def read_csv(
    path: Name,
    *,
    text: str = TEXT,
    labels: Iterable[str] | None = None,
    separator: str | None = None,
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    align: Align = "strict",
    on_error: OnError = "raise",
    encoding: str = "utf-8",
) -> Corpus:
    r"""Read a table: the first line names the columns, each row is a text and its fields.

    A cell holds the segment of its column's label; several are joined by `` | ``. Each is looked
    for in the text, the longest first, where it first stands between boundaries of tokens and
    outside the others. Without a column for the text, the text is the cells of a row with spaces
    between them. Without columns for labels, documents have no segments.

    Parameters
    ----------
    path : str or path
        The file; unpacked if it ends in .gz, .bz2 or .xz; ``-`` is the standard input.
    text : str
        The name of the column with the text.
    labels : iterable of str, optional
        The columns that are labels; by default all but that of the text.
    separator : str, optional
        What stands between cells; by default a tab if the name ends in .tsv or the first line has
        tabs and no commas, else a comma.
    tokeniser : Tokeniser, str or dict
        How a text becomes tokens.
    align : {"strict", "expand", "contract"}
        What to do with a segment that begins or ends inside a token: raise, take the whole token,
        or leave it out. They are counted in the notes of the corpus.
    on_error : {"raise", "skip"}
        Whether a row that cannot be read is an error, or left out and noted.
    encoding : str
        The encoding of the file.

    Returns
    -------
    Corpus
        The documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.csv")
    ...     _ = file.write_text('text,author,year\n"Lee, Ann. 1999.","Lee, Ann.",1999\n')
    ...     [document] = read_csv(file)
    >>> document.tokens
    ('Lee', ',', 'Ann', '.', '1999', '.')
    >>> document.segments
    (Segment(start=0, end=4, label='author'), Segment(start=4, end=5, label='year'))
    """
    _check_separator(separator)
    cutter, source = Tokeniser.of(tokeniser), Source(path, encoding)
    chosen = None if labels is None else list(labels)

    def documents(tally: Tally) -> Iterator[Document]:
        rows = _rows(source, separator)
        header = next(rows, None)
        if header is None:
            return
        if isinstance(header[1], InvalidInput):
            tally.refuse(header[1])
            return
        table = _table(source, header[0], header[1], (text, chosen))
        for number, row in rows:
            try:
                if isinstance(row, InvalidInput):
                    raise row
                document = _document(table, row, cutter, tally)
            except InvalidInput as error:
                named = error if error is row else source.error(number, error)
                tally.refuse(named)
            else:
                yield document

    return Corpus(path, "csv", documents, on_error=on_error, align=align)


def _check_separator(separator: object) -> None:
    """Raise if this cannot stand between cells."""
    one = isinstance(separator, str) and len(separator) == 1 and separator not in '"\r\n'
    if separator is not None and not one:
        expected = "one character, no quote or line end"
        raise InvalidInput(message("separator", separator, expected, "pass ',' or '\\t'"))


class _Table(NamedTuple):
    """The columns of a table."""

    names: list[str]
    text: int | None  # the place of the column with the text
    labels: dict[str, int]  # and of those with segments


class _Lines:
    """Lines for the reader of rows, which goes on after an error."""

    def __init__(self, source: Source) -> None:
        lines = source.lines(ends=True)
        begin = list(itertools.islice(lines, 1))
        self.first = "".join(line for _, line in begin if isinstance(line, str))
        self.lines = itertools.chain(begin, lines)
        self.number = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        self.number, line = next(self.lines)
        if isinstance(line, InvalidInput):
            raise line
        return line


def _rows(source: Source, separator: str | None) -> Iterator[tuple[int, list[str] | InvalidInput]]:
    """Return the cells of each row, or why it cannot be read, with the number of its first line."""
    lines = _Lines(source)
    if separator is None:
        tabs = "\t" in lines.first and "," not in lines.first
        separator = "\t" if tabs or unpacked_suffix(source.path) == ".tsv" else ","
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        before = lines.number
        limit = csv.field_size_limit(_LONGEST)
        try:
            row: list[str] | InvalidInput = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            expected = 'cells with their quotes closed and doubled inside, as "a ""b"""'
            row = source.error(
                before + 1, f"got a row that ends wrong ({error}), expected {expected}"
            )
        except InvalidInput as error:
            row = error
        finally:
            csv.field_size_limit(limit)
        if row != []:
            yield before + 1, row


def _table(
    source: Source, number: int, names: list[str], given: tuple[str, list[str] | None]
) -> _Table:
    """Return the columns that the first row names, or raise."""
    text, chosen = given
    wrong = next((n for i, n in enumerate(names) if not n.strip() or n in names[:i]), None)
    if wrong is not None:
        expected, remedy = "different names of columns", "write them on the first line"
        raise source.error(number, message("columns", wrong, expected, remedy))
    place = names.index(text) if text in names else None
    for label in chosen or []:
        if label not in names:
            expected = f"a column of the file: {', '.join(map(repr, names))}"
            raise source.error(number, message("labels", label, expected, "correct its name"))
    kept = [n for n in names if n != text] if chosen is None else chosen
    return _Table(names, place, {name: names.index(name) for name in kept})


def _document(table: _Table, row: list[str], tokeniser: Tokeniser, tally: Tally) -> Document:
    """Make a document of a row."""
    if len(row) != len(table.names):
        expected = f"{len(table.names)}, as in the first line"
        raise InvalidInput(f"got {len(row)} cells, expected {expected}; quote cells with commas")
    cells = [(name, part) for name, i in table.labels.items() for part in _parts(row[i])]
    if table.text is None:
        text = " ".join(part for _, part in cells)
        spans, reached = [], 0
        for label, part in cells:
            spans.append(Span(reached, reached + len(part), label))
            reached += len(part) + 1
        return labelled(Document.from_text(text, tokeniser), spans, tally, [n for n, _ in cells])
    document = Document.from_text(row[table.text], tokeniser)
    if not table.labels:
        return document
    found = _found(document, cells)
    return labelled(document, found, tally, [span.label for span in found])


def _parts(cell: str) -> list[str]:
    """Return the segments in a cell."""
    return [part.replace("\\|", "|") for part in cell.split(_BETWEEN)] if cell.strip() else []


def _found(
    document: Document, cells: Sequence[tuple[str, str]], unique: bool = False
) -> list[Span]:
    """Find the segments of cells in the text; with `unique`, where they can be nowhere else.

    That is so in any order of columns: segments of one length do not make room for each other.
    """
    text = document.text or ""
    spans: list[Span] = []
    for length in sorted({len(part) for _, part in cells}, reverse=True):
        taken = list(spans) if unique else spans
        for label, part in (cell for cell in cells if len(cell[1]) == length):
            span = _told(text, label, part)
            if span is None:
                places = _places(text, part.strip(), taken)
                start = next(places, None) if unique else _best(places, len(part.strip()), document)
                if start is None or (unique and next(places, None) is not None):
                    expected = "what stands in the text, outside the other fields"
                    remedy = "correct the cell or the text, or write where it is: @start:end"
                    raise InvalidInput(message(label, part, expected, remedy))
                span = Span(start, start + len(part.strip()), label)
            spans.append(span)
    return spans


def _told(text: str, label: str, part: str) -> Span | None:
    """Return the span that a cell tells, if it does."""
    told = _PLACED.fullmatch(part)
    if told is None:
        return None
    start, end = int(told[2]), int(told[3])
    right = start < end <= len(text) and text[start:end].strip() == told[1].strip()
    return Span(start, end, label) if right else None


def _places(text: str, part: str, taken: list[Span]) -> Iterator[int]:
    """Return where a part stands outside others."""
    start = text.find(part) if part else -1
    while start >= 0:
        end = start + len(part)
        if all(end <= other.start or other.end <= start for other in taken):
            yield start
        start = text.find(part, start + 1)


def _best(places: Iterable[int], length: int, document: Document) -> int | None:
    """Return the first place between boundaries of tokens, or else the first."""
    offsets, first = document.offsets or (), None
    for start in places:
        i, j = bisect_left(offsets, (start, 0)), bisect_left(offsets, (start + length, 0))
        if i < j and (offsets[i][0], offsets[j - 1][1]) == (start, start + length):
            return start
        first = start if first is None else first
    return first


# ---- writing ----------------------------------------------------------------------------------


def write_csv(
    path: Name,
    documents: Iterable[Document],
    *,
    text: str = TEXT,
    labels: Iterable[str] | None = None,
    separator: str | None = None,
) -> int:
    """Write a table, which `read_csv` reads: the text, and a column for each label.

    Parameters
    ----------
    path : str or path
        The file; packed if it ends in .gz, .bz2 or .xz; ``-`` is the standard output. It is
        replaced only once all is written.
    documents : iterable of Document
        What is written of them are texts and segments. Where there is no text, it is the tokens
        with spaces between them.
    text : str
        The name of the column with the text.
    labels : iterable of str, optional
        The labels, in the order of their columns. By default those of all documents, as they come:
        then rows are kept in a temporary file until the last is known.
    separator : str, optional
        What stands between cells; by default a tab if the name ends in .tsv, else a comma.

    Returns
    -------
    int
        The number of documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> segments = ((0, 2, "PER"), (3, 4, "PER"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.csv")
    ...     _ = write_csv(file, [Document(("Ann", "Lee", "saw", "Bo"), segments=segments)])
    ...     print(file.read_text().strip())
    text,PER
    Ann Lee saw Bo,Ann Lee | Bo
    """
    _check_separator(separator)
    if separator is None:
        separator = "\t" if unpacked_suffix(path) == ".tsv" else ","
    known = None if labels is None else list(labels)
    rows: Iterator[_Row] = (_row(i, document, text, known) for i, document in enumerate(documents))
    i = -1
    with writing(path) as file, tempfile.TemporaryFile("w+", encoding="utf-8") as kept:
        if known is None:
            known = _keep(rows, kept)
            kept.seek(0)
            rows = map(json.loads, kept)
        file.write(csv_line([text, *known], separator))
        for i, (content, cells) in enumerate(rows):  # noqa: B007
            values = [_BETWEEN.join(cells.get(label, ())) for label in known]
            file.write(csv_line([content, *values], separator))
    return i + 1


def cells_of(document: Document, labels: Sequence[str], i: int = 0) -> list[str]:
    """Return the row of a document, number `i` of its file, as `write_csv` writes it."""
    content, cells = _row(i, document, TEXT, list(labels))
    return [content, *(_BETWEEN.join(cells.get(label, ())) for label in labels)]


def _keep(rows: Iterable[_Row], file: IO[str]) -> list[str]:
    """Write rows to a temporary file; return the labels in them."""
    labels: dict[str, None] = {}
    for row in rows:
        labels |= dict.fromkeys(row[1])
        file.write(json.dumps(row) + "\n")
    return list(labels)


def _row(i: int, document: Document, text: str, labels: list[str] | None) -> _Row:
    """Return the text of a document, and the parts in the cell of each label."""
    try:
        content, spans = text_of(document), spans_of(document) or []
        for span in spans:
            right = span.label.strip() and span.label != text and span.label.isprintable()
            if not right or (labels is not None and span.label not in labels):
                expected = f"a name of a column other than {text!r}"
                expected = expected if labels is None else f"one of labels: {labels}"
                raise InvalidInput(message("segments", span.label, expected, "rename the label"))
    except InvalidInput as error:
        raise InvalidInput(f"documents[{i}].{error}") from None
    cells = _cells(content, spans, "")
    read = [(label, part.replace("\\|", "|")) for label, some in cells.items() for part in some]
    try:
        right = sorted(_found(Document((), content), read, unique=True)) == sorted(spans)
    except InvalidInput:
        right = False
    return content, cells if right else _cells(content, spans, " @{}:{}")


def _cells(content: str, spans: Iterable[Span], place: str) -> dict[str, list[str]]:
    """Return the parts of each cell, with the place of each."""
    cells: dict[str, list[str]] = {}
    for start, end, label in spans:
        part = content[start:end].replace("|", "\\|") + place.format(start, end)
        cells.setdefault(label, []).append(part)
    return cells


def csv_line(cells: Iterable[str], separator: str) -> str:
    """Write one row; a line end in a cell is quoted."""
    line = io.StringIO(newline="")
    csv.writer(line, delimiter=separator, lineterminator="\r\n").writerow(cells)
    return line.getvalue()[:-2] + "\n"
