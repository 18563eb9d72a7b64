"""Evaluation of tags, as seqeval and conlleval do."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import chain
from typing import Any

from caesura.corpora.schemes import TagCounts, detect_scheme
from caesura.corpora.side_by_side import SideBySide
from caesura.errors import InvalidInput, counted, message
from caesura.evaluation.input_checks import same_number
from caesura.evaluation.report import Report, evaluate
from caesura.evaluation.scores import Share
from caesura.segments import Segment, from_tags
from caesura.segments.tags import Repair

__all__ = ["evaluate_side_by_side", "evaluate_tags"]

Tags = Iterable[Iterable[str]]  # the tags of each sequence


def evaluate_tags(
    gold: Tags,
    predicted: Tags,
    scheme: str = "auto",
    *,
    repair: Repair = "error",
    outside: str = "O",
    untyped: str = "",
    **options: Any,
) -> Report:
    """Compare predicted with gold tags by the segments that they encode.

    Parameters
    ----------
    gold, predicted : iterable of iterable of str
        The tags of each sequence, one for each token.
    scheme : str
        The tag scheme, as in `from_tags`; ``auto``: the one that the gold tags fit best.
    repair : {"error", "repair", "drop"}
        What to do with ill-formed tags: raise; read them as conlleval and seqeval do; or drop
        them, as seqeval does with ``mode="strict"``.
    outside : str
        The label of text outside any segment, which does not count.
    untyped : str
        The label of tags that are bare letters.
    **options
        Further arguments of `evaluate`: `tokens`, `vocabulary`, `confidence`, `seed`, `beta`,
        `labels`.

    Returns
    -------
    Report
        The same as for `evaluate`; `tags` counts equal tags as they were given, which is the
        accuracy of conlleval and seqeval.

    Examples
    --------
    >>> gold, predicted = [["B-PER", "I-PER", "O"]], [["I-PER", "I-PER", "O"]]
    >>> evaluate_tags(gold, predicted, repair="repair").micro.f1
    1.0
    >>> evaluate_tags(gold, predicted, repair="drop").micro.f1
    0.0
    >>> evaluate_tags(gold, predicted, repair="repair").tags
    Share(total=3, correct=2)
    """
    right, guess = _listed("gold", gold), _listed("predicted", predicted)
    same_number("predicted", right, guess)
    for i, (a, b) in enumerate(zip(right, guess, strict=True)):
        if len(a) != len(b):
            raise InvalidInput(
                place=f"predicted[{i}]",
                got=counted(len(b), "tag"),
                expected=f"{len(a)}, as many as in gold[{i}]",
                remedy="give one tag for each token",
            )
    if scheme == "auto":
        counts = [_counts(side) for side in (right, guess)]
        scheme = detect_scheme(counts[0], outside, "gold", "sequence {}", counts[1])
    how = scheme, outside, repair, untyped
    truth = [_read(f"gold[{i}]", tags, *how) for i, tags in enumerate(right)]
    found = [_read(f"predicted[{i}]", tags, *how) for i, tags in enumerate(guess)]
    report = evaluate(truth, found, outside, lengths=[len(tags) for tags in right], **options)
    equal = sum(map(operator.eq, chain(*right), chain(*guess)))
    return report._replace(tags=Share(sum(map(len, right)), equal))


def _listed(name: str, sequences: Tags) -> list[list[str]]:
    """Return the tags of each sequence as lists, or raise."""
    found: list[list[str]] = []
    if not isinstance(sequences, str) and isinstance(sequences, Iterable):
        for i, tags in enumerate(sequences):
            if isinstance(tags, str) or not isinstance(tags, Iterable):
                expected, remedy = "a list of tags", "pass a list for each sequence"
                raise InvalidInput(message(f"{name}[{i}]", tags, expected, remedy))
            found.append(list(tags))
        return found
    expected, remedy = "a list with the tags of each sequence", "pass a list of lists"
    raise InvalidInput(message(name, sequences, expected, remedy))


def _counts(side: list[list[str]]) -> TagCounts:
    counts = TagCounts()
    for i, tags in enumerate(side, 1):
        counts.add([str(tag) for tag in tags], [i] * len(tags))
    return counts


def _read(
    name: str, tags: list[str], scheme: str, outside: str, repair: Repair, untyped: str
) -> list[Segment]:
    """Decode tags into segments; errors name the sequence."""
    try:
        return from_tags(tags, scheme, outside, repair, untyped=untyped)
    except InvalidInput as error:
        if error.argument != "tags" or error.index is None:
            raise
        raise error.changed(place=f"{name}[{error.index}]") from None


def evaluate_side_by_side(found: SideBySide, outside: str = "O", **options: Any) -> Report:
    r"""Score a file with gold and predicted tags for each token, as conlleval does.

    Parameters
    ----------
    found : SideBySide
        The result of `caesura.corpora.read_conlleval`.
    outside : str
        The label of text outside any segment, which does not count.
    **options
        Further arguments of `evaluate`: `vocabulary`, `confidence`, `seed`, `beta`, `labels`.

    Returns
    -------
    Report
        The same as for `evaluate`; `tags` counts equal tags as written in the file, which is
        conlleval's accuracy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from caesura.corpora import read_conlleval
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "output.txt")
    ...     _ = file.write_text("Ann B-PER B-PER\nLee I-PER B-PER\n\nOslo B-LOC B-LOC\n")
    ...     report = evaluate_side_by_side(read_conlleval(file))
    >>> report.micro, report.tags
    (Score(gold=2, predicted=3, correct=1), Share(total=3, correct=2))
    """
    gold = [document.segments or () for document in found.documents]
    report = evaluate(gold, found.predicted, outside, tokens=found.documents, **options)
    return report._replace(tags=Share(found.tags, found.equal_tags))
