"""Work on a Ray cluster: actors that are started again, and make their shards again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from caesura.executors.shards import Held, share
from caesura.executors.tree import Tree

__all__ = ["Ray"]


class _Worker:
    """What an actor does."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def reduce(self, function: Callable[[Any, Any], Any], w: Any) -> list[tuple[Any, int]]:
        return self._held.reduce(function, w)


def _call(function: Callable[[Any], Any], item: Any) -> Any:
    return function(item)


class Ray:
    """Work on the Ray cluster that this process is connected to, or on one of this machine.

    A cluster that is started here listens on this machine only.
    """

    def __init__(self) -> None:
        import ray as engine

        ray: Any = engine
        self._ray = ray
        if not ray.is_initialized():
            ray.init(
                _node_ip_address="127.0.0.1",
                include_dashboard=False,
                log_to_driver=False,
                logging_level="warning",
            )
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def load(self, make_shard: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Let each actor hold some of the shards; it makes them when they are first needed."""
        actor = self._ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Worker)
        return [actor.remote(held) for held in share(make_shard, parts, self.workers)]

    def map_reduce(self, handle: list[Any], function: Callable[[Any, Any], Any], w: Any) -> Any:
        """Return the sum of ``function(shard, w)`` over all shards."""
        sent = self._ray.put(w)
        tree = Tree()
        for found in [actor.reduce.remote(function, sent) for actor in handle]:
            for value, size in self._ray.get(found):
                tree.push(value, size)
        return tree.total()

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for each item, in order."""
        sent = self._ray.put(function)
        task = self._ray.remote(num_cpus=1, max_retries=-1, retry_exceptions=False)(_call)
        for found in [task.remote(sent, item) for item in items]:
            yield self._ray.get(found)
