"""The known attributes of an encoder: names and storage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.encoding.stored import State, add_texts, all_texts, array, require, restore_texts
from caesura.encoding.values import UNSEEN, Ints, Longs
from caesura.features import Column, SegmentFeature, Template
from caesura.features.document_columns import DenseColumn, given_alone
from caesura.features.templates import AFTER, BEFORE

__all__ = ["KnownAttributes"]

DENSE = "_dense"  # the key of the names of dense columns, beside the numbers of other columns


class KnownAttributes:
    """The attributes seen so far, numbered in order of occurrence. `Encoder` fills the fields."""

    features: list[Template | SegmentFeature]
    columns: list[Column]
    values: list[_kernels.Interner]  # one per column, then one per segment feature
    dense_names: _kernels.Interner  # of the training data, in order; empty if it has none
    _plans: list[tuple[list[tuple[int, int]], int]]  # (column, offset) parts and place, by feature
    _segments: list[int]  # the indices of segment features
    _extractor: _kernels.Extractor

    def __len__(self) -> int:
        return len(self._extractor)

    @property
    def attributes(self) -> _kernels.Extractor:
        """The attributes seen so far, and their co-occurrence groups."""
        return self._extractor

    # -- names -------------------------------------------------------------------------------

    def name(self, attribute: int) -> str:
        """Return the displayed name of an attribute."""
        return self.names([attribute])[0]

    def names(self, attributes: Iterable[int]) -> list[str]:
        """Return the displayed names of attributes.

        They are those of `caesura.features.reference`; only an attribute that users gave for a
        token has its own name alone.
        """
        sources, ptr, values = self._extractor.keys()
        out = []
        for a in attributes:
            source = int(sources[a])
            feature = self.features[source]
            numbers = values[ptr[a] : ptr[a + 1]].tolist()
            if isinstance(feature, SegmentFeature):
                k = len(self.columns) + self._segments.index(source)
                out.append(feature.name + self.values[k].text(numbers[0]))
                continue
            parts = self._plans[source][0]
            texts = [self._text(c, n) for (c, _), n in zip(parts, numbers, strict=True)]
            out.append(texts[0] if given_alone(feature) else feature.attribute(texts))
        return out

    def _text(self, column: int, number: int) -> str:
        return (AFTER, BEFORE)[number + 2] if number < 0 else self.values[column].text(number)

    @property
    def sources(self) -> Ints:
        """The index of the feature that each attribute belongs to."""
        sources: Ints = self._extractor.keys()[0]
        return sources

    # -- files -------------------------------------------------------------------------------

    def state(self, attributes: Ints) -> dict[str, npt.NDArray[Any]]:
        """Return the state from which `restore` recovers these attributes, as 0, 1, ..."""
        sources, ptr, values = self._extractor.keys()
        counts = np.diff(ptr)[attributes]
        out: dict[str, npt.NDArray[Any]] = {"sources": sources[attributes]}
        out["ptr"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.repeat(ptr[:-1][attributes] - out["ptr"][:-1], counts)
        numbers = values[places + np.arange(len(places))]
        owners = self._owners(out["sources"], out["ptr"])
        for k, interner in enumerate(self.values):
            mine = (owners == k) & (numbers >= 0)
            used, renumbered = np.unique(numbers[mine], return_inverse=True)
            if k < len(self.columns) and isinstance(self.columns[k], DenseColumn):
                used = np.arange(len(interner))  # all columns of the dense arrays, in order
            else:
                numbers[mine] = renumbered
            out[f"text{k}"], out[f"sizes{k}"] = interner.texts(used.astype(np.int32))
        out["numbers"] = numbers.astype(np.int32)
        return out | self._names_state()

    def _names_state(self) -> dict[str, npt.NDArray[Any]]:
        return all_texts(self.dense_names, DENSE) if len(self.dense_names) else {}

    def _restore_names(self, state: State) -> None:
        if f"text{DENSE}" in state:  # absent where columns have no names, and from older files
            restore_texts(self.dense_names, state, DENSE)

    def restore(self, state: State) -> None:
        """Restore the attributes from a `state`; raise if it is invalid."""
        sizes = [restore_texts(interner, state, k) for k, interner in enumerate(self.values)]
        sources, ptr = array(state, "sources", np.int32), array(state, "ptr", np.int64)
        numbers = array(state, "numbers", np.int32)
        n_parts = np.array([max(len(parts), 1) for parts, _ in self._plans], np.int64)
        require(bool(((sources >= 0) & (sources < len(n_parts))).all()), "sources", "out of range")
        expected = np.concatenate([[0], np.cumsum(n_parts[sources])])
        require(np.array_equal(ptr, expected), "ptr", "not what the features say")
        require(len(numbers) == expected[-1], "numbers", "wrong length")
        limits = np.array([*sizes, 0])[self._owners(sources, ptr)]
        least = np.where(np.isin(np.repeat(sources, np.diff(ptr)), self._segments), 0, UNSEEN + 1)
        good = (numbers >= least) & (numbers < np.maximum(limits, 0))
        require(bool(good.all()), "numbers", "out of range")
        self._extractor.restore(sources, ptr, numbers)
        require(len(self) == len(sources), "sources", "an attribute is there twice")
        self._restore_names(state)

    def absorb(self, state: State) -> None:
        """Add the attributes from the `state` of another encoder of the same features.

        New attributes are numbered in the order in which the other one has met them.
        """
        sources, ptr = state["sources"], state["ptr"]
        numbers, owners = state["numbers"].copy(), self._owners(sources, ptr)
        for k, interner in enumerate(self.values):
            mine = (owners == k) & (numbers >= 0)
            numbers[mine] = add_texts(interner, state, k)[numbers[mine]]
        self._extractor.restore(sources, ptr, numbers)
        if not len(self.dense_names):
            self._restore_names(state)

    def _owners(self, sources: Ints, ptr: Longs) -> Ints:
        """Return for each attribute value its owner, an index into `values`."""
        counts = np.diff(ptr)
        each = np.repeat(sources, counts)
        place = np.arange(len(each)) - np.repeat(ptr[:-1], counts)
        out = np.zeros(len(each), np.int32)
        for source, (parts, _) in enumerate(self._plans):
            mine = each == source
            if parts:
                out[mine] = np.array([column for column, _ in parts], np.int32)[place[mine]]
            else:
                out[mine] = len(self.columns) + self._segments.index(source)
        return out
