"""``caesura evaluate``: precision, recall, F1 and error analysis."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from caesura.cli import scoring
from caesura.cli.command import command
from caesura.cli.gold_and_predicted import System, answered, gold_of, side_by_side
from caesura.cli.model_files import OutsideBias, Trust, is_model
from caesura.cli.output import Json, check_apart, emit, say, written
from caesura.cli.prediction_formats import check_written
from caesura.cli.prediction_output import as_written
from caesura.cli.progress import Quiet, hush
from caesura.cli.reading import Reading
from caesura.corpora.files import writing
from caesura.documents import Document
from caesura.evaluation.error_analysis import NONE
from caesura.evaluation.overlap import WAYS_OF_MATCHING
from caesura.evaluation.report import AVERAGES
from caesura.evaluation.scores import Share
from caesura.evaluation.tables import plain, shown
from caesura.render import text
from caesura.segments import Segment

__all__ = ["evaluate"]

_WIDEST = 10  # labels in a confusion matrix that still fits a terminal
_MOST = 20  # confusions listed in place of a larger matrix
_BRACKET = re.compile(r"[][]")  # to escape those in the text: brackets mark segments
_CARRIED = 3  # other columns of the input that are shown for a sequence


class Showing(NamedTuple):
    """Options for output beside the scores."""

    details: Annotated[
        bool,
        typer.Option("--details", help="Show kinds of error, confused labels and partial matches."),
    ] = False
    worst: Annotated[
        int,
        typer.Option("--worst", "-w", min=0, help="Show the N sequences with the most errors."),
    ] = 0
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="LABEL",
            help="Count only this label. Can be repeated. Default: all labels.",
        ),
    ] = None
    beta: Annotated[
        float,
        typer.Option(
            help="Show F-beta too, in which recall counts BETA times as much as precision."
        ),
    ] = 1.0
    average: Annotated[
        list[str] | None,
        typer.Option(
            "--average",
            metavar="NAME",
            help=f"Show this average: {', '.join(AVERAGES[:3])}, untyped (labels ignored) or "
            "boundaries (segment boundaries only). Can be repeated. Default: all.",
        ),
    ] = None
    side_by_side: Annotated[
        bool,
        typer.Option(
            "--side-by-side",
            help="Read gold and predicted tags from the last two columns of GOLD, as is done for"
            " a single file.",
        ),
    ] = False
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Show confidence intervals at this level, such as 0.95, by resampling. Default:"
            " none.",
            show_default=False,
        ),
    ] = None
    train: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Show the recall of segments that occur among the labelled sequences in this "
            "file, such as the training data, and of new ones. Default: none.",
        ),
    ] = None
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a page with plots and the worst sequences to this file. Default: none."
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Set the random seed of the resampling.")] = 0
    outside_bias: OutsideBias = None
    threads: Annotated[
        int | None, typer.Option(help="Use this many threads for a model. Default: all cores.")
    ] = None
    trust: Trust = False
    quiet: Quiet = False


@command(
    "caesura evaluate gold.jsonl predicted.jsonl --worst 5\n"
    "caesura evaluate citations.model test.jsonl --json\n"
    "caesura evaluate conlleval.txt --repair repair"
)
def evaluate(
    first: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|GOLD",
            help="Evaluate this model on GOLD, or compare labelled sequences with those in "
            "PREDICTED; a single file has gold and predicted tags in its last two columns, as for "
            "conlleval.",
        ),
    ],
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="GOLD|PREDICTED",
            help="Read the labelled sequences for the model, or the predicted ones; the model may "
            "also come second.",
        ),
    ] = None,
    showing: Showing = Showing(),  # noqa: B008 - a frozen tuple
    reading: Reading = Reading(),  # noqa: B008
    json: Json = False,
) -> None:
    """Compute precision, recall and F1 of segments, in total and by label.

    A segment is right if its start, its end and its label are, as conlleval and seqeval count.
    """
    hush(showing.quiet)
    _check(showing)
    check_apart((showing.html,), (first, second, showing.train))
    if showing.html is not None:
        check_written(showing.html, "a page", ".html", ".htm")
    answers = _answers(first, second, showing, reading)
    gold, found, chances = answers.gold, answers.found, answers.chances
    if showing.only:
        gold, found, chances = scoring.only(gold, found, chances, showing.only)
    words = None
    if showing.train is not None:
        words = scoring.vocabulary(gold_of(showing.train, reading, *answers.systems).documents)
    report = scoring.measure(
        *(gold, found),
        confidence=showing.confidence,
        vocabulary=words,
        seed=showing.seed,
        beta=showing.beta,
    )._replace(tags=answers.tags)
    more = scoring.details(gold, found, chances) if showing.details else []
    if showing.html is not None:
        page = scoring.page(gold, found, chances, words, beta=showing.beta, tags=answers.tags)
        with written(showing.html), writing(showing.html) as file:
            file.write(page)
    if json:
        emit(scoring.as_json(report) | {what: scoring.plain(one) for what, one in more})
        return
    say(report.shown(showing.average) if showing.average else str(report))
    for what, one in more:
        say(f"\n{_analysis(what, one)}")
    _worst(gold, found, showing.worst)


def _analysis(what: str, found: Any) -> str:
    """Return an analysis of the errors under a heading, for a terminal."""
    if what == "confusion" and len(found.labels) > _WIDEST:
        most = found.most(_MOST)
        pairs = [[NONE if y is None else shown(y) for y in one[:2]] for one in most]
        rows = [(*pair, str(one.times)) for pair, one in zip(pairs, most, strict=True)]
        heading = (
            f"confusion, the {len(most)} most frequent of {len(found.most())} (--html has all)"
        )
        return f"{heading}\n{plain([('gold', 'predicted', 'segments'), *rows])}"
    if what == "partial":
        return f"{what} ({WAYS_OF_MATCHING})\n{found}"
    return f"{what}\n{found}"


class _Answers(NamedTuple):
    """The gold and predicted segments to compare."""

    gold: list[Document]
    found: list[list[Segment]]
    chances: list[list[float]] | None = None  # probabilities of the segments predicted by a model
    tags: Share | None = None  # equal tags, if they are known
    systems: tuple[System, ...] = ()


def _answers(first: str, second: str | None, showing: Showing, reading: Reading) -> _Answers:
    """Return the gold and the predicted segments, from one file or from two."""
    if showing.outside_bias is not None and not any(map(is_model, filter(None, (first, second)))):
        raise typer.BadParameter(
            "needs a model; give one, or leave the option out", param_hint="--outside-bias"
        )
    if second is None:
        if is_model(first):
            raise typer.BadParameter(
                "got only a model; give labelled sequences as well", param_hint="GOLD"
            )
        pairs = side_by_side(first, reading)
        tags = Share(pairs.tags, pairs.equal_tags)
        return _Answers(pairs.documents, pairs.predicted, tags=tags)
    if showing.side_by_side:
        raise typer.BadParameter(
            "got two files, expected one; leave one out", param_hint="--side-by-side"
        )
    name, path = (second, first) if is_model(first) else (first, second)
    system = System(path, showing.threads, showing.trust, showing.outside_bias)
    gold = gold_of(name, reading, system)
    if system.model is not None and (showing.details or showing.html):
        found, chances = system.confident(gold.documents, name)
        return _Answers(gold.documents, found, chances, systems=(system,))
    kept, (said,) = answered(gold.documents, system.segments(gold, name, reading))
    return _Answers(kept, said, systems=(system,))


def _check(showing: Showing) -> None:
    """Raise early for options that would fail only at the end."""
    if showing.confidence is not None and not 0 < showing.confidence < 1:
        level = showing.confidence
        remedy = f"; for {level:g} %, pass {level / 100:g}" if 1 < level < 100 else ""
        wrong = f"got {level:g}, expected a share between 0 and 1{remedy}"
        raise typer.BadParameter(wrong, param_hint="--confidence")
    for name in showing.average or ():
        if name not in AVERAGES:
            wrong = f"got {name}, expected {', '.join(AVERAGES)}"
            raise typer.BadParameter(wrong, param_hint="--average")
    if not 0 < showing.beta < math.inf:
        wrong = f"got {showing.beta:g}, expected a number above 0"
        raise typer.BadParameter(wrong, param_hint="--beta")


def _worst(gold: list[Document], found: list[list[Segment]], count: int) -> None:
    """Print the sequences with the most mistakes, gold above predicted."""
    if not count:
        return
    labels = sorted({s.label for one in gold for s in one.segments or ()})
    for i, wrong in scoring.worst(gold, found, count):
        say(f"\nsequence {i + 1}: {wrong}")
        document = gold[i]
        carried = list(document.carried.items())[:_CARRIED]
        if carried:
            say("  " + ", ".join(f"{shown(str(k))}: {shown(str(v)[:60])}" for k, v in carried))
        for head, segments in (("gold     ", document.segments or ()), ("predicted", found[i])):
            marked, words = as_written(document, segments)
            escaped = [_BRACKET.sub(r"\\\g<0>", word) for word in words]
            said_so = text(marked, escaped, labels=labels, width=10**9)
            print(f"  {head} {said_so}")  # already coloured
