"""Labels, label histories and segments, and their numbering."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura.checks import listed, whole
from caesura.errors import InvalidInput, message

__all__ = ["Label", "LabelIndex"]

Label = str | int
Ints = npt.NDArray[np.int32]


class LabelIndex:
    """The labels of a sequence, with the number of each label and each label history.

    Parameters
    ----------
    length : int
        Number of tokens.
    labels : tuple of str
        The names of the labels.
    """

    def __init__(self, length: int, labels: tuple[str, ...]) -> None:
        self.length = length
        self.labels = labels
        self._index = {name: y for y, name in enumerate(labels)}
        self._histories: dict[tuple[int, ...], int] = {}  # history -> target

    def label_index(self, label: Label, argument: str = "label") -> int:
        """Return the index of a label given by name or index; errors name the argument.

        Examples
        --------
        >>> import caesura
        >>> caesura.Potentials(3, ["name", "other"]).label_index("other")
        1
        """
        if isinstance(label, str) and label in self._index:
            return self._index[label]
        index = isinstance(label, int | np.integer) and not isinstance(label, bool)
        if index and 0 <= label < len(self.labels):  # type: ignore[operator]
            return int(label)
        raise InvalidInput(
            message(
                argument,
                label,
                f"one of the labels {list(self.labels)!r} or an index below {len(self.labels)}",
                "correct the label",
            )
        )

    def _label_set(self, argument: str, labels: Iterable[Label]) -> list[int]:
        if isinstance(labels, str | int):
            labels = [labels]
        found = listed(argument, labels, "a list of labels")
        return [self.label_index(label, argument) for label in found]

    def _target(self, argument: str, label: Label | tuple[Label, ...]) -> int:
        """Return the number of a label (its index) or of a history (from Y on)."""
        if not isinstance(label, tuple):
            return self.label_index(label, argument)
        if not label:
            raise InvalidInput(
                place=argument,
                got="an empty history",
                expected="at least one label",
                remedy="leave it out",
            )
        history = tuple(self.label_index(part, argument) for part in label)
        if len(history) == 1:
            return history[0]
        return self._histories.setdefault(history, len(self.labels) + len(self._histories))

    def _targets(self, labels: Any) -> Ints:
        if isinstance(labels, str | int | tuple | np.integer):
            labels = [labels]
        if isinstance(labels, np.ndarray) and np.issubdtype(labels.dtype, np.integer):
            bad = (labels < 0) | (labels >= len(self.labels))
            if bad.any():
                self.label_index(int(labels[bad][0]), "label")
            return labels.astype(np.int32)
        found = listed("label", labels, "a label or a list of labels")
        return np.array([self._target("label", label) for label in found], np.int32)

    def segment_index(
        self, segment: tuple[int, int, Label], argument: str = "segment"
    ) -> tuple[int, int, int]:
        """Return a segment with its label index, or raise.

        Examples
        --------
        >>> import caesura
        >>> caesura.Potentials(3, ["name", "other"]).segment_index((0, 2, "other"))
        (0, 2, 1)
        """
        try:
            start, end, label = segment
        except (TypeError, ValueError):
            raise InvalidInput(
                message(
                    argument,
                    segment,
                    "segments (start, end, label)",
                    "pass tuples such as (0, 2, 'A')",
                )
            ) from None
        whole(argument, start, 0)
        whole(argument, end, 0)
        if not 0 <= start < end <= self.length:
            raise InvalidInput(
                place=argument,
                got=f"the span [{start}, {end})",
                expected=f"0 <= start < end <= {self.length} (end is exclusive)",
                remedy="count tokens from 0",
            )
        return int(start), int(end), self.label_index(label, argument)
