"""Options for known values: ``LABEL=TABLE.COLUMN`` and ``LABEL=FILE:COLUMN``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from caesura.errors import CaesuraError, InvalidInput

if TYPE_CHECKING:
    from caesura.records import KnownValues

__all__ = ["known_of", "values_of", "with_known"]

EXPECTED = "LABEL=FILE:COLUMN, LABEL=DATABASE:TABLE.COLUMN"
OPTION = "--known"


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
            f"{OPTION}: got a model that was trained without known values; train a model with "
            f"caesura train {OPTION} {EXPECTED.partition(',')[0]}"
        ) from None
    for label, values in values_of(given, into, table).items():
        if label not in known.labels:
            raise InvalidInput(
                f"{OPTION}: got {label!r}, but the model was trained with known values of "
                f"{', '.join(known.labels)}; name one of them, or train a model with {label} too"
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
            raise InvalidInput(f"{OPTION}: got {one!r}, expected {expected}")
        found.setdefault(label.strip(), []).extend(_values(one, where, into, table))
    return found


def _values(given: str, where: str, into: str, table: str) -> list[str]:
    """Return the values of one column."""
    from caesura.records.column_values import is_table, stored_values

    place, _, column = where.rpartition(":")
    if not place and not into:
        raise InvalidInput(f"{OPTION}: got {given!r}, expected {EXPECTED}")
    if not place and is_table(where):  # a table file takes precedence over a table of the database
        raise InvalidInput(f"{OPTION}: got {given!r} without a column, expected {given}:COLUMN")
    place = place or into
    name, dot, inner = column.partition(".")
    if is_table(place):
        name, dot, inner = "", ".", column
    if not dot or not inner:
        raise InvalidInput(f"{OPTION}: got {given!r}, expected TABLE.COLUMN in {place}")
    try:
        return stored_values(place, name, inner)
    except CaesuraError as error:
        if place == into and name == table and not _is_there(place, name):
            return []  # the load will create it
        raise InvalidInput(f"{OPTION} {given}: {error}") from None


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
        raise InvalidInput(f"{OPTION}: needs the model semi; leave out {OPTION} or --model")
    features = model.features
    if features is None or isinstance(features, str):
        features = preset(features or "generic", segments=True)
    known = KnownValues(values, model.tokeniser_)
    return model.set_params(features=[*features, *known.features(similar)])
