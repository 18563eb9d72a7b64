"""Representations of uncertain records: from segmentations or parts to rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from caesura.documents import Document
from caesura.normalisers import Normaliser
from caesura.records.uncertain_columns import Part, Spans, choices
from caesura.records.uncertain_mixture import by_em
from caesura.records.uncertain_records import UncertainRecord, UncertainRow, Value, ranked

__all__ = ["Values", "em_record", "mixture_record", "n_best_record"]


class Values:
    """The values of the segments of one document."""

    def __init__(
        self, document: Document, labels: Sequence[str], functions: Mapping[str, Normaliser]
    ) -> None:
        self.document, self.labels, self._functions = document, labels, functions
        self.text = " ".join(document.tokens) if document.text is None else document.text
        self._known: dict[tuple[str, tuple[int, int]], str] = {}

    def of(self, label: str, span: tuple[int, int]) -> str:
        """Return the normalised value of a segment, or its text."""
        found = self._known.get((label, span))
        if found is None:
            text = self.document.text_of(span)
            value = self._functions[label](text) if label in self._functions else text
            found = self._known[label, span] = text if value is None else str(value)
        return found

    def tuple_of(self, label: str, spans: Spans) -> Value:
        """Return the value of a column."""
        values = tuple(self.of(label, span) for span in spans)
        return None if not values else values[0] if len(values) == 1 else values


def n_best_record(found: Sequence[tuple[Any, float]], value: Values) -> UncertainRecord:
    """Return a row for each listed segmentation, with equal rows merged."""
    rows = [
        UncertainRow(weight, {label: {v: 1.0} for label, v in zip(value.labels, row, strict=True)})
        for row, weight in _listed_rows(found, value).items()
    ]
    record = UncertainRecord(value.text, tuple(rows), math.inf, 0.0)
    return record._replace(kl=0.0) if record.mass > 1 - 1e-12 else record


def em_record(
    found: Sequence[tuple[Any, float]],
    drawn: Sequence[Any],
    value: Values,
    k: int,
    min_probability: float,
) -> UncertainRecord:
    """Return up to k rows fitted by EM to listed segmentations and samples of the rest."""
    listed = _listed_rows(found, value)
    left = max(0.0, 1.0 - math.fsum(listed.values())) if drawn else 0.0
    every = _listed_rows([*found, *((one, left / len(drawn)) for one in drawn)], value)
    seen = np.array([row in listed for row in every], bool) if left > 0 else None
    mixture, values, kl = by_em(list(every), np.array(list(every.values())), k, seen)
    mass = min(1.0, math.fsum(every.values()))
    rows = []
    for i in np.argsort(-mixture.weights, kind="stable"):
        cells: dict[str, dict[Any, float]] = {}
        for j, label in enumerate(value.labels):
            column: list[float] = mixture.columns[j][i].tolist()
            chances: dict[Any, float] = dict(zip(values[j], column, strict=True))
            cells[label] = _pruned(chances, min_probability)
        rows.append(UncertainRow(mass * float(mixture.weights[i]), cells))
    return UncertainRecord(value.text, tuple(rows), kl, math.inf if left > 0 else 0.0, left)


def _listed_rows(
    found: Sequence[tuple[Any, float]], value: Values
) -> dict[tuple[Value, ...], float]:
    """Return the distinct rows of listed segmentations with their probabilities."""
    sums: dict[tuple[Value, ...], list[float]] = {}
    for segments, chance in found:
        spans = choices(segments, value.labels)
        row = tuple(value.tuple_of(label, spans[label]) for label in value.labels)
        sums.setdefault(row, []).append(chance)
    return ranked({row: math.fsum(some) for row, some in sums.items()})


def mixture_record(
    parts: Sequence[tuple[float, Part]], value: Values, min_probability: float
) -> UncertainRecord:
    """Return a row for each part of a partition."""
    rows = []
    for weight, part in parts:
        cells: dict[str, dict[Value, float]] = {}
        for label, column in part.columns.items():
            sums: dict[Value, list[float]] = {}
            for spans, chance in column.values.items():
                sums.setdefault(value.tuple_of(label, spans), []).append(chance)
            cells[label] = _pruned({v: math.fsum(s) for v, s in sums.items()}, min_probability)
        rows.append(UncertainRow(weight, cells))
    kl = max(0.0, math.fsum(weight * part.kl for weight, part in parts))
    slack = math.fsum(weight * part.slack for weight, part in parts)
    return UncertainRecord(value.text, tuple(rows), kl, slack)


def _pruned(chances: dict[Value, float], least: float) -> dict[Value, float]:
    return ranked({v: min(1.0, chance) for v, chance in chances.items() if chance > least})
