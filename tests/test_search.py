"""Searching with regular expressions: as Python does, but in linear time; and who may use which."""

import json
import re
import warnings
from pathlib import Path

import pytest
from cli_data import addresses, bad, good
from hypothesis import given, settings
from hypothesis import strategies as st

import caesura
from caesura import _kernels, corpora, persistence
from caesura.documents import tokenisers
from caesura.documents.characters import CHARACTERS
from caesura.documents.tokenisers import Tokeniser
from caesura.features import Pattern, history, matches, word

PARTS = ("a", "b", "[ab]", "[^a]", ".", r"\w", r"\s", r"\d", "^", "$", r"\b", r"\B", r"\A", r"\Z")


def repeated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    how = st.sampled_from(
        ["", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}?", "{1,}"]
    )
    one = st.builds(lambda part, times: f"(?:{part}){times}", inner, how)
    sequence = st.lists(one, max_size=4).map("".join)
    return st.lists(sequence, min_size=1, max_size=3).map("|".join)


expressions = st.recursive(st.sampled_from(PARTS), repeated, max_leaves=8)
texts = st.text(st.sampled_from("aaabb c1\n."), max_size=12)
BIG = 1 << 30


def spans(regex: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(regex, text) if match.group()]


@settings(max_examples=600)
@given(expressions, st.lists(texts, min_size=1, max_size=4))
def test_matches_are_those_of_python(source: str, some: list[str]) -> None:
    made = _kernels.Pattern.compile(source, True)
    if made is not None:
        assert [made.find(text, CHARACTERS, BIG) for text in some] == [
            spans(source, t) for t in some
        ]


@settings(max_examples=600)
@given(st.text(r"ab-]^[\dWbBAZs.()|?*+{}2,:#$n ", max_size=12), st.lists(texts, max_size=4))
def test_any_text_as_an_expression(source: str, some: list[str]) -> None:
    made = _kernels.Pattern.compile(source, True)
    if made is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(source)
        assert [made.find(text, CHARACTERS, BIG) for text in some] == [
            spans(source, t) for t in some
        ]


def test_most_expressions_are_understood() -> None:
    """Else the tests above would compare nothing."""
    for source in (r"(a+)+$", r"^\w+|\b-\b|\B.", "a*?b", r"(?:a|ab)(?:c|bcd)", "a|", r"\Aa\Z"):
        assert _kernels.Pattern.compile(source, True) is not None, source
    assert _kernels.Pattern.compile("a$") is None  # only to search with
    for source in (r"(a)\1", "(?=a)", "(?i)a", "(a*)*", "^*", r"\b?"):
        assert _kernels.Pattern.compile(source, True) is None, source


@pytest.mark.parametrize("regex", ["(a+)+$", "(a|a)*b", "(a|aa)+!", r"(\w+)+\Z"])
def test_nothing_takes_exponential_time(regex: str) -> None:
    """With backtracking alone, 40 characters would take hours, and these are 100,000."""
    found = Tokeniser.of({"regex": regex}).spans("a" * 100_000 + "?")
    assert found == ()


def test_a_search_has_a_limit_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _kernels.Pattern.compile("(a+)+b", True).find("a" * 10_000, CHARACTERS, 1000) is None
    monkeypatch.setattr(tokenisers, "_MOST_MEMORY", 1000)
    with pytest.raises(caesura.TooLarge, match="10,000 characters"):
        Tokeniser.of({"regex": "(a+)+b"}).spans("a" * 10_000)


def test_what_only_backtracking_matches_is_left_to_python() -> None:
    assert Tokeniser.of({"regex": r"(?i)a(?=b)|b"}).spans("AB") == ((0, 1), (1, 2))


# ---- model files ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("search")
    corpora.write(place / "train.jsonl", addresses(20, 1))
    good("train", place / "train.jsonl", "-o", place / "model", "--max-iterations", 3)
    return place / "model"


def with_tokeniser(model: Path, regex: str) -> Path:
    header, arrays = persistence.read(model, "model")
    header["options"]["tokeniser"] = {"regex": regex}
    place = model.with_name("other.model")
    persistence.write(place, "model", header, arrays)
    return place


def test_a_model_cannot_hang_the_program(model: Path) -> None:
    text = "a" * 34 + "!"
    slow = with_tokeniser(model, "(a+)+$|!")
    assert json.loads(good("segment", slow, "-", stdin=text + "\n").out)["tokens"] == ["!"]
    slow = with_tokeniser(model, r"(a+)+(?=b)")
    line = bad("segment", slow, "-", stdin=text + "\n")
    assert "tokeniser: got the regular expression '(a+)+(?=b)'" in line
    assert "--trust" in line
    assert caesura.load(slow, trust=True).tokeniser == {"regex": r"(a+)+(?=b)"}
    assert good("inspect", slow, "--trust").out


@pytest.mark.parametrize("feature", [Pattern(r"(a+)+\b", 3), matches(r"(?i)(a+)+")[0]])
def test_expressions_of_features_need_trust(feature: object, tmp_path: Path) -> None:
    chain = caesura.SemiCRF([word[0], feature]).fit(["a b"], [[(0, 1, "x")]])
    chain.save(tmp_path / "model")
    with pytest.raises(caesura.InvalidInput, match=r"pattern: got the regular .*trust=True"):
        caesura.load(tmp_path / "model")
    assert caesura.load(tmp_path / "model", trust=True).predict(["a b"]) == chain.predict(["a b"])


def test_patterns_of_histories_take_linear_time(tmp_path: Path) -> None:
    made = caesura.SemiCRF([word[0], history(Pattern("(a+)+b", 1), 1)], order=2)
    made.fit([["ab", "x", "b"]] * 3, [[(0, 1, "x"), (1, 3, "y")]] * 3).save(tmp_path / "model")
    assert caesura.load(tmp_path / "model").predict([["a" * 40, "b"]])


def test_the_program_warns_of_backtracking(model: Path) -> None:
    ran = good("segment", model, "-", "--tokeniser", r"regex:\w+(?!x)|\S", stdin="7 Park Lane\n")
    assert "--tokeniser" in ran.err
    assert "exponential" in ran.err
    assert good("segment", model, "-", "--tokeniser", r"regex:\w+$|\S", stdin="7 Park\n").err == ""
