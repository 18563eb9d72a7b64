"""The evaluation report: precision, recall and F1 of segments, and further scores."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from caesura.checks import whole
from caesura.errors import InvalidInput, message
from caesura.evaluation.input_checks import (
    Pair,
    Sequences,
    checked,
    lengths_of,
    listed,
    restricted,
    tokens_of,
)
from caesura.evaluation.intervals import ROUNDS, Interval, Range, bound_of_wrong, interval_of
from caesura.evaluation.scores import (
    Average,
    Score,
    Share,
    boundaries_of,
    mean_of,
    sequence_counts,
    tags_of,
    word_counts,
)
from caesura.evaluation.tables import for_terminals, plain, shown
from caesura.notebooks import bar, card, table, written

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["AVERAGES", "Report", "checked_beta", "evaluate"]

FORMAT, VERSION = "caesura report", 1
AVERAGES = ("micro", "macro", "weighted", "untyped", "boundaries")  # the rows of averages, in order


class Report(NamedTuple):
    """The scores of predicted segments; ``print`` shows a table.

    Examples
    --------
    >>> gold = [[(0, 2, "PER"), (3, 4, "LOC")], [(0, 1, "LOC")], []]
    >>> predicted = [[(0, 2, "PER"), (3, 5, "LOC")], [(0, 1, "PER")], []]
    >>> report = evaluate(gold, predicted)
    >>> report.micro
    Score(gold=3, predicted=3, correct=1)
    >>> print(report)
              precision  recall     F1  gold  predicted  correct
    LOC           0.000   0.000  0.000     2          1        0
    PER           0.500   1.000  0.667     1          2        1
    micro         0.333   0.333  0.333     3          3        1
    macro         0.250   0.500  0.333
    weighted      0.167   0.333  0.222
    untyped       0.667   0.667  0.667     3          3        2
    1 of 3 sequences right: 0.333
    >>> Report.from_json(report.to_json()) == report
    True
    """

    micro: Score  # over all segments
    macro: Average  # mean over labels
    labels: Mapping[str, Score]  # by label, sorted
    untyped: Score  # ignoring labels
    sequences: int
    sequences_correct: int  # number of sequences without an error
    boundaries: Score | None = None  # inside sequences; None if lengths are unknown
    tokens: Share | None = None  # tokens with the correct BIO tag; None if lengths are unknown
    known: Share | None = None  # recall of gold segments in the vocabulary; None without one
    unknown: Share | None = None  # recall of gold segments outside the vocabulary
    interval: Interval | None = None  # confidence intervals of `micro`
    tags: Share | None = None  # equal tags as given: conlleval's accuracy; None without tags
    beta: float = 1.0  # the beta of the F-beta shown beside F1

    @property
    def weighted(self) -> Average:
        """The mean over labels, each weighted by its number of gold segments."""
        return Average.of(self.labels.values(), weighted=True)

    def f_beta(self, average: str = "micro") -> float:
        """Return the micro-averaged F-beta, or its mean over labels.

        Parameters
        ----------
        average : {"micro", "macro", "weighted"}
            Over all segments; the mean over labels; the mean weighted by gold segments.

        Examples
        --------
        >>> report = evaluate([[(0, 2, "PER")]], [[(0, 2, "PER"), (3, 4, "PER")]], beta=2)
        >>> round(report.f_beta(), 3), round(report.micro.f1, 3)
        (0.833, 0.667)
        """
        if average not in AVERAGES[:3]:
            expected = "'micro', 'macro' or 'weighted'"
            raise InvalidInput(message("average", average, expected, "pass one of them"))
        if average == "micro":
            return self.micro.f_beta(self.beta)
        scores = list(self.labels.values())
        values = [score.f_beta(self.beta) for score in scores]
        return mean_of(values, scores, average == "weighted")

    @property
    def sequence_accuracy(self) -> float:
        """The fraction of sequences without an error."""
        return self.sequences_correct / self.sequences if self.sequences else 0.0

    @property
    def token_accuracy(self) -> float | None:
        """The fraction of tokens with the correct BIO tag."""
        return None if self.tokens is None else self.tokens.value

    def __str__(self) -> str:
        return plain(self.rows(), self._lines())

    def __rich__(self) -> Group:
        return for_terminals(self.rows(), self._lines())

    def _repr_html_(self) -> str:
        """Show the scores of each label and of all in a notebook."""
        rows = self.rows()
        bars = ["<td></td>", *(bar(float(row[3])) for row in rows[1:])]
        lines = "".join(f"<p>{written(line)}</p>" for line in self._lines())
        return card(f"F1 {self.micro.f1:.3f}", table("Bars show F1.", rows, bars), lines)

    def shown(self, averages: Collection[str] = AVERAGES) -> str:
        """Return the report as text, with selected averages.

        Parameters
        ----------
        averages : collection of str
            Any of ``micro``, ``macro``, ``weighted``, ``untyped`` and ``boundaries``.

        Examples
        --------
        >>> report = evaluate([[(0, 2, "PER")]], [[(0, 2, "PER")]])
        >>> print(report.shown(["weighted"]))
                  precision  recall     F1  gold  predicted  correct
        PER           1.000   1.000  1.000     1          1        1
        weighted      1.000   1.000  1.000
        1 of 1 sequence right: 1.000
        """
        return plain(self.rows(averages), self._lines())

    def rows(self, averages: Collection[str] = AVERAGES) -> list[tuple[str, ...]]:
        """Return the table as rows, one for each label and average, after a header."""
        for name in averages:
            if name not in AVERAGES:
                expected = ", ".join(AVERAGES)
                raise InvalidInput(message("averages", name, expected, "pass some of them"))
        beta = () if self.beta == 1 else (f"F{self.beta:g}",)
        rows = [("", "precision", "recall", "F1", *beta, "gold", "predicted", "correct")]
        rows += [self._row(label, score) for label, score in self.labels.items()]
        for name in AVERAGES:
            score = getattr(self, name)
            if name in averages and score is not None:
                rows.append(self._row(name, score))
        return rows

    def _row(self, name: str, score: Score | Average) -> tuple[str, ...]:
        shares = [score.precision, score.recall, score.f1]
        if isinstance(score, Score):
            beta, counts = score.f_beta(self.beta), [*map(str, score)]
        else:
            beta, counts = self.f_beta(name), ["", "", ""]
        shares += [beta] * (self.beta != 1)
        return (shown(name), *(f"{share:.3f}" for share in shares), *counts)

    def _lines(self) -> list[str]:
        shares = [
            ("sequence", "right", Share(self.sequences, self.sequences_correct)),
            ("token", "right", self.tokens),
            ("tag", "equal as written", self.tags),
            ("segment", "in the vocabulary found", self.known),
            ("segment", "out of the vocabulary found", self.unknown),
        ]
        lines = [
            f"{share.correct} of {share.total} {noun}{'s' * (share.total != 1)} {what}: "
            f"{f'{share.value:.3f}' if share.total else '-'}"
            for noun, what, share in shares
            if share is not None
        ]
        if self.known is not None and self.unknown is not None and self.unknown.total:
            lines += ["no segment is in the vocabulary"] * (not self.known.total)
        if self.interval is not None:
            lines.append(str(self.interval))
            if self.sequences == self.sequences_correct > 0:
                lines.append(bound_of_wrong(self.sequences, self.interval.confidence))
        return lines

    def to_json(self) -> str:
        """Return the report as JSON, which `from_json` reads.

        Shares are written beside the counts that they follow from; reading leaves them out.

        Examples
        --------
        >>> import json
        >>> report = evaluate([[(0, 2, "PER")]], [[(0, 2, "PER")]])
        >>> json.loads(report.to_json())["micro"]["f1"]
        1.0
        """
        interval = self.interval
        ends = {} if interval is None else {n: list(getattr(interval, n)) for n in Average._fields}
        content = {
            "format": FORMAT,
            "version": VERSION,
            "beta": self.beta,
            "micro": self._counted(self.micro),
            "macro": self.macro._asdict() | {"f_beta": self.f_beta("macro")},
            "weighted": self.weighted._asdict() | {"f_beta": self.f_beta("weighted")},
            "labels": {label: self._counted(score) for label, score in self.labels.items()},
            "untyped": self._counted(self.untyped),
            "sequences": self.sequences,
            "sequences_correct": self.sequences_correct,
            "sequence_accuracy": self.sequence_accuracy,
            **{name: self._counted(getattr(self, name)) for name in _OPTIONAL},
            "interval": interval and {**interval._asdict(), **ends},
        }
        return json.dumps(content, ensure_ascii=False, indent=1)

    def _counted(self, counts: Score | Share | None) -> dict[str, float] | None:
        """Return the counts and the rates derived from them."""
        if counts is None:
            return None
        if isinstance(counts, Share):
            return {**counts._asdict(), "value": counts.value}
        derived = {name: getattr(counts, name) for name in Average._fields}
        return {**counts._asdict(), **derived, "f_beta": counts.f_beta(self.beta)}

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read a report from the output of `to_json`.

        Examples
        --------
        >>> Report.from_json("[]")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        caesura.errors.InvalidInput: text: got '[]', expected a report ...
        """
        try:
            content = json.loads(text)
            if (content["format"], content["version"]) != (FORMAT, VERSION):
                raise ValueError("another format")
            return _report(content)
        except (AttributeError, KeyError, TypeError, ValueError):
            expected = f"a report in JSON, of version {VERSION}"
            remedy = "pass what to_json wrote"
            raise InvalidInput(message("text", text, expected, remedy)) from None


_OPTIONAL = dict(boundaries=Score, tokens=Share, tags=Share, known=Share, unknown=Share)  # noqa: C408


def _report(content: Any) -> Report:
    """Read a report from a checked JSON object."""
    found = content["interval"]
    interval = None
    if found is not None:
        ends = [Range(*map(float, found[name])) for name in Average._fields]
        interval = Interval(float(found["confidence"]), int(found["rounds"]), *ends)
    optional: dict[str, Any] = {
        name: None if content.get(name) is None else _counts(kind, content[name])
        for name, kind in _OPTIONAL.items()
    }
    return Report(
        _counts(Score, content["micro"]),
        Average(*(float(content["macro"][name]) for name in Average._fields)),
        {label: _counts(Score, score) for label, score in content["labels"].items()},
        _counts(Score, content["untyped"]),
        int(content["sequences"]),
        int(content["sequences_correct"]),
        **optional,
        interval=interval,
        beta=float(content.get("beta", 1.0)),
    )


def _counts(kind: Any, content: Mapping[str, Any]) -> Any:
    return kind(*(int(content[name]) for name in kind._fields))


# ---- computation ------------------------------------------------------------------------------


def evaluate(
    gold: Sequences,
    predicted: Sequences,
    outside: str = "O",
    *,
    lengths: Iterable[int] | None = None,
    tokens: Iterable[Any] | None = None,
    vocabulary: Collection[str] | None = None,
    confidence: float | None = None,
    seed: int = 0,
    beta: float = 1.0,
    labels: Iterable[str] | None = None,
) -> Report:
    """Compare predicted with gold segments, counting as conlleval and seqeval do.

    Parameters
    ----------
    gold, predicted : iterable of iterable of (start, end, label)
        The segments of each sequence, in order, with or without gaps. For tags see
        `evaluate_tags`.
    outside : str
        The label of text outside any segment, which does not count.
    lengths : iterable of int, optional
        The number of tokens of each sequence, for boundaries and tokens.
    tokens : iterable of (list of str, or Document), optional
        The tokens of each sequence; then lengths need not be given.
    vocabulary : collection of str, optional
        The segments seen in training, as collected by `words_of`; recall is then also reported
        for segments in and out of the vocabulary. Needs tokens.
    confidence : float, optional
        Confidence level, such as 0.95, of bootstrap intervals for precision, recall and F1.
    seed : int
        Random seed of the intervals.
    beta : float
        Positive weight of recall relative to precision in F-beta, which is shown beside F1
        unless it is 1.
    labels : iterable of str, optional
        Only segments with these labels count, as if all others were outside.

    Returns
    -------
    Report
        Precision, recall and F1: micro-averaged, by label, averaged over labels, and without
        labels; the number of fully correct sequences; and the optional measures.

    Examples
    --------
    >>> cut = evaluate([[(0, 3, ""), (3, 4, ""), (4, 5, "")]], [[(0, 3, ""), (3, 5, "")]])
    >>> cut.micro.precision, round(cut.micro.recall, 3), cut.micro.f1, cut.sequence_accuracy
    (0.5, 0.333, 0.4, 0.0)
    >>> evaluate([[(0, 2, "A")]], [[(0, 3, "A")]], lengths=[4]).token_accuracy
    0.75
    """
    right = listed("gold", gold)
    words = None if tokens is None else tokens_of("tokens", tokens, right)
    limits = lengths_of(lengths, words, right)
    beta = checked_beta(beta)
    pairs = restricted(checked(right, predicted, outside, lengths=limits), labels)
    report = _segments(pairs)._replace(beta=beta)
    if limits is not None:
        spots, tags = boundaries_of(pairs, limits), tags_of(pairs, limits, outside)
        report = report._replace(boundaries=spots, tokens=tags)
    if vocabulary is not None:
        if words is None or isinstance(vocabulary, str) or not isinstance(vocabulary, Collection):
            expected, remedy = "a set of words, with tokens", "pass words_of(...), and tokens="
            raise InvalidInput(message("vocabulary", vocabulary, expected, remedy))
        known, unknown = word_counts(pairs, words, frozenset(vocabulary))
        report = report._replace(known=known, unknown=unknown)
    if confidence is not None:
        each = sequence_counts((a for a, _ in pairs), (b for _, b in pairs), outside)
        interval = interval_of(each, confidence, ROUNDS, whole("seed", seed, 0))
        report = report._replace(interval=interval)
    return report


def checked_beta(beta: float) -> float:
    """Return the weight of recall in the F-beta, or raise."""
    number = isinstance(beta, int | float | np.integer | np.floating)
    if not number or isinstance(beta, bool) or not 0 < beta < math.inf:
        expected, remedy = "a number above 0", "pass 1 for F1, 2 for more weight on recall"
        raise InvalidInput(message("beta", beta, expected, remedy))
    return float(beta)


def _segments(pairs: list[Pair]) -> Report:
    """Return the part of the report that needs segments only."""
    in_gold: Counter[str] = Counter()
    in_predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    spans = sequences_correct = 0
    for right, guess in pairs:
        in_gold.update(s.label for s in right)
        in_predicted.update(s.label for s in guess)
        correct.update(s.label for s in set(right) & set(guess))
        spans += len({s[:2] for s in right} & {s[:2] for s in guess})
        sequences_correct += right == guess
    labels = {
        label: Score(in_gold[label], in_predicted[label], correct[label])
        for label in sorted(in_gold.keys() | in_predicted.keys())
    }
    micro = Score(in_gold.total(), in_predicted.total(), correct.total())
    untyped = micro._replace(correct=spans)
    macro = Average.of(labels.values())
    return Report(micro, macro, labels, untyped, len(pairs), sequences_correct)
