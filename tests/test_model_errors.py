"""What is wrong with X, y or a parameter is said at once, with the sequence and what to do."""

from __future__ import annotations

import math
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from toys import addresses

import caesura.evaluation
from caesura import ChainCRF, Document, Impossible, InvalidInput, Partial, SemiCRF
from caesura.evaluation import html_report
from caesura.features import (
    Length,
    Lexicon,
    SegmentFunction,
    attributes,
    column,
    dense,
    first,
    function,
    last,
    preset,
    window,
    within,
    word,
)

X, Y = addresses(20, seed=1)
KINDS = [SemiCRF, ChainCRF]
ONE = [[(0, 1, "x")], []]


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def model(kind: Any) -> Any:
    return kind([word[0]]).fit(X, Y)


def refused(text: str, call: Any, *arguments: Any, **named: Any) -> None:
    with pytest.raises(InvalidInput) as error:
        call(*arguments, **named)
    assert text in str(error.value)


# -- X and y ---------------------------------------------------------------------------------------

SEQUENCES: list[tuple[Any, Any, str]] = [
    ("a b", ONE, "X: got 'a b', expected a list of sequences; put a single sequence into a list"),
    (Document(("a",)), ONE, "X: got Document(tokens=('a',)"),
    ({"tokens": ["a"]}, ONE, "X: got {'tokens': ['a']}, expected a list of sequences"),
    (np.ones((2, 2)), ONE, "expected a list of sequences; put a single sequence into a list: [x]"),
    (None, ONE, "X: got None, expected a list of sequences"),
    ([], [], "X: got no sequences, expected at least one"),
    (X, None, "y[0]: got None, expected labels, or a document that has segments"),
    (X, "abc", "y: got 'abc', expected a list with the labels of each sequence"),
    (X, 5, "y: got 5, expected a list with the labels of each sequence"),
    (X, Y[:-1], "X, y: got only 19 in y and more in X"),
    (X[:-1], Y, "X, y: got only 19 in X and more in y"),
    (X, [*Y[:-1], None], "y[19]: got None, expected labels"),
    (X, [*Y[:-1], "O"], "y[19]: got 'O', expected a list of segments, a list of tags"),
    (X, [*Y[:-1], 7], "y[19]: got 7, expected a list of segments"),
    ([*X[:-1], None], Y, "X[19]: got None, expected a text, tokens"),
    ([*X[:-1], ["a", 3]], Y, "X[19][1]: got 3, expected a string"),
    ([*X[:-1], [1, 2]], Y, "X[19][0]: got 1, expected the attributes of a token"),
    (X, [*Y[:-1], ["O"] * 20], "y[19]: got 20 tags, expected 6, one for each token of its X"),
    (X, [*Y[:-1], ["O", "O", 1, "O", "O", "O"]], "y[19][2]: got 1, expected a tag"),
    (X, [*Y[:-1], [(0, 99, "town")]], "y[19].segments[0]: got (0, 99, 'town'), expected a segment"),
    (X, [*Y[:-1], [(0, 2, "town"), (1, 3, "x")]], "y[19].segments[1]: got (1, 3, 'x')"),
    (X, [*Y[:-1], [(0, 2, 3)]], "y[19].segments[0]: got (0, 2, 3), expected (start, end, label)"),
    (X, [*Y[:-1], Partial(boundaries=[77])], "y[19].boundaries: got 77"),
    (X, [[] for _ in X], "y: got no segment at all, expected some; label at least one"),
    ([["a"], ["b"]], [["B-x"], ["Q-y"]], "y: got 'B-x' (y[0]) and 'Q-y' (y[1])"),
]


@pytest.mark.parametrize(("xs", "ys", "text"), SEQUENCES, ids=range(len(SEQUENCES)))
def test_wrong_sequences(kind: Any, xs: Any, ys: Any, text: str) -> None:
    refused(text, kind([word[0]]).fit, xs, ys)


NUMBERS: list[tuple[Any, Any, str]] = [
    ([np.ones((2, 2)), np.array([[np.nan, 1.0]])], None, "X[1].dense[0, 0]: got nan"),
    ([np.ones((2, 2)), np.array([[np.inf, 1.0]])], None, "X[1].dense[0, 0]: got inf"),
    ([np.ones((2, 2)), np.ones((1, 3))], None, "X[1].dense: got 'shape (1, 3)', expected (1, 2)"),
    ([np.ones((2, 2)), np.ones(3)], None, "X[1].dense: got an array of shape (3,)"),
    ([{"dense": [[1], [2]]}, {"dense": [[1, 2], [3]]}], None, "X[1].dense: got rows of different"),
    ([{"tokens": ["a", "b"], "dense": [[1.0]]}] * 2, None, "X[0].dense: got 1 of them, expected 2"),
    ([np.ones((2, 2)), ["a"]], [dense[0]], "X[1].dense: got None, expected an array"),
    ([[{"a": 1.0}], [{"a": np.nan}]], None, "X[1]: attributes[0]['a']: got nan"),
    ([[{"a": 1.0}], [{"a": np.inf}]], None, "X[1]: attributes[0]['a']: got inf"),
    ([[{"a": 1.0}], [{"a": 10**400}]], None, "X[1]: attributes[0]['a']: got 1000"),
    ([[["a"]], [["b"], "c"]], None, "X[1][0]: got ['b'], expected a string"),
    ([[["a"]], ["a"]], [attributes[0]], "X[1].attributes: got None, expected a list"),
    ([["a"], ["b"]], [column("pos")[0]], "X[0]: columns['pos']: got no such column"),
]


@pytest.mark.parametrize(("xs", "features", "text"), NUMBERS, ids=range(len(NUMBERS)))
def test_wrong_numbers(kind: Any, xs: Any, features: Any, text: str) -> None:
    refused(text, kind(features).fit, xs, ONE)


@pytest.mark.parametrize("learner", ["lbfgs", "sgd"])
@pytest.mark.parametrize("size", [1e160, 1e300])
def test_values_that_are_too_large(kind: Any, learner: str, size: float) -> None:
    xs = [[{"n": size if i in (4, 5) else 1.0}, {"n": 0.5}] for i in range(7)]
    model = kind([attributes[0]], learner=learner)
    refused("X[4]: got values that are too large", model.fit, xs, [[(0, 1, "a")]] * 7)


def test_what_comes_after_features_were_chosen_is_not_ignored(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("model", "feature_checks"):
        monkeypatch.setattr(f"caesura.models.{module}.CHUNK", 3)
    words: Any = ["a", "b"]
    forms: dict[str, Any] = {
        "attributes": {"tokens": words, "attributes": [["x"], ["y"]]},
        "dense": {"tokens": words, "dense": np.ones((2, 2))},
    }
    ys = [[(0, 1, "p"), (1, 2, "q")]] * 5
    for name, form in forms.items():
        text = f"X[3]: got {name}, expected only what the first 3 have, by which features were"
        refused(text, kind().fit, [words, words, words, form, words], ys)
        assert kind([word[0]]).fit([*[words] * 3, form, words], ys).labels_ == ["p", "q"]
    bare = [["x"], ["y"]], [["x"], ["z"]]
    xs: list[Any] = [*bare, bare[0], {"tokens": words, "attributes": bare[0]}, bare[1]]
    refused("X[3]: got words, expected only what", kind().fit, xs, ys)
    empty = Document((), attributes=[])
    assert kind().fit([*bare, bare[0], empty, bare[1]], [*ys[:3], [], ys[0]]).labels_ == ["p", "q"]
    assert kind().fit([xs[3], *xs[:4]], ys).labels_ == ["p", "q"]


def test_explain_calls_its_sequence_x(model: Any) -> None:
    refused("x: got attributes without words", model.explain, [["w=a"], ["w=b"]])
    with pytest.raises(Impossible, match=r"^x: no segmentation is possible"):
        model.explain(
            X[0],
            {
                "forbidden": [
                    (t, u, y)
                    for t in range(len(X[0]))
                    for u in range(t + 1, len(X[0]) + 1)
                    for y in [*model.labels_, "O"]
                ]
            },
        )


def test_generators_may_be_of_different_lengths(kind: Any) -> None:
    fit = kind([word[0]]).fit
    refused("X, y: got only 19 in y and more in X", fit, iter(X), (y for y in Y[:-1]))


def test_errors_of_long_data_count_from_the_start(model: Any, kind: Any) -> None:
    refused("X[1500]: got None", model.predict, [*[["a"]] * 1500, None])
    refused("y[1500]: got 2 tags", kind().fit, [["a"]] * 1501, [*[["O"]] * 1500, ["O", "O"]])
    bags = [*[[["a"]]] * 1500, [[3]]]
    labels = [*[[(0, 1, "x")]] * 1500, []]
    refused("X[1500]", kind().fit, bags, labels)


def test_wrong_weights_and_development_data(kind: Any) -> None:
    fit = kind([word[0]]).fit
    for wrong in ([1.0], np.full(20, np.nan), [-1.0] * 20, ["a"] * 20, np.ones((20, 2))):
        refused("sample_weight: got", fit, X, Y, sample_weight=wrong)
    refused("X_dev, y_dev: got only 19 in y_dev", fit, X, Y, X, Y[:-1])
    refused("y_dev[0]: got None", fit, X, Y, X)
    refused("X_dev[0]: got None", fit, X, Y, [None], [[]])
    refused("X_dev: got 'a', expected a list of sequences", fit, X, Y, "a", [[]])
    refused("X_dev: got None with y_dev", fit, X, Y, None, Y)
    refused("y_dev[0]: got Partial(", fit, X, Y, X[:1], [Partial()])
    refused("callbacks: got 3, expected functions", fit, X, Y, callbacks=[3])
    refused("checkpoint: got", fit, X, Y, checkpoint="/no/such/folder/run")


def test_a_wrong_fit_leaves_the_model_as_it_was(model: Any) -> None:
    before = model.predict(X)
    refused("y[19]", model.fit, X, [*Y[:-1], None])
    assert model.predict(X) == before
    model.set_params(warm_start=True)
    refused("y[19]", model.fit, [*X[:-1], ["new", "words"]], [*Y[:-1], [(0, 9, "x")]])
    assert model.predict(X) == before
    model.set_params(warm_start=False)


# -- parameters ------------------------------------------------------------------------------------

PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"c1": -1}, "c1: got -1, expected a number, 0 or more"),
    ({"c2": float("nan")}, "c2: got nan"),
    ({"c2": "1"}, "c2: got '1'"),
    ({"epsilon": -1.0}, "epsilon: got -1.0"),
    ({"min_freq": -1}, "min_freq: got -1"),
    ({"learner": "adam"}, "learner: got 'adam', expected 'lbfgs' or 'sgd' or 'adagrad'"),
    ({"precision": "half"}, "precision: got 'half', expected 'auto' or 'double' or 'mixed'"),
    ({"order": 0}, "order: got 0, expected a whole number, 1 to 255"),
    ({"order": 1.5}, "order: got 1.5"),
    ({"order": "2"}, "order: got '2'"),
    ({"pattern_min_freq": -1}, "pattern_min_freq: got -1, expected a number, 0 or more"),
    ({"pattern_min_freq": "many"}, "pattern_min_freq: got 'many'"),
    ({"patterns": "all"}, "patterns: got 'all', expected None, 'grow', or a list"),
    ({"patterns": 3}, "patterns: got 3, expected None, 'grow', or a list"),
    ({"patterns": [("town", "town")]}, "patterns[0]: got ('town', 'town'), expected 3 labels"),
    ({"patterns": ["town"]}, "patterns: got ['town'], expected a list of patterns"),
    (
        {"patterns": [("town", 1, 2)]},
        "patterns[0]: got ('town', 1, 2), expected labels, which are strings",
    ),
    ({"patterns": [("a", "b", "c")]}, "of the model, which are"),
    ({"memory": 0}, "memory: got 0"),
    ({"max_iterations": -1}, "max_iterations: got -1"),
    ({"learner": "sgd", "batch_size": 0}, "batch_size: got 0"),
    (
        {"learner": "sgd", "penalties": {"word[0]": (1.0, 0.1)}},
        "penalties['word[0]']: got (1.0, 0.1), expected c2, or (0, c2) with sgd; take adagrad",
    ),
    ({"learner": "sgd", "c1": 1.0}, "c1: got 1.0, expected 0 with sgd; take adagrad or lbfgs"),
    ({"n_threads": 0}, "n_threads: got 0"),
    ({"patience": 0}, "patience: got 0"),
    ({"outside": None}, "outside: got None, expected a string"),
    ({"outside_bias": float("inf")}, "outside_bias: got inf, expected a finite number"),
    ({"class_weight": {"planet": 2.0}}, "class_weight: got {'planet': 2.0}, expected positive"),
    ({"class_weight": {"town": 0}}, "class_weight: got {'town': 0}"),
    ({"class_weight": "balanced"}, "class_weight: got 'balanced', expected a dict"),
    ({"penalties": {"lower[0]": 1.0}}, "penalties: got 'lower[0]', expected one of transitions"),
    ({"penalties": {"word[0]": -1}}, "penalties['word[0]']: got -1, expected c2, or (c1, c2)"),
    ({"penalties": {"word[0]": (1, 2, 3)}}, "penalties['word[0]']: got (1, 2, 3)"),
    ({"penalties": [1]}, "penalties: got [1], expected a dict"),
    ({"features": "planets"}, "features: got 'planets', expected citations"),
    ({"features": ["word"]}, "features[0]: got 'word', expected a template"),
    ({"features": 3}, "features: got 3, expected a list of features"),
    ({"features": [word[0], word[0]]}, "features[1]: got word[0], expected each feature once"),
]


@pytest.mark.parametrize(("given", "text"), PARAMETERS, ids=range(len(PARAMETERS)))
def test_wrong_parameters(kind: Any, given: dict[str, Any], text: str) -> None:
    refused(text, kind(**({"features": [word[0]]} | given)).fit, X, Y, X, Y)


def test_wrong_tokenisers(kind: Any) -> None:
    refused("tokeniser: got 'foo'", kind(tokeniser="foo").fit, ["a b"], ONE[:1])


def test_wrong_lengths_and_neighbours() -> None:
    refused(
        "y[0]: got (0, 2, 'street'), expected at most 1 token, as max_length requires; "
        "raise max_length or shorten the segment",
        SemiCRF([word[0]], max_length=1).fit,
        X,
        Y,
    )
    for wrong in (0, "3", True, {"town": 0}, 2.5):
        refused("max_length: got", SemiCRF([word[0]], max_length=wrong).fit, X, Y)  # type: ignore
    refused("None is no bound", SemiCRF([word[0]], max_length=-1).fit, X, Y)
    unknown = SemiCRF([word[0]], max_length={"planet": 2})
    refused("max_length: got 'planet', expected labels of y", unknown.fit, X, Y)
    refused("outside_length: got 2", SemiCRF([word[0]], outside_length=2).fit, X, Y)
    alone = SemiCRF([word[0]], same_label_adjacent=False)
    ys = [*Y, [(0, 1, "town"), (1, 2, "town")]]
    refused("y[20]: got 'town' at 1, right after 'town'", alone.fit, [*X, ["a", "b"]], ys)


def test_bounds_hold_in_prediction() -> None:
    model = SemiCRF([word[0]], max_length={"town": 2, "street": 3}).fit(X, Y)
    found = model.predict([["York"] * 7])[0]
    assert max(segment.length for segment in found) <= 3
    model = SemiCRF([word[0]], same_label_adjacent=False).fit(X, Y)
    for segments in model.predict([["York"] * 7, ["Park"] * 4]):
        for a, b in pairwise(segments):
            assert a.end < b.start or a.label != b.label


def test_chains_take_features_of_tokens_only() -> None:
    for feature in (Length(exact=2), first(word[0]), last(word[0]), within(word[0] & word[1])):
        model = ChainCRF([*window(word, -1, 1), feature])
        refused("expected features of tokens and edges; use SemiCRF", model.fit, X, Y)


def test_wrong_schemes() -> None:
    refused("scheme: got 'BOO', expected 'auto', None, or one of plain, BIO", *scheme("BOO"))
    refused("forbid_invalid: got 'x'", ChainCRF(forbid_invalid="x").fit, X, Y)
    touching = [[(0, 1, "x"), (1, 2, "x")]]
    refused(
        "y[0].segments[1]: got (1, 2, 'x')", ChainCRF(scheme="plain").fit, [["a", "b"]], touching
    )


def scheme(name: str) -> tuple[Any, Any, Any]:
    return ChainCRF(scheme=name).fit, X, Y


def test_ill_formed_tags() -> None:
    """They are kept as they are, unless they are forbidden in training too: then they are read."""
    xs, ys = [["a", "b", "a"]], [["B-x", "O", "I-x"]]
    assert set(ChainCRF([word[0]]).fit(xs, ys)._known.structure.states) == {"B-x", "I-x", "O"}
    model = ChainCRF([word[0]], forbid_invalid="always", c2=0.01).fit(xs, ys)
    assert model._known.structure.states == ("B-x", "O")
    assert model.predict(xs) == [[(0, 1, "x"), (2, 3, "x")]]


# -- questions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    ["predict", "predict_tags", "predict_marginals", "predict_confident", "sample", "uncertainty"],
)
def test_questions_need_a_fitted_model_and_a_list(kind: Any, model: Any, question: str) -> None:
    refused(f"{kind.__name__}: not fitted yet; call fit(X, y) first", getattr(kind(), question), X)
    for one in ("a b", Document(("a",)), {"tokens": ["a"]}, np.ones((2, 2)), None, 3):
        refused("expected a list of sequences; put", getattr(model, question), one)
    refused("X[1]: got None", getattr(model, question), [["a"], None])


def test_other_questions_need_a_fitted_model(kind: Any, tmp_path: Path) -> None:
    fresh = kind()
    for call in (
        lambda: fresh.potentials(X[0]),
        lambda: fresh.explain(X[0]),
        lambda: fresh.top_features(),
        lambda: fresh.score(X, Y),
        lambda: fresh.calibrate(X, Y),
        lambda: fresh.predict_n_best(X, 2),
        lambda: fresh.save(tmp_path / "model"),
    ):
        refused("not fitted yet", call)
    assert not list(tmp_path.iterdir())


def test_wrong_questions(model: Any) -> None:
    for n in (0, -1, "2", 1.5):
        refused("n: got", model.predict_n_best, X, n)
        refused("n: got", model.sample, X, n)
    refused("scheme: got 'foo'", model.predict_tags, X, "foo")
    refused("method: got 'platt', expected 'isotonic'", model.calibrate, X, Y, "platt")
    refused("by: got 'x', expected 'entropy'", model.uncertainty, X, by="x")
    refused("got both, expected one", model.predict_confident, X, precision=0.9, threshold=0.5)
    refused("x: got None, expected a text", model.explain, None)


def test_labels_that_the_model_does_not_know(model: Any) -> None:
    ys: list[Any] = [*Y[:-1], [(0, 1, "planet")]]
    expected = "y[19]: got 'planet', expected one of the labels number, street, town"
    refused(expected, model.calibrate, X, ys)
    assert model.score(X, ys) == caesura.evaluation.segment_counts(ys, model.predict(X)).f1
    for question in (model.score, model.calibrate):
        refused("y[19]: got Partial(", question, X, [*Y[:-1], Partial()])
        refused("y[0]: got None", question, X)
    refused("no predicted segments", model.calibrate, [[]], [[]])
    assert model.score([], []) == 0.0


def divides(document: Document, start: int, end: int) -> str:
    """Fail at one span of one document."""
    return str(1 // (document.tokens[start:end] != ("Zero", "Lane")))


@pytest.mark.parametrize(
    ("mine", "text"),
    [
        (divides, "raised ZeroDivisionError: integer division or modulo by zero; correct the"),
        (lambda d, s, e: {"n": math.nan if d.tokens[s] == "Zero" else 1.0}, "['n']: got nan"),
        (lambda d, s, e: {"n": math.inf if d.tokens[s] == "Zero" else 1.0}, "['n']: got inf"),
        (lambda d, s, e: {"n": None if d.tokens[s] == "Zero" else 1.0}, "['n']: got None"),
        (lambda d, s, e: 3.5 if d.tokens[s] == "Zero" else None, ": got 3.5, expected strings"),
        (lambda d, s, e: [3] if d.tokens[s] == "Zero" else None, ": got 3, expected strings"),
        (lambda d, s, e: (str(1 // (t != "Zero")) for t in d.tokens[s:e]), "raised ZeroDivision"),
    ],
)
def test_segment_functions_that_fail_say_where(mine: Any, text: str) -> None:
    feature = SegmentFunction(mine, 2, name="mine")
    xs = [*X[:4], ["Zero", "Lane"]]
    end = 2 if mine is divides else 1
    refused(
        f"features: mine(document, 0, {end}) of X[4]{' ' * text.startswith('raised')}{text}",
        SemiCRF([word[0], feature]).fit,
        xs,
        [*Y[:4], [(0, 2, "street")]],
    )
    model = SemiCRF([word[0], feature], max_iterations=2).fit(X[:4], Y[:4])
    refused(f"features: mine(document, 0, {end}) of X[1500]", model.predict, [X[0]] * 1500 + xs[4:])
    refused(f"(document, 0, {end}) of X_dev[4]", model.fit, X, Y, xs, [*Y[:4], []])
    with pytest.raises(InvalidInput) as error:
        model.predict(xs)
    assert ("raised" in text) == isinstance(error.value.__cause__, ZeroDivisionError)


def test_token_functions_that_fail_say_where() -> None:
    def fails(document: Document, t: int) -> str:
        return str(1 // (document.tokens[t] != "Zero"))

    model = ChainCRF([word[0], function(fails)[0]], max_iterations=2).fit(X[:4], Y[:4])
    text = "X[1]: features: fails(document, 2) raised ZeroDivisionError"
    refused(text, model.predict, [X[0], ["a", "b", "Zero"]])


# -- what a hostile user found ---------------------------------------------------------------------


def test_the_outside_label_stays_what_it_was(kind: Any) -> None:
    model = kind([word[0]], max_iterations=3).fit(X, Y)
    expected = model.predict(X)
    for ask in (model.predict, model.predict_confident, lambda xs: model.save("unused")):
        model.set_params(outside="X")
        refused("outside: got 'X', expected 'O', as in fit; fit again to change it", ask, X)
    refused("outside: got 'X'", model.set_params(warm_start=True).fit, X, Y)
    assert model.set_params(outside="O").predict(X) == expected
    model.set_params(outside="X", warm_start=False).fit(X, Y).predict(X)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_threads", [0, 10**30, "a", 2.5, True]),
        ("tokeniser", [3, "zz", {}, ["words"], None]),
        ("random_state", [-1, None, 1.5, "a"]),
        ("features", [{word[0]}, iter([word[0]])]),
    ],
)
def test_parameters_are_checked_before_they_are_needed(
    kind: Any, name: str, values: list[Any]
) -> None:
    for value in values:
        refused(f"{name}: got ", kind(**{"features": [word[0]], name: value}).fit, X, Y)


def test_threads_are_checked_when_used(model: Any) -> None:
    try:
        refused("n_threads: got", model.set_params(n_threads=10**30).predict, X)
    finally:
        model.set_params(n_threads=None)


def test_runs_are_checked_before_they_begin(kind: Any, tmp_path: Path) -> None:
    fit = kind([word[0]], max_iterations=3).fit
    for callbacks in (3, None, len, [None], "ab"):
        refused("callbacks: got ", fit, X, Y, callbacks=callbacks)
    for checkpoint in (3, "", tmp_path, b"run", ["run"], tmp_path / "no" / "run"):
        refused("checkpoint: got ", fit, X, Y, checkpoint=checkpoint)
    none: list[Any] = [([], []), ([[]], [[]]), (X[:2], [[], []])]
    for dev in none:
        refused("y_dev: got no segment at all, expected some", fit, X, Y, *dev)
    refused("not all 0", fit, X, Y, sample_weight=np.zeros(len(X)))
    seen: list[Any] = []
    fit(X, Y, callbacks=(one for one in [seen.append]))
    assert len(seen) == 3


def test_as_many_paths_as_there_are(model: Any) -> None:
    few = model.predict_n_best([["York"]], 10**30)[0]
    assert len(few) == len(model.predict_n_best([["York"]], 50)[0]) < 50
    refused("n: got", model.sample, [["York"]], 10**30)


def test_arrays_as_parameters_can_be_shown(kind: Any) -> None:
    assert "features=array" in repr(kind(features=np.zeros(3)))


@pytest.mark.parametrize("make", [caesura.ChainCRF, caesura.SemiCRF])
def test_sparse_arrays_are_sequences(make: Any) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.5]])
    X = [sparse.csr_matrix(rows), sparse.coo_array(rows[::-1])] * 3
    y = [[(0, 1, "a"), (1, 3, "b")], [(0, 2, "b"), (2, 3, "a")]] * 3
    model = make(c2=0.01).fit(X, y)
    assert [list(map(tuple, one)) for one in model.predict(X[:2])] == y[:2]
    dicts = [[{str(j): v for j, v in enumerate(row) if v} for row in rows]]
    assert model.predict(dicts) == model.predict(X[:1])
    assert model.explain(X[0])
    with pytest.raises(caesura.InvalidInput, match=r"put a single sequence into a list: \[x\]"):
        model.predict(X[0])
    with pytest.raises(caesura.InvalidInput, match="pass one at a time"):
        model.explain(X)


def test_errors_say_what_to_do_next() -> None:
    token = [{"w=a": 1.0}, {"w=b": 1.0}]
    chain = ChainCRF().fit([token], [["B-X", "O"]])
    with pytest.raises(InvalidInput, match=r"X\[0\]: .* put a single sequence into a list: \[x\]"):
        chain.predict(token)
    with pytest.raises(InvalidInput, match=r"n: got .* at least 1; arguments may be swapped"):
        chain.predict_n_best(3, [token] * 9)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"gazetteers: got Lexicon.*put it into a list"):
        preset("addresses", gazetteers=Lexicon("cities", ["Reno"]))
    frame = pandas.DataFrame({"pulse": ["61", "12O"], "label": [1, 2]})
    wrong = r"of which 'pulse' hold no numbers \('12O' in row 1\)"
    with pytest.raises(InvalidInput, match=wrong):
        SemiCRF().fit([frame], [["x", "x"]])
    for numbers in (
        frame[:1],
        polars.DataFrame({"pulse": ["61"]}),
        pyarrow.table({"pulse": ["6"]}),
    ):
        with pytest.raises(InvalidInput, match=r"no numbers .text that can be read as numbers"):
            SemiCRF().fit([numbers], [["x"]])
    with pytest.raises(InvalidInput, match="pass a list with a frame for each recording"):
        SemiCRF().fit(frame, [["x", "x"]])
    with pytest.raises(InvalidInput, match=r"documents\[0\]: got a pandas DataFrame"):
        html_report([frame], [[(0, 1, "x")]], [[(0, 1, "x")]])
    with pytest.raises(InvalidInput, match="for segments of numbers, call predict_confident"):
        SemiCRF().fit([np.eye(2)], [["x", "y"]]).extract([np.eye(2)])


def test_files_that_do_not_exist_get_a_note(tmp_path: Path) -> None:
    (tmp_path / "train.csv").touch()
    model = SemiCRF().fit(["a"], [[(0, 1, "x")]])
    for ask, note in (
        (lambda: caesura.corpora.read(tmp_path / "train1.csv"), "did you mean 'train.csv'"),
        (lambda: caesura.corpora.read(tmp_path / "train.cs", "csv"), "did you mean 'train.csv'"),
        (lambda: caesura.load(tmp_path / "xyz"), "has no such file: correct the path"),
        (lambda: caesura.load(tmp_path / "no" / "a"), "there is no folder"),
        (lambda: model.save(tmp_path / "no" / "a"), "there is no folder .*: create it"),
    ):
        with pytest.raises(FileNotFoundError, match="No such file or directory") as caught:
            ask()
        assert re.search(note, caught.value.__notes__[0])


def test_folders_that_cannot_be_listed_hide_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(FileNotFoundError, match="No such file or directory") as caught:
        caesura.load(tmp_path / "xyz")
    assert "has no such file: correct the path" in caught.value.__notes__[0]
