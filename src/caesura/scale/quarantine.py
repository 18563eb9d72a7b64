"""Quarantine of records that cannot be read or segmented, and unreadable files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from caesura.corpora.files import Damaged, Source
from caesura.corpora.temporary import room_for
from caesura.errors import CaesuraError, InvalidInput
from caesura.scale import places
from caesura.scale.pieces import Piece, shown_as

__all__ = ["BAD", "Failure", "bad_record", "check_undamaged", "failure", "quarantine", "refused"]

BAD = ".bad.jsonl"  # suffix of files with bad records


class Failure(str):
    """The message of an error, and the error, for those who change its fields."""

    error: CaesuraError


def failure(error: Exception, piece: Piece) -> str:
    """Return the error message for a failed piece."""
    if isinstance(error, OSError) and error.strerror:
        remedy = room_for(error)
        text = f"{error.filename or piece.path}: {error.strerror}"
        return f"{text}; {remedy}" if remedy else text
    if isinstance(error, FileNotFoundError):  # some stores give no message
        return f"{piece.path}: No such file"
    if not isinstance(error, CaesuraError):
        return f"{type(error).__name__}: {error}"
    text = Failure(error)
    text.error = error
    return text


def check_undamaged(errors: Iterable[InvalidInput]) -> None:
    """Raise if a file could not be read to its end."""
    for error in errors:
        if isinstance(error, Damaged):
            raise error


def refused(piece: Piece, local: str, errors: Iterable[InvalidInput]) -> list[dict[str, Any]]:
    """Return the content of a file of bad records.

    In a piece of a file, lines are numbered from its beginning, and `byte` locates a line.
    """
    found: list[dict[str, Any]] = [
        bad_record(shown_as(error, local, piece.shown)) for error in errors
    ]
    wanted = {one["line"] for one in found if one["line"] is not None}
    lines, at = {}, {}
    if wanted:
        byte = _start(piece)
        with Source(local).opened() as file:
            for number, line in enumerate(file, 1):
                if number in wanted:
                    lines[number], at[number] = line, byte
                byte += len(line)
    for one in found:
        raw = lines.get(one["line"])
        one["record"] = None if raw is None else raw.decode("utf-8", "replace").rstrip("\r\n")
        if piece.unit == "byte":
            one["byte"] = at.get(one["line"])
    return found


def bad_record(error: CaesuraError) -> dict[str, Any]:
    """Return what a file of bad records says about an error.

    Examples
    --------
    >>> bad_record(CaesuraError("is empty", file="a.txt", line=3, remedy="write one"))
    {'error': 'a.txt, line 3: is empty; write one', 'line': 3, 'remedy': 'write one'}
    """
    line = error.line if error.unit == "line" else None
    return {"error": str(error), "line": line, "remedy": error.remedy}


def _start(piece: Piece) -> int:
    """Return the byte offset of the first line of a piece."""
    if piece.unit != "byte" or not piece.first:
        return 0
    with places.opened_bytes(piece.path) as file:
        file.seek(piece.first - 1)
        file.readline()
        return int(file.tell())


def quarantine(path: str, bad: list[dict[str, Any]]) -> None:
    """Write the skipped records; no file if there are none."""
    if not bad:
        places.remove(path)
        return
    places.put_text(path, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in bad))
