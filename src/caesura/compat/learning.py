"""From labelled attributes to a chain with the objective of CRFsuite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.compat.items import Read, corpus_of
from caesura.corpora.schemes import TagCounts, detect_scheme
from caesura.encoding import Encoder
from caesura.errors import InvalidInput
from caesura.features import attributes
from caesura.inference.problems import automaton_of
from caesura.learning import LEARNERS, Progress
from caesura.models.chain import ChainCRF
from caesura.models.schemes import tags_of
from caesura.models.structure import Fitted, Structure
from caesura.models.training import Training, train

__all__ = ["OPTIONS", "Instances", "fitted_chain", "learn", "states_of", "training_of"]

Ints = npt.NDArray[np.int32]
OPTIONS = {  # the same things by Caesura's names
    "feature.minfreq": "min_freq",
    "feature.possible_states": "all_possible_states",
    "feature.possible_transitions": "all_possible_transitions",
    "c1": "c1",
    "c2": "c2",
    "max_iterations": "max_iterations",
    "num_memories": "memory",
    "epsilon": "epsilon",
    "period": "period",
    "delta": "delta",
}
NO_LIMIT = 2**31 - 1  # CRFsuite's number for "as many as it takes"


class Instances(NamedTuple):
    """Labelled sequences as numbers."""

    encoder: Encoder
    labels: Sequence[str]
    parts: Sequence[Read]
    tags: Ints  # (tokens,) of all sequences

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each sequence begins, and where the last ends."""
        lengths = np.concatenate([[0], *(np.diff(part.offsets) for part in self.parts)])
        return np.cumsum(lengths, dtype=np.int64)


def fitted_chain(settings: Mapping[str, Any], n_threads: int | None) -> ChainCRF:
    """Return the estimator that these parameters of CRFsuite ask for, not fitted yet."""
    options = {ours: settings[name] for name, ours in OPTIONS.items() if name in settings}
    if options.get("max_iterations") == NO_LIMIT:
        options["max_iterations"] = None
    return ChainCRF(
        features=[attributes[0]],
        scheme=None,
        forbid_invalid="never",
        boundary_weights=False,
        learner=next(k for k, v in LEARNERS.items() if v.peer == settings["algorithm"]),
        n_threads=n_threads,
        **options,
    )


def training_of(model: ChainCRF, data: Instances) -> Training:
    """Return everything that learning needs, with the weights that CRFsuite would have."""
    corpus = corpus_of(data.encoder, data.parts, grow=True)
    offsets, tags, Y = data.offsets, data.tags, len(data.labels)
    if not len(tags):
        raise InvalidInput("trainer: got no tokens, expected some; append labelled sequences first")
    lengths = np.diff(offsets)
    starts = (np.arange(len(tags)) - np.repeat(offsets[:-1], lengths)).astype(np.int32)
    gold = _kernels.Gold(lengths, Y, offsets, starts, starts + 1, tags)
    none = np.zeros(Y, np.uint8)
    bounds = np.ones(Y, np.int32)
    structure = Structure(tuple(data.labels), bounds, np.zeros((Y, Y), np.uint8), none, none.copy())
    pairs = _pairs(tags, offsets, Y)
    parameters = _parameters(model, corpus, gold, structure, data.encoder, pairs)
    order = structure.order
    objective = _kernels.Objective(
        parameters,
        parameters.compile(corpus),
        gold,
        np.ones(len(lengths)),
        None,
        automaton_of(tuple(order.tolist())),
        order,
    )
    scheme = _scheme(structure.states, tags, offsets, pairs)
    known = {tag.label for tag in tags_of(structure.states, scheme, model.outside) if tag.label}
    w0 = np.zeros(len(parameters))
    labels = tuple(sorted(known))
    return Training(structure, labels, scheme, data.encoder, parameters, objective, w0)


def _parameters(
    model: ChainCRF,
    corpus: _kernels.Corpus,
    gold: _kernels.Gold,
    structure: Structure,
    encoder: Encoder,
    pairs: npt.NDArray[np.int64],
) -> _kernels.Parameters:
    """Return the weights: under min_freq, those of rare pairs of labels are left out too.

    What is merely possible has the frequency 0, so any min_freq leaves it out.
    """
    Y, cut = len(structure.states), model.min_freq > 0
    made = _kernels.Parameters(
        corpus,
        gold,
        Y,
        encoder.attributes,
        structure.bounds,
        None,
        None,
        None,
        float(model.min_freq),
        bool(model.all_possible_states) and not cut,
        bool(model.all_possible_transitions) and not cut,
        False,
    )
    if not cut:
        return made
    kept = np.flatnonzero(pairs.ravel() >= model.min_freq).astype(np.int32)
    transition = np.intersect1d(made.transition, kept).astype(np.int32)
    return made.with_structure(structure.bounds, transition, made.start)


def _pairs(tags: Ints, offsets: npt.NDArray[np.int64], Y: int) -> npt.NDArray[np.int64]:
    """Return how often each label follows each, of shape (Y, Y)."""
    inner = np.ones(len(tags), bool)
    inner[offsets[:-1][np.diff(offsets) > 0]] = False
    after = np.flatnonzero(inner)
    codes = tags[after - 1].astype(np.int64) * Y + tags[after]
    return np.bincount(codes, minlength=Y * Y).reshape(Y, Y)


def _scheme(
    states: Sequence[str],
    tags: Ints,
    offsets: npt.NDArray[np.int64],
    pairs: npt.NDArray[np.int64],
) -> str:
    """Return the scheme of the tags, for those who want segments; plain if they are of none."""
    counts = TagCounts()
    counts.lines = dict.fromkeys(states, 1)
    full = np.diff(offsets) > 0
    for k in tags[offsets[:-1][full]].tolist():
        counts.pairs[None, states[k]] += 1
    for k in tags[offsets[1:][full] - 1].tolist():
        counts.pairs[states[k], None] += 1
    seen = np.argwhere(pairs).tolist()
    counts.pairs.update(Counter({(states[a], states[b]): int(pairs[a, b]) for a, b in seen}))
    try:
        return detect_scheme(counts)
    except InvalidInput:
        return "plain"


def learn(
    model: ChainCRF,
    training: Training,
    each: Iterable[Callable[[Progress], bool | None]],
    watch: Callable[[Fitted], None] | None,
) -> None:
    """Fit the model; `watch` sees it after each iteration and changes nothing."""
    seen = 0

    def watched(w: npt.NDArray[np.float64]) -> float:
        nonlocal seen
        seen += 1
        watch(training.fitted(w))  # type: ignore[misc]
        return float(seen)  # always better than before: the last weights are kept

    result = train(model, training, None if watch is None else watched, None, tuple(each))
    model._set_fitted(training.fitted(result.w))
    model.history_, model.status_ = list(result.history), result.status


def states_of(fitted: Fitted, design: _kernels.Design, n_threads: int) -> list[list[str]]:
    """Return the best labels of each sequence."""
    paths = fitted.scorer.best(design, None, n_threads)
    return [states or [] for states in paths.tokens(list(fitted.structure.states))]
