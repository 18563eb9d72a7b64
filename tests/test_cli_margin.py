"""Learners with a margin on the command line."""

from pathlib import Path

import pytest
from cli_data import addresses, bad, good, records_of, write_lines

from caesura.corpora import write
from caesura.learning.learners import LEARNERS

pytestmark = pytest.mark.filterwarnings("ignore:learner=")  # short runs, which leave a gap


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    write(path, addresses(30, 1))
    return path


@pytest.mark.parametrize("learner", [name for name, one in LEARNERS.items() if one.losses])
def test_every_learner_is_offered(learner: str, corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "parts.model"
    options = ("--learner", learner, "--loss", "segments", "--pa-type", 2, "--max-iterations", 15)
    numbers = ("--pa-c", 0.5, "--arow-variance", 2, "--arow-r", 0.5, "--c2", 0.05)
    good("train", corpus, "-o", model, *options, *numbers, "--calibrate", corpus, "--quiet")
    ran = good("segment", model, corpus, "--probabilities", "-o", tmp_path / "out.jsonl")
    assert "margin" not in ran.err
    assert records_of(tmp_path / "out.jsonl")[0]["segments"]


def test_uncalibrated_probabilities_are_remarked_once(corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "parts.model"
    good("train", corpus, "-o", model, "--learner", "perceptron", "--quiet")
    texts = write_lines(tmp_path / "texts.jsonl", [{"text": "1 High Street, Leeds"}] * 3)
    out = tmp_path / "out.jsonl"
    ran = good("segment", model, texts, "--probabilities", "-o", out)
    assert len(records_of(out)) == 3
    assert ran.err.count("uncalibrated margin model") == 1


def test_tune_tries_learners_and_losses(corpus: Path, tmp_path: Path) -> None:
    tries = ("--try", "learner=svm,perceptron", "--try", "loss=hamming,segments")
    best = tmp_path / "best.toml"
    good("tune", corpus, *tries, "--folds", 2, "--max-iterations", 5, "-o", best, "--json")
    assert "learner" in best.read_text()
    good("train", corpus, "-o", tmp_path / "model", "--config", best, "--quiet")


@pytest.mark.filterwarnings("default:learner=")
def test_a_gap_is_one_line(corpus: Path, tmp_path: Path) -> None:
    options = ("--learner", "svm", "--c2", 0.01, "--max-iterations", 2)
    said = good("train", corpus, "-o", tmp_path / "parts.model", *options).err
    lines = [line for line in said.splitlines() if "learner='svm'" in line]
    assert len(lines) == 1
    assert lines[0].startswith("warning: learner='svm': ended after 2 iterations")


def test_wrong_choices_are_one_line(corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "parts.model"
    assert "loss: got 'zero-one'" in bad(
        "train", corpus, "-o", model, "--learner", "eg", "--loss", "zero-one"
    )
    assert "c1: got 0.5" in bad("train", corpus, "-o", model, "--learner", "svm", "--c1", 0.5)
