"""Tags as states of a chain: which may follow which, and what they say about segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.segments import _BY_NAME

__all__ = ["Bars", "Tag", "bars_of", "tags_of"]

Bytes = npt.NDArray[np.uint8]


class Tag(NamedTuple):
    """A tag taken apart."""

    label: str | None  # None: outside
    continues: bool  # it goes on with the segment of the token before
    goes_on: bool  # the next token must go on with its segment
    open: bool  # the next token may go on with its segment
    can_begin: bool


class Bars(NamedTuple):
    """What tags of a scheme never do."""

    pairs: Bytes  # (Y, Y)
    start: Bytes  # (Y,)
    end: Bytes  # (Y,)


def tags_of(tags: Sequence[str], scheme: str, outside: str) -> list[Tag]:
    """Take tags apart."""
    row = _BY_NAME[scheme.upper()]
    out = []
    for tag in tags:
        if tag == outside or (row.begin and tag == "O"):
            out.append(Tag(None, False, False, False, False))
            continue
        if not row.begin:  # plain: equal neighbours are one segment
            out.append(Tag(tag, True, False, True, True))
            continue
        letter, _, label = tag.partition("-")
        can_begin = letter in (row.begin, row.single) or not row.begin_always
        continues = letter in (row.inside, row.end) and letter not in (row.begin, row.single)
        is_open = letter in (row.begin, row.inside)
        goes_on = is_open and row.end not in (row.inside, row.begin)
        out.append(Tag(label, continues, goes_on, is_open, can_begin))
    return out


def bars_of(tags: Sequence[str], scheme: str, outside: str) -> Bars:
    """Return which tags may not follow which, not begin, and not end a sequence."""
    row = _BY_NAME[scheme.upper()]
    parts = tags_of(tags, scheme, outside)
    Y = len(tags)
    bars = Bars(np.zeros((Y, Y), np.uint8), np.zeros(Y, np.uint8), np.zeros(Y, np.uint8))
    if not row.begin or not row.begin_always:  # plain, IOB1: everything can be read
        return bars
    for a, before in enumerate(parts):
        bars.end[a] = before.goes_on
        bars.start[a] = before.continues
        for b, after in enumerate(parts):
            joined = before.open and after.continues and before.label == after.label
            bars.pairs[a, b] = (after.continues or before.goes_on) and not joined
    return bars
