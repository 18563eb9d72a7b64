"""The list of learners that models offer.

A new learner is an entry here and its optimiser in `caesura.models.training`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from caesura.learning.cutting_plane import CuttingPlane
from caesura.learning.exponentiated import ExponentiatedGradient
from caesura.learning.frank_wolfe import FrankWolfe
from caesura.learning.lbfgs import LBFGS
from caesura.learning.path_learners import AROW, PassiveAggressive, Perceptron
from caesura.learning.sgd import SGD, AdaGrad

__all__ = ["LEARNERS", "Learner", "exact_on_parts", "is_probabilistic", "learners_with"]


class Learner(NamedTuple):
    """The properties of a learner.

    Examples
    --------
    >>> LEARNERS["sgd"].accepts_c1, LEARNERS["sgd"].peer
    (False, 'l2sgd')
    """

    optimiser: type[Any]
    minimises: str  # the quantity to minimise
    accepts_c1: bool  # whether it supports a penalty on |w|
    mini_batches: bool  # whether it takes a step per `batch_size` sequences
    peer: str | None  # its name in CRFsuite
    summary: str  # one line for help texts
    losses: tuple[str, ...] = ()  # supported losses; if empty, it maximises the likelihood
    settings: tuple[
        tuple[str, str], ...
    ] = ()  # (parameter of the model, parameter of the optimiser)
    needs_c2: bool = False  # whether it has no solution without a penalty
    loss: str | None = None  # the default loss
    likelihood: tuple[str, ...] = ()  # losses for which scores are unnormalised log-probabilities
    online: bool = False  # whether it can learn from a stream of sequences
    parts: str | None = None
    # with `fit_parts`: "exact" has the iterations of `fit`; "averaged" trains on each part alone
    # and averages the weights after each pass, and "blocks" does so with blocks of a part, too
    looks_back: int = 0  # earlier segments that features may see in training; 3 stands for all
    beam: bool = False  # whether it can search with a beam
    steady: bool = False  # whether its duality gap closes in the fewest passes

    @property
    def full_batch(self) -> bool:
        """Whether it maximises the likelihood with all sequences in each step."""
        return not self.mini_batches and not self.losses


MARGINS = ("hamming", "segments", "zero-one")
LEARNERS: dict[str, Learner] = {
    "lbfgs": Learner(
        LBFGS,
        "negative log-likelihood plus penalties",
        True,
        False,
        "lbfgs",
        "L-BFGS, or OWL-QN with c1; the default",
        parts="exact",
        looks_back=1,
    ),
    "sgd": Learner(
        SGD,
        "negative log-likelihood plus penalties",
        False,
        True,
        "l2sgd",
        "stochastic gradient descent with averaged weights",
        settings=(("average", "average"),),
        online=True,
        parts="averaged",
    ),
    "adagrad": Learner(
        AdaGrad,
        "negative log-likelihood plus penalties",
        True,
        True,
        None,
        "a learning rate for each weight",
        online=True,
        parts="averaged",
    ),
    "perceptron": Learner(
        Perceptron,
        "scores of wrong segmentations above the gold one",
        False,
        False,
        "ap",
        "averaged perceptron",
        MARGINS,
        (("average", "average"), ("epsilon", "epsilon")),
        online=True,
        parts="averaged",
        looks_back=3,
        beam=True,
    ),
    "pa": Learner(
        PassiveAggressive,
        "hinge losses",
        False,
        False,
        "pa",
        "passive-aggressive",
        MARGINS,
        (
            *(("average", "average"), ("epsilon", "epsilon"), ("pa_type", "pa_type")),
            *(("pa_c", "c"), ("pa_error_sensitive", "error_sensitive")),
        ),
        online=True,
        parts="averaged",
    ),
    "arow": Learner(
        AROW,
        "hinge losses",
        False,
        False,
        "arow",
        "adaptive regularisation of weights",
        MARGINS,
        (("epsilon", "epsilon"), ("arow_variance", "variance"), ("arow_r", "r")),
        online=True,
        parts="averaged",
    ),
    "svm": Learner(
        FrankWolfe,
        "hinge losses plus penalty",
        False,
        False,
        None,
        "structured SVM by Frank-Wolfe",
        MARGINS,
        needs_c2=True,
        loss="hamming",
        parts="blocks",
        steady=True,
    ),
    "cutting-plane": Learner(
        CuttingPlane,
        "hinge losses plus penalty",
        False,
        False,
        None,
        "structured SVM by cutting planes",
        MARGINS,
        needs_c2=True,
        loss="hamming",
        parts="exact",
    ),
    "eg": Learner(
        ExponentiatedGradient,
        "hinge losses, or the negative log-likelihood, plus penalty",
        False,
        False,
        None,
        "exponentiated gradient",
        ("hamming", "segments", "log"),
        needs_c2=True,
        loss="hamming",
        likelihood=("log",),
    ),
}
"""The learners by their names."""


def learners_with(field: str) -> list[str]:
    """Return the names of the learners for which a field is true.

    Examples
    --------
    >>> learners_with("mini_batches")
    ['sgd', 'adagrad']
    """
    return [name for name, learner in LEARNERS.items() if getattr(learner, field)]


def exact_on_parts(loss: str | None) -> str:
    """Return the learner that minimises a loss on parts of the data exactly as on all of it.

    Examples
    --------
    >>> exact_on_parts("hamming"), exact_on_parts("log"), exact_on_parts(None)
    ('cutting-plane', 'lbfgs', 'lbfgs')
    """
    exact = {name: one for name, one in LEARNERS.items() if one.parts == "exact"}
    return next(
        (name for name, one in exact.items() if loss in one.losses),
        next(name for name, one in exact.items() if not one.losses),
    )


def is_probabilistic(learner: str, loss: str | None) -> bool:
    """Return whether a learner yields scores that are log-probabilities up to a constant.

    Examples
    --------
    >>> is_probabilistic("lbfgs", None), is_probabilistic("svm", "hamming")
    (True, False)
    """
    known = LEARNERS[learner]
    return not known.losses or (loss or known.loss) in known.likelihood
