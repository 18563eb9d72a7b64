"""Models of high order: learning and answers against every segmentation, one by one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from high_order import Definition, Segments
from hypothesis import given, settings
from oracle import close
from toys import addresses

import caesura
from caesura import ChainCRF, InvalidInput, Partial, Segment, SemiCRF
from caesura.features import (
    Length,
    begin,
    bias,
    edge,
    first,
    history,
    inside,
    last,
    single,
    within,
    word,
)
from caesura.models.patterns import seen_patterns

# Random segments may have none of the lengths of a feature.
pytestmark = pytest.mark.filterwarnings("ignore:features. no training segment has a length")

Floats = npt.NDArray[np.float64]
X, Y = addresses(30, seed=1)
LABELS = ("one", "two", "three")
TOKENS = [word[0], word[-1] & word[0], bias[0], edge(word[0]), edge(bias[0])]
SEGMENTS = [
    *(first(word[0]), last(word[0]), single(word[0]), begin(word[0]), inside(word[0])),
    *(within(word[0] & word[1]), first(word[0] & word[1]), last(word[-1] & word[0])),
    *(Length(exact=2), Length(at_least=2), Length(ranges=[(1, 2)])),
]


# -- random models ---------------------------------------------------------------------------------


class Case:
    """A random model, its data and random weights."""

    def __init__(self, draw: Any, partial: bool = False) -> None:
        self.kind = draw(st.sampled_from([SemiCRF, ChainCRF]))
        chain = self.kind is ChainCRF
        self.rng = np.random.default_rng(draw(st.integers(0, 10**6)))
        labels = LABELS[: draw(st.integers(2, 3))]
        few = st.lists(st.integers(int(partial), 5), min_size=2, max_size=3)
        many = st.lists(st.integers(int(partial), 3), min_size=4, max_size=11)
        lengths = draw(st.one_of(few, many))
        self.X = [[str(w) for w in self.rng.choice(["a", "b"], n)] for n in lengths]
        adjacent = chain or draw(st.booleans())
        self.y: list[Any] = [self.segments(n, labels, adjacent) for n in lengths]
        self.y[0] = self.y[0] or [(0, 1, "one")]
        self.X[0] = self.X[0] or ["a"]
        features = [
            history(feature, order) if order else feature
            for feature, order in draw(
                st.lists(
                    st.tuples(
                        st.sampled_from(TOKENS if chain else TOKENS + SEGMENTS), st.integers(0, 3)
                    ),
                    min_size=1,
                    max_size=4,
                    unique_by=lambda one: (repr(one[0]), max(one[1], "edge" in repr(one[0]))),
                )
            )
        ]
        options: dict[str, Any] = {"all_possible_states": draw(st.booleans())}
        if not chain:
            options["same_label_adjacent"] = adjacent
            options["max_length"] = draw(st.sampled_from([None, "observed", 5]))
        self.targets = self.y
        if chain:  # tags are labels and nothing more
            options |= {"scheme": None, "outside": "none"}
            self.targets = [[label for _, _, label in segments] for segments in self.y]
        if partial:
            self.targets = [self.known(k, n) for k, n in enumerate(lengths)]
            self.y = [
                t if isinstance(t, Partial) else y
                for t, y in zip(self.targets, self.y, strict=True)
            ]
        options["order"] = draw(st.integers(1, 4))
        options["pattern_min_freq"] = draw(st.integers(0, 2))
        seen = sorted({label for segments in self.y for label in names(segments)})
        if draw(st.booleans()):
            pattern = st.lists(st.sampled_from(seen), min_size=3, max_size=5).map(tuple)
            declared = draw(st.lists(pattern, max_size=4))
            if not adjacent:
                declared = [z for z in declared if all(map(str.__ne__, z, z[1:]))]
            options["patterns"] = declared
        self.model = self.kind(features, n_threads=1, **options)
        read = self.model._read(self.X, self.targets, None)
        self.weight = self.rng.random(len(self.X)) + 0.5
        self.training = self.model._training(read, self.weight, None)
        self.definition = Definition(self.model, self.training)
        self.w = self.rng.normal(size=len(self.training.parameters))

    def segments(self, n: int, labels: Any, adjacent: bool) -> list[tuple[int, int, str]]:
        out: list[tuple[int, int, str]] = []
        while (at := out[-1][1] if out else 0) < n:
            end = at + 1 if self.kind is ChainCRF else int(self.rng.integers(at + 1, n + 1))
            others = [y for y in labels if adjacent or not out or y != out[-1][2]]
            out.append((at, end, str(self.rng.choice(others))))
        return out

    def known(self, k: int, n: int) -> Any:
        """What is known of a sequence: all of it, a segment, or labels of tokens."""
        whole = self.y[k]
        if k % 3 == 0:
            return self.targets[k]
        start, end, label = whole[int(self.rng.integers(len(whole)))]
        if k % 3 == 1 or self.kind is ChainCRF:
            return Partial(tokens={start: {label, "one"}})
        return Partial(segments=[(start, end, label)])

    def fitted(self) -> Any:
        """Return the model with the random weights."""
        self.model._set_fitted(self.training.fitted(self.w))
        self.model.history_, self.model.status_ = [], "random"
        return self.model


def names(target: Any) -> list[str]:
    if isinstance(target, Partial):
        return [s.label for s in target.segments] + [
            y for some in target.tokens.values() for y in some
        ]
    return [label for _, _, label in target]


@settings(max_examples=150, deadline=None)
@given(st.data(), st.booleans())
def test_objective_and_gradient_are_those_of_enumeration(data: Any, partial: bool) -> None:
    case = Case(data.draw, partial)
    if not case.definition.agree(case.X, case.y):  # no other label is known that could be there
        with pytest.raises(LookupError, match=r"^\d+$"):
            case.training.objective.evaluate(case.w, None, False, 1)
        return
    loss, gradient = case.training.objective.evaluate(case.w, None, False, 1)
    expected, slope = case.definition.loss(case.X, case.y, case.w, case.weight)
    assert close(loss, expected)
    assert close(gradient, slope)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_threads_and_single_precision(data: Any) -> None:
    case = Case(data.draw)
    loss, gradient = case.training.objective.evaluate(case.w, None, False, 1)
    twice, same = case.training.objective.evaluate(case.w, None, False, 2)
    assert loss == twice
    assert np.array_equal(gradient, same)
    near, nearly = case.training.objective.evaluate(case.w, None, True, 1)
    size = 1.0 + np.abs(case.w).sum()
    assert close(near, loss, 1e-5 * size)
    assert close(nearly, gradient, 1e-4 * size)


@given(
    st.lists(st.lists(st.integers(0, 2), max_size=7), max_size=4),
    st.integers(1, 5),
    st.integers(0, 3),
)
def test_patterns_are_counted(labels: list[list[int]], order: int, least: int) -> None:
    rows = [np.array([(t, t + 1, y) for t, y in enumerate(some)], np.int32) for some in labels]
    counts = Counter(
        tuple(some[t : t + n])
        for some in labels
        for n in range(3, order + 2)
        for t in range(len(some) - n + 1)
    )
    expected = [z for z, count in counts.items() if count >= least]
    found = seen_patterns([some.reshape(-1, 3) for some in rows], order, least)
    assert found == sorted(expected, key=lambda z: (len(z), z))


# -- answers ---------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_answers_are_those_of_enumeration(data: Any) -> None:
    case = Case(data.draw)
    model = case.fitted()
    for x in case.X:
        listed, counts = case.definition.table(x)
        scores = counts @ case.w
        log_z = np.logaddexp.reduce(scores)
        share = dict(zip(listed, np.exp(scores - log_z).tolist(), strict=True))
        p = model.potentials(x)
        assert close(caesura.log_partition(p), log_z)
        assert close(caesura.log_partition(p, method="reference"), log_z)
        assert close(caesura.entropy(p), -sum(q * np.log(q) for q in share.values() if q))
        best = caesura.viterbi(p)
        assert close(best.score, scores.max())
        paths = caesura.n_best(p, 4)
        assert close([path.score for path in paths], np.sort(scores)[::-1][: len(paths)])
        for drawn in caesura.sample(p, 3, seed=1):
            assert share[tuple(map(tuple, drawn))] > 0
        if x:
            check_marginals(p, share, data)
            check_predictions(model, x, scores)


def check_marginals(p: Any, share: dict[Segments, float], data: Any) -> None:
    m = caesura.marginals(p)
    segments = data.draw(st.sampled_from(sorted(share)))
    j = data.draw(st.integers(0, len(segments) - 1))
    n = data.draw(st.integers(1, j + 1))
    labels = tuple(label for _, _, label in segments[j + 1 - n : j + 1])
    start, end, _ = segments[j]

    def ends_so(one: Segments) -> bool:
        """Whether a pattern ends in the segment [start, end)."""
        for k, (s, e, _) in enumerate(one):
            if (s, e) == (start, end):
                return tuple(label for *_, label in one[max(0, k + 1 - n) : k + 1]) == labels
        return False

    expected = sum(q for one, q in share.items() if ends_so(one))
    assert close(m.segment(start, end, labels), expected)
    kept = sum(q for one, q in share.items() if segments[j] in one)
    q = p.copy().constrain(required=[segments[j]])
    assert close(np.exp(caesura.log_partition(q) - m.log_partition), kept)


def check_predictions(model: Any, x: list[str], scores: Floats) -> None:
    p = model.potentials(x)
    [found] = model.predict_tags([x], scheme=None)
    if model.kind == "chain":
        path = [(t, t + 1, tag) for t, tag in enumerate(found)]
        assert close(caesura.score(p, path), scores.max())
    [best] = next(model._encoded([x])).best(None).segments(Segment, list(p.labels))
    assert close(caesura.score(p, best), scores.max())


# -- the longest segments of the training data ---------------------------------------------------


def bounds_of(model: Any) -> dict[str, int]:
    structure = model._known.structure
    return dict(zip(structure.states, structure.bounds.tolist(), strict=True))


def test_observed_lengths_are_bounds(tmp_path: Path) -> None:
    x = [["a", "b", "c", "d", "e", "f"]]
    y: list[Any] = [[(0, 2, "A"), (4, 5, "B")]]
    assert bounds_of(SemiCRF([word[0]], max_length="observed").fit(x, y)) == {
        "A": 2,
        "B": 1,
        "O": 1,
    }
    model = SemiCRF([word[0]], max_length="observed", outside_length=None).fit(x, y)
    assert bounds_of(model) == {"A": 2, "B": 1, "O": 2}
    model.save(tmp_path / "model")
    again = caesura.load(tmp_path / "model")
    assert again.max_length == "observed"
    assert bounds_of(again) == bounds_of(model)
    long = [["a"] * 9]
    assert max(s.length for s in again.predict(long)[0]) <= 2
    assert again.predict(long) == model.predict(long)
    by_hand = SemiCRF([word[0]], max_length={"A": 2, "B": 1, "O": 2}, outside_length=None)
    assert by_hand.fit(x, y)._known.w.tolist() == model._known.w.tolist()


def test_observed_lengths_grow_with_a_warm_start() -> None:
    x = [["a", "b", "c"]]
    model = SemiCRF([word[0]], max_length="observed", warm_start=True)
    assert bounds_of(model.fit(x, [[(0, 2, "A"), (2, 3, "B")]])) == {"A": 2, "B": 1}
    assert bounds_of(model.fit(x, [[(0, 1, "A"), (1, 3, "B")]])) == {"A": 2, "B": 2}


def test_observed_lengths_of_partial_labels() -> None:
    """A label of which no segment is known has no bound."""
    some = [[(0, 1, "A"), (1, 3, "B")], Partial(segments=[(0, 2, "A")], tokens={2: "C"})]
    model = SemiCRF([word[0]], max_length="observed").fit([["a", "b", "c"]] * 2, some)
    assert bounds_of(model) == {"A": 2, "B": 2, "C": 0}


def test_observed_lengths_of_some_labels() -> None:
    """The others have a bound of their own, or none."""
    x, y = [["a", "b", "c", "d", "e", "f"]], [[(0, 2, "A"), (2, 3, "B"), (3, 6, "C")]]
    model = SemiCRF([word[0]], max_length={"A": "observed", "B": 4}, warm_start=True).fit(x, y)
    assert bounds_of(model) == {"A": 2, "B": 4, "C": 0}
    longer = [[(0, 3, "A"), (3, 4, "B"), (4, 6, "C")]]
    assert bounds_of(model.fit(x, longer)) == {"A": 3, "B": 4, "C": 0}


def test_no_other_word_is_a_length() -> None:
    with pytest.raises(InvalidInput, match=r"max_length: got .longest., .* or .observed."):
        SemiCRF([word[0]], max_length="longest").fit(X, Y)
    with pytest.raises(InvalidInput, match=r"max_length: got .longest., .* or .observed."):
        SemiCRF([word[0]], max_length={"street": "longest"}).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"max_length: got array"):
        SemiCRF([word[0]], max_length=np.array([2, 3])).fit(X, Y)  # type: ignore[arg-type]
