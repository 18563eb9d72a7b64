"""Cell separators of text tables: validation and detection."""

from __future__ import annotations

import csv
import re
from typing import Protocol

from caesura.corpora.files import Source, unpacked_suffix
from caesura.errors import InvalidInput, Remedy, message

__all__ = ["LOOKED", "PASS_SEPARATOR", "check_separator", "declared_separator", "found_separator"]

_SEPARATORS = ",;\t|"
_DECLARED = re.compile(r"(\"?)sep=([^\"\r\n])\1[\r\n]*", re.IGNORECASE)
LOOKED = 20  # rows that are read to find the separator
_IN_NAMES = " \xa0_-.()[]/'\""  # characters that are common in the name of a single column
PASS_SEPARATOR = "pass separator={shown}, or separator=',' if there is only one column"


class Lines(Protocol):
    """The lines of a table."""

    first: str
    declared: str | None

    def beginning(self) -> list[str]:
        """Return the first lines without consuming them."""


def declared_separator(line: str) -> str | None:
    """Return the separator that a first line declares for Excel; None for any other line.

    Examples
    --------
    >>> declared_separator("sep=;"), declared_separator("id;text")
    (';', None)
    """
    found = _DECLARED.fullmatch(line)
    return found[2] if found else None


def check_separator(separator: object) -> None:
    """Raise if a string cannot separate cells."""
    one = isinstance(separator, str) and len(separator) == 1 and separator not in '"\r\n'
    if separator is not None and not one:
        expected = "one character, not a quote or a line end"
        raise InvalidInput(message("separator", separator, expected, "pass ',' or '\\t'"))


def found_separator(source: Source, lines: Lines) -> str:
    """Detect the separator from the first lines."""
    if lines.declared is not None:
        return lines.declared
    if unpacked_suffix(source.path) == ".tsv":
        return "\t"
    splits = [one for one in _SEPARATORS if len(_cut([lines.first], one)) > 0]
    widths = {one: len(_cut([lines.first], one)[0]) for one in splits}
    several = [one for one in splits if widths[one] > 1]
    if len(several) == 1:
        return several[0]
    begin = lines.beginning()
    if not several:
        _check_single(source, lines.first, begin)
        return ","
    even = [one for one in several if all(len(row) == widths[one] for row in _cut(begin, one)[:-1])]
    return max(even or several, key=lambda one: (widths[one], -_SEPARATORS.index(one)))


def _check_single(source: Source, first: str, lines: list[str]) -> None:
    """Raise if a table of one column seems to be one with another separator.

    Such a character is in the first line, and in all lines equally often.
    """
    other = [line for line in lines[1:] if line.strip()]
    for character in dict.fromkeys(first.strip()):
        if character.isalnum() or character in _IN_NAMES:
            continue
        count = first.count(character)
        if other and all(line.count(character) == count for line in other):
            shown = repr(character)
            error = InvalidInput(
                got=f"{first.strip()!r} and {count} {shown} on every line",
                expected="cells separated by commas, semicolons, tabs or vertical bars",
                remedy=Remedy(PASS_SEPARATOR, shown=shown),
            )
            raise source.error(1, error)


def _cut(lines: list[str], separator: str) -> list[list[str]]:
    """Parse some lines into cells; empty if that fails."""
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:
        return []
