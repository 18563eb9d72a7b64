"""Learn to cut addresses into fields from labelled examples, and say how sure it is and why.

The examples are made from short lists, so that their labels are exact; the addresses that are cut
in the end have streets, towns and layouts that the training data does not have.
"""

from __future__ import annotations

import random

import caesura
from caesura import Document, Segment, render
from caesura.features import (
    Dictionary,
    Length,
    Lexicon,
    first,
    last,
    lower,
    shape,
    suffix,
    window,
    within,
    word,
)

NAMES = [
    "Ada Lee",
    "Omar Said",
    "Jane Roe",
    "Li Wei",
    "Sam Okafor",
    "Eva Novak",
    "Tom Hill",
    "Ana Cruz",
]
STREETS = [
    "Mill",
    "High",
    "Park",
    "Queen",
    "Station",
    "Church",
    "Oak",
    "Long",
    "North",
    "River",
    "King",
    "Garden",
]
KINDS = ["Street", "Road", "Lane", "Avenue", "Way", "Close"]
TOWNS = ["Leeds", "York", "Bath", "Stoke on Trent", "Hull", "Ely", "Ripon", "Newcastle upon Tyne"]
GAZETTEER = Lexicon("towns", [*TOWNS, "Milton Keynes", "Wells", "Bury St Edmunds"])


def address(draw: random.Random) -> Document:
    """Return a made-up address with its segments."""
    number = f"{draw.randint(1, 250)}{draw.choice(['', '', '', 'b'])}"
    street = f"{draw.choice(STREETS)} {draw.choice(KINDS)}"
    code = f"{draw.choice('BLSY')}{draw.choice('ABOE')}{draw.randint(1, 9)} {draw.randint(1, 9)}QT"
    parts = [("number", number), ("street", street), ("town", draw.choice(TOWNS)), ("code", code)]
    if draw.random() < 0.6:
        parts.insert(0, ("person", draw.choice(NAMES)))
    if draw.random() < 0.3:
        parts.insert(-3, ("flat", f"Flat {draw.randint(1, 20)}"))
    for label in ("code", "number", "town"):  # people forget things
        if draw.random() < 0.08:
            parts = [part for part in parts if part[0] != label]
    comma = draw.random() < 0.5
    tokens: list[str] = []
    segments = []
    for label, text in parts:
        words = [w.lower() if draw.random() < 0.1 else w for w in text.split()]
        if draw.random() < 0.1 and len(words) > 1:  # and leave out words
            words.remove(draw.choice(words))
        segments.append(Segment(len(tokens), len(tokens) + len(words), label))
        tokens += words
        if comma and label not in ("number", "code"):
            tokens.append(",")
    return Document(tuple(tokens), segments=tuple(segments))


FEATURES = [
    *window([lower, shape], -1, 1),
    suffix(2)[0],
    within(lower[-1] & lower[0]),
    first(lower[0]),
    last(lower[0]),
    first(word[-1]),
    Length(exact=(1, 2, 3), at_least=4),
    Dictionary(GAZETTEER, casefold=True),
]
UNSEEN = [
    "Rosa Diaz, Flat 3, 17 Willow Lane, Milton Keynes, SA4 2QT",
    "221b Baker Street Bury St Edmunds LE3 9QT",
    "5 Abbey Close, Wells",
]


def main() -> None:
    draw = random.Random(0)
    documents = [address(draw) for _ in range(260)]
    train, held_out, test = documents[:120], documents[120:180], documents[180:]
    model = caesura.SemiCRF(FEATURES, c2=0.1).fit(train)
    model.calibrate(held_out, method="temperature")
    print(f"Learnt {model.n_features_:,} weights from {len(train)} addresses.")
    gold = [list(d.segments or ()) for d in test]
    print(caesura.evaluate(gold, model.predict(test)), end="\n\n")

    print("Addresses with streets and towns that it has not seen:\n")
    for text, found in zip(UNSEEN, model.predict_confident(UNSEEN, threshold=0.85), strict=True):
        tokens = Document.from_text(text).tokens
        for segment, probability, _, review in found:
            words = " ".join(tokens[segment.start : segment.end])
            mark = "  <- look at it" if review else ""
            print(f"  {segment.label:8} {words:22} {probability:5.2f} {mark}")
        print()

    print("Why is the first town a town?\n")
    print(*(e for e in model.explain(UNSEEN[0]) if e.segment.label == "town"), sep="\n")
    best = caesura.viterbi(model.potentials(UNSEEN[0]))
    print("\nThe same in colour:\n")
    print(render.text(best))


if __name__ == "__main__":
    main()
