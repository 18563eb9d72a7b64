"""The metrics of seqeval: segment-level scores of tags.

::

    from seqeval.metrics import f1_score        ->  from caesura.compat.seqeval import f1_score

Arguments and figures are the same.  What differs: `scheme` is a name, as ``"IOB2"``, or a class of
that name; without one, the letters of the tags tell it also in the default mode, so that BILOU and
BMES can be scored; `labels` chooses labels; tags of no scheme are errors, not warnings; there is
no warning if a figure would be 0/0, and `beta` is finite.  `evaluate` and `evaluate_tags` of
`caesura.evaluation` report more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from caesura.errors import InvalidInput, message
from caesura.evaluation import Score, evaluate_tags
from caesura.evaluation.report import Report, checked_beta

__all__ = [
    "accuracy_score",
    "classification_report",
    "f1_score",
    "fbeta_score",
    "precision_recall_fscore_support",
    "precision_score",
    "recall_score",
]

Tags = Iterable[Iterable[str]]
AVERAGES = (None, "micro", "macro", "weighted")
ZERO = ("warn", 0, 1)
LENIENT = frozenset("BIES")  # the letters of seqeval's default mode


class _How(NamedTuple):
    """The options shared by all metrics."""

    average: str | None = "micro"
    suffix: bool = False
    mode: str | None = None
    zero_division: Literal["warn", 0, 1] = "warn"
    scheme: Any = None
    labels: Sequence[str] | None = None


def precision_recall_fscore_support(
    y_true: Tags, y_pred: Tags, *, average: str | None = None, beta: float = 1.0, **options: Any
) -> tuple[Any, Any, Any, Any]:
    """Return precision, recall, F-beta and the number of gold segments.

    Parameters
    ----------
    y_true, y_pred : iterable of iterable of str
        The tags of each sequence.
    average : {None, "micro", "macro", "weighted"}
        None: an array of each, by label in order.
    beta : float
        The weight of recall relative to precision.
    **options
        `mode` (None reads ill-formed tags as conlleval does, ``"strict"`` drops them), `scheme`,
        `suffix` (tags as PER-B), `labels` (those to count), `zero_division` (0 or 1, for 0/0).

    Returns
    -------
    tuple
        Numbers, or arrays where `average` is None.

    Examples
    --------
    >>> precision_recall_fscore_support([["B-PER", "O"]], [["B-PER", "B-PER"]], average="micro")
    (0.5, 1.0, 0.6666666666666666, 1)
    """
    beta = checked_beta(beta)
    how = _asked({"average": average, **options})
    scores = list(_report(y_true, y_pred, how).labels.values())
    return _figures(scores, beta, how)


def _asked(options: dict[str, Any]) -> _How:
    """Return the checked options."""
    for name in options.keys() - {*_How._fields, "sample_weight", "warn_for"}:
        expected = f"one of {', '.join(_How._fields)}"
        raise InvalidInput(message("options", name, expected, "leave it out"))
    how = _How(**{name: options[name] for name in _How._fields if name in options})
    for name, known in (("average", AVERAGES), ("mode", (None, "strict")), ("zero_division", ZERO)):
        if getattr(how, name) not in known:
            expected = " or ".join(map(repr, known))
            raise InvalidInput(message(name, getattr(how, name), expected, "pass one of them"))
    return how


def _report(y_true: Tags, y_pred: Tags, how: _How) -> Report:
    """Return the evaluation report of tags."""
    gold, found = ([_prefixed(tags, how.suffix) for tags in side] for side in (y_true, y_pred))
    scheme = how.scheme if isinstance(how.scheme, str) else getattr(how.scheme, "__name__", "auto")
    letters = {tag[0] for tags in (*gold, *found) for tag in tags if tag and tag != "O"}
    if how.mode is None and letters <= LENIENT:
        scheme = "BIOES"
    repair: Literal["repair", "drop"] = "repair" if how.mode is None else "drop"
    return evaluate_tags(gold, found, scheme, repair=repair, untyped="_", labels=how.labels)


def _prefixed(tags: Iterable[str], suffix: bool) -> list[str]:
    """Convert suffix tags to prefix tags."""
    if not suffix:
        return list(tags)
    parts = [tag.rpartition("-") for tag in tags]
    return [f"{letter}-{label}" if label else letter for label, _, letter in parts]


def _figures(scores: Sequence[Score], beta: float, how: _How) -> tuple[Any, Any, Any, Any]:
    """Return precision, recall, F-beta and support, per label or averaged."""
    zero = 1.0 if how.zero_division == 1 else 0.0
    counts = np.array(scores, np.int64).reshape(-1, 3)
    if how.average == "micro":
        counts = counts.sum(axis=0, keepdims=True)
    gold, predicted, correct = counts.T
    precision, recall = _divided(correct, predicted, zero), _divided(correct, gold, zero)
    both = beta**2 * precision + recall
    f = (1 + beta**2) * precision * recall / np.where(both == 0, 1, both)
    if how.average is None:
        return precision, recall, f, gold
    total = int(gold.sum())
    if how.average == "weighted" and not total:
        some = 0.0 if predicted.sum() else zero
        return some, zero, some, total
    weights = gold if how.average == "weighted" else None
    if not len(gold):
        return 0.0, 0.0, 0.0, 0
    means = [float(np.average(one, weights=weights)) for one in (precision, recall, f)]
    return means[0], means[1], means[2], total


def _divided(a: Any, b: Any, zero: float) -> Any:
    return np.where(b == 0, zero, a / np.where(b == 0, 1, b))


def precision_score(
    y_true: Tags, y_pred: Tags, *, average: str | None = "micro", **how: Any
) -> Any:
    """Return the precision, with the options of `precision_recall_fscore_support`.

    Examples
    --------
    >>> precision_score([["B-PER", "O"]], [["B-PER", "B-PER"]])
    0.5
    """
    return precision_recall_fscore_support(y_true, y_pred, average=average, **how)[0]


def recall_score(y_true: Tags, y_pred: Tags, *, average: str | None = "micro", **how: Any) -> Any:
    """Return the recall, with the options of `precision_recall_fscore_support`.

    Examples
    --------
    >>> recall_score([["B-PER", "O"]], [["I-PER", "O"]], mode="strict", scheme="IOB2")
    0.0
    """
    return precision_recall_fscore_support(y_true, y_pred, average=average, **how)[1]


def f1_score(y_true: Tags, y_pred: Tags, *, average: str | None = "micro", **how: Any) -> Any:
    """Return F1, with the options of `precision_recall_fscore_support`.

    Examples
    --------
    >>> f1_score([["B-PER", "B-LOC"]], [["B-PER", "B-PER"]], average="weighted")
    0.3333333333333333
    """
    return precision_recall_fscore_support(y_true, y_pred, average=average, **how)[2]


def fbeta_score(
    y_true: Tags, y_pred: Tags, *, beta: float, average: str | None = "micro", **how: Any
) -> Any:
    """Return F-beta, with the options of `precision_recall_fscore_support`.

    Examples
    --------
    >>> round(fbeta_score([["B-PER", "O"]], [["B-PER", "B-PER"]], beta=2), 3)
    0.833
    """
    return precision_recall_fscore_support(y_true, y_pred, average=average, beta=beta, **how)[2]


def accuracy_score(y_true: Tags, y_pred: Tags) -> float:
    """Return the accuracy over tags, as conlleval counts it.

    Examples
    --------
    >>> accuracy_score([["B-PER", "O"]], [["I-PER", "O"]])
    0.5
    """
    share = evaluate_tags(y_true, y_pred, "plain").tags
    return 0.0 if share is None else share.value


def classification_report(
    y_true: Tags, y_pred: Tags, *, digits: int = 2, output_dict: bool = False, **how: Any
) -> Any:
    """Return a table of all labels and averages, as text or as a dict.

    Parameters
    ----------
    y_true, y_pred : iterable of iterable of str
        The tags of each sequence.
    digits : int
        The number of decimals.
    output_dict : bool
        Whether to return a dict.
    **how
        As in `precision_recall_fscore_support`.

    Returns
    -------
    str or dict
        A row for each label and for micro, macro and weighted averages.

    Examples
    --------
    >>> print(classification_report([["B-PER", "O"]], [["B-PER", "B-LOC"]]))
                  precision    recall  f1-score   support
    <BLANKLINE>
             LOC       0.00      0.00      0.00         0
             PER       1.00      1.00      1.00         1
    <BLANKLINE>
       micro avg       0.50      1.00      0.67         1
       macro avg       0.50      0.50      0.50         1
    weighted avg       1.00      1.00      1.00         1
    <BLANKLINE>
    """
    asked = _asked(how)
    report = _report(y_true, y_pred, asked)
    scores = list(report.labels.values())
    each = zip(*_figures(scores, 1.0, asked._replace(average=None)), strict=True)
    rows = dict(zip(report.labels, each, strict=True))
    means = {f"{a} avg": _figures(scores, 1.0, asked._replace(average=a)) for a in AVERAGES[1:]}
    if output_dict:
        names = ("precision", "recall", "f1-score", "support")
        return {name: dict(zip(names, row, strict=True)) for name, row in (rows | means).items()}
    width = max(map(len, [*rows, "weighted avg"]))
    head = f"{'':>{width}}  " + " ".join(
        f"{name:>9}" for name in ("precision", "recall", "f1-score", "support")
    )
    lines = [head, "", *(_line(name, row, width, digits) for name, row in rows.items()), ""]
    lines += [_line(name, row, width, digits) for name, row in means.items()]
    return "\n".join([*lines, ""])


def _line(name: str, row: tuple[Any, ...], width: int, digits: int) -> str:
    shares = " ".join(f"{share:>9.{digits}f}" for share in row[:3])
    return f"{name:>{width}}  {shares} {row[3]:>9}"
