"""The files of the pages, loaded once and served from memory."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from caesura.server.limits import Refused

__all__ = ["page", "static"]

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FILES = {
    one.name: (one.read_bytes(), TYPES[one.name[one.name.rindex(".") :]])
    for one in files("caesura.server").joinpath("page").iterdir()
    if one.name.endswith(tuple(TYPES))
}


def page(name: str) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint that serves one file.

    Examples
    --------
    >>> page("play.html").__name__
    'answer'
    """

    async def answer(request: Request) -> Response:
        return _response(name, request)

    return answer


async def static(request: Request) -> Response:
    """Serve a file by its name."""
    return _response(request.path_params["name"], request)


def _response(name: str, request: Request) -> Response:
    if name not in _FILES:
        raise Refused(404, "no such page")
    content, kind = _FILES[name]
    etag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    headers = {"etag": etag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=kind)
