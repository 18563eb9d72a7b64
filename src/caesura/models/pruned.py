"""Semi-CRFs over the spans kept by a cheap filter model (after Okanohara, 2006).

::

    X -> first model -> spans with a probability of at least a threshold
                     -> features of these spans alone -> span graph -> segments

Features that look at whole spans, such as functions of the user, are the expensive part of a
semi-CRF, since there are T * L spans in a sequence.  The first model prunes nearly all of them.
What may be lost is chosen: the threshold is the highest at which at most a given share of the
labelled segments is pruned, measured on data that the first model was not fitted on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from caesura.checks import nothing, whole
from caesura.documents import Document
from caesura.errors import InvalidInput, message, not_fitted
from caesura.evaluation import segment_counts
from caesura.features.document_columns import remember
from caesura.inference.span_graph import SpanGraph
from caesura.learning import LBFGS, minimise
from caesura.models.calibration import Confident
from caesura.models.inputs import chunks, labelled, paired
from caesura.models.protocol import Parameters
from caesura.models.ragged import Ragged
from caesura.models.semi import SemiCRF
from caesura.models.span_pool import Kept, Pool, Seen, in_training_order, pooled, threshold_for
from caesura.models.targets import scheme_of, segments_of
from caesura.segments import Segment

__all__ = ["PrunedSemiCRF"]

Floats = npt.NDArray[np.float64]


class PrunedSemiCRF(Parameters):
    """A semi-CRF whose features apply only to spans kept by a cheap filter model.

    Parameters
    ----------
    features : callable
        ``features(document, start, end)`` returns the attributes of a span, as the function of
        `caesura.features.SegmentFunction` does: a string, some strings, a dict with values, or
        None.  Each has a weight for each label.  It is called for kept spans alone.
    first : estimator, optional
        The filter model, which gives probabilities of segments; by default `SemiCRF` with features
        chosen by the data.  It is not changed; a copy is fitted.
    max_lost : float
        Maximum share of the labelled segments that may be pruned.
    folds : int
        Number of parts of the training data. Each is pruned by a model that was fitted to the
        others; the threshold is chosen on the same predictions.
    c2 : float
        Penalty ``c2 |w|^2``.
    max_iterations : int
        Maximum number of iterations of L-BFGS.
    outside : str
        Label of text outside segments.
    tokeniser
        How texts are split into tokens.
    random_state : int
        Seed for the parts.

    Attributes
    ----------
    threshold_ : float
        Spans with a lower probability under the first model are pruned.
    lost_ : float
        Share of the labelled segments below the threshold, on held-out data.
    kept_ : float
        Number of kept spans per token of the training data.
    labels_ : list of str
        Labels of segments.
    vocabulary_ : dict of str to int
        The attributes that were seen, and their numbers.
    weights_ : array
        The weights of attributes by label, log-odds, labels and label transitions.
    first_ : SemiCRF
        The first model, fitted on all data.

    Notes
    -----
    A kept span is scored by the weights of its attributes, by the log-odds of the first model and
    by label transitions.  Text outside is cut into tokens.  ln Z and marginals are those of
    `caesura.inference.span_graph.SpanGraph`, so that a pass over the data is linear in the number
    of kept spans.

    Examples
    --------
    >>> from caesura.models import PrunedSemiCRF
    >>> X = ["12 High Street Leeds", "3 Mill Lane York", "25 Park Road Leeds", "8 Kirk Lane Hull"]
    >>> y = [[(0, 1, "number"), (1, 3, "street"), (3, 4, "town")]] * 4
    >>> def whole_text(document, start, end):
    ...     return ["text=" + " ".join(document.tokens[start:end]), f"length={end - start}"]
    >>> model = PrunedSemiCRF(whole_text, max_lost=0.0, folds=2).fit(X, y)
    >>> model.predict(["9 Low Street York"])[0][1]
    Segment(start=1, end=3, label='street')
    >>> model.lost_
    0.0
    """

    def __init__(
        self,
        features: Callable[[Document, int, int], Iterable[str]],
        first: Any = None,
        max_lost: float = 0.005,
        folds: int = 3,
        c2: float = 0.1,
        max_iterations: int = 100,
        outside: str = "O",
        tokeniser: Any = "words",
        random_state: int = 0,
    ) -> None:
        self.features, self.first, self.max_lost = features, first, max_lost
        self.folds, self.c2, self.max_iterations = folds, c2, max_iterations
        self.outside, self.tokeniser, self.random_state = outside, tokeniser, random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")

    def _weight_count(self) -> int:
        return len(self.weights_)

    # -- fitting ---------------------------------------------------------------------------------

    def fit(self, X: Iterable[Any], y: Iterable[Any] | None = None) -> Self:
        """Fit the filter model, choose the threshold, and learn weights over the kept spans.

        Parameters
        ----------
        X, y
            As `caesura.SemiCRF.fit` takes them, labelled in full.

        Returns
        -------
        self
        """
        self.check_parameters()
        remember(self.features)  # a file of this model may refer to it by name
        documents, gold = self._read(X, y)
        labels = sorted({s.label for cut in gold for s in cut})
        if not labels:
            raise nothing("y", "segment at all", "label at least one")
        if len(documents) < self.folds:
            expected = f"at most {len(documents)}, the number of sequences"
            raise InvalidInput(message("folds", self.folds, expected, "lower it"))
        seen = self._held_out(documents, gold)
        chances = [one.chance(s) for one, cut in zip(seen, gold, strict=True) for s in cut]
        self.threshold_, self.lost_ = threshold_for(chances, self.max_lost)
        self.labels_ = labels
        kept = [self._kept(one) for one in seen]
        tokens = max(1, sum(map(len, documents)))
        self.kept_ = sum(map(len, kept)) / tokens
        for some, one, cut in zip(kept, seen, gold, strict=True):
            known = {segment for segment, _ in some}  # gold segments are always included
            some += [(s, one.chance(s)) for s in cut if s not in known]
        self.vocabulary_: dict[str, int] = {}
        self.first_ = self._new_first().fit(documents, gold)
        pool = self._pooled(documents, seen, kept, True)
        self.weights_ = self._learnt(pool, gold)
        return self

    def check_parameters(self) -> None:
        """Raise if a parameter is wrong."""
        if not callable(self.features):
            remedy = "pass a function of a document, a start and an end"
            raise InvalidInput(message("features", self.features, "a function", remedy))
        whole("folds", self.folds, 2)
        whole("max_iterations", self.max_iterations, 1)
        for name, most in (("max_lost", 1.0), ("c2", float("inf"))):
            value = getattr(self, name)
            good = isinstance(value, int | float) and not isinstance(value, bool)
            if not good or not 0.0 <= value <= most:
                limit = "from 0 to 1" if most == 1.0 else "0 or more"
                remedy = "leave it out for the default"
                raise InvalidInput(message(name, value, f"a number, {limit}", remedy))

    def _read(self, X: Any, y: Any) -> tuple[list[Document], list[list[Segment]]]:
        documents: list[Document] = []
        targets: list[Any] = []
        for _, some, ys in labelled(paired(X, y), self.tokeniser):
            documents += some
            targets += ys
        scheme = scheme_of(targets, self.outside)
        named = enumerate(targets)
        return documents, [segments_of(t, scheme, self.outside, f"y[{i}]") for i, t in named]

    def _new_first(self) -> SemiCRF:
        if self.first is None:
            return SemiCRF(outside=self.outside, tokeniser=self.tokeniser)
        if not isinstance(self.first, SemiCRF):
            raise InvalidInput(message("first", self.first, "a SemiCRF", "pass one, or nothing"))
        return type(self.first)(**self.first.get_params())

    def _held_out(self, documents: list[Document], gold: list[list[Segment]]) -> list[Seen]:
        """Return the cross-validated predictions of the filter model for each sequence."""
        order = np.random.default_rng(self.random_state).permutation(len(documents)).tolist()
        found: dict[int, Seen] = {}
        for k in range(self.folds):
            held = order[k :: self.folds]
            out = set(held)
            rest = [i for i in range(len(documents)) if i not in out]
            first = self._new_first().fit([documents[i] for i in rest], [gold[i] for i in rest])
            answers = Seen.of(first, [documents[i] for i in held])
            found.update(zip(held, answers, strict=True))
        return [found[i] for i in range(len(documents))]

    def _kept(self, seen: Seen) -> Kept:
        """Return the labelled spans that are not pruned."""
        least = max(self.threshold_, 1e-12)
        return [
            (segment, p)
            for segment, p in seen.marginals.segments(min(least, 1.0))
            if segment.label in self.labels_
        ]

    def _pooled(self, documents: Any, seen: Any, kept: Sequence[Kept], grow: bool) -> Pool:
        number = {label: k for k, label in enumerate(self.labels_, 1)}
        documents = in_training_order(self.first_, documents)
        return pooled(documents, seen, kept, number, self.features, self.vocabulary_, grow)

    # -- weights: attributes (A, Y + 2), log-odds and labels (Y + 2), transitions (Y + 2, Y + 2) --

    def _parts(self, w: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        Y, A = len(self.labels_) + 2, len(self.vocabulary_)
        ends = np.cumsum([A * Y, Y, Y, Y * Y])
        attributes, odds, bias, transition = np.split(w, ends[:-1])
        return attributes.reshape(A, Y), odds, bias, transition.reshape(Y, Y)

    def _graph(self, pool: Pool, w: Floats) -> SpanGraph:
        attributes, odds, bias, transition = self._parts(w)
        y = pool.labels
        scores = bias[y] + odds[y] * pool.odds
        of_spans = pool.values * attributes[pool.attributes, y[pool.owner]]
        scores += np.bincount(pool.owner, of_spans, minlength=len(y))
        separator = len(self.labels_) + 1
        scores[y == separator] = 0.0
        return SpanGraph(pool.spans, y, scores, pool.offsets[-1], len(bias), transition)

    def _counts(self, pool: Pool, spans: Floats, transitions: Floats) -> Floats:
        """Return the expected counts of all weights, from those of spans and transitions."""
        Y, A = len(self.labels_) + 2, len(self.vocabulary_)
        y = pool.labels
        spans = np.where(y == Y - 1, 0.0, spans)
        cells = pool.attributes * Y + y[pool.owner]
        return np.concatenate(
            [
                np.bincount(cells, pool.values * spans[pool.owner], minlength=A * Y),
                np.bincount(y, spans * pool.odds, minlength=Y),
                np.bincount(y, spans, minlength=Y),
                transitions.reshape(-1),
            ]
        )

    def _objective(
        self, pool: Pool, gold: list[list[Segment]]
    ) -> Callable[[Floats], tuple[float, Floats]]:
        """Return the negative log-likelihood of the gold segments, with its gradient."""
        Y = len(self.labels_) + 2
        chosen = self._given(pool, gold)
        path = np.flatnonzero(chosen)
        path = path[np.argsort(pool.spans[path, 0], kind="stable")]
        y = pool.labels[path]
        pairs = np.bincount(y[:-1] * Y + y[1:], minlength=Y * Y).astype(np.float64)
        given = self._counts(pool, chosen.astype(np.float64), pairs)

        def objective(w: Floats) -> tuple[float, Floats]:
            found = self._graph(pool, w).marginals()
            expected = self._counts(pool, found.spans, found.transitions)
            return found.log_partition - float(w @ given), expected - given

        return objective

    def _learnt(self, pool: Pool, gold: list[list[Segment]]) -> Floats:
        """Maximise the likelihood of the gold segments."""
        Y, A = len(self.labels_) + 2, len(self.vocabulary_)
        start = np.zeros(A * Y + 2 * Y + Y * Y)
        start[A * Y : A * Y + Y] = 1.0  # start from the log-odds of the filter model
        objective = self._objective(pool, gold)
        solver = LBFGS(objective, c2=self.c2, max_iterations=self.max_iterations, delta=1e-4)
        found: Floats = minimise(solver, start).w
        return found

    def _given(self, pool: Pool, gold: list[list[Segment]]) -> npt.NDArray[np.bool_]:
        """Return which spans belong to the gold segmentations."""
        number = {label: k for k, label in enumerate(self.labels_, 1)}
        wanted: set[tuple[int, int, int]] = set()
        covered = np.zeros(pool.offsets[-1], bool)
        for place, cut in zip(pool.offsets, gold, strict=False):
            for start, end, label in cut:
                wanted.add((place + start, place + end, number[label]))
                covered[place + start : place + end] = True
        rows = np.concatenate([pool.spans, pool.labels[:, None]], 1).tolist()
        outside = (pool.labels == 0) & ~covered[pool.spans[:, 0]]
        named = np.array([tuple(row) in wanted for row in rows], bool)
        found: npt.NDArray[np.bool_] = outside | named | (pool.labels == len(number) + 1)
        return found

    # -- prediction --------------------------------------------------------------------------------

    def _answers(self, X: Any) -> Iterable[tuple[SpanGraph, Pool]]:
        if not hasattr(self, "first_"):
            raise not_fitted("not fitted yet", place="PrunedSemiCRF", remedy="call fit first")
        for _, documents in chunks(X, self.tokeniser):
            seen = Seen.of(self.first_, documents)
            kept = [self._kept(one) for one in seen]
            pool = self._pooled(documents, seen, kept, False)
            yield self._graph(pool, self.weights_), pool

    def predict(self, X: Iterable[Any]) -> list[list[Segment]]:
        """Return the best segments of each sequence.

        Parameters
        ----------
        X : iterable of sequences
            Sequences in any form that `fit` takes.

        Returns
        -------
        list of list of Segment
        """
        out: list[list[Segment]] = []
        for graph, pool in self._answers(X):
            out += [[s for s, _ in some] for some in self._split(graph.viterbi().spans, pool)]
        return Ragged(out, self, X)

    def predict_confident(self, X: Iterable[Any]) -> list[list[Confident]]:
        """Return the best segments, each with its probability among the kept spans.

        Parameters
        ----------
        X : iterable of sequences
            Sequences in any form that `fit` takes.

        Returns
        -------
        list of list of Confident
        """
        out: list[list[Confident]] = []
        for graph, pool in self._answers(X):
            likely = graph.marginals().spans
            out += [
                [Confident(s, float(likely[i]), False, False) for s, i in some]
                for some in self._split(graph.viterbi().spans, pool)
            ]
        return Ragged(out, self, X)

    def _split(self, path: Sequence[int], pool: Pool) -> list[list[tuple[Segment, int]]]:
        """Return the labelled spans of a path by sequence, with their indices."""
        found: list[list[tuple[Segment, int]]] = [[] for _ in pool.offsets[:-1]]
        for i in path:
            label = int(pool.labels[i])
            if 0 < label <= len(self.labels_):
                start, end = pool.spans[i].tolist()
                b = int(np.searchsorted(pool.offsets, start, "right")) - 1
                place = pool.offsets[b]
                name = self.labels_[label - 1]
                found[b].append((Segment(start - place, end - place, name), int(i)))
        return found

    def score(self, X: Iterable[Any], y: Iterable[Any] | None = None) -> float:
        """Return the segment F1.

        Parameters
        ----------
        X, y
            Labelled sequences.

        Returns
        -------
        float
        """
        documents, gold = self._read(X, y)
        return segment_counts(gold, self.predict(documents), self.outside).f1

    # -- files -------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `caesura.load` reads.

        Parameters
        ----------
        path : path
            The file: safetensors and JSON, no code.  It has the name of the function `features`,
            which must be at the top of a module; `caesura.load` imports that module only with
            ``trust=True``.
        """
        from caesura.models.files import save_pruned

        if not hasattr(self, "first_"):
            raise not_fitted("not fitted yet", place="PrunedSemiCRF", remedy="call fit first")
        save_pruned(self, path)
