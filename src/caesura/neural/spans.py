"""Span representations from token vectors: states (B, T, H) -> (B, T, K, H).

Entry [b, t, k] stands for the span [t, t + k + 1).  The values of spans that reach
beyond the last token are undefined; callers must check the lengths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.neural.lattice import shifted

__all__ = ["REPRESENTATIONS", "SharedScores", "SpanRepresentation"]

REPRESENTATIONS = (
    *("sum", "sum_ends", "endpoints", "marker", "query", "mlp", "max"),
    *("conv", "conv_max", "conv_mean", "conv_sum", "conv_share"),
)


class SharedScores(NamedTuple):
    """Scores of tokens and widths that sum to the scores of spans."""

    tokens: Tensor  #: (B, T, n) of each token of a span
    starts: Tensor | None  #: (B, T, n) of its first token
    ends: Tensor | None  #: (B, T, n) of its last token
    widths: Tensor  #: (K, n) of its width


class SpanRepresentation(nn.Module):
    """Vector representations of all spans of up to K tokens.

    Parameters
    ----------
    kind : str
        "sum" adds the vectors of the tokens; "sum_ends" adds projections of the first and the last
        token and a vector of the width to this sum, so that spans can be told from their parts as
        by the tags of a chain; "max" takes their largest entries; "endpoints"
        combines the first and the last token and a vector of the width; "marker" combines
        projections of the first and the last; "query" multiplies the first by a learned vector of
        the width; "mlp" computes all widths from the first token; "conv" has a convolution for
        each width, "conv_share" one kernel whose first taps are used, and "conv_max",
        "conv_mean" and "conv_sum" pool convolved tokens.
    size : int
        Size of the vectors, H.
    max_width : int
        Longest span, K.
    dropout : float
        Probability of dropping an entry inside this module.

    Examples
    --------
    >>> import torch
    >>> from caesura.neural.spans import SpanRepresentation
    >>> states = torch.tensor([[[1.0], [2.0], [4.0]]])
    >>> SpanRepresentation("sum", 1, 2)(states)[0, :2, :, 0]
    tensor([[1., 3.],
            [2., 6.]])
    """

    def __init__(self, kind: str, size: int, max_width: int, dropout: float = 0.0) -> None:
        super().__init__()
        if kind not in REPRESENTATIONS:
            raise InvalidInput(
                message("representation", kind, f"one of {list(REPRESENTATIONS)}", "choose one")
            )
        H, K = whole("size", size, 1), whole("max_width", max_width, 1)
        self.kind, self.size, self.max_width = kind, H, K
        if kind == "sum_ends":
            self.first, self.last = nn.Linear(H, H, bias=False), nn.Linear(H, H, bias=False)
            self.width = nn.Embedding(K, H)
        elif kind == "endpoints":
            self.width = nn.Embedding(K, H)
            self.out = _mlp(3 * H, H, dropout)
        elif kind == "marker":
            self.first, self.last = _mlp(H, H, dropout), _mlp(H, H, dropout)
            self.out = _mlp(2 * H, H, dropout)
        elif kind == "query":
            self.query = nn.Parameter(torch.randn(K, H) / H**0.5)
            self.out = _mlp(H, H, dropout)
        elif kind == "mlp":
            self.out = _mlp(H, K * H, dropout)
        elif kind == "conv":
            self.kernels = nn.ModuleList(nn.Conv1d(H, H, k) for k in range(1, K + 1))
            self.out = _mlp(H, H, dropout)
        elif kind == "conv_share":
            self.kernel = nn.Parameter(torch.randn(H, H, K) / (H * K) ** 0.5)
            self.out = _mlp(H, H, dropout)
        elif kind.startswith("conv_"):
            self.token = nn.Conv1d(H, H, 3, padding=1)
            self.out = _mlp(H, H, dropout)

    def forward(self, states: Tensor) -> Tensor:
        """Return the vectors of spans.

        Parameters
        ----------
        states : tensor of shape (B, T, H)
            Vectors of tokens; those of padding should be 0.

        Returns
        -------
        tensor of shape (B, T, K, H)
        """
        if self.kind == "sum_ends":
            first, last = self.first(states), self.last(states)
            ends = first[:, :, None] + shifted(last, self.max_width)
            total: Tensor = self._sum(states) + ends + self.width.weight
            return total
        found: Tensor = getattr(self, f"_{self.kind.partition('_')[0]}")(states)
        return found

    @property
    def linear(self) -> bool:
        """Whether span vectors are linear functions of token vectors."""
        return self.kind in ("sum", "sum_ends")

    def shared(self, states: Tensor, linear: nn.Linear) -> SharedScores:
        """Return the summands of a linear function of span vectors.

        Parameters
        ----------
        states : tensor of shape (B, T, H)
            See `forward`.
        linear : torch.nn.Linear
            From H numbers to n.

        Returns
        -------
        SharedScores
        """
        assert self.linear
        tokens = functional.linear(states, linear.weight)
        if self.kind == "sum":
            widths = linear.bias.expand(self.max_width, -1)
            return SharedScores(tokens, None, None, widths)
        starts, ends = (
            functional.linear(states, linear.weight @ x.weight) for x in (self.first, self.last)
        )
        return SharedScores(tokens, starts, ends, linear(self.width.weight))

    def projected(self, states: Tensor, linear: nn.Linear) -> Tensor:
        """Return a linear function of span vectors, (B, T, K, n).

        Where these are sums, so is it, of what is computed for tokens, which are far fewer.

        Parameters
        ----------
        states : tensor of shape (B, T, H)
            See `forward`.
        linear : torch.nn.Linear
            From H numbers to n.

        Returns
        -------
        tensor of shape (B, T, K, n)
        """
        if not self.linear:
            found: Tensor = linear(self(states))
            return found
        tokens, starts, ends, widths = self.shared(states, linear)
        total = self._sum(tokens) + widths
        if starts is None or ends is None:
            return total
        return total + starts[:, :, None] + shifted(ends, self.max_width)

    def _sum(self, states: Tensor) -> Tensor:
        """Differences of prefix sums: sum of [t, t + k + 1) = before[t + k + 1] - before[t]."""
        before = functional.pad(states.cumsum(1), (0, 0, 1, 0))  # (B, T + 1, H)
        last = before[:, -1:].expand(-1, self.max_width, -1)
        after = shifted(torch.cat([before[:, 1:], last], 1), self.max_width)[:, : states.shape[1]]
        return after - before[:, :-1, None]

    def _max(self, states: Tensor) -> Tensor:
        lowest = torch.finfo(states.dtype).min
        padded = functional.pad(states, (0, 0, 0, self.max_width - 1), value=lowest)
        found = [states]
        for k in range(1, self.max_width):
            found.append(torch.maximum(found[-1], padded[:, k : k + states.shape[1]]))
        return torch.stack(found, 2)

    def _endpoints(self, states: Tensor) -> Tensor:
        last = shifted(states, self.max_width)
        first = states[:, :, None].expand_as(last)
        return self._out(torch.cat([first, last, self.width.weight.expand_as(last)], -1))

    def _marker(self, states: Tensor) -> Tensor:
        last = shifted(self.last(states), self.max_width)
        first = self.first(states)[:, :, None].expand_as(last)
        return self._out(torch.cat([first, last], -1).relu())

    def _query(self, states: Tensor) -> Tensor:
        return self._out(states[:, :, None] * self.query)

    def _mlp(self, states: Tensor) -> Tensor:
        B, T, H = states.shape
        return self._out(states).reshape(B, T, self.max_width, H)

    def _conv(self, states: Tensor) -> Tensor:
        T, K = states.shape[1], self.max_width
        across = functional.pad(states, (0, 0, 0, K - 1)).transpose(1, 2)  # (B, H, T + K - 1)
        if self.kind == "conv":
            made = [kernel(across)[..., :T] for kernel in self.kernels]
        elif self.kind == "conv_share":
            made = [
                functional.conv1d(across, self.kernel[..., :k])[..., :T] for k in range(1, K + 1)
            ]
        else:
            return self._out(self._pooled(self.token(states.transpose(1, 2)).transpose(1, 2)))
        return self._out(torch.stack([x.transpose(1, 2) for x in made], 2).relu())

    def _pooled(self, tokens: Tensor) -> Tensor:
        if self.kind == "conv_max":
            return self._max(tokens)
        total = self._sum(tokens)
        if self.kind == "conv_sum":
            return total
        widths = torch.arange(1, self.max_width + 1, device=tokens.device, dtype=tokens.dtype)
        return total / widths[:, None]

    def _out(self, x: Tensor) -> Tensor:
        found: Tensor = self.out(x)
        return found


def _mlp(inner: int, outer: int, dropout: float) -> Any:
    return nn.Sequential(
        nn.Linear(inner, outer), nn.ReLU(), nn.Dropout(dropout), nn.Linear(outer, outer)
    )
