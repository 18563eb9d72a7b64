"""Shards held by a worker and recreated from their descriptions when missing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from caesura.executors.tree import subtrees, total

__all__ = ["Held", "share"]


class Held:
    """The shards of one worker, numbered from its first.

    It is sent as a description: a restarted worker makes its shards again.

    Examples
    --------
    >>> held = Held(float, 2, ["2", "3", "4"])
    >>> held.reduce(lambda shard, w: shard * w, 10.0)
    [(50.0, 2), (40.0, 1)]
    """

    def __init__(self, make_shard: Callable[[Any], Any], first: int, parts: Sequence[Any]) -> None:
        self._make, self._first, self._parts = make_shard, first, list(parts)
        self._shards: dict[int, Any] = {}

    @property
    def sizes(self) -> list[int]:
        """The number of shards in each of the largest subtrees."""
        return [size for _, size in subtrees(self._first, self._first + len(self._parts))]

    def reduce(self, function: Callable[[Any, Any], Any], w: Any) -> list[tuple[Any, int]]:
        """Return ``function(shard, w)`` summed over the largest subtrees, with their sizes."""

        def value(number: int) -> Any:
            if number not in self._shards:
                self._shards[number] = self._make(self._parts[number - self._first])
            return function(self._shards[number], w)

        last = self._first + len(self._parts)
        return [
            (total(map(value, range(first, first + size))), size)
            for first, size in subtrees(self._first, last)
        ]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_shards": {}}


def share(make_shard: Callable[[Any], Any], parts: Sequence[Any], workers: int) -> list[Held]:
    """Distribute parts evenly over workers; neighbouring parts stay together."""
    workers = min(workers, len(parts))
    bounds = [len(parts) * k // workers for k in range(workers + 1)]
    return [
        Held(make_shard, first, parts[first:last]) for first, last in itertools.pairwise(bounds)
    ]
