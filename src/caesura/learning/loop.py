"""The training loop: callbacks, early stopping, checkpoints."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from caesura.checks import whole
from caesura.learning import checkpoint as files
from caesura.learning.lbfgs import LBFGS
from caesura.learning.objectives import Progress

__all__ = ["Optimiser", "Result", "minimise", "warn_interrupted"]

Floats = npt.NDArray[np.float64]
S = TypeVar("S")


class Optimiser(Protocol[S]):
    """The interface shared by `LBFGS`, `SGD`, `AdaGrad` and the other optimisers.

    Examples
    --------
    >>> from caesura.learning import LBFGS
    >>> optimiser = LBFGS(lambda w: (float(w @ w), 2.0 * w))
    >>> optimiser.step(optimiser.start([1.0, 2.0])).iteration
    1
    """

    def start(self, w0: npt.ArrayLike) -> S:
        """Return the first state."""

    def step(self, state: S) -> S:
        """Return the next state."""

    def reopened(self, state: S) -> S:
        """Return a finished state that can continue under other stopping criteria."""

    def settings(self, n: int) -> dict[str, Any]:
        """Return the settings that a state depends on."""


class Result(NamedTuple):
    """The result of an optimisation: weights and history.

    Examples
    --------
    >>> Result._fields
    ('w', 'objective', 'status', 'history', 'state')
    """

    w: Floats  # the last weights, or those with the best score on development data
    objective: float  # of the last weights, with penalties
    # One of gradient, objective, gap, separated, max_iterations, callback, patience, search,
    # diverged and interrupted.
    status: str
    history: tuple[Progress, ...]  # one for each iteration
    state: Any  # final state of the optimiser, from which it can be resumed


class _Run(NamedTuple):
    """The content of a checkpoint."""

    state: Any
    history: tuple[Progress, ...]
    best: Floats  # the last weights that are as good as the best; empty without development data
    best_score: float
    best_iteration: int  # the first iteration with this score, from which patience counts

    @property
    def seconds(self) -> float:
        return self.history[-1].seconds if self.history else 0.0


def minimise(
    optimiser: Optimiser[Any],
    w0: npt.ArrayLike,
    *,
    callback: Callable[[Progress], bool | None] | None = None,
    dev_score: Callable[[Floats], float] | None = None,
    standard_error: Callable[[float], float] | None = None,
    patience: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    save_every: int = 10,
    about: Mapping[str, Any] | None = None,
    keep_interrupted: bool = False,
) -> Result:
    """Run an optimiser until it stops.

    Parameters
    ----------
    optimiser : LBFGS, SGD or AdaGrad
        The optimiser, with its objective and settings.
    w0 : array-like
        Weights to start from.
    callback : callable, optional
        Called with the `Progress` after each iteration; True ends the run.
    dev_score : callable, optional
        Scores weights on development data after each iteration; higher is better.  The best weights
        are returned, the last of them where several are equally good.
    standard_error : callable, optional
        Function from a score to its standard error.  Weights whose score is within this distance of
        the best one count as equally good.
    patience : int, optional
        Number of iterations without a better score after which the run stops; by default none.
    checkpoint : path, optional
        File to resume from if it exists, and to write every `save_every` iterations, at the end,
        and when interrupted from the keyboard.
    save_every : int
        Number of iterations between two checkpoints.
    about : mapping, optional
        Other values on which the run depends, such as a checksum of the data; stored in the
        checkpoint, and compared when it is read.
    keep_interrupted : bool
        Whether an interruption from the keyboard ends the run with the weights so far, and a
        warning. It is raised nevertheless before the end of the first iteration, and if there is a
        checkpoint to resume from.

    Returns
    -------
    Result
        The status ``"search"`` means that no lower point was found along the last direction, which
        is mostly the end of what the precision allows; the weights are the lowest seen.

    Examples
    --------
    >>> import numpy as np
    >>> from caesura.learning import LBFGS
    >>> result = minimise(LBFGS(lambda w: (float(w @ w), 2.0 * w)), [1.0, 2.0])
    >>> result.status, np.abs(result.w).max() < 1e-5
    ('gradient', np.True_)
    """
    whole("save_every", save_every, 1)
    if patience is not None:
        whole("patience", patience, 1)
    if isinstance(optimiser, LBFGS) and checkpoint is not None and Path(checkpoint).exists():
        optimiser.keep_pairs_of(files.settings_of(checkpoint))
    settings = {**(about or {}), **optimiser.settings(np.size(w0)), "n": int(np.size(w0))}
    run = _started(optimiser, w0, checkpoint, settings)
    if not run.state.status:
        run = run._replace(state=_ended(run, patience, stop=False))
    if checkpoint is not None:
        further = optimiser.room(np.size(w0)) if isinstance(optimiser, LBFGS) else 0
        files.check_room(checkpoint, run.state, further)
    before = time.perf_counter() - run.seconds
    saved = len(run.history)  # the state itself would be large
    try:
        while not run.state.status:
            run = _stepped(run, optimiser.step(run.state), before, dev_score)
            run = _chosen(run, standard_error)
            stop = callback is not None and callback(run.history[-1])
            if not run.state.status:
                run = run._replace(state=_ended(run, patience, bool(stop)))
            if checkpoint is not None and len(run.history) % save_every == 0:
                files.write(checkpoint, run._asdict(), settings)
                saved = len(run.history)
    except KeyboardInterrupt:
        if not keep_interrupted or checkpoint is not None or not run.history:
            raise
        run = run._replace(state=run.state._replace(status="interrupted"))
        warn_interrupted(run.history[-1].iteration, bool(run.best.size))
    finally:  # also after an interruption: `run` is consistent between iterations
        if checkpoint is not None and len(run.history) != saved:
            files.write(checkpoint, run._asdict(), settings)
    w = run.best if run.best.size else run.state.weights
    return Result(w, run.state.objective, run.state.status, run.history, run.state)


def warn_interrupted(iteration: int, best: bool) -> None:
    """Warn that a run was interrupted, and which weights are kept."""
    kept = "best weights on the development data so far" if best else "weights so far"
    warnings.warn(
        f"fit was interrupted after iteration {iteration}; the {kept} are kept, and the model can "
        "be used. Pass checkpoint='...' to continue later",
        stacklevel=3,
    )


def _started(
    optimiser: Optimiser[Any],
    w0: npt.ArrayLike,
    checkpoint: str | os.PathLike[str] | None,
    settings: Mapping[str, Any],
) -> _Run:
    """Return the run to resume from the checkpoint, or a new one."""
    if checkpoint is None or not Path(checkpoint).exists():
        return _Run(optimiser.start(w0), (), np.empty(0), -np.inf, 0)
    run = _Run(**files.read(checkpoint, settings))
    return run._replace(state=optimiser.reopened(run.state))


def _stepped(
    run: _Run, state: Any, before: float, dev_score: Callable[[Floats], float] | None
) -> _Run:
    """Return the run after one iteration."""
    score = None if dev_score is None else float(dev_score(state.weights))
    progress = Progress(
        state.iteration,
        state.objective,
        state.gradient_norm,
        state.step,
        state.evaluations,
        state.n_active,
        time.perf_counter() - before,
        score,
        "single" if getattr(state, "drafting", False) else "double",
        getattr(state, "gap", None),
    )
    return run._replace(state=state, history=(*run.history, progress))


def _chosen(run: _Run, standard_error: Callable[[float], float] | None) -> _Run:
    """Return the run with the weights to keep: the latest of the equally good best ones.

    A small set of development data ranks iterations by chance.  Later weights are nearer to the
    minimum of the objective, which does not depend on that set, and have better probabilities.
    """
    score, state = run.history[-1].dev_score, run.state
    if score is None:
        return run
    first = not run.best.size
    if score > run.best_score or first:
        run = run._replace(best_score=score, best_iteration=state.iteration)
    near = 0.0 if standard_error is None else standard_error(run.best_score)
    return run._replace(best=state.weights) if first or score >= run.best_score - near else run


def _ended(run: _Run, patience: int | None, stop: bool) -> Any:
    """Return the state, marked as ended if requested."""
    waited = run.state.iteration - run.best_iteration
    if patience is not None and run.best.size and waited >= patience:
        return run.state._replace(status="patience")
    return run.state._replace(status="callback") if stop else run.state
