"""Known values on the command line: ``caesura train --known`` and ``caesura load --known``."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from cli_data import bad, good
from load_cases import rows

import caesura
from caesura import InvalidInput
from caesura.features import Dictionary, Similar
from caesura.records import KnownValues, load
from caesura.records.column_values import stored_values


def names(count: int, seed: int) -> list[str]:
    """Return made-up names of two words; only a list can say which of them are towns."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("aeiou" + "bcdfghlmnprst", k=6)) for _ in range(2 * count)]
    return [f"{a.title()} {b.title()}" for a, b in zip(words[::2], words[1::2], strict=True)]


TOWNS, OTHERS = names(40, 1), names(40, 2)
TOWN = names(1, 3)[0]
TEXT = f"from {TOWN}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model that was trained with known towns."""
    folder = tmp_path_factory.mktemp("known")
    (folder / "towns.csv").write_text("town;county\n" + "".join(f"{x};\n" for x in TOWNS))
    texts = [(f"from {town}", town) for town in TOWNS] + [(f"from {x}", "") for x in OTHERS]
    lines = [json.dumps({"text": text, "town": town}) for text, town in texts]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")
    options = ("--labels", "town", "--c2", "0.01", "-o", folder / "m.model", "--quiet")
    known = ("--known", f"town={folder}/towns.csv:town")
    good("train", folder / "train.jsonl", *known, *options)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("m.model").write_bytes((made / "m.model").read_bytes())
    Path("in.txt").write_text(f"{TEXT}\n")
    return tmp_path


def test_a_model_keeps_its_values(made: Path) -> None:
    known = KnownValues.of(caesura.load(made / "m.model"))
    assert known.counts == {"town": 40}
    assert known.canonical("town", TOWNS[0].upper()) is not None
    plain = caesura.SemiCRF().fit(["in York"], [[(1, 2, "town")]])
    with pytest.raises(InvalidInput, match="without features of known values"):
        KnownValues.of(plain)


def places(folder: Path, postgres: str) -> dict[str, str]:
    """Return places that have a table with the town, as an option names them."""
    Path("more.csv").write_text(f"name,n\n{TOWN},1\n,2\n")
    Path("more.jsonl").write_text(json.dumps({"name": TOWN}) + '\n{"name": null}\n')
    with sqlite3.connect("more.db") as lite:
        lite.execute('CREATE TABLE "my towns" (name TEXT, n INTEGER)')
        lite.execute(f"INSERT INTO \"my towns\" VALUES ('{TOWN}', 1), (NULL, 2)")
    with duckdb.connect("more.duckdb") as duck:
        duck.execute(f"CREATE TABLE towns AS SELECT '{TOWN}' AS name")
        duck.execute("COPY towns TO 'more.parquet'")
    with psycopg.connect(postgres) as server:
        server.execute(f"CREATE TABLE \"my towns\" AS SELECT '{TOWN}' AS name")
    files = {name: f"more.{name}:name" for name in ("csv", "jsonl", "parquet")}
    return files | {
        "sqlite": "more.db:my towns.name",
        "duckdb": "more.duckdb:towns.name",
        "postgres": f"{postgres}:my towns.name",
        "sqlite url": "sqlite:///more.db:my towns.name",
    }


def test_values_are_read_from_every_kind_of_place(folder: Path, postgres: str) -> None:
    good("load", "m.model", "in.txt", "--into", "plain.db")
    assert rows("plain.db")[0]["town"] != TOWN
    for kind, where in places(folder, postgres).items():
        into = f"{kind}.db".replace(" ", "")
        ran = good("load", "m.model", "in.txt", "--into", into, "--known", f"town={where}")
        assert "known values: 41 of town" in ran.err, kind
        assert rows(into)[0]["town"] == TOWN, kind


@pytest.mark.parametrize("kind", ["duckdb", "db", "parquet", "postgres"])
def test_values_of_the_target_itself(
    folder: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """Its table does not exist at first, and grows as rows arrive."""
    is_url = kind == "postgres"
    into = str(request.getfixturevalue("postgres")) if is_url else f"a.{kind}"
    command = ("load", "m.model", "--into", into, "--known", "town=records.town")
    Path("first.txt").write_text(f"from {TOWNS[0]}\n")
    ran = good(*command, "first.txt", "--threshold", "0")
    assert "known values: 40 of town" in ran.err
    Path("more.csv").write_text(f"name\n{TOWN}\n")
    ran = good(*command, "in.txt", "--known", "town=more.csv:name", "--threshold", "0")
    assert "known values: 41 of town" in ran.err
    assert TOWN in stored_values(into, "records", "town")
    assert "known values: 41 of town" in good(*command, "first.txt").err
    good("load", "m.model", "in.txt", "--into", into, "--threshold", "1")
    assert TOWN not in stored_values(into, "records", "town")  # its row is for review now


def test_values_of_another_table_of_the_target(folder: Path) -> None:
    with duckdb.connect("a.duckdb") as duck:
        duck.execute(f"CREATE TABLE towns AS SELECT '{TOWN}' AS name")
    good("load", "m.model", "in.txt", "--into", "a.duckdb", "--known", "town=towns.name")
    assert rows("a.duckdb")[0]["town"] == TOWN


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("town", "--known: got 'town', expected LABEL=FILE:COLUMN"),
        ("=towns.name", "--known: got '=towns.name'"),
        ("town=name", "expected TABLE.COLUMN in a.duckdb"),
        ("town=in.csv", "got 'town=in.csv' without a column, expected town=in.csv:COLUMN"),
        ("county=towns.name", "trained with known values of town"),
        ("town=none.name", "a table 'none' with a column 'name'"),
        ("town=towns.none", "a table 'towns' with a column 'none'"),
        ("town=no.csv:name", "no.csv: no such file"),
        ("town=in.csv:none", "in.csv: got 'none'"),
        ("town=a.db:towns.none", "a table 'towns' with a column 'none'"),
        ("town=a.db:towns.none", "the columns of 'towns' are name"),
        ("town=in.xls:towns.none", "in.xls"),
        ('town=towns.na"me; DROP TABLE towns', "check the names"),
        ("town=nosuch://host/db:towns.name", "into: got nosuch://"),
    ],
)
def test_wrong_places(folder: Path, given: str, words: str) -> None:
    with duckdb.connect("a.duckdb") as duck:
        duck.execute("CREATE TABLE towns AS SELECT 'Ely' AS name")
    with sqlite3.connect("a.db") as lite:
        lite.execute("CREATE TABLE towns (name TEXT)")
    Path("in.csv").write_text("name,n\nEly,1\n")
    Path("in.xls").write_text("")
    line = bad(
        "load",
        "m.model",
        "in.txt",
        "--into",
        "a.duckdb",
        "--known",
        "town=towns.name",
        "--known",
        given,
    )
    assert words in line
    assert stored_values("a.duckdb", "towns", "name") == ["Ely"]


def test_equal_values_only(folder: Path, made: Path) -> None:
    train = ("train", made / "train.jsonl", "--labels", "town", "-o", "x.model", "--quiet")
    good(*train, "--known", f"town={made}/towns.csv:town", "--known-exact", "--c2", "0.01")
    features = caesura.load("x.model").features
    assert not any(isinstance(one, Similar) for one in features)
    assert any(isinstance(one, Dictionary) and one.lexicon.name == "known town" for one in features)


def test_models_that_know_no_values(folder: Path, made: Path) -> None:
    caesura.SemiCRF().fit(["in York"], [[(1, 2, "town")]]).save("plain.model")
    known = ("--known", f"town={made}/towns.csv:town")
    line = bad("load", "plain.model", "in.txt", "--into", "a.db", *known)
    assert "trained without known values" in line
    train = ("train", made / "train.jsonl", "--labels", "town", "-o", "x.model", "--quiet", *known)
    assert "--known-exact: needs known values" in bad(*train[:-2], "--known-exact")
    assert "needs the model semi" in bad(*train, "--model", "chain")
    assert "leave one out" in bad(*train, "--warm-start", "plain.model")
    assert "expected LABEL=FILE:COLUMN" in bad(*train, "--known", "town=towns.name")


# -- values of tables that load wrote --------------------------------------------------------------


@pytest.mark.parametrize("kind", ["duckdb", "db", "parquet", "postgres"])
def test_values_in_one_cell_are_separate(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    X, y = ["Ann and Bo", "Lee and Cy"], [[(0, 1, "who"), (2, 3, "who")]] * 2
    pair = caesura.SemiCRF(c2=0.01).fit(X, y)
    into = (
        str(request.getfixturevalue("postgres")) if kind == "postgres" else f"{tmp_path}/a.{kind}"
    )
    given = [{"text": text, "note": "a | b"} for text in X]
    load(pair, given, into, threshold=0.0, verbatim=True)
    for column in ("who", "who_text"):
        assert stored_values(into, "records", column) == ["Ann", "Bo", "Cy", "Lee"]
    assert stored_values(into, "records", "note") == ["a | b"]


@pytest.mark.parametrize("kind", ["duckdb", "db"])
def test_read_and_the_command_find_the_same_values(folder: Path, kind: str) -> None:
    good("load", "m.model", "in.txt", "--into", f"a.{kind}", "--threshold", "1")
    Path("more.txt").write_text(f"from {TOWNS[0]}\n")
    good("load", "m.model", "more.txt", "--into", f"a.{kind}", "--threshold", "0")
    connect: Any = {"duckdb": duckdb.connect, "db": sqlite3.connect}[kind]
    with contextlib.closing(connect(f"a.{kind}")) as connection:
        known = KnownValues.read(connection, "records", ["town"])
        assert known.canonical("town", TOWNS[0]) == (TOWNS[0], 1.0)
        assert known.counts == {"town": 1}  # the other row is marked for review
        with pytest.raises(InvalidInput, match=r"a column 'twnn'; check the names .*town"):
            KnownValues.read(connection, "records", ["twnn"])
        with pytest.raises(InvalidInput, match=r"columns: got 'town', .* pass \['town'\]"):
            KnownValues.read(connection, "records", "town")
    assert stored_values(f"a.{kind}", "records", "town") == [TOWNS[0]]


def test_parquet_folders_keep_tables_apart(folder: Path) -> None:
    for number, table in enumerate(["a", "a-b", "a b", "[a]"]):
        Path("one.txt").write_text(f"from {TOWNS[number]}\n")
        names = ("--table", table, "--threshold", "0", "--source-name", "one")
        good("load", "m.model", "one.txt", "--into", "p.parquet", *names)
    for number, table in enumerate(["a", "a-b", "a b", "[a]"]):
        assert stored_values("p.parquet", table, "town") == [TOWNS[number]]
    with pytest.raises(InvalidInput, match="no files of a table 'b'"):
        stored_values("p.parquet", "b", "town")
