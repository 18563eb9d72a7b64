"""Uncertain rows against enumeration: columns, weights, divergences, answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import close, models
from toys import addresses

import caesura
from caesura import InvalidInput, Potentials
from caesura.inference.reference import Enumeration
from caesura.records import UncertainRecord, answer_probability, uncertain_rows
from caesura.records.uncertain import constrained_potentials, listings
from caesura.records.uncertain_columns import (
    Listed,
    Part,
    Spans,
    choices,
    log_partition_of,
    parts_of,
)
from caesura.records.uncertain_mixture import by_em, by_partition

ALL = 100_000  # more segmentations than any of these models has


@st.composite
def possible(draw: Any) -> Potentials:
    """Small models of which every segmentation can be listed."""
    size = draw(st.sampled_from([(0, 2), (1, 3), (3, 2), (4, 2), (3, 3), (4, 1)]))
    p: Potentials = draw(models(size=size, order=2).filter(_has_answer))
    return p


def _has_answer(p: Potentials) -> bool:
    return caesura.log_partition(p) > -math.inf


def enumerated(p: Potentials) -> list[tuple[dict[str, Spans], float]]:
    """List every segmentation as the values of its columns, with its probability."""
    found = Enumeration(p)
    named = [[caesura.Segment(s, e, p.labels[y]) for s, e, y in path] for path in found.paths]
    return [
        (choices(path, p.labels), float(chance))
        for path, chance in zip(named, found.probabilities, strict=True)
        if chance > 0
    ]


def listing(listed: list[tuple[dict[str, Spans], float]]) -> Listed:
    return Listed([values for values, _ in listed], np.array([chance for _, chance in listed]))


def column(listed: list[tuple[dict[str, Spans], float]], label: str) -> dict[Spans, float]:
    sums: dict[Spans, float] = {}
    for values, chance in listed:
        sums[values[label]] = sums.get(values[label], 0.0) + chance
    return sums


def check_column(found: Mapping[Spans, float], expected: Mapping[Spans, float]) -> None:
    for spans in {*found, *expected}:
        assert close(found.get(spans, 0.0), expected.get(spans, 0.0)), spans


def partition(p: Potentials, k: int) -> list[tuple[float, Part]]:
    listed = listings([p], p.labels, ALL, 1)
    return by_partition([p], listed, p.labels, k, 0.0, 1)[0]


def divergence(p: Potentials, mixture: list[tuple[float, Part]]) -> float:
    """Return KL(model || mixture) by enumeration."""
    terms = []
    for values, chance in enumerated(p):
        q = sum(
            weight * math.prod(part.columns[y].values.get(values[y], 0.0) for y in p.labels)
            for weight, part in mixture
        )
        terms.append(chance * math.log(chance / q))
    return math.fsum(terms)


@settings(max_examples=40, deadline=None)
@given(possible())
def test_columns_are_those_of_enumeration(p: Potentials) -> None:
    listed = enumerated(p)
    before = [p.emission.copy(), p.transition.copy()]
    part = parts_of([p], [listing(listed)], p.labels, 0.0, 1)[0]
    for label in p.labels:
        check_column(part.columns[label].values, column(listed, label))
        assert close(part.columns[label].other, 0.0)
    for array, now in zip(before, (p.emission, p.transition), strict=True):
        assert np.array_equal(array, now)


@settings(max_examples=40, deadline=None)
@given(possible(), st.integers(1, 5))
def test_a_mixture_is_exact(p: Potentials, k: int) -> None:
    mixture = partition(p, k)
    assert 1 <= len(mixture) <= k
    assert close(sum(weight for weight, _ in mixture), 1.0)
    everything = enumerated(p)
    for weight, part in mixture:
        inside = enumerated(part.potentials)
        mine = {tuple(values.items()) for values, _ in inside}
        chances = [chance for values, chance in everything if tuple(values.items()) in mine]
        assert close(weight, sum(chances))
        for label in p.labels:
            check_column(part.columns[label].values, column(inside, label))
    total = math.fsum(weight * part.kl for weight, part in mixture)
    assert close(total, divergence(p, mixture))
    assert close(math.fsum(weight * part.slack for weight, part in mixture), 0.0)


@settings(max_examples=20, deadline=None)
@given(possible())
def test_divergence_falls_as_rows_are_added(p: Potentials) -> None:
    before = math.inf
    for k in range(1, 6):
        mixture = partition(p, k)
        kl = math.fsum(weight * part.kl for weight, part in mixture)
        assert kl <= before + 1e-9
        before = kl


@settings(max_examples=20, deadline=None)
@given(possible())
def test_the_first_split_is_the_best(p: Potentials) -> None:
    """Of all segments, none lowers the divergence more than the one that was chosen."""
    whole, halves = partition(p, 1), partition(p, 2)
    least = math.fsum(weight * part.kl for weight, part in halves)
    listed = enumerated(p)
    rows = [values for values, _ in listed]
    segments = {(s, e, y) for values in rows for y in p.labels for s, e in values[y]}
    for segment in segments:
        asked = [p.copy().constrain(required=[segment]), p.copy().constrain(forbidden=[segment])]
        asked = [one for one in asked if _has_answer(one)]
        parts = parts_of(asked, [listing(listed)] * len(asked), p.labels, 0.0, 1)
        log_z = whole[0][1].log_partition
        kl = math.fsum(math.exp(part.log_partition - log_z) * part.kl for part in parts)
        assert least <= kl + 1e-6


@settings(max_examples=40, deadline=None)
@given(possible(), st.data())
def test_answers_are_differences_of_log_partitions(p: Potentials, data: st.DataObject) -> None:
    listed = enumerated(p)
    values, _ = data.draw(st.sampled_from(listed))
    asked = data.draw(st.lists(st.sampled_from(p.labels), min_size=1, unique=True))
    query = {label: values[label] for label in asked}
    expected = sum(chance for other, chance in listed if all(other[y] == query[y] for y in asked))
    found = math.exp(log_partition_of(p, query) - caesura.log_partition(p))
    assert close(found, expected)


def test_values_that_overlap_are_impossible() -> None:
    p = Potentials(3, ["a", "b"])
    assert log_partition_of(p, {"a": ((0, 2),), "b": ((1, 3),)}) == -math.inf


def test_values_that_are_not_listed_are_counted() -> None:
    """The divergence lies between `kl` and `kl + slack` where values are left out."""
    rng = np.random.default_rng(0)
    p = Potentials(6, ["a", "b"])
    p.emission[:] = rng.normal(size=(6, 2))
    exact = partition(p, 1)[0][1]
    some = parts_of([p.copy()], [listing([])], p.labels, 0.01, 1)[
        0
    ]  # no value with several segments
    assert some.columns["a"].other > 0.01
    assert exact.slack == 0
    assert some.kl < exact.kl < some.kl + some.slack


@settings(max_examples=40, deadline=None)
@given(possible(), st.sampled_from([0.003, 0.03, 0.1]), st.integers(1, 20))
def test_the_divergence_lies_within_its_bounds(p: Potentials, least: float, n: int) -> None:
    exact = partition(p, 1)[0][1]
    some = parts_of([p.copy()], listings([p], p.labels, n, 1), p.labels, least, 1)[0]
    assert some.kl <= exact.kl + 1e-9
    assert exact.kl <= some.kl + some.slack + 1e-9


# ---- EM ------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_em_lowers_the_divergence_of_one_row(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n, columns = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    rows = list({tuple(int(x) for x in rng.integers(0, 3, columns)) for _ in range(n)})
    p = rng.dirichlet(np.ones(len(rows)))
    mixture, values, kl = by_em(rows, p, k)
    q = [
        sum(
            float(weight)
            * math.prod(
                float(mixture.columns[j][i][values[j].index(row[j])]) for j in range(columns)
            )
            for i, weight in enumerate(mixture.weights)
        )
        for row in rows
    ]
    assert close(kl, max(0.0, float(np.sum(p * np.log(p / np.array(q))))), 1e-7)
    assert close(mixture.weights.sum(), 1.0)
    one_row = by_em(rows, p, 1)[2]
    entropies = sum(
        -sum(x * math.log(x) for x in _sums(rows, p, j).values() if x > 0) for j in range(columns)
    )
    assert close(one_row, max(0.0, entropies + float((p * np.log(p)).sum())), 1e-7)
    assert kl <= one_row + 1e-9


def _sums(rows: list[tuple[int, ...]], p: Any, j: int) -> dict[int, float]:
    sums: dict[int, float] = {}
    for row, chance in zip(rows, p, strict=True):
        sums[row[j]] = sums.get(row[j], 0.0) + float(chance)
    return sums


def test_em_finds_a_mixture_that_no_partition_has() -> None:
    """Two overlapping products: splits by one value cannot separate them, EM can."""
    a, b = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.2, 0.7])
    rows = list(np.ndindex(3, 3, 3))
    p = np.array([0.5 * a[list(row)].prod() + 0.5 * b[list(row)].prod() for row in rows])
    assert by_em(rows, p, 2, max_iterations=3000, tolerance=0.0)[2] < 1e-4
    assert by_em(rows, p, 2, max_iterations=0)[2] > 0.01


# ---- models --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> caesura.SemiCRF:
    X, y = addresses(30, seed=1)
    return caesura.SemiCRF(c2=1.0, max_iterations=40).fit(X, y)


@pytest.fixture(scope="module")
def texts() -> list[list[str]]:
    return addresses(5, seed=9)[0]


def _last(text: str) -> str:
    return text.split()[-1].lower()


def all_rows(model: caesura.SemiCRF, x: Any, **options: Any) -> UncertainRecord:
    """List every segmentation that has any probability to speak of."""
    return uncertain_rows(model, [x], form="n-best", n_best=5000, **options)[0]


@pytest.mark.parametrize("normalisers", [{}, {"street": _last, "town": _last}])
def test_one_row_has_the_marginals_of_the_model(
    model: caesura.SemiCRF, texts: list[list[str]], normalisers: dict[str, Any]
) -> None:
    options: dict[str, Any] = {"normalisers": normalisers, "min_probability": 0.0, "n_best": 5000}
    for x in texts[:2]:
        listed = all_rows(model, x, normalisers=normalisers)
        assert listed.mass > 0.99
        record = uncertain_rows(model, [x], form="independent", **options)[0]
        assert len(record.rows) == 1
        for label in model.labels_:
            for value, chance in listed.values(label).items():
                if chance > 1e-3:
                    exact = answer_probability(model, x, {label: value}, normalisers=normalisers)
                    assert chance <= exact + 1e-9
                    assert exact - chance < 0.01
                    assert record.probability({label: value}) == pytest.approx(exact, abs=1e-9)


def test_answers_come_closer_to_the_model_as_rows_are_added(
    model: caesura.SemiCRF, texts: list[list[str]]
) -> None:
    errors = dict.fromkeys((1, 4, 16), 0.0)
    divergences = dict.fromkeys(errors, 0.0)
    for x in texts[:3]:
        rows = uncertain_rows(model, [x], form="n-best")[0].rows[:8]
        queries = [
            {"street": next(iter(row.cells["street"])), "town": next(iter(row.cells["town"]))}
            for row in rows
        ]
        exact = [answer_probability(model, x, query) for query in queries]
        drawn = model.sample([x], 4000, seed=3)[0]
        for query, chance in zip(queries, exact, strict=True):
            hits = sum(_row(x, segments, query) for segments in drawn)
            assert hits / 4000 == pytest.approx(chance, abs=5 * math.sqrt(0.25 / 4000))
        for k in errors:
            record = uncertain_rows(model, [x], k=k)[0]
            divergences[k] += record.kl
            pairs = zip(queries, exact, strict=True)
            errors[k] += sum(abs(record.probability(query) - chance) for query, chance in pairs)
    assert sorted(divergences.values(), reverse=True) == list(divergences.values())
    assert divergences[16] < 0.6 * divergences[1]
    assert errors[16] < 0.5 * errors[1]


def _row(tokens: list[str], segments: list[caesura.Segment], query: dict[str, Any]) -> bool:
    spans = choices(segments, list(query))
    texts = {
        label: tuple(" ".join(tokens[start:end]) for start, end in found)
        for label, found in spans.items()
    }
    return all(
        texts[label] == (() if value is None else (value,) if isinstance(value, str) else value)
        for label, value in query.items()
    )


def test_many_texts_are_each_text(model: caesura.SemiCRF, texts: list[list[str]]) -> None:
    for form in ("n-best", "independent", "mixture", "em"):
        together = uncertain_rows(model, iter(texts), form=form, k=3, n_best=50)
        one_by_one = (uncertain_rows(model, [x], form=form, k=3, n_best=50)[0] for x in texts)
        apart = list(one_by_one)
        assert together == apart


def test_at_most_once_gives_single_values(model: caesura.SemiCRF, texts: list[list[str]]) -> None:
    once = {"at_most_once": model.labels_}
    for record in uncertain_rows(model, texts, k=2, constraints=once, min_probability=0.0):
        assert record.slack < 1e-9
        for row in record.rows:
            for cells in row.cells.values():
                assert not any(isinstance(value, tuple) for value in cells)
                assert sum(cells.values()) == pytest.approx(1.0)


def test_em_is_over_the_n_best(model: caesura.SemiCRF, texts: list[list[str]]) -> None:
    for x in texts:
        one, four = (uncertain_rows(model, [x], form="em", k=k, mass=0)[0] for k in (1, 4))
        assert four.kl < one.kl
        listed = uncertain_rows(model, [x], form="n-best")[0]
        assert four.mass == pytest.approx(listed.mass)
        assert math.isinf(listed.kl)


def test_em_lists_as_many_as_hold_the_mass(
    model: caesura.SemiCRF, texts: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = uncertain_rows(model, texts, form="em", n_best=2, mass=0)
    more = uncertain_rows(model, texts, form="em", n_best=2, mass=0.9)
    assert all(one.mass < 0.9 for one in few)
    assert all(one.mass >= 0.9 for one in more)
    monkeypatch.setattr("caesura.records.uncertain.MOST_LISTED", 8)
    eight = uncertain_rows(model, texts, form="n-best", n_best=8)
    limited = uncertain_rows(model, texts, form="em", n_best=2, mass=0.9999)
    assert [one.sampled for one in limited] == pytest.approx([1 - one.mass for one in eight])
    assert all(one.mass == pytest.approx(1.0) for one in limited)
    assert all(math.isinf(one.slack) for one in limited)


@pytest.mark.parametrize("k", [1, 4])
def test_samples_stand_for_what_em_does_not_list(
    model: caesura.SemiCRF, texts: list[list[str]], k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marginals are the model's up to the error of samples of the rest, which were 0 without."""
    monkeypatch.setattr("caesura.records.uncertain.MOST_LISTED", 8)
    for x in texts:
        [found] = uncertain_rows(model, [x], form="em", k=k, n_best=8, min_probability=0.0)
        [exact] = uncertain_rows(model, [x], form="independent", min_probability=0.0)
        assert found.sampled > 0.01
        error = 4 * math.sqrt(found.sampled / 10_000)  # standard errors, at most
        for label in model.labels_:
            chances = found.values(label)
            for value, chance in exact.values(label).items():
                assert chances.get(value, 0.0) == pytest.approx(chance, abs=error)


def test_the_divergence_counts_all_that_is_sampled_as_one() -> None:
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "z")]
    p, listed = np.array([0.4, 0.3, 0.2, 0.1]), np.array([True, True, False, False])
    mixture, values, kl = by_em(rows, p, 1, listed)
    q = [
        float(mixture.columns[0][0][values[0].index(a)] * mixture.columns[1][0][values[1].index(b)])
        for a, b in rows
    ]
    parts = [(0.4, q[0]), (0.3, q[1]), (0.3, 1 - q[0] - q[1])]
    assert kl == pytest.approx(sum(x * math.log(x / y) for x, y in parts))


def test_the_divergence_of_em_is_over_rows_and_not_segmentations(model: caesura.SemiCRF) -> None:
    x, same = "12 High High Street", dict.fromkeys(model.labels_, lambda text: text[:1])
    listed = uncertain_rows(model, [x], form="n-best", n_best=500, normalisers=same)[0]
    options = {"n_best": 500, "mass": 0, "min_probability": 0, "normalisers": same}
    found = uncertain_rows(model, [x], form="em", k=2, **options)[0]  # type: ignore[arg-type]
    assert len(listed.rows) < 400
    divergence = 0.0
    for row in listed.rows:
        query = {label: next(iter(cell)) for label, cell in row.cells.items()}
        divergence += row.weight * math.log(row.weight / found.probability(query))
    assert found.kl == pytest.approx(divergence / listed.mass, abs=1e-9)
    assert found.kl > 0


def test_a_chain_has_n_best_rows_and_em() -> None:
    X, y = addresses(20, seed=1)
    chain = caesura.ChainCRF(max_iterations=20).fit(X, y)
    assert len(uncertain_rows(chain, X[:2], form="em", k=2)) == 2
    with pytest.raises(InvalidInput, match=r"model: got .* expected a SemiCRF; use form"):
        uncertain_rows(chain, X[:1])


def test_empty_texts(model: caesura.SemiCRF) -> None:
    for form in ("n-best", "independent", "mixture", "em"):
        record = uncertain_rows(model, [[]], form=form)[0]
        assert record.probability(dict.fromkeys(model.labels_)) == pytest.approx(1.0)
        assert record.kl == pytest.approx(0.0)
    assert uncertain_rows(model, []) == []


def test_characters_of_the_text_are_values(model: caesura.SemiCRF) -> None:
    text = "12  High  Street ,  Leeds"
    assert "High Street" in uncertain_rows(model, [text], k=1)[0].values("street")
    raw = uncertain_rows(model, [text], k=1, normalisers={"street": "none"})[0]
    assert "High  Street" in raw.values("street")


def test_outside_that_can_be_cut_in_several_ways_is_refused() -> None:
    X, y = addresses(10, seed=1)
    model = caesura.SemiCRF(max_iterations=5).fit(X, y)
    constrained_potentials(model, caesura.Document(("a",)), None)
    for outside_length in (1, None):
        model = caesura.SemiCRF(max_iterations=5, outside_length=outside_length).fit(X, y)
        assert uncertain_rows(model, X[:1], k=2)[0].kl >= 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"form": "rows"}, "form: got 'rows', expected n-best, independent, mixture, em"),
        ({"k": 0}, "k: got 0, expected a whole number"),
        ({"n_best": "all"}, "n_best: got 'all'"),
        ({"min_probability": 1.0}, "min_probability: got 1.0"),
        ({"normalisers": {"city": str}}, "normalisers: got 'city', expected labels of the model"),
        ({"normalisers": {"town": "city"}}, r"normalisers\['town'\]: got 'city', expected one of"),
        ({"constraints": {"once": ["town"]}}, "constraints"),
    ],
)
def test_bad_arguments(model: caesura.SemiCRF, options: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        uncertain_rows(model, [["York"]], **options)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({}, "query: got {}, expected a dict"),
        ({"city": "York"}, "query: got 'city', expected one of the columns, number, street, town"),
        ({"town": 3}, r"query\['town'\]: got 3, expected a string, None"),
        ({"town": ("York",)}, r"query\['town'\]: got \('York',\)"),
    ],
)
def test_bad_queries(model: caesura.SemiCRF, query: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        answer_probability(model, ["York"], query)
    record = uncertain_rows(model, [["York"]], k=1)[0]
    with pytest.raises(InvalidInput, match=text):
        record.probability(query)


def test_bad_models_and_texts(model: caesura.SemiCRF) -> None:
    with pytest.raises(InvalidInput, match=r"model: got .* expected a fitted model"):
        uncertain_rows(caesura.SemiCRF(), [["York"]])
    with pytest.raises(InvalidInput, match="X: got a string, expected a list of texts"):
        uncertain_rows(model, "York")
