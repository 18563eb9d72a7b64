"""Options in place of arguments in errors of the library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from caesura.errors import CaesuraError

__all__ = ["GIVEN", "remedies_of_load", "reworded_text", "with_options", "with_options_of_load"]

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
# The options that an argument may be from, if they have another name and are given.
ALSO = {"scheme": ("scheme", "tag_scheme"), "separator": ("delimiter",)}
SAME = ("batch", "carry", "format", "into", "split", "table", "threshold", "wait")
LOAD_OPTIONS = {name: f"--{name}" for name in SAME}  # the same for `caesura load`
LOAD_OPTIONS |= {"part_size": "--part-size", "paths": "INPUT", "folder": "--parts-folder"}
LOAD_OPTIONS |= {"separator": "--delimiter", "constraints": "--constraints"}
LOAD_OPTIONS |= {"text_column": "--text-column", "id_column": "--id-column", "source": "INPUT"}
# The options and arguments that the running command was given: name -> (as in its help, value).
GIVEN: ContextVar[Mapping[str, tuple[str, Any]] | None] = ContextVar("GIVEN", default=None)


def with_options(error: CaesuraError) -> CaesuraError:
    """Return the error with options in place of arguments, in its place and its remedy.

    Examples
    --------
    >>> print(with_options(CaesuraError("is negative", place="n_threads")))
    --threads: is negative
    """
    options = OPTIONS | HEADER_OPTIONS if error.file and error.line == 1 else OPTIONS
    if (option := options.get(error.argument or "") or _given(error)) is not None:
        error = error.changed(argument=option)
    if error.quoted:
        problem, own = error.problem, tuple(map(with_options, error.quoted))
        for before, after in zip(error.quoted, own, strict=True):
            problem = problem.replace(str(before), str(after))
        error = error.changed(problem=problem, quoted=own)
    return error.reworded(_remedies())


def with_options_of_load(error: CaesuraError) -> CaesuraError:
    """Return the error with options of ``caesura load`` in place of arguments.

    Examples
    --------
    >>> print(with_options_of_load(CaesuraError("is negative", place="wait")))
    --wait: is negative
    """
    if error.argument in LOAD_OPTIONS:
        error = error.changed(argument=LOAD_OPTIONS[error.argument])
    return with_options(error.reworded(remedies_of_load()))


def reworded_text(remedy: str) -> str:
    """Return a remedy with options that was read from a file, without its template.

    Examples
    --------
    >>> reworded_text("pass separator=';', or separator=',' if there is only one column")
    "pass --delimiter ';', or --delimiter ',' if there is only one column"
    """
    for template, own in (remedies_of_load() | _remedies()).items():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(template))
        if found := re.fullmatch(pattern, remedy):
            values = found.groupdict()
            return own.format(**values) if values else own
    return remedy


def _given(error: CaesuraError) -> str | None:
    """Return the option of the running command for the argument of an error."""
    given = GIVEN.get()
    if given is None or error.argument is None or error.file is not None:
        return None
    if error.argument == "path":  # the library's name for a file
        named = [shown for shown, value in given.values() if repr(str(value)) == error.got]
    else:
        names = ALSO.get(error.argument, (error.argument,))
        named = [given[name][0] for name in names if name in given]
        named = [shown for shown in named if shown.startswith("--")]
    return named[0] if len(named) == 1 else None


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
