"""From a table to a table on the command line: columns, formats, review, and learning again."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shlex
import sqlite3
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from cli_data import bad, good, records_of, run
from pyarrow import parquet

import caesura
from caesura import Segment, corpora
from caesura.cli.prediction_formats import Answer, Style
from caesura.cli.prediction_tables import write_table
from caesura.documents import Document

WORDS = {
    "brand": ["Fairphone", "Apple", "Samsung", "Nokia", "Google"],
    "model": ["A12", "iPhone 12", "Galaxy S21", "X20 Pro", "Pixel 8"],
    "storage": ["256 GB", "64 GB", "128 GB", "32 GB", "512 GB"],
    "colour": ["Black", "Red", "Blue", "Grey", "Green"],
}
LABELS = list(WORDS)


def products(n: int, shift: int = 0) -> list[dict[str, str]]:
    out = []
    for i in range(shift, shift + n):
        row = {
            label: some[(i * (k + 1) + i // 5) % 5] for k, (label, some) in enumerate(WORDS.items())
        }
        out.append(
            {"sku": f"SKU{1000 + i}", "title": " ".join(row.values()), **row, "price": f"{i}.90"}
        )
    return out


def put(path: Path, rows: list[dict[str, str]], columns: list[str], delimiter: str = ",") -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def table(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables")
    put(place / "train.csv", products(25), ["title", *LABELS])
    put(place / "new.csv", products(6, 40), ["sku", "title", "price"])
    good("train", place / "train.csv", "-o", place / "model", "--c2", 0.1, "-q")
    return place


# -- tables in -------------------------------------------------------------------------------------


def test_train_says_what_it_took_for_what(folder: Path, tmp_path: Path) -> None:
    ran = good("train", folder / "train.csv", "-o", tmp_path / "m", "-q", "--max-iterations", 2)
    assert "train.csv: text: title (guessed); labels: brand, model, storage, colour\n" in ran.err
    path = put(tmp_path / "semi.csv", products(9), ["sku", "title", *LABELS, "price"], ";")
    ran = good("train", path, "-o", tmp_path / "m", "-q", "--max-iterations", 2)
    assert "labels: brand, model, storage, colour; carried along: sku, price\n" in ran.err
    options = ["--text-column", "Title", "--labels", "brand,colour", "--delimiter", ";"]
    ran = good("train", path, "-o", tmp_path / "m", "-q", "--max-iterations", 2, *options)
    assert (
        "text: title; labels: brand, colour; carried along: sku, model, storage, price" in ran.err
    )
    assert caesura.load(tmp_path / "m").columns_ == ["brand", "colour"]


@pytest.mark.parametrize("phases", [("1", "2"), ("rest", "walk")])
def test_tables_of_numbers_are_read_in_python(tmp_path: Path, phases: tuple[str, str]) -> None:
    rows = [{"n": str(i), "pulse": f"{60 + i}.5", "phase": phases[i % 2]} for i in range(20)]
    put(tmp_path / "a.csv", rows, list(rows[0]))
    said = bad("train", tmp_path / "a.csv", "-o", tmp_path / "m")
    assert "(the columns are numbers); tables of numbers are read in Python" in said
    assert "name it with" not in said


def test_train_warns_of_labels_that_only_some_files_have(folder: Path, tmp_path: Path) -> None:
    one = put(tmp_path / "one.csv", products(9), ["sku", "title", "brand", "model", "colour"])
    rows = [row | {"model": row["model"] if i < 4 else "?"} for i, row in enumerate(products(9))]
    two = put(tmp_path / "two.csv", rows, ["title", "brand", "model", "storage", "price"])
    short = ["-o", tmp_path / "m", "-q", "--max-iterations", 2]
    said = good("train", one, two, *short).err
    assert "one.csv: these label columns of other files are missing: storage; the model" in said
    assert "two.csv: these label columns of other files are missing: colour; the model" in said
    assert "two.csv: these columns are carried along, but are labels in other files: model;" in said
    assert "sku" not in said.split("warning", 1)[1]
    assert "other files" not in good("train", one, one, *short).err
    said = good("train", two, "--also", one, *short).err
    assert "one.csv: these label columns of other files are missing: storage; the model" in said


@pytest.mark.parametrize("delimiter", "^~:\x1f")
def test_an_unknown_separator_is_named(folder: Path, tmp_path: Path, delimiter: str) -> None:
    new = put(tmp_path / "new.csv", products(3), ["sku", "title", "price"], delimiter)
    into = ["--into", tmp_path / "a.db"]
    commands: list[list[Any]] = [["load", folder / "model", new, *into]]
    commands.append(["segment", folder / "model", new])
    for command in commands:
        assert f"new.csv, line 1: got {'sku title price'.replace(' ', delimiter)!r} and 2" in (
            said := bad(*command)
        )
        assert f"pass --delimiter {delimiter!r}" in said
        ran = good(*command, "--delimiter", delimiter, "--text-column", "title")
    assert '"sku":"SKU1001"' in ran.out
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        prices = connection.execute("SELECT price FROM records").fetchall()
    assert prices == [("0.90",), ("1.90",), ("2.90",)]


@pytest.mark.parametrize("delimiter", [";", "|", "^"])
def test_a_table_keeps_its_separator(folder: Path, tmp_path: Path, delimiter: str) -> None:
    new = put(tmp_path / "new.csv", products(3), ["sku", "title"], delimiter)
    out, check = tmp_path / "out.csv", tmp_path / "check.csv"
    options = ["--delimiter", delimiter, "--threshold", 0.9, "--review", check]
    good("segment", folder / "model", new, "-o", out, *options)
    assert out.read_text().splitlines()[0].split(delimiter) == ["sku", "title", *LABELS]
    assert check.read_text("utf-8-sig").splitlines()[0].split(delimiter)[:2] == ["row", "sku"]
    good("segment", folder / "model", new, "-o", tmp_path / "out.tsv", *options[:2])
    assert list(table(tmp_path / "out.tsv")[0]) == ["sku", "title", *LABELS]


def test_tabs_are_for_the_name_of_the_output(folder: Path, tmp_path: Path) -> None:
    new = put(tmp_path / "new.tsv", products(3), ["sku", "title"], "\t")
    good("segment", folder / "model", new, "-o", tmp_path / "out.csv")
    assert list(table(tmp_path / "out.csv")[0]) == ["sku", "title", *LABELS]


def test_split_keeps_the_columns_of_a_table(tmp_path: Path) -> None:
    names = ["sku", "title", "colour", "price", "brand"]
    rows = products(20)
    path = put(tmp_path / "all.csv", rows, names, ";")
    a, b, c = (tmp_path / name for name in ("a.csv", "b.tsv", "c.parquet"))
    good("split", path, a, b, c, "--shares", "50,25,25")
    assert a.read_text().splitlines()[0] == ";".join(names)
    assert list(table(b)[0]) == parquet.read_table(c).column_names == names
    with open(a, newline="") as file:
        found = [*csv.DictReader(file, delimiter=";"), *table(b)]
    found += parquet.read_table(c).to_pylist()
    assert sorted(row["sku"] for row in found) == sorted(row["sku"] for row in rows)
    given = {row["sku"]: {name: row[name] for name in names} for row in rows}
    assert all(row == given[row["sku"]] for row in found)


def test_a_single_column_may_have_any_name(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("the title: a text\nNokia X20: Red\nNokia A12 Red\n", "utf-8")
    assert good("segment", folder / "model", path, "--to", "csv").out.count("Nokia") == 4
    path.write_text("e-mail\nNokia X20-Red\nNokia A12-Red\n", "utf-8")
    assert good("segment", folder / "model", path, "--to", "csv").out.count("X20-Red") == 1
    path.write_text("title?\nWhich?\nThat?\n", "utf-8")
    assert "--delimiter ','" in bad("segment", folder / "model", path)
    good("segment", folder / "model", path, "--delimiter", ",")


def test_columns_come_out_in_the_order_of_the_training_data(folder: Path) -> None:
    assert caesura.load(folder / "model").columns_ == LABELS
    out = good("segment", folder / "model", "--to", "csv", stdin="Nokia X20 Pro 64 GB Red\n").out
    assert out.splitlines()[0] == "text,brand,model,storage,colour"


def test_tables_that_cannot_be_learnt_from(folder: Path, tmp_path: Path) -> None:
    path = put(tmp_path / "ids.csv", products(4), ["sku", "title"])
    assert "name it with --text-column" in bad("train", path, "-o", tmp_path / "m")
    text = ["--text-column", "title"]
    ran = run("train", path, "-o", tmp_path / "m", *text)
    assert ran.code == 1
    assert "got no column whose cells occur in the text 'title'" in ran.err
    wrong = ["--text-column", "name"]
    assert "--text-column: got 'name', expected one of the columns" in bad(
        "train", folder / "train.csv", "-o", tmp_path / "m", *wrong
    )
    model, out = folder / "model", tmp_path / "o.csv"
    for option in (["--text-column", "a"], ["--labels", "a"], ["--delimiter", ";"]):
        (tmp_path / "a.txt").write_text("a\n")
        assert "which is text" in bad("segment", model, tmp_path / "a.txt", "-o", out, *option)


def test_a_value_that_stands_in_the_text_twice_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,town\nYork Road York,York\n")
    ran = good("train", tmp_path / "a.csv", "-o", tmp_path / "m", "-q", "--max-iterations", 2)
    assert "1 values occur more than once in their text" in ran.err
    assert "line 2, town: 'York'" in ran.err


def test_train_takes_several_files(folder: Path, tmp_path: Path) -> None:
    first = put(tmp_path / "a.csv", products(10), ["title", "brand", "colour"])
    second = put(tmp_path / "b.csv", products(10, 10), ["title", *LABELS])
    good("convert", second, tmp_path / "b.jsonl")
    for other in (second, tmp_path / "b.jsonl"):
        ran = good("train", first, other, "-o", tmp_path / "m", "--max-iterations", 3, "--json")
        assert ran.json["data"]["train"]["sequences"] == 20
    model = good("train", first, second, "-o", tmp_path / "m", "-q", "--max-iterations", 2)
    assert caesura.load(tmp_path / "m").columns_ == ["brand", "colour", "model", "storage"]
    assert model.err.count("text: title") == 2
    streamed = ["--learner", "sgd", "--stream", "--max-iterations", 2]
    good("train", first, second, "-o", tmp_path / "m", "-q", *streamed)
    assert "got - (the standard input) twice" in bad(
        "train", "-", "-", "-o", tmp_path / "m", stdin=""
    )
    rules = tmp_path / "rules.toml"
    rules.write_text('[constraints]\nat_most_once = ["brand"]\n')
    twice = put(tmp_path / "c.csv", [{"title": "A1 B2", "brand": "A1 | B2"}], ["title", "brand"])
    ran = run("train", first, twice, "-o", tmp_path / "m", "-q", "--config", rules)
    assert ran.code == 1
    assert "c.csv, sequence 1: got labels that break the constraints" in ran.err


# -- tables out ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["new.csv", "new.tsv", "new.parquet", "new.xlsx", "new.jsonl"])
def test_other_columns_are_carried_through(folder: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    ran = good("segment", folder / "model", folder / "new.csv", "-o", out)
    assert "new.csv: text: title; carried along: sku, price" in ran.err
    expected = products(6, 40)
    if name.endswith("jsonl"):
        rows: list[Any] = records_of(out)
        assert [row["text"] for row in rows] == [row["title"] for row in expected]
    else:
        if name.endswith("parquet"):
            rows = parquet.read_table(out).to_pylist()
        elif name.endswith("xlsx"):
            head, *cells = openpyxl.load_workbook(out).worksheets[0].iter_rows(values_only=True)
            rows = [dict(zip(head, row, strict=True)) for row in cells]
        else:
            rows = list(table(out))
        assert list(rows[0]) == ["sku", "title", "price", *LABELS]
        assert [row["title"] for row in rows] == [row["title"] for row in expected]
        assert [row["colour"] for row in rows] == [row["colour"] for row in expected]
    assert [(row["sku"], row["price"]) for row in rows] == [
        (row["sku"], row["price"]) for row in expected
    ]


def test_what_json_lines_carry_comes_out(folder: Path, tmp_path: Path) -> None:
    lines = '{"text": "Nokia X20 Pro 64 GB Red", "id": 7, "meta": {"a": 1}}\n'
    lines += '{"text": "Apple", "n": 2}\n'
    (tmp_path / "a.jsonl").write_text(lines)
    good("segment", folder / "model", tmp_path / "a.jsonl", "-o", tmp_path / "b.jsonl")
    first, second = records_of(tmp_path / "b.jsonl")
    assert (first["id"], first["meta"], second["n"]) == (7, {"a": 1}, 2)
    good("segment", folder / "model", tmp_path / "a.jsonl", "-o", tmp_path / "b.csv")
    first, second = table(tmp_path / "b.csv")
    assert list(first) == ["id", "meta", "n", "text", *LABELS]
    assert (first["id"], first["meta"], second["n"]) == ("7", '{"a": 1}', "2")
    good("segment", folder / "model", tmp_path / "a.jsonl", "-o", tmp_path / "b.parquet")
    rows = parquet.read_table(tmp_path / "b.parquet").to_pylist()
    assert (rows[0]["id"], rows[0]["meta"], rows[1]["n"]) == (7, {"a": 1}, 2)
    ran = good("segment", folder / "model", tmp_path / "a.jsonl", "-o", tmp_path / "b.txt")
    assert "text has no place for id, meta" in ran.err
    page = good("segment", folder / "model", tmp_path / "a.jsonl", "-t", "html").out
    assert "<small>id: 7 · meta:" in page


def test_types_of_parquet_are_kept(folder: Path, tmp_path: Path) -> None:
    import pyarrow

    kept = pyarrow.table(
        {"n": pyarrow.array([1, None], pyarrow.int16()), "text": ["Apple", "Nokia"]}
    )
    parquet.write_table(kept, tmp_path / "a.parquet")
    good("segment", folder / "model", tmp_path / "a.parquet", "-o", tmp_path / "b.parquet", "-p")
    found = parquet.read_table(tmp_path / "b.parquet")
    assert found.schema.field("n").type == pyarrow.int16()
    assert found.column("n").to_pylist() == [1, None]
    assert found.schema.field("p(brand)").type == pyarrow.float64()


def test_every_kind_of_parquet_becomes_json(folder: Path, tmp_path: Path) -> None:
    import pyarrow

    moment = datetime(2024, 1, 2, 3, 4, 5)
    kept = {"dec": Decimal("1.10"), "on": moment.date(), "at": moment, "span": timedelta(days=1)}
    kept |= {"many": [1, 2], "whole": 2**63 - 1, "none": None, "text": "Apple"}
    parquet.write_table(pyarrow.Table.from_pylist([kept]), tmp_path / "a.parquet")
    good("segment", folder / "model", tmp_path / "a.parquet", "-o", tmp_path / "b.jsonl")
    found = json.loads((tmp_path / "b.jsonl").read_text())
    expected: dict[str, object] = {"dec": "1.10", "on": "2024-01-02", "at": "2024-01-02T03:04:05"}
    expected |= {"span": "1 day, 0:00:00", "many": [1, 2], "whole": 2**63 - 1, "none": None}
    assert {name: found[name] for name in expected} == expected


def test_a_column_named_as_a_label_keeps_its_values(folder: Path, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", products(3), ["title", "brand"])
    good("segment", folder / "model", path, "-o", tmp_path / "b.csv", "--text-column", "title")
    rows = table(tmp_path / "b.csv")
    assert list(rows[0]) == ["title", "brand (input)", *LABELS]
    assert [row["brand (input)"] for row in rows] == [row["brand"] for row in products(3)]


def test_names_decide_the_form_or_are_refused(folder: Path, tmp_path: Path) -> None:
    model, new = folder / "model", folder / "new.csv"
    assert "ends in .pdf, expected .jsonl" in bad("segment", model, new, "-o", tmp_path / "a.pdf")
    wrong = bad("segment", model, new, "-o", tmp_path / "a.parquet", "--to", "jsonl")
    assert "got --to jsonl for the name of a parquet file" in wrong
    review = ["--threshold", 0.5, "--review", tmp_path / "a.html"]
    assert "--review" in bad("segment", model, new, "-o", tmp_path / "a.csv", *review, code=2)
    assert not list(tmp_path.iterdir())
    good("segment", model, new, "-o", tmp_path / "a.txt", "--to", "csv")
    assert (tmp_path / "a.txt").read_text().startswith("sku,title,price,brand")
    good("segment", model, new, "-o", tmp_path / "plain")
    assert len(records_of(tmp_path / "plain")) == 6


def test_values_are_normalised_on_request(folder: Path, tmp_path: Path) -> None:
    model = caesura.load(folder / "model").set_normalisers({"brand": "lower", "storage": "number"})
    model.save(tmp_path / "m")
    good("segment", tmp_path / "m", folder / "new.csv", "-o", tmp_path / "a.csv", "--normalise")
    rows, expected = table(tmp_path / "a.csv"), products(6, 40)
    assert [row["brand"] for row in rows] == [row["brand"].lower() for row in expected]
    assert [row["storage"] for row in rows] == [row["storage"].split()[0] for row in expected]
    assert "needs a table" in bad("segment", tmp_path / "m", "-t", "jsonl", "--normalise", code=2)


def test_probabilities_are_in_the_table_on_request(folder: Path, tmp_path: Path) -> None:
    good("segment", folder / "model", folder / "new.csv", "-o", tmp_path / "a.csv", "-p")
    [row, *_] = table(tmp_path / "a.csv")
    assert list(row)[-4:] == [f"p({label})" for label in LABELS]
    assert all(0 < float(row[f"p({label})"]) <= 1 for label in LABELS)
    good("train", tmp_path / "a.csv", "-o", tmp_path / "m", "-q", "--max-iterations", 2)
    assert caesura.load(tmp_path / "m").columns_ == LABELS


# -- review ----------------------------------------------------------------------------------------


def reviewed(folder: Path, tmp_path: Path, name: str = "check.csv") -> Path:
    rows = products(6, 40)
    rows[2]["title"] = "Motorola Edge Ultra 1 TB Violet"
    put(tmp_path / "new.csv", rows, ["sku", "title", "price"])
    options = ["--threshold", 0.999, "--review", tmp_path / name]
    good("segment", folder / "model", tmp_path / "new.csv", "-o", tmp_path / "good.csv", *options)
    return tmp_path / name


def test_review_is_a_table_for_people(folder: Path, tmp_path: Path) -> None:
    path = reviewed(folder, tmp_path)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")  # for Excel
    rows, kept = table(path), table(tmp_path / "good.csv")
    chances = [f"p({label})" for label in LABELS]
    head = ["row", "sku", "title", "price", *LABELS, "doubtful", "checked", *chances]
    assert list(rows[0]) == head
    assert rows[0]["title"].startswith("Motorola")  # the most informative first
    assert rows[0]["row"] == "3"
    assert rows[0]["sku"] == "SKU1042"
    wrong = [sum(1 - float(row[p]) for p in chances if row[p]) for row in rows]
    assert wrong == sorted(wrong, reverse=True)
    for row in rows:
        low = [y for y in LABELS if row[f"p({y})"] and float(row[f"p({y})"]) < 0.999]
        assert row["doubtful"] == ", ".join(low)
    assert sorted(row["sku"] for row in rows + kept) == [f"SKU{1040 + i}" for i in range(6)]


def corrected(path: Path, **cells: str) -> Path:
    rows = table(path)
    rows[0].update(cells)
    return put(path, rows, list(rows[0]))


CORRECT = {"brand": "Motorola", "model": "Edge Ultra", "storage": "1 TB", "colour": "Violet"}


def test_corrections_are_learnt(folder: Path, tmp_path: Path) -> None:
    path = corrected(reviewed(folder, tmp_path), **CORRECT)
    options = ["-o", tmp_path / "m", "--c2", 0.1, "-q"]
    count = len(table(path))
    ran = good("train", folder / "train.csv", "--also", path, *options)
    assert f"no row is marked in the column checked, so all {count} are used" in ran.err
    found = caesura.load(tmp_path / "m").extract(["Motorola Edge Ultra 1 TB Violet"])[0]
    assert {label: value.text for label, value in found.fields} == CORRECT
    corrected(path, checked="x")
    ran = good("train", folder / "train.csv", "--also", path, *options)
    assert f"1 of {count} rows are marked in the column checked" in ran.err
    assert "counts as a mark" not in ran.err


def test_review_prints_the_settings_of_the_model(folder: Path, tmp_path: Path) -> None:
    settings = ["--model", "chain", "--scheme", "none", "--preset", "addresses", "--c2", "0.1"]
    settings += ["--class-weight", "brand=2.0", "--boundary-weights", "no", "--seed", "3"]
    files = ["-o", tmp_path / "m", "-q", "--max-iterations", "5"]
    good("train", folder / "train.csv", *files, *settings)
    review = ["-o", tmp_path / "o.csv", "--threshold", 1, "--review", tmp_path / "check.csv"]
    said = good("segment", tmp_path / "m", folder / "new.csv", *review).err
    [line] = [one for one in said.splitlines() if "caesura train TRAIN" in one]
    options = shlex.split(line.partition("check.csv ")[2].removesuffix("-o NEW.model"))
    assert options[:2] == ["--model", "chain"]
    good("train", folder / "train.csv", "-o", tmp_path / "again", "-q", *options)
    first, again = caesura.load(tmp_path / "m"), caesura.load(tmp_path / "again")
    assert first.get_params() == again.get_params()
    assert list(first.weights_) == list(again.weights_)


def test_a_review_file_is_recognised_without_also(folder: Path, tmp_path: Path) -> None:
    path = corrected(reviewed(folder, tmp_path), **CORRECT, checked="x")
    count = len(table(path))
    short = ["-o", tmp_path / "m", "-q", "--max-iterations", 2]
    for more in ([], ["--stream", "--learner", "sgd"]):
        said = run("train", folder / "train.csv", path, *short, *more).err
        assert not (tmp_path / "m").exists()
        assert f"TRAIN: got {path}, a review file, expected other training data" in said
        assert f"{path}: " not in said
        assert f"pass it as --also {path}, which uses the rows marked" in said
    marked = f"1 of {count} rows are marked in the column checked"
    ran = good("evaluate", folder / "model", path, "--json")
    assert marked in ran.err
    assert json.loads(ran.out)["sequences"] == 1
    for option in ("--dev", "--calibrate"):
        ran = good("train", folder / "train.csv", option, path, *short)
        assert marked in ran.err
    corrected(path, checked="")
    said = good("evaluate", folder / "model", path).err
    assert f"warning: {path}: no row is marked in the column checked, so all {count} are" in said


@pytest.mark.parametrize("mark", ["no", "N", "FALSE", "0", " "])
def test_a_negative_mark_is_none(folder: Path, tmp_path: Path, mark: str) -> None:
    path = corrected(reviewed(folder, tmp_path), **CORRECT, checked=mark)
    options = ["-o", tmp_path / "m", "-q", "--max-iterations", 2]
    assert "no row is marked" in good("train", folder / "train.csv", "--also", path, *options).err


@pytest.mark.parametrize("name", ["check.csv", "check.tsv", "check.xlsx", "check.parquet"])
def test_a_marked_review_file_is_not_overwritten(folder: Path, tmp_path: Path, name: str) -> None:
    path = reviewed(folder, tmp_path, name)
    assert reviewed(folder, tmp_path, name).exists()  # nothing was marked
    marked = corrected(reviewed(folder, tmp_path, "check.csv"), **CORRECT, checked="x")
    if name != "check.csv":
        options = ["--text-column", "title", "--labels", ",".join(LABELS)]
        good("convert", marked, path, *options)
    before = path.read_bytes()
    given = ["segment", folder / "model", tmp_path / "new.csv", "-o", tmp_path / "new2.csv"]
    said = bad(*given, "--threshold", 0.9, "--review", path)
    assert "exists with 1 row marked in the column checked" in said
    assert "give another name, or delete it" in said
    assert path.read_bytes() == before
    assert not (tmp_path / "new2.csv").exists()


def test_an_unusual_mark_is_named(folder: Path, tmp_path: Path) -> None:
    path = corrected(reviewed(folder, tmp_path), **CORRECT, checked="nein")
    options = ["-o", tmp_path / "m", "-q", "--max-iterations", 2]
    said = good("train", folder / "train.csv", "--also", path, *options).err
    assert "in the column checked, 'nein' counts as a mark; leave the cells" in said


def test_the_column_of_marks_is_found_in_any_case(folder: Path, tmp_path: Path) -> None:
    path = corrected(reviewed(folder, tmp_path), checked="x")
    path.write_text(path.read_text("utf-8").replace(",checked,", ",Checked ,", 1), "utf-8")
    options = ["-o", tmp_path / "m", "-q", "--max-iterations", 2]
    said = good("train", folder / "train.csv", "--also", path, *options).err
    assert re.search(r"\b1 of \d+ rows are marked in the column checked", said)


def test_a_table_of_doubtful_rows_without_marks_is_warned_of(folder: Path, tmp_path: Path) -> None:
    path = reviewed(folder, tmp_path)
    count = len(table(path))
    path.write_text(path.read_text("utf-8").replace(",checked,", ",remark,", 1), "utf-8")
    options = ["-o", tmp_path / "m", "-q", "--max-iterations", 2]
    said = good("train", folder / "train.csv", "--also", path, *options).err
    assert f"all {count} rows are used, as there is no column checked; to use only some" in said


def test_a_label_of_the_review_file_must_not_be_missing(folder: Path, tmp_path: Path) -> None:
    path = corrected(reviewed(folder, tmp_path), **CORRECT)
    path.write_text(path.read_text("utf-8").replace(",model,", ",modele,", 1), "utf-8")
    options = ["-o", tmp_path / "m", "-q", "--max-iterations", 2]
    wrong = run("train", folder / "train.csv", "--also", path, *options).err
    assert "got the column 'p(model)' without 'model', expected both" in wrong
    assert "rename 'modele' to 'model'" in wrong
    assert not (tmp_path / "m").exists()


def test_a_corrected_cell_that_is_not_in_the_text_is_named(folder: Path, tmp_path: Path) -> None:
    path = corrected(reviewed(folder, tmp_path), **{**CORRECT, "model": "Edge Plus"})
    ran = run("train", folder / "train.csv", "--also", path, "-o", tmp_path / "m", "-q")
    assert ran.code == 1
    wrong = f"{path}, line 2: model: got 'Edge Plus', expected a value that occurs in the text"
    assert wrong in ran.err
    assert not (tmp_path / "m").exists()


def test_a_truncated_correction_does_not_change_all_tokens(folder: Path, tmp_path: Path) -> None:
    path = corrected(reviewed(folder, tmp_path), **{**CORRECT, "model": "Edge Ult"})
    options = ["--also", path, "-o", tmp_path / "m", "-q", "--max-iterations", 2]
    said = run("train", folder / "train.csv", *options).err
    assert (
        f"--also: 'Edge Ult', labelled model, is only a part of the token 'Ultra' ({path}" in said
    )
    assert "correct the cell, or pass --tokeniser characters" in said
    assert not (tmp_path / "m").exists()
    good("train", folder / "train.csv", *options, "--tokeniser", "characters")
    assert caesura.load(tmp_path / "m").tokeniser_ == "characters"


def test_all_wrong_cells_of_used_rows_are_named(folder: Path, tmp_path: Path) -> None:
    path = reviewed(folder, tmp_path)
    rows = table(path)
    rows[0].update({**CORRECT, "model": "Motorola  Edge Ultra"}, checked="x")
    rows[1].update(colour="Nothing", checked="x")
    rows[2].update(colour="No colour")
    put(path, rows, list(rows[0]))
    short = ["-o", tmp_path / "m", "-q", "--max-iterations", 2]
    ran = run("train", folder / "train.csv", "--also", path, *short)
    overlap = f"{path}, line 2: brand: got 'Motorola', expected a value that does not overlap the "
    assert overlap + "field 'model', 'Motorola Edge Ultra'" in ran.err
    assert f"{path}, line 3: colour: got 'Nothing', expected a value that occurs" in ran.err
    assert "No colour" not in ran.err
    rows[0]["model"], rows[1]["colour"] = "Edge   Ultra", ""
    put(path, rows, list(rows[0]))
    ran = good("train", folder / "train.csv", "--also", path, *short)
    assert "2 of" in ran.err
    assert "skipped 1 unreadable record" in ran.err
    given = [*short, "--skip-errors"]
    rows[1]["colour"] = "Nothing"
    put(path, rows, list(rows[0]))
    assert "skipped 2" in good("train", folder / "train.csv", "--also", path, *given).err
    rows[0]["checked"] = rows[1]["checked"] = ""
    put(path, rows, list(rows[0]))
    said = run("train", folder / "train.csv", "--also", path, *short).err
    assert "line 3: colour: got 'Nothing'" in said
    assert "line 4: colour: got 'No colour'" in said


def test_a_new_column_of_a_review_file_is_named(folder: Path, tmp_path: Path) -> None:
    path = reviewed(folder, tmp_path)
    short = ["-o", tmp_path / "m", "-q", "--max-iterations", 2]
    assert (
        "occur in the text" not in good("train", folder / "train.csv", "--also", path, *short).err
    )
    rows = [row | {"series": "", "remark": "seen by Ann"} for row in table(path)]
    rows[0]["series"] = "Edge"
    put(path, rows, list(rows[0]))
    said = good("train", folder / "train.csv", "--also", path, *short).err
    assert "check.csv: the cells of 'series' occur in the text, but TRAIN has no such label" in said
    assert "remark" not in said.partition("warning")[2]


def test_review_in_a_spreadsheet(folder: Path, tmp_path: Path) -> None:
    path = reviewed(folder, tmp_path, "check.xlsx")
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    head = [cell.value for cell in sheet[1]]
    assert sheet.cell(2, head.index("title") + 1).number_format == "@"
    for label, value in CORRECT.items():
        sheet.cell(2, head.index(label) + 1).value = value
    book.save(path)
    options = ["-o", tmp_path / "m", "-q", "--max-iterations", 20]
    good("train", folder / "train.csv", "--also", path, *options)
    sheet.cell(3, head.index("brand") + 1).value = "Nobody"
    book.save(path)
    ran = run("train", folder / "train.csv", "--also", path, *options)
    wrong = f"{path}, row 3: brand: got 'Nobody', expected a value that occurs in the text"
    assert wrong in ran.err


def test_formulas_stay_text(folder: Path, tmp_path: Path) -> None:
    text = '=HYPERLINK("http://example.org") Nokia'
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([["text", "n"], [text, "-1+2"]])
    (tmp_path / "a.csv").write_text(buffer.getvalue())
    good("segment", folder / "model", tmp_path / "a.csv", "-o", tmp_path / "b.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "b.xlsx").worksheets[0]
    assert [(cell.data_type, cell.value) for cell in sheet[2][:2]] == [("s", text), ("s", "-1+2")]


def test_also_needs_the_labels_of_the_training_data(folder: Path, tmp_path: Path) -> None:
    other = put(tmp_path / "a.csv", [{"text": "a b", "x": "a"}], ["text", "x"])
    ran = run("train", folder / "train.csv", "--also", other, "-o", tmp_path / "m", "-q")
    assert f"expected columns of labels that TRAIN has: {', '.join(LABELS)}; rename" in ran.err
    checked = put(tmp_path / "checked.csv", products(3), ["title", *LABELS])
    streamed = ["--learner", "sgd", "--stream", "--max-iterations", 1, "-q"]
    good("train", folder / "train.csv", "--also", checked, "-o", tmp_path / "m", *streamed)
    good("convert", folder / "train.csv", tmp_path / "more.jsonl")
    options = ["--also", tmp_path / "more.jsonl", "--max-iterations", 2, "--json"]
    ran = good("train", folder / "train.csv", "-o", tmp_path / "m", *options)
    assert ran.json["data"]["train"]["sequences"] == 50


@pytest.mark.parametrize("review", ["/dev/full", "missing/check.csv"])
def test_output_and_review_come_together_or_not_at_all(
    folder: Path, tmp_path: Path, review: str
) -> None:
    place = review if review.startswith("/") else tmp_path / review
    for form in ("csv", "conll"):
        out = tmp_path / f"good.{form}"
        out.write_text("old\n")
        options = ["-o", out, "--threshold", 1, "--review", place]
        ran = run("segment", folder / "model", folder / "new.csv", *options)
        assert ran.code == 1
        assert str(place) in ran.err
        assert out.read_text() == "old\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["good.conll", "good.csv"]


def test_convert_keeps_other_columns_or_says_so(folder: Path, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", products(3), ["sku", "title", *LABELS])
    for name in ("b.jsonl", "b.tsv", "b.parquet", "b.xlsx"):
        assert "no place" not in good("convert", path, tmp_path / name).err
        [first, *_] = corpora.read(tmp_path / name)
        assert first.carried == {"sku": "SKU1000"}
    assert "conll has no place for sku" in good("convert", path, tmp_path / "b.conll").err


def test_rows_are_named_where_cells_have_line_ends(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('title,brand\n"Apple\nNokia",Apple\n"x y",Apple\n')
    options = ["-o", tmp_path / "m", "-q", "--labels", "brand"]
    ran = run("train", tmp_path / "a.csv", "--text-column", "title", *options)
    assert "a.csv, line 4 (row 3): brand: got 'Apple'" in ran.err


def test_json_lines_with_any_keys_are_tables(folder: Path, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [*products(20), *products(100), {"title": "Nokia A12", "later": 5}]
    for name, some in (("train.jsonl", rows[:20]), ("new.jsonl", rows[20:])):
        keys = {"sku", "title", "price", "later", *(LABELS if name == "train.jsonl" else ())}
        kept = [{key: value for key, value in row.items() if key in keys} for row in some]
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in kept))
    model, out = tmp_path / "a.model", tmp_path / "out.csv"
    said = good("train", tmp_path / "train.jsonl", "-o", model).err
    assert f"text: title (guessed); labels: {', '.join(LABELS)}; carried along: sku" in said
    said = good("segment", model, tmp_path / "new.jsonl", "-o", out).err
    assert "text: title (guessed); carried along: sku, price" in said
    *_, last = table(out)
    assert (last["title"], last["brand"], last["later"]) == ("Nokia A12", "Nokia", "5")


def test_tabs_with_line_ends_in_quotes(folder: Path, tmp_path: Path) -> None:
    rows = [row | {"note": "two\nlines" if i % 3 else ""} for i, row in enumerate(products(20))]
    path = put(tmp_path / "new.tsv", rows, ["sku", "title", "note"], "\t")
    assert corpora.detect(path) == "csv"
    assert [document.carried["note"] for document in corpora.read(path, labels=[])] == [
        row["note"] for row in rows
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"sku,title\n1,Gr\xf6\xdfe 64 GB\n", "line 2: got bytes that are not utf-8"),
        (b'sku,title\n1,"Nokia A12\n2,x\n', "line 2: got a row that ends wrong"),
        (b"sku,title\n1,Nokia A12,64 GB\n", "line 2: got 3 cells, expected 2"),
    ],
)
def test_a_broken_row_is_the_error_not_the_columns(
    folder: Path, tmp_path: Path, content: bytes, problem: str
) -> None:
    (tmp_path / "new.csv").write_bytes(content)
    output = tmp_path / "out.csv"
    assert problem in bad("segment", folder / "model", tmp_path / "new.csv", "-o", output)


PIPED = {
    "id,Text\n1,Acme red\n2,Acme blue\n": "csv",
    "id;text;price\n1;Acme red;3\n": "csv",
    '{"id": 1, "text": "Acme red"}\n{"id": 2, "text": "Acme blue"}\n': "jsonl",
    "sku,title\nA1,Acme red\nA2,Acme blue\n": "doubtful",
    "sku\ttitle\nA1\tAcme red\n": "doubtful",
    "Acme, red\nAcme, blue\n": "text",
    "Acme red\n": "text",
    "": "text",
}


@pytest.mark.parametrize(("content", "form"), PIPED.items())
@pytest.mark.parametrize("command", ["segment", "load"])
def test_tables_on_the_standard_input(
    folder: Path, tmp_path: Path, command: str, content: str, form: str
) -> None:
    into = ["--into", tmp_path / "a.db"] if command == "load" else []
    ran = good(command, folder / "model", "-", *into, stdin=content)
    assert ("is read as text" in ran.err) == (form == "doubtful")
    assert (f"is read as {form}; pass --format text" in ran.err) == (form in ("csv", "jsonl"))
    if command == "load":
        with sqlite3.connect(tmp_path / "a.db") as connection:
            texts = [text for (text,) in connection.execute("SELECT text FROM records")]
    else:
        texts = [json.loads(line)["text"] for line in ran.out.splitlines()]
    table = form in ("csv", "jsonl")
    assert texts == (["Acme red", "Acme blue"][: len(texts)] if table else content.splitlines())
    assert texts or not content
    into = ["--into", tmp_path / "b.db"] if command == "load" else []
    asked = good(command, folder / "model", "-", "-f", "text", *into, stdin=content)
    assert "is read as" not in asked.err


@pytest.mark.parametrize("command", ["segment", "load"])
def test_a_named_column_makes_the_standard_input_a_table(
    folder: Path, tmp_path: Path, command: str
) -> None:
    into = ["--into", tmp_path / "a.db"] if command == "load" else []
    content = "sku,title\nA1,Acme red\n"
    ran = good(command, folder / "model", "-", "--text-column", "title", *into, stdin=content)
    assert "is read as csv" in ran.err
    line = bad(command, folder / "model", "-", "-f", "parquet", *into, stdin="PAR1")
    assert "standard input" in line


def test_offsets_in_cells_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    style, out = Style(["town"]), tmp_path / "o.csv"

    def told(text: str, style: Style) -> tuple[str, str]:
        answer = Answer(Document.from_text(text), [Segment(1, 2, "town")])
        write_table(str(out), "csv", iter([[answer]]), style)
        return table(out)[0]["town"], capsys.readouterr().err

    town, said = told("York York", style)
    assert town == "York @5:9"
    assert "o.csv: 1 row with a value that occurs more than once in the text" in said
    assert told("Leeds York", style) == ("York", "")
    assert told("York York", style._replace(normalise={"town": str.strip})) == ("York", "")


def test_columns_that_differ_from_the_text_in_case_are_told(tmp_path: Path) -> None:
    rows = [one | {"brand": one["brand"].upper()} for one in products(20)]
    path = put(tmp_path / "a.csv", rows, ["sku", "title", "brand", "model"])
    command = ["train", path, "-o", tmp_path / "m", "-q", "--max-iterations", 2]
    for options in ([], ["--stream", "--learner", "sgd"]):
        said = good(*command, "--text-column", "title", *options).err
        assert "100% of the cells of brand occur in the text if case is ignored" in said
        assert "cells of sku" not in said
    assert "case is ignored" not in good(*command, "--labels", "model").err
