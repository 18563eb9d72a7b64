"""The head of a filtered semi-CRF: labelled segments from kept spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.inference.problems import Rule
from caesura.models.rules import OF_LABELS, Rules, state_rules
from caesura.models.targets import known_labels
from caesura.neural.filtered import FilteredSemiCRF
from caesura.neural.filtered_marginals import FilteredMarginals
from caesura.neural.heads import Gold, Head, Ranked, Target
from caesura.neural.kept_graphs import Graphs
from caesura.neural.lattice import barred_segments, spread
from caesura.neural.path_scores import PathScores
from caesura.neural.structure import Structure, constraints_of, with_rules
from caesura.neural.targets import known_segments
from caesura.segments import Segment

__all__ = ["Asked", "FilteredHead"]

Given = tuple[Tensor, Any, Tensor | None]  # token vectors, lengths, scores of features
Asked = tuple[int, Rules]  # index of a sequence in X, and the constraints on its answers


class FilteredHead(Head):
    """A filtered semi-CRF.

    Probabilities are those of the global model; without a global loss, those of the local
    classifier.
    """

    def __init__(self, size: int, labels: Sequence[str], outside: str, **options: Any) -> None:
        super().__init__(labels, outside)
        self.layer = FilteredSemiCRF(size, len(labels), **options)
        self.n_scores = 3 * (1 + 2 * len(labels))  # local scores, null first, then global scores
        self._sizes: list[tuple[int, int]] = []  # sizes of the graphs of training sequences

    def scores(
        self, states: Tensor, lengths: Any, extra: Tensor | None
    ) -> tuple[Tensor, PathScores]:
        """Return the local span scores, and the global ones on demand."""
        own = None if extra is None else spread(extra, self.layer.max_width)
        return self.layer.scored(states, lengths, own)

    def loss(
        self, states: Tensor, lengths: Any, gold: Sequence[Target], extra: Tensor | None
    ) -> Tensor:
        """Return the total loss of each sequence."""
        rows = [
            (b, s.start, s.end, self.index[s.label] - 1)
            for b, one in enumerate(gold)
            for s in known_segments(one)
            if s.label != self.outside
        ]
        table = torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)
        possible = None
        if any(isinstance(one, Partial) for one in gold):
            possible = self._possible(gold, lengths, states.shape[1])
        scores = self.scores(states, lengths, extra)
        losses = self.layer.losses(*scores, lengths, table, possible)
        if self.training:
            self._sizes += zip(losses.nodes, losses.arcs, strict=True)
        return losses.total

    def _possible(self, gold: Sequence[Target], lengths: Any, T: int) -> npt.NDArray[np.bool_]:
        """Return the labels that spans may have in addition to the gold ones, (B, T, K, Y)."""
        K, Y = self.layer.max_width, self.layer.n_labels
        rules: list[dict[str, Any]] = []
        for b, one in enumerate(gold):
            known = one if isinstance(one, Partial) else Partial()
            hint = known_labels(known, int(lengths[b]), self.labels, self.outside, "y")
            rules.append(constraints_of(*hint))
        found: npt.NDArray[np.bool_] = ~self._barred(rules, lengths, T)
        for b, one in enumerate(gold):
            if not isinstance(one, Partial):
                found[b] = False
                continue
            for start, end, label in one.segments:
                if label != self.outside:  # it is gold, not an alternative to null
                    found[b, start, end - start - 1] = False
        assert found.shape == (len(gold), T, K, Y)
        return found

    def _barred(self, rules: list[dict[str, Any]], lengths: Any, T: int) -> Any:
        """Return the spans that constraints on tokens and boundaries forbid, (B, T, K, Y)."""
        K, Y = self.layer.max_width, self.layer.n_labels
        # The labels of the structure are those of this head, outside first.
        structure = Structure(np.array(lengths, np.int64), T, Y + 1, K)
        return barred_segments(with_rules(structure, rules), K)[..., 1:]

    def mean_size(self) -> tuple[float, float] | None:
        """Return the mean numbers of kept spans and arcs since the last call, or None."""
        sizes, self._sizes = self._sizes, []
        if not sizes:
            return None
        nodes, arcs = np.mean(sizes, axis=0).tolist()
        return nodes, arcs

    def constrained_scores(
        self, given: Given, rules: Sequence[Asked] | None
    ) -> tuple[Tensor, PathScores]:
        """Return span scores, with forbidden spans at a local score of -inf.

        Of a required span it is null that is forbidden, so that the filter keeps it.
        """
        states, lengths, extra = given
        local, path = self.scores(states, lengths, extra)
        if rules is None:
            return local, path
        K = self.layer.max_width
        listed = [self._indexed(one, f"constraints[{i}]") for i, one in rules]
        barred = self._barred(listed, lengths, states.shape[1])
        local = local.clone()
        local[..., 1:].masked_fill_(torch.from_numpy(barred).to(local.device), -torch.inf)
        for b, (i, one) in enumerate(rules):
            for start, end, _ in one.required:
                if end - start > K:
                    expected = f"at most max_length={K} tokens"
                    place = f"constraints[{i}]['required']"
                    raise InvalidInput(message(place, (start, end), expected, "leave it out"))
                local[b, start, end - start - 1, 0] = -torch.inf
        return local, path

    def _indexed(self, rules: Rules, name: str) -> dict[str, Any]:
        """Return constraints on single spans by label index."""
        for t, labels in rules.allowed.items():
            if self.outside not in labels:
                expected = f"{self.outside!r} among the labels, as the filter may keep no span"
                place = f"{name}['allowed'][{t}]"
                raise InvalidInput(message(place, labels, expected, "require a span instead"))
        inside = {t for start, end, _ in rules.required for t in range(start + 1, end)}
        for t in rules.no_boundaries:
            if t not in inside:
                expected = "a boundary inside a required span, as the filter may keep none over it"
                place = f"{name}['no_boundaries']"
                raise InvalidInput(message(place, t, expected, "require a span instead"))

        def spans(some: Any) -> list[tuple[int, int, int]]:
            return [(start, end, self.index[label]) for start, end, label in some]

        return {
            "required": spans(rules.required),
            "forbidden": spans(rules.forbidden),
            "boundaries": rules.boundaries,
            "no_boundaries": rules.no_boundaries,
            "allowed": {t: [self.index[y] for y in some] for t, some in rules.allowed.items()},
        }

    def _of_labels(self, rules: Sequence[Asked] | None) -> list[tuple[Rule, ...]] | None:
        """Return the label constraints of each sequence."""
        if rules is None:
            return None
        found = []
        for i, one in rules:
            for key in OF_LABELS:
                if self.outside in getattr(one, key):
                    expected = f"labels of segments: text outside, {self.outside!r}, is no span"
                    place = f"constraints[{i}][{key!r}]"
                    raise InvalidInput(message(place, self.outside, expected, "leave it out"))
            found.append(tuple(state_rules(one, self.labels[1:], None, f"constraints[{i}]").rules))
        return found

    def graphs(self, given: Given, rules: Sequence[Asked] | None) -> Graphs:
        """Return the graphs of the kept spans."""
        scores = self.constrained_scores(given, rules)
        return self.layer.kept(*scores, given[1], self._of_labels(rules))

    def predict(
        self, *given: Any, rules: Sequence[Asked] | None = None, decoder: str | None = None
    ) -> list[list[Segment]]:
        """Return the best segments."""
        scores, of_labels = self.constrained_scores(given, rules), self._of_labels(rules)
        cuts = self.layer.decode_scores(*scores, given[1], decoder, of_labels)
        return [self._read(cut) for cut in cuts]

    def probabilities(
        self,
        states: Tensor,
        lengths: Any,
        extra: Tensor | None,
        found: Gold,
        rules: Sequence[Asked] | None = None,
    ) -> list[list[float]]:
        """Return the probability of each segment."""
        if not self.layer.global_loss:
            chances = self.constrained_scores((states, lengths, extra), rules)[0].softmax(-1)
            return [
                [float(chances[b, s, e - s - 1, self.index[label]]) for s, e, label in cut]
                for b, cut in enumerate(found)
            ]
        graphs = self.graphs((states, lengths, extra), rules)
        likely = graphs.marginals()[1].tolist()
        known = dict(zip(map(tuple, graphs.rows.tolist()), likely, strict=True))
        return [
            [known.get((b, s.start, s.end, self.index[s.label] - 1), 0.0) for s in cut]
            for b, cut in enumerate(found)
        ]

    def marginals(
        self, *given: Any, rules: Sequence[Asked] | None = None
    ) -> list[FilteredMarginals]:
        """Return the marginals of the kept spans of each sequence."""
        self.need_paths("predict_marginals")
        graphs = self.graphs(given, rules)
        log_z, likely = (array.tolist() for array in graphs.marginals())
        spans: list[list[tuple[Segment, float]]] = [[] for _ in log_z]
        for (b, *span), p in zip(graphs.rows.tolist(), likely, strict=True):
            spans[b].append((self._read([span])[0], p))
        lengths = graphs.lengths.tolist()
        return [
            FilteredMarginals(z, n, tuple(self.labels), some)
            for z, n, some in zip(log_z, lengths, spans, strict=True)
        ]

    def n_best(self, *given: Any, rules: Sequence[Asked] | None = None) -> Ranked:
        """Return the n best paths of each sequence, with their probabilities."""
        *batch, n = given
        self.need_paths("predict_n_best")
        ranked = self.graphs(tuple(batch), rules).ranked(n)
        return [[(self._read(cut), p) for cut, p in some] for some in ranked]

    def sample(
        self, *given: Any, rules: Sequence[Asked] | None = None
    ) -> list[list[list[Segment]]]:
        """Draw n paths of each sequence; sequence b uses ``seed + b``."""
        *batch, n, seed = given
        self.need_paths("sample")
        drawn = self.graphs(tuple(batch), rules).drawn(n, seed)
        return [[self._read(cut) for cut in some] for some in drawn]

    def entropy(self, *given: Any) -> list[float]:
        """Return the entropy over the paths of each sequence, in nats."""
        self.need_paths("uncertainty")
        return list(map(float, self.graphs(given, None).entropy()))

    def need_paths(self, question: str) -> None:
        """Raise if the global model was not trained."""
        if not self.layer.global_loss:
            raise InvalidInput(
                place=question,
                got="a filtered model without a global loss, which has no distribution over "
                "segmentations",
                remedy="fit it with global_loss=True",
            )

    def _read(self, cut: Sequence[Sequence[int]]) -> list[Segment]:
        return [Segment(s, e, self.labels[y + 1]) for s, e, y in cut]
