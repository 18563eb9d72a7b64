"""SGD and AdaGrad over mini-batches, with averaged weights.

::

    F(w) = sum_i f_i(w) + c1 |w|_1 + c2 |w|_2^2

A batch of B out of N sequences sees the penalty times B / N.  A step is one epoch; a state holds
the random generator's state too, so that going on from one gives the same numbers bit by bit.

Every batch moves every weight, because every weight has a penalty.  An `OnlineObjective` does so
only when a weight is used (see cpp/optimise/online_weights.hpp), so that an epoch costs about as
much as one evaluation of the whole objective.  For other objectives the updates below change whole
vectors; they are also the reference that the kernels are tested against.
"""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.inference.kernel_calls import threads_of
from caesura.learning.objectives import (
    BatchObjective,
    OnlineRule,
    OnlineState,
    evaluate,
    order_of,
    penalty,
    penalty_kinds,
    weights,
)

__all__ = ["SGD", "AdaGrad", "EpochState"]

Floats = npt.NDArray[np.float64]
RECENT = 3.0  # the average weights batch t by about t ** RECENT; the kernels use the same value
SAMPLE = 1000  # sequences on which learning rates are compared
CANDIDATES = 12  # maximum number of learning rates to compare


class EpochState(NamedTuple):
    """The state of the optimiser between two epochs.

    Examples
    --------
    >>> EpochState._fields[:3]
    ('w', 'average', 'squares')
    """

    w: Floats  # (n,)
    average: Floats  # (n,) weighted average of w over the batches, the latest weighing most
    squares: Floats  # (n,) sums of squared gradients; (1,) for SGD
    averaged: bool  # whether `average` is used for prediction
    objective: float  # sum over the batches of the epoch, each before its step
    gradient_norm: float  # NaN: unknown
    n_active: int  # number of non-zero weights for prediction
    recent: Floats  # objectives of the last epochs
    iteration: int  # number of epochs
    evaluations: int  # number of epochs, including the calibration of the learning rate
    batches: int  # number of steps
    step: float  # learning rate of the last batch
    rate: float  # initial learning rate
    generator: str  # state of the random number generator, as JSON
    status: str  # why the run ended; empty while it runs

    @property
    def weights(self) -> Floats:
        """The current weights for prediction."""
        return self.average if self.averaged else self.w


class SGD:
    """Minimise a sum over sequences by stochastic gradient descent.

    The learning rate falls as ``rate / (1 + rate * (2 c2 / N) * t) ** p``, t counting batches, p
    being 3/4 where weights are averaged and 1 where not; gradients are means over the batch.

    Parameters
    ----------
    objective : BatchObjective
        ``len(f)`` sequences; ``f.batch(w, sequences) -> (value, gradient)``, without the penalty.
    c2 : float or array-like
        Penalty, for all parameters or for each.
    rate : float, optional
        Learning rate; by default the best of several on a sample of 1000 sequences.
    batch_size : int
        Number of sequences in a batch.
    average : bool
        Use the average of the weights over the batches, the last ones weighing most.
    period, delta : int, float
        Stop when the objective has fallen by less than `delta`, relatively, in `period` epochs.
    max_iterations : int
        Maximum number of epochs.
    seed : int
        Seed for the order of sequences.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.
    total : int, optional
        The N of the penalties, if it is not the number of sequences of the objective.

    Examples
    --------
    >>> import numpy as np
    >>> class Distance:
    ...     points = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]])
    ...     def __len__(self):
    ...         return 3
    ...     def batch(self, w, sequences):
    ...         away = w - self.points[sequences]
    ...         return float((away * away).sum()) / 2, away.sum(axis=0)
    >>> optimiser = SGD(Distance(), batch_size=1, rate=0.1, max_iterations=300)
    >>> state = optimiser.start(np.zeros(2))
    >>> while not state.status:
    ...     state = optimiser.step(state)
    >>> np.abs(state.weights - [3.0, 2.0]).max() < 0.2
    np.True_
    """

    name: ClassVar[str] = "sgd"

    def __init__(
        self,
        objective: BatchObjective,
        c2: npt.ArrayLike = 0.0,
        *,
        rate: float | None = None,
        batch_size: int = 32,
        average: bool = True,
        period: int = 10,
        delta: float = 1e-4,
        max_iterations: int = 100,
        seed: int = 0,
        n_threads: int | None = None,
        total: int | None = None,
    ) -> None:
        self.objective, self.c2 = objective, c2
        self.c1: npt.ArrayLike = 0.0
        if rate is not None and not (math.isfinite(rate) and rate > 0.0):
            raise InvalidInput(message("rate", rate, "a number above 0", "leave it out to have it"))
        self.rate, self.average = rate, average
        self.batch_size = whole("batch_size", batch_size, 1)
        self.period, self.delta = whole("period", period, 1), delta
        self.max_iterations = whole("max_iterations", max_iterations, 0)
        self.seed = whole("seed", seed, 0)
        self.n_threads = threads_of(n_threads)
        self._penalties: tuple[Floats, Floats] | None = None
        self._total = len(objective) if total is None else whole("total", total, 1)
        if len(objective) < 1:
            raise InvalidInput(message("objective", "no sequences", "at least one", "give data"))

    def settings(self, n: int) -> dict[str, Any]:
        """Return the settings that a state depends on, for comparison before resuming."""
        c1, c2 = self._of_size(n)
        return {
            "optimiser": self.name,
            "sequences": len(self.objective),
            "batch_size": self.batch_size,
            "seed": self.seed,
            "average": self.average,
            "c1": c1,
            "c2": c2,
        }

    # -- epochs ------------------------------------------------------------------------------------

    def start(self, w0: npt.ArrayLike) -> EpochState:
        """Return the initial state; calibrates the learning rate if none is given."""
        w = weights(w0)
        random = np.random.default_rng(self.seed)
        state = EpochState(
            w,
            w.copy(),
            np.zeros(len(w) if self._squares else 1),
            self.average,
            *(math.nan, math.nan, int(np.count_nonzero(w)), np.empty(0), 0, 0, 0, 0.0),
            *(self.rate or 0.0, json.dumps(random.bit_generator.state), ""),
        )
        if self.rate is None:
            state = self._calibrated(state, random)
        return state._replace(status="" if self.max_iterations else "max_iterations")

    def step(self, state: EpochState) -> EpochState:
        """Return the state after one epoch; a finished state is returned unchanged."""
        if state.status:
            return state
        random = np.random.default_rng()
        random.bit_generator.state = json.loads(state.generator)
        order = order_of(self.objective, random)
        after, value = self._epoch(state, order)
        w = after.weights
        c1, c2 = self._of_size(len(w))
        value += _penalty(w, c1, c2, self.n_threads)
        after = after._replace(
            objective=value,
            n_active=int(np.count_nonzero(w)),
            iteration=state.iteration + 1,
            evaluations=state.evaluations + 1,
            generator=json.dumps(random.bit_generator.state),
        )
        return self._judged(after)

    def _epoch(self, state: EpochState, order: Any) -> tuple[EpochState, float]:
        """Return the state after mini-batches of these sequences, and the summed values."""
        before = OnlineState(state.w, state.average, state.squares, state.batches, state.rate, 0.0)
        kinds = penalty_kinds(*self._of_size(len(state.w)), len(state.w))
        if kinds is None and getattr(self.objective, "streams", False):
            expected = "at most 254 different penalties where sequences are streamed"
            raise InvalidInput(message("penalties", "more", expected, "use fewer different ones"))
        if kinds is None or not hasattr(self.objective, "epoch"):
            after = self._dense_epoch(before, order)
        else:
            speed = state.rate, *self._slowing(len(state.w))
            settings = self._squares, self.average, self.batch_size, *speed, self._total
            rule = OnlineRule(*settings, *kinds)
            after = self.objective.epoch(rule, before, order)
        w, average, squares, batches, step, value = after
        moved = state._replace(w=w, average=average, squares=squares, batches=batches, step=step)
        return moved, value

    def _dense_epoch(self, state: OnlineState, order: npt.NDArray[np.int64]) -> OnlineState:
        """Return the same, computed with updates of whole vectors."""
        w, average, squares = state.w.copy(), state.average.copy(), state.squares.copy()
        batches, rate, step, total = state.batches, state.step, state.step, 0.0
        slowing, power = self._slowing(len(w))
        for begin in range(0, len(order), self.batch_size):
            sequences = order[begin : begin + self.batch_size]
            value, gradient = evaluate(self.objective.batch(w, sequences), len(w))
            total += value
            step = rate / float((1.0 + rate * slowing * batches) ** power)
            batches += 1
            with np.errstate(over="ignore", invalid="ignore"):  # the rate may be far too high
                self._update(w, squares, gradient, step, len(sequences))
                if self.average:
                    average += (1.0 + RECENT) / (batches + RECENT) * (w - average)
        return OnlineState(w, average, squares, batches, step, total)

    def reopened(self, state: EpochState) -> EpochState:
        """Return a state that ended only by request, ready to continue."""
        asked = state.status == "max_iterations" and state.iteration < self.max_iterations
        return state._replace(status="") if asked or state.status == "callback" else state

    # -- methods that AdaGrad overrides ------------------------------------------------------------

    _squares: ClassVar[bool] = False

    def _slowing(self, n: int) -> tuple[float, float]:
        """Return `slowing` and `power` of `OnlineRule`."""
        _, c2 = self._of_size(n)
        slowing = 2.0 * float(c2.mean()) / self._total if c2.size else 0.0
        return slowing, 0.75 if self.average else 1.0

    def _update(self, w: Floats, squares: Floats, gradient: Floats, step: float, size: int) -> None:
        """Update the weights in place by the gradient summed over a batch of this size."""
        _, c2 = self._of_size(len(w))
        if c2.size:
            w -= 2.0 * step / self._total * c2 * w
        w -= step / size * gradient

    # -- calibration of the learning rate ----------------------------------------------------------

    def _calibrated(self, state: EpochState, random: np.random.Generator) -> EpochState:
        """Return the state with the rate that lowers the objective most in one epoch on a sample.

        Rates are doubled as long as that helps; if the first one did not help, they are halved.
        """
        n: int = getattr(self.objective, "n_sample", len(self.objective))
        sample = random.choice(n, min(n, SAMPLE), replace=False).astype(np.int64)
        best_rate, best = 0.0, self._on_sample(state.w, sample)
        rate, factor, tried = 0.1, 2.0, 0
        while tried < CANDIDATES:
            with np.errstate(all="ignore"):  # the rate may be far too high
                value = self._on_sample(self._epoch(state._replace(rate=rate), sample)[0].w, sample)
            tried += 1
            if value < best:
                best_rate, best = rate, value
            elif best_rate == 0.0:
                factor = 0.5
            elif factor == 2.0 and best_rate == 0.1:  # no higher rate helped, so try lower ones
                factor, rate = 0.5, 0.1
            else:
                break
            rate *= factor
        spent = math.ceil(2 * tried * len(sample) / len(self.objective))
        generator = json.dumps(random.bit_generator.state)
        return state._replace(rate=best_rate or rate, evaluations=spent, generator=generator)

    def _on_sample(self, w: Floats, sample: npt.NDArray[np.int64]) -> float:
        value, _ = self.objective.batch(w, sample)
        c1, c2 = self._of_size(len(w))
        cost = _penalty(w, c1, c2, self.n_threads) * len(sample) / self._total
        return value + cost if math.isfinite(value + cost) else math.inf

    # -- stopping criteria -------------------------------------------------------------------------

    def _judged(self, state: EpochState) -> EpochState:
        recent = state.recent[-self.period :]
        status = ""
        if not math.isfinite(state.objective):
            status = "diverged"
        elif len(recent) == self.period:
            fell = (recent[0] - state.objective) / max(abs(state.objective), 1e-300)
            status = "objective" if fell < self.delta else ""
        if not status and state.iteration >= self.max_iterations:
            status = "max_iterations"
        return state._replace(status=status, recent=np.append(recent, state.objective))

    def _of_size(self, n: int) -> tuple[Floats, Floats]:
        """Return c1 and c2 in the form of the kernels."""
        if self._penalties is None:
            self._penalties = penalty("c1", self.c1, n), penalty("c2", self.c2, n)
        return self._penalties


class AdaGrad(SGD):
    """Minimise a sum over sequences by AdaGrad, with one learning rate per weight.

    Parameters
    ----------
    objective : BatchObjective
        The objective, as for `SGD`.
    c1, c2 : float or array-like
        Penalties.  They are proximal: after the step along the gradient, with the learning rate
        ``speed`` of a weight, ``w = soft(w, speed * c1) / (1 + 2 * speed * c2)``, both times the
        share of the sequences that a batch has.  They are no part of the sums of squared gradients.
        `c1` moves weights to exactly zero, but a weight that the next batch pushes away is not
        zero at the end: OWL-QN finds more zeros.
    rate : float, optional
        The distance by which the first step moves a weight; None chooses the best of several, as
        for `SGD`.
    average : bool, optional
        Whether weights are averaged; by default only without `c1`: an average is hardly ever zero.
    **settings
        The settings of `SGD`.

    Examples
    --------
    >>> import numpy as np
    >>> class Distance:
    ...     points = np.array([[1.0, 0.1], [3.0, -0.2], [5.0, 0.1]])
    ...     def __len__(self):
    ...         return 3
    ...     def batch(self, w, sequences):
    ...         away = w - self.points[sequences]
    ...         return float((away * away).sum()) / 2, away.sum(axis=0)
    >>> optimiser = AdaGrad(Distance(), c1=1.5, batch_size=3, rate=1.0)
    >>> state = optimiser.start(np.zeros(2))
    >>> while not state.status:
    ...     state = optimiser.step(state)
    >>> np.round(state.weights, 1)
    array([2.5, 0. ])
    """

    name: ClassVar[str] = "adagrad"
    _squares: ClassVar[bool] = True

    def __init__(
        self,
        objective: BatchObjective,
        c1: npt.ArrayLike = 0.0,
        c2: npt.ArrayLike = 0.0,
        *,
        rate: float | None = 0.3,
        average: bool | None = None,
        **settings: Any,
    ) -> None:
        chosen = not np.any(c1) if average is None else average
        super().__init__(objective, c2, rate=rate, average=bool(chosen), **settings)
        self.c1 = c1

    def settings(self, n: int) -> dict[str, Any]:
        """Return the settings that a state depends on, for comparison before resuming."""
        return {**super().settings(n), "penalty": "proximal"}

    def _slowing(self, n: int) -> tuple[float, float]:
        return 0.0, 1.0

    def _update(self, w: Floats, squares: Floats, gradient: Floats, step: float, size: int) -> None:
        c1, c2 = self._of_size(len(w))
        fraction = size / self._total
        squares += gradient * gradient
        speed = np.zeros_like(w)  # weights without a gradient so far do not move
        np.divide(step, np.sqrt(squares), out=speed, where=squares > 0.0)
        w -= speed * gradient
        if c1.size:
            w[:] = np.copysign(np.maximum(np.abs(w) - speed * fraction * c1, 0.0), w)
        if c2.size:
            w /= 1.0 + 2.0 * speed * fraction * c2


def _penalty(w: Floats, c1: Floats, c2: Floats, n_threads: int) -> float:
    """Return ``c1 * |w|_1 + c2 * |w|_2^2``."""
    zeros = np.zeros_like(w)
    return _kernels.penalise(w, zeros, c1, c2, n_threads, np.empty_like(w))[0]
