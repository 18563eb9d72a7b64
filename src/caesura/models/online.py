"""Online training: one pass over each batch of sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from caesura.checks import nothing
from caesura.documents import Partial
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, message
from caesura.inference.kernel_calls import threads_of
from caesura.learning import Progress
from caesura.learning.learners import is_probabilistic
from caesura.models.examples import examples_of, weights_of
from caesura.models.fitted import Fitted, Labelling
from caesura.models.margin import set_loss
from caesura.models.objective import Corpora
from caesura.models.parted import PartedModel
from caesura.models.streaming import check_features, check_online
from caesura.models.targets import Target, scheme_of
from caesura.models.training import Examples, Training, optimiser_of, parameters_of, training_bars
from caesura.models.warm_start import merged, moved, places_before

__all__ = ["OnlineModel"]

KEPT = ("w", "average", "squares", "sums", "variance")  # per-weight arrays of a learner's state


class _Online(NamedTuple):
    """The state between two calls."""

    fitted: Fitted
    labelling: Labelling
    state: Any  # state of the learner; None to restart from the weights
    seen: int  # number of sequences so far
    learner: tuple[str, bool]  # its name, and whether it averages


class OnlineModel(PartedModel):
    """A mixin of estimators with `partial_fit`."""

    def partial_fit(
        self, X: Iterable[Any], y: Iterable[Any] | None = None, labels: Iterable[str] | None = None
    ) -> Self:
        """Update the model with more labelled sequences, in one pass.

        The learner (sgd, adagrad, perceptron, pa or arow) continues from the weights, averages and
        step sizes of the previous call.  New attributes get weights that start at zero;
        `max_attributes` bounds their number.

        Parameters
        ----------
        X, y : iterable
            The sequences and their labels, as in `fit`.
        labels : iterable of str, optional
            All labels, without the outside label, in the first call; by default those of y.  Later
            calls cannot add labels.

        Returns
        -------
        self

        Notes
        -----
        The penalty is spread over all sequences seen so far, as if they were the whole data.  The
        first call determines the learning rate of sgd and the content of features that learn from
        segments, such as `Text`, so it should have some hundred sequences.

        After `fit`, loading or unpickling, the first call continues from the weights, but restarts
        averages and step sizes, which are not saved.

        Examples
        --------
        >>> import caesura
        >>> model = caesura.SemiCRF(learner="perceptron")
        >>> street = [(0, 1, "number"), (1, 3, "street")]
        >>> _ = model.partial_fit(["12 High Street"], [street], labels=["number", "street", "town"])
        >>> _ = model.partial_fit(["Leeds", "York"], [[(0, 1, "town")]] * 2)
        >>> model.predict(["Leeds"])[0]
        [Segment(start=0, end=1, label='town')]
        """
        self.check_parameters()
        check_online(self, "partial_fit")
        before = self._gone_on(labels)
        with self._choosing(before is not None, X) as (X,):
            self._learn_batch((X, y), labels, before)
        return self

    def _learn_batch(
        self, data: tuple[Any, Any], labels: Iterable[str] | None, before: _Online | None
    ) -> None:
        """Update the model with more sequences."""
        features, chunks = self._declared_for(self._paired(*data), before and before.fitted)
        check_features(self, features, "partial_fit")
        if before is None:
            head = list(chunks)
            features, chunks = self._learnt(features, head), iter(head)
        encoder = Encoder(features) if before is None else before.fitted.encoder
        encoder.keep_first(self.max_attributes)
        corpus = encoder.corpus_kind()
        targets: list[Target] = []
        for first, documents, ys in chunks:
            encoder.encode(documents, True, corpus, first)
            targets += ys
        if not targets:
            raise nothing("X", "sequences", "give labelled ones")
        labelling = self._fixed(targets, corpus.lengths.tolist(), before, labels)
        weight = weights_of(None, len(targets))
        examples = examples_of(self, encoder, corpus, targets, labelling, weight)
        self._learn(examples, labelling, before)

    def _gone_on(self, labels: Iterable[str] | None) -> _Online | None:
        """Return the state to continue from; None on the first call."""
        before = self._before
        if before is None:
            return None
        if before.spans:
            raise InvalidInput(
                place="partial_fit",
                got="a model with features that look back or with a beam",
                expected="another",
                remedy="fit it to all of the data",
            )
        if before.parameters.patterns:
            expected = "pairs of labels only with partial_fit"
            raise InvalidInput(message("order", self.order, expected, "begin with a new model"))
        if labels is not None and sorted(set(labels)) != sorted(before.labels):
            expected = f"{', '.join(before.labels)}, which are fixed"
            raise InvalidInput(
                message("labels", labels, expected, "leave it out, or fit a new model")
            )
        online: _Online | None = self._online
        if online is not None and online.learner == (self.learner, self.average):
            return online
        labelling = Labelling(before.structure, before.labels, before.scheme, before.scheme)
        copied = before._replace(encoder=before.encoder.copy())  # as the encoder will grow
        return _Online(copied, labelling, None, 0, (self.learner, self.average))

    def _fixed(
        self,
        targets: list[Target],
        lengths: list[int],
        before: _Online | None,
        labels: Iterable[str] | None,
    ) -> Labelling:
        """Return the states, which the first call determines."""
        if before is not None:
            found = before.labelling.found or scheme_of(targets, self.outside)
            return before.labelling._replace(found=found)
        coding = self.coding
        known = list(coding.labelling(targets, lengths, None).labels if labels is None else labels)
        # A token that allows every label makes all labels known, and the outside label.
        anything = Partial(tokens={0: [*known, self.outside]})
        labelling = coding.labelling([*targets, anything], [*lengths, 1], None)
        if set(labelling.labels) - set(known):
            new = sorted(set(labelling.labels) - set(known))
            expected = f"only labels of labels=, which are {', '.join(known)}"
            raise InvalidInput(message("y", new, expected, "add them to labels, or correct y"))
        return labelling

    def _learn(self, examples: Examples, labelling: Labelling, before: _Online | None) -> None:
        """Run one pass over a batch, and set the fitted state."""
        bars = training_bars(self, labelling, examples)
        parameters, places = parameters_of(self, bars, examples, []), None
        if before is not None:
            attributes = examples.encoder.attributes
            parameters = merged(parameters, before.fitted, bars, attributes)
            places = places_before(parameters, before.fitted, labelling.structure)
        training = Training.of(self, labelling, examples, None, parameters)
        set_loss(self, training)
        objective = Corpora(training.objective, threads_of(self.n_threads))
        seen = len(objective) + (0 if before is None else before.seen)
        optimiser = optimiser_of(self, training, objective, seen)
        if before is None or places is None:
            state = optimiser.start(training.w0)
        elif before.state is None:
            state = optimiser.start(moved(before.fitted.w, places))
        else:
            state = _moved(before.state, places, self.arow_variance)
        state = optimiser.step(state._replace(status=""))
        training.objective.release()
        fitted = training.fitted(state.weights)
        history = [] if before is None or before.state is None else self.history_
        self._set_fitted(
            fitted,
            history_=[*history, _progress(state)],
            status_="diverged" if state.status == "diverged" else "partial",
            margin_=not is_probabilistic(self.learner, self.loss),
            temperature_=None,
            _online=_Online(fitted, labelling, state, seen, (self.learner, self.average)),
        )


def _moved(state: Any, places: Any, variance: float) -> Any:
    """Return a state extended to the current weights."""
    changed = {}
    for name in KEPT:
        values = getattr(state, name, np.empty(0))
        if len(values) == len(state.w):  # one number per weight, not empty or a single number
            changed[name] = moved(values, places, variance if name == "variance" else 0.0)
    return state._replace(**changed)


def _progress(state: Any) -> Progress:
    told = (state.gradient_norm, state.step, state.evaluations, state.n_active, float("nan"))
    return Progress(state.iteration, state.objective, *told)
