"""The style of all plots: sizes, grid, colours and resolution.

The ground is white; ``docs/static/caesura.css`` inverts plots on a dark page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["BLUE", "GREY", "ORANGE", "RED", "figure", "save"]

BLUE, ORANGE, RED, GREY = "#1f6fb4", "#d9772b", "#b03a3a", "#6f7f8f"


def figure(
    width: float = 9.0, height: float = 3.2, columns: int = 2, **options: Any
) -> tuple[Any, Any]:
    """Return an empty figure with some axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    made, axes = plt.subplots(1, columns, figsize=(width, height), squeeze=False, **options)
    for axis in axes[0]:
        axis.grid(alpha=0.3)
    return made, axes[0]


def save(made: Any, path: str | Path) -> None:
    """Write a figure to a file."""
    made.tight_layout()
    made.savefig(path, dpi=110)
