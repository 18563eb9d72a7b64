"""The program as a process: pipes, exit codes, completion, what it imports."""

import json
import os
import shlex
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
    assert "continue with:\n  caesura train" in err
    assert err.rstrip().endswith("--resume")
    assert "what to do next" not in out


def test_completion(folder: Path) -> None:
    ask = {"_CAESURA_COMPLETE": "complete_bash"}
    out, _ = start(COMP_WORDS="caesura lea", COMP_CWORD="1", **ask).communicate()
    assert out.split() == ["learning-curve"]
    words = {"COMP_WORDS": "caesura train x --preset cit", "COMP_CWORD": "4"}
    out, _ = start(**words, **ask).communicate()
    assert out.split() == ["citations"]


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_imports_little(arguments: list[str]) -> None:
    code = (
        "import sys, atexit; from caesura.__main__ import main; "
        "atexit.register(lambda: sys.stderr.write(' '.join(sys.modules))); main()"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    found = {name.split(".")[0] for name in done.stderr.split()}
    assert "typer" in found
    assert not {"numpy", "matplotlib", "safetensors", "sklearn", "rapidfuzz"} & found
    mine = {name for name in done.stderr.split() if name.startswith("caesura.")}
    assert not {"caesura.corpora", "caesura.documents", "caesura.inference"} & mine


def test_importing_the_program_is_light() -> None:
    code = "import sys, caesura.cli; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "rich", "matplotlib", "safetensors", "sklearn", "rapidfuzz"}
    assert not heavy & {name.split(".")[0] for name in out.stdout.split()}


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
@pytest.mark.parametrize("part", ["typer", "numpy", "caesura.models", "safetensors"])
def test_an_interruption_while_importing_is_no_traceback(folder: Path, part: str) -> None:
    code = f"""
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {part!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["caesura", "segment", {str(folder / "model")!r}, {str(folder / "train.jsonl")!r}]
from caesura.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_is_ended_leaves_nothing_behind(folder: Path, sent: int, code: int) -> None:
    place = folder / f"ended{code}"
    place.mkdir()
    with start(
        "segment", folder / "model", "-", "-o", place / "out.jsonl", "--batch", 1
    ) as program:
        assert program.stdin is not None
        program.stdin.write("7 Park Lane, York\n" * 20_000)
        program.stdin.flush()
        while not list(place.iterdir()) and program.poll() is None:
            time.sleep(0.02)
        program.send_signal(sent)
        program.wait(60)
        assert program.stderr is not None
        assert "Traceback" not in program.stderr.read()
    assert program.returncode == code
    assert list(place.iterdir()) == []


def test_an_interruption_while_a_line_is_made_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder of JSON turns whatever its callback raises into a TypeError."""
    from caesura.cli import prediction_formats, prediction_output

    def interrupted(value: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(prediction_output, "_plain", interrupted)
    answer = prediction_formats.Answer(caesura.Document(("Ann",)), [caesura.Segment(0, 1, "PER")])
    with pytest.raises(KeyboardInterrupt):
        prediction_output.line_of(answer)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_full_disk_is_one_line(folder: Path) -> None:
    for arguments in (
        ("segment", folder / "model", folder / "train.jsonl", "-o", "/dev/full"),
        ("segment", folder / "model", folder / "train.jsonl"),
        ("evaluate", folder / "model", folder / "train.jsonl"),
        ("inspect", folder / "model", "--json"),
    ):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*PROGRAM, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True
            )
        assert done.returncode == 1, done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert "no space left on device" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no such shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(folder: Path, closed: str) -> None:
    place = folder / "closed.jsonl"
    place.unlink(missing_ok=True)
    command = [*PROGRAM, "segment", str(folder / "model"), str(folder / "train.jsonl")]
    quoted = shlex.join([*command, "-o", str(place)])
    done = subprocess.run(f"{quoted} {closed}", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert "rror" not in done.stderr
    assert len(place.read_text().splitlines()) == 20
