"""L-BFGS, and OWL-QN with an L1 penalty.

::

    F(w) = f(w) + c1 |w|_1 + c2 |w|_2^2

A step looks at the (pseudo-)gradient, asks the kernels for a direction, and searches along it.
Under c1 (OWL-QN, Andrew and Gao, 2007) no weight passes through zero within one step, and the pairs
of the recursion are those of the smooth part. Unlike theirs, the recursion runs over the weights
that are free to move, and a direction is cut only at weights that are zero: see
cpp/optimise/vectors.hpp.

A state is a tuple that is never changed: going on from a state gives the same numbers, bit by bit,
whether it was just made or read from a file, and on any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.inference.kernel_calls import threads_of
from caesura.learning.line_search import Point, search
from caesura.learning.objectives import Objective, evaluate, penalty, weights

__all__ = ["LBFGS", "State"]

Floats = npt.NDArray[np.float64]
Row = npt.NDArray[Any]  # float32, or uint16 with the upper halves of float32
LEAST_CURVATURE = 1e-12  # pairs with a smaller s.y / (|s| |y|) are discarded
# Rounding error of the single-precision objective, relative to its value at the start. On the
# references of cora_ie it is 1.4e-8 at w = 0, and keeps this absolute size up to the optimum with
# c2 = 0.01, where the objective is 2,700 times lower. Smaller decreases are noise.
DRAFT_NOISE = 2e-8
DRAFT_ITERATIONS = 3  # whose mean decrease counts: a single short step does not end the draft
NO_PRODUCTS = np.empty((2, 0, 0))
# From this number of weights on, the pairs do not fit into the cache and are stored as the upper
# halves of single precision (bfloat16), with 8 bits of mantissa. Twenty such pairs took 7 to 20 %
# fewer evaluations than twelve in single precision, in less memory (CoNLL-2000, NCBI disease and
# references, chains and semi-CRFs). With fewer weights, rounding could hide the small curvatures of
# a badly conditioned objective, and there is little to gain.
MANY_WEIGHTS = 100_000
PAIRS, PAIRS_OF_HALVES = 12, 20


class State(NamedTuple):
    """The state of the optimiser between two iterations.

    Examples
    --------
    >>> state = LBFGS(lambda w: (float(w @ w), 2.0 * w)).start([1.0, 2.0])
    >>> state.objective, state.status
    (5.0, '')
    """

    w: Floats  # (n,)
    gradient: Floats  # (n,) of f(w) + c2 |w|^2
    objective: float  # F(w)
    gradient_norm: float  # norm of the pseudo-gradient under c1
    w_norm: float
    n_active: int  # number of non-zero weights
    s: tuple[Row, ...]  # changes of the weights, oldest first
    y: tuple[Row, ...]  # changes of the gradient, oldest first
    products: Floats  # (2, k, k): s[i].y[j] for i <= j, and y[i].y[j]; (k,) in old checkpoints
    recent: Floats  # objectives of the last iterations
    iteration: int
    evaluations: int
    step: float
    drafting: bool  # whether the cheaper objective is in use
    status: str  # why the run ended; empty while it runs
    scale: float = 0.0  # absolute objective at the start; 0 in old checkpoints

    @property
    def weights(self) -> Floats:
        """The current weights for prediction."""
        return self.w


class LBFGS:
    """Minimise ``f(w) + c1 |w|_1 + c2 |w|_2^2``.

    Parameters
    ----------
    objective : callable
        ``f(w) -> (value, gradient)``, without the penalty.
    c1, c2 : float or array-like
        Penalties, for all parameters or for each; with any `c1` the method is OWL-QN.
    memory : int, optional
        Number of correction pairs that the direction is made of.  By default that of the checkpoint
        that a run continues, else 12, or 20 from 100,000 weights on, where pairs are stored in 16
        bits in place of 32.
    epsilon : float
        Stop when ``|gradient| < epsilon * max(1, |w|)``.
    period, delta : int, float
        Stop when the objective has fallen by less than `delta`, relatively, in `period` iterations.
    max_iterations : int, optional
        Stop after this many; no limit by default.
    max_search : int
        Maximum number of evaluations in one line search.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.
    draft : callable, optional
        A cheaper objective to begin with: the same in single precision.
    draft_delta : float
        The objective replaces the draft when three iterations lower the draft by less than this on
        average, relatively, or by less than single precision can resolve, or when it converges or
        fails.
        The weights and the pairs are kept; convergence is checked again.

    Examples
    --------
    >>> import numpy as np
    >>> target = np.array([3.0, -0.2])
    >>> def distance(w):
    ...     return float((w - target) @ (w - target)) / 2, w - target
    >>> optimiser = LBFGS(distance, c1=1.0)
    >>> state = optimiser.start(np.zeros(2))
    >>> while not state.status:
    ...     state = optimiser.step(state)
    >>> state.w, state.status
    (array([2., 0.]), 'gradient')
    """

    def __init__(
        self,
        objective: Objective,
        c1: npt.ArrayLike = 0.0,
        c2: npt.ArrayLike = 0.0,
        *,
        memory: int | None = None,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float = 1e-5,
        max_iterations: int | None = None,
        max_search: int = 20,
        n_threads: int | None = None,
        draft: Objective | None = None,
        draft_delta: float = 1e-6,
    ) -> None:
        self.objective, self.draft = objective, draft
        self.c1, self.c2 = c1, c2
        self.memory = None if memory is None else whole("memory", memory, 1)
        self.period = whole("period", period, 1)
        self.max_search = whole("max_search", max_search, 1)
        most = None if max_iterations is None else whole("max_iterations", max_iterations, 0)
        self.max_iterations = most
        self.epsilon, self.delta, self.draft_delta = epsilon, delta, draft_delta
        self.n_threads = threads_of(n_threads)
        self._penalties: tuple[Floats, Floats] | None = None

    # -- sizes and settings ------------------------------------------------------------------------

    def settings(self, n: int) -> dict[str, Any]:
        """Return the settings that a state depends on, for comparison before resuming."""
        c1, c2 = self._of_size(n)
        return {"optimiser": "lbfgs", "memory": self.n_pairs(n), "c1": c1, "c2": c2}

    def n_pairs(self, n: int) -> int:
        """Return the number of pairs that are kept for n weights."""
        if self.memory is not None:
            return self.memory
        return PAIRS if n < MANY_WEIGHTS else PAIRS_OF_HALVES

    def keep_pairs_of(self, settings: Mapping[str, Any]) -> None:
        """Keep as many pairs as the run with these settings, unless a number was given."""
        if self.memory is None:
            self.memory = settings.get("memory")

    def room(self, n: int) -> int:
        """Return the bytes that the pairs of n weights take."""
        return self.n_pairs(n) * 2 * n * _kind_of_rows(n).itemsize

    # -- iterations --------------------------------------------------------------------------------

    def start(self, w0: npt.ArrayLike) -> State:
        """Return the state at the initial weights; evaluates the objective once."""
        w = weights(w0)
        drafting = self.draft is not None
        point = self._evaluate(w, drafting)
        if not math.isfinite(point.objective) or not math.isfinite(point.norm):
            expected = "a finite value and gradient at w0"
            remedy = "start from other weights, or look for NaN in the data"
            raise InvalidInput(message("objective", point.objective, expected, remedy))
        none = np.empty(0)
        blank = State(w, w, 0.0, 0.0, 0.0, 0, (), (), NO_PRODUCTS, none, 0, 1, 0.0, drafting, "")
        state = _moved_to(point, blank)._replace(scale=abs(point.objective))
        return self._judged(state)

    def step(self, state: State) -> State:
        """Return the state after one iteration; a finished state is returned unchanged."""
        if state.status:
            return state
        if state.products.ndim == 1:
            s, y = ([_stored(row) for row in rows] for rows in (state.s, state.y))
            state = state._replace(s=tuple(s), y=tuple(y), products=_products(s, y, self.n_threads))
        point, tried = self._search(state)
        evaluations = state.evaluations + tried
        if point is None and state.s:  # the pairs may mislead: retry without them
            state = state._replace(s=(), y=(), products=NO_PRODUCTS)
            point, tried = self._search(state)
            evaluations += tried
        if point is None:
            state = state._replace(evaluations=evaluations)
            return self._undraft(state) if state.drafting else state._replace(status="search")
        after = self._remember(state, point)._replace(
            iteration=state.iteration + 1, evaluations=evaluations, step=point.step
        )
        return self._judged(_moved_to(point, after))

    def reopened(self, state: State) -> State:
        """Return a state that ended only by request, ready to continue."""
        asked = state.status == "max_iterations" and state.iteration < self._most()
        return state._replace(status="") if asked or state.status == "callback" else state

    def _search(self, state: State) -> tuple[Point | None, int]:
        """Return the next point, or None, and the number of evaluations."""
        c1, _ = self._of_size(len(state.w))
        gradient, threads = state.gradient, self.n_threads
        if c1.size:
            gradient = np.empty_like(state.w)
            _kernels.pseudo_gradient(state.w, state.gradient, c1, threads, gradient)
        d = np.empty_like(state.w)
        pairs = state.s, state.y, state.products
        slope = _kernels.direction(gradient, *pairs, state.w, c1, threads, d)
        if not slope < 0.0:
            return None, 0
        tried = 0

        def at(step: float) -> Point:
            nonlocal tried
            tried += 1
            w = np.empty_like(d)
            promise = _kernels.move(state.w, d, step, gradient, c1, threads, w)
            point = self._evaluate(w, state.drafting)._replace(step=step, promise=promise)
            if c1.size:
                return point
            return point._replace(slope=_kernels.dot(point.gradient, d, threads))

        first = 1.0 if state.s else 1.0 / state.gradient_norm
        return search(at, state.objective, slope, first, self.max_search), tried

    def _evaluate(self, w: Floats, drafting: bool) -> Point:
        """Return the point at the weights, with the penalty included."""
        objective = self.draft if drafting and self.draft is not None else self.objective
        c1, c2 = self._of_size(len(w))
        value, plain = evaluate(objective(w), len(w))
        gradient = np.empty_like(w)
        cost, ww, gg, active = _kernels.penalise(w, plain, c1, c2, self.n_threads, gradient)
        total = value + cost
        total = total if math.isfinite(gg) and math.isfinite(total) else math.inf
        return Point(
            0.0, total, math.nan, 0.0, w, gradient, math.sqrt(gg), math.sqrt(ww), int(active)
        )

    def _remember(self, state: State, point: Point) -> State:
        """Return the state with the new correction pair, unless its curvature is too small."""
        n = len(state.w)
        s, y = np.empty((2, n), _kind_of_rows(n))
        ends = point.w, state.w, point.gradient, state.gradient
        ss, yy, sy = _kernels.correction_pair(*ends, self.n_threads, s, y)
        if not math.inf > sy > LEAST_CURVATURE * math.sqrt(ss * yy):
            return state
        keep = max(0, len(state.s) + 1 - self.n_pairs(n))
        pairs = (*state.s[keep:], s), (*state.y[keep:], y)
        products = _with_newest(state.products[:, keep:, keep:], *pairs, self.n_threads)
        return state._replace(s=pairs[0], y=pairs[1], products=products)

    # -- stopping criteria -------------------------------------------------------------------------

    def _judged(self, state: State) -> State:
        """Return the state with the objective recorded, and the status if converged."""
        recent = state.recent[-self.period :]
        status = ""
        if state.gradient_norm <= self.epsilon * max(1.0, state.w_norm):
            status = "gradient"
        elif len(recent) == self.period and self._fell(recent[0], state) < self.delta:
            status = "objective"
        state = state._replace(recent=np.append(recent, state.objective))
        if state.drafting:
            least = max(self.draft_delta * abs(state.objective), DRAFT_NOISE * state.scale)
            last = recent[-DRAFT_ITERATIONS:]
            if status or (last.size and (last[0] - state.objective) / last.size < least):
                state = self._undraft(state)
                status = state.status
        if not status and state.iteration >= self._most():
            status = "max_iterations"
        return state._replace(status=status or state.status)

    def _most(self) -> float:
        return math.inf if self.max_iterations is None else self.max_iterations

    @staticmethod
    def _fell(before: float, state: State) -> float:
        return (before - state.objective) / max(abs(state.objective), 1e-300)

    def _undraft(self, state: State) -> State:
        """Return the state under the full-precision objective, with the same weights and pairs.

        The objectives of the last iterations move by what the two precisions differ here, so that
        `period` goes on across the change. They are dropped where `delta` is so small that the
        rounding errors of single precision could decide.
        """
        point = self._evaluate(state.w, drafting=False)
        recent = state.recent[:-1] + (point.objective - state.objective)
        if 4.0 * DRAFT_NOISE * state.scale > self.delta * abs(point.objective):
            recent = np.empty(0)
        after = _moved_to(point, state._replace(drafting=False, recent=recent))
        return self._judged(after._replace(evaluations=state.evaluations + 1))

    def _of_size(self, n: int) -> tuple[Floats, Floats]:
        """Return c1 and c2 in the form of the kernels."""
        if self._penalties is None:
            self._penalties = penalty("c1", self.c1, n), penalty("c2", self.c2, n)
        return self._penalties


def _kind_of_rows(n: int) -> np.dtype[Any]:
    """Return the type of the rows of pairs of n weights."""
    return np.dtype(np.float32 if n < MANY_WEIGHTS else np.uint16)


def _stored(row: Row) -> Row:
    """Return a row of an old checkpoint in the form in which it is stored now."""
    if _kind_of_rows(len(row)) == row.dtype:
        return row
    single = row.astype(np.float32)  # the first versions kept double precision
    if _kind_of_rows(len(row)) == single.dtype:
        return single
    bits = single.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _with_newest(known: Floats, s: Sequence[Row], y: Sequence[Row], n_threads: int) -> Floats:
    """Return the products of all pairs, given those of all but the newest."""
    columns = np.empty((2, len(s)))
    _kernels.pair_products(s, y, n_threads, columns)
    products = np.zeros((2, len(s), len(s)))
    products[:, :-1, :-1] = known
    products[:, :, -1] = columns
    products[1, -1] = columns[1]
    return products


def _products(s: Sequence[Row], y: Sequence[Row], n_threads: int) -> Floats:
    """Return the products of all pairs."""
    products = NO_PRODUCTS
    for k in range(1, len(s) + 1):
        products = _with_newest(products, s[:k], y[:k], n_threads)
    return products


def _moved_to(point: Point, state: State) -> State:
    return state._replace(
        w=point.w,
        gradient=point.gradient,
        objective=point.objective,
        gradient_norm=point.norm,
        w_norm=point.w_norm,
        n_active=point.n_active,
    )
