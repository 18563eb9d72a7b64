"""Documents, tokenisers, and what is known of a sequence that is labelled in part."""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caesura
from caesura.documents import Document, Partial, Tokeniser, align, as_document
from caesura.errors import InvalidInput
from caesura.features import word

NAMES = ["words", "whitespace", "characters", "parts"]


def refused(text: str) -> Any:
    """Expect an error that begins with this text."""
    return pytest.raises(InvalidInput, match="^" + re.escape(text))


# ---- tokenisers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        (
            "words",
            "O'Brien’s e-mail: 3.5 €",
            ["O'Brien’s", "e", "-", "mail", ":", "3", ".", "5", "€"],
        ),
        ("words", "'quoted' ''", ["'", "quoted", "'", "'", "'"]),
        ("words", "हिन्दी में", ["हिन्दी", "में"]),
        ("words", "cafe\u0301 نمی\u200cدانم", ["cafe\u0301", "نمی\u200cدانم"]),
        ("words", "北京\u3000大学。", ["北京", "大学", "。"]),
        ("whitespace", "  a,b \u00a0 c\td\n", ["a,b", "c", "d"]),
        ("characters", "里 面e\u0301", ["里", "面", "e\u0301"]),
        ("parts", "I'm 2010a, JoAnn", ["I", "'", "m", "2010", "a", ",", "Jo", "Ann"]),
        ("parts", "USBHub x_1 ΑΒγ", ["USB", "Hub", "x", "_", "1", "Α", "Βγ"]),
        ("parts", "北京2024年 ABC", ["北京", "2024", "年", "ABC"]),
        ("parts", "E\u0301cole AE\u0301a", ["E\u0301cole", "A", "E\u0301a"]),
        ("words", "", []),
        ("characters", " \n", []),
    ],
)
def test_tokenisers_by_hand(name: str, text: str, tokens: list[str]) -> None:
    assert Document.from_text(text, name).tokens == tuple(tokens)


@pytest.mark.parametrize("spec", [*NAMES, {"regex": "[a-z]*"}])
@given(text=st.text(max_size=40))
def test_offsets_cut_the_tokens_out_of_the_text(spec: str | dict[str, str], text: str) -> None:
    document = Document.from_text(text, spec)
    assert document.text == text
    assert document.offsets is not None
    assert document.tokens == tuple(text[start:end] for start, end in document.offsets)
    assert all(document.tokens)
    if isinstance(spec, str):  # nothing but white space is lost
        assert "".join(document.tokens) == re.sub(r"\s", "", text)


@pytest.mark.parametrize("spec", [*NAMES, {"regex": r"\d+|\w"}])
def test_tokenisers_are_saved_as_json(spec: str | dict[str, str]) -> None:
    tokeniser = Tokeniser.of(spec)
    again = Tokeniser.of(json.loads(json.dumps(tokeniser.spec)))
    assert again == tokeniser
    assert hash(again) == hash(tokeniser)
    assert Tokeniser.of(tokeniser) is tokeniser


@pytest.mark.parametrize("spec", ["word", 3, None, [], {"regex": 3}, {"regexp": "a"}, {}])
def test_unknown_tokenisers(spec: Any) -> None:
    with pytest.raises(InvalidInput, match=r"tokeniser: got .*expected words, whitespace, char"):
        Tokeniser.of(spec)


def test_wrong_regular_expressions() -> None:
    with refused("tokeniser: got the regular expression '(a', which is wrong: missing )"):
        Tokeniser.of({"regex": "(a"})
    with refused("tokeniser: got 'words' and a regular expression"):
        Tokeniser("words", "a")


@given(text=st.text("ab ", max_size=12), name=st.sampled_from(NAMES))
def test_align_finds_what_was_cut(text: str, name: str) -> None:
    document = Document.from_text(text, name)
    assert align(text, document.tokens) == document.offsets


# ---- documents --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"tokens": "abc"}, "tokens: got 'abc', expected a list of strings"),
        ({"tokens": 3}, "tokens: got 3, expected a list of strings"),
        ({"tokens": ["a", 3]}, "tokens[1]: got 3, expected a string"),
        ({"text": 3}, "text: got 3, expected a string"),
        ({"offsets": [(0, 1)]}, "offsets: got 1 of them, expected 2, one for each token"),
        ({"offsets": [(0, 1), 2]}, "offsets: got [(0, 1), 2], expected (start, end) for each"),
        ({"offsets": [(0, 2), (1, 3)]}, "offsets[1]: got (1, 3), expected 2 <= start <= end;"),
        (
            {"offsets": [(0, 1), (1, 4)], "text": "abc"},
            "offsets[1]: got (1, 4), expected 1 <= start <= end <= 3, the length of the text",
        ),
        ({"columns": {"pos": ["N"]}}, "columns['pos']: got 1 of them, expected 2"),
        ({"columns": {"pos": ["N", None]}}, "columns['pos'][1]: got None, expected a string"),
        ({"attributes": [["a"]]}, "attributes: got 1 of them, expected 2"),
        ({"attributes": [["a"], "b"]}, "attributes[1]: got 'b', expected the attributes of a"),
        ({"attributes": [[0.5], []]}, "attributes[0]: got [0.5], expected names of attributes"),
        ({"attributes": 7}, "attributes: got 7, expected a list of attributes"),
        ({"dense": [[1.0]]}, "dense: got 1 of them, expected 2"),
        ({"dense": [1.0, 2.0]}, "dense: got an array of shape (2,)"),
        ({"dense": [[1.0], [1.0, 2.0]]}, "dense: got rows of different lengths"),
        ({"dense": [["a"], ["b"]]}, "dense: got an array of shape (2, 1) and type <U1"),
        ({"dense": [[1.0], [np.nan]]}, "dense[1, 0]: got nan, expected a finite number"),
        ({"dense": [[np.inf], [np.nan]]}, "dense[0, 0]: got inf, expected a finite number"),
        ({"segments": [(0, 3, "X")]}, "segments[0]: got (0, 3, 'X'), expected a segment in range"),
        ({"segments": ["B-X", "O"]}, "segments[0]: got 'B-X', expected (start, end, label)"),
    ],
)
def test_documents_name_the_wrong_field(fields: dict[str, Any], text: str) -> None:
    with refused(text):
        Document(**({"tokens": ["a", "b"]} | fields))
    if "segments" not in fields:
        columns = fields.pop("columns", {})
        with refused(f"X[3].{text}"):
            as_document({"tokens": ["a", "b"]} | fields | columns, name="X[3]")


def test_documents_are_plain_values() -> None:
    tokens: Any = np.array(["New", "York"])
    segments: Any = [(0, 2, "LOC")]
    document: Any = Document(tokens, columns={"pos": tokens}, segments=segments)
    assert document.tokens == document.columns["pos"] == ("New", "York")
    assert type(document.tokens[0]) is str
    assert document.segments[0].label == "LOC"
    assert len(document) == 2
    assert pickle.loads(pickle.dumps(document)).tokens == document.tokens
    with pytest.raises(AttributeError):
        document.text = "New York"


# ---- whatever users have ----------------------------------------------------------------------


def test_strings_and_tokens() -> None:
    document = as_document("New York.", name="X[0]")
    assert document.tokens == ("New", "York", ".")
    assert document.offsets == ((0, 3), (4, 8), (8, 9))
    assert as_document("纽约", "characters").tokens == ("纽", "约")
    for x in (["a", "b c"], ("a", "b c"), np.array(["a", "b c"]), np.array(["a", "b c"], object)):
        assert as_document(x).tokens == ("a", "b c")
    assert as_document(document) is document
    assert as_document("").tokens == as_document([]).tokens == as_document(()).tokens == ()


@pytest.mark.parametrize(
    "x", [[["a"], []], [{"a": 0.5}, {"b": True}], [("a",), {"b"}], [{}, {}], ([], [])]
)
def test_attributes(x: Any) -> None:
    document = as_document(x)
    assert document.attributes is x
    assert document.tokens == ("", "")


def test_dense() -> None:
    array = np.arange(6.0).reshape(2, 3)
    document = as_document(array)
    assert document.dense is array
    assert document.tokens == ("", "")
    pixels = as_document(np.ones((2, 3), np.uint8)).dense
    assert pixels is not None
    assert pixels.dtype == np.float64
    assert len(as_document(np.zeros((0, 3)))) == 0


def test_dicts() -> None:
    both = as_document({"tokens": ["a", "b"], "pos": ["N", "V"], "dense": [[1], [2]]})
    assert both.tokens == ("a", "b")
    assert both.columns == {"pos": ("N", "V")}
    assert both.dense is not None
    text = as_document({"text": "New York", "segments": [(0, 2, "LOC")]})
    assert text.tokens == ("New", "York")
    assert text.segments == ((0, 2, "LOC"),)
    aligned = as_document({"text": "a  b", "tokens": ["a", "b"]})
    assert aligned.offsets == ((0, 1), (3, 4))
    assert as_document({"text": "a b", "tokens": ["A", "B"]}).offsets is None
    bare = as_document({"attributes": [["a"], ["b"]], "dense": np.zeros((2, 1))})
    assert bare.tokens == ("", "")


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (None, "X[3]: got None, expected a text, tokens, attributes of each token, an array"),
        (3.5, "X[3]: got 3.5, expected a text"),
        (b"abc", "X[3]: got b'abc', expected a text"),
        (iter("ab"), "X[3]: got <str_"),
        (np.array(3.0), "X[3]: got array(3.), expected a text"),
        (["a", None], "X[3][1]: got None, expected a string"),
        (["a", ["b"]], "X[3][1]: got ['b'], expected a string"),
        ([["a"], None], "X[3][1]: got None, expected the attributes of a token"),
        ([1, 2], "X[3][0]: got 1, expected the attributes of a token"),
        ([[0.5, 1.0]], "X[3][0]: got [0.5, 1.0], expected names of attributes"),
        (np.zeros(4), "X[3].dense: got an array of shape (4,)"),
        (np.zeros((2, 3, 4)), "X[3].dense: got an array of shape (2, 3, 4)"),
        (np.array([[1.0, np.nan]]), "X[3].dense[0, 1]: got nan"),
        ({"pos": ["N"]}, "X[3]: got {'pos': ['N']}, expected a dict with tokens, text"),
        ({"text": "a", "offsets": [(0, 1)]}, "X[3]: got {"),
        ({"attributes": 5}, "X[3]: got {'attributes': 5}, expected a dict"),
        ({0: ["N"]}, "X[3]: got {0: ['N']}, expected a dict with strings as keys"),
    ],
)
def test_anything_else_is_refused_by_name(x: Any, text: str) -> None:
    with refused(text):
        as_document(x, name="X[3]")


# ---- labelled in part -------------------------------------------------------------------------


def test_partial_is_in_order() -> None:
    known = Partial([(0, 2, "A")], {4: "B", 3: ["C", "B", "C"]}, {7, 2}, [6, 1])
    assert known.segments == ((0, 2, "A"),)
    assert list(known.tokens.items()) == [(3, ("B", "C")), (4, ("B",))]
    assert known.boundaries == (2, 7)
    assert known.no_boundaries == (1, 6)
    assert known == Partial([(0, 2, "A")], {3: {"B", "C"}, 4: "B"}, (2, 7), (1, 6))
    known.check(7)
    assert Partial() == Partial([], {}, [], [])
    Partial().check(0)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"segments": [(0, 2, "A"), (1, 3, "B")]}, "segments[1]: got (1, 3, 'B'), expected start"),
        ({"tokens": [1]}, "tokens: got [1], expected a dict"),
        ({"tokens": {-1: "A"}}, "tokens: got -1, expected a whole number, at least 0"),
        ({"tokens": {1: []}}, "tokens[1]: got [], expected a label or several"),
        ({"tokens": {1: 5}}, "tokens[1]: got 5, expected a label or several"),
        ({"boundaries": 3}, "boundaries: got 3, expected a list"),
        ({"boundaries": [-1]}, "boundaries: got -1, expected a whole number"),
        ({"boundaries": [2], "no_boundaries": [2]}, "no_boundaries: got 2, which is also among"),
        ({"segments": [(1, 3, "A")], "boundaries": [2]}, "boundaries: got 2, but segments[0]"),
        ({"segments": [(1, 3, "A")], "no_boundaries": [3]}, "no_boundaries: got 3, where segm"),
        ({"segments": [(1, 3, "A")], "tokens": {2: "B"}}, "tokens[2]: got ('B',), but segments[0]"),
    ],
)
def test_partial_refuses_contradictions(fields: dict[str, Any], text: str) -> None:
    with refused(text):
        Partial(**fields)


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (Partial(segments=((0, 4, "A"),)), "y[2].segments: got (0, 4, 'A'), expected end <= 3"),
        (Partial(tokens={3: ("A",)}), "y[2].tokens: got 3, expected a whole number, 0 to 2"),
        (Partial(boundaries=(4,)), "y[2].boundaries: got 4, expected a whole number, 0 to 3"),
        (Partial(no_boundaries=(3,)), "y[2].no_boundaries: got 3, expected a whole number, 1 to 2"),
        (Partial(no_boundaries=(0,)), "y[2].no_boundaries: got 0, expected a whole number, 1 to 2"),
    ],
)
def test_partial_is_checked_against_a_length(known: Partial, text: str) -> None:
    with refused(text):
        known.check(3, "y[2]")


@pytest.mark.parametrize("x", ["a b", [["x"], ["y"]]])
def test_documents_do_not_share_columns(x: Any) -> None:
    as_document(x).columns["pos"] = ("X", "Y")  # type: ignore[index]
    assert as_document(x).columns == {}


@pytest.mark.parametrize("form", [{"attributes": [["w=a"]]}, {"dense": [[1.0]]}, [["w=a"]]])
def test_documents_without_words_are_known(form: Any) -> None:
    model = caesura.SemiCRF([word[0]], max_iterations=2).fit([["Ann"]], [[(0, 1, "PER")]])
    with pytest.raises(InvalidInput, match=r"X\[0\]: got \w+ without words"):
        model.predict([form])


def test_columns_of_a_dict() -> None:
    x = {"tokens": ["a", "b"], "columns": {"pos": ["X", "Y"]}, "other": ["1", "2"]}
    assert as_document(x).columns == {"other": ("1", "2"), "pos": ("X", "Y")}
    with pytest.raises(InvalidInput, match=r"x.columns: got \['pos'\], expected each column once"):
        as_document(x | {"pos": ["X", "Z"]})
    with pytest.raises(InvalidInput, match=r"x.columns: got \['X'\], expected a dict of columns"):
        as_document({"tokens": ["a"], "columns": ["X"]})
