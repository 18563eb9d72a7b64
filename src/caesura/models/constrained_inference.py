"""Inference on the constrained potentials of sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from caesura import inference
from caesura.errors import Impossible, InvalidInput
from caesura.models.encoded import impossible
from caesura.models.fitted import unscaled
from caesura.models.kernel_constraints import missing_rules, too_many_rules
from caesura.models.rules import Constraints, Rules, checked_rules, each_rules, naming_constraint
from caesura.potentials import Potentials

__all__ = ["Asked", "constrained"]

MOST_TOKENS = 10_000  # maximum number of tokens whose potentials are in memory


class Asked(NamedTuple):
    """The constrained potentials of some sequences."""

    first: int  # index in X of the first sequence
    potentials: list[Potentials]  # with the constraints
    rules: list[Rules]

    def of(self, question: Callable[..., Any], *arguments: Any, **options: Any) -> list[Any]:
        """Apply an inference function to all potentials."""
        try:
            answers: list[Any] = question(self.potentials, *arguments, **options)
            return answers
        except (Impossible, InvalidInput):
            for i, p in enumerate(self.potentials, self.first):
                if _log_partition(i, p) == -np.inf:
                    raise impossible(i) from None
            raise

    def log_partitions(self, n_threads: int | None) -> list[float]:
        """Return ln Z of each sequence, or raise where no segmentation is possible."""
        found = self.of(inference.log_partition, n_threads=n_threads)
        if -np.inf in found:
            raise impossible(self.first + found.index(-np.inf))
        return found


def constrained(
    potentials: Iterable[Potentials],
    constraints: Constraints,
    X: Any,
    labels: tuple[Sequence[str], str],
    constrain: Callable[[Potentials, Rules, str], None],
) -> Iterator[Asked]:
    """Yield constrained potentials in batches.

    Parameters
    ----------
    potentials : iterable of Potentials
        The potentials of each sequence.
    constraints : dict, or one dict for each sequence, or None
        The constraints that answers must satisfy.
    X : sized or not
        The sequences, of which only the number is used.
    labels : (sequence of str, str)
        The labels that constraints may name, and which of them is outside.
    constrain : callable
        Constrains potentials, given checked rules and their name in error messages.
    """
    rules, i = each_rules(constraints, X), -1
    some, tokens = Asked(0, [], []), 0
    for i, p in enumerate(potentials):
        mine, name = next(rules, (None, ""))
        if mine is None:
            raise missing_rules(i)
        if mine != Rules():
            with naming_constraint(name):
                mine = checked_rules(mine, p.length, *labels)
            constrain(p, mine, name)
        some.potentials.append(p)
        some.rules.append(mine)
        tokens += p.length + 1
        if tokens >= MOST_TOKENS:
            yield some
            some, tokens = Asked(i + 1, [], []), 0
    if not isinstance(rules, repeat) and next(rules, None) is not None:
        raise too_many_rules(i + 1)
    if some.potentials:
        yield some


def _log_partition(i: int, p: Potentials) -> float:
    """Return ln Z of sequence i, or raise an error that names it."""
    try:
        return inference.log_partition(p)
    except InvalidInput:
        raise unscaled(i) from None
