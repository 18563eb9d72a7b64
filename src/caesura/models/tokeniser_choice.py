"""Choice of the tokeniser of a model: the coarsest that fits all labelled spans."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from caesura.documents.tokeniser_fitting import Fitting
from caesura.models.inputs import CHUNK

__all__ = ["choose", "look_at"]


def choose(*given: Any) -> tuple[str, list[Any]]:
    """Return the name of a tokeniser, and the data without loss of items.

    Lists and corpora are read completely; of a generator, only the first sequences are considered.

    Examples
    --------
    >>> choose([{"text": "10 km", "spans": [[0, 2, "number"]]}], None)[0]
    'words'
    """
    fitting = Fitting()
    data = [look_at(X, fitting) for X in given]
    if fitting.level:
        name = fitting.tokeniser
        warnings.warn(
            f"tokeniser: {name!r} was chosen, because {fitting.reason}; segments count these "
            f"tokens. Pass tokeniser={name!r} to choose it explicitly",
            stacklevel=5,
        )
    return fitting.tokeniser, data


def look_at(X: Any, fitting: Fitting) -> Any:
    """Inspect all labelled spans; return the sequences."""
    if getattr(X, "automatic", False):  # a corpus
        for _ in X.fitted(fitting):
            pass
        return X
    if isinstance(X, Iterator):
        head = list(islice(X, 1))
        if head and isinstance(head[0], Mapping):
            head += islice(X, CHUNK - 1)
            fitting.see(head)
        return chain(head, X)
    if isinstance(X, list | tuple):
        fitting.see(X)
    return X
