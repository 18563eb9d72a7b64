"""Small labelled data for tests of models."""

from __future__ import annotations

from typing import Any

import numpy as np

from caesura import Potentials, Segment, _kernels, marginals
from caesura.inference.problems import problem_of

STREETS = ["High", "Park", "Mill", "Low", "Church", "Station"]
KINDS = ["Street", "Road", "Lane"]
TOWNS = ["Leeds", "York", "Hull", "Park", "New Mill"]
OTHER = ["at", ",", "the", "near", "and"]

Sequence = tuple[list[str], list[Segment]]


def address(rng: np.random.Generator) -> Sequence:
    """Return the tokens and the segments of one address; labels can be told, but not always."""
    tokens: list[str] = []
    segments: list[Segment] = []

    def put(words: list[str], label: str | None) -> None:
        if label is not None:
            segments.append(Segment(len(tokens), len(tokens) + len(words), label))
        tokens.extend(words)

    def maybe_other(chance: float) -> None:
        if rng.random() < chance:
            put([str(rng.choice(OTHER))], None)

    maybe_other(0.5)
    if rng.random() < 0.8:
        put([str(rng.integers(1, 30))], "number")
    street = [str(w) for w in rng.choice(STREETS, rng.integers(1, 3), replace=False)]
    put([*street, str(rng.choice(KINDS))][: int(rng.integers(2, 4))], "street")
    maybe_other(0.4)
    if rng.random() < 0.3:
        maybe_other(1.0)
    if rng.random() < 0.9:
        put(str(rng.choice(TOWNS)).split(), "town")
    maybe_other(0.2)
    return tokens, segments


def addresses(n: int, seed: int = 0) -> tuple[list[list[str]], list[list[Segment]]]:
    """Return many addresses: tokens and segments."""
    rng = np.random.default_rng(seed)
    made = [address(rng) for _ in range(n)]
    return [tokens for tokens, _ in made], [segments for _, segments in made]


def bags_of(tokens: list[str]) -> list[list[str]]:
    """Return attributes for each token, in the form of python-crfsuite."""
    return [
        [f"w={word}", f"title={word.istitle()}", f"before={tokens[t - 1] if t else '^'}"]
        for t, word in enumerate(tokens)
    ]


def numbers_of(tokens: list[str]) -> Any:
    """Return an array of shape (T, 3) that says something about each token."""
    rows = [(len(word), float(word[:1].isupper()), float(word.isdigit())) for word in tokens]
    return np.array(rows, np.float64).reshape(len(tokens), 3)


def tag_paths(length: int, states: int) -> Any:
    """Yield all sequences of tags, by number."""
    return np.ndindex(*[states] * length) if length else iter([()])


def chances_of(model: Any, p: Potentials, segments: list[Segment]) -> list[float]:
    """Return the probabilities of segments, asked of the engine about a model's potentials."""
    if model.kind == "semi":
        m = marginals(p)
        return [m.segment(*segment) for segment in segments]
    tags, lookup = model.coding.tag_set(model._known), _kernels.Lookup(problem_of(p), 0)
    joined = tags.joined.astype(np.uint8)
    return [lookup.run(s, e, tags.states_of(label), joined) for s, e, label in segments]
