"""Files: lines that know where they stand, and writing that is done whole or not at all."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import secrets
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from caesura.errors import InvalidInput, message

__all__ = ["Name", "Source", "replacing", "writing"]

Name = str | os.PathLike[str]  # of a file; - is the standard input or output


class Source:
    """The lines of a file, without their ends, read anew each time; .gz is unpacked.

    Only line feeds end lines, with or without carriage returns before them: text may contain what
    else Unicode counts as ends. The standard input and pipes can be read only once; where they
    must be read twice they are kept in a temporary file.
    """

    def __init__(self, path: Name, encoding: str = "utf-8", twice: bool = False) -> None:
        try:
            self._encoding = codecs.lookup(encoding).name
        except LookupError:
            expected, remedy = "the name of an encoding", "pass 'utf-8' or 'latin-1'"
            raise InvalidInput(message("encoding", encoding, expected, remedy)) from None
        self.path = path
        self._once = path == "-" or not stat.S_ISREG(os.stat(path).st_mode)
        self._used = False
        self._kept: IO[bytes] | None = None
        if self._once and twice:
            kept = tempfile.SpooledTemporaryFile(max_size=2**26)  # noqa: SIM115
            weakref.finalize(self, kept.close)
            with self._opened() as file:
                shutil.copyfileobj(file, kept)
            self._kept = kept

    def __iter__(self) -> Iterator[str]:
        number, encoding = 0, self._encoding
        try:
            with self._opened() as file:
                for number, raw in enumerate(file, 1):
                    line = raw.decode(encoding).rstrip("\r\n")
                    yield line.removeprefix("\ufeff") if number == 1 else line
        except UnicodeDecodeError as error:
            problem = f"got bytes that are not {encoding}, {error.reason}"
            raise self.error(number, f"{problem}; pass another encoding, as 'latin-1'") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            problem = f"the compressed file is damaged or cut off here: {error}"
            raise self.error(number + 1, problem) from None

    def error(self, line: int, problem: object) -> InvalidInput:
        """Return an error that names a line."""
        return InvalidInput(f"{self.name}, line {line}: {problem}")

    @property
    def name(self) -> str:
        """The name for people."""
        return "standard input" if self.path == "-" else os.fspath(self.path)

    def _opened(self) -> contextlib.AbstractContextManager[IO[bytes]]:
        """Open to read bytes from the beginning."""
        if self._kept is not None:
            self._kept.seek(0)
            return contextlib.nullcontext(self._kept)
        if self._once and self._used:
            raise InvalidInput(f"{self.name}: got a second reading, expected one; keep a list")
        self._used = True
        if self.path == "-":
            return contextlib.nullcontext(sys.stdin.buffer)
        if self.name.endswith(".gz"):
            return contextlib.closing(cast(IO[bytes], gzip.open(self.path, "rb")))
        return open(self.path, "rb")


@contextlib.contextmanager
def replacing(path: Name) -> Iterator[IO[bytes]]:
    """Write a file beside its place, and put it there only once it is complete and on disk.

    So a reader sees the old file or the new one, an error leaves the old one, and a file can be
    written from what is still being read of it. What is no regular file is written directly.
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        with open(place, "wb") as file:
            yield file
        return
    beside = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            beside.chmod(stat.S_IMODE(place.stat().st_mode))
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: Name) -> Iterator[IO[str]]:
    """Write text as UTF-8, whole or not at all; a name that ends in .gz is packed."""
    with contextlib.ExitStack() as stack:
        if path == "-":
            binary: IO[bytes] = sys.stdout.buffer
            stack.callback(sys.stdout.buffer.flush)
        else:
            binary = stack.enter_context(replacing(path))
            if os.fspath(path).endswith(".gz"):  # without the time: the same bytes each time
                packed = cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=binary, mtime=0))
                binary = stack.enter_context(contextlib.closing(packed))
        text = io.TextIOWrapper(binary, "utf-8", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            text.detach()
