"""Firings of segment features in a batch, as integer arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from caesura import _kernels
from caesura.encoding.values import Ints
from caesura.errors import InvalidInput, message
from caesura.features import Dictionary, Length, Pattern, SegmentFeature, SegmentShape, Text
from caesura.features.batch import Batch, Firings
from caesura.features.dictionary import entry_names, finder
from caesura.features.history import SegmentHistory
from caesura.features.segment import length_rules

__all__ = ["FiringReader", "read_firings"]

MOST_TOKENS = 1 << 30  # longest segment that the kernels consider


class FiringReader:
    """Compute the firings of one segment feature.

    Parameters
    ----------
    source : int
        The index of the feature among those of the encoder.
    feature : SegmentFeature
        The feature.
    values : Interner
        The numbers of the values of the feature.

    Notes
    -----
    Without `grow`, the kernels find lengths, texts, lexicons, shapes and patterns. With it, and for
    all other features, `feature.firings` does.
    """

    def __init__(self, source: int, feature: SegmentFeature, values: _kernels.Interner) -> None:
        if isinstance(feature, SegmentHistory):  # fires where its inner feature fires
            feature = feature.feature
        self.source, self.feature, self.values = source, feature, values
        self._fast: Callable[[Batch, _kernels.Firings], None] | None = None
        self._generation = -1  # generation of the word cache that the cached results belong to
        self._tables: list[Ints] = []
        if type(feature) is Length:
            self._fast, self._rules = self._lengths, length_rules(feature)
        elif type(feature) is Dictionary or (type(feature) is Text and feature.lexicon is not None):
            self._fast = self._entries
        elif type(feature) is SegmentShape:
            self._fast = self._shapes
            most = min(feature.max_length, MOST_TOKENS)
            self._spans = _kernels.SpanShapes(most, feature.collapse)
        elif type(feature) is Pattern:
            self._pattern = _kernels.Pattern.compile(feature.pattern)
            self._fast = None if self._pattern is None else self._patterns

    def read(self, batch: Batch, grow: bool, out: _kernels.Firings) -> None:
        """Append the firings in a batch."""
        if self._fast is not None and not grow:
            self._fast(batch, out)
            return
        fired = self.feature.firings(batch)
        _check_firings(self.feature, fired, batch)
        numbers = self.values.ids(fired.names, grow)
        ids = numbers[fired.which] if len(numbers) else np.zeros(0, np.int32)
        out.add(self.source, fired.starts, fired.ends, fired.flags, ids, fired.values)

    def _is_new(self, batch: Batch) -> bool:
        """Return whether the word cache was cleared, which invalidates cached firings."""
        before, self._generation = self._generation, batch.words.types.generation
        return before != self._generation

    def _lengths(self, batch: Batch, out: _kernels.Firings) -> None:
        out.add_lengths(self.source, batch.offsets, self.values, self._rules)

    def _entries(self, batch: Batch, out: _kernels.Firings) -> None:
        feature: Any = self.feature
        found = finder(feature.lexicon, feature.casefold, getattr(feature, "loose", False))
        if self._is_new(batch):
            self._tables = [self.values.ids(names, False) for names in entry_names(feature)]
        keys = found.keys(batch)
        out.add_entries(self.source, keys, batch.offsets, found.entries, self._tables)

    def _shapes(self, batch: Batch, out: _kernels.Firings) -> None:
        feature: Any = self.feature
        said, numbers = batch.words.said(feature.column, batch)
        if self._is_new(batch):
            self._spans.forget()
        out.add_shapes(self.source, numbers, batch.offsets, self._spans, said, self.values)

    def _patterns(self, batch: Batch, out: _kernels.Firings) -> None:
        feature: Any = self.feature
        (number,) = self.values.ids([""], False).tolist()
        if number >= 0 and self._pattern is not None:
            out.add_pattern(
                self.source,
                batch.tokens,
                batch.words.types,
                self._pattern,
                feature.joiner,
                min(feature.max_length, MOST_TOKENS),
                number,
            )


def _check_firings(feature: SegmentFeature, fired: Firings, batch: Batch) -> None:
    """Raise if a feature fires outside all segments; kernels do not check."""
    starts, ends, N = fired.starts, fired.ends, int(batch.offsets[-1])
    expected = "firings inside one document each, with finite values"
    good = len(starts) == len(ends) == len(fired.flags) == len(fired.which) == len(fired.values)
    good = good and bool(((starts >= 0) & (starts < ends) & (ends <= N)).all())
    if good and len(starts):
        document = np.repeat(np.arange(len(batch.offsets) - 1), np.diff(batch.offsets))
        inside = (document[starts] == document[ends - 1]) & (fired.flags <= 3)
        known = (fired.which >= 0) & (fired.which < len(fired.names))
        good = bool((inside & known & np.isfinite(fired.values)).all())
    if not good:
        remedy = "correct what its firings(batch) returns"
        raise InvalidInput(message("features", feature, expected, remedy))


def read_firings(readers: Sequence[FiringReader], batch: Batch, grow: bool) -> _kernels.Firings:
    """Return the firings of segment features in a batch, sorted by start."""
    out = _kernels.Firings()
    for reader in readers:
        reader.read(batch, grow, out)
    out.sort(int(batch.offsets[-1]))
    return out
