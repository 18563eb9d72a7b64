"""Splitting of strings with several records, such as reference lists."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Literal

from caesura.errors import InvalidInput, message

__all__ = ["Split", "split_records", "splitter"]

Split = Literal["auto", "lines", "paragraphs", "none"] | Callable[[str], Iterable[str]]
WAYS = ("auto", "lines", "paragraphs", "none")
# Numbers of list items: [1] between spaces; (1), 1. and 1) at the beginning of a line.
_NUMBERED = (
    re.compile(r"(?:^|(?<=\s))\[(\d{1,4})\]\s+"),
    re.compile(r"^[ \t]*\((\d{1,4})\)\s+", re.MULTILINE),
    re.compile(r"^[ \t]*(\d{1,4})[.)]\s+", re.MULTILINE),
)
_BULLET = re.compile(r"^[ \t]*[*•‣◦–-]\s+", re.MULTILINE)
_HEADING = re.compile(
    r"\W*(?:references|bibliography|works cited|literature(?: cited)?|literatur(?:verzeichnis)?"
    r"|références|bibliographie|referencias|bibliografía|bibliografia)\W*",
    re.IGNORECASE,
)
GAP = 3  # numbers of a list that may be missing in a row
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")


def split_records(text: str, by: Split = "auto") -> list[str]:
    r"""Return the records in a string.

    Parameters
    ----------
    text : str
        One record or several.
    by : {"auto", "lines", "paragraphs", "none"} or callable
        ``auto`` splits lists whose items are numbered one after the other (``[1]``, ``(1)``, ``1.``
        or ``1)``) or have bullets, and removes the numbers or bullets, and a heading such as
        "References"; other text is one record. Some numbers may be missing, up to 3 in a row, if
        the next one begins a line.
        ``lines`` and ``paragraphs`` split at line ends and blank lines, ``none`` never. A function
        gets the string and returns the records.

    Returns
    -------
    list of str
        The records, without white space around them; none of them is empty.

    Examples
    --------
    >>> split_records("[1] Codd. A relational model. 1970. [2] Gray. Transactions. 1981.")
    ['Codd. A relational model. 1970.', 'Gray. Transactions. 1981.']
    >>> split_records("12 High Street\nLeeds")
    ['12 High Street\nLeeds']
    >>> split_records("12 High Street\n7 Park Lane", by="lines")
    ['12 High Street', '7 Park Lane']
    """
    if not isinstance(text, str):
        raise InvalidInput(message("text", text, "a string", "pass one string"))
    return splitter(by)(text)


def splitter(by: Split) -> Callable[[str], list[str]]:
    """Return the splitting function for a name, or raise."""
    if callable(by):
        return lambda text: _own(by, text)
    ways: dict[str, Callable[[str], list[str]]] = {
        "auto": _list,
        "lines": lambda text: _stripped(text.split("\n")),
        "paragraphs": lambda text: _stripped(_PARAGRAPHS.split(text)),
        "none": lambda text: [text],
    }
    if not isinstance(by, str) or by not in ways:
        expected = f"{', '.join(map(repr, WAYS))}, or a function"
        raise InvalidInput(message("split", by, expected, "pass one of them"))
    return ways[by]


def _own(by: Callable[[str], Iterable[str]], text: str) -> list[str]:
    """Return the result of a user's splitting function."""
    found = by(text)
    parts = list(found) if isinstance(found, Iterable) and not isinstance(found, str) else None
    if parts is None or not all(isinstance(part, str) for part in parts):
        expected = "a function that returns a list of strings"
        raise InvalidInput(message("split", found, expected, "return [text] for one record"))
    return parts


def _stripped(parts: Iterable[str]) -> list[str]:
    return [part.strip() for part in parts if part.strip()]


def _list(text: str) -> list[str]:
    """Return the items of a list; the whole text if it is not a list."""
    if "\n" not in text and "[" not in text:
        return [text]
    for mark in _NUMBERED:
        found = _counted(list(mark.finditer(text)))
        if len(found) > 1 and _begins(text, found[0]):
            return _between(text, found)
    bullets = list(_BULLET.finditer(text))
    if len(bullets) > 1 and _begins(text, bullets[0]):
        return _between(text, bullets)
    return [text]


def _begins(text: str, mark: re.Match[str]) -> bool:
    """Return whether nothing but a heading is before a mark."""
    before = text[: mark.start()]
    return not before.strip() or _HEADING.fullmatch(before) is not None


def _counted(marks: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the first number and those that follow it; only the first if none is its successor."""
    places: dict[int, list[int]] = {}
    for place, one in enumerate(marks):
        places.setdefault(int(one[1]), []).append(place)
    found, at, successors = marks[:1], 0, 0
    while at < len(marks):
        number = int(marks[at][1])
        for step in range(1, GAP + 2):
            later = places.get(number + step, [])
            k = bisect_right(later, at)
            if k < len(later) and (step == 1 or _begins_line(marks[later[k]])):
                break
        else:
            break
        at = later[k]
        found.append(marks[at])
        successors += step == 1
    return found if successors else found[:1]


def _begins_line(mark: re.Match[str]) -> bool:
    """Return whether a mark is at the beginning of a line."""
    before = mark.string[: mark.start()].rstrip(" \t")
    return not before or before.endswith("\n")


def _between(text: str, marks: list[re.Match[str]]) -> list[str]:
    """Return the text after each mark up to the next."""
    ends = [one.start() for one in marks[1:]] + [len(text)]
    return _stripped(text[one.end() : end] for one, end in zip(marks, ends, strict=True))
