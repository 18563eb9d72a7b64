"""Loads into every kind of target: rows, identities, resumption, changed inputs and models."""

import copy
import gc
import json
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

import pytest
from kill_loads import BATCH, Job, context, duration, trial
from load_cases import KINDS, marks, model, rows, texts

import caesura
from caesura import InvalidInput
from caesura.records import Progress, load
from caesura.records.layout import doubtful
from caesura.records.sinks import Sink, sink_for
from caesura.records.versions import version_of


@pytest.fixture(params=KINDS)
def into(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a target of each kind."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres"))
    if request.param == "sqlalchemy":
        return f"sqlite+pysqlite:///{tmp_path}/target.sqlite3"
    suffix = {"duckdb": "duckdb", "sqlite": "db", "parquet": "parquet"}[request.param]
    return str(tmp_path / f"target.{suffix}")


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "address.model"
    model().save(path)
    return str(path)


# -- what is in a row ----------------------------------------------------------------------------


def test_rows_hold_what_extract_finds(into: str) -> None:
    given = [{"text": text, "price": i / 2, "n": i} for i, text in enumerate(texts(30))]
    done = load(model(), given, into, verbatim=True, model_name="address", source_name="mine")
    assert (done.records, done.rows, done.written, done.stale) == (30, 30, 30, 0)
    found = {row["record"]: row for row in rows(into)}
    for i, record in enumerate(model().extract([one["text"] for one in given])):
        row = found[str(i + 1)]
        assert (row["text"], row["price"], row["n"]) == (record.text, i / 2, i)
        assert row["probability"] == pytest.approx(record.probability)
        assert (row["source"], row["part"], row["model_name"]) == ("mine", 1, "address")
        assert row["model_version"] == version_of(model())
        assert len(row["row_id"]) == 32
        for label in record:
            value = record.first(label)
            if value is None:
                assert row[label] is row[f"{label}_start"] is row[f"{label}_probability"] is None
                continue
            assert row[label] == value.value
            assert row[f"{label}_text"] == value.text
            assert record.text[row[f"{label}_start"] : row[f"{label}_end"]] == value.text
            assert row[f"{label}_probability"] == pytest.approx(value.probability)
        segments = json.loads(row["segments"])
        assert [(one["label"], one["start"]) for one in segments] == [
            (label, value.start) for label, value in record.fields
        ]
        assert row["review"] == any((value.probability or 0) < 0.9 for _, value in record.fields)


def test_several_segments_of_a_label_share_a_cell(tmp_path: Path) -> None:
    X, y = ["Ann and Bo", "Lee and Cy"], [[(0, 1, "who"), (2, 3, "who")]] * 2
    pair = caesura.SemiCRF(c2=0.01).fit(X, y)
    load(pair, X, tmp_path / "a.db", verbatim=True)
    row = next(one for one in rows(str(tmp_path / "a.db")) if one["record"] == "1")
    assert (row["who"], row["who_text"]) == ("Ann | Bo", "Ann | Bo")
    assert (row["who_start"], row["who_end"]) == (0, 10)
    chances = [one["probability"] for one in json.loads(row["segments"])]
    assert row["who_probability"] == pytest.approx(min(chances))


def test_a_row_without_fields_is_for_review(tmp_path: Path) -> None:
    done = load(model(), ["", "  "], tmp_path / "a.db", threshold=0.0)
    assert (done.written, done.review) == (2, 2)
    assert [row["segments"] for row in rows(str(tmp_path / "a.db"))] == ["[]", "[]"]


def test_text_that_databases_cannot_store(into: str) -> None:
    given = ["1 A\0 Street, Leeds", "2 B\ud800 Street, York"]
    load(model(), given, into)
    assert {row["text"] for row in rows(into)} == {
        "1 A\ufffd Street, Leeds",
        "2 B\ufffd Street, York",
    }
    assert load(model(), given, into).written == 0


# -- identity, again and again -------------------------------------------------------------------


def test_equal_strings_are_two_rows_and_a_second_load_does_nothing(into: str) -> None:
    given = ["7 Park Lane, York"] * 5
    assert load(model(), given, into, batch=2).written == 5
    before = rows(into)
    again = load(model(), given, into, batch=2)
    assert (again.written, again.rows, again.records, again.stale) == (0, 5, 5, 0)
    assert rows(into) == before
    assert len(before) == 5


def test_rows_that_are_appended_are_added(into: str) -> None:
    given = texts(20)
    load(model(), given[:13], into, batch=4)
    done = load(model(), given, into, batch=4)
    assert (done.written, done.rows, done.stale) == (7, 20, 0)
    assert sorted(int(row["record"]) for row in rows(into)) == list(range(1, 21))


def test_other_inputs_stay_apart(into: str) -> None:
    given = texts(6)
    for name in ("a", "b"):
        assert load(model(), given, into, source_name=name).written == 6
    assert len(rows(into)) == 12


def test_ids_identify_records_wherever_they_stand(into: str) -> None:
    given = [{"text": text, "key": f"k{i}"} for i, text in enumerate(texts(12))]
    load(model(), given, into, id_column="key", batch=5)
    done = load(model(), given[::-1], into, id_column="key", batch=5)
    assert (done.written, done.stale) == (0, 0)
    new = {"text": "3 Mill Road, Bath", "key": "new"}
    done = load(model(), [new, *given[:-2]], into, id_column="key", batch=5)
    assert (done.written, done.rows, done.stale) == (1, 11, 2)
    assert len(rows(into)) == 13


def test_a_repeated_id_with_the_same_text_is_one_row(into: str) -> None:
    """The first one is kept, in one batch or in several, and the others are counted."""
    given = [{"text": "7 Park Lane, York", "key": "k", "n": n} for n in range(7)]
    done = load(model(), given, into, id_column="key", batch=3)
    assert (done.written, done.repeated) == (1, 6)
    assert [row["n"] for row in rows(into)] == [0]
    assert load(model(), given, into, id_column="key", batch=3).repeated == 0


def test_an_id_of_several_texts_is_warned_of(into: str) -> None:
    given = [{"text": text, "key": f"k{i % 4}"} for i, text in enumerate(texts(6))]
    with pytest.warns(UserWarning, match=r"2 records with the value of .* 'key', .* example 'k0'"):
        done = load(model(), given, into, id_column="key", batch=3)
    assert done.written == 6


def test_an_iterator_is_read_once_and_its_rows_are_single(into: str) -> None:
    given = texts(9)
    assert load(model(), iter(given), into, batch=4).written == 9
    done = load(model(), iter([*given, "1 Low Street, Bath"]), into, batch=4)
    assert (done.written, done.stale) == (1, 0)


def test_a_changed_record_is_a_new_row_and_the_old_one_is_counted(into: str) -> None:
    given = texts(10)
    load(model(), given, into, batch=4, source_name="data")
    given[2] = "99 Bridge Road, Bath"
    done = load(model(), given, into, batch=4, source_name="data")
    assert (done.written, done.stale) == (1, 1)
    done = load(model(), given, into, replace=True, batch=4)
    assert (done.written, done.stale) == (10, 0)
    assert len(rows(into)) == 10


def test_another_model_is_refused_unless_rows_are_replaced(into: str) -> None:
    given, other = texts(8), caesura.SemiCRF(c2=5.0, n_threads=1)
    other.fit(["7 Park Lane, York"], [[(0, 1, "number"), (1, 3, "street"), (4, 5, "town")]])
    load(model(), given, into, batch=3)
    with pytest.raises(InvalidInput, match="replace=True"):
        load(other, given, into)
    assert load(other, given, into, replace=True, batch=3).written == 8
    assert {row["model_version"] for row in rows(into)} == {version_of(other)}


def test_a_replacement_that_was_stopped_goes_on(into: str) -> None:
    given = texts(12)

    def stop(progress: Progress) -> None:
        if progress.records == 6:
            raise KeyboardInterrupt

    load(model(), given, into, batch=3)
    with pytest.raises(KeyboardInterrupt):
        load(model(), given, into, batch=3, replace=True, progress=stop)
    assert len(rows(into)) == 6
    assert load(model(), given, into, batch=3, replace=True).written == 6
    assert load(model(), given, into, batch=3).written == 0
    assert len(rows(into)) == 12


@pytest.mark.parametrize("unsure", [False, True])
def test_review_flags_follow_another_threshold(into: str, unsure: bool) -> None:
    """Also of rows without fields, and where a load was stopped meanwhile."""
    given, other = [*texts(20), "", "???", "9 9 9 Elm Lane"], [*texts(3, 9), ""]
    load(model(), given, into, batch=4, threshold=0.5, source_name="a")
    load(model(), other, into, batch=4, threshold=0.5, source_name="b")
    whole = rows(into)
    chances = sorted(row["town_probability"] for row in whole if row["town_probability"])
    threshold = 1.0 if unsure else chances[len(chances) // 2]
    done = load(model(), given, into, batch=4, threshold=threshold, source_name="a")
    records = {one.text: one for one in model().extract(given)}
    found = rows(into)
    assert done.written == 0
    assert done.flagged == sum(
        a["review"] != b["review"] for a, b in zip(whole, found, strict=True)
    )
    assert done.flagged > 0
    for old, new in zip(whole, found, strict=True):
        assert {**old, "review": 0} == {**new, "review": 0}
        if new["source"] == "a":
            assert new["review"] == doubtful(records[new["text"]], threshold)
        else:
            assert new["review"] == old["review"]
    assert load(model(), given, into, threshold=threshold, source_name="a").flagged == 0
    assert load(model(), given, into, threshold=0.5, source_name="a").flagged == done.flagged
    assert rows(into) == whole


def test_flags_and_watermark_are_one_transaction(
    into: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the watermark cannot be stored, or not all files are written, the next load does it."""
    load(model(), texts(9), into, batch=3, threshold=0.0)
    sink = sink_for(into)
    name = "_put" if into.endswith(".parquet") else "_set_mark"
    plain, calls = getattr(type(sink), name), []

    def failing(self: Any, *arguments: Any) -> None:
        calls.append(1)
        if name == "_set_mark" or len(calls) == 2:
            raise KeyboardInterrupt
        plain(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(type(sink), name, failing)
        with pytest.raises(KeyboardInterrupt):
            load(model(), texts(9), into, batch=3, threshold=1.0)
    if name == "_set_mark":
        assert not any(row["review"] for row in rows(into))
    load(model(), texts(9), into, batch=3, threshold=1.0)
    assert all(row["review"] for row in rows(into))


def test_the_watermark_counts(tmp_path: Path) -> None:
    into = str(tmp_path / "a.duckdb")
    load(model(), texts(10), into, batch=4, source_name="s")
    [mark] = marks(into)
    assert (mark["table_name"], mark["source"], mark["records"]) == ("records", "s", 10)
    assert mark["finished"]


def test_versions_do_not_depend_on_threads_and_do_on_weights(model_file: str) -> None:
    same = caesura.load(model_file)
    assert version_of(same) == version_of(model())
    assert version_of(same.set_params(outside_bias=1.0)) != version_of(model())


# -- the thread that writes ----------------------------------------------------------------------


class Waiting:
    """A sink whose first write ends only when the second batch has been segmented."""

    def __init__(self, into: str, ready: threading.Event) -> None:
        self._sink, self._ready, self.ended = sink_for(into), ready, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sink, name)

    def write(self, rows: Any, mark: Any) -> int:
        assert self._ready.wait(60)
        self.ended += 1
        return self._sink.write(rows, mark)


def two_threads(ready: threading.Event, stop: bool = False) -> Any:
    """Return a model that may use two threads, and says when it is asked again."""
    made, calls = copy.copy(model()).set_params(n_threads=2), []

    def extract(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:  # the first one asks for the labels
            ready.set()
            if stop:
                raise KeyboardInterrupt
        return model().extract(*arguments)

    made.__dict__["extract"] = extract
    return made


def test_batches_are_written_while_the_next_one_is_segmented(tmp_path: Path) -> None:
    into, ready = str(tmp_path / "a.db"), threading.Event()
    done = load(two_threads(ready), texts(20), cast(Sink, Waiting(into, ready)), batch=7)
    assert done.written == 20
    other = str(tmp_path / "b.db")
    load(model(), texts(20), other, batch=7, model_name="SemiCRF")
    assert rows(into) == rows(other)


def test_a_write_that_was_begun_ends_where_a_load_is_interrupted(tmp_path: Path) -> None:
    into, ready = str(tmp_path / "a.db"), threading.Event()
    sink = Waiting(into, ready)
    with pytest.raises(KeyboardInterrupt):
        load(two_threads(ready, stop=True), texts(20), cast(Sink, sink), batch=7)
    assert sink.ended == 1
    assert len(rows(into)) == 7
    assert load(model(), texts(20), into, batch=7).written == 13


def test_an_error_of_the_thread_is_that_of_the_load(tmp_path: Path) -> None:
    made = copy.copy(model()).set_params(n_threads=2)
    sink = sink_for(tmp_path / "a.db")

    def failing(*_: Any) -> int:
        raise InvalidInput("into: the disk is full")

    sink.__dict__["write"] = failing
    with pytest.raises(InvalidInput, match="the disk is full"):
        load(made, texts(20), sink, batch=7)
    assert gc.isenabled()


# -- progress ------------------------------------------------------------------------------------


def test_progress_says_what_is_left(tmp_path: Path) -> None:
    seen: list[Progress] = []
    load(model(), texts(10), tmp_path / "a.db", batch=4, progress=seen.append)
    assert [one.records for one in seen] == [0, 4, 8, 10]
    assert {one.total for one in seen} == {10}
    assert seen[0].left is None
    assert seen[-1].left == 0
    assert Progress(50, 100, 50, 10.0, 25).left == pytest.approx(20.0)
    assert Progress(50, None, 50, 10.0).left is None


# -- lists in one string -------------------------------------------------------------------------


def test_lists_are_split_first(into: str) -> None:
    given = ["[1] 7 Park Lane, York [2] 3 Mill Road, Bath", "12 High Street, Leeds"]
    done = load(model(), given, into)
    assert (done.records, done.rows) == (2, 3)
    found = sorted((row["record"], row["part"], row["text"]) for row in rows(into))
    assert found == [
        ("1", 1, "7 Park Lane, York"),
        ("1", 2, "3 Mill Road, Bath"),
        ("2", 1, "12 High Street, Leeds"),
    ]
    assert load(model(), given, into).written == 0


# -- killed --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forks() -> Any:
    return context()


def test_a_load_that_is_killed_goes_on(
    into: str, tmp_path: Path, model_file: str, forks: Any
) -> None:
    """A handful of moments; bench/kill.py takes hundreds."""
    job = Job(model_file, texts(5 * BATCH + 3))
    undisturbed = str(tmp_path / "undisturbed.db")
    longest = duration(forks, job, undisturbed)
    trial(forks, job, into, rows(undisturbed), random.Random(into[-1]), longest, kills=2)


def test_sigterm_ends_a_load_in_order(tmp_path: Path, model_file: str) -> None:
    code = (
        "import sys; from caesura.records import load\n"
        "def stop(p):\n"
        "    if p.records: sys.exit(143)\n"
        "load(sys.argv[1], sys.argv[2], sys.argv[3], batch=2, progress=stop)\n"
    )
    (tmp_path / "in.txt").write_text("\n".join(texts(7)))
    names = [model_file, str(tmp_path / "in.txt"), str(tmp_path / "a.duckdb")]
    done = subprocess.run([sys.executable, "-c", code, *names], check=False)
    assert done.returncode == 143
    assert len(rows(names[2])) == 2
    assert load(*names, batch=2).written == 5
