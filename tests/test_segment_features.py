"""Features of whole segments: what their rows sum to on a segment is what they mean."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel
from rapidfuzz.fuzz import token_sort_ratio

from caesura import Potentials, SemiCRF, load, n_best
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput
from caesura.features import (
    Dictionary,
    Length,
    Lexicon,
    Pattern,
    SegmentFeature,
    SegmentFunction,
    SegmentShape,
    Similar,
    Text,
    TokenAt,
    begin,
    declared,
    edge,
    end,
    first,
    from_spec,
    history,
    in_lexicon,
    inside,
    last,
    ngrams,
    short_shape,
    single,
    to_spec,
    within,
    word,
)
from caesura.features.batch import Batch, Words
from caesura.features.lexicons import bare
from caesura.features.reference import Row, applies, rows
from caesura.features.trie import Trie
from caesura.segments import Segment
from caesura.segments.cores import OPEN_END, OPEN_START

TOKENS = st.lists(st.sampled_from(["a", "B", "b", "-", ".", "c1"]), max_size=6)
CORPORA = st.lists(TOKENS, min_size=1, max_size=3)


def batch_of(corpus: Iterable[Sequence[str]]) -> Batch:
    return Batch([Document(tuple(tokens)) for tokens in corpus], Words())


def rows_of(feature: SegmentFeature, batch: Batch) -> list[Row]:
    starts, ends, flags, names, which, values = feature.firings(batch)
    assert starts.dtype == ends.dtype == which.dtype == np.int32
    assert flags.dtype == np.uint8
    assert values.dtype == np.float64
    assert len(set(names)) == len(names)
    attributes = [feature.name + names[w] for w in which.tolist()]
    columns = (starts.tolist(), ends.tolist(), flags.tolist(), attributes, values.tolist())
    return [Row(*row) for row in zip(*columns, strict=True)]


def totals(fired: Iterable[Row], start: int, end: int) -> dict[str, float]:
    total: dict[str, float] = {}
    for row in fired:
        if applies(row, start, end):
            total[row.attribute] = total.get(row.attribute, 0.0) + row.value
    return {name: value for name, value in total.items() if value}


Meaning = Callable[[Document, int, int], Iterable[str]]


def check(feature: SegmentFeature, corpus: Sequence[Sequence[str]], meaning: Meaning) -> None:
    """On every segment of every document, the rows must sum to what a definition says."""
    batch = batch_of(corpus)
    fired = rows_of(feature, batch)
    for low, high in pairwise(batch.offsets):
        inside = [row for row in fired if low <= row.start < high]
        assert all(row.start < row.end <= high for row in inside)
    assert all(0 <= row.start < batch.offsets[-1] for row in fired)
    for document, low in zip(batch.documents, batch.offsets.tolist(), strict=False):
        for start in range(len(document)):
            for stop in range(start + 1, len(document) + 1):
                counts = Counter(meaning(document, start, stop))
                said = {feature.name + name: n for name, n in counts.items()}
                assert totals(fired, low + start, low + stop) == said, (start, stop)


# -- the five examples of potentials, and those of the introduction -------------------------------

TALK = ("by", "Prof.", "Dr", "Knuth", "-", "of", "the", "ACM")


def test_five_examples() -> None:
    """Half-open spans from 0; those printed for the first two are one token too long."""
    society = Lexicon("societies", ["of the ACM"])
    document, batch = Document(TALK), batch_of([TALK])
    two = rows(document, [first(word[0] & word[1])])
    assert [r[:3] for r in two if r.attribute.endswith("=Prof.|Dr")] == [(1, 3, OPEN_END)]
    three = rows(document, [last(word[-2] & word[-1] & word[0])])
    assert [r[:3] for r in three if r.attribute.endswith("=of|the|ACM")] == [(5, 8, OPEN_START)]
    assert rows_of(Similar(society, "cosine", [0.95]), batch) == [
        Row(5, 8, 0, "cosine(societies)>=0.95", 1.0)
    ]
    the = rows(document, [within(word[0])])
    assert [r[:3] for r in the if r.attribute.endswith("=the")] == [(6, 7, OPEN_START | OPEN_END)]
    longer_than_six = rows_of(Length(at_least=7), batch)
    assert longer_than_six == [Row(t, t + 7, OPEN_END, "length>=7", 1.0) for t in (0, 1)]


def test_third_or_fourth_token_is_a_hyphen() -> None:
    feature = TokenAt((2, 3), word, "-")
    assert rows_of(feature, batch_of([TALK])) == [
        Row(1, 5, OPEN_END, "at2,3:word(-)=-", 1.0),
        Row(2, 5, OPEN_END, "at2,3:word(-)=-", 1.0),
    ]
    both = rows_of(feature, batch_of([tuple("ab--")]))
    assert both == [
        Row(0, 3, OPEN_END, "at2,3:word(-)=-", 1.0),
        Row(1, 4, OPEN_END, "at2,3:word(-)=-", 1.0),
    ]


def test_length_between_four_and_eight() -> None:
    fired = rows_of(Length(ranges=[(4, 8)]), batch_of([["x"] * 12]))
    sums = [totals(fired, 1, 1 + n).get("length=4..8", 0.0) for n in range(1, 12)]
    assert sums == [0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]


def test_single_characters_of_a_sentence() -> None:
    """我 吃 了 苹果: three of the words are single characters."""
    fired = rows_of(Length(exact=[1]), batch_of(["我吃了苹果"]))
    words = [(0, 1), (1, 2), (2, 3), (3, 5)]
    assert sum(totals(fired, *span).get("length=1", 0.0) for span in words) == 3


def of_word(document: Document, start: int, end: int) -> dict[str, str]:
    """What the slides say of a word by its characters and its length."""
    around = ("<s>", *document.tokens, "</s>")
    begin, stop, n = document.tokens[start], document.tokens[end - 1], end - start
    text = "".join(document.tokens[start:end])
    return {
        "first, length": f"{begin}{n}",
        "last, length": f"{stop}{n}",
        "first, last": begin + stop,
        "word, next": text + around[end + 1],
        "word, previous": text + around[start],
    }


def test_words_of_a_sentence() -> None:
    """The slides' word templates that look at one word, for 苹果 in 我 吃 了 苹果.

    Those that look at two words need a model that remembers the word before.
    """
    batch = batch_of(["我吃了苹果"])
    words = [Segment(0, 1, "w"), Segment(1, 2, "w"), Segment(2, 3, "w"), Segment(3, 5, "w")]
    said: dict[str, float] = {}
    templates = [first(word[-1] & word[0]), within(word[0] & word[1])]
    said |= totals(rows(batch.documents[0], templates), 3, 5)
    learnt = Text(min_count=1).fit(batch, [words])
    for feature in (learnt, Length(exact=2), SegmentFunction(of_word, 4)):
        said |= totals(rows_of(feature, batch), 3, 5)
    assert said == dict.fromkeys(
        [
            "text(min_count=1)=苹 果",
            "length=2",
            "first:word[-1]&word[0]=了|苹",
            "within:word[0]&word[1]=苹|果",
            "of_word=first, length:苹2",
            "of_word=last, length:果2",
            "of_word=first, last:苹果",
            "of_word=word, next:苹果</s>",
            "of_word=word, previous:苹果了",
        ],
        1.0,
    )


# -- by definition ---------------------------------------------------------------------------------


@given(CORPORA, st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.integers(1, 5))
def test_length(corpus: list[list[str]], n: int, low: int, more: int, least: int) -> None:
    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        length = end - start
        yield from [f"={length}"] * (length <= n)
        yield from [f"={low}..{low + more}"] * (low <= length <= low + more)
        yield from [f">={least}"] * (length >= least)

    feature = Length(exact=n, at_least=least, ranges=[(low, low + more)])
    check(feature, corpus, meaning)


@given(CORPORA, st.sets(st.integers(0, 3), min_size=1), st.booleans(), st.sampled_from(["-", None]))
def test_token_at(
    corpus: list[list[str]], positions: set[int], from_end: bool, value: str | None
) -> None:
    at = [-1 - p for p in positions] if from_end else list(positions)

    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        tokens = document.tokens[start:end]
        values = {tokens[p] for p in at if -len(tokens) <= p < len(tokens)}
        return [f"={v}" for v in values if value in (None, v)]

    check(TokenAt(at, word, value), corpus, meaning)


@given(CORPORA)
def test_token_at_with_columns_of_many_values(corpus: list[list[str]]) -> None:
    grams = ngrams(1, 1)

    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        return {f"={v}" for token in document.tokens[start:end][:2] for v in grams.of_word(token)}

    check(TokenAt((0, 1), grams), corpus, meaning)


@given(CORPORA, st.integers(1, 3), st.booleans())
def test_shape(corpus: list[list[str]], max_length: int, collapse: bool) -> None:
    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        if end - start > max_length:
            return
        shapes = " ".join(short_shape.of_word(token)[0] for token in document.tokens[start:end])
        if collapse:
            shapes = re.sub(r"(?<!\S)(\S+)( \1(?!\S))+", r"\1+", shapes)
        yield f"={shapes}"

    check(SegmentShape(max_length, collapse), corpus, meaning)


@given(CORPORA)
def test_pattern(corpus: list[list[str]]) -> None:
    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        text = " ".join(document.tokens[start:end])
        return [""] * bool(end - start <= 3 and re.fullmatch("(a|b)( -)*.*1?", text))

    check(Pattern("(a|b)( -)*.*1?", 3, name="ab"), corpus, meaning)


@given(CORPORA)
def test_function(corpus: list[list[str]]) -> None:
    def said(document: Document, start: int, end: int) -> dict[str, object] | None:
        hyphens = document.tokens[start:end].count("-")
        return {"hyphens": hyphens, "kind": "x"} if hyphens else None

    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        hyphens = document.tokens[start:end].count("-")
        return (["=hyphens"] * hyphens + ["=kind:x"]) if hyphens and end - start <= 4 else []

    check(SegmentFunction(said, 4), corpus, meaning)


ENTRIES = st.lists(
    st.lists(st.sampled_from(["a", "B", "b", "-", "."]), min_size=1, max_size=3), max_size=5
)


@given(CORPORA, ENTRIES, st.booleans())
def test_dictionary(corpus: list[list[str]], entries: list[list[str]], casefold: bool) -> None:
    def key(tokens: Iterable[str]) -> tuple[str, ...]:
        return tuple(t.casefold() if casefold else t for t in tokens)

    known = set(map(key, entries))

    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        found = key(document.tokens[start:end]) in known
        return ["=known", f"=known/{end - start}"] * found

    check(Dictionary(Lexicon("known", entries), casefold, length=True), corpus, meaning)


@given(CORPORA, ENTRIES)
def test_loose_dictionary(corpus: list[list[str]], entries: list[list[str]]) -> None:
    def key(tokens: Iterable[str]) -> tuple[str, ...]:
        return tuple(bare(t) for t in tokens if bare(t))

    known = {key(entry) for entry in entries} - {()}

    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        tokens = document.tokens[start:end]
        words = [t for t, token in enumerate(tokens) if bare(token)]
        found = words and key(tokens) in known and words[0] <= 2 and len(tokens) - words[-1] <= 3
        return ["=known"] * bool(found)

    check(Dictionary(Lexicon("known", entries), loose=True), corpus, meaning)


def test_loose_dictionary_takes_marks_as_the_data_has_them() -> None:
    places = Lexicon("places", ["St. Charles"])
    feature = Dictionary(places, casefold=True, loose=True)
    for tokens in (["in", "(", "ST", ".", "CHARLES", ",", ")"], ["in", "(", "St.", "Charles,"]):
        fired = {(row.start, row.end) for row in rows_of(feature, batch_of([tokens]))}
        assert (1, len(tokens)) in fired
        assert (2, len(tokens)) in fired
        assert (0, len(tokens)) not in fired


@pytest.mark.parametrize("entry", ["St John's", "L’Aquila", "हिन्दी", "Zoe\u0308", "New York"])
@pytest.mark.parametrize("how", ["words", "whitespace", "characters", "parts", {"regex": r"\w"}])
def test_lexicons_split_as_documents_do(entry: str, how: str | dict[str, str]) -> None:
    document = Document.from_text(f"in {entry} .", how)
    before, tokens = (len(Document.from_text(text, how)) for text in ("in", entry))
    found = [(before, before + tokens)]
    lexicons = [Lexicon("t", [entry], how), Lexicon("t", [entry], Tokeniser.of(how))]
    for lexicon in [*lexicons, Lexicon("t", [entry])] if how == "words" else lexicons:
        for feature in (Dictionary(lexicon), Dictionary(lexicon, casefold=True)):
            fired = feature.firings(Batch([document], Words()))
            spans = list(zip(fired.starts.tolist(), fired.ends.tolist(), strict=True))
            assert spans == found


def test_lexicons_take_functions_and_tokens() -> None:
    assert Lexicon("t", ["a b", ("c d", "e")], str.split).entries == (("a", "b"), ("c d", "e"))
    with pytest.raises(InvalidInput, match=r"^tokenise: got 'word', expected words, whitespace"):
        Lexicon("t", ["a"], "word")


@given(CORPORA, st.booleans(), st.integers(1, 2), st.data())
def test_text(corpus: list[list[str]], casefold: bool, least: int, data: st.DataObject) -> None:
    def key(tokens: Iterable[str]) -> str:
        text = " ".join(tokens)
        return text.casefold() if casefold else text

    batch = batch_of(corpus)
    gold = [_segments(data, len(tokens)) for tokens in corpus]
    seen = Counter(
        key(tokens[s:e]) for tokens, some in zip(corpus, gold, strict=True) for s, e, _ in some
    )

    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        text = key(document.tokens[start:end])
        return [f"={text}"] * (seen[text] >= least)

    learnt = Text(casefold, least).fit(batch, gold)
    assert learnt != Text(casefold, least)
    check(learnt, corpus, meaning)


def _segments(data: st.DataObject, length: int) -> list[Segment]:
    cuts = sorted(data.draw(st.sets(st.integers(0, length))))
    return [Segment(s, e, "x") for s, e in pairwise(cuts)]


def test_text_must_learn() -> None:
    with pytest.raises(InvalidInput, match="fit"):
        Text().firings(batch_of([["a"]]))


# -- a hybrid with the chain -----------------------------------------------------------------------

PAIR, NEXT = word[-1] & word[0], word[0] & word[1]
BY_PLACE = [place(word[0]) for place in (single, begin, inside, end)]
HYBRID = [*BY_PLACE, within(PAIR), begin(NEXT), single(NEXT), end(NEXT), edge(PAIR)]


@pytest.mark.parametrize("labels", [("x",), ("x", "y")])
@pytest.mark.parametrize("tokens", ["abab", "abcba"])
def test_the_hybrid_contains_the_chain(labels: tuple[str, ...], tokens: str) -> None:
    """Each segmentation scores what its tags B, I, I, ... score in a chain, so both are one model.

    The chain has a random weight for each word with its tag, and for each two words with their two
    tags; only from segment to segment it is a sum, of one that knows the two labels and one that
    knows the tag before and its label. Of one label, as in words of Chinese, that is any chain.
    """
    weights: defaultdict[tuple[str, ...], float] = defaultdict(
        partial(random.Random(5).gauss, 0, 1)
    )

    def chain(segments: Iterable[Segment]) -> float:
        tags = [(y, "BI"[t > s]) for s, e, y in segments for t in range(s, e)]
        total = sum(weights[(*tag, a)] for tag, a in zip(tags, tokens, strict=True))
        for ((y0, tag0), (y, tag)), (a, b) in zip(pairwise(tags), pairwise(tokens), strict=True):
            across = weights[y0, y, a, b] + weights[y0, tag0, a, b]
            total += across if tag == "B" else weights[y0, tag0, "I", a, b]
        return total

    def weight(attribute: str, y: str) -> float:
        """The same weights, by the features' names."""
        template, said = attribute.split("=")
        a, _, b = said.partition("|")
        if b == "</s>":
            return 0.0
        place = template.split(":")[0]
        if place == "within":
            return weights[y, "I", "I", a, b]
        if place == "begin" and b:
            return weights[y, "B", "I", a, b] - weights[y, "I", "I", a, b]
        tag = "B" if place in ("begin", "single") else "I"
        return weights[y, tag, a, b] if b else weights[y, tag, a]

    p = Potentials(len(tokens), labels)
    for row, y in product(rows(Document(tuple(tokens)), HYBRID), labels):
        if row.start == row.end:
            a, b = row.attribute.split("=")[1].split("|")
            for y0 in labels:
                p.add_transition(row.start, y0, y, weights[y0, y, a, b])
            continue
        opened = bool(row.flags & OPEN_START), bool(row.flags & OPEN_END)
        p.add(row.start, row.end, y, row.value * weight(row.attribute, y), *opened)

    paths = n_best(p, 1 + len(labels) * (1 + len(labels)) ** (len(tokens) - 1))
    assert len(paths) == len(labels) * (1 + len(labels)) ** (len(tokens) - 1)  # all there are
    for segments, score in paths:
        assert score == pytest.approx(chain(segments), abs=1e-10)


# -- similarity ------------------------------------------------------------------------------------

WORDS = st.sampled_from(["univ", "University", "of", "vienna", "Wien", "tech"])
SCHOOLS = st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=6)


def _thresholds(best: float) -> list[str]:
    return [f">={x}" for x in (0.5, 0.75, 1) if best >= x - 1e-9]


@given(st.lists(st.lists(WORDS, max_size=5), min_size=1, max_size=2), SCHOOLS)
def test_token_sort(corpus: list[list[str]], entries: list[list[str]]) -> None:
    """The best token sort ratio to an entry that shares a token."""

    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        tokens = [t.casefold() for t in document.tokens[start:end]]
        folded = [[t.casefold() for t in entry] for entry in entries]
        near = [entry for entry in folded if set(entry) & set(tokens)]
        ratios = [token_sort_ratio(" ".join(tokens), " ".join(entry)) for entry in near]
        return _thresholds(max(ratios, default=0.0) / 100) if end - start <= 3 else []

    feature = Similar(Lexicon("schools", entries), thresholds=[1, 0.5, 0.75], max_length=3)
    check(feature, corpus, meaning)


@pytest.mark.parametrize("thresholds", [[1e-3, 0.3], [0.5, 0.7, 0.9], [0.8, 1.0], [1.0]])
@pytest.mark.parametrize("alphabet", ["ab", "abcdefgh0", "é大\U0001f600\ud800x"])
def test_token_sort_is_exact_among_many(thresholds: list[float], alphabet: str) -> None:
    """Where many entries share a token, and texts have more than 64, 128 and 255 characters."""
    draw = random.Random(3)

    def text(longest: int) -> str:
        return "".join(draw.choices(alphabet, k=draw.randint(0, longest)))

    entries = [["of", text(9)] + ["the"] * draw.randint(0, 2) for _ in range(300)]
    entries += [["of", text(70), text(70)] for _ in range(30)]
    entries += [["of", text(9) + 300 * alphabet[0]], ["", ""], [""], [text(700), "the"]]
    corpus = [
        [draw.choice(["of", "the", "", text(9), text(9), text(40)]) for _ in range(9)]
        for _ in range(12)
    ]
    corpus += [["of", 400 * alphabet[0], "the"], [""], ["", ""], ["nowhere"], ["of"] * 8, []]
    folded = [sorted(token.casefold() for token in entry) for entry in entries]

    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        tokens = sorted(t.casefold() for t in document.tokens[start:end])
        near = [" ".join(one) for one in folded if set(one) & set(tokens) and end - start < 8]
        ratios = [Indel.normalized_similarity(" ".join(tokens), one) for one in near]
        best = max(ratios, default=-1.0)
        return [f">={x:g}" for x in thresholds if best >= x - 1e-9]

    for lexicon in (Lexicon("a", entries), Lexicon("b", entries[::-1])):
        check(Similar(lexicon, thresholds=thresholds, max_length=7), corpus, meaning)


def test_a_similarity_at_a_threshold_reaches_it() -> None:
    """Of 35 characters 7 differ, which is 0.8."""
    feature = Similar(Lexicon("known", ["abbaabaaa of the"]), thresholds=[0.8], max_length=3)
    fired = feature.firings(batch_of([["abbaabaaa", "bbaaa", "the"]]))
    assert fired.ends.tolist() == [3]


def test_a_threshold_may_be_tiny() -> None:
    feature = Similar(Lexicon("known", ["of the"]), thresholds=[1e-12], max_length=2)
    fired = feature.firings(batch_of([["of", "it"]]))
    assert sorted(zip(fired.starts.tolist(), fired.ends.tolist(), strict=True)) == [(0, 1), (0, 2)]


@given(st.lists(st.lists(WORDS, max_size=5), min_size=1, max_size=2), SCHOOLS)
def test_cosine(corpus: list[list[str]], entries: list[list[str]]) -> None:
    """The best cosine of counts of trigrams, to any entry."""

    def counts(tokens: Sequence[str]) -> Counter[str]:
        text = f" {' '.join(tokens)} ".casefold()
        return Counter(text[i : i + 3] for i in range(len(text) - 2))

    def cosine(a: Counter[str], b: Counter[str]) -> float:
        norms = [sum(n * n for n in one.values()) for one in (a, b)]
        return float(sum(a[g] * b[g] for g in a) / np.sqrt(np.prod(norms)))

    def meaning(document: Document, start: int, end: int) -> Iterable[str]:
        mine = counts(document.tokens[start:end])
        return _thresholds(max(cosine(mine, counts(entry)) for entry in entries))

    feature = Similar(Lexicon("schools", entries), "cosine", [0.5, 0.75, 1], 5)
    check(feature, corpus, meaning)


# -- the trie --------------------------------------------------------------------------------------

KEYS = st.lists(st.integers(0, 2), min_size=1, max_size=3)


@given(st.lists(KEYS, max_size=4), st.lists(st.lists(st.integers(-1, 2), max_size=6), max_size=3))
def test_trie_finds_all(entries: list[list[int]], documents: list[list[int]]) -> None:
    trie = Trie()
    for payload, entry in enumerate(entries):
        trie.add(np.array(entry, np.int32), payload)
    offsets = np.cumsum([0, *map(len, documents)])
    row = np.array([key for document in documents for key in document], np.int32)
    starts, ends, payloads = trie.scan(row, offsets)
    expected = {
        (low + s, low + s + len(entry), payload)
        for (low, document), (payload, entry) in product(
            zip(offsets.tolist(), documents, strict=False), enumerate(entries)
        )
        for s in range(len(document))
        if document[s : s + len(entry)] == entry
    }
    found = list(zip(starts.tolist(), ends.tolist(), payloads.tolist(), strict=True))
    assert len(found) == len(expected)
    assert set(found) == expected


def test_trie_refuses_nothing_and_negative_keys() -> None:
    for bad in ([], [1, -1]):
        with pytest.raises(InvalidInput, match="ids"):
            Trie().add(bad, 0)


# -- declarations ----------------------------------------------------------------------------------

SOME = Lexicon("some", ["a"])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Length(),
        lambda: Length(exact=[0]),
        lambda: Length(ranges=[(5, 4)]),
        lambda: TokenAt((), word),
        lambda: TokenAt((0, -1), word),
        lambda: TokenAt((0,), "word"),  # type: ignore[arg-type]
        lambda: SegmentShape(0),
        lambda: Pattern("(", 3),
        lambda: Pattern("a", None),  # type: ignore[arg-type]
        lambda: SegmentFunction(len, 0),  # type: ignore[arg-type]
        lambda: SegmentFunction("f", 1),  # type: ignore[arg-type]
        lambda: Dictionary(["a"]),  # type: ignore[arg-type]
        lambda: Text(min_count=0),
        lambda: Similar(SOME, "edit"),
        lambda: Similar(SOME, thresholds=()),
        lambda: Similar(SOME, thresholds=(80,)),
        lambda: Lexicon.read("no such file"),
        lambda: Length(ranges=(4, 8)),
        lambda: Length(ranges=[(4, 8, 9)]),
        lambda: Length(ranges=5),
        lambda: Length(at_least=2.5),
        lambda: Length(exact="3"),
        lambda: TokenAt(1.5, word),
        lambda: TokenAt(0, word, 3),  # type: ignore[arg-type]
        lambda: Lexicon("a", [1]),  # type: ignore[list-item]
        lambda: Lexicon("a", 1),  # type: ignore[arg-type]
        lambda: Similar(SOME, ["cosine"]),  # type: ignore[arg-type]
        lambda: Similar(SOME, thresholds="x"),  # type: ignore[arg-type]
        lambda: Similar(SOME, thresholds=0.8),  # type: ignore[arg-type]
        lambda: Similar(SOME, thresholds=[float("nan"), 0.5]),
    ],
)
def test_wrong_declarations(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match="expected"):
        wrong()


def named(document: Document, start: int, end: int) -> str:
    return "x"


TOWNS, OTHERS = Lexicon("towns", ["a"]), Lexicon("towns", ["b"])


@pytest.mark.parametrize(
    ("features", "says"),
    [
        ([Pattern("A.*", 2, name="p"), Pattern("B.*", 2, name="p")], "than p, .* another name"),
        ([Pattern("A.*", 2), Pattern("A.*", 3)], "give one another name"),
        ([SegmentFunction(named, 2), SegmentFunction(named, 3)], "than named, .* another name"),
        ([SegmentFunction(named, 2, name="word[0]"), word[0]], "leave out"),
        ([word, SegmentFunction(named, 2, name="length"), Length(exact=2)], r"features\[1\] has"),
        ([Length(exact=2), Length(exact=3)], "than length=1, which .* leave out one of the two"),
        ([Length(at_least=2), Length(exact=3, at_least=[2, 5])], "than length>=2,"),
        ([history(Length(exact=2), 1), history(Length(exact=3), 1)], "than history1:length=1,"),
        ([SegmentShape(3), SegmentShape(4)], "than segment_short_shape,"),
        ([Dictionary(TOWNS), Dictionary(TOWNS, length=True)], "than dictionary=towns,"),
        ([Similar(TOWNS), Similar(TOWNS, max_length=3)], r"than similar\(towns\)>=0.7,"),
        ([Dictionary(TOWNS), in_lexicon(OTHERS)[0]], "lexicon: got 'towns', .* rename"),
        ([Text(), Dictionary(Lexicon("learnt text", ["a"]))], "'learnt text', which this will"),
    ],
)
def test_what_cannot_be_told_apart(features: list[Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        declared(features)
    with pytest.raises(InvalidInput, match=says):
        SemiCRF(features).fit([["a", "b"]], [[(0, 1, "x")]])


def test_files_of_versions_that_did_not_refuse_are_read() -> None:
    features = [Length(exact=2), Length(exact=3), SegmentShape(3), SegmentShape(4)]
    assert from_spec(to_spec(features)) == features


def test_what_can_be_told_apart(tmp_path: Path) -> None:
    """And is saved."""
    features = [
        *(Text(), Text(min_count=1), Text(casefold=True, min_count=1), history(Text(), 1)),
        *(TokenAt(0, word), TokenAt(0, word, "a"), TokenAt(0, word, "b")),
        *(Length(exact=2), Length(at_least=2), Length(ranges=[(1, 2)])),
        *(Similar(TOWNS, thresholds=[0.7]), Similar(TOWNS, thresholds=[0.8])),
        *(Dictionary(TOWNS), Dictionary(TOWNS, casefold=True), Dictionary(SOME)),
    ]
    X, y = [["a", "b", "a", "c"]], [[(0, 1, "x"), (1, 2, "y"), (2, 3, "x"), (3, 4, "y")]]
    model = SemiCRF(features, c2=0.1, max_iterations=5).fit(X, y)
    encoder = model._known.encoder
    names = encoder.names(range(len(encoder)))
    assert len(set(names)) == len(names)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X) == model.predict(X)
    alone = [Text(), Text(casefold=True), TokenAt(0, word), Length(exact=2), Similar(TOWNS)]
    shown = ["text", "lower_text", "at0:word", "length", "similar(towns)"]
    assert [one.name for one in alone] == shown


def test_functions_without_a_name_are_fitted_but_not_saved(tmp_path: Path) -> None:
    said: list[Any] = [SegmentFunction(lambda document, start, end: "x", 2), word[0]]
    model = SemiCRF(said, max_iterations=2).fit([["a", "b"]], [[(0, 1, "x")]])
    with pytest.raises(InvalidInput, match="by def at the top of a module, import it"):
        model.save(tmp_path / "model")


def test_features_are_values() -> None:
    assert len({Length(exact=3), Length(exact=[1, 2, 3]), Length(at_least=3)}) == 2
    assert Length(exact=np.arange(1, 4), at_least=np.int64(5)) == Length(3, 5)
    assert Similar(SOME, thresholds=[0.9]) == Similar(Lexicon("some", ["a"]), thresholds=(0.9,))


def test_no_documents_and_empty_documents() -> None:
    features: list[SegmentFeature] = [
        Length(3, 2, [(1, 2)]),
        TokenAt(0, word),
        SegmentShape(3),
        Pattern("a", 2),
        SegmentFunction(lambda document, start, end: "x", 2),
        Dictionary(SOME, loose=True),
        Similar(SOME),
        Similar(SOME, "cosine"),
        Text(lexicon=SOME),
    ]
    for corpus in ([], [()]):
        for feature in features:
            assert rows_of(feature, batch_of(corpus)) == []


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(
        [
            *(
                r"\d+",
                r"a( ?a)*",
                r"[^a]+",
                r"a?b?",
                r"(a|ab)( b)?",
                r"\w+ \w+",
                r"^a",
                r"a$",
                r"\ba b",
            ),
            *(r"(?<!a )b", r"b(?= a)", r"(?i)A", r"(a+)\1", r"a++b", r".*", r"", r"a | b"),
        ]
    ),
    st.lists(st.text("ab1. ", max_size=3), max_size=6),
    st.sampled_from([" ", ""]),
)
def test_patterns_see_their_segment_alone(pattern: str, tokens: list[str], joiner: str) -> None:
    batch = Batch([Document(("b",)), Document(tuple(tokens))], Words())
    fired = Pattern(pattern, 4, joiner=joiner).firings(batch)
    found = set(zip(fired.starts.tolist(), fired.ends.tolist(), strict=True))
    expected = {
        (low + s, low + e)
        for low, words in ((0, ["b"]), (1, tokens))
        for s in range(len(words))
        for e in range(s + 1, min(s + 4, len(words)) + 1)
        if re.fullmatch(pattern, joiner.join(words[s:e]))
    }
    assert found == expected


def test_many_dictionaries_keep_one_number_for_each_word() -> None:
    """Also where there are more of them than finders are kept."""
    batch = batch_of([["a", "b"]])
    for _ in range(3):
        for k in range(20):
            Dictionary(Lexicon(f"list {k}", [f"a{k}"])).firings(batch)
    assert len(batch.words._columns) == 20
