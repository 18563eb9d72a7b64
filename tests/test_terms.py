"""The terms of the objective: paths, maxima and expectations of single sequences."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_cases import Case, directions

import caesura
from caesura import _kernels
from caesura.inference import reference

Floats = npt.NDArray[np.float64]
seeds, orders = st.integers(0, 10**6), st.sampled_from([0, 2, 3])


def columns(segments: Any) -> list[npt.NDArray[np.int32]]:
    rows = [(s.start, s.end, int(s.label)) for s in segments]
    return list(np.array(rows, np.int32).reshape(-1, 3).T.copy())


def drawn(case: Case, i: int) -> Any:
    """Draw a segmentation of a sequence, not only a likely one."""
    p = case.bare(int(case.lengths[i]))
    return caesura.sample(p, 1, seed=int(case.rng.integers(1000)))[0] if case.lengths[i] else []


def counted(case: Case, i: int, segments: Any, ways: Floats) -> Floats:
    """Return how often weights are used along directions: scores are linear in the weights."""
    base = caesura.score(case.potentials(i, np.zeros(len(case.w))), segments)
    return np.array([caesura.score(case.potentials(i, way), segments) - base for way in ways])


@settings(max_examples=20, deadline=None)
@given(seeds, orders)
def test_a_path_has_its_score_and_its_counts(seed: int, order: int) -> None:
    case = Case(seed, order=order)
    objective = case.objective()
    for i in range(len(case.lengths)):
        segments = drawn(case, i)
        score, counts = objective.path(case.w, i, *columns(segments))
        expected = caesura.score(case.potentials(i, case.w), segments)
        assert score == pytest.approx(expected, rel=1e-11, abs=1e-11)
        ways = directions(case, 20, 3)
        used = counted(case, i, segments, ways)
        np.testing.assert_allclose(ways @ counts, used, rtol=1e-11, atol=1e-11)


@settings(max_examples=60, deadline=None)
@given(seeds, orders)
def test_gold_paths_are_what_is_observed(seed: int, order: int) -> None:
    """The objective counts gold labels once and for all, by other code: its gradient agrees."""
    case = Case(seed, order=order)
    objective = case.objective()
    _, gradient = objective.evaluate(case.w, None, False, 1)
    total = np.zeros(len(case.w))
    for i, weight in enumerate(case.weight):
        gold = [
            caesura.Segment(s, e, str(y)) for s, e, y in case.rows[case.ptr[i] : case.ptr[i + 1]]
        ]
        _, expected = objective.expectations(case.w, i, False)
        _, counts = objective.path(case.w, i, *columns(gold))
        total += weight * (expected - counts)
    np.testing.assert_allclose(total, gradient, rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(seeds, orders, st.sampled_from([1.0, 300.0]))
def test_expectations_are_the_parts_of_the_gradient(seed: int, order: int, scale: float) -> None:
    case = Case(seed, order=order, partial=True, scale=scale)
    objective = case.objective()
    for i in range(len(case.lengths)):
        p = case.potentials(i, case.w)
        if case.cost is not None:
            p.emission += case.cost[case.offsets[i] : case.offsets[i + 1]]
        log_z, counts = objective.expectations(case.w, i, False)
        assert log_z == pytest.approx(caesura.log_partition(p), rel=1e-9, abs=1e-9)
        loss, gradient = objective.evaluate(case.w, np.array([i], np.int32), False, 1)
        if i in case.hints:
            log_known, known = objective.expectations(case.w, i, True)
        else:
            gold = case.rows[case.ptr[i] : case.ptr[i + 1]]
            log_known, known = objective.path(
                case.w, i, *np.array(gold, np.int32).reshape(-1, 3).T.copy()
            )
        w = case.weight[i]
        assert w * (log_z - log_known) == pytest.approx(loss, rel=1e-9, abs=1e-8)
        np.testing.assert_allclose(w * (counts - known), gradient, rtol=1e-9, atol=1e-9)


def best_of(p: caesura.Potentials) -> float:
    """Return the best score of all segmentations, one by one."""
    return max(caesura.score(p, one) for one in reference.segmentations(p))


@settings(max_examples=40, deadline=None)
@given(seeds, orders, st.booleans())
def test_the_maximum_is_that_of_all_segmentations(seed: int, order: int, costed: bool) -> None:
    case = Case(seed, order=order)
    case.cost = case.rng.random((int(case.offsets[-1]), case.Y))
    objective = case.objective()
    total, counts = 0.0, np.zeros(len(case.w))
    for i, T in enumerate(case.lengths.tolist()):
        p = case.potentials(i, case.w)
        if costed:
            p.emission += case.cost[case.offsets[i] : case.offsets[i + 1]]
        gold = case.rows[case.ptr[i] : case.ptr[i + 1]]
        best = caesura.viterbi(p)
        if T < 5 and order == 0:
            assert best.score == pytest.approx(best_of(p), abs=1e-9)
        truth = caesura.score(case.potentials(i, case.w), gold) if gold else 0.0
        total += case.weight[i] * (best.score - truth)
        for sign, path in (
            (1, best.segments),
            (-1, [caesura.Segment(*g[:2], str(g[2])) for g in gold]),
        ):
            counts += sign * case.weight[i] * objective.path(case.w, i, *columns(path))[1]
    loss, gradient = objective.maximum(case.w, None, costed, 1)
    assert loss == pytest.approx(total, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(gradient, counts, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_the_subgradient_bounds_the_maximum_from_below(seed: int) -> None:
    case = Case(seed, partial=False)
    objective = case.objective()
    value, gradient = objective.maximum(case.w, None, False, 1)
    for _ in range(5):
        other = case.w + case.rng.normal(size=len(case.w))
        assert (
            objective.maximum(other, None, False, 1)[0]
            >= value + gradient @ (other - case.w) - 1e-9
        )


def test_partial_labels_have_a_best_answer_that_agrees() -> None:
    for seed in range(20):
        case = Case(seed, partial=True)
        objective = case.objective()
        for i, (allowed, boundary) in case.hints.items():
            p = case.potentials(i, case.w)
            free = caesura.viterbi(p).score
            p.constrain(
                boundaries=[t for t in range(len(boundary)) if boundary[t] == 1],
                no_boundaries=[t for t in range(len(boundary)) if boundary[t] == 2],
                allowed={t: np.flatnonzero(row).tolist() for t, row in enumerate(allowed)},
            )
            expected = case.weight[i] * (free - caesura.viterbi(p).score)
            found, _ = objective.maximum(case.w, np.array([i], np.int32), False, 1)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_wrong_segments_are_refused() -> None:
    case = next(case for case in map(Case, range(100)) if case.lengths[0] > 1)
    objective: _kernels.Objective = case.objective()
    one = np.array([0], np.int32)
    with pytest.raises(ValueError, match="cover the sequence"):
        objective.path(case.w, 0, one, one + 1, one)
    with pytest.raises(ValueError, match="not partial"):
        objective.expectations(case.w, 0, True)
