"""Labelled sequences, checked and encoded for training."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Partial
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, counted, message
from caesura.models.fitted import Labelling, Structure
from caesura.models.margin import check_targets
from caesura.models.rules import StateRules, model_rules
from caesura.models.targets import Hint, Rows, Target, gold_of
from caesura.models.training import Examples

if TYPE_CHECKING:
    from caesura.models.model import Model

__all__ = ["check_rows", "examples_of", "warn_of_many", "weights_of"]

Floats = npt.NDArray[np.float64]
MANY_STATES = 500  # above this, pairs of states take most of the time


def examples_of(
    model: Model,
    encoder: Encoder,
    corpus: _kernels.Corpus,
    targets: Sequence[Target],
    labelling: Labelling,
    weight: Floats,
    first: int = 0,
) -> Examples:
    """Return encoded sequences with their labels; errors call the first ``y[first]``."""
    lengths = corpus.lengths
    check_targets(model, targets, first)
    bars = model.coding.in_training(labelling.structure)
    hints: dict[int, Hint] = {}
    rows: list[Rows] = []
    for i, (target, length) in enumerate(zip(targets, lengths.tolist(), strict=True)):
        name = f"y[{first + i}]"
        if isinstance(target, Partial):
            hints[i] = model.coding.hint(target, length, labelling, name)
            rows.append(np.zeros((0, 3), np.int32))
            continue
        try:
            rows.append(model.coding.rows(target, length, labelling, name))
        except KeyError as error:  # a state that did not occur in earlier data
            expected = f"one of {', '.join(labelling.structure.states)}"
            remedy = "name all labels in the first call of partial_fit: labels=[...]"
            raise InvalidInput(message(name, error.args[0], expected, remedy)) from None
    check_rows(rows, bars, first)
    gold = gold_of(lengths, len(bars.states), rows, hints)
    _check_rules(gold, model.coding.rules_of(labelling, model_rules(model.constraints)), first)
    known = {i: allowed for i, (allowed, _) in hints.items()}
    return Examples(encoder, corpus, gold, rows, weight, known)


def check_rows(rows: Sequence[Rows], structure: Structure, first: int = 0) -> None:
    """Raise if the labels of a sequence are impossible under the model."""
    flat = np.concatenate([np.zeros((0, 3), np.int32), *rows])
    owner = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
    states, bounds = structure.states, structure.bounds[flat[:, 2]]
    for k in np.flatnonzero((bounds > 0) & (flat[:, 1] - flat[:, 0] > bounds))[:1].tolist():
        segment = (*flat[k, :2].tolist(), states[flat[k, 2]])
        expected = f"at most {counted(int(bounds[k]), 'token')}, as max_length requires"
        remedy = "raise max_length or shorten the segment"
        raise InvalidInput(message(f"y[{first + owner[k]}]", segment, expected, remedy))
    adjacent = owner[1:] == owner[:-1]
    barred = structure.barred[flat[:-1, 2], flat[1:, 2]].astype(bool)
    for k in np.flatnonzero(adjacent & barred)[:1].tolist():
        start, _, state = flat[k + 1].tolist()
        raise InvalidInput(
            place=f"y[{first + owner[k]}]",
            got=f"{states[state]!r} at {start}, right after {states[flat[k, 2]]!r}",
            expected="labels that may be adjacent",
            remedy="correct them, or see same_label_adjacent",
        )


def _check_rules(gold: _kernels.Gold, rules: StateRules, first: int) -> None:
    """Raise if the labels of a sequence violate a constraint of the model."""
    broken = gold.first_broken(rules.rules, rules.spelling)
    if broken is None:
        return
    kind, some = rules.rules[broken[1]]
    labels = [rules.labels[k] for k in some]
    expected = f"{labels[0]!r} {kind}" if len(labels) == 1 else f"the order {', '.join(labels)}"
    raise InvalidInput(
        place=f"y[{first + broken[0]}]",
        got="labels that break the constraints of the model",
        expected=expected,
        remedy="correct the labels, or change constraints",
    )


def warn_of_many(states: int, tokens: int) -> None:
    """Warn that training is slow because of the number of state pairs."""
    if states > MANY_STATES:
        warnings.warn(
            f"y: {states:,} labels or tags have {states**2:,} transitions, and each of {tokens:,} "
            "tokens visits all of them in every iteration, so training will be slow; use fewer "
            "labels if you can",
            stacklevel=5,
        )


def weights_of(given: npt.ArrayLike | None, n: int) -> Floats:
    """Return the weight of each sequence."""
    if given is None:
        return np.ones(n)
    try:
        weight = np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError):
        weight = np.zeros(0)
    good = weight.shape == (n,) and (np.isfinite(weight) & (weight >= 0)).all() and weight.any()
    if not good:
        expected = f"{n} finite numbers, 0 or more and not all 0, one for each sequence"
        raise InvalidInput(message("sample_weight", given, expected, "pass 1.0 for each"))
    return weight
