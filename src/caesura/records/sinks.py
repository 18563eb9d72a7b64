"""The sink protocol of databases and table files.

::

    load -> Sink.begin -> (write, write, ...) -> close
                            rows and watermark in one transaction

A sink is killed at any moment without harm: what `write` has returned from is stored, with its
watermark, and what it has not returned from is stored whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from caesura.corpora.kinds import DIGITS, EMPTY, Kind, as_text, converted, family, scale_of
from caesura.errors import InvalidInput, message

__all__ = [
    "LOADS",
    "MARK_COLUMNS",
    "Column",
    "Fields",
    "Mark",
    "Rows",
    "Sink",
    "Table",
    "adapted",
    "adopted",
    "fitted",
    "load_id",
]
__all__ += ["sink_for"]

Rows = Mapping[str, Sequence[Any]]  # column -> values; all columns have the same length
Fields = Sequence[tuple[str, str]]  # of each label: the columns of its start and of its probability
LOADS = "caesura_loads"  # the table of watermarks


class Column(NamedTuple):
    """A column of a table.

    Examples
    --------
    >>> Column("title", "text").kind
    'text'
    """

    name: str
    kind: Kind


class Table(NamedTuple):
    """A table to write.

    Examples
    --------
    >>> Table("papers", (Column("row_id", "text"), Column("title", "text"))).columns[0].name
    'row_id'
    """

    name: str
    columns: tuple[Column, ...]  # the first is the key


class Mark(NamedTuple):
    """The watermark of a load: how much of an input is stored, and by which model.

    Examples
    --------
    >>> Mark("refs.txt", records=10)._replace(finished=True).finished
    True
    """

    source: str  # name of the input
    records: int = 0  # number of its records that are stored
    digest: str = ""  # hash of the ids of these records, in order
    rows: int = 0  # number of their rows
    finished: bool = False  # whether the whole input is stored
    mixed: bool = False  # whether there may be rows of an earlier state of the input
    stale: int = 0  # number of these rows, without those found again so far
    model_name: str = ""
    model_version: str = ""
    threshold: float = 0.9  # rows with lower probabilities are flagged for review


def load_id(table: str, source: str) -> str:
    """Return the key of a watermark: a hash of table and input."""
    key = json.dumps([table, source])
    return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


MARK_COLUMNS: tuple[Column, ...] = (
    Column("load_id", "text"),
    Column("table_name", "text"),
    Column("source", "text"),
    Column("records", "integer"),
    Column("digest", "text"),
    Column("rows", "integer"),
    Column("finished", "boolean"),
    Column("mixed", "boolean"),
    Column("stale", "integer"),
    Column("model_name", "text"),
    Column("model_version", "text"),
    Column("threshold", "number"),
)


class Sink(Protocol):
    """The interface of load targets.

    Classes for further databases implement these methods; errors are `InvalidInput`.
    """

    def begin(self, table: Table) -> None:
        """Open the target and create missing tables, or raise if an existing one does not fit."""

    def mark(self, source: str) -> Mark | None:
        """Return the watermark of an input; None if nothing is stored."""

    def clear(self, mark: Mark) -> None:
        """Delete the rows of an input, and set its watermark to `mark`."""

    def flag(self, fields: Fields, mark: Mark) -> int:
        """Flag the rows of an input for review by ``mark.threshold``, and store the watermark.

        Returns
        -------
        int
            The number of rows whose mark has changed.
        """

    def known(self, keys: Sequence[str]) -> set[str]:
        """Return which of these keys are in the table."""

    def write(self, rows: Rows, mark: Mark) -> int:
        """Store new rows and the watermark in one transaction.

        Returns
        -------
        int
            The number of rows that were not there.
        """

    def close(self) -> None:
        """Close the target and discard what is not stored."""


def sink_for(into: str | os.PathLike[str], wait: float = 10.0) -> Sink:
    """Return the sink for a target name.

    Parameters
    ----------
    into : str or path
        A file (``.duckdb``, ``.db``, ``.sqlite``), a folder of Parquet files (``.parquet``), or the
        URL of a database that SQLAlchemy knows.
    wait : float
        Seconds to wait for a database that another process has locked.

    Examples
    --------
    >>> type(sink_for("references.duckdb")).__name__, type(sink_for("references.db")).__name__
    ('DuckDBSink', 'SQLiteSink')
    """
    name = os.fspath(into)
    if "://" in name:
        return _by_url(name, wait)
    suffix = Path(name).suffix.lower()
    if not os.path.isdir(os.path.dirname(os.path.abspath(name))):
        raise InvalidInput(
            f"{name} is in a folder that does not exist", place="into", remedy="create it first"
        )
    if suffix in (".duckdb", ".ddb"):
        from caesura.records.sink_duckdb import DuckDBSink

        return DuckDBSink(name, wait)
    if suffix in (".db", ".sqlite", ".sqlite3"):
        from caesura.records.sink_sqlite import SQLiteSink

        return SQLiteSink(name, wait)
    if suffix in (".parquet", ".pq"):
        from caesura.records.sink_parquet import ParquetSink

        return ParquetSink(name, wait)
    expected = "a name that ends in .duckdb, .db, .sqlite or .parquet, or the URL of a database"
    raise InvalidInput(message("into", name, expected, "rename it, for example references.duckdb"))


def _by_url(url: str, wait: float) -> Sink:
    """Return the sink for a URL; DuckDB and SQLite have their own."""
    scheme, _, rest = url.partition("://")
    if scheme in ("duckdb", "sqlite"):
        path = rest.removeprefix("/")
        if not path:
            expected = f"a file in the URL, as {scheme}:///references.db"
            raise InvalidInput(message("into", url, expected, "name one"))
        if scheme == "duckdb":
            from caesura.records.sink_duckdb import DuckDBSink

            return DuckDBSink(path, wait)
        from caesura.records.sink_sqlite import SQLiteSink

        return SQLiteSink(path, wait)
    from caesura.records.sink_sqlalchemy import SQLAlchemySink

    return SQLAlchemySink(url)


# ---- existing tables -----------------------------------------------------------------------------

TYPES = (  # kinds by the names of database types; the first match counts
    ("text", "char|text|clob|string"),
    ("boolean", "bool"),
    ("instant", "timestamptz|datetimeoffset|timestamp.* with time zone"),
    ("timestamp", "timestamp|datetime"),
    ("date", "date"),
    ("interval", "interval"),
    ("time", "time"),
    ("decimal", "decimal|numeric|hugeint"),
    ("number", "double|real|float"),
    ("integer", "int"),
)
HOLDS = {  # the kinds that a column stores without loss, besides its own
    "text": ("decimal", "date", "time", "timestamp", "instant"),  # as earlier versions stored them
    "boolean": ("integer", "number"),
    "integer": ("boolean",),
    "number": ("integer",),
    "decimal": ("integer",),
    "timestamp": ("date",),
}

_SINGLE = re.compile(r"real|float(?!8|64|\((?:2[5-9]|[3-9]\d|1\d\d)\))")  # floats of 4 bytes


def fitted(sink: object, table: Table, columns: Mapping[str, str], loose: bool = False) -> Table:
    """Return a table with the types that an existing one has, or raise if it does not fit.

    Dates, times and decimals are stored as text where their column is one of text. A column without
    values takes any type.

    Parameters
    ----------
    sink : object
        Whose `str` names the target in errors.
    table : Table
        What is to be written.
    columns : mapping of str to str
        The columns that are there, with their types as the database calls them.
    loose : bool
        Whether columns of whole numbers and of decimals take all numbers, too, as in SQLite.
    """
    there = {name.lower(): kind for name, kind in columns.items()}
    missing = [column.name for column in table.columns if column.name.lower() not in there]
    if missing:
        listed = ", ".join(missing[:6]) + (", ..." if len(missing) > 6 else "")
        raise InvalidInput(
            place="table",
            got=f"{table.name!r}, which exists in {sink} without the columns {listed}",
            remedy="load into another table, or add the columns to it",
        )
    fit = []
    for column in table.columns:
        found = there[column.name.lower()]
        kind = _stored(column.kind, found, loose)
        if kind is None:
            wanted = "numbers" if family(column.kind) in ("integer", "number") else column.kind
            raise InvalidInput(
                place="table",
                got=f"{table.name!r}, which exists in {sink} with a column {column.name} of type "
                f"{found}",
                expected=f"one of {wanted}",
                remedy="load into another table",
            )
        fit.append(column._replace(kind=kind))
    return table._replace(columns=tuple(fit))


def _stored(kind: Kind, found: str, loose: bool) -> Kind | None:
    """Return the kind that a column of a database stores; None if values would be lost."""
    found = found.lower()
    type_ = next((one for one, names in TYPES if re.search(names, found)), None)
    own, scale = family(kind), _scale(found)
    if kind == EMPTY:
        return _kind(type_, scale or 0)
    if type_ is None:  # specific to the database, which must decide
        return None if own == "text" else kind
    if own == "number" and (type_ == "decimal" or (loose and type_ == "integer")):
        return kind if loose or scale is None else None
    if own == "integer" and type_ == "number" and not loose and _SINGLE.search(found):
        return None
    return _held(kind, type_, scale)


def _held(kind: Kind, type_: str, scale: int | None = None) -> Kind | None:
    """Return the kind that a column stores, by the family of its type; see `_stored`."""
    own = family(kind)
    if own == type_ == "decimal" and scale is not None and scale < scale_of(kind):
        return None
    if own == type_ or own in HOLDS.get(type_, ()):
        return "text" if type_ == "text" else kind
    return None


def _scale(found: str) -> int | None:
    """Return how many digits after the point a type of decimals has; None if it has no limit.

    Examples
    --------
    >>> _scale("decimal(38,2)"), _scale("hugeint"), _scale("numeric")
    (2, 0, None)
    """
    if "hugeint" in found:
        return 0
    sizes = re.search(r"(?:decimal|numeric)\(\d+(?:, *(\d+))?\)", found)
    return None if sizes is None else int(sizes[1] or 0)


def _kind(type_: str | None, scale: int) -> Kind:
    """Return the kind of the values of a column; text if there is none."""
    if type_ == "decimal":
        return f"decimal({DIGITS},{scale})"
    return "text" if type_ in (None, "interval") else str(type_)


def adopted(kind: Kind, there: Kind) -> Kind:
    """Return the kind to which values must be converted for a file; their own if it cannot be.

    Examples
    --------
    >>> adopted("integer", "decimal(38,2)"), adopted("decimal(38,3)", "decimal(38,2)")
    ('decimal(38,2)', 'decimal(38,3)')
    """
    type_ = family(there)
    if kind == EMPTY:
        return there
    if type_ in ("boolean", "integer"):  # only databases store other kinds in these
        return kind
    return kind if _held(kind, type_, scale_of(there)) is None else there


def adapted(rows: Rows, wanted: Table, table: Table) -> Rows:
    """Return rows with the values that an existing table stores; see `fitted` and `adopted`."""
    pairs = zip(wanted.columns, table.columns, strict=True)
    kinds = {one.name: other.kind for one, other in pairs if one.kind != other.kind}
    return {
        **rows,
        **{
            name: [_adapted(value, kind, name) for value in rows[name]]
            for name, kind in kinds.items()
        },
    }


def _adapted(value: Any, kind: Kind, name: str) -> Any:
    """Return a value as a column stores it, or raise if it would be another one."""
    if kind == "text":
        return as_text(value)
    try:
        made = converted(value, kind)
    except ValueError:
        made = None
    if value is None or (made is not None and (kind != "number" or made == value)):
        return made
    expected = f"a value that its column in the table holds ({kind})"
    raise InvalidInput(message(name, value, expected, "load into another table"))
