"""Prediction: best segments, n-best lists, samples and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar, cast

import numpy as np

from caesura import _kernels
from caesura.checks import whole
from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.inference import log_partition
from caesura.inference.kernel_calls import check_answers, check_count, threads_of
from caesura.inference.results import Marginals
from caesura.models.constrained_inference import Asked, constrained
from caesura.models.encoded import Encoded, SpanEncoded, impossible
from caesura.models.fitted import Fitted, layout_bounds, outside_biases, scorer_of
from caesura.models.inputs import documents_of, encoded, one_sequence, raw_chunks
from caesura.models.kernel_constraints import ConditionReader
from caesura.models.lookback import SpanAnswers, own_features, unconstrained
from caesura.models.lookback_checks import check_sizes
from caesura.models.online import OnlineModel
from caesura.models.ragged import Ragged
from caesura.models.rules import (
    Constraints,
    Rules,
    checked_rules,
    each_rules,
    naming_constraint,
    naming_segments,
    nonempty_constraints,
    read_segments,
)
from caesura.potentials import Potentials
from caesura.segments import Segment, to_tags

__all__ = ["Constraints", "Predictor"]

MOST_PATHS = 2**31 - 1  # per sequence
T = TypeVar("T")


class Predictor(OnlineModel):
    """A mixin of models that predict."""

    def _scorer(self, fitted: Fitted, longest: int) -> _kernels.Scorer:
        """Return the scorer with the current outside bias."""
        bias = self._checked_bias()
        structure = fitted.structure
        bounds = layout_bounds(structure.bounds, longest)
        if bias == 0 and np.array_equal(bounds, layout_bounds(structure.bounds, 0)):
            return fitted.scorer
        key, kept = (bias, bounds.tobytes()), self._biased
        if kept is None or kept[0] is not fitted or kept[1] != key:
            outside = self.coding.outside_states(structure.states, fitted.scheme)
            scorer = scorer_of(fitted.parameters, fitted.w, structure, bias, outside, longest)
            self._biased = kept = (fitted, key, scorer)
        return kept[2]

    def _encoded(self, X: Any, constraints: Constraints = None) -> Iterator[Encoded]:
        """Yield encoded sequences with their constraints, in batches."""
        fitted = self._known
        threads = threads_of(self.n_threads)
        self._checked_bias()
        constraints = nonempty_constraints(constraints, X)  # iterators in it can be read only once
        free = constraints is None
        if fitted.spans and not free:
            raise unconstrained()
        if self.beam is not None and not fitted.spans:
            expected = "None for a model that was fitted without a beam, whose search is exact"
            remedy = "leave it out, or fit again with it and learner='perceptron'"
            raise InvalidInput(message("beam", self.beam, expected, remedy))
        reader = None if free else ConditionReader(each_rules(constraints, X), self._bare)
        for first, raw in raw_chunks(X, self.tokeniser_):
            if fitted.spans:
                yield self._encoded_spans(fitted, first, raw, threads)
                continue
            corpus, lengths = encoded(fitted.encoder, fitted.words, raw, self.tokeniser_, first)
            scorer = self._scorer(fitted, int(lengths.max(initial=0)))
            design = fitted.parameters.compile(corpus)
            some = Encoded(first, raw, self.tokeniser_, lengths, design, scorer, threads)
            if reader is not None:
                rules, conditions = reader.read(lengths.tolist())
                some = some._replace(rules=rules, conditions=conditions)
            yield some
        if reader is not None:
            reader.end()

    def _bare(self, length: int, rules: Rules, name: str) -> tuple[Rules, Potentials]:
        """Return checked constraints, and potentials without scores under all constraints."""
        fitted = self._known
        with naming_constraint(name):
            rules = checked_rules(rules, length, self._rule_labels, self.outside)
        p = Potentials(length, fitted.structure.states)
        if fitted.rules != Rules():
            self.coding.constrain(p, fitted.rules, "constraints", fitted)
        self.coding.constrain(p, rules, name, fitted)
        return rules, p

    def _encoded_spans(self, fitted: Fitted, first: int, raw: list[Any], threads: int) -> Encoded:
        """Return sequences encoded for look-back features or beam search."""
        self._check_beam()
        encoder, structure, kernel = cast(Any, fitted.encoder), fitted.structure, fitted.parameters
        untyped: Any = encoded(encoder, cast(Any, None), raw, self.tokeniser_, first)
        corpus, lengths = untyped
        check_sizes(lengths, structure, first)
        outside = self.coding.outside_states(structure.states, fitted.scheme)
        bias = outside_biases(structure, outside, self._checked_bias())

        def document(i: int) -> Document:
            return documents_of([raw[i]], self.tokeniser_, "X", first + i)[0]

        own = own_features(encoder, structure.states, document)
        if own is not None and self.beam is None:
            expected = "a number of candidates with features that see all segments before"
            raise InvalidInput(message("beam", None, expected, "pass beam=16"))
        scorer: Any = SpanAnswers(cast(Any, kernel), structure, self.beam, bias, own)
        return SpanEncoded(first, raw, self.tokeniser_, lengths, corpus, scorer, threads)

    def predict(self, X: Iterable[Any], constraints: Constraints = None) -> list[list[Segment]]:
        """Return the best segments of each sequence, without outside segments.

        Parameters
        ----------
        X : iterable of sequences
            Sequences in any form that `fit` takes.
        constraints : dict, or one dict for each sequence, optional
            Constraints on the segmentation, as arguments of `Potentials.constrain`.
        """
        return Ragged(self._predicted(X, constraints)[0], self, X)

    def _predicted(
        self, X: Iterable[Any], constraints: Constraints
    ) -> tuple[list[list[Segment]], list[int]]:
        """Return the best segments and the number of tokens of each sequence."""
        names, reading = self.coding.reading(self._known)
        out: list[list[Segment]] = []
        lengths: list[int] = []
        for some in self._encoded(X, constraints):
            out += _possible(some.best(reading).segments(Segment, names), some.first)
            lengths += some.lengths.tolist()
        return out, lengths

    def _named(self, segments: Iterable[Segment], fitted: Fitted | None = None) -> list[Segment]:
        """Return the segments of a path given by state names."""
        return self.coding.named_segments(list(segments), fitted or self._known)

    def potentials(self, x: Any, constraints: Constraints = None) -> Potentials:
        """Return the log-potentials of one sequence, for all functions of `caesura.inference`.

        Its labels are the states of the model: segment labels, or the tags of a chain.  The
        constraints of the model and the given ones apply, as in `predict`.
        """
        return next(self._asked([one_sequence(x)], constraints)).potentials[0]

    def probability(
        self, x: Any, *segments: Sequence[Any], constraints: Constraints = None
    ) -> float:
        """Return the probability that one sequence has these segments, predicted or not.

        Parameters
        ----------
        x : sequence
            One sequence, in any form that `fit` takes.
        *segments : (start, end, label)
            Segments; for several, the probability that all of them are present.
        constraints : dict, optional
            Constraints, as in `predict`; the probability is conditional on them.

        Examples
        --------
        >>> import caesura
        >>> y = [[(0, 1, "number"), (1, 3, "street")]] * 2
        >>> model = caesura.SemiCRF(c2=0.1).fit(["12 High Street", "7 Park Lane"], y)
        >>> round(model.probability("3 Mill Lane", (1, 3, "street")), 2)
        0.86
        """
        if not segments:
            expected, remedy = "at least one segment", "name it as (start, end, label)"
            raise InvalidInput(message("segments", segments, expected, remedy))
        fitted, p = self._known, self.potentials(x, constraints)
        with_them = p.copy()
        with naming_segments("segments"):
            rules = read_segments(segments, "segments")
            rules = checked_rules(rules, p.length, self._rule_labels, self.outside)
            self.coding.constrain(with_them, rules, "segments", fitted)
        log_z, of_those = log_partition([p, with_them], n_threads=self.n_threads)
        if log_z == -np.inf:
            raise impossible(0).changed(argument="x", index=None)
        return float(np.exp(min(of_those - log_z, 0.0)))

    def _asked(self, X: Any, constraints: Constraints) -> Iterator[Asked]:
        """Yield the constrained potentials of sequences in batches."""
        fitted, coding = self._known, self.coding

        def constrain(p: Potentials, rules: Rules, name: str) -> None:
            coding.constrain(p, rules, name, fitted)

        labels = (self._rule_labels, self.outside)
        return constrained(self._potentials(X), constraints, X, labels, constrain)

    @property
    def _rule_labels(self) -> list[str]:
        """The labels that constraints may name, including outside where the model has it."""
        fitted = self._known
        outside = self.coding.outside_states(fitted.structure.states, fitted.scheme)
        return [*fitted.labels, *([self.outside] if outside else [])]

    def _potentials(self, X: Any) -> Iterator[Potentials]:
        """Yield the potentials of each sequence."""
        for some in self._encoded(X):
            for i in range(len(some.raw)):
                yield self._own_potentials(some, i)

    def _own_potentials(self, some: Encoded, i: int) -> Potentials:
        """Return the potentials of one sequence, under the model's constraints and its own."""
        fitted = self._known
        p = some.potentials(fitted, i)
        if fitted.rules != Rules():
            self.coding.constrain(p, fitted.rules, "constraints", fitted)
        if some.rules and some.rules[i] != Rules():
            self.coding.constrain(p, some.rules[i], "constraints", fitted)
        return p

    # -- tags, alternatives and samples ---------------------------------------------------------

    def predict_tags(
        self, X: Iterable[Any], scheme: str | None = "BIO", constraints: Constraints = None
    ) -> list[list[str]]:
        """Return a tag for each token of each sequence.

        Parameters
        ----------
        X : iterable of sequences
            Sequences in any form that `fit` takes.
        scheme : str or None
            A tag scheme; None returns the states of the model.
        constraints : optional
            Constraints, as in `predict`.
        """
        if scheme is None:
            return self._predict_states(X, constraints)
        to_tags([], scheme, 0, self.outside)  # raises if the scheme is unknown
        found, lengths = self._predicted(X, constraints)
        return [
            _tags(segments, scheme, length, self.outside, f"X[{i}]")
            for i, (segments, length) in enumerate(zip(found, lengths, strict=True))
        ]

    def _predict_states(self, X: Iterable[Any], constraints: Constraints) -> list[list[str]]:
        """Return the state of each token."""
        states = list(self._known.structure.states)
        out: list[list[str]] = []
        for some in self._encoded(X, constraints):
            out += _possible(some.best(None).tokens(states), some.first)
        return out

    def predict_marginals(
        self, X: Iterable[Any], constraints: Constraints = None
    ) -> list[Marginals]:
        """Return the marginals of each sequence, over the states of the model.

        The states of a chain are tags; for segments, see `probability` and `predict_confident`.

        Parameters
        ----------
        X, constraints
            The sequences and constraints, as in `predict`.
        """
        states = self._known.structure.states
        return [
            m
            for some in self._encoded(X, constraints)
            for m in some.marginals(partial(self._own_potentials, some), states)
        ]

    def predict_n_best(
        self, X: Iterable[Any], n: int, constraints: Constraints = None
    ) -> list[list[tuple[list[Segment], float]]]:
        """Return the n best segmentations of each sequence, with their probabilities.

        Parameters
        ----------
        X, constraints
            The sequences and constraints, as in `predict`; probabilities are conditional on the
            constraints.
        n : int
            Maximum number of segmentations for each sequence.

        Returns
        -------
        list of list of (segments, probability)
            Sorted by decreasing probability.  For a chain this is the sum over all tag sequences
            with the same segments, so the first may differ from the result of `predict`.
        """
        check_count("n", n)
        most = min(int(n), MOST_PATHS)
        ranked = (self._ranked(some, most) for some in self._encoded(X, constraints))
        return Ragged(chain.from_iterable(ranked), self, X)

    @property
    def _reads_once(self) -> bool:
        """Whether each segmentation corresponds to one path over states."""
        return True

    def _ranking(self, scorer: _kernels.Scorer) -> tuple[Callable[..., Any], Any, Any]:
        """Return the ranking of segmentations, the decoding of states, and the label names."""
        names, reading = self.coding.reading(self._known)
        return scorer.n_best, reading, names

    def _ranked(self, some: Encoded, n: int) -> list[list[tuple[list[Segment], float]]]:
        rank, reading, names = self._ranking(some.scorer)
        ranked: list[list[tuple[list[Segment], float]]] = some.ask(
            rank, reading, Segment, names, n, some.threads, some.conditions
        )
        if [] in ranked:
            raise impossible(some.first + ranked.index([]))
        return ranked

    def sample(
        self,
        X: Iterable[Any],
        n: int = 1,
        seed: int | None = None,
        constraints: Constraints = None,
    ) -> list[list[list[Segment]]]:
        """Draw n segmentations of each sequence from the model's distribution.

        Parameters
        ----------
        X, constraints
            The sequences and constraints, as in `predict`.
        n : int
            Number of samples for each sequence.
        seed : int, optional
            Random seed, `random_state` by default.
        """
        whole("n", n, 1, MOST_PATHS)
        given = whole("seed", self.random_state if seed is None else seed, 0)
        # The engine adds i to the seed. Hashing first keeps nearby seeds from giving the same
        # draws, shifted by some i.
        from_seed = int(np.random.SeedSequence(given).generate_state(1, np.uint64)[0])
        return [
            drawn
            for some in self._encoded(X, constraints)
            for drawn in self._drawn(some, n, from_seed)
        ]

    def _drawn(self, some: Encoded, n: int, seed: int) -> list[list[list[Segment]]]:
        """Return n segmentations of each; the kernels add the sequence index to the seed."""
        names, reading = self.coding.reading(self._known)
        check_answers(n * (some.first + len(some.raw)))  # earlier sequences count, too
        from_seed = (seed + some.first) % 2**64
        drawn: list[list[list[Segment]]] = some.ask(
            *(some.scorer.sample, reading, Segment, names, n, from_seed),
            *(some.threads, some.conditions),
        )
        if [] in drawn:
            raise impossible(some.first + drawn.index([]))
        return drawn


def _possible(answers: list[T | None], first: int) -> list[T]:
    """Return the answers of sequences from X[first] on, or raise for an impossible one."""
    if None in answers:
        raise impossible(first + answers.index(None))
    return cast(list[T], answers)


def _tags(segments: list[Segment], scheme: str, length: int, outside: str, name: str) -> list[str]:
    """Return segments as tags; errors name the sequence."""
    try:
        return to_tags(segments, scheme, length, outside)
    except InvalidInput as error:
        raise error.within(name) from None
