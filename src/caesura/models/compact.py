"""Removal of zero weights.

Files hold only these, and so does a fitted model: which attributes, patterns and states there are
decides the order in which scores are summed, so a model and its file must agree on them to agree in
the last digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.encoding import Encoder
from caesura.models.fitted import Fitted, blocks_of
from caesura.models.rules import Rules

__all__ = ["PAIRS", "compacted", "nonzero"]

Arrays = dict[str, npt.NDArray[Any]]
PAIRS = ("attribute", "label", "edge_attribute", "edge_pair", "transition", "start", "end")


def compacted(fitted: Fitted) -> Fitted:
    """Return the model as it would be after saving and loading."""
    if fitted.w.all():
        return fitted
    arrays, n_plain = nonzero(fitted)
    prefix = "encoder."
    encoder = Encoder(fitted.encoder.features)
    encoder.restore(
        {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    )
    ends = np.cumsum(arrays["pattern_sizes"])[:-1]
    patterns = [part.tolist() for part in np.split(arrays["patterns"], ends) if len(part)]
    parameters = _kernels.Parameters.restore(
        len(fitted.structure.states),
        encoder.attributes,
        fitted.structure.bounds,
        None,
        None,
        None,
        **{name: arrays[name] for name in PAIRS},
        patterns=patterns,
        n_plain=n_plain,
    )
    if fitted.rules != Rules():
        parameters = parameters.ruled_like(fitted.parameters)
    return Fitted.of(fitted[:3], encoder, parameters, arrays["weights"], fitted.rules)


def nonzero(fitted: Fitted) -> tuple[Arrays, int]:
    """Return the non-zero weights, their keys, and the number of patterns with weights."""
    parameters, w = fitted.parameters, fitted.w
    blocks = blocks_of(parameters)
    kept, kept_edges = w[blocks.rows] != 0.0, w[blocks.edges] != 0.0
    attribute, edge = parameters.attribute[kept], parameters.edge_attribute[kept_edges]
    attributes, places = np.unique(np.concatenate([attribute, edge]), return_inverse=True)
    Y, used = len(fitted.structure.states), _Used(parameters, w[blocks.patterns])
    rows, labels = places[: len(attribute)], used.renumbered(parameters.label[kept], Y)
    edges = places[len(attribute) :]
    pairs = used.renumbered(parameters.edge_pair[kept_edges], Y * Y)
    order, edge_order = np.lexsort((labels, rows)), np.lexsort((pairs, edges))
    weights = [w[blocks.rows][kept][order], w[blocks.edges][kept_edges][edge_order]]
    ends = {}
    for name, block in (
        ("transition", blocks.transitions),
        ("patterns", blocks.patterns),
        ("start", blocks.starts),
        ("end", blocks.ends),
    ):
        values = w[block]
        if name != "patterns":
            ends[name] = getattr(parameters, name)[values != 0.0]
        weights.append(values[values != 0.0])
    arrays: Arrays = {
        "weights": np.concatenate(weights),
        "attribute": rows[order].astype(np.int32),
        "label": labels[order],
        "edge_attribute": edges[edge_order].astype(np.int32),
        "edge_pair": pairs[edge_order],
        **ends,
        **used.arrays(),
    }
    state = fitted.encoder.state(attributes.astype(np.int32))
    return arrays | {f"encoder.{name}": array for name, array in state.items()}, used.n_plain


class _Used:
    """The patterns with non-zero weights; those with their own weight come first."""

    def __init__(self, parameters: _kernels.Parameters, weights: npt.NDArray[np.float64]) -> None:
        self.all, self.kept = parameters.patterns, np.flatnonzero(weights).tolist()
        self.n_plain = len(self.kept)

    def renumbered(self, codes: npt.NDArray[np.int32], first: int) -> npt.NDArray[np.int32]:
        """Return codes with patterns renumbered from `first`."""
        known = set(self.kept)
        self.kept += [k for k in np.unique(codes - first).tolist() if k >= 0 and k not in known]
        places = np.zeros(len(self.all), np.int32)
        places[self.kept] = np.arange(len(self.kept))
        if not len(places):
            return codes
        moved = first + places[np.maximum(codes - first, 0)]
        return np.where(codes < first, codes, moved).astype(np.int32)

    def arrays(self) -> Arrays:
        """Return them as arrays."""
        sizes = [len(self.all[k]) for k in self.kept]
        labels = [y for k in self.kept for y in self.all[k]]
        return {
            "patterns": np.array(labels, np.int32),
            "pattern_sizes": np.array(sizes, np.int32),
        }
