"""Compilation of `Potentials` for the kernels."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.potentials import Parts, Potentials
from caesura.segments.cores import OPEN_END, OPEN_START

__all__ = ["Rule", "automaton_of", "problem_of", "problems_of", "rules_of", "structure_of"]

# A rule about the sequence of labels, as a name and labels: ("at most once", (y,)), ("exactly
# once", (y,)), ("ordered", (a, b, ...)). The violations of a rule are rules too: ("at least twice",
# (y,)), ("disordered", (a, b, ...)). Any other automaton is ("table", numbers), where the numbers
# are next[state, label] row by row, then whether each state accepts.
Rule = tuple[str, tuple[int, ...]]
Ints = npt.NDArray[np.int32]


def problem_of(p: Potentials, broken: Collection[Rule] = ()) -> _kernels.Problem:
    """Return the compiled problem, rebuilt only after changes.

    Parameters
    ----------
    p : Potentials
        The arrays are read where they are; the rest is copied.
    broken : rules, optional
        Keep only segmentations that break each of these.
    """
    return _made(p, broken) if broken else p.compiled(_made)


def problems_of(listed: Iterable[Potentials]) -> list[_kernels.Problem]:
    """Return the compiled problems, each rebuilt only after changes."""
    return [p.compiled(_made) for p in listed]


def _made(p: Potentials, broken: Collection[Rule] = ()) -> _kernels.Problem:
    parts = p.parts
    starts, ends, targets, scores, flags = _potentials(parts)
    edges = np.array([edge[:3] for edge in parts.edges], np.int32).reshape(-1, 3)
    static = [(z, w) for z, w, start, end in parts.patterns if start < 0 and end < 0]
    return _kernels.Problem(
        rules=[*rules_of(p), *broken],
        spelling=parts.constraints.spelling,
        emission=p.emission,
        transition=p.transition,
        start=p.start,
        end=p.end,
        spans=parts.spans,
        same_label_adjacent=p.same_label_adjacent,
        bounds=parts.bounds,
        boundary=parts.constraints.boundary,
        allowed=parts.constraints.allowed,
        starts=starts,
        ends=ends,
        targets=targets,
        scores=scores,
        flags=flags,
        edges=edges,
        edge_scores=np.array([edge[3] for edge in parts.edges], np.float64),
        histories=[list(history) for history in parts.histories],
        static_targets=np.array([z for z, _ in static], np.int32),
        static_scores=np.array([w for _, w in static], np.float64),
    )


def rules_of(p: Potentials) -> list[Rule]:
    """Return the label-sequence constraints of p for the kernels."""
    held = p.parts.constraints
    rules: list[Rule] = [
        ("exactly once" if must else "at most once", (y,)) for y, must in sorted(held.once.items())
    ]
    rules += [("ordered", order) for order in held.ordered]
    return rules + held.tables


def structure_of(p: Potentials) -> Potentials:
    """Return p with all finite scores set to 0."""
    bare = p.copy()
    parts = bare.parts
    for array in (bare.emission, bare.transition, bare.start, bare.end, parts.spans):
        if array is not None:
            array[~np.isneginf(array)] = 0.0
    parts.added[:] = [
        (s, e, z, np.where(np.isneginf(w), -np.inf, 0.0), flags)
        for s, e, z, w, flags in parts.added
    ]
    parts.edges[:] = [(t, a, b, w if w == -np.inf else 0.0) for t, a, b, w in parts.edges]
    parts.patterns[:] = [(z, w if w == -np.inf else 0.0, s, e) for z, w, s, e in parts.patterns]
    return bare


def _potentials(
    parts: Parts,
) -> tuple[Ints, Ints, Ints, npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """Return the added potentials, then the positioned patterns, then the forbidden segments."""
    placed = [pattern for pattern in parts.patterns if pattern[2] >= 0 or pattern[3] >= 0]
    rows = [
        (
            start if start >= 0 else end - 1,
            end if end >= 0 else start + 1,
            target,
            score,
            (OPEN_START if start < 0 else 0) + (OPEN_END if end < 0 else 0),
        )
        for target, score, start, end in placed
    ]
    rows += [(start, end, y, -np.inf, 0) for start, end, y in parts.constraints.forbidden]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    kinds = (np.int32, np.int32, np.int32, np.float64, np.uint8)
    chunks = [
        [*(chunk[i] for chunk in parts.added), np.array(columns[i], kinds[i])]
        for i in range(len(kinds))
    ]
    return tuple(np.concatenate(parts) for parts in chunks)  # type: ignore[return-value]


def automaton_of(order: tuple[int, ...]) -> _kernels.Automaton:
    """Return the automaton of a first-order model without label constraints."""
    return _kernels.Automaton(list(order))
