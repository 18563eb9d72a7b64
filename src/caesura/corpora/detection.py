"""Detection of file formats by name or by content."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from caesura.corpora.files import Name, beginning, unpacked_suffix

__all__ = ["SUFFIXES", "Piped", "detect", "is_tagged", "n_fields", "piped"]

SUFFIXES = {
    ".conll": "conll",
    ".conllu": "conll",
    ".iob": "conll",
    ".bio": "conll",
    ".cols": "conll",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
    ".xml": "xml",
    ".ann": "brat",
}
_TAG = re.compile(r"O|[BIESLUMCA](-\S+)?")
_NAME = re.compile(r"[^\W\d][\w.()/#-]*( [\w.()/#-]+){0,2}")  # a column name
_COLUMNS = re.compile(r"^# global\.columns = |^-DOCSTART-", re.MULTILINE)


def detect(path: Name) -> str:
    r"""Return the format of a file: conll, jsonl, csv, parquet, xlsx, xml, brat or text.

    A name that ends in .conll, .conllu, .iob, .bio, .cols, .jsonl, .ndjson, .json, .csv, .parquet,
    .pq, .xlsx, .xml or .ann determines the format, also followed by .gz, .bz2 or .xz; a folder is
    brat's, and so is a .txt file with an .ann file beside it. For any other file, and for the
    standard input, the content decides: text that begins with ``<`` is XML, with ``{`` JSON lines;
    a first line with a cell ``text`` between commas, semicolons or tabs is the header of a table;
    lines that all have the same number of fields, the last of them a tag (``O``, ``B-PER``), are
    columns. Everything else is text. In a .tsv file, lines that all have the same number of cells,
    some of several words, are a table, and other lines are columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.tsv")
    ...     _ = file.write_text("text\tauthor\nLee 1999\tLee\n")
    ...     detect(file)
    ...     _ = file.write_text("Lee\tauthor\n1999\tO\n")
    ...     detect(file)
    'csv'
    'conll'
    """
    suffix = "" if path == "-" else unpacked_suffix(path)
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if path != "-" and os.path.isdir(path):
        return "brat"
    if suffix == ".txt" and Path(path).with_suffix(".ann").exists():
        return "brat"
    content = beginning(path)
    found = _by_content(content)
    if suffix == ".tsv" and found == "text":
        return "csv" if _is_tabbed(content.decode("utf-8", "replace")) else "conll"
    return found


def is_tagged(path: Name) -> bool:
    r"""Return whether a file clearly has columns of tokens and tags, although its name says text.

    Stricter than `detect`: texts such as ``Vitamin A`` and ``Vitamin B-12`` may look like columns.
    There must be a tag with a label, and either ``O`` or a segment of two tokens.

    Examples
    --------
    >>> _is_tagged("Ann B-PER\nLee I-PER\n"), _is_tagged("Vitamin A\nVitamin B-12\n")
    (True, False)
    """
    if path == "-" or not os.path.isfile(path):
        return False
    return _is_tagged(beginning(path).decode("utf-8", "replace").removeprefix("\ufeff"))


def n_fields(path: Name) -> int | None:
    """Return the number of fields of CoNLL lines; None if the file itself names its columns.

    Files read without names and written again have the names column1, column2 and so on.
    """
    text = beginning(path).decode("utf-8", "replace").removeprefix("\ufeff")
    named = re.match("# global.columns = (.*)", text)
    names = [] if named is None else named[1].split()
    if not all(re.fullmatch(r"token|column\d+|tag", name) for name in names):
        return None
    rows = _fields(text)
    return len(rows[0]) if rows else None


class Piped(NamedTuple):
    """The detected kind of the standard input."""

    form: str  # csv, jsonl, conll, parquet, xlsx, or text with one text per line
    doubtful: bool  # whether what looks like text may be a table


def piped(columns: bool = False) -> Piped:
    """Inspect the standard input without consuming it.

    Objects of JSON and a first line with a cell ``text`` are tables. Lines that all have as many
    cells, below a line that may name them, are doubtful: a list of addresses may look like that.

    Parameters
    ----------
    columns : bool
        Whether columns were requested, so that anything but JSON is CSV.
    """
    content = beginning("-")
    found = _by_content(content)
    if found in ("csv", "jsonl", "parquet", "xlsx"):
        return Piped(found, False)
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    if columns:
        return Piped("csv", False)
    return Piped("conll", False) if _is_tagged(text) else Piped("text", _may_be_table(text))


def _may_be_table(text: str) -> bool:
    """Return whether the first line may be a header whose number of columns fits all lines."""
    lines = [line for line in text.splitlines() if line.strip()]
    lines = lines[:-1] if len(lines) > 2 else lines  # the last line may be truncated
    for separator in ",;\t|":
        try:
            rows = list(csv.reader(lines, delimiter=separator))
        except csv.Error:
            continue
        if len(rows) > 1 and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1:
            names = {name for name in rows[0] if _NAME.fullmatch(name)}
            if len(names) == len(rows[0]):
                return True
    return False


def _by_content(content: bytes) -> str:
    """Return the format of a file from its first lines."""
    if content.startswith(b"PAR1"):
        return "parquet"
    if content.startswith(b"PK\x03\x04"):
        return "xlsx"
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    begin = text.lstrip()
    if re.match(r"<[?!A-Za-z_]", begin):
        return "xml"
    lines = text.splitlines()
    if begin.startswith("{") and _is_json(begin.splitlines()[0], cut=len(lines) < 2):
        return "jsonl"
    heads = [_cells(lines[0], separator) for separator in ",;\t"] if lines else []
    if any(cell.strip().casefold() == "text" for cells in heads for cell in cells):
        return "csv"
    return "conll" if _is_columns(text) else "text"


def _is_json(line: str, cut: bool) -> bool:
    """Return whether a line is JSON, or the truncated beginning of JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return cut and re.match(r'\{\s*"', line) is not None
    return True


def _cells(line: str, separator: str) -> list[str]:
    """Return the cells of a line that may be the header of a table."""
    try:
        cells = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []
    return cells if len(cells) > 1 and "token" not in cells else []


def _is_tabbed(text: str) -> bool:
    """Return whether all lines have the same number of tabs, and cells of several words."""
    lines = text.rstrip("\r\n").split("\n")
    rows = [line.split("\t") for line in lines]
    if _is_ragged(rows):  # line ends may be inside quotes
        rows = _quoted(lines)
    rows = rows[:-1] if len(rows) > 2 else rows  # the last row may be truncated
    if _is_ragged(rows) or not rows or len(rows[0]) < 2:
        return False
    columns = zip(*rows[1:], strict=True)
    return any(
        sum(" " in cell.strip() for cell in column) * 2 > len(rows) - 1 for column in columns
    )


def _is_ragged(rows: list[list[str]]) -> bool:
    """Return whether rows differ in their number of cells; the last may be truncated."""
    return len({len(row) for row in (rows[:-1] if len(rows) > 2 else rows)}) > 1


def _quoted(lines: list[str]) -> list[list[str]]:
    """Return the cells of tab-separated lines, where quoted cells may contain line ends."""
    try:
        return list(csv.reader((f"{line}\n" for line in lines), delimiter="\t"))
    except csv.Error:
        return []


def _is_columns(text: str) -> bool:
    """Return whether lines have columns, the last of which holds tags."""
    if _COLUMNS.search(text):
        return True
    rows = _fields(text)
    if not rows or len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        return False
    return all(_TAG.fullmatch(row[-1]) for row in rows)


def _is_tagged(text: str) -> bool:
    """Return whether lines have columns, the last of which can be nothing but tags."""
    if not _is_columns(text):
        return False
    tags = {row[-1] for row in _fields(text)}
    labels = {tag[2:] for tag in tags if tag[1:2] == "-"}
    longer = any({f"B-{label}", f"{c}-{label}"} <= tags for label in labels for c in "IEMLC")
    return _COLUMNS.search(text) is not None or longer or (bool(labels) and "O" in tags)


def _fields(text: str) -> list[list[str]]:
    """Return the fields of the first complete lines that are neither empty nor comments."""
    lines = text.split("\n")[:-1][:2000] or text.split("\n")
    return [line.split() for line in lines if line.strip() and not line.startswith("#")]
