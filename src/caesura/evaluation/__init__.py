"""Evaluation: scores of predicted segments, and significance tests.

Each measure is a module: `scores` counts correct segments, `report` collects the results,
`tag_evaluation` scores tags, `intervals` computes confidence intervals, `overlap` counts partial
matches, `error_analysis` classifies errors, `calibration` measures the reliability of
probabilities, `significance` compares two systems, and `html_report` writes an HTML page.
"""

from caesura.evaluation.calibration import Bin, Reliability, reliability, right_segments
from caesura.evaluation.error_analysis import (
    Confused,
    Confusion,
    Errors,
    Kind,
    Match,
    confusion,
    errors,
    matches,
)
from caesura.evaluation.html_report import html_report
from caesura.evaluation.intervals import Interval, Range, bootstrap
from caesura.evaluation.overlap import Overlap, Partials, partial
from caesura.evaluation.report import Report, evaluate
from caesura.evaluation.scores import (
    Average,
    Score,
    Share,
    boundary_counts,
    lenient_counts,
    segment_counts,
    sequence_counts,
    token_counts,
    words_of,
)
from caesura.evaluation.significance import Comparison, compare
from caesura.evaluation.tag_evaluation import evaluate_side_by_side, evaluate_tags

__all__ = [
    "Average",
    "Bin",
    "Comparison",
    "Confused",
    "Confusion",
    "Errors",
    "Interval",
    "Kind",
    "Match",
    "Overlap",
    "Partials",
    "Range",
    "Reliability",
    "Report",
    "Score",
    "Share",
    "bootstrap",
    "boundary_counts",
    "compare",
    "confusion",
    "errors",
    "evaluate",
    "evaluate_side_by_side",
    "evaluate_tags",
    "html_report",
    "lenient_counts",
    "matches",
    "partial",
    "reliability",
    "right_segments",
    "segment_counts",
    "sequence_counts",
    "token_counts",
    "words_of",
]
