"""An index of short texts by their words: which of them are worth a comparison?

A text shares words with few of the others, and rare words say more than common ones.  The index
keeps, for each word, the texts that have it, and ranks texts by the weight of the words that they
share with a query::

    rank(i) = sum of idf(w)^2 over the words w of both / (norm(query) norm(i))
    idf(w) = ln(1 + n / n(w)),    norm(i)^2 = sum of idf(w)^2 over the words w of i

Texts can be added at any time: weights follow the counts of now.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable

__all__ = ["WordIndex", "folded", "words_of"]

_WORD = re.compile(r"\w+")
MOST_TEXTS = 500  # words of more texts than this are looked at only if no other word is shared


def words_of(text: str) -> list[str]:
    """Return the distinct words of a text, without case and punctuation, in their order.

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
    """Texts by their words.

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
        self._words: list[list[str]] = []  # of each text
        self._texts: defaultdict[str, list[int]] = defaultdict(list)  # of each word
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return len(self._words)

    def add(self, text: str) -> int:
        """Add a text and return its number."""
        number, words = len(self._words), words_of(text)
        self._words.append(words)
        for word in words:
            self._texts[word].append(number)
        return number

    def _weight(self, word: str) -> float:
        return math.log(1.0 + len(self._words) / max(1, len(self._texts.get(word, ()))))

    def _norm(self, words: Iterable[str]) -> float:
        return math.sqrt(sum(self._weight(word) ** 2 for word in words))

    def nearest(self, text: str, count: int) -> list[tuple[int, float]]:
        """Return the texts that share the most, with their ranks from 0 to 1, the best first.

        Of equal ranks, the text that was added first comes first.
        """
        words = words_of(text)
        shared = [word for word in words if word in self._texts]
        rare = [word for word in shared if len(self._texts[word]) <= MOST_TEXTS] or shared
        sums: defaultdict[int, float] = defaultdict(float)
        for word in rare:
            squared = self._weight(word) ** 2
            for number in self._texts[word]:
                sums[number] += squared
        norm = self._norm(words)
        best = sorted(sums.items(), key=lambda item: (-item[1], item[0]))[: 4 * count]
        ranked = [(i, total / (norm * self._norm(self._words[i]))) for i, total in best]
        return sorted(ranked, key=lambda item: (-item[1], item[0]))[:count]
