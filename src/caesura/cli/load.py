"""``caesura load``: segment strings and write them as rows of a database."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from caesura.cli.bulk_load import Loading, load_many, new_rows
from caesura.cli.command import command
from caesura.cli.constraint_files import Rules, warn_uncalibrated
from caesura.cli.executor_options import check_alone
from caesura.cli.known_values import known_of
from caesura.cli.model_files import ModelFile, Trust, load_model, model_file
from caesura.cli.option_values import Normalisers, with_normalisers
from caesura.cli.output import Json, emit, note, say, warn
from caesura.cli.progress import Quiet, Ticker, hush
from caesura.cli.reading import separator_of
from caesura.cli.remedies import with_options_of_load
from caesura.cli.stdin_format import piped_format
from caesura.cli.trained_columns import trained_text
from caesura.corpora.detection import detect
from caesura.errors import CaesuraError, InvalidInput, counted

if TYPE_CHECKING:
    from caesura.records import Loaded, Progress

__all__ = ["load"]

_NAMED = 3  # number of renamed columns that are named


class Target(NamedTuple):
    """Where the rows go."""

    into: Annotated[
        str,
        typer.Option(
            "--into",
            help="Write to this DuckDB file (.duckdb), SQLite file (.db, .sqlite), folder of "
            "Parquet files (.parquet) or database URL, such as "
            "postgresql://user@host/database.",
        ),
    ]
    table: Annotated[
        str,
        typer.Option("--table", help="Write to this table, which is created if it does not exist."),
    ] = "records"
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Delete the rows of this input and load it again."),
    ] = False
    wait: Annotated[
        float,
        typer.Option("--wait", min=0, help="Wait this many seconds for a database that is locked."),
    ] = 10.0


class Input(NamedTuple):
    """What is read."""

    text_column: Annotated[
        str | None,
        typer.Option(
            "--text-column",
            help="Name the column with the text. Default: guessed, if one column clearly is the "
            "text.",
        ),
    ] = None
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id-column",
            help="Identify records by this column, whose values are stored in the column record. "
            "Default: by their numbers.",
        ),
    ] = None
    carry: Annotated[
        str | None,
        typer.Option(
            "--carry",
            help="Keep these other columns, for example id,price. Default: all of them.",
        ),
    ] = None
    split: Annotated[
        Literal["auto", "lines", "paragraphs", "none"],
        typer.Option(
            "--split",
            help="Choose how a string with several records is split; auto splits numbered or "
            "bulleted lists.",
        ),
    ] = "auto"
    format: Annotated[
        Literal["text", "csv", "jsonl", "parquet", "xlsx"] | None,
        typer.Option(
            "--format", "-f", help="Read INPUT in this format. Default: guessed from its name."
        ),
    ] = None
    encoding: Annotated[
        str, typer.Option("--encoding", help="Read INPUT in this encoding.", show_default=True)
    ] = "utf-8"
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            help="Separate cells by this character, such as ; or tab. Default: guessed.",
        ),
    ] = None
    skip_errors: Annotated[
        bool,
        typer.Option("--skip-errors", help="Skip unreadable records and report their number."),
    ] = False
    source_name: Annotated[
        str | None,
        typer.Option(
            "--source-name", help="Store this name of the input in the table. Default: its path."
        ),
    ] = None


class Work(NamedTuple):
    """How rows are made."""

    threshold: Annotated[
        float,
        typer.Option(
            help="Mark rows with a field below this probability, and rows without any field, for "
            "review. A label that was not found has no probability and does not count."
        ),
    ] = 0.9
    verbatim: Annotated[
        bool,
        typer.Option("--verbatim", help="Add columns LABEL_text with the text as it was written."),
    ] = False
    normaliser: Normalisers = None
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known",
            metavar="LABEL=TABLE.COLUMN",
            help="Use known values of a label as features: LABEL=TABLE.COLUMN names a column in "
            "the database of --into; LABEL=FILE:COLUMN and LABEL=DATABASE:TABLE.COLUMN name "
            "others. Fields of rows that need no review are added during the load. Requires a "
            "model trained with --known. Can be repeated. Default: none.",
        ),
    ] = None
    constraints: Annotated[
        Path | None,
        typer.Option(
            help="Predict under the constraints in this JSON or TOML file. Probabilities are then "
            "not calibrated. Default: none."
        ),
    ] = None
    batch: Annotated[
        int,
        typer.Option(
            "--batch", min=1, help="Write this many records in one transaction.", show_default=True
        ),
    ] = 5000
    threads: Annotated[
        int | None, typer.Option(help="Use this many threads. Default: all cores.")
    ] = None
    trust: Trust = False
    quiet: Quiet = False


@command(
    "caesura load citations.model new.csv --text-column reference --into references.duckdb\n"
    "caesura load citations.model new.txt --into references.duckdb --known author=people.name\n"
    "caesura load citations.model new.txt --into postgresql://me@localhost/library --table papers\n"
    "caesura load citations.model 'new/*.txt' --into references.duckdb --executor 8"
)
def load(
    model: ModelFile,
    input: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Read this file: text with a record on each line, CSV, JSON lines or another "
            "format. With --executor, a pattern of files, or a URL such as s3://bucket/*.txt.",
        ),
    ],
    target: Target,
    given: Input = Input(),  # noqa: B008 - a frozen tuple
    work: Work = Work(),  # noqa: B008
    loading: Loading = Loading(),  # noqa: B008
    json: Json = False,
) -> None:
    """Segment strings and write them as rows to a database or to Parquet files.

    A load may be stopped at any moment: a restarted load continues where it stopped, and no row is
    lost or written twice.

    With --executor, workers segment many files, or parts of large ones, in parallel, and write
    their rows to the folder of parts; this process loads them. Unreadable records are written to
    separate files in that folder.
    """
    from caesura import records

    hush(work.quiet)
    if loading.executor is not None:
        _many(model, input, target, given, work, loading, json)
        return
    check_alone(loading)
    loaded = load_model(model, work.threads, trust=work.trust)
    loaded = with_normalisers(loaded, work.normaliser)
    if input == "-" and given.format is None:
        asked = (given.text_column, given.id_column, given.carry)
        form: Any = piped_format(any(one is not None for one in asked))
        given = given._replace(format=form)
    if os.path.isfile(input):
        form = given.format or detect(input)
        given = given._replace(text_column=trained_text(input, form, given, loaded))
    rules = _rules(work)
    if rules:
        warn_uncalibrated(loaded)
    known = None
    if work.known:
        known = known_of(loaded, work.known, target.into, target.table)
        note(f"known values: {', '.join(f'{n:,} of {x}' for x, n in known.counts.items())}")
    if "." in target.table and "://" in target.into:
        note(f"--table: {target.table!r} is the whole name of a table, not one in a schema")
    with Ticker(what="records") as ticker:
        shown = _Shown(ticker)
        try:
            done = records.load(
                loaded,
                input,
                **target._asdict(),
                **_arguments(given),
                threshold=work.threshold,
                verbatim=work.verbatim,
                constraints=rules,
                known=known,
                batch=work.batch,
                model_name=model.stem,
                progress=shown,
            )
        except CaesuraError as error:
            raise with_options_of_load(error) from None
    _report(done, json)


def _rules(work: Work) -> Any:
    """Return the constraints of all records."""
    rules = None if work.constraints is None else Rules(work.constraints).take(0)
    if isinstance(rules, list):
        raise InvalidInput(
            place=str(work.constraints),
            expected="one object for all records",
            remedy="pass a .json or .toml file",
        )
    return rules


def _many(
    model: Path, input: str, target: Target, given: Input, work: Work, loading: Loading, json: bool
) -> None:
    """Load many files on an executor."""
    for option in ("known", "normaliser", "threads"):
        if getattr(work, option):
            option = f"--{option}"
            raise InvalidInput(
                "cannot be combined with --executor", place=option, remedy="leave one out"
            )
    arguments = {**target._asdict(), **_arguments(given)}
    arguments.pop("on_error")  # unreadable records are always set aside
    names = ("threshold", "verbatim", "batch", "trust")
    arguments |= {name: getattr(work, name) for name in names}
    rules = _rules(work)
    if rules:
        warn_uncalibrated(load_model(model, trust=work.trust))
    arguments |= {"constraints": rules, "model_name": model.stem}
    try:
        load_many(model_file(model), input, loading, arguments, json)
    except CaesuraError as error:
        raise with_options_of_load(error) from None


def _arguments(given: Input) -> dict[str, Any]:
    """Return the arguments that say how the input is read."""
    found = given._asdict()
    skip = found.pop("skip_errors")
    found["separator"] = separator_of(found.pop("delimiter"))
    carry = found["carry"]
    names = None if carry is None else [one.strip() for one in carry.split(",") if one.strip()]
    return found | {"on_error": "skip" if skip else "raise", "carry": names}


class _Shown:
    """Progress display that first names the text column."""

    def __init__(self, ticker: Ticker) -> None:
        self._ticker = ticker
        self._begun = False

    def __call__(self, progress: Progress) -> None:
        if not self._begun:
            self._begun = True
            if progress.text_column is not None:
                note(f"the text is in the column {progress.text_column!r}; see --text-column")
            return
        share = ""
        if progress.total and progress.left is not None:
            percent = min(100 * progress.records / progress.total, 100)
            share = f"{percent:.0f} %, {_duration(progress.left)} left"
        self._ticker(progress.records, share)


def _duration(seconds: float) -> str:
    """Format a duration.

    Examples
    --------
    >>> _duration(75), _duration(4000)
    ('1:15', '1:06:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _report(done: Loaded, json: bool) -> None:
    """Print a summary of the load."""
    from caesura.records.inputs import PIPE
    from caesura.records.sql import quoted

    advice = "; --carry chooses the columns to keep"
    for what, names, remedy in (
        ("label", done.renamed, ""),
        ("input column", done.renamed_columns, advice),
    ):
        for old, new in list(names.items())[:_NAMED]:
            why = "the table has another column of this name"
            why = why if new.startswith(old) else "databases cannot have such a name"
            note(f"the {what} {old!r} is stored in the column {new!r}, because {why}{remedy}")
        if len(names) > _NAMED:
            note(f"and {len(names) - _NAMED} more {what}s likewise")
    if done.flagged:
        note(f"--threshold: the review flags of {done.flagged:,} stored rows have changed with it")
    if done.skipped:
        warn(f"skipped {counted(done.skipped, 'record')} that cannot be read, for example:")
        for reason in done.reasons:
            warn(f"  {reason}")
    if done.damaged is not None:
        if done.damaged not in done.reasons:
            warn(f"  {done.damaged}")
        warn("the rest of the input could not be read; repair it, and load it again")
    if done.repeated:
        warn(
            f"{done.repeated:,} records have the id and the text of an earlier one, and were not "
            "stored again; leave --id-column out to keep all of them"
        )
    if done.stale:
        other = "; if it is another input, name each by --source-name" * (done.source == PIPE)
        warn(
            "the input has changed, or its ids are read from another column, and the table still "
            f"has {counted(done.stale, 'row')} of its earlier state; pass --replace to delete them"
            f"{other}"
        )
    if json:
        emit(done._asdict() | {"seconds": round(done.seconds, 3)})
        return
    pace = f", {done.written / done.seconds:,.0f} a second" if done.seconds > 10 else ""
    say(
        f"{counted(done.records, 'record')}, {new_rows(done.written, done.rows, done.review)}{pace}"
        f": {done.into}, table {done.table}"
    )
    if sys.stderr.isatty() and done.written:
        note(f"to see them: SELECT * FROM {quoted(done.table)} WHERE review")
    if not done.records:
        warn(f"{done.source}: got no records; is the input empty?")
