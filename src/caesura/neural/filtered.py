"""Filtered semi-CRFs: a local classifier keeps spans, and a global model selects among them.

::

    vectors of tokens -> vectors of spans -> local scores (null and labels) -> spans that are kept
                                          -> global scores of these -> best maximal set of spans

A path through the graph of kept spans is a *maximal* set of spans that do not overlap: whether
there is an entity at all is decided by the filter alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.neural import graph
from caesura.neural.filter_loss import filter_loss, given_spans, kept_spans, training_spans
from caesura.neural.filtered_answers import KeptAnswers, check_choice
from caesura.neural.path_scores import PathScores, picked
from caesura.neural.segmental_layer import REDUCTIONS, checked_shape
from caesura.neural.spans import SpanRepresentation
from caesura.neural.structure import lengths_of

__all__ = ["FilteredLosses", "FilteredSemiCRF"]


class FilteredLosses(NamedTuple):
    """The parts of the loss for each sequence, and the size of the graphs."""

    filter: Tensor  #: (B,) weighted cross-entropy of the local classifier over all spans
    path: Tensor  #: (B,) ln Z less the score of the given spans; 0 where there are none
    total: Tensor  #: (B,) their sum
    nodes: list[int]  #: number of kept spans of each sequence
    arcs: list[int]  #: number of arcs between them


class FilteredSemiCRF(KeptAnswers):
    """A filtered semi-CRF over token vectors.

    Parameters
    ----------
    input_size : int
        Size of the vectors of tokens, H.
    n_labels : int
        Number of labels, Y; text outside has none.
    max_width : int
        Longest span in tokens.
    representation : str
        How vectors of spans are made, see `caesura.neural.spans.SpanRepresentation`.
    null_weight : float
        Weight of spans without a label in the loss of the filter, from 0 to 1.
    global_loss : bool
        Whether the global model is trained; without it, decode greedily by local scores.
    transitions : bool
        Whether label transitions are learned.
    one_score : bool
        Whether the global score of a span is the same for all labels.
    constrained : bool
        Whether in training the kept spans, other than the given ones, must overlap a given one.
        Without it the given spans may not be a path, and the loss may be negative.
    dropout : float
        Probability of dropping an entry of the vectors of spans.
    use_kernels : bool
        Whether the engine answers for tensors on the CPU, see `SegmentalLayer`.

    Attributes
    ----------
    transition : parameter of shape (Y, Y)
        ``transition[previous, label]`` between the spans of a path.

    Examples
    --------
    >>> import torch
    >>> from caesura.neural import FilteredSemiCRF
    >>> layer = FilteredSemiCRF(8, n_labels=2, max_width=3)
    >>> states, gold = torch.randn(2, 6, 8), [[(0, 2, 1), (4, 5, 0)], []]
    >>> layer(states, [6, 4], gold).backward()
    >>> losses = layer.losses(*layer.span_scores(states), [6, 4], gold)
    >>> bool((losses.path >= 0).all()), losses.path[1].item()
    (True, 0.0)
    """

    def __init__(
        self,
        input_size: int,
        n_labels: int,
        max_width: int,
        representation: str = "sum",
        *,
        null_weight: float = 0.4,
        global_loss: bool = True,
        transitions: bool = True,
        one_score: bool = False,
        constrained: bool = True,
        dropout: float = 0.0,
        use_kernels: bool = True,
    ) -> None:
        super().__init__()
        Y = self.n_labels = whole("n_labels", n_labels, 1)
        self.max_width = whole("max_width", max_width, 1)
        for name, value in (("null_weight", null_weight), ("dropout", dropout)):
            good = isinstance(value, int | float) and not isinstance(value, bool)
            if not good or not 0.0 <= value <= 1.0:
                raise InvalidInput(message(name, value, "a number from 0 to 1", "choose one"))
        self.null_weight, self.global_loss = float(null_weight), bool(global_loss)
        self.constrained, self.use_kernels = bool(constrained), bool(use_kernels)
        self.representation = SpanRepresentation(representation, input_size, max_width, dropout)
        self.local = nn.Linear(input_size, Y + 1)
        self.path = nn.Linear(input_size, 1 if one_score else Y)
        self.transition = nn.Parameter(torch.zeros(Y, Y), requires_grad=bool(transitions))

    def span_scores(self, states: Tensor, lengths: Any = None) -> tuple[Tensor, Tensor]:
        """Return local scores (B, T, K, 1 + Y), null first, and global scores (B, T, K, Y).

        Parameters
        ----------
        states : tensor of shape (B, T, H)
            Vectors of tokens.
        lengths : tensor of shape (B,), optional
            Number of tokens of each sequence; vectors of padding count as 0.

        Returns
        -------
        tuple of two tensors
        """
        states = self._masked(states, lengths)
        local, path = (self.representation.projected(states, x) for x in (self.local, self.path))
        return local, path.expand(*path.shape[:-1], self.n_labels)

    def scored(
        self, states: Tensor, lengths: Any = None, extra: Tensor | None = None
    ) -> tuple[Tensor, PathScores]:
        """Return local span scores, and global ones computed on demand.

        Parameters
        ----------
        states, lengths
            See `span_scores`.
        extra : tensor of shape (B, T, K, 1 + 2 Y), optional
            Further local and global scores, which are added.

        Returns
        -------
        tuple of tensor and PathScores
        """
        states, vectors = self._masked(states, lengths), None
        if self.representation.linear:
            local = self.representation.projected(states, self.local)
        else:
            vectors = self.representation(states)
            local = self.local(vectors)
        rest = None
        if extra is not None:
            first, rest = extra[..., : local.shape[-1]], extra[..., local.shape[-1] :]
            local = local + first
        return local, PathScores(self.representation, states, self.path, vectors, rest)

    def _masked(self, states: Tensor, lengths: Any) -> Tensor:
        """Return checked token vectors with padding set to 0."""
        B, T, _ = checked_shape("states", states, ("B", "T", self.representation.size))
        padding = np.arange(T) >= lengths_of(lengths, B, T)[:, None]
        if not padding.any():
            return states
        return states.masked_fill(torch.from_numpy(padding).to(states.device)[..., None], 0.0)

    def forward(
        self, states: Tensor, lengths: Any, segments: Any, reduction: str = "mean"
    ) -> Tensor:
        """Return the total loss.

        Parameters
        ----------
        states : tensor of shape (B, T, H)
            Vectors of tokens.
        lengths : tensor of shape (B,), optional
            Number of tokens of each sequence.
        segments : list of lists of (start, end, label), or tensor of shape (n, 4)
            The labelled spans of each sequence, which do not overlap; what lies between them has
            no label.
        reduction : {"mean", "sum", "none"}
            Mean or sum over the sequences, or one value for each.

        Returns
        -------
        tensor, a scalar or of shape (B,)
        """
        check_choice("reduction", reduction, REDUCTIONS)
        total = self.losses(*self.scored(states, lengths), lengths, segments).total
        if reduction == "none":
            return total
        return total.sum() / (max(len(total), 1) if reduction == "mean" else 1)

    def losses(
        self,
        local: Tensor,
        path: Tensor | PathScores,
        lengths: Any,
        segments: Any,
        possible: Any = None,
    ) -> FilteredLosses:
        """Return the parts of the loss.

        Parameters
        ----------
        local, path
            See `span_scores`, or `scored`.
        lengths, segments
            See `forward`.
        possible : array of shape (B, T, K, Y) of bool, optional
            Labels that spans beyond the given ones may have, where a sequence is labelled only in
            part; none of these spans may overlap a given one.  The loss is then that of all paths
            which agree: null or a possible label in the filter, and ln Z less the ln Z of the
            spans that agree.

        Returns
        -------
        FilteredLosses
        """
        B, T = len(sizes := self._sizes(local, path, lengths)), local.shape[1]
        gold = given_spans(segments, sizes, self.n_labels, self.max_width)
        if possible is not None and np.shape(possible) != (B, T, self.max_width, self.n_labels):
            expected = f"the shape {(B, T, self.max_width, self.n_labels)}"
            raise InvalidInput(message("possible", np.shape(possible), expected, "reshape it"))
        of_filter = filter_loss(local, sizes, gold, self.null_weight, possible)
        kept = kept_spans(local, sizes)
        rows, agree = training_spans(kept, gold, local.shape, self.constrained, possible)
        own, pairs = picked(path, rows), self.transition.to(local.dtype)
        log_z, arcs = graph.log_partition_and_arcs(rows, sizes, own, pairs, self.use_kernels)
        of_path = torch.zeros_like(of_filter)
        if self.global_loss:
            mine = torch.from_numpy(agree).to(own.device)
            if possible is None:
                told = graph.path_scores(rows[agree], B, own[mine], pairs)
            else:
                some = (rows[agree], sizes, own[mine], pairs, self.use_kernels)
                told, _ = graph.log_partition_and_arcs(*some)
            of_path = log_z - told
        nodes = np.bincount(rows[:, 0], minlength=B).tolist()
        return FilteredLosses(of_filter, of_path, of_filter + of_path, nodes, arcs.tolist())
