"""From labelled attributes to a chain with the objective of CRFsuite."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.compat.items import Read, corpus_of
from caesura.compat.settings import options_of
from caesura.corpora.schemes import TagCounts, detect_scheme, odd_tags
from caesura.encoding import Encoder
from caesura.errors import InvalidInput
from caesura.features import attributes
from caesura.inference.problems import automaton_of
from caesura.learning import Progress
from caesura.models.chain import ChainCRF
from caesura.models.encoded import asked, impossible
from caesura.models.estimator import set_fitted
from caesura.models.fitted import Fitted, Structure
from caesura.models.schemes import tags_of
from caesura.models.training import Training, train
from caesura.models.warm_start import carried, merged

__all__ = ["Instances", "chain_of", "learn", "states_of", "training_of"]

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


class Instances(NamedTuple):
    """Labelled sequences, encoded as integers."""

    encoder: Encoder
    labels: Sequence[str]
    parts: Sequence[Read]
    tags: Ints  # (tokens,) concatenated
    weight: Floats  # (n,) weight of each sequence

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each sequence begins, and where the last ends."""
        lengths = np.concatenate([[0], *(np.diff(part.offsets) for part in self.parts)])
        return np.cumsum(lengths, dtype=np.int64)


def chain_of(algorithm: str, settings: Mapping[str, Any], n_threads: int | None) -> ChainCRF:
    """Return the unfitted estimator that corresponds to CRFsuite's parameters."""
    return ChainCRF(
        features=[attributes[0]],
        scheme=None,
        forbid_invalid="never",
        boundary_weights=False,
        n_threads=n_threads,
        **options_of(algorithm, settings),
    )


def training_of(
    model: ChainCRF, data: Instances, before: Fitted | None = None, near: bool = False
) -> Training:
    """Compile the training data, with the same set of weights as CRFsuite.

    Learning begins at the weights of an earlier model, whose labels are the first of the data, and
    `near` makes the penalties count from there.
    """
    corpus = corpus_of(data.encoder, data.parts, grow=True)
    offsets, tags, Y = data.offsets, data.tags, len(data.labels)
    if not len(tags):
        raise InvalidInput(
            place="trainer",
            got="no tokens",
            expected="some",
            remedy="append labelled sequences first",
        )
    lengths = np.diff(offsets)
    starts = (np.arange(len(tags)) - np.repeat(offsets[:-1], lengths)).astype(np.int32)
    gold = _kernels.Gold(lengths, Y, offsets, starts, starts + 1, tags)
    none = np.zeros(Y, np.uint8)
    bounds = np.ones(Y, np.int32)
    structure = Structure(tuple(data.labels), bounds, np.zeros((Y, Y), np.uint8), none, none.copy())
    pairs = _pairs(tags, offsets, Y)
    parameters = _parameters(model, corpus, gold, structure, data.encoder, pairs)
    if before is not None:
        parameters = merged(parameters, before, structure, data.encoder.attributes)
    order = structure.order
    objective = _kernels.Objective(
        parameters,
        parameters.compile(corpus),
        gold,
        data.weight,
        None,
        automaton_of(tuple(order.tolist())),
        order,
    )
    scheme = _scheme(structure.states, tags, offsets, pairs)
    known = {tag.label for tag in tags_of(structure.states, scheme, model.outside) if tag.label}
    w0 = np.zeros(len(parameters)) if before is None else carried(parameters, before, structure)
    found = (structure, tuple(sorted(known)), scheme, data.encoder, parameters, objective)
    return Training(*found, w0, near and before is not None)


def _parameters(
    model: ChainCRF,
    corpus: _kernels.Corpus,
    gold: _kernels.Gold,
    structure: Structure,
    encoder: Encoder,
    pairs: npt.NDArray[np.int64],
) -> _kernels.Parameters:
    """Return the weights; `feature.minfreq` also drops rare label pairs.

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
    """Return the count of each pair of adjacent labels, of shape (Y, Y)."""
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
    """Return the tag scheme for segment output; "plain", with a warning, if they follow none."""
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
        scheme, odd = odd_tags(counts)
        if odd:
            first = int(np.flatnonzero(np.isin(tags, [states.index(tag) for tag in odd]))[0])
            sequence = int(np.searchsorted(offsets, first, side="right")) - 1
            where = f"token {first - offsets[sequence]} of training sequence {sequence}"
            warnings.warn(
                f"yseq: got the tag {states[tags[first]]!r} ({where}, both counted from 0) among "
                f"{scheme} tags, so that the segments of `Tagger.model` and `CRF.model_` treat all "
                "tags as plain labels; predicted tags are not affected; correct it if it is a "
                "mistake",
                stacklevel=4,
            )
        return "plain"


def learn(
    model: ChainCRF,
    training: Training,
    each: Callable[[Progress], None],
    watch: Callable[[Floats], float | None],
) -> None:
    """Fit the model.

    `watch` sees the weights of each iteration before `each` is told of it. Where it returns scores,
    the weights with the best score are kept; where it returns None, the last ones.
    """
    scores: list[float | None] = []

    def watched(w: Floats) -> float:
        scores.append(watch(w))
        return float(len(scores)) if scores[-1] is None else scores[-1]

    result = train(model, training, watched, None, (each,))
    set_fitted(model, training.fitted(result.w))
    model.history_ = [
        progress._replace(dev_score=score)
        for progress, score in zip(result.history, scores, strict=True)
    ]
    model.status_ = result.status


def states_of(fitted: Fitted, design: _kernels.Design, n_threads: int) -> list[list[str]]:
    """Return the best labels of each sequence."""
    paths = asked(0, fitted.scorer.best, design, None, n_threads)
    found: list[list[str]] = paths.tokens(list(fitted.structure.states))
    if None in found:
        raise impossible(found.index(None))  # type: ignore[arg-type]
    return found
