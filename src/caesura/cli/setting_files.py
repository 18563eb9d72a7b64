"""The files that settings come from, for error messages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from caesura.cli.model_settings import ALIASES, Choices, chosen
from caesura.cli.settings import Settings
from caesura.errors import CaesuraError

__all__ = ["files_of", "naming_config"]


def files_of(settings: Settings, choices: Choices) -> list[Path]:
    """Return the files that settings were read from or refer to.

    Examples
    --------
    >>> files_of(Settings(config=Path("best.toml")), {"gazetteer": [Path("towns.txt")]})
    [PosixPath('best.toml'), PosixPath('towns.txt')]
    """
    read = [] if settings.config is None else [settings.config]
    vectors = choices.get("vectors")
    read += [] if vectors is None else [Path(vectors)]
    return read + [Path(one) for one in choices.get("gazetteer", [])]


@contextlib.contextmanager
def naming_config(settings: Settings, tried: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Name the TOML file in errors about settings that come from it.

    Examples
    --------
    >>> with naming_config(Settings(c2=-1.0)):
    ...     raise CaesuraError("c2: got -1.0")
    Traceback (most recent call last):
    caesura.errors.CaesuraError: c2: got -1.0
    """
    try:
        yield
    except CaesuraError as error:
        if settings.config is None or error.argument is None or error.file is not None:
            raise
        name = ALIASES.get(error.argument, error.argument)
        by_option = chosen(settings._replace(config=None)) | dict(tried or {})
        if name in by_option or name not in chosen(Settings(config=settings.config)):
            raise
        raise error.changed(file=str(settings.config)) from None
