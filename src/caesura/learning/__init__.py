"""Optimisers for likelihood and margin objectives, and the training loop.

::

    objective, c1, c2  ->  LBFGS | SGD | AdaGrad  ->  minimise  ->  Result
                           start, step: State         callback, dev_score, checkpoint
    the same with      ->  Perceptron | PassiveAggressive | AROW
    a loss                 FrankWolfe | CuttingPlane | ExponentiatedGradient

The optimisers know nothing of models: they see vectors of parameters and an objective.
"""

from __future__ import annotations

from caesura.learning.cutting_plane import CutState, CuttingPlane
from caesura.learning.exponentiated import DualState, ExponentiatedGradient
from caesura.learning.frank_wolfe import FrankWolfe
from caesura.learning.lbfgs import LBFGS, State
from caesura.learning.learners import LEARNERS, Learner
from caesura.learning.loop import Optimiser, Result, minimise
from caesura.learning.objectives import BatchObjective, Objective, OnlineObjective, Progress
from caesura.learning.path_learners import AROW, PassiveAggressive, PathState, Perceptron
from caesura.learning.progress import ProgressLine
from caesura.learning.sgd import SGD, AdaGrad, EpochState

__all__ = [
    "AROW",
    "LBFGS",
    "LEARNERS",
    "SGD",
    "AdaGrad",
    "BatchObjective",
    "CutState",
    "CuttingPlane",
    "DualState",
    "EpochState",
    "ExponentiatedGradient",
    "FrankWolfe",
    "Learner",
    "Objective",
    "OnlineObjective",
    "Optimiser",
    "PassiveAggressive",
    "PathState",
    "Perceptron",
    "Progress",
    "ProgressLine",
    "Result",
    "State",
    "minimise",
]
