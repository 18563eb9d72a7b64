"""The head of a filtered semi-CRF: segments with labels by name from kept spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from caesura.errors import InvalidInput, message
from caesura.models.rules import Rules
from caesura.neural.filtered import FilteredSemiCRF
from caesura.neural.heads import Gold, Head, Ranked
from caesura.neural.lattice import barred_segments, summed
from caesura.neural.structure import Structure, with_rules
from caesura.segments import Segment

__all__ = ["FilteredHead"]

Given = tuple[Tensor, Any, Tensor | None]  # vectors of tokens, lengths, scores of features


class FilteredHead(Head):
    """A filtered semi-CRF.

    Probabilities are those of the global model; without a global loss, those of the local
    classifier.
    """

    def __init__(self, size: int, labels: Sequence[str], outside: str, **options: Any) -> None:
        super().__init__(labels, outside)
        self.layer = FilteredSemiCRF(size, len(labels), **options)
        self.n_scores = 1 + 2 * len(labels)  # local scores, null first, and global ones
        self._sizes: list[tuple[int, int]] = []  # of the graphs of training sequences

    def scores(self, states: Tensor, lengths: Any, extra: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the local and the global scores of spans."""
        local, path = self.layer.span_scores(states, lengths)
        if extra is not None:
            own = summed(extra, local.shape[2])
            local, path = local + own[..., : local.shape[-1]], path + own[..., local.shape[-1] :]
        return local, path

    def loss(self, states: Tensor, lengths: Any, gold: Any, extra: Tensor | None) -> Tensor:
        """Return the total loss of each sequence."""
        rows = [
            (b, s.start, s.end, self.index[s.label] - 1) for b, cut in enumerate(gold) for s in cut
        ]
        table = torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)
        losses = self.layer.losses(*self.scores(states, lengths, extra), lengths, table)
        if self.training:
            self._sizes += zip(losses.nodes, losses.arcs, strict=True)
        return losses.total

    def mean_size(self) -> tuple[float, float] | None:
        """Return the mean numbers of kept spans and arcs since the last call, None without any."""
        sizes, self._sizes = self._sizes, []
        if not sizes:
            return None
        nodes, arcs = np.mean(sizes, axis=0).tolist()
        return nodes, arcs

    def constrained_scores(
        self, given: Given, rules: Sequence[Rules] | None
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of spans; what rules forbid has a local score of -inf.

        Of a required span it is null that is forbidden, so that the filter keeps it.
        """
        states, lengths, extra = given
        local, path = self.scores(states, lengths, extra)
        if rules is None:
            return local, path
        _, T, K, Y = path.shape
        listed = [self._indexed(one, f"constraints[{b}]") for b, one in enumerate(rules)]
        # labels of the structure are those of this head: the text outside first
        structure = Structure(np.array(lengths, np.int64), T, Y + 1, K)
        barred = barred_segments(with_rules(structure, listed), K)[..., 1:]
        local = local.clone()
        local[..., 1:].masked_fill_(torch.from_numpy(barred).to(local.device), -torch.inf)
        for b, one in enumerate(rules):
            for start, end, _ in one.required:
                if end - start > K:
                    expected = f"at most max_length={K} tokens"
                    place = f"constraints[{b}]['required']"
                    raise InvalidInput(message(place, (start, end), expected, "leave it out"))
                local[b, start, end - start - 1, 0] = -torch.inf
        return local, path

    def _indexed(self, rules: Rules, name: str) -> dict[str, Any]:
        """Return rules by the numbers of labels; the kept spans cannot promise all of them."""
        for key in ("at_most_once", "exactly_once", "ordered"):
            if getattr(rules, key):
                remedy = "choose another model: this one knows only the spans that its filter keeps"
                raise InvalidInput(message(f"{name}", key, "rules about single spans", remedy))
        for t, labels in rules.allowed.items():
            if self.outside not in labels:
                expected = f"{self.outside!r} among the labels, as the filter may keep no span"
                place = f"{name}['allowed'][{t}]"
                raise InvalidInput(message(place, labels, expected, "require a span instead"))

        def spans(some: Any) -> list[tuple[int, int, int]]:
            return [(start, end, self.index[label]) for start, end, label in some]

        return {
            "required": spans(rules.required),
            "forbidden": spans(rules.forbidden),
            "boundaries": rules.boundaries,
            "no_boundaries": rules.no_boundaries,
            "allowed": {t: [self.index[y] for y in some] for t, some in rules.allowed.items()},
        }

    def predict(
        self, *given: Any, rules: Sequence[Rules] | None = None, decoder: str | None = None
    ) -> list[list[Segment]]:
        """Return the best segments."""
        cuts = self.layer.decode_scores(*self.constrained_scores(given, rules), given[1], decoder)
        return [self._read(cut) for cut in cuts]

    def probabilities(
        self,
        states: Tensor,
        lengths: Any,
        extra: Tensor | None,
        found: Gold,
        rules: Sequence[Rules] | None = None,
    ) -> list[list[float]]:
        """Return the probability of each segment."""
        local, path = self.constrained_scores((states, lengths, extra), rules)
        if not self.layer.global_loss:
            chances = local.softmax(-1)
            return [
                [float(chances[b, s, e - s - 1, self.index[label]]) for s, e, label in cut]
                for b, cut in enumerate(found)
            ]
        out = []
        for cut, (rows, graph) in zip(found, self.layer.graphs(local, path, lengths), strict=True):
            likely = graph.marginals().spans.tolist() if len(rows) else []
            known = dict(zip(map(tuple, rows.tolist()), likely, strict=True))
            out.append([known.get((s.start, s.end, self.index[s.label] - 1), 0.0) for s in cut])
        return out

    def n_best(self, *given: Any, rules: Sequence[Rules] | None = None) -> Ranked:
        """Return the n best paths of each sequence, with their probabilities."""
        *batch, n = given
        self.need_paths("predict_n_best")
        graphs = self.layer.graphs(*self.constrained_scores(tuple(batch), rules), batch[1])
        out: Ranked = []
        for _, graph in graphs:
            log_z = graph.log_partition()
            out.append(
                [
                    (self._read(path.segments), float(np.exp(min(0.0, path.score - log_z))))
                    for path in graph.n_best(n)
                ]
            )
        return out

    def sample(
        self, *given: Any, rules: Sequence[Rules] | None = None
    ) -> list[list[list[Segment]]]:
        """Draw n paths of each sequence; sequence b uses the seed plus b."""
        *batch, n, seed = given
        self.need_paths("sample")
        graphs = self.layer.graphs(*self.constrained_scores(tuple(batch), rules), batch[1])
        return [
            [self._read(path.segments) for path in graph.sample(n, (seed + b) % 2**64)]
            for b, (_, graph) in enumerate(graphs)
        ]

    def entropy(self, *given: Any) -> list[float]:
        """Return the entropy over the paths of each sequence, in nats."""
        self.need_paths("uncertainty")
        graphs = self.layer.graphs(*self.constrained_scores(given, None), given[1])
        return [graph.entropy() for _, graph in graphs]

    def need_paths(self, question: str) -> None:
        """Raise if the model of paths was not trained."""
        if not self.layer.global_loss:
            raise InvalidInput(
                f"{question}: got a filtered model without a global loss, which has no "
                "distribution over segmentations; fit it with global_loss=True"
            )

    def _read(self, cut: Sequence[tuple[int, int, int]]) -> list[Segment]:
        return [Segment(s, e, self.labels[y + 1]) for s, e, y in cut]
