"""The objective of a corpus in parts, evaluated on the workers.

Sums over sequences (the loss of L-BFGS, the hinge loss of cutting planes) are exact: each part adds
its share.  Learners that take a step for each sequence or mini-batch cannot be divided so.  Their
passes are mixed (McDonald, Hall and Mann 2010): each part makes a pass by itself from the same
weights, and the weights after it are averaged, each part counting by its sequences::

    w_s = pass over part s from w;   w = sum over s of (n_s / N) w_s

A pass of the SVM moves the dual variables of sequences, which are not kept between rounds, since
they are as large as the data.  So each block s of sequences takes a proximal step instead: a pass,
with new dual variables, over its share of the objective and a penalty on the distance from the
weights of the round t = 0, 1, ..., which grows with the rounds::

    w_s = argmin of  sum of hinge losses in s + (n_s / N) c2 (|v|^2 + t |v - w|^2)  over v

The penalties are ``(n_s / N) c2 (1 + t) |v - t / (1 + t) w|^2`` and a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.executors import Executor
from caesura.learning.objectives import OnlineRule, OnlineState
from caesura.learning.path_learners import PathRule, PathState
from caesura.models import shards

__all__ = ["PartedObjective"]

Floats = npt.NDArray[np.float64]
SEEDS = 2**63 - 1


class PartedObjective:
    """The objective of all parts."""

    streams = True  # its sequences cannot be accessed by index

    def __init__(
        self,
        executor: Executor,
        handle: Any,
        size: int,
        sample: tuple[int, int] = (0, 0),
        single: bool = False,
    ) -> None:
        self._executor, self._handle, self._size, self._single = executor, handle, size, single
        self._sample, self.n_sample = sample  # index of a part, sequences in its first block
        self.told: Callable[[int, int], None] = lambda done, total: None

    def __len__(self) -> int:
        return self._size

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient."""
        found = self._executor.map_reduce(self._handle, shards.evaluate, (w, self._single))
        return float(found[0]), found[1]

    def in_single(self) -> PartedObjective:
        """Return the same objective in single precision."""
        return PartedObjective(self._executor, self._handle, self._size, single=True)

    def maximum(self, w: Floats) -> tuple[float, Floats]:
        """Return the sum of hinge losses and a subgradient."""
        found = self._executor.map_reduce(self._handle, shards.largest, w)
        return float(found[0]), found[1]

    def batch(self, w: Floats, sequences: npt.NDArray[Any]) -> tuple[float, Floats]:
        """Return the loss and its gradient over some sequences of the sample."""
        found = self._sampled("batch", w, sequences)
        return float(found[0]), found[1]

    def epoch(self, rule: OnlineRule, state: OnlineState, order: Any) -> OnlineState:
        """Return the averaged state after a pass, or that after some sequences of the sample."""
        if isinstance(order, np.ndarray):
            return OnlineState(*self._sampled("epoch", rule, state, order))
        (w, average, squares, batches), (value, _) = self._mixed(rule, state, order)
        done = state.batches + int(batches)
        step = rule.rate / float((1.0 + rule.rate * rule.slowing * (done - 1)) ** rule.power)
        return OnlineState(w, average, squares, done, step, value)

    def follow(self, rule: PathRule, state: PathState, order: Any) -> PathState:
        """Return the averaged state after an update for each sequence."""
        if rule.keeps_paths:
            return self._proximal(rule, state, order)
        (w, average, variance, steps), (loss, mistakes) = self._mixed(rule, state, order)
        done = state.steps + max(1, int(steps))
        sums = (w - average) * done if state.sums.size else state.sums
        return state._replace(
            w=w, sums=sums, variance=variance, steps=done, objective=loss, mistakes=mistakes
        )

    def _proximal(self, rule: PathRule, state: PathState, random: Any) -> PathState:
        """Return the average of the weights of all blocks after a proximal step."""
        t = float(state.iteration)
        of_one = rule._replace(c2=rule.c2 * ((1.0 + t) / self._size))
        at = of_one, state.w * (t / (1.0 + t)), int(random.integers(SEEDS))
        n, moved, mistakes = self._executor.map_reduce(self._handle, shards.proximal, at)
        w = moved / n
        objective = self.maximum(w)[0] + float((rule.c2 * w) @ w)
        steps = state.steps + self._size
        return state._replace(w=w, objective=objective, steps=steps, mistakes=mistakes)

    def _mixed(self, rule: Any, state: Any, random: np.random.Generator) -> tuple[Any, Any]:
        """Return the average of the states of all parts after a pass, and the loss."""
        at = rule, state, int(random.integers(SEEDS))
        (n, *sums), lost = self._executor.map_reduce(self._handle, shards.mix, at)
        return [one / n for one in sums], lost

    def _sampled(self, method: str, *arguments: Any) -> Any:
        at = self._sample, method, arguments
        return self._executor.map_reduce(self._handle, shards.sampled, at)
