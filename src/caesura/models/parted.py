"""Training on a corpus in parts, possibly on many machines."""

from __future__ import annotations

import os
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from caesura.checks import nothing
from caesura.documents.tokeniser_fitting import AUTO, LEVELS
from caesura.encoding import Encoder
from caesura.errors import InvalidInput, message
from caesura.executors import Executor, Here, opened
from caesura.executors.software import software
from caesura.features import SegmentFeature
from caesura.features.dictionary import Text
from caesura.inference.kernel_calls import threads_of
from caesura.learning import Progress
from caesura.learning.learners import LEARNERS, exact_on_parts, learners_with
from caesura.learning.progress import Stage
from caesura.models import parts as work
from caesura.models.compact import PAIRS
from caesura.models.examples import warn_of_many
from caesura.models.fit_arguments import checked_run
from caesura.models.fitted import Fitted, layout_bounds
from caesura.models.margin import loss_of
from caesura.models.model import Model
from caesura.models.parted_objective import PartedObjective
from caesura.models.patterns import (
    check_states,
    frequent_patterns,
    grows,
    patterns_of,
)
from caesura.models.rules import model_rules
from caesura.models.shards import make_shard
from caesura.models.streaming import Witnesses, check_features
from caesura.models.training import Training
from caesura.models.warm_start import carried, merged

__all__ = ["PartedModel"]

Floats = npt.NDArray[np.float64]
FEW = 16  # maximum number of blocks that keep memory between evaluations
SHOWN = 3  # failures listed in an error
Callbacks = Sequence[Callable[[Progress], bool | None]]


class PartedModel(Model):
    """A mixin of estimators with `fit_parts`."""

    def fit_parts(
        self,
        parts: Iterable[Any],
        executor: Any = None,
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        callbacks: Callbacks = (),
        folder: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the model to a corpus in parts, in this process, in several, or on a cluster.

        The parts decide the result, not who works on them: weights are the same, bit by bit, for
        every executor and every number of workers, and when workers die and parts are worked on
        again.  `fit` on all parts together has the same objective, summed in another order.

        Parameters
        ----------
        parts : iterable
            Each the name of a corpus file that `caesura.corpora.read` takes, documents with
            segments, a pair ``(X, y)``, or a function without arguments that returns one of these.
            Workers read the parts, so they must be able to open such files.
        executor : None, int, Client, "ray" or Executor
            The executor: this process with all threads, a number of processes, a Dask
            cluster, the Ray cluster of this process, or an object with the methods of
            `caesura.scale.Executor`.
        X_dev, y_dev, checkpoint, callbacks
            Development data, checkpoint and callbacks, as in `fit`.
        folder : path, optional
            Folder on a disk in which encoded parts lie as memory-mapped files, so that they may be
            larger than memory.

        Returns
        -------
        self

        Notes
        -----
        With the learners lbfgs and cutting-plane, every iteration is that of `fit`.  The learners
        with online updates (sgd, adagrad, perceptron, pa, arow) and svm are approximated by
        iterative parameter mixing: each part makes a pass by itself, and then the weights are
        averaged.
        A warning is issued, and `approximate_` is True then.  ``standardise``, and features of your
        own that learn from the data, learn from the first part.

        Examples
        --------
        >>> import caesura
        >>> X = ["12 High Street Leeds", "7 Park Lane York", "3 Mill Road Leeds"]
        >>> y = [[(0, 1, "number"), (1, 3, "street"), (3, 4, "town")]] * 3
        >>> model = caesura.SemiCRF(c2=0.1).fit_parts([(X[:2], y[:2]), (X[2:], y[2:])])
        >>> model.predict(["9 Low Street York"])[0][1]
        Segment(start=1, end=3, label='street')
        """
        self.check_parameters()
        callbacks = checked_run(X_dev, y_dev, checkpoint, callbacks)
        numbered = list(enumerate(parts))
        if not numbered:
            raise InvalidInput(
                place="parts", got="none", expected="at least one", remedy="give labelled sequences"
            )
        self._check_parted(len(numbered))
        before = self._before if self.warm_start else None
        with ExitStack() as stack:
            engine = stack.enter_context(opened(executor))
            cutter, run = self._cutter, uuid.uuid4().hex
            stack.callback(work.forget, run)
            try:
                self._choose_for(engine, numbered, before)
                training, objective, seen = self._read_parts(run, engine, numbered, before, folder)
                dev = X_dev, y_dev
                self._fit(training, objective, dev, checkpoint, callbacks, None)
                self.approximate_ = self._approximates(len(numbered))
            except BaseException:
                self._cutter = cutter
                raise
        self._order = () if before is None else self._order
        self._order = self._first_seen(seen.targets)
        return self

    def _check_parted(self, n_parts: int) -> None:
        """Raise for parameters that need all data at once; warn about approximated ones."""
        parts, exact = LEARNERS[self.learner].parts, exact_on_parts(loss_of(self))
        if parts is None:
            expected = f"{', '.join(learners_with('parts'))} for fit_parts"
            remedy = f"use {exact}, which minimises the same objective"
            raise InvalidInput(message("learner", self.learner, expected, remedy))
        if grows(self):
            expected = "None or a list of patterns for fit_parts"
            raise InvalidInput(message("patterns", self.patterns, expected, "pass one of them"))
        if self._approximates(n_parts):
            alone = "blocks of the data" if parts == "blocks" else f"each of {n_parts} parts"
            warnings.warn(
                f"learner: {self.learner!r} is trained on {alone} alone, and weights are averaged "
                f"after each pass, which approximates fit; {exact!r} is exact on parts",
                stacklevel=3,
            )

    def _approximates(self, n_parts: int) -> bool:
        """Return whether the result differs from that of `fit`."""
        parts = LEARNERS[self.learner].parts
        return parts == "blocks" or (parts == "averaged" and n_parts > 1)

    def _choose_for(self, engine: Executor, numbered: Any, before: Fitted | None) -> None:
        """Use the tokeniser that the spans of all parts require."""
        if self.tokeniser != AUTO or before is not None:
            return
        recipe = self._recipe([], 1)
        level, reason = max(_results(engine, work.level_of, recipe, numbered), key=lambda x: x[0])
        self._cutter = LEVELS[level]
        if level:
            warnings.warn(
                f"tokeniser: {LEVELS[level]!r} was chosen, because {reason}; segments count these "
                f"tokens. Pass tokeniser={LEVELS[level]!r} to choose it explicitly",
                stacklevel=4,
            )

    def _recipe(self, features: Any, threads: int, run: str = "") -> work.Recipe:
        """Return the initial recipe for workers."""
        plain = type(self)(**self.get_params() | {"verbose": False, "warm_start": False})
        plain._cutter = self._cutter
        return work.Recipe(run, plain, features, software(), threads)

    def _features_of(self, engine: Executor, numbered: Any, before: Fitted | None) -> Any:
        """Return the features fitted to the data."""
        X, y = work.data_of(numbered[0][1])
        features, chunks = self._declared_for(self._paired(X, y), before)
        check_features(self, features, "fit_parts")
        if before is not None:
            return features
        own = [one for one in features if isinstance(one, SegmentFeature) and one.learns]
        if self.standardise or not all(isinstance(one, Text) for one in own):
            features = self._learnt(features, list(chunks))  # learnt from the first part only
        if not own:
            return features
        counts: list[Counter[Any]] = []
        for some in _results(engine, work.count_texts, self._recipe(features, 1), numbered):
            counts = [a + b for a, b in zip(counts, some, strict=True)] if counts else some
        learnt = iter(counts)
        return [one.of_counts(next(learnt)) if isinstance(one, Text) else one for one in features]

    def _read_parts(
        self, run: str, engine: Executor, numbered: Any, before: Fitted | None, folder: Any
    ) -> tuple[Training, PartedObjective, Witnesses]:
        """Read all parts; return the compiled training data and the sequences with new labels."""
        threads = threads_of(self.n_threads) if isinstance(engine, Here) else 1
        features = self._features_of(engine, numbered, before)
        recipe = self._recipe(features, threads, run)
        encoder = Encoder(features) if before is None else before.encoder.copy()
        encoder.keep_first(self.max_attributes)
        seen, sizes, longest = Witnesses(self.outside), [], 0
        samples: list[int] = []
        with Stage("features", len(numbered), self.verbose) as stage:
            for found in _results(engine, work.survey, recipe, numbered):
                encoder.absorb(found.attributes)
                seen.see(0, found.targets, found.lengths)
                sizes.append((found.sequences, found.tokens))
                samples.append(found.first_block)
                longest = max(longest, found.longest)
                stage.done(len(sizes))
        total, tokens = (sum(each) for each in zip(*sizes, strict=True))
        if not total:
            raise nothing("parts", "sequences", "give labelled ones")
        labelling = self.coding.labelling(seen.targets, seen.lengths, before)
        warn_of_many(len(labelling.structure.states), tokens)
        bars = self.coding.in_training(labelling.structure)
        bars = bars._replace(bounds=layout_bounds(bars.bounds, longest))
        recipe = recipe.renewed(
            attributes=encoder.state(np.arange(len(encoder), dtype=np.int32)),
            labelling=labelling,
            bars=bars,
            rules=model_rules(self.constraints),
            folder=None if folder is None else os.fspath(folder),
            frees=folder is not None or tokens > FEW * work.BLOCK or len(numbered) > FEW,
        )
        work.remember(recipe, encoder, None)
        training, recipe = self._counted(engine, numbered, recipe, encoder, before)
        handle = engine.load(partial(make_shard, recipe), numbered)
        sample = next((k, n) for k, n in enumerate(samples) if n)
        return training, PartedObjective(engine, handle, total, sample), seen

    def _counted(
        self,
        engine: Executor,
        numbered: Any,
        recipe: work.Recipe,
        encoder: Encoder,
        before: Fitted | None,
    ) -> tuple[Training, work.Recipe]:
        """Determine the set of weights."""
        counts = work.merged_counts(_results(engine, work.count, recipe, numbered))
        labelling, bars = recipe.labelling, recipe.bars
        assert labelling is not None
        assert bars is not None
        pairs = _chosen(counts.pairs, len(bars.states), float(self.min_freq))
        if self.patterns is None:
            patterns = frequent_patterns(self, counts.patterns)
        else:
            patterns = patterns_of(self, labelling.structure, ())
        recipe = recipe.renewed(pairs=pairs, patterns=patterns, n_plain=len(patterns))
        parameters = work.known_parameters(recipe._replace(rules=type(recipe.rules)()), encoder)
        structure, near = labelling.structure, before is not None and self.warm_start == "near"
        w0 = np.zeros(len(parameters))
        if before is not None:
            parameters = merged(parameters, before, bars, encoder.attributes)
            recipe = recipe.renewed(
                pairs={name: getattr(parameters, name) for name in PAIRS},
                patterns=parameters.patterns,
                n_plain=parameters.n_plain,
            )
            w0 = carried(parameters, before, structure)
        check_states(parameters)
        parameters = self.coding.with_rules(parameters, labelling, recipe.rules)
        recipe = recipe.renewed(centre=w0 if near else None)
        work.remember(recipe, encoder, parameters)
        none: Any = None  # each block has its own objective
        known = structure, labelling.labels, labelling.scheme
        return Training(*known, encoder, parameters, none, w0, near, recipe.rules), recipe


def _results(engine: Executor, function: Any, recipe: work.Recipe, numbered: Any) -> Any:
    """Yield the results of parts; failures are raised after all other parts are done."""
    failed = []
    for found in engine.map(partial(work.attempted, function, recipe), numbered):
        if isinstance(found, work.Failed):
            failed.append(found)
        elif not failed:
            yield found
    if failed:
        shown = "; ".join(f"{one.part}: {one.problem}" for one in failed[:SHOWN])
        more = f"; and {len(failed) - SHOWN} more" * (len(failed) > SHOWN)
        raise InvalidInput(
            f"{len(failed)} of {len(numbered)} cannot be read: {shown}{more}",
            place="parts",
            remedy="correct these parts",
        ).changed(quoted=tuple(one.error for one in failed[:SHOWN] if one.error is not None))


def _chosen(found: work.Pairs, Y: int, least: float) -> dict[str, npt.NDArray[np.int32]]:
    """Return the frequent pairs; the most used attributes come first."""
    (rows, often), (edges, edge_often), transition, start, end = found
    totals = np.bincount(rows // Y, often) if len(rows) else np.zeros(0)
    if least:
        rows, edges = rows[often >= least], edges[edge_often >= least]
    order = np.lexsort((rows, -totals[rows // Y])) if len(rows) else np.zeros(0, np.int64)
    rows = rows[order]
    arrays = (rows // Y, rows % Y, edges // Y**2, edges % Y**2, transition[0], start[0], end[0])
    return {name: a.astype(np.int32) for name, a in zip(PAIRS, arrays, strict=True)}
