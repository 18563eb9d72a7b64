"""Evaluation: how well segments were predicted, and whether a difference is more than chance.

Each measure is a module: `scores` counts right segments, `significance` compares two systems.
"""

from caesura.evaluation.scores import (
    Average,
    Report,
    Score,
    evaluate,
    segment_counts,
    sequence_counts,
)
from caesura.evaluation.significance import Comparison, compare

__all__ = [
    "Average",
    "Comparison",
    "Report",
    "Score",
    "compare",
    "evaluate",
    "segment_counts",
    "sequence_counts",
]
