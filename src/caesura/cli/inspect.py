"""``caesura inspect``: show the contents of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from caesura.cli.command import command
from caesura.cli.inspect_neural import inspect_neural
from caesura.cli.model_files import ModelFile, Trust, load_model
from caesura.cli.model_settings import changed_settings
from caesura.cli.option_values import named_normalisers
from caesura.cli.output import Json, emit, note, say, table
from caesura.errors import InvalidInput
from caesura.models.estimator import fitted_of
from caesura.ready import resolve

__all__ = ["inspect"]

LONGEST_NAME = 60  # of a feature in a table, in characters


class Family(NamedTuple):
    """A declared feature and the statistics of its weights."""

    feature: str
    attributes: int  # distinct values with weights
    weights: int


@command("caesura inspect citations.model --top 20 --label author")
def inspect(
    model: ModelFile,
    top: Annotated[
        int, typer.Option("--top", "-n", min=0, help="Show this many of the largest weights.")
    ] = 10,
    label: Annotated[
        str | None,
        typer.Option("--label", "-l", help="Show only weights of this label. Default: all labels."),
    ] = None,
    features: Annotated[
        bool,
        typer.Option(
            "--features", help="Show all features, not only the eight with the most weights."
        ),
    ] = False,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Show the labels, features, size and largest weights of a model."""
    loaded = load_model(model, trust=trust)
    if loaded.kind == "neural":
        inspect_neural(loaded, model, changed_settings(loaded), top, label, json)
        return
    families = _families(loaded)
    facts = _facts(loaded, model, families)
    by_key = fitted_of(loaded).spans
    if by_key:
        note("weights are known by keys alone: those of single features are not shown")
    best = [] if by_key else _weights(loaded, label, top)
    transitions = [] if by_key else _transitions(loaded, top)
    patterns = [] if by_key else _patterns(loaded, top)
    lengths = _lengths(loaded)
    if json:
        emit(
            facts
            | {"settings": changed_settings(loaded), "lexicons": _lexicons(loaded)}
            | {"features": [one._asdict() for one in families]}
            | {"top": [one._asdict() for one in best]}
            | {
                "transitions": [
                    dict(zip(("from", "to", "weight"), t, strict=True)) for t in transitions
                ]
            }
            | {"patterns": [dict(zip(("pattern", "weight"), z, strict=True)) for z in patterns]}
            | {"lengths": lengths}
        )
        return
    _show(facts, changed_settings(loaded), _lexicons(loaded))
    _show_features(families, features)
    _show_weights(best, transitions, label)
    _show_patterns(patterns, label)
    _show_lengths(lengths)


# ---- statistics ----------------------------------------------------------------------------------


def _facts(model: Any, path: Path, families: Sequence[Family]) -> dict[str, Any]:
    calibration, fitted = model.calibration_, fitted_of(model)
    return {
        "model": str(path),
        "kind": model.kind,
        "labels": model.labels_,
        "states": list(fitted.structure.states),
        "scheme": fitted.scheme,
        "weights": model.n_features_,
        "nonzero": sum(weight != 0 for weight in fitted.w.tolist()),
        "attributes": sum(one.attributes for one in families),
        "patterns_by_order": {} if fitted.spans else _orders(model),
        "bytes": resolve(path).stat().st_size,
        "tokeniser": model.tokeniser_,
        "calibration": None if calibration is None else calibration.method,
        "normalisers": named_normalisers(model),
        "about": model.about_,
    }


def _lexicons(model: Any) -> dict[str, int]:
    from caesura.features import lexicons_of

    return {name: len(one) for name, one in lexicons_of(model.features_).items()}


def _families(model: Any) -> list[Family]:
    """Count weights by the feature that they belong to."""
    from caesura.models.penalties import feature_name

    fitted = fitted_of(model)
    if fitted.spans:
        return [Family(feature_name(feature), 0, 0) for feature in model.features_]
    sources = fitted.encoder.sources
    parameters = fitted.parameters
    weights: Counter[int] = Counter()
    attributes: Counter[int] = Counter()
    for array in (parameters.attribute, parameters.edge_attribute):
        weights.update(sources[array].tolist())
        attributes.update(sources[list(set(array.tolist()))].tolist())
    return [
        Family(feature_name(feature), attributes[k], weights[k])
        for k, feature in enumerate(model.features_)
    ]


def _weights(model: Any, label: str | None, count: int) -> list[Any]:
    """Return the largest weights; patterns are listed separately unless a label is given."""
    own = fitted_of(model).parameters.n_plain if label is None else 0
    try:
        best = model.top_features(label, count + own)
    except InvalidInput as error:
        raise error.changed(argument=f"--{error.argument}") from None
    if own:
        best = [one for one in best if one.feature != "pattern" or " > " not in one.label]
    return list(best[:count])


def _transitions(model: Any, count: int) -> list[tuple[str, str, float]]:
    """Return the pairs of labels with the largest weights."""
    from caesura.models.fitted import blocks_of

    fitted = fitted_of(model)
    states, pairs = fitted.structure.states, fitted.parameters.transition.tolist()
    values = fitted.w[blocks_of(fitted.parameters).transitions].tolist()
    found = [
        (states[pair // len(states)], states[pair % len(states)], value)
        for pair, value in zip(pairs, values, strict=True)
    ]
    return sorted(found, key=lambda one: -abs(one[2]))[:count]


def _orders(model: Any) -> dict[str, int]:
    """Return the number of weighted patterns of three or more labels, by order."""
    from caesura.models.patterns import counts_by_order

    parameters = fitted_of(model).parameters
    counts = counts_by_order(parameters.patterns[: parameters.n_plain])
    return {str(order): count for order, count in counts.items()}


def _patterns(model: Any, count: int) -> list[tuple[str, float]]:
    """Return the label patterns with the largest weights."""
    from caesura.models.fitted import blocks_of
    from caesura.models.patterns import named

    fitted = fitted_of(model)
    values = fitted.w[blocks_of(fitted.parameters).patterns].tolist()
    plain = zip(fitted.parameters.patterns, values, strict=False)
    found = [(named(pattern, fitted.structure.states), value) for pattern, value in plain]
    return sorted(found, key=lambda one: -abs(one[1]))[:count]


def _lengths(model: Any) -> dict[str, dict[str, float | int]]:
    """Return for each label its length bound and the weights of segment lengths."""
    if model.kind != "semi":
        return {}
    fitted = fitted_of(model)
    structure, parameters = fitted.structure, fitted.parameters
    found: dict[str, dict[str, float | int]] = {state: {} for state in structure.states}
    for state, bound in zip(structure.states, structure.bounds.tolist(), strict=True):
        if bound:
            found[state]["at most"] = bound
    if fitted.spans:
        return {label: some for label, some in found.items() if some}
    attributes = sorted(set(parameters.attribute.tolist()))
    names = dict(zip(attributes, fitted.encoder.names(attributes), strict=True))
    mine = {a: name.partition("=")[2] for a, name in names.items() if name.startswith("length=")}
    weights = fitted.w[: len(parameters.attribute)].tolist()
    rows = zip(parameters.attribute.tolist(), parameters.label.tolist(), weights, strict=True)
    for attribute, state, weight in rows:
        if attribute in mine:
            found[structure.states[state]][mine[attribute]] = weight
    return {label: some for label, some in found.items() if some}


# ---- display -------------------------------------------------------------------------------------


def _show(facts: dict[str, Any], changed: dict[str, Any], lexicons: dict[str, int]) -> None:
    kind = "semi-Markov CRF, of whole segments" if facts["kind"] == "semi" else "chain CRF, of tags"
    say(f"{facts['model']}: {kind}, {facts['bytes'] / 1e6:.2f} MB", "bold")
    scheme = f", tagged as {facts['scheme']}" if facts["scheme"] else ""
    say(f"labels      {len(facts['labels'])}: {', '.join(facts['labels'])}{scheme}")
    kept = f"{facts['weights']:,} kept, {facts['nonzero']:,} of them not zero"
    say(f"weights     {kept}, on {facts['attributes']:,} attributes")
    if facts["patterns_by_order"]:
        counts = [f"{n:,} of order {order}" for order, n in facts["patterns_by_order"].items()]
        say(f"patterns    {', '.join(counts)}")
    say(f"tokeniser   {facts['tokeniser']}")
    say(f"calibrated  {facts['calibration'] or 'no'}")
    values = ", ".join(f"{label} = {one}" for label, one in facts["normalisers"].items())
    say(f"normalisers {values}")
    if changed:
        say(f"settings    {', '.join(f'{name} = {value!r}' for name, value in changed.items())}")
    if lexicons:
        said = ", ".join(f"{name} ({count:,} entries)" for name, count in lexicons.items())
        say(f"lexicons    {said}")
    for name, text in facts["about"].items():
        first, *more = text.splitlines() or [""]
        say(f"{name:11} {first}{' ... (--json shows all of it)' if more else ''}")


def _show_features(families: list[Family], all_of_them: bool) -> None:
    shown = sorted(families, key=lambda one: -one.weights)
    some = shown if all_of_them else shown[:8]
    say()
    table(["feature", "attributes", "weights"], some)
    if len(some) < len(shown):
        say(f"and {len(shown) - len(some)} more features (--features)")


def _show_weights(
    best: list[Any], transitions: list[tuple[str, str, float]], label: str | None
) -> None:
    if best:
        say(f"\nlargest weights{f' of {label}' if label else ''}", "bold")
        rows = [(_cut(one.feature), one.label, f"{one.weight:+.3f}") for one in best]
        table(["feature", "label", "weight"], rows)
    if transitions and label is None:
        say("\nlargest transitions", "bold")
        table(["from", "to", "weight"], [(a, b, f"{w:+.3f}") for a, b, w in transitions])


def _show_patterns(patterns: list[tuple[str, float]], label: str | None) -> None:
    if patterns and label is None:
        say("\nlargest patterns", "bold")
        table(["labels", "weight"], [(_cut(name), f"{w:+.3f}") for name, w in patterns])


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _show_lengths(lengths: dict[str, dict[str, float | int]]) -> None:
    if not lengths:
        return
    columns = list(dict.fromkeys(name for some in lengths.values() for name in some))
    columns.sort(key=lambda name: (name != "at most", len(name), name))
    say("\nlengths of segments, and what they add to the score", "bold")
    rows = [
        [label, *(_number(some.get(name)) for name in columns)] for label, some in lengths.items()
    ]
    table(["label", *columns], rows)


def _number(value: float | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:+.2f}"
