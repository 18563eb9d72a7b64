"""Plots of curves: as characters in a terminal, or as an image."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from caesura.errors import InvalidInput

__all__ = ["characters", "picture"]

MARKS = "●○▲△"
BOTH = "◉"  # points where curves meet
MOST_TICKS = 8  # number of ticks whose names fit below a picture
Curves = Mapping[str, Sequence[tuple[float, float]]]  # name -> points (x, y)


def characters(curves: Curves, width: int = 60, height: int = 12) -> list[str]:
    """Draw curves with characters over a logarithmic x axis.

    Examples
    --------
    >>> for line in characters({"semi": [(10, 0.5), (100, 1.0)]}, width=20, height=3):
    ...     print(line)
    1.000 │                   ●
    0.750 │
    0.500 │●
          └────────────────────
           10               100
    ● semi
    """
    points = [point for curve in curves.values() for point in curve]
    xs, ys = [math.log(x) for x, _ in points], [y for _, y in points]
    low, high = min(ys), max(ys)
    if high - low < 0.01:
        low, high = max(0.0, low - 0.05), min(1.0, high + 0.05)
    grid = [[" "] * width for _ in range(height)]
    for mark, curve in zip(MARKS, curves.values(), strict=False):
        for x, y in curve:
            column = _place(math.log(x), min(xs), max(xs), width)
            row = height - 1 - _place(y, low, high, height)
            grid[row][column] = mark if grid[row][column] == " " else BOTH
    lines = [
        f"{high - (high - low) * r / (height - 1):.3f} │{''.join(row)}".rstrip()
        for r, row in enumerate(grid)
    ]
    first, last = f"{math.exp(min(xs)):.0f}", f"{math.exp(max(xs)):.0f}"
    lines.append(f"      └{'─' * width}")
    lines.append(f"       {first}{last.rjust(width - len(first))}")
    names = [f"{mark} {name}" for mark, name in zip(MARKS, curves, strict=False)]
    return [*lines, "  ".join(names)]


def _place(value: float, low: float, high: float, count: int) -> int:
    return 0 if high == low else round((value - low) / (high - low) * (count - 1))


def _apart(sizes: Sequence[float]) -> list[float]:
    """Return sizes whose labels do not overlap on a logarithmic axis, with both ends.

    Examples
    --------
    >>> _apart([10, 20, 1000, 1010, 1020])
    [10, 20, 1020]
    """
    known = sorted(set(sizes))
    step = (math.log(known[-1]) - math.log(known[0])) / MOST_TICKS
    kept = known[-1:]
    for size in reversed(known[:-1]):
        near_first = math.log(size) - math.log(known[0]) < step and size != known[0]
        if math.log(kept[-1]) - math.log(size) >= step and not near_first:
            kept.append(size)
    return kept[::-1]


def picture(path: Path, curves: Curves, title: str, labels: tuple[str, str]) -> None:
    """Draw curves into an image file in the format of its suffix; needs matplotlib."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import FixedLocator, NullFormatter
    except ImportError:
        raise InvalidInput(
            "matplotlib is not installed",
            place="--png",
            remedy="install it with pip install 'caesura[plots]'",
        ) from None
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes: Any = figure.add_subplot()
    for (name, curve), mark in zip(curves.items(), "os^v", strict=False):
        axes.plot([x for x, _ in curve], [y for _, y in curve], marker=mark, label=name)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(_apart([x for c in curves.values() for x, _ in c])))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel=labels[0], ylabel=labels[1], title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:  # an unknown file extension
        raise InvalidInput(
            str(error), place="--png", remedy="give a name that ends in .png, .svg or .pdf"
        ) from None
