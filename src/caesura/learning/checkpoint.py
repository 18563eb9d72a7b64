"""Checkpoints of interrupted training, in one file.

A run is a tuple of tuples, arrays and numbers; it is written by `caesura.persistence` as arrays
and a header that describes them.  Every float comes back with the bits that it had.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from caesura import persistence
from caesura.corpora.temporary import check_writable
from caesura.errors import InvalidInput, message
from caesura.learning.cutting_plane import CutState
from caesura.learning.exponentiated import DualState
from caesura.learning.keyed_perceptron import AgendaState
from caesura.learning.lbfgs import State
from caesura.learning.objectives import Progress
from caesura.learning.path_learners import PathState
from caesura.learning.sgd import EpochState

__all__ = ["KIND", "OtherRun", "check_room", "read", "settings_of", "write"]

KIND = "training"
STATES = (State, EpochState, PathState, CutState, DualState, AgendaState)
TUPLES = {kind.__name__: kind for kind in (*STATES, Progress)}
Path = str | os.PathLike[str]


class OtherRun(InvalidInput):
    """Raised for the checkpoint of a run with other data or settings."""

    setting: str  # name of the first setting that differs
    was: Any
    now: Any


def write(path: Path, run: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Write a run and its settings atomically.

    Parameters
    ----------
    path : path
        The file to write.
    run : mapping
        The values to store: numbers, strings, None, arrays, states, and tuples of them, by name.
    settings : mapping
        Numbers, strings and arrays that must be equal when the run is resumed.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(os.path.join(folder, "run"), {"w": np.zeros(2)}, {"c2": 1.0})
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    header = {
        "run": {name: _pack(name, value, arrays) for name, value in run.items()},
        "settings": _digests(settings),
    }
    persistence.write(path, KIND, header, arrays)


def check_room(path: Path, state: Any, further: int = 0) -> None:
    """Raise an OSError that names the file if a checkpoint cannot be written.

    Parameters
    ----------
    path : path
        The file to write.
    state : tuple
        The state of the optimiser at the start.
    further : int
        Number of bytes by which the state will grow.

    Examples
    --------
    >>> check_room("no/such/folder/run", (np.zeros(2),))
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no/such/folder/run'
    """
    check_writable(path)
    place = os.path.dirname(os.path.abspath(path))
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    _pack("state", state, arrays)
    needed = sum(array.nbytes for array in arrays.values()) + further
    wrong = None
    if shutil.disk_usage(place).free < needed:
        wrong = errno.ENOSPC
    elif sys.platform != "win32":
        import resource

        most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        wrong = errno.EFBIG if most != resource.RLIM_INFINITY and most < needed else None
    if wrong is not None:
        raise OSError(wrong, os.strerror(wrong), os.fspath(path))


def read(path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run in a file, or raise if its settings differ.

    Parameters
    ----------
    path : path
        A file that `write` has written.
    settings : mapping
        The settings of the run to resume.

    Returns
    -------
    dict
        The stored values by name.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(os.path.join(folder, "run"), {"w": np.zeros(2)}, {"c2": 1.0})
    ...     read(os.path.join(folder, "run"), {"c2": 1.0})
    {'w': array([0., 0.])}
    """
    header, arrays = _opened(path)
    expected, found = _digests(settings), header["settings"]
    for name in expected | found:
        if expected.get(name) != found.get(name):
            remedy = "continue with the same data and settings, or remove the file to start again"
            if name == "weights":
                remedy = f"the data or the features are others: {remedy}"
            if name == "penalty" and found.get("optimiser") == expected.get("optimiser"):
                raise InvalidInput(
                    message(
                        "checkpoint",
                        "a run of adagrad by an earlier version",
                        "one whose penalty is proximal",
                        "finish it with the version that wrote it, or remove it to start again",
                    )
                )
            came = f"a run with {name} {found.get(name)}"
            text = message("checkpoint", came, f"{name} {expected.get(name)}", remedy)
            other = OtherRun(text)
            other.setting, other.was, other.now = name, found.get(name), expected.get(name)
            raise other
    return {name: _unpack(packed, arrays) for name, packed in header["run"].items()}


def settings_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the settings of the run in a file: numbers, and checksums of arrays.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(os.path.join(folder, "run"), {"w": np.zeros(2)}, {"memory": 6})
    ...     settings_of(os.path.join(folder, "run"))
    {'memory': 6}
    """
    return dict(_opened(path)[0]["settings"])


def _opened(path: str | os.PathLike[str]) -> tuple[dict[str, Any], persistence.Arrays]:
    """Return the header and the arrays of a checkpoint."""
    try:
        return persistence.read(path, KIND)
    except InvalidInput as error:
        remedy = "give the path of a checkpoint, or remove the file to start again"
        own = error.reworded(dict.fromkeys(persistence.REMEDIES, remedy))
        raise own.changed(place="checkpoint") from None


def _digests(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with exact numbers, and checksums for arrays."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, np.ndarray) and value.size > 1:
            data = np.ascontiguousarray(value)
            found[name] = f"{value.shape} crc32 {zlib.crc32(data.tobytes()):08x}"
        elif isinstance(value, np.ndarray):
            found[name] = [float(x) for x in value]
        else:
            found[name] = value
    return found


def _pack(name: str, value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return the header entry of a value; arrays are stored separately."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, tuple):
        kind = type(value).__name__
        fields = getattr(value, "_fields", range(len(value)))
        items = [_pack(f"{name}.{f}", v, arrays) for f, v in zip(fields, value, strict=True)]
        return {"tuple": kind if kind in TUPLES else "", "items": items}
    if isinstance(value, float):
        return {"float": float(value).hex()}  # exact, also for NaN and infinity
    return {"value": value}


def _unpack(packed: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    """Return the value from a header entry; the inverse of `_pack`."""
    if "array" in packed:
        return np.array(arrays[packed["array"]])
    if "tuple" in packed:
        items = [_unpack(item, arrays) for item in packed["items"]]
        return TUPLES[packed["tuple"]](*items) if packed["tuple"] else tuple(items)
    return float.fromhex(packed["float"]) if "float" in packed else packed["value"]
