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
from typing import Any, Literal, NamedTuple, Protocol

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
    "check",
    "load_id",
]
__all__ += ["sink_for"]

Kind = Literal["text", "integer", "number", "boolean"]
Rows = Mapping[str, Sequence[Any]]  # the values of each column, all of the same length
Fields = Sequence[tuple[str, str]]  # of each label: the columns of its start and its probability
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

    source: str  # the input
    records: int = 0  # of the input that are stored
    digest: str = ""  # of the identities of these records, in order
    rows: int = 0  # that they became
    finished: bool = False  # whether the input ended there
    mixed: bool = False  # whether rows of an earlier state of the input may be there
    stale: int = 0  # these, as far as the records that are done do not have them
    model_name: str = ""
    model_version: str = ""
    threshold: float = 0.9  # below which rows are marked for review


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

    Whoever writes another one provides these methods; errors are `InvalidInput`.
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
        raise InvalidInput(f"into: {name} is in a folder that does not exist; create it first")
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


def check(sink: object, table: str, columns: Mapping[str, str], wanted: Table) -> None:
    """Raise if an existing table lacks columns or has other types.

    Parameters
    ----------
    sink : object
        Whose `str` names the target in errors.
    table : str
        The name of the table.
    columns : mapping of str to str
        The columns that are there, with their types as the database calls them.
    wanted : Table
        What is to be written.
    """
    there = {name.lower(): kind for name, kind in columns.items()}
    missing = [column.name for column in wanted.columns if column.name.lower() not in there]
    if missing:
        listed = ", ".join(missing[:6]) + (", ..." if len(missing) > 6 else "")
        raise InvalidInput(
            f"table: got {table!r}, which exists in {sink} without the columns {listed}; "
            "load into another table, or add the columns to it"
        )
    for column in wanted.columns:
        found = there[column.name.lower()]
        if (column.kind == "text") != _is_text(found):
            raise InvalidInput(
                f"table: got {table!r}, which exists in {sink} with a column {column.name} of type "
                f"{found}, expected one of {'text' if column.kind == 'text' else 'numbers'}; "
                "load into another table"
            )


def _is_text(kind: str) -> bool:
    return re.search("char|text|clob|string", kind.lower()) is not None
