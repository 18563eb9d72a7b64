"""``caesura table``: extend a table from a few rows and pages with lists."""

from __future__ import annotations

import json as plain
from pathlib import Path
from typing import Annotated, Any

import typer

from caesura.cli.command import command
from caesura.cli.output import Json, check_apart, check_output, emit, note, warn, written
from caesura.cli.output import table as show
from caesura.errors import InvalidInput, counted

__all__ = ["table"]

LINES = (".jsonl", ".ndjson")  # besides the formats of tables
SHOWN = 10  # rows shown if no file is written


@command(
    "caesura table --example countries\n"
    "caesura table --seeds countries/seeds.csv --lists countries/*.html -o table.csv"
)
def table(
    pages: Annotated[
        list[str] | None,
        typer.Argument(metavar="PAGE", help="Read further pages; same as --lists."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            help="Read a few rows of the table from this file: CSV with a header, JSON lines, "
            "Parquet or Excel. Required unless --example is given.",
        ),
    ] = None,
    lists: Annotated[
        list[str] | None,
        typer.Option(
            "--lists",
            metavar="PAGE...",
            help="Find rows in the lists of these pages, HTML or plain text. Required unless "
            "--example is given; pages may also be arguments.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the table to this file: .csv, .tsv, .jsonl, .parquet or .xlsx; - is the "
            "standard output. Default: none.",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Stop after this many rounds.")] = 3,
    min_confidence: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Leave out rows with a lower confidence.")
    ] = 0.5,
    example: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Write example pages and seeds into this folder and stop. Default: none.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Extend a table with rows found in the lists of web pages.

    The rows of SEEDS are matched to the items of the lists; a model learns from the matches how
    each list is laid out, and extracts a row from every item. Rows with the same key are merged:
    the first column is the key. Reliable rows are matched in the next round, to more lists.

    The output has the columns of SEEDS, and then: confidence; sources, as PAGE:LIST:ITEM; and
    alternatives, other values that were found. The most reliable rows come first.
    """
    if example is not None:
        _write_example(example, json)
        return
    chosen = list(dict.fromkeys([*(lists or []), *(pages or [])]))
    if seeds is None or not chosen:
        missing = "--seeds" if seeds is None else "--lists"
        raise typer.BadParameter(
            "is missing; give --seeds FILE and --lists PAGES", param_hint=missing
        )
    if output is not None:
        _format_of(output)
        check_output(output)
        check_apart([output], [seeds, *chosen])
    if json and output == "-":
        wrong = "it prints counts, and the table goes to stdout too; give a file to -o"
        raise typer.BadParameter(wrong, param_hint="--json")
    from caesura.records import table_from_lists

    options: dict[str, Any] = {"rounds": rounds, "min_confidence": min_confidence}
    found = table_from_lists(seeds, chosen, progress=note, **options)
    for line in found.skipped:
        note(f"not used: {line}")
    if not any(one.lists for one in found.rounds):
        warn("no list has two items that match the seeds; give more seeds, or other pages")
    rows = found.to_dicts()
    if output is not None:
        _write(output, list(rows[0]) if rows else [*found.columns, "confidence"], rows)
    if json:
        counts = [one._asdict() for one in found.rounds]
        emit({"output": output, "rows": len(rows), "rounds": counts, "skipped": found.skipped})
    elif output is None:
        _show(found.columns, rows)
    elif output != "-":
        note(f"{counted(len(rows), 'row')}: {output}")


def _write_example(folder: str, json: bool) -> None:
    from caesura.demo import write_pages

    with written(folder):
        paths = [str(path) for path in write_pages(folder)]
    if json:
        emit({"files": paths})
        return
    note(f"{counted(len(paths), 'file')}: {folder}")
    seeds = Path(folder) / "seeds.csv"
    where = Path(folder)
    note(f"caesura table --seeds {seeds} --lists {where / '*.html'} {where / '*.txt'} -o table.csv")


def _format_of(output: str) -> str:
    """Return the format given by a file name."""
    from caesura.corpora.sinks import TABLES, table_form

    if output == "-":
        return "csv"
    form = "jsonl" if Path(output).suffix.lower() in LINES else table_form(output)
    if form is None:
        known = ", ".join((*TABLES, *LINES))
        suffix = Path(output).suffix
        raise InvalidInput(
            place=output,
            got=f"a name that ends in {suffix!r}",
            expected=f"one of {known}",
            remedy="give another name",
        )
    return form


def _write(output: str, header: list[str], rows: list[dict[str, Any]]) -> None:
    """Write the table atomically."""
    from caesura.corpora.files import writing
    from caesura.corpora.sinks import writing_table

    form = _format_of(output)
    with written(output):
        if form == "jsonl":
            with writing(output) as file:
                file.writelines(plain.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            return
        with writing_table(output, form, header) as put:
            put(rows)


def _show(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """Print the first rows."""
    header = [*columns, "confidence", "sources"]
    brief = [
        [*(row[name] for name in columns), f"{row['confidence']:.2f}", row["sources"]]
        for row in rows[:SHOWN]
    ]
    show(header, brief)
    if len(rows) > SHOWN:
        note(f"and {len(rows) - SHOWN} more rows; give -o FILE to write all of them")
