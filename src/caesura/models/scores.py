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
    """What is the same for all sequences: scores of states, of the first and the last."""

    transition: Floats  # (Y, Y)
    start: Floats  # (Y,)
    end: Floats  # (Y,)
    histories: dict[tuple[int, ...], int]  # each pattern of the model, and its target: Y or more
    patterns: list[tuple[int, float, int, int]]  # as Potentials keeps them
    row_targets: npt.NDArray[np.int32]  # (C,) of the patterns that attributes on rows go with


def pair_scores(fitted: Fitted, bias: float, outside: Sequence[int]) -> PairScores:
    """Return the scores of states, with a bias on each way into some of them."""
    structure, parameters, w = fitted.structure, fitted.parameters, fitted.w
    blocks, Y = blocks_of(parameters), len(structure.states)
    histories = {tuple(pattern): Y + k for k, pattern in enumerate(parameters.patterns)}
    plain = enumerate(w[blocks.patterns].tolist())
    scores = PairScores(
        np.zeros((Y, Y)),
        np.zeros(Y),
        np.zeros(Y),
        histories,
        [(Y + k, weight, -1, -1) for k, weight in plain],
        parameters.row_patterns + np.int32(Y),
    )
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
    p.transition[...], p.start[...], p.end[...] = pairs[:3]
    p._histories, p._patterns = dict(pairs.histories), list(pairs.patterns)
    _add_rows(p, fitted.scorer, design, i, pairs.row_targets)
    _add_edges(p, fitted.scorer, design, i)
    return p


def _add_rows(
    p: Potentials,
    scorer: _kernels.Scorer,
    design: _kernels.Design,
    i: int,
    row_targets: npt.NDArray[np.int32],
) -> None:
    """Add what attributes say of tokens and of spans, as add_many would."""
    T, Y, C = p.length, len(p.labels), len(row_targets)
    scores, starts, ends, flags = scorer.rows(design, i)
    rows = scores.reshape(-1, Y + C)
    p.emission[...] = rows[:T, :Y]
    if not C and not len(starts):
        return
    tokens = np.arange(T, dtype=np.int32)
    starts, ends = np.concatenate([tokens, starts]), np.concatenate([tokens + 1, ends])
    flags = np.concatenate([np.full(T, OPEN_START | OPEN_END, np.uint8), flags])
    targets = np.concatenate([np.arange(Y, dtype=np.int32), row_targets])
    rows[:T, :Y] = 0.0  # these are the emission
    sites, lanes = np.nonzero(rows)
    if len(sites):
        added = (starts[sites], ends[sites], targets[lanes], rows[sites, lanes], flags[sites])
        p._added.append(added)


def _add_edges(p: Potentials, scorer: _kernels.Scorer, design: _kernels.Design, i: int) -> None:
    """Add what attributes say at a boundary, as add_transition and add_pattern would."""
    Y = len(p.labels)
    positions, codes, weights = scorer.edges(design, i)
    long = codes >= Y * Y
    pairs = codes[~long]
    parts = (positions[~long], pairs // Y, pairs % Y, weights[~long])
    p._edges += zip(*(part.tolist() for part in parts), strict=True)
    placed = (codes[long] - Y * Y + Y, weights[long], positions[long])
    p._patterns += [(z, w, t, -1) for z, w, t in zip(*(x.tolist() for x in placed), strict=True)]
