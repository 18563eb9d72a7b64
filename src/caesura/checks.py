"""Checks of what callers give; each says what came and what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput

__all__ = ["LARGEST_SCORE", "assign", "check_scores", "integers", "label_names", "whole"]

Floats = npt.NDArray[np.float64]
LARGEST_SCORE = 1e300  # beyond it, sums would overflow


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high], or say what is wrong with it."""
    ok = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not ok or value < low or (high is not None and value > high):  # type: ignore[operator]
        limit = f"at least {low}" if high is None else f"{low} to {high}"
        raise InvalidInput(f"{name}: got {value!r}, expected a whole number, {limit}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def integers(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return whole numbers as an array, or say what is wrong with them."""
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput(f"{name}: got dtype {array.dtype}, expected whole numbers")
    return array.astype(np.int64)


def label_names(labels: Sequence[str] | int) -> tuple[str, ...]:
    """Return the names of labels, or their indices where only a number is given."""
    if isinstance(labels, int | np.integer):
        return tuple(range(whole("labels", labels, 1)))  # type: ignore[arg-type]
    if not isinstance(labels, Iterable):
        raise InvalidInput(f"labels: got {labels!r}, expected a list of names or a number")
    labels = labels if isinstance(labels, str) else list(labels)
    if isinstance(labels, str) or not all(isinstance(name, str) for name in labels):
        raise InvalidInput(
            f"labels: got {labels!r}, expected a list of names or a number of labels"
        )
    if not labels:
        raise InvalidInput("labels: got none, expected at least one label")
    if len(set(labels)) < len(labels):
        raise InvalidInput(f"labels: a name occurs twice in {list(labels)!r}")
    return tuple(labels)


def check_scores(name: str, scores: npt.NDArray[np.float64] | np.float64) -> None:
    """Refuse scores that no sum can be taken of."""
    usable = np.isneginf(scores) | (np.abs(scores) <= LARGEST_SCORE)  # NaN is not
    if not usable.all():
        raise InvalidInput(
            f"{name}: got NaN, +inf or a number beyond {LARGEST_SCORE:g}, expected finite numbers "
            "or -inf to forbid"
        )


def assign(name: str, array: Floats, value: npt.ArrayLike) -> None:
    """Write checked scores into an array of the same shape."""
    given = np.asarray(value, np.float64)
    if given.shape != array.shape:
        raise InvalidInput(f"{name}: got shape {given.shape}, expected {array.shape}")
    check_scores(name, given)
    array[...] = given
