"""The scorers of sklearn-crfsuite, for `cross_val_score`, `GridSearchCV` and the like.

Importing this module imports scikit-learn.

>>> from sklearn.model_selection import cross_val_score
>>> from caesura.compat import CRF, scorers
>>> X, y = [[["w=the"], ["w=cat"]]] * 6, [["D", "N"]] * 6
>>> cross_val_score(CRF(), X, y, cv=3, scoring=scorers.sequence_accuracy).tolist()
[1.0, 1.0, 1.0]
"""

from __future__ import annotations

from sklearn.metrics import make_scorer

from caesura.compat import metrics

__all__ = ["flat_accuracy", "sequence_accuracy"]

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
