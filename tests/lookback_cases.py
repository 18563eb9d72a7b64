"""Random models with features that look back, and their scores by enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from caesura import _kernels
from caesura.documents import Document
from caesura.encoding.spans import SpanEncoder
from caesura.features import (
    Length,
    begin,
    column,
    earlier,
    edge,
    end,
    first,
    inside,
    last,
    lower,
    ngrams,
    previous,
    shape,
    single,
    this,
    within,
    word,
)
from caesura.inference.beam_search import Path, segmentations

ONE: list[Any] = [
    this.text,
    this.first & this.length,
    this.last & this.length,
    this.first & this.last,
    this.text & this.after,
    this.before & this.text,
    this[shape].text & this.length,
    word[0],
    word[-1] & word[1],
    ngrams(1, 2)[0],
    within(word[0] & word[1]),
    first(word[-1] & word[0]),
    first(word[0] & word[1]),
    last(word[-1] & word[0]),
    begin(word[1]),
    inside(word[-1]),
    end(word[0]),
    single(word[0]),
    edge(word[0]),
    Length(exact=2, at_least=[2], ranges=[(1, 2)]),
    column("pos")[0],
]
TWO: list[Any] = [
    previous.text & this.text,
    previous.last & this.first,
    previous.first & this.first,
    previous.last & this.last,
    this.text & previous.length,
    previous.text & this.length,
    previous.label & this.text,
    previous.text,
    previous.after & this.length,
    previous[lower].text & this.before,
]
THREE: list[Any] = [
    earlier.text & previous.text & this.text,
    earlier.first & this.first,
    earlier.label & previous.label & this.last,
    earlier.length & previous.length & this.length,
    earlier.last & this.text,
]


@dataclass
class Case:
    """A model with random weights on one document."""

    document: Document
    bounds: list[int]
    features: list[Any]
    encoder: SpanEncoder
    corpus: _kernels.SpanCorpus
    model: _kernels.SpanModel
    weight: dict[tuple[int, int], float]
    barred: Any

    @property
    def bars(self) -> tuple[Any, Any, Any, Any]:
        n = len(self.bounds)
        none = np.zeros(n, np.uint8)
        return np.array(self.bounds, np.int32), self.barred, none, none

    def scorer(self, beam: int | None = None) -> _kernels.SpanScorer:
        return _kernels.SpanScorer(self.model, *self.bars, None, beam)

    def paths(self) -> list[Path]:
        return [
            path
            for path in segmentations(len(self.document), self.bounds)
            if not any(self.barred[a[2], b[2]] for a, b in pairwise(path))
        ]

    def said(self, path: Path) -> list[tuple[int, int, float]]:
        return self.scorer().said(self.corpus, 0, rows_of(path))

    def score(self, path: Path) -> float:
        """The score of a whole segmentation, from its keys alone."""
        return sum(self.weight.get((k, y), 0.0) * x for k, y, x in self.said(path))

    def scores(self) -> dict[Path, float]:
        return {path: self.score(path) for path in self.paths()}


def rows_of(path: Path) -> Any:
    return np.array(path, np.int32).reshape(-1, 3)


def random_case(
    seed: int, features: list[Any], length: int, bounds: list[int], whole: bool = False
) -> Case:
    """Return a model whose weights are random numbers; whole ones make ties and sums exact."""
    random = np.random.default_rng(seed)
    tokens = tuple(random.choice(["a", "B", "cc"], length).tolist())
    pos = tuple(random.choice(["n", "v"], length).tolist())
    document = Document(tokens, columns={"pos": pos})
    encoder = SpanEncoder(features)
    corpus: Any = encoder.encode([document], True)
    Y = len(bounds)
    barred = (random.random((Y, Y)) < (0.2 if Y > 1 else 0.0)).astype(np.uint8)
    barred[0, :] = 0  # so that some segmentation is possible
    empty = encoder.new_model(Y, True)
    case = Case(document, bounds, features, encoder, corpus, empty, {}, barred)
    keys = {(k, y) for path in case.paths() for k, y, _ in case.said(path)}
    for key in sorted(keys):
        if random.random() < 0.8:
            case.weight[key] = float(random.integers(-2, 3) if whole else random.normal(scale=0.7))
    case.model = restored(encoder, Y, case.weight)
    return case


def restored(
    encoder: SpanEncoder, Y: int, weight: dict[tuple[int, int], float]
) -> _kernels.SpanModel:
    """Return a model with weights of keys and labels."""
    model = encoder.new_model(Y, True)
    keys = sorted({key for key, _ in weight})
    table = np.array([[weight.get((k, y), 0.0) for y in range(Y)] for k in keys]).reshape(-1)
    every = [np.full(16, 2**64 - 1, np.uint64) for _ in range(model.n_texts)]
    model.restore(np.array(keys, np.uint64), table, every)
    return model
