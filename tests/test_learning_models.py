"""How models learn: partial labels, weights, penalties, going on, stopping, checkpoints."""

from __future__ import annotations

import copy
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import addresses

import caesura
from caesura import ChainCRF, InvalidInput, Partial, Segment, SemiCRF, to_tags
from caesura.features import (
    Length,
    Text,
    bias,
    dense,
    edge,
    first,
    last,
    lower,
    shape,
    window,
    word,
)
from caesura.learning import SGD, Progress, ProgressLine
from caesura.models.fitted import Fitted, blocks_of

X, Y = addresses(30, seed=1)
X_NEW, Y_NEW = addresses(30, seed=2)
TOKENS = [*window(lower, -1, 1), shape[0], edge(shape[0])]
SEGMENTS = [*TOKENS, first(word[0]), last(word[0]), Length(exact=3)]
EXACT: dict[str, Any] = {"epsilon": 1e-7, "delta": 0.0, "max_iterations": 500, "n_threads": 1}
KINDS = [SemiCRF, ChainCRF]


def features(kind: Any) -> list[Any]:
    return SEGMENTS if kind is SemiCRF else TOKENS


def weights(model: Any) -> dict[tuple[str, ...], float]:
    """The weights by name, without those that are zero."""
    fitted = model._known
    parameters, states, w = fitted.parameters, fitted.structure.states, fitted.w
    blocks, Y = blocks_of(parameters), len(fitted.structure.states)
    names = fitted.encoder.names([*parameters.attribute, *parameters.edge_attribute])
    keys: list[tuple[str, ...]] = [
        (names[k], states[y]) for k, y in enumerate(parameters.label.tolist())
    ]
    pairs = [(states[k // Y], states[k % Y]) for k in parameters.edge_pair.tolist()]
    keys += [(names[blocks.edges.start + k], *pair) for k, pair in enumerate(pairs)]
    keys += [("", states[k // Y], states[k % Y]) for k in parameters.transition.tolist()]
    keys += [("^", states[y]) for y in parameters.start.tolist()]
    keys += [("$", states[y]) for y in parameters.end.tolist()]
    return {key: value for key, value in zip(keys, w.tolist(), strict=True) if value}


def same(a: Any, b: Any, tolerance: float = 1e-5) -> None:
    ours, theirs = weights(a), weights(b)
    for key in ours.keys() | theirs.keys():
        assert ours.get(key, 0.0) == pytest.approx(theirs.get(key, 0.0), abs=tolerance), key


def gold(model: Any, x: list[str], y: list[Segment]) -> list[Segment]:
    if isinstance(model, SemiCRF):
        return caesura.fill_gaps(y, len(x), outside_length=model.outside_length)
    tags = to_tags(y, model._known.scheme, len(x))
    return [Segment(t, t + 1, tag) for t, tag in enumerate(tags)]


# -- partial labels --------------------------------------------------------------------------------


def partly(i: int, x: list[str], y: list[Segment]) -> Partial | list[Segment]:
    """Say something of each kind about a sequence."""
    if i % 5 == 4 or not y:
        return y
    inner = sorted({b for s in y for b in (s.start, s.end) if 0 < b < len(x)})
    inside = [b for s in y for b in range(s.start + 1, s.end)]
    return [
        Partial(segments=y[:1]),
        Partial(tokens={y[-1].start: {y[-1].label, "O"}, 0: ["O", "number", "street"]}),
        Partial(boundaries=inner[:1], no_boundaries=inside[:1], tokens={y[0].start: y[0].label}),
        Partial(),
    ][i % 5]


def rules_of(known: Partial) -> dict[str, Any]:
    return {
        "required": list(known.segments),
        "allowed": dict(known.tokens),
        "boundaries": list(known.boundaries),
        "no_boundaries": list(known.no_boundaries),
    }


def objective(model: Any, ys: list[Any]) -> float:
    """ln Z - ln Z under what is known, and the penalty, by the engine."""
    total = 0.0
    for x, y in zip(X, ys, strict=True):
        p = model.potentials(x)
        if isinstance(y, Partial):
            known = next(model._asked([x], rules_of(y))).potentials[0]
            total += caesura.log_partition(p) - caesura.log_partition(known)
        else:
            total -= caesura.log_probability(p, gold(model, x, y))
    return total + float(model.c2 * (model._known.w @ model._known.w))


@pytest.mark.parametrize("kind", [1, None, "BIO", "BCEU"])
def test_partial_labels_constrain_ln_z(kind: Any) -> None:
    ys = [partly(i, x, y) for i, (x, y) in enumerate(zip(X, Y, strict=True))]
    model: Any
    if kind in (1, None):
        model = SemiCRF(SEGMENTS, outside_length=kind, c2=0.5, **EXACT)
    else:
        model = ChainCRF(TOKENS, scheme=kind, forbid_invalid="always", c2=0.5, **EXACT)
    model.fit(X, ys)
    value = objective(model, ys)
    assert value == pytest.approx(model.history_[-1].objective, rel=1e-9)
    fitted, rng = model._known, np.random.default_rng(0)
    for k in rng.choice(len(fitted.w), 3, replace=False):
        values = []
        for move in (-1e-3, 1e-3):
            w = fitted.w.copy()
            w[k] += move
            model._fitted = Fitted.of(
                fitted[:3], fitted.encoder, fitted.parameters, w, fitted.rules
            )
            values.append(objective(model, ys))
        assert abs(values[1] - values[0]) / 2e-3 < 1e-4
    model._fitted = fitted
    assert model.score(X, Y) > 0.7


@pytest.mark.parametrize(
    "kind", [SemiCRF, "plain", "BIO", "IOB1", "BIOES", "BMES", "SA", "IOE1", "IOE2"]
)
@pytest.mark.parametrize("forbid", ["predict", "always"])
def test_labels_that_are_known_everywhere_are_full_labels(kind: Any, forbid: str) -> None:
    gap = 1 if kind == "plain" else 0  # each tag occurs, where the scheme can say it
    xs, ys = list(X), list(Y)
    for label in ("number", "street", "town"):
        xs.append(["a"] * 9)
        ys.append([Segment(0, 1, label), Segment(1 + gap, 4, label), Segment(5, 9, label)])
        if not gap:
            xs.append(["a"] * 3)
            ys.append([Segment(0, 1, label), Segment(1, 2, label), Segment(2, 3, label)])
    known = []
    for x, y in zip(xs, ys, strict=True):
        covered = {t for s in y for t in range(s.start, s.end)}
        known.append(Partial(y, tokens={t: "O" for t in range(len(x)) if t not in covered}))
    runs = [Partial(caesura.fill_gaps(y, len(x), "O", None)) for x, y in zip(xs, ys, strict=True)]

    def fitted(ys: Any) -> Any:
        if kind is SemiCRF:
            length = None if forbid == "predict" else 1
            return SemiCRF(SEGMENTS, outside_length=length, c2=0.5, **EXACT).fit(xs, ys)
        return ChainCRF(TOKENS, scheme=kind, forbid_invalid=forbid, c2=0.5, **EXACT).fit(xs, ys)

    full = fitted(ys)
    for some in (known, runs):
        partial = fitted(some)
        same(partial, full)
        if kind is not SemiCRF or forbid == "always":
            assert partial.n_features_ == full.n_features_


def test_a_set_of_labels_restricts_the_label_and_not_the_ends() -> None:
    x = ["Park", "Park", "Park"]
    ys: Any = [Partial(tokens={1: ["street"]})]
    model = SemiCRF([word[0]], c2=1.0, n_threads=1).fit([*X, x], [*Y, *ys])
    p = model.potentials(x).constrain(allowed={1: ["street"]})
    m = caesura.marginals(p)
    assert m.tokens[1, model.labels_.index("street")] == pytest.approx(1.0)
    assert 0 < m.boundaries[1] < 1


def test_partial_labels_alone() -> None:
    ys = [Partial(segments=y) for y in Y]
    for kind in KINDS:
        model = kind(features(kind), c2=0.5).fit(X, ys)
        assert model.labels_ == ["number", "street", "town"]
        found = [{s.label for s in some} for some in model.predict(X)]
        assert found[0]


@pytest.mark.parametrize(
    ("scheme", "known"),
    [("plain", Partial(boundaries=[1])), ("IOB1", Partial(no_boundaries=[1]))],
)
def test_what_a_scheme_cannot_say(scheme: str, known: Partial) -> None:
    ys: list[Any] = [*Y[:5], known]
    with pytest.raises(InvalidInput, match=r"y\[5\]: .* cannot express; pass scheme='BIO'"):
        ChainCRF([word[0]], scheme=scheme).fit([*X[:5], ["a", "b"]], ys)
    ChainCRF([word[0]], scheme="BIO").fit([*X[:5], ["a", "b"]], ys)


def test_partial_labels_that_are_impossible() -> None:
    ys: Any = [*Y, Partial(segments=[(0, 3, "town")])]
    with pytest.raises(InvalidInput, match=r"y\[30\]: got labels that no segmentation agrees with"):
        SemiCRF([word[0]], max_length={"town": 2}).fit([*X, ["a", "b", "c"]], ys)


# -- weights and penalties -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions(kind: Any) -> None:
    counts = np.arange(len(X)) % 3 + 1
    repeated = [i for i, count in enumerate(counts) for _ in range(count)]
    options = {"c2": 1.0, **EXACT}
    weighted = kind(features(kind), **options).fit(X, Y, sample_weight=counts)
    expected = kind(features(kind), **options)
    expected.fit([X[i] for i in repeated], [Y[i] for i in repeated])
    same(weighted, expected)
    with_zeros = kind(features(kind), **options)
    with_zeros.fit([*X, *X_NEW], [*Y, *Y_NEW], sample_weight=[1.0] * 30 + [0.0] * 30)
    assert with_zeros.predict(X) == kind(features(kind), **options).fit(X, Y).predict(X)


def test_partial_sequences_have_weights_too() -> None:
    ys = [Partial(segments=y[:1]) for y in Y]
    options = {"c2": 1.0, **EXACT}
    a = SemiCRF([lower[0]], **options).fit(X, ys, sample_weight=np.full(30, 2.0))
    same(a, SemiCRF([lower[0]], **options).fit([*X, *X], [*ys, *ys]))


@pytest.mark.parametrize("kind", KINDS)
def test_class_weights_raise_the_recall_of_their_label(kind: Any) -> None:
    rng = np.random.default_rng(0)
    words = [[f"w{k}" for k in rng.integers(0, 6, 4)] for _ in range(150)]
    ys = [
        [Segment(t, t + 1, "A") for t, w in enumerate(x) if rng.random() < int(w[1:]) / 8]
        for x in words
    ]

    def scores(weight: dict[str, float] | None) -> Any:
        model = kind([word[0]], c2=0.1, class_weight=weight).fit(words, ys)
        return caesura.evaluate(ys, model.predict(words)).labels["A"]

    plain, more, less = scores(None), scores({"A": 5.0}), scores({"A": 0.2})
    assert scores({"A": 1.0}) == plain
    assert more.recall > plain.recall > less.recall
    assert more.precision < plain.precision
    assert scores({"O": 5.0}).recall < plain.recall


@pytest.mark.parametrize("kind", KINDS)
def test_class_weights_count_for_partial_labels(kind: Any) -> None:
    options: dict[str, Any] = {"c2": 0.5, "class_weight": {"town": 3.0, "O": 0.5}, **EXACT}
    options |= {"all_possible_states": True, "all_possible_transitions": True}
    options |= {"scheme": "plain"} if kind is ChainCRF else {}  # others have more tags for Partial
    full = kind([word[0]], **options).fit(X, Y)
    known = [
        Partial(y, {t: "O" for t in range(len(x)) if not any(s.start <= t < s.end for s in y)})
        for x, y in zip(X, Y, strict=True)
    ]
    same(kind([word[0]], **options).fit(X, [Y[0], *known[1:]]), full, 1e-4)
    some = [Partial(y[:1]) for y in Y[1:]]
    weighted, plain = (
        kind([word[0]], **options | {"class_weight": weight}).fit(X, [Y[0], *some])
        for weight in ({"number": 5.0}, None)
    )
    assert not np.allclose(weighted._known.w, plain._known.w, atol=1e-3)


def test_class_weights_are_softmax_margins() -> None:
    """ln c is added to the scores of wrong labels on tokens of the label, in ln Z only."""
    model = SemiCRF([word[0]], c2=0.5, class_weight={"town": 3.0}, **EXACT).fit(X, Y)
    total = model.c2 * float(model._known.w @ model._known.w)
    for x, y in zip(X, Y, strict=True):
        p = model.potentials(x)
        score = caesura.score(p, gold(model, x, y))
        for segment in y:
            if segment.label == "town":
                wrong = [k for k, label in enumerate(p.labels) if label != "town"]
                p.emission[segment.start : segment.end, wrong] += np.log(3.0)
        total += caesura.log_partition(p) - score
    assert total == pytest.approx(model.history_[-1].objective, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_groups_have_their_own_penalties(kind: Any) -> None:
    model = kind(
        features(kind),
        c2=0.1,
        penalties={"lower[0]": 1e6, shape[0]: (50.0, 0.0), "transitions": (0.0, 1e6)},
        **EXACT,
    ).fit(X, Y)
    found = weights(model)
    assert all(abs(v) < 1e-4 for (name, *_), v in found.items() if name.startswith("lower[0]"))
    assert not any(name.startswith("shape[0]") for name, *_ in found)
    assert all(abs(v) < 1e-4 for (name, *_), v in found.items() if name in ("", "^", "$"))
    assert any(abs(v) > 0.5 for (name, *_), v in found.items() if name.startswith("lower[-1]"))
    plain = kind(features(kind), c2=0.1, penalties={"lower[0]": 0.1}, **EXACT).fit(X, Y)
    same(plain, kind(features(kind), c2=0.1, **EXACT).fit(X, Y))


def test_owl_qn_makes_zeros() -> None:
    full = SemiCRF(SEGMENTS, c2=0.1).fit(X, Y)
    sparse = SemiCRF(SEGMENTS, c1=0.5, c2=0.0).fit(X, Y)
    assert len(weights(sparse)) < len(weights(full)) / 3
    assert sparse.score(X, Y) > 0.9


def test_min_freq_and_all_possible_pairs() -> None:
    few = SemiCRF([word[0]], min_freq=3).fit(X, Y)
    plain = SemiCRF([word[0]]).fit(X, Y)
    every = SemiCRF([word[0]], all_possible_states=True).fit(X, Y)
    seen = SemiCRF([word[0]], all_possible_transitions=False, boundary_weights=False).fit(X, Y)
    assert few.n_features_ < plain.n_features_ < every.n_features_
    assert len(every._known.parameters.attribute) == 4 * len(every._known.encoder)
    assert len(plain._known.parameters.transition) == 16
    assert len(seen._known.parameters.transition) < 16
    assert len(seen._known.parameters.start) == len(seen._known.parameters.end) == 0
    assert min(few.score(X, Y), every.score(X, Y)) > 0.7


@pytest.mark.parametrize("kind", KINDS)
def test_negative_numbers_have_weights_too(kind: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(-3.0, 1.0, size=(5, 2)) for _ in range(40)]
    ys = [[Segment(t, t + 1, "A") for t in range(5) if a[t, 1] > -3.0] for a in arrays]
    model = kind([bias[0], dense[0]], c2=0.01).fit(arrays, ys)
    assert len(model._known.parameters.attribute) == 3 * len(model._known.structure.states)
    assert model.score(arrays, ys) > 0.9


# -- going on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_warm_start_goes_on(kind: Any) -> None:
    cold = kind(features(kind), c2=0.3, **EXACT).fit(X, Y)
    warm = kind(features(kind), c2=0.3, warm_start=True, **(EXACT | {"max_iterations": 5}))
    first = warm.fit(X, Y).history_
    second = warm.fit(X, Y).history_
    assert second[0].objective < first[-1].objective
    warm.set_params(max_iterations=500).fit(X, Y)
    same(warm, cold, 1e-4)
    assert len(warm.fit(X, Y).history_) < 5


@pytest.mark.parametrize("kind", KINDS)
def test_warm_start_grows(kind: Any) -> None:
    """New attributes and new labels join; old ones stay, also those that the new data lacks."""
    model = kind(features(kind), c2=0.3, warm_start=True, n_threads=1).fit(X, Y)
    before, known = weights(model), set(model._known.structure.states)
    model.predict([["Zebra", "Crossing"]])  # these words become known later all the same
    model.set_params(max_iterations=0)
    model.fit([["Zebra", "Crossing"]], [[(0, 2, "animal")]])
    assert model.labels_ == ["animal", "number", "street", "town"]
    assert known < set(model._known.structure.states)
    after = weights(model)
    assert after.keys() == before.keys()
    assert all(after[key] == value for key, value in before.items())
    assert model.score(X, Y) > 0.9
    model.set_params(max_iterations=None)
    both = [*X, *[["Zebra", "Crossing"]] * 3], [*Y, *[[Segment(0, 2, "animal")]] * 3]
    model.fit(*both)
    assert model.predict([["Zebra", "Crossing"]]) == [[(0, 2, "animal")]]
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_warm_start_near_counts_penalties_from_before(kind: Any, precision: str) -> None:
    first = kind(features(kind), c2=0.3, precision=precision, **EXACT).fit(X[:25], Y[:25])
    model = copy.deepcopy(first).set_params(warm_start="near", c2=0.2).fit(X[25:], Y[25:])
    training = first._training(first._read(X[25:], Y[25:], first._known), None, first._known)
    w = model._known.w
    _, gradient = training.objective.evaluate(w, None, False, 1)
    assert np.abs(w - training.w0).max() > 0.01
    assert gradient == pytest.approx(-2 * 0.2 * (w - training.w0), abs=1e-4)
    forgetful = first.set_params(warm_start=True, c2=0.2).fit(X[25:], Y[25:])
    assert forgetful.score(X[:25], Y[:25]) < model.score(X[:25], Y[:25])


def test_warm_start_near_with_development_data_and_checkpoint(tmp_path: Path) -> None:
    first = SemiCRF(SEGMENTS, c2=0.3, n_threads=1).fit(X[:25], Y[:25])
    new: dict[str, Any] = {"X": X[25:], "y": Y[25:], "X_dev": X_NEW, "y_dev": Y_NEW}
    whole = copy.deepcopy(first).set_params(warm_start="near").fit(**new)
    file, part = tmp_path / "run", copy.deepcopy(first)
    part.set_params(warm_start="near", max_iterations=3).fit(**new, checkpoint=file)
    again = copy.deepcopy(first).set_params(warm_start="near").fit(**new, checkpoint=file)
    assert np.array_equal(again._known.w, whole._known.w)
    with pytest.raises(InvalidInput, match="warm_start"):
        copy.deepcopy(first).set_params(warm_start=True).fit(**new, checkpoint=file)
    assert whole.score(X_NEW, Y_NEW) == kept_score(whole)


def test_warm_start_is_checked() -> None:
    with pytest.raises(InvalidInput, match="warm_start: got 'far', expected False, True or 'near'"):
        SemiCRF(SEGMENTS, warm_start="far").fit(X, Y)
    with pytest.raises(InvalidInput, match="warm_start: got 'near', expected True with patterns"):
        SemiCRF(SEGMENTS, warm_start="near", order=2, patterns="grow").fit(X, Y)


def test_warm_start_keeps_the_scheme() -> None:
    tags = [to_tags(y, "BIOES", len(x)) for x, y in zip(X, Y, strict=True)]
    model = ChainCRF([word[0]], warm_start=True).fit(X, tags)
    model.fit(X, Y)
    assert model._known.scheme == "BIOES"
    with pytest.raises(InvalidInput, match=r"scheme: got 'BIO', expected BIOES, as before"):
        model.set_params(scheme="BIO").fit(X, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_warm_start_needs_the_same_features(kind: Any) -> None:
    model = kind([word[0], shape[0]], warm_start=True, max_iterations=3).fit(X, Y)
    for other in (
        [word[0]],
        [word[0], lower[0]],
        [shape[0], word[0]],
        [word[0], shape[0], lower[0]],
    ):
        with pytest.raises(InvalidInput, match=r"features: got .* warm_start=False to start again"):
            model.set_params(features=other).fit(X, Y)
    for same_ones in ([word[0], shape[0]], None, model.features_):
        model.set_params(features=same_ones).fit(X, Y)
    model.set_params(features=[word[0]], warm_start=False).fit(X, Y)
    assert model.features_ == [word[0]]


def test_warm_start_knows_features_that_have_learnt() -> None:
    model = SemiCRF([word[0], Text()], warm_start=True, max_iterations=3).fit(X, Y)
    model.set_params(features=[word[0], Text()]).fit(X[:10], Y[:10])
    with pytest.raises(InvalidInput, match=r"features: got \[Text\("):
        model.set_params(features=[word[0], Text(casefold=True)]).fit(X, Y)


# -- learners --------------------------------------------------------------------------------------

LEARNERS: dict[str, dict[str, Any]] = {
    "lbfgs": {"c2": 0.2},
    "owl-qn": {"c1": 0.2, "c2": 0.05},
    "mixed": {"c2": 0.2, "precision": "mixed"},
    "sgd": {"learner": "sgd", "c2": 0.2, "max_iterations": 12},
    "adagrad": {"learner": "adagrad", "c1": 0.05, "c2": 0.1, "max_iterations": 12},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_number_of_threads_changes_no_bit(kind: Any, learner: str) -> None:
    one, two, again = (
        kind(features(kind), n_threads=n, **LEARNERS[learner]).fit(X, Y) for n in (1, 2, 2)
    )
    assert np.array_equal(one._known.w, two._known.w)
    assert np.array_equal(two._known.w, again._known.w)
    assert one.score(X, Y) > 0.9
    assert [p.objective for p in one.history_] == [p.objective for p in two.history_]


@pytest.mark.parametrize("learner", ["sgd", "adagrad"])
def test_period_and_delta_end_stochastic_learners(
    learner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"learner": learner, "c2": 0.2, "n_threads": 1}
    plain = SemiCRF([word[0]], **settings).fit(X, Y)
    same_as_default = SemiCRF([word[0]], period=10, delta=1e-4, **settings).fit(X, Y)
    assert np.array_equal(plain._known.w, same_as_default._known.w)

    shown: list[dict[str, Any]] = []

    class Line(ProgressLine):
        def __init__(self, **options: Any) -> None:
            shown.append(options)
            super().__init__(**options)

    monkeypatch.setattr("caesura.models.training.ProgressLine", Line)
    early = {"period": 3, "delta": 0.05} | settings
    model = SemiCRF([word[0]], **early).fit(X, Y)
    objectives = [progress.objective for progress in model.history_]
    fell = [(a - b) / b for a, b in zip(objectives, objectives[3:], strict=False)]
    assert model.status_ == "objective"
    assert len(objectives) < len(plain.history_)
    assert fell[-1] < 0.05 <= min(fell[:-1])
    assert shown[0] == {"show": False, "max_iterations": 100}

    checkpoint = tmp_path / "run"
    SemiCRF([word[0]], max_iterations=5, **early).fit(X, Y, checkpoint=checkpoint)
    again = SemiCRF([word[0]], **early).fit(X, Y, checkpoint=checkpoint)
    assert np.array_equal(again._known.w, model._known.w)
    assert len(again.history_) == len(objectives) > 5


def test_checkpoints_say_in_words_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "run"
    settings: dict[str, Any] = {"max_iterations": 3, "n_threads": 1}
    weight = np.arange(1.0, len(X) + 1)

    def fit(sample_weight: Any = None, **options: Any) -> None:
        model = SemiCRF([word[0], word[1]], **settings, **options)
        model.fit(X, Y, sample_weight=sample_weight, checkpoint=path)

    fit()
    fit(np.ones(len(X)))  # the same
    for text, sample_weight, options in (
        (
            "class_weight None', expected class_weight town 2.0;",
            None,
            {"class_weight": {"town": 2}},
        ),
        ("sample_weight None', expected sample_weight of sum", weight, {}),
        (
            r"penalties None', expected penalties word\[0\] \(1.0, 0.1\)",
            None,
            {"penalties": {word[0]: (1.0, np.float64(0.1))}},
        ),
    ):
        with pytest.raises(InvalidInput, match=f"checkpoint: got 'a run with {text}"):
            fit(sample_weight, **options)
    with pytest.raises(
        InvalidInput, match=r"got 'a run with weights .*; the data or the features are"
    ):
        SemiCRF([word[0]], **settings).fit(X, Y, checkpoint=path)


@pytest.mark.parametrize("content", ["cut", "foreign", "damaged"])
def test_checkpoints_that_cannot_be_read_may_be_removed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run"
    model = SemiCRF([word[0]], max_iterations=3)
    model.fit(X, Y, checkpoint=path)
    whole = path.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    path.write_bytes({"cut": whole[:-20], "foreign": b"a,b,c\n" * 9, "damaged": flipped}[content])
    with pytest.raises(InvalidInput, match=r"^checkpoint: got .*remove the file") as error:
        model.fit(X, Y, checkpoint=path)
    assert "save it again" not in str(error.value)


def test_mixed_precision_ends_in_double() -> None:
    double = SemiCRF(SEGMENTS, c2=0.2, **EXACT).fit(X, Y)
    mixed = SemiCRF(SEGMENTS, c2=0.2, precision="mixed", **EXACT).fit(X, Y)
    same(mixed, double, 1e-5)


def test_auto_begins_in_single_precision_where_that_pays() -> None:
    many, labels = (X * 4)[:120], (Y * 4)[:120]

    def precisions(**options: Any) -> set[str]:
        model = SemiCRF(SEGMENTS, max_iterations=3, **options)
        return {one.precision for one in model.fit(many, labels).history_}

    assert precisions(c2=0.2) == {"single"}
    assert precisions(c2=0.2, precision="mixed") == {"single"}
    assert precisions(c2=0.2, precision="double") == {"double"}
    for options in ({"c2": 0.001}, {"c1": 0.1, "c2": 0.2}, {"c2": 0.2, "order": 2}):
        assert precisions(**options) == {"double"}, options
    assert precisions(c2=0.2, penalties={"transitions": 0.0}) == {"double"}
    assert SemiCRF(SEGMENTS, max_iterations=3).fit(X, Y).history_[-1].precision == "double"


def test_the_seed_is_all_that_is_drawn() -> None:
    a, b, c = (
        SemiCRF([word[0]], learner="sgd", random_state=seed, max_iterations=3).fit(X, Y)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(a._known.w, b._known.w)
    assert not np.array_equal(a._known.w, c._known.w)


@pytest.mark.parametrize("learner", LEARNERS)
def test_interrupted_training_resumes_to_the_same_bits(learner: str, tmp_path: Path) -> None:
    options = LEARNERS[learner]
    whole = SemiCRF(SEGMENTS, n_threads=1, **options).fit(X, Y)
    assert len(whole.history_) > 5
    checkpoint = tmp_path / "run"

    def interrupt(progress: Progress) -> None:
        if progress.iteration == 5:
            raise KeyboardInterrupt

    model = SemiCRF(SEGMENTS, n_threads=1, **options)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, checkpoint=checkpoint, callbacks=[interrupt])
    assert model._fitted is None
    seen: list[Progress] = []
    again = SemiCRF(SEGMENTS, n_threads=2, **options)
    again.fit(X, Y, checkpoint=checkpoint, callbacks=[seen.append])
    assert seen[0].iteration == 6
    assert np.array_equal(again._known.w, whole._known.w)
    assert [p.objective for p in again.history_] == [p.objective for p in whole.history_]


def test_checkpoints_belong_to_their_data(tmp_path: Path) -> None:
    checkpoint = tmp_path / "run"
    model = SemiCRF([word[0]], max_iterations=3).fit(X, Y, checkpoint=checkpoint)
    assert np.array_equal(model._known.w, model.fit(X, Y, checkpoint=checkpoint)._known.w)
    with pytest.raises(InvalidInput, match="checkpoint: got 'a run with"):
        model.fit(X[::-1], Y[::-1], checkpoint=checkpoint)
    with pytest.raises(InvalidInput, match="checkpoint: got 'a run with"):
        model.fit(X, Y, sample_weight=np.full(30, 2.0), checkpoint=checkpoint)
    with pytest.raises(InvalidInput, match="checkpoint: got 'a run with c2"):
        model.set_params(c2=3.0).fit(X, Y, checkpoint=checkpoint)


def test_old_checkpoints_of_adagrad_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their sums of squares hold the penalties, which are proximal now."""
    checkpoint = tmp_path / "run"
    options: dict[str, Any] = {"learner": "adagrad", "max_iterations": 3}
    with monkeypatch.context() as patch:
        patch.setattr("caesura.learning.sgd.AdaGrad.settings", SGD.settings)
        SemiCRF([word[0]], **options).fit(X, Y, checkpoint=checkpoint)
    with pytest.raises(InvalidInput, match=r"a run of adagrad by an earlier version.*remove it"):
        SemiCRF([word[0]], **options).fit(X, Y, checkpoint=checkpoint)


def test_checkpoints_belong_to_their_development_data(tmp_path: Path) -> None:
    checkpoint = tmp_path / "run"
    model = SemiCRF([word[0]], max_iterations=3)
    model.fit(X, Y, X[:9], Y[:9], checkpoint=checkpoint)
    w = model._known.w
    assert np.array_equal(w, model.fit(X, Y, X[:9], Y[:9], checkpoint=checkpoint)._known.w)
    other = [[*X[0][:-1], X[1][-1]], *X[1:9]]
    some: list[Any] = [(X[:8], Y[:8]), (X[:9], [[], *Y[1:9]]), (other, Y[:9]), (None, None)]
    for X_dev, y_dev in some:
        with pytest.raises(InvalidInput, match="checkpoint: got 'a run with "):
            model.fit(X, Y, X_dev, y_dev, checkpoint=checkpoint)


# -- watching and stopping -------------------------------------------------------------------------


def kept_score(model: Any) -> float:
    """Return the last score that is within a standard error of the best; y_dev is Y_NEW."""
    scores = [p.dev_score for p in model.history_]
    n = sum(map(len, Y_NEW)) + 1
    share = (max(scores) * (n - 1) + 0.5) / n
    least = max(scores) - math.sqrt(share * (1 - share) / n)
    return next(float(one) for one in reversed(scores) if one >= least)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_weights_on_development_data_are_kept(kind: Any) -> None:
    model = kind(features(kind), c2=0.0, patience=3, n_threads=1)
    model.fit(X[:6], Y[:6], X_NEW, Y_NEW)
    scores = [p.dev_score or 0.0 for p in model.history_]
    assert model.status_ in ("patience", "gradient", "objective")
    assert model.score(X_NEW, Y_NEW) == pytest.approx(kept_score(model))
    if model.status_ == "patience":
        assert scores.index(max(scores)) == len(scores) - 4


def test_development_data_may_be_anything() -> None:
    tags = [to_tags(y, "BIOES", len(x)) for x, y in zip(X_NEW, Y_NEW, strict=True)]
    a = SemiCRF([word[0]]).fit(X, Y, iter(X_NEW), iter(tags))
    b = SemiCRF([word[0]]).fit(X, Y, X_NEW, Y_NEW)
    assert [p.dev_score for p in a.history_] == [p.dev_score for p in b.history_]
    unseen = [[Segment(0, 1, "planet")], *Y_NEW[1:]]
    SemiCRF([word[0]]).fit(X, Y, X_NEW, unseen)
    biased = SemiCRF([word[0]], outside_bias=50.0).fit(X, Y, X_NEW, Y_NEW)
    assert {p.dev_score for p in biased.history_} == {0.0}


def test_callbacks_see_every_iteration_and_may_stop() -> None:
    seen: list[Progress] = []
    others: list[Progress] = []

    def stop(progress: Progress) -> bool:
        seen.append(progress)
        return progress.iteration >= 4

    model = SemiCRF([word[0]])
    model.fit(X, Y, callbacks=[stop, others.append])
    assert [p.iteration for p in seen] == [1, 2, 3, 4]
    assert others == seen
    assert model.status_ == "callback"
    assert model.history_ == seen
    assert all(a.objective > b.objective for a, b in pairwise(seen))


def test_a_line_tells_how_training_goes(capsys: pytest.CaptureFixture[str]) -> None:
    SemiCRF([word[0]], verbose=False).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    SemiCRF([word[0]], verbose=True, max_iterations=30).fit(X, Y, X_NEW, Y_NEW)
    out, err = capsys.readouterr()
    assert out == ""
    for part in ("iteration", "objective", "F1", "left", "gradient"):
        assert part in err


def test_features_that_learn_see_the_training_data() -> None:
    model = SemiCRF([word[0], Text()], c2=0.1).fit(iter(X), iter(Y))
    [text] = [f for f in model.features_ if isinstance(f, Text)]
    assert text != Text()
    names = model._known.encoder.names(range(len(model._known.encoder)))
    assert any(name.startswith(text.name) and "York" in name for name in names)
