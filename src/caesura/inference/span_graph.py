"""Span graphs: distributions over paths through a sparse set of labelled spans.

A `SpanGraph` holds candidate spans of one sequence, each with a label and a score.  A path is a
sequence of spans that do not overlap, and the arc rule says which span may follow which:

"adjacent"
    A span follows a span that ends where it starts, and a path covers the whole sequence.  This is
    segmentation with a dictionary of candidates, as in word segmentation with word bigrams.
"filtered"
    A span follows a span that ends at or before its start, unless some span of the graph lies
    wholly inside the gap.  Paths are therefore the maximal sets of spans that do not overlap: no
    span of the graph could be added to one.  This is the graph of a filtered semi-Markov CRF.

The score of a path is the sum of the scores of its spans, of its arcs (a transition between labels
and, optionally, a score of the single arc), of the label of its first span and of the label of its
last.  Its probability is proportional to the exponential of its score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import whole
from caesura.errors import Impossible, InvalidInput, message
from caesura.inference.kernel_calls import called
from caesura.inference.span_checks import checked_indices, checked_scores, require

__all__ = ["SpanGraph", "SpanMarginals", "SpanPath"]

Floats = npt.NDArray[np.float64]
RULES = {"adjacent": 0, "filtered": 1}
MOST_INDEX = int(np.iinfo(np.int32).max)


class SpanPath(NamedTuple):
    """A path through a span graph."""

    spans: list[int]  #: indices of the spans in the graph's arrays
    segments: list[tuple[int, int, int]]  #: the spans as (start, end, label)
    score: float  #: sum of all scores along the path


class SpanMarginals(NamedTuple):
    """Expected counts, the derivatives of ln Z with respect to the scores in the same place."""

    log_partition: float  #: ln Z
    spans: Floats  #: (n,) probability of each span
    arcs: Floats  #: (m,) probability of each arc that has a score of its own
    transitions: Floats  #: (Y, Y) expected number of arcs between labels
    starts: Floats  #: (Y,) probability of each label of the first span
    ends: Floats  #: (Y,) probability of each label of the last span


class SpanGraph:
    """A sparse acyclic graph of labelled spans.

    Parameters
    ----------
    spans : array of shape (n, 2)
        Start and end of each span, half-open: ``0 <= start < end <= length``.
    labels : array of shape (n,)
        Index of the label of each span.
    scores : array of shape (n,)
        Log-potential of each span; -inf forbids it.  It remains part of the graph for the arc rule.
    length : int
        Number of tokens, T.
    n_labels : int
        Number of labels, Y.
    transition : array of shape (Y, Y), optional
        ``transition[previous, label]``, the score of an arc between spans with these labels.
    start, end : arrays of shape (Y,), optional
        Score of the label of a path's first span and of its last.
    rule : {"adjacent", "filtered"}
        The rule that determines which span may follow which; see the description of the module.
    arcs : array of shape (m, 2), optional
        Pairs of spans, by position, whose arc has a score of its own.  The rule must allow them.
    arc_scores : array of shape (m,), optional
        The scores of `arcs`, added to those of the transitions.

    Notes
    -----
    With K different ends and S different starts, log_partition and marginals cost
    O(n + K Y + S Y^2), whatever the number of arcs that the rule implies.  Arcs with a score of
    their own cost the number of predecessors of the spans they lead to.

    The scores of word bigrams with the beginning and the end of a sentence are added to the scores
    of the first and last spans: under both rules a span is either always or never the first of its
    path.

    Examples
    --------
    >>> from caesura.inference.span_graph import SpanGraph
    >>> graph = SpanGraph(
    ...     [(0, 2), (1, 3), (4, 5)], [0, 1, 0], [1.0, 2.0, 0.5], 6, 2, rule="filtered"
    ... )
    >>> graph.viterbi()
    SpanPath(spans=[1, 2], segments=[(1, 3, 1), (4, 5, 0)], score=2.5)
    >>> graph.marginals().spans.round(3)
    array([0.269, 0.731, 1.   ])
    """

    def __init__(
        self,
        spans: npt.ArrayLike,
        labels: npt.ArrayLike,
        scores: npt.ArrayLike,
        length: int,
        n_labels: int,
        transition: npt.ArrayLike | None = None,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        rule: str = "adjacent",
        *,
        arcs: npt.ArrayLike | None = None,
        arc_scores: npt.ArrayLike | None = None,
    ) -> None:
        T, Y = whole("length", length, 0, MOST_INDEX), whole("n_labels", n_labels, 1, MOST_INDEX)
        if rule not in RULES:
            raise InvalidInput(message("rule", rule, f"one of {list(RULES)}", "choose one"))
        places = _pairs("spans", spans)
        n = len(places)
        names = checked_indices("labels", labels, (n,))
        s, e = places.T
        expected = f"0 <= start < end <= {T}"
        require(
            (s >= 0) & (s < e) & (e <= T),
            lambda i: message(f"spans[{i}]", tuple(places[i].tolist()), expected, "count from 0"),
        )
        require(
            (names >= 0) & (names < Y),
            lambda i: message(f"labels[{i}]", int(names[i]), f"0 to {Y - 1}", "correct the label"),
        )
        if (arcs is None) != (arc_scores is None):
            raise InvalidInput(
                place="arcs, arc_scores", got="one without the other", remedy="give both, or none"
            )
        pairs = _pairs("arcs", () if arcs is None else arcs)
        require(
            np.all((pairs >= 0) & (pairs < n), axis=1),
            lambda i: message(
                f"arcs[{i}]", tuple(pairs[i].tolist()), f"two spans below {n}", "correct the arc"
            ),
        )
        table = np.concatenate([places, names[:, None]], axis=1)
        self._graph = _kernels.SpanGraph(
            length=T,
            n_labels=Y,
            rule=RULES[rule],
            spans=np.ascontiguousarray(table, np.int32),
            scores=checked_scores("scores", scores, (n,)),
            transition=checked_scores("transition", transition, (Y, Y)),
            start=checked_scores("start", start, (Y,)),
            end=checked_scores("end", end, (Y,)),
            arcs=np.ascontiguousarray(pairs, np.int32),
            arc_scores=checked_scores("arc_scores", arc_scores, (len(pairs),)),
        )
        broken = self._graph.broken_arc
        if broken >= 0:
            a, b = (tuple(places[i].tolist()) for i in pairs[broken].tolist())
            expected = f"an arc that the rule {rule!r} allows"
            raise InvalidInput(message(f"arcs[{broken}]", f"{a} -> {b}", expected, "leave it out"))
        self._segments: list[tuple[int, int, int]] = [tuple(row) for row in table.tolist()]
        self.length, self.n_labels, self.rule = T, Y, rule

    def __repr__(self) -> str:
        return (
            f"SpanGraph({len(self._segments)} spans, length={self.length}, "
            f"n_labels={self.n_labels}, rule={self.rule!r})"
        )

    def log_partition(self) -> float:
        """Return ln Z, the logarithm of the sum of exp(score) over all paths.

        Returns
        -------
        float
            -inf where no path is possible; 0 where only the empty path is.

        Examples
        --------
        >>> from caesura.inference.span_graph import SpanGraph
        >>> SpanGraph([(0, 1), (1, 2), (0, 2)], [0, 0, 0], [1.0, 1.0, 2.0], 2, 1).log_partition()
        2.6931471805599454
        """
        return self._graph.log_partition()

    def marginals(self) -> SpanMarginals:
        """Return the probabilities of spans and arcs, and the expected numbers of transitions.

        Returns
        -------
        SpanMarginals

        Raises
        ------
        Impossible
            No path is possible.

        Examples
        --------
        >>> from caesura.inference.span_graph import SpanGraph
        >>> graph = SpanGraph([(0, 1), (1, 2), (0, 2)], [0, 1, 0], [1.0, 1.0, 2.0], 2, 2)
        >>> graph.marginals().spans
        array([0.5, 0.5, 0.5])
        >>> graph.marginals().transitions
        array([[0. , 0.5],
               [0. , 0. ]])
        """
        log_z, _, spans, arcs, transitions, starts, ends = self._posterior(False)
        square = transitions.reshape(self.n_labels, self.n_labels)
        return SpanMarginals(log_z, spans, arcs, square, starts, ends)

    def entropy(self) -> float:
        """Return the entropy of the distribution over paths, in nats.

        Returns
        -------
        float

        Raises
        ------
        Impossible
            No path is possible.

        Examples
        --------
        >>> from caesura.inference.span_graph import SpanGraph
        >>> graph = SpanGraph([(0, 1), (1, 2), (0, 2)], [0, 0, 0], [1.0, 1.0, 2.0], 2, 1)
        >>> round(graph.entropy(), 6)  # two paths, equally probable
        0.693147
        """
        return self._posterior(True)[1]

    def viterbi(self) -> SpanPath:
        """Return the best path and its score.

        Returns
        -------
        SpanPath

        Raises
        ------
        Impossible
            No path is possible.

        Examples
        --------
        >>> from caesura.inference.span_graph import SpanGraph
        >>> SpanGraph([(0, 1), (1, 2), (0, 2)], [0, 0, 0], [1.0, 1.5, 2.0], 2, 1).viterbi().spans
        [0, 1]
        """
        return self.n_best(1)[0]

    def n_best(self, n: int) -> list[SpanPath]:
        """Return the n best paths, all different, the best first.

        Parameters
        ----------
        n : int
            Number of paths; there are fewer where fewer are possible.

        Returns
        -------
        list of SpanPath

        Raises
        ------
        Impossible
            No path is possible.

        Examples
        --------
        >>> from caesura.inference.span_graph import SpanGraph
        >>> graph = SpanGraph([(0, 1), (1, 2), (0, 2)], [0, 0, 0], [1.0, 1.5, 2.0], 2, 1)
        >>> [path.score for path in graph.n_best(3)]
        [2.5, 2.0]
        """
        found = self._paths(called(self._graph.n_best, whole("n", n, 1, MOST_INDEX)))
        return sorted(found, key=lambda path: -path.score)  # rounding may have swapped neighbours

    def sample(self, n: int, seed: int = 0) -> list[SpanPath]:
        """Draw n paths from the distribution.

        Parameters
        ----------
        n : int
            Number of paths.
        seed : int
            Seed of the random number generator.

        Returns
        -------
        list of SpanPath

        Raises
        ------
        Impossible
            No path is possible.

        Examples
        --------
        >>> from caesura.inference.span_graph import SpanGraph
        >>> graph = SpanGraph([(0, 1), (1, 2), (0, 2)], [0, 0, 0], [1.0, 1.5, 2.0], 2, 1)
        >>> len(graph.sample(100, seed=1))
        100
        """
        whole("seed", seed, 0, 2**64 - 1)
        return self._paths(called(self._graph.sample, whole("n", n, 1, MOST_INDEX), int(seed)))

    def score(self, path: npt.ArrayLike) -> float:
        """Return the score of a path.

        Parameters
        ----------
        path : list of int
            Spans by their position in the graph's arrays, first to last.

        Returns
        -------
        float
            -inf where the spans are not a path, or one of their scores is -inf.

        Examples
        --------
        >>> from caesura.inference.span_graph import SpanGraph
        >>> graph = SpanGraph([(0, 1), (1, 2), (0, 2)], [0, 0, 0], [1.0, 1.5, 2.0], 2, 1)
        >>> graph.score([0, 1]), graph.score([1])
        (2.5, -inf)
        """
        items = np.asarray(path)
        items = checked_indices("path", items, (items.size,))
        n = len(self._segments)
        require(
            (items >= 0) & (items < n),
            lambda i: message(f"path[{i}]", int(items[i]), f"a span below {n}", "count from 0"),
        )
        return self._graph.score(items.tolist())

    def _posterior(
        self, want_entropy: bool
    ) -> tuple[float, float, Floats, Floats, Floats, Floats, Floats]:
        found = self._graph.posterior(want_entropy)
        if found[0] == -np.inf:
            raise _impossible()
        return found

    def _paths(self, found: list[tuple[list[int], float]]) -> list[SpanPath]:
        if not found:
            raise _impossible()
        return [SpanPath(path, [self._segments[i] for i in path], score) for path, score in found]


def _impossible() -> Impossible:
    return Impossible(
        "no path is possible, each scores -inf or leaves a gap",
        place="spans",
        remedy="add spans or replace -inf scores",
    )


def _pairs(name: str, value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return integers of shape (n, 2)."""
    array = np.asarray(value)
    return checked_indices(name, array, (len(array) if array.ndim else 0, 2))
