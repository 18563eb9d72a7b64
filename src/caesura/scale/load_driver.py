"""The driver process, which loads finished parts into the database."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from caesura.records.inputs import Input, Reading, Survey
from caesura.records.layout import Stamp
from caesura.records.load_run import Run
from caesura.records.sinks import Sink
from caesura.scale import places
from caesura.scale.load_parts import Batch, LoadTask, Look, Made, RowJob
from caesura.scale.pieces import Piece, fetched

__all__ = ["Driver", "File", "given_by"]


class File:
    """An input and its progress."""

    def __init__(self, path: str, source: str, form: str, pieces: list[Piece]) -> None:
        self.path, self.source, self.form, self.pieces = path, source, form, pieces
        self.looks: list[Look] = []
        self.survey = Survey()  # survey of all pieces
        self.run: Run | None = None
        self.done = 0, 0  # number of stored pieces, and of stored batches of the next one
        self.quarantined = 0
        self.failure: str | None = None


def given_by(name: str, survey: Survey, reading: Reading) -> Input:
    """Return an input with the columns of a survey, without its records."""
    kinds: dict[str, Any] = {}
    if survey.text is not None:
        kinds = dict(survey.kinds)
    return Input(name, lambda: iter(()), reading._replace(text=survey.text), kinds=kinds)


def _chained(before: str, digest: str) -> str:
    """Return the digest of batches; for one batch, its own, as in plain loads."""
    both = (before + digest).encode()
    return hashlib.blake2b(both, digest_size=16).hexdigest() if before else digest


Jobs = list[tuple[File, RowJob]]


class Driver:
    """Loads parts, in a thread of its own."""

    def __init__(self, task: LoadTask, stamp: Stamp, model: Any, sink: Sink) -> None:
        self.task, self.stamp, self.model, self.sink = task, stamp, model, sink
        self._broken = False  # after a failure, nothing more may be stored

    def start(self, files: list[File], replace: bool) -> Jobs:
        """Determine what is stored, and return the remaining pieces."""
        jobs: Jobs = []
        for file in files:
            if file.failure is not None:
                continue
            stamp = self.stamp._replace(source=file.source)
            given = given_by(file.source, file.survey, self.task.look.reading)
            layout, rules, split = self.task.layout, self.task.constraints, self.task.look.split
            run = file.run = Run(self.model, given, layout, stamp, rules, split, self.sink)
            run.start(replace)
            self._resume(file, run)
            first = 1
            for piece, seen in zip(file.pieces, file.looks, strict=True):
                if piece.number >= file.done[0]:
                    job = RowJob(piece, file.form, stamp, first, seen.survey, file.survey)
                    jobs.append((file, job))
                elif seen.made is not None:
                    file.quarantined += seen.made.quarantined
                first += seen.survey.records
        return jobs

    def _resume(self, file: File, run: Run) -> None:
        """Find the batch at the watermark; if there is none, the input has changed."""
        stored = run.stored
        if stored is None:
            return
        records, digest = 0, ""
        for k, seen in enumerate(file.looks):
            if seen.made is None:
                break
            for b, batch in enumerate(seen.made.batches, 1):
                records, digest = records + batch.records, _chained(digest, batch.digest)
                if (records, digest) == (stored.records, stored.digest):
                    file.done = (k + 1, 0) if b == len(seen.made.batches) else (k, b)
                    run.mark = stored
                    return
        run.restart(stored)

    def load(
        self, jobs: Jobs, parts: Iterator[Made], progress: Callable[[int, int], object] | None
    ) -> None:
        """Load parts in the order of the files, as soon as they are made."""
        waiting: deque[Future[None]] = deque()
        done = 0

        def settle() -> None:
            nonlocal done
            waiting.popleft().result()
            done += 1
            if progress is not None:
                progress(done, len(jobs))

        with ThreadPoolExecutor(1) as writer:
            try:
                for (file, job), made in zip(jobs, parts, strict=True):
                    waiting.append(writer.submit(self._part, file, job, made))
                    while waiting and waiting[0].done():
                        settle()
                while waiting:
                    settle()
            except BaseException:
                self._broken = True
                raise

    def _part(self, file: File, job: RowJob, made: Made) -> None:
        """Load one part, unless one before it has failed."""
        if file.failure is None:
            file.failure = made.failure
        if self._broken or file.failure is not None:
            return
        try:
            self._store(file, job.piece, made)
        except BaseException:
            self._broken = True
            raise

    def _store(self, file: File, piece: Piece, made: Made) -> None:
        """Store the remaining batches of a part, and delete its rows file."""
        from pyarrow import parquet

        run, output = file.run, self.task.look.place(piece)
        assert run is not None, "start comes first"
        file.quarantined += made.quarantined
        after = file.done[1] if piece.number == file.done[0] else 0
        with fetched(Piece(output, None)) as local, parquet.ParquetFile(local) as table:
            group = 0
            for b, batch in enumerate(made.batches):
                if b >= after:
                    rows = table.read_row_group(group).to_pydict() if batch.rows else None
                    ends = piece == file.pieces[-1] and b + 1 == len(made.batches)
                    self._write(run, batch, rows, ends)
                group += batch.rows > 0
        places.remove(output)

    def _write(self, run: Run, batch: Batch, rows: Any, ends: bool) -> None:
        """Store a batch, and the watermark."""
        mark = run.mark
        cells = rows or {column.name: [] for column in run.layout.table.columns}
        stale, repeated = mark.stale, batch.repeated
        if mark.mixed and rows:
            known = self.sink.known(cells["row_id"])
            new = [i for i, key in enumerate(cells["row_id"]) if key not in known]
            cells = {name: [values[i] for i in new] for name, values in cells.items()}
            stale = max(stale - len(known), 0)
        run.mark = mark._replace(
            records=mark.records + batch.records,
            digest=_chained(mark.digest, batch.digest),
            rows=mark.rows + batch.rows,
            finished=ends,
            stale=stale,
        )
        written = self.sink.write(cells, run.kept)
        run.written += written
        run.review += sum(cells["review"])
        if run.given.reading.id is not None:
            repeated += len(cells["row_id"]) - written
        run.repeated += repeated
        run.conflicts += batch.conflicts
