"""Executors on this machine: this process, or processes of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from caesura.executors.failures import DEATHS, WorkerDiedError
from caesura.executors.shards import share
from caesura.executors.tree import Tree

__all__ = ["Here", "Processes"]

ENDING = 1.0  # seconds for a process to exit after its pipe has closed


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


def _serve(connection: Connection) -> None:
    """Serve calls of a function in a worker process: receive arguments, send results or errors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver handles Ctrl-C and ends its workers
    function: Any = None
    while True:
        try:
            told, arguments = connection.recv()
        except EOFError:
            return
        try:
            if told is not None:
                function = pickle.loads(told)
                continue
            answer = True, function(*arguments)
        except Exception as error:
            answer = False, error
        try:
            connection.send(answer)
        except BrokenPipeError:  # the driver has died
            return


class _Worker:
    """A worker process, which is restarted when it dies."""

    def __init__(self) -> None:
        self._told = b""  # the pickled function
        self._call: Any = None  # arguments of the current call
        self._deaths = 0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def tell(self, function: bytes) -> None:
        """Set the function to call."""
        self._told = function
        self._write(function, None)

    def send(self, *arguments: Any) -> None:
        """Start a call."""
        self._call = arguments
        self._write(None, arguments)

    def _write(self, *sent: Any) -> None:
        with contextlib.suppress(OSError):  # the process has died, which `receive` will notice
            self.connection.send(sent)

    def receive(self) -> Any:
        """Return the result of a call, which is repeated if the process dies."""
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
        self.process.join(ENDING)
        failed = self.process.exitcode == 1  # exit code of an uncaught Python error
        self.close()
        self._start()
        if self._deaths >= DEATHS:
            self._deaths = 0
            remedy = "look for a lack of memory, and use smaller parts or fewer workers"
            if failed:
                remedy = "look at its error; a script needs if __name__ == '__main__': around calls"
            raise WorkerDiedError(
                f"a worker process died {DEATHS} times in the same task",
                place="executor",
                remedy=remedy,
            )
        self.tell(self._told)
        self.send(*self._call)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _in_order(
    workers: Sequence[_Worker], waiting: list[tuple[int, Any]], busy: dict[_Worker, int]
) -> Iterator[Any]:
    """Yield the results for numbered items, the last of them first, and raise errors in turn.

    `busy` has the workers that work on an item, and its number.
    """
    found: dict[int, tuple[bool, Any]] = {}
    for k in range(len(waiting)):
        while k not in found:
            for worker in workers:
                if waiting and worker not in busy:
                    busy[worker], item = waiting.pop()
                    worker.send(item)
            ready = wait([worker.connection for worker in busy])
            for worker in [one for one in busy if one.connection in ready]:
                number = busy[worker]
                try:
                    found[number] = True, worker.receive()
                except Exception as error:
                    found[number] = False, error
                    waiting.clear()  # the results of later items are not needed
                del busy[worker]  # if interrupted before this, the caller closes the worker
        good, value = found.pop(k)
        if not good:
            raise value
        yield value


class Processes:
    """Run the work in several processes of this machine.

    Scripts that use it need ``if __name__ == "__main__":``, as everything with processes does.

    Parameters
    ----------
    workers : int
        Number of processes.

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
        self._free: list[_Worker] = []  # workers without shards and calls

    def _taken(self, functions: Sequence[Callable[..., Any]]) -> list[_Worker]:
        """Return a worker for each function."""
        taken = []
        for function in functions:
            if not self._free:
                self._free.append(_Worker())
                self._open += self._free
            taken.append(self._free.pop(0))
            taken[-1].tell(pickle.dumps(function))
        return taken

    def load(self, make_shard: Callable[[Any], Any], parts: Sequence[Any]) -> list[_Worker]:
        """Assign shards to workers, which create them when first needed."""
        return self._taken([held.reduce for held in share(make_shard, parts, self.workers)])

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
        workers = self._taken([function] * min(self.workers, len(waiting)))
        busy: dict[_Worker, int] = {}
        try:
            yield from _in_order(workers, waiting, busy)
        finally:
            for worker in busy:  # their results are no longer needed
                worker.close()
            self._open = [worker for worker in self._open if worker not in busy]
            self._free += [worker for worker in workers if worker not in busy]

    def close(self) -> None:
        """End all processes."""
        for worker in self._open:
            worker.close()
        self._open, self._free = [], []
