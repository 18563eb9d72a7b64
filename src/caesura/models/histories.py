"""The tags of a chain of high order, with the tags before them: again a chain of pairs.

A state is a beginning of a pattern, or a single tag: the longest that the tags so far end in. So a
state knows every pattern that ends in it, and the next state is known from it and the next tag.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.errors import TooLarge
from caesura.potentials import Potentials

__all__ = ["Expanded", "expanded"]

Floats = npt.NDArray[np.float64]
MOST_NUMBERS = 50_000_000  # of pairs of states at all tokens: 400 MB


class Expanded(NamedTuple):
    """Scores over the states of a chain, and what the states say."""

    emission: Floats  # (T, Q)
    transition: Floats  # (Q, Q)
    start: Floats  # (Q,)
    end: Floats  # (Q,)
    edges: list[tuple[int, int, int, float]]  # at a boundary: token, previous state, state, score
    last: npt.NDArray[np.int64]  # (Q,) the tag of each state


def expanded(p: Potentials) -> Expanded | None:
    """Return the scores of a chain over states that know the tags before; None for first order.

    Histories that are forbidden at a place are left out: those who ask sort them out.
    """
    Y, placed = len(p.labels), _placed(p)
    used = {target for _, target, _ in placed if target >= Y}
    histories = {z: target for z, target in p._histories.items() if target in used}
    if not histories:
        return None
    beginnings = {z[:n] for z in histories for n in range(1, len(z) + 1)}
    states = sorted({(y,) for y in range(Y)} | beginnings)
    index = {state: q for q, state in enumerate(states)}
    T, Q = p.length, len(states)
    if T * Q * Q > MOST_NUMBERS:
        raise TooLarge(
            f"n: segmentations that several sequences of tags say are summed over {Q} label "
            f"histories at {T} tokens, which is too many; pass forbid_invalid='predict'"
        )
    last = np.array([state[-1] for state in states], np.int64)
    transition = np.full((Q, Q), -np.inf)
    for q0, state in enumerate(states):
        for y in range(Y):
            transition[q0, _next(state, y, index)] = p.transition[state[-1], y]
    start = np.full(Q, -np.inf)
    start[[index[y,] for y in range(Y)]] = p.start
    ending = {  # the states in which a pattern, or a tag, ends
        target: [q for q, state in enumerate(states) if state[-len(z) :] == z]
        for z, target in [*(((y,), y) for y in range(Y)), *histories.items()]
    }
    emission = p.emission[:, last]
    for where, target, score in placed:
        emission[where, ending[target]] += score
    edges = [
        (t, q0, q, score)
        for t, a, b, score in p._edges
        for q0 in np.flatnonzero(last == a).tolist()
        for q in np.flatnonzero((last == b) & ~np.isneginf(transition[q0])).tolist()
    ]
    return Expanded(emission, transition, start, p.end[last], edges, last)


def _placed(p: Potentials) -> list[tuple[int | slice, int, float]]:
    """Return where what tags and patterns score: at a token, or anywhere."""
    out: list[tuple[int | slice, int, float]] = []
    for target, score, start, end in p._patterns:
        if start < 0 and end < 0:
            out.append((slice(None), target, score))
        elif start < 0 or end < 0 or end == start + 1:  # others are of longer segments
            out.append((start if start >= 0 else end - 1, target, score))
    for starts, ends, targets, scores, _ in p._added:
        mine = (ends == starts + 1) & np.isfinite(scores)
        columns = (column[mine].tolist() for column in (starts, targets, scores))
        out += zip(*columns, strict=True)
    return out


def _next(state: tuple[int, ...], y: int, index: dict[tuple[int, ...], int]) -> int:
    """Return the state after one more tag."""
    longer = (*state, y)
    return next(index[longer[n:]] for n in range(len(longer)) if longer[n:] in index)
