"""Segment features from a dictionary: a lexicon, or one learnt from labelled segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.features.batch import Batch, Firings, Words
from caesura.features.columns import check_lexicon
from caesura.features.lexicons import Lexicon, bare
from caesura.features.segment_base import Fired, SegmentFeature
from caesura.features.templates import Column
from caesura.segments import Segment

__all__ = ["Dictionary", "MatchedColumn", "Text", "matched"]

_Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]
_COUNTS = ("1", "2", "3", "4+")  # number of tokens of an entry, in attribute names
PLACES_IN_ENTRIES = ("begin", "inside", "end", "single")  # numbered as in the kernels


class Finder:
    """Find the entries of a lexicon in documents."""

    def __init__(self, lexicon: Lexicon, casefold: bool, loose: bool) -> None:
        self.casefold, self.loose = casefold, loose
        self.entries = _kernels.EntryFinder(loose)
        self._what = lexicon, casefold, loose
        self._ids = _kernels.Interner()
        if loose:
            self._ids.ids([""], True)  # key 0, which the kernels skip: punctuation only
        kept: dict[tuple[str, ...], int] = {}  # entries with equal keys are merged
        for payload, entry in enumerate(lexicon.entries):
            keys = tuple(key for key in map(self._key, entry) if key or not loose)
            if keys and keys not in kept:
                kept[keys] = payload
                self.entries.add(self._ids.ids(keys, True), payload)

    def _key(self, token: str) -> str:
        token = bare(token) if self.loose else token
        return token.casefold() if self.casefold else token

    def keys(self, batch: Batch) -> npt.NDArray[np.int32]:
        """Return the trie key of each token; negative where no entry contains it."""
        normalisers = ["bare"] * self.loose + ["lowered"] * self.casefold
        return batch.words.numbers(self._what, normalisers, self._ids, batch)

    def find(self, batch: Batch) -> _Found:
        """Return the starts, ends and entries of all matching segments."""
        return self.entries.find(self.keys(batch), batch.offsets, True)

    def places(self, batch: Batch) -> npt.NDArray[np.int8]:
        """Return the index into PLACES_IN_ENTRIES of each token, or -1."""
        return self.entries.places(self.keys(batch), batch.offsets)


@lru_cache(maxsize=16)
def finder(lexicon: Lexicon, casefold: bool, loose: bool) -> Finder:
    """Return a finder for the entries of a lexicon."""
    return Finder(lexicon, casefold, loose)


@dataclass(frozen=True, repr=False)
class MatchedColumn(Column):
    """The position of a token in a lexicon entry; made by `matched`.

    Examples
    --------
    >>> cities = Lexicon("cities", ["New York", "York"])
    >>> matched(cities).of_document(Document(("In", "New", "York")))
    [(), ('begin',), ('end',)]
    """

    lexicon: Lexicon
    casefold: bool = False
    loose: bool = False
    per_word: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_lexicon(self.lexicon)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, such as (matched cities, casefold)."""
        options = [n for n in ("casefold", "loose") if getattr(self, n)]
        return f"(matched {', '.join([self.lexicon.name, *options])})"

    def of_document(self, document: Document) -> Sequence[tuple[str, ...]]:
        """Return begin, inside, end or single for tokens in entries; longer entries win."""
        batch = Batch([document], Words())
        places = finder(self.lexicon, self.casefold, self.loose).places(batch).tolist()
        return [(PLACES_IN_ENTRIES[place],) if place >= 0 else () for place in places]

    def __repr__(self) -> str:
        return self.name


def matched(lexicon: Lexicon, casefold: bool = False, loose: bool = False) -> MatchedColumn:
    """Return the column of the position of a token in a lexicon entry.

    With it, a chain can use a dictionary of multi-token entries.

    Parameters
    ----------
    lexicon : Lexicon
        The entries.
    casefold, loose : bool
        Whether case is ignored, and whether punctuation is skipped, as in `Dictionary`.

    Examples
    --------
    >>> cities = Lexicon("cities", ["St. Paul"])
    >>> matched(cities, loose=True).of_document(Document(("St", ".", "Paul,")))
    [('begin',), ('inside',), ('end',)]
    """
    return MatchedColumn(lexicon, bool(casefold), bool(loose))


@dataclass(frozen=True)
class Dictionary(SegmentFeature):
    """Fires if a whole segment is an entry of a lexicon.

    Parameters
    ----------
    lexicon : Lexicon
        The entries.
    casefold : bool
        Whether upper and lower case are the same.
    loose : bool
        Whether punctuation beside and between words is skipped, in entries and in documents; up to
        two marks on each side of a match may belong to the segment.
    length : bool
        Whether to fire also for the entry and its number of tokens together (1, 2, 3, 4+).

    Examples
    --------
    >>> from caesura.features.batch import Words
    >>> batch = Batch([Document(("In", "New", "York", ","))], Words())
    >>> fired = Dictionary(Lexicon("cities", ["New York"])).firings(batch)
    >>> fired.names, fired.starts.tolist(), fired.ends.tolist()
    (['=cities'], [1], [3])
    >>> Dictionary(Lexicon("cities", ["NEW YORK"]), True, True).firings(batch).ends.tolist()
    [3, 4]
    """

    lexicon: Lexicon
    casefold: bool = False
    loose: bool = False
    length: bool = False

    def __post_init__(self) -> None:
        check_lexicon(self.lexicon)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name "dictionary" with the options that affect matching."""
        options = [n for n in ("casefold", "loose") if getattr(self, n)]
        return "dictionary" + (f"({','.join(options)})" if options else "")

    @property
    def says(self) -> tuple[str, ...]:
        """The name of the lexicon, appended to the feature name."""
        return (f"={self.lexicon.name}",)

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        starts, ends, entries = finder(self.lexicon, self.casefold, self.loose).find(batch)
        fired = Fired()
        fired.add_many(starts, ends, 0, f"={self.lexicon.name}")
        if self.length:
            tokens = [min(len(entry), 4) for entry in self.lexicon.entries]
            names = [f"={self.lexicon.name}/{n}" for n in _COUNTS]
            fired.add_many(starts, ends, 0, names, np.array(tokens, np.int64)[entries] - 1)
        return fired.done()


@dataclass(frozen=True)
class Text(SegmentFeature):
    """Fires for the whole text of a segment, if some labelled segment had the same text.

    Parameters
    ----------
    casefold : bool
        Whether upper and lower case are the same.
    min_count : int
        Minimum number of training segments with the text. A text that occurs once rarely
        generalises.
    lexicon : Lexicon, optional
        The learnt lexicon; `fit` sets it.

    Examples
    --------
    >>> from caesura.features.batch import Words
    >>> batch = Batch([Document(("New", "York", "New", "York"))], Words())
    >>> cities = [[Segment(0, 2, "LOC"), Segment(2, 4, "LOC")]]
    >>> fired = Text().fit(batch, cities).firings(batch)
    >>> fired.names, fired.starts.tolist(), fired.ends.tolist()
    (['=New York'], [0, 2], [2, 4])
    """

    casefold: bool = False
    min_count: int = 2
    lexicon: Lexicon | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.min_count, int) or self.min_count < 1:
            expected = "a whole number, 1 or more"
            raise InvalidInput(message("min_count", self.min_count, expected, "raise it"))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name "text" or "lower_text", with min_count if it is not 2."""
        text = "lower_text" if self.casefold else "text"
        return text if self.min_count == 2 else f"{text}(min_count={self.min_count})"

    @property
    def learnt(self) -> str:
        """The name of the lexicon that `fit` learns."""
        return f"learnt {self.name}"

    def fit(self, batch: Batch, segments: Sequence[Sequence[Segment]]) -> Text:
        """Return the feature with the texts of the segments as its lexicon.

        Text outside any segment is better left out of `segments`.
        """
        return self.of_counts(self.counts(batch, segments))

    def counts(
        self, batch: Batch, segments: Sequence[Sequence[Segment]]
    ) -> Counter[tuple[str, ...]]:
        """Count the texts of segments."""
        counts: Counter[tuple[str, ...]] = Counter()
        for document, labelled in zip(batch.documents, segments, strict=True):
            for start, end, _ in labelled:
                tokens = document.tokens[start:end]
                counts[tuple(t.casefold() for t in tokens) if self.casefold else tokens] += 1
        return counts

    def of_counts(self, counts: Mapping[tuple[str, ...], int]) -> Text:
        """Return the feature with the sufficiently frequent texts as its lexicon."""
        learnt = sorted(entry for entry, count in counts.items() if count >= self.min_count)
        return replace(self, lexicon=Lexicon(self.learnt, learnt))

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        if self.lexicon is None:
            remedy = "call fit with labelled documents"
            raise InvalidInput(message("lexicon", None, "the texts of labelled segments", remedy))
        starts, ends, entries = finder(self.lexicon, self.casefold, False).find(batch)
        distinct, which = np.unique(entries, return_inverse=True)
        fired = Fired()
        names = [_shown(self.lexicon.entries[j]) for j in distinct.tolist()]
        fired.add_many(starts, ends, 0, names, which)
        return fired.done()


def entry_names(feature: Dictionary | Text) -> list[list[str]]:
    """Return the attribute names of each entry; two lists for a feature with lengths."""
    if feature.lexicon is None:
        return []
    name, entries = feature.lexicon.name, feature.lexicon.entries
    if isinstance(feature, Text):
        return [[_shown(entry) for entry in entries]]
    names = [[f"={name}"] * len(entries)]
    if feature.length:
        names.append([f"={name}/{_COUNTS[min(len(entry), 4) - 1]}" for entry in entries])
    return names


def _shown(entry: Sequence[str]) -> str:
    return f"={' '.join(entry)}"
