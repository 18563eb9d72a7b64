"""Models with features that look back at whole segments, and models with beam search.

::

    X, y -> SpanEncoder -> SpanCorpus -> SpanModel -> SpanPerceptron | SpanObjective -> weights
    X    -> SpanEncoder -> SpanCorpus -> SpanScorer -> segments, probabilities

The features of a span and of an arc between two adjacent spans are 64-bit keys, so weights are kept
in one table of keys in place of `Parameters`.  All else is as for other models.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.encoding.spans import SpanEncoder
from caesura.errors import InvalidInput, message
from caesura.evaluation import segment_counts
from caesura.features import looks_back
from caesura.inference.door import threads_of
from caesura.learning import Progress, ProgressLine, minimise
from caesura.models.estimator import UPDATES
from caesura.models.rules import Rules
from caesura.models.structure import Fitted, Labelling, Structure
from caesura.models.targets import Rows
from caesura.models.training import lbfgs_of
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.models.base import Model

__all__ = [
    "SpanAnswers",
    "SpanTraining",
    "fit_spans",
    "is_span_model",
    "own_features",
    "refuse",
    "restored_spans",
    "span_arrays",
    "span_fitted",
    "unconstrained",
]

Floats = npt.NDArray[np.float64]
PASSES = 10  # of the perceptron, where max_iterations is not given
SECONDS = 0.2  # that the kernels learn before Python can handle an interrupt
Own = Callable[[int, list[tuple[int, int, int]], tuple[int, int, int]], list[str]]


def is_span_model(model: Model, features: Sequence[Any]) -> bool:
    """Say whether a model is one of this module."""
    return model.beam is not None or looks_back(features)


def refuse(fitted: Fitted, what: str) -> None:
    """Raise for a question that these models do not answer."""
    if fitted.spans:
        raise InvalidInput(
            f"{what}: not available for models with features that look back or with a beam; leave "
            "these features and the beam out, or ask something else"
        )


class SpanAnswers:
    """A fitted model with what is possible, as prediction asks it.

    Its methods are those of `_kernels.Scorer`, without conditions: constraints are refused before.
    """

    def __init__(
        self,
        model: _kernels.SpanModel,
        structure: Structure,
        beam: int | None,
        bias: Floats | None = None,
        own: Own | None = None,
    ) -> None:
        bars = np.ascontiguousarray(structure.bounds), *structure[2:]
        self.kernel = _kernels.SpanScorer(model, *bars, bias, beam)
        self.own = own

    def best(
        self,
        design: _kernels.SpanCorpus,
        reading: _kernels.Reading | None,
        n_threads: int,
        conditions: None = None,
    ) -> _kernels.Paths:
        """Return the best segments of each sequence."""
        return self.kernel.best(design, reading, n_threads, self.own)

    def confident(
        self,
        design: _kernels.SpanCorpus,
        reading: _kernels.Reading,
        n_threads: int,
        conditions: None = None,
    ) -> _kernels.Paths:
        """Return the same with the probability of each segment."""
        self._check_sums("predict_confident")
        return self.kernel.confident(design, reading, n_threads)

    def posterior(
        self,
        design: _kernels.SpanCorpus,
        want_entropy: bool,
        n_threads: int,
        conditions: None = None,
    ) -> list[_kernels.SpanPosterior]:
        """Return the probabilities of each sequence."""
        self._check_sums("probabilities")
        return self.kernel.posterior(design, want_entropy, n_threads)

    def n_best(self, design: Any, *arguments: Any) -> Any:
        """Return the best segmentations of each sequence with their probabilities."""
        self._check_sums("predict_n_best")
        return self.kernel.n_best(design, *arguments[:-1])

    def sample(self, design: Any, *arguments: Any) -> Any:
        """Return segmentations drawn for each sequence."""
        self._check_sums("sample")
        return self.kernel.sample(design, *arguments[:-1])

    @property
    def has_sums(self) -> bool:
        """Whether probabilities can be asked for, not only the best segments."""
        return self.kernel.depth <= 1 and self.own is None

    def _check_sums(self, what: str) -> None:
        if not self.has_sums:
            raise InvalidInput(
                f"{what}: not available for features that look back at two segments or more, for "
                "which there is only search; ask predict, or leave these features out"
            )


def unconstrained() -> InvalidInput:
    """Return the error about constraints on these models."""
    return InvalidInput(
        "constraints: got some for a model with features that look back or with a beam, expected "
        "none; leave them out"
    )


def span_fitted(
    labelling: tuple[Structure, tuple[str, ...], str | None],
    encoder: SpanEncoder,
    model: _kernels.SpanModel,
) -> Fitted:
    """Return a fitted model; its weights are in a table of keys."""
    structure, labels, scheme = labelling
    untyped: tuple[Any, Any, Any] = model, SpanAnswers(model, structure, None), None
    parameters, scorer, words = untyped
    return Fitted(
        structure, labels, scheme, encoder, parameters, model.weights, scorer, words, Rules()
    )


def span_arrays(fitted: Fitted) -> dict[str, npt.NDArray[Any]]:
    """Return keys, their weights, and what columns have said: all that a file needs."""
    kernel, encoder = cast(_kernels.SpanModel, fitted.parameters), cast(SpanEncoder, fitted.encoder)
    n_labels = len(fitted.structure.states)
    table = kernel.weights.reshape(-1, n_labels)
    kept = table.any(axis=1)
    arrays = {"keys": kernel.keys[kept], "weights": table[kept].reshape(-1)}
    arrays |= {f"texts{k}": kernel.texts(k) for k in range(kernel.n_texts)}
    return arrays | {f"encoder.{name}": a for name, a in encoder.values_state().items()}


def restored_spans(
    labelling: tuple[Structure, tuple[str, ...], str | None],
    features: Sequence[Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    boundary_weights: bool,
) -> Fitted:
    """Return what `span_arrays` wrote."""
    encoder, prefix = SpanEncoder(features), "encoder."
    encoder.restore_values(
        {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    )
    kernel = encoder.new_model(len(labelling[0].states), boundary_weights)
    texts = [np.asarray(arrays[f"texts{k}"], np.uint64) for k in range(kernel.n_texts)]
    keys, weights = arrays["keys"].astype(np.uint64), arrays["weights"].astype(np.float64)
    kernel.restore(keys, weights, texts)
    return span_fitted(labelling, encoder, kernel)


def own_features(encoder: SpanEncoder, states: Sequence[str], tokens: Any) -> Own | None:
    """Return the user's own features as one function of the kernels; `tokens` has documents."""
    features = encoder.own
    if not features:
        return None

    def said(
        i: int, before: list[tuple[int, int, int]], segment: tuple[int, int, int]
    ) -> list[str]:
        path = [Segment(s, e, states[y]) for s, e, y in before]
        here = Segment(segment[0], segment[1], states[segment[2]])
        document: Document = tokens(i)
        return [text for one in features for text in one.said(document, path, here)]

    return said


# ---- learning ------------------------------------------------------------------------------------


class SpanTraining(NamedTuple):
    """What learning needs."""

    labelling: Labelling
    bars: Structure  # in training
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
    """Learn, and return the weights, what happened in each iteration, and why it ended."""
    score = None if dev is None else _Score(model, training, *dev)
    if model.learner == "perceptron":
        if checkpoint is not None:
            expected = "None with learner='perceptron' and features that look back or a beam"
            raise InvalidInput(message("checkpoint", checkpoint, expected, "leave it out"))
        return _perceptron(model, training, score, callbacks)
    return _lbfgs(model, training, score, checkpoint, callbacks)


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
                "y_dev: got no segment at all, expected some to compare with; label some, or leave "
                "the development data out"
            )
        self._model, self._training, self._gold = model, training, gold
        self._corpus = training.encoder.encode(documents, False, name="X_dev")
        states = training.labelling.structure.states
        self._own = own_features(training.encoder, states, documents.__getitem__)
        fitted = span_fitted(training.labelling[:3], training.encoder, training.model)
        self._names, self._reading = model.coding.reading(fitted)

    def __call__(self, kernel: _kernels.SpanModel) -> float:
        model = self._model
        structure = self._training.labelling.structure
        answers = SpanAnswers(kernel, structure, model.beam, None, self._own)
        paths = answers.best(
            cast(Any, self._corpus), self._reading, threads_of(model.n_threads)
        ).segments(Segment, self._names)
        found = [segments or [] for segments in paths]
        return segment_counts(self._gold, found, model.outside).f1


def _perceptron(
    model: Model,
    training: SpanTraining,
    score: _Score | None,
    callbacks: Sequence[Callable[[Progress], bool | None]],
) -> tuple[_kernels.SpanModel, list[Progress], str]:
    """Pass over the data again and again; the weights are averages over all examples."""
    bars = np.ascontiguousarray(training.bars.bounds), *training.bars[2:]
    update = UPDATES.index(model.update if model.beam is not None else "standard")
    run = _kernels.SpanPerceptron(
        training.model, training.corpus, training.rows, *bars, training.weight, model.beam, update
    )
    random = np.random.default_rng(model.random_state)
    passes = PASSES if model.max_iterations is None else model.max_iterations
    history: list[Progress] = []
    best: tuple[float, int, _kernels.SpanModel] | None = None
    status, began = "max_iterations", time.perf_counter()
    with ProgressLine(show=model.verbose, max_iterations=passes) as line:
        for iteration in range(1, passes + 1):
            before = run.updates
            order = random.permutation(len(training.rows)).astype(np.int32)
            at = 0
            while at < len(order):  # in parts, between which Python hears of interrupts
                at = run.run(order, at, SECONDS, training.own)
            wrong, found = run.updates - before, None
            if score is not None:
                kernel = run.averaged()
                found = score(kernel)
                if best is None or found > best[0]:
                    best = found, iteration, kernel
            seconds = time.perf_counter() - began
            active = len(training.model)
            progress = Progress(
                iteration, float(wrong), np.nan, 1.0, iteration, active, seconds, found
            )
            history.append(progress)
            line(progress)
            asked = [callback(progress) for callback in callbacks]  # each of them sees it
            if any(asked):
                status = "callback"
            elif model.patience is not None and best and iteration - best[1] >= model.patience:
                status = "patience"
            if status != "max_iterations":
                break
    return run.averaged() if best is None else best[2], history, status


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
    shown = ProgressLine(
        show=model.verbose,
        max_iterations=optimiser.max_iterations,
        period=optimiser.period,
        delta=optimiser.delta,
    )

    def each(progress: Progress) -> bool:
        line(progress)
        asked = [callback(progress) for callback in callbacks]
        return any(asked)

    start = np.zeros(objective.size)
    about = {"objective of zeros": evaluated(start)[0]} if checkpoint is not None else {}
    with shown as line:
        result = minimise(
            optimiser,
            start,
            callback=each,
            dev_score=None if score is None else scored,
            patience=model.patience,
            checkpoint=checkpoint,
            about=about,
        )
    objective.put(result.w)
    return training.model, list(result.history), result.status
