"""Best similarity of a segment to a lexicon entry, without comparing all pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message
from caesura.features.batch import Batch, Firings
from caesura.features.columns import check_lexicon
from caesura.features.lexicons import Lexicon
from caesura.features.segment_base import Fired, SegmentFeature, check_max_length, spans

__all__ = ["Similar"]

_FEW = 64  # entries that are compared at once, and so few without a look at their characters
_COMMON = 8  # a token is common if more than one in this many entries has it
_BUCKETS = 32  # of characters; the letters of English have one each
_NGRAM = 3
_CUTOFF = 1e-6  # rapidfuzz drops results less than 1e-7 above its cutoff
_ROUNDING = 1e-9  # tolerance for rounding at a threshold
_REMEMBERED = 1 << 18  # texts whose similarity is kept


class _Index(Protocol):
    def best(self, tokens: tuple[str, ...], at_least: float) -> float:
        """Return the similarity to the best entry, 0 if it is below a threshold."""


class _TokenSort:
    """The token sort ratio (sorted tokens compared as texts) to entries that share a token.

    The ratio of texts of n and m characters is 2 c / (n + m), where c is the length of their
    longest common subsequence. So it is at most 2 min(n, m) / (n + m), and at most what the
    characters that both have, counted by buckets, allow. Entries are compared by falling bound,
    until the next bound is below the best ratio: the answer is exact, in whatever order they came.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        entries = [sorted(token.casefold() for token in entry) for entry in lexicon.entries]
        texts = sorted(
            zip(map(" ".join, entries), entries, strict=True), key=lambda one: len(one[0])
        )
        self._texts = [text for text, _ in texts]
        self._sizes = np.array([len(text) for text in self._texts], np.int64)
        self._counts = _character_counts(self._texts, self._sizes)
        self._numbers: dict[str, int] = {}  # of tokens
        tokens = [
            self._numbers.setdefault(t, len(self._numbers)) for _, one in texts for t in set(one)
        ]
        owners = np.repeat(np.arange(len(texts)), [len(set(one)) for _, one in texts])
        by_token = np.argsort(tokens, kind="stable")
        self._having = owners[by_token]  # the entries that have a token, by length; one by one
        self._offsets = np.concatenate([[0], np.cumsum(np.bincount(tokens))]).astype(np.int64)

    def best(self, tokens: tuple[str, ...], at_least: float) -> float:
        text, best = " ".join(sorted(tokens)), 0.0
        known = [number for t in set(tokens) if (number := self._numbers.get(t)) is not None]
        for entries in self._sharing(known):
            best = max(best, self._best_of(text, entries, max(best, at_least)))
        return best

    def _sharing(self, tokens: Iterable[int]) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the entries that contain one of some tokens, rare tokens first.

        So the best is high before the many are looked at; those of common tokens come together.
        """
        having = [self._having[self._offsets[k] : self._offsets[k + 1]] for k in tokens]
        many = [one for one in having if len(one) * _COMMON > len(self._texts)]
        if len(many) > 1:
            together = np.zeros(len(self._texts), bool)
            for one in many:
                together[one] = True
            having = [one for one in having if len(one) * _COMMON <= len(self._texts)]
            having.append(np.flatnonzero(together))
        yield from sorted(having, key=len)

    def _best_of(self, text: str, entries: npt.NDArray[np.int64], least: float) -> float:
        """Return the best ratio to some entries, 0 if it is below `least`."""
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import extractOne

        entries, bounds = self._bounded(text, entries, least)
        best, start, size = 0.0, 0, _FEW
        while start < len(entries) and bounds[start] >= max(best, least):
            some = [self._texts[j] for j in entries[start : start + size].tolist()]
            cutoff = max(max(best, least) - _CUTOFF, 0.0)
            found = extractOne(text, some, scorer=Indel.normalized_similarity, score_cutoff=cutoff)
            best = max(best, float(found[1])) if found else best
            start, size = start + size, 2 * size
        return best if best >= least else 0.0

    def _bounded(
        self, text: str, entries: npt.NDArray[np.int64], least: float
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the entries that may reach `least`, with upper bounds, highest first."""
        sizes = self._sizes[entries]
        widest = (2 - least) / max(least, _ROUNDING)
        ends = [len(text) / widest - _ROUNDING, len(text) * widest + _ROUNDING]
        low, high = np.searchsorted(sizes, ends)
        entries, sizes = entries[low:high], sizes[low:high]
        if len(entries) <= _FEW:
            return entries, np.ones(len(entries))
        kind = self._counts.dtype
        mine = np.bincount(_buckets(text), minlength=_BUCKETS).clip(max=np.iinfo(kind).max)
        mine = mine.astype(kind)
        common = np.zeros(len(entries), np.result_type(kind, np.min_scalar_type(len(text))))
        for k in np.flatnonzero(mine).tolist():
            common += np.minimum(self._counts[k].take(entries), mine[k])
        bounds = 2.0 * common / np.maximum(sizes + len(text), 1) + _ROUNDING
        kept = np.flatnonzero(bounds >= least)
        kept = kept[np.argsort(-bounds[kept])]
        return entries[kept], bounds[kept]


def _buckets(text: str) -> npt.NDArray[np.uint32]:
    """Return the bucket of each character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32) % _BUCKETS


def _character_counts(texts: Sequence[str], sizes: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Count the characters of each bucket in texts, of shape (buckets, texts)."""
    places = np.repeat(np.arange(len(texts)), sizes) + _buckets("".join(texts)) * len(texts)
    counts = np.bincount(places, minlength=_BUCKETS * len(texts)).reshape(_BUCKETS, len(texts))
    return counts.astype(np.min_scalar_type(counts.max(initial=0)))


class _Cosine:
    """The cosine of character n-gram counts, summed over entries that share an n-gram."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._size = len(lexicon)
        lists: dict[str, list[tuple[int, float]]] = {}
        for j, entry in enumerate(lexicon.entries):
            for gram, share in _vector(tuple(token.casefold() for token in entry)).items():
                lists.setdefault(gram, []).append((j, share))
        self._lists: dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = {}
        for gram, found in lists.items():
            table = np.array(found)
            self._lists[gram] = table[:, 0].astype(np.int64), table[:, 1]

    def best(self, tokens: tuple[str, ...], at_least: float) -> float:
        shares = _vector(tokens)
        found = [
            (self._lists[gram], share) for gram, share in shares.items() if gram in self._lists
        ]
        if not found:
            return 0.0
        entries = np.concatenate([one[0] for one, _ in found])
        products = np.concatenate([one[1] * share for one, share in found])
        similarity = float(np.bincount(entries, products).max())
        return similarity if similarity >= at_least else 0.0


def _vector(tokens: tuple[str, ...]) -> dict[str, float]:
    """Return the normalised n-gram counts of a text."""
    text = f" {' '.join(tokens)} "
    counts = Counter(text[i : i + _NGRAM] for i in range(len(text) - _NGRAM + 1))
    norm = math.sqrt(sum(count * count for count in counts.values()))
    return {gram: count / norm for gram, count in counts.items()}


_INDEXES: dict[str, type[_TokenSort] | type[_Cosine]] = {
    "token_sort": _TokenSort,
    "cosine": _Cosine,
}


class _Remembering:
    """An index with a cache of results."""

    def __init__(self, index: _Index, at_least: float) -> None:
        self._index, self._at_least = index, at_least
        self._seen: dict[tuple[str, ...], float] = {}

    def best(self, tokens: tuple[str, ...]) -> float:
        answer = self._seen.get(tokens)
        if answer is None:
            answer = self._index.best(tokens, self._at_least)
            if len(self._seen) < _REMEMBERED:
                self._seen[tokens] = answer
        return answer


@lru_cache(maxsize=8)
def _index(lexicon: Lexicon, measure: str, at_least: float) -> _Remembering:
    return _Remembering(_INDEXES[measure](lexicon), at_least)


@dataclass(frozen=True)
class Similar(SegmentFeature):
    """Fires for each threshold that the best similarity to a lexicon entry reaches.

    Upper and lower case are the same.

    Parameters
    ----------
    lexicon : Lexicon
        The entries.
    measure : {"token_sort", "cosine"}
        token_sort: the tokens sorted and joined, 1 minus the insertions and deletions between the
        two texts over their total length, to the best of the entries that share a token with the
        segment. cosine: of the counts of the texts' character trigrams, to the best of all entries.
        Both are exact, and the order of entries does not matter.
    thresholds : iterable of float
        Above 0 and up to 1.
    max_length : int
        The longest segment that it looks at.

    Examples
    --------
    >>> from caesura.documents import Document
    >>> from caesura.features.batch import Words
    >>> batch = Batch([Document(("univ.", "of", "Vienna"))], Words())
    >>> schools = Lexicon("schools", ["University of Vienna"])
    >>> fired = Similar(schools, thresholds=[0.5, 0.7], max_length=3).firings(batch)
    >>> name = Similar(schools).name
    >>> for start, end, which in zip(fired.starts, fired.ends, fired.which):
    ...     print(start, end, name + fired.names[which])
    0 2 similar(schools)>=0.5
    0 3 similar(schools)>=0.5
    0 3 similar(schools)>=0.7
    1 3 similar(schools)>=0.5
    """

    lexicon: Lexicon
    measure: str = "token_sort"
    thresholds: Sequence[float] = (0.7, 0.8, 0.9)
    max_length: int = 8

    def __post_init__(self) -> None:
        check_lexicon(self.lexicon)
        check_max_length(self.max_length)
        if not isinstance(self.measure, str) or self.measure not in _INDEXES:
            known = ", ".join(_INDEXES)
            raise InvalidInput(message("measure", self.measure, known, "pass one of them"))
        try:
            thresholds = tuple(sorted({float(x) for x in self.thresholds}))
        except (TypeError, ValueError):
            thresholds = ()
        if not thresholds or not all(0 < x <= 1 for x in thresholds):
            remedy = "pass a list like [0.7, 0.8, 0.9]"
            expected = "numbers above 0, up to 1"
            raise InvalidInput(message("thresholds", self.thresholds, expected, remedy))
        object.__setattr__(self, "thresholds", thresholds)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, such as similar(journals) or cosine(journals)."""
        return f"{'cosine' if self.measure == 'cosine' else 'similar'}({self.lexicon.name})"

    @property
    def says(self) -> tuple[str, ...]:
        """The thresholds, appended to the feature name."""
        return tuple(f">={threshold:g}" for threshold in self.thresholds)

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        fired, low = Fired(), batch.offsets.tolist()
        index = _index(self.lexicon, self.measure, self.thresholds[0] - _ROUNDING)
        folded = [tuple(t.casefold() for t in document.tokens) for document in batch.documents]
        for i, start, end in spans(batch, self.max_length):
            best = index.best(folded[i][start:end])
            for threshold, name in zip(self.thresholds, self.says, strict=True):
                if best >= threshold - _ROUNDING:
                    fired.add(low[i] + start, low[i] + end, 0, name)
        return fired.done()
