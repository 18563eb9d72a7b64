"""Inference on the distribution over segmentations: sums, probabilities, expectations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from caesura import _kernels
from caesura.errors import InvalidInput
from caesura.inference import divergence, reference
from caesura.inference.kernel_calls import (
    as_indices,
    as_list,
    called,
    each,
    kernel_number,
    on_threads,
    posteriors,
    require_possible,
    threads_of,
)
from caesura.inference.problems import problem_of, problems_of
from caesura.inference.results import Marginals, named
from caesura.potentials import Label, Potentials
from caesura.segments import Segment

__all__ = [
    "entropy",
    "kl_divergence",
    "log_partition",
    "log_probability",
    "marginals",
    "score",
]

Cut = Sequence[Segment | tuple[int, int, Label]]  # a segmentation as a caller may pass it


@overload
def log_partition(p: Potentials, *, method: str = ..., n_threads: int | None = ...) -> float: ...
@overload
def log_partition(
    p: Sequence[Potentials], *, method: str = ..., n_threads: int | None = ...
) -> list[float]: ...
def log_partition(
    p: Potentials | Sequence[Potentials], *, method: str = "auto", n_threads: int | None = None
) -> Any:
    """Return ln Z, the logarithm of the sum of exp(score) over all segmentations.

    It is 0 for a sequence of length 0, and -inf where no segmentation is possible.

    Examples
    --------
    >>> import caesura, math
    >>> p = caesura.Potentials(4, 2)  # all scores 0: ln Z counts the segmentations
    >>> round(math.exp(caesura.log_partition(p)))
    54
    """

    def kernel(listed: list[Potentials], number: int, threads: int) -> list[float]:
        return _kernels.log_partition(problems_of(listed), number, threads)

    return each(p, method, n_threads, kernel, reference.log_partition)


@overload
def score(
    p: Potentials, segments: Cut, *, method: str = ..., n_threads: int | None = ...
) -> float: ...
@overload
def score(
    p: Sequence[Potentials],
    segments: Sequence[Cut],
    *,
    method: str = ...,
    n_threads: int | None = ...,
) -> list[float]: ...
def score(
    p: Potentials | Sequence[Potentials],
    segments: Sequence[Any],
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the score of a segmentation; -inf if it violates a constraint.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "other"])
    >>> p.emission[:, 0] = 1.0
    >>> caesura.score(p, [(0, 2, "name"), (2, 3, "other")])
    2.0
    """
    kernel_number(method)
    threads_of(n_threads)
    listed = as_list(p)
    if not isinstance(p, Potentials):
        if len(listed) != len(segments):
            raise InvalidInput(
                place="segments",
                got=f"{len(segments)} segmentations for {len(listed)} sequences",
                remedy="give one for each sequence",
            )
        return [score(one, cut, method=method) for one, cut in zip(listed, segments, strict=True)]
    indexed = as_indices(p, segments)
    if method == "reference":
        return reference.score(p, named(indexed, p))
    return called(problem_of(p).score, indexed)


@overload
def log_probability(
    p: Potentials, segments: Cut, *, method: str = ..., n_threads: int | None = ...
) -> float: ...
@overload
def log_probability(
    p: Sequence[Potentials],
    segments: Sequence[Cut],
    *,
    method: str = ...,
    n_threads: int | None = ...,
) -> list[float]: ...
def log_probability(
    p: Potentials | Sequence[Potentials],
    segments: Sequence[Any],
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the log-probability of a segmentation.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(1, ["name", "other"])
    >>> round(caesura.log_probability(p, [(0, 1, "name")]), 4)
    -0.6931
    """
    if not isinstance(p, Potentials):
        scores = score(p, segments, method=method, n_threads=n_threads)
        log_z = log_partition(p, method=method, n_threads=n_threads)
        for i, value in enumerate(log_z):
            require_possible(value > -np.inf, i)
        return [a - b for a, b in zip(scores, log_z, strict=True)]
    own = score(p, segments, method=method, n_threads=n_threads)
    total = log_partition(p, method=method, n_threads=n_threads)
    require_possible(total > -np.inf)
    return own - total


@overload
def marginals(p: Potentials, *, method: str = ..., n_threads: int | None = ...) -> Marginals: ...
@overload
def marginals(
    p: Sequence[Potentials], *, method: str = ..., n_threads: int | None = ...
) -> list[Marginals]: ...
def marginals(
    p: Potentials | Sequence[Potentials], *, method: str = "auto", n_threads: int | None = None
) -> Any:
    """Return the probabilities of segments, tokens and boundaries, and expected counts.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(2, ["name", "other"])
    >>> p.add(0, 2, "name", 1.0)
    >>> m = caesura.marginals(p)
    >>> m.tokens.round(3)
    array([[0.611, 0.389],
           [0.611, 0.389]])
    >>> m.potentials.round(3)  # the derivative of ln Z by the score that was added
    array([0.352])
    """

    def kernel(listed: list[Potentials], number: int, threads: int) -> list[Marginals | None]:
        rows = posteriors(listed, number, threads, entropies=False)
        return [
            None if row is None else Marginals(one, row, number)
            for one, row in zip(listed, rows, strict=True)
        ]

    return each(p, method, n_threads, kernel, reference.marginals)


@overload
def entropy(p: Potentials, *, method: str = ..., n_threads: int | None = ...) -> float: ...
@overload
def entropy(
    p: Sequence[Potentials], *, method: str = ..., n_threads: int | None = ...
) -> list[float]: ...
def entropy(
    p: Potentials | Sequence[Potentials], *, method: str = "auto", n_threads: int | None = None
) -> Any:
    """Return the entropy of the distribution, in nats.

    It is summed over the choices that lead to a segmentation, so nothing cancels on long inputs.

    Examples
    --------
    >>> import caesura, math
    >>> p = caesura.Potentials(4, 2)
    >>> round(math.exp(caesura.entropy(p)))  # 54 segmentations, all alike
    54
    """

    def kernel(listed: list[Potentials], number: int, threads: int) -> list[float | None]:
        rows = posteriors(listed, number, threads, entropies=True)
        return [None if row is None else row.entropy for row in rows]

    return each(p, method, n_threads, kernel, reference.entropy)


@overload
def kl_divergence(
    p: Potentials, q: Potentials, *, method: str = ..., n_threads: int | None = ...
) -> float: ...
@overload
def kl_divergence(
    p: Sequence[Potentials],
    q: Sequence[Potentials],
    *,
    method: str = ...,
    n_threads: int | None = ...,
) -> list[float]: ...
def kl_divergence(
    p: Potentials | Sequence[Potentials],
    q: Potentials | Sequence[Potentials],
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the Kullback-Leibler divergence of q from p, in nats.

    It is +inf where q forbids what p allows.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, 2)
    >>> q = caesura.Potentials(3, 2)
    >>> q.add(0, 3, 0, 1.0)
    >>> round(caesura.kl_divergence(p, q), 4)
    0.0356
    """
    number = kernel_number(method)
    threads_of(n_threads)
    ps, qs = as_list(p), as_list(q, "q")
    if not isinstance(p, Potentials):
        if isinstance(q, Potentials) or len(ps) != len(qs):
            raise InvalidInput(
                place="q",
                got=f"{len(qs)} of Potentials",
                expected=f"{len(ps)}, as many as p",
                remedy="give one for each of p",
            )
        return on_threads(
            lambda pair: kl_divergence(*pair, method=method),
            list(zip(ps, qs, strict=True)),
            n_threads,
        )
    if not isinstance(q, Potentials):
        raise InvalidInput(
            place="q",
            got="a list",
            expected="single Potentials, as p is",
            remedy="pass one, or lists for both",
        )
    if number is None:
        return reference.kl_divergence(p, q)
    require_possible(log_partition(p, method=method) > -np.inf)
    require_possible(log_partition(q, method=method) > -np.inf, name="q")
    return called(divergence.kl_divergence, p, q, number)
