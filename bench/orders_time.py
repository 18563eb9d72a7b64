"""Time of an evaluation against the order, and against the length of a text without bounds.

    python bench/orders_time.py [--data ../shared/data] [--plot FILE] [--quick]

References with the features of Cuong et al. 2014 on one core: one objective with its gradient over
all 300 for each order (its Figure 6), and fits to convergence, each in its own process; then single
texts of up to 5,000 tokens, made of references in a row, with no bound on the length of segments
and the same weights.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from orders_cora import model
from orders_data import ORDERS, Labelled, cora, n_patterns, parsed
from plots import BLUE, ORANGE, RED, figure, save
from timing import best_seconds, table

import caesura
from caesura.models.training import Training

Floats = npt.NDArray[np.float64]
LENGTHS = (200, 500, 1000, 2000, 5000)
JAVA = {1: 15.0, 2: 47.0, 3: 73.0}  # seconds for 30 references with the paper's program on one core


class Cost(NamedTuple):
    """Of one evaluation."""

    order: int
    patterns: int
    weights: int
    seconds: float


def compiled(model: Any, labelled: Labelled) -> tuple[Training, Floats]:
    """Return an objective, and weights to evaluate it at."""
    read = model._read(labelled.documents, labelled.segments, None)
    training = model._training(read, None, None)
    w = np.random.default_rng(0).normal(scale=0.1, size=len(training.parameters))
    return training, w


def cost(model: Any, labelled: Labelled) -> Cost:
    training, w = compiled(model, labelled)
    seconds = best_seconds(lambda: training.objective.evaluate(w, None, False, 1), 1.0)
    labels = [[one.label for one in some] for some in labelled.segments]
    return Cost(model.order, n_patterns(labels, [model.order])[0], len(w), seconds)


def by_length(order: int, labelled: Labelled, lengths: Sequence[int]) -> list[float]:
    """Return seconds of an evaluation of each text; all have the weights of all references."""
    tokens = tuple(token for document in labelled.documents for token in document.tokens)
    tags = [tag for some in labelled.tags for tag in some]
    texts = Labelled(
        [*(caesura.Document(tokens[:n]) for n in lengths), *labelled.documents],
        [*(tags[:n] for n in lengths), *labelled.tags],
    )
    training, w = compiled(model("SC", order, max_length=None), texts)
    chosen = [np.array([k], np.int32) for k in range(len(lengths))]
    evaluate = training.objective.evaluate
    return [best_seconds(partial(evaluate, w, one, False, 1), 0.5) for one in chosen]


def fitted(data: Any, order: int) -> None:
    """Fit, and print iterations, seconds and the peak of memory in MB; for a process of its own."""
    train, _ = cora(data)
    one = model("SC", order)
    began = time.process_time()
    one.fit(train.documents, train.segments)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(len(one.history_), seconds, peak)


def alone(arguments: Any, order: int) -> tuple[int, float, float]:
    command = [sys.executable, __file__, "--data", str(arguments.data), "--fit", str(order)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(found[0]), float(found[1]), float(found[2])


def plot(path: str, costs: list[Cost], growth: dict[int, list[float]], lengths: list[int]) -> None:
    made, axes = figure(10, 3.2, 3)
    axes[0].plot([c.order for c in costs], [c.patterns for c in costs], "o-", color=BLUE)
    axes[0].set_title("label patterns of Cora")
    axes[1].plot([c.order for c in costs], [1e3 * c.seconds for c in costs], "o-", color=BLUE)
    axes[1].set_title("ms per evaluation, 300 references")
    for axis in axes[:2]:
        axis.set_xlabel("maximum order")
        axis.set_xticks([c.order for c in costs])
        axis.set_ylim(bottom=0)
    looks = (("o-", BLUE), ("s--", ORANGE), ("^:", RED))
    for (order, seconds), (style, colour) in zip(growth.items(), looks, strict=False):
        shown = [1e3 * s for s in seconds]
        axes[2].plot(lengths, shown, style, ms=4, color=colour, label=f"order {order}")
    axes[2].set_title("ms per evaluation, no bound")
    axes[2].set_xlabel("tokens of one text")
    axes[2].legend(fontsize=8)
    save(made, path)


def main() -> None:
    arguments = parsed(
        __doc__,
        quick={"action": "store_true", "help": "orders 1 and 2, texts up to 500"},
        fit={"type": int, "help": "fit a model of this order and say what it takes"},
    )
    if arguments is None:
        return
    if arguments.fit:
        fitted(arguments.data, arguments.fit)
        return
    train, _ = cora(arguments.data)
    orders = ORDERS[:2] if arguments.quick else ORDERS
    lengths = [n for n in LENGTHS if n <= (500 if arguments.quick else max(LENGTHS))]
    costs = [cost(model("SC", order), train) for order in orders]
    first = costs[0].seconds
    rows = [
        (
            c.order,
            c.patterns,
            f"{c.weights:,}",
            f"{1e3 * c.seconds:.1f}",
            f"{c.seconds / first:.2f}",
            f"{1e6 * c.seconds / c.patterns:.0f}",
            f"{JAVA[c.order]:.0f}" if c.order in JAVA else "",
        )
        for c in costs
    ]
    head = ("order", "patterns", "weights", "ms", "times order 1", "us/pattern", "paper: s for 30")
    print("one evaluation on 300 references, longest segments as in the data, one core")
    print(table(head, rows), flush=True)
    for order in orders[:3]:
        steps, seconds, peak = alone(arguments, order)
        print(f"SC{order} to convergence: {steps} iterations, {seconds:.1f} s, {peak:.0f} MB")
    growth = {order: by_length(order, train, lengths) for order in orders[:3]}
    print("\none text without a bound on the length of segments, ms per evaluation")
    print(
        table(
            ("tokens", *(f"order {order}" for order in growth)),
            [
                (f"{n:,}", *(f"{1e3 * s[k]:.2f}" for s in growth.values()))
                for k, n in enumerate(lengths)
            ],
        )
    )
    for order, times in growth.items():
        power = np.polyfit(np.log(lengths), np.log(times), 1)[0]
        print(f"order {order}: as T^{power:.2f}")
    if arguments.plot:
        plot(arguments.plot, costs, growth, lengths)


if __name__ == "__main__":
    main()
