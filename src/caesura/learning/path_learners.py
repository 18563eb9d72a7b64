"""Learners based on best paths: the perceptron and its relatives.

Each takes a step for one sequence after the other, in a random order that is new for each pass.
The objective runs a whole pass by itself, and touches only the weights that a step changes.
"""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.inference.kernel_calls import threads_of
from caesura.learning.objectives import order_of, weights

__all__ = [
    "AROW",
    "PassiveAggressive",
    "PathObjective",
    "PathRule",
    "PathState",
    "Perceptron",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
NONE = np.empty(0)


class PathRule(NamedTuple):
    """The update rule of a learner, for an objective that performs the updates itself.

    Examples
    --------
    >>> PathRule(_kernels.PathStep.PASSIVE_AGGRESSIVE, pa_type=2).c
    1.0
    """

    step: _kernels.PathStep
    pa_type: int = 1
    c: float = 1.0  # aggressiveness: limits passive-aggressive steps
    by_errors: bool = True  # whether their margin without a loss is sqrt(wrong tokens), else 1
    r: float = 1.0  # regularisation of AROW
    c2: Floats = NONE  # penalty of the SVM: one number, or one for each weight

    @property
    def keeps_paths(self) -> bool:
        """Whether it keeps paths with their shares in a dual, so that the state has a gap."""
        return self.step == _kernels.PathStep.FRANK_WOLFE

    @property
    def keeps_variances(self) -> bool:
        """Whether each weight has a variance."""
        return self.step == _kernels.PathStep.AROW


class PathState(NamedTuple):
    """The state of these learners between two passes.

    Examples
    --------
    >>> PathState._fields[:4]
    ('w', 'sums', 'variance', 'first')
    """

    w: Floats  # (n,)
    sums: Floats  # (n,) the average is w - sums / steps; empty without averaging
    variance: Floats  # (n,) for AROW, else empty
    first: Ints  # SVM, else empty like the next five: offset of the paths of each sequence
    ptr: Ints  # offset of the entries of each path
    weight: Ints  # index of the weight of each entry
    value: Floats  # its count on the gold path minus its count on this path
    cost: Floats  # loss of each path
    share: Floats  # share of each path in the dual of its sequence
    objective: float  # sum over the steps, each before its update; for the SVM, after the pass
    gap: float | None  # duality gap of the SVM
    gradient_norm: float  # NaN: unknown
    n_active: int  # number of non-zero weights for prediction
    recent: Floats  # objectives of the last passes
    iteration: int  # number of passes
    evaluations: int  # number of passes, including those that only evaluate
    steps: int  # number of sequences processed
    mistakes: int  # number of steps in the last pass that changed the weights
    step: float  # NaN
    generator: str  # state of the random number generator, as JSON
    status: str  # why the run ended; empty while it runs

    @property
    def weights(self) -> Floats:
        """The current weights for prediction."""
        if not self.sums.size or not self.steps:
            return self.w
        average: Floats = self.w - self.sums / self.steps
        return average


class PathObjective(Protocol):
    """An objective that performs the updates of a pass itself.

    Examples
    --------
    >>> hasattr(PathObjective, "follow")
    True
    """

    def __len__(self) -> int: ...

    def follow(self, rule: PathRule, state: PathState, order: npt.NDArray[np.int64]) -> PathState:
        """Return the state after an update for each of these sequences; `state` is not changed."""


class Perceptron:
    """The averaged structured perceptron.

    Where the best path of a sequence is another than its gold one, the weights move by the
    difference of their counts.  The weights to use are the average of those after every step.

    Parameters
    ----------
    objective : PathObjective
        The sequences.
    average : bool
        Use the average of the weights after every step, not the last ones.
    epsilon : float
        Stop when the share of sequences that changed the weights in a pass is below this; 0 takes
        all passes, in which averages come nearer to the last weights.
    period, delta : int, float
        Stop when the objective has fallen by less than `delta`, relatively, in `period` passes.
    max_iterations : int
        Maximum number of passes.
    seed : int
        Seed of the order of sequences.
    n_threads : int, optional
        Number of threads for evaluations of the current weights; the steps themselves are
        sequential.

    Notes
    -----
    A pass without any mistake is the last: the status is then ``"separated"``.

    Examples
    --------
    >>> class Signs:  # one weight, and two sequences that agree on its sign
    ...     def __len__(self):
    ...         return 2
    ...     def follow(self, rule, state, order):
    ...         wrong = state.w[0] <= 0
    ...         return state._replace(w=state.w + wrong, steps=state.steps + 2, mistakes=int(wrong))
    >>> learner = Perceptron(Signs())
    >>> state = learner.start([0.0])
    >>> while not state.status:
    ...     state = learner.step(state)
    >>> state.status, state.iteration
    ('separated', 2)
    """

    name: ClassVar[str] = "perceptron"

    def __init__(
        self,
        objective: PathObjective,
        *,
        average: bool = True,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float = 1e-4,
        max_iterations: int = 100,
        seed: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.objective, self.average, self.epsilon = objective, average, epsilon
        self.period, self.delta = whole("period", period, 1), delta
        self.max_iterations = whole("max_iterations", max_iterations, 0)
        self.seed = whole("seed", seed, 0)
        self.n_threads = threads_of(n_threads)
        if len(objective) < 1:
            raise InvalidInput(message("objective", "no sequences", "at least one", "give data"))

    def rule(self, n: int) -> PathRule:
        """Return the update rule for n weights."""
        return PathRule(_kernels.PathStep.PERCEPTRON)

    def settings(self, n: int) -> dict[str, Any]:
        """Return the settings that a state depends on, for comparison before resuming."""
        found = {"optimiser": self.name, "sequences": len(self.objective), "seed": self.seed}
        if not self.average and self._averages:
            found["average"] = False
        rule = self.rule(n)
        return found | {key: getattr(rule, key) for key in self._own}

    _own: ClassVar[tuple[str, ...]] = ()  # fields of the rule that apply to this learner
    _averages: ClassVar[bool] = True  # whether its weights can be averaged

    def start(self, w0: npt.ArrayLike) -> PathState:
        """Return the state before the first pass."""
        w, random = weights(w0), np.random.default_rng(self.seed)
        none = np.empty(0, np.int64)
        return PathState(
            w,
            np.zeros(len(w) if self._averages and self.average else 0),
            self._variances(len(w)),
            *(none, none, none, np.empty(0), np.empty(0), np.empty(0), math.nan, None, math.nan),
            *(int(np.count_nonzero(w)), np.empty(0), 0, 0, 0, 0, math.nan),
            json.dumps(random.bit_generator.state),
            "" if self.max_iterations else "max_iterations",
        )

    def _variances(self, n: int) -> Floats:
        return np.empty(0)

    def step(self, state: PathState) -> PathState:
        """Return the state after one pass; a finished state is returned unchanged."""
        if state.status:
            return state
        random = np.random.default_rng()
        random.bit_generator.state = json.loads(state.generator)
        order = order_of(self.objective, random)
        after = self.objective.follow(self.rule(len(state.w)), state, order)
        after = after._replace(
            n_active=int(np.count_nonzero(after.weights)),
            iteration=state.iteration + 1,
            evaluations=state.evaluations + 1,
            generator=json.dumps(random.bit_generator.state),
        )
        return self._judged(after)

    def reopened(self, state: PathState) -> PathState:
        """Return a state that ended only by request, ready to continue."""
        asked = state.status == "max_iterations" and state.iteration < self.max_iterations
        return state._replace(status="") if asked or state.status == "callback" else state

    def _judged(self, state: PathState) -> PathState:
        recent, status = state.recent[-self.period :], ""
        if not math.isfinite(state.objective) and not math.isnan(state.objective):
            status = "diverged"
        elif state.mistakes < self.epsilon * len(self.objective):
            status = "objective" if state.mistakes else "separated"
        elif len(recent) == self.period:
            fell = (recent[0] - state.objective) / max(abs(state.objective), 1e-300)
            status = "objective" if fell < self.delta else ""
        if not status and state.iteration >= self.max_iterations:
            status = "max_iterations"
        return state._replace(status=status, recent=np.append(recent, state.objective))


class PassiveAggressive(Perceptron):
    """Passive-aggressive learning (Crammer et al. 2006), averaged.

    A step is as long as it must be for the gold path to be better than the best one by a margin:
    the loss, or ``sqrt(wrong tokens)`` by default, as in CRFsuite.

    Parameters
    ----------
    objective : PathObjective
        The sequences.
    pa_type : {0, 1, 2}
        0: steps of any length; 1: steps of at most `c`; 2: steps damped by ``1 / (2 c)``.
    c : float
        Bound on the step for one sequence.
    error_sensitive : bool
        Whether the margin without a loss is ``sqrt(wrong tokens)``, or else 1.
    **settings
        The settings of `Perceptron`.

    Examples
    --------
    >>> PassiveAggressive.name
    'pa'
    """

    name: ClassVar[str] = "pa"
    _own: ClassVar[tuple[str, ...]] = ("pa_type", "c", "by_errors")

    def __init__(
        self,
        objective: PathObjective,
        *,
        pa_type: int = 1,
        c: float = 1.0,
        error_sensitive: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__(objective, **settings)
        self.error_sensitive = bool(error_sensitive)
        self.pa_type, self.c = whole("pa_type", pa_type, 0, 2), positive("c", c)

    def rule(self, n: int) -> PathRule:
        """Return the update rule for n weights."""
        step = _kernels.PathStep.PASSIVE_AGGRESSIVE
        return PathRule(step, pa_type=self.pa_type, c=self.c, by_errors=self.error_sensitive)


class AROW(Perceptron):
    """Adaptive regularisation of weights (Crammer et al. 2009), with a variance for each weight.

    The margin is the loss, or by default the number of wrong tokens, as in CRFsuite.
    Weights are not averaged.

    Parameters
    ----------
    objective : PathObjective
        The sequences.
    variance : float
        Initial variance of each weight: a larger one means larger steps.
    r : float
        Regularisation: larger values make steps smaller, and variances fall more slowly.
    **settings
        The settings of `Perceptron`.

    Examples
    --------
    >>> AROW.name
    'arow'
    """

    name: ClassVar[str] = "arow"
    _own: ClassVar[tuple[str, ...]] = ("r",)
    _averages: ClassVar[bool] = False

    def __init__(
        self, objective: PathObjective, *, variance: float = 1.0, r: float = 1.0, **settings: Any
    ) -> None:
        super().__init__(objective, **settings)
        self.variance, self.r = positive("variance", variance), positive("r", r)

    def rule(self, n: int) -> PathRule:
        """Return the update rule for n weights."""
        return PathRule(_kernels.PathStep.AROW, r=self.r)

    def settings(self, n: int) -> dict[str, Any]:
        """Return the settings that a state depends on, for comparison before resuming."""
        return {**super().settings(n), "variance": self.variance}

    def _variances(self, n: int) -> Floats:
        return np.full(n, self.variance)


def positive(name: str, value: float) -> float:
    """Return a positive number, or raise.

    Examples
    --------
    >>> positive("c", 2)
    2.0
    """
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidInput(message(name, value, "a finite number above 0", "pass 1, the default"))
    return float(value)
