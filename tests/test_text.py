"""From text to the values of columns of words: the kernels say what Python says."""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caesura import _kernels
from caesura.documents import Document, Tokeniser, as_document
from caesura.documents.characters import CHARACTERS
from caesura.documents.tokenisers import _compiled
from caesura.encoding import Encoder, encoder
from caesura.features import (
    PRESETS,
    Column,
    Dictionary,
    Length,
    Lexicon,
    SegmentShape,
    Text,
    bias,
    case,
    char_class,
    folded,
    hyphen,
    in_lexicon,
    lower,
    lowered,
    matched,
    matches,
    ngrams,
    position,
    prefix,
    preset,
    punctuation,
    repeats,
    shape,
    short_shape,
    suffix,
    word,
    word_length,
    zeroed,
)
from caesura.features.batch import Batch, Words
from caesura.features.columns import NormalisedColumn, WordColumn
from caesura.features.compiled import compiled
from caesura.features.lexicons import bare
from caesura.features.segment import Pattern
from caesura.features.templates import Template

LEVELS = ("words", "parts", "characters")  # from the coarsest to the finest
# All code points but most of the planes 4 to 13, which are empty, and 15 and 16, for private use.
EVERY = [chr(code) for code in range(sys.maxunicode + 1) if code < 0x33500 or code & 0xFE00 == 0]
# Characters at which Python's rules are subtle, beside whatever hypothesis draws: sharp s, final
# sigma, title case, dotted i, superscripts, fractions, Roman numerals, marks, joiners, Hangul, kana
# with a voiced mark, wide forms, ligatures, quotation marks, white space, lone surrogates.
SUBTLE = (
    "aAzZ09_ \t\n\r\x1c\x85\xa0'’.,-–—#ßẞςσΣΐŉǅǆǇİıﬁ²³½Ⅻⅷ٣〇一年\u0301\u0308\u0345"
    "\u094d\u200c\u200d\ufe0f\u1100\u1161\u11a8각か\u3099ｶﾞＡ１，《\ufdfa\u2028\u3000\ud800\udfff🇩🇪😀\U000e0100ªºʰ\u0ecdｱ"
)
text = st.text(st.one_of(st.sampled_from(SUBTLE), st.characters(codec=None)), max_size=12)
LEXICON = Lexicon("places", ["Straße", "New York", "ΣΊΣΥΦΟΣ", "rome", "1"])
COLUMNS: list[Column] = [
    *(bias, word, lower, shape, short_shape, char_class, punctuation, case, hyphen),
    *(make(n) for make in (prefix, suffix) for n in (1, 2, 5)),
    *(ngrams(1, 1), ngrams(2, 3), ngrams(3, 4), ngrams(4, 99)),
    *(word_length(), word_length(5), word_length(0, 2, 9)),
    matches(r"\W*\d+(\W|--)+\d+\W*"),
    *(in_lexicon(LEXICON, c, p) for c in (False, True) for p in (False, True)),
]
COLUMNS += [
    *(make(one) for make in (folded, zeroed, lowered) for one in COLUMNS[:9]),
    *(folded(zeroed(lowered(word))), lowered(zeroed(folded(ngrams(2, 3)))), zeroed(lower)),
    *(lowered(folded(shape)), lowered(in_lexicon(LEXICON, True, True)), folded(lowered(suffix(2)))),
]


class TypesOf:
    """The kernels' answers for some columns, as strings."""

    def __init__(self, columns: list[Column]) -> None:
        self.types = _kernels.TokenTypes(CHARACTERS)
        self.values = [_kernels.Interner() for _ in columns]
        for column, values in zip(columns, self.values, strict=True):
            made = compiled(column)
            assert made is not None, column
            self.types.add_column(values=values, **made)

    def of(self, words: list[str]) -> list[list[tuple[str, ...]]]:
        """Return the values of each word in each column."""
        batch = self.types.read_tokens([words])
        self.types.extend(0, len(self.values), True)
        out = []
        for (ptr, ids, _), values in zip(
            self.types.take(list(range(len(self.values))), batch), self.values, strict=True
        ):
            at = range(len(words) + 1) if ptr is None else ptr.tolist()
            texts = [None if n < 0 else values.text(n) for n in ids.tolist()]
            rows = [texts[at[k] : at[k + 1]] for k in range(len(words))]
            out.append([tuple(one for one in row if one is not None) for row in rows])
        return out


# ---- columns ------------------------------------------------------------------------------------


def test_every_character_alone() -> None:
    some = [lower, shape, char_class, case, hyphen, folded(word), zeroed(word), matches(r"\w|\s")]
    for column, values in zip(some, TypesOf(some).of(EVERY), strict=True):
        wrong = [c for c, one in zip(EVERY, values, strict=True) if one != column.of_word(c)]
        assert not wrong, (column, wrong[:5])


def test_every_character_beside_others() -> None:
    words = [frame % c for frame in ("a%sB", "%sß1") for c in EVERY[:0x20000]]
    some = [case, folded(word), char_class, short_shape]
    for column, values in zip(some, TypesOf(some).of(words), strict=True):
        wrong = [w for w, one in zip(words, values, strict=True) if one != column.of_word(w)]
        assert not wrong, (column, wrong[:5])


@settings(max_examples=250)
@given(st.lists(text, min_size=1, max_size=8))
@example(["", "ΣΊΣΥΦΟΣ", "σίσυφοσ", "ǅabc", "AǅB", "1ǅ", "Ab1", "A1b", "aaaaaaaa" * 9])
def test_columns_of_words(words: list[str]) -> None:
    for column, values in zip(COLUMNS, TypesOf(COLUMNS).of(words), strict=True):
        assert values == [column.of_word(w) for w in words], column


def test_inert_characters_are_those_of_the_normal_form() -> None:
    """A character that the kernels fold alone may not change beside any mark or vowel sign."""
    others = [c for c in EVERY if unicodedata.combining(c) or unicodedata.category(c)[0] == "M"]
    others += [*map(chr, range(0x1100, 0x1200)), "각", "가"]
    words = [other + c for c in "aかㄱ가\u1100ﬁＡ" for other in others]
    words += [c + other for c in "aかㄱ가\u1100ﬁＡ" for other in others]
    (values,) = TypesOf([folded(word)]).of(words)
    assert values == [(unicodedata.normalize("NFKC", w),) for w in words]


@given(st.lists(text, min_size=1, max_size=5))
def test_bare_words(words: list[str]) -> None:
    types, values = _kernels.TokenTypes(CHARACTERS), _kernels.Interner()
    types.add_column("word", ["bare"], values)
    batch = types.read_tokens([words])
    types.extend(0, 1, True)
    (_, ids, _) = types.take([0], batch)[0]
    assert [values.text(n) for n in ids.tolist()] == [bare(w) for w in words]


def test_columns_of_all_presets_are_compiled() -> None:
    for name in PRESETS:
        options = {"gazetteers": [LEXICON]} if name in ("ner", "addresses", "citations") else {}
        for feature in preset(name, **options):
            assert isinstance(feature, Template)
            for column, _ in feature.parts:
                assert not column.per_word or compiled(column) is not None, column


class Backwards(Column):
    """A column of a user's own."""

    name = "backwards"
    calls = 0

    def of_word(self, word: str) -> tuple[str, ...]:
        """Return the word from its end, and its first character."""
        Backwards.calls += 1
        return (word[::-1], *word[:1])


class Loud(WordColumn):
    """A column that says something else than its kind."""

    def of_word(self, word: str) -> tuple[str, ...]:
        """Return the word in upper case."""
        return (word.upper(),)


@pytest.mark.parametrize(
    "column",
    [
        Backwards(),
        Loud("word", (), "loud"),
        NormalisedColumn(Backwards(), "lowered"),
        matches(r"^a$"),
        matches(r"(?i)a"),
        WordColumn("prefix", (0,)),
        WordColumn("word_length", ((1 << 40,),)),
    ],
)
def test_other_columns_stay_in_python(column: Column) -> None:
    assert compiled(column) is None
    made = Encoder([column[0], word[0]])
    made.encode_tokens([["New", "york", "New", "a", "", "A"]], grow=True)
    said = {value for w in ("New", "york", "a", "", "A") for value in column.of_word(w)}
    names = {name for name in made.names(range(len(made))) if not name.startswith("word[")}
    assert names == {f"{column.name}[0]={value}" for value in said}


def test_a_column_in_python_sees_each_type_once() -> None:
    made = Encoder([Backwards()[0]])
    Backwards.calls = 0
    made.encode_texts(["a b a b", "b a c"], grow=True)
    made.encode_texts(["c a b"], grow=True)
    assert Backwards.calls == 3


# ---- tokenisers ---------------------------------------------------------------------------------


def regex_spans(name: str, given: str) -> list[tuple[int, int]]:
    """Return what the tokeniser's regular expression finds."""
    return [match.span() for match in _compiled(name, None).finditer(given)]


@pytest.mark.parametrize("name", ["words", "whitespace", "characters", "parts"])
def test_tokenisers_at_every_character(name: str) -> None:
    frames = ("{}", "a{}b", "a'{}", "{}\u0301'b", ".{}\u0301 {}", "AB{}a", "1{}\u03011", "{}{}b_{}")
    for frame in frames:
        whole = "\x1f".join(frame.replace("{}", c) for c in EVERY)  # between them, white space
        assert CHARACTERS.spans(whole, name) == regex_spans(name, whole), frame


@settings(max_examples=250)
@given(st.sampled_from(["words", "whitespace", "characters", "parts"]), text)
@example("words", "'a''b'c’ ’d’’e_f\u0301g'\u0301h")
@example("parts", "I'm 2010aB ABc ǅa E\u0301e\u0301 AE\u0301a 1\u03012 _\u0301_ ²3")
def test_tokenisers(name: str, given: str) -> None:
    assert CHARACTERS.spans(given, name) == regex_spans(name, given)
    assert Tokeniser(name).spans(given) == tuple(regex_spans(name, given))


@settings(max_examples=250)
@given(text)
@example("USBHub's 10km_2 E\u0301a")
def test_each_tokeniser_cuts_no_later_one(given: str) -> None:
    """Whatever the boundaries of words are, parts have them, and characters those of parts."""
    ends = [{end for span in Tokeniser(name).spans(given) for end in span} for name in LEVELS]
    assert ends[0] <= ends[1] <= ends[2]


@given(st.lists(text, max_size=5), st.sampled_from(["words", "whitespace", "characters", "parts"]))
def test_texts_and_tokens_have_the_same_types(texts: list[str], name: str) -> None:
    types = _kernels.TokenTypes(CHARACTERS)
    cut = types.read_texts(texts, name)
    documents = [as_document(one, name) for one in texts]
    again = types.read_tokens([document.tokens for document in documents])
    words = types.words()
    assert len(set(words)) == len(words) == len(types)
    assert cut.types.tolist() == again.types.tolist()
    assert cut.offsets.tolist() == again.offsets.tolist()
    assert [words[t] for t in cut.types.tolist()] == [w for d in documents for w in d.tokens]
    assert words == list(dict.fromkeys(w for d in documents for w in d.tokens))


# ---- patterns -----------------------------------------------------------------------------------

_NAMES = (
    r"\d \w \s \D \W \S . a b ß \. \n \- - ] } [ab] [^a] [\da-c] [^\w-] []a] [a-] [\W\d] [^\S\n]"
)
_SETS = [*_NAMES.split(), r"[^\S\n]", r"[+*.]", " "]


def _repeat(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    counts = ["?", "*", "+", "{2}", "{1,2}", "{,2}", "{1,}", "*?", "+?", "??", "{0,1}?", "{0}"]
    group = st.one_of(st.sampled_from(_SETS), inner.map("({})".format), inner.map("(?:{})".format))
    one = st.tuples(group, st.sampled_from(["", "", *counts])).map("".join)
    sequence = st.lists(one, max_size=4).map("".join)
    return st.lists(sequence, min_size=1, max_size=3).map("|".join)


patterns = st.recursive(st.sampled_from(_SETS), _repeat, max_leaves=8)
words_to_match = st.text(st.sampled_from("aabbc1٣ .-ß\n]+_\u0301\ud800"), max_size=7)


@settings(max_examples=600)
@given(patterns, st.lists(words_to_match, min_size=1, max_size=6))
def test_patterns_are_those_of_python(source: str, words: list[str]) -> None:
    made = _kernels.Pattern.compile(source)
    expected = re.compile(source)
    if made is not None:
        found = [made.fullmatch(w, CHARACTERS) for w in words]
        assert found == [expected.fullmatch(w) is not None for w in words]


@settings(max_examples=600)
@given(st.text(r"ab-]^[\dWs.()|?*+{}2,:#$n ", max_size=12), st.lists(words_to_match, max_size=6))
def test_any_text_as_a_pattern(source: str, words: list[str]) -> None:
    """What is compiled is a correct expression, and means the same."""
    made = _kernels.Pattern.compile(source)
    if made is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            expected = re.compile(source)
        found = [made.fullmatch(w, CHARACTERS) for w in words]
        assert found == [expected.fullmatch(w) is not None for w in words]


@settings(max_examples=100)
@given(st.lists(st.text("0123456789stndrh,.#-aAxX(Jpn:/whtps", max_size=9), min_size=1))
def test_patterns_of_presets(words: list[str]) -> None:
    for source in preset_patterns():
        made = _kernels.Pattern.compile(source)
        assert made is not None, source
        found = [made.fullmatch(w, CHARACTERS) for w in words]
        assert found == [re.fullmatch(source, w) is not None for w in words], source


def preset_patterns() -> set[str]:
    """Return all regular expressions in presets."""
    found: set[str] = set()
    for name in PRESETS:
        for feature in preset(name, segments=True):
            if isinstance(feature, Pattern):
                found.add(feature.pattern)
            elif isinstance(feature, Template):
                for column, _ in feature.parts:
                    inner: Any = getattr(column, "column", column)
                    if isinstance(inner, WordColumn) and inner.kind == "matches":
                        found.add(inner.arguments[0])
    assert len(found) > 20
    return found


REFUSED = r"""
^a a$ \ba a\B \Aa a\Z (a)\1 (?=a) (?!a) (?<=a)b (?i)a (?P<x>a) (?#x)a (?>a) (?i:a) a++ a*+ a?+ a{2}+
(a*)* (a|)+ (a?){2} \x41 \u0041 \N{SPACE} \0 \8 [[:alpha:]] [a--b] [a&&b] [a||b] [a~~b] *a a** ( )
[a [z-a] a{2 a{,} {2} a{x} \ [\d-z] [a-\d] \q [\b] a{3,2} a{9999} (?: |*
"""


@pytest.mark.parametrize("source", [*REFUSED.split(), "(" * 99 + ")" * 99])
def test_what_is_no_regular_language_is_refused(source: str) -> None:
    assert _kernels.Pattern.compile(source) is None


def test_patterns_with_many_states() -> None:
    """More states than are remembered at a time."""
    source = r"(a|b)*a(a|b){11}"
    made = _kernels.Pattern.compile(source)
    assert made is not None
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(["a", "b"], size=rng.integers(5, 60))) for _ in range(400)]
    expected = [len(w) >= 12 and w[-12] == "a" for w in words]
    assert [made.fullmatch(w, CHARACTERS) for w in words] == expected


# ---- places -------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "天"]), max_size=9), max_size=5),
    st.sampled_from(["start", "end", "part"]),
    st.integers(1, 7),
    st.sampled_from([-3, -2, -1, 1, 2]),
)
def test_positions_and_repeats(
    sequences: list[list[str]], origin: str, limit: int, offset: int
) -> None:
    types = _kernels.TokenTypes(CHARACTERS)
    batch = types.read_tokens(sequences)
    documents = [Document(tuple(one)) for one in sequences]
    place, same = position(origin, limit), repeats(offset)
    values = _kernels.Interner()
    found = _kernels.positions(batch, origin, limit, values, True)
    expected = [one for d in documents for (one,) in place.of_document(d)]
    assert [values.text(n) for n in found.tolist()] == expected
    assert [values.text(n) for n in range(len(values))] == list(dict.fromkeys(expected))
    values = _kernels.Interner()
    found = _kernels.repeats(batch, offset, values, True)
    expected = [one for d in documents for (one,) in same.of_document(d)]
    assert [values.text(n) for n in found.tolist()] == expected
    assert _kernels.repeats(batch, offset, _kernels.Interner(), False).tolist() == [-3] * len(found)


# ---- features of segments -----------------------------------------------------------------------

some_tokens = st.lists(
    st.sampled_from(["New", "new", "York", ",", "(", "a b", "York,", "", "12", "1", "Straße"]),
    max_size=8,
)
PATTERNS = [r"\w+ ?,?", "(New|new) York.*", r"\d*", "", "12 1|a b", r"\(?.+", " +", "[^,]*12"]
KNOWN = Lexicon("known", [["New", "York"], ["new"], ["York"], ["a b", "12", "1", "York", "New"]])
SEGMENTS = [
    *(Pattern(one, n, joiner=j) for one in PATTERNS for n in (1, 4) for j in (" ", "", ", ")),
    Length(exact=3, at_least=(2, 5), ranges=((2, 3), (4, 4))),
    *(
        Dictionary(KNOWN, c, o, n)
        for c in (False, True)
        for o in (False, True)
        for n in (False, True)
    ),
    *(Text(casefold=c, lexicon=Lexicon("learnt text", KNOWN.entries)) for c in (False, True)),
    *(SegmentShape(n, c) for n in (1, 3) for c in (False, True)),
    *(
        SegmentShape(4, True, column=one)
        for one in (char_class, ngrams(2, 2), prefix(2), matches("^1"))
    ),
]


@settings(max_examples=60)
@given(st.lists(some_tokens, max_size=4), st.lists(some_tokens, max_size=4), st.booleans())
def test_features_of_segments_fire_as_in_python(
    known: list[list[str]], asked: list[list[str]], forget: bool
) -> None:
    one, two = Encoder([word[0], *SEGMENTS]), Encoder([word[0], *SEGMENTS])
    assert all(reader._fast is not None for reader in one._readers)
    for reader in two._readers:
        reader._fast = None
    for sequences, grow in (
        (known, True),
        (asked, False),
        (known, False),
        (asked, True),
        (asked, False),
    ):
        found, expected = (made.encode_tokens(sequences, grow)[0] for made in (one, two))
        assert rows(found) == rows(expected)
        if forget:
            one.forget()
    assert one.names(range(len(one))) == two.names(range(len(two)))


def places_of(lexicon: Lexicon, tokens: list[str], loose: bool) -> list[tuple[str, ...]]:
    """Return where in an entry each token is, by definition; longer spans first, then earlier."""
    key = bare if loose else str
    entries = {tuple(filter(None, map(key, e))) if loose else e for e in lexicon.entries}
    T = len(tokens)
    spans = [(s, e) for s in range(T) for e in range(s + 1, T + 1)]
    out: list[tuple[str, ...]] = [()] * T
    for s, e in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        keys = tuple(map(key, tokens[s:e]))
        ends_are_words = not loose or bool(keys[0] and keys[-1])
        inner = tuple(filter(None, keys)) if loose else keys
        if ends_are_words and inner in entries and not any(out[s:e]):
            out[s:e] = [("begin",), *[("inside",)] * (e - s - 2), ("end",)][: e - s]
            if e - s == 1:
                out[s] = ("single",)
    return out


@given(st.lists(some_tokens, max_size=4), st.booleans())
def test_places_in_entries(sequences: list[list[str]], loose: bool) -> None:
    column = matched(KNOWN, loose=loose)
    expected = [places_of(KNOWN, tokens, loose) for tokens in sequences]
    assert [column.of_document(Document(tuple(one))) for one in sequences] == expected
    made = Encoder([column[0]])
    corpus, _ = made.encode_tokens(sequences, True)
    for i, places in enumerate(expected):
        ptr, ids, *_ = corpus.row_attributes(i)
        names = [made.names(ids[a:b].tolist()) for a, b in pairwise(ptr.tolist())]
        assert names == [[f"{column.name}[0]={one}" for one in place] for place in places]


# ---- encoders -----------------------------------------------------------------------------------


def rows(corpus: Any) -> list[Any]:
    """Return a corpus as lists."""
    each = [(*corpus.row_attributes(i), *corpus.edge_attributes(i)) for i in range(len(corpus))]
    return [[array.tolist() for array in one] for one in each]


@settings(max_examples=60)
@given(
    st.sampled_from(["generic", "addresses", "citations", "ner", "words"]),
    st.lists(text, max_size=5),
    st.lists(text, max_size=5),
    st.sampled_from(["words", "whitespace", "characters", "parts", {"regex": r"\w+|\S"}]),
)
def test_texts_are_encoded_like_documents(
    name: str, known: list[str], asked: list[str], tokeniser: Any
) -> None:
    features = preset(name)
    one, two, three = Encoder(features), Encoder(features), Encoder(features)
    for texts, grow in ((known, True), (asked, False), (known, True)):
        documents = [as_document(x, tokeniser) for x in texts]
        expected = one.encode(documents, grow)
        found, lengths = two.encode_texts(texts, tokeniser, grow)
        assert rows(found) == rows(expected)
        assert lengths.tolist() == expected.lengths.tolist() == [len(d) for d in documents]
        found, _ = three.encode_tokens([list(d.tokens) for d in documents], grow)
        assert rows(found) == rows(expected)
    assert one.names(range(len(one))) == two.names(range(len(two)))
    assert one.names(range(len(one))) == three.names(range(len(three)))


def test_no_document_is_made_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Encoder(
        [one for one in preset("addresses", segments=True) if "text" not in repr(one).lower()]
    )
    monkeypatch.setattr(encoder, "as_document", None)
    _, lengths = made.encode_texts(["1 Main St., Chicago", ""], grow=True)
    assert lengths.tolist() == [6, 0]


def test_features_that_ask_for_documents_get_them() -> None:
    pattern = Pattern(r"\d+ Main", 2)
    one, two = Encoder([word[0], pattern]), Encoder([word[0], pattern])
    texts = ["at 12 Main St", "Main 3 Main"]
    assert rows(one.encode_texts(texts, grow=True)[0]) == rows(
        two.encode([*map(as_document, texts)], True)
    )


def test_types_stay_until_they_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "MOST_WORDS", 3)
    made = Encoder([word[0], lowered(ngrams(2, 3))[0]])
    made.encode_texts(["a b", "b c"], grow=True)
    types, before = made.types, made.types.generation
    assert types.words() == ["a", "b", "c"]
    found = [made.encode_texts(["c d"])[0], made.encode_texts(["d b"])[0]]
    assert types is made.types
    assert types.generation == before + 1  # there were too many
    assert types.words() == ["d", "b"]
    fresh = Encoder([word[0], lowered(ngrams(2, 3))[0]])
    fresh.encode_texts(["a b", "b c"], grow=True)
    assert list(map(rows, found)) == [rows(fresh.encode_texts([x])[0]) for x in ("c d", "d b")]


def test_batches_of_forgotten_types_are_refused() -> None:
    types = _kernels.TokenTypes(CHARACTERS)
    types.add_column("word", [], _kernels.Interner())
    batch = types.read_texts(["a b"], "words")
    with pytest.raises(ValueError, match="no values yet"):
        types.take([0], batch)
    types.forget()
    with pytest.raises(ValueError, match="forgotten"):
        types.take([0], batch)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="a string"):
        Encoder([word[0]]).encode_texts(["a", 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a string"):
        Encoder([word[0]]).encode_tokens([["a", None]])  # type: ignore[list-item]


def test_documents_of_a_batch_are_made_when_asked_for() -> None:
    words, calls = Words(), []

    def make() -> list[Document]:
        calls.append(1)
        return [Document(("a", "b"))]

    batch = Batch(make, words, 0, words.types.read_texts(["a b"], "words"))
    assert batch.offsets.tolist() == [0, 2]
    assert batch.types.tolist() == [0, 1]
    assert not calls
    assert [*batch.documents, *batch.documents][0].tokens == ("a", "b")
    assert len(calls) == 1
