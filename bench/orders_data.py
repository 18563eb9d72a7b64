"""Shared parts of the high-order experiments: corpora, pattern counts, scorers, plots.

The corpora of Cuong et al. 2014 with the labels of its experiments: fields of references, labels of
punctuation that state at the first word of a stretch which mark follows its last, and letters.
"""

from __future__ import annotations

import argparse
import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from plots import BLUE, RED, figure, save

import caesura

Tags = list[str]
Spans = list[caesura.Segment]
ORDERS = (1, 2, 3, 4, 5)
NAMES = {"O": "None", ",": "Comma", ".": "Period", "?": "QMark"}
STRETCH = ">"  # None>Comma: no mark after this word, which begins a stretch that ends in a comma


class Labelled(NamedTuple):
    """Sequences with a label for each token."""

    documents: list[caesura.Document]  # without labels
    tags: list[Tags]

    @property
    def segments(self) -> list[Spans]:
        """The runs of equal labels."""
        return [runs(tags) for tags in self.tags]

    def part(self, chosen: Iterable[int]) -> Labelled:
        """Some of the sequences."""
        kept = list(chosen)
        return Labelled([self.documents[i] for i in kept], [self.tags[i] for i in kept])


def runs(tags: Sequence[str]) -> Spans:
    """Return the runs of equal tags as segments.

    >>> runs(["a", "a", "b"])
    [Segment(start=0, end=2, label='a'), Segment(start=2, end=3, label='b')]
    """
    found: Spans = []
    for label, some in groupby(tags):
        start = found[-1].end if found else 0
        found.append(caesura.Segment(start, start + len(list(some)), label))
    return found


def spread(segments: Iterable[tuple[int, int, str]]) -> Tags:
    """Return the label of each token of segments without gaps."""
    return [label for start, end, label in segments for _ in range(start, end)]


# -- corpora ---------------------------------------------------------------------------------------


def pairs(path: Path) -> Iterator[tuple[tuple[str, ...], Tags]]:
    """Read `token label` lines, an empty line behind each sequence."""
    lines = path.read_text("latin-1").split("\n")
    for there, some in groupby(lines, key=lambda line: bool(line.strip())):
        if there:
            tokens, tags = zip(*(line.split() for line in some), strict=True)
            yield tokens, list(tags)


def cora(data: Path) -> tuple[Labelled, Labelled]:
    """Read references with their fields: 300 to learn from, 200 to test."""
    files = (data / "cora_ie" / f"hosemicrf_ref.{name}" for name in ("train", "test"))
    train, test = (
        Labelled([caesura.Document(tokens) for tokens, _ in some], [tags for _, tags in some])
        for some in map(list, map(pairs, files))
    )
    return train, test


def stretched(marks: Sequence[str]) -> Tags:
    """Return ten labels for four: the first word of a stretch also says what ends it.

    >>> stretched([",", "O", "O", "."])
    ['Comma>Comma', 'None>Period', 'None', 'Period']
    """
    labels = [NAMES[mark] for mark in marks]
    for t, mark in enumerate(marks):
        if mark != "O":
            first = t
            while first > 0 and labels[first - 1] == "None":
                first -= 1
            labels[first] += STRETCH + NAMES[mark]
    return labels


def punctuation(data: Path) -> tuple[Labelled, Labelled]:
    """Read words of films without their punctuation: 3,221 texts to learn from, 2,229 to test."""
    files = (data / "punc_movie" / f"punc.{name}" for name in ("tr", "ts"))
    train, test = (
        Labelled(
            [caesura.Document(tokens) for tokens, _ in some], [stretched(tags) for _, tags in some]
        )
        for some in map(list, map(pairs, files))
    )
    return train, test


def letters(data: Path) -> list[Labelled]:
    """Read handwritten words in ten folds; attributes are the pixels that are on."""
    words: dict[tuple[int, int], list[list[str]]] = {}
    with gzip.open(data / "ocr_letters" / "letter.data.gz", "rt") as lines:
        for line in lines:
            row = line.split()
            words.setdefault((int(row[5]), int(row[3])), []).append(row)
    folds = [Labelled([], []) for _ in range(10)]
    for (fold, _), rows in words.items():
        tokens = tuple("?" for _ in rows)
        on = [[f"p{j}" for j, pixel in enumerate(row[6:]) if pixel == "1"] for row in rows]
        folds[fold].documents.append(caesura.Document(tokens, attributes=on))
        folds[fold].tags.append([row[1] for row in rows])
    return folds


# -- patterns --------------------------------------------------------------------------------------


def patterns(sequences: Iterable[Sequence[str]], longest: int) -> Counter[tuple[str, ...]]:
    """Count the label patterns of 1 to `longest` labels.

    >>> sorted(patterns([["a", "b", "a"]], 2).items())
    [(('a',), 2), (('a', 'b'), 1), (('b',), 1), (('b', 'a'), 1)]
    """
    found: Counter[tuple[str, ...]] = Counter()
    for labels in sequences:
        for n in range(1, longest + 1):
            found.update(tuple(labels[t : t + n]) for t in range(len(labels) - n + 1))
    return found


def n_patterns(sequences: Iterable[Sequence[str]], orders: Sequence[int] = ORDERS) -> list[int]:
    """Return how many patterns there are up to each order."""
    found = patterns(sequences, max(orders) + 1)
    return [sum(len(pattern) <= order + 1 for pattern in found) for order in orders]


# -- scores ----------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """Of one label or of all: how many there are, were predicted, and were right."""

    gold: int
    predicted: int
    correct: int

    @property
    def f1(self) -> float:
        """In per cent."""
        return 200 * self.correct / max(self.gold + self.predicted, 1)


Pieces = Sequence[tuple[int, int, str]]


def by_label(gold: Sequence[Pieces], predicted: Sequence[Pieces], last: bool = False) -> Any:
    """Count segments of each label, and of "All".

    With `last`, as the program of Cuong et al. 2014 does: the last segment of a sequence
    is right if its tokens are, also where the gold segment begins before it.
    """
    counts: dict[str, list[int]] = {}
    for right, found in zip(gold, predicted, strict=True):
        for segment in right:
            counts.setdefault(segment[2], [0, 0, 0])[0] += 1
        known = {tuple(segment) for segment in right}
        for segment in found:
            row = counts.setdefault(segment[2], [0, 0, 0])
            row[1] += 1
            row[2] += tuple(segment) in known or (last and _ends(segment, right))
    counts["All"] = [sum(column) for column in zip(*counts.values(), strict=True)]
    return {label: Counts(*row) for label, row in sorted(counts.items())}


def _ends(segment: tuple[int, int, str], right: Pieces) -> bool:
    """Whether a segment is a proper end of the last gold one."""
    start, end, label = right[-1]
    return end == segment[1] and label == segment[2] and start < segment[0]


# -- output ----------------------------------------------------------------------------------------


def p_values(gold: Any, answers: dict[str, Any]) -> list[list[str]]:
    """Return rows of p-values, each with > or < for better or worse than the column's system."""
    names, rows = list(answers), []
    for i, a in enumerate(names[:-1]):
        row = [a] + ["-"] * i
        for b in names[i + 1 :]:
            test = caesura.compare(gold, answers[a], answers[b], rounds=999)
            row.append(f"{test.p_value:.3f}{'>' if test.difference > 0 else '<'}")
        rows.append(row)
    return rows


def plot_orders(
    path: str, ours: dict[str, float], paper: dict[str, float], seconds: dict[str, float]
) -> None:
    """Draw F1 and seconds of C1, C2, ..., SC1, SC2, ... against the order."""
    made, axes = figure()
    for kind, colour in (("C", RED), ("SC", BLUE)):
        names = [name for name in ours if name[:-1] == kind]
        orders = [int(name[-1]) for name in names]
        for axis, values, line, label in (
            (axes[0], ours, "o-", kind),
            (axes[0], paper, "s--", f"{kind}, published"),
            (axes[1], seconds, "o-", kind),
        ):
            shown = [values[name] for name in names]
            axis.plot(orders, shown, line, color=colour, ms=4, label=label)
    for axis, title in zip(axes, ("F1", "seconds to learn and answer"), strict=True):
        axis.set(xlabel="order", title=title, xticks=(1, 2, 3))
        axis.legend(fontsize=8)
    save(made, path)


def parsed(description: str | None, plot: bool = True, **more: Any) -> argparse.Namespace | None:
    """Return the options of a command, or None after saying that there is no data."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    if plot:
        parser.add_argument("--plot", metavar="FILE", help="draw a picture")
    for name, options in more.items():
        parser.add_argument(f"--{name}", **options)
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"no data in {arguments.data}: skipped; name its folder with --data")
        return None
    return arguments
