"""``caesura inspect`` for neural models: labels, settings, layer sizes, transitions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from caesura.cli.option_values import named_normalisers
from caesura.cli.output import emit, say, table
from caesura.errors import InvalidInput, message

__all__ = ["inspect_neural"]


def inspect_neural(
    model: Any, path: Path, settings: dict[str, Any], top: int, label: str | None, json: bool
) -> None:
    """Show what is in a neural model.

    Parameters
    ----------
    model : NeuralSegmenter
        A fitted one.
    path : path
        Its file.
    settings : dict
        Parameters that are not the default.
    top : int
        Number of transitions to show.
    label : str, optional
        Only transitions to this label or its tags.
    json : bool
        Whether to print JSON.
    """
    if label is not None and label not in model.labels_:
        known = ", ".join(model.labels_)
        raise InvalidInput(message("--label", label, f"one of {known}", "pass one of them"))
    facts = {
        "model": str(path),
        "kind": model.kind,
        "network": model.model,
        "labels": model.labels_,
        "weights": model.n_features_,
        "bytes": path.stat().st_size,
        "tokeniser": model.tokeniser_,
        "calibration": None if model.calibration_ is None else model.calibration_.method,
        "normalisers": named_normalisers(model),
        "settings": settings,
    }
    parts, transitions = _parts(model), _transitions(model, top, label)
    if json:
        named = [dict(zip(("from", "to", "weight"), one, strict=True)) for one in transitions]
        emit(facts | {"parts": dict(parts), "transitions": named})
        return
    say(f"{path}: neural model ({model.model}), {facts['bytes'] / 1e6:.2f} MB", "bold")
    say(f"labels      {len(model.labels_)}: {', '.join(model.labels_)}")
    say(f"weights     {model.n_features_:,}")
    say(f"tokeniser   {facts['tokeniser']}")
    say(f"calibrated  {facts['calibration'] or 'no'}")
    values = ", ".join(f"{label} = {one}" for label, one in facts["normalisers"].items())
    say(f"normalisers {values}")
    if settings:
        say(f"settings    {', '.join(f'{name} = {value!r}' for name, value in settings.items())}")
    say()
    table(["part", "weights"], [(name, f"{count:,}") for name, count in parts])
    if transitions:
        say("\nlargest transitions", "bold")
        table(["from", "to", "weight"], [(a, b, f"{w:+.3f}") for a, b, w in transitions])


def _parts(model: Any) -> list[tuple[str, int]]:
    """Return the number of weights of each part of the network."""
    counts: Counter[str] = Counter()
    for name, parameter in model.fitted_network().named_parameters():
        part = ".".join(name.split(".")[:2])
        counts["features" if part.startswith("weights") else part] += parameter.numel()
    return counts.most_common()


def _transitions(model: Any, count: int, label: str | None) -> list[tuple[str, str, float]]:
    """Return the pairs of labels with the largest weights."""
    head = model.fitted_network().head
    names = getattr(head, "states", head.labels[1:])
    weights = head.layer.transition.detach().cpu().tolist()
    found = [
        (a, b, weight)
        for a, row in zip(names, weights, strict=True)
        for b, weight in zip(names, row, strict=True)
        if label in (None, b, b.partition("-")[2]) and weight
    ]
    return sorted(found, key=lambda one: -abs(one[2]))[:count]
