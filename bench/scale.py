"""Cost of distribution: two processes against two threads, in training and in segmentation.

    python bench/scale.py --data ../shared/data [--times 1] [--iterations 20]

A chain with the features of the preset chunking, on CoNLL-2000 in eight parts, each `--times` times
as long.  An iteration in processes is divided into

- compute: the mean over the processes of the time in which they evaluate their parts;
- transfer: the time of a round with the same weights and gradients in which nothing is evaluated;
- wait: the rest of the round, mostly for the slower of the processes;
- driver: the time between rounds.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from caesura import ChainCRF, corpora, scale
from caesura.executors import Here, Processes

PARTS, WORKERS = 8, 2
COLUMNS = ["token", "pos", "tag"]
SETTINGS: dict[str, Any] = {"features": "chunking", "epsilon": 0.0, "delta": 0.0}


def _timed(function: Callable[..., Any], shard: Any, at: Any) -> tuple[Any, Any, float]:
    began = time.perf_counter()
    loss, gradient = function(shard, at)
    return loss, gradient, time.perf_counter() - began


def _nothing(shard: Any, at: Any) -> tuple[float, Any]:
    return 0.0, np.zeros_like(at[0])


class Watched:
    """A mixin for executors that measures their rounds."""

    workers = 1

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.rounds: list[tuple[float, float, float]] = []  # begin, end and computing time
        self.transfer: list[float] = []

    def map_reduce(self, handle: Any, function: Any, at: Any) -> Any:
        """Return the sum; every fifth time, measure a round without work as well."""
        inner: Any = super()
        if len(self.rounds) % 5 == 4:
            began = time.perf_counter()
            inner.map_reduce(handle, _nothing, at)
            self.transfer.append(time.perf_counter() - began)
        began = time.perf_counter()
        *found, seconds = inner.map_reduce(handle, partial(_timed, function), at)
        self.rounds.append((began, time.perf_counter(), seconds / self.workers))
        return tuple(found)

    def report(self, name: str) -> None:
        """Print milliseconds of an evaluation, without the first, in which shards are made."""
        rounds = self.rounds[1:]
        whole = statistics.median(end - begin for begin, end, _ in rounds)
        compute = statistics.median(seconds for *_, seconds in rounds)
        transfer = statistics.median(self.transfer)
        driver = statistics.median(b[0] - a[1] for a, b in itertools.pairwise(rounds))
        parts = {"compute": compute, "transfer": transfer, "wait": whole - compute - transfer}
        said = ", ".join(f"{key} {1000 * value:.1f}" for key, value in parts.items())
        print(f"{name}: round {1000 * whole:.1f} ms ({said}), driver {1000 * driver:.1f} ms")


class Threads(Watched, Here):
    """This process."""


class Pair(Watched, Processes):
    """Processes."""


def _train(parts: list[Path], iterations: int, watched: Any, name: str) -> ChainCRF:
    began = time.perf_counter()
    model = ChainCRF(**SETTINGS, max_iterations=iterations, n_threads=WORKERS)
    model.fit_parts(parts, executor=watched)
    watched.report(name)
    print(f"{name}: {time.perf_counter() - began:.1f} s in all, {model.n_features_:,} weights")
    return model


def _segment(model: Path, parts: list[Path], folder: Path, executor: Any, name: str) -> None:
    for run in ("first", "again"):
        began = time.perf_counter()
        made = scale.segment_files(model, parts, folder, executor=executor)
        seconds = time.perf_counter() - began
        pace = f"{made.sequences / seconds:,.0f} rows/s"
        print(f"{name}, {run}: {made.sequences:,} rows in {seconds:.2f} s, {pace}")


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=20)
    given = parser.parse_args()
    documents = list(corpora.read(given.data / "conll2000" / "train.txt", "conll", columns=COLUMNS))
    with tempfile.TemporaryDirectory() as name:
        place, parts = Path(name), []
        for k in range(PARTS):
            parts.append(place / f"part{k}.jsonl")
            corpora.write_jsonl(parts[-1], documents[k::PARTS] * given.times)
        del documents
        threads = _train(parts, given.iterations, Threads(), "2 threads")
        with closing(Pair(WORKERS)) as pair:
            processes = _train(parts, given.iterations, pair, "2 processes")
        print("same bits:", threads.weights_.tobytes() == processes.weights_.tobytes())
        file = place / "chunks.model"
        threads.set_params(n_threads=1).save(file)
        _segment(file, parts, place / "one", None, "one process, 1 thread")
        with closing(Processes(WORKERS)) as executor:
            _segment(file, parts, place / "two", executor, "2 processes")


if __name__ == "__main__":
    main()
