"""Fields of references by chains and semi-CRFs of order 1 to 3: Cuong et al. 2014, Tables 8, 9.

    python bench/orders_cora.py [--data ../shared/data] [--models "C1;SC1"] [--plot FILE]

With the paper's features and penalty: sigma 1 is c2 = 1/2, sigma 10 is c2 = 1/200.  Chains have
the fields as tags, and segments of semi-CRFs are runs of one field, no longer than in the training
data.  F1 by a strict scorer, and by one that over-counts as the paper's does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from orders_data import Labelled, by_label, cora, p_values, parsed, plot_orders, runs
from timing import table

import caesura
from caesura.features import bias, edge, function, within, word

PAPER = {  # published results, Table 8
    "C1": 85.34,
    "C2": 85.47,
    "C3": 84.77,
    "SC1": 85.67,
    "SC2": 86.67,
    "SC3": 86.07,
    "SC3, sigma 10": 87.45,
}
AROUND = 4  # words before and after a token in its bags
LONGEST = 6  # maximum number of letters in an n-gram


# -- features --------------------------------------------------------------------------------------


def before(document: caesura.Document, t: int) -> list[str]:
    """Return the words before a token, without their distance."""
    return [document.tokens[u] if u >= 0 else "<s>" for u in range(max(t - AROUND, -1), t)]


def after(document: caesura.Document, t: int) -> list[str]:
    """Return the words behind a token, without their distance."""
    tokens, n = document.tokens, len(document)
    return [tokens[u] if u < n else "</s>" for u in range(t + 1, min(t + AROUND, n) + 1)]


def parts(document: caesura.Document, t: int) -> list[str]:
    """Return two n-grams of the word for each n: its first, and what the paper takes for its last.

    The latter begins at len - 2 n + 1, an error that is part of the paper's figures.
    """
    text = f"<{document.tokens[t]}>"
    made = []
    for n in range(2, LONGEST + 1):
        slip = len(text) - 2 * n + 1
        if len(text) >= n:
            made.append(text[:n])
        if slip > 0:
            made.append(text[slip : slip + n])
    return made


TOKENS = [word[0], word[-1], word[1], *(function(f)[0] for f in (before, after, parts))]
EDGES = [edge(word[0]), edge(word[-1])]
INSIDE = [  # after the first token of a segment; never fires in a chain
    within(bias[-1] & bias[0]),
    within(bias[-1] & word[0]),
    within(word[-1] & bias[0]),
]


# -- models ----------------------------------------------------------------------------------------


def model(kind: str, order: int, sigma: float = 1.0, **more: Any) -> Any:
    """Return C or SC of an order."""
    options: dict[str, Any] = {
        "c2": 1 / (2 * sigma**2),
        "all_possible_transitions": False,
        "boundary_weights": False,
        "order": order,
        "n_threads": 1,
    } | more
    if kind == "C":
        return caesura.ChainCRF([*TOKENS, *EDGES], scheme=None, **options)
    # The paper's semi-CRFs have two weights for each pair of labels, which halves the penalty.
    options.setdefault("penalties", {"transitions": options["c2"] / 2})
    options.setdefault("max_length", "observed")
    features = [*TOKENS, *INSIDE, *EDGES]
    return caesura.SemiCRF(features, same_label_adjacent=False, **options)


def named(name: str, **more: Any) -> Any:
    """Return the model of a column of the table."""
    kind, _, sigma = name.partition(", sigma ")
    return model(kind[:-1], int(kind[-1]), float(sigma or 1), **more)


def answered(model: Any, train: Labelled, test: Labelled) -> list[Any]:
    """Fit a model and return its segments of the test set."""
    if isinstance(model, caesura.ChainCRF):
        model.fit(train.documents, train.tags)
        return [runs(tags) for tags in model.predict_tags(test.documents, scheme="plain")]
    return model.fit(train.documents, train.segments).predict(test.documents)  # type: ignore[no-any-return]


# -- output ----------------------------------------------------------------------------------------


def rows(answers: dict[str, Any], test: Labelled) -> Iterator[list[str]]:
    """Yield a line for each field, and two for all of them."""
    gold = test.segments
    lenient = {name: by_label(gold, found, last=True) for name, found in answers.items()}
    fields = [label for label in by_label(gold, gold) if label != "All"]
    for field in fields:
        yield [field, *(f"{counts[field].f1:.2f}" for counts in lenient.values())]
    yield ["All", *(f"{counts['All'].f1:.2f}" for counts in lenient.values())]
    yield ["All, paper", *(f"{PAPER[name]:.2f}" for name in answers)]
    strict = [by_label(gold, found)["All"].f1 for found in answers.values()]
    yield ["All, strict", *(f"{score:.2f}" for score in strict)]


def main() -> None:
    more = {"models": {"default": ";".join(PAPER), "help": "some of the columns, ; between them"}}
    arguments = parsed(__doc__, plot=True, **more)
    if arguments is None:
        return
    train, test = cora(arguments.data)
    answers: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for name in arguments.models.split(";"):
        began = time.process_time()
        one = named(name)
        answers[name] = answered(one, train, test)
        seconds[name] = time.process_time() - began
        print(f"{name}: {len(one.history_)} iterations, {seconds[name]:.1f} s", flush=True)
    print(table(["F1", *answers], list(rows(answers, test))))
    if arguments.plot:
        scores = {name: by_label(test.segments, found)["All"].f1 for name, found in answers.items()}
        plot_orders(arguments.plot, scores, PAPER, seconds)
    print("\np of the differences (strict F1, 999 rounds); < the row's system is worse")
    print(table(["", *list(answers)[1:]], p_values(test.segments, answers)))


if __name__ == "__main__":
    main()
