"""The exceptions that Caesura raises on purpose.

::

    Exception
     +-- CaesuraError             everything below, for one ``except``
          +-- InvalidInput        an argument is wrong                 (also a ValueError)
          |    +-- NotFitted      a model has not been fitted          (also an AttributeError)
          +-- Impossible          no segmentation has a finite score   (also a ValueError)
          +-- TooLarge            the exact answer would cost too much (also a ValueError)
          +-- MissingPackage      an optional package is not installed (also an ImportError)

A message names the argument, what came, what was expected and what to do; `message` builds it.
Errors carry these as fields.  A layer that knows more about an error, such as the file that a
sequence came from, changes its fields: `CaesuraError.changed`.
"""

from __future__ import annotations

import reprlib
import sys
from functools import cache
from typing import Any, Self

__all__ = [
    "CaesuraError",
    "Impossible",
    "InvalidInput",
    "MissingPackage",
    "NotFitted",
    "TooLarge",
    "counted",
    "message",
    "not_fitted",
]

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


class _Message(str):
    """A message and the fields that it was built from."""

    fields: dict[str, Any]


class CaesuraError(Exception):
    """Base class of all errors that Caesura raises on purpose.

    Parameters
    ----------
    text : str
        What is wrong.  `message` builds one with all fields; of any other text, a first word that
        ends in a colon is the argument.

    Attributes
    ----------
    argument : str or None
        The argument that is wrong, without an index: ``"y"``.
    index : int or None
        The index of the item in the argument: 3 in ``y[3]``.
    part : str
        What follows the index: ``"[2]"`` in ``y[3][2]``, ``".dense"`` in ``X[0].dense``.
    got : str or None
        The offending value, shortened.
    expected : str or None
        What would have been right.
    remedy : str or None
        What the caller can do about it.
    problem : str
        The text between the argument and the remedy.

    Examples
    --------
    >>> try:
    ...     raise InvalidInput(message("n[2]", -1, "at least 1", "ask for more"))
    ... except CaesuraError as error:
    ...     print(error)
    ...     print(error.argument, error.index, error.got, error.expected, error.remedy, sep=" | ")
    ...     print(error.changed(argument="--n", index=None))
    n[2]: got -1, expected at least 1; ask for more
    n | 2 | -1 | at least 1 | ask for more
    --n: got -1, expected at least 1; ask for more
    """

    argument: str | None = None
    index: int | None = None
    part: str = ""
    got: str | None = None
    expected: str | None = None
    remedy: str | None = None
    problem: str = ""

    def __init__(self, text: str = "") -> None:
        super().__init__(str(text))
        place, colon, problem = text.partition(": ")
        if isinstance(text, _Message):
            self.__dict__.update(text.fields)
            place, colon = text.fields["argument"], ":"
        else:
            self.problem = problem if colon and " " not in place else str(text)
        if colon and " " not in place:
            self.argument, self.index, self.part = _split(place)

    @property
    def place(self) -> str:
        """The argument as the caller would write it, including the index of the item."""
        return f"{self.argument or ''}{self.item}"

    @property
    def item(self) -> str:
        """The index of the offending item, such as ``"[3][2]"``."""
        return self.part if self.index is None else f"[{self.index}]{self.part}"

    def changed(self, **fields: Any) -> Self:
        """Return the same error with some fields changed, and the message rebuilt.

        Parameters
        ----------
        **fields
            `argument`, `index`, `part`, `problem`, `expected` or `remedy`; or `place`, which is the
            first three together, as in ``y[3][2]``.
        """
        if "place" in fields:
            names = ("argument", "index", "part")
            fields |= dict(zip(names, _split(fields.pop("place")), strict=True))
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__ | fields)
        if twin.expected is not None:
            twin.problem = f"got {twin.got}, expected {twin.expected}"
        place = f"{twin.place}: " if twin.place else ""
        remedy = "" if twin.remedy is None else f"; {twin.remedy}"
        twin.args = (f"{place}{twin.problem}{remedy}",)
        return twin


def _split(place: str) -> tuple[str, int | None, str]:
    """Split an argument such as ``y[3][2]`` into its name, its index and the rest."""
    name, _, inner = place.partition("[")
    index, _, part = inner.partition("]")
    return (name, int(index), part) if index.isdecimal() else (place, None, "")


class InvalidInput(CaesuraError, ValueError):  # noqa: N818 - a condition, not a bug
    """Raised for an invalid argument: wrong type, shape, range or meaning.

    Examples
    --------
    >>> issubclass(InvalidInput, ValueError)
    True
    """


class NotFitted(InvalidInput, AttributeError):  # noqa: N818 - a condition, not a bug
    """Raised when a model is used before it is fitted.

    Where scikit-learn is loaded, what `not_fitted` returns is its ``NotFittedError``, too.

    Examples
    --------
    >>> issubclass(NotFitted, ValueError) and issubclass(NotFitted, AttributeError)
    True
    """

    def __reduce__(self) -> Any:
        return not_fitted, (str(self),)


def not_fitted(text: str) -> NotFitted:
    """Return a `NotFitted` that is also scikit-learn's, without importing scikit-learn.

    Examples
    --------
    >>> isinstance(not_fitted("CRF: not fitted yet"), NotFitted)
    True
    """
    module = sys.modules.get("sklearn.exceptions")
    theirs = getattr(module, "NotFittedError", None)
    return NotFitted(text) if theirs is None else _both(theirs)(text)


@cache
def _both(theirs: type[Exception]) -> type[NotFitted]:
    """Return a class that inherits from both errors."""
    return type("NotFitted", (NotFitted, theirs), {"__module__": __name__})


class Impossible(CaesuraError, ValueError):  # noqa: N818 - a condition, not a bug
    """Raised when no segmentation has a finite score.

    Examples
    --------
    >>> issubclass(Impossible, ValueError)
    True
    """


class TooLarge(CaesuraError, ValueError):  # noqa: N818 - a condition, not a bug
    """Raised when the exact answer would be too expensive; names the exceeded limit.

    Examples
    --------
    >>> issubclass(TooLarge, ValueError)
    True
    """


class MissingPackage(CaesuraError, ImportError):  # noqa: N818 - a condition, not a bug
    """Raised when an optional package is not installed; says how to install it.

    Parameters
    ----------
    package : str
        The package.
    extra : str
        The extra of Caesura that brings it.
    user : str
        What needs it.

    Examples
    --------
    >>> print(MissingPackage("torch", "neural", "caesura.neural"))
    caesura.neural needs torch, which is not installed; run pip install 'caesura[neural]'
    """

    def __init__(self, package: str, extra: str, user: str) -> None:
        super().__init__(
            f"{user} needs {package}, which is not installed; run pip install 'caesura[{extra}]'"
        )
        self.name = package


def counted(count: int, noun: str) -> str:
    """Return a number with a noun in the singular or plural.

    Examples
    --------
    >>> counted(1, "sequence"), counted(2000, "sequence")
    ('1 sequence', '2,000 sequences')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def message(argument: str, came: object, expected: str, remedy: str) -> str:
    """Build the text of an error: argument, value, expectation, remedy.

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
    got = _SHORT.repr(came)
    text = _Message(f"{argument}: got {got}, expected {expected}; {remedy}")
    text.fields = {
        "argument": argument,
        "got": got,
        "expected": expected,
        "remedy": remedy,
        "problem": f"got {got}, expected {expected}",
    }
    return text
