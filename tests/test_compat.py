"""The interfaces of python-crfsuite and sklearn-crfsuite, against the real ones."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
import sklearn_crfsuite
from pycrfsuite._dumpparser import CRFsuiteDumpParser
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import caesura
from caesura import InvalidInput
from caesura.compat import CRF, ItemSequence, Tagger, Trainer

LABELS = ["B-X", "I-X", "odd one", "O", "é"]
TIGHT = {"epsilon": 1e-10, "delta": 1e-14, "max_iterations": 2000}
Sequences = list[list[Any]]
Tags = list[list[str]]


def data(seed: int, n: int = 30, kind: str = "strings") -> tuple[Sequences, Tags]:
    """Return sequences whose labels depend on their attributes, with noise."""
    rng = np.random.default_rng(seed)
    X: Sequences = []
    y: Tags = []
    for _ in range(n):
        T = int(rng.integers(1, 9))
        words = rng.integers(0, 12, T).tolist()
        X.append([item(words, t, kind, rng) for t in range(T)])
        noise = rng.integers(0, 5, T).tolist()
        kept = rng.random(T) < 0.8
        y.append([LABELS[w % 5 if keep else e] for w, e, keep in zip(words, noise, kept)])  # noqa: B905
    return X, y


def item(words: list[int], t: int, kind: str, rng: np.random.Generator) -> Any:
    """Return the attributes of a token in one of the forms that python-crfsuite takes."""
    word, before = f"w{words[t]}", f"w{words[t - 1]}" if t else "<s>"
    if kind == "strings":
        return ["bias", f"w={word}", f"w-1={before}", f"w-1={before}", f"ü={word}"]
    if kind == "tuples":
        return ("bias", f"w={word}")
    if kind == "sets":
        return {"bias", f"w={word}", f"w-1={before}"}
    if kind == "dicts":
        return {"bias": True, "w": word, "w-1": before, "odd": words[t] % 2 == 1}
    if kind == "floats":
        return {"bias": 1, "w": word, "x": float(rng.normal()), "half": 0.5, "f": np.float32(0.25)}
    nested = {"w": word, "is": {"odd": bool(words[t] % 2), "n": 0.5}, "near": ["a", before]}
    return {"bias": 1.0, "deep": nested, "set": {"x", "y"}, "bytes": b"value"}


KINDS = ["strings", "tuples", "sets", "dicts", "floats", "nested"]


def trained(X: Sequences, y: Tags, folder: Path, **params: Any) -> tuple[Tagger, Any, Trainer, Any]:
    """Return both taggers and both trainers."""
    params = {name.replace("feature_", "feature."): value for name, value in params.items()}
    ours, theirs = Trainer(params=params, verbose=False), pycrfsuite.Trainer(verbose=False)
    theirs.set_params(params)
    for xseq, yseq in zip(X, y, strict=True):
        ours.append(xseq, yseq)
        theirs.append(xseq, yseq)
    paths = [str(folder / "ours"), str(folder / "theirs")]
    ours.train(paths[0])
    theirs.train(paths[1])
    a, b = Tagger(), pycrfsuite.Tagger()
    a.open(paths[0])
    b.open(paths[1])
    return a, b, ours, theirs


def loss(trainer: Any) -> float:
    return float(trainer.logparser.last_iteration["loss"])


def close(ours: dict[Any, float], theirs: dict[Any, float], tolerance: float) -> None:
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        assert value == pytest.approx(theirs[key], abs=tolerance), key


# -- the same model ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_of_attributes_gives_the_same_model(kind: str, tmp_path: Path) -> None:
    X, y = data(1, kind=kind)
    ours, theirs, trainer, peer = trained(X, y, tmp_path, c2=0.3, **TIGHT)
    assert loss(trainer) == pytest.approx(loss(peer), rel=1e-6)
    a, b = ours.info(), theirs.info()
    close(a.transitions, b.transitions, 2e-4)
    close(a.state_features, b.state_features, 2e-4)
    assert ours.labels() == theirs.labels()
    assert a.labels == b.labels
    assert set(a.attributes) == set(b.attributes)
    for x, labels in zip(*data(2, kind=kind), strict=True):
        ours.set(x)
        theirs.set(x)
        assert ours.probability(labels) == pytest.approx(theirs.probability(labels), abs=1e-4)
        for t in range(len(x)):
            for label in ours.labels():
                assert ours.marginal(label, t) == pytest.approx(theirs.marginal(label, t), abs=1e-4)


@pytest.mark.parametrize("c1", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("c2", [0.01, 1.0])
def test_objectives_agree_where_both_stop_by_themselves(
    c1: float, c2: float, tmp_path: Path
) -> None:
    X, y = data(3, 60)
    ours, theirs, trainer, peer = trained(X, y, tmp_path, c1=c1, c2=c2)
    assert loss(trainer) == pytest.approx(loss(peer), rel=1e-4 if c1 == 0.0 else 1e-3)
    if c1 == 0.0:
        held, _ = data(4)
        same = sum(a == b for x in held for a, b in zip(ours.tag(x), theirs.tag(x), strict=True))
        assert same >= 0.98 * sum(map(len, held))


def test_predictions_agree_on_clear_data(tmp_path: Path) -> None:
    words = [f"w={k}" for k in range(10)]
    rng = np.random.default_rng(5)
    X = [[[words[k]] for k in rng.integers(0, 10, 6)] for _ in range(40)]
    y = [[LABELS[words.index(w) % 5] for (w,) in x] for x in X]
    ours, theirs, *_ = trained(X, y, tmp_path, c2=0.1)
    for x, labels in zip(X, y, strict=True):
        assert ours.tag(x) == theirs.tag(x) == labels


# -- which weights there are ---------------------------------------------------------------------


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("transitions", [False, True])
@pytest.mark.parametrize("min_freq", [0, 1, 3, 6.5])
@pytest.mark.parametrize("kind", ["strings", "floats"])
def test_as_many_weights(
    states: bool, transitions: bool, min_freq: float, kind: str, tmp_path: Path
) -> None:
    X, y = data(6, kind=kind)
    if (
        kind == "floats"
    ):  # CRFsuite leaves out what sums to less than 0; so do we, but for all labels
        X = [[{k: abs(v) if k == "x" else v for k, v in item.items()} for item in x] for x in X]
    _, _, trainer, peer = trained(
        X,
        y,
        tmp_path,
        feature_possible_states=states,
        feature_possible_transitions=transitions,
        feature_minfreq=min_freq,
        max_iterations=3,
    )
    ours, theirs = trainer.logparser, peer.logparser
    assert ours is not None
    assert ours.featgen_num_features == theirs.featgen_num_features


# -- Trainer -------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd"])
def test_trainer_has_the_same_parameters(algorithm: str) -> None:
    ours = Trainer(algorithm, verbose=False)
    theirs = pycrfsuite.Trainer(algorithm, verbose=False)
    assert ours.get_params() == theirs.get_params()
    assert ours.params() == theirs.params()
    for name in ours.params():
        assert ours.help(name)
    ours.set("feature.minfreq", "2")
    ours.set("feature.possible_states", 1)
    assert (ours.get("feature.minfreq"), ours.get("feature.possible_states")) == (2.0, True)
    ours.select(algorithm)
    assert ours.get_params() == theirs.get_params()


def test_trainer_says_what_is_wrong(tmp_path: Path) -> None:
    trainer = Trainer(verbose=False)
    wrong: list[tuple[Any, str]] = [
        (lambda: trainer.select("newton"), "algorithm: got 'newton'"),
        (lambda: trainer.select("lbfgs", "crf2d"), "type: got 'crf2d'"),
        (lambda: trainer.set("c3", 1), "name: got 'c3'"),
        (lambda: trainer.set("c1", "much"), "c1: got 'much', expected a number"),
        (lambda: trainer.get("c3"), "name: got 'c3'"),
        (lambda: trainer.help("c3"), "name: got 'c3'"),
        (lambda: trainer.append([["a"]], ["x", "y"]), "yseq: got 2 labels, expected 1"),
        (lambda: trainer.append([["a"]], "x"), "yseq: got 'x'"),
        (lambda: trainer.append([["a"]], [1]), "yseq"),  # type: ignore[list-item]
        (lambda: trainer.append("ab", ["x", "y"]), "xseq: got 'ab'"),
        (lambda: trainer.append(["ab"], ["x"]), r"xseq\[0\]: got 'ab'"),
        (lambda: trainer.append([{"a": float("nan")}], ["x"]), r"xseq\[0\]\['a'\]: got nan"),
    ]
    for call, match in wrong:
        with pytest.raises(InvalidInput, match=match):
            call()


def test_what_is_appended_may_change_afterwards(tmp_path: Path) -> None:
    x, labels = [["a"], ["b"]], ["x", "y"]
    trainer = Trainer(verbose=False)
    trainer.append(x, labels)
    x[0][0], labels[1] = "c", "z"
    trainer.train("")
    assert trainer.model_ is not None
    assert trainer.model_._known.structure.states == ("x", "y")
    trainer.clear()
    with pytest.warns(UserWarning, match="no tokens"):
        trainer.train("")
    assert trainer.model_ is None


def test_holdout_is_judged_and_changes_nothing(tmp_path: Path) -> None:
    X, y = data(7, 40)
    trainers: list[Any] = [Trainer(verbose=False), pycrfsuite.Trainer(verbose=False)]
    for trainer in trainers:
        for i, (x, labels) in enumerate(zip(X, y, strict=True)):
            trainer.append(x, labels, 2 if i % 4 == 0 else 0)
        trainer.train(str(tmp_path / "held"), holdout=2)
    ours, theirs = (trainer.logparser.last_iteration for trainer in trainers)
    assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-4)
    for name in ("item_accuracy", "instance_accuracy", "item_accuracy_float"):
        assert float(ours[name]) == pytest.approx(float(theirs[name]), abs=0.05)
    for name in ("avg_precision", "avg_recall", "avg_f1"):
        assert ours[name] == pytest.approx(theirs[name], abs=0.05)
    for label, score in theirs["scores"].items():
        assert ours["scores"][label].ref == score.ref
    alone = Trainer(verbose=False)
    for i, (x, labels) in enumerate(zip(X, y, strict=True)):
        if i % 4:
            alone.append(x, labels)
    for label in trainers[0].gathered.labels:  # the held-out group may have brought a label
        alone.gathered.labels.setdefault(label, len(alone.gathered.labels))
    alone.train("")
    assert alone.logparser is not None
    assert loss(alone) == pytest.approx(ours["loss"], rel=1e-9)


def test_messages_and_hooks(capsys: pytest.CaptureFixture[str]) -> None:
    class Listening(Trainer):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.texts: list[str] = []
            self.numbers: list[int] = []

        def message(self, message: str) -> None:
            self.texts.append(message)
            super().message(message)

        def on_iteration(self, log: str, info: dict[str, Any]) -> None:
            self.numbers.append(info["num"])

    for verbose in (False, True):
        trainer = Listening(params={"max_iterations": 2}, verbose=verbose)
        trainer.append([["a"], ["b"]], ["x", "y"])
        trainer.train("")
        assert trainer.logparser is not None
        assert trainer.texts == trainer.logparser.log
        assert trainer.numbers == (list(range(1, 3)) if verbose else [])
        assert [one["num"] for one in trainer.logparser.iterations] == list(range(1, 3))
        said = capsys.readouterr().out
        assert ("Number of features: 3" in said) == verbose
        assert (said == "") != verbose


def test_plain_trainer_prints_iterations(capsys: pytest.CaptureFixture[str]) -> None:
    trainer = Trainer()
    trainer.append([["a"], ["b"]], ["x", "y"])
    trainer.append([["a"], ["b"]], ["x", "y"], 1)
    trainer.train("", holdout=1)
    said = capsys.readouterr().out
    for text in ("Holdout group: 2", "***** Iteration #1 *****", "Loss: ", "Item accuracy: "):
        assert text in said


def test_empty_sequences(tmp_path: Path) -> None:
    ours, theirs, trainer, peer = trained([[], [["a"], ["b"]], []], [[], ["x", "y"], []], tmp_path)
    assert loss(trainer) == pytest.approx(loss(peer), rel=1e-5)
    assert ours.tag([]) == theirs.tag([]) == []
    assert ours.probability([]) == 1.0
    assert ours.tag([[], {}]) == theirs.tag([[], {}])


# -- Tagger --------------------------------------------------------------------------------------


def test_dump_is_read_by_their_parser(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, *_ = trained(*data(8), tmp_path)
    ours.dump(tmp_path / "dump.txt")
    text = (tmp_path / "dump.txt").read_text(encoding="utf-8")
    parser = CRFsuiteDumpParser()
    for line in text.splitlines(keepends=True):
        parser.feed(line)
    info = ours.info()
    close(info.transitions, parser.result.transitions, 1e-6)
    close(info.state_features, parser.result.state_features, 1e-6)
    assert parser.result.labels == info.labels
    assert parser.result.attributes == info.attributes
    assert int(info.header["size"]) == (tmp_path / "ours").stat().st_size
    ours.dump()
    assert capsys.readouterr().out == text


def test_tagger_opens_and_closes(tmp_path: Path) -> None:
    ours, *_ = trained(*data(9), tmp_path)
    x = data(10)[0][0]
    answer = ours.tag(x)
    assert ours.tag() == answer
    assert ours.model.predict_tags([x], scheme=None) == [answer]
    ours.close()
    with pytest.raises(InvalidInput, match="call open"):
        ours.labels()
    with Tagger().open_inmemory((tmp_path / "ours").read_bytes()) as again:
        assert again.tag(x) == answer
    fresh = Tagger()
    with fresh.open(tmp_path / "ours"):
        with pytest.raises(InvalidInput, match="no sequence"):
            fresh.tag()
        fresh.set(ItemSequence(x))
        assert fresh.tag() == answer
    with pytest.raises(InvalidInput, match="call open"):
        fresh.tag(x)


def test_tagger_says_what_is_wrong(tmp_path: Path) -> None:
    ours, *_ = trained(*data(11), tmp_path)
    ours.set([["bias"], ["bias"]])
    words = tmp_path / "words"
    caesura.ChainCRF().fit([["a", "b"]], [["B-X", "O"]]).save(words)
    wrong: list[tuple[Any, str]] = [
        (lambda: ours.marginal("Q", 0), "y: got 'Q', expected one of"),
        (lambda: ours.marginal("O", 2), "pos: got 2"),
        (lambda: ours.marginal("O", -1), "pos: got -1"),
        (lambda: ours.probability(["O"]), "yseq: got 1 labels, expected 2"),
        (lambda: ours.probability(["O", "Q"]), "yseq: got 'Q'"),
        (lambda: ours.tag("text"), "xseq: got 'text'"),
        (lambda: Tagger().open(tmp_path / "theirs"), "CRFsuite wrote.*train again"),
        (lambda: Tagger().open(words), "features of its own"),
        (lambda: Tagger().open_inmemory(b"lCRF"), "value: got a model that CRFsuite wrote"),
    ]
    for call, match in wrong:
        with pytest.raises(InvalidInput, match=match):
            call()
    with pytest.raises(FileNotFoundError):
        Tagger().open(tmp_path / "nowhere")


@pytest.mark.parametrize("mistyped", ["B_NP", "b-NP", "NP", ""])
def test_a_mistyped_tag_that_disables_the_scheme_is_warned_of(mistyped: str) -> None:
    X = [[["w=the"], ["w=cat"], ["w=sat"]]] * 9
    y = [["B-NP", "I-NP", "O"]] * 9
    assert CRF().fit(X, y).model_.labels_ == ["NP"]
    y[7] = ["B-NP", mistyped, "O"]
    wrong = rf"yseq: got the tag '{mistyped}' \(token 1 of training sequence 7,.* among BIO tags"
    with pytest.warns(UserWarning, match=wrong):
        crf = CRF().fit(X, y)
    theirs = sklearn_crfsuite.CRF().fit(X, y)
    assert crf.predict(X).tolist() == np.asarray(theirs.predict(X)).tolist()  # as before
    assert crf.model_.predict(X[:1])[0][0].label == "B-NP"


def test_labels_beside_tags_are_no_mistakes() -> None:
    CRF().fit([[["a"], ["b"], ["c"]]], [["B-NP", "I-NP", "other"]])  # a warning is an error here


def test_item_sequences_are_read_alike() -> None:
    X, _ = data(12, kind="nested")
    for x in X:
        ours, theirs = ItemSequence(x), pycrfsuite.ItemSequence(x)
        assert (repr(ours), len(ours)) == (repr(theirs), len(theirs))
        assert ours.items() == theirs.items()


# -- CRF -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"c2": 0.1, "all_possible_transitions": True},
        {"c1": 0.0, "c2": 0.5, "min_freq": 2, "epsilon": 1e-7, "delta": 1e-9},
        {"c2": 0.2, "all_possible_states": True, "max_iterations": 300},
    ],
)
def test_crf_is_theirs(options: dict[str, Any]) -> None:
    X, y = data(13, 60, "dicts")
    held, gold = data(14, 20, "dicts")
    tight: dict[str, Any] = {"epsilon": 1e-9, "delta": 1e-13} | options
    ours = CRF(algorithm="lbfgs", **tight).fit(X, y)
    theirs = sklearn_crfsuite.CRF(algorithm="lbfgs", **tight).fit(X, y)
    assert ours.classes_ == theirs.classes_
    assert set(ours.attributes_ or []) == set(theirs.attributes_)
    assert ours.num_attributes_ == theirs.num_attributes_
    close(ours.transition_features_ or {}, theirs.transition_features_, 1e-3)
    close(ours.state_features_ or {}, theirs.state_features_, 1e-3)
    assert ours.score(held, gold) == pytest.approx(theirs.score(held, gold), abs=0.03)
    for x, mine in zip(held, ours.predict_marginals(held), strict=True):
        for a, b in zip(mine, theirs.predict_marginals_single(x), strict=True):
            close(a, b, 1e-3)
        assert ours.predict_marginals_single(x) == mine
        assert ours.predict_single(x) == ours.predict([x])[0]


def test_crf_takes_every_parameter_of_theirs() -> None:
    theirs = sklearn_crfsuite.CRF().get_params()
    ours = CRF(**theirs)
    assert {name: ours.get_params()[name] for name in theirs} == theirs
    full = CRF(algorithm="l2sgd", calibration_eta=0.1, calibration_samples=20)
    X, y = data(15)
    assert len(full.set_params(max_iterations=5).fit(X, y).predict(X)) == len(X)
    assert repr(full).startswith("CRF(algorithm='l2sgd', max_iterations=5")
    for options in ({"pa_type": 1}, {"gamma": 2.0}, {"algorithm": "l2sgd", "c1": 1.0}):
        for kind, error in ((CRF, InvalidInput), (sklearn_crfsuite.CRF, ValueError)):
            with pytest.raises(error):
                kind(**options).fit(X, y)
    assert CRF(linesearch="Backtracking", max_linesearch=5, max_iterations=2).fit(X, y).classes_
    with pytest.raises(InvalidInput, match="parameter: got 'c3'"):
        full.set_params(c3=1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"algorithm": "l2sgd", "c1": 0.1},
            "c1: got 0.1, expected None with the algorithm 'l2sgd'",
        ),
        ({"pa_type": 1}, "pa_type: got 1, expected None with the algorithm 'lbfgs'"),
        ({"max_iterations": 2.7}, "max_iterations: got 2.7, expected a whole number"),
        ({"all_possible_states": 0.5}, "all_possible_states: got 0.5, expected True or False"),
        ({"max_linesearch": float("inf")}, "max_linesearch: got inf, expected a whole number"),
        ({"num_memories": 0}, "num_memories: got 0, expected a whole number, at least 1"),
        ({"min_freq": -1}, "min_freq: got -1.0, expected a number, 0 or more"),
        ({"min_freq": "x"}, "min_freq: got 'x', expected a number"),
        ({"period": 0}, "period: got 0"),
    ],
)
def test_errors_call_parameters_as_the_user_does(options: dict[str, Any], text: str) -> None:
    X, y = data(15)
    with pytest.raises(InvalidInput) as error:
        CRF(**options).fit(X, y)
    assert str(error.value).startswith(text)


def test_a_trainer_calls_parameters_as_crfsuite_does() -> None:
    trainer = Trainer(params={"num_memories": 0}, verbose=False)
    trainer.append([["a"]], ["x"])
    with pytest.raises(InvalidInput, match=r"^num_memories: got 0"):
        trainer.train()
    trainer.set_params({"num_memories": 6, "feature.minfreq": -1})
    with pytest.raises(InvalidInput, match=r"^feature\.minfreq: got -1"):
        trainer.train()


def test_parameters_are_set_all_or_none() -> None:
    model = CRF(c2=1.0)
    with pytest.raises(InvalidInput, match="parameter: got 'c3'"):
        model.set_params(c2=5.0, c3=1)
    assert model.c2 == 1.0


def test_a_fitted_chain_keeps_its_outside_label() -> None:
    X, y = data(15)
    model = CRF().fit(X, y).model_
    model.set_params(outside="none")
    with pytest.raises(InvalidInput, match="outside: got 'none', expected 'O', as in fit"):
        model.predict([])


def test_l2sgd_comes_near_the_optimum() -> None:
    X, y = data(16, 80)
    found = CRF(algorithm="l2sgd", c2=1.0, max_iterations=200).fit(X, y)
    best = CRF(c2=1.0).fit(X, y)
    a, b = found.state_features_ or {}, best.state_features_ or {}
    assert np.mean([abs(a[k] - b[k]) for k in b]) < 0.1


def test_l2sgd_ends_by_period_and_delta() -> None:
    X, y = data(16, 40)
    logs = [
        CRF(algorithm="l2sgd", max_iterations=60, **options).fit(X, y).training_log_
        for options in ({"period": 100}, {"period": 1, "delta": 0.9})
    ]
    assert [len(log.iterations) for log in logs if log] == [60, 2]


def test_scikit_learn_and_pickle(tmp_path: Path) -> None:
    X, y = data(17, 40)
    model = clone(CRF(c2=0.1, max_iterations=20))
    assert len(cross_val_score(model, X, y, cv=3)) == 3
    search = GridSearchCV(model, {"c2": [0.01, 1.0], "min_freq": [0, 2]}, cv=2, n_jobs=2).fit(X, y)
    assert set(search.best_params_) == {"c2", "min_freq"}
    model.fit(X, y)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.predict(X).tolist() == model.predict(X).tolist()
        assert again.training_log_.iterations == model.training_log_.iterations
        assert again.size_ == model.size_
    assert pickle.loads(pickle.dumps(CRF())).tagger_ is None
    assert caesura.compat.CRF is CRF


def test_crf_with_a_file(tmp_path: Path) -> None:
    X, y = data(18)
    path = tmp_path / "model.crf"
    unfitted = CRF(model_filename=str(path))
    for name in ("tagger_", "classes_", "attributes_", "size_", "num_attributes_"):
        assert getattr(unfitted, name) is None
    assert unfitted.state_features_ is unfitted.transition_features_ is None
    with pytest.raises(InvalidInput, match="not fitted yet"):
        unfitted.predict(X)
    fitted = CRF(model_filename=str(path)).fit(X, y)
    assert unfitted.predict(X).tolist() == fitted.predict(X).tolist()
    assert unfitted.size_ == path.stat().st_size
    assert unfitted.model_.predict_tags(X, scheme=None) == fitted.predict(X).tolist()


def test_development_data_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = data(19)
    model = CRF(verbose=True, max_iterations=3).fit(X, y, X[:5], y[:5])
    assert model.training_log_ is not None
    last = model.training_log_.last_iteration
    assert last is not None
    assert last["item_accuracy_float"] == pytest.approx(model.score(X[:5], y[:5]))
    assert "Iter 3" in capsys.readouterr().out
    with pytest.raises(InvalidInput, match="pass both, or neither"):
        model.fit(X, y, X_dev=X)


def test_crf_says_which_sequence_is_wrong() -> None:
    X, y = data(20)
    with pytest.raises(InvalidInput, match=r"X\[3\], y\[3\]: yseq: got"):
        CRF().fit(X, [*y[:3], [*y[3], "O"], *y[4:]])
    with pytest.raises(InvalidInput, match="y: got more than 29"):
        CRF().fit(X[:29], y)
    with pytest.raises(InvalidInput, match=r"X: got more than 29, .*; give as many of both"):
        CRF().fit(X, y[:29])
    model = CRF(max_iterations=2).fit(X, y)
    with pytest.raises(InvalidInput, match=r"X\[1\]\[0\]: got 3"):
        model.predict([X[0], [3]])
    with pytest.raises(InvalidInput, match="different lengths"):
        model.score(X, y[1:])


def test_threads_do_not_change_the_result() -> None:
    X, y = data(21, 50)
    one, two = CRF(n_threads=1).fit(X, y), CRF(n_threads=2).fit(X, y)
    assert one.state_features_ == two.state_features_
    assert one.predict_marginals(X).tolist() == two.predict_marginals(X).tolist()


def test_numbers_beyond_the_floats_are_named(tmp_path: Path) -> None:
    huge = [["a"], {"b": 1.0, "n": 10**400}]
    with pytest.raises(InvalidInput, match=r"^X\[1\].*\[1\]\['n'\]: got 1000.*, expected a finite"):
        CRF().fit([[["a"], ["b"]], huge], [["x", "y"]] * 2)
    model = CRF().fit([[["a"], ["b"]]], [["x", "y"]])
    with pytest.raises(InvalidInput, match=r"^X\[0\]\[1\]\['n'\]: got"):
        model.predict([huge])
    with pytest.raises(InvalidInput, match=r"^xseq\[1\]\['n'\]: got"):
        Trainer(verbose=False).append(huge, ["x", "y"])
    with pytest.raises(InvalidInput, match=r"^items\[1\]\['n'\]: got"):
        ItemSequence(huge)


def test_odd_types_are_named(tmp_path: Path) -> None:
    X: Any = [[["a"], ["b"]]]
    y: Any = [["x", "y"]]
    odd: Any
    value: Any
    pos: Any
    labels: Any
    not_a_group: Any = "a"
    kept: Any
    model = CRF(max_iterations=3).fit(X, y)
    for odd in (None, 3, "ab", {"a": 1}):
        for ask in (model.predict, model.predict_marginals):
            with pytest.raises(InvalidInput, match=r"^X: got .*, expected a list of sequences"):
                ask(odd)
        with pytest.raises(InvalidInput, match=r"^X: got "):
            CRF().fit(odd, y)
        for use in (CRF().fit, model.score):
            with pytest.raises(InvalidInput, match=r"^y: got "):
                use(X, odd)
        with pytest.raises(InvalidInput, match=r"^yseq: got "):
            Trainer(verbose=False).append(X[0], odd)
    for attributes in ([b"\xff"], {"a": b"\xff"}):
        with pytest.raises(
            InvalidInput, match=r"^X\[0\]\[0\]: got .*, expected a string, or bytes"
        ):
            model.predict([[attributes]])
    trainer = Trainer(verbose=False)
    trainer.append(X[0], y[0])
    with pytest.raises(InvalidInput, match=r"^holdout: got 'a'"):
        trainer.train(tmp_path / "model", holdout=not_a_group)
    trainer.train(tmp_path / "model")
    tagger = Tagger()
    for value in (None, "abc", 3):
        with pytest.raises(InvalidInput, match=r"^value: got "):
            tagger.open_inmemory(value)
    kept = bytearray((tmp_path / "model").read_bytes())
    tagger.open_inmemory(kept)
    tagger.set(X[0])
    for pos in (1.5, "a", None, 2):
        with pytest.raises(InvalidInput, match=r"^pos: got "):
            tagger.marginal("x", pos)
    for labels in (None, 3, "xy"):
        with pytest.raises(InvalidInput, match=r"^yseq: got "):
            tagger.probability(labels)
