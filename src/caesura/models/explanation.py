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
from caesura.models.patterns import named
from caesura.models.structure import blocks_of
from caesura.potentials import OPEN_END, OPEN_START
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.models.answers import Answers

__all__ = ["Explanation", "Reason", "TopFeature", "explain", "top_features"]

SHOWN = 12  # reasons in the text of an explanation
Key = tuple[str, str]  # a feature, and a state, a pair of states or a pattern


class Reason(NamedTuple):
    """What one feature adds to the score of the answer, and to that of the runner-up.

    Examples
    --------
    >>> Reason("word[0]=Leeds", "town", 2.5, 0.5).difference
    2.0
    """

    feature: str
    states: str  # a label, a pair of labels, or a pattern
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
    label: str  # or a tag of a chain; of a history, all its labels
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
        self.patterns = {tuple(pattern): k for k, pattern in enumerate(parameters.patterns)}
        self.plain = w[blocks.patterns].tolist()
        self.sizes = sorted({len(pattern) for pattern in self.patterns})
        self.starts = _by_one(parameters.start, w[blocks.starts])
        self.ends = _by_one(parameters.end, w[blocks.ends])
        outside = model._outside_states(fitted.structure.states, fitted.scheme)
        self.bias = {k: float(model.outside_bias) for k in outside}

    def __call__(self, segments: Sequence[Segment]) -> dict[Key, float]:
        """Return what each feature adds to the score of a path, where it adds something."""
        found: dict[Key, float] = {}

        def add(name: str, states: str, value: float) -> None:
            found[name, states] = found.get((name, states), 0.0) + value

        labels = [self._labels(segments, at) for at in range(len(segments))]
        for at, a, value in self._fired(segments):
            for code, shown in labels[at]:
                add(self.names[a], shown, value * self.weights.get((a, code), 0.0))
        for segment in segments:
            add("outside_bias", segment.label, self.bias.get(self.states[segment.label], 0.0))
        if segments:
            first, last = segments[0].label, segments[-1].label
            add("first", first, self.starts.get(self.states[first], 0.0))
            add("last", last, self.ends.get(self.states[last], 0.0))
        for name, states, value in self._pairs(segments):
            add(name, states, value)
        return {key: value for key, value in found.items() if value}

    def _histories(self, segments: Sequence[Segment], at: int) -> list[tuple[int, str]]:
        """Return the patterns that end in a segment of a path, with their names."""
        out = []
        for size in self.sizes:
            last = segments[max(at + 1 - size, 0) : at + 1]
            k = self.patterns.get(tuple(self.states[segment.label] for segment in last))
            if k is not None and len(last) == size:
                out.append((k, named(range(size), [segment.label for segment in last])))
        return out

    def _labels(self, segments: Sequence[Segment], at: int) -> list[tuple[int, str]]:
        """Return what attributes on a segment of a path may go with, with its name."""
        label, Y = segments[at].label, len(self.states)
        return [
            (self.states[label], label),
            *((Y + k, shown) for k, shown in self._histories(segments, at)),
        ]

    def _fired(self, segments: Sequence[Segment]) -> list[tuple[int, int, float]]:
        """Return the attributes on rows that count, with the segment they count for."""
        out = []
        over = [at for at, segment in enumerate(segments) for _ in range(segment.length)]
        ptr, ids, values, starts, ends, flags = (
            array.tolist() for array in self.corpus.row_attributes(0)
        )
        for r, (begin, end) in enumerate(pairwise(ptr)):
            at = over[r if r < self.T else starts[r - self.T]]
            site = r - self.T
            if site < 0 or _applies(segments[at], starts[site], ends[site], flags[site]):
                out += [(at, ids[k], values[k]) for k in range(begin, end)]
        return out

    def _pairs(self, segments: Sequence[Segment]) -> list[tuple[str, str, float]]:
        """Return what pairs of states and patterns add, by themselves and with attributes."""
        out: list[tuple[str, str, float]] = []
        codes: dict[int, list[tuple[int, str]]] = {}  # of each inner boundary
        Y = len(self.states)
        for at, (before, after) in enumerate(pairwise(segments), 1):
            pair = self.states[before.label] * Y + self.states[after.label]
            shown = f"{before.label} -> {after.label}"
            out.append(("transition", shown, self.pairs.get(pair, 0.0)))
            ending = self._histories(segments, at)
            out += [("pattern", name, self.plain[k]) for k, name in ending if k < len(self.plain)]
            codes[after.start] = [(pair, shown), *((Y * Y + k, name) for k, name in ending)]
        positions, ids, values = (array.tolist() for array in self.corpus.edge_attributes(0))
        for t, a, value in zip(positions, ids, values, strict=True):
            for code, shown in codes.get(t, ()):
                out.append((self.names[a], shown, self.edges.get((a, code), 0.0) * value))
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
    shown = _Codes(states, parameters)
    codes = shown.of_weights
    chosen = np.arange(len(codes))
    if label is not None:
        said = model._labels_of_states(states, fitted.scheme)
        mine = [k for k, state in enumerate(states) if label in (state, said[k])]
        if not mine:
            expected = f"one of {', '.join(dict.fromkeys([*said, *states]))}"
            raise InvalidInput(message("label", label, expected, "correct it"))
        chosen = np.flatnonzero(np.isin(shown.last[codes], mine))
    blocks = blocks_of(parameters)
    w = np.concatenate([fitted.w[blocks.rows], fitted.w[blocks.patterns]])
    order = chosen[np.argsort(-np.abs(w[chosen]), kind="stable")][: whole("n", n, 0)]
    rows = order[order < len(parameters.attribute)]
    names = iter(fitted.encoder.names(parameters.attribute[rows].tolist()))
    return [
        TopFeature(
            next(names) if k < len(parameters.attribute) else "pattern",
            shown.name(int(codes[k])),
            float(w[k]),
        )
        for k in order.tolist()
    ]


class _Codes:
    """What weights go with: states, and from Y on patterns."""

    def __init__(self, states: Sequence[str], parameters: Any) -> None:
        self.states, self.patterns = states, parameters.patterns
        Y = len(states)
        ends = [*range(Y), *(pattern[-1] for pattern in self.patterns)]
        self.last = np.array(ends, np.int32)  # the state in which each ends
        plain = Y + np.arange(parameters.n_plain)
        self.of_weights = np.concatenate([parameters.label, plain])  # of rows, then patterns

    def name(self, code: int) -> str:
        """Return the name of one."""
        Y = len(self.states)
        return self.states[code] if code < Y else named(self.patterns[code - Y], self.states)
