"""Going on from an earlier fit: its weights stay, and new ones join them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.models.structure import Fitted, Structure

__all__ = ["carried", "merged"]

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


class _Keys(NamedTuple):
    """One number for each weight, by kind, that says what it belongs to."""

    rows: Longs  # attribute * Y + label
    edges: Longs  # (attribute * Y + previous label) * Y + label
    transitions: Longs
    starts: Longs
    ends: Longs


def _keys(parameters: _kernels.Parameters, Y: int) -> _Keys:
    wide = np.int64
    return _Keys(
        parameters.attribute.astype(wide) * Y + parameters.label,
        parameters.edge_attribute.astype(wide) * (Y * Y) + parameters.edge_pair,
        parameters.transition.astype(wide),
        parameters.start.astype(wide),
        parameters.end.astype(wide),
    )


def _keys_of(before: Fitted, structure: Structure) -> _Keys:
    """Return the keys of an earlier model's weights, with the numbers that states have now."""
    old, states = before.parameters, structure.states
    Y0, Y = len(before.structure.states), len(states)
    number = np.array([states.index(state) for state in before.structure.states], np.int64)

    def pair(codes: npt.NDArray[Any]) -> Longs:
        moved: Longs = number[codes // Y0] * Y + number[codes % Y0]
        return moved

    wide = np.int64
    return _Keys(
        old.attribute.astype(wide) * Y + number[old.label],
        old.edge_attribute.astype(wide) * (Y * Y) + pair(old.edge_pair),
        pair(old.transition),
        number[old.start],
        number[old.end],
    )


def merged(
    parameters: _kernels.Parameters,
    before: Fitted,
    structure: Structure,
    attributes: _kernels.Extractor,
) -> _kernels.Parameters:
    """Return the weights of the training data, and those of an earlier model.

    The states of the earlier model are among those of the structure.
    """
    Y = len(structure.states)
    now, then = _keys(parameters, Y), _keys_of(before, structure)
    if all(np.isin(old, new).all() for old, new in zip(then, now, strict=True)):
        return parameters  # in the order that suits the data best
    rows, edges, transitions, starts, ends = (
        np.union1d(a, b) for a, b in zip(now, then, strict=True)
    )
    barred = structure.barred.ravel().astype(bool)
    edges, transitions = edges[~barred[edges % (Y * Y)]], transitions[~barred[transitions]]
    starts = starts[structure.barred_start[starts] == 0]
    ends = ends[structure.barred_end[ends] == 0]
    parts = (rows // Y, rows % Y, edges // (Y * Y), edges % (Y * Y), transitions, starts, ends)
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
    )


def carried(parameters: _kernels.Parameters, before: Fitted, structure: Structure) -> Floats:
    """Return weights to start from: those of an earlier model, and zeros for new ones."""
    out, at = [], 0
    Y = len(structure.states)
    for now, then in zip(_keys(parameters, Y), _keys_of(before, structure), strict=True):
        old = before.w[at : at + len(then)]
        at += len(then)
        weights = np.zeros(len(now))
        order = np.argsort(then)
        if len(then):
            places = np.minimum(np.searchsorted(then[order], now), len(then) - 1)
            known = then[order][places] == now
            weights[known] = old[order][places[known]]
        out.append(weights)
    return np.concatenate(out)
