"""Inference over kept spans, also under label constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from caesura.errors import Impossible
from caesura.inference.problems import Rule
from caesura.inference.span_graphs import SpanGraphs, SpanGraphsPath
from caesura.neural.histories import histories
from caesura.neural.structure import Ints

__all__ = ["Found", "Graphs", "NoPath", "best_means"]

Labelled = tuple[int, int, int]  # start, end, label
Found = tuple[list[int], float]  # a path: indices of its spans in the batch, and its score


class Graphs:
    """The graphs of a batch of sequences, processed in one kernel call.

    Rules about labels make a graph the product of its spans with the automaton of the rules: a span
    is there once for each state in which its label can leave the automaton, and an arc leads to the
    state that follows.  The sequences with the same rules are asked together.

    Parameters
    ----------
    rows : array of shape (n, 4)
        Sequence, start, end and label of each span, sorted by sequence.
    lengths : array of shape (B,)
        Number of tokens of each sequence.
    scores : array of shape (n,)
        Scores of the spans.
    transition : array of shape (Y, Y)
        Scores of pairs of labels.
    rules : one tuple of rules for each sequence, optional
        What the labels of a path must keep.

    Raises
    ------
    NoPath
        Where the rules, or scores of -inf, leave no path of a sequence.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([(0, 0, 1, 0), (0, 1, 2, 0), (0, 1, 2, 1)])
    >>> once = [(("at most once", (0,)),)]
    >>> Graphs(rows, np.array([2]), np.zeros(3), np.zeros((2, 2)), once).best()
    [([0, 2], 0.0)]
    """

    def __init__(
        self,
        rows: Ints,
        lengths: Ints,
        scores: Any,
        transition: Any,
        rules: Sequence[tuple[Rule, ...]] | None = None,
    ) -> None:
        self.rows, self.lengths, self._given = rows, lengths, (scores, transition, rules)
        given = (np.asarray(scores, np.float64), np.asarray(transition, np.float64))
        kept = [()] * len(lengths) if rules is None else self._met(rules)
        self._parts = [
            _Part(rows, lengths, *given, one, np.array([some == one for some in kept], bool))
            for one in dict.fromkeys(kept)
        ]

    def _met(self, rules: Sequence[tuple[Rule, ...]]) -> list[tuple[Rule, ...]]:
        """Return the label constraints of each sequence that concern labels of its spans."""
        found = []
        for b, some in enumerate(rules):
            there = set(self.rows[self.rows[:, 0] == b, 3].tolist()) if some else set()
            met: list[Rule] = []
            for name, labels in some:
                own = tuple(y for y in labels if y in there)
                if name == "exactly once" and not own:
                    raise NoPath(b)
                if len(own) > (name == "ordered"):
                    met.append((name, own))
            found.append(tuple(met))
        return found

    def marginals(self) -> tuple[Any, Any]:
        """Return ln Z of each sequence, (B,), and the probability of each span, (n,)."""
        log_z, likely = np.zeros(len(self.lengths)), np.zeros(len(self.rows))
        for part in self._parts:
            found = part.graphs.marginals()
            log_z[part.mine] = found.log_partition[part.mine]
            likely += np.bincount(part.owner, found.spans, minlength=len(likely))
        for b in np.flatnonzero(np.isneginf(log_z))[:1].tolist():
            raise NoPath(b)
        return log_z, likely

    def entropy(self) -> Any:
        """Return the entropy over the paths of each sequence, (B,)."""
        return self._merged(lambda part: part.graphs.entropy())

    def best(self) -> list[Found]:
        """Return the best path of each sequence and its score."""
        return [paths[0] for paths in self.n_best(1)]

    def best_without(self, i: int) -> list[int] | None:
        """Return the best path without span i, which stays in the graph; None if there is none."""
        scores, transition, rules = self._given
        changed = np.array(scores, np.float64)
        changed[i] = -np.inf
        try:
            others = Graphs(self.rows, self.lengths, changed, transition, rules)
            return others.best()[int(self.rows[i, 0])][0]
        except NoPath:
            return None

    def n_best(self, n: int) -> list[list[Found]]:
        """Return the n best paths of each sequence and their scores."""
        return self._merged(lambda part: part.paths(part.graphs.n_best(n)))  # type: ignore[no-any-return]

    def sample(self, n: int, seed: int) -> list[list[Found]]:
        """Draw n paths of each sequence; sequence b uses ``seed + b``."""
        return self._merged(lambda part: part.paths(part.graphs.sample(n, seed)))  # type: ignore[no-any-return]

    def ranked(self, n: int) -> list[list[tuple[list[Labelled], float]]]:
        """Return the n best paths of each sequence as labelled spans, with probabilities."""
        log_z, listed = self.marginals()[0].tolist(), self._labelled()
        return [
            [([listed[i] for i in path], math.exp(min(0.0, score - z))) for path, score in paths]
            for paths, z in zip(self.n_best(n), log_z, strict=True)
        ]

    def drawn(self, n: int, seed: int) -> list[list[list[Labelled]]]:
        """Draw n paths of each sequence as labelled spans; sequence b uses ``seed + b``."""
        listed = self._labelled()
        return [[[listed[i] for i in path] for path, _ in some] for some in self.sample(n, seed)]

    def _labelled(self) -> list[Labelled]:
        return [(start, end, y) for _, start, end, y in self.rows.tolist()]

    def _merged(self, ask: Callable[[_Part], Any]) -> Any:
        """Merge the answers of the parts in the order of the sequences."""
        out: list[Any] = [None] * len(self.lengths)
        for part in self._parts:
            try:
                found = ask(part)
            except Impossible:
                log_z = part.graphs.log_partition()
                raise NoPath(int(np.flatnonzero(np.isneginf(log_z) & part.mine)[0])) from None
            for b in np.flatnonzero(part.mine).tolist():
                out[b] = found[b]
        return out


class NoPath(Impossible):
    """Raised if a sequence has no possible path; `sequence` is its index in the batch."""

    def __init__(self, sequence: int, name: str = "sequence") -> None:
        super().__init__(
            "every set of the spans that the filter keeps breaks the rules",
            place=f"{name}[{sequence}]",
            remedy="relax them, or choose another model",
        )
        self.sequence = sequence

    def of(self, i: int) -> NoPath:
        """Return the error for sequence i of X."""
        return NoPath(i, "X")


class _Part:
    """The sequences of a batch with the same constraints; the others have no spans here."""

    def __init__(
        self,
        rows: Ints,
        lengths: Ints,
        scores: Any,
        transition: Any,
        rules: tuple[Rule, ...],
        mine: npt.NDArray[np.bool_],
    ) -> None:
        self.mine = mine
        self.owner = np.flatnonzero(mine[rows[:, 0]])  # index in the batch of each span
        Y = len(transition)
        start = end = np.zeros(Y)
        labels = rows[self.owner, 3]
        if rules:
            states, transition, start, end = _product(transition, rules)
            sizes = np.bincount(states, minlength=Y)
            first = np.cumsum(sizes) - sizes  # states are sorted by label
            times = sizes[labels]
            self.owner = np.repeat(self.owner, times)
            place = np.arange(len(self.owner)) - np.repeat(np.cumsum(times) - times, times)
            labels = np.repeat(first[labels], times) + place
        table = np.concatenate([rows[self.owner, :3], labels[:, None]], 1)
        self.graphs = SpanGraphs(
            *(table, scores[self.owner], lengths, len(transition), transition, start, end),
            rule="filtered",
            n_threads=torch.get_num_threads(),
        )

    def paths(self, found: list[list[SpanGraphsPath]]) -> list[list[Found]]:
        """Return paths with the span indices of the batch."""
        own = self.owner  # a large array, of which paths need few entries
        return [[(own[one.spans].tolist(), one.score) for one in some] for some in found]


def _product(transition: Any, rules: tuple[Rule, ...]) -> tuple[Ints, Any, Any, Any]:
    """Return the label of each product state, and the scores of pairs, starts and ends."""
    machine = histories(len(transition), 1, True, rules)
    order = np.argsort(machine.label[1:], kind="stable")
    place = np.zeros(len(order) + 1, np.int64)  # state -> index; 0 is the initial state
    place[order + 1] = np.arange(len(order))
    target = np.zeros(len(machine.source), np.int64)
    for state, arcs in enumerate(machine.arcs_in):
        target[arcs[arcs < len(target)]] = state
    pairs = np.full((len(order), len(order)), -np.inf)
    start = np.full(len(order), -np.inf)
    first = machine.source == 0
    start[place[target[first]]] = 0.0
    p, q = machine.source[~first], target[~first]
    pairs[place[p], place[q]] = transition[machine.label[p], machine.label[q]]
    end = np.where(machine.accepting[1:][order] > 0, 0.0, -np.inf)
    return machine.label[1:][order], pairs, start, end


def best_means(
    rows: Ints,
    lengths: Ints,
    scores: Any,
    transition: Any,
    rules: Sequence[tuple[Rule, ...]] | None = None,
) -> list[Found]:
    """Return the path of each sequence with the highest mean score per span.

    Dinkelbach's method: the maximum of ``score - mean * number of spans`` is 0 exactly at the best
    mean; elsewhere the path that attains it has a better mean.  Each step raises the mean of some
    sequence to that of another path, so the method terminates.
    """
    mean = np.zeros(len(lengths))
    best: list[Found] = []
    while True:
        lowered = scores - mean[rows[:, 0]]
        paths = [path for path, _ in Graphs(rows, lengths, lowered, transition, rules).best()]
        found = []
        for path in paths:
            y = rows[path, 3]
            found.append((path, float(scores[path].sum() + transition[y[:-1], y[1:]].sum())))
        means = [total / max(len(path), 1) for path, total in found]
        if not best:
            better = [True] * len(found)
            best = found
        else:
            better = [bool(new > old) for new, old in zip(means, mean, strict=True)]
            best = [new if b else old for new, old, b in zip(found, best, better, strict=True)]
        if not any(better):
            return best
        mean = np.where(better, means, mean)
