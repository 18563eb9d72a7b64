"""Data for tutorials: labels exact, the same from the same seed, and as the pages say."""

import random
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caesura import Document, InvalidInput
from caesura.demo import CITIES, PLACES, activity, addresses, chinese, chunks, names
from caesura.demo.addresses import _LISTS as ADDRESS_LISTS
from caesura.demo.chunks import _LISTS as CHUNK_LISTS
from caesura.demo.names import _LISTS as NAME_LISTS
from caesura.demo.templates import Lists, filled, labelled, pieces

Make = Callable[[int, int], list[Document]]
MAKERS: list[Make] = [addresses, names, chunks, chinese, activity]
LABELS = {
    addresses: {"name", "number", "street", "unit", "box", "city", "state", "zip"},
    names: {"PER", "LOC", "ORG"},
    chunks: {"NP", "VP", "PP", "ADJP", "ADVP", "SBAR"},
    chinese: {"w"},
    activity: {"rest", "walk", "run", "jump"},
}


def said(document: Document) -> object:
    """Return all that a document holds, to be compared."""
    dense = None if document.dense is None else document.dense.tolist()
    return document.tokens, document.text, document.segments, dict(document.columns), dense


def texts(document: Document) -> list[tuple[str, str]]:
    """Return the label and the text of each segment."""
    assert document.text is not None
    assert document.offsets is not None
    return [
        (label, document.text[document.offsets[start][0] : document.offsets[end - 1][1]])
        for start, end, label in document.segments or ()
    ]


# -- all of them ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS)
def test_same_seed_same_data(make: Make) -> None:
    first, again, other = ([said(one) for one in make(20, seed)] for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("make", MAKERS)
def test_more_data_begins_with_the_same(make: Make) -> None:
    assert [said(one) for one in make(30, 4)][:10] == [said(one) for one in make(10, 4)]


@pytest.mark.parametrize("make", MAKERS)
def test_all_labels_come_and_no_others(make: Make) -> None:
    found = {s.label for document in make(120, 3) for s in document.segments or ()}
    assert found == LABELS[make]  # type: ignore[index]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("n", "seed", "words"), [(-1, 0, "n: got -1"), (2, "x", "seed: got 'x'")])
def test_wrong_arguments_are_named(make: Make, n: int, seed: int, words: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(words)):
        make(n, seed)


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, caesura; print(*(name for name in sys.modules if 'caesura.demo' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# -- templates -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 10**6), news=st.booleans())
def test_each_bracket_is_a_segment(seed: int, news: bool) -> None:
    """What the template has in brackets is a segment, character for character."""
    lists: Lists = NAME_LISTS if news else ADDRESS_LISTS
    template = filled("{sentence}" if news else "{address}", lists, random.Random(seed))
    bracketed = [(label, text) for label, text in pieces(template) if label is not None]
    assert texts(labelled(template)) == bracketed
    assert labelled(template).text == re.sub(r"\[\w+ ([^\]]*)\]", r"\1", template)


@pytest.mark.parametrize("lists", [ADDRESS_LISTS, NAME_LISTS, CHUNK_LISTS])
def test_every_list_is_used_and_every_slot_has_a_list(lists: Lists) -> None:
    slots = set(re.findall(r"\{(\w+)\}", " ".join(" ".join(entries) for entries in lists.values())))
    assert slots | {"address", "sentence"} >= set(lists)
    assert slots <= set(lists)


# -- each ----------------------------------------------------------------------------------------


def test_cities_and_places_are_those_of_the_lists() -> None:
    cities = {text for one in addresses(400) for label, text in texts(one) if label == "city"}
    places = {text for one in names(400) for label, text in texts(one) if label == "LOC"}
    assert cities <= set(CITIES)
    assert places <= set(PLACES)
    assert len(set(CITIES)) == len(CITIES)
    assert len(set(PLACES)) == len(PLACES)


def test_chunks_have_a_part_of_speech_for_each_word() -> None:
    for document in chunks(200):
        tags = document.columns["pos"]
        assert len(tags) == len(document)
        assert all(re.fullmatch(r"[A-Z$]+|[.,]", tag) for tag in tags), tags
        for start, end, label in document.segments or ():
            if label == "VP":
                assert any(tag[:2] in ("VB", "MD") for tag in tags[start:end])
            if label in ("PP", "SBAR"):
                assert tags[start:end] == ("IN",)


def test_chinese_words_cover_their_sentences() -> None:
    documents = chinese()
    assert len({document.text for document in documents}) == len(documents) == 120
    for document in documents:
        cut = [text for _, text in texts(document)]
        assert "".join(cut) == document.text == "".join(document.tokens)
        assert cut[-1] in "。？"
    with pytest.raises(InvalidInput, match="n: got 121, expected at most 120"):
        chinese(121)


def test_phases_follow_each_other_and_swing_as_they_should() -> None:
    swings: dict[str, list[float]] = {}
    for document in activity(40):
        assert document.dense is not None
        phases = document.segments or ()
        assert len(phases) == 8
        assert sum(phase.length for phase in phases) == len(document)
        assert all(a.label != b.label for a, b in pairwise(phases))
        for start, end, label in phases:
            swings.setdefault(label, []).append(float(document.dense[start:end, 0].std()))
            assert (label == "jump") == (end - start <= 3)
    assert np.median(swings["rest"]) < np.median(swings["walk"]) < np.median(swings["run"])


def test_noise_of_nothing_is_a_level() -> None:
    document = activity(1, noise=0.0)[0]
    assert document.dense is not None
    start, end, _ = next(s for s in document.segments or () if s.label == "rest")
    assert np.ptp(document.dense[start:end], axis=0).max() == 0.0
    with pytest.raises(InvalidInput, match=r"noise: got -1\.0"):
        activity(1, noise=-1.0)
