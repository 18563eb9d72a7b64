"""Errors carry fields, render their text from them, and survive copying and pickling."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from caesura import CaesuraError, ChainCRF, Impossible, InvalidInput, SemiCRF, TooLarge
from caesura.cli.reading import naming
from caesura.errors import message
from caesura.features import word
from caesura.learning.checkpoint import OtherRun

FIELDS = ("argument", "index", "part", "got", "expected", "remedy", "problem")


def fields(error: CaesuraError) -> dict[str, Any]:
    return {name: getattr(error, name) for name in FIELDS}


@pytest.mark.parametrize("kind", [CaesuraError, InvalidInput, Impossible, TooLarge, OtherRun])
def test_copies_are_equal(kind: type[CaesuraError]) -> None:
    error = kind(message("y[3].segments[0]", {"a": 1}, "a segment", "give one"))
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is kind
        assert str(twin) == str(error)
        assert fields(twin) == fields(error)
    assert str(error.changed()) == str(error)


def test_what_cannot_be_pickled_may_have_come() -> None:
    error = InvalidInput(message("f", lambda: 0, "a string", "pass one"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("text", "argument", "index", "part", "problem"),
    [
        ("y[16]: got 3, expected 4", "y", 16, "", "got 3, expected 4"),
        ("X[0].dense: got nothing", "X", 0, ".dense", "got nothing"),
        ("X[2]: attributes[1]: got 1", "X", 2, "", "attributes[1]: got 1"),
        ("penalties['a b']: wrong", None, None, "", "penalties['a b']: wrong"),
        ("penalties['a']: wrong", "penalties['a']", None, "", "wrong"),
        ("no argument at all", None, None, "", "no argument at all"),
        ("start, end: got [3, 2)", None, None, "", "start, end: got [3, 2)"),
        ("", None, None, "", ""),
    ],
)
def test_fields_of_a_plain_text(
    text: str, argument: str | None, index: int | None, part: str, problem: str
) -> None:
    error = InvalidInput(text)
    assert str(error) == str(error.changed()) == text
    assert (error.argument, error.index, error.part) == (argument, index, part)
    assert error.problem == problem


def test_changed_fields_change_the_text() -> None:
    error = InvalidInput(message("X[4][1]", 7, "a word", "give words"))
    assert error.got == "7"
    assert str(error.changed(argument="X_dev")) == (
        "X_dev[4][1]: got 7, expected a word; give words"
    )
    moved = error.changed(place=f"constraints[2]['ordered']{error.item}")
    assert str(moved).startswith("constraints[2]['ordered'][4][1]: got 7")
    assert (moved.argument, moved.index, moved.part) == ("constraints", 2, "['ordered'][4][1]")
    assert str(error.changed(remedy="pass --words")).endswith("expected a word; pass --words")
    assert str(error.changed(expected="a string")).endswith("got 7, expected a string; give words")
    assert str(error) == "X[4][1]: got 7, expected a word; give words"


def test_layers_name_what_they_know() -> None:
    with (
        pytest.raises(InvalidInput, match=r"^a\.jsonl, sequence 4\[1\]: got 7, expected a word;"),
        naming("a.jsonl"),
    ):
        raise InvalidInput(message("X[3][1]", 7, "a word", "give words"))
    with (
        pytest.raises(InvalidInput, match=r"^d\.jsonl, sequence 11: got 7"),
        naming("a", "d.jsonl", 10),
    ):
        raise InvalidInput("y_dev[0]: got 7")
    with (
        pytest.raises(TooLarge, match=r"^standard input, sequence 1: constraints\['ordered'\]"),
        naming("-"),
    ):
        raise TooLarge("constraints[0]['ordered']: too many")


def test_development_data_is_named() -> None:
    x, y = [["a", "b"]], [["B-A", "O"]]
    features = [word[0]]
    with pytest.raises(InvalidInput, match=r"^X_dev\[0\]"):
        ChainCRF(features).fit(x, y, X_dev=[[1, 2]], y_dev=y)


def test_labels_that_no_segmentation_agrees_with() -> None:
    """The number of the sequence comes from the kernel as a number."""
    from caesura import Partial

    x = [["a", "b"], ["a", "b"]]
    y = [[(0, 1, "A"), (1, 2, "B")], Partial(tokens={0: ["A"], 1: ["A"]}, no_boundaries=[1])]
    with pytest.raises(InvalidInput, match=r"^y\[1\]: ") as caught:
        SemiCRF([word[0]], max_length=1).fit(x, y)
    assert (caught.value.argument, caught.value.index) == ("y", 1)
