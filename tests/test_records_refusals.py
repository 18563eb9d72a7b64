"""Databases that are closed, damaged, locked, read-only, or none: what is said, and what to do."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy
from load_cases import model, texts

from caesura import CaesuraError, InvalidInput
from caesura.records import (
    KnownValues,
    Linker,
    Schema,
    answers,
    load,
    register,
    store_entities,
    store_uncertain,
    uncertain_rows,
)
from caesura.records.column_values import stored_values
from caesura.records.refusals import known_reason, refusal

FIELDS = ("number", "street", "town")
KINDS = ("duckdb", "sqlite3")
SUFFIXES = {"duckdb": "duckdb", "sqlite3": "db"}
ERRORS = (duckdb.Error, sqlite3.Error)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a loaded table of each kind."""
    folder = tmp_path_factory.mktemp("good")
    for suffix in ("duckdb", "db", "parquet"):
        load(model(), texts(40), folder / f"a.{suffix}", batch=10, source_name="s")
    return folder


@pytest.fixture(scope="module")
def linker() -> Linker:
    streets = ("High Street", "Mill Road")
    rows = [{"number": "7", "street": streets[k % 2], "town": "York"} for k in range(6)]
    return Linker(FIELDS).fit(rows, matches=[(0, 2), (1, 3), (2, 4)])


def connect(kind: str, place: object = ":memory:", **more: Any) -> Any:
    return duckdb.connect(str(place), **more) if kind == "duckdb" else sqlite3.connect(str(place))


def entities(connection: Any, linker: Linker) -> object:
    return store_entities(connection, Schema("things"), linker, model(), texts(2))


def uncertain(database: Any) -> object:
    return store_uncertain(database, "u", uncertain_rows(model(), texts(2)))


def refused(run: Callable[[], object], argument: str, words: str, cause: Any = ERRORS) -> None:
    """Check that an error is explained, with what the database says as its cause."""
    with pytest.raises(InvalidInput, match=words) as caught:
        run()
    assert caught.value.argument == argument
    assert isinstance(caught.value.__cause__, cause)
    assert "; " in str(caught.value)
    assert "\n" not in str(caught.value)


# -- closed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_closed_connections(kind: str, linker: Linker) -> None:
    closed, words = connect(kind), "expected an open connection; connect again"
    closed.close()
    refused(lambda: answers(closed, "u", {"town": "York"}), "database", words)
    refused(lambda: uncertain(closed), "database", words)
    refused(lambda: entities(closed, linker), "connection", words)
    refused(lambda: KnownValues.read(closed, "places", ["town"]), "connection", words)
    if kind == "duckdb":
        refused(lambda: register(closed, model()), "connection", words)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("closed", [False, True])
def test_connections_are_no_targets_of_load(kind: str, closed: bool) -> None:
    connection = connect(kind)
    if closed:
        connection.close()
    with pytest.raises(InvalidInput, match=r"into: got .*, expected the name of a file or folder"):
        load(model(), texts(2), connection)


def test_register_needs_a_connection_of_duckdb() -> None:
    with pytest.raises(InvalidInput, match=r"connection: got .*, expected a connection of duckdb"):
        register(sqlite3.connect(":memory:"), model())  # type: ignore[arg-type]


# -- damaged, or no database ---------------------------------------------------------------------


def junk(place: Path) -> None:
    place.write_text("what is this? " * 1000)


def short(place: Path) -> None:
    with open(place, "r+b") as file:
        file.truncate(place.stat().st_size // 2)


def torn(place: Path) -> None:
    """Write over all but the first pages."""
    size = place.stat().st_size
    with open(place, "r+b") as file:
        file.seek(12_288)
        file.write(b"\xde" * (size - 12_288))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("harm", [junk, short, torn])
@pytest.mark.parametrize("replace", [False, True])
def test_loads_into_damaged_files(
    kind: str, harm: Callable[[Path], None], replace: bool, good: Path, tmp_path: Path
) -> None:
    name = f"a.{SUFFIXES[kind]}"
    shutil.copy(good / name, tmp_path)
    harm(tmp_path / name)
    words = "expected a database, or" if harm is junk else "expected a database that is not damaged"
    given = ["1 New Road, York", *texts(40)]
    refused(
        lambda: load(model(), given, tmp_path / name, source_name="s", replace=replace),
        "into",
        f"{name}, {words}",
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("harm", [junk, torn])
def test_other_uses_of_damaged_files(
    kind: str, harm: Callable[[Path], None], good: Path, tmp_path: Path
) -> None:
    place = tmp_path / f"a.{SUFFIXES[kind]}"
    shutil.copy(good / place.name, place)
    harm(place)
    refused(lambda: stored_values(place, "records", "town"), "place", "expected a database")
    if harm is junk:  # a torn file may still have room for new tables
        refused(lambda: uncertain(place), "database", "expected a database, or")
        refused(lambda: answers(place, "u", {}), "database", "expected a database, or")
    elif kind == "sqlite3":
        with pytest.raises(InvalidInput, match=r"connection: got .* that is not damaged"):
            KnownValues.read(connect(kind, place), "records", ["town"])


def test_entities_in_no_database(linker: Linker, tmp_path: Path) -> None:
    """DuckDB refuses such a file when it connects."""
    junk(tmp_path / "a.db")
    connection = sqlite3.connect(tmp_path / "a.db")
    refused(lambda: entities(connection, linker), "connection", "expected a database, or")


@pytest.mark.parametrize("harm", [junk, short])
def test_folders_with_a_damaged_file(
    harm: Callable[[Path], None], good: Path, tmp_path: Path
) -> None:
    place = tmp_path / "a.parquet"
    shutil.copytree(good / "a.parquet", place)
    file = sorted(place.glob("*.parquet"))[1]
    harm(file)
    words = rf"into: got .*{file.name}, expected a file of Parquet that is not damaged; restore it"
    with pytest.raises(InvalidInput, match=words) as caught:
        load(model(), texts(41), place, source_name="s")
    assert caught.value.__cause__ is not None
    with pytest.raises(CaesuraError, match=file.name):
        stored_values(place, "records", "town")


def test_a_file_whose_pages_are_damaged(good: Path, tmp_path: Path) -> None:
    """Its footer is right, so that the damage shows only where rows are read."""
    place = tmp_path / "a.parquet"
    shutil.copytree(good / "a.parquet", place)
    file = sorted(place.glob("*.parquet"))[2]
    with open(file, "r+b") as opened:
        opened.seek(4)
        opened.write(b"\xde" * 500)
    for threshold in (0.1, 0.9):
        with pytest.raises(InvalidInput, match=rf"into: got .*{file.name}, expected a file of Par"):
            load(
                model(),
                ["1 New Road, York", *texts(40)],
                place,
                source_name="s",
                threshold=threshold,
            )


# -- locked --------------------------------------------------------------------------------------


@pytest.fixture
def locked(good: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a file of DuckDB that another process has open."""
    shutil.copy(good / "a.duckdb", tmp_path)
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "a.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield tmp_path / "a.duckdb"
        process.kill()


def test_files_that_another_process_has_open(locked: Path) -> None:
    words = "expected a database that no other process uses; wait"
    refused(lambda: uncertain(locked), "database", words)
    refused(lambda: answers(locked, "u", {}), "database", words)
    refused(lambda: stored_values(locked, "records", "town"), "place", words)
    refused(lambda: load(model(), texts(2), locked, wait=0), "into", "open in another process")


def test_locked_files_of_sqlite(good: Path, linker: Linker, tmp_path: Path) -> None:
    shutil.copy(good / "a.db", tmp_path)
    holder = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    words = "expected a database that no other process uses; wait"
    connection = sqlite3.connect(tmp_path / "a.db", timeout=0)
    refused(lambda: entities(connection, linker), "connection", words)
    refused(lambda: uncertain(connection), "database", words)
    refused(lambda: KnownValues.read(connection, "records", ["town"]), "connection", words)
    refused(lambda: load(model(), texts(2), tmp_path / "a.db", wait=0), "into", words)
    holder.execute("COMMIT")
    assert uncertain(connection) == 2


# -- read-only -----------------------------------------------------------------------------------


def test_databases_that_are_open_for_reading_only(
    good: Path, linker: Linker, tmp_path: Path
) -> None:
    words = "expected a database that can be written; open it for writing"
    for suffix in ("duckdb", "db"):
        shutil.copy(good / f"a.{suffix}", tmp_path)
    lite = sqlite3.connect(f"{(tmp_path / 'a.db').as_uri()}?mode=ro", uri=True)
    for connection in (lite, connect("duckdb", tmp_path / "a.duckdb", read_only=True)):
        refused(partial(entities, connection, linker), "connection", words)
        refused(partial(uncertain, connection), "database", words)
    words = "that this process has not opened in another way"
    refused(lambda: load(model(), texts(2), tmp_path / "a.duckdb", wait=0), "into", words)


# -- others --------------------------------------------------------------------------------------


def test_open_transactions_are_still_named(linker: Linker) -> None:
    for kind in KINDS:
        connection = connect(kind)
        connection.execute("BEGIN")
        with pytest.raises(InvalidInput, match=r"without an open transaction; call its commit\(\)"):
            entities(connection, linker)


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_sound_like_trouble_are_names(kind: str) -> None:
    with pytest.raises(InvalidInput, match=r"columns: got .*expected a table 'corrupt is locked'"):
        KnownValues.read(connect(kind), "corrupt is locked", ["town"])


def test_what_was_stored_before_an_error_stays(tmp_path: Path, linker: Linker) -> None:
    """A statement that fails leaves the tables as they were."""
    connection = sqlite3.connect(tmp_path / "a.db")
    entities(connection, linker)
    before = connection.execute("SELECT * FROM things_mentions").fetchall()
    connection.execute(
        "CREATE TRIGGER no BEFORE INSERT ON things BEGIN SELECT RAISE(FAIL, 'x'); END"
    )
    connection.commit()
    with pytest.raises(InvalidInput, match=r"connection: got .*SQLite says: x"):
        store_entities(connection, Schema("things"), linker, model(), ["9 New Road, Bath"])
    assert connection.execute("SELECT * FROM things_mentions").fetchall() == before


class RefusalError(Exception):
    """An error of a server, which is in no module of DuckDB or SQLite."""


@pytest.mark.parametrize(
    "said", ["permission denied for table papers", "malformed array literal: 'a'"]
)
def test_servers_say_these_words_of_other_things(said: str) -> None:
    """What a file needs does not help here: the reader has what the server says."""
    assert not known_reason(RefusalError(said))
    found = str(refusal("into", "postgresql://host/a", RefusalError(said)))
    assert f"a database that accepts this; see what it says (the database says: {said})" in found
    wrapped = sqlalchemy.exc.OperationalError("SELECT 1", None, sqlite3.OperationalError(said))
    assert known_reason(wrapped)
    assert known_reason(RefusalError("the connection is closed"))
