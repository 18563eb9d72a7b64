"""Development data: evaluation of weights, and a fingerprint of the data."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from caesura.documents import Document
from caesura.errors import InvalidInput
from caesura.evaluation import segment_counts
from caesura.inference.kernel_calls import threads_of
from caesura.models.fitted import scorer_of
from caesura.segments import Segment

if TYPE_CHECKING:
    from caesura.models.model import Model
    from caesura.models.training import Training

__all__ = ["Development"]

Floats = npt.NDArray[np.float64]


class Development:
    """The segment F1 of weights on development data."""

    def __init__(
        self,
        model: Model,
        training: Training,
        documents: Sequence[Document],
        gold: list[list[Segment]],
    ) -> None:
        self._gold = gold
        if not any(self._gold):  # the score would always be 0, and the first weights the best
            raise InvalidInput(
                place="y_dev",
                got="no segment at all",
                expected="some to compare with",
                remedy="label some, or leave the development data out",
            )
        try:
            self._corpus = training.encoder.encode(documents, False, name="X_dev")
        except InvalidInput as error:
            raise error.changed(argument="X_dev") if error.argument == "X" else error from error
        self._model, self._training = model, training
        self._design = training.parameters.compile(self._corpus)
        self._outside = model.coding.outside_states(training.structure.states, training.scheme)
        self._longest = max(map(len, documents), default=0)
        self._fitted = training.fitted(training.w0)  # only its states and its scheme are used

    def __call__(self, w: Floats) -> float:
        """Return the score."""
        model, training = self._model, self._training
        scorer = scorer_of(
            training.parameters,
            w,
            training.structure,
            model.outside_bias,
            self._outside,
            self._longest,
        )
        names, reading = model.coding.reading(self._fitted)
        paths = scorer.best(self._design, reading, threads_of(model.n_threads))
        found = [segments or [] for segments in paths.segments(Segment, names)]
        return segment_counts(self._gold, found, model.outside).f1

    def standard_error(self, score: float) -> float:
        """Return the standard error of F1, taken as the share of gold segments that are correct.

        Half a success and half a failure are added, so that a perfect score is not without error.
        """
        n = sum(map(len, self._gold)) + 1
        share = (score * (n - 1) + 0.5) / n
        return math.sqrt(share * (1 - share) / n)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The identity of the data, on which a scored run depends."""
        crc = zlib.crc32(repr([[tuple(s) for s in segments] for segments in self._gold]).encode())
        for i in range(len(self._gold)):
            arrays = (*self._corpus.row_attributes(i), *self._corpus.edge_attributes(i))
            for array in arrays:
                crc = zlib.crc32(array.tobytes(), crc)
        bias = float(self._model.outside_bias)
        return {"development data": f"{len(self._gold)} crc32 {crc:08x}", "outside_bias": bias}
