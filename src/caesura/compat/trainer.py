"""Trainer: python-crfsuite's way to a model file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.compat.items import Read, corpus_of, each, new_encoder, read
from caesura.compat.learning import OPTIONS, Instances, fitted_chain, learn, states_of, training_of
from caesura.compat.settings import ALGORITHMS, HELP, algorithm_of, named_as, value_of
from caesura.errors import InvalidInput, message
from caesura.inference.door import threads_of
from caesura.learning import Progress
from caesura.models.chain import ChainCRF
from caesura.models.structure import Fitted
from caesura.models.training import Training

__all__ = ["LabelScore", "Trainer", "TrainingLog"]

_THEIRS = {ours: name for name, ours in OPTIONS.items()}


class LabelScore(NamedTuple):
    """How well one label is found in the held-out group.

    Examples
    --------
    >>> LabelScore(1, 2, 1, 0.5, 1.0, 0.667).model
    2
    """

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainingLog:
    """What a training run said.

    Examples
    --------
    >>> TrainingLog().iterations
    []
    """

    def __init__(self) -> None:
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []


class Trainer:
    """Train a model on attributes and labels that are appended one sequence at a time.

    Sequences are encoded as they come, so they need not be kept.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd"}, optional
        L-BFGS (OWL-QN where c1 is not 0), or stochastic gradient descent.
    params : dict, optional
        Parameters by CRFsuite's names, as {"c2": 0.1, "feature.minfreq": 2}.
    verbose : bool
        Whether what happens is printed.
    n_threads : int, optional
        All cores where not given; the result does not depend on it.

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

    def __init__(
        self,
        algorithm: str | None = None,
        params: Mapping[str, Any] | None = None,
        verbose: bool = True,
        n_threads: int | None = None,
    ) -> None:
        self.verbose = verbose
        self.n_threads = n_threads
        self.logparser: TrainingLog | None = None
        self.model_: ChainCRF | None = None
        self.select(algorithm or "lbfgs")
        self.set_params(params or {})
        self.clear()

    # -- data ---------------------------------------------------------------------------------

    def append(self, xseq: Iterable[Any], yseq: Iterable[str], group: int = 0) -> None:
        """Add a sequence of attributes, its labels, and the group that it belongs to."""
        labels = list(each(yseq, "yseq", "a list of labels"))
        if any(not isinstance(label, str) for label in labels):
            raise InvalidInput(message("yseq", yseq, "a list of labels", "give strings"))
        part = read(self._encoder, [xseq], True, None)
        length = len(part.ptr) - 1
        if length != len(labels):
            raise InvalidInput(
                f"yseq: got {len(labels)} labels, expected {length}, one for each token of xseq"
            )
        known = self._labels
        self._parts.setdefault(group, []).append(part)
        self._tags.setdefault(group, []).extend(
            [known.setdefault(label, len(known)) for label in labels]
        )

    def clear(self) -> None:
        """Forget all sequences."""
        self._encoder = new_encoder()
        self._labels: dict[str, int] = {}
        self._parts: dict[int, list[Read]] = {}
        self._tags: dict[int, list[int]] = {}

    def _instances(self, groups: Iterable[int]) -> Instances:
        chosen = sorted(groups)
        tags = [tag for group in chosen for tag in self._tags[group]]
        parts = [part for group in chosen for part in self._parts[group]]
        return Instances(self._encoder, list(self._labels), parts, np.array(tags, np.int32))

    # -- parameters ---------------------------------------------------------------------------

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose an algorithm; its parameters are set to their defaults."""
        if type != "crf1d":
            raise InvalidInput(message("type", type, "'crf1d'", "leave it out"))
        self.algorithm = algorithm_of(algorithm)
        self._params: dict[str, Any] = dict(ALGORITHMS[self.algorithm])

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
        """Set a parameter; a string is read as what the parameter is."""
        self._check(name)
        self._params[name] = value_of(name, value, self._params[name])

    def help(self, name: str) -> str:
        """Say what a parameter does."""
        self._check(name)
        return HELP[name]

    def _check(self, name: str) -> None:
        if name not in self._params:
            expected = f"one of {', '.join(self._params)} for {self.algorithm}"
            raise InvalidInput(message("name", name, expected, "correct it or select another"))

    # -- training -----------------------------------------------------------------------------

    def train(self, model: str | os.PathLike[str] = "", holdout: int = -1) -> None:
        """Train, and write the model into a file of Caesura's own format.

        Parameters
        ----------
        model : path
            Where to; empty: nowhere.  The model is in `model_` too.
        holdout : int
            A group that is left out of training, and predicted after each iteration.
        """
        whole("holdout", holdout, -1)
        began = time.perf_counter()
        self.logparser = log = TrainingLog()
        self._tell("start", f"Holdout group: {holdout + 1}\n\n" if holdout >= 0 else "")
        chain = fitted_chain({**self._params, "algorithm": self.algorithm}, self.n_threads)
        with named_as(_THEIRS):
            chain._check()
        training = training_of(chain, self._instances(self._parts.keys() - {holdout}))
        log.featgen_num_features = len(training.parameters)
        log.featgen_seconds = time.perf_counter() - began
        self._tell(
            "featgen_end",
            f"Number of features: {log.featgen_num_features}\n"
            f"Seconds required: {log.featgen_seconds:.3f}\n\n",
        )
        self._tell("prepared", "".join(f"{k}: {v}\n" for k, v in self._params.items()) + "\n")
        began = time.perf_counter()
        held = (
            _Held(self._instances([holdout]), threads_of(self.n_threads))
            if (holdout in self._parts)
            else None
        )
        with named_as(_THEIRS):
            learn(chain, training, [self._iteration(training, held)], held)
        log.training_seconds = time.perf_counter() - began
        end = f"Total seconds required for training: {log.training_seconds:.3f}\n\n"
        self._tell("optimization_end", f"Ended because of: {chain.status_}\n{end}")
        began = time.perf_counter()
        if os.fspath(model):
            chain.save(model)
        log.storing_seconds = time.perf_counter() - began
        self.model_ = chain
        self._tell("end", f"Seconds required for storing: {log.storing_seconds:.3f}\n\n")

    def _iteration(self, training: Training, held: _Held | None) -> Any:
        """Return what is called after each iteration."""
        log = self.logparser
        assert log is not None
        before = (0.0, 0)

        def each(progress: Progress) -> None:
            nonlocal before
            seconds, evaluations = before
            before = (progress.seconds, progress.evaluations)
            info: dict[str, Any] = {"num": progress.iteration, "loss": progress.objective}
            if np.isfinite(progress.gradient_norm):
                info["error_norm"] = progress.gradient_norm
            info |= {
                "active_features": progress.n_active,
                "linesearch_trials": progress.evaluations - evaluations,
                "linesearch_step": progress.step,
                "time": progress.seconds - seconds,
                "scores": {},
            }
            info |= {} if held is None else held.info
            log.iterations.append(info)
            log.last_iteration = info
            self._tell("iteration", _text(info), info)

        return each

    # -- what is said -------------------------------------------------------------------------

    def _tell(self, event: str, text: str, *more: Any) -> None:
        if self.logparser is not None:
            self.logparser.log.append(text)
        self.message(text)
        if self.verbose:
            getattr(self, f"on_{event}")(text, *more)

    def message(self, message: str) -> None:
        """Receive every message, also where `verbose` is False; to be overridden."""

    def on_start(self, log: str) -> None:
        """Receive what is said at the start."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Receive what is said when the data is encoded."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """Receive what is said before the first iteration."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Receive what is said after an iteration, as a text and as a dict."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Receive what is said after the last iteration."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """Receive what is said at the end."""
        print(log, end="")


class _Held:
    """The held-out group, predicted after each iteration."""

    def __init__(self, data: Instances, n_threads: int) -> None:
        self._data, self._threads = data, n_threads
        self._corpus = corpus_of(data.encoder, data.parts, grow=False)
        self.info: dict[str, Any] = {}

    def __call__(self, fitted: Fitted) -> None:
        data = self._data
        index = {label: k for k, label in enumerate(data.labels)}
        paths = states_of(fitted, fitted.parameters.compile(self._corpus), self._threads)
        found = np.array([index[label] for path in paths for label in path], np.int32)
        self.info = _scores(data, found)


def _scores(data: Instances, found: npt.NDArray[np.int32]) -> dict[str, Any]:
    """Return how many labels are right, by CRFsuite's names."""
    Y, gold = len(data.labels), data.tags
    right = found == gold
    match = np.bincount(gold[right], minlength=Y).tolist()
    model = np.bincount(found, minlength=Y).tolist()
    ref = np.bincount(gold, minlength=Y).tolist()
    scores, sums = {}, [0.0, 0.0, 0.0]
    for label, m, n, r in zip(data.labels, match, model, ref, strict=True):
        if not r:  # not in the held-out group: not judged
            scores[label] = LabelScore(m, n, r, None, None, None)
            continue
        p, q = m / n if n else 0.0, m / r
        f1 = 2.0 * p * q / (p + q) if p + q else 0.0
        scores[label] = LabelScore(m, n, r, p, q, f1)
        sums = [a + b for a, b in zip(sums, (p, q, f1), strict=True)]
    offsets = data.offsets
    wrong = np.concatenate([[0], np.cumsum(~right)])
    whole = int((wrong[offsets[1:]] == wrong[offsets[:-1]]).sum())
    item = Fraction(int(right.sum()), max(len(gold), 1))
    instance = Fraction(whole, max(len(offsets) - 1, 1))
    return {
        "scores": scores,
        **dict(zip(("avg_precision", "avg_recall", "avg_f1"), [s / Y for s in sums], strict=True)),
        "item_accuracy": item,
        "item_accuracy_float": float(item),
        "instance_accuracy": instance,
        "instance_accuracy_float": float(instance),
    }


def _text(info: Mapping[str, Any]) -> str:
    """Return an iteration as CRFsuite would say it."""
    lines = [f"***** Iteration #{info['num']} *****", f"Loss: {info['loss']:.6f}"]
    if "error_norm" in info:
        lines.append(f"Error norm: {info['error_norm']:.6f}")
    lines += [
        f"Active features: {info['active_features']}",
        f"Line search trials: {info['linesearch_trials']}",
        f"Line search step: {info['linesearch_step']:.6f}",
        f"Seconds required for this iteration: {info['time']:.3f}",
    ]
    if "avg_f1" in info:
        averages = ", ".join(f"{info[k]:.6f}" for k in ("avg_precision", "avg_recall", "avg_f1"))
        lines += [
            f"Macro-average precision, recall, F1: ({averages})",
            f"Item accuracy: {info['item_accuracy_float']:.4f}",
            f"Instance accuracy: {info['instance_accuracy_float']:.4f}",
        ]
    return "\n".join([*lines, "", ""])
