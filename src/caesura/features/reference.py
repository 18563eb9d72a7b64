"""Firings of templates: the definition in plain Python.

A history changes the labels on which weights depend, not where a template fires; names of
attributes show it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from caesura.documents import Document
from caesura.features.lookback import SegmentTemplate, values_of_part
from caesura.features.segment_base import SegmentFeature
from caesura.features.templates import AFTER, BEFORE, Column, Template
from caesura.segments.cores import OPEN_END, OPEN_START
from caesura.segments.cores import applies as core_applies

__all__ = ["Row", "applies", "cores", "path_attributes", "rows"]

OPEN = OPEN_START | OPEN_END

# The rows with core [t, t + 1), as (flags, value), whose sum is 1 for segments in which token t has
# this place, and 0 for others: any = begin + inside + end + single, first = begin + single, last =
# end + single.
_BY_PLACE: dict[str, tuple[tuple[int, float], ...]] = {
    "token": ((OPEN, 1.0),),
    "single": ((0, 1.0),),
    "begin": ((OPEN_END, 1.0), (0, -1.0)),
    "end": ((OPEN_START, 1.0), (0, -1.0)),
    "inside": ((OPEN, 1.0), (OPEN_END, -1.0), (OPEN_START, -1.0), (0, 1.0)),
}


class Row(NamedTuple):
    """One firing; an empty span is the inner boundary before token `start` (position "edge")."""

    start: int
    end: int
    flags: int  # OPEN_START | OPEN_END
    attribute: str
    value: float


def applies(row: Row, start: int, end: int) -> bool:
    """Return whether a row applies to the segment [start, end).

    Examples
    --------
    >>> at_least_two = Row(4, 6, OPEN_END, "length>=2", 1.0)
    >>> applies(at_least_two, 4, 9), applies(at_least_two, 4, 5), applies(at_least_two, 3, 9)
    (True, False, False)
    """
    return row.start < row.end and core_applies(row.start, row.end, row.flags, start, end)


def cores(template: Template, t: int, length: int) -> list[tuple[int, int, int, float]]:
    """Return (start, end, flags, value) of a template anchored at token t; empty if out of range.

    Examples
    --------
    >>> from caesura.features import first, inside, word
    >>> cores(first(word[0] & word[1]), 3, 9)
    [(3, 5, 2, 1.0)]
    >>> cores(inside(word[0]), 3, 9)
    [(3, 4, 3, 1.0), (3, 4, 2, -1.0), (3, 4, 1, -1.0), (3, 4, 0, 1.0)]
    """
    low, high = template.reach
    if template.place == "edge":
        return [(t, t, 0, 1.0)] if 0 < t < length else []
    if template.place in _BY_PLACE:
        return [(t, t + 1, flags, value) for flags, value in _BY_PLACE[template.place]]
    start, end, flags = {
        "within": (t + low, t + high + 1, OPEN),
        "first": (t, t + high + 1, OPEN_END),
        "last": (t + low, t + 1, OPEN_START),
    }[template.place]
    return [(start, end, flags, 1.0)] if start >= 0 and end <= length else []


def rows(document: Document, templates: Iterable[Template]) -> list[Row]:
    """Return all firings of templates in a document.

    Examples
    --------
    >>> from caesura.features import first, word
    >>> for row in rows(Document(("of", "ACM")), [word[-1] & word[0], first(word[0])]):
    ...     print(*row)
    0 1 3 word[-1]&word[0]=<s>|of 1.0
    1 2 3 word[-1]&word[0]=of|ACM 1.0
    0 1 2 first:word[0]=of 1.0
    1 2 2 first:word[0]=ACM 1.0
    """
    columns: dict[Column, list[dict[str, float]]] = {}
    found: list[Row] = []
    for template in templates:
        for column, _ in template.parts:
            if column not in columns:
                columns[column] = [_weighted(values) for values in column.of_document(document)]
        for t in range(len(document)):
            for start, end, flags, sign in cores(template, t, len(document)):
                for attribute, value in _combinations(template, t, columns):
                    found.append(Row(start, end, flags, attribute, sign * value))
    return found


def _weighted(values: Iterable[str] | Mapping[str, float]) -> dict[str, float]:
    """Return values with weights; repeated strings count multiply."""
    if isinstance(values, Mapping):
        return dict(values)
    counts: dict[str, float] = {}
    for value in values:
        counts[value] = counts.get(value, 0.0) + 1.0
    return counts


def _combinations(
    template: Template, t: int, columns: Mapping[Column, list[dict[str, float]]]
) -> Iterator[tuple[str, float]]:
    """Yield the attributes at anchor t, with the product of the weights of their parts."""
    parts: list[dict[str, float]] = []
    for column, offset in template.parts:
        values = columns[column]
        at = t + offset
        outside = BEFORE if at < 0 else AFTER
        parts.append(values[at] if 0 <= at < len(values) else {outside: 1.0})
    for combination in product(*(part.items() for part in parts)):
        yield template.attribute([v for v, _ in combination]), prod(n for _, n in combination)


def path_attributes(
    document: Document,
    segments: Sequence[tuple[int, int, str]],
    templates: Iterable[Template | SegmentFeature],
) -> dict[tuple[str, str], float]:
    """Count each attribute with each label in a segmentation.

    An attribute at the end of the sequence is counted with the label "".

    Examples
    --------
    >>> from caesura.features import previous, this
    >>> bigrams = path_attributes(
    ...     Document(tuple("abc")), [(0, 2, "w"), (2, 3, "w")], [previous.text & this.text]
    ... )
    >>> [name for name, label in bigrams]
    ['previous.text&this.text=<s>|a b', 'previous.text&this.text=a b|c',
     'previous.text&this.text=c|</s>']
    """
    found: defaultdict[tuple[str, str], float] = defaultdict(float)
    path = [None, None, *segments, None]  # nothing before the first segment and after the last
    for template in templates:
        if isinstance(template, SegmentTemplate):
            for j in range(2, len(path) - (not template.fires_at_end)):
                here = path[j]
                values = [
                    values_of_part(role, look, column, document, path[j - role])
                    for role, look, column in template.parts
                ]
                label = "" if here is None else here[2]
                found[template.attribute(values), label] += 1
            continue
        fired = rows(document, [template]) if isinstance(template, Template) else []
        for previous, (start, end, label) in zip(path[1:], segments, strict=False):
            for row in fired:
                if row.start < row.end and applies(row, start, end):
                    found[row.attribute, label] += row.value
                elif row.start == row.end == start and previous is not None:
                    found[f"{row.attribute} after {previous[2]}", label] += row.value
    return {key: value for key, value in found.items() if value}
