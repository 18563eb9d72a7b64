"""Bulk loads: the rows of plain loads, whoever makes them and whatever dies."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cli_data import bad, good
from pyarrow import parquet

from caesura import InvalidInput, records, scale
from caesura.demo import addresses
from caesura.executors import Processes
from caesura.records.load_run import Run
from caesura.scale import load_parts


def texts(count: int, seed: int) -> list[str]:
    return [document.text or "" for document in addresses(count, seed=seed)]


def write(path: Path, rows: list[str]) -> Path:
    """Write rows in the format that a name tells; some texts are empty, some values null."""
    if path.suffix == ".txt":
        path.write_text("".join(f"{row}\n" + "\n" * (i % 7 == 0) for i, row in enumerate(rows)))
        return path
    dicts = [
        {"id": f"x{i}", "text": row, "price": None if i % 5 == 0 else i + (i > 90) / 2}
        for i, row in enumerate(rows)
    ]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(one) + "\n" for one in dicts))
    elif path.suffix == ".csv":
        lines = [f'{one["id"]},"{one["text"]}",{one["price"]}\n' for one in dicts]
        path.write_text("id,text,price\n" + "".join(lines))
    else:
        parquet.write_table(pa.Table.from_pylist(dicts), path, row_group_size=25)
    return path


def stored(path: Path, table: str = "records") -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY row_id").fetchall()


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".csv", ".parquet"])
def test_rows_are_those_of_plain_loads(
    address_model: Path, tmp_path: Path, suffix: str, workers: int | None
) -> None:
    paths = [write(tmp_path / f"new{k}{suffix}", texts(100, seed=k)) for k in range(2)]
    plain, bulk = tmp_path / "plain.db", tmp_path / "bulk.db"
    options: dict[str, Any] = {} if suffix == ".txt" else {"id_column": "id"}
    once = [records.load(address_model, path, plain, **options) for path in paths]
    cut: dict[str, Any] = {"executor": workers, "part_size": 0.002, "batch": 30}
    seen: list[tuple[int, int]] = []
    shown: dict[str, Any] = {"progress": lambda *counts: seen.append(counts)}
    done = scale.load_files(address_model, paths, bulk, **cut, **shown, **options)
    assert not done.failed
    total = sum(file.parts for file in done.files)
    assert seen == [(k + 1, total) for k in range(total)]
    assert stored(bulk) == stored(plain)
    pairs = zip(done.loads, once, strict=True)
    assert all(a[2:7] == b[2:7] for a, b in pairs)  # source and counts
    if suffix != ".csv":
        assert all(file.parts > 1 for file in done.files)
    assert not list(tmp_path.glob("bulk.db.parts/*.rows.parquet"))
    again = scale.load_files(address_model, paths, bulk, **cut, **options)
    assert [(one.rows, one.written) for one in again.loads] == [(one.rows, 0) for one in once]
    assert not any(one.stale for one in again.loads)
    after = records.load(address_model, paths[0], bulk, **options)
    assert (after.written, after.stale) == (0, 0)


def test_one_batch_is_a_plain_load(
    address_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, into = write(tmp_path / "new.txt", texts(40, seed=3)), tmp_path / "a.db"
    records.load(address_model, path, into)
    [done] = scale.load_files(address_model, [path], into).loads
    assert (done.written, done.rows, done.stale) == (0, 40, 0)
    into = tmp_path / "b.db"
    scale.load_files(address_model, [path], into)
    monkeypatch.setattr(Run, "rows", None)  # nothing is segmented again
    done = records.load(address_model, path, into)
    assert (done.written, done.rows) == (0, 40)


def test_changes(address_model: Path, tmp_path: Path) -> None:
    path, into = write(tmp_path / "new.txt", texts(60, seed=4)), tmp_path / "a.db"
    options: dict[str, Any] = {"part_size": 0.001, "batch": 10}
    scale.load_files(address_model, [path], into, **options)
    path.write_text(path.read_text() + "1 New Street York\n")
    [longer] = scale.load_files(address_model, [path], into, **options).loads
    assert (longer.rows, longer.written, longer.stale) == (61, 1, 0)
    [flagged] = scale.load_files(address_model, [path], into, threshold=0.0, **options).loads
    assert flagged.written == 0
    assert flagged.flagged > 0
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:30]))
    [shorter] = scale.load_files(address_model, [path], into, threshold=0.0, **options).loads
    assert shorter.written == 0
    assert shorter.stale == 61 - shorter.rows
    [new] = scale.load_files(
        address_model, [path], into, threshold=0.0, replace=True, **options
    ).loads
    assert (new.stale, len(stored(into))) == (0, new.rows)


def test_bad_records_and_bad_files(address_model: Path, tmp_path: Path) -> None:
    paths = [write(tmp_path / f"new{k}.jsonl", texts(20, seed=k)) for k in range(2)]
    lines = paths[0].read_text().splitlines()
    paths[0].write_text("\n".join([*lines[:3], "{no json", '{"text": 7}', *lines[3:]]))
    into = tmp_path / "a.db"
    done = scale.load_files(
        address_model, [*paths, tmp_path / "none.jsonl"], into, part_size=0.0005
    )
    assert [file.input for file in done.failed] == [str(tmp_path / "none.jsonl")]
    assert [one.skipped for one in done.loads] == [2, 0]
    said = json.loads((tmp_path / "a.db.parts" / "manifest.json").read_text())
    assert (said["quarantined"], said["failed"], said["rows"]) == (2, 1, 40)
    quarantined = [
        json.loads(line)
        for path in (tmp_path / "a.db.parts").glob("*.bad.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert {one["record"] for one in quarantined} == {"{no json", None}
    assert any("record 5: got 7 in column 'text'" in one["error"] for one in quarantined)
    plain = tmp_path / "plain.db"
    for path in paths:
        records.load(address_model, path, plain, on_error="skip")
    assert stored(into) == stored(plain)


class Dying(Processes):
    """Processes that die once in each piece, when a batch of it is written."""

    def map(self, function: Any, items: Any) -> Any:
        return super().map(partial(_dies_amid, function), items)


def _dies_amid(function: Any, job: Any) -> Any:
    rows, calls = load_parts._rows, []
    if isinstance(job, load_parts.RowJob):
        flag = Path(f"{job.piece.path}.{job.piece.number}.died")

        def dies(*arguments: Any) -> Any:
            calls.append(1)
            if len(calls) > 1 and not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return rows(*arguments)

        work: Any = load_parts
        work._rows = dies
    return function(job)


def test_killed_workers_lose_and_double_nothing(address_model: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "new.txt", texts(100, seed=5))
    plain, into = tmp_path / "plain.db", tmp_path / "a.db"
    records.load(address_model, path, plain)
    with contextlib.closing(Dying(2)) as executor:
        options: dict[str, Any] = {"part_size": 0.002, "batch": 10}
        done = scale.load_files(address_model, [path], into, executor=executor, **options)
    assert len(list(tmp_path.glob("*.died"))) == done.files[0].parts > 1
    assert stored(into) == stored(plain)


def test_a_killed_load_goes_on(address_model: Path, tmp_path: Path) -> None:
    for k in range(3):
        write(tmp_path / f"new{k}.txt", texts(200, seed=k))
    plain, into = tmp_path / "plain.db", tmp_path / "a.db"
    for k in range(3):
        records.load(address_model, tmp_path / f"new{k}.txt", plain)
    pattern, parts = str(tmp_path / "new*.txt"), tmp_path / "a.db.parts"
    more = [
        pattern,
        "--into",
        str(into),
        "--executor",
        "2",
        "--part-size",
        "0.004",
        "--batch",
        "60",
    ]
    command = [sys.executable, "-m", "caesura", "load", str(address_model), *more, "-q"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    while process.poll() is None and len(list(parts.glob("*.part.json"))) < 3:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    said = good("load", address_model, *more, "--json").json
    assert (said["rows"], said["failed"], said["stale"]) == (600, 0, 0)
    assert stored(into) == stored(plain)
    assert (
        "600 records in 3 files, 0 new rows (600 were there)"
        in good("load", address_model, *more).out
    )


def test_what_is_wrong(address_model: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "new.txt", texts(5, seed=1))
    into, two = tmp_path / "a.db", ("--executor", "2")

    def wrong(*more: object, where: object = path, to: object = into) -> str:
        return bad("load", address_model, where, "--into", to, "-q", *more)

    assert "--part-size: got '3.0', expected --executor" in wrong("--part-size", 3)
    assert "--part-size: got -1.0, expected a number of megabytes" in wrong(*two, "--part-size", -1)
    assert "--known: cannot be combined with --executor" in wrong(*two, "--known", "town=a.b")
    assert "got the standard input" in wrong(*two, where="-")
    assert "INPUT: got '" in wrong(*two, where=tmp_path / "none*")
    assert "is a URL, so there is no default folder" in wrong(
        *two, to="postgresql://me@localhost/none"
    )
    assert "1 of 1 file failed: " in wrong(*two, where=tmp_path / "none.txt")
    write(tmp_path / "other.txt", texts(5, seed=1))
    every = tmp_path / "*.txt"
    assert "--source-name: got 2 files" in wrong(*two, "--source-name", "x", where=every)
    with pytest.raises(InvalidInput, match="paths: got none"):
        scale.load_files(address_model, [], into)
    with pytest.raises(InvalidInput, match="expected files with different names"):
        scale.load_files(address_model, [path, path], into)
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    a.write_text('{"text": "1 High Street York"}\n')
    b.write_text('{"address": "1 High Street York", "n": 1}\n' * 3)
    with pytest.raises(InvalidInput, match="text_column: got \"'address' in"):
        scale.load_files(address_model, [a, b], into)
