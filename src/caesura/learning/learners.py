"""The learners that models offer: the only place where they are listed.

A new learner is an entry here and its optimiser in `caesura.models.training`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from caesura.learning.lbfgs import LBFGS
from caesura.learning.sgd import SGD, AdaGrad

__all__ = ["LEARNERS", "Learner", "learners_with"]


class Learner(NamedTuple):
    """Describe one way to find weights.

    Examples
    --------
    >>> LEARNERS["sgd"].accepts_c1, LEARNERS["sgd"].peer
    (False, 'l2sgd')
    """

    optimiser: type[Any]
    minimises: str  # what is left when it ends
    accepts_c1: bool  # a penalty on |w|
    mini_batches: bool  # it takes a step for every `batch_size` sequences
    peer: str | None  # what CRFsuite calls it
    summary: str  # for help texts


LEARNERS: dict[str, Learner] = {
    "lbfgs": Learner(
        LBFGS,
        "negative log-likelihood plus penalties",
        True,
        False,
        "lbfgs",
        "L-BFGS, or OWL-QN with c1; the default",
    ),
    "sgd": Learner(
        SGD,
        "negative log-likelihood plus penalties",
        False,
        True,
        "l2sgd",
        "stochastic gradient descent with averaged weights",
    ),
    "adagrad": Learner(
        AdaGrad,
        "negative log-likelihood plus penalties",
        True,
        True,
        None,
        "a learning rate for each weight",
    ),
}


def learners_with(field: str) -> list[str]:
    """Return the names of the learners for which a field is true.

    Examples
    --------
    >>> learners_with("mini_batches")
    ['sgd', 'adagrad']
    """
    return [name for name, learner in LEARNERS.items() if getattr(learner, field)]
