"""Rows per second from raw strings to a database, its parts, and the memory of a long load.

python bench/load.py --all               # all of the following
python bench/load.py                     # one thread and two, all targets, the share of each part
python bench/load.py --known exact       # the same with a database of known values; or similar
python bench/load.py --memory 1000000    # peak memory over so many rows, and a second load

With two threads, the shares are those of elapsed time.  Rows are then written while the next batch
is segmented, so the shares can add up to more than 100 %.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TARGETS = {"DuckDB": "a.duckdb", "SQLite": "a.db", "Parquet": "a.parquet"}
TASKS = ("citations", "addresses")
PARTS = ("model", "matching", "database")


FIELDS = {"citations": ["author", "journal", "publisher", "title"], "addresses": ["city", "street"]}


def documents(task: str, count: int, seed: int) -> list[Any]:
    from caesura.demo import addresses, citations

    made: Any = citations(count, seed=seed) if task == "citations" else addresses(count, seed=seed)
    return list(made)


def known_values(task: str, count: int) -> Any:
    """Return half of the values of some fields of the strings that are loaded, and more."""
    from caesura.records import KnownValues

    found: dict[str, set[str]] = {label: set() for label in FIELDS[task]}
    for document in [*documents(task, 5000, 3)[::2], *documents(task, count, 11)]:
        for segment in document.segments:
            if segment.label in found:
                found[segment.label].add(document.text_of(segment))
    return KnownValues({label: sorted(some) for label, some in found.items()})


def model_file(task: str, folder: Path, known: str = "no") -> Path:
    """Train a model, once."""
    path = folder / f"{task}-{known}.model"
    if path.exists():
        return path
    if known != "no":
        from caesura import SemiCRF
        from caesura.features import preset

        values = known_values(task, 1000)
        features = [*preset(task, segments=True), *values.features(known == "similar")]
        model: Any = SemiCRF(features, c2=0.1, max_iterations=20)
        model.fit(documents(task, 100, 1))
        model.save(path)
        return path
    if task == "citations":
        from caesura.demo.trial import data, learn

        model = learn("semi", data(400)).model
    else:
        from caesura import ChainCRF
        from caesura.demo import addresses
        from caesura.features import preset

        model = ChainCRF(preset("addresses", segments=False), c2=0.1, max_iterations=100)
        model.fit(addresses(400, seed=1))
    model.save(path)
    return path


def texts(task: str, count: int) -> Iterator[str]:
    """Yield strings; the same ones again and again, with other numbers."""
    known = [str(document.text) for document in documents(task, 5000, 3)]
    for k in range(count):
        yield f"{known[k % len(known)]} {k}"


def written(task: str, count: int, folder: Path) -> Path:
    path = folder / f"{task}-{count}.txt"
    if not path.exists():
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts(task, count))
    return path


class Watch:
    """Time spent in some methods, by a given clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.seconds: dict[str, float] = {}
        self.clock, self.inside = clock, threading.local()  # seconds spent in nested calls

    def over(self, owner: Any, method: str, part: str) -> None:
        """Count the time of a method; nested methods are counted separately."""
        plain = getattr(owner, method)

        def timed(*arguments: Any, **more: Any) -> Any:
            outer, self.inside.seconds = getattr(self.inside, "seconds", 0.0), 0.0
            began = self.clock()
            found = plain(*arguments, **more)
            spent = self.clock() - began
            self.seconds[part] = self.seconds.get(part, 0.0) + spent - self.inside.seconds
            self.inside.seconds = outer + spent
            return found

        setattr(owner, method, timed)


def measured(
    task: str, into: str, count: int, threads: int, folder: Path, known: str
) -> dict[str, float]:
    """Load once; return seconds, processor time by part, and peak memory."""
    import duckdb  # noqa: F401 - not to be counted
    import pyarrow.parquet  # noqa: F401

    import caesura
    from caesura.features import Dictionary, Similar
    from caesura.records import KnownValues, load
    from caesura.records.sinks import sink_for

    model = caesura.load(model_file(task, folder, known)).set_params(n_threads=threads)
    watch = Watch(time.process_time if threads == 1 else time.perf_counter)
    source, sink = written(task, count, folder), sink_for(into)
    values = None if known == "no" else known_values(task, 1000)
    model.extract([])
    watch.over(type(model), "extract", "model")
    for method in ("begin", "mark", "clear", "flag", "known", "write", "close"):
        watch.over(sink, method, "database")
    for method in ("add", "attach"):
        watch.over(KnownValues, method, "matching")
    for kind in (Dictionary, Similar):
        watch.over(kind, "firings", "matching")
    peaks: list[float] = []
    began, cpu, main = time.perf_counter(), time.process_time(), time.thread_time()
    done = load(model, source, sink, known=values, progress=lambda _: peaks.append(peak()))
    return {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "main": time.thread_time() - main,
        **watch.seconds,
        "rows": done.rows,
        "written": done.written,
        "early": peaks[min(len(peaks) - 1, max(1, len(peaks) // 10))],
        "peak": peak(),
    }


def peak() -> float:
    """Return the peak of resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def in_process(*arguments: object) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--measure", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def speed(count: int, tasks: list[str], folder: Path, known: str) -> None:
    """Print rows per second; *at best* is by the processor time of the main thread alone."""
    head = ("threads", "rows/s", "by CPU", "at best", "model", "matching", "database", "rest")
    print(" " * 22 + "".join(map(str.rjust, head, (8, 9, 9, 9, 9, 10, 10, 8))))
    for task in tasks:
        model_file(task, folder, known)
        for name, into in TARGETS.items():
            for threads in (1, 2) if name == "DuckDB" else (1,):
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    target = os.path.join(place, into)
                    m = in_process(task, target, count, threads, folder, known)
                paces = [m["rows"] / m[part] for part in ("seconds", "cpu", "main")]
                shown = "".join(f"{pace:9,.0f}" for pace in paces)
                shares = [
                    m.get(part, 0.0) / m["cpu" if threads == 1 else "seconds"] for part in PARTS
                ]
                if threads == 1:
                    shares.append(1 - sum(shares))
                shown += "".join(
                    f"{f'{100 * one:.0f} %':>{w}}"
                    for one, w in zip(shares, (9, 10, 10, 8), strict=False)
                )
                print(f"{task:12}{name:10}{threads:8}{shown}", flush=True)


def memory(count: int, task: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        target = os.path.join(place, "a.duckdb")
        for name in ("first", "second"):
            m = in_process(task, target, count, 2, folder, "no")
            print(
                f"{name} load of {count:,} {task}: {m['written']:,.0f} rows written in "
                f"{m['seconds']:,.1f} s ({m['rows'] / m['seconds']:,.0f} a second), peak memory "
                f"{m['early']:,.0f} MB after a tenth, {m['peak']:,.0f} MB at the end",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="strings to load")
    parser.add_argument("--task", choices=TASKS, action="append", help="default: both")
    parser.add_argument(
        "--known", choices=("no", "exact", "similar"), default="no", help="values, which grow"
    )
    parser.add_argument("--memory", type=int, help="rows of a long load")
    parser.add_argument(
        "--all", action="store_true", help="also with known values, and a million rows"
    )
    parser.add_argument("--measure", nargs=6, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        task, into, count, threads, folder, known = arguments.measure
        done = measured(task, into, int(count), int(threads), Path(folder), known)
        print(json.dumps(done))
        return
    tasks = arguments.task or list(TASKS)
    with tempfile.TemporaryDirectory() as name:
        if arguments.all:
            print(f"{arguments.rows:,} strings")
            speed(arguments.rows, tasks, Path(name), "no")
            for known, count in (("exact", 5000), ("similar", 300)):
                print(f"{count:,} strings with known values: {known}")
                speed(count, tasks, Path(name), known)
            memory(arguments.memory or 1_000_000, tasks[-1], Path(name))
        elif arguments.memory:
            memory(arguments.memory, tasks[-1], Path(name))
        else:
            speed(arguments.rows, tasks, Path(name), arguments.known)


if __name__ == "__main__":
    main()
