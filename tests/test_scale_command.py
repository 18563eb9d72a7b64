"""``caesura train --executor`` and ``caesura segment --executor``."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_data import bad, good, records_of, run

import caesura
from caesura import corpora
from caesura.cli import executor_options
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


def test_interrupted_workers_are_quiet(shards: str, tmp_path: Path) -> None:
    model = tmp_path / "stopped.model"
    command = [sys.executable, "-m", "caesura", "train", shards, "-o", str(model)]
    command += ["--max-iterations", "100000", "--delta", "0", "--epsilon", "0", "--c2", "1e-9"]
    process = subprocess.Popen(
        [*command, "--executor", "2"],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not Path(f"{model}.checkpoint").exists() and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
    _, said = process.communicate()
    assert process.returncode == 130
    assert "--resume" in said
    assert "Traceback" not in said


def _handler() -> Any:
    return signal.getsignal(signal.SIGINT)


def test_dask_workers_leave_interrupts_to_the_driver() -> None:
    before = _handler()
    with executor_options.engine(executor_options.Workers("dask")) as client:
        assert set(client.run(_handler).values()) == {signal.SIG_IGN}
        assert _handler() is before


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
    monkeypatch.setattr(executor_options, "CONNECT", 1)
    model = tmp_path / "m"

    def wrong(*more: str, where: str = shards) -> str:
        return bad("train", where, "-o", model, *more)

    assert "--executor: got 'spark', expected a number of processes" in wrong("--executor", "spark")
    assert "--scheduler: got 'tcp://a:1'" in wrong("--scheduler", "tcp://a:1")
    assert "combined with --stream" in wrong("--executor", "2", "--stream", "--learner", "sgd")
    assert "learner: got 'eg'" in wrong("--executor", "2", "--learner", "eg", "--c2", "1")
    assert "got the standard input" in wrong("--executor", "2", where="-")
    nothing = str(tmp_path / "none*.jsonl")
    assert "expected a file, or a pattern" in wrong("--executor", "2", where=nothing)
    gone = wrong("--executor", "dask", "--scheduler", "tcp://127.0.0.1:9")
    assert "tcp://127.0.0.1:9 does not answer within 1 s" in gone
    assert not model.exists()


# -- segment ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model") / "addresses.model"
    caesura.SemiCRF(max_iterations=8).fit(addresses(40, seed=1)).save(place)
    return place


@pytest.fixture
def texts(tmp_path: Path) -> str:
    (tmp_path / "new").mkdir()
    for k in range(3):
        rows = [json.dumps({"text": one.text, "id": k}) for one in addresses(20, seed=k)]
        (tmp_path / "new" / f"shard{k}.jsonl").write_text("\n".join(rows) + "\n")
    return str(tmp_path / "new" / "*.jsonl")


def test_many_files_are_segmented_as_one_by_one(model: Path, texts: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("segment", model, texts, "-o", out, "--executor", "2", "--json")
    said = good(*command).json
    assert (said["sequences"], said["failed"]) == (60, 0)
    for k in range(3):
        alone = tmp_path / f"{k}.jsonl"
        good("segment", model, tmp_path / "new" / f"shard{k}.jsonl", "-o", alone)
        part = records_of(out / f"shard{k}.jsonl.jsonl")
        assert part == records_of(alone)
        assert part[0]["id"] == k
    again = good(*command).json
    assert [part["skipped"] for part in again["parts"]] == [True] * 3
    assert "60 sequences in 3 parts, 3 of them finished before" in good(*command[:-1]).err


def test_bad_files_do_not_stop_the_others(model: Path, texts: str, tmp_path: Path) -> None:
    out, bad_file = tmp_path / "out", tmp_path / "new" / "shard1.jsonl"
    kept = bad_file.read_bytes()
    bad_file.write_bytes(b"{no json\n" + kept)
    (tmp_path / "new" / "shard3.jsonl").mkdir()
    ran = run("segment", model, texts, "-o", out, "--executor", "1", "--to", "csv")
    assert ran.code == 1
    assert "1 record cannot be read or segmented, for example " in ran.err
    assert "1 of 4 parts failed: " in ran.err
    assert "shard3.jsonl" in ran.err
    assert json.loads((out / "manifest.json").read_text())["sequences"] == 60
    [line] = (out / "shard1.jsonl.csv.bad.jsonl").read_text().splitlines()
    assert json.loads(line)["record"] == "{no json"
    bad_file.write_bytes(kept)
    (tmp_path / "new" / "shard3.jsonl").rmdir()
    said = good("segment", model, texts, "-o", out, "--executor", "1", "--to", "csv", "--json").json
    assert [part["skipped"] for part in said["parts"]] == [True, False, True]
    assert not list(out.glob("*.bad.jsonl"))


def test_parts_of_csv_files_have_their_separator(model: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    rows = [f"{k};{one.text}" for k, one in enumerate(addresses(3))]
    (tmp_path / "new" / "a.csv").write_text("\n".join(["id;text", *rows]) + "\n")
    (tmp_path / "new" / "b.csv").write_text("id;text\n")
    (tmp_path / "new" / "c.csv").write_text("\n".join(["id;text", *rows]).replace(";", "\t"))
    out = tmp_path / "out"
    options = ("--executor", "1", "--text-column", "text")
    good("segment", model, tmp_path / "new" / "*.csv", "-o", out, *options, "--to", "csv")
    head, *lines = (out / "a.csv.csv").read_text().splitlines()
    assert head.startswith("id;text;")
    assert [line.partition(";")[0] for line in lines] == ["0", "1", "2"]
    assert (out / "c.csv.csv").read_text().startswith("id,text,")
    good("segment", model, tmp_path / "new" / "a.csv", "-o", tmp_path / "out2", *options)
    assert len(records_of(tmp_path / "out2" / "a.csv.jsonl")) == 3


def test_what_segment_cannot_do(model: Path, texts: str, tmp_path: Path) -> None:
    def wrong(*more: object, where: object = texts, out: object = tmp_path / "out") -> str:
        return bad("segment", model, where, "-o", out, *more)

    two = ("--executor", "2")
    assert "--scheduler: got 'tcp://a:1'" in wrong("--scheduler", "tcp://a:1")
    assert "--executor: got 'spark', expected a number" in wrong("--executor", "spark")
    assert "--n-best: cannot be combined with --executor" in wrong(*two, "--n-best", 2)
    assert "--to: got 'html', expected one of jsonl" in wrong(*two, "--to", "html")
    assert "got the standard input, expected input files" in wrong(*two, where="-")
    assert "got no output, expected input files and an output folder" in wrong(*two, out="-")
    assert "INPUT: got '" in wrong(*two, where=tmp_path / "none*")
    assert "which contains the input files" in wrong(*two, out=tmp_path / "new")
    assert "expected a folder for --executor" in wrong(*two, out=model)
    (tmp_path / "new" / "other.txt").write_text("1 High Street York\n")
    mixed = wrong(*two, where=tmp_path / "new" / "*")
    assert "expected a file in the same format as" in mixed
    assert not (tmp_path / "out").exists()
