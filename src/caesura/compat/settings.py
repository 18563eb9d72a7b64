"""CRFsuite's algorithms and their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from caesura.compat.learning import NO_LIMIT
from caesura.errors import InvalidInput, message

__all__ = ["ALGORITHMS", "HELP", "algorithm_of", "named_as", "value_of"]

_FEATURES: dict[str, Any] = {
    "feature.minfreq": 0.0,
    "feature.possible_states": False,
    "feature.possible_transitions": False,
}
ALGORITHMS: dict[str, dict[str, Any]] = {  # parameters and their defaults
    "lbfgs": {
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
    "l2sgd": {
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
}
_ALIASES = {
    "averaged-perceptron": "ap",
    "passive-aggressive": "pa",
    "ap": "ap",
    "pa": "pa",
    "arow": "arow",
}
_CALIBRATION = "Accepted and not used: the learning rate is found in Caesura's own way."
HELP = {
    "feature.minfreq": "Pairs of an attribute and a label, and of two labels, that are rarer have "
    "no weight.",
    "feature.possible_states": "Whether all attributes have weights with all labels.",
    "feature.possible_transitions": "Whether all pairs of labels have weights.",
    "c1": "The coefficient of |w|_1.",
    "c2": "The coefficient of |w|_2^2.",
    "max_iterations": "Iterations, or passes over the data, after which training ends.",
    "num_memories": "Pairs of steps and gradients that L-BFGS remembers.",
    "epsilon": "Training ends when |gradient| < epsilon * max(1, |w|).",
    "period": "Iterations over which `delta` is measured.",
    "delta": "Training ends when the objective falls by less than this share in `period` "
    "iterations.",
    "linesearch": "Accepted and not used: the line search is Caesura's own.",
    "max_linesearch": "Accepted and not used: the line search is Caesura's own.",
    **{
        f"calibration.{name}": _CALIBRATION
        for name in ("eta", "rate", "samples", "candidates", "max_trials")
    },
}


def algorithm_of(name: Any) -> str:
    """Return the name of an algorithm that is there, or raise."""
    lowered = str(name).lower()
    if lowered in ALGORITHMS:
        return lowered
    known = ", ".join(repr(one) for one in ALGORITHMS)
    if lowered in _ALIASES:
        raise InvalidInput(
            f"algorithm: got {name!r}, expected one of {known}; perceptron-type learners (ap, pa, "
            "arow) are to come, so take 'lbfgs' now"
        )
    raise InvalidInput(message("algorithm", name, f"one of {known}", "pass one of them"))


def value_of(name: str, value: Any, default: Any) -> Any:
    """Return a value as what its parameter is: a bool, a whole number, a float or a string."""
    kind = type(default)
    try:
        if kind in (bool, int) and not isinstance(value, str) and int(value) != value:
            raise ValueError(value)  # would be cut
        return bool(int(value)) if kind is bool else kind(value)
    except (TypeError, ValueError, OverflowError):
        expected = {bool: "True or False", int: "a whole number"}.get(kind, "a number")
        raise InvalidInput(message(name, value, expected, "correct it")) from None


@contextmanager
def named_as(names: Mapping[str, str]) -> Iterator[None]:
    """Let errors about a parameter call it what the user calls it."""
    try:
        yield
    except InvalidInput as error:
        name, colon, said = str(error).partition(":")
        if name not in names:
            raise
        raise InvalidInput(f"{names[name]}{colon}{said}") from None
