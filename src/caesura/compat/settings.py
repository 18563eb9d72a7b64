"""CRFsuite's algorithms and parameters, and the corresponding learners of Caesura."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from caesura.errors import InvalidInput, message

__all__ = ["ALGORITHMS", "HELP", "Algorithm", "algorithm_of", "named_as", "options_of", "value_of"]

NO_LIMIT = 2**31 - 1  # CRFsuite's value for no limit


class Algorithm(NamedTuple):
    """Describe one of CRFsuite's training algorithms.

    Examples
    --------
    >>> ALGORITHMS["l2sgd"].learner
    'sgd'
    """

    title: str  # its name in CRFsuite's log
    learner: str  # its name in `caesura.learning.LEARNERS`
    defaults: Mapping[str, Any]  # CRFsuite's parameters, in its order
    options: Mapping[str, str]  # CRFsuite's name -> that of `ChainCRF`; others are unused
    fixed: Mapping[str, Any] = {}  # further arguments of `ChainCRF`


_FEATURES: dict[str, Any] = {
    "feature.minfreq": 0.0,
    "feature.possible_states": False,
    "feature.possible_transitions": False,
}
_OPTIONS = {
    "feature.minfreq": "min_freq",
    "feature.possible_states": "all_possible_states",
    "feature.possible_transitions": "all_possible_transitions",
    "max_iterations": "max_iterations",
}
_ALL_PASSES = {"period": NO_LIMIT}  # CRFsuite runs all passes, even if the loss stops falling
ALGORITHMS: dict[str, Algorithm] = {
    "lbfgs": Algorithm(
        "L-BFGS optimization",
        "lbfgs",
        {
            **_FEATURES,
            "c1": 0.0,
            "c2": 1.0,
            "max_iterations": NO_LIMIT,
            "num_memories": 6,
            "epsilon": 1e-5,
            "period": 10,
            "delta": 1e-5,
            "linesearch": "MoreThuente",
            "max_linesearch": 20,
        },
        _OPTIONS
        | {"c1": "c1", "c2": "c2", "num_memories": "memory", "epsilon": "epsilon"}
        | {"period": "period", "delta": "delta"},
    ),
    "l2sgd": Algorithm(
        "Stochastic Gradient Descent (SGD)",
        "sgd",
        {
            **_FEATURES,
            "c2": 1.0,
            "max_iterations": 1000,
            "period": 10,
            "delta": 1e-6,
            "calibration.eta": 0.1,
            "calibration.rate": 2.0,
            "calibration.samples": 1000.0,
            "calibration.candidates": 10,
            "calibration.max_trials": 20,
        },
        _OPTIONS | {"c2": "c2", "period": "period", "delta": "delta"},
    ),
    "ap": Algorithm(
        "Averaged perceptron",
        "perceptron",
        {**_FEATURES, "max_iterations": 100, "epsilon": 0.0},
        _OPTIONS | {"epsilon": "epsilon"},
        _ALL_PASSES,
    ),
    "pa": Algorithm(
        "Passive Aggressive",
        "pa",
        {
            **_FEATURES,
            "type": 1,
            "c": 1.0,
            "error_sensitive": True,
            "averaging": True,
            "max_iterations": 100,
            "epsilon": 0.0,
        },
        _OPTIONS
        | {"type": "pa_type", "c": "pa_c", "error_sensitive": "pa_error_sensitive"}
        | {"averaging": "average", "epsilon": "epsilon"},
        _ALL_PASSES,
    ),
    "arow": Algorithm(
        "Adaptive Regularization of Weights (AROW)",
        "arow",
        {**_FEATURES, "variance": 1.0, "gamma": 1.0, "max_iterations": 100, "epsilon": 0.0},
        _OPTIONS | {"variance": "arow_variance", "gamma": "arow_r", "epsilon": "epsilon"},
        _ALL_PASSES,
    ),
}
_ALIASES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}
_CALIBRATION = "Accepted and not used: Caesura chooses the learning rate."
HELP = {
    "feature.minfreq": "Pairs of an attribute and a label, and of two labels, that occur less "
    "often have no weight.",
    "feature.possible_states": "Whether every attribute has a weight with every label.",
    "feature.possible_transitions": "Whether every pair of labels has a weight.",
    "c1": "Coefficient of the L1 penalty, |w|_1.",
    "c2": "Coefficient of the L2 penalty, |w|_2^2.",
    "max_iterations": "Maximum number of iterations, or of passes over the data.",
    "num_memories": "Number of pairs of steps and gradients that L-BFGS keeps.",
    "epsilon": "L-BFGS: training stops when |gradient| < epsilon * max(1, |w|). ap, pa, arow: it "
    "stops when the share of sequences with a mistake in a pass is below epsilon.",
    "period": "Number of iterations over which `delta` is measured.",
    "delta": "Training stops when the objective falls by less than this share in `period` "
    "iterations.",
    "linesearch": "Accepted and not used: the line search is Caesura's own.",
    "max_linesearch": "Accepted and not used: the line search is Caesura's own.",
    **{
        f"calibration.{name}": _CALIBRATION
        for name in ("eta", "rate", "samples", "candidates", "max_trials")
    },
    "type": "Update of the passive-aggressive learner: 0 without slack variables, 1 PA-I, 2 PA-II.",
    "c": "Aggressiveness of the passive-aggressive learner.",
    "error_sensitive": "Whether the loss counts the tokens with a wrong label.",
    "averaging": "Whether the weights are averaged over all updates.",
    "variance": "Initial variance of every weight.",
    "gamma": "Trade-off between the loss and the change of the weights.",
}


def algorithm_of(name: Any) -> str:
    """Return the short name of an algorithm, or raise."""
    lowered = str(name).lower()
    lowered = _ALIASES.get(lowered, lowered)
    if lowered in ALGORITHMS:
        return lowered
    known = ", ".join(map(repr, ALGORITHMS))
    raise InvalidInput(message("algorithm", name, f"one of {known}", "pass one of them"))


def options_of(algorithm: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `ChainCRF` arguments that correspond to CRFsuite's settings."""
    found = ALGORITHMS[algorithm]
    options = {ours: settings[name] for name, ours in found.options.items()}
    if options["max_iterations"] == NO_LIMIT:
        options["max_iterations"] = None
    return {"learner": found.learner, **options, **found.fixed}


def value_of(name: str, value: Any, default: Any) -> Any:
    """Convert a value to the type of its parameter."""
    kind = type(default)
    if kind is bool and isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    try:
        if kind in (bool, int) and not isinstance(value, str) and int(value) != value:
            raise ValueError(value)  # would be truncated
        return bool(int(value)) if kind is bool else kind(value)
    except (TypeError, ValueError, OverflowError):
        expected = {bool: "True or False", int: "a whole number"}.get(kind, "a number")
        raise InvalidInput(
            message(name, value, expected, f"pass {default!r}, the default")
        ) from None


@contextmanager
def named_as(names: Mapping[str, str]) -> Iterator[None]:
    """Rename parameters in errors to the names that the user knows."""
    try:
        yield
    except InvalidInput as error:
        if error.argument is None or error.argument not in names:
            raise
        raise error.changed(argument=names[error.argument]) from None
