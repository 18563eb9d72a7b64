"""Tables from lists: rows of the bundled pages that are recovered right, by rounds and seeds.

    python bench/lists.py [--draws 20]

First with the bundled seeds, then with seeds drawn from the whole table, each number of them
`--draws` times.  A row is right if all its values are those of the table, and no value is missing
that the pages have.
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


def rows_of(name: str) -> Rows:
    """Return the rows of a bundled table."""
    return list(csv.DictReader(io.StringIO(_bundled()[name])))


def right(found: ListTable, gold: Rows) -> int:
    """Count the rows that are right."""
    truth = {folded(row["country"]): row for row in gold}
    return sum(
        (row := truth.get(folded(one.values["country"]))) is not None
        and all(folded(one.values.get(name, "")) == folded(value) for name, value in row.items())
        for one in found.rows
    )


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
    complete = [row for row in gold if all(row.values())]
    lines = []
    for count in SEEDS:
        cells = []
        for rounds in ROUNDS:
            good, bad = [], []
            for draw in range(options.draws):
                seeds = random.Random(draw).sample(complete, count)
                found = table_from_lists(seeds, texts, rounds=rounds)
                good.append(right(found, gold))
                bad.append(len(found.rows) - good[-1])
            cells.append(f"{mean(good):.1f} ({mean(bad):.1f})")
        lines.append([count, *cells])
    print(table(["seeds", *(f"round {n}" for n in ROUNDS)], lines))


if __name__ == "__main__":
    main()
