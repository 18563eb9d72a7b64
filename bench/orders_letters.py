"""Handwritten words by chains of order 1 to 5: Cuong et al. 2014, Figure 3.

    python bench/orders_letters.py [--data ../shared/data] [--plot FILE] [--folds 10] [--orders 1,2]

Each of ten folds is learnt from, and the other nine are the test set.  Attributes are the pixels
that are on, and all label patterns of the training fold have a weight.  There are only 55 different
words, most of them in every fold, so that long patterns come near to a list of the words.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from orders_data import ORDERS, Labelled, letters, n_patterns, parsed
from plots import BLUE, figure, save
from timing import table

import caesura
from caesura.features import attributes

SIGMA = 1.0
PAPER = "76 to 98 % on its axis, a strong rise with the order"


class Run(NamedTuple):
    """One fold learnt from."""

    right: float  # share of correct letters in the other folds, in per cent
    words: float  # share of correct words, in per cent
    patterns: int
    iteration: float  # in seconds
    seconds: float  # in total


def run(folds: list[Labelled], fold: int, order: int) -> Run:
    train = folds[fold]
    model = caesura.ChainCRF(
        [attributes[0]],
        scheme=None,
        c2=1 / (2 * SIGMA**2),
        all_possible_transitions=False,
        boundary_weights=False,
        order=order,
        n_threads=1,
    )
    began = time.process_time()
    model.fit(train.documents, train.tags)
    seconds = time.process_time() - began
    right = total = words = 0
    others = [one for k, one in enumerate(folds) if k != fold]
    for test in others:
        for found, tags in zip(predicted(model, test), test.tags, strict=True):
            same = sum(a == b for a, b in zip(found, tags, strict=True))
            right, total, words = right + same, total + len(tags), words + (same == len(tags))
    n = sum(len(test.tags) for test in others)
    steps = max(len(model.history_), 1)
    (patterns,) = n_patterns(train.tags, [order])
    return Run(100 * right / total, 100 * words / n, patterns, seconds / steps, seconds)


def predicted(model: Any, test: Labelled) -> Any:
    return model.predict_tags(test.documents, scheme="plain")


def plot(path: str, means: dict[int, Run]) -> None:
    made, axes = figure(10, 3.2, 3)
    orders = list(means)
    for axis, field, title in zip(
        axes,
        ("right", "patterns", "iteration"),
        ("letters right, %", "label patterns", "seconds per iteration"),
        strict=True,
    ):
        axis.plot(orders, [getattr(one, field) for one in means.values()], "o-", color=BLUE)
        axis.set_title(title)
        axis.set_xlabel("maximum order")
        axis.set_xticks(orders)
    for axis in axes[1:]:
        axis.set_ylim(bottom=0)
    save(made, path)


def main() -> None:
    arguments = parsed(
        __doc__,
        folds={"type": int, "default": 10, "help": "learn from so many of the folds"},
        orders={"default": ",".join(map(str, ORDERS))},
    )
    if arguments is None:
        return
    folds = letters(arguments.data)
    different = len({tuple(tags) for fold in folds for tags in fold.tags})
    print(f"{sum(len(fold.tags) for fold in folds):,} words, {different} different ones")
    means: dict[int, Run] = {}
    rows = []
    for order in map(int, arguments.orders.split(",")):
        some = [run(folds, fold, order) for fold in range(arguments.folds)]
        mean = Run(*np.mean(some, axis=0).tolist())
        means[order] = mean
        error = np.std([one.right for one in some]) / max(len(some) - 1, 1) ** 0.5
        rows.append(
            (
                order,
                f"{mean.right:.2f} ± {error:.2f}",
                f"{mean.words:.1f}",
                f"{mean.patterns:.0f}",
                f"{mean.iteration:.3f}",
                f"{mean.seconds:.1f}",
            )
        )
        print(*rows[-1], flush=True)
    print(f"\nmeans over {arguments.folds} folds; the paper: {PAPER}")
    head = ("order", "letters right", "words right", "patterns", "s/iteration", "s to learn")
    print(table(head, rows))
    if arguments.plot:
        plot(arguments.plot, means)


if __name__ == "__main__":
    main()
