"""``caesura train``: train a model on labelled sequences."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from caesura.cli import corpus_summary, executor_options, training_data
from caesura.cli.advice import advice_for, unused_columns
from caesura.cli.command import command
from caesura.cli.known_values import values_of, with_known
from caesura.cli.model_files import load_model
from caesura.cli.model_settings import Choices, chosen, estimator
from caesura.cli.naming import naming
from caesura.cli.output import Json, check_apart, note, say, warn, written
from caesura.cli.prediction_formats import check_written
from caesura.cli.progress import hush
from caesura.cli.reading import Reading, labelled, read_all, report_notes
from caesura.cli.review_file import is_review, used_rows
from caesura.cli.run_options import Run
from caesura.cli.setting_files import files_of, naming_config
from caesura.cli.settings import Settings
from caesura.cli.tokeniser_choice import Tokens
from caesura.cli.train_report import report_training
from caesura.cli.trained_columns import remember
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, message

__all__ = ["train"]

SHOWN = 1000  # sequences of a streamed corpus that are summarised
MEANING = {  # settings that a checkpoint depends on, in words
    "n": "number of weights",
    "weights": "number and checksum of the weights",
    "optimiser": "learner",
    "c1": "c1 of the weights",
    "c2": "c2 of the weights",
    "sequences": "number of sequences",
}


@command(
    "caesura train train.jsonl --dev dev.jsonl -o citations.model --preset citations\n"
    "caesura train products.csv --text-column title --labels brand,model -o products.model\n"
    "caesura train train.jsonl --also corrected.csv -o better.model\n"
    "caesura train big.jsonl --learner sgd --stream --max-attributes 2000000 -o big.model\n"
    "caesura train 'shards/*.jsonl.gz' --executor 8 -o big.model"
)
def train(
    train: Annotated[
        list[str],
        typer.Argument(
            metavar="TRAIN...",
            help="Read labelled sequences from these files; - is the standard input.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the model to this file.")],
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            help="Also learn from this file: a corrected review file, or a table with columns of"
            " the same labels. Can be repeated. Default: none.",
            metavar="FILE",
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            "--dev",
            "-d",
            metavar="FILE",
            help="Evaluate on the labelled sequences in this file after each iteration, and keep "
            "the weights of the latest iteration whose F1 is within one standard error of the best "
            "(neural: of the best epoch). Default: keep the final weights.",
        ),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known",
            metavar="LABEL=FILE:COLUMN",
            help="Use the values in COLUMN of FILE, or of a database "
            "(LABEL=DATABASE:TABLE.COLUMN), as known values of LABEL: segments that equal or "
            "resemble one are more likely to get the label. Can be repeated. Default: none.",
        ),
    ] = None,
    known_exact: Annotated[
        bool,
        typer.Option(
            "--known-exact",
            help="Look only for segments that equal a known value, not for similar ones, which "
            "is much faster.",
        ),
    ] = False,
    run: Run = Run(),  # noqa: B008 - a frozen tuple
    settings: Settings = Settings(),  # noqa: B008
    reading: Reading = Reading(),  # noqa: B008
    scale: executor_options.Scaling = executor_options.Scaling(),  # noqa: B008
    json: Json = False,
) -> None:
    """Train a model on labelled sequences.

    Shows the data, then the progress, then scores on the development data. Ctrl-C leaves a
    checkpoint, from which --resume continues.
    """
    hush(run.quiet)
    choices = chosen(settings, reading.tokeniser)
    others = (dev, run.calibrate, run.warm_start, *files_of(settings, choices))
    check_apart((output, _place(output, run)), (*train, *(also or ()), *others))
    check_written(output, "a model", ".model")
    with naming_config(settings):
        model = _model(choices, run)
    if known:
        if run.warm_start is not None:
            raise InvalidInput(
                "cannot be combined with --warm-start, whose model has its own known values",
                place="--known",
                remedy="leave one out",
            )
        model = with_known(model, values_of(known), not known_exact)
    elif known_exact:
        raise InvalidInput(
            "needs known values", place="--known-exact", remedy="add --known LABEL=FILE:COLUMN"
        )
    if run.warm_start is not None:
        choices |= {"tokeniser": model.tokeniser_, "outside": model.outside}
    checkpoint = _checkpoint(output, run)
    if scale.executor is not None:
        executor_options.check_parted(model, also, train)
        corpora = _parts(train, dev, reading, choices)
    else:
        executor_options.check_alone(scale)
        corpora = _read((train, also or []), dev, reading, choices, json)
    if run.warm_start is None and "tokeniser" in choices:  # it may have been chosen just now
        with naming_config(settings):
            model = _model(choices, run)
    if run.warm_start is None:
        unused = unused_columns(choices, corpora.first, train[0])
        corpora.warnings.extend(unused)
        for line in unused:
            warn(line)
    untested = run.quiet or run.warm_start or scale.executor is not None
    advice = None if untested else advice_for(choices, corpora.train)
    if advice is not None and not json:
        say(f"{advice}\n")
    began = time.perf_counter()
    with naming_config(settings):
        _fit(model, corpora, dev, checkpoint, scale)
    seconds = time.perf_counter() - began
    if scale.executor is not None and corpora.dev is not None:  # with the tokeniser that was fitted
        held_out: Any = corpora.dev
        corpora = corpora._replace(dev=list(held_out.cut_by(model.tokeniser_)))
    if getattr(model, "stream", False):
        for path, corpus in corpora.streams:
            report_notes(corpus, path)
    remember(model, reading, corpora.tables, any(one.columns for one in corpora.first))
    order = [label for label in corpora.order if label in model.labels_]
    if order:
        model.set_columns(order)
    if run.calibrate is not None:
        held_out = read_all(run.calibrate, reading, tokeniser=choices.get("tokeniser"))
        held_out = labelled(held_out, run.calibrate)
        if is_review(names := list(held_out[0].carried)):
            held_out = used_rows(held_out, names, str(run.calibrate))
        with naming(run.calibrate):
            model.calibrate(held_out)
    plain = {"verbose": False, "n_threads": None, "warm_start": False}
    model.set_params(**{name: plain[name] for name in plain if name in model.get_params()})
    _save(model, output, checkpoint)
    if run.checkpoint is None:
        checkpoint.unlink(missing_ok=True)
    report_training(model, corpora, (output, seconds, advice), json)


class _Corpora(NamedTuple):
    """The training and development data with their statistics."""

    train: Iterable[Document]
    first: list[Document]  # all training data, or the first sequences if it is streamed
    dev: list[Document] | None
    summaries: list[tuple[str, corpus_summary.Summary]]
    warnings: list[str]
    counts: list[tuple[str, int]]  # (file, number of sequences) of the training data
    order: list[str]  # labels in the order of columns, if the data is a table
    streams: list[tuple[str, Any]]
    tables: list[Any]  # the columns of tables


def _read(
    paths: tuple[list[str], list[str]],
    dev: str | None,
    reading: Reading,
    choices: Choices,
    quietly: bool,
) -> _Corpora:
    """Read the data and print its statistics."""
    outside, stream = str(choices.get("outside", "O")), bool(choices.get("stream"))
    tokens = Tokens(reading, choices)
    found = training_data.read_training(*paths, reading, tokens, SHOWN if stream else None)
    held_out = None if dev is None else tokens.read(dev, reading)
    tokens.settle(choices)
    documents, name = tokens.settled(found.first), "train"
    if not stream:
        found = found._replace(documents=documents)
    if stream:
        name = f"train, first {len(documents):,}"
    summaries = [(name, corpus_summary.summarise(documents, outside))]
    if not stream and not summaries[0][1].segments:
        files = ", ".join(path for path, _ in found.counts)
        raise InvalidInput(
            place=files, got="no segments at all", expected="some", remedy="label at least one"
        )
    if held_out is not None:
        held_out = tokens.settled(held_out)
        summaries.append(("dev", corpus_summary.summarise(held_out, outside)))
    warnings = [
        f"{name}: {line}"
        for name, s in summaries
        for line in s.warnings
        if name == "train" or "rare" not in line
    ]
    if held_out is not None and not stream:
        warnings += corpus_summary.between(documents, held_out, *(s for _, s in summaries))
    if not quietly:
        corpus_summary.show(summaries)
    for line in warnings:
        warn(line)
    own = (found.counts, found.order, found.streams, found.tables)
    return _Corpora(found.documents, documents, held_out, summaries, warnings, *own)


def _model(choices: Choices, run: Run) -> Any:
    """Return a new estimator, or one that continues from the weights of a model."""
    shown = False if run.quiet else None
    if run.warm_start is None:
        if choices.get("max_iterations") == 0:
            expected = "1 or more: without iterations all weights are zero"
            raise InvalidInput(message("--max-iterations", 0, expected, "leave it out"))
        if run.near:
            raise InvalidInput(
                "needs a model to stay near", place="--near", remedy="add --warm-start MODEL"
            )
        return estimator(choices, verbose=shown)
    if "model" in choices or "features" in choices or "gazetteer" in choices:
        raise InvalidInput(
            place="--warm-start",
            got="a model and --model, --preset or --gazetteer",
            expected="one",
            remedy="leave them out: the model has features of its own",
        )
    model = load_model(run.warm_start, trust=run.trust)
    cutter = choices.get("tokeniser", model.tokeniser_)
    if Tokeniser.of(cutter) != Tokeniser.of(model.tokeniser_):
        remedy = "leave it out: the model has learnt from such tokens"
        expected = f"{model.tokeniser_!r}, as in {run.warm_start}"
        raise InvalidInput(message("--tokeniser", cutter, expected, remedy))
    return model.set_params(**choices, warm_start="near" if run.near else True, verbose=shown)


def _place(output: Path, run: Run) -> Path:
    return run.checkpoint or output.with_name(output.name + ".checkpoint")


def _checkpoint(output: Path, run: Run) -> Path:
    """Return the checkpoint path; an existing file is accepted only for continuing a run."""
    place = _place(output, run)
    if run.resume and not place.exists():
        raise InvalidInput(
            "no such file", place=place, remedy="there is no checkpoint, leave --resume out"
        )
    if place.exists() and run.resume is None:
        raise InvalidInput(
            "a checkpoint of an earlier run is there",
            place=place,
            remedy="pass --resume to continue from it, or --restart to start again",
        )
    if run.resume is False:
        place.unlink(missing_ok=True)
    return place


def _parts(train: list[str], dev: str | None, reading: Reading, choices: Choices) -> _Corpora:
    """Return files as parts, which workers read themselves."""
    tokeniser = choices.get("tokeniser")
    parts = [
        executor_options.FilePart(path, reading, tokeniser)
        for path in executor_options.expanded(train)
    ]
    held_out: Any = None if dev is None else executor_options.FilePart(dev, reading, tokeniser)()
    data: Any = parts
    return _Corpora(data, [], held_out, [], [], [], [], [], [])


def _fit(
    model: Any,
    corpora: _Corpora,
    dev: str | None,
    checkpoint: Path,
    scale: executor_options.Scaling,
) -> None:
    """Train; when interrupted, print how to continue."""
    reached = 0
    going_on = checkpoint.exists()

    def count(progress: Any) -> None:
        nonlocal reached
        reached = progress.iteration

    try:
        with naming(corpora.counts, dev):
            run: dict[str, Any] = {"X_dev": corpora.dev, "checkpoint": checkpoint}
            run["callbacks"] = [count]
            if scale.executor is None:
                model.fit(corpora.train, **run)
            else:
                with executor_options.engine(scale) as engine:
                    model.fit_parts(corpora.train, engine, **run, folder=scale.parts_folder)
    except InvalidInput as error:
        if not going_on or error.argument != "checkpoint":
            raise
        raise _foreign(checkpoint, error) from None
    except OSError:
        if reached and checkpoint.exists():
            _note_kept(checkpoint, "training stopped")
        raise
    except KeyboardInterrupt:
        if not checkpoint.exists():
            note("interrupted before the first iteration; there is no checkpoint to continue from")
        else:
            _note_kept(checkpoint, "interrupted" + f" after iteration {reached}" * bool(reached))
        raise typer.Exit(130) from None


def _save(model: Any, output: Path, checkpoint: Path) -> None:
    """Write the model; if that fails, the weights remain in the checkpoint."""
    try:
        with written(output):
            model.save(output)
    except OSError:
        if checkpoint.exists():
            _note_kept(checkpoint, "the model is complete, but cannot be written")
        raise


def _note_kept(checkpoint: Path, why: str) -> None:
    """Print how to continue from the checkpoint."""
    words = [word for word in sys.argv[1:] if word not in ("--resume", "--restart")]
    note(f"{why}; {checkpoint} is kept; continue with:")
    note(f"  {shlex.join(['caesura', *words, '--resume'])}")


def _foreign(checkpoint: Path, error: InvalidInput) -> InvalidInput:
    """Return the error for a checkpoint of another run."""
    from caesura.learning.checkpoint import OtherRun

    if not isinstance(error, OtherRun):
        remedy = f"{error.remedy}; or pass --restart"
        return error.changed(argument=str(checkpoint), remedy=remedy)
    was, now = ("none" if value is None else value for value in (error.was, error.now))
    setting = MEANING.get(error.setting, error.setting)
    return InvalidInput(
        place=str(checkpoint),
        got=f"the checkpoint of a run with other data or settings ({setting}: {was}, now {now})",
        expected="one of this run",
        remedy="give the same data and settings, or pass --restart to start again",
    )
