"""Checked reading of the arrays of a stored encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.errors import InvalidInput

__all__ = ["State", "add_texts", "all_texts", "array", "require", "restore_texts"]

State = Mapping[str, npt.NDArray[Any]]
Ints = npt.NDArray[np.int32]


def add_texts(interner: _kernels.Interner, state: State, k: int | str) -> Ints:
    """Add the values of a column to an interner, and return their numbers there."""
    data, sizes = array(state, f"text{k}", np.uint8), array(state, f"sizes{k}", np.int32)
    require(bool((sizes >= 0).all()), "sizes", "out of range")
    ends = np.cumsum(sizes, dtype=np.int64)
    require((int(ends[-1]) if len(ends) else 0) == len(data), "sizes", "not those of the text")
    begins = (ends - sizes)[sizes > 0]
    try:
        data.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        require(False, f"text{k}", "not UTF-8")
    require(bool(((data[begins] & 0xC0) != 0x80).all()), "sizes", "one ends inside a character")
    return interner.add_texts(data, sizes)


def restore_texts(interner: _kernels.Interner, state: State, k: int | str) -> int:
    """Add the values of a column to an empty interner, and return how many there are."""
    n = len(add_texts(interner, state, k))
    require(len(interner) == n, f"text{k}", "a value is there twice")
    return n


def all_texts(interner: _kernels.Interner, k: int | str) -> dict[str, npt.NDArray[Any]]:
    """Return the values of a column, for `restore_texts`."""
    data, sizes = interner.texts(np.arange(len(interner), dtype=np.int32))
    return {f"text{k}": data, f"sizes{k}": sizes}


def array(state: State, name: str, kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return one array of a state, or raise."""
    require(name in state, name, "not there")
    found = state[name]
    require(found.dtype == kind and found.ndim == 1, name, "wrong type or shape")
    return found


def require(good: bool, name: str, problem: str) -> None:
    """Raise if a stored encoder is invalid."""
    if not good:
        remedy = "the file is not one that this library wrote"
        raise InvalidInput(problem, place=f"encoder.{name}", remedy=remedy)
