"""A case of the campaign against learned models: answers beside a list of all segmentations."""

from __future__ import annotations

import math
import pickle
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from campaign_engine import close

import caesura
from caesura.features import Length, Text, edge, history, lower, shape, word

FIRST = (caesura.Segment(0, 1, "A"), caesura.Segment(1, 2, "A"))
WORDS = ("Ann", "bob", "12", "St.", ",", "Zoë", "x9")


def drawn_document(rng: random.Random, labels: list[str]) -> caesura.Document:
    tokens = tuple(rng.choice(WORDS) for _ in range(rng.randint(1, 5)))
    segments, at = [], 0
    while at < len(tokens):
        end = min(len(tokens), at + rng.randint(1, 3))
        if rng.random() < 0.8:
            segments.append(caesura.Segment(at, end, rng.choice(labels)))
        at = end
    return caesura.Document(tokens, segments=tuple(segments))


def every(p: Any) -> Iterator[list[caesura.Segment]]:
    """Yield every segmentation of potentials, without regard to bounds or rules."""

    def rest(at: int) -> Iterator[list[caesura.Segment]]:
        if at == p.length:
            yield []
        for end in range(at + 1, p.length + 1):
            for label in p.labels:
                for more in rest(end):
                    yield [caesura.Segment(at, end, label), *more]

    return rest(0)


def learned(i: int, rng: random.Random) -> None:
    labels = ["A", "B"][: rng.randint(1, 2)]
    train = [drawn_document(rng, labels) for _ in range(rng.randint(2, 6))]
    train.append(caesura.Document(("Ann", "12"), segments=FIRST))
    features: list[Any] = rng.sample([word[0], shape[0], lower[-1] & shape[0], word[1]], 2)
    options: dict[str, Any] = {
        "c1": rng.choice([0.0, 0.0, 0.1]),
        "c2": rng.choice([1.0, 0.1, 0.01]),
        "max_iterations": rng.choice([1, 5, 40]),
        "all_possible_states": rng.random() < 0.3,
        "precision": rng.choice(["auto", "double", "mixed"]),
        "n_threads": 1,
    }
    if rng.random() < 0.6:
        features += rng.sample([Length(exact=2), Text(), edge(word[0]), history(shape[0], 1)], 2)
        bound = rng.choice([None, "observed", 3])
        model: Any = caesura.SemiCRF(features, max_length=bound, **options)
    else:
        scheme = rng.choice(["BIO", "BIOES", "auto"])
        model = caesura.ChainCRF(features, scheme=scheme, **options)
    model.fit(train)
    asked = [drawn_document(rng, labels).tokens for _ in range(3)]
    said, ranked = model.predict(asked), model.predict_n_best(asked, 3)
    sure = model.predict_confident(asked)
    if model.kind == "semi":
        for tokens, best, some, confident in zip(asked, said, ranked, sure, strict=True):
            agrees(model.potentials(tokens), best, some, confident)
        objective(model, train, options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path)
        for again in (caesura.load(path), pickle.loads(pickle.dumps(model))):
            assert again.predict(asked) == said, "saved model"
            assert again.predict_n_best(asked, 3) == ranked, "saved model, n best"
            assert again.predict_confident(asked) == sure, "saved model, probabilities"


def agrees(p: Any, best: Any, ranked: Any, confident: Any) -> None:
    """Compare the answers of a model with a list of all segmentations."""
    outside = "O"
    whole = [(caesura.score(p, path), path) for path in every(p)]
    whole = sorted((one for one in whole if one[0] > -math.inf), key=lambda one: -one[0])
    total = whole[0][0] + math.log(sum(math.exp(s - whole[0][0]) for s, _ in whole))

    def shown(path: Any) -> list[Any]:
        return [one for one in path if one.label != outside]

    top = [shown(path) for s, path in whole if close(s, whole[0][0])]
    assert list(best) in top, "best of a model"
    for one in confident:
        chance = sum(math.exp(s - total) for s, path in whole if one.segment in path)
        assert abs(one.probability - chance) < 1e-6, "probability of a segment"
    assert list(ranked[0][0]) in top, "first of the n best"


def objective(model: Any, train: list[caesura.Document], options: dict[str, Any]) -> None:
    """Compare the objective at the end with one that is made of probabilities of segmentations."""
    value = 0.0
    for document in train:
        p = model.potentials(document.tokens)
        gold = caesura.fill_gaps(document.segments or (), len(document), "O")
        value -= caesura.log_probability(p, gold) if set(p.labels) >= {s.label for s in gold} else 0
    w = model.weights_
    value += options["c2"] * float(w @ w) + options["c1"] * float(np.abs(w).sum())
    if not model.history_:  # there was nothing to learn: zero weights are optimal
        assert not w.any(), "weights without an iteration"
        return
    final = model.history_[-1].objective
    assert abs(value - final) <= 1e-5 * max(1.0, abs(value)), f"objective {value} {final}"
