"""Uncertain rows as ordinary database tables, with views for queries.

::

    NAME_texts   text_id, text, kl, slack, mass
    NAME_rows    text_id, row_id, probability
    NAME_cells   text_id, row_id, label, value, occurrences, probability

    NAME_values    P(label = value) for each text
    NAME_expected  the expected number of texts with label = value
    NAME_pairs     P(label_1 = value_1 and label_2 = value_2) for each text

The cells of a row are independent of each other, and the rows of a text exclude each other, so that
the probability of any conjunction is a sum of products, which plain SQL computes.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from caesura.errors import InvalidInput, MissingPackage, message
from caesura.records.refusals import explained
from caesura.records.sql import quoted
from caesura.records.uncertain_records import UncertainRecord, Value, check_query

__all__ = ["Answers", "answers", "store_uncertain"]

_SQLITE = (".sqlite", ".sqlite3", ".db")
_DUCKDB = (".duckdb", ".ddb")
_TABLES = {
    "texts": {
        **dict.fromkeys(("text_id", "text"), "VARCHAR"),
        **dict.fromkeys(("kl", "slack", "mass"), "DOUBLE"),
    },
    "rows": {"text_id": "VARCHAR", "row_id": "INTEGER", "probability": "DOUBLE"},
    "cells": {
        "text_id": "VARCHAR",
        "row_id": "INTEGER",
        "label": "VARCHAR",
        "value": "VARCHAR",
        "occurrences": "INTEGER",
        "probability": "DOUBLE",
    },
}
_INDEXES = {"texts": "text_id", "rows": "text_id, row_id", "cells": "text_id, row_id, label"}
_VIEWS = {
    "values": """
        SELECT c.text_id, c.label, c.value, c.occurrences,
               SUM(r.probability * c.probability) AS probability
        FROM {rows} r JOIN {cells} c ON c.text_id = r.text_id AND c.row_id = r.row_id
        GROUP BY c.text_id, c.label, c.value, c.occurrences""",
    "expected": """
        SELECT label, value, occurrences, SUM(probability) AS expected_count,
               COUNT(*) AS texts
        FROM {values} GROUP BY label, value, occurrences""",
    "pairs": """
        SELECT a.text_id, a.label AS label_1, a.value AS value_1, b.label AS label_2,
               b.value AS value_2, SUM(r.probability * a.probability * b.probability) AS probability
        FROM {rows} r
        JOIN {cells} a ON a.text_id = r.text_id AND a.row_id = r.row_id
        JOIN {cells} b ON b.text_id = r.text_id AND b.row_id = r.row_id AND b.label <> a.label
        GROUP BY a.text_id, a.label, a.value, a.occurrences, b.label, b.value, b.occurrences""",
}


class Answers(NamedTuple):
    """The texts that may match a query, with their probabilities.

    Examples
    --------
    >>> found = Answers({"a": 0.5, "b": 0.5})
    >>> found.expected_count, found.any
    (1.0, 0.75)
    """

    probabilities: dict[str, float]  #: text_id -> probability, the most probable first

    @property
    def expected_count(self) -> float:
        """Expected number of texts that match."""
        return math.fsum(self.probabilities.values())

    @property
    def any(self) -> float:
        """Probability that at least one text matches; texts are independent of each other."""
        if any(chance >= 1 for chance in self.probabilities.values()):
            return 1.0
        return abs(math.expm1(math.fsum(math.log1p(-x) for x in self.probabilities.values())))


def store_uncertain(
    database: Any,
    name: str,
    records: Iterable[UncertainRecord],
    ids: Iterable[Any] | None = None,
) -> int:
    """Write uncertain records into database tables, and create the views.

    Parameters
    ----------
    database : str, path, or an open connection of DuckDB or SQLite
        A file whose name ends in .duckdb or .ddb is one of DuckDB, .sqlite, .sqlite3 or .db one of
        SQLite; created if it does not exist.
    name : str
        What the names of the tables and views begin with.
    records : iterable of UncertainRecord
        From `uncertain_rows`.
    ids : iterable, optional
        An identifier for each text, stored as a string; the number of the text, from 0, if not
        given.  A text that is there already is replaced.

    Returns
    -------
    int
        The number of texts written.

    Notes
    -----
    Everything is written in one transaction.  An absent field has the value NULL and 0 occurrences;
    a field with several segments has their values as a JSON array.

    Examples
    --------
    >>> import sqlite3
    >>> from caesura.records import UncertainRecord, UncertainRow, answers, store_uncertain
    >>> row = UncertainRow(1.0, {"town": {"York": 0.9, None: 0.1}, "number": {"7": 1.0}})
    >>> connection = sqlite3.connect(":memory:")
    >>> store_uncertain(connection, "places", [UncertainRecord("7 York", (row,), 0.0, 0.0)])
    1
    >>> answers(connection, "places", {"town": "York", "number": "7"}).probabilities
    {'0': 0.9}
    >>> connection.execute("SELECT value, expected_count FROM places_expected").fetchall()
    [('7', 1.0), (None, 0.1), ('York', 0.9)]
    """
    names = _names(name)
    for argument, given in (("records", records), ("ids", () if ids is None else ids)):
        if not isinstance(given, Iterable):
            raise InvalidInput(message(argument, given, "a list", "put it into a list"))
    listed = list(records)
    keys = [str(one) for one in (range(len(listed)) if ids is None else ids)]
    if len(keys) != len(listed):
        expected = f"one for each of the {len(listed)} records"
        raise InvalidInput(
            place="ids", got=f"{len(keys)} of them", expected=expected, remedy="pass as many"
        )
    if len(set(keys)) < len(keys):
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise InvalidInput(
            place="ids",
            got=f"{twice!r} twice",
            expected="different identifiers",
            remedy="give each record its own",
        )
    for i, record in enumerate(listed):
        if not isinstance(record, UncertainRecord):
            remedy = "pass what uncertain_rows returns"
            raise InvalidInput(message(f"records[{i}]", record, "an UncertainRecord", remedy))
    with _opened(database) as connection, _transaction(connection):
        _check_tables(connection, name, new=True)
        _create(connection, names)
        for table, rows in _contents(keys, listed).items():
            _delete(connection, names[table], keys)
            _insert(connection, names[table], list(_TABLES[table].values()), rows)
    return len(listed)


def answers(database: Any, name: str, query: Mapping[str, Value]) -> Answers:
    """Return which stored texts match a conjunction of ``label = value``, with probabilities.

    Parameters
    ----------
    database, name
        As in `store_uncertain`.
    query : dict of label to value
        As in `UncertainRecord.probability`.

    Returns
    -------
    Answers
        Texts that cannot match are left out.

    Examples
    --------
    >>> import sqlite3
    >>> from caesura.records import UncertainRecord, UncertainRow
    >>> row = UncertainRow(1.0, {"town": {"York": 0.9, None: 0.1}})
    >>> connection = sqlite3.connect(":memory:")
    >>> store_uncertain(connection, "places", [UncertainRecord("7 York", (row,), 0.0, 0.0)])
    1
    >>> answers(connection, "places", {"town": None}).probabilities
    {'0': 0.1}
    """
    names = _names(name)
    with _opened(database, new=False) as connection:
        _check_tables(connection, name, new=False)
        cells = names["cells"]
        labels = _fetched(connection, f"SELECT DISTINCT label FROM {cells} ORDER BY label", ())
        check_query(query, dict.fromkeys(label for (label,) in labels))
        joins, products, values = [], ["r.probability"], list[Any]()
        for i, (label, value) in enumerate(query.items()):
            same = f"c{i}.text_id = r.text_id AND c{i}.row_id = r.row_id"
            test = f"c{i}.label = ? AND c{i}.occurrences = ?"
            text, occurrences = _stored(value)
            values += [label, occurrences]
            if text is not None:
                test += f" AND c{i}.value = ?"
                values.append(text)
            joins.append(f"JOIN {cells} c{i} ON {same} AND {test}")
            products.append(f"c{i}.probability")
        found = _fetched(
            connection,
            f"SELECT r.text_id, SUM({' * '.join(products)}) AS p FROM {names['rows']} r "
            f"{' '.join(joins)} GROUP BY r.text_id ORDER BY p DESC, r.text_id",
            values,
        )
    return Answers({str(key): min(1.0, float(chance)) for key, chance in found if chance > 0})


# ---- contents of the tables ----------------------------------------------------------------------


def _contents(keys: Sequence[str], records: Sequence[UncertainRecord]) -> dict[str, list[Any]]:
    """Return the rows of each table."""
    texts, rows, cells = [], [], []
    for key, record in zip(keys, records, strict=True):
        kl = None if math.isinf(record.kl) else record.kl
        texts.append((key, record.text, kl, record.slack, record.mass))
        for i, row in enumerate(record.rows, start=1):
            rows.append((key, i, row.weight))
            for label, chances in row.cells.items():
                for value, chance in chances.items():
                    cells.append((key, i, label, *_stored(value), chance))
    return {"texts": texts, "rows": rows, "cells": cells}


def _stored(value: Value) -> tuple[str | None, int]:
    """Return the stored form of a value, and its number of segments."""
    if value is None or isinstance(value, str):
        return value, int(value is not None)
    return json.dumps(list(value), ensure_ascii=False), len(value)


# ---- databases -----------------------------------------------------------------------------------


def _names(name: str) -> dict[str, str]:
    """Return the quoted names of all tables and views."""
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise InvalidInput(message("name", name, "the name of a table", "pass a short word"))
    return {part: quoted(f"{name}_{part}") for part in (*_TABLES, *_VIEWS)}


def _check_tables(connection: Any, name: str, new: bool) -> None:
    """Raise if tables are missing, unless they may be new, or have other columns."""
    listed = "SELECT name FROM sqlite_master WHERE type = 'table'"  # DuckDB has this view, too
    there = {table.lower(): table for (table,) in _fetched(connection, listed, ())}
    for part, columns in _TABLES.items():
        table = there.get(f"{name}_{part}".lower())
        if table is None and not new:
            marked = (one for one in there.values() if one.lower().endswith("_cells"))
            stored = ", ".join(repr(one[: -len("_cells")]) for one in marked) or "there is none"
            expected = f"a name that rows are stored under: {stored}"
            remedy = "pass the name that store_uncertain was called with"
            raise InvalidInput(message("name", name, expected, remedy))
        if table is None:
            continue
        found = connection.execute(f"SELECT * FROM {quoted(table)} LIMIT 0").description
        if [column[0] for column in found] != list(columns):
            expected = f"no table {table!r}, or one that store_uncertain has made"
            raise InvalidInput(message("name", name, expected, "pass another name"))


@contextmanager
def _opened(database: Any, new: bool = True) -> Iterator[Any]:
    """Yield a connection; one that is opened here is closed here."""
    if hasattr(database, "execute"):
        with explained("database", database):
            yield database
        return
    if not isinstance(database, str | os.PathLike):
        expected = "the name of a file, or a connection of DuckDB or SQLite"
        raise InvalidInput(message("database", database, expected, "pass one of these"))
    path, suffix = Path(database), Path(database).suffix.lower()
    if suffix not in (*_SQLITE, *_DUCKDB):
        expected = f"a name that ends in one of {', '.join((*_DUCKDB, *_SQLITE))}"
        raise InvalidInput(message("database", str(database), expected, "rename it"))
    if not new and not path.exists():
        raise InvalidInput(
            f"{path} does not exist", place="database", remedy="store rows in it first"
        )
    with explained("database", path):
        connection = sqlite3.connect(path) if suffix in _SQLITE else _duckdb().connect(str(path))
        try:
            yield connection
        finally:
            connection.close()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingPackage("duckdb", "records", "a DuckDB file") from None
    return duckdb


@contextmanager
def _transaction(connection: Any) -> Iterator[None]:
    """Run a block in a transaction, or in the caller's transaction if one is open."""
    if getattr(connection, "in_transaction", False):
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        with suppress(Exception):  # the first error is the one to raise
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _create(connection: Any, names: Mapping[str, str]) -> None:
    for table, kinds in _TABLES.items():
        columns = ", ".join(f"{column} {kind}" for column, kind in kinds.items())
        connection.execute(f"CREATE TABLE IF NOT EXISTS {names[table]} ({columns})")
        if isinstance(connection, sqlite3.Connection):  # DuckDB scans columns and needs no index
            index = names[table][:-1] + '_index"'
            where = f"{names[table]} ({_INDEXES[table]})"
            connection.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {where}")
    for view, query in _VIEWS.items():
        connection.execute(f"CREATE VIEW IF NOT EXISTS {names[view]} AS {query.format(**names)}")


def _delete(connection: Any, table: str, keys: list[str]) -> None:
    if isinstance(connection, sqlite3.Connection):
        statement = f"DELETE FROM {table} WHERE text_id = ?"
        connection.executemany(statement, [(key,) for key in keys])
    else:
        chosen = "SELECT unnest(CAST(? AS VARCHAR[]))"
        connection.execute(f"DELETE FROM {table} WHERE text_id IN ({chosen})", [keys])


def _insert(connection: Any, table: str, kinds: Sequence[str], rows: Sequence[Any]) -> None:
    if isinstance(connection, sqlite3.Connection):
        places = ", ".join("?" * len(kinds))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
    elif rows:  # DuckDB inserts lists a hundred times faster than row by row
        lists = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in kinds)
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(f"INSERT INTO {table} SELECT {lists}", columns)


def _fetched(connection: Any, statement: str, values: Sequence[Any]) -> list[Any]:
    return list(connection.execute(statement, list(values)).fetchall())
