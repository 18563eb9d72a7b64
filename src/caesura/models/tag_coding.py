"""Coding of segments for chains: each tag is a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caesura import _kernels
from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.features import Incremental, SegmentFeature, SegmentTemplate
from caesura.models.coding import Bools, Coding, Features
from caesura.models.fitted import Fitted, Labelling, Structure, check_transitions
from caesura.models.rules import Rules
from caesura.models.schemes import Bars, TagSet, tag_set, tags_of
from caesura.models.tag_rules import constrain_tags
from caesura.models.targets import (
    Hint,
    Rows,
    Tags,
    Target,
    known_labels,
    said_labels,
    scheme_of,
    segments_of,
)
from caesura.potentials import Potentials
from caesura.segments import Segment, to_tags
from caesura.segments.tags import SCHEMES_BY_NAME

__all__ = ["TagCoding"]


@dataclass(frozen=True)
class TagCoding(Coding):
    """Each tag is a state; a segment is a run of tags."""

    scheme: str | None
    forbid_invalid: str

    def tag_set(self, fitted: Fitted | Labelling) -> TagSet:
        """Return the parsed tags of a model."""
        return tag_set(fitted.structure.states, fitted.scheme or "plain", self.outside)

    def check_features(self, features: Features) -> None:
        """Raise if a chain cannot use a feature."""
        for feature in features:
            if isinstance(feature, SegmentTemplate | Incremental):
                continue
            if isinstance(feature, SegmentFeature) or feature.place not in ("token", "edge"):
                expected = "features of tokens and edges"
                remedy = "use SemiCRF for features of segments, or leave it out"
                raise InvalidInput(message("features", feature, expected, remedy))

    def labelling(
        self, targets: Sequence[Target], lengths: Sequence[int], before: Fitted | None
    ) -> Labelling:
        """Return the states of a model for the labels of the training data."""
        given = (
            None
            if self.scheme in ("auto", None)
            else SCHEMES_BY_NAME[str(self.scheme).upper()].name
        )
        try:
            found = scheme_of(targets, self.outside, given)
        except InvalidInput:
            if self.scheme is not None:
                raise
            found = "plain"  # the tags are plain labels
        earlier = None if before is None else before.scheme
        used = given or earlier or found or "BIO"
        if earlier not in (None, used):
            remedy = "keep the scheme, or fit a new model"
            raise InvalidInput(message("scheme", used, f"{earlier}, as before", remedy))
        tags = set() if before is None else set(before.structure.states)
        for i, target in enumerate(targets):
            if isinstance(target, Partial):
                tags |= self._possible_tags(said_labels(target), used)
            else:
                tags.update(self._tags(target, lengths[i], used, found, f"y[{i}]"))
        # Tags that begin a segment come first, so that impossible pairs are adjacent and can be
        # skipped.
        listed = sorted(tags)
        parts = dict(zip(listed, tags_of(listed, used, self.outside), strict=True))
        states = tuple(sorted(listed, key=lambda tag: parts[tag].continues))
        check_transitions(len(states))
        known = tag_set(states, used, self.outside)
        if not known.labels:
            raise InvalidInput(
                place="y", got="no segment at all", expected="some", remedy="label at least one"
            )
        Y = len(states)
        structure = Structure(states, np.ones(Y, np.int32), *known.bars)
        if self.forbid_invalid == "never" or self.scheme is None:
            structure = _unbarred(structure)
        return Labelling(structure, known.labels, used, found)

    def _tags(
        self, target: Target, length: int, scheme: str, found: str | None, name: str
    ) -> list[str]:
        """Return the tags of a full target, unchanged if well formed, else rewritten."""
        if isinstance(target, Tags) and scheme == found and self.forbid_invalid != "always":
            return target
        segments = segments_of(target, found, self.outside, name)
        try:
            return to_tags(segments, scheme, length, self.outside)
        except InvalidInput as error:  # adjacent segments that plain tags cannot separate
            raise error.within(name, ".") from None

    def _possible_tags(self, labels: set[str], scheme: str) -> set[str]:
        """Return the possible tags of segments with these labels."""
        tags: set[str] = set()
        for label in labels - {self.outside}:
            for lengths in ((1,), (3,), (1, 1), (3, 3)):
                ends = np.cumsum(lengths).tolist()
                some = [(e - n, e, label) for n, e in zip(lengths, ends, strict=True)]
                some = some[:1] if SCHEMES_BY_NAME[scheme.upper()].begin == "" else some
                tags.update(to_tags(some, scheme, None, self.outside))
        if self.outside in labels:
            tags.update(to_tags([], scheme, 1, self.outside))
        return tags

    def in_training(self, structure: Structure) -> Structure:
        """Return the structure for training, which may allow ill-formed tags."""
        return structure if self.forbid_invalid == "always" else _unbarred(structure)

    def rows(self, target: Target, length: int, labelling: Labelling, name: str) -> Rows:
        """Return a full target as segments of states over the whole sequence."""
        assert labelling.scheme is not None
        tags = self._tags(target, length, labelling.scheme, labelling.found, name)
        index = {state: k for k, state in enumerate(labelling.structure.states)}
        rows = np.empty((length, 3), np.int32)
        rows[:, 0] = np.arange(length)
        rows[:, 1] = rows[:, 0] + 1
        rows[:, 2] = [index[tag] for tag in tags]
        return rows

    def segments(self, path: Sequence[tuple[int, int, int]], fitted: Fitted) -> list[Segment]:
        """Return the segments of a path over states, without outside segments."""
        tags = self.tag_set(fitted)
        return tags.segments([k for _, _, k in path], path[0][0] if path else 0)

    def reading(self, fitted: Fitted | Labelling) -> tuple[list[str | None], _kernels.Reading]:
        """Return the label of each state (None outside) and the decoding of states."""
        tags = self.tag_set(fitted)
        return tags.names, tags.reading

    def joined(self, states: Sequence[str], scheme: str | None) -> Bools | None:
        """Return which tag continues the segment of which, (Y, Y)."""
        return tag_set(tuple(states), scheme or "plain", self.outside).joined

    def labels_of(self, states: Sequence[str], scheme: str | None) -> list[str]:
        """Return the label of each state, including the outside label."""
        return tag_set(tuple(states), scheme or "plain", self.outside).label_of

    def hint(self, known: Partial, length: int, labelling: Labelling, name: str) -> Hint:
        """Return partial labels in terms of states."""
        assert labelling.scheme is not None
        tags = tag_set(labelling.structure.states, labelling.scheme, self.outside)
        labels = [*tags.labels, self.outside]
        allowed, marks = known_labels(known, length, labels, self.outside, name)
        return tags.restricted(allowed, marks, name), np.zeros(length + 1, np.uint8)

    def constrain(self, p: Potentials, rules: Rules, name: str, fitted: Fitted) -> None:
        """Constrain potentials over states by constraints on segments."""
        constrain_tags(p, self.tag_set(fitted), rules, name, Bars(*fitted.structure[2:]))


def _unbarred(structure: Structure) -> Structure:
    """Return the structure without forbidden transitions."""
    return structure._replace(
        barred=np.zeros_like(structure.barred),
        barred_start=np.zeros_like(structure.barred_start),
        barred_end=np.zeros_like(structure.barred_end),
    )
