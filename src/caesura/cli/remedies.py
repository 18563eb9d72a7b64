"""Options in place of arguments in errors of the library."""

from __future__ import annotations

from caesura.errors import CaesuraError

__all__ = ["remedies_of_load", "with_options"]

REPAIR = (
    "correct the tags, or pass --repair repair to read them as conlleval does, or --repair drop to "
    "leave them out"
)
SCHEME = (
    "correct the tags, name the column of the tags with --columns, as token,_,tag, or their scheme "
    "with --tag-scheme"
)
OPTIONS = {"n_threads": "--threads", "random_state": "--seed"}  # argument of the library -> option
HEADER_OPTIONS = {"text": "--text-column", "labels": "--labels"}  # the same in the first line


def with_options(error: CaesuraError) -> CaesuraError:
    """Return the error with options in place of arguments, in its place and its remedy.

    Examples
    --------
    >>> print(with_options(CaesuraError("is negative", place="n_threads")))
    --threads: is negative
    """
    options = OPTIONS | HEADER_OPTIONS if error.file and error.line == 1 else OPTIONS
    if error.argument in options:
        error = error.changed(argument=options[error.argument])
    return error.reworded(_remedies())


def _remedies() -> dict[str, str]:
    """Return the remedies of the library, and the same with options."""
    from caesura.corpora import NAME_WITH_LABELS, OTHER_FORMAT
    from caesura.corpora.columns import CORRECT_CELL, GIVE_HEADER, NAME_TEXT
    from caesura.corpora.files import OTHER_ENCODING
    from caesura.corpora.rows import CORRECT_COLUMNS, CORRECT_LINE
    from caesura.corpora.schemes import NAME_SCHEME, NAME_SCHEME_OR_PLAIN
    from caesura.corpora.separators import PASS_SEPARATOR
    from caesura.corpora.spans import OTHER_ALIGNMENT
    from caesura.features.document_columns import GIVE_COLUMN
    from caesura.segments.tags import READ_ILL_FORMED

    return {
        CORRECT_CELL: "correct the cell, add its character offsets (VALUE @start:end), or name the "
        "labels without this column, with --labels",
        CORRECT_COLUMNS: "correct the line or --columns, or pass --delimiter",
        CORRECT_LINE: "correct the line, or pass --delimiter",
        GIVE_COLUMN: "give every document this column: for CoNLL files pass --columns, as in "
        "--columns token,pos,tag; it has {others}",
        GIVE_HEADER: "write a header, or if the name of the text is right, name it with "
        "--text-column",
        NAME_SCHEME: SCHEME,
        NAME_SCHEME_OR_PLAIN: f"{SCHEME}, plain if they are labels",
        NAME_TEXT: "name it with --text-column",
        NAME_WITH_LABELS: "name it .conll or .jsonl; caesura convert --to text writes the texts",
        OTHER_ALIGNMENT: "pass --tokeniser parts or characters, or --align expand or contract",
        OTHER_ENCODING: "pass --encoding, as in --encoding latin-1",
        OTHER_FORMAT: OTHER_FORMAT.replace("pass format=", "pass --to or --format "),
        PASS_SEPARATOR: "pass --delimiter {shown}, or --delimiter ',' if there is only one column",
        READ_ILL_FORMED: REPAIR,
    }


def remedies_of_load() -> dict[str, str]:
    """Return the remedies of `caesura.records`, and the same with options.

    Examples
    --------
    >>> remedies_of_load()["pass table='records'"]
    'pass --table records'
    """
    from caesura.records.formats import AS_CSV, AS_TEXT, OTHER_FORMAT
    from caesura.records.inputs import GIVE_NAMES, NAME_COLUMN
    from caesura.records.layout import OTHER_TABLE
    from caesura.records.load_run import REPLACE

    return {
        AS_CSV: "leave it out, or pass --format csv",
        AS_TEXT: "pass --format text if each line is a text",
        GIVE_NAMES: "write a header, or if the name of the text is right, pass --text-column",
        NAME_COLUMN: "pass --text-column",
        OTHER_FORMAT: "pass --format text or csv",
        OTHER_TABLE: "pass --table records",
        REPLACE: "pass --replace to load them again, or another table",
    }
