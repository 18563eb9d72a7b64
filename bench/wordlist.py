"""Positions of word-list entries in a text of characters, with the list learnt from training data.

Each character is told the length of the longest listed word that begins at it, that ends at it, and
that it stands inside of.  Training lines are told by the words of the other lines, fold by fold,
for else the list would know every word of theirs and none too few of a new text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import caesura

COLUMNS = ("begins", "inside", "ends")
LONGEST = 6  # maximum characters of a listed word; longer ones count as that many


def word_list(documents: Iterable[caesura.Document]) -> frozenset[str]:
    """Return the words of two characters or more."""
    return frozenset(
        "".join(document.tokens[start:end])
        for document in documents
        for start, end, _ in document.segments or ()
        if end - start > 1
    )


def told(documents: Iterable[caesura.Document], known: frozenset[str]) -> list[caesura.Document]:
    """Return documents with the word-list columns."""
    return [
        replace(one, columns=dict(zip(COLUMNS, _lengths(one.tokens, known), strict=True)))
        for one in documents
    ]


def cross_told(documents: Sequence[caesura.Document], folds: int = 10) -> list[caesura.Document]:
    """Return training documents with the columns, each from the words of the other folds."""
    out: list[caesura.Document] = []
    for i in range(folds):
        low, high = (len(documents) * j // folds for j in (i, i + 1))
        out += told(documents[low:high], word_list([*documents[:low], *documents[high:]]))
    return out


def _lengths(tokens: Sequence[str], known: frozenset[str]) -> list[list[str]]:
    """Return the columns of a text."""
    text = "".join(tokens)
    T = len(tokens)
    begins, inside, ends = ([1] * T for _ in COLUMNS)
    for s in range(T):
        for e in range(s + 2, min(T, s + LONGEST) + 1):
            if text[s:e] in known:
                begins[s] = e - s  # e increases, so the longest word remains
                ends[e - 1] = max(ends[e - 1], e - s)
                for t in range(s + 1, e - 1):
                    inside[t] = max(inside[t], e - s)
    return [list(map(str, column)) for column in (begins, inside, ends)]
