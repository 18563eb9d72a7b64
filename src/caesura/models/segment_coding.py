"""Coding of segments for semi-CRFs: each label is a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.constraints import FORCED
from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.models.coding import Coding
from caesura.models.fitted import Fitted, Labelling, Structure, check_transitions
from caesura.models.rules import Rules, naming_constraint
from caesura.models.targets import (
    Hint,
    Rows,
    Target,
    known_labels,
    said_labels,
    scheme_of,
    segments_of,
)
from caesura.potentials import Potentials
from caesura.segments import Segment, fill_gaps

__all__ = ["LONGEST", "Bound", "SegmentCoding"]

LONGEST = 2**31 - 1  # largest max_length; no sequence is longer
OBSERVED = "observed"  # value of max_length: the longest segment in the training data
Bound = int | str | None  # limit on the length of segments


@dataclass(frozen=True)
class SegmentCoding(Coding):
    """Each segment label is a state; the outside label is the last."""

    outside_length: int | None
    same_label_adjacent: bool
    max_length: Bound | Mapping[str, Bound]

    def labelling(
        self, targets: Sequence[Target], lengths: Sequence[int], before: Fitted | None
    ) -> Labelling:
        """Return the states of a model for the labels of the training data."""
        scheme = scheme_of(targets, self.outside)
        found = set() if before is None else set(before.structure.states)
        gaps = False  # without gaps in the training data, there is no outside state
        longest = _Longest(self, before)
        for i, target in enumerate(targets):
            if isinstance(target, Partial):
                found |= said_labels(target)
                longest.see(target.segments)
                continue
            segments = segments_of(target, scheme, self.outside, f"y[{i}]")
            found.update(segment.label for segment in segments)
            gaps = gaps or sum(segment.length for segment in segments) < lengths[i]
            longest.see(segments, lengths[i])
        gaps = gaps or self.outside in found
        labels = tuple(sorted(found - {self.outside}))
        if not labels:
            raise InvalidInput(
                place="y", got="no segment at all", expected="some", remedy="label at least one"
            )
        states = (*labels, self.outside) if gaps else labels
        check_transitions(len(states))
        barred = np.zeros((len(states), len(states)), np.uint8)
        for k, state in enumerate(states):
            outside = state == self.outside
            barred[k, k] = self.outside_length is None if outside else not self.same_label_adjacent
        none = np.zeros(len(states), np.uint8)
        structure = Structure(states, self._bounds(states, longest), barred, none, none.copy())
        return Labelling(structure, labels, None, scheme)

    def _bounds(self, states: Sequence[str], longest: _Longest) -> npt.NDArray[np.int32]:
        """Return the longest segment of each state."""
        given = self.max_length
        each = given if isinstance(given, Mapping) else dict.fromkeys(states, given)
        for label in each:
            if label not in states:
                expected = f"labels of y, which are {', '.join(states)}"
                raise InvalidInput(message("max_length", label, expected, "correct the label"))
        each = {k: longest.of.get(k) if _is_observed(each[k]) else each[k] for k in each}
        for bound in each.values():
            whole = isinstance(bound, Integral) and not isinstance(bound, bool)
            if bound is not None and not (whole and int(bound) >= 1):
                expected = "a number of tokens, 1 or more, or 'observed'"
                raise InvalidInput(message("max_length", bound, expected, "None is no bound"))
        bounds = [min(int(each.get(state) or 0), LONGEST) for state in states]
        if self.outside_length is not None and states[-1] == self.outside:
            bounds[-1] = 1
        return np.array(bounds, np.int32)

    def rows(self, target: Target, length: int, labelling: Labelling, name: str) -> Rows:
        """Return a full target as segments of states over the whole sequence."""
        segments = segments_of(target, labelling.found, self.outside, name)
        index = {state: k for k, state in enumerate(labelling.structure.states)}
        full = fill_gaps(segments, length, self.outside, self.outside_length)
        return np.array([(s, e, index[label]) for s, e, label in full], np.int32).reshape(-1, 3)

    def hint(self, known: Partial, length: int, labelling: Labelling, name: str) -> Hint:
        """Return partial labels in terms of states."""
        states = labelling.structure.states
        allowed, marks = known_labels(known, length, states, self.outside, name)
        if self.outside_length is not None and states[-1] == self.outside:
            outside = np.flatnonzero(~allowed[:, :-1].any(axis=1))  # segments of length 1
            marks[outside] |= FORCED
            marks[outside + 1] |= FORCED
            marks[[0, length]] = 0
        return allowed, marks

    def segments(self, path: Sequence[tuple[int, int, int]], fitted: Fitted) -> list[Segment]:
        """Return the segments of a path over states, without outside segments."""
        names = self.reading(fitted)[0]
        return [Segment(s, e, name) for s, e, k in path if (name := names[k]) is not None]

    def reading(self, fitted: Fitted | Labelling) -> tuple[list[str | None], _kernels.Reading]:
        """Return the label of each state (None outside) and the decoding of states."""
        states, n = fitted.structure.states, len(fitted.labels)
        names = [*states[:n], *([None] if len(states) > n else [])]
        label = np.where(np.arange(len(states)) < n, np.arange(len(states)), -1)
        return names, _kernels.Reading(label.astype(np.int32), None)

    def labels_of(self, states: Sequence[str], scheme: str | None) -> list[str]:
        """Return the label of each state, including the outside label."""
        return list(states)

    def constrain(self, p: Potentials, rules: Rules, name: str, fitted: Fitted) -> None:
        """Constrain potentials over states by constraints on segments."""
        with naming_constraint(name):
            p.constrain(**rules._asdict())


def _is_observed(bound: Any) -> bool:
    return isinstance(bound, str) and bound == OBSERVED


class _Longest:
    """The longest segment of each label, where bounds are derived from the data."""

    def __init__(self, coding: SegmentCoding, before: Fitted | None) -> None:
        given = coding.max_length
        each = [*given.values()] if isinstance(given, Mapping) else [given]
        self.coding, self.asked = coding, any(map(_is_observed, each))
        self.of: dict[str, int | None] = {}  # label -> longest segment; None for no bound
        if before is not None and self.asked:
            bounds = before.structure.bounds.tolist()
            states = zip(before.structure.states, bounds, strict=True)
            self.of = {state: bound or None for state, bound in states}

    def see(self, segments: Sequence[Segment], length: int | None = None) -> None:
        """Record the segments of a sequence, and its gaps if the length is given."""
        if not self.asked:
            return
        if length is not None:
            coding = self.coding
            segments = fill_gaps(segments, length, coding.outside, coding.outside_length)
        for start, end, label in segments:
            known = self.of.setdefault(label, end - start)
            if known is not None:
                self.of[label] = max(known, end - start)
