"""Milliseconds per batch of external scores: the batch interface beside a list of `Potentials`.

    python bench/batch.py

One thread, processor time, all answers compared while timing.  "list" builds the `Potentials` from
the array, as a caller who has only the array must; "list, built" asks `Potentials` that exist
already and whose indexes are made.  The arrays are float32 and float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from timing import best_seconds, table

import caesura
from caesura.inference.batch import Batch, batch_best, batch_log_partition, batch_posterior

CASES = {"chain": (64, 30, 1, 20), "semi": (32, 50, 10, 10)}  # B, T, L, Y


def potentials(scores: Any, transition: Any, lengths: Any) -> list[caesura.Potentials]:
    made = []
    for b, T in enumerate(lengths.tolist()):
        p = caesura.Potentials(T, scores.shape[-1], max_length=scores.shape[2])
        if scores.shape[2] == 1:
            p.emission[...] = scores[b, :T, 0]
        else:
            p.spans[...] = scores[b, :T]
        p.transition[...] = transition
        made.append(p)
    return made


def batch(scores: Any, transition: Any, lengths: Any) -> Batch:
    if scores.shape[2] == 1:
        return Batch(scores[:, :, 0], lengths=lengths, transition=transition, max_length=1)
    return Batch(segments=scores, lengths=lengths, transition=transition)


def agree(name: str, found: Any, expected: Any, near: float) -> None:
    if name == "log Z":
        assert np.allclose(found, expected, rtol=near)
    elif name == "counts":
        total = np.sum([m.transitions for m in expected], axis=0)
        assert np.allclose(found.transition, total, rtol=near, atol=near)
    else:
        assert np.allclose(found.scores, [path.score for path in expected], rtol=near)


def main() -> None:
    questions: dict[str, tuple[Any, Any]] = {
        "log Z": (batch_log_partition, caesura.log_partition),
        "counts": (batch_posterior, caesura.marginals),
        "best": (batch_best, caesura.viterbi),
    }
    rows = []
    for case, (B, T, L, Y) in CASES.items():
        rng = np.random.default_rng(0)
        scores, transition = rng.normal(size=(B, T, L, Y)), rng.normal(size=(Y, Y))
        lengths = rng.integers(T // 2, T + 1, B)
        lengths[0] = T
        for name, (of_batch, of_list) in questions.items():
            given = scores, transition, lengths
            built = potentials(*given)
            seconds = [
                best_seconds(
                    lambda ask=of_list, given=given: ask(potentials(*given), n_threads=1)  # type: ignore[misc]
                ),
                best_seconds(lambda ask=of_list, built=built: ask(built, n_threads=1)),  # type: ignore[misc]
            ]
            for dtype, near in ((np.float64, 1e-9), (np.float32, 1e-4)):
                mine = scores.astype(dtype), transition.astype(dtype), lengths
                agree(name, of_batch(batch(*mine)), of_list(built), near)
                seconds.append(
                    best_seconds(
                        lambda ask=of_batch, mine=mine: ask(batch(*mine), n_threads=1)  # type: ignore[misc]
                    )
                )
            rows.append(
                [case, name]
                + [f"{1e3 * value:.2f}" for value in seconds]
                + [f"{seconds[0] / seconds[2]:.1f}", f"{seconds[1] / seconds[2]:.2f}"]
            )
    print("milliseconds; chain B=64 T<=30 Y=20, semi B=32 T<=50 L=10 Y=10")
    head = ["model", "question", "list", "list, built", "float64", "float32"]
    print(table([*head, "list / float64", "built / float64"], rows))


if __name__ == "__main__":
    main()
