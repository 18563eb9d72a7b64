"""The requests of the labelling page."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from caesura.errors import InvalidInput, message
from caesura.server.app import guarded
from caesura.server.background_training import Teacher
from caesura.server.bodies import read_json
from caesura.server.limits import Limits, Refused
from caesura.server.metrics import Metrics
from caesura.server.pages import page, static
from caesura.server.project import Project
from caesura.server.requests import answering, body_of, json_response
from caesura.server.suggestions import suggested
from caesura.server.worker_threads import Work

__all__ = ["label_application"]

ALIVE = 5.0  # seconds without a request after which a page is gone; open pages send one per second
ROWS = 50  # rows in the list of texts
PREVIEW = 90  # characters of a text in the list
Plain = dict[str, Any]


class Owner:
    """The one page that may change the project, until it closes or another takes over."""

    def __init__(self) -> None:
        self.token = ""
        self._seen = 0.0

    def open(self, token: Any, take: bool) -> tuple[str, bool]:
        """Return the token of a page, and whether it may make changes."""
        now = time.monotonic()
        mine = token if isinstance(token, str) and 16 <= len(token) <= 64 else ""
        mine = mine or secrets.token_urlsafe(16)
        if take or not self.token or mine == self.token or now - self._seen > ALIVE:
            self.token, self._seen = mine, now
        return mine, mine == self.token

    def seen(self, token: Any) -> bool:
        """Record that a page is alive; return whether it may make changes."""
        if not self.token or token != self.token:
            return False
        self._seen = time.monotonic()
        return True

    def check(self, token: Any) -> None:
        """Raise unless a page may make changes."""
        if not self.seen(token):
            reason = "the project is open in another tab, which has taken over; nothing was changed"
            raise Refused(423, reason)

    def close(self, token: Any) -> None:
        """Remove a closed page."""
        if token == self.token:
            self.token = ""


class Labelling:
    """The endpoints of the labelling page."""

    def __init__(self, project: Project, teacher: Teacher) -> None:
        self.project, self.teacher, self.owner = project, teacher, Owner()
        self.at = project.last()  # index of the text that is open on the page

    def open(self, body: Plain) -> Plain:
        """Open the page, or reopen it after a reload."""
        token, mine = self.owner.open(body.get("session"), body.get("take") is True)
        first = self.at
        if first is None or self.project.state(first).status != "open":
            first = self.teacher.next(None)
        info = {"session": token, "owner": mine, "name": self.project.output.name, "first": first}
        return info | self.status(body | {"session": token})

    def close(self, body: Plain) -> Plain:
        """Close the page."""
        self.owner.close(body.get("session"))
        return {}

    def status(self, body: Plain) -> Plain:
        """Return the progress of the project and the score of the model."""
        teacher, project = self.teacher, self.project
        return {
            "owner": self.owner.seen(body.get("session")),
            "revision": project.revision,
            "labels": project.labels,
            "total": len(project.documents),
            "counts": project.counts(),
            "lost": project.lost,
            "model": teacher.version,
            "training": teacher.training,
            "curve": teacher.curve[-200:],
            "warnings": teacher.warnings,
            "problem": teacher.problem,
        }

    def text(self, body: Plain) -> Plain:
        """Return a text with its fixed segments and the suggestions of the model."""
        i = _number(body)
        state, document = self.project.state(i), self.project.documents[i]
        if self.owner.seen(body.get("session")):
            self.at = i
        text, tokens, reached = document.text or "", [], 0
        for start, end in document.offsets or ():
            tokens.append([text[reached:start], text[start:end]])
            reached = end
        return {
            "text": i,
            "tokens": tokens,
            "rest": text[reached:],
            "status": state.status,
            "segments": suggested(
                self.teacher.model, document, state, self.project.drafts.get(i, ())
            ),
            "outside": state.outside,
            "revision": self.project.revision,
            "model": self.teacher.version,
        }

    def act(self, body: Plain) -> Plain:
        """Change the annotations of a text, and return the new suggestions."""
        self.owner.check(body.get("session"))
        self.project.act(_number(body), body.get("ops"), body.get("revision", -1))
        self.teacher.nudge()
        return self.text(body)

    def undo(self, body: Plain) -> Plain:
        """Undo or redo the last action, and return its text."""
        self.owner.check(body.get("session"))
        i = self.project.undo(body.get("revision", -1), body.get("again") is True)
        self.teacher.nudge()
        return {"text": None} if i is None else self.text(body | {"text": i})

    def label(self, body: Plain) -> Plain:
        """Add a label."""
        self.owner.check(body.get("session"))
        self.project.add_label(body.get("label"), body.get("revision", -1))
        return self.status(body)

    def train(self, body: Plain) -> Plain:
        """Start training now."""
        self.owner.check(body.get("session"))
        self.teacher.nudge(train=True)
        return self.status(body)

    def next(self, body: Plain) -> Plain:
        """Return the number of the text to label next."""
        after = body.get("after")
        return {"text": self.teacher.next(after if type(after) is int else None)}

    def list(self, body: Plain) -> Plain:
        """Return some texts with their status."""
        status, words = body.get("status"), str(body.get("words", ""))[:200].casefold()
        first = body.get("first", 0)
        if type(first) is not int or first < 0:
            raise InvalidInput(message("first", first, "a whole number, 0 or more", "send 0"))
        rows: list[Plain] = []
        states, count = self.project.snapshot(), 0
        for i, document in enumerate(self.project.documents):
            now = states[i].status if i in states else "open"
            text = document.text or ""
            if (status and now != status) or (words and words not in text.casefold()):
                continue
            if first <= count < first + ROWS:
                rows.append({"text": i, "status": now, "preview": text[:PREVIEW]})
            count += 1
        return {"rows": rows, "count": count}


def _number(body: Plain) -> int:
    """Return the number of the text that a request is about."""
    i = body.get("text")
    if type(i) is not int:
        raise InvalidInput(message("text", i, "the number of a text", "send 0 for the first"))
    return i


def label_application(
    project: Project,
    teacher: Teacher,
    *,
    tokens: tuple[str, ...] | list[str] = (),
    hosts: list[str] | None = None,
) -> ASGIApp:
    """Return the ASGI application of the labelling page.

    Parameters
    ----------
    project : Project
        The texts.
    teacher : Teacher
        What suggests.
    tokens : sequence of str
        Accepted bearer tokens; if empty, all clients are accepted.
    hosts : sequence of str, optional
        Host names by which the server may be called; None: any.
    """
    limits, metrics, labelling = Limits(), Metrics(), Labelling(project, teacher)
    work = Work(4, limits)

    def route(name: str) -> Route:
        answer: Callable[[Plain], Plain] = getattr(labelling, name)

        async def endpoint(request: Request) -> Response:
            body = read_json(await body_of(request, limits))
            if not isinstance(body, dict):
                raise InvalidInput(message("body", body, "an object", "send JSON such as {}"))
            try:
                return json_response(await work.run(lambda: answer(body)))
            except OSError as error:  # raised by the journal
                reason = f"nothing was changed: the journal cannot be written: {error.strerror}"
                raise Refused(507, reason) from None

        return Route(f"/api/{name}", answering(endpoint), methods=["POST"])

    async def health(request: Request) -> Response:
        return json_response({"status": "ok"})

    names = ("open", "close", "status", "text", "act", "undo", "label", "train", "next", "list")
    routes = [
        Route("/", page("label.html")),
        Route("/static/{name}", static),
        Route("/health", health),
        *map(route, names),
    ]
    return guarded(routes, work, metrics, tokens, hosts)
