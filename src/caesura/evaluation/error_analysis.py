"""Error analysis: label confusions and kinds of errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message
from caesura.evaluation.input_checks import Pair, Sequences, checked, overlaps
from caesura.evaluation.tables import for_terminals, plain, shown
from caesura.segments import Segment

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Confused", "Confusion", "Errors", "Kind", "Match", "confusion", "errors", "matches"]

NONE = "(none)"


class Kind(StrEnum):
    """The kind of error of a segment.

    Examples
    --------
    >>> print(Kind.WRONG_BOUNDARY)
    wrong boundary
    """

    RIGHT = "right"
    WRONG_BOUNDARY = "wrong boundary"  # overlaps, with the same label
    WRONG_LABEL = "wrong label"  # same boundaries, another label
    WRONG_BOTH = "wrong both"  # overlaps, with another label
    MISSED = "missed"  # gold segment without a match
    SPURIOUS = "spurious"  # predicted segment without a match
    INVENTED = SPURIOUS  # the earlier name

    @classmethod
    def _missing_(cls, value: object) -> Kind | None:
        return cls.SPURIOUS if value == "invented" else None  # the earlier value


class Match(NamedTuple):
    """A gold segment paired with a predicted one; either may be missing.

    Examples
    --------
    >>> print(Match(Segment(0, 2, "A"), Segment(0, 3, "A")).kind)
    wrong boundary
    """

    gold: Segment | None
    predicted: Segment | None

    @property
    def kind(self) -> Kind:
        """The kind of error, or correct."""
        if self.gold is None:
            return Kind.SPURIOUS
        if self.predicted is None:
            return Kind.MISSED
        if self.gold.label == self.predicted.label:
            same = self.gold == self.predicted
            return Kind.RIGHT if same else Kind.WRONG_BOUNDARY
        return Kind.WRONG_LABEL if self.gold[:2] == self.predicted[:2] else Kind.WRONG_BOTH


def matches(gold: Sequences, predicted: Sequences, outside: str = "O") -> list[list[Match]]:
    """Pair the gold and predicted segments of each sequence one to one.

    Segments with the most tokens in common are paired first; ties are broken in favour of equal
    labels, then of the earlier segments. Segments without a token in common are never paired.

    Examples
    --------
    >>> found = matches([[(0, 2, "A"), (4, 5, "B")]], [[(1, 2, "A")]])
    >>> [str(match.kind) for match in found[0]]
    ['wrong boundary', 'missed']
    """
    return [matched(pair) for pair in checked(gold, predicted, outside)]


def matched(pair: Pair) -> list[Match]:
    """Pair the gold and predicted segments of one sequence."""
    right, guess = pair
    ranked = sorted(
        (-shared, right[i].label != guess[j].label, i, j) for i, j, shared in overlaps(right, guess)
    )
    of_gold: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, i, j in ranked:
        if i not in of_gold and j not in taken:
            of_gold[i] = j
            taken.add(j)
    found = [Match(a, guess[of_gold[i]] if i in of_gold else None) for i, a in enumerate(right)]
    found += [Match(None, b) for j, b in enumerate(guess) if j not in taken]
    return sorted(found, key=lambda match: (match.gold or match.predicted or ())[:2])


def worst_first(found: Sequence[Sequence[Match]]) -> list[int]:
    """Return the indices of the sequences with errors, most errors first.

    Examples
    --------
    >>> worst_first(matches([[(0, 1, "A")], [], []], [[(0, 1, "A")], [(0, 1, "A")], []]))
    [1]
    """
    wrong = [sum(match.kind is not Kind.RIGHT for match in some) for some in found]
    return sorted((i for i, count in enumerate(wrong) if count), key=lambda i: -wrong[i])


def kinds_of(found: Sequence[Match]) -> str:
    """Count the errors of each kind in a sequence.

    Examples
    --------
    >>> kinds_of(matches([[(0, 1, "A"), (2, 3, "A")]], [[(4, 5, "A")]])[0])
    '2 missed, 1 spurious'
    >>> kinds_of(matches([[(0, 2, "A"), (2, 4, "A")]], [[(0, 1, "A"), (3, 4, "A")]])[0])
    '2 wrong boundaries'
    """
    kinds = Counter(match.kind for match in found)
    said = []
    for kind, count in ((kind, kinds[kind]) for kind in list(Kind)[1:]):
        several = kind.replace("boundary", "boundaries").replace("label", "labels")
        said += [f"{count} {kind if count == 1 else several}"] * (count > 0)
    return ", ".join(said)


# ---- counts of errors -------------------------------------------------------------------------


class Errors(NamedTuple):
    """The number of segments with each kind of error; ``print`` shows a table.

    Examples
    --------
    >>> print(Errors(6, 1, 1, 0, 1, 1))
                    segments  share of errors
    right                  6
    wrong boundary         1            0.250
    wrong label            1            0.250
    wrong both             0            0.000
    missed                 1            0.250
    spurious               1            0.250
    """

    right: int
    wrong_boundary: int  # same label, other boundaries
    wrong_label: int  # same boundaries, other label
    wrong_both: int  # other boundaries and label
    missed: int  # gold segments without a match
    spurious: int  # predicted segments without a match

    @property
    def invented(self) -> int:
        """The earlier name of `spurious`."""
        return self.spurious

    @property
    def wrong(self) -> int:
        """The number of errors."""
        return sum(self) - self.right

    def __str__(self) -> str:
        return plain(self.rows())

    def __rich__(self) -> Group:
        return for_terminals(self.rows())

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table as rows, after a header."""
        rows: list[tuple[str, ...]] = [("", "segments", "share of errors")]
        for kind, count in zip(Kind, self, strict=True):
            share = "" if kind is Kind.RIGHT else f"{count / max(self.wrong, 1):.3f}"
            rows.append((kind, str(count), share))
        return rows


def errors(gold: Sequences, predicted: Sequences, outside: str = "O") -> Errors:
    """Count the kinds of errors, with segments paired by `matches`.

    Examples
    --------
    >>> gold = [[(0, 2, "A"), (3, 4, "B"), (5, 6, "B")]]
    >>> errors(gold, [[(0, 3, "A"), (3, 4, "A"), (8, 9, "A")]])
    Errors(right=0, wrong_boundary=1, wrong_label=1, wrong_both=0, missed=1, spurious=1)
    """
    found = matches(gold, predicted, outside)
    counts = Counter(match.kind for sequence in found for match in sequence)
    return Errors(*(counts[kind] for kind in Kind))


# ---- confusion of labels ----------------------------------------------------------------------


class Confused(NamedTuple):
    """The count of one label confusion; None stands for no segment.

    Examples
    --------
    >>> confusion([[(0, 1, "A")]], [[]]).most()
    [Confused(gold='A', predicted=None, times=1)]
    """

    gold: str | None
    predicted: str | None
    times: int


class Confusion(NamedTuple):
    """The confusion matrix of labels, gold in rows; ``print`` shows a table.

    Examples
    --------
    >>> found = confusion([[(0, 2, "A"), (3, 4, "B"), (5, 6, "B")]], [[(0, 3, "A"), (3, 4, "A")]])
    >>> print(found)
            A  B  (none)
    A       1  0       0
    B       1  0       1
    (none)  0  0
    >>> found.times("B", "A"), found.times("B", None)
    (1, 1)
    >>> found.most()[0]
    Confused(gold='B', predicted='A', times=1)
    """

    labels: tuple[str, ...]  # (Y,)
    counts: npt.NDArray[np.int64]  # (Y + 1, Y + 1): gold, predicted; index Y stands for no segment

    def times(self, gold: str | None, predicted: str | None) -> int:
        """Return the count of a pair of gold and predicted labels; None stands for no segment."""
        row, column = self._place("gold", gold), self._place("predicted", predicted)
        return int(self.counts[row, column])

    def most(self, n: int | None = None) -> list[Confused]:
        """Return the confusions, most frequent first."""
        names = (*self.labels, None)
        wrong = [
            Confused(names[a], names[b], int(self.counts[a, b]))
            for a, b in np.argwhere(self.counts > 0).tolist()
            if a != b
        ]
        return sorted(wrong, key=lambda confused: -confused.times)[:n]

    def _place(self, argument: str, label: str | None) -> int:
        if label is None:
            return -1
        if label not in self.labels:
            expected = f"one of {', '.join(self.labels)}, or None"
            raise InvalidInput(message(argument, label, expected, "correct the label"))
        return self.labels.index(label)

    def __str__(self) -> str:
        return plain(self.rows())

    def __rich__(self) -> Group:
        return for_terminals(self.rows())

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table as rows, after a header."""
        names = [*map(shown, self.labels), NONE]
        cells = [[str(count) for count in row] for row in self.counts.tolist()]
        cells[-1][-1] = ""
        return [("", *names), *((name, *row) for name, row in zip(names, cells, strict=True))]


def confusion(gold: Sequences, predicted: Sequences, outside: str = "O") -> Confusion:
    """Compute the confusion matrix of labels, with segments paired by `matches`.

    Boundaries do not matter here, only that the segments were paired. A missed segment was taken
    for none, and a spurious one was taken from none.

    Examples
    --------
    >>> confusion([[(0, 1, "A")]], [[(0, 1, "B")]]).counts.tolist()
    [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    """
    return confusion_of(matches(gold, predicted, outside))


def confusion_of(found: Sequence[Sequence[Match]]) -> Confusion:
    """Compute `confusion` for checked input."""
    pairs = Counter(
        (match.gold and match.gold.label, match.predicted and match.predicted.label)
        for sequence in found
        for match in sequence
    )
    labels = tuple(sorted({name for pair in pairs for name in pair if name is not None}))
    places = {name: y for y, name in enumerate(labels)} | {None: len(labels)}
    counts = np.zeros((len(labels) + 1, len(labels) + 1), np.int64)
    for (a, b), count in pairs.items():
        counts[places[a], places[b]] = count
    return Confusion(labels, counts)
