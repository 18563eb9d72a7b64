"""Models with constraints of their own: learning and answers against every segmentation."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from high_order import Definition, Segments
from hypothesis import assume, given, settings
from oracle import close

import caesura
from caesura import ChainCRF, Impossible, InvalidInput, Partial, SemiCRF, _kernels
from caesura.features import Length, bias, edge, first, history, last, word
from caesura.inference.problems import problem_of
from caesura.models.rules import Rules, read_rules
from caesura.models.schemes import tag_set

# Random segments may have none of the lengths of a feature.
pytestmark = pytest.mark.filterwarnings("ignore:features. no training segment has a length")

LABELS = ("one", "two", "three")
TOKENS = [word[0], bias[0], edge(word[0]), history(word[0], 1), history(bias[0], 2)]
SEGMENTS = [first(word[0]), last(word[0]), Length(exact=2)]
RULES = {"at_most_once": ["street"], "exactly_once": ["number"], "ordered": ["number", "town"]}
X = [
    f"{k} {road} {kind} {town}"
    for k in range(5)
    for road, kind, town in zip(
        ["High", "Park", "Mill", "Low", "Station", "Church"],
        ["Street", "Lane", "Road", "Street", "Road", "Lane"],
        ["Leeds", "York", "Leeds", "Hull", "York", "Bath"],
        strict=True,
    )
]
Y = [[(0, 1, "number"), (1, 3, "street"), (3, 4, "town")]] * 30


class Ruled(Definition):
    """The definition of a model whose segmentations keep rules."""

    def possible(self, T: int, at: int = 0, before: int | None = None) -> Iterator[Segments]:
        found = super().possible(T, at, before)
        return (s for s in found if self.keeps(s, T)) if at == 0 else found

    def keeps(self, states: Segments, T: int) -> bool:
        """Whether a path over states keeps the rules about segments."""
        if self.model.kind == "chain":
            names = self.training.structure.states
            tags = tag_set(names, self.training.scheme, self.model.outside)
            segments = tags.segments([names.index(label) for _, _, label in states])
        else:
            segments = [caesura.Segment(*s) for s in states if s[2] != self.model.outside]
        return bool(Rules(**self.model.constraints).kept_by(segments, T, self.model.outside))


class Case:
    """A random model with constraints, labels that keep them, and random weights."""

    def __init__(self, draw: Any, partial: bool) -> None:
        chain = draw(st.booleans())
        self.rng = np.random.default_rng(draw(st.integers(0, 10**6)))
        labels = LABELS[: draw(st.integers(2, 3))]
        some = st.lists(st.sampled_from(labels), unique=True).map(tuple)
        constraints = {
            "at_most_once": draw(some),
            "exactly_once": draw(some)[:1],
            "ordered": draw(some),
        }
        lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
        self.X = [[str(w) for w in self.rng.choice(["a", "b"], n)] for n in lengths]
        features = draw(
            st.lists(
                st.sampled_from(TOKENS if chain else TOKENS + SEGMENTS),
                min_size=1,
                max_size=3,
                unique_by=repr,
            )
        )
        options: dict[str, Any] = {"order": draw(st.integers(1, 3)), "constraints": constraints}
        if chain:
            options["forbid_invalid"] = draw(st.sampled_from(["predict", "always", "never"]))
        else:
            options["max_length"] = draw(st.sampled_from([None, 2]))
        kind: Any = ChainCRF if chain else SemiCRF
        rules = Rules(**constraints)
        self.y: list[Any] = [self.draw_segments(n, labels, rules, chain) for n in lengths]
        assume(None not in self.y)
        # All labels occur somewhere, in a sequence that says almost nothing.
        self.X.append(["a"])
        self.y.append(Partial(tokens={0: {*labels, "O"}}))
        if partial:
            self.y = [self.known(y) if k % 2 else y for k, y in enumerate(self.y)]
        self.model = kind(features, n_threads=1, **options)
        read = self.model._read(self.X, self.y, None)
        self.targets = read.targets
        self.labelling = self.model.coding.labelling(read.targets, [len(x) for x in self.X], None)
        self.weight = self.rng.random(len(self.X)) + 0.5
        try:
            self.training = self.model._training(read, self.weight, None)
        except InvalidInput as error:
            assume("constraints" not in str(error))
            raise
        self.definition = Ruled(self.model, self.training)
        self.w = self.rng.normal(size=len(self.training.parameters))

    def draw_segments(
        self, n: int, labels: tuple[str, ...], rules: Rules, chain: bool
    ) -> list[tuple[int, int, str]] | None:
        for _ in range(50):
            out: list[tuple[int, int, str]] = []
            at = 0
            while at < n:
                end = min(n, at + int(self.rng.integers(1, 3)))
                label = str(self.rng.choice([*labels, "O"]))
                if label != "O":
                    out.append((at, end, label))
                at = end
            segments = [caesura.Segment(*s) for s in out]
            if rules.kept_by(segments, n, "O"):
                return out
        return None

    def known(self, segments: Any) -> Any:
        """Return a part of what is known."""
        if isinstance(segments, Partial) or not segments:
            return segments
        start, _, label = segments[int(self.rng.integers(len(segments)))]
        return Partial(tokens={start: {label, "O"}})

    def agrees(self, states: Segments, target: Any, T: int) -> bool:
        """Whether a path over states says what is known of a sequence."""
        names = list(self.training.structure.states)
        path = [(s, e, names.index(label)) for s, e, label in states]
        if not isinstance(target, Partial):
            return bool(
                np.array_equal(path, self.model.coding.rows(target, T, self.labelling, "y"))
            )
        allowed, marks = self.model.coding.hint(target, T, self.labelling, "y")
        inner = {s for s, _, _ in path}
        forced = {int(t) for t in np.flatnonzero(marks & 1)}
        return forced <= inner and all(allowed[t, k] for s, e, k in path for t in range(s, e))

    def loss(self) -> tuple[float, Any]:
        total, gradient = 0.0, np.zeros(len(self.w))
        for x, target, share in zip(self.X, self.targets, self.weight.tolist(), strict=True):
            listed, counts = self.definition.table(x)
            kept = [self.agrees(segments, target, len(x)) for segments in listed]
            assume(any(kept))
            for sign, some in ((share, counts), (-share, counts[kept])):
                scores = some @ self.w
                log_z = np.logaddexp.reduce(scores)
                total += sign * float(log_z)
                gradient += sign * (np.exp(scores - log_z) @ some)
        return total, gradient


@settings(max_examples=120, deadline=None)
@given(st.data(), st.booleans())
def test_objective_and_gradient_are_those_of_enumeration(data: Any, partial: bool) -> None:
    case = Case(data.draw, partial)
    expected, slope = case.loss()
    loss, gradient = case.training.objective.evaluate(case.w, None, False, 1)
    assert close(loss, expected)
    assert close(gradient, slope)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_answers_keep_the_constraints(data: Any) -> None:
    case = Case(data.draw, False)
    model = case.model
    model._set_fitted(case.training.fitted(case.w))
    definition = case.definition
    definition.structure = case.training.structure  # predictions may forbid more
    for x in case.X:
        listed, counts = definition.table(x)
        if not listed:
            continue
        scores = counts @ case.w
        p = model.potentials(x)
        assert close(caesura.log_partition(p), np.logaddexp.reduce(scores))
        # The best path of the learning kernels, which predict uses.
        design = model._known.parameters.compile(model._known.encoder.encode([_document(x)], False))
        names = case.training.structure.states
        (path,) = model._known.scorer.best(design, None, 1).segments(tuple, list(names))
        states = tuple(path)
        assert close(scores[listed.index(states)], scores.max())
        assert close(caesura.viterbi(p).score, scores.max())
        for found in (model.predict([x]), model.sample([x], 5)[0]):
            for segments in found:
                assert Rules(**model.constraints).kept_by(segments, len(x), "O")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_ties_have_an_order_of_their_own(data: Any) -> None:
    """The smallest last label, then its latest start, then the same for what precedes it."""
    case = Case(data.draw, False)
    fitted = case.training.fitted(np.round(case.w))  # scores are whole numbers
    assume(fitted.parameters.patterns or any(case.model.constraints.values()))
    case.definition.structure = case.training.structure
    names = case.training.structure.states
    for x in case.X:
        listed, counts = case.definition.table(x)
        if not listed:
            continue
        scores = counts @ np.round(case.w)
        best = [one for one, score in zip(listed, scores, strict=True) if score == scores.max()]
        expected = min(
            best, key=lambda path: [(names.index(label), -s) for s, _, label in reversed(path)]
        )
        design = fitted.parameters.compile(fitted.encoder.encode([_document(x)], False))
        (path,) = fitted.scorer.best(design, None, 1).segments(tuple, list(names))
        assert tuple(path) == expected


def _document(x: list[str]) -> caesura.Document:
    return caesura.Document(tuple(x))


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
def test_constraints_are_part_of_the_model(kind: Any, tmp_path: Path) -> None:
    model = kind(c2=0.1, constraints=RULES, max_iterations=5).fit(X, Y)
    assert model.get_params()["constraints"] is RULES
    model.save(tmp_path / "model")
    loaded = caesura.load(tmp_path / "model")
    text = ["1 2 Mill Road Mill Road York Leeds 3"]
    expected = model.predict(text)
    assert read_rules(RULES, "constraints").kept_by(expected[0], 9, "O")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert other.predict(text) == expected
        assert other.predict_n_best(text, 3) == model.predict_n_best(text, 3)
        assert other.constraints == RULES
    free = kind(c2=0.1, max_iterations=5).fit(X, Y)
    assert free.history_[-1].objective > model.history_[-1].objective  # fewer rivals
    more = model.predict(text, constraints={"at_most_once": ["town"]})[0]
    assert [s.label for s in more].count("town") <= 1
    assert [s.label for s in more].count("number") == 1


def test_constraints_are_cloned() -> None:
    from sklearn.base import clone

    model = clone(SemiCRF(constraints=RULES))
    assert model.constraints == RULES
    assert "constraints" in repr(model)


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
def test_labels_that_break_constraints_are_refused(kind: Any) -> None:
    twice = [(0, 1, "street"), (1, 2, "town"), (2, 3, "street")]
    with pytest.raises(InvalidInput, match=r"^y\[30\]: .* expected 'street' at most once; "):
        kind(constraints={"at_most_once": ["street"]}).fit([*X, "a b c"], [*Y, twice])
    with pytest.raises(InvalidInput, match=r"^y\[30\]: .* expected 'number' exactly once; "):
        kind(constraints={"exactly_once": ["number"]}).fit([*X, "a b c"], [*Y, [(0, 1, "town")]])
    ordered = {"ordered": ["town", "street"]}
    with pytest.raises(InvalidInput, match=r"^y\[30\]: .* the order town, street; "):
        kind(constraints=ordered).fit(["a b c"] * 31, [[(1, 2, "town")]] * 30 + [twice[:2]])
    known = Partial(segments=[(0, 1, "street"), (2, 3, "street")])
    with pytest.raises(InvalidInput, match=r"^y\[1\]: got labels that no segmentation agrees"):
        kind(constraints={"at_most_once": ["street"]}).fit([X[0], "a b c"], [Y[0], known])


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("town", "constraints: got 'town', expected a dict"),
        ({"boundaries": [1]}, "constraints: got 'boundaries', expected at_most_once, exactly_once"),
        ({"at_most_once": 3}, "constraints['at_most_once']: got 3"),
        ({"ordered": ["planet"]}, "constraints['ordered']: got 'planet', expected one of the"),
        ({"ordered": ["town", "town"]}, "constraints['ordered']: a label occurs twice"),
    ],
)
def test_wrong_constraints_are_refused(kind: Any, given: Any, said: str) -> None:
    with pytest.raises(InvalidInput) as error:
        kind(constraints=given).fit(X, Y)
    assert str(error.value).startswith(said)


def limited(n_limited: int, n_labels: int, T: int) -> tuple[SemiCRF, Any, Any]:
    """Return a model with labels that occur at most once, and sequences with all its labels."""
    labels = [f"l{k}" for k in range(n_labels)]
    X = [labels[k : k + T] for k in range(0, n_labels, T)]
    y = [[(t, t + 1, label) for t, label in enumerate(x)] for x in X]
    once = {"at_most_once": labels[:n_limited]}
    return SemiCRF([word[0], bias[0]], constraints=once, n_threads=1), X, y


@pytest.mark.parametrize(
    "size",
    [
        (13, 20, 5),  # 110,592 states for sequences of any length
        (24, 24, 4),  # few states for four tokens only: a hundred million for any number
    ],
)
def test_training_with_many_limits(size: tuple[int, int, int]) -> None:
    """The loss is ln Z of the potentials less the score; the gradient is that of the loss."""
    model, X, y = limited(*size)
    training = model._training(model._read(X, y, None), np.ones(len(X)), None)
    rng = np.random.default_rng(0)
    w, objective = rng.normal(size=len(training.parameters)), training.objective
    loss, gradient = objective.evaluate(w, None, False, 1)
    model._set_fitted(training.fitted(w))
    expected = 0.0
    for x, segments in zip(X, y, strict=True):
        p = model.potentials(x)
        expected += caesura.log_partition(p) - caesura.score(p, segments)
    assert abs(loss - expected) <= 1e-10 * abs(expected)
    for _ in range(3):
        step = 1e-5 * rng.normal(size=len(w))
        above, below = (objective.evaluate(w + s, None, False, 1)[0] for s in (step, -step))
        assert np.isclose((above - below) / 2, gradient @ step, rtol=1e-6, atol=1e-10)
    for found in model.predict(X):  # as fast as without limits, or tracking what is needed
        assert read_rules(model.constraints, "constraints").kept_by(found, size[2], "O")


def test_too_many_states_are_refused() -> None:
    model, X, y = limited(24, 24, 24)
    with pytest.raises(caesura.TooLarge, match=r"sets of the 24 labels .* 2,083,333 states"):
        model.fit(X, y)


def test_predictions_with_many_limits_track_few() -> None:
    """A long sequence gets the best segments that repeat no label, by any path."""
    model, X, y = limited(16, 16, 4)
    model.set_params(max_iterations=3).fit(X, y)
    x = [f"l{k}" for k in np.random.default_rng(0).permutation(16)] * 2
    assert model.predict([x]) == [list(caesura.viterbi(model.potentials(x)).segments)]


def test_look_ups_where_nothing_is_possible() -> None:
    p = caesura.Potentials(3, 2)
    p.emission[1] = -np.inf
    lookup = _kernels.Lookup(problem_of(p), 0)
    assert lookup.segments(0.5) == []
    assert lookup.segment(0, 1, 0) == 0.0


def test_forbidden_pairs_need_no_states() -> None:
    """Labels in a fixed order cannot occur again, and need not be remembered."""
    model, X, y = limited(0, 4, 4)
    attributes = model.fit(X, y)._known.encoder.attributes
    Y = 40
    backwards = np.tril(np.ones((Y, Y), np.uint8))
    none: Any = np.zeros(0, np.int32)
    bounds = np.zeros(Y, np.int32)
    free = _kernels.Parameters.restore(Y, attributes, bounds, backwards, None, None, *[none] * 7)
    assert free.with_rules([("at most once", [k]) for k in range(Y)], None).n_states == Y


@pytest.mark.parametrize("kind", [SemiCRF, ChainCRF])
def test_an_empty_sequence_breaks_exactly_once(kind: Any) -> None:
    model = kind(constraints={"exactly_once": ["a"]}).fit([["x", "y"]] * 3, [[(0, 1, "a")]] * 3)
    for ask in (
        model.predict,
        model.predict_tags,
        lambda xs: model.predict_tags(xs, scheme=None),
        model.predict_confident,
        model.predict_marginals,
        model.sample,
        lambda xs: model.predict(xs, constraints={"at_most_once": ["a"]}),
        lambda xs: model.predict(xs, constraints={"allowed": {}}),
    ):
        with pytest.raises(Impossible, match=r"^X\[1\]: no segmentation is possible"):
            ask([["x"], []])
    free = kind(constraints={"at_most_once": ["a"]}).fit([["x", "y"]] * 3, [[(0, 1, "a")]] * 3)
    assert free.predict([[]]) == [[]]
