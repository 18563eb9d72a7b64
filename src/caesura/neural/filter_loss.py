"""The local classifier of a filtered semi-CRF: the spans that it is given, and its loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from caesura.errors import InvalidInput, message
from caesura.neural.gold import rows_of
from caesura.neural.structure import Ints

__all__ = ["NULL", "filter_loss", "given_spans", "refuse_nan", "spans_inside"]

NULL = 0  # the first of the local scores


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
    """Raise if the local score of a span is not a number."""
    wrong = local.detach().isnan().any(-1).cpu().numpy() & inside
    for b, start, k in np.argwhere(wrong)[:1].tolist():
        place, expected = f"local[{b}, {start}, {k}]", "a number for each label"
        raise InvalidInput(message(place, "NaN", expected, "check the network"))


def given_spans(segments: Any, lengths: Ints, n_labels: int, max_width: int) -> Ints:
    """Return the given spans as rows (sequence, start, end, label) in order, checked.

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
        (~fits, f"0 <= start < end <= the length, and a label below {n_labels}", "correct it"),
        (e - s > max_width, f"at most max_width={max_width} tokens", "raise max_width"),
        (joined, "spans that do not overlap", "leave one out"),
    ):
        for i in np.flatnonzero(wrong)[:1].tolist():
            place = tuple(rows[i, 1:].tolist())
            raise InvalidInput(message(f"segments[{rows[i, 0]}]", place, expected, remedy))
    return rows


def filter_loss(local: Tensor, lengths: Ints, gold: Ints, null_weight: float) -> Tensor:
    """Return -sum log p(label) over given spans - null_weight * sum log p(null) over others, (B,).

    Examples
    --------
    >>> import numpy as np, torch
    >>> filter_loss(torch.zeros(1, 2, 1, 2), np.array([2]), np.array([[0, 0, 1, 0]]), 0.5)
    tensor([1.0397])
    """
    target = torch.zeros(local.shape[:-1], dtype=torch.int64)
    b, s, e, y = (torch.from_numpy(column.copy()) for column in gold.T)
    target[b, s, e - s - 1] = y + 1
    weight = torch.ones(target.shape, dtype=local.dtype)
    weight[target == NULL] = null_weight
    weight[~torch.from_numpy(spans_inside(local.shape[1], local.shape[2], lengths))] = 0.0
    target, weight = target.to(local.device), weight.to(local)
    # padding may hold anything, and 0 times NaN is NaN
    clean = local.masked_fill((weight == 0)[..., None] & ~torch.isfinite(local), 0.0)
    each = nn.functional.cross_entropy(clean.movedim(-1, 1), target, reduction="none")
    return (each * weight).sum((1, 2))
