"""Each measure beside an independent count: seqeval, nervaluate, scikit-learn, scipy, by hand."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nervaluate import Evaluator
from scipy.stats import binom
from seqeval.metrics import accuracy_score, classification_report
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES
from sklearn.calibration import calibration_curve

from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.evaluation import (
    Kind,
    Overlap,
    Report,
    Score,
    Share,
    bootstrap,
    boundary_counts,
    confusion,
    errors,
    evaluate,
    lenient_counts,
    matches,
    partial,
    reliability,
    right_segments,
    segment_counts,
    token_counts,
    words_of,
)
from caesura.segments import Segment, fill_gaps, from_tags, to_tags

T = 12
LABELS = ("PER", "LOC", "A-B")


@st.composite
def segments(draw: st.DrawFn, length: int = T) -> list[Segment]:
    """Draw segments in order, with gaps, within a sequence."""
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    spans = [(a, b) for a, b in itertools.pairwise(cuts) if draw(st.integers(0, 3))]
    return [Segment(a, b, draw(st.sampled_from(LABELS))) for a, b in spans]


pairs = st.lists(st.tuples(segments(), segments()), min_size=1, max_size=4)


def split(drawn: list[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    return [a for a, _ in drawn], [b for _, b in drawn]


def tag_pairs(letters: str) -> st.SearchStrategy[list[tuple[list[str], list[str]]]]:
    """Draw gold and predicted tags of equal lengths, well formed or not."""
    tags = ["O", *(f"{letter}-{label}" for letter in letters for label in LABELS)]
    pair = st.tuples(st.sampled_from(tags), st.sampled_from(tags), st.booleans())
    agree = st.lists(pair.map(lambda p: (p[0], p[0] if p[2] else p[1])), min_size=1, max_size=9)
    sentence = agree.map(lambda both: ([a for a, _ in both], [b for _, b in both]))
    return st.lists(sentence, min_size=1, max_size=4)


def same_as_seqeval(gold: Any, predicted: Any, theirs: Any) -> None:
    report = evaluate(gold, predicted)
    rows: dict[str, Any] = {"micro avg": report.micro, "macro avg": report.macro, **report.labels}
    assert rows.keys() == theirs.keys() - {"weighted avg"}
    for name, ours in rows.items():
        shares = [theirs[name][key] for key in ("precision", "recall", "f1-score")]
        assert [ours.precision, ours.recall, ours.f1] == pytest.approx(shares, abs=1e-12)
        if isinstance(ours, Score):
            assert ours.gold == theirs[name]["support"]


# ---- seqeval ----------------------------------------------------------------------------------


def check_ill_formed(scheme: str, tags: list[tuple[list[str], list[str]]]) -> None:
    gold, predicted = split(tags)
    if all(tag == "O" for side in (gold, predicted) for sentence in side for tag in sentence):
        return  # seqeval cannot make a report of nothing
    theirs = classification_report(gold, predicted, output_dict=True, zero_division=0)
    a, b = ([from_tags(s, scheme, repair="repair") for s in side] for side in (gold, predicted))
    same_as_seqeval(a, b, theirs)


@given(tag_pairs("BI"))
def test_ill_formed_bio_as_seqeval(tags: list[tuple[list[str], list[str]]]) -> None:
    check_ill_formed("BIO", tags)
    check_ill_formed("IOB1", tags)


@given(tag_pairs("BIES"))
def test_ill_formed_bioes_as_seqeval(tags: list[tuple[list[str], list[str]]]) -> None:
    check_ill_formed("BIOES", tags)


@pytest.mark.parametrize(
    ("scheme", "theirs"), [("BIO", IOB2), ("IOB1", IOB1), ("BIOES", IOBES), ("BILOU", BILOU)]
)
@settings(max_examples=25)
@given(drawn=pairs)
def test_well_formed_tags_as_seqeval_strict(scheme: str, theirs: Any, drawn: Any) -> None:
    gold, predicted = split(drawn)
    tags = [[to_tags(cuts, scheme, T) for cuts in side] for side in (gold, predicted)]
    if not segment_counts(gold, predicted).gold:
        return
    report = classification_report(
        *tags, output_dict=True, zero_division=0, mode="strict", scheme=theirs
    )
    same_as_seqeval(gold, predicted, report)
    counts = token_counts(gold, predicted, [T] * len(gold), scheme)
    assert counts.value == pytest.approx(accuracy_score(*tags), abs=1e-12)
    if scheme == "BIO":
        assert evaluate(gold, predicted, lengths=[T] * len(gold)).tokens == counts


# ---- nervaluate -------------------------------------------------------------------------------


def entities(side: Any) -> list[list[dict[str, Any]]]:
    """Write segments as nervaluate takes them, with inclusive ends."""
    return [[{"start": s, "end": e - 1, "label": y} for s, e, y in cuts] for cuts in side]


def check_nervaluate(gold: Any, predicted: Any, least: float = 1.0) -> None:
    ours = partial(gold, predicted, min_overlap_percentage=least)
    theirs = Evaluator(
        entities(gold), entities(predicted), list(LABELS), "dict", min_overlap_percentage=least
    ).evaluate()
    assert ours.labels.keys() == theirs["entities"].keys()
    found = {"": theirs["overall"], **theirs["entities"]}
    for label, by_way in found.items():
        counts = ours.labels[label] if label else ours
        for way in ("strict", "exact", "partial", "ent_type"):
            mine: Overlap = getattr(counts, way)
            for field in (*Overlap._fields, "possible", "actual"):
                assert getattr(mine, field) == getattr(by_way[way], field), (label, way, field)
            for field in ("precision", "recall", "f1"):
                expected = pytest.approx(getattr(by_way[way], field), abs=1e-12)
                assert getattr(mine, field) == expected, (label, way, field)


@given(pairs)
def test_partial_as_nervaluate(drawn: Any) -> None:
    check_nervaluate(*split(drawn))


@given(pairs, st.sampled_from([10.0, 34.0, 50.0, 75.0, 100.0]))
def test_partial_as_nervaluate_with_more_overlap(drawn: Any, least: float) -> None:
    check_nervaluate(*split(drawn), least)


def test_of_two_with_its_label_a_segment_meets_the_nearest() -> None:
    gold, predicted = [[(0, 1, "PER"), (2, 6, "PER")]], [[(0, 5, "PER"), (5, 6, "PER")]]
    check_nervaluate(gold, predicted)
    assert partial(gold, predicted).ent_type == (1, 0, 0, 1, 1)
    assert partial(gold, predicted).partial == (0, 0, 2, 0, 0)


@pytest.mark.parametrize("length", [99, 100, 101, 250])
def test_a_token_of_a_very_long_segment_is_too_little(length: int) -> None:
    gold, predicted = [[(0, length, "PER")]], [[(0, 1, "PER"), (length, length + 3, "PER")]]
    check_nervaluate(gold, predicted)
    assert partial(gold, predicted).ent_type.correct == (length <= 100)


def test_partial_by_hand() -> None:
    found = partial([[(0, 4, "A"), (5, 6, "B")]], [[(1, 4, "A"), (5, 6, "A"), (8, 9, "B")]])
    assert found.strict == (0, 2, 0, 0, 1)
    assert found.exact == (1, 1, 0, 0, 1)
    assert found.partial == (1, 0, 1, 0, 1)
    assert found.ent_type == found.type == (1, 1, 0, 0, 1)
    assert found.partial.precision == 0.5
    assert found.labels["B"].strict == (0, 0, 0, 1, 1)
    with pytest.raises(InvalidInput, match=r"min_overlap_percentage: got 0\.5, expected a number"):
        partial([], [], min_overlap_percentage=0.5)


# ---- boundaries, tokens, words ----------------------------------------------------------------


@given(pairs)
def test_boundaries_by_where_tags_change(drawn: list[tuple[Any, Any]]) -> None:
    gold, predicted = split(drawn)
    expected = [0, 0, 0]
    for pair in drawn:
        places = []
        for cuts in pair:
            whole = fill_gaps(cuts, T, outside_length=None)
            places.append({segment.start for segment in whole} - {0})
        sizes = len(places[0]), len(places[1]), len(places[0] & places[1])
        expected = [a + b for a, b in zip(expected, sizes, strict=True)]
    lengths = [T] * len(gold)
    assert boundary_counts(gold, predicted, lengths) == tuple(expected)
    assert evaluate(gold, predicted, lengths=lengths).boundaries == tuple(expected)


def test_words_in_and_out_of_the_vocabulary() -> None:
    tokens = [list("南京市里面"), list("很贵")]
    gold = [[(0, 3, ""), (3, 5, "")], [(0, 1, ""), (1, 2, "")]]
    predicted = [[(0, 3, ""), (3, 4, ""), (4, 5, "")], [(0, 1, ""), (1, 2, "")]]
    report = evaluate(gold, predicted, tokens=tokens, vocabulary={"南京市", "里面", "很"})
    assert (report.known, report.unknown) == ((3, 2), (1, 1))
    assert report.boundaries == (2, 3, 2)
    assert report.token_accuracy == 6 / 7
    seen = words_of(tokens[:1], gold[:1])
    assert seen == {"南 京 市", "里 面"}
    report = evaluate(gold, predicted, tokens=map(Document, map(tuple, tokens)), vocabulary=seen)
    assert (report.known, report.unknown) == (Share(2, 1), Share(2, 2))
    assert "1 of 2 segments in the vocabulary found: 0.500" in str(report)


def phrase_score(gold: list[str], predicted: list[str]) -> Score:
    """Count as HOSemiCRF does: labels of tokens, and no look at where the last phrase starts."""

    def phrases(labels: list[str]) -> list[tuple[int, int]]:
        starts = [t for t in range(len(labels)) if t == 0 or labels[t] != labels[t - 1]]
        spans = zip(starts, [*starts[1:], len(labels)], strict=True)
        return [(s, e) for s, e in spans if labels[s] != "O"]

    there, correct = phrases(gold), 0
    for start, end in phrases(predicted):
        same = gold[start:end] == predicted[start:end]
        correct += same and (end == len(gold) or (start, end) in there)
    return Score(len(there), len(phrases(predicted)), correct)


@given(segments(), segments())
def test_lenient_counts_token_by_token(gold: Any, predicted: Any) -> None:
    there, found = (
        [s.label for s in fill_gaps(cuts, T) for _ in range(s.length)] for cuts in (gold, predicted)
    )
    assert lenient_counts([gold], [predicted], [T]) == phrase_score(there, found)


# ---- kinds of error, confusion ----------------------------------------------------------------


@given(pairs)
def test_errors_and_confusion_add_up(drawn: list[tuple[Any, Any]]) -> None:
    gold, predicted = split(drawn)
    found, table = errors(gold, predicted), confusion(gold, predicted)
    report = evaluate(gold, predicted)
    assert found.right == report.micro.correct
    assert found.right + found.wrong_label == report.untyped.correct
    assert sum(found) - found.spurious == report.micro.gold
    assert sum(found) - found.missed == report.micro.predicted
    assert table.counts[:-1].sum() == report.micro.gold
    assert table.counts[:, :-1].sum() == report.micro.predicted
    assert table.counts.trace() == found.right + found.wrong_boundary
    assert table.counts[:, -1].sum() == found.missed
    for row, label in zip(table.counts[:-1], table.labels, strict=True):
        assert row.sum() == report.labels[label].gold
    back = confusion(predicted, gold)
    np.testing.assert_array_equal(back.counts, table.counts.T)
    assert sum(c.times for c in table.most()) == table.counts.sum() - table.counts.trace()


@given(pairs)
def test_matches_share_tokens_and_leave_none_alone_side_by_side(drawn: Any) -> None:
    for pair, found in zip(drawn, matches(*split(drawn)), strict=True):
        alone: list[list[Segment]] = [[], []]
        for a, b in found:
            if a is not None and b is not None:
                assert max(a.start, b.start) < min(a.end, b.end)
            else:
                alone[a is None].append(a or b)  # type: ignore[arg-type]
        for a in alone[0]:
            assert not any(max(a.start, b.start) < min(a.end, b.end) for b in alone[1])
        assert sorted(a for a, _ in found if a) == pair[0]
        assert sorted(b for _, b in found if b) == pair[1]


def test_kinds_by_hand() -> None:
    gold = [[(0, 2, "A"), (2, 4, "A"), (4, 6, "A"), (6, 9, "A"), (10, 11, "B")]]
    predicted = [[(0, 2, "A"), (2, 3, "A"), (4, 6, "B"), (7, 9, "C"), (12, 13, "B")]]
    assert [match.kind for match in matches(gold, predicted)[0]] == list(Kind)
    assert Kind("invented") is Kind.SPURIOUS
    assert errors(gold, predicted) == (1, 1, 1, 1, 1, 1)
    table = confusion(gold, predicted)
    assert table.labels == ("A", "B", "C")
    assert table.counts.tolist() == [[2, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert table.times(None, "B") == 1
    assert table.most(1) == [("A", "B", 1)]
    with pytest.raises(InvalidInput, match="gold: got 'X', expected one of A, B, C, or None"):
        table.times("X", "A")


def test_a_predicted_segment_over_two_gold_ones_stands_for_the_larger() -> None:
    found = matches([[(0, 2, "A"), (2, 5, "A")]], [[(0, 5, "A")]])[0]
    assert [match.kind for match in found] == [Kind.MISSED, Kind.WRONG_BOUNDARY]
    found = matches([[(0, 2, "A"), (2, 4, "B")]], [[(0, 4, "B")]])[0]
    assert [match.kind for match in found] == [Kind.MISSED, Kind.WRONG_BOUNDARY]


# ---- calibration ------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 15))
def test_bins_as_scikit_learn(seed: int, bins: int) -> None:
    random = np.random.default_rng(seed)
    p = random.random(random.integers(1, 60)).round(1)
    right = random.random(len(p)) < p
    found = reliability(p, right, bins)
    shares, means = calibration_curve(right, p, n_bins=bins)
    some = [bin for bin in found.bins if bin.segments]
    assert [bin.accuracy for bin in some] == pytest.approx(shares.tolist())
    assert [bin.confidence for bin in some] == pytest.approx(means.tolist())
    assert found.segments == len(p)
    sizes = np.array([bin.segments for bin in some])
    expected = (sizes * np.abs(shares - means)).sum() / len(p)
    assert found.expected_calibration_error == pytest.approx(expected)
    assert found.maximum_calibration_error == pytest.approx(np.abs(shares - means).max())


def test_calibrated_and_not() -> None:
    right = np.arange(1000) % 10 < 7
    assert reliability(np.full(1000, 0.7), right).expected_calibration_error < 1e-9
    assert reliability(np.ones(1000), right).expected_calibration_error == pytest.approx(0.3)
    assert reliability([], []).expected_calibration_error == 0.0
    assert reliability([0.0, 1.0], [False, True], 1).bins[0] == (0.0, 1.0, 2, 0.5, 0.5)
    with_outside = [[(0, 1, "O"), (1, 2, "A"), (2, 3, "A")]]
    assert right_segments([[(1, 2, "A")]], with_outside) == [[True, False]]


# ---- intervals --------------------------------------------------------------------------------


def test_interval_of_shares_is_binomial() -> None:
    n, right = 400, 300
    gold = [[(0, 1, "A")]] * n
    predicted = [[(0, 1, "A")]] * right + [[(0, 1, "B")]] * (n - right)
    found = bootstrap(gold, predicted, 0.9, rounds=20_000, seed=3)
    expected = [binom.ppf(q, n, right / n) / n for q in (0.05, 0.95)]
    for share in (found.precision, found.recall, found.f1):
        assert list(share) == pytest.approx(expected, abs=1.5 / n)
    assert (found.confidence, found.rounds) == (0.9, 20_000)


def test_interval_by_plain_resampling() -> None:
    random = np.random.default_rng(0)
    gold, predicted = [], []
    for _ in range(80):
        cuts = [(t, t + 1, "A") for t in range(int(random.integers(0, 6)))]
        gold.append(cuts)
        predicted.append([c for c in cuts if random.random() < 0.8] + [(9, 10, "B")])
    scores = []
    for _ in range(1500):
        some = random.integers(0, 80, 80)
        scores.append(segment_counts([gold[i] for i in some], [predicted[i] for i in some]).f1)
    expected = np.quantile(scores, [0.025, 0.975]).tolist()
    found = bootstrap(gold, predicted, rounds=10_000)
    assert list(found.f1) == pytest.approx(expected, abs=0.006)
    assert found.f1.low < segment_counts(gold, predicted).f1 < found.f1.high


def test_interval_of_a_report() -> None:
    gold = [[(0, 1, "A")]] * 30
    report = evaluate(gold, [*gold[:20], *[[]] * 10], confidence=0.8, seed=5)
    assert report.interval == bootstrap(gold, [*gold[:20], *[[]] * 10], 0.8, seed=5)
    assert report.interval is not None
    assert report.interval.precision == (1.0, 1.0)
    assert str(report).splitlines()[-1].startswith("80 % intervals: precision 1.000 to 1.000, ")
    assert evaluate([], [], confidence=0.5).interval == (0.5, 2000, (0, 0), (0, 0), (0, 0))


# ---- files ------------------------------------------------------------------------------------


@given(pairs, st.booleans(), st.booleans(), st.booleans())
def test_json_round_trip(drawn: Any, with_lengths: bool, with_words: bool, sure: bool) -> None:
    gold, predicted = split(drawn)
    words = [[f"w{t}" for t in range(T)] for _ in gold]
    report = evaluate(
        gold,
        predicted,
        lengths=[T] * len(gold) if with_lengths else None,
        tokens=words if with_words else None,
        vocabulary={"w0", "w1 w2"} if with_words else None,
        confidence=0.9 if sure else None,
    )
    back = Report.from_json(report.to_json())
    assert back == report
    assert str(back) == str(report)
    assert json.loads(report.to_json())["micro"]["f1"] == report.micro.f1


@pytest.mark.parametrize(
    "text",
    ["", "3", "{}", "null", '{"format": "caesura report", "version": 2}', "[" * 10]
    + [evaluate([], []).to_json().replace(a, b) for a, b in [('"gold"', '"old"'), ("0.0", "{}")]],
)
def test_json_that_is_no_report(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^text: got .*, expected a report in JSON"):
        Report.from_json(text)


# ---- wrong input ------------------------------------------------------------------------------

MEASURES: list[Callable[[Any, Any], Any]] = [
    evaluate,
    partial,
    errors,
    confusion,
    matches,
    bootstrap,
    right_segments,
    lambda gold, predicted: boundary_counts(gold, predicted, [9, 9]),
    lambda gold, predicted: token_counts(gold, predicted, [9, 9]),
    lambda gold, predicted: lenient_counts(gold, predicted, [9, 9]),
]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("predicted", "text"),
    [
        ([[]], "predicted: got 1 sequence, expected 2, as many as in gold"),
        ([["B-X"], []], "predicted[0]: got ['B-X'], expected segments, not tags; read"),
        ([[], [(3, 4, "A"), (1, 2, "B")]], "predicted[1][1]: got (1, 2, 'B'), expected start >= 4"),
        ([[], [(0, 2, "A"), (1, 3, "B")]], "predicted[1][1]: got (1, 3, 'B'), expected start >= 2"),
        (7, "predicted: got 7, expected a list with the segments of each sequence"),
    ],
)
def test_wrong_segments_are_named_by_each(measure: Any, predicted: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match="^" + re.escape(text)):
        measure([[], []], predicted)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"lengths": [1, 5]}, "gold[0][0]: got (0, 2, 'A'), expected a segment in range, end <="),
        ({"lengths": [2, 0]}, "predicted[1][0]: got (0, 1, 'A'), expected a segment in range"),
        ({"lengths": [2]}, "lengths: got 1 sequence, expected 2, as many as in gold"),
        ({"lengths": [2, -1]}, "lengths[1]: got -1, expected a whole number, at least 0"),
        ({"lengths": 3}, "lengths: got 3, expected the number of tokens of each sequence"),
        ({"tokens": "ab"}, "tokens: got 'ab', expected a list with the tokens of each sequence"),
        ({"tokens": ["ab", "c"]}, "tokens[0]: got 'ab', expected a list of strings, or a Document"),
        ({"tokens": [["a", 3], []]}, "tokens[0]: got ['a', 3], expected a list of strings"),
        ({"tokens": [["a", "b"]]}, "tokens: got 1 sequence, expected 2, as many as in gold"),
        (
            {"tokens": [["a", "b"], ["c"]], "lengths": [2, 4]},
            "lengths[1]: got 4, expected 1, as many as there are tokens; leave out lengths",
        ),
        ({"vocabulary": {"a"}}, "vocabulary: got {'a'}, expected a set of words, with tokens"),
        ({"confidence": 95}, "confidence: got 95, expected a share above 0 and below 1; pass 0.95"),
        ({"confidence": "high"}, "confidence: got 'high', expected a share"),
        ({"confidence": 0.9, "seed": -1}, "seed: got -1, expected a whole number"),
    ],
)
def test_wrong_options_are_named(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput, match="^" + re.escape(text)):
        evaluate([[(0, 2, "A")], []], [[], [(0, 1, "A")]], **arguments)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([0.5, 1.5], [True, True]), "confidences: got [0.5, 1.5], expected numbers from 0 to 1"),
        (([float("nan")], [True]), "confidences: got [nan], expected numbers from 0 to 1"),
        (([[0.5], [0.5, 0.1]], [True]), "confidences: got [[0.5], [0.5, 0.1]], expected numbers"),
        (([0.5, 0.5], [True]), "right: got [True], expected True or False for each of 2"),
        (([0.5], [0.7]), "right: got [0.7], expected True or False for each of 1"),
        (([0.5], [True], 0), "bins: got 0, expected a whole number, at least 1"),
    ],
)
def test_wrong_probabilities_are_named(arguments: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match="^" + re.escape(text)):
        reliability(*arguments)


def test_lengths_are_needed_for_boundaries() -> None:
    with pytest.raises(InvalidInput, match="lengths: got 0 sequences, expected 1"):
        boundary_counts([[]], [[]], None)  # type: ignore[arg-type]
