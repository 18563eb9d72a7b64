"""What makes up the score of a segmentation of a neural model: the network and the features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from caesura.documents import Document
from caesura.errors import Impossible
from caesura.inference.span_graph import SpanGraph
from caesura.models.explanation import Explanation, PathReasons, Reason
from caesura.models.patterns import named
from caesura.neural.filtered_head import FilteredHead
from caesura.neural.heads import LayerHead
from caesura.neural.network import Network
from caesura.neural.structure import Ints
from caesura.segments import Segment

__all__ = ["NetworkReasons", "explain_filtered"]

Added = Iterator[tuple[str, str, float]]  # feature, states, value


class _Features:
    """The declared features that fire at each token of a sequence, with their weights."""

    def __init__(self, network: Network, document: Document) -> None:
        self.fired: list[list[tuple[str, float, int]]] = [[] for _ in document.tokens]
        if network.features is None or not len(document):
            return
        corpus = network.features.encode([document], False)
        ptr, ids, values, *_ = corpus.row_attributes(0)
        names = network.features.names(ids.tolist())
        self.weights = network.weights.weight.detach().cpu().double().numpy()
        for t in range(len(document)):
            self.fired[t] = [
                (names[k], float(values[k]), int(ids[k])) for k in range(ptr[t], ptr[t + 1])
            ]

    def of(self, start: int, end: int, column: int, shown: str) -> Added:
        """Yield what the features of some tokens add for a label."""
        for t in range(start, end):
            for name, value, attribute in self.fired[t]:
                yield name, shown, value * float(self.weights[attribute, column])


class NetworkReasons(PathReasons):
    """What the network, the features and the labels add to the score of each segment of a path.

    Parameters
    ----------
    network : Network
        A fitted network, whose head is not a filtered one.
    document : Document
        The sequence.
    """

    def __init__(self, network: Network, document: Document) -> None:
        head: Any = network.head
        assert isinstance(head, LayerHead)
        super().__init__(max(1, head.layer.order))
        self.tokens, self.order = document.tokens, head.layer.order
        self.index = {state: y for y, state in enumerate(head.states)}
        self.features = _Features(network, document)
        with torch.no_grad():
            states, _, _ = network.states([document])
            scores, parts = head.scores(states, None)  # the network's own
            _, given = head.layer._prepare(scores, [len(document)], None, **parts)
        self.arrays = {name: x.detach().cpu().double().numpy() for name, x in given.items()}

    def _added(self, segments: Sequence[Segment], at: int) -> Added:
        start, end, label = segments[at]
        y, arrays = self.index[label], self.arrays
        if "segments" in arrays:
            yield f"network[{start}:{end}]", label, arrays["segments"][0, start, end - start - 1, y]
        if "tokens" in arrays:
            for t in range(start, end):
                yield f"network[{t}]={self.tokens[t]}", label, arrays["tokens"][0, t, y]
        for name, t in (("starts", start), ("ends", end - 1)):
            if name in arrays:
                shown = f"network.{name}[{t}]={self.tokens[t]}"
                yield shown, label, arrays[name][0, t, y]
        yield from self.features.of(start, end, y, label)
        if start == 0:
            yield "first", label, arrays["start"][y]
        if end == len(self.tokens):
            yield "last", label, arrays["end"][y]
        if start > 0:
            before = segments[at - 1].label
            yield "transition", f"{before} -> {label}", arrays["transition"][self.index[before], y]
        yield from self._of_patterns(segments, at)

    def _of_patterns(self, segments: Sequence[Segment], at: int) -> Added:
        """Yield the scores of histories of three labels or more that end in a segment."""
        offset, Y = 0, len(self.index)
        for size in range(3, self.order + 2):
            last = [segment.label for segment in segments[max(at + 1 - size, 0) : at + 1]]
            if len(last) == size:
                place = 0
                for label in last:
                    place = place * Y + self.index[label]
                yield "pattern", named(range(size), last), self.arrays["patterns"][offset + place]
            offset += Y**size


def explain_filtered(network: Network, document: Document, rules: Any) -> list[Explanation]:
    """Say why each span of a filtered model won, against the best path without it.

    The other path is one through the same graph: the spans that the filter has kept stay.
    """
    head: Any = network.head
    assert isinstance(head, FilteredHead)
    with torch.no_grad():
        given = network.states([document])
        head._need_paths("explain")
        plain = head.layer.span_scores(*given[:2])[1][0].cpu().double().numpy()
        local, path = head._constrained(given, rules)
    [(rows, graph)] = head.layer.graphs(local, path, given[1])
    if not len(rows):
        return []
    values = path[0].cpu().double().numpy()
    s, e, y = rows.T
    scores = values[s, e - s - 1, y]
    pairs = head.layer.transition.detach().cpu().double().numpy()
    best, likely = graph.viterbi().spans, graph.marginals().spans
    named_ = [Segment(int(a), int(b), head.labels[c + 1]) for a, b, c in rows.tolist()]
    features = _Features(network, document)

    def parts(spans: Sequence[int]) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        for place, i in enumerate(spans):
            start, end, label = named_[i]
            column = 1 + len(head.labels) - 1 + int(y[i])
            own = [(f"network[{start}:{end}]", label, plain[start, end - start - 1, y[i]])]
            own += features.of(start, end, column, label)
            if place:
                before = spans[place - 1]
                shown = f"{named_[before].label} -> {label}"
                own.append(("transition", shown, pairs[y[before], y[i]]))
            for name, shown, value in own:
                found[name, shown] = found.get((name, shown), 0.0) + float(value)
        return found

    out, first = [], parts(best)
    for i in best:
        other = _without(rows, scores, pairs, len(document), i)
        second = {} if other is None else parts(other)
        reasons = [
            Reason(*key, first.get(key, 0.0), second.get(key, 0.0))
            for key in sorted({*first, *second})
            if other is None or first.get(key, 0.0) != second.get(key, 0.0)
        ]
        reasons.sort(key=lambda one: -abs(one.difference))
        margin = np.inf if other is None else float(sum(one.difference for one in reasons))
        text = " ".join(document.tokens[named_[i].start : named_[i].end])
        instead = sorted({named_[k] for k in other or ()} - {named_[k] for k in best})
        out.append(Explanation(named_[i], text, float(likely[i]), instead, margin, reasons))
    return out


def _without(rows: Ints, scores: Any, pairs: Any, length: int, i: int) -> list[int] | None:
    """Return the best path that does not have span i; None if each has it."""
    changed = scores.copy()
    changed[i] = -np.inf
    labels = rows[:, 2]
    graph = SpanGraph(rows[:, :2], labels, changed, length, len(pairs), pairs, rule="filtered")
    try:
        return graph.viterbi().spans
    except Impossible:
        return None
