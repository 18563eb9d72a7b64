"""Distributions over kept spans: log Z, best paths and graph sizes.

Spans are rows (sequence, start, end, label), sorted by sequence.  Which span may follow which is
the rule "filtered" of `caesura.inference.span_graph`, so a path is a maximal set of spans that do
not overlap.  The span graph of the engine sums over windows and never lists arcs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from caesura.inference.span_graphs import SpanGraphs
from caesura.neural.lattice import logsum
from caesura.neural.structure import Ints

__all__ = [
    "greedy",
    "greedy_paths",
    "log_partition",
    "log_partition_and_arcs",
    "path_scores",
    "plain_log_partition",
    "predecessors",
    "size_of",
]


class _LogPartition(torch.autograd.Function):
    """ln Z of each graph, with marginals of spans and transitions as its gradient."""

    @staticmethod
    def forward(
        ctx: Any, rows: Ints, lengths: Ints, scores: Tensor, transition: Tensor
    ) -> tuple[Tensor, Tensor]:
        values, pairs = (x.detach().double().numpy() for x in (scores, transition))
        graphs = SpanGraphs(
            *(rows, values, lengths, len(pairs), pairs),
            rule="filtered",
            n_threads=torch.get_num_threads(),
        )
        found = graphs.marginals()
        ctx.save_for_backward(scores, transition)
        ctx.rows, ctx.lengths, ctx.counts = rows, lengths, (found.spans, found.transitions)
        arcs = torch.from_numpy(graphs.arcs())
        ctx.mark_non_differentiable(arcs)
        return torch.from_numpy(found.log_partition).to(scores), arcs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        grad, scores = grads[0], ctx.saved_tensors[0]
        if torch.is_grad_enabled():  # second derivatives are requested
            with torch.enable_grad():
                given = [
                    x if x.requires_grad else x.detach().requires_grad_() for x in ctx.saved_tensors
                ]
                value = plain_log_partition(ctx.rows, ctx.lengths, *given)
                again = torch.autograd.grad(
                    value, given, grad, create_graph=True, allow_unused=True
                )
            return None, None, *again
        spans, pairs = (torch.from_numpy(count).to(scores) for count in ctx.counts)
        owner = torch.from_numpy(ctx.rows[:, 0].copy()).to(grad.device)
        return None, None, grad[owner] * spans, torch.einsum("b,bxy->xy", grad, pairs)


def log_partition(
    rows: Ints, lengths: Ints, scores: Tensor, transition: Tensor, use_kernels: bool = True
) -> Tensor:
    """Return ln Z of each sequence's graph, (B,); 0 where a graph is empty."""
    return log_partition_and_arcs(rows, lengths, scores, transition, use_kernels)[0]


def log_partition_and_arcs(
    rows: Ints, lengths: Ints, scores: Tensor, transition: Tensor, use_kernels: bool = True
) -> tuple[Tensor, Tensor]:
    """Return ln Z of each sequence's graph, (B,), and its number of arcs, (B,)."""
    if scores.device.type != "cpu" or not use_kernels:
        sizes = [size_of(rows[rows[:, 0] == b, 1:3])[1] for b in range(len(lengths))]
        return plain_log_partition(rows, lengths, scores, transition), torch.tensor(sizes)
    found: tuple[Tensor, Tensor] = _LogPartition.apply(rows, lengths, scores, transition)  # type: ignore[no-untyped-call]
    return found


def predecessors(spans: Ints) -> list[list[int]]:
    """Return which spans may directly precede each span, by definition.

    [c, d) may follow [a, b) if b <= c and no span lies wholly inside the gap [b, c).

    Examples
    --------
    >>> import numpy as np
    >>> predecessors(np.array([(0, 1), (1, 2), (2, 3)]))  # the middle one lies in the gap
    [[], [0], [1]]
    """
    listed = [tuple(span) for span in spans.tolist()]
    return [
        [
            i
            for i, (_, b) in enumerate(listed)
            if b <= c and not any(b <= s and e <= c for s, e in listed)
        ]
        for c, _ in listed
    ]


def plain_log_partition(rows: Ints, lengths: Ints, scores: Tensor, transition: Tensor) -> Tensor:
    """Return ln Z with explicit arcs in torch, for other devices and second derivatives.

    alpha[j] = score[j] + logsum over arcs i -> j of alpha[i] + transition[label(i), label(j)]
    """
    ends = np.searchsorted(rows[:, 0], np.arange(len(lengths) + 1))
    found = []
    for b in range(len(lengths)):
        part = rows[ends[b] : ends[b + 1]]
        own, labels = scores[ends[b] : ends[b + 1]], part[:, 3].tolist()
        before = predecessors(part[:, 1:3])
        alpha: dict[int, Tensor] = {}
        for j in np.argsort(part[:, 2], kind="stable").tolist():  # in the order of ends
            alpha[j] = own[j]
            if before[j]:
                into = [alpha[i] + transition[labels[i], labels[j]] for i in before[j]]
                alpha[j] = own[j] + logsum(torch.stack(into), 0)
        last = sorted(set(alpha) - {i for some in before for i in some})
        total = logsum(torch.stack([alpha[i] for i in last]), 0) if last else own.sum()
        found.append(total)
    return torch.stack(found) if found else scores.new_zeros(0)


def path_scores(rows: Ints, B: int, scores: Tensor, transition: Tensor) -> Tensor:
    """Return the score of one path of each sequence, (B,); rows are its spans in order."""
    owner = torch.from_numpy(rows[:, 0].copy()).to(scores.device)
    total = scores.new_zeros(B).index_add(0, owner, scores)
    joined = rows[1:, 0] == rows[:-1, 0]
    pairs = transition[rows[:-1, 3][joined], rows[1:, 3][joined]]
    return total.index_add(0, owner[1:][torch.from_numpy(joined).to(owner.device)], pairs)


def size_of(spans: Ints) -> tuple[int, int]:
    """Return the numbers of spans and of arcs between them, without listing the arcs.

    Examples
    --------
    >>> import numpy as np
    >>> size_of(np.array([(s, e) for s in range(4) for e in range(s + 1, 5)]))
    (10, 10)
    """
    if not len(spans):
        return 0, 0
    order = np.argsort(spans[:, 1], kind="stable")
    ends, latest = spans[order, 1], np.maximum.accumulate(spans[order, 0])
    stop = np.searchsorted(ends, spans[:, 0], "right")  # spans that end at or before each start
    least = np.where(stop > 0, latest[np.maximum(stop, 1) - 1], 0)
    first = np.searchsorted(ends, least, "right")  # those with another span in between
    return len(spans), int(np.maximum(stop - first, 0).sum())


def greedy_paths(rows: Ints, B: int, scores: Any) -> list[list[int]]:
    """Return the spans that `greedy` selects in each sequence, as rows of the batch."""
    ends = np.searchsorted(rows[:, 0], np.arange(B + 1)).tolist()
    return [
        [a + i for i in greedy(rows[a:b, 1:3], scores[a:b])] if a < b else []
        for a, b in pairwise(ends)
    ]


def greedy(spans: Ints, scores: Any) -> list[int]:
    """Return non-overlapping spans, selected greedily by score.

    Examples
    --------
    >>> import numpy as np
    >>> greedy(np.array([(0, 2), (1, 3), (3, 4)]), np.array([1.0, 2.0, 0.5]))
    [1, 2]
    """
    kept: list[int] = []
    for i in np.argsort(-np.asarray(scores), kind="stable").tolist():
        s, e = spans[i]
        if all(e <= spans[j, 0] or spans[j, 1] <= s for j in kept):
            kept.append(i)
    return sorted(kept, key=lambda i: int(spans[i, 0]))
