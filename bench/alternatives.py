"""Runners-up, n-best of chains and minimum risk on long sequences.

``python bench/alternatives.py`` prints CPU seconds at growing lengths. The runners-up of `explain`
are compared with what one search for each segment finds, in which the segment is forbidden.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import caesura
from caesura import ChainCRF, Potentials, SemiCRF
from caesura.features import Length, first, lower, window
from caesura.models.rules import Rules

TOKENS = window(lower, -1, 1)
MODELS: dict[str, Callable[[], Any]] = {
    "semi-CRF": lambda: SemiCRF(
        [*TOKENS, first(lower[0]), Length(exact=(1, 2), at_least=3)], c2=1.0
    ),
    "semi-CRF, order 2": lambda: SemiCRF(TOKENS, order=2, c2=1.0),
    "chain": lambda: ChainCRF(TOKENS, c2=1.0),
    "chain, nothing forbidden": lambda: ChainCRF(TOKENS, forbid_invalid="never", c2=1.0),
}


def sequence(length: int, seed: int) -> tuple[list[str], list[tuple[int, int, str]]]:
    """Return tokens and segments of one to three tokens; some tokens are uninformative."""
    rng = random.Random(seed)
    tokens: list[str] = []
    segments = []
    while len(tokens) < length:
        label, size = rng.choice("abc"), min(rng.choice([1, 1, 2, 3]), length - len(tokens))
        if label != "c":
            segments.append((len(tokens), len(tokens) + size, label))
        for _ in range(size):
            known = rng.random() < 0.7
            tokens.append(f"{label}{rng.randrange(6)}" if known else f"w{rng.randrange(9)}")
    return tokens, segments


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return CPU seconds and the result."""
    begin = time.process_time()
    result = call(*arguments)
    return time.process_time() - begin, result


def one_by_one(model: Any, x: list[str]) -> list[float]:
    """Return the loss of the best answer without each segment, by one search for each."""
    p = model.potentials(x)
    best = caesura.viterbi(p)
    margins = []
    for segment in model.predict([x])[0]:
        q = p.copy()
        model.coding.constrain(q, Rules(forbidden=(segment,)), "constraints", model._known)
        margins.append(best.score - caesura.viterbi(q).score)
    return margins


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[500, 1000, 2000, 4000])
    parser.add_argument("--compared", type=int, default=1000, help="longest that is compared")
    given = parser.parse_args()
    X, Y = zip(*(sequence(30, seed) for seed in range(60)), strict=True)
    fitted = {name: make().fit(X, Y) for name, make in MODELS.items()}
    print("explain, and a search for each segment (CPU seconds)")
    for name, model in fitted.items():
        for length in given.lengths:
            x = sequence(length, 1000)[0]
            seconds, whys = timed(model.explain, x)
            if length > given.compared:
                print(f"{name:25} {length:6} {seconds:8.3f}")
                continue
            other, margins = timed(one_by_one, model, x)
            assert np.allclose([why.margin for why in whys], margins, atol=1e-6)
            print(f"{name:25} {length:6} {seconds:8.3f} {other:8.3f}")
    print("predict_n_best of a chain with nothing forbidden, n = 1 and 100 (CPU seconds)")
    chain = fitted["chain, nothing forbidden"]
    for length in given.lengths:
        x = sequence(length, 1000)[0]
        few, many = (timed(chain.predict_n_best, [x], n)[0] for n in (1, 100))
        print(f"{length:6} {few:8.3f} {many:8.3f}")
    print("minimum_risk with 5 labels (CPU seconds, peak MB of this process)")
    for length in [*given.lengths, 20_000]:
        rng = np.random.default_rng(0)
        p = Potentials(length, 5)
        p.emission[:] = rng.normal(size=(length, 5))
        p.transition[:] = rng.normal(size=(5, 5)) - 1
        seconds = timed(caesura.minimum_risk, p)[0]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{length:6} {seconds:8.3f} {peak:8}")


if __name__ == "__main__":
    main()
