"""Models of high order as people use them: equal where they must be, selected, explained, kept."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_data import good, run
from oracle import close
from toys import addresses, bags_of

import caesura
from caesura import ChainCRF, Document, InvalidInput, Partial, SemiCRF
from caesura.compat import Tagger
from caesura.features import (
    Length,
    attributes,
    bias,
    edge,
    first,
    function,
    history,
    lower,
    ngrams,
    shape,
    within,
    word,
)
from caesura.inference.problems import problem_of
from caesura.models.fitted import blocks_of
from caesura.models.penalties import penalties
from caesura.models.warm_start import carried, merged

X, Y = addresses(40, seed=1)
X_NEW, Y_NEW = addresses(20, seed=2)
BASE = [lower[0], shape[0]]
HIGH = [*BASE, history(shape[0], 2), history(edge(bias[0]), 3), edge(shape[0])]
SEMI = [*HIGH, first(lower[0]), history(first(shape[0]), 1), history(Length(exact=2), 2)]
FEATURES = {SemiCRF: SEMI, ChainCRF: HIGH}
KINDS = [SemiCRF, ChainCRF]


def fitted(kind: Any, data: Any = (X, Y), **options: Any) -> Any:
    return kind(FEATURES[kind], **({"order": 3, "c2": 0.1} | options)).fit(*data)


@pytest.fixture(scope="module")
def models() -> dict[Any, Any]:
    return {kind: fitted(kind) for kind in KINDS}


def patterns_of(model: Any) -> set[str]:
    parameters, states = model._known.parameters, model._known.structure.states
    plain = parameters.patterns[: parameters.n_plain]
    return {" > ".join(states[y] for y in pattern) for pattern in plain}


# -- what must be equal ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_order_one_is_the_first_order_model(kind: Any) -> None:
    """The sums over label histories are those of first order where a pattern weighs nothing."""
    features, options = (
        [*BASE, edge(shape[0])],
        {"c2": 0.1, "epsilon": 1e-8, "delta": 0.0, "max_iterations": 400},
    )
    declared = {SemiCRF: ("number", "street", "O", "town"), ChainCRF: ("O", "B-street", "I-street")}
    low = kind(features, **options)
    high = kind(features, patterns=[declared[kind]], penalties={"patterns": (1e6, 0.1)}, **options)
    one = low._training(low._read(X, Y, None), None, None)
    two = high._training(high._read(X, Y, None), None, None)
    assert (one.parameters.n_plain, two.parameters.n_plain) == (0, 1)
    w = np.random.default_rng(0).normal(size=len(one.parameters))
    moved = carried(two.parameters, one.fitted(w), two.structure)
    loss, gradient = one.objective.evaluate(w, None, False, 1)
    same, slope = two.objective.evaluate(moved, None, False, 1)
    assert close(loss, same)
    expected = carried(two.parameters, one.fitted(gradient), two.structure)
    at = blocks_of(two.parameters).patterns.start
    assert close(expected, np.where(np.arange(len(slope)) == at, 0.0, slope))
    assert abs(slope[at]) > 0.1  # the pattern is there, and would change the model
    check_same(low, one.fitted(w), high, two.fitted(moved), 1e-9)
    low.fit(X, Y)
    high.fit(X, Y)
    assert high.n_features_ == low.n_features_ + 1
    assert high._known.parameters.n_plain == 0  # its weight is zero
    check_same(low, low._known, high, high._known, 1e-6)


def check_same(a: Any, with_a: Any, b: Any, with_b: Any, near: float) -> None:
    """Check that two models say the same, with these weights."""
    a._set_fitted(with_a)
    b._set_fitted(with_b)
    assert a.predict(X_NEW) == b.predict(X_NEW)
    for x in X_NEW:
        p, q = (caesura.marginals(model.potentials(x)) for model in (a, b))
        assert close(p.log_partition, q.log_partition, near)
        assert close(p.tokens, q.tokens, near)
        assert close(p.boundaries, q.boundaries, near)
        assert close(p.transitions, q.transitions, near)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_a_longest_segment_of_one_is_a_chain(order: int) -> None:
    """The same objective, gradient and weights, to the last digits but for the order of sums."""
    tags = [caesura.to_tags(y, "BIO", len(x)) for x, y in zip(X, Y, strict=True)]
    segments = [[(t, t + 1, tag) for t, tag in enumerate(some)] for some in tags]
    features = [*BASE, history(shape[0], 2), history(edge(bias[0]), 3)]
    options: dict[str, Any] = {"order": order, "c2": 0.1, "n_threads": 1}
    chain = ChainCRF(features, scheme=None, forbid_invalid="never", **options)
    semi = SemiCRF(features, max_length=1, outside="none", **options)
    one = chain._training(chain._read(X, tags, None), None, None)
    two = semi._training(semi._read(X, segments, None), None, None)
    assert {*one.structure.states} == {*two.structure.states}
    w = np.random.default_rng(0).normal(size=len(one.parameters)) / 3
    moved = carried(two.parameters, one.fitted(w), two.structure)
    loss, gradient = one.objective.evaluate(w, None, False, 1)
    same, slope = two.objective.evaluate(moved, None, False, 1)
    assert close(loss, same)
    assert close(carried(two.parameters, one.fitted(gradient), two.structure), slope)
    chain._set_fitted(one.fitted(w))
    semi._set_fitted(two.fitted(moved))
    assert chain.predict_tags(X_NEW, scheme=None) == semi.predict_tags(X_NEW, scheme=None)
    for x in X_NEW[:5]:
        p, q = chain.potentials(x), semi.potentials(x)
        assert close(caesura.log_partition(p), caesura.log_partition(q))


# -- which patterns --------------------------------------------------------------------------------


def test_patterns_are_those_of_the_data() -> None:
    x, y = [["a"] * 4, ["a"] * 3], [["A", "B", "A", "B"], ["A", "B", "A"]]
    model = SemiCRF([word[0]], order=3).fit(x, y)
    assert patterns_of(model) == {"A > B > A", "B > A > B", "A > B > A > B"}
    model = SemiCRF([word[0]], order=3, pattern_min_freq=2).fit(x, y)
    assert patterns_of(model) == {"A > B > A"}
    model = SemiCRF([word[0]], order=2).fit(x, y)
    assert patterns_of(model) == {"A > B > A", "B > A > B"}
    assert model.n_features_ == SemiCRF([word[0]]).fit(x, y).n_features_ + 2


def test_declared_patterns() -> None:
    declared = [("number", "street", "town"), ("street", "O", "town"), ("street", "O", "town")]
    model = SemiCRF(BASE, patterns=declared).fit(X, Y)
    assert patterns_of(model) == {"number > street > town", "street > O > town"}
    tags = [("O", "B-street", "I-street")]
    assert patterns_of(ChainCRF(BASE, patterns=tags).fit(X, Y)) == {"O > B-street > I-street"}
    with pytest.raises(InvalidInput, match="'planet' in number > planet > town is not a label"):
        SemiCRF(BASE, patterns=[("number", "planet", "town")]).fit(X, Y)
    with pytest.raises(InvalidInput, match="'I-town' never comes right after 'O'"):
        ChainCRF(BASE, patterns=[("O", "I-town", "O")]).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"patterns\[0\]: got 'town > town > town'"):
        SemiCRF(BASE, patterns=[["town"] * 3], same_label_adjacent=False).fit(X, Y)


def test_partial_labels_have_no_patterns_but_learn_with_them() -> None:
    some = [Partial(segments=y[:1]) if k % 3 == 2 else y for k, y in enumerate(Y)]
    model = SemiCRF(SEMI, order=2, c2=0.1).fit(X, some)
    whole = [y for k, y in enumerate(Y) if k % 3 != 2]
    rest = SemiCRF(SEMI, order=2, c2=0.1).fit([x for k, x in enumerate(X) if k % 3 != 2], whole)
    assert patterns_of(model) == patterns_of(rest)
    assert model.score(X, Y) > 0.9


def test_penalties_of_orders() -> None:
    free = SemiCRF(BASE, order=3, c2=0.1).fit(X, Y)
    tight = SemiCRF(BASE, order=3, c2=0.1, penalties={"order2": 1e4, "order3": 0.1}).fit(X, Y)
    none = SemiCRF(BASE, order=3, c2=0.1, penalties={"patterns": (1e4, 0.1)}).fit(X, Y)

    def sizes(model: Any, order: int) -> float:
        parameters = model._known.parameters
        w = model._known.w[blocks_of(parameters).patterns]
        mine = [len(z) == order + 1 for z in parameters.patterns[: parameters.n_plain]]
        return float(np.abs(w[mine]).max(initial=0.0))

    assert sizes(tight, 2) < 0.01 < sizes(free, 2)
    assert sizes(tight, 3) > 0.01
    assert sizes(none, 2) == sizes(none, 3) == 0.0
    with pytest.raises(InvalidInput, match=r"penalties: got 'order5', expected one of .*order3"):
        SemiCRF(BASE, order=3, penalties={"order5": 1.0}).fit(X, Y)


def test_the_specific_penalty_wins() -> None:
    """In whatever order they are given."""
    [feature] = features = [lower[0]]
    given: dict[Any, float] = {feature: 3.0, "lower[0]": 4.0, "order3": 2.0, "patterns": 0.5}
    for some in (given, dict(reversed(given.items()))):
        model = SemiCRF(features, order=3, c2=0.1, penalties=some)
        training = model._training(model._read(X, Y, None), None, None)
        c2 = np.asarray(penalties(model, training)[1])
        parameters, blocks = training.parameters, blocks_of(training.parameters)
        sizes = [len(z) for z in parameters.patterns[: parameters.n_plain]]
        assert c2[blocks.patterns].tolist() == [{3: 0.5, 4: 2.0}[size] for size in sizes]
        assert {*c2[blocks.rows].tolist()} == {3.0}
        assert {*c2[blocks.transitions].tolist()} == {0.1}


def test_a_penalty_on_nothing() -> None:
    with pytest.raises(InvalidInput, match=r"got .order1.*; pairs of labels are transitions"):
        SemiCRF(BASE, order=2, penalties={"order1": 1.0}).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"word\[0\]") as error:
        SemiCRF("ner", order=3, penalties={"word[O]": 1.0}).fit(X, Y)
    assert len(str(error.value)) < 250


# -- selected patterns -----------------------------------------------------------------------------


def cycles(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Tags that mostly follow from the two before them; words say little."""
    rng = np.random.default_rng(seed)
    xs, ys = [], []
    for _ in range(n):
        tags = [str(tag) for tag in rng.choice(["first", "second"], 2)]
        for t in range(2, 20):
            same = (tags[t - 1] == tags[t - 2]) != (rng.random() < 0.1)
            tags.append("first" if same else "second")
        ys.append(tags)
        xs.append([tag[0] if rng.random() < 0.3 else "?" for tag in tags])
    return xs, ys


def test_patterns_grow_where_they_help() -> None:
    xs, ys = cycles(40, 0)
    options: dict[str, Any] = {"scheme": None, "outside": "none", "c2": 0.1}
    grown = ChainCRF([word[0]], order=6, patterns="grow", **options).fit(xs, ys)
    whole = ChainCRF([word[0]], order=6, **options).fit(xs, ys)
    first_order = ChainCRF([word[0]], **options).fit(xs, ys)
    assert patterns_of(grown) < patterns_of(whole)
    assert 0 < len(patterns_of(grown)) < len(patterns_of(whole)) / 3
    assert any(pattern.count(" > ") == 6 for pattern in patterns_of(whole))
    news, gold = cycles(200, 1)

    def right(model: Any) -> float:
        return float(np.mean(np.array(model.predict_tags(news, scheme=None)) == np.array(gold)))

    assert right(grown) > right(first_order) + 0.1
    assert right(grown) > right(whole)


def test_nothing_grows_where_the_penalty_is_high() -> None:
    xs, ys = cycles(40, 0)
    options: dict[str, Any] = {"scheme": None, "outside": "none", "c2": 0.1, "order": 3}
    options |= {"penalties": {"patterns": (1e5, 0.1)}, "delta": 1e-9}
    model = ChainCRF([word[0]], patterns="grow", **options).fit(xs, ys)
    assert not patterns_of(model)
    plain = ChainCRF([word[0]], patterns=[], **options).fit(xs, ys)
    np.testing.assert_allclose(model.weights_, plain.weights_, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_selection_is_the_same_on_any_number_of_threads(kind: Any) -> None:
    cheap = {"patterns": (0.1, 0.1)}
    one, two = (fitted(kind, patterns="grow", penalties=cheap, n_threads=n) for n in (1, 2))
    assert patterns_of(one)
    assert patterns_of(one) == patterns_of(two)
    assert np.array_equal(one._known.w, two._known.w)
    # Weights of attributes are selected with their patterns.
    parameters = one._training(one._read(X, Y, None), None, None).parameters
    assert all(len(z) == 2 for z in parameters.patterns[parameters.n_plain :])


@pytest.mark.parametrize("kind", KINDS)
def test_selection_with_a_warm_start(kind: Any) -> None:
    """What gains nothing any more goes; what the new data does not have stays."""
    cheap = {"patterns": (0.1, 0.1)}
    model = fitted(kind, patterns="grow", penalties=cheap, warm_start=True)
    before = patterns_of(model)
    seen = patterns_of(fitted(kind, data=(X[:3], Y[:3])))
    assert before & seen
    assert before - seen
    model.set_params(penalties={"patterns": (1e5, 0.1)})
    last = model._known
    training = model._training(model._read(X[:3], Y[:3], last), None, last)
    parameters, states = training.parameters, training.structure.states
    names = [" > ".join(states[y] for y in z) for z in parameters.patterns]
    assert {*names[: parameters.n_plain]} == before - seen
    assert not {*names} & seen  # with their attributes
    assert model.fit(X[:3], Y[:3]).n_features_ == len(parameters)
    assert model.score(X[:3], Y[:3]) > 0.95


def test_what_is_left_out_is_best_at_zero() -> None:
    """Where selection ends, no candidate has a gradient above the penalty, which is 1."""
    model = SemiCRF([shape[0]], order=3, patterns="grow", c2=0.1)
    ended = model._training(model._read(X, Y, None), None, None)
    chosen = {tuple(pattern) for pattern in ended.parameters.patterns}
    whole = SemiCRF([shape[0]], order=3, c2=0.1)
    training = whole._training(whole._read(X, Y, None), None, None)
    w = carried(training.parameters, ended.fitted(ended.w0), training.structure)
    _, gradient = training.objective.evaluate(w, None, False, 1)
    slopes = gradient[blocks_of(training.parameters).patterns].tolist()
    by_pattern = dict(zip(map(tuple, training.parameters.patterns), slopes, strict=True))
    candidates = [z for z in by_pattern if z not in chosen and (len(z) == 3 or z[1:] in chosen)]
    assert chosen
    assert candidates
    assert max(abs(by_pattern[z]) for z in candidates) <= 1.0


# -- what the second seed looks at -----------------------------------------------------------------


def nearby(document: Document, t: int) -> list[str]:
    """The words up to four before, and up to four after, as bags."""
    tokens = document.tokens
    before = {f"before={w}" for w in tokens[max(0, t - 4) : t]}
    return sorted(before | {f"after={w}" for w in tokens[t + 1 : t + 5]})


def letters(document: Document, t: int) -> list[str]:
    """The n-grams of the reference program: the prefix, and the one at index len - 2 n + 1."""
    marked = f"<{document.tokens[t]}>"
    found = [marked[:n] for n in range(2, 7) if len(marked) >= n]
    places = [(n, len(marked) - 2 * n + 1) for n in range(2, 7)]
    return found + [marked[at : at + n] for n, at in places if at >= 0]


def test_features_of_table_1() -> None:
    """Author year; author+ year+; author year title title; author+ year+ title+."""
    x = [["Ann", "1999", "On", "Cats"]]
    segments = [[(0, 1, "author"), (1, 2, "year"), (2, 4, "title")]]
    tags = [["author", "year", "title", "title"]]
    chain: dict[str, Any] = {"scheme": None, "outside": "none"}
    assert not patterns_of(ChainCRF([word[0]], **chain).fit(x, tags))
    assert not patterns_of(SemiCRF([word[0]]).fit(x, segments))
    high = ChainCRF([word[0]], order=3, **chain).fit(x, tags)
    assert "author > year > title > title" in patterns_of(high)
    assert patterns_of(SemiCRF([word[0]], order=2).fit(x, segments)) == {"author > year > title"}


@pytest.mark.parametrize("order", [1, 2, 3])
def test_feature_templates_of_the_second_seed(order: int) -> None:
    references = [
        *(word[0], word[-1], word[1], function(nearby)[0], function(letters)[0]),
        *(edge(bias[0]), edge(word[0]), edge(word[-1])),
        *(within(word[0] & word[1]), within(bias[0] & bias[1])),  # edges inside the segment
    ]
    punctuation = [word[t] for t in range(-4, 5)]
    punctuation += [word[a] & word[b] for a in range(-4, 4) for b in range(a + 1, 5)]
    punctuation += [edge(bias[0]), edge(word[0]), edge(word[-1]), edge(word[-1] & word[0])]
    punctuation += [history(bias[0], k) for k in range(2, order + 1)]
    punctuation += [history(word[0], k) for k in range(1, order + 1)]
    letter = [ngrams(1, 1)[0]]
    options: dict[str, Any] = {"order": order, "c2": 0.5, "max_iterations": 15}
    semi: dict[str, Any] = {"max_length": "observed", "same_label_adjacent": False}
    semi["outside_length"] = None
    for features in (references, punctuation, letter):
        model = SemiCRF(features, **options, **semi).fit(X, Y)
        assert model.score(X, Y) > (0.5 if features is letter else 0.9)
    chain = [one for one in references if one.place in ("token", "edge")]
    assert ChainCRF(chain, **options).fit(X, Y).score(X, Y) > 0.9


# -- what can be asked -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_everything_can_be_asked(models: dict[Any, Any], kind: Any) -> None:
    model = models[kind]
    assert model.score(X, Y) > 0.95
    assert model.predict(X_NEW) == [s for [(s, _)] in model.predict_n_best(X_NEW, 1)]
    rules: dict[str, Any] = {"at_most_once": ["street"], "ordered": ["number", "street", "town"]}
    for segments in model.predict(X_NEW, constraints=rules):
        assert sum(s.label == "street" for s in segments) <= 1
    for sure in model.calibrate(X_NEW, Y_NEW).predict_confident(X_NEW[:5]):
        assert all(0 < one.probability < 1 for one in sure)
    assert (model.uncertainty(X_NEW) >= 0).all()
    assert len(model.sample(X_NEW[:2], 3)[0]) == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("added", [-2.0, 1.5])
def test_the_outside_bias(kind: Any, added: float) -> None:
    model = fitted(kind).set_params(outside_bias=added)
    best = [caesura.viterbi(model.potentials(x)).segments for x in X_NEW]
    assert model.predict(X_NEW) == [model._named(segments) for segments in best]


@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
def test_segmentations_of_a_chain_are_summed_over_tags(scheme: str) -> None:
    """Where invalid tags are possible, several sequences of tags say one segmentation."""
    x, y = [["a", "b", "c", "a"]] * 2, [[(0, 2, "A")], [(1, 2, "A"), (2, 4, "A")]]
    features = [word[0], history(word[0], 2), history(edge(bias[0]), 2)]
    options: dict[str, Any] = {"forbid_invalid": "never", "scheme": scheme, "c2": 0.3}
    model = ChainCRF(features, order=3, **options).fit(x, y)
    p = model.potentials(x[0])
    shares: dict[Any, float] = {}
    log_z = caesura.log_partition(p)
    for path in caesura.n_best(p, 100_000):
        said = tuple(model._named(path.segments))
        shares[said] = shares.get(said, 0.0) + float(np.exp(path.score - log_z))
    assert close(sum(shares.values()), 1.0)
    [found] = model.predict_n_best([x[0]], 6)
    expected = sorted(shares.values(), reverse=True)[:6]
    assert close([share for _, share in found], expected)
    for segments, share in found:
        assert close(share, shares[tuple(segments)])
    for one in model.predict_confident([x[0]])[0]:
        chance = sum(share for said, share in shares.items() if one.segment in said)
        assert close(one.probability, chance)
    [rest] = model.predict_n_best([x[0]], 3, constraints={"forbidden": [found[0][0][0]]})
    assert all(found[0][0][0] not in segments for segments, _ in rest)
    allowed = {s: q for s, q in shares.items() if found[0][0][0] not in s}
    total = sum(allowed.values())
    assert close([q for _, q in rest], sorted(q / total for q in allowed.values())[::-1][:3])


@pytest.mark.parametrize("kind", KINDS)
def test_reasons_add_up_to_the_margin(models: dict[Any, Any], kind: Any) -> None:
    model = models[kind]
    shown = set()
    for x in X_NEW[:6]:
        p = model.potentials(x)
        path, best = caesura.viterbi(p)
        others = model._runners_up(problem_of(p), path, *model.predict([x]))
        for why, other in zip(model.explain(x), others, strict=True):
            total = sum(reason.difference for reason in why.reasons)
            assert close(total, best - caesura.score(p, other.applied_to(path)))
            assert close(total, why.margin)
            shown |= {(r.feature.partition(":")[0], r.states.count(" > ")) for r in why.reasons}
    assert {("pattern", 2), ("pattern", 3), ("history2", 2), ("history3", 3)} <= shown


@pytest.mark.parametrize("kind", KINDS)
def test_top_features_name_patterns(models: dict[Any, Any], kind: Any) -> None:
    top = models[kind].top_features(n=10**6)
    assert {one.label for one in top if one.feature == "pattern"} == patterns_of(models[kind])
    mine = models[kind].top_features("town", n=10**6)
    assert all(one.label.endswith("town") for one in mine)
    assert any(one.feature == "pattern" for one in mine)


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("c1", [0.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_the_same_after_it_was_saved(kind: Any, c1: float, tmp_path: Path) -> None:
    model = fitted(kind, c1=c1)
    model.save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    copied = pickle.loads(pickle.dumps(model))
    for other in (again, copied):
        assert other.order == 3
        assert other.predict(X_NEW) == model.predict(X_NEW)
        for x in X_NEW:
            p, q = model.potentials(x), other.potentials(x)
            assert close(caesura.log_partition(p), caesura.log_partition(q), 1e-12)
        assert str(other.explain(X_NEW[0])[0]) == str(model.explain(X_NEW[0])[0])
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    if c1:
        assert again._known.parameters.patterns == model._known.parameters.patterns != []
        assert 0 < again.n_features_ < model.n_features_
        assert (again._known.w != 0).all()


# -- going on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_keeps_patterns(kind: Any) -> None:
    model = fitted(kind, warm_start=True)
    before, kept = patterns_of(model), model._known
    again = model.fit(X[:5], Y[:5])
    assert before <= patterns_of(again)
    model.fit([*X, ["Mars"]], [*Y, [(0, 1, "planet")]])
    assert "planet" in model.labels_
    assert before <= patterns_of(model)
    assert model.score(X, Y) > 0.95
    known = model._known
    w = carried(known.parameters, kept, known.structure)
    both = known._replace(w=w)
    same = merged(known.parameters, kept, known.structure, known.encoder.attributes)
    assert len(same) == len(known.parameters)
    assert close(np.sort(w[w != 0]), np.sort(kept.w[kept.w != 0]), 0)
    assert close(np.abs(both.w).sum(), np.abs(kept.w).sum())


@pytest.mark.parametrize("learner", ["lbfgs", "sgd", "adagrad"])
def test_every_learner(learner: str) -> None:
    model = SemiCRF(SEMI, order=2, learner=learner, c2=0.1, max_iterations=20).fit(X, Y, X, Y)
    assert model.score(X, Y) > 0.9


def test_checkpoints_of_other_patterns_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "run"
    options: dict[str, Any] = {"order": 2, "c2": 0.1}
    whole = SemiCRF(BASE, **options).fit(X, Y)
    SemiCRF(BASE, max_iterations=4, **options).fit(X, Y, checkpoint=file)
    again = SemiCRF(BASE, **options).fit(X, Y, checkpoint=file)
    assert np.array_equal(again._known.w, whole._known.w)
    with pytest.raises(InvalidInput):
        SemiCRF(BASE, patterns=[("number", "street", "town")], c2=0.1).fit(X, Y, checkpoint=file)


# -- the command line ------------------------------------------------------------------------------


def test_the_command_line(tmp_path: Path) -> None:
    train, model = tmp_path / "train.jsonl", tmp_path / "model"
    lines = [
        json.dumps({"tokens": x, "segments": [list(s) for s in y]})
        for x, y in zip(X, Y, strict=True)
    ]
    train.write_text("\n".join(lines) + "\n")
    assert "--order" in good("train", "--help").out
    good("train", train, "-o", model, "--order", "2", "--max-length", "observed")
    loaded = caesura.load(model)
    assert (loaded.order, loaded.max_length) == (2, "observed")
    shown = good("inspect", model).out
    count = len(patterns_of(loaded))
    assert f"patterns    {count} of order 2" in shown
    every = good("inspect", model, "--top", "10000").out
    assert all(every.count(f"{pattern} ") == 1 for pattern in patterns_of(loaded))
    assert "pattern  " in good("inspect", model, "--top", "10000", "--label", "town").out
    facts = json.loads(good("inspect", model, "--json").out)
    assert facts["patterns_by_order"] == {"2": count}
    assert facts["patterns"][0]["pattern"] in patterns_of(loaded)
    pattern = "number > street>town"
    good("train", train, "-o", model, "--patterns", pattern, "--pattern-min-freq", "2")
    assert patterns_of(caesura.load(model)) == {"number > street > town"}
    config = tmp_path / "config.toml"
    config.write_text('patterns = [["number", "street", "town"], "street > O > town"]\n')
    good("train", train, "-o", model, "--config", config)
    assert len(patterns_of(caesura.load(model))) == 2
    good("train", train, "-o", model, "--order", "3", "--patterns", "grow")
    assert caesura.load(model).patterns == "grow"
    good("tune", train, "--try", "order=1,2", "--folds", "2", "--max-iterations", "5")
    wrong = run("train", train, "-o", model, "--patterns", "number>planet>town")
    assert wrong.code == 1
    assert "'planet' in number > planet > town is not a label" in " ".join(wrong.err.split())
    assert "order: got 0" in run("train", train, "-o", model, "--order", "0").err
    both = run("train", train, "-o", model, "--patterns", "grow", "--patterns", "a>b>c")
    assert "'grow' alone" in " ".join(both.err.split())


def test_a_tagger_of_crfsuite_reads_a_chain_of_high_order(tmp_path: Path) -> None:
    tags = [caesura.to_tags(y, "BIO", len(x)) for x, y in zip(X, Y, strict=True)]
    model = ChainCRF([attributes[0]], order=3, scheme=None, forbid_invalid="never", c2=0.1)
    model.fit([bags_of(x) for x in X], tags).save(tmp_path / "model")
    tagger = Tagger()
    tagger.open(tmp_path / "model")
    for x in X_NEW:
        found, p = tagger.tag(bags_of(x)), model.potentials(bags_of(x))
        assert found == model.predict_tags([bags_of(x)], scheme=None)[0]
        path = [(t, t + 1, tag) for t, tag in enumerate(found)]
        assert close(tagger.probability(found), np.exp(caesura.log_probability(p, path)))
        k = p.labels.index(found[0])
        assert close(tagger.marginal(found[0], 0), caesura.marginals(p).tokens[0, k])
