"""References made here: labels exact, the same from the same seed, held-out data held out."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caesura import Document, InvalidInput
from caesura.demo import (
    HELD_OUT_STYLES,
    LABELS,
    RECORDS,
    STYLES,
    citations,
    render,
    split,
    style,
)
from caesura.demo.citations import _document
from caesura.demo.words import abbreviated, capitalised
from caesura.normalisers import default_normaliser, normaliser

KINDS = {"article", "paper", "chapter", "book", "report", "preprint"}


def texts(document: Document) -> list[tuple[str, str]]:
    """Return the label and the text of each segment."""
    assert document.text is not None
    assert document.offsets is not None
    return [
        (label, document.text[document.offsets[start][0] : document.offsets[end - 1][1]])
        for start, end, label in document.segments or ()
    ]


# -- the records ---------------------------------------------------------------------------------


def test_records_are_many_and_none_comes_twice() -> None:
    assert len(RECORDS) >= 320
    assert len({(record.authors, record.title, record.year) for record in RECORDS}) == len(RECORDS)
    plain = [(re.sub(r"\W+", "", one.title.lower()), one.year, one.kind) for one in RECORDS]
    assert len(set(plain)) == len(plain)


def test_records_are_complete_for_their_kind() -> None:
    assert {record.kind for record in RECORDS} == KINDS
    for record in RECORDS:
        assert record.title, record
        assert record.authors, record
        assert re.fullmatch(r"1[89]\d\d|20[0-2]\d", record.year), record
        assert bool(record.journal) == (record.kind == "article"), record
        assert bool(record.booktitle) == (record.kind in ("paper", "chapter")), record
        assert bool(record.institution) == (record.kind == "report"), record
        assert 0 <= record.month <= 12


def test_pages_rise() -> None:
    for record in RECORDS:
        if re.fullmatch(r"\d+-\d+", record.pages):
            first, last = map(int, record.pages.split("-"))
            assert first < last, record


def test_split_has_each_record_once() -> None:
    parts = split(3)
    assert sorted(parts.train + parts.dev + parts.test) == sorted(RECORDS)
    assert parts != split(4)
    assert parts == split(3)


# -- the references ------------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(
    at=st.integers(0, len(RECORDS) - 1),
    name=st.sampled_from(STYLES),
    seed=st.integers(0, 10**6),
    noise=st.floats(0, 3),
)
def test_labels_are_exact(at: int, name: str, seed: int, noise: float) -> None:
    """Each piece that the writer wrote is one segment, character for character."""
    pieces = render(RECORDS[at], style(name), random.Random(seed), noise)
    assert texts(_document(pieces)) == [(label, text.strip()) for label, text in pieces]
    assert {label for label, _ in pieces} <= set(LABELS.values())


@pytest.mark.parametrize("name", STYLES)
def test_without_noise_the_facts_are_there(name: str) -> None:
    for record in RECORDS[::4]:
        document = citations(1, styles=[name], noise=0.0, of=[record])[0]
        found = dict(reversed(texts(document)))
        title = record.title.replace("'", "’")
        assert title.lower() in found["title"].lower()
        assert record.authors[0].family in found["author"]
        assert record.year in found["date"]
        if record.pages:
            assert record.pages.split("-")[0] in found["pages"]
        if record.volume:
            assert record.volume in found["volume"]


def test_offsets_are_right_and_all_text_is_labelled() -> None:
    for document in citations(200, seed=5):
        assert document.text is not None
        assert document.offsets is not None
        cut = [document.text[start:end] for start, end in document.offsets]
        assert tuple(cut) == document.tokens
        assert sum(segment.length for segment in document.segments or ()) == len(document)


def test_same_seed_same_references() -> None:
    first, again, other = (
        [(one.text, one.segments) for one in citations(60, seed=seed)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_no_record_comes_twice_before_all_have_come() -> None:
    titles = {record.title.lower() for record in RECORDS[:40]}
    written = [dict(texts(one)) for one in citations(40, noise=0.0, of=RECORDS[:40])]
    shown = {field_of(one).lower().replace("’", "'") for one in written}
    assert len(shown) == len(titles)
    assert len(citations(100, of=RECORDS[:40])) == 100


def field_of(fields: dict[str, str]) -> str:
    return fields["title"].strip('“”".,?')


def test_styles_take_turns() -> None:
    chosen = ["plain", "alpha"]
    keyed = [one.tokens[0] == "[" for one in citations(10, styles=chosen, noise=0.0)]
    assert keyed.count(True) == 5


def test_noise_is_noise() -> None:
    clean = citations(300, noise=0.0)
    noisy = citations(300, noise=1.0)
    assert sum(len(one.segments or ()) for one in noisy) < sum(
        len(one.segments or ()) for one in clean
    )
    assert not any(re.search(r"[a-z]- [a-z]", one.text or "") for one in clean)
    assert any(re.search(r"[a-z]- [a-z]", one.text or "") for one in noisy)


def test_some_styles_are_held_out() -> None:
    assert len(HELD_OUT_STYLES) == 3
    assert set(HELD_OUT_STYLES) < set(STYLES)
    assert len(set(STYLES) - set(HELD_OUT_STYLES)) >= 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": -1}, "n: got -1"),
        ({"n": 3, "styles": ["bluebook"]}, "styles: got 'bluebook', expected apa"),
        ({"n": 3, "styles": []}, "styles: got ''"),
        ({"n": 3, "noise": -0.5}, "noise: got -0.5"),
        ({"n": 3, "noise": float("nan")}, "noise: got nan"),
        ({"n": 3, "seed": "x"}, "seed: got 'x'"),
        ({"n": 3, "of": []}, "of: got"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(words)):
        citations(**arguments)  # type: ignore[arg-type]


# -- words ---------------------------------------------------------------------------------------


def test_abbreviations_and_capitals_keep_the_number_of_words() -> None:
    for record in RECORDS:
        assert len(capitalised(record.title).split()) == len(record.title.split())
        assert capitalised(capitalised(record.title)) == capitalised(record.title)
        if record.journal:
            assert len(abbreviated(record.journal)) <= len(record.journal)


def test_normalised_fields_are_in_the_text() -> None:
    for document in citations(100, seed=9):
        for segment in document.segments or ():
            value = normaliser(default_normaliser(segment.label))(document.text_of(segment))
            assert value
            if segment.label not in ("date", "pages"):  # whose form is changed
                assert value in (document.text or "")
