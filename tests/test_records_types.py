"""Carried columns keep their types: dates, times, timestamps, decimals and large numbers."""

import itertools
import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy
import openpyxl
import pandas
import polars
import pyarrow
import pyarrow.parquet as pq
import pytest
import sqlalchemy
from cli_data import good
from hypothesis import given, settings
from hypothesis import strategies as st
from load_cases import KINDS, model, query, rows, texts

from caesura import InvalidInput
from caesura.corpora.kinds import as_text, converted, kind_of, settled, united
from caesura.records import Progress, load
from caesura.records.inputs import Reading, input_of
from caesura.records.sink_sqlalchemy import SQLAlchemySink
from caesura.records.sinks import Column, Table
from caesura.scale import load_files

BERLIN = timezone(timedelta(hours=1))
VALUES: dict[str, list[Any]] = {
    "day": [date(2020, 2, 1), date(1, 1, 1), None],
    "clock": [time(10, 11, 12), time(23, 59, 59, 999999), None],
    "seen": [datetime(2020, 2, 1, 10, 30), datetime(1969, 7, 20, 20, 17, 40, 5), None],
    "sent": [
        datetime(2020, 2, 1, 10, 30, tzinfo=BERLIN),
        datetime(2020, 7, 1, 0, 0, 0, 7, tzinfo=UTC),
        None,
    ],
    "price": [Decimal("1.10"), Decimal("-12345678901234567890.25"), None],
    "big": [2**64, -(10**30), None],
    "ok": [True, False, None],
}
TYPES = {
    "duckdb": {
        "day": "DATE",
        "clock": "TIME",
        "seen": "TIMESTAMP",
        "sent": "TIMESTAMP WITH TIME ZONE",
        "price": "DECIMAL(38,2)",
        "big": "DECIMAL(38,0)",
        "ok": "BOOLEAN",
    },
    "postgresql": {
        "day": "date",
        "clock": "time without time zone",
        "seen": "timestamp without time zone",
        "sent": "timestamp with time zone",
        "price": "numeric",
        "big": "numeric",
        "ok": "boolean",
    },
    "sqlite": {**dict.fromkeys(("day", "clock", "seen", "sent", "price", "big"), "TEXT")},
}
TYPES["parquet"] = TYPES["duckdb"]
TYPES["sqlalchemy"] = TYPES["sqlite"]
TEXTS = {  # in columns of text
    "day": ["2020-02-01", "0001-01-01"],
    "clock": ["10:11:12", "23:59:59.999999"],
    "seen": ["2020-02-01 10:30:00", "1969-07-20 20:17:40.000005"],
    "sent": ["2020-02-01 09:30:00+00:00", "2020-07-01 00:00:00.000007+00:00"],
    "price": ["1.10", "-12345678901234567890.25"],
    "big": [str(2**64), str(-(10**30))],
}


def records(count: int = 3) -> list[dict[str, Any]]:
    """Return records whose columns have all types; every third has no values."""
    found = texts(count)
    return [
        {"text": text, "n": i, **{name: some[i % 3] for name, some in VALUES.items()}}
        for i, text in enumerate(found)
    ]


def decimals(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with large whole numbers as decimals, as Arrow has them."""
    return [one | {"big": None if one["big"] is None else Decimal(one["big"])} for one in data]


def place(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if kind == "postgresql":
        return str(request.getfixturevalue("postgres"))
    if kind == "sqlalchemy":
        return f"sqlite+pysqlite:///{folder}/target.sqlite3"
    suffix = {"duckdb": "duckdb", "sqlite": "db", "parquet": "parquet"}[kind]
    return str(folder / f"target.{suffix}")


def types_of(kind: str, into: str) -> dict[str, str]:
    """Return the types of the columns, as the database calls them."""
    if kind == "postgresql":
        asked = "SELECT column_name, data_type FROM information_schema.columns"
        return {one["column_name"]: one["data_type"] for one in query(into, asked)}
    if kind in ("sqlite", "sqlalchemy"):
        with sqlite3.connect(into.removeprefix("sqlite+pysqlite:///")) as lite:
            return dict(lite.execute("SELECT name, type FROM pragma_table_info('records')"))
    asked = "records" if kind == "duckdb" else f"read_parquet('{into}/*.parquet')"
    with duckdb.connect(into if kind == "duckdb" else ":memory:") as connection:
        found = connection.execute(f"DESCRIBE SELECT * FROM {asked}").fetchall()
        return {name: type_ for name, type_, *_ in found}


def carried(into: str) -> list[dict[str, Any]]:
    """Return the carried values of the stored rows, in the order of the input."""
    found = sorted(rows(into), key=lambda row: int(row["record"]))
    return [{name: row[name] for name in VALUES} for row in found]


def expected(kind: str, count: int = 3) -> list[dict[str, Any]]:
    """Return the carried values as a database should have them."""
    whole = [{name: one[name] for name in VALUES} for one in records(count)]
    if kind in ("sqlite", "sqlalchemy"):
        for i, row in enumerate(whole):
            row |= {name: some[i % 3] if i % 3 < 2 else None for name, some in TEXTS.items()}
    return whole


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def into(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return place(kind, tmp_path, request)


# -- targets -------------------------------------------------------------------------------------


def test_types_are_kept_and_a_second_load_writes_nothing(kind: str, into: str) -> None:
    assert load(model(), records(), into).written == 3
    assert carried(into) == expected(kind)
    found = types_of(kind, into)
    assert {name: found[name] for name in TYPES[kind]} == TYPES[kind]
    before = rows(into)
    assert load(model(), records(), into).written == 0
    assert rows(into) == before
    assert load(model(), records(7), into).written == 4  # the input has grown
    assert carried(into) == expected(kind, 7)


def test_a_load_that_was_stopped_goes_on_with_types(kind: str, into: str) -> None:
    def stop(progress: Progress) -> None:
        if progress.records == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(model(), records(9), into, batch=2, progress=stop)
    assert load(model(), records(9), into, batch=2).written == 5
    assert carried(into) == expected(kind, 9)


def test_tables_that_have_text_keep_it(kind: str, into: str) -> None:
    """As tables of earlier versions do, in which these columns were text."""
    old = [
        {**one, **{name: some[i] for name, some in TEXTS.items()}}
        for i, one in enumerate(records(2))
    ]
    load(model(), old, into, source_name="old")
    before = types_of(kind, into)
    assert load(model(), records(2), into, source_name="new").written == 2
    assert types_of(kind, into) == before
    found = [{name: row[name] for name in TEXTS} for row in rows(into)]
    wanted = [{name: some[i] for name, some in TEXTS.items()} for i in (0, 1)]
    assert sorted(found, key=str) == sorted([*wanted, *wanted], key=str)
    assert load(model(), records(2), into, source_name="new").written == 0


def test_workers_write_the_rows_of_a_plain_load(
    kind: str, into: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    source = tmp_path / "in.parquet"
    pq.write_table(pyarrow.Table.from_pylist(decimals(records(5))), source)
    model().save(tmp_path / "m.model")
    done = load_files(tmp_path / "m.model", [source], into, folder=tmp_path / "parts")
    assert not done.failed
    assert carried(into) == expected(kind, 5)
    assert load(model(), source, into, model_name="m").written == 0


def test_what_would_lose_digits_is_refused(tmp_path: Path) -> None:
    into = tmp_path / "a.duckdb"
    one = {"text": "7 Park Lane, York", "price": Decimal("1.1"), "n": 1, "day": date(2020, 1, 1)}
    load(model(), [one], into, source_name="a")
    for name, value, wanted in (
        ("price", Decimal("1.25"), "decimal"),
        ("n", 0.5, "numbers"),
        ("day", datetime(2020, 1, 1, 10), "timestamp"),
    ):
        with pytest.raises(InvalidInput, match=rf"a column {name} of type .*one of {wanted}"):
            load(model(), [one | {name: value}], into, source_name="b")
    assert load(model(), [one | {"price": Decimal(3)}], into, source_name="b").written == 1


@pytest.mark.parametrize(
    ("type_", "wrong", "right"),
    [
        ("DECIMAL(38,2)", [1.23456, 1.5, Decimal("1.234")], [3, Decimal("1.5")]),
        ("HUGEINT", [1.55, Decimal("1.55")], [3, 2**64, Decimal(7)]),
        ("FLOAT", [123456789, Decimal("1.5")], [1.5]),
        ("DOUBLE", [Decimal("1.5")], [1.5, 123456789]),
    ],
)
def test_existing_columns_round_no_numbers(
    type_: str, wrong: list[Any], right: list[Any], tmp_path: Path
) -> None:
    into = tmp_path / "a.duckdb"
    one = {"text": "7 Park Lane, York", "p": "x"}
    load(model(), [one], into, source_name="a")
    with duckdb.connect(str(into)) as connection:
        connection.execute(f"ALTER TABLE records ALTER p TYPE {type_} USING NULL")
        connection.execute("DELETE FROM records")
    for value in wrong:
        with pytest.raises(InvalidInput, match=r"a column p of type .*expected one of "):
            load(model(), [one | {"p": value}], into, source_name="b")
    for k, value in enumerate(right):
        load(model(), [one | {"p": value}], into, source_name=f"c{k}")
    assert sorted(row["p"] for row in rows(str(into))) == sorted(right)


def test_numbers_that_sqlite_keeps_are_stored(tmp_path: Path) -> None:
    for number, type_ in enumerate(("DECIMAL(10,2)", "FLOAT", "INTEGER")):
        into, one = tmp_path / f"{number}.db", {"text": "7 Park Lane, York", "p": "x"}
        load(model(), [one], into, source_name="a")
        with sqlite3.connect(into) as lite:
            (made,) = lite.execute("SELECT sql FROM sqlite_master WHERE name='records'").fetchone()
            lite.execute("DROP TABLE records")
            lite.execute(made.replace('"p" TEXT', f'"p" {type_}'))
        for value in (1.23456, 123456789):
            load(model(), [one | {"p": value}], into, source_name=str(value))
        assert [row["p"] for row in rows(str(into))] == [1.23456, 123456789]


def test_columns_without_values_take_the_type_of_the_table(kind: str, into: str) -> None:
    load(model(), records(2), into, source_name="a")
    before = types_of(kind, into)
    empty = [{"text": text, "n": 1, **dict.fromkeys(VALUES)} for text in texts(2)]
    assert load(model(), empty, into, source_name="b").written == 2
    assert types_of(kind, into) == before
    assert [row["day"] for row in rows(into)].count(None) == 2
    assert load(model(), empty, into, source_name="b").written == 0


def test_columns_without_values_are_text_in_new_tables(kind: str, into: str) -> None:
    one = {"text": "7 Park Lane, York", "paid": None}
    load(model(), [one], into, source_name="a")
    load(model(), [one | {"paid": "2020-01-01"}], into, source_name="b")
    assert {row["paid"] for row in rows(into)} == {None, "2020-01-01"}


@pytest.mark.parametrize("suffix", ["duckdb", "parquet"])
@pytest.mark.parametrize("source", ["excel", "parquet", "arrow"])
def test_files_with_a_column_without_values(suffix: str, source: str, tmp_path: Path) -> None:
    into = tmp_path / f"target.{suffix}"
    one: dict[str, Any] = {"text": "7 Park Lane, York", "paid": date(2020, 1, 1)}
    load(model(), [one], into, source_name="a")
    given = SOURCES[source]([one | {"paid": None}], tmp_path)
    assert load(model(), given, into, source_name="b").written == 1
    assert {row["paid"] for row in rows(str(into))} == {None, date(2020, 1, 1)}


def test_workers_write_columns_without_values(tmp_path: Path) -> None:
    into, source = tmp_path / "a.duckdb", tmp_path / "in.jsonl"
    load(model(), [{"text": "7 Park Lane, York", "paid": date(2020, 1, 1)}], into)
    source.write_text('{"text": "8 Park Lane, York", "paid": null}\n')
    model().save(tmp_path / "m.model")
    done = load_files(tmp_path / "m.model", [source], into, folder=tmp_path / "parts")
    assert not done.failed
    assert {row["paid"] for row in rows(str(into))} == {None, date(2020, 1, 1)}


def test_late_values_of_an_empty_column_must_fit(tmp_path: Path) -> None:
    """An iterator is read once, so that its kinds are those of its first records."""
    load(model(), [{"text": texts(1)[0], "paid": date(2020, 1, 1)}], tmp_path / "a.duckdb")
    late = [{"text": text, "paid": None} for text in texts(1000)]
    late.append({"text": "1 New Road, York", "paid": "soon"})
    with pytest.raises(InvalidInput, match=r"paid: got 'soon', expected .*holds \(date\)"):
        load(model(), iter(late), tmp_path / "a.duckdb", source_name="b")


def test_decimals_of_a_folder_take_whole_numbers(tmp_path: Path) -> None:
    into = tmp_path / "a.parquet"
    one: dict[str, Any] = {"text": "7 Park Lane, York", "p": Decimal("1.10")}
    load(model(), [one], into, source_name="a")
    for value in (3, Decimal("1.5"), None):
        load(model(), [one | {"p": value}], into, source_name=str(value))
    found = {row["p"] for row in rows(str(into))}
    assert found == {Decimal("1.10"), Decimal(3), Decimal("1.5"), None}
    with pytest.raises(InvalidInput, match=r"decimal128\(38, 2\) instead of double"):
        load(model(), [one | {"p": 1.5}], into, source_name="b")
    with pytest.raises(InvalidInput, match=r"p: got .*10{37}.*, expected .*decimal\(38,2\)"):
        load(model(), [one | {"p": 10**37}], into, source_name="b")


def test_numbers_of_a_folder_take_whole_numbers_that_they_hold(tmp_path: Path) -> None:
    into = tmp_path / "a.parquet"
    one: dict[str, Any] = {"text": "7 Park Lane, York", "p": 1.5}
    load(model(), [one], into, source_name="a")
    assert load(model(), [one | {"p": 3}], into, source_name="b").written == 1
    with pytest.raises(InvalidInput, match=r"p: got \d+, expected .*\(number\)"):
        load(model(), [one | {"p": 2**60 + 1}], into, source_name="c")


def test_parquet_files_with_another_type_are_refused(tmp_path: Path) -> None:
    one = {"text": "7 Park Lane, York", "price": Decimal("1.1")}
    load(model(), [one], tmp_path / "a.parquet", source_name="a")
    words = r"a column price of type decimal128\(38, 1\) instead of decimal128\(38, 2\)"
    with pytest.raises(InvalidInput, match=words):
        load(model(), [one | {"price": Decimal("1.25")}], tmp_path / "a.parquet")


def test_types_of_other_databases() -> None:
    """None is at hand; the statement shows that fractions of seconds and digits are kept."""
    from sqlalchemy.dialects import mysql

    kinds = ("text", "decimal(38,2)", "date", "time", "timestamp", "instant")
    table = Table("t", tuple(Column(f"c{k}", one) for k, one in enumerate(("text", *kinds))))
    made = SQLAlchemySink("sqlite+pysqlite://")._described(table, sqlalchemy.MetaData())
    said = str(sqlalchemy.schema.CreateTable(made).compile(dialect=mysql.dialect()))
    for type_ in ("LONGTEXT", "NUMERIC(38, 2)", "DATE", "TIME(6)", "DATETIME(6)"):
        assert f" {type_}" in said


# -- sources -------------------------------------------------------------------------------------


def excel(data: list[dict[str, Any]], folder: Path) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in ([*data[0]], *([*one.values()] for one in data)):
        sheet.append(row)
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def parquet(data: list[dict[str, Any]], folder: Path) -> Path:
    pq.write_table(pyarrow.Table.from_pylist(data), folder / "a.parquet")
    return folder / "a.parquet"


SOURCES: dict[str, Callable[[list[dict[str, Any]], Path], Any]] = {
    "list": lambda data, _: data,
    "iterator": lambda data, _: iter(data),
    "pandas": lambda data, _: pandas.DataFrame(data),
    "polars": lambda data, _: polars.DataFrame(data),
    "lazy": lambda data, _: polars.LazyFrame(data),
    "arrow": lambda data, _: pyarrow.Table.from_pylist(data),
    "duckdb": lambda data, _: duckdb.from_arrow(pyarrow.Table.from_pylist(data)),
    "parquet": parquet,
    "excel": excel,
}


@pytest.mark.parametrize("source", SOURCES)
def test_all_sources_keep_types(source: str, tmp_path: Path) -> None:
    data = records()
    if source == "excel":  # it has no zones, and numbers only with 15 digits
        data = [{k: v for k, v in one.items() if k not in ("sent", "price", "big")} for one in data]
        data[1]["seen"] = datetime(1969, 7, 20, 20, 17, 40)  # seconds are a fraction of a day
        data[1]["clock"] = time(23, 59, 59)
        data[1]["day"] = date(1970, 1, 1)
    elif source == "polars":
        data[1]["price"] = Decimal("-12345678.25")
    if source in ("polars", "lazy", "pandas", "arrow", "duckdb", "parquet"):
        data = decimals(data)
    into = tmp_path / "a.duckdb"
    load(model(), SOURCES[source](data, tmp_path), into, text_column="text")
    found = sorted(rows(str(into)), key=lambda row: int(row["record"]))
    assert [{name: row[name] for name in one} for row, one in zip(found, data, strict=True)] == data
    types = types_of("duckdb", str(into))
    assert {name: types[name] for name in TYPES["duckdb"] if name in data[0]} == {
        name: type_ for name, type_ in TYPES["duckdb"].items() if name in data[0]
    }


def test_unsigned_numbers_and_other_units(tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "text": ["a b"],
            "u": pyarrow.array([2**64 - 1], pyarrow.uint64()),
            "ms": pyarrow.array([5], pyarrow.timestamp("ms")),
            "s": pyarrow.array([5], pyarrow.time32("s")),
            "long": pyarrow.array([86_400_000], pyarrow.date64()),
            "wide": pyarrow.array([Decimal(10) ** 45], pyarrow.decimal256(50, 1)),
            "tens": pyarrow.array([Decimal(1200)], pyarrow.decimal128(5, -2)),
        }
    )
    given = input_of(table, Reading())
    assert given.columns == {
        "u": "decimal(38,0)",
        "ms": "timestamp",
        "s": "time",
        "long": "date",
        "wide": "text",
        "tens": "decimal(38,0)",
    }
    load(model(), table, tmp_path / "a.duckdb")
    [row] = rows(str(tmp_path / "a.duckdb"))
    assert (row["u"], row["ms"]) == (2**64 - 1, datetime(1970, 1, 1, 0, 0, 0, 5000))
    assert (row["s"], row["long"], row["tens"]) == (time(0, 0, 5), date(1970, 1, 2), 1200)
    assert row["wide"] == f"{10**45}.0"


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_nanoseconds_are_not_lost(form: str, tmp_path: Path) -> None:
    """A column that has some becomes text, others keep their type."""
    fine = pyarrow.array([5_000, 1_234_567], pyarrow.timestamp("ns"))
    plain = pyarrow.array([5_000, 1_234_000], pyarrow.timestamp("ns", "Europe/Berlin"))
    clock = pyarrow.array([1, None], pyarrow.time64("ns"))
    hour = pyarrow.array([3_600 * 10**9, None], pyarrow.time64("ns"))
    columns = {"text": ["a b", "c d"], "fine": fine, "plain": plain, "clock": clock, "hour": hour}
    table: Any = pyarrow.table(columns)
    if form == "parquet":
        pq.write_table(table, tmp_path / "a.parquet")
        table = tmp_path / "a.parquet"
    load(model(), table, tmp_path / "a.duckdb")
    found = sorted(rows(str(tmp_path / "a.duckdb")), key=lambda row: str(row["record"]))
    assert [row["fine"] for row in found] == [
        "1970-01-01 00:00:00.000005000",
        "1970-01-01 00:00:00.001234567",
    ]
    assert found[1]["plain"] == datetime(1970, 1, 1, 0, 0, 0, 1234, UTC)
    assert [row["clock"] for row in found] == ["00:00:00.000000001", None]
    assert [row["hour"] for row in found] == [time(1), None]


def test_pandas_values_in_dicts() -> None:
    stamp = pandas.Timestamp("2020-02-01 10:30")
    data = [
        {"text": "a", "seen": stamp, "fine": pandas.Timestamp("2020-02-01 10:30:00.000000001")},
        {"text": "b", "seen": pandas.NaT, "fine": None},
    ]
    found = input_of(data, Reading())
    assert found.columns == {"seen": "timestamp", "fine": "text"}
    first, second = found
    assert first.carried["seen"] == datetime(2020, 2, 1, 10, 30)
    assert type(first.carried["seen"]) is datetime
    assert first.carried["fine"] == "2020-02-01 10:30:00.000000001"
    assert second.carried["seen"] is None


def test_mixed_values_become_what_holds_all() -> None:
    aware = datetime(2020, 1, 1, tzinfo=UTC)
    pairs = {
        "a": (date(2020, 1, 1), datetime(2020, 1, 1, 10)),
        "b": (datetime(2020, 1, 1), aware),
        "c": (3, Decimal("0.25")),
        "d": (0.5, Decimal("0.25")),
        "e": (date(2020, 1, 1), "soon"),
        "f": (10**37, Decimal("0.25")),
        "g": (time(1), time(1, tzinfo=UTC)),
    }
    data = [{"text": "x", **{k: two[i] for k, two in pairs.items()}} for i in (0, 1)]
    found = input_of(data, Reading())
    assert found.columns == {
        **dict.fromkeys("bdefg", "text"),
        "a": "timestamp",
        "c": "decimal(38,2)",
    }
    first = next(iter(found)).carried
    assert (first["a"], first["c"]) == (datetime(2020, 1, 1), Decimal("3.00"))
    assert (first["b"], first["e"]) == ("2020-01-01 00:00:00", "2020-01-01")


def test_iterators_name_the_value_that_does_not_fit() -> None:
    head = [{"text": "a", "price": Decimal("1.5")}] * 1000
    assert len(list(input_of(iter([*head, {"text": "b", "price": 10**20}]), Reading()))) == 1001
    for wrong in (Decimal("1.25"), date(2020, 1, 1), 10**38):
        with pytest.raises(InvalidInput, match=r"record 1001: got .* in column 'price'"):
            list(input_of(iter([*head, {"text": "b", "price": wrong}]), Reading()))


def test_numpy_values_are_text_as_before() -> None:
    [one] = input_of([{"text": "a", "n": numpy.datetime64("2020-01-01")}], Reading())
    assert one.carried == {"n": "2020-01-01"}


ANY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes(
        min_value=datetime(1900, 1, 1),
        max_value=datetime(2100, 1, 1),
        timezones=st.just(BERLIN),
    ),
)


@settings(max_examples=300)
@given(st.lists(ANY, min_size=1, max_size=4))
def test_every_column_has_a_kind_that_loses_nothing(values: list[Any]) -> None:
    """In any order; what is stored is equal, or the text of the value."""
    kinds = set()
    for some in itertools.permutations(values):
        kind = None
        for value in some:
            kind = united(kind, kind_of(value)) if kind != "text" else kind
        kinds.add(settled(kind))
    [kind] = kinds
    for value in values:
        stored = converted(value, kind)
        if value is None:
            assert stored is None
        elif kind == "text":
            assert isinstance(stored, str)
        elif kind == "number":
            assert stored == float(value)
        elif kind == "timestamp":
            assert stored in (value, datetime.combine(value, time()))
        else:
            assert stored == value
        assert as_text(stored) is None or isinstance(as_text(stored), str)


# -- tables of segment ---------------------------------------------------------------------------


def test_tables_of_segment_keep_dates_with_timestamps(tmp_path: Path) -> None:
    """Excel has midnight as a date; Arrow alone would make dates of all of them."""
    moments = [datetime(2020, 1, 1), datetime(2020, 1, 2, 10)]
    data = [{"text": text, "at": at} for text, at in zip(texts(2), moments, strict=True)]
    model().save(tmp_path / "m.model")
    good("segment", tmp_path / "m.model", excel(data, tmp_path), "-o", tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "b.parquet")["at"].to_pylist() == moments


def test_tables_of_segment_keep_all_digits_in_excel(tmp_path: Path) -> None:
    prices = [Decimal("1.5"), Decimal("12345678901234567.25")]
    data = [{"text": text, "price": one} for text, one in zip(texts(2), prices, strict=True)]
    model().save(tmp_path / "m.model")
    good("segment", tmp_path / "m.model", parquet(data, tmp_path), "-o", tmp_path / "b.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "b.xlsx").worksheets[0]
    found = list(sheet.iter_rows(values_only=True))
    assert [row[found[0].index("price")] for row in found[1:]] == [1.5, "12345678901234567.25"]
