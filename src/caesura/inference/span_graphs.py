"""The span graphs of a batch of sequences, processed in one kernel call.

Each graph is one of `caesura.inference.span_graph`; labels, their scores and the arc rule are those
of the whole batch.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import whole
from caesura.errors import Impossible, InvalidInput, message
from caesura.inference.kernel_calls import called, threads_of
from caesura.inference.span_checks import checked_indices, checked_scores, require
from caesura.inference.span_graph import MOST_INDEX, RULES

__all__ = ["SpanGraphs", "SpanGraphsMarginals", "SpanGraphsPath"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class SpanGraphsPath(NamedTuple):
    """A path through the graph of one sequence."""

    spans: list[int]  #: indices of the spans in the arrays of the batch
    score: float  #: sum of all scores along the path


class SpanGraphsMarginals(NamedTuple):
    """Expected counts, the derivatives of ln Z with respect to the scores in the same place."""

    log_partition: Floats  #: (B,) ln Z; -inf where no path is possible, with counts of 0
    spans: Floats  #: (n,) probability of each span
    transitions: Floats  #: (B, Y, Y) expected number of arcs between labels


class SpanGraphs:
    """The graphs of labelled spans of a batch of sequences.

    Parameters
    ----------
    spans : array of shape (n, 4)
        Sequence, start, end and label of each span, sorted by sequence.
    scores : array of shape (n,)
        Log-potential of each span.
    lengths : array of shape (B,)
        Number of tokens of each sequence.
    n_labels : int
        Number of labels, Y.
    transition : array of shape (Y, Y), optional
        Score of an arc between spans with these labels.
    start, end : arrays of shape (Y,), optional
        Score of the label of a path's first span and of its last.
    rule : {"adjacent", "filtered"}
        The rule that determines which span may follow which; see `caesura.inference.span_graph`.
    n_threads : int, optional
        Number of threads, all cores by default.  Results do not depend on it.

    Examples
    --------
    >>> from caesura.inference.span_graphs import SpanGraphs
    >>> spans = [(0, 0, 2, 0), (0, 1, 3, 1), (0, 4, 5, 0), (1, 0, 1, 1)]
    >>> graphs = SpanGraphs(spans, [1.0, 2.0, 0.5, 0.0], [6, 2], 2, rule="filtered", n_threads=1)
    >>> [path.spans for path in graphs.best()]
    [[1, 2], [3]]
    >>> graphs.marginals().spans.round(3)
    array([0.269, 0.731, 1.   , 1.   ])
    """

    def __init__(
        self,
        spans: npt.ArrayLike,
        scores: npt.ArrayLike,
        lengths: npt.ArrayLike,
        n_labels: int,
        transition: npt.ArrayLike | None = None,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        rule: str = "adjacent",
        n_threads: int | None = None,
    ) -> None:
        Y = whole("n_labels", n_labels, 1, MOST_INDEX)
        if rule not in RULES:
            raise InvalidInput(message("rule", rule, f"one of {list(RULES)}", "choose one"))
        self._threads = threads_of(n_threads)
        rows = np.asarray(spans)
        rows = checked_indices("spans", rows, (len(rows) if rows.ndim else 0, 4))
        given = np.asarray(lengths)
        sizes = checked_indices("lengths", given, (given.size,))
        n, B = len(rows), len(sizes)
        _check(rows, sizes, Y)
        self.offsets: Ints = np.searchsorted(rows[:, 0], np.arange(B + 1)).astype(np.int64)
        self.n_labels = Y
        self._graphs = _kernels.SpanGraphs(
            lengths=sizes.astype(np.int32),
            offsets=self.offsets,
            n_labels=Y,
            rule=RULES[rule],
            spans=np.ascontiguousarray(rows[:, 1:], np.int32),
            scores=checked_scores("scores", scores, (n,)),
            transition=checked_scores("transition", transition, (Y, Y)),
            start=checked_scores("start", start, (Y,)),
            end=checked_scores("end", end, (Y,)),
            n_threads=self._threads,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        n, B = int(self.offsets[-1]), len(self)
        return f"SpanGraphs({n} spans of {B} sequences, n_labels={self.n_labels})"

    def arcs(self) -> Ints:
        """Return the number of implied arcs of each graph, (B,); they are never listed.

        Examples
        --------
        >>> from caesura.inference.span_graphs import SpanGraphs
        >>> SpanGraphs([(0, 0, 1, 0), (0, 1, 2, 0)], [0.0, 0.0], [2], 1).arcs().tolist()
        [1]
        """
        return self._graphs.arcs()

    def log_partition(self) -> Floats:
        """Return ln Z of each graph, (B,); -inf where no path is possible.

        Examples
        --------
        >>> from caesura.inference.span_graphs import SpanGraphs
        >>> SpanGraphs([(0, 0, 1, 0)], [2.5], [1], 1).log_partition()
        array([2.5])
        """
        return self._graphs.log_partition(self._threads)

    def marginals(self) -> SpanGraphsMarginals:
        """Return ln Z, the probabilities of spans and the expected numbers of transitions.

        Examples
        --------
        >>> from caesura.inference.span_graphs import SpanGraphs
        >>> found = SpanGraphs([(0, 0, 1, 0), (0, 0, 1, 1)], [0.0, 0.0], [1], 2).marginals()
        >>> found.spans
        array([0.5, 0.5])
        """
        log_z, _, spans, transitions = self._graphs.posterior(False, self._threads)
        Y = self.n_labels
        return SpanGraphsMarginals(log_z, spans, transitions.reshape(len(self), Y, Y))

    def entropy(self) -> Floats:
        """Return the entropy of each graph's distribution over paths, in nats, (B,).

        Examples
        --------
        >>> from caesura.inference.span_graphs import SpanGraphs
        >>> spans = [(0, 0, 1, 0), (0, 0, 1, 1)]
        >>> SpanGraphs(spans, [0.0, 0.0], [1], 2).entropy().round(6)  # two, equally probable
        array([0.693147])
        """
        log_z, entropy, *_ = self._graphs.posterior(True, self._threads)
        self._require_possible(np.isneginf(log_z))
        return entropy

    def best(self) -> list[SpanGraphsPath]:
        """Return the best path of each graph.

        Raises
        ------
        Impossible
            A sequence has no path.

        Examples
        --------
        >>> from caesura.inference.span_graphs import SpanGraphs
        >>> SpanGraphs([(0, 0, 1, 0), (0, 0, 1, 1)], [0.0, 1.0], [1], 2).best()
        [SpanGraphsPath(spans=[1], score=1.0)]
        """
        return [paths[0] for paths in self.n_best(1)]

    def n_best(self, n: int) -> list[list[SpanGraphsPath]]:
        """Return the n best paths of each graph, all different, the best first.

        Parameters
        ----------
        n : int
            Number of paths; there are fewer where fewer are possible.

        Raises
        ------
        Impossible
            A sequence has no path.

        Examples
        --------
        >>> from caesura.inference.span_graphs import SpanGraphs
        >>> graphs = SpanGraphs([(0, 0, 1, 0), (0, 0, 1, 1)], [0.0, 1.0], [1], 2)
        >>> [path.spans for path in graphs.n_best(5)[0]]
        [[1], [0]]
        """
        found = called(self._graphs.n_best, whole("n", n, 1, MOST_INDEX), self._threads)
        paths = self._paths(found)
        if n > 1:  # rounding may have swapped neighbours
            paths = [sorted(some, key=lambda path: -path.score) for some in paths]
        return paths

    def sample(self, n: int, seed: int = 0) -> list[list[SpanGraphsPath]]:
        """Draw n paths of each graph; sequence b uses ``seed + b``, modulo 2**64.

        Parameters
        ----------
        n : int
            Number of paths.
        seed : int
            Seed of the random number generator.

        Raises
        ------
        Impossible
            A sequence has no path.

        Examples
        --------
        >>> from caesura.inference.span_graphs import SpanGraphs
        >>> graphs = SpanGraphs([(0, 0, 1, 0), (0, 0, 1, 1)], [0.0, 1.0], [1], 2)
        >>> len(graphs.sample(100, seed=1)[0])
        100
        """
        whole("seed", seed, 0, 2**64 - 1)
        count = whole("n", n, 1, MOST_INDEX)
        return self._paths(called(self._graphs.sample, count, int(seed), self._threads))

    def _paths(self, found: Any) -> list[list[SpanGraphsPath]]:
        sequences, offsets, spans, scores = (array.tolist() for array in found)
        self._require_possible(np.diff(found[0]) == 0)
        each = [
            SpanGraphsPath(spans[a:b], score)
            for (a, b), score in zip(pairwise(offsets), scores, strict=True)
        ]
        return [each[a:b] for a, b in pairwise(sequences)]

    def _require_possible(self, never: npt.NDArray[np.bool_]) -> None:
        for b in np.flatnonzero(never)[:1].tolist():
            raise Impossible(
                f"no path of sequence {b} is possible, each scores -inf or leaves a gap",
                place="spans",
                remedy="add spans or replace -inf scores",
            )


def _check(rows: Ints, sizes: Ints, Y: int) -> None:
    """Raise for the first span outside its sequence."""
    B = len(sizes)
    require(
        (sizes >= 0) & (sizes <= MOST_INDEX),
        lambda b: message(f"lengths[{b}]", int(sizes[b]), "0 or more", "pass a length"),
    )
    b, s, e, y = rows.T
    own = sizes[np.clip(b, 0, max(B - 1, 0))] if B else np.zeros_like(b)
    expected = f"a sequence below {B}, 0 <= start < end <= its length, a label below {Y}"
    require(
        (b >= 0) & (b < B) & (s >= 0) & (s < e) & (e <= own) & (y >= 0) & (y < Y),
        lambda i: message(f"spans[{i}]", tuple(rows[i].tolist()), expected, "count from 0"),
    )
    sorted_ = np.concatenate([np.ones(min(len(b), 1), bool), b[1:] >= b[:-1]])
    expected = "spans sorted by sequence"
    require(
        sorted_,
        lambda i: message(f"spans[{i}]", tuple(rows[i].tolist()), expected, "sort them"),
    )
