"""The definition of scores and constraints that every algorithm must agree with.

A segmentation is a list of segments ``[start, end)`` with labels ``y``.  Its score is the sum, over
its segments, of what a segment earns given the labels up to and with its own
(`Model.segment_score`), plus the score of the last label.  A segment earns ``-inf`` where a rule
forbids it.

Nothing here is clever: each rule and each kind of potential is one line that can be read against
the contract of `caesura.Potentials`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.constraints import BARRED, FORCED
from caesura.errors import InvalidInput, TooLarge, message
from caesura.potentials import Label, Potentials
from caesura.segments import Segment
from caesura.segments.cores import OPEN_END, OPEN_START, applies

__all__ = ["Edge", "History", "Model", "Pattern", "Potential", "ReferenceMarginals", "log_sum"]

States = tuple[int, ...]  # of the rules about the segments that tags encode
History = tuple[int, ...]  # labels of adjacent segments, that of the current segment last
Floats = npt.NDArray[np.float64]
SEGMENT_LIMIT = 2_000_000  # maximum number of segments to enumerate


class Potential(NamedTuple):
    """One potential of `Potentials.add`: a core span, and whether each end is open."""

    start: int
    end: int
    labels: History
    score: float
    open_start: bool
    open_end: bool

    def applies(self, history: History, start: int, end: int) -> bool:
        """Return whether it applies to the segment [start, end) with this label history."""
        flags = OPEN_START * self.open_start + OPEN_END * self.open_end
        return _ends_with(history, self.labels) and applies(self.start, self.end, flags, start, end)


class Edge(NamedTuple):
    """One edge potential of `Potentials.add_transition`: two labels that meet at a boundary."""

    position: int
    previous: int
    label: int
    score: float

    def applies(self, history: History, start: int, end: int) -> bool:
        """Return whether it applies to the segment [start, end) with this label history."""
        return start == self.position and _ends_with(history, (self.previous, self.label))


class Pattern(NamedTuple):
    """One pattern of `Potentials.add_pattern`: labels, and where the last of them lies."""

    labels: History
    score: float
    start: int | None
    end: int | None

    def applies(self, history: History, start: int, end: int) -> bool:
        """Return whether it applies to the segment [start, end) with this label history."""
        return (
            _ends_with(history, self.labels)
            and (self.start is None or self.start == start)
            and (self.end is None or self.end == end)
        )


class Model:
    """The contents of `Potentials` in plain Python, with the score of a segmentation.

    Attributes
    ----------
    length, n_labels : int
        T and Y.
    potentials, edges, patterns : lists
        In the order of adding; `scored` contains all of them.
    histories : set of History
        The label histories on which they depend.
    depth : int
        Number of labels, including its own, that a segment's score can depend on; at least 2.
    """

    def __init__(self, p: Potentials) -> None:
        self.p, self.parts = p, p.parts
        self.length, self.n_labels = p.length, len(p.labels)
        targets: dict[int, History] = {y: (y,) for y in range(self.n_labels)}
        targets.update({target: labels for labels, target in self.parts.histories.items()})
        self.potentials = [
            Potential(
                int(start),
                int(end),
                targets[int(target)],
                float(score),
                bool(flags & OPEN_START),
                bool(flags & OPEN_END),
            )
            for arrays in self.parts.added
            for start, end, target, score, flags in zip(*arrays, strict=True)
        ]
        self.edges = [Edge(*edge) for edge in self.parts.edges]
        self.patterns = [
            Pattern(targets[target], score, None if s < 0 else s, None if e < 0 else e)
            for target, score, s, e in self.parts.patterns
        ]
        self.scored: list[Potential | Edge | Pattern] = [
            *self.potentials,
            *self.edges,
            *self.patterns,
        ]
        self.histories = {item.labels for item in self.potentials}
        self.histories |= {item.labels for item in self.patterns}
        self.depth = max([2, *map(len, self.histories)])
        self._earned: dict[tuple[int, int, History], float] = {}

    @cached_property
    def choices(self) -> list[list[tuple[int, int]]]:
        """For each start, the (end, label) pairs of segments allowed on their own."""
        T, Y = self.length, self.n_labels
        if T * (T + 1) // 2 * Y > SEGMENT_LIMIT:
            raise TooLarge(
                f"the reference got {T} tokens and {Y} labels",
                place="method",
                expected=f"at most {SEGMENT_LIMIT:,} segments to look at",
                remedy="use method='auto'",
            )
        return [
            [
                (end, y)
                for end in range(start + 1, T + 1)
                for y in range(Y)
                if self.allows_segment(start, end, y)
            ]
            for start in range(T)
        ]

    # -- rules -------------------------------------------------------------------------------

    def allows_segment(self, start: int, end: int, y: int) -> bool:
        """Return whether the segment [start, end) labelled y satisfies all segment constraints."""
        held, bound = self.parts.constraints, self.parts.bounds[y]
        return bool(
            (bound == 0 or end - start <= bound)
            and not (held.boundary[start + 1 : end] & FORCED).any()
            and not (held.boundary[[start, end]] & BARRED).any()
            and (start, end, y) not in held.forbidden
            and (held.allowed is None or held.allowed[start:end, y].all())
        )

    def allows_pair(self, previous: int, y: int) -> bool:
        """Return whether two adjacent segments may have these labels."""
        return self.p.same_label_adjacent or previous != y

    def allows_labels(self, labels: Sequence[int]) -> bool:
        """Return whether the sequence of labels satisfies all label constraints."""
        if not all(self.allows_pair(*pair) for pair in pairwise(labels)):
            return False
        for y, must_occur in self.parts.constraints.once.items():
            count = labels.count(y)
            if count > 1 or (must_occur and count == 0):
                return False
        for order in self.parts.constraints.ordered:
            places = [order.index(y) for y in labels if y in order]
            if places != sorted(places):
                return False
        states: States | None = (0,) * len(self.parts.constraints.tables)
        for previous, y in zip((None, *labels), labels, strict=False):
            states = None if states is None else self.rules_after(states, previous, y)
        return states is not None and self.rules_accept(states)

    def rules_after(self, states: States, previous: int | None, y: int) -> States | None:
        """Return the states of the rules about segments of tags after a tag; None if one is broken.

        A state is how often the label of the rule has occurred, or the position in its order.
        """
        held = self.parts.constraints
        symbol = y
        if held.spelling is not None:
            label_of, joined = held.spelling
            if previous is not None and joined[previous, y]:  # the tag begins no segment
                return states
            symbol = label_of[y]
        after = []
        for (name, labels), state in zip(held.tables, states, strict=True):
            after.append(state if symbol not in labels else 1 + labels.index(symbol))
            broken = after[-1] < state if name == "ordered" else symbol in labels and state > 0
            if broken:
                return None
        return tuple(after)

    def rules_accept(self, states: States) -> bool:
        """Return whether all rules that require a label have had it."""
        rules = zip(self.parts.constraints.tables, states, strict=True)
        return all(name != "exactly once" or state > 0 for (name, _), state in rules)

    # -- scores ------------------------------------------------------------------------------

    def segment_score(self, history: History, start: int, end: int) -> float:
        """Return the score of the segment [start, end), whose label is the last of `history`.

        `history` may leave out labels that lie further back than `depth`, but not all of them: one
        label alone is the label of the first segment.
        """
        key = (start, end, history[-self.depth :])
        if key not in self._earned:
            self._earned[key] = self._segment_score(*key)
        return self._earned[key]

    def _segment_score(self, start: int, end: int, history: History) -> float:
        p, y = self.p, history[-1]
        first = len(history) == 1
        if not self.allows_segment(start, end, y):
            return -np.inf
        if not first and not self.allows_pair(history[-2], y):
            return -np.inf
        total = p.start[y] if first else p.transition[history[-2], y]
        total += p.emission[start:end, y].sum()
        if self.parts.spans is not None:
            total += self.parts.spans[start, end - start - 1, y]
        for item in self.scored:
            if item.applies(history, start, end):
                total += item.score
        return float(total)

    def score(self, segments: Sequence[tuple[int, int, int]]) -> float:
        """Return the score of a segmentation; ``-inf`` if it violates a constraint."""
        labels = tuple(y for _, _, y in segments)
        if not self.allows_labels(labels):
            return -np.inf
        total = float(self.p.end[labels[-1]]) if labels else 0.0
        for i, (start, end, _) in enumerate(segments):
            total += self.segment_score(labels[: i + 1], start, end)
        return total

    # -- segments with names and with indices --------------------------------------------------

    def read(self, segments: Iterable[tuple[int, int, Label]]) -> list[tuple[int, int, int]]:
        """Return a segmentation with label indices, or raise if it does not cover the tokens."""
        read = [self.p.segment_index(segment, "segments") for segment in segments]
        ends = [0, *(end for _, end, _ in read)]
        starts = [*(start for start, _, _ in read), self.length]
        if starts != ends:
            raise InvalidInput(
                message(
                    "segments",
                    [tuple(s) for s in read],
                    f"segments in order that cover the tokens 0 to {self.length}, each once",
                    "use fill_gaps to label gaps",
                )
            )
        return read

    def named(self, segments: Iterable[tuple[int, int, int]]) -> list[Segment]:
        """Return the segments with label names."""
        names = self.p.labels
        return [Segment(start, end, names[y]) for start, end, y in segments]


class ReferenceMarginals:
    """Probabilities and expected counts as plain sums over segments with their histories.

    Parameters
    ----------
    model : Model
        The potentials.
    log_partition : float
        Log of the sum of ``exp(score)`` over all segmentations.
    counts : mapping from (start, end, history) to float
        The probability of the segment [start, end) after, and with, the labels of the history.

    Attributes
    ----------
    log_partition : float
    tokens : array of shape (T, Y)
        Probability that token t lies in a segment labelled y.
    boundaries : array of shape (T + 1,)
        Probability that boundary t lies between two segments, or at an end of the sequence.
    transitions : array of shape (Y, Y)
        Expected number of adjacent segments with these labels.
    starts, ends : arrays of shape (Y,)
        Probability of the label of the first and of the last segment.
    spans : array of shape (T, L, Y), or None
        Probability of each exact segment, if the potentials have `spans`.
    potentials, edges, patterns : arrays
        Expected number of segments that each applies to, in the order of adding.
    """

    def __init__(
        self,
        model: Model,
        log_partition: float,
        counts: Mapping[tuple[int, int, History], float],
    ) -> None:
        p, T, Y = model.p, model.length, model.n_labels
        self._p, self._counts = p, counts
        self.log_partition = log_partition
        self.tokens: Floats = np.zeros((T, Y))
        self.boundaries: Floats = np.zeros(T + 1)
        self.transitions: Floats = np.zeros((Y, Y))
        self.starts: Floats = np.zeros(Y)
        self.ends: Floats = np.zeros(Y)
        self.spans: Floats | None = (
            None if model.parts.spans is None else np.zeros(model.parts.spans.shape)
        )
        for (start, end, history), probability in counts.items():
            y = history[-1]
            self.tokens[start:end, y] += probability
            self.boundaries[end] += probability
            if len(history) == 1:
                self.starts[y] += probability
            else:
                self.transitions[history[-2], y] += probability
            if end == T:
                self.ends[y] += probability
            if self.spans is not None:
                self.spans[start, end - start - 1, y] += probability
        self.boundaries[0] = 1.0
        self.potentials = self._expected(model.potentials)
        self.edges = self._expected(model.edges)
        self.patterns = self._expected(model.patterns)

    def _expected(self, items: Sequence[Potential | Edge | Pattern]) -> Floats:
        return np.array(
            [
                sum(n for (s, e, history), n in self._counts.items() if item.applies(history, s, e))
                for item in items
            ],
            dtype=np.float64,
        )

    def segment(self, start: int, end: int, label: Label) -> float:
        """Return the probability of the segment [start, end) with this label."""
        wanted = self._p.segment_index((start, end, label), "segment")
        return sum(
            n for (s, e, history), n in self._counts.items() if (s, e, history[-1]) == wanted
        )

    def segments(self, min_probability: float = 0.01) -> list[tuple[Segment, float]]:
        """Return the segments of at least this probability, most probable first."""
        total: dict[tuple[int, int, int], float] = {}
        for (start, end, history), probability in self._counts.items():
            key = (start, end, history[-1])
            total[key] = total.get(key, 0.0) + probability
        kept = [(key, n) for key, n in sorted(total.items()) if n > 0 and n >= min_probability]
        kept.sort(key=lambda item: -item[1])
        names = self._p.labels
        return [(Segment(s, e, names[y]), n) for (s, e, y), n in kept]

    def transition(self, position: int, previous: Label, label: Label) -> float:
        """Return the probability that segments with these labels meet at this boundary."""
        edge = Edge(
            position,
            self._p.label_index(previous, "previous"),
            self._p.label_index(label, "label"),
            0.0,
        )
        return float(self._expected([edge])[0])


def log_sum(scores: npt.ArrayLike) -> float:
    """Return ``log(sum(exp(scores)))``; ``-inf`` for an empty list.

    Examples
    --------
    >>> log_sum([-np.inf, 0.0]), log_sum([])
    (0.0, -inf)
    """
    scores = np.asarray(scores, np.float64)
    largest = scores.max(initial=-np.inf)
    if largest == -np.inf:
        return -np.inf
    return float(largest + np.log(np.exp(scores - largest).sum()))


def _ends_with(history: History, labels: History) -> bool:
    return history[-len(labels) :] == labels
