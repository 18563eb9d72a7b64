"""Errors of databases, explained: closed, damaged, locked, read-only, full, or not a database."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from caesura.errors import InvalidInput

__all__ = ["explained", "known_reason", "refusal"]


class _Reason(NamedTuple):
    """Why a database refuses, by its words."""

    words: str
    expected: str
    remedy: str
    of_files: bool = False  # whether the words mean this only in databases that are files


_REASONS = (
    _Reason(
        "already (been )?closed|closed database|connection is closed",
        "an open connection",
        "connect again, and pass the new connection",
    ),
    _Reason(
        "not a database|not a valid DuckDB",
        "a database, or the name of a new file",
        "give another name, or restore the file from a backup if it was a database",
    ),
    _Reason(
        "malformed|corrupt|checksum|deserializ|could not read enough bytes|unexpected end",
        "a database that is not damaged",
        "restore it from a backup, or give another name and load again",
        of_files=True,
    ),
    _Reason(
        "database (table )?is locked|set lock|conflicting lock",
        "a database that no other process uses",
        "wait until it has ended",
    ),
    _Reason(
        "different configuration",
        "a database that this process has not opened in another way, such as for reading only",
        "close that connection",
    ),
    _Reason(
        "(in|a) read-?only|read-only (file system|database|mode)",
        "a database that can be written",
        "open it for writing, check its permissions, or give another name",
    ),
    _Reason(
        "database or disk is full|no space left|file too large|disk quota",
        "room for the database",
        "make room on the disk or raise the limit on the size of files, and load again: what is "
        "stored stays",
    ),
    _Reason(
        "disk i/o error",
        "a disk that can be written",
        "check the disk, its free room, and the limit on the size of files",
    ),
    _Reason(
        "unable to open|cannot open|permission denied",
        "a database that can be opened",
        "check the name and the permissions of the folder",
        of_files=True,
    ),
)
_MODULES = ("sqlite3", "duckdb", "_duckdb")


_OF_STATEMENTS = re.compile("no such|^(catalog|binder|parser) error", re.IGNORECASE)


def _reason(error: BaseException) -> _Reason | None:
    said = str(error)
    if _OF_STATEMENTS.search(said):  # errors of statements may quote any name
        return None
    of_files = _module(error) in _MODULES
    reasons = (one for one in _REASONS if of_files or not one.of_files)
    return next((one for one in reasons if re.search(one.words, said, re.IGNORECASE)), None)


def _module(error: BaseException) -> str:
    """Return the package of an error; of an error of SQLAlchemy, the one of the database."""
    cause = getattr(error, "orig", None) or error
    return type(cause).__module__.partition(".")[0]


def known_reason(error: BaseException) -> bool:
    """Return whether an error is of the database as a whole, not of a statement.

    Examples
    --------
    >>> import sqlite3
    >>> known_reason(sqlite3.DatabaseError("database disk image is malformed"))
    True
    >>> known_reason(sqlite3.OperationalError("no such table: papers"))
    False
    """
    return _reason(error) is not None


def refusal(argument: str, came: object, error: BaseException) -> InvalidInput:
    """Return the error for an error of a database.

    Parameters
    ----------
    argument : str
        The argument that has the database.
    came : object
        Its value; texts and paths are shown in full.
    error : Exception
        What the database says.

    Examples
    --------
    >>> import sqlite3
    >>> refusal("into", "a.db", sqlite3.DatabaseError("file is not a database"))
    InvalidInput('into: got a.db, expected a database, or the name of a new file; give another name,
    or restore the file from a backup if it was a database (SQLite says: file is not a database)')
    """
    name = {"sqlite3": "SQLite", "_duckdb": "DuckDB", "duckdb": "DuckDB"}
    module = _module(error)
    said = f"{name.get(module, 'the database')} says: {' '.join(str(error).split())[:300]}"
    reason = _reason(error) or _Reason("", "a database that accepts this", "see what it says")
    return InvalidInput(
        place=argument, got=str(came), expected=reason.expected, remedy=f"{reason.remedy} ({said})"
    )


@contextlib.contextmanager
def explained(argument: str, came: Any) -> Iterator[None]:
    """Explain the errors that DuckDB and SQLite raise, also for text that they cannot store.

    Examples
    --------
    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> with explained("connection", "a connection"):
    ...     connection.execute("SELECT * FROM papers")
    Traceback (most recent call last):
    caesura.errors.InvalidInput: connection: got a connection, expected a database that accepts
    this; see what it says (SQLite says: no such table: papers)
    """
    try:
        yield
    except Exception as error:
        own = type(error).__module__.partition(".")[0] in _MODULES
        if not own and not isinstance(error, UnicodeEncodeError):
            raise
        raise refusal(argument, came, error) from error
