"""Records in files and tables: lines, CSV, JSON lines, Arrow; one at a time, with its errors."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import orjson

from caesura.corpora.files import Name, Source, name_of, unpacked_suffix
from caesura.errors import InvalidInput, message
from caesura.records.sink_duckdb import pyarrow_module
from caesura.records.sinks import Kind

__all__ = ["Raw", "arrow_kinds", "arrow_of", "arrow_records", "checked", "csv_records", "form_of"]
__all__ += ["json_records", "line_count", "text_records"]

LONGEST = 2**24  # characters of a cell: a quote that is never closed ends here
DELIMITERS = ",\t;|"
Raw = Mapping[str, Any] | str | InvalidInput  # of a record: its values, its text, or what is wrong


def checked(records: Iterator[Any]) -> Iterator[Raw]:
    """Yield texts and dicts; an error in the place of what is neither."""
    for i, one in enumerate(records):
        if isinstance(one, str | Mapping):
            yield one
        else:
            expected, remedy = "a text, or a dict of columns", "pass texts or dicts"
            yield InvalidInput(message(f"source[{i}]", one, expected, remedy))


def arrow_of(source: Any) -> Any:
    """Return a DataFrame of pandas or polars, or an Arrow table, as an Arrow table."""
    pa = pyarrow_module("a DataFrame")
    if type(source).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(source, preserve_index=False)
    return pa.table(source)


def arrow_kinds(schema: Any) -> dict[str, Kind]:
    """Return the kinds of the columns of an Arrow table; what has none becomes text."""
    import pyarrow.types as types

    def kind(one: Any) -> Kind:
        if types.is_boolean(one):
            return "boolean"
        if types.is_integer(one) and not types.is_uint64(one):
            return "integer"
        return "number" if types.is_floating(one) else "text"

    return {field.name: kind(field.type) for field in schema}


def arrow_records(batches: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of Arrow batches, as dicts."""
    for batch in batches:
        yield from batch.to_pylist()


def form_of(path: Name) -> str:
    """Return the format that the name of a file tells."""
    suffix = "" if path == "-" else unpacked_suffix(path)
    names = {
        **dict.fromkeys((".csv", ".tsv"), "csv"),
        **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
        **dict.fromkeys((".parquet", ".pq"), "parquet"),
        **dict.fromkeys((".txt", ""), "text"),
    }
    if suffix in names:
        return names[suffix]
    expected = "a name that ends in .txt, .csv, .tsv, .jsonl or .parquet"
    raise InvalidInput(message("source", name_of(path), expected, "pass format='text' or 'csv'"))


def line_count(path: Name) -> int | None:
    """Return the number of lines of a file that is not packed, roughly that of its records."""
    if path == "-" or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))


def text_records(source: Source) -> Iterator[Raw]:
    """Yield a text for each line that is not empty."""
    for _, line in source.lines():
        if isinstance(line, InvalidInput) or line.strip():
            yield line


def json_records(source: Source) -> Iterator[Raw]:
    """Yield a record for each line of JSON."""
    for number, line in source.lines():
        if isinstance(line, InvalidInput):
            yield line
            continue
        if not line.strip():
            continue
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield source.error(number, f"got what is not JSON ({error}); give an object on a line")
            continue
        if isinstance(found, dict | str):
            yield found
        else:
            yield source.error(number, f"got {found!r}, expected an object or a string")


class _Cells:
    """Lines for the reader of rows, which goes on after an error."""

    def __init__(self, lines: Iterator[tuple[int, str | InvalidInput]]) -> None:
        self._lines, self.number = lines, 0

    def __iter__(self) -> _Cells:
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        if isinstance(line, InvalidInput):
            raise line
        return line


def csv_records(source: Source) -> Iterator[Raw]:
    """Yield the rows of a table whose first line names the columns."""
    lines = source.lines(ends=True)
    begin = list(islice(lines, 1))
    first = "".join(line for _, line in begin if isinstance(line, str))
    tabs = unpacked_suffix(source.path) == ".tsv" if source.path != "-" else False
    delimiter = "\t" if tabs else max(DELIMITERS, key=first.count)
    cells = _Cells(chain(begin, lines))
    reader = csv.reader(cells, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        before, limit = cells.number, csv.field_size_limit(LONGEST)
        try:
            row = next(reader, None)
        except csv.Error as error:
            yield source.error(before + 1, f"got a row that ends wrong ({error}); check its quotes")
            continue
        except InvalidInput as error:
            yield error
            continue
        finally:
            csv.field_size_limit(limit)
        if row is None:
            return
        if header is None:
            header = _header(source, row)
        elif row and len(row) != len(header):
            problem = f"got {len(row)} cells, expected {len(header)}, as in the first line"
            yield source.error(before + 1, problem)
        elif row:
            yield dict(zip(header, row, strict=True))


def _header(source: Source, names: list[str]) -> list[str]:
    """Return the names of columns, or raise if one is empty or there twice."""
    wrong = next((n for i, n in enumerate(names) if not n.strip() or n in names[:i]), None)
    if wrong is not None:
        expected, remedy = "different names of columns", "write them on the first line"
        raise source.error(1, InvalidInput(message("columns", wrong, expected, remedy)))
    return names
