"""Models with learners that have a margin: what users see of them."""

import builtins
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import caesura
from caesura import Partial
from caesura.errors import InvalidInput, MissingPackage, TooLarge
from caesura.features import attributes, history, word
from caesura.learning.learners import LEARNERS
from caesura.models.fitted import Labelling
from caesura.models.temperature import cooled

MARGIN = [name for name, one in LEARNERS.items() if one.losses]
DUAL = [name for name, one in LEARNERS.items() if one.needs_c2]
pytestmark = pytest.mark.filterwarnings("ignore:learner=")  # short runs, which leave a gap
TOWNS, STREETS = ["Leeds", "York", "Hull"], ["Street", "Lane", "Road"]


def addresses(n: int = 24) -> tuple[list[str], list[Any]]:
    """Return texts and segments, some of which cannot be learnt."""
    random = np.random.default_rng(5)
    X, y = [], []
    for i in range(n):
        town, street = random.choice(TOWNS), random.choice(STREETS)
        words = [str(random.integers(1, 99)), random.choice(["High", "Low", "Mill"]), street]
        segments: list[Any] = [(0, 1, "number"), (1, 3, "street")]
        if i % 3:
            words.append(str(town))
            segments.append((3, 4, "town"))
        if i % 5 == 0:
            words.append("please")
        X.append(" ".join(words))
        y.append(segments if i % 11 else segments[1:])
    return X, y


X, Y = addresses()
KINDS: dict[str, Any] = {
    "semi": lambda **more: caesura.SemiCRF(**more),
    "semi-2": lambda **more: caesura.SemiCRF(order=2, **more),
    "runs": lambda **more: caesura.SemiCRF(outside_length=None, max_length=3, **more),
    "chain": lambda **more: caesura.ChainCRF(**more),
    "chain-2": lambda **more: caesura.ChainCRF(order=2, scheme="BIOES", **more),
    "once": lambda **more: caesura.SemiCRF(constraints={"at_most_once": ["street"]}, **more),
}


def pairs() -> list[tuple[str, str, str | None]]:
    return [
        (kind, learner, loss)
        for kind in KINDS
        for learner in MARGIN
        for loss in (None, *LEARNERS[learner].losses)
    ]


@pytest.mark.parametrize(("kind", "learner", "loss"), pairs())
def test_every_learner_learns(kind: str, learner: str, loss: str | None) -> None:
    made = KINDS[kind](learner=learner, loss=loss, c2=0.05, max_iterations=60, n_threads=1)
    model = made.fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert model.weights_.dtype == np.float64
    assert model.weights_.ndim == 1
    last = model.history_[-1]
    assert np.isfinite(last.objective)
    assert (last.gap is not None) == (learner in DUAL)
    again = KINDS[kind](**{k: v for k, v in model.get_params().items() if k in ("learner", "loss")})
    again.set_params(c2=0.05, max_iterations=60, n_threads=1).fit(X, Y)
    np.testing.assert_array_equal(model.weights_, again.weights_)


@pytest.mark.parametrize("learner", DUAL)
def test_the_objective_is_what_is_said(learner: str) -> None:
    model = caesura.SemiCRF(learner=learner, loss="segments", c2=0.3, max_iterations=200)
    model.fit(X, Y)
    total = 0.3 * float(model.weights_ @ model.weights_)
    for x, gold in zip(X, Y, strict=True):
        p = model.potentials(x)
        filled = caesura.fill_gaps([caesura.Segment(*s) for s in gold], p.length, "O", 1)
        truth = caesura.score(p, filled)
        for y in range(len(p.labels)):  # every segment costs 1, and a gold one -2 besides
            if p.labels[y] != "O":
                p.transition[:, y] += 1.0
                p.start[y] += 1.0
        for start, end, label in gold:
            p.add(start, end, label, -2.0)
        total += caesura.viterbi(p).score + len(gold) - truth
    assert model.history_[-1].objective == pytest.approx(total, rel=1e-8)


@pytest.mark.parametrize("learner", MARGIN)
@pytest.mark.parametrize("warm", [False, "near"])
def test_a_run_that_was_interrupted_ends_in_the_same_weights(
    learner: str, warm: Any, tmp_path: Path
) -> None:
    def made() -> Any:
        model = caesura.ChainCRF(learner=learner, c2=0.05, max_iterations=6, delta=0.0)
        if warm:
            model.set_params(learner="lbfgs", delta=None).fit(X[:9], Y[:9])
            model.set_params(learner=learner, delta=0.0, warm_start=warm)
        return model

    whole = made().fit(X, Y)
    path = tmp_path / "run"
    made().fit(X, Y, checkpoint=path, callbacks=[lambda progress: progress.iteration == 3])
    resumed = made().fit(X, Y, checkpoint=path)
    np.testing.assert_array_equal(whole.weights_, resumed.weights_)
    assert len(resumed.history_) == len(whole.history_)
    with pytest.raises(InvalidInput, match="checkpoint"):
        made().set_params(loss="hamming", random_state=1).fit(X, Y, checkpoint=path)


@pytest.mark.parametrize("learner", MARGIN)
def test_warm_starts_and_files(learner: str, tmp_path: Path) -> None:
    model = caesura.SemiCRF(learner=learner, c2=0.05, warm_start=True, max_iterations=20)
    model.fit(X[:12], Y[:12]).fit(X, Y)
    assert model.score(X, Y) > 0.9
    model.save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    assert again.predict(X) == model.predict(X)
    assert again.learner == learner


def test_a_gap_that_is_left_is_told_of() -> None:
    short = caesura.SemiCRF(learner="svm", c2=0.01, max_iterations=2)
    said = r"learner='svm': ended after 2 iterations.*\(\d+%\) above the optimum; .*max_iterations"
    with pytest.warns(UserWarning, match=said):
        short.fit(X, Y)
    last = short.history_[-1]
    assert last.gap is not None
    assert last.gap > 0.01 * last.objective
    with pytest.warns(UserWarning, match="take learner='svm'"):
        caesura.ChainCRF(learner="cutting-plane", c2=0.01, max_iterations=2).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        short.set_params(max_iterations=None, c2=0.1).fit(X, Y)  # converges
        short.set_params(max_iterations=2, delta=1.0).fit(X, Y)  # so it was asked for
        short.set_params(delta=None)
        short.fit(X, Y, callbacks=[lambda progress: True])  # and so it was here


@pytest.mark.filterwarnings("ignore:dense")  # which says the same of the column
@pytest.mark.parametrize("learner", ["svm", "eg"])
def test_large_numbers_want_to_be_standardised(learner: str) -> None:
    rng = np.random.default_rng(0)
    labels = [rng.choice(["a", "b"], size=6).tolist() for _ in range(20)]
    means = [np.array([[one == "a", one == "b"] for one in row]) for row in labels]
    arrays = [(mean + rng.normal(0.0, 0.3, mean.shape)) * [1000.0, 1.0] for mean in means]
    model = caesura.ChainCRF(scheme=None, learner=learner, c2=0.1, max_iterations=60)
    with pytest.warns(UserWarning, match="or pass standardise=True if columns"):
        model.fit(arrays, labels)
    raw = model.history_[-1]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "learner=.*or divide values")  # of eg; no longer named
        model.set_params(standardise=True).fit(arrays, labels)
    last = model.history_[-1]
    assert raw.gap is not None
    assert last.gap is not None
    assert last.gap / last.objective < 0.3 < 0.9 < raw.gap / raw.objective


@pytest.mark.parametrize("c2", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("kind", ["semi", "chain"])
def test_the_gap_closes_whatever_the_penalty(kind: str, c2: float) -> None:
    found = {}
    for learner, loss in (("svm", None), ("cutting-plane", None), ("lbfgs", None), ("eg", "log")):
        model = KINDS[kind](learner=learner, loss=loss, c2=c2, n_threads=1)
        model.set_params(delta=1e-9 if learner == "lbfgs" else None, max_iterations=1000)
        found[learner] = model.fit(X, Y).history_[-1]
        assert learner == "lbfgs" or model.status_ == "gap"
    assert found["svm"].objective == pytest.approx(found["cutting-plane"].objective, rel=2e-3)
    assert found["eg"].objective == pytest.approx(found["lbfgs"].objective, rel=2e-3)


@pytest.mark.parametrize("loss", ["hamming", "segments"])
@pytest.mark.parametrize("kind", ["semi", "chain", "chain-2"])
def test_both_roads_to_a_margin_meet(kind: str, loss: str) -> None:
    objectives = []
    for learner in ("svm", "eg"):
        model = KINDS[kind](learner=learner, loss=loss, c2=0.1, n_threads=1).fit(X, Y)
        last = model.history_[-1]
        assert last.gap is not None
        assert last.gap < 0.05 * last.objective
        objectives.append(last.objective)
    assert objectives[0] * 0.999 <= objectives[1] < 1.05 * objectives[0]


def test_planes_of_large_values_are_told_apart() -> None:
    random = np.random.default_rng(0)
    data = [
        [{f"w={token}": 1.0, "large": 1e5 * float(random.normal())} for token in text.split()]
        for text in X
    ]
    model = caesura.ChainCRF(learner="cutting-plane", c2=0.1).fit(data, Y)
    assert model.status_ == "gap"


def test_development_data_and_callbacks() -> None:
    seen: list[Any] = []
    model = caesura.ChainCRF(learner="perceptron", max_iterations=5, delta=0.0, patience=2)
    model.fit(X, Y, X, Y, callbacks=[seen.append])
    assert [p.iteration for p in seen] == list(range(1, len(seen) + 1))
    assert all(p.dev_score is not None for p in seen)


def test_tokens_of_a_label_may_cost_more() -> None:
    plain = caesura.ChainCRF(learner="svm", c2=0.5).fit(X, Y)
    more = caesura.ChainCRF(learner="svm", c2=0.5, class_weight={"town": 9.0}).fit(X, Y)
    one = caesura.ChainCRF(learner="svm", c2=0.5, class_weight={"town": 1.0}).fit(X, Y)
    assert more.history_[-1].objective > plain.history_[-1].objective
    np.testing.assert_array_equal(one.weights_, plain.weights_)


def test_a_sequence_of_weight_two_counts_twice() -> None:
    weight = np.ones(len(X))
    weight[:5] = 2.0
    some = caesura.SemiCRF(
        features=[attributes[0]], learner="svm", c2=0.1, delta=1e-5, max_iterations=3000
    )
    words = [[[word] for word in x.split()] for x in X]
    twice = some.fit(words, Y, sample_weight=weight).history_[-1].objective
    both = some.fit(words + words[:5], Y + Y[:5]).history_[-1].objective
    assert twice == pytest.approx(both, rel=3e-5)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        (
            {"learner": "lbfgs", "loss": "hamming"},
            "loss: got 'hamming', expected None with lbfgs, which maximises the likelihood; leave",
        ),
        ({"learner": "eg", "loss": "zero-one"}, "loss: got 'zero-one'.*with eg"),
        ({"learner": "svm", "loss": "log"}, "loss: got 'log'.*or use the learner eg"),
        ({"learner": "svm", "loss": "other"}, "loss: got 'other'"),
        ({"learner": "svm", "c1": 0.1}, "c1: got 0.1, expected 0 with svm"),
        ({"learner": "perceptron", "c1": 0.1}, "c1: got 0.1, expected 0 with perceptron"),
        ({"learner": "svm", "c2": 0.0}, "c2: got 0.0, expected a number above 0 with svm"),
        ({"learner": "cutting-plane", "c2": 0.0}, "c2: got 0.0"),
        ({"learner": "eg", "c2": 0.0}, "c2: got 0.0"),
        ({"learner": "svm", "penalties": {"transitions": 0.0}}, r"penalties\['transitions'\]"),
        ({"learner": "svm", "penalties": {"transitions": (1.0, 1.0)}}, r"penalties\['transitions"),
        ({"learner": "pa", "pa_type": 3}, "pa_type: got 3, expected 0, 1 or 2"),
        ({"learner": "pa", "pa_c": 0.0}, "pa_c: got 0.0"),
        ({"learner": "arow", "arow_r": -1.0}, "arow_r: got -1.0"),
        ({"learner": "pa", "average": "no"}, "average: got 'no', expected True or False"),
        ({"learner": "arow", "arow_variance": "x"}, "arow_variance: got 'x'"),
        ({"learner": "svm", "loss": "segments", "class_weight": {"town": 2}}, "class_weight"),
        ({"learner": "perceptron", "class_weight": {"town": 2}}, "class_weight"),
    ],
)
def test_what_does_not_fit_together_is_refused(params: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        caesura.SemiCRF(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("learner", "others"), [("svm", "'hamming' or 'zero-one'"), ("eg", "'hamming' or 'log'")]
)
def test_a_chain_of_plain_tags_has_no_segments(learner: str, others: str) -> None:
    model = caesura.ChainCRF(scheme=None, learner=learner, loss="segments")
    with pytest.raises(InvalidInput, match=f"loss: got 'segments', expected {others} with scheme="):
        model.fit([["x", "y"], ["z"]], [["a", "b"], ["b"]])


@pytest.mark.parametrize("learner", MARGIN)
def test_partial_labels_are_refused(learner: str) -> None:
    y = [*Y[:3], Partial(tokens={0: ["number"]}), *Y[4:]]
    with pytest.raises(InvalidInput, match=rf"y\[3\].*expected all labels.*{learner}"):
        caesura.SemiCRF(learner=learner).fit(X, y)


def test_cutting_planes_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "quadprog":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingPackage, match=r"caesura\[margin\]"):
        caesura.SemiCRF(learner="cutting-plane").fit(X, Y)


# -- probabilities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["semi", "chain", "semi-2", "runs"])
def test_the_temperature_is_the_most_likely_one(kind: str, tmp_path: Path) -> None:
    model = KINDS[kind](learner="perceptron", max_iterations=5).fit(X[:12], Y[:12])
    before, w = model.predict(X), model.weights_
    model.calibrate(X, Y)
    found = model.temperature_
    np.testing.assert_allclose(model.weights_ * found, w, rtol=1e-12)
    assert model.predict(X) == before

    fitted = model._known

    def likelihood(temperature: float) -> float:
        model._fitted = cooled(fitted, temperature / found)
        total, states = 0.0, fitted.structure.states
        labelling = Labelling(fitted.structure, fitted.labels, fitted.scheme, fitted.scheme)
        for x, gold in zip(X, Y, strict=True):
            p = model.potentials(x)
            rows = model.coding.rows([caesura.Segment(*s) for s in gold], p.length, labelling, "y")
            total += caesura.log_probability(p, [(s, e, states[k]) for s, e, k in rows.tolist()])
        model._fitted = fitted
        return total

    best = likelihood(found)
    assert best > likelihood(found * 1.05)
    assert best > likelihood(found / 1.05)
    model.save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    assert again.temperature_ == found
    assert again.predict_confident(X) == model.predict_confident(X)


def test_an_uncalibrated_margin_says_so(tmp_path: Path) -> None:
    model = caesura.SemiCRF(learner="pa").fit(X, Y)
    with pytest.warns(UserWarning, match=r"uncalibrated margin model \(learner pa\)"):
        model.predict_confident(X)
    model.save(tmp_path / "model")
    with pytest.warns(UserWarning, match="uncalibrated margin model"):
        caesura.load(tmp_path / "model").predict_confident(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.calibrate(X, Y).predict_confident(X)
        caesura.SemiCRF(learner="eg", loss="log").fit(X, Y).predict_confident(X)
        caesura.SemiCRF().fit(X, Y).predict_confident(X)


@pytest.mark.parametrize("learner", ["svm", "cutting-plane"])
def test_divided_segments_are_reported(learner: str) -> None:
    X = [["a", "b", "c"], ["a", "d", "c"], ["e", "f", "c"], ["e", "b", "c"]]
    y = [[(0, 2, "name"), (2, 3, "end")]] * 4
    tokens: dict[str, Any] = {"features": [word[0]], "learner": learner, "c2": 1.0}
    with pytest.warns(UserWarning, match="4 segments of the first 4 .*same_label_adjacent=False"):
        caesura.SemiCRF(**tokens).fit(X, y)
    for more in ({"same_label_adjacent": False}, {"loss": "segments"}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = caesura.SemiCRF(**tokens | more).fit(X, y)
        assert [list(one) for one in model.predict(X)] == y


def test_patterns_that_double_too_often_are_refused() -> None:
    X, y = [["a", "b"] * 10] * 2, [["B-x", "I-x"] * 10] * 2
    for order in (3, 17):
        features = [word[0], history(word[0], order)]
        model = caesura.ChainCRF(features, learner="perceptron", loss="segments", max_iterations=2)
        if order == 3:
            assert model.fit(X, y).predict_tags(X) == y
            continue
        with pytest.raises(TooLarge, match="18 tags has 2\\^18 states, expected at most 16 tags"):
            model.fit(X, y)
