"""The best segmentation without a segment, and segmentations that several tag sequences spell."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from oracle import Draw, close, fill, models
from toys import addresses, tag_paths

import caesura
from caesura import ChainCRF, Potentials, Segment, SemiCRF, _kernels
from caesura.errors import Impossible, TooLarge
from caesura.features import Length, first, lower, shape, window
from caesura.inference.alternatives import best_without, n_best_spelled
from caesura.inference.reference import segmentations
from caesura.models.rules import Rules
from caesura.models.schemes import TagSet
from caesura.models.tag_rules import keep_rules

Said = tuple[tuple[int, int, int], ...]
X, Y = addresses(40, seed=1)
SCHEMES = {
    "BIO": ("B-x", "I-x", "B-y", "I-y", "O"),
    "IOB1": ("B-x", "I-x", "I-y", "O"),
    "BIOES": ("B-x", "I-x", "E-x", "S-x", "O"),
    "plain": ("x", "y", "O"),
    "IOE1": ("E-x", "I-x", "I-y", "O"),
    "IOE2": ("E-x", "I-x", "E-y", "O"),
}


def plain_reading(Y: int) -> _kernels.Reading:
    """Every label stands for itself."""
    return _kernels.Reading(np.arange(Y, dtype=np.int32), None)


# -- without a segment -----------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(models(min_length=1), st.data())
def test_the_best_without_a_segment(p: Potentials, data: st.DataObject) -> None:
    """Against the list of all segmentations, for the segments of any of them."""
    every = [(caesura.score(p, some), some) for some in segmentations(p)]
    every = [(score, some) for score, some in every if score > -np.inf]
    if not every:
        return
    path = caesura.viterbi(p).segments
    asked = data.draw(st.sampled_from([path, *(some for _, some in every[:20])]))
    asked = [s for s in asked if data.draw(st.booleans()) or len(asked) == 1]
    index = {label: y for y, label in enumerate(p.labels)}
    numbered = [(start, end, index[label]) for start, end, label in asked]
    found = best_without(p, path, numbered, plain_reading(len(p.labels)))
    for segment, detour in zip(asked, found, strict=True):
        expected = max((score for score, some in every if segment not in some), default=None)
        assert (detour is None) == (expected is None)
        if detour is not None and expected is not None:
            other = detour.applied_to(path)
            assert segment not in other
            assert close(caesura.score(p, other), expected)


@st.composite
def chains(draw: Draw) -> tuple[Potentials, TagSet, Rules]:
    """A chain over the tags of a scheme where all tag sequences are possible, with rules."""
    scheme = draw(st.sampled_from(sorted(SCHEMES)))
    states = SCHEMES[scheme]
    T = draw(st.integers(1, 5 if len(states) < 5 else 4))
    p = Potentials(T, list(states), max_length=1)
    fill(p, draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([1.0, 5.0])), 0.1)
    tags = TagSet(states, scheme, "O")
    labels = st.sampled_from([*tags.labels, "O"])
    if T > 1 and draw(st.booleans()):
        before, after = draw(st.tuples(*[st.sampled_from(states)] * 2))
        p.add_transition(draw(st.integers(1, T - 1)), before, after, draw(st.floats(-3, 3)))
    if draw(st.booleans()):
        p.add_pattern([draw(st.sampled_from(states)) for _ in range(3)], draw(st.floats(-3, 3)))
    start = draw(st.integers(0, T - 1))
    segment = (start, draw(st.integers(start + 1, T)), draw(st.sampled_from(tags.labels)))
    rules = Rules(
        forbidden=draw(st.sampled_from([(), (segment,)])),
        at_most_once=tuple(draw(st.sets(labels, max_size=2))),
        exactly_once=tuple(draw(st.sets(st.sampled_from(tags.labels), max_size=1))),
        ordered=draw(st.sampled_from([(), tags.labels])),
    )
    if draw(st.booleans()):
        rules = Rules()
    keep_rules(p, tags, rules, "constraints")
    return p, tags, rules


def said_by(tags: TagSet, path: Any) -> Said:
    """The segments that tags spell, by the number of their label, from pairs of tags alone."""
    out: list[list[int]] = []
    for t, k in enumerate(path):
        if t and tags.joined[path[t - 1], k]:
            out[-1][1] = t + 1
        elif tags.label[k] >= 0:
            out.append([t, t + 1, int(tags.label[k])])
    return tuple((start, end, label) for start, end, label in out)


def scored_paths(p: Potentials) -> list[tuple[float, tuple[int, ...]]]:
    """All tag sequences that are possible."""
    out = []
    for path in product(range(len(p.labels)), repeat=p.length):
        score = caesura.score(p, [(t, t + 1, k) for t, k in enumerate(path)])
        if score > -np.inf:
            out.append((score, path))
    return out


@settings(max_examples=250, deadline=None)
@given(chains())
def test_spelled_segmentations_sum_over_their_tags(case: tuple[Potentials, TagSet, Rules]) -> None:
    p, tags, rules = case
    weights: dict[Said, float] = defaultdict(lambda: -math.inf)
    for score, path in scored_paths(p):
        said = said_by(tags, path)
        weights[said] = float(np.logaddexp(weights[said], score))
    [found] = n_best_spelled([p], tags.reading, 10_000, 1)
    assert close([weight for _, weight in found], sorted(weights.values(), reverse=True))
    assert {tuple(said) for said, _ in found} == set(weights)
    for segments, weight in found:
        assert close(weights[tuple(segments)], weight)
        named = [Segment(start, end, tags.labels[k]) for start, end, k in segments]
        assert rules.kept_by(named, p.length, "O")
    [few] = n_best_spelled([p], tags.reading, 3, 1)
    assert close([weight for _, weight in few], [weight for _, weight in found[:3]])


@settings(max_examples=250, deadline=None)
@given(chains())
def test_the_best_tags_without_a_segment(case: tuple[Potentials, TagSet, Rules]) -> None:
    p, tags, _ = case
    every = [(score, said_by(tags, path)) for score, path in scored_paths(p)]
    if not every:
        return
    path = caesura.viterbi(p).segments
    for asked in {said for _, said in every[:10]} | {max(every)[1]}:
        found = best_without(p, path, asked, tags.reading)
        for segment, detour in zip(asked, found, strict=True):
            expected = max((score for score, said in every if segment not in said), default=None)
            assert (detour is None) == (expected is None)
            if detour is not None and expected is not None:
                other = detour.applied_to(path)
                assert segment not in said_by(tags, [p.labels.index(s.label) for s in other])
                assert close(caesura.score(p, other), expected)


def test_rules_about_tags_are_kept_tag_by_tag() -> None:
    """Of two tag sequences with one reading, a rule about tags may forbid only one."""
    tags = TagSet(SCHEMES["BIO"], "BIO", "O")
    p = Potentials(3, list(SCHEMES["BIO"]), max_length=1)
    fill(p, 3, 1.0, 0.0)
    p.constrain(at_most_once=["I-x", "O"])
    weights: dict[Said, float] = defaultdict(lambda: -math.inf)
    for score, path in scored_paths(p):
        said = said_by(tags, path)
        weights[said] = float(np.logaddexp(weights[said], score))
    [found] = n_best_spelled([p], tags.reading, 1000, 1)
    assert close([weight for _, weight in found], sorted(weights.values(), reverse=True))


def test_limits_that_few_answers_break() -> None:
    """With many limited labels, each answer tracks only the limits that it must."""
    p = Potentials(8, 14, max_length=3)
    fill(p, 5, 2.0, 0.0)
    p.constrain(at_most_once=range(14))
    path = caesura.viterbi(p).segments
    numbered = [(start, end, int(label)) for start, end, label in path]
    for segment, detour in zip(
        path, best_without(p, path, numbered, plain_reading(14)), strict=True
    ):
        assert detour is not None
        other = detour.applied_to(path)
        forbidden = caesura.viterbi(p.copy().constrain(forbidden=[segment]))
        assert segment not in other
        assert close(caesura.score(p, other), forbidden.score)


# -- models ----------------------------------------------------------------------------------------

TOKENS = [*window(lower, -1, 1), shape[0]]
FITTED: dict[str, Callable[[], Any]] = {
    "semi": lambda: SemiCRF([*TOKENS, first(lower[0]), Length(exact=(1, 2), at_least=3)]),
    "semi, order 2": lambda: SemiCRF(TOKENS, order=2),
    "semi, bounded": lambda: SemiCRF(TOKENS, max_length="observed", outside_length=None),
    "chain": lambda: ChainCRF(TOKENS),
    "chain, never": lambda: ChainCRF(TOKENS, scheme="BIOES", forbid_invalid="never", order=2),
}


@pytest.mark.parametrize("kind", FITTED)
@pytest.mark.parametrize("rules", [None, {"at_most_once": ["town", "street"]}])
def test_explanations_name_the_best_answer_without_a_segment(kind: str, rules: Any) -> None:
    """Against the search for the best answer in which the segment is forbidden."""
    model = FITTED[kind]().fit(X, Y)
    x = [token for tokens in X[:3] for token in tokens]
    asked = next(model._asked([x], rules))
    [p], best = asked.potentials, model.predict([x], rules)[0]
    said = model.explain(x, rules)
    assert [why.segment for why in said] == best
    best_score = caesura.viterbi(p).score
    for why in said:
        q = p.copy()
        model.coding.constrain(q, Rules(forbidden=(why.segment,)), "constraints", model._known)
        try:
            other = caesura.viterbi(q)
        except Impossible:
            assert why.margin == np.inf
            assert why.runner_up == []
            continue
        assert close(why.margin, best_score - other.score)
        new = set(model._named(other.segments)) - set(best)
        if best_score - other.score > 1e-6 and len(caesura.n_best(q, 2)) == 2:
            first_score, second_score = (path.score for path in caesura.n_best(q, 2))
            if first_score - second_score > 1e-6:
                assert set(why.runner_up) == new


def test_long_chains_do_not_underflow() -> None:
    model = ChainCRF(TOKENS, forbid_invalid="never", c2=5.0).fit(X, Y)
    short = [token for tokens in X for token in tokens][:40]
    x = short * 60
    ranked = model.predict_n_best([x], 5)[0]
    assert len({tuple(segments) for segments, _ in ranked}) == 5
    p = model.potentials(x)
    [again] = n_best_spelled([p], model.coding.tag_set(model._known).reading, 5, 1)
    weights = [weight for _, weight in again]
    assert weights == sorted(weights, reverse=True)
    assert all(weight <= caesura.log_partition(p) for weight in weights)
    # A segmentation weighs at least as much as each of its tag sequences.
    assert weights[0] >= caesura.viterbi(p).score - 1e-6


def test_what_is_very_improbable_is_still_listed() -> None:
    p = Potentials(2, ["B-x", "O"], max_length=1)
    p.emission[:, 0] = -2000.0
    tags = TagSet(("B-x", "O"), "BIO", "O")
    [found] = n_best_spelled([p], tags.reading, 10, 1)
    assert [weight for _, weight in found] == [0.0, -2000.0, -2000.0, -4000.0]


def test_a_search_that_explodes_says_why() -> None:
    """All tag sequences weigh nearly the same, and no two prefixes have the same beliefs."""
    tags = TagSet(SCHEMES["BIOES"], "BIOES", "O")
    p = Potentials(400, list(SCHEMES["BIOES"]), max_length=1)
    rng = np.random.default_rng(0)
    p.emission[:] = rng.normal(size=p.emission.shape) * 0.1
    p.emission[:, -1] = -50.0
    p.transition[:] = rng.normal(size=p.transition.shape) * 0.1
    with pytest.raises(TooLarge, match=r"^n: the search .* of 400 tokens passed its limit of"):
        n_best_spelled([p], tags.reading, 3, 1)


def test_neighbours_of_a_difference_are_read_again() -> None:
    """A tag that changes may join or part the segments beside it."""
    for path in tag_paths(4, 3):
        tags = TagSet(("B-x", "I-x", "O"), "BIO", "O")
        assert [tuple(s)[:2] for s in tags.segments(list(path), 7)] == [
            (start + 7, end + 7) for start, end, _ in said_by(tags, path)
        ]
        assert all(a.end <= b.start for a, b in pairwise(tags.segments(list(path))))
