"""Model files: weights and all data for prediction, without code."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels, persistence
from caesura.checks import check_scores
from caesura.documents.tokenisers import Tokeniser, check_trusted
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, message
from caesura.features import Lexicon, from_spec, lexicons_of, to_spec
from caesura.models.calibration import Calibration
from caesura.models.chain import ChainCRF
from caesura.models.compact import PAIRS, nonzero
from caesura.models.diagnostics import Answers
from caesura.models.estimator import Features, fitted_of, set_fitted
from caesura.models.file_metadata import describe, description
from caesura.models.fitted import Fitted, Labelling, Structure
from caesura.models.lookback import restored_spans, span_arrays
from caesura.models.patterns import SHORTEST
from caesura.models.penalties import feature_name
from caesura.models.pruned import PrunedSemiCRF
from caesura.models.pruned_files import built_pruned, pruned_content
from caesura.models.rules import OF_LABELS, Rules, model_rules
from caesura.models.segment_coding import LONGEST
from caesura.models.semi import SemiCRF
from caesura.ready import existing
from caesura.segments import TAG_SCHEMES

__all__ = ["load", "pickled", "save", "save_pruned", "unpickle"]

KINDS: dict[str, type[Answers]] = {"chain": ChainCRF, "semi": SemiCRF}
WRONG = (  # errors that reading invalid content can raise
    *(KeyError, IndexError, ValueError, TypeError, AttributeError),
    *(RecursionError, OverflowError, re.error),
)
Arrays = dict[str, npt.NDArray[Any]]
FOREIGN = "the file is not one that this library wrote"  # remedy in errors
ROUNDING = 1e-6  # tolerance for sums of probabilities above 1
BARS: dict[str, type[np.generic]] = {"bounds": np.int32, "barred": np.uint8}
BARS |= {"barred_start": np.uint8, "barred_end": np.uint8}


# ---- writing -------------------------------------------------------------------------------------


def save(model: Answers, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, without zero weights."""
    persistence.write(path, "model", *_whole(model))


def save_pruned(model: PrunedSemiCRF, path: str | os.PathLike[str]) -> None:
    """Write a fitted model and its filter model."""
    model.check_parameters()
    persistence.write(path, "model", *pruned_content(model, _whole))


def _whole(model: Answers) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file."""
    model.check_parameters()  # parameters may have changed since `fit`
    header, arrays = content(model)
    features = fitted_of(model).encoder.features
    header["model"], header["options"] = model.kind, _options(model)
    header |= description(model)
    arrays["features"] = persistence.pack(to_spec(features))
    for name, lexicon in lexicons_of(features).items():
        arrays[f"lexicon.{name}"] = persistence.pack([list(entry) for entry in lexicon.entries])
    return header, arrays


def content(model: Answers) -> tuple[dict[str, Any], Arrays]:
    """Return the fitted state without features as data for JSON and arrays."""
    fitted, calibration = fitted_of(model), model.calibration_
    structure = fitted.structure
    arrays, n_plain = (span_arrays(fitted), 0) if fitted.spans else nonzero(fitted)
    arrays |= {name: getattr(structure, name) for name in BARS}
    if calibration is not None:
        arrays["calibration"] = np.stack([calibration.knots, calibration.values])
        arrays["calibration.held_out"] = np.stack([calibration.seen, calibration.right])
    header: dict[str, Any] = {
        "states": list(structure.states),
        "labels": list(fitted.labels),
        "scheme": fitted.scheme,
        "plain_patterns": n_plain,
        "calibration": None if calibration is None else calibration.method,
        "calibration_bias": None if calibration is None else calibration.outside_bias,
    }
    if model.margin_:
        header["temperature"] = model.temperature_
    if fitted.spans:
        header["keys"] = len(arrays["keys"])
    if fitted.rules != Rules():
        header["constraints"] = {key: list(getattr(fitted.rules, key)) for key in OF_LABELS}
    return header, arrays


def _options(model: Answers) -> dict[str, Any]:
    """Return the parameters for JSON; of features only the name of a preset."""
    options = {}
    for name, value in model.get_params().items():
        if name == "features":
            value = value if isinstance(value, str | None) else []
        elif name == "tokeniser":
            value = Tokeniser.of(model.tokeniser_).spec
        elif name == "penalties" and isinstance(value, Mapping):
            value = {
                key if isinstance(key, str) else feature_name(key): one
                for key, one in value.items()
            }
        options[name] = _plain(value)
    return options


def _plain(value: Any) -> Any:
    """Convert NumPy types to Python types."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


# ---- reading -------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str], trust: bool = False) -> Any:
    """Read a model that `save` wrote.

    Loading executes no code.  Unless `trust` is True, it neither imports modules named in the file
    nor accepts regular expressions that may take exponential time.

    Parameters
    ----------
    path : path or str
        The file, or the name of a bundled model, one of `caesura.ready.READY`.  A file of that name
        in the current folder takes precedence.
    trust : bool
        Whether to import the user-defined functions that the file names, and to accept regular
        expressions with references, look-around or flags.  Importing runs code, so use it only for
        files that you trust.  It is not needed for functions that this process has passed to a
        feature or a normaliser, as in ``function(f)``.

    Examples
    --------
    >>> import caesura, tempfile, os
    >>> model = caesura.SemiCRF().fit(["a b"], [[(0, 1, "x"), (1, 2, "y")]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model"))
    ...     again = caesura.load(os.path.join(folder, "model"))
    >>> again.predict(["a b"]) == model.predict(["a b"])
    True
    >>> caesura.load("addresses").extract(["301 Lake Ave, Duluth MN 55802"])[0]["PlaceName"][0].text
    'Duluth'
    """
    if not isinstance(trust, bool):
        remedy = "pass True only for files from a source that you trust"
        raise InvalidInput(message("trust", trust, "True or False", remedy))
    header, arrays = persistence.read(existing(path), "model")
    try:
        if not trust:
            _check_tokeniser(header["options"]["tokeniser"])
        return _built(header, arrays, trust)
    except InvalidInput as error:
        raise error.changed(file=os.fspath(path)) from error
    except WRONG as error:
        expected = "a model that this version can read"
        remedy = f"save it again ({type(error).__name__}: {error})"
        raise InvalidInput(message("path", str(path), expected, remedy)) from error


def _built(header: dict[str, Any], arrays: Arrays, trust: bool) -> Any:
    """Return the model in a file."""
    if header["model"] == "pruned":
        return built_pruned(header, arrays, trust, _built)
    if header["model"] == "neural":  # a package that needs PyTorch
        return import_module("caesura.neural").built(header, arrays, trust)
    kind = KINDS[header["model"]]
    features = _features(arrays, trust)
    known = set(kind.parameter_names())
    options = {name: value for name, value in header["options"].items() if name in known}
    if isinstance(options["features"], list):
        options["features"] = features
    model = kind(**options)
    model.check_parameters()
    model.coding.check_features(features)
    set_fitted(model, *_restored(model, header, arrays, features), **_scale(header))
    for column in fitted_of(model).encoder.columns:
        if column.per_word:
            column.of_word("word")  # raises now if its arguments are invalid
    model.history_, model.status_ = [], "loaded"
    describe(model, header, trust)
    return model


def _check_tokeniser(spec: Any) -> None:
    """Raise if the tokeniser of a file may take exponential time."""
    regex = Tokeniser.of(spec).regex
    if regex is not None:
        check_trusted(regex, "tokeniser")


def _features(arrays: Arrays, trust: bool) -> Features:
    prefix = "lexicon."
    lexicons = {
        name.removeprefix(prefix): Lexicon(
            name.removeprefix(prefix), [tuple(entry) for entry in persistence.unpack(packed)]
        )
        for name, packed in arrays.items()
        if name.startswith(prefix)
    }
    return from_spec(persistence.unpack(arrays["features"]), lexicons, trust)


def _restored(
    model: Answers, header: Mapping[str, Any], arrays: Arrays, features: Features
) -> tuple[Fitted, Calibration | None]:
    """Return the checked fitted state from the output of `content`; kernels do not check."""
    bias = header.get("calibration_bias", model.outside_bias)  # absent from older files
    if "keys" in header:
        labelling = _structure(model, header, arrays)
        _require(bool((labelling[0].bounds >= 1).all()), "bounds", "out of range")
        fitted = restored_spans(labelling, features, arrays, bool(model.boundary_weights))
        check_scores("weights", fitted.w)
        return fitted, _calibration(header["calibration"], bias, arrays)
    encoder = Encoder(features)
    prefix = "encoder."
    encoder.restore(
        {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    )
    structure, labels, scheme = _structure(model, header, arrays)
    pairs = {name: _array(arrays, name, np.int32) for name in PAIRS}
    Y, (patterns, n_plain) = len(structure.states), _patterns(header, arrays, structure)
    _check_pairs(pairs, Y, len(patterns))
    _check_histories(pairs, encoder, Y, patterns)
    parameters = _kernels.Parameters.restore(
        Y,
        encoder.attributes,
        structure.bounds,
        None,
        None,
        None,
        **pairs,
        patterns=patterns,
        n_plain=n_plain,
    )
    w = _array(arrays, "weights", np.float64)
    _require(len(w) == len(parameters), "weights", "wrong length")
    check_scores("weights", w)
    rules = model_rules(header.get("constraints"))  # absent from older files
    parameters = model.coding.with_rules(
        parameters, Labelling(structure, labels, scheme, None), rules
    )
    fitted = Fitted.of((structure, labels, scheme), encoder, parameters, w, rules)
    return fitted, _calibration(header["calibration"], bias, arrays)


def _scale(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether scores are log-probabilities, and their temperature."""
    found = header.get("temperature")  # only margin models have one
    number = isinstance(found, float) and 0.0 < found < np.inf
    _require(found is None or number, "temperature", "wrong")
    return {"margin_": "temperature" in header, "temperature_": found}


def _structure(
    model: Answers, header: Mapping[str, Any], arrays: Arrays
) -> tuple[Structure, tuple[str, ...], str | None]:
    states, scheme = tuple(header["states"]), header["scheme"]
    strings = all(isinstance(name, str) for name in states)
    _require(strings and len(set(states)) == len(states) > 0, "states", "wrong")
    Y, chain = len(states), model.kind == "chain"
    _require((scheme in TAG_SCHEMES) if chain else scheme is None, "scheme", "wrong")
    labels = tuple(sorted({*model.coding.labels_of(states, scheme)} - {model.outside}))
    _require(chain or states[: len(labels)] == labels, "states", "in another order")
    parts = [_array(arrays, name, kind, 1 + (name == "barred")) for name, kind in BARS.items()]
    shapes = [(Y,), (Y, Y), (Y,), (Y,)]
    _require([part.shape for part in parts] == shapes, "barred", "wrong shape")
    least, most = (1, 1) if chain else (0, LONGEST)
    bounds = parts[0]
    _require(bool(((bounds >= least) & (bounds <= most)).all()), "bounds", "out of range")
    _require(all(bool((part <= 1).all()) for part in parts[1:]), "barred", "out of range")
    return Structure(states, *parts), labels, scheme


def _patterns(
    header: Mapping[str, Any], arrays: Arrays, structure: Structure
) -> tuple[list[list[int]], int]:
    """Return the patterns, and how many have their own weight.

    Version 1 has none.
    """
    if "patterns" not in arrays:
        return [], 0
    labels, sizes = (_array(arrays, name, np.int32) for name in ("patterns", "pattern_sizes"))
    n_plain = header["plain_patterns"]
    sums = bool((sizes >= 2).all()) and int(sizes.sum(dtype=np.int64)) == len(labels)
    _require(sums, "pattern_sizes", "wrong")
    known = bool(((labels >= 0) & (labels < len(structure.states))).all())
    _require(known, "patterns", "out of range")
    ends = np.cumsum(sizes).tolist()
    found = [labels[end - n : end].tolist() for n, end in zip(sizes.tolist(), ends, strict=True)]
    _require(len({*map(tuple, found)}) == len(found), "patterns", "one is there twice")
    counted = isinstance(n_plain, int) and not isinstance(n_plain, bool)
    plain = counted and 0 <= n_plain <= len(found) and bool((sizes[:n_plain] >= SHORTEST).all())
    _require(plain, "plain_patterns", "wrong")
    return found, n_plain


def _check_pairs(pairs: Arrays, Y: int, P: int) -> None:
    """Raise if a weight occurs twice, or at an invalid position."""
    wide = {name: array.astype(np.int64) for name, array in pairs.items()}
    _require(all(bool((array >= 0).all()) for array in wide.values()), "pairs", "out of range")
    _require(len(wide["attribute"]) == len(wide["label"]), "label", "wrong length")
    _require(len(wide["edge_attribute"]) == len(wide["edge_pair"]), "edge_pair", "wrong length")
    _require(bool((wide["label"] < Y + P).all()), "label", "out of range")
    _require(bool((wide["edge_pair"] < Y * Y + P).all()), "edge_pair", "out of range")
    keys = {
        "attribute": wide["attribute"] * (Y + P) + wide["label"],
        "edge_attribute": wide["edge_attribute"] * (Y * Y + P) + wide["edge_pair"],
        **{name: wide[name] for name in ("transition", "start", "end")},
    }
    for name, key in keys.items():  # np.unique takes about twenty times as long
        _require(bool(np.diff(np.sort(key)).all()), name, "a weight is there twice")
    ordered = bool((np.diff(wide["edge_attribute"]) >= 0).all())
    _require(ordered, "edge_attribute", "in another order")


def _check_histories(pairs: Arrays, encoder: Encoder, Y: int, patterns: list[list[int]]) -> None:
    """Raise if the label history of a weight does not match its feature."""
    sizes = [len(pattern) for pattern in patterns]
    orders = np.array([feature.order for feature in encoder.features], np.int64)
    rows = np.array([*[1] * Y, *sizes]), orders, ""
    edges = np.array([*[2] * Y**2, *sizes]), np.maximum(orders, 1), "edge_"
    for (length, order, prefix), code in ((rows, "label"), (edges, "edge_pair")):
        attribute = pairs[f"{prefix}attribute"]
        _require(bool((attribute < len(encoder)).all()), f"{prefix}attribute", "out of range")
        expected = order[encoder.sources[attribute]] + 1 if len(attribute) else attribute
        _require(np.array_equal(length[pairs[code]], expected), code, "of another order")


def _calibration(method: str | None, bias: Any, arrays: Arrays) -> Calibration | None:
    if method is None:
        return None
    knots, values = _array(arrays, "calibration", np.float64, 2)
    if len(knots) and knots.max() <= 1.0 + ROUNDING:  # as earlier versions wrote them
        last = np.append(np.minimum(knots, 1.0)[:-1] < 1.0, True)
        knots, values = np.minimum(knots[last], 1.0), values[last]
    seen, right = _array(arrays, "calibration.held_out", np.float64, 2)
    numbers = np.concatenate([knots, values, seen, right])
    shares = bool(((numbers >= 0) & (numbers <= 1)).all())  # False for NaN
    rising = shares and bool((np.diff(knots) > 0).all() and (np.diff(values) >= 0).all())
    _require(len(knots) > 0 and rising, "calibration", "wrong")
    _require(isinstance(bias, int | float) and bool(np.isfinite(bias)), "calibration_bias", "wrong")
    return Calibration(str(method), knots, values, seen, right.astype(bool), float(bias))


def _array(arrays: Arrays, name: str, kind: type[np.generic], ndim: int = 1) -> Any:
    found = arrays[name]
    _require(found.dtype == kind and found.ndim == ndim, name, "wrong type or shape")
    return found


def _require(good: bool, place: str, problem: str) -> None:
    if not good:
        raise InvalidInput(problem, place=place, remedy=FOREIGN)


# ---- pickling ------------------------------------------------------------------------------------


def pickled(model: Answers) -> dict[str, Any]:
    """Return the pickled state: parameters and the content of a file."""
    state: dict[str, Any] = {"params": model.get_params()}
    if model.__sklearn_is_fitted__():
        state["content"] = content(model)
        state["features"] = fitted_of(model).encoder.features
        state["history"] = model.history_, model.status_
        state["normalisers"], state["columns"] = model.normalisers_, model.columns_
        state["about"], state["reading"] = model.about_, model.reading_
    return state


def unpickle(model: Answers, state: Mapping[str, Any]) -> None:
    """Restore a model from its pickled state."""
    type(model).__init__(model, **state["params"])
    if "content" in state:
        header, arrays = state["content"]
        restored = _restored(model, header, arrays, state["features"])
        set_fitted(model, *restored, **_scale(header))
        model.history_, model.status_ = state["history"]
        model.set_normalisers(state.get("normalisers", {})).set_columns(state.get("columns", ()))
        model.set_about(state.get("about", {})).set_reading(state.get("reading", {}))
