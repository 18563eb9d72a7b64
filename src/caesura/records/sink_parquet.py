"""Parquet sink: a folder of files that DuckDB, pandas, polars and Spark read as one table.

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
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from caesura.corpora.files import replacing
from caesura.corpora.kinds import arrow_kind
from caesura.corpora.temporary import room_for
from caesura.errors import InvalidInput
from caesura.records.sink_duckdb import arrow_table, pyarrow_module
from caesura.records.sinks import Fields, Mark, Rows, Table, adapted, adopted

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["ParquetSink", "files_of"]

LOCK = ".caesura-lock"
PAUSE = 0.1  # seconds between attempts to lock the folder
KEY = b"caesura"  # key of the watermark in the metadata of a file


class ParquetSink:
    """A folder of Parquet files.

    Parameters
    ----------
    path : str
        The folder; it is made if it does not exist.
    wait : float
        Seconds to wait while another process writes to the folder.
    """

    def __init__(self, path: str, wait: float = 0.0) -> None:
        pyarrow_module("a folder of Parquet files")
        self.path, self._wait = Path(path), wait
        self._table = self._wanted = Table("", ())
        self._lock: IO[bytes] | None = None

    def __str__(self) -> str:
        return str(self.path)

    def begin(self, table: Table) -> None:
        """Create the folder, and check that its files have the columns of the table."""
        import pyarrow.parquet as pq

        self._table = self._wanted = table
        with self._naming():
            if self.path.exists() and not self.path.is_dir():
                raise InvalidInput(
                    f"{self.path} is a file",
                    place="into",
                    expected="a folder of Parquet files",
                    remedy="give another name",
                )
            self.path.mkdir(parents=False, exist_ok=True)
            self._lock = self._locked()
            for number, file in enumerate(self._files()):
                schema = pq.read_schema(file).remove_metadata()
                if number == 0:
                    self._table = _adopting(table, schema)
                    names = [one.name for one in table.columns]
                    wanted = arrow_table(self._table.columns, {name: [] for name in names}).schema
                if not schema.equals(wanted):
                    missing = [name for name in wanted.names if name not in schema.names]
                    what = f"without the columns {', '.join(missing)}" if missing else "with others"
                    odd = [one for one in wanted if not missing and one not in list(schema)]
                    if odd:
                        was = schema.field(odd[0].name).type
                        what = f"with a column {odd[0].name} of type {was} instead of {odd[0].type}"
                    raise InvalidInput(
                        place="table",
                        got=f"{table.name!r}, of which {file} exists {what}",
                        remedy="load into another table or folder",
                    )

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Name the folder in operating system errors."""
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            if getattr(error, "errno", None) is None and (broken := self._broken()) is not None:
                file, cause = broken
                raise InvalidInput(
                    place="into",
                    got=str(file),
                    expected="a file of Parquet that is not damaged",
                    remedy="restore it from a backup, or load into another folder "
                    f"({' '.join(str(cause).split())})",
                ) from cause
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())
            name = getattr(error, "filename", None) or self.path
            remedy = room_for(error) or "check its permissions, or give another folder"
            raise InvalidInput(f"{name}: {reason.lower()}", place="into", remedy=remedy) from error

    def _broken(self) -> tuple[Path, Exception] | None:
        """Return the first file of the table that cannot be read, with its error."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for file in self._files():
            try:
                pq.ParquetFile(file).read()
            except (OSError, pa.ArrowException) as error:
                return file, error
        return None

    def _locked(self) -> IO[bytes]:
        """Lock the folder, or raise if another process holds it; the lock ends with the process."""
        file = open(self.path / LOCK, "ab")  # noqa: SIM115 - close closes it
        deadline = time.monotonic() + self._wait
        while fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= deadline:
                    file.close()
                    raise InvalidInput(
                        f"another process writes to {self.path}",
                        place="into",
                        remedy="wait until it has ended",
                    ) from None
            time.sleep(PAUSE)
        return file

    def _files(self) -> list[Path]:
        """Return all files of the table."""
        return files_of(self.path, self._table.name)

    def _prefix(self, source: str) -> str:
        """Return the file name prefix of an input."""
        mark = hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        return f"{_safe(self._table.name)}-{mark}-"

    def _parts(self, source: str) -> list[Path]:
        """Return the contiguously numbered files of an input."""
        found: list[Path] = []
        while (file := self._part(source, len(found))).exists():
            found.append(file)
        return found

    def _part(self, source: str, number: int) -> Path:
        return self.path / f"{self._prefix(source)}{number:06d}.parquet"

    def mark(self, source: str) -> Mark | None:
        """Return the watermark of an input."""
        import pyarrow.parquet as pq

        with self._naming():
            parts = self._parts(source)
            if not parts:
                return None
            metadata = pq.read_schema(parts[-1]).metadata or {}
            if KEY not in metadata:
                raise InvalidInput(
                    f"{parts[-1]} is not a file that load wrote",
                    place="into",
                    remedy="move it away",
                )
            return Mark(**json.loads(metadata[KEY]))

    def clear(self, mark: Mark) -> None:
        """Delete the files of an input, the last one first."""
        with self._naming():
            for file in reversed(self._parts(mark.source)):
                file.unlink()

    def flag(self, fields: Fields, mark: Mark) -> int:
        """Flag the rows of an input for review, file by file; the last has the watermark."""
        import pyarrow.parquet as pq

        changed = 0
        with self._naming():
            for file in self._parts(mark.source):
                before = pq.read_table(file)
                own = Mark(**json.loads(before.schema.metadata[KEY]))
                after = _flagged(before, fields, mark.threshold)
                changed += _differing(before["review"], after["review"])
                own = own._replace(threshold=mark.threshold)
                self._put(file, after, own)
            _sync(self.path)
        return changed

    def _put(self, file: Path, rows: Any, mark: Mark) -> None:
        """Write a file atomically."""
        import pyarrow.parquet as pq

        made = rows.replace_schema_metadata({KEY: json.dumps(mark._asdict())})
        with replacing(file) as part:
            pq.write_table(made, part, compression="zstd")

    def write(self, rows: Rows, mark: Mark) -> int:
        """Write a file with rows and the watermark."""
        made: Any = arrow_table(self._table.columns, adapted(rows, self._wanted, self._table))
        with self._naming():
            parts = self._parts(mark.source)
            made = self._new(made, parts)
            self._put(self._part(mark.source, len(parts)), made, mark)
            _sync(self.path)
        return int(made.num_rows)

    def _new(self, made: Any, parts: list[Path]) -> Any:
        """Return the rows whose key is not in some files."""
        import pyarrow.compute as pc

        if not parts or not made.num_rows:
            return made
        keys = made[self._table.columns[0].name]
        return made.filter(pc.invert(pc.is_in(keys, value_set=self._stored(keys, parts))))

    def _stored(self, keys: Any, parts: list[Path]) -> Any:
        """Return which keys of an Arrow array are in some files."""
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
            parts = self._files()
            asked = pa.chunked_array([pa.array(keys, pa.string())])
            return set(self._stored(asked, parts).to_pylist()) if parts else set()

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def files_of(folder: Path, table: str) -> list[Path]:
    """Return all files of a table in a folder."""
    name = re.compile(re.escape(_safe(table)) + r"-[0-9a-f]{12}-\d{6,}\.parquet")
    return sorted(file for file in folder.iterdir() if name.fullmatch(file.name))


def _flagged(rows: Any, fields: Fields, threshold: float) -> Any:
    """Return rows with uncertain or empty ones flagged for review."""
    import pyarrow as pa
    import pyarrow.compute as pc

    absent, review = pa.scalar(True), pa.scalar(False)
    for start, chance in fields:
        missing = pc.is_null(rows[start])
        unsure = pc.fill_null(pc.less(rows[chance], pa.scalar(threshold)), True)
        review = pc.or_(review, pc.and_not(unsure, missing))
        absent = pc.and_(absent, missing)
    place = rows.schema.get_field_index("review")
    return rows.set_column(place, "review", pc.or_(review, absent))


def _differing(before: Any, after: Any) -> int:
    """Return the number of different values in two columns."""
    import pyarrow.compute as pc

    return int(pc.sum(pc.not_equal(before, after)).as_py() or 0)


def _adopting(table: Table, schema: Any) -> Table:
    """Return a table with the kinds that files have, where these hold all values."""
    there = {field.name: arrow_kind(field.type) for field in schema}
    columns = (
        one._replace(kind=adopted(one.kind, there[one.name])) if one.name in there else one
        for one in table.columns
    )
    return table._replace(columns=tuple(columns))


def _safe(name: str) -> str:
    """Return a name that is safe in file names.

    Examples
    --------
    >>> _safe("references"), _safe("a/b c")
    ('references', 'a%2Fb%20c')
    """
    return re.sub(r"^\.", "%2E", quote(name, safe="."))


def _sync(folder: Path) -> None:
    """Flush a folder to disk, where supported."""
    if hasattr(os, "O_DIRECTORY"):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
