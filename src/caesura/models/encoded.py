"""Encoded sequences, and batched kernel calls on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.errors import Impossible
from caesura.inference.kernel_calls import called
from caesura.inference.results import Marginals
from caesura.models.fitted import Fitted, unscaled
from caesura.models.inputs import documents_of
from caesura.models.lookback import refuse
from caesura.models.potentials import potentials_of
from caesura.models.rules import Rules
from caesura.models.span_marginals import PairMarginals
from caesura.potentials import Potentials

__all__ = ["Encoded", "asked", "entropies", "impossible"]

T = TypeVar("T")


class Encoded(NamedTuple):
    """Sequences encoded for the kernels."""

    first: int  # index in X of the first sequence
    raw: list[Any]  # the sequences as given
    tokeniser: Any
    lengths: npt.NDArray[np.int64]
    design: _kernels.Design
    scorer: _kernels.Scorer
    threads: int

    conditions: list[_kernels.Condition] | None = None  # constraints on answers, for the kernels
    rules: Sequence[Rules] = ()  # the same constraints in terms of segments

    @property
    def has_sums(self) -> bool:
        """Whether probabilities are available, not only the best segments."""
        return True

    def best(self, reading: _kernels.Reading | None) -> _kernels.Paths:
        """Return the best segments, or states if no decoding is given."""
        return self.ask(self.scorer.best, reading, self.threads, self.conditions)

    def ask(self, question: Callable[..., T], *arguments: Any) -> T:
        """Run a kernel on the sequences."""
        return asked(self.first, question, self.design, *arguments)

    def potentials(self, fitted: Fitted, i: int) -> Potentials:
        """Return the potentials of one sequence."""
        [document] = documents_of([self.raw[i]], self.tokeniser, "X", self.first + i)
        return potentials_of(fitted, self.scorer, self.design, i, document)

    def marginals(
        self, potentials: Callable[[int], Potentials], states: Sequence[str]
    ) -> list[Any]:
        """Return the marginals of each sequence; potentials are created on demand."""
        rows = self.ask(self.scorer.posterior, False, self.threads, self.conditions)
        for i, row in enumerate(rows, self.first):
            if row.log_partition == -np.inf:
                raise impossible(i)
        return [Marginals(partial(potentials, i), row, 0) for i, row in enumerate(rows)]


class SpanEncoded(Encoded):
    """Sequences encoded for the kernels of look-back features."""

    @property
    def has_sums(self) -> bool:
        """Whether features look back at one segment at most."""
        scorer: Any = self.scorer
        return bool(scorer.has_sums)

    def potentials(self, fitted: Fitted, i: int) -> Potentials:
        """Raise, because look-back features cannot be expressed as potentials."""
        refuse(fitted, "constraints, potentials")
        raise AssertionError

    def marginals(
        self, potentials: Callable[[int], Potentials], states: Sequence[str]
    ) -> list[Any]:
        """Return the marginals of each sequence."""
        rows = self.ask(self.scorer.posterior, False, self.threads)
        for i, row in enumerate(rows, self.first):
            if row.log_partition == -np.inf:
                raise impossible(i)
        return [PairMarginals(row, states) for row in rows]


def asked(first: int, question: Callable[..., T], *arguments: Any) -> T:
    """Run a kernel on the sequences from ``X[first]`` on; errors name the sequence.

    Probabilities of scores beyond 1e10 are refused.  The best path is answered for scores up to
    1e300, whose sums are finite.
    """
    try:
        return called(question, *arguments)
    except FloatingPointError as error:  # args[0] is the index of the sequence
        raise unscaled(first + error.args[0]) from None


def impossible(i: int) -> Impossible:
    """Return the error for a sequence without any possible segmentation."""
    return Impossible(
        "no segmentation is possible", place=f"X[{i}]", remedy="relax the constraints"
    )


def entropies(some: Encoded) -> list[float]:
    """Return the entropy per token of each sequence."""
    rows = some.ask(some.scorer.posterior, True, some.threads)
    out = []
    for i, (row, length) in enumerate(zip(rows, some.lengths.tolist(), strict=True), some.first):
        if row.log_partition == -np.inf:
            raise impossible(i)
        out.append(row.entropy / max(length, 1))
    return out
