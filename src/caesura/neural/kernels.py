"""The compiled kernels as torch functions with forward and backward passes.

Scores are read where they are, and the counts that the kernels write are the gradients.  Second
derivatives are those of the plain torch path (`caesura.neural.lattice`), which is run only if they
are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from caesura.errors import InvalidInput, message
from caesura.inference.batch import (
    Batch,
    BatchPosterior,
    batch_entropy,
    batch_log_partition,
    batch_posterior,
)
from caesura.neural import lattice
from caesura.neural.gold import Gold
from caesura.neural.structure import Ints, Structure, patterns_of

__all__ = ["asked", "batch_of", "entropy", "log_partition", "loss", "marginals", "threads"]

T = TypeVar("T")
_COUNTS = {"transition": "transition", "start": "start", "end": "end", "patterns": "patterns"}


def threads() -> int:
    """Return the number of threads of the kernels, equal to torch's."""
    return torch.get_num_threads()


def asked(question: Callable[..., T], batch: Batch, *more: Any, **options: Any) -> T:
    """Call the kernels; errors use the score names of the layers."""
    try:
        return question(batch, *more, **options)
    except InvalidInput as error:
        if error.argument not in ("tokens", "segments"):
            raise
        raise error.changed(argument="scores") from None


def batch_of(structure: Structure, scores: Mapping[str, Tensor]) -> Batch:
    """Return the scores as a kernel batch, without copies."""
    arrays: dict[str, Any] = {name: _array(x) for name, x in scores.items()}
    if "patterns" in arrays:
        arrays["pattern_scores"] = arrays.pop("patterns")
        arrays["patterns"] = patterns_of(structure.Y, structure.order)
    spans = structure.spans
    if len(structure.forbidden):
        kept = np.zeros((0, 4), np.int64) if spans is None else spans
        spans = np.concatenate([kept, structure.forbidden])
        own = arrays.get("span_scores", np.zeros(0))
        arrays["span_scores"] = np.concatenate([own, np.full(len(structure.forbidden), -np.inf)])
    bound = structure.max_length
    return Batch(
        **arrays,
        lengths=structure.lengths,
        spans=spans,
        max_length=list(bound) if isinstance(bound, tuple) else bound,
        allowed=structure.allowed,
        boundaries=structure.boundaries,
        same_label_adjacent=structure.same_label_adjacent,
        rules=structure.rules,
    )


def _array(x: Tensor) -> Any:
    if x.is_meta:
        expected = "a device with data"
        raise InvalidInput(message("scores", "the device meta", expected, "move the scores"))
    return x.detach().cpu().contiguous().numpy()


def _tensor(array: Any, like: Tensor) -> Tensor:
    return torch.from_numpy(array).to(like.device)


def _counts(found: BatchPosterior, names: Sequence[str], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return expected counts as tensors, in the order of the scores."""
    arrays = []
    for name, x in zip(names, inputs, strict=True):
        array = getattr(found, name)
        if name == "span_scores":
            array = array[: len(x)]  # the rest are forbidden segments
        arrays.append(_tensor(array, x))
    return arrays


class _LogPartition(torch.autograd.Function):
    """ln Z, with the expected counts as its gradient."""

    @staticmethod
    def forward(ctx: Any, structure: Structure, names: tuple[str, ...], *inputs: Tensor) -> Tensor:
        batch = batch_of(structure, dict(zip(names, inputs, strict=True)))
        ctx.structure, ctx.names = structure, names
        ctx.save_for_backward(*inputs)
        found = asked(batch_posterior, batch, n_threads=threads())
        ctx.batch, ctx.counts = batch, _counts(found, names, inputs)
        return _tensor(found.log_partition, inputs[0])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (grad,), inputs = grads, ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: second derivatives are needed
            return None, None, *_again(lattice.log_partition, ctx, inputs, (grad,))
        counts, ctx.counts = ctx.counts, None  # drops the reference, see _scaled
        if counts is not None and bool((grad == grad[:1]).all()):  # as for a sum or a mean
            return None, None, *_scaled(counts, float(grad[0]) if len(grad) else 1.0)
        weights = grad.detach().cpu().double().numpy()
        found = asked(batch_posterior, ctx.batch, weights=weights, n_threads=threads())
        return None, None, *_counts(found, ctx.names, inputs)


def _again(function: Any, ctx: Any, inputs: Sequence[Tensor], grads: Sequence[Tensor]) -> Any:
    """Return the gradients of the plain torch implementation, with a graph if requested."""
    graph = torch.is_grad_enabled()
    with torch.enable_grad():
        given = [x if graph and x.requires_grad else x.detach().requires_grad_() for x in inputs]
        value = function(ctx.structure, dict(zip(ctx.names, given, strict=True)))
        values = list(value.values()) if isinstance(value, dict) else [value]
        return torch.autograd.grad(values, given, grads, create_graph=graph, allow_unused=True)


def _scaled(counts: list[Tensor], factor: float) -> list[Tensor]:
    """Scale counts in place.

    Nothing else may hold the counts: torch then makes them the gradient of a leaf without a copy,
    which took as long as the sums where the scores are many.
    """
    return counts if factor == 1.0 else [count.mul_(factor) for count in counts]


class _Marginals(torch.autograd.Function):
    """Expected counts of the position-dependent scores."""

    @staticmethod
    def forward(
        ctx: Any, structure: Structure, names: tuple[str, ...], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.structure, ctx.names = structure, names
        ctx.save_for_backward(*inputs)
        batch = batch_of(structure, dict(zip(names, inputs, strict=True)))
        wanted = [i for i, name in enumerate(names) if name in lattice.BY_PLACE]
        found = asked(batch_posterior, batch, n_threads=threads())
        return tuple(_counts(found, [names[i] for i in wanted], [inputs[i] for i in wanted]))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_again(lattice.marginals, ctx, ctx.saved_tensors, grads)


class _Entropy(torch.autograd.Function):
    """The entropy of each sequence."""

    @staticmethod
    def forward(ctx: Any, structure: Structure, names: tuple[str, ...], *inputs: Tensor) -> Tensor:
        ctx.structure, ctx.names = structure, names
        ctx.save_for_backward(*inputs)
        batch = batch_of(structure, dict(zip(names, inputs, strict=True)))
        return _tensor(asked(batch_entropy, batch, n_threads=threads()), inputs[0])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_again(lattice.entropy, ctx, ctx.saved_tensors, grads)


class _Loss(torch.autograd.Function):
    """sum_b weight_b (ln Z_b - score of the gold segmentation), in one pass over the counts.

    The gradient is the expected counts minus the counts of the given segmentations, which are few:
    they are subtracted in place instead of through arrays as large as the scores.
    """

    @staticmethod
    def forward(
        ctx: Any, structure: Structure, gold: Gold, weights: Any, names: Any, *inputs: Tensor
    ) -> Tensor:
        ctx.structure, ctx.gold, ctx.weights, ctx.names = structure, gold, weights, names
        ctx.save_for_backward(*inputs)
        total, ctx.counts = _Loss.computed(ctx, inputs)
        return inputs[0].new_tensor(total)

    @staticmethod
    def computed(ctx: Any, inputs: Sequence[Tensor]) -> tuple[float, list[Tensor]]:
        """Return the loss and its gradient."""
        names, gold, weights = ctx.names, ctx.gold, ctx.weights
        batch = batch_of(ctx.structure, dict(zip(names, inputs, strict=True)))
        found = asked(batch_posterior, batch, weights=weights, n_threads=threads())
        total = float(found.log_partition.astype(np.float64) @ weights)
        counts = _counts(found, names, inputs)
        for name, count in zip(names, counts, strict=True):
            if name not in gold.places:
                continue
            scores = getattr(batch, "pattern_scores" if name == "patterns" else name)
            sequences, index = gold.places[name]
            own = weights[sequences]
            total -= float(scores.reshape(-1)[index].astype(np.float64) @ own)
            _subtract(count.numpy().reshape(-1), index, own, name)
        return total, counts

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        nothing = (None,) * 4

        def plain(structure: Structure, scores: Mapping[str, Tensor]) -> Tensor:
            log_z = lattice.log_partition(structure, scores)
            weights = torch.from_numpy(ctx.weights).to(log_z)
            gold: Tensor = ctx.gold.score(structure.B, scores)
            return (log_z - gold) @ weights

        if torch.is_grad_enabled():
            return *nothing, *_again(plain, ctx, ctx.saved_tensors, grads)
        counts, ctx.counts = ctx.counts, None  # drops the reference, see _scaled
        if counts is None:
            counts = _Loss.computed(ctx, ctx.saved_tensors)[1]
        return *nothing, *_scaled(counts, float(grads[0]))


def _subtract(flat: Any, index: Ints, values: Any, name: str) -> None:
    """Compute flat[index] -= values."""
    if name in _COUNTS:  # small arrays, in which an index may be repeated
        flat -= np.bincount(index, weights=values, minlength=len(flat)).astype(flat.dtype)
    else:
        flat[index] -= values.astype(flat.dtype)


def _applied(function: Any, structure: Structure, scores: Mapping[str, Tensor]) -> Any:
    return function.apply(structure, tuple(scores), *scores.values())


def log_partition(structure: Structure, scores: Mapping[str, Tensor]) -> Tensor:
    """Return ln Z of each sequence, (B,)."""
    if not _differentiated(scores):
        batch = batch_of(structure, scores)
        return torch.from_numpy(asked(batch_log_partition, batch, n_threads=threads()))
    found: Tensor = _applied(_LogPartition, structure, scores)
    return found


def _differentiated(scores: Mapping[str, Tensor]) -> bool:
    return torch.is_grad_enabled() and any(x.requires_grad for x in scores.values())


def marginals(structure: Structure, scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the expected counts of the position-dependent scores."""
    wanted = [name for name in scores if name in lattice.BY_PLACE]
    return dict(zip(wanted, _applied(_Marginals, structure, scores), strict=True))


def entropy(structure: Structure, scores: Mapping[str, Tensor]) -> Tensor:
    """Return the entropy of each sequence, (B,)."""
    found: Tensor = _applied(_Entropy, structure, scores)
    return found


def loss(structure: Structure, scores: Mapping[str, Tensor], gold: Gold, weights: Any) -> Tensor:
    """Return the weighted sum of the negative log-likelihoods."""
    if not _differentiated(scores):
        each = log_partition(structure, scores) - gold.score(structure.B, scores)
        return each @ each.new_tensor(weights)
    found: Tensor = _Loss.apply(  # type: ignore[no-untyped-call]
        structure, gold, weights, tuple(scores), *scores.values()
    )
    return found
