"""The reference: exact inference by enumeration of all segmentations.

This is the executable form of the contract, and what the kernels are tested against.  A small model
can be enumerated by hand: three labels, ten tokens, neighbours with different labels.

>>> import caesura
>>> from caesura.inference import reference
>>> p = caesura.Potentials(10, ["author", "title", "year"], same_label_adjacent=False)
>>> p.add(0, 2, "author", 2.0)  # tokens 0 and 1 together are a known name
>>> p.add(9, 10, "year", 1.5, open_start=True)  # and the last token looks like a year
>>> every = reference.Enumeration(p)
>>> len(every.paths)  # 3 labels for the first token; then each goes on, or starts one of 2 others
59049
>>> log_z = np.log(np.exp(every.scores).sum())
>>> print(f"{log_z:.6f} {caesura.log_partition(p):.6f}")
12.143972 12.143972
>>> print(every.scores.max(), caesura.viterbi(p).score)
3.5 3.5

Where there are too many to list, the plain recursions of `caesura.inference.recursions` answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from caesura.errors import Impossible, TooLarge
from caesura.inference.definition import History, Model, ReferenceMarginals, log_sum
from caesura.inference.recursions import Lattice
from caesura.potentials import Label, Potentials
from caesura.segments import Segment

__all__ = ["LIMIT", "Enumeration", "count_candidates", "segmentations", "solve"]
__all__ += ["entropy", "kl_divergence", "log_partition", "log_probability", "marginals"]
__all__ += ["minimum_risk", "n_best", "sample", "score", "viterbi"]

LIMIT = 500_000  # maximum number of segmentations to enumerate; larger inputs use the recursions

Indexed = tuple[int, int, int]  # start, end, label index


# -- enumeration -------------------------------------------------------------------------------


def count_candidates(p: Potentials) -> int:
    """Count the segmentations that satisfy the constraints on segments and neighbours.

    Label rules (at most once, exactly once, ordered) are left out, so this is the number to look at
    and not the number that is allowed.

    Examples
    --------
    >>> count_candidates(Potentials(4, 2))
    54
    """
    return _completions(Model(p))[0, -1]


def _completions(model: Model) -> dict[tuple[int, int], int]:
    """Count the completions from each boundary after each label; -1 is no label yet."""
    T, labels = model.length, range(model.n_labels)
    ways = {(T, previous): 1 for previous in [-1, *labels]}
    for t in reversed(range(T)):
        for previous in [-1, *labels]:
            ways[t, previous] = sum(
                ways[end, y]
                for end, y in model.choices[t]
                if previous < 0 or model.allows_pair(previous, y)
            )
    return ways


def _listed(model: Model) -> Iterator[tuple[Indexed, ...]]:
    """List all allowed segmentations: shorter segments first, then labels in order."""
    ways = _completions(model)
    unfinished: list[tuple[Indexed, ...]] = [()]
    while unfinished:
        path = unfinished.pop()
        _, reached, previous = path[-1] if path else (0, 0, -1)
        if reached == model.length:
            if model.allows_labels([y for _, _, y in path]):
                yield path
            continue
        unfinished += [
            (*path, (reached, end, y))
            for end, y in reversed(model.choices[reached])
            if ways[end, y] and (previous < 0 or model.allows_pair(previous, y))
        ]


def segmentations(p: Potentials) -> Iterator[list[Segment]]:
    """Iterate over all segmentations that p allows, in a fixed order.

    The rules are the longest segments, same-label adjacency and the constraints.  Scores, also of
    ``-inf``, are not looked at.

    Examples
    --------
    >>> [[tuple(s) for s in segments] for segments in segmentations(Potentials(2, ["A"]))]
    [[(0, 1, 'A'), (1, 2, 'A')], [(0, 2, 'A')]]
    """
    model = Model(p)
    return (model.named(path) for path in _listed(model))


class Enumeration:
    """All segmentations of p with their scores, from which all answers are computed.

    Attributes
    ----------
    paths : list of tuples of (start, end, label index)
    scores, probabilities : arrays with one number for each of them
    log_partition : float
    """

    def __init__(self, p: Potentials) -> None:
        self.model = Model(p)
        candidates = _completions(self.model)[0, -1]
        if candidates > LIMIT:
            raise TooLarge(
                f"{candidates:,} segmentations to list",
                place="p",
                expected=f"at most {LIMIT:,}",
                remedy="use method='auto'",
            )
        self.paths = list(_listed(self.model))
        self.scores = np.array([self.model.score(path) for path in self.paths], np.float64)
        self.log_partition = log_sum(self.scores)

    @property
    def probabilities(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The probability of each segmentation."""
        if self.log_partition == -np.inf:
            raise Impossible(
                "no segmentation has a finite score", place="p", remedy="loosen the constraints"
            )
        return np.exp(self.scores - self.log_partition)

    def marginals(self) -> ReferenceMarginals:
        """Sum the probability of each segment with its label history."""
        counts: dict[tuple[int, int, History], float] = {}
        for path, probability in zip(self.paths, self.probabilities.tolist(), strict=True):
            labels = tuple(y for _, _, y in path)
            for i, (start, end, _) in enumerate(path):
                key = (start, end, labels[: i + 1][-self.model.depth :])
                counts[key] = counts.get(key, 0.0) + probability
        return ReferenceMarginals(self.model, self.log_partition, counts)

    def n_best(self, n: int) -> list[tuple[list[Segment], float]]:
        """Sort by score; ties by the last segment: its label, then the latest start.

        Where last segments are equal too, those before them decide.
        """
        self.probabilities  # noqa: B018 - raises if nothing is possible

        def key(i: int) -> tuple[float, list[tuple[int, int]]]:
            return -float(self.scores[i]), [(y, -start) for start, _, y in reversed(self.paths[i])]

        order = sorted(range(len(self.paths)), key=key)[:n]
        best = [i for i in order if self.scores[i] > -np.inf]
        return [(self.model.named(self.paths[i]), float(self.scores[i])) for i in best]

    def sample(self, n: int, seed: int) -> list[list[Segment]]:
        """Draw n segmentations by probability."""
        shares = self.probabilities / self.probabilities.sum()
        drawn = np.random.default_rng(seed).choice(len(self.paths), size=n, p=shares)
        return [self.model.named(self.paths[i]) for i in drawn.tolist()]

    def entropy(self) -> float:
        """Compute the sum of ``-p log p``."""
        probability, possible = self.probabilities, self.scores > -np.inf
        log_probability = (self.scores - self.log_partition)[possible]
        return float(-(probability[possible] * log_probability).sum())

    def minimum_risk(self, outside: Label | None = "O") -> tuple[list[Segment], float]:
        """Maximise the sum of segment probabilities over all segmentations."""
        gain: dict[Indexed, float] = {}
        for path, probability in zip(self.paths, self.probabilities.tolist(), strict=True):
            for segment in path:
                if self.model.p.labels[segment[2]] != outside:
                    gain[segment] = gain.get(segment, 0.0) + probability
        gains = [
            sum(gain.get(segment, 0.0) for segment in path) if score > -np.inf else -np.inf
            for path, score in zip(self.paths, self.scores, strict=True)
        ]
        best = int(np.argmax(gains))
        return self.model.named(self.paths[best]), float(gains[best])


# -- the public functions ----------------------------------------------------------------------


def solve(p: Potentials) -> Enumeration | Lattice:
    """Enumerate all segmentations, or build the lattice if there are too many."""
    return Enumeration(p) if count_candidates(p) <= LIMIT else Lattice(p)


def log_partition(p: Potentials) -> float:
    """Return log Z, the log of the sum of ``exp(score)`` over all segmentations."""
    return solve(p).log_partition


def score(p: Potentials, segments: Iterable[tuple[int, int, Label]]) -> float:
    """Return the score of one segmentation; ``-inf`` if it violates a constraint."""
    model = Model(p)
    return model.score(model.read(segments))


def log_probability(p: Potentials, segments: Iterable[tuple[int, int, Label]]) -> float:
    """Return the score of one segmentation minus log Z."""
    log_z = log_partition(p)
    if log_z == -np.inf:
        raise Impossible(
            "no segmentation has a finite score", place="p", remedy="loosen the constraints"
        )
    return score(p, segments) - log_z


def marginals(p: Potentials) -> ReferenceMarginals:
    """Return probabilities and expected counts."""
    return solve(p).marginals()


def viterbi(p: Potentials) -> tuple[list[Segment], float]:
    """Return the best segmentation and its score."""
    return n_best(p, 1)[0]


def n_best(p: Potentials, n: int) -> list[tuple[list[Segment], float]]:
    """Return up to n best segmentations with their scores, best first."""
    return solve(p).n_best(n)


def sample(p: Potentials, n: int, seed: int) -> list[list[Segment]]:
    """Draw n segmentations, independently."""
    return solve(p).sample(n, seed)


def entropy(p: Potentials) -> float:
    """Return the entropy of the distribution over segmentations, in nats."""
    return solve(p).entropy()


def minimum_risk(p: Potentials, outside: Label | None = "O") -> tuple[list[Segment], float]:
    """Return the possible segmentation with the most expected correct segments, and their number.

    A segment is expected to be correct as often as it is probable; segments labelled `outside` are
    not counted.
    """
    return solve(p).minimum_risk(outside)


def kl_divergence(p: Potentials, q: Potentials) -> float:
    """Return the expectation under p of ``log p - log q``; +inf where q forbids what p allows."""
    solved, log_z = solve(p), log_partition(q)
    if log_z == -np.inf:
        raise Impossible(
            "no segmentation has a finite score", place="q", remedy="loosen the constraints"
        )
    if isinstance(solved, Enumeration):
        expected = _expected_score(solved, Model(q))
    else:
        expected = _expected_score_by_arcs(p, q)
    return float(log_z - expected - solved.entropy())


def _expected_score(p: Enumeration, q: Model) -> float:
    """Sum the probability under p times the score under q over all segmentations."""
    possible = np.flatnonzero(p.scores > -np.inf)
    scores = np.array([q.score(p.paths[i]) for i in possible])
    if (scores == -np.inf).any():
        return -np.inf
    return float((p.probabilities[possible] * scores).sum())


def _expected_score_by_arcs(p: Potentials, q: Potentials) -> float:
    held = q.parts.constraints
    if held.once or held.ordered or held.tables:
        raise TooLarge(
            "label rules can only be compared by listing", place="q", remedy="use method='auto'"
        )
    lattice = Lattice(p, q)
    ends: Sequence[float] = lattice.marginals().ends.tolist()
    last: list[float] = [n * end for n, end in zip(ends, q.end, strict=True) if n > 0]
    return lattice.expected(Model(q).segment_score) + float(sum(last))
