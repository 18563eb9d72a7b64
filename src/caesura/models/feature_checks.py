"""Checks of declared features against the data and an earlier fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from typing import Any

from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.features import SegmentFeature, Template
from caesura.features.dense_columns import is_standardised, plain_dense
from caesura.features.history import SegmentHistory
from caesura.models.coding import Features
from caesura.models.inputs import CHUNK, kinds_of
from caesura.models.targets import Target

__all__ = ["check_same", "check_standardise", "learns", "of_kinds"]

Chunk = tuple[int, list[Document], list[Target]]


def learns(features: Features) -> bool:
    """Return whether a feature learns from labelled segments."""
    return any(isinstance(one, SegmentFeature) and one.learns for one in features)


def of_kinds(data: Iterable[Chunk], seen: Set[str]) -> Iterator[Chunk]:
    """Yield sequences, or raise for content that the default features ignore."""
    for first, documents, ys in data:
        for i, document in enumerate(documents, first):
            for kind in sorted(kinds_of([document]) - seen):
                expected = f"only what the first {CHUNK} have, by which features were chosen"
                remedy = f"give all sequences {kind} or none, or set features"
                raise InvalidInput(f"X[{i}]: got {kind}, expected {expected}; {remedy}")
        yield first, documents, ys


def check_same(now: Features | None, before: Features) -> None:
    """Raise if a continued model has other features; None keeps them."""
    if now is None or (len(now) == len(before) and all(map(_same, now, before))):
        return
    came = [a for a in now if not any(_same(a, b) for b in before)] or now
    expected = "those of the previous fit, which warm_start continues"
    remedy = "set features=model.features_ to continue, or warm_start=False to start again"
    raise InvalidInput(message("features", came, expected, remedy))


def _same(now: Any, before: Any) -> bool:
    """Return whether a feature is that of an earlier fit, apart from learnt content."""
    if type(now) is not type(before):
        return False
    if isinstance(now, SegmentHistory):
        return now.order == before.order and _same(now.feature, before.feature)
    if isinstance(now, Template):
        return plain_dense(now) == plain_dense(before)
    learns = isinstance(now, SegmentFeature) and now.learns
    if learns and hasattr(now, "lexicon"):
        now = replace(now, lexicon=before.lexicon)
    return bool(now == before)


def check_standardise(standardise: bool, before: Features) -> None:
    """Raise if a continued model standardises dense columns differently."""
    was = is_standardised(before)
    if was != bool(standardise):
        expected = f"{was}, as in the previous fit, which warm_start continues"
        remedy = "set it so to continue, or warm_start=False to start again"
        raise InvalidInput(message("standardise", standardise, expected, remedy))
