"""Files of `PrunedSemiCRF`: weights, function name and filter model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import persistence
from caesura.checks import check_scores
from caesura.documents.tokenisers import Tokeniser
from caesura.errors import InvalidInput
from caesura.features.document_columns import remember
from caesura.features.specs import function_name, named_function
from caesura.models.pruned import PrunedSemiCRF
from caesura.models.semi import SemiCRF

__all__ = ["built_pruned", "pruned_content"]

Arrays = dict[str, npt.NDArray[Any]]
FIRST = "first."  # prefix of the filter model's arrays
NUMBERS = ("threshold_", "lost_", "kept_")


def pruned_content(
    model: PrunedSemiCRF, content: Callable[[Any], tuple[dict[str, Any], Arrays]]
) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file; `content` serialises the filter model."""
    first, arrays = content(model.first_)
    options = model.get_params() | {"features": function_name(model.features), "first": None}
    options["tokeniser"] = Tokeniser.of(model.tokeniser).spec
    header: dict[str, Any] = {
        "model": "pruned",
        "options": options,
        "labels": list(model.labels_),
        "numbers": {name: getattr(model, name) for name in NUMBERS},
        "first": first,
        "first_given": model.first is not None,
    }
    own: Arrays = {
        "vocabulary": persistence.pack(list(model.vocabulary_)),
        "weights": model.weights_,
    }
    return header, own | {FIRST + name: array for name, array in arrays.items()}


def built_pruned(
    header: dict[str, Any],
    arrays: Arrays,
    trust: bool,
    build: Callable[[dict[str, Any], Arrays, bool], Any],
) -> PrunedSemiCRF:
    """Return the model in a file; `build` restores the filter model."""
    known = set(PrunedSemiCRF.parameter_names())
    options = {name: value for name, value in header["options"].items() if name in known}
    options["features"] = named_function(options["features"], trust)
    remember(options["features"])
    model = PrunedSemiCRF(**options)
    model.check_parameters()
    inner = {n.removeprefix(FIRST): a for n, a in arrays.items() if n.startswith(FIRST)}
    first = build(header["first"], inner, trust)
    _require(isinstance(first, SemiCRF), "first")
    if header["first_given"]:
        model.first = type(first)(**first.get_params())
    numbers = {name: float(header["numbers"][name]) for name in NUMBERS}
    _require(all(0.0 <= x < np.inf for x in numbers.values()), "numbers")
    labels, names = list(header["labels"]), persistence.unpack(arrays["vocabulary"])
    _require(len(labels) > 0 and all(isinstance(y, str) for y in labels), "labels")
    _require(isinstance(names, list) and all(isinstance(x, str) for x in names), "vocabulary")
    vocabulary, w, Y = {name: k for k, name in enumerate(names)}, arrays["weights"], len(labels) + 2
    _require(len(vocabulary) == len(names), "vocabulary")
    _require(w.dtype == np.float64 and w.shape == (len(names) * Y + 2 * Y + Y * Y,), "weights")
    check_scores("weights", w)
    for name, value in numbers.items():
        setattr(model, name, value)
    model.labels_, model.vocabulary_, model.weights_ = labels, vocabulary, w
    model.first_ = first
    return model


def _require(good: bool, name: str) -> None:
    if not good:
        raise InvalidInput(
            "wrong", place=name, remedy="the file is not one that this library wrote"
        )
