"""What the seed papers print: figures, worked examples, tables and lemmas.

Sarawagi 2019 (overlapping semi-CRF): Figure 1 with the term that its example leaves out.
Cuong, Ye, Lee and Chieu 2014 (high-order semi-CRF): Lemmas 1 and 2, and Appendix B with its
misprints corrected.
Positions in tests of the papers are theirs: 1..n, inclusive.
"""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from oracle import FAST, close, models

import caesura
from caesura import Potentials
from caesura.inference.definition import History, Model, log_sum
from caesura.inference.overlapping import Overlapping
from caesura.inference.recursions import (
    Lattice,
    State,
    backward_states,
    forward_states,
    longest_suffix,
)
from caesura.inference.reference import Enumeration

Floats = npt.NDArray[np.float64]

# -- Sarawagi 2019, Figure 1 -------------------------------------------------------------------

# (start, end, open start, open end), as named in the text ...
NAMED = {
    "3:>=5": (3, 5, False, True),
    "<=4:>=7": (4, 7, True, True),
    "4:7": (4, 7, False, False),
    "4:>=5": (4, 5, False, True),
    "<=6:7": (6, 7, True, False),
}
# ... and two that only the figure shows, which its A and B values need.
DRAWN = {"6:9": (6, 9, False, False), "3:6": (3, 6, False, False)}


def figure(*, drawn: bool) -> tuple[Overlapping, dict[str, Floats]]:
    """The potentials of the figure, with random scores of shape (Y,)."""
    rng = np.random.default_rng(1)
    p = Potentials(9, 2)
    p.transition[...] = rng.normal(size=(2, 2))
    p.start[...] = rng.normal(size=2)
    psi = {}
    for name, (start, end, open_start, open_end) in (NAMED | (DRAWN if drawn else {})).items():
        psi[name] = rng.normal(size=2)
        for y in range(2):
            p.add(start - 1, end, y, psi[name][y], open_start, open_end)
    return Overlapping(p), psi


def plus(*terms: Floats) -> Floats:
    return np.asarray(np.logaddexp.reduce(terms), np.float64)


def test_theta_of_a_segment_is_the_product_of_what_applies() -> None:
    published, psi = figure(drawn=True)
    expected = psi["4:>=5"] + psi["4:7"] + psi["<=4:>=7"] + psi["<=6:7"]
    assert close(published.theta[4, 7], expected)
    assert close([published.model.segment_score((y,), 3, 7) for y in (0, 1)], expected + START)


START = np.random.default_rng(1).normal(size=6)[4:]  # what figure() writes into start


def test_a_and_b_of_the_figure() -> None:
    named, _ = figure(drawn=False)
    assert named.A[6] == 3
    assert named.B[4] == 6
    drawn, _ = figure(drawn=True)
    assert (drawn.A[6], drawn.A[7], drawn.A[8]) == (3, 5, 5)
    assert drawn.B[4] == 7
    assert max(item.end - item.start for item in drawn.model.potentials) == 4  # m


def test_the_worked_alpha_7_has_four_direct_terms() -> None:
    published, psi = figure(drawn=True)
    hat, theta = published.alpha_hat, published.theta
    open_term = published.alpha_open[6] + psi["<=4:>=7"] + psi["<=6:7"]
    direct = [
        hat[4] + psi["4:>=5"] + psi["4:7"] + psi["<=4:>=7"] + psi["<=6:7"],
        hat[5] + psi["<=6:7"],
        hat[6] + psi["<=6:7"],
        hat[7],  # the term that the example leaves out: theta_{7:7} is 1
    ]
    assert close(theta[7, 7], np.zeros(2))
    assert published.terms[7] == 4
    assert close(published.alpha[7], plus(open_term, *direct))
    naive = plus(*(hat[i] + full_theta(published, i, 7) for i in range(1, 8)))
    assert close(published.alpha[7], naive)
    assert not close(plus(open_term, *direct[:3]), naive, tolerance=1e-3)
    lattice = Lattice(published.model.p)
    nodes = [(7, State((y,), frozenset(), ())) for y in (0, 1)]
    assert close(published.alpha[7], [lattice.alpha[node] for node in nodes])


def full_theta(published: Overlapping, start: int, end: int) -> Floats:
    """theta_{start:end} from first principles."""
    model = published.model
    scores = [model.segment_score((y,), start - 1, end) for y in range(2)]
    return np.array(scores) - model.p.start


def test_the_worked_open_alpha_7() -> None:
    published, psi = figure(drawn=True)
    hat = published.alpha_hat
    expected = plus(
        published.alpha_open[6] + psi["<=4:>=7"],
        hat[4] + psi["4:>=5"] + psi["<=4:>=7"],
        hat[5],
    )
    assert close(published.alpha_open[7], expected)


def test_the_worked_beta_3_reuses_what_lies_behind_b() -> None:
    """Eq. 12 at i = 3, where B(5) = 8: the terms 4:4 .. 4:7 are summed directly."""
    published, psi = figure(drawn=True)
    assert published.B[5] == 8
    beta, edge = published.beta, published.model.p.transition
    direct = [full_theta(published, 4, j) + beta[j] for j in range(4, 8)]
    open_term = psi["4:>=5"] + psi["<=4:>=7"] + published.beta_open[5]
    expected = plus(*direct, open_term)
    assert close(published.b[4], psi["4:>=5"] + psi["<=4:>=7"])
    assert close(beta[3], [log_sum(edge[y] + expected) for y in (0, 1)])
    naive = plus(*(full_theta(published, 4, j) + beta[j] for j in range(4, 10)))
    assert close(expected, naive)


@pytest.mark.parametrize("drawn", [False, True])
def test_the_figure_through_every_method(drawn: bool) -> None:
    published, _ = figure(drawn=drawn)
    p = published.model.p
    expected = Enumeration(p)
    assert close(published.log_partition, expected.log_partition)
    counts = expected.marginals().potentials
    assert close(published.expected(), counts)
    for method in FAST:
        assert close(caesura.log_partition(p, method=method), expected.log_partition)
        assert close(caesura.marginals(p, method=method).potentials, counts)


def test_width_one_needs_two_terms() -> None:
    """With j < i in the definition of A, m = 1 sums two terms and not one."""
    assert max(Overlapping(Potentials(5, 2)).terms) == 2


# -- Cuong et al. 2014: states and lemmas ------------------------------------------------------


def is_suffix(short: History, long: History) -> bool:
    return len(short) <= len(long) and long[len(long) - len(short) :] == short


def longest_suffixes(z: History, states: set[History]) -> list[History]:
    """All s in states that are a suffix of z and of which every other such suffix is a suffix."""
    suffixes = [s for s in states if is_suffix(s, z)]
    return [s for s in suffixes if all(is_suffix(other, s) for other in suffixes)]


N_LABELS = 3
labels = st.integers(0, N_LABELS - 1)
sequences = st.lists(labels, max_size=8).map(tuple)
pattern_sets = st.sets(st.lists(labels, min_size=1, max_size=5).map(tuple), max_size=6)


@given(pattern_sets, sequences, labels)
@settings(max_examples=150)
def test_lemma_1_a_b_c(Z: set[History], z: History, y: int) -> None:
    P = forward_states(Z, N_LABELS)
    (pk,) = longest_suffixes(z, P)  # (a): one, and only one
    assert pk == longest_suffix(z, P)
    (pi,) = longest_suffixes((*pk, y), P)
    assert longest_suffixes((*z, y), P) == [pi]  # (b)
    for za in Z:
        if is_suffix(za, (*z, y)):
            assert is_suffix(za, (*pk, y))  # (c)


@given(pattern_sets, sequences.filter(len), sequences, labels)
@settings(max_examples=150)
def test_lemma_2_a_b(Z: set[History], z1: History, z2: History, y: int) -> None:
    P = forward_states(Z, N_LABELS)
    S = backward_states(P, N_LABELS)
    (si,) = longest_suffixes(z1, S)
    assert len(longest_suffixes((*si, y), S)) == 1  # (a)
    for za in Z:
        if is_suffix(za, (*z1, *z2)):
            assert is_suffix(za, (*si, *z2))  # (b)


def sets_of(p: Potentials) -> tuple[Model, set[History], set[History]]:
    model = Model(p)
    P = forward_states(model.histories, model.n_labels)
    return model, P, backward_states(P, model.n_labels)


@given(models(min_length=1, rules=False))
@settings(max_examples=60)
def test_lemma_1_d(p: Potentials) -> None:
    """The score of a segmentation needs no more of its history than the forward state."""
    model, P, _ = sets_of(p)
    for path in Enumeration(p).paths[:50]:
        state: History = ()
        total = 0.0
        for start, end, y in path:
            total += model.segment_score((*state, y), start, end)
            state = longest_suffix((*state, y), P)
        assert close(total + p.end[path[-1][2]], model.score(path))


@given(models(min_length=2, rules=False), st.data())
@settings(max_examples=60)
def test_lemma_2_c(p: Potentials, data: st.DataObject) -> None:
    """What comes after some segments needs no more of them than the backward state."""
    model, _, S = sets_of(p)
    paths = [path for path in Enumeration(p).paths if len(path) > 1]
    if not paths:
        return
    path = data.draw(st.sampled_from(paths))
    cut = data.draw(st.integers(1, len(path) - 1))
    names = tuple(y for _, _, y in path)
    state = longest_suffix(names[:cut], S)
    for i in range(cut, len(path)):
        start, end, y = path[i]
        psi = model.segment_score((*state, y), start, end)
        assert close(psi, model.segment_score(names[: i + 1], start, end))
        state = longest_suffix((*state, y), S)


def conditional_beta(p: Potentials) -> dict[tuple[int, History], float]:
    """beta(j, s), section 2.3.2: all ways to go on from j after s; beta(n + 1, s) = 1 (the end)."""
    model, _, S = sets_of(p)
    n = p.length
    beta = {(n + 1, s): float(p.end[s[-1]]) for s in S}
    for j in range(n, 0, -1):
        for s in S:
            beta[j, s] = log_sum(
                [
                    model.segment_score((*s, y), j - 1, v) + beta[v + 1, longest_suffix((*s, y), S)]
                    for v, y in model.choices[j - 1]
                ]
            )
    return beta


@given(models(min_length=1, order=2, rules=False))
@settings(max_examples=40)
def test_conditional_beta_is_beta_at_the_state_it_leads_to(p: Potentials) -> None:
    model, P, S = sets_of(p)
    conditional = conditional_beta(p)
    lattice = Lattice(p, whole_patterns=False)
    for t, state in lattice.alpha:
        for s in S:
            if t > 0 and longest_suffix(s, P) == state.history:
                assert close(lattice.beta[t, state], conditional[t + 1, s])
    first = [
        model.segment_score((y,), 0, end) + conditional[end + 1, (y,)]
        for end, y in model.choices[0]
    ]
    assert close(log_sum(first), lattice.log_partition)


# -- Cuong et al. 2014, Appendix B -------------------------------------------------------------

P, O, L = 0, 1, 2  # noqa: E741 - the paper's labels: person, other, location
WORDS = ["Peter", "goes", "to", "Britain", "and", "France", "annually", "."]

TABLE_11: dict[History, list[int]] = {
    (P,): [1, 0, 0, 0, 0, 0, 0, 0],
    (O,): [0, 1, 1, 0, 1, 0, 1, 1],
    (L,): [0, 0, 0, 1, 0, 1, 0, 0],
    (L, O, L): [0, 0, 0, 0, 0, 1, 0, 0],
}

# ln alpha(j, p), rows j = 1..8.  Printed 3.87, 3.12 and 9.60 where 3.86, 3.10 and 9.59 are right.
TABLE_12: dict[History, list[float]] = {
    (): [-np.inf] * 8,
    (P,): [1.00, 1.55, 3.10, 4.65, 6.21, 7.76, 9.59, 11.14],
    (O,): [0.00, 2.31, 3.86, 4.42, 6.35, 7.52, 9.45, 11.91],
    (L,): [0.00, 1.55, 3.10, 5.65, 6.21, 9.21, 9.59, 11.14],
    (L, O): [-np.inf, 1.00, 2.55, 3.10, 6.65, 6.21, 10.21, 10.59],
}

# ln beta(j, s), rows j = 2..8 (row 1 has an empty left context, which is no backward state).
USUAL = [11.14, 9.59, 8.04, 6.21, 4.65, 3.10, 1.55]
AFTER_L = [11.14, 9.59, 8.04, 6.66, 4.65, 3.10, 1.55]
AFTER_LO = [11.14, 9.59, 8.04, 6.21, 5.34, 3.10, 1.55]
TABLE_13: dict[History, list[float]] = {
    (P,): USUAL,
    (O,): USUAL,
    (L,): AFTER_L,
    (P, P): USUAL,
    (P, O): USUAL,
    (P, L): AFTER_L,
    (O, P): USUAL,
    (O, O): USUAL,
    (O, L): AFTER_L,
    (L, P): USUAL,
    (L, O): AFTER_LO,
    (L, L): AFTER_L,
    (L, O, P): USUAL,
    (L, O, O): USUAL,
    (L, O, L): AFTER_L,
}

# P(j, j, z), rows j = 1..8
TABLE_14: dict[History, list[float]] = {
    (P,): [0.58, 0.21, 0.21, 0.16, 0.16, 0.16, 0.21, 0.21],
    (O,): [0.21, 0.58, 0.58, 0.16, 0.68, 0.16, 0.58, 0.58],
    (L,): [0.21, 0.21, 0.21, 0.68, 0.16, 0.68, 0.21, 0.21],
    (L, O, L): [0.00, 0.00, 0.03, 0.08, 0.01, 0.39, 0.01, 0.08],
}


def example() -> Potentials:
    """Segments of one token, a pattern at each place with its weight; zeros too, to be counted."""
    p = Potentials(8, ["P", "O", "L"], max_length=1, tokens=WORDS)
    for pattern, weights in TABLE_11.items():
        for t, weight in enumerate(weights):
            p.add_pattern(pattern, float(weight), start=t)
    return p


def printed(values: Sequence[float] | Floats) -> list[float]:
    """Round to the two digits of the tables, halves up."""
    return [float(v) if np.isinf(v) else np.floor(100 * v + 0.5) / 100 for v in values]


def test_states_of_appendix_b() -> None:
    states = forward_states(TABLE_11, 3)
    assert states == {(), (P,), (O,), (L,), (L, O)}
    assert backward_states(states, 3) == set(TABLE_13)
    assert len(TABLE_13) == 15


def test_table_12_by_the_recursion() -> None:
    lattice = Lattice(example(), whole_patterns=False)
    for history, column in TABLE_12.items():
        state = State(history, frozenset(), ())
        alpha = [lattice.alpha.get((j, state), -np.inf) for j in range(1, 9)]
        assert printed(alpha) == column
    assert lattice.alpha[lattice.first] == 0.0  # alpha(0, eps) = 1
    total = log_sum([a for (j, _), a in lattice.alpha.items() if j == 8])
    assert round(total, 3) == round(lattice.log_partition, 3) == 12.696


def test_table_13_by_conditional_beta() -> None:
    p = example()
    beta = conditional_beta(p)
    lattice = Lattice(p, whole_patterns=False)
    states = forward_states(TABLE_11, 3)
    for s, column in TABLE_13.items():
        assert printed([beta[j, s] for j in range(2, 9)]) == column
        leads_to = State(longest_suffix(s, states), frozenset(), ())
        for j in range(2, 9):
            if (j - 1, leads_to) in lattice.beta:
                assert close(lattice.beta[j - 1, leads_to], beta[j, s])


def test_the_five_pairs_of_alpha_6_l() -> None:
    states = forward_states(TABLE_11, 3)
    pairs = {(p, y) for p in states for y in (P, O, L) if longest_suffix((*p, y), states) == (L,)}
    assert pairs == {((), L), ((P,), L), ((O,), L), ((L,), L), ((L, O), L)}
    lattice = Lattice(example(), whole_patterns=False)
    alpha = {state.history: a for (j, state), a in lattice.alpha.items() if j == 5}
    terms = [alpha[(P,)] + 1, alpha[(O,)] + 1, alpha[(L,)] + 1, alpha[(L, O)] + 2]
    assert close(lattice.alpha[6, State((L,), frozenset(), ())], log_sum(terms))


def test_the_three_pairs_of_beta_5_ol() -> None:
    S = set(TABLE_13)
    pairs = {(longest_suffix((O, L, y), S), y) for y in (P, O, L)}
    assert pairs == {((L, P), P), ((L, O), O), ((L, L), L)}
    beta = conditional_beta(example())
    terms = [beta[6, (L, P)], beta[6, (L, O)] + 1, beta[6, (L, L)]]
    assert close(beta[5, (O, L)], log_sum(terms))


@pytest.mark.parametrize("method", ["reference", *FAST])
def test_log_partition_and_table_14(method: str) -> None:
    p = example()
    assert round(caesura.log_partition(p, method=method), 3) == 12.696
    m = caesura.marginals(p, method=method)
    assert round(m.log_partition, 3) == 12.696
    counts = np.reshape(m.patterns, (4, 8))
    for row, (pattern, column) in zip(counts, TABLE_14.items(), strict=True):
        assert printed(row) == column
        if len(pattern) == 1:
            assert printed([m.segment(t, t + 1, pattern[0]) for t in range(8)]) == column
            assert printed(m.tokens[:, pattern[0]]) == column


@pytest.mark.parametrize("method", ["reference", *FAST])
def test_the_predicate_at_every_position_is_another_model(method: str) -> None:
    """Table 10 read literally: the pattern LOL at every t gives 13.025, not what is printed."""
    p = Potentials(8, ["P", "O", "L"], max_length=1)
    p.emission[...] = np.array([TABLE_11[(P,)], TABLE_11[(O,)], TABLE_11[(L,)]]).T
    p.add_pattern(["L", "O", "L"], 1.0)
    assert round(caesura.log_partition(p, method=method), 3) == 13.025
    assert caesura.viterbi(p, method=method).score == 9.0


def test_equal_neighbours_of_the_experiments() -> None:
    """The paper's semi-CRFs have maximal segments: without equal neighbours 3 * 3^(n-1) remain."""
    p = Potentials(4, 3, same_label_adjacent=False)
    assert len(Enumeration(p).paths) == 81
    for method in FAST:
        assert close(caesura.log_partition(p, method=method), np.log(81))
