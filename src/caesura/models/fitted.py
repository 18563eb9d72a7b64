"""The states of a model, its structure, and the fitted state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import LARGEST_SCORE
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, TooLarge
from caesura.models.rules import Rules

__all__ = [
    "Blocks",
    "Fitted",
    "Labelling",
    "Structure",
    "blocks_of",
    "check_transitions",
    "layout_bounds",
    "scorer_of",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
MOST_TRANSITIONS = 50_000_000  # limit of the kernels
SHORT = 1000  # shorter bounds are kept, as tables of that size are cheap


class Structure(NamedTuple):
    """The states of a model, and the allowed transitions and lengths."""

    states: tuple[str, ...]  # segment labels, or tags
    bounds: npt.NDArray[np.int32]  # (Y,) longest segment; 0 for no bound
    barred: npt.NDArray[np.uint8]  # (Y, Y) transitions that prediction forbids
    barred_start: npt.NDArray[np.uint8]  # (Y,)
    barred_end: npt.NDArray[np.uint8]  # (Y,)

    @property
    def order(self) -> npt.NDArray[np.int32]:
        """The states sorted by their longest segment, as the kernels expect."""
        longest = np.where(self.bounds == 0, np.iinfo(np.int32).max, self.bounds)
        return np.argsort(-longest.astype(np.int64), kind="stable").astype(np.int32)


class Labelling(NamedTuple):
    """The states derived from the labels of the training data."""

    structure: Structure
    labels: tuple[str, ...]  # segment labels, without the outside label
    scheme: str | None  # tag scheme of the states, if they are tags
    found: str | None  # tag scheme of y


class Fitted(NamedTuple):
    """The fitted state of a model, equal to the content of a model file."""

    structure: Structure
    labels: tuple[str, ...]  # segment labels, without the outside label
    scheme: str | None  # tag scheme of the states, if they are tags
    encoder: Encoder
    parameters: _kernels.Parameters
    w: Floats
    scorer: _kernels.Scorer
    words: _kernels.WordRows  # scores of single words
    rules: Rules = Rules()  # constraints on all segmentations, in training and prediction

    @property
    def spans(self) -> bool:
        """Whether the weights are those of look-back features or beam search."""
        return isinstance(self.parameters, _kernels.SpanModel)

    @classmethod
    def of(
        cls,
        labelling: tuple[Structure, tuple[str, ...], str | None],
        encoder: Encoder,
        parameters: _kernels.Parameters,
        w: Floats,
        rules: Rules,
    ) -> Fitted:
        """Return the fitted state with these weights."""
        structure, labels, scheme = labelling
        scorer = scorer_of(parameters, w, structure)
        words = encoder.word_rows(parameters, scorer)
        return cls(structure, labels, scheme, encoder, parameters, w, scorer, words, rules)


def unscaled(i: int) -> InvalidInput:
    """Return the error for a sequence whose scores overflow."""
    return InvalidInput(
        place=f"X[{i}]",
        got="values that score beyond 1e10",
        expected="scores from -1e10 to 1e10, where sums are exact enough for probabilities, or "
        "to 1e300 for predict, where they are finite",
        remedy="scale the values of its attributes or its array",
    )


def check_learnt(w: Floats) -> None:
    """Raise if weights are so large that `load` would reject them."""
    if not (np.abs(w) <= LARGEST_SCORE).all():  # also true for NaN
        raise InvalidInput(
            place="X",
            got=f"values with which weights grow to {np.abs(w).max():.3g}",
            expected=f"weights from -{LARGEST_SCORE:.0e} to {LARGEST_SCORE:.0e}",
            remedy="scale the values of attributes or arrays, or lower sample_weight and the "
            "learning rate",
        )


class Blocks(NamedTuple):
    """The positions of groups of weights in the weight vector."""

    rows: slice  # attributes with a label or a pattern
    edges: slice  # attributes with a pair of labels or a longer pattern
    transitions: slice
    patterns: slice  # patterns of three or more states, without attributes
    starts: slice
    ends: slice


def check_transitions(states: int) -> None:
    """Raise if there are too many labels or tags, before tables are allocated.

    Examples
    --------
    >>> check_transitions(20_000)
    Traceback (most recent call last):
    caesura.errors.TooLarge: labels: 20,000 labels have 400,000,000 transitions, expected 50,000,000
    or fewer; use fewer labels
    """
    if states**2 > MOST_TRANSITIONS:
        raise TooLarge(
            f"{states:,} labels have {states**2:,} transitions",
            place="labels",
            expected=f"{MOST_TRANSITIONS:,} or fewer",
            remedy="use fewer labels",
        )


def blocks_of(parameters: _kernels.Parameters) -> Blocks:
    """Return the positions of groups of weights in the weight vector."""
    sizes = [
        len(parameters.attribute),
        len(parameters.edge_attribute),
        len(parameters.transition),
        parameters.n_plain,
        len(parameters.start),
        len(parameters.end),
    ]
    ends = np.cumsum(sizes).tolist()
    return Blocks(*(slice(end - size, end) for end, size in zip(ends, sizes, strict=True)))


def layout_bounds(bounds: Ints, longest: int) -> Ints:
    """Return length bounds for the kernels, whose tables have the size of the largest.

    A bound that no sequence is longer than is none, so large ones are dropped where that is so.

    Examples
    --------
    >>> layout_bounds(np.array([5, 0, 2000, 10**9], np.int32), longest=3000).tolist()
    [5, 0, 2000, 0]
    """
    kept: Ints = np.where((bounds > SHORT) & (bounds >= longest), 0, bounds).astype(np.int32)
    return kept


def outside_biases(structure: Structure, outside: Sequence[int], bias: float) -> Floats | None:
    """Return what is added to the score of each segment by its state; None for nothing.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> outside_biases(SimpleNamespace(states=("O", "town")), [0], 1.5).tolist()
    [1.5, 0.0]
    """
    if not bias or not outside:
        return None
    biases = np.zeros(len(structure.states))
    biases[list(outside)] = bias
    return biases


def scorer_of(
    parameters: _kernels.Parameters,
    w: Floats,
    structure: Structure,
    bias: float = 0.0,
    outside: Sequence[int] = (),
    longest: int = 0,
) -> _kernels.Scorer:
    """Compile fixed weights for prediction on sequences up to a length.

    The bias is added to the score of each segment of some states.
    """
    return _kernels.Scorer(
        parameters,
        np.ascontiguousarray(w, np.float64),
        layout_bounds(structure.bounds, longest),
        structure.barred,
        structure.barred_start,
        structure.barred_end,
        outside_biases(structure, outside, bias),
    )
