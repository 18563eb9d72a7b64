"""From vectors of tokens to segments with labels by name: one class for each kind of model.

Each has ``loss(states, lengths, gold, extra)`` of shape (B,), ``predict(states, lengths, extra)``
and ``probabilities(states, lengths, extra, found)`` of found segments; `extra` are further scores
of tokens, such as those of declared features, or None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from caesura.models.schemes import bars_of, tag_set
from caesura.neural.filtered import FilteredSemiCRF
from caesura.neural.lattice import summed
from caesura.neural.layers import ChainCRFLayer, OverlappingSemiCRFLayer, SemiCRFLayer
from caesura.neural.spans import SpanRepresentation
from caesura.segments import Segment, fill_gaps, to_tags

__all__ = ["ChainHead", "FilteredHead", "Head", "OverlappingHead", "SemiHead"]

Gold = Sequence[Sequence[Segment]]
SCHEME = "BIOES"  # the tags of a segment say where it ends, so its probability is that of its tags


class Head(nn.Module):
    """What is common: the labels, the text outside first."""

    def __init__(self, labels: Sequence[str], outside: str) -> None:
        super().__init__()
        self.outside = outside
        self.labels = [outside, *labels]
        self.index = {label: i for i, label in enumerate(self.labels)}
        self.n_scores = len(self.labels)  # scores of tokens that `extra` has

    def _rows(self, gold: Gold, lengths: Sequence[int]) -> Tensor:
        """Return segmentations without gaps as rows (sequence, start, end, label)."""
        rows = [
            (b, s.start, s.end, self.index[s.label])
            for b, (cut, n) in enumerate(zip(gold, lengths, strict=True))
            for s in fill_gaps(cut, n, self.outside)
        ]
        return torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)

    def n_best(
        self, states: Tensor, lengths: Any, extra: Tensor | None, n: int
    ) -> list[list[tuple[list[Segment], float]]]:
        """Return the n best lists of segments of each sequence, with their probabilities."""
        given: Any = self._scores(states, extra)  # type: ignore[operator]
        scores, parts = given if isinstance(given, tuple) else (given, {})
        layer: Any = self.layer
        log_z = layer.log_partition(scores, lengths, **parts).double().tolist()
        return [
            [(self._read(path.segments), math.exp(min(0.0, path.score - z))) for path in paths]
            for paths, z in zip(layer.n_best(scores, lengths, n, **parts), log_z, strict=True)
        ]

    def _read(self, cut: Sequence[tuple[int, int, int]]) -> list[Segment]:
        return self._named([cut])[0]

    def _named(self, cuts: Sequence[Sequence[tuple[int, int, int]]]) -> list[list[Segment]]:
        return [[Segment(s, e, self.labels[y]) for s, e, y in cut if y] for cut in cuts]


class ChainHead(Head):
    """A linear chain over tags."""

    def __init__(
        self, size: int, labels: Sequence[str], outside: str, order: int, transitions: bool
    ) -> None:
        super().__init__(labels, outside)
        self.tags = ["O", *(f"{letter}-{label}" for label in labels for letter in "BIES")]
        self.number = {tag: i for i, tag in enumerate(self.tags)}
        self.n_scores = len(self.tags)
        self.out = nn.Linear(size, len(self.tags))
        self.layer = ChainCRFLayer(len(self.tags), order, transitions=transitions)
        self.layer.forbid(*bars_of(self.tags, SCHEME, outside))

    def _scores(self, states: Tensor, extra: Tensor | None) -> Tensor:
        scores: Tensor = self.out(states)
        return scores if extra is None else scores + extra

    def loss(self, states: Tensor, lengths: Any, gold: Gold, extra: Tensor | None) -> Tensor:
        """Return the negative log-likelihood of each sequence."""
        tags = torch.zeros(states.shape[:2], dtype=torch.int64)
        for b, (cut, n) in enumerate(zip(gold, lengths, strict=True)):
            named = to_tags(cut, SCHEME, n, self.outside)
            tags[b, :n] = torch.tensor([self.number[tag] for tag in named], dtype=torch.int64)
        found: Tensor = self.layer(self._scores(states, extra), lengths, tags, "none")
        return found

    def predict(self, states: Tensor, lengths: Any, extra: Tensor | None) -> list[list[Segment]]:
        """Return the best segments."""
        return [self._read(cut) for cut in self.layer.decode(self._scores(states, extra), lengths)]

    def _read(self, cut: Sequence[tuple[int, int, int]]) -> list[Segment]:
        known = tag_set(tuple(self.tags), SCHEME, self.outside)
        return known.segments([y for _, _, y in cut])

    def probabilities(
        self, states: Tensor, lengths: Any, extra: Tensor | None, found: Gold
    ) -> list[list[float]]:
        """Return the probability of each segment: that of its tags."""
        owner = [b for b, cut in enumerate(found) for _ in cut]
        if not owner:
            return [[] for _ in found]
        scores = self._scores(states, extra)
        fixed = []
        for b, segment in ((b, s) for b, cut in enumerate(found) for s in cut):
            tags = to_tags([segment], SCHEME, lengths[b], self.outside)
            span = range(segment.start, segment.end)
            fixed.append({"allowed": {t: [self.number[tags[t]]] for t in span}})
        free = self.layer.log_partition(scores, lengths)[owner]
        bound = self.layer.log_partition(scores[owner], [lengths[b] for b in owner], fixed)
        return _split((bound - free).exp().clamp(max=1.0).tolist(), found)


class SemiHead(Head):
    """A semi-CRF whose segments have vectors of their own; text outside is cut into tokens."""

    def __init__(
        self,
        size: int,
        labels: Sequence[str],
        outside: str,
        order: int,
        transitions: bool,
        *,
        max_length: int,
        representation: str,
        dropout: float,
    ) -> None:
        super().__init__(labels, outside)
        Y = len(self.labels)
        self.spans = SpanRepresentation(representation, size, max_length, dropout)
        self.out = nn.Linear(size, Y)
        bounds = [1] + [max_length] * (Y - 1)
        self.layer = SemiCRFLayer(Y, bounds, order, transitions=transitions)

    def _scores(self, states: Tensor, extra: Tensor | None) -> Tensor:
        scores: Tensor = self.out(self.spans(states))
        return scores if extra is None else scores + summed(extra, scores.shape[2])

    def loss(self, states: Tensor, lengths: Any, gold: Gold, extra: Tensor | None) -> Tensor:
        """Return the negative log-likelihood of each sequence."""
        rows = self._rows(gold, lengths)
        found: Tensor = self.layer(self._scores(states, extra), lengths, rows, "none")
        return found

    def predict(self, states: Tensor, lengths: Any, extra: Tensor | None) -> list[list[Segment]]:
        """Return the best segments."""
        return self._named(self.layer.decode(self._scores(states, extra), lengths))

    def probabilities(
        self, states: Tensor, lengths: Any, extra: Tensor | None, found: Gold
    ) -> list[list[float]]:
        """Return the probability of each segment."""
        likely = self.layer.marginals(self._scores(states, extra), lengths)
        return [
            [float(likely[b, s.start, s.end - s.start - 1, self.index[s.label]]) for s in cut]
            for b, cut in enumerate(found)
        ]


class OverlappingHead(Head):
    """A semi-CRF without a bound on lengths: scores of tokens, of starts and of ends."""

    def __init__(
        self, size: int, labels: Sequence[str], outside: str, order: int, transitions: bool
    ) -> None:
        super().__init__(labels, outside)
        Y = len(self.labels)
        self.out = nn.Linear(size, 3 * Y)
        bounds: list[int | None] = [1, *[None] * (Y - 1)]
        self.layer = OverlappingSemiCRFLayer(Y, order, max_length=bounds, transitions=transitions)

    def _scores(self, states: Tensor, extra: Tensor | None) -> tuple[Tensor, dict[str, Any]]:
        tokens, starts, ends = self.out(states).chunk(3, -1)
        parts = {"starts": starts, "ends": ends}
        return (tokens if extra is None else tokens + extra), parts

    def loss(self, states: Tensor, lengths: Any, gold: Gold, extra: Tensor | None) -> Tensor:
        """Return the negative log-likelihood of each sequence."""
        tokens, parts = self._scores(states, extra)
        rows = self._rows(gold, lengths)
        found: Tensor = self.layer(tokens, lengths, rows, "none", **parts)
        return found

    def predict(self, states: Tensor, lengths: Any, extra: Tensor | None) -> list[list[Segment]]:
        """Return the best segments."""
        tokens, parts = self._scores(states, extra)
        return self._named(self.layer.decode(tokens, lengths, **parts))

    def probabilities(
        self, states: Tensor, lengths: Any, extra: Tensor | None, found: Gold
    ) -> list[list[float]]:
        """Return the probability of each segment."""
        tokens, parts = self._scores(states, extra)
        rows = [
            (b, s.start, s.end, self.index[s.label]) for b, cut in enumerate(found) for s in cut
        ]
        index = np.array(rows, np.int64).reshape(-1, 4)
        spans = index, tokens.new_zeros(len(index))
        return _split(
            self.layer.marginals(tokens, lengths, **parts, spans=spans)[3].tolist(), found
        )


class FilteredHead(Head):
    """A filtered semi-CRF; probabilities are those of the global model."""

    def __init__(self, size: int, labels: Sequence[str], outside: str, **options: Any) -> None:
        super().__init__(labels, outside)
        self.layer = FilteredSemiCRF(size, len(labels), **options)

    def loss(self, states: Tensor, lengths: Any, gold: Gold, extra: Tensor | None) -> Tensor:
        """Return the total loss of each sequence."""
        rows = [
            (b, s.start, s.end, self.index[s.label] - 1) for b, cut in enumerate(gold) for s in cut
        ]
        table = torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)
        found: Tensor = self.layer(states, lengths, table, "none")
        return found

    def predict(self, states: Tensor, lengths: Any, extra: Tensor | None) -> list[list[Segment]]:
        """Return the best segments."""
        cuts = self.layer.decode(states, lengths)
        return [[Segment(s, e, self.labels[y + 1]) for s, e, y in cut] for cut in cuts]

    def probabilities(
        self, states: Tensor, lengths: Any, extra: Tensor | None, found: Gold
    ) -> list[list[float]]:
        """Return the probability of each segment."""
        likely = [
            {(s, e, self.labels[y + 1]): p for s, e, y, p in some}
            for some in self.layer.probabilities(states, lengths)
        ]
        return [
            [likely[b].get((s.start, s.end, s.label), 0.0) for s in cut]
            for b, cut in enumerate(found)
        ]

    def n_best(
        self, states: Tensor, lengths: Any, extra: Tensor | None, n: int
    ) -> list[list[tuple[list[Segment], float]]]:
        """Return the n best paths of each sequence, with their probabilities."""
        return [
            [([Segment(s, e, self.labels[y + 1]) for s, e, y in cut], p) for cut, p in some]
            for some in self.layer.n_best(states, lengths, n)
        ]


def _split(values: list[float], found: Gold) -> list[list[float]]:
    """Return values, one for each segment, by sequence."""
    each = iter(values)
    return [[next(each) for _ in cut] for cut in found]
