"""The n best segmentations of texts, as the fields of records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from caesura.documents import as_document
from caesura.errors import InvalidInput, message
from caesura.extraction import BETWEEN
from caesura.normalisers import normaliser

__all__ = ["alternatives"]


def alternatives(
    model: Any, texts: Sequence[str], n: int
) -> Iterator[list[tuple[dict[str, str], float]]]:
    """Yield, for each text, the fields of its n best segmentations with their log-probabilities.

    Values are normalised as `extract` does it; several of one label are joined.

    Examples
    --------
    >>> import caesura
    >>> X, y = ["Codd (1970).", "Chen (1976)."], [[(0, 1, "author"), (1, 5, "year")]] * 2
    >>> model = caesura.SemiCRF(c2=0.01).fit(X, y)
    >>> [[(fields, log_probability), *_]] = alternatives(model, ["Gray (1978)."], 2)
    >>> fields
    {'author': 'Gray', 'year': '1978'}
    """
    texts = list(texts)
    if not hasattr(model, "predict_n_best"):
        expected = "a fitted SemiCRF or ChainCRF"
        raise InvalidInput(message("model", model, expected, "load one with caesura.load"))
    functions = {label: normaliser(one) for label, one in model.normalisers_.items()}
    for text, ranked in zip(texts, model.predict_n_best(texts, n), strict=True):
        document = as_document(text, model.tokeniser_, "texts")
        found = []
        for segments, probability in ranked:
            fields: dict[str, str] = {}
            for segment in segments:
                value = functions[segment.label](document.text_of(segment))
                if value is not None:
                    before = f"{fields[segment.label]}{BETWEEN}" if segment.label in fields else ""
                    fields[segment.label] = f"{before}{value}"
            found.append((fields, math.log(max(probability, 1e-300))))
        yield found
