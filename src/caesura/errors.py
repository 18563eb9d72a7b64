"""The exceptions that Caesura raises on purpose.

::

    Exception
     +-- CaesuraError             everything below, for one ``except``
          +-- InvalidInput        an argument is wrong                 (also a ValueError)
          +-- Impossible          no segmentation has a finite score   (also a ValueError)
          +-- TooLarge            the exact answer would cost too much (also a ValueError)

A message names the argument, what came, what was expected and what to do; `message` builds it.
"""

from __future__ import annotations

import reprlib

__all__ = ["CaesuraError", "Impossible", "InvalidInput", "TooLarge", "message"]

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


class CaesuraError(Exception):
    """Stand above every exception that Caesura raises on purpose.

    Examples
    --------
    >>> try:
    ...     raise TooLarge("17 labels may occur at most once, expected 16 or fewer")
    ... except CaesuraError as error:
    ...     print(error)
    17 labels may occur at most once, expected 16 or fewer
    """


class InvalidInput(CaesuraError, ValueError):  # noqa: N818 - a condition, not a bug
    """Say that an argument is wrong: its type, its shape, its range or its meaning.

    Examples
    --------
    >>> issubclass(InvalidInput, ValueError)
    True
    """


class Impossible(CaesuraError, ValueError):  # noqa: N818 - a condition, not a bug
    """Say that no segmentation has a finite score, so that there is no answer to give.

    Examples
    --------
    >>> issubclass(Impossible, ValueError)
    True
    """


class TooLarge(CaesuraError, ValueError):  # noqa: N818 - a condition, not a bug
    """Say that the exact answer would cost too much, and which limit was passed.

    Examples
    --------
    >>> issubclass(TooLarge, ValueError)
    True
    """


def message(argument: str, came: object, expected: str, remedy: str) -> str:
    """Build the text of an error: the argument, what came, what was expected, what to do.

    Parameters
    ----------
    argument : str
        The argument as the caller would write it, down to the offending item: ``segments[2]``.
    came : object
        The offending value; a long one is shortened.
    expected : str
        What would have been right.
    remedy : str
        What the caller can do about it.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> message("n", -1, "a number of paths, 1 or more", "ask for at least one")
    'n: got -1, expected a number of paths, 1 or more; ask for at least one'
    """
    return f"{argument}: got {_SHORT.repr(came)}, expected {expected}; {remedy}"
