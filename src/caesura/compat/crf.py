"""CRF: sklearn-crfsuite's estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy.typing as npt

from caesura import _kernels
from caesura.checks import nothing
from caesura.compat.arrays import Sequences, sequences
from caesura.compat.fitting import LABELS, ONE_FOR_EACH, OURS, SEQUENCES, append_all, trainer_of
from caesura.compat.items import corpus_of, each, label_of, read
from caesura.compat.learning import states_of
from caesura.compat.logparser import TrainLogParser
from caesura.compat.modelfile import ModelFile
from caesura.compat.settings import named_as
from caesura.compat.tagger import ModelInfo, Tagger, as_bytes, from_bytes, token_probabilities
from caesura.compat.trainer import BaseTrainer
from caesura.errors import Impossible, InvalidInput, message, not_fitted
from caesura.inference.kernel_calls import threads_of
from caesura.models.chain import ChainCRF
from caesura.models.estimator import fitted_of
from caesura.models.fitted import Fitted, Structure, scorer_of
from caesura.models.protocol import Parameters
from caesura.models.schemes import tag_set

__all__ = ["CRF"]

T = TypeVar("T")
CHUNK = 1000  # sequences that are processed at a time


class CRF(Parameters):
    """A linear-chain CRF with sklearn-crfsuite's parameters.

    Every parameter may be left out, which means CRFsuite's default; one that the algorithm does not
    have is an error.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}
        How weights are found: L-BFGS, stochastic gradient descent, averaged perceptron,
        passive-aggressive or AROW.
    min_freq : float
        Pairs of an attribute and a label, and of two labels, that are rarer have no weight.
    all_possible_states, all_possible_transitions : bool
        Whether pairs have weights that the training data does not have.
    c1, c2 : float
        The penalty ``c1 |w|_1 + c2 |w|_2^2``; 0 and 1 by default.
    max_iterations : int
        Iterations of lbfgs (no limit by default), passes of l2sgd (1000).
    num_memories, epsilon, period, delta
        As in `caesura.learning.LBFGS`.
    linesearch, max_linesearch, calibration_*
        Accepted and not used: the line search and the learning rate are Caesura's own.
    pa_type, c, error_sensitive, averaging
        Parameters of "pa".
    variance, gamma
        Parameters of "arow".
    verbose : bool
        Whether a line is printed after each iteration.
    model_filename : path, optional
        Where fitting writes the model, and where it is read from without fitting.  It is a file of
        Caesura's; those that CRFsuite wrote cannot be read.
    keep_tempfiles : bool
        Whether the temporary file of `modelfile` stays when the estimator is gone.
    trainer_cls : class, optional
        A subclass of `caesura.compat.Trainer`; called with ``algorithm``, ``params`` and
        ``verbose``.
    n_threads : int, optional
        Number of threads, all cores by default; results do not depend on it.
    warm_start : bool or "near"
        Whether `fit` starts from the weights of the fit before, or of the file. With "near",
        penalties count from these weights, so that new ones stay near them: for training on new
        sequences alone.
    keep_best : bool
        Whether the weights with the best mean F1 of the labels on `X_dev` are kept instead of the
        last ones.
    forbid_invalid : bool
        Whether predictions have no ill-formed tags, such as I-PER after O. The labels must be tags
        of a scheme; it takes effect without fitting again.

    Attributes
    ----------
    classes_, attributes_, state_features_, transition_features_
        Labels, attributes, and their weights.
    tagger_, model_
        The model as a `Tagger` and as a `ChainCRF`.
    modelfile : ModelFile
        The file of the model; ``modelfile.name`` is its path.
    training_log_ : TrainLogParser or None
        The parsed log of the last fit.

    Examples
    --------
    >>> X = [[{"w": "the"}, {"w": "cat"}], [{"w": "a"}, {"w": "dog"}]]
    >>> y = [["D", "N"], ["D", "N"]]
    >>> crf = CRF(algorithm="lbfgs", c1=0.0, c2=0.1).fit(X, y)
    >>> crf.predict([[{"w": "a"}, {"w": "cat"}]]).tolist()
    [['D', 'N']]
    >>> round(crf.predict_marginals_single([{"w": "a"}])[0]["D"], 3)
    0.638
    """

    # Defaults for older pickles, which lack these attributes.
    warm_start: bool | str = False
    keep_best: bool = False
    forbid_invalid: bool = False

    training_log_: TrainLogParser | None = None
    _tagger: Tagger | None = None
    _info: ModelInfo | None = None
    _modelfile: ModelFile | None = None
    _barred: tuple[Fitted, Fitted] | None = None  # a model, and its copy without ill-formed tags

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: Any = None,
        keep_tempfiles: bool = False,
        trainer_cls: Callable[..., BaseTrainer] | None = None,
        n_threads: int | None = None,
        warm_start: bool | str = False,
        keep_best: bool = False,
        forbid_invalid: bool = False,
    ) -> None:
        """Store the parameters, which help(caesura.compat.CRF) describes."""
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.keep_best = keep_best
        self.forbid_invalid = forbid_invalid

    # -- scikit-learn's protocol --------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return self.tagger_ is not None

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"_info": None, "_modelfile": None, "_barred": None}
        state["_tagger"] = None if self._tagger is None else as_bytes(self._tagger.model)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        value = state.get("_tagger")
        self.__dict__.update(state)
        self._tagger = None
        if value is not None:
            self._hold(from_bytes(value), len(value))

    # -- fitting ------------------------------------------------------------------------------

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Iterable[str | bytes]],
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Iterable[str | bytes]] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit the model to attributes and labels.

        Parameters
        ----------
        X : iterable of sequences
            For each token a list of strings or a dict, see `ItemSequence`.
        y : iterable of sequences of str
            The label of each token.
        X_dev, y_dev : optional
            Sequences that are predicted after each iteration; what comes out is in
            `training_log_`, and printed if `verbose`.  It does not change the result, unless
            `keep_best`.
        sample_weight : array of shape (n,), optional
            How much each sequence counts.
        """
        if (X_dev is None) != (y_dev is None):
            raise InvalidInput(place="X_dev, y_dev", got="only one", remedy="pass both, or neither")
        if self.keep_best and X_dev is None:
            expected = "False without X_dev and y_dev"
            raise InvalidInput(message("keep_best", True, expected, "give development data"))
        trainer = trainer_of(self)
        append_all(trainer, X, y, 0, ("X", "y"), sample_weight)
        if X_dev is not None and y_dev is not None:
            append_all(trainer, X_dev, y_dev, 1, ("X_dev", "y_dev"))
        if not trainer.gathered.n_tokens(0):
            raise nothing("X", "tokens", "give labelled sequences")
        with named_as(OURS):
            trainer.train(self.model_filename or "", holdout=-1 if X_dev is None else 1)
        assert trainer.model_ is not None
        fitted_of(trainer.model_).encoder.forget()
        self._hold(trainer.model_, 0)
        self.training_log_ = trainer.logparser
        return self

    def _hold(self, model: ChainCRF, size: int) -> None:
        self._tagger = Tagger()
        self._tagger.use(model, size)
        self._info = self._modelfile = self._barred = None

    # -- prediction ---------------------------------------------------------------------------

    def predict(self, X: Iterable[Any]) -> Sequences:
        """Return the best labels of each sequence.

        Returns
        -------
        array of shape (n,)
            Of lists; ``tolist()`` makes a list of it.
        """
        return sequences(self._each(X, states_of))

    def predict_single(self, xseq: Iterable[Any]) -> list[str]:
        """Return the best labels of one sequence."""
        return self._each([xseq], states_of)[0]

    def predict_marginals(self, X: Iterable[Any]) -> Sequences:
        """Return the marginal probability of each label at each token of each sequence.

        Returns
        -------
        array of shape (n,)
            Of lists with a dict for each token.
        """
        states = fitted_of(self.model_).structure.states
        return sequences(
            [
                [dict(zip(states, row, strict=True)) for row in table.tolist()]
                for table in self._each(X, token_probabilities)
            ]
        )

    def predict_marginals_single(self, xseq: Iterable[Any]) -> list[dict[str, float]]:
        """Return the marginal probability of each label at each token of one sequence."""
        found: list[dict[str, float]] = self.predict_marginals([xseq])[0]
        return found

    def score(self, X: Iterable[Any], y: Iterable[Iterable[str | bytes]]) -> float:
        """Return the accuracy over tokens."""
        gold = [
            [label_of(f"y[{i}]", label) for label in each(one, f"y[{i}]", LABELS)]
            for i, one in enumerate(each(y, "y", LABELS))
        ]
        found = self._each(X, states_of)
        if list(map(len, gold)) != list(map(len, found)):
            raise InvalidInput(place="X, y", got="different lengths", remedy=ONE_FOR_EACH)
        pairs = [
            one == other
            for labels, said in zip(gold, found, strict=True)
            for one, other in zip(labels, said, strict=True)
        ]
        return sum(pairs) / len(pairs) if pairs else float("nan")

    def _each(
        self, X: Iterable[Any], answer: Callable[[Fitted, _kernels.Design, int], list[T]]
    ) -> list[T]:
        """Apply a function to all sequences, in batches."""
        fitted = self._answering
        threads, left = threads_of(self.n_threads), each(X, "X", SEQUENCES)
        out: list[T] = []
        while some := list(islice(left, CHUNK)):
            part = read(fitted.encoder, some, False, len(out))
            corpus = corpus_of(fitted.encoder, [part], False)
            try:
                out += answer(fitted, fitted.parameters.compile(corpus), threads)
            except Impossible as error:  # its index counts from the first of these sequences
                raise error.changed(index=(error.index or 0) + len(out)) from None
        return out

    @property
    def _answering(self) -> Fitted:
        """The model used for prediction, as trained or with ill-formed tags forbidden."""
        model = self.model_
        fitted = fitted_of(model)
        if not self.forbid_invalid:
            return fitted
        if fitted.scheme in (None, "plain"):
            expected = "False for labels that are not tags of a scheme"
            raise InvalidInput(message("forbid_invalid", True, expected, "leave it out"))
        if self._barred is None or self._barred[0] is not fitted:
            bars = tag_set(fitted.structure.states, fitted.scheme, model.outside).bars
            structure = Structure(*fitted.structure[:2], *bars)
            scorer = scorer_of(fitted.parameters, fitted.w, structure)
            self._barred = fitted, fitted._replace(structure=structure, scorer=scorer)
        return self._barred[1]

    # -- inspection ---------------------------------------------------------------------------

    @property
    def tagger_(self) -> Tagger | None:
        """The model as a `Tagger`; None before fitting."""
        if self._tagger is None and self.model_filename and Path(self.model_filename).exists():
            self._tagger = Tagger()
            self._tagger.open(self.model_filename)
        return self._tagger

    @property
    def modelfile(self) -> ModelFile:
        """The model file, which is `model_filename` or a temporary file."""
        if self._modelfile is None:
            model = None if self._tagger is None else self._tagger.model
            self._modelfile = ModelFile(self.model_filename, self.keep_tempfiles, model)
        return self._modelfile

    @property
    def model_(self) -> ChainCRF:
        """The underlying `ChainCRF`."""
        if (tagger := self.tagger_) is None:
            raise not_fitted("not fitted yet", place="CRF", remedy="call fit or set model_filename")
        return tagger.model

    @property
    def classes_(self) -> list[str] | None:
        """The labels, in order of first occurrence in the training data."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def _known_info(self) -> ModelInfo | None:
        if self._info is None and self.tagger_ is not None:
            self._info = self.tagger_.info()
        return self._info

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have weights."""
        return None if self._known_info is None else list(self._known_info.attributes)

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes that have weights."""
        return None if self._known_info is None else len(self._known_info.attributes)

    @property
    def size_(self) -> int | None:
        """The size of the model file in bytes."""
        return None if self.tagger_ is None else len(as_bytes(self.tagger_.model))

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by (attribute, label)."""
        return None if self._known_info is None else self._known_info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by (previous label, label)."""
        return None if self._known_info is None else self._known_info.transitions
