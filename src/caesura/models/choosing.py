"""Which tokeniser a model takes where none was given: the coarsest that no labelled span cuts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from caesura.documents import Document
from caesura.documents.fitting import AUTO, Fitting
from caesura.models.estimator import Estimator
from caesura.models.reading import CHUNK

__all__ = ["choose", "choosing"]


@contextmanager
def choosing(model: Estimator, going_on: bool, *given: Any) -> Iterator[list[Any]]:
    """Let a model that fits data have a tokeniser that suits it, and the one before if this fails.

    A model that goes on from an earlier fit keeps the one that it has.
    """
    before, data = model._cutter, list(given)
    try:
        if model.tokeniser == AUTO and not going_on:
            model._cutter, data = choose(*given)
        yield data
    except BaseException:
        model._cutter = before
        raise


def choose(*given: Any) -> tuple[str, list[Any]]:
    """Return the name of a tokeniser, and the data, of which nothing is lost.

    Of a generator, the first sequences decide.

    Examples
    --------
    >>> choose([{"text": "10 km", "spans": [[0, 2, "number"]]}], None)[0]
    'words'
    """
    fitting = Fitting()
    data = [_looked_at(X, fitting) for X in given]
    if fitting.level:
        name = fitting.tokeniser
        warnings.warn(
            f"tokeniser: {name!r} was chosen, because {fitting.reason}; segments count these "
            f"tokens. Pass tokeniser={name!r} to say so yourself",
            stacklevel=5,
        )
    return fitting.tokeniser, data


def _looked_at(X: Any, fitting: Fitting) -> Any:
    """Look at all labelled spans; return the sequences."""
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
    if isinstance(X, Iterable) and not isinstance(X, str | bytes | Mapping | Document):
        fitting.see(X)
    return X
