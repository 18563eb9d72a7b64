"""``caesura segment``: segment new sequences with a model, in constant memory."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from caesura.cli.bulk_segment import segment_many
from caesura.cli.command import command
from caesura.cli.constraint_files import warn_uncalibrated
from caesura.cli.executor_options import Workers, check_alone
from caesura.cli.model_files import ModelFile, OutsideBias, Trust, load_model
from caesura.cli.model_settings import options_like
from caesura.cli.option_values import Normalisers, with_normalisers
from caesura.cli.output import Json, check_apart, check_output, emit, note, warn, written
from caesura.cli.prediction_formats import TABLES, Style, beside, check_form, form_of
from caesura.cli.prediction_output import write
from caesura.cli.prediction_stream import Run
from caesura.cli.progress import Quiet, Ticker, hush
from caesura.cli.reading import Reading, read, report_notes
from caesura.cli.review_file import FORMS as REVIEWS
from caesura.cli.review_file import Review, check_unmarked
from caesura.cli.trained_columns import as_trained
from caesura.corpora.files import Together
from caesura.corpora.reading_progress import metered
from caesura.errors import InvalidInput, counted
from caesura.normalisers import normaliser
from caesura.render import colour_wanted
from caesura.segments import to_tags

__all__ = ["segment"]

CARRYING = ("csv", "parquet", "xlsx")  # formats whose columns are known once reading begins
Scheme = Annotated[
    str,
    typer.Option(help="Write CoNLL tags in this scheme: BIO, BIOES, BCEU, BMES or another."),
]


class Asking(NamedTuple):
    """Options for the prediction."""

    to: Annotated[
        Literal["jsonl", "conll", "csv", "tsv", "parquet", "xlsx", "text", "html"] | None,
        typer.Option(
            "--to",
            "-t",
            help="Write the output in this format. Default: guessed from the name of the file.",
        ),
    ] = None
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-p", help="Write the probability of each segment.")
    ] = False
    normalise: Annotated[
        bool,
        typer.Option(
            "--normalise",
            help="Write normalised values of fields to tables; the review file keeps the original "
            "text.",
        ),
    ] = False
    normaliser: Normalisers = None
    n_best: Annotated[
        int | None,
        typer.Option(
            "--n-best",
            "-n",
            help="Write the N best answers for each sequence. Default: the best one.",
        ),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Write sequences with a segment below this probability to the review file "
            "instead. A label that was not found has no probability and does not count. Default: "
            "none."
        ),
    ] = None
    flag: Annotated[
        bool,
        typer.Option(
            "--flag",
            help="Keep sequences below the threshold in the output, a table, and name their "
            "doubtful fields in a column, instead of writing a review file.",
        ),
    ] = False
    review: Annotated[
        Path | None,
        typer.Option(
            help="Write sequences for review to this file: .csv, .tsv, .xlsx, .parquet or "
            ".jsonl. Default: OUTPUT.review.csv."
        ),
    ] = None
    constraints: Annotated[
        Path | None,
        typer.Option(
            help="Predict under the constraints in this file: one JSON or TOML object for all "
            "sequences, or JSON lines with one object per sequence (required, forbidden, "
            "at_most_once ...; docs/command-line.md). Probabilities are then not calibrated. "
            "Default: none."
        ),
    ] = None
    outside_bias: OutsideBias = None
    scheme: Scheme = "BIO"
    batch: Annotated[
        int, typer.Option("--batch", min=1, help="Keep this many sequences in memory at a time.")
    ] = 1000
    threads: Annotated[
        int | None, typer.Option(help="Use this many threads. Default: all cores.")
    ] = None
    trust: Trust = False
    quiet: Quiet = False


@command(
    "caesura segment citations.model new.txt -o new.csv\n"
    "cat new.txt | caesura segment citations.model - --probabilities --to jsonl | head\n"
    "caesura segment products.model products.csv --text-column title -o products.xlsx\n"
    "caesura segment citations.model new.txt -o good.csv --threshold 0.9 --review check.csv\n"
    "caesura segment citations.model new.txt -o all.csv --threshold 0.9 --flag\n"
    "caesura segment citations.model 'new/*.txt' -o segmented --executor 8"
)
def segment(
    model: ModelFile,
    input: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Read this file: text with a sequence on each line, or a file in one of the "
            "formats of --format. With --executor, a pattern of files, or a URL such as "
            "s3://bucket/*.txt.",
        ),
    ] = "-",
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="Write to this file; - is the standard output. With --executor, a folder or a "
            "URL such as s3://bucket/out.",
        ),
    ] = "-",
    asking: Asking = Asking(),  # noqa: B008 - a frozen tuple
    reading: Reading = Reading(),  # noqa: B008
    workers: Workers = Workers(),  # noqa: B008
    json: Json = False,
) -> None:
    """Split sequences into labelled segments.

    Reads and writes in batches, so that files may be larger than memory; output files replace
    existing ones only when all are complete. Other columns of the input are kept unchanged. caesura
    train reads JSON lines, CoNLL files and tables. CSV output uses the separator of a CSV input,
    but commas if the input is separated by tabs.

    With --executor, many files, or parts of large ones, are segmented in parallel, each to a
    separate file in the output folder. Unreadable records are written to separate files in that
    folder, and manifest.json has counts and failures. Run the same command again to continue after
    an interruption.
    """
    hush(asking.quiet)
    if workers.executor is not None:
        _check_bulk(asking)
        to = asking.to or "jsonl"
        segment_many(model, (input, output), to, asking.trust, reading, workers, json)
        return
    check_alone(workers)
    form, review = _checked(asking, output, json)
    if form == "html" and asking.n_best is None:
        asking = asking._replace(probabilities=True)  # pages mark uncertain segments
    check_apart((output, review), (model, input, asking.constraints))
    if review is not None:
        check_unmarked(review)
    if " " in input and not os.path.exists(input):
        raise InvalidInput(
            "no such file",
            place=f"{input:.60}",
            remedy=f"to segment a text, pipe it: echo 'TEXT' | caesura segment {model} -",
        )
    loaded = load_model(model, asking.threads, trust=asking.trust, outside_bias=asking.outside_bias)
    loaded = with_normalisers(loaded, asking.normaliser)
    if asking.normaliser:
        _check_table(form, "--normaliser")
        asking = asking._replace(normalise=True)
    reading = as_trained(input, reading, loaded)
    corpus = read(input, reading, tokeniser=loaded.tokeniser_, format="text", labels=())
    run = Run(loaded, asking, input, reading.skip_errors)
    if asking.constraints is not None and (asking.probabilities or asking.threshold is not None):
        warn_uncalibrated(loaded)
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        stack.enter_context(Together())
        style = _style(loaded, asking, output, corpus)
        aside = None
        if review is not None:
            aside = stack.enter_context(Review(review, style, asking.threshold or 0.0))
        answering = output == "-" and sys.stdout.isatty()
        ticker = stack.enter_context(Ticker(False if answering else None, stage="segmenting"))
        meter = stack.enter_context(metered())

        def progress(count: int) -> None:
            ticker(count, share=meter.share())

        with written(output):
            run.written = write(output, form, run.batches(iter(corpus), aside, progress), style)
        if aside is not None:
            with written(aside.path):
                aside.write(style.columns())
    seconds = time.perf_counter() - began
    skipped = run.skipped + report_notes(corpus, input)
    if run.carried and form in ("conll", "text"):
        warn(f"{form} has no place for {', '.join(run.carried)}; use csv, parquet, xlsx or jsonl")
    _report(run, seconds, skipped, (output, review), json)


def _check_bulk(asking: Asking) -> None:
    """Raise at options that are for one file only."""
    for name, default in Asking._field_defaults.items():
        if name not in ("to", "trust", "quiet") and getattr(asking, name) != default:
            option = "--" + name.replace("_", "-")
            raise InvalidInput(
                "cannot be combined with --executor", place=option, remedy="leave one out"
            )


def _checked(asking: Asking, output: str, json: bool) -> tuple[str, str | None]:
    """Return the output format and the review file, or raise for incompatible options."""
    check_output(output)
    try:
        to_tags([], asking.scheme, 0)
    except InvalidInput as error:
        said = str(error.changed(place=""))
        raise typer.BadParameter(said, param_hint="--scheme") from None
    default = "text" if output == "-" and sys.stdout.isatty() else "jsonl"
    form = asking.to or form_of(output, default)
    check_form(output, form)
    form = "tsv" if form == "csv" and output.lower().endswith(".tsv") else form
    if asking.normalise and not asking.normaliser:
        _check_table(form, "--normalise")
    if output == "-" and form in ("parquet", "xlsx") and sys.stdout.isatty():
        wrong = f"{form} cannot be shown on a terminal; give -o FILE"
        raise typer.BadParameter(wrong, param_hint="--to")
    if json and output == "-":
        wrong = "it prints counts, and segments go to stdout too; give -o FILE, or --to jsonl"
        raise typer.BadParameter(wrong, param_hint="--json")
    if asking.n_best is not None and form in ("conll", *TABLES):
        wrong = f"{form} cannot hold several answers; use --to jsonl, text or html"
        raise typer.BadParameter(wrong, param_hint="--n-best")
    if asking.n_best is not None and asking.n_best < 1:
        raise typer.BadParameter("expected 1 or more", param_hint="--n-best")
    if asking.n_best is not None and asking.probabilities and form in ("text", "html"):
        warn(
            f"--probabilities: with --n-best, {form} has only the probability of each answer; use "
            "--to jsonl for those of segments"
        )
    if asking.flag:
        _check_flag(asking, form)
        return form, None
    if asking.threshold is None:
        if asking.review is not None:
            wrong = "needs --threshold, below which sequences go to the review file"
            raise typer.BadParameter(wrong, param_hint="--review")
        return form, None
    _check_threshold(asking.threshold)
    if asking.review is None and output == "-":
        wrong = "give --review FILE for sequences below it, or -o FILE"
        raise typer.BadParameter(wrong, param_hint="--threshold")
    review = str(asking.review or beside(output, "review"))
    if form_of(review, "jsonl") not in REVIEWS:
        wrong = f"its name must end in .{', .'.join(REVIEWS)}"
        raise typer.BadParameter(wrong, param_hint="--review")
    check_output(review)
    if review == "-" or os.path.realpath(review) == os.path.realpath(output):
        wrong = f"the review file must be another than {output}"
        raise typer.BadParameter(wrong, param_hint="--review")
    return form, review


def _check_flag(asking: Asking, form: str) -> None:
    """Raise for options that do not go with --flag."""
    if asking.threshold is None:
        wrong = "needs --threshold, below which fields are doubtful"
        raise typer.BadParameter(wrong, param_hint="--flag")
    if asking.review is not None:
        wrong = "keeps all sequences in the output; leave --review out"
        raise typer.BadParameter(wrong, param_hint="--flag")
    _check_table(form, "--flag")
    _check_threshold(asking.threshold)


def _check_table(form: str, option: str) -> None:
    """Raise unless the output is a table, which an option needs."""
    if form not in TABLES:
        wrong = f"needs a table; use --to {', '.join(TABLES)}"
        raise typer.BadParameter(wrong, param_hint=option)


def _check_threshold(threshold: float) -> None:
    """Raise unless a threshold is a probability."""
    if not 0 <= threshold <= 1:
        wrong = f"got {threshold:g}, expected a probability, 0 to 1"
        raise typer.BadParameter(wrong, param_hint="--threshold")


def _style(model: Any, asking: Asking, output: str, corpus: Any) -> Style:
    colour = output == "-" and colour_wanted()
    terminal = output == "-" and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else 10**9
    values = None
    if asking.normalise:
        values = {y: normaliser(one) for y, one in model.normalisers_.items()}
    return Style(
        model.columns_,
        asking.scheme,
        asking.probabilities,
        colour,
        width,
        columns=lambda: getattr(corpus, "columns", None),
        carries=getattr(corpus, "format", "jsonl") in ("jsonl", *CARRYING),
        normalise=values,
        flag_below=asking.threshold if asking.flag else None,
    )


def _report(
    run: Run, seconds: float, skipped: int, files: tuple[str, str | None], json: bool
) -> None:
    """Print a summary of the run."""
    output, review = files
    if json:
        emit(
            {
                "output": output,
                "sequences": run.sequences,
                "written": run.written,
                "segments": run.segments,
                "review": review,
                "for_review": run.reviewed,
                "skipped": skipped,
                "seconds": round(seconds, 3),
            }
        )
        return
    if output != "-":
        pace = f" ({run.sequences / seconds:,.0f} in a second)" if seconds > 1 else ""
        cut = f"{counted(run.written, 'sequence')}, {counted(run.segments, 'segment')}"
        note(f"{cut}{pace}: {output}")
    none = (
        f"the lowest probability is {run.lowest:.2f}; a higher --threshold selects the least "
        "certain ones"
    )
    if run.asking.flag:
        column = "a column names their doubtful fields" if run.reviewed else none
        note(f"{run.reviewed:,} of them are for review: {column}")
    if review is not None:
        if run.reviewed:
            count = counted(run.reviewed, "sequence")
            need = "needs review and was" if run.reviewed == 1 else "need review and were"
            note(f"{count} {need} written only to {review}")
            options, others = options_like(run.model)
            line = shlex.join(["--also", review, *options])
            note(f"  correct that file, then run: caesura train TRAIN {line} -o NEW.model")
            if others:
                unnamed = ", ".join(others)
                note(f"  also give what set its {unnamed}, which the model file does not name")
        else:
            note(f"no sequence is for review, and {review} has no rows: {none}")
    if not run.sequences:
        name = "standard input" if run.name == "-" else run.name
        warn(f"{name}: got no sequences; is the input empty?")
