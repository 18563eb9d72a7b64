"""What can be loaded: files, tables, data in memory; strings that hold several records."""

import gzip
import io
import json
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from load_cases import model, rows, texts

from caesura import InvalidInput
from caesura.records import load, split_records
from caesura.records.inputs import Entry, Reading, input_of

TABLE: list[dict[str, Any]] = [
    {"sku": "a1", "title": "12 High Street, Leeds", "price": 2.5, "n": 3, "ok": True},
    {"sku": "b2", "title": "7 Park Lane, York", "price": None, "n": 4, "ok": False},
]
TYPED = {"sku": "text", "price": "number", "n": "integer", "ok": "boolean"}


def read(source: Any, **more: Any) -> list[Entry]:
    return list(input_of(source, Reading(**more)))


# -- forms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [list, pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table.from_pylist, iter],
    ids=["list", "pandas", "polars", "lazy", "arrow", "iterator"],
)
def test_data_in_memory(made: Callable[[Any], Any]) -> None:
    found = input_of(made(TABLE), Reading())
    assert (found.text, found.guessed) == ("title", True)
    assert found.columns == TYPED
    assert [entry.text for entry in found] == [one["title"] for one in TABLE]


@pytest.mark.parametrize(
    ("cells", "kind", "stored"),
    [
        ([1, "a"], "text", ["1", "a"]),
        ([2**70, 1], "decimal(38,0)", [Decimal(2**70), Decimal(1)]),
        ([{"a": 1}, [2]], "text", ['{"a": 1}', "[2]"]),
        ([1j, None], "text", ["1j", None]),
        ([{1}, "a"], "text", ["{1}", "a"]),
        (pandas.period_range("2020-01", periods=2, freq="M"), "text", ["2020-01", "2020-02"]),
        (pandas.arrays.SparseArray([0, 1]), "integer", [0, 1]),
    ],
)
def test_columns_of_pandas_without_an_arrow_type(cells: Any, kind: str, stored: list[Any]) -> None:
    found = input_of(pandas.DataFrame({"text": ["Leeds", "York"], "x": cells}), Reading())
    assert found.columns == {"x": kind}
    assert [entry.carried["x"] for entry in found] == stored


def test_columns_of_polars_without_an_arrow_type() -> None:
    cells = {"x": polars.Series([{1}, None], dtype=polars.Object)}
    cells["y"] = polars.Series([2**70, 1], dtype=polars.Int128)
    first, second = read(polars.DataFrame({"text": ["Leeds", "York"], **cells}))
    assert first.carried == {"x": "{1}", "y": Decimal(2**70)}
    assert second.carried == {"x": None, "y": Decimal(1)}


@pytest.mark.parametrize(
    "made",
    [pandas.Series, polars.Series, pyarrow.array, lambda some: pyarrow.chunked_array([some])],
)
def test_series_are_lists_of_texts(made: Callable[[Any], Any]) -> None:
    assert [entry.text for entry in read(made(["Leeds", "York"]))] == ["Leeds", "York"]


def test_columns_of_the_same_name_are_refused() -> None:
    frame = pandas.DataFrame([["Leeds", 1, 2]], columns=["text", "x", "x"])
    cells = [pyarrow.array(frame.iloc[:, k]) for k in range(3)]
    for made in (frame, pyarrow.table(cells, names=list(frame.columns))):
        with pytest.raises(InvalidInput, match="got 'x', expected unique column names; rename"):
            read(made)


def test_values_without_a_type_in_databases_become_text() -> None:
    cells = {
        "span": timedelta(days=3),
        "raw": b"\x00\xff",
        "tags": ["a", None],
        "nested": {"raw": b"\x01", "day": date(2020, 2, 1)},
    }
    [entry] = input_of(pyarrow.Table.from_pylist([{"text": "a b", **cells}]), Reading())
    assert entry.carried == {
        "span": "3 days, 0:00:00",
        "raw": "00ff",
        "tags": '["a", null]',
        "nested": '{"raw": "01", "day": "2020-02-01"}',
    }


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.jsonl.gz", "a.xlsx"])
def test_files_with_types(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    lines = "".join(json.dumps(one) + "\n" for one in TABLE)
    if name == "a.parquet":
        pq.write_table(pyarrow.Table.from_pylist(TABLE), path)
    elif name == "a.xlsx":
        pandas.DataFrame(TABLE).to_excel(path, index=False)
    elif name.endswith("gz"):
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        path.write_text(lines)
    found = input_of(path, Reading())
    assert found.columns == TYPED
    assert [(entry.id, entry.carried["price"]) for entry in found] == [("1", 2.5), ("2", None)]
    assert list(found) == list(found)


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")])
def test_csv(name: str, mark: str, tmp_path: Path) -> None:
    path = tmp_path / name
    cells = [["sku", "text"], ["a1", '"12 High Street, Leeds"'], ["b2", '"7 ""Park""\nLane"']]
    path.write_text("\n".join(mark.join(row) for row in cells) + "\n")
    found = read(path, id="sku")
    assert [(one.id, one.text) for one in found] == [
        ("a1", "12 High Street, Leeds"),
        ("b2", '7 "Park"\nLane'),
    ]
    assert found[0].carried == {"sku": "a1"}


def test_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("7 Park Lane\r\n\n3 Müll Road".encode("latin-1"))
    assert [one.text for one in read(path, encoding="latin-1")] == ["7 Park Lane", "3 Müll Road"]
    fake = io.TextIOWrapper(io.BytesIO(b"1 Low Street\n2 Low Street\n"))
    monkeypatch.setattr("sys.stdin", fake)
    again = input_of("-", Reading())
    assert [one.text for one in again] == [one.text for one in again]
    assert again.name == "standard input"


def test_other_values_become_text() -> None:
    data = [{"text": "a", "tags": [1, 2], "huge": 10**38, "odd": Decimal("NaN")}]
    [one] = read(data)
    assert one.carried == {"tags": "[1, 2]", "huge": str(10**38), "odd": "NaN"}


def test_long_numbers_of_json_keep_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "a", "n": {2**63 - 1}, "big": {10**25 + 1}}}\n')
    [one] = read(path)
    assert one.carried == {"n": 2**63 - 1, "big": 10**25 + 1}
    path.write_text(f'{{"text": "a", "n": {10**25}, "x": NaN}}\n{{"text": "b"}}\n')
    with pytest.raises(InvalidInput, match="line 1: got invalid JSON"):
        read(path)


def test_columns_of_mixed_kinds_become_text_or_numbers() -> None:
    data = [{"text": "a", "x": 1, "y": 1, "z": True}, {"text": "b", "x": 0.5, "y": "n/a", "z": 3}]
    found = input_of(data, Reading())
    assert found.columns == {"x": "number", "y": "text", "z": "text"}
    assert [entry.carried["y"] for entry in found] == ["1", "n/a"]


def test_only_some_columns_are_kept(tmp_path: Path) -> None:
    into = tmp_path / "a.db"
    load(model(), TABLE, into, text_column="title", carry=["price"])
    row = rows(str(into))[0]
    assert "price" in row
    assert "sku" not in row


def test_a_column_that_clearly_is_the_text() -> None:
    assert input_of([{"id": "1", "Text": "a"}], Reading()).text == "Text"
    assert input_of([{"only": "a"}], Reading()).text == "only"


# -- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "more", "words"),
    [
        (7, {}, "source: got 7, expected a file, a DataFrame"),
        ({"text": "a"}, {}, "source: got"),
        (["a", 3], {}, r"source\[1\]: got 3, expected a text"),
        ("no.txt", {}, "no.txt: no such file"),
        (
            TABLE,
            {"text": "titel"},
            "data: text_column: got 'titel', expected one of the columns 'sku'",
        ),
        (TABLE, {"id": "key"}, "id_column: got 'key'"),
        (TABLE, {"carry": ["key"]}, "carry: got 'key'"),
        (
            [{"a": "xx", "b": "yy"}],
            {},
            "data: text_column: got the columns 'a', 'b', expected the name",
        ),
        ([{"text": 3, "n": 1}], {}, "record 1: got 3 in column 'text', expected a text"),
        ([{"text": "a", "k": None}], {"id": "k"}, "record 1: got nothing in column 'k'"),
    ],
)
def test_inputs_that_cannot_be(source: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read(source, **more)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.doc", b"x", "expected a name that ends in .txt, .csv"),
        ("a.csv", b"a,a\n1,2\n", "line 1: columns: got 'a', expected unique"),
        ("a.csv", b"text,b\n1,2,3\n", "line 2: got 3 cells, expected 2"),
        ("a.csv", b'text,b\n"1,2\n', "line 2: got a row that ends wrong"),
        ("a.jsonl", b'{"text": "a"}\n{"text"\n', "line 2: got invalid JSON"),
        ("a.jsonl", b"[1]\n", "line 1: got \\[1\\], expected an object"),
        ("a.txt", b"ok\n\xff\n", "line 2: got bytes that are not utf-8"),
        ("a.parquet", b"PAR1 no", "give a file of Parquet"),
    ],
)
def test_files_that_cannot_be_read(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path / name)


def test_records_that_cannot_be_read_are_skipped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,b\n1 Low Street,2\n1,2,3\n2 Low Street,4\n")
    into = tmp_path / "a.db"
    done = load(model(), tmp_path / "a.csv", into, on_error="skip")
    assert (done.records, done.skipped) == (2, 1)
    assert {row["record"] for row in rows(str(into))} == {"1", "3"}
    assert load(model(), tmp_path / "a.csv", into, on_error="skip").written == 0


def test_an_iterator_with_new_columns_late() -> None:
    data = iter([{"text": "a"}] * 1000 + [{"text": "b", "new": 1}])
    with pytest.raises(InvalidInput, match=r"record 1001: got the columns \['new'\]"):
        read(data)


@pytest.mark.parametrize(
    "more",
    [
        {"batch": 0},
        {"threshold": 1.5},
        {"threshold": "x"},
        {"wait": -1},
        {"on_error": "x"},
        {"carry": "ab"},
        {"split": "words"},
        {"format": "xml"},
    ],
)
def test_arguments_that_cannot_be(more: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(texts(2)))
    [name] = more
    with pytest.raises(InvalidInput, match=f"{name}: got"):
        load(model(), tmp_path / "a.txt", tmp_path / "a.db", **more)
    assert not (tmp_path / "a.db").exists()


def test_models_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="model: got"):
        load(object(), ["a"], tmp_path / "a.db")


# -- several records in a string -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[1] A. [2] B.", ["A.", "B."]),
        ("[7] A, see [3]. [8] B [9] C", ["A, see [3].", "B", "C"]),
        ("1. A\n2. B,\n   more\n3. C", ["A", "B,\n   more", "C"]),
        ("(1) A\n(2) B", ["A", "B"]),
        ("1) A\n\n2) B\n", ["A", "B"]),
        ("- A\n- B", ["A", "B"]),
        ("1. A\n2. B\n3. Date\n5. Chen\n6. Lee", ["A", "B", "Date", "Chen", "Lee"]),
        ("[1] A\n[2] B, see [4].\n[4] D\n[5] E", ["A", "B, see [4].", "D", "E"]),
        ("[1] A [2] B, see [4].", ["A", "B, see [4]."]),
        ("1. A\n2. B, vol.\n4. p. 3\n3. C\n4. D", ["A", "B, vol.\n4. p. 3", "C", "D"]),
        ("12. High Street\n14. Park Lane", ["12. High Street\n14. Park Lane"]),
        ("1. A\n2. B,\n99. C", ["A", "B,\n99. C"]),
        ("References\n[1] A\n[2] B", ["A", "B"]),
        ("## Works Cited:\n\n1. A\n2. B", ["A", "B"]),
        ("References\n- A\n- B", ["A", "B"]),
        ("Smith House\n(1) A\n(2) B", ["Smith House\n(1) A\n(2) B"]),
        ("A\nB", ["A\nB"]),
        ("[1] A", ["[1] A"]),
        ("A [1] and B [2] C", ["A [1] and B [2] C"]),
        ("12. High Street\n7. Park Lane", ["12. High Street\n7. Park Lane"]),
        ("1998. A\nB", ["1998. A\nB"]),
        ("", [""]),
    ],
)
def test_lists_are_split_where_they_are_clear(text: str, parts: list[str]) -> None:
    assert split_records(text) == parts


def test_other_ways_to_split() -> None:
    text = "A\nB\n\nC"
    assert split_records(text, "lines") == ["A", "B", "C"]
    assert split_records(text, "paragraphs") == ["A\nB", "C"]
    assert split_records(text, "none") == [text]
    assert split_records("A;B", lambda one: one.split(";")) == ["A", "B"]
    with pytest.raises(InvalidInput, match="split: got 'AB'"):
        split_records("A", lambda one: "AB")
    with pytest.raises(InvalidInput, match="text: got 3"):
        split_records(3)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(st.lists(st.text("ab .,", min_size=1, max_size=8).map(str.strip).filter(bool), min_size=2))
def test_a_list_that_is_written_is_read_again(items: list[str]) -> None:
    for form in ("[{}] {}", "({}) {}", "{}. {}", "{}) {}"):
        text = "\n".join(form.format(k, item) for k, item in enumerate(items, 3))
        assert split_records(text) == items


# -- headers and missing texts -------------------------------------------------------------------


def test_a_table_with_nothing_but_a_header_has_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("sep=;\nid;text\n")
    found = input_of(file, Reading())
    assert (found.text, found.columns, list(found)) == ("text", {"id": "text"}, [])
    load(model(), file, tmp_path / "a.db")
    file.write_text("sep=;\nid;text\n7;12 High Street, Leeds\n")
    load(model(), file, tmp_path / "a.db")
    assert [row["id"] for row in rows(str(tmp_path / "a.db"))] == ["7"]


def test_a_record_without_the_column_of_the_text_is_refused(tmp_path: Path) -> None:
    given = [{"text": "Leeds"}, {"txt": "York"}, {"text": None}]
    with pytest.raises(InvalidInput, match=r"record 2: got \['txt'\], expected the column of the"):
        read(given)
    found = input_of(given, Reading(skip=True))
    assert [entry.text for entry in found] == ["Leeds", ""]
    assert found.n_skipped == 1


# -- compressed files ----------------------------------------------------------------------------


def test_a_compressed_file_has_no_count_of_lines(tmp_path: Path) -> None:
    file = tmp_path / "streets.txt.gz"
    file.write_bytes(gzip.compress(b"12 High Street, Leeds\n" * 9))
    assert input_of(file, Reading()).total is None


def test_reasons_of_skipped_records_are_returned(tmp_path: Path) -> None:
    file = tmp_path / "streets.jsonl.gz"
    lines = [json.dumps({"text": text}) for text in texts(2000)]
    packed = gzip.compress("\n".join(["{", *lines]).encode())
    file.write_bytes(packed[: len(packed) // 2])
    done = load(model(), file, tmp_path / "a.db", on_error="skip")
    assert done.skipped == len(done.reasons) == 2
    assert "line 1: got invalid JSON" in done.reasons[0]
    assert "damaged or cut off here" in str(done.damaged)
