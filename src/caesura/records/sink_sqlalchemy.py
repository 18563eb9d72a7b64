"""SQLAlchemy sink: PostgreSQL, MySQL, SQL Server and others."""

from __future__ import annotations

import contextlib
import functools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from caesura.corpora.kinds import DIGITS, Kind, family, scale_of
from caesura.errors import InvalidInput, MissingPackage
from caesura.records.refusals import refusal
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
from caesura.records.sql import quoted

if TYPE_CHECKING:
    import sqlalchemy

__all__ = ["SQLAlchemySink"]

KEY_LENGTH = 32  # characters in a key: some databases index only strings of limited length
ATTEMPTS = 8  # maximum number of attempts at a transaction that meets a conflict
CHUNK = 500  # keys that are looked up at a time
PAUSE = 0.05  # seconds before the second attempt; doubled after each
# Names and messages of errors that a retry resolves: a concurrent key or table, or a deadlock.
_CONFLICT = re.compile(
    "Integrity|Unique|Duplicate|Deadlock|Serialization|already exists|restarting transaction"
)
T = TypeVar("T")


def _sqlalchemy() -> Any:
    try:
        import sqlalchemy
    except ImportError:
        raise MissingPackage("sqlalchemy", "sql", "the URL of a database") from None
    return sqlalchemy


class SQLAlchemySink:
    """A table in a database.

    Several processes may load into one table. The key of the table keeps every row single, also
    where two of them load the same input.

    Parameters
    ----------
    url : str
        As SQLAlchemy takes it: ``postgresql://user@host/database``.
    """

    def __init__(self, url: str) -> None:
        self._sa = _sqlalchemy()
        try:
            self._url: sqlalchemy.URL = self._sa.engine.make_url(url)
        except (self._sa.exc.ArgumentError, ValueError):
            raise InvalidInput(
                place="into",
                got=f"{url.partition('://')[0]}://..., which is not the URL of a database",
                remedy="write it as postgresql://user:password@host:port/database",
            ) from None
        if self._url.drivername == "postgresql" and find_spec("psycopg") is not None:
            self._url = self._url.set(drivername="postgresql+psycopg")
        self._engine: Any = None
        self._rows: Any = None
        self._marks: Any = None
        self._table = self._wanted = Table("", ())

    def __str__(self) -> str:
        return self._url.render_as_string(hide_password=True)

    def begin(self, table: Table) -> None:
        """Connect, and create the tables where they are missing."""
        self._table = self._wanted = table
        self._engine = self._connected()
        metadata = self._sa.MetaData()
        self._rows = self._described(table, metadata)
        self._marks = self._described(Table(LOADS, MARK_COLUMNS), metadata)

        def created() -> None:
            with self._engine.begin() as connection:
                metadata.create_all(connection)

        def there(name: str) -> dict[str, str]:
            columns = self._sa.inspect(self._engine).get_columns(name)
            return {one["name"]: _type_name(one["type"]) for one in columns}

        self._attempted(created)
        for one in (Table(LOADS, MARK_COLUMNS), table):
            found = self._attempted(functools.partial(there, one.name))
            self._table = fitted(self, one, found, loose=self._engine.dialect.name == "sqlite")
        self._rows = self._described(self._table, self._sa.MetaData())

    def _connected(self) -> Any:
        """Return an engine, or raise if the database does not respond."""
        try:
            engine = self._sa.create_engine(self._url)
        except self._sa.exc.NoSuchModuleError:
            known = "postgresql, mysql, mariadb, oracle, mssql, or another that is installed"
            name = self._url.drivername
            raise InvalidInput(
                place="into", got=f"{name}://...", expected=known, remedy="correct the name"
            ) from None
        except ImportError as error:
            driver = error.name or "a driver"
            raise InvalidInput(
                f"{self} needs the Python module {driver}, which is not installed",
                place="into",
                remedy="install a package that has it, or name another driver, as "
                f"{self._url.drivername}+DRIVER://",
            ) from None
        with self._naming():
            engine.connect().close()
        return engine

    def _described(self, table: Table, metadata: Any) -> Any:
        """Return a table as a SQLAlchemy object with column keys c0, c1, ..."""
        sa, types = self._sa, _column_types()

        def column(k: int, one: Column) -> Any:
            main = k == 0
            kind = sa.String(KEY_LENGTH) if main else types[family(one.kind)](one.kind)
            return sa.Column(one.name, kind, key=f"c{k}", primary_key=main, quote=True)

        columns = (column(k, one) for k, one in enumerate(table.columns))
        return sa.Table(table.name, metadata, *columns, quote=True)

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of a database, from SQLAlchemy or its driver."""
        own = () if self._engine is None else (self._engine.dialect.loaded_dbapi.Error,)
        return (self._sa.exc.SQLAlchemyError, *own)

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Name the database in its errors."""
        try:
            yield
        except self._errors as error:
            raise refusal("into", self, getattr(error, "orig", None) or error) from error

    def _attempted(self, run: Callable[[], T]) -> T:
        """Run a transaction, and repeat it after conflicts."""
        with self._naming():
            for attempt in range(ATTEMPTS):
                try:
                    return run()
                except self._errors as error:
                    cause = getattr(error, "orig", None) or error
                    # For MySQL, the conflict is named in the message.
                    said = f"{type(cause).__name__}: {cause}"
                    if attempt == ATTEMPTS - 1 or not _CONFLICT.search(said):
                        raise
                time.sleep(PAUSE * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _of(self, source: str) -> Any:
        """Return the condition that selects the watermark of an input."""
        return self._marks.c.c0 == load_id(self._table.name, source)

    def mark(self, source: str) -> Mark | None:
        """Return the watermark of an input."""
        with self._naming(), self._engine.begin() as connection:
            query = self._sa.select(*list(self._marks.c)[2:]).where(self._of(source))
            row = connection.execute(query).first()
        return None if row is None else Mark(*row)

    def _set_mark(self, connection: Any, mark: Mark) -> None:
        connection.execute(self._marks.delete().where(self._of(mark.source)))
        stored = (load_id(self._table.name, mark.source), self._table.name, *mark)
        values = dict(zip(self._marks.c.keys(), stored, strict=True))
        connection.execute(self._marks.insert(), values)

    def clear(self, mark: Mark) -> None:
        """Delete the rows of an input."""
        source = self._column("source")

        def cleared() -> None:
            with self._engine.begin() as connection:
                connection.execute(self._rows.delete().where(source == mark.source))
                self._set_mark(connection, mark)

        self._attempted(cleared)

    def flag(self, fields: Fields, mark: Mark) -> int:
        """Flag the rows of an input for review."""
        sa, review = self._sa, self._column("review")
        starts = [self._column(start) for start, _ in fields]
        chances = [self._column(chance) for _, chance in fields]
        doubtful = [
            sa.and_(start.is_not(None), sa.func.coalesce(chance, -1.0) < mark.threshold)
            for start, chance in zip(starts, chances, strict=True)
        ]
        absent = sa.and_(*(start.is_(None) for start in starts))
        wanted = sa.case((sa.or_(absent, *doubtful), sa.true()), else_=sa.false())
        changed = sa.and_(self._column("source") == mark.source, review != wanted)

        def flagged() -> int:
            with self._engine.begin() as connection:
                query = self._rows.update().where(changed).values({review: wanted})
                count = connection.execute(query).rowcount
                self._set_mark(connection, mark)
            return int(count)

        return self._attempted(flagged)

    def _column(self, name: str) -> Any:
        """Return a column of the table by its name in the database."""
        names = [column.name for column in self._table.columns]
        return self._rows.c[f"c{names.index(name)}"]

    def known(self, keys: Sequence[str]) -> set[str]:
        """Return which of these keys are in the table."""
        with self._naming(), self._engine.begin() as connection:
            return self._known(connection, keys)

    def write(self, rows: Rows, mark: Mark) -> int:
        """Store rows and the watermark."""
        keys = [column.name for column in self._table.columns]
        rows = adapted(rows, self._wanted, self._table)
        values = list(zip(*(rows[name] for name in keys), strict=True))

        def written() -> int:
            with self._engine.begin() as connection:
                known = self._known(connection, [row[0] for row in values])
                new = [row for row in values if row[0] not in known]
                if new:
                    self._insert(connection, new)
                self._set_mark(connection, mark)
            return len(new)

        return self._attempted(written)

    def values(self, table: str, column: str, loaded: set[str]) -> tuple[list[Any], set[str]]:
        """Return the distinct values of a column of any table, and the columns of the table.

        If the table has the columns of one that was loaded, rows for review are left out.
        """
        sa = self._sa
        asked = sa.column(sa.sql.quoted_name(column, True))
        review = sa.column("review", sa.Boolean)
        there = sa.table(sa.sql.quoted_name(table, True), asked, review)
        query = sa.select(asked).select_from(there).distinct()
        engine = self._connected()
        try:
            columns = {one["name"] for one in sa.inspect(engine).get_columns(table)}
            with engine.connect() as connection:
                sure = query.where(sa.not_(review)) if columns >= loaded else query
                return list(connection.execute(sure).scalars()), columns
        finally:
            engine.dispose()

    def _known(self, connection: Any, keys: Sequence[str]) -> set[str]:
        """Return which keys are in the table."""
        column, found = self._rows.c.c0, set[str]()
        for at in range(0, len(keys), CHUNK):
            query = self._sa.select(column).where(column.in_(list(keys[at : at + CHUNK])))
            found.update(connection.execute(query).scalars())
        return found

    def _insert(self, connection: Any, rows: list[tuple[Any, ...]]) -> None:
        """Insert rows: by COPY in PostgreSQL, elsewhere in multi-row statements."""
        if self._url.drivername != "postgresql+psycopg":
            names = [f"c{k}" for k in range(len(rows[0]))]
            connection.execute(
                self._rows.insert(), [dict(zip(names, row, strict=True)) for row in rows]
            )
            return
        columns = ", ".join(quoted(column.name) for column in self._table.columns)
        raw = connection.connection.driver_connection
        with (
            raw.cursor() as cursor,
            cursor.copy(f"COPY {quoted(self._table.name)} ({columns}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def close(self) -> None:
        """Close the connections."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None


def _column_types() -> dict[str, Callable[[Kind], Any]]:
    """Return what makes the types of columns, by the family of their kinds."""
    import sqlalchemy as sa
    from sqlalchemy.dialects import mysql

    def exact(type_: Any, other: Any) -> Any:
        """Return a type that SQLite, which has none like it, has as text, and MySQL otherwise."""
        return type_.with_variant(sa.Text(), "sqlite").with_variant(other, "mysql", "mariadb")

    def decimal(kind: Kind) -> Any:
        limited = sa.Numeric(DIGITS, scale_of(kind))
        return exact(limited, limited).with_variant(sa.Numeric(), "postgresql")

    return {
        "text": lambda _: sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"),  # not 64 KB
        "integer": lambda _: sa.BigInteger(),
        "number": lambda _: sa.Double(),
        "boolean": lambda _: sa.Boolean(),
        "decimal": decimal,
        "date": lambda _: exact(sa.Date(), sa.Date()),
        "time": lambda _: exact(sa.Time(), mysql.TIME(fsp=6)),  # with microseconds
        "timestamp": lambda _: exact(sa.DateTime(), mysql.DATETIME(fsp=6)),
        "instant": lambda _: exact(sa.DateTime(timezone=True), mysql.LONGTEXT()),  # without zones
    }


def _type_name(type_: Any) -> str:
    """Return the name of a type, with its time zone."""
    return f"{type_} with time zone" if getattr(type_, "timezone", False) else str(type_)
