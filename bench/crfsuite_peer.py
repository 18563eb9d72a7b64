"""python-crfsuite with the interface of our models: the same columns, as strings, and BIO tags."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pycrfsuite

import caesura
from caesura.features import Template
from caesura.features.templates import AFTER, BEFORE, Column

Values = Sequence[tuple[str, ...]]


class Peer:
    """A chain of python-crfsuite: L-BFGS with its own defaults but for what is given."""

    def __init__(self, features: Iterable[object], min_freq: float = 0.0, **params: Any) -> None:
        self.templates = [one for one in features if isinstance(one, Template)]
        self.params = {"feature.minfreq": min_freq, "feature.possible_transitions": True} | params
        self._known: dict[tuple[Column, str], tuple[str, ...]] = {}
        self._model = b""

    def get_params(self) -> dict[str, Any]:
        return {"c1": 0.0, "c2": 1.0} | self.params

    def set_params(self, **params: Any) -> Peer:
        self.params |= params
        return self

    def fit(self, documents: Iterable[caesura.Document]) -> Peer:
        trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=self.params, verbose=False)
        for document in documents:
            tags = caesura.to_tags(document.segments or (), "BIO", len(document))
            trainer.append(self.strings(document), tags)
        handle, name = tempfile.mkstemp()
        os.close(handle)
        try:
            trainer.train(name)
            with open(name, "rb") as file:
                self._model = file.read()
        finally:
            os.remove(name)
        return self

    def predict(self, documents: Iterable[caesura.Document]) -> list[list[caesura.Segment]]:
        tagger = pycrfsuite.Tagger()
        tagger.open_inmemory(self._model)
        return [
            caesura.from_tags(tagger.tag(self.strings(one)), "BIO", repair="repair")
            for one in documents
        ]

    def strings(self, document: caesura.Document) -> list[list[str]]:
        """Return the attributes of each token, as the templates of a chain name them."""
        columns = {column for one in self.templates for column, _ in one.parts}
        values = {column: self._values(column, document) for column in columns}
        bags: list[list[str]] = [[] for _ in document.tokens]
        for template in self.templates:
            prefix = template.prefix
            parts = [_shifted(values[column], offset) for column, offset in template.parts]
            if len(parts) == 1:
                for bag, each in zip(bags, parts[0], strict=True):
                    bag += [prefix + value for value in each]
            else:
                for bag, together in zip(bags, zip(*parts, strict=True), strict=True):
                    bag += [prefix + "|".join(one) for one in product(*together)]
        return bags

    def _values(self, column: Column, document: caesura.Document) -> Values:
        if not column.per_word:
            return [tuple(each) for each in column.of_document(document)]
        found = []
        for word in document.tokens:
            if (column, word) not in self._known:
                self._known[column, word] = column.of_word(word)
            found.append(self._known[column, word])
        return found


def _shifted(values: Values, offset: int) -> Values:
    """Return the value at t + offset for each t."""
    T, n = len(values), abs(offset)
    if offset < 0:
        return [*[(BEFORE,)] * min(n, T), *values[: max(T - n, 0)]]
    return [*values[n:], *[(AFTER,)] * min(n, T)]
