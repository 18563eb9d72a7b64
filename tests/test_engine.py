"""The public answers against enumeration, for every fast method: one answer, however computed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from oracle import FAST, check_marginals, close, models, pairs, random_model

import caesura
from caesura import Potentials, Segment
from caesura.inference import reference
from caesura.inference.definition import log_sum
from caesura.inference.reference import Enumeration

Floats = npt.NDArray[np.float64]
methods = pytest.mark.parametrize("method", FAST)


def possible(p: Potentials) -> Enumeration:
    """Enumerate, and skip the example if nothing is possible."""
    every = Enumeration(p)
    assume(every.log_partition > -np.inf)
    return every


# -- every answer against enumeration ----------------------------------------------------------


@given(models())
@settings(max_examples=150)
def test_log_partition_and_scores(p: Potentials) -> None:
    every = Enumeration(p)
    for method in (*FAST, "auto", "reference"):
        assert close(caesura.log_partition(p, method=method), every.log_partition)
    step = len(every.paths) // 10 + 1
    for path, score in zip(every.paths[::step], every.scores[::step], strict=True):
        segments = every.model.named(path)
        assert close(caesura.score(p, segments), score)
        if every.log_partition > -np.inf:
            for method in FAST:
                log_probability = caesura.log_probability(p, segments, method=method)
                assert close(log_probability, score - every.log_partition)


@given(models(rules=True))
@settings(max_examples=80)
def test_the_score_of_a_broken_rule_is_minus_infinity(p: Potentials) -> None:
    """Any segmentation of the tokens may be asked about, also one that p forbids."""
    free = Enumeration(Potentials(p.length, len(p.labels)))
    step = len(free.paths) // 12 + 1
    for path in free.paths[::step]:
        expected = reference.score(p, path)
        assert close(caesura.score(p, free.model.named(path)), expected)
        assert close(caesura.score(p, list(path)), expected)


@given(models())
@settings(max_examples=150)
def test_marginals(p: Potentials) -> None:
    expected = possible(p).marginals()
    for method in FAST:
        check_marginals(caesura.marginals(p, method=method), expected)


@given(models())
@settings(max_examples=80)
def test_marginals_of_segments_and_transitions(p: Potentials) -> None:
    expected = possible(p).marginals()
    T, Y = p.length, len(p.labels)
    for method in FAST:
        m = caesura.marginals(p, method=method)
        for start, end in itertools.combinations(range(T + 1), 2):
            for y in range(Y):
                assert close(m.segment(start, end, y), expected.segment(start, end, y))
        for t in range(1, T):
            for y0, y in itertools.product(range(Y), repeat=2):
                assert close(m.transition(t, y0, y), expected.transition(t, y0, y))


@given(models())
@settings(max_examples=80)
def test_the_most_probable_segments(p: Potentials) -> None:
    every = dict(possible(p).marginals().segments(0.0))
    for method, least in itertools.product(FAST, (0.3, 0.01)):
        found = caesura.marginals(p, method=method).segments(least)
        probabilities = [n for _, n in found]
        assert probabilities == sorted(probabilities, reverse=True)
        assert len({segment for segment, _ in found}) == len(found)
        assert all(isinstance(segment, Segment) for segment, _ in found)
        assert all(close(n, every.get(segment, 0.0)) for segment, n in found)
        assert min([1.0, *probabilities]) >= least
        missing = every.keys() - {segment for segment, _ in found}
        assert all(every[segment] < least + 1e-9 for segment in missing)


@given(models())
@settings(max_examples=120)
def test_viterbi(p: Potentials) -> None:
    best = possible(p).n_best(1)[0][1]
    for method in (*FAST, "auto", "reference"):
        path = caesura.viterbi(p, method=method)
        assert close(path.score, best)
        assert close(reference.score(p, path.segments), path.score)  # X6
        assert all(isinstance(segment, Segment) for segment in path.segments)


@given(models())
@settings(max_examples=120)
def test_n_best(p: Potentials) -> None:
    every = possible(p)
    ranked = [score for _, score in every.n_best(len(every.paths))]
    for method, n in itertools.product(FAST, (1, 2, 7, len(ranked) + 3)):
        if len(ranked) > 400 and n > 7:
            n = 400
        paths = caesura.n_best(p, n, method=method)
        assert close([path.score for path in paths], ranked[:n])
        assert len({tuple(path.segments) for path in paths}) == len(paths) == min(n, len(ranked))
        for path in paths[:10]:
            assert close(reference.score(p, path.segments), path.score)


@given(models())
@settings(max_examples=80)
def test_entropy(p: Potentials) -> None:
    expected = possible(p).entropy()
    for method in FAST:
        assert close(caesura.entropy(p, method=method), expected)


@given(pairs())
@settings(max_examples=80)
def test_kl_divergence(pair: tuple[Potentials, Potentials]) -> None:
    p, q = pair
    possible(p)
    possible(q)
    expected = reference.kl_divergence(p, q)
    for method in FAST:
        assert close(caesura.kl_divergence(p, q, method=method), expected)
        assert close(caesura.kl_divergence(p, p, method=method), 0.0)


@given(models())
@settings(max_examples=100)
def test_minimum_risk(p: Potentials) -> None:
    every = possible(p)
    m = every.marginals()
    for method, outside in itertools.product(FAST, ("O", None)):
        path = caesura.minimum_risk(p, outside=outside, method=method)
        assert close(path.score, every.minimum_risk(outside)[1])
        assert reference.score(p, path.segments) > -np.inf
        gain = sum(m.segment(*s) for s in path.segments if s.label != outside)
        assert close(gain, path.score)


@given(models())
@settings(max_examples=60)
def test_samples_are_possible_and_repeat(p: Potentials) -> None:
    possible(p)
    for method in FAST:
        drawn = caesura.sample(p, 5, seed=7, method=method)
        assert len(drawn) == 5
        assert all(reference.score(p, segments) > -np.inf for segments in drawn)
        assert caesura.sample(p, 5, seed=7, method=method) == drawn


# -- sampling ----------------------------------------------------------------------------------


def sampled_models() -> Iterator[Potentials]:
    yield random_model(0, T=3, Y=2, n_added=4)
    yield random_model(1, T=4, Y=2, n_added=4, max_length=2)
    high = random_model(2, T=4, Y=2, n_added=2, same_label_adjacent=False)
    high.add_pattern([0, 1, 0], 1.0)
    high.add(1, 3, (1, 0), 1.0, open_start=True)
    yield high
    yield random_model(3, T=4, Y=3, n_added=4).constrain(at_most_once=[0, 1], ordered=[0, 2])


@methods
@pytest.mark.parametrize("p", list(sampled_models()), ids=["open", "bounded", "history", "rules"])
def test_sampling_follows_the_probabilities(p: Potentials, method: str) -> None:
    every = Enumeration(p)
    n = 20_000
    drawn = Counter(tuple(segments) for segments in caesura.sample(p, n, seed=11, method=method))
    expected = {
        tuple(every.model.named(path)): n * probability
        for path, probability in zip(every.paths, every.probabilities, strict=True)
    }
    assert drawn.keys() <= expected.keys()
    rare = sum(count for count in expected.values() if count < 5)
    common = {key: count for key, count in expected.items() if count >= 5}
    rare_drawn = sum(count for key, count in drawn.items() if key not in common)
    chi2 = sum((drawn[key] - count) ** 2 / count for key, count in common.items())
    free = len(common) - 1
    assert chi2 < free + 5 * math.sqrt(2 * free)
    assert abs(rare_drawn - rare) < 6 * math.sqrt(rare + 1)


@methods
def test_seeds_differ_and_repeat(method: str) -> None:
    p = random_model(4, T=30, Y=3, n_added=10)
    first = caesura.sample(p, 10, seed=1, method=method)
    assert caesura.sample(p, 10, seed=1, method=method) == first
    assert caesura.sample(p, 10, seed=2, method=method) != first
    assert len({tuple(segments) for segments in first}) > 1


# -- invariants --------------------------------------------------------------------------------


def compositions(T: int, Y: int, L: int) -> int:
    """Labelled segmentations of T tokens with segments of at most L."""
    count = [1]
    for t in range(1, T + 1):
        count.append(Y * sum(count[max(0, t - L) : t]))
    return count[T]


@methods
@pytest.mark.parametrize(("T", "Y"), [(0, 2), (1, 1), (1, 5), (4, 2), (9, 3), (60, 4), (200, 7)])
def test_zero_scores_count_segmentations(method: str, T: int, Y: int) -> None:
    """X2; with one token it is log Y, so no previous label is made up."""
    expected = math.log(Y * (1 + Y) ** (T - 1)) if T else 0.0
    assert close(caesura.log_partition(Potentials(T, Y), method=method), expected)
    for L in (1, 2, 5, 300):
        p = Potentials(T, Y, max_length=L)
        assert close(caesura.log_partition(p, method=method), math.log(compositions(T, Y, L)))
        if T:
            assert close(caesura.entropy(p, method=method), math.log(compositions(T, Y, L)))


def chain_log_partition(p: Potentials) -> float:
    """Forward algorithm of a linear chain."""
    alpha = p.start + p.emission[0]
    for t in range(1, p.length):
        alpha = np.logaddexp.reduce(alpha[:, None] + p.transition, axis=0) + p.emission[t]
    return float(np.logaddexp.reduce(alpha + p.end))


@methods
@pytest.mark.parametrize(("T", "Y"), [(1, 1), (2, 3), (50, 5), (40, 22), (7, 300), (300, 17)])
def test_longest_segment_one_is_a_chain(method: str, T: int, Y: int) -> None:
    """X5."""
    p = random_model(T + Y, T, Y, max_length=1)
    assert close(caesura.log_partition(p, method=method), chain_log_partition(p))
    same = p.copy()
    same.same_label_adjacent = False
    np.fill_diagonal(p.transition, -np.inf)
    if T == 1 or Y > 1:
        assert close(caesura.log_partition(same, method=method), chain_log_partition(p))


@methods
def test_order_one_patterns_are_transitions(method: str) -> None:
    """X5: a high-order model whose patterns have order 1 is a first-order model."""
    for seed, L in itertools.product(range(4), (None, 3)):
        first = random_model(seed, T=12, Y=3, n_added=8, max_length=L)
        high = first.copy()
        extra = np.random.default_rng(seed).normal(size=(3, 3))
        first.transition += extra
        for y0, y in itertools.product(range(3), repeat=2):
            high.add_pattern([y0, y], extra[y0, y])
        a, b = (caesura.marginals(p, method=method) for p in (first, high))
        assert close(b.log_partition, a.log_partition)
        assert close(b.tokens, a.tokens)
        assert close(b.potentials, a.potentials)
        assert close(np.reshape(b.patterns, (3, 3)), a.transitions)
        assert close(b.transitions, a.transitions)
        best = caesura.viterbi(first, method=method), caesura.viterbi(high, method=method)
        assert close(best[0].score, best[1].score)


@methods
def test_patterns_over_tokens_are_a_high_order_chain(method: str) -> None:
    """X5: with segments of one token, all label sequences are scored by their n-grams."""
    T, Y = 5, 3
    p = random_model(8, T, Y, max_length=1)
    weights = {(0, 1, 0): 1.5, (2, 2, 2): -1.0, (1, 0): 0.5, (0, 1, 2, 0, 1): 2.0}
    for pattern, weight in weights.items():
        p.add_pattern(pattern, weight)
    totals = []
    for tags in itertools.product(range(Y), repeat=T):
        total = p.start[tags[0]] + p.end[tags[-1]] + p.emission[range(T), tags].sum()
        total += sum(p.transition[a, b] for a, b in itertools.pairwise(tags))
        for pattern, weight in weights.items():
            k = len(pattern)
            total += weight * sum(tags[i : i + k] == pattern for i in range(T - k + 1))
        totals.append(total)
    assert close(caesura.log_partition(p, method=method), log_sum(totals))
    assert close(caesura.viterbi(p, method=method).score, max(totals))


@given(models(min_length=1))
@settings(max_examples=60)
def test_marginals_are_consistent(p: Potentials) -> None:
    """X8."""
    possible(p)
    for method in FAST:
        m = caesura.marginals(p, method=method)
        assert close(m.tokens.sum(axis=1), np.ones(p.length))
        assert m.boundaries[0] == 1.0
        assert close(m.boundaries[-1], 1.0)
        assert close(m.starts.sum(), 1.0)
        assert close(m.ends.sum(), 1.0)
        assert close(m.transitions.sum(), m.boundaries[1:-1].sum())
        segments = m.segments(1e-300)
        for t in range(p.length):
            assert close(sum(n for (s, e, _), n in segments if s <= t < e), 1.0)
        for t in range(1, p.length + 1):
            assert close(sum(n for (_, e, _), n in segments if e == t), m.boundaries[t])


# -- finite differences ------------------------------------------------------------------------


def difference(p: Potentials, change: Callable[[Potentials, float], None], method: str) -> float:
    """Central difference of log Z."""
    step = 1e-4
    up, down = p.copy(), p.copy()
    change(up, step)
    change(down, -step)
    values = [float(caesura.log_partition(q, method=method)) for q in (up, down)]
    return (values[0] - values[1]) / (2 * step)


def written(name: str, index: tuple[int, ...]) -> Callable[[Potentials, float], None]:
    def change(p: Potentials, step: float) -> None:
        getattr(p, name)[index] += step

    return change


def called(name: str, *arguments: Any, score: int) -> Callable[[Potentials, float], None]:
    """Add with `arguments`, where the one at `score` is replaced by the step."""

    def change(p: Potentials, step: float) -> None:
        getattr(p, name)(*arguments[:score], step, *arguments[score + 1 :])

    return change


@methods
@pytest.mark.parametrize("kind", ["open", "bounded", "history", "rules"])
def test_marginals_are_derivatives_of_log_partition(method: str, kind: str) -> None:
    """X4, for every array and every kind of potential; adding again adds to the score."""
    T, Y = 6, 3
    p = random_model(5, T, Y, max_length=3 if kind == "bounded" else None)
    if kind == "bounded":
        p.spans[...] = np.random.default_rng(0).normal(size=p.spans.shape)
    potentials: list[tuple[Any, ...]] = [
        (1, 3, 0, 0.7, open_start, open_end)
        for open_start, open_end in itertools.product((False, True), repeat=2)
    ]
    edges = [(2, 0, 1, 0.3), (3, 1, 1, -0.4)]
    patterns: list[tuple[Any, ...]] = [((1,), 0.2, None, None), ((2,), 0.2, None, 4)]
    if kind in ("history", "rules"):
        potentials += [
            (2, 4, (1, 0), -0.5, open_start, open_end)
            for open_start, open_end in itertools.product((False, True), repeat=2)
        ]
        patterns += [((0, 1, 0), 0.4, None, None), ((0, 1), -0.3, 2, None), ((1, 2), 0.5, 1, 3)]
    for item in potentials:
        p.add(*item)
    for edge in edges:
        p.add_transition(*edge)
    for pattern in patterns:
        p.add_pattern(*pattern)
    if kind == "rules":
        p.constrain(at_most_once=[2], ordered=[0, 2], forbidden=[(0, 2, 1)], no_boundaries=[5])

    def agrees(change: Callable[[Potentials, float], None], expected: float) -> bool:
        return close(difference(p, change, method), expected, tolerance=1e-6)

    m = caesura.marginals(p, method=method)
    arrays = [("emission", m.tokens), ("transition", m.transitions)]
    arrays += [("start", m.starts), ("end", m.ends)]
    if m.spans is not None:
        arrays.append(("spans", m.spans))
    for name, expected in arrays:
        for index in np.ndindex(*expected.shape):
            assert agrees(written(name, index), float(expected[index]))
    for item, count in zip(potentials, m.potentials, strict=True):
        assert agrees(called("add", *item, score=3), count)
    for edge, count in zip(edges, m.edges, strict=True):
        assert agrees(called("add_transition", *edge, score=3), count)
    for pattern, count in zip(patterns, m.patterns, strict=True):
        assert agrees(called("add_pattern", *pattern, score=1), count)


@methods
def test_the_probability_of_an_event_is_a_difference_of_log_partitions(method: str) -> None:
    p = random_model(6, T=8, Y=3, n_added=10)
    m = caesura.marginals(p, method=method)
    for start, end, y in [(0, 3, 1), (2, 5, 0), (7, 8, 2), (0, 8, 1)]:
        event = p.copy().constrain(required=[(start, end, y)])
        log_probability = caesura.log_partition(event, method=method) - m.log_partition
        assert close(math.exp(log_probability), m.segment(start, end, y))
    event = p.copy().constrain(boundaries=[4])
    log_probability = caesura.log_partition(event, method=method) - m.log_partition
    assert close(math.exp(log_probability), m.boundaries[4])
