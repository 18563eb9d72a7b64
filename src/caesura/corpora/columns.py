"""Roles of table columns: text, labels, and columns carried along.

::

    title,brand,storage,price        text: title   labels: brand, storage   carried: price
    "Fairphone 5 256 GB",Fairphone,256 GB,699

A column that is not named is found by its content: the cells of labels occur in the text.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from caesura.corpora.headers import checked_names, looks_like_cells
from caesura.documents import Tokeniser
from caesura.errors import InvalidInput, message

__all__ = [
    "BETWEEN",
    "SAMPLE",
    "Columns",
    "checked_names",
    "choose",
    "needs_rows",
    "parts_of",
    "plain_text",
    "renamed",
    "text_cell",
]

TEXT = "text"
BETWEEN = " | "
NAME_TEXT = "name it with text='...'"  # remedies in errors
GIVE_HEADER = f"write a header, or if the name of the text is right, {NAME_TEXT}"
CORRECT_CELL = (
    "correct the cell, add its character offsets (VALUE @start:end), or name the labels without "
    "this column, with labels=['...']"
)
SAMPLE = 100  # rows from which the roles of columns are chosen
_MOST_CELLS = 200_000  # maximum number of cells in the sample
_MOST_CANDIDATES = 5  # columns that are considered as the text
_NUMBERS = "tables of numbers are read in Python: see docs/tutorials/sensor.md"
_LEAST = 0.5  # minimum share of a label column's cells that occur in the text
_LEAST_DIGITS = 0.8  # the same for columns of digits, which may occur in the text by chance
_PARTLY = 0.1  # above this share, a column that is not a label is reported
RECORDED = re.compile(r"(.*) @([0-9]{1,15}):([0-9]{1,15})", re.DOTALL)  # a value and its span
Row = Sequence[Any]
Edges = tuple[set[int], set[int]]  # offsets at which tokens start, and at which they end
Choice = str | None | Literal[False]


class Columns(NamedTuple):
    """The roles of the columns of a table.

    Examples
    --------
    >>> print(Columns(("id", "title", "brand"), "title", ("brand",), guessed=True))
    text: title (guessed); labels: brand; carried along: id
    """

    names: tuple[str, ...]  # names of all columns, in order
    text: str | None  # if None, the text is the cells of the labels, joined
    labels: tuple[str, ...]  # columns with segments, in order
    guessed: bool = False  # whether the text column was neither given nor named text
    types: Mapping[str, Any] | None = None  # Arrow types, if known; if None, all are strings
    partly: Mapping[str, float] = {}  # column -> share, for carried columns above _PARTLY
    more: bool = False  # whether later rows may have other columns
    separator: str | None = None  # the cell separator of a CSV file

    @property
    def carried(self) -> tuple[str, ...]:
        """The columns that are neither the text nor labels."""
        used = {self.text, *self.labels}
        return tuple(name for name in self.names if name not in used)

    def __str__(self) -> str:
        text = "the cells of the labels, joined" if self.text is None else self.text
        parts = [f"text: {text}{' (guessed)' if self.guessed else ''}"]
        parts += [f"labels: {_listed(self.labels)}"] if self.labels else []
        parts += [f"carried along: {_listed(self.carried)}"] if self.carried else []
        return "; ".join(parts)


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def choose(
    names: Sequence[str],
    rows: Sequence[Row],
    text: Choice = None,
    labels: Iterable[str] | None = None,
    tokeniser: Tokeniser | None = None,
) -> Columns:
    """Determine the roles of the columns from their names and some rows.

    Parameters
    ----------
    names : sequence of str
        The names of all columns.
    rows : sequence of rows
        The first rows, with a cell for each column.
    text : str, False or None
        The column with the text.  None: the one named text, or else the one that clearly is it.
        False: no such column; the cells of the labels are joined to form the text.
    labels : iterable of str, optional
        The label columns; by default those whose cells occur in the text.
    tokeniser : Tokeniser, optional
        How a text is split into tokens, if the cells of labels must be whole tokens.

    Examples
    --------
    >>> rows = [["17", "Fairphone 5 256 GB", "Fairphone"], ["18", "Pixel 8", "Pixel"]]
    >>> print(choose(["sku", "title", "brand"], rows))
    text: title (guessed); labels: brand; carried along: sku
    """
    place = {name: i for i, name in enumerate(names)}
    most = max(1, _MOST_CELLS // max(1, len(names)))
    sample = _Sample([row for row in rows[:most] if len(row) == len(names)], tokeniser)
    chosen = None
    if labels is not None:
        chosen = list(dict.fromkeys(_named(name, place, "labels") for name in labels))
    if text is False:
        return Columns(tuple(names), None, tuple(names if chosen is None else chosen))
    found, guessed = _text_column(names, sample, text, chosen)
    if guessed and looks_like_cells(found, [row[place[found]] for row in sample.rows]):
        expected = "the name of a column on the first line, and it looks like the cells below it"
        raise InvalidInput(message("text", found, expected, GIVE_HEADER))
    if chosen is not None:
        if found in chosen:
            expected = "columns other than that of the text"
            raise InvalidInput(message("labels", found, expected, "leave it out"))
        return Columns(tuple(names), found, tuple(chosen), guessed)
    shares = sample.shares(place[found], [place[name] for name in names if name != found])
    rest = [name for name in names if name != found]
    taken = [name for name in rest if shares[place[name]] >= sample.least(place[name])]
    others = set(rest).difference(taken)
    partly = {
        name: share for name in rest if (share := shares[place[name]]) > _PARTLY and name in others
    }
    if guessed and sample.rows and not taken:
        raise _unclear(names, "no column's cells occur in another's")
    return Columns(tuple(names), found, tuple(taken), guessed, partly=partly)


def needs_rows(names: Sequence[str], text: Choice, labels: Sequence[str] | None) -> bool:
    """Return whether rows are needed to determine the roles of the columns.

    Examples
    --------
    >>> needs_rows(["id", "text"], None, []), needs_rows(["id", "title"], None, [])
    (False, True)
    """
    if labels is None and text is not False:
        return True
    return text is None and TEXT not in names


def _named(name: str, place: Mapping[str, int], argument: str) -> str:
    """Return the column with a name, ignoring case, or raise."""
    if name in place:
        return name
    alike = [one for one in place if one.strip().casefold() == str(name).strip().casefold()]
    if len(alike) == 1:
        return alike[0]
    shown = _listed([repr(one) for one in place])
    expected = f"one of the columns {shown}"
    near = difflib.get_close_matches(str(name).casefold(), [one.casefold() for one in place], 1)
    meant = next((one for one in place if [one.casefold()] == near), None)
    remedy = "correct its name" if meant is None else f"did you mean {meant!r}?"
    raise InvalidInput(message(argument, name, expected, remedy))


def _text_column(
    names: Sequence[str], sample: _Sample, text: Choice, labels: list[str] | None
) -> tuple[str, bool]:
    """Return the text column, and whether it was guessed."""
    place = {name: i for i, name in enumerate(names)}
    if text is not None:
        return _named(str(text), place, "text"), False
    if TEXT in place:
        return TEXT, False
    alike = [name for name in names if name.strip().casefold() == TEXT]
    if len(alike) == 1:
        return alike[0], False
    if len(names) == 1:
        return names[0], True
    if _looks_like_data(names, sample):
        raise InvalidInput(
            place="columns",
            got=f"{_listed([repr(one) for one in names])}, which look like a row of the table",
            expected="names of columns",
            remedy="write them on the first line",
        )
    named = set(labels or ())
    others = [name for name in names if name not in named]
    sizes = {name: sample.words(place[name]) for name in others}
    longest = sorted((name for name in others if sizes[name] > 0), key=lambda n: -sizes[n])
    if labels is None or labels:
        looked = [place[name] for name in (labels or names)]
        counts = {
            name: sum(
                share >= _LEAST for share in sample.shares(place[name], looked, True).values()
            )
            for name in longest[:_MOST_CANDIDATES]
        }
        best = sorted(counts, key=lambda name: -counts[name])
        if best and counts[best[0]] and (len(best) < 2 or counts[best[0]] > counts[best[1]]):
            return best[0], True
    if labels is not None and longest:
        second = sizes[longest[1]] if len(longest) > 1 else 0.0
        if sizes[longest[0]] >= max(2 * second, 2.0) or len(longest) == 1:
            return longest[0], True
    if labels is None and sample.rows:
        if len(names) > len(longest) + 1 and all(sizes[name] <= 1 for name in longest):
            raise _unclear(names, "the columns are numbers", _NUMBERS)
        raise _unclear(names, "no column has labels, whose cells occur in the text")
    raise _unclear(names, "none is named text, and several may be it")


def _unclear(names: Sequence[str], why: str, remedy: str = NAME_TEXT) -> InvalidInput:
    shown = f"the columns {_listed([repr(one) for one in names])}"
    text = message("text", None, f"the name of the column with the text ({why})", remedy)
    return InvalidInput(text).changed(got=shown)


def _looks_like_data(names: Sequence[str], sample: _Sample) -> bool:
    """Return whether the first line is data: a cell occurs in another, as in other rows."""
    if any(re.fullmatch(r"[-+]?\d+([.,]\d+)?", name.strip()) for name in names):
        return True
    if len(names) > 50 or not sample.rows:
        return False
    for i, whole in enumerate(names):
        inside = [k for k, part in enumerate(names) if k != i and _stands(part, whole, None)]
        inside = [k for k in inside if len(names[k]) < len(whole) and len(whole.split()) > 1]
        if inside and max(sample.shares(i, inside, True).values()) >= 0.9:
            return True
    return False


class _Sample:
    """The first rows of a table."""

    def __init__(self, rows: Sequence[Row], tokeniser: Tokeniser | None) -> None:
        self.rows, self.tokeniser = rows, tokeniser

    def words(self, i: int) -> float:
        """Return the mean number of words in a column of strings; 0 for other types."""
        cells = [row[i] for row in self.rows if row[i] not in (None, "")]
        if not cells or not all(isinstance(cell, str) for cell in cells):
            return 0.0
        if not any(character.isalpha() for cell in cells for character in cell):
            return 0.0
        return sum(len(cell.split()) for cell in cells) / len(cells)

    def least(self, i: int) -> float:
        """Return the minimum share of cells that occur in the text for a label column."""
        parts = (part for row in self.rows for part in parts_of(row[i]))
        letters = any(c.isalpha() for part in parts for c in part)
        return _LEAST if letters else _LEAST_DIGITS

    def edges(self, text: object) -> Edges | None:
        """Return the start and end offsets of the tokens of a text."""
        if self.tokeniser is None or not isinstance(text, str):
            return None
        spans = self.tokeniser.spans(text)
        return {start for start, _ in spans}, {end for _, end in spans}

    def shares(self, text: int, columns: Sequence[int], strictly: bool = False) -> dict[int, float]:
        """Return the share of cells of each column that occur in the text.

        A column without cells has 1.  With `strictly` it has 0, and cells that are the whole text
        or have no letters do not count, as digits are in a text by chance.
        """
        texts = [(row, row[text], self.edges(row[text])) for row in self.rows]
        out = {}
        for k in columns:
            seen = found = 0
            for row, whole, edges in texts if k != text else ():
                parts = parts_of(row[k])
                if not isinstance(whole, str) or not parts:
                    continue
                letters = any(c.isalpha() for part in parts for c in part)
                if strictly and (whole == row[k] or not letters):
                    continue
                seen += 1
                found += all(_stands(part, whole, _asked(part, edges)) for part in parts)
            out[k] = found / seen if seen else float(not strictly and k != text)
        return out


def _asked(part: str, edges: Edges | None) -> Edges | None:
    """Return the boundaries that a value must meet: none for a long value, which cannot occur by
    chance and whose error names the token that it cuts.
    """
    return None if len(part) > 2 and any(c.isalpha() for c in part) else edges


def _stands(part: str, whole: str, edges: Edges | None) -> bool:
    """Return whether a value occurs in a text, at token boundaries where these are known."""
    recorded = RECORDED.fullmatch(part)
    if recorded and part not in whole:
        return whole[int(recorded[2]) : int(recorded[3])].strip() == recorded[1].strip()
    bare = part.strip()
    start = whole.find(bare) if bare else -1
    while start >= 0:
        if edges is None or (start in edges[0] and start + len(bare) in edges[1]):
            return True
        start = whole.find(bare, start + 1)
    return False


# ---- cells ---------------------------------------------------------------------------------------


def parts_of(cell: Any) -> list[str]:
    r"""Return the segments in a cell: a list, or several joined by `` | ``.

    Examples
    --------
    >>> parts_of(r"Lee | Wu \| Co"), parts_of(1999.0), parts_of(["Lee", "Wu"]), parts_of(None)
    (['Lee', 'Wu | Co'], ['1999'], ['Lee', 'Wu'], [])
    """
    if isinstance(cell, str):
        if not cell.strip():
            return []
        if BETWEEN not in cell and "\\|" not in cell:
            return [cell]
        return [part.replace("\\|", "|") for part in cell.split(BETWEEN)]
    if cell is None or cell != cell:  # NaN
        return []
    if isinstance(cell, bool | Mapping):
        return [json.dumps(cell, default=str)]
    if isinstance(cell, Iterable):
        return [part for one in cell for part in parts_of(one)]
    return [str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)]


def text_cell(cell: Any, column: str) -> str:
    """Return the text of a cell, or raise; an empty cell is an empty text.

    Examples
    --------
    >>> text_cell("12 High Street", "address"), text_cell(None, "address")
    ('12 High Street', '')
    """
    if isinstance(cell, str):
        return cell
    if cell is None or cell != cell:  # NaN
        return ""
    raise InvalidInput(message(column, cell, "a text", "name another column, or write a string"))


def plain_text(value: Any) -> str:
    """Return a carried value as text; bytes become hexadecimal digits.

    Examples
    --------
    >>> plain_text(b"Az"), plain_text(1.5)
    ('417a', '1.5')
    """
    return value.hex() if isinstance(value, bytes) else str(value)


def renamed(carried: Mapping[str, Any], taken: Iterable[str]) -> dict[str, Any]:
    """Return the carried columns, renamed where their names are reserved.

    Examples
    --------
    >>> renamed({"id": 7, "author": "?"}, ["text", "author"])
    {'id': 7, 'author (input)': '?'}
    """
    own = set(taken)
    out: dict[str, Any] = {}
    for name, value in carried.items():
        new = name
        while new in own or (new != name and new in carried):
            new += " (input)"
        out[new] = value
    return out
