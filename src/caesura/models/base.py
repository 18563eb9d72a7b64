"""What all estimators share: from X and y to a trained model, and from X to answers.

::

    X, y -> documents, targets -> Encoder -> Corpus, Gold -> Parameters -> Objective -> weights
    X    -> documents          -> Encoder -> Corpus       -> Design     -> Scorer    -> segments
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from caesura import _kernels, inference
from caesura.documents import Document, Partial, as_document
from caesura.encoding import Encoder
from caesura.errors import Impossible, InvalidInput, message
from caesura.evaluation import segment_counts
from caesura.features import SegmentFeature, Template, declared, default_for, preset
from caesura.features.batch import Batch, Words
from caesura.inference.door import threads_of
from caesura.learning import Progress
from caesura.models.structure import Fitted, Structure
from caesura.models.targets import Hint, Target, gold_of, read_targets, scheme_of, segments_of
from caesura.models.training import Training, train
from caesura.potentials import OPEN_END, OPEN_START, Potentials
from caesura.segments import Segment

__all__ = ["Model"]

Floats = npt.NDArray[np.float64]
CHUNK = 1000  # sequences that are encoded, or predicted, at a time


class Model:
    """What `ChainCRF` and `SemiCRF` share."""

    features: Any
    outside: str
    tokeniser: Any
    n_threads: int | None
    _fitted: Fitted | None = None
    kind: ClassVar[str]

    # -- scikit-learn's protocol --------------------------------------------------------------

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self._names()
        for name, value in params.items():
            if name not in known:
                expected = f"one of {', '.join(known)}"
                raise InvalidInput(message("parameter", name, expected, "correct its name"))
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # -- what differs -------------------------------------------------------------------------

    def _structure(
        self, targets: Sequence[Target], lengths: Sequence[int], scheme: str | None
    ) -> tuple[Structure, tuple[str, ...], str | None]:
        """Return the structure, the labels, and the scheme of tags if states are tags."""
        raise NotImplementedError

    def _rows(
        self, target: Target, length: int, structure: Structure, scheme: str | None, name: str
    ) -> list[tuple[int, int, int]]:
        """Return a full target as segments of states over the whole sequence."""
        raise NotImplementedError

    def _hint(self, known: Partial, length: int, fitted: Structure, name: str) -> Hint:
        raise NotImplementedError

    def _training_bars(self, structure: Structure, scheme: str | None) -> Structure:
        """Return the structure in training, which may forbid less than in prediction."""
        return structure

    def _segments(self, path: Sequence[tuple[int, int, int]]) -> list[Segment]:
        """Return the segments of a path over states."""
        raise NotImplementedError

    def _check(self) -> None:
        """Raise if a parameter is wrong."""
        for name in ("c1", "c2", "min_freq"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < np.inf:
                raise InvalidInput(message(name, value, "a number, 0 or more", "correct it"))
        if getattr(self, "order", 1) != 1:
            raise InvalidInput(message("order", self.order, "1", "leave it out"))  # type: ignore[attr-defined]

    # -- fitting ------------------------------------------------------------------------------

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any] | None = None,
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
        sample_weight: npt.ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callable[[Progress], bool | None]] = (),
    ) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X : iterable of sequences
            Each a list of tokens, a text, a list with the attributes of each token, an array of
            shape (T, D), a dict of these, or a `Document`.  A generator is encoded as it comes.
        y : iterable, optional
            For each sequence its segments (gaps are text outside), a tag for each token, or
            `Partial`.  Without it, X are documents with segments.
        X_dev, y_dev : optional
            Development data: the weights with the best segment F1 on it are kept.
        sample_weight : array of shape (n,), optional
            How much each sequence counts.
        checkpoint : path, optional
            Written every few iterations; if it is there, fitting goes on from it.
        callbacks : sequence of callables
            Each is called after every iteration; True ends fitting.

        Returns
        -------
        self
        """
        self._check()
        before = self._fitted if getattr(self, "warm_start", False) else None
        read = self._read(X, y, before)
        training = self._training(read, sample_weight, before)
        dev_score = None if X_dev is None else self._dev_score(training, X_dev, y_dev)
        result = train(self, training, dev_score, checkpoint, callbacks)
        self._fitted = training.fitted(result.w)
        self._calibration = None
        self.features_ = training.encoder.features
        self.labels_ = list(training.labels)
        self.history_ = list(result.history)
        self.status_ = result.status
        self.n_features_ = len(training.parameters)
        training.encoder.forget()
        return self

    def _read(self, X: Iterable[Any], y: Iterable[Any] | None, before: Fitted | None) -> _Read:
        """Return the encoded training data and its checked targets."""
        pairs = _paired(X, y)
        features = before.encoder.features if before else self._declared()
        if features is None:
            head = list(islice(pairs, CHUNK))
            documents = self._documents([x for x, _ in head], 0)
            features = default_for(documents, segments=self.kind == "semi")
            pairs = chain(head, pairs)
        if self.kind == "chain":
            for feature in features:
                if isinstance(feature, SegmentFeature) or feature.place not in ("token", "edge"):
                    expected = "features of tokens and edges"
                    remedy = "take SemiCRF for features of segments, or leave it out"
                    raise InvalidInput(message("features", feature, expected, remedy))
        learns = any(
            isinstance(f, SegmentFeature) and type(f).fit is not SegmentFeature.fit for f in features
        )
        chunks = self._chunks(pairs)
        if learns and before is None:  # these must see all segments first
            listed = list(chunks)
            features = self._learnt(features, listed)
            chunks = iter(listed)
        encoder = before.encoder if before else Encoder(features)
        corpus = _kernels.Corpus()
        targets: list[Target] = []
        for documents, some in chunks:
            encoder.encode(documents, True, corpus)
            targets += some
        if not targets:
            raise InvalidInput("X: got no sequences, expected at least one")
        return _Read(encoder, corpus, targets)

    def _declared(self) -> list[Template | SegmentFeature] | None:
        if self.features is None:
            return None
        if isinstance(self.features, str):
            return declared(preset(self.features, segments=self.kind == "semi"))
        return declared(self.features)

    def _chunks(
        self, pairs: Iterator[tuple[Any, Any]]
    ) -> Iterator[tuple[list[Document], list[Target]]]:
        """Yield documents and targets, some at a time."""
        first = 0
        while some := list(islice(pairs, CHUNK)):
            documents = self._documents([x for x, _ in some], first)
            ys = [
                document.segments if target is _OWN else target
                for document, (_, target) in zip(documents, some, strict=True)
            ]
            for i, own in enumerate(ys, first):
                if own is None:
                    expected = "labels: y, or documents with segments"
                    raise InvalidInput(message(f"y[{i}]", None, expected, "give y"))
            yield documents, read_targets(ys, map(len, documents), first)
            first += len(some)

    def _documents(self, xs: Sequence[Any], first: int) -> list[Document]:
        return [as_document(x, self.tokeniser, f"X[{i}]") for i, x in enumerate(xs, first)]

    def _learnt(
        self,
        features: Sequence[Template | SegmentFeature],
        chunks: Sequence[tuple[list[Document], list[Target]]],
    ) -> list[Template | SegmentFeature]:
        """Return the features with what they learn from the segments of the training data."""
        documents = [document for some, _ in chunks for document in some]
        targets = [target for _, some in chunks for target in some]
        scheme = scheme_of(targets, self.outside)
        segments = [
            list(target.segments)
            if isinstance(target, Partial)
            else segments_of(target, scheme, self.outside, f"y[{i}]")
            for i, target in enumerate(targets)
        ]
        batch = Batch(documents, Words())
        return [
            feature.fit(batch, segments) if isinstance(feature, SegmentFeature) else feature
            for feature in features
        ]

    def _training(
        self, read: _Read, sample_weight: npt.ArrayLike | None, before: Fitted | None
    ) -> Training:
        """Return everything that learning needs."""
        targets = read.targets
        found = scheme_of(targets, self.outside)
        lengths = read.corpus.lengths
        structure, labels, scheme = self._structure(targets, lengths.tolist(), found)
        hints: dict[int, Hint] = {}
        rows: list[list[tuple[int, int, int]]] = []
        for i, (target, length) in enumerate(zip(targets, lengths.tolist(), strict=True)):
            if isinstance(target, Partial):
                hints[i] = self._hint(target, length, structure, f"y[{i}]")
                rows.append([])
                continue
            full = self._rows(target, length, structure, found if scheme is None else scheme, f"y[{i}]")
            for start, end, state in full:
                bound = structure.bounds[state]
                if bound and end - start > bound:
                    segment = (start, end, structure.states[state])
                    expected = f"a segment of {bound} tokens or fewer, as max_length says"
                    remedy = "raise max_length or shorten the segment"
                    raise InvalidInput(message(f"y[{i}]", segment, expected, remedy))
            rows.append(full)
        weight = np.ones(len(targets))
        if sample_weight is not None:
            weight = np.ascontiguousarray(sample_weight, np.float64)
            if weight.shape != (len(targets),) or not (np.isfinite(weight) & (weight >= 0)).all():
                raise InvalidInput(
                    f"sample_weight: got shape {weight.shape}, expected {len(targets)} finite "
                    "numbers, 0 or more, one for each sequence"
                )
        gold = gold_of(lengths, len(structure.states), rows, hints)
        training = self._training_bars(structure, scheme)
        return Training.of(
            self, structure, training, labels, scheme, read.encoder, read.corpus, gold, weight, rows, before
        )

    def _dev_score(
        self, training: Training, X: Iterable[Any], y: Iterable[Any] | None
    ) -> Callable[[Floats], float]:
        """Return the segment F1 of weights on development data."""
        documents: list[Document] = []
        targets: list[Target] = []
        for some, ys in self._chunks(_paired(X, y)):
            documents += some
            targets += ys
        scheme = scheme_of(targets, self.outside)
        gold = [segments_of(t, scheme, self.outside, f"y_dev[{i}]") for i, t in enumerate(targets)]
        design = training.parameters.compile(training.encoder.encode(documents, False))

        def score(w: Floats) -> float:
            fitted = training.fitted(w)
            paths = fitted.scorer.best(design, threads_of(self.n_threads))
            found = [self._said(path, fitted) for path in paths]
            return segment_counts(gold, found, self.outside).f1

        return score

    def _said(self, path: Sequence[tuple[int, int, int]] | None, fitted: Fitted) -> list[Segment]:
        return [] if path is None else self._segments_of(path, fitted)

    def _segments_of(self, path: Sequence[tuple[int, int, int]], fitted: Fitted) -> list[Segment]:
        raise NotImplementedError

    # -- prediction ---------------------------------------------------------------------------

    @property
    def _known(self) -> Fitted:
        if self._fitted is None:
            raise InvalidInput(
                f"{type(self).__name__}: not fitted yet; call fit(X, y) first, or caesura.load(path)"
            )
        return self._fitted

    def _designs(self, X: Iterable[Any]) -> Iterator[tuple[int, list[Document], _kernels.Design]]:
        """Yield X, some sequences at a time."""
        fitted = self._known
        if isinstance(X, str | Document | Mapping):
            raise InvalidInput(
                message("X", X, "a list of sequences", "put a single sequence into a list: [x]")
            )
        xs, first = iter(X), 0
        while some := list(islice(xs, CHUNK)):
            documents = self._documents(some, first)
            corpus = fitted.encoder.encode(documents, False)
            yield first, documents, fitted.parameters.compile(corpus)
            first += len(some)

    def predict(self, X: Iterable[Any], constraints: Any = None) -> list[list[Segment]]:
        """Return the best segments of each sequence, without the text outside.

        Parameters
        ----------
        X : iterable of sequences
            In any form that `fit` takes.
        constraints : dict, or one dict for each sequence, optional
            Arguments of `Potentials.constrain` that every answer must keep.
        """
        if constraints is not None:
            paths = inference.viterbi(self._all_potentials(X, constraints), n_threads=self.n_threads)
            return [self._named(path.segments) for path in paths]
        fitted, out = self._known, []
        for first, _, design in self._designs(X):
            for i, path in enumerate(fitted.scorer.best(design, threads_of(self.n_threads)), first):
                if path is None:
                    raise Impossible(f"X[{i}]: no segmentation is possible; relax what is forbidden")
                out.append(self._segments_of(path, fitted))
        return out

    def _named(self, segments: Iterable[Segment]) -> list[Segment]:
        """Return the segments of a path over states that are given by name."""
        fitted = self._known
        index = {state: k for k, state in enumerate(fitted.structure.states)}
        return self._segments_of([(s, e, index[state]) for s, e, state in segments], fitted)

    def potentials(self, x: Any) -> Potentials:
        """Return the log-potentials of one sequence, of which everything can be asked.

        Its labels are the model's states: the labels of segments, or the tags of a chain.
        """
        return self._all_potentials([x], None)[0]

    def _all_potentials(self, X: Iterable[Any], constraints: Any) -> list[Potentials]:
        """Return the potentials of sequences, constrained."""
        out: list[Potentials] = []
        for _, documents, design in self._designs(X):
            out += [self._potentials(i, document, design) for i, document in enumerate(documents)]
        if constraints is None:
            return out
        each = [constraints] * len(out) if isinstance(constraints, Mapping) else list(constraints)
        if len(each) != len(out):
            raise InvalidInput(
                f"constraints: got {len(each)} of them for {len(out)} sequences, expected one dict, "
                "or one for each sequence"
            )
        for i, (p, rules) in enumerate(zip(out, each, strict=True)):
            if not isinstance(rules, Mapping):
                remedy = "write {'at_most_once': ['year']}"
                raise InvalidInput(message(f"constraints[{i}]", rules, "a dict", remedy))
            p.constrain(**self._rules(rules, p))
        return out

    def _rules(self, rules: Mapping[str, Any], p: Potentials) -> dict[str, Any]:
        """Return constraints on segments as constraints on states."""
        return dict(rules)

    def _potentials(self, i: int, document: Document, design: _kernels.Design) -> Potentials:
        fitted = self._known
        structure, scorer, T = fitted.structure, fitted.scorer, len(document)
        tokens = document.tokens if any(document.tokens) else None
        p = Potentials(
            T,
            structure.states,
            max_length=[int(bound) or None for bound in structure.bounds],
            tokens=tokens,
        )
        Y = len(structure.states)
        scores, starts, ends, flags = scorer.rows(design, i)
        rows = scores.reshape(-1, Y)
        p.emission[...] = rows[:T]
        if len(starts):
            sites, states = np.nonzero(rows[T:])
            p.add_many(
                starts[sites],
                ends[sites],
                states,
                rows[T:][sites, states],
                (flags[sites] & OPEN_START) != 0,
                (flags[sites] & OPEN_END) != 0,
            )
        for t, pair, score in zip(*scorer.edges(design, i), strict=True):
            p.add_transition(int(t), int(pair) // Y, int(pair) % Y, float(score))
        _add_pairs(p, fitted)
        return p


class _Read(NamedTuple):
    """The training data, encoded."""

    encoder: Encoder
    corpus: _kernels.Corpus
    targets: list[Target]


_OWN = object()  # the segments that a document carries


def _paired(X: Iterable[Any], y: Iterable[Any] | None) -> Iterator[tuple[Any, Any]]:
    """Yield each sequence with its target."""
    if isinstance(X, str | Document | Mapping) or not isinstance(X, Iterable):
        remedy = "put a single sequence into a list: [x]"
        raise InvalidInput(message("X", X, "a list of sequences", remedy))
    if y is None:
        yield from ((x, _OWN) for x in X)
        return
    if isinstance(y, str) or not isinstance(y, Iterable):
        raise InvalidInput(message("y", y, "a list with the labels of each sequence", "give it"))
    ends = object()
    xs, ys = iter(X), iter(y)
    for i in range(1 << 62):
        one, target = next(xs, ends), next(ys, ends)
        if one is ends and target is ends:
            return
        if one is ends or target is ends:
            longer = "labels" if one is ends else "sequences"
            raise InvalidInput(
                f"X, y: got only {i} {'sequences' if one is ends else 'labels'} and more {longer}, "
                "expected as many of both"
            )
        yield one, target


def _add_pairs(p: Potentials, fitted: Fitted) -> None:
    """Set the scores of pairs of states, of the first and of the last."""
    structure, parameters, w = fitted.structure, fitted.parameters, fitted.w
    at = len(parameters.attribute) + len(parameters.edge_attribute)
    for scores, places in (
        (p.transition.reshape(-1), parameters.transition),
        (p.start, parameters.start),
        (p.end, parameters.end),
    ):
        scores[places] = w[at : at + len(places)]
        at += len(places)
    p.transition[structure.barred.astype(bool)] = -np.inf
    p.start[structure.barred_start.astype(bool)] = -np.inf
    p.end[structure.barred_end.astype(bool)] = -np.inf
