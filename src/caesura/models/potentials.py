"""The scores of one sequence under fitted weights, as `Potentials`."""

from __future__ import annotations

from caesura import _kernels
from caesura.documents import Document
from caesura.models.fitted import SHORT, Fitted, blocks_of
from caesura.potentials import Potentials

__all__ = ["potentials_of"]


def potentials_of(
    fitted: Fitted, scorer: _kernels.Scorer, design: _kernels.Design, i: int, document: Document
) -> Potentials:
    """Return the log-potentials of sequence i, as the kernels compute them."""
    structure, parameters, T = fitted.structure, fitted.parameters, len(document)
    Y = len(structure.states)
    p = Potentials(
        T,
        structure.states,
        max_length=[
            (bound or None) if bound <= SHORT else max(1, min(bound, T))
            for bound in structure.bounds.tolist()
        ],
        tokens=document.tokens if any(document.tokens) else None,
    )
    emission, added, n_on_rows, edges = scorer.potentials(design, i)
    p.emission[...] = emission.reshape(T, Y)
    p.transition[...] = scorer.transition.reshape(Y, Y)
    p.start[...], p.end[...] = scorer.start, scorer.end
    parts = p.parts
    parts.histories.update({tuple(z): Y + k for k, z in enumerate(parameters.patterns)})
    plain = fitted.w[blocks_of(parameters).patterns].tolist()
    parts.patterns.extend((Y + k, weight, -1, -1) for k, weight in enumerate(plain))
    if n_on_rows:
        starts, ends, targets, scores, flags = (column[:n_on_rows] for column in added)
        parts.added.append((starts, ends, targets, scores, flags))
    places, _, targets, scores, _ = (column[n_on_rows:].tolist() for column in added)
    parts.patterns.extend((z, w, t, -1) for z, w, t in zip(targets, scores, places, strict=True))
    parts.edges.extend(zip(*(column.tolist() for column in edges), strict=True))
    return p
