"""Best similarity of a segment to a lexicon entry, without comparing all pairs."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.errors import InvalidInput, message
from caesura.features.batch import Batch, Firings
from caesura.features.columns import check_lexicon
from caesura.features.lexicons import Lexicon
from caesura.features.segment_base import Fired, SegmentFeature, check_max_length, spans

__all__ = ["Similar"]

_SPACE = np.array([ord(" ")], np.uint32)
_NGRAM = 3
_ROUNDING = 1e-9  # tolerance for rounding at a threshold
_REMEMBERED = 1 << 18  # maximum number of texts whose similarities are cached
_Reached = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]


class _TokenSort:
    """The token sort ratio (sorted tokens compared as texts) to entries that share a token."""

    def __init__(self, lexicon: Lexicon) -> None:
        entries = [sorted(token.casefold() for token in entry) for entry in lexicon.entries]
        characters, offsets = _joined([" ".join(entry) for entry in entries])
        self._alphabet = np.union1d(characters, _SPACE)
        self._numbers: dict[str, int] = {}  # token -> index into `having`
        having: list[list[int]] = []  # the entries that contain each token
        for j, entry in enumerate(entries):
            for token in dict.fromkeys(entry):
                number = self._numbers.setdefault(token, len(having))
                if number == len(having):
                    having.append([])
                having[number].append(j)
        self._entries = _kernels.SimilarEntries(
            len(self._alphabet),
            int(np.searchsorted(self._alphabet, _SPACE[0])),
            np.searchsorted(self._alphabet, characters).astype(np.int32),
            offsets,
            np.fromiter(chain.from_iterable(having), np.int32),
            _offsets(map(len, having)),
        )

    def reached(self, batch: Batch, thresholds: Sequence[float], max_length: int) -> _Reached:
        types, places = np.unique(batch.types, return_inverse=True)
        folded = [batch.words.words[k].casefold() for k in types.tolist()]
        tokens = sorted(set(folded))
        order = {token: k for k, token in enumerate(tokens)}
        characters, offsets = _joined(tokens)
        found = np.searchsorted(self._alphabet, characters).clip(max=len(self._alphabet) - 1)
        known = self._alphabet[found] == characters
        return self._entries.reached(
            np.where(known, found, -1).astype(np.int32),
            offsets,
            np.fromiter((self._numbers.get(token, -1) for token in tokens), np.int32),
            np.fromiter((order[token] for token in folded), np.int32)[places],
            batch.offsets,
            list(thresholds),
            max_length,
        )


def _joined(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Return the characters of texts, and where each text begins and the last one ends."""
    content = "".join(texts).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(content, np.uint32), _offsets(map(len, texts))


def _offsets(sizes: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *sizes], dtype=np.int64)


class _Cosine:
    """The cosine of character n-gram counts, summed over entries that share an n-gram."""

    def __init__(self, lexicon: Lexicon) -> None:
        lists: dict[str, list[tuple[int, float]]] = {}
        for j, entry in enumerate(lexicon.entries):
            for gram, share in _vector(tuple(token.casefold() for token in entry)).items():
                lists.setdefault(gram, []).append((j, share))
        self._lists: dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = {}
        for gram, found in lists.items():
            table = np.array(found)
            self._lists[gram] = table[:, 0].astype(np.int64), table[:, 1]
        self._seen: dict[tuple[str, ...], float] = {}

    def reached(self, batch: Batch, thresholds: Sequence[float], max_length: int) -> _Reached:
        low, found = batch.offsets.tolist(), []
        folded = [tuple(t.casefold() for t in document.tokens) for document in batch.documents]
        for i, start, end in spans(batch, max_length):
            if best := bisect_right(thresholds, self._best(folded[i][start:end])):
                found.append((low[i] + start, low[i] + end, best))
        starts, ends, counts = np.array(found, np.int64).reshape(-1, 3).T
        return starts, ends, counts.astype(np.int32)

    def _best(self, tokens: tuple[str, ...]) -> float:
        """Return the similarity to the best entry."""
        answer = self._seen.get(tokens)
        if answer is None:
            answer = self._computed(tokens)
            if len(self._seen) < _REMEMBERED:
                self._seen[tokens] = answer
        return answer

    def _computed(self, tokens: tuple[str, ...]) -> float:
        shares = _vector(tokens)
        found = [
            (self._lists[gram], share) for gram, share in shares.items() if gram in self._lists
        ]
        if not found:
            return 0.0
        entries = np.concatenate([one[0] for one, _ in found])
        products = np.concatenate([one[1] * share for one, share in found])
        return float(np.bincount(entries, products).max())


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


@lru_cache(maxsize=8)
def _index(lexicon: Lexicon, measure: str) -> _TokenSort | _Cosine:
    return _INDEXES[measure](lexicon)


@dataclass(frozen=True)
class Similar(SegmentFeature):
    """Fires for each threshold that the best similarity to a lexicon entry reaches.

    Upper and lower case are the same.

    Parameters
    ----------
    lexicon : Lexicon
        The entries.
    measure : {"token_sort", "cosine"}
        token_sort sorts and joins the tokens and is 1 minus the number of insertions and deletions
        between the two texts, divided by their total length, for the best entry that shares a token
        with the segment. cosine is the cosine of the counts of character trigrams, for the best of
        all entries. Both are exact, and the order of entries does not matter.
    thresholds : iterable of float
        Similarities, above 0 and up to 1, each with an attribute that fires from it on.
    max_length : int
        Maximum length of the segments for which it fires.

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
    1 3 similar(schools)>=0.5
    0 3 similar(schools)>=0.7
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
        fired = Fired()
        index = _index(self.lexicon, self.measure)
        limits = [max(threshold - _ROUNDING, threshold / 2) for threshold in self.thresholds]
        starts, ends, counts = index.reached(batch, limits, self.max_length)
        for k, name in enumerate(self.says):
            chosen = counts > k
            if chosen.any():
                fired.add_many(starts[chosen], ends[chosen], 0, name)
        return fired.done()
