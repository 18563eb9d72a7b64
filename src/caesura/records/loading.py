"""Loading of strings into table rows: idempotent and resumable.

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
import os
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.models.rules import check_rule_labels
from caesura.records.inputs import MEMORY, Reading, input_of
from caesura.records.layout import Stamp, check_threshold, layout_of, storable
from caesura.records.load_run import Progress, Run, warn_of_ids
from caesura.records.matching import KnownValues
from caesura.records.sinks import Sink, sink_for
from caesura.records.splitting import Split
from caesura.records.versions import labels_of, model_of, version_of

__all__ = ["Loaded", "Progress", "load"]

BATCH = 5000  # records stored per transaction


class Loaded(NamedTuple):
    """The result of a load.

    Examples
    --------
    >>> Loaded("a.db", "papers", "refs.txt", 10, 12, 12, 3, 0.1).review
    3
    """

    into: str  # the target
    table: str
    source: str  # the name of the input in rows
    records: int  # number of records in the input
    rows: int  # rows of these records, from this and earlier loads
    written: int  # those written by this load
    review: int  # those flagged for review
    seconds: float
    skipped: int = 0  # unreadable records
    stale: int = 0  # rows of earlier states of the input that it no longer contains
    renamed: dict[str, str] = {}  # label -> stored name, if different  # noqa: RUF012
    flagged: int = 0  # stored rows whose review flag changed with the threshold
    repeated: int = 0  # strings with the id and the text of an earlier record
    renamed_columns: dict[str, str] = {}  # input column -> stored name, likewise  # noqa: RUF012
    reasons: tuple[str, ...] = ()  # why the first records were skipped, with their lines
    damaged: str | None = None  # why the rest of the input could not be read


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
    separator: str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    batch: int = BATCH,
    wait: float = 10.0,
    progress: Callable[[Progress], object] | None = None,
) -> Loaded:
    """Segment strings and write them as the rows of a table.

    A load may be killed at any moment and started again: rows are stored in batches, each in one
    transaction, and no row is lost or duplicated.

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
        Whether a column ``LABEL_text`` holds the original text of each field.
    replace : bool
        Delete the rows of this input and load it again, for example with a better model.
    constraints : dict, optional
        Constraints on every record; as in `predict`.
    known : KnownValues, optional
        Values that the model sees, if it was fitted with their `features`. The fields of rows that
        are not marked for review are added to them after each batch, for the batches that follow.
    model_name, source_name : str, optional
        Names for the model and the input in the table; by default those of the files, ``data`` for
        data in memory, and ``standard input``. Inputs with the same name are one input that grows
        or changes, so name each of several sources in memory.
    format : {"text", "csv", "jsonl", "parquet", "xlsx"}, optional
        The format of a file, if its name does not determine it.
    encoding : str
        The encoding of a file.
    separator : str, optional
        The cell separator of a CSV file; by default a comma, semicolon, tab or bar, as detected.
    on_error : {"raise", "skip"}
        Whether a record that cannot be read is an error, or left out and counted.
    batch : int
        Number of records in memory and in one transaction.
    wait : float
        Seconds to wait while another process has the database locked.
    progress : callable, optional
        Called with a `Progress` before the first batch and after each batch.

    Returns
    -------
    Loaded
        The result of the load.

    Notes
    -----
    The identity of a row is its input, the number or id of its record there, the number of the
    string in a record that was split, and the text: equal strings are different rows. What is
    stored is never changed, but for review flags if `threshold` is another, unless `replace` is
    True; without it, a load of the same input with another model is refused.

    With `known`, what a row becomes depends on the rows before it, so on `batch` too. Values are
    held in memory. A killed load resumes with the values that `known` has then: read those
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
    check_threshold(threshold)
    _check_wait(wait)
    if on_error not in ("raise", "skip"):
        raise InvalidInput(message("on_error", on_error, "'raise' or 'skip'", "pass one of them"))
    loaded, name = model_of(model, model_name)
    kept = None if carry is None else _names(carry)
    skip = on_error == "skip"
    reading = Reading(text_column, id_column, kept, format, encoding, source_name, skip, separator)
    given = input_of(source, reading)
    labels = labels_of(loaded)
    check_rule_labels(constraints, [*labels, loaded.outside])
    layout = layout_of(table, labels, given.columns, verbatim)
    stamp = Stamp(given.name, storable(name), version_of(loaded), threshold)
    if known is not None:
        if not isinstance(known, KnownValues):
            remedy = "pass KnownValues.read(...)"
            raise InvalidInput(message("known", known, "KnownValues", remedy))
        loaded = known.attach(loaded)
    sink = sink_for(into, wait) if isinstance(into, str | os.PathLike) else into
    if not all(hasattr(sink, name) for name in ("begin", "mark", "write", "close")):
        expected = "the name of a file or folder, the URL of a database, or a Sink"
        raise InvalidInput(message("into", into, expected, "pass 'references.duckdb'"))
    run = Run(loaded, given, layout, stamp, constraints, split, sink, known)
    with contextlib.closing(sink):
        sink.begin(layout.table)
        run.start(replace)
        with contextlib.closing(run.batches(batch)) as steps:
            for _ in steps:
                if progress is not None:
                    progress(run.progress(time.perf_counter() - began))
    _check_name(table, run)
    warn_of_ids(run)
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
        run.repeated,
        layout.renamed_columns,
        tuple(map(str, given.skipped)),
        None if given.damaged is None else str(given.damaged),
    )


def _check_name(table: str, run: Run) -> None:
    """Warn of rows that other data of the same default name may have left."""
    reading = run.given.reading
    if run.mark.stale and run.given.name == MEMORY and reading.name is reading.id is None:
        warnings.warn(
            f"source_name: got None, but {table!r} has rows of other data called {MEMORY!r}, and "
            "equal records with equal numbers are stored once; pass a name for each source, or "
            "replace=True to delete the earlier rows",
            stacklevel=3,
        )


def _check_wait(wait: Any) -> None:
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not wait >= 0:
        expected = "a number of seconds, 0 or more"
        raise InvalidInput(message("wait", wait, expected, "pass 10, for example"))


def _names(carry: Any) -> list[str]:
    """Return the names of columns, or raise."""
    if isinstance(carry, str) or not isinstance(carry, Iterable):
        raise InvalidInput(message("carry", carry, "a list of columns", "write ['id', 'price']"))
    return [str(one) for one in carry]
