"""Look-back features of whole segments and of the segments before them.

::

    this.text, this.length              the text of a segment, the number of its tokens
    this.first, this.last               its first token, and its last
    this.before, this.after             the token before it, and the one after it
    previous.text & this.text           a bigram of segments
    earlier.text & previous.text & this.text        a trigram
    previous.label & this.first         the label of the segment before
    this[folded(word)].text             the same of another column than the word itself
    Incremental(function)               a function of all segments so far

What stands before the first segment says "<s>", whatever is asked of it.  A template that looks at
`this` segment and at one before it fires once more at the end of a sequence, where this segment
says "</s>", and the token before it is the last one: the bigrams of a sentence with the words a, b
are (<s>, a), (a, b) and (b, </s>).

A model with such features needs a bound on the length of segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.features.batch import Batch, Firings
from caesura.features.columns import word
from caesura.features.document_columns import answered, remember
from caesura.features.segment_base import SegmentFeature
from caesura.features.templates import AFTER, BEFORE, Column

__all__ = [
    "LOOKS",
    "ROLES",
    "Incremental",
    "SegmentTemplate",
    "SegmentView",
    "earlier",
    "looks_back",
    "previous",
    "this",
]

ROLES = ("this", "previous", "earlier")
LOOKS = ("text", "length", "first", "last", "before", "after", "label")
"""What a part says about a segment, in the order of `Said` in the kernels."""


@dataclass(frozen=True, repr=False)
class SegmentTemplate(SegmentFeature):
    """A feature of the combined values of a segment and its predecessors.

    `this`, `previous` and `earlier` make templates, and `&` joins them.

    Parameters
    ----------
    parts : tuple of (int, str, Column)
        Number of segments back, the property of that segment, and the column.

    Examples
    --------
    >>> from caesura.features import previous, this
    >>> bigram = previous.text & this.text
    >>> bigram
    previous.text & this.text
    >>> bigram.name
    'previous.text&this.text'
    """

    parts: tuple[tuple[int, str, Column], ...]

    def __post_init__(self) -> None:
        remedy = "write previous.text & this.text"
        if not self.parts:
            raise InvalidInput(message("parts", self.parts, "one part or more", remedy))
        for role, look, column in self.parts:
            good = role in range(len(ROLES)) and look in LOOKS and isinstance(column, Column)
            if not good:
                expected = "(0 to 2, one of " + ", ".join(LOOKS) + ", a column)"
                raise InvalidInput(message("parts", (role, look, column), expected, remedy))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The prefix of its attribute names."""
        return "&".join(_shown(*part, inner=part[2].name) for part in self.parts)

    @property
    def depth(self) -> int:
        """The number of preceding segments used."""
        return max(role for role, _, _ in self.parts)

    @property
    def fires_at_end(self) -> bool:
        """Whether the feature fires with `this` at the end of the sequence."""
        return len({min(role, 1) for role, _, _ in self.parts}) == 2

    def firings(self, batch: Batch) -> Firings:
        """Raise, because the kernels evaluate this feature span by span."""
        raise NotImplementedError(f"{self!r} depends on other segments")

    def attribute(self, values: Sequence[str]) -> str:
        r"""Return the name of the attribute for one value of each part."""
        if len(values) > 1:
            values = [value.replace("\\", "\\\\").replace("|", "\\|") for value in values]
        return f"{self.name}={'|'.join(values)}"

    def __and__(self, other: SegmentTemplate) -> SegmentTemplate:
        if not isinstance(other, SegmentTemplate):
            remedy = "write previous.text & this.first; templates of tokens do not mix with these"
            raise InvalidInput(message("&", other, "a template of segments", remedy))
        return SegmentTemplate(self.parts + other.parts)

    def __repr__(self) -> str:
        return " & ".join(_shown(*part, inner=repr(part[2])) for part in self.parts)


def _shown(role: int, look: str, column: Column, inner: str) -> str:
    """Return a part as text."""
    plain = column == word or look in ("length", "label")
    return f"{ROLES[role]}.{look}" if plain else f"{ROLES[role]}[{inner}].{look}"


@dataclass(frozen=True, repr=False)
class SegmentView:
    """A segment in a template; `this`, `previous` and `earlier` are instances.

    Parameters
    ----------
    role : int
        Number of segments back.
    column : Column
        The column of each token; the word itself unless ``this[column]`` names another.

    Examples
    --------
    >>> from caesura.features import folded, this, word
    >>> this[folded(word)].first & this.length
    this[folded(word)].first & this.length
    """

    role: int
    column: Column = word

    def __getitem__(self, column: Column) -> SegmentView:
        if not isinstance(column, Column):
            remedy = f"write {ROLES[self.role]}[folded(word)].text"
            raise InvalidInput(message("column", column, "a column", remedy))
        return SegmentView(self.role, column)

    def _part(self, look: str) -> SegmentTemplate:
        column = word if look in ("length", "label") else self.column
        return SegmentTemplate(((self.role, look, column),))

    @property
    def text(self) -> SegmentTemplate:
        """All tokens of the segment, in order."""
        return self._part("text")

    @property
    def length(self) -> SegmentTemplate:
        """The number of tokens of the segment."""
        return self._part("length")

    @property
    def first(self) -> SegmentTemplate:
        """The first token of the segment."""
        return self._part("first")

    @property
    def last(self) -> SegmentTemplate:
        """The last token of the segment."""
        return self._part("last")

    @property
    def before(self) -> SegmentTemplate:
        """The token before the segment."""
        return self._part("before")

    @property
    def after(self) -> SegmentTemplate:
        """The token after the segment."""
        return self._part("after")

    @property
    def label(self) -> SegmentTemplate:
        """The label of the segment; weights always depend on the label of `this`."""
        return self._part("label")

    def __repr__(self) -> str:
        inner = "" if self.column == word else f"[{self.column!r}]"
        return ROLES[self.role] + inner


this = SegmentView(0)
"""The segment at hand."""
previous = SegmentView(1)
"""The segment before it."""
earlier = SegmentView(2)
"""The segment before the previous one."""


@dataclass(frozen=True)
class Incremental(SegmentFeature):
    """A user-defined function of all segments so far.

    Models with it need beam search, since nothing bounds how far it looks back.

    Parameters
    ----------
    function : callable or class
        f(tokens, before, segment) returns a string, some strings, or None: `before` is the list of
        all segments so far, as (start, end, label) with the labels' names, and `segment` the new
        one.  A class is made without arguments, and its method `attributes` is called.
    name : str
        The name in attributes; that of the function if not given.

    Examples
    --------
    Whether a word has been there before in the sentence:

    >>> class Repeated:
    ...     def attributes(self, tokens, before, segment):
    ...         start, end, label = segment
    ...         text = tokens[start:end]
    ...         return "again" if any(tokens[s:e] == text for s, e, _ in before) else None
    >>> feature = Incremental(Repeated)
    >>> feature.said(Document(("to", "be", "to")), [(0, 1, "w"), (1, 2, "w")], (2, 3, "w"))
    ['Repeated=again']
    """

    function: Callable[..., Any]
    name: str = ""

    def __post_init__(self) -> None:
        made = isinstance(self.function, type)
        if not callable(self.function) or (made and not hasattr(self.function, "attributes")):
            expected = "a function, or a class with a method attributes"
            remedy = "pass f(tokens, before, segment)"
            raise InvalidInput(message("function", self.function, expected, remedy))
        remember(self.function)
        own = getattr(self.function, "__name__", type(self.function).__name__)
        object.__setattr__(self, "name", self.name or str(own))
        call = self.function().attributes if made else self.function
        object.__setattr__(self, "_call", call)

    def said(
        self,
        document: Document,
        before: Sequence[tuple[int, int, str]],
        segment: tuple[int, int, str],
    ) -> list[str]:
        """Return the attributes of a segment, given the segments before it."""
        where = f"{self.name}(tokens, before, {segment})"
        call: Callable[..., Any] = self._call  # type: ignore[attr-defined]
        strings = {"expected": "a string, some strings, or None",
                   "remedy": "put numbers into the strings, as in f'open {n}'"}  # fmt: skip
        try:
            values = answered(call, where, document.tokens, before, segment)
        except InvalidInput as error:
            if not error.expected:  # raised by the function itself
                raise
            raise error.changed(**strings) from None
        if isinstance(values, Mapping):  # the values of a dict would be lost
            raise InvalidInput(message(f"features: {where}", values, **strings))
        return [f"{self.name}={value}" for value in values]

    def firings(self, batch: Batch) -> Firings:
        """Raise, because the search evaluates this feature segment by segment."""
        raise NotImplementedError(f"{self!r} depends on other segments")


def looks_back(features: Iterable[Any]) -> bool:
    """Return whether some features look back at whole segments.

    Examples
    --------
    >>> from caesura.features import Length, this
    >>> looks_back([Length(exact=2)]), looks_back([this.text])
    (False, True)
    """
    return any(isinstance(feature, SegmentTemplate | Incremental) for feature in features)


def values_of_part(
    role: int,
    look: str,
    column: Column,
    document: Document,
    segment: tuple[int, int, str] | None,
) -> str:
    """Return the values of a part in plain Python; without a segment, the padding value.

    Examples
    --------
    >>> values_of_part(0, "last", word, Document(("New", "York")), (0, 2, "city"))
    'York'
    """
    values = ["/".join(one) for one in column.of_document(document)]
    if segment is None:
        at_end = values[-1] if look == "before" else AFTER
        return at_end if role == 0 else BEFORE
    start, end, label = segment
    if look == "text":
        return " ".join(values[start:end])
    if look in ("length", "label"):
        return str(end - start) if look == "length" else label
    at = {"first": start, "last": end - 1, "before": start - 1, "after": end}[look]
    return BEFORE if at < 0 else AFTER if at >= len(values) else values[at]
