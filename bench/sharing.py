"""Training with and without shared segment sums: L-BFGS, cutting planes, eg.

    python bench/sharing.py [--data ../shared/data] [--sequences 100] [--iterations 10] [--quick]

References of Cora, whose fields are up to 40 tokens long, five attributes a token.  Each learner
makes the same number of iterations in three forms (see growth.py):

- naive: each span of up to L tokens counts its attributes by itself, L being the longest segment.
- bounded: spans of up to L tokens, with sums that they share.
- overlapping: no bound on the length.

Naive and bounded are one model, so they must have the same objective after each iteration.  So must
naive and overlapping where L is the longest sequence; that is checked, and timed, on `--whole`
sequences.  Cutting planes begin with ties, which each form may break in its own way; so they run
until the gap is a tenth of the objective, and the optima that the gaps allow must have some in
common.  Times are processor seconds of one thread, without encoding: between the first iteration
and the last, the median of `--rounds` runs that take turns (one).
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from growth import counts, lean
from segments import Task, tasks
from timing import table

import caesura
from caesura.features import SegmentFunction, attributes
from caesura.learning import Progress

LEARNERS: dict[str, dict[str, Any]] = {
    "lbfgs": {"learner": "lbfgs", "precision": "double"},
    "cutting-plane": {"learner": "cutting-plane", "max_iterations": 1000, "delta": 0.1},
    "eg, log loss": {"learner": "eg", "loss": "log"},
    "eg, max-margin": {"learner": "eg"},
}
TOLERANCE = 1e-6  # relative, between objectives


def naive(L: int, bound: int | None, **options: Any) -> caesura.SemiCRF:
    return caesura.SemiCRF([SegmentFunction(counts, L)], max_length=bound, **options)


def shared(bound: int | None, **options: Any) -> caesura.SemiCRF:
    return caesura.SemiCRF([attributes[0]], max_length=bound, **options)


def trained(model: caesura.SemiCRF, task: Task) -> tuple[float, list[Progress]]:
    """Return the seconds of an iteration, and what was reached after each."""
    seen: list[tuple[float, Progress]] = []
    model.fit(task.documents, callbacks=[lambda one: seen.append((time.process_time(), one))])
    seconds = (seen[-1][0] - seen[0][0]) / (len(seen) - 1)
    return seconds, [progress for _, progress in seen]


def agree(one: list[Progress], other: list[Progress], ties: bool) -> bool:
    """Whether two runs go through the same objectives, or with ties end at one optimum."""
    if ties:
        low = max(run[-1].objective - (run[-1].gap or 0.0) for run in (one, other))
        return low <= min(run[-1].objective for run in (one, other))
    a, b = (np.array([progress.objective for progress in run]) for run in (one, other))
    return len(a) == len(b) and bool(np.abs(a - b).max() <= TOLERANCE * np.abs(a).max())


def compare(
    name: str, task: Task, forms: dict[str, caesura.SemiCRF], alike: tuple[str, str], rounds: int
) -> dict[str, float]:
    """Train each form; return the seconds of an iteration, after comparing what two forms reach."""
    seconds: dict[str, list[float]] = {form: [] for form in forms}
    for _ in range(rounds):
        reached = {}
        for form, model in forms.items():
            spent, reached[form] = trained(model, task)
            seconds[form].append(spent)
        if not agree(reached[alike[0]], reached[alike[1]], name == "cutting-plane"):
            raise SystemExit(f"{name}: {alike[0]} and {alike[1]} do not agree")
    return {form: statistics.median(some) for form, some in seconds.items()}


def rows_of(task: Task, whole: Task, iterations: int, rounds: int) -> list[list[str]]:
    """Measure all learners; return the rows of the table."""
    L, longest = task.longest, max(map(len, whole.documents))
    rows = []
    for name, options in LEARNERS.items():
        common = {"c2": 1.0, "n_threads": 1, "max_iterations": iterations, "delta": 0.0} | options
        forms = {
            "naive": naive(L, L, **common),
            "bounded": shared(L, **common),
            "overlapping": shared(None, **common),
        }
        first = compare(name, task, forms, ("naive", "bounded"), rounds)
        forms = {"naive": naive(longest, None, **common), "overlapping": shared(None, **common)}
        second = compare(name, whole, forms, ("naive", "overlapping"), rounds)
        ms = [f"{1e3 * first[form]:.1f}" for form in ("naive", "bounded", "overlapping")]
        ratios = [f"{first[form] / first['overlapping']:.1f}" for form in ("naive", "bounded")]
        rows.append([name, *ms, *ratios, f"{second['naive'] / second['overlapping']:.1f}"])
        print(*rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--whole", type=int, default=20, help="sequences with L the longest one")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="20 sequences, 5 iterations, once")
    given = parser.parse_args()
    if not (given.data / "cora_ie").is_dir():
        print(f"no corpora in {given.data}: skipped; name their folder with --data")
        return
    if given.quick:
        given.sequences, given.whole, given.iterations, given.rounds = 20, 5, 5, 1
    warnings.simplefilter("ignore")  # about gaps after so few iterations
    (task,) = (one for one in tasks(given.data, given.sequences, lean) if one.name == "Cora")
    rows = rows_of(task, task.part(given.whole), given.iterations, given.rounds)
    print(f"{len(task.documents)} references, L = {task.longest}; ms of an iteration, and times")
    head = ["", "naive", "bounded", "overlapping", "naive / ov.", "bounded / ov.", "all spans"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
