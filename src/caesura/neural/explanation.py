"""Contributions to the score of a segmentation of a neural model: network and features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from caesura.documents import Document
from caesura.models.explanation import Explanation, PathReasons, Reason
from caesura.models.patterns import named
from caesura.neural.filtered_head import FilteredHead
from caesura.neural.heads import LayerHead
from caesura.neural.network import Network
from caesura.segments import Segment

__all__ = ["NetworkReasons", "explain_filtered"]

Added = Iterator[tuple[str, str, float]]  # feature, states, value


class _Features:
    """The declared features that fire at each token of a sequence, with their weights."""

    def __init__(self, network: Network, document: Document) -> None:
        self.fired: list[list[tuple[str, float, int]]] = [[] for _ in document.tokens]
        self.weights: list[npt.NDArray[np.float64]] = []
        if network.features is None or not len(document):
            return
        corpus = network.features.encode([document], False)
        ptr, ids, values, *_ = corpus.row_attributes(0)
        names = network.features.names(ids.tolist())
        weights = network.weights.weight.detach().cpu().double().numpy()
        head: Any = network.head
        self.weights = np.split(weights, head.feature_parts, 1)
        for t in range(len(document)):
            self.fired[t] = [
                (names[k], float(values[k]), int(ids[k])) for k in range(ptr[t], ptr[t + 1])
            ]

    def of(self, start: int, end: int, column: int, shown: str) -> Added:
        """Yield the contributions of features at some tokens to a label."""
        places = (range(start, end), range(start, start + 1), range(end - 1, end))
        for place, prefix, weights in zip(
            places, ("", "first:", "last:"), self.weights, strict=False
        ):
            for t in place:
                for name, value, attribute in self.fired[t]:
                    yield prefix + name, shown, value * float(weights[attribute, column])


class NetworkReasons(PathReasons):
    """The contributions of network, features and labels to the score of each segment.

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
            scores, parts = head.network_scores(states, None)  # without the scores of features
            _, given = head.layer.prepared(scores, [len(document)], None, **parts)
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
        """Yield the scores of label histories of three or more labels that end in a segment."""
        offset, Y = 0, len(self.index)
        for size in range(3, self.order + 2):
            last = [segment.label for segment in segments[max(at + 1 - size, 0) : at + 1]]
            if len(last) == size:
                place = 0
                for label in last:
                    place = place * Y + self.index[label]
                yield "pattern", named(range(size), last), self.arrays["patterns"][offset + place]
            offset += Y**size


class _Paths:
    """The kept spans of one sequence, and the contributions to path scores."""

    def __init__(self, network: Network, document: Document, rules: Any) -> None:
        head: Any = network.head
        assert isinstance(head, FilteredHead)
        with torch.no_grad():
            given = network.states([document])
            self.graphs = head.graphs(given, rules)
            rows = self.graphs.rows
            own = head.layer.scored(*given[:2])[1].at(rows)  # without the scores of features
        self.plain, self.rows, self.labels = own.cpu().double().tolist(), rows, rows[:, 3]
        self.pairs = head.layer.transition.detach().cpu().double().numpy()
        self.segments = [Segment(a, b, head.labels[y + 1]) for _, a, b, y in rows.tolist()]
        self.features, self.n_labels = _Features(network, document), len(head.labels) - 1

    def parts(self, path: Sequence[int]) -> dict[tuple[str, str], float]:
        """Return the contributions to the score of a path."""
        found: dict[tuple[str, str], float] = {}
        for place, i in enumerate(path):
            (start, end, label), y = self.segments[i], int(self.labels[i])
            own = [(f"network[{start}:{end}]", label, self.plain[i])]
            own += self.features.of(start, end, 1 + self.n_labels + y, label)
            if place:
                before = path[place - 1]
                shown = f"{self.segments[before].label} -> {label}"
                own.append(("transition", shown, self.pairs[self.labels[before], y]))
            for name, shown, value in own:
                found[name, shown] = found.get((name, shown), 0.0) + float(value)
        return found


def explain_filtered(network: Network, document: Document, rules: Any) -> list[Explanation]:
    """Explain each span of a filtered model, compared with the best path without it.

    The other path is one through the same graph: the spans that the filter has kept stay.  Where
    every path has the span, the margin is infinite, and the reasons are what the span scores.
    """
    head: Any = network.head
    head.need_paths("explain")
    paths = _Paths(network, document, rules)
    if not paths.segments:
        return []
    best, likely = paths.graphs.best()[0][0], paths.graphs.marginals()[1]
    out, first = [], paths.parts(best)
    for i in best:
        other = paths.graphs.best_without(i)
        mine, second = (paths.parts([i]), {}) if other is None else (first, paths.parts(other))
        keys = sorted(k for k in {*mine, *second} if mine.get(k, 0.0) != second.get(k, 0.0))
        reasons = [Reason(*key, mine.get(key, 0.0), second.get(key, 0.0)) for key in keys]
        reasons.sort(key=lambda one: -abs(one.difference))
        margin = np.inf if other is None else math.fsum(one.difference for one in reasons)
        segment = paths.segments[i]
        text = " ".join(document.tokens[segment.start : segment.end])
        instead = {paths.segments[k] for k in other or ()} - {paths.segments[k] for k in best}
        out.append(Explanation(segment, text, float(likely[i]), sorted(instead), margin, reasons))
    return out
