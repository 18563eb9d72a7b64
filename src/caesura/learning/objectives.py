"""What the optimisers are given, and what they tell while they run.

An objective is called with the weights and returns its value and its gradient, both without the
penalty ``c1 * |w|_1 + c2 * |w|_2^2``, which the optimisers add.  They never write into a gradient
that they were given, and keep none, so that an objective may use one array again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message

__all__ = ["BatchObjective", "Objective", "Progress", "evaluate", "penalty", "weights"]

Floats = npt.NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]


class BatchObjective(Protocol):
    """An objective that is a sum over sequences, and can be asked about some of them.

    Examples
    --------
    >>> class Distance:
    ...     points = np.array([[1.0, 2.0], [3.0, 4.0]])
    ...     def __len__(self):
    ...         return 2
    ...     def batch(self, w, sequences):
    ...         away = w - self.points[sequences]
    ...         return float((away * away).sum()) / 2, away.sum(axis=0)
    >>> Distance().batch(np.zeros(2), np.array([1]))
    (12.5, array([-3., -4.]))
    """

    def __len__(self) -> int: ...

    def batch(self, w: Floats, sequences: npt.NDArray[np.int64]) -> tuple[float, Floats]:
        """Return the value and the gradient summed over these sequences."""


class Progress(NamedTuple):
    """Tell how far an optimiser has come.

    Examples
    --------
    >>> Progress(3, 120.5, 2.25, 1.0, 4, 7, 0.1).dev_score is None
    True
    """

    iteration: int  # from 1; an epoch for the stochastic optimisers
    objective: float  # with the penalty; for the stochastic ones summed while the weights changed
    gradient_norm: float  # |g|_2, of the pseudo-gradient under c1; NaN for the stochastic ones
    step: float  # what the direction was multiplied by, or the learning rate
    evaluations: int  # of the objective so far; epochs for the stochastic ones
    n_active: int  # weights other than zero
    seconds: float  # since the start, of this run and those that it continues
    dev_score: float | None = None  # on the development data
    precision: str = "double"  # "single" for an iteration in single precision


def penalty(name: str, value: npt.ArrayLike, n: int) -> Floats:
    """Return a penalty as the kernels take it: no value for none, one for all, or n.

    Examples
    --------
    >>> penalty("c1", 0.0, 3), penalty("c2", 0.5, 3), penalty("c2", [1, 0, 2], 3)
    (array([], dtype=float64), array([0.5]), array([1., 0., 2.]))
    """
    found = np.array(value, np.float64)
    if found.ndim > 1 or (found.ndim == 1 and found.shape != (n,)):
        remedy = "give one number, or one for each parameter"
        raise InvalidInput(
            message(name, f"shape {found.shape}", f"a number or {n} of them", remedy)
        )
    if not (np.isfinite(found).all() and (found >= 0.0).all()):
        raise InvalidInput(message(name, value, "finite numbers, 0 or more", "correct them"))
    return np.atleast_1d(found) if found.any() else np.empty(0)


def weights(w: npt.ArrayLike) -> Floats:
    """Return a copy of the weights to start from, checked."""
    found = np.array(w, np.float64, order="C")
    if found.ndim != 1 or not np.isfinite(found).all():
        came = f"shape {found.shape}" if found.ndim != 1 else "NaN or infinity"
        remedy = "start from zeros where there is nothing better"
        raise InvalidInput(message("w0", came, "a vector of finite weights", remedy))
    return found


def evaluate(answer: tuple[float, Floats], n: int) -> tuple[float, Floats]:
    """Return an objective's answer, or say what is wrong with its gradient."""
    value, gradient = answer
    if np.shape(gradient) != (n,):
        remedy = "return the value and a gradient with one entry for each weight"
        raise InvalidInput(message("objective", f"shape {np.shape(gradient)}", f"{(n,)}", remedy))
    return float(value), np.ascontiguousarray(gradient, np.float64)
