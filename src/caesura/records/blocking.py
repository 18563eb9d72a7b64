"""An index of short texts by their words, to select candidates for comparison.

A text shares words with few of the others, and rare words count more than common ones.  The index
keeps, for each word, the texts that have it, and ranks texts by the weight of the words that they
share with a query::

    rank(i) = sum of idf(w)^2 over the words w of both / (norm(query) norm(i))
    idf(w) = ln(1 + n / n(w)),    norm(i)^2 = sum of idf(w)^2 over the words w of i

Texts can be added at any time: weights follow the counts of now.  Texts with the same words are one
entry, and a query looks at a limited number of entries, so that its cost does not grow with the
number of repeated texts or of texts that consist of common words only.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

__all__ = ["WordIndex", "folded", "words_of"]

_WORD = re.compile(r"\w+")
MOST_TEXTS = 500  # words in more entries are used only if no rarer word is shared
MOST_LOOKS = 10_000  # maximum number of entries examined for such words, rarest word first


def words_of(text: str) -> list[str]:
    """Return the distinct words of a text in order, without case and punctuation.

    Examples
    --------
    >>> words_of("Proc. of the VLDB, proc. 3")
    ['proc', 'of', 'the', 'vldb', '3']
    """
    return list(dict.fromkeys(_WORD.findall(text.casefold())))


def folded(text: str) -> str:
    """Return a text without case and punctuation.

    Examples
    --------
    >>> folded("Proc. VLDB '98")
    'proc vldb 98'
    """
    return " ".join(_WORD.findall(text.casefold()))


class WordIndex:
    """An inverted index of texts by words.

    Parameters
    ----------
    texts : iterable of str
        The first texts; they are numbered from 0 in the order of adding.

    Examples
    --------
    >>> texts = ["Very Large Data Bases", "Management of Data", "Principles of Databases"]
    >>> index = WordIndex(texts)
    >>> [(number, round(rank, 2)) for number, rank in index.nearest("large data bases", 2)]
    [(0, 0.84), (1, 0.2)]
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._size = 0
        self._numbers: dict[frozenset[str], int] = {}  # words of an entry -> its number
        self._words: list[list[str]] = []  # words of each entry
        self._texts: list[list[int]] = []  # numbers of the texts of each entry, in order
        self._entries: defaultdict[str, list[int]] = defaultdict(list)  # word -> entries
        self._counts: defaultdict[str, int] = defaultdict(int)  # word -> number of texts
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return self._size

    def add(self, text: str) -> int:
        """Add a text and return its number."""
        words = words_of(text)
        entry = self._numbers.setdefault(frozenset(words), len(self._words))
        if entry == len(self._words):
            self._words.append(words)
            self._texts.append([])
            for word in words:
                self._entries[word].append(entry)
        for word in words:
            self._counts[word] += 1
        self._texts[entry].append(self._size)
        self._size += 1
        return self._size - 1

    def _weight(self, word: str) -> float:
        return math.log(1.0 + self._size / max(1, self._counts.get(word, 0)))

    def _norm(self, words: Iterable[str]) -> float:
        return math.sqrt(sum(self._weight(word) ** 2 for word in words))

    def nearest(self, text: str, count: int) -> list[tuple[int, float]]:
        """Return the most similar texts with scores from 0 to 1, best first.

        Of equal ranks, the text that was added first comes first.
        """
        words = words_of(text)
        sums: defaultdict[int, float] = defaultdict(float)
        for word, entries in self._looked_at(words):
            squared = self._weight(word) ** 2
            for entry in entries:
                sums[entry] += squared
        norm = self._norm(words)
        ranked: list[tuple[int, float]] = []
        for _, some in groupby(sorted(sums.items(), key=_falling)[: 4 * count], itemgetter(1)):
            for entry, total in some:
                rank = total / (norm * self._norm(self._words[entry]))
                ranked += [(i, rank) for i in self._texts[entry][: 4 * count]]
            if len(ranked) >= 4 * count:
                break
        return sorted(ranked, key=_falling)[:count]

    def _looked_at(self, words: Iterable[str]) -> list[tuple[str, list[int]]]:
        """Return the words used for the lookup, with their entries."""
        shared = [(word, self._entries[word]) for word in words if word in self._entries]
        rare = [(word, entries) for word, entries in shared if len(entries) <= MOST_TEXTS]
        if rare:
            return rare
        found, left = [], MOST_LOOKS
        for word, entries in sorted(shared, key=lambda item: len(item[1])):
            if left > 0:
                found.append((word, entries[:left]))
                left -= len(entries)
        return found


def _falling(item: tuple[int, float]) -> tuple[float, int]:
    """Return the sort key for decreasing scores; ties keep their order."""
    return -item[1], item[0]
