"""SemiCRF: segments are the unit, and may be of any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from caesura.checks import whole
from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.models.answers import Answers
from caesura.models.structure import Fitted, Structure
from caesura.models.targets import Hint, Target, hint_of, segments_of
from caesura.segments import Segment, fill_gaps

__all__ = ["SemiCRF"]


class SemiCRF(Answers):
    """A semi-Markov CRF: it scores whole segments.

    Parameters
    ----------
    features : list, str, or None
        Features (`caesura.features`), the name of a preset, or None: one that suits the data.
    order : int
        How many labels before a segment's own its score may depend on.
    max_length : None, int, or dict of label to int
        Longest segment; None is no bound, and costs nothing.
    outside : str
        The label of text outside segments, which is never returned.
    outside_length : {1, None}
        Whether text outside is one segment for each token, or for each run of tokens.
    same_label_adjacent : bool
        Whether two adjacent segments may carry one label.
    learner : {"lbfgs", "sgd", "adagrad"}
        How weights are found.
    c1, c2 : float
        The penalty ``c1 |w|_1 + c2 |w|_2^2``.
    penalties : dict, optional
        Penalties of single features: their name or themselves, to c2 or (c1, c2).
    min_freq : float
        Pairs of an attribute and a label that are rarer have no weight.
    all_possible_states, all_possible_transitions : bool
        Whether pairs have weights that the training data does not have.
    boundary_weights : bool
        Whether the first and the last label have weights.
    class_weight : dict of label to float, optional
        Labels whose tokens are worth more (above 1) or less.
    precision : {"double", "mixed"}
        "mixed" begins in single precision and ends in double.
    memory, epsilon, period, delta, max_iterations
        As in `caesura.learning.LBFGS`; for the others, max_iterations counts passes.
    batch_size : int
        Sequences in a step of sgd and adagrad.
    patience : int, optional
        Iterations without a better score on development data before fitting ends.
    warm_start : bool
        Whether fit goes on from the weights of the fit before.
    tokeniser : str or dict
        How a text becomes tokens.
    n_threads : int, optional
        All cores where not given; the result does not depend on it.
    random_state : int
        Seeds what is drawn.
    verbose : bool or None
        Show progress; None: where a person is looking.

    Examples
    --------
    >>> import caesura
    >>> X = ["12 High Street Leeds", "7 Park Lane York", "3 Mill Road Leeds"]
    >>> y = [[(0, 1, "number"), (1, 3, "street"), (3, 4, "town")]] * 3
    >>> model = caesura.SemiCRF(c2=0.1).fit(X, y)
    >>> model.predict(["9 Low Street York"])[0][1]
    Segment(start=1, end=3, label='street')
    """

    kind: ClassVar[str] = "semi"

    def __init__(
        self,
        features: Any = None,
        order: int = 1,
        max_length: int | Mapping[str, int] | None = None,
        outside: str = "O",
        outside_length: int | None = 1,
        same_label_adjacent: bool = True,
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
        self.max_length = max_length
        self.outside = outside
        self.outside_length = outside_length
        self.same_label_adjacent = same_label_adjacent
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

    def _structure(
        self, targets: Sequence[Target], lengths: Sequence[int], scheme: str | None
    ) -> tuple[Structure, tuple[str, ...], str | None]:
        found: set[str] = set()
        gaps = False  # without any in the training data, there is no text outside
        for i, target in enumerate(targets):
            if isinstance(target, Partial):
                found.update(segment.label for segment in target.segments)
                found.update(label for some in target.tokens.values() for label in some)
                continue
            segments = segments_of(target, scheme, self.outside, f"y[{i}]")
            found.update(segment.label for segment in segments)
            gaps |= sum(segment.length for segment in segments) < lengths[i]
        gaps |= self.outside in found
        found.discard(self.outside)
        labels = tuple(sorted(found))
        if not labels:
            raise InvalidInput("y: got no segment at all, expected some; label at least one")
        states = (*labels, self.outside) if gaps else labels
        Y = len(states)
        barred = np.zeros((Y, Y), np.uint8)
        for k, state in enumerate(states):
            is_outside = state == self.outside
            barred[k, k] = self.outside_length is None if is_outside else not self.same_label_adjacent
        bounds = self._bounds(states)
        none = np.zeros(Y, np.uint8)
        return Structure(states, bounds, barred, none, none.copy()), labels, None

    def _bounds(self, states: Sequence[str]) -> Any:
        """Return the longest segment of each state."""
        given = self.max_length
        if isinstance(given, Mapping):
            for label in given:
                if label not in states:
                    expected = f"labels of y, which are {', '.join(states)}"
                    raise InvalidInput(message("max_length", label, expected, "correct the label"))
            bounds = [whole("max_length", given[s], 1) if s in given else 0 for s in states]
        else:
            bounds = [0 if given is None else whole("max_length", given, 1)] * len(states)
        if self.outside_length is not None and states[-1] == self.outside:
            bounds[-1] = 1
        return np.array(bounds, np.int32)

    def _rows(
        self, target: Target, length: int, structure: Structure, scheme: str | None, name: str
    ) -> list[tuple[int, int, int]]:
        segments = segments_of(target, scheme, self.outside, name)
        index = {state: k for k, state in enumerate(structure.states)}
        full = fill_gaps(segments, length, self.outside, self.outside_length)
        return [(s, e, index[label]) for s, e, label in full]

    def _hint(self, known: Partial, length: int, structure: Structure, name: str) -> Hint:
        return hint_of(known, length, {s: k for k, s in enumerate(structure.states)}, name)

    def _segments_of(self, path: Sequence[tuple[int, int, int]], fitted: Fitted) -> list[Segment]:
        states, outside = fitted.structure.states, len(fitted.labels)
        return [Segment(s, e, states[k]) for s, e, k in path if k != outside]
