"""From `Potentials` to the form that the kernels take."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.errors import TooLarge
from caesura.potentials import OPEN_END, OPEN_START, Potentials

__all__ = ["MOST_TRACKED", "Rule", "automaton_of", "problem_of", "rules_of", "structure_of"]

MOST_TRACKED = 16  # labels with a limit on how often they occur: 2^16 subsets are still exact
MOST_ARCS = 50_000_000  # of a label-history automaton: some hundred megabytes

# A rule on the label sequence, by name and labels: ("at most once", (y,)), ("exactly once", (y,)),
# ("ordered", (a, b, ...)); and ways to break one: ("at least twice", (y,)), ("disordered", ...).
# Any other automaton: ("table", next[state, label] row by row, then which states accept).
Rule = tuple[str, tuple[int, ...]]
Ints = npt.NDArray[np.int32]


def problem_of(
    p: Potentials, tracked: Collection[int] | None = None, broken: Collection[Rule] = ()
) -> _kernels.Problem:
    """Return the problem of some potentials, made anew only when they have changed.

    Parameters
    ----------
    p : Potentials
        The arrays are read where they are; the rest is copied.
    tracked : labels, optional
        Enforce at_most_once and exactly_once for these labels only.
    broken : rules, optional
        Keep only segmentations that break each of these.
    """
    plain = tracked is None and not broken
    if plain and p._problem is not None:
        return p._problem
    rules = [*rules_of(p, tracked), *broken]
    limited = sum(name not in ("ordered", "table") for name, _ in rules)
    if limited > MOST_TRACKED and tracked is None:
        raise TooLarge(
            f"constrain: {limited} labels are limited to one occurrence, and sums over all "
            f"segmentations are exact up to {MOST_TRACKED}; limit fewer labels, or ask viterbi, "
            "n_best or sample, which track only the labels that they must"
        )
    order = sorted(range(len(p.labels)), key=lambda y: -(p._bounds[y] or np.iinfo(np.int32).max))
    automaton = _automaton(tuple(order), tuple(p._histories), tuple(rules), p.same_label_adjacent)
    starts, ends, targets, scores, flags = _potentials(p)
    edges = np.array([edge[:3] for edge in p._edges], np.int32).reshape(-1, 3)
    static = [(z, w) for z, w, start, end in p._patterns if start < 0 and end < 0]
    problem = _kernels.Problem(
        automaton=automaton,
        order=np.array(order, np.int32),
        emission=p._emission,
        transition=p._transition,
        start=p._start,
        end=p._end,
        spans=p._spans,
        same_label_adjacent=p.same_label_adjacent,
        bounds=p._bounds,
        boundary=p._constraints.boundary,
        allowed=p._constraints.allowed,
        starts=starts,
        ends=ends,
        targets=targets,
        scores=scores,
        flags=flags,
        edges=edges,
        edge_scores=np.array([edge[3] for edge in p._edges], np.float64),
        histories=[list(history) for history in p._histories],
        static_targets=np.array([z for z, _ in static], np.int32),
        static_scores=np.array([w for _, w in static], np.float64),
    )
    if plain:
        p._problem = problem
    return problem


def rules_of(p: Potentials, tracked: Collection[int] | None = None) -> list[Rule]:
    """Return the rules that p's constraints put on the label sequence."""
    rules: list[Rule] = [
        ("exactly once" if must else "at most once", (y,))
        for y, must in sorted(p._constraints.once.items())
        if tracked is None or y in tracked
    ]
    rules += [("ordered", order) for order in p._constraints.ordered]
    return rules + p._constraints.tables


def structure_of(p: Potentials) -> Potentials:
    """Return p with all scores 0, but for what is forbidden."""
    bare = p.copy()
    for array in (bare.emission, bare.transition, bare.start, bare.end, bare._spans):
        if array is not None:
            array[~np.isneginf(array)] = 0.0
    bare._added = [
        (s, e, z, np.where(np.isneginf(w), -np.inf, 0.0), flags) for s, e, z, w, flags in p._added
    ]
    bare._edges = [(t, a, b, w if w == -np.inf else 0.0) for t, a, b, w in p._edges]
    bare._patterns = [(z, w if w == -np.inf else 0.0, s, e) for z, w, s, e in p._patterns]
    return bare


def _potentials(
    p: Potentials,
) -> tuple[Ints, Ints, Ints, npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """Return what was added, then the patterns at a place, then the forbidden segments."""
    placed = [pattern for pattern in p._patterns if pattern[2] >= 0 or pattern[3] >= 0]
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
    rows += [(start, end, y, -np.inf, 0) for start, end, y in p._constraints.forbidden]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    kinds = (np.int32, np.int32, np.int32, np.float64, np.uint8)
    chunks = [
        [*(chunk[i] for chunk in p._added), np.array(columns[i], kinds[i])]
        for i in range(len(kinds))
    ]
    return tuple(np.concatenate(parts) for parts in chunks)  # type: ignore[return-value]


def automaton_of(order: tuple[int, ...]) -> _kernels.Automaton:
    """Return the automaton of a first-order model without rules."""
    return _automaton(order, (), (), True)


@lru_cache(maxsize=64)
def _automaton(
    order: tuple[int, ...],
    histories: tuple[tuple[int, ...], ...],
    rules: tuple[Rule, ...],
    same_label_adjacent: bool,
) -> _kernels.Automaton:
    """Build the automaton over ranks, the places of the labels in `order`."""
    rank = {y: r for r, y in enumerate(order)}
    try:
        return _kernels.Automaton(
            n_labels=len(order),
            histories=[[rank[y] for y in history] for history in histories],
            rules=[
                _given_table(numbers, order)
                if name == "table"
                else _table(name, [rank[y] for y in numbers], len(order))
                for name, numbers in rules
            ],
            same_label_adjacent=same_label_adjacent,
            most_states=MOST_ARCS // len(order),
        )
    except ValueError as error:  # std::length_error
        if not histories and not rules:
            raise TooLarge(
                f"labels: {len(order):,} labels have {len(order) ** 2:,} transitions, expected "
                f"{MOST_ARCS:,} or fewer; use fewer labels"
            ) from error
        raise TooLarge(
            f"constrain, add_pattern: label histories and rules would need more than {MOST_ARCS:,} "
            "arcs; limit fewer labels or use shorter patterns"
        ) from error


def _given_table(
    numbers: tuple[int, ...], order: tuple[int, ...]
) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Return a rule that is an automaton already, with its labels by rank."""
    table = np.array(numbers, np.int32)
    states = len(table) // (len(order) + 1)
    steps = table[: states * len(order)].reshape(states, -1)
    accepting = table[states * len(order) :]
    return np.ascontiguousarray(steps[:, list(order)]), accepting.astype(np.uint8)


def _table(name: str, labels: list[int], Y: int) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Return a rule as an automaton: next[state, label] (-1 forbids), and the accepting states."""
    if name in ("ordered", "disordered"):
        # State k: labels[k - 1] is the latest in order seen; one more state for a broken order.
        n = len(labels)
        broken = n + 1
        table = np.tile(np.arange(n + 2, dtype=np.int32)[:, None], (1, Y))
        for state in range(n + 1):
            for k, y in enumerate(labels):
                table[state, y] = k + 1 if k + 1 >= state else broken
        if name == "ordered":
            table = np.where(table == broken, -1, table).astype(np.int32)
            return table[:-1].copy(), np.ones(n + 1, np.uint8)
        return table, (np.arange(n + 2) == broken).astype(np.uint8)
    (y,) = labels
    states = 3 if name == "at least twice" else 2
    table = np.tile(np.arange(states, dtype=np.int32)[:, None], (1, Y))
    table[:, y] = np.arange(1, states + 1)
    table[-1, y] = states - 1 if name == "at least twice" else -1
    accepting = {"at most once": [1, 1], "exactly once": [0, 1], "at least twice": [0, 0, 1]}[name]
    return table, np.array(accepting, np.uint8)
