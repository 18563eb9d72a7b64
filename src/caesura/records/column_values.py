"""Existing values of a column in a database or a table file.

Of a table that `load` wrote, rows that are marked for review are left out, as their fields may be
wrong, and several values in a cell are separate values.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from caesura.corpora.files import unpacked_suffix
from caesura.errors import CaesuraError, InvalidInput
from caesura.extraction import BETWEEN
from caesura.records.inputs import Reading, input_of
from caesura.records.refusals import known_reason, refusal
from caesura.records.sink_parquet import files_of
from caesura.records.sinks import sink_for
from caesura.records.sql import quoted

__all__ = ["column_values", "is_table", "stored_values"]

LOADED = {"row_id", "review"}  # columns that identify a table written by `load`
FILES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".xlsx")  # formats with a single table


def stored_values(place: str | os.PathLike[str], table: str, column: str) -> list[str]:
    r"""Return the distinct non-empty values of a column, sorted.

    Of a table that `load` wrote, only rows that are not marked for review count, and several values
    in a cell are separate values.

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
        return read(name, table, column)
    except CaesuraError:
        raise
    except Exception as error:  # each database has its own exceptions
        said = " ".join(str(getattr(error, "orig", None) or error).split())[:300]
        shown = str(sink_for(name)) if "://" in name else name
        what = f"a table {table!r} with a column {column!r}"
        if known_reason(error):
            raise refusal("place", shown, error) from error
        raise InvalidInput(
            place=shown, expected=what, remedy=f"check the names ({said})"
        ) from error


def column_values(connection: Any, table: str, column: str) -> list[str]:
    """Return what `stored_values` does, for a connection that has ``execute``.

    A column that is missing raises a LookupError; errors of the database are not translated.
    """
    nothing = connection.execute(f"SELECT * FROM {quoted(table)} WHERE 1 = 0").description
    columns = [one[0] for one in nothing or ()]
    # In double quotes, SQLite takes the name of a missing column for a string.
    if column.lower() not in map(str.lower, columns):
        raise LookupError(f"the columns of {table!r} are {', '.join(columns)}")
    sure = " WHERE NOT review" if set(columns) >= LOADED else ""
    query = f"SELECT DISTINCT {quoted(column)} FROM {quoted(table)}{sure}"
    return _distinct((row[0] for row in connection.execute(query).fetchall()), column, columns)


def _distinct(found: Iterable[Any], column: str, columns: Iterable[str]) -> list[str]:
    """Return values as texts, without repetition; those that `load` has joined one by one.

    Examples
    --------
    >>> _distinct(["York | Bath", "Bath"], "town", ["row_id", "town", "town_probability", "review"])
    ['Bath', 'York']
    >>> _distinct(["York | Bath", None, 7], "town", ["town"])
    ['7', 'York | Bath']
    """
    label = column.lower().removesuffix("_text")
    there = {one.lower() for one in columns}
    joined = there >= LOADED and f"{label}_probability" in there
    texts = (str(value) for value in found if value is not None)
    parts = (text.split(BETWEEN) if joined else [text] for text in texts)
    return sorted(set(chain.from_iterable(parts)) - {""})


def is_table(name: str) -> bool:
    """Return whether a name is that of a table file.

    Examples
    --------
    >>> is_table("towns.csv.gz"), is_table("towns.duckdb")
    (True, False)
    """
    suffix = unpacked_suffix(name)
    return suffix in FILES or (suffix in (".parquet", ".pq") and os.path.isfile(name))


def _reader(name: str) -> Callable[[str, str, str], list[str]]:
    """Return a reader for a column, or raise if the target does not exist."""
    if "://" in name:
        return _by_url
    if not os.path.exists(name):
        raise InvalidInput(
            "no such file",
            place=name,
            remedy="pass a DuckDB or SQLite file, a database URL, or a CSV, TSV, JSON lines, "
            "Parquet or Excel file",
        )
    if is_table(name):
        return _of_file
    if os.path.isdir(name):
        return _of_folder
    sink = type(sink_for(name)).__name__  # raises if the name is not a target
    return _by_duckdb if sink == "DuckDBSink" else _by_sqlite


def _of_file(name: str, table: str, column: str) -> list[str]:
    """Return the values of a column in a table file."""
    try:
        given = input_of(name, Reading(text=column, carry=[]))
    except InvalidInput as error:
        raise error.changed(file=name, argument=None) if error.argument else error from None
    return _distinct((entry.text for entry in given), column, ())


def _of_folder(name: str, table: str, column: str) -> list[str]:
    """Return the values of a column in the files of a folder that `load` wrote."""
    from pyarrow import dataset

    files = files_of(Path(name), table)
    if not files:
        raise InvalidInput(
            f"the folder has no files of a table {table!r}",
            place=name,
            remedy="check the name of the table",
        )
    there = dataset.dataset(list(map(str, files)))
    found = there.to_table([column], filter=~dataset.field("review"))[column]
    return _distinct(found.to_pylist(), column, there.schema.names)


def _by_duckdb(name: str, table: str, column: str) -> list[str]:
    import duckdb

    with duckdb.connect(name, read_only=True) as connection:
        return column_values(connection, table, column)


def _by_sqlite(name: str, table: str, column: str) -> list[str]:
    uri = f"{Path(name).resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        return column_values(connection, table, column)


def _by_url(url: str, table: str, column: str) -> list[str]:
    """Return the values of a column of an SQLAlchemy database."""
    scheme, _, rest = url.partition("://")
    if scheme in ("duckdb", "sqlite"):
        return (_by_duckdb if scheme == "duckdb" else _by_sqlite)(rest[1:], table, column)
    sink: Any = sink_for(url)
    found, columns = sink.values(table, column, LOADED)
    return _distinct(found, column, columns)
