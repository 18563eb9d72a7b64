"""Text tables (CSV and TSV): one row per document, with its text and a column per label.

::

    text,author,year
    "Lee, Ann. 1999. On rain.","Lee, Ann.",1999

`caesura.corpora.columns` assigns the roles of columns, and `caesura.corpora.cells` parses cells.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from caesura.corpora.cells import document_of, row_of, wrong_width
from caesura.corpora.columns import (
    BETWEEN,
    NAME_TEXT,
    SAMPLE,
    TEXT,
    checked_names,
    choose,
    needs_rows,
    renamed,
)
from caesura.corpora.corpus import Align, Corpus, OnError, Tally
from caesura.corpora.files import Name, Source, unpacked_suffix
from caesura.corpora.separators import (
    LOOKED,
    check_separator,
    declared_separator,
    found_separator,
)
from caesura.corpora.sinks import writing_table
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput

__all__ = ["Numbered", "csv_rows", "read_csv", "table_corpus"]
__all__ += ["write_csv", "write_table"]

_LONGEST = 2**24  # characters in a cell; limits a quote that is never closed
Numbered = tuple[int, Sequence[Any] | InvalidInput]  # line number; a row, or why it is unreadable


# ---- reading ----------------------------------------------------------------------------------


def read_csv(
    path: Name,
    *,
    text: str | Literal[False] | None = None,
    labels: Iterable[str] | None = None,
    separator: str | None = None,
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    align: Align = "strict",
    on_error: OnError = "raise",
    encoding: str = "utf-8",
) -> Corpus:
    r"""Read a table: the first line names the columns, each row is a text and its fields.

    A cell holds the segment of its column's label; several are joined by ``" | "``. Each is looked
    for in the text, the longest first, at its first occurrence between token boundaries and
    outside the others; the notes of the corpus count those that occur twice. Without
    columns for labels, documents have no segments. Columns that are neither the text nor labels
    are carried along: `Document.carried`. `Corpus.columns` holds the roles of the columns.

    Parameters
    ----------
    path : str or path
        The file; decompressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard input.
    text : str, False or None
        The column with the text. None: the one named text in any case, or else the one that
        clearly is it: the cells of other columns stand in it, or without labels its cells are the
        longest by far. False: there is none; the text is the cells of the labels with spaces
        between them.
    labels : iterable of str, optional
        The label columns. By default those whose cells occur in the text, in half of the
        first hundred rows or more; cells without letters in four fifths of them.
    separator : str, optional
        The cell separator; by default a comma, semicolon, tab or bar, as detected or as
        declared for Excel by a first line such as ``sep=;``, which is skipped.
    tokeniser : Tokeniser, str or dict
        How a text is split into tokens.
    align : {"strict", "expand", "contract"}
        What to do with a segment that begins or ends inside a token: raise, include the whole
        token, or exclude it. The notes of the corpus count these segments.
    on_error : {"raise", "skip"}
        Whether a row that cannot be read is an error, or skipped and noted.
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
    ...     _ = file.write_text('id;Text;author\n17;"Lee, Ann. 1999.";"Lee, Ann."\n')
    ...     corpus = read_csv(file)
    ...     [document] = corpus
    >>> document.segments, document.carried
    ((Segment(start=0, end=4, label='author'),), {'id': '17'})
    >>> print(corpus.columns)
    text: Text; labels: author; carried along: id
    """
    check_separator(separator)
    source, used = Source(path, encoding), separator

    def rows() -> Iterator[Numbered]:
        nonlocal used
        lines = _Lines(source)
        used = separator or found_separator(source, lines)
        yield from _rows(source, lines, used)

    options = {"text": text, "labels": labels, "tokeniser": tokeniser}
    return table_corpus(
        path, "csv", rows, source.error, options, align, on_error, separator=lambda: used
    )


def table_corpus(
    path: Name,
    format: str,
    rows: Callable[[], Iterator[Numbered]],
    place: Callable[[int, InvalidInput], InvalidInput],
    options: Mapping[str, Any],
    align: Align,
    on_error: OnError,
    types: Callable[[], Mapping[str, Any] | None] = lambda: None,
    separator: Callable[[], str | None] = lambda: None,
) -> Corpus:
    """Return the corpus of a table.

    Parameters
    ----------
    path, format
        The file and the name of its format.
    rows : callable
        Function that returns the rows with their numbers, the names of the columns first.
    place : callable
        Function that returns an error that names the row with a number.
    options : mapping
        The arguments text, labels and tokeniser, as in `read_csv`.
    align, on_error
        As in `read_csv`.
    types : callable
        Function that returns the Arrow types of the columns, where the file has them.
    separator : callable
        Function that returns the cell separator, once the first row has been read.
    """
    cutter, text = Tokeniser.of(options["tokeniser"]), options["text"]
    labels = None if options["labels"] is None else list(options["labels"])
    whole = cutter if align == "strict" else None

    def documents(tally: Tally) -> Iterator[Document]:
        numbered = rows()
        number, header = next(numbered, (1, None))
        if header is None:
            return
        if isinstance(header, InvalidInput):
            tally.refuse(header)
            return
        try:
            names = checked_names(header)
            sample = SAMPLE if needs_rows(names, text, labels) else 0
            first = list(itertools.islice(numbered, sample))
            good = [row for _, row in first if not isinstance(row, InvalidInput)]
            columns = choose(names, good, text, labels, whole)
            columns = columns._replace(types=types(), separator=separator())
        except InvalidInput as error:
            if error.remedy == NAME_TEXT:  # if rows are broken, that is the error to report
                _check_rows(first, len(names), place)
            raise place(number, error) from None
        corpus.found(columns)
        at = {name: i for i, name in enumerate(names)}
        for number, row in itertools.chain(first, numbered):
            try:
                if isinstance(row, InvalidInput):
                    raise row
                tally.place = f"line {number}, "
                document = document_of(columns, at, row, cutter, tally)
            except InvalidInput as error:
                tally.refuse(error if error is row else place(number, error))
            else:
                yield document

    corpus = Corpus(path, format, documents, on_error=on_error, align=align)
    return corpus


def _check_rows(
    rows: Iterable[Numbered], width: int, place: Callable[[int, InvalidInput], InvalidInput]
) -> None:
    """Raise at the first row that is unreadable or has a wrong number of cells."""
    for number, row in rows:
        if isinstance(row, InvalidInput):
            raise row from None
        if len(row) != width:
            raise place(number, wrong_width(len(row), width)) from None


class _Lines:
    """Lines for the CSV parser, which continues after errors."""

    declared: str | None

    def __init__(self, source: Source) -> None:
        lines = source.lines(ends=True)
        self._more, self.number, self.declared = lines, 0, None
        begin = self._begin()
        if (declared := declared_separator(self.first)) is not None:
            self.number, self.declared = 1, declared
            begin = self._begin()
        self.lines = itertools.chain(begin, lines)

    def _begin(self) -> list[tuple[int, str | InvalidInput]]:
        """Read a line, which is the first one of the table."""
        begin = list(itertools.islice(self._more, 1))
        self.first = "".join(line for _, line in begin if isinstance(line, str))
        return begin

    def beginning(self) -> list[str]:
        """Return the first lines without consuming them."""
        begin = list(itertools.islice(self.lines, 1 + LOOKED))
        self.lines = itertools.chain(begin, self._more)
        return [line for _, line in begin if isinstance(line, str)]

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        self.number, line = next(self.lines)
        if isinstance(line, InvalidInput):
            raise line
        return line


class _Line(int):
    """A line number, with the row number where cells contain line ends."""

    row: int

    def __str__(self) -> str:
        line = int.__repr__(self)
        return line if self.row == self else f"{line} (row {self.row})"


def _line(number: int, row: int) -> _Line:
    made = _Line(number)
    made.row = row
    return made


def csv_rows(source: Source, separator: str | None) -> Iterator[Numbered]:
    """Return the cells of each row, or its error, with its first line number."""
    lines = _Lines(source)
    return _rows(source, lines, separator or found_separator(source, lines))


def _rows(source: Source, lines: _Lines, separator: str) -> Iterator[Numbered]:
    """Yield the cells of each row that a parser finds."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    for number in itertools.count(1):
        before = _line(lines.number + 1, number)
        limit = csv.field_size_limit(_LONGEST)
        try:
            row: list[str] | InvalidInput = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            expected = 'cells with their quotes closed and doubled inside, as "a ""b"""'
            refused = InvalidInput(
                got=f"a row that ends wrong ({error})", expected=expected, remedy="correct the row"
            )
            row = source.error(before, refused)
        except InvalidInput as error:
            row = error
        finally:
            csv.field_size_limit(limit)
        if row != []:
            yield before, row


# ---- writing ----------------------------------------------------------------------------------


def write_csv(
    path: Name,
    documents: Iterable[Document],
    *,
    text: str = TEXT,
    labels: Iterable[str] | None = None,
    separator: str | None = None,
) -> int:
    """Write a table for `read_csv`: carried columns, the text, and each label.

    Parameters
    ----------
    path : str or path
        The file; compressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard output. An
        existing file is replaced once the new one is complete.
    documents : iterable of Document
        The documents, of which texts, segments and carried columns are written. If a document has
        no text, its tokens are joined by spaces.
    text : str
        The name of the column with the text.
    labels : iterable of str, optional
        The labels, in the order of their columns. By default those of all documents, as they come.
    separator : str, optional
        The cell separator; by default a tab if the name ends in .tsv, else a comma.

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
    check_separator(separator)
    if separator is None and path != "-" and unpacked_suffix(path) == ".tsv":
        separator = "\t"
    return write_table(path, "csv", documents, text, labels, separator)


def write_table(
    path: Name,
    form: str,
    documents: Iterable[Document],
    text: str = TEXT,
    labels: Iterable[str] | None = None,
    separator: str | None = None,
    names: Sequence[str] | None = None,
) -> int:
    """Write documents as a table in a given format; see `write_csv`.

    `names` are all columns in their order; by default that of the documents.
    """
    known = None if labels is None else list(labels)
    seen: dict[str, None] = dict.fromkeys(known or ())
    last = [text, *seen]
    i = -1
    rows: list[dict[str, Any]] = []
    with writing_table(path, form, names, last=last, separator=separator) as write:
        for i, document in enumerate(documents):
            content, cells = row_of(document, i, text, known)
            for label in cells:
                if label not in seen:
                    seen[label] = None
                    last.append(label)
            fields = {label: BETWEEN.join(parts) for label, parts in cells.items()}
            rows.append({**renamed(document.carried, [text, *seen]), text: content, **fields})
            if len(rows) == 1000:
                write(rows)
                rows = []
        write(rows)
    return i + 1
