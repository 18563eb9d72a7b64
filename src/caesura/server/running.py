"""Run an application until a signal asks it to stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["listening", "run"]

HEADERS = 10.0  # seconds in which the headers of the first request must have come
CONNECTIONS = 1000
GRACE = 15  # seconds that requests have to end when the server is told to stop


class Impatient(H11Protocol):
    """Close connections that do not send a request in time."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the headers."""
        super().connection_made(transport)
        self._patience = self.loop.call_later(HEADERS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._patience.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one.

    Examples
    --------
    >>> with listening("127.0.0.1", 0) as made:
    ...     made.getsockname()[0]
    '127.0.0.1'
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once (TCP_NODELAY) only where the protocol is given; without
    # it each answer waits 40 ms for the client's delayed acknowledgement.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(1024)
    except OSError:
        made.close()
        raise
    made.setblocking(False)
    return made


def run(
    app: ASGIApp,
    made: socket.socket,
    *,
    on_hangup: Callable[[], object] | None = None,
    connections: int = CONNECTIONS,
) -> None:
    """Answer requests until SIGINT or SIGTERM; requests that have begun are answered first.

    Parameters
    ----------
    app : ASGI application
        What answers.
    made : socket
        Where it listens.
    on_hangup : callable, optional
        What SIGHUP calls, in a thread.
    connections : int
        Number of connections at a time; further ones get status 503.
    """
    config = uvicorn.Config(
        app,
        http=Impatient,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=connections,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        if on_hangup is not None and sys.platform != "win32":
            call = on_hangup

            def hangup() -> None:
                loop.run_in_executor(None, call)

            loop.add_signal_handler(signal.SIGHUP, hangup)
        await server.serve(sockets=[made])

    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again once all has ended
        asyncio.run(serve())
