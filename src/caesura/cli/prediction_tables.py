"""Predictions as tables: CSV, TSV, Parquet and Excel, with all input columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from caesura.cli.output import warn
from caesura.cli.prediction_formats import Answer, Style
from caesura.corpora.cells import cells_of
from caesura.corpora.columns import Columns, renamed
from caesura.corpora.sinks import writing_table
from caesura.corpora.spans import spans_of
from caesura.errors import counted
from caesura.extraction import Records, record_of

__all__ = ["doubtful_of", "separator_of", "shares_of", "table_names", "write_table"]


def table_names(
    columns: Columns | None, style: Style, own: Sequence[str], first: Sequence[str] = ()
) -> tuple[list[str] | None, list[str]]:
    """Return the leading columns of an output table (None if unknown yet) and the last ones.

    They are those of the input in their order, if that is a table, then the labels and `own`.
    Lines of JSON may have other keys later.
    """
    text = style.text_name(columns)
    last = [*style.labels, *own]
    if columns is not None and columns.text is not None and not columns.more:
        taken = [*first, text, *last]
        names = [
            text if name == columns.text else next(iter(renamed({name: None}, taken)))
            for name in columns.names
        ]
        return [*first, *names, *last], last
    return (None if style.carries else [*first, text, *last]), [*first, text, *last]


def separator_of(columns: Columns | None, form: str) -> str | None:
    """Return the cell separator of the input for a CSV file; None for a comma, and for tabs.

    Examples
    --------
    >>> separator_of(Columns(("id", "text"), "text", (), separator=";"), "csv")
    ';'
    """
    own = None if columns is None or form != "csv" else columns.separator
    return None if own == "\t" else own


def write_table(path: str, form: str, batches: Iterator[Sequence[Answer]], style: Style) -> None:
    """Write predictions as a table, with the other columns of the input."""
    begin: Sequence[Answer] = next(batches, ())  # once read, the columns of the input are known
    columns = style.columns()
    flag = style.flag_name(columns)
    own = [] if flag is None else [flag]
    own += [f"p({label})" for label in style.labels] if style.sure else []
    names, last = table_names(columns, style, own)
    options: dict[str, Any] = {"last": last, "separator": separator_of(columns, form)}
    if form == "parquet":
        options["types"] = _types(columns, style, own)
    numbers, placed = itertools.count(), 0
    with writing_table(path, form, names, **options) as put:
        for batch in itertools.chain([begin], batches):
            rows = [_row(answer, columns, style, form, next(numbers)) for answer in batch]
            put(rows)
            placed += sum(map(_has_places, batch, rows)) if style.normalise is None else 0
    if placed:
        name = "standard output" if path == "-" else path
        warn(
            f"{name}: {counted(placed, 'row')} with a value that occurs more than once in the text "
            "or that its text alone cannot locate: all values of such a row have their character "
            "offsets, as in 'York @10:14', which train reads; --normalise writes values without"
        )


def _has_places(answer: Answer, row: Mapping[str, Any]) -> bool:
    """Return whether the cells of a row have character offsets."""
    if not any(" @" in (row[one.label] or "") for one in answer.segments):
        return False
    spans = spans_of(replace(answer.document, segments=tuple(answer.segments))) or ()
    return any((row[label] or "").endswith(f" @{start}:{end}") for start, end, label in spans)


def _types(columns: Columns | None, style: Style, own: Sequence[str]) -> dict[str, Any]:
    """Return the Arrow types of the columns where they are known."""
    try:
        import pyarrow
    except ImportError:
        return {}  # reported by the writer
    types = {style.text_name(columns): pyarrow.string()}
    if style.normalise is None:
        types |= dict.fromkeys(style.labels, pyarrow.string())
    types |= dict.fromkeys(own, pyarrow.float64())
    if (flag := style.flag_name(columns)) is not None:
        types[flag] = pyarrow.string()
    if columns is not None:
        given = columns.types
        plain = {name: pyarrow.string() for name in columns.carried}
        kept = plain if given is None else {n: given[n] for n in columns.carried if n in given}
        types |= renamed(kept, {*types, *style.labels})
    return types


def _row(
    answer: Answer, columns: Columns | None, style: Style, form: str, number: int
) -> dict[str, Any]:
    """Return the table row of a prediction."""
    labels, text = style.labels, style.text_name(columns)
    document = replace(answer.document, segments=tuple(answer.segments))
    content, *cells = cells_of(document, labels, number, text)
    own: dict[str, Any] = {text: content, **dict(zip(labels, cells, strict=True))}
    if style.normalise is not None:
        pairs = zip(answer.segments, itertools.repeat(None))
        found = record_of(document, pairs, None, labels, style.normalise)
        columns_ = Records([found], labels).columns()
        own |= {label: columns_.get(label, [None])[0] for label in labels if label != "text"}
    elif form != "csv":
        own |= {label: cell or None for label, cell in zip(labels, cells, strict=True)}
    flag = style.flag_name(columns)
    shares = shares_of(answer, labels) if flag is not None or style.sure else {}
    if flag is not None:
        own[flag] = doubtful_of(shares, style.flag_below or 0.0)
    if style.sure:
        texts = form in ("csv", "tsv")
        own |= {f"p({y})": f"{p:.4f}" if texts and p is not None else p for y, p in shares.items()}
    names = {*own, *labels}
    return {**renamed(document.carried, names), **own}


def doubtful_of(shares: Mapping[str, float | None], threshold: float) -> str:
    """Return the labels with a probability below a threshold, separated by commas.

    Examples
    --------
    >>> doubtful_of({"author": 0.7, "title": 0.5, "date": None}, 0.9)
    'author, title'
    """
    return ", ".join(y for y, p in shares.items() if p is not None and p < threshold)


def shares_of(answer: Answer, labels: Sequence[str]) -> dict[str, float | None]:
    """Return the lowest probability of each label's segments, None where there is none.

    Examples
    --------
    >>> from caesura import Document, Segment
    >>> shares_of(Answer(Document(("Ann",)), [Segment(0, 1, "PER")], [0.9]), ["PER", "LOC"])
    {'PER': 0.9, 'LOC': None}
    """
    shares: dict[str, float | None] = dict.fromkeys(labels)
    for segment, share in zip(answer.segments, answer.probabilities or (), strict=True):
        known = shares[segment.label]
        shares[segment.label] = share if known is None else min(share, known)
    return shares
