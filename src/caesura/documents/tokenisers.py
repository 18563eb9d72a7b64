"""Tokenisers, which keep the position of each token in the text."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from caesura import _kernels
from caesura.documents.characters import CHARACTERS, is_mark
from caesura.errors import InvalidInput, TooLarge, message

__all__ = ["Offsets", "Tokeniser", "align", "check_trusted", "is_linear"]

Offsets = tuple[tuple[int, int], ...]
_MOST_MEMORY = 2**30  # bytes that a regular-expression search may use


@functools.cache
def _marks() -> str:
    """Return the characters that attach to the preceding one, as ranges of a character class."""
    codes = itertools.chain(range(0x300, 0x20000), range(0xE0100, 0xE01F0))
    return _ranges(code for code in codes if is_mark(code))


@functools.cache
def _capitals() -> str:
    """Return the upper-case and title-case letters, as ranges of a character class."""
    letters = (code for code in range(0x20000) if chr(code).isalnum())
    return _ranges(code for code in letters if chr(code).isupper() or chr(code).istitle())


def _ranges(codes: Iterable[int]) -> str:
    """Return sorted code points as ranges of a character class."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)


_NAMED = {
    "words": "{word}(?:['’]{word})*|[^\\w\\s][{marks}]*".replace(
        "{word}", "\\w+(?:[{marks}][\\w{marks}]*)?"
    ),
    "whitespace": r"\S+",
    "characters": "\\S[{marks}]*",
    "parts": "\\d[\\d{marks}]*|(?:{A})+(?!{b})|(?:{A})?(?:{b}[{marks}]*+)+|\\S[{marks}]*".replace(
        "{A}", "[{capitals}][{marks}]*+"
    ).replace("{b}", "[^\\W\\d_{capitals}]"),
}


@functools.lru_cache(64)
def _compiled(name: str, regex: str | None) -> re.Pattern[str]:
    """Return the compiled pattern of a tokeniser, or raise.

    The kernels cut text for the named tokenisers; these patterns are what they are tested against.
    """
    if regex is None:
        pattern = _NAMED[name].replace("{marks}", _marks())
        return re.compile(pattern.replace("{capitals}", _capitals()))
    try:
        return re.compile(regex)
    except re.error as error:
        raise InvalidInput(
            place="tokeniser",
            got=f"the regular expression {regex!r}, which is wrong: {error}",
            remedy="correct the expression",
        ) from None


@functools.lru_cache(64)
def _linear(regex: str, search: bool = True) -> _kernels.Pattern | None:
    """Return an equivalent linear-time matcher; None if the pattern needs backtracking."""
    return _kernels.Pattern.compile(regex, search)


def is_linear(regex: str, search: bool = True) -> bool:
    """Return whether a regular expression matches in linear time (True also if invalid).

    The kernels match expressions without backreferences, look-around, flags, named groups and
    repetitions of expressions that may be empty; if whole texts must match, anchors and word
    boundaries are excluded as well.

    Examples
    --------
    >>> is_linear("(a+)+$"), is_linear("(a+)+(?=b)")
    (True, False)
    """
    try:
        re.compile(regex)
    except re.error:
        return True
    return _linear(regex, search) is not None


def check_trusted(regex: str, argument: str, search: bool = True) -> None:
    """Raise if an untrusted regular expression may take exponential time.

    Examples
    --------
    >>> check_trusted("(a+)+(?=b)", "tokeniser")
    Traceback (most recent call last):
    caesura.errors.InvalidInput: tokeniser: got the regular expression '(a+)+(?=b)', expected one
    that is matched in linear time; pass trust=True (--trust on the command line) to use it, if you
    trust the file
    """
    if not is_linear(regex, search):
        remedy = "pass trust=True (--trust on the command line) to use it, if you trust the file"
        raise InvalidInput(
            place=argument,
            got=f"the regular expression {regex!r}",
            expected="one that is matched in linear time",
            remedy=remedy,
        )


@dataclass(frozen=True, slots=True)
class Tokeniser:
    """Split text into tokens with their character spans.

    Parameters
    ----------
    name : {"words", "whitespace", "characters", "parts", "regex"}
        Words and single punctuation characters; runs between white space; each
        character that is not white space; parts of words, which are split at apostrophes and
        underscores, between digits and letters, and where case changes as in iPhone or USBHub.
        Accents and vowel signs stay with their character, and apostrophes inside a word stay with
        the word, except in parts.
    regex : str, optional
        With the name "regex": each match that is not empty is a token. It takes linear time, but
        for expressions with references, look-around, flags, named groups or repetitions of what
        may be empty: `re` matches these, which may take exponential time.

    Examples
    --------
    >>> words = Tokeniser("words")
    >>> text = "Don't panic, Zoë (p. 42)."
    >>> [text[start:end] for start, end in words.spans(text)]
    ["Don't", 'panic', ',', 'Zoë', '(', 'p', '.', '42', ')', '.']
    >>> text = "I'm 10km from USBHub_2"
    >>> [text[start:end] for start, end in Tokeniser("parts").spans(text)]
    ['I', "'", 'm', '10', 'km', 'from', 'USB', 'Hub', '_', '2']
    >>> Tokeniser.of({"regex": "[0-9]+|[a-z]+"}).spans("ab12")
    ((0, 2), (2, 4))
    >>> Tokeniser.of("characters").spec
    'characters'
    """

    name: str = "words"
    regex: str | None = None

    def __post_init__(self) -> None:
        named = isinstance(self.name, str) and self.name in _NAMED
        if not named and (self.name != "regex" or not isinstance(self.regex, str)):
            expected = f"{', '.join(_NAMED)} or {{'regex': '...'}}"
            raise InvalidInput(message("tokeniser", self.name, expected, "pass one of these"))
        if named and self.regex is not None:
            raise InvalidInput(
                place="tokeniser",
                got=f"{self.name!r} and a regular expression",
                remedy="leave one out",
            )
        if self.regex is not None:
            _compiled(self.name, self.regex)

    @classmethod
    def of(cls, spec: Tokeniser | str | Mapping[str, str]) -> Tokeniser:
        """Return the tokeniser for a name, for ``{"regex": ...}``, or for a tokeniser itself."""
        if isinstance(spec, Tokeniser):
            return spec
        if isinstance(spec, str):
            return _of_name(spec)
        if isinstance(spec, Mapping) and set(spec) == {"regex"}:
            return cls("regex", spec["regex"])
        return cls(spec)  # type: ignore[arg-type]  # refused if it is not a name

    @property
    def spec(self) -> str | dict[str, str]:
        """The argument of `of` that makes the same tokeniser; it can be written as JSON."""
        return self.name if self.regex is None else {"regex": self.regex}

    def spans(self, text: str) -> Offsets:
        """Return the character span of each token, half-open."""
        if self.regex is None:
            return tuple(CHARACTERS.spans(text, self.name))
        linear = _linear(self.regex)
        if linear is None:
            return tuple([(start, end) for start, end in self._matches(text) if start < end])
        found = linear.find(text, CHARACTERS, _MOST_MEMORY)
        if found is None:
            raise TooLarge(
                place="text",
                got=f"{len(text):,} characters, for which the tokeniser {self.regex!r} needs "
                "more than 1 GiB of memory",
                remedy="cut the text into shorter ones",
            )
        return tuple(found)

    def read(
        self, types: _kernels.TokenTypes, texts: Sequence[str], located: bool
    ) -> _kernels.TokenBatch:
        """Return the tokens of texts as the kernels read them, with their spans if `located`.

        Only expressions that take backtracking are matched by `re`, once for each text.
        """
        if self.regex is None:
            return types.read_texts(texts, self.name, located)
        linear = _linear(self.regex)
        if linear is None:
            return types.read_spans(texts, [*map(self._matches, texts)], located)
        found = types.read_matches(texts, linear, _MOST_MEMORY, located)
        if found is None:
            for text in texts:
                self.spans(text)  # raises for the one that is too long
            raise AssertionError
        return found

    def _matches(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of all matches of a regular expression, also of empty ones."""
        return [*map(re.Match.span, _compiled(self.name, self.regex).finditer(text))]


_of_name = functools.lru_cache(maxsize=16)(Tokeniser)


def align(text: str, tokens: Sequence[str]) -> Offsets | None:
    """Locate tokens in their text, as early as possible; None if they do not occur in order.

    Examples
    --------
    >>> align("New  York.", ["New", "York", "."])
    ((0, 3), (5, 9), (9, 10))
    >>> align("New York", ["York", "New"]) is None
    True
    """
    offsets = []
    reached = 0
    for token in tokens:
        start = text.find(token, reached)
        if start < 0:
            return None
        reached = start + len(token)
        offsets.append((start, reached))
    return tuple(offsets)
