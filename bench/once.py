"""Labels that may occur only once: sums over all segmentations, and the best ones, all exact.

python bench/once.py [--seeds N]

First thirteen limited labels on 50 tokens, then white noise: every label limited, with and without
a bound on the length of segments. ``refused`` means TooLarge.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import best_seconds, table

import caesura

LENGTHS, LABELS = (20, 50, 200), (17, 24, 40, 64)


def noise(T: int, Y: int, bound: int | None, seed: int) -> caesura.Potentials:
    """Return white-noise scores where each label may occur once."""
    rng = np.random.default_rng(seed)
    p = caesura.Potentials(T, Y, max_length=bound)
    p.emission = rng.normal(size=(T, Y))
    p.transition = rng.normal(size=(Y, Y))
    return p.constrain(at_most_once=range(Y))


def thirteen() -> None:
    p = noise(50, 13, None, 0)
    start = time.thread_time()
    caesura.log_partition(p)
    first = time.thread_time() - start
    free, best = caesura.log_partition(p), caesura.viterbi(p)
    assert len({s.label for s in best.segments}) == len(best.segments)
    assert caesura.marginals(p).starts.sum() > 1 - 1e-9
    assert best.score <= free
    rows = [
        ["ln Z, the first time (builds the automaton)", f"{first * 1e3:.0f}"],
        ["ln Z", f"{best_seconds(lambda: caesura.log_partition(p)) * 1e3:.0f}"],
        ["marginals", f"{best_seconds(lambda: caesura.marginals(p)) * 1e3:.0f}"],
        ["viterbi", f"{best_seconds(lambda: caesura.viterbi(p)) * 1e3:.0f}"],
    ]
    print("13 labels at most once, 50 tokens, one core")
    print(table(["question", "ms"], rows))


def timed(ask: Callable[[caesura.Potentials], Any], problems: list[caesura.Potentials]) -> str:
    """Return how many were answered, and the longest CPU time."""
    answered, longest = 0, 0.0
    for p in problems:
        start = time.thread_time()
        try:
            ask(p)
            answered += 1
        except caesura.TooLarge:
            pass
        longest = max(longest, time.thread_time() - start)
    refused = len(problems) - answered
    return f"{longest:.2f} s" + (f", {refused} of {len(problems)} refused" if refused else "")


def white_noise(seeds: int) -> None:
    rows = []
    for bounded in (False, True):
        for T in LENGTHS:
            for Y in LABELS:
                bound = max(5, -(-2 * T // Y)) if bounded else None
                problems = [noise(T, Y, bound, seed) for seed in range(seeds)]
                best = timed(lambda p: caesura.viterbi(p, n_threads=1), problems)
                five = timed(lambda p: caesura.n_best(p, 5, n_threads=1), problems)
                rows.append([str(T), str(Y), str(bound or "none"), best, five])
    print(f"\nWhite noise, all labels at most once, the slowest of {seeds}, one core")
    print(table(["tokens", "labels", "max_length", "viterbi", "n_best(5)"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    thirteen()
    white_noise(given.seeds)


if __name__ == "__main__":
    main()
