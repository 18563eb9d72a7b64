"""Partial matches, counted in the four ways of nervaluate (after SemEval 2013)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from caesura.errors import InvalidInput, message
from caesura.evaluation.input_checks import Pair, Sequences, checked, overlaps
from caesura.evaluation.tables import for_terminals, plain
from caesura.segments import Segment

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Overlap", "Partials", "partial"]

Way = Literal["strict", "exact", "partial", "ent_type"]
WAYS: tuple[Way, ...] = ("strict", "exact", "partial", "ent_type")
WAYS_OF_MATCHING = (
    "strict: same boundaries and label; exact: same boundaries; partial: overlaps count one "
    "half; ent_type: any overlap with the same label"
)


class Overlap(NamedTuple):
    """The counts for one way of matching.

    Examples
    --------
    >>> counts = Overlap(correct=2, incorrect=0, partial=1, missed=1, spurious=0)
    >>> counts.possible, counts.actual, counts.recall
    (4, 3, 0.625)
    """

    correct: int
    incorrect: int  # matched a gold segment, but not correctly
    partial: int  # matched a gold segment with other boundaries; counts one half
    missed: int  # gold segments without a match
    spurious: int  # predicted segments without a match

    @property
    def possible(self) -> int:
        """The number of gold segments."""
        return self.correct + self.incorrect + self.partial + self.missed

    @property
    def actual(self) -> int:
        """The number of predicted segments."""
        return self.correct + self.incorrect + self.partial + self.spurious

    @property
    def precision(self) -> float:
        """The fraction of predicted segments that are correct; 0/0 counts as 0."""
        return (self.correct + 0.5 * self.partial) / self.actual if self.actual else 0.0

    @property
    def recall(self) -> float:
        """The fraction of gold segments that were found; 0/0 counts as 0."""
        return (self.correct + 0.5 * self.partial) / self.possible if self.possible else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.actual + self.possible
        return 2 * (self.correct + 0.5 * self.partial) / total if total else 0.0


class Partials(NamedTuple):
    """The counts for all four ways of matching; ``print`` shows a table.

    Examples
    --------
    >>> print(partial([[(0, 2, "PER"), (3, 5, "LOC")]], [[(0, 1, "PER"), (3, 5, "ORG")]]))
              precision  recall     F1  correct  incorrect  partial  missed  spurious
    strict        0.000   0.000  0.000        0          2        0       0         0
    exact         0.500   0.500  0.500        1          1        0       0         0
    partial       0.750   0.750  0.750        1          0        1       0         0
    ent_type      0.500   0.500  0.500        1          1        0       0         0
    """

    strict: Overlap  # correct: same boundaries, same label
    exact: Overlap  # correct: same boundaries
    partial: Overlap  # correct: same boundaries; partial: any overlap
    ent_type: Overlap  # correct: any overlap, same label
    labels: Mapping[str, Partials]  # the same counts within each label

    @property
    def type(self) -> Overlap:
        """Alias of ``ent_type``."""
        return self.ent_type

    def __str__(self) -> str:
        return plain(self.rows())

    def __rich__(self) -> Group:
        return for_terminals(self.rows())

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table as rows, one for each way of matching, after a header."""
        rows: list[tuple[str, ...]] = [("", "precision", "recall", "F1", *Overlap._fields)]
        for way in WAYS:
            counts: Overlap = getattr(self, way)
            shares = (counts.precision, counts.recall, counts.f1)
            rows.append((way, *(f"{share:.3f}" for share in shares), *map(str, counts)))
        return rows


def partial(
    gold: Sequences,
    predicted: Sequences,
    outside: str = "O",
    *,
    min_overlap_percentage: float = 1.0,
) -> Partials:
    """Count partial matches exactly as nervaluate 1.2.1 does.

    Predicted segments are taken in order. Each meets one of the gold segments that it overlaps
    and that none has met before: the right one if there is one (of several with its label, in
    the way ``ent_type``, the one with the nearest boundaries), else the first.

    Parameters
    ----------
    gold, predicted : iterable of iterable of (start, end, label)
        The segments of each sequence.
    outside : str
        The label of text outside any segment, which does not count.
    min_overlap_percentage : float
        Minimum percentage of a gold segment that must be covered, from 1 to 100.

    Returns
    -------
    Partials
        Over all segments, and for those of each label alone.

    Examples
    --------
    >>> found = partial([[(0, 4, "PER")]], [[(1, 4, "PER")]])
    >>> found.strict.f1, found.partial.f1, found.ent_type.f1
    (0.0, 0.5, 1.0)
    """
    if not 1.0 <= min_overlap_percentage <= 100.0:
        expected, remedy = "a number from 1 to 100", "pass 50 to ask for half"
        came = min_overlap_percentage
        raise InvalidInput(message("min_overlap_percentage", came, expected, remedy))
    return partials_of(checked(gold, predicted, outside), min_overlap_percentage)


def partials_of(pairs: Sequence[Pair], least: float = 1.0) -> Partials:
    """Compute `partial` for checked input."""
    names = sorted({segment.label for pair in pairs for side in pair for segment in side})
    labels = {}
    for name in names:
        own = [(_only(a, name), _only(b, name)) for a, b in pairs]
        labels[name] = _partials(own, least, {})
    return _partials(pairs, least, labels)


def _only(segments: Iterable[Segment], label: str) -> list[Segment]:
    return [segment for segment in segments if segment.label == label]


def _partials(pairs: Sequence[Pair], least: float, labels: Mapping[str, Partials]) -> Partials:
    """Count in all four ways."""
    counts = {way: [0] * 5 for way in WAYS}
    for everything, found in pairs:
        same = set(everything) & set(found)  # overlap nothing else: correct in all ways
        right = [segment for segment in everything if segment not in same]
        guess = [segment for segment in found if segment not in same]
        near: list[list[int]] = [[] for _ in guess]  # gold candidates of each predicted segment
        for i, j, shared in overlaps(right, guess):
            if shared / right[i].length * 100.0 >= least:
                near[j].append(i)
        for way in WAYS if right or guess else ():
            for k, count in enumerate(_met(right, guess, near, way)):
                counts[way][k] += count
        for way in WAYS:
            counts[way][0] += len(same)
    strict, exact, some, kind = (Overlap(*counts[way]) for way in WAYS)
    return Partials(strict, exact, some, kind, labels)


def _met(
    right: Sequence[Segment], guess: Sequence[Segment], near: Sequence[Sequence[int]], way: Way
) -> Overlap:
    """Match predicted segments of a sequence with gold ones, and count."""
    met: set[int] = set()
    correct = other = 0
    for segment, candidates in zip(guess, near, strict=True):
        free = [i for i in candidates if i not in met]
        agreeing = [i for i in free if _agree(right[i], segment, way)]
        if agreeing:
            correct += 1
            met.add(min(agreeing, key=lambda i: _distance(right[i], segment)))
        elif free:
            other += 1
            met.add(free[0])
    halves = (0, other) if way == "partial" else (other, 0)
    return Overlap(correct, *halves, len(right) - len(met), len(guess) - len(met))


def _agree(a: Segment, b: Segment, way: Way) -> bool:
    """Return whether a way of matching accepts this pair."""
    return (way == "ent_type" or a[:2] == b[:2]) and (
        way in ("exact", "partial") or a.label == b.label
    )


def _distance(a: Segment, b: Segment) -> int:
    return abs(a.start - b.start) + abs(a.end - b.end)
