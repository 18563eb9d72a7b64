"""Span graphs against the enumeration of all paths by the definition of the arc rule."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from oracle import Draw, close

import caesura
from caesura.errors import Impossible, InvalidInput
from caesura.inference.span_graph import SpanGraph
from caesura.inference.span_graphs import SpanGraphs

Case = dict[str, Any]


def inside(span: tuple[int, int], gap: tuple[int, int]) -> bool:
    return gap[0] <= span[0] and span[1] <= gap[1]


def may_follow(case: Case, end: int, start: int) -> bool:
    """Whether a span from `start` may follow one that ends at `end`, by the definition."""
    if case["rule"] == "adjacent":
        return end == start
    return end <= start and not any(inside(span, (end, start)) for span in case["spans"])


def all_paths(case: Case) -> Iterator[tuple[int, ...]]:
    """Yield every path as positions of spans."""

    def extend(path: tuple[int, ...], end: int) -> Iterator[tuple[int, ...]]:
        if may_follow(case, end, case["length"]):
            yield path
        for i, (s, e) in enumerate(case["spans"]):
            if may_follow(case, end, s):
                yield from extend((*path, i), e)

    return extend((), 0)


def score(case: Case, path: tuple[int, ...]) -> float:
    labels = case["labels"]
    extra: dict[tuple[int, int], float] = {}
    for arc, value in zip(case["arcs"], case["arc_scores"], strict=True):
        extra[arc] = extra.get(arc, 0.0) + value
    total = sum(case["scores"][i] for i in path)
    for a, b in itertools.pairwise(path):
        total += case["transition"][labels[a], labels[b]] + extra.get((a, b), 0.0)
    if path:
        total += case["start"][labels[path[0]]] + case["end"][labels[path[-1]]]
    return float(total)


def graph_of(case: Case) -> SpanGraph:
    return SpanGraph(**case)


@st.composite
def cases(draw: Draw, most: int = 9) -> Case:
    T, Y = draw(st.integers(0, 6)), draw(st.integers(1, 3))
    span = st.tuples(st.integers(0, max(T - 1, 0)), st.integers(1, 4)).map(
        lambda x: (x[0], min(x[0] + x[1], T))
    )
    spans = draw(st.lists(span, max_size=most)) if T else []
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.0, 0.0, 0.1]))
    scale = draw(st.sampled_from([1.0, 3.0, 1e4]))

    def numbers(*shape: int) -> Any:
        values = scale * rng.normal(size=shape)
        values[rng.random(shape) < share] = -np.inf
        return values

    case: Case = {
        "spans": spans,
        "labels": rng.integers(Y, size=len(spans)),
        "scores": numbers(len(spans)),
        "length": T,
        "n_labels": Y,
        "transition": numbers(Y, Y),
        "start": numbers(Y),
        "end": numbers(Y),
        "rule": draw(st.sampled_from(["adjacent", "filtered"])),
        "arcs": [],
    }
    if draw(st.booleans()):
        possible = [
            (i, j)
            for (i, (_, e)), (j, (s, _)) in itertools.product(enumerate(spans), repeat=2)
            if may_follow(case, e, s)
        ]
        case["arcs"] = [arc for arc in possible * 2 if rng.random() < 0.4]
    case["arc_scores"] = numbers(len(case["arcs"]))
    return case


def enumerated(case: Case) -> tuple[list[tuple[int, ...]], Any, float]:
    """Return all possible paths, their scores and ln Z."""
    found = {path: score(case, path) for path in all_paths(case)}
    paths = [path for path, value in found.items() if value > -np.inf]
    scores = np.array([found[path] for path in paths])
    log_z = -np.inf
    if paths:
        log_z = float(scores.max() + np.log(np.exp(scores - scores.max()).sum()))
    return paths, scores, log_z


@given(cases())
def test_log_partition_is_the_sum_over_all_paths(case: Case) -> None:
    assert close(graph_of(case).log_partition(), enumerated(case)[2])


@given(cases())
def test_marginals_are_expected_counts(case: Case) -> None:
    paths, scores, log_z = enumerated(case)
    graph = graph_of(case)
    if not paths:
        for question in (graph.marginals, graph.entropy, graph.viterbi, lambda: graph.sample(1)):
            with pytest.raises(Impossible, match="spans: no path is possible"):
                question()
        return
    p = np.exp(scores - log_z)
    n, Y, labels = len(case["spans"]), case["n_labels"], case["labels"]
    spans, arcs = np.zeros(n), np.zeros(len(case["arcs"]))
    transitions, starts, ends = np.zeros((Y, Y)), np.zeros(Y), np.zeros(Y)
    for path, share in zip(paths, p, strict=True):
        spans[list(path)] += share
        steps = list(itertools.pairwise(path))
        for a, b in steps:
            transitions[labels[a], labels[b]] += share
        arcs += share * np.array([arc in steps for arc in case["arcs"]])
        if path:
            starts[labels[path[0]]] += share
            ends[labels[path[-1]]] += share
    m = graph.marginals()
    assert close(m.log_partition, log_z)
    for name, expected in (
        ("spans", spans),
        ("arcs", arcs),
        ("transitions", transitions),
        ("starts", starts),
        ("ends", ends),
    ):
        assert close(getattr(m, name), expected, 1e-8), name
    entropy = -sum(x * math.log(x) for x in p if x > 0)
    assert close(graph.entropy(), entropy, 1e-8)


@given(cases(), st.integers(1, 6))
def test_best_paths(case: Case, n: int) -> None:
    paths, scores, _ = enumerated(case)
    if not paths:
        return
    graph = graph_of(case)
    found = graph.n_best(n)
    expected = sorted(scores, reverse=True)[:n]
    assert close([path.score for path in found], expected)
    assert len({tuple(path.spans) for path in found}) == len(found)
    for path in found:
        assert tuple(path.spans) in paths
        assert close(path.score, score(case, tuple(path.spans)))
        assert path.segments == [(*case["spans"][i], case["labels"][i]) for i in path.spans]
        assert graph.score(path.spans) == path.score
    assert graph.viterbi() == found[0]


@given(cases(most=5))
def test_what_is_not_a_path_scores_minus_infinity(case: Case) -> None:
    graph, paths = graph_of(case), set(all_paths(case))
    n = len(case["spans"])
    for k in range(3):
        for path in itertools.permutations(range(n), k):
            if path not in paths:
                assert graph.score(list(path)) == -np.inf


def test_samples_follow_the_distribution() -> None:
    rng = np.random.default_rng(3)
    spans = [(0, 1), (1, 2), (0, 2), (1, 3), (2, 3), (3, 4), (2, 4)]
    case = {
        "spans": spans,
        "labels": rng.integers(2, size=len(spans)),
        "scores": rng.normal(size=len(spans)),
        "length": 4,
        "n_labels": 2,
        "transition": rng.normal(size=(2, 2)),
        "start": rng.normal(size=2),
        "end": rng.normal(size=2),
        "rule": "adjacent",
        "arcs": [(0, 1), (2, 4)],
        "arc_scores": [1.0, -1.0],
    }
    paths, scores, log_z = enumerated(case)
    n = 20_000
    drawn = graph_of(case).sample(n, seed=5)
    for path, value in zip(paths, scores, strict=True):
        p = math.exp(value - log_z)
        seen = sum(tuple(one.spans) == path for one in drawn) / n
        assert abs(seen - p) < 5 * math.sqrt(p * (1 - p) / n)
    assert drawn == graph_of(case).sample(n, seed=5)
    assert drawn != graph_of(case).sample(n, seed=6)


def maximal_sets(spans: list[tuple[int, int]]) -> set[frozenset[int]]:
    """Return the maximal sets of spans that do not overlap."""

    def overlap(a: int, b: int) -> bool:
        return spans[a][0] < spans[b][1] and spans[b][0] < spans[a][1]

    everything = range(len(spans))
    good = [
        set(chosen)
        for k in range(len(spans) + 1)
        for chosen in itertools.combinations(everything, k)
        if not any(overlap(a, b) for a, b in itertools.combinations(chosen, 2))
    ]
    return {frozenset(one) for one in good if not any(one < other for other in good)}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=8))
def test_filtered_paths_are_the_maximal_sets_without_overlap(given_: list[tuple[int, int]]) -> None:
    spans = [(s, s + k) for s, k in given_]
    graph = SpanGraph(spans, [0] * len(spans), [0.0] * len(spans), 9, 1, rule="filtered")
    expected = maximal_sets(spans)
    assert close(graph.log_partition(), math.log(len(expected)))
    assert {frozenset(path.spans) for path in graph.n_best(1000)} == expected


def test_complete_graph_has_the_arcs_of_the_proposition() -> None:
    """L (L - 1) (L + 1) / 6 arcs between the spans of a sentence of L tokens."""
    for L in range(1, 8):
        spans = [(s, e) for s in range(L) for e in range(s + 1, L + 1)]
        adjacent = [
            (i, j)
            for (i, a), (j, b) in itertools.product(enumerate(spans), repeat=2)
            if a[1] == b[0]
        ]
        assert len(adjacent) == L * (L - 1) * (L + 1) // 6
        graphs = [
            SpanGraph(
                *(spans, [0] * len(spans), [0.0] * len(spans), L, 1),
                rule=rule,
                arcs=adjacent,  # and the rules agree, as every gap has a span in it
                arc_scores=[0.0] * len(adjacent),
            )
            for rule in ("adjacent", "filtered")
        ]
        assert close([graph.log_partition() for graph in graphs], [math.log(2) * (L - 1)] * 2)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 3))
def test_the_complete_graph_is_a_semi_crf(seed: int, T: int, Y: int) -> None:
    rng = np.random.default_rng(seed)
    p = caesura.Potentials(T, Y, max_length=T)
    p.spans = rng.normal(size=(T, T, Y))
    p.transition, p.start, p.end = rng.normal(size=(Y, Y)), rng.normal(size=Y), rng.normal(size=Y)
    index = [(s, e, y) for s in range(T) for e in range(s + 1, T + 1) for y in range(Y)]
    graph = SpanGraph(
        [(s, e) for s, e, _ in index],
        [y for _, _, y in index],
        [p.spans[s, e - s - 1, y] for s, e, y in index],
        *(T, Y, p.transition, p.start, p.end),
    )
    m, expected = graph.marginals(), caesura.marginals(p)
    assert close(m.log_partition, expected.log_partition)
    assert close(m.transitions, expected.transitions)
    assert expected.spans is not None
    assert close(m.spans, [expected.spans[s, e - s - 1, y] for s, e, y in index])
    assert graph.viterbi().segments == [tuple(s) for s in caesura.viterbi(p).segments]
    assert close(graph.entropy(), caesura.entropy(p))


def test_empty_graphs() -> None:
    none: tuple[Any, Any, Any] = ([], [], [])
    for rule, length, log_z in (
        ("filtered", 3, 0.0),
        ("filtered", 0, 0.0),
        ("adjacent", 0, 0.0),
        ("adjacent", 3, -np.inf),
    ):
        graph = SpanGraph(*none, length, 2, start=[1.0, 1.0], end=[1.0, 1.0], rule=rule)
        assert graph.log_partition() == log_z
        if log_z == 0.0:
            assert graph.viterbi() == ([], [], 0.0)
            assert graph.entropy() == 0.0
            assert not graph.marginals().starts.any()
        else:
            with pytest.raises(Impossible):
                graph.viterbi()


@pytest.mark.parametrize("rule", ["adjacent", "filtered"])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_long_chains_lose_no_digits(rule: str, scale: float) -> None:
    """A chain of 20,000 tokens, with all scores lowered by a constant."""
    T, Y, rng = 20_000, 2, np.random.default_rng(1)
    spans = np.repeat(np.stack([np.arange(T), np.arange(T) + 1], axis=1), Y, axis=0)
    emission, transition = rng.normal(size=(T, Y)), rng.normal(size=(Y, Y))
    labels = np.tile(np.arange(Y), T)
    graph = SpanGraph(spans, labels, (emission - scale).ravel(), T, Y, transition, rule=rule)
    p = caesura.Potentials(T, Y, max_length=1)
    p.emission, p.transition = (emission - scale) + scale, transition  # rounded as the graph's are
    expected = caesura.marginals(p)
    m = graph.marginals()
    assert close(m.log_partition, expected.log_partition - scale * T)
    assert np.abs(m.spans.reshape(T, Y) - expected.tokens).max() < 1e-9
    assert close(graph.viterbi().score, caesura.viterbi(p).score - scale * T)
    assert graph.viterbi().segments == [tuple(s) for s in caesura.viterbi(p).segments]


def test_cost_is_linear_in_the_spans_whatever_the_number_of_arcs() -> None:
    """Counted: one sum a span, at most three rows a stop or gate, one step over transitions a gate.

    The filtered graph of n nested and shifted spans has a window of about n / 2 ends at each gate,
    so that listing arcs would take about n^2 / 4 steps.
    """
    for n in (100, 1000):
        wide = [(i, n + i) for i in range(n)] + [(2 * n + i, 3 * n + i) for i in range(n)]
        for rule in ("filtered", "adjacent"):
            graph = SpanGraph(wide, [0] * 2 * n, [0.0] * 2 * n, 4 * n, 1, rule=rule)
            tally = graph._graph.tally()
            assert tally["spans"] == 2 * n
            assert tally["arcs"] == 0
            assert tally["rows"] <= 2 * 4 * n
            assert tally["steps"] <= 2 * n
    arcs = [(0, n)]
    case = SpanGraph(
        wide, [0] * 2 * n, [0.0] * 2 * n, 4 * n, 1, rule="filtered", arcs=arcs, arc_scores=[1.0]
    )
    assert case._graph.tally()["arcs"] <= n  # the predecessors of one span


def test_rows_of_the_windows_are_counted_once() -> None:
    """Windows that overlap partly at each of many gates: the sums of each stop are made once."""
    n, width = 2000, 50
    spans = [(i, i + width) for i in range(n)]
    graph = SpanGraph(spans, [0] * n, [0.0] * n, n + width, 1, rule="filtered")
    assert graph._graph.tally()["rows"] <= 3 * n


def bigram_case(T: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    spans = [(s, e) for s in range(T) for e in range(s + 1, min(s + 3, T) + 1)]
    arcs = [
        (i, j) for (i, a), (j, b) in itertools.product(enumerate(spans), repeat=2) if a[1] == b[0]
    ]
    return {
        "spans": spans,
        "labels": [0] * len(spans),
        "scores": rng.normal(size=len(spans)),
        "length": T,
        "n_labels": 1,
        "arcs": arcs,
        "arc_scores": rng.normal(size=len(arcs)),
    }


def test_gradient_of_word_bigrams_by_finite_differences() -> None:
    case = bigram_case(6, 0)
    m, step = SpanGraph(**case).marginals(), 1e-6
    for name, counts in (("scores", m.spans), ("arc_scores", m.arcs)):
        for i in range(len(counts)):
            moved = []
            for sign in (1, -1):
                values = np.array(case[name])
                values[i] += sign * step
                moved.append(SpanGraph(**{**case, name: values}).log_partition())
            assert abs((moved[0] - moved[1]) / (2 * step) - counts[i]) < 1e-8


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"spans": [(0, 1, 2)]}, r"spans: got \(1, 3\), expected the shape \(1, 2\)"),
        ({"spans": [(0.0, 1.0)]}, "spans: got 'dtype float64', expected whole numbers"),
        ({"spans": [(1, 1)]}, r"spans\[0\]: got \(1, 1\), expected 0 <= start < end <= 3"),
        ({"spans": [(1, 4)]}, r"spans\[0\]: got \(1, 4\)"),
        ({"labels": [2]}, r"labels\[0\]: got 2, expected 0 to 1"),
        ({"labels": [0, 1]}, r"labels: got \(2,\), expected the shape \(1,\)"),
        ({"scores": [np.nan]}, "scores: got NaN"),
        ({"scores": [0.0, 1.0]}, r"scores: got \(2,\), expected the shape \(1,\)"),
        ({"scores": ["x"]}, "scores: got .* expected numbers"),
        ({"length": -1}, "length: got -1"),
        ({"length": 10**12}, "length: got 1000000000000"),
        ({"n_labels": 0}, "n_labels: got 0"),
        ({"transition": np.zeros((2, 3))}, r"transition: got \(2, 3\), expected the shape"),
        ({"start": [np.inf, 0.0]}, "start: got NaN, \\+inf"),
        ({"end": np.zeros(3)}, r"end: got \(3,\)"),
        ({"rule": "near"}, "rule: got 'near', expected one of"),
        ({"arcs": [(0, 0)]}, "arcs, arc_scores: got one without the other"),
        ({"arcs": [(0, 1)], "arc_scores": [0.0]}, r"arcs\[0\]: got \(0, 1\), expected two spans"),
        ({"arcs": [(0, 0)], "arc_scores": [0.0]}, r"arcs\[0\]: got '\(0, 1\) -> \(0, 1\)'"),
    ],
)
def test_errors_name_the_argument(arguments: Case, text: str) -> None:
    good: Case = {"spans": [(0, 1)], "labels": [0], "scores": [0.0], "length": 3, "n_labels": 2}
    with pytest.raises(InvalidInput, match=text):
        SpanGraph(**{**good, **arguments})


def test_numbers_of_paths_are_checked() -> None:
    graph = SpanGraph([(0, 1)], [0], [0.0], 1, 1)
    for n in (0, 2**40, 1.5):
        with pytest.raises(InvalidInput, match="n: got"):
            graph.n_best(n)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="n: got"):
            graph.sample(n)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="seed: got"):
        graph.sample(1, -1)
    with pytest.raises(InvalidInput, match=r"path\[0\]: got 1"):
        graph.score([1])


# -- batches ---------------------------------------------------------------------------------------


@given(st.lists(cases(), max_size=4), st.integers(1, 3))
def test_a_batch_answers_as_its_graphs_do(some: list[Case], n_threads: int) -> None:
    """All graphs of a batch share labels, their scores and the rule: those of the first."""
    common = (
        {k: some[0][k] for k in ("n_labels", "transition", "start", "end", "rule")} if some else {}
    )
    Y = common.get("n_labels", 1)
    some = [
        {**one, **common, "labels": one["labels"] % Y, "arcs": [], "arc_scores": []} for one in some
    ]
    rows = [
        (b, s, e, y)
        for b, one in enumerate(some)
        for (s, e), y in zip(one["spans"], one["labels"].tolist(), strict=True)
    ]
    scores = np.concatenate([np.zeros(0), *(one["scores"] for one in some)])
    lengths = np.array([one["length"] for one in some], np.int64)
    more = {k: v for k, v in common.items() if k != "n_labels"}
    batch = SpanGraphs(
        np.array(rows, np.int64).reshape(-1, 4), scores, lengths, Y, **more, n_threads=n_threads
    )
    assert len(batch) == len(some)
    graphs = [graph_of(one) for one in some]
    log_z = np.array([graph.log_partition() for graph in graphs])
    assert np.array_equal(batch.log_partition(), log_z)
    found = batch.marginals()
    assert np.array_equal(found.log_partition, log_z)
    for b, (one, graph) in enumerate(zip(some, graphs, strict=True)):
        part = slice(*batch.offsets[b : b + 2].tolist())
        listed = sum(
            may_follow(one, e, s) for (_, e), (s, _) in itertools.product(one["spans"], repeat=2)
        )
        assert batch.arcs()[b] == listed
        if np.isneginf(log_z[b]):
            assert not found.spans[part].any()
            continue
        alone = graph.marginals()
        assert np.array_equal(found.spans[part], alone.spans)
        assert np.array_equal(found.transitions[b], alone.transitions)
    if np.isneginf(log_z).any():
        bad = int(np.flatnonzero(np.isneginf(log_z))[0])
        for ask in (batch.best, batch.entropy, lambda: batch.sample(1)):
            with pytest.raises(Impossible, match=f"sequence {bad} "):
                ask()
        return
    offsets = batch.offsets.tolist()
    assert np.array_equal(batch.entropy(), [graph.entropy() for graph in graphs])
    for b, graph in enumerate(graphs):
        for mine, own in (
            (batch.n_best(3)[b], graph.n_best(3)),
            (batch.sample(3, 5)[b], graph.sample(3, 5 + b)),
        ):
            assert [([i - offsets[b] for i in p.spans], p.score) for p in mine] == [
                (p.spans, p.score) for p in own
            ]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"spans": [(0, 0, 1)]}, r"spans: got \(1, 3\), expected the shape \(1, 4\)"),
        ({"spans": [(2, 0, 1, 0)]}, r"spans\[0\]: got \(2, 0, 1, 0\), expected a sequence below 2"),
        ({"spans": [(0, 1, 1, 0)]}, r"spans\[0\]: got \(0, 1, 1, 0\)"),
        ({"spans": [(1, 0, 3, 0)]}, r"spans\[0\]: got \(1, 0, 3, 0\)"),
        ({"spans": [(0, 0, 1, 2)]}, r"spans\[0\]: got \(0, 0, 1, 2\)"),
        (
            {"spans": [(1, 0, 1, 0), (0, 0, 1, 0)], "scores": [0.0, 0.0]},
            r"spans\[1\]: .* sorted by sequence",
        ),
        ({"scores": [np.nan]}, "scores: got NaN"),
        ({"scores": []}, r"scores: got \(0,\), expected the shape \(1,\)"),
        ({"lengths": [-1, 2]}, r"lengths\[0\]: got -1"),
        ({"lengths": [1.5, 2.0]}, "lengths: got 'dtype float64'"),
        ({"rule": "near"}, "rule: got 'near'"),
        ({"n_threads": 0}, "n_threads: got 0"),
        ({"transition": np.zeros((1, 2))}, r"transition: got \(1, 2\)"),
    ],
)
def test_errors_of_a_batch_name_the_argument(changed: Case, text: str) -> None:
    good: Case = {"spans": [(0, 0, 1, 0)], "scores": [0.0], "lengths": [3, 2], "n_labels": 2}
    with pytest.raises(InvalidInput, match=text):
        SpanGraphs(**{**good, **changed})
