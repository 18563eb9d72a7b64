"""The public answers at the edges: changes, nothing possible, batches, no and one token."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from oracle import COUNTED, FAST, check_marginals, close, random_model

import caesura
from caesura import Potentials, Segment
from caesura.errors import CaesuraError, Impossible
from caesura.inference import reference
from caesura.inference.reference import Enumeration

methods = pytest.mark.parametrize("method", FAST)

# -- changes and copies ------------------------------------------------------------------------


@methods
def test_answers_follow_changes(method: str) -> None:
    """Everything may be written after it was asked about."""
    p = random_model(9, T=4, Y=3, n_added=2, max_length=3)

    def check() -> None:
        every = Enumeration(p)
        assert close(caesura.log_partition(p, method=method), every.log_partition)
        assert close(caesura.viterbi(p, method=method).score, every.n_best(1)[0][1])
        check_marginals(caesura.marginals(p, method=method), every.marginals())

    changes: list[Callable[[], Any]] = [
        lambda: p.emission.__setitem__((1, 1), 2.0),
        lambda: p.transition.__setitem__((1, 1), -np.inf),
        lambda: p.start.__setitem__(0, -1.0),
        lambda: p.end.__setitem__(2, 1.0),
        lambda: p.spans.__setitem__((0, 1, 0), 1.5),
        lambda: p.add(1, 3, 0, 1.0, open_end=True),
        lambda: p.add_transition(2, 0, 1, 0.5),
        lambda: p.add_pattern([0, 1, 0], 0.5),
        lambda: p.add_pattern([2], 0.5, start=1),
        lambda: setattr(p, "same_label_adjacent", False),
        lambda: p.constrain(forbidden=[(0, 1, 0)]),
        lambda: p.constrain(allowed={3: [0, 1]}),
        lambda: p.constrain(at_most_once=[1]),
        lambda: setattr(p, "emission", np.ones((4, 3))),
    ]
    check()
    for change in changes:
        change()
        check()


@methods
def test_marginals_do_not_follow_changes(method: str) -> None:
    """What was answered stays answered; what is looked up later is right or refused."""
    p = random_model(10, T=5, Y=2, n_added=3, max_length=4)
    p.add_pattern([0], 1.0, start=1)
    p.add_pattern([0, 1], 1.0)
    expected = Enumeration(p).marginals()
    early, late = (caesura.marginals(p, method=method) for _ in range(2))
    assert close(early.segment(1, 3, 0), expected.segment(1, 3, 0))
    p.emission += np.arange(10.0).reshape(5, 2)
    p.add(1, 3, 0, 5.0)
    p.add_pattern([1], 1.0, start=1)
    p.spans[0, 0, 0] = 1.0
    p.constrain(boundaries=[2])
    check_marginals(early, expected)
    check_marginals(late, expected)
    assert close(early.transition(2, 0, 1), expected.transition(2, 0, 1))
    assert dict(early.segments(0.01)).keys() == dict(expected.segments(0.01)).keys()
    with pytest.raises(CaesuraError, match="changed"):
        late.segment(1, 3, 0)


@methods
def test_questions_do_not_change_the_potentials(method: str) -> None:
    p = random_model(12, T=5, Y=2, n_added=3)
    before = [a.copy() for a in (p.emission, p.transition, p.start, p.end)]
    caesura.marginals(p, method=method)
    caesura.n_best(p, 3, method=method)
    for a, b in zip(before, (p.emission, p.transition, p.start, p.end), strict=True):
        assert np.array_equal(a, b)


# -- nothing possible --------------------------------------------------------------------------


def impossible_models() -> Iterator[Potentials]:
    p = Potentials(3, 2)
    p.emission[1] = -np.inf
    yield p
    p = Potentials(3, 2, max_length=1)
    p.transition[...] = -np.inf
    yield p
    yield Potentials(3, 2, max_length=1).constrain(no_boundaries=[1])
    yield Potentials(3, 2).constrain(boundaries=[1], no_boundaries=[1])
    yield Potentials(3, 2).constrain(required=[(0, 2, 0), (1, 3, 0)])
    yield Potentials(3, 2, max_length=1).constrain(at_most_once=[0, 1])
    yield Potentials(1, 2).constrain(exactly_once=[0, 1])
    yield Potentials(0, 2).constrain(exactly_once=[0])
    yield Potentials(2, 1, max_length=1, same_label_adjacent=False)
    p = Potentials(3, 2)
    p.start[...] = -np.inf
    yield p
    p = Potentials(3, 2, max_length=2)
    p.spans[...] = -np.inf
    yield p
    p = Potentials(2, 1)
    p.add(0, 2, 0, -np.inf)
    p.add_pattern([0, 0], -np.inf)
    yield p
    p = Potentials(4, 1)
    p.add(2, 3, 0, -np.inf, open_start=True, open_end=True)
    yield p
    p = Potentials(2, 1)
    p.add(0, 2, 0, -np.inf)
    p.add_transition(1, 0, 0, -np.inf)
    yield p


@methods
@pytest.mark.parametrize("p", list(impossible_models()))
def test_if_nothing_is_possible_everything_says_so(p: Potentials, method: str) -> None:
    assert Enumeration(p).log_partition == -np.inf
    assert caesura.log_partition(p, method=method) == -np.inf
    whole = [Segment(0, p.length, p.labels[0])] if p.length else []
    assert caesura.score(p, whole) == -np.inf
    free = Potentials(p.length, len(p.labels))
    questions: list[Callable[[], object]] = [
        lambda: caesura.log_probability(p, whole, method=method),
        lambda: caesura.marginals(p, method=method),
        lambda: caesura.viterbi(p, method=method),
        lambda: caesura.n_best(p, 3, method=method),
        lambda: caesura.sample(p, 2, seed=0, method=method),
        lambda: caesura.entropy(p, method=method),
        lambda: caesura.minimum_risk(p, method=method),
        lambda: caesura.kl_divergence(p, free, method=method),
        lambda: caesura.kl_divergence(free, p, method=method),
    ]
    for question in questions:
        with pytest.raises(Impossible, match=r"(?i)no segmentation"):
            question()


@methods
def test_kl_divergence_is_infinite_where_q_forbids(method: str) -> None:
    p = random_model(0, T=5, Y=2, n_added=3)
    q = random_model(1, T=5, Y=2, n_added=3)
    assert 0 < caesura.kl_divergence(p, q, method=method) < np.inf
    narrow = [
        q.copy().constrain(boundaries=[2]),
        q.copy().constrain(at_most_once=[0]),
        q.copy().constrain(forbidden=[(0, 5, 1)]),
        Potentials(5, 2, max_length=4),
        Potentials(5, 2, same_label_adjacent=False),
    ]
    pattern = q.copy()
    pattern.add_pattern([0, 1, 0], -np.inf)
    for tight in (*narrow, pattern):
        assert caesura.kl_divergence(p, tight, method=method) == np.inf
        within = caesura.kl_divergence(tight, q, method=method)
        assert close(within, reference.kl_divergence(tight, q))


@methods
def test_kl_divergence_is_infinite_however_improbable(method: str) -> None:
    """What p allows with a probability that underflows is still allowed."""
    p, q = Potentials(2, 2), Potentials(2, 2)
    p.emission[0, 1] = -2000.0
    q.emission[0, 1] = -np.inf
    assert caesura.kl_divergence(p, q, method=method) == np.inf
    p.constrain(allowed={0: [0]})
    assert caesura.kl_divergence(p, q, method=method) < np.inf


@methods
@pytest.mark.parametrize("L", [1, 2])
def test_potentials_wider_than_every_segment_never_apply(method: str, L: int) -> None:
    p = random_model(2, T=6, Y=2, max_length=L)
    kinds = list(itertools.product((False, True), repeat=2))
    for start, (open_start, open_end) in itertools.product(range(3), kinds):
        p.add(start, start + 3, 0, 1.0, open_start, open_end)
    m = caesura.marginals(p, method=method)
    assert not m.potentials.any()
    assert caesura.kl_divergence(p, p, method=method) == 0.0


@methods
def test_one_token(method: str) -> None:
    """No transition is taken, whatever its score."""
    for adjacent, forbidden in itertools.product((True, False), repeat=2):
        p = Potentials(1, 3, same_label_adjacent=adjacent)
        p.emission[...] = [[0.0, 1.0, -np.inf]]
        if forbidden:
            p.transition[...] = -np.inf
        check_marginals(caesura.marginals(p, method=method), Enumeration(p).marginals())


# -- batches -----------------------------------------------------------------------------------


def batch() -> list[Potentials]:
    sizes = [(0, 2), (1, 3), (7, 2), (1, 1), (0, 1), (25, 4), (3, 3), (60, 2)]
    made = [random_model(i, T, Y, n_added=T) for i, (T, Y) in enumerate(sizes)]
    made.append(random_model(20, T=12, Y=3, n_added=4, max_length=[2, None, 5]))
    high = random_model(21, T=9, Y=3, n_added=4)
    high.add_pattern([0, 1, 2], 1.0)
    made.append(high)
    made.append(random_model(22, T=9, Y=3, n_added=4).constrain(at_most_once=[0, 1]))
    return made


def marginal_arrays(m: Any) -> list[Any]:
    return [m.log_partition, *(getattr(m, name).tolist() for name in COUNTED)]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("method", [*FAST, "auto"])
def test_batches_equal_single_answers_to_the_last_bit(method: str, n_threads: int) -> None:
    many = batch()
    options: dict[str, Any] = {"method": method}
    threads = {"n_threads": n_threads, **options}
    assert caesura.log_partition(many, **threads) == [
        caesura.log_partition(p, **options) for p in many
    ]
    best = [caesura.viterbi(p, **options) for p in many]
    assert list(caesura.viterbi(many, **threads)) == best
    segments = [path.segments for path in best]
    assert caesura.score(many, segments, n_threads=n_threads) == [
        caesura.score(p, s) for p, s in zip(many, segments, strict=True)
    ]
    assert caesura.log_probability(many, segments, **threads) == [
        caesura.log_probability(p, s, **options) for p, s in zip(many, segments, strict=True)
    ]
    together = [marginal_arrays(m) for m in caesura.marginals(many, **threads)]
    assert together == [marginal_arrays(caesura.marginals(p, **options)) for p in many]
    assert list(caesura.n_best(many, 4, **threads)) == [
        caesura.n_best(p, 4, **options) for p in many
    ]
    assert caesura.entropy(many, **threads) == [caesura.entropy(p, **options) for p in many]
    assert list(caesura.minimum_risk(many, **threads)) == [
        caesura.minimum_risk(p, **options) for p in many
    ]
    others = [random_model(90 + i, p.length, len(p.labels)) for i, p in enumerate(many)]
    assert caesura.kl_divergence(many, others, **threads) == [
        caesura.kl_divergence(p, q, **options) for p, q in zip(many, others, strict=True)
    ]
    drawn = caesura.sample(many, 3, seed=5, **threads)
    assert drawn == [caesura.sample(p, 3, seed=5 + i, **options) for i, p in enumerate(many)]


@pytest.mark.parametrize("method", [*FAST, "reference"])
def test_one_object_may_stand_in_a_batch_twice(method: str) -> None:
    p = random_model(0, T=6, Y=2, n_added=3)
    assert caesura.log_partition([p, p], method=method) == 2 * [
        caesura.log_partition(p, method=method)
    ]
    drawn = caesura.sample([p, p], 20, seed=3, method=method)
    assert drawn == [caesura.sample(p, 20, seed=seed, method=method) for seed in (3, 4)]


def test_an_empty_batch() -> None:
    assert list(caesura.log_partition([])) == []
    assert list(caesura.marginals([])) == []
    assert list(caesura.viterbi(())) == []


@methods
def test_one_impossible_sequence_in_a_batch(method: str) -> None:
    good = Potentials(2, 2)
    bad = Potentials(2, 2).constrain(boundaries=[1], no_boundaries=[1])
    values = caesura.log_partition([good, bad, good], method=method)
    assert values[1] == -np.inf
    assert values[0] == values[2] > -np.inf
    for question in (caesura.viterbi, caesura.marginals, caesura.entropy):
        with pytest.raises(Impossible, match="1"):
            question([good, bad, good], method=method)


@methods
def test_no_tokens(method: str) -> None:
    p = Potentials(0, ["A", "B"])
    assert caesura.log_partition(p, method=method) == 0.0
    assert caesura.score(p, []) == caesura.log_probability(p, [], method=method) == 0.0
    assert tuple(caesura.viterbi(p, method=method)) == ([], 0.0)
    assert [tuple(path) for path in caesura.n_best(p, 3, method=method)] == [([], 0.0)]
    assert caesura.sample(p, 2, seed=0, method=method) == [[], []]
    assert caesura.entropy(p, method=method) == 0.0
    assert caesura.kl_divergence(p, p, method=method) == 0.0
    assert tuple(caesura.minimum_risk(p, method=method)) == ([], 0.0)
    m = caesura.marginals(p, method=method)
    assert m.tokens.shape == (0, 2)
    assert m.boundaries.tolist() == [1.0]
    assert m.segments() == []
