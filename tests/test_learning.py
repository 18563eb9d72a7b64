"""Optimisers: against NumPy twins, scipy and the conditions of an optimum; going on from files."""

import io
import itertools
import json
import math
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy import optimize

from caesura import _kernels
from caesura.errors import InvalidInput
from caesura.learning import LBFGS, SGD, AdaGrad, Progress, ProgressLine, minimise
from caesura.learning import checkpoint as files

Floats = npt.NDArray[np.float64]
NONE = np.empty(0)


# -- problems --------------------------------------------------------------------------------------


class Logistic:
    """Logistic regression; a sequence is a row."""

    def __init__(self, rows: int = 200, n: int = 30, seed: int = 0, single: bool = False) -> None:
        random = np.random.default_rng(seed)
        self.x = random.standard_normal((rows, n)) * random.random(n)
        truth = random.standard_normal(n) * (random.random(n) < 0.5)
        self.y = np.where(self.x @ truth + random.logistic(size=rows) > 0, 1.0, -1.0)
        self.single = single
        self.evaluations = 0

    def __len__(self) -> int:
        return len(self.y)

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        self.evaluations += 1
        return self.batch(w, np.arange(len(self)))

    def batch(self, w: Floats, sequences: npt.NDArray[np.int64]) -> tuple[float, Floats]:
        x, y = self.x[sequences], self.y[sequences]
        if self.single:
            x, y, w = x.astype(np.float32), y.astype(np.float32), w.astype(np.float32)
        margin = y * (x @ w)
        value = np.logaddexp(0, -margin).sum()
        gradient = -(x.T @ (y / (1 + np.exp(margin))))
        return float(value), gradient.astype(np.float64)


def quadratic(n: int = 40, seed: int = 0) -> tuple[Any, Floats]:
    random = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(random.standard_normal((n, n)))
    a = rotation @ np.diag(np.geomspace(0.1, 100, n)) @ rotation.T
    b = random.standard_normal(n)
    return lambda w: (float(w @ a @ w / 2 - b @ w), a @ w - b), np.linalg.solve(a, b)


def regularised(f: Any, w: Floats, c1: Any = 0.0, c2: Any = 0.0) -> float:
    return float(f(w)[0] + np.sum(c1 * np.abs(w)) + np.sum(c2 * w * w))


def run(optimiser: Any, w0: Floats) -> list[Any]:
    states = [optimiser.start(w0)]
    while not states[-1].status:
        states.append(optimiser.step(states[-1]))
    return states


def same_bits(a: Any, b: Any) -> bool:
    """Compare tuples of arrays and numbers; NaN equals itself."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype) and a.tobytes() == bytes(b.tobytes())
    return bool(a == b or (a != a and b != b))


# -- the kernels -----------------------------------------------------------------------------------


def two_loops(gradient: Floats, s: list[Floats], y: list[Floats], rho: Floats) -> Floats:
    q, alpha = gradient.copy(), np.zeros(len(s))
    for i in reversed(range(len(s))):
        alpha[i] = rho[i] * (s[i] @ q)
        q -= alpha[i] * y[i]
    if s:
        q *= 1 / (rho[-1] * (y[-1] @ y[-1]))
    for i in range(len(s)):
        q += (alpha[i] - rho[i] * (y[i] @ q)) * s[i]
    return -q


def stored(x: Floats, kind: str) -> Any:
    """Return the array as float32, or as the nearest upper halves of float32."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    if kind == "float32":
        return x.astype(np.float32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def numbers(rows: Any) -> Any:
    """Return the numbers in double precision that rows hold."""
    if rows.dtype == np.float32:
        return rows.astype(np.float64)
    return (rows.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def products_of(s: list[Floats], y: list[Floats]) -> Floats:
    """Return s[i].y[j] for i <= j, and y[i].y[j]."""
    n = len(s[0]) if s else 0
    a, b = np.reshape(s, (len(s), n)), np.reshape(y, (len(y), n))
    return np.stack([np.triu(a @ b.T), b @ b.T])


def vectors(
    n: int, pairs: int, seed: int, kind: str = "float32"
) -> tuple[Floats, list[Any], list[Any], Floats]:
    """Return a gradient, pairs that `kind` can hold, in double precision, and 1 / s.y."""
    random = np.random.default_rng(seed)
    s = [numbers(stored(random.standard_normal(n), kind)) for _ in range(pairs)]
    y = [numbers(stored(one * (0.5 + random.random(n)), kind)) for one in s]
    rho = np.array([1 / (a @ b) for a, b in zip(s, y, strict=True)])
    return random.standard_normal(n), s, y, rho


def direction(
    gradient: Floats, s: list[Any], y: list[Any], w: Floats, c1: Floats, kind: str, out: Floats
) -> float:
    rows = [stored(one, kind) for one in s], [stored(one, kind) for one in y]
    return _kernels.direction(gradient, *rows, products_of(s, y), w, c1, 1, out)


KINDS = st.sampled_from(["float32", "halves"])
SIZES = st.one_of(st.integers(1, 40), st.sampled_from([4095, 4096, 4097, 9001]))


@given(SIZES, st.integers(0, 7), st.integers(0, 2**32), KINDS)
def test_direction_is_that_of_the_twin(n: int, pairs: int, seed: int, kind: str) -> None:
    gradient, s, y, rho = vectors(n, pairs, seed, kind)
    expected = two_loops(gradient, s, y, rho)
    found = np.empty(n)
    slope = direction(gradient, s, y, gradient, NONE, kind, found)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
    assert slope == pytest.approx(float(found @ gradient), rel=1e-9, abs=1e-9)


@given(SIZES, st.integers(0, 7), st.integers(0, 2**32), st.booleans(), KINDS)
def test_direction_under_c1_is_that_of_the_twin(
    n: int, pairs: int, seed: int, each: bool, kind: str
) -> None:
    gradient, s, y, rho = vectors(n, pairs, seed, kind)
    random = np.random.default_rng(seed + 1)
    w = random.choice([-1.0, 0.0, 2.0], n)
    gradient[(w == 0) & (random.random(n) < 0.5)] = 0.0  # weights that c1 keeps at zero
    c1 = random.choice([0.0, 0.5], n) if each else np.ones(1)
    free = np.flatnonzero(gradient)
    s_free, y_free = [a[free] for a in s], [b[free] for b in y]
    usable = [i for i in range(pairs) if len(free) and s_free[i] @ y_free[i] > 1e-8 / rho[i]]
    some = [s_free[i] for i in usable], [y_free[i] for i in usable]
    expected = np.zeros(n)
    expected[free] = two_loops(
        gradient[free], *some, np.array([1 / (a @ b) for a, b in zip(*some, strict=True)])
    )
    sure = np.abs(expected * gradient) > 1e-9
    sure &= np.abs(w + expected) > 1e-9
    expected[(w * (w + expected) <= 0) & (c1 > 0) & (expected * gradient >= 0)] = 0.0
    found = np.empty(n)
    slope = direction(gradient, s, y, w, c1, kind, found)
    sure |= gradient == 0
    np.testing.assert_allclose(found[sure], expected[sure], rtol=1e-6, atol=1e-6)
    assert slope == pytest.approx(float(found @ gradient), rel=1e-9, abs=1e-9)
    assert slope <= 0.0


@given(SIZES, st.integers(0, 2**32))
def test_dot_is_that_of_numpy(n: int, seed: int) -> None:
    a, b = np.random.default_rng(seed).standard_normal((2, n))
    exact = math.fsum(a * b)
    assert abs(_kernels.dot(a, b, 1) - exact) <= 1e-14 * float(np.abs(a * b).sum())


@given(SIZES, st.integers(0, 2**32), KINDS)
def test_correction_pairs_are_those_of_numpy(n: int, seed: int, kind: str) -> None:
    w, w0, g, g0 = np.random.default_rng(seed).standard_normal((4, n))
    rows = stored(w - w0, kind), stored(g - g0, kind)
    s, y = np.empty_like(rows)
    products = _kernels.correction_pair(w, w0, g, g0, 1, s, y)
    assert (s == rows[0]).all()
    assert (y == rows[1]).all()
    expected = numbers(s), numbers(y)
    for found, (a, b) in zip(products, ((0, 0), (1, 1), (0, 1)), strict=True):
        terms = expected[a] * expected[b]
        assert abs(found - math.fsum(terms)) <= 1e-14 * float(np.abs(terms).sum())


@given(SIZES, st.integers(1, 7), st.integers(0, 2**32), KINDS)
def test_products_of_pairs_are_those_of_numpy(n: int, pairs: int, seed: int, kind: str) -> None:
    """Products of halves are added up in single precision, as far as a part of a row goes."""
    _, s, y, _ = vectors(n, pairs, seed, kind)
    rounding = 1e-14 if kind == "float32" else 1e-6
    found = np.empty((2, pairs))
    rows = [stored(one, kind) for one in s], [stored(one, kind) for one in y]
    _kernels.pair_products(*rows, 1, found)
    for row, column in zip((s, y), found, strict=True):
        for one, product in zip(row, column, strict=True):
            terms = one * y[-1]
            assert abs(product - math.fsum(terms)) <= rounding * float(np.abs(terms).sum())


@pytest.mark.parametrize("kind", ["float32", "halves"])
@pytest.mark.parametrize("n", [1000, 4096 * 16, 300_001])
def test_kernels_give_the_same_bits_on_any_number_of_threads(n: int, kind: str) -> None:
    gradient, s, y, _ = vectors(n, 3, 0, kind)
    products = products_of(s, y)
    rows = [stored(one, kind) for one in s], [stored(one, kind) for one in y]
    c1, c2 = np.array([0.3]), np.random.default_rng(1).random(n)
    answers = []
    for n_threads in (1, 2, 3, 7):
        outs, pair, columns = np.zeros((5, n)), np.zeros((2, n), rows[0][0].dtype), np.zeros((2, 3))
        sparse = np.where(np.abs(s[0]) > 1, s[0], 0.0)
        numbers = [
            _kernels.dot(s[0], y[0], n_threads),
            _kernels.direction(gradient, *rows, products, sparse, NONE, n_threads, outs[0]),
            _kernels.direction(gradient, *rows, products, sparse, c1, n_threads, outs[1]),
            _kernels.penalise(sparse, gradient, c1, c2, n_threads, outs[2]),
            _kernels.move(sparse, outs[1], 0.7, gradient, c1, n_threads, outs[4]),
            _kernels.correction_pair(s[1], y[1], s[2], y[2], n_threads, *pair),
            _kernels.pair_products(*rows, n_threads, columns),
        ]
        _kernels.pseudo_gradient(sparse, gradient, c1, n_threads, outs[3])
        answers.append((str(numbers), outs, pair, columns))
    for other in answers[1:]:
        assert same_bits(answers[0], other)


@pytest.mark.parametrize("n", [40, 100_000])
def test_a_state_of_an_earlier_version_goes_on(n: int) -> None:
    """It had the pairs in single precision, and 1 / s.y in place of all products."""
    scale = np.linspace(1.0, 9.0, n)
    optimiser = LBFGS(lambda w: (float(w @ (scale * w)), 2.0 * scale * w), epsilon=1e-12)
    state = optimiser.start(np.ones(n))
    for _ in range(4):
        state = optimiser.step(state)
    kind = "float32" if n < 100_000 else "halves"
    rows = [[numbers(row) for row in side] for side in (state.s, state.y)]
    assert [stored(row, kind).dtype for row in rows[0]] == [row.dtype for row in state.s]
    s, y = (tuple(row.astype(np.float32) for row in side) for side in rows)
    old = state._replace(s=s, y=y, products=np.ones(len(s)))
    assert same_bits(optimiser.step(old), optimiser.step(state))


@pytest.mark.parametrize(("n", "pairs"), [(99_999, 12), (100_000, 20)])
def test_there_are_more_pairs_where_they_are_halves(n: int, pairs: int) -> None:
    optimiser = LBFGS(lambda w: (0.0, w))
    assert optimiser.n_pairs(n) == pairs
    assert optimiser.room(n) == pairs * 2 * n * (4 if pairs == 12 else 2)
    assert LBFGS(lambda w: (0.0, w), memory=3).n_pairs(n) == 3


@given(st.integers(1, 30), st.integers(0, 2**32), st.sampled_from(["none", "one", "each"]))
def test_penalties_are_those_of_numpy(n: int, seed: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    w, g, d = random.standard_normal((3, n)) * (random.random((3, n)) < 0.7)
    c1 = np.zeros(n) if kind == "none" else np.full(n, 0.4)
    c2 = np.zeros(n) if kind == "none" else np.full(n, 0.3)
    if kind == "each":
        c1, c2 = random.random(n) * (random.random(n) < 0.7), random.random(n)
    k1, k2 = (c[: {"none": 0, "one": 1, "each": n}[kind]] for c in (c1, c2))
    out = np.empty(n)
    cost, ww, gg, active = _kernels.penalise(w, g, k1, k2, 1, out)
    smooth = g + 2 * c2 * w
    np.testing.assert_allclose(out, smooth, rtol=1e-14)
    low, high = smooth - c1, smooth + c1  # the derivatives at 0 to the left and to the right
    at_zero = np.where(high < 0, high, np.where(low > 0, low, 0.0))
    pseudo = np.where(w > 0, high, np.where(w < 0, low, at_zero))
    assert cost == pytest.approx(float(np.sum(c1 * np.abs(w)) + np.sum(c2 * w * w)))
    assert ww == pytest.approx(float(w @ w))
    assert gg == pytest.approx(float(pseudo @ pseudo))
    assert active == np.count_nonzero(w)
    _kernels.pseudo_gradient(w, smooth, k1, 1, out)
    np.testing.assert_allclose(out, pseudo, rtol=1e-14)
    _kernels.move(w, d, 0.5, pseudo, k1, 1, out)
    moved = w + 0.5 * d
    leaves = np.sign(moved) != np.where(w != 0, np.sign(w), -np.sign(pseudo))
    np.testing.assert_allclose(out, np.where(leaves & (c1 > 0), 0.0, moved), rtol=1e-14)


def test_kernels_refuse_sizes_that_differ() -> None:
    with pytest.raises(ValueError, match="sizes differ"):
        _kernels.dot(np.zeros(3), np.zeros(4), 1)
    with pytest.raises(ValueError, match="expected 0, 1 or n"):
        _kernels.penalise(np.zeros(3), np.zeros(3), np.ones(2), NONE, 1, np.zeros(3))


# -- L-BFGS ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("c2", [0.0, 0.1, 3.0])
def test_lbfgs_finds_the_optimum_that_scipy_finds(c2: float) -> None:
    f = Logistic()

    def both(w: Floats) -> tuple[float, Floats]:
        value, gradient = f(w)
        return value + c2 * float(w @ w), gradient + 2 * c2 * w

    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000}
    peer = optimize.minimize(both, np.zeros(30), jac=True, method="L-BFGS-B", options=options)
    result = minimise(LBFGS(f, c2=c2, epsilon=1e-9, delta=0.0), np.zeros(30))
    assert result.status in {"gradient", "search", "objective"}
    assert result.objective == pytest.approx(peer.fun, rel=1e-10)
    np.testing.assert_allclose(result.w, peer.x, rtol=1e-5, atol=1e-5)
    assert result.objective == pytest.approx(regularised(f, result.w, c2=c2), rel=1e-13)


def test_lbfgs_solves_a_quadratic() -> None:
    f, solution = quadratic()
    result = minimise(LBFGS(f, epsilon=1e-10, delta=0.0), np.zeros(40))
    np.testing.assert_allclose(result.w, solution, atol=1e-5)
    assert result.objective == pytest.approx(f(solution)[0], rel=1e-12)


@pytest.mark.parametrize("c1", [0.0, 1.0])
def test_objective_never_rises(c1: float) -> None:
    states = run(LBFGS(Logistic(), c1=c1, c2=0.01, delta=1e-12, epsilon=1e-9), np.ones(30))
    values = [state.objective for state in states]
    assert values == sorted(values, reverse=True)


def test_mostly_one_evaluation_in_an_iteration() -> None:
    f = Logistic(n=60)
    result = minimise(LBFGS(f, c2=0.1), np.zeros(60))
    assert result.history[-1].evaluations == f.evaluations
    assert f.evaluations <= 1.3 * len(result.history) + 3


def test_lbfgs_works_far_from_the_optimum_and_past_infinity() -> None:
    def steep(w: Floats) -> tuple[float, Floats]:  # sum of exp(w) - w: infinite soon
        with np.errstate(over="ignore"):
            return float(np.sum(np.exp(w) - w)), np.exp(w) - 1

    result = minimise(LBFGS(steep, epsilon=1e-10), np.full(3, 40.0))
    np.testing.assert_allclose(result.w, 0.0, atol=1e-6)
    result = minimise(LBFGS(steep, epsilon=1e-10), np.full(3, -800.0))
    np.testing.assert_allclose(result.w, 0.0, atol=1e-6)


def test_rosenbrock_is_not_convex() -> None:
    result = minimise(
        LBFGS(lambda w: (float(optimize.rosen(w)), optimize.rosen_der(w)), delta=0.0, epsilon=1e-9),
        np.array([-1.2, 1.0, -0.5, 2.0]),
    )
    np.testing.assert_allclose(result.w, 1.0, rtol=1e-6)


def test_a_search_that_fails_is_told() -> None:
    random = np.random.default_rng(0)  # a gradient that has nothing to do with the value
    result = minimise(LBFGS(lambda w: (float(w @ w), random.standard_normal(3))), np.ones(3))
    assert result.status in {"search", "objective"}
    result = minimise(LBFGS(lambda w: (float(w @ w), -2 * w)), np.ones(3))
    assert result.status == "search"
    np.testing.assert_array_equal(result.w, 1.0)


@pytest.mark.parametrize("memory", [1, 2, 20])
@pytest.mark.parametrize("c1", [0.0, 0.5])
def test_any_memory(memory: int, c1: float) -> None:
    f = Logistic()
    settings: Any = {"c1": c1, "c2": 0.1, "epsilon": 1e-8, "delta": 0.0}
    best = minimise(LBFGS(f, **settings), np.zeros(30))
    other = minimise(LBFGS(f, memory=memory, **settings), np.zeros(30))
    assert other.objective == pytest.approx(best.objective, rel=1e-9)
    assert len(other.state.s) <= memory


# -- OWL-QN ----------------------------------------------------------------------------------------


def proximal(f: Any, c1: Any, c2: float, n: int, bound: float) -> Floats:
    """Minimise by accelerated proximal gradient steps of length 1 / bound, restarted."""
    w, ahead, t = np.zeros(n), np.zeros(n), 1.0
    for _ in range(20_000):
        stepped = ahead - (f(ahead)[1] + 2 * c2 * ahead) / bound
        new = np.sign(stepped) * np.maximum(np.abs(stepped) - c1 / bound, 0)
        if (ahead - new) @ (new - w) > 0:
            t = 1.0
        t_new = (1 + math.sqrt(1 + 4 * t * t)) / 2
        w, ahead, t = new, new + (t - 1) / t_new * (new - w), t_new
    return w


@pytest.mark.parametrize("c2", [0.0, 0.2])
@pytest.mark.parametrize("groups", [False, True])
def test_owlqn_finds_the_optimum_of_the_lasso(c2: float, groups: bool) -> None:
    f = Logistic()
    c1 = np.where(np.arange(30) % 3 == 0, 0.0, 2.0) if groups else np.float64(2.0)
    bound = 0.25 * float(np.linalg.eigvalsh(f.x.T @ f.x)[-1]) + 2 * c2
    expected = proximal(f, c1, c2, 30, bound)
    result = minimise(LBFGS(f, c1, c2, epsilon=1e-9, delta=0.0), np.zeros(30))
    assert result.objective == pytest.approx(regularised(f, expected, c1, c2), rel=1e-10)
    assert result.objective == pytest.approx(regularised(f, result.w, c1, c2), rel=1e-13)
    np.testing.assert_allclose(result.w, expected, atol=1e-4)
    # 0 lies in the subdifferential: the conditions of Karush, Kuhn and Tucker.
    smooth = f(result.w)[1] + 2 * c2 * result.w
    on, every = result.w != 0, np.broadcast_to(c1, 30)
    np.testing.assert_allclose(smooth[on], -(every * np.sign(result.w))[on], atol=1e-4)
    assert (np.abs(smooth[~on]) <= every[~on] + 1e-4).all()
    assert result.history[-1].n_active == np.count_nonzero(on) < 30


def test_a_strong_penalty_leaves_nothing() -> None:
    result = minimise(LBFGS(Logistic(), c1=1e4), np.ones(30))
    assert not result.w.any()


# -- SGD and AdaGrad -------------------------------------------------------------------------------

STOCHASTIC: dict[str, Any] = {"batch_size": 8, "max_iterations": 150, "delta": 0.0, "period": 200}


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("c2", [0.5, 5.0])
def test_sgd_comes_close(c2: float, average: bool) -> None:
    f = Logistic()
    best = minimise(LBFGS(f, c2=c2, epsilon=1e-8), np.zeros(30)).objective
    result = minimise(SGD(f, c2, average=average, **STOCHASTIC), np.zeros(30))
    close = 1e-3 if average else 5e-3
    assert best <= regularised(f, result.w, c2=c2) <= best * (1 + close)


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.5), (0.0, 5.0), (2.0, 0.0), (1.0, 0.5)])
def test_adagrad_comes_close(c1: float, c2: float) -> None:
    f = Logistic()
    best = minimise(LBFGS(f, c1, c2, epsilon=1e-8), np.zeros(30))
    result = minimise(AdaGrad(f, c1, c2, rate=0.1, **STOCHASTIC), np.zeros(30))
    value = regularised(f, result.w, c1, c2)
    assert best.objective * (1 - 1e-9) <= value <= best.objective * (1 + 1e-3)
    if c1 == 2.0:
        assert np.count_nonzero(result.w) < 30


def test_the_rate_that_is_found_lowers_the_objective() -> None:
    f = Logistic()
    state = SGD(f, 1.0).start(np.zeros(30))
    assert state.rate > 0.0
    assert state.evaluations > 0
    first = SGD(f, 1.0).step(state)
    assert regularised(f, first.weights, c2=1.0) < f(np.zeros(30))[0]


def test_the_seed_decides_the_order() -> None:
    def trained(seed: int) -> Floats:
        return minimise(SGD(Logistic(), 1.0, rate=0.1, seed=seed, max_iterations=2), np.zeros(30)).w

    np.testing.assert_array_equal(trained(1), trained(1))
    assert (trained(1) != trained(2)).any()


def test_a_rate_that_is_too_high_is_told() -> None:
    class Steep:
        def __len__(self) -> int:
            return 4

        def batch(self, w: Floats, sequences: npt.NDArray[np.int64]) -> tuple[float, Floats]:
            with np.errstate(all="ignore"):
                return float(np.sum(w**4)), 4 * w**3

    result = minimise(SGD(Steep(), rate=1e3, batch_size=1), np.ones(2))
    assert result.status == "diverged"


# -- going on --------------------------------------------------------------------------------------


def optimisers(n_threads: int = 1) -> dict[str, Any]:
    f, rough = Logistic(), Logistic(single=True)
    few: Any = {"batch_size": 16, "max_iterations": 6, "n_threads": n_threads}
    return {
        "lbfgs": LBFGS(f, c2=0.1, n_threads=n_threads),
        "owlqn": LBFGS(f, c1=1.0, c2=0.1, n_threads=n_threads),
        "mixed": LBFGS(f, c2=0.1, n_threads=n_threads, draft=rough, draft_delta=1e-2),
        "sgd": SGD(f, 1.0, **few),
        "adagrad": AdaGrad(f, 1.0, 1.0, **few),
        "averaged adagrad": AdaGrad(f, 0.0, 1.0, **few),
    }


NAMES = list(optimisers())


class Persistence(types.ModuleType):
    """A stand-in with the signatures of caesura.persistence."""

    @staticmethod
    def write(path: Any, kind: str, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        kept = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(kept, path, {"kind": kind, "header": json.dumps(header, allow_nan=False)})

    @staticmethod
    def read(path: Any, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
        with safe_open(path, "numpy") as file:
            assert file.metadata()["kind"] == kind
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return json.loads(file.metadata()["header"]), arrays


@pytest.fixture
def persistence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "caesura.persistence", Persistence("caesura.persistence"))


@pytest.mark.usefixtures("persistence")
@pytest.mark.parametrize("name", NAMES)
def test_going_on_from_any_state_in_a_file_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    states = run(optimisers()[name], np.zeros(30))
    assert len(states) > 5
    for before, after in itertools.pairwise(states):
        optimiser = optimisers()[name]
        settings = optimiser.settings(30)
        files.write(tmp_path / "run", {"state": before, "none": None}, settings)
        read = files.read(tmp_path / "run", settings)
        assert same_bits(read["state"], before)
        assert read["none"] is None
        assert same_bits(optimiser.step(read["state"]), after)


@pytest.mark.parametrize("name", NAMES)
def test_states_are_the_same_on_any_number_of_threads(name: str) -> None:
    once = run(optimisers(1)[name], np.zeros(30))
    assert same_bits(tuple(once), tuple(run(optimisers(3)[name], np.zeros(30))))


def test_many_parameters_on_any_number_of_threads() -> None:
    scale = np.random.default_rng(0).random(300_000) + 0.1

    def f(w: Floats) -> tuple[float, Floats]:
        away = w - 1
        return float(np.sum(scale * away * away)), 2 * scale * away

    results = [
        minimise(LBFGS(f, c1, 0.1, max_iterations=6, n_threads=n_threads), np.zeros(300_000))
        for n_threads in (1, 2, 5)
        for c1 in (0.0, 0.3)
    ]
    assert same_bits(results[0].state, results[2].state)
    assert same_bits(results[0].state, results[4].state)
    assert same_bits(results[1].state, results[3].state)


class Interrupted(Exception):  # noqa: N818
    pass


@pytest.mark.usefixtures("persistence")
@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_run_ends_with_the_same_result(name: str, tmp_path: Path) -> None:
    def score(w: Floats) -> float:
        return -abs(float(w[0]) - 0.05)

    expected = minimise(optimisers()[name], np.zeros(30), dev_score=score)

    def interrupt(progress: Progress) -> None:
        if progress.iteration in {1, 3, 4}:
            raise Interrupted

    path = tmp_path / "run"
    options: Any = {"dev_score": score, "checkpoint": path, "save_every": 2}
    for _ in range(3):
        with pytest.raises(Interrupted):
            minimise(optimisers()[name], np.zeros(30), callback=interrupt, **options)
    result = minimise(optimisers()[name], np.zeros(30), callback=interrupt, **options)
    again = minimise(optimisers()[name], np.zeros(30), **options)  # nothing is left to do
    for other in (result, again):
        assert same_bits(other.w, expected.w)
        assert same_bits(other.state, expected.state)
        histories = [[p._replace(seconds=0.0) for p in r.history] for r in (other, expected)]
        assert same_bits(tuple(histories[0]), tuple(histories[1]))


@pytest.mark.usefixtures("persistence")
@pytest.mark.parametrize("name", ["lbfgs", "sgd"])
def test_more_iterations_go_on_from_the_last(name: str, tmp_path: Path) -> None:
    def optimiser(most: int) -> Any:
        made = optimisers()[name]
        made.max_iterations = most
        return made

    expected = minimise(optimiser(5), np.zeros(30))
    first = minimise(optimiser(3), np.zeros(30), checkpoint=tmp_path / "run")
    assert (first.status, len(first.history)) == ("max_iterations", 3)
    second = minimise(optimiser(5), np.zeros(30), checkpoint=tmp_path / "run")
    assert same_bits(second.state, expected.state)


@pytest.mark.usefixtures("persistence")
def test_a_run_with_other_settings_is_refused(tmp_path: Path) -> None:
    f, path = Logistic(), tmp_path / "run"
    minimise(LBFGS(f, c2=0.1), np.zeros(30), checkpoint=path, about={"data": "a"})
    with pytest.raises(InvalidInput, match="c2"):
        minimise(LBFGS(f, c2=0.2), np.zeros(30), checkpoint=path, about={"data": "a"})
    with pytest.raises(InvalidInput, match="data"):
        minimise(LBFGS(f, c2=0.1), np.zeros(30), checkpoint=path, about={"data": "b"})
    with pytest.raises(InvalidInput, match="optimiser"):
        minimise(SGD(f, 0.1), np.zeros(30), checkpoint=path, about={"data": "a"})


# -- a draft in single precision -------------------------------------------------------------------


@pytest.mark.parametrize("c1", [0.0, 1.0])
def test_a_draft_ends_where_the_objective_does(c1: float) -> None:
    f, rough = Logistic(n=60), Logistic(n=60, single=True)
    settings: Any = {"c1": c1, "c2": 0.01, "delta": 1e-9, "epsilon": 1e-7}
    alone = minimise(LBFGS(f, **settings), np.zeros(60))
    f.evaluations = 0
    states = run(LBFGS(f, draft=rough, **settings), np.zeros(60))
    drafts = [state.drafting for state in states]
    assert drafts == sorted(drafts, reverse=True)
    assert drafts[0]
    assert not drafts[-1]
    switch = drafts.index(False)
    assert len(states[switch].s) > 1  # the pairs are kept
    assert states[-1].objective == pytest.approx(alone.objective, rel=1e-8)
    assert rough.evaluations > 3
    assert f.evaluations < alone.state.evaluations
    assert states[-1].evaluations == f.evaluations + rough.evaluations


def test_the_period_goes_on_across_the_end_of_a_draft() -> None:
    """A draft that is the objective itself ends after as many iterations as no draft."""
    f = Logistic(n=60)
    settings: dict[str, Any] = {"c2": 0.1, "delta": 1e-3, "epsilon": 0.0}
    plain = run(LBFGS(f, **settings), np.zeros(60))
    drafted = run(LBFGS(f, draft=f, draft_delta=0.0, **settings), np.zeros(60))
    assert plain[-1].status == drafted[-1].status == "objective"
    assert plain[-1].iteration == drafted[-1].iteration
    assert 0 < sum(state.drafting for state in drafted) < len(drafted)
    # Single precision cannot resolve so small a delta: the last `period` iterations are in double.
    fine = run(LBFGS(f, draft=f, c2=0.1, delta=1e-9, epsilon=0.0), np.zeros(60))
    assert sum(not state.drafting for state in fine) > 10


def test_a_draft_that_converges_in_its_last_iteration_has_converged() -> None:
    def f(w: Floats) -> tuple[float, Floats]:
        return float(((w - 3) ** 2).sum()) + 1, 2 * (w - 3)

    state = run(LBFGS(f, draft=f, max_iterations=2), np.zeros(3))[-1]
    assert (state.iteration, state.status) == (2, "gradient")


def test_a_draft_that_fails_is_left() -> None:
    f = Logistic()

    def wrong(w: Floats) -> tuple[float, Floats]:
        value, gradient = f(w)
        return value, -gradient

    result = minimise(LBFGS(f, c2=0.1, draft=wrong), np.zeros(30))
    expected = minimise(LBFGS(f, c2=0.1), np.zeros(30))
    assert result.objective == pytest.approx(expected.objective, rel=1e-6)


# -- the loop --------------------------------------------------------------------------------------


def test_callbacks_see_each_iteration_and_stop() -> None:
    seen: list[Progress] = []

    def callback(progress: Progress) -> bool:
        seen.append(progress)
        return progress.iteration == 4

    result = minimise(LBFGS(Logistic(), c2=0.1), np.zeros(30), callback=callback)
    assert result.status == "callback"
    assert [p.iteration for p in seen] == [1, 2, 3, 4]
    assert result.history == tuple(seen)
    assert all(p.dev_score is None and p.seconds >= 0.0 for p in seen)


def test_patience_keeps_the_last_of_the_best_weights() -> None:
    scores = iter([1.0, 3.0, 2.0, 3.0, 1.0, 9.0])
    kept: list[Floats] = []

    def score(w: Floats) -> float:
        kept.append(w)
        return next(scores)

    result = minimise(LBFGS(Logistic(), c2=0.1), np.zeros(30), dev_score=score, patience=3)
    assert result.status == "patience"
    assert [p.dev_score for p in result.history] == [1.0, 3.0, 2.0, 3.0, 1.0]
    np.testing.assert_array_equal(result.w, kept[3])
    assert (kept[3] != kept[1]).any()


def test_scores_within_a_standard_error_of_the_best_count_as_equal() -> None:
    scores = iter([0.5, 0.9, 0.7, 0.82, 0.79, 0.95, 0.86, 0.84])
    kept: list[Floats] = []

    def score(w: Floats) -> float:
        kept.append(w)
        return next(scores)

    options: dict[str, Any] = {"dev_score": score, "standard_error": lambda best: 0.1 * best}
    result = minimise(LBFGS(Logistic(), c2=0.1, max_iterations=8), np.zeros(30), **options)
    np.testing.assert_array_equal(result.w, kept[6])  # 0.86 is the last above 0.855
    scores = iter([0.5, 0.9, 0.7, 0.82, 0.79, 0.95, 0.86, 0.84])
    kept.clear()
    result = minimise(LBFGS(Logistic(), c2=0.1, max_iterations=5), np.zeros(30), **options)
    np.testing.assert_array_equal(result.w, kept[3])  # 0.82, of 0.81


@pytest.mark.parametrize("scores", [[1.0] * 4, [float("nan")] * 4])
def test_no_gain_ends_the_run_however_often_the_score_comes_again(scores: list[float]) -> None:
    said, kept = iter(scores), list[Floats]()

    def score(w: Floats) -> float:
        kept.append(w)
        return next(said)

    result = minimise(LBFGS(Logistic(), c2=0.1), np.zeros(30), dev_score=score, patience=3)
    assert (result.status, len(result.history)) == ("patience", 4)
    np.testing.assert_array_equal(result.w, kept[-1 if scores[0] == 1.0 else 0])


def test_the_line_tells_and_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    f = Logistic()
    with ProgressLine() as line:
        minimise(LBFGS(f, c2=0.1), np.zeros(30), callback=line)
    assert capsys.readouterr() == ("", "")
    with ProgressLine(show=True, max_iterations=9) as line:
        minimise(LBFGS(f, c2=0.1), np.zeros(30), callback=line, dev_score=lambda w: 0.5)
        text = line.line()
    assert all(part in text for part in ("iteration", "objective", "gradient", "F1 0.5000", "left"))
    out, err = capsys.readouterr()
    assert out == ""
    assert "objective" in err


def test_the_line_fits() -> None:
    line = ProgressLine(show=False, max_iterations=100_000)
    line._history = [
        Progress(i, 123456.789 + 1 / i, 1.23e-05, 1.0, i, 7, 700.0 * i, 0.98765)
        for i in range(12_300, 12_345)
    ]
    parts = ["iteration 12344", "objective 123457", "F1 0.9877", "left", "gradient", "gone"]
    whole, shown = line.line(), 6
    assert all(part in whole for part in parts)
    for width in range(len(whole), 0, -1):
        text = line.line(width)
        assert whole.startswith(text)
        assert len(text) <= width or text == parts[0]
        assert len(text.split("  ")) <= shown
        shown = len(text.split("  "))
    assert all(part in line.line(60) for part in parts[:3])
    assert all(part in line.line(80) for part in parts[:5])
    assert shown == 1


@pytest.mark.parametrize("width", [60, 80])
def test_the_line_is_one_line(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ProgressLine(show=True, max_iterations=9) as line:
        line(Progress(12345, 123456.789, 1.23e-05, 1.0, 4, 7, 7200.0, 0.98765))
    drawn = re.split(r"\x1b\[2K|[\r\n]", capsys.readouterr().err)  # again and again in one place
    shown = {re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", one) for one in drawn} - {""}
    assert len(shown) == 1
    [text] = shown
    assert text.startswith("iteration 12345")
    assert len(text) <= width


def test_without_iterations_the_start_is_the_end() -> None:
    for optimiser in (LBFGS(Logistic(), max_iterations=0), SGD(Logistic(), max_iterations=0)):
        result = minimise(optimiser, np.ones(30))
        assert (result.status, result.history) == ("max_iterations", ())
        np.testing.assert_array_equal(result.w, 1.0)


def test_no_parameters_at_all() -> None:
    result = minimise(LBFGS(lambda w: (1.0, w)), np.zeros(0))
    assert (result.status, result.objective) == ("gradient", 1.0)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"c1": -1.0}, "c1: got -1"),
        ({"c2": np.inf}, "c2: got inf"),
        ({"c2": [1.0, 2.0]}, "c2: got .shape"),
        ({"memory": 0}, "memory"),
        ({"period": 0}, "period"),
        ({"max_iterations": -1}, "max_iterations"),
        ({"n_threads": 0}, "n_threads"),
        ({"w0": [np.nan]}, "w0: got 'NaN"),
        ({"w0": [[1.0]]}, "w0: got .shape"),
        ({"objective": lambda w: (1.0, w[:2])}, "objective: got .shape"),
        ({"objective": lambda w: (math.nan, w)}, "objective: got inf"),
    ],
)
def test_bad_input_is_named(wrong: dict[str, Any], text: str) -> None:
    w0 = wrong.pop("w0", np.zeros(3))
    with pytest.raises(InvalidInput, match=text):
        minimise(LBFGS(wrong.pop("objective", lambda w: (0.0, w)), **wrong), w0)


@pytest.mark.parametrize(
    "wrong", [{"rate": 0.0}, {"batch_size": 0}, {"seed": -1}, {"max_iterations": -1}, {"c2": -1.0}]
)
def test_bad_input_to_sgd_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        SGD(Logistic(), **wrong).start(np.zeros(30))


def test_rich_is_imported_only_when_used() -> None:
    code = "import sys, caesura.learning; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_nothing_is_written_by_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    minimise(LBFGS(Logistic()), np.zeros(30), callback=lambda p: bool(stream.write("x") and False))
    assert stream.getvalue()
    assert capsys.readouterr() == ("", "")
