"""Progress of what takes long, and fits that are interrupted."""

import itertools
import re
import signal
import warnings
from pathlib import Path
from typing import Any

import pytest
from cli_data import addresses, good, run

import caesura
from caesura import ChainCRF, SemiCRF, corpora
from caesura.cli import progress as of_commands
from caesura.features import previous, this, word
from caesura.learning import LEARNERS, Progress, progress


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("progress")
    corpora.write(place / "train.jsonl", addresses(600, 1))
    corpora.write(place / "few.jsonl", addresses(20, 2))
    good("train", place / "few.jsonl", "-o", place / "model", "--max-iterations", 5)
    return place


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show all that would be shown if everything took long."""
    monkeypatch.setattr(progress, "FIRST", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.0)


COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "train": (
        ("train", "train.jsonl", "-o", "new.model", "--max-iterations", "3"),
        ("reading .*train.jsonl: 256 sequences, ", "features: 600 of 600", "iteration 3"),
    ),
    "segment": (
        ("segment", "model", "train.jsonl", "-o", "out.jsonl", "--batch", "200"),
        ("segmenting: 200 sequences, ", "segmenting: 600 sequences, 100%"),
    ),
    "evaluate": (
        ("evaluate", "model", "train.jsonl"),
        ("reading .*train.jsonl", "segmenting: 600 of 600 sequences, 100%"),
    ),
    "convert": (("convert", "train.jsonl", "new.conll"), ("converting: 256 sequences, ",)),
    "load": (
        ("load", "model", "train.jsonl", "--into", "sqlite:///rows.sqlite", "--batch", "200"),
        ("400 records", "67 %"),
    ),
    "tune": (
        ("tune", "few.jsonl", "--try", "c2=0.1,1", "--folds", "2", "--max-iterations", "2"),
        ("1 of 4 fits, 25%", "4 of 4 fits, 100%"),
    ),
    "learning-curve": (
        ("learning-curve", "few.jsonl", "--sizes", "5,10", "--max-iterations", "2"),
        ("1 of 4 fits, 25%, semi 5: F1",),
    ),
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_show_how_far_they_are(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    arguments, expected = COMMANDS[command]
    loud = good(*arguments)
    for pattern in expected:
        assert re.search(pattern, loud.err), (pattern, loud.err)
    assert loud.err.endswith("\n")
    assert "\r" not in loud.err
    Path("new.model").unlink(missing_ok=True)
    quiet = good(*arguments, "--quiet")
    assert not re.search(r"\d%|\d %|iteration \d|features: ", quiet.err), quiet.err
    if command not in ("train", "load"):  # these report seconds, and what was there before
        assert quiet.out == loud.out


def test_what_is_short_shows_nothing(folder: Path) -> None:
    assert good("evaluate", folder / "model", folder / "few.jsonl").err == ""


def test_time_left_follows_from_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("caesura.learning.progress.time.monotonic", lambda: now)
    stage = progress.Stage("reading", 1000, True)
    now = 130.0
    assert stage.line(250) == "reading: 250 of 1,000 sequences, 25%, about 90 s left".replace(
        "90 s", progress.duration(90)
    )
    assert stage.line(1000) == "reading: 1,000 of 1,000 sequences, 100%"
    assert progress.Stage(show=True, what="records").line(3, "more") == "3 records, more"


def test_lines_off_a_terminal_come_every_few_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("caesura.learning.progress.time.monotonic", lambda: now)
    with of_commands.showing(), of_commands.Ticker(what="records") as ticker:
        for now in range(13):
            ticker(now)
    counts = [line.split()[0] for line in capsys.readouterr().err.splitlines()]
    assert counts == ["2", "7", "12"]
    with of_commands.Ticker(what="records") as ticker:  # the library is asked by nobody
        now = 100.0
        ticker(1)
    assert capsys.readouterr().err == ""


def test_progress_in_a_pipe_ends_with_a_line_end(capsys: pytest.CaptureFixture[str]) -> None:
    SemiCRF(verbose=True, max_iterations=2).fit(addresses(20, 1))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    assert "iteration 2" in err.splitlines()[-1]


def test_the_share_of_packed_and_repeated_files(tmp_path: Path) -> None:
    from caesura.corpora.reading_progress import metered

    corpora.write(tmp_path / "a.jsonl.gz", addresses(500, 1))
    corpora.write(tmp_path / "a.conll", addresses(500, 1))
    for name in ("a.jsonl.gz", "a.conll"):
        with metered() as meter:
            documents = iter(corpora.read(tmp_path / name))
            for _ in itertools.islice(documents, 10):
                pass
            some = meter.share()
            assert some is not None
            assert 0.0 < some <= 1.0
            for _ in documents:
                pass
            assert meter.share() == 1.0


# ---- interruptions -------------------------------------------------------------------------------

X = [["a", "b", "c"], ["c", "d"], ["a", "d", "b"]] * 10
Y = [["A", "B", "A"], ["B", "A"], ["A", "A", "B"]] * 5  # no weights are right for all
Y += [["B", "B", "A"], ["A", "A"], ["B", "A", "A"]] * 5
SEGMENTS = [[(0, 1, "A"), (1, 3, "B")], [(0, 2, "B")], [(0, 3, "A")]] * 5
SEGMENTS += [[(0, 3, "B")], [(0, 2, "A")], [(0, 1, "B"), (1, 3, "A")]] * 5


def interrupt_at(iteration: int) -> Any:
    """Return a callback that sends SIGINT to this process."""

    def callback(made: Progress) -> None:
        if made.iteration == iteration:
            signal.raise_signal(signal.SIGINT)

    return callback


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_interrupted_fit_keeps_its_weights(learner: str) -> None:
    settings: dict[str, Any] = {"learner": learner, "epsilon": 0, "delta": 0, "n_threads": 1}
    if LEARNERS[learner].losses:
        settings.pop("epsilon")
    model = ChainCRF([word[0], word[-1]], scheme=None, **settings, max_iterations=500)
    with pytest.warns(UserWarning, match="interrupted after iteration 3; the weights so far"):
        assert model.fit(X, Y, callbacks=[interrupt_at(3)]) is model
    assert model.status_ == "interrupted"
    assert len(model.history_) == 3
    assert model.predict(X[:2])
    model.set_params(max_iterations=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same = ChainCRF(**model.get_params()).fit(X, Y)
    assert same.status_ == "max_iterations"
    assert (same.weights_ == model.weights_).all()


@pytest.mark.parametrize("learner", ["lbfgs", "perceptron"])
def test_models_that_look_back_keep_their_weights(learner: str) -> None:
    features = [word[0], previous.label & this.length]
    model = SemiCRF(features, learner=learner, max_length=3, epsilon=0, delta=0)
    with pytest.warns(UserWarning, match="interrupted after iteration 2"):
        model.fit(X, SEGMENTS, callbacks=[interrupt_at(2)])
    assert model.status_ == "interrupted"
    assert model.predict(X[:2])


def test_the_best_weights_on_development_data_are_kept() -> None:
    model = ChainCRF([word[0], word[-1]], scheme=None, epsilon=0, delta=0)
    with pytest.warns(UserWarning, match="best weights on the development data so far"):
        model.fit(X, Y, X_dev=X[:3], y_dev=Y[:3], callbacks=[interrupt_at(4)])
    scores = [one.dev_score or 0.0 for one in model.history_]
    assert model.score(X[:3], Y[:3]) == max(scores)


def test_before_the_first_iteration_there_is_nothing_to_keep() -> None:
    def data() -> Any:
        yield from zip(X, Y, strict=True)
        signal.raise_signal(signal.SIGINT)

    model = ChainCRF([word[0]], scheme=None)
    with pytest.raises(KeyboardInterrupt):
        model.fit((x for x, _ in data()), Y)
    with pytest.raises(caesura.CaesuraError, match="not fitted yet"):
        model.predict(X)


def test_with_a_checkpoint_the_interruption_is_raised(tmp_path: Path) -> None:
    model = ChainCRF([word[0]], scheme=None, epsilon=0, delta=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, checkpoint=tmp_path / "run", callbacks=[interrupt_at(3)])
    assert (tmp_path / "run").exists()


def test_an_interrupted_network_keeps_its_weights() -> None:
    from caesura.neural import NeuralSegmenter

    model = NeuralSegmenter(epochs=50)
    with pytest.warns(UserWarning, match="interrupted after iteration 2"):
        model.fit(X, SEGMENTS, callbacks=[interrupt_at(2)])
    assert (model.status_, len(model.history_)) == ("interrupted", 2)
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("command", ["tune", "learning-curve"])
def test_commands_of_many_fits_end_at_an_interruption(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, calls = SemiCRF.fit, []

    def interrupted(self: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(self)
        if len(calls) == 2:
            options["callbacks"] = [interrupt_at(1)]
        return fit(self, *arguments, **options)

    monkeypatch.setattr(SemiCRF, "fit", interrupted)
    monkeypatch.chdir(folder)
    arguments = {
        "tune": ("tune", "few.jsonl", "--try", "c2=0.1,1", "--folds", 2),
        "learning-curve": ("learning-curve", "few.jsonl", "--sizes", "5,10", "--models", "semi"),
    }
    ran = run(*arguments[command])
    assert ran.code == 130
    assert "interrupted after" in ran.err
    assert len(calls) == 2
