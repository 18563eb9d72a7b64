"""Rows per second from raw strings to a database, its parts, and the memory of a long load.

python bench/load.py                     # one thread and two, all targets, the share of each part
python bench/load.py --memory 1000000    # peak memory over so many rows, and a second load
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGETS = {"DuckDB": "a.duckdb", "SQLite": "a.db", "Parquet": "a.parquet"}
TASKS = ("citations", "addresses")


def model_file(task: str, folder: Path) -> Path:
    """Train a model, once."""
    path = folder / f"{task}.model"
    if path.exists():
        return path
    if task == "citations":
        from caesura.demo.trial import data, learn

        model: Any = learn("semi", data(400)).model
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
    from caesura.demo import addresses, citations

    made: Any = citations(5000, seed=3) if task == "citations" else addresses(5000, seed=3)
    known = [str(document.text) for document in made]
    for k in range(count):
        yield f"{known[k % len(known)]} {k}"


def written(task: str, count: int, folder: Path) -> Path:
    path = folder / f"{task}-{count}.txt"
    if not path.exists():
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts(task, count))
    return path


class Timed:
    """A sink whose time is counted."""

    def __init__(self, sink: Any) -> None:
        self._sink, self.seconds = sink, 0.0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._sink, name)

        def timed(*arguments: Any) -> Any:
            began = time.process_time()
            try:
                return method(*arguments)
            finally:
                self.seconds += time.process_time() - began

        return timed

    def __str__(self) -> str:
        return str(self._sink)


def measured(task: str, into: str, count: int, threads: int, folder: Path) -> dict[str, float]:
    """Load once; return seconds, those of the processor in each part, and the peak of memory."""
    import duckdb  # noqa: F401 - not to be counted
    import pyarrow.parquet  # noqa: F401

    import caesura
    from caesura.records import load
    from caesura.records.sinks import sink_for

    model = caesura.load(model_file(task, folder)).set_params(n_threads=threads)
    source = written(task, count, folder)
    spent = {"model": 0.0}
    extract = model.extract

    def timed(*arguments: Any) -> Any:
        began = time.process_time()
        found = extract(*arguments)
        spent["model"] += time.process_time() - began
        return found

    model.extract([])
    model.__dict__["extract"] = timed
    peaks: list[float] = []
    sink: Any = Timed(sink_for(into))
    began, cpu = time.perf_counter(), time.process_time()
    done = load(model, source, sink, progress=lambda _: peaks.append(peak()))
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "cpu": time.process_time() - cpu,
        "model": spent["model"],
        "database": sink.seconds,
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


def speed(count: int, tasks: list[str], folder: Path) -> None:
    head = ("threads", "rows/s", "by CPU", "model", "database", "rest")
    print(" " * 22 + "".join(map(str.rjust, head, (8, 9, 9, 8, 10, 7))))
    for task in tasks:
        model_file(task, folder)
        for name, into in TARGETS.items():
            for threads in (1, 2) if name == "DuckDB" else (1,):
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    target = os.path.join(place, into)
                    m = in_process(task, target, count, threads, folder)
                shares = [m["model"] / m["cpu"], m["database"] / m["cpu"]]
                shown = "".join(
                    f"{100 * one:{w}.0f} %" for one, w in zip(shares, (6, 8), strict=True)
                )
                rest = 100 * (1 - sum(shares))
                pace, by_cpu = m["rows"] / m["seconds"], m["rows"] / m["cpu"]
                print(
                    f"{task:12}{name:10}{threads:8}{pace:9,.0f}{by_cpu:9,.0f}{shown}{rest:5.0f} %",
                    flush=True,
                )


def memory(count: int, task: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        target = os.path.join(place, "a.duckdb")
        for name in ("first", "second"):
            m = in_process(task, target, count, 2, folder)
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
    parser.add_argument("--memory", type=int, help="rows of a long load")
    parser.add_argument("--measure", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        task, into, count, threads, folder = arguments.measure
        print(json.dumps(measured(task, into, int(count), int(threads), Path(folder))))
        return
    tasks = arguments.task or list(TASKS)
    with tempfile.TemporaryDirectory() as name:
        if arguments.memory:
            memory(arguments.memory, tasks[-1], Path(name))
        else:
            speed(arguments.rows, tasks, Path(name))


if __name__ == "__main__":
    main()
