"""Files that cannot be written, processes that are killed, and data that steers a terminal."""

import errno
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from cli_data import addresses, bad, good, run
from test_cli_process import PROGRAM, start

import caesura
from caesura import Document, SemiCRF, TooLarge, corpora, persistence
from caesura.cli.output import fail, note, say, table, visible
from caesura.corpora import temporary
from caesura.corpora.files import Together, replacing, writing
from caesura.features import Length, SegmentFeature, SegmentShape, TokenAt, word

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("lost")
    corpora.write(place / "train.jsonl", addresses(20, 1))
    good("train", place / "train.jsonl", "-o", place / "model", "--max-iterations", 5)
    return place


# ---- output and review file ----------------------------------------------------------------------


@needs_full
@pytest.mark.parametrize("review", ["/dev/full", "full.csv"])
def test_output_and_review_file_are_there_together_or_not_at_all(
    folder: Path, tmp_path: Path, review: str
) -> None:
    place, output = str(tmp_path / review), tmp_path / "out.jsonl"
    if review != "/dev/full":
        Path(place).symlink_to("/dev/full")
    output.write_text("old\n")
    line = bad(
        *("segment", folder / "model", folder / "train.jsonl", "-o", output),
        *("--threshold", 1.0, "--review", place),
    )
    assert f"{place}: no space left on device" in line
    assert output.read_text() == "old\n"
    assert {one.name for one in tmp_path.iterdir()} <= {"out.jsonl", review}


@needs_full
def test_a_full_output_leaves_the_old_review_file(folder: Path, tmp_path: Path) -> None:
    review = tmp_path / "review.csv"
    review.write_text("old\n")
    line = bad(
        *("segment", folder / "model", folder / "train.jsonl", "-o", "/dev/full"),
        *("--threshold", 0.0, "--review", review, "--to", "jsonl"),
    )
    assert "/dev/full: no space left on device" in line
    assert review.read_text() == "old\n"


def test_files_come_back_if_one_cannot_be_put_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("old")
    put = temporary.Beside.put

    def fails(self: temporary.Beside) -> None:
        if self.place.name == "c":
            raise OSError(5, "Input/output error")
        put(self)

    monkeypatch.setattr(temporary.Beside, "put", fails)

    def write() -> None:
        with Together():
            for name in "abc":
                with writing(tmp_path / name) as file:
                    file.write("new")

    with pytest.raises(OSError, match="Input/output"):
        write()
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


# ---- limits --------------------------------------------------------------------------------------


def limited(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [0, 3000])
def test_a_limit_of_size_is_found_before_training(folder: Path, tmp_path: Path, size: int) -> None:
    """With 0 not even a byte can be written; 3,000 bytes do not hold the changes of the weights."""
    done = subprocess.run(
        [*PROGRAM, "train", str(folder / "train.jsonl"), "-o", str(tmp_path / "m"), "--json"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: limited(size),
    )
    name = tmp_path / ("m" if size == 0 else "m.checkpoint")
    assert done.returncode == 1
    assert f"{name}: file too large" in done.stderr
    assert "iteration" not in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("form", ["parquet", "xlsx", "csv"])
def test_a_table_that_finds_no_room_leaves_nothing(folder: Path, tmp_path: Path, form: str) -> None:
    """An old file stays; of sheets, the temporary file is too large first, and is named."""
    texts = tmp_path / "in.txt"
    texts.write_text("".join(f"{k} Park Lane, York\n" for k in range(3000)))
    (tmp_path / "out").mkdir()
    place = tmp_path / "out" / f"new.{form}"
    place.write_text("old")
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [*PROGRAM, "segment", str(folder / "model"), str(texts), "-o", str(place), "--quiet"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: limited(20_000),
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )
    assert done.returncode == 1
    name = f"temporary file in {tmp_path / 'temporary'}" if form == "xlsx" else place
    assert f"error: {name}: file too large; raise the limit" in done.stderr
    assert place.read_text() == "old"
    assert os.listdir(tmp_path / "out") == [place.name]
    assert os.listdir(tmp_path / "temporary") == []


@pytest.mark.parametrize(
    ("code", "name", "words"),
    [
        (errno.ENOSPC, "a.xlsx", "write to another disk"),
        (errno.EDQUOT, "a.xlsx", "write to another disk"),
        (errno.ENOSPC, temporary.scratch_name(), "set TMPDIR"),
        (errno.EACCES, "a.xlsx", ""),
    ],
)
def test_full_disks_have_a_remedy(code: int, name: str, words: str) -> None:
    said = temporary.room_for(OSError(code, os.strerror(code), name))
    assert words in said
    assert bool(words) == bool(said)


def test_what_fills_up_later_leaves_the_last_checkpoint(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from caesura.learning import checkpoint as files

    kept, count = files.write, 0

    def write(path: object, *rest: object) -> None:
        nonlocal count
        count += 1
        if count > 1:
            raise OSError(28, "No space left on device", str(path))
        kept(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "write", write)
    never = ("--epsilon", 0, "--delta", 0, "--max-iterations", 25)
    ran = run("train", folder / "train.jsonl", "-o", tmp_path / "m", *never)
    assert ran.code == 1
    assert "m.checkpoint: no space left on device" in ran.err
    assert "training stopped" in ran.err
    assert "--resume" in ran.err
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["m.checkpoint"]
    done = good("train", folder / "train.jsonl", "-o", tmp_path / "m", *never, "--resume", "--json")
    assert done.json["iterations"] == 25
    assert os.listdir(tmp_path) == ["m"]


def test_a_model_that_cannot_be_written_is_in_the_checkpoint(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(self: object, path: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caesura.SemiCRF, "save", save)
    ran = run("train", folder / "train.jsonl", "-o", tmp_path / "m")
    assert ran.code == 1
    assert f"{tmp_path / 'm'}: no space left on device" in ran.err
    assert "the model is complete, but cannot be written" in ran.err
    assert (tmp_path / "m.checkpoint").exists()


@pytest.mark.parametrize("command", ["train", "segment", "convert", "tune", "learning-curve"])
def test_a_folder_that_takes_no_files_is_found_first(folder: Path, command: str) -> None:
    """As /proc is, also for root; nothing is read or learnt before."""
    data, place = folder / "train.jsonl", "/proc/self/new.jsonl"
    arguments = {
        "train": ("train", data, "-o", place, "--max-iterations", 10**6, "--epsilon", 0),
        "segment": ("segment", folder / "model", data, "-o", place),
        "convert": ("convert", data, place),
        "tune": ("tune", data, "-o", place),
        "learning-curve": ("learning-curve", data, "--png", place),
    }
    assert f"error: {place}: " in bad(*arguments[command])


# ---- what killed processes leave -----------------------------------------------------------------


def test_the_next_run_removes_what_a_killed_one_left(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "out.jsonl"
    with start("segment", folder / "model", "-", "-o", place, "--batch", 1) as program:
        assert program.stdin is not None
        program.stdin.write("7 Park Lane, York\n" * 2000)
        program.stdin.flush()
        while not list(tmp_path.iterdir()) and program.poll() is None:
            time.sleep(0.02)
        live = os.listdir(tmp_path)
        temporary._ours.cache_clear()
        good("segment", folder / "model", folder / "train.jsonl", "-o", place)  # beside a live one
        assert set(os.listdir(tmp_path)) == {*live, "out.jsonl"}
        program.send_signal(signal.SIGKILL)
        program.wait(60)
    assert len(os.listdir(tmp_path)) == 2
    foreign = [".out.jsonl.0123", f".other.{'0' * 16}", f".out.jsonl.{'g' * 16}", "out.jsonl.1"]
    for name in foreign:
        (tmp_path / name).write_text("not ours")
    temporary._ours.cache_clear()  # each process looks once
    good("segment", folder / "model", folder / "train.jsonl", "-o", place)
    assert set(os.listdir(tmp_path)) == {"out.jsonl", *foreign}


def test_a_file_that_was_taken_for_a_stale_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between making a file and locking it, another process may remove it."""
    hold, calls = temporary.Beside._hold, []

    def late(self: temporary.Beside, path: Path) -> bool:
        calls.append(path)
        if len(calls) == 1:
            path.unlink()
        return hold(self, path)

    monkeypatch.setattr(temporary.Beside, "_hold", late)
    with replacing(tmp_path / "a") as file:
        file.write(b"done")
    assert len(calls) == 2
    assert (tmp_path / "a").read_bytes() == b"done"
    assert os.listdir(tmp_path) == ["a"]


def test_temporary_files_name_their_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary.scratch() as file:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with pytest.raises(OSError, match="temporary file in"):
                file.write(b"x" * 100_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            file.seek(0)
            file.truncate()


# ---- wide tables ---------------------------------------------------------------------------------


def test_a_header_may_have_many_columns(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(40_000)]
    place = tmp_path / "wide.csv"
    place.write_text(f"text,{','.join(names)}\n7 Park Lane,{','.join(names)}\n")
    [document] = corpora.read(place)
    assert list(document.carried) == names


# ---- memory --------------------------------------------------------------------------------------


def test_a_sequence_that_memory_does_not_hold_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new.txt"
    file.write_text("7 Park Lane\n12 Mill Road, New Mills\n9 Elm Road\n")
    cut = Document.from_text

    def short(text: str, *options: Any, **more: Any) -> Document:
        if text.startswith("12"):
            raise MemoryError
        return cut(text, *options, **more)

    monkeypatch.setattr(Document, "from_text", short)
    with pytest.raises(TooLarge, match=r"new.txt, sequence 2: there is not enough memory to read"):
        list(corpora.read(file))
    monkeypatch.undo()
    model = SemiCRF([word[0]]).fit(["7 Park Lane"], [[(0, 1, "number")]])
    model.save(tmp_path / "model")

    def none(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(SemiCRF, "predict", none)
    said = bad("segment", tmp_path / "model", file, "-o", tmp_path / "out.jsonl")
    assert "new.txt, sequence 2: there is not enough memory for its 6 tokens" in said
    assert not (tmp_path / "out.jsonl").exists()


# ---- numbers in model files ----------------------------------------------------------------------


@pytest.mark.parametrize("number", [2**31 - 1, 2**63, 2**70, 10**400])
@pytest.mark.parametrize(
    ("feature", "field"), [(Length(exact=[2]), "exact"), (TokenAt(1, word), "positions")]
)
def test_numbers_that_are_too_large_are_refused(
    feature: SegmentFeature, field: str, number: int, tmp_path: Path
) -> None:
    model = caesura.SemiCRF([word[0], feature], max_iterations=2)
    model.fit(["a b c"], [[(0, 2, "x"), (2, 3, "y")]]).save(tmp_path / "model")
    header, arrays = persistence.read(tmp_path / "model", "model")
    spec = persistence.unpack(arrays["features"])
    spec[-1][field] = [number]
    persistence.write(
        tmp_path / "large", "model", header, arrays | {"features": persistence.pack(spec)}
    )
    assert "whole numbers" in bad("inspect", tmp_path / "large")


def test_a_shape_of_any_length_looks_at_no_more_than_there_is() -> None:
    model = caesura.SemiCRF([SegmentShape(2**70)], max_iterations=2)
    assert model.fit(["a b"], [[(0, 1, "x"), (1, 2, "y")]]).predict(["a b"])


# ---- terminals -----------------------------------------------------------------------------------

EVIL = "\x1b]0;owned\x07\x1b[2J[red]x[/red]\r\x9b1m\u202e:smile:\udc80"


def test_nothing_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"say {EVIL}")
    table(["head " + EVIL], [[f"cell {EVIL}"]])
    note(f"note {EVIL}")
    fail(f"fail {EVIL}", f"place {EVIL}")
    out, err = capsys.readouterr()
    for shown in (out, err):
        assert not {"\x1b", "\x07", "\r", "\x9b", "\u202e", "\udc80"} & set(shown)
        assert r"\x1b]0;owned\x07\x1b[2J[red]x[/red]\r\x9b1m\u202e:smile:\udc80" in shown
    assert out.count("\n") == 3


def test_text_for_people_stays_as_it_is() -> None:
    for text in ("a\u00a0b\u3000c", "نمی\u200cخواهم", "👩\u200d💻", "line\n\ttab"):
        assert visible(text) == text


def test_labels_and_names_of_files_are_shown_escaped(tmp_path: Path) -> None:
    label, name = "a\x1b[31m", "in\x1b[2J[b].jsonl"
    one = {"tokens": ["x", "y"], "segments": [[0, 1, label], [1, 2, "b"]]}
    train = tmp_path / name
    train.write_text(json.dumps(one) * 1 + "\n" + json.dumps(one) + "\n")
    model = tmp_path / "m\x1b[1m"
    ran = [
        good("train", train, "-o", model, "--max-iterations", 3, "--dev", train),
        good("inspect", model),
        good("explain", model, "x y"),
        good("evaluate", model, train, "--details", "--worst", 2),
        good("segment", model, train, "-o", tmp_path / "out\x1b[5m.jsonl"),
        run("segment", model, tmp_path / "no\x1b[2Jsuch.jsonl"),
        run("evaluate", train, tmp_path / "no\x1b[2Jsuch.jsonl"),
    ]
    for one_run in ran:
        assert "\x1b" not in one_run.out + one_run.err
    assert r"no\x1b[2Jsuch.jsonl" in ran[-1].err
    assert r"a\x1b[31m" in ran[1].out
    assert r"m\x1b[1m" in ran[0].out
    written = (tmp_path / "out\x1b[5m.jsonl").read_text()
    assert json.loads(written.splitlines()[0])["segments"][0][2] == label  # data stays as it is


def test_the_demo_escapes_the_name_of_its_folder(tmp_path: Path) -> None:
    from caesura.cli import demo

    assert demo._console(True)._markup is False
