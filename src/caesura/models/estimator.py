"""The parameters of an estimator, by scikit-learn's protocol, and what kinds of it differ in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import whole
from caesura.documents import Partial
from caesura.documents.tokenisers import Tokeniser
from caesura.errors import InvalidInput, message, not_fitted
from caesura.features import SegmentFeature, Template
from caesura.learning import LEARNERS, Progress
from caesura.models.calibration import Calibration
from caesura.models.margin import check_loss
from caesura.models.patterns import check_orders
from caesura.models.protocol import Parameters
from caesura.models.rules import Rules, StateRules, model_rules, state_rules
from caesura.models.structure import Fitted, Labelling, Structure
from caesura.models.targets import Hint, Rows, Target
from caesura.potentials import Potentials
from caesura.segments import Segment

__all__ = ["PRECISIONS", "UPDATES", "Estimator", "Features", "fitted_of"]

MOST_THREADS = 1024
MOST_CANDIDATES = 2**31 - 1
MOST_BIAS = 1e9  # so that its sums with other scores are within those that the kernels take
UPDATES = ("early", "max-violation", "standard")  # in the order of the kernels
PRECISIONS = ("auto", "double", "mixed")
Features = list[Template | SegmentFeature]
Bools = npt.NDArray[np.bool_]


class Estimator(Parameters):
    """Parameters, and what fitting leaves behind."""

    features: Any
    order: int
    outside: str
    outside_bias: float
    learner: str
    c1: float
    c2: float
    penalties: Mapping[Any, Any] | None
    min_freq: float
    all_possible_states: bool
    all_possible_transitions: bool
    boundary_weights: bool
    class_weight: Mapping[str, float] | None
    precision: str
    memory: int
    epsilon: float
    period: int
    delta: float | None
    max_iterations: int | None
    batch_size: int
    patience: int | None
    warm_start: bool | str
    tokeniser: Any
    n_threads: int | None
    random_state: int
    verbose: bool | None
    patterns: Sequence[Sequence[str] | str] | str | None
    pattern_min_freq: float
    constraints: Mapping[str, Any] | None
    loss: str | None
    pa_type: int
    pa_c: float
    pa_error_sensitive: bool
    arow_variance: float
    arow_r: float
    beam: int | None
    update: str
    average: bool
    stream: bool
    max_attributes: int | None

    kind: ClassVar[str]
    features_: Features
    labels_: list[str]
    n_features_: int
    history_: list[Progress]
    status_: str
    _fitted: Fitted | None = None
    _outside: str | None = None  # the label of text outside, when it was fitted
    _calibration: Calibration | None = None
    _margin: bool = False  # the scores are no logarithms of probabilities
    _temperature: float | None = None  # that they have been divided by since
    _online: Any = None  # of partial_fit: what the next call goes on from
    _biased: tuple[Fitted, tuple[float, bytes], _kernels.Scorer] | None = None

    # -- scikit-learn's protocol --------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Store the arguments of `__init__` as they are; `fit` checks them."""
        for name in self._names():
            setattr(self, name, given[name])

    def _check(self) -> None:
        """Raise if a parameter is wrong."""
        for name in ("c1", "c2", "min_freq", "epsilon", "delta"):
            value = getattr(self, name)
            if name == "delta" and value is None:
                continue  # each learner has its own
            if not _is_number(value) or not 0 <= value < np.inf:
                raise InvalidInput(message(name, value, "a number, 0 or more", "correct it"))
        check_orders(self)
        model_rules(self.constraints)
        choices = ("learner", LEARNERS), ("precision", PRECISIONS), ("update", UPDATES)
        for name, known in choices:
            value = getattr(self, name)
            if value not in known:
                expected = " or ".join(map(repr, known))
                raise InvalidInput(message(name, value, expected, "pass what is expected"))
        for name in ("average", "pa_error_sensitive", "stream"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                remedy = "pass one of them"
                raise InvalidInput(message(name, getattr(self, name), "True or False", remedy))
        check_loss(self)
        if self.warm_start not in (False, True, "near"):
            expected = "False, True or 'near'"
            raise InvalidInput(message("warm_start", self.warm_start, expected, "pass one of them"))
        if self.warm_start == "near" and self.patterns == "grow":
            expected = "True with patterns='grow'"
            remedy = "declare the patterns, or pass True and the old data too"
            raise InvalidInput(message("warm_start", "near", expected, remedy))
        if not isinstance(self.outside, str):
            remedy = "pass the label of text outside segments"
            raise InvalidInput(message("outside", self.outside, "a string", remedy))
        self._check_beam()
        if self.max_attributes is not None:
            whole("max_attributes", self.max_attributes, 1, MOST_CANDIDATES)
        whole("batch_size", self.batch_size, 1)
        Tokeniser.of(self.tokeniser)
        whole("random_state", self.random_state, 0)
        self._checked_bias()
        self._check_threads()

    def _check_beam(self) -> None:
        """Raise if the size of the agenda, which may be set between two predictions, is wrong."""
        if self.beam is not None:
            whole("beam", self.beam, 1, MOST_CANDIDATES)

    def _check_threads(self) -> None:
        """Raise if the number of threads, which may be set at any time, is wrong."""
        if self.n_threads is not None:
            whole("n_threads", self.n_threads, 1, MOST_THREADS)

    def _checked_bias(self) -> float:
        """Return the bias towards text outside, which may be set between two predictions."""
        bias = self.outside_bias
        if not _is_number(bias) or not abs(bias) <= MOST_BIAS:  # NaN is not
            remedy = "raise it for precision, lower it for recall"
            expected = f"a finite number from -{MOST_BIAS:g} to {MOST_BIAS:g}"
            raise InvalidInput(message("outside_bias", bias, expected, remedy))
        return bias

    # -- what differs -------------------------------------------------------------------------

    def _check_features(self, features: Features) -> None:
        """Raise if a feature is of no use to this kind of model."""

    def _labelling(
        self, targets: Sequence[Target], lengths: Sequence[int], before: Fitted | None
    ) -> Labelling:
        """Return the states of the model, by the labels of the training data."""
        raise NotImplementedError

    def _rows(self, target: Target, length: int, labelling: Labelling, name: str) -> Rows:
        """Return a full target as segments of states over the whole sequence."""
        raise NotImplementedError

    def _hint(self, known: Partial, length: int, labelling: Labelling, name: str) -> Hint:
        """Return what is known of a sequence in terms of states."""
        raise NotImplementedError

    def _training_bars(self, structure: Structure) -> Structure:
        """Return the structure in training, which may forbid less than in prediction."""
        return structure

    def _segments_of(self, path: Sequence[tuple[int, int, int]], fitted: Fitted) -> list[Segment]:
        """Return the segments of a path over states, without the text outside."""
        raise NotImplementedError

    def _segmenting(self, fitted: Fitted | Labelling) -> tuple[list[str | None], _kernels.Reading]:
        """Return the label of each state, None outside, and how states are read as segments."""
        raise NotImplementedError

    def _labels_of_states(self, states: Sequence[str], scheme: str | None) -> list[str]:
        """Return the label of each state, the outside label where it is outside."""
        raise NotImplementedError

    def _state_rules(self, labelling: Labelling | Fitted, rules: Rules) -> StateRules:
        """Return rules that hold for every sequence in terms of states."""
        states, scheme = labelling.structure.states, labelling.scheme
        joined = self._joined_states(states, scheme)
        return state_rules(rules, self._labels_of_states(states, scheme), joined, "constraints")

    def _joined_states(self, states: Sequence[str], scheme: str | None) -> Bools | None:
        """Return which state goes on with the segment of which, (Y, Y), where states are tags."""
        return None

    def _ruled(
        self, parameters: _kernels.Parameters, labelling: Labelling | Fitted, rules: Rules
    ) -> _kernels.Parameters:
        """Return the same weights where every segmentation keeps rules."""
        if rules == Rules():
            return parameters
        asked = self._state_rules(labelling, rules)
        return parameters.with_rules(asked.rules, asked.spelling)

    def _constrain(self, p: Potentials, rules: Rules, name: str) -> None:
        """Constrain potentials over states by rules about segments."""
        raise NotImplementedError

    # -- what fitting leaves behind ------------------------------------------------------------

    @property
    def _known(self) -> Fitted:
        if self._fitted is None:
            raise not_fitted(
                f"{type(self).__name__}: not fitted yet; call fit(X, y) first, or load a model "
                "with caesura.load(path)"
            )
        self._check_threads()
        self._check_outside()
        return self._fitted

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """All weights of the model, of shape (n,); those that are zero are left out."""
        return self._known.w.copy()

    def _check_outside(self) -> None:
        """Raise if the outside label is another than that of the fit before."""
        if self._outside is not None and self.outside != self._outside:
            expected = f"{self._outside!r}, as in fit"
            raise InvalidInput(message("outside", self.outside, expected, "fit again to change it"))

    def _outside_states(self, states: Sequence[str], scheme: str | None) -> list[int]:
        labels = self._labels_of_states(states, scheme)
        return [k for k, label in enumerate(labels) if label == self.outside]

    def _set_fitted(
        self, fitted: Fitted, calibration: Calibration | None = None, **learnt: Any
    ) -> None:
        """Become a fitted model, all at once: another thread may be predicting."""
        self.__dict__.update(
            {
                "_fitted": fitted,
                "_online": None,
                "_calibration": calibration,
                "_outside": self.outside,
                "features_": fitted.encoder.features,
                "labels_": list(fitted.labels),
                "n_features_": len(fitted.parameters),
                **learnt,
            }
        )


def fitted_of(model: Estimator) -> Fitted:
    """Return what fitting has left behind in a model, or raise if it was not fitted."""
    return model._known


def _is_number(value: object) -> bool:
    """Say whether a value is a number, of Python or of numpy."""
    return isinstance(value, Real) and not isinstance(value, bool)
