"""Explanations: the features of a segment compared with the best alternative."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.documents import Document
from caesura.errors import CaesuraError, Impossible, InvalidInput, message
from caesura.inference.alternatives import Detour
from caesura.models.estimator import fitted_of
from caesura.models.fitted import blocks_of, outside_biases
from caesura.models.patterns import named
from caesura.models.rules import read_segments
from caesura.notebooks import Listed, card, table
from caesura.segments import Segment
from caesura.segments.cores import applies

if TYPE_CHECKING:
    from caesura.models.diagnostics import Answers

__all__ = [
    "COLUMNS",
    "Contest",
    "Explained",
    "Explanation",
    "FeatureReasons",
    "PathReasons",
    "Reason",
    "about_segment",
    "detour_to",
    "explanations",
    "of_one",
    "segment_of",
]

SHOWN = 12  # reasons listed in a printed explanation
COLUMNS = ("feature", "for", "answer", "runner-up", "difference")
_START = attrgetter("start")
Explained = tuple[Segment, float, Detour | None]  # (segment, probability, detour without it)
Key = tuple[str, str]  # a feature, and a state, a pair of states or a pattern


class Reason(NamedTuple):
    """The contributions of one feature to the answer and to the runner-up, where they differ.

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
        """The contribution in favour of the answer."""
        return self.answer - self.runner_up


class Explanation(NamedTuple):
    """The explanation of one segment; ``print`` shows a table.

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
    runner_up: list[Segment]  # segments of the best answer without this segment, where it differs
    margin: float  # how much better the best answer with it scores; infinite if there is no other
    reasons: list[Reason]  # contributions that differ, largest first; they sum to the margin

    def heading(self) -> tuple[str, str]:
        """Return the segment with its probability, and the runner-up with its distance."""
        start, end, label = self.segment
        text = f" {self.text!r}" if self.text.strip() else ""  # rows of numbers have no text
        segment = f"{label} [{start}, {end}){text}, probability {self.probability:.3f}"
        if math.isinf(self.margin):
            return segment, "no alternative is allowed"
        others = ", ".join(f"{s.label} [{s.start}, {s.end})" for s in self.runner_up)
        side = "ahead of" if self.margin >= 0 else "behind"
        return segment, f"{side} {others or 'leaving it outside'} by {abs(self.margin):.2f}"

    def rows(self, n: int = SHOWN) -> tuple[list[tuple[str, ...]], list[Reason]]:
        """Return the n strongest reasons as rows of text under COLUMNS, and the other reasons."""
        told = [reason for reason in self.reasons if reason.difference]
        rows = [(*r[:2], *(f"{x:+.2f}" for x in (*r[2:], r.difference))) for r in told[:n]]
        return rows, told[n:]

    def __str__(self) -> str:
        shown, rest = self.rows()
        rows = [COLUMNS, *shown]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([*map(str.ljust, row[:2], widths), *map(str.rjust, row[2:], widths[2:])])
            for row in rows
        ]
        if rest:
            together = sum(reason.difference for reason in rest)
            lines.append(f"and {len(rest)} more in .reasons, together {together:+.2f}")
        return "\n".join([", ".join(self.heading()), *lines])

    def _repr_html_(self) -> str:
        """Show the features for and against the segment in a notebook."""
        return card(", ".join(self.heading()), table("", [COLUMNS, *self.rows()[0]]))


class Contest(NamedTuple):
    """The best path of a sequence, and its difference to the best path without each segment."""

    path: list[Segment]  # segments of states
    said: list[Segment]  # segments of labels, without outside
    chances: list[float]  # probabilities of `said`
    others: list[Detour | None]  # for each of `said`, the best path without it


@contextmanager
def of_one() -> Iterator[None]:
    """Rename X to x in errors about a single sequence."""
    try:
        yield
    except CaesuraError as error:
        if error.argument != "X":
            raise
        raise error.changed(argument="x", index=None) from None


def segment_of(given: Sequence[Any], said: Sequence[Segment], outside: str) -> Segment:
    """Return the segment that an explanation is asked for, or raise.

    Examples
    --------
    >>> segment_of((0, 1, "town"), [], "O")
    Segment(start=0, end=1, label='town')
    """
    with about_segment(given):
        segment = Segment(*read_segments([given], "segments").required[0])
    if segment.label == outside and segment not in said:
        remedy = "ask about a segment that is in the answer"
        raise InvalidInput(message("segment", given, "another label than outside", remedy))
    return segment


@contextmanager
def about_segment(given: Sequence[Any]) -> Iterator[None]:
    """Name the segment in errors about it, and where no answer under constraints has it."""
    try:
        yield
    except (Impossible, InvalidInput) as error:
        if error.argument == "segments":
            raise error.changed(place="segment") from None
        expected = "one that the model, its max_length and the constraints allow"
        remedy = "ask about another, or relax them"
        raise Impossible(message("segment", given, expected, remedy)) from None


def explanations(
    document: Document,
    contest: Contest,
    reasons_of: PathReasons,
    named: Callable[[Sequence[Segment]], list[Segment]],
    asked: Explained | None = None,
) -> list[Explanation]:
    """Return an explanation for each segment of the best answer, or for one segment.

    Parameters
    ----------
    document : Document
        The sequence.
    contest : Contest
        The best path and its rivals.
    reasons_of : PathReasons
        The function that returns the contributions to the scores of paths.
    named : callable
        The decoding of segments of states into labelled segments.
    asked : Explained, optional
        A segment of the path, if only this one is to be explained.
    """
    out: list[Explanation] = Listed()
    for segment, chance, other in zip(*contest[1:], strict=True) if asked is None else [asked]:
        reasons = reasons_of(contest.path, other or Detour(0, [], 0))
        # More accurate than the difference of the two scores, which are large for a long sequence.
        margin = np.inf if other is None else math.fsum(r.difference for r in reasons)
        runner_up = [] if other is None else _new_segments(contest, other, named)
        text = document.text_of(segment)
        out.append(Explanation(segment, text, chance, runner_up, margin, reasons))
    return out


def _new_segments(
    contest: Contest,
    other: Detour,
    named: Callable[[Sequence[Segment]], list[Segment]],
) -> list[Segment]:
    """Return the segments of another path that are not in the best one.

    Tags say segments together with their neighbours, so the best path's segments beside the
    difference are read again, and nothing beyond them.
    """
    path, said = contest.path, contest.said
    first, last = other.same_first, len(path) - other.same_last
    a = path[first].start if first < len(path) else 0
    b = path[last - 1].end if last else 0
    near = slice(max(bisect_left(said, a, key=_START) - 1, 0), bisect_right(said, b, key=_START))
    beside = [s for s in said[near] if s.end >= a]
    start, end = min([a, *(s.start for s in beside)]), max([b, *(s.end for s in beside)])
    while first > 0 and path[first - 1].start >= start:
        first -= 1
    while last < len(path) and path[last].end <= end:
        last += 1
    same = len(path) - other.same_last
    states = [*path[first : other.same_first], *other.segments, *path[same:last]]
    return sorted(set(named(states)) - set(beside))


def detour_to(path: Sequence[Segment], other: Sequence[Segment]) -> Detour:
    """Return the difference between a path and another one of the same sequence.

    Examples
    --------
    >>> path = [Segment(0, 1, "a"), Segment(1, 2, "b"), Segment(2, 3, "a")]
    >>> detour_to(path, [Segment(0, 1, "a"), Segment(1, 3, "c")])
    Detour(same_first=1, segments=[Segment(start=1, end=3, label='c')], same_last=0)
    """
    most = min(len(path), len(other))
    first = next((k for k in range(most) if path[k] != other[k]), most)
    left = most - first
    last = next((k for k in range(left) if path[-1 - k] != other[-1 - k]), left)
    return Detour(first, list(other[first : len(other) - last]), last)


class PathReasons:
    """The contributions to the scores of paths through one sequence.

    A score is a sum over the segments of a path, each with the labels just before it;
    parts that two paths share are skipped.
    """

    def __init__(self, depth: int) -> None:  # previous labels that affect a segment's score
        self.depth = depth
        self._known: dict[tuple[Segment, ...], dict[Key, float]] = {}

    def __call__(self, answer: list[Segment], other: Detour) -> list[Reason]:
        """Return the contributions in which two paths differ."""
        last = len(answer) - other.same_last
        before = answer[max(other.same_first - self.depth, 0) : other.same_first]
        after = answer[last : last + self.depth]
        sums = []
        for differing in (answer[other.same_first : last], other.segments):
            path = [*before, *differing, *after]
            added: dict[Key, float] = {}
            for at in range(len(before), len(path)):
                for key, value in self._of(path, at).items():
                    added[key] = added.get(key, 0.0) + value
            sums.append(added)
        first, second = sums
        found = [
            Reason(*key, first.get(key, 0.0), second.get(key, 0.0))
            for key in sorted({*first, *second})
        ]
        return sorted(found, key=lambda reason: -abs(reason.difference))

    def _of(self, segments: list[Segment], at: int) -> dict[Key, float]:
        """Return the contribution of each feature to one segment of a path."""
        key = tuple(segments[max(at - self.depth, 0) : at + 1])
        if key not in self._known:
            found: dict[Key, float] = {}
            for name, states, value in self._added(key, len(key) - 1):
                if value:
                    found[name, states] = found.get((name, states), 0.0) + float(value)
            self._known[key] = found
        return self._known[key]

    def _added(self, segments: Sequence[Segment], at: int) -> Iterator[tuple[str, str, float]]:
        """Yield the contributions to a segment: feature, states, value."""
        raise NotImplementedError


class FeatureReasons(PathReasons):
    """The contributions of features to paths through one sequence."""

    def __init__(self, model: Answers, document: Document) -> None:
        fitted = fitted_of(model)
        self.states = {state: k for k, state in enumerate(fitted.structure.states)}
        corpus = fitted.encoder.encode([document], False)
        self.T = len(document)
        parameters, w, blocks = fitted.parameters, fitted.w, blocks_of(fitted.parameters)
        rows, on_edges = corpus.row_attributes(0), corpus.edge_attributes(0)
        self.weights = _by_key(parameters.attribute, parameters.label, w[blocks.rows], rows[1])
        pairs = parameters.edge_attribute, parameters.edge_pair, w[blocks.edges]
        self.edges = _by_key(*pairs, on_edges[1])
        fired = np.union1d(rows[1], on_edges[1]).tolist()
        self.names = dict(zip(fired, fitted.encoder.names(fired), strict=True))
        self.ptr, self.ids, self.values = (array.tolist() for array in rows[:3])
        self.on_edges: dict[int, list[tuple[int, float]]] = {}  # boundary -> (attribute, value)
        for t, *fires in zip(*(array.tolist() for array in on_edges), strict=True):
            self.on_edges.setdefault(t, []).append((fires[0], fires[1]))
        self.sites: dict[int, list[tuple[int, int, int, int]]] = {}  # first token -> sites
        for site, (start, *rest) in enumerate(zip(*map(np.ndarray.tolist, rows[3:]), strict=True)):
            self.sites.setdefault(start, []).append((self.T + site, start, rest[0], rest[1]))
        self.pairs = _by_one(parameters.transition, w[blocks.transitions])
        self.patterns = {tuple(pattern): k for k, pattern in enumerate(parameters.patterns)}
        self.plain = w[blocks.patterns].tolist()
        self.sizes = sorted({len(pattern) for pattern in self.patterns})
        super().__init__(max([2, *self.sizes]) - 1)
        self.starts = _by_one(parameters.start, w[blocks.starts])
        self.ends = _by_one(parameters.end, w[blocks.ends])
        outside = model.coding.outside_states(fitted.structure.states, fitted.scheme)
        self.bias = outside_biases(fitted.structure, outside, float(model.outside_bias))

    def _added(self, segments: Sequence[Segment], at: int) -> Iterator[tuple[str, str, float]]:
        """Yield the contributions to a segment: feature, states, value."""
        start, end, label = segment = segments[at]
        state, Y = self.states[label], len(self.states)
        ending = self._histories(segments, at)
        codes = [(state, label), *((Y + k, shown) for k, shown in ending)]
        for row in self._rows(segment):
            for k in range(self.ptr[row], self.ptr[row + 1]):
                a = self.ids[k]
                for code, shown in codes:
                    yield self.names[a], shown, self.values[k] * self.weights.get((a, code), 0.0)
        if self.bias is not None:
            yield "outside_bias", label, self.bias[state]
        if start == 0:
            yield "first", label, self.starts.get(state, 0.0)
        if end == self.T:
            yield "last", label, self.ends.get(state, 0.0)
        if start > 0:
            before = segments[at - 1].label
            pair, shown = self.states[before] * Y + state, f"{before} -> {label}"
            yield "transition", shown, self.pairs.get(pair, 0.0)
            for k, name in ending:
                yield "pattern", name, self.plain[k] if k < len(self.plain) else 0.0
            codes = [(pair, shown), *((Y * Y + k, name) for k, name in ending)]
            for a, value in self.on_edges.get(start, ()):
                for code, shown in codes:
                    yield self.names[a], shown, value * self.edges.get((a, code), 0.0)

    def _rows(self, segment: Segment) -> Iterator[int]:
        """Yield the rows that apply to a segment."""
        for t in range(segment.start, segment.end):
            yield t
            for row, start, end, flags in self.sites.get(t, ()):
                if applies(start, end, flags, segment.start, segment.end):
                    yield row

    def _histories(self, segments: Sequence[Segment], at: int) -> list[tuple[int, str]]:
        """Return the named patterns that end in a segment of a path."""
        out = []
        for size in self.sizes:
            last = segments[max(at + 1 - size, 0) : at + 1]
            k = self.patterns.get(tuple(self.states[segment.label] for segment in last))
            if k is not None and len(last) == size:
                out.append((k, named(range(size), [segment.label for segment in last])))
        return out


def _by_key(a: Any, b: Any, w: Any, some: Any) -> dict[tuple[int, int], float]:
    """Return the weights of some attributes by key."""
    kept = np.isin(a, some)
    pairs = zip(a[kept].tolist(), b[kept].tolist(), strict=True)
    return dict(zip(pairs, w[kept].tolist(), strict=True))


def _by_one(a: Any, w: npt.NDArray[np.float64]) -> dict[int, float]:
    return dict(zip(a.tolist(), w.tolist(), strict=True))
