"""Executors on this machine: this process, or processes of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from caesura.errors import CaesuraError
from caesura.executors.shards import share
from caesura.executors.tree import Tree

__all__ = ["Here", "Processes"]

DEATHS = 5  # of a worker, one after the other, before it is given up


class Here:
    """Work in this process, one part after the other; the kernels use all threads.

    Examples
    --------
    >>> here = Here()
    >>> handle = here.load(float, ["1", "2", "3"])
    >>> here.map_reduce(handle, lambda shard, w: shard * w, 10.0)
    60.0
    >>> list(here.map(str.upper, ["a", "b"]))
    ['A', 'B']
    """

    def load(self, make_shard: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Return the shards."""
        return [make_shard(part) for part in parts]

    def map_reduce(self, handle: list[Any], function: Callable[[Any, Any], Any], w: Any) -> Any:
        """Return the sum of ``function(shard, w)`` over all shards."""
        tree = Tree()
        for shard in handle:
            tree.push(function(shard, w))
        return tree.total()

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for each item, in order."""
        return map(function, items)


def _serve(connection: Connection, told: bytes) -> None:
    """Call a function with whatever comes, and send what it returns, or the error."""
    function = pickle.loads(told)
    while True:
        try:
            arguments = connection.recv()
        except EOFError:
            return
        try:
            answer = True, function(*arguments)
        except Exception as error:
            answer = False, error
        connection.send(answer)


class _Worker:
    """A process that calls one function, and is started again when it dies."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._told = pickle.dumps(function)
        self._call: Any = None  # the arguments that it works on
        self._deaths = 0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        arguments = theirs, self._told
        self.process = context.Process(target=_serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()

    def send(self, *arguments: Any) -> None:
        """Begin a call."""
        self._call = arguments
        with contextlib.suppress(OSError):  # it is dead, as `receive` will see
            self.connection.send(arguments)

    def receive(self) -> Any:
        """Return the result of a call, which is made again when the process dies."""
        while True:
            try:
                good, found = self.connection.recv()
            except (EOFError, OSError):
                self._restart()
                continue
            self._deaths = 0
            if good:
                return found
            raise found

    def _restart(self) -> None:
        self._deaths += 1
        self.close()
        if self._deaths >= DEATHS:
            raise CaesuraError(
                f"executor: a worker process died {DEATHS} times in the same task; look for a lack "
                "of memory, and use smaller parts or fewer workers"
            )
        self._start()
        self.send(*self._call)

    def close(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.kill()
        self.process.join()


class Processes:
    """Work in so many processes of this machine.

    Scripts that use it need ``if __name__ == "__main__":``, as everything with processes does.

    Parameters
    ----------
    workers : int
        How many processes.

    Examples
    --------
    >>> executor = Processes(2)
    >>> list(executor.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    >>> executor.close()
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._open: list[_Worker] = []

    def load(self, make_shard: Callable[[Any], Any], parts: Sequence[Any]) -> list[_Worker]:
        """Let each process hold some of the shards; it makes them when they are first needed."""
        handle = [_Worker(held.reduce) for held in share(make_shard, parts, self.workers)]
        self._open += handle
        return handle

    def map_reduce(self, handle: list[_Worker], function: Callable[[Any, Any], Any], w: Any) -> Any:
        """Return the sum of ``function(shard, w)`` over all shards."""
        for worker in handle:
            worker.send(function, w)
        tree = Tree()
        for worker in handle:
            for value, size in worker.receive():
                tree.push(value, size)
        return tree.total()

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for each item, in order."""
        waiting = list(enumerate(items))[::-1]
        n, found = len(waiting), {}
        workers = [_Worker(function) for _ in range(min(self.workers, n))]
        self._open += workers
        busy: dict[_Worker, int] = {}  # and the number of the item
        try:
            for k in range(n):
                while k not in found:
                    for worker in workers:
                        if waiting and worker not in busy:
                            busy[worker], item = waiting.pop()
                            worker.send(item)
                    ready = wait([worker.connection for worker in busy])
                    for worker in [one for one in busy if one.connection in ready]:
                        found[busy.pop(worker)] = worker.receive()
                yield found.pop(k)
        finally:
            for worker in workers:
                worker.close()
                self._open.remove(worker)

    def close(self) -> None:
        """End all processes."""
        for worker in self._open:
            worker.close()
        self._open = []
