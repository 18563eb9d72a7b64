"""The plain recursion over boundaries and label histories, for inputs too large to enumerate.

Segments are the arcs of a graph whose nodes are (boundary, state), where a state holds all that the
past says about the future: the end of the label history, and what label rules need to know.

    alpha(t, q) = log of the sum of exp(score) over all segmentations of [0, t) that lead to q
    beta(t, q)  = the same over all ways to go on from q at t to the end

Each is one sum over arcs.  So are the best segmentations, with max in place of the sum.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from caesura.errors import Impossible, TooLarge
from caesura.inference.definition import History, Model, ReferenceMarginals, States, log_sum
from caesura.potentials import Label, Potentials
from caesura.segments import Segment

__all__ = ["Automaton", "Lattice", "State", "backward_states", "forward_states", "longest_suffix"]

ARC_LIMIT = 5_000_000


# -- label histories ---------------------------------------------------------------------------


def forward_states(patterns: Iterable[History], n_labels: int) -> set[History]:
    """Return the labels and the proper prefixes of the patterns, the empty one included.

    Examples
    --------
    >>> sorted(forward_states([(0,), (2, 1, 2)], 3))
    [(), (0,), (1,), (2,), (2, 1)]
    """
    prefixes = {pattern[:k] for pattern in patterns for k in range(len(pattern))}
    return {(), *((y,) for y in range(n_labels)), *prefixes}


def backward_states(states: Iterable[History], n_labels: int) -> set[History]:
    """Return every forward state followed by every label."""
    return {(*state, y) for state in states for y in range(n_labels)}


def longest_suffix(history: History, states: set[History]) -> History:
    """Return the longest suffix of a history that is one of the states.

    Examples
    --------
    >>> longest_suffix((0, 2, 1), {(), (1,), (2, 1)})
    (2, 1)
    """
    return next(history[k:] for k in range(len(history) + 1) if history[k:] in states)


class State(NamedTuple):
    """The part of the label history that affects later labels."""

    history: History  # the longest suffix that a pattern may still need
    used: frozenset[int]  # those of the once-only labels that have occurred
    places: tuple[int, ...]  # the position reached in each required order
    rules: States = ()  # those of the rules about the segments that tags encode


class Automaton:
    """A deterministic automaton over labels for label histories and label constraints.

    Its states are those that labels can reach: the longest suffix that is a label, a prefix of a
    pattern or a whole one, times the subset of once-only labels used, times the place in each
    order.

    Parameters
    ----------
    models : Model
        With more than one, the histories of all of them are distinguished; only the first model's
        constraints apply.
    whole_patterns : bool
        Whether a whole pattern is a state.  If so, the state alone determines which patterns end
        in it; otherwise the state and the previous label do.
    """

    initial: State

    def __init__(self, *models: Model, whole_patterns: bool = True) -> None:
        self.model = models[0]
        patterns = set().union(*(model.histories for model in models))
        self.histories = forward_states(patterns, self.model.n_labels)
        if whole_patterns:
            self.histories |= patterns
        self.once = self.model.p.parts.constraints.once
        self.orders = self.model.p.parts.constraints.ordered
        rules = (0,) * len(self.model.p.parts.constraints.tables)
        self.initial = State((), frozenset(), (0,) * len(self.orders), rules)

    def step(self, state: State, y: int) -> State | None:
        """Return the state after a segment labelled y, or None if a constraint forbids it."""
        history, used, places, rules = state
        after = self.model.rules_after(rules, history[-1] if history else None, y)
        if after is None:
            return None
        if history and not self.model.allows_pair(history[-1], y):
            return None
        if y in used:
            return None
        if any(y in order[:place] for order, place in zip(self.orders, places, strict=True)):
            return None
        return State(
            longest_suffix((*history, y), self.histories),
            used | {y} if y in self.once else used,
            tuple(
                order.index(y) if y in order else place
                for order, place in zip(self.orders, places, strict=True)
            ),
            after,
        )

    def accepts(self, state: State) -> bool:
        """Return whether a segmentation may end in this state: all required labels occurred."""
        required = all(y in state.used for y, must_occur in self.once.items() if must_occur)
        return required and self.model.rules_accept(state.rules)


# -- the lattice -------------------------------------------------------------------------------

Node = tuple[int, State]


class Arc(NamedTuple):
    """A segment as an arc between two nodes."""

    source: Node
    target: Node
    history: History  # the history of the source, then the label of the segment
    score: float

    @property
    def segment(self) -> tuple[int, int, int]:
        """Start, end and label."""
        return self.source[0], self.target[0], self.history[-1]


class Lattice:
    """All segments of finite score as arcs between (boundary, state) nodes, and sums over them.

    Parameters
    ----------
    p : Potentials
        The potentials.
    others : Potentials
        Further potentials, whose label histories the states also distinguish, so that `expected`
        can score them.
    whole_patterns : bool
        See `Automaton`.

    Attributes
    ----------
    arcs : list of Arc
        The arcs, by their start.
    alpha, beta : dicts from (boundary, state) to float
    log_partition : float
    """

    def __init__(self, p: Potentials, *others: Potentials, whole_patterns: bool = True) -> None:
        self.model = Model(p)
        models = [self.model, *map(Model, others)]
        self.automaton = Automaton(*models, whole_patterns=whole_patterns)
        self.first: Node = (0, self.automaton.initial)
        self.arcs: list[Arc] = self._arcs()
        self.alpha = self._forward()
        self.beta = self._backward()
        self.log_partition = self.beta[self.first]

    def _arcs(self) -> list[Arc]:
        arcs: list[Arc] = []
        reached: list[set[State]] = [set() for _ in range(self.model.length + 1)]
        reached[0].add(self.automaton.initial)
        for start, choices in enumerate(self.model.choices):
            for state in sorted(reached[start], key=_order):
                for end, y in choices:
                    history = (*state.history, y)
                    target = self.automaton.step(state, y)
                    score = self.model.segment_score(history, start, end)
                    if target is not None and score > -np.inf:
                        reached[end].add(target)
                        arcs.append(Arc((start, state), (end, target), history, score))
            if len(arcs) > ARC_LIMIT:
                raise TooLarge(
                    f"the reference got more than {ARC_LIMIT:,} arcs to sum",
                    place="method",
                    remedy="use method='auto'",
                )
        return arcs

    def _last(self, state: State) -> float:
        """Return the score of ending in a state."""
        if not self.automaton.accepts(state):
            return -np.inf
        return float(self.model.p.end[state.history[-1]]) if state.history else 0.0

    def _forward(self) -> dict[Node, float]:
        """alpha(e, q) = log sum of exp(alpha(s, q') + score), over arcs from (s, q') to (e, q)."""
        alpha = {self.first: 0.0}
        for arc in self.arcs:
            term = alpha[arc.source] + arc.score
            alpha[arc.target] = float(np.logaddexp(alpha.get(arc.target, -np.inf), term))
        return alpha

    def _backward(self) -> dict[Node, float]:
        """beta(s, q') = log sum of exp(score + beta(e, q)), over arcs from (s, q') to (e, q)."""
        T = self.model.length
        beta = {node: self._last(node[1]) if node[0] == T else -np.inf for node in self.alpha}
        for arc in reversed(self.arcs):
            term = arc.score + beta[arc.target]
            beta[arc.source] = float(np.logaddexp(beta[arc.source], term))
        return beta

    # -- inference -----------------------------------------------------------------------------

    def probabilities(self) -> list[float]:
        """Return the probability of each arc."""
        self._check()
        return [
            float(np.exp(self.alpha[a.source] + a.score + self.beta[a.target] - self.log_partition))
            for a in self.arcs
        ]

    def marginals(self) -> ReferenceMarginals:
        """Return probabilities and expected counts."""
        counts: dict[tuple[int, int, History], float] = {}
        for arc, probability in zip(self.arcs, self.probabilities(), strict=True):
            key = (arc.source[0], arc.target[0], arc.history)
            counts[key] = counts.get(key, 0.0) + probability
        return ReferenceMarginals(self.model, self.log_partition, counts)

    def expected(self, segment_score: Callable[[History, int, int], float]) -> float:
        """Return the expected sum of a segment score; impossible segments add nothing."""
        total = 0.0
        for arc, probability in zip(self.arcs, self.probabilities(), strict=True):
            if self.beta[arc.target] > -np.inf:
                score = segment_score(arc.history, arc.source[0], arc.target[0])
                total += probability * score if score > -np.inf else -np.inf
        return total

    def entropy(self) -> float:
        """Return the entropy, log Z minus the expected score."""
        last = self.model.p.end
        ends = self.marginals().ends
        expected_end = sum(n * score for n, score in zip(ends, last, strict=True) if n > 0)
        return self.log_partition - self.expected(self.model.segment_score) - float(expected_end)

    def n_best(self, n: int) -> list[tuple[list[Segment], float]]:
        """Return the n best segmentations with their scores, best first."""
        return self._best([arc.score for arc in self.arcs], self._last, n)

    def minimum_risk(self, outside: Label | None = "O") -> tuple[list[Segment], float]:
        """Return the segmentation with the most expected correct segments, and their number."""
        names = self.model.p.labels
        probability = {tuple(segment): n for segment, n in self.marginals().segments(0.0)}
        gains = [
            0.0 if names[y] == outside else probability.get((start, end, names[y]), 0.0)
            for start, end, y in (arc.segment for arc in self.arcs)
        ]
        return self._best(gains, lambda q: 0.0 if self._last(q) > -np.inf else -np.inf, 1)[0]

    def _best(
        self, scores: Sequence[float], last: Callable[[State], float], n: int
    ) -> list[tuple[list[Segment], float]]:
        """Return the n best paths; a path is a score, its last arc and the rank of its prefix."""
        self._check()
        best: dict[Node, list[tuple[float, int, int]]] = {self.first: [(0.0, -1, -1)]}
        for i, arc in enumerate(self.arcs):
            paths = [(score + scores[i], i, k) for k, (score, _, _) in enumerate(best[arc.source])]
            best[arc.target] = heapq.nlargest(n, [*best.get(arc.target, []), *paths])
        ended = [
            (score + last(node[1]), i, k)
            for node, paths in best.items()
            if node[0] == self.model.length and last(node[1]) > -np.inf
            for score, i, k in paths
        ]
        return [(self._trace(best, i, k), score) for score, i, k in heapq.nlargest(n, ended)]

    def _trace(
        self, best: dict[Node, list[tuple[float, int, int]]], i: int, k: int
    ) -> list[Segment]:
        """Follow the back-pointers of a path."""
        path = []
        while i >= 0:
            path.append(self.arcs[i].segment)
            _, i, k = best[self.arcs[i].source][k]
        return self.model.named(reversed(path))

    def sample(self, n: int, seed: int) -> list[list[Segment]]:
        """Draw n segmentations, choosing arcs at each node in proportion to beta."""
        self._check()
        rng = np.random.default_rng(seed)
        leaving: dict[Node, list[Arc]] = {}
        for arc in self.arcs:
            leaving.setdefault(arc.source, []).append(arc)
        samples = []
        for _ in range(n):
            node, path = self.first, []
            while node[0] < self.model.length:
                shares = np.array([arc.score + self.beta[arc.target] for arc in leaving[node]])
                arc = leaving[node][rng.choice(len(shares), p=np.exp(shares - log_sum(shares)))]
                path.append(arc.segment)
                node = arc.target
            samples.append(self.model.named(path))
        return samples

    def _check(self) -> None:
        if self.log_partition == -np.inf:
            raise Impossible(
                "no segmentation has a finite score", place="p", remedy="loosen the constraints"
            )


def _order(state: State) -> tuple[History, list[int], tuple[int, ...], States]:
    return state.history, sorted(state.used), state.places, state.rules
