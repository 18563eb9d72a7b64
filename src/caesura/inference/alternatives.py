"""Alternatives to the best segmentation, where several paths may encode the same segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from caesura import _kernels
from caesura.inference.kernel_calls import as_indices, called, threads_of
from caesura.inference.problems import problem_of, problems_of
from caesura.potentials import Potentials
from caesura.segments import Segment

__all__ = ["Detour", "best_without", "detours", "n_best_spelled"]

Indexed = tuple[int, int, int]  # start, end, label index


class Detour(NamedTuple):
    """The difference between two segmentations with common first and last segments."""

    same_first: int  # number of common segments at the start
    segments: list[Segment]  # the segments between the common ones
    same_last: int  # number of common segments at the end

    def applied_to(self, path: Sequence[Segment]) -> list[Segment]:
        """Return the other segmentation, given this one.

        Examples
        --------
        >>> path = [Segment(0, 1, "a"), Segment(1, 2, "b"), Segment(2, 3, "a")]
        >>> [s.label for s in Detour(1, [Segment(1, 2, "c")], 1).applied_to(path)]
        ['a', 'c', 'a']
        """
        return [*path[: self.same_first], *self.segments, *path[len(path) - self.same_last :]]


def best_without(
    p: Potentials,
    path: Sequence[Segment],
    segments: Sequence[Indexed],
    reading: _kernels.Reading,
) -> list[Detour | None]:
    """Return, for each segment, the best segmentation without it; None if there is none.

    Parameters
    ----------
    p : Potentials
        Potentials whose labels are the states of a model.
    path : list of Segment
        The best segmentation over states, with which answers are compared.
    segments : list of (start, end, label number)
        Labelled segments, with the label numbers of the reading; sorted and disjoint.
    reading : Reading
        The decoding of states into segments.
    """
    return detours(problem_of(p), p.labels, as_indices(p, path), segments, reading)


def detours(
    problem: _kernels.Problem,
    labels: Sequence[str],
    path: list[Indexed],
    segments: Sequence[Indexed],
    reading: _kernels.Reading,
) -> list[Detour | None]:
    """Compute `best_without` for a compiled problem with given labels."""
    if not segments:
        return []
    found = called(_kernels.best_without, problem, 0, reading, path, list(segments))
    return [
        None
        if one is None
        else Detour(one[0], [Segment(start, end, labels[y]) for start, end, y in one[1]], one[2])
        for one in found
    ]


def n_best_spelled(
    listed: Sequence[Potentials], reading: _kernels.Reading, n: int, n_threads: int | None
) -> list[list[tuple[list[Indexed], float]]]:
    """Return the n best segmentations of each chain, with their log-weights.

    The weight of a segmentation is the sum over all sequences of tags that spell it.

    Parameters
    ----------
    listed : list of Potentials
        The potentials of chains: all segments have the length 1, and labels are tags.
    reading : Reading
        The decoding of tags into segments; the labels of answers are its numbers.
    n : int
        Maximum number of answers.
    n_threads : int, optional
        Number of threads, all cores by default.
    """
    problems = problems_of(listed)
    return called(_kernels.n_best_spelled, problems, reading, n, 0, threads_of(n_threads))
