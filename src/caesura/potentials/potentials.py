"""The potentials of one sequence: scores and constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.checks import (
    MOST_TOKENS,
    booleans,
    integer,
    integers,
    label_names,
    listed,
    number,
    numbers,
    whole,
)
from caesura.constraints import BARRED, FORCED, Constraints
from caesura.errors import InvalidInput, message
from caesura.potentials.arrays import ScoreArrays
from caesura.potentials.display import html_summary, text_summary
from caesura.potentials.labels import Label
from caesura.potentials.parts import Parts
from caesura.segments import Segment
from caesura.segments.cores import OPEN_END, OPEN_START

__all__ = ["Potentials"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class Potentials(ScoreArrays):
    """Log-potentials of one sequence.

    Parameters
    ----------
    length : int
        Number of tokens, T.
    labels : sequence of str, or int
        The names of the labels, or their number (the labels are then 0, 1, ...).  All methods
        accept labels by name or by index.
    max_length : None, int, or one of these per label
        Maximum segment length; None means no bound.
    same_label_adjacent : bool
        Whether two adjacent segments may have the same label.
    tokens : sequence of str, optional
        The text of the tokens, for display only.

    Attributes
    ----------
    emission : array of shape (T, Y)
        Score of token t lying inside a segment labelled y.
    transition : array of shape (Y, Y)
        ``transition[previous, label]``, between adjacent segments; ``-inf`` forbids.
    start, end : arrays of shape (Y,)
        Score of the label of the first segment (in place of a transition) and of the last.
    spans : array of shape (T, L, Y)
        Score of the exact segment ``[s, s + k)`` with label y, at ``spans[s, k - 1, y]``, where L
        is the longest segment.  Created on first use; needs a bound on every label.

    Notes
    -----
    All arrays are initially zero and may be modified in place.

    Examples
    --------
    >>> import caesura
    >>> p = caesura.Potentials(4, ["name", "other"])
    >>> p.emission[:2, 0] = 1.0  # tokens 0 and 1 look like a name
    >>> p.add(0, 2, "name", 2.0)  # and together they stand in a dictionary
    >>> caesura.viterbi(p).segments[0]
    Segment(start=0, end=2, label='name')
    """

    def __init__(
        self,
        length: int,
        labels: Sequence[str] | int,
        *,
        max_length: int | Sequence[int | None] | None = None,
        same_label_adjacent: bool = True,
        tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            whole("length", length, 0, MOST_TOKENS),
            label_names(labels),
            max_length,
            same_label_adjacent,
        )
        T, Y = self.length, len(self.labels)
        tokens = None if tokens is None else listed("tokens", tokens, "the text of each token")
        if tokens is not None and len(tokens) != T:
            came, expected = f"{len(tokens)} tokens", f"length={T} of them"
            remedy = "check how the tokens were cut"
            raise InvalidInput(place="tokens", got=came, expected=expected, remedy=remedy)
        self.tokens = None if tokens is None else tuple(tokens)

        self._added: list[tuple[Ints, Ints, Ints, Floats, npt.NDArray[np.uint8]]] = []
        self._edges: list[tuple[int, int, int, float]] = []  # position, previous, label, score
        # target, score, start, end (-1 for any)
        self._patterns: list[tuple[int, float, int, int]] = []
        self._constraints = Constraints(np.zeros(T + 1, np.uint8), Y)

    @property
    def parts(self) -> Parts:
        """All added potentials and constraints, for inference code.

        Examples
        --------
        >>> import caesura
        >>> p = caesura.Potentials(3, ["name", "other"])
        >>> p.add_transition(1, "name", "other", 2.0)
        >>> p.parts.edges
        [(1, 0, 1, 2.0)]
        """
        return Parts(
            self._spans,
            self._bounds,
            self._added,
            self._edges,
            self._patterns,
            self._histories,
            self._constraints,
        )

    @property
    def is_plain(self) -> bool:
        """Whether all scores except edges are in the token and transition arrays.

        Examples
        --------
        >>> p = Potentials(3, ["name", "other"])
        >>> p.is_plain
        True
        >>> p.add(0, 2, "name", 1.0)
        >>> p.is_plain
        False
        """
        return not self._added and not self._patterns and self._spans is None

    def compiled(self, make: Callable[[Potentials], _kernels.Problem]) -> _kernels.Problem:
        """Return the compiled form for the kernels, rebuilt only after changes."""
        if self._problem is None:
            self._problem = make(self)
        return self._problem

    # -- potentials --------------------------------------------------------------------------

    def add(
        self,
        start: int,
        end: int,
        label: Label | tuple[Label, ...],
        score: float,
        open_start: bool = False,
        open_end: bool = False,
    ) -> None:
        """Add a potential with core span [start, end).

        It applies to a segment ``[a, b)`` with that label when ``a == start`` (or ``a <= start``
        with `open_start`) and ``b == end`` (or ``b >= end`` with `open_end`).  A tuple of labels is
        a history that ends in this segment.  Adding twice adds the scores.

        Examples
        --------
        >>> import caesura
        >>> p = caesura.Potentials(5, ["person", "other"])
        >>> p.add(0, 2, "person", 1.5, open_end=True)  # "starts with Prof. Dr."
        >>> p.add(3, 4, ("other", "person"), 1.0, open_start=True, open_end=True)
        """
        s, e, value = integer("start", start), integer("end", end), number("score", score)
        self.add_many([s], [e], [label], [value], open_start, open_end)

    def add_many(
        self,
        starts: npt.ArrayLike,
        ends: npt.ArrayLike,
        labels: npt.ArrayLike | Sequence[Label | tuple[Label, ...]],
        scores: npt.ArrayLike,
        open_start: npt.ArrayLike = False,
        open_end: npt.ArrayLike = False,
    ) -> None:
        """Add many potentials at once: as `add`, with arrays (or one value for all).

        A tuple of labels is one history for all potentials; a list of tuples gives one for each.

        Examples
        --------
        >>> import caesura
        >>> p = caesura.Potentials(5, ["person", "other"])
        >>> p.add_many([0, 1, 2], [2, 3, 4], "person", [0.5, 1.0, 0.5], open_start=True)
        """
        targets = self._targets(labels)
        columns = (
            integers("starts", starts),
            integers("ends", ends),
            targets,
            numbers("score", scores),
            booleans("open_start", open_start),
            booleans("open_end", open_end),
        )
        try:
            s, e, z, w, opens, opene = np.broadcast_arrays(*columns)
        except ValueError as error:
            raise InvalidInput(
                place="add_many",
                got=f"shapes {[column.shape for column in columns[:4]]}",
                expected="starts, ends, labels, scores and the open flags of one length",
                remedy="give one of each for every potential",
            ) from error
        s, e, w = s.ravel(), e.ravel(), w.ravel()
        bad = (s < 0) | (s >= e) | (e > self.length)
        if bad.any():
            i, remedy = int(bad.argmax()), "count tokens from 0"
            problem = f"potential {i} has the span [{s[i]}, {e[i]})"
            span = f"0 <= start < end <= {self.length} (end is exclusive)"
            raise InvalidInput(problem, place="start, end", expected=span, remedy=remedy)
        flags = (OPEN_START * opens + OPEN_END * opene).astype(np.uint8).ravel()
        self._added.append(
            (s.astype(np.int32), e.astype(np.int32), z.ravel().copy(), w.copy(), flags)
        )
        self.changed()

    def add_transition(self, position: int, previous: Label, label: Label, score: float) -> None:
        """Add an edge potential at one inner boundary.

        It applies when a segment labelled `previous` ends at `position` and one labelled `label`
        starts there.

        Examples
        --------
        >>> import caesura
        >>> p = caesura.Potentials(5, ["person", "other"])
        >>> p.add_transition(2, "person", "other", 1.0)
        """
        whole("position", position, 0)
        if not 0 < position < self.length:
            expected = f"an inner boundary, 1 to {self.length - 1}"
            remedy = "the first and the last label have scores in start and end"
            raise InvalidInput(message("position", int(position), expected, remedy))
        value = number("score", score)
        pair = (self.label_index(previous, "previous"), self.label_index(label, "label"))
        self._edges.append((int(position), *pair, value))
        self.changed()

    def add_pattern(
        self,
        labels: Sequence[Label],
        score: float,
        start: int | None = None,
        end: int | None = None,
    ) -> None:
        """Add a potential for a label history that ends in the current segment.

        Where `start` or `end` is given, the current segment starts or ends just there.

        Examples
        --------
        >>> import caesura
        >>> p = caesura.Potentials(5, ["author", "title", "year"])
        >>> p.add_pattern(["author", "title", "year"], 1.0)
        >>> p.add_pattern(["author", "year"], -1.0, start=3)
        """
        if isinstance(labels, str):
            came, remedy = f"the string {labels!r}", "pass a list of labels"
            raise InvalidInput(place="labels", got=came, remedy=remedy)
        target = self._target("labels", tuple(listed("labels", labels, "a list of labels")))
        value = number("score", score)
        s = -1 if start is None else whole("start", start, 0, self.length - 1)
        e = -1 if end is None else whole("end", end, 1, self.length)
        if start is not None and end is not None and s >= e:
            came, remedy = f"[{s}, {e})", "give a span of one token or more"
            raise InvalidInput(place="start, end", got=came, expected="start < end", remedy=remedy)
        self._patterns.append((target, value, s, e))
        self.changed()

    # -- constraints -------------------------------------------------------------------------

    def constrain(
        self,
        *,
        required: Iterable[Segment | tuple[int, int, Label]] = (),
        forbidden: Iterable[Segment | tuple[int, int, Label]] = (),
        boundaries: Iterable[int] = (),
        no_boundaries: Iterable[int] = (),
        allowed: Mapping[int, Iterable[Label]] | None = None,
        at_most_once: Iterable[Label] = (),
        exactly_once: Iterable[Label] = (),
        ordered: Iterable[Label] = (),
    ) -> Self:
        """Forbid every segmentation that violates a constraint; repeated calls accumulate.

        Parameters
        ----------
        required, forbidden : segments
            Segments that must, or must not, be in the segmentation.
        boundaries, no_boundaries : positions
            Inner boundaries that must, or must not, lie between two segments.
        allowed : mapping from token to labels
            The labels that the segment over a token may have.
        at_most_once, exactly_once : labels
            Labels of which at most, or exactly, one segment may occur.
        ordered : labels
            Segments with these labels occur in this order, each any number of times.

        Returns
        -------
        Potentials
            This object.

        Examples
        --------
        With constraints log Z is the constrained one, so the probability of an event is a
        difference of two:

        >>> import caesura, math
        >>> p = caesura.Potentials(4, ["name", "other"])
        >>> free = caesura.log_partition(p)
        >>> constrained = caesura.log_partition(p.constrain(boundaries=[2]))
        >>> print(f"{math.exp(constrained - free):.4f}")  # 36 of 54 segmentations
        0.6667
        """
        changed = self._constraints.copy()  # an error leaves the constraints unchanged
        spans = "a list of segments (start, end, label)"
        for segment in listed("required", required, spans):
            changed.require(*self.segment_index(segment, "required"))
        some = listed("forbidden", forbidden, spans)
        changed.forbidden += [self.segment_index(segment, "forbidden") for segment in some]
        changed.mark("boundaries", FORCED, boundaries)
        changed.mark("no_boundaries", BARRED, no_boundaries)
        if allowed is not None and not isinstance(allowed, Mapping):
            expected, remedy = "a dict of token to labels", "write {0: ['name']}"
            raise InvalidInput(message("allowed", allowed, expected, remedy))
        for token, labels in ({} if allowed is None else allowed).items():
            whole("allowed", token, 0, self.length - 1)
            changed.allow([token], self._label_set("allowed", labels))
        for y in self._label_set("at_most_once", at_most_once):
            changed.once.setdefault(y, False)
        for y in self._label_set("exactly_once", exactly_once):
            changed.once[y] = True
        order = tuple(self._label_set("ordered", ordered))
        if len(set(order)) < len(order):
            names = [self.labels[y] for y in order]
            raise InvalidInput(
                f"a label occurs twice in {names!r}", place="ordered", remedy="name each label once"
            )
        if len(order) > 1:
            changed.ordered.append(order)
        if changed.spelling is not None and (changed.once or changed.ordered):
            expected = "rules about tags, or about the segments that they encode, but not both"
            remedy = "pass all rules to model.potentials, as labels of segments"
            raise InvalidInput(message("constrain", "rules of both kinds", expected, remedy))
        self._constraints = changed
        self.changed()
        return self

    def copy(self) -> Potentials:
        """Return an independent copy.

        Examples
        --------
        >>> import caesura
        >>> p = caesura.Potentials(3, 2)
        >>> q = p.copy()
        >>> q.emission[0, 0] = 1.0
        >>> float(p.emission[0, 0])
        0.0
        """
        labels = self.labels if isinstance(self.labels[0], str) else len(self.labels)
        twin = Potentials(
            self.length,
            labels,
            max_length=self.max_length,
            same_label_adjacent=self.same_label_adjacent,
            tokens=self.tokens,
        )
        arrays = ("_emission", "_transition", "_start", "_end", "_spans")
        for name in (*arrays, "_added", "_edges", "_patterns", "_histories", "_constraints"):
            own = getattr(self, name)
            setattr(twin, name, None if own is None else own.copy())
        return twin

    def __len__(self) -> int:
        return self.length

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_problem": None}  # rebuilt on demand

    def __repr__(self) -> str:
        return text_summary(self)

    def _repr_html_(self) -> str:
        """Show a summary, the strongest potentials and the emission in a notebook."""
        return html_summary(self)
