"""The features of a fitted model with the largest weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.models.estimator import fitted_of
from caesura.models.fitted import blocks_of
from caesura.models.patterns import named

if TYPE_CHECKING:
    from caesura.models.diagnostics import Answers

__all__ = ["TopFeature", "top_features"]


class TopFeature(NamedTuple):
    """A feature and its weight.

    Examples
    --------
    >>> TopFeature("word[0]=Leeds", "town", 2.5).weight
    2.5
    """

    feature: str
    label: str  # a label, a tag of a chain, or all labels of a history
    weight: float


def top_features(model: Answers, label: str | None, n: int) -> list[TopFeature]:
    """Return the features with the largest weights, positive or negative."""
    fitted = fitted_of(model)
    parameters, states = fitted.parameters, fitted.structure.states
    shown = _Codes(states, parameters)
    codes = shown.of_weights
    chosen = np.arange(len(codes))
    if label is not None:
        said = model.coding.labels_of(states, fitted.scheme)
        mine = [k for k, state in enumerate(states) if label in (state, said[k])]
        if not mine:
            expected = f"one of {', '.join(dict.fromkeys([*said, *states]))}"
            raise InvalidInput(message("label", label, expected, "pass one of them"))
        chosen = np.flatnonzero(np.isin(shown.last[codes], mine))
    blocks, attributes = blocks_of(parameters), shown.attributes
    w = np.concatenate([fitted.w[block] for block in (blocks.rows, blocks.edges, blocks.patterns)])
    order = chosen[np.argsort(-np.abs(w[chosen]), kind="stable")][: whole("n", n, 0)]
    names = iter(fitted.encoder.names(attributes[order[order < len(attributes)]].tolist()))
    return [
        TopFeature(
            next(names) if k < len(attributes) else "pattern",
            shown.name(int(codes[k])),
            float(w[k]),
        )
        for k in order.tolist()
    ]


class _Codes:
    """The targets of weights: states, then patterns, then pairs of states."""

    def __init__(self, states: Sequence[str], parameters: Any) -> None:
        self.states, self.patterns = states, parameters.patterns
        Y = len(states)
        self.pairs = Y + len(self.patterns)  # code of the first pair
        ends = [*range(Y), *(pattern[-1] for pattern in self.patterns), *[*range(Y)] * Y]
        self.last = np.array(ends, np.int32)  # the last state of each target
        pair = parameters.edge_pair
        edges = np.where(pair < Y * Y, self.pairs + pair, Y + pair - Y * Y)
        plain = Y + np.arange(parameters.n_plain)
        # In the order of the weights: rows, edges, patterns. Only the first two belong to
        # attributes.
        self.of_weights = np.concatenate([parameters.label, edges, plain])
        self.attributes = np.concatenate([parameters.attribute, parameters.edge_attribute])

    def name(self, code: int) -> str:
        """Return the name of a target."""
        Y = len(self.states)
        if code >= self.pairs:
            return named(divmod(code - self.pairs, Y), self.states)
        return self.states[code] if code < Y else named(self.patterns[code - Y], self.states)
