"""Data types of columns, inferred from values and used for databases.

::

    text  boolean  integer  number  decimal(DIGITS,SCALE)  date  time  timestamp  instant  empty

An instant is a timestamp with a time zone, stored in UTC. Whole numbers beyond 64 bits are decimals
without a fraction. Everything that no kind holds without loss is text. A column without values is
empty: it takes the type that a table has, and is text in a new one.
"""

from __future__ import annotations

import contextlib
import json
import re
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from functools import cache
from typing import Any

from caesura.corpora.columns import plain_text

__all__ = [
    "DIGITS",
    "EMPTY",
    "Kind",
    "arrow_kind",
    "arrow_type",
    "as_text",
    "converted",
    "family",
    "kind_of",
    "scale_of",
]
__all__ += ["settled", "united"]

Kind = str
EMPTY = "empty"
DIGITS = 38  # of decimals: the limit of DuckDB, and of Parquet with 128 bits
LARGEST = 2**63 - 1  # the largest integer in databases
INTEGER_DIGITS = 19
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_EXACT = Context(prec=DIGITS)


@cache
def _sizes(kind: Kind) -> tuple[int, int] | None:
    """Return the digits and the scale of a decimal or an integer; None for other kinds."""
    if kind == "integer":
        return INTEGER_DIGITS, 0
    found = _DECIMAL.fullmatch(kind)
    return None if found is None else (int(found[1]), int(found[2]))


def _decimal(digits: int, scale: int) -> Kind:
    """Return the kind of decimals, text if they have too many digits."""
    digits = max(digits, scale, 1)
    return f"decimal({digits},{scale})" if digits <= DIGITS else "text"


def family(kind: Kind) -> str:
    """Return a kind without the sizes of decimals; text for columns without values.

    Examples
    --------
    >>> family("decimal(10,2)"), family("date"), family("empty")
    ('decimal', 'date', 'text')
    """
    return "text" if kind == EMPTY else kind.partition("(")[0]


def scale_of(kind: Kind) -> int:
    """Return the number of digits after the decimal point; 0 for other kinds than decimals.

    Examples
    --------
    >>> scale_of("decimal(10,2)"), scale_of("text")
    (2, 0)
    """
    return (_sizes(kind) or (0, 0))[1]


def settled(kind: Kind | None) -> Kind:
    """Return the kind of a column to write: with room for more digits.

    Examples
    --------
    >>> settled("decimal(10,2)"), settled(None), settled("date")
    ('decimal(38,2)', 'empty', 'date')
    """
    if kind is None:
        return EMPTY
    return _decimal(DIGITS, scale_of(kind)) if family(kind) == "decimal" else kind


def kind_of(value: Any) -> Kind | None:
    """Return the kind of a value; None for a missing one.

    Examples
    --------
    >>> kind_of(date(2020, 2, 1)), kind_of(Decimal("1.10")), kind_of(2**64), kind_of([1])
    ('date', 'decimal(3,2)', 'decimal(20,0)', 'text')
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -LARGEST <= value <= LARGEST else _decimal(_length(value), 0)
    if isinstance(value, float):
        return "number"
    if isinstance(value, Decimal):
        return _of_decimal(value)
    if isinstance(value, datetime):
        return _of_datetime(value)
    if isinstance(value, date):
        return "date"
    return "time" if isinstance(value, time) and value.tzinfo is None else "text"


def _length(value: int) -> int:
    """Return the number of digits, at least roughly where there are too many."""
    return len(str(abs(value))) if value.bit_length() < 8 * DIGITS else DIGITS + 1


def _of_decimal(value: Decimal) -> Kind:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # infinity or NaN
        return "text"
    return _decimal(len(digits) + max(exponent, 0), max(-exponent, 0))


def _of_datetime(value: datetime) -> Kind | None:
    if value != value:  # NaT of pandas
        return None
    if getattr(value, "nanosecond", 0):  # pandas has nanoseconds, databases microseconds
        return "text"
    return "timestamp" if value.tzinfo is None else "instant"


def united(a: Kind | None, b: Kind | None) -> Kind | None:
    """Return the kind that holds the values of two kinds without loss.

    Examples
    --------
    >>> united("integer", "number"), united("date", "timestamp"), united(None, "time")
    ('number', 'timestamp', 'time')
    >>> united("decimal(4,2)", "decimal(3,0)"), united("integer", "date")
    ('decimal(5,2)', 'text')
    """
    if a in (None, EMPTY) or a == b:
        return b or a
    if b is None or b == EMPTY:
        return a
    assert a is not None
    if {a, b} == {"integer", "number"}:
        return "number"
    if {a, b} == {"date", "timestamp"}:
        return "timestamp"
    sizes = _sizes(a), _sizes(b)
    if sizes[0] is None or sizes[1] is None:
        return "text"
    scale = max(sizes[0][1], sizes[1][1])
    return _decimal(max(digits - own for digits, own in (sizes[0], sizes[1])) + scale, scale)


def arrow_kind(type_: Any) -> Kind:
    """Return the kind of an Arrow type; unsupported ones become text.

    Nanoseconds are kept by `caesura.records.formats`, which looks whether there are any.
    """
    import pyarrow.types as types

    if types.is_null(type_):
        return EMPTY
    if types.is_boolean(type_):
        return "boolean"
    if types.is_integer(type_):
        return _decimal(20, 0) if types.is_uint64(type_) else "integer"
    if types.is_decimal(type_):
        scale = max(type_.scale, 0)
        return _decimal(type_.precision - type_.scale + scale, scale)
    if types.is_date(type_):
        return "date"
    if types.is_time(type_):
        return "time"
    if types.is_timestamp(type_):
        return "timestamp" if type_.tz is None else "instant"
    return "number" if types.is_floating(type_) else "text"


def arrow_type(kind: Kind) -> Any:
    """Return the Arrow type that stores a kind.

    Examples
    --------
    >>> arrow_type("instant"), arrow_type("decimal(10,2)")
    (TimestampType(timestamp[us, tz=UTC]), Decimal128Type(decimal128(10, 2)))
    """
    import pyarrow as pa

    if family(kind) == "decimal":
        return pa.decimal128(*(_sizes(kind) or (DIGITS, 0)))
    types = {
        "text": pa.string(),
        EMPTY: pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "time": pa.time64("us"),
        "timestamp": pa.timestamp("us"),
        "instant": pa.timestamp("us", "UTC"),
    }
    return types[kind]


def converted(value: Any, kind: Kind) -> Any:
    """Return a value as the kind of its column stores it, or raise ValueError.

    Examples
    --------
    >>> converted(3, "decimal(38,2)"), converted(date(2020, 2, 1), "timestamp")
    (Decimal('3.00'), datetime.datetime(2020, 2, 1, 0, 0))
    """
    if kind == EMPTY:
        kind = "text"
    if kind == "text" and isinstance(value, str):
        return value
    mine = kind_of(value)
    if mine is None:
        return None
    if kind == "text":
        return _text(value)
    if mine == "integer" and family(kind) == "decimal":
        mine = _decimal(_length(value), 0)
    if united(kind, mine) != kind:
        raise ValueError
    if kind == "number":
        return float(value)
    if family(kind) == "decimal":
        return Decimal(value).quantize(Decimal(1).scaleb(-scale_of(kind)), context=_EXACT)
    if kind in ("timestamp", "instant"):
        return _moment(value, kind)
    return value


def _moment(value: Any, kind: Kind) -> datetime:
    """Return a date or a timestamp as a plain datetime, in UTC if it has a zone."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time())
    plain: datetime = value.to_pydatetime() if hasattr(value, "to_pydatetime") else value  # pandas
    with contextlib.suppress(OverflowError):  # raised near the first and the last year
        return plain.astimezone(UTC) if kind == "instant" else plain
    raise ValueError


def _text(value: Any) -> str:
    if isinstance(value, dict | list | bool | int | float):
        return json.dumps(value, ensure_ascii=False, default=plain_text)
    return plain_text(value)


def as_text(value: Any) -> Any:
    """Return a stored value as the text of a column that has no other type.

    Examples
    --------
    >>> as_text(datetime(2020, 2, 1)), as_text(Decimal("0.00000010")), as_text(None)
    ('2020-02-01 00:00:00', '0.00000010', None)
    """
    if value is None or isinstance(value, str):
        return value
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
