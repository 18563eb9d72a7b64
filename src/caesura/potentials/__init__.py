"""Potentials: the scores and constraints of a distribution over segmentations.

A segmentation cuts the tokens ``0..T`` into labelled segments ``[start, end)``.  Its score is the
sum of the log-potentials that apply to it, and its probability is ``exp(score) / Z``.
"""

from caesura.potentials.labels import Label
from caesura.potentials.parts import Parts
from caesura.potentials.potentials import Potentials
from caesura.segments.cores import OPEN_END, OPEN_START

__all__ = ["OPEN_END", "OPEN_START", "Label", "Parts", "Potentials"]
