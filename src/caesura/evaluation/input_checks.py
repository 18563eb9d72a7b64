"""Checks of gold and predicted segments before comparison."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from caesura.checks import whole
from caesura.documents import Document
from caesura.documents.frames import refuse_frame
from caesura.errors import InvalidInput, counted, message
from caesura.segments.segmentation import Segment, drop_outside, in_order

__all__ = [
    "Pair",
    "Sequences",
    "checked",
    "labels_among",
    "lengths_of",
    "listed",
    "overlaps",
    "restricted",
    "tokens_of",
]

Sequences = Iterable[Iterable[tuple[int, int, str]]]  # the segments of each sequence
Pair = tuple[list[Segment], list[Segment]]  # gold and predicted segments of one sequence


def checked(
    gold: Sequences,
    predicted: Sequences,
    outside: str,
    name: str = "predicted",
    lengths: Sequence[int] | None = None,
) -> list[Pair]:
    """Return the checked gold and predicted segments without outside ones."""
    right, guess = listed("gold", gold), listed(name, predicted)
    same_number(name, right, guess)
    limits: Sequence[int | None] = [None] * len(right) if lengths is None else lengths
    return [
        (_inside(f"gold[{i}]", a, outside, T), _inside(f"{name}[{i}]", b, outside, T))
        for i, (a, b, T) in enumerate(zip(right, guess, limits, strict=True))
    ]


def _inside(
    name: str, segments: Iterable[tuple[int, int, str]], outside: str, length: int | None
) -> list[Segment]:
    """Return the checked segments of one sequence without outside ones."""
    if isinstance(segments, str) or not isinstance(segments, Iterable):
        expected, remedy = "a list of segments", "pass one for each sequence"
        raise InvalidInput(message(name, segments, expected, remedy))
    items = list(segments)
    if items and isinstance(items[0], str):
        remedy = "read them with from_tags"
        raise InvalidInput(message(name, items, "segments, not tags", remedy))
    try:
        return drop_outside(in_order(items, length), outside)
    except InvalidInput as error:
        raise error.changed(place=name + error.item) from None


def listed(name: str, sequences: Sequences) -> list[Iterable[tuple[int, int, str]]]:
    """Return the sequences as a list, or raise."""
    if isinstance(sequences, str) or not isinstance(sequences, Iterable):
        expected, remedy = "a list with the segments of each sequence", "pass a list"
        raise InvalidInput(message(name, sequences, expected, remedy))
    return list(sequences)


def restricted(pairs: list[Pair], labels: Iterable[str] | None) -> list[Pair]:
    """Restrict segments to some labels, if any are given."""
    if labels is None:
        return pairs
    known = {segment.label for pair in pairs for side in pair for segment in side}
    kept = labels_among(known, labels)
    return [
        ([s for s in right if s.label in kept], [s for s in guess if s.label in kept])
        for right, guess in pairs
    ]


def labels_among(known: Collection[str], labels: Iterable[str]) -> frozenset[str]:
    """Return labels that occur, or raise for another one and suggest the nearest.

    Examples
    --------
    >>> labels_among({"PER", "LOC"}, ["PRE"])
    Traceback (most recent call last):
    caesura.errors.InvalidInput: labels: got 'PRE', expected a label of the gold or the predicted
    segments: LOC, PER; did you mean 'PER'?
    """
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        expected = "a list of labels"
        raise InvalidInput(message("labels", labels, expected, f"pass [{labels!r}]"))
    names = list(labels)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), sorted(known), 1)
            listed = ", ".join(sorted(known)) or "there are none"
            expected = f"a label of the gold or the predicted segments: {listed}"
            remedy = f"did you mean {near[0]!r}?" if near else "name one of them"
            raise InvalidInput(message("labels", name, expected, remedy))
    return frozenset(names)


def same_number(name: str, gold: Sequence[object], other: Sequence[object]) -> None:
    """Raise if the number of sequences differs from gold."""
    if len(gold) != len(other):
        raise InvalidInput(
            place=name,
            got=counted(len(other), "sequence"),
            expected=f"{len(gold)}, as many as in gold",
            remedy="give one for each sequence",
        )


def tokens_of(name: str, sequences: Any, gold: Sequence[object]) -> list[tuple[str, ...]]:
    """Return the tokens of each sequence, given as lists or documents, or raise."""
    if isinstance(sequences, str) or not isinstance(sequences, Iterable):
        expected, remedy = "a list with the tokens of each sequence", "pass a list"
        raise InvalidInput(message(name, sequences, expected, remedy))
    found: list[tuple[str, ...]] = []
    for i, item in enumerate(sequences):
        wanted = "a list of strings, or a Document"
        refuse_frame(item, f"{name}[{i}]", wanted, "pass one string for each row")
        words = item.tokens if isinstance(item, Document) else item
        words = words if isinstance(words, str) or not isinstance(words, Iterable) else list(words)
        if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
            expected, remedy = "a list of strings, or a Document", "cut a text into tokens first"
            raise InvalidInput(message(f"{name}[{i}]", item, expected, remedy))
        found.append(tuple(words))
    same_number(name, gold, found)
    return found


def lengths_of(
    lengths: Iterable[int] | None, tokens: Sequence[Sequence[str]] | None, gold: Sequence[object]
) -> list[int] | None:
    """Return the number of tokens of each sequence, if known, or raise."""
    counted = None if tokens is None else [len(words) for words in tokens]
    if lengths is None:
        return counted
    if not isinstance(lengths, Iterable):
        expected, remedy = "the number of tokens of each sequence", "pass a list"
        raise InvalidInput(message("lengths", lengths, expected, remedy))
    given = [whole(f"lengths[{i}]", length, 0) for i, length in enumerate(lengths)]
    same_number("lengths", gold, given)
    if counted is not None and counted != given:
        i = next(i for i, length in enumerate(given) if length != counted[i])
        expected = f"{counted[i]}, as many as there are tokens"
        raise InvalidInput(message(f"lengths[{i}]", given[i], expected, "leave out lengths"))
    return given


def overlaps(right: Sequence[Segment], guess: Sequence[Segment]) -> list[tuple[int, int, int]]:
    """Return (i, j, shared tokens) for overlapping gold and predicted segments.

    Examples
    --------
    >>> overlaps([Segment(0, 4, "A"), Segment(5, 6, "A")], [Segment(0, 1, "A"), Segment(3, 6, "A")])
    [(0, 0, 1), (0, 1, 1), (1, 1, 1)]
    """
    found: list[tuple[int, int, int]] = []
    i = j = 0
    while i < len(right) and j < len(guess):
        shared = min(right[i].end, guess[j].end) - max(right[i].start, guess[j].start)
        if shared > 0:
            found.append((i, j, shared))
        if right[i].end <= guess[j].end:
            i += 1
        else:
            j += 1
    return found
