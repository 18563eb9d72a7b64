"""The structure of a batch: lengths, bounds and constraints, all without gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from caesura.checks import whole
from caesura.constraints import BARRED, FORCED, Constraints
from caesura.errors import InvalidInput, TooLarge, message
from caesura.inference.problems import Rule
from caesura.models.rules import Rules, each_rules, naming_constraint

__all__ = [
    "Ints",
    "Structure",
    "bounds_of",
    "constraints_of",
    "integers",
    "lengths_of",
    "order_of",
    "patterns_of",
    "spans_of",
    "with_rules",
]

Ints = npt.NDArray[np.int64]
MOST_PATTERNS = 20_000_000  # 16 bytes each, with the gradient and the moments of Adam


@dataclass(frozen=True)
class Structure:
    """Lengths, bounds and constraints of a batch, separate from the score tensors."""

    lengths: Ints  # (B,)
    T: int  # padded length of the sequences
    Y: int  # number of labels
    max_length: int | tuple[int | None, ...] | None = None
    order: int = 1
    same_label_adjacent: bool = True
    spans: Ints | None = None  # (n, 4) sequence, start, end, label of scored segments
    forbidden: Ints = field(default_factory=lambda: np.zeros((0, 4), np.int64))  # (m, 4)
    allowed: npt.NDArray[np.bool_] | None = None  # (B, T, Y)
    boundaries: npt.NDArray[np.int8] | None = None  # (B, T) as in caesura.inference.batch.Batch
    rules: tuple[Rule, ...] = ()

    @property
    def B(self) -> int:  # noqa: N802
        """The number of sequences."""
        return len(self.lengths)

    @cached_property
    def bounds(self) -> Ints:
        """The longest segment of each label, (Y,); T where there is no bound."""
        given = self.max_length
        listed = given if isinstance(given, tuple) else (given,) * self.Y
        return np.array([one or max(self.T, 1) for one in listed], np.int64)


def order_of(order: int, Y: int) -> int:
    """Return the order, or raise if it has too many patterns."""
    found, count = whole("order", order, 1, 8), 0
    for k in range(3, found + 2):
        count += Y**k
        if count > MOST_PATTERNS:
            raise TooLarge(
                f"patterns of {k} of {Y} labels have more than {MOST_PATTERNS:,} scores, got "
                f"{found}",
                place="order",
                remedy="lower the order",
            )
    return found


def bounds_of(
    max_length: int | Sequence[int | None] | None, Y: int
) -> int | tuple[int | None, ...] | None:
    """Return the longest segment of each label, checked."""
    if max_length is None:
        return None
    if not isinstance(max_length, Sequence) or isinstance(max_length, str):
        return whole("max_length", max_length, 1)
    given = tuple(max_length)
    if len(given) != Y:
        raise InvalidInput(
            message("max_length", f"{len(given)} bounds", f"one per label, {Y}", "give as many")
        )
    return tuple(None if one is None else whole("max_length", one, 1) for one in given)


def patterns_of(Y: int, order: int) -> list[tuple[int, ...]]:
    """Return all label histories of 3 to order + 1 labels, as the pattern parameters list them.

    Examples
    --------
    >>> patterns_of(2, 2)[:3]
    [(0, 0, 0), (0, 0, 1), (0, 1, 0)]
    """
    return [labels for k in range(3, order + 2) for labels in product(range(Y), repeat=k)]


def lengths_of(lengths: Any, B: int, T: int) -> Ints:
    """Return the number of tokens of each sequence, checked."""
    if lengths is None:
        return np.full(B, T, np.int64)
    given = integers("lengths", lengths, (B,))
    wrong = np.flatnonzero((given < 0) | (given > T))
    if wrong.size:
        b = int(wrong[0])
        raise InvalidInput(
            message(f"lengths[{b}]", int(given[b]), f"0 to {T}", f"the scores have {T} tokens")
        )
    return given


def integers(name: str, value: Any, shape: tuple[int, ...]) -> Ints:
    """Return an integer array of a shape, in which -1 stands for any size."""
    array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInput(
            message(name, f"dtype {array.dtype}", "whole numbers", "convert the array")
        )
    if array.size == 0 and -1 in shape:
        array = array.reshape(tuple(0 if size == -1 else size for size in shape))
    fits = array.ndim == len(shape) and all(
        b in (-1, a) for a, b in zip(array.shape, shape, strict=True)
    )
    if not fits:
        shown = f"({', '.join('n' if size == -1 else str(size) for size in shape)}"
        shown += ",)" if len(shape) == 1 else ")"
        raise InvalidInput(message(name, array.shape, f"the shape {shown}", "reshape the array"))
    return array.astype(np.int64)


def spans_of(spans: Any, lengths: Ints, Y: int) -> Ints:
    """Return the checked positions of single segments, (n, 4)."""
    index = integers("spans[0]", spans, (-1, 4))
    b, s, e, y = index.T
    B = len(lengths)
    own = lengths[np.clip(b, 0, max(B - 1, 0))] if B else np.zeros_like(b)
    wrong = np.flatnonzero((b < 0) | (b >= B) | (s < 0) | (s >= e) | (e > own) | (y < 0) | (y >= Y))
    if wrong.size:
        i = int(wrong[0])
        expected = f"a sequence below {B}, 0 <= start < end <= its length, a label below {Y}"
        place = tuple(index[i].tolist())
        raise InvalidInput(message(f"spans[0][{i}]", place, expected, "correct the place"))
    return index


def with_rules(structure: Structure, constraints: Any) -> Structure:
    """Return the structure with constraints: one dict for all sequences, or a dict for each."""
    if constraints is None:
        return structure
    B, T, Y = structure.B, structure.T, structure.Y
    allowed = np.ones((B, T, Y), bool)
    marks = np.zeros((B, T), np.int8)
    forbidden: list[tuple[int, int, int, int]] = []
    common: tuple[Rule, ...] | None = None
    for b, (rules, name) in zip(range(B), each_rules(constraints, structure.lengths), strict=False):
        length = int(structure.lengths[b])
        with naming_constraint(name):
            made = _constrained(rules, length, Y)
            of_labels = _label_rules(rules, Y)
        if common is not None and of_labels != common:
            raise InvalidInput(
                "at_most_once, exactly_once and ordered differ from those of the sequences "
                "before it",
                place=name,
                remedy="ask about sequences with other rules in a batch of their own",
            )
        common = of_labels
        if made.allowed is not None:
            allowed[b, :length] = made.allowed.astype(bool)
        both = (made.boundary & FORCED > 0) & (made.boundary & BARRED > 0)
        signs = (made.boundary & FORCED > 0).astype(np.int8) - (made.boundary & BARRED > 0)
        marks[b, :length] = signs[:length]
        allowed[b, :length][both[:length]] = False  # required and forbidden: nothing is possible
        forbidden += [(b, *place) for place in made.forbidden]
    return replace(
        structure,
        allowed=None if allowed.all() else allowed,
        boundaries=marks if marks.any() else None,
        forbidden=np.array(forbidden, np.int64).reshape(-1, 4),
        rules=common or (),
    )


def constraints_of(allowed: npt.NDArray[Any], marks: npt.NDArray[Any] | None) -> dict[str, Any]:
    """Return the constraints of one sequence from partial labels of tokens and boundaries.

    Parameters
    ----------
    allowed : array of shape (T, Y)
        Labels that each token may have.
    marks : array of shape (T + 1,), optional
        FORCED and BARRED boundaries.

    Examples
    --------
    >>> import numpy as np
    >>> constraints_of(np.array([[1, 1], [0, 1]]), np.array([0, 1, 0]))
    {'allowed': {1: [1]}, 'boundaries': [1], 'no_boundaries': []}
    """
    some = np.flatnonzero(~allowed.all(axis=1)).tolist()
    inner = np.zeros(0, np.int64) if marks is None else marks[1:-1]
    return {
        "allowed": {t: np.flatnonzero(allowed[t]).tolist() for t in some},
        "boundaries": (np.flatnonzero(inner & FORCED) + 1).tolist(),
        "no_boundaries": (np.flatnonzero(inner & BARRED) + 1).tolist(),
    }


def _constrained(rules: Rules, length: int, Y: int) -> Constraints:
    made = Constraints(np.zeros(length + 1, np.uint8), Y)
    for segment in rules.required:
        made.require(*_segment("required", segment, length, Y))
    made.forbidden += [_segment("forbidden", one, length, Y) for one in rules.forbidden]
    made.mark("boundaries", FORCED, rules.boundaries)
    made.mark("no_boundaries", BARRED, rules.no_boundaries)
    for token, labels in rules.allowed.items():
        whole("allowed", token, 0, length - 1)
        made.allow([token], [whole("allowed", y, 0, Y - 1) for y in labels])
    return made


def _segment(name: str, segment: Sequence[Any], length: int, Y: int) -> tuple[int, int, int]:
    start, end, label = segment
    whole(name, end, 1, length)
    return whole(name, start, 0, end - 1), int(end), whole(name, label, 0, Y - 1)


def _label_rules(rules: Rules, Y: int) -> tuple[Rule, ...]:
    def labels(name: str, some: Sequence[Any]) -> list[int]:
        return sorted(whole(name, y, 0, Y - 1) for y in some)

    must = labels("exactly_once", rules.exactly_once)
    once = [y for y in labels("at_most_once", rules.at_most_once) if y not in must]
    found: list[Rule] = [("at most once", (y,)) for y in once]
    found += [("exactly once", (y,)) for y in must]
    order = tuple(whole("ordered", y, 0, Y - 1) for y in rules.ordered)
    if len(set(order)) < len(order):
        raise InvalidInput(
            f"a label occurs twice in {order!r}", place="ordered", remedy="name each label once"
        )
    return (*found, ("ordered", order)) if len(order) > 1 else tuple(found)
