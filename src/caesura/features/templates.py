"""Templates: attributes from combinations of values at tokens around an anchor.

::

    word, shape, column("pos")     columns: some strings for each token
    word[-1]                       a template: one column at an offset from the anchor
    word[-1] & word[0]             a template: the values together
    first(word[-1] & word[0])      the same, anchored at the first token of a segment
    history(first(word[0]), 2)     its weights depend on the last three labels, not on one

A template fires on rows. A row has a core span [start, end), each side closed or open, and counts
for every segment that begins at the core's start (open: there or before it) and ends at the core's
end (open: there or after it). `caesura.features.reference` defines the rows in plain Python.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, SupportsIndex

from caesura.checks import whole
from caesura.documents import Document
from caesura.errors import InvalidInput, message

__all__ = [
    "AFTER",
    "BEFORE",
    "HIGHEST",
    "PLACES",
    "Column",
    "Template",
    "begin",
    "edge",
    "end",
    "first",
    "inside",
    "last",
    "single",
    "token",
    "window",
    "within",
]

HIGHEST = 255  # maximum number of previous labels in a history, for the kernels
BEFORE, AFTER = "<s>", "</s>"  # the value of a column before the first token and after the last

PLACES: tuple[str, ...] = (
    "token",
    "within",
    "first",
    "last",
    "single",
    "begin",
    "inside",
    "end",
    "edge",
)
"""Where in a segment a template is anchored; each but the first is also a function."""


class Column:
    """A column, which assigns each token zero, one or several strings.

    A column of words (`per_word`) has `of_word` and depends on nothing but the word, so that it
    is computed once for each distinct word; the others have `of_document`.

    Examples
    --------
    >>> from caesura.features import prefix, word
    >>> prefix(3).of_word("Chicago")
    ('Chi',)
    >>> prefix(3)[-1] & word[0]
    prefix(3)[-1] & word[0]
    """

    __slots__ = ()
    __iter__ = None  # else `__getitem__` would make columns iterable
    name: str  # shown in attributes; unique to each column
    per_word: ClassVar[bool] = True

    def of_word(self, word: str) -> tuple[str, ...]:
        """Return the values of a word."""
        raise NotImplementedError

    def of_document(
        self, document: Document
    ) -> Sequence[tuple[str, ...]] | Sequence[Mapping[str, float]]:
        """Return the values of each token; a mapping assigns a number to each value."""
        return [self.of_word(word) for word in document.tokens]

    def __getitem__(self, offset: int) -> Template:
        try:
            return Template(((self, operator.index(offset)),))
        except TypeError:
            remedy = f"write {self!r}[0] for the token itself, {self!r}[-1] for the one before"
            raise InvalidInput(message("offset", offset, "a whole number", remedy)) from None

    def __and__(self, other: object) -> Template:
        remedy = f"write {self!r}[0], with an offset"
        raise InvalidInput(message("&", self, "a template", remedy))


@dataclass(frozen=True, repr=False)
class Template:
    """A feature of the combined values of columns at offsets from an anchor.

    Parameters
    ----------
    parts : tuple of (Column, int)
        The columns and offsets that are combined, as in `word[-1] & word[0]`.
    place : str
        The position of the anchor in a segment, one of `PLACES`; set by `first(...)` and similar
        functions.
    order : int
        Number of preceding labels that its weights depend on; set by `history(...)`.
        At an edge, 0 means 1, because its weights depend on both labels.

    Examples
    --------
    >>> from caesura.features import word
    >>> (word[-1] & word[0]).prefix
    'word[-1]&word[0]='
    >>> first(word[0]).prefix
    'first:word[0]='
    """

    parts: tuple[tuple[Column, int], ...]
    place: str = "token"
    order: int = 0

    def __post_init__(self) -> None:
        if whole("order", self.order, 0, HIGHEST) == 1 and self.place == "edge":
            object.__setattr__(self, "order", 0)
        if self.place not in PLACES:
            raise InvalidInput(message("place", self.place, ", ".join(PLACES), "pass one of them"))
        if not self.parts or not all(isinstance(column, Column) for column, _ in self.parts):
            remedy = "write word[0] or word[-1] & word[0]"
            raise InvalidInput(message("parts", self.parts, "one part or more", remedy))

    @property
    def prefix(self) -> str:
        """The prefix of its attribute names, before the values joined by `|`."""
        place = "" if self.place == "token" else f"{self.place}:"
        place = f"history{self.order}:{place}" if self.order else place
        return place + "&".join(f"{column.name}[{offset}]" for column, offset in self.parts) + "="

    @property
    def reach(self) -> tuple[int, int]:
        """The smallest and the largest offset, including 0."""
        offsets = [0, *(offset for _, offset in self.parts)]
        return min(offsets), max(offsets)

    def attribute(self, values: Sequence[str]) -> str:
        r"""Return the name of the attribute for one value of each part.

        With several parts, a backslash goes before `|` and the backslash in a value, so that no
        two combinations have one name.
        """
        if len(values) > 1:
            values = [value.replace("\\", "\\\\").replace("|", "\\|") for value in values]
        return self.prefix + "|".join(values)

    def __and__(self, other: Template) -> Template:
        if not isinstance(other, Template):
            remedy = "write word[-1] & word[0], each with its offset"
            raise InvalidInput(message("&", other, "a template", remedy))
        if self.place != other.place:
            remedy = "combine first, then place: first(word[0] & word[1])"
            raise InvalidInput(message("place", other.place, repr(self.place), remedy))
        if self.order != other.order:
            remedy = "combine first: history(word[0] & word[1], 2)"
            raise InvalidInput(message("order", other.order, str(self.order), remedy))
        return replace(self, parts=self.parts + other.parts)

    def __repr__(self) -> str:
        inner = " & ".join(f"{column!r}[{offset}]" for column, offset in self.parts)
        placed = inner if self.place == "token" else f"{self.place}({inner})"
        return f"history({placed}, {self.order})" if self.order else placed


def _placed(template: Template | Column, place: str) -> Template:
    """Return a template with another position; a bare column has offset 0."""
    if isinstance(template, Column):
        template = template[0]
    if not isinstance(template, Template):
        remedy = f"write {place}(word[0])"
        raise InvalidInput(message("template", template, "a template", remedy))
    return replace(template, place=place)


def token(template: Template) -> Template:
    """Anchor a template at every token of a segment, which is the default.

    Examples
    --------
    >>> from caesura.features import word
    >>> token(first(word[0])) == word[0]
    True
    """
    return _placed(template, "token")


def within(template: Template) -> Template:
    """Anchor a template at every token for which all offsets lie in the segment.

    It counts occurrences. `within(word[0] & word[1])` is the pair of neighbours inside a segment.

    Examples
    --------
    >>> from caesura.features import word
    >>> within(word[0] & word[1])
    within(word[0] & word[1])
    """
    return _placed(template, "within")


def first(template: Template) -> Template:
    """Anchor a template at the first token of a segment; offset -1 is the token before it.

    The segment must be long enough for the largest offset.

    Examples
    --------
    >>> from caesura.features import word
    >>> first(word[0] & word[1])
    first(word[0] & word[1])
    """
    return _placed(template, "first")


def last(template: Template) -> Template:
    """Anchor a template at the last token of a segment; offset 1 is the token after it.

    The segment must be long enough for the smallest offset.

    Examples
    --------
    >>> from caesura.features import word
    >>> last(word[-2] & word[-1] & word[0])
    last(word[-2] & word[-1] & word[0])
    """
    return _placed(template, "last")


def single(template: Template) -> Template:
    """Anchor a template at the only token of a segment of length 1.

    Examples
    --------
    >>> from caesura.features import word
    >>> single(word[0])
    single(word[0])
    """
    return _placed(template, "single")


def begin(template: Template) -> Template:
    """Anchor a template at the first token of a segment of length 2 or more.

    Examples
    --------
    >>> from caesura.features import word
    >>> begin(word[0])
    begin(word[0])
    """
    return _placed(template, "begin")


def inside(template: Template) -> Template:
    """Anchor a template at each token of a segment that is neither its first nor its last.

    Examples
    --------
    >>> from caesura.features import word
    >>> inside(word[0])
    inside(word[0])
    """
    return _placed(template, "inside")


def end(template: Template) -> Template:
    """Anchor a template at the last token of a segment of length 2 or more.

    Examples
    --------
    >>> from caesura.features import word
    >>> end(word[0])
    end(word[0])
    """
    return _placed(template, "end")


def edge(template: Template) -> Template:
    """Anchor a template at the first token after an inner boundary, with both labels.

    Examples
    --------
    >>> from caesura.features import word
    >>> edge(word[-1] & word[0])
    edge(word[-1] & word[0])
    """
    return _placed(template, "edge")


def window(
    columns: Column | Iterable[Column], first: int, last: int, place: str = "token"
) -> list[Template]:
    """Return one template for each column and each offset from `first` to `last`, inclusive.

    Examples
    --------
    >>> from caesura.features import shape, word
    >>> window([word, shape], -1, 0)
    [word[-1], word[0], shape[-1], shape[0]]
    """
    remedy = "give two offsets, the smaller first, as window(word, -2, 2)"
    for name, offset in (("first", first), ("last", last)):
        if not isinstance(offset, SupportsIndex):
            raise InvalidInput(message(name, offset, "a whole number", remedy))
    if first > last:
        raise InvalidInput(message("first", first, f"at most last, which is {last}", remedy))
    each = list(columns) if isinstance(columns, Iterable) else [columns]
    if isinstance(columns, str) or not all(isinstance(column, Column) for column in each):
        remedy = "write window(word, -2, 2) or window([word, shape], -2, 2)"
        raise InvalidInput(message("columns", columns, "a column or a list of columns", remedy))
    return [_placed(column[t], place) for column in each for t in range(first, last + 1)]
