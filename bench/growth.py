"""Running time against training size: naive, bounded and overlapping semi-CRFs, and a chain.

    python bench/growth.py [--data ../shared/data] [--quick] [--plot FILE]

One objective with its gradient, time of this thread on the processor, the best of several runs that
take turns; five attributes a token, the same for all:

- naive: each segment of up to L tokens, L being the longest of the training data, carries the
  attributes of all its tokens by itself, and they are summed again for each segment: a user's
  function of segments, in the same kernel as the others.
- bounded: segments of up to L tokens that share the sums of their tokens.
- overlapping: segments of any length.
- B-C-E-U chain: tags.

Naive and bounded are one model, and so are naive and overlapping where L is the longest document:
the log-likelihoods are compared at the same weights.
"""

from __future__ import annotations

import argparse
import resource
from collections import Counter
from collections.abc import Callable
from itertools import chain as joined
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from chunking import Parts, alone, bags
from plots import BLUE, GREY, ORANGE, RED, figure, save
from segments import (
    Floats,
    Task,
    by_turns,
    chain,
    compiled,
    evaluation,
    random_weights,
    semi,
    shape_of,
    tasks,
)
from timing import table

import caesura
from caesura.features import SegmentFunction
from caesura.models.training import Training

SIZES = (25, 50, 100, 200, 400)
FORMS = ("naive", "bounded", "overlapping", "B-C-E-U chain")
FEW: tuple[Parts, ...] = ((("w", -1),), (("w", 0),), (("w", 1),), (("shape", 0),), (("suffix", 0),))


class Point(NamedTuple):
    """The seconds of an evaluation in each form; without naive where it needs too much memory."""

    sequences: int
    longest: int
    seconds: dict[str, float]


# -- the naive implementation ----------------------------------------------------------------------


def lean(document: caesura.Document) -> caesura.Document:
    """Return a document with few attributes."""
    tokens = document.tokens
    columns = {"w": tokens, "shape": [*map(shape_of, tokens)], "suffix": [t[-3:] for t in tokens]}
    return caesura.Document(tokens, attributes=bags(columns, FEW), segments=document.segments)


def counts(document: caesura.Document, start: int, end: int) -> dict[str, int]:
    """Return how often each attribute occurs in a span."""
    given: Any = document.attributes
    return Counter(joined.from_iterable(given[start:end]))


def naive(L: int) -> caesura.SemiCRF:
    return semi([SegmentFunction(counts, L)], max_length=L)


def repeats(document: caesura.Document, L: int) -> bool:
    """Whether a count is not 1: the kernel then does not add up what often comes together."""
    return max(counts(document, 0, L).values()) > 1


def firings(task: Task) -> int:
    """Return how many attributes fire in the naive form, at most."""
    lengths = np.array([len(one) for one in task.documents])
    spans = (np.maximum(lengths - k + 1, 0).sum() * k for k in range(1, task.longest + 1))
    return int(sum(spans)) * len(FEW)


def same(naive: Training, other: Training) -> None:
    """Check that both are one model: equal log-likelihoods at weights with the same names."""
    w = np.random.default_rng(1).normal(scale=0.3, size=len(other.parameters))
    v = renamed(naive, other, w)
    a, b = evaluation(naive, v)()[0], evaluation(other, w)()[0]
    assert abs(a - b) <= 1e-9 * abs(b), (a, b)


def renamed(naive: Training, other: Training, w: Floats) -> Floats:
    """Return the weights of the other in the order of the naive form."""
    p, q = naive.parameters, other.parameters
    for block in ("transition", "start", "end"):
        assert np.array_equal(getattr(p, block), getattr(q, block))
    mine, its = keys(naive, "counts="), keys(other, "attributes[0]=")
    at = {key: k for k, key in enumerate(its)}
    assert len(at) == len(its) == len(mine)
    return np.concatenate([w[[at[key] for key in mine]], w[len(its) :]])


def keys(training: Training, prefix: str) -> list[tuple[str, int]]:
    """Return the attribute and the label of each weight that has an attribute."""
    names = training.encoder.names(range(len(training.encoder)))
    p = training.parameters
    pairs = zip(p.attribute.tolist(), p.label.tolist(), strict=True)
    return [(names[a].removeprefix(prefix), label) for a, label in pairs]


# -- measurements ----------------------------------------------------------------------------------


def measure(task: Task, rounds: int, most: int) -> Point:
    """Time an evaluation in each form."""
    L = task.longest
    models = {"bounded": compiled(semi(max_length=L), task)}
    models |= {"overlapping": compiled(semi(), task), "B-C-E-U chain": compiled(chain(), task)}
    if firings(task) <= most:
        assert any(repeats(one, L) for one in task.documents)
        models["naive"] = compiled(naive(L), task)
        same(models["naive"], models["bounded"])
    calls: dict[str, Callable[[], Any]] = {
        name: evaluation(model, random_weights(model)) for name, model in models.items()
    }
    turns = rounds * max(1, SIZES[-1] // len(task.documents))
    point = Point(len(task.documents), L, by_turns(calls, turns))
    print(" ", *row(task.name, point), flush=True)
    return point


def growth(task: Task, sizes: tuple[int, ...], rounds: int, most: int) -> list[Point]:
    """Time parts of a task, the last one whole if it is smaller than the largest size."""
    some = task.part(10)
    same(compiled(naive(max(map(len, some.documents))), some), compiled(semi(), some))
    parts = sorted({min(n, len(task.documents)) for n in sizes})
    return [measure(task.part(n), rounds, most) for n in parts]


def row(task: str, point: Point) -> list[str]:
    ms = [f"{point.seconds[one] * 1e3:.2f}" if one in point.seconds else "" for one in FORMS]
    ratio = point.seconds.get("naive", float("nan")) / point.seconds["overlapping"]
    times = f"{ratio:.0f}" if ratio == ratio else ""
    return [task, str(point.sequences), str(point.longest), *ms, times]


def plot(path: str, results: dict[str, list[Point]]) -> None:
    made, axes = figure(10.0, 3.6, len(results), sharey=True)
    styles = dict(zip(FORMS, ("D-", "s--", "o-", "^-"), strict=True))
    colours = dict(zip(FORMS, (RED, ORANGE, BLUE, GREY), strict=True))
    for axis, (task, points) in zip(axes, results.items(), strict=True):
        for name in FORMS:
            done = [one for one in points if name in one.seconds]
            x, y = [one.sequences for one in done], [one.seconds[name] * 1e3 for one in done]
            axis.loglog(x, y, styles[name], ms=4, color=colours[name], label=name)
        axis.set_xticks(x, [str(n) for n in x])
        axis.minorticks_off()
        axis.set_title(task)
        axis.set_xlabel("training sequences")
    axes[0].set_ylabel("ms, objective and gradient")
    axes[0].legend(fontsize=8)
    save(made, path)


def main() -> None:
    alone()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true", help="25 and 50 sequences, to try it")
    parser.add_argument(
        "--rounds", type=int, default=15, help="evaluations of each, more of small parts"
    )
    parser.add_argument(
        "--most", type=int, default=30_000_000, help="attributes of segments in the naive form"
    )
    parser.add_argument("--plot", metavar="FILE", help="time against training size, as a picture")
    arguments = parser.parse_args()
    if not (arguments.data / "conll2000").is_dir():
        print(f"no corpora in {arguments.data}: skipped; name their folder with --data")
        return
    sizes = SIZES[:2] if arguments.quick else SIZES
    results = {
        task.name: growth(task, sizes, arguments.rounds, arguments.most)
        for task in tasks(arguments.data, max(sizes), lean)
    }
    rows = [row(task, one) for task, points in results.items() for one in points]
    print("ms of one objective with its gradient; the last column is naive / overlapping")
    print(table(["", "sequences", "longest", *FORMS, "times"], rows))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak of memory {peak:,.0f} MB; blank where naive would fire more than --most")
    if arguments.plot:
        plot(arguments.plot, results)


if __name__ == "__main__":
    main()
