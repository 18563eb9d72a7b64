"""Exponentiated gradient: learning in the dual, from expectations (Collins et al. 2008)."""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.learning.frank_wolfe import dual_penalty

__all__ = ["DualObjective", "DualRule", "DualState", "ExponentiatedGradient"]

Floats = npt.NDArray[np.float64]


class DualRule(NamedTuple):
    """Describe the steps to an objective that takes them by itself.

    Examples
    --------
    >>> DualRule(True, np.ones(1), 0.5).log
    True
    """

    log: bool  # the log loss; else hinge losses
    c2: Floats  # one number, or one for each weight
    eta: float  # how far the first step of a sequence goes


class DualState(NamedTuple):
    """Hold a run of `ExponentiatedGradient` between two passes.

    Examples
    --------
    >>> DualState._fields[:4]
    ('w', 'theta', 'm', 'eta')
    """

    w: Floats  # (n,)
    theta: Floats  # scores of the dual, for each place where features fire; empty before the start
    m: Floats  # (sequences,) what the loss is multiplied by in the dual
    eta: Floats  # (sequences,) how far the next step goes
    objective: float
    gap: float | None  # above the dual
    gradient_norm: float  # NaN
    n_active: int
    iteration: int
    evaluations: int
    step: float  # mean of eta
    generator: str  # the state of the random generator, as JSON
    status: str

    @property
    def weights(self) -> Floats:
        """The weights to use."""
        return self.w


class DualObjective(Protocol):
    """An objective that takes the steps of a pass by itself.

    Examples
    --------
    >>> hasattr(DualObjective, "descend")
    True
    """

    def __len__(self) -> int: ...

    def descend(self, rule: DualRule, state: DualState, order: npt.NDArray[np.int64]) -> DualState:
        """Return the state after a step for each of these sequences; `state` is not changed."""


class ExponentiatedGradient:
    """Minimise ``c2 |w|^2`` plus hinge losses or the negative log-likelihood, through the dual.

    Parameters
    ----------
    objective : DualObjective
        The sequences.
    c2 : float or array-like
        Penalty, for all parameters or for each; above 0.
    log : bool
        Whether the loss is the negative log-likelihood, and not that of a margin.
    delta : float
        Stop when the gap to the dual is below this share of the objective.
    max_iterations : int
        Passes.
    seed : int
        Of the order of sequences.
    period, n_threads
        Not used: for the same interface as other optimisers.

    Notes
    -----
    It always starts near the gold labels; what is found does not depend on the start.  The dual
    converges at a linear rate with the log loss, and slowly with hinge losses, where `FrankWolfe`
    needs far fewer passes.

    Examples
    --------
    >>> ExponentiatedGradient.name
    'eg'
    """

    name: ClassVar[str] = "eg"

    def __init__(
        self,
        objective: DualObjective,
        c2: npt.ArrayLike = 1.0,
        *,
        log: bool = False,
        delta: float = 1e-3,
        max_iterations: int = 100,
        seed: int = 0,
        period: int = 10,
        n_threads: int | None = None,
    ) -> None:
        self.objective, self.c2, self.log = objective, c2, log
        self.delta, self.period = delta, period
        self.max_iterations = whole("max_iterations", max_iterations, 0)
        self.seed = whole("seed", seed, 0)
        self._c2: Floats | None = None
        if len(objective) < 1:
            raise InvalidInput(message("objective", "no sequences", "at least one", "give data"))

    def _rule(self, n: int) -> DualRule:
        if self._c2 is None:
            self._c2 = dual_penalty(self.c2, n)
        return DualRule(self.log, self._c2, 0.5 if self.log else 1.0)

    def settings(self, n: int) -> dict[str, Any]:
        """Return what a state depends on, to be compared before going on from one."""
        found = {"optimiser": self.name, "sequences": len(self.objective), "seed": self.seed}
        return {**found, "log": self.log, "c2": self._rule(n).c2}

    def start(self, w0: npt.ArrayLike) -> DualState:
        """Return the state before the first pass."""
        random, none = np.random.default_rng(self.seed), np.empty(0)
        w = np.zeros(np.size(w0))
        return DualState(
            *(w, none, none, none, math.nan, None, math.nan, 0, 0, 0, math.nan),
            json.dumps(random.bit_generator.state),
            "" if self.max_iterations else "max_iterations",
        )

    def step(self, state: DualState) -> DualState:
        """Return the state after one pass; a state that has ended is returned as it is."""
        if state.status:
            return state
        random = np.random.default_rng()
        random.bit_generator.state = json.loads(state.generator)
        order = random.permutation(len(self.objective))
        after = self.objective.descend(self._rule(len(state.w)), state, order)
        assert after.gap is not None
        status = "gap" if after.gap <= self.delta * abs(after.objective) else ""
        if not status and state.iteration + 1 >= self.max_iterations:
            status = "max_iterations"
        return after._replace(
            n_active=int(np.count_nonzero(after.w)),
            iteration=state.iteration + 1,
            evaluations=2 * (state.iteration + 1),
            step=float(after.eta.mean()),
            generator=json.dumps(random.bit_generator.state),
            status=status,
        )

    def reopened(self, state: DualState) -> DualState:
        """Return a state that ended only because it was asked to, so that it goes on."""
        asked = state.status == "max_iterations" and state.iteration < self.max_iterations
        return state._replace(status="") if asked or state.status == "callback" else state
