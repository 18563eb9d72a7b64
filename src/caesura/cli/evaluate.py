"""``caesura evaluate``: how good predictions are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from caesura.cli import measuring
from caesura.cli.answers import System, gold_of
from caesura.cli.declare import command
from caesura.cli.output import Json, check_apart, check_output, emit, say, written
from caesura.cli.progress import Quiet, hush
from caesura.cli.reading import Reading, Trust, is_model
from caesura.cli.writing import as_written
from caesura.corpora.files import writing
from caesura.documents import Document
from caesura.render import text
from caesura.segments import Segment

__all__ = ["evaluate"]


class Showing(NamedTuple):
    """What to show beside the scores."""

    details: Annotated[
        bool,
        typer.Option("--details", help="Kinds of error, confused labels, partial matches."),
    ] = False
    worst: Annotated[
        int,
        typer.Option("--worst", "-w", min=0, help="Show the N sequences with most mistakes."),
    ] = 0
    confidence: Annotated[
        float | None, typer.Option(help="Intervals by resampling, as 0.95.", show_default=False)
    ] = None
    train: Annotated[
        str | None,
        typer.Option(help="Training data: recall of segments that are in it, and of new ones."),
    ] = None
    html: Annotated[
        Path | None, typer.Option(help="Write a page with plots and the worst sequences.")
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Of the resampling.")] = 0
    threads: Annotated[int | None, typer.Option(help="Threads of a model.")] = None
    trust: Trust = False
    quiet: Quiet = False


@command(
    "caesura evaluate gold.jsonl predicted.jsonl --worst 5\n"
    "caesura evaluate citations.model test.jsonl --json"
)
def evaluate(
    first: Annotated[
        str, typer.Argument(metavar="GOLD", help="Labelled sequences (or a model, then GOLD).")
    ],
    second: Annotated[
        str,
        typer.Argument(metavar="PREDICTED", help="The same with predicted segments, or a model."),
    ],
    showing: Showing = Showing(),  # noqa: B008 - a frozen tuple
    reading: Reading = Reading(),  # noqa: B008
    json: Json = False,
) -> None:
    """Count right segments: precision, recall and F1, over all and by label.

    A segment is right if its start, its end and its label are, as conlleval and seqeval count.
    """
    hush(showing.quiet)
    name, system = (second, first) if is_model(first) else (first, second)
    share = showing.confidence
    _check(showing)
    check_apart((showing.html,), (first, second, showing.train))
    asked = System(system, showing.threads, showing.trust)
    gold = gold_of(name, reading, asked)
    chances = None
    if asked.model is not None and (showing.details or showing.html):
        found, chances = asked.confident(gold, name)
    else:
        found = asked.segments(gold, name, reading)
    words = None
    if showing.train is not None:
        words = measuring.vocabulary(gold_of(showing.train, reading, asked))
    report = measuring.measure(gold, found, confidence=share, vocabulary=words, seed=showing.seed)
    more = measuring.details(gold, found, chances) if showing.details else []
    if showing.html is not None:
        page = measuring.page(gold, found, chances, words)
        with written(showing.html), writing(showing.html) as file:
            file.write(page)
    if json:
        emit(measuring.as_json(report) | {what: measuring.plain(one) for what, one in more})
        return
    say(str(report))
    for what, one in more:
        say(f"\n{what}\n{one}")
    _worst(gold, found, showing.worst)


def _check(showing: Showing) -> None:
    """Raise for what would fail only after all else is done."""
    if showing.confidence is not None and not 0 < showing.confidence < 1:
        raise typer.BadParameter("a share between 0 and 1", param_hint="--confidence")
    if showing.html is not None:
        check_output(showing.html)


def _worst(gold: list[Document], found: list[list[Segment]], count: int) -> None:
    """Show the sequences with most mistakes, gold above predicted."""
    if not count:
        return
    pairs = []
    for i, (document, said) in enumerate(zip(gold, found, strict=True)):
        right = {s for s in document.segments or () if s.label != "O"}
        wrong = len(right ^ set(said))
        if wrong:
            pairs.append((wrong, i))
    pairs.sort(key=lambda pair: (-pair[0], pair[1]))
    labels = sorted({s.label for one in gold for s in one.segments or ()})
    for wrong, i in pairs[:count]:
        say(f"\nsequence {i + 1}, {wrong} segments differ")
        document = gold[i]
        for head, segments in (("gold     ", document.segments or ()), ("predicted", found[i])):
            said_so = text(*as_written(document, segments), labels=labels, width=10**9)
            print(f"  {head} {said_so}")  # it has its own colours
