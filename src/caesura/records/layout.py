"""The columns of a table of records, and the rows that fill them.

::

    row_id, source, record, part     the identity of a row
    text                             the string that was segmented
    LABEL, LABEL_probability,        for each label: its value, the lowest probability of its
    LABEL_start, LABEL_end           segments, the first start and the last end in characters
    segments                         all segments, as JSON
    probability, review              of the whole row; whether a person should look at it
    model_name, model_version        what made it
    ...                              the other columns of the input
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from caesura.corpora.kinds import Kind
from caesura.errors import InvalidInput, message
from caesura.extraction import BETWEEN, Record
from caesura.records.sinks import LOADS, Column, Table

__all__ = ["Cells", "Item", "Layout", "Stamp", "doubtful", "layout_of", "row_id", "rows_of"]
__all__ += ["OTHER_TABLE", "check_threshold", "storable"]

FIRST = (
    Column("row_id", "text"),
    Column("source", "text"),
    Column("record", "text"),
    Column("part", "integer"),
    Column("text", "text"),
)
LAST = (
    Column("segments", "text"),
    Column("probability", "number"),
    Column("review", "boolean"),
    Column("model_name", "text"),
    Column("model_version", "text"),
)
OTHER_TABLE = "pass table='records'"  # remedy in errors
LONGEST = 63  # maximum bytes in a name, as in PostgreSQL
_REPLACED = str.maketrans({"\0": "\ufffd"})


class Item(NamedTuple):
    """A string to segment, and its source."""

    record: str  # the number of the record in its input, from 1, or its id
    part: int  # the number of the string in its record, from 1
    text: str
    carried: Mapping[str, Any]  # the other columns of the input, by their own names


class Field(NamedTuple):
    """The columns of a label."""

    value: str
    probability: str
    start: str
    end: str
    verbatim: str | None


class Stamp(NamedTuple):
    """The values shared by all rows of a load."""

    source: str
    model_name: str
    model_version: str
    threshold: float


class Layout(NamedTuple):
    """The columns of a table."""

    table: Table
    fields: dict[str, Field]  # label -> its columns
    carried: dict[str, Column]  # other column of the input -> its column here

    @property
    def renamed(self) -> dict[str, str]:
        """Labels that are stored under another name."""
        names = {label: field.value for label, field in self.fields.items()}
        return {old: new for old, new in names.items() if old != new}

    @property
    def renamed_columns(self) -> dict[str, str]:
        """Columns of the input that are stored under another name."""
        names = {name: column.name for name, column in self.carried.items()}
        return {old: new for old, new in names.items() if old != new}

    @property
    def doubts(self) -> list[tuple[str, str]]:
        """The start and probability columns of each label."""
        return [(field.start, field.probability) for field in self.fields.values()]


Cells = dict[str, list[Any]]


def layout_of(
    table: str, labels: Sequence[str], carried: Mapping[str, Kind], verbatim: bool = False
) -> Layout:
    """Choose the columns of a table.

    Names that differ only by case are one name to most databases. A label whose name is taken gets
    a number, and a column of the input ``_input``; names that are too long for a database are cut.

    Parameters
    ----------
    table : str
        The name of the table.
    labels : sequence of str
        The labels of the model.
    carried : mapping of str to str
        The other columns of the input, and what is in them.
    verbatim : bool
        Whether there is a column ``LABEL_text`` with the text of each label as it was.

    Examples
    --------
    >>> layout = layout_of("papers", ["year"], {"price": "number", "Year": "text"})
    >>> [column.name for column in layout.table.columns][4:9]
    ['text', 'year', 'year_probability', 'year_start', 'year_end']
    >>> layout.renamed_columns
    {'Year': 'Year_input'}
    """
    _check_table(table)
    taken = {name for name, _ in (*FIRST, *LAST)}
    columns: list[Column] = []

    def add(name: str, kind: Kind, suffix: str = "") -> str:
        column = Column(_free(name, suffix, taken), kind)
        taken.add(column.name.lower())
        columns.append(column)
        return column.name

    fields = {}
    for label in labels:
        value = add(label, "text")
        fields[label] = Field(
            value,
            add(f"{value}_probability", "number"),
            add(f"{value}_start", "integer"),
            add(f"{value}_end", "integer"),
            add(f"{value}_text", "text") if verbatim else None,
        )
    columns = [*FIRST, *columns, *LAST]
    kept = {name: Column(add(name, kind, "_input"), kind) for name, kind in carried.items()}
    return Layout(Table(table, tuple(columns)), fields, kept)


def check_threshold(threshold: Any) -> None:
    """Raise if the review threshold is not a probability."""
    wrong = isinstance(threshold, bool) or not isinstance(threshold, int | float)
    if wrong or not 0 <= threshold <= 1:
        expected = "a probability, 0 to 1"
        raise InvalidInput(message("threshold", threshold, expected, "pass for example 0.9"))


def _check_table(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        expected = "the name of a table: printable characters"
        raise InvalidInput(message("table", name, expected, OTHER_TABLE))
    if name.lower() == LOADS or len(name.encode("utf-8", "replace")) > LONGEST:
        expected = f"a name of at most {LONGEST} bytes other than {LOADS}"
        raise InvalidInput(message("table", name, expected, OTHER_TABLE))


def _free(name: str, suffix: str, taken: set[str]) -> str:
    """Return an unused name: unchanged, with a suffix, or with a number."""
    bare = "".join(c if c.isprintable() else "_" for c in storable(name)).strip() or "unnamed"
    tails = itertools.chain(("", suffix), (f"{suffix}_{k}" for k in itertools.count(2)))
    tried = (_cut(bare, tail) for tail in tails)
    return next(one for one in tried if one.lower() not in taken)


def _cut(name: str, tail: str) -> str:
    """Return a name with a suffix, truncated to the limit of databases."""
    if len((name + tail).encode()) <= LONGEST:
        return name + tail
    mark = "_" + hashlib.blake2b(name.encode(), digest_size=3).hexdigest() + tail
    return name.encode()[: LONGEST - len(mark.encode())].decode("utf-8", "ignore") + mark


def storable(text: str) -> str:
    r"""Replace null characters and lone surrogates, which databases cannot store.

    Its length stays, so that places in it stay.

    Examples
    --------
    >>> storable("a\0b") == "a\ufffdb"
    True
    """
    if text.isascii():
        return text.replace("\0", "\ufffd")
    if "\0" in text:
        text = text.translate(_REPLACED)
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def row_id(source: str, item: Item) -> str:
    """Return the id of a row: a hash of input, record, part and text.

    Examples
    --------
    >>> row_id("a.csv", Item("7", 1, "Codd 1970", {}))
    '06ed77e9cd8dcbda3f3a9d26a3db917f'
    """
    key = json.dumps([source, item.record, item.part, item.text])
    return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


def rows_of(
    layout: Layout, keyed: Mapping[str, Item], records: Sequence[Record], stamp: Stamp
) -> Cells:
    """Return the rows of strings by row id, as columns."""
    items, n = list(keyed.values()), len(keyed)
    cells: Cells = {column.name: [None] * n for column in layout.table.columns}
    cells |= {
        "row_id": list(keyed),
        "source": [stamp.source] * n,
        "record": [storable(item.record) for item in items],
        "part": [item.part for item in items],
        "text": [storable(item.text) for item in items],
        "model_name": [stamp.model_name] * n,
        "model_version": [stamp.model_version] * n,
        "probability": [record.probability for record in records],
    }
    for name, column in layout.carried.items():
        cells[column.name] = [item.carried.get(name) for item in items]
    places = {label: _Lists(cells, field) for label, field in layout.fields.items()}
    segments, review = cells["segments"], cells["review"]
    for i, record in enumerate(records):
        segments[i] = _fill(places, i, record)
        review[i] = doubtful(record, stamp.threshold)
    return cells


def doubtful(record: Record, threshold: float) -> bool:
    """Return whether a record needs review: a field is uncertain, or there is none."""
    return not record.fields or any(
        value.probability is None or value.probability < threshold for _, value in record.fields
    )


class _Lists:
    """The column lists of a label."""

    __slots__ = ("chance", "end", "start", "text", "value")

    def __init__(self, cells: Cells, field: Field) -> None:
        self.value, self.chance = cells[field.value], cells[field.probability]
        self.start, self.end = cells[field.start], cells[field.end]
        self.text = None if field.verbatim is None else cells[field.verbatim]


def _fill(places: Mapping[str, _Lists], i: int, record: Record) -> str:
    """Fill the label columns of one row, and return its segments as JSON."""
    found = []
    for label, (text, start, end, chance, value) in record.fields:
        shown = None if value is None else storable(str(value))
        found.append(
            {"label": label, "start": start, "end": end, "probability": chance, "value": shown}
        )
        to = places[label]
        to.end[i] = end
        if to.start[i] is None:  # the first segment with this label
            to.value[i], to.chance[i], to.start[i] = shown, chance, start
            if to.text is not None:
                to.text[i] = storable(text)
            continue
        both = [one for one in (to.value[i], shown) if one is not None]
        to.value[i] = BETWEEN.join(both) if both else None
        to.chance[i] = min((x for x in (to.chance[i], chance) if x is not None), default=None)
        if to.text is not None:
            to.text[i] += BETWEEN + storable(text)
    return orjson.dumps(found).decode()
