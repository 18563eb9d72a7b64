"""Models from data to answers: every form of X and y, and every answer against enumeration."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from oracle import Draw, close
from test_encoding import documents as documents_of
from test_encoding import features as features_of
from toys import addresses, bags_of, numbers_of

import caesura
from caesura import ChainCRF, Document, Partial, Segment, SemiCRF, to_tags
from caesura.features import (
    Length,
    Template,
    Text,
    attributes,
    bias,
    column,
    dense,
    edge,
    first,
    last,
    lower,
    shape,
    single,
    suffix,
    window,
    within,
    word,
)
from caesura.models.fitted import Fitted, blocks_of
from caesura.segments import TAG_SCHEMES, from_tags

X, Y = addresses(40, seed=1)
X_NEW, Y_NEW = addresses(12, seed=2)
TOKENS = [*window(lower, -1, 1), shape[0]]
SEGMENTS = [*TOKENS, first(word[0]), last(suffix(2)[0]), within(word[0] & word[1]), Length(exact=3)]
SETTINGS: dict[str, Any] = {"c2": 0.1, "n_threads": 1}


@pytest.fixture(scope="module")
def semi() -> SemiCRF:
    features = [*SEGMENTS, edge(word[0]), Text()]
    return SemiCRF(features, **SETTINGS).fit(X, Y)


@pytest.fixture(scope="module")
def chain() -> ChainCRF:
    return ChainCRF([*TOKENS, edge(word[0])], **SETTINGS).fit(X, Y)


@pytest.fixture(scope="module", params=["semi", "chain"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def short(model: Any, most: int = 5) -> list[list[str]]:
    """Some sequences that can be enumerated."""
    return [tokens[:most] for tokens in X_NEW[:4]]


# -- what X and y may be -------------------------------------------------------------------------


def documents() -> list[Document]:
    return [
        Document(tuple(x), columns={"title": [str(w.istitle()) for w in x]}, segments=tuple(y))
        for x, y in zip(X, Y, strict=True)
    ]


FORMS: dict[str, tuple[Any, Any]] = {
    "tokens": (X, [word[0]]),
    "tuples": ([tuple(tokens) for tokens in X], [word[0]]),
    "arrays of strings": ([np.array(tokens) for tokens in X], [word[0]]),
    "texts": ([" ".join(tokens) for tokens in X], [word[0]]),
    "bags": ([bags_of(tokens) for tokens in X], None),
    "dicts": ([[{"w": w, "size": len(w)} for w in tokens] for tokens in X], None),
    "dense": ([numbers_of(tokens) for tokens in X], None),
    "documents": (documents(), [word[0], column("title")[0]]),
    "mappings": (
        [{"tokens": t, "dense": numbers_of(t), "attributes": bags_of(t), "x": t} for t in X],
        [word[0], dense[0], attributes[0], column("x")[-1]],
    ),
    "no features given": (X, None),
    "a preset": (X, "addresses"),
}


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_x(form: str, kind: Any) -> None:
    given, features = FORMS[form]
    model = kind(features, **SETTINGS).fit(given, Y)
    assert model.labels_ == ["number", "street", "town"]
    assert model.n_features_ > 3
    assert model.score(given, Y) > (0.5 if form == "dense" else 0.9)
    again = kind(features, **SETTINGS).fit(iter(given), iter(Y))
    assert np.array_equal(again._known.w, model._known.w)
    assert again.predict(x for x in given) == model.predict(given)


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize(
    "scheme", [s for s in TAG_SCHEMES if s not in ("plain", "SA", "IO", "IOE1")]
)  # IO and IOE1 without E look as IOB1 does
def test_tags_in_any_scheme_are_segments(kind: Any, scheme: str) -> None:
    tags = [to_tags(y, scheme, len(x)) for x, y in zip(X, Y, strict=True)]
    model = kind([word[0]], **SETTINGS).fit(X, tags)
    assert model.labels_ == ["number", "street", "town"]
    assert model.score(X, tags) == model.score(X, Y) > 0.9
    if kind is SemiCRF:
        expected = SemiCRF([word[0]], **SETTINGS).fit(X, Y)
        assert np.array_equal(model._known.w, expected._known.w)
    else:
        assert model._known.scheme == scheme
        tags = model.predict_tags(X_NEW, scheme=None)
        assert [from_tags(one, scheme) for one in tags] == model.predict(X_NEW)


def test_plain_tags_are_labels() -> None:
    tags = [to_tags(y, "plain", len(x)) for x, y in zip(X, Y, strict=True)]
    for kind in (SemiCRF, ChainCRF):
        model = kind([word[0]], **SETTINGS).fit(X, tags)
        assert model.labels_ == ["number", "street", "town"]
        assert model.score(X, Y) > 0.9
    assert model._known.structure.states == ("O", "number", "street", "town")


def test_bare_letters_are_words() -> None:
    words = [["天", "天", "好"], ["好", "天"], ["天", "好"]]
    tags = [["B", "E", "S"], ["B", "E"], ["S", "S"]]
    for kind in (SemiCRF, ChainCRF):
        features = window(word, -1, 1)
        if kind is SemiCRF:
            features = [first(word[0] & word[-1]), within(word[0] & word[1]), single(word[0])]
        model = kind(features, c2=0.01).fit(words, tags)
        assert model.labels_ == [""]
        assert model.predict(words)[0] == [(0, 2, ""), (2, 3, "")]
        assert model.predict_tags(words, "BMES") == tags


@pytest.mark.parametrize("scheme", TAG_SCHEMES[1:])
def test_a_chain_writes_segments_in_the_scheme_that_it_is_told(scheme: str) -> None:
    model = ChainCRF([word[0]], scheme=scheme, **SETTINGS).fit(X, Y)
    known = {tag for x, y in zip(X, Y, strict=True) for tag in to_tags(y, scheme, len(x))}
    assert set(model._known.structure.states) == known
    tags = [to_tags(y, "BIOES", len(x)) for x, y in zip(X, Y, strict=True)]
    again = ChainCRF([word[0]], scheme=scheme.lower(), **SETTINGS).fit(X, tags)
    assert np.array_equal(again._known.w, model._known.w)


def test_a_scheme_that_cannot_be_guessed_can_be_told() -> None:
    tags = [to_tags(y, "SA", len(x)) for x, y in zip(X, Y, strict=True)]
    model = ChainCRF([word[0]], scheme="SA", **SETTINGS).fit(X, tags)
    assert model.labels_ == ["number", "street", "town"]


def test_tags_without_a_scheme() -> None:
    tags = [["B-x", "noun"], ["noun", "noun", "B-x"]]
    model = ChainCRF([word[0]], scheme=None, c2=0.01).fit([["a", "b"], ["b", "b", "a"]], tags)
    assert model.predict_tags([["b", "a"]], scheme=None) == [["noun", "B-x"]]
    assert model.predict([["b", "b"]]) == [[(0, 2, "noun")]]


def test_own_segments_of_documents() -> None:
    for kind in (SemiCRF, ChainCRF):
        model = kind([word[0]], **SETTINGS).fit(documents())
        assert np.array_equal(model._known.w, kind([word[0]], **SETTINGS).fit(X, Y)._known.w)
        assert model.score(documents()) == model.score(X, Y)


def test_mixed_y() -> None:
    mixed: list[Any] = [to_tags(y, "BIO", len(x)) for x, y in zip(X, Y, strict=True)]
    mixed[::3] = Y[::3]
    mixed[1] = Partial(Y[1])
    for kind in (SemiCRF, ChainCRF):
        assert kind([word[0]], **SETTINGS).fit(X, mixed).score(X, Y) > 0.9


def test_empty_sequences_and_all_outside() -> None:
    for kind in (SemiCRF, ChainCRF):
        model = kind([word[0]], **SETTINGS).fit([*X, [], ["at"]], [*Y, [], []])
        assert model.predict([[], ["at"], []]) == [[], [], []]
        assert model.predict([]) == []
        assert model.predict_tags([[]]) == [[]]
        assert model.predict_n_best([[]], 3) == [[([], 1.0)]]
        assert model.sample([[]], 2) == [[[], []]]
        assert model.predict_confident([[]]) == [[]]
        assert model.explain([]) == []
        assert model.uncertainty([[]]).tolist() == [0.0]
        assert model.predict_marginals([[]])[0].tokens.shape[0] == 0
        assert model.predict([], constraints=[]) == []


def test_outside_may_be_runs_or_have_another_name() -> None:
    runs = SemiCRF([word[0]], outside_length=None, **SETTINGS).fit(X, Y)
    assert runs.score(X, Y) > 0.9
    assert runs._known.structure.bounds.tolist() == [0, 0, 0, 0]
    tags = [to_tags(y, "plain", len(x), "other") for x, y in zip(X, Y, strict=True)]
    for kind in (SemiCRF, ChainCRF):
        named = kind([word[0]], outside="other", **SETTINGS).fit(X, tags)
        assert named.labels_ == ["number", "street", "town"]
        assert named.score(X, Y) > 0.9


def test_models_without_text_outside() -> None:
    tokens, segments = [["a", "b"], ["b"]], [[(0, 1, "x"), (1, 2, "y")], [(0, 1, "y")]]
    for kind in (SemiCRF, ChainCRF):
        model = kind([word[0]], c2=0.01, outside_bias=5.0).fit(tokens, segments)
        assert model.predict(tokens) == segments


# -- scores and probabilities --------------------------------------------------------------------


def gold_path(model: Any, tokens: Sequence[str], segments: list[Segment]) -> list[Segment]:
    """The path over states that says these segments."""
    if isinstance(model, SemiCRF):
        return caesura.fill_gaps(segments, len(tokens), outside_length=model.outside_length)
    tags = to_tags(segments, model._known.scheme, len(tokens))
    return [Segment(t, t + 1, tag) for t, tag in enumerate(tags)]


def objective(model: Any) -> float:
    """The regularised objective of a fitted model, by the engine."""
    loss = -sum(
        caesura.log_probability(model.potentials(x), gold_path(model, x, y))
        for x, y in zip(X, Y, strict=True)
    )
    return loss + float(model.c2 * (model._known.w @ model._known.w))


@pytest.mark.parametrize("forbid", ["always", "never"])
@pytest.mark.parametrize("kind", ["semi", "chain"])
def test_training_finds_the_optimum_of_what_the_engine_scores(kind: str, forbid: str) -> None:
    """Moving any weight a little, either way, changes nothing in the first order."""
    options = SETTINGS | {"epsilon": 1e-7, "delta": 0.0, "max_iterations": 300}
    model: Any
    if kind == "semi":
        features = [lower[0], first(word[-1]), last(word[0]), edge(shape[0]), Length(exact=2)]
        model = SemiCRF(features, outside_length=None if forbid == "always" else 1, **options)
    else:
        features = [lower[0], edge(shape[0])]
        model = ChainCRF(features, scheme="BCEU", forbid_invalid=forbid, **options)
    model.fit(X, Y)
    value = objective(model)
    assert value == pytest.approx(model.history_[-1].objective, rel=1e-9)
    fitted = model._known
    rng = np.random.default_rng(0)
    blocks = blocks_of(fitted.parameters)
    for block in blocks:
        places = np.arange(block.start, block.stop)
        for k in rng.choice(places, min(3, len(places)), replace=False):
            values = []
            for move in (-1e-3, 1e-3):
                w = fitted.w.copy()
                w[k] += move
                model._fitted = Fitted.of(
                    fitted[:3], fitted.encoder, fitted.parameters, w, fitted.rules
                )
                values.append(objective(model))
            assert abs(values[1] - values[0]) / 2e-3 < 1e-4, k
            assert min(values) > value
    model._fitted = fitted


def test_predict_is_viterbi(model: Any) -> None:
    for x, found in zip(X_NEW, model.predict(X_NEW), strict=True):
        path = caesura.viterbi(model.potentials(x))
        assert model._named(path.segments) == found
    slow = caesura.viterbi([model.potentials(x) for x in short(model)], method="reference")
    assert [model._named(path.segments) for path in slow] == model.predict(short(model))


def test_marginals_are_those_of_the_reference(model: Any) -> None:
    for x, m in zip(short(model), model.predict_marginals(short(model)), strict=True):
        expected = caesura.marginals(model.potentials(x), method="reference")
        assert close(m.tokens, expected.tokens)
        assert close(m.transitions, expected.transitions)
        assert close(m.log_partition, expected.log_partition)


def segmentations(model: Any, x: list[str], **rules: Any) -> dict[tuple[Segment, ...], float]:
    """All segmentations with their probabilities, by enumeration of paths."""
    p = next(model._asked([x], [rules])).potentials[0]
    found: dict[tuple[Segment, ...], float] = defaultdict(float)
    n = 20000
    total = caesura.log_partition(p, method="reference")
    for path in caesura.n_best(p, n, method="reference"):
        found[tuple(model._named(path.segments))] += float(np.exp(path.score - total))
    assert sum(found.values()) == pytest.approx(1.0)
    return found


def test_n_best_and_confidence_against_enumeration(model: Any) -> None:
    xs = [x[:4] for x in short(model)]
    for x, best, sure in zip(
        xs, model.predict_n_best(xs, 10), model.predict_confident(xs), strict=True
    ):
        all_of_them = segmentations(model, x)
        ranked = sorted(all_of_them.values(), reverse=True)[:10]
        assert close([p for _, p in best], ranked)
        assert all(close(all_of_them[tuple(segments)], p) for segments, p in best)
        for segment, probability, calibrated, review in sure:
            expected = sum(p for some, p in all_of_them.items() if segment in some)
            assert close(probability, expected)
            assert (calibrated, review) == (False, False)


def test_samples_come_from_the_distribution(model: Any) -> None:
    x = X_NEW[0][:4]
    expected = segmentations(model, x)
    drawn = model.sample([x], 4000, seed=3)[0]
    assert drawn == model.sample([x], 4000, seed=3)[0]
    top = max(expected, key=lambda segments: expected[segments])
    share = sum(tuple(one) == top for one in drawn) / 4000
    assert share == pytest.approx(expected[top], abs=0.04)
    model.sample([x])


def test_uncertainty(model: Any) -> None:
    xs = [x[:4] for x in short(model)]
    for x, entropy, margin in zip(
        xs, model.uncertainty(xs), model.uncertainty(xs, by="margin"), strict=True
    ):
        assert close(entropy * len(x), caesura.entropy(model.potentials(x), method="reference"))
        first, second, *_ = sorted(segmentations(model, x).values(), reverse=True)
        assert close(margin, 1 - (first - second))
    sure, unsure = model.uncertainty([X[0], ["near", "Park", "Park", "and"]])
    assert sure < unsure


# -- any model -----------------------------------------------------------------------------------


@st.composite
def problems(draw: Draw) -> tuple[Any, list[Document], list[list[Segment]]]:
    """A model with any features and options, and labelled documents of up to five tokens."""
    docs = [d for d in draw(documents_of(4)) if len(d)]
    assume(docs)
    ys = []
    for document in docs:
        cuts = sorted(
            {0, len(document), *draw(st.lists(st.integers(0, len(document)), max_size=3))}
        )
        labels = [draw(st.sampled_from(["A", "B-C", "O"])) for _ in cuts[1:]]
        spans = zip(cuts, cuts[1:], labels, strict=False)
        ys.append([Segment(*span) for span in spans if span[2] != "O"])
    assume(any(ys))
    chosen = draw(features_of())
    options: dict[str, Any] = {"c2": 0.5, "max_iterations": draw(st.integers(0, 3)), "n_threads": 1}
    options["all_possible_states"] = draw(st.booleans())
    options["all_possible_transitions"] = draw(st.booleans())
    options["boundary_weights"] = draw(st.booleans())
    if draw(st.booleans()):
        options["outside_length"] = draw(st.sampled_from([1, None]))
        some = {label: 5 for y in ys for _, _, label in y[:1]}
        options["max_length"] = draw(st.sampled_from([None, 5, some]))
        return SemiCRF(chosen, **options), docs, ys
    tokens = [f for f in chosen if isinstance(f, Template) and f.place in ("token", "edge")]
    options["scheme"] = draw(st.sampled_from(["BIO", "BIOES", "IOB1"]))
    options["forbid_invalid"] = draw(st.sampled_from(["always", "never"]))
    return ChainCRF(tokens, **options), docs, ys


@settings(max_examples=50)
@given(problems())
def test_any_model_learns_what_the_engine_scores(
    problem: tuple[Any, list[Document], list[list[Segment]]],
) -> None:
    """Fitting, scoring, predicting and saving agree, whatever the features."""
    model, docs, ys = problem
    model.fit(docs, ys)
    loss = 0.0
    for x, y in zip(docs, ys, strict=True):
        p = model.potentials(x)
        loss -= caesura.log_probability(p, gold_path(model, x.tokens, y))
        best = caesura.viterbi(p, method="reference")
        [path] = next(model._encoded([x])).best(None).segments(Segment, list(p.labels))
        assert close(caesura.score(p, path), best.score)
    loss += float(model.c2 * (model._known.w @ model._known.w))
    if model.history_:
        assert loss == pytest.approx(model.history_[-1].objective, rel=1e-9, abs=1e-9)
    again = pickle.loads(pickle.dumps(model))
    for x in docs:
        assert close(
            caesura.log_partition(again.potentials(x)), caesura.log_partition(model.potentials(x))
        )


# -- bounds that are larger than anything ---------------------------------------------------------


def test_a_huge_bound_is_no_bound(tmp_path: Any) -> None:
    """Tables are as long as bounds, so bounds are cut to what sequences can tell apart."""
    xs, ys = addresses(30, seed=4)
    features = [word[0], lower[-1], Length(exact=3)]
    free = SemiCRF(features, c2=0.3, n_threads=1).fit(xs, ys, xs, ys)
    for bound in (10**9, 10**30, {"street": 10**9, "town": 2000}):
        model = SemiCRF(features, c2=0.3, n_threads=1, max_length=bound).fit(xs, ys, xs, ys)
        assert model.predict(xs) == free.predict(xs)
        assert close(model.uncertainty(xs), free.uncertainty(xs), 1e-9)
        model.set_params(outside_bias=0.5)
        free.set_params(outside_bias=0.5)
        assert model.predict(xs) == free.predict(xs)
        free.set_params(outside_bias=0.0)
        model.save(tmp_path / "model")
        again = caesura.load(tmp_path / "model")
        assert again.predict(xs) == model.predict(xs)
        assert again._known.structure.bounds.tolist() == model._known.structure.bounds.tolist()


def test_a_large_bound_holds_where_sequences_are_longer() -> None:
    model = SemiCRF([bias[0], word[0]], max_length=1500).fit([["a"] * 9], [[(0, 9, "A")]])
    x = ["a"] * 4000
    found = model.predict([x, x[:3]])
    assert max(segment.length for segment in found[0]) <= 1500
    assert found[1] == [(0, 3, "A")]
    p = model.potentials(x)  # many answers are equally good
    assert caesura.score(p, found[0]) == pytest.approx(caesura.viterbi(p).score)
    assert model.predict([x[:1400]]) == [[(0, 1400, "A")]]
