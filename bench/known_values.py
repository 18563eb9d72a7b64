"""Segmentation with a database: F1 on Cora with a part of the field values known, and without.

    python bench/known_values.py [--data FOLDER] [--share 0.5] [--seeds 3] [--exact]

A random share of all distinct values of the fields of Cora's references, training and test alike,
is put into a database.  The same model learns from the training references with and without the
features of known values; both are scored on the test references.  *later* is the model that learnt
with half of these values, which is then told of the rest without being fitted again.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from pathlib import Path
from typing import Any

from timing import table

import caesura
from caesura.corpora import read_conll
from caesura.features import preset
from caesura.records import KnownValues

LABELS = [
    "author",
    "booktitle",
    "editor",
    "institution",
    "journal",
    "location",
    "publisher",
    "title",
]


def values_of(documents: list[Any], label: str) -> list[str]:
    found = {
        document.text_of(segment)
        for document in documents
        for segment in document.segments
        if segment.label == label
    }
    return sorted(found)


def measured(
    train: list[Any], test: list[Any], share: float, seed: int, exact: bool
) -> list[float]:
    rng = random.Random(seed)
    every = {label: values_of([*train, *test], label) for label in LABELS}
    kept = {label: rng.sample(some, int(share * len(some))) for label, some in every.items()}
    options: dict[str, Any] = {"c1": 0.05, "c2": 0.01, "max_iterations": 100, "random_state": 0}
    base = preset("citations", segments=True)
    without = caesura.SemiCRF(base, **options).fit(train)
    known = KnownValues({label: some[: len(some) // 2] for label, some in kept.items()})
    model = caesura.SemiCRF([*base, *known.features(not exact)], **options).fit(train)
    half = model.score(test)
    known.add(kept)
    later = known.attach(model).score(test)
    full = caesura.SemiCRF([*base, *known.features(not exact)], **options).fit(train)
    return [100 * score for score in (without.score(test), half, later, full.score(test))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--exact", action="store_true", help="equal values only: faster")
    args = parser.parse_args()
    cora: dict[str, Any] = {"scheme": "plain", "encoding": "latin-1", "comment": None}
    parts = [
        list(read_conll(args.data / "cora_ie" / f"hosemicrf_ref.{part}", **cora))
        for part in ("train", "test")
    ]
    began = time.process_time()
    rows = [
        measured(parts[0], parts[1], args.share, seed, args.exact) for seed in range(args.seeds)
    ]
    names = ("without", f"{args.share / 2:.0%} known", "later", f"{args.share:.0%} known")
    mean = [statistics.mean(column) for column in zip(*rows, strict=True)]
    print(table(names, [[f"{x:.2f}" for x in row] for row in [*rows, mean]]))
    print(f"the last row is the mean; {time.process_time() - began:.0f} s of CPU")


if __name__ == "__main__":
    main()
