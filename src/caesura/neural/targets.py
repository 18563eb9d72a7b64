"""Training targets of networks: segments or `Partial`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caesura.checks import nothing
from caesura.documents import Document, Partial
from caesura.errors import InvalidInput, counted, message
from caesura.models.inputs import check_words, labelled, paired
from caesura.models.targets import said_labels, scheme_of, segments_of
from caesura.neural.heads import Target
from caesura.segments import Segment

__all__ = ["check_filtered", "check_longest", "known_segments", "read_targets"]


def read_targets(
    X: Any, y: Any, tokeniser: Any, outside: str
) -> tuple[list[Document], list[Target], list[str]]:
    """Return the training data and its labels.

    Examples
    --------
    >>> read_targets([["Ann", "ran"]], [["B-name", "O"]], "words", "O")[1:]
    ([[Segment(start=0, end=1, label='name')]], ['name'])
    """
    documents: list[Document] = []
    given: list[Any] = []
    for _, some, ys in labelled(paired(X, y, tokeniser=tokeniser), tokeniser):
        documents += some
        given += ys
    check_words(documents, 0)
    scheme = scheme_of(given, outside)
    gold: list[Target] = []
    labels: set[str] = set()
    for i, one in enumerate(given):
        if isinstance(one, Partial):
            gold.append(one)
            labels |= said_labels(one)
            continue
        cut = segments_of(one, scheme, outside, f"y[{i}]")
        gold.append(cut)
        labels |= {segment.label for segment in cut}
    labels -= {outside}
    if not labels:
        raise nothing("y", "segment at all", "label at least one")
    return documents, gold, sorted(labels)


def check_filtered(gold: Sequence[Target], outside: str) -> None:
    """Raise if a token is known to be in a segment whose extent is unknown.

    Whether there is a segment is decided by the filter of a filtered model, span by span.

    Examples
    --------
    >>> check_filtered([Partial(segments=[(0, 1, "name")], tokens={1: ["name", "O"]})], "O")
    """
    for i, one in enumerate(gold):
        if not isinstance(one, Partial):
            continue
        known = [s for s in one.segments if s.label != outside]
        covered = {t for s in known for t in range(s.start, s.end)}
        inner = {t for s in known for t in range(s.start + 1, s.end)}
        for name, some, good in (
            ("tokens", [t for t, y in one.tokens.items() if outside not in y], covered),
            ("no_boundaries", one.no_boundaries, inner),
        ):
            for t in some:
                if t not in good:
                    expected = "a known segment over it, for a filtered model"
                    remedy = "add it to segments, or choose another model"
                    raise InvalidInput(message(f"y[{i}].{name}", t, expected, remedy))


def check_longest(gold: Sequence[Target], longest: int) -> None:
    """Raise if a segment exceeds the maximum length of the model."""
    for i, one in enumerate(gold):
        for segment in known_segments(one):
            if segment.end - segment.start > longest:
                expected = f"at most {counted(longest, 'token')}, as max_length requires"
                raise InvalidInput(message(f"y[{i}]", tuple(segment), expected, "raise max_length"))


def known_segments(target: Target) -> list[Segment]:
    """Return the known segments of a target.

    Examples
    --------
    >>> known_segments(Partial(segments=[(0, 2, "name")]))
    [Segment(start=0, end=2, label='name')]
    """
    return list(target.segments if isinstance(target, Partial) else target)
