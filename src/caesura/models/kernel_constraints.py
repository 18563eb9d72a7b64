"""Constraints of sequences in the form of the kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat

import numpy as np

from caesura import _kernels
from caesura.errors import InvalidInput, counted
from caesura.inference.problems import rules_of
from caesura.models.rules import OF_LABELS, Rules
from caesura.potentials import Potentials

__all__ = ["ConditionReader", "condition_of", "missing_rules", "too_many_rules"]


def condition_of(p: Potentials, any_length: bool = False) -> _kernels.Condition:
    """Return the constraints of potentials without scores.

    Parameters
    ----------
    p : Potentials
        Potentials without scores other than those that forbid.
    any_length : bool
        Whether only rules that do not depend on the length are considered.
    """
    parts, Y = p.parts, len(p.labels)
    kept = parts.constraints
    tokens = None if kept.allowed is None or kept.allowed.all() else kept.allowed
    marks = kept.boundary if kept.boundary.any() else None
    histories = {target: list(labels) for labels, target in parts.histories.items()}
    added = [
        (int(start), int(end), histories[int(target)])
        for starts, ends, targets, _, _ in parts.added
        for start, end, target in zip(starts, ends, targets, strict=True)
    ]
    return _kernels.Condition(
        n_labels=Y,
        allowed=None if any_length else tokens,
        boundary=None if any_length else marks,
        pairs=np.array([edge[:3] for edge in parts.edges], np.int32).reshape(-1, 3),
        forbidden=np.array(kept.forbidden, np.int32).reshape(-1, 3),
        histories=added,
        rules=list(dict.fromkeys(rules_of(p))),
        spelling=kept.spelling,
    )


class ConditionReader:
    """A reader of the constraints of consecutive sequences.

    Parameters
    ----------
    rules : iterator of (Rules, str)
        The rules of each sequence, and their name in error messages.
    constrained : callable
        Given a length, rules and their name, returns checked rules, and potentials without scores
        that they constrain.

    Notes
    -----
    Where the rules are the same for all sequences, so are the conditions of those of one length;
    rules about labels alone do not depend on the length either.
    """

    def __init__(
        self,
        rules: Iterator[tuple[Rules, str]],
        constrained: Callable[[int, Rules, str], tuple[Rules, Potentials]],
    ) -> None:
        self._rules, self._constrained = rules, constrained
        self._same = next(rules) if isinstance(rules, repeat) else None
        self._known: dict[int, tuple[Rules, _kernels.Condition]] = {}
        self._count = 0
        self._free = condition_of(Potentials(0, 1))

    def read(self, lengths: list[int]) -> tuple[list[Rules], list[_kernels.Condition]]:
        """Return the label rules and conditions of the next sequences with these lengths."""
        if self._same is None:
            found = [self._next(length) for length in lengths]
        else:
            rules, name = self._same
            if _about_labels(rules):
                lengths = [1] * len(lengths)
            for length in set(lengths) - self._known.keys():
                self._known[length] = self._read(length, rules, name)
            found = [self._known[length] for length in lengths]
        return [rules for rules, _ in found], [condition for _, condition in found]

    def _next(self, length: int) -> tuple[Rules, _kernels.Condition]:
        given = next(self._rules, None)
        if given is None:
            raise missing_rules(self._count)
        self._count += 1
        return self._read(length, *given)

    def _read(self, length: int, rules: Rules, name: str) -> tuple[Rules, _kernels.Condition]:
        if rules == Rules():
            return rules, self._free
        of_labels = _about_labels(rules)
        checked, p = self._constrained(1 if of_labels else length, rules, name)
        return checked, condition_of(p, of_labels)

    def end(self) -> None:
        """Raise if there are more constraints than sequences."""
        if self._same is None and next(self._rules, None) is not None:
            raise too_many_rules(self._count)


def _about_labels(rules: Rules) -> bool:
    """Return whether constraints concern labels alone, independent of the length."""
    return rules == Rules(**{key: getattr(rules, key) for key in OF_LABELS})


def missing_rules(count: int) -> InvalidInput:
    """Return the error for fewer constraints than sequences."""
    return InvalidInput(
        place="constraints",
        got=f"{counted(count, 'dict')} for more sequences",
        expected="a single dict, or one for each sequence",
        remedy="give as many dicts as sequences",
    )


def too_many_rules(count: int) -> InvalidInput:
    """Return the error for more constraints than sequences."""
    return InvalidInput(
        place="constraints",
        got=f"more than {counted(count, 'dict')} for {counted(count, 'sequence')}",
        expected="a single dict, or one for each sequence",
        remedy="give as many dicts as sequences",
    )
