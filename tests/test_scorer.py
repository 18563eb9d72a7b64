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
from toys import chances_of

import caesura
from caesura import Potentials, _kernels
from caesura.features import edge, word
from caesura.models.kernel_constraints import condition_of

# Random segments may have none of the lengths of a feature.
pytestmark = pytest.mark.filterwarnings("ignore:features. no training segment has a length")

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


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from(["BIO", "BIOES"]), st.booleans())
def test_probabilities_of_segments_of_many_tags(seed: int, scheme: str, edges: bool) -> None:
    """Rows of several vectors, with weights of pairs of tags that look at tokens and without."""
    rng = np.random.default_rng(seed)
    labels, words = "ABCDE", "abcdefgh"
    X = [[words[k] for k in rng.integers(8, size=rng.integers(1, 9))] for _ in range(12)]
    y: list[list[tuple[int, int, str]]] = []
    for x in X:
        ends = sorted({*rng.integers(1, len(x) + 1, size=3).tolist()})
        drawn = [labels[k] for k in rng.integers(5, size=len(ends))]
        y.append(list(zip([0, *ends], ends, drawn, strict=False)))
    features = [word[0], word[-1], *([edge(word[0])] if edges else [])]
    model = caesura.ChainCRF(features, scheme=scheme, c2=0.01, max_iterations=8).fit(X, y)
    assert len(model._known.structure.states) > 4
    for x, found in zip(X, model.predict_confident(X), strict=True):
        chances = chances_of(model, model.potentials(x), [one.segment for one in found])
        assert [one.probability for one in found] == pytest.approx(chances, rel=1e-9, abs=1e-12)


def test_only_states_of_one_label_are_joined() -> None:
    with pytest.raises(ValueError, match="joined: states of two labels"):
        _kernels.Reading(np.array([0, 1], np.int32), np.array([[0, 1], [0, 0]], np.uint8))


# ---- what answers must keep ---------------------------------------------------------------------


def forbid(p: Potentials, rng: np.random.Generator) -> None:
    """Forbid this and that; the same for two potentials and generators that are alike."""
    T, Y = p.length, len(p.labels)
    some = rng.random(7) < 0.35
    tokens = {int(t): rng.permutation(Y)[: int(rng.integers(1, Y + 1))] for t in range(T)}
    if some[0]:
        p.constrain(allowed={t: ys.tolist() for t, ys in tokens.items() if rng.random() < 0.4})
    inner = [t for t in range(1, T) if rng.random() < 0.3]
    if some[1] and not some[2]:
        p.constrain(boundaries=inner)
    if some[2]:
        p.constrain(no_boundaries=inner)
    spans = [tuple(sorted(rng.choice(T + 1, 2, replace=False).tolist())) for _ in range(3)]
    if some[3]:
        p.constrain(forbidden=[(s, e, int(rng.integers(Y))) for s, e in spans])
    pair = (int(rng.integers(Y)), int(rng.integers(Y)))
    if some[4] and T > 1:
        p._edges.append((int(rng.integers(1, T)), *pair, -math.inf))
        p._problem = None
    if some[5]:
        t = int(rng.integers(T))
        p.add(t, t + 1, pair, -math.inf)
    if some[6]:
        p.constrain(at_most_once=[0], exactly_once=[Y - 1] if rng.random() < 0.3 else [])


@settings(max_examples=300, deadline=None)
@given(SEEDS, ORDERS, SCALES)
def test_answers_keep_conditions(seed: int, order: int, scale: float) -> None:
    """Every question under conditions is that of the engine about constrained potentials."""
    case = Case(seed, scale=scale, order=order)
    scorer, design = case.scorer(), case.parameters.compile(case.corpus)
    every = np.arange(case.Y, dtype=np.int32)
    reading, names = _kernels.Reading(every, None), every.tolist()
    conditions = [condition_of(Potentials(0, case.Y)) for _ in case.lengths]
    forbidden = []
    for i, p in scored(case):
        bare = Potentials(p.length, case.Y)
        forbid(bare, np.random.default_rng(seed + i))
        forbid(p, np.random.default_rng(seed + i))
        conditions[i] = condition_of(bare)
        forbidden.append((i, p))
    rest = 1, conditions
    best = scorer.best(design, None, *rest).segments(tuple, names)
    sure = scorer.confident(design, reading, *rest)
    confident = sure.segments(tuple, names)
    rows = scorer.posterior(design, False, *rest)
    totals = scorer.log_partition(design, *rest)
    read = design, reading, tuple, names
    ranked, drawn = scorer.n_best(*read, 3, *rest), scorer.sample(*read, 2, 5, *rest)
    for i, p in forbidden:
        total = caesura.log_partition(p)
        assert totals[i] == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert rows[i].log_partition == pytest.approx(total, rel=1e-9, abs=1e-9)
        if total == -math.inf:
            assert best[i] is None
            assert confident[i] is None
            assert ranked[i] == drawn[i] == []
            continue
        paths = caesura.n_best(p, 3)
        assert caesura.score(p, best[i]) == pytest.approx(paths[0].score, rel=1e-9, abs=1e-9)
        assert confident[i] == best[i]
        m = caesura.marginals(p)
        assert rows[i].tokens == pytest.approx(m.tokens, rel=1e-9, abs=1e-10)
        chances = sure.probabilities[sure.ptr[i] : sure.ptr[i + 1]]
        expected = [m.segment(*segment) for segment in best[i]]
        assert chances == pytest.approx(expected, rel=1e-9, abs=1e-12)
        expected = [math.exp(path.score - total) for path in paths]
        assert [chance for _, chance in ranked[i]] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        for path in drawn[i]:
            assert caesura.score(p, path) > -math.inf


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.booleans(), st.booleans())
def test_models_keep_the_constraints_of_each_sequence(
    seed: int, segments: bool, ruled: bool
) -> None:
    """Answers under constraints are those of the engine about the model's potentials."""
    rng = np.random.default_rng(seed)
    X = [[str(w) for w in rng.choice(WORDS, int(rng.integers(1, 6)))] for _ in range(6)]
    y = [[(t, t + 1, "AB"[int(rng.integers(2))]) for t in range(len(x))] for x in X]
    kind = caesura.SemiCRF if segments else caesura.ChainCRF
    own = {"ordered": ["A", "B"]} if ruled else None
    model = kind(some_features(rng, segments), c2=0.1, max_iterations=3).fit(X, y)
    constraints = [some_rules(rng, len(x)) for x in X]
    if own is not None:
        constraints = [{**own, **one} for one in constraints]
    [asked] = model._asked(X, constraints)
    totals = caesura.log_partition(asked.potentials)
    keep = [i for i, total in enumerate(totals) if total > -math.inf]
    X, constraints = [X[i] for i in keep], [constraints[i] for i in keep]
    if not X:
        return
    [asked] = model._asked(X, constraints)
    paths = asked.of(caesura.viterbi)
    for found, path, p in zip(model.predict(X, constraints), paths, asked.potentials, strict=True):
        if found != model._named(path.segments):  # equal but for rounding, and so either is best
            ties = [one for one in caesura.n_best(p, 50) if model._named(one.segments) == found]
            assert ties[0].score == pytest.approx(path.score, rel=1e-12, abs=1e-12)
    marginals = model.predict_marginals(X, constraints)
    confident = model.predict_confident(X, constraints=constraints)
    ranked = model.predict_n_best(X, 3, constraints)
    for i, p in enumerate(asked.potentials):
        m = caesura.marginals(p)
        for name in ("log_partition", "tokens", "boundaries", "potentials", "edges"):
            found, expected = getattr(marginals[i], name), getattr(m, name)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-10)
        said = [one.segment for one in confident[i]]
        chances = chances_of(model, p, said)
        assert [one.probability for one in confident[i]] == pytest.approx(chances, abs=1e-10)
        expected = [math.exp(path.score - m.log_partition) for path in caesura.n_best(p, 3)]
        assert [chance for _, chance in ranked[i]] == pytest.approx(expected, abs=1e-9)


def some_rules(rng: np.random.Generator, T: int) -> dict[str, Any]:
    """Some constraints on a sequence, which may be impossible but do not contradict each other."""
    start, end = sorted(rng.choice(T + 1, 2, replace=False).tolist())
    kind, label = int(rng.integers(7)), "AB"[int(rng.integers(2))]
    rules: list[dict[str, Any]] = [
        {},
        {"required": [(start, end, label)]},
        {"forbidden": [(start, end, label), (0, 1, label)]},
        {"boundaries": [t for t in range(1, T) if rng.random() < 0.5]},
        {"allowed": {t: [label] for t in range(T) if rng.random() < 0.5}},
        {"at_most_once": [label], "forbidden": [(start, end, "A")]},
        {"no_boundaries": [t for t in range(1, T) if rng.random() < 0.3]},
    ]
    return rules[kind]


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_the_n_best_keep_the_order_of_ties(seed: int) -> None:
    """With whole numbers for weights and values many scores are equal."""
    case = Case(seed, scale=1.0, whole=True)
    case.w = np.round(case.w)
    scorer, design = case.scorer(), case.parameters.compile(case.corpus)
    every = np.arange(case.Y, dtype=np.int32)
    reading = _kernels.Reading(every, None)
    ranked = scorer.n_best(design, reading, tuple, every.tolist(), 6, 1)
    for i, p in scored(case):
        expected = [[tuple(s) for s in path.segments] for path in caesura.n_best(p, 6)]
        assert [[(s, e, p.labels[y]) for s, e, y in path] for path, _ in ranked[i]] == expected


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
    names, reading = model.coding.reading(model._known)
    assert kept.best(reading).segments(caesura.Segment, names) == [
        [one.segment for one in some] for some in expected
    ]
