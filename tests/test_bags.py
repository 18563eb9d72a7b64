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
