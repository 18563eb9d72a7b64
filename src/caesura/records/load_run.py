"""A running load: remaining records, their rows, and the writer thread."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

from caesura.errors import CaesuraError, InvalidInput, counted
from caesura.extraction import Record, paused_collection
from caesura.records.inputs import Entry, Input
from caesura.records.layout import Cells, Item, Layout, Stamp, row_id, rows_of, storable
from caesura.records.matching import KnownValues
from caesura.records.sinks import Mark, Sink
from caesura.records.splitting import Split, splitter

__all__ = ["REPLACE", "Progress", "Run", "feed", "new_digest", "warn_of_ids"]

REPLACE = "pass replace=True to load them again, or another table"  # remedy in errors


class Progress(NamedTuple):
    """The progress of a load.

    Examples
    --------
    >>> Progress(records=100, total=400, rows=100, seconds=2.0).left
    6.0
    """

    records: int  # stored records of the input, including earlier loads
    total: int | None  # number of records in the input, at least roughly
    rows: int  # number of rows written
    seconds: float  # since the load began
    skipped: int = 0  # records stored by earlier loads
    text_column: str | None = None  # the text column, if it was detected

    @property
    def left(self) -> float | None:
        """The estimated remaining seconds."""
        done = self.records - self.skipped
        if self.total is None or done <= 0:
            return None
        return self.seconds / done * max(self.total - self.records, 0)


MOST_IDS = 100_000  # whose texts are compared


class _Writer:
    """Writes a batch in a thread while the next one is segmented.

    Databases write without holding Python's lock. What was begun is finished, also where the load
    is interrupted.
    """

    def __init__(self, sink: Sink, beside: bool) -> None:
        self._sink = sink
        self._pool = ThreadPoolExecutor(1) if beside else None
        self._waiting: tuple[Callable[[], int], int, Mark] | None = None

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    @property
    def busy(self) -> bool:
        """Whether a batch is being written."""
        return self._waiting is not None

    def start(self, cells: Cells, mark: Mark) -> None:
        """Begin to write a batch."""
        offered = len(cells["row_id"])
        if self._pool is not None:
            self._waiting = self._pool.submit(self._sink.write, cells, mark).result, offered, mark
        else:
            written = self._sink.write(cells, mark)
            self._waiting = (lambda: written), offered, mark

    def wait(self) -> tuple[int, int, Mark]:
        """Return the number of rows, of new rows, and the watermark of the batch."""
        assert self._waiting is not None, "start comes first"
        (result, offered, mark), self._waiting = self._waiting, None
        return offered, result(), mark


class Run:
    """A running load."""

    def __init__(
        self,
        model: Any,
        given: Input,
        layout: Layout,
        stamp: Stamp,
        constraints: Any,
        split: Split,
        sink: Sink,
        known: KnownValues | None = None,
    ) -> None:
        self.model, self.given, self.layout, self.stamp = model, given, layout, stamp
        self.constraints, self.sink, self.known = constraints, sink, known
        self.split = splitter(split)
        options = repr((split, constraints, layout.table)).encode("utf-8", "backslashreplace")
        self._options = hashlib.blake2b(options, digest_size=16).hexdigest()
        self.replacing = False
        self.mark = Mark(
            given.name,
            model_name=stamp.model_name,
            model_version=stamp.model_version,
            threshold=stamp.threshold,
        )
        self.stored: Mark | None = None
        self.written = self.review = self.skipped = self.flagged = 0
        self.done = 0  # number of stored records
        self.repeated = 0  # number of strings with the id of an earlier one
        self._texts: dict[int, int] = {}  # hashes of ids and of their texts
        self.conflicts = 0  # number of records with the id of another text
        self.conflict: Entry | None = None  # the first of them

    def start(self, replace: bool) -> None:
        """Determine how much is stored, or delete it; a stopped replacement goes on."""
        self.replacing = replace
        stored = self.sink.mark(self.given.name)
        if stored is None:
            return
        digest, _, options = stored.digest.partition(" ")
        stored = stored._replace(digest=digest)
        same = stored.model_version == self.stamp.model_version
        if replace and not (same and options == self._options):
            self.sink.clear(self.kept)
            return
        if not same:
            raise InvalidInput(
                place="model",
                got=f"version {self.stamp.model_version}, but the rows of {stored.source} in table "
                f"{self.layout.table.name!r} are by version {stored.model_version} of "
                f"{stored.model_name}",
                remedy=REPLACE,
            )
        if stored.threshold != self.stamp.threshold:
            stored = stored._replace(threshold=self.stamp.threshold)
            self.flagged = self.sink.flag(self.layout.doubts, self._kept(stored))
        self.stored = stored

    @property
    def kept(self) -> Mark:
        """The watermark to store."""
        return self._kept(self.mark)

    def _kept(self, mark: Mark) -> Mark:
        """Return a watermark that tells an unfinished replacement, with its options, from a load.

        Of anything else that is stored, `start` cannot know that it is as the replacement would
        make it.
        """
        unfinished = self.replacing and not mark.finished
        return mark._replace(digest=f"{mark.digest} {self._options}") if unfinished else mark

    def restart(self, stored: Mark) -> None:
        """Begin again, as the records at the watermark are others now."""
        if self.replacing:
            self.sink.clear(self.kept)
        else:
            self.mark = self.mark._replace(stale=stored.rows + stored.stale, mixed=True)

    def batches(self, size: int) -> Generator[None]:
        """Store the input; yield before the first and after each batch."""
        yield
        digest, entries = self._rest()
        some = list(islice(entries, size))
        if not some and self.mark.finished:
            return
        with _Writer(self.sink, self.beside) as writer:
            while True:
                following = list(islice(entries, size))
                for entry in some:
                    feed(digest, entry)
                self.mark = self.mark._replace(
                    records=self.mark.records + len(some),
                    digest=digest.hexdigest(),
                    finished=not following,
                )
                cells = self.rows(some)
                if writer.busy:
                    self._stored(*writer.wait())
                    yield
                writer.start(cells, self.kept)
                if not following:
                    break
                some = following
            self._stored(*writer.wait())
        yield

    @property
    def beside(self) -> bool:
        """Whether rows are written in the background; not with one thread."""
        return bool(self.model.get_params().get("n_threads") != 1)

    def _stored(self, offered: int, written: int, mark: Mark) -> None:
        """Count what was stored."""
        self.written += written
        self.done = mark.records
        if self.given.reading.id is not None:  # otherwise ids are numbers, which never repeat
            self.repeated += offered - written

    def progress(self, seconds: float) -> Progress:
        """Return the progress of the load."""
        given, column = self.given, self.given.text if self.given.guessed else None
        return Progress(self.done, given.total, self.written, seconds, self.skipped, column)

    def _rest(self) -> tuple[Any, Iterator[Entry]]:
        """Return the records not stored yet; all of them if the input has changed."""
        digest, entries, stored = new_digest(), iter(self.given), self.stored
        if stored is None:
            return digest, entries
        if not self.given.once:
            count = 0
            for entry in islice(entries, stored.records):
                feed(digest, entry)
                count += 1
            if count == stored.records and digest.hexdigest() == stored.digest:
                self.mark, self.skipped, self.done = stored, count, count
                return digest, entries
            digest, entries = new_digest(), iter(self.given)
        self.restart(stored)
        return digest, entries

    def _items(self, entries: list[Entry]) -> dict[str, Item]:
        """Return the strings to segment by row id, without stored ones."""
        found: dict[str, Item] = {}
        for entry in entries:
            parts = self.split(entry.text) or [entry.text]
            for k, part in enumerate(parts, 1):
                item = Item(entry.id, k, part, entry.carried)
                kept = found.setdefault(row_id(self.given.name, item), item)
                self.repeated += kept is not item
        rows, stale = self.mark.rows + len(found), self.mark.stale
        if self.mark.mixed and found:
            known = self.sink.known(list(found))
            found = {key: item for key, item in found.items() if key not in known}
            stale = max(stale - len(known), 0)
        self.mark = self.mark._replace(rows=rows, stale=stale)
        return found

    def _compare(self, entries: list[Entry]) -> None:
        """Count the records whose id an earlier record with another text has.

        Only so many ids are remembered that a load of any size takes bounded memory.
        """
        for entry in entries:
            before = self._texts.get(key := hash(entry.id))
            if before is None and len(self._texts) < MOST_IDS:
                self._texts[key] = hash(entry.text)
            elif before not in (None, hash(entry.text)):
                self.conflicts += 1
                self.conflict = self.conflict or entry

    def rows(self, entries: list[Entry]) -> Cells:
        """Segment some records, and return their rows."""
        if self.given.reading.id is not None:  # otherwise ids are numbers, which never repeat
            self._compare(entries)
        with paused_collection():
            items = self._items(entries)
            records = self._extracted(list(items.values()))
            cells = rows_of(self.layout, items, records, self.stamp)
        self.review += sum(cells["review"])
        if self.known is not None:
            sure = [one for one, doubt in zip(records, cells["review"], strict=True) if not doubt]
            self._learn(self.known, sure)
        return cells

    def _learn(self, known: KnownValues, records: list[Record]) -> None:
        """Add the fields of records to the known values, and update the model."""
        values = {
            label: [storable(str(one.value)) for one in some if one.value is not None]  # as stored
            for label in known.labels
            if (some := [value for record in records for value in record.get(label, ())])
        }
        if known.add(values):
            self.model = known.attach(self.model)

    def _extracted(self, items: list[Item]) -> Any:
        """Run the model; errors name the record."""
        try:
            return self.model.extract([item.text for item in items], self.constraints)
        except CaesuraError as error:
            if error.index is None or error.argument not in ("X", "texts"):
                raise
            fields = {"file": self.given.name, "line": items[error.index].record}
            raise error.changed(argument=None, index=None, unit="record", **fields) from None


def new_digest() -> Any:
    """Return the digest of no records."""
    return hashlib.blake2b(digest_size=16)


def feed(digest: Any, entry: Entry) -> None:
    """Add the identity of a record to a digest."""
    for part in (entry.id, entry.text):
        content = part.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "big") + content)


def warn_of_ids(run: Run) -> None:
    """Warn of ids that several texts have, on behalf of the caller's caller."""
    if run.conflicts:
        name, column, some = run.given.name, run.given.reading.id, counted(run.conflicts, "record")
        example = "" if run.conflict is None else f", for example {run.conflict.id!r}"
        warnings.warn(
            f"{name}: {some} with the value of an earlier record in {column!r}, but another text"
            f"{example}; all are stored, so name a column with different values if they are "
            "different records",
            stacklevel=3,
        )
