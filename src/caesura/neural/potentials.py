"""The scores of a layer as `caesura.Potentials`, for further inference.

The batch door of the engine has no rules about segments that tags spell, no edges at single places
and no best answer without a segment; potentials have.  They are made one sequence at a time, where
constraints or explanations are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from caesura.inference import log_partition, n_best
from caesura.neural.structure import Structure, patterns_of
from caesura.potentials import Potentials
from caesura.segments import Segment

__all__ = ["best_distinct", "potentials_of"]

MOST_CUTS = 64  # number of cuts examined for each requested answer


def potentials_of(
    structure: Structure, scores: Mapping[str, Tensor], labels: Sequence[str] | int
) -> list[Potentials]:
    """Return the potentials of each sequence of a batch.

    Parameters
    ----------
    structure : Structure
        Lengths and bounds, without constraints.
    scores : mapping from names to tensors
        All scores of the batch, as the layers name them.
    labels : sequence of str, or int
        Names of the labels, or how many there are.

    Returns
    -------
    list of Potentials
    """
    arrays = {name: x.detach().cpu().double().numpy() for name, x in scores.items()}
    return [_one(structure, arrays, labels, b) for b in range(structure.B)]


def _one(structure: Structure, arrays: Mapping[str, Any], labels: Any, b: int) -> Potentials:
    T, Y = int(structure.lengths[b]), structure.Y
    bound = structure.max_length
    p = Potentials(T, labels, max_length=bound, same_label_adjacent=structure.same_label_adjacent)
    for name in ("transition", "start", "end"):
        setattr(p, name, arrays[name])
    if "tokens" in arrays:
        p.emission = arrays["tokens"][b, :T]
    if "segments" in arrays and T:
        p.spans = arrays["segments"][b, :T, : p.spans.shape[1]]
        _clear_outside(p.spans)
    places = np.repeat(np.arange(T), Y), np.tile(np.arange(Y), T)
    for name in ("starts", "ends"):
        if name in arrays and T:
            own = arrays[name][b, :T].reshape(-1)
            p.add_many(
                places[0],
                places[0] + 1,
                places[1],
                own,
                open_start=name == "ends",
                open_end=name == "starts",
            )
    if "span_scores" in arrays and structure.spans is not None:
        mine = np.flatnonzero(structure.spans[:, 0] == b)
        if mine.size:
            _, s, e, y = structure.spans[mine].T
            p.add_many(s, e, y, arrays["span_scores"][mine])
    if "patterns" in arrays:
        for history, value in zip(
            patterns_of(Y, structure.order), arrays["patterns"].tolist(), strict=True
        ):
            p.add_pattern([p.labels[y] for y in history], value)
    return p


def _clear_outside(spans: Any) -> None:
    """Set the scores of padding segments to 0."""
    T, L, _ = spans.shape
    spans[np.arange(T)[:, None] + np.arange(L) >= T] = 0.0


def best_distinct(p: Potentials, n: int, outside: str) -> list[tuple[list[Segment], float]]:
    """Return up to n distinct lists of segments with their probabilities.

    Segmentations that differ only in how outside text is divided are merged: the lists are the
    first distinct ones among the best segmentations, and the probability of a list is that of all
    segmentations with these segments.
    """
    asked = n
    while True:
        paths = n_best(p, asked)
        said = {tuple(s for s in path.segments if s.label != outside): None for path in paths}
        if len(said) >= n or len(paths) < asked or asked >= MOST_CUTS * n:
            break
        asked *= 4
    total, found = log_partition(p), []
    for cut in list(said)[:n]:
        covered = {t for start, end, _ in cut for t in range(start, end)}
        rest = {t: [outside] for t in range(p.length) if t not in covered}
        share = log_partition(p.copy().constrain(required=cut, allowed=rest)) - total
        found.append((list(cut), math.exp(min(0.0, share))))
    return sorted(found, key=lambda one: -one[1])
