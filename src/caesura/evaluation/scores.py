"""Counts of correct segments, boundaries, tokens and words, and their rates.

A segment is right if start, end and label are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.evaluation.input_checks import (
    Pair,
    Sequences,
    checked,
    lengths_of,
    listed,
    same_number,
)
from caesura.segments import Segment, to_tags

__all__ = [
    "Average",
    "Score",
    "Share",
    "boundary_counts",
    "lenient_counts",
    "segment_counts",
    "sequence_counts",
    "token_counts",
    "word_counts",
    "words_of",
]


class Score(NamedTuple):
    """The counts of gold, predicted and correct segments, and their rates.

    0/0 counts as 0, in precision, recall and F1.

    Examples
    --------
    >>> score = Score(gold=7, predicted=6, correct=5)
    >>> round(score.precision, 3), round(score.recall, 3), round(score.f1, 3)
    (0.833, 0.714, 0.769)
    >>> round(score.f_beta(2.0), 3)
    0.735
    """

    gold: int  # number of gold segments (the support)
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """The fraction of predicted segments that are correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The fraction of gold segments that were predicted."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return self.f_beta(1.0)

    def f_beta(self, beta: float) -> float:
        """Return the harmonic mean, with recall weighted `beta` times as much as precision."""
        total = beta**2 * self.gold + self.predicted
        return (1 + beta**2) * self.correct / total if total else 0.0


class Average(NamedTuple):
    """The mean over labels, unweighted or weighted by gold segments.

    Examples
    --------
    >>> Average.of([Score(1, 1, 1), Score(3, 0, 0)])
    Average(precision=0.5, recall=0.5, f1=0.5)
    >>> Average.of([Score(1, 1, 1), Score(3, 0, 0)], weighted=True)
    Average(precision=0.25, recall=0.25, f1=0.25)
    """

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, scores: Iterable[Score], weighted: bool = False) -> Average:
        """Return the mean; 0 if there are no labels."""
        listed = list(scores)
        return cls(
            mean_of([score.precision for score in listed], listed, weighted),
            mean_of([score.recall for score in listed], listed, weighted),
            mean_of([score.f1 for score in listed], listed, weighted),
        )


def mean_of(values: Sequence[float], scores: Sequence[Score], weighted: bool) -> float:
    """Return the mean of a rate over labels, optionally weighted by gold segments."""
    weights = [score.gold if weighted else 1 for score in scores]
    total = sum(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / total if total else 0.0


class Share(NamedTuple):
    """A count of correct items out of a total.

    Examples
    --------
    >>> Share(total=8, correct=6).value
    0.75
    """

    total: int
    correct: int

    @property
    def value(self) -> float:
        """The fraction of correct items; 0/0 counts as 0."""
        return self.correct / self.total if self.total else 0.0


# ---- unchecked counts of segments -------------------------------------------------------------


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
    same_number("predicted", right, guess)
    counts = np.empty((len(right), 3), np.int64)
    for i, (a, b) in enumerate(zip(right, guess, strict=True)):
        there = {segment for segment in a if segment[2] != outside}
        found = {segment for segment in b if segment[2] != outside}
        counts[i] = len(there), len(found), len(there & found)
    return counts


def segment_counts(gold: Sequences, predicted: Sequences, outside: str = "O") -> Score:
    """Count gold, predicted and correct segments quickly: the ``micro`` of `evaluate`.

    Segments are taken as they are, as tuples; nothing but their number of sequences is checked.

    Examples
    --------
    >>> segment_counts([[(0, 1, "A"), (1, 2, "B")]], [[(0, 1, "A")]]).f1
    0.6666666666666666
    """
    return Score(*sequence_counts(gold, predicted, outside).sum(axis=0).tolist())


# ---- boundaries, tokens and words -------------------------------------------------------------


def boundary_counts(
    gold: Sequences, predicted: Sequences, lengths: Iterable[int], outside: str = "O"
) -> Score:
    """Count gold, predicted and correct boundaries inside sequences.

    The two ends of a sequence do not count, for they are always there.

    Examples
    --------
    >>> boundary_counts([[(0, 3, "A"), (3, 5, "B")]], [[(0, 3, "B"), (4, 5, "B")]], [5])
    Score(gold=1, predicted=2, correct=1)
    """
    pairs, limits = _with_lengths(gold, predicted, lengths, outside)
    return boundaries_of(pairs, limits)


def boundaries_of(pairs: Sequence[Pair], lengths: Sequence[int]) -> Score:
    """Compute `boundary_counts` for checked input."""
    in_gold = in_predicted = correct = 0
    for (right, guess), T in zip(pairs, lengths, strict=True):
        there, found = _inner(right, T), _inner(guess, T)
        in_gold, in_predicted = in_gold + len(there), in_predicted + len(found)
        correct += len(there & found)
    return Score(in_gold, in_predicted, correct)


def _inner(segments: Sequence[Segment], T: int) -> set[int]:
    return {t for start, end, _ in segments for t in (start, end)} - {0, T}


def token_counts(
    gold: Sequences,
    predicted: Sequences,
    lengths: Iterable[int],
    scheme: str = "BIO",
    outside: str = "O",
) -> Share:
    """Count the tokens with the correct tag in a tag scheme.

    Examples
    --------
    >>> token_counts([[(0, 3, "A")]], [[(0, 2, "A"), (2, 3, "A")]], [5]).value
    0.8
    """
    pairs, limits = _with_lengths(gold, predicted, lengths, outside)
    return tags_of(pairs, limits, outside, scheme)


def tags_of(
    pairs: Sequence[Pair], lengths: Sequence[int], outside: str, scheme: str = "BIO"
) -> Share:
    """Compute `token_counts` for checked input."""
    correct = 0
    for (right, guess), T in zip(pairs, lengths, strict=True):
        if right == guess:
            correct += T
            continue
        there, found = (to_tags(cuts, scheme, T, outside) for cuts in (right, guess))
        correct += sum(a == b for a, b in zip(there, found, strict=True))
    return Share(sum(lengths), correct)


def words_of(tokens: Iterable[Sequence[str]], segments: Sequences) -> frozenset[str]:
    """Return the vocabulary of segments: their tokens joined by spaces.

    Examples
    --------
    >>> sorted(words_of([["New", "York", "sleeps"]], [[(0, 2, "LOC"), (2, 3, "VERB")]]))
    ['New York', 'sleeps']
    """
    return frozenset(
        " ".join(words[start:end])
        for words, cuts in zip(tokens, segments, strict=True)
        for start, end, _ in cuts
    )


def word_counts(
    pairs: Sequence[Pair], tokens: Sequence[Sequence[str]], vocabulary: Collection[str]
) -> tuple[Share, Share]:
    """Count correct segments in and out of the vocabulary.

    A segment is in the vocabulary if its tokens are, joined by spaces or by nothing.

    Examples
    --------
    >>> cut = [Segment(0, 2, ""), Segment(2, 3, "")]
    >>> word_counts([(cut, cut[:1])], [["南", "京", "市"]], {"南京"})
    (Share(total=1, correct=1), Share(total=1, correct=0))
    """
    counts = np.zeros((2, 2), np.int64)  # rows: outside, in the vocabulary; columns: total, correct
    for (right, guess), words in zip(pairs, tokens, strict=True):
        found = set(guess)
        for segment in right:
            text = words[segment.start : segment.end]
            known = " ".join(text) in vocabulary or "".join(text) in vocabulary
            counts[int(known)] += 1, segment in found
    out, known_ones = counts.tolist()
    return Share(*known_ones), Share(*out)


# ---- HOSemiCRF's counts -----------------------------------------------------------------------


def lenient_counts(
    gold: Sequences, predicted: Sequences, lengths: Iterable[int], outside: str = "O"
) -> Score:
    """Count matches as HOSemiCRF's scorer does, for comparison with its published figures.

    It reads a label for each token, so adjacent segments with one label are one. Of a predicted
    segment that ends its sequence it asks only whether each token has the right label, not
    whether the gold segment begins there: a suffix of the last gold segment counts as right.

    Examples
    --------
    >>> gold, predicted = [[(0, 2, "A"), (2, 6, "B")]], [[(0, 2, "A"), (4, 6, "B")]]
    >>> lenient_counts(gold, predicted, [6]), segment_counts(gold, predicted)
    (Score(gold=2, predicted=2, correct=2), Score(gold=2, predicted=2, correct=1))
    """
    pairs, limits = _with_lengths(gold, predicted, lengths, outside)
    merged = [(_runs(right), _runs(guess)) for right, guess in pairs]
    score = segment_counts((right for right, _ in merged), (guess for _, guess in merged), outside)
    suffixes = 0
    for (right, guess), T in zip(merged, limits, strict=True):
        if right and guess and right[-1].end == guess[-1].end == T:
            suffixes += right[-1].label == guess[-1].label and right[-1].start < guess[-1].start
    return score._replace(correct=score.correct + suffixes)


def _runs(segments: Sequence[Segment]) -> list[Segment]:
    """Join adjacent segments with the same label."""
    joined: list[Segment] = []
    for segment in segments:
        if joined and joined[-1][1:] == (segment.start, segment.label):
            segment = Segment(joined.pop().start, *segment[1:])
        joined.append(segment)
    return joined


def _with_lengths(
    gold: Sequences, predicted: Sequences, lengths: Iterable[int], outside: str
) -> tuple[list[Pair], list[int]]:
    """Return checked segments and lengths."""
    right = listed("gold", gold)
    limits = lengths_of(() if lengths is None else lengths, None, right)
    return checked(right, predicted, outside, lengths=limits), limits or []
