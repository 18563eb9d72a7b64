"""The structured SVM by cutting planes, with one slack variable for the whole corpus.

::

    F(w) = c2 |w|^2 + R(w),   R(w) = max over all choices of a path for each sequence of a + g . w

Each iteration finds the choice that is the maximum at some weights: one more plane below R.  The
weights that minimise ``c2 |w|^2 + max over the planes so far`` come from a quadratic program with a
variable for each plane, whose value bounds F from below.  They jump about as long as there are few
planes, so the next plane is that of weights halfway between the best ones so far and these, as in
OCAS (Franc and Sonnenburg 2008).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.errors import MissingPackage
from caesura.learning.frank_wolfe import dual_penalty
from caesura.learning.objectives import evaluate, weights

__all__ = ["CutState", "CuttingPlane", "HingeObjective"]

Floats = npt.NDArray[np.float64]
NEW = 0.5  # share of the program's solution in the next weights; the rest are the best weights
IDLE = 20  # iterations after which an inactive plane is dropped
RIDGES = (1e-10, 1e-14, 1e-6)  # added to the unit diagonal, as planes may be almost parallel
TINY = 1e-9  # planes shorter than this share of the longest one count as having no slope


class HingeObjective(Protocol):
    """A sum of hinge losses over a corpus.

    Examples
    --------
    >>> hasattr(HingeObjective, "maximum")
    True
    """

    def __len__(self) -> int: ...

    def maximum(self, w: Floats) -> tuple[float, Floats]:
        """Return the sum of hinge losses and a subgradient."""


class CutState(NamedTuple):
    """The state of `CuttingPlane` between two iterations.

    Examples
    --------
    >>> CutState._fields[:3]
    ('w', 'best', 'planes')
    """

    w: Floats  # (n,) solution of the current program
    best: Floats  # (n,) weights with the lowest objective so far
    planes: tuple[Floats, ...]  # (n,) the slope g of each plane
    offsets: Floats  # (k,) the offset a of each plane
    gram: Floats  # (k, k) g . g' / (2 c2)
    idle: npt.NDArray[np.int64]  # (k,) iterations since each plane was active
    objective: float  # objective of `best`
    gap: float | None
    gradient_norm: float  # NaN
    n_active: int
    iteration: int
    evaluations: int
    step: float  # NaN
    status: str

    @property
    def weights(self) -> Floats:
        """The current weights for prediction."""
        return self.best


class CuttingPlane:
    """Minimise ``c2 |w|^2 + sum of hinge losses`` by cutting planes (Joachims et al. 2009).

    Needs the package quadprog; install it with ``pip install 'caesura[margin]'``.

    Parameters
    ----------
    objective : HingeObjective
        The corpus, with a loss.
    c2 : float or array-like
        Penalty, for all parameters or for each; above 0.
    delta : float
        Stop when the gap to the lower bound is below this share of the objective.
    max_iterations : int
        Maximum number of evaluations of the whole corpus.
    period, seed, n_threads
        Ignored; present for a common interface.

    Examples
    --------
    >>> import numpy as np
    >>> class Distance:  # |w - 3|, whose sum with w^2 / 4 is least at 2
    ...     def __len__(self):
    ...         return 1
    ...     def maximum(self, w):
    ...         return abs(w[0] - 3.0), np.sign(w - 3.0)
    >>> optimiser = CuttingPlane(Distance(), c2=0.25, delta=1e-9)
    >>> state = optimiser.start([0.0])
    >>> while not state.status:
    ...     state = optimiser.step(state)
    >>> state.status, state.weights.round(3)
    ('gap', array([2.]))
    """

    name: ClassVar[str] = "cutting-plane"

    def __init__(
        self,
        objective: HingeObjective,
        c2: npt.ArrayLike = 1.0,
        *,
        delta: float = 1e-3,
        max_iterations: int = 1000,
        period: int = 10,
        seed: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.objective, self.c2, self.delta, self.period = objective, c2, delta, period
        self.max_iterations = whole("max_iterations", max_iterations, 0)
        self._solve = _solver()
        self._c2: Floats | None = None

    def settings(self, n: int) -> dict[str, Any]:
        """Return the settings that a state depends on, for comparison before resuming."""
        return {"optimiser": self.name, "sequences": len(self.objective), "c2": self._penalty(n)}

    def start(self, w0: npt.ArrayLike) -> CutState:
        """Return the state before the first iteration; the first plane is that at `w0`."""
        w = weights(w0)
        return CutState(
            w,
            best=w,
            planes=(),
            offsets=np.empty(0),
            gram=np.empty((0, 0)),
            idle=np.empty(0, np.int64),
            objective=math.inf,
            gap=None,
            gradient_norm=math.nan,
            n_active=int(np.count_nonzero(w)),
            iteration=0,
            evaluations=0,
            step=math.nan,
            status="" if self.max_iterations else "max_iterations",
        )

    def step(self, state: CutState) -> CutState:
        """Return the state after one iteration; a finished state is returned unchanged."""
        if state.status:
            return state
        n = len(state.w)
        w = state.best + NEW * (state.w - state.best)
        value, gradient = evaluate(self.objective.maximum(w), n)
        objective = value + float((self._penalty(n) * w) @ w)
        if objective < state.objective:
            state = state._replace(best=w, objective=objective)
        state = self._with_plane(state, gradient.copy(), value - float(gradient @ w))
        shares = self._solve(state.gram, state.offsets)
        sums = np.zeros(n)
        for plane, share in zip(state.planes, shares.tolist(), strict=True):
            if share:
                sums += share * plane
        bound = float(shares @ state.offsets - shares @ state.gram @ shares / 2.0)
        gap = max(state.objective - bound, 0.0)
        status = "gap" if gap <= self.delta * abs(state.objective) else ""
        if not status and state.iteration + 1 >= self.max_iterations:
            status = "max_iterations"
        return self._cleared(state, shares)._replace(
            w=-sums / (2.0 * self._penalty(n)),
            gap=gap,
            n_active=int(np.count_nonzero(state.best)),
            iteration=state.iteration + 1,
            evaluations=state.evaluations + 1,
            status=status,
        )

    def reopened(self, state: CutState) -> CutState:
        """Return a state that ended only by request, ready to continue."""
        asked = state.status == "max_iterations" and state.iteration < self.max_iterations
        return state._replace(status="") if asked or state.status == "callback" else state

    def _penalty(self, n: int) -> Floats:
        if self._c2 is None:
            self._c2 = dual_penalty(self.c2, n)
        return self._c2

    def _with_plane(self, state: CutState, plane: Floats, offset: float) -> CutState:
        scaled = plane / (2.0 * self._penalty(len(plane)))
        planes = (*state.planes, plane)
        gram = np.zeros((len(planes), len(planes)))
        gram[:-1, :-1] = state.gram
        gram[-1] = gram[:, -1] = [float(scaled @ one) for one in planes]
        offsets = np.append(state.offsets, offset)
        return state._replace(
            planes=planes, offsets=offsets, gram=gram, idle=np.append(state.idle, 0)
        )

    def _cleared(self, state: CutState, shares: Floats) -> CutState:
        """Return the state without planes that have long been inactive."""
        idle = np.where(shares > 0.0, 0, state.idle + 1)
        kept = np.flatnonzero(idle <= IDLE)
        return state._replace(
            planes=tuple(state.planes[k] for k in kept.tolist()),
            offsets=state.offsets[kept],
            gram=state.gram[np.ix_(kept, kept)],
            idle=idle[kept],
        )


def _solver() -> Any:
    """Return the solver of the dual, or raise if its package is not installed."""
    try:
        import quadprog
    except ImportError:
        raise MissingPackage("quadprog", "margin", f"learner={CuttingPlane.name!r}") from None

    def solve(gram: Floats, offsets: Floats) -> Floats:
        """Maximise ``offsets . x - x' gram x / 2`` for ``x >= 0``, ``sum of x <= 1``."""
        lengths = np.sqrt(np.maximum(np.diag(gram), 0.0))
        steep = lengths > TINY * lengths.max()
        x = np.zeros(len(offsets))
        # A plane without slope contributes its offset at no quadratic cost, so the best of these
        # takes the rest of the sum.
        flat = int(np.where(steep, 0.0, offsets).argmax())
        least = 0.0 if steep[flat] else max(float(offsets[flat]), 0.0)
        if (offsets[steep] > least).any():
            x[steep] = _scaled(gram[np.ix_(steep, steep)], offsets[steep] - least, lengths[steep])
        if least > 0.0:
            x[flat] = 1.0 - float(x.sum())
        return x

    def _scaled(gram: Floats, offsets: Floats, lengths: Floats) -> Floats:
        # Substituting x = unit z / lengths makes all entries of the program about 1 in size,
        # whatever the scale of the features.
        slopes, k = offsets / lengths, len(offsets)
        unit = float(np.abs(slopes).max())
        cosines = gram / np.outer(lengths, lengths)
        limits = np.hstack([np.eye(k), -(lengths.min() / lengths)[:, None]])
        least = np.append(np.zeros(k), -float(lengths.min()) / unit)
        found: list[tuple[float, Floats]] = []
        # A larger ridge costs accuracy of the optimum, a smaller one accuracy of the solver. The
        # better solution of the first two is taken; the third is tried only if both fail.
        for ridge in RIDGES:
            if len(found) == 2 or (found and ridge == RIDGES[-1]):
                break
            try:
                z = quadprog.solve_qp(cosines + ridge * np.eye(k), slopes / unit, limits, least)[0]
            except ValueError:  # not positive definite in floating point
                continue
            x: Floats = np.where(z > 1e-12 * z.max(), z, 0.0) * (unit / lengths)
            x /= max(1.0, float(x.sum()))
            found.append((float(offsets @ x - x @ gram @ x / 2.0), x))
        if not found:
            raise ArithmeticError("cutting-plane: the quadratic program cannot be solved")
        return max(found, key=lambda pair: pair[0])[1]

    return solve
