"""The option ``--tokeniser``, as the library takes it."""

from __future__ import annotations

import functools

from caesura.cli.output import warn
from caesura.documents.tokeniser_fitting import AUTO
from caesura.documents.tokenisers import is_linear

__all__ = ["tokeniser_of"]


def tokeniser_of(given: str | None) -> str | dict[str, str] | None:
    """Return the tokeniser named by an option, in the form that `Tokeniser.of` takes.

    Examples
    --------
    >>> tokeniser_of("regex:[a-z]+")
    {'regex': '[a-z]+'}
    >>> tokeniser_of("auto") is None
    True
    """
    if given is None or given == AUTO:
        return None
    if not given.startswith("regex:"):
        return given
    regex = given.removeprefix("regex:")
    _warn_of_backtracking(regex)
    return {"regex": regex}


@functools.cache
def _warn_of_backtracking(regex: str) -> None:
    """Warn once that a regular expression may take exponential time."""
    if not is_linear(regex):
        warn(
            f"--tokeniser: {regex} has references, look-around, flags, named groups, or repeats "
            "what may be empty; such expressions may take time that is exponential in the text"
        )
