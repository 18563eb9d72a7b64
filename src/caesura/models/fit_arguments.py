"""Checks of the arguments of `fit` other than X and y."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from caesura.errors import InvalidInput, message
from caesura.learning import Progress

__all__ = ["checked_run"]


def checked_run(
    X_dev: Any, y_dev: Any, checkpoint: Any, callbacks: Any
) -> tuple[Callable[[Progress], bool | None], ...]:
    """Return the callbacks, or raise early for arguments that would fail during fitting."""
    if X_dev is None and y_dev is not None:
        raise InvalidInput(
            place="X_dev", got="None with y_dev", expected="the sequences too", remedy="give X_dev"
        )
    if checkpoint is not None:
        named = isinstance(checkpoint, str | os.PathLike) and str(checkpoint)
        path = Path(checkpoint).absolute() if named else None
        if path is None or path.is_dir() or not path.parent.is_dir():
            expected = "the path of a file in a folder that exists"
            remedy = "check the path, or create the folder"
            raise InvalidInput(message("checkpoint", checkpoint, expected, remedy))
    listed = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    for one in listed if isinstance(callbacks, Iterable) else (None,):
        if not callable(one):
            came = one if isinstance(callbacks, Iterable) else callbacks
            remedy = "pass a list of functions of a Progress"
            raise InvalidInput(message("callbacks", came, "functions", remedy))
    return listed
