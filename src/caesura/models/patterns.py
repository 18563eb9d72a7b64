"""Label patterns: which ones the training data has, which a user declares, and their names.

A pattern is a sequence of states; it fires on a segment when it ends there. Pairs of states are
transitions; here are longer ones, of three states or more, which have a weight by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.models.structure import Structure
from caesura.models.targets import Rows

if TYPE_CHECKING:
    from caesura.models.estimator import Estimator

__all__ = [
    "GROW",
    "SHORTEST",
    "Pattern",
    "check_orders",
    "counts_by_order",
    "named",
    "patterns_of",
    "seen_patterns",
]

GROW = "grow"  # of patterns: select them
SHORTEST = 3  # states of a pattern that is no transition
Pattern = tuple[int, ...]


def named(pattern: Iterable[int], states: Sequence[str]) -> str:
    """Return the name of a pattern.

    Examples
    --------
    >>> named([0, 2, 1], ["author", "date", "title"])
    'author > title > date'
    """
    return " > ".join(states[y] for y in pattern)


def counts_by_order(patterns: Iterable[Sequence[int]]) -> dict[int, int]:
    """Return how many patterns there are of each order, which is their length less one.

    Examples
    --------
    >>> counts_by_order([[0, 1, 0], [1, 0, 1], [0, 1, 0, 1]])
    {2: 2, 3: 1}
    """
    orders = [len(pattern) - 1 for pattern in patterns]
    return {order: orders.count(order) for order in sorted(set(orders))}


def check_orders(model: Estimator) -> None:
    """Raise if what a model asks for is no order, or are no patterns."""
    whole("order", model.order, 1)
    least = model.pattern_min_freq
    if not isinstance(least, Real) or isinstance(least, bool) or not 0 <= least < np.inf:
        expected = "a number, 0 or more"
        raise InvalidInput(message("pattern_min_freq", least, expected, "correct it"))
    given = model.patterns
    if given is None or given == GROW:
        return
    wrong = isinstance(given, str | Mapping) or not isinstance(given, Sequence)
    if wrong:
        expected = "None, 'grow', or a list of sequences of labels"
        remedy = "write [('author', 'title', 'date')]"
        raise InvalidInput(message("patterns", given, expected, remedy))
    for i, pattern in enumerate(given):
        listed = isinstance(pattern, Sequence) and not isinstance(pattern, str)
        if not listed or len(pattern) < SHORTEST or not all(isinstance(y, str) for y in pattern):
            expected = f"{SHORTEST} labels or more"
            remedy = "pairs of labels are transitions, which have weights already"
            raise InvalidInput(message(f"patterns[{i}]", pattern, expected, remedy))


def patterns_of(model: Estimator, structure: Structure, rows: Sequence[Rows]) -> list[Pattern]:
    """Return the patterns that have weights by themselves: the declared ones, or those seen."""
    if model.patterns is None or model.patterns == GROW:  # nothing grows up to order 1
        return seen_patterns(rows, model.order, model.pattern_min_freq)
    return _declared(model.patterns, structure)


def seen_patterns(rows: Sequence[Rows], order: int, least: float = 0) -> list[Pattern]:
    """Return the patterns of fully labelled sequences, by length and then by state.

    Parameters
    ----------
    rows : sequence of arrays of shape (segments, 3)
        Start, end and state of the segments of each sequence.
    order : int
        The longest pattern has so many states and one more.
    least : float
        Patterns that are there less often are left out.

    Examples
    --------
    >>> rows = [np.array([[0, 1, 0], [1, 2, 1], [2, 3, 0], [3, 4, 1]], np.int32)]
    >>> seen_patterns(rows, 3)
    [(0, 1, 0), (1, 0, 1), (0, 1, 0, 1)]
    """
    states = np.concatenate([np.zeros(0, np.int32), *(some[:, 2] for some in rows)])
    owner = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
    Y, longest = int(states.max(initial=0)) + 1, max(map(len, rows), default=0)
    known: list[Pattern] = [(y,) for y in range(Y)]
    which = states.astype(np.int64)  # of those known, the one that begins at each segment
    found: list[Pattern] = []
    for size in range(2, min(order + 1, longest) + 1):
        inside = owner[: len(owner) - size + 1] == owner[size - 1 :]
        longer = which[: len(inside)] * Y + states[size - 1 :]
        codes, numbers, counts = np.unique(
            np.where(inside, longer, -1), return_inverse=True, return_counts=True
        )
        known = [(*known[code // Y], code % Y) if code >= 0 else () for code in codes.tolist()]
        which = numbers
        if size >= SHORTEST:
            found += [z for z, n in zip(known, counts.tolist(), strict=True) if z and n >= least]
    return found


def _declared(given: Sequence[Sequence[str]], structure: Structure) -> list[Pattern]:
    """Return declared patterns as numbers of states, each once, or raise."""
    index = {state: y for y, state in enumerate(structure.states)}
    found: dict[Pattern, Any] = {}
    for i, pattern in enumerate(given):
        name = f"patterns[{i}]"
        for label in pattern:
            if label not in index:
                expected = f"states of the model, which are {', '.join(structure.states)}"
                remedy = f"{label!r} in {' > '.join(pattern)} is none"
                raise InvalidInput(message(name, label, expected, remedy))
        for a, b in pairwise(pattern):
            if structure.barred[index[a], index[b]]:
                expected = "labels that may follow each other"
                remedy = f"{b!r} never comes right after {a!r}: leave the pattern out"
                raise InvalidInput(message(name, " > ".join(pattern), expected, remedy))
        found[tuple(index[label] for label in pattern)] = None
    return list(found)
