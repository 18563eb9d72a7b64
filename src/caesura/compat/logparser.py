"""Parser of training logs in CRFsuite's format, one message at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

__all__ = ["LabelScore", "TrainLogParser"]

_NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(rf"Seconds required: {_NUMBER}")
_FIELDS: dict[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "loss": (re.compile(rf"Loss: (-?{_NUMBER[1:]}"), float),
    "feature_norm": (re.compile(rf"Feature norm: {_NUMBER}"), float),
    "error_norm": (re.compile(rf"Error norm: {_NUMBER}"), float),
    "active_features": (re.compile(r"Active features: (\d+)"), int),
    "linesearch_trials": (re.compile(r"Line search trials: (\d+)"), int),
    "linesearch_step": (re.compile(rf"Line search step: {_NUMBER}"), float),
    "time": (re.compile(rf"Seconds required for this iteration: {_NUMBER}"), float),
}
_AVERAGES = re.compile(rf"Macro-average precision, recall, F1: \({_NUMBER}, {_NUMBER}, {_NUMBER}\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(
    r" {4}(.+): \((\d+), (\d+), (\d+)\) \(([\d.]+|\*+), ([\d.]+|\*+), ([\d.]+|\*+)\)"
)
_AHEAD = ("prepared", "optimization_end")  # recognised by the first message of the next event


class LabelScore(NamedTuple):
    """The scores of one label on the held-out group.

    Examples
    --------
    >>> LabelScore(1, 2, 1, 0.5, 1.0, 0.667).model
    2
    """

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLogParser:
    r"""Follow a training run through its log messages.

    Attributes
    ----------
    featgen_percent, featgen_num_features, featgen_seconds
        How far feature generation is, the number of weights, and the time it took.
    iterations : list of dict
        Of each iteration ``num``, ``loss``, ``feature_norm``, ``error_norm``, ``active_features``,
        ``linesearch_trials``, ``linesearch_step``, ``time`` and ``scores``, and with a held-out
        group ``avg_precision``, ``avg_recall``, ``avg_f1``, ``item_accuracy`` and
        ``instance_accuracy``, as far as the algorithm reports them.
    last_iteration : dict or None
        The last of them.
    training_seconds, storing_seconds
        The time that training took, and writing the model.
    log : list of str
        All messages.
    events : list of (name, start, end)
        The events so far, with the part of `log` for each.

    Examples
    --------
    >>> parser = TrainLogParser()
    >>> lines = ["Feature generation\n", "Number of features: 3\n", "Seconds required: 0.1\n"]
    >>> [parser.feed(line) for line in lines]
    ['start', None, 'featgen_end']
    >>> parser.featgen_num_features, parser.last_log
    (3, 'Number of features: 3\nSeconds required: 0.1\n')
    """

    def __init__(self) -> None:
        self.state = "starting"
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Process the next message; return the name of the event that it completes, if any.

        Parameters
        ----------
        line : str
            A line with its end, or a step of the progress of feature generation.

        Returns
        -------
        str or None
            "start", "featgen_progress", "featgen_end", "prepared", "prepare_error", "iteration",
            "optimization_end" or "end".
        """
        self.log.append(line)
        event: str | None = getattr(self, f"_{self.state}")(line)
        if not self.events:
            event = "start"
        if event is not None:
            begin = self.events[-1][2] if self.events else 0
            self.events.append((event, begin, len(self.log) - (event in _AHEAD)))
        return event

    @property
    def last_log(self) -> str:
        """The messages of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    # -- handlers of the states ---------------------------------------------------------------

    def _starting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "generating"

    def _generating(self, line: str) -> str | None:
        if line == "." or line.isdecimal():
            self.featgen_percent += 2
            return "featgen_progress"
        if line.startswith("Number of features: "):
            self.featgen_num_features = int(line.split(": ")[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds = float(found[1])
            self.state = "preparing"
            return "featgen_end"
        return None

    def _preparing(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._begin(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "between"
            return "prepare_error"
        return None

    def _begin(self, line: str) -> None:
        head = _HEAD.match(line)
        assert head is not None
        self.state = "iterating"
        self.last_iteration = {"num": int(head[1]), "scores": {}}
        self.iterations.append(self.last_iteration)

    def _iterating(self, line: str) -> str | None:
        if line == "\n":
            self.state = "between"
            return "iteration"
        assert self.last_iteration is not None
        self.last_iteration.update(_fields(line))
        if found := _LABEL.match(line):
            counts = map(int, found.group(2, 3, 4))
            shares = (None if "*" in one else float(one) for one in found.group(5, 6, 7))
            self.last_iteration["scores"][found[1]] = LabelScore(*counts, *shares)
        return None

    def _between(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._begin(line)
        elif line.startswith("Total seconds required for training: "):
            self.training_seconds = float(line.split(": ")[1])
        elif line.startswith("Storing the model"):
            self.state = "storing"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return "end" if line == "\n" else None


def _fields(line: str) -> dict[str, Any]:
    """Return the values of an iteration in a log line, without the scores of labels."""
    for name, (pattern, kind) in _FIELDS.items():
        if found := pattern.match(line):
            return {name: kind(found[1])}
    if found := _AVERAGES.match(line):
        names = ("avg_precision", "avg_recall", "avg_f1")
        return dict(zip(names, map(float, found.groups()), strict=True))
    if found := _ACCURACY.match(line):
        share, name = Fraction(int(found[2]), int(found[3])), f"{found[1].lower()}_accuracy"
        return {name: share, f"{name}_float": float(share)}
    return {}
