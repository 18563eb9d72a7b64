"""Models as functions of SQL, and the command that loads."""

import json
from pathlib import Path

import duckdb
import pytest
from cli_data import bad, good
from load_cases import model, rows, texts

import caesura
from caesura import InvalidInput
from caesura.records import load, register


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    register(made, model())
    return made


def test_the_function_says_what_extract_says(connection: duckdb.DuckDBPyConnection) -> None:
    given = [*texts(5000), None]
    connection.execute("CREATE TABLE t AS SELECT unnest(?) AS text", [given])
    found = connection.sql(
        "SELECT text, s.town, s.probability, s.segments FROM (SELECT text, segment(text) AS s "
        "FROM t)"
    ).fetchall()
    assert len(found) == len(given)
    records = {record.text: record for record in model().extract(given[:-1])}
    for text, town, probability, segments in found:
        if text is None:
            assert town is probability is segments is None
            continue
        record = records[text]
        value = record.first("town")
        assert town == (None if value is None else value.value)
        assert probability == pytest.approx(record.probability)
        assert [one["start"] for one in segments] == [value.start for _, value in record.fields]


def test_the_function_can_be_replaced_and_named(connection: duckdb.DuckDBPyConnection) -> None:
    other = caesura.SemiCRF(c2=0.01).fit(["a b"], [[(0, 1, 'it\'s "x"')]])
    register(connection, other)
    register(connection, other, "cut", threshold=0.0)
    [(found,)] = connection.sql("SELECT cut('a b')").fetchall()
    assert found['it\'s "x"'] == "a"
    assert found["review"] is False
    assert connection.sql("SELECT segment('a b')['it''s \"x\"']").fetchall() == [("a",)]


def test_what_is_no_connection() -> None:
    with pytest.raises(InvalidInput, match="connection: got"):
        register("a.duckdb", model())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="threshold: got 7"):
        register(duckdb.connect(), model(), threshold=7)
    with pytest.raises(InvalidInput, match="into: got 5"):
        load(model(), texts(2), 5)  # type: ignore[arg-type]


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    model().save("address.model")
    Path("in.txt").write_text("\n".join(texts(12)) + "\n")
    lines = [f'k{i};"{text}";{i}' for i, text in enumerate(texts(12))]
    Path("in.csv").write_text("key;address;price\n" + "\n".join(lines) + "\n")
    return tmp_path


def test_the_command_loads_and_does_nothing_the_second_time(folder: Path) -> None:
    command = ("load", "address.model", "in.txt", "--into", "a.duckdb", "--table", "references")
    assert "12 records, 12 new rows" in good(*command).out
    again = good(*command)
    assert "12 records, 0 new rows (12 were there)" in again.out
    found = rows("a.duckdb", "references")
    assert {row["model_name"] for row in found} == {"address"}
    assert {row["source"] for row in found} == {str(folder.resolve() / "in.txt")}


def test_the_command_says_which_column_it_takes(folder: Path) -> None:
    ran = good("load", "address.model", "in.csv", "--into", "a.db", "--id-column", "key")
    assert "the text is in the column 'address'" in ran.err
    [row, *_] = rows("a.db")
    assert row["record"] == row["key"]


def test_the_command_in_json(folder: Path) -> None:
    Path("rules.json").write_text(json.dumps({"at_most_once": ["town"]}))
    more = ["--carry", "key", "--verbatim", "--constraints", "rules.json", "--json"]
    done = good("load", "address.model", "in.csv", "--into", "a.db", *more).json
    assert (done["records"], done["written"], done["table"]) == (12, 12, "records")
    assert {"key", "town_text"} <= rows("a.db")[0].keys()


def test_the_command_warns_of_rows_that_are_no_longer_there(folder: Path) -> None:
    command = ("load", "address.model", "in.txt", "--into", "a.db")
    good(*command)
    Path("in.txt").write_text("\n".join(texts(11)) + "\n")
    assert "the table still has 1 row of its earlier state" in good(*command).err
    assert "earlier state" not in good(*command, "--replace").err
    assert len(rows("a.db")) == 11


def test_the_command_warns_of_repeated_ids(folder: Path) -> None:
    Path("twice.csv").write_text(
        "id,text\n1,7 Park Lane York\n1,7 Park Lane York\n2,9 Elm Road Bath\n"
    )
    ran = good("load", "address.model", "twice.csv", "--into", "a.db", "--id-column", "id")
    assert "1 records have the id and the text of an earlier one" in ran.err
    assert "3 records, 2 new rows" in ran.out


def test_the_command_says_that_flags_have_changed(folder: Path) -> None:
    command = ("load", "address.model", "in.txt", "--into", "a.db")
    assert "review flags" not in good(*command, "--threshold", "0").err
    assert "the review flags of 12 stored rows" in good(*command, "--threshold", "1").err
    assert good(*command, "--threshold", "0", "--json").json["flagged"] == 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["in.txt", "--into", "a.xls"], "--into: got 'a.xls'"),
        (["no.txt", "--into", "a.db"], "no.txt: no such file"),
        (["in.csv", "--into", "a.db", "--text-column", "x"], "--text-column: got 'x'"),
        (["in.csv", "--into", "a.db", "--id-column", "x"], "--id-column: got 'x'"),
        (["in.txt", "--into", "a.db", "--threshold", "7"], "--threshold: got 7.0"),
        (["in.txt", "--into", "a.db", "--table", ""], "--table: got ''"),
        (["in.txt", "--into", "a.db", "--constraints", "in.csv"], "in.csv: not JSON"),
    ],
)
def test_the_command_names_what_is_wrong(folder: Path, arguments: list[str], words: str) -> None:
    assert words in bad("load", "address.model", *arguments)


def test_the_command_refuses_another_model(folder: Path) -> None:
    caesura.SemiCRF(c2=1).fit(["1 A"], [[(0, 1, "number")]]).save("other.model")
    good("load", "address.model", "in.txt", "--into", "a.db")
    assert "pass --replace" in bad("load", "other.model", "in.txt", "--into", "a.db")
