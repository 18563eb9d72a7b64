"""CRF: sklearn-crfsuite's estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

from caesura import _kernels
from caesura.compat.items import corpus_of, each, read
from caesura.compat.learning import states_of
from caesura.compat.settings import named_as
from caesura.compat.tagger import ModelInfo, Tagger, as_bytes, from_bytes, token_probabilities
from caesura.compat.trainer import Trainer, TrainingLog
from caesura.errors import InvalidInput, message
from caesura.inference.door import threads_of
from caesura.models.chain import ChainCRF
from caesura.models.estimator import fitted_of
from caesura.models.structure import Fitted

__all__ = ["CRF"]

T = TypeVar("T")
SEQUENCES = "a list of sequences, each with the attributes of its tokens"
LABELS = "the labels of each token of each sequence"
CHUNK = 1000  # sequences at a time
_NAMES = {  # of the trainer, where they differ
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
    "pa_type": "type",
}
_OURS = {theirs: name for name, theirs in _NAMES.items()}
_OF_TRAINING = (
    *_NAMES,
    *("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta"),
    *("linesearch", "max_linesearch", "c", "error_sensitive", "averaging", "variance", "gamma"),
)


class CRF:
    """A chain with sklearn-crfsuite's parameters: attributes of tokens in, labels out.

    Every parameter may be left out, which means CRFsuite's default; one that the algorithm does not
    have is an error.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd"}
        How weights are found; perceptron-type learners ("ap", "pa", "arow") are to come.
    min_freq : float
        Pairs of an attribute and a label, and of two labels, that are rarer have no weight.
    all_possible_states, all_possible_transitions : bool
        Whether pairs have weights that the training data does not have.
    c1, c2 : float
        The penalty ``c1 |w|_1 + c2 |w|_2^2``; 0 and 1 where not given.
    max_iterations : int
        Iterations of lbfgs (no limit where not given), passes of l2sgd (1000).
    num_memories, epsilon, period, delta
        As in `caesura.learning.LBFGS`.
    linesearch, max_linesearch, calibration_*
        Accepted and not used: the line search and the learning rate are Caesura's own.
    pa_type, c, error_sensitive, averaging, variance, gamma
        Of the perceptron-type learners: to be left out.
    verbose : bool
        Whether a line is printed after each iteration.
    model_filename : path, optional
        Where fitting writes the model, and where it is read from without fitting.  It is a file of
        Caesura's; those that CRFsuite wrote cannot be read.
    keep_tempfiles
        Accepted and not used: there are none.
    trainer_cls : class, optional
        A subclass of `caesura.compat.Trainer`.
    n_threads : int, optional
        All cores where not given; the result does not depend on it.

    Examples
    --------
    >>> X = [[{"w": "the"}, {"w": "cat"}], [{"w": "a"}, {"w": "dog"}]]
    >>> y = [["D", "N"], ["D", "N"]]
    >>> crf = CRF(algorithm="lbfgs", c1=0.0, c2=0.1).fit(X, y)
    >>> crf.predict([[{"w": "a"}, {"w": "cat"}]])
    [['D', 'N']]
    >>> round(crf.predict_marginals_single([{"w": "a"}])[0]["D"], 3)
    0.638
    """

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
        trainer_cls: Callable[..., Trainer] | None = None,
        n_threads: int | None = None,
    ) -> None:
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
        self.training_log_: TrainingLog | None = None
        self._tagger: Tagger | None = None
        self._info: ModelInfo | None = None

    # -- scikit-learn's protocol --------------------------------------------------------------

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self._names()
        for name in params:
            if name not in known:
                expected = f"one of {', '.join(known)}"
                raise InvalidInput(message("parameter", name, expected, "correct its name"))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    __sklearn_tags__ = ChainCRF.__sklearn_tags__

    def __sklearn_is_fitted__(self) -> bool:
        return self.tagger_ is not None

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"_info": None}
        state["_tagger"] = None if self._tagger is None else as_bytes(self._tagger.model)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        value = state["_tagger"]
        self.__dict__.update(state)
        self._tagger = None
        if value is not None:
            self._hold(from_bytes(value), len(value))

    # -- fitting ------------------------------------------------------------------------------

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Iterable[str]],
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Iterable[str]] | None = None,
    ) -> Self:
        """Learn from attributes and labels.

        Parameters
        ----------
        X : iterable of sequences
            For each token a list of strings or a dict, see `ItemSequence`.
        y : iterable of sequences of str
            The label of each token.
        X_dev, y_dev : optional
            Sequences that are predicted after each iteration; what comes out is in
            `training_log_`, and printed if `verbose`.  It does not change the result.
        """
        if (X_dev is None) != (y_dev is None):
            raise InvalidInput("X_dev, y_dev: got one of them, expected both or neither")
        trainer = self._trainer()
        _append(trainer, X, y, 0, ("X", "y"))
        if X_dev is not None and y_dev is not None:
            _append(trainer, X_dev, y_dev, 1, ("X_dev", "y_dev"))
        with named_as(_OURS):
            trainer.train(self.model_filename or "", holdout=-1 if X_dev is None else 1)
        assert trainer.model_ is not None
        fitted_of(trainer.model_).encoder.forget()
        self._hold(trainer.model_, 0)
        self.training_log_ = trainer.logparser
        return self

    def _trainer(self) -> Trainer:
        made = (self.trainer_cls or _LineTrainer)(
            algorithm=self.algorithm, verbose=self.verbose, n_threads=self.n_threads
        )
        given = {name: getattr(self, name) for name in _OF_TRAINING}
        given = {name: value for name, value in given.items() if value is not None}
        for name, value in given.items():
            if _NAMES.get(name, name) not in made.params():
                expected = f"None with the algorithm {made.algorithm!r}, which does not have it"
                raise InvalidInput(message(name, value, expected, "leave it out"))
        with named_as(_OURS):
            made.set_params({_NAMES.get(name, name): value for name, value in given.items()})
        return made

    def _hold(self, model: ChainCRF, size: int) -> None:
        self._tagger = Tagger()
        self._tagger._use(model, size)
        self._info = None

    # -- prediction ---------------------------------------------------------------------------

    def predict(self, X: Iterable[Any]) -> list[list[str]]:
        """Return the best labels of each sequence."""
        return self._each(X, states_of)

    def predict_single(self, xseq: Iterable[Any]) -> list[str]:
        """Return the best labels of one sequence."""
        return self.predict([xseq])[0]

    def predict_marginals(self, X: Iterable[Any]) -> list[list[dict[str, float]]]:
        """Return the probability of each label at each token of each sequence."""
        states = fitted_of(self.model_).structure.states
        return [
            [dict(zip(states, row, strict=True)) for row in table.tolist()]
            for table in self._each(X, token_probabilities)
        ]

    def predict_marginals_single(self, xseq: Iterable[Any]) -> list[dict[str, float]]:
        """Return the probability of each label at each token of one sequence."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Iterable[Any], y: Iterable[Sequence[str]]) -> float:
        """Return the share of tokens whose label is right."""
        gold = [list(each(one, f"y[{i}]", LABELS)) for i, one in enumerate(each(y, "y", LABELS))]
        found = self.predict(X)
        if list(map(len, gold)) != list(map(len, found)):
            raise InvalidInput("X, y: got different lengths, expected a label for each token")
        pairs = [
            one == other
            for labels, said in zip(gold, found, strict=True)
            for one, other in zip(labels, said, strict=True)
        ]
        return sum(pairs) / len(pairs) if pairs else float("nan")

    def _each(
        self, X: Iterable[Any], answer: Callable[[Fitted, _kernels.Design, int], list[T]]
    ) -> list[T]:
        """Ask about all sequences, some at a time."""
        fitted = fitted_of(self.model_)
        threads, sequences = threads_of(self.n_threads), each(X, "X", SEQUENCES)
        out: list[T] = []
        while some := list(islice(sequences, CHUNK)):
            part = read(fitted.encoder, some, False, len(out))
            corpus = corpus_of(fitted.encoder, [part], False)
            out += answer(fitted, fitted.parameters.compile(corpus), threads)
        return out

    # -- inspection ---------------------------------------------------------------------------

    @property
    def tagger_(self) -> Tagger | None:
        """The model as a `Tagger`; None if there is none yet."""
        if self._tagger is None and self.model_filename and Path(self.model_filename).exists():
            self._tagger = Tagger()
            self._tagger.open(self.model_filename)
        return self._tagger

    @property
    def model_(self) -> ChainCRF:
        """The estimator behind it, of which more can be asked."""
        tagger = self.tagger_
        if tagger is None:
            raise InvalidInput("CRF: not fitted yet; call fit(X, y) first, or pass model_filename")
        return tagger.model

    @property
    def classes_(self) -> list[str] | None:
        """The labels, in the order in which training met them."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def _known_info(self) -> ModelInfo | None:
        if self._info is None and self.tagger_ is not None:
            self._info = self.tagger_.info()
        return self._info

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes with weights."""
        return None if self._known_info is None else list(self._known_info.attributes)

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have weights."""
        return None if self._known_info is None else len(self._known_info.attributes)

    @property
    def size_(self) -> int | None:
        """Bytes of the model's file."""
        return None if self.tagger_ is None else len(as_bytes(self.tagger_.model))

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by (attribute, label)."""
        return None if self._known_info is None else self._known_info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by (previous label, label)."""
        return None if self._known_info is None else self._known_info.transitions


class _LineTrainer(Trainer):
    """A trainer that prints a line for each iteration."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        parts = [
            f"Iter {info['num']:<3}",
            f"time={info['time']:<5.2f}",
            f"loss={info['loss']:<8.2f}",
        ]
        parts.append(f"active={info['active_features']:<5}")
        if "avg_f1" in info:
            parts += [f"F1={info['avg_f1']:0.3f}", f"Acc={info['item_accuracy_float']:0.3f}"]
        print("  ".join(parts).rstrip())


def _append(
    trainer: Trainer, X: Iterable[Any], y: Iterable[Iterable[str]], group: int, names: Sequence[str]
) -> None:
    """Give sequences to a trainer; an error names the sequence."""
    ends: Any = object()
    xs, ys = each(X, names[0], SEQUENCES), each(y, names[1], LABELS)
    for i in range(1 << 62):
        one, labels = next(xs, ends), next(ys, ends)
        if one is ends and labels is ends:
            return
        if one is ends or labels is ends:
            more = names[1] if one is ends else names[0]
            raise InvalidInput(f"{more}: got more than {i}, expected as many of X as of y")
        try:
            trainer.append(one, labels, group)
        except InvalidInput as error:
            raise InvalidInput(f"{names[0]}[{i}], {names[1]}[{i}]: {error}") from None
