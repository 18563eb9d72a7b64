"""The report at the end of ``caesura train``: scores and suggested next steps."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from caesura.cli import scoring
from caesura.cli.advice import Advice
from caesura.cli.output import emit, say
from caesura.documents import Document
from caesura.models.estimator import fitted_of

__all__ = ["report_training"]


def _precision(model: Any) -> str:
    """Return "mixed" if some iterations ran in single precision."""
    return "mixed" if any(one.precision == "single" for one in model.history_) else "double"


def report_training(
    model: Any, corpora: Any, made: tuple[Path, float, Advice | None], json: bool
) -> None:
    """Print the scores of the model and suggested next steps.

    Parameters
    ----------
    model : estimator
        The fitted model.
    corpora
        What it was trained and measured on.
    made : tuple
        The model file, the seconds that training took, and the advice on presets.
    json : bool
        Whether to print JSON.
    """
    output, seconds, advice = made
    report = None
    if corpora.dev is not None:
        report = scoring.measure(corpora.dev, model.predict(corpora.dev))
    iterations = model.history_[-1].iteration if model.history_ else 0
    size = output.stat().st_size
    if json:
        emit(
            {
                "model": str(output),
                "kind": model.kind,
                "labels": model.labels_,
                "tokeniser": model.tokeniser_,
                "preset": None if advice is None else advice.as_json(),
                "weights": model.n_features_,
                "nonzero": _nonzero(model),
                "bytes": size,
                "iterations": iterations,
                "status": model.status_,
                "precision": _precision(model),
                "seconds": round(seconds, 3),
                "data": {name: summary.as_json() for name, summary in corpora.summaries},
                "warnings": corpora.warnings,
                "dev": None if report is None else scoring.as_json(report),
            }
        )
        return
    say(
        f"{type(model).__name__} with {model.n_features_:,} weights, {_nonzero(model):,} of them "
        f"not zero, {iterations} iterations "
        f"(stopped by: {model.status_}) in {seconds:.1f} s: {output}, {size / 1e6:.1f} MB"
    )
    if report is not None:
        say(f"\non the development data\n{report}")
    say("\nwhat to do next")
    for line in _next(output, report, corpora.first, model.reading_.get("columns")):
        say(f"  {line}")


def _nonzero(model: Any) -> int:
    if model.kind == "neural":
        return int(model.n_features_)
    return sum(weight != 0 for weight in fitted_of(model).w.tolist())


def _next(output: Path, report: Any, train: Sequence[Document], columns: str | None) -> list[str]:
    """Return commands to try next."""
    model = shlex.quote(str(output))
    text = next((d.text for d in train if d.text and len(d.text) < 100), None)
    names = "" if columns is None else f" --columns {shlex.quote(columns)}"
    new = "new.conll" if names else "new.txt"
    lines = [f"caesura segment {model} {new}{names} -o new.jsonl", f"caesura inspect {model}"]
    if report is None:
        lines.insert(
            0,
            f"caesura evaluate {model} TEST{names}, with labelled sequences not in TRAIN (caesura "
            "split divides a file; caesura tune TRAIN cross-validates)",
        )
    elif report.micro.f1 < 1.0:
        lines.append("caesura tune TRAIN -o best.toml, then train --config best.toml")
    if not names:  # a text has no such columns
        lines.append(f"caesura explain {model} {shlex.quote(text or 'some text')}")
    return lines
