"""Segment scores against seqeval and by hand, and the significance of a difference."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import classification_report
from seqeval.scheme import IOB2

from caesura.errors import InvalidInput
from caesura.evaluation import Score, compare, evaluate, segment_counts, sequence_counts
from caesura.segments import Segment, fill_gaps, from_tags

TAGS = ["O", *(f"{letter}-{label}" for letter in "BI" for label in ("PER", "LOC", "A-B"))]


def random_tags(seed: int, n: int = 60) -> list[list[str]]:
    random = np.random.default_rng(seed)
    return [random.choice(TAGS, random.integers(1, 12)).tolist() for _ in range(n)]


def mixed(gold: list[list[str]], seed: int) -> list[list[str]]:
    """Return tags that are often the gold ones."""
    random = np.random.default_rng(seed)
    return [
        [str(random.choice(TAGS)) if random.random() < 0.2 else tag for tag in tags]
        for tags in gold
    ]


def segments_of(tags: list[list[str]]) -> list[list[Segment]]:
    return [from_tags(sequence, "BIO", repair="repair") for sequence in tags]


# ---- scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_same_as_seqeval(seed: int) -> None:
    gold = random_tags(seed)
    predicted = mixed(gold, seed + 100)
    theirs = classification_report(gold, predicted, output_dict=True, zero_division=0)
    check_equal(segments_of(gold), segments_of(predicted), theirs)


@pytest.mark.parametrize("seed", range(5))
def test_the_same_as_seqeval_strict_on_well_formed_tags(seed: int) -> None:
    gold, predicted = (
        [[t.replace("I-", "B-") for t in s] for s in random_tags(k)] for k in (seed, seed)
    )
    predicted = [[("O" if i % 4 == seed % 4 else t) for i, t in enumerate(s)] for s in predicted]
    theirs = classification_report(
        gold, predicted, output_dict=True, zero_division=0, mode="strict", scheme=IOB2
    )
    check_equal(segments_of(gold), segments_of(predicted), theirs)


def check_equal(gold: Any, predicted: Any, theirs: Any) -> None:
    report = evaluate(gold, predicted)
    rows: dict[str, Any] = {"micro avg": report.micro, "macro avg": report.macro, **report.labels}
    assert rows.keys() == theirs.keys() - {"weighted avg"}
    for name, ours in rows.items():
        for key, value in (("precision", ours.precision), ("recall", ours.recall)):
            assert value == pytest.approx(theirs[name][key], abs=1e-12)
        assert ours.f1 == pytest.approx(theirs[name]["f1-score"], abs=1e-12)
        if isinstance(ours, Score):
            assert ours.gold == theirs[name]["support"]


def test_example_of_the_slides() -> None:
    words = {"gold": "南京市 里 面 和 米 很 贵", "system": "南京市 里面 和 米 很 贵"}
    cut = {}
    for name, text in words.items():
        ends = list(itertools.accumulate(map(len, text.split())))
        cut[name] = [Segment(s, e, "word") for s, e in zip([0, *ends], ends, strict=False)]
    score = evaluate([cut["gold"]], [cut["system"]]).micro
    assert score == (7, 6, 5)
    assert score.precision == 5 / 6
    assert score.recall == 5 / 7
    assert score.f1 == 10 / 13
    assert f"{score.f1:.2f}" == "0.77"


def test_by_hand() -> None:
    gold = [[(0, 2, "A"), (2, 3, "B")], [(1, 2, "A")], [], [(0, 1, "C")]]
    predicted = [[(0, 2, "A"), (2, 3, "A")], [(1, 2, "A")], [], []]
    report = evaluate(gold, predicted)
    assert report.labels == {"A": (2, 3, 2), "B": (1, 0, 0), "C": (1, 0, 0)}
    assert report.micro == (4, 3, 2)
    assert report.untyped == (4, 3, 3)
    assert report.macro == pytest.approx((2 / 9, 1 / 3, (2 * 2 / 5) / 3))
    assert (report.sequences, report.sequences_correct) == (4, 2)
    assert report.sequence_accuracy == 0.5
    assert str(report).splitlines()[-1] == "2 of 4 sequences right: 0.500"
    assert len({len(line) for line in str(report).splitlines()[:4]}) == 1


def test_nothing_at_all() -> None:
    report = evaluate([], [])
    assert report.micro == (0, 0, 0)
    assert (report.micro.f1, report.macro.f1, report.sequence_accuracy) == (0.0, 0.0, 0.0)
    assert "0 of 0 sequences right" in str(report)
    assert evaluate([[]], [[]]).sequence_accuracy == 1.0


@given(st.integers(0, 10_000))
def test_outside_and_order_do_not_count(seed: int) -> None:
    gold, predicted = segments_of(random_tags(seed, 6)), segments_of(random_tags(seed + 1, 6))
    report = evaluate(gold, predicted)
    for length in (1, None):
        filled = [fill_gaps(segments, 20, outside_length=length) for segments in predicted]
        assert evaluate(gold, filled) == report
    assert evaluate(reversed(gold), reversed(predicted)) == report
    swapped = evaluate(predicted, gold)
    assert swapped.micro.precision == report.micro.recall
    assert swapped.micro.f1 == report.micro.f1
    assert report.untyped.correct >= report.micro.correct
    assert segment_counts(gold, predicted) == report.micro
    assert evaluate(gold, gold).micro.f1 == (1.0 if report.micro.gold else 0.0)


def test_counts_of_each_sequence() -> None:
    gold, predicted = segments_of(random_tags(1)), segments_of(random_tags(2))
    each = [evaluate([a], [b]).micro for a, b in zip(gold, predicted, strict=True)]
    np.testing.assert_array_equal(sequence_counts(gold, predicted), each)


@pytest.mark.parametrize(
    ("predicted", "text"),
    [
        ([["B-X", "O"], []], "predicted[0]: got ['B-X', 'O'], expected segments, not tags; read"),
        (["BO", []], "predicted[0]: got 'BO', expected a list of segments"),
        ([[], 3], "predicted[1]: got 3, expected a list of segments"),
        ([[], [(0, 2, "A"), (1, 3, "B")]], "predicted[1][1]: got (1, 3, 'B'), expected start >= 2"),
        ([[], [(2, 2, "A")]], "predicted[1][0]: got (2, 2, 'A'), expected a segment that is not"),
        ([[], [(0, 2, 7)]], "predicted[1][0]: got (0, 2, 7), expected (start, end, label)"),
        ([[]], "predicted: got 1 sequence, expected 2, as many as in gold"),
        (3, "predicted: got 3, expected a list with the segments of each sequence"),
    ],
)
def test_wrong_input_is_named(predicted: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match="^" + re.escape(text)):
        evaluate([[], []], predicted)
    with pytest.raises(InvalidInput, match="^" + re.escape(text.replace("predicted", "b"))):
        compare([[], []], [[], []], predicted)


# ---- significance -----------------------------------------------------------------------------


def test_identical_systems() -> None:
    gold, system = segments_of(random_tags(3)), segments_of(random_tags(4))
    result = compare(gold, system, system, rounds=99)
    assert result.p_value == 1.0
    assert result.difference == 0.0
    assert compare([], [], [], rounds=9).p_value == 1.0


def test_smallest_p_value() -> None:
    gold = [[(0, 1, "A")]] * 40
    result = compare(gold, gold, [[]] * 40, rounds=999)
    assert result.p_value == 0.001
    assert (result.a.f1, result.b.f1, result.rounds) == (1.0, 0.0, 999)
    assert "p = 0.001" in str(result)


def test_same_seed_same_p_value_and_symmetry() -> None:
    tags = random_tags(5, 30)
    gold, a, b = (segments_of(t) for t in (tags, mixed(tags, 1), mixed(tags, 2)))
    first = compare(gold, a, b, rounds=500, seed=7)
    assert compare(gold, a, b, rounds=500, seed=7) == first
    assert compare(gold, b, a, rounds=500, seed=7).p_value == first.p_value
    assert compare(gold, b, a, rounds=500, seed=7).difference == -first.difference


def test_p_value_against_all_swaps() -> None:
    """With few sequences all swaps can be tried; equal differences count."""
    tags = random_tags(6, 8)
    gold, a, b = (segments_of(t) for t in (tags, mixed(tags, 3), mixed(tags, 4)))
    observed = abs(segment_counts(gold, a).f1 - segment_counts(gold, b).f1)
    exceeding = 0
    for swap in itertools.product([False, True], repeat=8):
        mine = [y if s else x for s, x, y in zip(swap, a, b, strict=True)]
        other = [x if s else y for s, x, y in zip(swap, a, b, strict=True)]
        difference = abs(segment_counts(gold, mine).f1 - segment_counts(gold, other).f1)
        exceeding += difference >= observed - 1e-12
    result = compare(gold, a, b, rounds=20_000)
    assert result.p_value == pytest.approx(exceeding / 2**8, abs=0.015)


def test_wrong_rounds() -> None:
    with pytest.raises(InvalidInput, match="rounds: got 0, expected a whole number"):
        compare([], [], [], rounds=0)
