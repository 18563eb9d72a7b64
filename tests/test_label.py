"""Labelling projects: edits, the journal, suggestions under corrections, learning, ownership."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from cli_data import bad
from hypothesis import given, settings
from hypothesis import strategies as st
from server_cases import semi
from starlette.testclient import TestClient

import caesura
from caesura import corpora
from caesura.demo import citations
from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.segments import Segment
from caesura.server.background_training import Teacher, contradictions
from caesura.server.edits import State, edited, read_state
from caesura.server.journal import Journal
from caesura.server.label_api import label_application
from caesura.server.limits import Refused
from caesura.server.project import Project
from caesura.server.suggestions import suggested

LABELS = ["author", "title", "date"]
T = 8
LOCAL = "http://127.0.0.1"


# -- edits -----------------------------------------------------------------------------------------

spans = st.tuples(st.integers(0, T - 1), st.integers(1, T)).filter(lambda s: s[0] < s[1])
operations = st.one_of(
    st.builds(
        lambda s, y: {"op": "label", "start": s[0], "end": s[1], "label": y},
        spans,
        st.sampled_from(LABELS),
    ),
    st.builds(lambda s: {"op": "outside", "start": s[0], "end": s[1]}, spans),
    st.builds(lambda s: {"op": "free", "start": s[0], "end": s[1]}, spans),
    st.builds(lambda s: {"op": "status", "status": s}, st.sampled_from(["partial", "skipped"])),
)


@settings(max_examples=200)
@given(st.lists(operations, max_size=8))
def test_edits_keep_segments_apart_and_the_last_word(ops: list[Any]) -> None:
    state = edited(State(), ops, T, LABELS)
    spans = [*((s.start, s.end) for s in state.segments), *state.outside]
    taken = [t for start, end in spans for t in range(start, end)]
    assert len(taken) == len(set(taken))
    assert list(state.segments) == sorted(state.segments)
    assert read_state(json.loads(json.dumps(state.plain())), T) == state
    changes = [op for op in ops if op["op"] != "status"]
    if changes:
        last = changes[-1]
        span = (last["start"], last["end"])
        if last["op"] == "label":
            assert Segment(*span, last["label"]) in state.segments
        elif last["op"] == "outside":
            assert span in state.outside
        else:
            assert not set(range(*span)) & set(taken)


@pytest.mark.parametrize(
    "op",
    [
        *(3, {}, {"op": "no"}, {"op": []}, {"op": "label", "start": 0, "end": 1}),
        *({"op": "outside", "start": 2, "end": 2}, {"op": "free", "start": 0, "end": T + 1}),
        *({"op": "status", "status": "done"}, {"op": "accept", "segments": [[0, 1]]}),
        {"op": "accept", "segments": [[0, 2, "author"], [1, 3, "title"]]},
        {"op": "accept", "segments": [[0, 2, "unknown"]]},
    ],
)
def test_wrong_edits(op: Any) -> None:
    with pytest.raises(InvalidInput):
        edited(State(), [op], T, LABELS)


# -- the journal and the project -------------------------------------------------------------------


def project_in(folder: Path, documents: Any = None) -> Project:
    texts = [Document.from_text(str(d.text)) for d in citations(20, 7)]
    return Project(texts if documents is None else documents, folder / "labels.jsonl", LABELS)


def test_a_journal_survives_a_torn_line_and_refuses_a_second_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    journal = Journal(path)
    journal.append({"n": 1})
    with pytest.raises(InvalidInput, match="another process"):
        Journal(path)
    journal.close()
    path.write_bytes(path.read_bytes() + b'{"n": 2')
    again = Journal(path)
    assert list(again.entries()) == [{"n": 1}]
    again.append({"n": 3})
    assert list(again.entries()) == [{"n": 1}, {"n": 3}]
    again.close()
    path.write_bytes(b"no\n")
    damaged = Journal(path)
    with pytest.raises(InvalidInput, match="line 1"):
        list(damaged.entries())
    damaged.close()


def test_a_project_is_the_same_after_a_restart(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    project.add_label("venue", 0)
    project.act(3, [{"op": "label", "start": 0, "end": 2, "label": "venue"}], 1)
    project.act(4, [{"op": "accept", "segments": [[0, 1, "author"]]}], 2)
    project.act(4, [{"op": "status", "status": "skipped"}], 3)
    assert project.undo(4) == 4
    with pytest.raises(Refused) as refused:
        project.act(5, [{"op": "outside", "start": 0, "end": 1}], 4)
    assert refused.value.status == 409
    project.act(5, [{"op": "label", "start": 1, "end": 3, "label": "title"}], 5)
    project.act(5, [{"op": "status", "status": "partial"}], 6)
    before = (project.revision, project.states, project.labels, project.counts())
    project.close()  # nothing was exported: the journal is enough
    more = [*project.documents[::-1], Document.from_text("A new text")]
    again = project_in(tmp_path, more)
    places = {key: i for i, key in enumerate(again.keys)}
    moved = {places[project.keys[i]]: state for i, state in before[1].items()}
    assert (again.revision, again.states, again.labels) == (before[0], moved, before[2])
    assert again.undo(again.revision) == again.undo(again.revision) == places[project.keys[5]]
    assert again.state(places[project.keys[5]]) == State()
    again.undo(again.revision, again=True)
    again.undo(again.revision, again=True)
    again.export()
    again.close()
    done, some = sorted(corpora.read(tmp_path / "labels.jsonl"), key=lambda d: d.known is not None)
    assert (done.segments, done.known) == ((Segment(0, 1, "author"),), None)
    assert (some.segments, some.known) == (None, caesura.Partial([(1, 3, "title")]))
    assert [d.text for d in (done, some)] == [project.documents[i].text for i in (4, 5)]


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_in(tmp_path)
    project.act(0, [{"op": "outside", "start": 0, "end": 1}], 0)

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            project.act(0, [{"op": "outside", "start": 1, "end": 2}], 1)
    assert (project.revision, project.state(0).outside) == (1, ((0, 1),))
    project.act(0, [{"op": "outside", "start": 2, "end": 3}], 1)
    project.close()
    again = project_in(tmp_path)
    assert again.state(0).outside == ((0, 1), (2, 3))
    again.close()


def test_labels_without_a_journal_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text("{}\n")
    with pytest.raises(InvalidInput, match="not its journal"):
        project_in(tmp_path)


# -- suggestions -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> Any:
    return semi()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_rest_is_decoded_under_what_is_fixed(model: Any, data: Any) -> None:
    document = data.draw(st.sampled_from(citations(20, 9)))
    length = len(document)
    start = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(start + 1, min(length, start + 6)))
    label = data.draw(st.sampled_from([*model.labels_, "unknown"]))
    state = State(segments=(Segment(start, end, label),))
    found = suggested(model, document, state)
    assert [one for one in found if one["fixed"]] == [
        {"start": start, "end": end, "label": label, "probability": None, "fixed": True}
    ]
    inner = [t for t in (start, end) if 0 < t < length]
    rules = {"required": [(start, end, label)]} if label != "unknown" else {"boundaries": inner}
    [sure] = model.predict_confident([document], constraints=rules)
    others = [one for one in sure if one.segment.end <= start or end <= one.segment.start]
    assert [
        (o["start"], o["end"], o["label"], o["probability"]) for o in found if not o["fixed"]
    ] == [(*one.segment, one.probability) for one in others]


def test_what_is_outside_gets_no_suggestion(model: Any) -> None:
    document = citations(1, 9)[0]
    found = suggested(model, document, State(outside=((0, 3),)))
    assert found
    assert all(one["start"] >= 3 for one in found)
    assert suggested(None, document, State()) == []


# -- learning --------------------------------------------------------------------------------------


def test_a_teacher_learns_tests_and_orders(tmp_path: Path) -> None:
    gold = citations(60, 4)
    labels = sorted({s.label for d in gold for s in d.segments or ()})
    texts = [Document(d.tokens, d.text, d.offsets) for d in gold]
    project = Project(texts, tmp_path / "labels.jsonl", labels)
    teacher = Teacher(project, every=5)
    assert teacher.next(None) is not None
    teacher.start()
    for _ in range(30):
        i = teacher.next(None)
        assert i is not None
        segments = [list(segment) for segment in gold[i].segments or ()]
        project.act(i, [{"op": "accept", "segments": segments}], project.revision)
        teacher.nudge()
        if project.revision % 5 == 0:
            _wait(lambda: not teacher.training and len(teacher.curve) >= project.revision // 10)
    teacher.nudge(train=True)
    count = len(teacher.curve)
    _wait(lambda: len(teacher.curve) > count and not teacher.training)
    teacher.stop()
    assert teacher.problem == ""
    last = teacher.curve[-1]
    assert last["held_out"] >= 5
    assert last["examples"] + last["held_out"] == 30
    assert last["f1"] > 0.3
    assert caesura.load(tmp_path / "labels.model").labels_
    assert len(list(corpora.read(tmp_path / "labels.jsonl"))) == 30
    project.close()


def _wait(done: Any) -> None:
    deadline = time.monotonic() + 30
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert done()


def test_the_least_sure_text_comes_first(tmp_path: Path, model: Any) -> None:
    project = project_in(tmp_path)
    teacher = Teacher(project, model)
    teacher._score()
    entropies = model.uncertainty(project.documents)
    order = [i for i in entropies.argsort()[::-1].tolist() if i not in teacher._tests]
    assert teacher.next(None) == order[0]
    assert teacher.next(order[0]) == order[1]
    project.close()


def test_contradictions(tmp_path: Path) -> None:
    texts = [Document.from_text("In NIPS, 2004"), Document.from_text("NIPS. 1999"), *[]]
    project = project_in(tmp_path, texts)
    project.act(0, [{"op": "accept", "segments": [[1, 2, "title"]]}], 0)
    project.act(1, [{"op": "accept", "segments": [[0, 2, "author"]]}], 1)
    found = contradictions(project, project.snapshot())
    assert found == [{"words": "nips", "labels": {"title": [0], "author": [1]}}]
    project.close()


# -- the requests of the page ----------------------------------------------------------------------


@pytest.fixture
def client(tmp_path: Path, model: Any) -> Any:
    project = project_in(tmp_path)
    with TestClient(label_application(project, Teacher(project, model)), LOCAL) as made:
        yield made
    project.close()


def post(client: TestClient, name: str, status: int = 200, **body: Any) -> Any:
    response = client.post(f"/api/{name}", json=body)
    assert response.status_code == status, response.text
    return response.json()


def test_one_page_at_a_time_may_change_things(client: TestClient) -> None:
    first = post(client, "open")
    second = post(client, "open")
    assert (first["owner"], second["owner"]) == (True, False)
    ops = [{"op": "outside", "start": 0, "end": 1}]
    mine = {"text": 0, "revision": 0, "session": first["session"]}
    post(client, "act", 423, **(mine | {"session": second["session"]}), ops=ops)
    assert post(client, "act", **mine, ops=ops)["revision"] == 1
    post(client, "act", 409, **mine, ops=ops)
    assert post(client, "open", session=first["session"])["owner"]  # reloaded
    assert post(client, "open", session=second["session"], take=True)["owner"]
    assert not post(client, "status", session=first["session"])["owner"]
    post(client, "undo", 423, session=first["session"], revision=1)
    assert post(client, "undo", session=second["session"], revision=1)["text"] == 0
    post(client, "close", session=second["session"])
    assert post(client, "open", session=first["session"])["owner"]


def test_the_text_that_was_left_is_offered_again(client: TestClient) -> None:
    mine = post(client, "open")
    left = mine["first"] + 2
    post(client, "text", text=left, session=mine["session"])
    post(client, "text", text=left + 1)  # another page only looks
    post(client, "close", session=mine["session"])
    mine = post(client, "open")
    assert mine["first"] == left
    accept = {"text": left, "revision": 0, "session": mine["session"], "ops": [{"op": "accept"}]}
    post(client, "act", **accept)
    assert post(client, "open", session=mine["session"])["first"] not in (None, left)


def test_lists_and_wrong_requests(client: TestClient) -> None:
    session = post(client, "open")["session"]
    assert post(client, "list")["count"] == 20
    assert client.post("/api/list", json={"status": "done"}).json() == {"rows": [], "count": 0}
    text = post(client, "text", text=2)
    whole = "".join(gap + word for gap, word in text["tokens"]) + text["rest"]
    assert post(client, "list", words=whole[:40])["rows"][0]["text"] == 2
    for body in ({"text": 99}, {"text": -1}, {"text": "1"}, {}):
        assert client.post("/api/text", json=body).status_code in (400, 404)
    assert client.post("/api/text", json=[]).status_code == 400
    for name in ("", "author", "O", "a\nb", "x" * 101, 3):
        post(client, "label", 400, session=session, revision=0, label=name)
    assert "<b>" in post(client, "label", session=session, revision=0, label="<b>")["labels"]


def test_wrong_commands(tmp_path: Path) -> None:
    texts = tmp_path / "a.txt"
    texts.write_text("")
    assert "no texts" in bad("label", texts, "-o", tmp_path / "l.jsonl")
    assert "ends in .jsonl" in bad("label", texts, "-o", tmp_path / "l.csv")
    (tmp_path / "b.txt").write_text("12 High Street")
    error = bad("label", tmp_path / "b.txt", "-o", tmp_path / "l.jsonl", "--labels", "a,O")
    assert "--labels: got O" in error
    assert "tokens" in bad("label", texts, "-o", tmp_path / "l.jsonl", "--host", "0.0.0.0")


def test_threads_that_act_at_once_are_told(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    won: list[int] = []

    def act(k: int) -> None:
        for _ in range(20):
            try:
                now = project.revision
                project.act(k, [{"op": "outside", "start": 0, "end": 1}], now)
                won.append(now)
            except Refused:
                pass

    threads = [threading.Thread(target=act, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(project.revision))
    project.close()
