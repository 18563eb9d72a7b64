"""Learning: from an encoded corpus and its labels to weights."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, message
from caesura.features import Template
from caesura.inference.door import threads_of
from caesura.inference.problems import automaton_of
from caesura.learning import LBFGS, SGD, AdaGrad, Progress, ProgressLine, Result, minimise
from caesura.models.structure import Fitted, Structure, scorer_of

if TYPE_CHECKING:
    from caesura.models.base import Model

__all__ = ["LEARNERS", "Training", "train"]

Floats = npt.NDArray[np.float64]
LEARNERS = ("lbfgs", "sgd", "adagrad")
Rows = Sequence[Sequence[tuple[int, int, int]]]  # segments of states, of each sequence


class Corpora:
    """The objective of a corpus as the optimisers want it."""

    def __init__(self, objective: _kernels.Objective, n_threads: int, single: bool = False) -> None:
        self._objective, self._threads, self._single = objective, n_threads, single

    def __len__(self) -> int:
        return len(self._objective)

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient."""
        return self._evaluate(w, None)

    def batch(self, w: Floats, sequences: npt.NDArray[Any]) -> tuple[float, Floats]:
        """Return the same over some sequences."""
        return self._evaluate(w, np.ascontiguousarray(sequences, np.int32))

    def _evaluate(self, w: Floats, some: npt.NDArray[np.int32] | None) -> tuple[float, Floats]:
        try:
            return self._objective.evaluate(w, some, self._single, self._threads)
        except IndexError as error:  # std::domain_error of a sequence
            raise InvalidInput(
                f"y[{error}]: no segmentation agrees with what is known about it; look for labels "
                "that max_length or the tag scheme forbids"
            ) from None


class Training(NamedTuple):
    """Everything that learning needs."""

    structure: Structure
    labels: tuple[str, ...]
    scheme: str | None
    encoder: Encoder
    parameters: _kernels.Parameters
    objective: _kernels.Objective
    w0: Floats

    @classmethod
    def of(
        cls,
        model: Model,
        structure: Structure,
        training: Structure,
        labels: tuple[str, ...],
        scheme: str | None,
        encoder: Encoder,
        corpus: _kernels.Corpus,
        gold: _kernels.Gold,
        weight: Floats,
        rows: Rows,
        before: Fitted | None,
    ) -> Training:
        """Compile a corpus for learning."""
        options: Any = model
        parameters = _kernels.Parameters(
            corpus,
            gold,
            len(structure.states),
            len(encoder),
            training.bounds,
            training.barred,
            training.barred_start,
            training.barred_end,
            float(options.min_freq),
            bool(options.all_possible_states),
            bool(options.all_possible_transitions),
            bool(options.boundary_weights),
        )
        cost = class_costs(options.class_weight, structure, labels, corpus.lengths, rows)
        order = training.order
        objective = _kernels.Objective(
            parameters,
            parameters.compile(corpus),
            gold,
            weight,
            cost,
            automaton_of(tuple(order.tolist())),
            order,
        )
        w0 = np.zeros(len(parameters)) if before is None else carried(before, parameters, structure)
        return cls(structure, labels, scheme, encoder, parameters, objective, w0)

    def fitted(self, w: Floats) -> Fitted:
        """Return the model with these weights."""
        scorer = scorer_of(self.parameters, w, self.structure)
        return Fitted(
            self.structure, self.labels, self.scheme, self.encoder, self.parameters, w, scorer
        )


def train(
    model: Model,
    training: Training,
    dev_score: Callable[[Floats], float] | None,
    checkpoint: str | os.PathLike[str] | None,
    callbacks: Sequence[Callable[[Progress], bool | None]],
) -> Result:
    """Run the learner of a model."""
    options: Any = model
    c1, c2 = penalties(options, training)
    threads = threads_of(options.n_threads)
    objective = Corpora(training.objective, threads)
    optimiser: Any
    if options.learner == "lbfgs":
        if options.precision not in ("double", "mixed"):
            raise InvalidInput(
                message("precision", options.precision, "'double' or 'mixed'", "pass one of them")
            )
        optimiser = LBFGS(
            objective,
            c1,
            c2,
            memory=options.memory,
            epsilon=options.epsilon,
            period=options.period,
            delta=options.delta,
            max_iterations=options.max_iterations,
            n_threads=threads,
            draft=Corpora(training.objective, threads, single=True)
            if options.precision == "mixed"
            else None,
        )
    elif options.learner in ("sgd", "adagrad"):
        settings: dict[str, Any] = {
            "batch_size": options.batch_size,
            "seed": options.random_state,
            "n_threads": threads,
        }
        if options.max_iterations is not None:
            settings["max_iterations"] = options.max_iterations
        if options.learner == "adagrad":
            optimiser = AdaGrad(objective, c1, c2, **settings)
        elif np.any(c1):
            raise InvalidInput(message("c1", options.c1, "0 with sgd", "take adagrad or lbfgs for it"))
        else:
            optimiser = SGD(objective, c2, **settings)
    else:
        expected = f"one of {', '.join(LEARNERS)}"
        raise InvalidInput(message("learner", options.learner, expected, "pass one of them"))

    def each(progress: Progress) -> bool:
        return any([callback(progress) for callback in callbacks])

    with ProgressLine(show=options.verbose) as line:
        return minimise(
            optimiser,
            training.w0,
            callback=lambda progress: bool(line(progress)) | each(progress),
            dev_score=dev_score,
            patience=options.patience,
            checkpoint=checkpoint,
        )


def penalties(options: Any, training: Training) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    """Return c1 and c2, of all weights or of each where groups have their own."""
    if not options.penalties:
        return options.c1, options.c2
    parameters, encoder = training.parameters, training.encoder
    n = len(parameters)
    c1, c2 = np.full(n, float(options.c1)), np.full(n, float(options.c2))
    sources = encoder.sources
    rows = np.concatenate([sources[parameters.attribute], sources[parameters.edge_attribute]])
    groups = {}
    for k, feature in enumerate(encoder.features):
        name = feature.prefix[:-1] if isinstance(feature, Template) else feature.name
        groups[feature] = groups[name] = np.flatnonzero(rows == k)
    groups["transitions"] = np.arange(len(rows), n)
    if not isinstance(options.penalties, Mapping):
        remedy = "write {'word[0]': 0.1, 'transitions': (0.0, 0.01)}"
        raise InvalidInput(message("penalties", options.penalties, "a dict", remedy))
    for group, value in options.penalties.items():
        if group not in groups:
            known = ", ".join(name for name in groups if isinstance(name, str))
            remedy = "name a feature, or transitions"
            raise InvalidInput(message("penalties", group, f"one of {known}", remedy))
        pair = value if isinstance(value, tuple) else (options.c1, value)
        c1[groups[group]], c2[groups[group]] = pair
    return c1, c2


def class_costs(
    class_weight: Mapping[str, float] | None,
    structure: Structure,
    labels: tuple[str, ...],
    lengths: npt.NDArray[np.int64],
    rows: Rows,
) -> Floats | None:
    """Return what is added to the scores of wrong states, (tokens, Y), or None.

    A token of a label with the weight c costs ln c where another state is chosen: probabilities of
    mistakes on it count c times, as in softmax-margin training.
    """
    if class_weight is None:
        return None
    by_state = np.zeros(len(structure.states))
    for label, value in class_weight.items():
        mine = [k for k, state in enumerate(structure.states) if _label_of(state, labels) == label]
        if not mine or not 0 < value < np.inf:
            expected = f"positive numbers for some of {', '.join(structure.states)}"
            raise InvalidInput(
                message("class_weight", {label: value}, expected, "correct the label or its weight")
            )
        by_state[mine] = np.log(value)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    cost = np.zeros((int(offsets[-1]), len(structure.states)))
    for first, some in zip(offsets, rows, strict=False):
        for start, end, state in some:
            cost[first + start : first + end] = by_state[state]
            cost[first + start : first + end, state] = 0.0
    return cost


def _label_of(state: str, labels: tuple[str, ...]) -> str:
    """Return the label of a state: itself, or what follows the letter of a tag."""
    after = state.partition("-")[2]
    return after if after in labels else state


def carried(before: Fitted, parameters: _kernels.Parameters, structure: Structure) -> Floats:
    """Return the weights of an earlier model where the new one has the same ones, else zeros."""
    old, states = before.parameters, list(before.structure.states)
    number = np.array([states.index(s) if s in states else -1 for s in structure.states])
    Y, Y0 = len(structure.states), len(states)

    def pair(places: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
        a, b = number[places // Y], number[places % Y]
        return np.where((a < 0) | (b < 0), -1, a * Y0 + b)

    new_parts = [
        (parameters.attribute, number[parameters.label]),
        (parameters.edge_attribute, pair(parameters.edge_pair)),
        (np.zeros(len(parameters.transition), np.int32), pair(parameters.transition)),
        (np.zeros(len(parameters.start), np.int32), number[parameters.start]),
        (np.zeros(len(parameters.end), np.int32), number[parameters.end]),
    ]
    old_parts = [
        (old.attribute, old.label),
        (old.edge_attribute, old.edge_pair),
        (np.zeros(len(old.transition), np.int32), old.transition),
        (np.zeros(len(old.start), np.int32), old.start),
        (np.zeros(len(old.end), np.int32), old.end),
    ]
    out, at = [], 0
    for (a, b), (a0, b0) in zip(new_parts, old_parts, strict=True):
        known = dict(zip(zip(a0.tolist(), b0.tolist(), strict=True), before.w[at:].tolist(), strict=False))
        out += [known.get(key, 0.0) for key in zip(a.tolist(), b.tolist(), strict=True)]
        at += len(a0)
    return np.array(out, np.float64)
