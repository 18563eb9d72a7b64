"""The averaged perceptron over features identified by keys, added as needed."""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from caesura.checks import whole

__all__ = ["AgendaObjective", "AgendaPerceptron", "AgendaState"]

Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.uint64]


class AgendaState(NamedTuple):
    """The state of `AgendaPerceptron` between two passes.

    Examples
    --------
    >>> AgendaState._fields[:4]
    ('keys', 'w', 'sums', 'known')
    """

    keys: Keys  # (rows,) in order of first occurrence
    w: Floats  # (rows * labels,)
    sums: Floats  # (rows * labels,) the average is w - sums / date
    known: tuple[Keys, ...]  # hashes of the texts that occur in keys, by column
    date: float  # number of examples seen, plus 1
    updates: int  # in all passes
    objective: float  # updates of the last pass
    gradient_norm: float  # NaN: unknown
    n_active: int
    iteration: int
    evaluations: int
    step: float
    generator: str  # state of the random number generator, as JSON
    status: str

    @property
    def weights(self) -> Floats:
        """The averaged weights, which are used for prediction."""
        average: Floats = self.w - self.sums / self.date
        return average


class AgendaObjective(Protocol):
    """An objective that performs the updates of a pass itself.

    Examples
    --------
    >>> hasattr(AgendaObjective, "search")
    True
    """

    def __len__(self) -> int: ...

    def search(self, state: AgendaState, order: npt.NDArray[np.int64]) -> AgendaState:
        """Return the state after an update for each of these sequences; `state` is not changed."""


class AgendaPerceptron:
    """The averaged perceptron with beam search, one update per sequence.

    Parameters
    ----------
    objective : AgendaObjective
        The sequences.
    max_iterations : int
        Maximum number of passes.
    seed : int
        Seed for the order of sequences, which is new in each pass.

    Examples
    --------
    >>> AgendaPerceptron.name
    'perceptron'
    """

    name: ClassVar[str] = "perceptron"

    def __init__(
        self, objective: AgendaObjective, *, max_iterations: int = 10, seed: int = 0
    ) -> None:
        self.objective = objective
        self.max_iterations = whole("max_iterations", max_iterations, 0)
        self.seed = whole("seed", seed, 0)

    def settings(self, n: int) -> dict[str, Any]:
        """Return the settings that a state depends on, for comparison before resuming."""
        return {"optimiser": self.name, "sequences": len(self.objective), "seed": self.seed}

    def start(self, w0: npt.ArrayLike) -> AgendaState:
        """Return the state before the first pass."""
        random, none = np.random.default_rng(self.seed), np.empty(0)
        return AgendaState(
            *(np.empty(0, np.uint64), none, none, (), 1.0, 0, math.nan, math.nan, 0, 0, 0, 1.0),
            json.dumps(random.bit_generator.state),
            "" if self.max_iterations else "max_iterations",
        )

    def step(self, state: AgendaState) -> AgendaState:
        """Return the state after one pass; a finished state is returned unchanged."""
        if state.status:
            return state
        random = np.random.default_rng()
        random.bit_generator.state = json.loads(state.generator)
        after = self.objective.search(state, random.permutation(len(self.objective)))
        iteration = state.iteration + 1
        return after._replace(
            objective=float(after.updates - state.updates),
            n_active=int(np.count_nonzero(after.w)),
            iteration=iteration,
            evaluations=iteration,
            generator=json.dumps(random.bit_generator.state),
            status="max_iterations" if iteration >= self.max_iterations else "",
        )

    def reopened(self, state: AgendaState) -> AgendaState:
        """Return a state that ended only by request, ready to continue."""
        asked = state.status == "max_iterations" and state.iteration < self.max_iterations
        return state._replace(status="") if asked or state.status == "callback" else state
