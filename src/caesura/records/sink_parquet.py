"""Rows into a folder of Parquet files, which DuckDB, pandas, polars and Spark read as one table.

Each batch is a file of its own, ``TABLE-INPUT-NUMBER.parquet``, where INPUT stands for the input.
It is written beside its place and renamed once it is complete and on disk, and its metadata hold
the watermark: so the files 0, 1, 2 ... that are there are all that is stored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from caesura.corpora.files import replacing
from caesura.errors import InvalidInput
from caesura.records.sink_duckdb import arrow_table, pyarrow_module
from caesura.records.sinks import Mark, Rows, Table

__all__ = ["ParquetSink"]

KEY = b"caesura"  # of the watermark, among the metadata of a file


class ParquetSink:
    """A folder of Parquet files.

    Parameters
    ----------
    path : str
        The folder; it is made if it does not exist.
    """

    def __init__(self, path: str) -> None:
        pyarrow_module("a folder of Parquet files")
        self.path = Path(path)
        self._table = Table("", ())

    def __str__(self) -> str:
        return str(self.path)

    def begin(self, table: Table) -> None:
        """Make the folder, and check that the files in it have the columns of the table."""
        import pyarrow.parquet as pq

        self._table = table
        with self._naming():
            if self.path.exists() and not self.path.is_dir():
                raise InvalidInput(
                    f"into: {self.path} is a file, expected a folder of Parquet files; "
                    "give another name"
                )
            self.path.mkdir(parents=False, exist_ok=True)
            wanted = arrow_table(table.columns, {one.name: [] for one in table.columns}).schema
            for file in sorted(self.path.glob(f"{_safe(table.name)}-*.parquet")):
                schema = pq.read_schema(file).remove_metadata()
                if not schema.equals(wanted):
                    missing = [name for name in wanted.names if name not in schema.names]
                    what = f"without the columns {', '.join(missing)}" if missing else "with others"
                    raise InvalidInput(
                        f"table: got {table.name!r}, of which {file} exists {what}; "
                        "load into another table or folder"
                    )

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Name the folder in errors of the system."""
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())
            raise InvalidInput(f"into: {self.path}: {reason.lower()}") from None

    def _prefix(self, source: str) -> str:
        """Return how the names of the files of an input begin."""
        mark = hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        return f"{_safe(self._table.name)}-{mark}-"

    def _parts(self, source: str) -> list[Path]:
        """Return the files of an input, as far as they are numbered without a gap."""
        found: list[Path] = []
        while (file := self._part(source, len(found))).exists():
            found.append(file)
        return found

    def _part(self, source: str, number: int) -> Path:
        return self.path / f"{self._prefix(source)}{number:06d}.parquet"

    def mark(self, source: str) -> Mark | None:
        """Return how much of an input is stored."""
        import pyarrow.parquet as pq

        with self._naming():
            parts = self._parts(source)
            if not parts:
                return None
            metadata = pq.read_schema(parts[-1]).metadata or {}
            if KEY not in metadata:
                raise InvalidInput(f"into: {parts[-1]} is not a file that load wrote; move it away")
            return Mark(**json.loads(metadata[KEY]))

    def clear(self, mark: Mark) -> None:
        """Delete the files of an input, the last one first."""
        with self._naming():
            for file in reversed(self._parts(mark.source)):
                file.unlink()

    def write(self, rows: Rows, mark: Mark) -> int:
        """Write a file with rows and the watermark."""
        import pyarrow.parquet as pq

        made: Any = arrow_table(self._table.columns, rows)
        with self._naming():
            parts = self._parts(mark.source)
            made = self._new(made, parts)
            made = made.replace_schema_metadata({KEY: json.dumps(mark._asdict())})
            with replacing(self._part(mark.source, len(parts))) as file:
                pq.write_table(made, file, compression="zstd")
            _sync(self.path)
        return int(made.num_rows)

    def _new(self, made: Any, parts: list[Path]) -> Any:
        """Return the rows whose key is in none of some files."""
        import pyarrow.compute as pc

        if not parts or not made.num_rows:
            return made
        keys = made[self._table.columns[0].name]
        return made.filter(pc.invert(pc.is_in(keys, value_set=self._stored(keys, parts))))

    def _stored(self, keys: Any, parts: list[Path]) -> Any:
        """Return which of these keys, an Arrow array, are in some files."""
        import pyarrow.compute as pc
        from pyarrow import dataset

        key = self._table.columns[0].name
        stored = dataset.dataset(list(map(str, parts)), format="parquet")
        asked = pc.field(key).isin(keys.combine_chunks())
        return stored.to_table(columns=[key], filter=asked)[key].combine_chunks()

    def known(self, keys: Sequence[str]) -> set[str]:
        """Return which of these keys are in the files of the table."""
        import pyarrow as pa

        with self._naming():
            parts = sorted(self.path.glob(f"{_safe(self._table.name)}-*.parquet"))
            asked = pa.chunked_array([pa.array(keys, pa.string())])
            return set(self._stored(asked, parts).to_pylist()) if parts else set()

    def close(self) -> None:
        """Do nothing: every file is closed as soon as it is complete."""


def _safe(name: str) -> str:
    """Return a name as a part of the name of a file.

    Examples
    --------
    >>> _safe("references"), _safe("a/b c")
    ('references', 'a%2Fb%20c')
    """
    return re.sub(r"^\.", "%2E", quote(name, safe="."))


def _sync(folder: Path) -> None:
    """Put the names in a folder on disk, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
