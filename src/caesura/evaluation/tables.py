"""Formatting of rows as tables: plain text, or with rich."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from caesura.render import display_width, visible

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["for_terminals", "plain", "shown"]

Rows = Sequence[Sequence[str]]  # the first row is the header


def shown(name: str) -> str:
    """Escape invisible and control characters of a label."""
    return visible(name)


def plain(rows: Rows, lines: Sequence[str] = ()) -> str:
    """Format rows in columns, the first aligned left, followed by lines.

    Examples
    --------
    >>> print(plain([("", "F1"), ("micro", "0.5")], ["all"]))
            F1
    micro  0.5
    all
    """
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    written = []
    for row in rows:
        pads = [" " * (w - display_width(cell)) for cell, w in zip(row, widths, strict=True)]
        cells = [row[0] + pads[0], *(p + c for c, p in zip(row[1:], pads[1:], strict=True))]
        written.append("  ".join(cells).rstrip())
    return "\n".join([*written, *lines])


def for_terminals(rows: Rows, lines: Sequence[str] = ()) -> Group:
    """Return a rich table, followed by lines."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for c, heading in enumerate(rows[0]):
        table.add_column(Text(heading), justify="right" if c else "left")
    for row in rows[1:]:
        table.add_row(*map(Text, row))  # as Text, so that brackets in labels are not markup
    return Group(table, *map(Text, lines))
