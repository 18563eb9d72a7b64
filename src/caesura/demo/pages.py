"""Pages with lists of countries, written for this library, for `table_from_lists`.

Facts that everybody knows, in nine layouts: lists, tables whose cells are never closed, lines,
definitions, plain text.  One page has some wrong answers, one is prose, one lacks a column.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from caesura.errors import InvalidInput

__all__ = ["pages", "write_pages"]

_TABLES = ("gold.csv", "seeds.csv")


def pages() -> dict[str, str]:
    """Return the pages by name.

    Examples
    --------
    >>> sorted(pages())[:3]
    ['africa.txt', 'americas.html', 'asia.html']
    """
    return {name: text for name, text in _bundled().items() if name not in _TABLES}


def write_pages(folder: str | os.PathLike[str]) -> list[Path]:
    """Write the pages, seed rows (seeds.csv) and the whole table (gold.csv) into a folder.

    Parameters
    ----------
    folder : path
        Created if it does not exist.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_pages(folder)][-2:]
    ['seeds.csv', 'travel.html']
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InvalidInput(
            f"{target} is a file", place="folder", remedy="give the name of a folder"
        )
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in _bundled().items():
        path = target / name
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _bundled() -> dict[str, str]:
    folder = files("caesura.demo") / "countries"
    found = sorted(folder.iterdir(), key=lambda one: one.name)
    return {one.name: one.read_text(encoding="utf-8") for one in found if one.is_file()}
