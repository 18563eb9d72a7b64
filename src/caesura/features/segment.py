"""Segment features: length, shape, tokens by position, patterns and user functions.

Tokens inside, at the ends of and around a segment are templates, not features of this file:
"contains" is `within(word[0])`, "contains the pair" `within(word[0] & word[1])`, "the token before"
`first(word[-1])` and "the token after" `last(word[1])`. `single(bias[0])` counts segments of length
1, and `first(bias[0])` counts segments.

A feature that must see the whole segment looks at each span of up to `max_length` tokens, and so
fires up to that many times for each token; the others need no bound.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.features.batch import Batch, Firings
from caesura.features.columns import check_pattern, short_shape
from caesura.features.document_columns import answered, remember
from caesura.features.segment_base import Fired, SegmentFeature, check_max_length, rooms, spans
from caesura.features.templates import Column
from caesura.segments.cores import OPEN_END, OPEN_START

__all__ = [
    "Length",
    "Pattern",
    "SegmentFeature",
    "SegmentFunction",
    "SegmentShape",
    "TokenAt",
]

MOST_LENGTHS = 10_000  # maximum for `exact`: each length has its own attribute
LONGEST = 2**31 - 2  # longest segment that the kernels can count, in tokens


@dataclass(frozen=True)
class Length(SegmentFeature):
    """Fires for the number of tokens of a segment.

    Parameters
    ----------
    exact : int or iterable of int
        Lengths with an attribute each; a number n means 1 to n.
    at_least : int or iterable of int
        Minimum lengths, with an attribute each.
    ranges : iterable of (int, int)
        Pairs of a minimum and a maximum length, both included.

    Notes
    -----
    Nothing here bounds the length of segments: a range fires with 1 where it begins and with -1
    behind its end.

    Examples
    --------
    >>> Length(exact=3, at_least=[6], ranges=[(4, 8)])
    Length(exact=(1, 2, 3), at_least=(6,), ranges=((4, 8),))
    """

    exact: Any = ()
    at_least: Any = ()
    ranges: Any = ()

    name = "length"

    def __post_init__(self) -> None:
        if isinstance(self.exact, int) and self.exact > MOST_LENGTHS:
            expected = f"at most {MOST_LENGTHS} lengths"
            remedy = "give a list, or at_least= for longer segments"
            raise InvalidInput(message("exact", self.exact, expected, remedy))
        exact = range(1, self.exact + 1) if isinstance(self.exact, int) else self.exact
        object.__setattr__(self, "exact", _numbers("exact", exact, "write 3 or [2, 3]"))
        at_least = _numbers("at_least", self.at_least, "write 3 or [3, 6]")
        object.__setattr__(self, "at_least", at_least)
        remedy = "write a list of pairs: [(4, 8)]"
        pairs = self.ranges if isinstance(self.ranges, Iterable) else [self.ranges]
        ranges = tuple(_numbers("ranges", pair, remedy) for pair in pairs)
        object.__setattr__(self, "ranges", ranges)
        if not all(len(pair) == 2 and pair[0] <= pair[1] for pair in ranges):
            expected = "pairs of numbers, the smaller first"
            raise InvalidInput(message("ranges", self.ranges, expected, remedy))
        numbers = [*self.exact, *self.at_least, *(n for pair in ranges for n in pair)]
        if not numbers or min(numbers) < 1 or max(numbers) > LONGEST:
            remedy = "give exact=, at_least= or ranges="
            expected = f"whole numbers, 1 to {LONGEST:,}"
            raise InvalidInput(message("lengths", numbers, expected, remedy))

    @property
    def says(self) -> tuple[str, ...]:
        """The lengths, appended to the feature name."""
        exact, at_least = (f"={n}" for n in self.exact), (f">={n}" for n in self.at_least)
        return (*exact, *at_least, *(f"={low}..{high}" for low, high in self.ranges))

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        room, fired = rooms(batch), Fired()
        for length, flags, name, value in length_rules(self):
            starts = np.flatnonzero(room >= length)
            fired.add_many(starts, starts + length, flags, name, value=value)
        return fired.done()


def length_rules(feature: Length) -> list[tuple[int, int, str, float]]:
    """Return the lengths, flags, attributes and values that fire on spans."""
    rules = [(n, 0, f"={n}", 1.0) for n in feature.exact]
    rules += [(n, OPEN_END, f">={n}", 1.0) for n in feature.at_least]
    for low, high in feature.ranges:
        rules.append((low, OPEN_END, f"={low}..{high}", 1.0))
        rules.append((high + 1, OPEN_END, f"={low}..{high}", -1.0))
    return rules


def _numbers(argument: str, given: Any, remedy: str) -> tuple[int, ...]:
    """Return one or several integers as a tuple, or raise."""
    try:
        return tuple(map(operator.index, given if isinstance(given, Iterable) else [given]))
    except TypeError:
        raise InvalidInput(message(argument, given, "whole numbers", remedy)) from None


@dataclass(frozen=True)
class TokenAt(SegmentFeature):
    """Fires if a token at one of some positions, counted from an end, has a value.

    Parameters
    ----------
    positions : int or iterable of int
        The positions: 0 is the first token, -1 the last; all are counted from the same end.
    column : Column
        The column whose values are compared.
    value : str, optional
        The value; every value has its attribute if not given.

    Notes
    -----
    It fires once, at the first of the positions that has the value: all segments that go on at
    least as far have it too.

    Examples
    --------
    The third or fourth token is a hyphen:

    >>> from caesura.features import word
    >>> TokenAt((2, 3), word, "-").name
    'at2,3:word(-)'
    """

    positions: Any
    column: Column
    value: str | None = None

    def __post_init__(self) -> None:
        remedy = "0 is the first token, -1 the last; use two features for both ends"
        positions = _numbers("positions", self.positions, remedy)
        object.__setattr__(self, "positions", positions)
        if len({p < 0 for p in positions}) != 1 or max(map(abs, positions)) > LONGEST:
            expected = f"whole numbers up to {LONGEST:,}, all counted from one end"
            raise InvalidInput(message("positions", positions, expected, remedy))
        if not isinstance(self.column, Column):
            raise InvalidInput(message("column", self.column, "a column", "pass word"))
        if not isinstance(self.value, str | None):
            remedy = "pass a value of the column, or None for each of its values"
            raise InvalidInput(message("value", self.value, "a string", remedy))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the feature.

        For example ``at2,3:word``, with the value in brackets if there is one.
        """
        value = "" if self.value is None else f"({self.value})"
        return f"at{','.join(map(str, self.positions))}:{self.column.name}{value}"

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        fired = Fired()
        from_start = self.positions[0] >= 0
        flags = OPEN_END if from_start else OPEN_START
        steps = sorted(self.positions) if from_start else sorted(self.positions, reverse=True)
        ends = pairwise(batch.offsets.tolist())
        for (low, high), document in zip(ends, batch.documents, strict=True):
            values = [self._looked_for(bag) for bag in self.column.of_document(document)]
            for anchor in range(low, high):  # the first token of a segment, or the last
                seen: set[str] = set()
                for step in steps:
                    t = anchor + step if from_start else anchor + step + 1
                    if not low <= t < high:
                        break
                    start, end = (anchor, t + 1) if from_start else (t, anchor + 1)
                    for value in values[t - low]:
                        if value not in seen:
                            fired.add(start, end, flags, f"={value}")
                    seen.update(values[t - low])
        return fired.done()

    def _looked_for(self, values: Iterable[str]) -> Iterable[str]:
        """Return the distinct values to match."""
        return dict.fromkeys(v for v in values if self.value is None or v == self.value)


@dataclass(frozen=True)
class SegmentShape(SegmentFeature):
    """Fires for the short shapes of all tokens of a segment, such as Xx Xx d.

    Parameters
    ----------
    max_length : int
        Maximum length of the segments for which it fires.
    collapse : bool
        Whether runs of equal shapes are written once: Xx+ d.
    column : Column
        The column whose value represents each token.

    Examples
    --------
    >>> from caesura.features.batch import Words
    >>> batch = Batch([Document(("New", "York", "10001"))], Words())
    >>> SegmentShape(3).firings(batch).names
    ['=Xx', '=d', '=Xx Xx', '=Xx d', '=Xx Xx d']
    """

    max_length: int
    collapse: bool = False
    column: Column = short_shape

    def __post_init__(self) -> None:
        check_max_length(self.max_length)
        if not isinstance(self.column, Column) or not self.column.per_word:
            remedy = "pass short_shape or another"
            raise InvalidInput(message("column", self.column, "a column of words", remedy))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, such as segment_short_shape."""
        return f"segment_{self.column.name}{'+' if self.collapse else ''}"

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        fired, room = Fired(), rooms(batch)
        said, numbers = batch.words.said(self.column, batch)
        present, tokens = np.unique(numbers, return_inverse=True)
        shapes = [said.text(number) for number in present.tolist()]
        starts = np.arange(len(tokens))
        ids = tokens.astype(np.int64)  # number of the shapes of each span [start, start + length)
        texts: list[tuple[str, ...]] = [(shape,) for shape in shapes]
        for length in range(1, min(self.max_length, int(room.max(initial=0))) + 1):
            if length > 1:
                keep = room[starts] >= length
                starts, ids = starts[keep], ids[keep]
                pairs = ids * len(shapes) + tokens[starts + length - 1]
                distinct, ids = np.unique(pairs, return_inverse=True)
                texts = [
                    (*texts[p // len(shapes)], shapes[p % len(shapes)]) for p in distinct.tolist()
                ]
            fired.add_many(starts, starts + length, 0, [self._shown(t) for t in texts], ids)
        return fired.done()

    def _shown(self, shapes: Iterable[str]) -> str:
        """Return the attribute name of some shapes."""
        if not self.collapse:
            return "=" + " ".join(shapes)
        runs = ((shape, len(list(run))) for shape, run in groupby(shapes))
        return "=" + " ".join(shape + ("+" if n > 1 else "") for shape, n in runs)


@dataclass(frozen=True)
class Pattern(SegmentFeature):
    r"""Fires if a regular expression matches the whole text of a segment.

    Parameters
    ----------
    pattern : str
        A regular expression.
    max_length : int
        Maximum length, in tokens, of the segments for which it fires.
    name : str
        The name in attributes; the pattern if not given.
    joiner : str
        The string between tokens: a space, or nothing for characters.

    Examples
    --------
    >>> Pattern(r"pp?\. \d+ - \d+", max_length=4, name="pages").name
    'pages'
    """

    pattern: str
    max_length: int
    name: str = ""
    joiner: str = " "

    def __post_init__(self) -> None:
        check_pattern(self.pattern)
        check_max_length(self.max_length)
        object.__setattr__(self, "name", self.name or f"pattern({self.pattern})")

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        fired, compiled = Fired(), re.compile(self.pattern)
        alone = _CONTEXT.search(self.pattern) is None
        for document, low in zip(batch.documents, batch.offsets.tolist(), strict=False):
            text = self.joiner.join(document.tokens)
            places = np.cumsum([0, *(len(t) + len(self.joiner) for t in document.tokens)]).tolist()
            for start, at in enumerate(places[:-1]):
                if alone and compiled.match(text, at) is None:  # no span from here matches
                    continue
                for end in range(start + 1, min(start + self.max_length, len(document)) + 1):
                    until = places[end] - len(self.joiner)
                    span = (text, at, until) if alone else (text[at:until],)
                    if compiled.fullmatch(*span):
                        fired.add(low + start, low + end, 0, "")
        return fired.done()


# Anchors, lookarounds, atomic groups, inline flags and possessive quantifiers: what a pattern with
# them matches may depend on the text around the segment, so it is given the segment's text alone.
_CONTEXT = re.compile(r"(?<!\[)\^|\$|\\[bBAZ]|\(\?[=!<>(]|\(\?[a-zA-Z-]+[:)]|[+*?}]\+")


@dataclass(frozen=True)
class SegmentFunction(SegmentFeature):
    """Fires as a user-defined function of a document and a span decides.

    Parameters
    ----------
    function : callable
        f(document, start, end) returns a string, some strings, a dict with values, or None. A
        model with a lambda, or a function inside another, cannot be saved: define it at the top of
        a module and import it.
    max_length : int
        Maximum length of the segments for which it fires.
    name : str
        The name in attributes; that of the function if not given.

    Examples
    --------
    >>> def balanced(document, start, end):
    ...     text = "".join(document.tokens[start:end])
    ...     return "yes" if text.count("(") == text.count(")") else "no"
    >>> SegmentFunction(balanced, max_length=8).name
    'balanced'
    """

    function: Callable[[Document, int, int], str | Iterable[str] | Mapping[str, Any] | None]
    max_length: int
    name: str = ""

    def __post_init__(self) -> None:
        check_max_length(self.max_length)
        if not callable(self.function):
            remedy = "pass f(document, start, end)"
            raise InvalidInput(message("function", self.function, "a function", remedy))
        remember(self.function)
        own = getattr(self.function, "__name__", type(self.function).__name__)
        object.__setattr__(self, "name", self.name or str(own))

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        fired, low = Fired(), batch.offsets.tolist()
        for i, start, end in spans(batch, self.max_length):
            where = f"{self.name}(document, {start}, {end}) of {batch.name}[{batch.first + i}]"
            bag = answered(self.function, where, batch.documents[i], start, end)
            numbers = bag.items() if isinstance(bag, dict) else ((name, 1.0) for name in bag)
            for name, number in numbers:
                fired.add(low[i] + start, low[i] + end, 0, f"={name}", number)
        return fired.done()
