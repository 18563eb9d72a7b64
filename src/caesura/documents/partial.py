"""Partial labels: incomplete knowledge about the segments of a sequence."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.segments.segmentation import Segment, in_order

__all__ = ["Partial"]


@dataclass(frozen=True, slots=True, init=False)
class Partial:
    """Partial labels of one sequence: known segments, token labels and boundaries.

    Parameters
    ----------
    segments : iterable of (start, end, label)
        Segments that are known, in order. The text between them is unknown, not outside.
    tokens : mapping of int to labels
        For some tokens, the labels that the segment that covers the token may have: one, or a set.
        Where that segment starts and ends is not restricted.
    boundaries, no_boundaries : iterable of int
        Positions with or without a boundary: t lies between the tokens t - 1 and t.

    Raises
    ------
    InvalidInput
        If two statements contradict each other.

    Examples
    --------
    >>> known = Partial(segments=[(0, 2, "author")], tokens={5: {"venue", "title"}}, boundaries=[3])
    >>> known.segments
    (Segment(start=0, end=2, label='author'),)
    >>> known.tokens
    {5: ('title', 'venue')}
    >>> known.check(length=4)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: y.tokens: got 5, expected a whole number, 0 to 3; pass 3 or less
    """

    segments: tuple[Segment, ...]
    tokens: Mapping[int, tuple[str, ...]]  # each with its labels in order
    boundaries: tuple[int, ...]  # sorted
    no_boundaries: tuple[int, ...]  # sorted

    def __init__(
        self,
        segments: Iterable[tuple[int, int, str]] = (),
        tokens: Mapping[int, str | Iterable[str]] | None = None,
        boundaries: Iterable[int] = (),
        no_boundaries: Iterable[int] = (),
    ) -> None:
        if not isinstance(tokens, Mapping | None):
            remedy = "pass labels by the index of their token"
            raise InvalidInput(message("tokens", tokens, "a dict", remedy))
        labels = {whole("tokens", t, 0): _labels(t, y) for t, y in (tokens or {}).items()}
        put = functools.partial(object.__setattr__, self)
        put("segments", tuple(in_order(segments, None)))
        put("tokens", dict(sorted(labels.items())))
        put("boundaries", _positions("boundaries", boundaries))
        put("no_boundaries", _positions("no_boundaries", no_boundaries))
        self._check_agrees()

    @classmethod
    def of(cls, known: Any) -> Partial:
        """Return partial labels unchanged, or read them from the output of `plain`.

        Examples
        --------
        >>> Partial.of({"segments": [[0, 2, "author"]], "tokens": {"5": ["venue"]}}).tokens
        {5: ('venue',)}
        """
        if isinstance(known, Partial):
            return known
        names = [field.name for field in fields(cls)]
        if not isinstance(known, Mapping) or not known.keys() <= set(names):
            expected = f"partial labels: an object with keys among {', '.join(names)}"
            raise InvalidInput(message("known", known, expected, "leave out other keys"))
        given = dict(known)
        if isinstance(given.get("tokens"), Mapping):  # JSON keys are strings
            given["tokens"] = {_index(t): labels for t, labels in given["tokens"].items()}
        try:
            return cls(**given)
        except InvalidInput as error:
            raise error.within("known", ".") from None

    def plain(self) -> dict[str, Any]:
        """Return the partial labels as data for JSON.

        Examples
        --------
        >>> Partial([(0, 2, "author")], {5: "venue"}).plain()
        {'segments': [[0, 2, 'author']], 'tokens': {'5': ['venue']}}
        """
        found = {
            "segments": [list(segment) for segment in self.segments],
            "tokens": {str(t): list(labels) for t, labels in self.tokens.items()},
            "boundaries": list(self.boundaries),
            "no_boundaries": list(self.no_boundaries),
        }
        return {name: value for name, value in found.items() if value}

    def moved(self, place: Callable[[int], int]) -> Partial:
        """Return the partial labels for a finer tokenisation of the sequence.

        Parameters
        ----------
        place : callable
            Returns the new index of the token that begins where an old one did, and the new
            length for the old length.

        Examples
        --------
        >>> Partial([(0, 1, "name")], {1: "O"}).moved({0: 0, 1: 4, 2: 6}.get)
        ... # doctest: +NORMALIZE_WHITESPACE
        Partial(segments=(Segment(start=0, end=4, label='name'),), tokens={4: ('O',), 5: ('O',)},
                boundaries=(), no_boundaries=())
        """
        return Partial(
            [(place(start), place(end), label) for start, end, label in self.segments],
            {u: y for t, y in self.tokens.items() for u in range(place(t), place(t + 1))},
            map(place, self.boundaries),
            map(place, self.no_boundaries),
        )

    def _check_agrees(self) -> None:
        """Raise if two statements contradict each other."""
        there, absent = set(self.boundaries), set(self.no_boundaries)
        for t in sorted(there & absent):
            raise InvalidInput(
                place="no_boundaries",
                got=f"{t}, which is also among boundaries",
                remedy="leave one out",
            )
        for i, (start, end, label) in enumerate(self.segments):
            segment = f"segments[{i}], {(start, end, label)},"
            for t in sorted({start, end} & absent):
                raise InvalidInput(
                    place="no_boundaries",
                    got=f"{t}, where {segment} has a boundary",
                    remedy="leave one out",
                )
            for t in sorted(there.intersection(range(start + 1, end))):
                raise InvalidInput(
                    place="boundaries",
                    got=f"{t}, but {segment} has none inside",
                    remedy="leave one out",
                )
            for t in range(start, end):
                if label not in self.tokens.get(t, (label,)):
                    labels = self.tokens[t]
                    raise InvalidInput(
                        place=f"tokens[{t}]",
                        got=f"{labels}, but {segment} is over it",
                        remedy="leave one out",
                    )

    def check(self, length: int, name: str = "y") -> None:
        """Raise if a statement concerns tokens beyond the length of the sequence."""
        if self.segments and self.segments[-1].end > length:
            came = tuple(self.segments[-1])
            remedy = "count tokens from 0, with exclusive ends"
            raise InvalidInput(message(f"{name}.segments", came, f"end <= {length}", remedy))
        for t in self.tokens:
            whole(f"{name}.tokens", t, 0, length - 1)
        for t in self.boundaries:
            whole(f"{name}.boundaries", t, 0, length)
        for t in self.no_boundaries:
            whole(f"{name}.no_boundaries", t, 1, length - 1)


def _index(t: Any) -> Any:
    """Return a token index that JSON stores as a string."""
    return int(t) if isinstance(t, str) and t.isdecimal() and len(t) < 20 else t


def _labels(t: int, labels: str | Iterable[str]) -> tuple[str, ...]:
    """Return sorted labels, at least one, or raise."""
    given = [labels] if isinstance(labels, str) else labels
    known = list(given) if isinstance(given, Iterable) else []
    if not known or not all(isinstance(label, str) for label in known):
        remedy = "leave out unknown tokens"
        raise InvalidInput(message(f"tokens[{t}]", labels, "a label or several", remedy))
    return tuple(sorted(set(known)))


def _positions(name: str, positions: Iterable[int]) -> tuple[int, ...]:
    """Return sorted boundaries, or raise."""
    if not isinstance(positions, Iterable):
        remedy = "pass the index of the token after each"
        raise InvalidInput(message(name, positions, "a list of whole numbers", remedy))
    return tuple(sorted({whole(name, position, 0) for position in positions}))
