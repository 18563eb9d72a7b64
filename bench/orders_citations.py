"""Our own features for references, with patterns of labels and without: preset `citations`.

    python bench/orders_citations.py [--data ../shared/data] [--test] [--orders 1,2]

The semi-CRF of bench/accuracy.py.  Without --test: five-fold cross-validation of the 300 training
references.  With it: strict segment F1 on the 200 others, and whether the difference is chance.
"""

from __future__ import annotations

import time
from typing import Any

from orders_cora import answered
from orders_data import Labelled, by_label, cora, p_values, parsed
from timing import table

import caesura
from caesura.features import preset

FOLDS = 5


def model(order: int, **more: Any) -> caesura.SemiCRF:
    options: dict[str, Any] = {"c1": 0.05, "c2": 0.01, "delta": 1e-3, "n_threads": 1} | more
    features = preset("citations", segments=True)
    return caesura.SemiCRF(features, order=order, same_label_adjacent=False, **options)


def validated(model: caesura.SemiCRF, train: Labelled) -> list[Any]:
    """Return the segments that models of the other folds found."""
    n = len(train.tags)
    found: list[Any] = [None] * n
    for fold in range(FOLDS):
        rest = train.part(i for i in range(n) if i % FOLDS != fold)
        found[fold::FOLDS] = answered(model, rest, train.part(range(fold, n, FOLDS)))
    return found


def main() -> None:
    arguments = parsed(
        __doc__,
        plot=False,
        test={"action": "store_true", "help": "F1 on the test set"},
        orders={"default": "1,2,3"},
    )
    if arguments is None:
        return
    train, test = cora(arguments.data)
    rows, answers = [], {}
    gold = test.segments if arguments.test else train.segments
    for order in map(int, arguments.orders.split(",")):
        began, one = time.process_time(), model(order)
        found = answered(one, train, test) if arguments.test else validated(one, train)
        seconds = f"{time.process_time() - began:.0f} s"
        score = by_label(gold, found)["All"].f1
        answers[f"order {order}"] = found
        rows.append([f"order {order}", f"{score:.2f}", f"{one.n_features_:,}", seconds])
        print(*rows[-1], flush=True)
    print("test set" if arguments.test else f"training data, {FOLDS}-fold cross-validation")
    print(table(["", "F1", "weights", "processor"], rows))
    if len(answers) > 1:
        print(table(["p", *list(answers)[1:]], p_values(gold, answers)))


if __name__ == "__main__":
    main()
