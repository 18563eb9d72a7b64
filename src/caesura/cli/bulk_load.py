"""``caesura load --executor``: load many files in parts as workers finish them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from caesura.cli.bulk_segment import BAD, failures, inputs_of, part_options, put_aside
from caesura.cli.executor_options import Executor, PartSize, Scheduler, engine
from caesura.cli.output import emit, note, say, warn
from caesura.cli.progress import Ticker
from caesura.errors import InvalidInput, counted

if TYPE_CHECKING:
    from caesura.scale import LoadManifest

__all__ = ["Loading", "load_many"]


class Loading(NamedTuple):
    """The executor that makes the rows, and the folder of the parts."""

    executor: Executor = None
    scheduler: Scheduler = None
    part_size: PartSize = None
    parts_folder: Annotated[
        str | None,
        typer.Option(
            "--parts-folder",
            help="Write the parts of --executor to this folder or URL, which all workers must "
            "reach. Default: the value of --into followed by .parts.",
        ),
    ] = None


def load_many(
    model: Path, pattern: str, loading: Loading, arguments: dict[str, Any], json: bool
) -> None:
    """Load the files of a pattern; raise if some of them failed."""
    if pattern == "-":
        raise InvalidInput(
            place="--executor",
            got="the standard input",
            expected="files",
            remedy="name the files, or leave out --executor",
        )
    paths = inputs_of(pattern)
    if arguments.get("source_name") is not None and len(paths) > 1:
        raise InvalidInput(
            place="--source-name",
            got=f"{len(paths):,} files",
            expected="one",
            remedy="leave out --source-name; each file is then stored under its path",
        )
    into = arguments["into"]
    if loading.parts_folder is None and "://" in into:
        raise InvalidInput(
            f"{into} is a URL, so there is no default folder for the parts",
            place="--into",
            remedy="pass --parts-folder with a folder that all workers can reach",
        )
    from caesura.scale import load_files

    with Ticker(what="parts", stage="loading") as ticker, engine(loading) as one:
        made = load_files(
            model,
            paths,
            executor=one,
            folder=loading.parts_folder,
            progress=lambda done, total: ticker(done, share=done / total),
            **part_options(loading.part_size),
            **arguments,
        )
    _report(made, json)


def new_rows(written: int, rows: int, review: int) -> str:
    """Return how many rows are new, how many of the new ones need review, and how many were there.

    Examples
    --------
    >>> new_rows(4, 4, 1), new_rows(0, 4, 0)
    ('4 new rows, 1 of them for review', '0 new rows (4 were there)')
    >>> new_rows(2, 6, 1)
    '2 new rows, 1 of them for review (4 were there)'
    """
    of_these = f", {review:,} of them for review" if written else ""
    already = "" if written == rows else f" ({rows - written:,} were there)"
    return f"{counted(written, 'new row')}{of_these}{already}"


def _report(made: LoadManifest, json: bool) -> None:
    """Print a summary of the load; raise if some files failed."""
    totals = made.as_json()
    for old, new in {k: v for one in made.loads for k, v in one.renamed.items()}.items():
        note(f"{old!r} is stored in the column {new!r}, as its own name is taken")
    if totals["flagged"]:
        changed = f"{totals['flagged']:,} stored rows"
        note(f"--threshold: the review flags of {changed} have changed with it")
    if totals["quarantined"]:
        from caesura.scale.places import joined, listed

        place = next(name for name in listed(made.folder) if name.endswith(BAD))
        put_aside(totals["quarantined"], joined(made.folder, place), totals["records"])
    if totals["repeated"]:
        warn(
            f"{totals['repeated']:,} records have the id and the text of an earlier one, and were "
            "not stored again; leave --id-column out to keep all of them"
        )
    if totals["stale"]:
        warn(
            f"inputs have changed: {totals['stale']:,} rows of their earlier states are in the "
            "table; pass --replace to delete them"
        )
    if json:
        emit(totals | {"parts_folder": made.folder, "seconds": round(made.seconds, 3)})
    else:
        written, rows = totals["written"], totals["rows"]
        pace = f", {written / made.seconds:,.0f} a second" if made.seconds > 10 else ""
        files = counted(len(made.files), "file")
        say(
            f"{counted(totals['records'], 'record')} in {files}, "
            f"{new_rows(written, rows, totals['review'])}{pace}: {made.into}, table {made.table}"
        )
    if not totals["records"] and not made.failed:
        warn("got no records; are the files empty?")
    problems = [(one.input, one.failure or "") for one in made.failed]
    if problems:
        raise failures(problems, len(made.files), "file")
