"""Execution on a Ray cluster; restarted actors recreate their shards."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from caesura.executors.failures import DEATHS, WorkerDiedError
from caesura.executors.shards import Held, share
from caesura.executors.tree import Tree, added

__all__ = ["Ray"]

LOCAL = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # if 0, Ray starts clusters on this machine only


class _Worker:
    """The Ray actor; after a restart it requests its shards again."""

    def __init__(self) -> None:
        self._held: Held | None = None

    def reduce(self, held: list[Any], function: Callable[[Any, Any], Any], w: Any) -> Any:
        if self._held is None:
            import ray

            self._held = ray.get(held[0])
        sums = [value for value, _ in self._held.reduce(function, w)]
        return sums if len(sums) > 1 else sums[0]  # one object per return value


def _connected() -> Any:
    """Connect to Ray: the current cluster, that of RAY_ADDRESS, or a new local one."""
    loaded = sys.modules.get("ray")
    if (loaded is None or not loaded.is_initialized()) and LOCAL not in os.environ:
        os.environ[LOCAL] = "0"  # else Ray listens on an address that other machines can reach
    import ray as engine

    ray: Any = engine
    if ray.is_initialized():
        return ray
    if os.environ.get("RAY_ADDRESS"):
        ray.init()
        return ray
    if loaded is not None:  # it has already read the environment
        constants: Any = importlib.import_module("ray._private.ray_constants")
        constants.ENABLE_RAY_CLUSTER = False
    ray.init(
        _node_ip_address="127.0.0.1",
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    return ray


def _call(function: Callable[[Any], Any], item: Any) -> Any:
    return function(item)


class Ray:
    """Work on the Ray cluster that this process is connected to, or on one of this machine.

    A cluster that is started here listens on this machine only.
    """

    def __init__(self) -> None:
        ray = self._ray = _connected()
        # Created once, because Ray sends each remote function to the workers. It needs no CPU,
        # because actors occupy all of them and additions must not wait.
        self._add = ray.remote(num_cpus=0, max_retries=-1)(added).remote
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def load(self, make_shard: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Assign shards to workers, which create them when first needed."""
        actor = self._ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Worker)
        shares = share(make_shard, parts, self.workers)
        return [(actor.remote(), [self._ray.put(held)], held.sizes) for held in shares]

    def map_reduce(self, handle: list[Any], function: Callable[[Any, Any], Any], w: Any) -> Any:
        """Return the sum of ``function(shard, w)`` over all shards, added up in the cluster."""
        sent = self._ray.put(w)
        tree = Tree(self._add)
        for actor, held, sizes in handle:
            call = actor.reduce.options(num_returns=len(sizes))
            sums = call.remote(held, function, sent)
            for one, size in zip(sums if len(sizes) > 1 else [sums], sizes, strict=True):
                tree.push(one, size)
        return self._ray.get(tree.total())

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for each item, in order."""
        sent = self._ray.put(function)
        task = self._ray.remote(num_cpus=1, max_retries=DEATHS - 1, retry_exceptions=False)(_call)
        errors = self._ray.exceptions
        for found in [task.remote(sent, item) for item in items]:
            try:
                result = self._ray.get(found)
            except (errors.WorkerCrashedError, errors.OutOfMemoryError) as error:
                raise WorkerDiedError(
                    f"workers died {DEATHS} times in the same task ({type(error).__name__})",
                    place="executor",
                    remedy="look for a lack of memory, and use smaller parts or fewer workers",
                ) from None
            yield result
