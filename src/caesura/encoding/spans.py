"""The encoder for look-back features: columns and firings, without attributes.

The kernels make keys of column values on demand, so no attributes are numbered here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.encoding.encoder import MOST_WORDS, Encoder
from caesura.encoding.firings import read_firings
from caesura.encoding.stored import State, all_texts, restore_texts
from caesura.encoding.values import Longs
from caesura.features import SegmentFeature, SegmentTemplate, Template
from caesura.features.batch import Batch
from caesura.features.lookback import LOOKS, Incremental
from caesura.features.templates import PLACES

__all__ = ["SpanEncoder"]


class SpanEncoder(Encoder):
    """Encode documents as columns for the kernels.

    Parameters
    ----------
    features : sequence of Template and SegmentFeature
        What to look at; those that learn have learnt.

    Examples
    --------
    >>> from caesura.documents import Document
    >>> from caesura.features import previous, this
    >>> encoder = SpanEncoder([previous.text & this.text])
    >>> len(encoder.encode([Document(("New", "Zealand"))], grow=True))
    1
    """

    corpus_kind = _kernels.SpanCorpus

    def __init__(self, features: Sequence[Template | SegmentFeature]) -> None:
        super().__init__(features)
        self._sources = [(k, f"segment {self._feature(k).name}") for k in self._segments]

    def _feature(self, k: int) -> Any:
        return self.features[k]

    @property
    def own(self) -> list[Incremental]:
        """The user-defined functions of all segments so far."""
        return [one for one in self.features if isinstance(one, Incremental)]

    def new_model(self, n_labels: int, boundary_weights: bool) -> _kernels.SpanModel:
        """Return a model without weights for the features of this encoder."""
        column = {one: k for k, one in enumerate(self.columns)}
        tokens, segments = [], []
        for feature, (parts, place) in zip(self.features, self._plans, strict=True):
            if isinstance(feature, Template):
                tokens.append((parts, place, f"token {feature.prefix}"))
            elif isinstance(feature, SegmentTemplate):
                looks = [
                    (role, LOOKS.index(look), column[one]) for role, look, one in feature.parts
                ]
                segments.append((looks, f"template {feature.name}"))
        assert len(PLACES) == 9  # the kernels have the same places
        return _kernels.SpanModel(
            len(self.columns), n_labels, boundary_weights, tokens, segments, bool(self.own)
        )

    def _encode(
        self,
        make: Callable[[], Batch],
        grow: bool,
        corpus: Any,
        words: _kernels.WordRows | None,
    ) -> tuple[Any, Longs]:
        """Encode a batch, append it to a corpus, and return the lengths of its sequences."""
        corpus = self.corpus_kind() if corpus is None else corpus
        with self._lock:
            if len(self._words) > MOST_WORDS or (grow and self._frozen):
                self._forget()
            self._frozen = not grow
            batch = make()
            columns = self._columns(batch, grow, None)
            firings = read_firings(self._readers, batch, grow)
            corpus.append(batch.offsets, columns, self.values, firings, self._sources)
        return corpus, np.diff(batch.offsets)

    # -- files -------------------------------------------------------------------------------

    def values_state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the values of columns and features seen so far, for `restore_values`."""
        out = self._names_state()
        for k, interner in enumerate(self.values):
            out |= all_texts(interner, k)
        return out

    def restore_values(self, state: State) -> None:
        """Restore the values from `values_state`; raise if they are invalid."""
        for k, interner in enumerate(self.values):
            restore_texts(interner, state, k)
        self._restore_names(state)
