"""Decoding for the most expected correct segments."""

from __future__ import annotations

import numpy as np

from caesura import _kernels
from caesura.errors import Impossible, TooLarge
from caesura.inference.problems import problem_of, structure_of
from caesura.inference.results import Path, named
from caesura.potentials import Label, Potentials

__all__ = ["minimum_risk"]

MOST_SPANS = 100_000_000  # whose probabilities are held in memory, about three times 8 bytes each
NOTHING_POSSIBLE = (
    "p: no segmentation is possible, each breaks a constraint or scores -inf; "
    "loosen the constraints, max_length or the -inf scores"
)


def minimum_risk(p: Potentials, outside: Label | None, method: int) -> Path:
    """Return the possible segmentation with the largest sum of segment probabilities.

    The probabilities of all segments become the scores of a second model with the same structure,
    whose best segmentation is the answer.
    """
    if p.length == 0:
        segments, value = _kernels.best([problem_of(p)], method, 1)[0] or (None, 0.0)
        if segments is None:
            raise Impossible(NOTHING_POSSIBLE)
        return Path([], value)
    every = _every_span(p)
    posterior = _kernels.posterior([problem_of(every)], method, 1, False)[0]
    if posterior.log_partition == -np.inf:
        raise Impossible(NOTHING_POSSIBLE)
    structure = structure_of(every)
    structure.spans[...] = posterior.spans
    del posterior  # these arrays are large
    if outside in every._index:
        structure.spans[:, :, every._index[outside]] = 0.0
    structure.spans[np.isneginf(every.spans)] = -np.inf
    del every
    best = _kernels.best([problem_of(structure)], method, 1)[0]
    assert best is not None, "what has a probability is possible"
    return Path(named(best[0], p), best[1])


def _every_span(p: Potentials) -> Potentials:
    """Return p with a bound on every label, so that it has `spans`."""
    longest = min(int(p._bounds.max(initial=0)) if p._bounds.all() else p.length, p.length)
    count = p.length * longest * len(p.labels)
    if count > MOST_SPANS:
        raise TooLarge(
            f"p: {p.length:,} tokens have {count:,} segments of up to {longest:,} tokens with "
            f"{len(p.labels):,} labels, expected {MOST_SPANS:,} or fewer; set max_length"
        )
    every = p.copy()
    if every._spans is None:
        every.max_length = [int(bound) or p.length for bound in p._bounds]
    _ = every.spans
    return every
