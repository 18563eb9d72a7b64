"""The predictions of a model, and the file formats for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from caesura.cli.output import check_output
from caesura.cli.reading import base_name
from caesura.corpora.columns import Columns
from caesura.corpora.files import unpacked_suffix
from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.normalisers import Normaliser
from caesura.segments import Segment

__all__ = ["FORMS", "TABLES", "Answer", "Style", "beside", "check_form", "check_written", "form_of"]

FORMS = ("jsonl", "conll", "csv", "tsv", "parquet", "xlsx", "text", "html")
TABLES = ("csv", "tsv", "parquet", "xlsx")
SUFFIXES = {
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".conll", ".iob", ".bio", ".cols"), "conll"),
    ".csv": "csv",
    ".tsv": "tsv",
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".xlsx": "xlsx",
    **dict.fromkeys((".html", ".htm"), "html"),
    ".txt": "text",
}
OTHERS = (".json", ".model", ".pdf", ".png", ".svg", ".toml")  # of files with other content


class Answer(NamedTuple):
    """The prediction of a model for one document."""

    document: Document
    segments: Sequence[Segment]
    probabilities: Sequence[float] | None = None  # of `segments`
    calibrated: bool = False
    n_best: Sequence[tuple[Sequence[Segment], float]] | None = None  # n best, with probabilities


class Style(NamedTuple):
    """Formatting options for predictions."""

    labels: Sequence[str]  # in the order of columns and colours
    scheme: str = "BIO"  # tag scheme
    sure: bool = False  # whether probabilities were requested
    colour: bool = False
    width: int = 10**9  # width of lines of text
    columns: Callable[[], Columns | None] = lambda: None  # columns of the input, once it is read
    carries: bool = True  # whether sequences of the input may have carried columns
    normalise: Mapping[str, Normaliser] | None = None  # normaliser by label, if values are wanted
    flag_below: float | None = None  # tables list the fields below this probability

    def flag_name(self, columns: Columns | None) -> str | None:
        """Return the name of the column with the doubtful fields, None where there is none."""
        name = "doubtful"
        while name in (*self.labels, self.text_name(columns)):
            name += " fields"
        return None if self.flag_below is None else name

    def text_name(self, columns: Columns | None) -> str:
        """Return the name of the column with the text."""
        name = "text" if columns is None or columns.text is None else columns.text
        while name in self.labels and columns is not None:
            name += " (input)"
        return name


def form_of(path: str, default: str) -> str:
    """Return the format given by a file name, or raise if it is not supported here.

    Examples
    --------
    >>> form_of("new.csv.gz", "jsonl"), form_of("-", "jsonl")
    ('csv', 'jsonl')
    >>> form_of("new.pdf", "jsonl")
    Traceback (most recent call last):
    caesura.errors.InvalidInput: new.pdf: got a name that ends in .pdf, expected .jsonl, .ndjson,
    .conll, .iob, .bio, .cols, .csv, .tsv, .parquet, .pq, .xlsx, .html, .htm or .txt; give another
    name, or set the format with --to
    """
    suffix = base_name(path).suffix.lower()
    if path == "-" or not suffix:
        return default
    if suffix not in SUFFIXES:
        *most, last = SUFFIXES
        raise InvalidInput(
            place=path,
            got=f"a name that ends in {suffix}",
            expected=f"{', '.join(most)} or {last}",
            remedy="give another name, or set the format with --to",
        )
    return SUFFIXES[suffix]


def check_written(path: str | os.PathLike[str], what: str, *own: str) -> None:
    """Raise if an output cannot be written, or has the name of another format.

    Examples
    --------
    >>> check_written("new.csv", "a model", ".model")
    Traceback (most recent call last):
    caesura.errors.InvalidInput: new.csv: got a name that ends in .csv for a model, expected one
    that ends in .model; give another name
    """
    suffix = unpacked_suffix(path)
    if suffix not in own and suffix in (*SUFFIXES, *OTHERS):
        raise InvalidInput(
            place=os.fspath(path),
            got=f"a name that ends in {suffix} for {what}",
            expected=f"one that ends in {own[0]}",
            remedy="give another name",
        )
    check_output(path)


def check_form(path: str, form: str) -> None:
    """Raise if a file name contradicts the chosen format.

    Examples
    --------
    >>> check_form("new.csv", "jsonl")
    Traceback (most recent call last):
    caesura.errors.InvalidInput: new.csv: got --to jsonl for the name of a csv file; give
    another name, or leave --to out
    """
    told = SUFFIXES.get(base_name(path).suffix.lower(), form) if path != "-" else form
    plain = {"text": ("conll", "jsonl", "csv", "tsv"), "tsv": ("conll", "csv")}.get(told, ())
    if told != form and form not in plain:
        raise InvalidInput(
            place=path,
            got=f"--to {form} for the name of a {told} file",
            remedy="give another name, or leave --to out",
        )


def beside(path: str, word: str) -> str:
    """Return the name of an additional table next to a file.

    Examples
    --------
    >>> beside("out/new.jsonl.gz", "review"), beside("new.xlsx", "review")
    ('out/new.review.csv', 'new.review.xlsx')
    """
    bare = Path(base_name(path))
    suffix = ".xlsx" if bare.suffix.lower() == ".xlsx" else ".csv"
    return str(bare.with_suffix(f".{word}{suffix}"))
