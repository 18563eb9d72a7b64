"""Base classes of segment features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message
from caesura.features.batch import Batch, Firings
from caesura.segments import Segment

__all__ = ["Fired", "SegmentFeature", "check_max_length", "rooms", "spans"]


class SegmentFeature:
    """Base class of segment features, which return their firings in a batch.

    Examples
    --------
    >>> from caesura.documents import Document
    >>> from caesura.features import Length
    >>> from caesura.features.batch import Words
    >>> batch = Batch([Document(("New", "Zealand"))], Words())
    >>> fired = Length(at_least=2).firings(batch)
    >>> fired.names, fired.starts.tolist(), fired.ends.tolist(), fired.flags.tolist()
    (['>=2'], [0], [2], [2])
    """

    name: str  # prefix of its attributes
    order: int = 0  # number of previous labels on which its weights depend

    @property
    def says(self) -> tuple[str, ...]:
        """The suffix that distinguishes features of the same name."""
        return ("",)

    @property
    def learns(self) -> bool:
        """Whether the feature learns from labelled documents."""
        return type(self).fit is not SegmentFeature.fit

    def fit(self, batch: Batch, segments: Sequence[Sequence[Segment]]) -> SegmentFeature:
        """Return the feature fitted to labelled documents.

        Parameters
        ----------
        batch : Batch
            The documents.
        segments : sequence of sequences of Segment
            The segments of each document, in tokens of the document.
        """
        return self

    def firings(self, batch: Batch) -> Firings:
        """Return the firings of the feature in a batch."""
        raise NotImplementedError


class Fired:
    """A collector of firings."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, int, float]] = []
        self._arrays: list[tuple[npt.NDArray[Any], ...]] = []

    def add(self, start: int, end: int, flags: int, name: str, value: float = 1.0) -> None:
        """Add one firing."""
        which = self._names.setdefault(name, len(self._names))
        self._rows.append((start, end, flags, which, value))

    def add_many(
        self,
        starts: npt.NDArray[Any],
        ends: npt.NDArray[Any],
        flags: int,
        names: str | Sequence[str],
        which: npt.NDArray[Any] | None = None,
        value: float = 1.0,
    ) -> None:
        """Add firings of one attribute, or of several selected by `which`."""
        each = [names] if isinstance(names, str) else names
        ids = np.array([self._names.setdefault(n, len(self._names)) for n in each], np.int32)
        picked = np.zeros(len(starts), np.int32) if which is None else which
        same = np.full(len(starts), flags, np.uint8), np.full(len(starts), value)
        self._arrays.append((starts, ends, same[0], ids[picked] if len(ids) else picked, same[1]))

    def done(self) -> Firings:
        """Return all firings."""
        if self._rows:
            table = np.array(self._rows, np.float64)
            self._arrays.append(tuple(table.T))
        none = (np.empty(0),) * 5
        columns = [np.concatenate(column) for column in zip(none, *self._arrays, strict=True)]
        starts, ends, flags, which, values = columns
        return Firings(
            starts.astype(np.int32),
            ends.astype(np.int32),
            flags.astype(np.uint8),
            list(self._names),
            which.astype(np.int32),
            values.astype(np.float64),
        )


def rooms(batch: Batch) -> npt.NDArray[np.int64]:
    """Return the number of tokens from each token to the end of its document, of shape (N,)."""
    lengths = np.diff(batch.offsets)
    return np.repeat(batch.offsets[1:], lengths) - np.arange(batch.offsets[-1])


def spans(batch: Batch, max_length: int) -> Iterator[tuple[int, int, int]]:
    """Yield (document, start, end) of all spans of up to max_length tokens, by document."""
    for i, document in enumerate(batch.documents):
        length = len(document)
        for start in range(length):
            for end in range(start + 1, min(start + max_length, length) + 1):
                yield i, start, end


def check_max_length(max_length: object) -> None:
    """Raise unless max_length is a positive number of tokens."""
    if not isinstance(max_length, int) or isinstance(max_length, bool) or max_length < 1:
        remedy = "give the longest segment that the feature looks at"
        raise InvalidInput(message("max_length", max_length, "a whole number, 1 or more", remedy))
