"""The scores that fitted weights give to one sequence, as `Potentials`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caesura import _kernels
from caesura.documents import Document
from caesura.models.structure import Fitted, blocks_of
from caesura.potentials import OPEN_END, OPEN_START, Potentials

__all__ = ["potentials_of"]


def potentials_of(
    fitted: Fitted,
    design: _kernels.Design,
    i: int,
    document: Document,
    bias: float,
    outside: Sequence[int],
) -> Potentials:
    """Return the log-potentials of sequence i of a design, with a bias on some states."""
    structure, T = fitted.structure, len(document)
    p = Potentials(
        T,
        structure.states,
        max_length=[int(bound) or None for bound in structure.bounds],
        tokens=document.tokens if any(document.tokens) else None,
    )
    _add_rows(p, fitted.scorer, design, i)
    _set_pairs(p, fitted)
    p.transition[:, outside] += bias
    p.start[list(outside)] += bias
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
    for t, pair, score in zip(*(a.tolist() for a in scorer.edges(design, i)), strict=True):
        p.add_transition(t, pair // Y, pair % Y, score)


def _set_pairs(p: Potentials, fitted: Fitted) -> None:
    """Set the scores of pairs of states, of the first and of the last."""
    structure, parameters, w = fitted.structure, fitted.parameters, fitted.w
    blocks = blocks_of(parameters)
    p.transition.reshape(-1)[parameters.transition] = w[blocks.transitions]
    p.start[parameters.start] = w[blocks.starts]
    p.end[parameters.end] = w[blocks.ends]
    p.transition[structure.barred.astype(bool)] = -np.inf
    p.start[structure.barred_start.astype(bool)] = -np.inf
    p.end[structure.barred_end.astype(bool)] = -np.inf
