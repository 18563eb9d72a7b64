"""Learning curves: segment F1 of a chain and of a semi-CRF after 10 to 300 examples.

    python bench/curves.py [--data ../shared/data] [--task cora|addresses|conll] [--plot FILE]

Both get the same preset, the semi-CRF with segments=True, and both learn from the same random
examples of the training data.  Five-fold cross-validation of those examples alone chooses among 8
settings of each: c2, whether what was not seen has weights too (all_possible_states), and BIO or
BIOES for the chain, same_label_adjacent for the semi-CRF where none are.  The test set chooses
nothing.  Means over the draws, with standard errors; the difference is taken draw by draw.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from plots import BLUE, GREY, figure, save
from timing import table

import caesura
from caesura.corpora import read_conll
from caesura.features import preset

SIZES = (10, 20, 50, 100, 300)
PENALTIES = (1e-4, 0.01)
FOLDS = 5
Documents = list[caesura.Document]


class Task(NamedTuple):
    name: str
    preset: str
    train: Documents
    test: Documents


class Point(NamedTuple):
    """The F1 of both after each draw of so many examples."""

    examples: int
    chain: list[float]
    semi: list[float]


# -- data ------------------------------------------------------------------------------------------


def cora(data: Path) -> Task:
    options: Any = {"scheme": "plain", "encoding": "latin-1", "comment": None}
    files = (data / "cora_ie" / f"hosemicrf_ref.{name}" for name in ("train", "test"))
    return Task("Cora citations", "citations", *(list(read_conll(f, **options)) for f in files))


def conll(data: Path) -> Task:
    files = (data / "conll2000" / f"{name}.txt" for name in ("train", "test"))
    columns = ["token", "pos", "tag"]
    return Task("CoNLL-2000 chunks", "chunking", *(list(read_conll(f, columns)) for f in files))


def labelled(path: Path) -> Iterator[caesura.Document]:
    """Read addresses with an element for each token; neighbours of one name are a segment."""
    for address in ElementTree.parse(path).getroot():
        tags = [one.tag for one in address]
        starts = [t for t, tag in enumerate(tags) if t == 0 or tags[t - 1] != tag]
        ends = [*starts[1:], len(tags)]
        spans = zip(starts, ends, strict=True)
        segments = tuple(caesura.Segment(start, end, tags[start]) for start, end in spans)
        yield caesura.Document(tuple(one.text or "" for one in address), segments=segments)


def addresses(data: Path) -> Task:
    files = (data / "usaddress" / f"{name}.xml" for name in ("train", "test"))
    return Task("US addresses", "addresses", *(list(labelled(f)) for f in files))


TASKS = {"cora": cora, "addresses": addresses, "conll": conll}

# -- learning --------------------------------------------------------------------------------------


def touch(document: caesura.Document) -> bool:
    """Return whether two segments of the same label are adjacent."""
    return any(
        a.end == b.start and a.label == b.label for a, b in pairwise(document.segments or ())
    )


def candidates(task: Task, some: Documents) -> dict[str, list[caesura.ChainCRF | caesura.SemiCRF]]:
    """Return the models that cross-validation of some documents chooses from."""
    options: Any = {"precision": "mixed", "delta": 1e-4, "n_threads": 1}
    tokens, both = preset(task.preset), preset(task.preset, segments=True)
    grid = [
        {"c2": c2, "all_possible_states": unseen, **options}
        for unseen in (False, True)
        for c2 in PENALTIES
    ]
    return {
        "chain": [
            caesura.ChainCRF(tokens, scheme=scheme, **one)
            for scheme in ("BIO", "BIOES")
            for one in grid
        ],
        "semi": [
            caesura.SemiCRF(both, same_label_adjacent=adjacent, **one)
            for adjacent in ((True,) if any(map(touch, some)) else (True, False))
            for one in grid
        ],
    }


def f1(documents: Documents, predicted: Sequence[Any]) -> float:
    gold = [list(one.segments or ()) for one in documents]
    return 100 * caesura.evaluate(gold, predicted).micro.f1


def validated(model: Any, documents: Documents) -> float:
    """Return the F1 of cross-validation, all folds together."""
    predicted: list[Any] = [None] * len(documents)
    for fold in range(FOLDS):
        model.fit([one for i, one in enumerate(documents) if i % FOLDS != fold])
        predicted[fold::FOLDS] = model.predict(documents[fold::FOLDS])
    return f1(documents, predicted)


def learnt(models: Sequence[Any], some: Documents, test: Documents) -> tuple[float, str]:
    """Return the test F1 of the model that is best on the examples, and its name."""
    best = max(models, key=lambda model: validated(model, some))
    if isinstance(best, caesura.ChainCRF):
        shape = best.scheme
    else:
        shape = "adjacent" if best.same_label_adjacent else "apart"
    states = "all" if best.all_possible_states else "seen"
    return f1(test, best.fit(some).predict(test)), f"{shape} {states} c2={best.c2:g}"


def drawn(task: Task, n: int, draw: int) -> str:
    """Train on a draw of n examples; return both F1 scores and the choices."""
    chosen = np.random.default_rng([n, draw]).permutation(len(task.train))[:n]
    some = [task.train[i] for i in chosen]
    models = candidates(task, some)
    found = [(name, *learnt(models[name], some, task.test)) for name in models]
    return ", ".join(f"{name} {score:.2f} ({how})" for name, score, how in found)


def point(task: Task, n: int, draws: int, kept: dict[str, str]) -> Point:
    """Train on several draws of n examples, except those kept from an earlier run."""
    if n >= len(task.train):
        draws = 1  # all draws would be the same
    point = Point(n, [], [])
    for draw in range(draws):
        where = f"  {task.name}, {n}, draw {draw + 1}"
        said = kept.get(where) or drawn(task, n, draw)
        print(f"{where}: {said}", flush=True)
        chain, semi = re.findall(r"(?:chain|semi) ([\d.]+)", said)
        point.chain.append(float(chain))
        point.semi.append(float(semi))
    return point


# -- output ----------------------------------------------------------------------------------------


def mean(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, not a number for one value."""
    n = len(values)
    error = float(np.std(values, ddof=1)) / n**0.5 if n > 1 else float("nan")
    return float(np.mean(values)), error


def shown(values: Sequence[float], sign: str = "") -> str:
    middle, error = mean(values)
    return f"{middle:{sign}.1f}" + (f" ± {error:.1f}" if error == error else "")


def row(task: str, point: Point) -> list[str]:
    gains = [b - a for a, b in zip(point.chain, point.semi, strict=True)]
    numbers = [str(point.examples), str(len(gains))]
    return [task, *numbers, shown(point.chain), shown(point.semi), shown(gains, "+")]


def plot(path: str, results: dict[str, list[Point]]) -> None:
    made, axes = figure(10.0, 3.4, len(results))
    for axis, (task, points) in zip(axes, results.items(), strict=True):
        sizes = [one.examples for one in points]
        for name, style, colour, left in (
            ("chain", "^--", GREY, 0.985),
            ("semi-CRF", "o-", BLUE, 1.015),
        ):
            lists = [one.chain if name == "chain" else one.semi for one in points]
            middles, errors = zip(*map(mean, lists), strict=True)
            x = [left * n for n in sizes]  # next to each other
            axis.errorbar(x, middles, np.nan_to_num(errors), fmt=style, ms=4, capsize=3,
                          color=colour, label=name)  # fmt: skip
        axis.set_xscale("log")
        axis.set_xticks(sizes, [str(n) for n in sizes])
        axis.minorticks_off()
        axis.set_title(task)
        axis.set_xlabel("training examples")
    axes[0].set_ylabel("segment F1 on the test set")
    axes[0].legend(fontsize=8, loc="lower right")
    save(made, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--task", choices=TASKS, action="append", help="one; all if not given")
    parser.add_argument("--draws", type=int, default=5, help="of up to 50 examples; 3 of more")
    parser.add_argument("--plot", metavar="FILE", help="a picture of the curves")
    parser.add_argument("--kept", type=Path, help="output of a run that was cut off, to go on")
    parser.add_argument("--quick", action="store_true", help="10 and 20 examples, two draws")
    arguments = parser.parse_args()
    if not (arguments.data / "usaddress").is_dir():
        print(f"no corpora in {arguments.data}: skipped; name their folder with --data")
        return
    sizes, draws = (SIZES[:2], 2) if arguments.quick else (SIZES, arguments.draws)
    lines = arguments.kept.read_text("utf-8").splitlines() if arguments.kept else []
    kept = dict(line.split(": ", 1) for line in lines if ", draw " in line)
    results: dict[str, list[Point]] = {}
    began = time.process_time()
    for name in arguments.task or TASKS:
        task = TASKS[name](arguments.data)
        results[task.name] = [
            point(task, n, draws if n <= 50 else min(draws, 3), kept) for n in sizes
        ]
    rows = [row(task, one) for task, points in results.items() for one in points]
    print(f"\nsegment F1 on the test sets; {time.process_time() - began:.0f} s of processor time")
    print(table(["", "examples", "draws", "chain", "semi-CRF", "difference"], rows))
    if arguments.plot:
        plot(arguments.plot, results)


if __name__ == "__main__":
    main()
