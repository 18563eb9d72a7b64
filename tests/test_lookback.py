"""Features that look back: what they say, exact search, ln Z, marginals, the gradient."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lookback_cases import ONE, THREE, TWO, Case, random_case, rows_of

import caesura
from caesura import _kernels
from caesura.documents import Document
from caesura.encoding.spans import SpanEncoder
from caesura.errors import InvalidInput
from caesura.features import (
    Template,
    declared,
    from_spec,
    preset,
    previous,
    this,
    to_spec,
    word,
    word_templates,
)
from caesura.features.reference import path_attributes
from caesura.inference.beam_search import beam_search, segmentations
from caesura.segments import Segment

shapes = st.tuples(
    st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([[1], [3], [2, 3], [1, 1]])
)


def some(seed: int, features: list[Any], n: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [features[k] for k in sorted(random.choice(len(features), n, replace=False).tolist())]


def words(*texts: str) -> list[tuple[int, int, str]]:
    ends = np.cumsum([len(text) for text in texts]).tolist()
    return [(e - len(text), e, "w") for text, e in zip(texts, ends, strict=True)]


# ---- what templates say --------------------------------------------------------------------------


def test_worked_example() -> None:
    """All fourteen templates on 我 吃 了 苹果: their values, in the order of the textbook."""
    document, path = Document(tuple("我吃了苹果")), words("我", "吃", "了", "苹果")
    expected = [
        "我 吃 了 苹果",
        "<s>|我 我|吃 吃|了 了|苹果 苹果|</s>",
        "1",  # three times
        "我|1 吃|1 了|1 苹|2",
        "我|1 吃|1 了|1 果|2",
        "<s>|我 我|吃 吃|了 了|苹 果|</s>",
        "苹|果",
        "我|我 吃|吃 了|了 苹|果",
        "我|吃 吃|了 了|苹 苹果|</s>",
        "<s>|我 我|吃 吃|了 了|苹果",
        "<s>|我 我|吃 吃|了 了|苹 苹|</s>",
        "<s>|我 我|吃 吃|了 了|果 果|</s>",
        "我|<s> 吃|1 了|1 苹果|1 </s>|2",
        "<s>|1 我|1 吃|1 了|2 苹果|</s>",
    ]
    for template, values in zip(word_templates(), expected, strict=True):
        found = path_attributes(document, path, [template])
        said = {
            name.partition("=")[2].replace(" ", ""): value for (name, _), value in found.items()
        }
        assert said == dict.fromkeys(values.split(), 3 if values == "1" else 1)


def test_kernels_say_what_the_worked_example_says() -> None:
    document, path = Document(tuple("我吃了苹果")), [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 5, 0)]
    for feature, expected in ((word_templates()[1], [1] * 5), (word_templates()[2], [3])):
        encoder = SpanEncoder([feature])
        corpus: Any = encoder.encode([document], True)
        one, none = np.ones(1, np.int32), np.zeros(1, np.uint8)
        model = encoder.new_model(1, False)
        scorer = _kernels.SpanScorer(
            model, 2 * one, np.zeros((1, 1), np.uint8), none, none, None, None
        )
        counts: dict[int, float] = defaultdict(float)
        for key, _, value in scorer.said(corpus, 0, rows_of(tuple(path))):
            counts[key] += value
        transitions = 3.0  # the only other key: three words follow another
        assert sorted(counts.values()) == sorted([*map(float, expected), transitions])


@given(shapes, st.sampled_from(range(len(ONE + TWO + THREE))))
@settings(max_examples=150, deadline=None)
def test_keys_are_what_the_reference_says(shape: tuple[int, int, list[int]], k: int) -> None:
    """Over all paths, each attribute counts as one of the keys does: neither joined nor split."""
    seed, length, bounds = shape
    feature = (ONE + TWO + THREE)[k]
    if isinstance(feature, caesura.features.Length):
        return  # its firings are tested elsewhere
    case, bare = random_case(seed, [feature], length, bounds), random_case(seed, [], length, bounds)
    paths, labels = case.paths(), [f"y{k}" for k in range(len(bounds))]
    counts: dict[Any, list[float]] = defaultdict(lambda: [0.0] * len(paths))
    expected: dict[Any, list[float]] = defaultdict(lambda: [0.0] * len(paths))
    for i, path in enumerate(paths):
        transitions = {key for key, _, _ in bare.said(path)}
        for key, label, value in case.said(path):
            if key not in transitions:
                counts[key, label][i] += value
        segments = [(s, e, labels[y]) for s, e, y in path]
        for name, value in path_attributes(case.document, segments, [feature]).items():
            expected[name][i] += value
    assert sorted(counts.values()) == sorted(expected.values())


@pytest.mark.parametrize("features", [word_templates(), preset("words", bigrams=True), TWO, THREE])
def test_specs(features: list[Any]) -> None:
    assert from_spec(to_spec(features)) == features
    assert declared(features) == features


def test_repr_is_what_one_writes() -> None:
    feature = previous.text & this[caesura.features.lower].first
    assert repr(feature) == "previous.text & this[lower].first"
    assert (
        eval(repr(feature), vars(caesura.features) | {"lower": caesura.features.lower}) == feature
    )


# ---- search, ln Z, marginals ---------------------------------------------------------------------


def features_of(seed: int, depth: int) -> list[Any]:
    pools = [ONE, ONE + TWO, ONE + TWO + THREE]
    features = some(seed, pools[depth], 5)
    if depth and not any(getattr(one, "depth", 0) == depth for one in features):
        features.append([TWO, THREE][depth - 1][0])
    return list(dict.fromkeys(features))


@given(shapes, st.integers(0, 2))
@settings(max_examples=120, deadline=None)
def test_exact_search(shape: tuple[int, int, list[int]], depth: int) -> None:
    seed, length, bounds = shape
    case = random_case(seed, features_of(seed, depth), length, bounds)
    scores = case.scores()
    best = max(scores.values())
    for beam in (None, 10**6):
        path = found(case, beam)
        assert scores[path] == pytest.approx(best, abs=1e-9)
        scorer = case.scorer(beam)
        assert scorer.score(case.corpus, 0, rows_of(path)) == pytest.approx(best, abs=1e-9)


def found(case: Case, beam: int | None) -> Any:
    paths = case.scorer(beam).best(case.corpus, None, 1)
    [segments] = paths.segments(Segment, list(range(len(case.bounds))))
    return tuple(tuple(one) for one in segments)


@given(shapes, st.integers(1, 4), st.integers(0, 2))
@settings(max_examples=120, deadline=None)
def test_beam_search_is_its_definition(
    shape: tuple[int, int, list[int]], k: int, depth: int
) -> None:
    seed, length, bounds = shape
    case = random_case(seed, features_of(seed, depth), length, bounds, whole=True)
    deep = case.model.depth

    def score(path: Any) -> float:
        whole = path[-1][1] == length
        if any(case.barred[a[2], b[2]] for a, b in pairwise(path)):
            return -np.inf
        return partial_score(case, path, whole)

    agendas = beam_search(length, bounds, score, k, deep)
    best = [one for one in agendas[-1] if one[0] > -np.inf]
    if not best:
        return
    assert found(case, k) == best[0][1]


def partial_score(case: Case, path: Any, whole: bool) -> float:
    """The score of a segmentation of the first tokens."""
    total = sum(case.weight.get((k, y), 0.0) * x for k, y, x in case.said(path))
    if whole:
        return total
    # What the end adds is said last: the ending of the label, and templates that fire at the end.
    n_end = 1 + sum(
        1
        for one in case.features
        if not isinstance(one, Template) and getattr(one, "fires_at_end", False)
    )
    return total - sum(case.weight.get((k, y), 0.0) * x for k, y, x in case.said(path)[-n_end:])


@given(shapes, st.integers(0, 1))
@settings(max_examples=100, deadline=None)
def test_sums(shape: tuple[int, int, list[int]], depth: int) -> None:
    seed, length, bounds = shape
    case = random_case(seed, features_of(seed, depth), length, bounds)
    scores = case.scores()
    values = np.array(list(scores.values()))
    log_z = float(np.logaddexp.reduce(values))
    shares = dict(zip(scores, np.exp(values - log_z).tolist(), strict=True))
    scorer = case.scorer()
    [row] = scorer.posterior(case.corpus, True, 1)
    assert row.log_partition == pytest.approx(log_z, abs=1e-10)
    assert scorer.log_partition(case.corpus, 1) == pytest.approx([log_z], abs=1e-10)
    entropy = -sum(p * np.log(p) for p in shares.values() if p > 0)
    assert row.entropy == pytest.approx(entropy, abs=1e-9)
    T, L, Y = row.shape
    expected, transitions = np.zeros((T, L, Y)), np.zeros((Y, Y))
    for path, p in shares.items():
        for s, e, y in path:
            expected[s, e - s - 1, y] += p
        for a, b in pairwise(path):
            transitions[a[2], b[2]] += p
    np.testing.assert_allclose(row.spans.reshape(T, L, Y), expected, atol=1e-10)
    np.testing.assert_allclose(row.transitions.reshape(Y, Y), transitions, atol=1e-10)
    reading = _kernels.Reading(np.arange(Y, dtype=np.int32), None)
    [ranked] = scorer.n_best(case.corpus, reading, Segment, list(range(Y)), 4, 1)
    best = sorted(shares.values(), reverse=True)[:4]
    assert [p for _, p in ranked] == pytest.approx(best, abs=1e-10)
    assert len({tuple(segments) for segments, _ in ranked}) == len(ranked)
    [found] = scorer.best(case.corpus, reading, 1).segments(tuple, list(range(Y)))
    assert shares[tuple(found)] == pytest.approx(ranked[0][1], abs=1e-10)  # agenda and graph
    [drawn] = scorer.sample(case.corpus, reading, Segment, list(range(Y)), 3, 7, 1)
    assert all(tuple(tuple(one) for one in path) in shares for path in drawn)


def test_samples_follow_the_distribution() -> None:
    case = random_case(5, [previous.text & this.text], 4, [3])
    values = case.scores()
    log_z = np.logaddexp.reduce(list(values.values()))
    reading = _kernels.Reading(np.zeros(1, np.int32), None)
    [drawn] = case.scorer().sample(case.corpus, reading, Segment, [0], 20_000, 3, 1)
    counts: dict[Any, int] = defaultdict(int)
    for path in drawn:
        counts[tuple(tuple(one) for one in path)] += 1
    for path, score in values.items():
        assert counts[path] / 20_000 == pytest.approx(np.exp(score - log_z), abs=0.02)


# ---- log-likelihood ------------------------------------------------------------------------------


def objective_of(seed: int, depth: int, bounds: list[int]) -> tuple[Case, list[Any], Any]:
    case = random_case(seed, features_of(seed, depth), 4, bounds)
    case.barred[...] = 0
    paths = case.paths()
    random = np.random.default_rng(seed)
    gold = [paths[int(random.integers(len(paths)))] for _ in range(2)]
    corpus: Any = case.encoder.encode([case.document] * 2, True)
    model = case.encoder.new_model(len(bounds), True)
    objective = _kernels.SpanObjective(
        model,
        corpus,
        [rows_of(path) for path in gold],
        *case.bars,
        np.array([1.0, 0.5]),
        -np.inf,
        1,
    )
    return case, gold, objective


@given(st.integers(0, 10**6), st.integers(0, 1), st.sampled_from([[3], [2, 3]]))
@settings(max_examples=40, deadline=None)
def test_gradient(seed: int, depth: int, bounds: list[int]) -> None:
    _, _, objective = objective_of(seed, depth, bounds)
    random = np.random.default_rng(seed)
    w = random.normal(size=objective.size)
    _, gradient = objective.evaluate(w, 1)
    step = 1e-5
    for k in random.choice(objective.size, min(12, objective.size), replace=False).tolist():
        high, low = w.copy(), w.copy()
        high[k] += step
        low[k] -= step
        slope = (objective.evaluate(high, 1)[0] - objective.evaluate(low, 1)[0]) / (2 * step)
        assert gradient[k] == pytest.approx(slope, abs=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([[3], [2, 3]]))
@example(123, [2, 3])  # the values of an attribute add up to 0
@settings(max_examples=30, deadline=None)
def test_log_likelihood_is_that_of_enumeration(seed: int, bounds: list[int]) -> None:
    case, gold, objective = objective_of(seed, 1, bounds)
    seen: dict[tuple[int, int], None] = {}
    for path in gold:
        seen |= dict.fromkeys((k, y) for k, y, _ in case.said(path))
    assert objective.size == len(seen)
    random = np.random.default_rng(seed)
    w = random.normal(size=objective.size)
    loss, _ = objective.evaluate(w, 2)
    # Weights are in the order of rows, which is the order in which keys first came, then of labels.
    rows = list(dict.fromkeys(key for key, _ in seen))
    order = sorted(seen, key=lambda one: (rows.index(one[0]), one[1]))
    weight = dict(zip(order, w.tolist(), strict=True))

    def score(path: Any) -> float:
        return float(sum(weight.get((k, y), 0.0) * x for k, y, x in case.said(path)))

    log_z = float(np.logaddexp.reduce([score(path) for path in case.paths()]))
    expected = sum(c * (log_z - score(path)) for c, path in zip((1.0, 0.5), gold, strict=True))
    assert loss == pytest.approx(expected, abs=1e-9)


def test_learning_reaches_the_optimum() -> None:
    X = ["abab", "ab", "ba"]
    y = [words("ab", "ab"), words("ab"), words("b", "a")]
    model = caesura.SemiCRF(
        [previous.text & this.text, word[0]],
        max_length=2,
        tokeniser="characters",
        c2=0.1,
        epsilon=1e-9,
        delta=0.0,
    ).fit(X, y)
    assert model.status_ in ("gradient", "search")
    assert model.predict(X) == [[Segment(*one) for one in segments] for segments in y]
    objectives = [progress.objective for progress in model.history_]
    assert objectives == sorted(objectives, reverse=True)


# ---- cost ----------------------------------------------------------------------------------------


def tally(length: int, beam: int | None) -> tuple[int, int]:
    encoder = SpanEncoder([previous.text & this.text])
    corpus: Any = encoder.encode([Document(("a",) * length)], True)
    one, none = np.ones(1, np.int32), np.zeros(1, np.uint8)
    square = np.zeros((1, 1), np.uint8)
    scorer = _kernels.SpanScorer(
        encoder.new_model(1, True), 4 * one, square, none, none, None, beam
    )
    return scorer.tally(corpus, 0)


@pytest.mark.parametrize("beam", [1, 2, 3])
def test_time_is_linear_in_the_length(beam: int) -> None:
    candidates = [tally(length, beam)[0] for length in (20, 40, 80)]
    assert candidates[2] - candidates[1] == 2 * (candidates[1] - candidates[0])
    assert candidates[0] <= 20 * 4 * beam
    assert tally(40, beam)[1] <= 40 * beam


def test_exact_search_costs_the_square_of_the_bound() -> None:
    candidates = [tally(length, None)[0] for length in (20, 40)]
    assert candidates[1] - candidates[0] == 20 * 4 * 4


def test_all_segmentations() -> None:
    assert len(segmentations(4, [4, 4])) == 54
    with pytest.raises(
        InvalidInput, match="max_length: got None, expected a bound for every label"
    ):
        caesura.SemiCRF([this.text]).fit(["a b"], [[(0, 1, "x"), (1, 2, "y")]])
