"""What can be said about a word: functions from a word, and more arguments, to strings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby
from string import ascii_lowercase, ascii_uppercase, digits

from caesura.features.lexicons import Lexicon

__all__ = ["KINDS", "NORMALISERS", "fold"]

_DATE = frozenset("年月日时時分秒")
_CHINESE_NUMBERS = frozenset("〇零一二三四五六七八九十百千万亿两")
_NO_LETTERS = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")


def fold(text: str) -> str:
    """Return a text with the usual widths and forms of its characters (Unicode's NFKC).

    Examples
    --------
    >>> fold("ＡＢＣ１２３")
    'ABC123'
    """
    return unicodedata.normalize("NFKC", text)


@lru_cache(maxsize=1 << 16)
def _class(character: str) -> str:
    """Return number, date, letter, punctuation or other, whatever the character's width."""
    character = fold(character)[:1] or character
    category = unicodedata.category(character)
    if category[0] == "N" or character in _CHINESE_NUMBERS:
        return "number"
    if character in _DATE:
        return "date"
    if category[0] in "PS":
        return "punctuation"
    if category[0] == "L" and not unicodedata.name(character, "").startswith(_NO_LETTERS):
        return "letter"
    return "other"


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
    return ("+".join(name for name, _ in groupby(map(_class, word))),) if word else ()


def _ngrams_of(word: str, low: int, high: int) -> tuple[str, ...]:
    marked = f"<{word}>"
    sizes = range(low, min(high, len(marked)) + 1)
    return tuple({marked[s : s + n]: 0 for n in sizes for s in range(len(marked) - n + 1)})


def _bucket(number: int, bounds: tuple[int, ...]) -> str:
    """Return the bucket of a number; the bounds are where buckets begin."""
    low = max((bound for bound in bounds if bound <= number), default=0)
    above = [bound for bound in bounds if bound > number]
    if not above:
        return f"{low}+"
    return str(low) if above[0] == low + 1 else f"{low}-{above[0] - 1}"


@lru_cache(maxsize=64)
def _known(lexicon: Lexicon, casefold: bool, part: bool) -> frozenset[str]:
    """Return the words that are an entry, or a token of one."""
    entries = (entry for entry in lexicon.entries if part or len(entry) == 1)
    return frozenset(w.casefold() if casefold else w for entry in entries for w in entry)


def _in_lexicon(word: str, lexicon: Lexicon, casefold: bool, part: bool) -> tuple[str, ...]:
    known = _known(lexicon, casefold, part)
    return ("yes",) if (word.casefold() if casefold else word) in known else ()


_pattern = lru_cache(maxsize=1024)(re.compile)  # without the checks of re's own cache


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
    "punctuation": lambda word: _yes(word and all(_class(c) == "punctuation" for c in word)),
    "case": lambda word: (_case_of(word),),
    "hyphen": lambda word: _yes(any(unicodedata.category(c) == "Pd" for c in word)),
    "word_length": lambda word, bounds: (_bucket(len(word), bounds),),
    "matches": lambda word, pattern: ("yes",) if _pattern(pattern).fullmatch(word) else (),
    "in_lexicon": _in_lexicon,
}
NORMALISERS: dict[str, Callable[[str], str]] = {
    "folded": fold,
    "zeroed": lambda word: "".join("0" if c.isdigit() else c for c in word),
    "lowered": str.casefold,
}
