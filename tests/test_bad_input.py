"""Bad input of every kind: an error that names the argument and says what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from oracle import FAST

import caesura
from caesura import Potentials
from caesura.errors import InvalidInput

methods = pytest.mark.parametrize("method", FAST)


PLAIN = Potentials(3, ["A", "B"])


def invalid(match: str) -> Any:
    return pytest.raises(InvalidInput, match=match)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((-1, 2), "^length: got -1"),
        ((2.5, 2), "^length: got 2.5"),
        (("3", 2), "^length: got '3'"),
        ((True, 2), "^length"),
        ((3, 0), "^labels: got 0"),
        ((3, []), "^labels: got none"),
        ((3, "AB"), "^labels: got 'AB'"),
        ((3, ["A", "A"]), "^labels: a name occurs twice"),
        ((3, ["A", 1]), "^labels"),
    ],
)
def test_bad_sizes_and_labels(arguments: tuple[Any, ...], match: str) -> None:
    with invalid(match):
        Potentials(*arguments)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"max_length": 0}, "^max_length: got 0"),
        ({"max_length": -2}, "^max_length: got -2"),
        ({"max_length": [1]}, "^max_length: got 1 bounds, expected one per label, 2"),
        ({"max_length": [1, 0]}, "^max_length: got 0"),
        ({"max_length": [1, 1.5]}, "^max_length: got 1.5"),
        ({"tokens": ["a"]}, "^tokens: got 1 tokens, expected length=3"),
    ],
)
def test_bad_options(options: dict[str, Any], match: str) -> None:
    with invalid(match):
        Potentials(3, 2, **options)


@pytest.mark.parametrize("name", ["emission", "transition", "start", "end"])
def test_bad_arrays(name: str) -> None:
    p = Potentials(3, 2)
    shape = getattr(p, name).shape
    with invalid(f"^{name}: got shape"):
        setattr(p, name, np.zeros((*shape, 2)))
    for bad in (np.nan, np.inf):
        with invalid(f"^{name}: got NaN,"):
            setattr(p, name, np.full(shape, bad))
    assert not getattr(p, name).any()


@methods
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["emission", "transition", "start", "end", "spans"])
def test_numbers_written_in_place_are_checked(method: str, name: str, bad: float) -> None:
    p = Potentials(3, 2, max_length=2)
    getattr(p, name).flat[0] = bad
    questions: list[Callable[[], object]] = [
        lambda: caesura.log_partition(p, method=method),
        lambda: caesura.marginals(p, method=method),
        lambda: caesura.viterbi(p, method=method),
        lambda: caesura.n_best(p, 2, method=method),
        lambda: caesura.sample(p, 2, seed=0, method=method),
        lambda: caesura.entropy(p, method=method),
        lambda: caesura.minimum_risk(p, method=method),
        lambda: caesura.kl_divergence(p, Potentials(3, 2), method=method),
        lambda: caesura.kl_divergence(Potentials(3, 2), p, method=method),
        lambda: caesura.score(p, [(0, 1, 0), (1, 3, 1)]),
    ]
    for question in questions:
        with invalid(name):
            question()


def unread_scores() -> Iterator[tuple[str, Potentials]]:
    """Yield chains with a number that no segmentation reads."""
    p = Potentials(1, 2, max_length=1)
    p.transition[0, 0] = np.nan
    yield "transition", p
    p = Potentials(3, 2, max_length=1, same_label_adjacent=False)
    p.transition[0, 0] = np.nan
    yield "transition", p
    p = Potentials(3, 2, max_length=1).constrain(allowed={1: [0]})
    p.emission[1, 1] = np.nan
    yield "emission", p


@methods
def test_numbers_that_are_not_read_are_checked(method: str) -> None:
    for name, p in unread_scores():
        for question in (caesura.log_partition, caesura.marginals, caesura.viterbi):
            with invalid(name):
                question(p, method=method)


def test_spans_need_a_bound() -> None:
    with invalid("^spans: every label needs a max_length"):
        _ = PLAIN.spans
    p = Potentials(3, 2, max_length=2)
    with invalid("^spans: got shape"):
        p.spans = np.zeros((3, 3, 2))
    with invalid("^max_length: cannot change"):
        p.max_length = 3


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((0, 4, "A", 1.0), r"span \[0, 4\), expected 0 <= start < end <= 3"),
        ((-1, 2, "A", 1.0), r"span \[-1, 2\)"),
        ((2, 2, "A", 1.0), r"span \[2, 2\)"),
        ((2, 1, "A", 1.0), r"span \[2, 1\)"),
        ((0, 1, "C", 1.0), "^label: got 'C', expected one of the labels"),
        ((0, 1, 2, 1.0), "^label: got 2"),
        ((0, 1, -1, 1.0), "^label: got -1"),
        ((0, 1, ("A", "C"), 1.0), "^label: got 'C'"),
        ((0, 1, (), 1.0), "empty history"),
        ((0, 1, "A", math.nan), "^score: got NaN,"),
        ((0, 1, "A", math.inf), "^score: got NaN,"),
        ((0.5, 1, "A", 1.0), "^start: got 0.5, expected a whole number"),
    ],
)
def test_bad_potentials(arguments: tuple[Any, ...], match: str) -> None:
    with invalid(match):
        PLAIN.copy().add(*arguments)


def test_bad_batches_of_potentials() -> None:
    with invalid("one length"):
        PLAIN.copy().add_many([0, 1], [1, 2, 3], "A", 1.0)
    with invalid("^label: got 5"):
        PLAIN.copy().add_many([0], [1], np.array([5]), [1.0])
    with invalid("potential 1 has the span"):
        PLAIN.copy().add_many([0, 2], [1, 9], "A", 1.0)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((0, "A", "B", 1.0), "^position: got 0, expected an inner boundary, 1 to 2"),
        ((3, "A", "B", 1.0), "^position: got 3"),
        ((1, "C", "B", 1.0), "^previous: got 'C'"),
        ((1, "A", "C", 1.0), "^label: got 'C'"),
        ((1, "A", "B", math.nan), "^score"),
    ],
)
def test_bad_edges(arguments: tuple[Any, ...], match: str) -> None:
    with invalid(match):
        PLAIN.copy().add_transition(*arguments)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("AB", 1.0), "^labels: got the string 'AB'"),
        (([], 1.0), "empty history"),
        ((["A", "C"], 1.0), "^labels: got 'C'"),
        ((["A", "B"], math.inf), "^score"),
        ((["A", "B"], 1.0, 3), "^start: got 3"),
        ((["A", "B"], 1.0, None, 4), "^end: got 4"),
        ((["A", "B"], 1.0, 2, 1), "^start, end: got"),
    ],
)
def test_bad_patterns(arguments: tuple[Any, ...], match: str) -> None:
    with invalid(match):
        PLAIN.copy().add_pattern(*arguments)


@pytest.mark.parametrize(
    ("rules", "match"),
    [
        ({"required": [(0, 4, "A")]}, r"^required: got the span \[0, 4\)"),
        ({"required": [(0, "A")]}, "^required: got .*expected segments"),
        ({"required": [3]}, "^required: got 3, expected segments"),
        ({"forbidden": [(1, 1, "A")]}, r"^forbidden: got the span \[1, 1\)"),
        ({"forbidden": [(0, 1, "C")]}, "^forbidden: got 'C'"),
        ({"boundaries": [0]}, "^boundaries: got boundary 0"),
        ({"no_boundaries": [3]}, "^no_boundaries: got boundary 3"),
        ({"allowed": {3: ["A"]}}, "^allowed: got 3"),
        ({"allowed": {0: ["C"]}}, "^allowed: got 'C'"),
        ({"at_most_once": ["C"]}, "^at_most_once: got 'C'"),
        ({"exactly_once": [7]}, "^exactly_once: got 7"),
        ({"ordered": ["A", "A"]}, "^ordered: a label occurs twice"),
        ({"ordered": ["A", "C"]}, "^ordered: got 'C'"),
    ],
)
def test_bad_constraints(rules: dict[str, Any], match: str) -> None:
    with invalid(match):
        PLAIN.copy().constrain(**rules)


@pytest.mark.parametrize(
    "segments",
    [
        [],
        [(0, 2, "A")],
        [(1, 3, "A")],
        [(0, 1, "A"), (2, 3, "B")],
        [(0, 2, "A"), (1, 3, "B")],
        [(1, 3, "A"), (0, 1, "B")],
        [(0, 4, "A")],
        [(0, 0, "A"), (0, 3, "B")],
        [(0, 3, "C")],
        [(0, 3)],
        3,
    ],
)
def test_segments_that_are_no_segmentation(segments: Any) -> None:
    with invalid("segments"):
        caesura.score(PLAIN, segments)
    with invalid("segments"):
        caesura.log_probability(PLAIN, segments)


ASKED: list[Callable[..., object]] = [
    caesura.log_partition,
    caesura.marginals,
    caesura.viterbi,
    lambda p, **options: caesura.n_best(p, 2, **options),
    lambda p, **options: caesura.sample(p, 2, seed=0, **options),
    caesura.entropy,
    lambda p, **options: caesura.kl_divergence(p, p, **options),
    caesura.minimum_risk,
]


@pytest.mark.parametrize("question", ASKED)
def test_bad_options_of_a_question(question: Callable[..., object]) -> None:
    with invalid("^method: got 'fast'"):
        question(PLAIN, method="fast")
    for n_threads in (0, -1, 1.5):
        with invalid("^n_threads: got"):
            question([PLAIN, PLAIN], n_threads=n_threads)
    for bad in (3, None, "text", [PLAIN, 3], {"p": PLAIN}):
        with invalid("Potentials"):
            question(bad)


def test_bad_numbers() -> None:
    n: Any
    seed: Any
    for n in (0, -1, 1.5, "2", True):
        with invalid("^n: got"):
            caesura.n_best(PLAIN, n)
    for n in (-1, 1.5, "2"):
        with invalid("^n: got"):
            caesura.sample(PLAIN, n, seed=0)
    for seed in (-1, 1.5, "2"):
        with invalid("^seed: got"):
            caesura.sample(PLAIN, 1, seed=seed)


def test_kl_divergence_compares_like_with_like() -> None:
    with invalid("length"):
        caesura.kl_divergence(PLAIN, Potentials(4, ["A", "B"]))
    with invalid("labels"):
        caesura.kl_divergence(PLAIN, Potentials(3, ["A", "C"]))
    with invalid("labels"):
        caesura.kl_divergence(PLAIN, Potentials(3, 3))
    with invalid("got"):
        caesura.kl_divergence([PLAIN, PLAIN], [PLAIN])
    with invalid("got"):
        caesura.score([PLAIN, PLAIN], [[(0, 3, "A")]])


@methods
def test_bad_questions_about_marginals(method: str) -> None:
    m = caesura.marginals(PLAIN, method=method)
    for place in ((0, 4), (2, 2), (-1, 2)):
        with invalid("expected"):
            m.segment(*place, "A")
    with invalid("got 'C'"):
        m.segment(0, 1, "C")
    for position in (0, 3, -1):
        with invalid("position"):
            m.transition(position, "A", "B")
    with invalid("got 'C'"):
        m.transition(1, "C", "B")
    assert m.segment(0, 3, "A") == m.segment(0, 3, 0)
