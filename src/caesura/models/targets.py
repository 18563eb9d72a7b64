"""Training targets: segments, tags or partial labels, read and checked."""

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
from caesura.segments import Segment, from_tags
from caesura.segments.segmentation import in_order

__all__ = [
    "Bytes",
    "Hint",
    "Rows",
    "Tags",
    "Target",
    "gold_of",
    "known_labels",
    "known_segments",
    "read_target",
    "said_labels",
    "scheme_of",
    "segments_of",
]

Bytes = npt.NDArray[np.uint8]
Hint = tuple[Bytes, Bytes]  # allowed states (T, Y), boundary marks (T + 1,)
Rows = npt.NDArray[np.int32]  # (segments, 3): start, end, state


class Tags(list[str]):
    """A tag for each token."""


Target = list[Segment] | Tags | Partial  # the checked target of one sequence


def read_target(y: Any, length: int, name: str) -> Target:
    """Return the target of one sequence, or raise."""
    if isinstance(y, Partial):
        y.check(length, name)
        return y
    expected = "a list of segments, a list of tags, or Partial(...)"
    if isinstance(y, str) or not isinstance(y, Iterable):
        raise InvalidInput(message(name, y, expected, "give one for each sequence"))
    listed = list(y)
    if any(isinstance(one, str) for one in listed):
        return _read_tags(listed, length, name)
    try:
        return in_order(listed, length)
    except InvalidInput as error:
        raise error.within(name, ".") from None


def _read_tags(listed: list[Any], length: int, name: str) -> Tags:
    if len(listed) != length:
        raise InvalidInput(
            place=name,
            got=f"{len(listed)} tags",
            expected=f"{length}, one for each token of its X",
            remedy="check how the tokens were cut",
        )
    if not set(map(type, listed)) <= {str}:
        for t, tag in enumerate(listed):
            if not isinstance(tag, str):
                remedy = "give one for each token"
                raise InvalidInput(message(f"{name}[{t}]", tag, "a tag, which is a string", remedy))
    return Tags(map(str, listed))


# ---- tags --------------------------------------------------------------------------------------


def scheme_of(
    targets: Sequence[Target], outside: str, wanted: str | None = None, name: str = "y"
) -> str | None:
    """Return the tag scheme of the targets given as tags; None if there are none.

    Tags that are well formed in the `wanted` scheme are taken to be of it.
    """
    tags = {i: target for i, target in enumerate(targets) if isinstance(target, Tags) and target}
    if not tags:
        return None
    if wanted is not None and all(_well_formed(one, wanted, outside) for one in tags.values()):
        return wanted
    counts = TagCounts()
    for i, one in tags.items():
        counts.add(one, [i] * len(one))
    return detect_scheme(counts, outside, name, f"{name}[{{}}]")


def _well_formed(tags: Tags, scheme: str, outside: str) -> bool:
    try:
        from_tags(tags, scheme, outside)
    except InvalidInput:
        return False
    return True


def segments_of(target: Target, scheme: str | None, outside: str, name: str) -> list[Segment]:
    """Return the segments of a full target; ill-formed tags are repaired."""
    if isinstance(target, Partial):
        expected = "all segments of the sequence"
        raise InvalidInput(message(name, target, expected, "label it in full to compare with it"))
    if not isinstance(target, Tags):
        return [segment for segment in target if segment.label != outside]
    try:
        return from_tags(target, scheme or "plain", outside, "repair")
    except InvalidInput as error:
        raise error.within(name) from None


def known_segments(targets: Sequence[Target], outside: str) -> list[list[Segment]]:
    """Return the known segments of each target, without outside segments."""
    scheme = scheme_of(targets, outside)
    return [
        [s for s in target.segments if s.label != outside]
        if isinstance(target, Partial)
        else segments_of(target, scheme, outside, f"y[{i}]")
        for i, target in enumerate(targets)
    ]


def said_labels(known: Partial) -> set[str]:
    """Return the labels that occur in partial labels."""
    return {s.label for s in known.segments}.union(*known.tokens.values())


# ---- inputs of the kernels ----------------------------------------------------------------------


def gold_of(
    lengths: npt.NDArray[np.int64], n_states: int, rows: Sequence[Rows], hints: dict[int, Hint]
) -> _kernels.Gold:
    """Return the labels of a corpus for the kernels; `rows` has one array per sequence."""
    ptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    flat = np.concatenate([np.zeros((0, 3), np.int32), *rows])
    starts, ends, states = (np.ascontiguousarray(flat[:, k]) for k in range(3))
    gold = _kernels.Gold(lengths, n_states, ptr, starts, ends, states)
    for i, (allowed, boundary) in hints.items():
        gold.hint(i, allowed, boundary)
    return gold


def known_labels(
    known: Partial, length: int, labels: Sequence[str], outside: str, name: str
) -> Hint:
    """Return the possible labels of each token, and the boundary marks.

    A segment with the outside label says only that its tokens are outside: text outside is cut in
    one way only.
    """
    index = {label: k for k, label in enumerate(labels)}
    allowed = np.ones((length, len(index)), np.uint8)
    boundary = np.zeros(length + 1, np.uint8)

    def only(tokens: slice, some: Iterable[str]) -> None:
        row = np.zeros(len(index), np.uint8)
        for label in some:
            if label not in index:
                expected = f"one of the labels {', '.join(index)}"
                raise InvalidInput(message(name, label, expected, "label some sequence with it"))
            row[index[label]] = 1
        allowed[tokens] &= row

    for t, some in known.tokens.items():
        only(slice(t, t + 1), some)
    for start, end, label in known.segments:
        only(slice(start, end), [label])
        if label != outside:
            boundary[start + 1 : end] |= BARRED
            boundary[[start, end]] |= FORCED
    boundary[list(known.boundaries)] |= FORCED
    boundary[list(known.no_boundaries)] |= BARRED
    boundary[[0, length]] = 0
    return allowed, boundary
