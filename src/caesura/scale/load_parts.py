"""The work of load workers: survey pieces of inputs, and write their rows as Parquet parts."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, NamedTuple

from caesura.corpora.files import replacing
from caesura.corpora.kinds import Kind, settled
from caesura.errors import CaesuraError
from caesura.records.inputs import Entry, Input, Reading, Survey, file_records, surveyed
from caesura.records.layout import Cells, Layout, Stamp
from caesura.records.load_run import Run, feed, new_digest
from caesura.records.sink_duckdb import arrow_table, pyarrow_module
from caesura.records.splitting import Split
from caesura.scale import places
from caesura.scale.models import ModelSource
from caesura.scale.pieces import Piece, fetched
from caesura.scale.quarantine import BAD, bad_record, check_undamaged, failure, quarantine, refused

__all__ = [
    "Batch",
    "LoadTask",
    "Look",
    "LookTask",
    "Made",
    "RowJob",
    "look",
    "made_rows",
    "remembered",
]

BESIDE = ".part.json"


class Batch(NamedTuple):
    """The rows stored in one transaction."""

    records: int
    rows: int
    digest: str  # hash of the ids of the records
    repeated: int  # strings with the id of an earlier one in the batch
    conflicts: int = 0  # records with the id of an earlier one of the piece, and another text


class Made(NamedTuple):
    """The rows made from a piece."""

    batches: tuple[Batch, ...] = ()
    quarantined: int = 0
    failure: str | None = None


class Look(NamedTuple):
    """The survey of a piece, and its earlier result."""

    survey: Survey = Survey()
    made: Made | None = None
    failure: str | None = None


class LookTask(NamedTuple):
    """The settings that all workers share."""

    folder: str
    reading: Reading
    split: Split
    batch: int

    def place(self, piece: Piece) -> str:
        """Return the path of the rows of a piece."""
        return places.joined(self.folder, f"{piece.name}.rows.parquet")

    def made_of(self, piece: Piece) -> dict[str, Any]:
        """Return the settings that determine the records of a piece."""
        options = repr((self.reading, self.split, self.batch))
        return {**(piece.state or {}), "range": piece.range, "options": options}


class LoadTask(NamedTuple):
    """The settings that all workers share."""

    look: LookTask
    model: ModelSource
    layout: Layout
    constraints: Any

    def rows_of(self, stamp: Stamp) -> str:
        """Return the settings that determine rows, besides their records."""
        return repr((stamp, self.layout, self.constraints))


class RowJob(NamedTuple):
    """A piece whose rows are to be made."""

    piece: Piece
    form: str
    stamp: Stamp
    first: int  # number of its first record
    own: Survey  # survey of the piece
    survey: Survey  # survey of all pieces of all files, with the text column of the piece's file


def remembered(task: LookTask, item: tuple[Piece, str, str]) -> Look | None:
    """Return the stored survey of an unchanged piece, and its result."""
    piece = item[0]
    found = _beside(task.place(piece))
    if found is None or found["made_of"] != task.made_of(piece):
        return None
    batches = tuple(Batch(*one) for one in found["batches"])
    return Look(Survey(**found["survey"]), Made(batches, found["quarantined"]))


def look(task: LookTask, item: tuple[Piece, str, str]) -> Look:
    """Survey a piece."""
    piece, form, source = item
    try:
        with fetched(piece) as local:
            return Look(surveyed(local, form, task.reading, source, piece.number == 0))
    except Exception as error:
        return Look(failure=failure(error, piece))


def _beside(output: str) -> dict[str, Any] | None:
    """Return the metadata stored beside a part; None if there is none."""
    try:
        found = json.loads(places.read_text(output + BESIDE))
    except (OSError, ValueError):
        return None
    names = {"made_of", "rows_of", "survey", "batches", "quarantined"}
    return found if isinstance(found, dict) and names <= found.keys() else None


def made_rows(task: LoadTask, job: RowJob) -> Made:
    """Write the rows of a piece, unless that was done before."""
    piece, output = job.piece, task.look.place(job.piece)
    made_of, rows_of = task.look.made_of(piece), task.rows_of(job.stamp)
    found = _beside(output)
    same = found is not None and (found["made_of"], found["rows_of"]) == (made_of, rows_of)
    if found is not None and same and places.exists(output):
        return Made(tuple(Batch(*one) for one in found["batches"]), found["quarantined"])
    model = task.model.loaded()
    try:
        made = _written(task, job, model, output)
        about: dict[str, Any] = {"made_of": made_of, "rows_of": rows_of}
        about["survey"] = job.own._asdict()
        about |= {"batches": made.batches, "quarantined": made.quarantined}
        places.put_text(output + BESIDE, json.dumps(about))
        return made
    except Exception as error:
        return Made(failure=failure(error, piece))


def _written(task: LoadTask, job: RowJob, model: Any, output: str) -> Made:
    """Write the rows of a piece: a row group for each batch that has rows."""
    pyarrow_module("load with an executor")
    from pyarrow import parquet

    columns, batches, bad = task.layout.table.columns, list[Batch](), list[dict[str, Any]]()
    schema = arrow_table(columns, {column.name: [] for column in columns}).schema
    with fetched(job.piece) as local, places.written_to(output) as target:
        given = _input(task, job, local)
        none: Any = None
        run = Run(model, given, task.layout, job.stamp, task.constraints, task.look.split, none)
        entries = iter(given)
        with replacing(target) as file, parquet.ParquetWriter(file, schema) as writer:
            while (some := list(islice(entries, task.look.batch))) or not batches:
                before, conflicts = run.repeated, run.conflicts
                cells = _rows(run, some, bad)
                table = arrow_table(columns, cells)
                if table.num_rows:
                    writer.write_table(table, row_group_size=table.num_rows)
                digest = new_digest()
                for entry in some:
                    feed(digest, entry)
                counts = run.repeated - before, run.conflicts - conflicts
                batches.append(Batch(len(some), table.num_rows, digest.hexdigest(), *counts))
            check_undamaged(given.skipped)
        bad = refused(job.piece, local, given.skipped) + bad
    quarantine(output.removesuffix(".rows.parquet") + BAD, bad)
    return Made(tuple(batches), len(bad))


def _input(task: LoadTask, job: RowJob, local: str) -> Input:
    """Return the records of a piece, with the columns of all pieces."""
    reading = task.look.reading._replace(text=job.survey.text, skip=True)
    records, _, _ = file_records(local, job.form, reading)
    kinds: dict[str, Kind] = {name: settled(kind) for name, kind in job.survey.kinds.items()}
    given = Input(job.stamp.source, records, reading, kinds=kinds)
    given.first, given.kept = job.first, 2**62
    return given


def _rows(run: Run, entries: list[Entry], bad: list[dict[str, Any]]) -> Cells:
    """Return the rows of records, without those that cannot be segmented."""
    repeated, conflicts = run.repeated, run.conflicts
    try:
        return run.rows(entries)
    except CaesuraError:
        good = []
    for entry in entries:
        try:
            run.rows([entry])
            good.append(entry)
        except CaesuraError as error:
            bad.append(bad_record(error) | {"record": entry.text})
    run.repeated, run.conflicts = repeated, conflicts  # counted for all records, and once more here
    return run.rows(good)
