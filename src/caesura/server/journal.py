"""The journal of a labelling project: every action is on disk before it is acknowledged."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from caesura.errors import InvalidInput

__all__ = ["Journal"]


class Journal:
    """An append-only file of JSON lines with a single writer.

    Parameters
    ----------
    path : path
        The file; made if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder, "a.journal"))
    ...     journal.append({"n": 1})
    ...     journal.close()
    ...     again = Journal(Path(folder, "a.journal"))
    ...     print(list(again.entries()))
    ...     again.close()
    [{'n': 1}]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] = open(path, "a+b", buffering=0)  # noqa: SIM115
        try:
            _lock(self._file)
        except OSError:
            self._file.close()
            raise InvalidInput(
                "another process is labelling it",
                place=path,
                remedy="use its page, or stop it first",
            ) from None
        _sync_folder(path)

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield the entries; an incomplete last line of a killed process is removed."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._file.truncate(whole)
            os.fsync(self._file.fileno())
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError:
                entry = None
            if not isinstance(entry, dict):
                raise InvalidInput(
                    file=self.path,
                    line=number,
                    got="no JSON object",
                    remedy="the journal is damaged: remove the line, or restore the file from a "
                    "copy",
                )
            yield entry

    def append(self, entry: dict[str, Any]) -> None:
        """Write an entry to disk before returning."""
        line = orjson.dumps(entry) + b"\n"
        size = os.fstat(self._file.fileno()).st_size
        try:
            if self._file.write(line) != len(line):
                raise OSError(28, "No space left on device", str(self.path))
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(size)  # leaves no partial line before the next one
            raise

    def close(self) -> None:
        """Release the lock."""
        self._file.close()


def _lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed, or raise OSError."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(2**30)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(path: Path) -> None:
    """Flush the folder entry of a new file to disk."""
    if sys.platform == "win32":
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
