"""Loads with ``replace=True`` after loads and replacements that were stopped."""

from pathlib import Path
from typing import Any

import pytest
from load_cases import model, rows, texts

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
