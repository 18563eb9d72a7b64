"""Records in files and tables: lines, CSV, JSON lines, Arrow; read one at a time."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import orjson

from caesura.corpora.cells import wrong_width
from caesura.corpora.columns import checked_names
from caesura.corpora.detection import is_tagged
from caesura.corpora.files import PACKED, Name, Source, name_of, unpacked_suffix
from caesura.corpora.kinds import Kind, arrow_kind, arrow_type, converted, kind_of, settled, united
from caesura.corpora.sheets import read_xlsx
from caesura.corpora.tables import csv_rows
from caesura.errors import InvalidInput, message
from caesura.records.sink_duckdb import pyarrow_module

__all__ = [
    "AS_CSV",
    "AS_TEXT",
    "OTHER_FORMAT",
    "Raw",
    "arrow_kinds",
    "arrow_of",
    "arrow_records",
    "check_text_column",
    "checked",
    "csv_names",
    "csv_records",
    "form_of",
]

AS_CSV = "leave it out, or pass format='csv'"  # remedies in errors
AS_TEXT = "pass format='text' if each line is a text"
OTHER_FORMAT = "pass format='text' or 'csv'"
__all__ += ["json_records", "line_count", "text_records", "xlsx_records"]

Raw = Mapping[str, Any] | str | InvalidInput  # the values or the text of a record, or its error


def checked(records: Iterator[Any]) -> Iterator[Raw]:
    """Yield texts and dicts; other items become errors."""
    for i, one in enumerate(records):
        if isinstance(one, str | Mapping):
            yield one
        else:
            expected, remedy = "a text, or a dict of columns", "pass texts or dicts"
            yield InvalidInput(message(f"source[{i}]", one, expected, remedy))


def arrow_of(source: Any) -> Any:
    """Return a DataFrame of pandas or polars, or an Arrow table, as an Arrow table."""
    pa = pyarrow_module("a DataFrame")
    library = type(source).__module__.partition(".")[0]
    if library not in ("pandas", "polars"):
        return pa.table(source)
    names = list(source.columns)
    if library == "pandas":
        columns = [source.iloc[:, k] for k in range(len(names))]
    else:
        columns = source.get_columns()
    return pa.table(list(map(_arrow_column, columns)), names=checked_names(names))


def _arrow_column(series: Any) -> Any:
    """Return a column as Arrow, by its Python values where Arrow has no type for it."""
    import pyarrow as pa

    own = series.to_arrow if hasattr(series, "to_arrow") else lambda: pa.Array.from_pandas(series)
    with contextlib.suppress(pa.ArrowException, ArithmeticError, TypeError, ValueError):
        column = own()
        if not isinstance(column.type, pa.BaseExtensionType) and str(series.dtype) != "Object":
            return column
    missing = series.isna() if hasattr(series, "isna") else series.is_null()
    cells = zip(series.to_list(), missing.to_list(), strict=True)
    values = [None if gone else _plain(cell) for cell, gone in cells]
    kind = settled(reduce(united, map(kind_of, values), None))
    return pa.array([converted(value, kind) for value in values], arrow_type(kind))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.number | np.bool_) else value


def arrow_kinds(schema: Any, batches: Callable[[list[str]], Iterable[Any]]) -> dict[str, Kind]:
    """Return the column kinds of an Arrow table.

    Databases have microseconds: columns with finer values become text.

    Parameters
    ----------
    schema : Schema
        The schema.
    batches : callable
        Returns the batches of some columns.
    """
    checked_names(schema.names)
    kinds = {field.name: arrow_kind(field.type) for field in schema}
    fine = [field.name for field in schema if getattr(field.type, "unit", "") == "ns"]
    fine = [name for name in fine if kinds[name] != "text"]
    for batch in batches(fine) if fine else ():
        kinds |= {name: "text" for name in fine if _has_nanoseconds(batch[name])}
    return kinds


def _has_nanoseconds(column: Any) -> bool:
    """Return whether a value is not a whole number of microseconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.cast(pa.int64())
    cut = pc.multiply(pc.divide(whole, 1000), 1000)
    return bool(pc.any(pc.not_equal(whole, cut)).as_py())


def arrow_records(batches: Iterable[Any], kinds: Mapping[str, Kind]) -> Iterator[dict[str, Any]]:
    """Yield the rows of Arrow batches, as dicts."""
    for batch in batches:
        for at, field in enumerate(batch.schema):
            stored = _in_microseconds(field, kinds[field.name])
            if stored is not field:
                batch = batch.set_column(at, stored, batch[at].cast(stored.type))
        yield from batch.to_pylist()


def _in_microseconds(field: Any, kind: Kind) -> Any:
    """Return a field of nanoseconds as one of microseconds, or of text; others as they are."""
    import pyarrow as pa

    if getattr(field.type, "unit", "") != "ns" or pa.types.is_duration(field.type):
        return field
    if kind == "text":
        return field.with_type(pa.string())
    if kind == "time":
        return field.with_type(pa.time64("us"))
    return field.with_type(pa.timestamp("us", field.type.tz))


def form_of(path: Name) -> str:
    """Return the format given by a file name."""
    suffix = "" if path == "-" else unpacked_suffix(path)
    names = {
        **dict.fromkeys((".csv", ".tsv"), "csv"),
        **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
        **dict.fromkeys((".parquet", ".pq"), "parquet"),
        **dict.fromkeys((".txt", ""), "text"),
        ".xlsx": "xlsx",
    }
    if names.get(suffix) == "text" and is_tagged(path):
        expected = "texts or a table, not CoNLL columns of tokens and tags"
        raise InvalidInput(message("source", name_of(path), expected, AS_TEXT))
    if suffix in names:
        return names[suffix]
    expected = "a name that ends in .txt, .csv, .tsv, .jsonl, .parquet or .xlsx"
    raise InvalidInput(message("source", name_of(path), expected, OTHER_FORMAT))


def line_count(path: Name) -> int | None:
    """Return the number of lines, about that of records; None for pipes and compressed files."""
    if path == "-" or not os.path.isfile(path):
        return None
    if os.path.splitext(path)[1].lower() in PACKED:
        return None
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))


def text_records(source: Source) -> Iterator[Raw]:
    """Yield a text for each line that is not empty."""
    for _, line in source.lines():
        if isinstance(line, InvalidInput) or line.strip():
            yield line


_LONG_NUMBER = re.compile(r"\d{19}")


def _exact(line: str) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(f"unexpected {name}")

    return json.loads(line, parse_constant=refuse)


def json_records(source: Source) -> Iterator[Raw]:
    """Yield a record for each line of JSON."""
    for number, line in source.lines():
        if isinstance(line, InvalidInput):
            yield line
            continue
        if not line.strip():
            continue
        try:  # orjson reads integers beyond 64 bits as floats, which would lose digits
            found = _exact(line) if _LONG_NUMBER.search(line) else orjson.loads(line)
        except (ValueError, RecursionError) as error:
            came = f"invalid JSON ({error})"
            yield source.error(number, InvalidInput(got=came, remedy="give an object on a line"))
            continue
        if isinstance(found, dict | str):
            yield found
        else:
            text = message("", found, "an object or a string", "give an object on a line")
            yield source.error(number, InvalidInput(text))


def csv_records(source: Source, separator: str | None = None) -> Iterator[Raw]:
    """Yield the rows of a table whose first line names the columns."""
    names: list[str] | None = None
    for number, row in csv_rows(source, separator):
        if isinstance(row, InvalidInput):
            yield row
        elif names is None:
            names = _header(source, number, row)
        elif len(row) != len(names):
            yield source.error(number, wrong_width(len(row), len(names)))
        else:
            yield dict(zip(names, row, strict=True))


def csv_names(source: Source, separator: str | None = None) -> list[str]:
    """Return the names of the columns of a table; none if it is empty."""
    for number, row in csv_rows(source, separator):
        if not isinstance(row, InvalidInput):
            return _header(source, number, row)
    return []


def _header(source: Source, number: int, row: Sequence[Any]) -> list[str]:
    try:
        return checked_names(row)
    except InvalidInput as error:
        raise source.error(number, error) from None


def xlsx_records(path: Name, text: str | None) -> Iterator[Raw]:
    """Yield the rows of the first sheet of an Excel file."""
    corpus = read_xlsx(path, text=text, labels=[])
    for document in corpus:
        column = corpus.columns.text if corpus.columns is not None else None
        yield {column or "text": document.text, **document.carried}


def check_text_column(path: str, form: str, column: str | None) -> None:
    """Raise if a text column is named for a file of lines."""
    if form == "text" and column is not None:
        raise InvalidInput(
            place="text_column",
            got=f"{column!r} for {path}, which has lines of text",
            expected="a table or JSON lines",
            remedy=AS_CSV,
        )
