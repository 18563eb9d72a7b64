"""Warm starts: earlier weights are kept, and new ones are added."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.models.fitted import Fitted, Structure

__all__ = ["carried", "merged", "moved", "places_before"]

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


class _Keys(NamedTuple):
    """The keys of weights by kind, one integer for each.

    In the order of the vector of weights.  P is the number of patterns of both models.
    """

    rows: Longs  # attribute * (Y + P) + k, where k is a label or Y + pattern
    edges: Longs  # attribute * (Y * Y + P) + k, where k is a pair or Y * Y + pattern
    transitions: Longs
    patterns: Longs  # patterns without attributes
    starts: Longs
    ends: Longs


class _Both:
    """An earlier model and the current weights, with the current numbering of states."""

    def __init__(
        self, parameters: _kernels.Parameters, before: Fitted, structure: Structure
    ) -> None:
        states, old = structure.states, before.parameters
        self.Y, Y0 = len(states), len(before.structure.states)
        number = [states.index(state) for state in before.structure.states]
        mine = [tuple(pattern) for pattern in parameters.patterns]
        earlier = [tuple(number[y] for y in pattern) for pattern in old.patterns]
        self.patterns = list(dict.fromkeys([*mine, *earlier]))
        index = {pattern: k for k, pattern in enumerate(self.patterns)}

        numbers = np.array(number, np.int64)

        def pair(codes: npt.NDArray[Any]) -> Longs:
            moved: Longs = numbers[codes // Y0] * self.Y + numbers[codes % Y0]
            return moved

        same, same_pair = np.arange(self.Y), np.arange(self.Y**2)
        places = np.array([index[pattern] for pattern in mine], np.int64)
        self.now = self._keys(parameters, same, same_pair, places)
        places = np.array([index[pattern] for pattern in earlier], np.int64)
        self.then = self._keys(old, numbers, pair(np.arange(Y0**2)), places)

    @property
    def widths(self) -> tuple[int, int]:
        """The numbers of labels and patterns, and of pairs and patterns."""
        return self.Y + len(self.patterns), self.Y**2 + len(self.patterns)

    def _keys(
        self, parameters: _kernels.Parameters, label: Longs, pair: Longs, pattern: Longs
    ) -> _Keys:
        """Return the keys of weights under the current numbering of labels, pairs and patterns."""
        wide, edge_wide = self.widths
        labels = np.concatenate([label, self.Y + pattern])
        pairs = np.concatenate([pair, self.Y**2 + pattern])
        return _Keys(
            parameters.attribute.astype(np.int64) * wide + labels[parameters.label],
            parameters.edge_attribute.astype(np.int64) * edge_wide + pairs[parameters.edge_pair],
            pair[parameters.transition],
            pattern[: parameters.n_plain],
            label[parameters.start],
            label[parameters.end],
        )


def merged(
    parameters: _kernels.Parameters,
    before: Fitted,
    structure: Structure,
    attributes: _kernels.Extractor,
) -> _kernels.Parameters:
    """Return the weights for the training data together with those of an earlier model.

    The states of the earlier model are among those of the structure.
    """
    both = _Both(parameters, before, structure)
    if all(np.isin(old, new).all() for old, new in zip(both.then, both.now, strict=True)):
        return parameters  # keep the order, which suits the data best
    rows, edges, transitions, plain, starts, ends = (
        np.union1d(a, b) for a, b in zip(both.now, both.then, strict=True)
    )
    Y, (wide, edge_wide) = both.Y, both.widths
    barred = structure.barred.ravel().astype(bool)
    possible = np.array([not _is_barred(z, structure) for z in both.patterns], bool)
    rows = rows[np.concatenate([np.ones(Y, bool), possible])[rows % wide]]
    edges = edges[np.concatenate([~barred, possible])[edges % edge_wide]]
    transitions, plain = transitions[~barred[transitions]], plain[possible[plain]]
    starts = starts[structure.barred_start[starts] == 0]
    ends = ends[structure.barred_end[ends] == 0]
    label, pair = rows % wide, edges % edge_wide
    used = np.concatenate([label[label >= Y] - Y, pair[pair >= Y * Y] - Y * Y])
    kept = np.concatenate([plain, np.setdiff1d(used, plain)])  # those without attributes first
    places = np.zeros(len(both.patterns), np.int64)
    places[kept] = np.arange(len(kept))
    label = np.concatenate([np.arange(Y), Y + places])[label]
    pair = np.concatenate([np.arange(Y * Y), Y * Y + places])[pair]
    parts = (rows // wide, label, edges // edge_wide, pair, transitions, starts, ends)
    attribute, label, edge, pair, transition, start, end = (p.astype(np.int32) for p in parts)
    return _kernels.Parameters.restore(
        Y,
        attributes,
        structure.bounds,
        structure.barred,
        structure.barred_start,
        structure.barred_end,
        attribute,
        label,
        edge,
        pair,
        transition,
        start,
        end,
        [list(both.patterns[k]) for k in kept.tolist()],
        len(plain),
    )


def _is_barred(pattern: tuple[int, ...], structure: Structure) -> bool:
    """Return whether a pattern contains a forbidden transition."""
    return bool(structure.barred[list(pattern[:-1]), list(pattern[1:])].any())


def carried(parameters: _kernels.Parameters, before: Fitted, structure: Structure) -> Floats:
    """Return initial weights: those of an earlier model, and zeros for new ones."""
    return moved(before.w, places_before(parameters, before, structure))


def moved(values: Floats, places: Longs, fill: float = 0.0) -> Floats:
    """Return per-weight values for the current weights from those of earlier ones.

    Examples
    --------
    >>> moved(np.array([3.0, 4.0]), np.array([1, -1, 0]), fill=0.5)
    array([4. , 0.5, 3. ])
    """
    if not len(values):
        return np.full(len(places), fill)
    found: Floats = np.where(places < 0, fill, values[places])
    return found


def places_before(parameters: _kernels.Parameters, before: Fitted, structure: Structure) -> Longs:
    """Return the index of each current weight among earlier ones; -1 if it is new."""
    out, at = [], 0
    both = _Both(parameters, before, structure)
    for now, then in zip(both.now, both.then, strict=True):
        places = np.full(len(now), -1, np.int64)
        order = np.argsort(then)
        if len(then):
            near = np.minimum(np.searchsorted(then[order], now), len(then) - 1)
            known = then[order][near] == now
            places[known] = at + order[near[known]]
        at += len(then)
        out.append(places)
    return np.concatenate(out)
