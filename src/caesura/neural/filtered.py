"""Filtered semi-CRFs: a local classifier keeps some spans, and a global model chooses among them.

::

    vectors of tokens -> vectors of spans -> local scores (null and labels) -> spans that are kept
                                          -> global scores of these -> best maximal set of spans

A path through the graph of kept spans is a *maximal* set of spans that do not overlap: whether
there is an entity at all is decided by the filter alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.inference.span_graph import SpanGraph
from caesura.neural import graph
from caesura.neural.filter_loss import NULL, filter_loss, given_spans, refuse_nan, spans_inside
from caesura.neural.segmental_layer import REDUCTIONS, checked_shape
from caesura.neural.spans import SpanRepresentation
from caesura.neural.structure import Ints, lengths_of

__all__ = ["DECODERS", "FilteredLosses", "FilteredSemiCRF"]

DECODERS = ("global", "greedy", "mean")


class FilteredLosses(NamedTuple):
    """The parts of the loss, one value for each sequence, and the size of the graphs."""

    filter: Tensor  #: (B,) weighted cross-entropy of the local classifier over all spans
    path: Tensor  #: (B,) ln Z less the score of the given spans; 0 where there are none
    total: Tensor  #: (B,) their sum
    nodes: list[int]  #: number of kept spans of each sequence
    arcs: list[int]  #: number of arcs between them


class FilteredSemiCRF(nn.Module):
    """A filtered semi-CRF over vectors of tokens.

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
        B, T, _ = checked_shape("states", states, ("B", "T", self.representation.size))
        padding = np.arange(T) >= lengths_of(lengths, B, T)[:, None]
        mask = torch.from_numpy(padding).to(states.device)
        states = states.masked_fill(mask[..., None], 0.0)
        spans = self.representation(states)
        path: Tensor = self.path(spans)
        return self.local(spans), path.expand(*path.shape[:-1], self.n_labels)

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
        _check_choice("reduction", reduction, REDUCTIONS)
        total = self.losses(*self.span_scores(states, lengths), lengths, segments).total
        return total if reduction == "none" else getattr(total, reduction)()

    def losses(self, local: Tensor, path: Tensor, lengths: Any, segments: Any) -> FilteredLosses:
        """Return the parts of the loss.

        Parameters
        ----------
        local, path : tensors
            See `span_scores`.
        lengths, segments
            See `forward`.

        Returns
        -------
        FilteredLosses
        """
        B = len(sizes := self._sizes(local, path, lengths))
        gold = given_spans(segments, sizes, self.n_labels, self.max_width)
        of_filter = filter_loss(local, sizes, gold, self.null_weight)
        rows = self._training_candidates(local, sizes, gold)
        size = [graph.size_of(rows[rows[:, 0] == b, 1:3]) for b in range(B)]
        of_path = torch.zeros_like(of_filter)
        if self.global_loss:
            of_path = graph.log_partition(
                rows, sizes, _picked(path, rows), self.transition.to(path.dtype), self.use_kernels
            ) - graph.path_scores(gold, B, _picked(path, gold), self.transition.to(path.dtype))
        nodes, arcs = ([one[i] for one in size] for i in range(2))
        return FilteredLosses(of_filter, of_path, of_filter + of_path, nodes, arcs)

    def decode(
        self, states: Tensor, lengths: Any = None, decoder: str | None = None
    ) -> list[list[tuple[int, int, int]]]:
        """Return the labelled spans of each sequence.

        Parameters
        ----------
        states, lengths
            See `forward`.
        decoder : {"global", "greedy", "mean"}, optional
            The best path by global scores; the best local scores that do not overlap; or the path
            with the best mean global score of a span.  "greedy" where there is no global loss, else
            "global".

        Returns
        -------
        list of lists of (start, end, label index)
        """
        with torch.no_grad():
            return self.decode_scores(*self.span_scores(states, lengths), lengths, decoder)

    def decode_scores(
        self, local: Tensor, path: Tensor, lengths: Any = None, decoder: str | None = None
    ) -> list[list[tuple[int, int, int]]]:
        """Return the labelled spans of each sequence, given the scores of spans.

        Parameters
        ----------
        local, path : tensors
            See `span_scores`.
        lengths, decoder
            See `decode`.

        Returns
        -------
        list of lists of (start, end, label index)
        """
        chosen = decoder or ("global" if self.global_loss else "greedy")
        _check_choice("decoder", chosen, DECODERS)
        sizes, found = self._sizes(local, path, lengths), []
        rows = self.candidates(local, sizes)
        values = _picked(path, rows)
        for b, (part, one) in enumerate(graph.graphs_of(rows, sizes, values, self.transition)):
            spans, labels = rows[part, 1:3], rows[part, 3]
            if chosen == "global":
                picked = one.viterbi().spans
            elif chosen == "greedy":
                own = local.log_softmax(-1)[b].cpu().double().numpy()
                s, e = spans.T
                picked = graph.greedy(spans, own[s, e - s - 1, labels + 1])
            else:
                own = values[part].cpu().double().numpy()
                pairs = self.transition.detach().cpu().double().numpy()
                picked = graph.best_mean(spans, labels, own, int(sizes[b]), pairs).spans
            found.append([(*map(int, spans[i]), int(labels[i])) for i in picked])
        return found  # type: ignore[return-value]

    def probabilities(
        self, states: Tensor, lengths: Any = None
    ) -> list[list[tuple[int, int, int, float]]]:
        """Return the kept spans of each sequence with their probabilities under the global model.

        Parameters
        ----------
        states, lengths
            See `forward`.

        Returns
        -------
        list of lists of (start, end, label index, probability)
        """
        with torch.no_grad():
            scores = self.span_scores(states, lengths)
        found = []
        for rows, one in self.graphs(*scores, lengths):
            likely = one.marginals().spans.tolist() if len(rows) else []
            found.append([(*row, p) for row, p in zip(rows.tolist(), likely, strict=True)])
        return found

    def graphs(
        self, local: Tensor, path: Tensor, lengths: Any = None
    ) -> Iterator[tuple[Ints, SpanGraph]]:
        """Yield the kept spans of each sequence, and the graph that they are.

        Parameters
        ----------
        local, path : tensors
            See `span_scores`.
        lengths : tensor of shape (B,), optional
            Number of tokens of each sequence.

        Yields
        ------
        tuple of array of shape (n, 3) and SpanGraph
            Start, end and label of each span, and the distribution over its paths.
        """
        sizes = self._sizes(local, path, lengths)
        rows = self.candidates(local, sizes)
        for part, one in graph.graphs_of(rows, sizes, _picked(path, rows), self.transition):
            yield rows[part, 1:], one

    def n_best(
        self, states: Tensor, lengths: Any = None, n: int = 5
    ) -> list[list[tuple[list[tuple[int, int, int]], float]]]:
        """Return the n best paths of each sequence with their probabilities.

        Parameters
        ----------
        states, lengths
            See `forward`.
        n : int
            Number of paths; there are fewer where fewer are possible.

        Returns
        -------
        list of lists of (spans, probability)
        """
        with torch.no_grad():
            scores = self.span_scores(states, lengths)
        found = []
        for _, one in self.graphs(*scores, lengths):
            log_z = one.log_partition()
            paths = one.n_best(n)
            found.append([(p.segments, float(np.exp(min(0.0, p.score - log_z)))) for p in paths])
        return found

    def sample(
        self, states: Tensor, lengths: Any = None, n: int = 1, seed: int = 0
    ) -> list[list[list[tuple[int, int, int]]]]:
        """Draw n paths of each sequence.

        Parameters
        ----------
        states, lengths
            See `forward`.
        n : int
            Number of paths.
        seed : int
            Seed of the random number generator; sequence b uses ``seed + b``.

        Returns
        -------
        list of lists of lists of (start, end, label index)
        """
        with torch.no_grad():
            scores = self.span_scores(states, lengths)
        graphs = enumerate(self.graphs(*scores, lengths))
        return [[path.segments for path in one.sample(n, seed + b)] for b, (_, one) in graphs]

    def candidates(self, local: Tensor, lengths: Ints) -> Ints:
        """Return the spans that the filter keeps, as rows (sequence, start, end, label).

        A span is kept if null is not its best label; its label is the best one.

        Parameters
        ----------
        local : tensor of shape (B, T, K, 1 + Y)
            Scores of the local classifier, null first.
        lengths : array of shape (B,)
            Number of tokens of each sequence.

        Returns
        -------
        array of shape (n, 4)
        """
        best = local.detach().argmax(-1).cpu().numpy()
        inside = spans_inside(local.shape[1], local.shape[2], lengths)
        refuse_nan(local, inside)
        best[~inside] = NULL
        b, t, k = np.nonzero(best != NULL)
        return np.stack([b, t, t + k + 1, best[b, t, k] - 1], 1).astype(np.int64)

    def _training_candidates(self, local: Tensor, lengths: Ints, gold: Ints) -> Ints:
        """Return the given spans and those that are kept; with the constraint, if they overlap.

        A kept span at the place of a given one is that span, with the given label.
        """
        B, T, K, _ = local.shape
        rows = self.candidates(local, lengths)
        taken = np.zeros((B, T, K), bool)
        taken[gold[:, 0], gold[:, 1], gold[:, 2] - gold[:, 1] - 1] = True
        rows = rows[~taken[rows[:, 0], rows[:, 1], rows[:, 2] - rows[:, 1] - 1]]
        if self.constrained:
            covered = np.zeros((B, T + 1), np.int64)
            for b, s, e, _ in gold.tolist():
                covered[b, s:e] = 1
            before = np.concatenate([np.zeros((B, 1), np.int64), covered.cumsum(1)], 1)
            rows = rows[before[rows[:, 0], rows[:, 2]] > before[rows[:, 0], rows[:, 1]]]
        together = np.concatenate([gold, rows])
        return together[np.argsort(together[:, 0], kind="stable")]

    def _sizes(self, local: Tensor, path: Tensor, lengths: Any) -> Ints:
        K, Y = self.max_width, self.n_labels
        B, T, *_ = checked_shape("local", local, ("B", "T", K, Y + 1))
        checked_shape("path", path, (B, T, K, Y))
        return lengths_of(lengths, B, T)


def _picked(path: Tensor, rows: Ints) -> Tensor:
    """Return the global scores of spans, (n,)."""
    b, s, e, y = (torch.from_numpy(column.copy()).to(path.device) for column in rows.T)
    return path[b, s, e - s - 1, y]


def _check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInput(message(name, value, f"one of {list(known)}", "choose one"))
