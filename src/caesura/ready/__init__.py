"""Bundled models, which `caesura.load` and the commands know by name."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from caesura.errors import InvalidInput, message

__all__ = ["READY", "existing", "ready_path", "resolve"]

READY: tuple[str, ...] = ("addresses", "citations")
"""The names of the models that come with Caesura."""

_FOLDER = Path(__file__).parent


def ready_path(name: str) -> Path:
    """Return the file of a bundled model.

    Parameters
    ----------
    name : str
        One of `READY`.

    Examples
    --------
    >>> ready_path("citations").name
    'citations.model'
    """
    if name not in READY:
        raise InvalidInput(message("name", name, ", ".join(READY), "pass one of these names"))
    return _FOLDER / f"{name}.model"


def resolve(path: str | os.PathLike[str]) -> Path:
    """Return the file for a path or the name of a bundled model.

    A file of that name in the current folder wins over the model that comes with Caesura.

    Parameters
    ----------
    path : path or str
        A file, or one of `READY`.

    Raises
    ------
    InvalidInput
        If the name is that of a model that comes with Caesura, and of a folder that is here.

    Examples
    --------
    >>> resolve("my.model").name, resolve("addresses").name
    ('my.model', 'addresses.model')
    """
    given = Path(path)
    if str(path) not in READY or given.is_file():
        return given
    place = ready_path(str(path))
    if given.exists():
        raise InvalidInput(
            place=path,
            got="a name that both a folder here and a model that comes with Caesura have",
            expected="a model",
            remedy=f"rename the folder, or pass {place} for the model",
        )
    return place


def existing(path: str | os.PathLike[str]) -> Path:
    """Return the file for a path or a name, or raise and list the available names.

    Examples
    --------
    >>> existing("address")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] no such file, and the models that come with Caesura are addresses
    and citations: 'address'
    """
    file = resolve(path)
    if file.name == str(path) and not file.suffix and not file.exists():
        reason = f"no such file, and the models that come with Caesura are {' and '.join(READY)}"
        raise FileNotFoundError(errno.ENOENT, reason, str(path))
    return file
