"""Temporary files next to their final paths, and the removal of stale ones.

A file that is being written is called ``.name.<16 hex digits>``, and its process holds a lock on
it. One without a lock was left behind: the next process that writes the same name removes it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

__all__ = ["Beside", "check_writable", "named_errors", "opened", "room_for", "scratch"]
__all__ += ["scratch_name"]

_SCRATCH = "temporary file in "
_OURS = re.compile(r"\.(.+)\.[0-9a-f]{16}(\.old)?", re.DOTALL)


class _Named(io.FileIO):
    """A file whose errors show the path that the user gave."""

    shown = ""

    def write(self, data: object) -> int:
        with named_errors(self.shown):
            return super().write(data)  # type: ignore[arg-type]


@contextlib.contextmanager
def named_errors(shown: str) -> Iterator[None]:
    """Replace the path in operating system errors by the one that the user gave.

    Examples
    --------
    >>> with named_errors("new.jsonl"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'new.jsonl'
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, shown) from error


def opened(path: Path, mode: str, shown: str) -> IO[bytes]:
    """Open a file for writing bytes; errors name it as `shown`."""
    with named_errors(shown):
        raw = _Named(path, mode)
    raw.shown = shown
    return cast(IO[bytes], io.BufferedWriter(raw))


def room_for(error: BaseException) -> str:
    """Return what to do about a full disk; empty for other errors.

    Examples
    --------
    >>> room_for(OSError(errno.ENOSPC, "No space left on device", "a.xlsx"))
    'make room there, or write to another disk'
    >>> room_for(ValueError("a"))
    ''
    """
    if not isinstance(error, OSError):
        return ""
    if error.errno == errno.EFBIG:
        return "raise the limit on the size of files (ulimit -f), or write to another disk"
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return ""
    if str(error.filename or "").startswith(_SCRATCH):
        return "make room there, or set TMPDIR to a folder on another disk"
    return "make room there, or write to another disk"


def scratch_name() -> str:
    """Return what errors call temporary files: their folder."""
    return f"{_SCRATCH}{tempfile.gettempdir()}"


def scratch() -> IO[bytes]:
    """Return an unnamed temporary file; errors name its folder.

    Examples
    --------
    >>> with scratch() as file:
    ...     _ = file.write(b"some bytes")
    ...     _ = file.seek(0)
    ...     file.read(4)
    b'some'
    """
    if sys.platform == "win32":
        return cast(IO[bytes], tempfile.TemporaryFile())
    number, name = tempfile.mkstemp(prefix="caesura-")
    os.unlink(name)
    raw = _Named(number, "r+b")
    raw.shown = scratch_name()
    return cast(IO[bytes], io.BufferedRandom(raw))


class Beside:
    """A new file next to its final path, locked until it is moved or removed.

    Parameters
    ----------
    place : Path
        The path of the finished file.
    shown : str
        Its name in error messages.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     beside = Beside(Path(folder, "a"), "a")
    ...     with beside.file as file:
    ...         _ = file.write(b"done")
    ...     beside.put()
    ...     os.listdir(folder)
    ['a']
    """

    def __init__(self, place: Path, shown: str) -> None:
        self.place, self.shown = place, shown
        remove_stale(place)
        self._holds: list[int] = []
        while True:
            self.path = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
            self.file = opened(self.path, "xb", shown)
            if self._hold(self.path):
                break
            self.file.close()  # removed by another process that took it for a stale file

    def _hold(self, path: Path) -> bool:
        """Lock a file; return False if it has been removed."""
        if sys.platform == "win32":
            return True
        import fcntl

        try:
            number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        self._holds.append(number)
        with contextlib.suppress(OSError):  # some file systems do not support locks
            fcntl.flock(number, fcntl.LOCK_SH)
        return path.exists()

    def put(self) -> None:
        """Move the file into place with the permissions of the old one, and unlock it."""
        with named_errors(self.shown):
            if self.place.exists():
                self.path.chmod(self.place.stat().st_mode & 0o7777)
            self.path.replace(self.place)

    def keep_old(self) -> None:
        """Hard-link the existing file to a second name, if there is one."""
        with named_errors(self.shown):
            if self.place.exists():
                link_or_copy(self.place, self._old)
                self._hold(self._old)

    def undo(self) -> None:
        """Restore the previous file."""
        if self._old.exists():
            self._old.replace(self.place)
        else:
            self.place.unlink(missing_ok=True)

    def release(self) -> None:
        """Remove the remaining temporary files."""
        self.path.unlink(missing_ok=True)
        self._old.unlink(missing_ok=True)
        while self._holds:
            os.close(self._holds.pop())

    @property
    def _old(self) -> Path:
        return self.path.with_name(f"{self.path.name}.old")


def link_or_copy(place: Path, other: Path) -> None:
    """Hard-link a file to a second name, or copy it where links are not supported."""
    try:
        os.link(place, other)
    except OSError:
        shutil.copy2(place, other)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an OSError that names the file if it cannot be written.

    Examples
    --------
    >>> check_writable("no/such/folder/a")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no/such/folder/a'
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        return  # a device or folder; opening it raises a clear error
    beside = Beside(place, os.fspath(path))
    try:
        with beside.file as file:
            file.write(b"\n")  # fails on a full disk, and if the limit for file sizes is 0
    finally:
        beside.release()


# ---- stale temporary files -----------------------------------------------------------------------


def remove_stale(place: Path) -> None:
    """Remove temporary files left behind by killed processes."""
    for path in _ours(place.parent).pop(place.name, []):
        _remove_if_stale(path)


@functools.lru_cache(maxsize=64)
def _ours(folder: Path) -> dict[str, list[Path]]:
    """Return possibly stale files in a folder by name, listed once."""
    found: dict[str, list[Path]] = {}
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            own = _OURS.fullmatch(entry.name)
            if own is not None and entry.is_file(follow_symlinks=False):
                found.setdefault(own[1], []).append(Path(entry.path))
    return found


def _remove_if_stale(path: Path) -> None:
    """Remove a file that no process has locked."""
    if sys.platform == "win32":
        return
    import fcntl

    with contextlib.suppress(OSError):  # already removed, locked, or of another user
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(number)
