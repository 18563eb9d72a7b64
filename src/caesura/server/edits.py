"""The annotations of one text, and the actions that change them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from caesura.documents import Partial
from caesura.errors import InvalidInput, message
from caesura.segments import Segment
from caesura.segments.segmentation import in_order

__all__ = ["STATUSES", "State", "edited", "read_state"]

STATUSES = ("open", "done", "partial", "skipped")
Span = tuple[int, int]


class State(NamedTuple):
    """The annotations of a text, by tokens.

    Examples
    --------
    >>> State().status
    'open'
    """

    status: str = "open"
    segments: tuple[Segment, ...] = ()  # corrected or accepted by the annotator
    outside: tuple[Span, ...] = ()  # tokens that the annotator marked as outside

    def partial(self) -> Partial:
        """Return the annotations as partial labels.

        Examples
        --------
        >>> State("partial", (), ((0, 2),)).partial().tokens
        {0: ('O',), 1: ('O',)}
        """
        outside = {t: "O" for start, end in self.outside for t in range(start, end)}
        return Partial(self.segments, outside)

    def plain(self) -> dict[str, Any]:
        """Return the annotations as data for JSON."""
        outside = [list(span) for span in self.outside]
        return {"status": self.status, "segments": [list(s) for s in self.segments]} | (
            {"outside": outside} if outside else {}
        )


def read_state(plain: Mapping[str, Any], length: int) -> State:
    """Return the annotations from the output of `State.plain`.

    Examples
    --------
    >>> read_state({"status": "done", "segments": [[0, 1, "town"]]}, 1).segments
    (Segment(start=0, end=1, label='town'),)
    """
    if plain.get("status") not in STATUSES:
        raise InvalidInput(message("status", plain.get("status"), f"one of {STATUSES}", "send one"))
    outside = tuple((int(start), int(end)) for start, end in plain.get("outside", ()))
    return State(plain["status"], _segments(plain.get("segments", ()), length), outside)


def edited(state: State, operations: Iterable[Any], length: int, labels: Collection[str]) -> State:
    """Return the state after some operations.

    What is said last wins: a segment that a new one overlaps loses the tokens that they share,
    and one that is cut in two keeps its longer part.

    Parameters
    ----------
    state : State
        Before.
    operations : iterable of dict
        ``{"op": "label", "start", "end", "label"}``, ``{"op": "outside", "start", "end"}``,
        ``{"op": "free", "start", "end"}`` (nothing is known any more), ``{"op": "accept",
        "segments"}`` (these are all), or ``{"op": "status", "status"}``.
    length : int
        Number of tokens.
    labels : collection of str
        The labels that may be used.

    Examples
    --------
    >>> before = State(segments=(Segment(0, 3, "street"),))
    >>> edited(before, [{"op": "label", "start": 2, "end": 4, "label": "town"}], 5, ["town"])[1]
    (Segment(start=0, end=2, label='street'), Segment(start=2, end=4, label='town'))
    """
    for i, one in enumerate(operations):
        if not isinstance(one, Mapping) or one.get("op") not in tuple(_OPERATIONS):
            expected = f"an operation, one of {', '.join(_OPERATIONS)}"
            raise InvalidInput(message(f"ops[{i}]", one, expected, "send one of these"))
        state = _OPERATIONS[one["op"]](state, one, length, labels)
    return state


def _label(state: State, one: Mapping[str, Any], length: int, labels: Collection[str]) -> State:
    start, end = _span(one, length)
    label = one.get("label")
    if label not in labels:
        raise InvalidInput(message("label", label, "a label of the project", "add it first"))
    cleared = _free(state, one, length, labels)
    segments = sorted([*cleared.segments, Segment(start, end, str(label))])
    return cleared._replace(segments=tuple(segments))


def _outside(state: State, one: Mapping[str, Any], length: int, labels: Collection[str]) -> State:
    cleared = _free(state, one, length, labels)
    return cleared._replace(outside=tuple(sorted([*cleared.outside, _span(one, length)])))


def _free(state: State, one: Mapping[str, Any], length: int, labels: Collection[str]) -> State:
    span = _span(one, length)
    segments = []
    for segment in state.segments:
        left, right = _rest((segment.start, segment.end), span)
        kept = left if left[1] - left[0] >= right[1] - right[0] else right
        if kept[0] < kept[1]:
            segments.append(Segment(*kept, segment.label))
    pieces = [part for old in state.outside for part in _rest(old, span)]
    return State("open", tuple(segments), tuple(part for part in pieces if part[0] < part[1]))


def _accept(state: State, one: Mapping[str, Any], length: int, labels: Collection[str]) -> State:
    segments = _segments(one.get("segments", ()), length)
    for segment in segments:
        if segment.label not in labels:
            expected = "a label of the project"
            raise InvalidInput(message("segments", segment.label, expected, "add it first"))
    return State("done", segments)


def _status(state: State, one: Mapping[str, Any], length: int, labels: Collection[str]) -> State:
    if one.get("status") not in STATUSES[:1] + STATUSES[2:]:
        expected = "open, partial or skipped"
        raise InvalidInput(message("status", one.get("status"), expected, "send one of these"))
    return state._replace(status=str(one["status"]))


_OPERATIONS = {
    "label": _label,
    "outside": _outside,
    "free": _free,
    "accept": _accept,
    "status": _status,
}


def _span(one: Mapping[str, Any], length: int) -> Span:
    start, end = one.get("start"), one.get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= length:
        expected = f"0 <= start < end <= {length}"
        raise InvalidInput(message("start, end", (start, end), expected, "count tokens from 0"))
    return start, end


def _rest(old: Span, new: Span) -> tuple[Span, Span]:
    """Return the parts of a span before and after another one; they may be empty."""
    left = (old[0], min(old[1], new[0]))
    right = (max(old[0], new[1]), old[1])
    return (
        (left, (0, 0))
        if old[1] <= new[0]
        else ((0, 0), right)
        if new[1] <= old[0]
        else (
            left,
            right,
        )
    )


def _segments(given: Any, length: int) -> tuple[Segment, ...]:
    if not isinstance(given, list | tuple):
        expected = "a list of [start, end, label]"
        raise InvalidInput(message("segments", given, expected, "send a list"))
    for one in given:
        if not isinstance(one, list | tuple) or [type(x) for x in one] != [int, int, str]:
            expected = "[start, end, label] by tokens"
            raise InvalidInput(message("segments", one, expected, "send these three"))
    return tuple(in_order([Segment(*one) for one in given], length))
