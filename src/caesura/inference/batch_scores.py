"""Checked scores of a batch of sequences; see `caesura.inference.batch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import check_scores, whole
from caesura.errors import InvalidInput, message
from caesura.inference.problems import Rule

__all__ = ["MOST_INDEX", "Array", "Batch", "float_array", "with_shape"]

Array = npt.NDArray[Any]
MOST_INDEX = int(np.iinfo(np.int32).max)


class Batch:
    """The scores of a batch of sequences.

    Give `tokens`, `segments` or both; everything else is optional.  A linear chain is ``tokens``
    with ``max_length=1``; a semi-Markov model is `segments`; a model with segments of any length
    is `tokens` with `starts`, `ends` and `spans`.

    Parameters
    ----------
    tokens : array of shape (B, T, Y) or (sum of lengths, Y), optional
        Score of token t lying inside a segment labelled y.
    lengths : array of shape (B,), optional
        Number of tokens of each sequence, T by default.  Ragged arrays need it.
    segments : array of shape (B, T, L, Y) or (sum of lengths, L, Y), optional
        ``segments[b, t, l, y]`` is the score of the segment ``[t, t + l + 1)`` with label y.  No
        segment is then longer than L tokens.
    starts, ends : arrays of the shape of `tokens`, optional
        Score of a segment labelled y that starts with token t, and that ends with token t.
    spans : array of shape (n, 4), optional
        Sequence, start, end and label of single segments that have a score of their own.
    span_scores : array of shape (n,), optional
        The scores of `spans`, added to the other scores of these segments.
    transition : array of shape (Y, Y) or (B, Y, Y), optional
        ``transition[previous, label]``, between adjacent segments.
    start, end : arrays of shape (Y,) or (B, Y), optional
        Score of the label of the first segment and of the last.
    max_length : int, or one int or None per label, optional
        Longest segment.  Not given, it is L where `segments` are given and unbounded otherwise.
    allowed : boolean array of the shape of `tokens`, optional
        Whether token t may lie in a segment labelled y.
    boundaries : array of whole numbers of shape (B, T) or (sum of lengths,), optional
        Positive where a segment must start with token t, negative where none may, 0 where both are
        possible.  The entry of the first token is not read.
    same_label_adjacent : bool
        Whether two adjacent segments may carry the same label.
    patterns : sequence of label tuples, optional
        Different label histories, each of two labels or more.
    pattern_scores : array of shape (n,), optional
        The scores of `patterns`: each is added for every segment whose label, with those of the
        segments before it, ends in the pattern.
    rules : sequence of (str, tuple of int), optional
        Rules on the labels of every sequence: ``("at most once", (y,))``, ``("exactly once",
        (y,))`` and ``("ordered", (a, b, ...))``, see `caesura.Potentials.constrain`.

    Notes
    -----
    Scores are float32 or float64 arrays, or anything that `numpy.asarray` can view without a copy,
    such as a torch tensor on the CPU.  The dtype of `tokens` (or of `segments`, where there are no
    tokens) is the dtype of the answers; other arrays are converted to it.  Sums are computed in
    float64 in any case.  Arrays are read when a question is asked, not before.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.inference.batch import Batch, batch_best, batch_log_partition
    >>> scores = np.zeros((2, 3, 2), np.float32)
    >>> scores[:, :2, 1] = 1.0
    >>> batch = Batch(scores, lengths=[3, 2], max_length=1)
    >>> batch_log_partition(batch).round(3)
    array([3.32 , 2.627], dtype=float32)
    >>> batch_best(batch).labels
    array([1, 1, 0, 1, 1], dtype=int32)
    """

    def __init__(
        self,
        tokens: npt.ArrayLike | None = None,
        *,
        lengths: npt.ArrayLike | None = None,
        segments: npt.ArrayLike | None = None,
        starts: npt.ArrayLike | None = None,
        ends: npt.ArrayLike | None = None,
        spans: npt.ArrayLike | None = None,
        span_scores: npt.ArrayLike | None = None,
        transition: npt.ArrayLike | None = None,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        max_length: Any = None,
        allowed: npt.ArrayLike | None = None,
        boundaries: npt.ArrayLike | None = None,
        same_label_adjacent: bool = True,
        patterns: Sequence[Sequence[int]] | None = None,
        pattern_scores: npt.ArrayLike | None = None,
        rules: Sequence[Rule] = (),
    ) -> None:
        main = _main_array(tokens, segments)
        self.dtype = main.dtype
        by_token, Y = self._layout(main, tokens is not None, lengths)
        B, L = len(self.lengths), 0
        if segments is not None:
            given = main if tokens is None else float_array("segments", segments, self.dtype)
            L = given.shape[-2] if given.ndim >= 2 else 0
            self.segments: Array | None = with_shape("segments", given, (*by_token, max(L, 1), Y))
        else:
            self.segments = None

        def optional(name: str, value: npt.ArrayLike | None, *shapes: tuple[int, ...]) -> Any:
            if value is None:
                return None
            return with_shape(name, float_array(name, value, self.dtype), *shapes)

        self.tokens: Array | None = None if tokens is None else main
        self.starts: Array | None = optional("starts", starts, (*by_token, Y))
        self.ends: Array | None = optional("ends", ends, (*by_token, Y))
        self.transition: Array | None = optional("transition", transition, (Y, Y), (B, Y, Y))
        self.start: Array | None = optional("start", start, (Y,), (B, Y))
        self.end: Array | None = optional("end", end, (Y,), (B, Y))
        index = self._span_index(spans, span_scores is not None, Y)
        self.span_scores: Array | None = optional(
            "span_scores", span_scores, (0 if index is None else len(index),)
        )
        histories = _histories(patterns, pattern_scores is not None, Y)
        self.pattern_scores: Array | None = optional(
            "pattern_scores", pattern_scores if histories else None, (len(histories),)
        )
        if self.pattern_scores is not None:  # the kernel does not check them
            check_scores("pattern_scores", self.pattern_scores)
        self.n_labels = Y
        kernel = _kernels.Batch32 if self.dtype == np.float32 else _kernels.Batch64
        self.kernel = kernel(
            n_labels=Y,
            n_rows=int(np.prod(by_token)),
            lengths=self.lengths,
            rows=self._rows,
            tokens=self.tokens,
            segments=self.segments,
            longest=L,
            starts=self.starts,
            ends=self.ends,
            allowed=None if allowed is None else _marks("allowed", allowed, (*by_token, Y)),
            boundaries=None if boundaries is None else _marks("boundaries", boundaries, by_token),
            span_index=index,
            span_scores=self.span_scores,
            transition=self.transition,
            start=self.start,
            end=self.end,
            bounds=_bounds(max_length, Y, L),
            same_label_adjacent=bool(same_label_adjacent),
            patterns=histories,
            pattern_scores=self.pattern_scores,
            rules=list(rules),
        )

    def _layout(
        self, main: Array, has_tokens: bool, lengths: npt.ArrayLike | None
    ) -> tuple[tuple[int, ...], int]:
        """Set the lengths and first rows; return the shape of token arrays, and Y."""
        name = "tokens" if has_tokens else "segments"
        padded = main.ndim == (3 if has_tokens else 4)
        if not padded and main.ndim != (2 if has_tokens else 3):
            expected = "(B, T, Y) or (sum of lengths, Y)"
            if not has_tokens:
                expected = "(B, T, L, Y) or (sum of lengths, L, Y)"
            raise InvalidInput(
                message(name, main.shape, f"the shape {expected}", "reshape the array")
            )
        if main.shape[-1] < 1:
            raise InvalidInput(
                message(name, main.shape, "at least one label", "give an array with Y > 0")
            )
        if lengths is None:
            if not padded:
                raise InvalidInput(
                    message("lengths", None, f"one per sequence, as {name} is ragged", "give them")
                )
            given = np.full(main.shape[0], main.shape[1], np.int64)
        else:
            given = _whole_numbers("lengths", lengths)
            if given.ndim != 1 or (padded and len(given) != main.shape[0]):
                expected = f"the shape ({main.shape[0] if padded else 'B'},)"
                raise InvalidInput(
                    message("lengths", given.shape, expected, "give one length per sequence")
                )
        most = main.shape[1] if padded else main.shape[0]
        wrong = np.flatnonzero((given < 0) | (given > min(most, MOST_INDEX)))
        if wrong.size:
            b = int(wrong[0])
            raise InvalidInput(
                message(f"lengths[{b}]", int(given[b]), f"0 to {most}", f"{name} has {most} tokens")
            )
        if not padded and given.sum() != most:
            raise InvalidInput(
                message(
                    "lengths",
                    f"a sum of {int(given.sum())}",
                    f"{most}, the number of rows of {name}",
                    "give the length of each sequence",
                )
            )
        self.lengths: npt.NDArray[np.int32] = given.astype(np.int32)
        self._rows: npt.NDArray[np.int64] = (
            np.arange(len(given)) * most if padded else np.cumsum(given) - given
        )
        return main.shape[: 2 if padded else 1], int(main.shape[-1])

    def _span_index(
        self, spans: npt.ArrayLike | None, has_scores: bool, Y: int
    ) -> npt.NDArray[np.int32] | None:
        """Check the positions of single segments."""
        if (spans is not None) != has_scores:
            raise InvalidInput(
                place="spans, span_scores", got="one without the other", remedy="give both, or none"
            )
        if spans is None:
            return None
        index = _whole_numbers("spans", spans)
        if index.ndim != 2 or index.shape[1] != 4:
            raise InvalidInput(
                message(
                    "spans", index.shape, "the shape (n, 4)", "give sequence, start, end, label"
                )
            )
        b, s, e, y = index.T
        B = len(self.lengths)
        own = self.lengths[np.clip(b, 0, max(B - 1, 0))] if B else np.zeros(len(b), np.int32)
        wrong = (b < 0) | (b >= B) | (s < 0) | (s >= e) | (e > own) | (y < 0) | (y >= Y)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            expected = (
                f"a sequence below {B}, 0 <= start < end <= its length, and a label below {Y}"
            )
            raise InvalidInput(
                message(f"spans[{i}]", tuple(index[i].tolist()), expected, "correct the place")
            )
        return np.ascontiguousarray(index, np.int32)


def _histories(
    patterns: Sequence[Sequence[int]] | None, has_scores: bool, Y: int
) -> list[list[int]]:
    """Check the label histories."""
    if (patterns is not None) != has_scores:
        raise InvalidInput(
            place="patterns, pattern_scores",
            got="one without the other",
            remedy="give both, or none",
        )
    histories = [[int(y) for y in pattern] for pattern in patterns or ()]
    for i, history in enumerate(histories):
        if len(history) < 2 or not all(0 <= y < Y for y in history):
            expected = f"two labels or more, each below {Y}"
            raise InvalidInput(
                message(f"patterns[{i}]", tuple(history), expected, "correct the pattern")
            )
    if len({tuple(history) for history in histories}) < len(histories):
        raise InvalidInput("a pattern occurs twice", place="patterns", remedy="add up its scores")
    return histories


def _main_array(tokens: npt.ArrayLike | None, segments: npt.ArrayLike | None) -> Array:
    """Return the array that determines the shape and the dtype."""
    if tokens is None and segments is None:
        raise InvalidInput(
            place="tokens, segments", got="neither", remedy="give one of them, or both"
        )
    if tokens is not None:
        return float_array("tokens", tokens)
    return float_array("segments", segments)


def float_array(name: str, value: Any, dtype: np.dtype[Any] | None = None) -> Array:
    """Return scores as a contiguous array, a view wherever one is possible."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors with a gradient
        raise InvalidInput(
            f"cannot be read as an array: {error}", place=name, remedy="pass an array of numbers"
        ) from None
    if array.dtype not in (np.float32, np.float64) and array.dtype.kind not in "iub":
        raise InvalidInput(
            message(name, f"dtype {array.dtype}", "float32 or float64", "convert the array")
        )
    if dtype is None:
        dtype = array.dtype if array.dtype == np.float32 else np.dtype(np.float64)
    return np.ascontiguousarray(array, dtype)


def with_shape(name: str, array: Array, *shapes: tuple[int, ...]) -> Array:
    """Return the array, or raise unless it has one of the shapes."""
    if array.shape not in shapes:
        expected = "the shape " + " or ".join(str(shape) for shape in shapes)
        raise InvalidInput(message(name, array.shape, expected, "reshape the array"))
    return array


def _whole_numbers(name: str, value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return whole numbers as an array."""
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInput(
            message(name, f"dtype {array.dtype}", "whole numbers", "convert the array")
        )
    return array.astype(np.int64)


def _marks(name: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return token marks: booleans as uint8, integers by their sign as int8."""
    array = with_shape(name, np.asarray(value), shape)
    kinds, expected = ("b", "booleans") if name == "allowed" else ("iub", "whole numbers")
    if array.dtype.kind not in kinds:
        raise InvalidInput(message(name, f"dtype {array.dtype}", expected, "convert the array"))
    if name == "allowed":
        return np.ascontiguousarray(array).view(np.uint8)
    return np.ascontiguousarray(np.sign(array.astype(np.int64)), np.int8)


def _bounds(max_length: Any, Y: int, L: int) -> npt.NDArray[np.int32]:
    """Return the longest segment of each label, 0 for none."""
    most = L or MOST_INDEX
    if max_length is None or isinstance(max_length, int | np.integer):
        given = [max_length] * Y
    else:
        try:
            given = list(max_length)
        except TypeError:
            raise InvalidInput(
                message("max_length", max_length, "a whole number, or one per label", "give one")
            ) from None
        if len(given) != Y:
            raise InvalidInput(
                message("max_length", f"{len(given)} bounds", f"one per label, {Y}", "give as many")
            )
    return np.array(
        [L if bound is None else whole("max_length", bound, 1, most) for bound in given], np.int32
    )
