"""Training: from an encoded corpus and its labels to weights."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, message
from caesura.inference.kernel_calls import threads_of
from caesura.inference.problems import automaton_of
from caesura.learning import LBFGS, Progress, ProgressLine, Result, minimise
from caesura.learning.learners import LEARNERS, learners_with
from caesura.learning.progress import in_library
from caesura.models.fitted import (
    Fitted,
    Labelling,
    Structure,
    check_learnt,
    layout_bounds,
)
from caesura.models.margin import margin_optimiser, set_loss
from caesura.models.objective import Corpora
from caesura.models.patterns import Pattern, check_states, patterns_of
from caesura.models.penalties import class_costs, penalties
from caesura.models.rules import Rules, model_rules
from caesura.models.targets import Bytes, Rows
from caesura.models.training_checks import about_run, naming_overflow, warn_of_gap
from caesura.models.warm_start import carried, merged

if TYPE_CHECKING:
    from caesura.models.model import Model

__all__ = [
    "Corpora",
    "Examples",
    "Training",
    "lbfgs_of",
    "objective_of",
    "optimiser_of",
    "parameters_of",
    "train",
    "training_bars",
]

Floats = npt.NDArray[np.float64]
DELTA = 1e-5  # default of `delta` for L-BFGS
MANY, LEAST_C2 = 100, 0.01  # precision="auto" is "mixed" from so many sequences and this c2 on


class Examples(NamedTuple):
    """Labelled sequences, encoded."""

    encoder: Encoder
    corpus: _kernels.Corpus
    gold: _kernels.Gold
    rows: Sequence[Rows]  # of each sequence; empty if it is partially labelled
    weight: Floats  # (n,)
    allowed: Mapping[int, Bytes] = {}  # (T, Y) allowed states, for partially labelled sequences


class Training(NamedTuple):
    """The compiled training data."""

    structure: Structure
    labels: tuple[str, ...]
    scheme: str | None
    encoder: Encoder
    parameters: _kernels.Parameters
    objective: _kernels.Objective
    w0: Floats
    near: bool = False  # whether penalties are measured from w0, not from zero
    rules: Rules = Rules()  # constraints on all segmentations

    @classmethod
    def of(
        cls,
        model: Model,
        labelling: Labelling,
        examples: Examples,
        before: Fitted | None,
        parameters: _kernels.Parameters | None = None,
    ) -> Training:
        """Compile labelled sequences for training, with all their weights or given ones."""
        structure, bars = labelling.structure, training_bars(model, labelling, examples)
        if parameters is None:
            patterns = patterns_of(model, structure, examples.rows)
            parameters = parameters_of(model, bars, examples, patterns)
        if before is not None:
            parameters = merged(parameters, before, bars, examples.encoder.attributes)
        check_states(parameters)
        rules = model_rules(model.constraints)
        parameters = model.coding.with_rules(parameters, labelling, rules)
        objective = objective_of(model, labelling, examples, parameters, bars)
        w0 = np.zeros(len(parameters)) if before is None else carried(parameters, before, structure)
        labels, scheme = labelling.labels, labelling.scheme
        near = before is not None and model.warm_start == "near"
        found = (structure, labels, scheme, examples.encoder, parameters, objective, w0, near)
        return cls(*found, rules)

    @property
    def centre(self) -> Floats | None:
        """The centre of the penalties; None for zero."""
        return self.w0 if self.near else None

    def fitted(self, w: Floats) -> Fitted:
        """Return the model with these weights."""
        labelling = self.structure, self.labels, self.scheme
        return Fitted.of(labelling, self.encoder, self.parameters, w, self.rules)


def training_bars(model: Model, labelling: Labelling, examples: Examples) -> Structure:
    """Return the structure for training, in the form of the kernels."""
    bars = model.coding.in_training(labelling.structure)
    longest = int(examples.corpus.lengths.max(initial=0))
    return bars._replace(bounds=layout_bounds(bars.bounds, longest))


def parameters_of(
    model: Model, bars: Structure, examples: Examples, patterns: Sequence[Pattern]
) -> _kernels.Parameters:
    """Return the weights for the examples, and those of patterns on their own."""
    return _kernels.Parameters(
        examples.corpus,
        examples.gold,
        len(bars.states),
        examples.encoder.attributes,
        *bars[1:],
        float(model.min_freq) or -np.inf,  # sums of values, which may be negative
        bool(model.all_possible_states),
        bool(model.all_possible_transitions),
        bool(model.boundary_weights),
        [list(pattern) for pattern in patterns],
    )


def objective_of(
    model: Model,
    labelling: Labelling,
    examples: Examples,
    parameters: _kernels.Parameters,
    bars: Structure,
    folder: str | None = None,
) -> _kernels.Objective:
    """Return the objective of sequences held in memory or in files of a folder."""
    return _kernels.Objective(
        parameters,
        parameters.compile(examples.corpus, folder),
        examples.gold,
        examples.weight,
        class_costs(model, labelling, examples),
        automaton_of(tuple(bars.order.tolist())),
        bars.order,
    )


def train(
    model: Model,
    training: Training,
    dev_score: Callable[[Floats], float] | None,
    checkpoint: str | os.PathLike[str] | None,
    callbacks: Sequence[Callable[[Progress], bool | None]],
    weight: npt.ArrayLike | None = None,
    stream: Any = None,
) -> Result:
    """Run the learner of a model; sequence weights only identify the run.

    The objective is that of the training, or of sequences that are streamed.
    """
    centre = training.centre
    start = training.w0 if centre is None else np.zeros_like(centre)
    objective: Any = stream
    if stream is None:
        set_loss(model, training)
        objective = Corpora(training.objective, threads_of(model.n_threads), centre=centre)
    optimiser = optimiser_of(model, training, objective)
    about = {}
    if checkpoint is not None:
        about = about_run(model, training, objective(start), dev_score, weight)
    shown = ProgressLine(show=model.verbose, max_iterations=optimiser.max_iterations)

    def each(progress: Progress) -> bool:
        line(progress)
        asked = [callback(progress) for callback in callbacks]  # all of them are called
        return any(asked)

    def score(w: Floats) -> float:
        assert dev_score is not None
        return dev_score(w if centre is None else centre + w)

    with shown as line, naming_overflow(objective, start):
        line.begin()
        if stream is not None:
            stream.told = line.part
        result = minimise(
            optimiser,
            start,
            callback=each,
            dev_score=None if dev_score is None else score,
            standard_error=getattr(dev_score, "standard_error", None),
            patience=model.patience,
            checkpoint=checkpoint,
            about=about,
            keep_interrupted=in_library(),
        )
    if stream is None:
        training.objective.release()  # frees memory before the model allocates its own
    warn_of_gap(model, training, result, optimiser.delta)
    result = result if centre is None else result._replace(w=centre + result.w)
    check_learnt(result.w)
    return result


def optimiser_of(model: Model, training: Training, objective: Any, total: int | None = None) -> Any:
    """Return the optimiser for the parameters of a model.

    The sequences that mini-batches share the penalty with are those of the objective, or `total`.
    """
    c1, c2 = penalties(model, training)
    threads = threads_of(model.n_threads)
    learner = LEARNERS[model.learner]
    if learner.full_batch:
        draft = None
        mixes = model.precision == "auto" and _mixes(training, len(objective), c1, c2)
        if model.precision == "mixed" or mixes:
            draft = objective.in_single()
        return lbfgs_of(model, objective, c1, c2, model.max_iterations, draft)
    settings: dict[str, Any] = {
        "seed": model.random_state,
        "n_threads": threads,
        "period": model.period,
    }
    for name in ("delta", "max_iterations"):
        if getattr(model, name) is not None:
            settings[name] = getattr(model, name)
    if learner.losses:
        return margin_optimiser(model, objective, c2, settings)
    settings |= {"batch_size": model.batch_size, "total": total}
    settings |= {name: getattr(model, parameter) for parameter, name in learner.settings}
    if learner.accepts_c1:
        return learner.optimiser(objective, c1, c2, **settings)
    if np.any(c1):
        own = {f"penalties[{group!r}]": value for group, value in (model.penalties or {}).items()}
        groups = [
            name for name, value in own.items() if isinstance(value, tuple | list) and value[0]
        ]
        name, came, expected = "c1", model.c1, f"0 with {model.learner}"
        if not model.c1 and groups:
            name, came = groups[0], own[groups[0]]
            expected = f"c2, or (0, c2) with {model.learner}"
        others = " or ".join(reversed(learners_with("accepts_c1")))
        raise InvalidInput(message(name, came, expected, f"take {others} for c1"))
    return learner.optimiser(objective, c2, **settings)


def _mixes(training: Training, sequences: int, c1: npt.ArrayLike, c2: npt.ArrayLike) -> bool:
    """Return whether precision="auto" starts in single precision.

    The kernels have none for label patterns. With c1 or a small c2 weights grow so large that some
    sequences leave the range of float and are evaluated twice (references: 0.90 of the speed of
    double with c1 = 0.05, 0.95 with c2 = 0.001, 1.03 to 1.7 times its speed with c2 >= 0.01). A few
    sequences take no time anyway.
    """
    enough = sequences >= MANY and not training.parameters.patterns
    return enough and not np.any(c1) and bool(np.all(np.asarray(c2) >= LEAST_C2))


def lbfgs_of(
    model: Model,
    objective: Corpora,
    c1: npt.ArrayLike,
    c2: npt.ArrayLike,
    max_iterations: int | None,
    draft: Corpora | None = None,
) -> LBFGS:
    """Return L-BFGS with the parameters of a model."""
    return LBFGS(
        objective,
        c1,
        c2,
        memory=model.memory,
        epsilon=model.epsilon,
        period=model.period,
        delta=DELTA if model.delta is None else model.delta,
        max_iterations=max_iterations,
        n_threads=threads_of(model.n_threads),
        draft=draft,
    )
