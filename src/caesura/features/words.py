"""Functions from a word to strings, the values of word columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby
from string import ascii_lowercase, ascii_uppercase, digits

from caesura.documents.characters import character_class, fold
from caesura.features.lexicons import Lexicon

__all__ = ["KINDS", "NORMALISERS", "fold"]

_SHAPES = {
    **dict.fromkeys(map(ord, ascii_uppercase), "X"),
    **dict.fromkeys(map(ord, ascii_lowercase), "x"),
    **dict.fromkeys(map(ord, digits), "d"),
}


def _shape_of(word: str) -> str:
    if word.isascii():
        return word.translate(_SHAPES)
    return "".join(
        "X" if c.isupper() or c.istitle() else "x" if c.islower() else "d" if c.isdigit() else c
        for c in word
    )


def _runs(text: str) -> str:
    return "".join(c for c, _ in groupby(text))


def _case_of(word: str) -> str:
    if word.isupper():
        return "upper"
    if word.islower():
        return "lower"
    if word.istitle() or (word[:1].isupper() and word[1:].islower()):
        return "title"
    return "mixed" if any(c.isupper() or c.islower() for c in word) else "none"


def _classes(word: str) -> tuple[str, ...]:
    return ("+".join(name for name, _ in groupby(map(character_class, word))),) if word else ()


def _ngrams_of(word: str, low: int, high: int) -> tuple[str, ...]:
    marked = f"<{word}>"
    sizes = range(low, min(high, len(marked)) + 1)
    return tuple({marked[s : s + n]: 0 for n in sizes for s in range(len(marked) - n + 1)})


def bucket(number: int, bounds: tuple[int, ...]) -> str:
    """Return the bucket of a number; buckets start at the bounds."""
    low = max((bound for bound in bounds if bound <= number), default=0)
    above = [bound for bound in bounds if bound > number]
    if not above:
        return f"{low}+"
    return str(low) if above[0] == low + 1 else f"{low}-{above[0] - 1}"


@lru_cache(maxsize=64)
def known_words(lexicon: Lexicon, casefold: bool, part: bool) -> frozenset[str]:
    """Return the words that are lexicon entries or tokens of entries."""
    entries = (entry for entry in lexicon.entries if part or len(entry) == 1)
    return frozenset(w.casefold() if casefold else w for entry in entries for w in entry)


def _in_lexicon(word: str, lexicon: Lexicon, casefold: bool, part: bool) -> tuple[str, ...]:
    known = known_words(lexicon, casefold, part)
    return ("yes",) if (word.casefold() if casefold else word) in known else ()


_pattern = lru_cache(maxsize=1024)(re.compile)  # avoids the checks of the cache in `re`


def _yes(fact: object) -> tuple[str, ...]:
    return ("yes" if fact else "no",)


KINDS: dict[str, Callable[..., tuple[str, ...]]] = {
    "bias": lambda word: ("1",),
    "word": lambda word: (word,),
    "lower": lambda word: (word.casefold(),),
    "shape": lambda word: (_shape_of(word),),
    "short_shape": lambda word: (_runs(_shape_of(word)),),
    "prefix": lambda word, n: (word[:n],) if len(word) >= n else (),
    "suffix": lambda word, n: (word[-n:],) if len(word) >= n else (),
    "ngrams": _ngrams_of,
    "char_class": _classes,
    "punctuation": lambda word: _yes({"punctuation"} == set(map(character_class, word))),
    "case": lambda word: (_case_of(word),),
    "hyphen": lambda word: _yes(any(unicodedata.category(c) == "Pd" for c in word)),
    "word_length": lambda word, bounds: (bucket(len(word), bounds),),
    "matches": lambda word, pattern: ("yes",) if _pattern(pattern).fullmatch(word) else (),
    "in_lexicon": _in_lexicon,
}
NORMALISERS: dict[str, Callable[[str], str]] = {
    "folded": fold,
    "zeroed": lambda word: "".join("0" if c.isdigit() else c for c in word),
    "lowered": str.casefold,
}
