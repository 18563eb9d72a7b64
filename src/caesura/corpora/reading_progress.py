"""Progress of reading, as a share of bytes."""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator
from typing import IO

__all__ = ["Meter", "meter", "metered"]

_METER: contextvars.ContextVar[Meter | None] = contextvars.ContextVar("_METER", default=None)


class Meter:
    """The share of bytes read of all files opened so far.

    Examples
    --------
    >>> Meter().share() is None
    True
    """

    def __init__(self) -> None:
        self._files: dict[str, tuple[IO[bytes], int]] = {}  # path -> file and its size in bytes

    def add(self, path: str, file: IO[bytes]) -> None:
        """Register a file that is read from its beginning."""
        self._files[path] = file, os.fstat(file.fileno()).st_size

    def share(self) -> float | None:
        """Return the share read, or None if no file size is known."""
        total = sum(size for _, size in self._files.values())
        done = sum(size if file.closed else file.tell() for file, size in self._files.values())
        return min(done / total, 1.0) if total else None


@contextlib.contextmanager
def metered() -> Iterator[Meter]:
    r"""Measure the reading inside the context.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from caesura.corpora import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.txt")
    ...     _ = file.write_text("some words\n" * 3)
    ...     with metered() as found:
    ...         _ = list(read(file))
    >>> found.share()
    1.0
    """
    made = Meter()
    token = _METER.set(made)
    try:
        yield made
    finally:
        _METER.reset(token)


def meter(path: str, file: IO[bytes]) -> None:
    """Register a file if reading is being measured."""
    asked = _METER.get()
    if asked is not None:
        asked.add(path, file)
