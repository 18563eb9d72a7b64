"""Bags of attributes: the reader in the kernels against its definition in Python."""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict, UserDict, defaultdict, deque
from collections.abc import Callable
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caesura import _kernels
from caesura.errors import InvalidInput
from caesura.features.bags import bag, pairs

Pairs = list[tuple[str, float]]


class Shade(str, enum.Enum):  # noqa: UP042  (format() of it is not its content)
    DARK = "dark"


class Size(enum.IntEnum):
    BIG = 7


class Shouted(dict[Any, Any]):
    """A dict whose values are not those that it holds."""

    def __getitem__(self, key: Any) -> Any:
        return str(super().__getitem__(key)).upper()


def moved() -> OrderedDict[str, int]:
    made = OrderedDict(a=1, b=2, c=3)
    made.move_to_end("a")
    return made


def read(one: Any, flatten: Callable[[Any, int, int], Pairs], grow: bool = True) -> Pairs:
    """Return the attributes of a token as the kernels read them."""
    interner = _kernels.Interner()
    offsets, ptr, ids, values = _kernels.read_bags(interner, [[one]], grow, flatten)
    assert offsets.tolist() == [0, 1]
    assert ptr.tolist() == [0, len(ids)]
    weights = [1.0] * len(ids) if values is None else values.tolist()
    return [(interner.text(k), value) for k, value in zip(ids.tolist(), weights, strict=True)]


def defined(one: Any, i: int, t: int) -> Pairs:
    return pairs(one, f"X[{i}][{t}]")


def unexpected(one: Any, i: int, t: int) -> Pairs:
    raise AssertionError(f"{one!r} was left to Python")


def outcome(call: Callable[[], Pairs]) -> Pairs | str:
    """Return what a call returns, or the message of the error that it raises."""
    try:
        return call()
    except InvalidInput as error:
        return f"error: {error}"


names = st.text(max_size=4) | st.sampled_from(["a", "b:c", "", "\ud800", "ü", "日本", "\U0001f600"])
texts = names | names.map(lambda s: s.encode("utf-8", "replace")) | st.sampled_from([Shade.DARK])
numbers = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.sampled_from([np.float32(0.5), np.float64(2.0), np.int16(3), np.bool_(True), Size.BIG])
)
strings = st.lists(texts, max_size=4)
leaves = texts | numbers | strings | strings.map(tuple) | st.sets(names, max_size=4)
dicts = st.dictionaries(texts, leaves, max_size=4)
for _ in range(2):
    dicts = st.dictionaries(texts, leaves | dicts, max_size=4)
usual = strings | strings.map(tuple) | st.frozensets(names, max_size=4) | dicts
odd = st.sampled_from(
    [
        None,
        "alone",
        b"alone",
        b"\xff",
        float("nan"),
        10**400,
        np.float64("inf"),
        np.str_("text"),
        np.array(1.5),
        1j,
        np.complex64(1),
        Fraction(1, 2),
        object(),
        deque(["x"]),
        {"x", b"y"},
        [1],
        [["x"]],
        [{"x": 1}],
        {1: "x"},
        {b"\xff": 1},
        {"a": None},
        {"a": deque(["x"])},
        {"a": [b"\xff"]},
        moved(),
        Counter("aab"),
        defaultdict(float, a=2.0),
        Shouted(a="x"),
        UserDict({"a": ["x"], "b": 2}),
        MappingProxyType({"a": 1}),
        {"x": UserDict({"a": 1})},
        np.array(["x", "y"]),
        dict.fromkeys("ab").keys(),
    ]
)
anything = usual | odd | st.dictionaries(texts, leaves | odd, max_size=4)


@given(usual)
def test_usual_bags_need_no_python(one: Any) -> None:
    assert read(one, unexpected) == pairs(one)


@given(anything)
def test_bags_are_what_python_defines(one: Any) -> None:
    expected = outcome(lambda: pairs(one, "X[0][0]"))
    assert outcome(lambda: read(one, defined)) == expected
    if isinstance(expected, str):
        return
    assert read(one, defined, grow=False) == []
    flat = _kernels.flat_bags([one], defined)[0]
    merged = bag(dict(flat) if isinstance(flat, dict) else flat)
    counted: dict[str, float] = {}
    for name, value in expected:
        counted[name] = counted.get(name, 0.0) + value
    if isinstance(merged, dict):
        assert merged == counted
    else:
        assert list(merged) == [name for name, _ in expected]


@given(st.lists(st.lists(usual, max_size=3), max_size=3))
def test_batches_are_ragged(sequences: list[list[Any]]) -> None:
    interner = _kernels.Interner()
    offsets, ptr, ids, values = _kernels.read_bags(interner, sequences, True, unexpected)
    assert offsets.tolist() == np.cumsum([0, *map(len, sequences)]).tolist()
    flat = [pairs(one) for sequence in sequences for one in sequence]
    assert ptr.tolist() == np.cumsum([0, *map(len, flat)]).tolist()
    joined = [pair for one in flat for pair in one]
    assert [interner.text(k) for k in ids.tolist()] == [name for name, _ in joined]
    weights = np.ones(len(ids)) if values is None else values
    assert weights.tolist() == [value for _, value in joined]


mixed = st.lists(usual | st.sampled_from([UserDict({"a": ["x"], "b": 2}), moved(), ["w=ü"]]))


@given(st.lists(mixed, max_size=3), st.integers(1, 60), st.booleans())
def test_long_batches_are_read_as_their_tokens(
    sequences: list[list[Any]], often: int, grow: bool
) -> None:
    """Names are looked up by the hundred, and those before a token that Python reads at once."""
    sequences = [sequence * often for sequence in sequences]
    tokens = [pairs(one) for sequence in sequences for one in sequence]
    names = list(dict.fromkeys(name for one in tokens for name, _ in one))
    interner = _kernels.Interner()
    interner.ids(names[::2], True)  # every other one is known
    known = set(names if grow else names[::2])
    offsets, ptr, ids, values = _kernels.read_bags(interner, sequences, grow, defined)
    kept = [[pair for pair in one if pair[0] in known] for one in tokens]
    assert offsets.tolist() == np.cumsum([0, *map(len, sequences)]).tolist()
    assert ptr.tolist() == np.cumsum([0, *map(len, kept)]).tolist()
    weights = [1.0] * len(ids) if values is None else values.tolist()
    found = [(interner.text(k), value) for k, value in zip(ids.tolist(), weights, strict=True)]
    assert found == [pair for one in kept for pair in one]


class Meddler(UserDict[str, float]):
    """A mapping that empties the bags before it when it is read."""

    def __init__(self, victims: list[list[str]]) -> None:
        super().__init__(late=1.0)
        self.victims = victims

    def __iter__(self) -> Any:
        for one in self.victims:
            one.clear()
        return super().__iter__()


def test_python_code_may_change_tokens_that_were_read() -> None:
    early = [[f"w={k}-{t}" for k in range(3)] for t in range(5)]
    expected = [name for one in early for name in one] + ["late"]
    interner = _kernels.Interner()
    sequence = [*early, Meddler(early)]
    _, _, ids, _ = _kernels.read_bags(interner, [sequence], True, defined)
    assert [interner.text(k) for k in ids.tolist()] == expected


@given(st.lists(st.text(max_size=20), max_size=50), st.lists(st.text(max_size=20), max_size=20))
def test_strings_get_numbers_in_order(some: list[str], others: list[str]) -> None:
    """An interner is a dict that counts, however full its groups are."""
    many = [*some, *(f"{one}{k}" for k in range(40) for one in some)]
    numbers = {one: k for k, one in enumerate(dict.fromkeys(many))}
    interner = _kernels.Interner()
    assert interner.ids(many, True).tolist() == [numbers[one] for one in many]
    asked = [*others, *many]
    expected = [numbers.get(one, -1) for one in asked]
    assert interner.ids(asked, False).tolist() == expected
    _, ptr, ids, _ = _kernels.read_bags(interner, [[[one] for one in asked]], False, unexpected)
    assert ids.tolist() == [numbers[one] for one in asked if one in numbers]
    assert np.diff(ptr).tolist() == [one in numbers for one in asked]


def is_bags(x: list[Any]) -> bool:
    """Say whether `as_document` takes a sequence for attributes without a closer look."""
    return bool(x) and {*map(type, x)} <= {list, dict} and isinstance(next(iter(x[0]), ""), str)


@given(st.lists(st.lists(usual | texts | numbers | st.just([1]), max_size=3), max_size=3))
def test_bags_are_told_from_other_sequences(sequences: list[list[Any]]) -> None:
    assert _kernels.are_bags(sequences) == all(map(is_bags, sequences))
    assert not _kernels.are_bags([*sequences, ("a",)])


def test_a_refused_token_leaves_no_names() -> None:
    interner = _kernels.Interner()
    with pytest.raises(InvalidInput, match=r"X\[0\]\[1\]\['b'\]: got None"):
        _kernels.read_bags(interner, [[["first"], {"a": "x", "b": None}]], True, defined)
    assert len(interner) == 1


@pytest.mark.parametrize("depth", [5, 200])
def test_deep_dicts(depth: int) -> None:
    one: Any = {"x": 2}
    for _ in range(depth):
        one = {"a": one}
    assert read(one, defined) == [("a:" * depth + "x", 2.0)]


def test_vectors_have_an_attribute_for_each_number() -> None:
    one = {"v": np.array([0.5, 0.0]), "u": {"n": np.array([True, False])}, "w": np.zeros(0, int)}
    expected = [("v:0", 0.5), ("v:1", 0.0), ("u:n:0", 1.0), ("u:n:1", 0.0)]
    assert read(one, defined) == pairs(one) == expected
    for wrong in (np.zeros((1, 2)), np.array(["a"]), np.complex64(1), np.array([1j])):
        with pytest.raises(InvalidInput, match=r"\['v'\]: got .*expected a finite number"):
            read({"v": wrong}, defined)
