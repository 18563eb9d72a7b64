"""Tokens per second of a chain of 22 labels through the public batch call, with all marginals.

    python bench/chain.py

The general sweeps do the same work in the same run, and must give the same answer: an edge
potential of score 0 keeps the chain kernel out.
"""

from __future__ import annotations

import numpy as np
from timing import best_seconds, table, wall_seconds

import caesura

Y, TOKENS = 22, 100_000


def batch(T: int, seed: int) -> list[caesura.Potentials]:
    rng = np.random.default_rng(seed)
    transition = rng.normal(size=(Y, Y))
    made = []
    for _ in range(TOKENS // T):
        p = caesura.Potentials(T, Y, max_length=1)
        p.emission = rng.normal(size=(T, Y))
        p.transition = transition
        made.append(p)
    return made


def main() -> None:
    rows = []
    for T in (25, 100, 1000):
        chains = batch(T, seed=T)
        general = [p.copy() for p in chains]
        for p in general:
            p.add_transition(1, 0, 0, 0.0)
        fast, slow = caesura.marginals(chains), caesura.marginals(general)
        for a, b in zip(fast, slow, strict=True):
            assert abs(a.log_partition - b.log_partition) <= 1e-9 * abs(b.log_partition)
            assert np.abs(a.tokens - b.tokens).max() <= 1e-9
            assert np.abs(a.transitions - b.transitions).max() <= 1e-9 * T
        # Wall-clock time, so that the figures for one and two threads can be compared.
        one = wall_seconds(lambda chains=chains: caesura.marginals(chains, n_threads=1))  # type: ignore[misc]
        two = wall_seconds(lambda chains=chains: caesura.marginals(chains, n_threads=2))  # type: ignore[misc]
        log_z = best_seconds(lambda chains=chains: caesura.log_partition(chains, n_threads=1))  # type: ignore[misc]
        sweeps = best_seconds(lambda general=general: caesura.marginals(general, n_threads=1))  # type: ignore[misc]
        million = TOKENS / 1e6
        rows.append(
            [
                T,
                f"{million / one:.1f}",
                f"{million / two:.1f}",
                f"{one / two:.2f}",
                f"{million / log_z:.1f}",
                f"{million / sweeps:.1f}",
                f"{sweeps / one:.1f}",
            ]
        )
    print(f"million tokens per second, chain of {Y} labels, {TOKENS:,} tokens in sequences of T")
    head = ["T", "marginals", "2 threads", "gain", "ln Z only", "general", "chain/general"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
