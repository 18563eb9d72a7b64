"""Interfaces between objectives and optimisers, and progress reports.

An objective is called with the weights and returns its value and its gradient, both without the
penalty ``c1 * |w|_1 + c2 * |w|_2^2``, which the optimisers add.  They never write into a gradient
that they were given, and keep none, so that an objective may use one array again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message

__all__ = [
    "BatchObjective",
    "Objective",
    "OnlineObjective",
    "OnlineRule",
    "OnlineState",
    "Progress",
    "evaluate",
    "order_of",
    "penalty",
    "penalty_kinds",
    "weights",
]

Floats = npt.NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]


class BatchObjective(Protocol):
    """An objective that is a sum over sequences and can be evaluated on some of them.

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


class OnlineRule(NamedTuple):
    """The update rule of `SGD` or `AdaGrad`, for an objective that runs epochs itself.

    Examples
    --------
    >>> OnlineRule._fields[:3]
    ('adagrad', 'average', 'batch_size')
    """

    adagrad: bool
    average: bool  # whether to average the weights, too
    batch_size: int
    rate: float
    slowing: float  # SGD: batch t has the rate ``rate / (1 + rate * slowing * t) ** power``
    power: float
    sequences: int  # N: a batch of B sequences gets B / N of the penalties
    kinds: npt.NDArray[np.uint8]  # (n,) index of each weight's penalties in c1 and c2
    c1: Floats  # (k,)
    c2: Floats  # (k,)


class OnlineState(NamedTuple):
    """The per-weight state of an online optimiser, and its progress.

    Examples
    --------
    >>> OnlineState._fields
    ('w', 'average', 'squares', 'batches', 'step', 'value')
    """

    w: Floats  # (n,)
    average: Floats  # (n,)
    squares: Floats  # (n,) sums of squared gradients; (1,) for SGD
    batches: int
    step: float  # learning rate of the last batch
    value: float  # sum of the objectives of the batches, each before its step


class OnlineObjective(BatchObjective, Protocol):
    """An objective that updates only the weights used by a batch.

    `SGD` and `AdaGrad` use `epoch` where an objective has it.  The result is the one that their own
    updates of whole vectors would give, up to rounding.

    Examples
    --------
    >>> hasattr(OnlineObjective, "epoch")
    True
    """

    def epoch(
        self, rule: OnlineRule, state: OnlineState, order: npt.NDArray[np.int64]
    ) -> OnlineState:
        """Return the state after mini-batches of these sequences; `state` is not changed."""


class Progress(NamedTuple):
    """The progress of an optimiser.

    Examples
    --------
    >>> Progress(3, 120.5, 2.25, 1.0, 4, 7, 0.1).dev_score is None
    True
    """

    iteration: int  # from 1; an epoch for the stochastic optimisers
    objective: float  # with penalties; for stochastic optimisers, summed while the weights change
    gradient_norm: float  # |g|_2, of the pseudo-gradient under c1; NaN for stochastic optimisers
    step: float  # step length along the direction, or learning rate
    evaluations: int  # number of evaluations so far; epochs for stochastic optimisers
    n_active: int  # number of non-zero weights
    seconds: float  # since the start, including runs that this one continues
    dev_score: float | None = None  # score on development data
    precision: str = "double"  # "single" for iterations in single precision
    gap: float | None = None  # upper bound on how far the objective is above its minimum, if known


def order_of(objective: Any, random: np.random.Generator) -> Any:
    """Return the sequences of a pass in random order.

    An objective whose sequences come in blocks (``streams``) draws an order for each block as it
    comes, and is given the generator.

    Examples
    --------
    >>> sorted(order_of([10, 20, 30], np.random.default_rng(0)).tolist())
    [0, 1, 2]
    """
    if getattr(objective, "streams", False):
        return random
    return random.permutation(len(objective))


def penalty(name: str, value: npt.ArrayLike, n: int) -> Floats:
    """Return a penalty in the form of the kernels: empty, one value for all, or n values.

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
        raise InvalidInput(message(name, value, "finite numbers, 0 or more", "pass 0 for none"))
    return np.atleast_1d(found) if found.any() else np.empty(0)


def penalty_kinds(
    c1: Floats, c2: Floats, n: int
) -> tuple[npt.NDArray[np.uint8], Floats, Floats] | None:
    """Return the distinct pairs of penalties, and the pair of each weight.

    None if there are more than 254 pairs.

    Examples
    --------
    >>> penalty_kinds(np.empty(0), np.array([1.0, 0.5, 1.0]), 3)
    (array([1, 0, 1], dtype=uint8), array([0., 0.]), array([0.5, 1. ]))
    """
    full = [c if c.size else np.zeros(1) for c in (c1, c2)]
    if full[0].size == full[1].size == 1:
        return np.zeros(n, np.uint8), full[0], full[1]
    pairs = np.stack([np.broadcast_to(c, n) for c in full], axis=1)
    found, kinds = np.unique(pairs, axis=0, return_inverse=True)
    if len(found) > 254:
        return None
    columns = np.ascontiguousarray(found.T)
    return kinds.ravel().astype(np.uint8), columns[0], columns[1]


def weights(w: npt.ArrayLike) -> Floats:
    """Return a checked copy of the initial weights."""
    found = np.array(w, np.float64, order="C")
    if found.ndim != 1 or not np.isfinite(found).all():
        came = f"shape {found.shape}" if found.ndim != 1 else "NaN or infinity"
        remedy = "start from zeros"
        raise InvalidInput(message("w0", came, "a vector of finite weights", remedy))
    return found


def evaluate(answer: tuple[float, Floats], n: int) -> tuple[float, Floats]:
    """Evaluate an objective, or raise if its gradient is invalid."""
    value, gradient = answer
    if np.shape(gradient) != (n,):
        remedy = "return the value and a gradient with one entry for each weight"
        raise InvalidInput(message("objective", f"shape {np.shape(gradient)}", f"{(n,)}", remedy))
    return float(value), np.ascontiguousarray(gradient, np.float64)
