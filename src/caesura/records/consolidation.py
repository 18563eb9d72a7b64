"""Consolidation of rows from several lists: duplicates and contradictions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from caesura.records.seeding import folded

__all__ = ["SEEDS", "Extracted", "Source", "TableRow", "consolidated"]

SEEDS = "seeds"  # the source name of seed rows
RELIABLE = 0.9  # probability that a page is right about a value
ALIKE = 90.0  # similarity in percent from which two keys may be one, if another column agrees
SHORTEST = 6  # minimum length of such keys


class Source(NamedTuple):
    """The source of a row.

    Examples
    --------
    >>> str(Source("page.html", 1, 3)), str(Source("seeds", 0, 0))
    ('page.html:1:3', 'seeds')
    """

    page: str  #: the name of the page, or "seeds"
    number: int  #: of the list in the page
    item: int  #: of the item in the list

    def __str__(self) -> str:
        return self.page if self.number == 0 else f"{self.page}:{self.number}:{self.item}"


class Extracted(NamedTuple):
    """The values extracted from one item."""

    values: Mapping[str, str]
    chances: Mapping[str, float]  # column -> probability of its value
    source: Source


class TableRow(NamedTuple):
    """A row of the merged table.

    Examples
    --------
    >>> row = TableRow({"town": "York"}, 0.9, {"town": 0.9}, {}, (Source("a.html", 1, 2),))
    >>> row.values, str(row.sources[0])
    ({'town': 'York'}, 'a.html:1:2')
    """

    values: dict[str, str]  #: column -> value, where there is one
    confidence: float  #: mean of the confidences of its values
    confidences: dict[str, float]  #: column -> confidence
    alternatives: dict[str, dict[str, float]]  #: column -> other values, with their confidence
    sources: tuple[Source, ...]  #: where the row was found


def consolidated(
    found: Iterable[Extracted], columns: Sequence[str], min_confidence: float = 0.0
) -> list[TableRow]:
    """Merge rows with the same key, the most reliable first.

    Keys are the same if their letters and digits are, or if they are nearly and the rows agree in
    another column.  Of several values of a column, the one with the most support is kept.  Its
    confidence is the probability that at least one of its sources is right, times its share of the
    support; a source is right if the value was extracted correctly, and the page is right about it,
    which is taken to be so in nine of ten cases.  Seeds are always right.  Rows come in the order
    of their expected number of right values.

    Examples
    --------
    >>> one = Extracted({"country": "France", "capital": "Paris"}, {"country": 0.9, "capital": 0.8},
    ...                 Source("a.html", 1, 1))
    >>> two = Extracted({"country": "FRANCE", "capital": "Lyon"}, {"country": 0.9, "capital": 0.2},
    ...                 Source("b.html", 1, 1))
    >>> row = consolidated([one, two], ["country", "capital"])[0]
    >>> row.values, round(row.confidences["capital"], 2), list(row.alternatives["capital"])
    ({'country': 'France', 'capital': 'Paris'}, 0.58, ['Lyon'])
    """
    groups = _grouped(list(found), columns)
    rows = [_merged(group, columns) for group in groups]
    least = min(2, len(columns))  # values in a row; the key alone is not informative
    kept = [row for row in rows if row.confidence >= min_confidence and len(row.values) >= least]
    return sorted(kept, key=lambda row: _rank(row, columns))


def _rank(row: TableRow, columns: Sequence[str]) -> tuple[object, ...]:
    values = tuple(row.values.get(column, "") for column in columns)
    return -round(math.fsum(row.confidences.values()), 9), -len(row.sources), values


def _grouped(found: list[Extracted], columns: Sequence[str]) -> list[list[Extracted]]:
    """Group rows by key, in order of first occurrence."""
    key_column = columns[0]
    groups: dict[str, list[Extracted]] = {}
    for one in found:
        key = folded(one.values.get(key_column, ""))
        if key:
            groups.setdefault(key, []).append(one)
    keys = sorted(groups, key=lambda key: (-len(groups[key]), key))
    joined: list[str] = []  # keys that stand for several spellings
    for key in keys:
        twin = next((k for k in joined if _same(k, key, groups, columns)), None)
        if twin is None:
            joined.append(key)
        else:
            groups[twin] += groups.pop(key)
    return [groups[key] for key in groups]


def _same(a: str, b: str, groups: Mapping[str, list[Extracted]], columns: Sequence[str]) -> bool:
    """Return whether two keys are spellings of the same name."""
    from rapidfuzz import fuzz

    if min(len(a), len(b)) < SHORTEST or fuzz.ratio(a, b) < ALIKE:
        return False
    for column in columns[1:]:
        mine, theirs = (
            {folded(one.values[column]) for one in groups[key] if column in one.values}
            for key in (a, b)
        )
        if mine & theirs:
            return True
    return False


def _merged(group: Sequence[Extracted], columns: Sequence[str]) -> TableRow:
    """Merge several rows about the same entity."""
    values: dict[str, str] = {}
    confidences: dict[str, float] = {}
    alternatives: dict[str, dict[str, float]] = {}
    for column in columns:
        rated = _rated([one for one in group if column in one.values], column, column == columns[0])
        if rated:
            values[column], confidences[column] = next(iter(rated.items()))
            if len(rated) > 1:
                alternatives[column] = dict(list(rated.items())[1:])
    confidence = math.fsum(confidences.values()) / len(confidences)
    sources = tuple(dict.fromkeys(one.source for one in group))
    return TableRow(values, confidence, confidences, alternatives, sources)


def _rated(group: Sequence[Extracted], column: str, is_key: bool) -> dict[str, float]:
    """Return the values of a column with their confidence, best first.

    Spellings of one value count together, and so do all those of the key.  A seed is right,
    whatever pages say.
    """
    said: dict[str, list[Extracted]] = {}
    for one in group:
        said.setdefault("" if is_key else folded(one.values[column]), []).append(one)
    total = math.fsum(one.chances[column] for one in group)
    found = []
    for some in said.values():
        chances = [one.chances[column] for one in some]
        seeds = [one.values[column] for one in some if one.source.page == SEEDS]
        confidence = 1.0 if seeds else _confidence(chances, total)
        found.append((bool(seeds), confidence, seeds[0] if seeds else _spelling(some, column)))
    found.sort(key=lambda one: (not one[0], -one[1]))
    return {value: confidence for _, confidence, value in found}


def _spelling(some: Sequence[Extracted], column: str) -> str:
    """Return the spelling with the most support; ties go to the first."""
    support: dict[str, float] = {}
    for one in some:
        value = one.values[column]
        support[value] = support.get(value, 0.0) + one.chances[column]
    return max(support, key=support.__getitem__)


def _confidence(chances: Sequence[float], total: float) -> float:
    right = 1.0 - math.prod(1.0 - RELIABLE * chance for chance in chances)
    return right * math.fsum(chances) / total if total > 0 else 0.0
