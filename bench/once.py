"""Thirteen labels at most once on 50 tokens: ln Z, marginals and the best segmentation, all exact.

python bench/once.py
"""

from __future__ import annotations

import time

import numpy as np
from timing import best_seconds, table

import caesura


def main() -> None:
    rng = np.random.default_rng(0)
    p = caesura.Potentials(50, 13)
    p.emission = rng.normal(size=(50, 13))
    p.transition = rng.normal(size=(13, 13))
    p.constrain(at_most_once=range(13))

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


if __name__ == "__main__":
    main()
