"""Pairs of records from which a match score is learnt."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from caesura.errors import InvalidInput, message

__all__ = ["Pair", "checked_matches", "strangers"]

Pair = tuple[int, int]


def checked_matches(matches: Iterable[Pair], mine: int, theirs: int, same: bool) -> set[Pair]:
    """Return the pairs that match, or raise; of one set, with the smaller number first.

    Examples
    --------
    >>> checked_matches([(2, 0)], 3, 3, same=True)
    {(0, 2)}
    """
    if not isinstance(matches, Iterable):
        expected = "a list of pairs of places"
        raise InvalidInput(message("matches", matches, expected, "pass [(0, 1), ...]"))
    known = set()
    for k, pair in enumerate(matches):
        try:
            i, j = map(operator.index, pair)
        except (TypeError, ValueError):
            i = j = -1
        if not (0 <= i < mine and 0 <= j < theirs) or (same and i == j):
            expected = f"places of two records, below {mine} and {theirs}"
            raise InvalidInput(message(f"matches[{k}]", pair, expected, "number them from 0"))
        known.add((min(i, j), max(i, j)) if same else (i, j))
    return known


def strangers(mine: int, theirs: int, same: bool) -> set[Pair]:
    """Return a pair for each record that most probably has nothing in common."""
    pairs = {(i, (i + theirs // 2 + 1) % theirs) for i in range(mine)} if theirs else set()
    return {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]} if same else pairs
