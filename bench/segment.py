"""``caesura segment`` from text to JSON lines, beside usaddress and python-crfsuite.

    python bench/segment.py [--data ../shared/data] [--quick]

Each program reads a file and writes JSON lines, in a process of its own, with one thread.  The time
is that of its process on the processor, less the time for a file of one sequence, so that imports
and loading the model are left out; the best of three runs.

- addresses: lines of text; usaddress with the model that it ships, ours learnt from its training
  file.  The words are repeated as in a stream, so both meet most of them again.
- chunking: CoNLL columns; python-crfsuite with the features of CRFsuite's example, made in Python
  as its users make them, and a chain of ours with the same features declared.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from chunking import alone, bags, corpus, train_peer
from timing import table

import caesura
from caesura.corpora import read
from caesura.features import column, preset, window, word

# -- peers, as their users would call them ---------------------------------------------------------


def with_usaddress(source: Path, target: Path) -> None:
    import usaddress

    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
        for line in lines:
            text = line.rstrip("\n")
            out.write(json.dumps({"text": text, "tokens": usaddress.parse(text)}) + "\n")


def with_crfsuite(source: Path, target: Path, model: Path) -> None:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    with open(target, "w", encoding="utf-8") as out:
        for words, pos in sentences(source):
            tags = tagger.tag(bags({"w": words, "pos": pos}))
            out.write(json.dumps({"tokens": words, "tags": tags}) + "\n")


def sentences(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    rows: list[list[str]] = []
    with open(path, encoding="utf-8") as lines:
        for line in [*lines, ""]:
            if line.strip():
                rows.append(line.split())
            elif rows:
                yield [row[0] for row in rows], [row[1] for row in rows]
                rows = []


# -- time ------------------------------------------------------------------------------------------


def seconds(arguments: list[str]) -> float:
    """Return the processor time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rate(command: Callable[[Path], list[str]], many: Path, one: Path, n: int) -> float:
    """Return how many sequences a second a command cuts, without its start."""
    times = [(seconds(command(many)), seconds(command(one))) for _ in range(3)]
    return (n - 1) / (min(t for t, _ in times) - min(t for _, t in times))


def ours(model: Path, folder: Path, *options: str) -> Callable[[Path], list[str]]:
    program = ["-m", "caesura", "segment", str(model)]
    ends = ["-o", str(folder / "ours.jsonl"), "--threads", "1", *options]
    return lambda source: [*program, str(source), *ends]


def theirs(peer: str, folder: Path, *more: str) -> Callable[[Path], list[str]]:
    return lambda source: [
        *(__file__, "--peer", peer, str(source), str(folder / "theirs.jsonl")),
        *more,
    ]


# -- tasks -----------------------------------------------------------------------------------------


def addresses(data: Path, folder: Path, n: int) -> list[list[str]]:
    train, test = (list(read(data / "usaddress" / f"{name}.xml")) for name in ("train", "test"))
    texts = [" ".join(document.tokens) for document in [*train, *test]]
    many, one = lines_of(random.Random(0).choices(texts, k=n), folder, "txt")
    rows = []
    peer = rate(theirs("usaddress", folder), many, one, n)
    options: dict[str, Any] = {
        "same_label_adjacent": False,
        "c2": 0.3,
        "delta": 1e-3,
        "tokeniser": "whitespace",
    }
    models = {
        "semi-CRF": caesura.SemiCRF(preset("addresses", segments=True), **options),
        "chain": caesura.ChainCRF(
            preset("addresses"), scheme="BIO", c1=0.05, c2=0.01, tokeniser="whitespace", delta=1e-3
        ),
    }
    for name, model in models.items():
        model.fit(train).save(folder / "model")
        mine = rate(ours(folder / "model", folder), many, one, n)
        rows.append(row("addresses", name, "usaddress", mine, peer, f"{model.score(test):.3f}"))
    return rows


def chunking(data: Path, folder: Path, n: int) -> list[list[str]]:
    train, test = (data / "conll2000" / f"{name}.txt" for name in ("train", "test"))
    columns = ["token", "pos", "tag"]
    pos = column("pos")
    features = [
        *window([word, pos], -2, 2),
        *(word[t] & word[t + 1] for t in (-1, 0)),
        *(pos[t] & pos[t + 1] for t in (-2, -1, 0, 1)),
        *(pos[t] & pos[t + 1] & pos[t + 2] for t in (-2, -1, 0)),
    ]
    options: dict[str, Any] = {"c2": 1.0, "max_iterations": 60}  # of both
    model = caesura.ChainCRF(features, scheme="BIO", precision="mixed", **options)
    model.fit(read(train, columns=columns)).save(folder / "model")
    train_peer(*corpus(train, None), str(folder / "peer"), **options)
    blocks = test.read_text("utf-8").strip().split("\n\n")
    without = ["\n".join(" ".join(line.split()[:2]) for line in b.split("\n")) for b in blocks]
    some = [without[k % len(without)] + "\n" for k in range(n)]
    many, one = lines_of(some, folder, "conll")
    mine = rate(ours(folder / "model", folder, "--columns", "token,pos"), many, one, n)
    peer = rate(theirs("crfsuite", folder, str(folder / "peer")), many, one, n)
    score = f"{model.score(list(read(test, columns=columns))):.3f}"
    return [row("chunking", "chain", "python-crfsuite", mine, peer, score)]


def lines_of(texts: list[str], folder: Path, suffix: str) -> tuple[Path, Path]:
    """Write many texts, and one."""
    paths = folder / f"many.{suffix}", folder / f"one.{suffix}"
    for path, some in zip(paths, (texts, texts[:1]), strict=True):
        path.write_text("".join(f"{text}\n" for text in some), "utf-8")
    return paths


def row(task: str, model: str, peer: str, mine: float, their: float, score: str) -> list[str]:
    ratio = mine / their
    good = "yes" if ratio >= 3 else "NO"
    return [task, model, f"{mine:,.0f}", peer, f"{their:,.0f}", f"{ratio:.2f}", ">= 3", good, score]


def main() -> None:
    alone()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true", help="fewer sequences, to try it")
    parser.add_argument("--peer", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        run = {"usaddress": with_usaddress, "crfsuite": with_crfsuite}[arguments.peer[0]]
        run(*map(Path, arguments.peer[1:]))  # type: ignore[operator]
        return
    if not (arguments.data / "usaddress").is_dir():
        print(f"no corpora in {arguments.data}: skipped; name their folder with --data")
        return
    n = 2000 if arguments.quick else 20000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = addresses(arguments.data, folder, n) + chunking(arguments.data, folder, n // 4)
    head = ("task", "ours", "a second", "peer", "a second", "ratio", "target", "met", "our F1")
    print(table(head, rows))


if __name__ == "__main__":
    main()
