"""Penalties on weights, and costs of errors by label."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message
from caesura.features import Template
from caesura.learning.learners import LEARNERS
from caesura.models.fitted import Labelling, blocks_of

if TYPE_CHECKING:
    from caesura.models.model import Model
    from caesura.models.training import Examples, Training

__all__ = ["class_costs", "feature_name", "penalties"]

Floats = npt.NDArray[np.float64]
FEW = 6  # maximum number of features that an error lists; of more, it lists the most similar


def feature_name(feature: Any) -> str:
    """Return the name of a feature in penalties."""
    return str(feature.prefix[:-1] if isinstance(feature, Template) else feature.name)


def penalties(model: Model, training: Training) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    """Return c1 and c2, as scalars or for each weight where groups differ."""
    if not model.penalties:
        return model.c1, model.c2
    if not isinstance(model.penalties, Mapping):
        remedy = "write {'word[0]': 0.1, 'transitions': (0.0, 0.01)}"
        raise InvalidInput(message("penalties", model.penalties, "a dict", remedy))
    parameters, features = training.parameters, training.encoder.features
    n, blocks = len(parameters), blocks_of(parameters)
    sources = np.full(n, -1)
    attributes = np.concatenate([parameters.attribute, parameters.edge_attribute])
    sources[: blocks.transitions.start] = training.encoder.sources[attributes]
    orders = [len(pattern) - 1 for pattern in parameters.patterns[: parameters.n_plain]]
    sources[blocks.patterns] = -np.array(orders, np.int64)
    highest = max([model.order, *orders])
    groups: dict[Any, list[int]] = {"transitions": [-1]}
    groups["patterns"] = [-k for k in range(2, highest + 1)]
    groups |= {f"order{k}": [-k] for k in range(2, highest + 1)}
    for k, feature in enumerate(features):
        groups.setdefault(feature_name(feature), []).append(k)
        groups[feature] = [k]
    c1, c2 = np.full(n, float(model.c1)), np.full(n, float(model.c2))
    for group, value in sorted(model.penalties.items(), key=_generality):
        if group not in groups:
            raise _no_such_group(group, groups, highest)
        pair = tuple(value) if isinstance(value, tuple | list) else (model.c1, value)
        if len(pair) != 2 or not all(_is_penalty(one) for one in pair):
            expected = "c2, or (c1, c2), which are 0 or more"
            raise InvalidInput(
                message(f"penalties[{group!r}]", value, expected, "write (0.0, 0.1)")
            )
        mine = np.isin(sources, groups[group])
        c1[mine], c2[mine] = pair
    return c1, c2


def _generality(penalty: tuple[Any, Any]) -> int:
    """Return the sort key of penalties, so that specific ones override general ones."""
    group = penalty[0]
    return 0 if group == "patterns" else 1 if isinstance(group, str) else 2


def _no_such_group(group: Any, groups: Mapping[Any, Sequence[int]], highest: int) -> InvalidInput:
    """Return the error for a penalty on non-existent weights."""
    own = ["transitions", "patterns", *(["order2"] if highest == 2 else [])]
    own += [f"order2 to order{highest}"] if highest > 2 else []
    features = [
        name for name in groups if isinstance(name, str) and max(groups[name], default=-1) >= 0
    ]
    shown = features
    if len(features) > FEW:
        shown = difflib.get_close_matches(str(group), features, 3) or features[:3]
        shown = [*shown, f"{len(features) - len(shown)} other features"]
    remedy = "name a feature, transitions or patterns"
    if group == "order1":
        remedy = "pairs of labels are transitions"
    expected = f"one of {', '.join([*own, *shown])}"
    return InvalidInput(message("penalties", group, expected, remedy))


def _is_penalty(value: Any) -> bool:
    return isinstance(value, Real) and 0 <= float(value) < np.inf


def class_costs(model: Model, labelling: Labelling, examples: Examples) -> Floats | None:
    """Return the costs added to the scores of wrong states, (tokens, Y), or None.

    A token of a label with the weight c costs ln c where another state is chosen: probabilities of
    mistakes on it count c times, as in softmax-margin training.  Of a sequence that is labelled in
    part these are the tokens whose label is known.
    """
    if model.class_weight is None or LEARNERS[model.learner].losses:
        return None
    labels = np.array(model.coding.labels_of(labelling.structure.states, labelling.scheme))
    by_state = np.zeros(len(labels))
    if not isinstance(model.class_weight, Mapping):
        remedy = "write {'PER': 2.0}"
        raise InvalidInput(message("class_weight", model.class_weight, "a dict", remedy))
    for label, value in model.class_weight.items():
        good = isinstance(value, Real) and 0 < float(value) < np.inf
        if not good or not (labels == label).any():
            expected = f"positive numbers for some of {', '.join(sorted(set(labels.tolist())))}"
            remedy = "correct the label or its weight"
            raise InvalidInput(message("class_weight", {label: value}, expected, remedy))
        by_state[labels == label] = np.log(value)
    lengths = examples.corpus.lengths
    cost = np.zeros((int(lengths.sum()), len(labels)))
    first = 0
    for i, (length, some) in enumerate(zip(lengths.tolist(), examples.rows, strict=True)):
        for start, end, state in some.tolist():
            cost[first + start : first + end] = by_state[state]
            cost[first + start : first + end, state] = 0.0
        for t, right in enumerate(examples.allowed.get(i, np.zeros((0, 0))).astype(bool), first):
            if len(set(labels[right])) == 1:
                cost[t] = np.where(right, 0.0, by_state[right][0])
        first += length
    return cost
