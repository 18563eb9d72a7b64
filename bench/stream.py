"""Learning from a file that does not fit into memory.

Writes a file of labelled references of a given size, learns from it with ``stream=True`` in a
process of its own, and prints passes, seconds, the peak of memory and F1 on references that are not
in it, beside a model that was fitted in memory to a part of the file.

    python bench/stream.py --megabytes 100 --passes 2 --max-attributes 200000

The file is made of references of the demo, whose words are changed at random, so that new words
keep coming, and is removed at the end unless --keep says where it should stay.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from caesura import ChainCRF, SemiCRF, demo
from caesura.corpora import read
from caesura.documents import Document

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SEEDS = 5000  # number of references from which lines are made
HELD_OUT = 500


class Noisy:
    """References some of whose words have another letter."""

    def __init__(self, documents: list[Document], rate: float, seed: int) -> None:
        self.documents, self.rate, self.draw = documents, rate, random.Random(seed)
        self.words = [
            [t for t, token in enumerate(one.tokens) if len(token) > 3 and token.isalpha()]
            for one in documents
        ]

    def tokens(self, k: int) -> list[str]:
        """Return the words of a reference, changed."""
        tokens, draw = list(self.documents[k].tokens), self.draw
        count = int(self.rate * len(self.words[k]) + draw.random())
        for t in draw.sample(self.words[k], count):
            at = draw.randrange(1, len(tokens[t]))
            tokens[t] = tokens[t][:at] + draw.choice(LETTERS) + tokens[t][at + 1 :]
        return tokens


def generate(path: Path, megabytes: float, rate: float) -> None:
    """Write lines up to a size."""
    documents = demo.citations(SEEDS, seed=0, of=demo.records()[::2])
    segments = [json.dumps(one.segments) for one in documents]
    made, size = Noisy(documents, rate, 0), 0
    with open(path, "w", encoding="utf-8") as file:
        while size < megabytes * 1e6:
            k = made.draw.randrange(SEEDS)
            line = f'{{"tokens": {json.dumps(made.tokens(k))}, "segments": {segments[k]}}}\n'
            file.write(line)
            size += len(line)


def held_out(rate: float) -> list[Document]:
    """Return references whose works are not in the file, changed in the same way."""
    documents = demo.citations(HELD_OUT, seed=7, of=demo.records()[1::2])
    made = Noisy(documents, rate, 1)
    return [
        replace(d, tokens=tuple(made.tokens(k)), text=None, offsets=None)
        for k, d in enumerate(documents)
    ]


def measured(arguments: argparse.Namespace, path: Path, part: int | None) -> dict[str, Any]:
    """Learn from the file, or in memory from its first lines, and say what it took."""
    kind: Any = ChainCRF if arguments.model == "chain" else SemiCRF
    model = kind(
        features=arguments.preset,
        learner=arguments.learner,
        c2=arguments.c2,
        max_iterations=arguments.passes,
        max_attributes=arguments.max_attributes,
        stream=part is None,
        verbose=None,
    )
    corpus = read(path)
    began, cpu = time.perf_counter(), time.process_time()
    model.fit(corpus if part is None else [d for d, _ in zip(corpus, range(part), strict=False)])
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    test = held_out(arguments.noise)
    f1 = model.score([replace(d, segments=None) for d in test], [d.segments for d in test])
    return {
        "passes": len(model.history_),
        "seconds": seconds,
        "cpu": cpu,
        "peak": peak,
        "weights": model.n_features_,
        "attributes": len(model._known.encoder),
        "f1": f1,
    }


def in_process(arguments: argparse.Namespace, path: Path, part: int | None) -> dict[str, Any]:
    """Measure in a process of its own, whose peak of memory is that of learning."""
    words = [sys.executable, __file__, *sys.argv[1:], "--measure", str(path)]
    words += [] if part is None else ["--part", str(part)]
    answer = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--max-attributes", type=int, default=200_000)
    parser.add_argument("--model", choices=("semi", "chain"), default="chain")
    parser.add_argument("--preset", default="generic")
    parser.add_argument("--learner", default="sgd")
    parser.add_argument("--c2", type=float, default=0.1)
    parser.add_argument("--noise", type=float, default=0.1, help="share of words that are changed")
    parser.add_argument("--in-memory", type=int, default=5000, help="lines of the fit beside it")
    parser.add_argument("--keep", type=Path, help="file to write, and to use if it is there")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(measured(arguments, arguments.measure, arguments.part)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.keep or Path(folder, "stream.jsonl")
        if not path.exists():
            generate(path, arguments.megabytes, arguments.noise)
        size = path.stat().st_size / 1e6
        print(f"{size:,.0f} MB, {arguments.model}, {arguments.preset}, {arguments.learner}")
        print(f"{'':22}{'passes':>7}{'seconds':>9}{'CPU':>8}{'peak MB':>9}{'weights':>11}{'F1':>8}")
        for name, part in (
            ("streamed", None),
            (f"in memory, {arguments.in_memory:,} lines", arguments.in_memory),
        ):
            m = in_process(arguments, path, part)
            numbers = f"{m['passes']:7}{m['seconds']:9.1f}{m['cpu']:8.1f}{m['peak']:9.0f}"
            print(f"{name:22}{numbers}{m['weights']:11,}{m['f1']:8.4f}", flush=True)


if __name__ == "__main__":
    main()
