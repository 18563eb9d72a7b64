"""Inference for filtered semi-CRFs: best spans, n-best, samples, and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from caesura.errors import InvalidInput, message
from caesura.inference.problems import Rule
from caesura.neural import graph
from caesura.neural.filter_loss import kept_spans
from caesura.neural.kept_graphs import Graphs, best_means
from caesura.neural.path_scores import PathScores, picked
from caesura.neural.segmental_layer import checked_shape
from caesura.neural.structure import Ints, lengths_of

__all__ = ["DECODERS", "KeptAnswers", "check_choice"]

DECODERS = ("global", "greedy", "mean")


class KeptAnswers(nn.Module):
    """A mixin for inference over the spans kept by a filter."""

    n_labels: int
    max_width: int
    global_loss: bool
    transition: nn.Parameter

    def scored(
        self, states: Tensor, lengths: Any = None, extra: Tensor | None = None
    ) -> tuple[Tensor, PathScores]:
        """Return local span scores, and global ones computed on demand.

        Parameters
        ----------
        states, lengths
            Vectors of tokens, and the number of tokens of each sequence.
        extra : tensor of shape (B, T, K, 1 + 2 Y), optional
            Further local and global scores, which are added.

        Returns
        -------
        tuple of tensor and PathScores
        """
        raise NotImplementedError

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
            return self.decode_scores(*self.scored(states, lengths), lengths, decoder)

    def decode_scores(
        self,
        local: Tensor,
        path: Tensor | PathScores,
        lengths: Any = None,
        decoder: str | None = None,
        rules: Sequence[tuple[Rule, ...]] | None = None,
    ) -> list[list[tuple[int, int, int]]]:
        """Return the labelled spans of each sequence, given the scores of spans.

        Parameters
        ----------
        local, path
            See `span_scores`, or `scored`.
        lengths, decoder
            See `decode`.
        rules : one tuple of rules for each sequence, optional
            What the labels of the path must keep; not with "greedy".

        Returns
        -------
        list of lists of (start, end, label index)
        """
        chosen = decoder or ("global" if self.global_loss else "greedy")
        check_choice("decoder", chosen, DECODERS)
        sizes = self._sizes(local, path, lengths)
        rows = self.candidates(local, sizes)
        if chosen == "greedy":
            if rules is not None and any(rules):
                expected = "'global' or 'mean', which support constraints"
                raise InvalidInput(message("decoder", "greedy", expected, "choose one"))
            b, s, e, y = rows.T
            own = local.detach()[b, s, e - s - 1].log_softmax(-1).cpu().double().numpy()
            paths = graph.greedy_paths(rows, len(sizes), own[np.arange(len(rows)), y + 1])
        else:
            given = (rows, sizes, *self._values(path, rows), rules)
            if chosen == "global":
                paths = [found for found, _ in Graphs(*given).best()]
            else:
                paths = [found for found, _ in best_means(*given)]
        return [list(map(tuple, rows[found, 1:].tolist())) if found else [] for found in paths]

    def kept(
        self,
        local: Tensor,
        path: Tensor | PathScores,
        lengths: Any = None,
        rules: Sequence[tuple[Rule, ...]] | None = None,
    ) -> Graphs:
        """Return the graphs of the kept spans, for further inference.

        Parameters
        ----------
        local, path
            See `span_scores`, or `scored`.
        lengths : tensor of shape (B,), optional
            Number of tokens of each sequence.
        rules : one tuple of rules for each sequence, optional
            What the labels of paths must keep.

        Returns
        -------
        Graphs
            Its `rows` are the spans (sequence, start, end, label index).
        """
        sizes = self._sizes(local, path, lengths)
        rows = self.candidates(local, sizes)
        return Graphs(rows, sizes, *self._values(path, rows), rules)

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
            graphs = self.kept(*self.scored(states, lengths), lengths)
        found: list[Any] = [[] for _ in graphs.lengths]
        for (b, *span), p in zip(graphs.rows.tolist(), graphs.marginals()[1].tolist(), strict=True):
            found[b].append((*span, p))
        return found

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
            return self.kept(*self.scored(states, lengths), lengths).ranked(n)

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
            return self.kept(*self.scored(states, lengths), lengths).drawn(n, seed)

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
        return kept_spans(local, lengths)

    def _values(self, path: Tensor | PathScores, rows: Ints) -> tuple[Any, Any]:
        """Return the scores of spans and transitions for the kernels."""
        both = picked(path, rows), self.transition
        own, pairs = (x.detach().cpu().double().numpy() for x in both)
        return own, pairs

    def _sizes(self, local: Tensor, path: Tensor | PathScores, lengths: Any) -> Ints:
        K, Y = self.max_width, self.n_labels
        B, T, *_ = checked_shape("local", local, ("B", "T", K, Y + 1))
        if local.is_meta:
            expected = "a device with data, as the scores say which spans are kept"
            raise InvalidInput(message("local", "the device meta", expected, "move the scores"))
        if not isinstance(path, PathScores):
            checked_shape("path", path, (B, T, K, Y))
        return lengths_of(lengths, B, T)


def check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise if a value is not one of the choices."""
    if value not in known:
        raise InvalidInput(message(name, value, f"one of {list(known)}", "choose one"))
