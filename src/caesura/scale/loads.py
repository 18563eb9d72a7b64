"""Load many files into a database: workers write parts, and this process loads them.

::

    pieces of files -> look: records, columns -> made_rows: a part of Parquet -> sink
                                                     |                            |
                                          digests of batches  -->  watermark  <---+

The watermark of a file says how many of its batches are stored, as in `caesura.records.load`; its
digest is chained over batches, so that it is known without reading their records again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.executors import Executor, opened
from caesura.executors.failures import WorkerDiedError, outcomes
from caesura.models.rules import check_rule_labels
from caesura.records import Loaded
from caesura.records.formats import check_text_column, form_of
from caesura.records.inputs import Reading, Survey
from caesura.records.layout import Stamp, check_threshold, layout_of, storable
from caesura.records.load_run import warn_of_ids
from caesura.records.sinks import sink_for
from caesura.records.splitting import splitter
from caesura.records.versions import labels_of, version_of
from caesura.scale import places
from caesura.scale.bulk import AT_ONCE, MANIFEST
from caesura.scale.load_driver import Driver, File, given_by
from caesura.scale.load_parts import LoadTask, Look, LookTask, Made, look, made_rows, remembered
from caesura.scale.models import ModelSource
from caesura.scale.pieces import PART_SIZE, pieces_of

__all__ = ["LoadManifest", "LoadedFile", "load_files"]


class LoadedFile(NamedTuple):
    """One input file and its status.

    Examples
    --------
    >>> LoadedFile("a.txt", failure="a.txt: No such file or directory").loaded is None
    True
    """

    input: str
    loaded: Loaded | None = None
    parts: int = 0  # number of pieces of the file
    failure: str | None = None  # why it is not loaded completely

    def as_json(self) -> dict[str, Any]:
        """Return what the manifest has."""
        counts = {} if self.loaded is None else self.loaded._asdict()
        kept = ("source", "records", "rows", "written", "review", "skipped", "stale", "repeated")
        counts = {name: counts[name] for name in kept if name in counts}
        counts["quarantined"] = counts.pop("skipped", 0)
        return {"input": self.input, **counts, "parts": self.parts, "failure": self.failure}


class LoadManifest(NamedTuple):
    """The result of a load of many files, also written to manifest.json.

    Examples
    --------
    >>> LoadManifest("a.db", "records", "a.db.parts", (), 0.1).failed
    ()
    """

    into: str
    table: str
    folder: str  # the folder with the parts
    files: tuple[LoadedFile, ...]
    seconds: float

    @property
    def failed(self) -> tuple[LoadedFile, ...]:
        """The files that are not completely loaded."""
        return tuple(file for file in self.files if file.failure is not None)

    @property
    def loads(self) -> tuple[Loaded, ...]:
        """The result for each file."""
        return tuple(file.loaded for file in self.files if file.loaded is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the content of the manifest file."""
        names = ("records", "rows", "written", "review", "stale", "flagged", "repeated")
        totals: dict[str, Any] = {"into": self.into, "table": self.table}
        totals |= {name: sum(getattr(one, name) for one in self.loads) for name in names}
        totals["quarantined"] = sum(one.skipped for one in self.loads)
        totals |= {"failed": len(self.failed), "files": [file.as_json() for file in self.files]}
        return totals


def load_files(
    model: str | os.PathLike[str],
    paths: Iterable[str | os.PathLike[str]],
    into: str | os.PathLike[str],
    table: str = "records",
    *,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
    part_size: float = PART_SIZE,
    text_column: str | None = None,
    id_column: str | None = None,
    carry: Sequence[str] | None = None,
    split: Literal["auto", "lines", "paragraphs", "none"] = "auto",
    threshold: float = 0.9,
    verbatim: bool = False,
    replace: bool = False,
    constraints: Any = None,
    model_name: str | None = None,
    source_name: str | None = None,
    format: Literal["text", "csv", "jsonl", "parquet", "xlsx"] | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    batch: int = 5000,
    wait: float = 10.0,
    trust: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> LoadManifest:
    r"""Segment the strings of many files and write them as the rows of one table.

    The rows are those that `caesura.records.load` writes for each file. Workers write parts, and
    this process loads them, each batch in one transaction. A load may be killed at any moment and
    started again: no row is lost or there twice, and parts that are complete are used. Records
    that cannot be read or segmented go to ``PART.bad.jsonl`` in the folder of parts. A file that
    fails does not keep the others from being loaded.

    Parameters
    ----------
    model : path
        A model file, which all workers can open.
    paths : iterable of paths or URLs
        The files; URLs are those that fsspec knows, as ``s3://bucket/new.txt``.
    into : str or path
        The database, as in `caesura.records.load`.
    table : str
        The name of the table; it is created if it does not exist.
    folder : path or URL, optional
        Where workers write parts, which all of them and this process can reach; by default INTO
        with ``.parts`` after it. The rows of a part are removed once they are loaded, and
        ``manifest.json`` with counts and failures stays.
    executor : None, int, Client, "ray" or Executor
        Who works on the files; see `opened`.
    part_size : float
        Files of text, of JSON lines and of Parquet with more megabytes than this are cut into
        pieces of about this size.
    text_column : str, optional
        The column with the text, as in `caesura.records.load`; it is the same in all files.
    source_name : str, optional
        Name for the input in the table, as in `caesura.records.load`, if there is only one file.
    trust : bool
        Whether the model may run code of its own, as in `caesura.load`.
    progress : callable, optional
        Called with the number of parts that are stored, and that of all.

    Returns
    -------
    LoadManifest
        What was done.

    Notes
    -----
    All other parameters are as in `caesura.records.load`. Columns that only some of the files have
    are null in the rows of the others.

    Examples
    --------
    >>> import pathlib, sqlite3, tempfile, caesura
    >>> X, y = ["Codd (1970).", "Gray (1981)."], [[(0, 1, "author"), (1, 5, "year")]] * 2
    >>> with tempfile.TemporaryDirectory() as place:
    ...     caesura.SemiCRF(c2=0.01).fit(X, y).save(pathlib.Path(place, "model"))
    ...     for name in ("a.txt", "b.txt"):
    ...         _ = pathlib.Path(place, name).write_text("Lamport (1978).\n")
    ...     names = [pathlib.Path(place, name) for name in ("a.txt", "b.txt")]
    ...     into = pathlib.Path(place, "papers.db")
    ...     done = load_files(pathlib.Path(place, "model"), names, into, "papers")
    ...     with sqlite3.connect(into) as connection:
    ...         connection.execute("SELECT record, author, year FROM papers").fetchall()
    [('1', 'Lamport', '1978'), ('1', 'Lamport', '1978')]
    >>> [file.loaded.written for file in done.files]
    [1, 1]
    """
    began = time.perf_counter()
    whole("batch", batch, 1)
    check_threshold(threshold)
    splitter(split)
    names = [places.plain(path) for path in paths]
    if not names or (source_name is not None and len(names) > 1):
        came = f"{len(names)} with source_name" if names else "none"
        raise InvalidInput(
            place="paths", got=came, expected="at least one file", remedy="check the pattern"
        )
    kept = None if carry is None else tuple(map(str, carry))
    reading = Reading(text_column, id_column, kept, format, encoding, source_name)
    reading = reading._replace(separator=separator)
    source = ModelSource.of(model, trust, executor)
    loaded = source.loaded()
    labels = labels_of(loaded)
    check_rule_labels(constraints, [*labels, loaded.outside])
    name = storable(model_name or Path(source.path).stem)
    stamp = Stamp("", name, version_of(loaded), threshold)
    place = _folder(folder, into)
    files = _files(names, reading, part_size)
    if {file.form for file in files} == {"text"}:
        check_text_column(names[0], "text", text_column)
    looking = LookTask(place, reading, split, batch)
    sink = sink_for(os.fspath(into), wait)
    with opened(executor) as engine, contextlib.closing(sink):
        _look(files, looking, engine)
        columns = _merged(files, reading)
        layout = layout_of(table, labels, columns, verbatim)
        task = LoadTask(looking, source, layout, constraints)
        driver = Driver(task, stamp, loaded, sink)
        sink.begin(layout.table)
        jobs = driver.start(files, replace)
        made = outcomes(engine, partial(made_rows, task), [job for _, job in jobs])
        driver.load(jobs, (_survived(one, Made) for one in made), progress)
    for file in files:
        if file.run is not None:
            warn_of_ids(file.run)
    seconds = time.perf_counter() - began
    done = tuple(_result(file, driver, table, seconds) for file in files)
    manifest = LoadManifest(str(sink), table, place, done, seconds)
    places.put_text(places.joined(place, MANIFEST), json.dumps(manifest.as_json(), indent=1))
    return manifest


def _survived(found: Any, kind: type[Look] | type[Made]) -> Any:
    """Return a result; a failure if workers died of it."""
    return kind(failure=str(found)) if isinstance(found, WorkerDiedError) else found


def _folder(folder: str | os.PathLike[str] | None, into: str | os.PathLike[str]) -> str:
    """Return the folder of the parts, created if it does not exist."""
    target = os.fspath(into)
    if folder is None and "://" in target:
        expected = "a folder for the parts, as the target is a URL"
        raise InvalidInput(message("folder", None, expected, "name one that all workers can reach"))
    place = f"{target}.parts" if folder is None else places.plain(folder)
    if not places.is_url(place):
        os.makedirs(place, exist_ok=True)
    places.refreshed(place)
    return place


# ---- inputs --------------------------------------------------------------------------------------


def _files(names: list[str], reading: Reading, size: float) -> list[File]:
    """Return the inputs, or raise if two would share part names."""
    if not size > 0:
        expected = "a number of megabytes above 0"
        raise InvalidInput(message("part_size", size, expected, "pass for example 16"))
    for url in {name.partition("://")[0]: name for name in names}.values():
        places.refreshed(url)
    files: list[File] = []
    taken: dict[str, str] = {}
    for name in names:
        form = reading.format or form_of(name)
        source = name if places.is_url(name) else os.path.realpath(name)
        pieces = pieces_of(name, form, reading.encoding, size)
        for piece in pieces:
            other = taken.setdefault(piece.name, name)
            if other != name or name in [file.path for file in files]:
                expected = "files with different names, by which parts are called"
                raise InvalidInput(message("paths", name, expected, f"rename it, or {other}"))
        files.append(File(name, storable(reading.name or source), form, pieces))
    return files


def _look(files: list[File], task: LookTask, engine: Executor) -> None:
    """Survey all new pieces."""
    items = [(piece, file.form, file.source) for file in files for piece in file.pieces]
    with ThreadPoolExecutor(AT_ONCE) as readers:
        before = list(readers.map(partial(remembered, task), items))
    left = [item for item, one in zip(items, before, strict=True) if one is None]
    seen = (_survived(one, Look) for one in outcomes(engine, partial(look, task), left))
    looks = iter([next(seen) if one is None else one for one in before])
    for file in files:
        file.looks = [next(looks) for _ in file.pieces]
        wrong = [one.failure for one in file.looks if one.failure is not None]
        if wrong:
            file.failure = wrong[0]
            continue
        file.survey = file.looks[0].survey
        for other in file.looks[1:]:
            file.survey = file.survey.joined(other.survey)


def _merged(files: list[File], reading: Reading) -> dict[str, Any]:
    """Give all inputs the union of their columns; return the carried columns."""
    good = [file for file in files if file.failure is None]
    joined, chosen = Survey(), ""
    for file in good:
        text = file.survey.text
        if text is not None and chosen and text != joined.text:
            expected = f"{joined.text!r}, as in {chosen}"
            remedy = "name the column of all files"
            raise InvalidInput(message("text_column", f"{text!r} in {file.path}", expected, remedy))
        if text is not None and not chosen:
            joined, chosen = joined._replace(text=text), file.path
        joined = joined.joined(file.survey)
    for file in good:
        file.survey = joined._replace(text=file.survey.text, guessed=file.survey.guessed)
    return given_by("the files", joined, reading).columns


def _result(file: File, driver: Driver, table: str, seconds: float) -> LoadedFile:
    """Return the status of a file."""
    run = file.run
    if run is None:
        return LoadedFile(file.path, None, len(file.pieces), file.failure)
    done = Loaded(
        str(driver.sink),
        table,
        file.source,
        run.mark.records,
        run.mark.rows,
        run.written,
        run.review,
        seconds,
        file.quarantined,
        run.mark.stale,
        run.layout.renamed,
        run.flagged,
        run.repeated,
    )
    return LoadedFile(file.path, done, len(file.pieces), file.failure)
