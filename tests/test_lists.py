"""Tables from lists: pages, matching, joining, the loop and the command."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pytest
from cli_data import bad, good
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from caesura import InvalidInput
from caesura.demo import pages, write_pages
from caesura.records import Source, table_from_lists
from caesura.records.consolidation import SEEDS, Extracted, consolidated
from caesura.records.lists import read_seeds
from caesura.records.pages import LONGEST_ITEM, items_of, read_pages
from caesura.records.seeding import Known, folded, labels_of

COLUMNS = ("country", "capital", "currency")
Rows = list[dict[str, str]]


def bundled(name: str, tmp_path: Path) -> Rows:
    write_pages(tmp_path)
    with open(tmp_path / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def tokens_of(text: str) -> list[list[tuple[str, ...]]]:
    return [[item.document.tokens for item in one.items] for one in items_of(text)]


# ---- pages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<ul><li>a<li>b</ul>", [[("a",), ("b",)]]),
        ("<UL><LI>a</LI><LI>b</LI></UL>", [[("a",), ("b",)]]),
        ("<ul><li>a<ul><li>c<li>d</ul><li>b</ul>", [[("a",), ("b",)], [("c",), ("d",)]]),
        ("<dl><dt>a<dd>b<dt>c<dd>d<dd>e</dl>", [[("a", "b"), ("c", "d", "e")]]),
        ("<table><tr><th>h<th>i<tr><td>a<td>b<tr><td>c<td>d</table>", [[("a", "b"), ("c", "d")]]),
        ("<div>a<br>b<br>c<br></div>", [[("a",), ("b",), ("c",)]]),
        ("<p>a<p>b", [[("a",), ("b",)]]),
        ("a b\nc d", [[("a", "b"), ("c", "d")]]),
        ("a\nb\n\nc\n\nd", [[("a",), ("b",)], [("c",), ("d",)]]),
        ("<ul><li><b>a<li>b</i></ul></table><p>x", [[("a",), ("b",)]]),
        ("<ul><li>a&nbsp;&amp;<script>x()</script><li>c<!-- d --></ul>", [[("a", "&"), ("c",)]]),
        ("<ul><li>alone</ul>", []),
        ("<ul><li> <li></ul>", []),
        ("", []),
        ("<", []),
        ("<table><tr><td", []),
    ],
)  # fmt: skip
def test_lists_of_pages(text: str, expected: Any) -> None:
    assert tokens_of(text) == expected


def test_tokens_know_their_tags() -> None:
    page = "<table><tr><td>A <b>b c</b>, d<td>e<tr><td>f<td>g</table>"
    columns = items_of(page)[0].items[0].document.columns
    assert columns["tag"] == ("td1", "b", "b", "td1", "td1", "td2")
    assert columns["open"] == ("td1", "b", "-", "-", "-", "td2")
    assert columns["close"] == ("-", "-", "b", "-", "td1", "td2")


def test_tokens_know_whether_they_are_layout() -> None:
    page = "\n".join(f"{name}: the {name}" for name in ("a", "b", "c", "c"))
    found = items_of(page)[0].items
    assert found[0].document.columns["often"] == ("few", "all", "all", "few")
    assert found[2].document.columns["often"] == ("some", "all", "all", "some")


def test_prose_is_not_an_item() -> None:
    prose = "word " * (LONGEST_ITEM + 1)
    assert tokens_of(f"<ul><li>a<li>{prose}<li>b</ul>") == [[("a",), ("b",)]]
    assert items_of(f"<p>{prose}<p>{prose}") == []


def test_deep_pages() -> None:
    assert tokens_of("<div>" * 50_000 + "<ul><li>a<li>b</ul>")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_damaged_pages_never_fail(seed: int) -> None:
    rng = random.Random(seed)
    text = rng.choice(list(pages().values()))
    for _ in range(rng.randrange(1, 30)):
        at = rng.randrange(len(text) + 1)
        cut = rng.choice([0, 1, 5, 40])
        text = (
            text[:at]
            + rng.choice(["", "<", ">", "</", "<li>", "</ul>", "&#x;", "\0"])
            + text[at + cut :]
        )
    for one in items_of(text):
        for item in one.items:
            document = item.document
            assert document.text is not None
            assert document.offsets is not None
            spans = [document.text[s:e] for s, e in document.offsets]
            assert tuple(spans) == document.tokens


def test_encodings(tmp_path: Path) -> None:
    for name, encoding in (("a", "utf-8"), ("b", "utf-16"), ("c", "cp1252"), ("d", "utf-8-sig")):
        (tmp_path / name).write_bytes("Kraków".replace("ó", "é").encode(encoding))
    (tmp_path / "e").write_bytes("<meta charset=iso-8859-2>Łódź".encode("iso-8859-2"))
    read = read_pages([tmp_path / name for name in "abcde"])
    assert [text[-6:] for text in list(read.values())[:4]] == ["Krakéw"] * 4
    assert read[str(tmp_path / "e")].endswith("Łódź")


# ---- matching ------------------------------------------------------------------------------------


def match(text: str, *rows: dict[str, str]) -> Any:
    lists = items_of(f"{text}\nother")[0]
    return Known(rows, COLUMNS).match(lists.items[0].document)


def test_values_are_found_whatever_their_spelling() -> None:
    row = {"country": "Côte d'Ivoire", "capital": "Yamoussoukro", "currency": "8849"}
    found = match("COTE D’IVOIRE - yamoussoukro: 8,849", row)
    assert found == {"country": (0, 2), "capital": (3, 4), "currency": (5, 8)}


def test_longer_values_go_first() -> None:
    row = {"country": "Mexico", "capital": "Mexico City"}
    assert match("Mexico - Mexico City", row) == {"country": (0, 1), "capital": (2, 4)}


def test_values_at_several_places_stay_open() -> None:
    row = {"country": "Singapore", "capital": "Singapore", "currency": "dollar"}
    assert match("Singapore, Singapore (dollar)", row) == {"currency": (4, 5)}


def test_one_value_is_not_enough() -> None:
    row = {"country": "France", "capital": "Paris"}
    assert match("Flights to Paris", row) is None
    assert match("Flights to France", row) is None
    assert match("euro: euro", {"country": "Italy", "currency": "euro"}) is None


def test_two_rows_that_fit_as_well_are_unclear() -> None:
    rows = [
        {"country": "Congo", "capital": "Kinshasa"},
        {"country": "Congo", "capital": "Brazzaville"},
    ]
    assert match("Congo: Kinshasa or Brazzaville", *rows) is None
    assert match("Congo: Kinshasa", *rows) == {"country": (0, 1), "capital": (2, 3)}


def test_labels_are_partial() -> None:
    page = "France: Paris, euro\nItaly: Rome, lira\nPeru: Lima, sol"
    rows = [
        {"country": "France", "capital": "Paris", "currency": "euro"},
        {"country": "Italy", "capital": "Rome", "currency": "euro"},
    ]
    labels = labels_of(items_of(page)[0], Known(rows, COLUMNS))
    assert labels.columns == COLUMNS
    assert [segment.label for segment in labels.known[0].segments] == list(COLUMNS)
    assert labels.known[0].tokens == {1: ("O",), 3: ("O",)}
    assert labels.known[1].tokens[4] == ("O", "currency")  # it may be here, in other words
    assert 2 not in labels.known


# ---- joining -------------------------------------------------------------------------------------


def said(page: str, chance: float = 1.0, **values: str) -> Extracted:
    return Extracted(
        values, dict.fromkeys(values, chance), Source(page, 0 if page == SEEDS else 1, 1)
    )


def test_the_majority_is_kept_and_the_others_are_shown() -> None:
    found = [
        said("a", country="Australia", capital="Sydney"),
        said("b", country="AUSTRALIA", capital="Canberra"),
        said("c", 0.9, country="Australia", capital="canberra"),
    ]
    (row,) = consolidated(found, COLUMNS)
    assert row.values == {"country": "Australia", "capital": "Canberra"}
    assert row.confidences["capital"] == pytest.approx((1 - 0.1 * 0.19) * 1.9 / 2.9)
    assert list(row.alternatives["capital"]) == ["Sydney"]
    assert [source.page for source in row.sources] == ["a", "b", "c"]


def test_seeds_are_right() -> None:
    found = [
        said(SEEDS, country="Australia", capital="Canberra"),
        *(said(page, country="Australia", capital="Sydney") for page in "abc"),
    ]
    (row,) = consolidated(found, COLUMNS)
    assert row.values["capital"] == "Canberra"
    assert row.confidences["capital"] == 1.0
    assert list(row.alternatives["capital"]) == ["Sydney"]


def test_misspelt_keys_are_one_if_another_column_agrees() -> None:
    found = [
        said("a", country="Kazakhstan", capital="Astana"),
        said("b", country="Kazakstan", capital="Astana"),
        said("c", country="Tanzania", capital="Dodoma"),
        said("d", country="Tasmania", capital="Hobart"),
        said("e", country="Australia", capital="Canberra"),
        said("f", country="Austria", capital="Vienna"),
    ]
    rows = consolidated(found, COLUMNS)
    assert rows[0].values["country"] == "Kazakhstan"
    assert len(rows) == 5
    backwards = consolidated(found[::-1], COLUMNS)
    assert len(backwards) == 5


def test_rows_without_a_key_or_with_nothing_else_are_left_out() -> None:
    found = [said("a", capital="Paris", currency="euro"), said("a", country="Menu")]
    assert consolidated(found, COLUMNS) == []
    assert len(consolidated([said("a", country="Menu")], ["country"])) == 1


# ---- the loop ------------------------------------------------------------------------------------


def right(rows: Any, gold: Rows) -> int:
    truth = {folded(row["country"]): row for row in gold}
    return sum(
        all(folded(row.values.get(name, "")) == folded(value) for name, value in expected.items())
        for row in rows
        if (expected := truth.get(folded(row.values["country"])))
    )


def test_the_bundled_pages_give_the_whole_table(tmp_path: Path) -> None:
    gold, seeds = bundled("gold.csv", tmp_path), bundled("seeds.csv", tmp_path)
    lines: list[str] = []
    table = table_from_lists(seeds, pages(), progress=lines.append)
    assert right(table.rows, gold) == len(table.rows) == len(gold) == 60
    assert table.columns == COLUMNS
    assert [one.rows for one in table.rounds] == sorted(one.rows for one in table.rounds)
    assert table.rounds[0].lists < table.rounds[1].lists
    assert len(lines) == 1 + len(table.rounds)
    assert "travel.html: no list in it" in table.skipped
    australia = next(row for row in table.rows if row.values["country"] == "Australia")
    assert australia.values["capital"] == "Canberra"
    assert list(australia.alternatives["capital"]) == ["Sydney"]
    assert {source.page for source in australia.sources} == {
        *("commonwealth.txt", "pacific.html", "quiz.html")
    }
    one = table_from_lists(seeds, pages(), rounds=1)
    assert right(one.rows, gold) < 60
    sums = [sum(row.confidences.values()) for row in table.rows]
    assert sums == sorted(sums, reverse=True)


def test_lists_that_are_no_lists_give_nothing() -> None:
    seeds = [{"country": "France", "capital": "Paris"}, {"country": "Japan", "capital": "Tokyo"}]
    menu = "<ul><li>Home<li>France<li>Japan<li>Paris hotels<li>Contact</ul>"
    texts = {"travel.html": pages()["travel.html"], "menu.html": menu, "empty.html": ""}
    table = table_from_lists(seeds, texts)
    assert [row.values for row in table.rows] == seeds
    assert all(row.confidence == 1.0 for row in table.rows)
    assert len(table.skipped) == 3


def test_one_column() -> None:
    page = "<ul><li><b>France</b> is nice<li><b>Japan</b> is far<li><b>Peru</b> is high</ul>"
    table = table_from_lists([{"country": "France"}, {"country": "Japan"}], {"a.html": page})
    assert sorted(row.values["country"] for row in table.rows) == ["France", "Japan", "Peru"]


def test_lists_that_contradict_the_seeds() -> None:
    seeds = [{"country": "France", "capital": "Paris"}, {"country": "Japan", "capital": "Tokyo"}]
    good_page = "<ul><li>France: Paris<li>Japan: Tokyo<li>Peru: Lima</ul>"
    swapped = "<ul><li>Paris: France<li>Tokyo: Japan<li>Lima: Peru</ul>"
    table = table_from_lists(seeds, {"a.html": good_page, "b.html": swapped})
    values = {row.values["country"]: row.values["capital"] for row in table.rows}
    assert values == {"France": "Paris", "Japan": "Tokyo", "Peru": "Lima"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "got an empty file, expected a header and seed rows"),
        ("country,capital\n", "got no rows"),
        ("country,country\na,b\n", "expected a different name for each column"),
        ("country,capital\na,b,c\n", "row 2: got more cells than the 2 columns"),
        ("country,capital\n,Paris\n", "the first column, 'country', is empty"),
        ("O,capital\na,b\n", "got a column called 'O', which is reserved"),
        ("country,sources\na,b\n", "got a column called 'sources', which is reserved"),
        ('country,capital\n"a,b\n', "cannot be read as a table"),
    ],
)
def test_bad_seed_files(tmp_path: Path, content: str, text: str) -> None:
    path = tmp_path / "seeds.csv"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=text) as error:
        read_seeds(path)
    assert "seeds.csv" in str(error.value)


def test_seed_files_with_other_delimiters(tmp_path: Path) -> None:
    path = tmp_path / "seeds.tsv"
    for delimiter in "\t;|":
        path.write_text(f"\ufeffcountry{delimiter}capital\nFrance{delimiter} Paris \n", "utf-8")
        assert read_seeds(path) == (
            ("country", "capital"),
            [{"country": "France", "capital": "Paris"}],
        )


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "xlsx"])
def test_seeds_in_every_format_of_tables(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"seeds.{suffix}"
    rows = [{"country": "Brazil", "n": "0"}, {"country": "Chile", "n": None}]
    if suffix == "csv":
        path.write_text("country,n\nBrazil,0\nChile,\n")
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif suffix == "parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        book = openpyxl.Workbook()
        for cells in [["country", "n"], ["Brazil", 0], ["Chile", None]]:
            book.active.append(cells)
        book.save(path)
    assert read_seeds(path) == (("country", "n"), [rows[0], {"country": "Chile"}])


def test_seeds_without_columns(tmp_path: Path) -> None:
    path = tmp_path / "seeds.jsonl"
    path.write_text('"Brazil"\n')
    with pytest.raises(InvalidInput, match=r"seeds\.jsonl"):
        read_seeds(path)


@pytest.mark.parametrize(
    ("seeds", "more", "text"),
    [
        (3, {}, "seeds: got 3, expected rows"),
        (["France"], {}, r"seeds\[0\]: got 'France', expected a dict"),
        ([], {}, "seeds: got no rows"),
        ([{"a": "b"}], {"rounds": 0}, "rounds: got 0"),
        ([{"a": "b"}], {"min_confidence": 2}, "min_confidence: got 2"),
        ([{"a": "b"}], {"pages": "page.html"}, "pages: got 'page.html', expected a list of files"),
        ([{"a": "b"}], {"pages": [3]}, "pages: got 3, expected a path"),
        ([{"a": "b"}], {"pages": {"a": 3}}, r"pages\['a'\]: got 3, expected a string"),
        ([{"a": "b"}], {"pages": ["no/such.html"]}, "no/such.html: cannot be read: no such file"),
    ],
)
def test_bad_arguments(seeds: Any, more: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        table_from_lists(seeds, **{"pages": {}, **more})


# ---- the command ---------------------------------------------------------------------------------


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good("table", "--example", "countries")
    lists = sorted(str(path) for path in Path("countries").glob("*.*") if path.suffix != ".csv")
    arguments = ["table", "--seeds", "countries/seeds.csv", "--lists", *lists]
    done = good(*arguments, "-o", "table.csv")
    assert "round 2: lists used: 8" in done.err
    assert "60 rows: table.csv" in done.err
    written = Path("table.csv").read_bytes()
    rows = list(csv.DictReader(written.decode().splitlines()))
    assert list(rows[0]) == [*COLUMNS, "confidence", "sources", "alternatives"]
    assert len(rows) == 60
    nigeria = next(row for row in rows if row["country"] == "Nigeria")
    assert nigeria["alternatives"].startswith("capital=Lagos (0.")
    assert "countries/africa.txt:1:4" in nigeria["sources"]
    good(*arguments, "-o", "again.csv")
    assert Path("again.csv").read_bytes() == written
    good(*arguments, "-o", "table.jsonl")
    objects = [json.loads(line) for line in Path("table.jsonl").read_text("utf-8").splitlines()]
    assert [one["country"] for one in objects] == [row["country"] for row in rows]
    assert good(*arguments, "-o", "-").out.encode() == written
    shown = good(*arguments)
    assert shown.out.splitlines()[0].split() == [*COLUMNS, "confidence", "sources"]
    counted = json.loads(good(*arguments, "-o", "table.tsv", "--json").out)
    assert counted["rows"] == 60
    assert counted["rounds"][0]["lists"] == 2


def test_command_that_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("seeds.csv").write_text("country,capital\nFrance,Paris\n")
    Path("page.html").write_text("<ul><li>nothing<li>of interest</ul>")
    done = good("table", "--seeds", "seeds.csv", "--lists", "page.html", "-o", "table.csv")
    assert "no list has two items that match the seeds; give more seeds" in done.err
    assert "page.html, list 1 (ul, 2 items): known rows match 0" in done.err
    assert Path("table.csv").read_text().count("\n") == 2


BOTH = ["--seeds", "seeds.csv", "--lists", "page.html"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--lists", "page.html"], 2, "--seeds"),
        (["--seeds", "seeds.csv"], 2, "--lists"),
        (["--seeds", "seeds.csv", "--lists", "no.html"], 1, "no.html: cannot be read"),
        (["--seeds", "no.csv", "--lists", "page.html"], 1, "no.csv: cannot be read"),
        ([*BOTH, "-o", "table.pdf"], 1, "expected one of .csv"),
        ([*BOTH, "-o", "no/table.csv"], 1, "does not exist"),
        ([*BOTH, "-o", "seeds.csv"], 2, "would be written over"),
        ([*BOTH, "-o", "-", "--json"], 2, "give a file to -o"),
        (["--example", "seeds.csv"], 1, "is a file; give the name of a folder"),
    ],
)
def test_bad_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("seeds.csv").write_text("country,capital\nFrance,Paris\n")
    Path("page.html").write_text("<ul><li>a<li>b</ul>")
    assert text in bad("table", *arguments, code=code)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "seeds.csv"]
