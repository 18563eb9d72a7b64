"""Uncertain rows in DuckDB and SQLite: what the views and the questions say."""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from toys import addresses

import caesura
from caesura import InvalidInput
from caesura.records import (
    UncertainRecord,
    UncertainRow,
    answer_probability,
    answers,
    store_uncertain,
    uncertain_rows,
)

ENGINES = ("duckdb", "sqlite")


def connected(engine: str, path: str = ":memory:") -> Any:
    return duckdb.connect(path) if engine == "duckdb" else sqlite3.connect(path)


@pytest.fixture(params=ENGINES)
def connection(request: Any) -> Iterator[Any]:
    opened = connected(request.param)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def model() -> caesura.SemiCRF:
    X, y = addresses(30, seed=1)
    return caesura.SemiCRF(c2=1.0, max_iterations=40).fit(X, y)


@pytest.fixture(scope="module")
def texts() -> list[list[str]]:
    return addresses(6, seed=9)[0]


@pytest.fixture(scope="module")
def stored(model: caesura.SemiCRF, texts: list[list[str]]) -> list[UncertainRecord]:
    return uncertain_rows(model, texts, k=3, n_best=50)


def test_sql_says_what_python_says(connection: Any, stored: list[UncertainRecord]) -> None:
    assert store_uncertain(connection, "homes", stored) == len(stored)
    rng = random.Random(0)
    for key, record in enumerate(stored):
        for label in ("street", "town"):
            said = connection.execute(
                "SELECT value, probability FROM homes_values WHERE text_id = ? AND label = ? "
                "AND occurrences < 2",
                [str(key), label],
            ).fetchall()
            assert len(said) == sum(not isinstance(v, tuple) for v in record.values(label))
            for value, chance in said:
                assert chance == pytest.approx(record.values(label)[value])
        for _ in range(5):
            query = {
                label: rng.choice(list(record.values(label))) for label in record.rows[0].cells
            }
            found = answers(connection, "homes", query)
            expected = {str(i): one.probability(query) for i, one in enumerate(stored)}
            assert found.probabilities.get(str(key), 0.0) == pytest.approx(expected[str(key)])
            assert found.expected_count == pytest.approx(math.fsum(expected.values()))
            survival = math.prod(1 - chance for chance in expected.values())
            assert found.any == pytest.approx(1 - survival)


def test_views_of_expected_counts_and_pairs(connection: Any, stored: list[UncertainRecord]) -> None:
    store_uncertain(connection, "homes", stored)
    value = next(v for v in stored[0].values("town") if isinstance(v, str))
    street = next(v for v in stored[0].values("street") if isinstance(v, str))
    ((expected, texts),) = connection.execute(
        "SELECT expected_count, texts FROM homes_expected WHERE label = 'town' AND value = ? "
        "AND occurrences = 1",
        [value],
    ).fetchall()
    chances = [record.values("town").get(value, 0.0) for record in stored]
    assert expected == pytest.approx(math.fsum(chances))
    assert texts == sum(chance > 0 for chance in chances)
    ((pair,),) = connection.execute(
        "SELECT probability FROM homes_pairs WHERE text_id = '0' AND label_1 = 'street' "
        "AND value_1 = ? AND label_2 = 'town' AND value_2 = ?",
        [street, value],
    ).fetchall()
    assert pair == pytest.approx(stored[0].probability({"street": street, "town": value}))


def test_single_fields_have_the_probability_of_the_model(
    connection: Any,
    model: caesura.SemiCRF,
    texts: list[list[str]],
    stored: list[UncertainRecord],
) -> None:
    store_uncertain(connection, "homes", stored)
    for label in ("number", "town"):
        value = max((v for v in stored[0].values(label) if v), key=str)
        chance = answers(connection, "homes", {label: value}).probabilities["0"]
        exact = answer_probability(model, texts[0], {label: value})
        assert chance == pytest.approx(exact, abs=1e-4)


def test_all_kinds_of_values(connection: Any) -> None:
    cells: dict[str, dict[Any, float]] = {
        "town": {"York": 0.5, ("York", "Hull"): 0.25, None: 0.25},
        'odd "label"; --': {"O'Hara; DROP TABLE x": 1.0},
    }
    record = UncertainRecord("'text'", (UncertainRow(0.8, cells),), math.inf, 0.0)
    store_uncertain(connection, 'odd "name"', [record], ids=["a'b"])
    cases: list[tuple[dict[str, Any], float]] = [
        ({"town": "York"}, 0.4),
        ({"town": ("York", "Hull")}, 0.2),
        ({"town": None, 'odd "label"; --': "O'Hara; DROP TABLE x"}, 0.2),
    ]
    for query, expected in cases:
        found = answers(connection, 'odd "name"', query)
        assert found.probabilities == {"a'b": pytest.approx(expected)}
    assert answers(connection, 'odd "name"', {"town": "Leeds"}).probabilities == {}
    text = connection.execute('SELECT * FROM "odd ""name""_texts"').fetchall()
    assert text == [("a'b", "'text'", None, 0.0, 0.8)]


def test_texts_are_replaced(connection: Any, stored: list[UncertainRecord]) -> None:
    store_uncertain(connection, "homes", stored[:3])
    store_uncertain(connection, "homes", stored[3:5], ids=[1, 2])
    store_uncertain(connection, "homes", [])
    ((texts,),) = connection.execute("SELECT COUNT(*) FROM homes_texts").fetchall()
    assert texts == 3
    sums = connection.execute("SELECT SUM(probability) FROM homes_rows GROUP BY text_id").fetchall()
    assert [one for (one,) in sums] == [pytest.approx(1.0)] * 3


def test_nothing_is_half_written(connection: Any, stored: list[UncertainRecord]) -> None:
    store_uncertain(connection, "homes", stored[:1])
    for view in ("pairs", "expected", "values"):
        connection.execute(f"DROP VIEW homes_{view}")
    connection.execute("DROP TABLE homes_cells")
    connection.execute(
        "CREATE TABLE homes_cells (text_id VARCHAR, row_id INTEGER, label VARCHAR, value VARCHAR, "
        "occurrences INTEGER, probability DOUBLE CHECK (probability < 0))"
    )
    with pytest.raises(InvalidInput, match=r"database: got .*says: "):
        store_uncertain(connection, "homes", stored)
    ((texts,),) = connection.execute("SELECT COUNT(*) FROM homes_texts").fetchall()
    assert texts == 1


@pytest.mark.parametrize("suffix", ["duckdb", "sqlite"])
def test_files(tmp_path: Path, suffix: str, stored: list[UncertainRecord]) -> None:
    path = tmp_path / f"homes.{suffix}"
    with pytest.raises(InvalidInput, match="does not exist; store rows in it first"):
        answers(path, "homes", {"town": "York"})
    store_uncertain(path, "homes", stored)
    store_uncertain(str(path), "more", stored[:1])
    assert answers(path, "more", {"town": None}).expected_count == pytest.approx(
        stored[0].probability({"town": None})
    )
    with pytest.raises(InvalidInput, match=r"query: got 'city', expected one of the columns, num"):
        answers(path, "homes", {"city": "York"})
    with pytest.raises(InvalidInput, match=r"name: got 'home', .* stored under: 'homes', 'more';"):
        answers(path, "home", {"town": "York"})


def test_tables_of_others(connection: Any, stored: list[UncertainRecord]) -> None:
    """Neither read nor written, and named."""
    with pytest.raises(InvalidInput, match=r"name: got 'a', .* stored under: there is none; pass"):
        answers(connection, "a", {"town": "York"})
    connection.execute('CREATE TABLE "say ""hi""_texts" (x INTEGER)')
    with pytest.raises(InvalidInput, match=r"name: got 'say \"hi\"', expected no table"):
        store_uncertain(connection, 'say "hi"', stored)
    ((count,),) = connection.execute('SELECT COUNT(*) FROM "say ""hi""_texts"').fetchall()
    assert count == 0


def test_bad_arguments(tmp_path: Path, stored: list[UncertainRecord]) -> None:
    good = sqlite3.connect(":memory:")
    with pytest.raises(InvalidInput, match=r"database: got .*homes.txt', expected a name that"):
        store_uncertain(tmp_path / "homes.txt", "homes", stored)
    with pytest.raises(InvalidInput, match="database: got 3, expected the name of a file"):
        store_uncertain(3, "homes", stored)
    with pytest.raises(InvalidInput, match="name: got ' ', expected the name of a table"):
        store_uncertain(good, " ", stored)
    with pytest.raises(InvalidInput, match="ids: got 1 of them, expected one for each of the 6"):
        store_uncertain(good, "homes", stored, ids=["a"])
    with pytest.raises(InvalidInput, match="ids: got 'a' twice"):
        store_uncertain(good, "homes", stored[:2], ids=["a", "a"])
    with pytest.raises(InvalidInput, match=r"records\[0\]: got 'York', expected an Uncertain"):
        store_uncertain(good, "homes", ["York"])  # type: ignore[list-item]
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"not a database at all, just some bytes that fill a page" * 40)
    with pytest.raises(InvalidInput, match=r"damaged.sqlite, expected a database.*file is not"):
        store_uncertain(damaged, "homes", stored)
    good.close()
