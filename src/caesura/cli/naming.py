"""The names of files and sequences in errors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from caesura.errors import CaesuraError

__all__ = ["naming"]

SEQUENCES = ("X", "y", "X_dev", "y_dev", "constraints")  # arguments with one item per sequence


@contextlib.contextmanager
def naming(
    path: str | Path | Sequence[tuple[str, int]], dev: str | Path | None = None, first: int = 0
) -> Iterator[None]:
    """Name files and sequences in errors about X, y and constraints.

    Parameters
    ----------
    path, dev : path
        The files that X and X_dev are from; of several, each with its number of sequences.
    first : int
        The index of the first sequence in its file.

    Examples
    --------
    >>> with naming("train.jsonl"):
    ...     raise CaesuraError("got what it should not", place="y[16]")
    Traceback (most recent call last):
    caesura.errors.CaesuraError: train.jsonl, sequence 17: got what it should not
    """
    try:
        yield
    except CaesuraError as error:
        if error.index is None or error.argument not in SEQUENCES:
            raise
        index = error.index
        if error.argument.endswith("_dev"):
            file = os.fspath(dev or "dev")
        elif isinstance(path, str | os.PathLike):
            file = os.fspath(path)
        else:
            file, index = _file_of(path, index)
        raise error.changed(
            file="standard input" if file == "-" else file,
            line=first + index + 1,
            unit="sequence",
            argument="constraints" if error.argument == "constraints" else None,
            index=None,
        ) from None


def _file_of(files: Sequence[tuple[str, int]], index: int) -> tuple[str, int]:
    """Return the file that contains a sequence, and its index in that file."""
    for name, count in files[:-1]:
        if index < count:
            return name, index
        index -= count
    return files[-1][0], index
