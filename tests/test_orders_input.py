"""What people ask of models of high order, rightly and wrongly: parameters, limits, messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from toys import addresses

import caesura
from caesura import ChainCRF, InvalidInput, SemiCRF, TooLarge
from caesura.features import Length, edge, history, word
from caesura.models import patterns as patterns_module

X, Y = addresses(20, seed=1)
KINDS = [SemiCRF, ChainCRF]


def test_positions_of_parameters() -> None:
    """What came with high order stands at the end: earlier calls mean what they meant."""
    semi = SemiCRF([word[0]], 1, 20, "O", 1, max_iterations=2).fit(X, Y)
    assert (semi.max_length, semi.outside, semi.patterns) == (20, "O", None)
    chain = ChainCRF([word[0]], 1, "BIO", "always", max_iterations=2).fit(X, Y)
    assert (chain.scheme, chain.forbid_invalid, chain.patterns) == ("BIO", "always", None)


def test_grow_with_order_one_is_a_model_without_patterns() -> None:
    from sklearn.model_selection import GridSearchCV

    plain = SemiCRF([word[0]]).fit(X, Y)
    grown = SemiCRF([word[0]], patterns="grow").fit(X, Y)
    assert grown._known.w.tolist() == plain._known.w.tolist()
    tried = {"order": [1, 2], "patterns": [None, "grow"]}
    model = SemiCRF([word[0]], max_iterations=5)
    search = GridSearchCV(model, tried, cv=2, error_score="raise").fit(X, Y)
    assert search.best_score_ > 0


# -- limits ----------------------------------------------------------------------------------------


def random_labels(n: int, labels: int, seed: int = 0) -> Any:
    """One sequence of single tokens with random labels."""
    drawn = np.random.default_rng(seed).integers(0, labels, n).tolist()
    return [["w"] * n], [[(t, t + 1, f"L{y}") for t, y in enumerate(drawn)]]


def test_the_longest_pattern() -> None:
    x, y = random_labels(300, 2)
    for order in (256, 10**9):
        with pytest.raises(InvalidInput, match=f"order: got {order}, expected .*, 1 to 255"):
            SemiCRF([word[0]], order=order).fit(x, y)
    longest = ("L0", "L1") * 128
    model = SemiCRF([word[0]], patterns=[longest], max_iterations=1).fit(x, y)
    assert len(model._known.parameters.patterns[0]) == 256
    with pytest.raises(
        InvalidInput, match=r"patterns\[0\]: got '257 labels', expected at most 256"
    ):
        SemiCRF([word[0]], patterns=[(*longest, "L0")]).fit(x, y)


@pytest.mark.parametrize("feature", [word[0], edge(word[0]), Length(exact=1)])
def test_the_longest_history(feature: Any) -> None:
    x, y = random_labels(258, 2)
    model = SemiCRF([history(feature, 255)])
    training = model._training(model._read(x, y, None), None, None)
    assert {len(z) for z in training.parameters.patterns} == {256}
    with pytest.raises(InvalidInput, match="order: got 256, expected a whole number, 1 to 255"):
        history(feature, 256)


def test_too_many_histories() -> None:
    """Of attributes in the segment, at its edge, and of patterns by themselves."""
    x, y = random_labels(20_000, 40)
    for options in (
        {"features": [history(word[0], 5)]},
        {"features": [history(edge(word[0]), 5)]},
        {"features": [word[0]], "order": 5},
        {"features": [word[0]], "order": 5, "patterns": "grow"},
    ):
        with pytest.raises(TooLarge, match=r"more than 65,000 .*; lower order .* pattern_min_freq"):
            SemiCRF(**options).fit(x, y)
    model = SemiCRF([word[0]], order=5, pattern_min_freq=4)
    training = model._training(model._read(x, y, None), None, None)
    assert 0 < len(training.parameters.patterns) < 1000


def test_too_many_histories_after_a_warm_start(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SemiCRF([history(word[0], 2)], warm_start=True, max_iterations=1)
    model.fit(*random_labels(300, 10))
    monkeypatch.setattr(patterns_module, "MOST", model._known.parameters.n_states)
    model.fit(*random_labels(300, 10))
    with pytest.raises(TooLarge):
        model.fit(*random_labels(300, 10, seed=1))


# -- declared patterns -----------------------------------------------------------------------------


def test_patterns_as_strings() -> None:
    """As on the command line; a tuple may have labels with any character."""
    a = SemiCRF([word[0]], patterns=["number > street>town"]).fit(X, Y)
    b = SemiCRF([word[0]], patterns=[("number", "street", "town")]).fit(X, Y)
    assert a._known.parameters.patterns == b._known.parameters.patterns
    assert a._known.w.tolist() == b._known.w.tolist()


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (np.array([["number", "street", "town"]]), "a list of sequences of labels; write"),
        ([np.array(["number", "street", "town"])], "labels, which are strings; write"),
        ("number > street > town", r"patterns: got 'number > street > town'.* write \[\("),
        (("number", "street", "town"), r"a list of patterns, each with its labels; write \[\("),
        ([("number", "street", 1)], r"patterns\[0\]: got .*, 1\), expected labels, .* strings"),
        ([("number", "street")], r"patterns\[0\]: .* 3 labels or more; pairs .* are transitions"),
        (["number > street"], r"patterns\[0\]: .* 3 labels or more; pairs .* are transitions"),
        (["grow", "number > street > town"], "'grow' alone, or a list of patterns"),
        ([3], r"patterns\[0\]: got 3, expected labels"),
        (3, "patterns: got 3, expected None, 'grow', or a list"),
    ],
)
def test_what_is_no_pattern(patterns: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        SemiCRF([word[0]], patterns=patterns).fit(X, Y)


def test_patterns_of_a_chain_are_of_tags() -> None:
    said = (
        r"expected tags of the model, which are .*B-number.*: patterns of a chain consist of tags"
    )
    with pytest.raises(InvalidInput, match=said):
        ChainCRF([word[0]], patterns=[("number", "street", "town")]).fit(X, Y)


def test_histories_of_marginals() -> None:
    model = SemiCRF([word[0]], order=2).fit(X, Y)
    p = model.potentials(X[0])
    start, end, _ = caesura.viterbi(p).segments[2]
    labels = [label for *_, label in caesura.viterbi(p).segments[:3]]
    m = caesura.marginals(p)
    assert m.segment(start, end, labels) == m.segment(start, end, tuple(labels)) > 0.1
    assert m.segment(start, end, labels[-1:]) == m.segment(start, end, labels[-1])
