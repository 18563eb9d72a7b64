"""Checks of parameters for look-back features and beam search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from caesura.documents import Partial
from caesura.errors import InvalidInput, TooLarge, message
from caesura.features import Template, looks_back
from caesura.learning.learners import LEARNERS, learners_with
from caesura.models.fitted import Structure

if TYPE_CHECKING:
    from caesura.models.model import Model

__all__ = ["check_bounds", "check_sizes", "check_span_model", "check_targets"]

MOST_SPANS = 1 << 24  # maximum number of spans in a sequence


def check_span_model(model: Model, features: Sequence[Any]) -> None:
    """Raise if a parameter is incompatible with look-back features or beam search."""
    why = "a beam" if model.beam is not None else "features that look back"
    learner = LEARNERS[model.learner]
    if model.beam is not None and not learner.beam:
        able = " or ".join(map(repr, learners_with("beam")))
        remedy = f"pass learner={able}"
        if learner.looks_back and looks_back(features):
            remedy += ", or set the beam after fitting to predict faster"
        raise InvalidInput(message("learner", model.learner, f"{able} with a beam", remedy))
    if not learner.looks_back:
        expected = " or ".join(map(repr, learners_with("looks_back"))) + f" with {why}"
        raise InvalidInput(message("learner", model.learner, expected, "pass one of them"))
    plain: dict[str, Any] = {
        "order": 1,
        "warm_start": False,
        "class_weight": None,
        "penalties": None,
        "patterns": None,
        "constraints": None,
        "average": True,
        "loss": None,
    }
    for name, value in plain.items():
        given = getattr(model, name)
        if given != value and given is not value:
            raise InvalidInput(message(name, given, f"{value!r} with {why}", "leave it out"))
    for feature in features:
        if getattr(feature, "order", 0):
            remedy = "write previous.label & this.first, or leave the history out"
            raise InvalidInput(message("features", feature, f"no history with {why}", remedy))
    if (depth := max(map(_depth, features), default=0)) > learner.looks_back:
        able = " or ".join(repr(name) for name, one in LEARNERS.items() if one.looks_back >= depth)
        expected = f"{able} with features that look back at two segments or more"
        remedy = f"pass learner={able}, or leave `earlier` out"
        raise InvalidInput(message("learner", model.learner, expected, remedy))
    if model.beam is None and any(_depth(feature) > 2 for feature in features):
        expected = "a number of candidates with features that see all segments before"
        raise InvalidInput(message("beam", None, expected, "pass beam=16"))


def _depth(feature: Any) -> int:
    """Return the number of preceding segments that a feature uses; 3 stands for all."""
    if isinstance(feature, Template):
        return 0
    return int(getattr(feature, "depth", 3 if hasattr(feature, "said") else 0))


def check_bounds(model: Model, structure: Structure) -> None:
    """Raise if segment lengths are unbounded, since there would be too many spans."""
    for state, bound in zip(structure.states, structure.bounds.tolist(), strict=True):
        if bound == 0:
            why = "a beam" if model.beam is not None else "features that look back"
            expected = f"a bound for every label with {why}, and {state!r} has none"
            remedy = "pass max_length='observed', or a number of tokens"
            given = getattr(model, "max_length", None)
            raise InvalidInput(message("max_length", given, expected, remedy))


def check_sizes(lengths: npt.NDArray[np.int64], structure: Structure, first: int = 0) -> None:
    """Raise for a sequence with too many spans for the memory."""
    longest = np.minimum(lengths, int(structure.bounds.max()))
    for i in np.flatnonzero(lengths * longest > MOST_SPANS)[:1].tolist():
        raise TooLarge(
            f"{lengths[i]:,} tokens have {lengths[i] * longest[i]:,} spans of up to "
            f"{longest[i]:,} tokens",
            place=f"X[{first + i}]",
            expected=f"at most {MOST_SPANS:,}",
            remedy="lower max_length, or cut the sequence",
        )


def check_targets(targets: Sequence[Any]) -> None:
    """Raise for a partially labelled sequence."""
    for i, target in enumerate(targets):
        if isinstance(target, Partial):
            expected = "full labels with features that look back or a beam"
            raise InvalidInput(message(f"y[{i}]", target, expected, "label all of it"))
