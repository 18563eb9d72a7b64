"""Unicode properties of characters, as tables for the kernels.

The kernels ask for 256 code points at a time, when they first meet one of them. So their answers
are those of the running Python, whatever its version of Unicode.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable

from caesura import _kernels

__all__ = ["CHARACTERS", "character_class", "fold", "is_mark"]

_DATE = frozenset("年月日时時分秒")
_CHINESE_NUMBERS = frozenset("〇零一二三四五六七八九十百千万亿两")
_NO_LETTERS = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")
_CLASSES = ("number", "date", "letter", "punctuation", "other")
_JOINERS = (0x200C, 0x200D)


def fold(text: str) -> str:
    """Return the Unicode NFKC form of a text.

    Examples
    --------
    >>> fold("ＡＢＣ１２３")
    'ABC123'
    """
    return unicodedata.normalize("NFKC", text)


@functools.lru_cache(maxsize=1 << 16)
def character_class(character: str) -> str:
    """Return the class of a character of any width: number, date, letter, punctuation or other.

    Examples
    --------
    >>> [character_class(c) for c in "三日Ｚ,山"]
    ['number', 'date', 'letter', 'punctuation', 'other']
    """
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


def is_mark(code: int) -> bool:
    """Return whether a character attaches to the one before it: an accent, a vowel sign, a joiner.

    Python does not count most of them among the characters of words.

    Examples
    --------
    >>> is_mark(0x301), is_mark(ord("a"))
    (True, False)
    """
    there = 0x300 <= code < 0x20000 or 0xE0100 <= code < 0xE01F0
    return there and (unicodedata.category(chr(code))[0] == "M" or code in _JOINERS)


# ---- tables of character properties --------------------------------------------------------------


@functools.cache
def _composing() -> frozenset[str]:
    """Return the characters that may compose with the preceding character.

    Code points from 0x20000 on are ideographs, which do not compose.
    """
    canonical = (unicodedata.decomposition(chr(code)) for code in range(0x20000))
    pairs = (one.split() for one in canonical if one and one[0] != "<")
    jamo = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))  # absent from decompositions
    seconds = (int(pair[1], 16) for pair in pairs if len(pair) == 2)
    return frozenset(map(chr, (*seconds, *jamo)))


def _is_inert(character: str) -> bool:
    """Return whether the NFKC form of a character is the same in any context."""
    composing = _composing()
    return all(unicodedata.combining(c) == 0 and c not in composing for c in fold(character))


_DECIMAL, _WORD, _SPACE = (re.compile(one) for one in (r"\d", r"\w", r"\s"))
# The bits of a character's flags, from the lowest, in the same order as in
# cpp/encode/characters.hpp.
_FLAGS: tuple[Callable[[str], object], ...] = (
    str.isupper,
    str.istitle,
    str.islower,
    str.isdigit,
    _DECIMAL.match,
    _WORD.match,
    _SPACE.match,
    lambda c: is_mark(ord(c)),
    lambda c: unicodedata.category(c) == "Pd",
    _is_inert,
)


def _read_page(number: int) -> list[tuple[int, int, str, str]]:
    """Return the flags, classes, case-folded forms and NFKC forms of 256 code points."""
    page = map(chr, range(256 * number, 256 * number + 256))
    return [
        (
            sum(1 << bit for bit, holds in enumerate(_FLAGS) if holds(c)),
            _CLASSES.index(character_class(c)),
            c.casefold(),
            fold(c),
        )
        for c in page
    ]


CHARACTERS = _kernels.Characters(_read_page, fold)
"""The properties of all characters, for the kernels."""
