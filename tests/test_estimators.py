"""Models as scikit-learn's estimators, as pickles, and from several threads."""

from __future__ import annotations

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted
from toys import addresses, bags_of, numbers_of

from caesura import ChainCRF, Document, InvalidInput, SemiCRF
from caesura.features import Length, Lexicon, Text, edge, function, in_lexicon, lower, shape, word

X, Y = addresses(30, seed=1)
X_NEW, Y_NEW = addresses(20, seed=2)
KINDS = [SemiCRF, ChainCRF]


def size(document: Document, t: int) -> str:
    return str(len(document.tokens[t]))


def features(kind: Any) -> list[Any]:
    towns = Lexicon("towns", ["Leeds", "York"])
    shared = [lower[0], lower[-1], shape[0], edge(word[0]), function(size)[0], in_lexicon(towns)[0]]
    return [*shared, Length(exact=3), Text()] if kind is SemiCRF else shared


# -- scikit-learn ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_parameters(kind: Any) -> None:
    model = kind(c2=0.5, outside_bias=1.0)
    assert repr(model) == f"{kind.__name__}(outside_bias=1.0, c2=0.5)"
    assert model.get_params()["c2"] == 0.5
    assert set(model.get_params()) == set(vars(model))
    assert model.set_params(c1=2.0) is model
    assert model.c1 == 2.0
    with pytest.raises(InvalidInput, match=r"parameter: got 'c3', expected one of .*c2"):
        model.set_params(c3=1.0)
    with pytest.raises(TypeError):
        kind(c3=1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_clone(kind: Any) -> None:
    chosen = features(kind)
    model = kind(chosen, c2=0.3, class_weight={"town": 2.0}, penalties={"transitions": 0.1})
    twin = clone(model.fit(X, Y))
    assert twin.get_params().keys() == model.get_params().keys()
    assert repr(model) == f"<fitted {twin!r}: 3 labels, {len(model.weights_)} weights>"
    assert repr(twin).startswith(f"{kind.__name__}(features=[lower[0], ")
    many = kind([word[t] for t in range(-99, 99)], c2=0.5)
    assert len(str(many)) < 600 < len(repr(many))
    assert str(many).endswith("…, c2=0.5)")
    assert not twin.__sklearn_is_fitted__()
    check_is_fitted(model)
    assert np.array_equal(twin.fit(X, Y)._known.w, model._known.w)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["tokens", "bags", "dense"])
def test_search_and_cross_validation(kind: Any, form: str) -> None:
    make: Any = {"tokens": list, "bags": bags_of, "dense": numbers_of}[form]
    xs = [make(x) for x in X]
    model = kind([lower[0]] if form == "tokens" else None, n_threads=1, max_iterations=15)
    search = GridSearchCV(model, {"c2": [0.1, 100.0]}, cv=3, error_score="raise").fit(xs, Y)
    assert search.best_params_ == {"c2": 0.1}
    assert search.best_score_ > 0.5
    assert search.predict(xs[:3]) == search.best_estimator_.predict(xs[:3])
    scores = cross_val_score(model, xs, Y, cv=KFold(3), error_score="raise")
    assert scores.shape == (3,)
    assert scores.min() > 0.4


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_that_a_fold_lacks_is_missed(kind: Any) -> None:
    ys = [*Y[:-1], [(0, 1, "planet")]]
    scores = cross_val_score(kind([lower[0]], max_iterations=5), X, ys, cv=KFold(3))
    assert np.isfinite(scores).all()


def test_search_in_several_threads() -> None:
    search = GridSearchCV(SemiCRF([lower[0]], n_threads=1), {"c2": [0.1, 1.0]}, cv=2, n_jobs=2)
    with joblib.parallel_backend("threading"):
        search.fit(X, Y)
    assert search.best_score_ > 0.8


def test_the_end_of_a_pipeline() -> None:
    steps = [("same", FunctionTransformer()), ("model", SemiCRF([lower[0]]))]
    model = Pipeline(steps).fit(X, Y)
    assert model.predict(X) == SemiCRF([lower[0]]).fit(X, Y).predict(X)
    assert model.set_params(model__c2=0.1).fit(X, Y).score(X, Y) > 0.9


# -- pickles ---------------------------------------------------------------------------------------


def ways(model: Any) -> list[Any]:
    """Copies of a model, made in every usual way."""
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    protocols = range(2, pickle.HIGHEST_PROTOCOL + 1)
    copies = [pickle.loads(pickle.dumps(model, protocol)) for protocol in protocols]
    return [*copies, copy.deepcopy(model), copy.copy(model), joblib.load(buffer)]


@pytest.mark.parametrize("kind", KINDS)
def test_pickles_predict_the_same(kind: Any) -> None:
    model = kind(features(kind), c2=0.2, outside_bias=0.3).fit(X, Y)
    model.calibrate(X_NEW, Y_NEW)
    for twin in ways(model):
        assert type(twin) is kind
        assert twin.get_params().keys() == model.get_params().keys()
        assert repr(twin) == repr(model)
        assert twin.predict(X_NEW) == model.predict(X_NEW)
        assert (twin.labels_, twin.status_) == (model.labels_, model.status_)
        assert twin.history_ == model.history_
        assert twin.features_ == model.features_
        for a, b in zip(twin.predict_confident(X_NEW), model.predict_confident(X_NEW), strict=True):
            assert [one.probability for one in a] == pytest.approx([one.probability for one in b])
            assert all(one.calibrated for one in a)
        assert twin.fit(X, Y).score(X, Y) == model.score(X, Y)


def test_models_that_are_not_fitted_are_pickled_too() -> None:
    for twin in ways(SemiCRF([lower[0]], c2=0.7)):
        assert repr(twin) == "SemiCRF(features=[lower[0]], c2=0.7)"
        with pytest.raises(InvalidInput, match="not fitted yet"):
            twin.predict(X)


def test_pickles_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    pickle.loads(pickle.dumps(SemiCRF([lower[0]]).fit(X, Y)))
    assert list(tmp_path.iterdir()) == []


def test_a_pickle_goes_on_learning() -> None:
    model = SemiCRF([lower[0]], c2=0.2, warm_start=True, max_iterations=5).fit(X, Y)
    twin = pickle.loads(pickle.dumps(model))
    before = model.history_[-1].objective
    assert twin.fit(X, Y).history_[0].objective < before


# -- threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_several_threads_may_ask_one_model(kind: Any) -> None:
    model = kind(features(kind), c2=0.2, n_threads=1, outside_bias=0.1).fit(X, Y)
    rules = {"boundaries": [1]}
    questions: list[Any] = [
        lambda x: model.predict([x]),
        lambda x: model.predict([x], rules) if len(x) > 1 else [],
        lambda x: model.predict_n_best([x], 3),
        lambda x: model.predict_confident([x]),
        lambda x: model.explain(x),
        lambda x: model.predict_tags([x], None),
    ]
    asked = [(question, x) for x in [*X_NEW, *X] for question in questions]
    expected = [question(x) for question, x in asked]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda pair: pair[0](pair[1]), asked))
    assert found == expected
