"""Input that is too large or too extreme, and numbers at the edge of what is possible."""

from __future__ import annotations

import contextlib
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import random_model
from toys import addresses

import caesura
import caesura.compat
from caesura import ChainCRF, InvalidInput, Potentials, Segment, SemiCRF, TooLarge
from caesura.features import edge, history, lower, shape
from caesura.inference.batch import (
    Batch,
    batch_log_partition,
    batch_n_best,
    batch_posterior,
    batch_sample,
)
from caesura.inference.span_graph import SpanGraph
from caesura.learning import LEARNERS
from caesura.models.calibration import calibrate
from caesura.models.fitted import blocks_of
from caesura.persistence import read, write

X, Y = addresses(30, seed=1)
FEATURES = [lower[0], shape[0]]


# -- probabilities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_probabilities_are_at_most_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T, n = int(rng.integers(2, 30)), int(rng.integers(2, 6))
    p = Potentials(T, n, max_length=None if seed % 3 else 4)
    p.emission[:] = 30 * rng.normal(size=(T, n))
    p.transition[:] = 3 * rng.normal(size=(n, n))
    p.add(0, 2, 0, 5.0, open_end=True)
    if seed % 3 == 0:
        p.spans[:] = rng.normal(size=p.spans.shape)
    m = caesura.marginals(p)
    for array in (m.tokens, m.boundaries, m.starts, m.ends, m.potentials, m.edges, m.spans):
        assert array is None or array.max(initial=0.0) <= 1.0
    assert all(chance <= 1.0 for _, chance in m.segments(0.0))
    for start, end, label in caesura.viterbi(p).segments:
        assert m.segment(start, end, label) <= 1.0
    before, after = (
        caesura.viterbi(p).segments[:2]
        if len(caesura.viterbi(p).segments) > 1
        else (
            (0, 1, 0),
            (1, 2, 0),
        )
    )
    assert m.transition(before[1], before[2], after[2]) <= 1.0


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize("method", ["isotonic", "temperature"])
def test_a_certain_model_can_be_calibrated_and_saved(
    kind: Any, method: Any, tmp_path: Path
) -> None:
    model = kind(FEATURES, c2=0.0, max_iterations=200, epsilon=1e-12, delta=1e-14).fit(X, Y)
    sure = [one.probability for some in model.predict_confident(X) for one in some]
    assert 0.999 < max(sure) <= 1.0
    required = [{"required": y[:1]} for y in Y]
    for some in model.predict_confident(X, constraints=required):
        assert all(one.probability <= 1.0 for one in some)
    assert all(chance <= 1.0 for [(_, chance), *_] in model.predict_n_best(X, 2))
    model.calibrate(X, Y, method).save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    assert again.predict_confident(X) == model.predict_confident(X)
    assert pickle.loads(pickle.dumps(model)).predict_confident(X) == model.predict_confident(X)


def test_files_with_probabilities_just_above_one_are_read(tmp_path: Path) -> None:
    model: Any = SemiCRF(FEATURES, c2=0.1, max_iterations=20).fit(X, Y).calibrate(X, Y)
    knots, values = np.array([0.5, 1.0 + 2e-16, 1.0 + 4e-16]), np.array([0.2, 0.8, 0.9])
    model.calibration_ = model.calibration_._replace(knots=knots, values=values)
    model.save(tmp_path / "model")
    read_back = caesura.load(tmp_path / "model").calibration_
    assert read_back.knots.tolist() == [0.5, 1.0]
    assert read_back.values.tolist() == [0.2, 0.9]
    model.calibration_ = model.calibration_._replace(knots=np.array([0.5, 1.0, 1.1]))
    model.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match="calibration: wrong"):
        caesura.load(tmp_path / "model")


def test_calibration_clamps_what_it_is_given() -> None:
    made = calibrate(np.array([0.5, 1.0 + 4e-16]), np.array([False, True]), "isotonic")
    assert made.knots.max() == 1.0


# -- scores ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e11, -1e12, 1e16, 1e300])
def test_scores_too_large_for_exact_answers_are_refused(size: float) -> None:
    for name in ("emission", "transition", "start", "end"):
        for max_length in (None, 1):
            p = Potentials(3, 2, max_length=max_length)
            with pytest.raises(InvalidInput, match=f"{name}: .*1e10"):
                setattr(p, name, np.full_like(getattr(p, name), size))
            getattr(p, name)[...] = size  # written in place: seen when it is asked for
            for ask in (caesura.log_partition, caesura.marginals, caesura.viterbi):
                with pytest.raises(InvalidInput, match=f"{name}: .*1e10"):
                    ask(p)
    p = Potentials(3, 2)
    with pytest.raises(InvalidInput, match=r"score: .*1e10"):
        p.add(0, 1, 0, size)
    with pytest.raises(InvalidInput, match=r"score: .*1e10"):
        p.add_transition(1, 0, 1, size)
    with pytest.raises(InvalidInput, match=r"score: .*1e10"):
        p.add_pattern([0, 1], size)


def test_the_largest_scores_have_right_answers() -> None:
    """Scores of 1e10 that cancel but for 1: the probability is that of the difference."""
    p = Potentials(2, 2)
    p.emission[:] = [[1e10, 1e10 - 1.0], [-1e10, -1e10]]
    expected = Potentials(2, 2)
    expected.emission[:] = [[0.0, -1.0], [0.0, 0.0]]
    assert np.allclose(caesura.marginals(p).tokens, caesura.marginals(expected).tokens, atol=1e-5)


# Attributes with values such as a time in milliseconds; small ones to learn from.
LARGE: list[Any] = [[{"f": 1.7e12}, {"g": 1.0}], [{"f": 1.6e12}]] * 3
SMALL: list[Any] = [[{"f": 1.7}, {"g": 1.0}], [{"f": 1.6}]] * 3
ONE_OR_NONE: list[Any] = [[(0, 1, "a")], []] * 3
UNSCALED = r"^X\[1\]: got values that score beyond 1e10, .*; scale the values"


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize("learner", ["lbfgs", "sgd", "adagrad"])
def test_fit_names_the_sequence_with_scores_that_are_too_large(kind: Any, learner: str) -> None:
    with pytest.raises(InvalidInput, match=r"^X\[\d\]: got values that score beyond 1e10"):
        kind(learner=learner, max_iterations=20).fit(LARGE, ONE_OR_NONE)


def test_timestamps_are_too_large_for_sgd() -> None:
    xs = [[{"f": 1.7e9}, {"g": 1.0}], [{"f": 1.6e9}]] * 3
    with pytest.raises(InvalidInput, match=r"^X\[\d\]: got values that score beyond 1e10"):
        SemiCRF(learner="sgd").fit(xs, ONE_OR_NONE)


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize("order", [1, 2])
def test_probabilities_of_scores_that_are_too_large_are_refused(kind: Any, order: int) -> None:
    model = kind(order=order).fit(SMALL, ONE_OR_NONE)
    xs = [SMALL[0], LARGE[0]]
    once = {"exactly_once": ["a"]}
    questions = [
        model.predict_confident,
        model.predict_marginals,
        model.sample,
        model.uncertainty,
        lambda xs: model.uncertainty(xs, by="margin"),
        lambda xs: model.predict_n_best(xs, 3),
        lambda xs: model.predict_confident(xs, constraints=once),
        lambda xs: model.predict_n_best(xs, 3, constraints=once),
    ]
    for ask in questions:
        with pytest.raises(InvalidInput, match=UNSCALED):
            ask(xs)
    with pytest.raises(InvalidInput, match=r"^X\[1\]: .* score beyond 1e10"):
        model.calibrate(xs, ONE_OR_NONE[:2])
    # The best path is the same for all finite scores, with constraints and without.
    assert model.predict(xs) == [[(0, 1, "a")]] * 2
    assert model.predict(xs, constraints=once) == [[(0, 1, "a")]] * 2
    forbidden = {"forbidden": [(0, 1, "a")]}
    assert (0, 1, "a") not in model.predict(xs, constraints=forbidden)[1]


def test_compat_names_the_sequence_with_scores_that_are_too_large(tmp_path: Path) -> None:
    def trained(xs: list[Any]) -> caesura.compat.Tagger:
        trainer = caesura.compat.Trainer(verbose=False)
        for x in xs:
            trainer.append(x, ["a", "O"][: len(x)])
        trainer.train(tmp_path / "model")
        tagger = caesura.compat.Tagger()
        tagger.open(tmp_path / "model")
        return tagger

    with pytest.raises(InvalidInput, match=r"^X\[0\]: got values that score beyond 1e10"):
        trained(LARGE)
    tagger = trained(SMALL)
    assert len(tagger.tag(LARGE[0])) == 2
    questions: list[Any] = [(tagger.marginal, "a", 0), (tagger.probability, ["a", "O"])]
    for ask, *arguments in questions:
        with pytest.raises(InvalidInput, match=r"^X\[0\]: got values that score beyond 1e10"):
            ask(*arguments)


@pytest.mark.parametrize("bias", [1e10, -2e9, np.inf, np.nan])
def test_a_bias_is_checked_where_it_is_given(bias: float) -> None:
    model = SemiCRF().fit(SMALL, ONE_OR_NONE)
    model.outside_bias = bias
    for ask in (model.predict, model.predict_marginals):
        with pytest.raises(InvalidInput, match=r"^outside_bias: .* from -1e\+09 to 1e\+09"):
            ask(SMALL)
    model.outside_bias = 1e9
    assert model.predict(SMALL[:1]) == [[]]
    assert model.predict_marginals(SMALL[:1])[0].tokens[0, 0] == 0.0


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
def test_fit_refuses_weights_that_load_would_refuse(kind: Any, tmp_path: Path) -> None:
    model = kind(learner="perceptron", max_iterations=5)
    with pytest.raises(InvalidInput, match=r"^X: got values with which weights grow to .*; scale"):
        model.fit(LARGE, ONE_OR_NONE)
    with pytest.raises(InvalidInput, match="fit"):
        model.predict(SMALL)
    smaller = [[{"f": 1.7e8}, {"g": 1.0}], [{"f": 1.6e8}]] * 3
    model.fit(smaller, ONE_OR_NONE).save(tmp_path / "model")
    assert caesura.load(tmp_path / "model").predict(smaller) == model.predict(smaller)
    assert pickle.loads(pickle.dumps(model)).predict(smaller) == model.predict(smaller)


@pytest.mark.filterwarnings("ignore:learner=.*above the optimum")  # five iterations
@pytest.mark.parametrize("learner", LEARNERS)
def test_what_a_learner_accepts_can_be_loaded(learner: str, tmp_path: Path) -> None:
    for size in (1.0, 1e5, 1e7):
        xs = [[{"f": 1.7 * size}, {"g": 1.0}], [{"f": 1.6 * size}]] * 3
        model = SemiCRF(learner=learner, max_iterations=5)
        if size > 1.0:
            with contextlib.suppress(InvalidInput):
                model.fit(xs, ONE_OR_NONE)
            if not hasattr(model, "labels_"):
                continue
        else:
            model.fit(xs, ONE_OR_NONE)
        model.save(tmp_path / "model")
        assert caesura.load(tmp_path / "model").predict(xs) == model.predict(xs)


@pytest.mark.parametrize("weight", [1e11, -1e100, np.inf, np.nan])
def test_weights_of_a_file_are_checked(weight: float, tmp_path: Path) -> None:
    SemiCRF(FEATURES, max_iterations=5).fit(X, Y).save(tmp_path / "model")
    header, arrays = read(tmp_path / "model", "model")
    arrays["weights"] = arrays["weights"].copy()
    arrays["weights"][3] = weight
    write(tmp_path / "model", "model", header, arrays)
    with pytest.raises(InvalidInput, match=r"weights: .*1e10"):
        caesura.load(tmp_path / "model")


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [caesura.n_best, caesura.sample])
def test_too_many_answers(ask: Any) -> None:
    p = Potentials(3, 2)
    for n in (2**40, 10**30):
        with pytest.raises(TooLarge, match=r"^n: .*fewer"):
            ask(p, n)
    assert len(ask(p, 10)) == 10
    with pytest.raises(InvalidInput, match=r"^n_threads: got 1000000000000, .*1024"):
        ask(p, 1, n_threads=10**12)


def test_more_answers_than_fit_into_memory() -> None:
    with pytest.raises(TooLarge, match=r"^n: .*100,000,000 segments"):
        caesura.sample(Potentials(0, 2), 2 * 10**9)


def test_odd_scores_and_lengths() -> None:
    with pytest.raises((InvalidInput, TooLarge), match="length"):
        Potentials(10**12, 2)
    with pytest.raises((InvalidInput, TooLarge), match="labels"):
        Potentials(2, 10**12)
    with pytest.raises((InvalidInput, TooLarge), match=r"labels|length"):
        Potentials(2**31 - 2, 10**6)
    p = Potentials(3, 2)
    with pytest.raises(InvalidInput, match="score: got 'x'"):
        p.add(0, 1, 0, "x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="score: got 'x'"):
        p.add_transition(1, 0, 1, "x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="score: got 'x'"):
        p.add_pattern([0, 1], "x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="score: got"):
        p.add_pattern([0, 1], [1.0, 2.0])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="emission: got"):
        p.emission = "x"


def test_minimum_risk_of_too_many_segments() -> None:
    """All segments of a long sequence are equally probable: none can be left out."""
    p = Potentials(5000, 1)
    p.transition[:] = -20.0
    with pytest.raises(TooLarge, match=r"more than 10000000 segments of 5000 tokens"):
        caesura.minimum_risk(p)


def test_minimum_risk_of_a_long_sequence_needs_little_memory() -> None:
    """2 billion segments, of which few have a probability that counts."""
    p = random_model(0, 20_000, 5)
    m, best = caesura.marginals(p), caesura.minimum_risk(p)
    chances = [m.segment(*segment) for segment in best.segments]
    assert best.score == pytest.approx(sum(chances))
    assert best.score >= sum(m.segment(*segment) for segment in caesura.viterbi(p).segments)


def test_too_many_labels_are_not_blamed_on_histories() -> None:
    p = Potentials(2, 8000)
    with pytest.raises(TooLarge, match=r"^labels: 8,000 labels have 64,000,000 transitions"):
        caesura.log_partition(p)


@pytest.mark.parametrize("kind", [ChainCRF, SemiCRF])
def test_too_many_labels_are_refused_before_anything_is_made_for_them(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("caesura.models.training.parameters_of", never)
    x = [[f"w{k}" for k in range(7100)]]
    with pytest.raises(TooLarge, match=r"^labels: 1?\d,\d{3} labels have [\d,]+ transitions"):
        kind([lower[0]]).fit(x, [[(k, k + 1, f"L{k}") for k in range(7100)]])


def test_many_labels_in_training_are_warned_of() -> None:
    x = [[f"w{k}" for k in range(510)]]
    y = [[f"L{k}" for k in range(510)]]
    with pytest.warns(UserWarning, match=r"510 labels or tags have 260,100 transitions"):
        ChainCRF([lower[0]], scheme=None, outside="none", max_iterations=1).fit(x, y)


# -- what a model says of itself -------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize("order", [1, 2])
def test_top_features_list_edges(kind: Any, order: int) -> None:
    features = [*FEATURES, edge(lower[0]), *([history(edge(shape[0]), 2)] if order > 1 else [])]
    model = kind(features, order=order, c2=0.1, max_iterations=30).fit(X, Y)
    parameters, blocks = model._known.parameters, blocks_of(model._known.parameters)
    top = model.top_features(n=10**6)
    of_edges = [one for one in top if one.feature.startswith(("edge:", "history2:edge:"))]
    assert len(of_edges) == len(parameters.edge_attribute) > 0
    states = model._known.structure.states
    Y_ = len(states)
    names = model._known.encoder.names(parameters.edge_attribute.tolist())
    expected = {
        (name, " > ".join(states[y] for y in _pair(code, Y_, parameters.patterns)), float(w))
        for name, code, w in zip(
            names, parameters.edge_pair.tolist(), model._known.w[blocks.edges], strict=True
        )
    }
    assert {tuple(one) for one in of_edges} == expected
    mine = model.top_features("town", n=10**6)
    assert any(one in of_edges for one in mine)
    assert all(one.label.split(" > ")[-1].endswith("town") for one in mine)


def _pair(code: int, n: int, patterns: list[list[int]]) -> list[int]:
    return list(divmod(code, n)) if code < n * n else patterns[code - n * n]


# -- values near the largest number ----------------------------------------------------------------


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize("value", [1e308, -1e308, 1.7e308])
@pytest.mark.parametrize("constraints", [None, {"at_most_once": ["B"]}])
def test_predict_refuses_values_whose_sums_overflow(
    kind: Any, value: float, constraints: Any
) -> None:
    xs = [[{"a": 1.0}, {"b": 1.0}], [{"a": 1.0}, {"b": 2.0}, {"c": 1.0}]] * 3
    ys = [[(0, 1, "A"), (1, 2, "B")], [(0, 1, "A"), (1, 3, "B")]] * 3
    model = kind(max_iterations=20).fit(xs, ys)
    for x in ([{"a": value, "b": value}, {"c": value}], [{"a": value}, {"b": -value}]):
        for ask in (model.predict, model.predict_tags):
            with pytest.raises(InvalidInput, match=r"^X\[1\]: got values that score beyond.*1e300"):
                ask([xs[0], x], constraints=constraints)
    small = [[{"a": value * 1e-20}, {"b": 1.0}]]  # its sums are finite
    assert len(model.predict(small, constraints=constraints)) == 1


# -- numbers of answers ----------------------------------------------------------------------------

MANY = 2**31 - 1


def test_too_many_answers_of_a_model_are_refused_at_once() -> None:
    semi = SemiCRF([lower[0]]).fit(X, Y)
    chain = ChainCRF([lower[0]], forbid_invalid="never").fit(X, Y)
    long = [["x"] * 60]
    for model in (semi, chain):
        for xs, n in (([[]], 2 * 10**8), ([["x"] * 5], MANY), ([["x"], []] * 60, 10**6)):
            with pytest.raises(TooLarge, match=r"^n: .*ask for fewer"):
                model.sample(xs, n)
        with pytest.raises(TooLarge, match=r"^n: .*ask for fewer"):
            model.predict_n_best(long, MANY)
        assert len(model.sample([[]], 3)[0]) == 3


def test_too_many_answers_of_the_engine_are_refused_at_once() -> None:
    spans = [(t, e) for t in range(40) for e in (t + 1, t + 2) if e <= 40]
    graph = SpanGraph(spans, [0] * len(spans), [0.0] * len(spans), 40, 1)
    batch = Batch(np.zeros((2, 60, 2)))
    p = Potentials(60, ["a", "b"])
    calls: list[Any] = [
        (caesura.n_best, p, MANY),
        (batch_n_best, batch, MANY),
        (caesura.sample, p, MANY),
        (caesura.sample, Potentials(0, 2), 2 * 10**8),
        (caesura.sample, [Potentials(0, 2)] * 2, 6 * 10**7),
        (batch_sample, batch, MANY),
        (batch_sample, batch, 6 * 10**7),
        (graph.sample, MANY),
    ]
    for ask, *arguments in calls:
        with pytest.raises(TooLarge, match=r"^n: .*ask for fewer"):
            ask(*arguments)


def test_too_many_answers_are_refused_early() -> None:
    """After some answers their segments can be told; far too many are not enumerated."""
    p = Potentials(50, 5)
    p.emission[:] = np.random.default_rng(0).normal(size=(50, 5))
    for n in (10**7, 10**8):
        with pytest.raises(TooLarge, match=r"^n: .*100,000,000 segments.*ask for fewer"):
            caesura.n_best(p, n)
    few = Potentials(18, 1)  # 2^17 segmentations
    assert len(caesura.n_best(few, 10**8)) == 2**17


def test_long_segments_and_many_labels_are_packed() -> None:
    p = Potentials(70_000, 300)
    p.transition[:] = -40.0
    p.emission[:, 299] = 1e-3
    p.emission[:, 298] = 0.5e-3
    first, second = caesura.n_best(p, 2)
    assert first.segments == [Segment(0, 70_000, p.labels[299])]
    assert second.segments == [Segment(0, 70_000, p.labels[298])]


@pytest.mark.parametrize("max_length", [None, 2, 1])
def test_as_many_as_there_are_may_be_asked_for(max_length: int | None) -> None:
    """Only what is possible counts: a large n alone is no reason to refuse."""
    p = Potentials(6, 2, max_length=max_length)
    p.emission[:, 1] = np.log(np.arange(1, 7))
    p.emission[2:, 0] = -np.inf
    p.constrain(at_most_once=[0])
    assert caesura.n_best(p, MANY) == caesura.n_best(p, 10_000)
    long = Potentials(60, 2, max_length=1)
    long.emission[4:, 0] = -np.inf
    assert len(caesura.n_best(long, MANY)) == 16


# -- other arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_weights_of_a_batch_are_finite(weight: float) -> None:
    with pytest.raises(InvalidInput, match=r"^weights: .*finite numbers"):
        batch_posterior(Batch(np.zeros((1, 3, 2))), weights=[weight])


def test_a_batch_names_the_same_limit_as_all_others() -> None:
    with pytest.raises(InvalidInput, match=r"^tokens of sequence 1: .* beyond 1e10"):
        batch_log_partition(Batch(np.array([[[0.0]], [[1e11]]])))


def test_a_pipe_is_not_a_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        for open_ in (caesura.load, caesura.compat.Tagger().open):
            with pytest.raises(InvalidInput, match="got a pipe or a device, expected a file"):
                open_(path)


@pytest.mark.parametrize("trust", ["yes", 1, None])
def test_trust_is_true_or_false(trust: Any, tmp_path: Path) -> None:
    SemiCRF([lower[0]]).fit(X, Y).save(tmp_path / "model")
    with pytest.raises(InvalidInput, match=r"^trust: .*expected True or False"):
        caesura.load(tmp_path / "model", trust=trust)


def test_a_graph_of_too_many_labels() -> None:
    with pytest.raises(TooLarge, match=r"^transition: .*use fewer tokens or labels"):
        SpanGraph([(0, 1)], [0], [0.0], 1, 2**31 - 1)
