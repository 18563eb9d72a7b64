"""What all estimators share: from X and y to a trained model, and from X to segments.

::

    X, y -> documents, targets -> Encoder -> Corpus, Gold -> Parameters -> Objective -> weights
    X    -> documents          -> Encoder -> Corpus       -> Design     -> Scorer    -> segments

    Estimator     parameters
    Model         fit
    Predictor     predict, n-best, sample, marginals
    Answers       score, calibrate, explain, save
    ChainCRF, SemiCRF
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document, Partial
from caesura.encoding import Encoder
from caesura.encoding.spans import SpanEncoder
from caesura.errors import InvalidInput, message
from caesura.features import SegmentFeature, declared, default_for, preset
from caesura.features.batch import Batch, Words
from caesura.features.history import SegmentHistory
from caesura.learning import Progress
from caesura.learning.learners import is_probabilistic
from caesura.models import lookback_checks
from caesura.models.arguments import checked_run, weights_of
from caesura.models.compact import compacted
from caesura.models.development import Development
from caesura.models.estimator import Estimator, Features
from caesura.models.growing import grown
from caesura.models.lookback import (
    SpanTraining,
    fit_spans,
    is_span_model,
    own_features,
    span_fitted,
)
from caesura.models.margin import check_targets
from caesura.models.patterns import grows
from caesura.models.reading import CHUNK, chunks, kinds_of, labelled, paired
from caesura.models.rules import StateRules, model_rules
from caesura.models.structure import Fitted, Structure, check_learnt
from caesura.models.targets import Hint, Rows, Target, gold_of, scheme_of, segments_of
from caesura.models.training import Examples, Training, train
from caesura.segments import Segment

__all__ = ["Model", "weights_of"]

Floats = npt.NDArray[np.float64]
MANY_STATES = 500  # from here on their pairs take most of the time
Chunk = tuple[int, list[Document], list[Target]]


class _Read(NamedTuple):
    """The training data, encoded."""

    encoder: Encoder
    corpus: _kernels.Corpus
    targets: list[Target]
    documents: list[Document]  # only where features need them


class Model(Estimator):
    """An estimator that learns."""

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
            Development data: the weights with the best segment F1 on it are kept.  Labels that the
            training data does not have count as missed.
        sample_weight : array of shape (n,), optional
            How much each sequence counts.
        checkpoint : path, optional
            Written every few iterations; if it is there, fitting goes on from it, which needs the
            same data, also for development, and the same settings.
        callbacks : sequence of callables
            Each is called after every iteration; True ends fitting.

        Returns
        -------
        self

        Notes
        -----
        With `Partial` labels the objective is not concave: what is found depends on where fitting
        starts, which is at zero weights, or at those of the fit before with ``warm_start``.
        """
        self._check()
        callbacks = checked_run(X_dev, y_dev, checkpoint, callbacks)
        before = self._known if self.warm_start and self._fitted is not None else None
        if before is not None and self._temperature is not None:
            before = before._replace(w=before.w * self._temperature)
        read = self._read(X, y, before)
        if isinstance(read.encoder, SpanEncoder):
            dev = None if X_dev is None else self._gold(X_dev, y_dev, ("X_dev", "y_dev"))
            return self._fit_spans(read, sample_weight, dev, checkpoint, callbacks)
        training = self._training(read, sample_weight, before)
        development = None if X_dev is None else Development(self, training, X_dev, y_dev)
        result = train(self, training, development, checkpoint, callbacks, sample_weight)
        fitted = compacted(training.fitted(result.w))
        fitted.encoder.forget()
        self._set_fitted(
            fitted,
            n_features_=len(result.w),
            history_=list(result.history),
            status_=result.status,
            _margin=not is_probabilistic(self.learner, self.loss),
            _temperature=None,
        )
        return self

    def _fit_spans(
        self,
        read: _Read,
        sample_weight: npt.ArrayLike | None,
        dev: tuple[list[Document], list[list[Segment]]] | None,
        checkpoint: str | os.PathLike[str] | None,
        callbacks: Sequence[Callable[[Progress], bool | None]],
    ) -> Self:
        """Learn with features that look back, or with a beam."""
        lengths = read.corpus.lengths.tolist()
        lookback_checks.check_targets(read.targets)
        labelling = self._labelling(read.targets, lengths, None)
        lookback_checks.check_bounds(self, labelling.structure)
        lookback_checks.check_sizes(read.corpus.lengths, labelling.structure)
        bars = self._training_bars(labelling.structure)
        rows = [
            self._rows(target, length, labelling, f"y[{i}]")
            for i, (target, length) in enumerate(zip(read.targets, lengths, strict=True))
        ]
        _check_rows(rows, bars)
        encoder: Any = read.encoder
        kernel = encoder.new_model(len(bars.states), bool(self.boundary_weights))
        own = own_features(encoder, bars.states, read.documents.__getitem__)
        weight = weights_of(sample_weight, len(rows))
        corpus: Any = read.corpus
        training = SpanTraining(labelling, bars, encoder, corpus, kernel, rows, weight, own)
        kernel, history, status = fit_spans(self, training, dev, checkpoint, callbacks)
        check_learnt(kernel.weights)
        encoder.forget()
        fitted = span_fitted(labelling[:3], encoder, kernel)
        self._set_fitted(fitted, n_features_=len(kernel), history_=history, status_=status)
        return self

    def _read(self, X: Any, y: Any, before: Fitted | None) -> _Read:
        """Return the encoded training data and its checked targets."""
        pairs = paired(X, y)
        features, seen = self._declared(), None
        if before is not None:
            _check_same(features, before.encoder.features)
            features = before.encoder.features
        if features is None:
            head = list(islice(pairs, CHUNK))
            documents = next(chunks([x for x, _ in head], self.tokeniser), (0, []))[1]
            features = default_for(documents, segments=self.kind == "semi")
            pairs = chain(head, pairs)
            seen = kinds_of(documents) or {"words"}
        self._check_features(features)
        some: Iterable[Chunk] = labelled(pairs, self.tokeniser)
        if seen is not None:
            some = _of_kinds(some, seen)
        learns = any(isinstance(f, SegmentFeature) and f.learns for f in features)
        if before is None and learns:
            some = list(some)  # these must see all segments first
            features = self._learnt(features, some)
        spans = is_span_model(self, features)
        encoder = before.encoder.copy() if before else (SpanEncoder if spans else Encoder)(features)
        if spans:
            lookback_checks.check_span_model(self, features)
        corpus = encoder.corpus_kind()
        targets: list[Target] = []
        kept: list[Document] = []  # for features that are functions of all segments so far
        for first, documents, ys in some:
            encoder.encode(documents, True, corpus, first)
            targets += ys
            kept += documents if isinstance(encoder, SpanEncoder) and encoder.own else []
        if not targets:
            raise InvalidInput("X: got no sequences, expected at least one; give labelled ones")
        return _Read(encoder, corpus, targets, kept)

    def _declared(self) -> Features | None:
        if self.features is None:
            return None
        if isinstance(self.features, Iterator | Set):
            remedy = "put them into a list: they are asked for again, and in the same order"
            raise InvalidInput(message("features", self.features, "a list", remedy))
        if isinstance(self.features, str):
            try:
                semi = self.kind == "semi"
                more = {"bigrams": True} if semi and self._takes_bigrams else {}
                return declared(preset(self.features, segments=semi, **more))
            except InvalidInput as error:
                raise InvalidInput(f"features: {error}") from None
        return declared(self.features)

    @property
    def _takes_bigrams(self) -> bool:
        """Whether a preset looks at the word before: the preset words does, with a beam."""
        return self.features == "words" and self.beam is not None

    def _learnt(self, features: Features, data: Sequence[Chunk]) -> Features:
        """Return the features with what they learn from the segments of the training data."""
        documents = [document for _, some, _ in data for document in some]
        targets = [target for _, _, some in data for target in some]
        scheme = scheme_of(targets, self.outside)
        segments = [
            [s for s in target.segments if s.label != self.outside]
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
        lengths = read.corpus.lengths
        check_targets(self, read.targets)
        labelling = self._labelling(read.targets, lengths.tolist(), before)
        bars = self._training_bars(labelling.structure)
        hints: dict[int, Hint] = {}
        rows: list[Rows] = []
        for i, (target, length) in enumerate(zip(read.targets, lengths.tolist(), strict=True)):
            if isinstance(target, Partial):
                hints[i] = self._hint(target, length, labelling, f"y[{i}]")
                rows.append(np.zeros((0, 3), np.int32))
            else:
                rows.append(self._rows(target, length, labelling, f"y[{i}]"))
        _check_rows(rows, bars)
        _warn_of_many(len(bars.states), int(lengths.sum()))
        weight = weights_of(sample_weight, len(rows))
        gold = gold_of(lengths, len(bars.states), rows, hints)
        _check_rules(gold, self._state_rules(labelling, model_rules(self.constraints)))
        known = {i: allowed for i, (allowed, _) in hints.items()}
        examples = Examples(read.encoder, read.corpus, gold, rows, weight, known)
        if grows(self) and self.order > 1:
            return grown(self, labelling, examples, before)
        return Training.of(self, labelling, examples, before)

    def _gold(
        self, X: Any, y: Any, names: tuple[str, str]
    ) -> tuple[list[Document], list[list[Segment]]]:
        """Return documents and their segments, without the text outside."""
        documents: list[Document] = []
        targets: list[Target] = []
        for _, some, ys in labelled(paired(X, y, names), self.tokeniser, names):
            documents += some
            targets += ys
        scheme = scheme_of(targets, self.outside, name=names[1])
        return documents, [
            segments_of(target, scheme, self.outside, f"{names[1]}[{i}]")
            for i, target in enumerate(targets)
        ]


def _of_kinds(data: Iterable[Chunk], seen: Set[str]) -> Iterator[Chunk]:
    """Yield sequences, or raise for one with what the features chosen by default do not look at."""
    for first, documents, ys in data:
        for i, document in enumerate(documents, first):
            for kind in sorted(kinds_of([document]) - seen):
                expected = f"only what the first {CHUNK} have, by which features were chosen"
                remedy = f"give all sequences {kind} or none, or say which features to look at"
                raise InvalidInput(f"X[{i}]: got {kind}, expected {expected}; {remedy}")
        yield first, documents, ys


def _check_same(now: Features | None, before: Features) -> None:
    """Raise if a model that goes on was given other features; None are those that it has."""
    if now is None or (len(now) == len(before) and all(map(_same, now, before))):
        return
    came = [a for a in now if not any(_same(a, b) for b in before)] or now
    expected = "those of the fit before, which warm_start goes on from"
    remedy = "set features=model.features_ to go on, or warm_start=False to begin anew"
    raise InvalidInput(message("features", came, expected, remedy))


def _same(now: Any, before: Any) -> bool:
    """Say whether a feature is the one of an earlier fit, but for what that one has learnt."""
    if type(now) is not type(before):
        return False
    if isinstance(now, SegmentHistory):
        return now.order == before.order and _same(now.feature, before.feature)
    learns = isinstance(now, SegmentFeature) and now.learns
    if learns and hasattr(now, "lexicon"):
        now = replace(now, lexicon=before.lexicon)
    return bool(now == before)


def _check_rows(rows: Sequence[Rows], structure: Structure) -> None:
    """Raise if the labels of a sequence are not possible."""
    flat = np.concatenate([np.zeros((0, 3), np.int32), *rows])
    owner = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
    states, bounds = structure.states, structure.bounds[flat[:, 2]]
    for k in np.flatnonzero((bounds > 0) & (flat[:, 1] - flat[:, 0] > bounds))[:1].tolist():
        segment = (*flat[k, :2].tolist(), states[flat[k, 2]])
        expected = f"a segment of {bounds[k]} tokens or fewer, as max_length says"
        remedy = "raise max_length or shorten the segment"
        raise InvalidInput(message(f"y[{owner[k]}]", segment, expected, remedy))
    adjacent = owner[1:] == owner[:-1]
    barred = structure.barred[flat[:-1, 2], flat[1:, 2]].astype(bool)
    for k in np.flatnonzero(adjacent & barred)[:1].tolist():
        start, _, state = flat[k + 1].tolist()
        raise InvalidInput(
            f"y[{owner[k]}]: got {states[state]!r} at {start}, right after {states[flat[k, 2]]!r}, "
            "expected labels that may be adjacent; correct them, or see same_label_adjacent"
        )


def _check_rules(gold: _kernels.Gold, rules: StateRules) -> None:
    """Raise if the labels of a sequence break a constraint of the model."""
    broken = gold.first_broken(rules.rules, rules.spelling)
    if broken is None:
        return
    kind, some = rules.rules[broken[1]]
    labels = [rules.labels[k] for k in some]
    expected = f"{labels[0]!r} {kind}" if len(labels) == 1 else f"the order {', '.join(labels)}"
    raise InvalidInput(
        f"y[{broken[0]}]: got labels that break the constraints of the model, expected {expected}; "
        "correct the labels, or change constraints"
    )


def _warn_of_many(states: int, tokens: int) -> None:
    """Warn that training takes long: a pass over the data visits every pair of states per token."""
    if states > MANY_STATES:
        warnings.warn(
            f"y: {states:,} labels or tags have {states**2:,} transitions, and each of {tokens:,} "
            "tokens visits all of them in every iteration, so training will be slow; use fewer "
            "labels if you can",
            stacklevel=4,
        )
