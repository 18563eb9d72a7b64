"""Detection of the format of the standard input, for texts or tables."""

from __future__ import annotations

from caesura.cli.output import note, warn
from caesura.corpora.detection import piped

__all__ = ["piped_format"]


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
