"""Milliseconds of log Z and its gradient over kept spans: the span graph beside explicit arcs.

    python bench/filtered.py

One thread, processor time.  "all" keeps every span of up to K tokens, the worst case of a filter;
"few" keeps as many spans as there are tokens.  Explicit arcs are those of the plain torch path,
which lists them; values are compared while timing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from timing import best_seconds, table

from caesura.neural import graph

CASES = ((16, 16), (32, 32), (128, 8), (512, 8), (512, 32))  # T, K
LABELS = 4
MOST_ARCS = 20_000  # that the plain path is asked to walk


def spans(T: int, K: int, few: bool) -> Any:
    rng = np.random.default_rng(0)
    every = [(0, s, e, 0) for s in range(T) for e in range(s + 1, min(T, s + K) + 1)]
    rows = np.array(every, np.int64)
    if few:
        rows = rows[np.sort(rng.choice(len(rows), min(T, len(rows)), replace=False))]
    rows[:, 3] = rng.integers(0, LABELS, len(rows))
    return rows


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    head = ["T", "K", "kept", "spans", "arcs", "span graph ms", "explicit ms", "times"]
    lines = []
    for T, K in CASES:
        for few in (True, False):
            rows, lengths = spans(T, K, few), np.array([T])
            scores = torch.randn(len(rows), dtype=torch.float64, requires_grad=True)
            transition = torch.randn(LABELS, LABELS, dtype=torch.float64, requires_grad=True)
            nodes, arcs = graph.size_of(rows[:, 1:3])

            def ask(
                use: bool,
                rows: Any = rows,
                lengths: Any = lengths,
                scores: torch.Tensor = scores,
                transition: torch.Tensor = transition,
            ) -> torch.Tensor:
                log_z = graph.log_partition(rows, lengths, scores, transition, use)
                torch.autograd.grad(log_z.sum(), [scores, transition])
                return log_z.detach()

            ours = best_seconds(lambda ask=ask: ask(True))  # type: ignore[misc]
            shown = [T, K, "few" if few else "all", nodes, arcs, f"{1e3 * ours:.3f}"]
            if arcs > MOST_ARCS:
                lines.append([*shown, "not run", "-"])
                continue
            assert torch.allclose(ask(True), ask(False))
            plain = best_seconds(lambda ask=ask: ask(False), least=0.0)  # type: ignore[misc]
            lines.append([*shown, f"{1e3 * plain:.1f}", f"{plain / ours:.0f}"])
    print(table(head, lines))


if __name__ == "__main__":
    main()
