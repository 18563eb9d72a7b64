"""DuckDB sink, which inserts Arrow tables."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from caesura.corpora.kinds import DIGITS, arrow_type
from caesura.errors import InvalidInput, MissingPackage
from caesura.records import sql
from caesura.records.refusals import explained, refusal
from caesura.records.sinks import (
    LOADS,
    MARK_COLUMNS,
    Column,
    Fields,
    Mark,
    Rows,
    Table,
    adapted,
    fitted,
    load_id,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow

__all__ = ["DuckDBSink", "arrow_table", "duckdb_module", "pyarrow_module"]

CHUNK = 500  # keys that are looked up at a time
TYPES = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "decimal": f"DECIMAL({DIGITS},{{}})",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "instant": "TIMESTAMPTZ",
}
MEMORY = "512MB"  # limit for DuckDB, mostly for its cache; otherwise it uses nearly all memory
PAUSE = 0.1  # seconds between attempts to open a locked file
_LOCKED = re.compile(r"Could not set lock|Conflicting lock", re.IGNORECASE)
_VIEW = "caesura_batch"


def duckdb_module(user: str) -> Any:
    """Return the duckdb module, or raise with installation instructions."""
    try:
        import duckdb
    except ImportError:
        raise MissingPackage("duckdb", "records", user) from None
    return duckdb


def pyarrow_module(user: str) -> Any:
    """Return the pyarrow module, or raise with installation instructions."""
    try:
        import pyarrow
    except ImportError:
        raise MissingPackage("pyarrow", "records", user) from None
    return pyarrow


def arrow_table(columns: tuple[Column, ...], rows: Rows) -> pyarrow.Table:
    """Return rows as an Arrow table.

    Examples
    --------
    >>> arrow_table((Column("year", "integer"),), {"year": [1970, None]}).num_rows
    2
    """
    pa = pyarrow_module("an Arrow table")
    arrays = [pa.array(rows[column.name], arrow_type(column.kind)) for column in columns]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


class DuckDBSink:
    """A table in a DuckDB file.

    DuckDB lets one process at a time write to a file: another waits, and is refused in the end.

    Parameters
    ----------
    path : str
        The file.
    wait : float
        Seconds to wait for a file that another process has open.
    """

    def __init__(self, path: str, wait: float) -> None:
        self._duckdb = duckdb_module("a .duckdb file")
        pyarrow_module("a .duckdb file")
        self.path, self._wait = path, wait
        self._connection: Any = None
        self._table = self._wanted = Table("", ())

    def __str__(self) -> str:
        return self.path

    @property
    def _open(self) -> duckdb.DuckDBPyConnection:
        assert self._connection is not None, "begin comes first"
        return self._connection  # type: ignore[no-any-return]

    def begin(self, table: Table) -> None:
        """Open the file, and create the tables where they are missing."""
        self._wanted = table
        self._connection = self._connected()
        with self._transaction():
            for one in (Table(LOADS, MARK_COLUMNS), table):
                self._open.execute(sql.create(one, TYPES))
                found = self._open.execute(
                    "SELECT column_name, data_type FROM information_schema.columns "
                    "WHERE table_catalog = current_database() AND table_schema = current_schema() "
                    "AND lower(table_name) = lower(?)",
                    [one.name],
                ).fetchall()
                self._table = fitted(self, one, dict(found))

    def _connected(self) -> Any:
        """Open the file; wait while another process has it open."""
        if os.path.isdir(self.path):
            raise InvalidInput(
                f"{self.path} is a folder", place="into", remedy="give the name of a file"
            )
        deadline = time.monotonic() + self._wait
        while True:
            try:
                return self._duckdb.connect(self.path, config={"memory_limit": MEMORY})
            except self._duckdb.Error as error:
                if "different configuration" in str(error):  # this process already has it open
                    with self._naming():
                        return self._duckdb.connect(self.path)
                if not _LOCKED.search(str(error)):
                    raise refusal("into", self.path, error) from error
                if time.monotonic() >= deadline:
                    pid = re.search(r"PID (\d+)", str(error))
                    who = f" (process {pid[1]})" if pid else ""
                    raise InvalidInput(
                        f"{self.path} is open in another process{who}, and DuckDB lets only one "
                        "write at a time",
                        place="into",
                        remedy="wait until it has ended, or load into another file",
                    ) from error
            time.sleep(PAUSE)

    def _naming(self) -> contextlib.AbstractContextManager[None]:
        """Name the file in errors of DuckDB."""
        return explained("into", self.path)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run a block in a transaction."""
        with self._naming():
            try:
                self._open.execute("BEGIN")
                yield
                self._open.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(self._duckdb.Error):
                    self._open.execute("ROLLBACK")
                raise

    def mark(self, source: str) -> Mark | None:
        """Return the watermark of an input."""
        key = load_id(self._table.name, source)
        with self._naming():
            return sql.read_mark(self._open.execute(sql.select_mark(), [key]).fetchone())

    def _set_mark(self, mark: Mark) -> None:
        delete, insert = sql.replace_mark()
        self._open.execute(delete, [load_id(self._table.name, mark.source)])
        self._open.execute(insert, list(sql.mark_values(self._table.name, mark)))

    def clear(self, mark: Mark) -> None:
        """Delete the rows of an input."""
        with self._transaction():
            self._open.execute(sql.delete_source(self._table.name), [mark.source])
            self._set_mark(mark)

    def flag(self, fields: Fields, mark: Mark) -> int:
        """Flag the rows of an input for review."""
        with self._transaction():
            values = sql.flag_values(fields, mark)
            found = self._open.execute(sql.flag(self._table.name, fields), values).fetchone()
            self._set_mark(mark)
        return 0 if found is None else int(found[0])

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
        made = arrow_table(self._table.columns, adapted(rows, self._wanted, self._table))
        with self._transaction():
            new = 0
            if made.num_rows:
                self._open.register(_VIEW, made)
                try:
                    found = self._open.execute(sql.copy_new(self._table, _VIEW)).fetchone()
                finally:
                    self._open.unregister(_VIEW)
                new = 0 if found is None else int(found[0])
            self._set_mark(mark)
        return new

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with self._naming():
                self._connection.close()
            self._connection = None
