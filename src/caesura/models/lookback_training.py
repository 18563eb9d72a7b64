"""Training with look-back features or beam search."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.encoding.spans import SpanEncoder
from caesura.errors import InvalidInput
from caesura.evaluation import segment_counts
from caesura.inference.kernel_calls import threads_of
from caesura.learning import Progress, ProgressLine, Result, minimise
from caesura.learning.keyed_perceptron import AgendaPerceptron, AgendaState
from caesura.learning.learners import LEARNERS
from caesura.learning.progress import in_library
from caesura.models.estimator import UPDATES
from caesura.models.fitted import Labelling, Structure
from caesura.models.lookback import Own, SpanAnswers, own_features, span_fitted
from caesura.models.targets import Rows
from caesura.models.training import lbfgs_of
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.models.model import Model

__all__ = ["SpanTraining", "fit_spans"]

Floats = npt.NDArray[np.float64]
PASSES = 10  # default max_iterations of the perceptron
SECONDS = 0.2  # time in the kernels before Python can handle an interrupt


class SpanTraining(NamedTuple):
    """The compiled training data."""

    labelling: Labelling
    bars: Structure  # the structure in training
    encoder: SpanEncoder
    corpus: _kernels.SpanCorpus
    model: _kernels.SpanModel
    rows: list[Rows]
    weight: Floats
    own: Own | None


def fit_spans(
    model: Model,
    training: SpanTraining,
    dev: tuple[list[Document], list[list[Segment]]] | None,
    checkpoint: Any,
    callbacks: Sequence[Callable[[Progress], bool | None]],
) -> tuple[_kernels.SpanModel, list[Progress], str]:
    """Train; return the weights, the history and the stopping reason."""
    score = None if dev is None else _Score(model, training, *dev)
    learn = _lbfgs if LEARNERS[model.learner].full_batch else _perceptron
    return learn(model, training, score, checkpoint, callbacks)


class _Score:
    """The segment F1 of weights on development data."""

    def __init__(
        self,
        model: Model,
        training: SpanTraining,
        documents: list[Document],
        gold: list[list[Segment]],
    ) -> None:
        if not any(gold):
            raise InvalidInput(
                place="y_dev",
                got="no segment at all",
                expected="some to compare with",
                remedy="label some, or leave the development data out",
            )
        self._model, self._training, self._gold = model, training, gold
        self._corpus = training.encoder.encode(documents, False, name="X_dev")
        states = training.labelling.structure.states
        self._own = own_features(training.encoder, states, documents.__getitem__)
        fitted = span_fitted(training.labelling[:3], training.encoder, training.model)
        self._names, self._reading = model.coding.reading(fitted)
        said = repr([[tuple(segment) for segment in segments] for segments in gold])
        corpus = cast(_kernels.SpanCorpus, self._corpus)
        self.checksum = f"{corpus.checksum():016x} {zlib.crc32(said.encode()):08x}"

    def __call__(self, kernel: _kernels.SpanModel) -> float:
        model = self._model
        structure = self._training.labelling.structure
        answers = SpanAnswers(kernel, structure, model.beam, None, self._own)
        paths = answers.best(
            cast(Any, self._corpus), self._reading, threads_of(model.n_threads)
        ).segments(Segment, self._names)
        found = [segments or [] for segments in paths]
        return segment_counts(self._gold, found, model.outside).f1


class _Passes:
    """The objective of the perceptron: passes with beam search or exact search."""

    def __init__(self, model: Model, training: SpanTraining) -> None:
        self._training, self._beam = training, model.beam
        self._update = UPDATES.index(model.update if model.beam is not None else "standard")
        self._boundaries = bool(model.boundary_weights)
        self._run: _kernels.SpanPerceptron | None = None
        self._model: _kernels.SpanModel | None = None
        self._last: AgendaState | None = None

    def __len__(self) -> int:
        return len(self._training.rows)

    def search(self, state: AgendaState, order: npt.NDArray[Any]) -> AgendaState:
        """Return the state after an update for each of these sequences."""
        run, model = self._started(state)
        sequences, at = order.astype(np.int32), 0
        while at < len(sequences):  # in slices, so that Python can handle interrupts
            at = run.run(sequences, at, SECONDS, self._training.own)
        self._last = state._replace(
            keys=model.keys,
            w=model.weights,
            sums=run.sums,
            known=tuple(model.known(k) for k in range(model.n_texts)),
            date=run.date,
            updates=run.updates,
        )
        return self._last

    def averaged(self) -> _kernels.SpanModel:
        """Return the current model with averaged weights."""
        assert self._run is not None
        return self._run.averaged()

    def restored(self, state: AgendaState, w: Floats) -> _kernels.SpanModel:
        """Return a model with the weights of a state, without zero rows."""
        n_labels = len(self._training.bars.states)
        table = w.reshape(-1, n_labels)
        kept = table.any(axis=1)
        model = self._training.encoder.new_model(n_labels, self._boundaries)
        for k, hashes in enumerate(state.known):
            model.know(k, hashes)
        texts = [model.texts(k) for k in range(model.n_texts)]
        model.restore(state.keys[: len(table)][kept], table[kept].reshape(-1), texts)
        return model

    def _started(self, state: AgendaState) -> tuple[_kernels.SpanPerceptron, _kernels.SpanModel]:
        """Return a pass that starts at this state, reusing the last one if it ended there."""
        last = self._last
        if self._run is None or self._model is None or last is None or last.w is not state.w:
            training = self._training
            model = training.encoder.new_model(len(training.bars.states), self._boundaries)
            for k, hashes in enumerate(state.known):
                model.know(k, hashes)
            texts = [model.texts(k) for k in range(model.n_texts)]
            model.restore(state.keys, state.w, texts)
            bars = np.ascontiguousarray(training.bars.bounds), *training.bars[2:]
            data = training.corpus, training.rows, *bars, training.weight
            self._run = _kernels.SpanPerceptron(model, *data, self._beam, self._update)
            self._run.resume(model, state.sums, state.date, state.updates)
            self._model = model
        return self._run, self._model


def _perceptron(
    model: Model,
    training: SpanTraining,
    score: _Score | None,
    checkpoint: Any,
    callbacks: Sequence[Callable[[Progress], bool | None]],
) -> tuple[_kernels.SpanModel, list[Progress], str]:
    """Train by the averaged perceptron."""
    passes = PASSES if model.max_iterations is None else model.max_iterations
    objective = _Passes(model, training)
    optimiser = AgendaPerceptron(objective, max_iterations=passes, seed=model.random_state)

    def scored(w: Floats) -> float:
        assert score is not None
        return score(objective.averaged())

    about = {} if checkpoint is None else _about(model, training, score)
    shown = ProgressLine(show=model.verbose, max_iterations=passes)
    result = _minimised(
        *(model, optimiser, np.empty(0), shown, None if score is None else scored),
        *(checkpoint, callbacks, about),
    )
    return objective.restored(result.state, result.w), list(result.history), result.status


def _about(model: Model, training: SpanTraining, score: _Score | None) -> dict[str, Any]:
    """Return the settings that identify a run."""
    crc = zlib.crc32(np.ascontiguousarray(training.weight).tobytes())
    for row in training.rows:
        crc = zlib.crc32(np.ascontiguousarray(row).tobytes(), crc)
    data: dict[str, Any] = {"labels": f"crc32 {crc:08x}"}
    if LEARNERS[model.learner].beam:
        data |= {"beam": model.beam, "update": model.update}
    data["states"] = " ".join(training.bars.states)
    data["features"] = " ".join(map(str, training.encoder.features))
    data["tokens"] = f"{training.corpus.checksum():016x}"
    data["development"] = None if score is None else score.checksum
    return data


def _minimised(
    model: Model,
    optimiser: Any,
    start: Floats,
    shown: ProgressLine,
    dev_score: Callable[[Floats], float] | None,
    checkpoint: Any,
    callbacks: Sequence[Callable[[Progress], bool | None]],
    about: dict[str, Any],
) -> Result:
    """Run an optimiser until it stops."""

    def each(progress: Progress) -> bool:
        line(progress)
        asked = [callback(progress) for callback in callbacks]  # all of them are called
        return any(asked)

    with shown as line:
        return minimise(
            optimiser,
            start,
            callback=each,
            dev_score=dev_score,
            patience=model.patience,
            checkpoint=checkpoint,
            about=about,
            keep_interrupted=in_library(),
        )


def _lbfgs(
    model: Model,
    training: SpanTraining,
    score: _Score | None,
    checkpoint: Any,
    callbacks: Sequence[Callable[[Progress], bool | None]],
) -> tuple[_kernels.SpanModel, list[Progress], str]:
    """Maximise the log-likelihood."""
    threads = threads_of(model.n_threads)
    bars = np.ascontiguousarray(training.bars.bounds), *training.bars[2:]
    objective = _kernels.SpanObjective(
        training.model,
        training.corpus,
        training.rows,
        *bars,
        training.weight,
        float(model.min_freq) or -np.inf,
        threads,
    )

    def evaluated(w: Floats) -> tuple[float, Floats]:
        value, gradient = objective.evaluate(np.ascontiguousarray(w), threads)
        return value, gradient

    def scored(w: Floats) -> float:
        assert score is not None
        objective.put(np.ascontiguousarray(w))
        return score(training.model)

    optimiser = lbfgs_of(model, cast(Any, evaluated), model.c1, model.c2, model.max_iterations)
    shown = ProgressLine(show=model.verbose, max_iterations=optimiser.max_iterations)

    start = np.zeros(objective.size)
    about = {}
    if checkpoint is not None:
        about = {**_about(model, training, score), "objective of zeros": evaluated(start)[0]}
    result = _minimised(
        *(model, optimiser, start, shown, None if score is None else scored),
        *(checkpoint, callbacks, about),
    )
    objective.put(result.w)
    return training.model, list(result.history), result.status
