"""Columns and templates: the worked examples of the slides, and the places by definition."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycrfsuite import ItemSequence

from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.features import (
    Column,
    Dictionary,
    Length,
    Lexicon,
    Template,
    Text,
    attributes,
    begin,
    bias,
    case,
    char_class,
    column,
    dense,
    edge,
    end,
    first,
    folded,
    from_spec,
    function,
    history,
    hyphen,
    in_lexicon,
    inside,
    last,
    lexicons_of,
    lower,
    matches,
    ngrams,
    position,
    prefix,
    punctuation,
    shape,
    short_shape,
    single,
    suffix,
    to_spec,
    window,
    within,
    word,
    word_length,
    zeroed,
)
from caesura.features.bags import bag
from caesura.features.reference import Row, applies, rows
from caesura.segments.cores import OPEN_END, OPEN_START

OPEN = OPEN_START | OPEN_END


def split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


MARY = Document(
    split("Mary went to Chicago to meet her boyfriend John Smith ."),
    columns={"pos": split("NNP VBD TO NNP TO VB PRP$ NN NNP NNP .")},
)


def around(text: str) -> list[tuple[int, str]]:
    """Return five words with their offsets."""
    return list(zip(range(-2, 3), split(text), strict=True))


def at(document: Document, t: int, templates: Iterable[Template]) -> list[str]:
    """Return the attributes of the rows that look at token t alone, in order."""
    found = [row for row in rows(document, templates) if (row.start, row.end) == (t, t + 1)]
    assert all(row.flags == OPEN and row.value == 1.0 for row in found)
    return [row.attribute for row in found]


# -- the slides' examples --------------------------------------------------------------------------


def test_words_of_characters() -> None:
    c = word
    templates = [
        *window(c, -1, 1),
        c[-1] & c[0],
        c[0] & c[1],
        c[-1] & c[1],
        c[-1] & c[0] & c[1],
        punctuation[0],
        char_class[-1] & char_class[0] & char_class[1],
    ]
    assert at(Document(tuple("其中外企6个")), 3, templates) == [
        "word[-1]=外",
        "word[0]=企",
        "word[1]=6",
        "word[-1]&word[0]=外|企",
        "word[0]&word[1]=企|6",
        "word[-1]&word[1]=外|6",
        "word[-1]&word[0]&word[1]=外|企|6",
        "punctuation[0]=no",
        "char_class[-1]&char_class[0]&char_class[1]=other|other|number",
    ]


def test_chunking() -> None:
    w, p = word, column("pos")
    templates = [
        *window([w, p], -2, 2),
        *(c[i] & c[j] for c in (w, p) for i, j in ((-1, 0), (0, 1), (-1, 1))),
        *(w[i] & p[i] for i in (-1, 0, 1)),
    ]
    assert [name.split("=", 1)[1] for name in at(MARY, 5, templates)] == [
        *("Chicago", "to", "meet", "her", "boyfriend"),
        *("NNP", "TO", "VB", "PRP$", "NN"),
        *("to|meet", "meet|her", "to|her"),
        *("TO|VB", "VB|PRP$", "TO|PRP$"),
        *("to|TO", "meet|VB", "her|PRP$"),
    ]


def test_names() -> None:
    """With what is misprinted put right: SHORTSHAPE(w[i+2]), Xxxxxxx, and o, go for SUFFIX."""
    cities = Lexicon("cities", ["Chicago", "New York"])
    templates = [
        *window([word, column("pos")], -2, 2),
        *(affix(n)[0] for affix in (prefix, suffix) for n in (1, 2)),
        case[0],
        hyphen[0],
        *window([shape, short_shape], -2, 2),
        in_lexicon(cities)[0],
    ]
    assert at(MARY, 3, templates) == [
        *(f"word[{i}]={v}" for i, v in around("went to Chicago to meet")),
        *(f"pos[{i}]={v}" for i, v in around("VBD TO NNP TO VB")),
        *("prefix1[0]=C", "prefix2[0]=Ch", "suffix1[0]=o", "suffix2[0]=go"),
        *("case[0]=title", "hyphen[0]=no"),
        *(f"shape[{i}]={v}" for i, v in around("xxxx xx Xxxxxxx xx xxxx")),
        *(f"short_shape[{i}]={v}" for i, v in around("x x Xx x x")),
        "(in cities)[0]=yes",
    ]
    assert shape.of_word("ELMo") == ("XXXx",)
    assert short_shape.of_word("ELMo") == ("Xx",)
    assert not at(MARY, 2, [in_lexicon(cities)[0]])


def test_new_zealand() -> None:
    """He visited New Zealand: the words by their places in the segment."""
    document = Document(("He", "visited", "New", "Zealand", "."))
    said = totals(rows(document, [begin(word[0]), end(word[0])]), 2, 4)
    assert said == {"begin:word[0]=New": 1.0, "end:word[0]=Zealand": 1.0}


def test_three_examples_of_potentials() -> None:
    """The spans are right where those printed are one too long; half-open, counted from 0."""
    document = Document(split("by Prof. Dr Knuth of the ACM"))
    fired = {
        row.attribute: row[:3]
        for row in rows(
            document,
            [first(word[0] & word[1]), last(word[-2] & word[-1] & word[0]), within(word[0])],
        )
    }
    assert fired["first:word[0]&word[1]=Prof.|Dr"] == (1, 3, OPEN_END)
    assert fired["last:word[-2]&word[-1]&word[0]=of|the|ACM"] == (4, 7, OPEN_START)
    assert fired["within:word[0]=the"] == (5, 6, OPEN)


# -- columns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "text", "values"),
    [
        (lower, "STRASSE", ("strasse",)),
        (lower, "Straße", ("strasse",)),
        (shape, "F-16a", ("X-ddx",)),
        (shape, "", ("",)),
        (short_shape, "1185--1192", ("d-d",)),
        (prefix(3), "to", ()),
        (suffix(2), "to", ("to",)),
        (ngrams(1, 2), "aa", ("<", "a", ">", "<a", "aa", "a>")),
        (char_class, "６", ("number",)),
        (char_class, "三", ("number",)),
        (char_class, "年", ("date",)),
        (char_class, "Ｂ", ("letter",)),
        (char_class, "я", ("letter",)),
        (char_class, "ひ", ("other",)),
        (char_class, "々", ("other",)),
        (char_class, "，", ("punctuation",)),
        (char_class, "1992,", ("number+punctuation",)),
        (char_class, "", ()),
        (punctuation, "。", ("yes",)),
        (punctuation, "$", ("yes",)),
        (punctuation, "a.", ("no",)),
        (punctuation, "", ("no",)),
        (case, "ACM", ("upper",)),
        (case, "McGraw", ("mixed",)),
        (case, "O'Brien", ("title",)),
        (case, "It's", ("title",)),
        (case, "4th", ("lower",)),
        (case, "1992", ("none",)),
        (case, "企", ("none",)),
        (hyphen, "co–author", ("yes",)),
        (hyphen, "author", ("no",)),
        (folded(word), "ＡＢ１２", ("AB12",)),
        (zeroed(word), "1185-92", ("0000-00",)),
        (zeroed(folded(word)), "１９９２年", ("0000年",)),
        (folded(prefix(2)), "ＡＢＣ", ("AB",)),
        (matches(r"\d+(st|nd|rd|th)"), "25th", ("yes",)),
        (matches(r"\d+"), "25th", ()),
        (word_length(), "abcd", ("4-6",)),
        (word_length(2, 5), "abcdef", ("5+",)),
        (bias, "x", ("1",)),
    ],
)
def test_columns_of_words(one: Column, text: str, values: tuple[str, ...]) -> None:
    assert one.of_word(text) == values


def test_columns_are_values() -> None:
    assert prefix(3) == prefix(3) != prefix(2)
    assert len({word[0], word[0], word[1], first(word[0]), lower[0]}) == 4
    names = [c.name for c in (prefix(1), prefix(2), suffix(1), ngrams(1, 2), folded(word), word)]
    assert names == ["prefix1", "prefix2", "suffix1", "ngrams1-2", "folded(word)", "word"]
    assert repr(last(folded(word)[0] & prefix(3)[1])) == "last(folded(word)[0] & prefix(3)[1])"


def test_position() -> None:
    document = Document(tuple("abc"))
    assert position("start", 1).of_document(document) == [("0",), ("1+",), ("1+",)]
    assert position("end", 2).of_document(document) == [("2+",), ("1",), ("0",)]
    assert position("part", 2).of_document(document) == [("1/2",), ("1/2",), ("2/2",)]
    assert position("part").of_document(Document(())) == []


def test_functions_say_strings_dicts_or_nothing() -> None:
    answers: list[object] = [None, "x", ["a", "b"], {"n": 2}, {"k": "v"}]

    def said(document: Document, t: int) -> object:
        return answers[t]

    document = Document(tuple("abcde"))
    assert [row[0:2] + row[3:] for row in rows(document, [function(said)[0]])] == [  # type: ignore[arg-type]
        (1, 2, "said[0]=x", 1.0),
        (2, 3, "said[0]=a", 1.0),
        (2, 3, "said[0]=b", 1.0),
        (3, 4, "said[0]=n", 2.0),
        (4, 5, "said[0]=k:v", 1.0),
    ]


def test_dense() -> None:
    document = Document(("a", "b"), dense=np.array([[1.5, 0.0], [-2.0, 3.0]]))
    assert rows(document, [dense[0]])[2:] == [
        Row(1, 2, OPEN, "dense[0]=x0", -2.0),
        Row(1, 2, OPEN, "dense[0]=x1", 3.0),
    ]
    assert rows(document, [dense[0] & word[1]])[1].attribute == "dense[0]&word[1]=x1|b"


NAMES = st.text("ab=é", min_size=1)
VALUES = st.recursive(
    st.one_of(st.floats(-9, 9), st.booleans(), st.text("ab:=é")),
    lambda inner: st.one_of(
        st.dictionaries(NAMES, inner), st.lists(NAMES, unique=True), st.sets(NAMES)
    ),
    max_leaves=5,
)


@given(st.one_of(st.lists(NAMES, unique=True), st.dictionaries(NAMES, VALUES)))
def test_bags_are_those_of_python_crfsuite(one: object) -> None:
    ours = bag(one)
    theirs = ItemSequence([one]).items()[0]
    assert theirs == (ours if isinstance(ours, dict) else dict.fromkeys(ours, 1.0))


def test_bytes_and_numbers_of_all_kinds() -> None:
    one = {b"a": b"x", "b": np.float32(0.5), "c": np.bool_(True), "d": 2}
    assert bag(one) == {"a:x": 1.0, "b": 0.5, "c": 1.0, "d": 2.0}
    assert bag([b"a", "b"]) == ("a", "b")
    assert bag([]) == ()
    assert bag({"x"}) == ("x",)


def test_bags_refuse() -> None:
    for bad in ["word", None, [1], {"a": None}, {"a": float("nan")}, {"a": [1]}, {1: 2.0}]:
        with pytest.raises(InvalidInput, match="attributes"):
            bag(bad)
    with pytest.raises(InvalidInput, match=r"attributes\[1\]"):
        rows(Document(("a", "b"), attributes=[["x"], "y"]), [attributes[0]])


def test_repeated_attributes_add_up() -> None:
    document = Document(("a", "b"), attributes=[["x", "x"], {"x": 0.5}])
    assert [row[3:] for row in rows(document, [attributes[0]])] == [
        ("attributes[0]=x", 2.0),
        ("attributes[0]=x", 0.5),
    ]


# -- templates -------------------------------------------------------------------------------------


def test_outside_the_sequence() -> None:
    document = Document(("a", "b"))
    assert at(document, 0, window(word, -2, 2)) == [
        "word[-2]=<s>",
        "word[-1]=<s>",
        "word[0]=a",
        "word[1]=b",
        "word[2]=</s>",
    ]
    assert [row[:4] for row in rows(document, [last(word[1]), first(word[-1])])] == [
        (0, 1, OPEN_START, "last:word[1]=b"),
        (1, 2, OPEN_START, "last:word[1]=</s>"),
        (0, 1, OPEN_END, "first:word[-1]=<s>"),
        (1, 2, OPEN_END, "first:word[-1]=a"),
    ]
    assert not rows(document, [first(word[2]), last(word[-2]), within(word[-1] & word[1])])
    assert not rows(Document(()), window(word, -2, 2))


def test_no_value_no_firing_and_all_combinations() -> None:
    document = Document(("ab", "c"))
    silent = function(lambda document, t: None if t == 0 else "NN", "silent")
    assert not at(document, 0, [prefix(3)[0] & word[0], silent[0]])
    assert at(document, 0, [prefix(1)[0] & ngrams(2, 2)[0]]) == [
        "prefix1[0]&ngrams2-2[0]=a|<a",
        "prefix1[0]&ngrams2-2[0]=a|ab",
        "prefix1[0]&ngrams2-2[0]=a|b>",
    ]


def test_edges_lie_on_inner_boundaries() -> None:
    document = Document(("a", "b", "c"))
    assert rows(document, [edge(word[-1] & word[0])]) == [
        Row(1, 1, 0, "edge:word[-1]&word[0]=a|b", 1.0),
        Row(2, 2, 0, "edge:word[-1]&word[0]=b|c", 1.0),
    ]


@given(st.lists(st.text("|\\a", min_size=1), min_size=2, max_size=2), st.data())
def test_no_two_pairs_have_one_name(values: list[str], data: st.DataObject) -> None:
    others = data.draw(st.lists(st.text("|\\a", min_size=1), min_size=2, max_size=2))
    pair = word[-1] & word[0]
    assert (pair.attribute(values) == pair.attribute(others)) == (values == others)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: word["a"],  # type: ignore[index]
        lambda: Template(()),
        lambda: Template(((word, 0),), "middle"),
        lambda: first(word[0]) & word[1],
        lambda: first("word"),  # type: ignore[arg-type]
        lambda: window(word, 2, -2),
        lambda: window(word, "a", 1),  # type: ignore[arg-type]
        lambda: window(word, -1, None),  # type: ignore[arg-type]
        lambda: window([word, "shape"], -1, 1),  # type: ignore[list-item]
        lambda: word[0] & word,  # type: ignore[operator]
        lambda: word & word[0],
        lambda: ngrams(1, "3"),  # type: ignore[arg-type]
        lambda: word_length("a"),  # type: ignore[arg-type]
        lambda: prefix(0),
        lambda: ngrams(3, 2),
        lambda: matches("("),
        lambda: in_lexicon(["a"]),  # type: ignore[arg-type]
        lambda: folded(column("pos")),
        lambda: position("middle"),
        lambda: position("part", 0),
        lambda: function("f"),  # type: ignore[arg-type]
        lambda: column(""),
        lambda: Lexicon("", []),
        lambda: Lexicon("x", "abc"),
        lambda: rows(MARY, [column("chunk")[0]]),
        lambda: rows(MARY, [attributes[0]]),
        lambda: rows(MARY, [dense[0]]),
    ],
)
def test_wrong_declarations(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match="expected"):
        wrong()


def test_windows_name_what_is_wrong() -> None:
    with pytest.raises(InvalidInput, match=r"columns: got 'word', .* write window\(word, -2, 2\)"):
        window("word", -1, 1)  # type: ignore[arg-type]


# -- places, by their definition -------------------------------------------------------------------


def totals(fired: Iterable[Row], start: int, end: int) -> dict[str, float]:
    """Return what rows sum to on a segment."""
    total: Counter[str] = Counter()
    for row in fired:
        if applies(row, start, end):
            total[row.attribute] += row.value  # type: ignore[assignment]
    return {name: value for name, value in total.items() if value}


def anchors(place: str, low: int, high: int, start: int, end: int) -> list[int]:
    """Return the tokens of a segment at which a template fires."""
    low, high = min(low, 0), max(high, 0)
    tokens = range(start, end)
    return {
        "token": list(tokens),
        "within": [t for t in tokens if t + low in tokens and t + high in tokens],
        "first": [start] if start + high < end else [],
        "last": [end - 1] if end - 1 + low >= start else [],
        "single": list(tokens) if end - start == 1 else [],
        "begin": [start] if end - start > 1 else [],
        "inside": list(tokens[1:-1]),
        "end": [end - 1] if end - start > 1 else [],
    }[place]


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=7),
    st.lists(st.integers(-3, 3), min_size=1, max_size=3),
    st.sampled_from([first, last, single, begin, inside, end, within, None]),
)
def test_rows_say_what_the_place_means(
    tokens: list[str], offsets: list[int], place: Callable[[Template], Template] | None
) -> None:
    template = Template(tuple((word, offset) for offset in offsets))
    template = place(template) if place else template
    fired = rows(Document(tuple(tokens)), [template])
    assert all(0 <= row.start < row.end <= len(tokens) for row in fired)
    padded = ["<s>"] * 3 + tokens + ["</s>"] * 3
    for start in range(len(tokens)):
        for stop in range(start + 1, len(tokens) + 1):
            places = anchors(template.place, min(offsets), max(offsets), start, stop)
            names = (template.attribute([padded[t + o + 3] for o in offsets]) for t in places)
            assert totals(fired, start, stop) == Counter(names)


# -- histories -----------------------------------------------------------------------------------


def test_a_history_is_shown_kept_and_fires_in_the_same_places() -> None:
    document = Document(("of", "ACM", "Press"))
    for plain in (word[0] & word[1], first(word[0]), edge(word[0]), last(word[-1])):
        high = history(plain, 2)
        assert repr(high) == f"history({plain!r}, 2)"
        assert high.prefix == "history2:" + plain.prefix
        assert from_spec(to_spec([high, plain])) == [high, plain]
        assert high != plain
        for a, b in zip(rows(document, [high]), rows(document, [plain]), strict=True):
            assert a == b._replace(attribute="history2:" + b.attribute)


def test_a_history_of_a_segment_feature() -> None:
    towns = Lexicon("towns", ["Leeds", "New Mill"])
    for plain in (Length(at_least=2), Dictionary(towns), Text()):
        high = history(plain, 1)
        assert repr(high) == f"history({plain!r}, 1)"
        assert high.learns == plain.learns == isinstance(plain, Text)
        assert from_spec(to_spec([high, plain]), lexicons_of([high])) == [high, plain]
    assert lexicons_of([history(Dictionary(towns), 1)]) == {"towns": towns}


def test_one_label_before_is_what_an_edge_has() -> None:
    assert history(edge(word[0]), 1) == edge(word[0])
    assert history(word, 1) == history(word[0], 1)
    assert "order" not in to_spec([word[0]])[0]  # as earlier versions read it


@pytest.mark.parametrize("order", [0, -1, 1.5, True, None])
def test_no_history_is_an_error(order: Any) -> None:
    with pytest.raises(InvalidInput, match="order: got"):
        history(word[0], order)
    with pytest.raises(InvalidInput, match="order: got"):
        history(Length(exact=2), order)


def test_a_history_of_a_history_is_an_error() -> None:
    for feature in (history(word[0], 1), history(Length(exact=2), 1), "word"):
        with pytest.raises(InvalidInput, match="without a history"):
            history(feature, 2)
    with pytest.raises(InvalidInput, match="combine first"):
        history(word[0], 1) & word[1]
