"""Results of inference: paths and marginals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels, render
from caesura.checks import share, whole
from caesura.errors import CaesuraError, InvalidInput
from caesura.inference.problems import problem_of
from caesura.potentials import Label, Potentials
from caesura.segments import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Marginals", "Path"]

Floats = npt.NDArray[np.float64]


class _Scored(NamedTuple):
    segments: list[Segment]
    score: float


class Path(_Scored):
    """A segmentation and its score.

    It is the tuple (segments, score).  One that inference answered also knows its potentials, so
    that ``print`` and notebooks show its tokens and the exact probability of each segment.  These
    are computed when they are shown.

    Attributes
    ----------
    segments : list of Segment
    score : float

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "other"], tokens=["Ann", "Lee", "sings"])
    >>> p.add(0, 2, "name", 3.0)
    >>> p.emission[2, 1] = 1.0
    >>> segments, score = path = caesura.viterbi(p)
    >>> segments[0], score
    (Segment(start=0, end=2, label='name'), 4.0)
    >>> print(path)
    [0, 2)  Ann Lee  name   0.715 ███████▏
    [2, 3)  sings    other  0.653 ██████▌
    """

    _origin: tuple[Potentials, _kernels.Problem | None] | None = None

    @classmethod
    def about(cls, p: Potentials, segments: list[Segment], score: float) -> Path:
        """Return the path of a result for p."""
        path = cls(segments, score)
        path._origin = p, problem_of(p)
        return path

    def shown(self) -> render.Shown:
        """Return what is displayed, with probabilities unless the potentials have changed.

        Examples
        --------
        >>> Path([Segment(0, 1, "name")], 4.0).shown().segments
        [Segment(start=0, end=1, label='name')]
        """
        if self._origin is None:
            return render.Shown(self.segments)
        p, problem = self._origin
        indexed = [p.segment_index(segment, "segments") for segment in self.segments]
        probabilities, near = None, 1e-9 * max(1.0, abs(self.score))
        if indexed and problem is not None and abs(problem.score(indexed) - self.score) <= near:
            lookup = _kernels.Lookup(problem, 0)
            probabilities = [lookup.segment(*segment) for segment in indexed]
        return render.Shown(self.segments, p.tokens, probabilities, p.labels)

    def __str__(self) -> str:
        return render.table(self, colour=False)

    def _repr_html_(self) -> str:
        """Show the segments in colour in a notebook, with their probabilities on hover."""
        return render.html(self)

    def __reduce__(self) -> tuple[type[Path], tuple[list[Segment], float]]:
        return Path, (self.segments, self.score)  # drops the potentials


class _Layout(NamedTuple):
    """The layout of the expected counts of potentials."""

    added: int  # number of potentials added with `add` and `add_many`
    placed: tuple[bool, ...]  # whether each pattern applies at a given position only
    spanned: bool

    @classmethod
    def of(cls, p: Potentials) -> _Layout:
        if p.is_plain:
            return _NOTHING_ADDED
        parts = p.parts
        if not parts.added and not parts.patterns:
            return _NOTHING_ADDED if parts.spans is None else _SPANS_ALONE
        added = sum(len(chunk[0]) for chunk in parts.added)
        placed = tuple(s >= 0 or e >= 0 for _, _, s, e in parts.patterns)
        return cls(added, placed, parts.spans is not None)


_NOTHING_ADDED = _Layout(0, (), False)
_SPANS_ALONE = _Layout(0, (), True)


class Marginals:
    """Probabilities and expected counts under the distribution of some potentials.

    The expected counts are the derivatives of ln Z by the scores.  Counts are there at once;
    `segment`, `segments` and `transition` run the recursions again on first use.

    Attributes
    ----------
    log_partition : float
        ln Z.
    tokens : array of shape (T, Y)
        Probability that token t lies in a segment labelled y.
    boundaries : array of shape (T + 1,)
        Probability that two segments meet at t; 1 at both ends.
    transitions : array of shape (Y, Y)
        Expected number of adjacent segments labelled (previous, label).
    starts, ends : arrays of shape (Y,)
        Probability of the label of the first and of the last segment.
    spans : array of shape (T, L, Y), or None
        Probability of the exact segment [s, s + k) with label y, at [s, k - 1, y], where the
        potentials have `spans`.
    potentials, edges, patterns : arrays
        Expected count of each potential, edge and pattern, in the order of adding.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(3, ["name", "other"])
    >>> m = caesura.marginals(p)
    >>> round(m.segment(0, 3, "name"), 4)  # one of 18 segmentations
    0.0556
    """

    __slots__ = ("_layout", "_lookup", "_make", "_method", "_posterior")

    def __init__(
        self,
        p: Potentials | Callable[[], Potentials],
        posterior: _kernels.Posterior,
        method: int,
    ) -> None:
        self._posterior = posterior
        self._method = method
        self._lookup: _kernels.Lookup | None = None
        self._layout: _Layout | None = None
        self._make = p  # the potentials, or a function that returns them on demand
        if isinstance(p, Potentials):
            self._layout = _Layout.of(p)  # now, because p may change later

    @property
    def _potentials(self) -> Potentials:
        if not isinstance(self._make, Potentials):
            self._make = self._make()
        return self._make

    @property
    def _counted(self) -> _Layout:
        if self._layout is None:
            self._layout = _Layout.of(self._potentials)
        return self._layout

    @property
    def log_partition(self) -> float:
        """The logarithm of the sum over all segmentations."""
        return self._posterior.log_partition

    @property
    def tokens(self) -> Floats:
        """Probability of shape (T, Y) that token t lies in a segment labelled y."""
        return self._posterior.tokens

    @property
    def boundaries(self) -> Floats:
        """Probability of shape (T + 1,) that two segments meet at t."""
        return self._posterior.boundaries

    @property
    def transitions(self) -> Floats:
        """Expected number of adjacent segments by their labels, of shape (Y, Y)."""
        return self._posterior.transitions

    @property
    def starts(self) -> Floats:
        """Probability of shape (Y,) of the label of the first segment."""
        return self._posterior.starts

    @property
    def ends(self) -> Floats:
        """Probability of shape (Y,) of the label of the last segment."""
        return self._posterior.ends

    @property
    def spans(self) -> Floats | None:
        """Probability of each exact segment, of shape (T, L, Y), where `spans` is in use."""
        return self._posterior.spans if self._counted.spanned else None

    @property
    def potentials(self) -> Floats:
        """Expected count of each potential in the order of adding."""
        return self._posterior.potentials[: self._counted.added]

    @property
    def edges(self) -> Floats:
        """Expected count of each edge potential in the order of adding."""
        return self._posterior.edges

    @property
    def patterns(self) -> Floats:
        """Expected count of each pattern in the order of adding."""
        layout = self._counted
        at_a_place = iter(self._posterior.potentials[layout.added :])
        anywhere = iter(self._posterior.patterns)
        counts = [next(at_a_place) if placed else next(anywhere) for placed in layout.placed]
        return np.array(counts, np.float64)

    def segment(
        self, start: int, end: int, label: Label | tuple[Label, ...] | list[str] | list[int]
    ) -> float:
        """Return the probability of the segment [start, end) with this label.

        A tuple of labels is a history, and so is a list: the segment has the last of them, and the
        segments before it have the others.  Each such question is a sweep of its own.

        Examples
        --------
        >>> import caesura
        >>> m = caesura.marginals(caesura.Potentials(2, ["name", "other"]))
        >>> round(m.segment(0, 2, "name"), 4)
        0.1667
        >>> round(m.segment(1, 2, ("other", "name")), 4)
        0.1667
        """
        label = tuple(label) if isinstance(label, list) else label
        if isinstance(label, tuple) and len(label) != 1:
            self._rows()  # raises if the potentials have changed since
            event = self._potentials.copy()
            event.add_pattern(label, 0.0, start, end)
            rows = _kernels.posterior([problem_of(event)], self._method, 1, False)
            return float(Marginals(event, rows[0], self._method).patterns[-1])
        label = label[0] if isinstance(label, tuple) else label
        return self._rows().segment(*self._potentials.segment_index((start, end, label), "segment"))

    def segments(self, min_probability: float = 0.01) -> list[tuple[Segment, float]]:
        """Return the segments of at least this probability, the most probable first.

        Examples
        --------
        >>> import caesura
        >>> p = caesura.Potentials(2, ["name", "other"])
        >>> p.add(0, 2, "name", 5.0)
        >>> [(segment, round(probability, 3)) for segment, probability
        ...  in caesura.marginals(p).segments(0.5)]
        [(Segment(start=0, end=2, label='name'), 0.967)]
        """
        least = share("min_probability", min_probability)
        names = self._potentials.labels
        return [
            (Segment(start, end, names[y]), probability)
            for start, end, y, probability in self._rows().segments(least)
        ]

    def transition(self, position: int, previous: Label, label: Label) -> float:
        """Return the probability that segments with these labels meet at a boundary.

        Examples
        --------
        >>> import caesura
        >>> m = caesura.marginals(caesura.Potentials(2, ["name", "other"]))
        >>> round(m.transition(1, "name", "other"), 4)
        0.1667
        """
        p, position = self._potentials, whole("position", position, 0)
        if not 0 < position < p.length:
            raise InvalidInput(
                place="position",
                got=f"{position}",
                expected=f"an inner boundary, 1 to {p.length - 1}",
                remedy="count boundaries from 0, the start of the sequence",
            )
        pair = p.label_index(previous, "previous"), p.label_index(label, "label")
        return self._rows().transition(position, *pair)

    def _rows(self) -> _kernels.Lookup:
        """Return the arrays of both sweeps, computed on first use."""
        if self._lookup is None:
            lookup = _kernels.Lookup(problem_of(self._potentials.copy()), self._method)
            before, now = self.log_partition, lookup.log_partition
            if abs(before - now) > 1e-9 * max(1.0, abs(before)):
                raise CaesuraError(
                    "the potentials have changed since these marginals were computed (ln Z was "
                    f"{before:.6g} and is {now:.6g})",
                    remedy="call marginals again",
                )
            self._lookup = lookup
        return self._lookup

    def __repr__(self) -> str:
        T, Y = self.tokens.shape
        sizes = f"length={T}, labels={Y}"
        return f"Marginals(log_partition={self.log_partition:.6g}, {sizes})"

    def _repr_html_(self) -> str:
        """Show the label of each token as a heat map in a notebook."""
        p = self._potentials
        columns = range(p.length) if p.tokens is None else p.tokens
        return render.summary(repr(self), []) + render.heat_map(self.tokens, p.labels, columns)


def named(segments: Sequence[tuple[int, int, int]], p: Potentials) -> list[Segment]:
    """Return segments with label names."""
    return [Segment(start, end, p.labels[y]) for start, end, y in segments]
