"""Table writers that take rows one by one: CSV, TSV, Parquet and Excel.

A row is a dict from column to cell. Where the columns are not known beforehand, rows are kept in a
temporary file until the last is known.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import decimal
import io
import json
import pickle
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Protocol

from caesura.corpora.columns import plain_text
from caesura.corpora.files import Name, binary_writing, unpacked_suffix
from caesura.corpora.kinds import Kind, arrow_type, converted, family, kind_of, united
from caesura.corpora.temporary import named_errors, scratch, scratch_name
from caesura.errors import InvalidInput, MissingPackage, TooLarge, message

__all__ = ["TABLES", "Row", "csv_cell", "csv_line", "table_form", "writing_table"]

TABLES = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx"}
Row = Mapping[str, Any]
MOST_ROWS = 1_048_576  # of an Excel sheet, with the header
MOST_CHARACTERS = 32_767  # of an Excel cell


def table_form(path: Name) -> str | None:
    """Return the table format given by a file name; None for other names.

    Examples
    --------
    >>> table_form("new.csv.gz"), table_form("new.parquet"), table_form("new.jsonl")
    ('csv', 'parquet', None)
    """
    return None if path == "-" else TABLES.get(unpacked_suffix(path))


class Sink(Protocol):
    """A writer of rows."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write the end of the table."""

    def abandon(self) -> None:
        """Discard the output."""


@contextlib.contextmanager
def writing_table(
    path: Name,
    form: str,
    names: Sequence[str] | None,
    *,
    last: Sequence[str] = (),
    types: Mapping[str, Any] | None = None,
    marked: bool = False,
    separator: str | None = None,
) -> Iterator[Callable[[Sequence[Row]], None]]:
    """Write a table atomically; yields a function that takes rows.

    Parameters
    ----------
    path : path
        The file; ``-`` is the standard output.
    form : {"csv", "tsv", "parquet", "xlsx"}
        The output format.
    names : sequence of str, optional
        The columns in their order; None if they are not known before all rows are.
    last : sequence of str
        If the columns are not known: the last ones, in their order; all others come before them, in
        the order in which they first occur.
    types : mapping, optional
        Arrow types of some columns; those of the others are inferred from all cells.
    marked : bool
        Whether a CSV file begins with a byte order mark, by which Excel knows UTF-8.
    separator : str, optional
        The cell separator of a CSV file, a comma by default.
    """
    _check_packages(form)
    with binary_writing(path) as file:
        kept: Any = None
        known = names is not None and (form != "parquet" or set(names) <= set(types or ()))
        if not known:
            kept = scratch()
        made = _Maker(file, form, dict(types or {}), marked, separator)
        sink = made.sink(list(names or ())) if known else None

        def write(rows: Sequence[Row]) -> None:
            if sink is not None:
                sink.write(rows)
                return
            pickle.dump(list(rows), kept)

        try:
            yield write
            if sink is None:
                sink = made.late(kept, names, last)
            sink.close()
        except BaseException:
            if sink is not None:
                with contextlib.suppress(Exception):
                    sink.abandon()
            raise
        finally:
            if kept is not None:
                kept.close()


def _check_packages(form: str) -> None:
    """Raise if a required package is not installed."""
    package = {"parquet": "pyarrow", "xlsx": "openpyxl"}.get(form)
    if package is not None:
        try:
            __import__(package)
        except ImportError:
            raise MissingPackage(package, "tables", f"a .{form} file") from None


class _Maker:
    """A factory of sinks."""

    def __init__(
        self, file: IO[bytes], form: str, types: dict[str, Any], marked: bool, separator: str | None
    ) -> None:
        self.file, self.form, self.types, self.marked = file, form, types, marked
        self.kinds: dict[str, Kind] = {}  # column -> kind, for columns whose cells are converted
        self.separator = separator or ("\t" if form == "tsv" else ",")

    def sink(self, names: list[str]) -> Sink:
        if self.form == "parquet":
            return _Parquet(self, names)
        if self.form == "xlsx":
            return _Sheet(self.file, names)
        return _Csv(self.file, names, self.separator, self.marked)

    def late(self, kept: IO[bytes], names: Sequence[str] | None, last: Sequence[str]) -> Sink:
        """Return a sink that has received the buffered rows."""
        if names is None:
            seen: dict[str, None] = {}
            for rows in _again(kept):
                for row in rows:
                    seen.update(dict.fromkeys(row))
            names = [*(name for name in seen if name not in set(last)), *last]
        if self.form == "parquet":
            for name in names:
                if name in self.types:
                    continue
                kind = _exact_kind(name, kept)
                if kind is None:
                    self.types[name] = _type_of(name, kept)
                else:
                    self.kinds[name], self.types[name] = kind, arrow_type(kind)
        sink = self.sink(list(names))
        try:
            for rows in _again(kept):
                sink.write(rows)
        except BaseException:
            with contextlib.suppress(Exception):
                sink.abandon()
            raise
        return sink


def _again(kept: IO[bytes]) -> Iterator[list[Row]]:
    """Iterate over all batches of rows that were kept, from the first one on."""
    kept.seek(0)
    with contextlib.suppress(EOFError):
        while True:
            yield pickle.load(kept)


# ---- CSV -----------------------------------------------------------------------------------------


def csv_line(cells: Iterable[str], separator: str) -> str:
    r"""Write one row; cells with line ends are quoted.

    Examples
    --------
    >>> csv_line(["a,b", "c"], ",")
    '"a,b",c\n'
    """
    line = io.StringIO(newline="")
    csv.writer(line, delimiter=separator, lineterminator="\r\n").writerow(cells)
    return line.getvalue()[:-2] + "\n"


def csv_cell(cell: Any) -> str:
    """Format a value as a text cell; booleans, objects and lists become JSON, None is empty.

    Examples
    --------
    >>> csv_cell(None), csv_cell(2.0), csv_cell({"a": [1]}), csv_cell(True), csv_cell(b"Az")
    ('', '2.0', '{"a": [1]}', 'true', '417a')
    """
    if isinstance(cell, str):
        return cell
    if cell is None:
        return ""
    if isinstance(cell, bool | Mapping | list | tuple):
        return json.dumps(cell, ensure_ascii=False, default=plain_text)
    return plain_text(cell)


class _Csv:
    def __init__(self, file: IO[bytes], names: list[str], separator: str, marked: bool) -> None:
        self.file, self.names, self.separator = file, names, separator
        self.file.write(b"\xef\xbb\xbf" * marked + csv_line(names, separator).encode())
        self.file.flush()

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            cells = [csv_cell(row.get(name)) for name in self.names]
            try:
                self.file.write(csv_line(cells, self.separator).encode())
            except UnicodeEncodeError:
                got = "half of a surrogate pair, which UTF-8 cannot hold"
                raise InvalidInput(place="cells", got=got, remedy="write JSON lines") from None
        self.file.flush()

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass


# ---- Parquet -------------------------------------------------------------------------------------


EXACT = {"date", "time", "timestamp", "instant", "decimal"}  # Arrow infers lossy types for them


def _exact_kind(name: str, kept: IO[bytes]) -> Kind | None:
    """Return the kind of a column with dates, times or decimals; None for other columns."""
    kind, exact = None, False
    for rows in _again(kept):
        for row in rows:
            mine = kind_of(row.get(name))
            exact = exact or family(mine or "") in EXACT
            kind = kind if kind == "text" else united(kind, mine)
    return kind if exact else None


def _type_of(name: str, kept: IO[bytes]) -> Any:
    """Return an Arrow type for all cells of a column; strings if nothing else fits."""
    import pyarrow

    found = pyarrow.null()
    try:
        for rows in _again(kept):
            type_ = pyarrow.array([row.get(name) for row in rows]).type
            schemas = [pyarrow.schema({"a": one}) for one in (found, type_)]
            found = pyarrow.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pyarrow.ArrowException, OverflowError):
        return pyarrow.string()
    empty = found == pyarrow.null() or (pyarrow.types.is_struct(found) and not found.num_fields)
    return pyarrow.string() if empty else found


class _Parquet:
    def __init__(self, made: _Maker, names: list[str]) -> None:
        import pyarrow
        from pyarrow import parquet

        self.arrow, self.names, self.kinds = pyarrow, names, made.kinds
        self.schema = pyarrow.schema([(name, made.types[name]) for name in names])
        self.writer = parquet.ParquetWriter(made.file, self.schema)

    def write(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        arrays = []
        for field in self.schema:
            cells = [row.get(field.name) for row in rows]
            if field.name in self.kinds:
                cells = [converted(cell, self.kinds[field.name]) for cell in cells]
            if field.type == self.arrow.string():
                cells = [None if cell is None else csv_cell(cell) for cell in cells]
            try:
                arrays.append(self.arrow.array(cells, field.type))
            except (self.arrow.ArrowException, OverflowError, UnicodeEncodeError) as error:
                raise InvalidInput(
                    place=f"column {field.name!r}",
                    got=f"what a column of {field.type} cannot hold ({error})",
                    remedy="write CSV or JSON lines",
                ) from None
        self.writer.write_batch(self.arrow.record_batch(arrays, schema=self.schema))

    def close(self) -> None:
        self.writer.close()

    def abandon(self) -> None:
        self.writer.close()


# ---- Excel ---------------------------------------------------------------------------------------

_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*")
_NEVER = datetime.datetime(1980, 1, 1)
_OF_SHEETS = (str, int, float, bool, datetime.datetime, datetime.date, datetime.time)


class _Sheet:
    """An Excel sheet that stores strings as strings, never as formulas, numbers or dates."""

    def __init__(self, file: IO[bytes], names: list[str]) -> None:
        from openpyxl import Workbook

        self.file, self.names, self.count = file, names, 0
        self.book = Workbook(write_only=True)
        self.sheet = self.book.create_sheet("Sheet1")
        self.sheet.freeze_panes = "A2"
        self._append(names)

    def write(self, rows: Sequence[Row]) -> None:
        with named_errors(scratch_name()):  # where openpyxl buffers the rows
            for row in rows:
                self._append([row.get(name) for name in self.names])

    def _append(self, cells: Sequence[Any]) -> None:
        self.count += 1
        if self.count > MOST_ROWS:
            raise TooLarge(
                place="rows",
                got=f"more than {MOST_ROWS - 1:,}, which a sheet of Excel cannot hold",
                remedy="write CSV or Parquet",
            )
        self.sheet.append([self._cell(cell) for cell in cells])

    def _cell(self, value: Any) -> Any:
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError

        if value is None or (isinstance(value, float) and value != value):
            return None
        if isinstance(value, decimal.Decimal) and decimal.Decimal(str(float(value))) == value:
            value = float(value)  # decimals with more digits than a float become text
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            value = value.isoformat()
        if not isinstance(value, _OF_SHEETS):
            value = csv_cell(value)
        if isinstance(value, int) and abs(value) >= 2**53:
            value = str(value)
        if not isinstance(value, str):
            return value
        if len(value) > MOST_CHARACTERS:
            raise TooLarge(
                place=f"row {self.count}",
                got=f"a cell of {len(value):,} characters",
                expected=f"at most {MOST_CHARACTERS:,}, as Excel has them",
                remedy="write CSV or Parquet",
            )
        try:
            cell = WriteOnlyCell(self.sheet, value)
        except IllegalCharacterError:
            expected, remedy = (
                "no control characters, which Excel refuses",
                "write CSV or JSON lines",
            )
            raise InvalidInput(message(f"row {self.count}", value, expected, remedy)) from None
        cell.data_type = "s"
        if len(value) < 256:
            cell.number_format = "@"
        return cell

    def abandon(self) -> None:
        self.sheet.close()

    def close(self) -> None:
        with scratch() as made:  # seekable, unlike a pipe
            self.book.properties.created = self.book.properties.modified = _NEVER
            with named_errors(scratch_name()):
                self.book.save(made)
            with zipfile.ZipFile(made) as old, scratch() as fixed:
                with zipfile.ZipFile(fixed, "w", zipfile.ZIP_DEFLATED) as new:
                    for part in old.infolist():  # for reproducible bytes
                        entry = zipfile.ZipInfo(part.filename, _NEVER.timetuple()[:6])
                        entry.compress_type = zipfile.ZIP_DEFLATED
                        with old.open(part) as read, new.open(entry, "w") as written:
                            if part.filename == "docProps/core.xml":  # contains the current time
                                written.write(
                                    _MODIFIED.sub(rb"\g<1>2000-01-01T00:00:00Z", read.read())
                                )
                            else:
                                shutil.copyfileobj(read, written)
                fixed.seek(0)
                shutil.copyfileobj(fixed, self.file)
