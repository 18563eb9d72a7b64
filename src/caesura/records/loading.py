"""From strings to the rows of a table: idempotent, and resumed where it was killed.

::

    input -> records -> split -> model.extract -> rows -> sink
               |                                           |
               digest of identities  -->  watermark  <-----+   one transaction for each batch

The watermark says how many records of an input are stored, with a digest of their identities. A
load that starts again skips as many records if they are still the same. If the input has changed
it reads all of them, and segments those that are not stored.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

from caesura.checks import whole
from caesura.errors import CaesuraError, InvalidInput, message
from caesura.extraction import Record
from caesura.records.inputs import Entry, Input, Reading, input_of
from caesura.records.layout import Item, Layout, Stamp, layout_of, row_id, rows_of, storable
from caesura.records.matching import KnownValues
from caesura.records.sinks import Mark, Sink, sink_for
from caesura.records.splitting import Split, splitter
from caesura.records.versions import labels_of, model_of, version_of

__all__ = ["Loaded", "Progress", "load"]

BATCH = 5000  # records that are stored in one transaction


class Progress(NamedTuple):
    """How far a load is.

    Examples
    --------
    >>> Progress(records=100, total=400, rows=100, seconds=2.0).left
    6.0
    """

    records: int  # of the input that are done, with those of earlier loads
    total: int | None  # that the input has, at least roughly
    rows: int  # that were written
    seconds: float  # since the load began
    skipped: int = 0  # records that were done before it began
    text_column: str | None = None  # where the text is, if it was found by itself

    @property
    def left(self) -> float | None:
        """The seconds that are left, if the rest goes as fast as what was done."""
        done = self.records - self.skipped
        if self.total is None or done <= 0:
            return None
        return self.seconds / done * max(self.total - self.records, 0)


class Loaded(NamedTuple):
    """What a load has done.

    Examples
    --------
    >>> Loaded("a.db", "papers", "refs.txt", 10, 12, 12, 3, 0.1).review
    3
    """

    into: str  # the target
    table: str
    source: str  # the input, as rows name it
    records: int  # of the input
    rows: int  # that these records became, of this load and earlier ones
    written: int  # of these, by this load
    review: int  # of these, for a person to look at
    seconds: float
    skipped: int = 0  # records that could not be read
    stale: int = 0  # rows of earlier states of the input, which it no longer has
    renamed: dict[str, str] = {}  # labels and columns that are stored under another name  # noqa: RUF012
    flagged: int = 0  # stored rows whose review flag has changed with the threshold


def load(
    model: Any,
    source: Any,
    into: str | os.PathLike[str] | Sink,
    table: str = "records",
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    carry: Iterable[str] | None = None,
    split: Split = "auto",
    threshold: float = 0.9,
    verbatim: bool = False,
    replace: bool = False,
    constraints: Any = None,
    known: KnownValues | None = None,
    model_name: str | None = None,
    source_name: str | None = None,
    format: Literal["text", "csv", "jsonl", "parquet", "xlsx"] | None = None,
    encoding: str = "utf-8",
    on_error: Literal["raise", "skip"] = "raise",
    batch: int = BATCH,
    wait: float = 10.0,
    progress: Callable[[Progress], object] | None = None,
) -> Loaded:
    """Segment strings and write them as the rows of a table.

    A load may be killed at any moment and started again: rows are stored in batches, each in one
    transaction, and none of them is lost or there twice.

    Parameters
    ----------
    model : SemiCRF, ChainCRF, NeuralSegmenter or path
        A fitted model, or the file of one.
    source : path, DataFrame, Arrow table, or iterable of str or dict
        A file of lines (``.txt``, ``-`` for the standard input), a table (``.csv``, ``.tsv``,
        ``.jsonl``, ``.parquet``, ``.xlsx``), or data in memory. Its columns other than the text are
        carried over to the table.
    into : str, path or Sink
        A file of DuckDB (``.duckdb``) or SQLite (``.db``, ``.sqlite``), a folder of Parquet files
        (``.parquet``), or the URL of a database, as ``postgresql://user@host/database``.
    table : str
        The name of the table; it is created if it does not exist.
    text_column : str, optional
        The column with the text. By default the one called ``text``, or the only one that is
        clearly longer than the others.
    id_column : str, optional
        A column that identifies records; by default they are numbered.
    carry : iterable of str, optional
        The other columns to keep; by default all.
    split : {"auto", "lines", "paragraphs", "none"} or callable
        How strings with several records are split; see `split_records`.
    threshold : float
        Rows with a field below this probability, and rows without any field, are marked for review.
        A load of the same input with another threshold changes the marks of the rows that are
        stored, in one transaction.
    verbatim : bool
        Whether a column ``LABEL_text`` holds the text of each field as it stands in the source.
    replace : bool
        Delete the rows of this input and load it again, for example with a better model.
    constraints : dict, optional
        What every answer must keep; as in `predict`.
    known : KnownValues, optional
        Values that the model sees, if it was fitted with their `features`. The fields of rows that
        are not marked for review are added to them after each batch, for the batches that follow.
    model_name, source_name : str, optional
        Names for the model and the input in the table; by default those of the files.
    format : {"text", "csv", "jsonl", "parquet", "xlsx"}, optional
        The format of a file whose name does not tell it.
    encoding : str
        The encoding of a file.
    on_error : {"raise", "skip"}
        Whether a record that cannot be read is an error, or left out and counted.
    batch : int
        How many records are in memory, and in one transaction, at a time.
    wait : float
        How many seconds to wait while another process has the database locked.
    progress : callable, optional
        Called with a `Progress` before the first batch and after each batch.

    Returns
    -------
    Loaded
        What was done.

    Notes
    -----
    The identity of a row is its input, the number or id of its record there, the number of the
    string in a record that was split, and the text: equal strings are different rows. What is
    stored is never changed, but for review flags if `threshold` is another, unless `replace` is
    True; without it, a load of the same input with another model is refused.

    With `known`, what a row becomes depends on the rows before it, so on `batch` too. Values are
    held in memory. A load that was killed goes on with the values that `known` has then: read those
    of the stored rows with `KnownValues.read` first.

    Examples
    --------
    >>> import pathlib, sqlite3, tempfile, caesura
    >>> X, y = ["Codd (1970).", "Gray (1981)."], [[(0, 1, "author"), (1, 5, "year")]] * 2
    >>> model = caesura.SemiCRF(c2=0.01).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     into = pathlib.Path(folder, "papers.db")
    ...     first = load(model, ["Lamport (1978).", "Lamport (1978)."], into, "papers")
    ...     again = load(model, ["Lamport (1978).", "Lamport (1978)."], into, "papers")
    ...     with sqlite3.connect(into) as connection:
    ...         connection.execute("SELECT record, author, year FROM papers").fetchall()
    [('1', 'Lamport', '1978'), ('2', 'Lamport', '1978')]
    >>> first.written, again.written
    (2, 0)
    """
    began = time.perf_counter()
    whole("batch", batch, 1)
    _check_numbers(threshold, wait)
    if on_error not in ("raise", "skip"):
        raise InvalidInput(message("on_error", on_error, "'raise' or 'skip'", "pass one of them"))
    loaded, name = model_of(model, model_name)
    kept = None if carry is None else _names(carry)
    skip = on_error == "skip"
    reading = Reading(text_column, id_column, kept, format, encoding, source_name, skip)
    given = input_of(source, reading)
    layout = layout_of(table, labels_of(loaded), given.columns, verbatim)
    stamp = Stamp(given.name, storable(name), version_of(loaded), threshold)
    if known is not None:
        if not isinstance(known, KnownValues):
            remedy = "see KnownValues.read"
            raise InvalidInput(message("known", known, "KnownValues", remedy))
        loaded = known.attach(loaded)
    sink = sink_for(into, wait) if isinstance(into, str | os.PathLike) else into
    run = _Run(loaded, given, layout, stamp, constraints, splitter(split), sink, known)
    with contextlib.closing(sink):
        sink.begin(layout.table)
        run.start(replace)
        for _ in run.batches(batch):
            if progress is not None:
                progress(run.progress(time.perf_counter() - began))
    return Loaded(
        str(sink),
        table,
        given.name,
        run.mark.records,
        run.mark.rows,
        run.written,
        run.review,
        time.perf_counter() - began,
        given.n_skipped,
        run.mark.stale,
        layout.renamed,
        run.flagged,
    )


def _check_numbers(threshold: Any, wait: Any) -> None:
    """Raise if a number is out of its range."""
    for name, value, high, expected in (
        ("threshold", threshold, 1.0, "a probability, 0 to 1"),
        ("wait", wait, float("inf"), "a number of seconds, 0 or more"),
    ):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= high:
            raise InvalidInput(message(name, value, expected, "correct the number"))


def _names(carry: Any) -> list[str]:
    """Return the names of columns, or raise."""
    if isinstance(carry, str) or not isinstance(carry, Iterable):
        raise InvalidInput(message("carry", carry, "a list of columns", "write ['id', 'price']"))
    return [str(one) for one in carry]


# ---- running -------------------------------------------------------------------------------------


class _Run:
    """A load that is under way."""

    def __init__(
        self,
        model: Any,
        given: Input,
        layout: Layout,
        stamp: Stamp,
        constraints: Any,
        split: Callable[[str], list[str]],
        sink: Sink,
        known: KnownValues | None = None,
    ) -> None:
        self.model, self.given, self.layout, self.stamp = model, given, layout, stamp
        self.constraints, self.split, self.sink, self.known = constraints, split, sink, known
        self.mark = Mark(
            given.name,
            model_name=stamp.model_name,
            model_version=stamp.model_version,
            threshold=stamp.threshold,
        )
        self.stored: Mark | None = None
        self.written = self.review = self.skipped = self.flagged = 0

    def start(self, replace: bool) -> None:
        """Find out how much is stored, or delete it."""
        stored = self.sink.mark(self.given.name)
        if stored is None:
            return
        same = stored.model_version == self.stamp.model_version
        if replace and (stored.finished or not same):
            self.sink.clear(self.mark)
            return
        if not same:
            raise InvalidInput(
                f"model: got version {self.stamp.model_version}, but the rows of {stored.source} "
                f"in table {self.layout.table.name!r} are by version {stored.model_version} of "
                f"{stored.model_name}; pass replace=True to load them again, or another table"
            )
        if stored.threshold != self.stamp.threshold:
            stored = stored._replace(threshold=self.stamp.threshold)
            self.flagged = self.sink.flag(self.layout.doubts, stored)
        self.stored = stored

    def batches(self, size: int) -> Iterator[None]:
        """Store the input; yield before the first batch and after each batch."""
        yield
        digest, entries = self._rest()
        some = list(islice(entries, size))
        if not some and self.mark.finished:
            return
        while True:
            following = list(islice(entries, size))
            for entry in some:
                _feed(digest, entry)
            self.mark = self.mark._replace(
                records=self.mark.records + len(some),
                digest=digest.hexdigest(),
                finished=not following,
            )
            self._write(some)
            yield
            if not following:
                return
            some = following

    def progress(self, seconds: float) -> Progress:
        """Return how far the load is."""
        given, column = self.given, self.given.text if self.given.guessed else None
        return Progress(self.mark.records, given.total, self.written, seconds, self.skipped, column)

    def _rest(self) -> tuple[Any, Iterator[Entry]]:
        """Return the records that are not stored yet; all of them if the input has changed."""
        digest, entries, stored = _new_digest(), iter(self.given), self.stored
        if stored is None:
            return digest, entries
        if not self.given.once:
            count = 0
            for entry in islice(entries, stored.records):
                _feed(digest, entry)
                count += 1
            if count == stored.records and digest.hexdigest() == stored.digest:
                self.mark, self.skipped = stored, count
                return digest, entries
            digest, entries = _new_digest(), iter(self.given)
        self.mark = self.mark._replace(stale=stored.rows + stored.stale, mixed=True)
        return digest, entries

    def _items(self, entries: list[Entry]) -> dict[str, Item]:
        """Return the strings to segment by identity, without those that are stored."""
        found: dict[str, Item] = {}
        for entry in entries:
            parts = self.split(entry.text) or [entry.text]
            for k, part in enumerate(parts, 1):
                item = Item(entry.id, k, part, entry.carried)
                found[row_id(self.given.name, item)] = item
        rows, stale = self.mark.rows + len(found), self.mark.stale
        if self.mark.mixed and found:
            known = self.sink.known(list(found))
            found = {key: item for key, item in found.items() if key not in known}
            stale = max(stale - len(known), 0)
        self.mark = self.mark._replace(rows=rows, stale=stale)
        return found

    def _write(self, entries: list[Entry]) -> None:
        """Segment some records, and store them with the watermark."""
        items = self._items(entries)
        records = self._extracted(list(items.values()))
        cells = rows_of(self.layout, items, records, self.stamp)
        self.written += self.sink.write(cells, self.mark)
        self.review += sum(cells["review"])
        if self.known is not None:
            sure = [one for one, doubt in zip(records, cells["review"], strict=True) if not doubt]
            self._learn(self.known, sure)

    def _learn(self, known: KnownValues, records: list[Record]) -> None:
        """Add the fields of records to the known values, and show them to the model."""
        values = {
            label: [value.text if value.value is None else str(value.value) for value in some]
            for label in known.labels
            if (some := [value for record in records for value in record.get(label, ())])
        }
        if known.add(values):
            self.model = known.attach(self.model)

    def _extracted(self, items: list[Item]) -> Any:
        """Ask the model; an error names the record."""
        try:
            return self.model.extract([item.text for item in items], self.constraints)
        except CaesuraError as error:
            if error.index is None or error.argument not in ("X", "texts"):
                raise
            place = f"{self.given.name}, record {items[error.index].record}"
            raise error.changed(argument=place, index=None) from None


def _new_digest() -> Any:
    return hashlib.blake2b(digest_size=16)


def _feed(digest: Any, entry: Entry) -> None:
    """Add the identity of a record to a digest."""
    for part in (entry.id, entry.text):
        content = part.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "big") + content)
