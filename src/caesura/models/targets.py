"""What users give as y: segments, tags or partial labels, read into segments with label numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.constraints import BARRED, FORCED
from caesura.corpora.schemes import TagCounts, detect_scheme
from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.segments import Segment, _in_order, from_tags

__all__ = ["Hint", "Target", "gold_of", "hint_of", "read_targets", "scheme_of"]

Bytes = npt.NDArray[np.uint8]
Hint = tuple[Bytes, Bytes]  # allowed (T, Y), boundary marks (T + 1,)
Target = list[Segment] | list[str] | Partial  # of one sequence, checked


def read_targets(ys: Iterable[Any], lengths: Iterable[int], first: int = 0) -> list[Target]:
    """Return checked targets; an error names the sequence."""
    return [
        _read(y, length, f"y[{i}]")
        for i, (y, length) in enumerate(zip(ys, lengths, strict=True), first)
    ]


def _read(y: Any, length: int, name: str) -> Target:
    """Return the target of one sequence."""
    if isinstance(y, Partial):
        y.check(length, name)
        return y
    expected = "a list of segments, a list of tags, or Partial(...)"
    if isinstance(y, str) or not isinstance(y, Iterable):
        raise InvalidInput(message(name, y, expected, "give one for each sequence"))
    listed = list(y)
    if any(isinstance(one, str) for one in listed):
        if len(listed) != length:
            raise InvalidInput(
                f"{name}: got {len(listed)} tags, expected {length}, one for each token of its X"
            )
        for t, tag in enumerate(listed):
            if not isinstance(tag, str):
                raise InvalidInput(message(f"{name}[{t}]", tag, "a tag", "give strings throughout"))
        return [str(tag) for tag in listed]
    try:
        return _in_order(listed, length)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


def scheme_of(targets: Sequence[Target], outside: str) -> str | None:
    """Return the tag scheme of the targets that are tags; None if none are."""
    counts, found = TagCounts(), False
    for target in targets:
        if not isinstance(target, Partial) and target and isinstance(target[0], str):
            counts.add(target, range(1, len(target) + 1))  # type: ignore[arg-type]
            found = True
    return detect_scheme(counts, outside) if found else None


def segments_of(target: Target, scheme: str | None, outside: str, name: str) -> list[Segment]:
    """Return the segments of a full target."""
    assert not isinstance(target, Partial)
    if target and isinstance(target[0], str):
        try:
            return from_tags(target, scheme or "plain", outside, "repair")  # type: ignore[arg-type]
        except InvalidInput as error:
            raise InvalidInput(f"{name}: {error}") from None
    return [segment for segment in target if segment.label != outside]  # type: ignore[union-attr]


def gold_of(
    lengths: npt.NDArray[np.int64],
    n_states: int,
    rows: Sequence[Sequence[tuple[int, int, int]]],
    hints: dict[int, Hint],
) -> _kernels.Gold:
    """Return the labels of a corpus as the kernels take them; `rows` has a list a sequence."""
    ptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    flat = np.array([row for some in rows for row in some], np.int32).reshape(-1, 3)
    columns = [np.ascontiguousarray(flat[:, k]) for k in range(3)]
    gold = _kernels.Gold(lengths, n_states, ptr, *columns)
    for i, (allowed, boundary) in hints.items():
        gold.hint(i, allowed, boundary)
    return gold


def hint_of(known: Partial, length: int, index: dict[str, int], name: str) -> Hint:
    """Return what is known of a sequence, for labels that are states themselves."""
    allowed = np.ones((length, len(index)), np.uint8)
    boundary = np.zeros(length + 1, np.uint8)

    def only(t: int, labels: Iterable[str]) -> None:
        for label in labels:
            if label not in index:
                expected = f"one of the labels {', '.join(index)}"
                raise InvalidInput(message(name, label, expected, "label some sequence with it"))
        row = np.zeros(len(index), np.uint8)
        row[[index[label] for label in labels]] = 1
        allowed[t] &= row

    for t, labels in known.tokens.items():
        only(t, labels)
    for start, end, label in known.segments:
        for t in range(start, end):
            only(t, [label])
        boundary[start + 1 : end] |= BARRED
        boundary[[start, end]] |= FORCED
    boundary[list(known.boundaries)] |= FORCED
    boundary[list(known.no_boundaries)] |= BARRED
    boundary[[0, length]] = 0
    return allowed, boundary
