"""Documents: the tokens of one sequence, and what is known about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.segments import Segment

__all__ = ["Document"]


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """The tokens of one sequence, and what is known about them.

    Examples
    --------
    >>> Document(("New", "Zealand")).tokens
    ('New', 'Zealand')
    """

    tokens: tuple[str, ...]
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None  # character span of each token, half-open
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)  # as {"pos": ("JJ", "NN")}
    attributes: Sequence[Any] | None = None  # of each token: strings, or a dict with values
    dense: npt.NDArray[np.float64] | None = None  # (T, D)
    segments: tuple[Segment, ...] | None = None

    def __len__(self) -> int:
        return len(self.tokens)
