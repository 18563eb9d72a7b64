"""Pieces of files: byte ranges of lines and row groups of Parquet.

A file is cut by its size alone, and not by the number of workers; so pieces are the same in each
run, and what was made of them can be kept.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from caesura.corpora.files import PACKED
from caesura.errors import InvalidInput
from caesura.scale import places

__all__ = ["PART_SIZE", "Piece", "fetched", "pieces_of"]

PART_SIZE = 16.0  # in megabytes
MEGABYTE = 1_000_000
BLOCK = 2**20  # bytes that are copied at a time
LINES = ("text", "jsonl")  # formats with one record per line


class Piece(NamedTuple):
    """A file, or a part of it.

    Examples
    --------
    >>> Piece("new/big.txt", {}, 2, 32, 48, "byte").name
    'big.txt.00002'
    """

    path: str
    state: Mapping[str, Any] | None  # state of the file; None if it cannot be found
    number: int = 0
    first: int = 0  # first byte or row group
    last: int | None = None  # one past the last; None for the whole file
    unit: str = ""  # "byte" or "row group"

    @property
    def name(self) -> str:
        """The name of its part, made of the file name and the piece number."""
        base = posixpath.basename(self.path) if places.is_url(self.path) else _base(self.path)
        return base if self.last is None else f"{base}.{self.number:05}"

    @property
    def shown(self) -> str:
        """The displayed name."""
        return self.path if self.last is None else f"{self.path} from {self.unit} {self.first}"

    @property
    def range(self) -> str | None:
        """The range of bytes or row groups; None for all."""
        return None if self.last is None else f"{self.unit}s {self.first} to {self.last}"


def _base(path: str) -> str:
    return os.path.basename(os.path.normpath(path))


def pieces_of(path: str, form: str | None, encoding: str, size: float) -> list[Piece]:
    """Divide a file into pieces of about this many megabytes, if its format allows it.

    A missing file is one piece, whose reader raises the error.
    """
    try:
        state = places.state(path)
    except OSError:
        return [Piece(path, None)]
    limit = max(1, round(size * MEGABYTE))
    with contextlib.suppress(Exception):  # if the file is damaged, its reader will report it
        if state["size"] > limit and Path(path).suffix.lower() not in PACKED:
            bounds = None
            if form in LINES and "\n".encode(encoding) == b"\n":
                bounds = [*range(0, state["size"], limit), state["size"]]
                unit = "byte"
            elif form == "parquet":
                bounds, unit = _row_groups(path, limit), "row group"
            if bounds is not None and len(bounds) > 2:
                pairs = enumerate(itertools.pairwise(bounds))
                return [Piece(path, state, k, *pair, unit) for k, pair in pairs]
    return [Piece(path, state)]


def _row_groups(path: str, limit: int) -> list[int]:
    """Return the first row group of each piece, and the number of all row groups."""
    from pyarrow import parquet

    with places.opened_bytes(path) as file:
        about = parquet.ParquetFile(file).metadata
        sizes = [about.row_group(k).total_byte_size for k in range(about.num_row_groups)]
    bounds, held = [0], 0
    for k, size in enumerate(sizes):
        if held and held + size > limit:
            bounds.append(k)
            held = 0
        held += size
    return [*bounds, len(sizes)]


@contextlib.contextmanager
def fetched(piece: Piece) -> Iterator[str]:
    """Yield a local file with the content of a piece; errors name the piece."""
    if piece.last is None and not places.is_url(piece.path):
        yield piece.path
        return
    with tempfile.TemporaryDirectory(prefix="caesura-") as folder:
        local = os.path.join(folder, posixpath.basename(piece.path))
        with places.opened_bytes(piece.path) as source:
            if piece.unit == "row group":
                _copy_groups(source, piece, local)
            else:
                with open(local, "wb") as target:
                    if piece.last is None:
                        shutil.copyfileobj(source, target, BLOCK)
                    else:
                        _copy_lines(source, piece.first, piece.last, target)
        try:
            yield local
        except InvalidInput as error:
            raise shown_as(error, local, piece.shown) from error


def shown_as(error: InvalidInput, local: str, name: str) -> InvalidInput:
    """Return an error about a local copy with the name of the file that was copied."""
    if error.file == local:
        return error.changed(file=name)
    return error.changed(place=name) if error.place == local else error


def _copy_lines(source: IO[bytes], first: int, last: int, target: IO[bytes]) -> None:
    """Copy the lines that begin in a range of bytes."""
    if first:
        source.seek(first - 1)
        source.readline()  # skips the rest of a line that begins before the piece
    left, block = last - source.tell(), b"\n"
    while left > 0 and (some := source.read(min(left, BLOCK))):
        target.write(some)
        left -= len(some)
        block = some
    if not block.endswith(b"\n"):
        target.write(source.readline())


def _copy_groups(source: Any, piece: Piece, local: str) -> None:
    """Copy some row groups to a new file."""
    from pyarrow import parquet

    file = parquet.ParquetFile(source)
    with parquet.ParquetWriter(local, file.schema_arrow, compression="none") as target:
        for k in range(piece.first, piece.last or 0):
            target.write_table(file.read_row_group(k))
