"""Log messages of a training run, in CRFsuite's format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caesura.compat.settings import ALGORITHMS

__all__ = ["PROGRESS", "failed", "generated", "iterated", "opened", "prepared", "stored", "trained"]

PROGRESS = [str(k // 5) if k % 5 == 0 else "." for k in range(51)]  # 0....1....2 and so on to 10
_RENAMED = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}  # in the log only
_ENDS = {
    "max_iterations": "the maximum number of iterations",
    "objective": "the stopping criteria",
    "gradient": "convergence",
}


def opened(settings: Mapping[str, Any], holdout: int) -> Iterator[str]:
    """Yield the messages before feature generation."""
    if holdout >= 0:
        yield from (f"Holdout group: {holdout + 1}\n", "\n")
    yield "Feature generation\n"
    yield "type: CRF1d\n"
    yield from (f"{k}: {_shown(v)}\n" for k, v in settings.items() if k.startswith("feature."))


def generated(n_features: int, seconds: float) -> Iterator[str]:
    """Yield the messages after feature generation."""
    yield from ("\n", f"Number of features: {n_features}\n")
    yield from (f"Seconds required: {seconds:.3f}\n", "\n")


def prepared(algorithm: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the messages before the first iteration."""
    yield f"{ALGORITHMS[algorithm].title}\n"
    for name, value in settings.items():
        if not name.startswith("feature."):
            yield f"{_RENAMED.get(name, name)}: {_shown(value)}\n"
    yield "\n"


def failed(algorithm: str, reason: str) -> Iterator[str]:
    """Yield the messages if training cannot start."""
    yield f"{ALGORITHMS[algorithm].title} terminated with error: {reason}\n"


def iterated(algorithm: str, info: Mapping[str, Any]) -> Iterator[str]:
    """Yield the messages after an iteration, without the empty last line."""
    word = "Epoch" if algorithm == "l2sgd" else "Iteration"
    yield f"***** {word} #{info['num']} *****\n"
    yield f"Loss: {info['loss']:.6f}\n"
    yield f"Feature norm: {info['feature_norm']:.6f}\n"
    if "error_norm" in info:
        yield f"Error norm: {info['error_norm']:.6f}\n"
    yield f"Active features: {info['active_features']}\n"
    if "linesearch_trials" in info:
        yield f"Line search trials: {info['linesearch_trials']}\n"
        yield f"Line search step: {info['linesearch_step']:.6f}\n"
    yield f"Seconds required for this iteration: {info['time']:.3f}\n"
    if "avg_f1" in info:
        yield from _judged(info)


def _judged(info: Mapping[str, Any]) -> Iterator[str]:
    """Yield the evaluation of the held-out group."""
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    for label, score in info["scores"].items():
        shares = ["******" if one is None else f"{one:.4f}" for one in score[3:]]
        counts = ", ".join(map(str, score[:3]))
        yield f"    {label}: ({counts}) ({', '.join(shares)})\n"
    averages = ", ".join(f"{info[k]:.6f}" for k in ("avg_precision", "avg_recall", "avg_f1"))
    yield f"Macro-average precision, recall, F1: ({averages})\n"
    for name in ("item", "instance"):
        right, total = info[f"{name}_counts"]
        share = info[f"{name}_accuracy_float"]
        yield f"{name.capitalize()} accuracy: {right} / {total} ({share:.4f})\n"


def trained(algorithm: str, status: str, seconds: float) -> Iterator[str]:
    """Yield the messages after the last iteration."""
    name = {"lbfgs": "L-BFGS", "l2sgd": "SGD"}.get(algorithm, ALGORITHMS[algorithm].title)
    yield f"{name} terminated with {_ENDS.get(status, status)}\n"
    yield from (f"Total seconds required for training: {seconds:.3f}\n", "\n")


def stored(counts: Sequence[tuple[str, int, int]], seconds: float) -> Iterator[str]:
    """Yield the messages after writing the model: its counts by kind."""
    yield "Storing the model\n"
    for name, active, total in counts:
        yield f"Number of active {name}: {active} ({total})\n"
    yield from (f"Seconds required: {seconds:.3f}\n", "\n")


def _shown(value: Any) -> str:
    """Format a value as CRFsuite's log does."""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)
