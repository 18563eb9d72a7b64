"""Parsing of option values: numbers by label, penalties, patterns."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import typer

from caesura.errors import InvalidInput, message
from caesura.normalisers import NORMALISERS

__all__ = ["Normalisers", "named_normalisers", "parsed", "with_normalisers"]

SWITCHES = (
    *("same_label_adjacent", "all_possible_states", "all_possible_transitions"),
    *("boundary_weights", "average", "pa_error_sensitive"),
    *("frozen", "transitions", "global_loss", "one_score"),
)


Normalisers = Annotated[
    list[str] | None,
    typer.Option(
        "--normaliser",
        metavar="LABEL=NAME",
        help=f"Choose how the values of a label are normalised: {', '.join(NORMALISERS)}. Can be "
        "repeated. Default: those of the model, which inspect shows.",
    ),
]


def with_normalisers(model: Any, given: Sequence[str] | None) -> Any:
    """Return a model with the normalisers that --normaliser names.

    Examples
    --------
    >>> import caesura
    >>> model = caesura.SemiCRF(c2=0.1).fit(["Codd (1970)."], [[(1, 5, "date")]])
    >>> named_normalisers(with_normalisers(model, ["date=year"]))
    {'date': 'year'}
    """
    chosen = {}
    for one in given or ():
        label, mark, name = one.rpartition("=") if "=" in one else (one, "", "")
        if label not in model.labels_:
            known = ", ".join(model.labels_)
            expected = f"LABEL=NAME with a label of the model: {known}"
            raise InvalidInput(message("--normaliser", one, expected, _near(label, model.labels_)))
        if not mark or name not in NORMALISERS:
            expected = f"{label}=NAME with one of {', '.join(NORMALISERS)}"
            raise InvalidInput(message("--normaliser", one, expected, _near(name, NORMALISERS)))
        chosen[label] = name
    return model.set_normalisers(chosen) if chosen else model


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean '{near[0]}'?" if near else "choose one of them"


def named_normalisers(model: Any) -> dict[str, str]:
    """Return the name of the normaliser of each label, for a function that of the function."""
    found = model.normalisers_.items()
    return {y: one if isinstance(one, str) else getattr(one, "__name__", "?") for y, one in found}


def parsed(name: str, value: Any) -> Any:
    """Parse the value of a parameter given as an option.

    Examples
    --------
    >>> parsed("patterns", ["author > title > date"]), parsed("patterns", ["grow"])
    (['author > title > date'], 'grow')
    >>> parsed("max_length", ["observed"]), parsed("max_length", ["author=observed", "date=3"])
    ('observed', {'author': 'observed', 'date': 3})
    """
    if name == "patterns":
        return value[0] if value == ["grow"] else value
    if name == "max_length":
        return _by_label("--max-length", value, _bound)
    if name == "class_weight":
        return _by_label("--class-weight", value, float)
    if name == "penalty":
        return dict(_penalty(one) for one in value)
    if name in ("outside_length", "scheme") and str(value).lower() == "none":
        return None
    if name == "vectors":
        return str(value)
    if name in SWITCHES:
        return value == "yes"
    return int(value) if name == "outside_length" else value


def _bound(given: str) -> int | str:
    return given if given == "observed" else int(given)


def _by_label(name: str, given: Sequence[str], kind: Callable[[str], Any]) -> Any:
    """Parse one number, or numbers by label, such as 20 or author=20."""
    found: dict[str, Any] = {}
    for one in given:
        label, mark, number = one.rpartition("=")
        try:
            value = kind(number)
        except ValueError:
            expected = "a number, or label=number"
            raise InvalidInput(message(name, one, expected, "write author=20")) from None
        if not mark and kind is _bound and len(given) == 1:
            return value
        if not mark:
            remedy = "name the label, as author=20"
            raise InvalidInput(message(name, one, "label=number", remedy))
        found[label] = value
    return found


def _penalty(one: str) -> tuple[str, Any]:
    name, _, numbers = one.rpartition("=")
    try:
        values = [float(number) for number in numbers.split(",")]
    except ValueError:
        values = []
    if not name or len(values) not in (1, 2):
        expected = "FEATURE=C2 or FEATURE=C1,C2"
        raise InvalidInput(message("--penalty", one, expected, "write word[0]=0.1"))
    return name, values[0] if len(values) == 1 else tuple(values)
