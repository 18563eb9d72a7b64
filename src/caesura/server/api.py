"""The HTTP API of a server of models."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from caesura.errors import CaesuraError
from caesura.server import answers
from caesura.server.bodies import Question, read_json, read_question
from caesura.server.limits import Limits, Refused
from caesura.server.metrics import Metrics
from caesura.server.openapi import described
from caesura.server.registry import Entry, Models
from caesura.server.requests import answering, body_of, failed, json_response, lines_of
from caesura.server.worker_threads import Work

__all__ = ["Api"]

NDJSON = "application/x-ndjson"
LINES = 256  # lines of a stream that are answered together
LEAST = 16  # minimum number of texts in a part of a batch
Asked = Callable[[Entry, Question, Limits], list[dict[str, Any]]]
QUESTIONS: dict[str, Asked] = {
    "/segment": lambda e, q, most: answers.segmented(e, q.texts, q.constraints, most),
    "/extract": lambda e, q, most: answers.extracted(e, q.texts, q.constraints, most),
    "/explain": lambda e, q, most: answers.explained(e, q.texts, q.constraints, q.reasons, most),
    "/n-best": lambda e, q, most: answers.ranked(e, q.texts, q.constraints, q.n, most),
}


class Lines(Response):
    """A response that is streamed while the request arrives.

    Starlette's own streaming response waits for the end of the connection, and would so take the
    parts of the body that are still to come.
    """

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        super().__init__(media_type=NDJSON)
        del self.headers["content-length"]
        self.parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the parts as they come."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async for part in self.parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Api:
    """The endpoints of some models.

    Parameters
    ----------
    models : Models
        What answers.
    limits : Limits
        The most that a request may ask.
    work : Work
        The threads.
    metrics : Metrics
        What is counted.
    """

    def __init__(self, models: Models, limits: Limits, work: Work, metrics: Metrics) -> None:
        self.models, self.limits, self.work, self.metrics = models, limits, work, metrics

    def routes(self) -> list[Route]:
        """Return the routes of the API."""
        asked = [
            Route(path, answering(self._endpoint(path)), methods=["POST"]) for path in QUESTIONS
        ]
        return [
            *asked,
            Route("/health", self.health),
            Route("/metrics", self.counts),
            Route("/models", self.listed),
            Route("/reload", answering(self.reload), methods=["POST"]),
            Route("/openapi.json", self.description),
        ]

    async def health(self, request: Request) -> Response:
        """Report that the server is running."""
        return json_response({"status": "ok"})

    async def counts(self, request: Request) -> Response:
        """Return the metrics."""
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def listed(self, request: Request) -> Response:
        """Return the models."""
        limits = self.limits._asdict()
        return json_response({"models": [one.described() for one in self.models], "limits": limits})

    async def description(self, request: Request) -> Response:
        """Return the OpenAPI description."""
        return json_response(described(self.limits))

    async def reload(self, request: Request) -> Response:
        """Reload all model files."""
        try:
            names = await self.work.run(self.models.reload)
        except (CaesuraError, OSError) as error:
            raise Refused(409, f"the models stay as they were: {error}") from None
        return json_response({"reloaded": names})

    def _endpoint(self, path: str) -> Any:
        async def endpoint(request: Request) -> Response:
            if request.headers["content-type"].partition(";")[0].strip().lower() == NDJSON:
                entry = self.models.get(request.query_params.get("model"))
                return Lines(self._stream(request, entry, QUESTIONS[path]))
            body = read_json(await body_of(request, self.limits))
            asked = read_question(body, self.limits)
            entry = self.models.get(asked.model)
            parts = await self._answers(entry, asked, path)
            self.metrics.texts(entry.name, len(asked.texts))
            content = b'{"model":%b,"results":[%b]}' % (orjson.dumps(entry.name), b",".join(parts))
            return Response(content, media_type="application/json")

        return endpoint

    async def _answers(self, entry: Entry, asked: Question, path: str) -> list[bytes]:
        """Return the results as items of a JSON list, in some parts.

        A server that has nothing else to do works on the parts of a batch at the same time: while
        the answers of one become JSON, the kernels compute those of another.
        """
        question = QUESTIONS[path]

        def job(some: Question) -> Awaitable[bytes]:
            size = sum(map(len, some.texts)) + len(some.texts)
            return self.work.run(
                lambda: orjson.dumps(question(entry, some, self.limits))[1:-1],
                entry.paces[path],
                size,
            )

        count = min(self.work.threads, self.limits.waiting, len(asked.texts) // LEAST)
        if count > 1 and not self.work.busy and asked.constraints is None:
            ends = [len(asked.texts) * k // count for k in range(count + 1)]
            some = [asked._replace(texts=asked.texts[a:b]) for a, b in pairwise(ends)]
            with contextlib.suppress(CaesuraError):  # retried whole, so that errors name its texts
                return await asyncio.gather(*map(job, some))
        return [await job(asked)] if asked.texts else []

    async def _stream(
        self, request: Request, entry: Entry, question: Asked
    ) -> AsyncIterator[bytes]:
        """Yield a response line for each request line, in order; errors take their place."""
        try:
            async for arrived in lines_of(request, self.limits):
                for first in range(0, len(arrived), LINES):
                    some = [line for line in arrived[first : first + LINES] if line.strip()]
                    yield await self.work.run(
                        lambda some=some: self._lines(entry, some, question)  # type: ignore[misc]
                    )
                    self.metrics.texts(entry.name, len(some))
        except Refused as refused:  # too late for an error status
            yield _line({"error": refused.reason})
        except ClientDisconnect:
            return

    def _lines(self, entry: Entry, lines: list[bytes], question: Asked) -> bytes:
        """Answer some lines together, or one by one if one of them fails."""
        try:
            asked = [self._line_question(line) for line in lines]
            if len({(one.n, one.reasons) for one in asked}) == 1:
                return b"".join(map(_line, question(entry, _together(asked), self.limits)))
        except (CaesuraError, Refused):
            pass
        return b"".join(self._one_line(entry, line, question) for line in lines)

    def _one_line(self, entry: Entry, line: bytes, question: Asked) -> bytes:
        try:
            return _line(question(entry, self._line_question(line), self.limits)[0])
        except CaesuraError as error:
            return _line({"error": failed(error).reason})
        except Refused as refused:
            return _line({"error": refused.reason})

    def _line_question(self, line: bytes) -> Question:
        """Return the question on a line: an object with text, or a string."""
        body = read_json(line)
        asked = read_question({"text": body} if isinstance(body, str) else body, self.limits)
        if len(asked.texts) != 1 or asked.model is not None:
            raise Refused(400, "line: expected a string, or an object with text and without model")
        return asked


def _together(asked: list[Question]) -> Question:
    """Combine several questions into one."""
    rules = None
    if any(one.constraints for one in asked):
        rules = [one.constraints[0] if one.constraints else {} for one in asked]
    return asked[0]._replace(texts=[one.texts[0] for one in asked], constraints=rules)


def _line(value: Any) -> bytes:
    return orjson.dumps(value) + b"\n"
