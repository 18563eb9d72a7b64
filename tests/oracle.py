"""Random small models for property tests, and what it means that two answers agree.

Hypothesis chooses the structure (sizes, bounds, which potentials, rules), so that a failing example
shrinks to a small one; the numbers in the arrays come from a drawn seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
from hypothesis import note

from caesura import Potentials
from caesura.inference.definition import Model, ReferenceMarginals

FAST = ("overlapping", "bounded")
NAMES = ("O", "A", "B", "C")
COUNTED = ["tokens", "boundaries", "transitions", "starts", "ends"]
COUNTED += ["potentials", "edges", "patterns"]
RULES = (
    "required",
    "forbidden",
    "boundaries",
    "no_boundaries",
    "allowed",
    "at_most_once",
    "exactly_once",
    "ordered",
)

Draw = Callable[[st.SearchStrategy[Any]], Any]


def close(actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
    """Whether all numbers agree up to tolerance * max(1, |expected|); infinities must be equal."""
    a, e = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    if a.shape != e.shape:
        return False
    finite = np.isfinite(e)
    if not np.array_equal(a[~finite], e[~finite]):
        return False
    error, size = np.abs(a[finite] - e[finite]), np.abs(e[finite])
    return bool((error <= tolerance * np.maximum(1, size)).all())


def check_marginals(m: Any, expected: ReferenceMarginals) -> None:
    """Compare all arrays of two marginals."""
    assert close(m.log_partition, expected.log_partition)
    for name in COUNTED:
        assert close(getattr(m, name), getattr(expected, name)), name
    assert (m.spans is None) == (expected.spans is None)
    if expected.spans is not None:
        assert close(m.spans, expected.spans)


def script(p: Potentials) -> str:
    """Python code that builds these potentials again, shown with a failing example."""
    labels = list(p.labels) if isinstance(p.labels[0], str) else len(p.labels)
    lines = [
        f"p = Potentials({p.length}, {labels!r}, max_length={p.max_length!r}, "
        f"same_label_adjacent={p.same_label_adjacent})"
    ]
    for name in ("emission", "transition", "start", "end", "_spans"):
        array = getattr(p, name)
        if array is not None and array.any():
            lines.append(f"p.{name.strip('_')} = {array.tolist()!r}")
        elif array is not None and name == "_spans":
            lines.append("p.spans")
    model = Model(p)
    lines += [f"p.add{tuple(item[i] for i in (0, 1, 2, 3, 4, 5))!r}" for item in model.potentials]
    lines += [f"p.add_transition{tuple(item)!r}" for item in model.edges]
    lines += [f"p.add_pattern{tuple(item)!r}" for item in model.patterns]
    rules = [
        ("forbidden", p._constraints.forbidden),
        ("once", p._constraints.once),
        ("ordered", p._constraints.ordered),
    ]
    lines += [f"p._constraints.{name} = {value!r}" for name, value in rules if value]
    if p._constraints.boundary.any():
        lines.append(f"p._constraints.boundary[:] = {p._constraints.boundary.tolist()!r}")
    if p._constraints.allowed is not None:
        lines.append(f"p._constraints.allowed = array({p._constraints.allowed.tolist()!r}, uint8)")
    return "\n".join(lines).replace("-inf", "-float('inf')")


# -- strategies for parts of a model -----------------------------------------------------------


def scores() -> st.SearchStrategy[float]:
    """Mostly finite, sometimes forbidding."""
    finite = st.integers(-16, 16).map(lambda k: k / 5)
    return st.one_of(finite, finite, finite, finite, finite, finite, st.just(-np.inf))


def finite_scores() -> st.SearchStrategy[float]:
    return st.integers(-16, 16).map(lambda k: k / 5)


@st.composite
def spans(draw: Draw, T: int) -> tuple[int, int]:
    start = draw(st.integers(0, T - 1))
    return start, draw(st.integers(start + 1, T))


def histories(Y: int, longest: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Label histories, short ones more often."""
    label = st.integers(0, Y - 1)
    short = st.lists(label, min_size=1, max_size=min(2, longest))
    return st.one_of(short, st.lists(label, min_size=1, max_size=longest)).map(tuple)


def bounds(T: int, Y: int) -> st.SearchStrategy[int | list[int | None] | None]:
    bound = st.integers(1, max(1, T))
    per_label = st.lists(st.one_of(st.none(), bound), min_size=Y, max_size=Y)
    return st.one_of(st.none(), bound, per_label)


def add_potentials(draw: Draw, p: Potentials, order: int, score: st.SearchStrategy[float]) -> None:
    """Add potentials of all four kinds, one by one and many at once."""
    T, Y = p.length, len(p.labels)
    one = st.tuples(spans(T), histories(Y, order + 1), score, st.booleans(), st.booleans())
    for (start, end), labels, value, open_start, open_end in draw(st.lists(one, max_size=6)):
        label = labels[0] if len(labels) == 1 else labels
        p.add(start, end, label, value, open_start, open_end)
    many = draw(st.lists(one, max_size=4))
    if many:
        places, labels_, values, opens, opene = (list(column) for column in zip(*many, strict=True))
        starts, ends = (list(column) for column in zip(*places, strict=True))
        p.add_many(starts, ends, labels_, values, opens, opene)


def add_edges(draw: Draw, p: Potentials, score: st.SearchStrategy[float]) -> None:
    label = st.integers(0, len(p.labels) - 1)
    edge = st.tuples(st.integers(1, p.length - 1), label, label, score)
    for item in draw(st.lists(edge, max_size=3)):
        p.add_transition(*item)


def add_patterns(draw: Draw, p: Potentials, order: int, score: st.SearchStrategy[float]) -> None:
    place = st.one_of(
        st.just((None, None)),
        spans(p.length).map(lambda s: (s[0], None)),
        spans(p.length).map(lambda s: (None, s[1])),
        spans(p.length),
    )
    pattern = st.tuples(histories(len(p.labels), order + 1), score, place)
    for labels, value, (start, end) in draw(st.lists(pattern, max_size=3)):
        p.add_pattern(labels, value, start=start, end=end)


def add_rules(draw: Draw, p: Potentials, kinds: Sequence[str] = RULES) -> None:
    """Constrain by up to three kinds of rules."""
    T, Y = p.length, len(p.labels)
    label = st.integers(0, Y - 1)
    labels = st.lists(label, min_size=1, max_size=Y, unique=True)
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=3, unique=True)):
        if kind in ("required", "forbidden"):
            segments: Any = [(*draw(spans(T)), draw(label))]
            p.constrain(**{kind: segments})
        elif kind in ("boundaries", "no_boundaries"):
            if T > 1:
                p.constrain(**{kind: draw(st.lists(st.integers(1, T - 1), max_size=2))})
        elif kind == "allowed":
            p.constrain(allowed={draw(st.integers(0, T - 1)): draw(labels)})
        else:
            p.constrain(**{kind: draw(labels)})


def fill(p: Potentials, seed: int, scale: float, forbidden: float) -> None:
    """Write random numbers into the arrays; a share of them forbids."""
    rng = np.random.default_rng(seed)
    arrays = [p.emission, p.transition, p.start, p.end]
    if p._spans is not None:
        arrays.append(p.spans)
    for array in arrays:
        array[...] = scale * rng.normal(size=array.shape)
        array[rng.random(array.shape) < forbidden] = -np.inf


# -- strategies for models ---------------------------------------------------------------------


@st.composite
def sizes(draw: Draw, min_length: int = 0) -> tuple[int, list[str] | int]:
    """A number of tokens, and labels or their number."""
    Y = draw(st.integers(1, 4))
    T = draw(st.integers(min_length, 6 if Y < 4 else 5))
    return T, draw(st.sampled_from([list(NAMES[:Y]), Y]))


@st.composite
def models(
    draw: Draw,
    *,
    size: tuple[int, list[str] | int] | None = None,
    min_length: int = 0,
    order: int = 4,
    bounded: bool | None = None,
    rules: bool = True,
    forbid: bool = True,
) -> Potentials:
    """Potentials of up to 6 tokens and 4 labels, with up to a few thousand segmentations.

    Parameters
    ----------
    size : (T, labels), optional
    order : int
        Longest label history is one more; 0 leaves out patterns.
    bounded : bool, optional
        False for no max_length.
    rules, forbid : bool
        Whether there are constraints, and scores of -inf.
    """
    T, labels = size or draw(sizes(min_length))
    Y = labels if isinstance(labels, int) else len(labels)
    p = Potentials(
        T,
        labels,
        max_length=None if bounded is False else draw(bounds(T, Y)),
        same_label_adjacent=draw(st.booleans()) or Y == 1,
    )
    bounds_given = p.max_length if isinstance(p.max_length, tuple) else [p.max_length]
    if None not in bounds_given and draw(st.booleans()):
        _ = p.spans
    share = draw(st.sampled_from([0.0, 0.0, 0.05, 0.2])) if forbid else 0.0
    fill(p, draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.0, 1.0, 3.0])), share)
    score = scores() if forbid else finite_scores()
    if T > 0:
        add_potentials(draw, p, order, score)
        if order > 0:
            add_patterns(draw, p, order, score)
        if rules:
            add_rules(draw, p)
    if T > 1:
        add_edges(draw, p, score)
    note(script(p))
    return p


@st.composite
def pairs(draw: Draw) -> tuple[Potentials, Potentials]:
    """Two models over the same tokens and labels; the second seldom forbids."""
    size = draw(sizes())
    p = draw(models(size=size))
    q = draw(models(size=size, rules=draw(st.booleans()), forbid=draw(st.booleans())))
    return p, q


def random_model(seed: int, T: int, Y: int, n_added: int = 0, **options: Any) -> Potentials:
    """Finite random scores and potentials of all four kinds, where a test chooses the structure."""
    rng = np.random.default_rng(seed)
    p = Potentials(T, Y, **options)
    fill(p, seed, 1.0, 0.0)
    for _ in range(n_added if T else 0):
        start = int(rng.integers(T))
        end = int(rng.integers(start + 1, min(start + 4, T) + 1))
        opens = rng.integers(2, size=2).astype(bool)
        p.add(start, end, int(rng.integers(Y)), float(rng.normal()), bool(opens[0]), bool(opens[1]))
    return p
