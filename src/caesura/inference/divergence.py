"""The Kullback-Leibler divergence between two models of one sequence."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.constraints import BARRED, FORCED
from caesura.errors import InvalidInput
from caesura.inference.problems import Rule, problem_of, rules_of, structure_of
from caesura.inference.results import Marginals
from caesura.potentials import Potentials
from caesura.segments.cores import OPEN_END, OPEN_START

__all__ = ["kl_divergence"]

Floats = npt.NDArray[np.float64]


def kl_divergence(p: Potentials, q: Potentials, method: int) -> float:
    """Return the sum over segmentations of P_p ln(P_p / P_q).

    It is E_p[score_p - score_q] + ln Z_q - ln Z_p.  The expectations are expected counts under p;
    the potentials of q that p lacks are added to p with the score 0.
    """
    if p.length != q.length or p.labels != q.labels:
        raise InvalidInput(
            place="q",
            got=f"length {q.length} and labels {list(q.labels)!r}",
            expected=f"those of p, {p.length} and {list(p.labels)!r}",
            remedy="give potentials of the same sequence and labels",
        )
    if any(_breaks(p, rule, method) for rule in rules_of(q) if rule not in rules_of(p)):
        return math.inf
    both = _with_potentials_of(p, q)
    if _uses_what_is_forbidden(both, q, method):
        return math.inf
    counts = _kernels.posterior([problem_of(both)], method, 1, False)[0]
    log_z = _kernels.log_partition([problem_of(q)], method, 1)[0]
    differences = [
        _expected_difference(count, score_p, score_q)
        for count, (score_p, score_q) in zip(_counts(both, counts), _scores(both, q), strict=True)
    ]
    return max(0.0, math.fsum([*differences, log_z, -counts.log_partition]))


def _expected_difference(count: Floats, score_p: Floats, score_q: Floats) -> float:
    """Return the sum of count * (score_p - score_q) over all that can occur."""
    here = (count > 0) & ~np.isneginf(score_p) & ~np.isneginf(score_q)
    return float(np.sum(count[here] * (score_p[here] - score_q[here])))


def _uses_what_is_forbidden(both: Potentials, q: Potentials, method: int) -> bool:
    """Return whether p allows a segmentation with a part that q forbids.

    Every such part scores 1, all else that p allows 0: then the best one scores more than 0.
    """
    event = structure_of(both)
    marked = [np.where(np.isneginf(score_q), 1.0, 0.0) for _, score_q in _scores(both, q)]
    if not any(part.any() for part in marked):
        return False
    emission, transition, start, end, spans, added, edges, patterns = marked
    event.emission += emission
    event.transition += transition
    event.start += start
    event.end += end
    parts = event.parts
    if parts.spans is not None:
        event.spans += spans
    scores = np.concatenate([np.zeros(0), *(chunk[3] for chunk in parts.added)]) + added
    cuts = np.cumsum([len(chunk[3]) for chunk in parts.added])
    parts.added[:] = [
        (*chunk[:3], part, chunk[4])
        for chunk, part in zip(parts.added, np.split(scores, cuts), strict=False)
    ]
    parts.edges[:] = [
        (t, a, b, w + float(x)) for (t, a, b, w), x in zip(parts.edges, edges, strict=True)
    ]
    parts.patterns[:] = [
        (z, w + float(x), s, e) for (z, w, s, e), x in zip(parts.patterns, patterns, strict=True)
    ]
    answer = _kernels.best([problem_of(event)], method, 1)[0]
    return answer is not None and answer[1] > 0


def _breaks(p: Potentials, rule: Rule, method: int) -> bool:
    """Return whether p allows a segmentation that violates the constraint."""
    name, labels = rule
    if name == "ordered":
        return _possible(p, ("disordered", labels), method)
    if name == "exactly once":
        without = p.copy()
        without.emission[:, labels[0]] = -np.inf
        if _kernels.log_partition([problem_of(without)], method, 1)[0] > -np.inf:
            return True
    return _possible(p, ("at least twice", labels), method)


def _possible(p: Potentials, broken: Rule, method: int) -> bool:
    problem = problem_of(p, broken=[broken])
    return _kernels.log_partition([problem], method, 1)[0] > -np.inf


def _with_potentials_of(p: Potentials, q: Potentials) -> Potentials:
    """Return p with all potentials and constraints of q added with score 0."""
    both, parts = p.copy(), q.parts
    names = {target: history for history, target in parts.histories.items()}
    for starts, ends, targets, _, flags in parts.added:
        histories = [names.get(int(z), int(z)) for z in targets]
        both.add_many(starts, ends, histories, 0.0, flags & OPEN_START > 0, flags & OPEN_END > 0)
    for position, previous, label, _ in parts.edges:
        both.add_transition(position, previous, label, 0.0)
    for target, _, start, end in parts.patterns:
        pattern = names.get(target, (target,))
        both.add_pattern(pattern, 0.0, None if start < 0 else start, None if end < 0 else end)
    forbidden = np.array(list(_forbidden_by(q)), np.int32).reshape(-1, 5)
    starts, ends, labels, open_starts, open_ends = forbidden.T
    both.add_many(starts, ends, labels, 0.0, open_starts, open_ends)
    if parts.spans is not None:
        T, L, Y = parts.spans.shape
        s, k, y = (axis.ravel() for axis in np.indices((T, L, Y)))
        fits = s + k < T
        both.add_many(s[fits], (s + k + 1)[fits], y[fits].astype(np.int32), 0.0)
    return both


def _forbidden_by(q: Potentials) -> Iterator[tuple[int, int, int, bool, bool]]:
    """List the constraints and bounds of q as potentials: start, end, label, open ends."""
    T, Y, held = q.length, len(q.labels), q.parts.constraints
    for start, end, y in held.forbidden:
        yield start, end, y, False, False
    for y in range(Y):
        bound = int(q.parts.bounds[y])
        if bound:
            yield from ((s, s + bound + 1, y, False, True) for s in range(T - bound))
        for t in range(1, T):
            if held.boundary[t] & FORCED:  # no segment may cross it
                yield t - 1, t + 1, y, True, True
            if held.boundary[t] & BARRED:  # no segment may end there
                yield t - 1, t, y, True, False
    if held.allowed is not None:
        for t, y in np.argwhere(held.allowed == 0):
            yield int(t), int(t) + 1, int(y), True, True


def _counts(both: Potentials, posterior: _kernels.Posterior) -> Iterator[Floats]:
    """List the expected counts in the order of `_scores`."""
    counts = Marginals(both, posterior, 0)
    yield counts.tokens
    yield counts.transitions
    yield counts.starts
    yield counts.ends
    yield np.zeros(0) if counts.spans is None else counts.spans
    yield counts.potentials
    yield counts.edges
    yield counts.patterns


def _scores(both: Potentials, q: Potentials) -> Iterator[tuple[Floats, Floats]]:
    """List the scores of p and of q; in p + q, those of p come first."""
    transition = q.transition.copy()
    if not q.same_label_adjacent:
        np.fill_diagonal(transition, -np.inf)
    yield both.emission, q.emission
    yield both.transition, transition
    yield both.start, q.start
    yield both.end, q.end
    spans = np.zeros(0) if both.parts.spans is None else both.parts.spans
    yield spans, np.zeros_like(spans)

    added = [float(w) for chunk in q.parts.added for w in chunk[3]]
    added += [-np.inf for _ in _forbidden_by(q)]
    if q.parts.spans is not None:
        s, k = np.indices(q.parts.spans.shape[:2])
        added += list(q.parts.spans[s + k < q.length].ravel())
    yield _side_by_side([float(w) for chunk in both.parts.added for w in chunk[3]], added)
    yield _side_by_side([edge[3] for edge in both.parts.edges], [edge[3] for edge in q.parts.edges])
    yield _side_by_side([z[1] for z in both.parts.patterns], [z[1] for z in q.parts.patterns])


def _side_by_side(mine: list[float], theirs: list[float]) -> tuple[Floats, Floats]:
    """Return p's scores (0 for q's potentials) and q's (0 for p's)."""
    n_own = len(mine) - len(theirs)
    return np.array(mine), np.array([*[0.0] * n_own, *theirs])
