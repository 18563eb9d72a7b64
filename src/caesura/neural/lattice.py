"""The plain torch implementation: the log-space recursion of a segmental model.

It is the twin of the kernels, for tensors that are not on the CPU and for second derivatives.  All
models become dense scores of segments (B, T, L, Y); the sums are

    entered[t, q] = logsum over arcs p -> q of alpha[t, p] + score of the arc
    alpha[e, q]   = logsum over l < L of entered[e - 1 - l, q] + segments[e - 1 - l, l, label(q)]

with the states q of `caesura.neural.histories` and boundaries t, e in 0..T.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from caesura.checks import LARGEST_SCORE, refused_score
from caesura.inference.kernel_calls import require_possible
from caesura.neural.histories import histories
from caesura.neural.structure import Structure

__all__ = [
    "barred_segments",
    "dense_scores",
    "entropy",
    "log_partition",
    "logsum",
    "marginals",
    "shifted",
    "spread",
    "summed",
]

BY_PLACE = ("tokens", "segments", "starts", "ends", "span_scores")  # position-dependent scores


def logsum(x: Tensor, dim: int) -> Tensor:
    """Return ln sum exp along a dimension; -inf, with gradients of 0, where all entries are -inf.

    `torch.logsumexp` has gradients that are NaN there.
    """
    most = x.detach().amax(dim, keepdim=True)
    most = torch.where(torch.isneginf(most), torch.zeros_like(most), most)
    total = (x - most).exp().sum(dim)
    some = total > 0
    found = torch.where(some, total, torch.ones_like(total)).log() + most.squeeze(dim)
    return torch.where(some, found, torch.full_like(found, -torch.inf))


def log_partition(structure: Structure, scores: Mapping[str, Tensor]) -> Tensor:
    """Return ln Z of each sequence, (B,), differentiable any number of times."""
    segments = dense_scores(structure, scores)
    B, T, L, Y = segments.shape
    device = segments.device

    def moved(array: Any) -> Tensor:
        return torch.from_numpy(array).to(device)

    machine = histories(Y, structure.order, structure.same_label_adjacent, structure.rules)
    source, into, label = (moved(a) for a in (machine.source, machine.arcs_in, machine.label))
    arc_scores = _flat_scores(scores, segments)[moved(machine.scores)].sum(1)  # (arcs,)
    of_state = segments[..., label]  # (B, T, L, Q)
    nothing = segments.new_full((B, 1), -torch.inf)
    begin = torch.zeros_like(label, dtype=segments.dtype)
    begin[1:] = -torch.inf
    alpha = [begin.expand(B, -1)]
    entered: list[Tensor] = []
    for e in range(1, T + 1):
        through = torch.cat([alpha[-1][:, source] + arc_scores, nothing], 1)  # (B, arcs + 1)
        entered.append(logsum(through[:, into], -1))  # the last arc is the padding of arcs_in
        longest = min(L, e)
        before = torch.stack(entered[e - longest :][::-1], 1)  # (B, longest, Q) by length
        # A segment of length l + 1 that ends at e starts at e - 1 - l.
        places = range(e - 1, e - 1 - longest, -1)
        own = torch.stack([of_state[:, t, length] for length, t in enumerate(places)], 1)
        alpha.append(logsum(before + own, 1))
    found = _ended(structure, scores, torch.stack(alpha, 1), label, moved(machine.accepting))
    if found.requires_grad and not found.is_meta:  # expected counts need a possible segmentation
        for b in torch.isneginf(found.detach()).nonzero()[:1, 0].tolist():
            require_possible(False, b, "batch")
    return found


def _ended(
    structure: Structure, scores: Mapping[str, Tensor], alpha: Tensor, label: Tensor, accept: Tensor
) -> Tensor:
    """Return the sum over the final states."""
    lengths = torch.from_numpy(structure.lengths).to(alpha.device)
    last = alpha.gather(1, lengths[:, None, None].expand(-1, 1, alpha.shape[2]))[:, 0]  # (B, Q)
    leave = scores["end"][label] if "end" in scores else torch.zeros_like(last[0])
    first = torch.zeros_like(leave, dtype=torch.bool)
    first[0] = True  # the initial state has no label, and so no end score
    leave = torch.where(first, torch.zeros_like(leave), leave)
    leave = leave.masked_fill(accept == 0, -torch.inf)
    return logsum(last + leave, 1)


def _flat_scores(scores: Mapping[str, Tensor], like: Tensor) -> Tensor:
    """Return start, transition and pattern scores and 0 in one array."""
    Y = like.shape[-1]
    start = scores.get("start", like.new_zeros(Y))
    transition = scores.get("transition", like.new_zeros(Y, Y))
    patterns = scores.get("patterns", like.new_zeros(0))
    return torch.cat([start, transition.reshape(-1), patterns, like.new_zeros(1)])


def dense_scores(structure: Structure, scores: Mapping[str, Tensor]) -> Tensor:
    """Return the scores of all segments, (B, T, L, Y); -inf for forbidden ones."""
    B, T, Y = structure.B, structure.T, structure.Y
    given = scores["tokens"] if "tokens" in scores else scores["segments"]
    longest = min(int(structure.bounds.max()), max(T, 1))
    L = scores["segments"].shape[2] if "segments" in scores else longest

    def clean(name: str) -> Tensor:  # padding may contain anything, including NaN
        pad = np.arange(T) >= structure.lengths[:, None]
        mask = torch.from_numpy(pad).to(given.device)[..., None]
        return scores[name].masked_fill(mask, 0.0)

    if "segments" in scores:
        mask = torch.from_numpy(_outside(structure, L)).to(given.device)[..., None]
        total = scores["segments"].masked_fill(mask, 0.0)
    else:
        total = given.new_zeros(B, T, L, Y)
    if "tokens" in scores:
        total = total + summed(clean("tokens"), L)
    if "starts" in scores:
        total = total + clean("starts")[:, :, None]
    if "ends" in scores:
        total = total + shifted(clean("ends"), L)
    if "span_scores" in scores and structure.spans is not None:
        b, s, e, y = (torch.from_numpy(c).to(given.device) for c in structure.spans.T.copy())
        usable = torch.from_numpy(structure.spans[:, 2] - structure.spans[:, 1] <= L)
        usable = usable.to(given.device)
        index = (((b * T + s) * L + (e - s - 1)) * Y + y)[usable]
        added = given.new_zeros(total.numel()).index_add(0, index, scores["span_scores"][usable])
        total = total + added.reshape(total.shape)
    barred = torch.from_numpy(barred_segments(structure, L)).to(given.device)
    total = total.masked_fill(barred, -torch.inf)
    _check_finite(total, scores)
    return total


def _check_finite(total: Tensor, scores: Mapping[str, Tensor]) -> None:
    """Raise for scores that cannot be summed, as the kernels do; sums could hide a NaN."""
    if total.is_meta:
        return

    def bad(x: Tensor) -> Tensor:
        x = x.detach()
        return ~((x.abs() <= LARGEST_SCORE) | torch.isneginf(x))

    for b in bad(total).flatten(1).any(1).nonzero()[:1, 0].tolist():
        raise refused_score("scores", b)
    for name in ("transition", "start", "end", "patterns"):
        if name in scores and bool(bad(scores[name]).any()):
            raise refused_score(name).changed(remedy="correct the parameters")


def _outside(structure: Structure, L: int) -> Any:
    """Return which segments extend beyond the sequence, (B, T, L)."""
    ends = np.arange(structure.T)[:, None] + np.arange(L)
    return ends >= structure.lengths[:, None, None]


def shifted(x: Tensor, L: int) -> Tensor:
    """Return x[t + l] at [t, l], zero beyond the end: the values at segment ends."""
    T = x.shape[1]
    padded = torch.nn.functional.pad(x, (0, 0, 0, L))
    return torch.stack([padded[:, k : k + T] for k in range(L)], 2)


def summed(tokens: Tensor, L: int) -> Tensor:
    """Return the sums over the tokens of all segments, without subtraction."""
    T = tokens.shape[1]
    padded = torch.nn.functional.pad(tokens, (0, 0, 0, L))
    sums = [tokens]
    for length in range(1, L):
        sums.append(sums[-1] + padded[:, length : length + T])
    return torch.stack(sums, 2)


def spread(scores: Tensor, L: int) -> Tensor:
    """Return the scores of segments, (B, T, L, n), from those of tokens, (B, T, 3 n).

    The first n are of every token of a segment, the next of its first one and the rest of its last.
    """
    tokens, starts, ends = scores.chunk(3, -1)
    return summed(tokens, L) + starts[:, :, None] + shifted(ends, L)


def barred_segments(structure: Structure, L: int) -> Any:
    """Return which segments are forbidden, (B, T, L, Y)."""
    B, T, Y = structure.B, structure.T, structure.Y
    barred = np.repeat(_outside(structure, L)[..., None], Y, 3)
    barred |= np.arange(L)[:, None] >= structure.bounds

    def any_inside(marks: Any) -> Any:  # (B, T + L, ...) -> whether [t, t + l] contains a mark
        found = [marks[:, :T]]
        for length in range(1, L):
            found.append(found[-1] | marks[:, length : length + T])
        return np.stack(found, 2)

    if structure.allowed is not None:
        wrong = np.pad(~structure.allowed, ((0, 0), (0, L), (0, 0)))
        barred |= any_inside(wrong)
    if structure.boundaries is not None:
        marks = np.pad(structure.boundaries, ((0, 0), (0, L + 1)))
        marks[:, 0] = 0
        marks[np.arange(T + L + 1) >= structure.lengths[:, None]] = 0
        barred |= (marks[:, :T, None] < 0)[..., None]  # no segment may start here
        ends = np.stack([marks[:, 1 + k : 1 + k + T] for k in range(L)], 2)
        barred |= (ends < 0)[..., None]
        crossed = any_inside(np.concatenate([np.zeros((B, 1), bool), marks[:, 1:] > 0], 1)[:, 1:])
        crossed = np.concatenate([np.zeros((B, T, 1), bool), crossed[:, :, : L - 1]], 2)
        barred |= crossed[..., None]
    for b, s, e, y in structure.forbidden.tolist():
        if e - s <= L:
            barred[b, s, e - s - 1, y] = True
    return barred


def marginals(structure: Structure, scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the expected counts of the position-dependent scores."""
    with torch.enable_grad():
        given = {name: _attached(x) for name, x in scores.items()}
        wanted = [name for name in scores if name in BY_PLACE]
        total = log_partition(structure, given).sum()
        counts = torch.autograd.grad(total, [given[name] for name in wanted], create_graph=True)
    return dict(zip(wanted, counts, strict=True))


def entropy(structure: Structure, scores: Mapping[str, Tensor]) -> Tensor:
    """Return the entropy of each sequence, ln Z - E[score], differentiable.

    The counts are those of sum_b w_b ln Z_b with weights w of 1, and the sum of all counts times
    their scores is linear in w: its derivative with respect to w_b is E[score] of sequence b.
    """
    with torch.enable_grad():
        given = {name: _attached(x) for name, x in scores.items()}
        log_z = log_partition(structure, given)
        weights = torch.ones_like(log_z, requires_grad=True)
        counts = torch.autograd.grad(
            log_z, list(given.values()), weights, create_graph=True, allow_unused=True
        )
        total = torch.stack(
            [
                (count * torch.nan_to_num(x, nan=0.0, neginf=0.0)).sum()
                for x, count in zip(given.values(), counts, strict=True)
                if count is not None
            ]
        ).sum()
        expected = torch.autograd.grad(total, weights, create_graph=True)[0]
    return log_z - expected


def _attached(x: Tensor) -> Tensor:
    """Return a tensor that requires gradients and stays in its graph."""
    return x if x.requires_grad else x.detach().requires_grad_()
