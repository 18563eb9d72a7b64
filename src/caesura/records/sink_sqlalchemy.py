"""Rows into any database that SQLAlchemy knows: PostgreSQL, MySQL, SQL Server and others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from caesura.errors import InvalidInput, MissingPackage
from caesura.records.sinks import LOADS, MARK_COLUMNS, Column, Mark, Rows, Table, check

if TYPE_CHECKING:
    import sqlalchemy

__all__ = ["SQLAlchemySink"]

KEY_LENGTH = 32  # characters of a key: some databases index only strings of a known length
ATTEMPTS = 5  # at a transaction in whose way another one was
CHUNK = 500  # keys that are looked up at a time
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
        except self._sa.exc.ArgumentError:
            raise InvalidInput(
                f"into: got {url.partition('://')[0]}://..., which is not the URL of a database; "
                "write it as postgresql://user:password@host:port/database"
            ) from None
        if self._url.drivername == "postgresql" and find_spec("psycopg") is not None:
            self._url = self._url.set(drivername="postgresql+psycopg")
        self._engine: Any = None
        self._rows: Any = None
        self._marks: Any = None
        self._table = Table("", ())

    def __str__(self) -> str:
        return self._url.render_as_string(hide_password=True)

    def begin(self, table: Table) -> None:
        """Connect, and create the tables where they are missing."""
        self._table = table
        self._engine = self._connected()
        metadata = self._sa.MetaData()
        self._rows = self._described(table, metadata, table.columns[0].name)
        self._marks = self._described(Table(LOADS, MARK_COLUMNS), metadata, None)

        def created() -> dict[str, str]:
            with self._engine.begin() as connection:
                metadata.create_all(connection)
            inspector = self._sa.inspect(self._engine)
            return {one["name"]: str(one["type"]) for one in inspector.get_columns(table.name)}

        check(self, table.name, self._attempted(created), table)

    def _connected(self) -> Any:
        """Return an engine whose database answers."""
        try:
            engine = self._sa.create_engine(self._url)
        except self._sa.exc.NoSuchModuleError:
            known = "postgresql, mysql, mariadb, oracle, mssql, or another that is installed"
            name = self._url.drivername
            raise InvalidInput(f"into: got {name}://..., expected {known}") from None
        except ImportError as error:
            driver = error.name or "a driver"
            raise InvalidInput(
                f"into: {self} needs the Python module {driver}, which is not installed; install "
                f"a package that has it, or name another driver, as {self._url.drivername}+DRIVER://"
            ) from None
        with self._naming():
            engine.connect().close()
        return engine

    def _described(self, table: Table, metadata: Any, key: str | None) -> Any:
        """Return a table as SQLAlchemy describes it; the keys of columns are c0, c1 ..."""
        sa = self._sa
        types = {
            "text": sa.Text(),
            "integer": sa.BigInteger(),
            "number": sa.Double(),
            "boolean": sa.Boolean(),
        }

        def column(k: int, one: Column) -> Any:
            main = one.name == key
            kind = sa.String(KEY_LENGTH) if main else types[one.kind]
            return sa.Column(one.name, kind, key=f"c{k}", primary_key=main, quote=True)

        columns = (column(k, one) for k, one in enumerate(table.columns))
        return sa.Table(table.name, metadata, *columns, quote=True)

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Name the database in its errors."""
        try:
            yield
        except self._sa.exc.SQLAlchemyError as error:
            said = str(getattr(error, "orig", None) or error)
            raise InvalidInput(f"into: {self}: {' '.join(said.split())[:300]}") from None

    def _attempted(self, run: Callable[[], T]) -> T:
        """Run a transaction, again if another one was in its way."""
        with self._naming():
            for attempt in range(ATTEMPTS):
                try:
                    return run()
                except (self._sa.exc.IntegrityError, self._sa.exc.ProgrammingError):
                    if attempt == ATTEMPTS - 1:
                        raise
        raise AssertionError("the last attempt returns or raises")

    def _of(self, source: str) -> Any:
        """Return the condition that a watermark is that of an input."""
        marks = self._marks.c
        return (marks.c0 == self._table.name) & (marks.c1 == source)

    def mark(self, source: str) -> Mark | None:
        """Return how much of an input is stored."""
        with self._naming(), self._engine.begin() as connection:
            query = self._sa.select(*list(self._marks.c)[1:]).where(self._of(source))
            row = connection.execute(query).first()
        return None if row is None else Mark(*row)

    def _set_mark(self, connection: Any, mark: Mark) -> None:
        connection.execute(self._marks.delete().where(self._of(mark.source)))
        values = dict(zip(self._marks.c.keys(), (self._table.name, *mark), strict=True))
        connection.execute(self._marks.insert(), values)

    def clear(self, mark: Mark) -> None:
        """Delete the rows of an input."""
        names = [column.name for column in self._table.columns]
        source = self._rows.c[f"c{names.index('source')}"]

        def cleared() -> None:
            with self._engine.begin() as connection:
                connection.execute(self._rows.delete().where(source == mark.source))
                self._set_mark(connection, mark)

        self._attempted(cleared)

    def known(self, keys: Sequence[str]) -> set[str]:
        """Return which of these keys are in the table."""
        with self._naming(), self._engine.begin() as connection:
            return self._known(connection, keys)

    def write(self, rows: Rows, mark: Mark) -> int:
        """Store rows and the watermark."""
        keys = [column.name for column in self._table.columns]
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

    def _known(self, connection: Any, keys: Sequence[str]) -> set[str]:
        """Return which keys are in the table."""
        column, found = self._rows.c.c0, set[str]()
        for at in range(0, len(keys), CHUNK):
            query = self._sa.select(column).where(column.in_(list(keys[at : at + CHUNK])))
            found.update(connection.execute(query).scalars())
        return found

    def _insert(self, connection: Any, rows: list[tuple[Any, ...]]) -> None:
        """Insert rows: in PostgreSQL as a stream, elsewhere as many rows in a statement."""
        if self._url.drivername != "postgresql+psycopg":
            names = [f"c{k}" for k in range(len(rows[0]))]
            connection.execute(
                self._rows.insert(), [dict(zip(names, row, strict=True)) for row in rows]
            )
            return
        quote = connection.dialect.identifier_preparer.quote_identifier
        columns = ", ".join(quote(column.name) for column in self._table.columns)
        raw = connection.connection.driver_connection
        with (
            raw.cursor() as cursor,
            cursor.copy(f"COPY {quote(self._table.name)} ({columns}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def close(self) -> None:
        """Give up the connections."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None
