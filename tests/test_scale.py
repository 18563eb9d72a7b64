"""Bulk segmentation: nothing lost, nothing twice, whatever dies."""

import contextlib
import gzip
import itertools
import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from caesura import InvalidInput, corpora, scale
from caesura.demo import addresses
from caesura.executors import Processes, local, opened
from caesura.scale import bulk


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    texts = [document.text or "" for document in addresses(600, seed=5)]
    made = []
    for k in range(6):
        path = tmp_path / f"in{k}.txt"
        path.write_text("".join(f"{text}\n" for text in texts[100 * k : 100 * (k + 1)]))
        made.append(path)
    return made


def content(folder: Path) -> dict[str, bytes]:
    """Return the parts without what says when they were made."""
    found = sorted(folder.glob("*.jsonl"))
    return {path.name: path.read_bytes() for path in found}


@pytest.mark.parametrize("workers", [None, 2])
def test_parts_are_made_once(
    address_model: Path, files: list[Path], tmp_path: Path, workers: int | None
) -> None:
    with opened(workers) as executor:
        check_made_once(address_model, files, tmp_path, executor)


def check_made_once(address_model: Path, files: list[Path], tmp_path: Path, executor: Any) -> None:
    out = tmp_path / "out"
    first = scale.segment_files(address_model, files, out, executor=executor)
    assert first.sequences == 600
    assert not first.failed
    rows = [document for path in files for document in corpora.read(out / f"{path.name}.jsonl")]
    texts = [line for path in files for line in path.read_text().splitlines()]
    assert [row.text for row in rows] == texts
    said = json.loads((out / "manifest.json").read_text())
    assert said["sequences"] == 600
    assert said["segments"] == sum(len(row.segments or ()) for row in rows) > 600
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.jsonl")}
    again = scale.segment_files(address_model, files, out, executor=executor)
    assert all(part.skipped for part in again.parts)
    assert before == {path: path.stat().st_mtime_ns for path in out.glob("*.jsonl")}
    files[2].write_text("1 New Street York\n")
    third = scale.segment_files(address_model, files, out, executor=executor)
    assert [part.skipped for part in third.parts] == [True, True, False, True, True, True]
    assert third.sequences == 501


def test_bad_records_and_bad_files(address_model: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    rows = [json.dumps({"text": f"{k} High Street York"}) for k in range(40)]
    good.write_text("\n".join(rows) + "\n")
    bad.write_text("\n".join([*rows[:3], "{no json", *rows[3:5], *['["x"]'] * 25]) + "\n")
    names = [good, bad, tmp_path / "none.jsonl"]
    made = scale.segment_files(address_model, names, tmp_path / "out")
    assert [part.sequences for part in made.parts] == [40, 5, 0]
    assert [part.quarantined for part in made.parts] == [0, 26, 0]
    assert [part.input for part in made.failed] == [str(names[2])]
    assert "No such file" in (made.failed[0].failure or "")
    kept = (tmp_path / "out" / "bad.jsonl.jsonl.bad.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in kept]
    assert len(found) == 26
    assert (found[0]["line"], found[0]["record"]) == (4, "{no json")
    assert "line 4" in found[0]["error"]
    bad.write_text("\n".join(rows[:5]) + "\n")
    names[2].write_text(rows[0] + "\n")
    mended = scale.segment_files(address_model, names, tmp_path / "out")
    assert (mended.sequences, mended.failed) == (46, ())
    assert not (tmp_path / "out" / "bad.jsonl.jsonl.bad.jsonl").exists()


def test_names_that_look_like_places(address_model: Path, tmp_path: Path) -> None:
    """The line of a bad record is a field of its error, not a part of a text."""
    rows = [json.dumps({"text": f"{k} High Street York"}) for k in range(40)]
    path = tmp_path / "a, line 9.jsonl"
    path.write_text("\n".join([*rows[:3], "{no json", *rows]) + "\n")
    scale.segment_files(address_model, [path], tmp_path / "out")
    [kept] = (tmp_path / "out").glob("*.bad.jsonl")
    bad = json.loads(kept.read_text())
    assert (bad["line"], bad["record"]) == (4, "{no json")
    assert bad["remedy"] == "write an object with tokens or text"
    assert bad["error"].startswith(f"{path}, line 4: ")


def test_damaged_files_fail(address_model: Path, tmp_path: Path) -> None:
    """What cannot be read to its end is no part, with however many rows it begins."""
    packed, table = tmp_path / "cut.jsonl.gz", tmp_path / "bad.parquet"
    rows = "".join(json.dumps({"text": f"{k} High Street York"}) + "\n" for k in range(4000))
    packed.write_bytes(gzip.compress(rows.encode())[:-200])
    table.write_bytes(b"PAR1 and no more")
    made = scale.segment_files(address_model, [packed, table], tmp_path / "out")
    first, second = (part.failure or "" for part in made.parts)
    assert f"{packed}, line " in first
    assert "the compressed file is damaged or cut off here" in first
    assert f"{table}: got a file that is not a Parquet file" in second
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["manifest.json"]
    done = scale.load_files(address_model, [packed, table], tmp_path / "a.db")
    assert [one.failure is not None for one in done.files] == [True, True]
    assert not any(one.rows for one in done.loads)


def test_large_files_are_cut(address_model: Path, tmp_path: Path) -> None:
    """Cut files have the rows of whole ones, and parts of another size are removed."""
    path, out = tmp_path / "new.jsonl", tmp_path / "out"
    rows = [{"address": one.text, "n": k} for k, one in enumerate(addresses(120, seed=3))]
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join([*lines[:90], "{no json", *lines[90:]]))
    scale.segment_files(address_model, [path], tmp_path / "whole", labels=())
    whole = (tmp_path / "whole" / "new.jsonl.jsonl").read_bytes()
    for size, count in ((0.001, 8), (0.004, 2), (1, 1)):
        made = scale.segment_files(address_model, [path], out, part_size=size, labels=())
        assert made.sequences == 120
        assert (len(made.parts), sum(part.quarantined for part in made.parts)) == (count, 1)
        found = {name: data for name, data in content(out).items() if ".bad." not in name}
        assert len(found) == count
        assert b"".join(found.values()) == whole
        [bad] = out.glob("*.bad.jsonl")
        one = json.loads(bad.read_text())
        assert one["record"] == "{no json"
        if count > 1:
            assert path.read_bytes()[one["byte"] :].startswith(b"{no json")


class Dying(Processes):
    """Processes that die once in each file, when half of it is segmented."""

    def map(self, function: Any, items: Any) -> Any:
        return super().map(partial(_dies_amid, function), items)


def _dies_amid(function: Any, job: Any) -> Any:
    flag, segmented = Path(f"{job.piece.path}.died"), bulk._segmented
    if not flag.exists():
        calls = itertools.count()

        def dies(*arguments: Any) -> Any:
            if next(calls):
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return segmented(*arguments)

        work: Any = bulk
        work.BATCH, work._segmented = 50, dies
    return function(job)


def test_killed_workers_lose_and_double_nothing(
    address_model: Path, files: list[Path], tmp_path: Path
) -> None:
    files = files[:3]
    scale.segment_files(address_model, files, tmp_path / "expected")
    with contextlib.closing(Dying(2)) as executor:
        made = scale.segment_files(address_model, files, tmp_path / "out", executor=executor)
    assert len(list(tmp_path.glob("*.died"))) == 3
    assert not made.failed
    assert content(tmp_path / "out") == content(tmp_path / "expected")


def test_what_is_wrong(address_model: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="paths: got none"):
        scale.segment_files(address_model, [], tmp_path)
    with pytest.raises(InvalidInput, match="expected files with different names"):
        scale.segment_files(address_model, ["a/x.txt", "b/x.txt"], tmp_path)
    with pytest.raises(InvalidInput, match="to: got 'doc'"):
        scale.segment_files(address_model, ["x.txt"], tmp_path, to="doc")


# -- batches ---------------------------------------------------------------------------------------


def test_batches_of_every_kind(address_model: Path) -> None:
    import pandas as pd

    add = scale.segment_batches(str(address_model))
    text = "12 High Street Leeds"
    table = pa.table({"id": [1, 2], "text": [text, None]})
    found = add(table)
    assert found.column_names == ["id", "text", "segments"]
    rows = found.column("segments").to_pylist()
    assert rows[1] is None
    assert rows[0]
    assert all(text[one["start"] : one["end"]] == one["text"] for one in rows[0])
    [batch] = table.to_batches()
    assert add(batch).column("segments").to_pylist() == rows
    assert [one.column("segments").to_pylist() for one in add(iter([batch, batch]))] == [rows, rows]
    frame = add(pd.DataFrame({"text": [text, None]}))
    assert frame["segments"].tolist() == rows
    assert add(table.slice(0, 0)).num_rows == 0
    with pytest.raises(InvalidInput, match="text: got 'title', expected one of the columns"):
        scale.segment_batches(str(address_model), text="title")(table)


def _dies(function: Any, job: Any) -> Any:
    """Kill the worker of the second file every time."""
    if job.piece.name == "in1.txt":
        os.kill(os.getpid(), signal.SIGKILL)
    return function(job)


class Deadly(Processes):
    """Processes of which one file kills the worker."""

    def map(self, function: Any, items: Any) -> Any:
        return super().map(partial(_dies, function), items)


def test_a_file_that_kills_its_workers_is_named(
    address_model: Path, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "DEATHS", 2)
    out = tmp_path / "out"
    with contextlib.closing(Deadly(2)) as executor:
        made = scale.segment_files(address_model, files, out, executor=executor)
    assert [Path(part.input).name for part in made.failed] == ["in1.txt"]
    assert "died 2 times in the same task" in str(made.failed[0].failure)
    assert made.sequences == 500
    assert json.loads((out / "manifest.json").read_text())["failed"] == 1
    assert scale.segment_files(address_model, files, out).sequences == 600
