"""References as database rows, and a query on them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from caesura.errors import MissingPackage
from caesura.records import load

__all__ = ["TABLE", "Stored", "ask", "store"]

TABLE = "papers"
FILES = {"DuckDB": "references.duckdb", "SQLite": "references.db"}
QUERY = f"""SELECT date, author, title, round(probability, 2) AS probability
FROM {TABLE} WHERE date GLOB '20[0-9][0-9]*' ORDER BY {TABLE}.probability DESC LIMIT 5"""


class Stored(NamedTuple):
    """A database with references."""

    path: Path
    kind: str  # DuckDB, or SQLite if duckdb is not installed
    rows: int
    review: int  # rows flagged for review


def store(model: Any, texts: Iterable[str], folder: Path) -> Stored:
    """Segment references and write them into a new database.

    Parameters
    ----------
    model : SemiCRF
        What segments them.
    texts : iterable of str
        The references.
    folder : Path
        Where the file is made; an old one is replaced.

    Examples
    --------
    >>> import caesura, tempfile
    >>> y = [[(0, 1, "author"), (1, 5, "date"), (5, 6, "title")]]
    >>> model = caesura.SemiCRF(c2=0.01).fit(["Codd (2000). Data"], y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = store(model, ["Gray (2001). Cubes"], Path(folder))
    ...     stored.rows, ask(stored, "SELECT author, date FROM papers")
    (1, (['author', 'date'], [('Gray', '2001')]))
    """
    listed = list(texts)
    for kind, name in FILES.items():
        path = folder / name
        for old in (path, path.with_name(f"{name}.wal")):
            old.unlink(missing_ok=True)
        try:
            done = load(model, listed, path, TABLE, model_name="citations", source_name="demo")
        except MissingPackage:
            continue
        return Stored(path, kind, done.rows, done.review)
    raise AssertionError("SQLite is part of Python")


def ask(stored: Stored, query: str = QUERY) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a query; return the column names and the rows.

    Parameters
    ----------
    stored : Stored
        The database.
    query : str
        In SQL.
    """
    if stored.kind == "SQLite":
        connection: Any = sqlite3.connect(stored.path)
    else:
        import duckdb

        connection = duckdb.connect(str(stored.path), read_only=True)
    try:
        found = connection.execute(query)
        return [one[0] for one in found.description], found.fetchall()
    finally:
        connection.close()
