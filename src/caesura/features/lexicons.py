"""Lexicons: named lists of entries, each one a sequence of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path

from caesura.documents import Tokeniser
from caesura.errors import InvalidInput, message

__all__ = ["Lexicon", "Tokenise", "bare"]

Tokenise = Tokeniser | str | Mapping[str, str] | Callable[[str], Sequence[str]]

_EDGES = re.compile(r"^\W+|\W+$")


@lru_cache(maxsize=1 << 16)
def bare(token: str) -> str:
    """Return a token without surrounding punctuation; empty for punctuation.

    Examples
    --------
    >>> bare("(Osaka,"), bare("W.-P."), bare("...")
    ('Osaka', 'W.-P', '')
    """
    return _EDGES.sub("", token)


class Lexicon:
    """A named dictionary of entries, each a sequence of tokens.

    Parameters
    ----------
    name : str
        Shown in attributes, and the name under which a model file keeps the entries.
    entries : iterable of str or of sequences of str
        Texts, which are split by `tokenise`, or tokens. Repeated entries count once.
    tokenise : Tokeniser, str, dict or callable
        How texts are split into tokens; pass the tokeniser of the documents, since otherwise their
        tokens differ from those of the entries. The values are those of the models' `tokeniser`:
        "words", "parts", "characters", "whitespace", or ``{"regex": ...}``; or a function that
        returns the tokens of a text.

    Examples
    --------
    >>> cities = Lexicon("cities", ["New York", "Aix-en-Provence"])
    >>> cities.entries
    (('New', 'York'), ('Aix', '-', 'en', '-', 'Provence'))
    >>> len(cities)
    2
    >>> Lexicon("towns", ["St. John's"], tokenise="whitespace").entries
    (('St.', "John's"),)
    """

    __slots__ = ("entries", "name")

    def __init__(
        self,
        name: str,
        entries: Iterable[str | Sequence[str]],
        tokenise: Tokenise = "words",
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidInput(message("name", name, "a word", "name the lexicon"))
        if isinstance(entries, str) or not isinstance(entries, Iterable):
            raise InvalidInput(message("entries", entries, "a list", "pass a list of texts"))
        cut = _cutter(tokenise)
        split = [
            tuple(cut(entry)) if isinstance(entry, str) else _given(entry) for entry in entries
        ]
        if not all(issubclass(kind, str) for kind in set(map(type, chain.from_iterable(split)))):
            remedy = "give texts, or tuples of tokens"
            raise InvalidInput(message("entries", split, "tokens that are strings", remedy))
        self.name = name
        self.entries: tuple[tuple[str, ...], ...] = tuple(dict.fromkeys(e for e in split if e))

    @classmethod
    def read(
        cls,
        path: str | Path,
        name: str | None = None,
        tokenise: Tokenise = "words",
        comment: str = "#",
        encoding: str = "utf-8",
    ) -> Lexicon:
        """Read a file with one entry on each line, up to the first tab.

        Parameters
        ----------
        path : path
            The file.
        name : str, optional
            The file's name without its ending, if not given.
        tokenise : Tokeniser, str, dict or callable
            How texts are split into tokens, as in the constructor.
        comment : str
            The prefix of lines that are skipped.
        encoding : str
            The encoding of the file.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "surnames.txt")
        ...     _ = path.write_text("# from a census" + chr(10) + "van der Berg" + chr(10))
        ...     Lexicon.read(path)
        Lexicon('surnames', 1 entry)
        """
        path = Path(path)
        try:
            lines = path.read_text(encoding=encoding).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            remedy = f"check the path and the encoding ({error})"
            raise InvalidInput(message("path", str(path), "a text file", remedy)) from error
        texts = (line.split("\t")[0].strip() for line in lines if not line.startswith(comment))
        return cls(path.stem if name is None else name, texts, tokenise)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        many = "entry" if len(self) == 1 else "entries"
        return f"Lexicon({self.name!r}, {len(self)} {many})"

    def __hash__(self) -> int:
        return hash((self.name, len(self.entries)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lexicon):
            return NotImplemented
        if self.name != other.name or len(self) != len(other):
            return False
        if self.entries is not other.entries:
            if self.entries != other.entries:
                return False
            other.entries = self.entries  # so that the next comparison costs nothing
        return True

    def __deepcopy__(self, memo: object) -> Lexicon:
        return self  # immutable, and may be large


def _given(entry: object) -> tuple[str, ...]:
    """Return an entry given as tokens, or raise."""
    if not isinstance(entry, Iterable):
        remedy = "give texts, or tuples of tokens"
        raise InvalidInput(message("entries", entry, "a text, or some tokens", remedy))
    return tuple(entry)


def _cutter(tokenise: Tokenise) -> Callable[[str], Sequence[str]]:
    """Return the function that splits a text into tokens."""
    if not isinstance(tokenise, Tokeniser | str | Mapping) and callable(tokenise):
        return tokenise
    try:
        spans = Tokeniser.of(tokenise).spans
    except InvalidInput as error:
        raise error.changed(argument="tokenise") from None
    return lambda text: [text[start:end] for start, end in spans(text)]
