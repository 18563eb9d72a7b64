"""Background training on the annotations, with evaluation and selection of the next text."""

from __future__ import annotations

import contextlib
import logging
import random
import threading
import time
import warnings
from collections import defaultdict
from typing import Any

import orjson

from caesura.errors import CaesuraError
from caesura.evaluation import segment_counts
from caesura.models import SemiCRF
from caesura.server.edits import State
from caesura.server.project import Project, beside

__all__ = ["Teacher", "contradictions"]

HELD_OUT = 5  # every fifth text is for testing, and is never trained on
SCORED = 200  # texts that are scored between checks for changes
MOST_WARNINGS = 50
EXPORT = 1.0  # minimum seconds between exports of the labels
LOG = logging.getLogger("caesura.server")


class Teacher:
    """Train in the background.

    Parameters
    ----------
    project : Project
        The texts.
    model : model, optional
        A fitted model to begin with, used for suggestions until a model trained on this project
        scores higher on the held-out texts.
    every : int
        Number of newly labelled texts after which a model is trained.
    """

    def __init__(self, project: Project, model: Any = None, every: int = 5) -> None:
        self.project, self.every = project, every
        self.given = self.model = model
        self.version = 0 if model is None else 1
        self.curve: list[dict[str, Any]] = []
        self.warnings: list[dict[str, Any]] = []
        self.training = False
        self.problem = ""
        self._scores: dict[int, float] = {}
        self._scored = 0  # version of the model that computed them
        self._learnt = -1  # number of examples that the last model was trained on
        self._asked = self._stop = False
        self._exported = -EXPORT
        self._wake = threading.Condition()
        rank = random.Random(0)
        self._order = list(range(len(project.documents)))
        rank.shuffle(self._order)
        self._tests = set(self._order[::HELD_OUT]) if len(self._order) >= 2 * HELD_OUT else set()
        self._thread = threading.Thread(target=self._run, name="teacher", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current training run."""
        with self._wake:
            self._stop = True
            self._wake.notify()
        self._thread.join(60)

    def nudge(self, train: bool = False) -> None:
        """Request training after a change, or immediately."""
        with self._wake:
            self._asked = self._asked or train
            self._wake.notify()

    # -- choice of the next text ----------------------------------------------------------------

    def next(self, after: int | None) -> int | None:
        """Return the next text to label, None if all are labelled.

        Every fifth one tests the model, and is drawn at random.  The others are those of which
        the model is least sure; in the order of the file until there is a model.
        """
        states = self.project.snapshot()

        def is_open(i: int) -> bool:
            return i != after and (i not in states or states[i].status == "open")

        finished = sum(state.status == "done" for state in states.values())
        if self._tests and finished % HELD_OUT == HELD_OUT - 1:
            for i in self._order[::HELD_OUT]:
                if is_open(i):
                    return i
        scores = self._scores
        unsure = [i for i in scores if is_open(i)]
        if unsure:
            return max(unsure, key=scores.__getitem__)
        rest = [i for i in range(len(self.project.documents)) if is_open(i)]
        return next((i for i in rest if i not in self._tests), rest[0] if rest else None)

    # -- training -------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._wake:
                if not self._asked and not self._stop:
                    self._wake.wait(self._pause())
                asked, self._asked = self._asked, False
                stop = self._stop
            try:
                if self.project.changed and (stop or time.monotonic() > self._exported + EXPORT):
                    self.project.export()
                    self._exported = time.monotonic()
                if stop:
                    return
                if asked or self._due():
                    self._train()
                self._score()
            except Exception as error:  # the thread continues; the page shows the error
                self.problem = f"{type(error).__name__}: {error}"
                LOG.error(orjson.dumps({"teacher": type(error).__name__}).decode())
                time.sleep(0.5)
                if stop:
                    return

    def _pause(self) -> float | None:
        """Return the seconds until the next work; None to wait for a change."""
        if self._due() or (self.model is not None and self._scored != self.version):
            return 0.02
        return EXPORT if self.project.changed else None

    def _examples(self) -> tuple[list[int], list[int]]:
        """Return the training texts and the test texts."""
        states = self.project.snapshot()
        train = [i for i, s in states.items() if s.status in ("done", "partial")]
        tests = [i for i in train if i in self._tests and states[i].status == "done"]
        return [i for i in train if i not in self._tests], tests

    def _due(self) -> bool:
        train, _ = self._examples()
        return len(train) - max(self._learnt, 0) >= (self.every if self._learnt > 0 else 2)

    def _train(self) -> None:
        """Train on all current annotations."""
        train, tests = self._examples()
        states = self.project.snapshot()
        self._learnt = len(train)
        if not any(states[i].segments for i in train):
            return
        self.training, began = True, time.perf_counter()
        try:
            documents = [self.project.documents[i] for i in train]
            targets = [_target(states[i]) for i in train]
            made = self._new().fit(documents, targets)
            self.problem = ""
            seconds = time.perf_counter() - began
            score, other = (self._f1(one, tests, states) for one in (made, self.given))
            point = {"examples": len(train), "f1": score, "held_out": len(tests)}
            self.curve.append(point | {"seconds": round(seconds, 2)})
            better = score is not None and other is not None and score > other
            self.model = made if self.given is None or better else self.given
            self.version += 1
            self.warnings = contradictions(self.project, states)
            made.save(beside(self.project.output, "model"))
        except CaesuraError as error:
            self.problem = str(error)
        finally:
            self.training = False

    def _new(self) -> Any:
        if self.given is not None:
            return type(self.given)(**self.given.get_params())
        return SemiCRF(n_threads=1, max_iterations=60, verbose=False)

    def _f1(self, model: Any, tests: list[int], states: dict[int, State]) -> float | None:
        if model is None or not tests:
            return None
        found = model.predict([self.project.documents[i] for i in tests])
        return segment_counts([list(states[i].segments) for i in tests], found, model.outside).f1

    def _score(self) -> None:
        """Compute the entropies of unlabelled texts until other work arrives."""
        if self.model is None or self._scored == self.version:
            return
        model, version, states = self.model, self.version, self.project.snapshot()
        waiting = [i for i in self._order if i not in self._tests and i not in states]
        scores: dict[int, float] = {}
        for first in range(0, len(waiting), SCORED):
            some = waiting[first : first + SCORED]
            with warnings.catch_warnings(), contextlib.suppress(CaesuraError):
                found = model.uncertainty([self.project.documents[i] for i in some])
                scores |= dict(zip(some, found.tolist(), strict=True))
            self._scores = {**self._scores, **scores} if first else {**scores}
            if self._asked or self._stop or self._due():
                return
            time.sleep(0.002)  # gives way to requests
        self._scores, self._scored = scores, version


def _target(state: State) -> Any:
    return list(state.segments) if state.status == "done" else state.partial()


def contradictions(project: Project, states: dict[int, State]) -> list[dict[str, Any]]:
    """Return words with inconsistent labels, most frequent first.

    Parameters
    ----------
    project : Project
        The texts.
    states : dict
        What is known about them.

    Returns
    -------
    list of dict
        ``{"words": ..., "labels": {label: [numbers of texts]}}``.
    """
    used: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i, state in states.items():
        if state.status not in ("done", "partial"):
            continue
        for segment in state.segments:
            words = project.documents[i].text_of(segment).casefold().strip(" .,;:()[]\"'")
            used[words][segment.label].append(i)
    several = [(words, labels) for words, labels in used.items() if len(labels) > 1 and words]
    several.sort(key=lambda one: -sum(map(len, one[1].values())))
    return [
        {"words": words, "labels": {label: sorted(set(some))[:20] for label, some in found.items()}}
        for words, found in several[:MOST_WARNINGS]
    ]
