"""Learners with a margin: their steps against dense twins, and what they find."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from learning_cases import Case
from test_losses import Read, chain_case, loss_of, rows_of

import caesura
from caesura import _kernels
from caesura._kernels import PathStep as Step
from caesura.features import word
from caesura.inference import reference
from caesura.learning import LBFGS, minimise
from caesura.learning.cutting_plane import CuttingPlane
from caesura.learning.exponentiated import ExponentiatedGradient
from caesura.learning.frank_wolfe import FrankWolfe
from caesura.learning.path_learners import AROW, PassiveAggressive, PathState, Perceptron
from caesura.models.margin import set_loss
from caesura.models.objective import Corpora

Floats = npt.NDArray[np.float64]
seeds, orders = st.integers(0, 10**6), st.sampled_from([0, 2])
losses = st.sampled_from(["none", "hamming", "segments", "zero-one"])


class Dense:
    """The same steps over whole vectors, one sequence after the other."""

    def __init__(self, case: Case, objective: _kernels.Objective, loss: str) -> None:
        self.case, self.objective, self.loss = case, objective, loss
        self.every: list[Floats] = []  # the weights after each step

    def __len__(self) -> int:
        return len(self.objective)

    def differs(self, w: Floats, i: int) -> tuple[Floats, float] | None:
        """Return counts(gold) - counts(best) and the margin, or None where the best is gold."""
        case = self.case
        if self.loss == "none" and case.lengths[i]:  # of equals, either may be the best
            two = caesura.n_best(case.potentials(i, w), 2)
            assume(len(two) < 2 or two[0].score > two[1].score + 1e-9)
        *path, cost = self.objective.best(w, i, self.loss != "none")
        gold = case.rows[case.ptr[i] : case.ptr[i + 1]]
        columns = np.array(gold, np.int32).reshape(-1, 3).T.copy()
        if all(np.array_equal(a, b) for a, b in zip(path, columns, strict=True)):
            return None
        delta = self.objective.path(w, i, *columns)[1] - self.objective.path(w, i, *path)[1]
        tags = [
            [y for s, e, y in zip(*p, strict=True) for _ in range(s, e)] for p in (path, columns)
        ]
        wrong = sum(a != b for a, b in zip(*tags, strict=True))
        return delta, cost if self.loss != "none" else float(wrong)

    def follow(self, rule: Any, state: PathState, order: Any) -> PathState:
        w, variance, total, mistakes = state.w.copy(), state.variance.copy(), 0.0, 0
        for i in order:
            found = self.differs(w, int(i))
            if found is not None:
                delta, cost = found
                if self.loss == "none":
                    cost = {Step.PERCEPTRON: 0.0, Step.AROW: cost}.get(rule.step, math.sqrt(cost))
                h, weight = cost - float(w @ delta), self.case.weight[i]
                tau, along = 1.0, delta
                norm = float(delta @ delta)
                if rule.step == Step.PASSIVE_AGGRESSIVE:
                    tau = h / (norm + (0.5 / rule.c if rule.pa_type == 2 else 0.0)) if norm else 0.0
                    tau = min(tau, rule.c) if rule.pa_type == 1 else tau
                elif rule.step == Step.AROW:
                    along = variance * delta
                    tau = h / (rule.r + float(delta @ along))
                    variance = 1.0 / (1.0 / variance + delta * delta / rule.r)
                w = w + weight * tau * along
                total += weight * h
                mistakes += 1
            self.every.append(w)
        steps = state.steps + len(order)
        sums = steps * (w - np.mean(self.every, axis=0)) if state.sums.size else state.sums
        return state._replace(
            w=w, sums=sums, variance=variance, objective=total, steps=steps, mistakes=mistakes
        )


def learner_of(name: str, objective: Any, **more: Any) -> Any:
    kinds: dict[str, Any] = {"perceptron": Perceptron, "pa": PassiveAggressive, "arow": AROW}
    return kinds[name](objective, delta=0.0, seed=3, **more)


@settings(max_examples=80, deadline=None)
@given(seeds, orders, st.sampled_from(["perceptron", "pa", "arow"]), losses, st.integers(0, 2))
def test_steps_are_those_of_the_dense_twin(
    seed: int, order: int, name: str, loss: str, pa_type: int
) -> None:
    case = Case(seed, order=order)
    objective = case.objective()
    objective.set_loss(loss, Read(case, False).reading, None)
    more = {"pa_type": pa_type} if name == "pa" else {}
    fast = learner_of(name, Corpora(objective, 1), **more)
    slow = learner_of(name, Dense(case, objective, loss), **more)
    one, other = fast.start(case.w / 3), slow.start(case.w / 3)
    for _ in range(3):
        one, other = fast.step(one), slow.step(other)
        scale = max(1.0, float(np.abs(other.w).max(initial=0.0)))
        np.testing.assert_allclose(one.w, other.w, atol=1e-10 * scale)
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-10 * scale)
        np.testing.assert_allclose(one.variance, other.variance, atol=1e-10)
        assert one.mistakes == other.mistakes
        assert one.objective == pytest.approx(other.objective, rel=1e-9, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(seeds, orders)
def test_a_centre_is_added_wherever_weights_score(seed: int, order: int) -> None:
    case = Case(seed, order=order)
    objective = case.objective()
    near = learner_of("perceptron", Corpora(objective, 1, centre=case.w))
    plain = learner_of("perceptron", Corpora(case.objective(), 1))
    one, other = near.start(np.zeros(len(case.w))), plain.start(case.w)
    for _ in range(2):
        one, other = near.step(one), plain.step(other)
    np.testing.assert_allclose(case.w + one.w, other.w, atol=1e-9)
    np.testing.assert_allclose(case.w + one.weights, other.weights, atol=1e-9)


def separable(seed: int) -> tuple[_kernels.Objective, float]:
    """Return a corpus that some weights label rightly, and the bound (R / margin)^2."""
    case = Case(seed)
    rows, ptr = [], [0]
    for i, T in enumerate(case.lengths.tolist()):
        best = caesura.viterbi(case.potentials(i, case.w)).segments if T else []
        rows += [(s.start, s.end, int(s.label)) for s in best]
        ptr.append(len(rows))
    columns = np.array(rows, np.int32).reshape(-1, 3).T.copy()
    case.gold = _kernels.Gold(case.lengths.astype(np.int64), case.Y, np.array(ptr), *columns)
    case.weight = np.ones(len(case.lengths))
    objective, margin, radius = case.objective(), math.inf, 0.0
    for i, T in enumerate(case.lengths.tolist()):
        if not 0 < T < 5:
            continue
        gold = columns[:, ptr[i] : ptr[i + 1]].copy()
        right, counts = objective.path(case.w, i, *gold)
        for one in reference.segmentations(case.potentials(i, case.w)):
            path = np.array([(s, e, int(y)) for s, e, y in one], np.int32).T.copy()
            if not np.array_equal(path, gold):
                score, others = objective.path(case.w, i, *path)
                margin = min(margin, right - score)
                radius = max(radius, float(np.linalg.norm(counts - others)))
    size = float(np.linalg.norm(case.w))
    short = all(T < 5 for T in case.lengths)
    return objective, (radius * size / margin) ** 2 if short and margin > 1e-3 else math.nan


def test_the_perceptron_keeps_its_mistake_bound() -> None:
    tried = 0
    for seed in range(60):
        objective, bound = separable(seed)
        if math.isnan(bound):
            continue
        learner = Perceptron(Corpora(objective, 1), delta=-1.0, max_iterations=100000)
        state, mistakes = learner.start(np.zeros(len(Case(seed).w))), 0
        while not state.status:
            state = learner.step(state)
            mistakes += state.mistakes
        assert state.status == "separated"
        assert mistakes <= bound
        tried += mistakes > 0
    assert tried > 5


# -- optima ----------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(seeds, orders, st.sampled_from(["hamming", "segments", "zero-one"]), st.booleans())
def test_both_solvers_of_the_svm_agree(seed: int, order: int, loss: str, each: bool) -> None:
    case = Case(seed, order=order)
    objective = case.objective()
    objective.set_loss(loss, Read(case, False).reading, None)
    assume(len(case.w) > 0)
    c2: Any = case.rng.choice([0.3, 1.0], len(case.w)) if each else 0.5
    results = [
        minimise(kind(Corpora(objective, 1), c2, delta=1e-5, max_iterations=50000), 0 * case.w)
        for kind in (FrankWolfe, CuttingPlane)
    ]
    assert [result.status for result in results] == ["gap", "gap"]
    one, other = (result.objective for result in results)
    assert one == pytest.approx(other, rel=3e-5, abs=1e-9)
    for result in results:
        hinge, _ = objective.maximum(result.w, None, True, 1)
        expected = hinge + float(np.sum(c2 * result.w * result.w))
        assert result.objective == pytest.approx(expected, rel=1e-9)
        assert result.history[-1].gap is not None


@settings(max_examples=15, deadline=None)
@given(seeds, orders)
def test_exponentiated_gradient_finds_the_optimum_of_lbfgs(seed: int, order: int) -> None:
    case = Case(seed, order=order)
    case.cost = None
    objective = Corpora(case.objective(), 1)
    w0 = np.zeros(len(case.w))
    best = minimise(LBFGS(objective, c2=0.5, epsilon=1e-8, delta=0.0), w0)
    dual = ExponentiatedGradient(objective, 0.5, log=True, delta=1e-8, max_iterations=3000)
    found = minimise(dual, w0)
    assert found.status == "gap"
    assert found.objective == pytest.approx(best.objective, rel=1e-7)
    np.testing.assert_allclose(found.w, best.w, atol=1e-3)


@settings(max_examples=10, deadline=None)
@given(seeds, orders, st.sampled_from(["hamming", "segments"]), st.booleans())
def test_its_dual_bounds_the_margin_from_below(
    seed: int, order: int, loss: str, tags: bool
) -> None:
    case = chain_case(seed, order, False) if tags else Case(seed, order=order)
    objective = case.objective()
    objective.set_loss(loss, Read(case, tags).reading, None)
    corpora, w0 = Corpora(objective, 1), np.zeros(len(case.w))
    best = minimise(CuttingPlane(corpora, 0.5, delta=1e-6, max_iterations=3000), w0).objective
    learner = ExponentiatedGradient(corpora, 0.5, delta=0.0, max_iterations=200)
    state, duals = learner.start(w0), []
    while not state.status:
        state = learner.step(state)
        assert state.gap is not None
        duals.append(state.objective - state.gap)
        assert state.objective >= best * (1 - 1e-5) - 1e-9
    assert all(b >= a - 1e-9 * max(1.0, abs(a)) for a, b in itertools.pairwise(duals))
    assert duals[-1] <= best + 1e-6 * max(1.0, best)
    assert duals[-1] >= best - 0.05 * max(best, 0.1)


@settings(max_examples=30, deadline=None)
@given(seeds, orders, st.sampled_from(["hamming", "segments"]), st.booleans(), st.floats(0.0, 3.0))
def test_expected_costs_are_those_of_all_segmentations(
    seed: int, order: int, loss: str, tags: bool, m: float
) -> None:
    case = chain_case(seed, order, False) if tags else Case(seed, order=order)
    assume(case.lengths.max() <= 4)
    objective, read = case.objective(), Read(case, tags)
    objective.set_loss(loss, read.reading, None)
    n, zeros = len(case.lengths), np.zeros(len(case.w))
    theta = np.zeros(_kernels.DualPass.n_scores(objective))
    dual = (np.ones(1), None, zeros, theta, np.full(n, m), np.ones(n), False)
    found = _kernels.DualPass(objective, False, 1.0, *dual)
    cost = entropy = 0.0
    for i, length in enumerate(case.lengths.tolist()):
        if length == 0:
            continue
        gold = case.rows[case.ptr[i] : case.ptr[i + 1]]
        p = case.potentials(i, zeros)
        paths = [
            rows_of(one) for one in reference.segmentations(p) if caesura.score(p, one) > -np.inf
        ]
        costs = np.array([loss_of(loss, read, gold, path) for path in paths])
        chances = np.exp(m * costs - np.logaddexp.reduce(m * costs))
        cost += case.weight[i] * float(chances @ costs)
        entropy -= case.weight[i] * float(chances @ np.log(chances))
    assert found.dual == pytest.approx(cost, rel=1e-9, abs=1e-9)
    assert found.entropy == pytest.approx(entropy, rel=1e-8, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from(["svm", "cutting-plane", "eg", "eg-log"]))
def test_penalties_may_count_from_a_centre(seed: int, name: str) -> None:
    """Minimising near a centre is minimising over what is added to it."""
    case = Case(seed)
    case.cost = None
    objective = case.objective()
    if name != "eg-log":
        objective.set_loss("hamming", Read(case, False).reading, None)
    corpora = Corpora(objective, 1, centre=case.w)
    kinds: dict[str, Any] = {"svm": FrankWolfe, "cutting-plane": CuttingPlane}
    kind = kinds.get(name, ExponentiatedGradient)
    more = {"log": name == "eg-log"} if name[:2] == "eg" else {}
    start = np.zeros(len(case.w))
    result = minimise(kind(corpora, 0.5, delta=1e-4, max_iterations=300, **more), start)
    value = corpora(result.w)[0] if name == "eg-log" else corpora.maximum(result.w)[0]
    expected = value + 0.5 * float(result.w @ result.w)
    assert result.objective == pytest.approx(expected, rel=1e-8, abs=1e-9)
    gap = result.history[-1].gap
    assert gap is not None
    assert gap >= -1e-9 * max(1.0, abs(result.objective))
    if name != "eg":
        assert result.status == "gap"


def test_the_dual_has_a_score_for_each_firing_not_for_each_segment() -> None:
    """Segments of any length cost nothing more: their number grows with the square of T."""

    def n_scores(length: int) -> int:
        words = [f"w{k % 7}" for k in range(length)]
        model = caesura.SemiCRF([word[0]], learner="eg", outside_length=None)
        read = model._read([words], [[(0, length, "x")]], None)
        return _kernels.DualPass.n_scores(model._training(read, None, None).objective)

    few, more, most = n_scores(50), n_scores(100), n_scores(150)
    assert most - more == more - few  # linear in T


def test_the_paths_of_frank_wolfe_are_sparse() -> None:
    X = [f"{k} street{k} town{k}" for k in range(30)]
    y = [[(0, 1, "number"), (1, 2, "street"), (2, 3, "town")]] * 30
    model = caesura.SemiCRF(learner="svm", c2=0.1, max_iterations=3, delta=1.0)
    read = model._read(X, y, None)
    training = model._training(read, None, None)
    set_loss(model, training)
    learner = FrankWolfe(Corpora(training.objective, 1), 0.1)
    state = learner.start(training.w0)
    for _ in range(3):
        state = learner.step(state)
    stored = np.diff(state.ptr)  # of each path
    assert stored.max() < 0.2 * len(state.w)
    assert stored.sum() == len(state.weight) == len(state.value)
