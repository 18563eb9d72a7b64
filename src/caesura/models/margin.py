"""Learners with a loss: what they take, and how a model sets them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.learning.learners import LEARNERS, Learner
from caesura.models.fitted import Labelling

if TYPE_CHECKING:
    from caesura.models.estimator import Estimator
    from caesura.models.model import Model
    from caesura.models.objective import Corpora
    from caesura.models.targets import Target
    from caesura.models.training import Training

__all__ = ["check_loss", "check_targets", "loss_of", "margin_optimiser", "set_loss"]

LOSSES = ("hamming", "segments", "zero-one", "log")
NUMBERS = ("pa_c", "arow_variance", "arow_r")


def loss_of(model: Estimator) -> str | None:
    """Return the loss that a model learns with; None: the likelihood, or a margin of its own."""
    return model.loss or LEARNERS[model.learner].loss


def check_loss(model: Estimator) -> None:
    """Raise if the learner, its loss and the other parameters do not fit together."""
    learner, loss = LEARNERS[model.learner], model.loss
    if loss is not None and loss not in LOSSES:
        raise InvalidInput(
            message("loss", loss, " or ".join(map(repr, (*LOSSES, None))), "pass one of them")
        )
    if loss is not None and loss not in learner.losses:
        expected = " or ".join(map(repr, (*learner.losses, None))) + f" with {model.learner}"
        remedy = "pass one of them"
        if not learner.losses:
            expected = f"None with {model.learner}, which maximises the likelihood"
            remedy = "leave it out"
        others = [name for name, one in LEARNERS.items() if loss in one.losses]
        remedy += f", or use the learner {' or '.join(others)}"
        raise InvalidInput(message("loss", loss, expected, remedy))
    if model.pa_type not in (0, 1, 2) or isinstance(model.pa_type, bool):
        raise InvalidInput(message("pa_type", model.pa_type, "0, 1 or 2", "pass one of them"))
    for name in NUMBERS:
        value = getattr(model, name)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | np.number)
            or not (0 < value < np.inf)
        ):
            remedy = "leave it out for the default, 1"
            raise InvalidInput(message(name, value, "a finite number above 0", remedy))
    if learner.losses:
        _check_penalties(model, learner)
        _check_classes(model)


def _check_penalties(model: Estimator, learner: Learner) -> None:
    if model.c1:
        remedy = "leave it out, or use the learner lbfgs or adagrad"
        raise InvalidInput(message("c1", model.c1, f"0 with {model.learner}", remedy))
    if learner.needs_c2 and not model.c2:
        remedy = "pass a small one, such as 0.01"
        raise InvalidInput(
            message("c2", model.c2, f"a number above 0 with {model.learner}", remedy)
        )
    for group, value in (model.penalties or {}).items() if learner.needs_c2 else ():
        pair = tuple(value) if isinstance(value, tuple | list) else (0.0, value)
        if len(pair) == 2 and (pair[0] or not pair[1]):
            expected = f"c2 above 0, and no c1, with {model.learner}"
            remedy = "pass one number, such as 0.01"
            raise InvalidInput(message(f"penalties[{group!r}]", value, expected, remedy))


def _check_classes(model: Estimator) -> None:
    if model.class_weight is not None and loss_of(model) != "hamming":
        expected = f"None with learner={model.learner!r} and loss={loss_of(model)!r}"
        remedy = "pass loss='hamming', which can weigh tokens, or leave it out"
        raise InvalidInput(message("class_weight", model.class_weight, expected, remedy))


def check_targets(model: Estimator, targets: Sequence[Target], first: int = 0) -> None:
    """Raise if a learner with a loss is given labels that are known in part."""
    if not LEARNERS[model.learner].losses:
        return
    for i, target in enumerate(targets, first):
        if isinstance(target, Partial):
            expected = f"all labels of the sequence with the learner {model.learner}"
            remedy = "label it in full, or take lbfgs, sgd or adagrad"
            raise InvalidInput(message(f"y[{i}]", target, expected, remedy))


def set_loss(model: Model, training: Training) -> None:
    """Tell the objective what a wrong segmentation costs."""
    loss = loss_of(model)
    if not LEARNERS[model.learner].losses:
        return
    labelling = Labelling(training.structure, training.labels, training.scheme, None)
    _, reading = model.coding.reading(labelling)
    name = "none" if loss in (None, "log") else str(loss)
    training.objective.set_loss(name, reading, _token_weights(model, labelling))


def _token_weights(model: Model, labelling: Labelling) -> npt.NDArray[np.float64] | None:
    """Return how much a wrong token costs, by the state that it should have."""
    if not isinstance(model.class_weight, Mapping):
        return None
    labels = model.coding.labels_of(labelling.structure.states, labelling.scheme)
    return np.array([float(model.class_weight.get(label, 1.0)) for label in labels])


def margin_optimiser(
    model: Model, objective: Corpora, c2: npt.ArrayLike, settings: dict[str, Any]
) -> Any:
    """Return the optimiser of a learner with a loss."""
    learner = LEARNERS[model.learner]
    own = {name: getattr(model, parameter) for parameter, name in learner.settings}
    if learner.likelihood:
        own["log"] = loss_of(model) in learner.likelihood
    arguments = (c2,) if learner.needs_c2 else ()
    return learner.optimiser(objective, *arguments, **own, **settings)
