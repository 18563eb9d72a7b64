"""Checks of arguments; errors state what was given and what was expected."""

from __future__ import annotations

import operator
import os
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, TooLarge, message

__all__ = ["LARGEST_SCORE", "MOST_TOKENS", "assign", "booleans", "check_scores", "integer"]
__all__ += ["integers"]
__all__ += ["label_names", "listed", "nothing", "number", "numbers", "refused_score", "share"]
__all__ += ["whole", "zeros"]

Floats = npt.NDArray[np.float64]
LARGEST_SCORE = 1e10  # the reason is in cpp/lattice/problem.hpp
MOST_TOKENS = 2**31 - 2  # boundaries are numbered with 32 bits
MOST_LABELS = 1_000_000


def nothing(place: str | os.PathLike[str], what: str, remedy: str) -> InvalidInput:
    """Return the error for an argument without an item of some kind."""
    return InvalidInput(place=place, got=f"no {what}", expected="at least one", remedy=remedy)


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high], or raise `InvalidInput`."""
    ok = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not ok or value < low or (high is not None and value > high):  # type: ignore[operator]
        limit = f"at least {low}" if high is None else f"{low} to {high}"
        remedy = "pass an int"
        if ok:
            below = value < low  # type: ignore[operator]
            remedy = f"pass {low} or more" if below else f"pass {high} or less"
        raise InvalidInput(message(name, value, f"a whole number, {limit}", remedy))
    return int(value)  # type: ignore[call-overload, no-any-return]


def share(name: str, value: object) -> float:
    """Return `value` as a number from 0 to 1, or raise `InvalidInput`."""
    ok = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not ok or not 0.0 <= value <= 1.0:  # type: ignore[operator]
        raise InvalidInput(message(name, value, "a number from 0 to 1", "pass a probability"))
    return float(value)  # type: ignore[arg-type]


def listed(name: str, values: object, expected: str) -> list[Any]:
    """Return the items of an iterable, or raise `InvalidInput`."""
    try:
        return list(values)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise InvalidInput(message(name, values, expected, "pass a list")) from None


def integers(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return integers as an array, or raise `InvalidInput`."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        raise InvalidInput(message(name, values, "whole numbers", "pass one list")) from None
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput(
            place=name,
            got=f"dtype {array.dtype}",
            expected="whole numbers",
            remedy="convert the array",
        )
    return array.astype(np.int64)


def integer(name: str, value: object) -> int:
    """Return `value` as an int, or raise `InvalidInput`."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InvalidInput(message(name, value, "a whole number", "pass an int"))


def booleans(name: str, values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return yes or no for each item as an array, or raise `InvalidInput`."""
    try:
        return np.asarray(values, bool)
    except (TypeError, ValueError):
        raise InvalidInput(message(name, values, "True or False", "pass one of them")) from None


def numbers(name: str, values: npt.ArrayLike) -> Floats:
    """Return scores as a checked array of floats, or raise `InvalidInput`."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        shown = reprlib.repr(values)
        raise InvalidInput(
            place=name,
            got=shown,
            expected="finite numbers or -inf to forbid",
            remedy="convert the values",
        ) from None
    check_scores(name, array)
    return array


def number(name: str, value: object) -> float:
    """Return one checked score."""
    array = numbers(name, value)  # type: ignore[arg-type]
    if array.ndim:
        raise InvalidInput(
            place=name, got=reprlib.repr(value), expected="one number", remedy="pass a float"
        )
    return float(array)


def zeros(name: str, *shape: int) -> Floats:
    """Return an array of zeros, or raise `TooLarge` if there is not enough memory."""
    try:
        return np.zeros(shape)
    except (MemoryError, ValueError):  # NumPy raises ValueError for sizes beyond any address space
        size = " x ".join(f"{n:,}" for n in shape)
        raise TooLarge(
            f"there is not enough memory for {size} scores",
            place=name,
            remedy="use fewer tokens or labels",
        ) from None


def label_names(labels: Sequence[str] | int) -> tuple[str, ...]:
    """Return the names of labels; a number of labels stands for the indices."""
    if isinstance(labels, int | np.integer):
        return tuple(range(whole("labels", labels, 1, MOST_LABELS)))  # type: ignore[arg-type]
    if not isinstance(labels, Iterable):
        raise InvalidInput(
            message("labels", labels, "a list of names or a number", "pass ['A', 'B'], for example")
        )
    labels = labels if isinstance(labels, str) else listed("labels", labels, "a list of names")
    if isinstance(labels, str) or not all(isinstance(name, str) for name in labels):
        raise InvalidInput(
            message(
                "labels",
                labels,
                "a list of names or a number of labels",
                "pass ['A', 'B'], for example",
            )
        )
    if not labels:
        raise InvalidInput(
            place="labels",
            got="none",
            expected="at least one label",
            remedy="pass ['A', 'B'], for example",
        )
    if len(set(labels)) < len(labels):
        raise InvalidInput(
            f"a name occurs twice in {list(labels)!r}",
            place="labels",
            remedy="name each label once",
        )
    return tuple(labels)


def check_scores(name: str, scores: npt.NDArray[np.float64] | np.float64) -> None:
    """Raise if scores contain NaN or infinities that cannot be summed."""
    usable = np.isneginf(scores) | (np.abs(scores) <= LARGEST_SCORE)  # False for NaN
    if not usable.all():
        raise refused_score(name)


def refused_score(name: str, sequence: int | None = None) -> InvalidInput:
    """Return the error for scores that cannot be summed, which the kernels raise too."""
    error = InvalidInput(
        place=name,
        got="NaN, +inf or a number beyond 1e10",
        expected="numbers from -1e10 to 1e10, where sums are exact enough for probabilities, or "
        "-inf to forbid",
        remedy="correct the scores",
    )
    return error if sequence is None else error.changed(part=f" of sequence {sequence}")


def assign(name: str, array: Floats, value: npt.ArrayLike) -> None:
    """Write checked scores into an array of the same shape."""
    given = numbers(name, value)
    if given.shape != array.shape:
        raise InvalidInput(
            place=name,
            got=f"shape {given.shape}",
            expected=f"{array.shape}",
            remedy="reshape the array",
        )
    array[...] = given
