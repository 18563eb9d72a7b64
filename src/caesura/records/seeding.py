"""Distant supervision: rows matched to list items give noisy, partial labels.

A value is in an item where the letters and digits of some tokens are those of the value: case,
accents, spaces and punctuation do not count, so "8,849" is 8849.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from caesura.documents import Document, Partial
from caesura.records.pages import ItemList

__all__ = ["OUTSIDE", "Known", "Labels", "Row", "folded", "labels_of"]

Row = Mapping[str, str]  # column -> value, for the columns with a value
Span = tuple[int, int]  # start and end in tokens
OUTSIDE = "O"


class Labels(NamedTuple):
    """The labels that known rows give to a list."""

    known: dict[int, Partial]  # index of an item -> its partial labels
    columns: tuple[str, ...]  # the columns found in the list


def folded(text: str) -> str:
    """Return the letters and digits of a text, without case and accents.

    Examples
    --------
    >>> folded("São Tomé"), folded("8,849 m")
    ('saotome', '8849m')
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if character.isalnum())


class Known:
    """Known rows with an index of their values.

    Parameters
    ----------
    rows : sequence of Row
        The rows that are known.
    columns : sequence of str
        All columns; the first is the key.
    """

    def __init__(self, rows: Sequence[Row], columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.rows = [
            {column: key for column, value in row.items() if (key := folded(value))} for row in rows
        ]
        self._where: dict[str, list[tuple[int, str]]] = {}
        for i, row in enumerate(self.rows):
            for column, key in row.items():
                self._where.setdefault(key, []).append((i, column))
        self._longest = max(map(len, self._where), default=0)

    def match(self, document: Document) -> dict[str, Span] | None:
        """Return the row that matches an item, and its value positions; None if ambiguous.

        An item is about a row if at least two of its values are in it (one, if the row has no
        more), its key among them where the row has one.
        """
        found: dict[int, dict[str, list[Span]]] = {}
        for span, key in self._spans(document):
            for i, column in self._where.get(key, ()):
                found.setdefault(i, {}).setdefault(column, []).append(span)
        key_column = self.columns[0]
        rated = {
            i: len(spans)
            for i, spans in found.items()
            if len(spans) >= min(2, len(self.rows[i]))
            and (key_column in spans or key_column not in self.rows[i])
        }
        best = [i for i, count in rated.items() if count == max(rated.values())]
        if not best or any(self.rows[i] != self.rows[best[0]] for i in best[1:]):
            return None
        return self._placed(best[0], found[best[0]])

    def _placed(self, i: int, found: dict[str, list[Span]]) -> dict[str, Span]:
        """Return the values with a unique position, longer values first."""
        spans: dict[str, Span] = {}
        for column in sorted(found, key=lambda c: (-len(self.rows[i][c]), self.columns.index(c))):
            places = [p for p in found[column] if not any(_overlap(p, q) for q in spans.values())]
            if len(places) == 1:
                spans[column] = places[0]
        return spans

    def _spans(self, document: Document) -> list[tuple[Span, str]]:
        """Return the word-aligned spans with their letters and digits."""
        keys = [folded(token) for token in document.tokens]
        found = []
        for start, first in enumerate(keys):
            joined = ""
            for end in range(start + 1, len(keys) + 1) if first else ():
                joined += keys[end - 1]
                if len(joined) > self._longest:
                    break
                if keys[end - 1]:
                    found.append(((start, end), joined))
        return found


def labels_of(lists: ItemList, known: Known) -> Labels:
    """Return the labels that known rows give to the items of a list.

    The tokens of a value are its segment.  Any other token is outside, or may belong to a column of
    the list that was not found in this item, or at several places.
    """
    matches = {
        i: match for i, item in enumerate(lists.items) if (match := known.match(item.document))
    }
    columns = tuple(c for c in known.columns if any(c in match for match in matches.values()))
    return Labels(
        {i: _partial(lists.items[i].document, match, columns) for i, match in matches.items()},
        columns,
    )


def _partial(document: Document, match: Mapping[str, Span], columns: Sequence[str]) -> Partial:
    segments = sorted((*span, column) for column, span in match.items())
    covered = {t for start, end, _ in segments for t in range(start, end)}
    open_columns = [c for c in columns if c not in match]
    free = [t for t in range(len(document)) if t not in covered]
    return Partial(segments=segments, tokens={t: [*open_columns, OUTSIDE] for t in free})


def _overlap(a: Span, b: Span) -> bool:
    return a[0] < b[1] and b[0] < a[1]
