"""Checks of declared features against the data and an earlier fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from caesura.documents import Document
from caesura.errors import InvalidInput, counted, message
from caesura.features import Length, SegmentFeature, Template
from caesura.features.dense_columns import has_dense, is_standardised, plain_dense
from caesura.features.document_columns import GivenColumn
from caesura.features.history import SegmentHistory
from caesura.models.coding import Features
from caesura.models.inputs import CHUNK, kinds_of
from caesura.models.targets import Rows, Target

__all__ = [
    "check_same",
    "check_standardise",
    "learns",
    "of_kinds",
    "warn_of_columns",
    "warn_of_lengths",
    "warn_of_rare",
]

RARE, MANY = 2, 50  # a label of at most RARE rows may be mistyped if all others have MANY
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
                raise InvalidInput(place=f"X[{i}]", got=kind, expected=expected, remedy=remedy)
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


def warn_of_columns(preset: Features, given: Iterable[str]) -> None:
    """Warn if documents have columns that no feature of a preset looks at."""
    templates = [feature for feature in preset if isinstance(feature, Template)]
    used = {
        column.name for one in templates for column, _ in one.parts if type(column) is GivenColumn
    }
    if unused := sorted(set(given) - used):
        names = ", ".join(map(repr, unused))
        warnings.warn(
            f"columns: no feature looks at {names}; pass features='chunking' if they are parts of "
            f"speech called pos, or features with column({unused[0]!r}), or leave them out",
            stacklevel=5,
        )


def warn_of_lengths(features: Features, rows: Sequence[Rows]) -> None:
    """Warn if no `Length` has a length of the training data, so that none has weights."""
    sizes = np.unique(np.concatenate([some[:, 1] - some[:, 0] for some in rows]))
    some = [feature for feature in features if isinstance(feature, Length)]
    if not some or not len(sizes):
        return
    spans = [(n, n) for feature in some for n in feature.exact]
    spans += [(n, sizes[-1]) for feature in some for n in feature.at_least]
    spans += [span for feature in some for span in feature.ranges]
    if not any(((low <= sizes) & (sizes <= high)).any() for low, high in spans):
        warnings.warn(
            f"features: no training segment has a length of {', '.join(map(repr, some))}, which "
            f"has no weights and no effect (the lengths are {sizes[0]} to {sizes[-1]}); pass "
            "all_possible_states=True to learn from lengths that do not occur",
            stacklevel=6,
        )


def warn_of_rare(features: Features, label_of: Sequence[str], rows: Sequence[Rows]) -> None:
    """Warn about a label of one or two rows of numbers beside others of many, likely mistyped."""
    if not has_dense(features):
        return
    tokens: dict[str, int] = dict.fromkeys(label_of, 0)
    starts, ends, states = np.concatenate(rows).T
    counts = np.bincount(states, ends - starts, minlength=len(label_of)).astype(int).tolist()
    for label, count in zip(label_of, counts, strict=True):
        tokens[label] += count
    rare = [label for label, count in tokens.items() if 0 < count <= RARE]
    others = [count for label, count in tokens.items() if label not in rare]
    for label in rare if min(others, default=0) >= MANY else ():
        i = next(i for i, some in enumerate(rows) if label in {label_of[k] for k in some[:, 2]})
        warnings.warn(
            f"y[{i}]: the label {label!r} has {counted(tokens[label], 'row')} in all training "
            f"data, and each other label {min(others):,} or more; correct it if it is mistyped",
            stacklevel=6,
        )
