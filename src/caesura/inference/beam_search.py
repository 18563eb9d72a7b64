"""Beam search in plain Python: the definition for tests of the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

__all__ = ["beam_search", "segmentations"]

Labelled = tuple[int, int, int]
Path = tuple[Labelled, ...]


def segmentations(length: int, bounds: Sequence[int]) -> list[Path]:
    """Return all labelled segmentations within the length bounds.

    Examples
    --------
    >>> segmentations(2, [2])
    [((0, 1, 0), (1, 2, 0)), ((0, 2, 0),)]
    """
    if length == 0:
        return [()]
    found = []
    for start in range(length - 1, -1, -1):
        last = [(start, length, y) for y, most in enumerate(bounds) if length - start <= most]
        found += [(*before, one) for before, one in product(segmentations(start, bounds), last)]
    return found


def beam_search(
    length: int,
    bounds: Sequence[int],
    score: Callable[[Path], float],
    k: int | None,
    depth: int | None,
) -> list[list[tuple[float, Path]]]:
    """Return the agenda of each boundary, best candidates first.

    Parameters
    ----------
    length : int
        Number of tokens, T.
    bounds : sequence of int
        Maximum segment length of each label.
    score : callable
        Function that returns the score of a segmentation of the first tokens; that of a complete
        one includes the end score.
    k : int or None
        Beam size; None for no limit.
    depth : int or None
        Number of last segments (at least one) on which later scores depend: of candidates that
        agree in them, only the best is kept.  None: later scores depend on all segments, and no
        candidates are merged.

    Returns
    -------
    list of list of (score, segments)
        At boundaries 0 to T.  Among equal scores the smaller label of the last segment comes first,
        then its later start, then what precedes it by the same rule.

    Examples
    --------
    >>> agendas = beam_search(2, [2], lambda path: -len(path), 1, 1)
    >>> agendas[-1]
    [(-1, ((0, 2, 0),))]
    """
    agendas: list[list[tuple[float, Path]]] = [[(0.0, ())]]
    for end in range(1, length + 1):
        found: dict[object, tuple[float, Path]] = {}
        for start in range(end):
            for y, most in enumerate(bounds):
                if end - start > most:
                    continue
                for _, before in agendas[start]:
                    path = (*before, (start, end, y))
                    alike = path if depth is None else path[-max(depth, 1) :]
                    value = score(path)
                    if alike not in found or _rank((value, path)) < _rank(found[alike]):
                        found[alike] = value, path
        agendas.append(sorted(found.values(), key=_rank)[:k])
    return agendas


def _rank(candidate: tuple[float, Path]) -> tuple[float, list[tuple[int, int]]]:
    """Return the sort key of candidates that end at one boundary."""
    score, path = candidate
    return -score, [(label, -start) for start, _, label in reversed(path)]
