"""Checked reading of the arrays of a stored encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput

__all__ = ["State", "array", "require", "texts"]

State = Mapping[str, npt.NDArray[Any]]
Ints = npt.NDArray[np.int32]


def texts(data: npt.NDArray[np.uint8], sizes: Ints) -> list[str]:
    """Return the texts concatenated in an array."""
    require(bool((sizes >= 0).all()), "sizes: out of range")
    ends = np.cumsum(sizes, dtype=np.int64)
    require((int(ends[-1]) if len(ends) else 0) == len(data), "sizes: not those of the text")
    whole = data.tobytes()
    begins = (ends - sizes).tolist()
    return [
        whole[begin:end].decode("utf-8", "surrogatepass")
        for begin, end in zip(begins, ends.tolist(), strict=True)
    ]


def array(state: State, name: str, kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return one array of a state, or raise."""
    require(name in state, f"{name}: not there")
    found = state[name]
    require(found.dtype == kind and found.ndim == 1, f"{name}: wrong type or shape")
    return found


def require(good: bool, problem: str) -> None:
    """Raise if a stored encoder is invalid."""
    if not good:
        raise InvalidInput(f"encoder.{problem}; the file is not one that this library wrote")
