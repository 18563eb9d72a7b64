"""The public answers to large questions: scores, lengths, numbers of labels, labels with limits."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from oracle import COUNTED, FAST, check_marginals, close, random_model

import caesura
from caesura import Potentials
from caesura.errors import TooLarge
from caesura.inference import reference
from caesura.inference.definition import Model
from caesura.inference.problems import problem_of
from caesura.inference.recursions import Lattice
from caesura.inference.reference import Enumeration

methods = pytest.mark.parametrize("method", FAST)

# -- numerics ----------------------------------------------------------------------------------


def rounded(p: Potentials) -> Potentials:
    """Make the scores multiples of 2^-16, so that adding large powers of two loses no digit."""
    for array in (p.emission, p.transition, p.start, p.end):
        array[...] = np.round(array * 2**16) / 2**16
    return p


@methods
@pytest.mark.parametrize("shift", [8192.0, -8192.0])
def test_large_scores_on_long_inputs(method: str, shift: float) -> None:
    """X7: a constant added to each token's scores moves log Z by it and nothing else."""
    T = 10_000
    p = rounded(random_model(0, T, 3, max_length=4))
    moved = p.copy()
    moved.emission += shift
    a, b = (caesura.marginals(x, method=method) for x in (p, moved))
    assert close(b.log_partition, a.log_partition + shift * T, tolerance=1e-12)
    assert close(b.tokens, a.tokens)
    assert close(b.boundaries, a.boundaries)
    assert close(b.transitions, a.transitions)
    best = [caesura.viterbi(x, method=method).segments for x in (p, moved)]
    assert best[0] == best[1]


@pytest.mark.parametrize("L", [3, None])
def test_mixed_large_scores(L: int | None) -> None:
    """X7: scores of +-1e4 at random; the methods agree, and the best path bounds the sum."""
    T = 10_000 if L else 1500
    rng = np.random.default_rng(3)
    p = Potentials(T, 3, max_length=L)
    p.emission[...] = rng.choice([-1e4, 0.0, 1e4], size=(T, 3)) + rng.normal(size=(T, 3))
    p.transition[...] = rng.choice([-1e4, 1e4], size=(3, 3))
    for t in range(0, T - 3, 7):
        p.add(t, t + 2, t % 3, float(rng.choice([-1e4, 1e4])), open_start=t % 2 == 0, open_end=True)
    a, b = (caesura.marginals(p, method=method) for method in FAST)
    best = [caesura.viterbi(p, method=method).score for method in FAST]
    assert close(a.log_partition, b.log_partition)
    assert close(best[0], best[1])
    assert best[0] <= a.log_partition * (1 + 1e-12) <= best[0] + T * math.log(4)
    for m in (a, b):
        assert np.isfinite(m.tokens).all()
        assert np.isfinite(m.potentials).all()
        assert close(m.tokens.sum(axis=1), np.ones(T), tolerance=1e-8)
    assert close(a.tokens, b.tokens, tolerance=1e-7)
    assert close(a.potentials, b.potentials, tolerance=1e-7)


@methods
def test_large_scores_against_enumeration(method: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        p = random_model(seed, T=5, Y=3, n_added=6)
        p.emission[...] += rng.choice([-1e4, 0.0, 1e4], size=(5, 3))
        p.transition[...] += rng.choice([-1e4, 0.0, 1e4], size=(3, 3))
        p.add(1, 2, 0, 1e4, open_start=True)
        p.add(2, 4, 1, -1e4, open_end=True)
        p.add_pattern([0, 1, 0], 1e4)
        every = Enumeration(p)
        assert close(caesura.log_partition(p, method=method), every.log_partition)
        assert close(caesura.viterbi(p, method=method).score, every.n_best(1)[0][1])
        m, expected = caesura.marginals(p, method=method), every.marginals()
        assert close(m.tokens, expected.tokens, tolerance=1e-8)
        assert close(m.potentials, expected.potentials, tolerance=1e-8)
        assert close(m.patterns, expected.patterns, tolerance=1e-8)
        assert close(caesura.entropy(p, method=method), every.entropy(), tolerance=1e-7)


@pytest.mark.parametrize(("method", "L"), [("overlapping", None), ("bounded", 4), ("auto", None)])
def test_a_hundred_thousand_tokens(method: str, L: int | None) -> None:
    T, Y = 100_000, 3
    zero = Potentials(T, Y, max_length=L)
    if L is None:
        expected = math.log(Y) + (T - 1) * math.log(1 + Y)
        assert close(caesura.log_partition(zero, method=method), expected)
    p = random_model(0, T, Y, n_added=2000, max_length=L)
    p.transition[...] = p.start[...] = p.end[...] = 0.0
    half = T // 2
    cut = p.copy().constrain(boundaries=[half])
    parts = [Potentials(half, Y, max_length=L) for _ in range(2)]
    for part, start in zip(parts, (0, half), strict=True):
        part.emission[...] = p.emission[start : start + half]
    for item in Model(p).potentials:
        left = item.end <= half
        if not left and item.start < half:
            continue  # across the cut: tested below to be few, and left out of both
        offset = 0 if left else half
        parts[not left].add(
            item.start - offset, item.end - offset, item.labels[0], item.score, *item[4:]
        )
    across = [i for i in Model(p).potentials if i.start < half < i.end]
    assert not across
    log_z = [caesura.log_partition(part, method=method) for part in parts]
    assert close(caesura.log_partition(cut, method=method), sum(log_z), tolerance=1e-12)
    best = caesura.viterbi(cut, method=method)
    assert close(best.score, sum(caesura.viterbi(x, method=method).score for x in parts))
    assert close(caesura.score(cut, best.segments), best.score)


@methods
def test_three_hundred_labels(method: str) -> None:
    p = random_model(0, T=12, Y=300, max_length=4)
    lattice_like = [np.full(300, -np.inf) for _ in range(13)]
    hat = [p.start]
    for e in range(1, 13):
        terms = [hat[s] + p.emission[s:e].sum(axis=0) for s in range(max(0, e - 4), e)]
        lattice_like[e] = np.logaddexp.reduce(terms, axis=0)
        hat.append(np.logaddexp.reduce(lattice_like[e][:, None] + p.transition, axis=0))
    expected = float(np.logaddexp.reduce(lattice_like[12] + p.end))
    assert close(caesura.log_partition(p, method=method), expected)
    m = caesura.marginals(p, method=method)
    assert close(m.tokens.sum(axis=1), np.ones(12))
    assert close(m.transitions.sum(), m.boundaries[1:-1].sum())
    best = caesura.viterbi(p, method=method)
    assert close(reference.score(p, best.segments), best.score)
    p.add_pattern([5, 6, 7], 1.0)
    assert expected < caesura.log_partition(p, method=method) < expected + 0.1


@methods
def test_longer_inputs_against_the_plain_recursion(method: str) -> None:
    """Windows, bounds and histories that six tokens are too few for."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        bounds: Any = [None, 4, [None, 3, 9]][seed % 3]
        p = random_model(seed, T=24, Y=3, n_added=25, max_length=bounds)
        p.same_label_adjacent = seed % 2 == 0
        p.add(3, 12, 1, 0.5, open_start=True)
        if seed > 1:
            p.add_pattern([0, 1, 0], 1.0)
            p.add(10, 13, (1, 2), 1.0, open_start=True, open_end=True)
        if seed > 3:
            p.constrain(ordered=[0, 2], boundaries=[int(rng.integers(1, 24))])
        plain = Lattice(p)
        check_marginals(caesura.marginals(p, method=method), plain.marginals())
        assert close(caesura.entropy(p, method=method), plain.entropy())
        paths = caesura.n_best(p, 30, method=method)
        assert close([path.score for path in paths], [score for _, score in plain.n_best(30)])
        assert len({tuple(path.segments) for path in paths}) == 30
        assert close(caesura.minimum_risk(p, method=method).score, plain.minimum_risk()[1])


@pytest.mark.parametrize("bounds", [None, [None, 6, 3, None, 1]])
def test_the_methods_agree_on_long_inputs(bounds: list[int | None] | None) -> None:
    p = random_model(3, T=300, Y=5, n_added=400, max_length=bounds)
    for labels in ([0, 1], [0, 1, 2], [3, 3, 4, 0], [4, 2]):
        p.add_pattern(labels, 0.7)
    p.add(40, 60, (1, 2), 3.0, open_start=True)
    p.add(100, 130, 0, 3.0, open_end=True)
    p.constrain(ordered=[1, 4], boundaries=[77], no_boundaries=[78, 79], forbidden=[(0, 1, 0)])
    a, b = (caesura.marginals(p, method=method) for method in FAST)
    assert close(a.log_partition, b.log_partition)
    for name in COUNTED:
        assert close(getattr(a, name), getattr(b, name)), name
    assert close(a.tokens.sum(axis=1), np.ones(300))
    assert close(*(caesura.entropy(p, method=method) for method in FAST))
    paths = [caesura.n_best(p, 10, method=method) for method in FAST]
    assert close([path.score for path in paths[0]], [path.score for path in paths[1]])
    for path in paths[0]:
        assert close(reference.score(p, path.segments), path.score)
    best = [caesura.minimum_risk(p, method=method).score for method in FAST]
    assert close(best[0], best[1])


# -- labels that occur once --------------------------------------------------------------------


@methods
def test_thirteen_labels_at_most_once(method: str) -> None:
    p = random_model(0, T=4, Y=13).constrain(at_most_once=range(13))
    every = Enumeration(p)
    assert close(caesura.log_partition(p, method=method), every.log_partition)
    check_marginals(caesura.marginals(p, method=method), every.marginals())
    assert close(caesura.viterbi(p, method=method).score, every.n_best(1)[0][1])


def test_thirteen_labels_at_most_once_on_fifty_tokens() -> None:
    p = random_model(1, T=50, Y=13, n_added=30).constrain(at_most_once=range(13))
    a, b = (caesura.marginals(p, method=method) for method in FAST)
    assert close(a.log_partition, b.log_partition)
    assert close(a.tokens, b.tokens)
    assert close(a.potentials, b.potentials)
    assert close(a.tokens.sum(axis=1), np.ones(50))
    path = caesura.viterbi(p)
    labels = [segment.label for segment in path.segments]
    assert len(set(labels)) == len(labels)
    assert close(reference.score(p, path.segments), path.score)
    # Of all labels only the expected number of segments is bounded by one.
    assert (a.starts + a.transitions.sum(axis=0) < 1 + 1e-9).all()


def many_once(seed: int, T: int, Y: int, **rules: Any) -> Potentials:
    """More labels that may occur once than subsets can track, and a taste for repeating some."""
    p = random_model(seed, T, Y)
    p.emission[:, :3] += 4.0
    p.constrain(**{"at_most_once": range(Y), **rules})
    return p


@methods
@pytest.mark.parametrize("seed", range(4))
def test_more_labels_than_subsets_can_track(method: str, seed: int) -> None:
    rules: dict[str, Any] = {"exactly_once": [17], "ordered": [2, 1]} if seed % 2 else {}
    p = many_once(seed, 3, 18, **rules)
    every = Enumeration(p)
    ranked = every.n_best(25)
    best = caesura.viterbi(p, method=method)
    assert close(best.score, ranked[0][1])
    assert close(reference.score(p, best.segments), best.score)
    paths = caesura.n_best(p, 25, method=method)
    assert close([path.score for path in paths], [score for _, score in ranked])
    assert len({tuple(path.segments) for path in paths}) == 25
    drawn = caesura.sample(p, 50, seed=1, method=method)
    assert all(reference.score(p, segments) > -np.inf for segments in drawn)
    assert caesura.sample(p, 50, seed=1, method=method) == drawn
    assert close(caesura.log_partition(p, method=method), every.log_partition)
    m = caesura.marginals(p, method=method)
    assert close(m.tokens, every.marginals().tokens)
    assert close(caesura.entropy(p, method=method), every.entropy())


# -- sums with more limits than subsets, where few states are reached ------------------------------


def choices(T: int, Y: int) -> int:
    """Count the segmentations of T tokens whose labels rise."""
    return sum(math.comb(Y, k) * math.comb(T - 1, k - 1) for k in range(1, T + 1))


@methods
def test_forty_ordered_labels_at_most_once(method: str) -> None:
    p = Potentials(12, 40).constrain(at_most_once=range(40), ordered=range(40))
    count = choices(12, 40)
    assert close(caesura.log_partition(p, method=method), math.log(count))
    assert close(caesura.entropy(p, method=method), math.log(count))
    assert problem_of(p).tally(0)["states"] <= 80
    p.constrain(exactly_once=[39])  # the last segment is the last label
    assert close(caesura.log_partition(p, method=method), math.log(count - choices(12, 39)))


@methods
def test_forty_labels_whose_pairs_only_rise(method: str) -> None:
    p = Potentials(12, 40).constrain(at_most_once=range(40))
    p.transition[np.tril_indices(40)] = -np.inf
    assert close(caesura.log_partition(p, method=method), math.log(choices(12, 40)))
    assert problem_of(p).tally(0)["states"] == 40


def test_what_scores_forbid_may_change_in_place() -> None:
    p = Potentials(3, 20).constrain(at_most_once=range(20))
    p.transition[:] = -np.inf
    m = caesura.marginals(p)
    assert close(caesura.log_partition(p), math.log(20))
    assert close(m.segment(0, 3, 0), 0.05)
    p.transition[:] = 0.0
    free = 20 + 2 * 20 * 19 + 20 * 19 * 18
    assert close(caesura.log_partition(p), math.log(free))
    assert close(caesura.marginals(p).segment(0, 3, 0), 1 / free)
    p.emission[:, 10:] = -np.inf
    assert close(caesura.log_partition(p), math.log(10 + 2 * 10 * 9 + 10 * 9 * 8))
    assert close(m.segment(0, 3, 0), 0.05)  # as it was asked first


@pytest.mark.parametrize("Y", [20, 40, 200])
def test_too_many_sets_of_labels_are_refused(Y: int) -> None:
    p = Potentials(60, Y).constrain(at_most_once=range(Y))
    limit = rf"sets of the {Y} labels .* more than {50_000_000 // Y:,} states .* 50,000,000 arcs"
    for question in (caesura.log_partition, caesura.marginals, caesura.entropy):
        with pytest.raises(TooLarge, match=limit):
            question(p)


@methods
@pytest.mark.parametrize("seed", range(8))
def test_states_of_possible_labels_only(method: str, seed: int) -> None:
    """Labels once or exactly once, orders, forbidden pairs and tokens: against enumeration."""
    rng = np.random.default_rng(seed)
    Y = 18
    p = random_model(seed, 3, Y, n_added=4)
    some = rng.permutation(Y)
    p.constrain(at_most_once=range(Y), exactly_once=some[: seed % 3])
    p.constrain(ordered=some[2 : 2 + 2 * seed])
    p.transition[rng.random((Y, Y)) < 0.4] = -np.inf
    p.start[rng.random(Y) < 0.3] = -np.inf
    p.emission[rng.random((3, Y)) < 0.2] = -np.inf
    if seed % 2:
        p.add_pattern(some[:3].tolist(), 2.0)
    every = Enumeration(p)
    assert close(caesura.log_partition(p, method=method), every.log_partition)
    if every.log_partition == -np.inf:
        return
    check_marginals(caesura.marginals(p, method=method), every.marginals())
    assert close(caesura.viterbi(p, method=method).score, every.n_best(1)[0][1])
    drawn = Counter(tuple(one) for one in caesura.sample(p, 200, seed=1, method=method))
    assert all(reference.score(p, segments) > -np.inf for segments in drawn)


def test_four_tokens_and_seventeen_labels_at_most_once() -> None:
    p = many_once(7, 4, 17)
    ranked = Enumeration(p).n_best(10)
    for method in FAST:
        paths = caesura.n_best(p, 10, method=method)
        assert close([path.score for path in paths], [score for _, score in ranked])
        assert close(caesura.viterbi(p, method=method).score, ranked[0][1])


@methods
def test_sampling_by_rejection_follows_the_probabilities(method: str) -> None:
    p = many_once(8, 2, 17)
    every = Enumeration(p)
    n = 20_000
    drawn = Counter(tuple(segments) for segments in caesura.sample(p, n, seed=3, method=method))
    assert set(drawn) <= {tuple(every.model.named(path)) for path in every.paths}
    top = np.argsort(-every.probabilities)[:10].tolist()
    for i in top:
        expected = n * every.probabilities[i]
        count = drawn[tuple(every.model.named(every.paths[i]))]
        assert abs(count - expected) < 5 * math.sqrt(expected)


def test_an_edge_lifts_a_pair_whose_source_is_far_below() -> None:
    """The best pair starts from a label whose row entry is no plain number any more."""
    p = caesura.Potentials(2, 2, max_length=[2, 1])
    p.start[:] = (-740.0, 0.0)
    p.transition[:] = [[530.0, 534.0], [-900.0, -100.0]]
    p.add_transition(1, 0, 1, 118.0)
    exact = caesura.log_partition(p, method="reference")
    assert caesura.log_partition(p) == pytest.approx(exact, abs=1e-9)
    near, true = caesura.marginals(p), caesura.marginals(p, method="reference")
    assert near.tokens == pytest.approx(true.tokens, abs=1e-12)
    assert near.edges == pytest.approx(true.edges, abs=1e-12)
