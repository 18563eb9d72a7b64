"""Options for known values: ``LABEL=TABLE.COLUMN`` and ``LABEL=FILE:COLUMN``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from caesura.errors import CaesuraError, InvalidInput, message

if TYPE_CHECKING:
    from caesura.records import KnownValues

__all__ = ["known_of", "values_of", "with_known"]

EXPECTED = "LABEL=FILE:COLUMN, LABEL=DATABASE:TABLE.COLUMN"
OPTION = "--known"
EXAMPLE = "for example author=authors.csv:name"


def known_of(model: Any, given: Iterable[str], into: str, table: str) -> KnownValues:
    """Return the known values of a model together with those given by options.

    Parameters
    ----------
    model : SemiCRF
        Trained with known values.
    given : iterable of str
        What the options say.
    into, table : str
        The target, in whose tables values may be; its own table need not exist yet.
    """
    from caesura.records import KnownValues

    try:
        known = KnownValues.of(model)
    except InvalidInput:
        raise InvalidInput(
            place=OPTION,
            got="a model that was trained without known values",
            remedy=f"train a model with caesura train {OPTION} {EXPECTED.partition(',')[0]}",
        ) from None
    for label, values in values_of(given, into, table).items():
        if label not in known.labels:
            raise InvalidInput(
                place=OPTION,
                got=f"{label!r}, but the model was trained with known values of "
                f"{', '.join(known.labels)}",
                remedy=f"name one of them, or train a model with {label} too",
            )
        known.add({label: values})
    return known


def values_of(given: Iterable[str], into: str = "", table: str = "") -> dict[str, list[str]]:
    """Return the values given by options, by label."""
    found: dict[str, list[str]] = {}
    for one in given:
        label, equals, where = one.partition("=")
        if not label.strip() or not equals or not where:
            expected = EXPECTED + (" or LABEL=TABLE.COLUMN" if into else "")
            raise InvalidInput(message(OPTION, one, expected, EXAMPLE))
        found.setdefault(label.strip(), []).extend(_values(one, where, into, table))
    return found


def _values(given: str, where: str, into: str, table: str) -> list[str]:
    """Return the values of one column."""
    from caesura.records.column_values import is_table, stored_values

    place, _, column = where.rpartition(":")
    if not place and not into:
        raise InvalidInput(message(OPTION, given, EXPECTED, EXAMPLE))
    if not place and is_table(where):  # a table file takes precedence over a table of the database
        raise InvalidInput(
            place=OPTION,
            got=f"{given!r} without a column",
            expected=f"{given}:COLUMN",
            remedy="name the column",
        )
    place = place or into
    name, dot, inner = column.partition(".")
    if is_table(place):
        name, dot, inner = "", ".", column
    if not dot or not inner:
        raise InvalidInput(
            message(OPTION, given, f"TABLE.COLUMN in {place}", "name the table and the column")
        )
    try:
        return stored_values(place, name, inner)
    except CaesuraError as error:
        if place == into and name == table and not _is_there(place, name):
            return []  # the load will create it
        raise error.within(f"{OPTION} {given}") from None


def _is_there(place: str, table: str) -> bool:
    """Return whether a load target contains the table."""
    from caesura.records.column_values import stored_values

    try:
        stored_values(place, table, "row_id")
    except CaesuraError:
        return False
    return True


def with_known(model: Any, values: dict[str, list[str]], similar: bool = True) -> Any:
    """Return an unfitted estimator with additional features for known values."""
    from caesura.features import preset
    from caesura.records import KnownValues

    if getattr(model, "kind", None) != "semi":
        raise InvalidInput(
            "needs the model semi", place=OPTION, remedy=f"leave out {OPTION} or --model"
        )
    features = model.features
    if features is None or isinstance(features, str):
        features = preset(features or "generic", segments=True)
    known = KnownValues(values, model.tokeniser_)
    return model.set_params(features=[*features, *known.features(similar)])
