"""Constraints on predictions, read and checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.constraints import Marks
from caesura.documents import Partial
from caesura.errors import InvalidInput, counted, message
from caesura.inference.problems import Rule
from caesura.segments import Segment, fill_gaps

__all__ = [
    "Constraints",
    "Rules",
    "StateRules",
    "check_rule_labels",
    "checked_rules",
    "each_rules",
    "model_rules",
    "naming_constraint",
    "naming_segments",
    "nonempty_constraints",
    "read_rules",
    "read_segments",
    "state_rules",
]

Constraints = Mapping[str, Any] | Iterable[Mapping[str, Any]] | None
Span = tuple[int, int, Any]  # start, end, label
_AS_PARTIAL = {"segments": "required", "tokens": "allowed"}  # fields of `Partial` -> constraints


class Rules(NamedTuple):
    """The constraints on one sequence, as `Potentials.constrain` takes them."""

    required: tuple[Span, ...] = ()
    forbidden: tuple[Span, ...] = ()
    boundaries: tuple[int, ...] = ()
    no_boundaries: tuple[int, ...] = ()
    allowed: Mapping[int, tuple[Any, ...]] = {}
    at_most_once: tuple[Any, ...] = ()
    exactly_once: tuple[Any, ...] = ()
    ordered: tuple[Any, ...] = ()

    def kept_by(self, segments: Sequence[Segment], length: int, outside: str) -> bool:
        """Return whether segments satisfy the constraints on whole segments.

        Each token outside is a segment.
        """
        full = fill_gaps(segments, length, outside)
        labels = [segment.label for segment in full]
        places = [self.ordered.index(label) for label in labels if label in self.ordered]
        return (
            not {tuple(segment) for segment in full}.intersection(self.forbidden)
            and all(labels.count(label) <= 1 for label in self.at_most_once)
            and all(labels.count(label) == 1 for label in self.exactly_once)
            and places == sorted(places)
        )


def read_rules(given: Any, name: str) -> Rules:
    """Return type-checked constraints, or raise; errors call them `name`.

    Examples
    --------
    >>> read_rules({"at_most_once": "year"}, "constraints").at_most_once
    ('year',)
    >>> read_rules({"required": 3}, "constraints")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: constraints['required']: got 3, expected a list of segments ...
    """
    if not isinstance(given, Mapping):
        remedy = "write {'at_most_once': ['year']}"
        raise InvalidInput(message(name, given, "a dict", remedy))
    for key in given:
        if key not in Rules._fields:
            expected = f"one of {', '.join(Rules._fields)}"
            raise InvalidInput(message(name, key, expected, "see Potentials.constrain"))
    return Rules(**{key: _READ[key](value, f"{name}[{key!r}]") for key, value in given.items()})


def read_segments(given: Iterable[Any], name: str) -> Rules:
    """Return type-checked segments as constraints that require them, or raise.

    Examples
    --------
    >>> read_segments([(0, 1, "town")], "segments").required
    ((0, 1, 'town'),)
    >>> read_segments([(0, 1)], "segments")
    Traceback (most recent call last):
    caesura.errors.InvalidInput: segments[0]: got (0, 1), expected a segment (start, end, label);
    give all three
    """
    return Rules(required=_spans(given, name))


# Constraints that do not depend on the length of a sequence.
OF_LABELS = ("at_most_once", "exactly_once", "ordered")


class StateRules(NamedTuple):
    """Label constraints in terms of a model's states, in the form of the kernels."""

    rules: list[Rule]  # over label indices
    spelling: tuple[tuple[int, ...], Marks] | None  # see `caesura.constraints.Constraints`
    labels: tuple[str, ...]


def model_rules(given: Any) -> Rules:
    """Return the constraints of a model for training and prediction, or raise.

    Examples
    --------
    >>> model_rules({"ordered": ["number", "street"]}).ordered
    ('number', 'street')
    >>> model_rules({"boundaries": [3]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: constraints: got 'boundaries', expected at_most_once, ...
    """
    if given is None:
        return Rules()
    rules = read_rules(given, "constraints")
    for key in given:
        if key not in OF_LABELS:
            expected = f"{', '.join(OF_LABELS[:-1])} or {OF_LABELS[-1]}"
            remedy = "it depends on the sequence: pass it to predict"
            raise InvalidInput(message("constraints", key, expected, remedy))
    return rules


def state_rules(
    rules: Rules, label_of: Sequence[str], joined: npt.NDArray[Any] | None, name: str
) -> StateRules:
    """Convert at_most_once, exactly_once and ordered to constraints on states.

    Parameters
    ----------
    rules : Rules
        The rules on the labels of segments.
    label_of : sequence of str
        The label of each state.
    joined : array of shape (Y, Y), optional
        Where states are tags: whether the second state continues the segment of the first.
    name : str
        Name of the rules in error messages.

    Examples
    --------
    >>> state_rules(Rules(exactly_once=("year",)), ["name", "year"], None, "constraints").rules
    [('exactly once', (1,))]
    """
    labels = tuple(dict.fromkeys(label_of))
    index = {label: k for k, label in enumerate(labels)}

    def numbers(key: str) -> list[int]:
        given = getattr(rules, key)
        _check_labels(f"{name}[{key!r}]", given, labels)
        return [index[label] for label in given]

    once = dict.fromkeys(numbers("at_most_once"), "at most once")
    once |= dict.fromkeys(numbers("exactly_once"), "exactly once")
    found: list[Rule] = [(kind, (k,)) for k, kind in sorted(once.items())]
    order = tuple(numbers("ordered"))
    if len(set(order)) < len(order):
        raise InvalidInput(
            f"a label occurs twice in {list(rules.ordered)!r}",
            place=f"{name}['ordered']",
            remedy="name each label once",
        )
    if len(order) > 1:
        found.append(("ordered", order))
    if joined is None:
        return StateRules(found, None, labels)
    symbols = tuple(index[label] for label in label_of)
    return StateRules(found, (symbols, np.ascontiguousarray(joined, np.uint8)), labels)


def nonempty_constraints(constraints: Constraints, X: Any = None) -> Constraints:
    """Return constraints, or None if they are empty; a dict can be iterated again.

    A list with one dict for each sequence of X is checked; anything else is returned as it is.

    Examples
    --------
    >>> nonempty_constraints({}) is nonempty_constraints({"at_most_once": []}) is None
    True
    """
    if not isinstance(constraints, Mapping):
        if isinstance(constraints, list) and isinstance(X, Sized) and len(X) == len(constraints):
            each = each_rules(constraints, X)
            return None if all(rules == Rules() for rules, _ in each) else constraints
        return constraints
    rules = read_rules(constraints, "constraints")
    return None if rules == Rules() else rules._asdict()


def each_rules(constraints: Constraints, X: Any) -> Iterator[tuple[Rules, str]]:
    """Yield the constraints of each sequence, with their name in errors.

    Raises
    ------
    InvalidInput
        At once if it can be seen that there are not as many as sequences.
    """
    if constraints is None or isinstance(constraints, Mapping):
        return repeat((read_rules(constraints or {}, "constraints"), "constraints"))
    if isinstance(constraints, str | bytes) or not isinstance(constraints, Iterable):
        expected = "a dict, or one dict for each sequence"
        remedy = "write {'at_most_once': ['year']}"
        raise InvalidInput(message("constraints", constraints, expected, remedy))
    if isinstance(constraints, Sized) and isinstance(X, Sized) and len(constraints) != len(X):
        raise InvalidInput(
            place="constraints",
            got=f"{counted(len(constraints), 'dict')} for {counted(len(X), 'sequence')}",
            expected="a single dict, or one for each sequence",
            remedy="give as many dicts as sequences",
        )
    return (
        (read_rules(one, f"constraints[{i}]"), f"constraints[{i}]")
        for i, one in enumerate(constraints)
    )


def checked_rules(rules: Rules, length: int, labels: Sequence[str], outside: str) -> Rules:
    """Return constraints that a sequence of this length can satisfy, or raise.

    Outside text has a single segmentation: where it is required, only the outside label is allowed
    on its tokens.

    Examples
    --------
    >>> checked_rules(Rules(required=((1, 2, "O"),)), 3, ["town", "O"], "O").allowed
    {1: ('O',)}
    >>> checked_rules(Rules(boundaries=(3,)), 3, ["town", "O"], "O")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: boundaries: got 3, expected an inner boundary, 1 to 2; ...
    """
    for key in ("required", "forbidden"):
        for start, end, label in getattr(rules, key):
            _check_labels(key, [label], labels)
            if not start < end <= length:
                expected = f"0 <= start < end <= {length} (end is exclusive)"
                remedy = "count tokens from 0"
                raise InvalidInput(message(key, (start, end, label), expected, remedy))
    for key in ("boundaries", "no_boundaries"):
        for t in getattr(rules, key):
            if not 0 < t < length:
                expected = f"an inner boundary, 1 to {length - 1}"
                raise InvalidInput(message(key, t, expected, "leave it out"))
    for key in ("at_most_once", "exactly_once", "ordered"):
        _check_labels(key, getattr(rules, key), labels)
    allowed = dict(rules.allowed)
    for token, some in allowed.items():
        whole("allowed", token, 0, length - 1)
        _check_labels("allowed", some, labels)
    for start, end, _ in (span for span in rules.required if span[2] == outside):
        for t in range(start, end):
            if outside not in allowed.get(t, (outside,)):
                raise InvalidInput(
                    place=f"allowed[{t}]",
                    got=f"{allowed[t]}, but {outside} is required",
                    remedy="allow it there, or leave the requirement out",
                )
            allowed[t] = (outside,)
    required = sorted({span for span in rules.required if span[2] != outside})
    Partial(required, allowed, rules.boundaries, rules.no_boundaries)  # raises if contradictory
    return rules._replace(required=tuple(required), allowed=allowed)


def check_rule_labels(constraints: Constraints, labels: Sequence[str]) -> None:
    """Raise if constraints on all sequences name a label that is not among `labels`.

    Examples
    --------
    >>> check_rule_labels({"at_most_once": ["yeer"]}, ["title", "year"])
    Traceback (most recent call last):
    caesura.errors.InvalidInput: constraints['at_most_once']: got 'yeer', expected one of the labels
    title, year; pass one of them
    """
    if not isinstance(constraints, Mapping):
        return
    with naming_constraint("constraints"):
        rules = read_rules(constraints, "constraints")
        for key in ("required", "forbidden"):
            _check_labels(key, [label for _, _, label in getattr(rules, key)], labels)
        for key in OF_LABELS:
            _check_labels(key, getattr(rules, key), labels)
        for some in rules.allowed.values():
            _check_labels("allowed", some, labels)


def _check_labels(name: str, some: Iterable[Any], labels: Sequence[str]) -> None:
    for label in some:
        if label not in labels:
            expected = f"one of the labels {', '.join(labels)}"
            raise InvalidInput(message(name, label, expected, "pass one of them"))


@contextmanager
def naming_constraint(name: str) -> Iterator[None]:
    """Prefix the constraint in errors: required becomes constraints['required']."""
    try:
        yield
    except InvalidInput as error:
        key = (error.argument or "").removeprefix("y.")
        rule = _AS_PARTIAL.get(key, key)
        if rule not in Rules._fields:
            place = f"{name}: {key}" if key else name
            raise error.changed(place=f"{place}{error.item}") from None
        raise error.changed(place=f"{name}[{rule!r}]{error.item}") from None


@contextmanager
def naming_segments(name: str) -> Iterator[None]:
    """Name the argument in errors about required segments: required becomes segments."""
    try:
        yield
    except InvalidInput as error:
        raise error.changed(place=f"{name}{error.item}") from None


# ---- readers of each kind of constraint ---------------------------------------------------------


def _listed(value: Any, name: str, expected: str) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInput(message(name, value, expected, "pass a list"))
    return list(value)


def _spans(value: Any, name: str) -> tuple[Span, ...]:
    out = []
    for i, one in enumerate(_listed(value, name, "a list of segments (start, end, label)")):
        expected = "a segment (start, end, label)"
        here = f"{name}[{i}]"
        parts = _listed(one, here, expected)
        if len(parts) != 3:
            raise InvalidInput(message(here, one, expected, "give all three"))
        start, end = (whole(here, part, 0) for part in parts[:2])
        out.append((start, end, _label(parts[2], here)))
    return tuple(out)


def _positions(value: Any, name: str) -> tuple[int, ...]:
    return tuple(whole(name, one, 0) for one in _listed(value, name, "a list of positions"))


def _allowed(value: Any, name: str) -> Mapping[int, tuple[Any, ...]]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        remedy = "write {0: ['name', 'O']}"
        raise InvalidInput(message(name, value, "a dict of token to labels", remedy))
    return {
        whole(name, token, 0): _some_labels(labels, f"{name}[{token!r}]")
        for token, labels in value.items()
    }


def _some_labels(value: Any, name: str) -> tuple[Any, ...]:
    labels = _labels(value, name)
    if not labels:
        remedy = "leave out tokens that may have any"
        raise InvalidInput(message(name, value, "a label or several", remedy))
    return labels


def _labels(value: Any, name: str) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(_label(one, name) for one in _listed(value, name, "a list of labels"))


def _label(value: Any, name: str) -> Any:
    good = isinstance(value, str | int | np.integer) and not isinstance(value, bool)
    if not good:
        raise InvalidInput(message(name, value, "a label", "give its name"))
    return value


_READ: Mapping[str, Any] = {
    "required": _spans,
    "forbidden": _spans,
    "boundaries": _positions,
    "no_boundaries": _positions,
    "allowed": _allowed,
    "at_most_once": _labels,
    "exactly_once": _labels,
    "ordered": _labels,
}
