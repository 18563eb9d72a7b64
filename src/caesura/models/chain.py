"""ChainCRF: a tag for each token."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from caesura.constraints import BARRED, FORCED
from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.inference.results import Marginals
from caesura.models.answers import Answers
from caesura.models.schemes import bars_of, tags_of
from caesura.models.structure import Fitted, Structure
from caesura.models.targets import Hint, Target, hint_of, segments_of
from caesura.potentials import Potentials
from caesura.segments import Segment, from_tags, to_tags

__all__ = ["ChainCRF"]

Floats = npt.NDArray[np.float64]


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
    outside, learner, c1, c2, ...
        As in `SemiCRF`.

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

    def __init__(
        self,
        features: Any = None,
        order: int = 1,
        scheme: str | None = "auto",
        forbid_invalid: str = "predict",
        outside: str = "O",
        learner: str = "lbfgs",
        c1: float = 0.0,
        c2: float = 1.0,
        penalties: Mapping[Any, Any] | None = None,
        min_freq: float = 0.0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = True,
        boundary_weights: bool = True,
        class_weight: Mapping[str, float] | None = None,
        precision: str = "double",
        memory: int = 6,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float = 1e-5,
        max_iterations: int | None = None,
        batch_size: int = 8,
        patience: int | None = None,
        warm_start: bool = False,
        tokeniser: Any = "words",
        n_threads: int | None = None,
        random_state: int = 0,
        verbose: bool | None = False,
    ) -> None:
        self.features = features
        self.order = order
        self.scheme = scheme
        self.forbid_invalid = forbid_invalid
        self.outside = outside
        self.learner = learner
        self.c1 = c1
        self.c2 = c2
        self.penalties = penalties
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.boundary_weights = boundary_weights
        self.class_weight = class_weight
        self.precision = precision
        self.memory = memory
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.max_iterations = max_iterations
        self.batch_size = batch_size
        self.patience = patience
        self.warm_start = warm_start
        self.tokeniser = tokeniser
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    def _check(self) -> None:
        super()._check()
        if self.forbid_invalid not in ("predict", "always", "never"):
            expected = "'predict', 'always' or 'never'"
            remedy = "pass one of them"
            raise InvalidInput(message("forbid_invalid", self.forbid_invalid, expected, remedy))

    # -- tags ---------------------------------------------------------------------------------

    def _tags(self, target: Target, length: int, scheme: str, found: str | None, name: str) -> list[str]:
        """Return the tags of a full target."""
        assert not isinstance(target, Partial)
        if target and isinstance(target[0], str) and (scheme == found or self.scheme is None):
            return list(target)  # type: ignore[arg-type]
        segments = segments_of(target, found, self.outside, name)
        return to_tags(segments, scheme, length, self.outside)

    def _structure(
        self, targets: Sequence[Target], lengths: Sequence[int], scheme: str | None
    ) -> tuple[Structure, tuple[str, ...], str | None]:
        used = (scheme or "BIO") if self.scheme in ("auto", None) else self.scheme
        assert isinstance(used, str)
        self._found = scheme
        tags: set[str] = set()
        for i, target in enumerate(targets):
            if isinstance(target, Partial):
                known = {s.label for s in target.segments}
                known.update(label for some in target.tokens.values() for label in some)
                for label in known - {self.outside}:
                    tags.update(to_tags([(0, 3, label), (3, 4, label)], used, None, self.outside))
                if self.outside in known:
                    tags.add(self.outside if used == "plain" else "O")
                continue
            tags.update(self._tags(target, lengths[i], used, scheme, f"y[{i}]"))
        # Tags that may begin a segment first: pairs that are never there lie together, and are skipped.
        parts = dict(zip(tags, self._parts(list(tags), used), strict=True))
        states = tuple(sorted(tags, key=lambda tag: (parts[tag].continues, tag)))
        if not states:
            raise InvalidInput("y: got no tag at all, expected some")
        labels = tuple(sorted({tag.label for tag in self._parts(states, used) if tag.label}))
        Y = len(states)
        bounds = np.ones(Y, np.int32)
        bars = bars_of(states, used, self.outside)
        if self.forbid_invalid == "never" or self.scheme is None:
            bars = bars._replace(
                pairs=np.zeros((Y, Y), np.uint8),
                start=np.zeros(Y, np.uint8),
                end=np.zeros(Y, np.uint8),
            )
        return Structure(states, bounds, *bars), labels, used

    def _parts(self, states: Sequence[str], scheme: str) -> Any:
        return tags_of(states, scheme, self.outside)

    def _training_bars(self, structure: Structure, scheme: str | None) -> Structure:
        if self.forbid_invalid == "always":
            return structure
        Y = len(structure.states)
        none = np.zeros(Y, np.uint8)
        return structure._replace(
            barred=np.zeros((Y, Y), np.uint8), barred_start=none, barred_end=none.copy()
        )

    def _rows(
        self, target: Target, length: int, structure: Structure, scheme: str | None, name: str
    ) -> list[tuple[int, int, int]]:
        assert scheme is not None
        tags = self._tags(target, length, scheme, self._found, name)
        index = {state: k for k, state in enumerate(structure.states)}
        return [(t, t + 1, index[tag]) for t, tag in enumerate(tags)]

    def _segments_of(self, path: Sequence[tuple[int, int, int]], fitted: Fitted) -> list[Segment]:
        tags = [fitted.structure.states[k] for _, _, k in path]
        return from_tags(tags, fitted.scheme or "plain", self.outside, "repair")

    def _chance(self, m: Marginals, p: Potentials, segment: Segment) -> float:
        """Return the probability of all tags that say this segment, however they say it."""
        fitted = self._known
        tags = self._parts(fitted.structure.states, fitted.scheme or "plain")
        mine = np.array([tag.label == segment.label for tag in tags])
        joined = np.array([[a.open and b.continues and a.label == b.label for b in tags] for a in tags])
        follows = _conditional(p)
        start, end = segment.start, segment.end
        if start == 0:
            reached = m.tokens[0] * mine
        else:
            pairs = m.tokens[start - 1][:, None] * follows(start)
            reached = np.where(joined, 0.0, pairs).sum(axis=0) * mine
        for t in range(start + 1, end):
            reached = reached @ np.where(joined, follows(t), 0.0)
        if end < p.length:
            reached = reached @ np.where(joined, 0.0, follows(end))
        return float(reached.sum())

    # -- what is known, as sets of tags -------------------------------------------------------

    def _hint(self, known: Partial, length: int, structure: Structure, name: str) -> Hint:
        scheme = (self._found or "BIO") if self.scheme in ("auto", None) else str(self.scheme)
        labels = {s: [] for s in [self.outside]}  # type: dict[str, list[int]]
        parts = self._parts(structure.states, scheme)
        for k, tag in enumerate(parts):
            labels.setdefault(tag.label or self.outside, []).append(k)
        index = {label: k for k, label in enumerate(labels)}
        allowed, boundary = hint_of(known, length, index, name)
        tags = np.zeros((length, len(parts)), np.uint8)
        for label, states in labels.items():
            tags[:, states] = allowed[:, [index[label]]]
        for t in range(1, length):
            joins = np.array([tag.continues for tag in parts], bool)
            goes_on = np.array([tag.goes_on for tag in parts], bool)
            if boundary[t] & FORCED:
                tags[t, joins] = 0
                tags[t - 1, goes_on] = 0
            elif boundary[t] & BARRED:
                tags[t, ~joins] = 0
        return tags, np.zeros(length + 1, np.uint8)

    def _rules(self, rules: Mapping[str, Any], p: Potentials) -> dict[str, Any]:
        """Return constraints on segments as constraints on tags."""
        fitted = self._known
        known = {"required", "allowed", "boundaries", "no_boundaries"}
        for name in rules:
            if name not in known:
                expected = f"one of {', '.join(sorted(known))} for a chain"
                remedy = "take SemiCRF, which knows whole segments"
                raise InvalidInput(message("constraints", name, expected, remedy))
        partial = Partial(
            segments=sorted(rules.get("required", ())),
            tokens=rules.get("allowed"),
            boundaries=rules.get("boundaries", ()),
            no_boundaries=rules.get("no_boundaries", ()),
        )
        partial.check(p.length, "constraints")
        self._found = fitted.scheme
        tags, _ = self._hint(partial, p.length, fitted.structure, "constraints")
        return {"allowed": {t: np.flatnonzero(row).tolist() for t, row in enumerate(tags)}}


def _conditional(p: Potentials) -> Callable[[int], Floats]:
    """Return the function t -> P(tag of t | tag of t - 1), of shape (Y, Y), for the potentials of a chain."""
    T, Y = p.length, len(p.labels)
    pairs: dict[int, Floats] = {}
    for t, a, b, score in p._edges:
        pairs.setdefault(t, p.transition.copy())[a, b] += score
    emission = p.emission
    if p._constraints.allowed is not None:
        emission = np.where(p._constraints.allowed, emission, -np.inf)
    rest = np.zeros((T, Y))  # ln of the sum over all that may follow
    rest[T - 1] = p.end
    with np.errstate(invalid="ignore"):
        for t in range(T - 1, 0, -1):
            scores = pairs.get(t, p.transition) + (emission[t] + rest[t])
            top = scores.max(axis=1, keepdims=True)
            top = np.where(np.isneginf(top), 0.0, top)
            with np.errstate(divide="ignore"):
                rest[t - 1] = np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0]

    def follows(t: int) -> Floats:
        scores = pairs.get(t, p.transition) + (emission[t] + rest[t])
        base = np.where(np.isneginf(rest[t - 1]), 0.0, rest[t - 1])
        return np.exp(scores - base[:, None])

    return follows
