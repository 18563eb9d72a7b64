"""The exceptions that Caesura raises on purpose.

::

    Exception
     +-- CaesuraError             everything below, for one ``except``
          +-- InvalidInput        an argument is wrong                 (also a ValueError)
          |    +-- NotFitted      a model has not been fitted          (also an AttributeError)
          +-- Impossible          no segmentation has a finite score   (also a ValueError)
          +-- TooLarge            the exact answer would cost too much (also a ValueError)
          +-- MissingPackage      an optional package is not installed (also an ImportError)

A message names the argument, what came, what was expected and what to do.  Errors carry these as
fields, from which the message is made; `message` fills in the usual four.  A layer that knows more
about an error, such as the file that a sequence came from, changes its fields:
`CaesuraError.changed`.
"""

from __future__ import annotations

import os
import reprlib
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Self

__all__ = [
    "CaesuraError",
    "Impossible",
    "InvalidInput",
    "MissingPackage",
    "NotFitted",
    "Remedy",
    "TooLarge",
    "counted",
    "message",
    "not_fitted",
]

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


class _Message(str):
    """A message and the fields that it was built from."""

    place: str
    fields: tuple[str, str, str]  # got, expected, remedy


class CaesuraError(Exception):
    """Base class of all errors that Caesura raises on purpose.

    Parameters
    ----------
    problem : str
        What is wrong, in words, where it is not that something else came: ``"has two tags"``.
        Or what `message` returns, which has all fields; those that are given replace them.
    place : str or path
        The argument as the caller would write it, down to the offending item: ``y[3][2]``; or the
        file that is wrong as a whole, best as a path, in which brackets are no index.
    got, expected, remedy : str, optional
        What came, what would have been right, and what the caller can do.
    file, line, unit : optional
        Where in a file it is.

    Attributes
    ----------
    argument : str or None
        The argument that is wrong, without an index: ``"y"``; or the name of a file, if the file
        as a whole is wrong.
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
    file : str or None
        The file or table that has the argument, as the caller named it.
    line : int or None
        The number of the line in the file.
    unit : str
        What `line` counts: ``"line"``, or ``"row"``, ``"record"`` or ``"sequence"``.

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
    >>> error = InvalidInput("has two tags", place="y[3]", remedy="correct them")
    >>> print(error)
    y[3]: has two tags; correct them
    >>> print(error.changed(file="a.jsonl", line=4))
    a.jsonl, line 4: y[3]: has two tags; correct them
    """

    argument: str | None = None
    index: int | None = None
    part: str = ""
    got: str | None = None
    expected: str | None = None
    remedy: str | None = None
    problem: str = ""
    file: str | None = None
    line: int | None = None
    unit: str = "line"
    quoted: tuple[CaesuraError, ...] = ()  # the errors whose texts are in `problem`
    _words: str = ""  # the problem without what was expected, if it is not `got`

    def __init__(
        self,
        problem: str = "",
        *,
        place: str | os.PathLike[str] = "",
        got: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
        file: str | os.PathLike[str] | None = None,
        line: int | None = None,
        unit: str = "line",
    ) -> None:
        if isinstance(problem, _Message):
            given = zip((got, expected, remedy), problem.fields, strict=True)
            got, expected, remedy = (own if one is None else one for one, own in given)
            place, problem = place or problem.place, ""
        self.got, self.expected, self.remedy, self._words = got, expected, remedy, str(problem)
        self.problem = _compared(self._words, got, expected)
        self.argument, self.index, self.part = _split(place)
        self.file = None if file is None else os.fspath(file)
        self.line, self.unit = line, unit
        super().__init__(self._text())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args), self.__dict__

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
            Attributes; or `place`, which is `argument`, `index` and `part` together, as in
            ``y[3][2]``.  Where `got` or `expected` change, `problem` follows.
        """
        if "place" in fields:
            names = ("argument", "index", "part")
            fields |= dict(zip(names, _split(fields.pop("place")), strict=True))
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__ | fields)
        if fields.keys() & {"got", "expected"} and "problem" not in fields:
            words = "" if "got" in fields else twin._words
            twin.problem = _compared(words, twin.got, twin.expected)
        twin.args = (twin._text(),)
        return twin

    def within(self, place: str | os.PathLike[str], mark: str = ": ") -> Self:
        """Return the same error with a larger place, and a mark between them, in front.

        Examples
        --------
        >>> print(InvalidInput("has two tags", place="y[3]").within("parts[1]"))
        parts[1]: y[3]: has two tags
        """
        inner, outer = self._where(), os.fspath(place)
        return self.changed(place=f"{outer}{mark * bool(inner)}{inner}", file=None, line=None)

    def reworded(self, remedies: Mapping[str, str]) -> Self:
        """Return the same error with the remedy that a dict has for its own or its template.

        Examples
        --------
        >>> error = InvalidInput("is empty", place="text", remedy=Remedy("pass n={n}", n="1"))
        >>> print(error.reworded({"pass n={n}": "pass --n {n}"}))
        text: is empty; pass --n 1
        """
        own = self.remedy if isinstance(self.remedy, Remedy) else Remedy(self.remedy or "")
        if own.template not in remedies:
            return self
        return self.changed(remedy=Remedy(remedies[own.template], **own.values))

    def _where(self) -> str:
        """Return the place with the file and the line."""
        if self.file is None:
            return self.place
        file = self.file if self.line is None else f"{self.file}, {self.unit} {self.line}"
        return f"{file}: {self.place}" if self.argument else f"{file}{self.item}"

    def _text(self) -> str:
        text = ": ".join(part for part in (self._where(), self.problem) if part)
        return text if self.remedy is None else f"{text}; {self.remedy}"


def _compared(words: str, got: str | None, expected: str | None) -> str:
    """Return what is wrong, or what came, and what was expected as a text."""
    wrong = words if words or got is None else f"got {got}"
    wanted = "" if expected is None else f"expected {expected}"
    return ", ".join(part for part in (wrong, wanted) if part)


def _split(place: str | os.PathLike[str]) -> tuple[str | None, int | None, str]:
    """Split an argument such as ``y[3][2]`` into its name, its index and the rest."""
    if not isinstance(place, str):
        return os.fspath(place), None, ""
    name, bracket, inner = place.partition("[")
    index, _, part = inner.partition("]")
    if index.isdecimal() and f"[{int(index)}]{part}" == bracket + inner:  # not [007]
        return name or None, int(index), part
    return name or None, None, bracket + inner


def _restored(kind: type[CaesuraError], args: tuple[str, ...]) -> CaesuraError:
    """Return an unpickled error; its fields are set afterwards."""
    error = kind.__new__(kind)
    error.args = args
    return error


class Remedy(str):
    """A remedy made of a template and values: see `CaesuraError.reworded`.

    Examples
    --------
    >>> Remedy("pass separator={shown}", shown="';'")
    "pass separator=';'"
    """

    template: str
    values: dict[str, str]

    def __new__(cls, template: str, **values: str) -> Self:  # noqa: D102 - see the class
        made = super().__new__(cls, template.format(**values) if values else template)
        made.template, made.values = template, values
        return made


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

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_not_fitted, self.args, self.__dict__


def not_fitted(problem: str = "", **fields: Any) -> NotFitted:
    """Return a `NotFitted` with these fields that is also scikit-learn's, without importing it.

    Examples
    --------
    >>> isinstance(not_fitted("not fitted yet", place="CRF", remedy="call fit(X, y)"), NotFitted)
    True
    """
    return _not_fitted_kind()(problem, **fields)


def _not_fitted_kind() -> type[NotFitted]:
    module = sys.modules.get("sklearn.exceptions")
    theirs = getattr(module, "NotFittedError", None)
    return NotFitted if theirs is None else _both(theirs)


def _restored_not_fitted(*args: str) -> CaesuraError:
    return _restored(_not_fitted_kind(), args)


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

    name: str | None = None  # in the fields, which `changed` copies; ImportError keeps it apart

    def __init__(self, package: str, extra: str, user: str) -> None:
        super().__init__(
            f"{user} needs {package}, which is not installed",
            remedy=f"run pip install 'caesura[{extra}]'",
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
    text = _Message(f"{argument}: {_compared('', got, expected)}; {remedy}")
    text.place, text.fields = argument, (got, expected, remedy)
    return text
