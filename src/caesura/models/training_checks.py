"""Training runs: identity, convergence warnings and overflow errors."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput
from caesura.features.dense_columns import has_dense
from caesura.learning import Result
from caesura.learning.learners import LEARNERS, is_probabilistic, learners_with
from caesura.models.development import Development
from caesura.models.margin import loss_of
from caesura.models.rules import Rules
from caesura.models.targets import Target
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.models.model import Model
    from caesura.models.training import Corpora, Training

__all__ = ["about_run", "naming_overflow", "warn_of_gap", "warn_of_splits"]

Floats = npt.NDArray[np.float64]
WIDE = 0.01  # a gap above this share of the objective causes a warning
LOOKED_AT = 100  # maximum number of training sequences to segment
MANY = 0.1  # a larger share of divided segments causes a warning


def about_run(
    model: Model,
    training: Training,
    start: tuple[float, Floats],
    dev_score: Callable[[Floats], float] | None,
    weight: npt.ArrayLike | None,
) -> dict[str, Any]:
    """Return the settings that identify a run; those set by the user come first."""
    parameters = training.parameters
    crc = 0
    for array in (parameters.attribute, parameters.label, parameters.edge_attribute):
        crc = zlib.crc32(array.tobytes(), crc)
    crc = zlib.crc32(repr(parameters.patterns).encode(), crc) if parameters.patterns else crc
    loss, gradient = start  # the gradient depends on labels and values, too
    crc = zlib.crc32(gradient.tobytes(), crc)
    about = {"class_weight": _shown(model.class_weight), "penalties": _shown(model.penalties)}
    if training.rules != Rules():  # absent without rules, as in older checkpoints
        about["constraints"] = repr(tuple(training.rules[-3:]))
    if model.loss is not None:
        about["loss"] = model.loss
    about["sample_weight"] = _summed(weight)
    about["warm_start"] = "near" if training.near else None  # its states hold increments of w0
    about["weights"] = f"{len(parameters)} crc32 {crc:08x}"
    about["loss at the start"] = f"{loss:.9g}"
    return about | (dev_score.fingerprint if isinstance(dev_score, Development) else {})


def _shown(given: Mapping[Any, Any] | None) -> str | None:
    """Format a dict of labels or features to numbers, independent of its order."""
    if not given:
        return None
    parts = []
    for key, value in given.items():
        name = key if isinstance(key, str) else getattr(key, "prefix", "")[:-1] or key.name
        numbers = np.ravel(np.asarray(value, np.float64)).tolist()
        parts.append(f"{name} {numbers[0] if len(numbers) == 1 else tuple(numbers)}")
    return ", ".join(sorted(parts))


def _summed(weight: npt.ArrayLike | None) -> str | None:
    """Return a checksum of sequence weights; None if all are 1."""
    each = np.ones(1) if weight is None else np.ascontiguousarray(weight, np.float64)
    if (each == 1.0).all():
        return None
    return f"of sum {each.sum():.9g}, crc32 {zlib.crc32(each.tobytes()):08x}"


def warn_of_gap(model: Model, training: Training, result: Result, delta: float) -> None:
    """Warn if a run ended far from the optimum, according to its duality gap."""
    last = result.history[-1] if result.history else None
    if last is None or last.gap is None or result.status != "max_iterations":
        return
    size = abs(last.objective)
    if last.gap <= max(WIDE, delta) * size:
        return
    most = min(last.gap, size)  # the objective cannot fall below 0
    ways = [f"pass max_iterations above {last.iteration}", "pass a larger c2"]
    if not (is_probabilistic(model.learner, model.loss) or LEARNERS[model.learner].steady):
        ways.append(f"take learner={learners_with('steady')[0]!r}")
    if has_dense(training.encoder.features) and not model.standardise:
        ways.append("pass standardise=True if columns of numbers are far from 1")
    else:
        ways.append("divide values of attributes that are far from 1")
    warnings.warn(
        f"learner={model.learner!r}: ended after {last.iteration} iterations with an objective of "
        f"{last.objective:.4g}, which may be {most:.3g} ({most / size:.0%}) above the optimum; "
        f"{', '.join(ways[:-1])}, or {ways[-1]}",
        stacklevel=5,
    )


def warn_of_splits(model: Any, X: Any, targets: Sequence[Target]) -> None:
    """Warn if the best segmentations of training sequences split gold segments.

    The Hamming loss counts wrong tokens: two segments in place of one of the same label cost
    nothing, and may have the same score.
    """
    allowed = getattr(model, "same_label_adjacent", False)
    if loss_of(model) != "hamming" or not allowed or not isinstance(X, Sequence):
        return
    some = [i for i in range(min(len(X), LOOKED_AT)) if type(targets[i]) is list]
    gold: Any = [targets[i] for i in some]
    found = model.predict([X[i] for i in some])
    splits = _neighbours(found) - _neighbours(gold)
    if splits > MANY * sum(map(len, gold)):
        warnings.warn(
            f"learner={model.learner!r}: {splits} segments of the first {len(some)} training "
            "sequences are divided into several of the same label, which the loss 'hamming' does "
            "not count; pass same_label_adjacent=False if such neighbours cannot occur, or "
            "loss='segments'",
            stacklevel=4,
        )


def _neighbours(segmentations: Iterable[Sequence[Segment]]) -> int:
    """Count adjacent segments with the same label."""
    return sum(
        a.end == b.start and a.label == b.label
        for segments in segmentations
        for a, b in pairwise(segments)
    )


@contextmanager
def naming_overflow(objective: Any, w0: Floats) -> Iterator[None]:
    """Name the first sequence with overflowing values in an error."""
    try:
        yield
    except InvalidInput:
        if not hasattr(objective, "batch") or hasattr(objective, "streams"):
            raise  # locating the sequence would take many passes
        if (first := _first_large(objective, w0)) is None:
            raise
        expected = "a finite loss and gradient of the weights at the start"
        remedy = "scale the values of its attributes or its array"
        came = "values that are too large"
        raise InvalidInput(
            place=f"X[{first}]", got=came, expected=expected, remedy=remedy
        ) from None


def _first_large(objective: Corpora, w0: Floats) -> int | None:
    """Return the first sequence at which the running sum is not finite."""

    def good(n: int) -> bool:
        try:
            value, gradient = objective.batch(w0, np.arange(n))
        except InvalidInput as error:
            if error.argument == "X":  # its scores are too large
                return False
            raise
        with np.errstate(over="ignore"):
            return bool(np.isfinite(value) and np.isfinite(gradient @ gradient))

    low, high = 0, len(objective)
    if good(high):
        return None
    while high - low > 1:  # the first `low` sequences are good, the first `high` are not
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return low
