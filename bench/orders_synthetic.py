"""Chains of order 1 to 5 on Markov states of order 2 or 3: Cuong et al. 2014, Figure 2, Table 2.

    python bench/orders_synthetic.py [--plot FILE] [--draws 3] [--sizes 300] [--orders 1,2,3]

Five states, two possible successors of each history, three numbers a state with deviation sigma;
sequences of 20, 300 to 500 to learn from (the larger sets have the smaller in them), 500 to test.
Features: the numbers before, at and behind a token with its state, and all label patterns of the
training data.  Means over draws of the model; the paper has one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from orders_data import ORDERS, Labelled, patterns
from plots import BLUE, GREY, figure, save
from timing import table

import caesura
from caesura.features import dense

STATES, SUCCESSORS, NUMBERS, LENGTH, TEST = 5, 2, 3, 20, 500
SIZES = (300, 400, 500)
DEVIATIONS = (0.01, 0.05, 0.10, 0.20)  # the last is not in the paper: order 1 has more to gain
SEED_TABLE = {  # patterns of five labels that occur in one part only / all: train, test
    (2, 300): ("16/173", "13/170"),
    (2, 400): ("17/175", "12/170"),
    (2, 500): ("17/177", "10/170"),
    (3, 300): ("34/393", "58/417"),
    (3, 400): ("37/406", "48/417"),
    (3, 500): ("42/424", "35/417"),
}
FEATURES = [dense[-1], dense[0], dense[1]]


class World(NamedTuple):
    """A Markov model of some order, and states that it made; sigma has no part in it."""

    order: int
    means: npt.NDArray[np.float64]  # (STATES, NUMBERS)
    states: npt.NDArray[np.int64]  # (sequences, LENGTH): the last TEST sequences are for testing


def world(order: int, draw: int) -> World:
    rng = np.random.default_rng([order, draw])
    histories = STATES**order
    successors = rng.permuted(np.tile(np.arange(STATES), (histories, 1)), axis=1)[:, :SUCCESSORS]
    chances = rng.uniform(size=(histories, SUCCESSORS))
    chances /= chances.sum(axis=1, keepdims=True)
    n = max(SIZES) + TEST
    states = np.empty((n, LENGTH), np.int64)
    states[:, :order] = rng.integers(0, STATES, (n, order))
    radix = STATES ** np.arange(order)[::-1]
    for t in range(order, LENGTH):
        history = states[:, t - order : t] @ radix
        which = (rng.uniform(size=n)[:, None] > chances[history].cumsum(axis=1)[:, :-1]).sum(axis=1)
        states[:, t] = successors[history, which]
    return World(order, rng.uniform(size=(STATES, NUMBERS)), states)


def seen(world: World, sigma: float, draw: int) -> Labelled:
    """Return all sequences with what is seen of them."""
    noise = np.random.default_rng([draw, 1]).normal(size=(*world.states.shape, NUMBERS))
    numbers = world.means[world.states] + sigma * noise
    tokens = tuple("?" * LENGTH)
    return Labelled(
        [caesura.Document(tokens, dense=one) for one in numbers],
        [[f"s{state}" for state in some] for some in world.states],
    )


def accuracy(labelled: Labelled, size: int, order: int) -> float:
    """Learn from the first sequences; return the share of right states in the last, per cent."""
    n = len(labelled.tags)
    train, test = labelled.part(range(size)), labelled.part(range(n - TEST, n))
    model = caesura.ChainCRF(
        FEATURES,
        scheme=None,
        c2=0.5,
        all_possible_transitions=False,
        boundary_weights=False,
        order=order,
        n_threads=1,
    )
    found = model.fit(train.documents, train.tags).predict_tags(test.documents, scheme="plain")
    return 100 * float(np.mean(np.array(found) == np.array(test.tags)))


def exclusive(world: World, size: int, longest: int = 5) -> tuple[str, str]:
    """Return how many patterns of five labels only one part has, of how many."""
    parts = [world.states[:size], world.states[-TEST:]]
    found = [
        {p for p in patterns([list(map(str, s)) for s in part], longest) if len(p) == longest}
        for part in parts
    ]
    train, test = found
    return f"{len(train - test)}/{len(train)}", f"{len(test - train)}/{len(test)}"


Curves = dict[tuple[int, int, float], list[float]]  # order of the model, size, sigma -> accuracies


def measured(orders: list[int], sizes: list[int], draws: int) -> Iterator[tuple[tuple, list]]:  # type: ignore[type-arg]
    for k in (2, 3):
        worlds = [world(k, draw) for draw in range(draws)]
        for size in sizes:
            for sigma in DEVIATIONS:
                data = [seen(one, sigma, draw) for draw, one in enumerate(worlds)]
                means = [float(np.mean([accuracy(d, size, o) for d in data])) for o in orders]
                yield (k, size, sigma), means


def plot(path: str, curves: Curves, orders: list[int], sizes: list[int]) -> None:
    made, axes = figure(9, 3.4, 2)
    for axis, k in zip(axes, (2, 3), strict=True):
        for sigma, style in zip(DEVIATIONS, ("o-", "s--", "^:", "v-."), strict=True):
            for size, shade in zip(sizes, (0.45, 0.7, 1.0), strict=False):
                label = f"sigma {sigma:g}" if size == sizes[-1] else None
                alpha = shade if len(sizes) > 1 else 1.0
                axis.plot(orders, curves[k, size, sigma], style, ms=4, alpha=alpha, label=label,
                          color=BLUE)  # fmt: skip
        axis.axvline(k, color=GREY, lw=0.8)
        axis.set_title(f"made by a Markov model of order {k}")
        axis.set_xlabel("maximum order of the features")
        axis.set_xticks(orders)
    axes[0].set_ylabel("states right, %")
    axes[0].legend(fontsize=8)
    save(made, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plot", metavar="FILE", help="draw a picture")
    parser.add_argument("--draws", type=int, default=3, help="of the Markov model")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--orders", default=",".join(map(str, ORDERS)))
    arguments = parser.parse_args()
    orders = [int(order) for order in arguments.orders.split(",")]
    sizes = [int(size) for size in arguments.sizes.split(",")]
    rows = []
    for k in (2, 3):
        for size in sizes:
            ours = [f"{a} {b}" for a, b in (exclusive(world(k, d), size) for d in range(2))]
            rows.append((k, size, *ours, " ".join(SEED_TABLE[k, size])))
    print("patterns of five labels that only one part has, of how many: train test")
    print(table(("made by order", "train", "draw 0", "draw 1", "paper"), rows), flush=True)
    began, curves = time.process_time(), {}
    for key, means in measured(orders, sizes, arguments.draws):
        curves[key] = means
        print(*key, *(f"{mean:.2f}" for mean in means), flush=True)
    print(f"\nstates right, %, means of {arguments.draws} draws;", end=" ")
    print(f"{time.process_time() - began:.0f} s of processor time")
    head = ("made by order", "train", "sigma", *(f"order {order}" for order in orders))
    print(table(head, [(*key, *(f"{m:.2f}" for m in means)) for key, means in curves.items()]))
    if arguments.plot:
        plot(arguments.plot, curves, orders, sizes)


if __name__ == "__main__":
    main()
