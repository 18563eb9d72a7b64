"""``caesura split``: split a corpus into training, development and test files."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import typer

from caesura import corpora
from caesura.cli.command import command
from caesura.cli.convert import kept_format
from caesura.cli.output import Json, check_apart, check_output, emit, note, warn, written
from caesura.cli.prediction_tables import separator_of
from caesura.cli.progress import Quiet, hush, listed
from caesura.cli.reading import Reading, base_name, read, report_notes
from caesura.cli.tokeniser_choice import Tokens
from caesura.corpora.files import Together
from caesura.corpora.sinks import table_form
from caesura.corpora.tables import write_table
from caesura.documents import Document
from caesura.documents.tokeniser_fitting import level_of
from caesura.errors import InvalidInput, counted

__all__ = ["split"]

SHARES = {2: (80.0, 20.0), 3: (80.0, 10.0, 10.0)}  # percentages by number of files


@command(
    "caesura split all.jsonl train.jsonl test.jsonl\n"
    "caesura split all.csv train.csv dev.csv test.csv --shares 70,15,15 --seed 1"
)
def split(
    input: Annotated[
        str, typer.Argument(metavar="IN", help="Read this file; - is the standard input.")
    ],
    outputs: Annotated[
        list[str], typer.Argument(metavar="OUT...", help="Write these files, two or more.")
    ],
    shares: Annotated[
        str | None,
        typer.Option(
            help="Set the relative sizes of the output files, for example 80,10,10; they need not "
            "add up to 100. "
            "Default: 80,20 for two files, 80,10,10 for three, equal sizes for more."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Set the random seed.")] = 0,
    quiet: Quiet = False,
    reading: Reading = Reading(),  # noqa: B008 - a frozen tuple
    json: Json = False,
) -> None:
    """Split labelled sequences at random into files for training, development and test.

    Sequences with the same tokens stay together, so that no test sequence was seen in training.
    Formats are guessed from the file names. A table becomes tables with the same columns.
    """
    hush(quiet)
    weights = _weights(shares, len(outputs))
    if shares is not None and not any(math.isclose(sum(weights), one) for one in (1, 100)):
        used = ", ".join(f"{weight / sum(weights):.1%}" for weight in weights)
        note(f"--shares: {shares} is {sum(weights):g} in total; the files get {used}")
    for output in outputs:
        check_output(output)
    check_apart(outputs, [input])
    corpus = read(input, reading)
    tokens = Tokens(reading, {} if reading.tokeniser is None else {"tokeniser": reading.tokeniser})
    documents = listed(tokens.documents(corpus, input), input)
    skipped = report_notes(corpus, input)
    parts = divided(documents, weights, seed)
    with Together():
        for output, part in zip(outputs, parts, strict=True):
            with written(output), _naming_output():
                _write(output, part, corpus, _form(output, documents))
    if json:
        files = {path: len(part) for path, part in zip(outputs, parts, strict=True)}
        emit({"sequences": len(documents), "skipped": skipped, "files": files})
        return
    for output, part in zip(outputs, parts, strict=True):
        note(f"{counted(len(part), 'sequence')}: {output}")
        if not part:
            warn(f"{output}: got no sequences; give {input} more of them, or another --shares")


@contextlib.contextmanager
def _naming_output() -> Iterator[None]:
    """Name the output in errors about its format, which no option sets."""
    try:
        yield
    except InvalidInput as error:
        if error.remedy != corpora.OTHER_FORMAT:
            raise
        raise error.changed(argument="OUT", remedy="give another name") from None


def divided(
    documents: Sequence[Document], weights: Sequence[float], seed: int
) -> list[list[Document]]:
    """Split documents at random; each part keeps the order of the documents.

    Examples
    --------
    >>> parts = divided([Document((word,)) for word in "abcdefghab"], [80, 20], 0)
    >>> [len(part) for part in parts], {one.tokens for one in parts[0]} & {
    ...     one.tokens for one in parts[1]}
    ([8, 2], set())
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, document in enumerate(documents):
        groups.setdefault(document.tokens, []).append(i)
    drawn = list(groups.values())
    random.Random(seed).shuffle(drawn)
    ends = [round(len(documents) * share) for share in _cumulative(weights)]
    parts: list[list[int]] = [[] for _ in weights]
    at, part = 0, 0
    for group in drawn:
        while part < len(weights) - 1 and at >= ends[part]:
            part += 1
        parts[part] += group
        at += len(group)
    return [[documents[i] for i in sorted(some)] for some in parts]


def _write(
    output: str,
    part: Sequence[Document],
    corpus: corpora.Corpus,
    options: dict[str, str],
) -> None:
    """Write a part; from table to table with the same columns in the same order."""
    form, columns = table_form(output), corpus.columns
    if form is None or columns is None or columns.text is None or columns.more:
        corpora.write(output, part, kept_format(output, corpus.format), **options)
        return
    separator = separator_of(columns, form)
    write_table(output, form, part, columns.text, columns.labels, separator, columns.names)


def _form(output: str, documents: Iterable[Document]) -> dict[str, str]:
    """Return the JSON lines options; texts are kept so that `train` chooses the tokeniser."""
    texts = base_name(output).suffix in (".jsonl", ".ndjson", ".json")
    texts = texts and all(level_of(one) is not None for one in documents)
    return {"form": "text"} if texts else {}


def _cumulative(weights: Iterable[float]) -> list[float]:
    sums = list(itertools.accumulate(weights))
    return [one / sums[-1] for one in sums]


def _weights(shares: str | None, n: int) -> Sequence[float]:
    """Return the relative size of each file."""
    if n < 2:
        raise typer.BadParameter("got one file, expected two or more", param_hint="OUT")
    if shares is None:
        return SHARES.get(n, (1.0,) * n)
    try:
        found = [float(one) for one in shares.split(",")]
    except ValueError:
        found = []
    if len(found) != n or not all(0 < one < float("inf") for one in found):
        wrong = f"got {shares!r}, expected {n} positive numbers, one for each file, as 80,20"
        raise typer.BadParameter(wrong, param_hint="--shares")
    return found
