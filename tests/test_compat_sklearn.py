"""What users of sklearn-crfsuite and scikit-learn rely on, and what `CRF` can do beside it."""

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn_crfsuite
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.utils.validation import check_is_fitted

import caesura
from caesura import Impossible, InvalidInput, from_tags, to_tags
from caesura.compat import CRF, BaseTrainer, Trainer, metrics, scorers, seqeval
from caesura.compat.arrays import sequences
from caesura.demo import names
from caesura.errors import NotFitted

TRAIN, TEST = names(60, seed=1), names(60, seed=2)


def attributes(document: Any) -> list[dict[str, str]]:
    return [{"word": word, "end": word[-2:]} for word in document.tokens]


def tags(document: Any) -> list[str]:
    return to_tags(document.segments, "BIO", len(document))


X, X_TEST = [attributes(d) for d in TRAIN], [attributes(d) for d in TEST]
Y, Y_TEST = [tags(d) for d in TRAIN], [tags(d) for d in TEST]


# -- scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [3, KFold(60)])  # 60: every fold is a single sequence
def test_cross_val_predict(cv: Any) -> None:
    few = 60 if cv == 3 else 12
    cv = cv if cv == 3 else KFold(few)
    segments = [d.segments for d in TRAIN][:few]
    tokens = [list(d.tokens) for d in TRAIN][:few]
    chosen: list[tuple[Any, Any, Any]] = [
        (CRF(max_iterations=5), X[:few], Y[:few]),
        (caesura.ChainCRF(max_iterations=5), tokens, Y[:few]),
        (caesura.SemiCRF(max_iterations=5), tokens, segments),
    ]
    for model, given, gold in chosen:
        found = cross_val_predict(model, given, gold, cv=cv)
        assert found.shape == (few,)
        train, test = next(iter(KFold(3 if cv == 3 else few).split(given)))
        alone = clone(model).fit([given[i] for i in train], [gold[i] for i in train])
        expected = alone.predict([given[i] for i in test])
        assert [found[i] for i in test] == list(expected)


def test_predictions_of_models_are_lists() -> None:
    model = caesura.SemiCRF(max_iterations=3).fit(TRAIN)
    for found in (model.predict(TEST[:2]), model.predict(TEST[:2], constraints=[{}, {}])):
        assert isinstance(found, list)
        assert repr(found) == repr(list(found))
        assert np.asarray(found).shape == (2,)
        assert np.array(found, dtype=object, copy=True).tolist() == found


@pytest.mark.parametrize("model", [CRF(), caesura.ChainCRF(), caesura.SemiCRF()])
def test_a_model_that_is_not_fitted_says_so(model: Any) -> None:
    for kind in (NotFittedError, NotFitted, InvalidInput, AttributeError):
        with pytest.raises(kind, match="not fitted yet; call fit") as caught:
            model.predict([["a"]])
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, NotFittedError)
    assert str(again) == str(caught.value)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_without_scikit_learn_nothing_imports_it() -> None:
    code = (
        "import sys, caesura, caesura.compat as c\n"
        "from caesura.compat import metrics\n"
        "model = c.CRF(c2=0.5)\n"
        "try: model.predict([])\n"
        "except AttributeError as error: print(type(error).__mro__[0].__name__)\n"
        "print(len(model._repr_html_() + caesura.SemiCRF(outside='<O>')._repr_html_()) > 0)\n"
        "model.fit([[['a']]], [['x']]).predict([[['a']]])\n"
        "print(metrics.sequence_accuracy_score([['x']], [['x']]), 'sklearn' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "NotFitted",
        "True",
        "1.0 False",
    ]


def test_diagrams_of_scikit_learn_show_our_models() -> None:
    for model in (CRF(c2=0.5), caesura.ChainCRF(c2=0.5)):
        assert type(model).__name__ in GridSearchCV(model, {"c2": [1.0]})._repr_html_()


def test_weights_are_routed_to_fit() -> None:
    weight = np.arange(60.0)
    plain = cross_val_score(CRF(max_iterations=5), X, Y, cv=3)
    given = {"params": {"sample_weight": weight}}
    expected = cross_val_score(CRF(max_iterations=5), X, Y, cv=3, **given)
    assert plain.tolist() != expected.tolist()
    with config_context(enable_metadata_routing=True):
        model = CRF(max_iterations=5).set_fit_request(sample_weight=True)
        assert cross_val_score(model, X, Y, cv=3, **given).tolist() == expected.tolist()
        asks = pickle.loads(pickle.dumps(clone(model))).get_metadata_routing()
        assert asks.fit.requests == {"sample_weight": True}
        with pytest.raises(TypeError, match="sample_weight"):
            cross_val_score(model.set_fit_request(sample_weight=False), X, Y, cv=3, **given)
        with pytest.raises(ValueError, match="sample_weight"):
            cross_val_score(CRF(max_iterations=5), X, Y, cv=3, **given)
        semi = caesura.SemiCRF(max_iterations=3).set_fit_request(sample_weight=True)
        search = GridSearchCV(semi, {"c2": [0.1, 1.0]}, cv=2)
        segments = [d.segments for d in TRAIN]
        tokens = [list(d.tokens) for d in TRAIN]
        assert search.fit(tokens, segments, sample_weight=weight).best_params_


def test_nothing_that_fit_learns_is_there_before() -> None:
    model = CRF(c2=0.5)
    assert set(vars(model)) == set(model.get_params())
    assert model.training_log_ is None
    assert model.classes_ is None
    assert clone(model.fit(X[:3], Y[:3])).training_log_ is None
    assert set(model.classes_ or []) == {tag for one in Y[:3] for tag in one}


# -- arrays, metrics and scorers -----------------------------------------------------------------


def test_arrays_of_sequences_compare_as_theirs_do() -> None:
    same, ragged = [["a", "b"], ["c", "d"]], [["a"], ["c", "d"]]
    for found in (same, ragged):
        made, theirs = sequences(found), np.array(found, dtype=object)
        assert made.shape == (2,)
        assert made.tolist() == list(made) == found
        assert (made == found).all()
        assert not (made != found).any()
        assert ((made == made) == (theirs == theirs)).all()
        assert pickle.loads(pickle.dumps(made)).tolist() == found
    assert (sequences(same) == [["a", "x"], ["c", "d"]]).tolist() == [[True, False], [True, True]]
    assert (sequences(ragged) == [["a"], ["c", "x"]]).tolist() == [True, False]
    assert (sequences([["a", "b"]]) == ["a", "b"]).all()
    assert len(sequences([])) == 0


def test_metrics_are_theirs() -> None:
    found = CRF(max_iterations=5).fit(X, Y).predict(X_TEST)
    theirs = importlib.import_module("sklearn_crfsuite.metrics")
    labels = sorted({tag for one in Y_TEST for tag in one} - {"O"})
    several: dict[str, dict[str, Any]] = {
        "flat_accuracy_score": {},
        "flat_precision_score": {"average": "weighted", "labels": labels, "zero_division": 0},
        "flat_recall_score": {"average": "macro"},
        "flat_f1_score": {"average": None, "labels": labels},
        "flat_fbeta_score": {"beta": 0.5, "average": "micro", "labels": labels},
        "flat_classification_report": {"labels": labels, "digits": 3, "zero_division": 0},
        "sequence_accuracy_score": {},
    }
    assert set(several) == set(metrics.__all__) - set(seqeval.__all__)
    for name, options in several.items():
        ours = getattr(metrics, name)(Y_TEST, found, **options)
        expected = getattr(theirs, name)(Y_TEST, found.tolist(), **options)
        assert np.all(ours == expected), name
    assert metrics.sequence_accuracy_score([], []) == 0
    scores = cross_val_score(CRF(max_iterations=5), X, Y, cv=3, scoring=scorers.sequence_accuracy)
    assert 0 < scores.mean() < 1
    plain = cross_val_score(CRF(max_iterations=5), X, Y, cv=3)
    flat = cross_val_score(CRF(max_iterations=5), X, Y, cv=3, scoring=scorers.flat_accuracy)
    assert flat.tolist() == plain.tolist()


# -- files ---------------------------------------------------------------------------------------


def test_the_file_of_a_model_is_there_when_it_is_asked_for(tmp_path: Path) -> None:
    model = CRF(max_iterations=30)
    assert model.modelfile.name is None
    assert model.modelfile.auto
    expected = model.fit(X, Y).predict(X_TEST).tolist()
    name = model.modelfile.name
    assert str(name).endswith(".crfsuite")
    assert name == model.modelfile.name
    copied = CRF(model_filename=name)  # as clients that store models do
    assert copied.predict(X_TEST).tolist() == expected
    assert (copied.modelfile.auto, copied.modelfile.name) == (False, name)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.modelfile.name not in (None, name)
    theirs = twin.modelfile.name
    model.modelfile.refresh()
    fresh = model.modelfile.name
    assert [os.path.exists(str(one)) for one in (name, fresh)] == [False, True]
    os.remove(str(fresh))  # the model is in memory
    assert model.predict(X_TEST).tolist() == expected
    del twin
    assert not os.path.exists(theirs)
    model.fit(X[:5], Y[:5])
    again = model.modelfile.name
    assert CRF(model_filename=again).predict(X_TEST).tolist() != expected
    model.modelfile.cleanup()
    assert not os.path.exists(str(again))


def test_files_that_users_name_or_keep_stay(tmp_path: Path) -> None:
    path = tmp_path / "named.model"
    model = CRF(model_filename=path, max_iterations=2)
    assert model.modelfile.name == path
    assert model.fit(X, Y).modelfile.name == path
    model.modelfile.cleanup()
    del model
    assert path.exists()
    kept = CRF(keep_tempfiles=True, max_iterations=2).fit(X, Y)
    name = kept.modelfile.name
    kept.modelfile.cleanup()
    del kept
    assert os.path.exists(str(name))
    os.remove(str(name))


def test_older_pickles_are_read() -> None:
    model = CRF(max_iterations=5).fit(X, Y)
    state = model.__getstate__()
    for name in ("warm_start", "keep_best", "forbid_invalid", "_modelfile", "_barred"):
        del state[name]
    older = CRF.__new__(CRF)
    older.__setstate__(state)
    assert older.predict(X_TEST).tolist() == model.predict(X_TEST).tolist()
    assert clone(older).get_params() == model.get_params()
    for name in ("TrainingLog", "LabelScore"):  # what they hold, by the module that it was in
        assert pickle.loads(f"ccaesura.compat.trainer\n{name}\n.".encode()).__name__


# -- trainers of the user's own ------------------------------------------------------------------


class Narrow(Trainer):
    """A trainer with the signature of python-crfsuite's."""

    def __init__(self, algorithm: Any = None, params: Any = None, verbose: bool = True) -> None:
        super().__init__(algorithm, params, verbose)
        self.given = dict(params)

    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:  # type: ignore[override]
        super().append(xseq, yseq, group)


def test_a_trainer_gets_no_argument_that_it_does_not_know() -> None:
    made: list[Narrow] = []

    def make(**options: Any) -> Narrow:
        made.append(Narrow(**options))
        return made[-1]

    model = CRF(c2=0.5, min_freq=2, trainer_cls=make, n_threads=1).fit(X, Y)
    assert made[0].given == {"c2": 0.5, "feature.minfreq": 2}
    assert made[0].n_threads == 1
    assert model.training_log_ is made[0].logparser
    with pytest.raises(InvalidInput, match=r"trainer_cls: got .*Trainer.*, expected a subclass"):
        CRF(trainer_cls=sklearn_crfsuite.trainer.LinePerIterationTrainer).fit(X, Y)
    assert CRF(trainer_cls=BaseTrainer, max_iterations=2).fit(X, Y).classes_


# -- beyond sklearn-crfsuite ---------------------------------------------------------------------


def weights(model: CRF) -> dict[Any, float]:
    assert model.state_features_ is not None
    assert model.transition_features_ is not None
    return {**model.state_features_, **model.transition_features_}


def loss(model: CRF) -> float:
    assert model.training_log_ is not None
    assert model.training_log_.last_iteration is not None
    return float(model.training_log_.last_iteration["loss"])


def test_warm_start_goes_on_and_ends_at_the_same_optimum(tmp_path: Path) -> None:
    tight: dict[str, Any] = {"c2": 0.1, "epsilon": 1e-8, "delta": 1e-12}
    path = tmp_path / "model"
    model = CRF(warm_start=True, model_filename=path, **tight).fit(X, Y)
    assert model.training_log_ is not None
    first = len(model.training_log_.iterations)
    assert len(model.fit(X, Y).training_log_.iterations) < first / 3  # type: ignore[union-attr]
    # More sequences bring attributes and labels that were not known, also to a model from a file.
    more, gold = [*X, *X_TEST], [*Y, ["B-NEW"] * len(Y_TEST[0]), *Y_TEST[1:]]
    from_file = CRF(warm_start=True, model_filename=path, **tight).fit(more, gold)
    fresh = CRF(**tight).fit(more, gold)
    for found in (model.fit(more, gold), from_file):
        assert loss(found) == pytest.approx(loss(fresh), rel=1e-7)
        assert set(found.classes_ or []) == set(fresh.classes_ or [])
        ours, theirs = weights(found), weights(fresh)
        assert all(ours.get(key, 0.0) == pytest.approx(v, abs=1e-3) for key, v in theirs.items())
    cold = CRF(warm_start=False, **tight).fit(X, Y).fit(X[:3], Y[:3])
    assert weights(cold) == weights(CRF(**tight).fit(X[:3], Y[:3]))


def test_warm_start_near_stays_near() -> None:
    few = (X_TEST[:5], Y_TEST[:5])
    model = CRF(c2=0.1).fit(X, Y)
    before, known = weights(model), model.score(X, Y)
    near = model.set_params(warm_start="near").fit(*few)
    alone = CRF(c2=0.1).fit(*few)
    assert near.score(*few) == 1.0
    assert known > near.score(X, Y) > alone.score(X, Y) + 0.1
    # Weights of attributes that the new sequences do not have stay exactly as they were.
    seen = {f"{name}:{value}" for x in few[0] for item in x for name, value in item.items()}
    after = weights(near)
    assert all(
        after[key] == pytest.approx(v)
        for key, v in before.items()
        if key[0] not in seen and key in (model.state_features_ or {})
    )
    with pytest.raises(InvalidInput, match="warm_start: got 'far'"):
        CRF(warm_start="far").fit(X, Y)
    trainer = Trainer(verbose=False)
    trainer.append(X[0], Y[0])
    with pytest.raises(InvalidInput, match="call start_from before append"):
        trainer.start_from(near.model_)
    with pytest.raises(InvalidInput, match="model: got a model with features of its own"):
        Trainer(verbose=False).start_from(caesura.ChainCRF().fit([["a"]], [["B-X"]]))


def test_the_best_iteration_on_development_data_is_kept() -> None:
    options: dict[str, Any] = {"c2": 0.001, "max_iterations": 60}
    model = CRF(keep_best=True, **options).fit(X, Y, X_TEST, Y_TEST)
    last = CRF(**options).fit(X, Y, X_TEST, Y_TEST)
    assert model.training_log_ is not None
    assert last.training_log_ is not None
    scores = [one["avg_f1"] for one in model.training_log_.iterations]
    assert scores == [one["avg_f1"] for one in last.training_log_.iterations]
    assert max(scores) > scores[-1]
    f1 = [metrics.flat_f1_score(Y_TEST, m.predict(X_TEST), average="macro") for m in (model, last)]
    assert f1 == pytest.approx([max(scores), scores[-1]])
    assert [p.dev_score for p in model.model_.history_] == scores
    with pytest.raises(InvalidInput, match="keep_best: got True, expected False without X_dev"):
        CRF(keep_best=True).fit(X, Y)


def test_ill_formed_tags_can_be_forbidden() -> None:
    def ill_formed(found: Any) -> int:
        total = 0
        for one in found:
            try:
                from_tags(one, "BIO", repair="error")
            except InvalidInput:
                total += 1
        return total

    model = CRF(c2=0.01).fit(X, Y)
    assert ill_formed(model.predict(X_TEST)) > 0
    free = model.predict_marginals_single(X_TEST[0])
    model.set_params(forbid_invalid=True)
    assert ill_formed(model.predict(X_TEST)) == 0
    assert ill_formed([model.predict_single(x) for x in X_TEST]) == 0
    # The answers are the best of those that are well-formed.
    tagger = model.tagger_
    assert tagger is not None
    for x in X_TEST[:10]:
        ranked = [path for path, _ in tagger.n_best(200, x) if not ill_formed([path])]
        assert model.predict_single(x) == ranked[0]
    assert model.predict_marginals_single(X_TEST[0])[0]["I-PER"] == 0.0 < free[0]["I-PER"]
    assert clone(model).forbid_invalid
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(X_TEST).tolist() == model.predict(X_TEST).tolist()
    with pytest.raises(InvalidInput, match="forbid_invalid: got True, expected False for labels"):
        CRF(forbid_invalid=True).fit([[["a"], ["b"]]], [["x", "y"]]).predict([[["a"]]])
    model = CRF(forbid_invalid=True).fit([[["a"], ["b"], ["b"]]], [["B-X", "I-X", "E-X"]])
    for ask in (model.predict, model.predict_marginals):
        with pytest.raises(Impossible, match=r"X\[1000\]: no segmentation is possible"):
            ask([[["a"], ["b"], ["b"]]] * 1000 + [[["a"]]])
