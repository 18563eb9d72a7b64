"""What can be asked of a fitted model beside its best segments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from caesura import inference
from caesura.errors import InvalidInput, message
from caesura.evaluation import segment_counts
from caesura.inference.results import Marginals, Path
from caesura.models.base import Model, _paired
from caesura.models.calibration import Calibration, Confident, calibrate
from caesura.models.explanation import Explanation, TopFeature, explain, top_features
from caesura.models.targets import scheme_of, segments_of
from caesura.segments import Segment, to_tags

__all__ = ["Answers"]

Floats = npt.NDArray[np.float64]


class Answers(Model):
    """A model that answers questions."""

    _calibration: Calibration | None = None

    def predict_tags(
        self, X: Iterable[Any], scheme: str | None = "BIO", constraints: Any = None
    ) -> list[list[str]]:
        """Return a tag for each token of each sequence.

        Parameters
        ----------
        X : iterable of sequences
            In any form that `fit` takes.
        scheme : str or None
            A tag scheme; None: the states of the model as they are.
        constraints : optional
            As in `predict`.
        """
        listed = list(X)
        documents = self._documents(listed, 0)
        if scheme is None:
            return self._states_of(documents, constraints)
        found = self.predict(documents, constraints)
        return [
            to_tags(segments, scheme, len(document), self.outside)
            for segments, document in zip(found, documents, strict=True)
        ]

    def _states_of(self, documents: Sequence[Any], constraints: Any) -> list[list[str]]:
        """Return the state of each token."""
        fitted = self._known
        if constraints is not None:
            paths = inference.viterbi(
                self._all_potentials(documents, constraints), n_threads=self.n_threads
            )
            return [[s.label for s in path.segments for _ in range(s.length)] for path in paths]
        out = []
        for _, _, design in self._designs(documents):
            for path in fitted.scorer.best(design, inference.door.threads_of(self.n_threads)):
                out.append([fitted.structure.states[k] for s, e, k in path or () for _ in range(s, e)])
        return out

    def predict_marginals(self, X: Iterable[Any], constraints: Any = None) -> list[Marginals]:
        """Return the probabilities of each sequence, over the states of the model."""
        return inference.marginals(self._all_potentials(X, constraints), n_threads=self.n_threads)

    def predict_n_best(
        self, X: Iterable[Any], n: int, constraints: Any = None
    ) -> list[list[tuple[list[Segment], float]]]:
        """Return the n best segmentations of each sequence, with their probabilities."""
        potentials = self._all_potentials(X, constraints)
        out = []
        log_z = inference.log_partition(potentials, n_threads=self.n_threads)
        for paths, total in zip(
            inference.n_best(potentials, n, n_threads=self.n_threads), log_z, strict=True
        ):
            out.append(self._merged(paths, total))
        return out

    def _merged(self, paths: Iterable[Path], log_z: float) -> list[tuple[list[Segment], float]]:
        """Return segmentations; tag paths that say the same are one."""
        found: dict[tuple[Segment, ...], float] = {}
        for path in paths:
            key = tuple(self._named(path.segments))
            found[key] = found.get(key, 0.0) + float(np.exp(path.score - log_z))
        ranked = sorted(found.items(), key=lambda item: -item[1])
        return [(list(segments), probability) for segments, probability in ranked]

    def sample(
        self, X: Iterable[Any], n: int = 1, seed: int | None = None, constraints: Any = None
    ) -> list[list[list[Segment]]]:
        """Draw n segmentations of each sequence from the model's distribution."""
        potentials = self._all_potentials(X, constraints)
        drawn = inference.sample(
            potentials, n, seed=self.random_state if seed is None else seed, n_threads=self.n_threads  # type: ignore[attr-defined]
        )
        return [[self._named(segments) for segments in some] for some in drawn]

    def score(self, X: Iterable[Any], y: Iterable[Any] | None = None) -> float:
        """Return the segment F1 of predictions against labels."""
        found, gold = self._predicted_and_gold(X, y)
        return segment_counts(gold, found, self.outside).f1

    def _predicted_and_gold(
        self, X: Iterable[Any], y: Iterable[Any] | None
    ) -> tuple[list[list[Segment]], list[list[Segment]]]:
        documents: list[Any] = []
        targets: list[Any] = []
        for some, ys in self._chunks(_paired(X, y)):
            documents += some
            targets += ys
        scheme = scheme_of(targets, self.outside)
        gold = [segments_of(t, scheme, self.outside, f"y[{i}]") for i, t in enumerate(targets)]
        self._last_documents = documents
        return self.predict(documents), gold

    # -- confidence ---------------------------------------------------------------------------

    def _probabilities(
        self, X: Sequence[Any], constraints: Any = None
    ) -> tuple[list[list[Segment]], list[list[float]]]:
        """Return predicted segments and the probability that each is exactly right."""
        potentials = self._all_potentials(X, constraints)
        paths = inference.viterbi(potentials, n_threads=self.n_threads)
        marginals = inference.marginals(potentials, n_threads=self.n_threads)
        found = [self._named(path.segments) for path in paths]
        chances = [
            [self._chance(m, p, segment) for segment in segments]
            for m, p, segments in zip(marginals, potentials, found, strict=True)
        ]
        return found, chances

    def _chance(self, m: Marginals, p: Any, segment: Segment) -> float:
        """Return the probability of one segment."""
        return m.segment(*segment)

    def calibrate(
        self,
        X: Iterable[Any],
        y: Iterable[Any] | None = None,
        method: Literal["isotonic", "temperature"] = "isotonic",
    ) -> Any:
        """Learn from held-out data how often a segment with a given probability is right.

        Parameters
        ----------
        X, y
            Labelled sequences that the model was not fitted on.
        method : {"isotonic", "temperature"}
            Any rising function, or one number that sharpens or flattens all probabilities.
        """
        if method not in ("isotonic", "temperature"):
            expected = "'isotonic' or 'temperature'"
            raise InvalidInput(message("method", method, expected, "pass one of them"))
        _, gold = self._predicted_and_gold(X, y)
        found, chances = self._probabilities(self._last_documents)
        right = [
            segment in set(truth)
            for segments, truth in zip(found, gold, strict=True)
            for segment in segments
        ]
        flat = [chance for some in chances for chance in some]
        self._calibration = calibrate(np.array(flat), np.array(right, bool), method)
        return self

    def predict_confident(
        self,
        X: Iterable[Any],
        precision: float | None = None,
        threshold: float | None = None,
        constraints: Any = None,
    ) -> list[list[Confident]]:
        """Return the best segments with the probability that each is exactly right.

        Parameters
        ----------
        X : iterable of sequences
            In any form that `fit` takes.
        precision : float, optional
            Segments are marked for review so that of the others this share is right, as far as the
            data of `calibrate` tells.
        threshold : float, optional
            Segments below this probability are marked for review.
        constraints : optional
            As in `predict`.

        Returns
        -------
        list of list of Confident
            (segment, probability, calibrated, review); without `calibrate` the probabilities are the
            model's own, and `calibrated` is False.
        """
        calibration = self._calibration
        if precision is not None:
            if calibration is None:
                raise InvalidInput(
                    "precision: needs calibration; call calibrate(X, y) with held-out data first, "
                    "or pass a threshold"
                )
            threshold = calibration.threshold_for(precision)
        found, chances = self._probabilities(list(X), constraints)
        out = []
        for segments, some in zip(found, chances, strict=True):
            shown = np.array(some) if calibration is None else calibration(np.array(some))
            out.append(
                [
                    Confident(
                        segment,
                        float(chance),
                        calibration is not None,
                        threshold is not None and bool(chance < threshold),
                    )
                    for segment, chance in zip(segments, shown, strict=True)
                ]
            )
        return out

    def uncertainty(
        self, X: Iterable[Any], by: Literal["entropy", "margin"] = "entropy"
    ) -> Floats:
        """Return how unsure the model is of each sequence: label the largest next.

        Parameters
        ----------
        X : iterable of sequences
            Without labels.
        by : {"entropy", "margin"}
            Entropy of the segmentations for each token, or 1 minus the gap between the
            probabilities of the best two.
        """
        potentials = self._all_potentials(X, None)
        if by == "entropy":
            values = inference.entropy(potentials, n_threads=self.n_threads)
            return np.array([v / max(p.length, 1) for v, p in zip(values, potentials, strict=True)])
        if by != "margin":
            raise InvalidInput(message("by", by, "'entropy' or 'margin'", "pass one of them"))
        log_z = inference.log_partition(potentials, n_threads=self.n_threads)
        out = []
        for paths, total in zip(
            inference.n_best(potentials, 2, n_threads=self.n_threads), log_z, strict=True
        ):
            shares = [np.exp(path.score - total) for path in paths]
            out.append(1.0 - shares[0] + (shares[1] if len(shares) > 1 else 0.0))
        return np.array(out, np.float64)

    # -- inspection ---------------------------------------------------------------------------

    def explain(self, x: Any, constraints: Any = None) -> list[Explanation]:
        """Say which features made each segment win, against the best answer without it."""
        return explain(self, x, constraints)

    def top_features(self, label: str | None = None, n: int = 10) -> list[TopFeature]:
        """Return the features with the largest weights, of one label or of all."""
        return top_features(self._known, label, n)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into one file, which `caesura.load` reads."""
        from caesura.models.files import save

        save(self, path)
