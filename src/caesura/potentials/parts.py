"""The contents of potentials other than plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.constraints import Constraints

__all__ = ["Parts"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class Parts(NamedTuple):
    """The contents of potentials other than plain arrays, by label index.

    The arrays and lists are those of the potentials themselves.  A target is the index of a label,
    or the number of a label history.
    """

    spans: Floats | None  # (T, L, Y); None if it was never used
    bounds: Ints  # (Y,) longest segments; 0 for no bound
    added: list[tuple[Ints, Ints, Ints, Floats, npt.NDArray[np.uint8]]]
    # chunks of added potentials: starts, ends, targets, scores and flags
    edges: list[tuple[int, int, int, float]]  # position, previous, label, score
    patterns: list[tuple[int, float, int, int]]  # target, score, start, end (-1 for any)
    histories: dict[tuple[int, ...], int]  # history -> target
    constraints: Constraints
