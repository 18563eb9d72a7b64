"""Label-history automaton as tensors, for the plain torch implementation.

A state is the last labels of a segmentation, as many as the order of the model, together with what
the rules on labels must remember.  This is the automaton of the kernels, built in plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from caesura.errors import TooLarge
from caesura.inference.problems import Rule
from caesura.neural.structure import Ints

__all__ = ["Histories", "histories"]

MOST_ARCS = 2_000_000
State = tuple[tuple[int, ...], tuple[int, ...]]  # the last labels, and the memory of each rule


class Histories(NamedTuple):
    """States and arcs; state 0 is the initial state and the only one without a label.

    The score of an arc is the sum of entries of one flat array: start (Y,), transition (Y, Y),
    the patterns of each order, and a last entry that is 0.
    """

    label: Ints  # (Q,) the last label; 0 for the initial state
    accepting: Ints  # (Q,) whether a segmentation may end here
    arcs_in: Ints  # (Q, most) incoming arcs of each state, padded with the number of arcs
    source: Ints  # (arcs,) state at the start of each arc
    scores: Ints  # (arcs, order) indices of the entries that sum to its score


@lru_cache(maxsize=64)
def histories(Y: int, order: int, same_label_adjacent: bool, rules: tuple[Rule, ...]) -> Histories:
    """Build the automaton."""
    least = Y * max(Y - 1, 1) ** order if not rules else 0  # minimum number of arcs
    begin: State = ((), tuple(0 for _ in rules))
    number = {begin: 0}
    queue, arcs = [begin], []
    for state in queue:  # grows during the iteration
        for y, after in _steps(state, Y, order, same_label_adjacent, rules):
            if after not in number:
                number[after] = len(queue)
                queue.append(after)
            arcs.append((number[state], number[after], _entries(state[0], y, Y, order)))
            if max(least, len(arcs)) > MOST_ARCS:
                raise TooLarge(
                    f"label histories with {Y} labels have more than {MOST_ARCS:,} arcs",
                    place="order",
                    remedy="lower the order, or use the kernels on the CPU",
                )
    into: list[list[int]] = [[] for _ in queue]
    for a, (_, to, _) in enumerate(arcs):
        into[to].append(a)
    most = max(1, *(len(some) for some in into))
    return Histories(
        label=np.array([labels[-1] if labels else 0 for labels, _ in queue], np.int64),
        accepting=np.array([_accepts(memory, rules) for _, memory in queue], np.int64),
        arcs_in=np.array([some + [len(arcs)] * (most - len(some)) for some in into], np.int64),
        source=np.array([source for source, _, _ in arcs], np.int64),
        scores=np.array([entries for _, _, entries in arcs], np.int64).reshape(len(arcs), order),
    )


def _steps(
    state: State, Y: int, order: int, same_label_adjacent: bool, rules: tuple[Rule, ...]
) -> Iterator[tuple[int, State]]:
    """Yield each allowed next label with the resulting state."""
    labels, memory = state
    for y in range(Y):
        if labels and labels[-1] == y and not same_label_adjacent:
            continue
        after = [_remember(rule, known, y) for rule, known in zip(rules, memory, strict=True)]
        if -1 not in after:
            yield y, ((*labels, y)[-order:], tuple(after))


def _remember(rule: Rule, known: int, y: int) -> int:
    """Return the constraint state after a label; -1 if the label violates it."""
    name, labels = rule
    if y not in labels:
        return known
    if name == "ordered":  # the memory is the index of the last of these labels
        place = labels.index(y)
        return place if place >= known else -1
    return -1 if known else 1  # the memory is 1 once the label has occurred


def _accepts(memory: tuple[int, ...], rules: tuple[Rule, ...]) -> bool:
    return all(
        known == 1 for (name, _), known in zip(rules, memory, strict=True) if name == "exactly once"
    )


def _entries(labels: tuple[int, ...], y: int, Y: int, order: int) -> list[int]:
    """Return the score entries of an arc, one for each order."""
    nothing = Y + sum(Y**k for k in range(2, order + 2))
    if not labels:
        return [y] + [nothing] * (order - 1)
    found, offset = [], Y
    for k in range(2, order + 2):
        history = (*labels, y)[-k:]
        value = 0
        for one in history:
            value = value * Y + one
        found.append(offset + value if len(history) == k else nothing)
        offset += Y**k
    return found
