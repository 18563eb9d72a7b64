"""Many labels with a limit, perhaps too many to keep all subsets: track what breaks, repeat."""

from __future__ import annotations

from collections import Counter

import numpy as np

from caesura import _kernels
from caesura.errors import TooLarge
from caesura.inference.problems import MOST_TRACKED, problem_of
from caesura.potentials import Potentials

__all__ = ["broken", "n_best", "sample"]

Indexed = list[tuple[int, int, int]]  # segments as start, end, label index
MOST_ROUNDS = 200
MOST_TRACKED_TO_SAMPLE = 10  # more make each round slow
MOST_TRACKED_TO_SOLVE = 10
MOST_ENTRIES = 10_000_000  # of the search: about half a gigabyte


def n_best(p: Potentials, n: int, method: int) -> list[tuple[Indexed, float]]:
    """Return the n best segmentations, exactly.

    A relaxed model allows more, so when its n best break no limit they are the n best.  Otherwise
    the label that broke its limit in most of them is tracked, and the model is solved again.  When
    enough are tracked, a best-first search with the relaxed model as its bound looks for those
    that keep all limits; only if that becomes too large does it refuse.
    """
    tracked: set[int] = set()
    while len(tracked) < MOST_TRACKED_TO_SOLVE:
        paths = _kernels.n_best([problem_of(p, tracked)], n, method, 1)[0]
        repeated = Counter(y for segments, _ in paths for y in broken(p, segments))
        if not repeated:
            return paths
        tracked.add(repeated.most_common(1)[0][0])
    if len(p._constraints.once) <= MOST_TRACKED:
        return _kernels.n_best([problem_of(p)], n, method, 1)[0]
    limits = np.zeros(len(p.labels), np.uint8)
    for y, must in p._constraints.once.items():
        limits[y] = 0 if y in tracked else 2 if must else 1
    problem = problem_of(p, tracked)
    found = _kernels.n_best_limited(problem, n, limits, method, MOST_ENTRIES)
    if found is None:
        raise TooLarge(
            f"constrain: {len(p._constraints.once)} labels are limited to one occurrence, so many "
            f"of them tempting that the search for the best passed {MOST_ENTRIES:,} partial "
            "answers; limit fewer labels, or bound the segments with max_length"
        )
    return found


def sample(p: Potentials, n: int, seed: int, method: int) -> list[Indexed]:
    """Draw n segmentations: from a relaxed model, keeping those that break no limit.

    What is kept has the right distribution whatever is tracked, so the labels that break their
    limit most often are tracked to keep more.
    """
    kept: list[Indexed] = []
    tracked: set[int] = set()
    for round_ in range(MOST_ROUNDS):
        fresh = int(np.random.SeedSequence([seed, round_]).generate_state(1, np.uint64)[0])
        drawn = _kernels.sample([problem_of(p, tracked)], max(n, 64), [fresh], method, 1)[0]
        breaks = [broken(p, segments) for segments in drawn]
        kept += [segments for segments, labels in zip(drawn, breaks, strict=True) if not labels]
        if len(kept) >= n or not drawn:
            return kept[:n]
        counts = Counter(y for labels in breaks for y in labels)
        room = MOST_TRACKED_TO_SAMPLE - len(tracked)
        tracked |= {y for y, _ in counts.most_common(min(3, room))}
    raise TooLarge(
        f"sample: kept only {len(kept)} of {n} segmentations in {MOST_ROUNDS} rounds; "
        f"limit at most {MOST_TRACKED} labels to one occurrence"
    )


def broken(p: Potentials, segments: Indexed) -> set[int]:
    """Return the labels whose limit a segmentation breaks."""
    counts = Counter(y for _, _, y in segments)
    return {
        y for y, must in p._constraints.once.items() if counts[y] > 1 or (must and not counts[y])
    }
