"""Tagger: prediction with a model file, in python-crfsuite's interface."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.compat.items import corpus_of, each, label_of, read
from caesura.compat.learning import states_of
from caesura.errors import InvalidInput, message
from caesura.features import attributes
from caesura.inference import results
from caesura.inference.kernel_calls import called, check_count
from caesura.models.chain import ChainCRF
from caesura.models.encoded import asked, impossible
from caesura.models.estimator import fitted_of
from caesura.models.files import load
from caesura.models.fitted import Fitted
from caesura.models.prediction import MOST_PATHS
from caesura.persistence import refuse_devices
from caesura.segments import Segment

__all__ = ["ModelInfo", "Tagger", "as_bytes", "from_bytes", "token_probabilities", "usable"]


class TaggerError(InvalidInput, RuntimeError):
    """An error of a tagger, both a ValueError and a RuntimeError as in python-crfsuite."""


class _Foreign(InvalidInput, OSError):  # noqa: N818 - a condition, not a bug
    """A model file of CRFsuite; an OSError, so that clients offer to train a new model."""


class ModelInfo(NamedTuple):
    """The labels, attributes and non-zero weights of a model.

    Examples
    --------
    >>> ModelInfo._fields
    ('header', 'labels', 'attributes', 'transitions', 'state_features')
    """

    header: dict[str, str]
    labels: dict[str, str]  # name -> number
    attributes: dict[str, str]  # name -> number
    transitions: dict[tuple[str, str], float]  # (previous label, label) -> weight
    state_features: dict[tuple[str, str], float]  # (attribute, label) -> weight


class Tagger:
    """Predict with a model written by `Trainer.train` or `ChainCRF.save`.

    Examples
    --------
    >>> import os, tempfile
    >>> from caesura.compat import Trainer
    >>> trainer = Trainer(verbose=False)
    >>> trainer.append([["w=the"], ["w=cat"]], ["D", "N"])
    >>> tagger = Tagger()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trainer.train(os.path.join(folder, "model"))
    ...     _ = tagger.open(os.path.join(folder, "model"))
    >>> tagger.tag([["w=the"], ["w=dog"]])
    ['D', 'N']
    >>> round(tagger.marginal("D", 0), 3), round(tagger.probability(["D", "N"]), 3)
    (0.592, 0.342)
    """

    def __init__(self) -> None:
        self._model: ChainCRF | None = None
        self._size = 0
        self._forget()

    def _forget(self) -> None:
        self._length = 0
        self._design: _kernels.Design | None = None
        self._posterior: tuple[_kernels.Problem, _kernels.Posterior] | None = None

    # -- files --------------------------------------------------------------------------------

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; files of CRFsuite are not supported."""
        refuse_devices(name)
        with Path(name).open("rb") as file:
            _refuse_foreign("name", file.read(4))
        self.use(load(name), Path(name).stat().st_size)
        return contextlib.closing(self)

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the content of its file."""
        if not isinstance(value, bytes | bytearray | memoryview):
            expected = "the bytes of a model file"
            raise InvalidInput(message("value", value, expected, "use open(name) for a file"))
        value = bytes(value)
        _refuse_foreign("value", value[:4])
        self.use(from_bytes(value), len(value))
        return contextlib.closing(self)

    def use(self, model: Any, size: int) -> None:
        """Use a fitted model."""
        self._model, self._size = usable("name", model), size
        self._forget()

    def close(self) -> None:
        """Close the model."""
        self._model = None
        self._forget()

    @property
    def model(self) -> ChainCRF:
        """The underlying estimator."""
        if self._model is None:
            raise TaggerError(
                place="tagger",
                got="no model",
                expected="an open one",
                remedy="call open(name) first",
            )
        return self._model

    @property
    def _fitted(self) -> Fitted:
        return fitted_of(self.model)

    # -- one sequence -------------------------------------------------------------------------

    def labels(self) -> list[str]:
        """Return the labels, in order of first occurrence in the training data."""
        return list(self._fitted.structure.states)

    def set(self, xseq: Iterable[Any]) -> None:
        """Set the sequence that `tag`, `probability` and `marginal` apply to."""
        fitted = self._fitted
        part = read(fitted.encoder, [xseq], False, None)
        self._design = fitted.parameters.compile(corpus_of(fitted.encoder, [part], False))
        self._length, self._posterior = len(part.ptr) - 1, None

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """Return the best labels of a sequence, or of the one set before."""
        if xseq is not None:
            self.set(xseq)
        return states_of(self._fitted, self._known(), 1)[0]

    def n_best(self, n: int, xseq: Iterable[Any] | None = None) -> list[tuple[list[str], float]]:
        """Return the n best sequences of labels with their probabilities, the best first.

        Parameters
        ----------
        n : int
            The maximum number.
        xseq : iterable, optional
            The sequence; by default the current one.
        """
        check_count("n", n)
        if xseq is not None:
            self.set(xseq)
        self._known()
        if not self._length:
            return [([], 1.0)]
        problem, posterior = self._asked()
        names, log_z = [list(self._fitted.structure.states)], posterior.log_partition
        most = min(int(n), MOST_PATHS)
        [found] = called(
            _kernels.n_best, [problem], most, 0, 1, Segment, names, results.Path, [None]
        )
        return [
            ([segment.label for segment in path], math.exp(min(score - log_z, 0.0)))
            for path, score in found
        ]

    def probability(self, yseq: Iterable[str | bytes]) -> float:
        """Return the probability of labels for the current sequence."""
        labels = [self._label("yseq", one) for one in each(yseq, "yseq", "a label for each token")]
        self._known()
        if len(labels) != self._length:
            raise InvalidInput(
                place="yseq",
                got=f"{len(labels)} labels",
                expected=f"{self._length}, one for each token",
                remedy="check that they are the labels of this xseq",
            )
        if not labels:
            return 1.0
        problem, posterior = self._asked()
        score = problem.score([(t, t + 1, y) for t, y in enumerate(labels)])
        return math.exp(score - posterior.log_partition)

    def marginal(self, y: str | bytes, pos: int) -> float:
        """Return the marginal probability of a label at a token of the current sequence."""
        label = self._label("y", y)
        self._known()
        if not isinstance(pos, int | np.integer) or not 0 <= pos < self._length:
            expected = f"a token, 0 <= pos < {self._length}"
            raise InvalidInput(message("pos", pos, expected, "count from 0"))
        return float(self._asked()[1].tokens[pos, label])

    def _label(self, name: str, given: str | bytes) -> int:
        states, label = self._fitted.structure.states, label_of(name, given)
        if label not in states:
            expected = f"one of {', '.join(states)}"
            raise TaggerError(message(name, label, expected, "pass one of them"))
        return states.index(label)

    def _known(self) -> _kernels.Design:
        _ = self.model
        if self._design is None:
            raise InvalidInput(
                place="tagger",
                got="no sequence",
                expected="one",
                remedy="call set(xseq) or tag(xseq)",
            )
        return self._design

    def _asked(self) -> tuple[_kernels.Problem, _kernels.Posterior]:
        if self._posterior is None:
            scorer, design = self._fitted.scorer, self._known()
            posterior = asked(0, scorer.posterior, design, False, 1)[0]
            self._posterior = scorer.problem(design, 0), posterior
        return self._posterior

    # -- inspection ---------------------------------------------------------------------------

    def info(self) -> ModelInfo:
        """Return the labels, attributes and weights of the model."""
        fitted = self._fitted
        states, parameters, Y = fitted.structure.states, fitted.parameters, len(self.labels())
        n = len(parameters.attribute)
        first = n + len(parameters.edge_attribute)
        transitions = {
            (states[pair // Y], states[pair % Y]): weight
            for pair, weight in zip(
                parameters.transition.tolist(), fitted.w[first:].tolist(), strict=False
            )
            if weight != 0.0
        }
        kept = np.flatnonzero(fitted.w[:n])
        used, places = np.unique(parameters.attribute[kept], return_inverse=True)
        names = fitted.encoder.names(used.tolist())
        labels, weights = parameters.label[kept].tolist(), fitted.w[kept].tolist()
        state_features = {
            (names[a], states[y]): weight
            for a, y, weight in sorted(zip(places.tolist(), labels, weights, strict=True))
        }
        header = {
            "type": "caesura",
            "size": str(self._size),
            "num_labels": str(Y),
            "num_attrs": str(len(names)),
        }
        numbered = [{name: str(k) for k, name in enumerate(some)} for some in (states, names)]
        return ModelInfo(header, numbered[0], numbered[1], transitions, state_features)

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text to a file or to the standard output."""
        info = self.info()  # raises before the file is created
        if filename is None:
            _write(info, sys.stdout)
            return
        with Path(filename).open("w", encoding="utf-8") as file:
            _write(info, file)


def _write(info: ModelInfo, file: TextIO) -> None:
    """Write a model in CRFsuite's text format."""
    blocks = {
        "FILEHEADER": [f"  {name}: {value}" for name, value in info.header.items()],
        "LABELS": [f"{int(k):7d}: {name}" for name, k in info.labels.items()],
        "ATTRIBUTES": [f"{int(k):7d}: {name}" for name, k in info.attributes.items()],
        "TRANSITIONS": _pairs(1, info.transitions),
        "STATE_FEATURES": _pairs(0, info.state_features),
    }
    for name, lines in blocks.items():
        file.write("\n".join([f"{name} = {{", *lines, "}", "", ""]))


def usable(name: str, model: Any) -> ChainCRF:
    """Return the model, or raise unless all of its features are given attributes."""
    if not isinstance(model, ChainCRF) or fitted_of(model).encoder.features != [attributes[0]]:
        raise InvalidInput(
            place=name,
            got="a model with features of its own",
            expected="one of attributes that are given",
            remedy="use caesura.load(path) and its predict",
        )
    return model


def _refuse_foreign(name: str, begin: bytes) -> None:
    """Raise if a file is in CRFsuite's format."""
    if begin == b"lCRF":
        raise _Foreign(
            place=name,
            got="a model that CRFsuite wrote",
            expected="one of Caesura",
            remedy="train again with caesura.compat.Trainer",
        )


def _pairs(kind: int, weights: dict[tuple[str, str], float]) -> list[str]:
    return [f"  ({kind}) {a} --> {b}: {weight:.6f}" for (a, b), weight in weights.items()]


def token_probabilities(
    fitted: Fitted, design: _kernels.Design, n_threads: int
) -> list[npt.NDArray[np.float64]]:
    """Return the marginal probabilities, of shape (T, Y), of each sequence."""
    found = asked(0, fitted.scorer.posterior, design, False, n_threads)
    for i, one in enumerate(found):
        if one.log_partition == -math.inf:
            raise impossible(i)
    return [one.tokens for one in found]


def as_bytes(model: ChainCRF) -> bytes:
    """Return the content of a model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path)
        return path.read_bytes()


def from_bytes(value: bytes) -> Any:
    """Return the model with this file content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(value)
        return load(path)
