"""``caesura label``: label texts in the browser while a model learns in the background."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from caesura import corpora
from caesura.cli.command import command
from caesura.cli.model_files import Trust, load_model
from caesura.cli.output import check_apart, check_output, note, warn
from caesura.cli.progress import listed
from caesura.cli.reading import Reading, read, report_notes
from caesura.cli.server_setup import (
    Address,
    announce,
    check_installed,
    hosts_of,
    listening_at,
    tokens_of,
)
from caesura.cli.tokeniser_option import tokeniser_of
from caesura.cli.training_data import TABLES, columns_of
from caesura.documents import Document
from caesura.errors import InvalidInput, counted

__all__ = ["label"]

PANEL = "Reading"


class Texts(NamedTuple):
    """How the texts are read."""

    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            rich_help_panel=PANEL,
            help="Read DATA in this format: conll, jsonl, csv, parquet, xlsx, xml, brat or text. "
            "Default: guessed from the name of the file.",
        ),
    ] = None
    tokeniser: Annotated[
        str | None,
        typer.Option(
            "--tokeniser",
            rich_help_panel=PANEL,
            help="Split text into words, parts (of words), characters, whitespace or "
            "regex:PATTERN. Default: that of the model, or words.",
        ),
    ] = None
    text_column: Annotated[
        str | None,
        typer.Option(
            "--text-column",
            rich_help_panel=PANEL,
            help="Read the text from this column of a table, or key of JSON lines. Default: "
            "guessed, if one column clearly is the text.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding", rich_help_panel=PANEL, help="Read text in this encoding. Default: UTF-8."
        ),
    ] = None
    skip_errors: Annotated[
        bool,
        typer.Option("--skip-errors", rich_help_panel=PANEL, help="Skip unreadable texts."),
    ] = False


@command(
    "caesura label references.txt -o labels.jsonl --labels author,title,year\n"
    "caesura label new.txt -o labels.jsonl --model citations.model --open\n"
    "caesura label doubtful.csv -o labels.jsonl --model citations.model --review\n"
    "caesura train labels.jsonl -o my.model"
)
def label(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Read texts from this file: one on each line, or a file in one of the formats of "
            "--format.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Write labels to this .jsonl file; a file with the same name and the ending "
            ".journal records every action.",
        ),
    ],
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", "-m", help="Start with the suggestions of this model. Default: none."
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            "-l",
            help="Start with these labels, for example author,title,year. Default: those of the "
            "model.",
        ),
    ] = None,
    review: Annotated[
        bool,
        typer.Option(
            "--review",
            help="Treat existing labels in DATA as suggestions to check, for example in a review "
            "file. Default: texts with labels count as labelled.",
        ),
    ] = False,
    every: Annotated[
        int, typer.Option(min=1, help="Train again after this many newly labelled texts.")
    ] = 5,
    address: Address = Address(),  # noqa: B008 - a frozen tuple
    texts: Texts = Texts(),  # noqa: B008
    trust: Trust = False,
) -> None:
    """Label texts in the browser while a model learns in the background.

    After each correction, the model predicts the rest of the text again and keeps your corrections.
    Every action is saved at once; run the same command again to continue.
    """
    check_installed("caesura label")
    from caesura.server.background_training import Teacher
    from caesura.server.label_api import label_application
    from caesura.server.project import Project
    from caesura.server.running import run

    if output.suffix != ".jsonl":
        raise InvalidInput(
            place="--output",
            got=str(output),
            expected="a name that ends in .jsonl",
            remedy="pass labels.jsonl",
        )
    check_output(output)
    check_apart([output], [data, model])
    tokens = tokens_of(address)
    loaded = None if model is None else load_model(model, trust=trust)
    reading = Reading(**texts._asdict())
    cutter = tokeniser_of(reading.tokeniser) or (loaded.tokeniser_ if loaded else "words")
    given = [name.strip() for name in (labels or "").split(",") if name.strip()]
    if "O" in given:
        raise InvalidInput(
            place="--labels",
            got="O, which is reserved for tokens in no segment",
            remedy="leave it out",
        )
    given += loaded.labels_ if loaded else ()
    documents = _documents(data, reading, cutter, given)
    project = Project(documents, output, given, review)
    if project.lost:
        warn(f"ignored {counted(project.lost, 'action')} in the journal on texts that {data} lacks")
    teacher = Teacher(project, loaded, every)
    app = label_application(project, teacher, tokens=tokens, hosts=hosts_of(address, tokens))
    try:
        with listening_at(address) as made:
            announce(address, made.getsockname()[1], f"{counted(len(documents), 'text')} to label")
            teacher.start()
            try:
                run(app, made)
            finally:
                teacher.stop()
    finally:
        project.close()
        note(f"labels: {output}")


def _documents(data: str, reading: Reading, tokeniser: Any, labels: list[str]) -> list[Document]:
    """Read the texts; table columns named like labels hold segments."""
    form = reading.format or corpora.detect(data)
    columns = columns_of(data, form, reading.encoding) if form in TABLES else []
    corpus = read(
        data,
        reading,
        tokeniser=tokeniser,
        format="text",
        labels=[label for label in labels if label in columns],
    )
    documents = listed(corpus, data)
    report_notes(corpus, data)
    if not documents:
        raise InvalidInput(
            place=data,
            got="no texts",
            expected="at least one to label",
            remedy="write one text to a line",
        )
    if form in TABLES:  # in tables, a row that has only its text is not labelled yet
        documents = [one if one.segments else replace(one, segments=None) for one in documents]
    return documents
