"""What goes wrong with targets: names, wrong tables, locks, full disks, missing packages."""

import builtins
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy
from load_cases import model, rows, texts

import caesura
from caesura import InvalidInput
from caesura.errors import MissingPackage
from caesura.records import Progress, load, register
from caesura.records.layout import layout_of
from caesura.records.sink_sqlalchemy import SQLAlchemySink
from caesura.records.sql import quoted

FILES = ("a.duckdb", "a.db", "a.parquet")
STRANGE = 'x"; DROP TABLE "records'


# -- names ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def strange() -> caesura.SemiCRF:
    """Return a model whose labels are strange names."""
    labels = [STRANGE, "Town", "town", "text", "a b.c%(d)s:e?", "n" * 80, "row_id", "é'’"]
    X = [[f"w{k}" for k in range(len(labels))]] * 2
    y = [[(k, k + 1, label) for k, label in enumerate(labels)]] * 2
    return caesura.SemiCRF(c2=0.01).fit(X, y)


@pytest.mark.parametrize("name", [*FILES, "postgresql"])
@pytest.mark.parametrize("table", ["references", STRANGE, "Ünï cødé", "a%b"])
def test_strange_names(
    name: str,
    table: str,
    strange: caesura.SemiCRF,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    into = str(tmp_path / name)
    if name == "postgresql":
        into = request.getfixturevalue("postgres")
    text = " ".join(f"w{k}" for k in range(8))
    given = [{"text": text, "Source": "s", STRANGE: "c", "id": "'; DROP TABLE x"}]
    done = load(strange, given, into, table, source_name="it's")
    assert done.written == 1
    assert load(strange, given, into, table, source_name="it's").written == 0
    if name == "a.parquet":
        return
    [row] = rows(into, table)
    assert row[STRANGE] == "w0"
    assert (row["Town"], row["town_2"], row["text_2"]) == ("w1", "w2", "w3")
    assert (row["a b.c%(d)s:e?"], row["row_id_2"], row["é'’"]) == ("w4", "w6", "w7")
    assert (row["Source_input"], row[f"{STRANGE}_input"], row["id"]) == ("s", "c", given[0]["id"])
    [long] = [column for column in row if column.startswith("nnn") and row[column] == "w5"]
    assert len(long) == 63
    assert done.renamed["town"] == "town_2"
    assert done.renamed_columns == {"Source": "Source_input", STRANGE: f"{STRANGE}_input"}


def test_names_are_unique_however_they_clash() -> None:
    labels = ["a", "A", "a_start", "a_2", "probability", "\x07", " ", "é" * 60, "é" * 60 + "x"]
    layout = layout_of("t", labels, {"a": "text", "A_Input": "text", "review": "number"}, True)
    names = [column.name.lower() for column in layout.table.columns]
    assert len(set(names)) == len(names)
    assert all(0 < len(name.encode()) <= 63 for name in names)
    assert list(layout.fields) == labels


@pytest.mark.parametrize("table", ["", " ", "a\0b", "a\nb", "caesura_loads", "t" * 64, None])
def test_names_of_tables_that_cannot_be(table: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^table: got"):
        load(model(), ["a"], tmp_path / "a.db", table)


def test_names_are_quoted() -> None:
    assert quoted('a"b') == '"a""b"'
    with pytest.raises(InvalidInput, match="name: got"):
        quoted("a\0b")


# -- targets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("into", "words"),
    [
        ("a.csv", "expected a name that ends in .duckdb"),
        ("no/such/a.duckdb", "folder that does not exist"),
        ("no/such/a.parquet", "folder that does not exist"),
        ("folder.duckdb", "is a folder"),
        ("folder.db", "is a folder"),
        ("junk.duckdb", "not a valid DuckDB database file"),
        ("junk.db", "SQLite says: file is not a database"),
        ("junk.parquet", "is a file, expected a folder"),
        ("sqlite://", "expected a file in the URL"),
        ("nonsense://x", "expected postgresql, mysql"),
        ("postgresql://u:secret@host:port/x", "not the URL of a database"),
        ("postgresql://u:secret@127.0.0.1:9/x", "u:***@127.0.0.1"),
        ("oracle://u@h/x", "needs the Python module"),
    ],
)
def test_targets_that_cannot_be(
    into: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("folder.duckdb", "folder.db"):
        Path(name).mkdir()
    for name in ("junk.duckdb", "junk.db", "junk.parquet"):
        Path(name).write_text("what is this? " * 1000)
    with pytest.raises(InvalidInput, match=re.escape(words)) as caught:
        load(model(), texts(3), into)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [*FILES, "postgresql"])
def test_a_table_without_the_columns(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    into = str(tmp_path / name)
    if name == "postgresql":
        into = request.getfixturevalue("postgres")
        query_only(into, "CREATE TABLE records (row_id text, text text)")
    elif name == "a.duckdb":
        with duckdb.connect(into) as connection:
            connection.execute("CREATE TABLE records (row_id VARCHAR, text VARCHAR)")
    elif name == "a.db":
        with sqlite3.connect(into) as lite:
            lite.execute("CREATE TABLE records (row_id TEXT PRIMARY KEY, text TEXT)")
    else:
        load(caesura.SemiCRF(c2=1).fit(["a b"], [[(0, 1, "other")]]), ["a b"], into)
    with pytest.raises(InvalidInput, match=r"table: got 'records'.* without the columns "):
        load(model(), texts(3), into)


def query_only(url: str, text: str) -> None:
    import sqlalchemy

    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql(text)
    engine.dispose()


def test_a_table_with_a_column_of_another_type(tmp_path: Path) -> None:
    into = tmp_path / "a.duckdb"
    load(model(), [{"text": "7 Park Lane, York", "price": 3}], into)
    given = [{"text": "7 Park Lane, York", "price": "three"}]
    with pytest.raises(InvalidInput, match=r"with a column price of type BIGINT, expected one of"):
        load(model(), given, into, source_name="other")
    assert len(rows(str(into))) == 1


def test_a_table_with_more_columns_is_kept(tmp_path: Path) -> None:
    into = str(tmp_path / "a.duckdb")
    load(model(), texts(3), into)
    with duckdb.connect(into) as connection:
        connection.execute("ALTER TABLE records ADD COLUMN remark VARCHAR DEFAULT 'mine'")
    assert load(model(), texts(5), into).written == 2
    assert {row["remark"] for row in rows(into)} == {"mine"}


def test_a_view_in_the_place_of_a_table(tmp_path: Path) -> None:
    into = str(tmp_path / "a.duckdb")
    with duckdb.connect(into) as connection:
        connection.execute("CREATE VIEW records AS SELECT 1 AS row_id")
    with pytest.raises(InvalidInput, match=r"a\.duckdb"):
        load(model(), texts(3), into)


# -- several at a time ---------------------------------------------------------------------------


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Return a file of DuckDB that another process has open."""
    into = str(tmp_path / "a.duckdb")
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, into],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield into, process
        process.kill()


def test_a_second_process_is_refused(locked: tuple[str, subprocess.Popen[str]]) -> None:
    into, process = locked
    with pytest.raises(InvalidInput, match=rf"open in another process \(process {process.pid}\)"):
        load(model(), texts(3), into, wait=0)


def test_a_second_process_waits(locked: tuple[str, subprocess.Popen[str]]) -> None:
    into, process = locked
    timer = threading.Timer(0.5, process.kill)
    timer.start()
    assert load(model(), texts(3), into, wait=60).written == 3
    timer.join()


def test_a_file_that_this_process_has_open(tmp_path: Path) -> None:
    into = str(tmp_path / "a.duckdb")
    with duckdb.connect(into) as connection:
        assert load(model(), texts(3), into, wait=0).written == 3
        assert connection.sql("SELECT count(*) FROM records").fetchall() == [(3,)]


def test_a_locked_file_of_sqlite(tmp_path: Path) -> None:
    into = tmp_path / "a.db"
    holder = sqlite3.connect(into, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InvalidInput, match="a database that no other process uses; wait"):
        load(model(), texts(3), into, wait=0)
    holder.execute("COMMIT")
    holder.close()
    assert load(model(), texts(3), into).written == 3


def test_a_folder_that_another_one_writes_to(tmp_path: Path) -> None:
    def inner(progress: Progress) -> None:
        with pytest.raises(InvalidInput, match="another process writes to"):
            load(model(), texts(3), tmp_path / "a.parquet", wait=0)

    assert load(model(), texts(3), tmp_path / "a.parquet", progress=inner).written == 3


def test_tables_whose_names_begin_alike(tmp_path: Path) -> None:
    other = caesura.SemiCRF(c2=1).fit(["a b"], [[(0, 1, "other")]])
    load(other, ["a b"], tmp_path / "a.parquet", "a-b")
    load(model(), texts(3), tmp_path / "a.parquet", "a", source_name="x")
    assert load(model(), texts(3)[::-1], tmp_path / "a.parquet", "a", source_name="x").stale == 2


@pytest.mark.parametrize("name", ["a.db", "a.parquet", "postgresql"])
@pytest.mark.parametrize("same", [True, False])
def test_loads_beside_each_other(
    name: str, same: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    into = request.getfixturevalue("postgres") if name == "postgresql" else str(tmp_path / name)
    given, wrong = texts(60), []

    def run(k: int) -> None:
        try:
            label = "same" if same else f"source {k}"
            load(model(), given, into, batch=7, source_name=label, wait=60)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(rows(into)) == (60 if same else 180)


# -- disks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_a_disk_that_is_full(name: str, tmp_path: Path) -> None:
    """A limit on the size of files stands for it; what was stored before stays whole."""
    into = str(tmp_path / name)
    (tmp_path / "in.txt").write_text("\n".join(texts(4000)))
    model().save(tmp_path / "m.model")
    batch = 3000 if name == "a.parquet" else 500
    code = f"""
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({_limit(name)}, resource.RLIM_INFINITY))
from caesura.records import load
from caesura import InvalidInput
try:
    load(sys.argv[1], sys.argv[2], sys.argv[3], batch={batch})
except InvalidInput as error:
    print(error)
    sys.exit(7)
"""
    names = [str(tmp_path / "m.model"), str(tmp_path / "in.txt"), into]
    done = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, text=True, check=False
    )
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith("into: ")
    assert done.stdout.count("\n") == 1
    assert "limit on the size of files" in done.stdout or "room" in done.stdout
    load(*names, batch=500)
    found = rows(into)
    assert sorted(int(row["record"]) for row in found) == list(range(1, 4001))
    if name == "a.parquet":
        assert {one for one in os.listdir(into) if one.startswith(".")} == {".caesura-lock"}


def _limit(name: str) -> int:
    """Return a limit on the size of files that is reached on the way."""
    return {"a.duckdb": 600_000, "a.db": 400_000, "a.parquet": 100_000}[name]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="root may write to all other folders")
def test_a_folder_that_cannot_be_written(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"into: (got )?/proc/{name}"):
        load(model(), texts(3), f"/proc/{name}")


# -- packages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "into", "words"),
    [
        ("duckdb", "a.duckdb", "needs duckdb, .*caesura\\[records\\]"),
        ("pyarrow", "a.duckdb", "needs pyarrow, .*caesura\\[records\\]"),
        ("pyarrow", "a.parquet", "needs pyarrow, .*caesura\\[records\\]"),
        ("sqlalchemy", "postgresql://h/x", "needs sqlalchemy, .*caesura\\[sql\\]"),
    ],
)
def test_packages_that_are_missing(
    missing: str, into: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without(missing, monkeypatch)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingPackage, match=words):
        load(model(), texts(3), into)
    assert load(model(), texts(3), "a.db").written == 3  # needs none of them


def test_register_needs_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    _without("duckdb", monkeypatch)
    with pytest.raises(MissingPackage, match="register needs duckdb"):
        register(None, model())  # type: ignore[arg-type]


def _without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a package impossible to import."""
    real = builtins.__import__

    def refuse(asked: str, *rest: Any, **more: Any) -> Any:
        if asked.partition(".")[0] == name:
            raise ImportError(asked)
        return real(asked, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("(1213, 'Deadlock found when trying to get lock; try restarting transaction')", True),
        ("(1050, \"Table 'records' already exists\")", True),
        ("(1406, \"Data too long for column 'text' at row 1\")", False),
    ],
)
def test_transactions_are_run_again_where_mysql_says_so(said: str, again: bool) -> None:
    """Its driver tells conflicts by messages, not by names of errors."""
    sink = SQLAlchemySink("sqlite+pysqlite://")
    calls = []

    def run() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise sqlalchemy.exc.OperationalError("INSERT", {}, Exception(said))
        return 7

    if again:
        assert sink._attempted(run) == 7
    else:
        with pytest.raises(InvalidInput, match="Data too long"):
            sink._attempted(run)
    assert len(calls) == 1 + again
