"""Records that cannot be read or segmented, and files that cannot be read at all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from caesura.corpora.files import Source
from caesura.errors import CaesuraError, InvalidInput
from caesura.scale import places
from caesura.scale.pieces import Piece

__all__ = ["BAD", "check_undamaged", "failure", "quarantine", "refused"]

BAD = ".bad.jsonl"  # the end of the names of files of bad records
# What readers say of a file that they cannot read to its end.
_DAMAGED = re.compile("the compressed file is damaged or cut off|, or a damaged one ")
_LINE = re.compile(r", line (\d+)")


def failure(error: Exception, piece: Piece) -> str:
    """Return what is said about a piece that cannot be worked on."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or piece.path}: {error.strerror}"
    if isinstance(error, FileNotFoundError):  # some stores say no more
        return f"{piece.path}: No such file"
    return str(error) if isinstance(error, CaesuraError) else f"{type(error).__name__}: {error}"


def check_undamaged(errors: Iterable[str]) -> None:
    """Raise if one of the errors of a reader is about the rest of its file, not about a record."""
    for error in errors:
        if _DAMAGED.search(error):
            raise InvalidInput(error)


def refused(piece: Piece, local: str, errors: Iterable[str]) -> list[dict[str, Any]]:
    """Return errors, and the lines that they are about where they name them.

    In a piece of a file, lines are numbered from its beginning, and `byte` says where a line is.
    """
    found: list[dict[str, Any]] = [{"error": one, "line": _line_of(one)} for one in errors]
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
        one["error"] = one["error"].replace(local, piece.shown)
        one["record"] = None if raw is None else raw.decode("utf-8", "replace").rstrip("\r\n")
        if piece.unit == "byte":
            one["byte"] = at.get(one["line"])
    return found


def _start(piece: Piece) -> int:
    """Return where the first line of a piece begins."""
    if piece.unit != "byte" or not piece.first:
        return 0
    with places.opened_bytes(piece.path) as file:
        file.seek(piece.first - 1)
        file.readline()
        return int(file.tell())


def _line_of(error: str) -> int | None:
    named = _LINE.search(error)
    return None if named is None else int(named[1])


def quarantine(path: str, bad: list[dict[str, Any]]) -> None:
    """Write the records that were left out; no file if there are none."""
    if not bad:
        places.remove(path)
        return
    places.put_text(path, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in bad))
