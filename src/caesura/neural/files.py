"""Neural model files: safetensors with a JSON header, without code."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import persistence
from caesura.documents.tokenisers import Tokeniser
from caesura.encoding import Encoder
from caesura.errors import InvalidInput
from caesura.features import from_spec, lexicons_of, to_spec
from caesura.models.calibration import Calibration
from caesura.models.file_metadata import describe, description
from caesura.neural.embeddings import Vocabulary
from caesura.neural.segmenter import NeuralSegmenter
from caesura.neural.training import arrays_of, put_arrays

__all__ = ["built", "save"]

Arrays = dict[str, npt.NDArray[Any]]


def save(model: NeuralSegmenter, path: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    model.check_parameters()
    network = model.fitted_network()
    encoder, known = network.encoder, model.calibration_
    options = model.get_params()
    options |= {"tokeniser": Tokeniser.of(model.tokeniser_).spec, "features": None}
    if options["vectors"] is not None:
        options["vectors"] = str(options["vectors"])
    arrays = {f"network.{name}": a for name, a in arrays_of(network).items()}
    for name in ("words", "characters", "shapes", "static_words"):
        vocabulary = getattr(encoder, name)
        if vocabulary is not None:
            arrays[f"vocabulary.{name}"] = persistence.pack(vocabulary.items)
    if network.features is not None:
        if lexicons_of(network.features.features):
            raise InvalidInput(
                place="features",
                got="lexicons",
                expected="none in a neural model to save",
                remedy="leave them out, or train a ChainCRF or SemiCRF",
            )
        arrays["features"] = persistence.pack(to_spec(network.features.features))
        every = np.arange(len(network.features), dtype=np.int32)
        state = network.features.state(every)
        arrays |= {f"features.{name}": a for name, a in state.items()}
    if known is not None:
        arrays["calibration"] = np.stack([known.knots, known.values])
        arrays["calibration.held_out"] = np.stack([known.seen, known.right])
    header = {
        "model": "neural",
        "options": options,
        "labels": model.labels_,
        "longest": model.longest_,
        "calibration": None if known is None else known.method,
        **description(model),
    }
    persistence.write(path, "model", header, arrays)


def built(header: dict[str, Any], arrays: Arrays, trust: bool) -> NeuralSegmenter:
    """Return the model in a file."""
    names = set(NeuralSegmenter.parameter_names())
    model = NeuralSegmenter(**{k: v for k, v in header["options"].items() if k in names})
    model.check_parameters()

    def part(prefix: str) -> Arrays:
        return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}

    lists = {name: persistence.unpack(a) for name, a in part("vocabulary.").items()}
    network_arrays = part("network.")
    vectors = None
    if "static_words" in lists:
        vectors = lists["static_words"], network_arrays["encoder.static.weight"][2:]
    features = None
    if "features" in arrays:
        listed = from_spec(persistence.unpack(arrays["features"]), {}, trust)
        features = Encoder(listed)
        features.restore(part("features."))
        model.features = listed
    three = tuple(Vocabulary(lists[name]) for name in ("words", "characters", "shapes"))
    network = model.network_of(
        three, vectors, features, list(header["labels"]), int(header["longest"])
    )
    for name, array in network_arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InvalidInput(
                place="weights",
                got=f"NaN or infinity in {name}",
                expected="numbers",
                remedy="train again, with a lower learning rate",
            )
    put_arrays(network, network_arrays)
    model.take_network(network, list(header["labels"]))
    model.history_, model.status_, model.graph_sizes_ = [], "loaded", []
    if header["calibration"] is not None:
        (knots, values), (seen, right) = arrays["calibration"], arrays["calibration.held_out"]
        model.calibration_ = Calibration(
            header["calibration"], knots, values, seen, right.astype(bool)
        )
    describe(model, header, trust)
    return model
