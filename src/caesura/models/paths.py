"""Segments in a chain: their probabilities, however they are tagged.

A segmentation may be said by several sequences of tags (where invalid ones are not forbidden, B and
I say the same after O). What is asked about it here sums over all of them::

    P(segmentation) = sum of exp(score) over its sequences of tags / Z
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura.errors import Impossible, TooLarge
from caesura.models.histories import expanded
from caesura.models.schemes import TagSet
from caesura.potentials import Potentials
from caesura.segments import Segment

__all__ = ["Chain"]

Floats = npt.NDArray[np.float64]
MOST_PARTS = 1_000_000  # beginnings of segmentations that are looked at in a search


class _Part(NamedTuple):
    """The beginning of a segmentation, up to and with token t."""

    t: int
    symbol: int  # what token t is
    before: Any  # the part up to the token before; None at the first
    belief: Floats  # (Y,) probability of this part and of each tag of token t


class _Most(NamedTuple):
    """The best ways to and from each tag of each token."""

    before: Floats  # (T, Y) scores of the best ways to a tag, with its own
    after: Floats  # (T, Y) scores of the best ways on from it
    back: npt.NDArray[np.int64]  # (T, Y) the tag before, on the best way
    on: npt.NDArray[np.int64]  # (T, Y) the tag after, on the best way
    best: list[int]  # (T,) the best tags

    def joined(self, path: list[int], first: int) -> list[int]:
        """Return the best tags that go through a path which begins at a token."""
        t, begin = first, []
        tag = path[0]
        while t > 0 and tag != self.best[t]:
            tag = int(self.back[t, tag])
            t -= 1
            begin.append(tag)
        end: list[int] = []
        u, tag = first + len(path) - 1, path[-1]
        while u < len(self.best) - 1 and tag != self.best[u]:
            tag = int(self.on[u, tag])
            u += 1
            end.append(tag)
        return [*self.best[:t], *reversed(begin), *path, *end, *self.best[u + 1 :]]


class Chain:
    """The distribution of the tags of one sequence, which is not empty.

    Parameters
    ----------
    p : Potentials
        Of a chain: all segments have the length 1.
    tags : TagSet
        What its labels say about segments.
    """

    def __init__(self, p: Potentials, tags: TagSet) -> None:
        states = expanded(p)
        self.tags = tags if states is None else tags.repeated(states.last)
        self.T, self.Y = p.length, len(self.tags.label_of)
        emission, edges = p.emission, p._edges
        self.start, self.end, self._transition = p.start, p.end, p.transition
        allowed = p._constraints.allowed
        if states is not None:  # states that know the tags before them stand for tags
            emission, self._transition, self.start, self.end, edges, last = states
            allowed = None if allowed is None else allowed[:, last]
        self.emission = emission if allowed is None else np.where(allowed, emission, -np.inf)
        self._edges: dict[int, Floats] = {}
        for t, a, b, score in edges:
            self._edges.setdefault(t, self._transition.copy())[a, b] += score
        self._sum()

    def pair(self, t: int) -> Floats:
        """Return the scores of the tags of t - 1 and t together, (Y, Y)."""
        return self._edges.get(t, self._transition)

    def _sum(self) -> None:
        """Find P(tag of t | tag of t - 1), (T - 1, Y, Y), and P(tag of 0), by going backwards."""
        rest = self.end  # ln of the sum over all that may follow
        self.follows: Floats = np.zeros((self.T, self.Y, self.Y))
        for t in range(self.T - 1, 0, -1):
            scores = self.pair(t) + (self.emission[t] + rest)
            rest = np.logaddexp.reduce(scores, axis=1)
            base = np.where(np.isneginf(rest), 0.0, rest)
            self.follows[t] = np.exp(scores - base[:, None])
        scores = self.start + self.emission[0] + rest
        total = np.logaddexp.reduce(scores)
        if np.isneginf(total):
            raise Impossible("X: no tags are possible; relax what is forbidden")
        self.log_z = float(total)
        self.first: Floats = np.exp(scores - total)

    def best_without(self, segment: Segment) -> list[int] | None:
        """Return the best tags that do not say a segment; None if all do.

        From the token before the segment to that after it, states are pairs of a tag and whether
        everything so far says that the segment begins at its start and goes on.
        """
        (start, end, label), most = segment, self._most
        mine = np.array([name == label for name in self.tags.label_of])
        first, last = max(start - 1, 0), min(end, self.T - 1)
        inside = np.where(mine & (start == 0), most.before[first], -np.inf)
        free = np.where(mine & (start == 0), -np.inf, most.before[first])
        back = []
        for t in range(first + 1, last + 1):
            moves = self._moves(t, segment, mine)
            scores = np.stack([free, inside])[:, :, None, None] + moves
            flat = scores.reshape(2 * self.Y, 2 * self.Y)
            back.append(flat.argmax(axis=0))
            free, inside = flat.max(axis=0).reshape(2, self.Y)
        ends = free + most.after[last]  # what is still inside would be the segment
        at = int(ends.argmax())
        if np.isneginf(ends[at]):
            return None
        path = [at]
        for pointers in reversed(back):
            path.append(int(pointers[path[-1]]))
        return most.joined([state % self.Y for state in reversed(path)], first)

    def _moves(self, t: int, segment: Segment, mine: npt.NDArray[np.bool_]) -> Floats:
        """Return the scores of pairs of states at t - 1 and t, for `best_without`."""
        (start, end, _), joined = segment, self.tags.joined
        moves = np.full((2, self.Y, 2, self.Y), -np.inf)
        pair = self.pair(t) + self.emission[t]
        begins = ~joined & mine if t == start else np.zeros_like(joined)
        moves[0, :, 0] = np.where(begins, -np.inf, pair)
        moves[0, :, 1] = np.where(begins, pair, -np.inf)
        if start < t < end:
            moves[1, :, 0] = np.where(joined, -np.inf, pair)
            moves[1, :, 1] = np.where(joined, pair, -np.inf)
        elif t == end:  # what does not go on would be the segment
            moves[1, :, 0] = np.where(joined, pair, -np.inf)
        return moves

    @cached_property
    def _most(self) -> _Most:
        """The best ways to and from each tag."""
        before, after = np.empty((2, self.T, self.Y))
        back, on = np.zeros((2, self.T, self.Y), np.int64)
        before[0], after[-1] = self.start + self.emission[0], self.end
        for t in range(1, self.T):
            scores = before[t - 1][:, None] + (self.pair(t) + self.emission[t])
            before[t], back[t] = scores.max(axis=0), scores.argmax(axis=0)
        for t in range(self.T - 2, -1, -1):
            scores = self.pair(t + 1) + (self.emission[t + 1] + after[t + 1])
            after[t], on[t] = scores.max(axis=1), scores.argmax(axis=1)
        best = [int((before[-1] + after[-1]).argmax())]
        for t in range(self.T - 1, 0, -1):
            best.append(int(back[t, best[-1]]))
        return _Most(before, after, back, on, best[::-1])

    # -- whole segmentations -------------------------------------------------------------------

    def segmentations(self) -> Iterator[tuple[list[Segment], float]]:
        """Yield segmentations by falling probability, each with its probability.

        A* over beginnings. A beginning is bounded by ``sum over tags of belief * most``, where
        ``most[t, tag]`` bounds the probability of any one way to go on: at each token what the best
        symbol adds, summed over its tags.
        """
        symbols, of_pair = self._symbols()
        most = np.ones((self.T, self.Y))
        for t in range(self.T - 1, 0, -1):
            gains = self.follows[t] * most[t]
            ways = [np.where(of_pair == symbol, gains, 0.0).sum(axis=1) for symbol in symbols]
            most[t - 1] = np.max(ways, axis=0)
        order = count()
        queue: list[tuple[float, int, _Part]] = []

        def push(part: _Part) -> None:
            if part.belief.any():
                bound = float(part.belief @ most[part.t])
                heapq.heappush(queue, (-bound, next(order), part))

        begins = np.where(self.tags.label < 0, -1, 2 * self.tags.label)
        for symbol in symbols:
            push(_Part(0, symbol, None, np.where(begins == symbol, self.first, 0.0)))
        while queue:
            bound, _, part = heapq.heappop(queue)
            if part.t == self.T - 1:
                yield self._read(part), -bound
                continue
            if next(order) > MOST_PARTS:
                raise TooLarge(
                    "n: too many segmentations are almost as likely as each other; ask for fewer, "
                    "or forbid invalid tags"
                )
            moved = part.belief[:, None] * self.follows[part.t + 1]
            for symbol in symbols:
                belief = np.where(of_pair == symbol, moved, 0.0).sum(axis=0)
                push(_Part(part.t + 1, symbol, part, belief))

    def _symbols(self) -> tuple[list[int], npt.NDArray[np.int64]]:
        """Return what a token can be, and which of it a pair of tags says, (Y, Y).

        -1 is outside; 2 k and 2 k + 1 are the begin and the rest of a segment with label k.
        """
        label = self.tags.label.astype(np.int64)
        says = np.where(label < 0, -1, 2 * label[None, :] + self.tags.joined)
        return np.unique(says).tolist(), says

    def _read(self, part: _Part) -> list[Segment]:
        symbols: list[int] = []
        while part is not None:
            symbols.append(part.symbol)
            part = part.before
        segments: list[Segment] = []
        for t, symbol in enumerate(reversed(symbols)):
            if symbol >= 0 and symbol % 2 == 0:
                segments.append(Segment(t, t + 1, self.tags.labels[symbol // 2]))
            elif symbol >= 0:
                segments[-1] = segments[-1]._replace(end=t + 1)
        return segments
