"""Computation in threads, with a bound on waiting requests."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from caesura.server.limits import Limits, Refused

__all__ = ["Pace", "Work"]

T = TypeVar("T")
QUICK = 0.001  # seconds; shorter work is not worth a round trip to a thread, about 0.1 ms


class Pace:
    """The expected duration of a kind of work, estimated from past ones.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.expected(100)
    inf
    >>> pace.timed(lambda: 6 * 7, 100)
    42
    >>> pace.expected(100) < 1
    True
    """

    def __init__(self) -> None:
        self._each = math.inf  # seconds per unit of size

    def expected(self, size: int) -> float:
        """Return the expected seconds for work of a given size."""
        return self._each * size

    def timed(self, function: Callable[[], T], size: int) -> T:
        """Call a function and record its duration.

        Slow work counts at once, and is forgotten after some quick work.
        """
        began = time.perf_counter()
        try:
            return function()
        finally:
            each = (time.perf_counter() - began) / max(size, 1)
            before = 0.0 if self._each == math.inf else self._each
            self._each = max(each, 0.7 * before + 0.3 * each)


class Work:
    """A thread pool that rejects work when too much is waiting.

    A computation that takes too long is no longer waited for, but it counts until it has ended:
    what a client gives up does not make room for more.

    Parameters
    ----------
    threads : int
        Number of answers that are computed at the same time.
    limits : Limits
        `waiting` and `seconds` are used.

    Examples
    --------
    >>> work = Work(1, Limits())
    >>> asyncio.run(work.run(lambda: 6 * 7))
    42
    >>> work.close()
    """

    def __init__(self, threads: int, limits: Limits) -> None:
        self.limits, self.threads = limits, threads
        self.busy = 0
        self._pool = ThreadPoolExecutor(threads, "caesura")

    async def run(self, function: Callable[[], T], pace: Pace | None = None, size: int = 0) -> T:
        """Run a function in the pool, or raise `Refused` if it is overloaded.

        Parameters
        ----------
        function : callable
            The computation.
        pace : Pace, optional
            How long such computations take; a short one is not handed to a thread.
        size : int
            Size of the computation, as the pace counts it.
        """
        if self.busy >= self.limits.waiting:
            raise Refused(503, "the server is busy; try again later", retry_after=1)
        if pace is None:
            return await self._in_thread(function)
        if pace.expected(size) < QUICK:
            return pace.timed(function, size)
        return await self._in_thread(lambda: pace.timed(function, size))

    async def _in_thread(self, function: Callable[[], T]) -> T:
        self.busy += 1
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[T] = loop.create_future()
        self._pool.submit(function).add_done_callback(
            lambda done: loop.is_closed() or loop.call_soon_threadsafe(self._ended, done, waiting)
        )
        late = loop.call_later(self.limits.seconds, self._give_up, waiting)
        try:
            return await waiting
        finally:
            late.cancel()

    def _ended(self, done: Future[T], waiting: asyncio.Future[T]) -> None:
        """Record the end of a computation, and deliver its result."""
        self.busy -= 1
        if waiting.done():
            return
        if done.cancelled():
            waiting.cancel()
        elif (error := done.exception()) is not None:
            waiting.set_exception(error)
        else:
            waiting.set_result(done.result())

    def _give_up(self, waiting: asyncio.Future[T]) -> None:
        if not waiting.done():
            seconds = f"{self.limits.seconds:g} seconds"
            reason = f"the answer takes longer than {seconds}; send fewer or shorter texts"
            waiting.set_exception(Refused(413, reason))

    def close(self) -> None:
        """Finish running computations and drop waiting ones."""
        self._pool.shutdown(cancel_futures=True)
