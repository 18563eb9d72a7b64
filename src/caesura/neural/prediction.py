"""Prediction with neural models: best segments, n-best lists and samples.

::

    X -> documents -> Network.states -> head: answers of a batch               (free)
                                     -> Potentials, constrained -> the engine  (under constraints)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from caesura import inference
from caesura.checks import whole
from caesura.errors import InvalidInput, not_fitted
from caesura.inference.kernel_calls import check_answers, check_count
from caesura.models.constrained_inference import Asked, constrained
from caesura.models.inputs import check_words, chunks
from caesura.models.model import Model
from caesura.models.ragged import Ragged
from caesura.models.rules import (
    Constraints,
    Rules,
    checked_rules,
    each_rules,
    naming_constraint,
    nonempty_constraints,
)
from caesura.neural.filtered_head import FilteredHead
from caesura.neural.kept_graphs import NoPath
from caesura.neural.network import Given, Network, answers, threads
from caesura.neural.potentials import best_distinct
from caesura.potentials import Potentials
from caesura.segments import Segment, to_tags

__all__ = ["Predictor"]

MOST = 2**31 - 1
T = TypeVar("T")


class _Some(NamedTuple):
    """Some sequences with their network outputs."""

    first: int  # index in X of the first sequence, if they are in order
    given: Any  # token vectors, lengths, scores of features
    rules: dict[str, Any]  # constraints for a filtered model, as a keyword argument


class Predictor(Model):
    """A mixin of neural models that predict."""

    _network: Network | None = None

    def fitted_network(self) -> Network:
        """Return the network, or raise if the model is not fitted."""
        if self._network is None:
            raise not_fitted("not fitted yet", place=type(self).__name__, remedy="call fit first")
        return self._network

    def __sklearn_is_fitted__(self) -> bool:
        return self._network is not None

    # -- evaluation in batches ---------------------------------------------------------------------

    def _each(
        self,
        X: Any,
        constraints: Constraints,
        ask: Callable[[_Some], Sequence[T]],
        by_length: bool = True,
    ) -> Iterator[T]:
        """Yield an answer for each sequence; batches group sequences of similar lengths."""
        network = self.fitted_network()
        rules = None if constraints is None else self._checked_rules(X, constraints)
        for first, documents in chunks(X, self.tokeniser_):
            check_words(documents, first)
            mine = None if rules is None else [next(rules)(len(one)) for one in documents]

            def question(
                given: Given, some: list[int], first: int = first, mine: Any = mine
            ) -> Any:
                kept = {} if mine is None else {"rules": [(first + i, mine[i]) for i in some]}
                try:
                    return ask(_Some(first + some[0], given, kept))
                except NoPath as error:
                    raise error.of(first + some[error.sequence]) from None

            with threads(self.n_threads):
                found: list[T] = answers(network, documents, question, by_length)
            yield from found

    def _checked_rules(self, X: Any, constraints: Constraints) -> Iterator[Any]:
        """Yield functions from a sequence length to its checked constraints."""

        def checked(length: int, rules: Rules, name: str) -> Rules:
            with naming_constraint(name):
                return checked_rules(rules, length, self._rule_labels, self.outside)

        for rules, name in each_rules(constraints, X):
            yield lambda length, rules=rules, name=name: checked(length, rules, name)

    def _chosen(self) -> dict[str, Any]:
        """Return the decoding method of a filtered model, as keyword arguments."""
        own: Any = self
        return {} if own.model != "filtered" else {"decoder": own.decoder}

    @property
    def _rule_labels(self) -> list[str]:
        return [*self.labels_, self.outside]

    def _by_filter(self) -> bool:
        """Whether the head is a filtered one, which covers kept spans only."""
        return isinstance(self.fitted_network().head, FilteredHead)

    def _potentials(self, X: Any) -> Iterator[Potentials]:
        """Yield the potentials of each sequence."""
        if self._by_filter():
            raise InvalidInput(
                place="model",
                got="'filtered', whose paths through kept spans are no potentials of tokens and "
                "segments",
                remedy="choose another model, or ask predict_marginals or predict_n_best",
            )
        head: Any = self.fitted_network().head
        yield from self._each(X, None, lambda some: head.potentials(*some.given))

    def _asked(self, X: Any, constraints: Constraints) -> Iterator[Asked]:
        """Yield the constrained potentials of sequences in batches."""
        head: Any = self.fitted_network().head
        labels = (self._rule_labels, self.outside)
        return constrained(
            self._potentials(X),
            constraints,
            X,
            labels,
            lambda p, rules, name: head.constrain(p, rules, name),
        )

    def _found(
        self, X: Any, constraints: Constraints, likely: bool
    ) -> Iterator[tuple[list[Segment], list[float]]]:
        """Yield the segments of each sequence, with probabilities if requested."""
        head: Any = self.fitted_network().head
        if constraints is None or self._by_filter():

            def ask(some: _Some) -> list[tuple[list[Segment], list[float]]]:
                found = head.predict(*some.given, **some.rules, **self._chosen())
                chances: list[list[float]] = [[] for _ in found]
                if likely:
                    chances = head.probabilities(*some.given, found, **some.rules)
                return list(zip(found, chances, strict=True))

            yield from self._each(X, constraints, ask)
            return
        for asked in self._asked(X, constraints):
            paths = asked.of(inference.viterbi, n_threads=self.n_threads)
            for p, path in zip(asked.potentials, paths, strict=True):
                cut = head.named(path.segments)
                yield cut, (head.chances(p, cut) if likely else [])

    # -- segments --------------------------------------------------------------------------------

    def predict(self, X: Iterable[Any], constraints: Constraints = None) -> list[list[Segment]]:
        """Return the best segments of each sequence.

        Parameters
        ----------
        X : iterable of sequences
            Token lists, texts or documents.
        constraints : dict, or one dict for each sequence, optional
            Arguments of `Potentials.constrain` that every answer must keep.  A filtered model
            cannot promise that some span covers a token: it refuses `allowed` without the text
            outside, and `no_boundaries` beyond required spans.

        Returns
        -------
        list of list of Segment
        """
        found = self._found(X, nonempty_constraints(constraints, X), False)
        return Ragged((cut for cut, _ in found), self, X)

    def predict_tags(
        self, X: Iterable[Any], scheme: str = "BIO", constraints: Constraints = None
    ) -> list[list[str]]:
        """Return a tag for each token of each sequence.

        Parameters
        ----------
        X, constraints
            See `predict`.
        scheme : str
            A tag scheme.

        Returns
        -------
        list of list of str
        """
        to_tags([], scheme, 0, self.outside)  # raises if the scheme is unknown
        documents = [one for _, some in chunks(X, self.tokeniser_) for one in some]
        found = self.predict(documents, constraints)
        return [
            to_tags(cut, scheme, len(document), self.outside)
            for cut, document in zip(found, documents, strict=True)
        ]

    def predict_n_best(
        self, X: Iterable[Any], n: int = 5, constraints: Constraints = None
    ) -> list[list[tuple[list[Segment], float]]]:
        """Return the n best lists of segments of each sequence, with their probabilities.

        Parameters
        ----------
        X, constraints
            See `predict`.
        n : int
            How many; there are fewer where fewer are possible.  With ``outside_length=None``, the
            model "semi" looks at the 64 n best cuts of the text at most.

        Returns
        -------
        list of list of (segments, probability)
        """
        check_count("n", n)
        most, head = min(int(n), MOST), self._head
        constraints = nonempty_constraints(constraints, X)
        out: list[list[tuple[list[Segment], float]]] = []
        many = not self._by_filter() and head.many_cuts
        if self._by_filter() or (constraints is None and not many):
            ranked = self._each(X, constraints, lambda s: head.n_best(*s.given, most, **s.rules))
            return Ragged(ranked, self, X)
        for asked in self._asked(X, constraints):
            if many:
                some = asked.of(lambda each: [best_distinct(p, most, self.outside) for p in each])
                out += some
                continue
            totals = asked.log_partitions(self.n_threads)
            found = asked.of(inference.n_best, most, n_threads=self.n_threads)
            for paths, total in zip(found, totals, strict=True):
                chances = np.exp([min(0.0, path.score - total) for path in paths]).tolist()
                cuts = [head.named(path.segments) for path in paths]
                out.append(list(zip(cuts, chances, strict=True)))
        return Ragged(out, self, X)

    def sample(
        self,
        X: Iterable[Any],
        n: int = 1,
        seed: int | None = None,
        constraints: Constraints = None,
    ) -> list[list[list[Segment]]]:
        """Draw n lists of segments of each sequence from the model's distribution.

        Parameters
        ----------
        X, constraints
            See `predict`.
        n : int
            Number of samples for each sequence.
        seed : int, optional
            `random_state` if not given.

        Returns
        -------
        list of list of list of Segment
        """
        whole("n", n, 1, MOST)
        given = whole("seed", self.random_state if seed is None else seed, 0)
        # The engine adds i to the seed. Hashing first keeps nearby seeds from giving the same
        # draws, shifted by some i.
        start = int(np.random.SeedSequence(given).generate_state(1, np.uint64)[0])
        head, constraints = self._head, nonempty_constraints(constraints, X)
        out: list[list[list[Segment]]] = []
        if constraints is None or self._by_filter():

            def ask(some: _Some) -> list[list[list[Segment]]]:
                check_answers(n * (some.first + len(some.given[1])))
                place = (start + some.first) % 2**64
                drawn: list[list[list[Segment]]] = head.sample(*some.given, n, place, **some.rules)
                return drawn

            return list(self._each(X, constraints, ask, by_length=False))
        for asked in self._asked(X, constraints):
            place = (start + asked.first) % 2**64
            drawn = asked.of(inference.sample, n, place, n_threads=self.n_threads)
            out += [[head.named(path) for path in paths] for paths in drawn]
        return out

    @property
    def _head(self) -> Any:
        return self.fitted_network().head

    # -- probabilities ---------------------------------------------------------------------------

    def potentials(self, x: Any) -> Potentials:
        """Return the log-potentials of one sequence, for all functions of `caesura.inference`.

        Parameters
        ----------
        x : sequence
            A token list, a text or a document.

        Returns
        -------
        Potentials
            Its labels are the states of the model: the labels of segments, or the tags of a chain.
        """
        return next(self._potentials([x]))

    def predict_marginals(self, X: Iterable[Any], constraints: Constraints = None) -> list[Any]:
        """Return the marginals of each sequence, over the states of the model.

        Parameters
        ----------
        X, constraints
            See `predict`.

        Returns
        -------
        list of Marginals
            Of a filtered model they are `FilteredMarginals`: of the spans that its filter keeps.
        """
        if self._by_filter():
            head, asked_of = self._head, nonempty_constraints(constraints, X)
            return list(
                self._each(X, asked_of, lambda some: head.marginals(*some.given, **some.rules))
            )
        return [
            one
            for asked in self._asked(X, nonempty_constraints(constraints, X))
            for one in asked.of(inference.marginals, n_threads=self.n_threads)
        ]
