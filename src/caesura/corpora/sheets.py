"""Binary tables: Parquet files and Excel sheets."""

from __future__ import annotations

import contextlib
import datetime
import functools
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Literal

from caesura.corpora.columns import TEXT
from caesura.corpora.corpus import Align, Corpus, OnError
from caesura.corpora.files import PACKED, Damaged, Name, Source, name_of
from caesura.corpora.tables import Numbered, table_corpus, write_table
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, MissingPackage

__all__ = ["read_parquet", "read_xlsx", "write_parquet", "write_xlsx"]

_BATCH = 1000  # rows of Parquet that are held in memory at a time


def read_parquet(
    path: Name,
    *,
    text: str | Literal[False] | None = None,
    labels: Iterable[str] | None = None,
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    align: Align = "strict",
    on_error: OnError = "raise",
) -> Corpus:
    """Read a Parquet file as a table with one text and its fields per row; needs pyarrow.

    Cells of labels are strings, numbers, or lists of them.  Cells that are carried along keep their
    types, and the types of columns are in `Corpus.columns`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Corpus
        The documents.

    Notes
    -----
    All other parameters are as in `read_csv`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.parquet")
    ...     lee = Document(("Lee", "1999"), segments=((0, 1, "author"),), carried={"id": 7})
    ...     _ = write_parquet(file, [lee])
    ...     [document] = read_parquet(file)
    >>> document.segments, document.carried
    ((Segment(start=0, end=1, label='author'),), {'id': 7})
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingPackage("pyarrow", "tables", "a .parquet file") from None
    types: dict[str, Any] = {}

    def rows() -> Iterator[Numbered]:
        with _opened(path) as file:
            table = parquet.ParquetFile(file)
            names = list(table.schema_arrow.names)
            types.update(zip(names, table.schema_arrow.types, strict=True))
            yield 0, names
            number = 0
            for batch in table.iter_batches(_BATCH):
                for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    number += 1
                    yield number, cells

    options = {"text": text, "labels": labels, "tokeniser": tokeniser}
    place = _placer(path)
    safe = functools.partial(_started, path, "a Parquet file", rows)
    return table_corpus(path, "parquet", safe, place, options, align, on_error, lambda: types)


def read_xlsx(
    path: Name,
    *,
    text: str | Literal[False] | None = None,
    labels: Iterable[str] | None = None,
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    align: Align = "strict",
    on_error: OnError = "raise",
) -> Corpus:
    """Read the first sheet of an Excel file as a table; needs openpyxl.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Corpus
        The documents.

    Notes
    -----
    All other parameters are as in `read_csv`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.xlsx")
    ...     _ = write_xlsx(file, [Document(("Lee", "1999"), segments=((0, 1, "author"),))])
    ...     [document] = read_xlsx(file)
    >>> document.text, document.segments
    ('Lee 1999', (Segment(start=0, end=1, label='author'),))
    """
    try:
        import openpyxl
    except ImportError:
        raise MissingPackage("openpyxl", "tables", "an .xlsx file") from None

    def rows() -> Iterator[Numbered]:
        with (
            _opened(path) as file,
            contextlib.ExitStack() as stack,
        ):
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            stack.callback(book.close)
            width = 0
            for number, row in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
                cells = [_value(cell) for cell in row]
                while len(cells) > width and cells[-1] is None:
                    cells.pop()  # a sheet may claim to be wider than its header
                if not cells or all(cell is None for cell in cells):
                    continue
                width = width or len(cells)
                yield number, [*cells, *[None] * (width - len(cells))]

    options = {"text": text, "labels": labels, "tokeniser": tokeniser}
    safe = functools.partial(_started, path, "an Excel file", rows)
    place = _placer(path)
    return table_corpus(path, "xlsx", safe, place, options, align, on_error, dict)


def _value(cell: Any) -> Any:
    """Return the value of a cell; midnight timestamps become dates."""
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date()
    return cell


def _placer(path: Name) -> Any:
    """Return a function that makes errors naming a row."""

    def placed(number: int, error: InvalidInput) -> InvalidInput:
        return error.changed(file=name_of(path), line=number or None, unit="row")

    return placed


@contextlib.contextmanager
def _opened(path: Name) -> Iterator[IO[bytes]]:
    """Open a seekable file; a compressed or piped one is copied first."""
    if path != "-" and Path(path).suffix.lower() not in PACKED and Path(path).is_file():
        with open(path, "rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as kept:
        with Source(path).opened() as packed:
            shutil.copyfileobj(packed, kept)
        kept.seek(0)
        yield kept


def _started(path: Name, kind: str, rows: Callable[[], Iterator[Numbered]]) -> Iterator[Numbered]:
    """Yield rows, and finally the error if the file cannot be read any further."""
    number = 0
    try:
        for number, row in rows():
            yield number, row
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Damaged as error:
        yield number, error.changed(line=1)
    except Exception as error:  # any error of the library
        problem = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
        came = f"a file that is not {kind} or is damaged ({problem[:200]})"
        yield number, Damaged(file=name_of(path), got=came, remedy="write it again")


def write_parquet(
    path: Name,
    documents: Iterable[Document],
    *,
    text: str = TEXT,
    labels: Iterable[str] | None = None,
) -> int:
    """Write a Parquet file that `read_parquet` reads; needs pyarrow.

    Parameters
    ----------
    path, documents, text, labels
        See `write_csv`.

    Returns
    -------
    int
        The number of documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(pathlib.Path(folder, "names.parquet"), [Document(("Ann", "Lee"))])
    1
    """
    return write_table(path, "parquet", documents, text, labels)


def write_xlsx(
    path: Name,
    documents: Iterable[Document],
    *,
    text: str = TEXT,
    labels: Iterable[str] | None = None,
) -> int:
    """Write an Excel file that `read_xlsx` reads; needs openpyxl.

    Strings stay strings: Excel takes none of them for a formula, a number or a date.

    Parameters
    ----------
    path, documents, text, labels
        See `write_csv`.

    Returns
    -------
    int
        The number of documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_xlsx(pathlib.Path(folder, "names.xlsx"), [Document(("Ann", "Lee"))])
    1
    """
    return write_table(path, "xlsx", documents, text, labels)
