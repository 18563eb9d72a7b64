"""Tables from lists: seed rows and pages with lists give a merged, ranked table.

::

    seeds -> matched to items -> partial labels -> a semi-CRF for each list -> rows of all items
      ^                                                                              |
      +---------------- reliable rows  <-  duplicates joined, contradictions weighed <+

Each round labels more items, of more lists, with the rows of the round before (Gupta and Sarawagi,
2009).
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from caesura.checks import whole
from caesura.corpora.files import unpacked_suffix
from caesura.errors import CaesuraError, InvalidInput, message
from caesura.features import Pattern, column, first, last, lower, short_shape, token
from caesura.models import SemiCRF
from caesura.normalisers import default_normaliser
from caesura.records.consolidation import SEEDS, Extracted, Source, TableRow, consolidated
from caesura.records.formats import form_of
from caesura.records.inputs import Reading, file_records
from caesura.records.pages import ItemList, items_of, read_pages
from caesura.records.seeding import OUTSIDE, Known, Labels, Row, folded, labels_of

__all__ = ["ListTable", "Round", "read_seeds", "table_from_lists"]

ADDED = ("confidence", "sources", "alternatives")  # columns that the output adds
FORMATS = (".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".xlsx")  # of seeds, besides CSV
FEWEST = 2  # minimum number of items that known rows must match for a list to be used
RELIABLE = 0.7  # minimum confidence of values that are matched in the next round
MOST_ONCE = 8  # with more columns, they are not constrained to occur at most once each


class Round(NamedTuple):
    """The statistics of one round.

    Examples
    --------
    >>> Round(lists=2, labelled=6, extracted=29, rows=25).rows
    25
    """

    lists: int  #: lists that were used
    labelled: int  #: items that known rows matched
    extracted: int  #: items from which a row was taken
    rows: int  #: rows of the merged table


class ListTable(NamedTuple):
    """The merged table and the history of its rounds.

    Examples
    --------
    >>> row = TableRow({"town": "York"}, 0.9, {"town": 0.9}, {}, (Source("a.html", 1, 2),))
    >>> ListTable(("town",), (row,), (), ()).to_dicts()
    [{'town': 'York', 'confidence': 0.9, 'sources': 'a.html:1:2', 'alternatives': ''}]
    """

    columns: tuple[str, ...]  #: the columns of the seeds
    rows: tuple[TableRow, ...]  #: the most reliable first
    rounds: tuple[Round, ...]  #: one for each round
    skipped: tuple[str, ...]  #: pages and lists that were not used, with the reason

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as plain dicts: the columns, confidence, sources and alternatives."""
        return [
            {
                **{column: row.values.get(column, "") for column in self.columns},
                "confidence": round(row.confidence, 4),
                "sources": "; ".join(map(str, row.sources)),
                "alternatives": "; ".join(
                    f"{column}={value} ({chance:.2f})"
                    for column, others in row.alternatives.items()
                    for value, chance in others.items()
                ),
            }
            for row in self.rows
        ]


def table_from_lists(
    seeds: str | Path | Iterable[Mapping[str, str]],
    pages: Mapping[str, str] | Iterable[str | Path],
    *,
    rounds: int = 3,
    min_confidence: float = 0.5,
    progress: Callable[[str], None] | None = None,
) -> ListTable:
    """Extend a table with rows from the lists of pages.

    Parameters
    ----------
    seeds : path or iterable of dicts
        A few rows of the table: a file (CSV with a header, JSON lines, Parquet, Excel), or dicts.
        The first column is the key: rows with the same key are one row.
    pages : iterable of paths, or mapping of names to texts
        Pages with lists, in HTML or as plain text.
    rounds : int
        Number of rounds, at most; the last one is that in which nothing new is found.
    min_confidence : float
        Rows below it are left out, and not used as examples.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    ListTable
        Rows with values, confidence, other values that were found, and sources.

    Notes
    -----
    A list is used if known rows match at least two of its items.  Each such list has a semi-CRF of
    its own, since lists differ in their layout; its features are HTML tags, delimiters, shapes and
    regular expressions, not the words themselves.

    Examples
    --------
    >>> from caesura.records import table_from_lists
    >>> seeds = [{"country": "France", "capital": "Paris"}, {"country": "Italy", "capital": "Rome"}]
    >>> page = "<ul><li><b>France</b>: Paris<li><b>Italy</b>: Rome<li><b>Peru</b>: Lima</ul>"
    >>> table = table_from_lists(seeds, {"page.html": page})
    >>> table.rows[-1].values
    {'country': 'Peru', 'capital': 'Lima'}
    >>> str(table.rows[-1].sources[0])
    'page.html:1:3'
    """
    whole("rounds", rounds, 1)
    if not 0 <= min_confidence <= 1:
        raise InvalidInput(message("min_confidence", min_confidence, "0 to 1", "try 0.5"))
    columns, known = read_seeds(seeds)
    say = progress or (lambda line: None)
    lists, skipped = _lists_of(read_pages(pages))
    say(f"lists: {len(lists)}, with {sum(len(one.items) for one in lists)} items")
    given = [Extracted(row, dict.fromkeys(row, 1.0), Source(SEEDS, 0, 0)) for row in known]
    table, done, unused = consolidated(given, columns), list[Round](), list[str]()
    for number in range(1, rounds + 1):
        found, unused, counts = _one_round(lists, Known(known, columns))
        table = consolidated([*given, *found], columns, min_confidence)
        done.append(Round(*counts, len(found), len(table)))
        say(
            f"round {number}: lists used: {counts[0]}, items matched: {counts[1]}, "
            f"items extracted: {len(found)}, rows: {len(table)}"
        )
        before, known = _values(known), _reliable(table)
        if _values(known) == before:
            break
    return ListTable(columns, tuple(table), tuple(done), (*skipped, *unused))


def read_seeds(
    seeds: str | Path | Iterable[Mapping[str, str]],
) -> tuple[tuple[str, ...], list[Row]]:
    """Return the columns and the rows of the seeds, without empty cells.

    Examples
    --------
    >>> read_seeds([{"country": "France", "capital": ""}])
    (('country', 'capital'), [{'country': 'France'}])
    """
    if isinstance(seeds, str | Path):
        rows: Sequence[Mapping[str, Any]]
        header, rows = _read_table(seeds)
        name = str(seeds)
    else:
        if not isinstance(seeds, Iterable):
            remedy = "pass a table file, or a list of dicts"
            raise InvalidInput(message("seeds", seeds, "rows", remedy))
        rows, name = list(seeds), "seeds"
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping) or not all(isinstance(key, str) for key in row):
                expected = "a dict of columns to values"
                raise InvalidInput(message(f"seeds[{i}]", row, expected, "pass dicts"))
        header = list(dict.fromkeys(column for row in rows for column in row))
    if not rows or not header:
        raise InvalidInput(
            place=name,
            got="no rows",
            expected="at least two seed rows under a header",
            remedy="write the header and two rows of examples",
        )
    for taken in (OUTSIDE, *ADDED):
        if taken in header:
            raise InvalidInput(
                place=name,
                got=f"a column called {taken!r}, which is reserved",
                remedy="rename the column",
            )
    filled = [
        {c: str(row[c]).strip() for c in header if folded(str(row.get(c) or ""))} for row in rows
    ]
    if not any(header[0] in row for row in filled):
        raise InvalidInput(
            f"the first column, {header[0]!r}, is empty",
            place=name,
            expected="the key of each row",
            remedy="name the first column",
        )
    return tuple(header), list(filled)


def _read_table(path: str | Path) -> tuple[list[str], list[dict[str, str]]]:
    """Return the header and the rows of a table file; what has no other format is CSV or TSV."""
    if unpacked_suffix(path) not in FORMATS:
        return _read_csv(path)
    records, _, _ = file_records(path, form_of(path), Reading())
    rows: list[dict[str, str]] = []
    for number, one in enumerate(records(), 1):
        if isinstance(one, InvalidInput):
            raise one
        if isinstance(one, str):
            expected = "an object of columns to values"
            remedy = 'write {"country": "France"}'
            raise InvalidInput(message(f"{path}, row {number}", one, expected, remedy))
        rows.append({name: "" if value is None else str(value) for name, value in one.items()})
    return list(dict.fromkeys(name for row in rows for name in row)), rows


def _read_csv(path: str | Path) -> tuple[list[str], list[dict[str, str]]]:
    """Return the header and the rows of a CSV or TSV file."""
    text = next(iter(read_pages([path]).values()))
    if not text.strip():
        raise InvalidInput(
            place=path,
            got="an empty file",
            expected="a header and seed rows",
            remedy="write a header and two rows of examples",
        )
    line = text.lstrip().splitlines()[0]
    delimiter = max(",;\t|", key=line.count)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        header = [name.strip() for name in reader.fieldnames or []]
        reader.fieldnames = header
        rows = list(reader)
    except csv.Error as error:
        raise InvalidInput(
            f"cannot be read as a table ({error})", place=path, remedy="pass a CSV file"
        ) from None
    if not all(header) or len(set(header)) < len(header):
        raise InvalidInput(
            place=path,
            got=f"the header {header!r}",
            expected="a different name for each column",
            remedy="rename the columns that have the same name",
        )
    for i, row in enumerate(rows, start=2):
        if None in row:
            raise InvalidInput(
                file=path,
                line=i,
                unit="row",
                got=f"more cells than the {len(header)} columns",
                remedy="put values that contain the separator in quotes",
            )
    return header, rows


# ---- one round -----------------------------------------------------------------------------------


def _values(rows: Sequence[Row]) -> set[tuple[tuple[str, str], ...]]:
    return {tuple(sorted(row.items())) for row in rows}


def _reliable(table: Sequence[TableRow]) -> list[Row]:
    """Return the reliable values to match in the next round."""
    rows = [
        {name: value for name, value in row.values.items() if row.confidences[name] >= RELIABLE}
        for row in table
    ]
    return [row for row in rows if row]


def _lists_of(pages: Mapping[str, str]) -> tuple[list[ItemList], list[str]]:
    """Return the lists of all pages, and the pages that have none."""
    lists, skipped = [], []
    for name, text in pages.items():
        found = items_of(text, name)
        lists += found
        if not found:
            skipped.append(f"{name}: no list in it")
    return lists, skipped


def _one_round(
    lists: Sequence[ItemList], known: Known
) -> tuple[list[Extracted], list[str], tuple[int, int]]:
    """Return the extracted rows, the unused lists with reasons, and counts."""
    found: list[Extracted] = []
    unused: list[str] = []
    used = labelled = 0
    for one in lists:
        labels = labels_of(one, known)
        least = min(2, len(known.columns))
        if len(labels.known) < FEWEST or len(labels.columns) < least:
            unused.append(
                f"{one.page}, list {one.number} ({one.kind}, {len(one.items)} items): "
                f"known rows match {len(labels.known)} of its items"
            )
            continue
        used, labelled = used + 1, labelled + len(labels.known)
        found += _extracted(one, labels, known.columns[0])
    return found, unused, (used, labelled)


def _extracted(one: ItemList, labels: Labels, key: str) -> list[Extracted]:
    """Train on the labelled items of a list, and return the rows of all its items."""
    model = _model(labels.columns)
    documents = [item.document for item in one.items]
    chosen = sorted(labels.known)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as about probabilities that are not calibrated
            model.fit([documents[i] for i in chosen], [labels.known[i] for i in chosen])
            records = model.set_normalisers(_normalisers(labels.columns)).extract(documents)
    except CaesuraError:  # contradictory labels
        return []
    found = []
    for item, record in zip(one.items, records, strict=True):
        values, chances = {}, {}
        for name in labels.columns:
            best = max(record[name], key=lambda value: value.probability or 0.0, default=None)
            if best is not None and folded(best.text):
                values[name] = best.text if best.value is None else str(best.value)
                chances[name] = float(best.probability or 0.0)
        if key in values:
            found.append(Extracted(values, chances, Source(one.page, one.number, item.item)))
    return found


def _model(columns: Sequence[str]) -> SemiCRF:
    """Return an unfitted model for one list.

    Pairs of attribute and label that the few labelled items lack have weights too: a rare word that
    was never outside counts against being outside.
    """
    once = {"at_most_once": list(columns)} if len(columns) <= MOST_ONCE else None
    options: dict[str, Any] = {"all_possible_states": True, "max_iterations": 100, "n_threads": 1}
    return SemiCRF(_features(), c2=0.05, constraints=once, **options)


def _normalisers(columns: Sequence[str]) -> dict[str, str]:
    """Return the normalisers of columns by name; by default only white space is changed."""
    named = {name: default_normaliser(name) for name in columns}
    return {name: "space" if one == "punctuation" else one for name, one in named.items()}


def _features() -> list[Any]:
    """Return the features of a list model: tags, delimiters, shapes, regular expressions."""
    tag, opened, closed = column("tag"), column("open"), column("close")
    often = column("often")
    return [
        token(tag[0]),
        first(tag[0]),
        first(opened[0]),
        last(closed[0]),
        first(tag[-1]),
        last(tag[1]),
        first(lower[-1]),
        last(lower[1]),
        token(often[0]),
        first(often[-1]),
        last(often[1]),
        token(short_shape[0]),
        Pattern(r"\d+([ .,]+\d{3})*", 7, "a number"),
        Pattern(r"(1\d|20)\d\d", 1, "a year"),
        Pattern(r"[$€£¥] ?\d[\d ,.]*|\d[\d ,.]* ?[$€£¥%]", 8, "an amount"),
        Pattern(r"[A-Z]{2,5}", 1, "a code"),
        Pattern(r"\w+( \w+)*", 8, "words without punctuation"),
    ]
