"""Exponentiated gradient: optimisation in the dual, from expectations (Collins et al. 2008)."""

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
SHARE = 0.5  # maximum share of the gap that may be due to the entropies
LESS = 0.7  # factor by which mu is reduced if that share is exceeded
RECENT = 4  # after pass k, the weights enter their average with the share RECENT / (k + RECENT - 1)


class DualRule(NamedTuple):
    """The update rule, for an objective that performs the updates itself.

    Examples
    --------
    >>> DualRule(True, np.ones(1), 0.5).log
    True
    """

    log: bool  # log loss, not hinge losses
    c2: Floats  # penalty: one number, or one for each weight
    eta: float  # size of the first step of each sequence


class DualState(NamedTuple):
    """The state of `ExponentiatedGradient` between two passes.

    Examples
    --------
    >>> DualState._fields[:4]
    ('w', 'theta', 'm', 'eta')
    """

    w: Floats  # (n,)
    theta: Floats  # dual scores of all places where features fire; empty before the first pass
    m: Floats  # (sequences,) multiplier of the cost in the dual distribution
    eta: Floats  # (sequences,) size of the next step
    mu: float  # weight of the entropies; 1 for the log loss, decreasing for hinge losses
    entropy: float  # sum of the entropies
    mean: Floats  # (n,) average of the weights after each pass; empty for the log loss
    best: Floats  # (n,) weights or average with the lowest objective so far
    bound: float  # the highest value of the dual so far
    objective: float  # objective of `best`
    gap: float | None  # objective - bound
    gradient_norm: float  # NaN
    n_active: int
    iteration: int
    evaluations: int
    step: float  # mean of eta
    generator: str  # state of the random number generator, as JSON
    status: str

    @property
    def weights(self) -> Floats:
        """The current weights for prediction."""
        return self.best


class DualObjective(Protocol):
    """An objective that performs the updates of a pass itself.

    Examples
    --------
    >>> hasattr(DualObjective, "descend")
    True
    """

    def __len__(self) -> int: ...

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the negative log-likelihood and its gradient."""

    def maximum(self, w: Floats) -> tuple[float, Floats]:
        """Return the sum of hinge losses and a subgradient."""

    def descend(self, rule: DualRule, state: DualState, order: npt.NDArray[np.int64]) -> DualState:
        """Return the state after an update for each of these sequences; `state` is not changed.

        What it changes are the weights, the dual, its sum of entropies and the highest value of it.
        """


class ExponentiatedGradient:
    """Minimise ``c2 |w|^2`` plus hinge losses or the negative log-likelihood, through the dual.

    Parameters
    ----------
    objective : DualObjective
        The sequences.
    c2 : float or array-like
        Penalty, for all parameters or for each; above 0.
    log : bool
        Whether the loss is the negative log-likelihood instead of a max-margin loss.
    delta : float
        Stop when the gap to the dual is below this share of the objective.
    max_iterations : int
        Maximum number of passes.
    seed : int
        Seed for the order of sequences.
    period, n_threads
        Ignored; present for a common interface.

    Notes
    -----
    It always starts near the gold labels; what is found does not depend on the start.  With the log
    loss the gap closes at a linear rate.  With hinge losses the entropies of the dual's
    distributions, which make its steps possible, are counted ever less, and the gap closes about as
    1 / passes; `FrankWolfe` needs far fewer passes.  The weights to use are the best that were
    seen: those after a pass, or for hinge losses their average.

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
        max_iterations: int = 300,
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
        return DualRule(self.log, self._c2, 0.5)

    def settings(self, n: int) -> dict[str, Any]:
        """Return the settings that a state depends on, for comparison before resuming."""
        found = {"optimiser": self.name, "sequences": len(self.objective), "seed": self.seed}
        return {**found, "log": self.log, "c2": self._rule(n).c2}

    def start(self, w0: npt.ArrayLike) -> DualState:
        """Return the state before the first pass."""
        random, none = np.random.default_rng(self.seed), np.empty(0)
        w = np.zeros(np.size(w0))
        return DualState(
            *(w, none, none, none, 1.0, math.nan, none if self.log else w, w, -math.inf),
            *(math.inf, None, math.nan, 0, 0, 0, math.nan),
            json.dumps(random.bit_generator.state),
            "" if self.max_iterations else "max_iterations",
        )

    def step(self, state: DualState) -> DualState:
        """Return the state after one pass; a finished state is returned unchanged."""
        if state.status:
            return state
        random = np.random.default_rng()
        random.bit_generator.state = json.loads(state.generator)
        order = random.permutation(len(self.objective))
        rule = self._rule(len(state.w))
        after = self.objective.descend(rule, state, order)
        after = self._measured(rule, after._replace(iteration=state.iteration + 1))
        assert after.gap is not None
        status = "gap" if after.gap <= self.delta * abs(after.objective) else ""
        if not status and after.iteration >= self.max_iterations:
            status = "max_iterations"
        mu = after.mu
        # The entropies account for a part of the gap that no further step would close.
        if not self.log and mu * after.entropy > SHARE * after.gap:
            mu *= LESS
        return after._replace(
            mu=mu,
            n_active=int(np.count_nonzero(after.best)),
            evaluations=(2 if self.log else 3) * after.iteration,
            step=float(after.eta.mean()),
            generator=json.dumps(random.bit_generator.state),
            status=status,
        )

    def _measured(self, rule: DualRule, state: DualState) -> DualState:
        """Return a state with the best of its weights, their average and the earlier best."""
        found = [state.w]
        if not self.log:
            share = RECENT / (state.iteration + RECENT - 1)
            mean: Floats = (1.0 - share) * state.mean + share * state.w
            state = state._replace(mean=mean)
            found.append(mean)
        for w in found:
            loss, _ = self.objective(w) if self.log else self.objective.maximum(w)
            objective = float(loss) + float((rule.c2 * w) @ w)
            if objective < state.objective:
                state = state._replace(objective=objective, best=w)
        return state._replace(gap=max(state.objective - state.bound, 0.0))

    def reopened(self, state: DualState) -> DualState:
        """Return a state that ended only by request, ready to continue."""
        asked = state.status == "max_iterations" and state.iteration < self.max_iterations
        return state._replace(status="") if asked or state.status == "callback" else state
