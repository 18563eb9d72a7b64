"""Run an application until a signal asks it to stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

try:  # the parser and the event loop in C are twice as fast, but optional
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
except ImportError:  # pragma: no cover
    from uvicorn.protocols.http.h11_impl import (  # type: ignore[assignment]
        H11Protocol as Protocol,
    )
try:
    from uvloop import new_event_loop
except ImportError:  # pragma: no cover
    from asyncio import new_event_loop  # type: ignore[assignment]

__all__ = ["listening", "run"]

HEADERS = 10.0  # seconds within which the headers of a request must arrive
HEAD = 64 * 1024  # maximum size of the headers in bytes
# Some clients offer HTTP/2 with this header; a parser that accepts the offer drops the body.
UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
KEEP_ALIVE = 30  # seconds that a connection may be idle between requests
CONNECTIONS = 1000
TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)
GRACE = 15  # seconds for running requests to finish at shutdown


class Impatient(Protocol):
    """A protocol that closes connections with slow or oversized request heads."""

    def connection_made(self, transport: Any) -> None:
        """Start the timeout for the request head."""
        super().connection_made(transport)
        self._head, self._rest = b"", 0
        self._patience = self.loop.call_later(HEADERS, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Pass on complete request heads and bodies."""
        if self.transport.is_closing():
            return
        if not self._idle():
            super().data_received(data)
        elif self.cycle is not None and self.cycle.more_body:  # the body of a rejected request
            self._rest += len(data)
            if self._rest > HEAD:
                self.transport.close()
            else:
                super().data_received(data)
        else:
            self._head += data
            head, end, body = self._head.partition(b"\r\n\r\n")
            if end:
                self._head = b""
                super().data_received(UPGRADE.sub(b"\r\nx-upgrade:", head) + end + body)
            elif len(head) > HEAD:
                self.transport.write(TOO_LARGE)
                self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._patience.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Start the keep-alive timeout for the next request."""
        super().on_response_complete()
        self._rest = 0
        self._patience.cancel()
        patience = self.timeout_keep_alive + HEADERS
        self._patience = self.loop.call_later(patience, self._give_up)

    def _idle(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _give_up(self) -> None:
        if self._idle() and not self.transport.is_closing():
            self.transport.close()


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 selects a free port.

    Examples
    --------
    >>> with listening("127.0.0.1", 0) as made:
    ...     made.getsockname()[0]
    '127.0.0.1'
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is given; without it, each answer waits 40 ms
    # for the client's delayed acknowledgement.
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
    """Serve requests until SIGINT or SIGTERM; running requests are completed first.

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
        timeout_keep_alive=KEEP_ALIVE,
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

    # uvicorn raises KeyboardInterrupt again after the shutdown.
    with (
        contextlib.suppress(KeyboardInterrupt),
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        runner.run(serve())
