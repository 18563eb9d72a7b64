"""Loss of default penalties and features against the best of a grid, on training data.

    python bench/defaults.py FILE [--task NAME] [--seconds 240] [--data ../shared/data]
    python bench/defaults.py FILE --table              tables of the lines of the file
    python bench/defaults.py FILE --c2 [--table]       four values of c2 only
    python bench/defaults.py FILE --c2 --calibration   how good the probabilities of these are

What is measured is added to FILE, and what the file has already is not measured again, so that a
run may be stopped at any time; --seconds stops it by itself.

For each task, model and list of features (the default ones and the preset of the task), the F1 of
every setting of the grid is measured on held-out parts of the training data: two-fold
cross-validation, of every n-th sequence where the corpus is large.  Test sets are not read.  The
table has the loss of each setting against the best one of its row, and the mean and the largest
loss over all rows, by which the defaults are chosen.  --calibration shows, for the same folds, the
expected calibration error of the probabilities of predicted segments and their Brier score, without
`calibrate`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from accuracy import Documents, addresses, f1, folds, words
from timing import table

import caesura
from caesura.corpora import read_conll, read_xml
from caesura.demo import addresses as made_addresses
from caesura.demo import citations
from caesura.evaluation import reliability, right_segments
from caesura.features import default_for, preset


class Task(NamedTuple):
    preset: str
    read: Callable[[Path], Documents]
    every: int = 1  # use every n-th sequence


def conll(folder: str, name: str, **options: Any) -> Callable[[Path], Documents]:
    return lambda data: list(read_conll(data / folder / name, **options))


PLAIN = {"scheme": "plain", "encoding": "latin-1", "comment": None}
COLUMNS = ["token", "pos", "tag"]
TASKS = {
    "Cora": Task("citations", conll("cora_ie", "hosemicrf_ref.train", **PLAIN)),
    "AnyStyle": Task("citations", lambda data: list(read_xml(data / "anystyle" / "core.xml")), 4),
    "Cora, a fifth": Task("citations", conll("cora_ie", "hosemicrf_ref.train", **PLAIN), 5),
    "demo citations": Task("citations", lambda data: citations(400, 100)),
    "demo citations, an eighth": Task("citations", lambda data: citations(400, 100), 8),
    "US addresses": Task(
        "addresses", lambda data: list(addresses(data / "usaddress" / "train.xml"))
    ),
    "US addresses, a tenth": Task(
        "addresses", lambda data: list(addresses(data / "usaddress" / "train.xml")), 10
    ),
    "demo addresses": Task("addresses", lambda data: made_addresses(300, 100)),
    "NCBI disease": Task("ner", conll("ncbi_disease", "train.tsv", comment=None), 3),
    "WNUT-17": Task("ner", conll("wnut17", "wnut17train.conll", comment=None), 3),
    "CoNLL-2000": Task(
        "chunking", conll("conll2000", "train.txt", columns=["token", "pos", "tag"]), 10
    ),
    "PKU": Task("words", lambda data: list(words(data / "pku" / "199801.txt")), 40),
}
GRID: list[dict[str, Any]] = [
    *({"c1": 0.0, "c2": c2} for c2 in (1.0, 0.3, 0.1, 0.03, 0.01)),
    *({"c1": c1, "c2": c2} for c1, c2 in ((0.05, 0.01), (0.1, 0.1))),
    {"c1": 0.0, "c2": 0.1, "all_possible_states": True},
]
SHORT: list[dict[str, Any]] = [{"c1": 0.0, "c2": c2} for c2 in (1.0, 0.1, 0.01, 0.003)]


def fresh(kind: str, features: Any, setting: dict[str, Any]) -> Any:
    """Return a model that is not fitted."""
    make = caesura.SemiCRF if kind == "semi" else caesura.ChainCRF
    return make(features, n_threads=1, **setting)


def known(path: Path) -> list[dict[str, Any]]:
    """Return the lines of the file."""
    if not path.exists():
        return []
    return [json.loads(one) for one in path.read_text("utf-8").splitlines()]


def measure(
    name: str,
    task: Task,
    documents: Documents,
    path: Path,
    grid: list[dict[str, Any]],
    end: float,
) -> None:
    """Add a line to the file for each model, list of features and setting that it lacks."""
    keys = ("task", "model", "features", "setting")
    done = [[line[key] for key in keys] for line in known(path)]
    for kind in ("chain", "semi"):
        segments = kind == "semi"
        default = default_for(documents, segments=segments)
        own = preset(task.preset, segments=segments)
        lists = {"default": default} if default == own else {"default": default, task.preset: own}
        for listed, features in lists.items():
            for setting in grid:
                if [name, kind, listed, setting] in done:
                    continue
                if time.monotonic() > end:
                    return
                asked = {"task": name, "model": kind, "features": listed, "setting": setting}
                line = {**asked, **scores(documents, fresh(kind, features, setting))}
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")


def scores(documents: Documents, model: Any) -> dict[str, float]:
    """Return F1, the seconds of learning and the errors of probabilities in two folds."""
    seconds = 0.0
    found: list[Any] = []
    gold: Documents = []
    for train, held in folds(documents, 2):
        began = time.process_time()
        model.fit(train)
        seconds += time.process_time() - began
        found += model.predict_confident(held)
        gold += held
    segments = [[one.segment for one in some] for some in found]
    right = right_segments([one.segments or () for one in gold], segments)
    hit = np.array([one for some in right for one in some])
    likely = np.array([one.probability for some in found for one in some])
    return {
        "f1": f1(gold, segments),
        "seconds": seconds,
        "ece": 100 * reliability(likely, hit).expected_calibration_error,
        "brier": 100 * float(np.square(likely - hit).mean()),
    }


def called(setting: dict[str, Any]) -> str:
    more = ", all states" if setting.get("all_possible_states") else ""
    return f"{setting['c1']:g}, {setting['c2']:g}{more}"


def measured(
    path: Path, grid: list[dict[str, Any]], key: str
) -> tuple[list[tuple[str, str, str]], Any]:
    """Return the rows for which the whole grid was measured, and one of their figures."""
    lines = known(path)
    groups, figures = [], []
    for group in dict.fromkeys((one["task"], one["model"], one["features"]) for one in lines):
        some = {
            called(one["setting"]): one[key]
            for one in lines
            if (one["task"], one["model"], one["features"]) == group and key in one
        }
        if all(called(one) in some for one in grid):
            groups.append(group)
            figures.append([some[called(one)] for one in grid])
    return groups, np.array(figures)


def tabulate(path: Path, grid: list[dict[str, Any]]) -> None:
    """Print losses against the best setting of each row, and over all rows."""
    groups, scores = measured(path, grid, "f1")
    took = measured(path, grid, "seconds")[1]
    best = scores.max(1, keepdims=True)
    lost = best - scores
    rows = [
        [*group, f"{top:.2f}", *(f"{x:.2f}" for x in losses)]
        for group, (top,), losses in zip(groups, best, lost, strict=True)
    ]
    rows.append(["mean loss", "", "", "", *(f"{x:.2f}" for x in lost.mean(0))])
    rows.append(["largest loss", "", "", "", *(f"{x:.2f}" for x in lost.max(0))])
    ratio = np.exp(np.log(took / took[:, :1]).mean(0))
    rows.append(["time, of the first", "", "", "", *(f"{x:.1f}" for x in ratio)])
    print(table(["task", "model", "features", "best F1", *map(called, grid)], rows))


def tabulate_calibration(path: Path, grid: list[dict[str, Any]]) -> None:
    """Print the errors of probabilities, of every row and over all."""
    groups, errors = measured(path, grid, "ece")
    both = np.hstack([errors, measured(path, grid, "brier")[1]])
    rows = [
        [*group, *(f"{x:.2f}" for x in figures)]
        for group, figures in zip(groups, both, strict=True)
    ]
    rows.append(["mean", "", "", *(f"{x:.2f}" for x in both.mean(0))])
    heads = [f"{name} {called(one)}" for name in ("ECE", "Brier") for one in grid]
    print(table(["task", "model", "features", *heads], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--task", choices=TASKS, action="append")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing later")
    parser.add_argument("--table", action="store_true", help="show what the file has")
    parser.add_argument("--c2", action="store_true", help="four values of c2, without c1")
    parser.add_argument("--calibration", action="store_true", help="show errors of probabilities")
    parser.add_argument("file", type=Path, help="one line of JSON for each measurement")
    given = parser.parse_args()
    grid = SHORT if given.c2 else GRID
    if given.table or given.calibration:
        (tabulate_calibration if given.calibration else tabulate)(given.file, grid)
        return
    end = time.monotonic() + given.seconds
    for name in given.task or TASKS:
        task = TASKS[name]
        measure(name, task, task.read(given.data)[:: task.every], given.file, grid, end)


if __name__ == "__main__":
    main()
