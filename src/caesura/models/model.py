"""Training of estimators: from X and y to a fitted model.

::

    X, y -> documents, targets -> Encoder -> Corpus, Gold -> Parameters -> Objective -> weights
    X    -> documents          -> Encoder -> Corpus       -> Design     -> Scorer    -> segments

    Estimator     parameters
    Extractor     extract
    Model         fit
    PartedModel   fit_parts
    OnlineModel   partial_fit
    Predictor     predict, n-best, sample, marginals
    Answers       score, calibrate, explain, save
    ChainCRF, SemiCRF
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Set, Sized
from itertools import chain, islice
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.corpora import Corpus
from caesura.documents import Document, Tokeniser
from caesura.encoding import Encoder
from caesura.encoding.spans import SpanEncoder
from caesura.errors import InvalidInput, message
from caesura.features import SegmentFeature, declared, default_for, preset
from caesura.features.batch import Batch, Words
from caesura.features.dense_columns import standardised
from caesura.learning import Progress
from caesura.learning.learners import is_probabilistic
from caesura.learning.progress import Stage
from caesura.models import lookback_checks
from caesura.models.compact import compacted
from caesura.models.development import Development
from caesura.models.estimator import Features
from caesura.models.examples import check_rows, examples_of, warn_of_many, weights_of
from caesura.models.extracting import Extractor
from caesura.models.feature_checks import (
    check_same,
    check_standardise,
    learns,
    of_kinds,
    warn_of_columns,
    warn_of_lengths,
    warn_of_rare,
)
from caesura.models.fit_arguments import checked_run
from caesura.models.fitted import Fitted, Labelling, check_learnt
from caesura.models.inputs import CHUNK, chunks, kinds_of, labelled, paired
from caesura.models.lookback import is_span_model, own_features, span_fitted
from caesura.models.lookback_training import SpanTraining, fit_spans
from caesura.models.margin import check_targets
from caesura.models.pattern_selection import grown
from caesura.models.patterns import grows
from caesura.models.streaming import Streamed, check_stream, first_block, streamed
from caesura.models.targets import Target, known_segments, scheme_of, segments_of
from caesura.models.training import Examples, Training, train
from caesura.models.training_checks import warn_of_splits
from caesura.segments import Segment

__all__ = ["Model"]

Floats = npt.NDArray[np.float64]
Chunk = tuple[int, list[Document], list[Target]]


class _Read(NamedTuple):
    """The encoded training data."""

    encoder: Encoder
    corpus: _kernels.Corpus
    targets: list[Target]
    documents: list[Document]  # empty unless features need them


class Model(Extractor):
    """A mixin of estimators with `fit`."""

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
        """Fit the model to labelled sequences.

        Parameters
        ----------
        X : iterable of sequences
            Each is a list of tokens, a text, a list with the attributes of each token, an array of
            shape (T, D), a dict of these, or a `Document`.  A generator is encoded incrementally.
            A dict may hold a text and ``spans`` of its characters; if no tokeniser is given, the
            coarsest one whose tokens no span cuts is chosen, with a warning unless it is words.
            With ``stream=True`` X is read again on each pass, and never held in memory.
        y : iterable, optional
            For each sequence its segments (gaps are outside), one tag for each token, or
            `Partial`.  If omitted, X must be documents with segments.
        X_dev, y_dev : optional
            Development data.  The last weights whose segment F1 on it is within a standard error
            of the best are kept.  Labels that are not in the training data count as missed.
        sample_weight : array of shape (n,), optional
            The weight of each sequence in the objective.
        checkpoint : path, optional
            File written every few iterations.  If it exists, fitting resumes from it, which needs
            the same training and development data and the same settings.  KeyboardInterrupt is
            raised after it is written.  Without a checkpoint, an interruption ends fitting with the
            best weights so far and a warning, and `status_` is "interrupted".
        callbacks : sequence of callables
            Functions called after every iteration; fitting stops if one returns True.

        Returns
        -------
        self

        Notes
        -----
        With `Partial` labels the objective is not concave, so the result depends on the initial
        weights: zero, or those of the previous fit with ``warm_start``.
        """
        self.check_parameters()
        callbacks = checked_run(X_dev, y_dev, checkpoint, callbacks)
        before = self._before if self.warm_start else None
        if self.stream:
            check_stream(self, X, y)
        with self._choosing(before is not None, X, X_dev) as (X, X_dev):
            dev = X_dev, y_dev
            self._fit_data((X, y), dev, sample_weight, checkpoint, callbacks, before)
        return self

    def _fit_data(
        self,
        data: tuple[Any, Any],
        dev: tuple[Any, Any],
        sample_weight: npt.ArrayLike | None,
        checkpoint: str | os.PathLike[str] | None,
        callbacks: Sequence[Callable[[Progress], bool | None]],
        before: Fitted | None,
    ) -> None:
        """Fit the model, starting from an earlier fit if one is given."""
        if self.stream:
            features, chunks = self._declared_for(self._paired(*data), before)
            if before is None:  # features learn from the first block only
                head = list(first_block(chunks))
                features, chunks = self._learnt(features, head), chain(head, chunks)
            some = Streamed(data, features, chunks, self._chunk)
            streams = streamed(self, some, sample_weight, before)
            self._fit(*streams, dev, checkpoint, callbacks, sample_weight)
            return
        read = self._read(*data, before)
        if isinstance(data[0], Corpus):
            data[0].notes.warn_of_repeated(str(data[0].path), stacklevel=3)
        if isinstance(read.encoder, SpanEncoder):
            held_out = None if dev[0] is None else self._gold(*dev, ("X_dev", "y_dev"))
            self._fit_spans(read, sample_weight, held_out, checkpoint, callbacks)
        else:
            with Stage(show=self.verbose) as stage:
                stage.update("features: preparing to train")
                training = self._training(read, sample_weight, before)
            self._fit(training, None, dev, checkpoint, callbacks, sample_weight)
            warn_of_splits(self, data[0], read.targets)
        self._order = () if before is None else self._order
        self._order = self._first_seen(read.targets)

    def _paired(
        self, X: Any, y: Any, names: tuple[str, str] = ("X", "y")
    ) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over sequences with their targets."""
        return paired(X, y, names, self.tokeniser_)

    def _fit(
        self,
        training: Training,
        objective: Any,
        dev: tuple[Any, Any],
        checkpoint: str | os.PathLike[str] | None,
        callbacks: Sequence[Callable[[Progress], bool | None]],
        weight: npt.ArrayLike | None,
    ) -> Self:
        """Learn weights with the given objective, by default that of the training data."""
        development = None
        if dev[0] is not None:
            development = Development(self, training, *self._gold(*dev, ("X_dev", "y_dev")))
        result = train(self, training, development, checkpoint, callbacks, weight, objective)
        fitted = compacted(training.fitted(result.w))
        fitted.encoder.forget()
        self._set_fitted(
            fitted,
            n_features_=len(result.w),
            history_=list(result.history),
            status_=result.status,
            margin_=not is_probabilistic(self.learner, self.loss),
            temperature_=None,
        )
        return self

    @property
    def _before(self) -> Fitted | None:
        """The earlier fitted state, with scores as learnt."""
        if self._fitted is None:
            return None
        before = self._known
        if self.temperature_ is None:
            return before
        return before._replace(w=before.w * self.temperature_)

    def _fit_spans(
        self,
        read: _Read,
        sample_weight: npt.ArrayLike | None,
        dev: tuple[list[Document], list[list[Segment]]] | None,
        checkpoint: str | os.PathLike[str] | None,
        callbacks: Sequence[Callable[[Progress], bool | None]],
    ) -> Self:
        """Fit with look-back features or beam search."""
        lengths = read.corpus.lengths.tolist()
        lookback_checks.check_targets(read.targets)
        labelling = self.coding.labelling(read.targets, lengths, None)
        lookback_checks.check_bounds(self, labelling.structure)
        lookback_checks.check_sizes(read.corpus.lengths, labelling.structure)
        bars = self.coding.in_training(labelling.structure)
        rows = [
            self.coding.rows(target, length, labelling, f"y[{i}]")
            for i, (target, length) in enumerate(zip(read.targets, lengths, strict=True))
        ]
        check_rows(rows, bars)
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
        self._set_fitted(
            fitted,
            n_features_=len(kernel),
            history_=history,
            status_=status,
            margin_=not is_probabilistic(self.learner, self.loss),
            temperature_=None,
        )
        return self

    def _read(self, X: Any, y: Any, before: Fitted | None) -> _Read:
        """Return the encoded training data and its checked targets."""
        some: Iterable[Chunk]
        features, some = self._declared_for(self._paired(X, y), before)
        if before is None and (learns(features) or self.standardise):
            some = list(some)  # these must see all segments first
            features = self._learnt(features, some)
        spans = is_span_model(self, features)
        if spans:
            lookback_checks.check_span_model(self, features)
        encoder = before.encoder.copy() if before else (SpanEncoder if spans else Encoder)(features)
        encoder.keep_first(self.max_attributes)
        corpus = encoder.corpus_kind()
        targets: list[Target] = []
        kept: list[Document] = []  # for features that are functions of all previous segments
        columns: set[str] = set()
        total = len(X) if isinstance(X, Sized) else None
        with Stage("features", total, self.verbose) as stage:
            for first, documents, ys in some:
                encoder.encode(documents, True, corpus, first)
                columns.update(*(one.columns for one in documents if one.columns))
                targets += ys
                kept += documents if isinstance(encoder, SpanEncoder) and encoder.own else []
                stage.done(len(targets))
        if not targets:
            raise InvalidInput(
                place="X", got="no sequences", expected="at least one", remedy="give labelled ones"
            )
        if before is None and (self.features is None or isinstance(self.features, str)):
            warn_of_columns(features, columns)
        return _Read(encoder, corpus, targets, kept)

    def _declared_for(
        self, pairs: Iterator[tuple[Any, Any]], before: Fitted | None
    ) -> tuple[Features, Iterator[Chunk]]:
        """Return the features, chosen from the first sequences by default, and the data."""
        features, seen = self._declared(), None
        if before is not None:
            check_same(features, before.encoder.features)
            check_standardise(self.standardise, before.encoder.features)
            features = before.encoder.features
        if features is None:
            head = list(islice(pairs, CHUNK))
            documents = next(chunks([x for x, _ in head], self.tokeniser_), (0, []))[1]
            features = default_for(documents, segments=self.kind == "semi")
            pairs = chain(head, pairs)
            seen = kinds_of(documents) or {"words"}
        self.coding.check_features(features)
        some = labelled(pairs, self.tokeniser_, size=self._chunk)
        return features, some if seen is None else of_kinds(some, seen)

    @property
    def _chunk(self) -> int:
        """The number of sequences encoded at a time, in whole mini-batches."""
        return -(-CHUNK // self.batch_size) * self.batch_size

    def _declared(self) -> Features | None:
        if self.features is None:
            return None
        if isinstance(self.features, Iterator | Set):
            remedy = "put them into a list: they are read again, in the same order"
            raise InvalidInput(message("features", self.features, "a list", remedy))
        if isinstance(self.features, str):
            try:
                semi = self.kind == "semi"
                more: dict[str, Any] = {"tokens": Tokeniser.of(self.tokeniser_).name}
                more |= {"bigrams": True} if semi and self._takes_bigrams else {}
                return declared(preset(self.features, segments=semi, **more))
            except InvalidInput as error:
                own = error.changed(place="features") if error.argument == "name" else None
                raise own or error.within("features") from None
        return declared(self.features)

    @property
    def _takes_bigrams(self) -> bool:
        """Whether a preset uses the preceding word, as "words" does with beam search."""
        return self.features == "words" and self.beam is not None

    def _learnt(self, features: Features, data: Sequence[Chunk]) -> Features:
        """Return the features fitted to the segments of the training data."""
        documents = [document for _, some, _ in data for document in some]
        if self.standardise:
            features = standardised(features, documents)
        if not learns(features):
            return features
        targets = [target for _, _, some in data for target in some]
        segments = known_segments(targets, self.outside)
        batch = Batch(documents, Words())
        return [
            feature.fit(batch, segments) if isinstance(feature, SegmentFeature) else feature
            for feature in features
        ]

    def _training(
        self, read: _Read, sample_weight: npt.ArrayLike | None, before: Fitted | None
    ) -> Training:
        """Compile the training data."""
        lengths = read.corpus.lengths
        check_targets(self, read.targets)
        labelling = self.coding.labelling(read.targets, lengths.tolist(), before)
        warn_of_many(len(labelling.structure.states), int(lengths.sum()))
        weight = weights_of(sample_weight, len(read.targets))
        examples = examples_of(self, read.encoder, read.corpus, read.targets, labelling, weight)
        self._warn_of_labels(read, labelling, examples)
        if grows(self) and self.order > 1:
            return grown(self, labelling, examples, before)
        return Training.of(self, labelling, examples, before)

    def _warn_of_labels(self, read: _Read, labelling: Labelling, examples: Examples) -> None:
        """Warn about labels and lengths of fully labelled data that seem to be mistakes."""
        if examples.allowed:
            return
        features, states = read.encoder.features, labelling.structure.states
        own = self.features is not None and not isinstance(self.features, str)
        if own and not self.all_possible_states:
            warn_of_lengths(features, examples.rows)
        warn_of_rare(features, self.coding.labels_of(states, labelling.scheme), examples.rows)

    def _gold(
        self, X: Any, y: Any, names: tuple[str, str]
    ) -> tuple[list[Document], list[list[Segment]]]:
        """Return documents and their segments, without outside segments."""
        documents: list[Document] = []
        targets: list[Target] = []
        for _, some, ys in labelled(self._paired(X, y, names), self.tokeniser_, names):
            documents += some
            targets += ys
        scheme = scheme_of(targets, self.outside, name=names[1])
        return documents, [
            segments_of(target, scheme, self.outside, f"{names[1]}[{i}]")
            for i, target in enumerate(targets)
        ]
