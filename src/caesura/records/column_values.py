"""Existing values of a column in a database or a table file.

Of a table that `load` wrote, rows that are marked for review are left out, as their fields may be
wrong.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from caesura.corpora.files import unpacked_suffix
from caesura.errors import CaesuraError, InvalidInput
from caesura.records.inputs import Reading, input_of
from caesura.records.refusals import known_reason, refusal
from caesura.records.sinks import sink_for
from caesura.records.sql import quoted

__all__ = ["is_table", "stored_values"]

LOADED = {"row_id", "review"}  # columns that identify a table written by `load`
FILES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".xlsx")  # formats with a single table


def stored_values(place: str | os.PathLike[str], table: str, column: str) -> list[str]:
    r"""Return the distinct non-empty values of a column, sorted.

    Of a table that `load` wrote, only rows that are not marked for review count.

    Parameters
    ----------
    place : str or path
        A target of `load`: a file of DuckDB or SQLite, a folder of Parquet files, the URL of a
        database; or the file of a table (``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.xlsx``).
    table : str
        The table; a file of a table has only one, and it does not count.
    column : str
        The column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "towns.csv")
    ...     _ = file.write_text("town,county\nYork,Yorkshire\nLeeds,Yorkshire\nYork,\n")
    ...     stored_values(file, "", "town")
    ['Leeds', 'York']
    """
    name = os.fspath(place)
    read = _reader(name)
    try:
        found = read(name, table, column)
        return sorted({str(value) for value in found if value is not None and value != ""})
    except CaesuraError:
        raise
    except Exception as error:  # each database has its own exceptions
        said = " ".join(str(getattr(error, "orig", None) or error).split())[:300]
        shown = str(sink_for(name)) if "://" in name else name
        what = f"a table {table!r} with a column {column!r}"
        if known_reason(error):
            raise refusal("place", shown, error) from error
        raise InvalidInput(f"{shown}: expected {what}; check the names ({said})") from error


def is_table(name: str) -> bool:
    """Return whether a name is that of a table file.

    Examples
    --------
    >>> is_table("towns.csv.gz"), is_table("towns.duckdb")
    (True, False)
    """
    suffix = unpacked_suffix(name)
    return suffix in FILES or (suffix in (".parquet", ".pq") and os.path.isfile(name))


def _reader(name: str) -> Callable[[str, str, str], Iterable[Any]]:
    """Return a reader for a column, or raise if the target does not exist."""
    if "://" in name:
        return _by_url
    if not os.path.exists(name):
        raise InvalidInput(
            f"{name}: no such file; pass a DuckDB or SQLite file, a database URL, or a CSV, TSV, "
            "JSON lines, Parquet or Excel file"
        )
    if is_table(name):
        return _of_file
    if os.path.isdir(name):
        return _of_folder
    sink = type(sink_for(name)).__name__  # raises if the name is not a target
    return _by_duckdb if sink == "DuckDBSink" else _by_sqlite


def _of_file(name: str, table: str, column: str) -> Iterable[Any]:
    """Yield the values of a column in a table file."""
    try:
        given = input_of(name, Reading(text=column, carry=[]))
    except InvalidInput as error:
        raise error.changed(argument=name) if error.argument else error from None
    return (entry.text for entry in given)


def _of_folder(name: str, table: str, column: str) -> Iterable[Any]:
    """Yield the values of a column in the files of a folder that `load` wrote."""
    from pyarrow import dataset

    files = sorted(map(str, Path(name).glob(f"{table}-*.parquet")))
    if not files:
        raise InvalidInput(
            f"{name}: the folder has no files {table}-*.parquet; check the name of the table"
        )
    sure = ~dataset.field("review")
    found: list[Any] = dataset.dataset(files).to_table([column], filter=sure)[column].to_pylist()
    return found


def _query(table: str, column: str, columns: Iterable[str]) -> str:
    sure = " WHERE NOT review" if set(columns) >= LOADED else ""
    return f"SELECT DISTINCT {quoted(column)} FROM {quoted(table)}{sure}"


def _by_duckdb(name: str, table: str, column: str) -> Iterable[Any]:
    import duckdb

    with duckdb.connect(name, read_only=True) as connection:
        columns = connection.execute(f"SELECT * FROM {quoted(table)} LIMIT 0").description
        query = _query(table, column, [one[0] for one in columns or ()])
        return [row[0] for row in connection.execute(query).fetchall()]


def _by_sqlite(name: str, table: str, column: str) -> Iterable[Any]:
    connection = sqlite3.connect(f"{Path(name).resolve().as_uri()}?mode=ro", uri=True)
    try:
        # In double quotes, SQLite takes the name of a missing column for a string.
        found = connection.execute("SELECT name FROM pragma_table_info(?)", [table]).fetchall()
        columns = [one for (one,) in found]
        if column.lower() not in map(str.lower, columns):
            raise InvalidInput(
                f"{name}: the table {table!r} does not exist or has no column {column!r}; check "
                "both names"
            )
        return [row[0] for row in connection.execute(_query(table, column, columns))]
    finally:
        connection.close()


def _by_url(url: str, table: str, column: str) -> Iterable[Any]:
    """Return the values of a column of an SQLAlchemy database."""
    scheme, _, rest = url.partition("://")
    if scheme in ("duckdb", "sqlite"):
        return (_by_duckdb if scheme == "duckdb" else _by_sqlite)(rest[1:], table, column)
    sink: Any = sink_for(url)
    return sink.values(table, column, LOADED)  # type: ignore[no-any-return]
