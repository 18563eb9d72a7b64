"""Inference of segmentations: best, n best and samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from caesura import _kernels
from caesura.errors import InvalidInput, message
from caesura.inference import reference, risk_decoding
from caesura.inference.kernel_calls import (
    answer_count,
    answer_path,
    as_list,
    called,
    check_answers,
    each,
    kernel_number,
    label_lists,
    on_threads,
    threads_of,
)
from caesura.inference.problems import problems_of
from caesura.inference.results import Path
from caesura.notebooks import Listed
from caesura.potentials import Label, Potentials
from caesura.segments import Segment

__all__ = ["minimum_risk", "n_best", "sample", "viterbi"]


@overload
def viterbi(p: Potentials, *, method: str = ..., n_threads: int | None = ...) -> Path: ...
@overload
def viterbi(
    p: Sequence[Potentials], *, method: str = ..., n_threads: int | None = ...
) -> list[Path]: ...
def viterbi(
    p: Potentials | Sequence[Potentials], *, method: str = "auto", n_threads: int | None = None
) -> Any:
    """Return the best segmentation and its score.

    Ties are broken in favour of the one whose last segment has the smallest label index,
    then the one whose last segment starts latest, then the one whose remaining segments come first
    in the same order.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "other"])
    >>> p.emission[1:, 1] = 1.0
    >>> p.transition[:] = -0.5  # long segments are better than many
    >>> caesura.viterbi(p)
    Path(segments=[Segment(start=0, end=3, label='other')], score=2.0)
    """

    def kernel(problems: list[Potentials], number: int, threads: int) -> list[Any]:
        answers = _kernels.best(problems_of(problems), number, threads)
        return [answer_path(one, answer) for one, answer in zip(problems, answers, strict=True)]

    return each(p, method, n_threads, kernel, lambda one: Path(*reference.viterbi(one)))


@overload
def n_best(
    p: Potentials, n: int, *, method: str = ..., n_threads: int | None = ...
) -> list[Path]: ...
@overload
def n_best(
    p: Sequence[Potentials], n: int, *, method: str = ..., n_threads: int | None = ...
) -> list[list[Path]]: ...
def n_best(
    p: Potentials | Sequence[Potentials],
    n: int,
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the n best segmentations with their scores, all different, the best first.

    Fewer are returned if fewer are possible.  Segmentations with the same score come in the order
    that `viterbi` describes.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(2, ["name", "other"])
    >>> p.add(0, 2, "name", 2.0)
    >>> p.add(0, 2, "other", 1.0)
    >>> [path.score for path in caesura.n_best(p, 3)]
    [2.0, 1.0, 0.0]
    """
    n = answer_count(n)

    def kernel(problems: list[Potentials], number: int, threads: int) -> list[Any]:
        asked, names = problems_of(problems), label_lists(problems)
        origins: list[object] = list(zip(problems, asked, strict=True))
        answers = _kernels.n_best(asked, n, number, threads, Segment, names, Path, origins)
        return [Listed(found) or None for found in answers]

    return each(
        p, method, n_threads, kernel, lambda one: [Path(*a) for a in reference.n_best(one, n)]
    )


@overload
def sample(
    p: Potentials, n: int, seed: int = ..., *, method: str = ..., n_threads: int | None = ...
) -> list[list[Segment]]: ...
@overload
def sample(
    p: Sequence[Potentials],
    n: int,
    seed: int = ...,
    *,
    method: str = ...,
    n_threads: int | None = ...,
) -> list[list[list[Segment]]]: ...
def sample(
    p: Potentials | Sequence[Potentials],
    n: int,
    seed: int = 0,
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Draw n segmentations from the distribution.

    The same seed gives the same samples; of many sequences, the i-th uses ``seed + i``.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "other"])
    >>> len(caesura.sample(p, 100, seed=1))
    100
    """
    n = answer_count(n)
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(
            message("seed", seed, "a whole number, at least 0", "pass 0, for example")
        )
    check_answers(n * len(as_list(p)))

    def kernel(problems: list[Potentials], number: int, threads: int) -> list[Any]:
        seeds = [(int(seed) + i) % 2**64 for i in range(len(problems))]
        asked, names = problems_of(problems), label_lists(problems)
        drawn = _kernels.sample(asked, n, seeds, number, threads, Segment, names)
        return [found or None for found in drawn]

    seeds = iter(range(int(seed), int(seed) + len(as_list(p))))
    return each(p, method, n_threads, kernel, lambda one: reference.sample(one, n, next(seeds)))


@overload
def minimum_risk(
    p: Potentials, outside: Label | None = ..., *, method: str = ..., n_threads: int | None = ...
) -> Path: ...
@overload
def minimum_risk(
    p: Sequence[Potentials],
    outside: Label | None = ...,
    *,
    method: str = ...,
    n_threads: int | None = ...,
) -> list[Path]: ...
def minimum_risk(
    p: Potentials | Sequence[Potentials],
    outside: Label | None = "O",
    *,
    method: str = "auto",
    n_threads: int | None = None,
) -> Any:
    """Return the possible segmentation with the most expected correct segments.

    That is the largest sum of segment probabilities; segments labelled `outside` do not count
    (None: all do; "O" need not be among the labels).  The score of the path is that sum.  Where a
    label has no max_length, time and memory are those of all O(T² Y) segments.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "O"])
    >>> p.add(0, 2, "name", 3.0)
    >>> caesura.minimum_risk(p).segments[0]
    Segment(start=0, end=2, label='name')
    """
    number = kernel_number(method)
    threads_of(n_threads)
    if not isinstance(p, Potentials):
        return on_threads(
            lambda one: minimum_risk(one, outside, method=method), as_list(p), n_threads
        )
    default = isinstance(outside, str) and outside == "O" and "O" not in p.labels
    if outside is not None and not default:  # the default may be absent
        outside = p.labels[p.label_index(outside, "outside")]
    if number is None:
        return Path(*reference.minimum_risk(p, outside))
    return called(risk_decoding.minimum_risk, p, outside, number)
