"""Reading of corpora by commands: options, files and skipped records.

All that depends on how `caesura.corpora` reads is in this module.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from caesura import corpora
from caesura.checks import nothing
from caesura.cli.output import note, warn
from caesura.cli.progress import listed
from caesura.cli.remedies import with_options
from caesura.cli.stdin_format import format_of_texts
from caesura.cli.tokeniser_option import tokeniser_of
from caesura.documents import Document
from caesura.errors import InvalidInput, counted

__all__ = [
    "Reading",
    "base_name",
    "conlleval_options",
    "labelled",
    "options_of",
    "read",
    "read_all",
    "report_notes",
    "separator_of",
]

PANEL = "Reading"
TOKENISERS = ("words", "parts", "characters", "whitespace")
PACKED = (".gz", ".bz2", ".xz")
_option = functools.partial(typer.Option, rich_help_panel=PANEL)


class Reading(NamedTuple):
    """Options for reading corpora."""

    format: Annotated[
        str | None,
        _option(
            "--format",
            "-f",
            help="Read the input in this format: conll, jsonl, csv, parquet, xlsx, xml, brat or "
            "text. Default: guessed from the name of the file.",
        ),
    ] = None
    tokeniser: Annotated[
        str | None,
        _option(
            "--tokeniser",
            help="Choose how text is split into tokens: words, parts (of words), characters, "
            "whitespace or regex:PATTERN. Default: that of the model; in training auto, which "
            "chooses the first of words, parts and characters for which every labelled span "
            "starts and ends at a token boundary.",
            autocompletion=lambda: list(TOKENISERS),
        ),
    ] = None
    align: Annotated[
        Literal["strict", "expand", "contract"],
        _option(
            "--align",
            help="Choose what happens to spans that begin or end inside a token: strict refuses "
            "them, expand takes the whole token, contract leaves it out.",
        ),
    ] = "strict"
    skip_errors: Annotated[
        bool, _option("--skip-errors", help="Skip unreadable records and report their number.")
    ] = False
    encoding: Annotated[
        str | None, _option("--encoding", help="Read the input in this encoding. Default: UTF-8.")
    ] = None
    text_column: Annotated[
        str | None,
        _option(
            "--text-column",
            help="Name the column of a table, or the key of JSON lines, that holds the text; "
            "the value none builds the text by joining the label columns. Default: guessed, if one "
            "column clearly is the text.",
        ),
    ] = None
    labels: Annotated[
        str | None,
        _option(
            "--labels",
            help="Name the columns of a table, or the keys of JSON lines, that are labels, for "
            "example brand,model; other columns are kept. Default: those whose cells occur in the "
            "text.",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        _option(
            "--delimiter",
            help="Separate cells by this character, such as ; or tab. Default: guessed.",
        ),
    ] = None
    columns: Annotated[
        str | None,
        _option(
            "--columns",
            help="Name the columns of CoNLL files in order, for example token,pos,tag; _ skips "
            "one. Default: guessed.",
        ),
    ] = None
    tag_scheme: Annotated[
        str | None,
        _option(
            "--tag-scheme",
            help="Read the tags of CoNLL files in this scheme: BIO, BIOES, BCEU, BMES or another "
            "(docs/tag-schemes.md). Default: guessed.",
        ),
    ] = None
    repair: Annotated[
        Literal["error", "repair", "drop"],
        _option(
            "--repair",
            help="Choose what happens to ill-formed tags in CoNLL files: error refuses them, "
            "repair reads them as conlleval does, drop skips them as seqeval's strict mode "
            "does.",
        ),
    ] = "error"


def read(
    path: str | Path,
    reading: Reading,
    *,
    tokeniser: Any = None,
    format: str | None = None,
    labels: Iterable[str] | None = None,
) -> corpora.Corpus:
    """Iterate over the documents of a file.

    Parameters
    ----------
    path : path
        The file, or ``-`` for the standard input.
    reading : Reading
        The options.
    tokeniser : optional
        The default without an option.
    format : str, optional
        The format if neither an option nor the file name determines it.
    labels : iterable of str, optional
        The label columns of a table, regardless of the option.
    """
    name = os.fspath(path)
    corpus = corpora.read(name, **options_of(name, reading, tokeniser, format, labels))
    corpus.on_columns = functools.partial(_say_columns, name)
    return corpus


def options_of(
    name: str,
    reading: Reading,
    tokeniser: Any = None,
    format: str | None = None,
    labels: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return the arguments of `corpora.read` for a file; the parameters are those of `read`."""
    cutter = tokeniser_of(reading.tokeniser) or tokeniser or "words"
    form = reading.format or _assumed(name, reading, format)
    options = _of_columns(name, form, reading)
    if reading.encoding is not None:
        options["encoding"] = reading.encoding
    options["on_error"] = "skip" if reading.skip_errors else "raise"
    options |= _of_tables(name, form, reading, labels)
    return options | {"format": form, "tokeniser": cutter, "align": reading.align}


def _of_tables(
    name: str, form: str | None, reading: Reading, labels: Iterable[str] | None
) -> dict[str, Any]:
    """Return the options for tables and JSON lines, or raise where they do not apply."""
    form = form or corpora.detect(name)
    options: dict[str, Any] = {}
    if reading.text_column is not None:
        options["text"] = False if reading.text_column == "none" else reading.text_column
    if reading.labels is not None:
        options["labels"] = [one.strip() for one in reading.labels.split(",") if one.strip()]
    if reading.delimiter is not None:
        options["separator"] = separator_of(reading.delimiter)
    takes = {"csv": 3, "parquet": 2, "xlsx": 2, "jsonl": 2}.get(form, 0)
    for key, option in (("text", "--text-column"), ("labels", "--labels"))[2 * (takes > 1) :]:
        if key in options:
            raise InvalidInput(
                place=option,
                got=f"{name}, which is {form}",
                expected="a table or JSON lines",
                remedy="leave it out, or pass -f csv",
            )
    if "separator" in options and takes < 3 and form != "conll":
        raise InvalidInput(
            place="--delimiter",
            got=f"{name}, which is {form}",
            remedy="leave it out, or pass -f csv",
        )
    if form == "jsonl" and options.get("text") is False:
        raise InvalidInput(
            place="--text-column",
            got="none for JSON lines",
            expected="a key of the objects",
            remedy="name the key of the texts",
        )
    if takes and labels is not None:
        options["labels"] = list(labels)
    return options


def separator_of(delimiter: str | None) -> str | None:
    r"""Return the character that --delimiter names.

    Examples
    --------
    >>> separator_of("tab"), separator_of(";")
    ('\t', ';')
    """
    return "\t" if delimiter in ("tab", "\\t") else delimiter


def _say_columns(name: str, columns: corpora.Columns) -> None:
    """Print how the columns of a table were interpreted."""
    shown = "standard input" if name == "-" else name
    if columns.guessed or columns.text != "text" or columns.carried:
        note(f"{shown}: {columns}")
    for column, share in columns.partly.items():
        warn(
            f"{shown}: {share:.0%} of the cells of {column} occur in the text, too few for a "
            "label; name the labels with --labels to change that"
        )


def _of_columns(name: str, form: str | None, reading: Reading) -> dict[str, Any]:
    """Return the options for CoNLL columns, or raise where they do not apply."""
    options: dict[str, Any] = {}
    if reading.columns is not None:
        columns = [column.strip() for column in reading.columns.split(",")]
        options["columns"] = [None if column in ("", "_") else column for column in columns]
    if reading.tag_scheme is not None:
        options["scheme"] = reading.tag_scheme
    form = form or corpora.detect(name)
    if options and form != "conll":
        given = "--columns" if reading.columns is not None else "--tag-scheme"
        raise InvalidInput(
            place=given, got=f"{name}, which is {form}", remedy="leave it out, or pass -f conll"
        )
    return options | ({"repair": reading.repair} if form == "conll" else {})


def conlleval_options(path: str, reading: Reading) -> dict[str, Any]:
    """Return the options of `read_conlleval`, or raise for unsupported ones."""
    options = {} if reading.encoding is None else {"encoding": reading.encoding}
    return options | _of_columns(path, "conll", reading) | _of_tables(path, "conll", reading, None)


def _assumed(name: str, reading: Reading, format: str | None) -> str | None:
    """Return the format of a file whose name does not tell; None if `detect` finds it."""
    if name != "-" and base_name(name).suffix != ".txt":
        return None
    of_conll = reading.columns is not None or reading.tag_scheme is not None
    if of_conll and corpora.detect(name) in ("text", "conll"):
        return "conll"
    asked = (reading.text_column, reading.labels, reading.delimiter) != (None, None, None)
    return format_of_texts(name, asked) if format == "text" else format


def base_name(name: str | Path) -> Path:
    """Return a file name without the suffix of its compression.

    Examples
    --------
    >>> base_name("names.csv.gz").name
    'names.csv'
    """
    path = Path(name)
    return path.with_suffix("") if path.suffix in PACKED else path


def read_all(
    path: str | Path, reading: Reading, *, tokeniser: Any = None, format: str | None = None
) -> list[Document]:
    """Return all documents of a file, and report skipped records."""
    corpus = read(path, reading, tokeniser=tokeniser, format=format)
    documents = listed(corpus, path)
    report_notes(corpus, path)
    return documents


def report_notes(corpus: object, path: str | Path) -> int:
    """Report on stderr what was skipped or changed while reading; return the number skipped."""
    notes = getattr(corpus, "notes", None)
    if notes is None:
        return 0
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    if notes.n_skipped:
        warn(f"{name}: skipped {counted(notes.n_skipped, 'unreadable record')}, for example:")
        for error in notes.errors[:5]:
            warn(f"  {with_options(error)}")
    if notes.cut_spans:
        done = {"expand": "widened", "contract": "narrowed"}
        what = done.get(getattr(notes, "align", ""), "refused; see --align")
        warn(f"{name}: spans that cut a token: {notes.cut_spans:,}, {what}")
    if getattr(notes, "repeated", 0):
        warn(
            f"{name}: {notes.repeated:,} values occur more than once in their text, for example "
            f"{notes.first_repeated}; the first position that keeps the order of the columns was "
            "used; to choose another, add its character offsets, as in 'Lee @12:15'"
        )
    for field, what in (
        ("lost_spans", "of these spans were dropped: no whole token was left"),
        ("discontinuous", "spans in several parts were left out"),
        ("relations", "relations and the like were left out"),
    ):
        if getattr(notes, field, 0):
            warn(f"{name}: {getattr(notes, field):,} {what}")
    return int(notes.n_skipped)


def labelled(documents: list[Document], path: str | Path, in_part: bool = False) -> list[Document]:
    """Return the documents, or raise unless all have labels.

    Parameters
    ----------
    documents : list of Document
        What was read.
    path : path
        Their file.
    in_part : bool
        Whether partially labelled documents are kept; otherwise they are skipped with a warning.

    Examples
    --------
    >>> labelled([Document(("Ann",))], "names.jsonl")
    Traceback (most recent call last):
    caesura.errors.InvalidInput: names.jsonl: got sequence 1 without segments, expected labelled
    sequences; give segments, spans or tags in it, or a table with columns of labels
    """
    if not documents:
        raise nothing(path, "sequences", "is the file empty?")
    for i, document in enumerate(documents, 1):
        if document.segments is None and document.known is None:
            raise InvalidInput(
                place=path,
                got=f"sequence {i} without segments",
                expected="labelled sequences",
                remedy="give segments, spans or tags in it, or a table with columns of labels",
            )
    whole = documents if in_part else [one for one in documents if one.known is None]
    if not whole:
        raise InvalidInput(
            place=path,
            got="only partial labels",
            expected="some fully labelled sequences",
            remedy="label some in full",
        )
    if left := len(documents) - len(whole):
        warn(f"{path}: left out {counted(left, 'sequence')} labelled only in part")
    return whole
