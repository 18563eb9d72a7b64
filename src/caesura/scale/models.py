"""Models that workers read from files, once in each process."""

from __future__ import annotations

import os
import zlib
from functools import lru_cache
from typing import Any, NamedTuple

from caesura.models import load
from caesura.ready import resolve

__all__ = ["ModelSource"]


class ModelSource(NamedTuple):
    """A model file, which all workers can open."""

    path: str
    crc: int  # of the file
    trust: bool
    alone: bool  # whether there is one process, which may use all threads

    @classmethod
    def of(cls, model: str | os.PathLike[str], trust: bool, executor: Any) -> ModelSource:
        """Return the source of a model for an executor, or raise if there is no such file."""
        path = os.fspath(resolve(model))
        with open(path, "rb") as file:
            return cls(path, zlib.crc32(file.read()), trust, executor is None)

    def loaded(self) -> Any:
        """Return the model, which a process reads once."""
        return _loaded(self)


@lru_cache(maxsize=2)
def _loaded(source: ModelSource) -> Any:
    model = load(source.path, trust=source.trust)
    if source.alone or "n_threads" not in model.get_params():
        return model
    return model.set_params(n_threads=1)
