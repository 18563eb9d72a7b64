"""Limits of a server, and the errors for requests beyond them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Limits", "Refused"]


class Limits(NamedTuple):
    """The limits of a single request.

    Examples
    --------
    >>> Limits(texts=10).texts
    10
    """

    body: int = 4 * 2**20  # bytes of a request body, or of one line of a stream
    texts: int = 1000
    characters: int = 20_000  # characters in one text
    n_best: int = 100
    seconds: float = 30.0  # for one answer, and for the arrival of a request body
    waiting: int = 256  # maximum number of running and waiting requests


class Refused(Exception):  # noqa: N818 - not an error of the server
    """Raised for a rejected request, with the status code and the reason.

    Parameters
    ----------
    status : int
        Status code of the response.
    reason : str
        What is wrong, and what to do; the client sees it.
    retry_after : int, optional
        Seconds after which the same request may succeed.

    Examples
    --------
    >>> Refused(404, "no such page").status
    404
    """

    def __init__(self, status: int, reason: str, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.retry_after = status, reason, retry_after
