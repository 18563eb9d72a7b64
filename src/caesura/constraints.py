"""The constraints on a segmentation, by label index; `Potentials.constrain` fills them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from caesura.checks import listed, whole
from caesura.errors import InvalidInput

__all__ = ["BARRED", "FORCED", "Constraints"]

FORCED, BARRED = 1, 2  # bits of a boundary's mark, as in cpp/lattice/lattice.hpp
Marks = npt.NDArray[np.uint8]


@dataclass
class Constraints:
    """Hold the constraints on one sequence."""

    boundary: Marks  # (T + 1,) of FORCED | BARRED
    n_labels: int
    allowed: Marks | None = None  # (T, Y) may token t lie in a segment labelled y
    forbidden: list[tuple[int, int, int]] = field(default_factory=list)  # (start, end, label)
    once: dict[int, bool] = field(default_factory=dict)  # label -> whether it must occur
    ordered: list[tuple[int, ...]] = field(default_factory=list)
    # Other rules by name, see `caesura.inference.problems.Rule`. If labels are tags, these rules
    # constrain the segments that the tags spell: `spelling` then holds the segment label of each
    # tag, and a matrix joined[a, b] that tells whether tag b continues the segment of tag a.
    tables: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    spelling: tuple[tuple[int, ...], Marks] | None = None

    @property
    def length(self) -> int:
        """The number of tokens."""
        return len(self.boundary) - 1

    def copy(self) -> Constraints:
        """Return an independent copy."""
        return Constraints(
            self.boundary.copy(),
            self.n_labels,
            None if self.allowed is None else self.allowed.copy(),
            list(self.forbidden),
            dict(self.once),
            list(self.ordered),
            list(self.tables),
            self.spelling,
        )

    def require(self, start: int, end: int, label: int) -> None:
        """Require a segment: both boundaries, none between them, and its label."""
        self.mark("required", FORCED, [b for b in (start, end) if 0 < b < self.length])
        self.mark("required", BARRED, range(start + 1, end))
        self.allow(range(start, end), [label])

    def mark(self, argument: str, mark: int, positions: Iterable[int]) -> None:
        """Require or forbid inner boundaries."""
        for position in listed(argument, positions, "a list of positions"):
            whole(argument, position, 0)
            if not 0 < position < self.length:
                raise InvalidInput(
                    place=argument,
                    got=f"boundary {position}",
                    expected=f"an inner one, 1 to {self.length - 1}",
                    remedy="leave it out",
                )
            self.boundary[position] |= mark

    def allow(self, tokens: Iterable[int], labels: Iterable[int]) -> None:
        """Restrict tokens to these labels."""
        if self.allowed is None:
            self.allowed = np.ones((self.length, self.n_labels), np.uint8)
        mask = np.zeros(self.n_labels, np.uint8)
        mask[list(labels)] = 1
        for token in tokens:
            self.allowed[token] &= mask
