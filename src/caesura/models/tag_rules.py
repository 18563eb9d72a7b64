"""Constraints on segments for chains.

A chain's labels are tags, but where a segment begins can be told from a tag and the one before it,
in every scheme and also where tags are not well formed. So a rule about the labels of segments is
one about tags as well: its automaton steps only where a segment begins. A forbidden segment is a
few histories of tags at one place. Both are exact, and the chain's own recursions answer
everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from caesura.constraints import BARRED, FORCED
from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.models.rules import Rules, naming_constraint, state_rules
from caesura.models.schemes import TagSet
from caesura.models.targets import known_labels
from caesura.potentials import Potentials

__all__ = ["constrain_tags", "keep_rules"]


def constrain_tags(p: Potentials, tags: TagSet, rules: Rules, name: str) -> None:
    """Constrain the potentials of a chain by constraints on segments.

    Parameters
    ----------
    p : Potentials
        The potentials of a chain.
    tags : TagSet
        The decoding of its labels into segments.
    rules : Rules
        The checked rules that answers must satisfy.
    name : str
        Name of the rules in error messages.
    """
    with naming_constraint(name):
        known = Partial(
            sorted(rules.required), rules.allowed, rules.boundaries, rules.no_boundaries
        )
        known.check(p.length)
    labels = [*tags.labels, tags.outside]
    allowed, marks = known_labels(known, p.length, labels, tags.outside, name)
    states = {t: np.flatnonzero(row).tolist() for t, row in enumerate(allowed[:, tags.label])}
    p.constrain(allowed=states)
    for mark, wrong in ((FORCED, tags.joined), (BARRED, ~tags.joined)):
        pairs = np.argwhere(wrong).tolist()
        for t in (np.flatnonzero(marks[1:-1] & mark) + 1).tolist():
            # Like add_transition, but without its checks.
            p.parts.edges.extend((t, a, b, -np.inf) for a, b in pairs)
    p.changed()
    keep_rules(p, tags, rules, name)


def keep_rules(p: Potentials, tags: TagSet, rules: Rules, name: str) -> None:
    """Forbid all tag sequences that violate constraints on whole segments.

    Parameters
    ----------
    p : Potentials
        The potentials of a chain.
    tags : TagSet
        The decoding of its labels into segments.
    rules : Rules
        The rules, of which at_most_once, exactly_once, ordered and forbidden are used.
    name : str
        Name of the rules in error messages.
    """
    held = p.parts.constraints
    asked, spelling, labels = state_rules(rules, tags.label_of, tags.joined, name)
    if asked:
        held.tables += asked
        held.spelling = spelling
    p.changed()
    for start, end, label in rules.forbidden:
        here = f"{name}['forbidden']"
        _check_label(label, labels, here)
        if not start < end <= p.length:
            expected = f"0 <= start < end <= {p.length} (end is exclusive)"
            raise InvalidInput(message(here, (start, end, label), expected, "count from 0"))
        for at, history in _histories(tags, start, end, label, p.length):
            if len(history) == 1:  # the token may not have this tag
                others = [k for k in range(len(tags.tags)) if k != history[0]]
                held.allow([at], others)
            else:
                p.add(at, at + 1, history, -np.inf)


def _check_label(label: object, labels: Sequence[str], name: str) -> None:
    if label not in labels:
        expected = f"one of the labels {', '.join(labels)}"
        raise InvalidInput(message(name, label, expected, "pass one of them"))


def _histories(
    tags: TagSet, start: int, end: int, label: str, length: int
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield all tag sequences that encode a segment, with their last token.

    Neighbours are among them only where they matter: I after I of the same label goes on.
    """
    joined, Y = tags.joined, len(tags.tags)
    mine = [k for k in range(Y) if tags.label_of[k] == label]
    runs: list[tuple[int, ...]] = [(k,) for k in mine]
    for _ in range(start + 1, end):
        runs = [(*run, k) for run in runs for k in mine if joined[run[-1], k]]
    for run in runs:
        before = [(k,) for k in range(Y) if not joined[k, run[0]]]
        after = [(k,) for k in range(Y) if not joined[run[-1], k]]
        for a in [()] if start == 0 or len(before) == Y else before:
            for b in [()] if end == length or len(after) == Y else after:
                yield end - (not b), (*a, *run, *b)
