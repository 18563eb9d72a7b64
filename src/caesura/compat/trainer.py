"""Trainer: training to a model file, in python-crfsuite's interface."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from caesura.checks import whole
from caesura.compat import messages
from caesura.compat.holdout import Held
from caesura.compat.learning import Floats, chain_of, learn, training_of
from caesura.compat.logparser import LabelScore, TrainLogParser
from caesura.compat.settings import ALGORITHMS, HELP, algorithm_of, named_as, value_of
from caesura.compat.tagger import usable
from caesura.compat.training_sequences import Gathered
from caesura.errors import InvalidInput, message
from caesura.inference.kernel_calls import threads_of
from caesura.learning import Progress
from caesura.models.chain import ChainCRF
from caesura.models.estimator import fitted_of
from caesura.models.fitted import Fitted
from caesura.models.training import Training

__all__ = ["BaseTrainer", "LabelScore", "Trainer", "TrainingLog"]

TrainingLog = TrainLogParser  # its name in older pickles


class BaseTrainer:
    """Train a model on sequences appended one at a time; messages are printed unchanged.

    Subclasses need not call ``super().__init__()``: the algorithm is "lbfgs" then, and nothing is
    printed.

    Parameters
    ----------
    algorithm, params, verbose, n_threads
        As in `Trainer`.

    Examples
    --------
    >>> class Counting(BaseTrainer):
    ...     def __init__(self):
    ...         self.n = 0
    ...     def message(self, message):
    ...         self.n += message.startswith("*****")
    >>> trainer = Counting()
    >>> trainer.append([["w=the"], ["w=cat"]], ["D", "N"])
    >>> trainer.train()
    >>> trainer.n == len(trainer.logparser.iterations)
    True
    """

    # Defaults for subclasses that do not call __init__.
    algorithm: str = "lbfgs"
    verbose: bool = False
    n_threads: int | None = None
    keep_best: bool = False  # whether to keep the weights that score best on the held-out group
    logparser: TrainLogParser | None = None
    model_: ChainCRF | None = None
    _event: str | None = None

    @cached_property
    def gathered(self) -> Gathered:
        """The sequences appended so far."""
        return Gathered()

    @cached_property
    def _params(self) -> dict[str, Any]:
        return dict(ALGORITHMS[self.algorithm].defaults)

    def __init__(
        self,
        algorithm: str | None = None,
        params: Mapping[str, Any] | None = None,
        verbose: bool = True,
        n_threads: int | None = None,
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        self.set_params(params or {})
        self.verbose = verbose
        self.n_threads = n_threads

    # -- data ---------------------------------------------------------------------------------

    def append(
        self, xseq: Iterable[Any], yseq: Iterable[str | bytes], group: int = 0, weight: float = 1.0
    ) -> None:
        """Append a sequence of attributes with its labels.

        Parameters
        ----------
        xseq : iterable
            The attributes of each token, see `ItemSequence`.
        yseq : iterable of str
            The label of each token; bytes are decoded as UTF-8.
        group : int
            The group that the sequence belongs to, one of which can be held out of training.
        weight : float
            How much the sequence counts.
        """
        self.gathered.append(xseq, yseq, group, weight)

    def clear(self) -> None:
        """Remove all sequences and the starting weights."""
        self.gathered = Gathered()

    def start_from(self, model: ChainCRF, near: bool = False) -> None:
        """Start from the weights of a model instead of from zero.

        Parameters
        ----------
        model : ChainCRF
            `Trainer.model_`, `Tagger.model` or `CRF.model_`.
        near : bool
            Whether penalties count from the weights of the model, so that they stay near it: for
            training on new sequences alone.
        """
        if self.gathered.groups:
            raise InvalidInput(
                place="trainer", got="sequences already", remedy="call start_from before append"
            )
        self.gathered = Gathered(fitted_of(usable("model", model)))
        self.gathered.near = near

    # -- parameters ---------------------------------------------------------------------------

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Select an algorithm and reset its parameters to their defaults."""
        if type != "crf1d":
            raise InvalidInput(message("type", type, "'crf1d'", "leave it out"))
        self.algorithm = algorithm_of(algorithm)
        self._params = dict(ALGORITHMS[self.algorithm].defaults)

    def params(self) -> list[str]:
        """Return the names of the parameters."""
        return list(self._params)

    def get_params(self) -> dict[str, Any]:
        """Return the parameters with their values."""
        return dict(self._params)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters by name."""
        for name, value in params.items():
            self.set(name, value)

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        self._check(name)
        return self._params[name]

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; a string is converted to the type of the parameter."""
        self._check(name)
        self._params[name] = value_of(name, value, self._params[name])

    def help(self, name: str) -> str:
        """Return the description of a parameter."""
        self._check(name)
        return HELP[name]

    def _check(self, name: str) -> None:
        if name not in self._params:
            expected = f"one of {', '.join(self._params)} for {self.algorithm}"
            raise InvalidInput(message("name", name, expected, "check its name or select another"))

    # -- training -----------------------------------------------------------------------------

    def train(self, model: str | os.PathLike[str] = "", holdout: int = -1) -> None:
        """Train and write the model to a file in Caesura's format.

        Without any tokens to train on, there is a warning, and nothing is written.

        Parameters
        ----------
        model : path
            The file to write; empty: none.  The model is in `model_`, too.
        holdout : int
            A group that is left out of training, and predicted after each iteration.
        """
        whole("holdout", holdout, -1)
        self.logparser, self.model_ = TrainLogParser(), None
        began = time.perf_counter()
        self._say(messages.opened(self._params, holdout))
        given = self.gathered
        data = given.instances(given.groups.keys() - {holdout})
        if not len(data.tags):
            self._refuse()
            return
        chain = chain_of(self.algorithm, self._params, self.n_threads)
        with self._named():
            chain.check_parameters()
        training = training_of(chain, data, given.before, given.near)
        self._say(messages.PROGRESS)
        self._say(messages.generated(len(training.parameters), time.perf_counter() - began))
        self._say(messages.prepared(self.algorithm, self._params))
        began = time.perf_counter()
        held = None
        if holdout in given.groups:
            held = Held(given.instances([holdout]), threads_of(self.n_threads))
        self._learn(chain, training, held)
        self._say(messages.trained(self.algorithm, chain.status_, time.perf_counter() - began))
        began = time.perf_counter()
        if os.fspath(model):
            chain.save(model)
        self.model_ = chain
        self._say(messages.stored(_counts(fitted_of(chain)), time.perf_counter() - began))

    def _refuse(self) -> None:
        """Raise because there is nothing to train on."""
        self._say([*messages.PROGRESS, *messages.generated(0, 0.0)])
        self._say(messages.prepared(self.algorithm, self._params))
        self._say(messages.failed(self.algorithm, "no tokens"))
        warnings.warn(
            "trainer: got no tokens to train on, so no model was trained or written; append "
            "labelled sequences first",
            stacklevel=3,
        )

    def _named(self) -> Any:
        """Rename model parameters in errors to CRFsuite's names."""
        options = ALGORITHMS[self.algorithm].options
        return named_as({ours: name for name, ours in options.items()})

    def _learn(self, chain: ChainCRF, training: Training, held: Held | None) -> None:
        """Fit the model, and report each iteration."""
        before, norm = (0.0, 0), 0.0

        def watch(w: Floats) -> float | None:
            nonlocal norm
            norm = float(np.linalg.norm(w))
            score = None if held is None else held(training.fitted(w))
            return score if self.keep_best else None

        def report(progress: Progress) -> None:
            nonlocal before
            seconds, evaluations = before
            before = (progress.seconds, progress.evaluations)
            info: dict[str, Any] = {"num": progress.iteration, "loss": progress.objective}
            info |= {"feature_norm": norm, "active_features": progress.n_active}
            if np.isfinite(progress.gradient_norm):
                info["error_norm"] = progress.gradient_norm
                info["linesearch_trials"] = progress.evaluations - evaluations
                info["linesearch_step"] = progress.step
            info |= {"time": progress.seconds - seconds, "scores": {}}
            self._report(info if held is None else info | held.info)

        with self._named():
            learn(chain, training, report, watch)

    def _report(self, info: dict[str, Any]) -> None:
        """Report an iteration; the parser receives unrounded values."""
        self._say(messages.iterated(self.algorithm, info))
        assert self.logparser is not None
        assert self.logparser.last_iteration is not None
        self.logparser.last_iteration.update(info)
        self._say(["\n"])

    # -- messages -----------------------------------------------------------------------------

    def _say(self, lines: Iterable[str]) -> None:
        assert self.logparser is not None
        for line in lines:
            self._event = self.logparser.feed(line)
            self.message(line)

    def message(self, message: str) -> None:
        """Handle a message of the training run; override it in a subclass.

        Parameters
        ----------
        message : str
            Mostly one line with its end, in CRFsuite's format.  It is printed if `verbose`.
        """
        if self.verbose:
            print(message, end="")


class Trainer(BaseTrainer):
    """Train a model on attributes and labels appended one sequence at a time.

    Sequences are encoded as they come, so they need not be kept.  While it trains, it calls
    `message` with every line of the log and, if `verbose`, the methods ``on_...`` with what belongs
    together; override what you want to see.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, optional
        L-BFGS (OWL-QN where c1 is not 0), stochastic gradient descent, averaged perceptron,
        passive-aggressive, or AROW.
    params : dict, optional
        Parameters by CRFsuite's names, as {"c2": 0.1, "feature.minfreq": 2}.
    verbose : bool
        Whether what happens is printed.
    n_threads : int, optional
        Number of threads, all cores by default; results do not depend on it.

    Attributes
    ----------
    model_ : ChainCRF or None
        The model that was trained.
    logparser : TrainLogParser or None
        The parsed log of the last training run.
    keep_best : bool
        Whether the weights with the best mean F1 of the labels on the held-out group are kept
        instead of the last ones; False at first.

    Examples
    --------
    >>> import os, tempfile
    >>> trainer = Trainer(params={"c2": 0.1}, verbose=False)
    >>> trainer.append([["w=the"], ["w=cat"]], ["D", "N"])
    >>> trainer.append([{"w": "a"}, {"w": "dog"}], ["D", "N"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trainer.train(os.path.join(folder, "model"))
    >>> round(trainer.logparser.last_iteration["loss"], 3)
    0.883
    """

    def message(self, message: str) -> None:
        """Handle a message of the training run; calls the ``on_...`` methods if `verbose`."""
        if not self.verbose or self._event is None or self.logparser is None:
            return
        more: list[Any] = []
        if self._event == "featgen_progress":
            more = [self.logparser.featgen_percent]
        elif self._event == "iteration":
            more = [self.logparser.last_iteration]
        getattr(self, f"on_{self._event}")(self.logparser.last_log, *more)

    def on_start(self, log: str) -> None:
        """Handle the start of training."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Handle the progress of feature generation."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Handle the end of feature generation."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """Handle the messages before the first iteration."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """Handle the failure to start training."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Handle the end of an iteration, given as text and as a dict."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Handle the end of the last iteration."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """Handle the end of training."""
        print(log, end="")


def _counts(fitted: Fitted) -> list[tuple[str, int, int]]:
    """Return the numbers of weights, attributes and labels used, and their totals."""
    used = fitted.w[: len(fitted.parameters.attribute)] != 0
    attributes = len(np.unique(fitted.parameters.attribute[used]))
    Y = len(fitted.structure.states)
    return [
        ("features", int(np.count_nonzero(fitted.w)), len(fitted.w)),
        ("attributes", attributes, len(np.unique(fitted.parameters.attribute))),
        ("labels", Y, Y),
    ]
