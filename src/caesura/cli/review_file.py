"""The review file: uncertain sequences for manual correction, most informative first."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from caesura import corpora
from caesura.cli.output import note, warn
from caesura.cli.prediction_formats import Answer, Style, form_of
from caesura.cli.prediction_output import line_of
from caesura.cli.prediction_tables import doubtful_of, separator_of, shares_of, table_names
from caesura.corpora.cells import cells_of
from caesura.corpora.columns import Columns, renamed
from caesura.corpora.files import writing
from caesura.corpora.sinks import writing_table
from caesura.corpora.temporary import scratch
from caesura.documents import Document
from caesura.errors import InvalidInput, counted

__all__ = [
    "CHECKED",
    "DOUBTFUL",
    "ROW",
    "Review",
    "check_unmarked",
    "checked_rows",
    "is_checked_column",
    "is_review",
    "unusual_marks",
    "used_rows",
]

ROW, DOUBTFUL, CHECKED = "row", "doubtful", "checked"
FORMS = ("csv", "tsv", "xlsx", "parquet", "jsonl")
UNMARKED = ("", "no", "n", "false", "0", "0.0")  # cells of unchecked rows, in any case
MARKED = ("x", "yes", "y", "true", "1", "1.0", "ok", "done", "checked", "✓", "✔")


class Review:
    """Sequences collected for review.

    They are kept in a temporary file, and written by the number of fields that are expected to be
    wrong, the largest first: the sum of 1 minus the probability of each segment.

    Parameters
    ----------
    path : str
        The file, whose name determines the format.
    style : Style
        The labels.
    threshold : float
        Segments below this probability are doubtful.
    """

    def __init__(self, path: str, style: Style, threshold: float) -> None:
        self.path, self.style, self.threshold = path, style, threshold
        self.form = form_of(path, "jsonl")
        self.count = 0
        self._kept = scratch()
        self._order: list[tuple[float, int, int]] = []  # minus the errors expected, number, offset

    def __enter__(self) -> Review:
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    def add(self, answer: Answer, number: int) -> None:
        """Add a prediction; `number` is the 1-based position of its sequence in the input."""
        wrong = sum(1.0 - share for share in answer.probabilities or ())
        self._order.append((-wrong, number, self._kept.tell()))
        pickle.dump((number, answer), self._kept)
        self.count += 1

    def write(self, columns: Columns | None) -> None:
        """Write all collected sequences."""
        self._order.sort()
        if self.form == "jsonl":
            with writing(self.path) as file:
                for _, _, place in self._order:
                    file.write(f"{line_of(self._at(place)[1])}\n")
            return
        own = [DOUBTFUL, CHECKED, *(f"p({label})" for label in self.style.labels)]
        names, last = table_names(columns, self.style, own, first=[ROW])
        marked = self.form == "csv"
        options: dict[str, Any] = {"marked": marked, "separator": separator_of(columns, self.form)}
        with writing_table(self.path, self.form, names, last=last, **options) as write:
            for start in range(0, len(self._order), 1000):
                places = [place for _, _, place in self._order[start : start + 1000]]
                write([self._row(*self._at(place), columns) for place in places])

    def _at(self, place: int) -> tuple[int, Answer]:
        self._kept.seek(place)
        found: tuple[int, Answer] = pickle.load(self._kept)
        return found

    def _row(self, number: int, answer: Answer, columns: Columns | None) -> dict[str, Any]:
        """Return the table row of a prediction."""
        labels = self.style.labels
        text = self.style.text_name(columns)
        document = replace(answer.document, segments=tuple(answer.segments))
        content, *cells = cells_of(document, labels, number - 1, text)
        shares = shares_of(answer, labels)
        rounded = {y: None if p is None else round(p, 4) for y, p in shares.items()}
        own: dict[str, Any] = {ROW: number, text: content}
        own |= dict(zip(labels, cells, strict=True))
        own |= {DOUBTFUL: doubtful_of(shares, self.threshold), CHECKED: None}
        own |= {f"p({y})": p for y, p in rounded.items()}
        return {**renamed(document.carried, own), **own}


def checked_rows(documents: Sequence[Any]) -> list[Any]:
    """Return the rows that the reviewer has marked as checked; no, false and 0 are no marks.

    Examples
    --------
    >>> from caesura import Document
    >>> rows = [Document(("a",), carried={"checked": mark}) for mark in ("", "x", None, "No")]
    >>> len(checked_rows(rows))
    1
    """
    return [document for document in documents if _mark(document).casefold() not in UNMARKED]


def check_unmarked(path: str) -> None:
    """Raise if a file is a review file with marks, which a new one would overwrite."""
    form = form_of(path, "jsonl").replace("tsv", "csv")
    if form == "jsonl" or not os.path.isfile(path):
        return
    try:
        rows = list(corpora.read(path, form, text=False, labels=[], on_error="skip"))
    except InvalidInput:  # not a table, and so not a review file
        return
    if marked := len(checked_rows(rows)):
        raise InvalidInput(
            place="--review",
            got=f"{path}, which exists with {counted(marked, 'row')} marked in the column "
            f"{CHECKED}",
            expected="a file without marks",
            remedy="give another name, or delete it once its corrections are in a model",
        )


def unusual_marks(documents: Sequence[Any]) -> list[str]:
    """Return the marks of checked rows that may not have been meant as marks.

    Examples
    --------
    >>> from caesura import Document
    >>> unusual_marks([Document(("a",), carried={"checked": mark}) for mark in ("X", "?", "no")])
    ['?']
    """
    marks = dict.fromkeys(map(_mark, documents))
    return [one for one in marks if one.casefold() not in (*UNMARKED, *MARKED)]


def _mark(document: Any) -> str:
    """Return the cell of a row in the column `CHECKED`."""
    cells = [cell for name, cell in document.carried.items() if is_checked_column(name)]
    return "" if not cells or cells[0] is None else str(cells[0]).strip()


def is_checked_column(name: str) -> bool:
    """Return whether a column has the name `CHECKED`, in any case."""
    return name.strip().casefold() == CHECKED


def is_review(names: Sequence[str]) -> bool:
    """Return whether a table has the columns of a review file.

    Examples
    --------
    >>> is_review(["text", "town", "doubtful", "checked", "p(town)"])
    True
    >>> is_review(["text", "town", "checked"]), is_review(["text", "town", "doubtful"])
    (False, False)
    """
    own = DOUBTFUL in names or any(f"p({name})" in names for name in names)
    return own and any(map(is_checked_column, names))


def used_rows(documents: list[Document], names: Sequence[str], path: str) -> list[Document]:
    """Return the marked rows of a table, or all rows, with a warning, if none is marked."""
    every = f"all {len(documents):,}"
    if not any(map(is_checked_column, names)):
        if DOUBTFUL in names:
            warn(
                f"{path}: {every} rows are used, as there is no column {CHECKED}; to use only "
                "some, add this column and mark them in it"
            )
        return documents
    if unusual := unusual_marks(documents):
        shown = ", ".join(map(repr, unusual[:5]))
        warn(
            f"{path}: in the column {CHECKED}, {shown} counts as a mark; leave the cells of rows "
            "that are not checked empty"
        )
    marked = checked_rows(documents)
    if not marked:
        warn(
            f"{path}: no row is marked in the column {CHECKED}, so {every} are used; to use only "
            "some, mark them with x in this column"
        )
        return documents
    note(f"{path}: {len(marked):,} of {len(documents):,} rows are marked in the column {CHECKED}")
    return marked
