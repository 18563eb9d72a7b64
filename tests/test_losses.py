"""What wrong segmentations cost: best paths with losses, against all segmentations one by one."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_cases import Case

import caesura
from caesura import _kernels
from caesura.inference import reference

Ints = npt.NDArray[np.int32]
LOSSES = ["hamming", "segments", "zero-one"]
seeds = st.integers(0, 10**6)


class Read:
    """What the states of a case say about segments, drawn at random."""

    def __init__(self, case: Case, tags: bool) -> None:
        rng, Y = case.rng, case.Y
        n = int(rng.integers(1, Y + 1)) if tags else Y
        self.label = (np.arange(Y) % n).astype(np.int32)
        if rng.random() < 0.6:
            self.label[-1] = -1  # outside
        self.joined = None
        if tags:
            same = (self.label[:, None] == self.label) & (self.label >= 0)
            self.joined = (same & (rng.random((Y, Y)) < 0.6)).astype(np.uint8)
        self.reading = _kernels.Reading(self.label, self.joined)

    def segments(self, path: Any) -> set[tuple[int, int, int]]:
        """Return the segments that a path says."""
        out: list[tuple[int, int, int]] = []
        last = None
        for start, end, state in path:
            if self.label[state] >= 0:
                if self.joined is not None and last is not None and self.joined[last, state]:
                    out[-1] = (out[-1][0], end, out[-1][2])
                else:
                    out.append((start, end, int(self.label[state])))
            last = state
        return set(out)


def loss_of(name: str, read: Read, gold: Any, path: Any) -> float:
    if name == "zero-one":
        return float(gold != path)
    if name == "segments":
        return float(len(read.segments(gold) ^ read.segments(path)))
    states = [[y for s, e, y in one for _ in range(s, e)] for one in (gold, path)]
    return float(sum(a != b for a, b in zip(*states, strict=True)))


def rows_of(segments: Any) -> list[tuple[int, int, int]]:
    return [(s.start, s.end, int(s.label)) for s in segments]


def check(case: Case, name: str, tags: bool, longest: int) -> None:
    read = Read(case, tags)
    objective = case.objective()
    objective.set_loss(name, read.reading, None)
    for i, T in enumerate(case.lengths.tolist()):
        if not 0 < T <= longest:
            continue
        p = case.potentials(i, case.w)
        gold = case.rows[case.ptr[i] : case.ptr[i + 1]]
        truth = caesura.score(p, gold)
        values = {}
        for one in reference.segmentations(p):
            path = rows_of(one)
            cost = loss_of(name, read, gold, path)
            values[tuple(path)] = (caesura.score(p, one) + cost, cost)
        best = max(value for value, _ in values.values())
        found = list(zip(*(c.tolist() for c in objective.best(case.w, i, True)[:3]), strict=True))
        assert values[tuple(found)][0] == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert objective.best(case.w, i, True)[3] == values[tuple(found)][1]
        hinge, _ = objective.maximum(case.w, np.array([i], np.int32), True, 1)
        assert hinge == pytest.approx(case.weight[i] * (best - truth), rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from([0, 2]), st.sampled_from(LOSSES), st.booleans())
def test_the_search_with_a_loss_is_exact(seed: int, order: int, name: str, ruled: bool) -> None:
    check(Case(seed, order=order, ruled=ruled), name, False, 4)


def chain_case(seed: int, order: int, ruled: bool) -> Case:
    """Return the first case from a seed on whose segments all have one token."""
    return next(
        case
        for k in range(seed, seed + 1000)
        if (case := Case(k, order=order, ruled=ruled)).bounds.tolist() == [1] * case.Y
    )


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([0, 2]), st.sampled_from(LOSSES), st.booleans())
def test_the_search_over_tags_is_exact(seed: int, order: int, name: str, ruled: bool) -> None:
    check(chain_case(seed, order, ruled), name, True, 4)


def test_tokens_of_a_label_may_count_more() -> None:
    case = Case(3)
    read = Read(case, False)
    objective = case.objective()
    weight = np.arange(1.0, case.Y + 1.0)
    objective.set_loss("hamming", read.reading, weight)
    for i, T in enumerate(case.lengths.tolist()):
        gold = [y for s, e, y in case.rows[case.ptr[i] : case.ptr[i + 1]] for _ in range(s, e)]
        starts, ends, labels, cost = objective.best(case.w, i, True)
        found = [y for s, e, y in zip(starts, ends, labels, strict=True) for _ in range(s, e)]
        wrong = [weight[a] for a, b in zip(gold, found, strict=True) if a != b]
        assert len(gold) == T
        assert cost == sum(wrong)


def test_the_value_does_not_depend_on_threads() -> None:
    case = Case(11, order=2)
    objective = case.objective()
    objective.set_loss("segments", Read(case, False).reading, None)
    one, other = objective.maximum(case.w, None, True, 1), objective.maximum(case.w, None, True, 3)
    assert one[0] == other[0]
    np.testing.assert_array_equal(one[1], other[1])
