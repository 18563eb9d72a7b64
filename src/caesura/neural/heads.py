"""Heads: from token vectors to labelled segments, one class for each kind of model.

Each head has ``loss(states, lengths, gold, extra)`` of shape (B,), and answers ``predict``,
``probabilities`` (of found segments), ``n_best``, ``sample`` and ``entropy`` for a batch; `extra`
are further scores of tokens, such as those of declared features, or None.  All but the filtered one
also give the `Potentials` of each sequence, for constraints and explanations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from caesura import _kernels
from caesura.documents import Partial
from caesura.inference import marginals
from caesura.inference.problems import problem_of
from caesura.models.rules import Rules, naming_constraint
from caesura.models.schemes import bars_of, tag_set
from caesura.models.tag_rules import constrain_tags
from caesura.models.targets import known_labels
from caesura.neural.lattice import spread
from caesura.neural.layers import ChainCRFLayer, OverlappingSemiCRFLayer, SemiCRFLayer
from caesura.neural.potentials import potentials_of
from caesura.neural.segmental_layer import SegmentalLayer
from caesura.neural.spans import SpanRepresentation
from caesura.neural.structure import constraints_of
from caesura.potentials import Potentials
from caesura.segments import Segment, fill_gaps, to_tags

__all__ = ["ChainHead", "Head", "LayerHead", "OverlappingHead", "SemiHead", "Target"]

Gold = Sequence[Sequence[Segment]]
Target = Sequence[Segment] | Partial
Ranked = list[list[tuple[list[Segment], float]]]  # per sequence: segments and their probability
SCHEME = "BIOES"  # tags mark the ends of segments, so a segment's probability is that of its tags


class Head(nn.Module):
    """Base class of heads, which stores the labels; index 0 is outside."""

    def __init__(self, labels: Sequence[str], outside: str) -> None:
        super().__init__()
        self.outside = outside
        self.labels = [outside, *labels]
        self.index = {label: i for i, label in enumerate(self.labels)}
        # `extra` has three scores for each token and label: inside, first and last in a segment.
        self.n_scores, self.feature_parts = 3 * len(self.labels), 3


class LayerHead(Head):
    """A head with a distribution over segmentations of the whole sequence."""

    layer: SegmentalLayer
    states: list[str]  # names of the layer's labels
    outside_length: int | None = 1  # how text outside is cut, as for `caesura.fill_gaps`
    longest_outside: int | None = None  # maximum length of a piece of text outside

    @property
    def many_cuts(self) -> bool:
        """Whether several segmentations that differ only outside have the same segments."""
        return self.longest_outside is not None

    def network_scores(
        self, states: Tensor, extra: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the scores and further arguments of the layer."""
        raise NotImplementedError

    # -- training ------------------------------------------------------------------------------

    def loss(
        self, states: Tensor, lengths: Any, gold: Sequence[Target], extra: Tensor | None
    ) -> Tensor:
        """Return the negative log-likelihood of each sequence, (B,).

        Of a sequence that is labelled in part, it is that of all segmentations that agree with what
        is known: ln Z less the ln Z under constraints.
        """
        scores, parts = self.network_scores(states, extra)
        found = scores.new_zeros(len(lengths))
        full = [b for b, one in enumerate(gold) if not isinstance(one, Partial)]
        some = [b for b, one in enumerate(gold) if isinstance(one, Partial)]
        if full:
            given = _picked(scores, parts, lengths, full)
            rows = self._labels([gold[b] for b in full], given[1], scores.shape[1])
            each = self.layer(given[0], given[1], rows, "none", **given[2])
            if not some:
                return each  # type: ignore[no-any-return]
            found = found.index_put((torch.tensor(full, device=found.device),), each)
        if some:
            given = _picked(scores, parts, lengths, some)
            known = [self._known(gold[b], lengths[b]) for b in some]
            free = self.layer.log_partition(given[0], given[1], **given[2])
            bound = self.layer.log_partition(given[0], given[1], known, **given[2])
            found = found.index_put((torch.tensor(some, device=found.device),), free - bound)
        return found

    def _labels(self, gold: Any, lengths: Sequence[int], T: int) -> Tensor:
        """Return segmentations in the form of the layer."""
        return self._rows(gold, lengths)

    def _rows(self, gold: Any, lengths: Sequence[int]) -> Tensor:
        """Return gapless segmentations as rows (sequence, start, end, label)."""
        rows = []
        for b, (cut, n) in enumerate(zip(gold, lengths, strict=True)):
            for start, end, label in fill_gaps(cut, n, self.outside, self.outside_length):
                most = self.longest_outside if label == self.outside else None
                step, y = most or end - start, self.index[label]
                rows += [(b, s, min(s + step, end), y) for s in range(start, end, step)]
        return torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)

    def _known(self, known: Any, length: int) -> dict[str, Any]:
        """Return partial labels as constraints of the layer."""
        return constraints_of(*known_labels(known, length, self.labels, self.outside, "y"))

    # -- batch predictions ---------------------------------------------------------------------

    def predict(self, states: Tensor, lengths: Any, extra: Tensor | None) -> list[list[Segment]]:
        """Return the best segments."""
        scores, parts = self.network_scores(states, extra)
        return [self._read(cut) for cut in self.layer.decode(scores, lengths, **parts)]

    def probabilities(
        self, states: Tensor, lengths: Any, extra: Tensor | None, found: Gold
    ) -> list[list[float]]:
        """Return the probability of each segment."""
        raise NotImplementedError

    def n_best(self, states: Tensor, lengths: Any, extra: Tensor | None, n: int) -> Ranked:
        """Return the n best lists of segments of each sequence, with their probabilities."""
        scores, parts = self.network_scores(states, extra)
        log_z = self.layer.log_partition(scores, lengths, **parts).double().tolist()
        ranked = self.layer.n_best(scores, lengths, n, **parts)
        return [
            [(self._read(path.segments), math.exp(min(0.0, path.score - z))) for path in paths]
            for paths, z in zip(ranked, log_z, strict=True)
        ]

    def sample(
        self, states: Tensor, lengths: Any, extra: Tensor | None, n: int, seed: int
    ) -> list[list[list[Segment]]]:
        """Draw n lists of segments of each sequence; sequence b uses ``seed + b``."""
        scores, parts = self.network_scores(states, extra)
        drawn = self.layer.sample(scores, lengths, n, seed, **parts)
        return [[self._read(cut) for cut in some] for some in drawn]

    def entropy(self, states: Tensor, lengths: Any, extra: Tensor | None) -> list[float]:
        """Return the entropy of each sequence, in nats."""
        scores, parts = self.network_scores(states, extra)
        found: list[float] = self.layer.entropy(scores, lengths, **parts).double().tolist()
        return found

    def _read(self, cut: Iterable[Any]) -> list[Segment]:
        return [Segment(s, e, self.labels[y]) for s, e, y in cut if y]

    # -- potentials ----------------------------------------------------------------------------

    def potentials(self, states: Tensor, lengths: Any, extra: Tensor | None) -> list[Potentials]:
        """Return the potentials of each sequence over the `states` of this head."""
        scores, parts = self.network_scores(states, extra)
        return potentials_of(*self.layer.prepared(scores, lengths, None, **parts), self.states)

    def constrain(self, p: Potentials, rules: Rules, name: str) -> None:
        """Constrain potentials by constraints on segments."""
        with naming_constraint(name):
            p.constrain(**rules._asdict())

    @property
    def reading(self) -> _kernels.Reading:
        """The decoding of states into segments with label numbers of `number_of`."""
        return _kernels.Reading(np.arange(-1, len(self.states) - 1, dtype=np.int32), None)

    def number_of(self, label: str) -> int:
        """Return the number of a label in `reading`."""
        return self.index[label] - 1

    def named(self, path: Sequence[Segment]) -> list[Segment]:
        """Return the segments of a path over states."""
        return [segment for segment in path if segment.label != self.outside]

    def chances(self, p: Potentials, segments: Sequence[Segment]) -> list[float]:
        """Return the probabilities of segments under constrained potentials."""
        m = marginals(p)
        return [m.segment(*segment) for segment in segments]


class ChainHead(LayerHead):
    """A linear chain over tags."""

    layer: ChainCRFLayer

    def __init__(
        self, size: int, labels: Sequence[str], outside: str, order: int, transitions: bool
    ) -> None:
        super().__init__(labels, outside)
        self.states = ["O", *(f"{letter}-{label}" for label in labels for letter in "BIES")]
        self.number = {tag: i for i, tag in enumerate(self.states)}
        self.n_scores, self.feature_parts = len(self.states), 1
        self.out = nn.Linear(size, len(self.states))
        self.layer = ChainCRFLayer(len(self.states), order, transitions=transitions)
        self.layer.forbid(*bars_of(self.states, SCHEME, outside))

    @property
    def tags(self) -> Any:
        """The parsed tags."""
        return tag_set(tuple(self.states), SCHEME, self.outside)

    def network_scores(
        self, states: Tensor, extra: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the scores of tags."""
        scores: Tensor = self.out(states)
        return (scores if extra is None else scores + extra), {}

    def _labels(self, gold: Any, lengths: Sequence[int], T: int) -> Tensor:
        tags = torch.zeros(len(gold), T, dtype=torch.int64)
        for b, (cut, n) in enumerate(zip(gold, lengths, strict=True)):
            named = to_tags(cut, SCHEME, n, self.outside)
            tags[b, :n] = torch.tensor([self.number[tag] for tag in named], dtype=torch.int64)
        return tags

    def _known(self, known: Any, length: int) -> dict[str, Any]:
        tags = self.tags
        labels = [*tags.labels, self.outside]
        allowed, marks = known_labels(known, length, labels, self.outside, "y")
        return constraints_of(tags.restricted(allowed, marks, "y"), None)

    def _read(self, cut: Iterable[Any]) -> list[Segment]:
        found: list[Segment] = self.tags.segments([y for _, _, y in cut])
        return found

    def probabilities(
        self, states: Tensor, lengths: Any, extra: Tensor | None, found: Gold
    ) -> list[list[float]]:
        """Return the probability of each segment, as that of its tags."""
        owner = [b for b, cut in enumerate(found) for _ in cut]
        if not owner:
            return [[] for _ in found]
        scores, _ = self.network_scores(states, extra)
        fixed = []
        for b, segment in ((b, s) for b, cut in enumerate(found) for s in cut):
            tags = to_tags([segment], SCHEME, lengths[b], self.outside)
            span = range(segment.start, segment.end)
            fixed.append({"allowed": {t: [self.number[tags[t]]] for t in span}})
        free = self.layer.log_partition(scores, lengths)[owner]
        bound = self.layer.log_partition(scores[owner], [lengths[b] for b in owner], fixed)
        return split((bound - free).exp().clamp(max=1.0).tolist(), found)

    def constrain(self, p: Potentials, rules: Rules, name: str) -> None:
        """Constrain potentials over tags by constraints on segments."""
        constrain_tags(p, self.tags, rules, name, self.tags.bars)

    @property
    def reading(self) -> _kernels.Reading:
        """The decoding of tags into segments."""
        found: _kernels.Reading = self.tags.reading
        return found

    def number_of(self, label: str) -> int:
        """Return the number of a label in `reading`."""
        return int(self.tags.labels.index(label))

    def named(self, path: Sequence[Segment]) -> list[Segment]:
        """Return the segments that tags encode."""
        first = path[0].start if path else 0
        states = [self.number[segment.label] for segment in path]
        found: list[Segment] = self.tags.segments(states, first)
        return found

    def chances(self, p: Potentials, segments: Sequence[Segment]) -> list[float]:
        """Return the probabilities of segments under constrained potentials."""
        tags, lookup = self.tags, _kernels.Lookup(problem_of(p), 0)
        joined = tags.joined.astype(np.uint8)
        return [lookup.run(s, e, tags.states_of(label), joined) for s, e, label in segments]


class SemiHead(LayerHead):
    """A semi-CRF over segment embeddings.

    Text outside is cut into tokens, or with ``outside_length=None`` into segments of any length up
    to the bound; a gap has many such cuts, of which the one with the longest pieces is learnt.
    """

    layer: SemiCRFLayer

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
        outside_length: int | None = 1,
    ) -> None:
        super().__init__(labels, outside)
        self.states, Y = self.labels, len(self.labels)
        self.outside_length = outside_length
        self.longest_outside = max_length if outside_length is None else None
        self.spans = SpanRepresentation(representation, size, max_length, dropout)
        self.out = nn.Linear(size, Y)
        bounds = [outside_length or max_length] + [max_length] * (Y - 1)
        self.layer = SemiCRFLayer(Y, bounds, order, transitions=transitions)

    def network_scores(
        self, states: Tensor, extra: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the scores of segments."""
        scores = self.spans.projected(states, self.out)
        return (scores if extra is None else scores + spread(extra, scores.shape[2])), {}

    def probabilities(
        self, states: Tensor, lengths: Any, extra: Tensor | None, found: Gold
    ) -> list[list[float]]:
        """Return the probability of each segment."""
        likely = self.layer.marginals(self.network_scores(states, extra)[0], lengths)
        return [
            [float(likely[b, s.start, s.end - s.start - 1, self.index[s.label]]) for s in cut]
            for b, cut in enumerate(found)
        ]


class OverlappingHead(LayerHead):
    """A semi-CRF without a length bound: scores of tokens, starts and ends.

    Text outside is cut into tokens; with ``outside_length=None`` each run of it is one segment.
    """

    layer: OverlappingSemiCRFLayer

    def __init__(
        self,
        size: int,
        labels: Sequence[str],
        outside: str,
        order: int,
        transitions: bool,
        outside_length: int | None = 1,
    ) -> None:
        super().__init__(labels, outside)
        self.states, Y = self.labels, len(self.labels)
        self.outside_length = outside_length
        self.out = nn.Linear(size, 3 * Y)
        bounds: list[int | None] = [outside_length, *[None] * (Y - 1)]
        self.layer = OverlappingSemiCRFLayer(Y, order, max_length=bounds, transitions=transitions)
        if outside_length is None:  # otherwise one run could be cut in many ways
            twice = np.zeros((Y, Y), bool)
            twice[0, 0] = True
            self.layer.forbid(twice, np.zeros(Y, bool), np.zeros(Y, bool))

    def network_scores(
        self, states: Tensor, extra: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the scores of tokens, and of starts and ends."""
        scores = self.out(states) if extra is None else self.out(states) + extra
        tokens, starts, ends = scores.chunk(3, -1)
        return tokens, {"starts": starts, "ends": ends}

    def probabilities(
        self, states: Tensor, lengths: Any, extra: Tensor | None, found: Gold
    ) -> list[list[float]]:
        """Return the probability of each segment."""
        tokens, parts = self.network_scores(states, extra)
        rows = [
            (b, s.start, s.end, self.index[s.label]) for b, cut in enumerate(found) for s in cut
        ]
        index = np.array(rows, np.int64).reshape(-1, 4)
        likely = self.layer.marginals(
            tokens, lengths, **parts, spans=(index, tokens.new_zeros(len(index)))
        )
        return split(likely.spans.tolist(), found)


def _picked(
    scores: Tensor, parts: dict[str, Tensor], lengths: Any, some: list[int]
) -> tuple[Tensor, list[int], dict[str, Tensor]]:
    """Return the scores, lengths and further arguments of some sequences of a batch."""
    if len(some) == len(lengths):
        return scores, list(lengths), parts
    picked = {name: x[some] for name, x in parts.items()}
    return scores[some], [lengths[b] for b in some], picked


def split(values: list[float], found: Gold) -> list[list[float]]:
    """Split per-segment values by sequence."""
    each = iter(values)
    return [[next(each) for _ in cut] for cut in found]
