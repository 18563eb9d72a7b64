"""The Kullback-Leibler divergence between two models of one sequence."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.errors import InvalidInput
from caesura.inference.problems import Rule, problem_of, rules_of
from caesura.potentials import OPEN_END, Potentials

__all__ = ["kl_divergence"]

Floats = npt.NDArray[np.float64]


def kl_divergence(p: Potentials, q: Potentials, method: int) -> float:
    """Return the sum over segmentations of P_p ln(P_p / P_q).

    It is E_p[score_p - score_q] + ln Z_q - ln Z_p.  The expectations are expected counts under p; the
    potentials of q that p lacks are added to p with the score 0.
    """
    if p.length != q.length or p.labels != q.labels:
        raise InvalidInput(
            f"q: got length {q.length} and labels {list(q.labels)!r}, expected those of p, "
            f"{p.length} and {list(p.labels)!r}"
        )
    if any(_breaks(p, rule, method) for rule in rules_of(q) if rule not in rules_of(p)):
        return math.inf
    both = _with_potentials_of(p, q)
    counts = _kernels.posterior([problem_of(both)], method, 1, False)[0]
    log_z = _kernels.log_partition([problem_of(q)], method, 1)[0]
    differences = [
        _expected_difference(count, score_p, score_q)
        for count, score_p, score_q in _paired(both, q, counts)
    ]
    return max(0.0, math.fsum([*differences, log_z, -counts.log_partition]))


def _expected_difference(count: Floats, score_p: Floats, score_q: Floats) -> float:
    """Return the sum of count * (score_p - score_q); +inf where q forbids what p expects."""
    here = count > 0
    if np.isneginf(score_q[here]).any():
        return math.inf
    return float(np.sum(count[here] * (score_p[here] - score_q[here])))


def _breaks(p: Potentials, rule: Rule, method: int) -> bool:
    """Return whether some segmentation that p allows breaks the rule."""
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
    """Return p with all that q scores or forbids, at the score 0."""
    both = p.copy()
    names = {target: history for history, target in q._histories.items()}
    for starts, ends, targets, _, flags in q._added:
        labels = [names.get(int(z), int(z)) for z in targets]
        both.add_many(starts, ends, labels, 0.0, flags & 1 > 0, flags & OPEN_END > 0)
    for position, previous, label, _ in q._edges:
        both.add_transition(position, previous, label, 0.0)
    for target, _, start, end in q._patterns:
        labels = names.get(target, (target,))
        both.add_pattern(labels, 0.0, None if start < 0 else start, None if end < 0 else end)
    for start, end, y, open_start, open_end in _forbidden_by(q):
        both.add(start, end, y, 0.0, open_start, open_end)
    if q._spans is not None:
        T, L, Y = q._spans.shape
        s, k, y = (axis.ravel() for axis in np.indices((T, L, Y)))
        fits = s + k < T
        both.add_many(s[fits], (s + k + 1)[fits], y[fits].astype(np.int32), 0.0)
    return both


def _forbidden_by(q: Potentials) -> Iterator[tuple[int, int, int, bool, bool]]:
    """List what q's constraints and bounds forbid, as potentials: start, end, label, open ends."""
    T, Y = q.length, len(q.labels)
    for start, end, y in q._forbidden:
        yield start, end, y, False, False
    for y in range(Y):
        bound = int(q._bounds[y])
        if bound:
            yield from ((s, s + bound + 1, y, False, True) for s in range(T - bound))
        for t in range(1, T):
            if q._boundary[t] & 1:  # forced: no segment may cross it
                yield t - 1, t + 1, y, True, True
            if q._boundary[t] & 2:  # barred: no segment may end there
                yield t - 1, t, y, True, False
    if q._allowed is not None:
        for t, y in np.argwhere(q._allowed == 0):
            yield int(t), int(t) + 1, int(y), True, True


def _paired(
    both: Potentials, q: Potentials, counts: _kernels.Posterior
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Pair the expected counts under p with p's and with q's scores."""
    pairs = counts.transitions
    q_transition = q.transition.copy()
    if not q.same_label_adjacent:
        np.fill_diagonal(q_transition, -np.inf)
    yield counts.tokens, both.emission, q.emission
    yield pairs, both.transition, q_transition
    yield counts.starts, both.start, q.start
    yield counts.ends, both.end, q.end
    if both._spans is not None:
        yield counts.spans, both._spans, np.zeros_like(both._spans)

    # In p + q, what p has comes first and is not in q; what follows has p's score 0 and q's score.
    def split(
        mine: list[float], theirs: list[float], expected: Floats
    ) -> tuple[Floats, Floats, Floats]:
        return (
            expected,
            np.array([*mine, *[0.0] * len(theirs)]),
            np.array([*[0.0] * len(mine), *theirs]),
        )

    theirs = [float(w) for chunk in q._added for w in chunk[3]]
    theirs += [-np.inf for _ in _forbidden_by(q)]
    if q._spans is not None:
        T, L, _ = q._spans.shape
        s, k = np.indices((T, L))
        theirs += list(q._spans[s + k < T].ravel())
    mine = [float(w) for chunk in both._added for w in chunk[3]]
    n_mine, n_all = len(mine) - len(theirs), len(mine)
    yield split(mine[:n_mine], theirs, counts.potentials[:n_all])

    edges, q_edges = [edge[3] for edge in both._edges], [edge[3] for edge in q._edges]
    yield split(edges[: len(edges) - len(q_edges)], q_edges, counts.edges)
    n_own = len(both._patterns) - len(q._patterns)
    for static in (True, False):
        chosen = [
            (i, w) for i, (_, w, s, e) in enumerate(both._patterns) if (s < 0 and e < 0) == static
        ]
        own = [w for i, w in chosen if i < n_own]
        other = [q._patterns[i - n_own][1] for i, _ in chosen if i >= n_own]
        expected = counts.patterns if static else counts.potentials[n_all : n_all + len(chosen)]
        yield split(own, other, expected)
