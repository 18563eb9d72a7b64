"""The scores that fitted weights give to one sequence, as `Potentials`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.models.structure import SHORT, Fitted, blocks_of
from caesura.potentials import OPEN_END, OPEN_START, Potentials

__all__ = ["PairScores", "pair_scores", "potentials_of"]

Floats = npt.NDArray[np.float64]


class PairScores(NamedTuple):
    """What is the same for all sequences: scores of pairs of states, of the first and the last."""

    transition: Floats  # (Y, Y)
    start: Floats  # (Y,)
    end: Floats  # (Y,)


def pair_scores(fitted: Fitted, bias: float, outside: Sequence[int]) -> PairScores:
    """Return the scores of pairs of states, with a bias on each way into some states."""
    structure, parameters, w = fitted.structure, fitted.parameters, fitted.w
    blocks, Y = blocks_of(parameters), len(structure.states)
    scores = PairScores(np.zeros((Y, Y)), np.zeros(Y), np.zeros(Y))
    scores.transition.reshape(-1)[parameters.transition] = w[blocks.transitions]
    scores.start[parameters.start] = w[blocks.starts]
    scores.end[parameters.end] = w[blocks.ends]
    scores.transition[:, outside] += bias
    scores.start[list(outside)] += bias
    scores.transition[structure.barred.astype(bool)] = -np.inf
    scores.start[structure.barred_start.astype(bool)] = -np.inf
    scores.end[structure.barred_end.astype(bool)] = -np.inf
    return scores


def potentials_of(
    fitted: Fitted, pairs: PairScores, design: _kernels.Design, i: int, document: Document
) -> Potentials:
    """Return the log-potentials of sequence i of a design."""
    structure, T = fitted.structure, len(document)
    p = Potentials(
        T,
        structure.states,
        max_length=[
            (bound or None) if bound <= SHORT else max(1, min(bound, T))
            for bound in structure.bounds.tolist()
        ],
        tokens=document.tokens if any(document.tokens) else None,
    )
    _add_rows(p, fitted.scorer, design, i)
    p.transition[...], p.start[...], p.end[...] = pairs
    return p


def _add_rows(p: Potentials, scorer: _kernels.Scorer, design: _kernels.Design, i: int) -> None:
    """Add what attributes say: of tokens, of spans, and of pairs at a boundary."""
    T, Y = p.length, len(p.labels)
    scores, starts, ends, flags = scorer.rows(design, i)
    rows = scores.reshape(-1, Y)
    p.emission[...] = rows[:T]
    if len(starts):
        sites, states = np.nonzero(rows[T:])
        p.add_many(
            starts[sites],
            ends[sites],
            states,
            rows[T:][sites, states],
            (flags[sites] & OPEN_START) != 0,
            (flags[sites] & OPEN_END) != 0,
        )
    positions, codes, weights = scorer.edges(design, i)
    parts = (positions, codes // Y, codes % Y, weights)  # as add_transition would, many at once
    p._edges += zip(*(part.tolist() for part in parts), strict=True)
