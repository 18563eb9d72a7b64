"""Models with look-back features, and models with beam search.

::

    X, y -> SpanEncoder -> SpanCorpus -> SpanModel -> SpanPerceptron | SpanObjective -> weights
    X    -> SpanEncoder -> SpanCorpus -> SpanScorer -> segments, probabilities

The features of a span and of an arc between two adjacent spans are 64-bit keys, so weights are kept
in one table of keys in place of `Parameters`.  All else is as for other models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.encoding.spans import SpanEncoder
from caesura.errors import InvalidInput
from caesura.features import looks_back
from caesura.models.fitted import Fitted, Structure
from caesura.models.rules import Rules
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.models.model import Model

__all__ = [
    "SpanAnswers",
    "check_sums",
    "is_span_model",
    "own_features",
    "refuse",
    "restored_spans",
    "span_arrays",
    "span_fitted",
    "unconstrained",
]

Floats = npt.NDArray[np.float64]
Own = Callable[[int, list[tuple[int, int, int]], tuple[int, int, int]], list[str]]


def is_span_model(model: Model, features: Sequence[Any]) -> bool:
    """Return whether a model uses look-back features or beam search."""
    return model.beam is not None or looks_back(features)


def refuse(fitted: Fitted, what: str) -> None:
    """Raise for an operation that these models do not support."""
    if fitted.spans:
        raise InvalidInput(
            "not available for models with features that look back or with a beam",
            place=what,
            remedy="leave these features and the beam out, or ask something else",
        )


class SpanAnswers:
    """A fitted model with its constraints, for prediction.

    Its methods are those of `_kernels.Scorer`, without conditions: constraints are refused before.
    """

    def __init__(
        self,
        model: _kernels.SpanModel,
        structure: Structure,
        beam: int | None,
        bias: Floats | None = None,
        own: Own | None = None,
    ) -> None:
        bars = np.ascontiguousarray(structure.bounds), *structure[2:]
        self.kernel = _kernels.SpanScorer(model, *bars, bias, beam)
        self.own = own

    def best(
        self,
        design: _kernels.SpanCorpus,
        reading: _kernels.Reading | None,
        n_threads: int,
        conditions: None = None,
    ) -> _kernels.Paths:
        """Return the best segments of each sequence."""
        return self.kernel.best(design, reading, n_threads, self.own)

    def confident(
        self,
        design: _kernels.SpanCorpus,
        reading: _kernels.Reading,
        n_threads: int,
        conditions: None = None,
    ) -> _kernels.Paths:
        """Return the best segments with the probability of each."""
        self._check_sums("predict_confident")
        return self.kernel.confident(design, reading, n_threads)

    def posterior(
        self,
        design: _kernels.SpanCorpus,
        want_entropy: bool,
        n_threads: int,
        conditions: None = None,
    ) -> list[_kernels.SpanPosterior]:
        """Return the probabilities of each sequence."""
        self._check_sums("probabilities")
        return self.kernel.posterior(design, want_entropy, n_threads)

    def n_best(self, design: Any, *arguments: Any) -> Any:
        """Return the best segmentations of each sequence with their probabilities."""
        self._check_sums("predict_n_best")
        return self.kernel.n_best(design, *arguments[:-1])

    def sample(self, design: Any, *arguments: Any) -> Any:
        """Return segmentations drawn for each sequence."""
        self._check_sums("sample")
        return self.kernel.sample(design, *arguments[:-1])

    @property
    def has_sums(self) -> bool:
        """Whether probabilities are available, not only the best segments."""
        return self.kernel.depth <= 1 and self.own is None

    def _check_sums(self, what: str) -> None:
        if not self.has_sums:
            raise _only_search(what)


def check_sums(fitted: Fitted, what: str) -> None:
    """Raise if probabilities are not available for the features of a model."""
    kernel, encoder = cast(_kernels.SpanModel, fitted.parameters), cast(SpanEncoder, fitted.encoder)
    if kernel.depth > 1 or encoder.own:
        raise _only_search(what)


def _only_search(what: str) -> InvalidInput:
    return InvalidInput(
        "not available for features that look back at two segments or more, for which there is "
        "only search",
        place=what,
        remedy="use predict, or leave these features out",
    )


def unconstrained() -> InvalidInput:
    """Return the error for constraints on these models."""
    return InvalidInput(
        place="constraints",
        got="some for a model with features that look back or with a beam",
        expected="none",
        remedy="leave them out",
    )


def span_fitted(
    labelling: tuple[Structure, tuple[str, ...], str | None],
    encoder: SpanEncoder,
    model: _kernels.SpanModel,
) -> Fitted:
    """Return the fitted state, whose weights are in a key table."""
    structure, labels, scheme = labelling
    untyped: tuple[Any, Any, Any] = model, SpanAnswers(model, structure, None), None
    parameters, scorer, words = untyped
    return Fitted(
        structure, labels, scheme, encoder, parameters, model.weights, scorer, words, Rules()
    )


def span_arrays(fitted: Fitted) -> dict[str, npt.NDArray[Any]]:
    """Return the keys, weights and column values for a file."""
    kernel, encoder = cast(_kernels.SpanModel, fitted.parameters), cast(SpanEncoder, fitted.encoder)
    n_labels = len(fitted.structure.states)
    table = kernel.weights.reshape(-1, n_labels)
    kept = table.any(axis=1)
    arrays = {"keys": kernel.keys[kept], "weights": table[kept].reshape(-1)}
    arrays |= {f"texts{k}": kernel.texts(k) for k in range(kernel.n_texts)}
    return arrays | {f"encoder.{name}": a for name, a in encoder.values_state().items()}


def restored_spans(
    labelling: tuple[Structure, tuple[str, ...], str | None],
    features: Sequence[Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    boundary_weights: bool,
) -> Fitted:
    """Return the fitted state from the output of `span_arrays`."""
    encoder, prefix = SpanEncoder(features), "encoder."
    encoder.restore_values(
        {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    )
    kernel = encoder.new_model(len(labelling[0].states), boundary_weights)
    texts = [np.asarray(arrays[f"texts{k}"], np.uint64) for k in range(kernel.n_texts)]
    keys, weights = arrays["keys"].astype(np.uint64), arrays["weights"].astype(np.float64)
    kernel.restore(keys, weights, texts)
    return span_fitted(labelling, encoder, kernel)


def own_features(encoder: SpanEncoder, states: Sequence[str], tokens: Any) -> Own | None:
    """Return the user-defined features as one callback of the kernels."""
    features = encoder.own
    if not features:
        return None

    def said(
        i: int, before: list[tuple[int, int, int]], segment: tuple[int, int, int]
    ) -> list[str]:
        path = [Segment(s, e, states[y]) for s, e, y in before]
        here = Segment(segment[0], segment[1], states[segment[2]])
        document: Document = tokens(i)
        return [text for one in features for text in one.said(document, path, here)]

    return said
