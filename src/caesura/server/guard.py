"""Checks of every request: access, response headers and metrics."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

import orjson
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caesura.server.limits import Refused
from caesura.server.metrics import Metrics

__all__ = ["LOCAL", "Guard", "is_local", "refusal"]

LOCAL = ("localhost", "127.0.0.1", "[::1]")
PUBLIC = ("/", "/health", "/docs", "/openapi.json")  # these, and /static/, need no token
BODIES = ("application/json", "application/x-ndjson")
SAFE = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
HEADERS = [(name.encode(), value.encode()) for name, value in SAFE.items()]  # in the form of ASGI
LOG = logging.getLogger("caesura.server")


class Guard:
    """Middleware that rejects invalid requests and logs each request.

    The lines have the route, the status, sizes and times, but nothing that a client wrote.

    Parameters
    ----------
    app : ASGI application
        What answers.
    routes : collection of str
        The paths that it knows; others are logged as "other".
    tokens : sequence of str
        Accepted bearer tokens; if empty, all clients are accepted.
    hosts : sequence of str, optional
        Host names by which the server may be called, against DNS rebinding; None: any.
    metrics : Metrics
        What is counted.
    """

    def __init__(
        self,
        app: ASGIApp,
        routes: Collection[str],
        tokens: Sequence[str],
        hosts: Sequence[str] | None,
        metrics: Metrics,
    ) -> None:
        self.app, self.routes, self.metrics = app, frozenset(routes), metrics
        self.tokens = [token.encode() for token in tokens]
        self.hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        path = scope["path"]
        route = "/static" if path.startswith("/static/") else path
        route = route if route in self.routes else "other"

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        self.metrics.begin()
        try:
            self._check(scope["method"], path, Headers(scope=scope))
            await self.app(scope, receive, answer)
        except Refused as refused:
            await refusal(refused)(scope, receive, answer)
        finally:
            seconds = time.perf_counter() - began
            self.metrics.end(route, status, seconds)
            if LOG.isEnabledFor(logging.INFO):
                line = {"method": scope["method"][:8], "route": route, "status": status}
                LOG.info(orjson.dumps(line | {"ms": round(seconds * 1e3, 2)}).decode())

    def _check(self, method: str, path: str, headers: Headers) -> None:
        """Raise unless a request is permitted."""
        host = headers.get("host", "")
        if self.hosts is not None and _name(host) not in self.hosts:
            reason = "host: the server does not answer to this name; name it with --allow-host"
            raise Refused(421, reason)
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise Refused(403, "origin: requests from pages of other sites are refused")
        navigates = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not navigates:
            raise Refused(403, "sec-fetch-site: requests from pages of other sites are refused")
        if self.tokens and path not in PUBLIC and not path.startswith("/static/"):
            self._check_token(headers.get("authorization", ""))
        if method == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in BODIES:
                raise Refused(415, f"content-type: expected {' or '.join(BODIES)}")

    def _check_token(self, given: str) -> None:
        scheme, _, token = given.partition(" ")
        sent = token.strip().encode()
        good = [hmac.compare_digest(sent, known) for known in self.tokens]
        if scheme.lower() != "bearer" or not any(good):
            raise Refused(401, "authorization: expected Bearer and a token of this server")


def refusal(refused: Refused) -> Response:
    """Return the response for a rejected request.

    Examples
    --------
    >>> refusal(Refused(404, "no such page")).body
    b'{"error":"no such page"}'
    """
    headers = {}
    if refused.retry_after is not None:
        headers["retry-after"] = str(refused.retry_after)
    if refused.status == 401:
        headers["www-authenticate"] = "Bearer"
    body = orjson.dumps({"error": refused.reason})
    return Response(body, refused.status, headers, "application/json")


def is_local(host: str) -> bool:
    """Return whether an address is reachable only from this machine.

    Examples
    --------
    >>> is_local("127.0.0.1"), is_local("0.0.0.0")
    (True, False)
    """
    return host in ("localhost", "127.0.0.1", "::1")


def _name(host: str) -> str:
    """Return the name in a Host header, without the port."""
    name = host.lower()
    return name[: name.index("]") + 1] if "]" in name else name.partition(":")[0]
