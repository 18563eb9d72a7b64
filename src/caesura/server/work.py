"""Answers are computed in threads; there is a bound on how many requests wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from caesura.server.limits import Limits, Refused

__all__ = ["Work"]

T = TypeVar("T")


class Work:
    """A pool of threads that refuses work when too much of it waits.

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
        self.limits = limits
        self.busy = 0
        self._pool = ThreadPoolExecutor(threads, "caesura")

    async def run(self, function: Callable[[], T]) -> T:
        """Return what a function returns, or raise `Refused` where there is too much to do."""
        if self.busy >= self.limits.waiting:
            raise Refused(503, "the server is busy; try again later", retry_after=1)
        self.busy += 1
        loop = asyncio.get_running_loop()
        future = self._pool.submit(function)
        future.add_done_callback(lambda _: self._ended(loop))
        waiting = asyncio.wrap_future(future)
        done, _ = await asyncio.wait([waiting], timeout=self.limits.seconds)
        if not done:
            waiting.add_done_callback(_ignore)
            waiting.cancel()
            seconds = self.limits.seconds
            reason = (
                f"the answer takes longer than {seconds:g} seconds; send fewer or shorter texts"
            )
            raise Refused(413, reason)
        return waiting.result()

    def _ended(self, loop: asyncio.AbstractEventLoop) -> None:
        """Count a computation as ended, in the thread that counts."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._free)

    def _free(self) -> None:
        self.busy -= 1

    def close(self) -> None:
        """Wait for what is being computed, and drop the rest."""
        self._pool.shutdown(cancel_futures=True)


def _ignore(future: asyncio.Future[T] | Future[T]) -> None:
    """Take the exception of a computation that nobody waits for."""
    if not future.cancelled():
        future.exception()
