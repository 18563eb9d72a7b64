"""Columns, JSON lines and files: round trips, schemes, streaming, errors with file and line."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caesura
from caesura.corpora import read, read_conll, read_jsonl, write, write_conll, write_jsonl
from caesura.corpora.schemes import TagCounts, detect_scheme
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput
from caesura.features import word
from caesura.segments import Segment, from_tags, to_tags


@pytest.fixture(scope="module", autouse=True)
def _without_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


DETECTED = ["BIO", "IOB1", "BIOES", "BILOU", "BMES", "BCEU", "IOE1", "IOE2"]
NAMES = [Segment(0, 1, "LOC"), Segment(1, 4, "LOC"), Segment(5, 7, "PER")]


def put(folder: Path, content: str, name: str = "a.conll") -> Path:
    path = folder / name
    path.write_text(content, "utf-8", newline="\n")
    return path


def refused(text: str) -> Any:
    """Expect an error that begins with this text."""
    return pytest.raises(InvalidInput, match="^" + re.escape(text))


def same(a: Document, b: Document) -> bool:
    dense = (a.dense is None and b.dense is None) or np.array_equal(a.dense, b.dense)  # type: ignore
    fields = ("tokens", "text", "offsets", "columns", "attributes", "segments")
    return dense and all(getattr(a, field) == getattr(b, field) for field in fields)


@st.composite
def documents(draw: st.DrawFn, alphabet: str, least: int = 1) -> Document:
    """Draw a document cut from a text, or one of tokens alone, with columns and segments."""
    if draw(st.booleans()):
        text = draw(st.text(alphabet + " \n", max_size=20)) + "x" * least
        name = draw(st.sampled_from(["words", "characters", "whitespace"]))
        offsets: Any = Tokeniser(name).spans(text)
        tokens = [text[start:end] for start, end in offsets]
    else:
        text, offsets = None, None
        tokens = draw(
            st.lists(st.text(alphabet, min_size=1, max_size=4), min_size=least, max_size=6)
        )
    cuts = sorted(draw(st.sets(st.integers(0, len(tokens)))))
    labels = st.sampled_from(["A", "B-C", None])
    segments = [(s, e, draw(labels)) for s, e in itertools.pairwise(cuts)]
    columns = {"pos": [draw(st.sampled_from(["N", "#", "O"])) for _ in tokens]}
    kept: Any = [segment for segment in segments if segment[2] is not None]
    return Document(tuple(tokens), text, offsets, columns, segments=kept)


# ---- schemes ----------------------------------------------------------------------------------


def found(*sequences: list[str]) -> str:
    counts = TagCounts()
    for tags in sequences:
        counts.add(tags, range(1, len(tags) + 1))
    return detect_scheme(counts)


@pytest.mark.parametrize("scheme", DETECTED)
@pytest.mark.parametrize("untyped", ["", "LOC"])
def test_every_scheme_is_found(scheme: str, untyped: str) -> None:
    assert found(to_tags(NAMES, scheme, 8, untyped=untyped)) == scheme


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("", "BIO"),
        ("O O", "BIO"),
        ("B-X", "BIO"),
        ("I-X I-X O", "IOB1"),
        ("S-X O S-Y", "BIOES"),
        ("I-X E-X O E-X", "IOE2"),
        ("I-X E-X I-X O", "IOE1"),
        ("U-X", "BILOU"),
        ("B-X E-X", "BIOES"),
        ("B M E S", "BMES"),
        ("author author title", "plain"),
        ("H H E E C O", "plain"),
        ("S A", "plain"),
        ("B-X I-X O B-X B-X I-Y", "BIO"),  # one tag is wrong; reading will say so
    ],
)
def test_schemes_by_hand(tags: str, scheme: str) -> None:
    assert found(tags.split()) == scheme


@pytest.mark.parametrize(
    ("tags", "text"),
    [
        ("B-X I-X Y", "tags: got 'B-X' (line 1) and 'Y' (line 3), expected tags of one scheme"),
        ("B-X U-X S-X", "tags: got the letters B, S, U, as in 'B-X' (line 1), expected those of"),
        ("E C", "tags: got the letters C, E, as in 'E' (line 1)"),
    ],
)
def test_no_single_scheme(tags: str, text: str) -> None:
    with refused(text):
        found(tags.split())


@pytest.mark.parametrize("scheme", DETECTED)
def test_pairs_tell_whether_tags_are_well_formed(scheme: str) -> None:
    """Reading accepts a sequence exactly when no pair in it is wrong."""
    from caesura.corpora.schemes import _CANDIDATES, _wrong

    row = next(row for row in _CANDIDATES if row.name == scheme)
    letters = sorted({row.begin, row.inside, row.end, row.single})
    alphabet = ["O", *(f"{letter}-{label}" for letter in letters for label in "XY")]
    for n in range(5):
        for tags in itertools.product(alphabet, repeat=n):
            counts = TagCounts()
            counts.add(tags, range(n))
            try:
                from_tags(tags, scheme)
            except InvalidInput:
                assert _wrong(counts.pairs, row) > 0, tags
            else:
                assert _wrong(counts.pairs, row) == 0, tags


# ---- columns ----------------------------------------------------------------------------------

SMALL = """# a comment
-DOCSTART- -X- O

# NN B-NP
1 CD I-NP

# another
Ann\tNNP  B-NP
Lee NNP I-NP
sings VBZ B-VP\r

"""


def test_columns_by_hand(tmp_path: Path) -> None:
    corpus = read_conll(put(tmp_path, SMALL))
    assert (corpus.scheme, corpus.format) == ("BIO", "conll")
    assert repr(corpus).endswith("a.conll', format='conll', scheme='BIO')")
    for _ in range(2):  # from the beginning each time
        first, second = corpus
        assert first.tokens == ("#", "1")
        assert first.columns == {"column1": ("NN", "CD")}
        assert first.segments == ((0, 2, "NP"),)
        assert second.tokens == ("Ann", "Lee", "sings")
        assert second.segments == ((0, 2, "NP"), (2, 3, "VP"))


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        ("# one two\na b O\n", ["a"]),  # no tag
        ("# one B-X\na b O\n", ["#", "a"]),
        ("# one two\na b c\n", ["#", "a"]),  # labels without letters: cannot be told
        ("# one two\na\tb\tc\n", ["a"]),  # no tabs
        ("#\tone\ttwo\na\tb\tc\n", ["#", "a"]),
        ("a b O\n# one two\n", ["a", "#"]),  # inside a sequence
        ("a b O\n# one\n", ["a"]),
    ],
)
def test_comments_and_tokens(tmp_path: Path, content: str, tokens: list[str]) -> None:
    [document] = read_conll(put(tmp_path, content), scheme="plain")
    assert document.tokens == tuple(tokens)


def test_names_of_columns(tmp_path: Path) -> None:
    path = put(tmp_path, "B-X 1 Ann\nO 2 sings\n")
    [document] = read_conll(path, ["tag", None, "token"])
    assert (document.tokens, document.columns) == (("Ann", "sings"), {})
    assert document.segments == ((0, 1, "X"),)
    corpus = read_conll(path, ["token", "number", "word"])
    [document] = corpus
    assert (corpus.scheme, document.segments) == (None, None)
    assert document.columns == {"number": ("1", "2"), "word": ("Ann", "sings")}


def test_tokens_alone(tmp_path: Path) -> None:
    corpus = read_conll(put(tmp_path, "Ann\nsings\n\n#\n# x\n"))
    first, second = corpus
    assert corpus.scheme is None
    assert (first.tokens, first.segments) == (("Ann", "sings"), None)
    assert second.tokens == ("#",)


def test_odd_spaces_stay_in_tokens(tmp_path: Path) -> None:
    path = put(tmp_path, "a\u3000b O\nc\u2028d\u00a0 B-X\n")
    [document] = read_conll(path)
    assert document.tokens == ("a\u3000b", "c\u2028d\u00a0")
    path = put(tmp_path, "New York\t\tB-X\n#\tb\tO\n")
    [document] = read_conll(path, separator="\t")
    assert document.tokens == ("New York", "#")
    assert document.columns == {"column1": ("", "b")}
    [document] = read_conll(put(tmp_path, "# O\n"), comment=None)
    assert document.tokens == ("#",)
    assert list(read_conll(put(tmp_path, "# O\n\n\n"))) == []
    assert list(read_conll(put(tmp_path, ""))) == []


@pytest.mark.parametrize(
    ("content", "options", "text"),
    [
        ("a O\nb\n", {}, "line 2: got 1 fields, expected 2, as on line 1"),
        ("# x\n\na b O\n\nc d e O\n", {}, "line 5: got 4 fields, expected 3, as on line 3"),
        (
            "a O\n",
            {"columns": ["token", "pos", "tag"]},
            "line 1: got 2 fields, expected 3, the num",
        ),
        ("a O\n\nb B-X\nc I-Y\n", {}, "line 4: tag: got 'I-Y', expected 'B-Y', as BIO writes"),
        ("a O\nb E-X\n", {"scheme": "BIO"}, "line 2: tag: got 'E-X', expected O, or B, I with"),
        ("# text_json = {\na O\n", {}, "line 1: text_json: got '{', expected JSON;"),
        ("# text_json = 3\na O\n", {}, "line 2: text: got 3, expected a string"),
        ("# offsets = 0:1 1:2\na O\n", {}, "line 2: offsets: got 2 of them, expected 1"),
        ("# offsets = a\na O\n", {}, "line 1: offsets: got 'a', expected pairs"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, content: str, options: Any, text: str) -> None:
    path = put(tmp_path, content)
    with refused(f"{path}, {text}"):
        list(read_conll(path, **options))


def test_mixed_schemes_name_file_and_lines(tmp_path: Path) -> None:
    path = put(tmp_path, "a B-X\n\nb Y\n")
    with refused(f"{path}: tags: got 'B-X' (line 1) and 'Y' (line 3), expected tags of one scheme"):
        read_conll(path)
    first, _ = read_conll(path, scheme="plain")
    assert first.segments == ((0, 1, "B-X"),)


def test_repair(tmp_path: Path) -> None:
    path = put(tmp_path, "a O\nb I-X\nc B-Y\nd B-X\ne I-X\n")
    [document] = read_conll(path, repair="repair")
    assert document.segments == ((1, 2, "X"), (2, 3, "Y"), (3, 5, "X"))


def test_wrong_arguments_of_read_conll(tmp_path: Path) -> None:
    path = put(tmp_path, "a O\n")
    with refused("columns: got ['pos', 'tag'], expected different names, 'token' among them"):
        read_conll(path, ["pos", "tag"])
    with refused("columns: got ['token', 'a', 'a'], expected different names"):
        read_conll(path, ["token", "a", "a"])
    with refused("scheme: got 'IOB', expected plain, BIO"):
        read_conll(path, scheme="IOB")
    with refused("repair: got True, expected"):
        read_conll(path, repair=True)  # type: ignore[arg-type]
    with refused("separator: got '', expected a column separator"):
        read_conll(path, separator="")
    with refused("encoding: got 'utf-9', expected the name of an encoding"):
        read_conll(path, encoding="utf-9")
    with pytest.raises(FileNotFoundError, match="none"):
        read_conll(tmp_path / "none")


@pytest.mark.parametrize("scheme", DETECTED)
@pytest.mark.parametrize("separator", [" ", "\t"])
@settings(max_examples=15)
@given(drawn=st.lists(documents("ab#é'", least=1), max_size=4))
def test_round_trip_of_columns(
    scheme: str, separator: str, drawn: list[Document], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("round") / "a.conll"
    assert write_conll(path, drawn, scheme, separator=separator) == len(drawn)
    again = list(read_conll(path, scheme=scheme))
    assert len(again) == len(drawn)
    assert all(same(a, b) for a, b in zip(again, drawn, strict=True))
    if any(document.segments for document in drawn):
        guessed = read_conll(path)
        assert [document.segments for document in guessed] == [d.segments for d in drawn]


def test_offsets_that_are_not_the_earliest(tmp_path: Path) -> None:
    document = Document(("a", "B"), "aa b", ((1, 2), (3, 4)))
    write_conll(tmp_path / "a", [document])
    assert "# offsets = 1:2 3:4" in (tmp_path / "a").read_text()
    assert same(next(iter(read_conll(tmp_path / "a"))), document)
    foreign = put(tmp_path, "# text = Ann sings\nAnn O\nsings O\n")
    assert next(iter(read_conll(foreign))).offsets == ((0, 3), (4, 9))


def test_bare_columns(tmp_path: Path) -> None:
    document = Document.from_text("Ann sings")
    tagged = Document(document.tokens, document.text, segments=(Segment(0, 1, "X"),))
    write_conll(tmp_path / "a", [tagged, tagged], "BIOES", comments=False)
    assert (tmp_path / "a").read_text() == "Ann S-X\nsings O\n\n" * 2


A = Document(("a",), columns={"p": ("x",)}, segments=(Segment(0, 1, "X"),))


@pytest.mark.parametrize(
    ("drawn", "options", "text"),
    [
        ([A, Document(())], {}, "documents[1].tokens: got none, expected at least one"),
        ([A, Document(("a",), segments=())], {}, "documents[1].columns: got no 'p', expected this"),
        ([A, Document(("a",), columns={"p": ["x"]})], {}, "documents[1].segments: got None, exp"),
        ([Document(("a",)), A], {}, "documents[1].segments: got a list, expected None"),
        ([A], {"columns": ["q"]}, "documents[0].columns: got no 'q', expected"),
        ([A], {"columns": ["tag"]}, "documents[0].columns: got 'tag', expected a name without"),
        ([A], {"columns": ["p q"]}, "documents[0].columns: got 'p q', expected a name without"),
        (
            [Document(("a b",))],
            {},
            "documents[0].tokens[0]: got 'a b', expected a value that fits into",
        ),
        ([Document(("",))], {}, "documents[0].tokens[0]: got '', expected a value that fits into"),
        ([Document(("a\n",))], {"separator": "\t"}, "documents[0].tokens[0]: got 'a\\n', expected"),
        (
            [Document(("\ud800",))],
            {},
            "documents[0].tokens[0]: got '\\ud800', expected a value that fits into",
        ),
        ([Document(("-DOCSTART-",))], {}, "documents[0].tokens[0]: got '-DOCSTART-', expected"),
    ],
)
def test_what_columns_cannot_hold(
    tmp_path: Path, drawn: list[Document], options: Any, text: str
) -> None:
    path = put(tmp_path, "old")
    with refused(text):
        write_conll(path, drawn, **options)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.conll"]


# ---- JSON lines -------------------------------------------------------------------------------


def test_json_lines_by_hand(tmp_path: Path) -> None:
    lines = [
        {"tokens": ["Ann", "Lee"], "segments": [[0, 2, "PER"]], "pos": ["N", "N"], "id": 7},
        {"text": "Ann Lee sings.", "spans": [[8, 13, "V"], [0, 7, "PER"]], "page": [1, 1, 2, 2]},
        {"text": "in New York", "tokens": ["in", "New York"], "spans": [[3, 11, "LOC"]]},
        {"tokens": [], "segments": []},
        {"dense": [[1, 2], [3, 4]], "segments": None, "short": ["x"]},
    ]
    path = put(tmp_path, "\n".join(map(json.dumps, lines)) + "\n\n", "a.jsonl")
    a, b, c, d, e = read_jsonl(path)
    assert (a.tokens, a.columns, a.segments) == (
        ("Ann", "Lee"),
        {"pos": ("N", "N")},
        ((0, 2, "PER"),),
    )
    assert b.tokens == ("Ann", "Lee", "sings", ".")
    assert b.segments == ((0, 2, "PER"), (2, 3, "V"))
    assert b.columns == {"page": ("1", "1", "2", "2")}
    assert (c.segments, c.offsets) == (((1, 2, "LOC"),), ((0, 2), (3, 11)))
    assert (d.tokens, d.segments) == ((), ())
    assert e.dense is not None
    assert (e.segments, e.columns) == (None, {})


def test_misaligned_spans(tmp_path: Path) -> None:
    path = put(tmp_path, '{"text": "e-mail sent", "spans": [[3, 9, "X"]]}\n', "a.jsonl")
    with refused(
        f"{path}, line 1: spans[0]: got [3, 9, 'X'], expected whole tokens, but 'mail' is"
    ):
        list(read_jsonl(path))
    [document] = read_jsonl(path, align="expand")
    assert document.segments == ((2, 4, "X"),)
    [document] = read_jsonl(path, tokeniser="characters")
    assert document.segments == ((3, 8, "X"),)
    with refused("align: got 'drop', expected 'strict' or 'expand' or 'contract'"):
        read_jsonl(path, align="drop")  # type: ignore[arg-type]
    with refused("tokeniser: got 'word'"):
        read_jsonl(path, tokeniser="word")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"tokens": ["a"]', "invalid JSON at column 17: Expecting ',' delimiter"),
        ("[1, 2]", "the line: got [1, 2], expected an object with tokens or text"),
        ("{}", "got {}, expected a dict with tokens, text"),
        ('{"tokens": "a"}', "tokens: got 'a', expected a list of strings"),
        ('{"tokens": [1]}', "tokens[0]: got 1, expected a string"),
        ('{"text": 3}', "got {'text': 3}, expected a dict with tokens, text"),
        ('{"tokens": ["a"], "segments": [[0, 2, "X"]]}', "segments[0]: got (0, 2, 'X'), expected"),
        ('{"tokens": ["a"], "segments": [[0, 1, 2]]}', "segments[0]: got [0, 1, 2], expected"),
        ('{"tokens": ["a"], "spans": [[0, 1, "X"]]}', "spans: got no text, expected text"),
        ('{"text": "b", "tokens": ["a"], "spans": []}', "spans: got tokens that do not occur in"),
        ('{"text": "a", "spans": [[0, 2, "X"]]}', "spans[0]: got [0, 2, 'X'], expected [start,"),
        ('{"text": "a", "spans": [[0, 1]]}', "spans[0]: got [0, 1], expected [start, end, label]"),
        ('{"text": "a", "spans": {"a": 1}}', "spans[0]: got {'a': 1}, expected [start, end,"),
        ('{"text": "a b", "spans": [[1, 2, "X"]]}', "spans[0]: got [1, 2, 'X'], expected a token"),
        (
            '{"text": "a b", "spans": [[0, 3, "X"], [2, 3, "Y"]]}',
            "spans[1]: got [2, 3, 'Y'], expected start >= 3, where the span before it ends",
        ),
        ('{"text": "a", "spans": [], "segments": []}', "spans: got segments as well, expected one"),
        (
            '{"tokens": [], "segments": 3}',
            "segments: got 3, expected a list of [start, end, label]",
        ),
        ('{"tokens": ["a"], "offsets": [[1e999, 2]]}', "offsets: got [[inf, 2]], expected (start,"),
        ('{"tokens": [' + "9" * 5000 + "]}", "got JSON that cannot be read: Exceeds the limit"),
        ("[" * 100000, "got JSON that cannot be read: maximum recursion depth exceeded"),
        ('{"dense": [[NaN]]}', "dense[0, 0]: got nan, expected a finite number"),
    ],
)
def test_wrong_json_names_file_and_line(tmp_path: Path, line: str, text: str) -> None:
    path = put(tmp_path, '{"tokens": []}\n\n' + line + "\n", "a.jsonl")
    with refused(f"{path}, line 3: {text}"):
        list(read_jsonl(path))


@settings(max_examples=50)
@given(drawn=st.lists(documents("ab#é'\u2028\r\x00", least=0), max_size=4))
def test_round_trip_of_json_lines(
    drawn: list[Document], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("round") / "a.jsonl"
    assert write_jsonl(path, drawn) == len(drawn)
    again = list(read_jsonl(path))
    assert all(same(a, b) for a, b in zip(again, drawn, strict=True) if a.tokens)
    texts = [Document(d.tokens, d.text, d.offsets) for d in drawn if d.text is not None]
    write_jsonl(path, texts, form="text")
    for a, b in zip(read_jsonl(path), texts, strict=True):
        assert a.text == b.text


def test_text_form_keeps_offsets(tmp_path: Path) -> None:
    document = Document.from_text("Dr. Ann Lee, Oslo")
    labelled = Document(
        document.tokens, document.text, document.offsets, segments=(Segment(2, 4, "PER"),)
    )
    write_jsonl(tmp_path / "a", [labelled, document], form="text")
    assert (tmp_path / "a").read_text().splitlines() == [
        '{"text": "Dr. Ann Lee, Oslo", "spans": [[4, 11, "PER"]]}',
        '{"text": "Dr. Ann Lee, Oslo"}',
    ]
    first, second = read_jsonl(tmp_path / "a")
    assert same(first, labelled)
    assert same(second, document)
    with refused(
        "documents[0].text: got None, expected a text with offsets; write them with form='tokens'"
    ):
        write_jsonl(tmp_path / "a", [Document(("a",))], form="text")


def test_attributes_arrays_and_odd_letters_in_json(tmp_path: Path) -> None:
    attributes: Any = [{"a": 0.5, "b": np.float64(2)}, {"x", "y"}]
    document = Document(("\ud800", "é"), attributes=attributes, dense=np.eye(2))
    write_jsonl(tmp_path / "a", [document])
    [again] = read_jsonl(tmp_path / "a")
    assert again.tokens == document.tokens
    assert again.attributes == [{"a": 0.5, "b": 2.0}, ["x", "y"]]
    np.testing.assert_array_equal(again.dense, np.eye(2))
    with refused("documents[0].attributes: got what JSON cannot hold: object in an attribute"):
        write_jsonl(tmp_path / "b", [Document(("a",), attributes=[{"a": object()}])])
    with refused("documents[0].columns: got 'text', expected a name that is not reserved"):
        write_jsonl(tmp_path / "b", [Document(("a",), columns={"text": ["a"]})])
    assert not (tmp_path / "b").exists()


# ---- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.conll", "a.tsv.gz", "a.jsonl", "a.JSON.gz", "a.ndjson"])
def test_formats_by_name(tmp_path: Path, name: str) -> None:
    assert write(tmp_path / name, [A, A]) == 2
    content = (tmp_path / name).read_bytes()
    assert (content[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert [same(document, A) for document in read(str(tmp_path / name))] == [True, True]
    write(tmp_path / name, [A, A])
    assert (tmp_path / name).read_bytes() == content  # no time in it


def test_unknown_formats(tmp_path: Path) -> None:
    with refused("path: got 'a.doc', expected a name that ends in .conll"):
        write("a.doc", [])
    with refused("path: got '-', expected a name that ends in .conll"):
        write("-", [])
    with refused("format: got 'yaml', expected conll or jsonl or csv or parquet or xlsx or "):
        read("a.conll", "yaml")
    path = put(tmp_path, "a O\n", "a.txt")
    assert read(path, "conll", scheme="BIO").scheme == "BIO"


def test_standard_input_and_output(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xc3\xa9 S-X\n")))
    corpus = read("-", "conll")  # kept, to be read twice
    assert corpus.scheme == "BIOES"
    for _ in range(2):
        assert [document.tokens for document in corpus] == [("é",)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"tokens": ["a"]}\n{\n')))
    corpus = read("-", "jsonl")
    documents = iter(corpus)
    assert next(documents).tokens == ("a",)
    with refused("standard input, line 2: invalid JSON"):
        next(documents)
    with refused("standard input: can be read only once; keep its documents in a list"):
        list(corpus)
    write("-", [A], "conll", comments=False)
    write("-", [A], "jsonl")
    assert capsysbinary.readouterr().out == (
        b'a x B-X\n\n{"tokens": ["a"], "segments": [[0, 1, "X"]], "p": ["x"]}\n'
    )


def test_pipes_are_read_once(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a B-X\n")
    os.close(writer)
    corpus = read_conll(f"/dev/fd/{reader}")
    assert corpus.scheme == "BIO"
    assert len(list(corpus)) == 1
    os.close(reader)


def test_reading_streams(tmp_path: Path) -> None:
    """What comes after an error has not been looked at, and what comes before it is there."""
    path = put(tmp_path, '{"tokens": ["a"]}\n' * 3 + "{", "a.jsonl")
    documents = iter(read_jsonl(path))
    assert [len(next(documents)) for _ in range(3)] == [1, 1, 1]
    with refused(f"{path}, line 4"):
        next(documents)


def test_written_from_what_is_read_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    write(path, [A] * 5000)
    assert write(path, read(path)) == 5000
    assert len(list(read(path))) == 5000

    def broken() -> Iterator[Document]:
        yield A
        raise KeyError

    with pytest.raises(KeyError):
        write(path, broken())
    assert len(list(read(path))) == 5000
    assert os.listdir(tmp_path) == ["a.conll"]


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes("\ufeffa O\n\né O\n".encode("latin-1", "ignore"))
    with refused(f"{path}, line 3: got bytes that are not utf-8"):
        list(read_conll(path))
    assert [d.tokens for d in read_conll(path, encoding="latin-1")] == [("a",), ("é",)]
    path.write_bytes("\ufeffa O\n".encode())
    assert [d.tokens for d in read_conll(path)] == [("a",)]


def test_damaged_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    packed = gzip.compress(b'{"tokens": ["a"]}\n' * 9)
    for content in (packed[:-9], b"no archive", packed[:-6] + b"\x00" * 6, packed + b"x"):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=r"a\.jsonl\.gz, line \d+: the compressed file is"):
            list(read_jsonl(path))


def test_columns_of_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        '{"attributes": [["w=a"], []], "lemma": ["a", "b"], "columns": {"pos": ["X", "Y"]}}'
    )
    [document] = read_jsonl(file)
    assert document.columns == {"lemma": ("a", "b"), "pos": ("X", "Y")}
    model = caesura.SemiCRF([word[0]], max_iterations=2).fit([["Ann"]], [[(0, 1, "PER")]])
    with pytest.raises(InvalidInput, match=r"X\[0\]: got attributes without words"):
        model.predict([document])
