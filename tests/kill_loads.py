"""Loads that are killed at random moments, and what is left of them.

Each trial starts a load in a process of its own, kills it (SIGKILL) after a random time, looks at
what is stored, and starts it again, until a load has ended by itself. What is stored then must
be what an undisturbed load stores.
"""

from __future__ import annotations

import multiprocessing
import random
import signal
import time
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple

from load_cases import marks, rows

import caesura
from caesura.records import Progress, load

BATCH = 20


def context() -> ForkServerContext:
    """Return what starts processes that have everything imported, and no threads yet."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["caesura.records", "caesura.models", "duckdb", "pyarrow.parquet"])
    return made


class Job(NamedTuple):
    """What is loaded, again and again."""

    model: str  # path of the model file
    source: list[str]


def run(ready: Event, early: bool, job: Job, into: str) -> None:
    """Load, in a process of its own; say when it begins, or when the first batch is stored."""
    if early:
        ready.set()

    def said(progress: Progress) -> None:
        if progress.rows:
            ready.set()

    model = caesura.load(job.model).set_params(n_threads=2)  # batches are then written in a thread
    name = Path(job.model).stem
    load(
        *(model, job.source, into),
        batch=BATCH,
        source_name="addresses",
        model_name=name,
        progress=said,
    )


def started(make: ForkServerContext, job: Job, into: str, early: bool) -> ForkServerProcess:
    """Start a load; return once it has begun, or stored its first batch."""
    ready = make.Event()
    process = make.Process(target=run, args=(ready, early, job, into))
    process.start()
    while not ready.wait(0.01) and process.is_alive():
        pass
    return process


def checked(into: str, job: Job, whole: list[Any]) -> int:
    """Check that what is stored is a prefix of the batches, each whole; return its length."""
    try:
        there = rows(into)
    except Exception as error:  # the table does not exist yet
        if "exist" in str(error) or "no such table" in str(error):
            return 0
        raise
    known = {row["row_id"]: row for row in whole}
    assert len({row["row_id"] for row in there}) == len(there), "a row is there twice"
    assert all(known[row["row_id"]] == row for row in there), "a row is not as it should be"
    numbers = sorted(int(row["record"]) for row in there)
    assert numbers == list(range(1, len(numbers) + 1)), "a row is missing"
    assert len(numbers) % BATCH == 0 or len(numbers) == len(job.source), "half of a batch"
    if stored := marks(into):
        [mark] = stored
        assert (mark["records"], mark["rows"]) == (len(numbers), len(numbers)), mark
    else:
        assert not numbers or into.endswith(".parquet")
    return len(numbers)


def trial(
    make: ForkServerContext,
    job: Job,
    into: str,
    whole: list[Any],
    draw: random.Random,
    longest: float,
    kills: int = 3,
) -> list[int]:
    """Kill a load several times, then let it end; return how many rows were there each time."""
    reached = [0]
    for _ in range(kills):
        process = started(make, job, into, early=draw.random() < 0.25)
        time.sleep(longest * draw.random() ** 2)  # early kills are more frequent
        process.kill()
        process.join()
        if process.exitcode == 0:  # it ended before it was killed
            break
        assert process.exitcode == -signal.SIGKILL
        reached.append(checked(into, job, whole))
        assert reached[-1] >= reached[-2], "rows are lost"
    process = started(make, job, into, early=True)
    process.join()
    assert process.exitcode == 0
    assert rows(into) == whole
    return reached[1:]


def duration(make: ForkServerContext, job: Job, into: str) -> float:
    """Return how long an undisturbed load writes, in seconds; what it stores is left there."""
    process = started(make, job, into, early=False)
    began = time.perf_counter()
    process.join()
    assert process.exitcode == 0
    return time.perf_counter() - began
