"""The training sequences appended so far, encoded as integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from caesura.compat.items import Read, each, label_of, new_encoder, read
from caesura.compat.learning import Instances
from caesura.errors import InvalidInput, message
from caesura.models.fitted import Fitted

__all__ = ["Gathered"]


class _Group(NamedTuple):
    """The sequences of one group."""

    parts: list[Read]
    tags: list[int]  # labels of all tokens
    weights: list[float]  # weight of each sequence


class Gathered:
    """Labelled sequences in groups, one of which can be held out.

    Parameters
    ----------
    before : Fitted, optional
        A model whose attributes and labels keep their numbers.
    """

    def __init__(self, before: Fitted | None = None) -> None:
        self.before = before
        self.near = False  # whether penalties are measured from the weights of `before`
        self.encoder = new_encoder() if before is None else before.encoder.copy()
        states = () if before is None else before.structure.states
        self.labels: dict[str, int] = {label: k for k, label in enumerate(states)}
        self.groups: dict[int, _Group] = {}

    def append(self, xseq: Iterable[Any], yseq: Iterable[Any], group: int, weight: float) -> None:
        """Add a sequence; an error leaves the data unchanged."""
        labels = [label_of("yseq", one) for one in each(yseq, "yseq", "a list of labels")]
        if not isinstance(weight, int | float | np.number) or not 0 <= weight < np.inf:
            expected = "a finite number, 0 or more"
            raise InvalidInput(message("weight", weight, expected, "pass 1.0"))
        part = read(self.encoder, [xseq], True, None)
        length = len(part.ptr) - 1
        if length != len(labels):
            raise InvalidInput(
                place="yseq",
                got=f"{len(labels)} labels",
                expected=f"{length}, one for each token of xseq",
                remedy="check that both are of the same sequence",
            )
        known, mine = self.labels, self.groups.setdefault(group, _Group([], [], []))
        mine.parts.append(part)
        mine.weights.append(float(weight))
        mine.tags.extend([known.setdefault(label, len(known)) for label in labels])

    def n_tokens(self, group: int) -> int:
        """Return the number of tokens of a group."""
        return len(self.groups[group].tags) if group in self.groups else 0

    def instances(self, groups: Iterable[int]) -> Instances:
        """Return the sequences of some groups."""
        chosen = [self.groups[group] for group in sorted(groups)]
        return Instances(
            self.encoder,
            list(self.labels),
            [part for group in chosen for part in group.parts],
            np.array([tag for group in chosen for tag in group.tags], np.int32),
            np.array([one for group in chosen for one in group.weights], np.float64),
        )
