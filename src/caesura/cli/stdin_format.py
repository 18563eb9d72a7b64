"""Detection of the format of inputs that may be texts, tables or CoNLL columns."""

from __future__ import annotations

from caesura.cli.output import note, warn
from caesura.corpora.detection import is_tagged, piped

__all__ = ["format_of_texts", "piped_format"]


def piped_format(columns: bool) -> str:
    """Return the detected format of the standard input, and print it.

    Parameters
    ----------
    columns : bool
        Whether an option names columns.
    """
    found = piped(columns)
    if found.form != "text":
        note(
            f"the standard input is read as {found.form}; pass --format text if each line is a text"
        )
    elif found.doubtful:
        warn(
            "the standard input is read as text, one on each line; if its first line names the "
            "columns of a table, pass --format csv"
        )
    return found.form


def format_of_texts(name: str, columns: bool) -> str:
    """Return the format of the standard input or a .txt file, and print it if it is not text."""
    if name == "-":
        return piped_format(columns)
    if not is_tagged(name):
        return "text"
    note(f"{name} is read as conll, tokens with tags; pass --format text if each line is a text")
    return "conll"
