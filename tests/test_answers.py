"""What is asked of a fitted model: constraints, confidence, reasons, and the outside bias."""

from __future__ import annotations

import copy
import weakref
from typing import Any

import numpy as np
import pytest
from oracle import close
from toys import addresses

import caesura
from caesura import ChainCRF, Document, Impossible, InvalidInput, Segment, SemiCRF
from caesura.features import Length, Text, edge, first, last, lower, shape, window, within, word
from caesura.inference.problems import problem_of
from caesura.models.calibration import calibrate

X, Y = addresses(40, seed=1)
X_HELD, Y_HELD = addresses(60, seed=3)
TOKENS = [*window(lower, -1, 1), shape[0], edge(word[0])]
SEGMENTS = [*TOKENS, first(word[0]), last(word[0]), within(word[0] & word[1]), Length(exact=3)]


@pytest.fixture(scope="module", params=["semi", "chain", "any tags"])
def model(request: pytest.FixtureRequest) -> Any:
    if request.param == "semi":
        return SemiCRF([*SEGMENTS, Text()], c2=0.3, n_threads=1).fit(X, Y)
    forbid = "never" if request.param == "any tags" else "predict"
    return ChainCRF(TOKENS, c2=0.3, n_threads=1, forbid_invalid=forbid).fit(X, Y)


def all_segmentations(model: Any, x: list[str]) -> list[tuple[list[Segment], float]]:
    """All segmentations with the scores of their best paths, best first."""
    p = model.potentials(x)
    paths = caesura.n_best(p, 20000)
    return [(model._named(path.segments), path.score) for path in paths]


# -- constraints ---------------------------------------------------------------------------------

NEAR = ["near", "Park", "York", "Hull"]
RULES: dict[str, tuple[dict[str, Any], Any]] = {
    "required": ({"required": [(1, 3, "town")]}, lambda s: (1, 3, "town") in s),
    "required outside": (
        {"required": [(1, 4, "O")]},
        lambda s: all(end <= 1 for _, end, _ in s),
    ),
    "allowed": (
        {"allowed": {1: ["town", "O"]}},
        lambda s: all(label == "town" for start, end, label in s if start <= 1 < end),
    ),
    "boundaries": (
        {"boundaries": [2]},
        lambda s: not any(start < 2 < end for start, end, _ in s),
    ),
    "no_boundaries": (
        {"no_boundaries": [2]},
        lambda s: any(start < 2 < end for start, end, _ in s),
    ),
}
WHOLE_RULES: dict[str, tuple[dict[str, Any], Any]] = {
    "forbidden": ({"forbidden": [(2, 3, "town")]}, lambda s: (2, 3, "town") not in s),
    "at_most_once": (
        {"at_most_once": ["town"]},
        lambda s: sum(label == "town" for _, _, label in s) <= 1,
    ),
    "exactly_once": (
        {"exactly_once": ["number"]},
        lambda s: sum(label == "number" for _, _, label in s) == 1,
    ),
    "ordered": (
        {"ordered": ["town", "street", "number"]},
        lambda s: (o := [["town", "street", "number"].index(z) for _, _, z in s]) == sorted(o),
    ),
}


@pytest.mark.parametrize("rule", [*RULES, *WHOLE_RULES])
def test_answers_keep_constraints(model: Any, rule: str) -> None:
    rules, keeps = {**RULES, **WHOLE_RULES}[rule]
    best = next(s for s, _ in all_segmentations(model, NEAR) if keeps(s))
    assert model.predict([NEAR], rules) == [best]
    assert model.predict([NEAR, NEAR], [{}, rules]) == [model.predict([NEAR])[0], best]
    assert all(keeps(segments) for segments, _ in model.predict_n_best([NEAR], 8, rules)[0])
    assert all(keeps(segments) for segments in model.sample([NEAR], 50, constraints=rules)[0])
    tags = model.predict_tags([NEAR], "BIO", rules)
    assert [caesura.from_tags(one, "BIO") for one in tags] == [best]
    sure = model.predict_confident([NEAR], constraints=rules)[0]
    assert [one.segment for one in sure] == best
    for one in sure:  # the probability among those that keep the rule
        ranked = model.predict_n_best([NEAR], 20000, rules)[0]
        assert close(one.probability, sum(p for s, p in ranked if one.segment in s))
    assert [e.segment for e in model.explain(NEAR, rules)] == best


def test_states_keep_constraints(model: Any) -> None:
    rules = {"required": [(1, 3, "town")]}
    [states] = model.predict_tags([NEAR], None, rules)
    assert all("town" in state for state in states[1:3])
    m = model.predict_marginals([NEAR], rules)[0]
    towns = [k for k, state in enumerate(model._known.structure.states) if "town" in state]
    assert m.tokens[1, towns].sum() == pytest.approx(1.0)


def test_constraints_can_be_too_many(model: Any) -> None:
    rules = {"required": [(0, 2, "town")], "boundaries": [3], "no_boundaries": [3]}
    with pytest.raises((Impossible, InvalidInput)):
        model.predict([NEAR], rules)


@pytest.mark.parametrize(
    ("constraints", "text"),
    [
        ([{}], "constraints: got 1 dict for 2 sequences"),
        ([{}, None], "constraints[1]: got None, expected a dict"),
        ([{}, {"require": []}], "constraints[1]: got 'require', expected one of required,"),
        ([{}, {"required": [(0, 9, "town")]}], "constraints[1]"),
        ({"required": [(0, 2, "city")]}, "'city', expected one of the labels"),
        ({"allowed": {9: ["town"]}}, "9"),
        ({"boundaries": [17]}, "17"),
    ],
)
def test_wrong_constraints(model: Any, constraints: Any, text: str) -> None:
    with pytest.raises(InvalidInput) as error:
        model.predict([NEAR, NEAR], constraints)
    assert text in str(error.value)
    assert "constraints" in str(error.value)


# -- confidence ----------------------------------------------------------------------------------


def test_isotonic_is_near_the_nearest_rising_function() -> None:
    sklearn = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 50, 400):
        x = np.round(rng.random(n), 2)
        right = rng.random(n) < x**2
        fitted = calibrate(x, right, "isotonic")
        expected = sklearn.IsotonicRegression(out_of_bounds="clip").fit(x, right)
        assert np.abs(fitted(x) - expected.predict(x)).mean() < 2 / n**0.5
        assert (np.diff(fitted(np.linspace(0, 1, 101))) >= 0).all()
        for value in np.unique(fitted(x)):
            mine = right[fitted(x) == value]
            assert close(value, (mine.sum() + 1) / (len(mine) + 2))


@pytest.mark.parametrize("method", ["isotonic", "temperature"])
@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_calibrated_probabilities_are_never_certain(method: str, n: int) -> None:
    rng = np.random.default_rng(n)
    for x in (rng.random(n), np.ones(n), np.zeros(n), np.full(n, 0.9)):
        for right in (np.ones(n, bool), np.zeros(n, bool), x > 0.5):
            values = calibrate(x, right, method)(np.linspace(0, 1, 11))
            assert ((values >= 1 / (n + 2) - 1e-12) & (values <= (n + 1) / (n + 2) + 1e-12)).all()


def test_a_temperature_of_right_segments_stays_near_what_they_are() -> None:
    x = np.full(100, 0.9)
    fitted = calibrate(x, np.ones(100, bool), "temperature")
    assert fitted(x)[0] == pytest.approx(101 / 102, abs=1e-3)
    assert calibrate(x[:2], np.ones(2, bool), "temperature")(x)[0] == pytest.approx(0.75, abs=0.01)


def test_temperature_makes_the_held_out_data_most_likely() -> None:
    rng = np.random.default_rng(1)
    log_odds = rng.normal(size=2000)
    right = rng.random(2000) < 1 / (1 + np.exp(-log_odds))
    too_sure = 1 / (1 + np.exp(-3 * log_odds))
    fitted = calibrate(too_sure, right, "temperature")
    assert fitted(too_sure) == pytest.approx(1 / (1 + np.exp(-log_odds)), abs=0.02)
    for extreme in (np.ones(5), np.zeros(5)):
        for truth in (True, False):
            values = calibrate(extreme, np.full(5, truth), "temperature")(extreme)
            assert np.isfinite(values).all()


@pytest.mark.parametrize("method", ["isotonic", "temperature"])
def test_calibration_changes_probabilities_and_marks_for_review(model: Any, method: Any) -> None:
    raw = model.predict_confident(X_HELD)
    assert not any(one.calibrated or one.review for some in raw for one in some)
    with pytest.raises(InvalidInput, match=r"precision: .*call calibrate"):
        model.predict_confident(X_HELD, precision=0.9)
    assert any(
        one.review for some in model.predict_confident(X_HELD, threshold=0.9) for one in some
    )
    try:
        model.calibrate(X_HELD, Y_HELD, method)
        sure = model.predict_confident(X_HELD, precision=0.95)
        assert all(one.calibrated for some in sure for one in some)
        assert [[one.segment for one in some] for some in sure] == model.predict(X_HELD)
        kept = [
            one.segment in truth
            for some, truth in zip(sure, Y_HELD, strict=True)
            for one in some
            if not one.review
        ]
        assert np.mean(kept) >= 0.95
        assert len(kept) > 30
        shares = np.array([one.probability for some in sure for one in some])
        right = [
            one.segment in truth for some, truth in zip(sure, Y_HELD, strict=True) for one in some
        ]
        assert shares.mean() == pytest.approx(np.mean(right), abs=0.03)
        before = [one.probability for some in raw for one in some]
        order = np.argsort(before)
        assert (np.diff(shares[order]) >= -1e-12).all()
        everything = model.predict_confident(X_HELD, precision=0.0)
        assert not any(one.review for some in everything for one in some)
        for precision in (-0.1, 1.1):
            with pytest.raises(InvalidInput, match="precision: "):
                model.predict_confident(X_HELD, precision=precision)
    finally:
        model.calibration_ = None


def test_a_precision_that_cannot_be_had_marks_everything() -> None:
    fitted = calibrate(np.array([0.9, 0.5]), np.array([False, False]), "isotonic")
    assert fitted.threshold_for(0.5) == np.inf
    with pytest.raises(InvalidInput, match="no predicted segments"):
        calibrate(np.zeros(0), np.zeros(0, bool), "isotonic")


def test_fitting_again_forgets_the_calibration() -> None:
    model = SemiCRF([word[0]]).fit(X, Y).calibrate(X_HELD, Y_HELD)
    assert model.predict_confident(X[:1])[0][0].calibrated
    assert not model.fit(X, Y).predict_confident(X[:1])[0][0].calibrated


def test_constraints_that_say_nothing_change_nothing(model: Any) -> None:
    nothing: list[Any] = [{}, {"at_most_once": [], "allowed": {}}, [{}] * len(X_HELD)]
    try:
        model.calibrate(X_HELD, Y_HELD)
        free = model.predict_confident(X_HELD, precision=1.0)
        assert any(one.review for some in free for one in some)
        for constraints in nothing:
            again = model.predict_confident(X_HELD, precision=1.0, constraints=constraints)
            assert again == free
            assert model.predict(X_HELD, constraints) == model.predict(X_HELD)
            assert model.predict_tags(X_HELD, None, constraints) == model.predict_tags(X_HELD, None)
    finally:
        model.calibration_ = None


def test_a_precision_is_not_promised_under_constraints(model: Any) -> None:
    rules = {"at_most_once": ["town"]}
    try:
        model.calibrate(X_HELD, Y_HELD)
        with pytest.raises(
            InvalidInput, match=r"constraints: cannot be combined .* pass a threshold"
        ):
            model.predict_confident(X_HELD, precision=0.95, constraints=rules)
        each = [{}, rules, *[{}] * (len(X_HELD) - 2)]
        with pytest.raises(
            InvalidInput, match=r"constraints\[1\]: cannot be combined with precision"
        ):
            model.predict_confident(X_HELD, precision=0.95, constraints=each)
        some = model.predict_confident(X_HELD, threshold=0.5, constraints=each)
        known = [{one.calibrated for one in answer} for answer in some]
        assert known[0] == {True}
        assert known[1] == {False}
    finally:
        model.calibration_ = None


def test_a_calibration_belongs_to_the_outside_bias_it_was_learnt_with(tmp_path: Any) -> None:
    model = SemiCRF([word[0]], outside_bias=0.5).fit(X, Y).calibrate(X_HELD, Y_HELD)
    model.save(tmp_path / "model")
    for one in (model, caesura.load(tmp_path / "model"), copy.deepcopy(model)):
        known = one.predict_confident(X[:3], precision=0.9)
        assert known[0][0].calibrated
        one.set_params(outside_bias=2.0)
        assert not any(c.calibrated for some in one.predict_confident(X) for c in some)
        with pytest.raises(InvalidInput, match=r"outside_bias: got 2.0, expected 0.5, with which"):
            one.predict_confident(X, precision=0.9)
        one.save(tmp_path / "other")
        assert not caesura.load(tmp_path / "other").predict_confident(X[:1])[0][0].calibrated
        assert one.set_params(outside_bias=0.5).predict_confident(X[:3], precision=0.9) == known


# -- tags and draws ------------------------------------------------------------------------------


def test_tags_are_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = SemiCRF([word[0]], n_threads=1).fit(X, Y)
    expected = fitted.predict_tags(X_HELD)
    monkeypatch.setattr("caesura.models.inputs.CHUNK", 4)
    made: list[weakref.ref[Any]] = []
    most = 0

    class Kept(Document):
        """One that weak references can be made to."""

    def sequences() -> Any:
        nonlocal most
        for x in X_HELD:
            made.append(weakref.ref(document := Kept(tuple(x))))
            most = max(most, sum(one() is not None for one in made))
            yield document
            del document

    assert fitted.predict_tags(sequences()) == expected
    assert most <= 8  # of 60


def test_tags_that_cannot_be_told_apart_name_their_sequence() -> None:
    ys = [[(0, 1, "a"), (1, 2, "a")]]
    fitted = SemiCRF([first(word[0])], same_label_adjacent=True).fit([["x", "y"]] * 5, ys * 5)
    with pytest.raises(InvalidInput, match=r"X\[1\]: segments\[1\]: "):
        fitted.predict_tags([["x"], ["x", "y"]], "plain")


def test_draws_with_neighbouring_seeds_are_not_the_same_ones_shifted(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = X_HELD[0] * 3
    drawn = model.sample([x] * 3, 8, seed=7)
    assert drawn[1] != model.sample([x], 8, seed=8)[0]
    assert drawn[0] != drawn[1]
    monkeypatch.setattr("caesura.models.constrained_inference.MOST_TOKENS", 1)
    assert model.sample([x] * 3, 8, seed=7) == drawn


# -- reasons -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [0.0, -1.5])
def test_reasons_add_up_to_the_scores(model: Any, bias: float) -> None:
    model.outside_bias = bias
    try:
        for x in X_HELD[:6]:
            p = model.potentials(x)
            best = caesura.viterbi(p)
            explanations = model.explain(x)
            assert [e.segment for e in explanations] == model._named(best.segments)
            others = model._runners_up(problem_of(p), best.segments, model._named(best.segments))
            for e, other in zip(explanations, others, strict=True):
                score = caesura.score(p, other.applied_to(best.segments))
                assert e.margin == pytest.approx(best.score - score)
                assert sum(r.difference for r in e.reasons) == pytest.approx(e.margin, abs=1e-12)
                assert e.margin >= -1e-9
                assert set(e.runner_up).isdisjoint([e.segment])
                sizes = [abs(r.difference) for r in e.reasons]
                assert sizes == sorted(sizes, reverse=True)
                assert e.text == " ".join(x[e.segment.start : e.segment.end])
                assert 0 < e.probability <= 1
                assert str(e).startswith(f"{e.segment.label} [{e.segment.start}, ")
    finally:
        model.outside_bias = 0.0


def test_reasons_are_those_of_where_two_answers_differ(model: Any) -> None:
    tokens = [token for x in X_HELD[:20] for token in x]
    explanations, p = model.explain(tokens), model.potentials(tokens)
    best = caesura.viterbi(p)
    others = model._runners_up(problem_of(p), best.segments, *model.predict([tokens]))
    assert len(explanations) > 30
    for e, other in zip(explanations, others, strict=True):
        assert sum(r.difference for r in e.reasons) == pytest.approx(e.margin, abs=1e-12)
        score = caesura.score(p, other.applied_to(best.segments))
        assert e.margin == pytest.approx(best.score - score, abs=1e-9)
        if len(e.runner_up) < 3:  # they differ in few segments
            assert len(e.reasons) < 150


def test_the_runner_up_is_the_best_answer_without_the_segment(model: Any) -> None:
    ranked = all_segmentations(model, NEAR)
    for e in model.explain(NEAR):
        expected = next(score for segments, score in ranked if e.segment not in segments)
        assert e.margin == pytest.approx(ranked[0][1] - expected)


ANY = [(s, e, label) for s in range(4) for e in range(s + 1, 5) for label in ("town", "street")]


def test_any_segment_can_be_asked_about(model: Any) -> None:
    ranked = all_segmentations(model, NEAR)
    log_z = np.logaddexp.reduce([score for _, score in ranked])
    predicted = model.predict([NEAR])[0]
    for asked in ANY:
        with_it = [score for segments, score in ranked if asked in segments]
        without = next(score for segments, score in ranked if asked not in segments)
        chance = model.probability(NEAR, asked)
        assert chance == pytest.approx(np.exp(np.logaddexp.reduce(with_it) - log_z), rel=1e-6)
        [why] = model.explain(NEAR, segment=asked)
        assert why.segment == asked
        assert why.probability == pytest.approx(chance, rel=1e-9)
        assert why.margin == pytest.approx(with_it[0] - without)
        assert sum(r.difference for r in why.reasons) == pytest.approx(why.margin)
        assert (why.margin >= 0) == (asked in predicted)
        assert asked not in why.runner_up
        assert ("behind" in str(why)) == (asked not in predicted)
        if asked not in predicted:
            assert set(why.runner_up) <= set(predicted)
    for why, (segment, chance, *_) in zip(
        model.explain(NEAR), model.predict_confident([NEAR])[0], strict=True
    ):
        assert [why] == model.explain(NEAR, segment=segment)
        assert model.probability(NEAR, segment) == pytest.approx(chance)


def test_probabilities_of_several_segments_and_under_constraints(model: Any) -> None:
    ranked = all_segmentations(model, NEAR)
    both = [(1, 2, "town"), (3, 4, "street")]
    for asked, rules in ((both, {}), (both[:1], {"required": both[1:]}), ([(1, 2, "O")], {})):
        kept = [(s, score) for s, score in ranked if set(rules.get("required", ())) <= set(s)]
        with_them = [
            score
            for segments, score in kept
            if all(
                segment in segments
                if segment[2] != "O"
                else all(e <= segment[0] or segment[1] <= s for s, e, _ in segments)
                for segment in asked
            )
        ]
        expected = np.logaddexp.reduce(with_them) - np.logaddexp.reduce([s for _, s in kept])
        found = model.probability(NEAR, *asked, constraints=rules)
        assert found == pytest.approx(np.exp(expected), rel=1e-6)
    [why] = model.explain(NEAR, {"forbidden": [(0, 1, "town")]}, segment=both[0])
    assert why.margin < np.inf
    with pytest.raises(InvalidInput, match=r"segments: got \(\), expected at least one segment"):
        model.probability(NEAR)
    assert model.probability(NEAR, both[0], constraints={"forbidden": both[:1]}) == 0.0
    no_town = {t: ["street", "O"] for t in range(len(NEAR))}
    for rules in ({"forbidden": both[:1]}, {"required": [(1, 3, "town")]}):
        assert model.probability(NEAR, both[0], constraints=rules) == 0.0
        with pytest.raises(Impossible, match=r"^segment: got .1, 2, 'town'., expected one that"):
            model.explain(NEAR, rules, segment=both[0])
    with pytest.raises(Impossible, match="x: no segmentation is possible"):
        model.explain(NEAR, {"exactly_once": ["town"], "allowed": no_town}, segment=both[1])
    for wrong, problem in (
        ((0, 1, "city"), "got 'city', expected one of the labels"),
        ((0, 99, "town"), "got .0, 99, 'town'., expected 0 <= start < end"),
        ((0, 1), "got .0, 1., expected a segment"),
        ((0, "1", "town"), "got '1', expected a whole number"),
    ):
        with pytest.raises(InvalidInput, match=rf"^segments(\[1\])?: {problem}"):
            model.probability(NEAR, both[0], wrong)
        with pytest.raises(InvalidInput, match=f"^segment: {problem}"):
            model.explain(NEAR, segment=wrong)
    with pytest.raises(InvalidInput, match=r"segment: got .* expected another label than outside"):
        model.explain(NEAR, segment=(0, 1, "O"))


def test_a_segment_longer_than_the_longest_is_named() -> None:
    y = [[(0, 1, "number"), (1, 3, "street")]]
    model = SemiCRF(c2=0.1, max_length=2).fit([["12", "High", "Street"]], y)
    assert model.probability(["3", "Mill", "Lane"], (0, 3, "street")) == 0.0
    with pytest.raises(Impossible, match=r"^segment: got .0, 3, 'street'., .* its max_length"):
        model.explain(["3", "Mill", "Lane"], segment=(0, 3, "street"))


def test_explanations_of_numbers_show_no_text() -> None:
    model = SemiCRF(c2=0.1).fit([np.eye(2)], [[(0, 1, "x"), (1, 2, "y")]])
    assert str(model.explain(np.eye(2))[0]).startswith("x [0, 1), probability 0.")


def test_an_answer_without_any_other() -> None:
    model = SemiCRF([word[0]], max_length=1).fit([["a"]], [[(0, 1, "x")]])
    [only] = model.explain(["a"])
    assert only.margin == np.inf
    assert only.runner_up == []
    assert "probability 1.000, no alternative is allowed" in str(only)
    [same] = model.explain(["a"], segment=(0, 1, "x"))
    assert same == only
    assert only.probability == pytest.approx(1.0)


def test_top_features(model: Any) -> None:
    top = model.top_features(n=5)
    sizes = [abs(feature.weight) for feature in top]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(
        np.abs(model._known.w[: len(model._known.parameters.label)]).max()
    )
    towns = model.top_features("town", 3)
    assert all("town" in feature.label for feature in towns)
    assert any("leeds" in f.feature.lower() for f in model.top_features("town", 40) if f.weight > 0)
    states, parameters = model._known.structure.states, model._known.parameters
    last = [*parameters.label.tolist(), *(parameters.edge_pair % len(states)).tolist()]
    assert len(model.top_features("O", 10**6)) == sum(
        state == "O"
        for state in (
            states[k]
            for k in last  # of attributes on rows, and at boundaries
        )
    )
    with pytest.raises(InvalidInput, match=r"label: got 'city', expected one of .*town"):
        model.top_features("city")
    with pytest.raises(InvalidInput, match="n: "):
        model.top_features(n=-1)


# -- the dial between precision and recall -------------------------------------------------------


def test_the_higher_the_outside_bias_the_more_is_outside(model: Any) -> None:
    outside = []
    try:
        for bias in (-6.0, -2.0, 0.0, 1.0, 2.5, 6.0):
            model.set_params(outside_bias=bias)
            paths = caesura.viterbi([model.potentials(x) for x in X_HELD])
            found = model.predict(X_HELD)
            assert found == [model._named(path.segments) for path in paths]
            outside.append(sum(map(len, X_HELD)) - sum(s.length for some in found for s in some))
    finally:
        model.set_params(outside_bias=0.0)
    assert outside == sorted(outside)
    assert outside[0] < outside[2] < outside[-1]
    with pytest.raises(InvalidInput, match="outside_bias: "):
        model.set_params(outside_bias=float("nan")).predict(X[:1])
    with pytest.raises(InvalidInput, match="outside_bias: "):
        model.potentials(X[0])
    model.set_params(outside_bias=0.0)


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
def test_outside_bias_trades_recall_for_precision(kind: Any) -> None:
    xs = [[f"w{k}"] for k in range(1, 10) for _ in range(10)]  # w7 is a name 7 times of 10
    ys = [[Segment(0, 1, "name")] if i < k else [] for k in range(1, 10) for i in range(10)]
    model = kind([word[0]], c2=0.01).fit(xs, ys)
    scores = [
        caesura.evaluate(ys, model.set_params(outside_bias=bias).predict(xs)).micro
        for bias in (-1.5, 0.0, 1.5)
    ]
    assert scores[0].recall > scores[1].recall > scores[2].recall > 0
    assert scores[0].precision < scores[1].precision < scores[2].precision


def test_outside_bias_counts_each_outside_segment() -> None:
    for length in (1, None):
        model = SemiCRF([word[0]], outside_length=length).fit(X, Y)
        plain = model.potentials(["at", "the", "Leeds"])
        biased = model.set_params(outside_bias=0.7).potentials(["at", "the", "Leeds"])
        path = caesura.fill_gaps([(2, 3, "town")], 3, outside_length=length)
        n = sum(segment.label == "O" for segment in path)
        assert caesura.score(biased, path) - caesura.score(plain, path) == pytest.approx(0.7 * n)
