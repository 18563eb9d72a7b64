"""Time of this thread on the processor, the best of several runs; and tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def best_seconds(call: Callable[[], object], least: float = 0.2, most_runs: int = 20) -> float:
    """Seconds of processor time of one call: the best of as many as fit into `least` seconds."""
    call()
    best, spent, runs = float("inf"), 0.0, 0
    while runs < 3 or (spent < least and runs < most_runs):
        start = time.thread_time()
        call()
        seconds = time.thread_time() - start
        best, spent, runs = min(best, seconds), spent + seconds, runs + 1
    return best


def wall_seconds(call: Callable[[], object], runs: int = 25) -> float:
    """Seconds on the wall clock, the best of several; for work on threads."""
    call()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a plain table with columns aligned to the right."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
