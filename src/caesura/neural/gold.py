"""Gold segmentations of a batch, as indices into the score arrays.

The score of a segmentation is a sum of entries of these arrays; `Gold` lists them, so that the
score is a gather and its gradient a scatter, and no Python object is made for a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from caesura.errors import InvalidInput, message
from caesura.neural.structure import Ints, Structure, integers

__all__ = ["Gold", "gold_of", "rows_of"]


@dataclass(frozen=True)
class Gold:
    """The entries of the flattened score arrays that the gold segmentations use."""

    places: Mapping[str, tuple[Ints, Ints]]  # name of an array -> (sequences, flat indices)

    def score(self, B: int, scores: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the score of each sequence's segmentation, (B,)."""
        first = next(iter(scores.values()))
        total = first.new_zeros(B)
        for name, (sequences, index) in self.places.items():
            if name in scores and index.size:
                flat = scores[name].reshape(-1)
                picked = flat[torch.from_numpy(index).to(flat.device)]
                total = total.index_add(0, torch.from_numpy(sequences).to(flat.device), picked)
        return total


def rows_of(segments: Any, B: int) -> Ints:
    """Return segments as rows (sequence, start, end, label), sorted by sequence.

    Either such rows are given, as a tensor or an array, or a list of (start, end, label) for each
    sequence.
    """
    if isinstance(segments, torch.Tensor | np.ndarray):
        rows = integers("segments", segments, (-1, 4))
        return rows[np.argsort(rows[:, 0], kind="stable")]
    if not isinstance(segments, Sequence) or isinstance(segments, str):
        expected = "a list of segments for each sequence, or a tensor"
        raise InvalidInput(message("segments", segments, expected, "give all segments"))
    if len(segments) != B:
        raise InvalidInput(
            message("segments", f"{len(segments)} lists", f"{B}, one per sequence", "give them")
        )
    listed: list[tuple[int, ...]] = []
    for b, cut in enumerate(segments):
        if not isinstance(cut, Sequence) or isinstance(cut, str):
            expected = "a list of (start, end, label)"
            raise InvalidInput(message(f"segments[{b}]", cut, expected, "give a list"))
        for segment in cut:
            if not isinstance(segment, Sequence) or len(segment) != 3:
                expected = "(start, end, label)"
                raise InvalidInput(message(f"segments[{b}]", segment, expected, "give all three"))
            listed.append((b, *segment))
    return integers("segments", listed, (-1, 4))


def gold_of(rows: Ints, structure: Structure, dense: str) -> Gold:
    """Return the entries of the arrays that the segmentations use.

    Parameters
    ----------
    rows : array of shape (n, 4)
        Sequence, start, end and label of each segment, in order.
    structure : Structure
        Lengths and bounds.
    dense : {"tokens", "segments"}
        Which array of the scores is by token or by segment.
    """
    _check(rows, structure)
    b, s, e, y = rows.T
    T, Y = structure.T, structure.Y
    places: dict[str, tuple[Ints, Ints]] = {}
    if dense == "segments":
        L = int(structure.bounds.max())
        places["segments"] = b, ((b * T + s) * L + (e - s - 1)) * Y + y
    else:
        sizes = e - s
        first = np.repeat(s - (np.cumsum(sizes) - sizes), sizes)
        tokens, owner = np.arange(len(first)) + first, np.repeat(b, sizes)
        places["tokens"] = owner, (owner * T + tokens) * Y + np.repeat(y, sizes)
    places["starts"] = b, (b * T + s) * Y + y
    places["ends"] = b, (b * T + e - 1) * Y + y
    if structure.spans is not None:
        key = ((rows[:, 0] * (T + 1) + s) * (T + 1) + e) * Y + y
        c, cs, ce, cy = structure.spans.T
        hit = np.flatnonzero(np.isin(((c * (T + 1) + cs) * (T + 1) + ce) * Y + cy, key))
        places["span_scores"] = c[hit], hit
    places["start"] = b[s == 0], y[s == 0]
    last = e == structure.lengths[b]
    places["end"] = b[last], y[last]
    places["transition"] = _histories(b, y, 2, Y)
    if structure.order > 1:
        places["patterns"] = _patterns(b, y, structure.order, Y)
    return Gold(places)


def _histories(b: Ints, y: Ints, k: int, Y: int) -> tuple[Ints, Ints]:
    """Return the runs of k labels, as numbers in base Y, and their sequences."""
    n = max(len(y) - k + 1, 0)
    number = np.zeros(n, np.int64)
    for i in range(k):
        number = number * Y + y[i : i + n]
    inside = b[:n] == b[k - 1 : k - 1 + n]
    return b[:n][inside], number[inside]


def _patterns(b: Ints, y: Ints, order: int, Y: int) -> tuple[Ints, Ints]:
    """Return the positions of all patterns, in the order of `patterns_of`."""
    found, offset = [], 0
    for k in range(3, order + 2):
        sequences, number = _histories(b, y, k, Y)
        found.append((sequences, number + offset))
        offset += Y**k
    sequences, index = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return sequences, index


def _check(rows: Ints, structure: Structure) -> None:
    """Raise unless each sequence is covered by segments that the model allows."""
    b, s, e, y = rows.T
    B, Y, lengths = structure.B, structure.Y, structure.lengths
    _refuse(rows, (b < 0) | (b >= B), f"a sequence below {B}")
    _refuse(rows, (y < 0) | (y >= Y), f"a label below {Y}")
    starts = np.ones(len(rows), bool)
    starts[1:] = b[1:] != b[:-1]
    expected_start = np.zeros(len(rows), np.int64)
    expected_start[1:] = np.where(starts[1:], 0, e[:-1])
    _refuse(rows, (s != expected_start) | (s >= e), "segments that follow each other without gaps")
    _refuse(rows, e > lengths[b], "an end within the sequence")
    _refuse(rows, e - s > structure.bounds[y], "a segment that is not longer than max_length")
    covered = np.bincount(b, weights=e - s, minlength=B).astype(np.int64)
    short = np.flatnonzero(covered < lengths)
    if short.size:
        i = int(short[0])
        came, expected = f"an end at {covered[i]}", f"one at {lengths[i]}, the sequence's length"
        raise InvalidInput(message(f"segments[{i}]", came, expected, "cover all tokens"))
    if not structure.same_label_adjacent and len(rows) > 1:
        repeated = np.zeros(len(rows), bool)
        repeated[1:] = ~starts[1:] & (y[1:] == y[:-1])
        _refuse(rows, repeated, "no two adjacent segments with the same label")


def _refuse(rows: Ints, wrong: Any, expected: str) -> None:
    for i in np.flatnonzero(wrong)[:1].tolist():
        b, *segment = rows[i].tolist()
        raise InvalidInput(
            message(f"segments[{b}]", tuple(segment), expected, "correct this segment")
        )
