"""Training data: several files, corrected review files, and the order of labels."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from caesura import corpora
from caesura.cli.output import warn
from caesura.cli.progress import listed
from caesura.cli.reading import Reading, labelled, options_of, read, report_notes
from caesura.cli.remedies import with_options
from caesura.cli.review_file import CHECKED, DOUBTFUL, checked_rows, is_review, used_rows
from caesura.cli.tokeniser_choice import Tokens
from caesura.corpora.corpus import KEPT
from caesura.documents import Document
from caesura.errors import InvalidInput

__all__ = ["TABLES", "Training", "columns_of", "read_training"]

SHOWN = 10  # wrong rows listed in an error
TABLES = ("csv", "parquet", "xlsx")
ALIKE = 0.5  # share of cells that occur in the text but for their case, above which one is told
_ABSENT = (
    "{path}: these label columns of other files are missing: {labels}; the model learns that the "
    "texts of this file have no such segments"
)


class Training(NamedTuple):
    """The training data of a model."""

    documents: Iterable[Document]  # re-iterable, for several passes
    first: list[Document]  # all documents, or the first ones if they are streamed
    counts: list[tuple[str, int]]  # (file, number of sequences)
    order: list[str]  # labels in the order of the columns of tables
    streams: list[tuple[str, Any]]  # (file, corpus), for corpora that are read again in each pass
    tables: list[corpora.Columns]  # of the files that are tables


def read_training(
    paths: list[str], also: list[str], reading: Reading, tokens: Tokens, shown: int | None = None
) -> Training:
    """Read training data.

    Parameters
    ----------
    paths : list of str
        Files of labelled sequences.
    also : list of str
        Corrected review files, and other tables with columns of the same labels.
    reading : Reading
        The options.
    tokens : Tokens
        How text becomes tokens.
    shown : int, optional
        The data is streamed, and only so many sequences of it are looked at here.
    """
    if (paths + also).count("-") > 1:
        raise InvalidInput(
            place="TRAIN",
            got="- (the standard input) twice, but it can be read only once",
            remedy="leave one out",
        )
    if shown is not None:
        return _streamed(paths, also, reading, tokens, shown)
    documents: list[Document] = []
    counts: list[tuple[str, int]] = []
    order: dict[str, None] = {}
    tables: dict[str, corpora.Columns] = {}
    for path in paths:
        corpus = _opened(path, reading, tokens)
        some = listed(tokens.documents(corpus, path), path)
        report_notes(corpus, path)
        _check_labelled(some, corpus, path)
        if corpus.columns is not None:
            _warn_of_case(some, corpus.columns, reading, path)
            order.update(dict.fromkeys(corpus.columns.labels))
            tables[path] = corpus.columns
        documents += some
        counts.append((path, len(some)))
    _warn_of_differences(tables)
    known = _labels(documents)
    for path in also:
        some = _corrected(path, reading, tokens, list(order | known))
        documents += some
        counts.append((path, len(some)))
    return Training(documents, documents, counts, list(order), [], list(tables.values()))


def _check_labelled(documents: list[Document], corpus: corpora.Corpus, path: str) -> None:
    """Raise if a file has no labels; for tables, name columns that may hold them."""
    columns = corpus.columns
    if columns is not None and not columns.labels and documents:
        others = ", ".join(map(repr, columns.carried[:12])) or "none"
        raise InvalidInput(
            place=path,
            got=f"no column whose cells occur in the text {columns.text!r}",
            expected=f"labels (the other columns are {others})",
            remedy="name the labels with --labels, or the text with --text-column",
        )
    labelled(documents, path, in_part=True)


def _opened(path: str, reading: Reading, tokens: Tokens) -> corpora.Corpus:
    """Return the corpus of a file that is no review file, whose marks say which rows to use."""
    corpus = read(path, reading, tokeniser=tokens.cutter)
    say = corpus.on_columns

    def check(columns: corpora.Columns) -> None:
        if is_review(columns.names):
            raise InvalidInput(
                place="TRAIN",
                got=f"{path}, a review file",
                expected="other training data",
                remedy=f"pass it as --also {path}, which uses the rows marked in its column "
                "checked",
            )
        if say is not None:
            say(columns)

    corpus.on_columns = check
    return corpus


def _warn_of_case(
    documents: list[Document], columns: corpora.Columns, reading: Reading, path: str
) -> None:
    """Warn of columns that would be labels if the case of their cells were that of the text."""
    unnamed = reading.labels is None
    for name in (one for one in columns.carried if unnamed and one not in columns.partly):
        cells = [
            (value, document.text or "")
            for document in documents
            if isinstance(value := document.carried.get(name), str) and value.strip()
        ]
        found = sum(
            re.search(rf"(?<!\w){re.escape(value.strip())}(?!\w)", text, re.IGNORECASE) is not None
            for value, text in cells
        )
        if cells and found > ALIKE * len(cells):
            warn(
                f"{path}: {found / len(cells):.0%} of the cells of {name} occur in the text if "
                "case is ignored, but it is no label; write the cells as the text does"
            )


def _warn_of_differences(tables: Mapping[str, corpora.Columns]) -> None:
    """Warn of labels that only some of several tables have, or that are carried along in others.

    A model learns from a table without a label that its texts have no such segments.
    """
    every = dict.fromkeys(label for columns in tables.values() for label in columns.labels)
    for path, columns in tables.items():
        carried = [label for label in every if label in columns.carried]
        absent = [label for label in every if label not in columns.names]
        if carried:
            warn(
                f"{path}: these columns are carried along, but are labels in other files: "
                f"{', '.join(carried)}; name all labels with --labels"
            )
        if absent:
            warn(_ABSENT.format(path=path, labels=", ".join(absent)))


def _labels(documents: Iterable[Document]) -> dict[str, None]:
    """Return the labels of segments in order of first occurrence."""
    some = (d.segments if d.known is None else d.known.segments for d in documents)
    return dict.fromkeys(segment.label for segments in some for segment in segments or ())


def _corrected(path: str, reading: Reading, tokens: Tokens, known: list[str]) -> list[Document]:
    """Return the rows of a corrected review file, or of any file with the same labels."""
    form = corpora.detect(path) if path != "-" else "csv"
    if form not in TABLES:
        return tokens.read(path, reading._replace(format=None), in_part=True)
    names = columns_of(path, form, reading.encoding)
    labels = [label for label in known if label in names]
    if not labels:
        shown = ", ".join(map(repr, names[:12]))
        raise InvalidInput(
            place=path,
            got=f"the columns {shown}",
            expected=f"columns of labels that TRAIN has: {', '.join(known[:12])}",
            remedy="rename the columns",
        )
    absent = [label for label in known if label not in names]
    for label in absent:
        if f"p({label})" in names:  # a review file of a model with this label
            others = [one for one in names if one not in known and not one.startswith("p(")]
            near = difflib.get_close_matches(label, others, 1)
            remedy = f"rename {near[0]!r} to {label!r}" if near else "restore the column"
            raise InvalidInput(
                place=path,
                got=f"the column 'p({label})' without {label!r}",
                expected="both, as the review file had them",
                remedy=remedy,
            )
    if absent:
        warn(_ABSENT.format(path=path, labels=", ".join(absent)))
    given = None if reading.text_column not in names else reading.text_column
    own = reading._replace(format=None, text_column=given, labels=None)
    before = tokens.chosen
    if path == "-":  # can be read only once, so that all rows must be right
        corpus = read(path, own, tokeniser=tokens.cutter, labels=labels)
        documents = listed(tokens.documents(corpus, path), path)
        report_notes(corpus, path)
    else:
        documents = _without_wrong(path, own, tokens, labels)
    if tokens.chosen != before:  # one truncated cell must not change the tokens of all texts
        raise InvalidInput(
            tokens.cause,
            place="--also",
            expected=f"whole {before or 'words'} as in TRAIN",
            remedy=f"correct the cell, or pass --tokeniser {tokens.chosen}",
        )
    if is_review(names):
        _warn_of_new_columns(documents, path)
    return used_rows(labelled(documents, path), names, path)


def _warn_of_new_columns(documents: list[Document], path: str) -> None:
    """Warn of columns of a review file that may be meant as labels, which TRAIN does not have."""
    cells: dict[str, list[bool]] = {}
    for document in documents:
        for name, cell in document.carried.items():
            if isinstance(cell, str) and any(map(str.isalpha, cell)):
                cells.setdefault(name, []).append(cell.strip() in (document.text or ""))
    own = (DOUBTFUL, CHECKED)
    if new := [name for name, found in cells.items() if all(found) and name not in own]:
        warn(
            f"{path}: the cells of {', '.join(map(repr, new))} occur in the text, but TRAIN has no "
            "such label, so that they are not learnt; to learn them, add the column to TRAIN"
        )


def _without_wrong(
    path: str, reading: Reading, tokens: Tokens, labels: list[str]
) -> list[Document]:
    """Return the rows whose cells occur in the text; raise if others would be used."""
    corpus = read(path, reading._replace(skip_errors=True), tokeniser=tokens.cutter, labels=labels)
    kept = KEPT.set(2**62)
    try:
        documents = listed(tokens.documents(corpus, path), path)
    finally:
        KEPT.reset(kept)
    if reading.skip_errors or not corpus.notes.n_skipped:
        report_notes(corpus, path)
        return documents
    text = "none" if corpus.columns is None else corpus.columns.text
    plain = reading._replace(text_column=text, skip_errors=True)
    rows = list(corpora.read(path, **options_of(path, plain, labels=[])))
    used = set(map(id, checked_rows(rows) or rows))
    errors = zip(corpus.notes.skipped_at, corpus.notes.errors, strict=True)
    wrong = [error for i, error in errors if i >= len(rows) or id(rows[i]) in used]
    if wrong:
        more = [f"and {len(wrong) - SHOWN:,} more"] * (len(wrong) > SHOWN)
        first, *others = map(with_options, wrong[:SHOWN])
        raise first.changed(remedy="; ".join([first.remedy or "", *map(str, others), *more]))
    report_notes(corpus, path)
    return documents


def columns_of(
    path: str, form: str, encoding: str | None, separator: str | None = None
) -> list[str]:
    """Return the names of the columns of a table."""
    options: dict[str, Any] = {}
    options |= {} if encoding is None or form != "csv" else {"encoding": encoding}
    options |= {} if separator is None or form != "csv" else {"separator": separator}
    corpus = corpora.read(path, form, text=False, labels=[], **options)
    next(iter(corpus), None)
    return [] if corpus.columns is None else list(corpus.columns.names)


class _Chained:
    """The documents of several corpora, read again on each pass."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __iter__(self) -> Iterator[Document]:
        for part in self.parts:
            yield from part


def _streamed(
    paths: list[str], also: list[str], reading: Reading, tokens: Tokens, shown: int
) -> Training:
    """Return corpora that are read on every pass; the first sequences choose the tokeniser."""
    if "-" in paths + also:
        raise InvalidInput(
            place="--stream",
            got="the standard input, which can be read only once",
            expected="a file",
            remedy="write the sequences to a file first",
        )
    streams: list[tuple[str, Any]] = [(path, _opened(path, reading, tokens)) for path in paths]
    heads = [list(islice(tokens.documents(corpus, path), shown)) for path, corpus in streams]
    for (path, corpus), head in zip(streams, heads, strict=True):
        if corpus.columns is not None:
            _warn_of_case(head, corpus.columns, reading, path)
    first = labelled(heads[0], paths[0], in_part=True)
    columns = streams[0][1].columns
    order = list(columns.labels) if columns is not None else []
    known = _labels(first)
    extra = [
        _corrected(path, reading, tokens, list(dict.fromkeys([*order, *known]))) for path in also
    ]
    parts = [tokens.stream(corpus) for _, corpus in streams] + list(map(tokens.settled, extra))
    whole = parts[0] if len(parts) == 1 else _Chained(parts)
    counts = [(path, 0) for path in paths[:1]]
    seen = order or list(known)
    tables = [one.columns for _, one in streams if one.columns is not None]
    return Training(whole, tokens.settled(first), counts, seen, streams, tables)
