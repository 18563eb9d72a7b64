"""Segmentation of many files, with one output part for each piece of input.

An engine may run a task twice, or kill it at any moment.  So a part has a name that depends on its
input alone and is put in its place whole, and a small file beside it says what it was made from.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

from caesura import corpora
from caesura.corpora.columns import Columns
from caesura.corpora.corpus import KEPT
from caesura.corpora.detection import SUFFIXES
from caesura.corpora.files import unpacked_suffix
from caesura.documents import Document
from caesura.errors import CaesuraError, InvalidInput, message
from caesura.executors import opened
from caesura.executors.failures import WorkerDiedError, outcomes
from caesura.scale import places
from caesura.scale.models import ModelSource
from caesura.scale.pieces import PART_SIZE, Piece, fetched, pieces_of
from caesura.scale.quarantine import BAD, bad_record, check_undamaged, failure, quarantine, refused

__all__ = ["Manifest", "Part", "segment_files"]

BATCH = 1000  # sequences that are segmented at a time
AT_ONCE = 16  # small files that are read at the same time
MANIFEST = "manifest.json"
BESIDE = ".part.json"  # suffix of the file that says what a part was made from


class Part(NamedTuple):
    """One input file, or a piece of it, and its status.

    Examples
    --------
    >>> Part("a.txt", "a.txt.jsonl", sequences=3).failure is None
    True
    """

    input: str
    output: str
    sequences: int = 0  # number of segmented sequences
    segments: int = 0
    quarantined: int = 0  # records that could not be read or segmented
    skipped: bool = False  # whether the output was there already
    failure: str | None = None  # why there is no output
    range: str | None = None  # bytes or row groups of the input; None for all


class Manifest(NamedTuple):
    """The result of a run, also written to manifest.json in its folder.

    Examples
    --------
    >>> parts = (Part("a", "a.jsonl", 3, 5), Part("b", "b.jsonl", failure="no such file"))
    >>> manifest = Manifest("out", parts)
    >>> manifest.sequences, [part.input for part in manifest.failed]
    (3, ['b'])
    """

    folder: str
    parts: tuple[Part, ...]

    @property
    def sequences(self) -> int:
        """The number of sequences in all parts."""
        return sum(part.sequences for part in self.parts)

    @property
    def failed(self) -> tuple[Part, ...]:
        """The failed parts."""
        return tuple(part for part in self.parts if part.failure is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the content of the manifest file."""
        names = ("sequences", "segments", "quarantined")
        totals = {name: sum(getattr(part, name) for part in self.parts) for name in names}
        totals["failed"] = len(self.failed)
        return totals | {"parts": [part._asdict() for part in self.parts]}


class _Job(NamedTuple):
    """A part to make."""

    piece: Piece
    output: str
    options: Mapping[str, Any]  # options of the corpus reader


class _Task(NamedTuple):
    """The settings that all workers share."""

    model: ModelSource
    to: str

    def made_of(self, job: _Job) -> dict[str, Any]:
        """Return the inputs and settings that determine a part."""
        about = {**(job.piece.state or {}), "range": job.piece.range, "model": self.model.crc}
        return about | {"options": repr(sorted(job.options.items()))}


def segment_files(
    model: str | os.PathLike[str],
    paths: Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    to: str = "jsonl",
    executor: Any = None,
    trust: bool = False,
    part_size: float = PART_SIZE,
    progress: Callable[[Part, int], object] | None = None,
    **options: Any,
) -> Manifest:
    r"""Segment the sequences of many files, and write one part for each file or piece.

    A run that was stopped, or in which workers died, can be repeated: parts that are complete, and
    whose input and model have not changed, are left as they are.  Records that cannot be read or
    segmented go to a file of their own, ``PART.bad.jsonl``.  A file that fails does not keep the
    others from being finished.

    Parameters
    ----------
    model : path
        A model file, which all workers can open.
    paths : iterable of paths or URLs
        The files, as `caesura.corpora.read` takes them, or URLs that fsspec knows, as
        ``s3://bucket/new.txt``.
    folder : path or URL
        Where the parts, and ``manifest.json`` with counts and failures, are written.
    to : {"jsonl", "conll", "csv", "parquet", "xlsx", "xml", "text"}
        The format of the parts.
    executor : None, int, Client, "ray" or Executor
        Who works on the files; see `opened`.
    trust : bool
        Whether the model may run code of its own, as in `caesura.load`.
    part_size : float
        Files of text, of JSON lines and of Parquet with more megabytes than this are cut into
        pieces of about this size: between lines, and between row groups.
    progress : callable, optional
        Called with each `Part` when it is finished, in order, and the number of all parts.
    **options
        Options of `caesura.corpora.read`, as ``format`` or ``text``.

    Returns
    -------
    Manifest
        What was done.

    Notes
    -----
    The part of ``new.txt`` is ``new.txt.jsonl``, or ``new.txt.00000.jsonl``,
    ``new.txt.00001.jsonl`` and so on if it is cut.  Cuts depend on the file and `part_size`, and
    not on the number of workers.

    Examples
    --------
    >>> import os, tempfile, caesura
    >>> from caesura.demo import addresses
    >>> with tempfile.TemporaryDirectory() as place:
    ...     file, out = os.path.join(place, "model"), os.path.join(place, "out")
    ...     caesura.SemiCRF(max_iterations=5).fit(addresses(30)).save(file)
    ...     some = os.path.join(place, "new.txt")
    ...     with open(some, "w") as text:
    ...         _ = text.write("12 High Street Leeds\n7 Park Lane York\n")
    ...     first = segment_files(file, [some], out)
    ...     again = segment_files(file, [some], out)
    ...     sorted(os.listdir(out))
    ['manifest.json', 'new.txt.jsonl', 'new.txt.jsonl.part.json']
    >>> first.sequences, first.parts[0].skipped, again.parts[0].skipped
    (2, False, True)
    """
    if to not in corpora.FORMATS or to == "brat":
        known = ", ".join(name for name in corpora.FORMATS if name != "brat")
        raise InvalidInput(message("to", to, f"one of {known}", "pass one of them"))
    if not isinstance(part_size, int | float) or not part_size > 0:
        expected = "a number of megabytes above 0"
        raise InvalidInput(message("part_size", part_size, expected, "pass for example 16"))
    place = places.plain(folder)
    jobs = _jobs([places.plain(path) for path in paths], place, to, part_size, options)
    task = _Task(ModelSource.of(model, trust, executor), to)
    if not places.is_url(place):
        os.makedirs(place, exist_ok=True)
    _remove_others(place, jobs, to)
    parts = []
    with ThreadPoolExecutor(AT_ONCE) as readers, opened(executor) as engine:
        before = list(readers.map(partial(_before, task), jobs))
        left = [job for job, part in zip(jobs, before, strict=True) if part is None]
        made = (
            _failed(job, found) if isinstance(found, WorkerDiedError) else found
            for job, found in zip(left, outcomes(engine, partial(_part, task), left), strict=True)
        )
        for part in before:
            parts.append(next(made) if part is None else part)
            if progress is not None:
                progress(parts[-1], len(jobs))
    manifest = Manifest(place, tuple(parts))
    places.put_text(places.joined(place, MANIFEST), json.dumps(manifest.as_json(), indent=1))
    return manifest


# ---- planning ------------------------------------------------------------------------------------


def _jobs(
    names: list[str], folder: str, to: str, size: float, options: Mapping[str, Any]
) -> list[_Job]:
    """Return the parts to make, or raise if two have the same name."""
    if not names:
        raise InvalidInput(
            place="paths", got="none", expected="at least one file", remedy="pass names of files"
        )
    for url in {name.partition("://")[0]: name for name in [*names, folder]}.values():
        places.refreshed(url)
    made: dict[str, _Job] = {}
    for name in names:
        form = options.get("format") or _form(name)
        cut = pieces_of(name, form, options.get("encoding") or "utf-8", size)
        given = dict(options)
        if len(cut) > 1 and form != "text" and given.get("text") is None:
            given |= _columns(cut[0], options)
        for piece in cut:
            output = places.joined(folder, f"{piece.name}.{to}")
            if output in made:
                other = made[output].piece.path
                expected = "files with different names, by which parts are called"
                raise InvalidInput(message("paths", name, expected, f"rename it, or {other}"))
            made[output] = _Job(piece, output, given)
    return list(made.values())


def _form(name: str) -> str | None:
    """Return the format of a file; for remote files, by name only."""
    if places.is_url(name) or not os.path.exists(name):
        return SUFFIXES.get(unpacked_suffix(name))
    return corpora.detect(name)


def _columns(first: Piece, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns to read, as determined by the first piece of a file."""
    with fetched(first) as local:
        corpus = corpora.read(local, on_error="skip", **options)
        next(iter(corpus), None)
    found = corpus.columns
    return {} if found is None else {"text": found.text, "labels": list(found.labels)}


def _remove_others(folder: str, jobs: Iterable[_Job], to: str) -> None:
    """Remove parts of the same files with another division, whose rows would be duplicates."""
    files = {job.piece.path for job in jobs}
    wanted = {f"{job.piece.name}.{to}" for job in jobs}
    for name in places.listed(folder):
        part = name.removesuffix(BESIDE)
        if part == name or not part.endswith(f".{to}") or part in wanted:
            continue
        place = places.joined(folder, part)
        made = beside(place)
        if made is not None and made["part"]["input"] in files:
            for suffix in ("", BAD, BESIDE):
                places.remove(place + suffix)


# ---- work on one part ----------------------------------------------------------------------------


def _part(task: _Task, job: _Job) -> Part:
    """Make a part, unless a duplicate task has done so."""
    before = _before(task, job)
    if before is not None:
        return before
    model = task.model.loaded()
    try:
        part = _written(model, job, task.to)
        about = {"made_of": task.made_of(job), "part": part._asdict()}
        places.put_text(job.output + BESIDE, json.dumps(about))
        return part
    except Exception as error:
        return _failed(job, error)


def _failed(job: _Job, error: Exception) -> Part:
    """Return a part that could not be made."""
    piece = job.piece
    return Part(piece.path, job.output, failure=failure(error, piece), range=piece.range)


def beside(output: str) -> dict[str, Any] | None:
    """Return the metadata stored beside a part; None if there is none."""
    try:
        found = json.loads(places.read_text(output + BESIDE))
        Part(**found["part"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(found)


def _before(task: _Task, job: _Job) -> Part | None:
    """Return the part of an earlier run, if it is complete and has the same input and model."""
    found = beside(job.output)
    if found is None or found.get("made_of") != task.made_of(job) or not places.exists(job.output):
        return None
    return Part(**found["part"])._replace(output=job.output, skipped=True)


def _written(model: Any, job: _Job, to: str) -> Part:
    """Segment a piece."""
    piece, bad = job.piece, list[tuple[CaesuraError, str]]()
    counts = [0, 0]
    with fetched(piece) as local, places.written_to(job.output) as target:
        options = {"tokeniser": model.tokeniser_, **job.options}
        corpus = corpora.read(local, on_error="skip", **options)

        def answers() -> Iterator[Document]:
            documents = iter(corpus)
            while some := list(islice(documents, BATCH)):
                for document, segments in _segmented(model, some, bad):
                    counts[0] += 1
                    counts[1] += len(segments)
                    yield _with_segments(document, tuple(segments))
            check_undamaged(corpus.notes.errors)

        kept = KEPT.set(2**62)
        try:
            found = answers()
            first = list(islice(found, 1))  # determines the separator
            corpora.write(target, chain(first, found), to, **_separator(corpus.columns, to))
        finally:
            KEPT.reset(kept)
        records = refused(piece, local, corpus.notes.errors)
    for error, record in bad:
        inner = error.part.lstrip(".: ") if error.argument == "X" else error.place
        records.append(bad_record(error.changed(file=piece.shown, place=inner)))
        records[-1]["record"] = record
    quarantine(job.output + BAD, records)
    n, cut = counts
    return Part(piece.path, job.output, n, cut, len(records), range=piece.range)


def _separator(columns: Columns | None, to: str) -> dict[str, Any]:
    """Return the option for the cell separator of the input; after tabs, CSV files have commas.

    Examples
    --------
    >>> _separator(Columns(("id", "text"), "text", (), separator=";"), "csv")
    {'separator': ';'}
    """
    own = None if columns is None or to != "csv" else columns.separator
    return {} if own in (None, "\t") else {"separator": own}


def _with_segments(document: Document, segments: tuple[Any, ...]) -> Document:
    """Return a document with predicted segments, without checks."""
    made = copy.copy(document)
    object.__setattr__(made, "segments", segments)
    return made


def _segmented(
    model: Any, documents: list[Document], bad: list[tuple[CaesuraError, str]]
) -> list[tuple[Document, Any]]:
    """Return documents with their segments; one by one if one of them fails."""
    try:
        return list(zip(documents, model.predict(documents), strict=True))
    except CaesuraError as error:
        if len(documents) == 1:
            text = documents[0].text
            record = " ".join(documents[0].tokens) if text is None else text
            bad.append((error, record))
            return []
    return [found for one in documents for found in _segmented(model, [one], bad)]
