"""Errors carry fields, render their text from them, and survive copying and pickling."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import caesura
from caesura import CaesuraError, ChainCRF, Impossible, InvalidInput, SemiCRF, TooLarge
from caesura.cli.naming import naming
from caesura.errors import MissingPackage, Remedy, message, not_fitted
from caesura.features import word
from caesura.learning.checkpoint import OtherRun

FIELDS = (
    *("argument", "index", "part", "got", "expected", "remedy", "problem"),
    *("file", "line", "unit"),
)


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
    ("place", "argument", "index", "part"),
    [
        ("y[16]", "y", 16, ""),
        ("X[0].dense", "X", 0, ".dense"),
        ("X[2]: attributes[1]", "X", 2, ": attributes[1]"),
        ("penalties['a b']", "penalties", None, "['a b']"),
        ("c[007].model", "c", None, "[007].model"),
        ("c[7", "c", None, "[7"),
        (Path("c[7].model"), "c[7].model", None, ""),
        ("start, end", "start, end", None, ""),
        ("", None, None, ""),
    ],
)
def test_places_are_split(
    place: str | Path, argument: str | None, index: int | None, part: str
) -> None:
    error = InvalidInput("is wrong", place=place, remedy="correct it")
    assert (error.argument, error.index, error.part) == (argument, index, part)
    assert error.place == str(place)
    assert str(error) == f"{place}: is wrong; correct it".removeprefix(": ")


@pytest.mark.parametrize("text", ["y[16]: got 3, expected 4; pass 4", "no argument at all", ""])
def test_texts_are_not_parsed(text: str) -> None:
    error = CaesuraError(text)
    assert str(error) == str(error.changed()) == error.problem == text
    assert fields(error) == fields(CaesuraError()) | {"problem": text}


def test_problems_name_what_came_and_what_was_expected() -> None:
    error = InvalidInput(place="y", got="3 tags", expected="2", remedy="cut it")
    assert str(error) == "y: got 3 tags, expected 2; cut it"
    assert str(error.changed(expected="4")) == "y: got 3 tags, expected 4; cut it"
    large = TooLarge("9 labels have 81 arcs", place="labels", expected="80 or fewer")
    assert str(large) == "labels: 9 labels have 81 arcs, expected 80 or fewer"
    assert large.changed(expected="70").problem == "9 labels have 81 arcs, expected 70"
    assert str(large.changed(problem="too many")) == "labels: too many"


def test_given_fields_replace_those_of_a_message() -> None:
    text = message("n", -1, "at least 1", "pass 1")
    error = InvalidInput(text, place="m", expected="0", remedy="pass 0")
    assert str(error) == "m: got -1, expected 0; pass 0"
    assert str(error.changed(got="-2")) == "m: got -2, expected 0; pass 0"


def test_errors_of_models_name_the_argument(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^features: got 'foo'") as caught:
        ChainCRF(features="foo").fit([["a"]], [["O"]])
    assert caught.value.argument == "features"
    (tmp_path / "c[007].model").write_text("x")
    with pytest.raises(InvalidInput, match=r"c\[007\]\.model: got") as caught:
        caesura.load(tmp_path / "c[007].model")
    assert caught.value.argument == str(tmp_path / "c[007].model")
    p = caesura.Potentials(2, ["A", "B"])
    for start in (None, "x"):
        with pytest.raises(InvalidInput, match=r"^start: got"):
            p.add(start, 1, "A", 1.0)  # type: ignore[arg-type]


def test_files_and_lines_come_first() -> None:
    error = InvalidInput("is wrong", place="spans[2]", file=Path("a.jsonl"), line=7)
    assert (error.file, error.line, error.unit, error.argument) == ("a.jsonl", 7, "line", "spans")
    assert str(error) == "a.jsonl, line 7: spans[2]: is wrong"
    assert str(error.changed(unit="row", file="b.xlsx")) == "b.xlsx, row 7: spans[2]: is wrong"
    assert str(error.changed(argument=None)) == "a.jsonl, line 7[2]: is wrong"
    assert str(error.within("parts[1]")) == "parts[1]: a.jsonl, line 7: spans[2]: is wrong"
    assert str(InvalidInput("is empty").within("documents[1]", ".")) == "documents[1]: is empty"


@pytest.mark.parametrize(
    "error",
    [
        CaesuraError("a: plain text"),
        InvalidInput(message("y[3].segments[0]", {"a": 1}, "a segment", "give one")),
        InvalidInput("is wrong", place="tag", file="a.conll", line=7, remedy="correct it"),
        TooLarge("9 arcs", place="labels", expected="8", remedy=Remedy("use {n}", n="fewer")),
        MissingPackage("torch", "neural", "caesura.neural").changed(remedy="install torch"),
        not_fitted("not fitted yet", place="CRF", remedy="call fit"),
    ],
)
def test_fields_survive_processes(error: CaesuraError) -> None:
    twin = pickle.loads(pickle.dumps(error))
    assert isinstance(twin, type(error))  # scikit-learn may have been loaded in between
    assert str(twin) == str(error)
    assert twin.__dict__ == error.__dict__
    assert str(twin.changed(remedy="try")) == str(error.changed(remedy="try"))


def test_remedies_are_reworded_with_their_values() -> None:
    error = InvalidInput("is odd", remedy=Remedy("pass n={n}", n="'{}'"))
    assert str(error) == "is odd; pass n='{}'"
    twin = pickle.loads(pickle.dumps(error))
    for one in (error, twin):
        assert one.reworded({"pass n={n}": "pass --n {n}"}).remedy == "pass --n '{}'"
        assert one.reworded({"pass n='{}'": "?"}) is one


def test_kernels_raise_errors_with_fields() -> None:
    p = caesura.Potentials(2, ["A", "B"])
    q = caesura.Potentials(2, ["A", "B"])
    q.emission[1, 0] = np.inf
    with pytest.raises(InvalidInput) as caught:
        caesura.log_partition([p, q])
    error = caught.value
    assert (error.argument, error.part) == ("emission", " of sequence 1")
    assert (error.got, error.remedy) == ("NaN, +inf or a number beyond 1e10", "correct the scores")
    assert str(error.changed(argument="scores")).startswith("scores of sequence 1: got NaN")
    many = caesura.Potentials(4, 300).constrain(at_most_once=range(16))
    with pytest.raises(TooLarge) as large:
        caesura.log_partition(many)
    assert large.value.argument == "constrain, add_pattern"
    assert large.value.expected == "at most 50,000,000 arcs, 300 for each state"
    assert large.value.remedy == "limit fewer labels or use shorter patterns"


ERRORS = {"InvalidInput", "TooLarge", "Impossible", "NotFitted", "not_fitted", "CaesuraError"}
BUILT = {"message", "text"}  # what returns a message with fields; `text` holds one


def test_errors_are_raised_with_fields() -> None:
    """No text holds fields: what raises gives them, so that layers can change them."""
    source = Path(caesura.__file__).parent
    plain = []
    for file in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Raise | ast.Return):
                continue
            made = node.exc if isinstance(node, ast.Raise) else node.value
            if not isinstance(made, ast.Call) or getattr(made.func, "id", "") not in ERRORS:
                continue
            built = [one for one in made.args if isinstance(one, ast.Call | ast.Name)]
            named = {getattr(getattr(one, "func", one), "id", "") for one in built}
            if "remedy" not in {keyword.arg for keyword in made.keywords} and not named & BUILT:
                plain.append(f"{file.relative_to(source)}:{node.lineno}")
    assert plain == []


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
        raise InvalidInput("got 7", place="y_dev[0]")
    with (
        pytest.raises(TooLarge, match=r"^standard input, sequence 1: constraints\['ordered'\]"),
        naming("-"),
    ):
        raise TooLarge("too many", place="constraints[0]['ordered']")


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
