"""Tables from lists: correctly recovered rows, by rounds and seeds.

    python bench/lists.py [--draws 20]

The bundled pages first, with the bundled seeds, then with seeds drawn from the whole table, each
number of them `--draws` times.  The features were chosen with these pages in sight; the pages on
chemical elements that are made here were not looked at before.  A row is right if all its values
are those of the table, and no value is missing that the pages have.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import time
from statistics import mean

from timing import table

from caesura.demo.pages import _bundled, pages
from caesura.records import ListTable, table_from_lists
from caesura.records.seeding import folded

Rows = list[dict[str, str]]
SEEDS = (2, 3, 5, 8, 12)
ROUNDS = (1, 2, 3, 4)
ELEMENTS = (
    "Hydrogen/H Helium/He Lithium/Li Beryllium/Be Boron/B Carbon/C Nitrogen/N Oxygen/O Fluorine/F "
    "Neon/Ne Sodium/Na Magnesium/Mg Aluminium/Al Silicon/Si Phosphorus/P Sulphur/S Chlorine/Cl "
    "Argon/Ar Potassium/K Calcium/Ca Scandium/Sc Titanium/Ti Vanadium/V Chromium/Cr Manganese/Mn "
    "Iron/Fe Cobalt/Co Nickel/Ni Copper/Cu Zinc/Zn Gallium/Ga Germanium/Ge Arsenic/As Selenium/Se "
    "Bromine/Br Krypton/Kr"
)


def rows_of(name: str) -> Rows:
    """Return the rows of a bundled table."""
    return list(csv.DictReader(io.StringIO(_bundled()[name])))


def right(found: ListTable, gold: Rows) -> int:
    """Count the rows that are right."""
    key = next(iter(gold[0]))
    truth = {folded(row[key]): row for row in gold}
    return sum(
        (row := truth.get(folded(one.values[key]))) is not None
        and all(folded(one.values.get(name, "")) == folded(value) for name, value in row.items())
        for one in found.rows
    )


def elements() -> tuple[Rows, dict[str, str]]:
    """Return the first elements, and pages about them in other layouts than the bundled ones."""
    rows = [
        {"element": name, "symbol": symbol, "number": str(number)}
        for number, (name, symbol) in enumerate((one.split("/") for one in ELEMENTS.split()), 1)
    ]
    light, heavy, odd = rows[:20], rows[14:], rows[::2]
    pages = {
        "cards.html": "<html><body><div>Cards</div>"
        + "".join(
            f"<div class=card><span>{r['number']}</span> <strong>{r['symbol']}</strong> "
            f"{r['element']}</div>\n"
            for r in light
        ),
        "heavy.html": "<table><tr><td>No.</td><td>Name (symbol)</td></tr>"
        + "".join(f"<tr><td>{r['number']}<td>{r['element']} ({r['symbol']})</tr>" for r in heavy)
        + "</table>",
        "odd.txt": "\n".join(
            f"- {r['symbol']} = {r['element'].lower()}, atomic number {r['number']}" for r in odd
        ),
        "shop.html": "<ul><li>Hydrogen peroxide, 3 litres<li>Iron nails, 26 boxes<li>Paint</ul>",
    }
    return rows, pages


def drawn(gold: Rows, texts: dict[str, str], draws: int) -> str:
    """Return rows right and wrong with seeds that are drawn."""
    complete = [row for row in gold if all(row.values())]
    lines = []
    for count in SEEDS:
        cells = []
        for rounds in ROUNDS:
            good, bad = [], []
            for draw in range(draws):
                seeds = random.Random(draw).sample(complete, count)
                found = table_from_lists(seeds, texts, rounds=rounds)
                good.append(right(found, gold))
                bad.append(len(found.rows) - good[-1])
            cells.append(f"{mean(good):.1f} ({mean(bad):.1f})")
        lines.append([count, *cells])
    return table(["seeds", *(f"round {n}" for n in ROUNDS)], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    gold, texts = rows_of("gold.csv"), pages()
    print(f"{len(gold)} rows in {len(texts)} pages; with the bundled seeds:")
    lines = []
    for rounds in ROUNDS:
        began = time.process_time()
        found = table_from_lists(rows_of("seeds.csv"), texts, rounds=rounds)
        spent = time.process_time() - began
        last = found.rounds[-1]
        lines.append(
            [rounds, last.lists, last.labelled, len(found.rows), right(found, gold), f"{spent:.2f}"]
        )
    print(table(["rounds", "lists", "matched", "rows", "right", "seconds"], lines))
    print(f"\nseeds drawn {options.draws} times, rows right (and wrong) after each round:")
    print(drawn(gold, texts, options.draws))
    gold, texts = elements()
    print(f"\nelements, {len(gold)} rows in {len(texts)} pages:")
    print(drawn(gold, texts, options.draws))


if __name__ == "__main__":
    main()
