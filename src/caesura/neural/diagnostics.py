"""Evaluation, calibration, uncertainty and explanation of neural models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from caesura import inference
from caesura.documents import Document, as_document
from caesura.errors import InvalidInput, message
from caesura.evaluation import segment_counts
from caesura.inference.alternatives import best_without
from caesura.models.calibration import Confident, calibrate
from caesura.models.explanation import Contest, Explanation, explanations, of_one
from caesura.models.extracting import Extracted
from caesura.models.inputs import documents_of, one_sequence, raw_chunks
from caesura.models.ragged import Ragged
from caesura.models.rules import Constraints, nonempty_constraints
from caesura.neural.explanation import NetworkReasons, explain_filtered
from caesura.neural.network import threads
from caesura.neural.prediction import Predictor
from caesura.segments import Segment

__all__ = ["Answers"]

METHODS = ("isotonic", "temperature")


class Answers(Predictor):
    """A mixin of neural models with scores, calibration and explanations."""

    def uncertainty(
        self, X: Iterable[Any], by: Literal["entropy", "margin"] = "entropy"
    ) -> npt.NDArray[np.float64]:
        """Return the uncertainty of the model about each sequence, for active learning.

        Parameters
        ----------
        X : iterable of sequences
            Without labels.
        by : {"entropy", "margin"}
            Entropy of the segmentations for each token, or 1 minus the gap between the
            probabilities of the best two.

        Returns
        -------
        array of shape (n,)
        """
        if by not in ("entropy", "margin"):
            raise InvalidInput(message("by", by, "'entropy' or 'margin'", "pass one of them"))
        if by == "margin":
            shares = [[share for _, share in best] + [0.0] for best in self.predict_n_best(X, 2)]
            return np.array([1.0 - (first - second) for first, second, *_ in shares])
        head = self._head

        def ask(some: Any) -> list[float]:
            found = zip(head.entropy(*some.given), some.given[1], strict=True)
            return [entropy / max(length, 1) for entropy, length in found]

        return np.array(list(self._each(X, None, ask)))

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
        """Fit the calibration of segment probabilities on held-out data.

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
        documents, gold = self._gold(X, y, ("X", "y"))
        right: list[bool] = []
        chances: list[float] = []
        for (cut, some), truth in zip(self._found(documents, None, True), gold, strict=True):
            known = set(truth)
            right += [segment in known for segment in cut]
            chances += some
        self.calibration_ = calibrate(np.array(chances), np.array(right, bool), method)
        return self

    def predict_confident(
        self,
        X: Iterable[Any],
        precision: float | None = None,
        threshold: float | None = None,
        constraints: Constraints = None,
    ) -> list[list[Confident]]:
        """Return the best segments with the probability that each is exactly correct.

        Parameters
        ----------
        X : iterable of sequences
            Token lists, texts or documents.
        precision : float, optional
            Segments are marked for review so that of the others this share is right, as far as the
            data of `calibrate` shows; not with constraints.
        threshold : float, optional
            Segments below this probability are marked for review.
        constraints : optional
            See `predict`; probabilities are then the model's own.

        Returns
        -------
        list of list of Confident
        """
        constraints = nonempty_constraints(constraints, X)
        least = self._least(precision, threshold, constraints)
        known = self.calibration_ is not None and constraints is None
        found = (
            [Confident(s, p, known, p < least) for s, p in zip(cut, chances, strict=True)]
            for cut, chances in self._calibrated(X, constraints)
        )
        return Ragged(found, self, X)

    def _calibrated(
        self, X: Any, constraints: Constraints
    ) -> Iterator[tuple[list[Segment], list[float]]]:
        """Yield the segments of each sequence, with calibrated probabilities if unconstrained."""
        known = self.calibration_ if constraints is None else None
        for cut, some in self._found(X, constraints, True):
            shown = np.array(some) if known is None else known(np.array(some))
            yield cut, shown.tolist()

    def _labels(self) -> list[str]:
        self.fitted_network()
        return list(self.labels_)

    def _extracted(self, X: Any, constraints: Any) -> Iterator[Extracted]:
        constraints = nonempty_constraints(constraints, X)
        shared = constraints is None or isinstance(constraints, Mapping)
        each = iter(() if shared else constraints)
        for first, raw in raw_chunks(X, self.tokeniser_):
            documents = documents_of(raw, self.tokeniser_, "texts", first)
            own = constraints if shared else list(islice(each, len(raw)))
            wholes: list[float | None] = [None] * len(documents)
            found = list(self._calibrated(documents, own))
            if self._ranks:
                best = self.predict_n_best(documents, 1, own)
                for i, one in enumerate(best):
                    wholes[i] = one[0][1] if one and one[0][0] == found[i][0] else None
            answers = [(*pair, p) for pair, p in zip(found, wholes, strict=True)]
            yield first, documents, answers

    @property
    def _ranks(self) -> bool:
        """Whether whole segmentations have probabilities, which a local filter alone lacks."""
        return not self._by_filter() or bool(self._head.layer.global_loss)

    def _least(
        self, precision: float | None, threshold: float | None, constraints: Constraints
    ) -> float:
        """Return the probability below which segments are flagged for review."""
        if precision is not None and threshold is not None:
            raise InvalidInput(
                place="precision, threshold", got="both", expected="one", remedy="leave one out"
            )
        if precision is not None:
            if constraints is not None:
                raise InvalidInput(
                    "cannot be combined with precision, because the calibration holds for "
                    "unconstrained predictions",
                    place="constraints",
                    remedy="pass a threshold instead",
                )
            if self.calibration_ is None:
                raise InvalidInput(
                    "needs a calibrated model",
                    place="precision",
                    remedy="call calibrate(X, y) first",
                )
            return self.calibration_.threshold_for(precision)
        if threshold is None:
            return -np.inf
        number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not number or not 0 <= threshold <= 1:
            expected = "a probability, 0 to 1"
            raise InvalidInput(message("threshold", threshold, expected, "pass for example 0.9"))
        return float(threshold)

    # -- explanations ------------------------------------------------------------------------------

    def explain(self, x: Any, constraints: Constraints = None) -> list[Explanation]:
        """Return the contributions to each segment, compared with the best answer without it.

        Parameters
        ----------
        x : sequence
            A token list, a text or a document.
        constraints : dict, optional
            See `predict`.

        Returns
        -------
        list of Explanation
            Network scores of tokens, starts, ends or segments are called ``network[...]``;
            they are followed by label transitions and declared features.  The reasons add up to the
            margin, unless it is infinite because every answer has the segment.
        """
        document = as_document(one_sequence(x), self.tokeniser_, "x")
        if not self._by_filter():
            with of_one():
                contest = self._contest(document, constraints)
            reasons = NetworkReasons(self.fitted_network(), document)
            return explanations(document, contest, reasons, self._head.named)
        constraints = nonempty_constraints(constraints, [x])
        rules = None
        if constraints is not None:
            rules = [(0, next(self._checked_rules([x], constraints))(len(document)))]
        with threads(self.n_threads):
            return explain_filtered(self.fitted_network(), document, rules)

    def _contest(self, document: Document, constraints: Constraints) -> Contest:
        """Return the best path of a document, and its differences to those without each segment."""
        head = self._head
        asked = next(self._asked([document], constraints))
        [p], [best] = asked.potentials, asked.of(inference.viterbi)
        said = head.named(best.segments)
        numbered = [(start, end, head.number_of(label)) for start, end, label in said]
        others = best_without(p, best.segments, numbered, head.reading)
        return Contest(best.segments, said, head.chances(p, said), others)
