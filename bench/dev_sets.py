"""Which iteration to keep by a score on development data, and what that is worth on other data.

    python bench/dev_sets.py [--task NAME] [--data ../shared/data]

A semi-CRF learns, and its F1 is taken after each iteration on a small development set and on other
held-out data.  Four rules choose an iteration by the former: the last one with the best F1, the
last one within half a standard error or a whole one of it, and the very last; printed are the F1 of
these on the other data, and the best of any iteration, which no rule can know.  Tasks are training
parts of corpora, split at random (six tenths to learn from), and the demo's data.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from accuracy import Documents
from defaults import TASKS
from timing import table

import caesura
from caesura.demo.trial import data as demo_data
from caesura.features import preset
from caesura.models import development, model

SIZES = {  # sizes of development sets, and number of shuffles
    "Cora": ((20, 60), 3),
    "US addresses": ((30, 100), 2),
    "CoNLL-2000": ((30, 100), 1),
    "AnyStyle": ((30, 100), 1),
    "NCBI disease": ((50, 200), 1),
}
RULES = ("best", "half an error", "an error", "last", "any")
DEMO = {"c1": 0.05, "c2": 0.01, "max_iterations": 100, "same_label_adjacent": False}


class Watched(development.Development):
    """Development data of which the first documents are asked, and the others watched."""

    asked = 0
    scores: list[tuple[float, float]] = []  # noqa: RUF012 - of the last fit, on both parts

    def __init__(
        self, model: Any, training: Any, documents: Any, gold: list[list[caesura.Segment]]
    ) -> None:
        split = Watched.asked
        super().__init__(model, training, documents[:split], gold[:split])
        self.other = development.Development(model, training, documents[split:], gold[split:])
        Watched.scores = []

    def __call__(self, w: npt.NDArray[np.float64]) -> float:
        Watched.scores.append((super().__call__(w), self.other(w)))
        return Watched.scores[-1][0]


def chosen(documents: tuple[Documents, Documents, Documents], **options: Any) -> list[float]:
    """Return the F1 on the other data that each rule gives, in per cent."""
    train, dev, other = documents
    Watched.asked = len(dev)
    caesura.SemiCRF(n_threads=1, **options).fit(train, X_dev=[*dev, *other])
    asked, watched = np.array(Watched.scores).T
    n = sum(len(one.segments or ()) for one in dev)
    top = asked.max()
    error = np.sqrt(top * (1 - top) / n)
    last = [np.flatnonzero(asked >= top - k * error)[-1] for k in (0, 0.5, 1)]
    return [100 * watched[i] for i in (*last, -1)] + [100 * watched.max()]


def runs(name: str, data: Path) -> Iterator[tuple[str, list[float]]]:
    """Yield the size of a development set, and what the rules give."""
    if name == "demo":
        for seed in range(4):
            made = demo_data(400, seed)
            features = preset("citations", segments=True, gazetteers=made.lexicons)
            for dev in (made.dev[:20], made.dev):
                for other in (made.unseen, made.test):
                    found = chosen((made.train, dev, other), features=features, **DEMO)
                    yield f"{len(dev)}", found
        return
    task, (sizes, draws) = TASKS[name], SIZES[name]
    documents = task.read(data)[:: task.every]
    for seed in range(draws):
        drawn = documents[:]
        random.Random(seed).shuffle(drawn)
        cut = len(drawn) * 6 // 10
        rest = drawn[cut:]
        for size in sizes:
            yield f"{size}", chosen((drawn[:cut], rest[:size], rest[max(sizes) :]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--task", choices=("demo", *SIZES), action="append")
    given = parser.parse_args()
    model.Development = Watched  # type: ignore[attr-defined]
    rows, all_of_them = [], []
    for name in given.task or ("demo", *SIZES):
        by_size: dict[str, list[list[float]]] = {}
        for size, found in runs(name, given.data):
            by_size.setdefault(size, []).append(found)
            all_of_them.append(found)
        for size, some in by_size.items():
            means = np.mean(some, 0)
            rows.append([name, size, f"{len(some)}", *(f"{x:.2f}" for x in means)])
            print(*rows[-1], flush=True)
    means = np.mean(all_of_them, 0)
    rows.append(["mean", "", f"{len(all_of_them)}", *(f"{x:.2f}" for x in means)])
    print(table(["task", "sequences", "runs", *RULES], rows))


if __name__ == "__main__":
    main()
