"""The models of a server by name, reloaded without interruption."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from caesura.errors import CaesuraError, InvalidInput
from caesura.server.limits import Refused
from caesura.server.worker_threads import Pace

__all__ = ["Entry", "Models", "model_names"]


class Entry(NamedTuple):
    """A model that is served."""

    name: str
    path: str
    model: Any
    loaded: float  # time in seconds since 1970
    confident: bool  # whether the model gives probabilities
    explains: bool
    paces: defaultdict[str, Pace]  # path of the question -> duration of the answers

    def described(self) -> dict[str, Any]:
        """Return the public description of the model."""
        model = self.model
        return {
            "name": self.name,
            "kind": type(model).__name__,
            "labels": list(model.labels_),
            "loaded": round(self.loaded, 3),
            "calibrated": getattr(model, "calibration_", None) is not None,
            "probabilities": self.confident,
            "explanations": self.explains,
        }


class Models:
    """Models by name.

    Parameters
    ----------
    paths : dict
        The file of each model; the first one answers requests that name no model.
    load : callable
        Returns the model in a file.

    Examples
    --------
    >>> import caesura
    >>> model = caesura.SemiCRF().fit(["12 High Street"], [[(0, 1, "number"), (1, 3, "street")]])
    >>> models = Models({"address": "address.model"}, lambda path: model)
    >>> models.get(None).name, models.get("address").model.labels_
    ('address', ['number', 'street'])
    """

    def __init__(self, paths: Mapping[str, str | Path], load: Callable[[str], Any]) -> None:
        if not paths:
            raise InvalidInput(
                place="paths", got="none", expected="at least one model", remedy="name its file"
            )
        self._load, self._lock = load, threading.Lock()
        self._entries = {name: self._read(name, str(path)) for name, path in paths.items()}

    def _read(self, name: str, path: str) -> Entry:
        model = self._load(path)
        asked = {"confident": model.predict_confident, "explains": getattr(model, "explain", None)}
        can = {key: _answers(question) for key, question in asked.items()}
        return Entry(name, path, model, time.time(), **can, paces=defaultdict(Pace))

    def __iter__(self) -> Any:
        return iter(self._entries.values())

    def get(self, name: str | None) -> Entry:
        """Return a model by its name, or the first."""
        entries = self._entries
        if name is None:
            return next(iter(entries.values()))
        if name not in entries:
            raise Refused(404, f"model: got {name!r:.80}, expected one of {', '.join(entries)}")
        return entries[name]

    def reload(self) -> list[str]:
        """Reload all files; the old models serve requests until the new ones are ready.

        Raises
        ------
        CaesuraError, OSError
            If a file cannot be read; all the old models stay.
        """
        with self._lock:
            fresh = {one.name: self._read(one.name, one.path) for one in self}
            self._entries = fresh
        return list(fresh)


def _answers(question: Callable[..., Any] | None) -> bool:
    """Return whether a model can answer a test request."""
    if question is None:
        return False
    try:
        question("a b" if question.__name__ == "explain" else ["a b"])
    except CaesuraError:
        return False
    return True


def model_names(given: list[str]) -> dict[str, str]:
    """Return files by model name: ``NAME=FILE``, or the stem of the file.

    Examples
    --------
    >>> model_names(["models/address.model", "new=models/address-2.model"])
    {'address': 'models/address.model', 'new': 'models/address-2.model'}
    """
    out: dict[str, str] = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not equals or Path(one).exists():
            name, path = Path(one).name.removesuffix(".model"), one
        if name in out:
            raise InvalidInput(
                place="MODEL",
                got=f"two models named {name!r}",
                expected="different names",
                remedy=f"write other={path} for one of them",
            )
        out[name] = path
    return out
