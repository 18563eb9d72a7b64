"""Executors, which run the work on the parts of a large corpus.

An executor is any object with three methods, see `Executor`.  No engine is imported until it is
used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from caesura.checks import whole
from caesura.errors import InvalidInput, MissingPackage, message
from caesura.executors.local import Here, Processes
from caesura.executors.tree import Tree, added, total

__all__ = ["Executor", "Here", "Processes", "Tree", "added", "opened", "total"]

MOST_PROCESSES = 1024


@runtime_checkable
class Executor(Protocol):
    """The interface of executors: a process, several processes, or a cluster.

    Examples
    --------
    >>> isinstance(Here(), Executor), isinstance("ray", Executor)
    (True, False)
    """

    def load(self, make_shard: Callable[[Any], Any], parts: Sequence[Any]) -> Any:
        """Create ``make_shard(part)`` for each part on the workers; return a handle.

        A shard that is lost with its worker is made again.
        """

    def map_reduce(self, handle: Any, function: Callable[[Any, Any], Any], w: Any) -> Any:
        """Return the sum of ``function(shard, w)`` over all shards of a handle, along `Tree`."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for each item, in order."""


@contextmanager
def opened(executor: Any) -> Iterator[Executor]:
    """Yield the executor for an argument, and close it if it was started here.

    Parameters
    ----------
    executor : None, int, Client, "ray" or Executor
        None is this process with all threads, a number that many processes of this machine, a
        `distributed.Client` a Dask cluster, "ray" the Ray cluster of this process.

    Examples
    --------
    >>> with opened(None) as executor:
    ...     list(executor.map(abs, [-1, 2]))
    [1, 2]
    """
    if executor is None:
        yield Here()
    elif isinstance(executor, int):
        local = Processes(whole("executor", executor, 1, MOST_PROCESSES))
        try:
            yield local
        finally:
            local.close()
    elif executor == "ray":
        if importlib.util.find_spec("ray") is None:
            raise MissingPackage("ray", "ray", "executor='ray'")
        from caesura.executors.ray import Ray

        yield Ray()
    elif type(executor).__module__.partition(".")[0] == "distributed":
        from caesura.executors.dask import Dask

        yield Dask(executor)
    elif isinstance(executor, Executor):
        yield executor
    else:
        expected = "None, a number of processes, a Dask Client, 'ray', or an object with the "
        expected += "methods load, map_reduce and map"
        raise InvalidInput(message("executor", executor, expected, "pass one of them"))
