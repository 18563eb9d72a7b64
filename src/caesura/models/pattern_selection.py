"""Pattern selection: grown by gradient gain, pruned by a group penalty.

Rounds, until none of the candidates gains::

    candidates   patterns of the training data that extend an active one by a label at its left
    gain         |d loss / d w_g| at w_g = 0 of the weights of a candidate g
    active       those whose gain is more than their penalty, lambda_g
    fit          loss + c2 |w|^2 + sum over active g of lambda_g |w_g|
    prune        groups for which w_g = 0 is a minimum: |d loss / d w_g| <= lambda_g there

The weights of a pattern are a group: its own, and those of attributes whose history it is. The sum
of norms is minimised by the eta-trick: ``|w_g| = min over eta of |w_g|^2 / (2 eta) + eta / 2``, so
fits with ``c2 + lambda_g / (2 eta_g)`` take turns with ``eta_g = |w_g|``. That finds small weights,
never zeros; what is pruned is decided by the condition above, which is exact. ``lambda_g`` is c1
times the square root of the size of the group (1 where c1 is 0). All of this is by L-BFGS. The
model is then fitted to what is left, with its own penalties and learner.

With a warm start the patterns of the earlier model are active from the start, and may be pruned;
those that the training data of now does not have stay, as all weights of an earlier model do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.inference.kernel_calls import threads_of
from caesura.learning import LBFGS, ProgressLine, minimise
from caesura.models.fitted import Fitted, Labelling, Structure, blocks_of
from caesura.models.patterns import SHORTEST, Pattern, seen_patterns
from caesura.models.penalties import penalties
from caesura.models.training import (
    Corpora,
    Examples,
    Training,
    lbfgs_of,
    parameters_of,
    training_bars,
)
from caesura.models.warm_start import carried, merged

if TYPE_CHECKING:
    from caesura.models.model import Model

__all__ = ["grown"]

Floats = npt.NDArray[np.float64]
TURNS = 8  # maximum number of alternations between fitting and updating eta
STEPS = 20  # maximum number of iterations of a fit
FIRST_STEPS = 100  # the same for the first fit, without patterns
SMALLEST = 1e-3  # minimum of eta; a group may be pruned if its norm is at most 10 times this
PENALTY = 1.0  # lambda of a single weight if c1 is 0: the tolerated error of its expected count


def grown(
    model: Model, labelling: Labelling, examples: Examples, before: Fitted | None
) -> Training:
    """Select label patterns and return the compiled training data with them.

    Parameters
    ----------
    model : Model
        With patterns="grow"; `order` is the highest order considered.
    labelling, examples, before
        The labels, the encoded data and the previous fit, as for `Training.of`.
    """
    growth = _Growth(model, labelling, examples, before)
    growth.fit()
    while growth.extend():
        growth.fit()
    return growth.now


class _Growth:
    """Active patterns and their weights."""

    def __init__(
        self, model: Model, labelling: Labelling, examples: Examples, before: Fitted | None
    ) -> None:
        self.model, self.labelling, self.examples = model, labelling, examples
        self.bars: Structure = training_bars(model, labelling, examples)
        self.seen = seen_patterns(examples.rows, model.order, model.pattern_min_freq)
        self.all = parameters_of(model, self.bars, examples, self.seen)
        if before is not None:  # only here: patterns pruned later are not added again
            self.all = merged(self.all, before, self.bars, examples.encoder.attributes)
        self.active: set[Pattern] = set() if before is None else self._earlier(before)
        self.pruned: set[Pattern] = set()
        self.now = self._compiled(self.active, before)  # its w0 holds the current weights

    def _earlier(self, before: Fitted) -> set[Pattern]:
        """Return the patterns of an earlier model that are candidates for selection."""
        states, earlier = self.bars.states, before.structure.states
        patterns = before.parameters.patterns[: before.parameters.n_plain]
        return {tuple(states.index(earlier[y]) for y in z) for z in patterns} & {*self.seen}

    def extend(self) -> bool:
        """Add the candidates with sufficient gain; return whether there are any."""
        tried = self.active | self.pruned
        candidates = [
            z for z in self.seen if z not in tried and (len(z) == SHORTEST or z[1:] in self.active)
        ]
        if not candidates:
            return False
        last = self.now.fitted(self.now.w0)
        trial = self._compiled(self.active | {*candidates}, last)
        _, gradient = self._objective(trial)(trial.w0)
        groups = _Groups.of(self.model, trial, {*candidates})
        gains = groups.norms(gradient) > groups.penalty
        trial.objective.release()
        new = {z for z, gained in zip(groups.patterns, gains.tolist(), strict=True) if gained}
        if new:
            self.active |= new
            self.now = self._compiled(self.active, last)
        return bool(new)

    def fit(self) -> None:
        """Fit the active patterns with the group penalty, and prune; initially there are none."""
        groups = _Groups.of(self.model, self.now, self.active)
        objective, w = self._objective(self.now), self.now.w0
        c1, c2 = (np.broadcast_to(c, len(w)) for c in penalties(self.model, self.now))
        c1 = np.where(groups.member >= 0, 0.0, c1)
        norms = groups.norms(w)
        eta = np.where(norms > 0, np.maximum(norms, SMALLEST), 1.0)  # 1 for new groups
        with ProgressLine(show=self.model.verbose, title=f"{len(self.active)} patterns") as line:
            for _ in range(TURNS if groups.patterns else 1):
                reweighted = c2 + groups.spread(groups.penalty / (2 * eta))
                w = minimise(self._optimiser(objective, c1, reweighted), w, callback=line).w
                before, eta = eta, np.maximum(groups.norms(w), SMALLEST)
                if np.allclose(eta, before, rtol=0.05, atol=10 * SMALLEST):
                    break
        small = groups.norms(w) <= 10 * SMALLEST
        w = np.where(groups.spread(small) > 0, 0.0, w)
        _, gradient = objective(w)
        zero = small & (groups.norms(gradient) <= groups.penalty)
        self.now.objective.release()
        gone = {z for z, is_zero in zip(groups.patterns, zero.tolist(), strict=True) if is_zero}
        self.pruned |= gone
        self.active -= gone
        self.now = self._compiled(self.active, self.now.fitted(w))

    def _optimiser(self, objective: Corpora, c1: Floats, c2: Floats) -> LBFGS:
        model, most = self.model, STEPS if self.active else FIRST_STEPS
        most = most if model.max_iterations is None else min(most, model.max_iterations)
        return lbfgs_of(model, objective, c1, c2, most)

    def _objective(self, training: Training) -> Corpora:
        return Corpora(training.objective, threads_of(self.model.n_threads))

    def _compiled(self, patterns: set[Pattern], last: Fitted | None) -> Training:
        """Compile the training data with some patterns and the current weights."""
        kept = _restricted(self.all, patterns, {*self.seen}, self.bars, self.examples)
        training = Training.of(self.model, self.labelling, self.examples, None, kept)
        if last is None:
            return training
        w0 = carried(training.parameters, last, self.labelling.structure)
        return training._replace(w0=w0)


class _Groups(NamedTuple):
    """The weights of patterns as groups."""

    patterns: list[Pattern]
    member: npt.NDArray[np.int64]  # (n,) group of each weight; -1 for none
    penalty: Floats  # lambda of each group

    @classmethod
    def of(cls, model: Model, training: Training, some: set[Pattern]) -> _Groups:
        parameters, blocks = training.parameters, blocks_of(training.parameters)
        Y = len(training.structure.states)
        listed = [tuple(pattern) for pattern in parameters.patterns]
        patterns = [z for z in listed if z in some]
        index = {z: g for g, z in enumerate(patterns)}
        group = np.array([index.get(z, -1) for z in listed], np.int64)
        member = np.full(len(parameters), -1)
        member[blocks.rows] = np.concatenate([np.full(Y, -1), group])[parameters.label]
        member[blocks.edges] = np.concatenate([np.full(Y * Y, -1), group])[parameters.edge_pair]
        member[blocks.patterns] = group[: parameters.n_plain]
        sizes = np.bincount(member[member >= 0], minlength=len(patterns))
        c1 = np.broadcast_to(penalties(model, training)[0], len(parameters))
        plain = dict(zip(listed, c1[blocks.patterns].tolist(), strict=False))
        each = np.array([plain[z] or PENALTY for z in patterns])
        return cls(patterns, member, each * np.sqrt(sizes))

    def norms(self, values: Floats) -> Floats:
        """Return the norm of each group."""
        mine = self.member >= 0
        squares = np.bincount(self.member[mine], values[mine] ** 2, len(self.patterns))
        return np.sqrt(squares)

    def spread(self, values: npt.ArrayLike) -> Floats:
        """Return the group value for each weight, 0 for weights in no group."""
        return np.concatenate([np.asarray(values, np.float64), [0.0]])[self.member]


def _restricted(
    parameters: _kernels.Parameters,
    kept: set[Pattern],
    selected_from: set[Pattern],
    bars: Structure,
    examples: Examples,
) -> _kernels.Parameters:
    """Return the weights without those of deselected patterns."""
    Y, listed = len(bars.states), [tuple(pattern) for pattern in parameters.patterns]
    stays = np.array([z in kept or z not in selected_from for z in listed], bool)
    if stays.all():
        return parameters
    n_plain = int(stays[: parameters.n_plain].sum())
    number = np.cumsum(stays) - 1
    rows = np.concatenate([np.ones(Y, bool), stays])[parameters.label]
    edges = np.concatenate([np.ones(Y * Y, bool), stays])[parameters.edge_pair]
    label = np.concatenate([np.arange(Y), Y + number])[parameters.label[rows]]
    pair = np.concatenate([np.arange(Y * Y), Y * Y + number])[parameters.edge_pair[edges]]
    return _kernels.Parameters.restore(
        Y,
        examples.encoder.attributes,
        bars.bounds,
        bars.barred,
        bars.barred_start,
        bars.barred_end,
        parameters.attribute[rows],
        label.astype(np.int32),
        parameters.edge_attribute[edges],
        pair.astype(np.int32),
        parameters.transition,
        parameters.start,
        parameters.end,
        [list(z) for z, stay in zip(listed, stays.tolist(), strict=True) if stay],
        n_plain,
    )
