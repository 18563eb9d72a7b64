"""Checks of what `fit` is given besides X and y."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message
from caesura.learning import Progress

__all__ = ["checked_run", "weights_of"]


def checked_run(
    X_dev: Any, y_dev: Any, checkpoint: Any, callbacks: Any
) -> tuple[Callable[[Progress], bool | None], ...]:
    """Return the callbacks, or raise if fitting would fail only after it has begun."""
    if X_dev is None and y_dev is not None:
        raise InvalidInput("X_dev: got None with y_dev, expected the sequences too; give X_dev")
    if checkpoint is not None:
        named = isinstance(checkpoint, str | os.PathLike) and str(checkpoint)
        path = Path(checkpoint).absolute() if named else None
        if path is None or path.is_dir() or not path.parent.is_dir():
            expected = "the path of a file in a folder that exists"
            remedy = "correct the path, or make the folder"
            raise InvalidInput(message("checkpoint", checkpoint, expected, remedy))
    listed = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    for one in listed if isinstance(callbacks, Iterable) else (None,):
        if not callable(one):
            came = one if isinstance(callbacks, Iterable) else callbacks
            remedy = "pass a list of functions of a Progress"
            raise InvalidInput(message("callbacks", came, "functions", remedy))
    return listed


def weights_of(given: npt.ArrayLike | None, n: int) -> npt.NDArray[np.float64]:
    """Return the weight of each sequence."""
    if given is None:
        return np.ones(n)
    try:
        weight = np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError):
        weight = np.zeros(0)
    good = weight.shape == (n,) and (np.isfinite(weight) & (weight >= 0)).all() and weight.any()
    if not good:
        expected = f"{n} finite numbers, 0 or more and not all 0, one for each sequence"
        raise InvalidInput(message("sample_weight", given, expected, "correct them"))
    return weight
