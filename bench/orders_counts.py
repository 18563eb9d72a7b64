"""Numbers of label patterns up to each order, beside those that Cuong et al. 2014 imply.

    python bench/orders_counts.py [--data ../shared/data]

A pattern is some labels in a row; over Cora and punctuation each run of equal labels counts as
one label.  Patterns of a single label count too.  Letters: the mean over the ten folds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from orders_data import ORDERS, Labelled, cora, letters, n_patterns, parsed, punctuation
from timing import table

EXPECTED = {  # for orders 2 to 5, counted earlier from the same files
    "Cora": (232, 399, 550, 655),
    "punctuation": (179, 426, 841, 1426),
    "letters": (488, 749, 971, 1151),
}


def of_runs(labelled: Labelled) -> list[int]:
    return n_patterns([[one.label for one in some] for some in labelled.segments])


def counted(data: Path) -> dict[str, list[int]]:
    folds = np.array([n_patterns(fold.tags) for fold in letters(data)])
    return {
        "Cora": of_runs(cora(data)[0]),
        "punctuation": of_runs(punctuation(data)[0]),
        "letters": np.rint(folds.mean(axis=0)).astype(int).tolist(),
    }


def main() -> None:
    arguments = parsed(__doc__, plot=False)
    if arguments is None:
        return
    found = counted(arguments.data)
    rows = [
        (name, *counts, "yes" if tuple(counts[1:]) == EXPECTED[name] else "NO")
        for name, counts in found.items()
    ]
    print(table(("patterns up to order", *map(str, ORDERS), "as expected"), rows))


if __name__ == "__main__":
    main()
