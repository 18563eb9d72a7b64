"""Model files: arrays and a header, written atomically, without code.

A file is a safetensors file whose metadata has one key, ``caesura``, with this JSON::

    {"checksum": "<64 hex digits>", "version": 2, "kind": "SemiCRF", "header": {...}}

The checksum is the SHA-256 of the whole file with zeros in the place of its digits, so that no bit
can change unseen. This holds for every version; what is in the header may change with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.corpora.files import Name, noting_missing, replacing
from caesura.errors import InvalidInput, message

__all__ = ["REMEDIES", "VERSION", "pack", "read", "refuse_devices", "unpack", "write"]

CHECK_PATH, SAVE_AGAIN = "check the path", "copy or save it again"  # remedies in errors
OTHER_READER = f"{CHECK_PATH}, or use what reads that kind"
REMEDIES = (CHECK_PATH, SAVE_AGAIN, OTHER_READER)  # where what reads a file may know a better one
VERSION = 2  # of written files; files of later versions are refused
Arrays = dict[str, npt.NDArray[Any]]

_KEY = "caesura"
_ZEROS = b"0" * 64
# Follows the eight bytes with the length of the header, as safetensors puts the metadata first.
_START = rb'{"__metadata__":{"caesura":"{\"checksum\":\"'
_CHECKSUM = slice(8 + len(_START), 8 + len(_START) + len(_ZEROS))
_TYPES = {f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (16, 32, 64)}
_TYPES |= {"bool", "int8", "uint8"}
_MOST_HEADER = 50_000_000  # in bytes; the limit of safetensors is twice as high


# ---- writing ----------------------------------------------------------------------------------


def write(
    path: Name, kind: str, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write a file, which replaces an old one only once it is complete and on disk.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What is in it, as ``SemiCRF``; `read` asks for it.
    header : mapping
        What JSON can hold; tuples become lists. Long lists belong into an array, see `pack`.
    arrays : mapping of str to array
        Of whole numbers, floats or bools.

    Raises
    ------
    InvalidInput
        If something cannot be stored. Then, and at errors of the system, nothing is changed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.model")
    ...     write(file, "tiny", {"labels": ["A", "B"]}, {"weights": np.array([0.5, 2.0])})
    ...     read(file, "tiny")
    ({'labels': ['A', 'B']}, {'weights': array([0.5, 2. ])})
    """
    envelope = {"checksum": _ZEROS.decode(), "version": VERSION, "kind": kind}
    try:
        text = json.dumps(
            envelope | {"header": dict(header)}, separators=(",", ":"), allow_nan=False
        )
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            place="header",
            got=f"what JSON cannot hold: {error}",
            remedy="convert it to numbers, strings, lists and dicts",
        ) from None
    if len(text) > _MOST_HEADER:
        raise InvalidInput(
            place="header",
            got=f"{len(text)} characters",
            expected=f"at most {_MOST_HEADER}",
            remedy="put long lists into an array with pack",
        )
    from safetensors import numpy as safetensors  # takes 20 ms to import

    content = memoryview(safetensors.save(_storable(arrays), {_KEY: text}))
    if content[8 : _CHECKSUM.stop] != _START + _ZEROS:
        raise RuntimeError("this version of safetensors writes its header in another way")
    with noting_missing(path), replacing(path) as file:
        for part in (content[: _CHECKSUM.start], _checksum(content), content[_CHECKSUM.stop :]):
            file.write(part)


def _storable(arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return contiguous little-endian arrays for safetensors."""
    stored: Arrays = {}
    for name, array in arrays.items():
        given = np.asarray(array)
        if given.dtype.name not in _TYPES:
            expected = "whole numbers, floats or bools"
            raise InvalidInput(
                place=f"arrays[{name!r}]",
                got=f"type {given.dtype}",
                expected=expected,
                remedy="convert the array",
            )
        if not isinstance(name, str) or name == "__metadata__":
            raise InvalidInput(message("arrays", name, "another name", "rename the array"))
        stored[name] = np.asarray(given, given.dtype.newbyteorder("<"), order="C")
    return stored


def _checksum(content: bytes | memoryview) -> bytes:
    """Return the checksum of a file with its own field set to zeros."""
    view = memoryview(content)
    digest = hashlib.sha256(view[: _CHECKSUM.start])
    digest.update(_ZEROS)
    digest.update(view[_CHECKSUM.stop :])
    return digest.hexdigest().encode()


# ---- reading ----------------------------------------------------------------------------------


def read(path: Name, kind: str) -> tuple[dict[str, Any], Arrays]:
    """Read a file that `write` has written.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What must be in it.

    Returns
    -------
    tuple
        The header and the arrays.

    Raises
    ------
    InvalidInput
        If the file is foreign, a pipe or a device, cut off, damaged, of a later version or of
        another kind.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.model")
    ...     write(file, "tiny", {}, {"weights": np.array([0.5, 2.0])})
    ...     header, arrays = read(file, "tiny")
    >>> arrays["weights"]
    array([0.5, 2. ])
    """
    file = Path(path)
    with noting_missing(path):
        refuse_devices(path)
        content = file.read_bytes()
    if content[8 : 8 + len(_START)] != _START[: max(0, len(content) - 8)]:
        raise InvalidInput(
            place=file,
            got="another kind of file",
            expected="one that Caesura wrote",
            remedy=CHECK_PATH,
        )
    if len(content) < _length(content):
        raise InvalidInput(
            place=file,
            got=f"a file that is cut off after {len(content)} bytes",
            expected="a whole one",
            remedy=SAVE_AGAIN,
        )
    envelope, arrays = _unpacked(content) or _damaged(file)
    if envelope["version"] > VERSION:
        raise InvalidInput(
            place=file,
            got=f"version {envelope['version']} of the format",
            expected=f"{VERSION} or earlier",
            remedy="a later Caesura wrote it: update this one",
        )
    if envelope["kind"] != kind:
        raise InvalidInput(
            place=file,
            got=f"a file of kind {envelope['kind']!r}",
            expected=repr(kind),
            remedy=OTHER_READER,
        )
    return envelope["header"], arrays


def refuse_devices(path: Name) -> None:
    """Raise if a path is a pipe or a device.

    Examples
    --------
    >>> refuse_devices(__file__)
    """
    file = Path(path)
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise InvalidInput(
            place=file,
            got="a pipe or a device",
            expected="a file",
            remedy="copy what it gives to a file",
        )


def _length(content: bytes) -> int:
    """Return the file size given by its header; larger than the file if unknown."""
    header = 8 + int.from_bytes(content[:8], "little")
    if len(content) < max(header, _CHECKSUM.stop):
        return len(content) + 1
    try:
        entries = json.loads(content[8:header])
        ends = [entry["data_offsets"][1] for key, entry in entries.items() if key != "__metadata__"]
        return header + max(ends, default=0)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return 0  # damaged, as the checksum will show


def _unpacked(content: bytes) -> tuple[dict[str, Any], Arrays] | None:
    """Return the header and the arrays; None if the file is damaged."""
    if _checksum(content) != content[_CHECKSUM]:
        return None
    from safetensors import SafetensorError
    from safetensors import numpy as safetensors

    try:
        header = 8 + int.from_bytes(content[:8], "little")
        envelope = json.loads(json.loads(content[8:header])["__metadata__"][_KEY])
        kinds = {"version": int, "kind": str, "header": dict}
        if not all(isinstance(envelope[name], kind) for name, kind in kinds.items()):
            return None
        return envelope, safetensors.load(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, SafetensorError):
        return None


def _damaged(file: Path) -> Any:
    raise InvalidInput(
        place=file,
        got="a damaged file, whose checksum is wrong",
        expected="it as it was written",
        remedy=SAVE_AGAIN,
    )


# ---- lists too long for a header ----------------------------------------------------------------


def pack(value: object) -> npt.NDArray[np.uint8]:
    """Encode JSON data as an array of bytes, for lists too long for a header.

    Examples
    --------
    >>> unpack(pack(["word[0]=the", "word[0]=cat"]))
    ['word[0]=the', 'word[0]=cat']
    """
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            place="value",
            got=f"what JSON cannot hold: {error}",
            remedy="convert it to numbers, strings, lists and dicts",
        ) from None
    return np.frombuffer(text.encode(), np.uint8)


def unpack(array: npt.NDArray[np.uint8]) -> Any:
    """Decode the output of `pack`.

    Examples
    --------
    >>> unpack(pack({"a": [1, 2.5, None]}))
    {'a': [1, 2.5, None]}
    """
    return json.loads(array.tobytes())
