"""The best that we can do for punctuation: a segment is a stretch of words up to its mark.

    python bench/orders_stretches.py [--data ../shared/data] [--test] [--orders 1,2]

A semi-CRF with one segment for each stretch of words, labelled by the mark behind its last word,
or Rest.  Its features see the words at both ends of a stretch and in it, classes of them (pronouns,
forms of do and be, interjections, ...) and its length, with no bound.  Without --test: five-fold
cross-validation of the training data, by which everything was chosen.  With it: F1 on the test set.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from orders_data import STRETCH, Labelled, by_label, parsed, punctuation
from orders_punctuation import MARKS, PAPER, marks
from timing import table

import caesura
from caesura.features import Length, first, function, last, window, within, word

CLASSES = {
    "wh": "what who where when why how which whose whom what's who's where's how's why's",
    "auxiliary": "do does did don't doesn't didn't is are was were am isn't aren't wasn't weren't "
    "can could will would should shall may might must can't couldn't won't wouldn't shouldn't "
    "have has had haven't hasn't hadn't ain't",
    "subject": "i you he she it we they there",
    "clause": "i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd "
    "she'd we'd they'd i'll you'll he'll she'll it'll we'll they'll that's there's here's",
    "object": "me him her us them myself yourself himself herself",
    "possessive": "my your his our their its",
    "determiner": "the a an this that these those some any every no",
    "preposition": "of in on at to for with from by about into over up down out off through around "
    "like after before",
    "conjunction": "and but or so because if then than as",
    "interjection": "oh yeah okay ok yes hey well look listen wow ah uh um hi hello please thanks "
    "thank sorry right now god gosh alright huh bye see hmm mm",
    "adverb": "not really just very too still already always never ever here again maybe actually "
    "all",
}
CLASS_OF = {one: name for name, some in CLASSES.items() for one in some.split()}
FOLDS = 5
LEAST = 0.36  # about half of the F1 in cross-validation, the threshold at which F1 is highest


def word_class(document: caesura.Document, t: int) -> str:
    return CLASS_OF.get(document.tokens[t], "other")


kind = function(word_class)
FEATURES = [
    *window(word, -2, 3, place="last"),
    last(word[0] & word[1]),
    last(word[-1] & word[0]),
    last(word[1] & word[2]),
    *window(word, -1, 2, place="first"),
    first(word[0] & word[1]),
    first(word[-1] & word[0]),
    first(word[0] & word[1] & word[2]),
    Length(exact=6, at_least=[8, 12, 20]),
    within(word[0]),
    within(word[0] & word[1]),
    last(kind[0] & kind[1]),
    last(kind[-1] & kind[0]),
    last(kind[0] & kind[1] & kind[2]),
    last(kind[-1] & kind[0] & kind[1] & kind[2]),
    first(kind[0] & kind[1]),
    first(kind[0] & kind[1] & kind[2]),
    first(kind[-1] & kind[0]),
]


def stretches(labels: Sequence[str]) -> list[caesura.Segment]:
    """Return one segment for each stretch up to a mark, and one for the words behind the last.

    >>> stretches(["Comma>Comma", "None>Period", "Period", "None"])[1:]
    [Segment(start=1, end=3, label='Period'), Segment(start=3, end=4, label='Rest')]
    """
    found, start = [], 0
    for t, label in enumerate(labels):
        mark = label.partition(STRETCH)[0]
        if mark != "None" or t + 1 == len(labels):
            found.append(caesura.Segment(start, t + 1, "Rest" if mark == "None" else mark))
            start = t + 1
    return found


def model(order: int = 1, **more: Any) -> caesura.SemiCRF:
    options: dict[str, Any] = {"c2": 0.8, "delta": 1e-3, "n_threads": 1} | more
    return caesura.SemiCRF(FEATURES, order=order, **options)


class Answer(NamedTuple):
    """Tokens with a mark behind them, as segments, for each text."""

    best: list[Any]  # from the best segmentation
    likely: list[Any]  # with a probability of at least LEAST


def answered(model: caesura.SemiCRF, train: Labelled, test: Labelled) -> Answer:
    model.fit(train.documents, [stretches(labels) for labels in train.tags])
    best = [
        [(end - 1, end, mark) for _, end, mark in found if mark != "Rest"]
        for found in model.predict(test.documents)
    ]
    return Answer(
        best, [likely(one, model.labels_) for one in model.predict_marginals(test.documents)]
    )


def likely(m: Any, labels: Sequence[str]) -> list[Any]:
    """Return the likeliest mark behind each token that is likely enough."""
    T = len(m.tokens)
    found = []
    for t in np.flatnonzero(m.boundaries[1:] >= LEAST).tolist():
        if t + 1 == T:
            chances = dict(zip(labels, m.tokens[t].tolist(), strict=True))
        else:
            chances = {a: sum(m.transition(t + 1, a, b) for b in labels) for a in labels}
        chances.pop("Rest", None)
        mark = max(chances, key=chances.__getitem__)
        if chances[mark] >= LEAST:
            found.append((t, t + 1, mark))
    return found


def validated(model: caesura.SemiCRF, train: Labelled) -> tuple[list[Any], Answer]:
    """Return the marks of all training texts, and those that models of the other folds found."""
    gold: list[Any] = []
    found = Answer([], [])
    everything = range(len(train.tags))
    for fold in range(FOLDS):
        held = train.part(i for i in everything if i % FOLDS == fold)
        rest = train.part(i for i in everything if i % FOLDS != fold)
        for kept, some in zip(found, answered(model, rest, held), strict=True):
            kept += some
        gold += marks(held.tags)
    return gold, found


def main() -> None:
    arguments = parsed(
        __doc__,
        plot=False,
        test={"action": "store_true", "help": "F1 on the test set"},
        orders={"default": "1,2,3"},
    )
    if arguments is None:
        return
    train, test = punctuation(arguments.data)
    rows = []
    for order in map(int, arguments.orders.split(",")):
        began = time.process_time()
        one = model(order)
        if arguments.test:
            gold, found = marks(test.tags), answered(one, train, test)
        else:
            gold, found = validated(one, train)
        seconds = f"{time.process_time() - began:.0f} s"
        for how, some in found._asdict().items():
            counts = by_label(gold, some)
            scores = [f"{counts[mark].f1:.2f}" for mark in MARKS]
            rows.append([f"order {order}, {how}", *scores, seconds])
            print(*rows[-1], flush=True)
    if arguments.test:
        rows.append(["paper, SC2", *(f"{score:.2f}" for score in PAPER["SC2"]), ""])
    print("test set" if arguments.test else f"training data, {FOLDS}-fold cross-validation")
    print(table(["F1", *MARKS, "processor"], rows))


if __name__ == "__main__":
    main()
