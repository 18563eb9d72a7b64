"""Label histories in the learning kernels: objective, gradient and best path against the engine."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_cases import Case, Floats, directions, numeric_slopes

import caesura
from caesura import _kernels
from caesura.features import word
from caesura.models.structure import blocks_of

SEEDS = st.integers(0, 10**6)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 4), st.booleans(), st.booleans())
def test_objective_and_gradient(seed: int, order: int, partial: bool, ruled: bool) -> None:
    case = Case(seed, partial=partial, order=order, ruled=ruled)
    loss, gradient = case.objective().evaluate(case.w, None, False, 1)
    assert loss == pytest.approx(case.loss(case.w), rel=1e-9, abs=1e-9)
    ways = directions(case, 2, 2)
    assert ways @ gradient == pytest.approx(numeric_slopes(case, case.w, ways), abs=2e-6)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 4), st.sampled_from([30.0, 300.0]), st.booleans())
def test_scores_beyond_the_fast_range(seed: int, order: int, scale: float, ruled: bool) -> None:
    case = Case(seed, scale=scale, order=order, ruled=ruled)
    loss, gradient = case.objective().evaluate(case.w, None, False, 1)
    assert loss == pytest.approx(case.loss(case.w), rel=1e-9, abs=1e-7)
    assert np.isfinite(gradient).all()


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 4))
def test_scores_beyond_the_fast_range_have_the_same_gradient(seed: int, order: int) -> None:
    """The weights are far apart, so that the general sweeps answer; the gradient is still exact."""
    case = Case(seed, scale=20.0, order=order)
    _, gradient = case.objective().evaluate(case.w, None, False, 1)
    ways = directions(case, 2, 2)
    assert ways @ gradient == pytest.approx(numeric_slopes(case, case.w, ways), abs=1e-4)


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(0, 4), st.booleans())
def test_best_segments(seed: int, order: int, ruled: bool) -> None:
    case = Case(seed, order=order, ruled=ruled)
    paths = case.scorer().best(case.parameters.compile(case.corpus), None, 1)
    for i, path in enumerate(paths.segments(tuple, list(range(case.Y)))):
        if case.lengths[i] == 0:
            continue
        p = case.potentials(i, case.w)
        assert path is not None
        best = caesura.viterbi(p).score
        assert caesura.score(p, path) == pytest.approx(best, rel=1e-9, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_threads_change_nothing(seed: int) -> None:
    case = Case(seed, order=3)
    objective = case.objective()
    loss, gradient = objective.evaluate(case.w, None, False, 1)
    again, same = objective.evaluate(case.w, None, False, 2)
    assert loss == again
    assert gradient.tolist() == same.tolist()


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_batches_add_up(seed: int) -> None:
    case = Case(seed, order=3)
    objective = case.objective()
    loss, gradient = objective.evaluate(case.w, None, False, 1)
    parts = [
        objective.evaluate(case.w, np.array([i], np.int32), False, 1)
        for i in range(len(case.lengths))
    ]
    assert sum(part[0] for part in parts) == pytest.approx(loss, rel=1e-9, abs=1e-9)
    assert sum(part[1] for part in parts) == pytest.approx(gradient, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_patterns_without_weight_change_nothing(seed: int) -> None:
    """A first-order model is the same whether its states are labels or histories."""
    plain = Case(seed)
    high = Case(seed)
    labels = [y for y in range(plain.Y) if not plain.barred[y, y]]
    if not labels:
        return
    pattern = [labels[0]] * 3
    assert not any(high.barred[a, b] for a, b in pairwise(pattern))
    high.parameters = _kernels.Parameters.restore(
        high.Y,
        high.extractor,
        high.bounds,
        high.barred,
        high.barred_start,
        None,
        plain.parameters.attribute,
        plain.parameters.label,
        plain.parameters.edge_attribute,
        plain.parameters.edge_pair,
        plain.parameters.transition,
        plain.parameters.start,
        plain.parameters.end,
        [pattern],
        1,
    )
    P = plain.parameters
    at = len(P.attribute) + len(P.edge_attribute) + len(P.transition)
    w = np.insert(plain.w, at, 0.0)
    loss, gradient = plain.objective().evaluate(plain.w, None, False, 1)
    again, same = high.objective().evaluate(w, None, False, 1)
    assert again == pytest.approx(loss, rel=1e-9, abs=1e-9)
    assert np.delete(same, at) == pytest.approx(gradient, rel=1e-9, abs=1e-9)


def test_long_texts_stay_in_range() -> None:
    """All pairs are states, so that those of a single label are left behind after the first."""
    rng = np.random.default_rng(0)
    X = [[str(one) for one in rng.integers(0, 20, size=900)]]
    y = [[(t, t + 3, "abc"[rng.integers(3)]) for t in range(0, 900, 3)]]
    model = caesura.SemiCRF(features=[word[0]], order=2)
    training = model._training(model._read(X, y, None), None, None)
    w = rng.normal(size=len(training.parameters))
    loss, gradient = training.objective.evaluate(w, None, False, 1)
    assert training.objective.n_careful == 0
    model._set_fitted(training.fitted(w))
    p = model.potentials(X[0])
    log_z, gold = caesura.log_partition(p), caesura.score(p, y[0])
    assert loss == pytest.approx(log_z - gold, rel=1e-12)
    patterns = caesura.marginals(p).patterns
    first = blocks_of(training.parameters).patterns
    seen = counts_of(y[0], training.parameters.patterns)
    assert gradient[first] == pytest.approx(patterns - seen, abs=1e-9)


def counts_of(segments: list[tuple[int, int, str]], patterns: list[list[int]]) -> Floats:
    """Count patterns in a segmentation."""
    labels = ["abc".index(label) for _, _, label in segments]
    ends = [[labels[k - len(z) + 1 : k + 1] == z for k in range(len(labels))] for z in patterns]
    return np.array([float(sum(some)) for some in ends])


@pytest.mark.parametrize("bound", [None, 3, 7, 40])
def test_small_counts_of_long_texts_keep_their_digits(bound: int | None) -> None:
    """Where a label is almost impossible, its counts are not differences of those elsewhere."""
    T = 400
    X = [[str(t) for t in range(T)], ["0", "1", "2"]]
    y = [[(t, t + 2, "ab"[t // 2 % 2]) for t in range(0, T, 2)], [(0, 3, "rare")]]
    model = caesura.SemiCRF(features=[word[0]], order=2, max_length=bound, all_possible_states=True)
    training = model._training(model._read(X, y, None), None, None)
    P, states = training.parameters, training.structure.states
    rng = np.random.default_rng(0)
    w = rng.normal(size=len(P)) * 0.3
    rare = P.label == states.index("rare")
    names = training.encoder.names(P.attribute.tolist())
    of_word = {name: k for k, name in enumerate(names) if rare[k]}
    for t in range(T):
        w[of_word[f"word[0]={t}"]] += 2.0 if t % 100 >= 50 else -15.0
    sequences = np.array([0], np.int32)
    _, gradient = training.objective.evaluate(w, sequences, False, 1)
    assert training.objective.n_careful == 0
    model._set_fitted(training.fitted(w))
    tokens = caesura.marginals(model.potentials(X[0])).tokens[:, states.index("rare")]
    found = np.array([gradient[of_word[f"word[0]={t}"]] for t in range(T)])
    assert tokens.min() < 1e-6 < 0.5 < tokens.max()
    assert found == pytest.approx(tokens, rel=1e-12)
