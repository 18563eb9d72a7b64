"""Base class of segmental layers: label transitions and inference.

On the CPU the compiled kernels answer; on any other device log Z and its derivatives are computed
by torch itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.inference.batch import batch_best, batch_n_best, batch_sample
from caesura.inference.results import Path
from caesura.neural import kernels, lattice
from caesura.neural.gold import Gold, gold_of, rows_of
from caesura.neural.structure import (
    Ints,
    Structure,
    bounds_of,
    lengths_of,
    order_of,
    with_rules,
)

__all__ = ["REDUCTIONS", "SegmentalLayer", "checked_shape"]

Cut = list[tuple[int, int, int]]  # a segmentation: (start, end, label index) of each segment
REDUCTIONS = ("mean", "sum", "none")


class SegmentalLayer(torch.nn.Module):
    """Base class of segmental layers: label transitions and inference.

    Parameters
    ----------
    n_labels : int
        Number of labels, Y.
    max_length : int, one int or None per label, or None
        Longest segment.
    order : int
        Number of previous labels that the score of a label depends on.
    transitions : bool
        Whether label transitions are learned; otherwise they stay 0.
    same_label_adjacent : bool
        Whether two adjacent segments may carry the same label.
    use_kernels : bool
        Whether the compiled kernels answer for tensors on the CPU.  Without them everything
        differentiable is computed by torch, as on other devices.
    """

    transition: torch.nn.Parameter
    start: torch.nn.Parameter
    end: torch.nn.Parameter
    barred: Tensor | None
    barred_start: Tensor
    barred_end: Tensor

    def __init__(
        self,
        n_labels: int,
        max_length: int | Sequence[int | None] | None,
        order: int = 1,
        *,
        transitions: bool = True,
        same_label_adjacent: bool = True,
        use_kernels: bool = True,
    ) -> None:
        super().__init__()
        Y = self.n_labels = whole("n_labels", n_labels, 1)
        self.max_length = bounds_of(max_length, Y)
        self.order = order_of(order, Y)
        self.same_label_adjacent = bool(same_label_adjacent)
        self.use_kernels = bool(use_kernels)

        def zeros(*shape: int) -> torch.nn.Parameter:
            return torch.nn.Parameter(torch.zeros(shape), requires_grad=bool(transitions))

        self.transition, self.start, self.end = zeros(Y, Y), zeros(Y), zeros(Y)
        # patterns[i] has the scores of histories of i + 3 labels
        self.patterns = torch.nn.ParameterList(zeros(*(Y,) * k) for k in range(3, order + 2))

        self.register_buffer("barred", None)
        self.register_buffer("barred_start", None)
        self.register_buffer("barred_end", None)

    def forbid(self, pairs: Any, start: Any, end: Any) -> None:
        """Forbid label transitions, first labels or last labels.

        Parameters
        ----------
        pairs : array of shape (Y, Y)
            True where the second label may not follow the first.
        start, end : arrays of shape (Y,)
            True where a label may not be the first, or the last.
        """
        Y = self.n_labels
        for name, value, shape in (
            ("barred", pairs, (Y, Y)),
            ("barred_start", start, (Y,)),
            ("barred_end", end, (Y,)),
        ):
            given = torch.as_tensor(np.asarray(value, bool))
            if tuple(given.shape) != shape:
                expected = f"the shape {shape}"
                raise InvalidInput(message(name, tuple(given.shape), expected, "reshape it"))
            setattr(self, name, given.to(self.transition.device))

    def extra_repr(self) -> str:
        """Return the arguments shown in the repr of a network."""
        return f"n_labels={self.n_labels}, max_length={self.max_length}, order={self.order}"

    # -- inference -----------------------------------------------------------------------------

    def log_partition(
        self, scores: Tensor, lengths: Any = None, constraints: Any = None, **parts: Any
    ) -> Tensor:
        """Return ln Z of each sequence.

        Parameters
        ----------
        scores : tensor
            The scores, padded; see the class.
        lengths : tensor of shape (B,), optional
            Number of tokens of each sequence; T by default.
        constraints : dict, or one dict per sequence, optional
            What segmentations must keep, as `caesura.Potentials.constrain` takes it, with label
            indices.  The difference to ln Z without constraints is the log-probability of keeping
            them, which is what partial labels are trained with.
        **parts
            More scores, where the class has them.

        Returns
        -------
        tensor of shape (B,)
        """
        structure, tensors = self.prepared(scores, lengths, constraints, **parts)
        found: Tensor = self._path(tensors).log_partition(structure, tensors)
        return found

    def log_probability(self, scores: Tensor, lengths: Any, segments: Any, **parts: Any) -> Tensor:
        """Return the log-probability of one segmentation of each sequence.

        Parameters
        ----------
        scores, lengths, **parts
            See `log_partition`.
        segments
            See `forward`.

        Returns
        -------
        tensor of shape (B,)
        """
        structure, tensors = self.prepared(scores, lengths, None, **parts)
        gold = self._gold(segments, structure, tensors)
        found: Tensor = self._path(tensors).log_partition(structure, tensors)
        return gold.score(structure.B, tensors) - found

    def forward(
        self, scores: Tensor, lengths: Any, segments: Any, reduction: str = "mean", **parts: Any
    ) -> Tensor:
        """Return the negative log-likelihood of the gold segmentations.

        Parameters
        ----------
        scores, lengths, **parts
            See `log_partition`.
        segments : list of lists of (start, end, label), or tensor
            The segments of each sequence, which cover it without gaps.  As a tensor of shape
            (n, 4): sequence, start, end and label of each segment, in order.
        reduction : {"mean", "sum", "none"}
            Mean or sum over the sequences, or one value for each.

        Returns
        -------
        tensor, a scalar or of shape (B,)
        """
        if reduction not in REDUCTIONS:
            raise InvalidInput(
                message("reduction", reduction, f"one of {list(REDUCTIONS)}", "choose one")
            )
        structure, tensors = self.prepared(scores, lengths, None, **parts)
        gold, B = self._gold(segments, structure, tensors), structure.B
        path = self._path(tensors)
        if reduction == "none" or path is lattice:
            each: Tensor = path.log_partition(structure, tensors) - gold.score(B, tensors)
            if reduction == "none":
                return each
            return each.sum() / (max(B, 1) if reduction == "mean" else 1)
        weights = np.full(B, 1.0 if reduction == "sum" else 1.0 / max(B, 1))
        return kernels.loss(structure, tensors, gold, weights)

    def marginals(
        self, scores: Tensor, lengths: Any = None, constraints: Any = None, **parts: Any
    ) -> Any:
        """Return the marginal probability of every score.

        Gradients of marginals are right; they are computed by torch, which is slow.

        Parameters
        ----------
        scores, lengths, constraints, **parts
            See `log_partition`.

        Returns
        -------
        tensor of the shape of the scores
            0 for padding.  Where there are more scores than one tensor, a tuple of them.
        """
        structure, tensors = self.prepared(scores, lengths, constraints, **parts)
        return self._answer(self._path(tensors).marginals(structure, tensors))

    def entropy(
        self, scores: Tensor, lengths: Any = None, constraints: Any = None, **parts: Any
    ) -> Tensor:
        """Return the entropy of each sequence's distribution, in nats.

        Gradients of the entropy are right; they are computed by torch, which is slow.

        Parameters
        ----------
        scores, lengths, constraints, **parts
            See `log_partition`.

        Returns
        -------
        tensor of shape (B,)
        """
        structure, tensors = self.prepared(scores, lengths, constraints, **parts)
        found: Tensor = self._path(tensors).entropy(structure, tensors)
        return found

    def decode(
        self, scores: Tensor, lengths: Any = None, constraints: Any = None, **parts: Any
    ) -> list[Cut]:
        """Return the best segmentation of each sequence.

        Parameters
        ----------
        scores, lengths, constraints, **parts
            See `log_partition`.

        Returns
        -------
        list of lists of (start, end, label index)
        """
        batch = kernels.batch_of(*self.prepared(scores, lengths, constraints, **parts))
        found = kernels.asked(batch_best, batch, n_threads=kernels.threads())
        return [found.segments(b) for b in range(len(batch.lengths))]

    def n_best(
        self,
        scores: Tensor,
        lengths: Any = None,
        n: int = 5,
        constraints: Any = None,
        **parts: Any,
    ) -> list[list[Path]]:
        """Return the n best segmentations of each sequence, all different, the best first.

        Parameters
        ----------
        scores, lengths, constraints, **parts
            See `log_partition`.
        n : int
            Number of segmentations; there are fewer where fewer are possible.

        Returns
        -------
        list of lists of Path
            Each has `segments`, tuples (start, end, label index), and `score`.
        """
        batch = kernels.batch_of(*self.prepared(scores, lengths, constraints, **parts))
        found = kernels.asked(batch_n_best, batch, n, n_threads=kernels.threads())
        ends = found.sequences.tolist()
        return [
            [Path(found.segments(i), float(found.scores[i])) for i in range(low, high)]  # type: ignore[arg-type]
            for low, high in pairwise(ends)
        ]

    def sample(
        self,
        scores: Tensor,
        lengths: Any = None,
        n: int = 1,
        seed: int = 0,
        constraints: Any = None,
        **parts: Any,
    ) -> list[list[Cut]]:
        """Draw n segmentations of each sequence.

        Parameters
        ----------
        scores, lengths, constraints, **parts
            See `log_partition`.
        n : int
            Number of segmentations.
        seed : int
            Seed of the random number generator.

        Returns
        -------
        list of lists of segmentations
        """
        batch = kernels.batch_of(*self.prepared(scores, lengths, constraints, **parts))
        found = kernels.asked(batch_sample, batch, n, seed, n_threads=kernels.threads())
        ends = found.sequences.tolist()
        return [[found.segments(i) for i in range(low, high)] for low, high in pairwise(ends)]

    # -- methods of subclasses -----------------------------------------------------------------

    def prepared(
        self, scores: Tensor, lengths: Any, constraints: Any, **parts: Any
    ) -> tuple[Structure, dict[str, Tensor]]:
        """Return the structure and all scores by name."""
        raise NotImplementedError

    def _rows(self, segments: Any, structure: Structure) -> Ints:
        return rows_of(segments, structure.B)

    def _answer(self, marginals: dict[str, Tensor]) -> Any:
        return next(iter(marginals.values()))

    # -- scores --------------------------------------------------------------------------------

    def _path(self, scores: dict[str, Tensor]) -> Any:
        """Return the implementation: the kernels, or torch."""
        on_cpu = next(iter(scores.values())).device.type == "cpu"
        return kernels if on_cpu and self.use_kernels else lattice

    def _gold(self, segments: Any, structure: Structure, scores: dict[str, Tensor]) -> Gold:
        dense = "segments" if "segments" in scores else "tokens"
        return gold_of(self._rows(segments, structure), structure, dense)

    def _structure(self, lengths: Any, B: int, T: int, constraints: Any) -> Structure:
        structure = Structure(
            lengths=lengths_of(lengths, B, T),
            T=T,
            Y=self.n_labels,
            max_length=self.max_length,
            order=self.order,
            same_label_adjacent=self.same_label_adjacent,
        )
        return with_rules(structure, constraints)

    def _with_parameters(self, scores: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the scores in one precision, with the parameters of this layer."""
        first = next(iter(scores.values()))
        dtype = first.dtype if first.dtype == torch.float64 else torch.float32
        for name, x in scores.items():
            if x.device != self.transition.device:
                expected = f"{self.transition.device}, where the parameters of the layer are"
                name = {"tokens": "scores", "segments": "scores"}.get(name, name)
                raise InvalidInput(message(name, str(x.device), expected, "move one of them"))
        own: dict[str, Tensor] = {
            "transition": self.transition,
            "start": self.start,
            "end": self.end,
        }
        if self.barred is not None:
            for name, bars in zip(
                own, (self.barred, self.barred_start, self.barred_end), strict=True
            ):
                own[name] = own[name].masked_fill(bars, -torch.inf)
        if self.order > 1:
            own["patterns"] = torch.cat([one.reshape(-1) for one in self.patterns])
        return {name: x.to(dtype) for name, x in {**scores, **own}.items()}


def checked_shape(name: str, value: Any, expected: tuple[str | int, ...]) -> tuple[int, ...]:
    """Return the shape of a tensor of scores, checked."""
    if not isinstance(value, Tensor):
        raise InvalidInput(message(name, type(value).__name__, "a tensor", "convert it"))
    if value.layout is not torch.strided:
        raise InvalidInput(message(name, value.layout, "a dense tensor", "call to_dense()"))
    fits = value.ndim == len(expected) and all(
        isinstance(b, str) or a == b for a, b in zip(value.shape, expected, strict=True)
    )
    if not fits:
        shown = f"the shape ({', '.join(map(str, expected))})"
        raise InvalidInput(message(name, tuple(value.shape), shown, "reshape the scores"))
    if not value.is_floating_point():
        raise InvalidInput(
            message(name, str(value.dtype), "float32 or float64", "convert the scores")
        )
    return tuple(value.shape)
