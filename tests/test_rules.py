"""Constraints at prediction time: their types, rules about segments in a chain, bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import close
from toys import addresses

import caesura
from caesura import ChainCRF, Impossible, InvalidInput, Potentials, SemiCRF
from caesura.features import lower, shape, window
from caesura.models import encoded, inputs
from caesura.models.rules import Rules, read_rules
from caesura.models.schemes import tag_set
from caesura.models.tag_rules import keep_rules
from caesura.segments import from_tags, to_tags

X, Y = addresses(40, seed=1)
TOKENS = [*window(lower, -1, 1), shape[0]]


@pytest.fixture(scope="module")
def both() -> list[Any]:
    return [kind(TOKENS, c2=0.3, n_threads=1).fit(X, Y) for kind in (SemiCRF, ChainCRF)]


@pytest.fixture(scope="module", params=["semi", "chain"])
def model(request: pytest.FixtureRequest) -> Any:
    kind = SemiCRF if request.param == "semi" else ChainCRF
    return kind(TOKENS, c2=0.3, n_threads=1).fit(X, Y)


# -- rules about segments, kept by tags ------------------------------------------------------------


SCHEMES = ["BIO", "IOB1", "BIOES", "BCEU", "plain", "IO", "IOE1", "IOE2"]


@st.composite
def chains(draw: st.DrawFn) -> tuple[Potentials, Any, Rules]:
    """Return potentials over tags, what the tags say, and rules about segments."""
    scheme = draw(st.sampled_from(SCHEMES))
    T, seed = draw(st.integers(1, 4)), draw(st.integers(0, 10**6))
    one = [(0, 1, "a"), (1, 2, "a"), (2, 5, "b"), (5, 7, "a")]
    some = [*([] if scheme in ("plain", "IO") else [one]), [(0, 1, "b")], [(0, 3, "a")]]
    states = sorted({tag for s in some for tag in to_tags(s, scheme, 8)})
    tags = tag_set(tuple(states), scheme, "O")
    rng = np.random.default_rng(seed)
    p = Potentials(T, states, max_length=1)
    p.emission[...] = rng.normal(size=(T, len(states)))
    p.transition[...] = rng.normal(size=(len(states), len(states)))
    p.start[...], p.end[...] = rng.normal(size=(2, len(states)))
    if draw(st.booleans()):
        for array, bars in zip((p.transition, p.start, p.end), tags.bars, strict=True):
            array[bars.astype(bool)] = -np.inf
    labels = st.lists(st.sampled_from(["a", "b", "O"]), max_size=2, unique=True)
    start = draw(st.integers(0, T - 1))
    span = (start, draw(st.integers(start + 1, T)), draw(st.sampled_from(["a", "b", "O"])))
    rules = Rules(
        forbidden=(span,) if draw(st.booleans()) else (),
        at_most_once=tuple(draw(labels)),
        exactly_once=tuple(draw(labels)),
        ordered=tuple(draw(labels)),
    )
    return p, tags, rules


@given(chains())
@settings(max_examples=150, deadline=None)
def test_rules_about_segments_are_exact_over_tags(case: tuple[Potentials, Any, Rules]) -> None:
    p, tags, rules = case
    T, states = p.length, p.labels
    total = -np.inf
    for path in product(states, repeat=T):
        segments = from_tags(list(path), tags.scheme, "O", "repair")
        if rules.kept_by(segments, T, "O"):
            cut = [(t, t + 1, tag) for t, tag in enumerate(path)]
            total = np.logaddexp(total, caesura.score(p, cut))
    keep_rules(p, tags, rules, "constraints")
    assert close(caesura.log_partition(p), total)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("forbid", ["predict", "never"])
def test_chains_of_all_schemes_keep_rules(scheme: str, forbid: str) -> None:
    chain = ChainCRF(TOKENS, scheme=scheme, forbid_invalid=forbid, c2=0.3).fit(X, Y)
    x = ["7", "High", "Park", "Lane", "York", "Hull"]
    rules = {"at_most_once": ["town"], "exactly_once": ["street"], "ordered": ["town", "street"]}
    rules["forbidden"] = [(1, 4, "street")]  # type: ignore[list-item]
    read = read_rules(rules, "constraints")
    ranked = chain.predict_n_best([x], 1000)[0]
    kept = [(s, share) for s, share in ranked if read.kept_by(s, len(x), "O")][:5]
    assert kept
    again = chain.predict_n_best([x], len(kept), rules)[0]
    assert [s for s, _ in again] == [s for s, _ in kept]
    for (_, a), (_, b) in zip(again[1:], kept[1:], strict=True):
        assert close(a / again[0][1], b / kept[0][1])
    sure = chain.predict_confident([x], constraints=rules)[0]
    everything = chain.predict_n_best([x], 3000, rules)[0]
    assert close(sum(share for _, share in everything), 1.0)
    for one in sure:
        assert close(one.probability, sum(q for s, q in everything if one.segment in s))
    for told in chain.explain(x, rules):
        assert told.segment not in told.runner_up
        assert told.margin >= 0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("forbid", ["predict", "never"])
@pytest.mark.parametrize("x", [["a"], ["a", "b"]])
def test_chains_forbid_segments_that_are_one_tag(scheme: str, forbid: str, x: list[str]) -> None:
    some = [[(0, 2, "X")], [(0, 1, "X")]]
    chain = ChainCRF(scheme=scheme, forbid_invalid=forbid).fit([list("abc"), ["a"]] * 5, some * 5)
    rules = {"forbidden": [(0, 1, "X")]}
    free = [(s, q) for s, q in chain.predict_n_best([x], 99)[0] if (0, 1, "X") not in s]
    total = sum(share for _, share in free)
    ranked = chain.predict_n_best([x], 99, rules)[0]
    assert [s for s, _ in ranked] == [s for s, _ in free]
    for (_, a), (_, b) in zip(ranked, free, strict=True):
        assert close(a, b / total)
    for one in chain.predict_confident([x], constraints=rules)[0]:
        assert close(one.probability, sum(q for s, q in ranked if one.segment in s))
    for told in chain.explain(x, rules):
        assert told.runner_up is None or not {told.segment, (0, 1, "X")} & set(told.runner_up)


def test_rules_that_a_chain_cannot_keep_are_impossible() -> None:
    for forbid in ("predict", "never"):
        chain = ChainCRF(TOKENS, forbid_invalid=forbid).fit(X, Y)
        rules = [{}, {"exactly_once": ["town", "street", "number"]}]
        with pytest.raises(Impossible, match=r"^X\[1\]: no segmentation"):
            chain.predict([["York"], ["York"]], rules)
        with pytest.raises(Impossible, match=r"^X\[1\]: no segmentation"):
            chain.predict_n_best([["York"], ["York"]], 2, rules)


# -- wrong constraints -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("required", [3, None, "town", {"a": 1}, [3], [(1, 2)], [(1.0, 2, "town")], [(0, 1, [])]]),
        (
            "forbidden",
            [3, None, "town", [3], [(0, 1, "city")], [(0, 99, "town")], [(2, 1, "town")]],
        ),
        ("boundaries", [3, None, "1", [1.5], [None], [True]]),
        ("no_boundaries", [3, None, "1", [1.5], [0]]),
        ("allowed", [3, "town", ["town"], {0: 3}, {0: [None]}, {"0": ["town"]}, {99: ["town"]}]),
        ("at_most_once", [3, None, [None], [[]], ["city"], {"town": 1}]),
        ("exactly_once", [3, None, [2.5], ["city"]]),
        ("ordered", [3, None, ["town", "city"], ["town", "town"]]),
    ],
)
def test_constraints_of_odd_types(model: Any, key: str, values: list[Any]) -> None:
    for value in values:
        for constraints, name in (
            ({key: value}, "constraints"),
            ([{key: value}], "constraints[0]"),
        ):
            with pytest.raises(InvalidInput) as error:
                model.predict([X[0]], constraints)
            assert str(error.value).startswith(f"{name}[{key!r}]"), (value, str(error.value))


@pytest.mark.parametrize("constraints", [3, "required", [3], [None], [{}, {}], [], [{3: 1}]])
def test_constraints_that_are_none(model: Any, constraints: Any) -> None:
    for xs in (X[:1], iter(X[:1])):
        with pytest.raises(InvalidInput, match=r"^constraints"):
            model.predict(xs, constraints)


TOWN = (0, 2, "town")


@pytest.mark.parametrize(
    "rules",
    [
        {"boundaries": [0]},
        {"boundaries": [4]},
        {"boundaries": [5]},
        {"no_boundaries": [4]},
        {"allowed": {0: []}},
        {"allowed": {4: ["town"]}},
        {"allowed": {0: ["city"]}},
        {"allowed": {0: [0]}},
        {"boundaries": [1], "no_boundaries": [1]},
        {"required": [TOWN], "boundaries": [1]},
        {"required": [TOWN], "no_boundaries": [2]},
        {"required": [TOWN, (1, 3, "town")]},
        {"required": [TOWN], "allowed": {0: ["street"]}},
        {"required": [(0, 2, "O")], "allowed": {0: ["street"]}},
        {"required": [(0, 2, "O"), (1, 3, "town")]},
        {"required": [(0, 9, "town")]},
        {"required": [(2, 2, "town")]},
        {"required": [(0, 1, 0)]},
        {"forbidden": [(0, 1, 0)]},
        {"forbidden": [(2, 2, "town")]},
        {"at_most_once": [0]},
        {"ordered": ["town", "city"]},
    ],
)
def test_both_models_refuse_the_same_rules_in_the_same_words(both: Any, rules: Any) -> None:
    said = []
    for one in both:
        with pytest.raises(InvalidInput, match=r"^constraints\['\w+'\]") as error:
            one.predict([["7", "High", "Lane", "York"]], rules)
        said.append(str(error.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("required", [[TOWN, TOWN], [(2, 3, "town"), TOWN]])
def test_required_segments_may_be_said_twice_and_in_any_order(model: Any, required: Any) -> None:
    [found] = model.predict([["7", "High", "Lane", "York"]], {"required": required})
    assert set(required) <= set(found)


def test_text_outside_is_cut_at_each_token(model: Any) -> None:
    rules = {"required": [(0, 2, "O")], "boundaries": [1]}
    [found] = model.predict([["7", "High", "Lane", "York"]], rules)
    assert found
    assert all(segment.start >= 2 for segment in found)


def test_a_threshold_is_a_probability(model: Any) -> None:
    for wrong in (2, -0.1, 1.01, float("nan"), "0.5"):
        with pytest.raises(InvalidInput, match=r"^threshold: got .*, expected a probability"):
            model.predict_confident([["York"]], threshold=wrong)
    assert all(one.review for one in model.predict_confident([["York"]], threshold=1.0)[0])


def test_as_many_constraints_as_sequences(model: Any) -> None:
    some = [{"required": [(0, 1, "town")]}, {}]
    expected = model.predict(X[:2], some)
    assert model.predict(iter(X[:2]), iter(some)) == expected
    with pytest.raises(InvalidInput, match="constraints: got 2 dicts for more sequences"):
        model.predict(iter(X[:3]), iter(some))
    with pytest.raises(InvalidInput, match="constraints: got more than 1 dict for 1 sequence"):
        model.predict(iter(X[:1]), iter(some))


def test_rules_that_can_be_read_once_hold_for_all_sequences(model: Any) -> None:
    once = {"required": ((s, e, "town") for s, e in [(0, 1)])}
    assert all(found[0] == (0, 1, "town") for found in model.predict(X[:3], once))
    once = {"required": ((s, e, "town") for s, e in [(0, 1)])}
    assert all(tags[0] == "B-town" for tags in model.predict_tags(X[:3], constraints=once))


# -- memory ----------------------------------------------------------------------------------------


QUESTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda m, xs: m.predict(xs, {"forbidden": [(0, 1, "town")]}),
    "predict_tags": lambda m, xs: m.predict_tags(xs, None, {"at_most_once": ["town"]}),
    "predict_n_best": lambda m, xs: m.predict_n_best(xs, 2, {"at_most_once": ["town"]}),
    "sample": lambda m, xs: m.sample(xs, 2, 5, {"at_most_once": ["town"]}),
    "predict_confident": lambda m, xs: m.predict_confident(
        xs, constraints={"at_most_once": ["town"]}
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_constrained_questions_make_no_potentials(
    model: Any, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = QUESTIONS[question]
    expected = ask(model, X)

    def refused(*arguments: Any) -> Potentials:
        raise AssertionError("the kernels answer without them")

    monkeypatch.setattr(encoded, "potentials_of", refused)
    assert ask(model, iter(X)) == expected


def test_n_best_of_ambiguous_tags_make_no_potentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where several tag paths spell one segmentation, the kernels sum them up."""
    model = caesura.ChainCRF(forbid_invalid="never", max_iterations=5).fit(X, Y)
    expected = model.predict_n_best(X, 2)
    monkeypatch.setattr(encoded, "potentials_of", None)
    assert model.predict_n_best(iter(X), 2) == expected


def test_answers_about_many_parts_are_those_of_one(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [m.tokens for m in model.predict_marginals(X)]
    monkeypatch.setattr(inputs, "CHUNK", 1)
    for m, tokens in zip(model.predict_marginals(X), expected, strict=True):
        assert np.array_equal(m.tokens, tokens)
    assert model.predict([], {}) == model.predict_n_best([], 2) == model.sample([]) == []
