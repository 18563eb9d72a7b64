"""Global scores of kept spans, computed on demand."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from caesura.neural.spans import SpanRepresentation
from caesura.neural.structure import Ints

__all__ = ["PathScores", "picked"]


class PathScores:
    """The global scores of spans, computed on demand.

    Parameters
    ----------
    representation : SpanRepresentation
        How vectors of spans are made.
    states : tensor of shape (B, T, H)
        Vectors of tokens.
    linear : torch.nn.Linear
        From vectors of spans to scores of labels, or to one score for all.
    vectors : tensor of shape (B, T, K, H), optional
        Vectors of spans; not needed where they are linear functions of the tokens' vectors.
    extra : tensor of shape (B, T, K, Y), optional
        Further scores, which are added.

    Examples
    --------
    >>> import numpy as np, torch
    >>> sums, linear = SpanRepresentation("sum", 3, 2), torch.nn.Linear(3, 2)
    >>> scores = PathScores(sums, torch.ones(1, 2, 3), linear)
    >>> found = scores.at(np.array([[0, 0, 2, 1]]))
    >>> torch.allclose(found, linear(2 * torch.ones(3))[1])
    True
    """

    def __init__(
        self,
        representation: SpanRepresentation,
        states: Tensor,
        linear: nn.Linear,
        vectors: Tensor | None = None,
        extra: Tensor | None = None,
    ) -> None:
        self.linear, self.vectors, self.extra = linear, vectors, extra
        if vectors is None:
            self.shared = representation.shared(states, linear)
            # (B, T + 1, Y) sums over the tokens before each boundary
            self.before = functional.pad(self.shared.tokens.cumsum(1), (0, 0, 1, 0))

    def at(self, rows: Ints) -> Tensor:
        """Return the scores of rows (sequence, start, end, label), (n,)."""
        device = self.linear.weight.device
        b, s, e, y = torch.from_numpy(rows.T.copy()).to(device)
        column = y if self.linear.out_features > 1 else torch.zeros_like(y)
        if self.vectors is None:
            _, starts, ends, widths = self.shared
            own = self.before[b, e, column] - self.before[b, s, column]
            own = own + widths[e - s - 1, column]
            if starts is not None and ends is not None:
                own = own + starts[b, s, column] + ends[b, e - 1, column]
        else:
            all_labels: Tensor = self.linear(self.vectors[b, s, e - s - 1])
            own = all_labels.gather(1, column[:, None])[:, 0]
        return own if self.extra is None else own + self.extra[b, s, e - s - 1, y]


def picked(path: Tensor | PathScores, rows: Ints) -> Tensor:
    """Return the global scores of rows (sequence, start, end, label), (n,)."""
    if isinstance(path, PathScores):
        return path.at(rows)
    b, s, e, y = torch.from_numpy(rows.T.copy()).to(path.device)
    return path[b, s, e - s - 1, y]
