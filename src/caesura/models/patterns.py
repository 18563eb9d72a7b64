"""Label patterns: observed, declared, and their names.

A pattern is a sequence of states; it fires on a segment when it ends there. Pairs of states are
transitions; here are longer ones, of three states or more, which have a weight by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from caesura import _kernels
from caesura.checks import whole
from caesura.errors import InvalidInput, TooLarge, message
from caesura.models.fitted import Structure
from caesura.models.targets import Rows

if TYPE_CHECKING:
    from caesura.models.estimator import Estimator

__all__ = [
    "GROW",
    "SHORTEST",
    "Pattern",
    "check_orders",
    "check_states",
    "counted_patterns",
    "counts_by_order",
    "frequent_patterns",
    "grows",
    "labels_of",
    "named",
    "patterns_of",
    "seen_patterns",
]

GROW = "grow"  # value of `patterns` that selects them
SHORTEST = 3  # states in the shortest pattern that is not a transition
LONGEST = 256  # states in the longest pattern that the kernels support
MOST = 65_000  # states of label histories; the kernels support few more, and training takes hours
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
    """Return the number of patterns of each order (length minus one).

    Examples
    --------
    >>> counts_by_order([[0, 1, 0], [1, 0, 1], [0, 1, 0, 1]])
    {2: 2, 3: 1}
    """
    orders = [len(pattern) - 1 for pattern in patterns]
    return {order: orders.count(order) for order in sorted(set(orders))}


def check_orders(model: Estimator) -> None:
    """Raise if the orders or patterns of a model are invalid."""
    whole("order", model.order, 1, LONGEST - 1)
    least = model.pattern_min_freq
    if not isinstance(least, Real) or isinstance(least, bool) or not 0 <= least < np.inf:
        expected = "a number, 0 or more"
        raise InvalidInput(message("pattern_min_freq", least, expected, "pass 0 for no minimum"))
    if model.patterns is not None and not grows(model):
        _check_declared(model.patterns)


def grows(model: Estimator) -> bool:
    """Return whether the patterns of a model are selected automatically."""
    return isinstance(model.patterns, str) and model.patterns == GROW


def _check_declared(given: Any) -> None:
    """Raise if declared patterns are invalid for any labels."""
    remedy = "write [('author', 'title', 'date')]"
    if isinstance(given, str) or not isinstance(given, Sequence):
        expected = "None, 'grow', or a list of sequences of labels"
        raise InvalidInput(message("patterns", given, expected, remedy))
    if any(isinstance(one, str) and one == GROW for one in given):
        expected = "'grow' alone, or a list of patterns"
        raise InvalidInput(
            message("patterns", list(given), expected, "leave the other patterns out")
        )
    if given and all(isinstance(one, str) and len(labels_of(one)) == 1 for one in given):
        expected = "a list of patterns, each with its labels"
        raise InvalidInput(message("patterns", given, expected, remedy))
    for i, pattern in enumerate(given):
        name, labels = f"patterns[{i}]", labels_of(pattern)
        if not all(isinstance(label, str) for label in labels) or not isinstance(pattern, Sequence):
            raise InvalidInput(message(name, pattern, "labels, which are strings", remedy))
        if len(labels) < SHORTEST:
            why = "pairs of labels are transitions, which have weights already"
            raise InvalidInput(message(name, pattern, f"{SHORTEST} labels or more", why))
        if len(labels) > LONGEST:
            expected = f"at most {LONGEST} labels"
            came = f"{len(labels)} labels"
            raise InvalidInput(message(name, came, expected, "shorten it, or leave it out"))


def labels_of(pattern: Any) -> tuple[Any, ...]:
    """Return the labels of a pattern, which may be given as one string.

    Examples
    --------
    >>> labels_of("author > title>date") == labels_of(["author", "title", "date"])
    True
    """
    if isinstance(pattern, str):
        return tuple(label.strip() for label in pattern.split(">"))
    return tuple(pattern) if isinstance(pattern, Sequence) else ()


def patterns_of(model: Estimator, structure: Structure, rows: Sequence[Rows]) -> list[Pattern]:
    """Return the patterns with their own weights: declared or observed."""
    if model.patterns is None or grows(model):  # with order 1, there is nothing to grow
        return seen_patterns(rows, model.order, model.pattern_min_freq)
    return _declared(model, structure)


def seen_patterns(rows: Sequence[Rows], order: int, least: float = 0) -> list[Pattern]:
    """Return the patterns of fully labelled sequences, sorted by length and state.

    Parameters
    ----------
    rows : sequence of arrays of shape (segments, 3)
        Start, end and state of the segments of each sequence.
    order : int
        The longest patterns have this number of states plus one.
    least : float
        Minimum frequency of a pattern; rarer patterns are not returned.

    Examples
    --------
    >>> rows = [np.array([[0, 1, 0], [1, 2, 1], [2, 3, 0], [3, 4, 1]], np.int32)]
    >>> seen_patterns(rows, 3)
    [(0, 1, 0), (1, 0, 1), (0, 1, 0, 1)]
    """
    found: list[Pattern] = []
    for pattern, times in counted_patterns(rows, order):
        if times >= least:
            found.append(pattern)
        if len(found) > MOST:
            raise _too_many()
    return found


def counted_patterns(rows: Sequence[Rows], order: int) -> Iterator[tuple[Pattern, int]]:
    """Yield the patterns of fully labelled sequences with their counts.

    Examples
    --------
    >>> rows = [np.array([[0, 1, 0], [1, 2, 1], [2, 3, 0], [3, 4, 1]], np.int32)]
    >>> dict(counted_patterns(rows, 3))
    {(0, 1, 0): 1, (1, 0, 1): 1, (0, 1, 0, 1): 1}
    """
    states = np.concatenate([np.zeros(0, np.int32), *(some[:, 2] for some in rows)])
    owner = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
    Y, longest = int(states.max(initial=0)) + 1, max(map(len, rows), default=0)
    known: list[Pattern] = [(y,) for y in range(Y)]
    which = states.astype(np.int64)  # index in `known` of the pattern that begins at each segment
    for size in range(2, min(order + 1, longest) + 1):
        inside = owner[: len(owner) - size + 1] == owner[size - 1 :]
        longer = which[: len(inside)] * Y + states[size - 1 :]
        codes, numbers, counts = np.unique(
            np.where(inside, longer, -1), return_inverse=True, return_counts=True
        )
        known = [(*known[code // Y], code % Y) if code >= 0 else () for code in codes.tolist()]
        which = numbers
        if size >= SHORTEST:
            yield from ((z, n) for z, n in zip(known, counts.tolist(), strict=True) if z)


def frequent_patterns(model: Estimator, seen: Mapping[Pattern, int]) -> list[Pattern]:
    """Return the sufficiently frequent patterns, sorted by length and state."""
    found = [pattern for pattern, times in seen.items() if times >= model.pattern_min_freq]
    if len(found) > MOST:
        raise _too_many()
    return sorted(found, key=lambda pattern: (len(pattern), pattern))


def _declared(model: Estimator, structure: Structure) -> list[Pattern]:
    """Return declared patterns as distinct tuples of states, or raise."""
    index = {state: y for y, state in enumerate(structure.states)}
    found: dict[Pattern, Any] = {}
    for i, pattern in enumerate(model.patterns or ()):
        name, labels = f"patterns[{i}]", labels_of(pattern)
        for label in labels:
            if label not in index:
                raise InvalidInput(message(name, label, *_unknown(model, structure, labels, label)))
        for a, b in pairwise(labels):
            if structure.barred[index[a], index[b]]:
                expected = "labels that may follow each other"
                remedy = f"{b!r} never comes right after {a!r}: leave the pattern out"
                raise InvalidInput(message(name, " > ".join(labels), expected, remedy))
        found[tuple(index[label] for label in labels)] = None
    return list(found)


def _unknown(
    model: Estimator, structure: Structure, labels: Sequence[str], label: str
) -> tuple[str, str]:
    """Return the expectation and the remedy for an unknown label."""
    tags = model.kind == "chain"
    expected = (
        f"{'tags' if tags else 'labels'} of the model, which are {', '.join(structure.states)}"
    )
    remedy = f"{label!r} in {' > '.join(labels)} is not a {'tag' if tags else 'label'}"
    return expected, f"{remedy}: patterns of a chain consist of tags" if tags else remedy


# ---- limits on the number of patterns -----------------------------------------------------------


def check_states(parameters: _kernels.Parameters) -> None:
    """Raise if training would take hours."""
    if parameters.patterns and parameters.n_states > MOST:
        raise _too_many()


def _too_many() -> TooLarge:
    return TooLarge(
        place="patterns",
        got=f"more than {MOST:,} different label histories",
        expected="fewer",
        remedy="lower order or that of history features, or raise pattern_min_freq or min_freq",
    )
