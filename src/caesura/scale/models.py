"""Models that workers read from files, once in each process."""

from __future__ import annotations

import os
import zlib
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

from caesura.executors.software import check_software, software
from caesura.models import load
from caesura.ready import resolve

__all__ = ["ModelSource", "model_at"]


class ModelSource(NamedTuple):
    """A model file, which all workers can open."""

    path: str
    crc: int  # checksum of the file
    trust: bool
    alone: bool  # whether a single process does the work, with all threads
    software: tuple[str, ...]  # package versions of the driver

    @classmethod
    def of(cls, model: str | os.PathLike[str], trust: bool, executor: Any) -> ModelSource:
        """Return the source of a model for an executor, or raise if there is no such file."""
        path = os.fspath(resolve(model))
        with open(path, "rb") as file:
            return cls(path, zlib.crc32(file.read()), trust, executor is None, software())

    def loaded(self) -> Any:
        """Return the model, loaded once per process; raise if the versions are not the driver's."""
        check_software(self.software, kernels=False)
        return _shared(self.path, self.crc, self.trust, self.alone)


def model_at(path: str) -> Any:
    """Return the model of a file, loaded once per process, which uses one thread."""
    file = os.fspath(resolve(path))
    about = os.stat(file)
    return _shared(file, (about.st_size, about.st_mtime_ns), False, False)


_loading = Lock()  # else each thread of a worker would load the model


def _shared(path: str, state: Any, trust: bool, alone: bool) -> Any:
    """Return the model that all threads of this process share."""
    with _loading:
        return _loaded(path, state, trust, alone)


@lru_cache(maxsize=2)
def _loaded(path: str, state: Any, trust: bool, alone: bool) -> Any:
    model = load(path, trust=trust)
    if alone or "n_threads" not in model.get_params():
        return model
    return model.set_params(n_threads=1)
