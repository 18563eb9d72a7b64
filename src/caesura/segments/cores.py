"""Which segments a score with a core span belongs to.

A core is a span ``[start, end)`` with flags that say which of its sides are open.
"""

from __future__ import annotations

__all__ = ["OPEN_END", "OPEN_START", "applies"]

OPEN_START, OPEN_END = 1, 2  # bits of the flags of a core, as in cpp/lattice/lattice.hpp


def applies(core_start: int, core_end: int, flags: int, start: int, end: int) -> bool:
    """Return whether what has a core applies to the segment [start, end).

    A closed side of the core must coincide with that of the segment; an open one may lie inside.

    Examples
    --------
    >>> [applies(4, 6, OPEN_END, 4, end) for end in (5, 6, 9)]
    [False, True, True]
    >>> applies(4, 6, OPEN_END, 3, 9), applies(4, 6, OPEN_START | OPEN_END, 3, 9)
    (False, True)
    """
    return (start == core_start or (bool(flags & OPEN_START) and start <= core_start)) and (
        end == core_end or (bool(flags & OPEN_END) and end >= core_end)
    )
