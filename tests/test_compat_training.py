"""Trainers, their logs and their hooks, and taggers, beside python-crfsuite's own."""

import inspect
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycrfsuite._logparser import TrainLogParser as TheirParser
from scipy import sparse

from caesura import ChainCRF, InvalidInput
from caesura.compat import (
    CRF,
    CRFSUITE_VERSION,
    BaseTrainer,
    CRFSuiteError,
    ItemSequence,
    Tagger,
    Trainer,
    TrainLogParser,
)
from caesura.compat.settings import ALGORITHMS
from caesura.learning import LEARNERS

X: Any = [[["a", "b"], ["b"], {"c": 0.5}], [["a"], ["c", "d"]], [["d"], ["b"], ["a"]]]
Y = [["x", "y", "x"], ["x", "z"], ["z", "y", "x"]]
EVENTS = [
    *("start", "featgen_progress", "featgen_end", "prepared", "prepare_error"),
    *("iteration", "optimization_end", "end"),
]


def recording(base: Any) -> Any:
    """Return a subclass of a trainer that notes its messages and its hooks, and has no __init__."""

    class Recording(base):  # type: ignore[misc]
        def __init__(self) -> None:
            self.said: list[str] = []
            self.called: list[tuple[str, str]] = []

        def message(self, message: str) -> None:
            self.said.append(message)
            super().message(message)

    def hook(event: str) -> Any:
        def called(self: Any, log: str, *more: Any) -> None:
            self.called.append((event, log))

        return called

    for event in EVENTS:
        setattr(Recording, f"on_{event}", hook(event))
    return Recording()


def run(trainer: Any, folder: Path, algorithm: str = "lbfgs", iterations: int = 2) -> Any:
    """Train on most of the data, with the last sequence held out."""
    trainer.select(algorithm)
    trainer.set("max_iterations", iterations)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        trainer.append(x, y, int(i == 2))
    trainer.train(str(folder / type(trainer).__module__), holdout=1)
    return trainer


# -- the log -------------------------------------------------------------------------------------


def parsed(parser: Any, messages: list[str]) -> tuple[list[Any], list[str]]:
    """Return the events of a log, and the text of each."""
    events = [parser.feed(line) for line in messages]
    texts = ["".join(parser.log[a:b]) for _, a, b in parser.events]
    return events, texts


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_their_logs_are_read_as_by_their_parser(algorithm: str, tmp_path: Path) -> None:
    messages = run(recording(pycrfsuite.Trainer), tmp_path, algorithm, 4).said
    ours, theirs = TrainLogParser(), TheirParser()
    assert parsed(ours, messages) == parsed(theirs, messages)
    for name in ("featgen_percent", "featgen_num_features", "featgen_seconds", "training_seconds"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.iterations == theirs.iterations
    assert ours.last_iteration is ours.iterations[-1]
    assert ours.last_log == theirs.last_log


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd"])
def test_our_logs_are_read_by_their_parser(algorithm: str, tmp_path: Path) -> None:
    trainer = run(recording(Trainer), tmp_path, algorithm)
    theirs = TheirParser()
    assert parsed(theirs, trainer.said) == parsed(TrainLogParser(), trainer.said)
    for ours, read in zip(trainer.logparser.iterations, theirs.iterations, strict=True):
        for name in ("loss", "feature_norm", "avg_f1", "item_accuracy", "instance_accuracy"):
            assert float(read[name]) == pytest.approx(float(ours[name]), abs=1e-6), name
        for label, score in read["scores"].items():
            assert score[:3] == ours["scores"][label][:3]


def test_the_log_has_the_lines_of_theirs(tmp_path: Path) -> None:
    def shape(line: str) -> str:
        return line.partition(":")[0] if ":" in line else line

    ours, theirs = (run(recording(t), tmp_path).said for t in (Trainer, pycrfsuite.Trainer))
    missing = {shape(line) for line in theirs} - {shape(line) for line in ours}
    assert {line.split()[0] for line in missing} == {"Writing"}  # of parts of the file
    assert ours[: ours.index("\n", 3)] == theirs[: theirs.index("\n", 3)]  # up to the features
    at = ours.index("***** Iteration #1 *****\n")
    assert "".join(ours[at - 12 : at]).startswith("\nL-BFGS optimization\nc1: 0.000000\n")


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd"])
def test_hooks_are_called_as_theirs(algorithm: str, tmp_path: Path) -> None:
    trainers = [recording(Trainer), recording(pycrfsuite.Trainer)]
    for trainer in trainers:
        assert not trainer.verbose  # __init__ has not been called
        trainer.verbose = True
        run(trainer, tmp_path, algorithm)
    ours, theirs = ([event for event, _ in trainer.called] for trainer in trainers)
    assert ours == theirs
    assert "".join(log for _, log in trainers[0].called) == "".join(trainers[0].said)


def test_feature_norm_is_that_of_the_weights(tmp_path: Path) -> None:
    trainer = run(recording(Trainer), tmp_path, iterations=5)
    last = trainer.logparser.last_iteration
    assert last["feature_norm"] == pytest.approx(np.linalg.norm(trainer.model_._known.w))
    theirs = run(recording(pycrfsuite.Trainer), tmp_path, iterations=50)
    ours = run(recording(Trainer), tmp_path, iterations=50)
    expected = theirs.logparser.last_iteration["feature_norm"]
    assert ours.logparser.last_iteration["feature_norm"] == pytest.approx(expected, rel=1e-3)


def test_history_has_no_scores_that_were_not_asked_for(tmp_path: Path) -> None:
    assert [p.dev_score for p in run(recording(Trainer), tmp_path).model_.history_] == [None] * 2


def test_a_trainer_without_data_warns_and_writes_nothing(tmp_path: Path) -> None:
    trainer, theirs = recording(Trainer), recording(pycrfsuite.Trainer)
    trainer.verbose = theirs.verbose = True
    with pytest.warns(UserWarning, match="trainer: got no tokens.*append"):
        trainer.train(str(tmp_path / "ours"))
    theirs.train(str(tmp_path / "theirs"))
    assert "prepare_error" in dict(theirs.called)
    assert "terminated with error: no tokens" in dict(trainer.called)["prepare_error"]
    assert trainer.model_ is None
    assert not (tmp_path / "ours").exists()
    with pytest.raises(InvalidInput, match="X: got no tokens"):
        CRF().fit([[]], [[]])


def test_base_trainer_prints_what_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for verbose in (True, False):
        trainer = BaseTrainer(params={"max_iterations": 1}, verbose=verbose)
        trainer.append(X[0], Y[0])
        trainer.train()
        assert trainer.logparser is not None
        assert capsys.readouterr().out == ("".join(trainer.logparser.log) if verbose else "")
    assert issubclass(Trainer, BaseTrainer)
    with pytest.raises(CRFSuiteError):
        trainer.set("c3", 1)


# -- algorithms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms_have_the_parameters_of_theirs(name: str) -> None:
    algorithm, theirs = ALGORITHMS[name], pycrfsuite.Trainer(name, verbose=False)
    assert algorithm.defaults == theirs.get_params()
    assert list(algorithm.defaults) == theirs.params()
    assert set(algorithm.options) <= set(algorithm.defaults)
    unused = {name.partition(".")[0] for name in set(algorithm.defaults) - set(algorithm.options)}
    assert unused <= {"linesearch", "max_linesearch", "calibration"}
    if algorithm.learner in LEARNERS:
        assert set(algorithm.options.values()) <= set(inspect.signature(ChainCRF).parameters)


@pytest.mark.parametrize("name", ["ap", "averaged-perceptron", "Averaged-Perceptron"])
def test_algorithms_have_long_names_too(name: str) -> None:
    trainer = Trainer(name, {"epsilon": 0.01}, verbose=False)
    assert (trainer.algorithm, trainer.get("max_iterations")) == ("ap", 100)
    model = CRF(algorithm=name, max_iterations=3).fit(X, Y).model_
    assert (model.learner, model.max_iterations, model.epsilon) == ("perceptron", 3, 0.0)
    with pytest.raises(InvalidInput, match="c2: got 1, expected None with the algorithm 'ap'"):
        CRF(algorithm=name, c2=1).fit(X, Y)


def noisy_corpus(seed: int, n: int = 40) -> tuple[list[list[dict[str, float]]], list[list[str]]]:
    """Return sequences whose labels follow from their attributes in nine cases of ten."""
    rng = np.random.default_rng(seed)
    gold = [[str(rng.choice(["A", "B", "C"])) for _ in range(rng.integers(1, 8))] for _ in range(n)]
    seen = [
        [t if rng.random() < 0.9 else str(rng.choice(["A", "B", "C"])) for t in y] for y in gold
    ]
    return [[{f"sees {t}": 1.0, f"noise {rng.integers(5)}": 1.0} for t in y] for y in seen], gold


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_perceptron_type_algorithms_learn_as_well_as_crfsuites(
    algorithm: str, tmp_path: Path
) -> None:
    xs, ys = noisy_corpus(0, 200)
    held, gold = noisy_corpus(1, 200)
    theirs = pycrfsuite.Trainer(algorithm, {"max_iterations": 10}, verbose=False)
    for x, y in zip(xs, ys, strict=True):
        theirs.append(x, y)
    theirs.train(str(tmp_path / "theirs"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "theirs"))
    ours = CRF(algorithm=algorithm, max_iterations=10).fit(xs, ys)

    def accuracy(found: Any) -> float:
        return float(
            np.mean(
                [
                    a == b
                    for f, g in zip(found, gold, strict=True)
                    for a, b in zip(f, g, strict=True)
                ]
            )
        )

    peer, own = accuracy([tagger.tag(x) for x in held]), accuracy(ours.predict(held))
    assert own > peer - 0.03
    assert own > 0.85


def test_settings_of_pa_reach_the_learner() -> None:
    xs, ys = noisy_corpus(2)

    def weights(**options: Any) -> Any:
        return CRF(algorithm="pa", max_iterations=4, **options).fit(xs, ys).model_.weights_

    plain = weights()
    for other in ({"averaging": False}, {"error_sensitive": False}, {"pa_type": 2}, {"c": 0.01}):
        assert np.abs(weights(**other) - plain).max() > 1e-6, other
    assert np.abs(weights(c=0.01)).max() < np.abs(plain).max()


def test_settings_of_arow_and_epsilon_reach_the_learner() -> None:
    xs, ys = noisy_corpus(3)
    plain = CRF(algorithm="arow", max_iterations=4).fit(xs, ys).model_.weights_
    others: list[dict[str, Any]] = [{"variance": 0.1}, {"gamma": 10.0}]
    for other in others:
        made = CRF(algorithm="arow", max_iterations=4, **other).fit(xs, ys).model_.weights_
        assert np.abs(made - plain).max() > 1e-6, other
    quick = CRF(algorithm="ap", max_iterations=50, epsilon=1e9).fit(xs, ys)
    assert len(quick.model_.history_) == 1
    whole = CRF(algorithm="ap", max_iterations=15).fit(xs, ys)
    assert len(whole.model_.history_) == 15


@pytest.mark.parametrize(
    ("value", "expected"), [("True", True), ("false", False), ("1", True), ("0", False), (1, True)]
)
def test_booleans_may_be_strings(value: Any, expected: bool) -> None:
    trainer = Trainer(params={"feature.possible_states": value}, verbose=False)
    assert trainer.get("feature.possible_states") is expected
    with pytest.raises(InvalidInput, match="got 'maybe', expected True or False"):
        trainer.set("feature.possible_states", "maybe")


# -- what goes in --------------------------------------------------------------------------------


def test_labels_may_be_bytes(tmp_path: Path) -> None:
    trainer, theirs = Trainer(verbose=False), pycrfsuite.Trainer(verbose=False)
    for one in (trainer, theirs):
        one.append(X[0], [b"x", "ü".encode(), "x"])
        one.train(str(tmp_path / type(one).__module__))
    tagger, peer = Tagger(), pycrfsuite.Tagger()
    tagger.open(tmp_path / Trainer.__module__)
    peer.open(str(tmp_path / pycrfsuite.Trainer.__module__))
    assert tagger.labels() == peer.labels() == ["x", "ü"]
    for one in (tagger, peer):
        one.set(X[0])
    assert tagger.marginal(b"x", 0) == pytest.approx(peer.marginal(b"x", 0), abs=1e-4)
    assert tagger.probability([b"x", b"x", "x"]) == tagger.probability(["x"] * 3)
    assert CRF().fit(X[:1], [[b"x", "y", "x"]]).score(X[:1], [[b"x", "y", b"x"]]) == 1.0
    with pytest.raises(InvalidInput, match=r"yseq: got b'\\xff', expected a label in UTF-8"):
        trainer.append(X[0], ["x", "x", b"\xff"])


def test_arrays_are_attributes_by_column() -> None:
    table = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -1.0]])
    expected = [{"1": 1.5}, {"0": 2.0, "2": -1.0}]
    for given_as in (table, table.astype(np.float32), sparse.csr_matrix(table)):
        assert ItemSequence(given_as).items() == expected
    assert ItemSequence(sparse.coo_array(table)).items() == expected
    objects = np.empty(2, object)
    objects[:] = [["a"], ["b"]]
    assert ItemSequence(objects).items() == [{"a": 1.0}, {"b": 1.0}]
    model = CRF().fit([table, table], [["x", "y"]] * 2)
    assert model.predict([sparse.csr_matrix(table)]).tolist() == [["x", "y"]]
    for wrong in (np.zeros(3), np.zeros((1, 2, 3)), np.array([["a"]])):
        with pytest.raises(InvalidInput, match=r"items: got .* of shape .*\(T, D\)"):
            ItemSequence(wrong)


def test_vectors_may_be_values_of_attributes() -> None:
    items: Any = [{"v": np.array([0.5, 2.0]), "w": {"u": np.array([1, 0])}, "bias": 1.0}]
    assert ItemSequence(items).items() == [
        {"v:0": 0.5, "v:1": 2.0, "w:u:0": 1.0, "w:u:1": 0.0, "bias": 1.0}
    ]
    with pytest.raises(InvalidInput, match=r"items\[0\]\['v'\]\[1\]: got nan"):
        ItemSequence([{"v": np.array([0.5, np.nan])}])


def test_weights_of_sequences_count_as_repetitions() -> None:
    tight: dict[str, Any] = {"c2": 0.1, "epsilon": 1e-10, "delta": 1e-14}
    counts = [3, 1, 2]
    weighted = CRF(**tight).fit(X, Y, sample_weight=counts)
    pairs = [(x, y) for x, y, n in zip(X, Y, counts, strict=True) for _ in range(n)]
    repeated = CRF(**tight).fit(*zip(*pairs, strict=True))
    a, b = weighted.state_features_, repeated.state_features_
    assert a is not None
    assert b is not None
    assert a.keys() == b.keys()
    assert all(a[key] == pytest.approx(b[key], abs=1e-5) for key in a)
    for wrong in ([1, 2], [1, -1, 1], [0, 0, 0], "abc"):
        with pytest.raises(InvalidInput, match="sample_weight: got"):
            CRF().fit(X, Y, sample_weight=wrong)
    with pytest.raises(InvalidInput, match="weight: got -1"):
        Trainer().append(X[0], Y[0], weight=-1)


# -- taggers -------------------------------------------------------------------------------------


def opened(folder: Path) -> Tagger:
    """Return a tagger of a small model."""
    trainer = Trainer(params={"c2": 0.05}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(folder / "model")
    tagger = Tagger()
    tagger.open(folder / "model")
    return tagger


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    return opened(tmp_path_factory.mktemp("tagger"))


def test_a_closed_tagger_raises_what_theirs_does(tmp_path: Path) -> None:
    closed = opened(tmp_path)
    closed.close()
    for ask in (closed.info, closed.dump, lambda: closed.dump(tmp_path / "dump")):
        with pytest.raises(RuntimeError, match="call open"):
            ask()
    for other in (closed.labels, lambda: closed.tag(X[0])):
        with pytest.raises(ValueError, match="call open"):
            other()
    assert not (tmp_path / "dump").exists()


def test_files_of_crfsuite_are_taken_for_missing_ones(tmp_path: Path) -> None:
    """usaddress and its like open one when they are imported, and ask to train on an OSError."""
    theirs = pycrfsuite.Trainer(verbose=False)
    theirs.append(X[0], Y[0])
    theirs.train(str(tmp_path / "theirs"))
    for kind in (OSError, InvalidInput):
        with pytest.raises(kind, match=r"name: got a model that CRFsuite wrote.*train again"):
            Tagger().open(tmp_path / "theirs")


def test_an_unknown_label_raises_what_theirs_does(tagger: Tagger) -> None:
    tagger.set(X[0])
    for kind in (RuntimeError, ValueError):
        with pytest.raises(kind, match="y: got 'q', expected one of x, y, z"):
            tagger.marginal("q", 0)


@settings(max_examples=40, deadline=None)
@given(x=st.lists(st.lists(st.sampled_from("abcd"), max_size=3), max_size=4), n=st.integers(1, 90))
def test_n_best_are_the_most_probable(tagger: Tagger, x: list[list[str]], n: int) -> None:
    found = tagger.n_best(n, x)
    every = [list(path) for path in itertools.product(tagger.labels(), repeat=len(x))]
    chances = sorted((tagger.probability(path) for path in every), reverse=True)
    assert [p for _, p in found] == pytest.approx(chances[:n], rel=1e-9)
    assert len(found) == min(n, len(every)) == len({tuple(path) for path, _ in found})
    for path, chance in found:
        assert chance == pytest.approx(tagger.probability(path), rel=1e-9)
    assert found[0][1] == pytest.approx(tagger.probability(tagger.tag()), rel=1e-9)


def test_n_best_says_what_is_wrong(tagger: Tagger) -> None:
    with pytest.raises(InvalidInput, match="n: got 0"):
        tagger.n_best(0, X[0])
    with pytest.raises(InvalidInput, match="no model"):
        Tagger().n_best(2)


def test_the_version_is_that_of_the_crfsuite_which_is_followed() -> None:
    assert CRFSUITE_VERSION == pycrfsuite.CRFSUITE_VERSION
