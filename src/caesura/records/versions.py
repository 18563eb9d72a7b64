"""Names and versions of models for rows."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from caesura.errors import InvalidInput, message

__all__ = ["labels_of", "model_of", "version_of"]


def model_of(model: Any, name: str | None) -> tuple[Any, str]:
    """Return a fitted model and its name."""
    if isinstance(model, str | os.PathLike):
        from caesura.models import load as load_model

        return load_model(model), name or Path(model).stem
    if not hasattr(model, "extract"):
        expected = "a fitted model, or the file of one"
        raise InvalidInput(message("model", model, expected, "pass what fit returned"))
    return model, name or type(model).__name__


def labels_of(model: Any) -> list[str]:
    """Return the labels of a fitted model, in the order of columns."""
    return list(model.extract([]).labels)


def version_of(model: Any) -> str:
    """Return a version of a model: a hash of everything that its predictions depend on.

    Parameters
    ----------
    model : SemiCRF, ChainCRF or NeuralSegmenter
        A fitted model.

    Returns
    -------
    str
        Twelve hexadecimal digits. The number of threads has no part in it.

    Examples
    --------
    >>> import caesura
    >>> model = caesura.SemiCRF(c2=0.1).fit(["Codd (1970)."], [[(0, 1, "author")]])
    >>> version_of(model) == version_of(model.set_params(n_threads=1))
    True
    """
    neutral = {"n_threads": None, "verbose": False}
    twin = object.__new__(type(model))  # a copy, as other threads may be using the model
    twin.__dict__.update(model.__dict__)
    twin.set_params(**{key: neutral[key] for key in neutral.keys() & model.get_params()})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        twin.save(file)
        return hashlib.sha256(file.read_bytes()).hexdigest()[:12]
