"""Constraints on segments for chains.

A chain's labels are tags, but where a segment begins can be told from a tag and the one before it,
in every scheme and also where tags are not well formed. So a rule about the labels of segments is
one about tags as well: its automaton steps only where a segment begins. A forbidden segment is a
few histories of tags at one place. Both are exact, and the chain's own recursions answer
everything.

Masks of tags are free, pairs of tags cost little, and longer histories make the automaton grow. So
what the model cannot have anyway is left out first: in BIO, a required segment then needs only
masks, and a forbidden one needs histories only from two tokens on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from caesura.constraints import BARRED, FORCED
from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.models.rules import Rules, naming_constraint, state_rules
from caesura.models.schemes import Bars, Bools, TagSet
from caesura.models.targets import known_labels
from caesura.potentials import Potentials

__all__ = ["constrain_tags", "keep_rules"]


def constrain_tags(
    p: Potentials, tags: TagSet, rules: Rules, name: str, bars: Bars | None = None
) -> None:
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
    bars : Bars, optional
        What the model forbids anyway; only paths without these are constrained.
    """
    with naming_constraint(name):
        known = Partial(
            sorted(rules.required), rules.allowed, rules.boundaries, rules.no_boundaries
        )
        known.check(p.length)
    labels = [*tags.labels, tags.outside]
    allowed, marks = known_labels(known, p.length, labels, tags.outside, name)
    rows = _possible_tags(p, bars)
    rows &= allowed[:, tags.label].astype(bool)
    follows = _follows(tags, bars)
    marked = (np.flatnonzero(marks[1 : p.length]) + 1).tolist()
    for t in marked:
        kept = rows[t - 1, :, None] & rows[t] & follows & _fitting(tags, marks[t])
        rows[t - 1], rows[t] = kept.any(axis=1), kept.any(axis=0)
    for t in marked:
        wrong = rows[t - 1, :, None] & rows[t] & follows & ~_fitting(tags, marks[t])
        _forbid_pairs(p, t, np.argwhere(wrong).tolist())
    if marked or not allowed.all():
        held = p.parts.constraints
        mask = rows.astype(np.uint8)
        held.allowed = mask if held.allowed is None else held.allowed & mask
    keep_rules(p, tags, rules, name, bars)


def _possible_tags(p: Potentials, bars: Bars | None) -> Bools:
    """Return which tags each token may have, (T, Y)."""
    allowed = p.parts.constraints.allowed
    rows = np.ones((p.length, len(p.labels)), bool) if allowed is None else allowed.astype(bool)
    if bars is not None:
        rows[:1] &= bars.start == 0
        rows[-1:] &= bars.end == 0
    return rows


def _follows(tags: TagSet, bars: Bars | None) -> Bools:
    """Return which tag may follow which, (Y, Y)."""
    return np.ones_like(tags.joined) if bars is None else bars.pairs == 0


def _fitting(tags: TagSet, mark: int) -> Bools:
    """Return the pairs of tags that a marked boundary permits, (Y, Y)."""
    out = ~tags.joined if mark & FORCED else np.ones_like(tags.joined)
    return out & tags.joined if mark & BARRED else out


def _forbid_pairs(p: Potentials, t: int, pairs: Iterable[Sequence[int]]) -> None:
    """Forbid pairs of tags at a boundary; like add_transition, but without its checks."""
    p.parts.edges.extend((t, a, b, -np.inf) for a, b in pairs)


def keep_rules(
    p: Potentials, tags: TagSet, rules: Rules, name: str, bars: Bars | None = None
) -> None:
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
    bars : Bars, optional
        What the model forbids anyway; only paths without these are constrained.
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
        _forbid_segment(p, tags, (start, end, label), bars)


def _forbid_segment(
    p: Potentials, tags: TagSet, segment: tuple[int, int, str], bars: Bars | None
) -> None:
    """Forbid all tag sequences that encode a segment."""
    longer: dict[int, list[tuple[int, ...]]] = {}
    pairs: dict[int, list[tuple[int, ...]]] = {}
    for at, history in _histories(tags, *segment, _possible_tags(p, bars), _follows(tags, bars)):
        if len(history) == 1:
            others = [k for k in range(len(tags.tags)) if k != history[0]]
            p.parts.constraints.allow([at], others)
        else:
            (pairs if len(history) == 2 else longer).setdefault(at, []).append(history)
    for at, some in pairs.items():
        _forbid_pairs(p, at, some)
    known, Y = p.parts.histories, len(p.labels)
    for at, some in longer.items():
        targets = [known.setdefault(history, Y + len(known)) for history in some]
        places = np.full(len(some), at, np.int32)
        scores, flags = np.full(len(some), -np.inf), np.zeros(len(some), np.uint8)
        p.parts.added.append((places, places + 1, np.array(targets, np.int32), scores, flags))
    p.changed()


def _check_label(label: object, labels: Sequence[str], name: str) -> None:
    if label not in labels:
        expected = f"one of the labels {', '.join(labels)}"
        raise InvalidInput(message(name, label, expected, "pass one of them"))


def _histories(
    tags: TagSet, start: int, end: int, label: str, rows: Bools, follows: Bools
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield all tag sequences that encode a segment, with their last token.

    Neighbours are among them only where they matter: I after I of the same label goes on.

    rows: (T, Y), the tags that each token may have.  follows: (Y, Y), which may follow which.
    """
    joined = tags.joined
    mine = [k for k in range(len(tags.tags)) if tags.label_of[k] == label]
    runs: list[tuple[int, ...]] = [(k,) for k in mine if rows[start, k]]
    inner = (joined & follows).tolist()
    for t in range(start + 1, end):
        here = [k for k in mine if rows[t, k]]
        runs = [(*run, k) for run in runs for k in here if inner[run[-1]][k]]
    for run in runs:
        before: list[tuple[int, ...]] = [()]
        after: list[tuple[int, ...]] = [()]
        if start > 0:
            before = _beside(rows[start - 1] & follows[:, run[0]], joined[:, run[0]])
        if end < len(rows):
            after = _beside(rows[end] & follows[run[-1]], joined[run[-1]])
        for a in before:
            for b in after:
                yield end - (not b), (*a, *run, *b)


def _beside(possible: Bools, joined: Bools) -> list[tuple[int, ...]]:
    """Return the tags with which a segment ends, as histories; one empty one if all do."""
    apart = possible & ~joined
    if possible.any() and (apart == possible).all():
        return [()]
    return [(k,) for k in np.flatnonzero(apart).tolist()]
