"""Word columns computed by the kernels, equivalent to `caesura.features.words`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from caesura import _kernels
from caesura.features.columns import NormalisedColumn, WordColumn
from caesura.features.lexicons import Lexicon
from caesura.features.templates import Column
from caesura.features.words import bucket, known_words

__all__ = ["SEVERAL", "compiled"]

SEVERAL = frozenset({"ngrams"})  # kinds with several values per word
_PLAIN = frozenset(
    {"bias", "word", "shape", "short_shape", "char_class", "punctuation", "case", "hyphen"}
)
_LONGEST = 1 << 30  # the largest number of characters that a column may name
_MOST_BUCKETS = 1 << 12


def compiled(column: Column) -> dict[str, Any] | None:
    """Return the arguments of `TokenTypes.add_column`, or None if Python must compute the column.

    Examples
    --------
    >>> from caesura.features import lower, zeroed
    >>> compiled(zeroed(lower))
    {'kind': 'word', 'normalisers': ['zeroed', 'lowered']}
    """
    if type(column) is NormalisedColumn:
        inner = compiled(column.column)
        if inner is not None:
            inner["normalisers"] = [column.how, *inner["normalisers"]]
        return inner
    if type(column) is not WordColumn:
        return None
    made = _of_kind(column.kind, column.arguments)
    return None if made is None else {"kind": column.kind, "normalisers": [], **made}


def _of_kind(kind: str, arguments: tuple[Any, ...]) -> dict[str, Any] | None:
    """Return the arguments that a kind adds to its own name."""
    match kind, arguments:
        case "lower", ():
            return {"kind": "word", "normalisers": ["lowered"]}
        case "prefix" | "suffix", (int(n),) if 1 <= n <= _LONGEST:
            return {"low": n}
        case "ngrams", (int(low), int(high)) if 1 <= low <= high:
            return {"low": min(low, _LONGEST), "high": min(high, _LONGEST)}
        case "word_length", (tuple(bounds),):
            return _buckets(bounds)
        case "matches", (str(pattern),):
            made = _kernels.Pattern.compile(pattern)
            return None if made is None else {"pattern": made}
        case "in_lexicon", (Lexicon() as lexicon, bool(casefold), bool(part)):
            how = {"normalisers": ["lowered"]} if casefold else {}
            return {"known": _known(lexicon, casefold, part), **how}
    return {} if kind in _PLAIN and arguments == () else None


def _buckets(bounds: tuple[Any, ...]) -> dict[str, Any] | None:
    """Return the bucket of each length up to the last bound, which longer words share."""
    if not all(isinstance(bound, int) and 0 <= bound < _MOST_BUCKETS for bound in bounds):
        return None
    return {"buckets": [bucket(n, bounds) for n in range(max(bounds, default=0) + 1)]}


@lru_cache(maxsize=64)
def _known(lexicon: Lexicon, casefold: bool, part: bool) -> _kernels.Interner:
    """Return the words that are lexicon entries or tokens of entries."""
    known = _kernels.Interner()
    known.ids(list(known_words(lexicon, casefold, part)), True)
    return known
