"""The first line of a table, which names the columns: its validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from caesura.errors import InvalidInput, message

__all__ = ["checked_names", "looks_like_cells"]


def checked_names(names: Sequence[Any]) -> list[str]:
    """Return unique column names, or raise; blank names are replaced.

    Examples
    --------
    >>> checked_names(["", "text"])
    ['column1', 'text']
    """
    strings = ["" if name is None else str(name) for name in names]
    twice = [name for name, count in Counter(strings).items() if count > 1 and name.strip()]
    if twice:
        expected, remedy = "unique column names", "rename one of the columns"
        raise InvalidInput(message("columns", twice[0], expected, remedy))
    taken, out = set(strings), []
    for i, name in enumerate(strings, 1):
        if not name.strip():
            name = f"column{i}"
            while name in taken:
                name += "_"
        out.append(name)
    return out


def looks_like_cells(name: str, cells: Iterable[Any]) -> bool:
    """Return whether the name of a text column seems to be a text: with digits, or as long.

    A number at the end is usual in names.

    Examples
    --------
    >>> cells = ["7 Park Lane York", "9 Elm Road Hull"]
    >>> looks_like_cells("12 High Street", cells), looks_like_cells("Address line 1", cells)
    (True, False)
    """
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    if not texts:
        return False
    if sum(any(c.isdigit() for c in text) for text in texts) > len(texts) / 2:
        return any(c.isdigit() for word in name.split()[:-1] for c in word)
    count = len(name.split())
    return count > 2 and count * len(texts) >= sum(len(text.split()) for text in texts)
