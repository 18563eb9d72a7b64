"""``caesura train --executor``."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_data import bad, good

import caesura
from caesura import corpora
from caesura.cli import scaling
from caesura.demo import addresses


@pytest.fixture
def shards(tmp_path: Path) -> str:
    documents = addresses(80, seed=2)
    for k in range(4):
        corpora.write_jsonl(tmp_path / f"shard{k}.jsonl.gz", documents[20 * k : 20 * (k + 1)])
    return str(tmp_path / "shard*.jsonl.gz")


def train(shards: str, model: Path, *more: str) -> Any:
    return good("train", shards, "-o", model, "--max-iterations", 15, "--json", *more).json


def test_models_are_the_same_file(shards: str, tmp_path: Path) -> None:
    dev = tmp_path / "dev.jsonl"
    corpora.write_jsonl(dev, addresses(20, seed=9))
    one, two = tmp_path / "one.model", tmp_path / "two.model"
    said = train(shards, one, "--executor", "1", "--dev", str(dev))
    assert said["dev"]["micro"]["f1"] > 0.8
    more = ("--executor", "2", "--dev", str(dev), "--parts-folder", str(tmp_path))
    train(shards, two, *more)
    a, b = caesura.load(one), caesura.load(two)
    assert a.weights_.tobytes() == b.weights_.tobytes()


def test_a_killed_driver_goes_on(shards: str, tmp_path: Path) -> None:
    whole, model = tmp_path / "whole.model", tmp_path / "killed.model"
    train(shards, whole, "--executor", "1")
    command = [sys.executable, "-m", "caesura", "train", shards, "-o", str(model), "-q"]
    command += ["--max-iterations", "15", "--executor", "1"]
    place = tmp_path / "killed.model.checkpoint"
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    while not place.exists() and process.poll() is None:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if place.exists():  # else it was quicker than the signal
        train(shards, model, "--executor", "2", "--resume")
    assert caesura.load(model).weights_.tobytes() == caesura.load(whole).weights_.tobytes()


def test_what_is_wrong(shards: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "CONNECT", 1)
    model = tmp_path / "m"

    def wrong(*more: str, where: str = shards) -> str:
        return bad("train", where, "-o", model, *more)

    assert "--executor: got 'spark', expected a number of processes" in wrong("--executor", "spark")
    assert "--scheduler: got 'tcp://a:1'" in wrong("--scheduler", "tcp://a:1")
    assert "got --stream" in wrong("--executor", "2", "--stream", "--learner", "sgd")
    assert "learner: got 'sgd'" in wrong("--executor", "2", "--learner", "sgd")
    assert "got the standard input" in wrong("--executor", "2", where="-")
    nothing = str(tmp_path / "none*.jsonl")
    assert "expected a file or a pattern" in wrong("--executor", "2", where=nothing)
    gone = wrong("--executor", "dask", "--scheduler", "tcp://127.0.0.1:9")
    assert "tcp://127.0.0.1:9 does not answer within 1 s" in gone
    assert not model.exists()
