"""Frank-Wolfe for the structured SVM, with perceptron-like updates in the dual."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.errors import InvalidInput, message
from caesura.learning.objectives import penalty
from caesura.learning.path_learners import PathObjective, PathRule, PathState, Perceptron

__all__ = ["FrankWolfe", "dual_penalty"]

Floats = npt.NDArray[np.float64]


class FrankWolfe(Perceptron):
    """Block-coordinate Frank-Wolfe for the structured SVM (Lacoste-Julien et al. 2013).

    Minimises ``c2 |w|^2 + sum of hinge losses`` through its dual, whose value bounds the objective
    from below: the gap between both bounds the distance to the optimum.

    Parameters
    ----------
    objective : PathObjective
        The sequences, with a loss.
    c2 : float or array-like
        Penalty, for all parameters or for each; above 0.
    delta : float
        Stop when the gap is below this share of the objective.
    max_iterations : int
        Maximum number of passes.
    **settings
        The settings of `Perceptron`.  Training always starts from zero, since not every weight
        vector belongs to a point of the dual; the result does not depend on the start.

    Examples
    --------
    >>> FrankWolfe.name
    'svm'
    """

    name: ClassVar[str] = "svm"
    _own: ClassVar[tuple[str, ...]] = ("c2",)
    _averages: ClassVar[bool] = False

    def __init__(
        self,
        objective: PathObjective,
        c2: npt.ArrayLike = 1.0,
        *,
        delta: float = 1e-3,
        max_iterations: int = 300,
        **settings: Any,
    ) -> None:
        super().__init__(objective, delta=delta, max_iterations=max_iterations, **settings)
        self.c2 = c2
        self._c2: Floats | None = None

    def rule(self, n: int) -> PathRule:
        """Return the update rule for n weights."""
        if self._c2 is None:
            self._c2 = dual_penalty(self.c2, n)
        return PathRule(_kernels.PathStep.FRANK_WOLFE, c2=self._c2)

    def start(self, w0: npt.ArrayLike) -> PathState:
        """Return the state before the first pass."""
        state = super().start(np.zeros(np.size(w0)))
        if getattr(self.objective, "streams", False):  # a streamed objective keeps no dual
            return state
        none = np.zeros(len(self.objective) + 1, np.int64)
        return state._replace(first=none, ptr=np.zeros(1, np.int64))

    def _judged(self, state: PathState) -> PathState:
        if state.gap is None:
            return super()._judged(state)
        close = state.gap <= self.delta * abs(state.objective)
        status = "gap" if close else ""
        if not status and state.iteration >= self.max_iterations:
            status = "max_iterations"
        return state._replace(status=status, evaluations=2 * state.iteration)


def dual_penalty(c2: npt.ArrayLike, n: int) -> Floats:
    """Return c2 for the kernels, or raise where the dual does not exist.

    Examples
    --------
    >>> dual_penalty(0.5, 3)
    array([0.5])
    """
    found = penalty("c2", c2, n)
    if not found.size or not (found > 0.0).all():
        expected = "numbers above 0: without a penalty the dual has no solution"
        raise InvalidInput(message("c2", c2, expected, "pass 0.01, for example"))
    return found
