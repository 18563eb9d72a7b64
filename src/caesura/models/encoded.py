"""Some sequences as the kernels take them, and what is asked about all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.errors import Impossible
from caesura.inference.results import Marginals
from caesura.models.lookback import refuse
from caesura.models.reading import documents_of
from caesura.models.rules import Rules
from caesura.models.scores import potentials_of
from caesura.models.span_marginals import PairMarginals
from caesura.models.structure import Fitted
from caesura.potentials import Potentials

__all__ = ["Encoded", "impossible"]


class Encoded(NamedTuple):
    """Some sequences, ready for the kernels."""

    first: int  # the index of the first in X
    raw: list[Any]  # the sequences as they were given
    tokeniser: Any
    lengths: npt.NDArray[np.int64]
    design: _kernels.Design
    scorer: _kernels.Scorer
    threads: int

    conditions: list[_kernels.Condition] | None = None  # what answers must keep
    rules: Sequence[Rules] = ()  # the same as rules about segments

    def best(self, reading: _kernels.Reading | None) -> _kernels.Paths:
        """Return the best segments, or states where no reading is given."""
        return self.scorer.best(self.design, reading, self.threads, self.conditions)

    def potentials(self, fitted: Fitted, i: int) -> Potentials:
        """Return the potentials of one of them."""
        [document] = documents_of([self.raw[i]], self.tokeniser, "X", self.first + i)
        return potentials_of(fitted, self.scorer, self.design, i, document)

    def marginals(
        self, potentials: Callable[[int], Potentials], states: Sequence[str]
    ) -> list[Any]:
        """Return the marginals of each; its potentials are made where they are asked for."""
        rows = self.scorer.posterior(self.design, False, self.threads, self.conditions)
        for i, row in enumerate(rows, self.first):
            if row.log_partition == -np.inf:
                raise impossible(i)
        return [Marginals(partial(potentials, i), row, 0) for i, row in enumerate(rows)]


class SpanEncoded(Encoded):
    """Some sequences, ready for the kernels of features that look back."""

    def potentials(self, fitted: Fitted, i: int) -> Potentials:
        """Raise: potentials see one segment and its label history, no more."""
        refuse(fitted, "constraints, potentials")
        raise AssertionError

    def marginals(
        self, potentials: Callable[[int], Potentials], states: Sequence[str]
    ) -> list[Any]:
        """Return the marginals of each."""
        rows = self.scorer.posterior(self.design, False, self.threads)
        for i, row in enumerate(rows, self.first):
            if row.log_partition == -np.inf:
                raise impossible(i)
        return [PairMarginals(row, states) for row in rows]


def impossible(i: int) -> Impossible:
    """Return the error about a sequence for which nothing is possible."""
    return Impossible(f"X[{i}]: no segmentation is possible; relax what is forbidden")
