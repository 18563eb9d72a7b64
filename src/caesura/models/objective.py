"""The training objective in the interface of the optimisers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.errors import InvalidInput
from caesura.learning.exponentiated import DualRule, DualState
from caesura.learning.frank_wolfe import FrankWolfe
from caesura.learning.objectives import OnlineRule, OnlineState
from caesura.learning.path_learners import PathRule, PathState
from caesura.models.fitted import unscaled

__all__ = ["Corpora", "StreamedCorpora"]

Floats = npt.NDArray[np.float64]
BLOCKS = ("first", "ptr", "weight", "value", "cost", "share")  # of the SVM's dual in PathState
SECONDS = 0.2  # time in the kernels before Python can handle an interrupt


class Corpora:
    """The objective of a corpus, as a function of weights or of their increments."""

    def __init__(
        self,
        objective: _kernels.Objective,
        n_threads: int,
        single: bool = False,
        centre: Floats | None = None,
        first: int = 0,
    ) -> None:
        self._objective, self._threads, self._single = objective, n_threads, single
        self._first = first  # number of the first sequence, in errors
        self._centre = centre  # point from which penalties are measured; None for zero
        self._kept: tuple[float, Floats, _kernels.OnlinePass] | None = None  # rate, weights, pass
        self._path: tuple[Floats, _kernels.PathPass] | None = None  # weights and pass
        self._dual: tuple[Floats, _kernels.DualPass] | None = None

    def __len__(self) -> int:
        return len(self._objective)

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient."""
        return self._evaluate(w, None)

    def in_single(self) -> Corpora:
        """Return the same objective in single precision."""
        return Corpora(self._objective, self._threads, True, self._centre, self._first)

    def release(self) -> None:
        """Release the buffers kept between evaluations."""
        self._kept = self._path = self._dual = None
        self._objective.release()

    def batch(self, w: Floats, sequences: npt.NDArray[Any]) -> tuple[float, Floats]:
        """Return the loss and its gradient over some sequences."""
        return self._evaluate(w, np.ascontiguousarray(sequences, np.int32))

    def epoch(self, rule: OnlineRule, state: OnlineState, order: npt.NDArray[Any]) -> OnlineState:
        """Return the state after mini-batches of these sequences."""
        run = self._started(rule, state)
        sequences, at = np.ascontiguousarray(order, np.int32), 0
        with _possible(self._first):
            while at < len(sequences):  # in slices, so that Python can handle interrupts
                at = run.run(sequences, at, rule.batch_size, SECONDS)
        w, average, squares = state.w.copy(), state.average.copy(), state.squares.copy()
        run.finish(w, average, squares)
        self._kept = rule.rate, w, run
        return OnlineState(w, average, squares, run.done, run.rate, run.loss)

    def _started(self, rule: OnlineRule, state: OnlineState) -> _kernels.OnlinePass:
        """Return a pass that starts at this state, reusing the last one if it ended there."""
        rate, w, run = self._kept or (None, None, None)
        self._kept = None
        if run is None or rate != rule.rate or w is not state.w:
            run = w = None  # frees the old pass before the new one is allocated
            run = _kernels.OnlinePass(
                self._objective,
                rule.adagrad,
                rule.average,
                rule.rate,
                rule.slowing,
                rule.power,
                rule.sequences,
                rule.kinds,
                rule.c1,
                rule.c2,
                self._centre,
                *state[:4],
            )
        run.loss = 0.0
        return run

    def follow(self, rule: PathRule, state: PathState, order: npt.NDArray[Any]) -> PathState:
        """Return the state after an update for each of these sequences."""
        after, run = self._passed(rule, state, order)
        if not rule.keeps_paths:
            return after
        objective = run.penalty + run.hinge(self._threads)
        blocks: dict[str, Any] = dict(zip(BLOCKS, run.blocks(), strict=True))
        return after._replace(objective=objective, gap=objective - run.dual, **blocks)

    def _passed(
        self, rule: PathRule, state: PathState, order: npt.NDArray[Any]
    ) -> tuple[PathState, _kernels.PathPass]:
        """Return the state after a pass, for the SVM without its objective and dual variables."""
        last, self._path = self._path, None
        run = last[1] if last is not None and last[0] is state.w else self._path_pass(rule, state)
        run.loss, run.mistakes = 0.0, 0
        sequences, at = np.ascontiguousarray(order, np.int32), 0
        with _possible(self._first):
            while at < len(sequences):
                at = run.run(sequences, at, SECONDS)
        if rule.keeps_paths:
            run.settle()
        w, sums, variance = state.w.copy(), state.sums.copy(), state.variance.copy()
        run.finish(w, _there(sums), variance if rule.keeps_variances else None)
        self._path = w, run
        after = state._replace(
            w=w,
            sums=sums,
            variance=variance,
            objective=run.loss,
            steps=run.done,
            mistakes=run.mistakes,
        )
        return after, run

    def proximal(self, rule: PathRule, w: Floats, order: npt.NDArray[Any]) -> tuple[Floats, int]:
        """Return the weights after a pass of the SVM with a penalty on the distance from `w`.

        Also returned is the number of sequences that moved them.
        """
        centre = w if self._centre is None else self._centre + w
        near = Corpora(self._objective, self._threads, centre=centre, first=self._first)
        after, _ = near._passed(rule, FrankWolfe(near).start(np.zeros_like(w)), order)
        return w + after.w, after.mistakes

    def _path_pass(self, rule: PathRule, state: PathState) -> _kernels.PathPass:
        c2 = rule.c2 if rule.c2.size else np.ones(1)
        blocks: Any = tuple(getattr(state, name) for name in BLOCKS)
        return _kernels.PathPass(
            self._objective,
            *(rule.step, rule.pa_type, rule.c, rule.by_errors, rule.r, c2, self._centre),
            *(state.w, _there(state.sums), state.variance if rule.keeps_variances else None),
            blocks if rule.keeps_paths else None,
            state.steps,
        )

    def descend(self, rule: DualRule, state: DualState, order: npt.NDArray[Any]) -> DualState:
        """Return the state after an exponentiated gradient step for each of these sequences."""
        last, self._dual = self._dual, None
        run = last[1] if last is not None and last[0] is state.w else self._dual_pass(rule, state)
        run.set_mu(state.mu)
        sequences, at = np.ascontiguousarray(order, np.int32), 0
        with _possible(self._first):
            while at < len(sequences):
                at = run.run(sequences, at, SECONDS)
        theta = np.empty(_kernels.DualPass.n_scores(self._objective))
        w, m, eta = state.w.copy(), np.empty(len(self)), np.empty(len(self))
        run.finish(w, theta, m, eta)
        self._dual = w, run
        bound = max(state.bound, run.dual)
        return state._replace(w=w, theta=theta, m=m, eta=eta, entropy=run.entropy, bound=bound)

    def _dual_pass(self, rule: DualRule, state: DualState) -> _kernels.DualPass:
        fresh = not state.theta.size
        theta, m, eta = state.theta, state.m, state.eta
        if fresh:
            theta = np.zeros(_kernels.DualPass.n_scores(self._objective))
            m, eta = np.zeros(len(self)), np.full(len(self), rule.eta)
        with _possible(self._first):
            return _kernels.DualPass(
                *(self._objective, rule.log, state.mu, rule.c2, self._centre),
                *(state.w, theta, m, eta, fresh),
            )

    def maximum(self, w: Floats) -> tuple[float, Floats]:
        """Return the sum of hinge losses and a subgradient."""
        w = w if self._centre is None else self._centre + w
        with _possible(self._first):
            return self._objective.maximum(w, None, True, self._threads)

    def _evaluate(self, w: Floats, some: npt.NDArray[np.int32] | None) -> tuple[float, Floats]:
        w = w if self._centre is None else self._centre + w
        with _possible(self._first):
            return self._objective.evaluate(w, some, self._single, self._threads)


class StreamedCorpora:
    """The objective of streamed sequences, with one block in memory at a time.

    The sequences of a block are taken in a random order, and the blocks as they come.
    """

    streams = True  # it draws the order of each pass itself

    def __init__(self, blocks: Callable[[], Iterator[Corpora]], total: int, n_sample: int) -> None:
        self._blocks, self._total = blocks, total
        self.n_sample = n_sample  # sequences of the first block, to which `batch` is limited
        self._sample: Corpora | None = None
        self.told: Callable[[int, int], None] = lambda done, total: None  # progress of a pass

    def __len__(self) -> int:
        return self._total

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient."""
        value, gradient = 0.0, np.zeros_like(w)
        for block in self._passing():
            loss, part = block(w)
            value, gradient = value + loss, gradient + part
        return value, gradient

    def batch(self, w: Floats, sequences: npt.NDArray[Any]) -> tuple[float, Floats]:
        """Return the loss and its gradient over some sequences of the first block."""
        return self._first_block().batch(w, sequences)

    def epoch(self, rule: OnlineRule, state: OnlineState, order: Any) -> OnlineState:
        """Return the state after mini-batches of all sequences, or of some of the first block."""
        if isinstance(order, np.ndarray):
            return self._first_block().epoch(rule, state, order)
        value = 0.0
        for block in self._passing():
            state = block.epoch(rule, state, order.permutation(len(block)))
            value += state.value
        return state._replace(value=value)

    def follow(self, rule: PathRule, state: PathState, order: Any) -> PathState:
        """Return the state after an update for each of these sequences."""
        loss, mistakes = 0.0, 0
        for block in self._passing():
            state = block.follow(rule, state, order.permutation(len(block)))
            loss, mistakes = loss + state.objective, mistakes + state.mistakes
        return state._replace(objective=loss, mistakes=mistakes)

    def _first_block(self) -> Corpora:
        if self._sample is None:
            self._sample = next(self._blocks())
        return self._sample

    def _passing(self) -> Iterator[Corpora]:
        """Yield the blocks of a pass."""
        self._sample, done = None, 0
        self.told(0, self._total)
        for block in self._blocks():
            done += len(block)
            yield block
            self.told(done, self._total)
            del block  # free it before the next one is made


def _there(values: Floats) -> Floats | None:
    """Return an array, or None if it is empty."""
    return values if values.size else None


@contextlib.contextmanager
def _possible(first: int) -> Iterator[None]:
    """Raise an error that names a sequence without a possible segmentation or with overflow."""
    try:
        yield
    except LookupError as error:  # args[0] is the index of the sequence
        raise InvalidInput(
            place=f"y[{first + error.args[0]}]",
            got="labels that no segmentation agrees with",
            expected="possible ones",
            remedy="look for what max_length, same_label_adjacent, constraints or the tag scheme "
            "forbids",
        ) from None
    except FloatingPointError as error:  # likewise
        raise unscaled(first + error.args[0]) from None
