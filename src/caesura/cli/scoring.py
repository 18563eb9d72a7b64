"""Scores for commands; the only module here that imports `caesura.evaluation`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from caesura import evaluation
from caesura.documents import Document
from caesura.errors import InvalidInput, counted
from caesura.evaluation.error_analysis import kinds_of, worst_first
from caesura.evaluation.input_checks import labels_among
from caesura.segments import Segment

__all__ = ["as_json", "details", "measure", "only", "page", "plain", "same_number", "same_tokens"]
__all__ += ["vocabulary", "worst"]

Found = Sequence[Sequence[Segment]]  # the segments of each sequence
Chances = Sequence[Sequence[float]]  # the probability of each segment


def measure(
    documents: Sequence[Document],
    predicted: Found,
    *,
    confidence: float | None = None,
    vocabulary: set[str] | None = None,
    seed: int = 0,
    beta: float = 1.0,
) -> Any:
    """Return the evaluation report of predicted segments.

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
        beta=beta,
    )


def only(
    documents: Sequence[Document], predicted: Found, chances: Chances | None, labels: Sequence[str]
) -> tuple[list[Document], list[list[Segment]], list[list[float]] | None]:
    """Restrict documents, predicted segments and their probabilities to some labels.

    Examples
    --------
    >>> gold = [Document(("Ann", "Lee"), segments=((0, 1, "PER"), (1, 2, "LOC")))]
    >>> kept, found, _ = only(gold, [[Segment(1, 2, "LOC")]], None, ["PER"])
    >>> kept[0].segments, found
    ((Segment(start=0, end=1, label='PER'),), [[]])
    """
    gold = [document.segments or () for document in documents]
    known = {segment.label for side in (*gold, *predicted) for segment in side} - {"O"}
    try:
        kept = labels_among(known, labels)
    except InvalidInput as error:
        raise error.changed(argument="--only") from None
    shares = None
    if chances is not None:
        both = (zip(*pair, strict=True) for pair in zip(predicted, chances, strict=True))
        shares = [[p for segment, p in some if segment.label in kept] for some in both]
    return (
        [
            replace(document, segments=tuple(s for s in some if s.label in kept))
            for document, some in zip(documents, gold, strict=True)
        ],
        [[s for s in some if s.label in kept] for some in predicted],
        shares,
    )


def worst(documents: Sequence[Document], predicted: Found, n: int) -> list[tuple[int, str]]:
    """Return the sequences with the most mistakes, with their errors.

    Examples
    --------
    >>> gold = [Document(("Ann", "Lee"), segments=((0, 2, "PER"),))]
    >>> worst(gold, [[Segment(0, 1, "PER")]], 5)
    [(0, '1 wrong boundary')]
    """
    found = evaluation.matches([document.segments or () for document in documents], predicted)
    return [(i, kinds_of(found[i])) for i in worst_first(found)[:n]]


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
    """Return a report as a dict for JSON."""
    found: dict[str, Any] = json.loads(report.to_json())
    return found


def details(
    documents: Sequence[Document], predicted: Found, chances: Chances | None = None
) -> list[tuple[str, Any]]:
    """Return the additional error analyses by name."""
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
    **options: Any,
) -> str:
    """Return the report as an HTML page."""
    gold = [list(document.segments or ()) for document in documents]
    found = [list(one) for one in predicted]
    return str(
        evaluation.html_report(
            documents, gold, found, probabilities=chances, vocabulary=words, **options
        )
    )


def same_number(
    gold: Sequence[Document], other: Sequence[Document], names: tuple[str, str]
) -> None:
    """Raise if two corpora have different numbers of sequences."""
    if len(gold) != len(other):
        raise InvalidInput(
            place=names[1],
            got=counted(len(other), "sequence"),
            expected=f"{len(gold):,}, as in {names[0]}",
            remedy="give predictions for the same sequences in the same order",
        )


def same_tokens(one: Document, two: Document, i: int, names: tuple[str, str]) -> None:
    """Raise if sequence number `i` has different tokens in two corpora.

    Examples
    --------
    >>> same_tokens(Document(("a", "b")), Document(("a",)), 1, ("x.jsonl", "y.jsonl"))
    Traceback (most recent call last):
    caesura.errors.InvalidInput: y.jsonl: got 1 token in sequence 1, expected 2, as in x.jsonl; cut
    both with the same tokeniser
    """
    if len(one) != len(two):
        raise InvalidInput(
            place=names[1],
            got=f"{counted(len(two), 'token')} in sequence {i}",
            expected=f"{len(one)}, as in {names[0]}",
            remedy="cut both with the same tokeniser",
        )
    if one.tokens != two.tokens:
        t = next(t for t, word in enumerate(one.tokens) if word != two.tokens[t])
        raise InvalidInput(
            place=names[1],
            got=f"the token {two.tokens[t]!r} in sequence {i}",
            expected=f"{one.tokens[t]!r}, as in {names[0]}",
            remedy="give the same sequences in the same order",
        )


def plain(value: Any) -> Any:
    """Convert named tuples to dicts for JSON.

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
