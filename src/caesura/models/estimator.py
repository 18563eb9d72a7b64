"""Estimator parameters in scikit-learn's protocol, and hooks for kinds of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import whole
from caesura.documents.tokeniser_fitting import AUTO
from caesura.documents.tokenisers import Tokeniser
from caesura.errors import InvalidInput, message, not_fitted
from caesura.learning import LEARNERS, Progress
from caesura.models.calibration import Calibration
from caesura.models.coding import Coding, Features
from caesura.models.fitted import Fitted
from caesura.models.margin import check_loss
from caesura.models.patterns import check_orders
from caesura.models.protocol import Parameters
from caesura.models.rules import model_rules
from caesura.models.tokeniser_choice import choose

__all__ = ["PRECISIONS", "UPDATES", "Estimator", "Features", "fitted_of", "is_number", "set_fitted"]

MOST_THREADS = 1024
MOST_CANDIDATES = 2**31 - 1
MOST_BIAS = 1e9  # keeps sums with other scores within the limits of the kernels
UPDATES = ("early", "max-violation", "standard")  # indexed as in the kernels
PRECISIONS = ("auto", "double", "mixed")


class Estimator(Parameters):
    """The parameters and the fitted state of an estimator."""

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
    memory: int | None
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
    standardise: bool = False

    kind: ClassVar[str]
    features_: Features
    labels_: list[str]
    n_features_: int
    history_: list[Progress]
    status_: str
    _fitted: Fitted | None = None
    _outside: str | None = None  # the outside label when the model was fitted
    calibration_: Calibration | None = None  # set by `calibrate`
    margin_: bool = False  # whether the scores are not log-probabilities
    approximate_: bool = False  # whether `fit_parts` averaged weights over parts
    temperature_: float | None = None  # by which `calibrate` divided margin scores
    _cutter: str = "words"  # tokeniser chosen by `fit` if none is given
    _online: Any = None  # state of `partial_fit` between calls
    _biased: tuple[Fitted, tuple[float, bytes], _kernels.Scorer] | None = None

    # -- scikit-learn's protocol --------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def _weight_count(self) -> int:
        return super()._weight_count() if self._fitted is None else len(self._fitted.w)

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Store the arguments of `__init__` unchanged; `fit` checks them."""
        for name in self.parameter_names():
            setattr(self, name, given[name])

    def check_parameters(self) -> None:
        """Raise if a parameter is wrong."""
        for name in ("c1", "c2", "min_freq", "epsilon", "delta"):
            value = getattr(self, name)
            if name == "delta" and value is None:
                continue  # each learner has its own default
            if not is_number(value) or not 0 <= value < np.inf:
                remedy = "leave it out for the default"
                raise InvalidInput(message(name, value, "a number, 0 or more", remedy))
        check_orders(self)
        model_rules(self.constraints)
        choices = ("learner", LEARNERS), ("precision", PRECISIONS), ("update", UPDATES)
        for name, known in choices:
            value = getattr(self, name)
            if value not in known:
                expected = " or ".join(map(repr, known))
                raise InvalidInput(message(name, value, expected, "pass one of these"))
        for name in ("average", "pa_error_sensitive", "stream", "standardise"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                remedy = "pass one of them"
                raise InvalidInput(message(name, getattr(self, name), "True or False", remedy))
        check_loss(self)
        if self.warm_start not in (False, True, "near"):
            expected = "False, True or 'near'"
            raise InvalidInput(message("warm_start", self.warm_start, expected, "pass one of them"))
        if self.warm_start == "near" and self.patterns == "grow":
            expected = "True with patterns='grow'"
            remedy = "name the patterns, or pass warm_start=True and the old data as well"
            raise InvalidInput(message("warm_start", "near", expected, remedy))
        if not isinstance(self.outside, str):
            remedy = "pass the label of text outside segments"
            raise InvalidInput(message("outside", self.outside, "a string", remedy))
        self._check_beam()
        if self.max_attributes is not None:
            whole("max_attributes", self.max_attributes, 1, MOST_CANDIDATES)
        whole("batch_size", self.batch_size, 1)
        self._check_tokeniser()
        whole("random_state", self.random_state, 0)
        self._checked_bias()
        self._check_threads()

    def _check_tokeniser(self) -> None:
        """Raise if the tokeniser is invalid."""
        if self.tokeniser != AUTO:
            try:
                Tokeniser.of(self.tokeniser)
            except InvalidInput as error:
                expected = f"{AUTO}, {error.expected}" if error.expected else None
                raise error.changed(expected=expected) if expected else error from None

    def _check_beam(self) -> None:
        """Raise if the beam size, which may change between predictions, is invalid."""
        if self.beam is not None:
            whole("beam", self.beam, 1, MOST_CANDIDATES)

    def _check_threads(self) -> None:
        """Raise if the number of threads, which may change at any time, is invalid."""
        if self.n_threads is not None:
            whole("n_threads", self.n_threads, 1, MOST_THREADS)

    def _checked_bias(self) -> float:
        """Return the outside bias, which may change between predictions."""
        bias = self.outside_bias
        if not is_number(bias) or not abs(bias) <= MOST_BIAS:  # also true for NaN
            remedy = "raise it for precision, lower it for recall"
            expected = f"a finite number from -{MOST_BIAS:g} to {MOST_BIAS:g}"
            raise InvalidInput(message("outside_bias", bias, expected, remedy))
        return bias

    # -- methods of subclasses ----------------------------------------------------------------

    @property
    def coding(self) -> Coding:
        """The coding of segments as states, with the current parameters."""
        raise NotImplementedError

    # -- the fitted state ---------------------------------------------------------------------

    @property
    def _known(self) -> Fitted:
        if self._fitted is None:
            raise not_fitted(
                "not fitted yet",
                place=type(self).__name__,
                remedy="call fit(X, y) first, or load a model with caesura.load(path)",
            )
        self._check_threads()
        self._check_outside()
        return self._fitted

    @contextmanager
    def _choosing(self, going_on: bool, *given: Any) -> Iterator[list[Any]]:
        """Use the tokeniser chosen for the training data; restore the old one if fitting fails.

        A model that goes on from an earlier fit keeps the one that it has.
        """
        before, data = self._cutter, list(given)
        try:
            if self.tokeniser == AUTO and not going_on:
                self._cutter, data = choose(*given)
            yield data
        except BaseException:
            self._cutter = before
            raise

    @property
    def tokeniser_(self) -> Any:
        """The tokeniser, which is the parameter or the one that `fit` has chosen."""
        return self._cutter if self.tokeniser == AUTO else self.tokeniser

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """The weights of the model, of shape (n,).

        Weights of zero are left out, except after `partial_fit` and with features that look back.
        """
        return self._known.w.copy()

    def _check_outside(self) -> None:
        """Raise if the outside label differs from that of the earlier fit."""
        if self._outside is not None and self.outside != self._outside:
            expected = f"{self._outside!r}, as in fit"
            raise InvalidInput(message("outside", self.outside, expected, "fit again to change it"))

    def _set_fitted(
        self, fitted: Fitted, calibration: Calibration | None = None, **learnt: Any
    ) -> None:
        """Set the fitted state atomically, since another thread may be predicting."""
        self.__dict__.update(
            {
                "_fitted": fitted,
                "_online": None,
                "_about": {},
                "_reading": {},
                "approximate_": False,
                "calibration_": calibration,
                "_outside": self.outside,
                "features_": fitted.encoder.features,
                "labels_": list(fitted.labels),
                "n_features_": len(fitted.parameters),
                **learnt,
            }
        )


def fitted_of(model: Estimator) -> Fitted:
    """Return the fitted state of a model, or raise if it is not fitted."""
    return model._known


def set_fitted(
    model: Estimator, fitted: Fitted, calibration: Calibration | None = None, **learnt: Any
) -> None:
    """Set the fitted state atomically, since another thread may be predicting."""
    model._set_fitted(fitted, calibration, **learnt)


def is_number(value: object) -> bool:
    """Return whether a value is a Python or numpy number."""
    return isinstance(value, Real) and not isinstance(value, bool)
