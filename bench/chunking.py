"""Chunking with the attributes of CRFsuite's own example, and python-crfsuite on it."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from caesura.features import attributes
from caesura.models.training import Training

Bags = list[list[list[str]]]
Tags = list[list[str]]
OPTIONS: dict[str, Any] = {
    "features": [attributes[0]],
    "scheme": None,
    "forbid_invalid": "never",
    "boundary_weights": False,
    "all_possible_transitions": False,
    "c2": 1.0,
    "n_threads": 1,
}

# -- data ------------------------------------------------------------------------------------------

Parts = tuple[tuple[str, int], ...]
TEMPLATES: tuple[Parts, ...] = (
    *[(("w", k),) for k in (-2, -1, 0, 1, 2)],
    (("w", -1), ("w", 0)),
    (("w", 0), ("w", 1)),
    *[(("pos", k),) for k in (-2, -1, 0, 1, 2)],
    *[(("pos", k), ("pos", k + 1)) for k in (-2, -1, 0, 1)],
    *[(("pos", k), ("pos", k + 1), ("pos", k + 2)) for k in (-2, -1, 0)],
)


def bags(
    columns: dict[str, Sequence[str]], templates: Sequence[Parts] = TEMPLATES
) -> list[list[str]]:
    """Return the attributes of each token; by default as in CRFsuite's chunking example."""
    T = len(columns["w"])
    out: list[list[str]] = [[] for _ in range(T)]
    for template in templates:
        name = "|".join(f"{field}[{offset}]" for field, offset in template)
        low, high = template[0][1], template[-1][1]
        for t in range(max(0, -low), min(T, T - high)):
            values = "|".join(columns[field][t + offset] for field, offset in template)
            out[t].append(f"{name}={values}")
    out[0].append("__BOS__")
    out[-1].append("__EOS__")
    return out


def corpus(path: Path, sentences: int | None) -> tuple[Bags, Tags]:
    """Return the attributes and the tags of a file of words, parts of speech and chunks."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")[:sentences]
    X, y = [], []
    for block in blocks:
        words, pos, tags = zip(*(line.split() for line in block.split("\n")), strict=True)
        X.append(bags({"w": words, "pos": pos}))
        y.append(list(tags))
    return X, y


# -- python-crfsuite -------------------------------------------------------------------------------


class Peer(pycrfsuite.BaseTrainer):  # type: ignore[misc]
    """python-crfsuite with its log; `between` runs after each iteration, not timed."""

    def __init__(self, between: Callable[[], None] | None = None, **params: Any) -> None:
        super().__init__("lbfgs", {"c2": 1.0, **params})
        self.between = between
        self.losses: list[float] = []
        self.seconds: list[float] = []  # per evaluation, with its share of the optimiser
        self.trials = 1
        self.began = 0.0

    def message(self, message: str) -> None:
        if found := re.match(r"Loss: (\d+\.\d+)", message):
            self.losses.append(float(found[1]))
        elif found := re.match(r"Line search trials: (\d+)", message):
            self.trials = int(found[1])
        elif message.startswith("Seconds required for this iteration"):
            if self.began:
                self.seconds.append((time.thread_time() - self.began) / self.trials)
            if self.between is not None:
                self.between()
            self.began = time.thread_time()


def train_peer(X: Bags, y: Tags, path: str, **params: Any) -> Peer:
    """Train python-crfsuite from attribute lists to a file."""
    peer = Peer(**params)
    for x, tags in zip(X, y, strict=True):
        peer.append(x, tags)
    peer.train(path)
    return peer


def weights_of(path: str, training: Training) -> np.ndarray[Any, Any]:
    """Return the weights of a model of CRFsuite in our order; its text has six digits."""
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    info = tagger.info()
    parameters, states = training.parameters, training.structure.states
    names = training.encoder.names(range(len(training.encoder)))
    pairs = zip(parameters.attribute.tolist(), parameters.label.tolist(), strict=True)
    w = [info.state_features.get((names[a], states[k]), 0.0) for a, k in pairs]
    Y = len(states)
    w += [
        info.transitions.get((states[pair // Y], states[pair % Y]), 0.0)
        for pair in parameters.transition.tolist()
    ]
    return np.array(w)


def alone() -> None:
    """Restart with one thread for numpy, unless that was requested."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    if not one.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | one)
