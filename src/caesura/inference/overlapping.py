"""The overlapping algorithm as published (Sarawagi 2019, section 3), with errors corrected.

A twin of the kernel for reading and for testing: first-order models without bounds or constraints.
Positions are those of the paper, 1..n and inclusive, so that its figures can be checked: the
potential with the core span [s, e) is psi_{s+1:e} here.  Everything is a log.

    theta_{s:e}   the potentials that apply to the segment s:e
    A(i)          the largest j < i such that every potential that starts at or before j ends by i
    B(i)          the smallest j >= i such that no potential that ends at or after j starts before i
    alphahat_i    all segmentations of 1..i-1, with the transition into a segment that starts at i
    alpha_i       all segmentations of 1..i
    alphaP_i      the same, whose last segment starts at or before A(i) and goes on after i
    betaP_i       all ways to end a segment at or after B(i) that starts before i

For starts up to A(i - 1) what happens at i does not depend on the start, so one open term stands
for them all, and at most max(m, 2) others are summed, where m is the widest potential.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput
from caesura.inference.definition import Model, Potential
from caesura.potentials import Potentials

__all__ = ["Overlapping"]

Floats = npt.NDArray[np.float64]
Plus = Callable[[Floats, Floats], Floats]


class Overlapping:
    """Forward, backward and marginals of a first-order model with open-ended potentials.

    Parameters
    ----------
    p : Potentials
        Potentials without bounds, constraints and label histories.
    plus : function of two arrays
        ``np.logaddexp`` for sums, ``np.maximum`` for the best score.

    Attributes
    ----------
    A, B : lists
        ``A[i]`` for i = 0..n, ``B[i]`` for i = 1..n + 1; ``B[0]`` is not used.
    alpha, alpha_hat, alpha_open, beta, beta_open : arrays of shape (n + 2, Y)
        Rows are positions; rows that the paper does not define are ``-inf``.
    theta : dict from (start, end) to array of shape (Y,)
        Computed for the pairs with ``A(end - 1) < start`` only.
    terms : list
        Number of terms summed directly into ``alpha[i]``.
    touched : int
        Number of times that the two passes read a potential.
    log_partition, log_partition_backward : float
        Computed by the forward and by the backward pass; equal.
    """

    def __init__(self, p: Potentials, plus: Plus = np.logaddexp) -> None:
        self.model = Model(p)
        self.plus = plus
        self.n, self.Y = n, Y = p.length, self.model.n_labels
        self._check(p)
        tokens = [
            Potential(t, t + 1, (y,), float(p.emission[t, y]), True, True)
            for t in range(n)
            for y in range(Y)
        ]
        self.potentials = [*tokens, *self.model.potentials]
        self.psi: dict[tuple[int, int, bool, bool], list[Potential]] = {}
        for item in self.potentials:
            key = (item.start + 1, item.end, item.open_start, item.open_end)
            self.psi.setdefault(key, []).append(item)
        self.A = [self._a(i) for i in range(n + 1)]
        self.B = [0, *(self._b(i) for i in range(1, n + 2))]
        self.theta: dict[tuple[int, int], Floats] = {}
        self.terms = [0] * (n + 1)
        self.touched = 0
        self._mu: dict[tuple[int, int, bool, bool], Floats] = {}
        self._forward()
        self._backward()

    def _check(self, p: Potentials) -> None:
        parts, held = p.parts, p.parts.constraints
        ruled = held.forbidden or held.once or held.ordered or held.tables
        histories = parts.histories or parts.patterns
        if (
            ruled
            or held.allowed is not None
            or histories
            or held.boundary.any()
            or parts.bounds.any()
            or not self.n
        ):
            raise InvalidInput(
                place="p",
                expected="one token or more, and no bounds, constraints or label histories, as "
                "in the paper",
                remedy="use caesura.log_partition",
            )

    def _a(self, i: int) -> int:
        late = [item.start + 1 for item in self.potentials if item.end > i]
        return max(0, min([i - 1, *(start - 1 for start in late)]))

    def _b(self, i: int) -> int:
        early = [item.end for item in self.potentials if item.start + 1 < i]
        return max([i, *(end + 1 for end in early)])

    def _edge(self, i: int) -> Floats:
        """Scores of shape (Y, Y) between a segment that ends at i - 1 and one that starts at i."""
        edge = self.model.p.transition.copy()
        if not self.model.p.same_label_adjacent:
            np.fill_diagonal(edge, -np.inf)
        for item in self.model.edges:
            if item.position + 1 == i:
                edge[item.previous, item.label] += item.score
        return edge

    def _get(self, start: int, end: int, open_start: bool, open_end: bool) -> Floats:
        """Return the potentials of one kind with this core, and count them."""
        items = self.psi.get((start, end, open_start, open_end), [])
        self.touched += len(items)
        total = np.zeros(self.Y)
        for item in items:
            total[item.labels[0]] += item.score
        return total

    def _sum(self, rows: Floats) -> Floats:
        """Sum out the first axis."""
        total = np.full(self.Y, -np.inf)
        for row in rows:
            total = self.plus(total, row)
        return total

    def _total(self, row: Floats) -> float:
        return float(self.plus.reduce(row))  # type: ignore[attr-defined]

    # -- forward pass --------------------------------------------------------------------------

    def _forward(self) -> None:
        n, A, plus = self.n, self.A, self.plus
        zeros = np.zeros(self.Y)
        self.alpha, self.alpha_hat, self.alpha_open = (
            np.full((n + 2, self.Y), -np.inf) for _ in range(3)
        )
        self.alpha_hat[1] = self.model.p.start
        # Sums over the potentials with an open end that were read so far, by the start k of the
        # core.
        starting = dict.fromkeys(range(1, n + 1), zeros)  # sum of psi_{k:>=j}, j <= i
        inside = dict.fromkeys(range(1, n + 1), zeros)  # sum of psi_{<=k:>=j}, j <= i
        self.a, self.a_beyond = np.zeros((2, n + 2, self.Y))
        for i in range(1, n + 1):
            before = zeros  # theta_{<k+1:i}
            beyond = zeros  # theta_{<k+1:>i}
            for k in range(i, A[i - 1], -1):
                # theta_{k:i} and theta_{<k:i}, from theta_{<k+1:i} and potentials that start at k.
                ends_here = self._get(k, i, True, False)
                goes_on = self._get(k, i, True, True)
                inside[k] = inside[k] + goes_on
                starting[k] = starting[k] + self._get(k, i, False, True)
                self.theta[k, i] = (
                    before + inside[k] + ends_here + starting[k] + self._get(k, i, False, False)
                )
                self.alpha[i] = plus(self.alpha[i], self.alpha_hat[k] + self.theta[k, i])
                self.terms[i] += 1
                if k <= A[i]:  # start k enters the open term
                    theta_beyond = beyond + inside[k] + starting[k]
                    self.alpha_open[i] = plus(self.alpha_open[i], self.alpha_hat[k] + theta_beyond)
                before = before + inside[k] + ends_here
                beyond = beyond + inside[k]
                self.a[i] += ends_here + goes_on
                self.a_beyond[i] += goes_on
            # alpha_i += alphaP_{i-1} a_i;  alphaP_i += alphaP_{i-1} a_{>i}
            self.alpha[i] = plus(self.alpha[i], self.alpha_open[i - 1] + self.a[i])
            self.alpha_open[i] = plus(self.alpha_open[i], self.alpha_open[i - 1] + self.a_beyond[i])
            if i < n:
                self.alpha_hat[i + 1] = self._sum(self.alpha[i][:, None] + self._edge(i + 1))
        self.log_partition = self._total(self.alpha[n] + self.model.p.end)

    # -- backward pass -------------------------------------------------------------------------

    def _backward(self) -> None:
        n, B, plus = self.n, self.B, self.plus
        self.beta, self.beta_open = (np.full((n + 2, self.Y), -np.inf) for _ in range(2))
        self.b, self.b_before = np.zeros((2, n + 2, self.Y))
        zeros = np.zeros(self.Y)
        inside = dict.fromkeys(range(1, n + 1), zeros)  # sum of psi_{<=k:>=j}, k >= i
        ending = dict.fromkeys(range(1, n + 1), zeros)  # sum of psi_{<=k:j}, k >= i
        self.beta[n] = self.model.p.end
        for i in range(n, 0, -1):
            total = np.full(self.Y, -np.inf)
            shared = zeros  # sum of psi_{<=k:>=l}, k >= i and i <= l <= j
            for j in range(i, B[i + 1]):
                # theta_{<i:j} = shared + ending[j]: potentials with an open start at i or later.
                goes_on = self._get(i, j, True, True)
                inside[j] = inside[j] + goes_on
                ending[j] = ending[j] + self._get(i, j, True, False)
                self.b[i] += goes_on + self._get(i, j, False, True)
                self.b_before[i] += goes_on
                shared = shared + inside[j]
                total = plus(total, self.theta[i, j] + self.beta[j])
                if j >= B[i]:
                    self.beta_open[i] = plus(self.beta_open[i], shared + ending[j] + self.beta[j])
            # total += b_i betaP_{i+1};  betaP_i += b_{<i} betaP_{i+1}
            total = plus(total, self.b[i] + self.beta_open[i + 1])
            self.beta_open[i] = plus(self.beta_open[i], self.b_before[i] + self.beta_open[i + 1])
            if i > 1:
                self.beta[i - 1] = self._sum((self._edge(i) + total).T)
        self.log_partition_backward = self._total(self.model.p.start + total)

    # -- marginals -------------------------------------------------------------------------------

    @cached_property
    def _carried(self) -> Floats:
        """C_s = C_{s-1} b_{<s} + alphahat_s b_s, accumulated and never divided out."""
        carried = np.full((self.n + 1, self.Y), -np.inf)
        for s in range(1, self.n + 1):
            carried[s] = self.plus(carried[s - 1] + self.b_before[s], self.alpha_hat[s] + self.b[s])
        return carried

    def mu(self, start: int, end: int, open_start: bool, open_end: bool) -> Floats:
        """Return the log of the unnormalised marginal of a potential, of shape (Y,).

        Each is one step from a neighbour's, so all of them cost one step for each pair in `theta`.
        """
        key = (start, end, open_start, open_end)
        if key not in self._mu:
            self._mu[key] = self._mu_step(*key)
        return self._mu[key]

    def _mu_step(self, s: int, e: int, open_start: bool, open_end: bool) -> Floats:
        mu: Floats
        if open_end and e == self.B[s + 1]:
            left = self._carried[s] if open_start else self.alpha_hat[s] + self.b[s]
            mu = left + self.beta_open[s + 1]
        elif open_end:  # mu_{s:>=e} = mu_{s:>=e+1} + mu_{s:e}, for a closed or an open start
            mu = self.plus(self.mu(s, e + 1, open_start, True), self.mu(s, e, open_start, False))
        elif open_start and s == self.A[e - 1]:
            mu = self.alpha_open[e - 1] + self.a[e] + self.beta[e]
        elif open_start:  # mu_{<=s:e} = mu_{<=s-1:e} + mu_{s:e}
            mu = self.plus(self.mu(s - 1, e, True, False), self.mu(s, e, False, False))
        else:
            mu = self.alpha_hat[s] + self.theta[s, e] + self.beta[e]
        return mu

    def expected(self) -> Floats:
        """Return the expected count of each potential, in the order of adding."""
        counts = [
            self.mu(item.start + 1, item.end, item.open_start, item.open_end)[item.labels[0]]
            for item in self.model.potentials
        ]
        return np.exp(np.array(counts, np.float64) - self.log_partition)
