"""The learning kernels against the engine: objective, gradient, and what each row counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_cases import Case, directions, numeric_slopes

import caesura
from caesura import _kernels


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_objective_and_gradient(seed: int, partial: bool) -> None:
    case = Case(seed, partial=partial)
    loss, gradient = case.objective().evaluate(case.w, None, False, 1)
    assert loss == pytest.approx(case.loss(case.w), rel=1e-9, abs=1e-9)
    ways = directions(case, 3, 2)
    assert ways @ gradient == pytest.approx(numeric_slopes(case, case.w, ways), abs=2e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([30.0, 300.0]))
def test_scores_beyond_the_fast_range(seed: int, scale: float) -> None:
    case = Case(seed, scale=scale)
    loss, gradient = case.objective().evaluate(case.w, None, False, 1)
    assert loss == pytest.approx(case.loss(case.w), rel=1e-9, abs=1e-7)
    assert np.isfinite(gradient).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_single_precision(seed: int) -> None:
    case = Case(seed)
    objective = case.objective()
    loss, gradient = objective.evaluate(case.w, None, False, 1)
    near, near_gradient = objective.evaluate(case.w, None, True, 1)
    size = 1.0 + np.abs(case.w).sum()
    assert near == pytest.approx(loss, abs=1e-5 * size)
    assert near_gradient == pytest.approx(gradient, abs=1e-4 * size)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_what_leaves_the_range_of_float_is_evaluated_in_double(seed: int) -> None:
    case = Case(seed, scale=10.0)
    objective = case.objective()
    w = case.w.astype(np.float32).astype(np.float64)  # single precision rounds no weight
    loss, gradient = objective.evaluate(w, None, False, 1)
    gradient, careful = gradient.copy(), objective.n_careful
    near, near_gradient = objective.evaluate(w, None, True, 1)
    size = 1.0 + np.abs(w).sum()
    assert near == pytest.approx(loss, abs=1e-5 * size)
    assert near_gradient == pytest.approx(gradient, abs=1e-4 * size)
    assert objective.n_careful == careful


def test_single_precision_rounds_gold_scores_too() -> None:
    """Weights that all labels share change nothing, however they are rounded."""
    tags = [["a", "b"], ["a", "a"], ["b", "a"], ["b", "b"]]
    model = caesura.ChainCRF(features=[caesura.features.attributes[0]], scheme=None)
    training = model._training(model._read([[["x"], ["x"]]] * 4000, tags * 1000, None), None, None)
    w = np.full(len(training.parameters), 9.1)
    loss = training.objective.evaluate(w, None, False, 1)[0]
    assert loss == pytest.approx(4000 * np.log(4), rel=1e-9)
    near = training.objective.evaluate(w, None, True, 1)[0]
    rounding = 8000 * abs(float(np.float32(9.1)) - 9.1)
    assert near == pytest.approx(loss, abs=rounding / 10)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_batches_add_up(seed: int) -> None:
    case = Case(seed)
    objective = case.objective()
    loss, gradient = objective.evaluate(case.w, None, False, 1)
    parts = [
        objective.evaluate(case.w, np.array([i], np.int32), False, 1)
        for i in range(len(case.lengths))
    ]
    assert sum(part[0] for part in parts) == pytest.approx(loss, rel=1e-9, abs=1e-9)
    assert sum(part[1] for part in parts) == pytest.approx(gradient, rel=1e-9, abs=1e-9)


def test_shared_sums_change_nothing() -> None:
    """A corpus so large that attributes which come together are added up once."""
    rng = np.random.default_rng(0)
    n, T, Y = 400, 20, 4
    words = rng.zipf(1.5, size=n * T).clip(max=50).astype(np.int32)
    offsets = np.arange(n + 1, dtype=np.int64) * T
    parts = [[(0, o)] for o in (-1, 0, 1)] + [[(0, 0), (0, 1)], [(0, -1), (0, 0)]]
    extractor = _kernels.Extractor([(p, place) for p in parts for place in (0, 2)])
    none = np.zeros(0, np.int32)

    def corpus_of(first: int, last: int) -> _kernels.Corpus:
        corpus = _kernels.Corpus()
        tokens = np.ascontiguousarray(words[first * T : last * T])
        extractor.extract(
            corpus,
            offsets[: last - first + 1],
            [(None, tokens, None)],
            none,
            none,
            none.astype(np.uint8),
            none,
            none,
            np.zeros(0),
            True,
        )
        return corpus

    def gold_of(first: int, last: int) -> _kernels.Gold:
        starts = np.tile(np.arange(0, T, 2, dtype=np.int32), last - first)
        labels = (words.reshape(n, T)[first:last, ::2] % Y).ravel().astype(np.int32)
        ptr = np.arange(last - first + 1, dtype=np.int64) * (T // 2)
        lengths = np.full(last - first, T, np.int64)
        return _kernels.Gold(lengths, Y, ptr, starts, starts + 2, labels)

    whole = corpus_of(0, n)
    bounds = np.zeros(Y, np.int32)
    parameters = _kernels.Parameters(
        whole, gold_of(0, n), Y, extractor, bounds, None, None, None, 0.0, False, True, True
    )
    automaton = _kernels.Automaton(range(Y))
    order = np.arange(Y, dtype=np.int32)

    def objective(first: int, last: int) -> _kernels.Objective:
        design = parameters.compile(corpus_of(first, last))
        gold = gold_of(first, last)
        return _kernels.Objective(
            parameters, design, gold, np.ones(last - first), None, automaton, order
        )

    w = rng.normal(size=len(parameters))
    loss, gradient = objective(0, n).evaluate(w, None, False, 1)
    small = [objective(i, i + 2).evaluate(w, None, False, 1) for i in range(0, n, 2)]
    assert loss == pytest.approx(sum(part[0] for part in small), rel=1e-12)
    assert gradient == pytest.approx(sum(part[1] for part in small), rel=1e-9, abs=1e-9)
    some = np.arange(50, 60, dtype=np.int32)
    loss, gradient = objective(0, n).evaluate(w, some, False, 1)
    small = [objective(i, i + 2).evaluate(w, None, False, 1) for i in range(50, 60, 2)]
    assert loss == pytest.approx(sum(part[0] for part in small), rel=1e-12)
    assert gradient == pytest.approx(sum(part[1] for part in small), rel=1e-9, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6))
def test_best_segments(seed: int) -> None:
    case = Case(seed)
    paths = case.scorer().best(case.parameters.compile(case.corpus), None, 1)
    for i, path in enumerate(paths.segments(tuple, list(range(case.Y)))):
        p = case.potentials(i, case.w)
        assert caesura.score(p, path) == pytest.approx(caesura.viterbi(p).score, rel=1e-12)
