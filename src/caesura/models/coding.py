"""Coding of segments as states of the lattice, and decoding of states.

The states of a semi-CRF are the labels of segments (`SegmentCoding`), those of a chain are tags
(`TagCoding`).  This is all in which the two kinds of model differ: fitting, prediction, files and
explanations ask the coding of a model, and never look at its kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Partial
from caesura.features import SegmentFeature, Template
from caesura.models.fitted import Fitted, Labelling, Structure
from caesura.models.rules import Rules, StateRules, state_rules
from caesura.models.targets import Hint, Rows, Target
from caesura.potentials import Potentials
from caesura.segments import Segment

__all__ = ["Coding", "Features"]

Bools = npt.NDArray[np.bool_]
Features = list[Template | SegmentFeature]


@dataclass(frozen=True)
class Coding(ABC):
    """The interface of codings: segments to states and back."""

    outside: str  # the label of text outside segments

    def check_features(self, features: Features) -> None:
        """Raise if this kind of model cannot use a feature."""
        return

    # -- from labels to states, for training ----------------------------------------------------

    @abstractmethod
    def labelling(
        self, targets: Sequence[Target], lengths: Sequence[int], before: Fitted | None
    ) -> Labelling:
        """Return the states of a model for the labels of the training data."""

    @abstractmethod
    def rows(self, target: Target, length: int, labelling: Labelling, name: str) -> Rows:
        """Return a full target as segments of states over the whole sequence."""

    @abstractmethod
    def hint(self, known: Partial, length: int, labelling: Labelling, name: str) -> Hint:
        """Return partial labels in terms of states."""

    def in_training(self, structure: Structure) -> Structure:
        """Return the structure for training, which may forbid less than for prediction."""
        return structure

    # -- from states to segments, for prediction ------------------------------------------------

    @abstractmethod
    def reading(self, fitted: Fitted | Labelling) -> tuple[list[str | None], _kernels.Reading]:
        """Return the label of each state (None outside) and the decoding of states."""

    @abstractmethod
    def segments(self, path: Sequence[tuple[int, int, int]], fitted: Fitted) -> list[Segment]:
        """Return the segments of a path over states, without outside segments."""

    def named_segments(self, path: Sequence[Segment], fitted: Fitted) -> list[Segment]:
        """Return the segments of a path given by state names."""
        index = {state: k for k, state in enumerate(fitted.structure.states)}
        return self.segments([(s, e, index[state]) for s, e, state in path], fitted)

    @abstractmethod
    def labels_of(self, states: Sequence[str], scheme: str | None) -> list[str]:
        """Return the label of each state, including the outside label."""

    def outside_states(self, states: Sequence[str], scheme: str | None) -> list[int]:
        """Return the states that are outside segments."""
        labels = self.labels_of(states, scheme)
        return [k for k, label in enumerate(labels) if label == self.outside]

    # -- rules ---------------------------------------------------------------------------------

    def joined(self, states: Sequence[str], scheme: str | None) -> Bools | None:
        """Return which state continues the segment of which, (Y, Y), where states are tags."""
        return None

    def rules_of(self, labelling: Labelling | Fitted, rules: Rules) -> StateRules:
        """Return constraints on all sequences in terms of states."""
        states, scheme = labelling.structure.states, labelling.scheme
        joined = self.joined(states, scheme)
        return state_rules(rules, self.labels_of(states, scheme), joined, "constraints")

    def with_rules(
        self, parameters: _kernels.Parameters, labelling: Labelling | Fitted, rules: Rules
    ) -> _kernels.Parameters:
        """Return the same weights under constraints on every segmentation."""
        if rules == Rules():
            return parameters
        asked = self.rules_of(labelling, rules)
        return parameters.with_rules(asked.rules, asked.spelling)

    @abstractmethod
    def constrain(self, p: Potentials, rules: Rules, name: str, fitted: Fitted) -> None:
        """Constrain potentials over states by constraints on segments."""
