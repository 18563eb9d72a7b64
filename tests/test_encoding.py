"""Documents to numbers: the encoder against the definition of features in plain Python."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import caesura
from caesura import Document, InvalidInput
from caesura.documents import as_document
from caesura.encoding import Encoder
from caesura.encoding.bags import encode_bags, takes_bags
from caesura.encoding.values import UNSEEN
from caesura.features import (
    Dictionary,
    Length,
    Lexicon,
    Pattern,
    SegmentFeature,
    SegmentFunction,
    Template,
    Text,
    TokenAt,
    attributes,
    column,
    dense,
    first,
    function,
    last,
    lower,
    ngrams,
    position,
    prefix,
    repeats,
    token,
    word,
)
from caesura.features.batch import Batch, Firings, Words
from caesura.features.reference import rows
from caesura.features.templates import PLACES
from caesura.segments import Segment

Draw = Callable[[st.SearchStrategy[Any]], Any]
Found = dict[tuple[int, int, int, str], float]  # start, end, flags, attribute -> value

WORDS = ["a", "ab", "Abc", "|", "\\", "", "é\ud800", "x\0y"]
BAGS: list[Any] = [
    [],
    ["p", "q"],
    ("q", "q"),
    {"p": 2.0, "r": "s"},
    {"p": -1.5, "q": True},
    {"n": {"a": 1, "b": [0.0, "c"][1:]}},
    {"z": 0.0},
    {"é"},
]


def oddness(document: Document, t: int) -> str | None:
    return None if t % 2 else "even"


def sizes(document: Document, t: int) -> dict[str, float] | list[str]:
    return {"size": len(document.tokens[t]) - 0.5} if t else ["first", "first"]


def whole_text(document: Document, start: int, end: int) -> dict[str, float] | None:
    return {"spaces": float(end - start)} if end - start > 1 else None


COLUMNS = [
    word,
    lower,
    prefix(2),
    ngrams(1, 2),
    column("pos"),
    position("start", 2),
    repeats(-1),
    function(oddness),
    function(sizes),
    attributes,
    dense,
]
SEGMENT_FEATURES = [
    Length(exact=2, at_least=[3], ranges=[(2, 3)]),
    TokenAt([0, 1], word),
    Pattern("a.*", 3),
    Dictionary(Lexicon("some", ["a ab", "Abc"])),
    SegmentFunction(whole_text, 3),
]


@st.composite
def documents(draw: Draw, max_size: int = 4) -> list[Document]:
    """Documents that have everything, of up to five tokens."""
    out = []
    for _ in range(draw(st.integers(0, max_size))):
        T = draw(st.integers(0, 5))

        def each(values: Sequence[Any], T: int = T) -> Any:
            return draw(st.lists(st.sampled_from(values), min_size=T, max_size=T))

        numbers = np.array(each([0.0, 1.0, -2.5, 0.25], 2 * T)).reshape(T, 2)
        tokens, tags, bags = each(WORDS), each(["N", "V"]), each(BAGS)
        out.append(Document(tokens, columns={"pos": tags}, attributes=bags, dense=numbers))
    return out


@st.composite
def features(draw: Draw) -> list[Template | SegmentFeature]:
    part = st.tuples(st.sampled_from(COLUMNS), st.integers(-2, 2))
    template = st.builds(
        Template, st.lists(part, min_size=1, max_size=3).map(tuple), st.sampled_from(PLACES)
    )
    some = draw(st.lists(template, max_size=6, unique=True))
    more = draw(st.lists(st.sampled_from(SEGMENT_FEATURES), max_size=3, unique_by=id))
    return draw(st.permutations([*some, *more]))  # type: ignore[no-any-return]


def defined(features: Sequence[Template | SegmentFeature], docs: Sequence[Document]) -> list[Found]:
    """What the definitions say, document by document."""
    out: list[Found] = [defaultdict(float) for _ in docs]
    for found, document in zip(out, docs, strict=True):
        for feature in features:
            if isinstance(feature, Template):
                alone = feature == attributes[0]
                for row in rows(document, [feature]):
                    name = row.attribute.removeprefix("attributes[0]=") if alone else row.attribute
                    found[row.start, row.end, row.flags, name] += row.value
                continue
            fired = feature.firings(Batch([document], Words()))
            for start, end, flags, _, which, value in zip(
                *fired[:3], range(len(fired.starts)), *fired[4:], strict=True
            ):
                key = (int(start), int(end), int(flags), feature.name + fired.names[which])
                found[key] += float(value)
    return out


def encoded(encoder: Encoder, corpus: Any, n: int) -> list[Found]:
    """What the encoder made, document by document."""
    out = []
    for i in range(n):
        found: Found = defaultdict(float)
        T = int(corpus.lengths[i])
        ptr, ids, values, starts, ends, flags = corpus.row_attributes(i)
        spans = [(t, t + 1, 3) for t in range(T)]
        spans += list(zip(starts.tolist(), ends.tolist(), flags.tolist(), strict=True))
        assert len(spans) == len(ptr) - 1
        for r, span in enumerate(spans):
            here = range(int(ptr[r]), int(ptr[r + 1]))
            for k, name in zip(here, encoder.names(ids[k] for k in here), strict=True):
                found[(*span, name)] += float(values[k])
        positions, edges, weights = corpus.edge_attributes(i)
        for t, name, value in zip(positions, encoder.names(edges), weights, strict=True):
            found[int(t), int(t), 0, name] += float(value)
        out.append(found)
    return out


def same(actual: Sequence[Found], expected: Sequence[Found]) -> None:
    for a, e in zip(actual, expected, strict=True):
        assert a.keys() == e.keys()
        for key, value in e.items():
            assert a[key] == pytest.approx(value, abs=1e-12), key


# -- the definition ------------------------------------------------------------------------------


@settings(max_examples=80)
@given(features(), documents())
def test_encoder_does_what_features_mean(
    chosen: list[Template | SegmentFeature], docs: list[Document]
) -> None:
    encoder = Encoder(chosen)
    corpus = encoder.encode(docs, grow=True)
    assert len(corpus) == len(docs)
    assert corpus.lengths.tolist() == [len(document) for document in docs]
    same(encoded(encoder, corpus, len(docs)), defined(chosen, docs))


@settings(max_examples=30)
@given(features(), documents(), documents())
def test_several_batches_are_one_corpus(
    chosen: list[Template | SegmentFeature], docs: list[Document], more: list[Document]
) -> None:
    encoder = Encoder(chosen)
    corpus = encoder.encode(docs, grow=True)
    assert encoder.encode(more, True, corpus) is corpus
    both = [*docs, *more]
    same(encoded(encoder, corpus, len(both)), defined(chosen, both))
    once = Encoder(chosen)
    together = once.encode(both, grow=True)
    same(encoded(once, together, len(both)), encoded(encoder, corpus, len(both)))


@settings(max_examples=50)
@given(features(), documents(), documents())
def test_frozen_leaves_out_what_is_unknown_and_nothing_else(
    chosen: list[Template | SegmentFeature], docs: list[Document], more: list[Document]
) -> None:
    encoder = Encoder(chosen)
    encoder.encode(docs, grow=True)
    before = encoder.names(range(len(encoder)))
    known = set(before)
    expected = [
        {key: value for key, value in found.items() if key[3] in known}
        for found in defined(chosen, more)
    ]
    parts = [part for f in chosen if isinstance(f, Template) for part in f.parts]
    if dense in dict(parts) and not any(map(len, docs)) and any(map(len, more)):
        return  # how many columns dense arrays have is not known yet
    same(encoded(encoder, encoder.encode(more, grow=False), len(more)), expected)
    assert encoder.names(range(len(encoder))) == before


@settings(max_examples=50)
@given(features(), documents(), documents(), st.data())
def test_some_attributes_come_back_from_a_file(
    chosen: list[Template | SegmentFeature],
    docs: list[Document],
    more: list[Document],
    data: st.DataObject,
) -> None:
    encoder = Encoder(chosen)
    encoder.encode(docs, grow=True)
    kept = [a for a in range(len(encoder)) if data.draw(st.booleans())]
    again = Encoder(chosen)
    again.restore(encoder.state(np.array(kept, np.int32)))
    names = encoder.names(kept)
    assert again.names(range(len(again))) == names
    if any(map(len, docs)):
        expected = [
            {key: value for key, value in found.items() if key[3] in set(names)}
            for found in encoded(encoder, encoder.encode(more, grow=False), len(more))
        ]
        same(encoded(again, again.encode(more, grow=False), len(more)), expected)


def test_names_are_those_that_users_see() -> None:
    docs = [Document(("of", "ACM"), attributes=[["w=of"], {"size": 3}], dense=np.ones((2, 1)))]
    chosen = [attributes[0], attributes[-1], dense[0], first(word[0] & word[1]), token(lower[1])]
    encoder = Encoder([*chosen, Length(at_least=2)])
    encoder.encode(docs, grow=True)
    assert set(encoder.names(range(len(encoder)))) == {
        "w=of",
        "size",
        "attributes[-1]=<s>",
        "attributes[-1]=w=of",
        "dense[0]=x0",
        "first:word[0]&word[1]=of|ACM",
        "first:word[0]&word[1]=ACM|</s>",
        "lower[1]=acm",
        "lower[1]=</s>",
        "length>=2",
    }
    assert encoder.sources.tolist().count(0) == 2
    assert encoder.name(0) in ("w=of", "attributes[-1]=<s>")


def test_a_value_that_is_unseen_is_told_from_the_ends() -> None:
    assert UNSEEN == -3
    encoder = Encoder([word[-1], word[1]])
    encoder.encode([Document(("a",))], grow=True)
    corpus = encoder.encode([Document(("b", "c"))], grow=False)
    assert [sorted(k[3] for k in found) for found in encoded(encoder, corpus, 1)] == [
        ["word[-1]=<s>", "word[1]=</s>"]
    ]


# -- words that are remembered -------------------------------------------------------------------


def test_words_that_were_not_known_can_become_known() -> None:
    encoder = Encoder([word[0]])
    encoder.encode([Document(("a",))], grow=True)
    encoder.encode([Document(("b",))], grow=False)
    corpus = encoder.encode([Document(("b",))], grow=True)
    assert encoded(encoder, corpus, 1) == [{(0, 1, 3, "word[0]=b"): 1.0}]


def test_forgetting_words_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caesura.encoding.encoder.MOST_WORDS", 2)
    encoder = Encoder([word[0], prefix(2)[0]])
    docs = [Document((f"w{k}", f"v{k}")) for k in range(6)]
    corpus = encoder.encode(docs[:1], grow=True)
    for document in docs[1:]:
        encoder.encode([document], True, corpus)
    same(encoded(encoder, corpus, 6), defined([word[0], prefix(2)[0]], docs))
    assert len(encoder._words.words) <= 4


def test_threads_may_encode_at_once() -> None:
    encoder = Encoder([word[0] & word[1], ngrams(2, 3)[0], Length(exact=3)])
    docs = [Document(tuple(f"w{k % 7}" for k in range(i, i + 5))) for i in range(40)]
    encoder.encode(docs[:20], grow=True)
    expected = encoded(encoder, encoder.encode(docs, grow=False), 40)
    found: list[Any] = []

    def work() -> None:
        found.append([encoded(encoder, encoder.encode([d], grow=False), 1)[0] for d in docs])

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


# -- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "fields", "text"),
    [
        (attributes[0], {}, "X[7].attributes: got None, expected a list of attributes"),
        (
            attributes[0],
            {"attributes": [{"a": float("nan")}]},
            "X[7]: attributes[0]['a']: got nan, expected a finite number",
        ),
        (attributes[0], {"attributes": [{"a": 10**400}]}, "expected a finite number"),
        (attributes[0], {"attributes": [{"a": None}]}, "X[7]: attributes[0]['a']: got None"),
        (dense[0], {}, "X[7].dense: got None, expected an array of shape (T, D)"),
        (dense[0], {"dense": np.ones((1, 3))}, "X[7].dense: got 'shape (1, 3)', expected (1, 2)"),
        (column("pos")[0], {}, "X[7]: columns['pos']: got no such column"),
    ],
)
def test_errors_name_the_sequence(feature: Template, fields: dict[str, Any], text: str) -> None:
    fine = Document(("a",), columns={"pos": ["N"]}, attributes=[["a"]], dense=np.ones((1, 2)))
    for grow in (True, False):
        encoder = Encoder([feature])
        encoder.encode([fine], True)
        with pytest.raises(InvalidInput) as error:
            encoder.encode([fine, fine, Document(("a",), **fields)], grow, None, 5)
        assert text in str(error.value)


def test_dense_arrays_keep_their_width_from_batch_to_batch() -> None:
    encoder = Encoder([dense[0]])
    encoder.encode([Document((), dense=np.zeros((0, 7)))], True)
    encoder.encode([Document(("",), dense=np.ones((1, 2)))], True)
    with pytest.raises(InvalidInput, match=r"X\[0\].dense: .* expected \(1, 2\)"):
        encoder.encode([Document(("",), dense=np.ones((1, 3)))], True)


class Wild(SegmentFeature):
    """A feature of segments that fires wherever it was told to."""

    name = "wild"

    def __init__(self, start: int, end: int, value: float = 1.0, flags: int = 0) -> None:
        self.row = start, end, value, flags

    def firings(self, batch: Batch) -> Firings:
        start, end, value, flags = self.row
        ints = [np.array([x], np.int32) for x in (start, end, 0)]
        return Firings(
            ints[0], ints[1], np.array([flags], np.uint8), ["!"], ints[2], np.array([value])
        )


def test_own_features_are_checked() -> None:
    docs = [Document(("a", "b")), Document(("c",))]
    Encoder([Wild(0, 2)]).encode(docs, True)
    wrong = [Wild(1, 3), Wild(0, 4), Wild(-1, 1), Wild(1, 1), Wild(0, 1, np.nan), Wild(0, 1, 1, 4)]
    for feature in wrong:
        with pytest.raises(InvalidInput, match=r"features: .*expected firings inside one document"):
            Encoder([feature]).encode(docs, True)


def test_damaged_states_are_refused() -> None:
    """Everything that the kernels would trust is checked."""
    chosen: list[Any] = [word[0], word[-1] & word[0], Text().fit(*_labelled()), dense[0]]
    encoder = Encoder(chosen)
    encoder.encode([Document(("a", "b"), dense=np.ones((2, 1)))], True)
    state = encoder.state(np.arange(len(encoder), dtype=np.int32))
    Encoder(chosen).restore(state)
    rng = np.random.default_rng(0)
    refused = 0
    for name in state:
        for change in ("cut", "type", "missing", *range(6)):
            damaged = dict(state)
            array = state[name].copy()
            if change == "missing":
                del damaged[name]
            elif change == "cut":
                damaged[name] = array[:-1]
            elif change == "type":
                damaged[name] = array.astype(np.float64)
            elif len(array):
                info = np.iinfo(array.dtype)
                value = [info.min, info.max, max(-3, info.min), 1, 2, 0][change]
                array[rng.integers(len(array))] = value
                damaged[name] = array
            again = Encoder(chosen)
            try:
                again.restore(damaged)
            except (InvalidInput, UnicodeDecodeError):
                refused += 1
            else:  # it may have become another state that is possible
                assert len(set(again.names(range(len(again))))) == len(again)
    assert refused > 40


def _labelled() -> tuple[Batch, list[list[Segment]]]:
    return Batch([Document(("a", "b"))], Words()), [[Segment(0, 1, "x")]]


def test_last_and_first_look_outside() -> None:
    docs = [Document(("a", "b", "c"))]
    chosen = [first(word[-1]), last(word[1])]
    encoder = Encoder(chosen)
    same(encoded(encoder, encoder.encode(docs, True), 1), defined(chosen, docs))


@pytest.mark.parametrize(("scale", "off"), [(1.0, 0), (1000.0, 1), (0.001, 1), (0.0, 0)])
def test_numbers_of_unusual_size_are_warned_of(scale: float, off: int) -> None:
    numbers = np.random.default_rng(0).normal(size=(50, 3))
    numbers[:, 1] *= scale
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Encoder([dense[0]]).encode([Document(("",) * 50, dense=numbers)], True)
    assert len(caught) == off
    assert not off or "of 1 of 3 columns are far from 1, as in column 1" in str(caught[0].message)


def test_a_level_between_two_others_is_found() -> None:
    rng = np.random.default_rng(1)
    levels = {"low": -2.0, "middle": 0.0, "high": 2.0}
    X, y = [], []
    for _ in range(12):
        names = [*levels][:: rng.choice([1, -1])]
        X.append(np.concatenate([rng.normal(levels[n], 0.3, (5, 2)) for n in names]))
        y.append([(5 * k, 5 * k + 5, name) for k, name in enumerate(names)])
    assert caesura.SemiCRF(c2=0.1).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("features", [[attributes[0]], [attributes[0], attributes[-1]]])
def test_lists_of_attributes_need_no_documents(features: list[Any]) -> None:
    X: list[Any] = [[["a", "b"], {"c": 2.0}, []], [["b"], {"d": {"e": 1}}], [{}, ["unknown"]]]
    y = [["X", "Y", "X"], ["Y", "Y"], ["X", "Y"]]
    model = caesura.ChainCRF(features, scheme=None, max_iterations=5).fit(X, y)
    encoder = model._known.encoder
    assert takes_bags(encoder, X)
    corpus, lengths = encode_bags(encoder, X)
    documents = [as_document(x) for x in X]
    expected = encoder.encode(documents, False)
    assert lengths.tolist() == [3, 2, 2]
    parameters = model._known.parameters
    found, other = (
        model._known.scorer.posterior(parameters.compile(one), False, 1, None)
        for one in (corpus, expected)
    )
    assert [one.log_partition for one in found] == [one.log_partition for one in other]
    assert model.predict_tags(X, scheme=None) == model.predict_tags(documents, scheme=None)
    wrong = [*X, [["a"], {"b": None}]]
    messages = []
    for asked in (wrong, [as_document(x) for x in wrong]):
        with pytest.raises(
            InvalidInput, match=r"X\[3\]: attributes\[1\]\['b'\]: got None"
        ) as error:
            model.predict(asked)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert not takes_bags(Encoder([attributes[0], word[0]]), X)
    assert not takes_bags(encoder, documents)


def test_lists_of_attributes_with_a_beam() -> None:
    X, y = [[["a"], ["b"]], [["b"], ["c"]]], [["X", "Y"], ["Y", "X"]]
    options: dict[str, Any] = {"scheme": None, "max_iterations": 3, "learner": "perceptron"}
    model = caesura.ChainCRF([attributes[0]], beam=2, **options).fit(X, y)
    assert not takes_bags(model._known.encoder, X)
    documents = [as_document(x) for x in X]
    assert model.predict_tags(X, scheme=None) == model.predict_tags(documents, scheme=None)
