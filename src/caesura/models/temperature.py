"""Temperature scaling of margin scores to log-probabilities.

A learner with a margin leaves the scale of the scores open. The temperature that makes held-out
labels most likely fixes it::

    maximise over T    sum of  score(gold) / T - ln Z(scores / T)

which is concave in 1 / T, so that a search over one number finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.encoding.spans import SpanEncoder
from caesura.errors import InvalidInput
from caesura.inference.kernel_calls import threads_of
from caesura.inference.problems import automaton_of
from caesura.models.encoded import asked
from caesura.models.estimator import fitted_of
from caesura.models.fitted import Fitted, Labelling, layout_bounds, scorer_of
from caesura.models.lookback import span_fitted
from caesura.models.targets import Rows, gold_of
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.models.model import Model

__all__ = ["cooled", "find_temperature"]

Floats = npt.NDArray[np.float64]
LOWEST, HIGHEST = -6.0, 9.0  # range of the logarithm of the temperature
STEPS = 32  # these shrink the interval to less than a millionth


def cooled(fitted: Fitted, temperature: float) -> Fitted:
    """Return the model whose scores are divided by a temperature."""
    if fitted.spans:
        kernel = cast(_kernels.SpanModel, fitted.parameters).scaled(1.0 / temperature)
        return span_fitted(fitted[:3], cast(SpanEncoder, fitted.encoder), kernel)
    w = fitted.w / temperature
    return Fitted.of(fitted[:3], fitted.encoder, fitted.parameters, w, fitted.rules)


def find_temperature(
    model: Model, documents: Sequence[Document], gold: Sequence[list[Segment]]
) -> float:
    """Return the temperature with the highest likelihood of held-out labels.

    Sequences whose labels the model cannot give are left out.
    """
    fitted = fitted_of(model)
    rows = _possible(model, documents, gold)
    kept = [i for i, some in enumerate(rows) if some is not None]
    if not kept:
        raise InvalidInput(
            place="y",
            got="only labels that the model cannot give",
            expected="possible ones to learn the scale of its scores from",
            remedy="check max_length and the constraints",
        )
    some = [row for row in rows if row is not None]
    if fitted.spans:
        return _span_temperature(model, fitted, [documents[i] for i in kept], some)
    corpus = fitted.encoder.encode([documents[i] for i in kept], False)
    longest = int(corpus.lengths.max(initial=0))
    truth = _gold_score(fitted, corpus, some, longest)
    design, threads = fitted.parameters.compile(corpus), threads_of(model.n_threads)

    def loss(log_temperature: float) -> float:
        share = float(np.exp(-log_temperature))
        scorer = scorer_of(fitted.parameters, fitted.w * share, fitted.structure, longest=longest)
        found = asked(0, scorer.posterior, design, False, threads)
        return float(sum(row.log_partition for row in found)) - share * truth

    return float(np.exp(_least(loss, LOWEST, HIGHEST)))


def _span_temperature(
    model: Model, fitted: Fitted, documents: list[Document], rows: Sequence[Rows]
) -> float:
    """Return the same for look-back features or beam search, from the span graph."""
    encoder, kernel = cast(SpanEncoder, fitted.encoder), cast(_kernels.SpanModel, fitted.parameters)
    corpus = cast(_kernels.SpanCorpus, encoder.encode(documents, False))
    structure, threads = fitted.structure, threads_of(model.n_threads)
    bars = np.ascontiguousarray(structure.bounds), *structure[2:]

    def scorer(share: float) -> _kernels.SpanScorer:
        return _kernels.SpanScorer(kernel.scaled(share), *bars, None, None)

    given = scorer(1.0)
    scores = [given.score(corpus, i, np.ascontiguousarray(row)) for i, row in enumerate(rows)]
    truth = float(np.sum(scores))

    def loss(log_temperature: float) -> float:
        share = float(np.exp(-log_temperature))
        return float(np.sum(scorer(share).log_partition(corpus, threads))) - share * truth

    return float(np.exp(_least(loss, LOWEST, HIGHEST)))


def _least(loss: Callable[[float], float], low: float, high: float) -> float:
    """Return the minimum of a unimodal function, by golden section."""
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = loss(a), loss(b)
    for _ in range(STEPS):
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = loss(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = loss(b)
    return (low + high) / 2


def _possible(
    model: Model, documents: Sequence[Document], gold: Sequence[list[Segment]]
) -> list[Rows | None]:
    """Return the states of each gold segmentation; None where the model forbids it."""
    structure, labels, scheme = fitted_of(model)[:3]
    labelling = Labelling(structure, labels, scheme, scheme)
    out: list[Rows | None] = []
    for i, (document, segments) in enumerate(zip(documents, gold, strict=True)):
        try:
            rows = model.coding.rows(segments, len(document), labelling, f"y[{i}]")
        except KeyError:  # a tag that does not occur in the training data
            out.append(None)
            continue
        bounds, states = structure.bounds[rows[:, 2]], rows[:, 2]
        short = ((bounds == 0) | (rows[:, 1] - rows[:, 0] <= bounds)).all()
        barred = structure.barred[states[:-1], states[1:]].any()
        if len(rows):
            barred |= structure.barred_start[states[0]] or structure.barred_end[states[-1]]
        out.append(rows if short and not barred else None)
    return out


def _gold_score(
    fitted: Fitted, corpus: _kernels.Corpus, rows: Sequence[Rows], longest: int
) -> float:
    """Return the sum of the scores of gold segmentations."""
    structure = fitted.structure
    order = structure._replace(bounds=layout_bounds(structure.bounds, longest)).order
    objective = _kernels.Objective(
        fitted.parameters,
        fitted.parameters.compile(corpus),
        gold_of(corpus.lengths, len(structure.states), rows, {}),
        np.ones(len(rows)),
        None,
        automaton_of(tuple(order.tolist())),
        order,
    )
    columns = [np.ascontiguousarray(some.T) for some in rows]
    return sum(objective.path(fitted.w, i, *some)[0] for i, some in enumerate(columns))
