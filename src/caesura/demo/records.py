"""Bibliographic records of publications, compiled for this project."""

from __future__ import annotations

import random
from functools import cache
from importlib import resources
from typing import NamedTuple

from caesura.errors import InvalidInput, message

__all__ = ["Name", "Record", "Split", "records", "split"]

OTHERS = "others"  # follows the authors of a record if there are more
# Journals whose issues are numbered by month.
MONTHLY = ("Communications of the ACM", "Proceedings of the IEEE", "Proceedings of the IRE")


class Name(NamedTuple):
    """A person's name."""

    family: str
    given: str  # may be empty


class Record(NamedTuple):
    """The fields of a publication; unknown fields are empty."""

    kind: str  # article, paper, chapter, book, report or preprint
    authors: tuple[Name, ...]
    more: bool  # whether there are more authors than these
    year: str
    month: int  # 0 if unknown
    title: str
    journal: str
    booktitle: str
    volume: str
    number: str
    pages: str
    publisher: str
    place: str
    editors: tuple[Name, ...]
    institution: str
    note: str  # an edition, the kind and number of a report, or the location of a preprint


class Split(NamedTuple):
    """Disjoint sets of records for training, calibration and testing."""

    train: tuple[Record, ...]
    dev: tuple[Record, ...]
    test: tuple[Record, ...]


@cache
def records() -> tuple[Record, ...]:
    """Return all publications.

    Examples
    --------
    >>> [record.year for record in records() if record.title == "Random forests"]
    ['2001']
    """
    file = resources.files("caesura.demo").joinpath("publications.tsv")
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    names = head.split("\t")
    return tuple(_record(dict(zip(names, line.split("\t"), strict=True))) for line in lines)


def _record(row: dict[str, str]) -> Record:
    authors, editors = row.pop("authors").split("; "), row.pop("editors")
    monthly = row["journal"] in MONTHLY
    return Record(
        authors=tuple(_name(author) for author in authors if author != OTHERS),
        more=OTHERS in authors,
        editors=tuple(_name(editor) for editor in editors.split("; ") if editor),
        month=int(row["number"]) if monthly else 0,
        **row,
    )


def _name(text: str) -> Name:
    family, _, given = text.partition(", ")
    return Name(family, given)


def split(seed: int = 0) -> Split:
    """Return two thirds of the records for training, a tenth for calibration, the rest for testing.

    Parameters
    ----------
    seed : int
        Other seeds give other thirds.

    Examples
    --------
    >>> parts = split()
    >>> set(parts.train) & set(parts.test)
    set()
    """
    if not isinstance(seed, int):
        raise InvalidInput(message("seed", seed, "a whole number", "pass 0, the default"))
    shuffled = list(records())
    random.Random(f"split {seed}").shuffle(shuffled)
    first, second = len(shuffled) * 2 // 3, len(shuffled) * 23 // 30
    parts = (shuffled[:first], shuffled[first:second], shuffled[second:])
    return Split(*(tuple(part) for part in parts))
