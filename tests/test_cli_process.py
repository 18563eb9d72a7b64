"""The program as a process: pipes, exit codes, completion, what it imports."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_data import addresses, good

import caesura
from caesura import corpora

PROGRAM = [sys.executable, "-W", "error", "-m", "caesura"]


def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("process")
    corpora.write(place / "train.jsonl", addresses(20, 1))
    good("train", place / "train.jsonl", "-o", place / "model", "--c2", 0.1)
    return place


def test_stdin_to_stdout(folder: Path) -> None:
    out, err = start("segment", folder / "model").communicate("7 Park Lane, York\n")
    assert json.loads(out)["segments"][1] == [1, 3, "street"]
    assert err == ""


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    text = folder / "many.txt"
    text.write_text("7 Park Lane, York\n" * 5000)
    with start("segment", folder / "model", text, "--batch", 100) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == ""
    assert program.returncode == 0


def test_a_model_is_written_though_nobody_reads_on(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    with start("train", folder / "train.jsonl", "-o", model, "--max-iterations", 5) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        assert program.stderr.read() == ""
    assert program.returncode == 0
    assert caesura.load(model).labels_


def test_help_may_be_cut_off() -> None:
    with start("train", "--help") as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        assert program.stderr.read() == ""
    assert program.returncode == 0


def test_exit_codes(folder: Path) -> None:
    for arguments, code in (
        (["inspect", folder / "train.jsonl"], 1),
        (["inspect"], 2),
        ([], 2),
    ):
        program = start(*arguments)
        _, err = program.communicate()
        assert program.returncode == code, err
        assert "Traceback" not in err


def test_interruption_leaves_a_checkpoint(folder: Path) -> None:
    data = folder / "more.jsonl"
    corpora.write(data, addresses(400, 2))
    never = ["--epsilon", 0, "--delta", 0, "--learner", "sgd", "--max-iterations", 1000000]
    program = start("train", data, "-o", folder / "long", *never)
    checkpoint = folder / "long.checkpoint"
    while not checkpoint.exists() and program.poll() is None:
        time.sleep(0.02)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate()
    assert program.returncode == 130, err
    assert "go on with:\n  caesura train" in err
    assert err.rstrip().endswith("--resume")
    assert "what to do next" not in out


def test_completion(folder: Path) -> None:
    ask = {"_CAESURA_COMPLETE": "complete_bash"}
    out, _ = start(COMP_WORDS="caesura lea", COMP_CWORD="1", **ask).communicate()
    assert out.split() == ["learning-curve"]
    words = {"COMP_WORDS": "caesura train x --preset cit", "COMP_CWORD": "4"}
    out, _ = start(**words, **ask).communicate()
    assert out.split() == ["citations"]


def test_importing_the_program_is_light() -> None:
    code = "import sys, caesura.cli; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"rich", "matplotlib", "safetensors", "sklearn", "rapidfuzz"}
    assert not heavy & {name.split(".")[0] for name in out.stdout.split()}
