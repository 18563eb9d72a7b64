"""Work on a Dask cluster.

No task is pinned to a worker.  Shards are futures that Dask makes again, from their descriptions,
on another worker when theirs has died; weights are results of tasks, too, and not scattered data,
which would be lost with its worker.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from caesura.errors import CaesuraError
from caesura.executors.failures import WorkerDiedError
from caesura.executors.tree import added

__all__ = ["Dask"]

PATIENCE = 20.0  # seconds that the scheduler may be unreachable
AGAIN = 10  # number of times that lost shards are recreated


def _same(value: Any) -> Any:
    return value


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


class _Shards:
    """The recipe and the locations of the shards."""

    def __init__(self, make_shard: Callable[[Any], Any], parts: Sequence[Any]) -> None:
        self.make_shard, self.parts = make_shard, list(parts)
        self.futures: list[Any] = []


class Dask:
    """Work on the cluster of a `distributed.Client`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._check_scheduler()

    def load(self, make_shard: Callable[[Any], Any], parts: Sequence[Any]) -> _Shards:
        """Create the shards, each on a worker that keeps it."""
        handle = _Shards(make_shard, parts)
        self._make(handle)
        return handle

    def _make(self, handle: _Shards) -> None:
        function = self._sent(handle.make_shard)
        handle.futures = [self._submit(_call, function, part) for part in handle.parts]

    def map_reduce(self, handle: _Shards, function: Callable[[Any, Any], Any], w: Any) -> Any:
        """Return the sum of ``function(shard, w)`` over all shards, added up in the cluster."""
        from distributed import KilledWorker

        for attempt in range(AGAIN + 1):
            try:
                return self._result(self._reduced(handle, function, w))
            except KilledWorker:
                if attempt == AGAIN:
                    raise
                self._make(handle)
        raise AssertionError

    def _reduced(self, handle: _Shards, function: Callable[[Any, Any], Any], w: Any) -> Any:
        sent = self._sent(w)
        level = [self._submit(_call, function, shard, sent) for shard in handle.futures]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [self._submit(added, a, b) for a, b in pairs] + level[len(level) & ~1 :]
        return level[0]

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for each item, in order."""
        from distributed import KilledWorker

        sent, items = self._sent(function), list(items)
        futures = [self._submit(_call, sent, item) for item in items]
        futures.reverse()
        for item in items:
            try:
                found = self._result(futures.pop())
            except KilledWorker:
                found = self._alone(sent, item, futures)
            yield found

    def _alone(self, function: Any, item: Any, others: list[Any]) -> Any:
        """Return the result for an item while nothing else runs.

        Dask blames all tasks of a worker for its death, those in other threads, too.
        """
        import distributed as imported

        distributed: Any = imported
        if others:
            self._awaited(lambda timeout: distributed.wait(others, timeout=timeout), lambda: False)
        try:
            return self._result(self._submit(_call, function, item))
        except distributed.KilledWorker as error:
            raise WorkerDiedError(
                f"workers died several times in the same task ({error})",
                place="executor",
                remedy="look for a lack of memory, and use smaller parts or fewer workers",
            ) from None

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False)

    def _sent(self, value: Any) -> Any:
        """Return a future of a value that the scheduler keeps while it is needed."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._submit(_same, value)

    def _result(self, future: Any) -> Any:
        """Return the result of a future, or raise if the scheduler is gone."""
        return self._awaited(future.result, lambda: future.status == "error")

    def _awaited(self, call: Callable[[float | None], Any], failed: Callable[[], bool]) -> Any:
        """Return the result of a call that takes a timeout, or raise if the scheduler is gone."""
        from asyncio import CancelledError
        from concurrent.futures import CancelledError as Cancelled

        while True:
            try:
                return call(PATIENCE / 2)
            except TimeoutError:
                if failed():  # the task itself may have raised it
                    return call(None)
                self._check_scheduler()
            except (CancelledError, Cancelled, OSError) as error:
                self._check_scheduler(error)
                raise

    def _check_scheduler(self, error: BaseException | None = None) -> None:
        """Raise if the scheduler does not answer."""
        client = self._client
        try:
            if client.status != "running":
                raise OSError(f"the client is {client.status}")
            client.sync(client.scheduler.identity, callback_timeout=PATIENCE / 2)
        except (OSError, TimeoutError, AttributeError) as problem:
            raise CaesuraError(
                f"the Dask scheduler at {_address(client)} does not answer ({problem})",
                place="executor",
                remedy="start it again and make a new Client; training resumes from its checkpoint",
            ) from error


def _address(client: Any) -> str:
    scheduler = getattr(client, "scheduler", None)
    return str(getattr(scheduler, "address", None) or "an unknown address")
