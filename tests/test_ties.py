"""Segmentations of equal score have an order that depends on their labels and starts alone."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from oracle import FAST, models
from test_engine import possible

import caesura
from caesura import ChainCRF, Potentials, SemiCRF
from caesura.features import Length, edge, history, word


def with_ties(p: Potentials) -> Potentials:
    """Round all scores to -1, 0 and 1, so that sums are exact and many of them are equal."""

    def rounded(values: Any) -> Any:
        return np.where(np.isneginf(values), values, np.clip(np.round(values / 3), -1, 1))

    for array in (
        p.emission,
        p.transition,
        p.start,
        p.end,
        *([] if p._spans is None else [p.spans]),
    ):
        array[...] = rounded(array)
    p._added = [(*chunk[:3], rounded(chunk[3]), chunk[4]) for chunk in p._added]
    p._edges = [(*item[:3], float(rounded(item[3]))) for item in p._edges]
    p._patterns = [(item[0], float(rounded(item[1])), *item[2:]) for item in p._patterns]
    p._problem = None
    return p


@given(models(min_length=1).map(with_ties), st.integers(1, 40))
def test_best_and_n_best_follow_the_order(p: Potentials, n: int) -> None:
    expected = possible(p).n_best(n)
    for method in FAST:
        best = caesura.viterbi(p, method=method)
        assert (best.segments, best.score) == expected[0]
        ranked = caesura.n_best(p, n, method=method)
        assert [(path.segments, path.score) for path in ranked] == expected


@given(models(min_length=1).map(with_ties), st.data())
def test_more_states_do_not_change_the_answer(p: Potentials, data: st.DataObject) -> None:
    possible(p)
    more = p.copy()
    label = st.integers(0, len(p.labels) - 1)
    for labels in data.draw(st.lists(st.lists(label, min_size=2, max_size=4), max_size=3)):
        more.add_pattern(labels, 0.0)
    for method in FAST:
        assert caesura.viterbi(more, method=method) == caesura.viterbi(p, method=method)
        assert caesura.n_best(more, 9, method=method) == caesura.n_best(p, 9, method=method)


def test_the_order_in_words() -> None:
    p = Potentials(2, ["b", "a"])
    assert [[tuple(s) for s in path.segments] for path in caesura.n_best(p, 6)] == [
        [(0, 1, "b"), (1, 2, "b")],  # the first label, the latest start
        [(0, 1, "a"), (1, 2, "b")],
        [(0, 2, "b")],
        [(0, 1, "b"), (1, 2, "a")],
        [(0, 1, "a"), (1, 2, "a")],
        [(0, 2, "a")],
    ]


# -- models ------------------------------------------------------------------------------------

X = [["a", "b", "a"], ["b", "c"], ["c", "a", "b"]]
Y = [
    [(0, 1, "P"), (1, 3, "Q")],
    [(0, 2, "P")],
    [(0, 1, "Q"), (1, 2, "P"), (2, 3, "Q")],
]
EVERY = [list(tokens) for tokens in itertools.product("abc", repeat=4)]  # 81


def same_everywhere(model: Any, folder: Path) -> None:
    """The fitted model, its file and its pickle predict alike, to the last digit."""
    model.save(folder / "model")
    for other in (caesura.load(folder / "model"), pickle.loads(pickle.dumps(model))):
        assert other.predict(EVERY) == model.predict(EVERY)
        assert other.predict_n_best(EVERY, 3) == model.predict_n_best(EVERY, 3)
        for x in EVERY[::9]:
            mine, its = model.potentials(x), other.potentials(x)
            assert caesura.log_partition(mine) == caesura.log_partition(its)


def test_saving_keeps_predictions_on_ties(tmp_path: Path) -> None:
    features = [word[0], history(Length(exact=2), 1)]
    model = SemiCRF(features, c1=0.5, c2=0.01, max_iterations=20, verbose=False).fit(X, Y)
    same_everywhere(model, tmp_path)
    trained = SemiCRF(features, c1=0.0, c2=0.01, max_iterations=1, verbose=False).fit(X, Y)
    assert model.n_features_ == trained.n_features_  # weights of zero are counted too


@pytest.mark.parametrize("c1", [0.2, 0.5, 2.0])
@pytest.mark.parametrize(
    ("kind", "features", "options"),
    [
        (SemiCRF, [word[0], edge(word[0])], {"order": 2}),
        (SemiCRF, [word[0], Length(exact=3)], {"max_length": 2}),
        (SemiCRF, [word[0], word[-1]], {"order": 3}),
        (ChainCRF, [word[0], word[-1], edge(word[0])], {}),
        (ChainCRF, [word[0]], {"order": 2, "scheme": "BILOU"}),
    ],
)
def test_files_hold_the_model_that_was_fitted(
    kind: Any, features: list[Any], options: dict[str, Any], c1: float, tmp_path: Path
) -> None:
    model = kind(features, c1=c1, c2=0.0, max_iterations=15, verbose=False, **options)
    same_everywhere(model.fit(X, Y), tmp_path)


def test_answers_do_not_depend_on_the_batch() -> None:
    features = [word[k] for k in range(-2, 3)]
    model = ChainCRF(features, c1=0.05, c2=0.01, verbose=False).fit(X, Y)
    assert model.predict(EVERY) == [model.predict([x])[0] for x in EVERY]


@given(
    st.sampled_from([SemiCRF, ChainCRF]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([None, 2]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=40)
def test_fast_kernels_follow_the_order(
    kind: Any, order: int, max_length: int | None, seed: int
) -> None:
    features = [word[0], edge(word[0]), *([history(word[0], 2)] if order > 1 else [])]
    options: dict[str, Any] = {"order": order}
    if kind is SemiCRF:
        options["max_length"] = max_length
        features.append(Length(exact=3))
    model = kind(features, **options)
    training = model._training(model._read(X, Y, None), None, None)
    weights = np.random.default_rng(seed).integers(-1, 2, len(training.parameters))
    model._set_fitted(training.fitted(weights * (weights.size % 2 + 0.5)))
    best = [caesura.viterbi(model.potentials(x)).segments for x in EVERY]
    assert model.predict(EVERY) == [model._named(segments) for segments in best]


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_explain_explains_what_predict_answers(kind: Any, order: int, seed: int) -> None:
    """A penalty c1 leaves few weights, so that many segmentations have the same score."""
    rng = np.random.default_rng(seed)
    words = [list(rng.choice(list("abc"), size=4)) for _ in range(6)]
    gold = [[(0, 1, "A"), (1, 3, "B")] if x[0] == "a" else [(1, 2, "A")] for x in words]
    model = kind([word[0], edge(word[0])], order=order, c1=0.5, c2=0.0, max_iterations=30)
    model.fit(words, gold)
    for x in itertools.product("abcd", repeat=3):
        [answer] = model.predict([list(x)])
        why = model.explain(list(x))
        assert [one.segment for one in why] == answer
        assert all(one.margin >= -1e-9 for one in why)
        assert [one.segment for one in model.predict_confident([list(x)])[0]] == answer
