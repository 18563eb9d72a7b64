"""Loads of changed inputs: replacements after stopped loads, and inputs without a name."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cli_data import good
from load_cases import model, query, rows, texts

from caesura.records import Progress, load


def stop_at(records: int) -> Any:
    """Return a progress function that stops a load."""

    def stop(progress: Progress) -> None:
        if progress.records == records:
            raise KeyboardInterrupt

    return stop


@pytest.mark.parametrize("kind", ["duckdb", "db", "parquet"])
@pytest.mark.parametrize("change", ["record", "split", "constraints", "record of a replacement"])
def test_a_replacement_keeps_nothing_that_it_would_not_write(
    tmp_path: Path, kind: str, change: str
) -> None:
    """Neither of a stopped load, nor of a stopped replacement by other options."""
    into, given = str(tmp_path / f"target.{kind}"), texts(8)
    replace = change == "record of a replacement"
    with pytest.raises(KeyboardInterrupt):
        load(model(), given, into, batch=2, replace=replace, progress=stop_at(4))
    assert len(rows(into)) == 4
    options: dict[str, Any] = {}
    if "record" in change:
        given[0] = "77 Elm Lane, Ely"
    elif change == "split":
        options = {"split": lambda text: text.split(",")}
    else:
        options = {"constraints": {"at_most_once": ["town"]}, "split": str.split}
    with pytest.raises(KeyboardInterrupt):
        load(model(), given, into, batch=2, replace=True, progress=stop_at(4), **options)
    done = load(model(), given, into, batch=2, replace=True, **options)
    assert done.stale == 0
    assert load(model(), given, into, batch=2, **options).written == 0
    assert done.rows == len(rows(into))
    load(model(), given, into, "fresh", **options)
    assert [row["row_id"] for row in rows(into)] == [row["row_id"] for row in rows(into, "fresh")]


def test_other_data_in_memory_is_warned_of(tmp_path: Path) -> None:
    first, second = texts(3), [texts(3)[0], "77 Elm Lane, Ely"]
    load(model(), first, tmp_path / "a.db")
    load(model(), [*first, "5 Low Road, Bath"], tmp_path / "a.db")  # has grown
    with pytest.warns(UserWarning, match=r"source_name: .* pass a name for each source"):
        load(model(), second, tmp_path / "a.db")
    load(model(), first, tmp_path / "b.db", source_name="first")
    load(model(), second, tmp_path / "b.db", source_name="second")
    assert len(rows(str(tmp_path / "b.db"))) == 5


def test_another_pipe_is_told_from_a_changed_one(tmp_path: Path) -> None:
    model().save(tmp_path / "a.model")
    command = [sys.executable, "-m", "caesura", "load", "a.model", "-", "--into", "a.db"]

    def piped(text: str) -> str:
        run = subprocess.run(command, cwd=tmp_path, input=text, text=True, capture_output=True)
        assert run.returncode == 0, run.stderr
        return run.stderr

    assert "warning" not in piped("1 Low Road, Bath\n2 Low Road, Bath\n")
    assert "name each by --source-name" in piped("1 Low Road, Bath\n3 Elm Road, York\n")


def test_schemas_are_in_the_url_and_not_in_the_table(tmp_path: Path, postgres: str) -> None:
    model().save(tmp_path / "a.model")
    (tmp_path / "a.txt").write_text("1 Low Road, Bath\n")
    with psycopg.connect(postgres) as server:
        server.execute("CREATE SCHEMA library")
    command = ("load", tmp_path / "a.model", tmp_path / "a.txt", "--into")
    assert "not one in a schema" in good(*command, postgres, "--table", "public.papers").err
    assert len(rows(postgres, "public.papers")) == 1
    joined = "&" if "?" in postgres else "?"
    into = f"{postgres}{joined}options=-csearch_path%3Dlibrary"
    assert "schema" not in good(*command, into, "--table", "papers").err
    assert len(query(postgres, "SELECT * FROM library.papers")) == 1
