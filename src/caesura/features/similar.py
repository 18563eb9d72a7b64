"""The best similarity of a segment to an entry of a lexicon, without looking at all pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message
from caesura.features.batch import Batch, Firings
from caesura.features.columns import check_lexicon
from caesura.features.lexicons import Lexicon
from caesura.features.spans import Fired, SegmentFeature, check_max_length, spans

__all__ = ["Similar"]

_CANDIDATES = 200  # entries that are compared with a segment, those that share its rarest tokens
_NGRAM = 3
_ROUNDING = 1e-9  # what is at a threshold but for rounding has reached it
_REMEMBERED = 1 << 18  # texts whose similarity is kept


class _Index(Protocol):
    def best(self, tokens: tuple[str, ...], at_least: float) -> float:
        """Return the similarity to the best entry, 0 if it is below a threshold."""


class _TokenSort:
    """The token sort ratio (sorted tokens, compared as texts) to entries that share a token."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._texts: list[str] = []
        self._having: dict[str, list[int]] = {}  # the entries that have a token
        for j, entry in enumerate(lexicon.entries):
            tokens = sorted(token.casefold() for token in entry)
            self._texts.append(" ".join(tokens))
            for token in set(tokens):
                self._having.setdefault(token, []).append(j)

    def best(self, tokens: tuple[str, ...], at_least: float) -> float:
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import extractOne

        known = [having for t in set(tokens) if (having := self._having.get(t)) is not None]
        candidates: dict[int, None] = {}
        for having in sorted(known, key=lambda one: (len(one), one)):
            candidates.update(dict.fromkeys(having[: _CANDIDATES - len(candidates)]))
            if len(candidates) >= _CANDIDATES:
                break
        if not candidates:
            return 0.0
        found = extractOne(
            " ".join(sorted(tokens)),
            [self._texts[j] for j in candidates],
            scorer=Indel.normalized_similarity,
            score_cutoff=at_least,
        )
        return float(found[1]) if found else 0.0


class _Cosine:
    """The cosine of counts of character n-grams, summed over the entries that share one."""

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
    """Return the counts of character n-grams of a text, divided by their norm."""
    text = f" {' '.join(tokens)} "
    counts = Counter(text[i : i + _NGRAM] for i in range(len(text) - _NGRAM + 1))
    norm = math.sqrt(sum(count * count for count in counts.values()))
    return {gram: count / norm for gram, count in counts.items()}


_INDEXES: dict[str, type[_TokenSort] | type[_Cosine]] = {
    "token_sort": _TokenSort,
    "cosine": _Cosine,
}


class _Remembering:
    """An index that keeps the answers for texts it has seen."""

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
    """Fire for each threshold that the best similarity to an entry of a lexicon reaches.

    Upper and lower case are the same.

    Parameters
    ----------
    lexicon : Lexicon
        The entries.
    measure : {"token_sort", "cosine"}
        token_sort: the tokens sorted and joined, 1 minus the insertions and deletions between the
        two texts over their total length. Only entries that share a token with the segment count,
        and of more than 200 those that share its rarest. cosine: of the counts of the texts'
        character trigrams, exact.
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
        if self.measure not in _INDEXES:
            known = ", ".join(_INDEXES)
            raise InvalidInput(message("measure", self.measure, known, "pass one of them"))
        thresholds = tuple(sorted(float(x) for x in self.thresholds))
        if not thresholds or not 0 < thresholds[0] <= thresholds[-1] <= 1:
            remedy = "pass a list like [0.7, 0.8, 0.9]"
            expected = "numbers above 0, up to 1"
            raise InvalidInput(message("thresholds", self.thresholds, expected, remedy))
        object.__setattr__(self, "thresholds", thresholds)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Like similar(journals), or cosine(journals)."""
        return f"{'cosine' if self.measure == 'cosine' else 'similar'}({self.lexicon.name})"

    def firings(self, batch: Batch) -> Firings:
        """Return where its attributes fire."""
        fired, low = Fired(), batch.offsets.tolist()
        index = _index(self.lexicon, self.measure, self.thresholds[0] - _ROUNDING)
        folded = [tuple(t.casefold() for t in document.tokens) for document in batch.documents]
        for i, start, end in spans(batch, self.max_length):
            best = index.best(folded[i][start:end])
            for threshold in self.thresholds:
                if best >= threshold - _ROUNDING:
                    fired.add(low[i] + start, low[i] + end, 0, f">={threshold:g}")
        return fired.done()
