"""The local classifier of a filtered semi-CRF: gold spans and loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from caesura.errors import InvalidInput, message
from caesura.neural.gold import rows_of
from caesura.neural.lattice import logsum
from caesura.neural.structure import Ints

__all__ = [
    "NULL",
    "filter_loss",
    "given_spans",
    "kept_spans",
    "refuse_nan",
    "spans_inside",
    "training_spans",
]

NULL = 0  # index of null among the local scores


def spans_inside(T: int, K: int, lengths: Ints) -> npt.NDArray[np.bool_]:
    """Return which spans end within the sequence, (B, T, K).

    Examples
    --------
    >>> import numpy as np
    >>> spans_inside(2, 2, np.array([2])).tolist()
    [[[True, True], [True, False]]]
    """
    ends = np.arange(T)[:, None] + np.arange(1, K + 1)
    found: npt.NDArray[np.bool_] = ends <= lengths[:, None, None]
    return found


def refuse_nan(local: Tensor, inside: npt.NDArray[np.bool_]) -> None:
    """Raise if a local span score is NaN."""
    if not local.detach().sum().isnan():
        return
    wrong = local.detach().isnan().any(-1).cpu().numpy() & inside
    for b, start, k in np.argwhere(wrong)[:1].tolist():
        place, expected = f"local[{b}, {start}, {k}]", "a number for each label"
        raise InvalidInput(message(place, "NaN", expected, "check the network"))


def given_spans(segments: Any, lengths: Ints, n_labels: int, max_width: int) -> Ints:
    """Return the gold spans as sorted, checked rows (sequence, start, end, label).

    Examples
    --------
    >>> import numpy as np
    >>> given_spans([[(2, 3, 0), (0, 1, 1)]], np.array([3]), 2, 2).tolist()
    [[0, 0, 1, 1], [0, 2, 3, 0]]
    """
    B = len(lengths)
    rows = rows_of(segments, B)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    b, s, e, y = rows.T
    fits = (b >= 0) & (b < B) & (s >= 0) & (s < e) & (y >= 0) & (y < n_labels)
    fits &= e <= lengths[np.clip(b, 0, max(B - 1, 0))] if B else True
    joined = np.zeros(len(rows), bool)
    joined[1:] = (b[1:] == b[:-1]) & (s[1:] < e[:-1])
    for wrong, expected, remedy in (
        (~fits, f"0 <= start < end <= the length, and a label below {n_labels}", "count from 0"),
        (e - s > max_width, f"at most max_width={max_width} tokens", "raise max_width"),
        (joined, "spans that do not overlap", "leave one out"),
    ):
        for i in np.flatnonzero(wrong)[:1].tolist():
            place = tuple(rows[i, 1:].tolist())
            raise InvalidInput(message(f"segments[{rows[i, 0]}]", place, expected, remedy))
    return rows


def filter_loss(
    local: Tensor,
    lengths: Ints,
    gold: Ints,
    null_weight: float,
    possible: npt.NDArray[np.bool_] | None = None,
) -> Tensor:
    """Return -sum log p(label) over gold spans - null_weight * sum log p(null) over others, (B,).

    Where a sequence is labelled in part, the others may have some labels instead of null:
    `possible` of shape (B, T, K, Y) says which, and p(null) is then the summed probability of null
    and the allowed labels.

    Examples
    --------
    >>> import numpy as np, torch
    >>> filter_loss(torch.zeros(1, 2, 1, 2), np.array([2]), np.array([[0, 0, 1, 0]]), 0.5)
    tensor([1.0397])
    """
    inside = torch.from_numpy(spans_inside(local.shape[1], local.shape[2], lengths))
    inside = inside.to(local.device)
    if not torch.isfinite(local.detach().sum()):
        # Padding may contain anything, and 0 times NaN is NaN.
        local = local.masked_fill(~inside[..., None] & ~torch.isfinite(local), 0.0)
    each = local.movedim(-1, 1).log_softmax(1).movedim(1, -1)  # 7 times as fast for few labels
    null = each[..., NULL]
    if possible is not None:
        may = torch.from_numpy(possible).to(local.device)
        barred = nn.functional.pad(~may, (1, 0), value=False)  # null is always possible
        null = torch.where(may.any(-1), logsum(each.masked_fill(barred, -torch.inf), -1), null)
    total = -null_weight * (null * inside).sum((1, 2))
    b, s, e, y = torch.from_numpy(gold.T.copy()).to(local.device)
    place = (b, s, e - s - 1)
    own = null_weight * null[place] - each[(*place, y + 1)]  # replaces its null term
    return total.index_add(0, b, own)


def kept_spans(local: Tensor, lengths: Ints) -> Ints:
    """Return the spans whose best label is not null, as rows (sequence, start, end, label).

    Examples
    --------
    >>> import numpy as np, torch
    >>> local = torch.tensor([[[[0.0, 1.0]], [[1.0, 0.0]]]])
    >>> kept_spans(local, np.array([2])).tolist()
    [[0, 0, 1, 0]]
    """
    best = local.detach().argmax(-1).cpu().numpy()
    inside = spans_inside(local.shape[1], local.shape[2], lengths)
    refuse_nan(local, inside)
    b, t, k = np.nonzero((best != NULL) & inside)
    return np.stack([b, t, t + k + 1, best[b, t, k] - 1], 1).astype(np.int64)


def training_spans(
    kept: Ints,
    gold: Ints,
    shape: tuple[int, ...],
    constrained: bool,
    possible: npt.NDArray[np.bool_] | None,
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return the gold and the kept spans, and which of them agree with the partial labels.

    A kept span at the place of a given one is that span, with the given label.  With the
    constraint, kept spans stay only if they overlap a given one or agree with what is known.

    Examples
    --------
    >>> import numpy as np
    >>> kept = np.array([[0, 0, 2, 0], [0, 2, 3, 0]])
    >>> rows, agree = training_spans(kept, np.array([[0, 0, 1, 0]]), (1, 3, 2), True, None)
    >>> rows.tolist(), agree.tolist()
    ([[0, 0, 1, 0], [0, 0, 2, 0]], [True, False])
    """
    B, T, K = shape[:3]
    taken = np.zeros((B, T, K), bool)
    taken[gold[:, 0], gold[:, 1], gold[:, 2] - gold[:, 1] - 1] = True
    b, s, e, y = kept.T
    agree = np.zeros(len(kept), bool) if possible is None else possible[b, s, e - s - 1, y]
    stay = ~taken[b, s, e - s - 1]
    if constrained:
        steps = np.zeros((B, T + 2), np.int64)  # spans of `gold` do not overlap
        steps[gold[:, 0], gold[:, 1] + 1] += 1
        steps[gold[:, 0], gold[:, 2] + 1] -= 1
        covered = steps.cumsum(1).cumsum(1)  # tokens before each boundary in these spans
        stay &= agree | (covered[b, e] > covered[b, s])
    together = np.concatenate([gold, kept[stay]])
    order = np.argsort(together[:, 0], kind="stable")
    return together[order], np.concatenate([np.ones(len(gold), bool), agree[stay]])[order]
