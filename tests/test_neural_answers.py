"""Constraints, partial labels, samples, reasons: what a fitted network answers beside segments."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from oracle import close

import caesura
from caesura import Partial, features
from caesura.errors import Impossible, InvalidInput
from caesura.neural import NeuralSegmenter
from caesura.neural.kept_graphs import Graphs
from caesura.segments import Segment

LAYERS = ["chain", "semi", "overlapping"]
SMALL: dict[str, Any] = {
    "word_size": 8,
    "character_size": 0,
    "shape_size": 4,
    "hidden": 6,
    "dropout": 0.0,
    "rate": 0.05,
    "epochs": 2,
    "n_threads": 1,
}
X = [["mr", "Ann", "Lee", "ran"], ["in", "Bath", "so"], ["so", "mr", "Lee"], ["in", "York", "Bath"]]
Y = [
    [Segment(1, 3, "name")],
    [Segment(1, 2, "town")],
    [Segment(2, 3, "name")],
    [Segment(1, 2, "town"), Segment(2, 3, "town")],
]


@pytest.fixture(scope="module")
def models() -> dict[str, NeuralSegmenter]:
    some = [features.word, features.word[-1]]
    return {
        kind: NeuralSegmenter(
            kind, features=some, order=1 if kind == "filtered" else 2, max_length=3, **SMALL
        ).fit(X, Y)
        for kind in (*LAYERS, "filtered")
    }


def every_answer(model: NeuralSegmenter, x: list[str]) -> list[tuple[list[Segment], float]]:
    (ranked,) = model.predict_n_best([x], 100_000)
    assert close(sum(p for _, p in ranked), 1.0, 1e-4)
    return ranked


RULES: list[dict[str, Any]] = [
    {"required": [(0, 2, "town")]},
    {"forbidden": [(1, 3, "name"), (1, 2, "name")]},
    {"allowed": {1: ["town", "O"], 2: ["O"]}},
    {"boundaries": [2]},
    {"at_most_once": ["name", "town"]},
    {"exactly_once": ["town"]},
    {"ordered": ["town", "name"]},
]


def keeps(cut: list[Segment], rules: dict[str, Any]) -> bool:
    """Say whether segments keep rules, by their definition."""
    labels = [s.label for s in cut]
    if "required" in rules:
        return all(Segment(*one) in cut for one in rules["required"])
    if "forbidden" in rules:
        return not any(Segment(*one) in cut for one in rules["forbidden"])
    if "allowed" in rules:
        covered = {t: s.label for s in cut for t in range(s.start, s.end)}
        return all(covered.get(t, "O") in some for t, some in rules["allowed"].items())
    if "boundaries" in rules:
        return not any(s.start < t < s.end for s in cut for t in rules["boundaries"])
    if "at_most_once" in rules:
        return all(labels.count(y) <= 1 for y in rules["at_most_once"])
    if "exactly_once" in rules:
        return all(labels.count(y) == 1 for y in rules["exactly_once"])
    places = [rules["ordered"].index(y) for y in labels if y in rules["ordered"]]
    return places == sorted(places)


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: next(iter(rules)))
@pytest.mark.parametrize("kind", LAYERS)
def test_constrained_answers_are_those_that_keep_the_rules(
    models: Any, kind: str, rules: dict[str, Any]
) -> None:
    model, x = models[kind], X[0]
    kept = [(cut, p) for cut, p in every_answer(model, x) if keeps(cut, rules)]
    total = sum(p for _, p in kept)
    (best,) = model.predict([x], rules)
    assert best == kept[0][0]
    (ranked,) = model.predict_n_best([x], 100_000, rules)
    assert {(tuple(cut), round(p, 4)) for cut, p in ranked} == {
        (tuple(cut), round(p / total, 4)) for cut, p in kept
    }
    (sure,) = model.predict_confident([x], constraints=rules)
    for one in sure:
        expected = sum(p for cut, p in kept if one.segment in cut) / total
        assert close(one.probability, expected, 1e-4)
    (drawn,) = model.sample([x], 20, seed=3, constraints=[rules])
    assert all(keeps(cut, rules) for cut in drawn)


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: next(iter(rules)))
def test_a_filtered_model_keeps_rules(wide: NeuralSegmenter, rules: dict[str, Any]) -> None:
    model = wide
    (free,) = model.predict_n_best([X[0]], 100_000)
    of_labels = next(iter(rules)) in ("at_most_once", "exactly_once", "ordered")
    (ranked,) = model.predict_n_best([X[0]], 100_000, constraints=rules)
    assert all(keeps(cut, rules) for cut, _ in ranked)
    assert close(sum(p for _, p in ranked), 1.0, 1e-6)
    if of_labels:  # the same paths, but for those that break the rules
        kept = {tuple(cut): p for cut, p in free if keeps(cut, rules)}
        assert 0 < len(kept) < len(free)
        total = sum(kept.values())
        assert {tuple(cut) for cut, _ in ranked} == set(kept)
        assert all(close(p, kept[tuple(cut)] / total, 1e-6) for cut, p in ranked)
    assert model.predict(X, [rules, {}, {}, {}])[0] == ranked[0][0]
    for cut in model.sample([X[0]], 10, constraints=rules)[0]:
        assert keeps(cut, rules)
    (m,) = model.predict_marginals([X[0]], rules)
    (sure,) = model.predict_confident([X[0]], constraints=rules)
    for one in sure:
        chance = sum(p for cut, p in ranked if one.segment in cut)
        assert close(one.probability, chance, 1e-6)
        assert close(m.segment(*one.segment), chance, 1e-6)
    for why, segment in zip(model.explain(X[0], rules), ranked[0][0], strict=True):
        others = [p for cut, p in ranked if why.segment not in cut]
        assert why.segment == segment
        expected = math.log(ranked[0][1] / others[0]) if others else math.inf
        assert why.margin == expected or close(why.margin, expected, 1e-6)


@pytest.fixture(scope="module")
def wide() -> NeuralSegmenter:
    """Return a filtered model whose filter is drawn, so that it keeps spans of both labels."""
    some = [features.word, features.word[-1]]
    chosen: dict[str, Any] = {"representation": "sum", "max_length": 3} | SMALL
    model = NeuralSegmenter("filtered", features=some, **chosen).fit(X, Y)
    layer: Any = model.fitted_network().head.layer
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        layer.local.weight.copy_(3 * torch.randn(layer.local.weight.shape, generator=generator))
        layer.local.bias.zero_()
        layer.local.bias[0] = -1.0
    return model


def test_marginals_of_a_filtered_model(wide: NeuralSegmenter) -> None:
    for x, m in zip(X, wide.predict_marginals(X), strict=True):
        (ranked,) = wide.predict_n_best([x], 100_000)
        assert len(m.spans) > 2
        assert m.segments(0.0) == sorted(m.spans, key=lambda one: -one[1])
        for segment, p in m.spans:
            assert close(p, sum(q for cut, q in ranked if segment in cut), 1e-6)
        for t, row in enumerate(m.tokens.tolist()):
            for label, p in zip(m.labels, row, strict=True):
                held = [
                    q
                    for cut, q in ranked
                    if label == next((s.label for s in cut if s.start <= t < s.end), "O")
                ]
                assert close(p, sum(held), 1e-6)
    (m,) = wide.predict_marginals([[]])
    assert (m.spans, m.log_partition, m.tokens.shape) == ([], 0.0, (0, 3))
    with pytest.raises(InvalidInput, match="label: got 'ship'"):
        m.segment(0, 1, "ship")


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"allowed": {0: ["name"]}}, r"constraints\[1\]\['allowed'\]\[0\]: got"),
        ({"no_boundaries": [1]}, r"constraints\[1\]\['no_boundaries'\]: got 1"),
        ({"at_most_once": ["O"]}, r"constraints\[1\]\['at_most_once'\]: got 'O'"),
        ({"required": [(0, 4, "name")]}, r"constraints\[1\]\['required'\]: got"),
        ({"required": [(0, 9, "name")]}, r"constraints\[1\]\['required'\]: got \(0, 9, 'name'\)"),
        ({"required": [(0, 1, "ship")]}, r"constraints\[1\]\['required'\]: got 'ship'"),
    ],
)
def test_rules_that_a_filtered_model_cannot_keep(models: Any, rules: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        models["filtered"].predict([X[1], X[0]], [{}, rules])


def test_rules_that_no_kept_spans_keep(wide: NeuralSegmenter) -> None:
    with pytest.raises(Impossible, match=r"X\[1\]: every set of the spans"):
        wide.predict([X[0], []], {"exactly_once": ["name"]})
    greedy = NeuralSegmenter("filtered", global_loss=False, **SMALL).fit(X, Y)
    with pytest.raises(InvalidInput, match="decoder: got 'greedy'"):
        greedy.predict(X, {"at_most_once": ["name"]})


@pytest.mark.parametrize("kind", LAYERS)
def test_rules_that_nothing_keeps(models: Any, kind: str) -> None:
    with pytest.raises(Impossible, match=r"X\[1\]"):
        models[kind].predict(
            X[:2], [{}, {"exactly_once": ["name"], "allowed": {0: "O", 1: "O", 2: "O"}}]
        )
    with pytest.raises(InvalidInput, match="one for each sequence"):
        models[kind].predict(X[:2], [{}])


@pytest.mark.parametrize("kind", LAYERS)
def test_potentials_and_marginals_are_those_of_the_layer(models: Any, kind: str) -> None:
    model = models[kind]
    (m,) = model.predict_marginals([X[0]])
    (sure,) = model.predict_confident([X[0]])
    head = model.fitted_network().head
    for one in sure:
        found = head.chances(model.potentials(X[0]), [one.segment])[0]
        assert close(found, one.probability, 1e-5)
    assert close(m.log_partition, caesura.log_partition(model.potentials(X[0])), 1e-6)
    assert model.potentials([]).length == 0
    (entropy,) = model.uncertainty([X[0]])
    assert close(entropy * 4, caesura.entropy(model.potentials(X[0])), 1e-4)


def test_what_a_filtered_model_has_no_answer_to(models: Any) -> None:
    with pytest.raises(InvalidInput, match="model: got 'filtered', whose paths through kept spans"):
        models["filtered"].potentials(X[0])
    local = NeuralSegmenter("filtered", global_loss=False, **SMALL).fit(X, Y)
    with pytest.raises(InvalidInput, match="predict_n_best: got a filtered model without a global"):
        local.predict_n_best(X)
    chances = [one.probability for some in local.predict_confident(X) for one in some]
    assert all(0.0 < p <= 1.0 for p in chances)
    with pytest.raises(InvalidInput, match="predict_marginals: got a filtered model without"):
        local.predict_marginals(X)
    for known, said in (
        (Partial(tokens={1: ["name"]}), r"y\[0\].tokens: got 1, expected a known segment over it"),
        (
            Partial([(0, 1, "town")], no_boundaries=[2]),
            r"y\[0\].no_boundaries: got 2, expected a known segment",
        ),
    ):
        with pytest.raises(InvalidInput, match=said):
            NeuralSegmenter("filtered", **SMALL).fit(X[:1], [known])


# -- reasons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LAYERS)
def test_reasons_add_up_to_the_margin_over_the_best_answer_without_a_segment(
    models: Any, kind: str
) -> None:
    model = models[kind]
    for x in X:
        ranked = every_answer(model, x)
        said = model.explain(x)
        assert [one.segment for one in said] == ranked[0][0]
        for one in said:
            others = [(cut, p) for cut, p in ranked if one.segment not in cut]
            assert close(one.margin, math.log(ranked[0][1] / others[0][1]), 1e-3)
            assert close(one.margin, sum(r.difference for r in one.reasons), 1e-9)
            assert set(one.runner_up) == set(others[0][0]) - set(ranked[0][0])
            assert close(one.probability, sum(p for cut, p in ranked if one.segment in cut), 1e-4)
    names = {r.feature for one in model.explain(X[0]) for r in one.reasons}
    assert any(name.startswith("network") for name in names)
    assert any(name.startswith("word[-1]=") for name in names)
    assert "pattern" in names


def test_reasons_of_a_filtered_model(models: Any) -> None:
    model = models["filtered"]
    for x in X:
        (ranked,) = model.predict_n_best([x], 1000)
        for one in model.explain(x):
            others = [(cut, p) for cut, p in ranked if one.segment not in cut]
            assert close(one.probability, sum(p for cut, p in ranked if one.segment in cut), 1e-6)
            if not others:
                assert one.margin == math.inf
                start, end, _ = one.segment
                assert [r.feature for r in one.reasons if r.feature.startswith("network")] == [
                    f"network[{start}:{end}]"
                ]
                continue
            assert close(one.margin, math.log(ranked[0][1] / others[0][1]), 1e-6)
            assert close(one.margin, sum(r.difference for r in one.reasons), 1e-9)
    assert model.explain([]) == []
    rules = {"required": [(0, 1, "town")]}
    assert model.explain(X[0], rules)[0].segment == Segment(0, 1, "town")


# -- text outside in longer segments ---------------------------------------------------------------


def every_cut(model: NeuralSegmenter, x: list[str]) -> list[tuple[list[Segment], float]]:
    """Return all segmentations of a sequence, those of text outside too, and probabilities."""
    head: Any = model.fitted_network().head
    with torch.no_grad():
        states, lengths, extra = model.fitted_network().states([caesura.Document(tuple(x))])
        scores, parts = head.network_scores(states, extra)
        (paths,) = head.layer.n_best(scores, lengths, 100_000, **parts)
        log_z = head.layer.log_partition(scores, lengths, **parts).item()
    cuts = [[Segment(s, e, head.states[y]) for s, e, y in path.segments] for path in paths]
    return [(cut, math.exp(path.score - log_z)) for cut, path in zip(cuts, paths, strict=True)]


@pytest.mark.parametrize("kind", ["semi", "overlapping"])
def test_text_outside_may_be_cut_into_longer_segments(kind: str, tmp_path: Any) -> None:
    settings = {**SMALL, "max_length": 2, "outside_length": None}
    model = NeuralSegmenter(kind, **settings).fit(X, Y)
    every = every_cut(model, X[0])
    assert close(sum(p for _, p in every), 1.0, 1e-4)
    runs = [[s.end - s.start for s in cut if s.label == "O"] for cut, _ in every]
    longest = max(map(max, filter(None, runs)))
    assert longest == (2 if kind == "semi" else 4)
    if kind == "overlapping":  # a run is one segment
        assert not any(a.label == b.label == "O" for cut, _ in every for a, b in pairwise(cut))
    named: dict[tuple[Segment, ...], float] = {}
    for cut, p in every:
        said = tuple(s for s in cut if s.label != "O")
        named[said] = named.get(said, 0.0) + p
    (ranked,) = model.predict_n_best([X[0]], len(named) + 1)
    assert len(ranked) == len(named)
    assert all(close(p, named[tuple(cut)], 1e-4) for cut, p in ranked)
    best = max(every, key=lambda one: one[1])[0]
    assert model.predict([X[0]]) == [[s for s in best if s.label != "O"]]
    for one in model.predict_confident([X[0]])[0]:
        assert close(one.probability, sum(p for c, p in named.items() if one.segment in c), 1e-4)
    rules = {"at_most_once": ["name", "town"]}
    kept = {cut: p for cut, p in named.items() if keeps(list(cut), rules)}
    (ranked,) = model.predict_n_best([X[0]], len(named), rules)
    total = sum(kept.values())
    assert {tuple(cut) for cut, _ in ranked} == set(kept)
    assert all(close(p, kept[tuple(cut)] / total, 1e-4) for cut, p in ranked)
    model.save(tmp_path / "model")
    loaded = caesura.load(tmp_path / "model")
    assert loaded.outside_length is None
    assert loaded.predict(X) == model.predict(X)


@pytest.mark.parametrize("kind", ["semi", "overlapping"])
def test_the_given_text_outside_is_cut_into_the_longest_pieces(kind: str) -> None:
    model = NeuralSegmenter(kind, max_length=3, outside_length=None, **SMALL).fit(X, Y)
    x = ["so"] * 8
    head: Any = model.fitted_network().head
    gold = [Segment(0, 3, "O"), Segment(3, 6, "O"), Segment(6, 7, "O"), Segment(7, 8, "name")]
    if kind == "overlapping":
        gold = [Segment(0, 7, "O"), Segment(7, 8, "name")]
    wanted = {tuple(cut): p for cut, p in every_cut(model, x)}.get(tuple(gold))
    assert wanted is not None
    with torch.no_grad():
        loss = model.fitted_network().loss([caesura.Document(tuple(x))], [[Segment(7, 8, "name")]])
    assert close(loss.item(), -math.log(wanted), 1e-3)
    assert head.many_cuts == (kind == "semi")


# -- partial labels and weights --------------------------------------------------------------------

KNOWN = [
    Partial(segments=[(1, 3, "name")]),
    Partial(tokens={1: ["town", "name"], 2: ["O"]}),
    Partial(boundaries=[2], tokens={0: ["O"]}),
    Partial(no_boundaries=[2]),
    Partial(segments=[(0, 1, "O")]),
    Partial(),
]


@pytest.mark.parametrize("kind", LAYERS)
def test_the_loss_of_partial_labels_is_that_of_all_answers_that_agree(
    models: Any, kind: str
) -> None:
    model, x = models[kind], X[0]
    network = model.fitted_network()
    ranked = every_answer(model, x)
    with torch.no_grad():
        for known in KNOWN:
            loss = network.loss([caesura.Document(tuple(x))], [known]).item()
            agreeing = sum(p for cut, p in ranked if agrees(cut, known, len(x)))
            assert close(loss, -math.log(agreeing), 1e-3), known
        mixed = [caesura.Document(tuple(one)) for one in X[:3]]
        targets: list[Any] = [Y[0], KNOWN[1], Y[2]]
        alone = [network.loss([d], [t]).item() for d, t in zip(mixed, targets, strict=True)]
        weights = [1.0, 0.5, 2.0]
        assert close(network.loss(mixed, targets).item(), float(np.mean(alone)), 1e-4)
        expected = float(np.mean(np.multiply(alone, weights)))
        assert close(network.loss(mixed, targets, weights).item(), expected, 1e-4)


def agrees(cut: list[Segment], known: Partial, length: int) -> bool:
    covered = {t: s.label for s in cut for t in range(s.start, s.end)}
    tokens = all(covered.get(t, "O") in some for t, some in known.tokens.items())
    for s in known.segments:
        inside = {covered.get(t, "O") for t in range(s.start, s.end)}
        tokens = tokens and (inside == {"O"} if s.label == "O" else s in cut)
    joined = {t for s in cut for t in range(s.start + 1, s.end)}
    return tokens and not joined & set(known.boundaries) and set(known.no_boundaries) <= joined


@pytest.mark.parametrize("known", [KNOWN[0], KNOWN[2], KNOWN[4], KNOWN[5], Partial(Y[0])])
def test_the_loss_of_partial_labels_of_a_filtered_model(
    wide: NeuralSegmenter, known: Partial
) -> None:
    """In the filter, null and what agrees are right; a path is right if all of it agrees."""
    network, x = wide.fitted_network(), caesura.Document(tuple(X[0]))
    head: Any = network.head
    with torch.no_grad():
        loss = network.loss([x], [known]).item()
        local, path = head.scores(*network.states([x]))
    p = local[0].double().softmax(-1).numpy()
    rows: list[tuple[int, ...]] = []
    agree, total, n = [], 0.0, len(x)
    for s in range(n):
        for e in range(s + 1, min(n, s + 3) + 1):
            chances = p[s, e - s - 1]
            crossed = [k for k in known.segments if k.label != "O" and s < k.end and k.start < e]
            if crossed and (s, e) == crossed[0][:2]:
                y = head.index[crossed[0].label]
                total, rows = total - math.log(chances[y]), [*rows, (0, s, e, y - 1)]
                agree.append(True)
                continue
            given = [k for k in known.segments if k.label != "O"]
            some = [
                y
                for y in (1, 2)
                if not crossed and agrees([*given, Segment(s, e, head.labels[y])], known, n)
            ]
            total -= head.layer.null_weight * math.log(chances[[0, *some]].sum())
            y = int(chances.argmax())
            if y and (crossed or y in some):
                rows.append((0, s, e, y - 1))
                agree.append(y in some)
    table = np.array(rows, np.int64).reshape(-1, 4)
    good = np.array(agree, bool)
    pairs = head.layer.transition.detach().numpy()
    with torch.no_grad():
        own = path.at(table).numpy()
    every, told = (
        Graphs(table[mine], np.array([n]), own[mine], pairs).marginals()[0][0]
        for mine in (np.ones(len(good), bool), good)
    )
    assert close(loss, total + every - told, 1e-4)


@pytest.mark.parametrize("kind", [*LAYERS, "filtered"])
def test_it_learns_from_partial_labels_and_weights(kind: str) -> None:
    names = ["Ann", "Lee", "Bath", "York"]
    some = [["mr", a, "ran", "in", b] for a, b in product(names, names)]
    full = [[Segment(1, 2, "name"), Segment(4, 5, "town")] for _ in some]
    targets: list[Any] = [
        Partial(segments=[(0, 1, "O"), one[0]], tokens={2: ["O"], 3: ["O"]}) if i % 3 else one
        for i, one in enumerate(full)
    ]
    wrong = [[Segment(0, 1, "town")] for _ in some]
    settings = {**SMALL, "epochs": 12}
    model = NeuralSegmenter(kind, **settings)
    weight = [1.0] * len(some) + [0.0] * len(some)
    model.fit(some + some, targets + wrong, sample_weight=weight)
    assert model.score(some, full) == 1.0
    with pytest.raises(InvalidInput, match="sample_weight: got"):
        model.fit(some, full, sample_weight=[1.0])


# -- more answers ----------------------------------------------------------------------------------


def test_samples_follow_the_probabilities_and_the_seed(models: Any) -> None:
    for model in models.values():
        (ranked,) = model.predict_n_best([X[1]], 3)
        (drawn,) = model.sample([X[1]], 2000, seed=1)
        for cut, p in ranked:
            share = sum(one == cut for one in drawn) / 2000
            assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / 2000) + 1e-3
        assert model.sample(X, 5, seed=2) == model.sample(X, 5, seed=2)
        assert model.sample(X, 5) == model.sample(X, 5, seed=0)


def test_tags_and_thresholds(models: Any) -> None:
    model = models["semi"]
    for x, cut, tags in zip(X, model.predict(X), model.predict_tags(X, "BIOES"), strict=True):
        assert len(tags) == len(x)
        assert [tuple(s) for s in caesura.from_tags(tags, "BIOES")] == [tuple(s) for s in cut]
    (found,) = model.predict_confident([X[0]], threshold=1.0)
    assert all(one.review == (one.probability < 1.0) for one in found)
    with pytest.raises(InvalidInput, match="threshold: got 2"):
        model.predict_confident(X, threshold=2)
    with pytest.raises(InvalidInput, match="precision, threshold: got both"):
        model.predict_confident(X, precision=0.9, threshold=0.5)
    with pytest.raises(InvalidInput, match="constraints: cannot be combined with precision"):
        model.predict_confident(X, precision=0.9, constraints={"boundaries": [1]})
    with pytest.raises(InvalidInput, match="by: got 'width'"):
        model.uncertainty(X, by="width")


def test_answers_do_not_depend_on_the_batch(models: Any) -> None:
    some = [*X, [], ["so"]] * 12  # more than a batch
    for model in models.values():
        together = model.predict_confident(some)
        alone = [model.predict_confident([x])[0] for x in some[:6]]
        for a, b in zip(together[:6] + together[-6:], alone + alone, strict=True):
            assert [one.segment for one in a] == [one.segment for one in b]
            assert np.allclose(
                [one.probability for one in a], [one.probability for one in b], atol=1e-5
            )
