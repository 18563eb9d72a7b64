"""Precision, recall and F1 of segments: a segment is right if start, end and label are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.errors import InvalidInput, message
from caesura.segments import Segment, _in_order, drop_outside

__all__ = ["Average", "Report", "Score", "evaluate", "segment_counts", "sequence_counts"]

Sequences = Iterable[Iterable[tuple[int, int, str]]]  # the segments of each sequence


class Score(NamedTuple):
    """How many segments are right, and what follows from it.

    A precision, a recall or an F1 of nothing is 0.

    Examples
    --------
    >>> score = Score(gold=7, predicted=6, correct=5)
    >>> round(score.precision, 3), round(score.recall, 3), round(score.f1, 3)
    (0.833, 0.714, 0.769)
    """

    gold: int  # how many there are (the support)
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """The share of the predicted segments that are right."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold segments that were predicted."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.gold + self.predicted
        return 2 * self.correct / total if total else 0.0


class Average(NamedTuple):
    """The mean over labels.

    Examples
    --------
    >>> Average.of([Score(1, 1, 1), Score(2, 0, 0)])
    Average(precision=0.5, recall=0.5, f1=0.5)
    """

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, scores: Iterable[Score]) -> Average:
        """Return the mean; 0 of nothing."""
        rows = [(score.precision, score.recall, score.f1) for score in scores]
        return cls(*np.mean(rows, axis=0).tolist()) if rows else cls(0.0, 0.0, 0.0)


class Report(NamedTuple):
    """How well segments were predicted; ``print`` shows a table.

    Examples
    --------
    >>> gold = [[(0, 2, "PER"), (3, 4, "LOC")], [(0, 1, "LOC")], []]
    >>> predicted = [[(0, 2, "PER"), (3, 5, "LOC")], [(0, 1, "PER")], []]
    >>> report = evaluate(gold, predicted)
    >>> report.micro
    Score(gold=3, predicted=3, correct=1)
    >>> print(report)
              precision  recall     F1  gold  predicted  correct
    LOC           0.000   0.000  0.000     2          1        0
    PER           0.500   1.000  0.667     1          2        1
    micro         0.333   0.333  0.333     3          3        1
    macro         0.250   0.500  0.333
    untyped       0.667   0.667  0.667     3          3        2
    1 of 3 sequences right: 0.333
    """

    micro: Score  # over all segments
    macro: Average  # over labels
    labels: Mapping[str, Score]  # by label, in order
    untyped: Score  # where labels do not matter
    sequences: int
    sequences_correct: int  # with all segments right, and no others

    @property
    def sequence_accuracy(self) -> float:
        """The share of the sequences in which all is right."""
        return self.sequences_correct / self.sequences if self.sequences else 0.0

    def __str__(self) -> str:
        header = ("", "precision", "recall", "F1", "gold", "predicted", "correct")
        rows = [header, *starmap(_row, self.labels.items()), _row("micro", self.micro)]
        rows += [("macro", *_shares(self.macro), "", "", ""), _row("untyped", self.untyped)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in rows
        ]
        right = f"{self.sequences_correct} of {self.sequences} sequences right"
        return "\n".join([*lines, f"{right}: {self.sequence_accuracy:.3f}"])


def _row(name: str, score: Score) -> tuple[str, ...]:
    return (name, *_shares(score), *map(str, score))


def _shares(score: Score | Average) -> tuple[str, str, str]:
    return f"{score.precision:.3f}", f"{score.recall:.3f}", f"{score.f1:.3f}"


def evaluate(gold: Sequences, predicted: Sequences, outside: str = "O") -> Report:
    """Compare predicted segments with the gold ones, as conlleval and seqeval (strict) count.

    Parameters
    ----------
    gold, predicted : iterable of iterable of (start, end, label)
        The segments of each sequence, in order, with or without gaps. Tags are read with
        `from_tags` first.
    outside : str
        The label of text outside any segment, which does not count.

    Returns
    -------
    Report
        Precision, recall and F1: over all, by label, their mean, and without labels; and how many
        sequences are right as a whole.

    Examples
    --------
    >>> cut = evaluate([[(0, 3, ""), (3, 4, ""), (4, 5, "")]], [[(0, 3, ""), (3, 5, "")]])
    >>> cut.micro.precision, round(cut.micro.recall, 3), cut.micro.f1, cut.sequence_accuracy
    (0.5, 0.333, 0.4, 0.0)
    """
    pairs = _checked(gold, predicted, outside)
    in_gold: Counter[str] = Counter()
    in_predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    spans = sequences_correct = 0
    for right, guess in pairs:
        in_gold.update(s.label for s in right)
        in_predicted.update(s.label for s in guess)
        correct.update(s.label for s in set(right) & set(guess))
        spans += len({s[:2] for s in right} & {s[:2] for s in guess})
        sequences_correct += right == guess
    labels = {
        label: Score(in_gold[label], in_predicted[label], correct[label])
        for label in sorted(in_gold.keys() | in_predicted.keys())
    }
    micro = Score(in_gold.total(), in_predicted.total(), correct.total())
    untyped = micro._replace(correct=spans)
    macro = Average.of(labels.values())
    return Report(micro, macro, labels, untyped, len(pairs), sequences_correct)


def _checked(
    gold: Sequences, predicted: Sequences, outside: str, name: str = "predicted"
) -> list[tuple[list[Segment], list[Segment]]]:
    """Return the segments of each sequence, twice, without those outside, or raise."""
    right, guess = _listed("gold", gold), _listed(name, predicted)
    _same_number(name, right, guess)
    return [
        (_inside(f"gold[{i}]", a, outside), _inside(f"{name}[{i}]", b, outside))
        for i, (a, b) in enumerate(zip(right, guess, strict=True))
    ]


def _inside(name: str, segments: Iterable[tuple[int, int, str]], outside: str) -> list[Segment]:
    """Return the checked segments of one sequence without those outside."""
    if isinstance(segments, str) or not isinstance(segments, Iterable):
        expected, remedy = "a list of segments", "pass one for each sequence"
        raise InvalidInput(message(name, segments, expected, remedy))
    listed = list(segments)
    if listed and isinstance(listed[0], str):
        remedy = "read them with from_tags"
        raise InvalidInput(message(name, listed, "segments, not tags", remedy))
    try:
        return drop_outside(_in_order(listed, None), outside)
    except InvalidInput as error:
        raise InvalidInput(name + str(error).removeprefix("segments")) from None


def _listed(name: str, sequences: Sequences) -> list[Iterable[tuple[int, int, str]]]:
    if isinstance(sequences, str) or not isinstance(sequences, Iterable):
        expected, remedy = "a list with the segments of each sequence", "pass a list"
        raise InvalidInput(message(name, sequences, expected, remedy))
    return list(sequences)


def _same_number(name: str, gold: Sequence[object], other: Sequence[object]) -> None:
    if len(gold) != len(other):
        raise InvalidInput(
            f"{name}: got {len(other)} sequences, expected {len(gold)}, as many as in gold"
        )


# ---- fast counts ------------------------------------------------------------------------------


def sequence_counts(
    gold: Sequences, predicted: Sequences, outside: str = "O"
) -> npt.NDArray[np.int64]:
    """Count gold, predicted and correct segments of each sequence: shape (sequences, 3).

    Segments are taken as they are, as tuples; nothing but their number of sequences is checked.

    Examples
    --------
    >>> sequence_counts([[(0, 1, "A"), (1, 2, "B")], []], [[(0, 1, "A")], [(0, 1, "A")]])
    array([[2, 1, 1],
           [0, 1, 0]])
    """
    right, guess = list(gold), list(predicted)
    _same_number("predicted", right, guess)
    counts = np.empty((len(right), 3), np.int64)
    for i, (a, b) in enumerate(zip(right, guess, strict=True)):
        there = {segment for segment in a if segment[2] != outside}
        found = {segment for segment in b if segment[2] != outside}
        counts[i] = len(there), len(found), len(there & found)
    return counts


def segment_counts(gold: Sequences, predicted: Sequences, outside: str = "O") -> Score:
    """Count gold, predicted and correct segments, fast: the ``micro`` of `evaluate`.

    Segments are taken as they are, as tuples; nothing but their number of sequences is checked.

    Examples
    --------
    >>> segment_counts([[(0, 1, "A"), (1, 2, "B")]], [[(0, 1, "A")]]).f1
    0.6666666666666666
    """
    return Score(*sequence_counts(gold, predicted, outside).sum(axis=0).tolist())
