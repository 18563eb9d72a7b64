"""Models as files: weights and all that prediction needs, in one file without code."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from caesura import _kernels, persistence
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, message
from caesura.features import Lexicon, from_spec, lexicons_of, to_spec
from caesura.models.answers import Answers
from caesura.models.calibration import Calibration
from caesura.models.chain import ChainCRF
from caesura.models.semi import SemiCRF
from caesura.models.structure import Fitted, Structure, scorer_of

__all__ = ["load", "save"]

KINDS: dict[str, type[Answers]] = {"chain": ChainCRF, "semi": SemiCRF}


def save(model: Answers, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; weights of zero are left out."""
    fitted = model._known
    parameters, w = fitted.parameters, fitted.w
    n, n_edges = len(parameters.attribute), len(parameters.edge_attribute)
    kept, kept_edges = w[:n] != 0.0, w[n : n + n_edges] != 0.0
    attribute, edge = parameters.attribute[kept], parameters.edge_attribute[kept_edges]
    attributes, places = np.unique(np.concatenate([attribute, edge]), return_inverse=True)
    pairs = _dense_first(places[: len(attribute)], parameters.label[kept], w[:n][kept])
    structure = fitted.structure
    arrays: dict[str, Any] = {
        "weights": np.concatenate([pairs[2], w[n : n + n_edges][kept_edges], w[n + n_edges :]]),
        "attribute": pairs[0].astype(np.int32),
        "label": pairs[1].astype(np.int32),
        "edge_attribute": places[len(attribute) :].astype(np.int32),
        "edge_pair": parameters.edge_pair[kept_edges],
        "transition": parameters.transition,
        "start": parameters.start,
        "end": parameters.end,
        "bounds": structure.bounds,
        "barred": structure.barred,
        "barred_start": structure.barred_start,
        "barred_end": structure.barred_end,
    }
    encoder = fitted.encoder
    arrays |= {f"encoder.{k}": v for k, v in encoder.state(attributes.astype(np.int32)).items()}
    for name, lexicon in lexicons_of(encoder.features).items():
        arrays[f"lexicon.{name}"] = persistence.pack([list(entry) for entry in lexicon.entries])
    calibration = model._calibration
    if calibration is not None:
        arrays |= {
            "calibration.knots": calibration.knots,
            "calibration.values": calibration.values,
            "calibration.seen": calibration.seen,
            "calibration.right": calibration.right.astype(np.uint8),
        }
    options = {
        name: value for name, value in model.get_params().items() if name not in ("features", "penalties")
    }
    header = {
        "model": model.kind,
        "options": options,
        "states": list(structure.states),
        "labels": list(fitted.labels),
        "scheme": fitted.scheme,
        "calibration": None if calibration is None else calibration.method,
    }
    arrays["features"] = persistence.pack(to_spec(encoder.features))
    persistence.write(path, "model", header, arrays)


def _dense_first(a: Any, b: Any, w: Any) -> tuple[Any, Any, Any]:
    """Return pairs with those of attributes with several labels first, as the kernels want them."""
    counts = np.bincount(a, minlength=int(a.max(initial=-1)) + 1)
    order = np.lexsort((b, a, -(counts[a] >= 3).astype(int)))
    return a[order], b[order], w[order]


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Nothing in the file is executed.  A feature that is a user's function is found again by its
    import name, and an error says so if it is not there.

    Examples
    --------
    >>> import caesura, tempfile, os
    >>> model = caesura.SemiCRF().fit(["a b"], [[(0, 1, "x"), (1, 2, "y")]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model"))
    ...     again = caesura.load(os.path.join(folder, "model"))
    >>> again.predict(["a b"]) == model.predict(["a b"])
    True
    """
    header, arrays = persistence.read(path, "model")
    try:
        return _built(header, arrays)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        if isinstance(error, InvalidInput):
            raise
        expected = "a model that this version can read"
        remedy = f"save it again ({type(error).__name__}: {error})"
        raise InvalidInput(message("path", str(path), expected, remedy)) from error


def _built(header: dict[str, Any], arrays: dict[str, Any]) -> Answers:
    kind = KINDS[header["model"]]
    prefix = "lexicon."
    lexicons = {
        name[len(prefix) :]: Lexicon(name[len(prefix) :], [tuple(e) for e in persistence.unpack(value)])
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
    features = from_spec(persistence.unpack(arrays["features"]), lexicons)
    known = set(kind._names())
    options = {name: value for name, value in header["options"].items() if name in known}
    model = kind(**options)
    model.features = features
    encoder = Encoder(features)
    prefix = "encoder."
    encoder.restore({k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)})
    structure = Structure(
        tuple(header["states"]),
        *(arrays[name] for name in ("bounds", "barred", "barred_start", "barred_end")),
    )
    parameters = _kernels.Parameters.restore(
        len(structure.states),
        len(encoder),
        structure.bounds,
        None,
        None,
        None,
        *(
            arrays[name]
            for name in (
                "attribute",
                "label",
                "edge_attribute",
                "edge_pair",
                "transition",
                "start",
                "end",
            )
        ),
    )
    w = arrays["weights"]
    scorer = scorer_of(parameters, w, structure)
    labels = tuple(header["labels"])
    model._fitted = Fitted(structure, labels, header["scheme"], encoder, parameters, w, scorer)
    model.labels_, model.n_features_ = list(labels), len(parameters)
    model.features_, model.history_, model.status_ = features, [], "loaded"
    if header["calibration"] is not None:
        parts = [arrays[f"calibration.{name}"] for name in ("knots", "values", "seen")]
        right = arrays["calibration.right"].astype(bool)
        model._calibration = Calibration(header["calibration"], *parts, right)
    return model
