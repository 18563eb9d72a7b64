"""The application that serves models: the API and the playground."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from caesura.server.api import Api
from caesura.server.guard import Guard, refusal
from caesura.server.limits import Limits, Refused
from caesura.server.metrics import Metrics
from caesura.server.pages import page, static
from caesura.server.registry import Models
from caesura.server.worker_threads import Work

__all__ = ["application", "guarded"]


def application(
    models: Models,
    *,
    limits: Limits | None = None,
    tokens: Sequence[str] = (),
    hosts: Sequence[str] | None = None,
    workers: int | None = None,
) -> ASGIApp:
    """Return the ASGI application that serves models.

    Parameters
    ----------
    models : Models
        The models by name.
    limits : Limits, optional
        The most that a request may ask.
    tokens : sequence of str
        Accepted bearer tokens; if empty, all clients are accepted.
    hosts : sequence of str, optional
        Host names by which the server may be called; None: any.
    workers : int, optional
        Number of answers that are computed at the same time; by default the number of cores.
    """
    most, metrics = limits or Limits(), Metrics()
    work = Work(workers or os.cpu_count() or 1, most)
    routes = [
        Route("/", page("play.html")),
        Route("/docs", page("docs.html")),
        Route("/static/{name}", static),
        *Api(models, most, work, metrics).routes(),
    ]
    return guarded(routes, work, metrics, tokens, hosts)


def guarded(
    routes: Sequence[Route],
    work: Work,
    metrics: Metrics,
    tokens: Sequence[str] = (),
    hosts: Sequence[str] | None = None,
) -> ASGIApp:
    """Return an application with these routes behind a `Guard`."""
    documented = any(route.path == "/docs" for route in routes)
    pointer = "; see /docs" if documented else ""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        work.close()

    async def unknown(request: Request, error: Exception) -> Response:
        return refusal(Refused(404, f"no such page{pointer}"))

    async def wrong_method(request: Request, error: Exception) -> Response:
        return refusal(Refused(405, f"the method is not allowed here{pointer}"))

    async def broken(request: Request, error: Exception) -> Response:
        return refusal(Refused(500, "something went wrong inside the server"))

    handlers = {404: unknown, 405: wrong_method, 500: broken}
    given: list[BaseRoute] = list(routes)
    app = Starlette(routes=given, lifespan=lifespan, exception_handlers=handlers)
    paths = [route.path.replace("/{name}", "") for route in routes]
    return Guard(app, paths, tokens, hosts, metrics)
