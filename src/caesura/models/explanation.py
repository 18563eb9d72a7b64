"""Why a segment won: the features that speak for it, against the best answer without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from caesura import inference, render
from caesura.errors import Impossible, InvalidInput, message
from caesura.models.structure import Fitted
from caesura.potentials import OPEN_END, OPEN_START
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.models.base import Model

__all__ = ["Explanation", "Reason", "TopFeature", "explain", "top_features"]


class Reason(NamedTuple):
    """What one feature adds to the score of the answer, and to that of the runner-up."""

    feature: str
    states: str  # a label, or a pair of labels
    answer: float
    runner_up: float

    @property
    def difference(self) -> float:
        """How much it speaks for the answer."""
        return self.answer - self.runner_up


class Explanation(NamedTuple):
    """Why one segment won."""

    segment: Segment
    text: str
    probability: float
    runner_up: list[Segment]  # the best segments without this one; empty if there is no other way
    margin: float  # how much better the answer scores
    reasons: list[Reason]  # by the size of their difference

    def __str__(self) -> str:
        others = ", ".join(f"{s.label} {s.start}-{s.end}" for s in self.runner_up) or "nothing else"
        head = (
            f"{self.segment.label} [{self.segment.start}, {self.segment.end}) {self.text!r}, "
            f"probability {self.probability:.3f}, ahead of {others} by {self.margin:.2f}"
        )
        rows = [
            (reason.feature, reason.states, f"{reason.answer:+.2f}", f"{reason.runner_up:+.2f}",
             f"{reason.difference:+.2f}")
            for reason in self.reasons[:12]
        ]
        columns = ("feature", "for", "answer", "runner-up", "difference")
        widths = [max(len(row[k]) for row in [columns, *rows]) for k in range(5)]
        lines = [
            "  ".join(cell.ljust(w) if k < 2 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True)))
            for row in [columns, *rows]
        ]
        return "\n".join([head, *lines])


class TopFeature(NamedTuple):
    """A feature and its weight."""

    feature: str
    label: str
    weight: float


Key = tuple[str, str]


def explain(model: Model, x: Any, constraints: Any) -> list[Explanation]:
    """Return an explanation for each predicted segment of one sequence."""
    fitted = model._known
    document = model._documents([x], 0)[0]
    p = model._all_potentials([document], constraints)[0]
    best = inference.viterbi(p)
    marginals = inference.marginals(p)
    reasons_of = _Reasons(model, document)
    answer = reasons_of(best.segments)
    out = []
    for segment in model._named(best.segments):
        mine = [s for s in best.segments if segment.start <= s.start < segment.end]
        other = p.copy()
        other.constrain(forbidden=mine[:1] if len(mine) == 1 else [])
        if len(mine) > 1:  # tags: forbid this way of tagging by its first token's tag
            first = mine[0]
            left = [k for k, state in enumerate(fitted.structure.states) if state != first.label]
            other.constrain(allowed={first.start: left})
        try:
            second = inference.viterbi(other)
        except Impossible:
            runner_up, against, margin = [], {}, float("inf")
        else:
            named = set(model._named(second.segments)) - set(model._named(best.segments))
            runner_up = sorted(named)
            against, margin = reasons_of(second.segments), best.score - second.score
        keys = sorted(
            {*answer, *against}, key=lambda k: -abs(answer.get(k, 0.0) - against.get(k, 0.0))
        )
        reasons = [Reason(*key, answer.get(key, 0.0), against.get(key, 0.0)) for key in keys]
        text = " ".join(document.tokens[segment.start : segment.end])
        chance = model._chance(marginals, p, segment)  # type: ignore[attr-defined]
        kept = [r for r in reasons if abs(r.difference) > 1e-12]
        out.append(Explanation(segment, text, chance, runner_up, margin, kept))
    return out


class _Reasons:
    """The features of paths through one sequence, with what each adds."""

    def __init__(self, model: Model, document: Any) -> None:
        self.fitted = fitted = model._known
        self.corpus = fitted.encoder.encode([document], False)
        self.T = len(document)
        parameters, w = fitted.parameters, fitted.w
        at = len(parameters.attribute)
        self.weights = _by_key(parameters.attribute, parameters.label, w)
        self.edges = _by_key(parameters.edge_attribute, parameters.edge_pair, w[at:])
        at += len(parameters.edge_attribute)
        self.pairs = dict(zip(parameters.transition.tolist(), w[at:].tolist(), strict=False))
        at += len(parameters.transition)
        self.starts = dict(zip(parameters.start.tolist(), w[at:].tolist(), strict=False))
        at += len(parameters.start)
        self.ends = dict(zip(parameters.end.tolist(), w[at:].tolist(), strict=False))

    def __call__(self, segments: Sequence[Segment]) -> dict[Key, float]:
        """Return what each feature adds to the score of a path."""
        fitted, states = self.fitted, self.fitted.structure.states
        index = {state: k for k, state in enumerate(states)}
        over = [segment for segment in segments for _ in range(segment.length)]
        found: dict[tuple[int, int], float] = {}
        ptr, ids, values, starts, ends, flags = self.corpus.row_attributes(0)
        for r in range(len(ptr) - 1):
            if r < self.T:
                segment, fits = over[r], True
            else:
                s, e, flag = int(starts[r - self.T]), int(ends[r - self.T]), int(flags[r - self.T])
                segment = over[s]
                fits = (segment.start == s or bool(flag & OPEN_START)) and (
                    segment.end == e or (bool(flag & OPEN_END) and segment.end >= e)
                )
            if not fits:
                continue
            y = index[segment.label]
            for k in range(int(ptr[r]), int(ptr[r + 1])):
                weight = self.weights.get((int(ids[k]), y), 0.0)
                key = (int(ids[k]), y)
                found[key] = found.get(key, 0.0) + weight * float(values[k])
        names = dict(zip(found, fitted.encoder.names(a for a, _ in found), strict=True))
        out: dict[Key, float] = {}
        for key, value in found.items():
            shown = (names[key], states[key[1]])
            out[shown] = out.get(shown, 0.0) + value
        self._add_pairs(segments, index, out)
        return out

    def _add_pairs(
        self, segments: Sequence[Segment], index: dict[str, int], out: dict[Key, float]
    ) -> None:
        """Add what pairs of states, the first and the last state add."""
        if not segments:
            return
        Y = len(index)
        first, last = segments[0].label, segments[-1].label

        def add(name: str, states: str, value: float) -> None:
            out[name, states] = out.get((name, states), 0.0) + value

        add("first", first, self.starts.get(index[first], 0.0))
        add("last", last, self.ends.get(index[last], 0.0))
        boundaries = {}
        for before, after in zip(segments, segments[1:], strict=False):
            pair = index[before.label] * Y + index[after.label]
            boundaries[after.start] = (pair, f"{before.label} -> {after.label}")
            add("transition", boundaries[after.start][1], self.pairs.get(pair, 0.0))
        for t, a, value in zip(*self.corpus.edge_attributes(0), strict=True):
            if int(t) in boundaries:
                pair, shown = boundaries[int(t)]
                weight = self.edges.get((int(a), pair), 0.0)
                add(self.fitted.encoder.name(int(a)), shown, weight * float(value))


def _by_key(a: Any, b: Any, w: Any) -> dict[tuple[int, int], float]:
    return dict(zip(zip(a.tolist(), b.tolist(), strict=True), w.tolist(), strict=False))


def top_features(fitted: Fitted, label: str | None, n: int) -> list[TopFeature]:
    """Return the features with the largest weights, positive or negative."""
    parameters, states = fitted.parameters, fitted.structure.states
    labels = parameters.label
    chosen = np.arange(len(labels))
    if label is not None:
        mine = [k for k, state in enumerate(states) if label in (state, state.partition("-")[2])]
        if not mine:
            expected = f"one of {', '.join(states)}"
            raise InvalidInput(message("label", label, expected, "correct it"))
        chosen = np.flatnonzero(np.isin(labels, mine))
    order = chosen[np.argsort(-np.abs(fitted.w[chosen]), kind="stable")][:n]
    names = fitted.encoder.names(parameters.attribute[order].tolist())
    return [
        TopFeature(name, states[int(labels[k])], float(fitted.w[k]))
        for name, k in zip(names, order, strict=True)
    ]
