"""Files of models: round trips, and every way in which a file can be wrong."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from caesura import persistence
from caesura.errors import InvalidInput
from caesura.learning import checkpoint
from caesura.persistence import pack, read, unpack, write

TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
TYPES += ["float16", "float32", "float64"]
HEADER = {"labels": ["Zürich", "B"], "c2": 0.1, "n": None, "deep": {"x": [1, "\x1f\u2028", True]}}
ARRAYS: dict[str, Any] = {
    "weights": np.linspace(-1, 1, 7),
    "ids": np.arange(5, dtype=np.int32),
    "none": np.zeros((0, 3)),
    "one": np.array(2.5, np.float32),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.model"
    write(path, "small", HEADER, ARRAYS)
    return path


# ---- round trips ------------------------------------------------------------------------------


def test_round_trip(file: Path) -> None:
    header, arrays = read(file, "small")
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].flags.writeable


@pytest.mark.parametrize("dtype", TYPES)
@settings(max_examples=20)
@given(data=st.data())
def test_round_trip_of_types(
    dtype: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    array = data.draw(hnp.arrays(dtype, shapes))
    path = tmp_path_factory.mktemp("types") / "a"
    reversed_ = array.T[..., ::-1] if array.ndim else array
    swapped = array.astype(array.dtype.newbyteorder(">"))
    write(path, "k", {}, {"a": array, "b": reversed_, "c": swapped})
    _, arrays = read(path, "k")
    for name, expected in (("a", array), ("b", reversed_), ("c", array)):
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], expected)
        assert arrays[name].shape == expected.shape


def test_nothing_in_it(tmp_path: Path) -> None:
    write(tmp_path / "a", "k", {}, {})
    assert read(tmp_path / "a", "k") == ({}, {})


def test_the_same_bytes_each_time(file: Path, tmp_path: Path) -> None:
    write(tmp_path / "b", "small", HEADER, dict(reversed(ARRAYS.items())))
    assert (tmp_path / "b").read_bytes() == file.read_bytes()


def test_other_programs_can_read_it(file: Path) -> None:
    np.testing.assert_array_equal(safetensors.numpy.load_file(file)["weights"], ARRAYS["weights"])


@given(st.lists(st.text(max_size=5)))
def test_pack(strings: list[str]) -> None:
    assert unpack(pack(strings)) == strings
    assert pack(strings).dtype == np.uint8


# ---- files that are wrong ---------------------------------------------------------------------


def test_truncated_anywhere(file: Path) -> None:
    content = file.read_bytes()
    for n in range(len(content)):
        file.write_bytes(content[:n])
        with pytest.raises(
            InvalidInput, match=f"small.model: got a file that is cut off after {n} b"
        ):
            read(file, "small")


@pytest.mark.parametrize("bit", range(8))
def test_flipped_bits_are_found(file: Path, bit: int) -> None:
    write(file, "small", {"a": "é"}, {"b": np.arange(3)})
    content = file.read_bytes()
    for n in range(len(content)):
        flipped = bytearray(content)
        flipped[n] ^= 1 << bit
        file.write_bytes(flipped)
        with pytest.raises(InvalidInput, match=r"small.model: got (a damaged|a file|another)"):
            read(file, "small")


@settings(max_examples=40)
@given(data=st.data())
def test_changed_bytes_are_found(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("changed") / "a"
    write(path, "small", HEADER, ARRAYS)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        n = data.draw(st.integers(0, len(content) - 1))
        content[n] ^= data.draw(st.integers(1, 255))
    if bytes(content) != path.read_bytes():
        path.write_bytes(content)
        with pytest.raises(InvalidInput):
            read(path, "small")


def test_damaged_data_and_more_data(file: Path) -> None:
    content = file.read_bytes()
    for wrong in (content[:-1] + b"\x07", content + b"\x00"):
        file.write_bytes(wrong)
        with pytest.raises(InvalidInput, match="got a damaged file, whose checksum is wrong"):
            read(file, "small")


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    foreign = safetensors.numpy.save({"a": np.zeros(3)}, {"format": "pt"})
    for content in (foreign, b"\x80\x04\x95" + b"x" * 99, b"Confidence NN B-NP\n" * 9):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match="got another kind of file, expected one that Caes"):
            read(path, "small")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.model"):
        read(tmp_path / "nothing.model", "small")


def test_later_version(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, "VERSION", 3)
    write(file, "another", {}, {})
    monkeypatch.undo()
    text = "got version 3 of the format, expected 2 or earlier; a later Caesura wrote it: update"
    with pytest.raises(InvalidInput, match=text):
        read(file, "small")
    with pytest.raises(InvalidInput, match=f"checkpoint: {text}"):
        checkpoint.settings_of(file)


def test_wrong_kind(file: Path) -> None:
    text = "got a file of kind 'small', expected 'SemiCRF'; check the path, or use what reads"
    with pytest.raises(InvalidInput, match=text):
        read(file, "SemiCRF")
    with pytest.raises(InvalidInput, match="or remove the file to start again"):
        checkpoint.settings_of(file)


def test_nothing_is_executed(file: Path) -> None:
    """The file is a length, JSON and numbers."""
    content = file.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert header.keys() == {"__metadata__", *ARRAYS}
    assert json.loads(header["__metadata__"]["caesura"])["header"] == HEADER


# ---- what cannot be written -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "arrays", "text"),
    [
        ({"a": object()}, {}, "header: got what JSON cannot hold: Object of type object"),
        ({"a": float("nan")}, {}, "header: got what JSON cannot hold: Out of range float"),
        ({}, {"a": np.array(["x"])}, r"arrays\['a'\]: got type <U1, expected whole numbers"),
        ({}, {"a": np.array([None])}, r"arrays\['a'\]: got type object, expected"),
        ({}, {"a": np.array([1j])}, r"arrays\['a'\]: got type complex128"),
        ({}, {"__metadata__": np.zeros(2)}, "arrays: got '__metadata__', expected another name"),
    ],
)
def test_what_cannot_be_stored_changes_nothing(
    file: Path, header: Any, arrays: Any, text: str
) -> None:
    before = file.read_bytes()
    with pytest.raises(InvalidInput, match=text):
        write(file, "small", header, arrays)
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


def test_long_headers_are_sent_to_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, "_MOST_HEADER", 200)
    with pytest.raises(InvalidInput, match="put long lists into an array with pack"):
        write(tmp_path / "a", "k", {"a": "x" * 200}, {})


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_errors_of_the_system_leave_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = file.read_bytes()
    monkeypatch.setattr(os, "fsync", fail) if call == "fsync" else monkeypatch.setattr(
        Path, "replace", fail
    )
    with pytest.raises(OSError, match="No space left"):
        write(file, "small", {}, {"a": np.zeros(1000)})
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


def test_directories_that_are_not_there_or_are_files(file: Path) -> None:
    for path in (file.parent / "none" / "a", file / "a"):
        with pytest.raises(OSError, match="a"):
            write(path, "k", {}, {})
    assert os.listdir(file.parent) == [file.name]


def test_unwritable_directory() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        write(path, "small", HEADER, {})
        os.chmod(folder, 0o555)
        user = os.geteuid()
        try:
            if user == 0:  # to whom everything is writable
                os.seteuid(65534)
            with pytest.raises(PermissionError):
                write(path, "small", {}, {})
        finally:
            os.seteuid(user)
            os.chmod(folder, 0o755)
        assert os.listdir(folder) == ["a"]
        assert read(path, "small")[0] == HEADER


def test_links_and_permissions_are_kept(file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file.name)
    file.chmod(0o640)
    write(link, "small", {"new": 1}, {})
    assert link.is_symlink()
    assert read(file, "small")[0] == {"new": 1}
    assert file.stat().st_mode & 0o777 == 0o640


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InvalidInput, match="got a pipe or a device, expected a file"):
            persistence.read(path, "model")
