"""Online learning: updates of the weights that a batch touches, against updates of all of them."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_cases import Case

from caesura import _kernels
from caesura.learning import SGD, AdaGrad
from caesura.learning.sgd import EpochState
from caesura.models.training import Corpora

Floats = npt.NDArray[np.float64]


class Dense:
    """The same objective without `epoch`: the optimisers update whole vectors themselves."""

    def __init__(self, corpora: Corpora) -> None:
        self.corpora = corpora

    def __len__(self) -> int:
        return len(self.corpora)

    def batch(self, w: Floats, sequences: npt.NDArray[Any]) -> tuple[float, Floats]:
        return self.corpora.batch(w, sequences)


def penalties(case: Case, kind: str, most: float) -> Any:
    n = len(case.w)
    if kind == "none":
        return 0.0
    return most if kind == "one" else case.rng.choice([0.0, most / 3, most], n)


def close(a: EpochState, b: EpochState) -> None:
    for name in ("w", "average", "squares"):
        found, expected = getattr(a, name), getattr(b, name)
        scale = max(1.0, float(np.abs(b.w).max(initial=0.0)))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * scale, err_msg=name)
    assert a.objective == pytest.approx(b.objective, rel=1e-9, abs=1e-9)
    assert a.batches == b.batches
    assert a.step == pytest.approx(b.step, rel=1e-12)


def compare(case: Case, make: Any, near: bool) -> None:
    """Compare three epochs from weights that are not zero, each from the state before."""
    centre = case.w if near else None
    corpora = Corpora(case.objective(), 1, False, centre)
    fast, slow = make(corpora), make(Dense(corpora))
    w0 = np.zeros(len(case.w)) if near else case.w / 3
    one, other = fast.start(w0), slow.start(w0)
    if one.squares.size > 1:
        # AdaGrad moves a weight by the rate however small its first gradient is, and where that is
        # nothing but rounding, the sign is a matter of chance: the squares begin above zero.
        squares = case.rng.choice([0.01, 0.1, 1.0], len(w0))
        one, other = one._replace(squares=squares), other._replace(squares=squares)
    for _ in range(3):
        one, other = fast.step(one), slow.step(other)
        close(one, other)


options = st.fixed_dictionaries(
    {"batch_size": st.integers(1, 4), "average": st.booleans(), "rate": st.floats(0.01, 1.0)}
)
kinds = st.sampled_from(["none", "one", "each"])


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), options, kinds, st.booleans(), st.booleans(), st.integers(0, 2))
def test_sgd_is_its_dense_twin(
    seed: int, chosen: dict[str, Any], kind: str, near: bool, partial: bool, order: int
) -> None:
    case = Case(seed, partial=partial, order=order and order + 1)
    c2 = penalties(case, kind, 1.0)
    compare(case, lambda f: SGD(f, c2, seed=seed, delta=0.0, **chosen), near)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6), options, kinds, kinds, st.booleans(), st.booleans(), st.integers(0, 2)
)
def test_adagrad_is_its_dense_twin(
    seed: int,
    chosen: dict[str, Any],
    kind1: str,
    kind2: str,
    near: bool,
    partial: bool,
    order: int,
) -> None:
    case = Case(seed, partial=partial, order=order and order + 1)
    c1, c2 = penalties(case, kind1, 0.3), penalties(case, kind2, 1.0)
    compare(case, lambda f: AdaGrad(f, c1, c2, seed=seed, delta=0.0, **chosen), near)


@pytest.mark.parametrize("rate", [1.0, 2.0, 5.0, 100.0])
def test_scales_may_be_zero_negative_or_large(rate: float) -> None:
    """A step of SGD multiplies the weights by ``1 - 2 * rate * c2 / N``, whatever that is."""
    case = Case(7, scale=0.1)
    n = len(case.lengths)
    chosen: dict[str, Any] = {"rate": rate, "batch_size": 1, "delta": 0.0}
    for average in (True, False):
        corpora = Corpora(case.objective(), 1)
        one = SGD(corpora, n / (2 * rate), average=average, **chosen)
        other = SGD(Dense(corpora), n / (2 * rate), average=average, **chosen)
        a, b = one.start(case.w), other.start(case.w)
        for _ in range(3):
            a, b = one.step(a), other.step(b)
            close(a, b)


def test_a_thousand_penalties_are_updated_densely() -> None:
    case = next(case for case in map(Case, range(1000)) if len(case.w) > 300)
    c2 = np.linspace(0.0, 1.0, len(case.w))
    compare(case, lambda f: SGD(f, c2, rate=0.1, batch_size=2, delta=0.0), near=False)


def test_weights_out_of_the_fast_range() -> None:
    for seed in range(30):
        case = Case(seed, scale=400.0)
        compare(case, lambda f: AdaGrad(f, 0.0, 0.1, rate=0.5, batch_size=1, delta=0.0), False)


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_the_clock_changes_nothing(seconds: float) -> None:
    """A pass that is interrupted after every batch ends with the same bits."""
    case = Case(11)
    objective, n = case.objective(), len(case.w)
    order = np.arange(len(case.lengths), dtype=np.int32)
    ends = []
    for part in (seconds, 100.0):
        w, average, squares = case.w.copy(), case.w.copy(), np.zeros(n)
        one = np.ones(1)
        run = _kernels.OnlinePass(
            objective, True, True, 0.1, 0.0, 1.0, len(order), np.zeros(n, np.uint8), 0 * one, one,
            None, w, average, squares, 5,
        )  # fmt: skip
        at, calls = 0, 0
        while at < len(order):
            at, calls = run.run(order, at, 2, part), calls + 1
        assert calls == (len(order) + 1) // 2 if part == 0.0 else 1
        run.finish(w, average, squares)
        ends.append((w, average, squares, run.loss, run.done))
    for a, b in zip(*ends, strict=True):
        np.testing.assert_array_equal(a, b)
