"""Training on a corpus of any size: growth with the data, and memory far below the data.

    python bench/resampled.py [--data ../shared/data] growth [--tokens 1000000] [--shards 1 2 4 8]
    python bench/resampled.py [--data ../shared/data] memory [--tokens 30000000] [--limit 130]

The corpus is made of the sentences of CoNLL-2000, drawn with replacement; in a share of its tokens,
the word is replaced by one with the same part of speech, or by one that is nowhere else.  The
model is a semi-CRF for noun phrases.

`growth` trains in two processes on more and more shards of two parts each, and prints the seconds
until the first iteration, those of an iteration, and the peak of memory of the driver.

`memory` trains on parts that lie in memory-mapped files, until the objective falls by less than
`--delta` in ten iterations, in a process whose memory is limited from its start.  The penalty grows
with the number of times that the sentences of CoNLL-2000 are repeated.  The limit is a control
group (which needs root): it counts the pages of mapped files and of files that are read, too, takes
them back when it is reached, and ends the process if that is not enough.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

GROUPS = Path("/sys/fs/cgroup")
COLUMNS = ["token", "pos", "tag"]
OTHER, NEW = 0.05, 0.01  # shares of tokens that are replaced by a known word, and by a new one
PART = 200_000  # number of tokens in a part
MEGABYTE = 1_000_000
ATTRIBUTES = 50_000  # maximum number of attributes with weights, in order of occurrence


def generate(folder: Path, data: Path, tokens: int, part: int = PART) -> list[Path]:
    """Write a corpus in parts; each depends on its number only."""
    from caesura import corpora

    source = list(corpora.read(data / "conll2000" / "train.txt", "conll", columns=COLUMNS))
    words: dict[str, list[str]] = defaultdict(list)
    for document in source:
        for word, pos in zip(document.tokens, document.columns["pos"], strict=True):
            words[pos].append(word)
    paths = []
    for number in range(-(-tokens // part)):
        paths.append(folder / f"part-{number:04}.jsonl")
        with open(paths[-1], "wb") as file:
            for line in _lines(source, words, number, min(part, tokens - number * part)):
                file.write(line)
    return paths


def _lines(source: list[Any], words: Any, number: int, tokens: int) -> Iterator[bytes]:
    """Yield the lines of a part."""
    draw, done, new = random.Random(number), 0, 0
    while done < tokens:
        document = draw.choice(source)
        pos, spoken = document.columns["pos"], list(document.tokens)
        for t in range(len(spoken)):
            chance = draw.random()
            if chance < NEW:
                spoken[t], new = f"w{number}-{new}", new + 1
            elif chance < NEW + OTHER:
                spoken[t] = draw.choice(words[pos[t]])
        phrases = [tuple(one) for one in document.segments if one.label == "NP"]
        done += len(spoken)
        yield orjson.dumps({"tokens": spoken, "columns": {"pos": pos}, "segments": phrases}) + b"\n"


# ---- one training in its own process -------------------------------------------------------------


def train(parts: list[str], executor: int | None, folder: str | None, **settings: Any) -> Any:
    """Train a model; return what it took."""
    from caesura import SemiCRF
    from caesura.features import column, word

    near = [one[k] for one in (word, column("pos")) for k in (-1, 0, 1)]
    model = SemiCRF(near, max_attributes=ATTRIBUTES, tokeniser="words", **settings)
    began, encoded = time.perf_counter(), [0]
    stamps: list[float] = []
    anonymous = 0

    def watch(progress: Any) -> None:
        nonlocal anonymous
        stamps.append(time.perf_counter())
        encoded[0] = encoded[0] or _mapped()
        anonymous = max(anonymous, _anonymous())
        line = (
            f"iteration {progress.iteration}: {progress.objective:.1f}, {stamps[-1] - began:.0f} s"
        )
        print(line, file=sys.stderr, flush=True)

    model.fit_parts(parts, executor, folder=folder, callbacks=[watch])
    return {
        "weights": model.n_features_,
        "iterations": len(model.history_),
        "evaluations": model.history_[-1].evaluations,
        "status": model.status_,
        "objective": model.history_[-1].objective,
        "reading_s": stamps[0] - began,
        "iteration_s": (stamps[-1] - stamps[0]) / max(1, len(stamps) - 1),
        "total_s": stamps[-1] - began,
        "processor_s": time.process_time(),
        "resident_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE,
        "anonymous_mb": anonymous / MEGABYTE,
        "encoded_mb": encoded[0] / MEGABYTE,
    }


def _mapped() -> int:
    """Return the bytes of this process's memory-mapped parts."""
    found = re.findall(
        r"^([0-9a-f]+)-([0-9a-f]+) .*/caesura-\w+ \(deleted\)$",
        Path("/proc/self/maps").read_text(),
        re.MULTILINE,
    )
    return sum(int(end, 16) - int(begin, 16) for begin, end in found)


def _anonymous() -> int:
    """Return the bytes of this process's memory that belong to no file."""
    found = re.search(r"^RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])


def _alone(parts: list[Path], group: Path | None = None, **settings: Any) -> dict[str, Any]:
    """Train in a process of its own, perhaps in a control group."""
    command = [sys.executable, __file__, "one", json.dumps([[str(one) for one in parts], settings])]
    if group is not None:
        command += ["--group", str(group)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"the training ended with {done.returncode}; -9 is the limit of memory")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _own_group() -> str:
    """Return the control group of this process, whose limits the new one keeps, too."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return next(line.split(":", 2)[2].lstrip("/") for line in lines if ":memory:" in line)


@contextmanager
def _limited(megabytes: int) -> Iterator[Path]:
    """Yield a control group with a limit of memory."""
    old = (GROUPS / "memory").exists()
    outer = GROUPS / "memory" / _own_group() if old else GROUPS
    group = outer / f"caesura-bench-{os.getpid()}"
    group.mkdir()
    try:
        limit = group / ("memory.limit_in_bytes" if old else "memory.max")
        limit.write_text(str(megabytes * 1_000_000))
        yield group
    finally:
        group.rmdir()


def _join(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))


def _peak(group: Path) -> str:
    for name in ("memory.max_usage_in_bytes", "memory.peak"):
        if (group / name).exists():
            return f"{int((group / name).read_text()) / 1e6:.0f} MB"
    return "unknown"


# ---- measurements --------------------------------------------------------------------------------


def growth(given: argparse.Namespace, place: Path) -> None:
    """Train on more and more shards, each of two parts, with two workers."""
    parts = generate(place, given.data, given.tokens * max(given.shards), given.tokens // 2)
    print("shards      tokens    reading  iteration  for a token    driver")
    for n in given.shards:
        settings = {"executor": 2, "folder": None, "max_iterations": given.iterations}
        found = _alone(parts[: 2 * n], **settings)
        tokens = n * given.tokens
        print(
            f"{n:6} {tokens:11,} {found['reading_s']:8.1f} s "
            f"{1000 * found['iteration_s']:7.0f} ms {1e9 * found['iteration_s'] / tokens:9.1f} ns "
            f"{found['resident_mb']:6.0f} MB",
            flush=True,
        )


def memory(given: argparse.Namespace, place: Path) -> None:
    """Train in limited memory."""
    began = time.perf_counter()
    parts = generate(place, given.data, given.tokens)
    size = sum(one.stat().st_size for one in parts) / MEGABYTE
    print(f"{given.tokens:,} tokens in {len(parts)} parts, {size:,.0f} MB", flush=True)
    print(f"made in {time.perf_counter() - began:.0f} s", flush=True)
    _forget(parts)
    with _limited(given.limit) as group:
        settings = {"c2": given.c2, "delta": given.delta, "max_iterations": given.iterations}
        found = _alone(parts, group, executor=None, folder=str(place), **settings)
        print(f"limit: {given.limit} MB, a {found['encoded_mb'] / given.limit:.1f}th of the corpus")
        print(f"peak of the control group: {_peak(group)}")
    for name, value in found.items():
        print(f"{name}: {value:,.1f}" if isinstance(value, float) else f"{name}: {value}")


def _forget(parts: list[Path]) -> None:
    """Drop files from the page cache, so that the training has to read them itself."""
    for one in parts:
        with open(one, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--place", type=Path, help="folder for the corpus, on a disk")
    commands = parser.add_subparsers(dest="command", required=True)
    grow = commands.add_parser("growth")
    grow.add_argument("--tokens", type=int, default=1_000_000, help="of each shard")
    grow.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4, 8])
    grow.add_argument("--iterations", type=int, default=10)
    limits = commands.add_parser("memory")
    limits.add_argument("--tokens", type=int, default=30_000_000)
    limits.add_argument("--limit", type=int, default=130, help="of memory, in megabytes")
    limits.add_argument("--c2", type=float, default=140.0, help="the penalty")
    limits.add_argument("--delta", type=float, default=1e-5, help="where L-BFGS ends")
    limits.add_argument("--iterations", type=int, help="at most")
    one = commands.add_parser("one")
    one.add_argument("run", type=json.loads)
    one.add_argument("--group", type=Path)
    given = parser.parse_args()
    if given.command == "one":
        if given.group is not None:
            _join(given.group)
        parts, settings = given.run
        json.dump(train(parts, **settings), sys.stdout)
        return
    with tempfile.TemporaryDirectory(dir=given.place) as name:
        {"growth": growth, "memory": memory}[given.command](given, Path(name))


if __name__ == "__main__":
    main()
