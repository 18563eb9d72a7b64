"""Models of high order by their definition: every segmentation of a short sequence, one by one.

Nothing here is shared with the library but the rows that features fire on: weights are looked up by
the name of an attribute and the labels that it goes with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import Document, Partial
from caesura.features import SegmentFeature, Template
from caesura.features.batch import Batch, Words
from caesura.features.reference import Row, applies, rows

Floats = npt.NDArray[np.float64]
Segments = tuple[tuple[int, int, str], ...]
Key = tuple[str, tuple[str, ...]]  # an attribute or a kind of weight, and its labels


class Definition:
    """What the weights of a training mean."""

    def __init__(self, model: Any, training: Any) -> None:
        self.model, self.training = model, training
        self.structure = model.coding.in_training(training.structure)
        self.features = training.encoder.features
        self.index = {key: k for k, key in enumerate(self.keys())}
        assert len(self.index) == len(training.parameters)

    def keys(self) -> Iterator[Key]:
        """What each weight belongs to, in the order of the vector."""
        parameters, states = self.training.parameters, self.training.structure.states
        Y, patterns, names = len(states), parameters.patterns, self.training.encoder.names

        def said(numbers: Sequence[int]) -> tuple[str, ...]:
            return tuple(states[y] for y in numbers)

        labels = [(y,) for y in range(Y)] + patterns
        pairs = [(a, b) for a in range(Y) for b in range(Y)] + patterns
        for name, code in zip(
            names(parameters.attribute.tolist()), parameters.label.tolist(), strict=True
        ):
            yield name, said(labels[code])
        for name, code in zip(
            names(parameters.edge_attribute.tolist()), parameters.edge_pair.tolist(), strict=True
        ):
            yield name, said(pairs[code])
        for code in parameters.transition.tolist():
            yield "pattern", said(pairs[code])
        for pattern in patterns[: parameters.n_plain]:
            yield "pattern", said(pattern)
        for y in parameters.start.tolist():
            yield "start", said([y])
        for y in parameters.end.tolist():
            yield "end", said([y])

    # -- counts ----------------------------------------------------------------------------------

    def rows(self, x: list[str]) -> list[tuple[int, Row]]:
        """All rows of a sequence, with the history of each: labels before the segment's own."""
        document, found = Document(tuple(x)), []
        for feature in self.features:
            if isinstance(feature, Template):
                order = max(feature.order, int(feature.place == "edge"))
                found += [(order, row) for row in rows(document, [feature])]
                continue
            assert isinstance(feature, SegmentFeature)
            fired = feature.firings(Batch([document], Words()))
            for s, e, f, k, v in zip(
                fired.starts, fired.ends, fired.flags, fired.which, fired.values, strict=True
            ):
                row = Row(int(s), int(e), int(f), feature.name + fired.names[k], float(v))
                found.append((feature.order, row))
        return found

    def counts(self, x: list[str], segments: Segments) -> Floats:
        """How often each weight counts in a segmentation."""
        found: Counter[Key] = Counter()
        labels = [label for _, _, label in segments]
        for j in range(len(segments)):
            for n in range(2, j + 2):
                found["pattern", tuple(labels[j + 1 - n : j + 1])] += 1
        for order, row in self.rows(x):
            for j, (start, end, _) in enumerate(segments):
                edge = row.start == row.end == start
                if j >= order and (edge or applies(row, start, end)):
                    found[row.attribute, tuple(labels[j - order : j + 1])] += row.value  # type: ignore
        if segments:
            found["start", (labels[0],)] += 1
            found["end", (labels[-1],)] += 1
        out = np.zeros(len(self.index))
        for key, value in found.items():
            if key in self.index:
                out[self.index[key]] += value
        return out

    # -- enumeration -----------------------------------------------------------------------------

    def possible(self, T: int, at: int = 0, before: int | None = None) -> Iterator[Segments]:
        """Every segmentation that the structure allows."""
        if at == T:
            if before is None or not self.structure.barred_end[before]:
                yield ()
            return
        bounds = self.structure.bounds.tolist()
        for y, state in enumerate(self.structure.states):
            barred = (
                self.structure.barred_start[y]
                if before is None
                else self.structure.barred[before, y]
            )
            for end in range(at + 1, (min(T, at + bounds[y]) if bounds[y] else T) + 1):
                if not barred:
                    for rest in self.possible(T, end, y):
                        yield ((at, end, state), *rest)

    def table(self, x: list[str]) -> tuple[list[Segments], Floats]:
        """All segmentations of a sequence, and how often each weight counts in each."""
        listed = list(self.possible(len(x)))
        return listed, np.array([self.counts(x, segments) for segments in listed])

    def agree(self, X: Sequence[list[str]], y: Sequence[Any]) -> bool:
        """Whether each sequence has a segmentation that agrees with its labels."""
        return all(
            any(agrees(segments, target) for segments in self.possible(len(x)))
            for x, target in zip(X, y, strict=True)
        )

    def loss(
        self, X: Sequence[list[str]], y: Sequence[Any], w: Floats, weight: Floats
    ) -> tuple[float, Floats]:
        """Return the negative log-likelihood and its gradient."""
        total, gradient = 0.0, np.zeros(len(w))
        for x, target, share in zip(X, y, weight.tolist(), strict=True):
            listed, counts = self.table(x)
            kept = [agrees(segments, target) for segments in listed]
            for sign, some in ((share, counts), (-share, counts[kept])):
                scores = some @ w
                log_z = np.logaddexp.reduce(scores)
                total += sign * float(log_z)
                gradient += sign * (np.exp(scores - log_z) @ some)
        return total, gradient


def agrees(segments: Segments, known: Any) -> bool:
    """Whether a segmentation is what is known: all of it, whole segments, or labels of tokens."""
    if not isinstance(known, Partial):
        return segments == tuple(known)
    labels = {t: label for start, end, label in segments for t in range(start, end)}
    tokens = all(labels[t] in said for t, said in known.tokens.items())
    return tokens and {tuple(one) for one in known.segments} <= set(segments)
