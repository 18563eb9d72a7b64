"""Loading of model files for commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from caesura.cli.output import near_file, note
from caesura.errors import InvalidInput, message
from caesura.ready import READY, resolve

__all__ = ["ModelFile", "OutsideBias", "Trust", "is_model", "load_model", "model_file"]

Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Import the Python functions that the model file names; do this only for files "
        "that you trust.",
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help=f"Use this model file, or a ready-made model: {', '.join(READY)}.",
    ),
]
OutsideBias = Annotated[
    float | None,
    typer.Option(
        help="Add this to the score of text outside segments: a positive number raises "
        "precision, a negative one recall. Default: that of the model."
    ),
]
MODEL_MARK = b'{"__metadata__"'  # beginning of a model file's header, at byte 8


def is_model(path: str | Path) -> bool:
    """Return whether a path is a model file, or a name that of a bundled model.

    Examples
    --------
    >>> is_model(__file__)
    False
    """
    try:
        file = resolve(path)
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            return opened.read(8 + len(MODEL_MARK))[8:] == MODEL_MARK
    except OSError:
        return False


def model_file(path: str | Path) -> Path:
    """Return the path of a model file or a ready-made model; raise if it is not a model."""
    file, names = resolve(path), ", ".join(READY)
    if not file.exists():
        remedy = f"give a model that caesura train wrote, or one that comes with Caesura: {names}"
        raise InvalidInput("no such file", place=path, remedy=near_file(path) or remedy)
    if not is_model(file):
        raise InvalidInput("not a model", place=path, remedy="give a file that caesura train wrote")
    if str(path) in READY and file == Path(path):
        note(f"{path}: taking the file here, not the model of this name that comes with Caesura")
    return file


def load_model(
    path: str | Path, threads: int | None = None, *, trust: bool = False, **changed: Any
) -> Any:
    """Load a model and change some of its parameters."""
    from caesura.models import load

    model = load(model_file(path), trust)
    if not hasattr(model, "kind"):
        raise InvalidInput(
            place=path,
            got=f"a {type(model).__name__}, which commands do not support",
            remedy="use it from Python with caesura.load",
        )
    given: Mapping[str, Any] = {k: v for k, v in changed.items() if v is not None}
    return model.set_params(n_threads=_threads(threads), verbose=False, **given)


def _threads(threads: int | None) -> int | None:
    if threads is not None and not 1 <= threads <= 1024:
        raise InvalidInput(message("--threads", threads, "1 to 1024", "leave it out for all cores"))
    return threads
