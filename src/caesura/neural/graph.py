"""Distributions over the spans that a filter has kept: log Z, best paths and the size of graphs.

Spans are rows (sequence, start, end, label), sorted by sequence.  Which span may follow which is
the rule "filtered" of `caesura.inference.span_graph`, so a path is a maximal set of spans that do
not overlap.  The span graph of the engine sums over windows and never lists arcs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from caesura.inference.span_graph import SpanGraph, SpanPath
from caesura.neural.lattice import logsum
from caesura.neural.structure import Ints

__all__ = [
    "best_mean",
    "graphs_of",
    "greedy",
    "log_partition",
    "path_scores",
    "plain_log_partition",
    "predecessors",
    "size_of",
]


def graphs_of(
    rows: Ints, lengths: Ints, scores: Tensor, transition: Tensor
) -> Iterator[tuple[slice, SpanGraph]]:
    """Yield the graph of each sequence, with the part of the rows that it is made of."""
    values = scores.detach().cpu().double().numpy()
    pairs = transition.detach().cpu().double().numpy()
    ends = np.searchsorted(rows[:, 0], np.arange(len(lengths) + 1))
    for b, length in enumerate(lengths.tolist()):
        part = slice(int(ends[b]), int(ends[b + 1]))
        places, labels = rows[part, 1:3], rows[part, 3]
        yield (
            part,
            SpanGraph(places, labels, values[part], length, len(pairs), pairs, rule="filtered"),
        )


class _LogPartition(torch.autograd.Function):
    """ln Z of each graph; its gradient is the probabilities of spans and counts of transitions."""

    @staticmethod
    def forward(ctx: Any, rows: Ints, lengths: Ints, scores: Tensor, transition: Tensor) -> Tensor:
        found = np.zeros(len(lengths))
        spans = np.zeros(len(rows))
        pairs = np.zeros((len(lengths), *transition.shape))
        for b, (part, graph) in enumerate(graphs_of(rows, lengths, scores, transition)):
            if part.start < part.stop:
                answer = graph.marginals()
                found[b], spans[part], pairs[b] = answer.log_partition, answer.spans, answer[3]
        ctx.save_for_backward(scores, transition)
        ctx.rows, ctx.lengths, ctx.counts = rows, lengths, (spans, pairs)
        return scores.new_tensor(found)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        grad, scores = grads[0], ctx.saved_tensors[0]
        if torch.is_grad_enabled():  # second derivatives will be asked for
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
    if scores.device.type != "cpu" or not use_kernels:
        return plain_log_partition(rows, lengths, scores, transition)
    found: Tensor = _LogPartition.apply(rows, lengths, scores, transition)  # type: ignore[no-untyped-call]
    return found


def predecessors(spans: Ints) -> list[list[int]]:
    """Return which spans may come directly before each, by the definition of the rule.

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
    """Return ln Z with explicit arcs, in torch: for other devices and second derivatives.

    alpha[j] = score[j] + logsum over arcs i -> j of alpha[i] + transition[label(i), label(j)]
    """
    ends = np.searchsorted(rows[:, 0], np.arange(len(lengths) + 1))
    found = []
    for b in range(len(lengths)):
        part = rows[ends[b] : ends[b + 1]]
        own, labels = scores[ends[b] : ends[b + 1]], part[:, 3].tolist()
        before = predecessors(part[:, 1:3])
        alpha: dict[int, Tensor] = {}
        for j in np.argsort(part[:, 2], kind="stable").tolist():  # by end
            alpha[j] = own[j]
            if before[j]:
                into = [alpha[i] + transition[labels[i], labels[j]] for i in before[j]]
                alpha[j] = own[j] + logsum(torch.stack(into), 0)
        last = sorted(set(alpha) - {i for some in before for i in some})
        total = logsum(torch.stack([alpha[i] for i in last]), 0) if last else own.sum()
        found.append(total)
    return torch.stack(found) if found else scores.new_zeros(0)


def path_scores(rows: Ints, B: int, scores: Tensor, transition: Tensor) -> Tensor:
    """Return the score of one path of each sequence, (B,): rows are its spans in order."""
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
    stop = np.searchsorted(ends, spans[:, 0], "right")  # spans that end at or before a start
    least = np.where(stop > 0, latest[np.maximum(stop, 1) - 1], 0)
    first = np.searchsorted(ends, least, "right")  # those that end later than the gap allows
    return len(spans), int(np.maximum(stop - first, 0).sum())


def greedy(spans: Ints, scores: Any) -> list[int]:
    """Return spans that do not overlap: the best, then the best that is left, and so on.

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


def best_mean(spans: Ints, labels: Ints, scores: Any, length: int, transition: Any) -> SpanPath:
    """Return the path with the best mean score of a span, transitions included.

    Dinkelbach's method: the largest score less ``mean`` for each span is 0 exactly at the best
    mean, and the path that attains it elsewhere has a better mean.  Every step finds another path,
    so it ends.
    """
    Y = len(transition)
    mean, best = -np.inf, None
    while True:
        lowered = scores - (0.0 if best is None else mean)
        graph = SpanGraph(spans, labels, lowered, length, Y, transition, rule="filtered")
        path = graph.viterbi()
        if not path.spans:
            return path
        total = float(np.asarray(scores)[path.spans].sum())
        y = labels[path.spans]
        total += float(np.asarray(transition)[y[:-1], y[1:]].sum())
        found = total / len(path.spans)
        if best is not None and found <= mean:
            return best
        mean, best = found, SpanPath(path.spans, path.segments, total)
