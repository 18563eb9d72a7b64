"""Tables, XML, stand-off and text: looks, round trips, and errors with their place."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caesura.corpora import (
    read,
    read_brat,
    read_csv,
    read_text,
    read_xml,
    write,
    write_brat,
    write_csv,
    write_text,
    write_xml,
)
from caesura.documents import Document, Tokeniser, as_document
from caesura.errors import InvalidInput
from caesura.segments import Segment


@pytest.fixture(scope="module", autouse=True)
def _without_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


# What each format cannot hold in a text.
ODD = "ab ,.'\"|@0:\\<&>\t\u3000é\u0301\u2028\ufeff北😀"
ALPHABETS = {
    "jsonl": ODD + "\n\r\x00\x85",
    "csv": ODD + "\n\r\x00\x85",
    "xml": ODD + "\n\r\x85",
    "brat": ODD + "\n\r\x00\x85",
    "text": ODD + "\x00\x85",
    "conll": ODD + "\n\r\x00\x85",
}
LABELS = ["A", "B-C", "segment", "two words", "é<&\"'", "xmlish", "@0:1", "a|b", "a | b"]


def put(folder: Path, content: str, name: str) -> Path:
    path = folder / name
    path.write_text(content, "utf-8", newline="\n")
    return path


def refused(text: str) -> Any:
    """Expect an error that begins with this text."""
    return pytest.raises(InvalidInput, match="^" + re.escape(text))


def content(document: Document) -> tuple[Any, ...]:
    return document.tokens, document.text, document.offsets, document.segments


@st.composite
def labelled(draw: st.DrawFn, alphabet: str, labels: list[str], tokeniser: Tokeniser) -> Document:
    """Draw a text cut into tokens, with segments."""
    text = draw(st.text(alphabet, max_size=24))
    bare = Document.from_text(text, tokeniser)
    cuts = sorted(draw(st.sets(st.integers(0, len(bare)))))
    drawn = [(s, e, draw(st.sampled_from([*labels, None]))) for s, e in itertools.pairwise(cuts)]
    segments: Any = [segment for segment in drawn if segment[2] is not None]
    return Document(bare.tokens, text, bare.offsets, segments=segments)


TOKENISERS: list[str | dict[str, str]] = [
    "words",
    "characters",
    "whitespace",
    {"regex": r"(?s).{1,3}"},
    {"regex": r"[a-z ]+"},
]


@pytest.mark.parametrize("format", ["jsonl", "csv", "xml", "brat"])
@settings(max_examples=50)
@given(data=st.data())
def test_round_trip(
    format: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Text, offsets and segments come back, and writing them again gives the same bytes."""
    tokeniser = Tokeniser.of(data.draw(st.sampled_from(TOKENISERS)))
    labels = [name for name in LABELS if format != "brat" or " " not in name]
    documents = labelled(ALPHABETS[format], labels, tokeniser)
    drawn = data.draw(st.lists(documents, max_size=3))
    folder = tmp_path_factory.mktemp("round")
    path, again = folder / "a", folder / "b"
    options = {"form": "text"} if format == "jsonl" else {}
    assert write(path, drawn, format, **options) == len(drawn)
    corpus = read(path, format, tokeniser=tokeniser)
    found = list(corpus)
    kept = [d for d in drawn if d.segments] if format == "csv" else drawn
    if kept or format != "csv":  # a table without labels says nothing about segments
        assert [content(d) for d in found] == [content(d) for d in drawn]
    assert [d.text for d in found] == [d.text for d in drawn]
    assert corpus.notes.cut_spans == corpus.notes.n_skipped == 0
    write(again, found, format, **options)
    if path.is_file():
        assert path.read_bytes() == again.read_bytes()


@settings(max_examples=60)
@given(data=st.data())
def test_round_trip_of_columns_with_odd_characters(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tokeniser = Tokeniser.of(data.draw(st.sampled_from(TOKENISERS[:3])))
    documents = labelled(ALPHABETS["conll"], ["A", "B-C", "é<&|"], tokeniser).filter(len)
    drawn = data.draw(st.lists(documents, max_size=3))
    path = tmp_path_factory.mktemp("round") / "a.conll"
    scheme = data.draw(st.sampled_from(["BIO", "BIOES", "IOB1"]))
    write(path, drawn, scheme=scheme)
    assert [content(d) for d in read(path, scheme=scheme)] == [content(d) for d in drawn]


@given(texts=st.lists(st.text(ALPHABETS["text"], max_size=20), max_size=4))
def test_round_trip_of_text(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("round") / "a.txt"
    drawn = [Document.from_text(text) for text in texts]
    assert write_text(path, drawn) == len(drawn)
    assert [content(d) for d in read_text(path)] == [content(d) for d in drawn]


def test_unlabelled_documents_stay_so(tmp_path: Path) -> None:
    both = [Document.from_text("Ann sings"), Document(("a",), "a", ((0, 1),), segments=())]
    for format in ("xml", "brat", "jsonl"):
        path = tmp_path / format
        write(path, both, format)
        assert [document.segments for document in read(path, format)] == [None, ()]
    write_csv(tmp_path / "a.csv", both[:1])
    assert [document.segments for document in read(tmp_path / "a.csv")] == [None]


@pytest.mark.parametrize("format", ["csv", "xml", "brat"])
def test_tokens_without_text_get_one(tmp_path: Path, format: str) -> None:
    """Columns have no text: it is made of the tokens, and segments stay on them."""
    made = Document(("Ann", "Lee-Wu", "left", "."), segments=(Segment(0, 2, "PER"),))
    write(tmp_path / "a", [made], format)
    [document] = read(tmp_path / "a", format, tokeniser="whitespace")
    assert (document.tokens, document.text) == (made.tokens, "Ann Lee-Wu left .")
    assert document.segments == made.segments
    wrong = Document(("a", ""), segments=(Segment(1, 2, "X"),))
    with refused("documents[0].segments[0]: got (2, 2, 'X'), expected a segment with characters"):
        write(tmp_path / "b", [wrong], format)
    lost = Document(("x",), "y", segments=(Segment(0, 1, "X"),))
    with refused("documents[0].offsets: got tokens that do not occur in the text"):
        write(tmp_path / "b", [lost], format)
    with refused("documents[0].text: got '\\ud800', expected no half of a surrogate pair"):
        write(tmp_path / "b", [Document(("\ud800",))], format)
    assert not (tmp_path / "b").exists()
    assert sorted(os.listdir(tmp_path)) == ["a"]


# ---- spans and tokens -------------------------------------------------------------------------

CUT = {
    "jsonl": '{"text": "e-mail sent", "spans": [[3, 9, "X"]]}\n',
    "csv": "text,X\ne-mail sent,ail se\n",
    "xml": "<a>\n<b>e-m<X>ail se</X>nt</b></a>",
}
PLACE = {
    "jsonl": "line 1: spans[0]",
    "csv": "line 2: X",
    "xml": "line 2: <X>",
    "brat": "line 1: T1",
}


@pytest.mark.parametrize("format", PLACE)
def test_spans_that_cut_tokens(tmp_path: Path, format: str) -> None:
    """Tokens are e, -, mail and sent."""
    if format == "brat":
        put(tmp_path, "e-mail sent", "a.txt")
        path = put(tmp_path, "T1\tX 3 9\tail se\n", "a.ann")
    else:
        path = put(tmp_path, CUT[format], f"a.{format}")
    with refused(f"{path}, {PLACE[format]}: got [3, 9, 'X'], expected whole tokens, but 'mail' is"):
        list(read(path))
    for align, segments in (("expand", ((2, 4, "X"),)), ("contract", ())):
        corpus = read(path, align=align)  # type: ignore[arg-type]
        [document] = corpus
        assert document.segments == segments
        notes = corpus.notes
        assert (notes.documents, notes.cut_spans, notes.align) == (1, 1, align)
        assert notes.lost_spans == (align == "contract")
    assert str(notes) == "1 document; 1 span cut a token (contract, 1 of them dropped)"
    corpus = read(path, on_error="skip")
    assert list(corpus) == []
    assert (corpus.notes.cut_spans, corpus.notes.n_skipped) == (1, 1)
    assert corpus.notes.skipped[0].startswith(f"{path}, {PLACE[format]}: got")


@pytest.mark.parametrize(
    ("spans", "align", "segments", "counts"),
    [
        ([[0, 4, "X"]], "strict", [(0, 1, "X")], (0, 0)),  # a space at the end cuts nothing
        ([[0, 2, "X"], [2, 3, "Y"]], "expand", [(0, 1, "X")], (2, 1)),  # one token, two spans
        ([[0, 5, "X"], [5, 7, "Y"]], "expand", [(0, 2, "X")], (2, 1)),
        ([[0, 5, "X"], [5, 7, "Y"]], "contract", [(0, 1, "X")], (2, 1)),
        ([[1, 2, "X"]], "contract", [], (1, 1)),
        ([[3, 4, "X"]], "expand", [], (1, 1)),  # nothing but a space
        ([[1, 13, "X"]], "expand", [(0, 4, "X")], (1, 0)),
        ([[1, 13, "X"]], "contract", [(1, 3, "X")], (1, 0)),
    ],
)
def test_alignment_by_hand(
    tmp_path: Path, spans: Any, align: Any, segments: Any, counts: tuple[int, int]
) -> None:
    line = f'{{"text": "Ann Lee sat down", "spans": {spans}}}\n'.replace("'", '"')
    corpus = read(put(tmp_path, line, "a.jsonl"), align=align)
    [document] = corpus
    assert document.segments == tuple(segments)
    assert (corpus.notes.cut_spans, corpus.notes.lost_spans) == counts


@given(
    text=st.text("ab c", max_size=12),
    cuts=st.sets(st.integers(0, 12), max_size=6),
    align=st.sampled_from(["expand", "contract"]),
)
def test_alignment_against_the_definition(
    text: str, cuts: set[int], align: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Inside: contract takes tokens that lie in the span; expand those that touch it, once each."""
    ends = sorted(cut for cut in cuts if cut <= len(text))
    spans = [(a, b, str(i)) for i, (a, b) in enumerate(itertools.pairwise(ends))]
    path = tmp_path_factory.mktemp("align") / "a.jsonl"
    path.write_text(json.dumps({"text": text, "spans": spans}))
    [document] = read(path, align=align)
    free, expected = 0, []
    for a, b, label in spans:
        inside = []
        for t, (start, end) in enumerate(document.offsets or ()):
            touches, lies_in = start < b and a < end, a <= start and end <= b
            if t >= free and (lies_in if align == "contract" else touches):
                inside.append(t)
        if inside:
            free = inside[-1] + 1
            expected.append((inside[0], free, label))
    assert document.segments == tuple(expected)


# ---- tables -----------------------------------------------------------------------------------


def fields(document: Document) -> list[tuple[str, str]]:
    assert document.offsets is not None
    assert document.text is not None
    starts, ends = zip(*document.offsets, strict=True)
    return [
        (s.label, document.text[starts[s.start] : ends[s.end - 1]]) for s in document.segments or ()
    ]


def test_tables_by_hand(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        'year,text,author\n1999,"Lee, Ann and Wu. 1999.","Lee, Ann | Wu"\n\n,"line\none",\n',
        "a.csv",
    )
    first, second = read_csv(path)
    assert fields(first) == [("author", "Lee, Ann"), ("author", "Wu"), ("year", "1999")]
    assert (second.text, second.segments) == ("line\none", ())
    [first, _] = read_csv(path, labels=["year"])
    assert fields(first) == [("year", "1999")]
    path = put(tmp_path, "author\tyear\r\nLee | Wu\t1999\r\n", "a.txt")
    [document] = read_csv(path, text=False)
    assert document.text == "Lee Wu 1999"
    assert fields(document) == [("author", "Lee"), ("author", "Wu"), ("year", "1999")]


@pytest.mark.parametrize(
    ("text", "cells", "found"),
    [
        ("1-10, 1", {"a": "1", "b": "1-10"}, {"b": (0, 4), "a": (6, 7)}),  # the longest first
        ("Marin in", {"a": "in"}, {"a": (6, 8)}),  # whole tokens before parts of them
        ("in in", {"a": "in @3:5"}, {"a": (3, 5)}),
        ("in @3:5", {"a": "in @3:5"}, {"a": (0, 7)}),  # which is not the place it says
        ("a | b", {"a": r"a \| b"}, {"a": (0, 5)}),
        ("x y", {"a": "  y "}, {"a": (2, 3)}),
    ],
)
def test_where_cells_are_found(
    tmp_path: Path, text: str, cells: dict[str, str], found: dict[str, tuple[int, int]]
) -> None:
    content = f"text\t{chr(9).join(cells)}\n{text}\t{chr(9).join(cells.values())}\n"
    [document] = read_csv(put(tmp_path, content, "a.tsv"))
    offsets = document.offsets or ()
    places = {
        s.label: (offsets[s.start][0], offsets[s.end - 1][1]) for s in document.segments or ()
    }
    assert places == found


def test_places_are_told_where_they_must_be(tmp_path: Path) -> None:
    document = Document(("a", "b", "a"), "a b a", segments=(Segment(2, 3, "X"),))
    told = Document(document.tokens, "a b a", ((0, 1), (2, 3), (4, 5)), segments=document.segments)
    write_csv(tmp_path / "a.csv", [told], labels=["Y", "X"])
    assert (tmp_path / "a.csv").read_text() == "text,Y,X\na b a,,a @4:5\n"
    with refused("documents[0].segments: got 'X', expected one of the labels in labels=['Y']"):
        write_csv(tmp_path / "a.csv", [told], labels=["Y"])
    with refused("documents[0].segments: got 'X', expected the name of a column other than 'X'"):
        write_csv(tmp_path / "a.csv", [told], text="X")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("text,a\nx\n", "line 2: got 1 cells, expected 2, as in the first line"),
        ("text,a\nx,y\n", "line 2: a: got 'y', expected a value that occurs in the text"),
        ('text,a\nx,x\n"x,y\n\n', "line 3: got a row that ends wrong (unexpected end of data)"),
        ('text,a\n"x"y,\n', "line 2: got a row that ends wrong (',' expected after '\"')"),
        ("text,a,a\n", "line 1: columns: got 'a', expected unique column names"),
        ("text,a\nx,x @0:9\n", "line 2: a: got 'x @0:9', expected a value that occurs in the text"),
    ],
)
def test_errors_of_tables(tmp_path: Path, content: str, text: str) -> None:
    path = put(tmp_path, content, "a.csv")
    with refused(f"{path}, {text}"):
        list(read_csv(path, labels=["a"]))
    with refused("separator: got ', ', expected one character"):
        read_csv(path, separator=", ")
    with refused("separator: got '\"', expected one character, not a quote or a line end"):
        write_csv(path, [], separator='"')
    with refused(f"{path}, line 1: labels: got 'z', expected one of the columns"):
        list(read_csv(put(tmp_path, "text,a\n", "a.csv"), labels=["z"]))


# ---- XML --------------------------------------------------------------------------------------

ANYSTYLE = """<?xml version="1.0" encoding="UTF-8"?>
<dataset>
  <sequence>
    <author>Lee, A. &amp; Wu,</author>
    <date>1999,</date>
    <title>Être
      là.</title>
  </sequence>
</dataset>
"""
ADDRESSES = """<AddressCollection>
  <AddressString><No>12</No> <Street>Main</Street> <Street>St.,</Street> <No>3</No></AddressString>
  <AddressString><Street>Old</Street> near <Street>Road</Street></AddressString>
</AddressCollection>"""


def test_elements_are_segments(tmp_path: Path) -> None:
    corpus = read_xml(put(tmp_path, ANYSTYLE, "a.xml"))
    [document] = corpus
    assert corpus.scheme is None
    assert document.text == "Lee, A. & Wu, 1999, Être là."
    expected = [("author", "Lee, A. & Wu,"), ("date", "1999,"), ("title", "Être là.")]
    assert fields(document) == expected


def test_elements_are_tokens(tmp_path: Path) -> None:
    path = put(tmp_path, ADDRESSES, "a.xml")
    corpus = read_xml(path)
    first, second = corpus
    assert (corpus.format, corpus.scheme) == ("xml", "plain")
    assert fields(first) == [("No", "12"), ("Street", "Main St.,"), ("No", "3")]
    assert fields(second) == [("Street", "Old"), ("Street", "Road")]
    first, _ = read_xml(path, merge=False)
    assert len(first.segments or ()) == 4
    [document] = read_xml(put(tmp_path, ANYSTYLE, "a.xml"), merge=True)
    assert len(document.segments or ()) == 3


def test_records_by_name(tmp_path: Path) -> None:
    deep = "<a>head<g><r>x <b>y</b></r></g><r><b>z</b></r></a>"
    path = put(tmp_path, deep, "a.xml")
    found = read_xml(path, record="r")
    with refused(f"{path}, line 1: got no such element up to the end, expected <q>, as record"):
        list(read_xml(path, record="q"))
    assert [(d.text, d.segments) for d in found] == [
        ("x y", ((1, 2, "b"),)),
        ("z", ((0, 1, "b"),)),
    ]


def test_encodings_of_xml(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    for encoding in ("utf-8", "utf-16", "iso-8859-1", "windows-1252"):
        declared = f'<?xml version="1.0" encoding="{encoding}"?><a><b><c>é</c></b></a>'
        path.write_bytes(declared.encode(encoding))
        assert [document.text for document in read_xml(path)] == ["é"]
    path.write_bytes("<a><b>é</b></a>".encode("latin-1"))
    assert [document.text for document in read_xml(path, encoding="latin-1")] == ["é"]
    with refused(f"{path}, line 1: got not well-formed (invalid token), expected well-formed XML"):
        list(read_xml(path))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<a>\n<b>x</c></b></a>", "line 2: got mismatched tag, expected well-formed XML"),
        ("<a>\n<b>x</b>\n", "line 3: got no element found, expected well-formed XML"),
        ("", "line 1: got no element found"),
        ("<a>\n<b><c>x<d>y</d></c></b></a>", "line 2: <c>: got '<d>', expected text in it"),
        ("<a>\nx<b>y</b></a>", "line 2: text outside of them: got 'x', expected documents in"),
        ("<a><b>&nbsp;</b></a>", "line 1: got undefined entity, expected well-formed XML"),
        ('<!DOCTYPE a [\n<!ENTITY x "y">]><a><b>&x;</b></a>', "line 2: got the entity 'x', exp"),
        ('<!DOCTYPE a SYSTEM "x.dtd"><a><b>&x;</b></a>', "line 1: got the entity 'x', expected"),
        (f"<a>{'<b>' * 300}", "line 1: got 201 elements inside one another, expected 200 or"),
        ('<?xml version="1.0" encoding="nope"?><a/>', "line 1: got unknown encoding"),
    ],
)
def test_errors_of_xml(tmp_path: Path, content: str, text: str) -> None:
    path = put(tmp_path, content, "a.xml")
    with refused(f"{path}, {text}"):
        list(read_xml(path))


def test_reading_goes_on_after_broken_xml(tmp_path: Path) -> None:
    records = [f"<r>\n<x>{i}</x></r>\n" for i in range(6000)]  # more than is read at once
    for i in (3, 4000):
        records[i] = "<r>\n<x>bad</y></r>\n"
    path = put(tmp_path, f"<a>\n{''.join(records)}</a>", "a.xml")
    corpus = read_xml(path, on_error="skip")
    assert [int(d.text or "") for d in corpus] == [i for i in range(6000) if i not in (3, 4000)]
    assert [message.split(": ")[0] for message in corpus.notes.skipped] == [
        f"{path}, line 9",
        f"{path}, line 8003",
    ]


def test_odd_labels_in_xml(tmp_path: Path) -> None:
    odd = tuple(
        Segment(i, i + 1, label) for i, label in enumerate(["a\tb\n", "", "'\"<", "segment"])
    )
    write_xml(tmp_path / "a.xml", [Document(tuple("abcd"), segments=odd)])
    assert [document.segments for document in read_xml(tmp_path / "a.xml")] == [odd]


def test_what_xml_cannot_hold(tmp_path: Path) -> None:
    with refused("documents[0].text: got '\\x00', expected no control characters"):
        write_xml(tmp_path / "a.xml", [Document.from_text("a\x00")])
    with refused("record: got 'a b', expected a name of ASCII letters"):
        write_xml(tmp_path / "a.xml", [], record="a b")
    write_xml(tmp_path / "a.xml", [Document.from_text("a")], root="dataset", record="sequence")
    assert (
        '<dataset>\n<sequence xml:space="preserve" labelled="no">a'
        in (tmp_path / "a.xml").read_text()
    )


# ---- stand-off --------------------------------------------------------------------------------


def test_stand_off_by_hand(tmp_path: Path) -> None:
    put(tmp_path, "Ann Lee\nsings in Oslo.", "b.txt")
    put(
        tmp_path,
        "T2\tLOC 17 21\tOslo\nT1\tPER 0 7\tAnn Lee\n\nR1\tin Arg1:T1 Arg2:T2\n"
        "T3\tX 0 3;8 13\tAnn sings\n#1\tAnnotatorNotes T1\tsure\n"
        "E1\tSing:T1\nA1\tNeg E1\n*\tEq T1 T2\n",
        "b.ann",
    )
    (tmp_path / "c").mkdir()
    put(tmp_path / "c", "Bo.", "x.txt")
    put(tmp_path, "no corpus", "a.doc")
    corpus = read(tmp_path)
    first, second = corpus
    assert corpus.format == "brat"
    assert first.segments == ((0, 2, "PER"), (4, 5, "LOC"))
    assert (second.text, second.segments) == ("Bo.", None)
    assert (corpus.notes.discontinuous, corpus.notes.relations) == (1, 5)
    assert "1 discontinuous span skipped; 5 relations" in str(corpus.notes)
    for name in ("b.txt", "b.ann"):
        assert [d.tokens for d in read(tmp_path / name)] == [first.tokens]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("T1 X 0 3", "line 2: the line: got 'T1 X 0 3', expected T1<tab>label start end<tab>text"),
        ("T1\tX 0 a\tAnn", "line 2: the line: got 'T1\\tX 0 a\\tAnn', expected T1<tab>label"),
        ("x", "line 2: the line: got 'x', expected T1"),
        ("T1\tX 0 30\tAnn", "line 2: T1: got (0, 30), expected a span within the 7 characters"),
        ("T1\tX 1 4\tAnn", "line 2: T1: got 'Ann', expected 'nn ', the text from 1 to 4"),
        ("T1\tX 0 7\tAnn Lee\nT2\tY 4 7\tLee", "line 3: T2: got [4, 7, 'Y'], expected start >= 7"),
    ],
)
def test_errors_of_stand_off(tmp_path: Path, line: str, text: str) -> None:
    put(tmp_path, "Ann Lee", "a.txt")
    path = put(tmp_path, f"\n{line}\n", "a.ann")
    with refused(f"{path}, {text}"):
        list(read_brat(tmp_path))
    put(tmp_path, "fine", "b.txt")
    corpus = read_brat(tmp_path, on_error="skip")
    assert [document.text for document in corpus] == ["fine"]
    assert corpus.notes.n_skipped == 1


def test_wrong_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_brat(tmp_path / "a.ann")
    with refused("path: got 'a.doc', expected a folder, or a .txt or .ann file"):
        read_brat("a.doc")
    (tmp_path / "a.txt").write_bytes(b"a\n\xff")
    with refused(f"{tmp_path / 'a.txt'}, line 2: got bytes that are not utf-8"):
        list(read_brat(tmp_path))
    with refused(f"path: got '{str(tmp_path)[:10]}"):
        write_brat(tmp_path, [])
    document = Document(("a",), segments=(Segment(0, 1, "two words"),))
    with refused("documents[1].segments: got 'two words', expected a label without spaces"):
        write_brat(tmp_path / "b", [Document(("a",)), document])
    assert os.listdir(tmp_path) == ["a.txt"]
    (tmp_path / "b").mkdir()
    assert write(tmp_path / "b", [Document(("a",))]) == 1  # an empty folder


def test_what_a_line_cannot_hold(tmp_path: Path) -> None:
    with refused("documents[0].text: got 'a\\nb', expected a text on one line"):
        write_text(tmp_path / "a.txt", [Document.from_text("a\nb")])


def with_segments(text: str, segments: tuple[Segment, ...]) -> Document:
    return dataclasses.replace(Document.from_text(text), segments=segments)


@st.composite
def repeated_texts(draw: st.DrawFn) -> list[Document]:
    """Return documents whose segments look alike, with labels in any order."""
    documents = []
    for _ in range(draw(st.integers(1, 3))):
        tokens = draw(st.text("12", min_size=1, max_size=6))
        step = draw(st.integers(1, 3))
        cuts = range(draw(st.integers(0, 1)), len(tokens) + 1, step)
        spans = [(s, e, draw(st.sampled_from("PQ-"))) for s, e in itertools.pairwise(cuts)]
        segments = tuple(Segment(*span) for span in spans if span[2] != "-")
        documents.append(with_segments(" ".join(tokens), segments))
    return documents


@given(repeated_texts(), st.sampled_from([None, "PQ", "QP"]))
@settings(deadline=None, max_examples=300)
def test_texts_of_one_length_are_found_in_any_order_of_columns(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[Document], labels: str | None
) -> None:
    path = tmp_path_factory.mktemp("tied") / "a.csv"
    write_csv(path, drawn, labels=labels)
    read = [(d.text, d.tokens, d.segments or ()) for d in read_csv(path)]
    assert read == [(d.text, d.tokens, d.segments) for d in drawn]


def test_a_column_that_comes_first_takes_no_place_of_another(tmp_path: Path) -> None:
    segments = (Segment(0, 2, "Q"), Segment(2, 4, "P"))
    first = with_segments("q", (Segment(0, 1, "P"),))
    write_csv(tmp_path / "b.csv", [first, with_segments("1 2 2 2", segments)])
    assert [document.segments for document in read_csv(tmp_path / "b.csv")][1] == segments


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_keys_beside_a_text_stay_as_they_are(form: str, tmp_path: Path) -> None:
    keys = {"geo": [53.8, -1.5], "tags": ["a", "b"], "columns": 3, "id": 1}
    lines = [{"text": text, **keys} for text in ("Leeds York", "12 High Street Leeds")]
    source, target = tmp_path / "in.jsonl", tmp_path / f"out.{form}"
    source.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    documents = list(read(source))
    assert [document.carried for document in documents] == [keys, keys]
    assert documents[0].columns == {"geo": ("53.8", "-1.5"), "tags": ("a", "b")}
    write(target, documents)
    for one in read(target):
        found: dict[str, Any] = {key: one.carried[key] for key in keys}
        if form == "csv":
            found = {key: json.loads(cell) for key, cell in found.items()}
        assert found == keys


def test_a_key_that_is_not_the_field_of_its_name_can_be_renamed(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"text": "Leeds", "dense": "very"}\n')
    with pytest.raises(InvalidInput, match="rename the key if it means something else"):
        list(read(file))


def test_dicts_carry_lists_along() -> None:
    geo = {"geo": [53.8, -1.5]}
    assert as_document({"text": "Leeds", **geo}).carried == geo
    assert as_document({"tokens": ["Leeds", "York"], **geo}).carried == geo
