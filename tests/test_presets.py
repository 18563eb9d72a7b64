"""Features as plain data and back, and the presets."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from caesura import features as f
from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.features.batch import Batch, Words
from caesura.features.reference import applies, rows
from caesura.features.segment_base import SegmentFeature
from caesura.segments import Segment

CITIES = f.Lexicon("cities", ["Chicago", "New York"])


def shouted(document: Document, t: int) -> str | None:
    return "yes" if document.tokens[t].isupper() else None


def balanced(document: Document, start: int, end: int) -> str:
    text = " ".join(document.tokens[start:end])
    return "yes" if text.count("(") == text.count(")") else "no"


class Named:
    """A function that stands in a class."""

    @staticmethod
    def first(document: Document, t: int) -> str:
        return document.tokens[0]


EVERYTHING: list[Any] = [
    *f.window([f.word, f.lower, f.shape, f.short_shape, f.char_class, f.punctuation], -1, 1),
    *(column[0] for column in (f.case, f.hyphen, f.bias, f.prefix(2), f.suffix(3))),
    *(column[0] for column in (f.ngrams(2, 3), f.word_length(), f.word_length(3, 5))),
    *(column[0] for column in (f.matches(r"\d+"), f.matches(r"\d+", "number"))),
    *(column[0] for column in (f.in_lexicon(CITIES), f.in_lexicon(CITIES, True, True))),
    *(column[0] for column in (f.folded(f.word), f.zeroed(f.lowered(f.prefix(2))))),
    *(column[0] for column in (f.column("pos"), f.position("start", 2), f.repeats(-1))),
    *(column[0] for column in (f.function(shouted), f.function(Named.first, "opening"))),
    *(column[0] for column in (f.attributes, f.dense, f.matched(CITIES, True, True))),
    *(place(f.word[-1] & f.word[0]) for place in (f.first, f.last, f.single, f.begin, f.inside)),
    *(place(f.word[-1] & f.word[0]) for place in (f.end, f.within, f.edge)),
    f.Length(3, 5, [(4, 8)]),
    f.TokenAt((2, 3), f.word, "-"),
    f.TokenAt(-1, f.prefix(2)),
    f.SegmentShape(3, collapse=True, column=f.case),
    f.Pattern(r"\d+ - \d+", 3, "pages"),
    f.SegmentFunction(balanced, 5),
    f.Dictionary(CITIES, casefold=True, length=True),
    f.Text(),
    f.Text(casefold=True, lexicon=f.Lexicon("learnt lower_text", [("a", "b")])),
    f.Similar(CITIES, "cosine", [0.8], 3),
]
DOCUMENT = Document(
    ("In", "NEW", "York", "(", "42", ")", "-"),
    columns={"pos": tuple("ABCDEFG")},
    attributes=[{"a": i} for i in range(7)],
    dense=np.arange(14.0).reshape(7, 2),
)


# -- plain data ------------------------------------------------------------------------------------


def test_everything_comes_back() -> None:
    spec = json.loads(json.dumps(f.to_spec(EVERYTHING)))
    back = f.from_spec(spec, f.lexicons_of(EVERYTHING))
    assert back == EVERYTHING
    assert list(map(hash, back)) == list(map(hash, EVERYTHING))
    templates = [one for one in back if isinstance(one, f.Template)]
    assert rows(DOCUMENT, templates) == rows(DOCUMENT, EVERYTHING[: len(templates)])


def test_features_can_be_copied_and_pickled() -> None:
    assert copy.deepcopy(EVERYTHING) == EVERYTHING
    back = pickle.loads(pickle.dumps(EVERYTHING))
    assert back == EVERYTHING
    batch = Batch([DOCUMENT], Words())
    for one, other in zip(EVERYTHING, back, strict=True):
        if isinstance(one, SegmentFeature) and one != f.Text():
            assert one.firings(batch).names == other.firings(batch).names


def test_lexicons_are_kept_apart() -> None:
    assert f.lexicons_of(EVERYTHING).keys() == {"cities", "learnt lower_text"}
    assert "York" not in json.dumps(f.to_spec(EVERYTHING))
    other = f.Lexicon("cities", ["Rome"])
    with pytest.raises(InvalidInput, match="rename"):
        f.lexicons_of([f.Dictionary(CITIES), f.Dictionary(other)])


def test_functions_without_a_name_are_not_saved() -> None:
    def local(document: Document, t: int) -> str:
        return "x"

    for function in (local, lambda document, t: "x"):
        with pytest.raises(InvalidInput, match="top of a module"):
            f.to_spec([f.function(function)[0]])


class Own(SegmentFeature):
    name = "own"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: f.to_spec([Own()]), "features of this library"),
        (lambda: f.from_spec([{"type": "Magic"}]), "update the library"),
        (lambda: f.from_spec([{"type": "Length", "exactly": 3}]), "no field exactly"),
        (lambda: f.from_spec([{"type": "Template", "place": "token"}]), "missing"),
        (lambda: f.from_spec(f.to_spec([f.Dictionary(CITIES)])), "lexicon"),
        (lambda: f.from_spec([{"lexicon": "cities"}], {"cities": CITIES}), "features"),
        (lambda: f.from_spec([{"a": 1}]), "to_spec"),
        (lambda: f.from_spec([3]), "features"),
        (lambda: f.declared("word"), "features"),
        (lambda: f.declared(3), "features"),  # type: ignore[arg-type]
        (lambda: f.declared([f.word, f.word[0]]), "leave one out"),
        (lambda: f.declared([f.word, f.column("word")]), "another name"),
        (lambda: f.preset("poems"), "generic"),
        (lambda: f.preset("words", gazetteers=[]), "gazetteers"),
        (lambda: f.preset("ner", gazetteers=[["Rome"]]), "Lexicon"),
    ],
)
def test_wrong(wrong: Callable[[], object], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        wrong()


def test_a_function_that_is_gone() -> None:
    for name in ("no_such_module:f", "json:no_such_function", "json:__name__", "json", ""):
        spec = [{"type": "SegmentFunction", "function": {"function": name}, "max_length": 2}]
        with pytest.raises(InvalidInput, match="trust=True"):
            f.from_spec(spec)
        with pytest.raises(InvalidInput, match="imported here"):
            f.from_spec(spec, trust=True)


# -- presets ---------------------------------------------------------------------------------------


def made(name: str, segments: bool) -> list[Any]:
    options = {"gazetteers": [CITIES]} if name in ("citations", "addresses", "ner") else {}
    return f.preset(name, segments=segments, **options)


@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("name", f.PRESETS)
def test_presets_fire_and_can_be_saved(name: str, segments: bool) -> None:
    features = made(name, segments)
    assert f.declared(features) == features
    assert f.from_spec(f.to_spec(features), f.lexicons_of(features)) == features
    templates = [one for one in features if isinstance(one, f.Template)]
    assert len(rows(DOCUMENT, templates)) > len(DOCUMENT)
    batch = Batch([DOCUMENT], Words())
    for feature in features[len(templates) :] if not segments else features:
        if isinstance(feature, SegmentFeature):
            feature.fit(batch, [[Segment(1, 3, "city")]]).firings(batch)


@pytest.mark.parametrize("name", f.PRESETS)
def test_segments_are_added(name: str) -> None:
    chain, both = made(name, False), made(name, True)
    assert all(isinstance(one, f.Template) and one.place == "token" for one in chain)
    assert [one for one in both if one in chain] == chain
    kinds = {type(one) for one in both} | {one.place for one in both if isinstance(one, f.Template)}
    ends = {"first"} if name == "citations" else {"first", "last", "within", "edge"}
    assert ends | {f.Length, f.Text} <= kinds


def test_first_tokens_of_citations_stand_apart() -> None:
    both = made("citations", True)
    tokens = [one for one in both if isinstance(one, f.Template) and one.place == "token"]
    assert tokens == made("citations", False)
    assert {f.first(one) for one in tokens} <= set(both)
    alike = {
        row.attribute for row in rows(Document(("1992",)), tokens) if "zeroed" in row.attribute
    }
    assert "zeroed(lower)[0]=0000" in alike


def test_chunking_has_the_usual_templates() -> None:
    w, p = f.word, f.column("pos")
    usual = [
        *f.window([w, p], -2, 2),
        *(w[-1] & w[0], w[0] & w[1]),
        *(p[-2] & p[-1], p[-1] & p[0], p[0] & p[1], p[1] & p[2]),
        *(p[-2] & p[-1] & p[0], p[-1] & p[0] & p[1], p[0] & p[1] & p[2]),
    ]
    assert f.preset("chunking")[: len(usual)] == usual


def test_words_has_the_slides_templates_whatever_the_width() -> None:
    narrow, wide = Document(tuple("其中外企6个")), Document(tuple("其中外企６个"))
    templates: list[Any] = f.preset("words")
    all_rows = [rows(document, templates) for document in (narrow, wide)]
    fired = [{row.attribute for row in some if row.start == 3} for some in all_rows]
    assert fired[0] == fired[1]
    c = "folded(word)"
    assert {
        *(f"{c}[-1]=外", f"{c}[0]=企", f"{c}[1]=6"),
        *(f"{c}[-1]&{c}[0]=外|企", f"{c}[0]&{c}[1]=企|6", f"{c}[-1]&{c}[1]=外|6"),
        f"{c}[-1]&{c}[0]&{c}[1]=外|企|6",
        "punctuation[0]=no",
        "char_class[-1]&char_class[0]&char_class[1]=other|other|number",
    } <= fired[0]


def test_ner_has_the_slides_templates() -> None:
    features = f.preset("ner", pos="pos", gazetteers=[CITIES])
    slides = [
        *f.window([f.word, f.column("pos"), f.shape, f.short_shape], -2, 2),
        *(make(n)[0] for make in (f.prefix, f.suffix) for n in (1, 2)),
        *(f.case[0], f.hyphen[0]),
    ]
    assert set(slides) <= set(features)
    assert any("(part of cities" in one.prefix for one in features if isinstance(one, f.Template))


def test_a_gazetteer_of_citations_sees_marks() -> None:
    tokens = ("in", "New", "York", ",", "1992")
    found = [one for one in made("citations", True) if isinstance(one, f.Dictionary)]
    starts, ends, flags, names, which, _ = found[0].firings(Batch([Document(tokens)], Words()))
    fired = [(s, e, names[w]) for s, e, w in zip(starts, ends, which, strict=True)]
    assert sorted(fired) == [
        (1, 3, "=cities"),
        (1, 3, "=cities/2"),
        (1, 4, "=cities"),
        (1, 4, "=cities/2"),
    ]
    assert not flags.any()


# -- the default -----------------------------------------------------------------------------------


def test_default() -> None:
    plain = Document(("New", "York"))
    tagged = Document(("New", "York"), columns={"pos": ("JJ", "NN")})
    dense = Document(("", ""), dense=np.zeros((2, 3)))
    both = Document(("", ""), attributes=[["a"], ["b"]], dense=np.zeros((2, 3)))
    assert f.default_for([plain]) == f.preset("generic")
    assert f.default_for([]) == f.preset("generic")
    assert f.default_for([tagged]) == f.preset("chunking")
    assert f.default_for([tagged, plain]) == f.preset("generic")
    assert f.default_for([dense]) == [f.dense[0], f.bias[0]]
    assert f.default_for([both]) == [f.attributes[0], f.dense[0], f.bias[0]]
    assert f.default_for([Document(tuple("其中外企6个"))], segments=True) == f.preset(
        "words", segments=True
    )
    of_segments = f.default_for([dense], segments=True)
    assert f.first(f.dense[0]) in of_segments
    assert any(isinstance(one, f.Length) for one in of_segments)


def test_matched_places_longest_first() -> None:
    lexicon = f.Lexicon("x", ["a", "a b", "b c d", "e"])
    found = f.matched(lexicon).of_document(Document(tuple("abcdae")))
    assert found == [("single",), ("begin",), ("inside",), ("end",), ("single",), ("single",)]


def test_rows_of_templates_lie_in_the_document() -> None:
    templates = [one for one in EVERYTHING if isinstance(one, f.Template)]
    for row in rows(DOCUMENT, templates):
        assert 0 <= row.start <= row.end <= len(DOCUMENT)
        assert (row.start == row.end) == row.attribute.startswith("edge:")
        assert row.start == row.end or applies(row, row.start, row.end)
