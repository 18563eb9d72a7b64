"""Checks of the parameters of `NeuralSegmenter`."""

from __future__ import annotations

import os
from typing import Any

from caesura.checks import whole
from caesura.documents.tokenisers import Tokeniser
from caesura.errors import InvalidInput, message
from caesura.neural.embeddings import CHARACTERS, CONTEXTS
from caesura.neural.filtered_answers import DECODERS
from caesura.neural.network import check_device
from caesura.neural.spans import REPRESENTATIONS

__all__ = ["check_parameters"]

MODELS = ("chain", "semi", "overlapping", "filtered")


def check_parameters(model: Any) -> None:
    """Raise if a parameter of a segmenter is invalid."""
    for name, some in (
        ("model", MODELS),
        ("context", CONTEXTS),
        ("characters", CHARACTERS),
        ("representation", REPRESENTATIONS),
        ("decoder", (None, *DECODERS)),
    ):
        if getattr(model, name) not in some:
            raise InvalidInput(
                message(name, getattr(model, name), f"one of {list(some)}", "choose one")
            )
    for name, least in (("epochs", 1), ("batch_size", 1), ("order", 1), ("hidden", 1)):
        whole(name, getattr(model, name), least)
    for name in ("word_size", "character_size", "shape_size", "random_state"):
        whole(name, getattr(model, name), 0)
    for name in ("patience", "n_threads"):
        if getattr(model, name) is not None:
            whole(name, getattr(model, name), 1)
    if model.max_length != "observed":
        whole("max_length", model.max_length, 1)
    for name in ("frozen", "transitions", "global_loss", "one_score"):
        if not isinstance(getattr(model, name), bool):
            remedy = "pass one of them"
            raise InvalidInput(message(name, getattr(model, name), "True or False", remedy))
    if model.model == "filtered" and model.order > 1:
        raise InvalidInput(message("order", model.order, "1 with 'filtered'", "leave it out"))
    _check_outside(model)
    if not isinstance(model.transformer, str | os.PathLike | None):
        expected = "the name of a model, a folder, or None"
        raise InvalidInput(message("transformer", model.transformer, expected, "pass a string"))
    Tokeniser.of(model.tokeniser)
    check_device(model.device)
    for name, most in (("dropout", 1.0), ("warm_up", 1.0), ("null_weight", 1.0)):
        _check_number(model, name, most)
    for name in ("hybrid", "rate", "encoder_rate", "clip", "weight_decay"):
        _check_number(model, name, float("inf"))


def _check_outside(model: Any) -> None:
    if not isinstance(model.outside, str):
        raise InvalidInput(message("outside", model.outside, "a string", "pass a label"))
    given = model.outside_length
    if given is None and model.model in ("semi", "overlapping"):
        return
    if given != 1 or isinstance(given, bool):
        expected = "1" if model.model in ("chain", "filtered") else "1 or None"
        remedy = "leave it out, or choose the model 'semi' or 'overlapping'"
        raise InvalidInput(
            message("outside_length", given, f"{expected} with {model.model!r}", remedy)
        )


def _check_number(model: Any, name: str, most: float) -> None:
    value = getattr(model, name)
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not 0.0 <= value <= most:
        limit = "0 or more" if most == float("inf") else f"from 0 to {most:g}"
        remedy = "leave it out for the default"
        raise InvalidInput(message(name, value, f"a number, {limit}", remedy))
