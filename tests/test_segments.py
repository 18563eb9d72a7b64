"""Segments, segmentations and tag schemes: requirements X1, S27, Z1, Z3 and W1."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE1, IOE2, Tokens
from seqeval_gaps import missed_by_seqeval

from caesura.errors import CaesuraError, Impossible, InvalidInput, TooLarge, message
from caesura.segments import (
    TAG_SCHEMES,
    Segment,
    drop_outside,
    fill_gaps,
    from_tags,
    segmentation,
    to_tags,
)

LETTERED = [scheme for scheme in TAG_SCHEMES if scheme != "plain"]
MARKED = [scheme for scheme in LETTERED if scheme != "IO"]  # tells adjacent segments apart
LABELS = {
    "typed": st.sampled_from(["PER", "LOC"]),
    "untyped": st.just(""),
    "hyphenated": st.sampled_from(["B-B", "-", "I-", "B-cell-line", "a-b"]),
    "any text": st.text("-BIOESMCLUA é", max_size=3).filter(lambda label: label != "O"),
}


def split(text: str) -> list[str]:
    """Return tags or words that are written with spaces between them."""
    return text.split()


@st.composite
def spans(
    draw: st.DrawFn, labels: st.SearchStrategy[str], gaps: bool = True
) -> tuple[list[Segment], int]:
    """Draw segments in order, and the number of tokens."""
    segments: list[Segment] = []
    reached = 0
    for _ in range(draw(st.integers(0, 6))):
        start = reached + (draw(st.integers(0, 2)) if gaps else 0)
        reached = start + draw(st.integers(1, 4))
        segments.append(Segment(start, reached, draw(labels)))
    return segments, reached + (draw(st.integers(0, 2)) if gaps else 0)


def touching_labels_differ(segments: list[Segment]) -> list[Segment]:
    """Leave out each segment that touches one before it with the same label."""
    kept: list[Segment] = []
    for segment in segments:
        if not kept or kept[-1].end < segment.start or kept[-1].label != segment.label:
            kept.append(segment)
    return kept


def segmentations(length: int, labels: str, longest: int | None = None) -> Iterator[list[Segment]]:
    """Enumerate every segmentation without gaps."""
    if length == 0:
        yield []
    for k in range(1, min(length, longest or length) + 1):
        for before in segmentations(length - k, labels, longest):
            for label in labels:
                yield [*before, Segment(length - k, length, label)]


# ---- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [InvalidInput, Impossible, TooLarge])
def test_errors_are_both_ours_and_value_errors(error: type[Exception]) -> None:
    assert issubclass(error, CaesuraError)
    assert issubclass(error, ValueError)


def test_message_names_everything_and_shortens_what_came() -> None:
    text = message("tags", "x" * 10_000, "a list", "pass a list")
    assert re.fullmatch(r"tags: got 'x+\.\.\.x+', expected a list; pass a list", text)
    assert len(text) < 200


# ---- the strict constructor (X1) --------------------------------------------------------------


def test_numbers_may_be_numpy_numbers() -> None:
    zero, two, three, four = np.array([0, 2, 3, 4])
    segments = [(zero, two, "X"), (two, three, "Y")]
    for result in (segmentation(segments, three), fill_gaps(segments, three)):
        assert result == [Segment(0, 2, "X"), Segment(2, 3, "Y")]
        assert all(type(s.start) is int and type(s.end) is int for s in result)
    assert to_tags(segments, "BIO", four) == split("B-X I-X B-Y O")


def test_empty_sequence_has_the_empty_segmentation() -> None:
    assert segmentation([], 0) == []
    assert fill_gaps([], 0) == []
    assert from_tags([], "BIO") == []
    assert to_tags([], "BIO") == []
    with pytest.raises(InvalidInput, match="cover 0 to 2"):
        segmentation([], 2)


GAPS = [
    ([(1, 4, "X")], r"segments\[0\]: got tokens 0 to 1 in no segment"),
    ([(0, 1, "X"), (2, 4, "X")], r"segments\[1\]: got tokens 1 to 2 in no segment"),
    ([(0, 1, "X"), (1, 3, "X")], r"segments: got tokens 3 to 4 in no segment"),
]


@pytest.mark.parametrize(("segments", "text"), GAPS)
def test_gaps_are_rejected_by_the_strict_constructor_alone(
    segments: list[tuple[int, int, str]], text: str
) -> None:
    with pytest.raises(InvalidInput, match=text + ".*expected.*cover 0 to 4; use fill_gaps"):
        segmentation(segments, 4)
    assert drop_outside(fill_gaps(segments, 4)) == segments
    assert from_tags(to_tags(segments, "BIO", 4), "BIO") == segments


WRONG = {
    "empty": ([(0, 1, "X"), (1, 1, "Y")], r"\[1\]: got \(1, 1, 'Y'\), .*not empty.*\(1, 2, label"),
    "backwards": ([(0, 1, "X"), (3, 1, "Y")], r"\[1\]: got \(3, 1, 'Y'\), .*start < end"),
    "overlap": ([(0, 3, "X"), (2, 4, "Y")], r"\[1\]: got \(2, 4, 'Y'\), .*start >= 3.*overlap"),
    "repeated": ([(0, 3, "X"), (0, 3, "X")], r"\[1\]: got \(0, 3, 'X'\), .*overlap"),
    "nested": ([(0, 4, "X"), (1, 2, "Y")], r"\[1\]: got \(1, 2, 'Y'\), .*overlap"),
    "order": ([(2, 4, "X"), (0, 2, "Y")], r"\[1\]: got \(0, 2, 'Y'\), .*start >= 4.*sort"),
    "before the first token": ([(-1, 4, "X")], r"\[0\]: got \(-1, 4, 'X'\), .*start >= 0"),
    "after the last token": ([(0, 5, "X")], r"\[0\]: got \(0, 5, 'X'\), .*length, which is 4"),
    "pair": ([(0, 4)], r"\[0\]: got \(0, 4\), expected \(start, end, label\)"),
    "number": ([4], r"\[0\]: got 4, expected \(start, end, label\)"),
    "float": ([(0, 4.0, "X")], r"\[0\]: got \(0, 4.0, 'X'\), .*whole numbers"),
    "label": ([(0, 4, None)], r"\[0\]: got \(0, 4, None\), .*a string"),
}


DOORS: dict[str, Callable[..., object]] = {
    "segmentation": segmentation,
    "fill_gaps": fill_gaps,
    "to_tags": lambda segments, length: to_tags(segments, "BIO", length),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("door", DOORS)
def test_wrong_segments_are_rejected_at_every_door(kind: str, door: str) -> None:
    segments, text = WRONG[kind]
    with pytest.raises(InvalidInput, match=r"^segments" + text):
        DOORS[door](segments, 4)


@pytest.mark.parametrize("length", [-1, 2.0, None, "2"])
def test_length_is_a_number_of_tokens(length: int) -> None:
    text = re.escape(f"length: got {length!r}, expected a whole number, 0 or more")
    with pytest.raises(InvalidInput, match=text):
        segmentation([(0, 2, "X")], length)
    with pytest.raises(InvalidInput, match=text):
        fill_gaps([(0, 2, "X")], length)


@settings(deadline=None)
@given(spans(LABELS["typed"], gaps=False))
def test_strict_constructor_keeps_what_is_right(drawn: tuple[list[Segment], int]) -> None:
    assert segmentation(*drawn) == drawn[0]


def test_strict_constructor_accepts_exactly_the_segmentations() -> None:
    every = [Segment(s, e, "X") for s in range(-1, 4) for e in range(-1, 5)]
    lists = [list(some) for k in range(4) for some in itertools.product(every, repeat=k)]
    accepted = []
    for segments in lists:
        try:
            accepted.append(segmentation(segments, 3))
        except InvalidInput:
            continue
    assert sorted(accepted) == sorted(segmentations(3, "X"))


# ---- the lenient constructor ------------------------------------------------------------------


@settings(deadline=None)
@given(spans(st.sampled_from(["PER", "O"])), st.sampled_from([1, None]))
def test_fill_gaps_and_drop_outside(
    drawn: tuple[list[Segment], int], outside_length: int | None
) -> None:
    segments, length = drawn
    filled = fill_gaps(segments, length, outside_length=outside_length)
    assert segmentation(filled, length) == filled
    assert drop_outside(filled) == drop_outside(segments)
    assert fill_gaps(filled, length, outside_length=outside_length) == filled
    if outside_length == 1:
        assert all(s.length == 1 for s in filled if s.label == "O")
    else:
        assert all(a.label != "O" or b.label != "O" for a, b in itertools.pairwise(filled))


def test_fill_gaps_takes_another_outside_label() -> None:
    filled = fill_gaps([(1, 2, "O")], 3, outside="other")
    assert filled == [(0, 1, "other"), (1, 2, "O"), (2, 3, "other")]
    assert drop_outside(filled, outside="other") == [(1, 2, "O")]


@pytest.mark.parametrize("outside_length", [0, 2, -1])
def test_fill_gaps_rejects_other_lengths(outside_length: int) -> None:
    with pytest.raises(InvalidInput, match=f"outside_length: got {outside_length}, expected 1 .*"):
        fill_gaps([], 3, outside_length=outside_length)


# ---- round trips (Z3) -------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", MARKED)
@pytest.mark.parametrize("labels", LABELS)
@settings(deadline=None)
@given(data=st.data())
def test_round_trip(scheme: str, labels: str, data: st.DataObject) -> None:
    segments, length = data.draw(spans(LABELS[labels]))
    tags = to_tags(segments, scheme, length)
    assert len(tags) == length
    assert from_tags(tags, scheme) == segments
    assert from_tags(tags, scheme, repair="repair") == segments
    assert from_tags(tags, scheme, repair="drop") == segments


@pytest.mark.parametrize("scheme", ["plain", "IO"])
@pytest.mark.parametrize("labels", LABELS)
@settings(deadline=None)
@given(data=st.data())
def test_round_trip_without_boundaries(scheme: str, labels: str, data: st.DataObject) -> None:
    drawn, length = data.draw(spans(LABELS[labels]))
    segments = touching_labels_differ(drawn)
    for repair in ("error", "repair", "drop"):
        tags = to_tags(segments, scheme, length)
        assert from_tags(tags, scheme, repair=repair) == segments
    if segments != drawn:
        with pytest.raises(InvalidInput, match=f"{scheme} scheme would lose the boundary"):
            to_tags(drawn, scheme, length)


@pytest.mark.parametrize("scheme", MARKED)
@settings(deadline=None)
@given(drawn=spans(st.sampled_from(["word", "", "name"])))
def test_round_trip_untyped_label(scheme: str, drawn: tuple[list[Segment], int]) -> None:
    segments, length = drawn
    tags = to_tags(segments, scheme, length, untyped="word")
    assert from_tags(tags, scheme, untyped="word") == segments
    bare = {t for s in segments if s.label == "word" for t in range(s.start, s.end)}
    assert all("-" not in tags[t] for t in bare)


@pytest.mark.parametrize("scheme", TAG_SCHEMES)
@settings(deadline=None)
@given(drawn=spans(st.sampled_from(["PER", "other", "O"])))
def test_outside_segments_are_written_as_gaps(
    scheme: str, drawn: tuple[list[Segment], int]
) -> None:
    segments, length = touching_labels_differ(drawn[0]), drawn[1]
    kept = drop_outside(segments, "other")
    tags = to_tags(segments, scheme, length, "other")
    assert tags == to_tags(kept, scheme, length, "other")
    assert from_tags(tags, scheme, "other") == kept


@pytest.mark.parametrize("scheme", LETTERED)
@settings(deadline=None)
@given(data=st.data())
def test_well_formed_tags_are_exactly_those_written(scheme: str, data: st.DataObject) -> None:
    every = [(0, 3, ""), (4, 6, ""), *([(6, 9, "")] if scheme != "IO" else [])]
    letters = sorted(set("".join(to_tags(every, scheme))) - {"O"})
    tag = st.sampled_from(["O", *(f"{a}-{b}" for a in letters for b in "XY"), *letters])
    tags = data.draw(st.lists(tag, max_size=6))
    segments = from_tags(tags, scheme, repair="repair")
    written = to_tags(segments, scheme, len(tags))
    if written == tags:
        assert from_tags(tags, scheme) == from_tags(tags, scheme, repair="drop") == segments
    else:
        wrong = next(t for t, tag in enumerate(tags) if tag != written[t])
        with pytest.raises(InvalidInput, match=rf"^tags\[{wrong}\]: got '{tags[wrong]}', expected"):
            from_tags(tags, scheme)


# ---- one example in each scheme ---------------------------------------------------------------

NAMES = [Segment(0, 1, "LOC"), Segment(1, 4, "LOC"), Segment(5, 7, "PER")]
WRITTEN = {
    "BIO": "B-LOC B-LOC I-LOC I-LOC O B-PER I-PER",
    "IOB1": "I-LOC B-LOC I-LOC I-LOC O I-PER I-PER",
    "BIOES": "S-LOC B-LOC I-LOC E-LOC O B-PER E-PER",
    "BILOU": "U-LOC B-LOC I-LOC L-LOC O B-PER L-PER",
    "BMES": "S-LOC B-LOC M-LOC E-LOC O B-PER E-PER",
    "BCEU": "U-LOC B-LOC C-LOC E-LOC O B-PER E-PER",
    "SA": "S-LOC S-LOC A-LOC A-LOC O S-PER A-PER",
    "IOE1": "E-LOC I-LOC I-LOC I-LOC O I-PER I-PER",
    "IOE2": "E-LOC I-LOC I-LOC E-LOC O I-PER E-PER",
}
ALIASES = {
    "BIO": ["bio", "IOB2", "iob2", "BIO2"],
    "IOB1": ["iob1"],
    "BIOES": ["bioes", "IOBES", "BIES"],
    "BILOU": ["bilou", "BILUO"],
    "BMES": ["bmes", "BMESO"],
    "BCEU": ["bceu", "BCEUO"],
    "SA": ["sa", "S/A", "s/a"],
    "IOE1": ["ioe1"],
    "IOE2": ["ioe2"],
}


@pytest.mark.parametrize("scheme", MARKED)
def test_each_scheme_by_hand(scheme: str) -> None:
    tags = WRITTEN[scheme].split()
    for name in [scheme, *ALIASES[scheme]]:
        assert to_tags(NAMES, name) == tags
        assert from_tags(tags, name) == NAMES


def test_plain_by_hand() -> None:
    assert to_tags(NAMES[1:], "Plain", 8) == split("O LOC LOC LOC O PER PER O")
    assert from_tags(split("O LOC LOC LOC O PER PER O"), "PLAIN") == NAMES[1:]
    text = r"segments\[1\]: got \(1, 4, 'LOC'\), expected a label other than that of segments\[0\]"
    with pytest.raises(InvalidInput, match=text + ".*would lose the boundary: use BIO"):
        to_tags(NAMES, "plain")
    assert to_tags([(0, 1, "O"), (1, 2, "O")], "plain") == ["O", "O"]


def test_io_by_hand() -> None:
    assert to_tags(NAMES[1:], "io", 8) == split("O I-LOC I-LOC I-LOC O I-PER I-PER O")
    assert from_tags(split("O I-LOC I-LOC I-LOC O I-PER I-PER O"), "IO") == NAMES[1:]
    with pytest.raises(InvalidInput, match="the IO scheme would lose the boundary: use BIO"):
        to_tags(NAMES, "IO")


def test_page_shows_what_the_code_writes() -> None:
    page = Path(__file__).parent.parent / "docs" / "tag-schemes.md"
    rows = [line.strip("|").split("|") for line in page.read_text("utf-8").splitlines()]
    shown = {row[0].split()[0]: row[2].split() for row in rows if len(row) == 3 and row[0].strip()}
    assert {scheme: shown[scheme] for scheme in MARKED} == {
        scheme: tags.split() for scheme, tags in WRITTEN.items()
    }


def test_unknown_scheme_names_all() -> None:
    text = (
        r"scheme: got 'IOB', expected plain, BIO \(IOB2, BIO2\), IOB1, .*SA \(S/A\), IO, IOE1, IOE2"
    )
    with pytest.raises(InvalidInput, match=text):
        from_tags([], "IOB")
    with pytest.raises(InvalidInput, match="scheme: got None"):
        to_tags([], None)  # type: ignore[arg-type]


# ---- the three sentences of the slides (Z1), and segment/attach (Z3) --------------------------


def test_word_segmentation_sentence() -> None:
    text, tags = "那几年,南京市里面和米很贵", split("S S S S B M E S S S S S S")
    words = from_tags(tags, "BMES", untyped="word")
    cut = split("那 几 年 , 南京市 里 面 和 米 很 贵")
    assert [text[word.start : word.end] for word in words] == cut
    assert {word.label for word in words} == {"word"}
    assert to_tags(segmentation(words, len(text)), "BMES", untyped="word") == tags
    assert from_tags("".join(tags), "BMES") == [word._replace(label="") for word in words]


SENTENCE = split("Mary went to Chicago to meet her boyfriend John Smith .")


def test_chunking_sentence() -> None:
    tags = split("B-NP B-VP B-PP B-NP B-PP B-VP B-NP I-NP I-NP I-NP")
    chunks = from_tags(tags, "BIO")
    assert [(" ".join(SENTENCE[s:e]), label) for s, e, label in chunks] == [
        ("Mary", "NP"),
        ("went", "VP"),
        ("to", "PP"),
        ("Chicago", "NP"),
        ("to", "PP"),
        ("meet", "VP"),
        ("her boyfriend John Smith", "NP"),
    ]
    assert to_tags(segmentation(chunks, 10), "BIO") == tags
    assert to_tags(chunks, "BIO", len(SENTENCE)) == [*tags, "O"]


def test_entity_sentence() -> None:
    tags = split("B-PER O O B-LOC O O O O B-PER I-PER")
    names = from_tags(tags, "BIO")
    assert [(" ".join(SENTENCE[s:e]), label) for s, e, label in names] == [
        ("Mary", "PER"),
        ("Chicago", "LOC"),
        ("John Smith", "PER"),
    ]
    assert to_tags(names, "BIO") == tags
    assert to_tags(fill_gaps(names, len(SENTENCE)), "BIO") == [*tags, "O"]


def test_segment_attach() -> None:
    segments = from_tags(split("S A A S A S"), "S/A")
    assert segments == [(0, 3, ""), (3, 5, ""), (5, 6, "")]
    assert to_tags(segments, "S/A") == split("S A A S A S")


# ---- ill-formed tags --------------------------------------------------------------------------

ILL_FORMED = [
    # scheme, tags, segments after repair, the first wrong tag, what it should have been
    ("BIO", "O I-X I-X", [(1, 3, "X")], 1, "B-X"),
    ("BIO", "B-X I-Y", [(0, 1, "X"), (1, 2, "Y")], 1, "B-Y"),
    ("BIO", "I-X", [(0, 1, "X")], 0, "B-X"),
    ("BIO", "B-X I", [(0, 1, "X"), (1, 2, "")], 1, "B"),
    ("BIO", "B-X B-O", [(0, 1, "X")], 1, "O"),
    ("BIO", "B-", [(0, 1, "")], 0, "B"),
    ("IOB1", "B-X I-X", [(0, 2, "X")], 0, "I-X"),
    ("IOB1", "I-X B-Y", [(0, 1, "X"), (1, 2, "Y")], 1, "I-Y"),
    ("BIOES", "B-X O", [(0, 1, "X")], 0, "S-X"),
    ("BIOES", "B-X I-X O", [(0, 2, "X")], 1, "E-X"),
    ("BIOES", "E-X", [(0, 1, "X")], 0, "S-X"),
    ("BIOES", "I-X E-X", [(0, 2, "X")], 0, "B-X"),
    ("BIOES", "S-X E-X", [(0, 1, "X"), (1, 2, "X")], 1, "S-X"),
    ("BIOES", "B-X E-X E-X", [(0, 2, "X"), (2, 3, "X")], 2, "S-X"),
    ("BIOES", "B-X E-Y", [(0, 1, "X"), (1, 2, "Y")], 0, "S-X"),
    ("BIOES", "B-X B-X E-X", [(0, 1, "X"), (1, 3, "X")], 0, "S-X"),
    ("BILOU", "B-X I-X U-X", [(0, 2, "X"), (2, 3, "X")], 1, "L-X"),
    ("BILOU", "L-X", [(0, 1, "X")], 0, "U-X"),
    ("BMES", "B M S E", [(0, 2, ""), (2, 3, ""), (3, 4, "")], 1, "E"),
    ("BCEU", "C-X C-X", [(0, 2, "X")], 0, "B-X"),
    ("BCEU", "U-X C-X E-X", [(0, 1, "X"), (1, 3, "X")], 1, "B-X"),
    ("SA", "A A S", [(0, 2, ""), (2, 3, "")], 0, "S"),
    ("SA", "S-X A-Y", [(0, 1, "X"), (1, 2, "Y")], 1, "S-Y"),
    ("IOE1", "I-X E-X O", [(0, 2, "X")], 1, "I-X"),
    ("IOE1", "E-X I-Y", [(0, 1, "X"), (1, 2, "Y")], 0, "I-X"),
    ("IOE2", "I-X I-X O", [(0, 2, "X")], 1, "E-X"),
    ("IOE2", "I-X E-Y", [(0, 1, "X"), (1, 2, "Y")], 0, "E-X"),
]


@pytest.mark.parametrize(("scheme", "tags", "repaired", "wrong", "right"), ILL_FORMED)
def test_ill_formed_tags_by_hand(
    scheme: str, tags: str, repaired: list[tuple[int, int, str]], wrong: int, right: str
) -> None:
    sequence = tags.split()
    assert from_tags(sequence, scheme, repair="repair") == repaired
    text = rf"^tags\[{wrong}\]: got '{sequence[wrong]}', expected '{right}', as {scheme} writes "
    with pytest.raises(InvalidInput, match=text + ".*pass repair='repair'"):
        from_tags(sequence, scheme)


@pytest.mark.parametrize("repair", ["error", "repair", "drop"])
@pytest.mark.parametrize(
    ("scheme", "tag", "letters"),
    [
        ("BIO", "E-X", "B, I"),
        ("BIO", "b-X", "B, I"),
        ("BIO", "PER", "B, I"),
        ("BIO", "", "B, I"),
        ("BIO", "O-X", "B, I"),
        ("BIO", "BI-X", "B, I"),
        ("BIOES", "M-X", "B, I, E, S"),
        ("BILOU", "S-X", "B, I, L, U"),
        ("BMES", "I", "B, M, E, S"),
        ("BCEU", "S-X", "B, C, E, U"),
        ("SA", "B", "S, A"),
        ("IO", "B-X", "I"),
        ("IOE1", "B-X", "I, E"),
        ("IOE2", "S-X", "I, E"),
    ],
)
def test_unknown_letters_are_always_errors(
    scheme: str, tag: str, letters: str, repair: str
) -> None:
    text = rf"^tags\[1\]: got '{tag}', expected O, or {letters} with.*in scheme {scheme}; correct"
    with pytest.raises(InvalidInput, match=text):
        from_tags(["O", tag], scheme, repair=repair)  # type: ignore[arg-type]


def test_wrong_arguments_of_from_tags() -> None:
    with pytest.raises(
        InvalidInput, match="repair: got True, expected 'error', 'repair' or 'drop'"
    ):
        from_tags(["O"], "BIO", repair=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"tags\[1\]: got 3, expected a string"):
        from_tags(["O", 3], "BIO")  # type: ignore[list-item]


def conlleval(tags: list[str]) -> list[tuple[int, int, str]]:
    """Read chunks as conlleval does, and seqeval in its default mode, from their published rules.

    They ask two questions at each token: does the chunk before end here, does one start here.
    """
    chunks = []
    start, before, before_type = 0, "O", ""
    for t, tag in enumerate([*tags, "O"]):
        letter, _, label = tag.partition("-")
        changed = before_type != label
        ends = before in "ES" or letter in "BSO" or changed
        starts = letter in "BS" or (letter in "EI" and (before in "ESO" or changed))
        if before != "O" and ends:
            chunks.append((start, t, before_type))
        if starts:
            start = t
        before, before_type = letter, label
    return chunks


@pytest.mark.parametrize(
    ("scheme", "letters"),
    [
        *[("BIO", "BI"), ("IOB1", "BI"), ("BIOES", "BIES")],
        *[("IO", "I"), ("IOE1", "IE"), ("IOE2", "IE")],
    ],
)
def test_repair_is_the_rule_of_conlleval(scheme: str, letters: str) -> None:
    alphabet = ["O", *(f"{letter}-{label}" for letter in letters for label in "XY")]
    for n in range(5 if letters == "BIES" else 6):
        for tags in itertools.product(alphabet, repeat=n):
            assert from_tags(tags, scheme, repair="repair") == conlleval(list(tags))


@pytest.mark.parametrize(
    ("scheme", "letters"), [("BILOU", "BILU"), ("BMES", "BMES"), ("BCEU", "BCEU")]
)
def test_four_letter_schemes_are_one_but_for_the_letters(scheme: str, letters: str) -> None:
    alphabet = ["O", *(f"{letter}-{label}" for letter in "BIES" for label in "XY")]
    rename = dict(zip("BIESO", letters + "O", strict=True))
    for tags in itertools.product(alphabet, repeat=4):
        renamed = [rename[tag[0]] + tag[1:] for tag in tags]
        repaired = from_tags(tags, "BIOES", repair="repair")
        assert from_tags(renamed, scheme, repair="repair") == repaired


# ---- dropping what is ill formed, as seqeval's strict mode does --------------------------------

SEQEVAL = {
    "BIO": (IOB2, "BI"),
    "IOB1": (IOB1, "BI"),
    "IOE1": (IOE1, "IE"),
    "IOE2": (IOE2, "IE"),
    "BIOES": (IOBES, "BIES"),
    "BILOU": (BILOU, "BILU"),
}


def strict(tags: list[str], scheme: Any) -> list[tuple[int, int, str]]:
    """Return the entities that seqeval finds in its strict mode."""
    return [(one.start, one.end, one.tag) for one in Tokens(tags, scheme).entities]


@pytest.mark.parametrize("scheme", SEQEVAL)
def test_drop_is_the_strict_mode_of_seqeval(scheme: str) -> None:
    """All tags of up to 5 tokens; where seqeval lacks a pattern, it differs, and only there."""
    theirs, letters = SEQEVAL[scheme]
    alphabet = ["O", *(f"{letter}-{label}" for letter in letters for label in "XY")]
    for n in range(5 if len(letters) > 2 else 6):
        for tags in itertools.product(alphabet, repeat=n):
            if not missed_by_seqeval(tags, scheme):
                assert from_tags(tags, scheme, repair="drop") == strict([*tags], theirs), tags


@pytest.mark.parametrize(
    ("scheme", "tags", "ours", "theirs"),
    [
        ("IOB1", "I-X B-X B-Y", [(0, 1, "X"), (1, 2, "X")], [(0, 1, "X")]),
        ("IOE1", "E-X I-X", [(0, 1, "X"), (1, 2, "X")], [(1, 2, "X")]),
    ],
)
def test_where_seqeval_reads_less(scheme: str, tags: str, ours: Any, theirs: Any) -> None:
    """E-X I-X is well formed: IOE1 writes two segments so."""
    assert from_tags(split(tags), scheme, repair="drop") == ours
    assert strict(split(tags), SEQEVAL[scheme][0]) == theirs
    assert missed_by_seqeval(split(tags), scheme)


@pytest.mark.parametrize(
    ("scheme", "tags", "kept"),
    [
        ("BIO", "O I-X I-X B-Y I-X", [(3, 4, "Y")]),
        ("IOB1", "O B-X I-X", [(2, 3, "X")]),
        ("IOE1", "I-X E-X O I-Y", [(3, 4, "Y")]),
        ("IOE2", "I-X I-X O I-Y E-Y", [(3, 5, "Y")]),
        ("BIOES", "B-X I-X O S-Y E-X", [(3, 4, "Y")]),
        ("BMES", "B M S E", [(2, 3, "")]),
        ("BCEU", "C-X E-X B-X E-X", [(2, 4, "X")]),
        ("SA", "A A S A", [(2, 4, "")]),
    ],
)
def test_dropped_by_hand(scheme: str, tags: str, kept: list[tuple[int, int, str]]) -> None:
    assert from_tags(split(tags), scheme, repair="drop") == kept


# ---- BCEU sequences and segmentations are in bijection (S27, W1) ------------------------------

WELL_FORMED = re.compile(r"(U-X|U-Y|B-X(C-X)*E-X|B-Y(C-Y)*E-Y|O)*")
BCEU_TAGS = [f"{letter}-{label}" for letter in "BCEU" for label in "XY"]


def longest_run(tags: tuple[str, ...]) -> int:
    """Return the most tokens from a B to its E, or 1."""
    letters = "".join(tag[0] for tag in tags)
    return max((len(run) for run in re.findall("BC*E", letters)), default=1)


@pytest.mark.parametrize("n", range(6))
@pytest.mark.parametrize("longest", [1, 2, 3, None])
def test_bceu_is_in_bijection_with_segmentations(n: int, longest: int | None) -> None:
    every = list(segmentations(n, "XY", longest))
    written = [tuple(to_tags(segments, "BCEU")) for segments in every]
    assert [from_tags(tags, "BCEU") for tags in written] == every
    well_formed = {
        tags
        for tags in itertools.product(BCEU_TAGS, repeat=n)
        if WELL_FORMED.fullmatch("".join(tags)) and longest_run(tags) <= (longest or n or 1)
    }
    assert len(set(written)) == len(written)
    assert set(written) == well_formed
    if longest is None and n > 0:
        assert len(written) == 2 * 3 ** (n - 1)


@pytest.mark.parametrize("n", range(5))
def test_bceu_with_outside_is_well_formed_exactly_when_accepted(n: int) -> None:
    accepted = set()
    for tags in itertools.product(["O", *BCEU_TAGS], repeat=n):
        try:
            segments = from_tags(tags, "BCEU")
        except InvalidInput:
            assert not WELL_FORMED.fullmatch("".join(tags))
        else:
            assert WELL_FORMED.fullmatch("".join(tags))
            accepted.add(tuple(segments))
    with_gaps = {tuple(drop_outside(fill_gaps(s, n))) for s in segmentations(n, "XYO")}
    assert accepted == with_gaps
