"""A model as an SQL function."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from caesura.errors import InvalidInput, message
from caesura.extraction import BETWEEN
from caesura.records.layout import Layout, check_threshold, doubtful, layout_of
from caesura.records.refusals import known_reason, refusal
from caesura.records.sink_duckdb import duckdb_module, pyarrow_module
from caesura.records.sql import quoted
from caesura.records.versions import labels_of, model_of

if TYPE_CHECKING:
    import duckdb

__all__ = ["register"]

SEGMENT = (
    'STRUCT(label VARCHAR, text VARCHAR, start INTEGER, "end" INTEGER, probability DOUBLE, '
    "value VARCHAR)"
)


def register(
    connection: duckdb.DuckDBPyConnection,
    model: Any,
    name: str = "segment",
    *,
    threshold: float = 0.9,
) -> None:
    """Register a model as an SQL function in a DuckDB connection: ``segment(text)``.

    It returns a struct with the value of each label, ``probability`` of the whole, ``review`` and
    ``segments``, a list of structs. DuckDB calls it with many texts at a time.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        The connection.
    model : SemiCRF, ChainCRF, NeuralSegmenter or path
        A fitted model, or the file of one.
    name : str
        The name of the function; one of this name that is there is replaced.
    threshold : float
        ``review`` is true where a field is below this probability, or nothing was found.

    Examples
    --------
    >>> import caesura, duckdb
    >>> X, y = ["Codd (1970).", "Gray (1981)."], [[(0, 1, "author"), (1, 5, "year")]] * 2
    >>> model = caesura.SemiCRF(c2=0.01).fit(X, y)
    >>> connection = duckdb.connect()
    >>> register(connection, model)
    >>> connection.sql("SELECT segment('Lamport (1978).').year AS year").fetchall()
    [('1978',)]
    """
    duckdb = duckdb_module("register")
    pa = pyarrow_module("register")
    if not hasattr(connection, "remove_function"):  # sqlite3 connections lack it
        expected = "a connection of duckdb"
        raise InvalidInput(message("connection", connection, expected, "pass duckdb.connect(...)"))
    check_threshold(threshold)
    loaded, _ = model_of(model, None)
    layout = layout_of("function", labels_of(loaded), {})
    fields = [f"{quoted(field.value)} VARCHAR" for field in layout.fields.values()]
    fields += ["probability DOUBLE", "review BOOLEAN", f"segments {SEGMENT}[]"]
    kind = duckdb.type(f"STRUCT({', '.join(fields)})")

    def segment(texts: Any) -> Any:
        given = texts.to_pylist()
        records = iter(loaded.extract([text for text in given if text is not None]))
        rows = [
            None if text is None else _struct(next(records), layout, threshold) for text in given
        ]
        return pa.array(rows, _type(pa, layout))

    with contextlib.suppress(duckdb.Error):  # no function has this name yet
        connection.remove_function(name)
    try:
        create: Any = connection.create_function  # its stubs do not accept names of types
        create(name, segment, ["VARCHAR"], kind, type="arrow", null_handling="special")
    except duckdb.Error as error:
        if known_reason(error):
            raise refusal("connection", connection, error) from error
        raise InvalidInput(
            place="name",
            got=f"{name!r}: {' '.join(str(error).split())}",
            remedy="give another name",
        ) from error


def _struct(record: Any, layout: Layout, threshold: float) -> dict[str, Any]:
    """Return a record as a struct of SQL."""
    columns = {field.value: _joined(record[label]) for label, field in layout.fields.items()}
    segments = [
        {
            "label": label,
            "text": value.text,
            "start": value.start,
            "end": value.end,
            "probability": value.probability,
            "value": None if value.value is None else str(value.value),
        }
        for label, value in record.fields
    ]
    review = doubtful(record, threshold)
    return columns | {"probability": record.probability, "review": review, "segments": segments}


def _joined(values: Any) -> str | None:
    found = [str(one.value) for one in values if one.value is not None]
    return BETWEEN.join(found) if found else None


def _type(pa: Any, layout: Layout) -> Any:
    """Return the Arrow type of the struct."""
    text, number = pa.string(), pa.float64()
    segment = pa.struct(
        [
            ("label", text),
            ("text", text),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("probability", number),
            ("value", text),
        ]
    )
    fields = [(field.value, text) for field in layout.fields.values()]
    return pa.struct(
        [*fields, ("probability", number), ("review", pa.bool_()), ("segments", pa.list_(segment))]
    )
