"""ChainCRF: a tag for each token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from caesura import _kernels
from caesura.constraints import BARRED, FORCED
from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.features import Incremental, SegmentFeature, SegmentTemplate
from caesura.inference.alternatives import n_best_spelled
from caesura.inference.problems import problem_of
from caesura.inference.results import Marginals
from caesura.models.answers import Answers
from caesura.models.estimator import Bools, Features
from caesura.models.prediction import Asked
from caesura.models.rules import Rules, told_of
from caesura.models.schemes import TagSet, tag_set, tags_of
from caesura.models.structure import Fitted, Labelling, Structure
from caesura.models.tag_rules import keep_rules
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
from caesura.segments import _BY_NAME, TAG_SCHEMES, Segment, to_tags

__all__ = ["ChainCRF"]


class ChainCRF(Answers):
    """A linear-chain CRF: it scores a tag for each token.

    Parameters
    ----------
    features : list, str, or None
        Features of tokens (`caesura.features`), the name of a preset, or None: one that suits the
        data.
    order : int
        How many tags before a token's own its score may depend on.
    scheme : {"auto", None} or str
        How segments become tags, as "BIO", "BIOES" or "BCEU".  "auto": tags stay as they are given,
        and segments become BIO.  None: tags are labels and nothing more.
    forbid_invalid : {"predict", "always", "never"}
        Whether tags that the scheme never writes in a row are impossible: in prediction, also in
        training, or not at all.
    outside_bias : float
        Added in prediction to the score of each outside tag: raise it for precision, lower it for
        recall.  It takes effect without fitting again.
    outside, learner, c1, c2, ...
        As in `SemiCRF`.
    loss : {None, "hamming", "segments", "zero-one", "log"}
        As in `SemiCRF`, where "hamming" counts wrong tags; "segments" needs a scheme, and is not
        offered by eg.
    pa_type, pa_c, pa_error_sensitive, arow_variance, arow_r, average, stream, max_attributes
        As in `SemiCRF`.
    patterns : None, list of tag tuples, or "grow"
        As in `SemiCRF`, of tags.
    constraints : dict, optional
        As in `SemiCRF`, about the segments that tags spell.
    beam, update
        As in `SemiCRF`; segments are tokens with their tags.

    Examples
    --------
    >>> import caesura
    >>> X = [["Ann", "met", "Bob"], ["Bob", "saw", "Ann"]]
    >>> y = [["B-PER", "O", "B-PER"]] * 2
    >>> model = caesura.ChainCRF(c2=0.1).fit(X, y)
    >>> model.predict_tags([["Ann", "saw", "Bob"]])
    [['B-PER', 'O', 'B-PER']]
    """

    kind: ClassVar[str] = "chain"
    scheme: str | None
    forbid_invalid: str

    def __init__(
        self,
        features: Any = None,
        order: int = 1,
        scheme: str | None = "auto",
        forbid_invalid: str = "predict",
        outside: str = "O",
        outside_bias: float = 0.0,
        learner: str = "lbfgs",
        c1: float = 0.0,
        c2: float = 1.0,
        penalties: Mapping[Any, Any] | None = None,
        min_freq: float = 0.0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = True,
        boundary_weights: bool = True,
        class_weight: Mapping[str, float] | None = None,
        precision: str = "auto",
        memory: int = 6,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float | None = None,
        max_iterations: int | None = None,
        batch_size: int = 8,
        patience: int | None = None,
        warm_start: bool | str = False,
        tokeniser: Any = "words",
        n_threads: int | None = None,
        random_state: int = 0,
        verbose: bool | None = False,
        patterns: Sequence[Sequence[str] | str] | str | None = None,
        pattern_min_freq: float = 1,
        constraints: Mapping[str, Any] | None = None,
        loss: str | None = None,
        pa_type: int = 1,
        pa_c: float = 1.0,
        pa_error_sensitive: bool = True,
        arow_variance: float = 1.0,
        arow_r: float = 1.0,
        beam: int | None = None,
        update: str = "max-violation",
        average: bool = True,
        stream: bool = False,
        max_attributes: int | None = None,
    ) -> None:
        self._keep(locals())

    def _check(self) -> None:
        super()._check()
        known = ("predict", "always", "never")
        if self.forbid_invalid not in known:
            expected = "'predict', 'always' or 'never'"
            remedy = "pass one of them"
            raise InvalidInput(message("forbid_invalid", self.forbid_invalid, expected, remedy))
        if self.scheme not in ("auto", None) and str(self.scheme).upper() not in _BY_NAME:
            expected = f"'auto', None, or one of {', '.join(TAG_SCHEMES)}"
            raise InvalidInput(message("scheme", self.scheme, expected, "pass one of them"))
        if self.scheme is None and self.loss == "segments":
            expected = "'hamming' or 'zero-one' with scheme=None, where tags are no segments"
            raise InvalidInput(message("loss", self.loss, expected, "pass one of them"))

    def _check_features(self, features: Features) -> None:
        for feature in features:
            if isinstance(feature, SegmentTemplate | Incremental):
                continue
            if isinstance(feature, SegmentFeature) or feature.place not in ("token", "edge"):
                expected = "features of tokens and edges"
                remedy = "take SemiCRF for features of segments, or leave it out"
                raise InvalidInput(message("features", feature, expected, remedy))

    # -- tags ---------------------------------------------------------------------------------

    def _labelling(
        self, targets: Sequence[Target], lengths: Sequence[int], before: Fitted | None
    ) -> Labelling:
        given = None if self.scheme in ("auto", None) else _BY_NAME[str(self.scheme).upper()].name
        try:
            found = scheme_of(targets, self.outside, given)
        except InvalidInput:
            if self.scheme is not None:
                raise
            found = "plain"  # tags are labels and nothing more
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
        # Tags that begin a segment first: pairs that are never there lie together and are skipped.
        listed = sorted(tags)
        parts = dict(zip(listed, tags_of(listed, used, self.outside), strict=True))
        states = tuple(sorted(listed, key=lambda tag: parts[tag].continues))
        known = tag_set(states, used, self.outside)
        if not known.labels:
            raise InvalidInput("y: got no segment at all, expected some; label at least one")
        Y = len(states)
        structure = Structure(states, np.ones(Y, np.int32), *known.bars)
        if self.forbid_invalid == "never" or self.scheme is None:
            structure = _unbarred(structure)
        return Labelling(structure, known.labels, used, found)

    def _tags(
        self, target: Target, length: int, scheme: str, found: str | None, name: str
    ) -> list[str]:
        """Return the tags of a full target: as they are if they may be, else written anew."""
        if isinstance(target, Tags) and scheme == found and self.forbid_invalid != "always":
            return target
        segments = segments_of(target, found, self.outside, name)
        try:
            return to_tags(segments, scheme, length, self.outside)
        except InvalidInput as error:  # adjacent segments that plain tags cannot tell apart
            raise InvalidInput(f"{name}.{error}") from None

    def _possible_tags(self, labels: set[str], scheme: str) -> set[str]:
        """Return the tags that segments with these labels can have."""
        tags: set[str] = set()
        for label in labels - {self.outside}:
            for lengths in ((1,), (3,), (1, 1), (3, 3)):
                ends = np.cumsum(lengths).tolist()
                some = [(e - n, e, label) for n, e in zip(lengths, ends, strict=True)]
                some = some[:1] if _BY_NAME[scheme.upper()].begin == "" else some
                tags.update(to_tags(some, scheme, None, self.outside))
        if self.outside in labels:
            tags.update(to_tags([], scheme, 1, self.outside))
        return tags

    def _training_bars(self, structure: Structure) -> Structure:
        return structure if self.forbid_invalid == "always" else _unbarred(structure)

    def _rows(self, target: Target, length: int, labelling: Labelling, name: str) -> Rows:
        assert labelling.scheme is not None
        tags = self._tags(target, length, labelling.scheme, labelling.found, name)
        index = {state: k for k, state in enumerate(labelling.structure.states)}
        rows = np.empty((length, 3), np.int32)
        rows[:, 0] = np.arange(length)
        rows[:, 1] = rows[:, 0] + 1
        rows[:, 2] = [index[tag] for tag in tags]
        return rows

    def _segments_of(self, path: Sequence[tuple[int, int, int]], fitted: Fitted) -> list[Segment]:
        tags = tag_set(fitted.structure.states, fitted.scheme or "plain", self.outside)
        return tags.segments([k for _, _, k in path], path[0][0] if path else 0)

    def _segmenting(self, fitted: Fitted | Labelling) -> tuple[list[str | None], _kernels.Reading]:
        tags = tag_set(fitted.structure.states, fitted.scheme or "plain", self.outside)
        return tags.names, tags.reading

    def _joined_states(self, states: Sequence[str], scheme: str | None) -> Bools | None:
        return tag_set(tuple(states), scheme or "plain", self.outside).joined

    def _labels_of_states(self, states: Sequence[str], scheme: str | None) -> list[str]:
        return tag_set(tuple(states), scheme or "plain", self.outside).label_of

    # -- segments that are known or asked for -------------------------------------------------

    def _hint(self, known: Partial, length: int, labelling: Labelling, name: str) -> Hint:
        assert labelling.scheme is not None
        tags = tag_set(labelling.structure.states, labelling.scheme, self.outside)
        labels = [*tags.labels, self.outside]
        allowed, marks = known_labels(known, length, labels, self.outside, name)
        return tags.restricted(allowed, marks, name), np.zeros(length + 1, np.uint8)

    def _constrain(self, p: Potentials, rules: Rules, name: str) -> None:
        tags = self._tag_set
        with told_of(name):
            known = Partial(
                sorted(rules.required), rules.allowed, rules.boundaries, rules.no_boundaries
            )
            known.check(p.length)
        labels = [*tags.labels, self.outside]
        allowed, marks = known_labels(known, p.length, labels, self.outside, name)
        states = {t: np.flatnonzero(row).tolist() for t, row in enumerate(allowed[:, tags.label])}
        p.constrain(allowed=states)
        for mark, wrong in ((FORCED, tags.joined), (BARRED, ~tags.joined)):
            pairs = np.argwhere(wrong).tolist()
            for t in (np.flatnonzero(marks[1:-1] & mark) + 1).tolist():
                # as add_transition would
                p.parts.edges.extend((t, a, b, -np.inf) for a, b in pairs)
        p.changed()
        keep_rules(p, tags, rules, name)

    @property
    def _tag_set(self) -> TagSet:
        fitted = self._known
        return tag_set(fitted.structure.states, fitted.scheme or "plain", self.outside)

    @property
    def _reads_once(self) -> bool:
        structure, bars = self._known.structure, self._tag_set.bars
        return all(np.array_equal(a, b) for a, b in zip(structure[2:], bars, strict=True))

    def _n_best(self, asked: Asked, n: int) -> list[list[tuple[list[Segment], float]]]:
        tags = self._tag_set
        log_z = asked.log_partitions(self.n_threads)
        ranked = n_best_spelled(asked.potentials, tags.reading, n, self.n_threads)
        return [
            [
                (
                    [Segment(start, end, tags.labels[k]) for start, end, k in segments],
                    min(float(np.exp(weight - total)), 1.0),
                )
                for segments, weight in some
            ]
            for some, total in zip(ranked, log_z, strict=True)
        ]

    def _chances(self, m: Marginals, p: Potentials, segments: list[Segment]) -> list[float]:
        if not segments:
            return []
        tags, lookup = self._tag_set, _kernels.Lookup(problem_of(p), 0)
        joined = tags.joined.astype(np.uint8)
        return [
            lookup.run(start, end, tags.states_of(label), joined) for start, end, label in segments
        ]


def _unbarred(structure: Structure) -> Structure:
    """Return the structure with nothing forbidden."""
    return structure._replace(
        barred=np.zeros_like(structure.barred),
        barred_start=np.zeros_like(structure.barred_start),
        barred_end=np.zeros_like(structure.barred_end),
    )
