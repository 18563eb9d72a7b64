"""Checks of the arrays that describe span graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.checks import check_scores, zeros
from caesura.errors import InvalidInput, message

__all__ = ["checked_indices", "checked_scores", "require"]

Floats = npt.NDArray[np.float64]


def require(good: Any, text: Callable[[int], str]) -> None:
    """Raise for the first invalid item."""
    for i in np.flatnonzero(~good)[:1].tolist():
        raise InvalidInput(text(i))


def checked_indices(
    name: str, value: npt.ArrayLike, shape: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """Return an integer array of a given shape, or raise."""
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInput(
            message(name, f"dtype {array.dtype}", "whole numbers", "convert the array")
        )
    if array.size == 0 and 0 in shape:
        return np.zeros(shape, np.int64)
    if array.shape != shape:
        raise InvalidInput(message(name, array.shape, f"the shape {shape}", "reshape the array"))
    return array.astype(np.int64)


def checked_scores(name: str, value: npt.ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    """Return scores of a given shape; 0 by default."""
    if value is None:
        return zeros(name, *shape)
    try:
        array = np.ascontiguousarray(value, np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            message(name, value, f"numbers of the shape {shape}", "give an array")
        ) from None
    if array.shape != shape and not (array.size == 0 and 0 in shape):
        raise InvalidInput(message(name, array.shape, f"the shape {shape}", "reshape the array"))
    check_scores(name, array)
    return array.reshape(shape)
