"""The settings of ``--model neural``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from caesura.errors import InvalidInput

__all__ = ["NEURAL", "neural_estimator"]

# The parameters of NeuralSegmenter, whose `model` is called network here. They are listed so that
# other models need not import torch; a test keeps the list up to date.
NEURAL = (
    *("network", "context", "word_size", "character_size", "shape_size", "characters", "hidden"),
    *("dropout", "vectors", "transformer", "frozen", "features", "order", "max_length"),
    *("representation", "hybrid", "transitions", "null_weight", "global_loss", "outside"),
    *("outside_length", "one_score", "decoder"),
    *("epochs", "batch_size", "rate", "encoder_rate", "warm_up", "clip", "weight_decay"),
    *("patience", "device", "tokeniser", "n_threads", "random_state"),
)


def neural_estimator(choices: Mapping[str, Any], verbose: bool | None) -> Any:
    """Return an unfitted neural segmenter with the given settings."""
    from caesura.neural import NeuralSegmenter

    params = {name: value for name, value in choices.items() if name != "model"}
    for name in params:
        if name not in NEURAL:
            near = difflib.get_close_matches(name, NEURAL, 1)
            expected = f"one of its choices, such as {near[0] if near else 'epochs'}"
            raise InvalidInput(
                place=name,
                got=f"{params[name]!r} for a neural model, which has no such setting",
                expected=expected,
                remedy="leave it out",
            )
    if "network" in params:
        params["model"] = params.pop("network")
    model = NeuralSegmenter(**params, verbose=verbose)
    model.check_parameters()  # reports invalid settings before training begins
    return model
