"""Tags as states of a chain: transitions, and the segments that they encode."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.constraints import BARRED, FORCED
from caesura.errors import InvalidInput
from caesura.segments import Segment
from caesura.segments.tags import SCHEMES_BY_NAME

__all__ = ["Bars", "Bools", "Tag", "TagSet", "bars_of", "tag_set", "tags_of"]

Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]


class Tag(NamedTuple):
    """A parsed tag."""

    label: str | None  # None if outside
    letter: str  # empty if outside, or if tags are plain labels
    begins: bool  # whether a segment can begin with it
    continues: bool  # whether it can continue the segment of the previous token
    goes_on: bool  # whether the next token must continue its segment
    open: bool  # whether the next token can continue its segment


class Bars(NamedTuple):
    """The transitions that a tag scheme forbids."""

    pairs: Bytes  # (Y, Y)
    start: Bytes  # (Y,)
    end: Bytes  # (Y,)


def tags_of(tags: Sequence[str], scheme: str, outside: str) -> list[Tag]:
    """Parse tags by the rule of `from_tags`.

    Examples
    --------
    >>> tags_of(["B-PER", "O"], "BIO", "O")[0]
    Tag(label='PER', letter='B', begins=True, continues=False, goes_on=False, open=True)
    """
    row = SCHEMES_BY_NAME[scheme.upper()]
    out = []
    for tag in tags:
        letter, _, label = tag.partition("-") if row.begin else ("", "-", tag)
        if label == outside or (row.begin and tag == "O"):
            out.append(Tag(None, "", True, False, False, False))
        elif not row.begin:  # plain: adjacent tokens with one label form one segment
            out.append(Tag(label, "", True, True, False, True))
        else:
            begins, may_end = row.may_begin(letter, True), row.may_end(letter, True)
            is_open, continues = row.joins(letter, row.inside), row.joins(row.inside, letter)
            out.append(Tag(label, letter, begins, continues, not may_end, is_open))
    return out


def bars_of(tags: Sequence[str], scheme: str, outside: str) -> Bars:
    """Return the forbidden transitions, starts and ends of tags.

    What is left are the sequences that `to_tags` writes, so each segmentation has one.
    """
    row = SCHEMES_BY_NAME[scheme.upper()]
    parts = tags_of(tags, scheme, outside)
    Y = len(tags)
    bars = Bars(np.zeros((Y, Y), np.uint8), np.zeros(Y, np.uint8), np.zeros(Y, np.uint8))
    if not row.begin:  # plain: all sequences of tags are valid
        return bars
    for a, before in enumerate(parts):
        bars.end[a] = not row.fits(before.letter, "", False)
        bars.start[a] = not row.fits("", before.letter, False)
        for b, after in enumerate(parts):
            same = before.label == after.label
            bars.pairs[a, b] = not row.fits(before.letter, after.letter, same)
    return bars


class TagSet:
    """The states of a chain, and the segments that they encode.

    Parameters
    ----------
    states : sequence of str
        The tags.
    scheme : str
        The tag scheme in which they are written.
    outside : str
        The label of text outside segments.
    """

    def __init__(self, states: Sequence[str], scheme: str, outside: str) -> None:
        self.scheme, self.outside = scheme, outside
        self.tags = tags_of(states, scheme, outside)
        self.labels: tuple[str, ...] = tuple(
            sorted({tag.label for tag in self.tags if tag.label is not None})
        )
        self.label_of = [outside if t.label is None else t.label for t in self.tags]
        index = {label: k for k, label in enumerate(self.labels)}
        self.label = np.array([index.get(name, -1) for name in self.label_of], np.int32)
        self.begins = np.array([t.begins for t in self.tags], bool)
        self.continues = np.array([t.continues for t in self.tags], bool)
        self.open = np.array([t.open for t in self.tags], bool)
        self.goes_on = np.array([t.goes_on for t in self.tags], bool)
        same = self.label[:, None] == self.label[None, :]
        # (Y, Y): whether the second tag continues the segment of the first.
        self.joined: Bools = self.open[:, None] & self.continues[None, :] & same
        self.bars = bars_of(states, scheme, outside)
        self.names = [t.label for t in self.tags]
        self._joined = self.joined.tolist()
        self.reading = _kernels.Reading(self.label, self.joined.astype(np.uint8))

    def states_of(self, label: str) -> list[int]:
        """Return the tags of segments with a label."""
        return [k for k, name in enumerate(self.names) if name == label]

    def segments(self, path: Sequence[int], first: int = 0) -> list[Segment]:
        """Return the segments of states; ill-formed ones are repaired as by `from_tags`.

        The first state is that of the token `first`.

        Examples
        --------
        >>> TagSet(("B-A", "I-A", "O"), "BIO", "O").segments([2, 1, 1, 0])
        [Segment(start=1, end=3, label='A'), Segment(start=3, end=4, label='A')]
        """
        names, joined, out, start = self.names, self._joined, [], 0
        for t in range(1, len(path) + 1):
            last = path[t - 1]
            if t == len(path) or not joined[last][path[t]]:
                name = names[last]
                if name is not None:
                    out.append(Segment(first + start, first + t, name))
                start = t
        return out

    def restricted(self, allowed: Bytes, marks: Bytes, name: str) -> Bytes:
        """Return which tags each token may have, (T, Y), given partial labels.

        Parameters
        ----------
        allowed : array of shape (T, labels + 1)
            Labels that each token may have, the outside label last.
        marks : array of shape (T + 1,)
            FORCED and BARRED boundaries.
        name : str
            Name of the sequence in error messages.
        """
        out: Bytes = allowed[:, self.label]  # the outside label is -1, the last column
        row = SCHEMES_BY_NAME[self.scheme.upper()]
        T = len(out)
        if not (row.marks_boundaries and row.begin_always and row.end_always):
            out[:1] &= self.bars.start == 0
            out[-1:] &= self.bars.end == 0
            for t in (np.flatnonzero(marks[1:T]) + 1).tolist():
                self._restrict_pair(out, t, bool(marks[t] & FORCED), name)
            return out
        for t in range(T + 1):
            if t in (0, T) or marks[t] & FORCED:
                out[t : t + 1, ~self.begins] = 0
                out[max(t - 1, 0) : t, self.goes_on] = 0
            elif marks[t] & BARRED:
                out[t, ~self.continues] = 0
                out[t - 1, ~self.open] = 0
        return out

    def _restrict_pair(self, out: Bytes, t: int, forced: bool, name: str) -> None:
        """Restrict a boundary that only pairs of tags determine, as far as possible."""
        left, right = out[t - 1].astype(bool), out[t].astype(bool)
        pairs = left[:, None] & right[None, :] & (self.joined != forced) & (self.bars.pairs == 0)
        out[t - 1], out[t] = pairs.any(axis=1), pairs.any(axis=0)
        if not (pairs == (out[t - 1].astype(bool)[:, None] & out[t].astype(bool)[None, :])).all():
            kind = "a boundary" if forced else "no boundary"
            raise InvalidInput(
                place=name,
                got=f"{kind} at {t} between partly unknown tokens, which tags of the scheme "
                f"{self.scheme} cannot express",
                remedy="pass scheme='BIO'",
            )


@lru_cache(maxsize=64)
def tag_set(states: tuple[str, ...], scheme: str, outside: str) -> TagSet:
    """Return the parsed tags of a chain, cached."""
    return TagSet(states, scheme, outside)
