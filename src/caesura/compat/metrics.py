"""The metrics of sklearn-crfsuite: scores of tokens, computed by scikit-learn, and of sequences.

Segments are what most users want to have scored: the metrics of seqeval are here, too (see
`caesura.compat.seqeval`), and `caesura.evaluate` reports more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from caesura.compat.seqeval import (
    accuracy_score,
    classification_report,
    f1_score,
    fbeta_score,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
)

__all__ = [
    "accuracy_score",
    "classification_report",
    "f1_score",
    "fbeta_score",
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "precision_recall_fscore_support",
    "precision_score",
    "recall_score",
    "sequence_accuracy_score",
]

Labels = Iterable[Iterable[Any]]


def _scored(name: str, y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """Return a scikit-learn metric applied to the tokens of all sequences."""
    from sklearn import metrics

    gold, found = list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))
    return getattr(metrics, name)(gold, found, **options)


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the accuracy over tokens.

    Examples
    --------
    >>> flat_accuracy_score([["D", "N"], ["N"]], [["D", "V"], ["N"]])
    0.6666666666666666
    """
    return float(_scored("accuracy_score", y_true, y_pred))


def flat_precision_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """Return the precision over tokens, with the options of scikit-learn's `precision_score`.

    Examples
    --------
    >>> flat_precision_score([["D", "N"], ["N"]], [["D", "N"], ["D"]], average="macro")
    0.75
    """
    return _scored("precision_score", y_true, y_pred, **options)


def flat_recall_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """Return the recall over tokens, with the options of scikit-learn's `recall_score`.

    Examples
    --------
    >>> flat_recall_score([["D", "N"], ["N"]], [["D", "N"], ["D"]], average="macro")
    0.75
    """
    return _scored("recall_score", y_true, y_pred, **options)


def flat_f1_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """Return F1 over tokens, with the options of scikit-learn's `f1_score`.

    Examples
    --------
    >>> y = [["B-PER", "O"], ["O", "O"]]
    >>> flat_f1_score(y, y, average="weighted", labels=["B-PER"])
    1.0
    """
    return _scored("f1_score", y_true, y_pred, **options)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **options: Any) -> Any:
    """Return F-beta over tokens, with the options of scikit-learn's `fbeta_score`.

    Examples
    --------
    >>> flat_fbeta_score([["D", "N"]], [["D", "N"]], beta=2, average="micro")
    1.0
    """
    return _scored("fbeta_score", y_true, y_pred, beta=beta, **options)


def flat_classification_report(
    y_true: Labels, y_pred: Labels, labels: Sequence[Any] | None = None, **options: Any
) -> Any:
    """Return scikit-learn's `classification_report` over tokens.

    Examples
    --------
    >>> report = flat_classification_report([["D", "N"]], [["D", "N"]], output_dict=True)
    >>> report["N"]["f1-score"]
    1.0
    """
    return _scored("classification_report", y_true, y_pred, labels=labels, **options)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the fraction of sequences with all labels correct; 0 if there are none.

    Examples
    --------
    >>> sequence_accuracy_score([["D", "N"], ["N"]], [["D", "V"], ["N"]])
    0.5
    """
    pairs = list(zip(y_true, y_pred, strict=True))
    right = sum(list(gold) == list(found) for gold, found in pairs)
    return right / len(pairs) if pairs else 0.0
