"""Beam search and the perceptron: updates, averages, features of one's own, chains."""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from cli_data import good
from hypothesis import given, settings
from hypothesis import strategies as st
from lookback_cases import ONE, THREE, TWO, Case, random_case, restored, rows_of

import caesura
from caesura import _kernels
from caesura.errors import InvalidInput, TooLarge
from caesura.features import Incremental, edge, previous, this, window, word
from caesura.inference.beam_search import beam_search

UPDATES = ("early", "max-violation", "standard")
FEATURES = [ONE[0], ONE[7], *TWO[:3], THREE[0]]


class Twin:
    """The averaged perceptron with an agenda, in plain Python."""

    def __init__(self, case: Case, gold: list[Any], k: int, update: str) -> None:
        self.case, self.gold, self.k, self.update = case, gold, k, update
        self.w: dict[tuple[int, int], float] = defaultdict(float)
        self.sums: dict[tuple[int, int], float] = defaultdict(float)  # over all examples
        self.updates = 0
        self.n = 0
        self.length = len(case.document)
        self.n_end = 1 + sum(getattr(one, "fires_at_end", False) for one in case.features)

    def phi(self, path: Any) -> list[tuple[int, int, float]]:
        said = self.case.said(path)
        return said if path[-1][1] == self.length else said[: -self.n_end]

    def score(self, path: Any) -> float:
        return sum(self.w[key, y] * x for key, y, x in self.phi(path))

    def learn(self, gold: Any) -> None:
        agendas = beam_search(
            self.length, self.case.bounds, self.score, self.k, self.case.model.depth
        )
        prefixes = [gold[: j + 1] for j in range(len(gold))]
        kept = [prefix in [path for _, path in agendas[prefix[-1][1]]] for prefix in prefixes]
        first = kept.index(False) if False in kept else None
        at = None
        if self.update == "early" and first is not None:
            at = first
        elif agendas[-1][0][1] == gold:
            at = None
        elif self.update == "max-violation":
            gaps = []
            for j, prefix in enumerate(prefixes):
                value, top = agendas[prefix[-1][1]][0]
                if top != prefix:
                    gaps.append((value - self.score(prefix), -j))
            at = -max(gaps)[1] if gaps else None
        else:
            at = len(gold) - 1
        if at is not None:
            self.updates += 1
            wrong = agendas[gold[at][1]][0][1]
            for sign, path in ((1.0, prefixes[at]), (-1.0, wrong)):
                for key, y, x in self.phi(path):
                    self.w[key, y] += sign * x
        self.n += 1
        for pair, value in self.w.items():
            self.sums[pair] += value

    def averaged(self) -> dict[tuple[int, int], float]:
        """The average over the weights before the first example and after each."""
        return {key: value / (self.n + 1) for key, value in self.sums.items() if value}


@given(
    st.integers(0, 10**6),
    st.integers(2, 5),
    st.sampled_from([[3], [2, 2]]),
    st.integers(1, 3),
    st.sampled_from(UPDATES),
    st.integers(2, len(FEATURES)),
)
@settings(max_examples=60, deadline=None)
def test_perceptron_is_its_definition(
    seed: int, length: int, bounds: list[int], k: int, update: str, n: int
) -> None:
    case = random_case(seed, FEATURES[:n], length, bounds)
    case.barred[...] = 0
    case.model = case.encoder.new_model(len(bounds), True)
    paths = case.paths()
    random = np.random.default_rng(seed)
    gold = [paths[int(random.integers(len(paths)))] for _ in range(2)]
    twin = Twin(case, gold, k, update)
    corpus: Any = case.encoder.encode([case.document] * 2, True)
    kernel = _kernels.SpanPerceptron(
        case.encoder.new_model(len(bounds), True),
        corpus,
        [rows_of(path) for path in gold],
        *case.bars,
        np.ones(2),
        k,
        UPDATES.index(update),
    )
    order = np.array([0, 1, 1, 0, 0, 1], np.int32)
    for at, i in enumerate(order.tolist()):
        assert kernel.run(order, at, 0.0, None) == at + 1  # one step, which takes all the time
        twin.learn(gold[i])
        assert kernel.updates == twin.updates
        made = kernel.averaged()
        table = made.weights.reshape(-1, len(bounds))
        found = {
            (key, y): table[r, y]
            for r, key in enumerate(made.keys.tolist())
            for y in range(len(bounds))
            if table[r, y]
        }
        expected = twin.averaged()
        assert found.keys() == {key for key, value in expected.items() if abs(value) > 1e-12}
        for key, value in found.items():
            assert value == pytest.approx(expected[key], abs=1e-12)


def test_texts_of_rejected_words_are_found_again() -> None:
    """A key counts whether or not its text was in the table before the sequence was read."""
    case = random_case(1, [this.text], 3, [2])
    weights = {(key, 0): 1.0 for path in case.paths() for key, _, _ in case.said(path)}
    case.model = restored(case.encoder, 1, weights)
    path = ((0, 2, 0), (2, 3, 0))
    assert case.scorer().score(case.corpus, 0, rows_of(path)) == 5.0


# ---- models --------------------------------------------------------------------------------------

X = ["我吃了苹果", "我吃苹果", "你吃了梨子", "苹果我吃了"]
TEXTS = [["我", "吃", "了", "苹果"], ["我", "吃", "苹果"], ["你", "吃", "了", "梨子"],
         ["苹果", "我", "吃", "了"]]  # fmt: skip


def segments(texts: list[str]) -> list[tuple[int, int, str]]:
    ends = np.cumsum([len(text) for text in texts]).tolist()
    return [(e - len(text), e, "w") for text, e in zip(texts, ends, strict=True)]


Y = [segments(texts) for texts in TEXTS]
OPTIONS: dict[str, Any] = {
    "max_length": "observed",
    "tokeniser": "characters",
    "learner": "perceptron",
}


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("beam", [1, 4, None])
def test_words_are_learnt(beam: int | None, update: str) -> None:
    model = caesura.SemiCRF(
        caesura.features.word_templates(), beam=beam, update=update, **OPTIONS
    ).fit(X, Y)
    assert model.score(X, Y) == 1.0
    assert model.predict(["你吃苹果"])[0] == [
        caesura.Segment(*s) for s in segments(["你", "吃", "苹果"])
    ]


def test_the_beam_may_change_between_predictions() -> None:
    model = caesura.SemiCRF(caesura.features.word_templates(), beam=2, **OPTIONS).fit(X, Y)
    wide = model.set_params(beam=10**6).predict(X)
    assert model.set_params(beam=None).predict(X) == wide
    with pytest.raises(InvalidInput, match="beam: got 0"):
        model.set_params(beam=0).predict(X)


class Repeated:
    """Say whether a word has been there before."""

    def attributes(self, tokens: Any, before: Any, segment: Any) -> str | None:
        text = tokens[segment.start : segment.end]
        seen = any(tokens[s.start : s.end] == text for s in before)
        return "again" if seen else None


def test_a_feature_of_ones_own_sees_everything() -> None:
    """Only a look at all segments before tells the second "ab" from the first."""
    texts = ["abcab", "abdab", "abeab"]
    gold = [segments(["a", "b", "c", "ab"]), segments(["a", "b", "d", "ab"]),
            segments(["a", "b", "e", "ab"])]  # fmt: skip

    def begun(tokens: Any, before: Any, segment: Any) -> str:
        return f"{len(before)} {segment.end - segment.start}"

    model = caesura.SemiCRF([Incremental(begun, "begun"), this.length], beam=8, **OPTIONS)
    assert model.fit(texts, gold).score(texts, gold) == 1.0
    with pytest.raises(InvalidInput, match="beam: got None, expected a number of candidates"):
        model.set_params(beam=None).fit(texts, gold)


def test_numbers_of_a_feature_of_ones_own_are_refused() -> None:
    """They would be dropped: an attribute of a segment fires or does not."""
    for answer in ({"words": 3}, 3.5, [3]):
        feature = Incremental(lambda tokens, before, segment, answer=answer: answer, "own")
        with pytest.raises(InvalidInput, match=r"own\(.*expected a string, some strings, or None"):
            caesura.SemiCRF([feature], beam=2, **OPTIONS).fit(X, Y)


def test_an_agenda_that_holds_everything_is_exact_for_ones_own_features() -> None:
    """The same feature, declared and as a function: the search finds the same best paths."""

    def bigram(tokens: Any, before: Any, segment: Any) -> str:
        last = "".join(tokens[before[-1].start : before[-1].end]) if before else "<s>"
        return last + "|" + "".join(tokens[segment.start : segment.end])

    own = caesura.SemiCRF([Incremental(bigram)], beam=10**6, update="standard", **OPTIONS)
    declared = caesura.SemiCRF([previous.text & this.text], update="standard", **OPTIONS)
    own.fit(X, Y)
    declared.fit(X, Y)
    assert own.predict(X) == declared.predict(X)


def test_beam_over_tags() -> None:
    tokens = [["Ann", "met", "Bob"], ["Bob", "Lee", "saw", "Ann"], ["she", "saw", "Bob", "Lee"]]
    tags = [["B-P", "O", "B-P"], ["B-P", "I-P", "O", "B-P"], ["O", "O", "B-P", "I-P"]]
    features = [*window(word, -1, 1), edge(word[0]), previous.label & this.text]
    for beam, update in ((1, "early"), (3, "max-violation"), (10**6, "standard")):
        model = caesura.ChainCRF(features, learner="perceptron", beam=beam, update=update)
        model.fit(tokens, tags)
        assert model.predict_tags(tokens) == tags
        assert model.predict_tags(tokens, scheme=None) == tags


def test_a_wide_agenda_of_tags_is_exact() -> None:
    tokens = [["a", "b", "c"], ["b", "a"], ["c", "c", "a", "b"]]
    tags = [["x", "y", "z"], ["y", "y"], ["x", "z", "x", "x"]]
    options: dict[str, Any] = {"scheme": None, "learner": "perceptron", "max_iterations": 3}
    model = caesura.ChainCRF([word[0], edge(word[0])], beam=2, **options).fit(tokens, tags)
    wide = model.set_params(beam=10**6).predict_tags(tokens, scheme=None)
    assert model.set_params(beam=None).predict_tags(tokens, scheme=None) == wide


def test_progress_and_development_data() -> None:
    seen: list[Any] = []
    model = caesura.SemiCRF(
        caesura.features.word_templates(), beam=4, max_iterations=3, patience=1, **OPTIONS
    )
    model.fit(X, Y, X_dev=X, y_dev=Y, callbacks=[seen.append])
    assert [p.iteration for p in seen] == list(range(1, len(seen) + 1))
    assert all(p.dev_score is not None for p in seen)
    assert model.history_ == seen
    assert model.status_ in ("objective", "patience", "max_iterations")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"learner": "lbfgs", "beam": 4},
            "learner: got 'lbfgs', expected 'perceptron' with a beam",
        ),
        ({"learner": "sgd"}, "learner: got 'sgd', expected 'lbfgs' or 'perceptron'"),
        ({"learner": "svm", "beam": 4}, "learner: got 'svm', expected 'perceptron' with a beam"),
        ({"learner": "perceptron", "beam": 0}, "beam: got 0"),
        ({"learner": "perceptron", "update": "late"}, "update: got 'late'"),
        ({"learner": "perceptron", "order": 2}, "order: got 2, expected 1 with features"),
        ({"learner": "lbfgs", "features": [THREE[0]]}, "learner: got 'lbfgs', expected 'percep"),
        ({"learner": "perceptron", "max_length": None}, "max_length: got None, expected a bound"),
    ],
)
def test_settings_that_do_not_go_together(options: dict[str, Any], expected: str) -> None:
    settings: dict[str, Any] = {"features": [this.text], **OPTIONS, **options}
    with pytest.raises(InvalidInput, match=expected):
        caesura.SemiCRF(**settings).fit(X, Y)


def test_too_many_spans() -> None:
    options = OPTIONS | {"max_length": 10**9}
    model = caesura.SemiCRF([this.text], max_iterations=1, **options).fit(X, Y)
    with pytest.raises(TooLarge, match=r"X\[1\]: 5,000 tokens have 25,000,000 spans"):
        model.predict([X[0], "a" * 5000])


ASKED: dict[str, Any] = {
    "explain": lambda model: model.explain(X[0]),
    "top features": lambda model: model.top_features(),
    "potentials": lambda model: model.potentials(X[0]),
    "constraints": lambda model: model.predict(X, constraints={"at_most_once": ["w"]}),
    "required": lambda model: model.predict(X, constraints={"boundaries": [1]}),
}


@pytest.mark.parametrize("what", ASKED)
def test_questions_without_an_answer(what: str) -> None:
    model = caesura.SemiCRF([previous.text & this.text], **OPTIONS).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"not available|expected none"):
        ASKED[what](model)


def test_losses_are_refused_with_features_that_look_back() -> None:
    with pytest.raises(InvalidInput, match="loss: got 'segments', expected None with"):
        caesura.SemiCRF([this.text], **(OPTIONS | {"loss": "segments"})).fit(X, Y)


def test_features_that_see_everything_need_a_beam_to_predict() -> None:
    model = caesura.SemiCRF([Incremental(Repeated), this.text], beam=2, **OPTIONS).fit(X, Y)
    with pytest.raises(InvalidInput, match="beam: got None, expected a number of candidates"):
        model.set_params(beam=None).predict(X)


def test_trigrams_have_no_probabilities() -> None:
    model = caesura.SemiCRF(THREE[:1], **OPTIONS).fit(X, Y)
    assert len(model.predict(X)) == len(X)
    for ask in (lambda: model.predict_n_best(X, 2), lambda: model.predict_marginals(X)):
        with pytest.raises(InvalidInput, match="not available for features that look back at two"):
            ask()


# ---- files ---------------------------------------------------------------------------------------


FILED: list[dict[str, Any]] = [
    {"features": caesura.features.word_templates(), "beam": 4},
    {"features": THREE},
    {"features": [*TWO, *ONE[:4]], "learner": "lbfgs"},
    {"features": "words", "beam": 2},
    {"features": [Incremental(Repeated), this.text], "beam": 2},
]


@pytest.mark.parametrize("options", FILED)
def test_models_are_saved_and_pickled(options: dict[str, Any], tmp_path: Any) -> None:
    model = caesura.SemiCRF(**(OPTIONS | options)).fit(X, Y)
    more = [*X, "你吃苹果", "他吃了桃", ""]
    model.save(tmp_path / "model")
    for again in (caesura.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.predict(more) == model.predict(more)
        assert again.n_features_ == model.n_features_
        assert again.beam == model.beam
        if "learner" in options:
            assert again.predict_n_best(more, 2) == model.predict_n_best(more, 2)
    model.save(tmp_path / "same")
    assert (tmp_path / "same").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_chain_with_a_beam_is_saved(tmp_path: Any) -> None:
    tokens, tags = [["Ann", "met", "Bob"]], [["B-P", "O", "B-P"]]
    features = [word[0], previous.label & this.text]
    model = caesura.ChainCRF(features, learner="perceptron", beam=2).fit(tokens, tags)
    model.save(tmp_path / "model")
    assert caesura.load(tmp_path / "model").predict(tokens) == model.predict(tokens)


def test_calibration_is_saved(tmp_path: Any) -> None:
    options = OPTIONS | {"learner": "lbfgs", "c2": 0.5}
    model = caesura.SemiCRF([previous.text & this.text, word[0]], **options).fit(X, Y)
    model.calibrate(X, Y)
    model.save(tmp_path / "model")
    assert caesura.load(tmp_path / "model").predict_confident(X) == model.predict_confident(X)


def test_the_outside_bias_moves_segments() -> None:
    model = caesura.SemiCRF(
        [this.text, previous.text & this.text], max_length=2, learner="lbfgs", c2=1.0
    ).fit(["a b c", "a c b"], [[(0, 1, "x")], [(0, 1, "x")]])
    assert model.predict(["a b"])[0]
    assert not model.set_params(outside_bias=50.0).predict(["a b"])[0]


def test_command_line(tmp_path: Any) -> None:
    lines = [
        json.dumps({"tokens": list(text), "segments": [list(one) for one in gold]})
        for text, gold in zip(X, Y, strict=True)
    ]
    data, model = tmp_path / "data.jsonl", tmp_path / "model"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = ["--learner", "perceptron", "--beam", "4", "--update", "max-violation"]
    good("train", str(data), "--output", str(model), "--preset", "words", *told,
         "--max-length", "observed", "--max-iterations", "5")  # fmt: skip
    assert "at most" in good("inspect", str(model)).out
    assert caesura.load(model).features_ == caesura.features.preset("words", bigrams=True)
    found = good("segment", str(model), str(data), "--to", "jsonl").out
    assert len(found.splitlines()) >= len(X)
