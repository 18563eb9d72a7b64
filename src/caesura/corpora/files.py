"""Files: numbered lines, and atomic writing."""

from __future__ import annotations

import codecs
import contextlib
import contextvars
import difflib
import gzip
import io
import os
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from caesura.corpora.reading_progress import meter
from caesura.corpora.temporary import Beside, named_errors, opened
from caesura.errors import InvalidInput, message

__all__ = [
    "OTHER_ENCODING",
    "PACKED",
    "Damaged",
    "Name",
    "Source",
    "Together",
    "beginning",
    "binary_writing",
    "name_of",
    "noting_missing",
    "replacing",
    "unpacked_suffix",
    "writing",
]

OTHER_ENCODING = "pass another encoding, as 'latin-1'"  # remedies in errors
COPY_AGAIN = "copy or compress it again"
Name = str | os.PathLike[str]  # a file name; "-" is the standard input or output


@contextlib.contextmanager
def noting_missing(path: Name) -> Iterator[None]:
    """Add a note on what to do to an error about a file that does not exist.

    Examples
    --------
    >>> try:
    ...     with noting_missing("no/such/folder/a"):
    ...         open("no/such/folder/a")
    ... except FileNotFoundError as error:
    ...     print(*error.__notes__)
    there is no folder 'no/such/folder': create it, or correct the path
    """
    try:
        yield
    except FileNotFoundError as error:
        place = Path(path)
        if not place.parent.is_dir():
            folder = str(place.parent)
            error.add_note(f"there is no folder {folder!r}: create it, or correct the path")
            raise
        near: list[str] = []
        with contextlib.suppress(OSError):  # the folder may be unreadable
            near = difflib.get_close_matches(place.name, os.listdir(place.parent), 1)
        here = str(place.parent.resolve())
        advice = f"did you mean {near[0]!r}?" if near else "correct the path"
        error.add_note(f"the folder {here!r} has no such file: {advice}")
        raise


class Damaged(InvalidInput):
    """Raised if the rest of a file cannot be read."""


class Source:
    """The numbered lines of a file, decompressed, read again on each iteration.

    Only line feeds end lines, with or without carriage returns before them: text may contain what
    else Unicode counts as ends. The standard input and pipes can be read only once; where they
    must be read twice they are kept in a temporary file.
    """

    def __init__(self, path: Name, encoding: str = "utf-8", twice: bool = False) -> None:
        try:
            self._encoding = codecs.lookup(encoding).name
            self._by_line = "\n".encode(self._encoding) == b"\n"
        except (LookupError, TypeError, UnicodeError):
            expected, remedy = "the name of an encoding", "pass 'utf-8' or 'latin-1'"
            raise InvalidInput(message("encoding", encoding, expected, remedy)) from None
        self.path = path
        self._once = path == "-" or not stat.S_ISREG(os.stat(path).st_mode)
        self._used = False
        self._kept: IO[bytes] | None = None
        if self._once and twice:
            kept = tempfile.SpooledTemporaryFile(max_size=2**26)  # noqa: SIM115
            weakref.finalize(self, kept.close)
            with self._raw() as file:
                shutil.copyfileobj(file, kept)
            self._kept = kept

    def lines(self, ends: bool = False) -> Iterator[tuple[int, str | InvalidInput]]:
        """Yield each line with its number, or an error in place of an unreadable line.

        With `ends`, what ends a line is kept.
        """
        number, encoding = 0, self._encoding
        stripped = "" if ends else "\r\n"
        try:
            with self.opened() as file:
                raws: Iterable[bytes | str] = file if self._by_line else self._decoded(file)
                for number, raw in enumerate(raws, 1):
                    try:
                        line = raw if isinstance(raw, str) else raw.decode(encoding)
                    except UnicodeDecodeError as error:
                        yield number, self._undecodable(number, error)
                    else:
                        line = line.removeprefix("\ufeff") if number == 1 else line
                        yield number, line.rstrip(stripped)
        except UnicodeDecodeError as error:
            yield number + 1, self._undecodable(number + 1, error)
        except Damaged as error:
            yield number + 1, self.error(number + 1, error)

    def _decoded(self, file: IO[bytes]) -> Iterator[str]:
        """Yield lines of an encoding such as UTF-16 in which line ends span several bytes."""
        text = io.TextIOWrapper(file, self._encoding, newline="\n")
        try:
            yield from text
        finally:
            if not file.closed:  # closed if the reader was abandoned
                text.detach()

    def _undecodable(self, number: int, error: UnicodeDecodeError) -> InvalidInput:
        came = f"bytes that are not {self._encoding}, {error.reason}"
        return self.error(number, InvalidInput(got=came, remedy=OTHER_ENCODING))

    def error(self, line: int, error: InvalidInput) -> InvalidInput:
        """Return an error that names the line."""
        return error.changed(file=self.name, line=line)

    @property
    def name(self) -> str:
        """The displayed name."""
        return name_of(self.path)

    @contextlib.contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file for reading decompressed bytes; raise `Damaged` if that fails."""
        with contextlib.ExitStack() as stack:
            raw = stack.enter_context(self._raw())
            packing = _packing(self.path, raw)
            file = raw
            if packing:
                file = stack.enter_context(contextlib.closing(_unpacked(raw, packing)))
            try:
                yield file
            except damage(packing) as error:
                problem = f"the compressed file is damaged or cut off here: {error}"
                raise Damaged(problem, file=self.name, remedy=COPY_AGAIN) from None

    def _raw(self) -> contextlib.AbstractContextManager[IO[bytes]]:
        """Open the file for reading raw bytes."""
        if self._kept is not None:
            self._kept.seek(0)
            return contextlib.nullcontext(self._kept)
        if self._once and self._used:
            raise InvalidInput(
                "can be read only once", place=self.name, remedy="keep its documents in a list"
            )
        self._used = True
        if self.path == "-":
            return contextlib.nullcontext(sys.stdin.buffer)
        file = open(self.path, "rb")  # noqa: SIM115 - the caller closes it
        if not self._once:
            meter(os.fspath(self.path), file)
        return file


def name_of(path: Name) -> str:
    """Return the displayed name of a file."""
    return "standard input" if path == "-" else os.fspath(path)


def beginning(path: Name, size: int = 2**16) -> bytes:
    """Return the first bytes of a file, decompressed; the standard input is not consumed."""
    if path == "-":
        return _unpacked_part(_peeked(sys.stdin.buffer, size))
    if not stat.S_ISREG(os.stat(path).st_mode):
        expected = "a regular file, whose beginning shows the format"
        raise InvalidInput(message("path", os.fspath(path), expected, "name the format"))
    try:
        with Source(path).opened() as file:
            return file.read(size)
    except Damaged as error:
        raise error.changed(line=1) from None


def unpacked_suffix(path: Name) -> str:
    """Return the lower-case suffix of a name without its compression suffix."""
    place = Path(os.fspath(path))
    while place.suffix.lower() in PACKED:
        place = place.with_suffix("")
    return place.suffix.lower()


# ---- compressed files -------------------------------------------------------------------------

PACKED = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00"}  # their first bytes


def _peeked(file: Any, size: int) -> bytes:
    """Return the available bytes without consuming them."""
    if hasattr(file, "peek"):
        return bytes(file.peek(size))
    place = file.tell()
    content = file.read(size)
    file.seek(place)
    return bytes(content)


def _packing(path: Name, file: IO[bytes]) -> str:
    """Return the compression of a file, by its name or else by its first bytes."""
    if path != "-":
        suffix = Path(os.fspath(path)).suffix.lower()
        return suffix if suffix in PACKED else ""
    return _by_magic(_peeked(file, 6))


def _by_magic(content: bytes) -> str:
    return next((name for name, magic in PACKED.items() if content.startswith(magic)), "")


def _unpacked(file: IO[bytes], packing: str) -> IO[bytes]:
    """Open a compressed file for reading."""
    if packing == ".gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=file, mode="rb"))
    if packing == ".bz2":
        import bz2

        return cast(IO[bytes], bz2.BZ2File(file))
    import lzma

    return cast(IO[bytes], lzma.LZMAFile(file))


def _unpacked_part(content: bytes) -> bytes:
    """Decompress as much as possible of the beginning of a file."""
    packing = _by_magic(content)
    if not packing:
        return content
    unpacked = b""
    with contextlib.suppress(*damage(packing)), _unpacked(io.BytesIO(content), packing) as file:
        while len(unpacked) < 2**16 and (part := file.read1(2**12)):  # type: ignore[attr-defined]
            unpacked += part
    return unpacked


def damage(packing: str) -> tuple[type[Exception], ...]:
    """Return the exceptions raised for a damaged file of this compression."""
    if packing == ".xz":
        import lzma

        return lzma.LZMAError, EOFError
    if packing == ".bz2":
        return OSError, EOFError
    return (EOFError, gzip.BadGzipFile, zlib.error) if packing else ()


def _packed(file: IO[bytes], packing: str) -> IO[bytes]:
    """Open a compressed file for writing; the output is reproducible."""
    if packing == ".gz":  # without a timestamp
        return cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    if packing == ".bz2":
        import bz2

        return cast(IO[bytes], bz2.BZ2File(file, "wb"))
    import lzma

    return cast(IO[bytes], lzma.LZMAFile(file, "wb"))


# ---- writing ----------------------------------------------------------------------------------


_TOGETHER: contextvars.ContextVar[Together | None] = contextvars.ContextVar(
    "_TOGETHER", default=None
)


class Together:
    """Move all files written inside the context into place together, or none of them.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Together():
    ...         for name in ("a", "b"):
    ...             with writing(Path(folder, name)) as file:
    ...                 _ = file.write("done")
    ...         before = os.path.exists(os.path.join(folder, "a"))
    ...     before, Path(folder, "a").read_text(), Path(folder, "b").read_text()
    (False, 'done', 'done')
    """

    def __init__(self) -> None:
        self._complete: list[Beside] = []

    def add(self, beside: Beside) -> None:
        """Register a completed file."""
        self._complete.append(beside)

    def __enter__(self) -> Together:
        self._token = _TOGETHER.set(self)
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        _TOGETHER.reset(self._token)
        done: list[Beside] = []
        try:
            for beside in self._complete if kind is None else ():
                beside.keep_old()
                done.append(beside)
                beside.put()
        except BaseException:
            for beside in done:
                beside.undo()
            raise
        finally:
            for beside in self._complete:
                beside.release()


@contextlib.contextmanager
def replacing(path: Name) -> Iterator[IO[bytes]]:
    """Write a file next to its final path, and move it there once complete and on disk.

    So a reader sees the old file or the new one, an error leaves the old one, and a file can be
    written from what is still being read of it. What is no regular file is written directly. Inside
    `Together`, it is put in its place with the others. Errors of the system name the file.
    """
    place, shown = Path(os.path.realpath(path)), os.fspath(path)
    if place.exists() and not place.is_file():
        with opened(place, "wb", shown) as file:
            yield file
        return
    beside, together = Beside(place, shown), _TOGETHER.get()
    try:
        with beside.file as file:
            yield file
            file.flush()
            with named_errors(shown):
                os.fsync(file.fileno())
        if together is None:
            beside.put()
    except BaseException:
        beside.release()
        raise
    if together is None:
        beside.release()
    else:
        together.add(beside)


@contextlib.contextmanager
def binary_writing(path: Name) -> Iterator[IO[bytes]]:
    """Write bytes atomically; compressed if the name ends in .gz, .bz2 or .xz."""
    with contextlib.ExitStack() as stack:
        if path == "-":
            stack.callback(sys.stdout.buffer.flush)
            yield sys.stdout.buffer
            return
        binary = stack.enter_context(replacing(path))
        packing = Path(os.fspath(path)).suffix.lower()
        if packing in PACKED:
            packed = _packed(binary, packing)
            binary = stack.enter_context(contextlib.closing(packed))
        yield binary


@contextlib.contextmanager
def writing(path: Name) -> Iterator[IO[str]]:
    """Write UTF-8 text atomically; compressed if the name ends in .gz, .bz2 or .xz."""
    with binary_writing(path) as binary:
        text = io.TextIOWrapper(binary, "utf-8", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            text.detach()
