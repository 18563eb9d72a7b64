"""Partial labels in files: from the labelling page to training, and back to the page."""

from pathlib import Path
from typing import Any, Literal

import pytest
from cli_data import LABELS, addresses, bad, good, records_of, run, write_lines

import caesura
from caesura import corpora
from caesura.documents import Document, Partial
from caesura.documents.tokeniser_fitting import recut
from caesura.errors import InvalidInput
from caesura.segments import Segment
from caesura.server.edits import State
from caesura.server.project import Project
from caesura.server.suggestions import suggested

KNOWN = Partial([(0, 1, "number")], {1: ["street", "town"], 4: "O"}, [4], [2])


def test_a_document_has_segments_or_partial_labels() -> None:
    tokens = ("12", "High", "Street", ",", "Leeds")
    document = Document(tokens, known=KNOWN)
    assert document.known is KNOWN
    assert Document(tokens, known=KNOWN.plain()).known == KNOWN  # type: ignore[arg-type]
    assert caesura.documents.as_document({"tokens": tokens, "known": KNOWN}).known == KNOWN
    with pytest.raises(InvalidInput, match="known: got segments as well"):
        Document(tokens, segments=(Segment(0, 1, "number"),), known=KNOWN)
    with pytest.raises(InvalidInput, match=r"known\.tokens: got 4"):
        Document(tokens[:3], known=Partial(tokens={4: "O"}))
    wrong: Any
    for wrong in ({"outside": []}, [], {"segments": [[0, 1]]}, {"tokens": {"x": "O"}}):
        with pytest.raises(InvalidInput, match="known"):
            Document(tokens, known=wrong)


def test_a_finer_cut_moves_partial_labels() -> None:
    words = Document.from_text("5km to Leeds")
    known = Partial([(0, 1, "far")], {1: "O"}, [2], [])
    document = Document(words.tokens, words.text, words.offsets, known=known)
    assert recut(document, "words") is document
    parts = recut(document, "parts")
    assert parts.tokens == ("5", "km", "to", "Leeds")
    assert parts.known == Partial([(0, 2, "far")], {2: "O"}, [3])
    inside = Document(("a", "b"), "ab", ((0, 1), (1, 2)), known=Partial([(1, 2, "x")]))
    with pytest.raises(InvalidInput, match="tokeniser does not cut"):
        recut(inside, "words")


def test_json_lines_hold_partial_labels(tmp_path: Path) -> None:
    documents = addresses(2, 1)
    documents[1] = Document(*_bare(documents[1]), known=KNOWN)
    path = tmp_path / "a.jsonl"
    forms: tuple[Literal["tokens", "text"], ...] = ("tokens", "text")
    for form in forms:
        corpora.write_jsonl(path, documents, form=form)
        whole, part = corpora.read(path)
        assert (whole.segments, whole.known) == (documents[0].segments, None)
        assert (part.segments, part.known, part.text) == (None, KNOWN, documents[1].text)


def test_training_uses_partial_labels_as_such(tmp_path: Path) -> None:
    full, some = addresses(20, 1), addresses(20, 2)
    known = [Partial(document.segments[:1]) for document in some if document.segments]
    partial = [Document(*_bare(d), known=k) for d, k in zip(some, known, strict=True)]
    corpora.write(tmp_path / "labels.jsonl", [*full, *partial])
    ran = good(
        "train", tmp_path / "labels.jsonl", "-o", tmp_path / "a.model", "--preset", "generic"
    )
    assert "train: 20 sequences labelled only in part" in ran.out
    targets = [*(d.segments for d in full), *known]
    expected = caesura.SemiCRF("generic").fit([*full, *some], targets)
    found = caesura.load(tmp_path / "a.model")
    test = addresses(30, 3)
    for one, other in zip(
        found.predict_confident(test), expected.predict_confident(test), strict=True
    ):
        assert [(a.segment, round(a.probability, 4)) for a in one] == [
            (b.segment, round(b.probability, 4)) for b in other
        ]
    streamed = ("--learner", "sgd", "--stream", "--max-iterations", "3")
    good("train", tmp_path / "labels.jsonl", "-o", tmp_path / "s.model", *streamed)
    also = ("--also", tmp_path / "labels.jsonl", "--json")
    corpora.write(tmp_path / "train.jsonl", full)
    ran = good("train", tmp_path / "train.jsonl", "-o", tmp_path / "b.model", *also)
    assert ran.json["data"]["train"]["partial"] == 20


def test_what_cannot_use_partial_labels_names_them(tmp_path: Path) -> None:
    full, some = addresses(12, 1), addresses(4, 2)
    path = tmp_path / "labels.jsonl"
    corpora.write(path, [*full, *(Document(*_bare(d), known=Partial()) for d in some)])
    error = bad("train", path, "-o", tmp_path / "a.model", "--learner", "perceptron")
    assert f"{path}, sequence 13" in error
    assert "all labels of the sequence with the learner perceptron" in error
    good("train", path, "-o", tmp_path / "b.model", "--quiet")
    ran = good("evaluate", tmp_path / "b.model", path)
    assert f"{path}: left out 4 sequences labelled only in part" in ran.err
    assert "12 of 12 sequences right" in ran.out
    ran = run("train", path, "-o", tmp_path / "c.model", "--dev", path)
    assert ran.code == 0
    assert "left out 4 sequences labelled only in part" in ran.err
    corpora.write(path, [Document(*_bare(d), known=Partial()) for d in some])
    assert "got only partial labels" in bad("evaluate", tmp_path / "b.model", path)
    assert "no segments at all" in bad("train", path, "-o", tmp_path / "d.model")


def test_conversion_keeps_partial_labels_where_it_can(tmp_path: Path) -> None:
    documents = [addresses(1, 1)[0], Document(*_bare(addresses(1, 2)[0]), known=KNOWN)]
    corpora.write(tmp_path / "a.jsonl", documents)
    good("convert", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert [one.known for one in corpora.read(tmp_path / "b.jsonl")] == [None, KNOWN]
    ran = good("convert", tmp_path / "a.jsonl", tmp_path / "b.csv")
    assert "csv has no place for partial labels: 1 sequence without any" in ran.err


def test_the_page_goes_on_from_what_it_has_written(tmp_path: Path) -> None:
    texts = [Document(*_bare(d)) for d in addresses(6, 1)]
    project = Project(texts, tmp_path / "a.jsonl", LABELS)
    project.act(0, [{"op": "accept", "segments": [[0, 1, "number"]]}], 0)
    some = [{"op": "label", "start": 0, "end": 1, "label": "number"}]
    some += [{"op": "outside", "start": 1, "end": 3}, {"op": "status", "status": "partial"}]
    project.act(1, some, 1)
    project.export()
    project.close()
    written = list(corpora.read(tmp_path / "a.jsonl"))
    again = Project([*written, *texts[2:]], tmp_path / "b.jsonl", LABELS)
    assert again.counts() == {"done": 1, "partial": 1, "open": 4}
    assert again.state(1).partial() == project.state(1).partial()
    again.export()
    assert (tmp_path / "b.jsonl").read_text() == (tmp_path / "a.jsonl").read_text()
    again.act(1, [{"op": "free", "start": 1, "end": 3}], 0)
    again.act(1, [{"op": "status", "status": "partial"}], 1)
    again.export()
    again.close()
    _, part = corpora.read(tmp_path / "b.jsonl")
    assert part.known == Partial([(0, 1, "number")])


def test_partial_labels_that_the_page_cannot_show_stay_in_the_file(tmp_path: Path) -> None:
    document = Document(*_bare(addresses(1, 1)[0]), known=KNOWN)
    project = Project([document], tmp_path / "a.jsonl", LABELS)
    project.export()
    project.close()
    assert [d.known for d in corpora.read(tmp_path / "a.jsonl")] == [KNOWN]


def test_labels_to_review_are_suggestions(tmp_path: Path) -> None:
    gold = addresses(3, 1)
    project = Project(gold, tmp_path / "a.jsonl", [], review=True)
    assert project.counts() == {"open": 3}
    assert sorted(project.labels) == LABELS
    draft = project.drafts[0]
    assert draft == gold[0].segments
    shown = suggested(None, gold[0], State(), draft)
    assert [(s["start"], s["end"], s["label"]) for s in shown] == list(map(tuple, draft))
    fixed = State(segments=(Segment(0, 2, "number"),))
    shown = suggested(None, gold[0], fixed, draft)  # what does not agree with it gives way
    assert [(s["label"], s["fixed"]) for s in shown] == [("number", True), ("town", False)]
    project.close()


def test_texts_from_tables_and_from_segment(tmp_path: Path) -> None:
    from caesura.cli.label import _documents
    from caesura.cli.reading import Reading

    table = tmp_path / "a.csv"
    table.write_text("text,number,town\n12 High Street Leeds,12,Leeds\n7 Park Lane York,,\n")
    labelled, bare = _documents(str(table), Reading(), "words", ["town", "street"])
    assert labelled.segments == (Segment(3, 4, "town"),)
    assert bare.segments is None  # an empty row is not labelled yet
    corpora.write(tmp_path / "train.jsonl", addresses(20, 1))
    good("train", tmp_path / "train.jsonl", "-o", tmp_path / "a.model", "--quiet")
    texts = tmp_path / "new.txt"
    texts.write_text("12 High Street, Leeds\n7 Park Lane, York\n")
    options = ("--threshold", "0.999999", "--review", tmp_path / "doubtful.csv")
    good("segment", tmp_path / "a.model", texts, "-o", tmp_path / "good.jsonl", *options)
    for_review = _documents(str(tmp_path / "doubtful.csv"), Reading(), "words", LABELS)
    assert [len(one.segments or ()) for one in for_review] == [3, 3]
    good("segment", tmp_path / "a.model", texts, "-o", tmp_path / "all.jsonl")
    found = _documents(str(tmp_path / "all.jsonl"), Reading(), "words", LABELS)
    assert [d.text for d in found] == texts.read_text().splitlines()
    assert all(d.segments for d in found)


def test_a_key_named_known_must_be_partial_labels(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": "a b", "known": True}])
    assert "line 1: known: got True" in bad("train", path, "-o", tmp_path / "a.model")
    assert records_of(path)[0]["known"] is True


def _bare(document: Document) -> tuple[tuple[str, ...], str | None, tuple[tuple[int, int], ...]]:
    return document.tokens, document.text, document.offsets or ()
