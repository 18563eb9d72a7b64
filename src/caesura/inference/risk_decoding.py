"""Decoding of the segmentation with the most expected correct segments."""

from __future__ import annotations

import numpy as np

from caesura import _kernels
from caesura.inference.kernel_calls import require_possible
from caesura.inference.problems import problem_of, structure_of
from caesura.inference.results import Path, named
from caesura.potentials import Label, Potentials

__all__ = ["minimum_risk"]

MOST_SEGMENTS = 10_000_000  # maximum number of segments that are scored; about 100 bytes each


def minimum_risk(p: Potentials, outside: Label | None, method: int) -> Path:
    """Return the possible segmentation with the largest sum of segment probabilities.

    The probabilities of segments become the scores of a second model with the same structure, whose
    best segmentation is the answer.  Most segments are so improbable that they do not count: those
    that are left out have at most 1e-11 of the probability of all segments.
    """
    if p.length == 0:
        segments, value = _kernels.best([problem_of(p)], method, 1)[0] or (None, 0.0)
        require_possible(segments is not None)
        return Path([], value)
    lookup = _kernels.Lookup(problem_of(p), method)
    require_possible(lookup.log_partition > -np.inf)
    skipped = p.labels.index(outside) if outside in p.labels else -1
    starts, ends, labels, chances = lookup.likely_segments(MOST_SEGMENTS, skipped)
    structure = structure_of(p)
    structure.add_many(starts, ends, labels, chances)
    best = _kernels.best([problem_of(structure)], method, 1)[0]
    assert best is not None, "what has a probability is possible"
    return Path(named(best[0], p), best[1])
