"""Data larger than memory: streamed passes equal those in memory, and batches go on."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_data import addresses, bad, good

import caesura
from caesura import ChainCRF, Partial, Segment, SemiCRF, demo
from caesura.corpora import read, write
from caesura.documents import Document
from caesura.encoding import Encoder
from caesura.errors import InvalidInput
from caesura.features import edge, first, history, last, word
from caesura.learning import ProgressLine
from caesura.models import streaming

LABELS = sorted(set(demo.LABELS.values()))
PLAIN = [word[0], word[-1], word[0] & word[1], first(word[0]), last(word[0]), edge(word[0])]
LEARNERS = ("sgd", "adagrad", "perceptron", "pa", "arow")
KINDS: tuple[type[Any], ...] = (SemiCRF, ChainCRF)


def documents(n: int, seed: int = 0) -> list[Document]:
    return demo.citations(n, seed=seed)


class Reader:
    """Read again for each pass, and count how often."""

    def __init__(self, items: list[Any]) -> None:
        self.items, self.readings = items, 0

    def __iter__(self) -> Any:
        self.readings += 1
        return iter(self.items)


def weights_by_name(model: Any) -> dict[Any, float]:
    """Return all weights by what they belong to, in whatever order they are."""
    fitted = model._known
    parameters, states = fitted.parameters, fitted.structure.states
    names = fitted.encoder.names(range(len(fitted.encoder)))
    keys: list[Any] = [
        (names[a], states[y])
        for a, y in zip(parameters.attribute.tolist(), parameters.label.tolist(), strict=True)
    ]
    keys += [
        (names[a], divmod(pair, len(states)))
        for a, pair in zip(
            parameters.edge_attribute.tolist(), parameters.edge_pair.tolist(), strict=True
        )
    ]
    for kind in ("transition", "start", "end"):
        keys += [(kind, k) for k in getattr(parameters, kind).tolist()]
    assert len(keys) == len(fitted.w)
    return dict(zip(keys, fitted.w.tolist(), strict=True))


def assert_same_weights(a: Any, b: Any) -> None:
    """Hold that two models have the same weights; a zero may be left out."""
    one, two = weights_by_name(a), weights_by_name(b)
    for key in one.keys() | two.keys():
        assert one.get(key, 0.0) == pytest.approx(two.get(key, 0.0), rel=1e-10, abs=1e-10), key


# -- streamed passes -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_one_block_is_a_run_in_memory(kind: type[Any], learner: str) -> None:
    """Data that fits into one block is taken in the same random order as in memory."""
    data = documents(40)
    settings: dict[str, Any] = {"learner": learner, "max_iterations": 3}
    memory = kind(**settings).fit(data)
    stream = kind(**settings, stream=True).fit(Reader(data))
    assert_same_weights(memory, stream)
    assert [p.objective for p in memory.history_] == pytest.approx(
        [p.objective for p in stream.history_], rel=1e-10
    )
    assert memory.predict(documents(10, 1)) == stream.predict(documents(10, 1))


@pytest.mark.parametrize("learner", LEARNERS)
def test_blocks_are_a_run_in_memory_in_the_same_order(
    learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several blocks give the weights that a run in memory gives with their order of sequences."""
    data = documents(60)
    settings: dict[str, Any] = {"learner": learner, "max_iterations": 2, "batch_size": 4}
    monkeypatch.setattr("caesura.models.model.CHUNK", 16)
    monkeypatch.setattr(streaming, "BLOCK", 1)
    stream = SemiCRF(PLAIN, **settings, stream=True).fit(Reader(data))

    def order(objective: Any, random: np.random.Generator) -> Any:
        sizes = [16, 16, 16, 12]
        parts = [random.permutation(size) for size in sizes]
        return np.concatenate([part + 16 * k for k, part in enumerate(parts)])

    monkeypatch.setattr("caesura.models.objective.Corpora.n_sample", 16, raising=False)
    monkeypatch.setattr("caesura.learning.sgd.order_of", order)
    monkeypatch.setattr("caesura.learning.path_learners.order_of", order)
    memory = SemiCRF(PLAIN, **settings).fit(data)
    assert_same_weights(memory, stream)


def test_labels_that_come_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label of a later block has weights with attributes of earlier ones, as in memory."""
    data = [Document(("a", "b"), segments=(Segment(0, 1, "X"),))] * 20
    data += [Document(("a", "c", "b"), segments=(Segment(1, 3, "Y"),))] * 3
    monkeypatch.setattr("caesura.models.model.CHUNK", 8)
    monkeypatch.setattr(streaming, "BLOCK", 1)
    settings: dict[str, Any] = {"learner": "perceptron", "all_possible_states": True}
    reader = Reader(data)
    stream = SemiCRF([word[0]], **settings, stream=True, max_iterations=4).fit(reader)
    assert stream.labels_ == ["X", "Y"]
    memory = SemiCRF([word[0]], **settings, max_iterations=4).fit(data)
    assert stream.n_features_ == memory.n_features_
    assert reader.readings == 2 + len(stream.history_)


@pytest.mark.parametrize("kind", KINDS)
def test_tags_and_weights_of_sequences(kind: type[Any]) -> None:
    """Tags, partial labels and sample weights are as in memory."""
    X = [["Ann", "Lee", "sings"], ["Bob", "hums"], ["in", "Rome"]] * 5
    y: list[Any] = [["B-P", "I-P", "O"], ["B-P", "O"], Partial(tokens={1: ["L"]})] * 5
    weight = np.linspace(0.5, 2.0, len(X))
    settings: dict[str, Any] = {"learner": "adagrad", "max_iterations": 3}
    memory = kind(**settings).fit(X, y, sample_weight=weight)
    stream = kind(**settings, stream=True).fit(X, y, sample_weight=weight)
    assert_same_weights(memory, stream)


def test_development_data_checkpoints_and_warm_starts(tmp_path: Path) -> None:
    """What belongs to every run works where data is streamed."""
    data, dev = documents(40), documents(10, 1)
    settings: dict[str, Any] = {"learner": "sgd", "stream": True}
    whole = SemiCRF(**settings, max_iterations=4).fit(data, X_dev=dev)
    assert whole.history_[-1].dev_score is not None
    place = tmp_path / "checkpoint"
    SemiCRF(**settings, max_iterations=2).fit(data, checkpoint=place)
    again = SemiCRF(**settings, max_iterations=4).fit(data, checkpoint=place)
    at_once = SemiCRF(**settings, max_iterations=4).fit(data)
    np.testing.assert_array_equal(again.weights_, at_once.weights_)
    more = documents(30, 2)
    for near in (True, "near"):
        memory = SemiCRF(learner="sgd", max_iterations=2).fit(data)
        memory.set_params(warm_start=near)
        stream = pickle.loads(pickle.dumps(memory)).set_params(stream=True)
        assert_same_weights(memory.fit(more), stream.fit(more))


def test_a_file_is_read_for_each_pass(tmp_path: Path) -> None:
    """A corpus is never listed; a file that changes in between is noticed."""
    data = documents(30)
    write(tmp_path / "data.jsonl", data)
    corpus = read(tmp_path / "data.jsonl")
    model = ChainCRF(learner="perceptron", stream=True, max_iterations=2).fit(corpus)
    memory = ChainCRF(learner="perceptron", max_iterations=2).fit(data)
    assert_same_weights(memory, model)

    def shorter(progress: Any) -> None:
        write(tmp_path / "data.jsonl", data[:20])

    with pytest.raises(InvalidInput, match=r"got 20 sequences .* expected 30"):
        model.fit(corpus, callbacks=[shorter])


def test_the_first_attributes_are_kept() -> None:
    """A cap holds exactly, what is left out has no weight, and streams keep the same ones."""
    data = documents(40)
    settings: dict[str, Any] = {"learner": "adagrad", "max_attributes": 50}
    memory = SemiCRF([word[0], word[-1]], **settings).fit(data)
    stream = SemiCRF([word[0], word[-1]], **settings, stream=True).fit(data)
    assert_same_weights(memory, stream)
    free = SemiCRF([word[0], word[-1]], learner="adagrad").fit(data)
    kept = {name for name, _ in weights_by_name(stream)} - {"transition", "start", "end"}
    encoder = Encoder([word[0], word[-1]])
    encoder.encode(data, grow=True)
    assert kept == set(encoder.names(range(50)))
    assert kept < {name for name, _ in weights_by_name(free)}


def bad_streams() -> list[tuple[dict[str, Any], str]]:
    return [
        ({"learner": "lbfgs"}, "learner: got 'lbfgs', .*sgd, adagrad, perceptron, pa, arow"),
        ({"learner": "svm"}, "learner: got 'svm'"),
        ({"learner": "sgd", "order": 2}, "order: got 2"),
        ({"learner": "sgd", "min_freq": 2}, "min_freq: got 2"),
        ({"learner": "perceptron", "beam": 4}, "beam"),
        ({"learner": "sgd", "features": [history(word[0], 1)]}, "features: got"),
        ({"learner": "sgd", "max_attributes": 0}, "max_attributes: got 0"),
    ]


@pytest.mark.parametrize(("settings", "said"), bad_streams())
def test_what_cannot_be_streamed(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        SemiCRF(**settings, stream=True).fit(documents(5))


def test_what_is_there_only_once_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"X: got .*generator.*stream=True"):
        SemiCRF(learner="sgd", stream=True).fit(d for d in documents(5))
    with pytest.raises(InvalidInput, match="X: got no sequences"):
        SemiCRF(learner="sgd", stream=True).fit([])


def test_errors_name_the_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caesura.models.model.CHUNK", 8)
    monkeypatch.setattr(streaming, "BLOCK", 1)
    data = documents(20)
    settings: dict[str, Any] = {"learner": "sgd", "stream": True, "max_length": 1}
    short = [Document(("a",), segments=(Segment(0, 1, "x"),))] * 17
    long = [Document(("a", "b"), segments=(Segment(0, 2, "x"),))]
    with pytest.raises(InvalidInput, match=r"y\[17\]: got \(0, 2, 'x'\)"):
        SemiCRF(**settings).fit(short + long)
    data[9] = Document(("a",))
    with pytest.raises(InvalidInput, match=r"y\[9\]"):
        SemiCRF(learner="sgd", stream=True).fit(data)


# -- batches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_batches_go_on(kind: type[Any], learner: str) -> None:
    """Two calls with half of the data each learn about as much as a pass over all of it."""
    data, held_out = documents(80), documents(40, 1)
    model = kind(learner=learner)
    size = len(model.partial_fit(data[:40], labels=LABELS).weights_)
    f1 = model.score(held_out, [d.segments for d in held_out])
    for k in range(1, 4):
        model.partial_fit(data[40 - 10 * k : 80 - 10 * k])
    assert len(model.weights_) > size
    assert model.score(held_out, [d.segments for d in held_out]) > f1
    assert [p.iteration for p in model.history_] == [1, 2, 3, 4]


@pytest.mark.parametrize("learner", LEARNERS)
def test_one_batch_is_one_pass(learner: str) -> None:
    """The first call equals one pass of fit where the data has text outside."""
    data = [replace(d, segments=(d.segments or ())[1:]) for d in documents(30)]
    model = SemiCRF(learner=learner).partial_fit(data)
    once = SemiCRF(learner=learner, max_iterations=1).fit(data)
    assert model.labels_ == once.labels_
    assert_same_weights(model, once)


@pytest.mark.parametrize("learner", ["perceptron", "pa", "arow"])
def test_batches_are_a_pass_in_the_same_order(
    learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every weight there from the start, batches are parts of one pass."""
    data = documents(30)
    everything: dict[str, Any] = {"all_possible_states": True, "learner": learner}
    monkeypatch.setattr("caesura.learning.path_learners.order_of", lambda f, r: np.arange(len(f)))
    parts = SemiCRF([word[0]], **everything)
    for k in range(0, 30, 10):
        parts.partial_fit(data[k : k + 10], labels=LABELS if k == 0 else None)
    whole = SemiCRF([word[0]], **everything).partial_fit(data, labels=LABELS)
    assert_same_weights(parts, whole)


def test_labels_are_fixed_by_the_first_call() -> None:
    X, y = [["a", "b"]], [[(0, 1, "x")]]
    model = SemiCRF(learner="sgd").partial_fit(X, y, labels=["x", "z"])
    assert model.labels_ == ["x", "z"]
    model.partial_fit([["c"]], [[(0, 1, "z")]])
    with pytest.raises(InvalidInput, match=r"y\[0\]: got 'new', expected one of x, z"):
        model.partial_fit(X, [[(0, 1, "new")]])
    with pytest.raises(InvalidInput, match="labels: got"):
        model.partial_fit(X, y, labels=["other"])
    with pytest.raises(InvalidInput, match=r"y: got \['x'\]"):
        SemiCRF(learner="sgd").partial_fit(X, y, labels=["z"])
    chain = ChainCRF(learner="arow").partial_fit([["a", "b"]], [["B-x", "O"]])
    chain.partial_fit([["a", "b"]], [["B-x", "I-x"]])  # a tag of a known label
    with pytest.raises(InvalidInput, match="got 'B-q'"):
        chain.partial_fit([["a", "b"]], [["B-q", "I-x"]])


def test_learners_without_online_updates_refuse() -> None:
    for learner in ("lbfgs", "svm", "cutting-plane", "eg"):
        with pytest.raises(InvalidInput, match=f"learner: got '{learner}'.*partial_fit: sgd"):
            SemiCRF(learner=learner).partial_fit(documents(3))


@pytest.mark.parametrize("learner", LEARNERS)
def test_going_on_after_fit_pickle_and_load(learner: str, tmp_path: Path) -> None:
    """A model that was fitted, unpickled or loaded goes on from its weights."""
    data, more = documents(80), documents(20, 1)
    fitted = SemiCRF(learner=learner, max_iterations=2).fit(data)
    fitted.save(tmp_path / "model")
    models = [fitted, pickle.loads(pickle.dumps(fitted)), caesura.load(tmp_path / "model")]
    for model in models:
        model.partial_fit(more)
        assert model.labels_ == fitted.labels_
        assert len(model.history_) == 1
    assert_same_weights(models[0], models[1])
    assert_same_weights(models[0], models[2])
    model.save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    assert again.predict(more) == model.predict(more)
    again.partial_fit(data)


def test_new_attributes_up_to_the_cap() -> None:
    data = documents(40)
    model = SemiCRF([word[0]], learner="sgd", max_attributes=60)
    for k in range(4):
        model.partial_fit(data[10 * k : 10 * k + 10], labels=LABELS)
    assert len(model._known.encoder) == 60


# -- what is shown, and the command line -----------------------------------------------------------


def test_progress_shows_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caesura.models.model.CHUNK", 16)
    monkeypatch.setattr(streaming, "BLOCK", 1)
    shown: list[str] = []

    class Line(ProgressLine):
        def _update(self) -> None:
            shown.append(self.line())

    for module in ("training", "streaming"):
        monkeypatch.setattr(f"caesura.models.{module}.ProgressLine", Line)
    data = documents(40)
    ChainCRF(learner="sgd", stream=True, max_iterations=2, verbose=True).fit(data)
    assert shown[0] == "reading: 16 sequences"
    passes = [line.partition("  ")[0] for line in shown if line.startswith("pass")]
    shares = ("0%", "40%", "80%", "100%")
    assert passes == [f"pass {k}: {share} of 40 sequences" for k in (1, 2) for share in shares]
    assert shown[-1].startswith("iteration 2")


def test_the_command_line_streams(tmp_path: Path) -> None:
    train, dev, model = (tmp_path / name for name in ("train.jsonl", "dev.jsonl", "parts.model"))
    write(train, addresses(60, 1))
    write(dev, addresses(20, 2))
    options = ("--learner", "perceptron", "--stream", "--max-attributes", 300, "--dev", dev)
    ran = good("train", train, "-o", model, *options, "--max-iterations", 4, "--quiet", "--json")
    assert ran.json["data"]["train, first 60"]["sequences"] == 60
    assert ran.json["dev"]["micro"]["f1"] > 0.9
    shown = good("inspect", model, "--json").json
    assert shown["settings"]["max_attributes"] == 300
    assert shown["attributes"] <= 300
    said = bad("train", "-", "-f", "jsonl", "-o", model, "--learner", "sgd", "--stream")
    assert "--stream: got the standard input" in said
    assert "learner: got 'lbfgs'" in bad("train", train, "-o", model, "--stream")
