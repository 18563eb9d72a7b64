"""Reading of request bodies within limits of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from caesura.errors import CaesuraError, Impossible
from caesura.server.guard import refusal
from caesura.server.limits import Limits, Refused

__all__ = ["Endpoint", "answering", "body_of", "failed", "json_response", "lines_of"]

Endpoint = Callable[[Request], Awaitable[Response]]


def json_response(value: Any) -> Response:
    """Return a response with a value as JSON.

    Examples
    --------
    >>> json_response({"status": "ok"}).body
    b'{"status":"ok"}'
    """
    # Requests with lone surrogates are rejected, so all strings can be encoded.
    return Response(orjson.dumps(value), media_type="application/json")


def failed(error: CaesuraError) -> Refused:
    """Return the error response for a library error.

    Examples
    --------
    >>> failed(CaesuraError("texts: got none")).status, failed(Impossible("none")).status
    (400, 422)
    """
    return Refused(422 if isinstance(error, Impossible) else 400, str(error))


def answering(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint whose errors become responses with a reason.

    Examples
    --------
    >>> async def endpoint(request: Request) -> Response:
    ...     raise Refused(404, "no such model")
    >>> asyncio.run(answering(endpoint)(Request({"type": "http"}))).status_code
    404
    """

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as refused:
            return refusal(refused)
        except CaesuraError as error:
            return refusal(failed(error))
        except ClientDisconnect:
            return refusal(Refused(400, "the client went away"))

    return answer


async def body_of(request: Request, limits: Limits) -> bytes:
    """Return the body of a request, or raise if it is too large or too slow."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limits.body:
        raise _too_large(limits)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body:
                    raise _too_large(limits)
                parts.append(part)
    except TimeoutError:
        raise Refused(408, f"body: it did not arrive within {limits.seconds:g} seconds") from None
    return b"".join(parts)


async def lines_of(request: Request, limits: Limits) -> AsyncIterator[list[bytes]]:
    """Yield the lines of a request as they arrive, in groups."""
    rest = b""
    stream = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(limits.seconds):
                part = await anext(stream)
        except StopAsyncIteration:
            break
        except TimeoutError:
            raise Refused(408, f"body: no data arrived for {limits.seconds:g} seconds") from None
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > limits.body:
            raise _too_large(limits)
        if lines:
            yield lines
    if rest.strip():
        yield [rest]


def _too_large(limits: Limits) -> Refused:
    return Refused(413, f"body: expected at most {limits.body:,} bytes; send several requests")
