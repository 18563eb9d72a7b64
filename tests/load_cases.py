"""Targets of loads, a small model, and what is in a table afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import sqlalchemy
from cli_data import addresses

import caesura
from caesura.records.sinks import LOADS
from caesura.records.sql import quoted

KINDS = ("duckdb", "sqlite", "parquet", "postgresql", "sqlalchemy")  # sqlalchemy is SQLite by URL
Row = dict[str, Any]


@cache
def model() -> caesura.SemiCRF:
    """Return a model of addresses."""
    documents = addresses(40, 1)
    return caesura.SemiCRF(c2=0.1, n_threads=1).fit(documents)


def texts(count: int, seed: int = 5) -> list[str]:
    """Return addresses; some of them are equal."""
    return [str(document.text) for document in addresses(count, seed)]


def rows(into: str, table: str = "records") -> list[Row]:
    """Return the rows of a table, sorted by their keys."""
    found = sorted(_rows(into, table), key=lambda row: str(row["row_id"]))
    return [{**row, "review": bool(row["review"])} for row in found]


def _rows(into: str, table: str) -> Iterator[Row]:
    if into.endswith(".parquet"):
        files = f"{into}/{table}-*.parquet"
        if not list(Path(into).glob(f"{table}-*.parquet")):
            return iter(())
        relation: Any = duckdb.sql(f"SELECT * FROM read_parquet('{files}')")
        return _dicts(relation)
    if into.endswith(".duckdb"):
        with duckdb.connect(into, read_only=True) as connection:
            relation = connection.sql(f"SELECT * FROM {quoted(table)}")
            return _dicts(relation)
    if into.endswith(".db"):
        with sqlite3.connect(into) as lite:
            lite.row_factory = sqlite3.Row
            return iter([dict(row) for row in lite.execute(f"SELECT * FROM {quoted(table)}")])
    return iter([dict(row) for row in query(into, f"SELECT * FROM {quoted(table)}")])


def _dicts(relation: Any) -> Iterator[Row]:
    """Return rows by way of Arrow: Python's duckdb needs pytz to fetch timestamps with a zone."""
    return iter(relation.to_arrow_table().to_pylist())


def query(url: str, text: str) -> list[Any]:
    """Return what a database of SQLAlchemy answers."""
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.begin() as connection:
            return list(connection.exec_driver_sql(text.replace("%", "%%")).mappings())
    finally:
        engine.dispose()


def marks(into: str) -> list[Row]:
    """Return the watermarks of a database."""
    if into.endswith(".parquet"):
        return []
    return list(_rows(into, LOADS))
