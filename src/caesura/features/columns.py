"""Word columns: strings that depend on the word alone.

Each is a row of a table, `KINDS`: a function from a word and the column's arguments to values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.features.lexicons import Lexicon
from caesura.features.templates import Column
from caesura.features.words import KINDS, NORMALISERS

__all__ = [
    "Column",
    "NormalisedColumn",
    "WordColumn",
    "bias",
    "case",
    "char_class",
    "folded",
    "hyphen",
    "in_lexicon",
    "lower",
    "lowered",
    "matches",
    "ngrams",
    "prefix",
    "punctuation",
    "shape",
    "short_shape",
    "suffix",
    "word",
    "word_length",
    "zeroed",
]

# ---- word columns -------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class WordColumn(Column):
    """A word column: a kind, its arguments, and the name shown in attributes.

    Examples
    --------
    >>> shape.of_word("ELMo")
    ('XXXx',)
    >>> prefix(2)
    prefix(2)
    """

    kind: str
    arguments: tuple[Any, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(message("kind", self.kind, ", ".join(KINDS), "pass one of them"))
        if not self.name:
            object.__setattr__(self, "name", self.kind)

    def of_word(self, word: str) -> tuple[str, ...]:
        """Return the values of a word."""
        return KINDS[self.kind](word, *self.arguments)

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.arguments))
        return f"{self.kind}({inner})" if inner else self.name


@dataclass(frozen=True, repr=False)
class NormalisedColumn(Column):
    """A word column that is applied to normalised words: `folded`, `zeroed` or `lowered`.

    Examples
    --------
    >>> folded(zeroed(word)).of_word("１９９２年")
    ('0000年',)
    """

    column: Column
    how: str

    def __post_init__(self) -> None:
        if not isinstance(self.column, Column) or not self.column.per_word:
            remedy = "normalise a column of words, as in folded(word)"
            raise InvalidInput(message("column", self.column, "a column of words", remedy))
        if self.how not in NORMALISERS:
            known = ", ".join(NORMALISERS)
            raise InvalidInput(message("how", self.how, known, "pass one of them"))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The column name wrapped in the normalisation."""
        return f"{self.how}({self.column.name})"

    def of_word(self, word: str) -> tuple[str, ...]:
        """Return the values of the normalised word."""
        return self.column.of_word(NORMALISERS[self.how](word))

    def __repr__(self) -> str:
        return f"{self.how}({self.column!r})"


word = WordColumn("word")
"""The word itself."""
lower = WordColumn("lower")
"""The word in lower case (by case folding, so that ß is ss)."""
shape = WordColumn("shape")
"""X for upper case, x for lower, d for digits, everything else itself, so that ELMo is XXXx."""
short_shape = WordColumn("short_shape")
"""The shape with runs made one, so that ELMo is Xx."""
char_class = WordColumn("char_class")
"""number, date (年月日时分秒), letter, punctuation or other, by runs in longer words.

The word ``1992,`` is number+punctuation. Widths do not matter. Chinese numbers are numbers, and
ideographs other.
"""
punctuation = WordColumn("punctuation")
"""yes if all characters are punctuation or symbols, else no."""
case = WordColumn("case")
"""upper, title, lower, mixed, or none if there is nothing to see case in."""
hyphen = WordColumn("hyphen")
"""yes if the word has a hyphen or a dash, else no."""
bias = WordColumn("bias")
"""1 at every token, so that its weight depends on the label alone."""


def prefix(n: int) -> WordColumn:
    """Return the column of the first n characters; empty for shorter words.

    Examples
    --------
    >>> prefix(2).of_word("Chicago"), prefix(2).of_word("a")
    (('Ch',), ())
    """
    return WordColumn("prefix", (_at_least_one("n", n),), f"prefix{n}")


def suffix(n: int) -> WordColumn:
    """Return the column of the last n characters; empty for shorter words.

    Examples
    --------
    >>> suffix(2).of_word("Chicago")
    ('go',)
    """
    return WordColumn("suffix", (_at_least_one("n", n),), f"suffix{n}")


def ngrams(low: int, high: int) -> WordColumn:
    """Return the column of the distinct character n-grams of low to high characters.

    The word is enclosed in < and >, which count as characters.

    Examples
    --------
    >>> ngrams(2, 3).of_word("it")
    ('<i', 'it', 't>', '<it', 'it>')
    """
    if _at_least_one("low", low) > _at_least_one("high", high):
        raise InvalidInput(message("high", high, f"at least low, which is {low}", "raise it"))
    return WordColumn("ngrams", (low, high), f"ngrams{low}-{high}")


def word_length(*bounds: int) -> WordColumn:
    """Return the column of the word length in buckets that start at the bounds.

    Examples
    --------
    >>> [word_length().of_word("x" * n)[0] for n in (1, 2, 5, 20)]
    ['1', '2', '4-6', '10+']
    >>> word_length(5).of_word("four")
    ('0-4',)
    """
    bounds = tuple(whole("bounds", bound, 0) for bound in bounds)
    name = "word_length" + ",".join(map(str, bounds))
    return WordColumn("word_length", (tuple(sorted(bounds)) or (1, 2, 3, 4, 7, 10),), name)


def matches(pattern: str, name: str | None = None) -> WordColumn:
    r"""Return the column that is "yes" where a regular expression matches the whole word.

    Parameters
    ----------
    pattern : str
        A regular expression.
    name : str, optional
        The name in attributes, in place of the pattern.

    Examples
    --------
    >>> year = matches(r"(19|20)\d\d", name="year")
    >>> year.of_word("1992"), year.of_word("1992a"), year.name
    (('yes',), (), 'matches(year)')
    """
    check_pattern(pattern)
    return WordColumn("matches", (pattern,), f"matches({name or pattern})")


def in_lexicon(lexicon: Lexicon, casefold: bool = False, part: bool = False) -> WordColumn:
    """Return the column that is "yes" where the word is an entry of a lexicon.

    Parameters
    ----------
    lexicon : Lexicon
        Only entries that consist of one token are considered, unless `part` is set.
    casefold : bool
        Whether upper and lower case are the same.
    part : bool
        Whether a token of any entry counts.

    Examples
    --------
    >>> places = Lexicon("places", ["Chicago", "New York"])
    >>> in_lexicon(places).of_word("Chicago"), in_lexicon(places).of_word("York")
    (('yes',), ())
    >>> in_lexicon(places, casefold=True, part=True).of_word("YORK")
    ('yes',)
    """
    check_lexicon(lexicon)
    name = ("part of " if part else "in ") + lexicon.name + (", any case" if casefold else "")
    return WordColumn("in_lexicon", (lexicon, bool(casefold), bool(part)), f"({name})")


def folded(column: Column) -> NormalisedColumn:
    """Apply a column to words in their NFKC form (usual character widths).

    Examples
    --------
    >>> folded(word).of_word("ＡＢＣ")
    ('ABC',)
    """
    return NormalisedColumn(column, "folded")


def zeroed(column: Column) -> NormalisedColumn:
    """Apply a column to words with every digit replaced by 0.

    Examples
    --------
    >>> zeroed(word).of_word("1185-1192")
    ('0000-0000',)
    """
    return NormalisedColumn(column, "zeroed")


def lowered(column: Column) -> NormalisedColumn:
    """Apply a column to words in lower case.

    Examples
    --------
    >>> lowered(suffix(3)).of_word("STREET")
    ('eet',)
    """
    return NormalisedColumn(column, "lowered")


# ---- argument checks ----------------------------------------------------------------------------


def check_pattern(pattern: str) -> None:
    """Raise if a string is not a valid regular expression."""
    try:
        re.compile(pattern)
    except (re.error, TypeError) as error:
        remedy = f"correct the pattern ({error})"
        raise InvalidInput(message("pattern", pattern, "a regular expression", remedy)) from error


def check_lexicon(lexicon: object) -> None:
    """Raise if an argument is not a lexicon."""
    if not isinstance(lexicon, Lexicon):
        remedy = "make one: Lexicon('cities', ['New York', ...])"
        raise InvalidInput(message("lexicon", lexicon, "a Lexicon", remedy))


def _at_least_one(argument: str, number: int) -> int:
    """Return a number of characters, or raise."""
    if not isinstance(number, int) or number < 1:
        remedy = "count characters from 1"
        raise InvalidInput(message(argument, number, "a whole number, 1 or more", remedy))
    return number
