"""Corpora as files: formats found, packed files, what is skipped, constant memory, and damage."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import itertools
import json
import lzma
import os
import re
import runpy
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caesura.corpora import FORMATS, Notes, detect, read, write
from caesura.corpora.files import Source
from caesura.documents import Document, Tokeniser
from caesura.documents.tokenisers import _marks
from caesura.errors import InvalidInput
from caesura.segments import Segment

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
A = Document(("Ann", "Lee"), "Ann Lee", ((0, 3), (4, 7)), segments=(Segment(0, 2, "PER"),))


@pytest.fixture(scope="module", autouse=True)
def _without_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def refused(text: str) -> Any:
    """Expect an error that begins with this text."""
    return pytest.raises(InvalidInput, match="^" + re.escape(text))


# ---- formats ----------------------------------------------------------------------------------

BEGINNINGS = [
    ("Ann B-PER\nLee I-PER\n\nOslo B-LOC\n", "conll"),
    ("# a comment\nAnn\tNNP\tO\n", "conll"),
    ("# global.columns = token tag\nAnn per\n", "conll"),
    ("-DOCSTART- -X- O\n\nAnn x per\n", "conll"),
    ('{"text": "a"}\n', "jsonl"),
    ('\ufeff\n{"tokens": ["a"]}\n{', "jsonl"),
    ('{"text": "' + "a" * 70000 + '"}\n', "jsonl"),  # longer than what is looked at
    ("{curly} words\nand more\n", "text"),
    ("text,author\nLee,Lee\n", "csv"),
    ("year\ttext\n1999\tLee 1999\n", "csv"),
    ('"text","a b"\nLee,\n', "csv"),
    ('<?xml version="1.0"?>\n<a/>', "xml"),
    ("\n <dataset><r>a</r></dataset>", "xml"),
    ("<3 hearts\n", "text"),
    ("Some prose, text and all.\nMore of it.\n", "text"),
    ("12 Main St\n13 Main St\n", "text"),
    ("text\nmore\n", "text"),
    ("", "text"),
]


@pytest.mark.parametrize(("content", "format"), BEGINNINGS)
@pytest.mark.parametrize("name", ["nameless", "a.txt.gz", "a.dat.bz2", "a.xz", "-"])
def test_formats_by_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, format: str, name: str
) -> None:
    packed = PACKERS[Path(name).suffix](content.encode())
    if name == "-":
        for packer in PACKERS.values():
            held = io.BufferedReader(io.BytesIO(packer(content.encode())), 2**18)
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(held))
            assert detect("-") == format
        assert len(sys.stdin.buffer.read()) > 0 or not content
        return
    (tmp_path / name).write_bytes(packed)
    assert detect(tmp_path / name) == format


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.conll", "conll"),
        ("A.CONLL.GZ", "conll"),
        ("a.json.xz", "jsonl"),
        ("a.csv.bz2", "csv"),
        ("a.xml", "xml"),
        ("a.ann", "brat"),
    ],
)
def test_formats_by_name(name: str, format: str) -> None:
    assert detect(name) == format  # the file need not be there


def test_formats_by_both(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("Lee\tauthor\nsings\tO\n")
    assert detect(tmp_path / "a.tsv") == "conll"
    (tmp_path / "a.tsv").write_text("author\ttext\nLee\tLee sings\n")
    assert detect(tmp_path / "a.tsv") == "csv"
    (tmp_path / "a.txt").write_text("Ann B-PER\n")
    assert detect(tmp_path / "a.txt") == "conll"
    (tmp_path / "a.ann").write_text("")
    assert detect(tmp_path / "a.txt") == detect(tmp_path) == "brat"
    with pytest.raises(FileNotFoundError):
        detect(tmp_path / "none")
    with refused(f"path: got '{os.devnull}', expected a regular file"):
        detect(os.devnull)
    (tmp_path / "b.gz").write_bytes(b"no archive")
    with refused(f"{tmp_path / 'b.gz'}, line 1: the compressed file is damaged"):
        detect(tmp_path / "b.gz")


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_written_is_found_and_read(tmp_path: Path, format: str) -> None:
    path = tmp_path / "nameless"
    write(path, [A, A], format)
    assert detect(path) == format
    found = list(read(path))
    assert [document.text for document in found] == ["Ann Lee"] * 2
    assert format == "text" or all(document.segments == A.segments for document in found)


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "brat"])
@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
def test_packed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, packing: str
) -> None:
    path = tmp_path / f"a{packing}"
    assert write(path, [A] * 300, format) == 300
    content = path.read_bytes()
    assert len(list(read(path, format))) == 300
    write(path, [A] * 300, format)
    assert path.read_bytes() == content  # no time in it
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert len(list(read("-", format))) == 300
    path.write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(InvalidInput, match=r"line \d+: the compressed file is damaged or cut off"):
        list(read(path, format))
    corpus = read(path, format, on_error="skip")
    assert len(list(corpus)) <= 300  # all of them, where only the sum of the archive is missing
    assert corpus.notes.n_skipped == 1
    assert "the compressed file is damaged" in corpus.notes.skipped[0]


def test_standard_input_of_any_format(monkeypatch: pytest.MonkeyPatch) -> None:
    for content, tokens in ((b"Ann B-PER\n", ("Ann",)), (b"Ann sings\n", ("Ann", "sings"))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(content))))
        assert [document.tokens for document in read("-")] == [tokens]


def test_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write("-", [A], "csv")
    write("-", [A], "xml")
    write("-", [A], "text")
    written = capsysbinary.readouterr().out.decode()
    assert written.startswith("text,PER\nAnn Lee,Ann Lee\n<?xml")
    assert written.endswith("</documents>\nAnn Lee\n")
    with refused("path: got '-', expected a folder that is empty or not there yet"):
        write("-", [A], "brat")


# ---- what is left out -------------------------------------------------------------------------

BROKEN = {
    "conll": (
        b"a B-X\n\nb O\nc\n\nd O\n\xff O\n\ne Y-Y\n\nf I-X\n\ng B-X\n",
        ["a", "g"],
        [4, 7, 9, 11],
    ),
    "jsonl": (b'{"text": "a"}\n{\n[]\n\xff\n{"text": "g"}\n', ["a", "g"], [2, 3, 4]),
    "csv": (b'text,x\na,a\nb,c\nb\n\xff,\n"b"b,b\ng,\n', ["a", "g"], [3, 4, 5, 6]),
    "xml": (
        b"<r><d>a</d>\n<d>\xff</d>\n<d><x>b<y/></x></d>\n<d></x></d>\n<d>g</d></r>",
        ["a", "g"],
        [2, 3, 4],
    ),
    "text": (b"a\n\xff\ng\n", ["a", "g"], [2]),
}


@pytest.mark.parametrize("format", BROKEN)
def test_errors_are_left_out_and_noted(tmp_path: Path, format: str) -> None:
    content, kept, lines = BROKEN[format]
    path = tmp_path / "a"
    path.write_bytes(content)
    corpus = read(path, format, on_error="skip")
    assert corpus.notes == Notes()
    for _ in range(2):  # counted anew each time
        assert [document.tokens for document in corpus] == [(token,) for token in kept]
        assert corpus.notes.documents == 2
        assert corpus.notes.n_skipped == len(lines)
        places = [re.match(r"(.*), line (\d+): ", text) for text in corpus.notes.skipped]
        assert [(place[1], int(place[2])) for place in places if place] == [
            (str(path), line) for line in lines
        ]
    with pytest.raises(InvalidInput):
        list(read(path, format))
    with refused("on_error: got 'ignore', expected 'raise' or 'skip'"):
        read(path, format, on_error="ignore")  # type: ignore[arg-type]


def test_wrong_options(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    write(path, [A])
    with refused("align: got 'x', expected 'strict' or 'expand' or 'contract'"):
        read(path, align="x")  # type: ignore[arg-type]
    with refused("tokeniser: got 'x', expected words"):
        read(path, tokeniser="x")
    with refused("options: got 'record', expected an option of read_conll: columns, scheme,"):
        read(path, record="x")
    with refused("options: got 'labels', expected an option of write_conll: documents, scheme,"):
        write(path, [A], labels=["PER"])


def test_only_the_first_messages_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{\n" * 50)
    corpus = read(tmp_path / "a.jsonl", on_error="skip")
    assert list(corpus) == []
    assert (len(corpus.notes.skipped), corpus.notes.n_skipped) == (20, 50)
    assert str(corpus.notes) == "0 documents; 50 skipped because of errors"


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("B-X I-X B-X B-X Y", "BIO"),
        ("X X Y Y B-Y", "plain"),
        ("S-X B-X E-X S-X U-X", "BIOES"),
        ("U-X U-X B-X L-X S-X", "BILOU"),
    ],
)
def test_the_scheme_of_most_tags(tmp_path: Path, tags: str, scheme: str) -> None:
    path = tmp_path / "a.conll"
    path.write_text("".join(f"a {tag}\n" for tag in tags.split()))
    with refused(f"{path}: tags: got"):
        read(path)
    assert read(path, on_error="skip").scheme == scheme


def test_utf_16_that_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", caught.append)
    (tmp_path / "a.txt").write_bytes("a\nb\n".encode("utf-16"))
    lines = Source(tmp_path / "a.txt", "utf-16").lines()
    assert next(lines) == (1, "a")
    lines.close()  # type: ignore[attr-defined]
    gc.collect()
    assert not caught


def test_utf_16(tmp_path: Path) -> None:
    """Its bytes say nothing about lines."""
    (tmp_path / "a.txt").write_bytes("a\nĊ b\n".encode("utf-16"))  # U+010A has the byte of \n
    corpus = read(tmp_path / "a.txt", "text", encoding="utf-16")
    assert [document.text for document in corpus] == ["a", "Ċ b"]
    (tmp_path / "a.txt").write_bytes("a\n".encode("utf-16") + b"\x00")
    with pytest.raises(InvalidInput, match=r"line \d: got bytes that are not utf-16"):
        list(read(tmp_path / "a.txt", "text", encoding="utf-16"))
    with refused("encoding: got 'base64', expected the name of an encoding"):
        read(tmp_path / "a.txt", "text", encoding="base64")


# ---- memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["conll", "jsonl", "csv", "xml", "text"])
def test_memory_is_constant(tmp_path: Path, format: str) -> None:
    """Reading and writing hold a document at a time, however many there are."""
    long = Document.from_text("word " * 30)
    labelled = Document(long.tokens, long.text, long.offsets, segments=(Segment(0, 2, "X"),))
    path = tmp_path / "a.gz"
    peaks = []
    for n in (400, 700):
        tracemalloc.start()
        write(path, (labelled for _ in range(n)), format)
        assert sum(1 for _ in read(path, format)) == n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 400_000  # 300 more documents are some 2 MB


# ---- tokenisers -------------------------------------------------------------------------------


@given(
    text=st.text(max_size=30),
    spec=st.sampled_from(
        ["words", "whitespace", "characters", "parts", {"regex": r"\d+|\w"}, {"regex": "x*"}]
    ),
)
def test_tokens_know_where_they_stand(text: str, spec: Any) -> None:
    tokeniser = Tokeniser.of(spec)
    document = Document.from_text(text, Tokeniser.of(json.loads(json.dumps(tokeniser.spec))))
    offsets = document.offsets or ()
    assert document.tokens == tuple(text[start:end] for start, end in offsets)
    assert all(start < end for start, end in offsets)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(offsets))
    if isinstance(spec, str):  # nothing but white space is left out
        left = list(text)
        for start, end in offsets:
            left[start:end] = " " * (end - start)
        assert not "".join(left).strip()


@given(text=st.text("ab1_'’-. \n\x1cé\u0301\u200d\u0947के北\U000e0100"))
def test_fast_patterns_are_the_plain_ones(text: str) -> None:
    marks = _marks()
    for name, plain in (
        ("words", f"\\w[\\w{marks}]*(?:['’]\\w[\\w{marks}]*)*|[^\\w\\s][{marks}]*"),
        ("characters", f"\\S[{marks}]*"),
    ):
        for drawn in (text, text.encode("ascii", "ignore").decode()):
            found = tuple(match.span() for match in re.finditer(plain, drawn))
            assert Tokeniser(name).spans(drawn) == found


# ---- damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_damaged_corpora(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but clear errors comes of random damage; bench/fuzz.py does more of it."""
    bench = Path(__file__).parent.parent / "bench"
    monkeypatch.syspath_prepend(str(bench))
    fuzz = runpy.run_path(str(bench / "fuzz.py"))
    raised = 0
    for outcome in fuzz["outcomes"](format, 300, seed=1):
        if outcome.crash is not None:
            raise outcome.crash
        raised += outcome.raised
    assert raised > 100
