"""The states of a model, what is possible between them, and what fitting leaves behind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.encoding import Encoder
from caesura.inference.problems import automaton_of

__all__ = ["Fitted", "Structure", "scorer_of"]

Floats = npt.NDArray[np.float64]


class Structure(NamedTuple):
    """The states of a model and what is possible between them."""

    states: tuple[str, ...]  # labels of segments, or tags
    bounds: npt.NDArray[np.int32]  # (Y,) longest segment, 0 for none
    barred: npt.NDArray[np.uint8]  # (Y, Y) in prediction
    barred_start: npt.NDArray[np.uint8]  # (Y,)
    barred_end: npt.NDArray[np.uint8]  # (Y,)

    @property
    def order(self) -> npt.NDArray[np.int32]:
        """The states by their longest segment, as the kernels want them."""
        longest = np.where(self.bounds == 0, np.iinfo(np.int32).max, self.bounds)
        return np.argsort(-longest.astype(np.int64), kind="stable").astype(np.int32)


class Fitted(NamedTuple):
    """What fitting leaves behind; a model file holds the same."""

    structure: Structure
    labels: tuple[str, ...]  # of segments, without the outside label
    scheme: str | None  # of the tags, where states are tags
    encoder: Encoder
    parameters: _kernels.Parameters
    w: Floats
    scorer: _kernels.Scorer


def scorer_of(
    parameters: _kernels.Parameters, w: Floats, structure: Structure
) -> _kernels.Scorer:
    """Return fixed weights, ready to score."""
    order = structure.order
    return _kernels.Scorer(
        parameters,
        np.ascontiguousarray(w, np.float64),
        structure.barred,
        structure.barred_start,
        structure.barred_end,
        automaton_of(tuple(order.tolist())),
        order,
    )
