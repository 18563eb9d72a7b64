"""SQL statements; the only module that composes them. Names are quoted, values are bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caesura.corpora.kinds import Kind, family, scale_of
from caesura.errors import InvalidInput, message
from caesura.records.sinks import LOADS, MARK_COLUMNS, Column, Fields, Mark, Table, load_id

__all__ = [
    "copy_new",
    "create",
    "delete_source",
    "flag",
    "flag_values",
    "insert",
    "mark_values",
    "quoted",
    "read_mark",
    "replace_mark",
    "select_keys",
    "select_mark",
]


def quoted(name: str) -> str:
    """Return a name quoted for standard SQL.

    Parameters
    ----------
    name : str
        Of a table or a column.

    Examples
    --------
    >>> print(quoted("references"), quoted('the "best" one; DROP TABLE x'))
    "references" "the ""best"" one; DROP TABLE x"
    """
    if not name or "\0" in name:
        expected = "a name for SQL, not empty and without null characters"
        raise InvalidInput(message("name", name, expected, "rename it"))
    return '"' + name.replace('"', '""') + '"'


def _list(columns: Iterable[Column]) -> str:
    return ", ".join(quoted(column.name) for column in columns)


def create(table: Table, types: Mapping[str, str], key: str = "") -> str:
    """Return the statement that creates a table if it does not exist.

    A type of decimals has a place for the scale.

    Examples
    --------
    >>> types = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
    >>> create(Table("t", (Column("a", "text"), Column("b", "number"))), types)
    'CREATE TABLE IF NOT EXISTS "t" ("a" VARCHAR, "b" DOUBLE)'
    """

    def type_of(kind: Kind) -> str:
        return types[family(kind)].format(scale_of(kind))

    inner = [f"{quoted(column.name)} {type_of(column.kind)}" for column in table.columns]
    inner += [key] if key else []
    return f"CREATE TABLE IF NOT EXISTS {quoted(table.name)} ({', '.join(inner)})"


def insert(table: str, columns: Sequence[Column], key: str | None = None) -> str:
    """Return the statement that inserts a row with bound values, unless its key exists."""
    places = ", ".join("?" * len(columns))
    known = "" if key is None else f" ON CONFLICT ({quoted(key)}) DO NOTHING"
    return f"INSERT INTO {quoted(table)} ({_list(columns)}) VALUES ({places}){known}"


def copy_new(table: Table, view: str) -> str:
    """Return the statement that inserts the rows of a view with new keys."""
    key, name = quoted(table.columns[0].name), quoted(table.name)
    return (
        f"INSERT INTO {name} ({_list(table.columns)}) SELECT {_list(table.columns)} FROM "
        f"{quoted(view)} AS new WHERE NOT EXISTS (SELECT 1 FROM {name} AS old WHERE "
        f"old.{key} = new.{key})"
    )


def select_keys(table: Table, count: int) -> str:
    """Return the statement that looks up n bound keys."""
    key, name = quoted(table.columns[0].name), quoted(table.name)
    return f"SELECT {key} FROM {name} WHERE {key} IN ({', '.join('?' * count)})"


def delete_source(table: str) -> str:
    """Return the statement that deletes the rows of a bound input."""
    return f"DELETE FROM {quoted(table)} WHERE {quoted('source')} = ?"


def flag(table: str, fields: Fields) -> str:
    """Return the statement that flags the rows of an input; see `flag_values`.

    Examples
    --------
    >>> print(flag("t", [("s", "p")]).partition(" WHERE ")[0])
    UPDATE "t" SET "review" = (("s" IS NULL) OR ("s" IS NOT NULL AND COALESCE("p", -1) < ?))
    """
    absent = " AND ".join(f"{quoted(start)} IS NULL" for start, _ in fields)
    doubtful = [
        f"({quoted(start)} IS NOT NULL AND COALESCE({quoted(chance)}, -1) < ?)"
        for start, chance in fields
    ]
    review, wanted = quoted("review"), f"({' OR '.join([f'({absent})', *doubtful])})"
    return (
        f"UPDATE {quoted(table)} SET {review} = {wanted} "
        f"WHERE {quoted('source')} = ? AND {review} <> {wanted}"
    )


def flag_values(fields: Fields, mark: Mark) -> list[object]:
    """Return the bound values of `flag`."""
    limits: list[object] = [mark.threshold] * len(fields)
    return [*limits, mark.source, *limits]


# ---- watermarks ----------------------------------------------------------------------------------


def select_mark() -> str:
    """Return the statement that reads a watermark by its bound key."""
    columns = _list(MARK_COLUMNS[2:])
    return f"SELECT {columns} FROM {quoted(LOADS)} WHERE {quoted('load_id')} = ?"


def replace_mark() -> tuple[str, str]:
    """Return the two statements that replace a watermark."""
    delete = f"DELETE FROM {quoted(LOADS)} WHERE {quoted('load_id')} = ?"
    return delete, insert(LOADS, MARK_COLUMNS)


def mark_values(table: str, mark: Mark) -> tuple[object, ...]:
    """Return the stored values of a watermark."""
    return (load_id(table, mark.source), table, *mark)


def read_mark(row: Sequence[Any] | None) -> Mark | None:
    """Return a watermark from its stored values."""
    if row is None:
        return None
    kinds = (str, int, str, int, bool, bool, int, str, str, float)
    return Mark(*(kind(one) for kind, one in zip(kinds, row, strict=True)))
