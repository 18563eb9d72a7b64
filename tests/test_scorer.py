"""What a trained model answers in the kernels is what the engine answers about its potentials."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_cases import Case

import caesura
from caesura import Potentials, _kernels

SEEDS = st.integers(0, 10**6)
ORDERS = st.sampled_from([0, 0, 0, 2, 3])
SCALES = st.sampled_from([0.3, 1.0, 3.0, 30.0])  # with the last, the general sweeps answer


def scored(case: Case) -> list[tuple[int, Potentials]]:
    """The sequences that are not empty, with their potentials."""
    return [(i, case.potentials(i, case.w)) for i, T in enumerate(case.lengths) if T > 0]


@settings(max_examples=200, deadline=None)
@given(SEEDS, ORDERS, SCALES)
def test_probabilities_of_the_best_segments(seed: int, order: int, scale: float) -> None:
    case = Case(seed, scale=scale, order=order)
    design, every = case.parameters.compile(case.corpus), np.arange(case.Y, dtype=np.int32)
    found = case.scorer().confident(design, _kernels.Reading(every, None), 1)
    paths = found.segments(tuple, every.tolist())
    for i, p in scored(case):
        m = caesura.marginals(p)
        assert caesura.score(p, paths[i]) == pytest.approx(caesura.viterbi(p).score, rel=1e-9)
        chances = found.probabilities[found.ptr[i] : found.ptr[i + 1]]
        expected = [m.segment(*segment) for segment in paths[i]]
        assert chances == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert (chances <= 1.0).all()


@settings(max_examples=200, deadline=None)
@given(SEEDS, ORDERS, SCALES)
def test_expected_counts(seed: int, order: int, scale: float) -> None:
    case = Case(seed, scale=scale, order=order)
    scorer, design = case.scorer(), case.parameters.compile(case.corpus)
    rows = scorer.posterior(design, False, 1)
    for i, p in scored(case):
        m = caesura.marginals(p)
        assert rows[i].log_partition == pytest.approx(m.log_partition, rel=1e-9, abs=1e-9)
        for name in ("tokens", "boundaries", "transitions", "starts", "ends"):
            counts, expected = getattr(rows[i], name), getattr(m, name)
            assert counts == pytest.approx(expected, rel=1e-9, abs=1e-10)
        _, added, n_on_rows, edges = scorer.potentials(design, i)
        same = _kernels.posterior([scorer.problem(design, i)], 0, 1, False)[0]
        assert len(added[0]) == len(rows[i].potentials) >= n_on_rows
        assert rows[i].potentials == pytest.approx(same.potentials, rel=1e-9, abs=1e-10)
        assert len(edges[0]) == len(rows[i].edges)
        assert rows[i].edges == pytest.approx(same.edges, rel=1e-9, abs=1e-10)


@settings(max_examples=100, deadline=None)
@given(SEEDS, ORDERS)
def test_entropy_best_lists_and_samples(seed: int, order: int) -> None:
    case = Case(seed, order=order)
    scorer, design = case.scorer(), case.parameters.compile(case.corpus)
    totals = scorer.log_partition(design, 1)
    entropies = scorer.posterior(design, True, 1)
    every = np.arange(case.Y, dtype=np.int32)
    read = design, _kernels.Reading(every, None), tuple, every.tolist()
    ranked, drawn = scorer.n_best(*read, 4, 2), scorer.sample(*read, 3, 7, 2)
    for i, p in scored(case):
        assert totals[i] == pytest.approx(caesura.log_partition(p), rel=1e-9, abs=1e-9)
        assert entropies[i].entropy == pytest.approx(caesura.entropy(p), rel=1e-9, abs=1e-9)
        expected = [math.exp(path.score - totals[i]) for path in caesura.n_best(p, 4)]
        assert [chance for _, chance in ranked[i]] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        for path in drawn[i]:
            assert caesura.score(p, path) > -math.inf
    assert drawn == scorer.sample(*read, 3, 7, 1)


@settings(max_examples=100, deadline=None)
@given(SEEDS, ORDERS, st.booleans())
def test_a_bias_counts_once_for_each_segment(seed: int, order: int, far: bool) -> None:
    case = Case(seed, order=order, scale=20.0 if far else 1.0)
    bias = case.rng.normal(size=case.Y)
    biased, design = case.scorer(bias), case.parameters.compile(case.corpus)
    totals = biased.log_partition(design, 1)
    rows = biased.posterior(design, False, 1)
    for i, p in scored(case):
        p.transition[...] += bias
        p.start[...] += bias
        total = caesura.log_partition(p)
        assert totals[i] == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert rows[i].log_partition == pytest.approx(total, rel=1e-9, abs=1e-9)


def runs_of(path: tuple[int, ...], reading: tuple[list[int], np.ndarray]) -> set[tuple[int, ...]]:
    """The segments that a sequence of tags says."""
    label, joined = reading
    out: list[list[int]] = []
    for t, tag in enumerate(path):
        if label[tag] < 0:
            continue
        if t > 0 and label[path[t - 1]] >= 0 and joined[path[t - 1], tag]:
            out[-1][1] = t + 1
        else:
            out.append([t, t + 1, label[tag]])
    return {tuple(segment) for segment in out}


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.sampled_from([0, 0, 2]), st.sampled_from([0.5, 2.0, 30.0]))
def test_probabilities_of_segments_of_tags(seed: int, order: int, scale: float) -> None:
    """Over all sequences of tags that say a segment, whatever their scheme."""
    case = Case(seed, scale=scale, order=order)
    case.bounds[:] = 1
    Y = case.Y
    label = case.rng.integers(-1, 2, size=Y).astype(np.int32)
    same = (label[:, None] == label[None, :]) & (label[:, None] >= 0)
    joined = same & (case.rng.random((Y, Y)) < 0.6)
    design = case.parameters.compile(case.corpus)
    reading = _kernels.Reading(label, joined.astype(np.uint8))
    found = case.scorer().confident(design, reading, 1)
    paths = found.segments(tuple, label.tolist())
    for i, p in scored(case):
        T = p.length
        if Y**T > 5000:
            continue
        p = case.potentials(i, case.w)
        total = caesura.log_partition(p)
        sums: dict[tuple[int, ...], float] = {}
        for tags in itertools.product(range(Y), repeat=T):
            score = caesura.score(p, [(t, t + 1, y) for t, y in enumerate(tags)])
            for segment in runs_of(tags, (label.tolist(), joined)):
                sums[segment] = sums.get(segment, 0.0) + math.exp(score - total)
        chances = found.probabilities[found.ptr[i] : found.ptr[i + 1]]
        expected = [sums[segment] for segment in paths[i]]
        assert chances == pytest.approx(expected, rel=1e-9, abs=1e-12)


WORDS = ["Ann", "ann", "B.", "1992", "", "x-y", "Größe", "12b", "the"]


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.booleans())
def test_sums_of_words_are_those_of_their_attributes(seed: int, segments: bool) -> None:
    """Rows that are added up beforehand give the scores of the attributes one by one."""
    rng = np.random.default_rng(seed)
    features = some_features(rng, segments)

    def texts(n: int) -> list[list[str]]:
        return [[str(w) for w in rng.choice(WORDS, int(rng.integers(0, 6)))] for _ in range(n)]

    X = [["Ann", "the"], *texts(4)]
    y = [[(t, t + 1, "AB"[int(rng.integers(2))]) for t in range(len(x))] for x in X]
    kind = caesura.SemiCRF if segments else caesura.ChainCRF
    model = kind(features, c2=0.1, max_iterations=3).fit(X, y)
    fitted, new = model._known, texts(5)
    plain = fitted.parameters.compile(fitted.encoder.encode_tokens(new)[0])
    for some in model._encoded(new):
        a, b = (some.scorer.posterior(d, True, 1) for d in (some.design, plain))
        for one, other in zip(a, b, strict=True):
            assert one.log_partition == pytest.approx(other.log_partition, rel=1e-12, abs=1e-12)
            assert one.tokens == pytest.approx(other.tokens, rel=1e-9, abs=1e-12)
            assert one.entropy == pytest.approx(other.entropy, rel=1e-9, abs=1e-9)


def some_features(rng: np.random.Generator, segments: bool) -> list[Any]:
    from caesura import features as f

    columns = [f.word, f.lower, f.shape, f.prefix(2), f.suffix(1), f.ngrams(2, 3), f.bias]
    made: list[Any] = [f.bias[0]]
    places = [f.first, f.last, f.single, f.within] if segments else []
    for _ in range(int(rng.integers(1, 6))):
        one = columns[int(rng.integers(len(columns)))][int(rng.integers(-2, 3))]
        if rng.random() < 0.3:
            one = one & f.lower[int(rng.integers(-1, 2))]
        elif places and rng.random() < 0.5:
            one = places[int(rng.integers(len(places)))](one)
        made.append(one)
    if segments and rng.random() < 0.5:
        made.append(f.Length(exact=2, at_least=3))
    if rng.random() < 0.3:
        made.append(f.edge(f.word[0]))
    return list(dict.fromkeys(made))


def test_sums_of_words_are_forgotten_when_they_grow_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Answers do not depend on what is kept, and what was made before stays good."""
    from caesura.encoding import encoder

    X = [["a1", "b"], ["c", "a2"]]
    model = caesura.ChainCRF(c2=0.1).fit(X, [[(0, 1, "A")], [(1, 2, "A")]])
    new = [[f"a{k}", "b", f"c{k}"] for k in range(50)]
    expected = model.predict_confident(new)
    kept = next(model._encoded(new))  # rows that a later batch replaces
    monkeypatch.setattr(encoder, "MOST_BYTES", 0)
    before = model._known.encoder.types.generation
    assert model.predict_confident(new) == expected
    assert model._known.encoder.types.generation > before
    names, reading = model._segmenting(model._known)
    assert kept.best(reading).segments(caesura.Segment, names) == [
        [one.segment for one in some] for some in expected
    ]
