"""Trainers from the parameters and the data of a `CRF`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from caesura.compat.items import each
from caesura.compat.settings import ALGORITHMS, algorithm_of, named_as
from caesura.compat.trainer import BaseTrainer, Trainer
from caesura.errors import InvalidInput, message
from caesura.models.examples import weights_of

if TYPE_CHECKING:
    from caesura.compat.crf import CRF

__all__ = ["LABELS", "ONE_FOR_EACH", "OURS", "SEQUENCES", "append_all", "trainer_of"]

SEQUENCES = "a list of sequences, each with the attributes of its tokens"
LABELS = "the labels of each token of each sequence"
ONE_FOR_EACH = "give one label for each token"  # remedy in errors
_NAMES = {  # parameter -> its name in the trainer, where they differ
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
    "pa_type": "type",
}
OURS = {theirs: name for name, theirs in _NAMES.items()}
_OF_TRAINING = (
    *_NAMES,
    *("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta"),
    *("linesearch", "max_linesearch", "c", "error_sensitive", "averaging", "variance", "gamma"),
)


def trainer_of(crf: CRF) -> BaseTrainer:
    """Return a trainer with the parameters of an estimator."""
    given = {name: getattr(crf, name) for name in _OF_TRAINING}
    given = {name: value for name, value in given.items() if value is not None}
    algorithm = algorithm_of(crf.algorithm or "lbfgs")
    for name, value in given.items():
        if _NAMES.get(name, name) not in ALGORITHMS[algorithm].defaults:
            expected = f"None with the algorithm {algorithm!r}, which does not have it"
            raise InvalidInput(message(name, value, expected, "leave it out"))
    with named_as(OURS):
        made = (crf.trainer_cls or _LineTrainer)(
            algorithm=crf.algorithm,
            params={_NAMES.get(name, name): value for name, value in given.items()},
            verbose=crf.verbose,
        )
    if not isinstance(made, BaseTrainer):
        expected = "a subclass of caesura.compat.Trainer"
        raise InvalidInput(message("trainer_cls", crf.trainer_cls, expected, "derive from it"))
    made.n_threads, made.keep_best = crf.n_threads, bool(crf.keep_best)
    if crf.warm_start not in (False, True, "near"):
        expected = "False, True or 'near'"
        raise InvalidInput(message("warm_start", crf.warm_start, expected, "pass one of them"))
    if crf.warm_start and crf.tagger_ is not None:
        made.start_from(crf.model_, near=crf.warm_start == "near")
    return made


class _LineTrainer(Trainer):
    """A trainer that prints a line for each iteration."""

    def on_featgen_progress(self, log: str, percent: int) -> None:
        pass

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        parts = [
            f"Iter {info['num']:<3}",
            f"time={info['time']:<5.2f}",
            f"loss={info['loss']:<8.2f}",
        ]
        parts.append(f"active={info['active_features']:<5}")
        if "avg_f1" in info:
            parts += [f"F1={info['avg_f1']:0.3f}", f"Acc={info['item_accuracy_float']:0.3f}"]
        parts.append(f"feature_norm={info['feature_norm']:<8.2f}")
        print("  ".join(parts).rstrip())


def append_all(
    trainer: BaseTrainer,
    X: Iterable[Any],
    y: Iterable[Iterable[str | bytes]],
    group: int,
    names: Sequence[str],
    sample_weight: npt.ArrayLike | None = None,
) -> None:
    """Append sequences to a trainer; errors name the sequence."""
    ends: Any = object()
    xs, ys = each(X, names[0], SEQUENCES), each(y, names[1], LABELS)
    weights: Iterator[Any] = repeat(1.0)
    if sample_weight is not None:
        listed = list(xs)
        xs, weights = iter(listed), iter(weights_of(sample_weight, len(listed)).tolist())
    for i in range(1 << 62):
        one, labels = next(xs, ends), next(ys, ends)
        if one is ends and labels is ends:
            return
        if one is ends or labels is ends:
            more = names[1] if one is ends else names[0]
            raise InvalidInput(
                place=more,
                got=f"more than {i}",
                expected=f"as many sequences in {names[0]} as in {names[1]}",
                remedy="give as many of both",
            )
        try:
            if sample_weight is None:  # a user's own trainer may not accept weights
                trainer.append(one, labels, group)
            else:
                trainer.append(one, labels, group, next(weights))
        except InvalidInput as error:
            raise error.within(f"{names[0]}[{i}], {names[1]}[{i}]") from None
