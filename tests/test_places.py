"""Bulk work on URLs: an object store of moto, memory, and what is missing."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from cli_data import bad, good
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from caesura import CaesuraError, SemiCRF, records, scale
from caesura.demo import addresses
from caesura.features import word
from caesura.scale import places
from caesura.scale.pieces import fetched, pieces_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of botocore and moto


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model") / "addresses.model"
    settings: dict[str, Any] = {"features": [word[0], word[-1]], "max_iterations": 8}
    SemiCRF(**settings).fit(addresses(40, seed=1)).save(place)
    return place


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """An object store on this machine, which the environment names, also for workers."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in keys.items():
            patch.setenv(name, value)
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        system = fsspec.filesystem("s3", skip_instance_cache=True)
        system.mkdir("bucket")
        yield system
        fsspec.filesystem("s3").clear_instance_cache()
    server.stop()


def texts(count: int, seed: int) -> list[str]:
    return [document.text or "" for document in addresses(count, seed=seed)]


def filled(system: Any, folder: str) -> list[str]:
    """Put three files into a folder, one of them with a bad line."""
    for k in range(3):
        rows = [json.dumps({"text": text}) for text in texts(40, seed=k)]
        rows[3:3] = ["{no json"] * (k == 1)
        system.pipe(f"{folder}/in/new{k}.jsonl", "".join(f"{row}\n" for row in rows).encode())
    return [f"{folder}/in/new{k}.jsonl" for k in range(3)]


def content(system: Any, folder: str) -> dict[str, bytes]:
    system.invalidate_cache()
    found = sorted(system.glob(f"{folder}/*.jsonl"))
    return {path.rpartition("/")[2]: system.cat_file(path) for path in found}


def check_segmented(system: Any, folder: str, model: Path, tmp_path: Path, workers: Any) -> None:
    urls = filled(system, folder)
    local = []
    for url in urls:
        local.append(tmp_path / url.rpartition("/")[2])
        local[-1].write_bytes(system.cat_file(url))
    options: dict[str, Any] = {"part_size": 0.001}
    made = scale.segment_files(model, local, tmp_path / "out", **options)
    away = scale.segment_files(model, urls, f"{folder}/out", executor=workers, **options)
    assert not away.failed
    assert [one[2:5] for one in away.parts] == [one[2:5] for one in made.parts]
    assert len(away.parts) > 3
    wanted = {path.name: path.read_bytes() for path in sorted((tmp_path / "out").glob("*.jsonl"))}
    found = content(system, f"{folder}/out")
    assert found.keys() == wanted.keys()
    good_parts = [name for name in wanted if ".bad." not in name]
    assert all(found[name] == wanted[name] for name in good_parts)
    said = json.loads(system.cat_file(f"{folder}/out/manifest.json"))
    assert (said["sequences"], said["quarantined"]) == (120, 1)
    again = scale.segment_files(model, urls, f"{folder}/out", executor=workers, **options)
    assert all(part.skipped for part in again.parts)
    system.pipe(urls[0], b'{"text": "1 New Street York"}\n')
    changed = scale.segment_files(model, urls, f"{folder}/out", executor=workers, **options)
    assert changed.sequences == 81
    assert sum(len(part.splitlines()) for part in content(system, f"{folder}/out").values()) == 82


def test_segment_in_memory(model: Path, tmp_path: Path) -> None:
    system = fsspec.filesystem("memory")
    check_segmented(system, "memory://bulk", model, tmp_path, None)


def test_segment_in_an_object_store(model: Path, tmp_path: Path, store: Any) -> None:
    check_segmented(store, "s3://bucket/segment", model, tmp_path, 2)


def test_commands_take_urls(model: Path, tmp_path: Path, store: Any) -> None:
    urls = filled(store, "s3://bucket/commands")
    pattern, out = "s3://bucket/commands/in/*.jsonl", "s3://bucket/commands/out"
    said = good("segment", model, pattern, "-o", out, "--executor", "1", "--json").json
    assert (said["sequences"], said["quarantined"], said["failed"]) == (120, 1, 0)
    assert len(content(store, out)) == 4
    into = tmp_path / "a.db"
    more = ("--executor", "2", "--parts-folder", "s3://bucket/commands/parts", "--json")
    said = good("load", model, pattern, "--into", into, "--part-size", "0.001", *more).json
    assert (said["records"], said["written"], said["quarantined"]) == (120, 120, 1)
    assert [one["source"] for one in said["files"]] == urls
    store.invalidate_cache()
    assert not store.glob("s3://bucket/commands/parts/*.parquet")
    said = good("load", model, pattern, "--into", into, "--part-size", "0.001", *more).json
    assert (said["written"], said["rows"]) == (0, 120)
    assert "INPUT: got 's3://bucket/commands/none*'" in bad(
        "segment", model, "s3://bucket/commands/none*", "-o", out, "--executor", "1", "-q"
    )
    gone = ("s3://other/a.txt", "-o", "s3://other/out", "--executor", "1", "-q")
    assert "s3://other" in bad("segment", model, *gone)


def test_loads_from_urls_are_plain_loads(model: Path, tmp_path: Path, store: Any) -> None:
    table = pa.table({"text": texts(60, seed=2), "price": range(60)})
    file = tmp_path / "new.parquet"
    parquet.write_table(table, file, row_group_size=20)
    url = "s3://bucket/load/new.parquet"
    store.put_file(str(file), url)
    records.load(model, file, tmp_path / "plain.db", source_name=url)
    done = scale.load_files(model, [url], tmp_path / "a.db", part_size=0.001)
    assert done.files[0].parts == 3
    from test_bulk_load import stored

    assert stored(tmp_path / "a.db") == stored(tmp_path / "plain.db")


def test_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CaesuraError, match="protocol that fsspec knows"):
        places.state("nothing://a/b")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    fsspec.filesystem("memory").clear_instance_cache()
    known: Any = sys.modules["fsspec.registry"]
    monkeypatch.delitem(known._registry, "s3", raising=False)
    with pytest.raises(CaesuraError, match=r"s3:// needs another package .*caesura\[cloud\]"):
        places.state("s3://bucket/a")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(CaesuraError, match=r"needs fsspec.*caesura\[cloud\]"):
        places.state("s3://bucket/a")
    (tmp_path / "a.txt").write_text("1\n")
    assert places.matching(f"file://{tmp_path}/*.txt") == [str(tmp_path / "a.txt")]


# -- pieces ----------------------------------------------------------------------------------------


@given(st.binary(max_size=400).map(lambda b: b.replace(b"a", b"\n")), st.integers(1, 60))
def test_pieces_of_lines_are_the_file(tmp_path_factory: Any, data: bytes, size: int) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_bytes(data)
    parts = []
    for piece in pieces_of(str(path), "text", "utf-8", size / 1_000_000):
        with fetched(piece) as local:
            parts.append(Path(local).read_bytes())
    assert b"".join(parts) == data
    held = [part for part in parts if part]  # a long line leaves the pieces after it empty
    assert all(part.endswith(b"\n") for part in held[:-1])


def test_pieces_of_row_groups_are_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": texts(50, seed=1), "n": range(50)})
    parquet.write_table(table, path, row_group_size=7)
    pieces = pieces_of(str(path), "parquet", "utf-8", 0.0015)
    assert 1 < len(pieces) < 8
    found = []
    for piece in pieces:
        with fetched(piece) as local:
            found.append(parquet.read_table(local))
    assert pa.concat_tables(found).equals(table)
    assert len(pieces_of(str(path), "parquet", "utf-8", 10)) == 1


def test_what_is_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text\n" + "1 High Street\n" * 100)
    assert len(pieces_of(str(path), "csv", "utf-8", 0.0001)) == 1
    assert len(pieces_of(str(path), "text", "utf-16", 0.0001)) == 1
    packed = path.rename(tmp_path / "a.txt.gz")
    assert len(pieces_of(str(packed), "text", "utf-8", 0.0001)) == 1
    [gone] = pieces_of(os.fspath(path), "text", "utf-8", 1)
    assert gone.state is None
