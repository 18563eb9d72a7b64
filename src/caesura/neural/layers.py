"""Exact segmental layers: distributions over segmentations whose scores a network computes.

All layers take padded batches with any mix of lengths, 0 and 1 included, in float32 or float64, and
never read padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from caesura.errors import InvalidInput, message
from caesura.neural.gold import rows_of
from caesura.neural.segmental_layer import SegmentalLayer, checked_shape
from caesura.neural.structure import Ints, Structure, integers, spans_of

__all__ = ["ChainCRFLayer", "OverlappingMarginals", "OverlappingSemiCRFLayer", "SemiCRFLayer"]


class ChainCRFLayer(SegmentalLayer):
    """A linear-chain CRF layer, in which every token is a segment.

    ``scores[b, t, y]`` of shape (B, T, Y) is the score of label y at token t.

    Parameters
    ----------
    n_labels : int
        Number of labels, Y.
    order : int
        Number of previous labels that the score of a label depends on.
    **options
        See `SegmentalLayer`.

    Attributes
    ----------
    transition : parameter of shape (Y, Y)
        ``transition[previous, label]``.
    start, end : parameters of shape (Y,)
        Scores of the first label and of the last.
    patterns : list of parameters
        Scores of histories of 3 labels, 4 labels, ... where the order is above 1.

    Notes
    -----
    The given labels may be a tensor of shape (B, T), whose padding is not read.

    Examples
    --------
    >>> import torch
    >>> from caesura.neural import ChainCRFLayer
    >>> layer = ChainCRFLayer(2)
    >>> scores = torch.zeros(2, 3, 2)
    >>> layer.log_partition(scores, torch.tensor([3, 1])).exp()  # the number of labellings
    tensor([8., 2.], grad_fn=<ExpBackward0>)
    >>> layer(scores, torch.tensor([3, 1]), torch.tensor([[0, 1, 1], [1, 0, 0]])).item()
    1.3862943649291992
    >>> layer.decode(scores, torch.tensor([3, 1]), {"allowed": {0: [1]}})
    [[(0, 1, 1), (1, 2, 0), (2, 3, 0)], [(0, 1, 1)]]
    """

    def __init__(self, n_labels: int, order: int = 1, **options: Any) -> None:
        super().__init__(n_labels, 1, order, **options)

    def prepared(
        self, scores: Tensor, lengths: Any, constraints: Any, **parts: Any
    ) -> tuple[Structure, dict[str, Tensor]]:
        """Return the structure and the checked scores by name."""
        _refuse(parts)
        B, T, _ = checked_shape("scores", scores, ("B", "T", self.n_labels))
        structure = self._structure(lengths, B, T, constraints)
        return structure, self._with_parameters({"tokens": scores})

    def _rows(self, segments: Any, structure: Structure) -> Ints:
        if not isinstance(segments, Tensor | np.ndarray):
            return rows_of(segments, structure.B)
        tags = integers("segments", segments, (structure.B, structure.T))
        b, t = np.nonzero(np.arange(structure.T) < structure.lengths[:, None])
        return np.stack([b, t, t + 1, tags[b, t]], 1)


class SemiCRFLayer(SegmentalLayer):
    """A semi-Markov CRF over segments of up to `max_length` tokens.

    ``scores[b, t, l, y]`` of shape (B, T, L, Y) is the score of the segment [t, t + l + 1) with
    label y.  Entries of segments that reach beyond the sequence are padding.

    Parameters
    ----------
    n_labels : int
        Number of labels, Y.
    max_length : int, or one int per label
        Longest segment; L is the largest.
    order : int
        Number of previous labels that the score of a label depends on.
    **options
        See `SegmentalLayer`.

    Attributes
    ----------
    transition, start, end, patterns : parameters
        See `ChainCRFLayer`.

    Examples
    --------
    >>> import torch
    >>> from caesura.neural import SemiCRFLayer
    >>> layer = SemiCRFLayer(2, max_length=3)
    >>> scores = torch.zeros(1, 3, 3, 2)
    >>> scores[0, 0, 1, 1] = 5.0  # the segment [0, 2) with label 1
    >>> layer.decode(scores)
    [[(0, 2, 1), (2, 3, 0)]]
    >>> round(layer(scores, None, [[(0, 2, 1), (2, 3, 0)]]).item(), 4)
    0.7456
    """

    def __init__(
        self, n_labels: int, max_length: int | Sequence[int], order: int = 1, **options: Any
    ) -> None:
        super().__init__(n_labels, max_length, order, **options)
        listed = self.max_length if isinstance(self.max_length, tuple) else (self.max_length,)
        if None in listed:
            expected = "a whole number, or one per label"
            raise InvalidInput(
                message("max_length", max_length, expected, "use OverlappingSemiCRFLayer for none")
            )
        self.longest = max(one for one in listed if one is not None)

    def prepared(
        self, scores: Tensor, lengths: Any, constraints: Any, **parts: Any
    ) -> tuple[Structure, dict[str, Tensor]]:
        """Return the structure and the checked scores by name."""
        _refuse(parts)
        B, T, *_ = checked_shape("scores", scores, ("B", "T", self.longest, self.n_labels))
        structure = self._structure(lengths, B, T, constraints)
        return structure, self._with_parameters({"segments": scores})


class OverlappingMarginals(NamedTuple):
    """The marginals of the scores of the overlapping layer; None where there are no scores."""

    tokens: Tensor  #: (B, T, Y) the token lies in a segment with this label
    starts: Tensor | None  #: (B, T, Y) a segment with this label starts with the token
    ends: Tensor | None  #: (B, T, Y) a segment with this label ends with the token
    spans: Tensor | None  #: (n,) the single segments


class OverlappingSemiCRFLayer(SegmentalLayer):
    """A semi-Markov CRF layer without a length bound, with scores shared by segments.

    ``scores[b, t, y]`` of shape (B, T, Y) is the score of token t lying in a segment with label y.
    Three more kinds may be given to every method by name:

    starts, ends : tensors of shape (B, T, Y)
        Score of a segment with label y that starts, or ends, with token t.
    spans : (index of shape (n, 4), scores of shape (n,))
        Sequence, start, end and label of single segments, and what they score in addition.

    Time and memory grow linearly with the number of tokens on the CPU.  The plain torch path, for
    other devices and second derivatives, holds the scores of all O(T²) segments.

    Parameters
    ----------
    n_labels : int
        Number of labels, Y.
    order : int
        Number of previous labels that the score of a label depends on.
    max_length : int, or one int or None per label, optional
        Maximum segment length; None for no bound.
    **options
        See `SegmentalLayer`.

    Attributes
    ----------
    transition, start, end, patterns : parameters
        See `ChainCRFLayer`.

    Examples
    --------
    >>> import torch
    >>> from caesura.neural import OverlappingSemiCRFLayer
    >>> layer = OverlappingSemiCRFLayer(2)
    >>> scores = torch.zeros(1, 4, 2)
    >>> layer.log_partition(scores).exp().round()  # the number of segmentations
    tensor([54.], grad_fn=<RoundBackward0>)
    >>> spans = torch.tensor([[0, 1, 4, 1]]), torch.tensor([5.0])
    >>> layer.decode(scores, spans=spans)
    [[(0, 1, 0), (1, 4, 1)]]
    >>> layer.marginals(scores, spans=spans).spans.round(decimals=3)
    tensor([0.8510], grad_fn=<RoundBackward1>)
    """

    def __init__(
        self,
        n_labels: int,
        order: int = 1,
        *,
        max_length: int | Sequence[int | None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(n_labels, max_length, order, **options)

    def prepared(
        self, scores: Tensor, lengths: Any, constraints: Any, **parts: Any
    ) -> tuple[Structure, dict[str, Tensor]]:
        """Return the structure and the checked scores by name."""
        B, T, Y = checked_shape("scores", scores, ("B", "T", self.n_labels))
        structure = self._structure(lengths, B, T, constraints)
        tensors = {"tokens": scores}
        for name in ("starts", "ends"):
            given = parts.pop(name, None)
            if given is not None:
                checked_shape(name, given, (B, T, Y))
                tensors[name] = given
        spans = parts.pop("spans", None)
        if spans is not None:
            if not isinstance(spans, tuple | list) or len(spans) != 2:
                expected = "(index, scores)"
                raise InvalidInput(message("spans", type(spans).__name__, expected, "give both"))
            index = spans_of(spans[0], structure.lengths, Y)
            checked_shape("spans[1]", spans[1], (len(index),))
            structure = replace(structure, spans=index)
            tensors["span_scores"] = spans[1]
        _refuse(parts)
        return structure, self._with_parameters(tensors)

    def _answer(self, marginals: dict[str, Tensor]) -> OverlappingMarginals:
        names = ("tokens", "starts", "ends", "span_scores")
        return OverlappingMarginals(*(marginals.get(name) for name in names))  # type: ignore[arg-type]


def _refuse(parts: dict[str, Any]) -> None:
    for name in parts:
        raise InvalidInput(
            "this layer takes no argument of this name",
            place=name,
            remedy="only OverlappingSemiCRFLayer takes starts, ends and spans",
        )
