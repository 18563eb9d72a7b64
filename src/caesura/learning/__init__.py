"""Optimisers: L-BFGS and OWL-QN, SGD and AdaGrad, and the loop that runs them.

::

    objective, c1, c2  ->  LBFGS | SGD | AdaGrad  ->  minimise  ->  Result
                           start, step: State         callback, dev_score, checkpoint

The optimisers know nothing of models: they see vectors of parameters and an objective.
"""

from __future__ import annotations

from caesura.learning.lbfgs import LBFGS, State
from caesura.learning.learners import LEARNERS, Learner
from caesura.learning.loop import Optimiser, Result, minimise
from caesura.learning.objectives import BatchObjective, Objective, OnlineObjective, Progress
from caesura.learning.progress import ProgressLine
from caesura.learning.sgd import SGD, AdaGrad, EpochState

__all__ = [
    "LBFGS",
    "LEARNERS",
    "SGD",
    "AdaGrad",
    "BatchObjective",
    "EpochState",
    "Learner",
    "Objective",
    "OnlineObjective",
    "Optimiser",
    "Progress",
    "ProgressLine",
    "Result",
    "State",
    "minimise",
]
