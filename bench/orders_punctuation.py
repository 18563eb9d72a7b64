"""Punctuation of films by chains and semi-CRFs of order 1 to 3: Cuong et al. 2014, Tables 6, 7.

    python bench/orders_punctuation.py [--data ../shared/data] [--models "C1;SC2"] [--plot FILE]

With the paper's ten labels, features and penalty (sigma 1: c2 = 1/2).  F1 of tokens with a mark
behind them, after the part of the label that looks ahead is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from orders_data import (
    STRETCH,
    Labelled,
    by_label,
    p_values,
    parsed,
    plot_orders,
    punctuation,
    spread,
)
from timing import table

import caesura
from caesura.features import bias, edge, function, history, within, word

PAPER = {  # published results, Table 6
    "C1": (59.29, 75.37, 58.18, 66.21),
    "C2": (59.70, 75.37, 59.54, 66.53),
    "C3": (59.90, 75.46, 60.57, 66.85),
    "SC1": (61.13, 75.03, 57.61, 66.73),
    "SC2": (60.89, 78.97, 74.05, 70.85),
    "SC3": (60.35, 78.82, 73.56, 70.47),
}
MARKS = ("Comma", "Period", "QMark", "All")
REACH = 4  # words on each side


# -- features --------------------------------------------------------------------------------------


def near(document: caesura.Document, t: int) -> list[str]:
    """Return the words around with their distance; one place before the text, and one behind."""
    places = range(max(t - REACH, -1), min(t + REACH, len(document)) + 1)
    return [f"{u - t}:{_word(document, u)}" for u in places]


def pairs(document: caesura.Document, t: int) -> list[str]:
    """Return all pairs of words around with their distances; none before the text."""
    words = [
        (u - t, _word(document, u))
        for u in range(max(t - REACH, 0), min(t + REACH, len(document)) + 1)
    ]
    return [f"{j},{k}:{a}|{b}" for n, (j, a) in enumerate(words) for k, b in words[n + 1 :]]


def _word(document: caesura.Document, t: int) -> str:
    if t < 0:
        return "<s>"
    return document.tokens[t] if t < len(document) else "</s>"


TOKENS = [function(near)[0], function(pairs)[0]]
EDGES = [edge(word[0]), edge(word[-1]), edge(word[-1] & word[0])]
INSIDE = [
    within(bias[-1] & bias[0]),
    within(bias[-1] & word[0]),
    within(word[-1] & bias[0]),
    within(word[-1] & word[0]),
]


# -- models ----------------------------------------------------------------------------------------


def model(kind: str, order: int, **more: Any) -> Any:
    """Return C or SC of an order."""
    options: dict[str, Any] = {
        "c2": 0.5,
        "order": order,
        "all_possible_transitions": False,
        "boundary_weights": False,
        "n_threads": 1,
    } | more
    if kind == "C":
        patterned = [history(word[0], k) for k in range(2, order + 1)]
        return caesura.ChainCRF([*TOKENS, *EDGES, *patterned], scheme=None, **options)
    patterned = [history(word[0], k) for k in range(1, order + 1)]
    options.setdefault("penalties", {"transitions": options["c2"] / 2})  # as in orders_cora.py
    return caesura.SemiCRF(
        [*TOKENS, *INSIDE, *EDGES, *patterned],
        max_length="observed",
        same_label_adjacent=False,
        **options,
    )


def answered(model: Any, train: Labelled, test: Labelled) -> list[list[str]]:
    """Fit a model and return the labels of each token of the test set."""
    if isinstance(model, caesura.ChainCRF):
        model.fit(train.documents, train.tags)
        return model.predict_tags(test.documents, scheme="plain")
    model.fit(train.documents, train.segments)
    return [spread(found) for found in model.predict(test.documents)]


def marks(labels: list[list[str]]) -> list[list[caesura.Segment]]:
    """Return the tokens with a mark behind them, as segments."""
    return [
        [
            caesura.Segment(t, t + 1, mark)
            for t, mark in enumerate(label.partition(STRETCH)[0] for label in some)
            if mark != "None"
        ]
        for some in labels
    ]


# -- output ----------------------------------------------------------------------------------------


def rows(answers: dict[str, Any], test: Labelled) -> Iterator[list[str]]:
    gold = marks(test.tags)
    ours = {name: by_label(gold, found) for name, found in answers.items()}
    for k, mark in enumerate(MARKS):
        yield [mark, *(f"{counts[mark].f1:.2f}" for counts in ours.values())]
        yield [f"{mark}, paper", *(f"{PAPER[name][k]:.2f}" for name in answers)]


def main() -> None:
    more = {"models": {"default": ";".join(PAPER), "help": "some of the columns, ; between them"}}
    arguments = parsed(__doc__, plot=True, **more)
    if arguments is None:
        return
    train, test = punctuation(arguments.data)
    answers: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for name in arguments.models.split(";"):
        began = time.process_time()
        one = model(name[:-1], int(name[-1]))
        answers[name] = marks(answered(one, train, test))
        seconds[name] = time.process_time() - began
        print(f"{name}: {len(one.history_)} iterations, {seconds[name]:.1f} s", flush=True)
    print(table(["F1", *answers], list(rows(answers, test))))
    if arguments.plot:
        gold = marks(test.tags)
        scores = {name: by_label(gold, found)["All"].f1 for name, found in answers.items()}
        paper = {name: PAPER[name][MARKS.index("All")] for name in answers}
        plot_orders(arguments.plot, scores, paper, seconds)
    print("\np of the differences (999 rounds); < the row's system is worse")
    print(table(["", *list(answers)[1:]], p_values(marks(test.tags), answers)))


if __name__ == "__main__":
    main()
