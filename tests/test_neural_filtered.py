"""Filtered semi-CRFs agree with enumeration: paths, losses, decoders; and span vectors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from oracle import Draw, close
from torch import Tensor

import caesura
from caesura.errors import InvalidInput
from caesura.inference.problems import Rule
from caesura.neural import FilteredSemiCRF, graph
from caesura.neural.kept_graphs import Graphs, NoPath, best_means
from caesura.neural.spans import REPRESENTATIONS, SpanRepresentation

Row = tuple[int, int, int, int]


def maximal_sets(spans: list[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the maximal sets of spans that do not overlap, each sorted by start."""

    def apart(chosen: Any) -> bool:
        ordered = sorted(spans[i] for i in chosen)
        return all(a[1] <= b[0] for a, b in itertools.pairwise(ordered))

    everything = range(len(spans))
    good = [
        set(chosen)
        for k in range(len(spans) + 1)
        for chosen in itertools.combinations(everything, k)
        if apart(chosen)
    ]
    best = [one for one in good if not any(one < other for other in good)]
    return [tuple(sorted(one, key=lambda i: spans[i])) for one in best]


def path_score(path: tuple[int, ...], labels: Any, scores: Any, transition: Any) -> float:
    pairs = sum(float(transition[labels[a], labels[b]]) for a, b in itertools.pairwise(path))
    return float(sum(float(scores[i]) for i in path)) + pairs


class Case:
    """A batch of kept spans with scores."""

    def __init__(self, draw: Draw) -> None:
        self.lengths = np.array(draw(st.lists(st.integers(0, 6), min_size=1, max_size=3)), np.int64)
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.Y = draw(st.integers(1, 3))
        share = draw(st.sampled_from([0.0, 0.3, 0.6]))
        rows: list[Row] = []
        for b, n in enumerate(self.lengths.tolist()):
            every = [(s, e) for s in range(n) for e in range(s + 1, n + 1)]
            kept = [place for place in every if rng.random() < share][:9]
            rows += [(b, s, e, int(rng.integers(self.Y))) for s, e in kept]
        self.rows = np.array(rows, np.int64).reshape(-1, 4)
        self.scores = torch.tensor(rng.normal(size=len(rows)) * 2, requires_grad=True)
        self.transition = torch.tensor(rng.normal(size=(self.Y, self.Y)), requires_grad=True)

    def each(self) -> Any:
        """Yield the spans, labels and scores of each sequence, and all paths with their scores."""
        transition = self.transition.detach().numpy()
        for b in range(len(self.lengths)):
            mine = self.rows[:, 0] == b
            part = self.rows[mine]
            scores = self.scores.detach().numpy()[mine]
            spans = [(int(s), int(e)) for _, s, e, _ in part]
            paths = maximal_sets(spans)
            totals = [path_score(path, part[:, 3], scores, transition) for path in paths]
            yield part, scores, paths, totals


@st.composite
def graphs(draw: Draw) -> Case:
    return Case(draw)


@settings(max_examples=60)
@given(graphs())
def test_log_partition_is_the_sum_over_maximal_sets(case: Case) -> None:
    expected = [np.logaddexp.reduce(totals) for *_, totals in case.each()]
    for use_kernels in (True, False):
        found = graph.log_partition(
            case.rows, case.lengths, case.scores, case.transition, use_kernels
        )
        assert close(found.detach().numpy(), expected)


@settings(max_examples=25)
@given(graphs())
def test_derivatives_of_the_log_partition(case: Case) -> None:
    if not len(case.rows):
        return
    for use_kernels in (True, False):

        def ask(scores: Tensor, transition: Tensor, use: bool = use_kernels) -> Tensor:
            return graph.log_partition(case.rows, case.lengths, scores, transition, use)

        inputs = (case.scores, case.transition)
        assert torch.autograd.gradcheck(ask, inputs, fast_mode=True)
        assert torch.autograd.gradgradcheck(ask, inputs, fast_mode=True)


@settings(max_examples=60)
@given(graphs())
def test_arcs_are_counted_without_listing_them(case: Case) -> None:
    for part, *_ in case.each():
        spans = part[:, 1:3]
        assert graph.size_of(spans) == (len(spans), sum(map(len, graph.predecessors(spans))))


def test_the_complete_graph_has_the_nodes_and_arcs_of_the_propositions() -> None:
    for L in range(1, 9):
        spans = np.array([(s, e) for s in range(L) for e in range(s + 1, L + 1)])
        nodes, arcs = L * (L + 1) // 2, L * (L - 1) * (L + 1) // 6
        assert graph.size_of(spans) == (nodes, arcs)
        assert sum(map(len, graph.predecessors(spans))) == arcs


@settings(max_examples=60)
@given(graphs())
def test_decoders_are_exact(case: Case) -> None:
    scores, transition = (x.detach().numpy() for x in (case.scores, case.transition))
    means = best_means(case.rows, case.lengths, scores, transition)
    offset = 0
    for (path, total), (part, scores, paths, totals) in zip(means, case.each(), strict=True):
        spans = part[:, 1:3]
        if len(part):
            expected = max(t / len(path) for t, path in zip(totals, paths, strict=True))
            assert close(total / len(path), expected)
        assert tuple(i - offset for i in path) in paths
        offset += len(part)
        assert tuple(graph.greedy(spans, scores)) in paths
        if len(part):
            assert int(np.argmax(scores)) in graph.greedy(spans, scores)


def keeps(labels: list[int], rules: tuple[Rule, ...]) -> bool:
    """Say whether labels keep rules, by their definition."""
    for name, some in rules:
        count = sum(labels.count(y) for y in some)
        places = [some.index(y) for y in labels if y in some]
        good = {"at most once": count <= 1, "exactly once": count == 1}
        if not good.get(name, places == sorted(places)):
            return False
    return True


@settings(max_examples=80)
@given(graphs(), st.data())
def test_rules_about_labels_leave_the_paths_that_keep_them(case: Case, data: Any) -> None:
    kinds = st.sampled_from(["at most once", "exactly once", "ordered"])
    label = st.integers(0, case.Y - 1)
    rules = []
    for _ in case.lengths:
        drawn = data.draw(st.lists(st.tuples(kinds, label), max_size=2, unique=True))
        order = tuple(data.draw(st.permutations(range(case.Y))))
        named = ((name, order if name == "ordered" else (y,)) for name, y in drawn)
        rules.append(tuple(dict(named).items()))
    scores, transition = (x.detach().numpy() for x in (case.scores, case.transition))
    every, offset = [], 0
    for own, (part, _, paths, totals) in zip(rules, case.each(), strict=True):
        kept = [
            ([i + offset for i in path], total)
            for path, total in zip(paths, totals, strict=True)
            if keeps([int(part[i, 3]) for i in path], own)
        ]
        every.append(sorted(kept, key=lambda one: -one[1]))
        offset += len(part)
    given = (case.rows, case.lengths, scores, transition, rules)
    never = [b for b, kept in enumerate(every) if not kept]
    if never:
        with pytest.raises(NoPath) as error:
            Graphs(*given).best()
        assert error.value.sequence in never
        return
    made = Graphs(*given)
    log_z, likely = made.marginals()
    expected = np.zeros(len(case.rows))
    for b, kept in enumerate(every):
        total = np.logaddexp.reduce([score for _, score in kept])
        assert close(log_z[b], total)
        for path, score in kept:
            expected[path] += math.exp(score - total)
        shares = np.exp([score - total for _, score in kept])
        assert close(made.entropy()[b], -float(shares @ np.log(shares)), 1e-9)
    assert close(likely, expected)
    for found, kept in zip(made.n_best(1000), every, strict=True):
        assert sorted(tuple(path) for path, _ in found) == sorted(tuple(p) for p, _ in kept)
        assert close([s for _, s in found], [s for _, s in kept])
    for (_, best), kept in zip(made.best(), every, strict=True):
        assert close(best, kept[0][1])
    for (path, total), kept in zip(best_means(*given), every, strict=True):
        if kept[0][0]:
            assert close(total / len(path), max(s / len(p) for p, s in kept))
    for drawn, kept in zip(made.sample(5, 1), every, strict=True):
        assert all(path in [p for p, _ in kept] for path, _ in drawn)


def scored(rng: Any, B: int, T: int, K: int, Y: int, scale: float = 2.0) -> tuple[Tensor, Tensor]:
    local, path = rng.normal(size=(B, T, K, Y + 1)), rng.normal(size=(B, T, K, Y)) * scale
    return torch.tensor(local), torch.tensor(path)


def some_gold(rng: Any, lengths: Any, K: int, Y: int) -> list[list[tuple[int, int, int]]]:
    found = []
    for n in lengths:
        t, cut = 0, []
        while t < n:
            width = int(rng.integers(1, K + 1))
            if rng.random() < 0.4 and t + width <= n:
                cut.append((t, t + width, int(rng.integers(Y))))
                t += width
            else:
                t += 1
        found.append(cut)
    return found


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_losses_equal_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    B, T, K, Y = 2, int(rng.integers(1, 6)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    lengths = rng.integers(0, T + 1, B).tolist()
    layer = FilteredSemiCRF(3, Y, K, "sum", null_weight=0.3).double()
    with torch.no_grad():
        layer.transition.copy_(torch.tensor(rng.normal(size=(Y, Y))))
    local, path = scored(rng, B, T, K, Y)
    gold = some_gold(rng, lengths, K, Y)
    for b, n in enumerate(lengths):  # padding may hold anything
        for t in range(T):
            for x in (local, path):
                x[b, t, max(0, n - t) :] = math.nan
    found = layer.losses(local, path, lengths, gold)
    for b, n in enumerate(lengths):
        p = local[b].log_softmax(-1).numpy()
        of_place = {(s, e): y for s, e, y in gold[b]}
        inside = [(s, e) for s in range(n) for e in range(s + 1, min(n, s + K) + 1)]
        expected = -sum(
            (1.0 if place in of_place else 0.3) * p[place[0], place[1] - place[0] - 1, label]
            for place in inside
            for label in [of_place.get(place, -1) + 1]
        )
        assert close(found.filter[b].item(), expected)
        rows = [(s, e, y) for s, e, y in gold[b]]
        for s, e in inside:
            best = int(p[s, e - s - 1].argmax())
            overlaps = any(s < e2 and s2 < e for s2, e2, _ in gold[b])
            if best and overlaps and (s, e) not in of_place:
                rows.append((s, e, best - 1))
        scores = [float(path[b, s, e - s - 1, y]) for s, e, y in rows]
        labels, transition = [y for *_, y in rows], layer.transition.detach().numpy()
        paths = maximal_sets([(s, e) for s, e, _ in rows])
        totals = [path_score(one, labels, scores, transition) for one in paths]
        mine = tuple(range(len(gold[b])))
        assert mine in paths  # the given spans are a path
        wanted = np.logaddexp.reduce(totals) - path_score(mine, labels, scores, transition)
        assert close(found.path[b].item(), wanted)
        assert found.path[b].item() >= -1e-12
        assert (found.nodes[b], found.arcs[b]) == graph.size_of(
            np.array([row[:2] for row in rows], np.int64).reshape(-1, 2)
        )
    assert torch.equal(found.total, found.filter + found.path)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_losses_of_what_is_known_in_part_equal_their_definition(seed: int) -> None:
    """Sequence 0 is labelled in full, sequence 1 in part."""
    rng = np.random.default_rng(seed)
    B, T, K, Y = 2, int(rng.integers(1, 6)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    lengths = rng.integers(0, T + 1, B).tolist()
    layer = FilteredSemiCRF(3, Y, K, "sum", null_weight=0.3).double()
    with torch.no_grad():
        layer.transition.copy_(torch.tensor(rng.normal(size=(Y, Y))))
    local, path = scored(rng, B, T, K, Y)
    local.requires_grad_()
    path.requires_grad_()
    gold = some_gold(rng, lengths, K, Y)
    possible = rng.random((B, T, K, Y)) < 0.5
    possible[0] = False
    for b, t, k in np.ndindex(B, T, K):
        crossed = any(t < e and s < t + k + 1 for s, e, _ in gold[b])
        if crossed or t + k + 1 > lengths[b]:
            possible[b, t, k] = False
    found = layer.losses(local, path, lengths, gold, possible)
    full = layer.losses(local, path, lengths, gold)
    assert close(found.total[0].item(), full.total[0].item())
    assert (found.path >= -1e-12).all()
    n, own = lengths[1], gold[1]
    p = local[1].detach().softmax(-1).numpy()
    of_place = {(s, e): y for s, e, y in own}
    loss, rows, agree = 0.0, list(own), [True] * len(own)
    for s in range(n):
        for e in range(s + 1, min(n, s + K) + 1):
            chances, may = p[s, e - s - 1], possible[1, s, e - s - 1]
            if (s, e) in of_place:
                loss -= math.log(chances[of_place[s, e] + 1])
                continue
            loss -= 0.3 * math.log(chances[0] + chances[1:][may].sum())
            best = int(chances.argmax())
            overlaps = any(s < e2 and s2 < e for s2, e2, _ in own)
            if best and (overlaps or may[best - 1]):
                rows.append((s, e, best - 1))
                agree.append(bool(may[best - 1]))
    assert close(found.filter[1].item(), loss)
    labels, transition = [y for *_, y in rows], layer.transition.detach().numpy()
    given = path.detach()[1]
    scores = [float(given[s, e - s - 1, y]) for s, e, y in rows]
    paths = maximal_sets([(s, e) for s, e, _ in rows])
    totals = [path_score(one, labels, scores, transition) for one in paths]
    told = [t for t, one in zip(totals, paths, strict=True) if all(agree[i] for i in one)]
    expected = np.logaddexp.reduce(totals) - np.logaddexp.reduce(told)
    assert close(found.path[1].item(), expected)
    torch.autograd.backward(found.total.sum())
    for x in (local, path, layer.transition):
        assert x.grad is None or torch.isfinite(x.grad).all()
    plain = FilteredSemiCRF(3, Y, K, "sum", null_weight=0.3, use_kernels=False).double()
    plain.load_state_dict(layer.state_dict())
    assert torch.allclose(plain.losses(local, path, lengths, gold, possible).total, found.total)


def test_without_the_constraint_the_loss_can_be_negative() -> None:
    """The given span is [0, 1); the filter also keeps [2, 3), which every path then contains."""
    local, path = torch.zeros(1, 3, 1, 2), torch.zeros(1, 3, 1, 1)
    local[0, :, 0, 0] = 1.0
    local[0, 2, 0, 1] = 2.0
    path[0, 2] = -3.0
    gold = [[(0, 1, 0)]]
    free, bound = (FilteredSemiCRF(2, 1, 1, constrained=c) for c in (False, True))
    assert free.losses(local, path, None, gold).path.item() == pytest.approx(-3.0)
    assert bound.losses(local, path, None, gold).path.item() == 0.0


@pytest.mark.parametrize("decoder", ["global", "greedy", "mean"])
def test_nothing_kept_and_everything_kept(decoder: str) -> None:
    layer = FilteredSemiCRF(2, 2, 4).double()
    rng = np.random.default_rng(0)
    local, path = scored(rng, 2, 4, 4, 2)
    none, every = local.clone(), local.clone()
    none[..., 0], every[..., 0] = 100.0, -100.0
    assert layer.decode_scores(none, path, [4, 0], decoder) == [[], []]
    losses = layer.losses(none, path, [4, 0], [[], []])
    assert losses.path.tolist() == [0.0, 0.0]
    assert losses.nodes == [0, 0]
    found = layer.decode_scores(every, path, [4, 0], decoder)
    assert found[1] == []
    assert [s for s, _, _ in found[0]] == [0, *(e for _, e, _ in found[0])][:-1]  # no gaps
    assert found[0][-1][1] == 4


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_without_a_filter_it_is_a_semi_crf(seed: int) -> None:
    """All spans with the best label each: the paths are the segmentations."""
    rng = np.random.default_rng(seed)
    T, Y = int(rng.integers(1, 6)), 2
    local, path = scored(rng, 1, T, T, Y)
    local[..., 0] = -100.0
    layer = FilteredSemiCRF(2, Y, T, "sum").double()
    with torch.no_grad():
        layer.transition.copy_(torch.tensor(rng.normal(size=(Y, Y))))
    p = caesura.Potentials(T, Y, max_length=T)
    p.transition = layer.transition.detach().numpy()
    best = local[0, ..., 1:].argmax(-1).numpy()
    for s, k, y in np.ndindex(T, T, Y):
        if s + k < T:
            p.add(s, s + k + 1, y, float(path[0, s, k, y]) if best[s, k] == y else -math.inf)
    rows = layer.candidates(local, np.array([T]))
    scores = path[0, rows[:, 1], rows[:, 2] - rows[:, 1] - 1, rows[:, 3]]
    found = graph.log_partition(rows, np.array([T]), scores, layer.transition)
    assert close(found.item(), caesura.log_partition(p))
    assert layer.decode_scores(local, path, [T]) == [
        [tuple(s) for s in caesura.viterbi(p).segments]
    ]


@pytest.mark.parametrize("kind", REPRESENTATIONS)
def test_span_vectors_do_not_depend_on_the_batch(kind: str) -> None:
    torch.manual_seed(0)
    made = FilteredSemiCRF(4, 2, 3, kind)
    states = torch.randn(2, 5, 4)
    spoiled = states.clone()
    spoiled[1, 3:] = math.nan
    together, alone = made.span_scores(spoiled, [5, 3]), made.span_scores(states[1:, :3])
    for a, b in zip(together, alone, strict=True):
        for t in range(3):
            assert torch.allclose(a[1, t, : 3 - t], b[0, t, : 3 - t], atol=1e-6)
    loss = made(spoiled, [5, 3], [[(0, 2, 1)], [(1, 2, 0)]])
    loss.backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_sums_by_prefix_sums_and_maxima_equal_the_direct_ones() -> None:
    torch.manual_seed(0)
    states = torch.randn(2, 6, 3, dtype=torch.float64)
    for kind, ask in (("sum", Tensor.sum), ("max", Tensor.amax)):
        found = SpanRepresentation(kind, 3, 4)(states)
        for t, k in np.ndindex(6, 4):
            if t + k < 6:
                assert torch.allclose(found[:, t, k], ask(states[:, t : t + k + 1], 1))


def test_sums_with_ends_equal_the_direct_ones() -> None:
    torch.manual_seed(0)
    made, T, K = FilteredSemiCRF(3, 2, 4, "sum_ends").double(), 6, 4
    states, spans = torch.randn(2, T, 3, dtype=torch.float64), made.representation
    vectors, (local, path) = spans(states), made.span_scores(states)
    scored = made.scored(states)
    assert torch.allclose(scored[0], local)
    for t, k in np.ndindex(T, K):
        if t + k < T:
            first, last = spans.first(states[:, t]), spans.last(states[:, t + k])
            own = states[:, t : t + k + 1].sum(1) + first + last + spans.width.weight[k]
            assert torch.allclose(vectors[:, t, k], own)
            assert torch.allclose(local[:, t, k], made.local(own))
            assert torch.allclose(path[:, t, k], made.path(own))
            rows = np.array([(b, t, t + k + 1, y) for b in range(2) for y in range(2)])
            assert torch.allclose(scored[1].at(rows).reshape(2, 2), made.path(own))


def test_mean_and_shared_convolutions_equal_the_direct_ones() -> None:
    torch.manual_seed(0)
    states = torch.randn(1, 5, 3)
    mean = SpanRepresentation("conv_mean", 3, 4)
    tokens = mean.token(states.transpose(1, 2)).transpose(1, 2)
    share = SpanRepresentation("conv_share", 3, 4)
    for t, k in np.ndindex(5, 4):
        if t + k < 5:
            part = tokens[:, t : t + k + 1].mean(1)
            assert torch.allclose(mean(states)[:, t, k], mean.out(part), atol=1e-6)
            taps = torch.einsum("ihk,bkh->bi", share.kernel[..., : k + 1], states[:, t : t + k + 1])
            assert torch.allclose(share(states)[:, t, k], share.out(taps.relu()), atol=1e-6)


def test_one_score_for_a_span() -> None:
    made = FilteredSemiCRF(4, 3, 2, one_score=True)
    _, path = made.span_scores(torch.randn(1, 4, 4))
    assert path.shape == (1, 4, 2, 3)
    assert torch.equal(path[..., 0], path[..., 2])


def test_a_small_model_learns() -> None:
    """Entities are the longest runs of one kind of token."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    layer = FilteredSemiCRF(16, 2, 3, "conv")
    embed, context = torch.nn.Embedding(4, 16), torch.nn.Conv1d(16, 16, 3, padding=1)
    tokens = torch.tensor(rng.integers(0, 2, (16, 8)))
    gold: list[list[tuple[int, int, int]]] = []
    for b in range(16):
        s, width, y = int(rng.integers(0, 5)), int(rng.integers(1, 4)), int(rng.integers(2))
        tokens[b, s : s + width] = 2 + y
        gold.append([(s, s + width, y)])
    everything = torch.nn.ModuleList([embed, context, layer])
    optimiser = torch.optim.Adam(everything.parameters(), 0.01)
    for _ in range(60):
        optimiser.zero_grad()
        states = context(embed(tokens).transpose(1, 2)).transpose(1, 2)
        layer(states, None, gold).backward()
        optimiser.step()
    assert layer.decode(states) == gold
    likely = layer.probabilities(states)
    for b in range(16):
        found = {row[:3]: row[3] for row in likely[b]}
        assert found[gold[b][0]] > 0.8


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: FilteredSemiCRF(2, 1, 1, "average"), "representation: got 'average'"),
        (lambda: FilteredSemiCRF(2, 1, 1, null_weight=2), "null_weight: got 2"),
        (lambda: FilteredSemiCRF(2, 1, 1, dropout=-1), "dropout: got -1"),
        (
            lambda: FilteredSemiCRF(2, 1, 1).decode(torch.full((1, 2, 2), torch.nan)),
            r"local\[0, 0, 0\]: got 'NaN'",
        ),
        (lambda: asked([[(0, 2, 0)]]), r"segments\[0\]: got \(0, 2, 0\), expected at most max_wid"),
        (lambda: asked([[(0, 1, 1)]]), r"segments\[0\]: got \(0, 1, 1\), expected 0 <= start < en"),
        (lambda: asked([[(0, 1, 0), (0, 1, 0)]]), r"segments\[0\]: .* do not overlap"),
        (lambda: asked([[]], "max"), "reduction: got 'max'"),
        (
            lambda: FilteredSemiCRF(2, 1, 1).decode(torch.zeros(1, 2, 2), None, "best"),
            "decoder: go",
        ),
        (lambda: FilteredSemiCRF(2, 1, 1).decode(torch.zeros(1, 2, 3)), r"states: got \(1, 2, 3\)"),
        (
            lambda: on_meta().decode(torch.zeros(1, 2, 2, device="meta")),
            "local: got 'the device me",
        ),
        (lambda: on_meta()(torch.zeros(1, 2, 2, device="meta"), None, [[]]), "local: got 'the dev"),
        (
            lambda: FilteredSemiCRF(2, 1, 1).losses(
                torch.zeros(1, 2, 1, 2), torch.zeros(1, 2, 1, 1), None, [[]], np.ones((1, 2, 1, 3))
            ),
            r"possible: got \(1, 2, 1, 3\), expected the shape \(1, 2, 1, 1\)",
        ),
    ],
)
def test_errors_name_the_argument(ask: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        ask()


def on_meta() -> FilteredSemiCRF:
    return FilteredSemiCRF(2, 1, 1).to("meta")


def test_scores_on_the_meta_device_and_empty_batches() -> None:
    local, path = on_meta().span_scores(torch.zeros(2, 3, 2, device="meta"))
    assert (local.shape, path.shape) == ((2, 3, 1, 2), (2, 3, 1, 1))
    layer, nothing = FilteredSemiCRF(2, 1, 1), torch.zeros(0, 3, 2)
    assert layer(nothing, [], []).item() == 0.0
    for ask in (layer.decode, layer.probabilities, layer.n_best, layer.sample):
        assert ask(nothing) == []


def asked(segments: Any, reduction: str = "mean") -> Tensor:
    layer = FilteredSemiCRF(2, 1, 1)
    return layer(torch.zeros(1, 3, 2), None, segments, reduction)  # type: ignore[no-any-return]
