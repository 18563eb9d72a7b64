"""``caesura convert``: from one format of corpora to another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from caesura import corpora
from caesura.cli.command import command
from caesura.cli.output import Json, check_output, emit, note, warn, written
from caesura.cli.progress import Quiet, Ticker, hush
from caesura.cli.reading import Reading, base_name, read, report_notes
from caesura.corpora import detect
from caesura.corpora.reading_progress import metered
from caesura.documents import Document
from caesura.errors import InvalidInput, counted
from caesura.segments import to_tags

__all__ = ["convert", "kept_format"]

CARRYING = ("csv", "parquet", "xlsx")  # formats that can hold other columns


@command(
    "caesura convert train.conll train.jsonl\n"
    "caesura convert addresses.xml addresses.conll --scheme BIOES"
)
def convert(
    input: Annotated[
        str, typer.Argument(metavar="IN", help="Read this file; - is the standard input.")
    ],
    output: Annotated[
        str, typer.Argument(metavar="OUT", help="Write this file; - is the standard output.")
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            "-t",
            help="Write OUT in this format: conll, jsonl, csv, parquet, xlsx, xml, brat or text."
            " Default: guessed from its name.",
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            help="Write CoNLL tags in this scheme: BIO, BIOES, BCEU, BMES or another. Default: BIO."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            help="Write JSON lines with tokens (tokens) or with a text and spans of its "
            "characters (text). Default: tokens, with the text and its offsets where known."
        ),
    ] = None,
    quiet: Quiet = False,
    reading: Reading = Reading(),  # noqa: B008 - a frozen tuple
    json: Json = False,
) -> None:
    """Convert labelled sequences from one format to another.

    Formats are guessed from the file names, unless --format and --to are given.
    """
    hush(quiet)
    if json and output == "-":
        wrong = "it prints counts, and the sequences go to stdout too; give a file as OUT"
        raise typer.BadParameter(wrong, param_hint="--json")
    options: dict[str, Any] = {"scheme": scheme, "form": form}
    if scheme is not None:
        try:
            to_tags([], scheme, 0)
        except InvalidInput as error:
            raise error.changed(place="--scheme") from None
    check_output(output, folder=True)
    corpus = read(input, reading)
    to = to or kept_format(output, corpus.format)
    given = {name: value for name, value in options.items() if value is not None}
    carried: dict[str, None] = {}
    partial = 0

    def documents() -> Iterator[Document]:
        nonlocal partial
        for count, document in enumerate(corpus, 1):
            partial += document.known is not None
            carried.update(dict.fromkeys(document.carried))
            if count % 256 == 0:
                ticker(count, share=meter.share())
            yield document

    with written(output), metered() as meter, Ticker(stage="converting") as ticker:
        count = corpora.write(output, documents(), to, **given)
    form = to or ("brat" if os.path.isdir(output) else detect(output) if output != "-" else "")
    if carried and form not in ("jsonl", *CARRYING):
        listed = ", ".join(list(carried)[:12])
        warn(f"{form} has no place for {listed}; use csv, parquet, xlsx or jsonl")
    if partial and form != "jsonl":
        warn(f"{form} has no place for partial labels: {counted(partial, 'sequence')} without any")
    skipped = report_notes(corpus, input)
    if not count:
        warn(f"{input}: got no sequences; is the input empty?")
    if json:
        found = getattr(corpus, "scheme", None), getattr(corpus, "format", reading.format)
        emit(
            {
                "output": output,
                "sequences": count,
                "skipped": skipped,
                "scheme": found[0],
                "format": found[1],
            }
        )
    elif output != "-":
        note(f"{counted(count, 'sequence')}: {output}")


def kept_format(output: str, format: str) -> str | None:
    """Return the format of an input if it remains that of an output whose name allows several.

    Examples
    --------
    >>> kept_format("new.tsv", "xlsx"), kept_format("new.txt.gz", "conll")
    ('csv', 'conll')
    >>> kept_format("new.txt", "jsonl") is None
    True
    """
    suffix = base_name(output).suffix.lower()
    if suffix == ".tsv" and format in CARRYING:
        return "csv"
    return "conll" if suffix == ".txt" and format == "conll" else None
