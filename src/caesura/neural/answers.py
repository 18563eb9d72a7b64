"""What a fitted neural segmenter answers: segments, probabilities, a score, a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch

from caesura.checks import whole
from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.evaluation import segment_counts
from caesura.models.base import Model
from caesura.models.calibration import Confident, calibrate
from caesura.models.extracting import Extracted
from caesura.models.reading import documents_of, raw_chunks, sequences
from caesura.neural.network import Network, threads
from caesura.segments import Segment

__all__ = ["Answers"]

METHODS = ("isotonic", "temperature")


class Answers(Model):
    """The questions that a fitted network answers."""

    _network: Network | None = None

    def _fitted_network(self) -> Network:
        if self._network is None:
            raise InvalidInput("model: it is not fitted; call fit first")
        return self._network

    def __sklearn_is_fitted__(self) -> bool:
        return self._network is not None

    def _found(
        self, network: Network, documents: Sequence[Document], likely: bool
    ) -> Iterator[tuple[list[Segment], list[float]]]:
        """Yield the segments of each document, with their probabilities where asked for."""
        order = sorted(range(len(documents)), key=lambda i: len(documents[i]))
        out: dict[int, tuple[list[Segment], list[float]]] = {}
        head: Any = network.head
        with torch.no_grad(), threads(self.n_threads):
            for k in range(0, len(order), 32):
                some = order[k : k + 32]
                given = network.states([documents[i] for i in some])
                found = head.predict(*given)
                chances = head.probabilities(*given, found) if likely else [[] for _ in some]
                out.update(zip(some, zip(found, chances, strict=True), strict=True))
        return (out[i] for i in range(len(documents)))

    def _documents(self, X: Any) -> list[Document]:
        return documents_of(list(sequences(X)), self.tokeniser, "X", 0)

    def predict(self, X: Iterable[Any], constraints: None = None) -> list[list[Segment]]:
        """Return the best segments of each sequence.

        Parameters
        ----------
        X : iterable of sequences
            Token lists, texts or documents.
        constraints
            Not supported; the layers take them.

        Returns
        -------
        list of list of Segment
        """
        network = self._asked(constraints)
        return [cut for cut, _ in self._found(network, self._documents(X), False)]

    def _asked(self, constraints: object) -> Network:
        if constraints is not None:
            raise InvalidInput(
                "constraints: NeuralSegmenter does not support them; leave them out, or ask the "
                "layer for constrained segmentations"
            )
        return self._fitted_network()

    def predict_n_best(
        self, X: Iterable[Any], n: int = 5, constraints: None = None
    ) -> list[list[tuple[list[Segment], float]]]:
        """Return the n best lists of segments of each sequence, with their probabilities.

        Parameters
        ----------
        X, constraints
            See `predict`.
        n : int
            How many; there are fewer where fewer are possible.

        Returns
        -------
        list of list of (segments, probability)
        """
        network, documents = self._asked(constraints), self._documents(X)
        whole("n", n, 1)
        out: list[list[tuple[list[Segment], float]]] = []
        with torch.no_grad(), threads(self.n_threads):
            for k in range(0, len(documents), 32):
                out += network.head.n_best(*network.states(documents[k : k + 32]), n)
        return out

    def score(self, X: Iterable[Any], y: Iterable[Any] | None = None) -> float:
        """Return the segment F1.

        Parameters
        ----------
        X, y
            Labelled sequences.

        Returns
        -------
        float
        """
        documents, gold = self._gold(X, y, ("X", "y"))
        return segment_counts(gold, self.predict(documents), self.outside).f1

    def calibrate(
        self, X: Iterable[Any], y: Iterable[Any] | None = None, method: str = "isotonic"
    ) -> Self:
        """Learn from held-out data how often a segment with a given probability is right.

        Parameters
        ----------
        X, y
            Labelled sequences that the model was not fitted on.
        method : {"isotonic", "temperature"}
            See `caesura.SemiCRF.calibrate`.

        Returns
        -------
        self
        """
        if method not in METHODS:
            raise InvalidInput(
                message("method", method, f"one of {list(METHODS)}", "pass one of them")
            )
        network = self._fitted_network()
        documents, gold = self._gold(X, y, ("X", "y"))
        right: list[bool] = []
        chances: list[float] = []
        for (cut, some), truth in zip(self._found(network, documents, True), gold, strict=True):
            right += [segment in set(truth) for segment in cut]
            chances += some
        self.calibration_ = calibrate(np.array(chances), np.array(right, bool), method)
        return self

    def predict_confident(
        self,
        X: Iterable[Any],
        precision: float | None = None,
        threshold: float | None = None,
        constraints: None = None,
    ) -> list[list[Confident]]:
        """Return the best segments with the probability that each is exactly right.

        Parameters
        ----------
        X : iterable of sequences
            Token lists, texts or documents.
        precision : float, optional
            Segments are marked for review so that of the others this share is right, as far as the
            data of `calibrate` tells.
        threshold : float, optional
            Segments below this probability are marked for review.
        constraints
            Not supported.

        Returns
        -------
        list of list of Confident
        """
        known = self.calibration_
        least = 0.0 if threshold is None else float(threshold)
        if precision is not None:
            if known is None:
                raise InvalidInput("precision: needs a calibrated model; call calibrate first")
            least = max(least, known.threshold_for(precision))
        return [
            [
                Confident(s, p, known is not None, p < least)
                for s, p in zip(cut, chances, strict=True)
            ]
            for cut, chances in self._calibrated(self._documents(X), constraints)
        ]

    def _calibrated(
        self, documents: Sequence[Document], constraints: object
    ) -> Iterator[tuple[list[Segment], list[float]]]:
        """Yield the segments of each document with their probabilities."""
        network, known = self._asked(constraints), self.calibration_
        for cut, some in self._found(network, documents, True):
            shown = np.array(some) if known is None else known(np.array(some))
            yield cut, shown.tolist()

    def _labels(self) -> list[str]:
        self._fitted_network()
        return list(self.labels_)

    def _extracted(self, X: Any, constraints: Any) -> Iterator[Extracted]:
        for first, raw in raw_chunks(X):
            documents = documents_of(raw, self.tokeniser, "texts", first)
            best = self.predict_n_best(documents, 1, constraints)
            found = self._calibrated(documents, constraints)
            yield (
                first,
                documents,
                [
                    (cut, chances, one[0][1] if one and one[0][0] == cut else None)
                    for (cut, chances), one in zip(found, best, strict=True)
                ],
            )
