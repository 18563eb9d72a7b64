"""Bulk segmentation of a million strings: with and without engines, killed workers, and a rerun.

    python bench/bulk.py [--rows 1000000] [--only plain,none,two,dask,killed,load]

The strings are citations that `caesura.demo` makes, the model learns from 400 others, and the input
is one file of text, which is cut into parts.

- plain: `predict` and `corpora.write` in one process with one thread, without parts;
- none: `segment_files` in this process with one thread;
- two: with two processes; again: the same command when all parts are there;
- dask: on two workers of a Dask cluster on this machine;
- killed: two processes, one of which is killed after each part; the parts must be equal;
- load: `load_files` with two processes into DuckDB, against `load` with one and with two threads.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import caesura
from caesura import corpora, records, scale
from caesura.demo import citations
from caesura.executors import Processes

WORKERS = 2
DISTINCT = 20_000  # number of different strings, which are repeated


def _made(place: Path, rows: int) -> tuple[Path, Path]:
    """Write the model and the input."""
    model, file = place / "citations.model", place / "new.txt"
    settings: dict[str, Any] = {"max_iterations": 50, "n_threads": 1}
    caesura.SemiCRF(**settings).fit(citations(400, seed=1)).save(model)
    texts = [(one.text or "").replace("\n", " ") for one in citations(DISTINCT, seed=2)]
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f"{text}\n" for text in itertools.islice(itertools.cycle(texts), rows))
    return model, file


def _timed(name: str, rows: int, call: Callable[[], Any]) -> Any:
    began = time.perf_counter()
    made = call()
    seconds = time.perf_counter() - began
    print(f"{name}: {seconds:.1f} s, {rows / seconds:,.0f} rows/s", flush=True)
    return made


def _plain(model: Path, file: Path, out: Path) -> None:
    """Segment a file in one process, without parts."""
    loaded = caesura.load(model).set_params(n_threads=1)
    documents = iter(corpora.read(file, "text", tokeniser=loaded.tokeniser_))

    def answers() -> Iterator[Any]:
        while some := list(itertools.islice(documents, 1000)):
            for document, segments in zip(some, loaded.predict(some), strict=True):
                yield replace(document, segments=tuple(segments))

    corpora.write_jsonl(out, answers())


def _digest(folder: Path) -> str:
    """Return a digest of all rows of a folder, in order."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.jsonl")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _killed(segment: Callable[..., Any], rows: int) -> None:
    """Kill a worker a second after each part is finished, and count how often."""
    timers: list[threading.Timer] = []
    with closing(Processes(WORKERS)) as executor:

        def kill(part: Any, total: int) -> None:
            worker = executor._open[len(timers) % WORKERS]
            timers.append(threading.Timer(1.0, lambda: worker.process.kill()))
            timers[-1].start()

        made = _timed("killed", rows, lambda: segment("killed", executor, progress=kill))
        for timer in timers:
            timer.join()
    print(f"killed: {len(timers)} workers, {made.sequences:,} sequences", flush=True)


def _dask(segment: Callable[..., Any], rows: int) -> None:
    import distributed as dask

    distributed: Any = dask
    settings = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        _timed("dask", rows, lambda: segment("dask", client))


def _load(model: Path, file: Path, place: Path, rows: int) -> None:
    for threads in (1, WORKERS):
        loaded = caesura.load(model).set_params(n_threads=threads)
        into = place / f"plain{threads}.duckdb"
        _timed(f"load, {threads} threads", rows, partial(records.load, loaded, file, into))
    into = place / "bulk.duckdb"
    for name in ("load, 2 processes", "load, again"):
        made = _timed(name, rows, lambda: scale.load_files(model, [file], into, executor=WORKERS))
        print(f"{name}: {made.as_json()['written']:,} new rows", flush=True)


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="plain,none,two,dask,killed,load")
    parser.add_argument("--folder", type=Path, help="keep files here, and use what is there")
    given = parser.parse_args()
    rows, names = given.rows, given.only.split(",")
    with tempfile.TemporaryDirectory() as name:
        place: Path = given.folder or Path(name)
        place.mkdir(exist_ok=True)
        model, file = place / "citations.model", place / "new.txt"
        if not file.exists():
            _made(place, rows)
        print(f"{rows:,} rows, {file.stat().st_size / 1e6:.0f} MB", flush=True)

        def segment(to: str, executor: Any, **more: Any) -> Any:
            given = {"executor": executor, "format": "text", **more}
            return scale.segment_files(model, [file], place / to, **given)

        if "plain" in names:
            _timed("plain", rows, lambda: _plain(model, file, place / "plain.jsonl"))
        if "none" in names:
            _timed("none", rows, lambda: segment("none", None))
        if "two" in names:
            _timed("two", rows, lambda: segment("two", WORKERS))
            _timed("two, again", rows, lambda: segment("two", WORKERS))
        if "dask" in names:
            _dask(segment, rows)
        if "killed" in names:
            _killed(segment, rows)
        folders = [place / to for to in ("none", "two", "dask", "killed") if (place / to).exists()]
        if folders:
            alike = len({_digest(folder) for folder in folders}) == 1
            print("same parts:", alike, flush=True)
        for folder in folders if given.folder is None else []:
            shutil.rmtree(folder)
        if "load" in names:
            _load(model, file, place, rows)


if __name__ == "__main__":
    main()
