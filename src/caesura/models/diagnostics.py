"""Evaluation, calibration, uncertainty and explanation of fitted models."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document, as_document
from caesura.errors import InvalidInput, message
from caesura.evaluation import segment_counts
from caesura.inference.alternatives import Detour, detours
from caesura.models.calibration import Calibration, Confident, calibrate, not_constrained
from caesura.models.encoded import Encoded, entropies, impossible
from caesura.models.estimator import is_number
from caesura.models.explanation import (
    Contest,
    Explained,
    Explanation,
    FeatureReasons,
    about_segment,
    detour_to,
    explanations,
    of_one,
    segment_of,
)
from caesura.models.extracting import Extracted, Found
from caesura.models.inputs import one_sequence
from caesura.models.lookback import check_sums, refuse
from caesura.models.prediction import Predictor
from caesura.models.ragged import Ragged
from caesura.models.rules import Constraints, Rules, nonempty_constraints, read_rules
from caesura.models.temperature import cooled, find_temperature
from caesura.models.top_features import TopFeature, top_features
from caesura.segments import Segment

__all__ = ["Answers"]

Floats = npt.NDArray[np.float64]
METHODS = ("isotonic", "temperature")


class Answers(Predictor):
    """A mixin of models with scores, calibration and explanations."""

    def score(self, X: Iterable[Any], y: Iterable[Any] | None = None) -> float:
        """Return the segment F1 of predictions.

        Parameters
        ----------
        X, y
            Fully labelled sequences in any form that `fit` takes.  Unknown labels, such as one that
            is missing in a fold of cross-validation, count as missed.
        """
        documents, gold = self._gold(X, y, ("X", "y"))
        return segment_counts(gold, self.predict(documents), self.outside).f1

    def _known_gold(self, X: Any, y: Any) -> tuple[list[Document], list[list[Segment]]]:
        """Return documents and their segments, or raise for unknown labels."""
        known = set(self._known.labels)
        documents, gold = self._gold(X, y, ("X", "y"))
        for i, segments in enumerate(gold):
            for segment in segments:
                if segment.label not in known:
                    expected = f"one of the labels {', '.join(sorted(known))}"
                    remedy = "fit on data that has it, or leave the sequence out"
                    raise InvalidInput(message(f"y[{i}]", segment.label, expected, remedy))
        return documents, gold

    # -- probabilities ------------------------------------------------------------------------

    def _probabilities(
        self, X: Any, constraints: Constraints = None
    ) -> Iterator[tuple[list[Segment], list[float], bool]]:
        """Yield predicted segments, their probabilities of being exactly correct, and whether they
        were unconstrained.
        """
        names, reading = self._confident_reading()
        for some in self._encoded(X, constraints):
            found = some.ask(some.scorer.confident, reading, some.threads, some.conditions)
            ends = found.ptr.tolist()
            chances = found.probabilities.tolist()
            rows = found.segments(Segment, names)
            for i, segments in enumerate(rows):
                if segments is None:
                    raise impossible(some.first + i)
                free = not some.rules or some.rules[i] == Rules()
                yield segments, chances[ends[i] : ends[i + 1]], free

    def _extracted(self, X: Any, constraints: Constraints) -> Iterator[Extracted]:
        constraints, calibration = nonempty_constraints(constraints, X), self._calibration_of_now
        names, reading = self.coding.reading(self._known)
        for some in self._encoded(X, constraints):
            sums = some.has_sums
            if sums and not some.first:
                self._warn_of_margin("extract")
            ask = some.scorer.confident if sums else some.scorer.best
            found = some.ask(ask, reading, some.threads, some.conditions)
            raw, ends = found.probabilities, found.ptr.tolist()
            shown = raw if calibration is None else calibration(raw)
            wholes = self._whole_probabilities(some, sums)
            answers: list[Found] = []
            for i, segments in enumerate(found.segments(Segment, names)):
                if segments is None:
                    raise impossible(some.first + i)
                free = not some.rules or some.rules[i] == Rules()
                chances = (shown if free else raw)[ends[i] : ends[i + 1]].tolist()
                answers.append((segments, chances if sums else [None] * len(segments), wholes[i]))
            yield some.first, some.raw, answers

    def _whole_probabilities(self, some: Encoded, sums: bool) -> list[float | None]:
        """Return the probability of the best segmentation of each sequence, where known."""
        if not sums or not self._reads_once:
            return [None] * len(some.raw)
        return [best[0][1] for best in self._ranked(some, 1)]

    def _confident_reading(self) -> tuple[list[str | None], _kernels.Reading]:
        """Return the decoding of paths into segments that have probabilities."""
        return self.coding.reading(self._known)

    def _runners_up(
        self, problem: _kernels.Problem, path: list[Segment], segments: Sequence[Segment]
    ) -> list[Detour | None]:
        """Return for each segment the difference between a path and the best path without it; None
        if there is no such path.
        """
        fitted = self._known
        number = {label: k for k, label in enumerate(fitted.labels)}
        asked = [(start, end, number[label]) for start, end, label in segments]
        states = fitted.structure.states
        index = {state: k for k, state in enumerate(states)}
        indexed = [(start, end, index[state]) for start, end, state in path]
        return detours(problem, states, indexed, asked, self.coding.reading(fitted)[1])

    def calibrate(
        self,
        X: Iterable[Any],
        y: Iterable[Any] | None = None,
        method: Literal["isotonic", "temperature"] = "isotonic",
    ) -> Self:
        """Fit the calibration of segment probabilities on held-out data.

        Parameters
        ----------
        X, y
            Labelled sequences that the model was not fitted on.
        method : {"isotonic", "temperature"}
            An increasing step function, or a single temperature for all probabilities.

        Notes
        -----
        No calibrated probability is 0 or 1: for n held-out segments, k of them correct, it is
        (k + 1) / (n + 2), where n counts the segments of one step of the isotonic function.  With a
        temperature, the number of all segments sets the limits.

        The scores of a learner with a margin (perceptron, pa, arow, svm, cutting-plane and eg) have
        an arbitrary scale.  They are first divided by the temperature that maximises the likelihood
        of the held-out labels; predictions do not change.

        The calibration applies to unconstrained predictions with the current `outside_bias`; under
        constraints, or with another bias, uncalibrated probabilities are returned.
        """
        if method not in METHODS:
            expected = "'isotonic' or 'temperature'"
            raise InvalidInput(message("method", method, expected, "pass one of them"))
        documents, gold = self._known_gold(X, y)
        if self._known.spans:
            check_sums(self._known, "calibrate")
        if self.margin_:
            found = find_temperature(self, documents, gold)
            before = 1.0 if self.temperature_ is None else self.temperature_
            cool = cooled(self._known, found)
            self.__dict__.update({"_fitted": cool, "temperature_": before * found})
        right: list[bool] = []
        chances: list[float] = []
        for (segments, some, _), truth in zip(self._probabilities(documents), gold, strict=True):
            known = set(truth)
            right += [segment in known for segment in segments]
            chances += some
        made = calibrate(np.array(chances, np.float64), np.array(right, bool), method)
        self.calibration_ = made._replace(outside_bias=float(self._checked_bias()))
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
            Sequences in any form that `fit` takes.
        precision : float, optional
            Flag segments for review so that this share of the others is correct, as estimated on
            the data of `calibrate`; not available with constraints.
        threshold : float, optional
            Flag segments below this probability for review.
        constraints : optional
            Constraints, as in `predict`; probabilities are conditional on them.

        Returns
        -------
        list of list of Confident
            Tuples (segment, probability, calibrated, review).  `calibrated` is False without
            `calibrate`, under constraints, and if `outside_bias` has changed since.  Uncalibrated
            probabilities of learners with a margin mean little, and cause a warning.
        """
        constraints = nonempty_constraints(constraints, X)
        self._warn_of_margin("predict_confident")
        least = self._least(precision, threshold, constraints)
        calibration = self._calibration_of_now
        if constraints is None:
            return Ragged(self._free_confident(X, calibration, least), self, X)
        out = []
        for i, (segments, some, free) in enumerate(self._probabilities(X, constraints)):
            if precision is not None and not free:
                raise not_constrained(f"constraints[{i}]")
            raw, known = np.array(some, np.float64), free and calibration is not None
            shown = calibration(raw) if calibration is not None and free else raw
            out.append(
                [
                    Confident(segment, chance, known, chance < least)
                    for segment, chance in zip(segments, shown.tolist(), strict=True)
                ]
            )
        return Ragged(out, self, X)

    def _warn_of_margin(self, asked: str) -> None:
        """Warn that probabilities derive from margin scores of arbitrary scale."""
        if self.margin_ and self.temperature_ is None:
            warnings.warn(
                f"{asked}: the probabilities are those of an uncalibrated margin model "
                f"(learner {self.learner}), whose scores have no scale; call calibrate(X, y) with "
                "held-out data first",
                stacklevel=3,
            )

    def _free_confident(
        self, X: Any, calibration: Calibration | None, least: float
    ) -> list[list[Confident]]:
        names, reading = self._confident_reading()
        known, out = calibration is not None, []
        for some in self._encoded(X):
            found = some.ask(some.scorer.confident, reading, some.threads)
            raw = found.probabilities
            shown = raw if calibration is None else calibration(raw)
            rows = found.confident(Confident, Segment, names, shown, known, least)
            if None in rows:
                raise impossible(some.first + rows.index(None))
            out += rows
        return out

    @property
    def _calibration_of_now(self) -> Calibration | None:
        """The calibration, if it was fitted with the current outside bias."""
        known = self.calibration_
        return known if known and known.outside_bias == self._checked_bias() else None

    def _least(
        self, precision: float | None, threshold: float | None, constraints: Constraints
    ) -> float:
        """Return the probability below which segments are flagged for review."""
        if precision is not None and threshold is not None:
            place, remedy = "precision, threshold", "leave one out"
            raise InvalidInput(place=place, got="both", expected="one", remedy=remedy)
        if precision is not None:
            if isinstance(constraints, Mapping):
                raise not_constrained("constraints")
            if self.calibration_ is None:
                got = f"{precision!r} for a model without calibration"
                remedy = "call calibrate(X, y) with held-out data first, or pass a threshold"
                raise InvalidInput(place="precision", got=got, remedy=remedy)
            if self._calibration_of_now is None:
                expected = f"{self.calibration_.outside_bias!r}, with which calibrate was called"
                remedy = "call calibrate(X, y) again, or pass a threshold instead of precision"
                raise InvalidInput(message("outside_bias", self.outside_bias, expected, remedy))
            return self.calibration_.threshold_for(precision)
        if threshold is None:
            return -np.inf
        if not is_number(threshold) or not 0 <= threshold <= 1:
            expected, remedy = "a probability, 0 to 1", "pass for example 0.9"
            raise InvalidInput(message("threshold", threshold, expected, remedy))
        return threshold

    def uncertainty(self, X: Iterable[Any], by: Literal["entropy", "margin"] = "entropy") -> Floats:
        """Return the uncertainty of the model about each sequence, for active learning.

        Parameters
        ----------
        X : iterable of sequences
            Sequences without labels.
        by : {"entropy", "margin"}
            The entropy per token of the segmentations (of the tags for a chain), or 1 minus the
            difference between the two highest probabilities.
        """
        if by not in ("entropy", "margin"):
            raise InvalidInput(message("by", by, "'entropy' or 'margin'", "pass one of them"))
        if by == "entropy":
            return np.array([u for some in self._encoded(X) for u in entropies(some)])
        shares = [[share for _, share in best] + [0.0] for best in self.predict_n_best(X, 2)]
        return np.array([1.0 - (first - second) for first, second, *_ in shares])

    # -- inspection ---------------------------------------------------------------------------

    def explain(
        self, x: Any, constraints: Constraints = None, segment: Sequence[Any] | None = None
    ) -> list[Explanation]:
        """Return the features behind each segment, compared with the best answer without it.

        Parameters
        ----------
        x : sequence
            One sequence, in any form that `fit` takes.
        constraints : dict, optional
            Constraints, as in `predict`.
        segment : (start, end, label), optional
            A segment, predicted or not, to explain: the best answer with it is compared with the
            best one without it.
        """
        refuse(self._known, "explain")
        document = as_document(one_sequence(x), self.tokeniser_, "x")
        reasons, asked = FeatureReasons(self, document), None
        with of_one():
            contest = self._contest(document, constraints)
            if segment is not None:
                contest, asked = self._explained(document, contest, segment, constraints)
        return explanations(document, contest, reasons, self._named, asked)

    def _explained(
        self, document: Document, contest: Contest, given: Sequence[Any], constraints: Constraints
    ) -> tuple[Contest, Explained]:
        """Return the best path with a segment, and its difference to the best one without it."""
        segment = segment_of(given, contest.said, self.outside)
        if segment in contest.said:
            return contest, list(zip(*contest[1:], strict=True))[contest.said.index(segment)]
        rules = read_rules(constraints or {}, "constraints")._asdict()
        with about_segment(given):
            chance = self.probability(document, segment, constraints=constraints)
            with_it = self._contest(document, rules | {"required": [*rules["required"], segment]})
        return with_it, (segment, chance, detour_to(with_it.path, contest.path))

    def _contest(self, document: Document, constraints: Constraints) -> Contest:
        """Return the best path of a document, and its differences to those without each segment."""
        states = list(self._known.structure.states)
        some = next(self._encoded([document], constraints))
        names, reading = self._confident_reading()
        found = some.ask(some.scorer.confident, reading, some.threads, some.conditions)
        [said], [path] = found.segments(Segment, names), some.best(None).segments(Segment, states)
        if said is None or path is None:
            raise impossible(0)
        problem = some.ask(some.scorer.problem, 0, some.conditions)
        others = self._runners_up(problem, path, said)
        return Contest(path, said, found.probabilities.tolist(), others)

    def top_features(self, label: str | None = None, n: int = 10) -> list[TopFeature]:
        """Return the features with the largest weights, positive or negative.

        Parameters
        ----------
        label : str, optional
            A label, or a tag of a chain; by default all.
        n : int
            Number of features.
        """
        refuse(self._known, "top_features")
        return top_features(self, label, n)

    # -- files --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `caesura.load` reads.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced once the new one is complete.
        """
        from caesura.models.files import save

        save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        from caesura.models.files import pickled

        return pickled(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from caesura.models.files import unpickle

        unpickle(self, state)
