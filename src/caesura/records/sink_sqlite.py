"""SQLite sink, based on the standard library."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence

from caesura.errors import InvalidInput
from caesura.records import sql
from caesura.records.refusals import refusal
from caesura.records.sinks import (
    LOADS,
    MARK_COLUMNS,
    Fields,
    Mark,
    Rows,
    Table,
    adapted,
    fitted,
    load_id,
)

__all__ = ["SQLiteSink"]

CHUNK = 500  # keys that are looked up at a time
TYPES = {
    **dict.fromkeys(("text", "decimal", "date", "time", "timestamp", "instant"), "TEXT"),
    "integer": "INTEGER",
    "number": "REAL",
    "boolean": "INTEGER",
}


class SQLiteSink:
    """A table in a SQLite file.

    Parameters
    ----------
    path : str
        The file.
    wait : float
        Seconds to wait while another process writes.
    """

    def __init__(self, path: str, wait: float) -> None:
        self.path, self._wait = path, wait
        self._connection: sqlite3.Connection | None = None
        self._table = self._wanted = Table("", ())

    def __str__(self) -> str:
        return self.path

    @property
    def _open(self) -> sqlite3.Connection:
        assert self._connection is not None, "begin comes first"
        return self._connection

    def begin(self, table: Table) -> None:
        """Open the file, and create the tables where they are missing."""
        self._wanted = table
        if os.path.isdir(self.path):
            raise InvalidInput(
                f"{self.path} is a folder", place="into", remedy="give the name of a file"
            )
        with self._naming():
            self._connection = sqlite3.connect(
                self.path, timeout=self._wait, isolation_level=None, check_same_thread=False
            )
        with self._transaction():
            for one in (Table(LOADS, MARK_COLUMNS), table):
                key = f"PRIMARY KEY ({sql.quoted(one.columns[0].name)})"
                self._open.execute(sql.create(one, TYPES, key))
                there = self._open.execute(
                    "SELECT name, type FROM pragma_table_info(?)", [one.name]
                )
                self._table = fitted(self, one, dict(there.fetchall()), loose=True)

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Name the file in errors of SQLite."""
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            raise refusal("into", self.path, error) from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run a block in a transaction."""
        with self._naming():
            try:
                self._open.execute("BEGIN IMMEDIATE")
                yield
                self._open.execute("COMMIT")
            except BaseException:
                if self._open.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        self._open.execute("ROLLBACK")
                raise

    def mark(self, source: str) -> Mark | None:
        """Return the watermark of an input."""
        with self._naming():
            row = self._open.execute(
                sql.select_mark(), [load_id(self._table.name, source)]
            ).fetchone()
        return sql.read_mark(row)

    def _set_mark(self, mark: Mark) -> None:
        delete, insert = sql.replace_mark()
        self._open.execute(delete, [load_id(self._table.name, mark.source)])
        self._open.execute(insert, sql.mark_values(self._table.name, mark))

    def clear(self, mark: Mark) -> None:
        """Delete the rows of an input."""
        with self._transaction():
            self._open.execute(sql.delete_source(self._table.name), [mark.source])
            self._set_mark(mark)

    def flag(self, fields: Fields, mark: Mark) -> int:
        """Flag the rows of an input for review."""
        with self._transaction():
            before = self._open.total_changes
            values = sql.flag_values(fields, mark)
            self._open.execute(sql.flag(self._table.name, fields), values)
            changed = self._open.total_changes - before
            self._set_mark(mark)
        return changed

    def known(self, keys: Sequence[str]) -> set[str]:
        """Return which of these keys are in the table."""
        found = set[str]()
        for at in range(0, len(keys), CHUNK):
            some = list(keys[at : at + CHUNK])
            with self._naming():
                rows = self._open.execute(sql.select_keys(self._table, len(some)), some)
                found.update(row[0] for row in rows.fetchall())
        return found

    def write(self, rows: Rows, mark: Mark) -> int:
        """Store rows and the watermark."""
        columns = self._table.columns
        rows = adapted(rows, self._wanted, self._table)
        values = zip(*(rows[column.name] for column in columns), strict=True)
        with self._transaction():
            before = self._open.total_changes
            self._open.executemany(sql.insert(self._table.name, columns, columns[0].name), values)
            new = self._open.total_changes - before
            self._set_mark(mark)
        return new

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
