"""The reference against hand calculation, and its recursions against its enumeration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from oracle import check_marginals, close, models, pairs, random_model

import caesura
from caesura import ChainCRF, Potentials, Segment
from caesura.errors import Impossible, InvalidInput, TooLarge
from caesura.features import word
from caesura.inference import reference
from caesura.inference.definition import Model
from caesura.inference.overlapping import Overlapping
from caesura.inference.recursions import Automaton, Lattice, forward_states
from caesura.inference.reference import Enumeration

# -- the definition, by hand -------------------------------------------------------------------


def listed(p: Potentials) -> list[list[tuple[int | str, ...]]]:
    return [[tuple(s) for s in segments] for segments in reference.segmentations(p)]


def test_every_segmentation_is_listed_once_in_a_fixed_order() -> None:
    assert listed(Potentials(2, ["A", "B"])) == [
        [(0, 1, "A"), (1, 2, "A")],
        [(0, 1, "A"), (1, 2, "B")],
        [(0, 1, "B"), (1, 2, "A")],
        [(0, 1, "B"), (1, 2, "B")],
        [(0, 2, "A")],
        [(0, 2, "B")],
    ]
    assert listed(Potentials(0, ["A"])) == [[]]


@pytest.mark.parametrize(("T", "Y"), [(1, 1), (4, 2), (5, 3), (6, 2)])
def test_the_number_of_segmentations_has_a_closed_form(T: int, Y: int) -> None:
    p = Potentials(T, Y)
    assert reference.count_candidates(p) == len(listed(p)) == Y * (1 + Y) ** (T - 1)


@pytest.mark.parametrize(
    ("options", "rules", "expected"),
    [
        ({"max_length": 1}, {}, {"AA", "AB", "BA", "BB"}),
        ({"max_length": [1, None]}, {}, {"AA", "AB", "BA", "BB", "B-"}),
        ({"same_label_adjacent": False}, {}, {"AB", "BA", "A-", "B-"}),
        ({}, {"required": [(0, 1, "A")]}, {"AA", "AB"}),
        ({}, {"required": [(0, 2, "A")]}, {"A-"}),
        ({}, {"forbidden": [(0, 2, "A"), (0, 1, "B")]}, {"AA", "AB", "B-"}),
        ({}, {"boundaries": [1]}, {"AA", "AB", "BA", "BB"}),
        ({}, {"no_boundaries": [1]}, {"A-", "B-"}),
        ({}, {"boundaries": [1], "no_boundaries": [1]}, set()),
        ({}, {"allowed": {0: ["A"]}}, {"AA", "AB", "A-"}),
        ({}, {"allowed": {0: ["A"], 1: ["B"]}}, {"AB"}),
        ({}, {"at_most_once": ["A"]}, {"AB", "BA", "BB", "A-", "B-"}),
        ({}, {"exactly_once": ["A"]}, {"AB", "BA", "A-"}),
        ({}, {"ordered": ["B", "A"]}, {"AA", "BA", "BB", "A-", "B-"}),
        ({"max_length": 1}, {"required": [(0, 2, "A")]}, set()),
    ],
)
def test_rules(options: dict[str, object], rules: dict[str, object], expected: set[str]) -> None:
    """Two tokens: AB is two segments, A- is one."""
    p = Potentials(2, ["A", "B"], **options).constrain(**rules)  # type: ignore[arg-type]
    allowed = reference.segmentations(p)
    assert {
        "".join(str(s.label) for s in segments).ljust(2, "-") for segments in allowed
    } == expected
    every = [[(0, 1, a), (1, 2, b)] for a in "AB" for b in "AB"] + [[(0, 2, y)] for y in "AB"]
    for segments in every:
        name = "".join(label for _, _, label in segments).ljust(2, "-")
        assert reference.score(p, segments) == (0.0 if name in expected else -math.inf)


def test_each_array_is_scored_where_the_contract_says() -> None:
    p = Potentials(4, ["A", "B"], max_length=3)
    p.emission[...] = [[1, 2], [3, 4], [5, 6], [7, 8]]
    p.transition[...] = [[10, 20], [30, 40]]
    p.start[...] = [100, 200]
    p.end[...] = [1000, 2000]
    p.spans[1, 2, 1] = 10_000
    p.spans[1, 1, 1] = 5  # another segment
    first, second = p.emission[0, 0], p.emission[1:4, 1].sum()
    expected = 100 + first + 20 + second + 10_000 + 2000
    assert reference.score(p, [(0, 1, "A"), (1, 4, "B")]) == expected


@pytest.mark.parametrize(
    ("open_start", "open_end", "spans"),
    [
        (False, False, {(2, 4)}),
        (False, True, {(2, 4), (2, 5)}),
        (True, False, {(0, 4), (1, 4), (2, 4)}),
        (True, True, {(0, 4), (1, 4), (2, 4), (0, 5), (1, 5), (2, 5)}),
    ],
)
def test_a_potential_applies_by_its_open_ends(
    open_start: bool, open_end: bool, spans: set[tuple[int, int]]
) -> None:
    p = Potentials(5, ["A", "B"])
    p.add(2, 4, "A", 1.0, open_start, open_end)
    model = Model(p)
    applied = {
        (s, e)
        for s, e in itertools.combinations(range(6), 2)
        if model.segment_score((0,), s, e) == 1.0
    }
    assert applied == spans
    assert not any(model.segment_score((1,), s, e) for s, e in spans)


def test_histories_end_in_the_current_segment() -> None:
    p = Potentials(4, ["A", "B"])
    p.add(2, 3, ("A", "B"), 1.0, open_end=True)
    p.add_pattern(["A", "A", "B"], 10.0)
    p.add_pattern(["B"], 100.0, start=2)
    p.add_pattern(["A", "B"], 1000.0, end=4)
    p.add_transition(2, "A", "B", 10_000.0)
    assert reference.score(p, [(0, 1, "A"), (1, 2, "A"), (2, 4, "B")]) == 11_111.0
    assert reference.score(p, [(0, 2, "A"), (2, 4, "B")]) == 11_101.0
    assert reference.score(p, [(0, 2, "A"), (2, 3, "B"), (3, 4, "B")]) == 10_101.0
    assert reference.score(p, [(0, 3, "A"), (3, 4, "B")]) == 1000.0
    assert reference.score(p, [(0, 4, "B")]) == 0.0


def test_answers_of_two_segmentations_by_hand() -> None:
    p = Potentials(2, ["O", "A"]).constrain(allowed={0: ["A"]}, boundaries=[1], at_most_once=["A"])
    p.constrain(forbidden=[(1, 2, "A")])
    p.emission[1, 0] = 2.0
    only = [Segment(0, 1, "A"), Segment(1, 2, "O")]
    assert reference.log_partition(p) == 2.0
    assert reference.viterbi(p) == (only, 2.0)
    assert reference.entropy(p) == 0.0
    assert reference.minimum_risk(p) == (only, 1.0)
    assert reference.minimum_risk(p, outside="none") == (only, 2.0)
    m = reference.marginals(p)
    assert m.tokens.tolist() == [[0, 1], [1, 0]]
    assert m.boundaries.tolist() == [1, 1, 1]
    assert (m.starts.tolist(), m.ends.tolist()) == ([0, 1], [1, 0])
    assert m.transitions.tolist() == [[0, 0], [1, 0]]
    assert m.transition(1, "A", "O") == m.segment(1, 2, "O") == 1.0
    assert m.segments() == [(only[0], 1.0), (only[1], 1.0)]
    assert m.spans is None


def test_nothing_possible() -> None:
    p = Potentials(2, 2).constrain(boundaries=[1], no_boundaries=[1])
    for solved in (Enumeration(p), Lattice(p)):
        assert solved.log_partition == -math.inf
        with pytest.raises(Impossible, match="no segmentation"):
            solved.marginals()
        with pytest.raises(Impossible):
            solved.n_best(1)
        with pytest.raises(Impossible):
            solved.sample(1, 0)
    with pytest.raises(Impossible):
        reference.log_probability(p, [(0, 2, 0)])
    with pytest.raises(Impossible, match=r"^q: "):
        reference.kl_divergence(Potentials(2, 2), p)


def test_no_tokens() -> None:
    p = Potentials(0, ["A", "B"])
    assert reference.log_partition(p) == Lattice(p).log_partition == 0.0
    assert reference.viterbi(p) == Lattice(p).n_best(1)[0] == ([], 0.0)
    assert reference.marginals(p).boundaries.tolist() == [1.0]
    assert reference.entropy(p) == Lattice(p).entropy() == 0.0
    assert reference.log_partition(p.constrain(exactly_once=["A"])) == -math.inf
    assert Lattice(p).log_partition == -math.inf


def test_segments_must_cover_the_tokens() -> None:
    p = Potentials(3, ["A"])
    for segments in ([(0, 2, "A")], [(0, 1, "A"), (2, 3, "A")], [(0, 2, "A"), (1, 3, "A")], []):
        with pytest.raises(InvalidInput, match="cover the tokens 0 to 3"):
            reference.score(p, segments)


# -- the recursions against enumeration --------------------------------------------------------


@given(models(), st.booleans())
@settings(max_examples=150)
def test_the_recursion_agrees_with_enumeration(p: Potentials, whole_patterns: bool) -> None:
    every, lattice = Enumeration(p), Lattice(p, whole_patterns=whole_patterns)
    assert close(lattice.log_partition, every.log_partition)
    ends = [a + lattice._last(q) for (t, q), a in lattice.alpha.items() if t == p.length]
    assert close(np.logaddexp.reduce([-np.inf, *ends]), every.log_partition)
    assume(every.log_partition > -np.inf)
    check_marginals(lattice.marginals(), every.marginals())
    assert close(lattice.entropy(), every.entropy())
    expected = [score for _, score in every.n_best(20)]
    best = lattice.n_best(20)
    assert close([score for _, score in best], expected)
    assert len({tuple(segments) for segments, _ in best}) == len(best)
    assert close([reference.score(p, segments) for segments, _ in best], expected)
    risk = lattice.minimum_risk()
    assert close(risk[1], every.minimum_risk()[1])
    assert reference.score(p, risk[0]) > -np.inf
    assert all(reference.score(p, segments) > -np.inf for segments in lattice.sample(3, 0))


@given(models(rules=False, forbid=False))
@settings(max_examples=50)
def test_marginals_of_enumeration_are_consistent(p: Potentials) -> None:
    """X8: each token lies in one segment, and each segment starts once and ends once."""
    m = Enumeration(p).marginals()
    assert close(m.tokens.sum(axis=1), np.ones(p.length))
    assert close(m.boundaries[1:].sum(), m.transitions.sum() + m.starts.sum())
    assert close(sum(n for _, n in m.segments(0.0)), m.boundaries[1:].sum())
    assert m.potentials.shape == (len(Model(p).potentials),)


@given(pairs())
@settings(max_examples=80)
def test_kl_divergence(pair: tuple[Potentials, Potentials]) -> None:
    p, q = pair
    every_p, every_q = Enumeration(p), Enumeration(q)
    assume(every_p.log_partition > -np.inf and every_q.log_partition > -np.inf)
    q_of = dict(zip(every_q.paths, every_q.scores - every_q.log_partition, strict=True))
    terms = [
        np.exp(log_p) * (log_p - q_of.get(path, -np.inf))
        for path, log_p in zip(every_p.paths, every_p.scores - every_p.log_partition, strict=True)
        if log_p > -np.inf
    ]
    expected = sum(terms)
    assert close(reference.kl_divergence(p, q), expected)
    assert expected > -1e-9
    if not (q._constraints.once or q._constraints.ordered):
        by_arcs = reference._expected_score_by_arcs(p, q)
        assert close(by_arcs, reference._expected_score(every_p, Model(q)))


def test_sampling_follows_the_probabilities() -> None:
    p = random_model(3, T=3, Y=2, n_added=3)
    p.add_pattern([0, 1], 1.0)
    every = Enumeration(p)
    named = [tuple(every.model.named(path)) for path in every.paths]
    expected = dict(zip(named, every.probabilities, strict=True))
    for solved in (every, Lattice(p)):
        drawn = [tuple(segments) for segments in solved.sample(4000, seed=5)]
        assert drawn[:10] == [tuple(segments) for segments in solved.sample(10, seed=5)]
        chi2 = sum((drawn.count(s) - 4000 * n) ** 2 / (4000 * n) for s, n in expected.items())
        assert chi2 < 17 + 6 * math.sqrt(2 * 17)  # 18 segmentations


def test_large_inputs_go_through_the_recursion() -> None:
    p = random_model(0, T=30, Y=3, n_added=20)
    assert isinstance(reference.solve(p), Lattice)
    with pytest.raises(TooLarge, match="segmentations to list"):
        Enumeration(p)
    best = reference.viterbi(p)
    assert close(reference.score(p, best[0]), best[1])
    assert best[1] < reference.log_partition(p)
    q = random_model(1, T=30, Y=3, n_added=20)
    assert reference.kl_divergence(p, q) > 0
    assert close(reference.kl_divergence(p, p), 0, tolerance=1e-8)
    with pytest.raises(TooLarge, match="label rules"):
        reference.kl_divergence(p, q.constrain(at_most_once=[0]))
    with pytest.raises(TooLarge, match="use method='auto'"):
        reference.log_partition(Potentials(5000, 3))


def test_a_single_possible_segmentation_may_be_long() -> None:
    p = Potentials(300, 2, max_length=1).constrain(allowed={t: [t % 2] for t in range(300)})
    assert len(Enumeration(p).paths) == 1


def test_the_automaton_tells_apart_only_what_matters() -> None:
    p = Potentials(4, ["A", "B", "C"])
    p.add_pattern(["A", "B", "A"], 1.0)
    p.constrain(at_most_once=["C"], ordered=["A", "C"])
    automaton = Automaton(Model(p))
    assert automaton.histories == {(), (0,), (1,), (2,), (0, 1), (0, 1, 0)}
    state = automaton.initial
    for y in (0, 1, 0):
        step = automaton.step(state, y)
        assert step is not None
        state = step
    assert state.history == (0, 1, 0)
    after = automaton.step(state, 1)
    assert after is not None
    assert after.history == (0, 1)  # the last A may begin the pattern again
    third = automaton.step(after, 2)
    assert third is not None
    assert (third.history, third.used, third.places) == ((2,), frozenset({2}), (1,))
    assert automaton.step(third, 2) is None  # C twice
    assert automaton.step(third, 0) is None  # A after C
    assert automaton.step(third, 1) is not None


# -- the published overlapping algorithm -------------------------------------------------------


@given(models(min_length=1, order=0, bounded=False, rules=False, forbid=True))
@settings(max_examples=120)
def test_the_published_algorithm_agrees_with_enumeration(p: Potentials) -> None:
    every, published = Enumeration(p), Overlapping(p)
    assert close(published.log_partition, every.log_partition)
    assert close(published.log_partition_backward, every.log_partition)
    assume(every.log_partition > -np.inf)
    assert close(published.expected(), every.marginals().potentials)
    assert close(Overlapping(p, np.maximum).log_partition, every.n_best(1)[0][1])


def widest(p: Potentials) -> int:
    return max([1, *(item.end - item.start for item in Model(p).potentials)])


@given(models(min_length=1, order=0, bounded=False, rules=False))
@settings(max_examples=60)
def test_cost_of_the_published_algorithm(p: Potentials) -> None:
    """S21: at most max(m, 2) summed terms per position, each potential read at most twice."""
    published = Overlapping(p)
    assert max(published.terms) <= max(widest(p), 2)
    n_potentials = len(Model(p).potentials) + p.length * len(p.labels)
    assert published.touched <= 2 * n_potentials


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_cost_does_not_grow_with_the_length(m: int) -> None:
    for T in (20, 80):
        p = Potentials(T, 2)
        for t in range(T - m + 1):
            p.add(t, t + m, t % 2, 0.1, open_start=t % 3 == 0, open_end=t % 5 == 0)
        published = Overlapping(p)
        assert max(published.terms) == max(m, 2)
        assert len(published.theta) <= max(m, 2) * T
        assert published.touched <= 2 * (2 * T + T)
        assert close(published.log_partition, Lattice(p).log_partition)


def test_an_old_feature_fires_on_many_segments() -> None:
    """S22: the old algorithm looks at a potential <=s:>=s+l-1 once for each segment around it."""
    for L in range(1, 9):
        for width in range(1, L + 1):
            p = Potentials(3 * L, 1, max_length=L)
            p.add(L, L + width, 0, 1.0, open_start=True, open_end=True)
            model = Model(p)
            fired = [
                (s, e)
                for s, choices in enumerate(model.choices)
                for e, _ in choices
                if model.potentials[0].applies((0,), s, e)
            ]
            assert len(fired) == (L - width + 1) * (L - width + 2) // 2


def test_the_published_algorithm_says_what_it_needs() -> None:
    for p in (Potentials(0, 1), Potentials(2, 2, max_length=1)):
        with pytest.raises(InvalidInput, match="as in the paper"):
            Overlapping(p)
    p = Potentials(2, 2)
    p.add_pattern([0, 1], 1.0)
    with pytest.raises(InvalidInput, match="histories"):
        Overlapping(p)


def test_forward_states_hold_every_label_and_proper_prefix() -> None:
    assert forward_states([], 2) == {(), (0,), (1,)}
    assert forward_states([(1, 1, 0)], 2) == {(), (0,), (1,), (1, 1)}


RULES: list[dict[str, Any]] = [
    {"at_most_once": ["A"]},
    {"exactly_once": ["B"]},
    {"ordered": ["B", "A"]},
    {"at_most_once": ["B"], "ordered": ["A", "B"]},
]


@pytest.mark.parametrize("scheme", ["BIO", "IO", "BIOES"])
@pytest.mark.parametrize("rules", RULES)
def test_rules_about_the_segments_of_tags(scheme: str, rules: dict[str, Any]) -> None:
    """The definition, its recursion and the kernels agree on chains whose tags encode segments."""
    X = [["a", "b", "a", "b"], ["b", "a"], ["a", "b", "b"], ["c"]]
    y = [[(0, 1, "A"), (1, 2, "B"), (2, 3, "A")], [(0, 1, "B"), (1, 2, "A")], [(1, 3, "B")], []]
    model = ChainCRF([word[0]], scheme=scheme, max_iterations=3).fit(X, y)
    for tokens in ("ab", "abca", "bbcab"):
        p = model.potentials(list(tokens), rules)
        assert "rules about the segments of tags: " in str(p)
        log_z = caesura.log_partition(p)
        assert caesura.log_partition(p, method="reference") == pytest.approx(log_z, abs=1e-9)
        assert Lattice(p).log_partition == pytest.approx(log_z, abs=1e-9)
        best, listed = caesura.viterbi(p), caesura.viterbi(p, method="reference")
        assert caesura.score(p, listed.segments) == pytest.approx(best.score, abs=1e-9)
        assert listed.score == pytest.approx(best.score, abs=1e-9)
        free = model.potentials(list(tokens))
        assert log_z <= caesura.log_partition(free) + 1e-12


def test_rules_about_tags_and_about_their_segments_are_not_mixed() -> None:
    model = ChainCRF([word[0]], scheme="BIO").fit([["a", "b"]], [[(0, 2, "A")]])
    p = model.potentials(["a", "b"], {"at_most_once": ["A"]})
    with pytest.raises(InvalidInput, match=r"constrain: got .*rules of both kinds"):
        p.constrain(at_most_once=["I-A"])
    assert caesura.log_partition(p) > -np.inf
    free = model.potentials(["a", "b"], {"forbidden": [(0, 1, "A")]}).constrain(
        at_most_once=["I-A"]
    )
    for method in ("auto", "reference"):
        assert caesura.log_partition(free, method=method) > -np.inf
