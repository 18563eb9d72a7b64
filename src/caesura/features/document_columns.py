"""Document columns: given columns and positions of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from caesura.documents import Document
from caesura.errors import InvalidInput, Remedy, message
from caesura.features.bags import bag, plain
from caesura.features.templates import Column, Template

__all__ = [
    "GIVE_COLUMN",
    "AttributesColumn",
    "DenseColumn",
    "FunctionColumn",
    "GivenColumn",
    "PositionColumn",
    "RepeatColumn",
    "attributes",
    "column",
    "dense",
    "function",
    "given_alone",
    "position",
    "repeats",
]

GIVE_COLUMN = "give every document this column; it has {others}"  # remedy in errors


@dataclass(frozen=True, repr=False)
class GivenColumn(Column):
    """A column carried by the documents; made by `column`.

    Examples
    --------
    >>> column("pos").of_document(Document(("a", "dog"), columns={"pos": ("DT", "NN")}))
    [('DT',), ('NN',)]
    """

    name: str
    per_word: ClassVar[bool] = False

    def of_document(self, document: Document) -> Sequence[tuple[str, ...]]:
        """Return the value of each token."""
        values = document.columns.get(self.name)
        if values is None or len(values) != len(document):
            came = "no such column" if values is None else f"{len(values)} values"
            raise InvalidInput(
                place=f"columns[{self.name!r}]",
                got=came,
                expected=f"one value for each of {len(document)} tokens",
                remedy=Remedy(GIVE_COLUMN, others=", ".join(document.columns) or "none"),
            )
        return [(value,) for value in values]

    def __repr__(self) -> str:
        return f"column({self.name!r})"


def column(name: str) -> GivenColumn:
    """Return the document column with this name, such as column("pos").

    Examples
    --------
    >>> (column("pos")[-1] & column("pos")[0]).prefix
    'pos[-1]&pos[0]='
    """
    if not isinstance(name, str) or not name:
        raise InvalidInput(message("name", name, "the name of a column", "pass its name"))
    return GivenColumn(name)


@dataclass(frozen=True, repr=False)
class PositionColumn(Column):
    """The position of a token in its document; made by `position`.

    Examples
    --------
    >>> position("start", 2).of_document(Document(tuple("abcd")))
    [('0',), ('1',), ('2+',), ('2+',)]
    """

    origin: str
    limit: int = 4
    per_word: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.origin not in ("start", "end", "part"):
            expected = "'start', 'end' or 'part'"
            raise InvalidInput(message("origin", self.origin, expected, "pass one of them"))
        if not isinstance(self.limit, int) or self.limit < 1:
            expected = "a whole number, 1 or more"
            raise InvalidInput(message("limit", self.limit, expected, "raise it"))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, such as position_start4."""
        return f"position_{self.origin}{self.limit}"

    def of_document(self, document: Document) -> Sequence[tuple[str, ...]]:
        """Return the position of each token."""
        return [(place,) for place in self.of_length(len(document))]

    def of_length(self, length: int) -> list[str]:
        """Return the positions in a document of n tokens."""
        limit = self.limit
        if self.origin == "part":
            return [f"{t * limit // length + 1}/{limit}" for t in range(length)]
        counts = range(length) if self.origin == "start" else range(length - 1, -1, -1)
        return [str(t) if t < limit else f"{limit}+" for t in counts]

    def __repr__(self) -> str:
        return f"position({self.origin!r}, {self.limit})"


def position(origin: str, limit: int = 4) -> PositionColumn:
    """Return the column of token positions in their document.

    Parameters
    ----------
    origin : {"start", "end", "part"}
        Tokens from the start, tokens to the end, or the part of the document (1/4 to 4/4).
    limit : int
        Maximum count; for "part", the number of parts.

    Examples
    --------
    >>> document = Document(tuple("abcdefgh"))
    >>> [value for (value,) in position("end", 3).of_document(document)]
    ['3+', '3+', '3+', '3+', '3+', '2', '1', '0']
    >>> [value for (value,) in position("part").of_document(document)]
    ['1/4', '1/4', '2/4', '2/4', '3/4', '3/4', '4/4', '4/4']
    """
    return PositionColumn(origin, limit)


@dataclass(frozen=True, repr=False)
class RepeatColumn(Column):
    """Whether a token equals a nearby one; made by `repeats`.

    Examples
    --------
    >>> repeats(-1).of_document(Document(tuple("天天好")))
    [('no',), ('yes',), ('no',)]
    """

    offset: int
    per_word: ClassVar[bool] = False

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, such as repeats-1."""
        return f"repeats{self.offset}"

    def of_document(self, document: Document) -> Sequence[tuple[str, ...]]:
        """Return yes or no for each token."""
        tokens, length = document.tokens, len(document)
        there = (t + self.offset for t in range(length))
        same = (0 <= u < length and tokens[t] == tokens[u] for t, u in enumerate(there))
        return [("yes" if one else "no",) for one in same]

    def __repr__(self) -> str:
        return f"repeats({self.offset})"


def repeats(offset: int) -> RepeatColumn:
    """Return the column that is "yes" where a token equals the one at an offset.

    Examples
    --------
    >>> repeats(-2)[0].prefix
    'repeats-2[0]='
    """
    if not isinstance(offset, int) or offset == 0:
        remedy = "-1 is the token before"
        raise InvalidInput(message("offset", offset, "a whole number other than 0", remedy))
    return RepeatColumn(offset)


@dataclass(frozen=True, repr=False)
class FunctionColumn(Column):
    """A user-defined function of a document and a token; made by `function`.

    Examples
    --------
    >>> def doubled(document, t):
    ...     return t > 0 and document.tokens[t] == document.tokens[t - 1] and "yes" or None
    >>> function(doubled).of_document(Document(("had", "had")))
    [(), ('yes',)]
    """

    function: Callable[[Document, int], Any]
    name: str
    per_word: ClassVar[bool] = False

    def __post_init__(self) -> None:
        remember(self.function)

    def of_document(
        self, document: Document
    ) -> Sequence[tuple[str, ...]] | Sequence[Mapping[str, float]]:
        """Return the result of the function for each token."""
        values = [
            answered(self.function, f"{self.name}(document, {t})", document, t)
            for t in range(len(document))
        ]
        both: Sequence[tuple[str, ...]] | Sequence[Mapping[str, float]] = plain(values)
        return both

    def __repr__(self) -> str:
        return f"function({self.name})"


def function(
    f: Callable[[Document, int], str | Iterable[str] | Mapping[str, Any] | None],
    name: str | None = None,
) -> FunctionColumn:
    """Return the column computed by a function f(document, t).

    Parameters
    ----------
    f : callable
        Returns a string, some strings, a dict with values, or None for token t. A model
        with a lambda, or a function inside another, cannot be saved: define it at the top of a
        module and import it.
    name : str, optional
        The name in attributes; that of the function if not given.

    Examples
    --------
    >>> def size(document, t):
    ...     return {"characters": len(document.tokens[t])}
    >>> function(size).of_document(Document(("New", "Zealand")))
    [{'characters': 3.0}, {'characters': 7.0}]
    """
    if not callable(f):
        remedy = "pass f(document, t)"
        raise InvalidInput(message("f", f, "a function", remedy))
    return FunctionColumn(f, name or str(getattr(f, "__name__", type(f).__name__)))


_USED: dict[str, Callable[..., Any]] = {}  # import name -> function used in features


def remember(function: Callable[..., Any]) -> None:
    """Register a user's function so that model files can refer to it by name."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if module and name:
        _USED[f"{module}:{name}"] = function


def remembered(full: str) -> Callable[..., Any] | None:
    """Return the registered function with an import name, if there is one."""
    return _USED.get(full)


def answered(function: Callable[..., Any], where: str, *arguments: Any) -> Any:
    """Call a user's function and return its result as a bag; errors name the position."""
    try:
        value = function(*arguments)
    except Exception as error:
        raise _raised(where, error) from error
    try:
        return said(value, f"features: {where}")
    except InvalidInput:
        raise
    except Exception as error:  # raised while a returned generator was read, for example
        raise _raised(where, error) from error


def _raised(where: str, error: Exception) -> InvalidInput:
    problem = f"{where} raised {type(error).__name__}: {error}"
    return InvalidInput(problem, place="features", remedy="correct the function")


def said(value: Any, where: str) -> tuple[str, ...] | dict[str, float]:
    """Convert the result of a user's function to a bag."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else bag(value, where)


@dataclass(frozen=True, repr=False)
class AttributesColumn(Column):
    """The attributes carried by the documents; `attributes` is an instance.

    Examples
    --------
    >>> attributes.of_document(Document(("a", "b"), attributes=[["w=a", "first"], ["w=b"]]))
    [('w=a', 'first'), ('w=b',)]
    """

    name: str = field(default="attributes", init=False)
    per_word: ClassVar[bool] = False

    def of_document(
        self, document: Document
    ) -> Sequence[tuple[str, ...]] | Sequence[Mapping[str, float]]:
        """Return the bag of attributes of each token."""
        given = document.attributes
        if given is None or len(given) != len(document):
            came = None if given is None else f"{len(given)} bags"
            expected = f"one bag of attributes for each of {len(document)} tokens"
            remedy = "give every document its attributes"
            raise InvalidInput(message("attributes", came, expected, remedy))
        bags = [bag(one, f"attributes[{t}]") for t, one in enumerate(given)]
        both: Sequence[tuple[str, ...]] | Sequence[Mapping[str, float]] = plain(bags)
        return both

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, repr=False)
class DenseColumn(Column):
    """The dense values carried by the documents, as x0, x1, ...; `dense` is an instance.

    Where they have a mean and a scale, these are subtracted and divided by: see the models'
    parameter ``standardise``.

    Examples
    --------
    >>> import numpy as np
    >>> dense.of_document(Document(("a",), dense=np.array([[0.5, -1.0]])))
    [{'x0': 0.5, 'x1': -1.0}]
    >>> DenseColumn((0.5, 0.0), (2.0, 4.0)).of_document(Document(("a",), dense=[[2.5, -1.0]]))
    [{'x0': 1.0, 'x1': -0.25}]
    """

    mean: tuple[float, ...] = ()  # (D,) mean of each column
    scale: tuple[float, ...] = ()
    name: str = field(default="dense", init=False)
    per_word: ClassVar[bool] = False

    def __post_init__(self) -> None:
        right = len(self.mean) == len(self.scale) and all(map(math.isfinite, self.mean))
        if not right or not all(0 < one < math.inf for one in self.scale):
            expected = "as many finite means as scales above 0"
            raise InvalidInput(message("scale", self.scale, expected, "pass one for each column"))

    def of_document(self, document: Document) -> Sequence[Mapping[str, float]]:
        """Return the dense values of each token."""
        if document.dense is None or len(document.dense) != len(document):
            came = None if document.dense is None else document.dense.shape
            expected = f"an array of shape ({len(document)}, D)"
            raise InvalidInput(message("dense", came, expected, "give every document one"))
        numbers = self.scaled(document.dense).tolist()
        names = document.dense_names or [f"x{d}" for d in range(document.dense.shape[1])]
        return [dict(zip(names, row, strict=True)) for row in numbers]

    def scaled(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return values of shape (T, D) minus the mean, divided by the scale."""
        if not self.mean:
            return numbers
        scaled: npt.NDArray[np.float64] = (numbers - np.array(self.mean)) / np.array(self.scale)
        return scaled

    def __repr__(self) -> str:
        return self.name


attributes = AttributesColumn()
"""The attributes that the documents carry, in the form of python-crfsuite."""
dense = DenseColumn()
"""The rows of the documents' dense arrays, as values x0, x1, ... with their numbers."""


def given_alone(template: Template) -> bool:
    """Return whether a template consists of the given attributes of a token alone."""
    (column, offset), *others = template.parts
    here = not others and offset == 0 and template.place == "token" and not template.order
    return here and isinstance(column, AttributesColumn)
