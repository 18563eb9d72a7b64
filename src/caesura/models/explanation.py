"""Why a segment won: the features that speak for it, against the best answer without it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import inference
from caesura.checks import whole
from caesura.documents import Document, as_document
from caesura.errors import InvalidInput, message
from caesura.models.structure import blocks_of
from caesura.potentials import OPEN_END, OPEN_START
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.models.answers import Answers

__all__ = ["Explanation", "Reason", "TopFeature", "explain", "top_features"]

SHOWN = 12  # reasons in the text of an explanation
Key = tuple[str, str]  # a feature, and a state or a pair of states


class Reason(NamedTuple):
    """What one feature adds to the score of the answer, and to that of the runner-up.

    Examples
    --------
    >>> Reason("word[0]=Leeds", "town", 2.5, 0.5).difference
    2.0
    """

    feature: str
    states: str  # a label, or a pair of labels
    answer: float
    runner_up: float

    @property
    def difference(self) -> float:
        """How much it speaks for the answer."""
        return self.answer - self.runner_up


class Explanation(NamedTuple):
    """Why one segment won; ``print`` shows a table.

    Examples
    --------
    >>> reasons = [Reason("word[0]=Leeds", "town", 2.5, 0.5)]
    >>> other = [Segment(2, 4, "street")]
    >>> print(Explanation(Segment(3, 4, "town"), "Leeds", 0.88, other, 2.0, reasons))
    town [3, 4) 'Leeds', probability 0.880, ahead of street [2, 4) by 2.00
    feature        for   answer  runner-up  difference
    word[0]=Leeds  town   +2.50      +0.50       +2.00
    """

    segment: Segment
    text: str
    probability: float
    runner_up: list[Segment]  # segments of the best answer without this one, where they differ
    margin: float  # how much better the answer scores; infinite if there is no other
    reasons: list[Reason]  # all that is in the two scores, by the size of the difference

    def __str__(self) -> str:
        others = ", ".join(f"{s.label} [{s.start}, {s.end})" for s in self.runner_up)
        head = (
            f"{self.segment.label} [{self.segment.start}, {self.segment.end}) {self.text!r}, "
            f"probability {self.probability:.3f}, ahead of {others or 'nothing'} by "
            f"{self.margin:.2f}"
        )
        rows = [("feature", "for", "answer", "runner-up", "difference")]
        rows += [
            (r.feature, r.states, f"{r.answer:+.2f}", f"{r.runner_up:+.2f}", f"{r.difference:+.2f}")
            for r in self.reasons[:SHOWN]
            if r.difference
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([*map(str.ljust, row[:2], widths), *map(str.rjust, row[2:], widths[2:])])
            for row in rows
        ]
        return "\n".join([head, *lines])


class TopFeature(NamedTuple):
    """A feature and its weight.

    Examples
    --------
    >>> TopFeature("word[0]=Leeds", "town", 2.5).weight
    2.5
    """

    feature: str
    label: str  # or a tag of a chain
    weight: float


def explain(model: Answers, x: Any, constraints: Any) -> list[Explanation]:
    """Return an explanation for each predicted segment of one sequence."""
    document = as_document(x, model.tokeniser, "x")
    asked = next(model._asked([document], constraints))
    [p], [best] = asked.potentials, asked.of(inference.viterbi)
    said = model._named(best.segments)
    chances = model._chances(inference.marginals(p), p, said)
    reasons_of = _Reasons(model, document)
    answer = reasons_of(best.segments)
    out = []
    for segment, chance in zip(said, chances, strict=True):
        other = model._runner_up(p, segment)
        against = {} if other is None else reasons_of(other)
        margin = np.inf if other is None else best.score - inference.score(p, other)
        runner_up = sorted(set(model._named(other or ())) - set(said))
        reasons = [
            Reason(*key, answer.get(key, 0.0), against.get(key, 0.0))
            for key in sorted({*answer, *against})
        ]
        reasons.sort(key=lambda reason: -abs(reason.difference))
        text = " ".join(document.tokens[segment.start : segment.end])
        out.append(Explanation(segment, text, chance, runner_up, float(margin), reasons))
    return out


class _Reasons:
    """The features of paths through one sequence, with what each adds."""

    def __init__(self, model: Answers, document: Document) -> None:
        fitted = model._known
        self.states = {state: k for k, state in enumerate(fitted.structure.states)}
        self.corpus = corpus = fitted.encoder.encode([document], False)
        self.T = len(document)
        parameters, w, blocks = fitted.parameters, fitted.w, blocks_of(fitted.parameters)
        rows = parameters.attribute, parameters.label, w[blocks.rows]
        edges = parameters.edge_attribute, parameters.edge_pair, w[blocks.edges]
        on_rows, on_edges = corpus.row_attributes(0)[1], corpus.edge_attributes(0)[1]
        self.weights, self.edges = _by_key(*rows, on_rows), _by_key(*edges, on_edges)
        fired = np.union1d(on_rows, on_edges).tolist()
        self.names = dict(zip(fired, fitted.encoder.names(fired), strict=True))
        self.pairs = _by_one(parameters.transition, w[blocks.transitions])
        self.starts = _by_one(parameters.start, w[blocks.starts])
        self.ends = _by_one(parameters.end, w[blocks.ends])
        outside = model._outside_states(fitted.structure.states, fitted.scheme)
        self.bias = {k: float(model.outside_bias) for k in outside}

    def __call__(self, segments: Sequence[Segment]) -> dict[Key, float]:
        """Return what each feature adds to the score of a path, where it adds something."""
        found: dict[Key, float] = {}

        def add(name: str, states: str, value: float) -> None:
            found[name, states] = found.get((name, states), 0.0) + value

        over = [segment for segment in segments for _ in range(segment.length)]
        for segment, a, value in self._fired(over):
            weight = self.weights.get((a, self.states[segment.label]), 0.0)
            add(self.names[a], segment.label, value * weight)
        for segment in segments:
            add("outside_bias", segment.label, self.bias.get(self.states[segment.label], 0.0))
        if segments:
            first, last = segments[0].label, segments[-1].label
            add("first", first, self.starts.get(self.states[first], 0.0))
            add("last", last, self.ends.get(self.states[last], 0.0))
        for name, states, value in self._pairs(segments):
            add(name, states, value)
        return {key: value for key, value in found.items() if value}

    def _fired(self, over: Sequence[Segment]) -> list[tuple[Segment, int, float]]:
        """Return the attributes on rows that count, with the segment they count for."""
        out = []
        ptr, ids, values, starts, ends, flags = (
            array.tolist() for array in self.corpus.row_attributes(0)
        )
        for r, (begin, end) in enumerate(pairwise(ptr)):
            segment = over[r if r < self.T else starts[r - self.T]]
            if r < self.T or _applies(segment, *(a[r - self.T] for a in (starts, ends, flags))):
                out += [(segment, ids[k], values[k]) for k in range(begin, end)]
        return out

    def _pairs(self, segments: Sequence[Segment]) -> list[tuple[str, str, float]]:
        """Return what pairs of states add, by themselves and with attributes."""
        out, at = [], {}
        for before, after in pairwise(segments):
            pair = self.states[before.label] * len(self.states) + self.states[after.label]
            shown = f"{before.label} -> {after.label}"
            at[after.start] = pair, shown
            out.append(("transition", shown, self.pairs.get(pair, 0.0)))
        positions, ids, values = (array.tolist() for array in self.corpus.edge_attributes(0))
        for t, a, value in zip(positions, ids, values, strict=True):
            if t in at:
                pair, shown = at[t]
                out.append((self.names[a], shown, self.edges.get((a, pair), 0.0) * value))
        return out


def _applies(segment: Segment, start: int, end: int, flags: int) -> bool:
    """Say whether a row that begins inside a segment counts for it."""
    starts = segment.start == start or bool(flags & OPEN_START)
    return starts and (segment.end == end or (bool(flags & OPEN_END) and segment.end >= end))


def _by_key(a: Any, b: Any, w: Any, some: Any) -> dict[tuple[int, int], float]:
    """Return the weights of some attributes."""
    kept = np.isin(a, some)
    pairs = zip(a[kept].tolist(), b[kept].tolist(), strict=True)
    return dict(zip(pairs, w[kept].tolist(), strict=True))


def _by_one(a: Any, w: npt.NDArray[np.float64]) -> dict[int, float]:
    return dict(zip(a.tolist(), w.tolist(), strict=True))


def top_features(model: Answers, label: str | None, n: int) -> list[TopFeature]:
    """Return the features with the largest weights, positive or negative."""
    fitted = model._known
    parameters, states = fitted.parameters, fitted.structure.states
    labels = parameters.label
    chosen = np.arange(len(labels))
    if label is not None:
        said = model._labels_of_states(states, fitted.scheme)
        mine = [k for k, state in enumerate(states) if label in (state, said[k])]
        if not mine:
            expected = f"one of {', '.join(dict.fromkeys([*said, *states]))}"
            raise InvalidInput(message("label", label, expected, "correct it"))
        chosen = np.flatnonzero(np.isin(labels, mine))
    order = chosen[np.argsort(-np.abs(fitted.w[chosen]), kind="stable")][: whole("n", n, 0)]
    names = fitted.encoder.names(parameters.attribute[order].tolist())
    return [
        TopFeature(name, states[int(labels[k])], float(fitted.w[k]))
        for name, k in zip(names, order, strict=True)
    ]
