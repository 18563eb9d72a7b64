"""Inputs of loads: files, DataFrames, Arrow tables, lists; read one record at a time.

::

    source -> Input: the column of the text, the other columns with their kinds
           -> (id, text, other values), again and again from the beginning
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

from caesura.corpora.columns import GIVE_HEADER, NAME_TEXT, SAMPLE, choose
from caesura.corpora.detection import piped
from caesura.corpora.files import Damaged, Name, Source
from caesura.corpora.kinds import Kind, converted, kind_of, settled, united
from caesura.corpora.separators import check_separator
from caesura.documents.frames import is_frame
from caesura.errors import InvalidInput, message
from caesura.records.formats import (
    Raw,
    arrow_kinds,
    arrow_of,
    arrow_records,
    check_text_column,
    checked,
    csv_names,
    csv_records,
    form_of,
    json_records,
    line_count,
    text_records,
    xlsx_records,
)
from caesura.records.layout import storable
from caesura.records.sink_duckdb import pyarrow_module

__all__ = [
    "GIVE_NAMES",
    "MEMORY",
    "NAME_COLUMN",
    "PIPE",
    "Entry",
    "Input",
    "Reading",
    "Survey",
    "file_records",
    "input_of",
    "surveyed",
]

PEEK = 1000  # records examined for columns if the input can be read only once
MEMORY, PIPE = "data", "standard input"  # names of inputs that have no other
KEPT = 5  # stored errors of skipped records
NAME_COLUMN = "pass text_column='...'"  # remedies in errors
GIVE_NAMES = f"write a header, or if the name of the text is right, {NAME_COLUMN}"
REMEDIES = {NAME_TEXT: NAME_COLUMN, GIVE_HEADER: GIVE_NAMES}


class Reading(NamedTuple):
    """The reading options of an input."""

    text: str | None = None  # the text column
    id: str | None = None  # the column that identifies a record
    carry: Sequence[str] | None = None  # other columns to keep; None for all
    format: str | None = None  # text, csv, jsonl, parquet or xlsx; None to detect it from the name
    encoding: str = "utf-8"
    name: str | None = None  # name of the input in row ids
    skip: bool = False  # whether unreadable records are skipped
    separator: str | None = None  # cell separator of text tables; None to detect it


class Entry(NamedTuple):
    """A record of an input."""

    id: str  # the number of the record, from 1, or its value in the id column
    text: str
    carried: Mapping[str, Any]


class Input:
    """Records and their columns.

    Parameters
    ----------
    name : str
        The name of the input.
    records : callable
        Returns an iterator over the records.
    reading : Reading
        How they are read.
    total : int, optional
        The number of records, at least roughly.
    once : bool
        Whether they can be read only once.
    kinds : mapping, optional
        The columns with their kinds, where they are known.
    """

    def __init__(
        self,
        name: str,
        records: Callable[[], Iterator[Raw]],
        reading: Reading,
        total: int | None = None,
        once: bool = False,
        kinds: Mapping[str, Kind] | None = None,
    ) -> None:
        self.name = storable(name)
        self.total, self.once, self.reading = total, once, reading
        self._records = records
        self.first = 1  # number of the first record
        self.kept = KEPT  # maximum number of stored errors
        self.skipped: list[InvalidInput] = []
        self.n_skipped = 0
        self.damaged: Damaged | None = None  # why the rest of the input could not be read
        rest = records()
        first = list(islice(rest, PEEK))
        if once:
            self._records = lambda: chain(first, rest)
        seen = _Seen(kinds)
        for one in first if once or kinds is not None else chain(first, rest):
            seen.add(one)
        self.text, self.guessed = _text_column(name, seen, reading)
        self.columns = _carried(name, seen, reading, self.text)

    def __iter__(self) -> Iterator[Entry]:
        self.n_skipped, self.skipped, self.damaged = 0, [], None
        for number, one in enumerate(self._records(), self.first):
            try:
                if isinstance(one, InvalidInput):
                    raise one
                yield self._entry(number, one)
            except InvalidInput as error:
                if not self.reading.skip:
                    raise
                self.n_skipped += 1
                if isinstance(error, Damaged):
                    self.damaged = error
                if len(self.skipped) < self.kept:
                    self.skipped.append(error)

    def _entry(self, number: int, one: Mapping[str, Any] | str) -> Entry:
        if isinstance(one, str):
            return Entry(str(number), one, {})
        try:
            return self._from_columns(number, one)
        except InvalidInput as error:
            raise error.changed(file=self.name, line=number, unit="record") from None

    def _from_columns(self, number: int, one: Mapping[str, Any]) -> Entry:
        column = self.text or "text"
        if column not in one:
            expected = f"the column of the text: {column}"
            remedy = "name it alike in every record, and write null for no text"
            raise InvalidInput(message("", list(one), expected, remedy))
        text = "" if one[column] is None else one[column]
        if not isinstance(text, str):
            raise InvalidInput(
                got=f"{text!r} in column {column!r}",
                expected="a text",
                remedy="convert the column to text",
            )
        key: Any = number
        if self.reading.id is not None:
            key = one.get(self.reading.id)
            if key is None or key == "":
                raise InvalidInput(
                    got=f"nothing in column {self.reading.id!r}",
                    expected="an id",
                    remedy="give every record one, or leave the column of ids out",
                )
        carried = {name: _value(one.get(name), kind, name) for name, kind in self.columns.items()}
        new = one.keys() - self.columns.keys() - {self.text} if self.once else ()
        if new and self.reading.carry is None:
            raise InvalidInput(
                got=f"the columns {sorted(new)}, which none of the first {PEEK} has",
                remedy="name the columns to keep with carry, or pass a list",
            )
        return Entry(str(key), text, carried)


class _Seen:
    """The columns of records and the kinds of their values."""

    def __init__(self, kinds: Mapping[str, Kind] | None) -> None:
        self.kinds: dict[str, Kind | None] = dict(kinds or {})  # None if no value was seen
        self.known = bool(kinds)
        self.first: list[Mapping[str, Any]] = []
        self.plain = 0

    def add(self, one: Raw) -> None:
        if isinstance(one, str):
            self.plain += 1
        if not isinstance(one, Mapping):
            return
        if len(self.first) < SAMPLE:
            self.first.append(one)
        for name, value in one.items():
            if not self.known:
                kind = self.kinds.get(name)
                self.kinds[name] = kind if kind == "text" else united(kind, kind_of(value))


def _value(value: Any, kind: Kind, name: str) -> Any:
    """Convert a value to the kind of its column."""
    try:
        return converted(value, kind)
    except ValueError:
        raise InvalidInput(
            got=f"{value!r} in column {name!r}",
            expected=f"a value like those before ({kind})",
            remedy="make them all strings, or leave the column out with carry",
        ) from None


def _text_column(name: str, seen: _Seen, reading: Reading) -> tuple[str | None, bool]:
    """Return the text column, and whether it was guessed; None without columns."""
    names = list(seen.kinds)
    if not names or seen.plain:
        return reading.text, False
    rows = [[one.get(column) for column in names] for one in seen.first]
    try:
        chosen = choose(names, rows, reading.text, [])
    except InvalidInput as error:
        argument = "text_column" if error.argument == "text" else error.argument
        raise error.changed(file=name, argument=argument).reworded(REMEDIES) from None
    return chosen.text, chosen.guessed


def _carried(name: str, seen: _Seen, reading: Reading, text: str | None) -> dict[str, Kind]:
    """Return the carried columns with their kinds."""
    kinds: dict[str, Kind] = {one: settled(kind) for one, kind in seen.kinds.items()}
    kinds.pop(text or "", None)
    wanted = list(kinds) if reading.carry is None else list(reading.carry)
    for option, one in [("id_column", reading.id)] + [("carry", one) for one in wanted]:
        if one is not None and one not in kinds and one != text:
            expected = (
                f"a column of {name} other than the text: {', '.join(kinds) or 'it has none'}"
            )
            raise InvalidInput(message(option, one, expected, "correct the name"))
    return {one: kinds[one] for one in dict.fromkeys(wanted) if one in kinds}


# ---- forms of inputs -----------------------------------------------------------------------------


def input_of(source: Any, reading: Reading) -> Input:
    """Return the input for a file, a table or a list.

    Examples
    --------
    >>> given = input_of([{"text": "Codd 1970", "price": 3}], Reading())
    >>> given.columns, [entry.text for entry in given]
    ({'price': 'integer'}, ['Codd 1970'])
    """
    if isinstance(source, str | os.PathLike):
        return _of_file(source, reading)
    name = reading.name or MEMORY
    if type(source).__name__ == "LazyFrame":  # Polars
        source = source.collect()
    if type(source).__name__ == "Series":  # of pandas or Polars
        source = source.to_list()
    if hasattr(source, "to_pylist") and not is_frame(source):  # an array of Arrow
        source = source.to_pylist()
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__"):
        table = arrow_of(source)
        kinds = arrow_kinds(table.schema, lambda names: table.select(names).to_batches())
        return Input(
            name,
            lambda: arrow_records(table.to_batches(PEEK), kinds),
            reading,
            table.num_rows,
            kinds=kinds,
        )
    if isinstance(source, Mapping | bytes) or not isinstance(source, Iterable):
        expected = "a file, a DataFrame, an Arrow table, or a list of texts or of dicts"
        raise InvalidInput(message("source", source, expected, "pass one of them"))
    once = isinstance(source, Iterator)
    total = len(source) if isinstance(source, Sequence) else None
    return Input(name, lambda: checked(iter(source)), reading, total, once)


def _of_file(path: Name, reading: Reading) -> Input:
    """Return the input for a file."""
    name = reading.name or (PIPE if path == "-" else os.path.realpath(path))
    if path != "-" and not os.path.exists(path):
        raise InvalidInput("no such file", place=path, remedy="give a file of texts or a table")
    if path != "-" and os.path.isdir(path):
        raise InvalidInput("is a folder", place=path, remedy="give a file of texts or a table")
    form = reading.format or _piped(path, reading) or form_of(path)
    if path == "-" and form in ("parquet", "xlsx"):
        raise InvalidInput(
            place="source", got=f"{form} on the standard input", remedy="give the name of a file"
        )
    check_text_column(os.fspath(path), form, reading.text)
    records, total, kinds = file_records(path, form, reading)
    return Input(name, records, reading, total, kinds=kinds)


Found = tuple[Callable[[], Iterator[Raw]], int | None, dict[str, Kind] | None]


def file_records(path: Name, form: str, reading: Reading) -> Found:
    """Return a reader of a file, the number of records and the column kinds.

    The number is None, or rough, where it is not known; kinds are None if all records must be read
    to know them.
    """
    if form == "parquet":
        return _parquet_records(os.fspath(path))
    if form == "xlsx":
        return lambda: xlsx_records(path, reading.text), None, None
    source = Source(path, reading.encoding, twice=True)
    check_separator(reading.separator)
    tables = partial(csv_records, separator=reading.separator)
    readers: dict[str, Callable[[Source], Iterator[Raw]]]
    readers = {"csv": tables, "jsonl": json_records, "text": text_records}
    if form not in readers:
        expected = f"{', '.join(readers)}, parquet or xlsx"
        raise InvalidInput(message("format", form, expected, "pass one of them"))
    read = readers[form]
    kinds: dict[str, Kind] | None = None
    if form == "csv":
        kinds = dict.fromkeys(csv_names(source, reading.separator), "text")
    return lambda: read(source), line_count(path), kinds


def _piped(path: Name, reading: Reading) -> str | None:
    """Return the format of the standard input; None for a file."""
    asked = (reading.text, reading.id, reading.carry)
    return piped(any(one is not None for one in asked)).form if path == "-" else None


def _parquet_records(path: str) -> Found:
    """Return a reader of the records of a Parquet file."""
    pa = pyarrow_module("a Parquet file")
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            total = file.metadata.num_rows
            kinds = arrow_kinds(file.schema_arrow, lambda names: file.iter_batches(columns=names))
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(str(error), place=path, remedy="give a file of Parquet") from None

    def records() -> Iterator[Raw]:
        with pq.ParquetFile(path) as file:
            yield from arrow_records(file.iter_batches(PEEK), kinds)

    return records, total, kinds


# ---- surveys of pieces ---------------------------------------------------------------------------


class Survey(NamedTuple):
    """The properties of all pieces of an input, needed before loading."""

    records: int = 0  # including unreadable ones
    kinds: dict[str, Kind | None] = {}  # column -> kind; None without values  # noqa: RUF012
    text: str | None = None  # the text column
    guessed: bool = False

    def joined(self, other: Survey) -> Survey:
        """Return the combined survey of two consecutive pieces.

        Examples
        --------
        >>> Survey(2, {"a": "integer"}, "x").joined(Survey(3, {"a": "number", "b": None})).kinds
        {'a': 'number', 'b': None}
        """
        kinds = dict(self.kinds)
        for name, kind in other.kinds.items():
            kinds[name] = united(kinds.get(name), kind)
        return self._replace(records=self.records + other.records, kinds=kinds)


def surveyed(path: Name, form: str, reading: Reading, name: str, first: bool) -> Survey:
    """Survey a piece of an input; the first piece determines the text column."""
    records, _, kinds = file_records(path, form, reading)
    seen, n = _Seen(kinds), 0
    for one in records():
        seen.add(one)
        n += 1
    text, guessed = _text_column(name, seen, reading) if first else (reading.text, False)
    return Survey(n, seen.kinds, text, guessed)
