"""Evaluation on the held-out group after each iteration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.compat.items import corpus_of
from caesura.compat.learning import Instances, states_of
from caesura.compat.logparser import LabelScore
from caesura.models.fitted import Fitted

__all__ = ["Held"]


class Held:
    """The sequences held out from training."""

    def __init__(self, data: Instances, n_threads: int) -> None:
        self._data, self._threads = data, n_threads
        self._corpus = corpus_of(data.encoder, data.parts, grow=False)
        self.info: dict[str, Any] = {}

    def __call__(self, fitted: Fitted) -> float:
        """Evaluate a model and return the macro-averaged F1."""
        data = self._data
        index = {label: k for k, label in enumerate(data.labels)}
        paths = states_of(fitted, fitted.parameters.compile(self._corpus), self._threads)
        found = np.array([index[label] for path in paths for label in path], np.int32)
        self.info = _scores(data, found)
        return float(self.info["avg_f1"])


def _scores(data: Instances, found: npt.NDArray[np.int32]) -> dict[str, Any]:
    """Return the counts of correct labels under CRFsuite's names."""
    Y, gold = len(data.labels), data.tags
    right = found == gold
    match = np.bincount(gold[right], minlength=Y).tolist()
    model = np.bincount(found, minlength=Y).tolist()
    ref = np.bincount(gold, minlength=Y).tolist()
    scores, sums = {}, [0.0, 0.0, 0.0]
    for label, m, n, r in zip(data.labels, match, model, ref, strict=True):
        if not r:  # the label is not in the held-out group
            scores[label] = LabelScore(m, n, r, None, None, None)
            continue
        p, q = m / n if n else 0.0, m / r
        f1 = 2.0 * p * q / (p + q) if p + q else 0.0
        scores[label] = LabelScore(m, n, r, p, q, f1)
        sums = [a + b for a, b in zip(sums, (p, q, f1), strict=True)]
    offsets = data.offsets
    wrong = np.concatenate([[0], np.cumsum(~right)])
    whole = int((wrong[offsets[1:]] == wrong[offsets[:-1]]).sum())
    averages = zip(("avg_precision", "avg_recall", "avg_f1"), [s / Y for s in sums], strict=True)
    return {
        "scores": scores,
        **dict(averages),
        **_share("item", int(right.sum()), len(gold)),
        **_share("instance", whole, len(offsets) - 1),
    }


def _share(name: str, right: int, total: int) -> dict[str, Any]:
    """Return an accuracy and its counts under CRFsuite's names."""
    share = Fraction(right, max(total, 1))
    return {
        f"{name}_counts": (right, total),
        f"{name}_accuracy": share,
        f"{name}_accuracy_float": float(share),
    }
