"""Potentials: everything that a distribution over segmentations is made of.

A segmentation cuts the tokens ``0..T`` into labelled segments ``[start, end)``.  Its score is the
sum of the log-potentials that apply to it, and its probability is ``exp(score) / Z``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from caesura import _kernels, render
from caesura.checks import MOST_TOKENS, assign, integers, label_names, number, numbers, whole, zeros
from caesura.constraints import BARRED, FORCED, Constraints
from caesura.errors import InvalidInput
from caesura.segments import Segment

__all__ = ["Label", "Parts", "Potentials"]

Label = str | int
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

OPEN_START, OPEN_END = 1, 2  # bits of a potential's flags; cpp/lattice/lattice.hpp has the same


class Parts(NamedTuple):
    """What potentials hold beside their plain arrays, by label index.

    The arrays and lists are those of the potentials themselves.  A target is the index of a label,
    or the number of a label history.
    """

    spans: Floats | None  # (T, L, Y), None: never asked for
    bounds: Ints  # (Y,) longest segments, 0 for no bound
    added: list[tuple[Ints, Ints, Ints, Floats, npt.NDArray[np.uint8]]]
    # starts, ends, targets, scores and flags of potentials, some at a time
    edges: list[tuple[int, int, int, float]]  # position, previous, label, score
    patterns: list[tuple[int, float, int, int]]  # target, score, start, end (-1: any)
    histories: dict[tuple[int, ...], int]  # labels of a history -> target
    constraints: Constraints


class Potentials:
    """Log-potentials of one sequence.

    Parameters
    ----------
    length : int
        Number of tokens, T.
    labels : sequence of str, or int
        The names of the labels, or how many there are (then the labels are 0, 1, ...).
        Everywhere a label may be given by its name or by its index.
    max_length : None, int, or one of these per label
        Longest segment; None is no bound.
    same_label_adjacent : bool
        Whether two adjacent segments may carry the same label.
    tokens : sequence of str, optional
        The text of the tokens; only shown, never scored.

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
        is the longest segment.  Made when first asked for; needs a bound on every label.

    All are zero at first and may be written in place.

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
        self.length = whole("length", length, 0, MOST_TOKENS)
        self.labels: tuple[str, ...] = label_names(labels)
        self._index = {name: y for y, name in enumerate(self.labels)}
        T, Y = self.length, len(self.labels)
        if tokens is not None and len(tokens) != T:
            raise InvalidInput(f"tokens: got {len(tokens)} tokens, expected length={T} of them")
        self.tokens = None if tokens is None else tuple(tokens)

        self._emission: Floats = zeros("length, labels", T, Y)
        self._transition: Floats = zeros("labels", Y, Y)
        self._start: Floats = np.zeros(Y)
        self._end: Floats = np.zeros(Y)
        self._spans: Floats | None = None

        self._added: list[tuple[Ints, Ints, Ints, Floats, npt.NDArray[np.uint8]]] = []
        self._edges: list[tuple[int, int, int, float]] = []  # position, previous, label, score
        self._patterns: list[
            tuple[int, float, int, int]
        ] = []  # target, score, start, end (-1: any)
        self._histories: dict[tuple[int, ...], int] = {}  # labels of a history -> target
        self._constraints = Constraints(np.zeros(T + 1, np.uint8), Y)

        self._problem: _kernels.Problem | None = None
        self.same_label_adjacent = same_label_adjacent
        self.max_length = max_length

    # -- arrays ------------------------------------------------------------------------------

    @property
    def emission(self) -> Floats:
        """Scores of shape (T, Y): token t lies inside a segment labelled y."""
        return self._emission

    @emission.setter
    def emission(self, value: npt.ArrayLike) -> None:
        assign("emission", self._emission, value)

    @property
    def transition(self) -> Floats:
        """Scores of shape (Y, Y): previous label -> label, between adjacent segments."""
        return self._transition

    @transition.setter
    def transition(self, value: npt.ArrayLike) -> None:
        assign("transition", self._transition, value)

    @property
    def start(self) -> Floats:
        """Scores of shape (Y,): label of the first segment."""
        return self._start

    @start.setter
    def start(self, value: npt.ArrayLike) -> None:
        assign("start", self._start, value)

    @property
    def end(self) -> Floats:
        """Scores of shape (Y,): label of the last segment."""
        return self._end

    @end.setter
    def end(self, value: npt.ArrayLike) -> None:
        assign("end", self._end, value)

    @property
    def spans(self) -> Floats:
        """Scores of shape (T, L, Y): the exact segment [s, s + k) at ``spans[s, k - 1, y]``."""
        if self._spans is None:
            bounds = self._bounds
            if not bounds.all():
                raise InvalidInput(
                    "spans: every label needs a max_length, or the array would have no size; "
                    f"got max_length={self.max_length!r}; give max_length, or add single spans"
                )
            longest = min(int(bounds.max(initial=0)), self.length)
            self._spans = zeros("spans", self.length, longest, len(self.labels))
            self._problem = None
        return self._spans

    @spans.setter
    def spans(self, value: npt.ArrayLike) -> None:
        assign("spans", self.spans, value)

    @property
    def parts(self) -> Parts:
        """All that was added and constrained, for code that computes with potentials.

        Examples
        --------
        >>> p = Potentials(3, ["name", "other"])
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
        """Whether scores are in the arrays of tokens and transitions alone, edges apart.

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

    def changed(self) -> None:
        """Take note that something in `parts` was changed in place."""
        self._problem = None

    def compiled(self, make: Callable[[Potentials], _kernels.Problem]) -> _kernels.Problem:
        """Return the form that the kernels take, made only where the potentials have changed."""
        if self._problem is None:
            self._problem = make(self)
        return self._problem

    # -- options -----------------------------------------------------------------------------

    @property
    def max_length(self) -> int | tuple[int | None, ...] | None:
        """Longest segment: None (no bound), one int, or one int or None per label."""
        return self._max_length

    @max_length.setter
    def max_length(self, value: int | Sequence[int | None] | None) -> None:
        if self._spans is not None:
            raise InvalidInput(
                "max_length: cannot change once spans is in use; make new Potentials"
            )
        Y = len(self.labels)
        if not (value is None or isinstance(value, int | np.integer | Sequence | np.ndarray)):
            raise InvalidInput(
                f"max_length: got {value!r}, expected None, a whole number, or one per label"
            )
        if value is None or isinstance(value, int | np.integer):
            self._max_length: int | tuple[int | None, ...] | None = (
                None if value is None else whole("max_length", value, 1)
            )
            bounds = [self._max_length] * Y
        else:
            if len(value) != Y:
                raise InvalidInput(
                    f"max_length: got {len(value)} bounds, expected one per label, {Y}"
                )
            bounds = [None if v is None else whole("max_length", v, 1) for v in value]
            self._max_length = tuple(bounds)
        largest = np.iinfo(np.int32).max
        self._bounds: Ints = np.array([min(b or 0, largest) for b in bounds], np.int32)
        self._problem = None

    @property
    def same_label_adjacent(self) -> bool:
        """Whether two adjacent segments may carry one label."""
        return self._same_label_adjacent

    @same_label_adjacent.setter
    def same_label_adjacent(self, value: bool) -> None:
        self._same_label_adjacent = bool(value)
        self._problem = None

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
        >>> p = Potentials(5, ["person", "other"])
        >>> p.add(0, 2, "person", 1.5, open_end=True)  # "starts with Prof. Dr."
        >>> p.add(3, 4, ("other", "person"), 1.0, open_start=True, open_end=True)
        """
        value = number("score", score)
        self.add_many([start], [end], [label], [value], open_start, open_end)

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

        A tuple of labels is one history, for all; histories for each come as a list of tuples.

        Examples
        --------
        >>> p = Potentials(5, ["person", "other"])
        >>> p.add_many([0, 1, 2], [2, 3, 4], "person", [0.5, 1.0, 0.5], open_start=True)
        """
        targets = self._targets(labels)
        columns = (
            integers("starts", starts),
            integers("ends", ends),
            targets,
            numbers("score", scores),
            np.asarray(open_start, bool),
            np.asarray(open_end, bool),
        )
        try:
            s, e, z, w, opens, opene = np.broadcast_arrays(*columns)
        except ValueError as error:
            raise InvalidInput(
                "add_many: starts, ends, labels, scores and the open flags must have one length; "
                f"got shapes {[column.shape for column in columns[:4]]}"
            ) from error
        s, e, w = s.ravel(), e.ravel(), w.ravel()
        bad = (s < 0) | (s >= e) | (e > self.length)
        if bad.any():
            i = int(bad.argmax())
            raise InvalidInput(
                f"start, end: potential {i} has the span [{s[i]}, {e[i]}), expected "
                f"0 <= start < end <= {self.length} (end is exclusive)"
            )
        flags = (OPEN_START * opens + OPEN_END * opene).astype(np.uint8).ravel()
        self._added.append(
            (s.astype(np.int32), e.astype(np.int32), z.ravel().copy(), w.copy(), flags)
        )
        self._problem = None

    def add_transition(self, position: int, previous: Label, label: Label, score: float) -> None:
        """Add an edge potential at one inner boundary.

        It applies when a segment labelled `previous` ends at `position` and one labelled `label`
        starts there.

        Examples
        --------
        >>> p = Potentials(5, ["person", "other"])
        >>> p.add_transition(2, "person", "other", 1.0)
        """
        whole("position", position, 0)
        if not 0 < position < self.length:
            raise InvalidInput(
                f"position: got {position}, expected an inner boundary, 1 to {self.length - 1}; "
                "the first and the last label have scores in start and end"
            )
        value = number("score", score)
        pair = (self.label_index(previous, "previous"), self.label_index(label, "label"))
        self._edges.append((int(position), *pair, value))
        self._problem = None

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
        >>> p = Potentials(5, ["author", "title", "year"])
        >>> p.add_pattern(["author", "title", "year"], 1.0)
        >>> p.add_pattern(["author", "year"], -1.0, start=3)
        """
        if isinstance(labels, str):
            raise InvalidInput(f"labels: got the string {labels!r}, expected a list of labels")
        target = self._target("labels", tuple(labels))
        value = number("score", score)
        s = -1 if start is None else whole("start", start, 0, self.length - 1)
        e = -1 if end is None else whole("end", end, 1, self.length)
        if start is not None and end is not None and s >= e:
            raise InvalidInput(f"start, end: got [{s}, {e}), expected start < end")
        self._patterns.append((target, value, s, e))
        self._problem = None

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
        """Forbid every segmentation that breaks one of these rules; calls add up.

        Parameters
        ----------
        required, forbidden : segments
            Segments that every segmentation, or none, has.
        boundaries, no_boundaries : positions
            Inner boundaries that must, or must not, lie between two segments.
        allowed : mapping from token to labels
            The label of the segment that covers a token.
        at_most_once, exactly_once : labels
            How often a segment with this label may occur.
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
        changed = self._constraints.copy()  # all of it or nothing
        for segment in required:
            changed.require(*self.segment_index(segment, "required"))
        changed.forbidden += [self.segment_index(segment, "forbidden") for segment in forbidden]
        changed.mark("boundaries", FORCED, boundaries)
        changed.mark("no_boundaries", BARRED, no_boundaries)
        for token, labels in (allowed or {}).items():
            whole("allowed", token, 0, self.length - 1)
            changed.allow([token], self._label_set("allowed", labels))
        for y in self._label_set("at_most_once", at_most_once):
            changed.once.setdefault(y, False)
        for y in self._label_set("exactly_once", exactly_once):
            changed.once[y] = True
        order = tuple(self._label_set("ordered", ordered))
        if len(set(order)) < len(order):
            names = [self.labels[y] for y in order]
            raise InvalidInput(f"ordered: a label occurs twice in {names!r}")
        if len(order) > 1:
            changed.ordered.append(order)
        self._constraints = changed
        self._problem = None
        return self

    def copy(self) -> Potentials:
        """Return an independent copy.

        Examples
        --------
        >>> p = Potentials(3, 2)
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
        for name in ("_emission", "_transition", "_start", "_end", "_constraints"):
            setattr(twin, name, getattr(self, name).copy())
        twin._spans = None if self._spans is None else self._spans.copy()
        for name in ("_added", "_edges", "_patterns"):
            setattr(twin, name, list(getattr(self, name)))
        twin._histories = dict(self._histories)
        return twin

    def __len__(self) -> int:
        return self.length

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_problem": None}  # it is made again when it is needed

    # -- display -----------------------------------------------------------------------------

    def __repr__(self) -> str:
        arrays = {"emission": self._emission, "transition": self._transition}
        arrays |= {"start": self._start, "end": self._end}
        arrays |= {} if self._spans is None else {"spans": self._spans}
        flags = np.concatenate([np.zeros(0, np.uint8), *(chunk[4] for chunk in self._added)])
        kinds = np.bincount(flags, minlength=4)
        limited = (
            0
            if self._constraints.allowed is None
            else int((self._constraints.allowed == 0).any(axis=1).sum())
        )
        rules = {
            "forced boundaries": int((self._constraints.boundary & FORCED > 0).sum()),
            "barred boundaries": int((self._constraints.boundary & BARRED > 0).sum()),
            "forbidden segments": len(self._constraints.forbidden),
            "tokens limited to some labels": limited,
            "labels at most once": sum(not must for must in self._constraints.once.values()),
            "labels exactly once": sum(self._constraints.once.values()),
            "orders of labels": len(self._constraints.ordered),
        }
        scores = [f"{name} {np.count_nonzero(a)} of {a.size}" for name, a in arrays.items()]
        held = [f"{rule}: {count}" for rule, count in rules.items() if count]
        names = [str(name) for name in self.labels[:8]] + ["..."] * (len(self.labels) > 8)
        lines = [
            f"Potentials of {self.length} tokens, {len(self.labels)} labels: {', '.join(names)}",
            f"not 0: {', '.join(scores)}",
            f"potentials: {kinds[0]} exact, {kinds[OPEN_END]} with open end, "
            f"{kinds[OPEN_START]} with open start, {kinds[OPEN_START | OPEN_END]} with both open",
            f"edges: {len(self._edges)}; patterns: {len(self._patterns)}",
            f"max_length: {self.max_length}; same_label_adjacent: {self.same_label_adjacent}",
            f"constraints: {', '.join(held) or 'none'}",
        ]
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        """Show a summary, the strongest potentials and the emission in a notebook."""
        names = {y: str(name) for y, name in enumerate(self.labels)}
        for history, target in self._histories.items():
            names[target] = " > ".join(names[y] for y in history)
        rows = [
            (w, names[z], render.place(s, e, flags & OPEN_START, flags & OPEN_END, self.tokens))
            for chunk in self._added
            for s, e, z, w, flags in (
                [column[i].item() for column in chunk]
                for i in np.argsort(-np.abs(chunk[3]), kind="stable")[: render.MOST_STRONG]
            )
        ]
        rows += [(w, f"{names[a]} > {names[b]}", f"at {t}") for t, a, b, w in self._edges]
        rows += [
            (w, names[z], "anywhere" if s < 0 and e < 0 else f"from {s}" if e < 0 else f"to {e}")
            for z, w, s, e in self._patterns
        ]
        columns = range(self.length) if self.tokens is None else self.tokens
        heat = render.heat_map(self._emission, self.labels, columns)
        return render.summary(repr(self), rows) + "<p>emission</p>" + heat

    # -- labels ------------------------------------------------------------------------------

    def label_index(self, label: Label, argument: str = "label") -> int:
        """Return the index of a label given by name or index; errors name the argument.

        Examples
        --------
        >>> Potentials(3, ["name", "other"]).label_index("other")
        1
        """
        if isinstance(label, str) and label in self._index:
            return self._index[label]
        index = isinstance(label, int | np.integer) and not isinstance(label, bool)
        if index and 0 <= label < len(self.labels):  # type: ignore[operator]
            return int(label)
        raise InvalidInput(
            f"{argument}: got {label!r}, expected one of the labels {list(self.labels)!r} "
            f"or an index below {len(self.labels)}"
        )

    def _label_set(self, argument: str, labels: Iterable[Label]) -> list[int]:
        if isinstance(labels, str | int):
            labels = [labels]
        return [self.label_index(label, argument) for label in labels]

    def _target(self, argument: str, label: Label | tuple[Label, ...]) -> int:
        """Return the number of a label (its index) or of a history (from Y on)."""
        if not isinstance(label, tuple):
            return self.label_index(label, argument)
        if not label:
            raise InvalidInput(f"{argument}: got an empty history, expected at least one label")
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
        return np.array([self._target("label", label) for label in labels], np.int32)

    def segment_index(
        self, segment: tuple[int, int, Label], argument: str = "segment"
    ) -> tuple[int, int, int]:
        """Return a segment with the index of its label, or say what is wrong with it.

        Examples
        --------
        >>> Potentials(3, ["name", "other"]).segment_index((0, 2, "other"))
        (0, 2, 1)
        """
        try:
            start, end, label = segment
        except (TypeError, ValueError):
            raise InvalidInput(
                f"{argument}: got {segment!r}, expected segments (start, end, label)"
            ) from None
        whole(argument, start, 0)
        whole(argument, end, 0)
        if not 0 <= start < end <= self.length:
            raise InvalidInput(
                f"{argument}: got the span [{start}, {end}), expected "
                f"0 <= start < end <= {self.length} (end is exclusive)"
            )
        return int(start), int(end), self.label_index(label, argument)
