"""Columns of the word that contains a token, for tokens smaller than words.

::

    the text "St Louis63101", cut into characters; words around the 6

    every     Louis63101 everywhere in it
    first     Louis63101 at its first token only, so that each word counts once
    before    63101, and Louis as the word before: as if the word were cut before the token
    after     Louis6, and 3101 as the word after: as if it were cut after the token

A text and the offsets of tokens tell which words there are; where a document has no text, each
token is a word.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, message
from caesura.features.dictionary import MatchedColumn
from caesura.features.document_columns import PositionColumn, RepeatColumn
from caesura.features.templates import AFTER, BEFORE, Column

__all__ = ["PLACES_IN_WORDS", "VIEWS", "EnclosingColumn", "PlaceColumn", "enclosing", "place_in"]

UNITS = ("words", "parts", "whitespace")  # tokenisers whose tokens may enclose other tokens
VIEWS = ("every", "first", "before", "after")
PLACES_IN_WORDS = ("only", "first", "inside", "last")
_OF_TOKENS = PositionColumn, RepeatColumn, MatchedColumn  # columns that depend on tokens only


class Around(NamedTuple):
    """The words of a document."""

    words: list[str]
    of_token: list[int]  # index of the word of each token
    starts: list[int]  # offset of each token in its word, in characters
    ends: list[int]  # offset of the token's end in its word


def words_around(document: Document, by: str) -> Around:
    """Return the words of a document, and the position of each token in them.

    A token that begins between words is taken to be in the word before it.

    Examples
    --------
    >>> words_around(Document.from_text("On 5km", "characters"), "words")
    Around(words=['On', '5km'], of_token=[0, 0, 1, 1, 1], starts=[0, 1, 0, 1, 2],
           ends=[1, 2, 1, 2, 3])
    """
    text, offsets = document.text, document.offsets
    spans = Tokeniser.of(by).spans(text) if text is not None and offsets else ()
    if text is None or not offsets or not spans:
        sizes = [len(token) for token in document.tokens]
        return Around(list(document.tokens), [*range(len(sizes))], [0] * len(sizes), sizes)
    begins = [start for start, _ in spans]
    of_token = [max(bisect_right(begins, start) - 1, 0) for start, _ in offsets]
    starts, ends = (
        [min(max(at - spans[w][0], 0), spans[w][1] - spans[w][0]) for at, w in some]
        for some in (zip(side, of_token, strict=True) for side in zip(*offsets, strict=True))
    )
    return Around([text[start:end] for start, end in spans], of_token, starts, ends)


def pieces(around: Around, view: str) -> list[tuple[str, str]]:
    """Return the two pieces of each token's word: the token itself and the rest."""
    words = (around.words[w] for w in around.of_token)
    if view == "before":
        return [(word[at:], word[:at]) for word, at in zip(words, around.starts, strict=True)]
    return [(word[:at], word[at:]) for word, at in zip(words, around.ends, strict=True)]


@dataclass(frozen=True, repr=False)
class EnclosingColumn(Column):
    """A column applied to the word that contains a token; made by `enclosing`.

    Examples
    --------
    >>> from caesura.features import lower
    >>> text = Document.from_text("On 5km", "characters")
    >>> enclosing(lower).of_document(text)
    [('on',), ('on',), ('5km',), ('5km',), ('5km',)]
    """

    column: Column
    offset: int = 0
    by: str = "words"
    view: str = "every"
    per_word: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole = self.view in ("every", "first")
        looks = isinstance(self.column, Column) and self.column.per_word
        if not looks and not (whole and isinstance(self.column, _OF_TOKENS)):
            expected = "a column of words" + ", position, repeats or matched" * whole
            remedy = "pass word, shape or the like"
            raise InvalidInput(message("column", self.column, expected, remedy))
        if not isinstance(self.offset, int) or isinstance(self.offset, bool):
            remedy = "-1 is the word before"
            raise InvalidInput(message("offset", self.offset, "a whole number", remedy))
        _check_unit(self.by)
        if self.view not in VIEWS:
            raise InvalidInput(message("view", self.view, ", ".join(VIEWS), "pass one of them"))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, such as enclosing(lower, -1, parts, before), without default arguments."""
        return f"enclosing({self.column.name}{self._options})"

    @property
    def _options(self) -> str:
        given = (self.offset, 0), (self.by, "words"), (self.view, "every")
        return "".join(f", {value}" for value, default in given if value != default)

    def of_document(self, document: Document) -> Sequence[tuple[str, ...]]:
        """Return the value of the word that contains each token."""
        around = words_around(document, self.by)
        if self.view in ("every", "first"):
            of_words = self.column.of_document(Document(tuple(around.words)))
            before = [None, *around.of_token[:-1]][: len(document)]
            pairs = zip(around.of_token, before, strict=True)
            fires = [self.view == "every" or w != v for w, v in pairs]
            return [
                self._at([tuple(one) for one in of_words], w) if fire else ()
                for w, fire in zip(around.of_token, fires, strict=True)
            ]
        out = []
        for w, (own, other) in zip(around.of_token, pieces(around, self.view), strict=True):
            cut = [other] * bool(other)
            here = [*cut, own] if self.view == "before" else [own, *cut]
            sequence = [*around.words[:w], *here, *around.words[w + 1 :]]
            at = w + len(cut) * (self.view == "before")
            out.append(self._at([self.column.of_word(one) for one in sequence], at))
        return out

    def _at(self, said: Sequence[tuple[str, ...]], w: int) -> tuple[str, ...]:
        place = w + self.offset
        if 0 <= place < len(said):
            return said[place]
        return (BEFORE,) if place < 0 else (AFTER,)

    def __repr__(self) -> str:
        return f"enclosing({self.column!r}{self._options})"


def enclosing(
    column: Column, offset: int = 0, by: str = "words", view: str = "every"
) -> EnclosingColumn:
    """Apply a column to the word that contains a token, or to a nearby word.

    It is for tokens that are smaller than words, such as characters.

    Parameters
    ----------
    column : Column
        A column of words, as `lower`; with the first two views also `position`, `repeats` and
        `matched`.
    offset : int
        -1 is the word before, 1 the one after.  Beyond the text, all columns are <s> and </s>.
    by : {"words", "parts", "whitespace"}
        The name of the tokeniser that splits the text into words.
    view : {"every", "first", "before", "after"}
        "every" has a value at every token of a word, "first" only at its first token. "before" and
        "after" treat the word as if it were split before or after the token: the word of the token
        is then the piece that contains the token, and the other piece is its neighbour.

    Examples
    --------
    >>> from caesura.features import lower
    >>> text = Document.from_text("On 5km", "characters")
    >>> enclosing(lower, -1, view="first").of_document(text)
    [('<s>',), (), ('on',), (), ()]
    >>> enclosing(lower, view="before").of_document(text)
    [('on',), ('n',), ('5km',), ('km',), ('m',)]
    >>> enclosing(lower, -1, view="before").of_document(text)
    [('<s>',), ('o',), ('on',), ('5',), ('5k',)]
    """
    return EnclosingColumn(column, offset, by, view)


@dataclass(frozen=True, repr=False)
class PlaceColumn(Column):
    """The position of a token in its word; made by `place_in`.

    Examples
    --------
    >>> place_in("parts").of_document(Document.from_text("On 5km", "characters"))
    [('first',), ('last',), ('only',), ('first',), ('last',)]
    """

    by: str = "words"
    per_word: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_unit(self.by)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, such as place_in_words."""
        return f"place_in_{self.by}"

    def of_document(self, document: Document) -> Sequence[tuple[str, ...]]:
        """Return the position of each token."""
        of_token = words_around(document, self.by).of_token
        out = []
        for t, w in enumerate(of_token):
            first = t == 0 or of_token[t - 1] != w
            last = t + 1 == len(of_token) or of_token[t + 1] != w
            out.append((PLACES_IN_WORDS[place_number(first, last)],))
        return out

    def __repr__(self) -> str:
        return f"place_in({self.by!r})"


def place_number(first: bool, last: bool) -> int:
    """Return the index of a position in `PLACES_IN_WORDS`."""
    return (0 if last else 1) if first else (3 if last else 2)


def place_in(by: str = "words") -> PlaceColumn:
    """Return the column of a token's position in its word: only, first, inside or last.

    Parameters
    ----------
    by : {"words", "parts", "whitespace"}
        The name of the tokeniser that splits the text into words.

    Examples
    --------
    >>> place_in().of_document(Document.from_text("On 5km", "parts"))
    [('only',), ('first',), ('last',)]
    """
    return PlaceColumn(by)


def _check_unit(by: object) -> None:
    """Raise unless an argument names a tokeniser whose tokens contain others."""
    if by not in UNITS:
        raise InvalidInput(message("by", by, ", ".join(UNITS), "pass one of them"))
