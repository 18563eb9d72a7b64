"""Scores as commands show them; all that depends on `caesura.evaluation` is in this module."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from caesura import evaluation
from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.segments import Segment

__all__ = ["as_json", "details", "measure", "page", "plain", "same_sequences", "vocabulary"]

Found = Sequence[Sequence[Segment]]  # of each sequence
Chances = Sequence[Sequence[float]]  # the probability of each of them


def measure(
    documents: Sequence[Document],
    predicted: Found,
    *,
    confidence: float | None = None,
    vocabulary: set[str] | None = None,
    seed: int = 0,
) -> Any:
    """Return the report of predicted segments against those of documents.

    Examples
    --------
    >>> gold = [Document(("Ann", "Lee"), segments=((0, 2, "PER"),))]
    >>> measure(gold, [[Segment(0, 2, "PER")]]).micro.f1
    1.0
    """
    gold = [document.segments or () for document in documents]
    return evaluation.evaluate(
        gold,
        predicted,
        lengths=[len(document) for document in documents],
        tokens=None if vocabulary is None else [document.tokens for document in documents],
        vocabulary=vocabulary,
        confidence=confidence,
        seed=seed,
    )


def vocabulary(documents: Sequence[Document]) -> set[str]:
    """Return the texts of all segments.

    Examples
    --------
    >>> vocabulary([Document(("New", "York", "sleeps"), segments=((0, 2, "LOC"),))])
    {'New York'}
    """
    return {
        " ".join(document.tokens[start:end])
        for document in documents
        for start, end, _ in document.segments or ()
    }


def as_json(report: Any) -> dict[str, Any]:
    """Return a report as plain data."""
    found: dict[str, Any] = json.loads(report.to_json())
    return found


def details(
    documents: Sequence[Document], predicted: Found, chances: Chances | None = None
) -> list[tuple[str, Any]]:
    """Return the other ways to look at mistakes that there are, by name."""
    gold = [document.segments or () for document in documents]
    asked = ("errors", "confusion", "partial")
    found = [(name, getattr(evaluation, name)(gold, predicted)) for name in asked]
    if chances is not None:
        right = [s in truth for truth, some in zip(gold, predicted, strict=True) for s in some]
        shares = [chance for some in chances for chance in some]
        found.append(("reliability", evaluation.reliability(shares, right)))
    return found


def page(
    documents: Sequence[Document],
    predicted: Found,
    chances: Chances | None = None,
    words: set[str] | None = None,
) -> str:
    """Return the report as a page."""
    gold = [list(document.segments or ()) for document in documents]
    found = [list(one) for one in predicted]
    return str(
        evaluation.html_report(documents, gold, found, probabilities=chances, vocabulary=words)
    )


def same_sequences(
    gold: Sequence[Document], other: Sequence[Document], names: tuple[str, str]
) -> None:
    """Raise if two corpora are not of the same sequences.

    Examples
    --------
    >>> same_sequences([Document(("a", "b"))], [Document(("a",))], ("x.jsonl", "y.jsonl"))
    Traceback (most recent call last):
    caesura.errors.InvalidInput: y.jsonl: got 1 token in sequence 1, expected 2, as in x.jsonl; cut
    both with the same tokeniser
    """
    if len(gold) != len(other):
        raise InvalidInput(
            f"{names[1]}: got {len(other)} sequences, expected {len(gold)}, as in {names[0]}; give "
            "predictions for the same sequences in the same order"
        )
    for i, (one, two) in enumerate(zip(gold, other, strict=True), 1):
        if len(one) != len(two):
            tokens = "1 token" if len(two) == 1 else f"{len(two)} tokens"
            raise InvalidInput(
                f"{names[1]}: got {tokens} in sequence {i}, expected {len(one)}, as in {names[0]}; "
                "cut both with the same tokeniser"
            )
        if one.tokens != two.tokens:
            t = next(
                t
                for t, pair in enumerate(zip(one.tokens, two.tokens, strict=True))
                if pair[0] != pair[1]
            )
            raise InvalidInput(
                f"{names[1]}: got the token {two.tokens[t]!r} in sequence {i}, expected "
                f"{one.tokens[t]!r}, as in {names[0]}; give the same sequences in the same order"
            )


def plain(value: Any) -> Any:
    """Return tuples with names as plain data.

    Examples
    --------
    >>> plain(evaluation.Score(1, 1, 0))
    {'gold': 1, 'predicted': 1, 'correct': 0}
    """
    if hasattr(value, "_asdict"):
        return {name: plain(one) for name, one in value._asdict().items()}
    if isinstance(value, dict):
        return {
            " -> ".join(k) if isinstance(k, tuple) else str(k): plain(v) for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value
