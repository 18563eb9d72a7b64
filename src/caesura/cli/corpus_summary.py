"""Summary of a corpus: sizes, labels, lengths and likely problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from caesura.cli.output import say, table
from caesura.documents import Document
from caesura.errors import counted
from caesura.segments import Segment

__all__ = ["Label", "Summary", "between", "overlap", "show", "summarise"]

BEGINNING = 60  # characters of a sequence that are shown, to search for it
RARE = 10  # labels with fewer segments are hard to learn
MOST_NAMED = 8  # labels listed in a warning


class Label(NamedTuple):
    """The statistics of one label."""

    name: str
    segments: int
    longest: int  # in tokens
    mean: float  # in tokens


class Summary(NamedTuple):
    """The statistics of a corpus.

    Examples
    --------
    >>> names = [Document(("Ann", "Lee"), segments=((0, 2, "PER"),))]
    >>> summarise(names).labels
    [Label(name='PER', segments=1, longest=2, mean=2.0)]
    >>> summarise(names).warnings
    ['rare labels, with fewer than 10 segments: PER (1); label more of them']
    """

    sequences: int
    tokens: int
    longest: int  # number of tokens in the longest sequence
    segments: int
    outside: int  # tokens outside segments, in fully labelled sequences
    labels: list[Label]
    empty: int  # number of sequences without tokens
    repeated: int  # number of sequences that repeat an earlier one, with the same segments
    contradictory: list[tuple[int, int]]  # numbers, from 1, of equal sequences labelled differently
    contradiction: str  # how the first such pair begins
    partial: int  # number of partially labelled sequences

    @property
    def warnings(self) -> list[str]:
        """The likely problems, one line each."""
        said = []
        rare = [f"{one.name} ({one.segments})" for one in self.labels if one.segments < RARE]
        if rare:
            more = f" and {len(rare) - MOST_NAMED} more" if len(rare) > MOST_NAMED else ""
            listed = ", ".join(rare[:MOST_NAMED]) + more
            said.append(
                f"rare labels, with fewer than {RARE} segments: {listed}; label more of them"
            )
        if self.contradictory:
            first, second = self.contradictory[0]
            said.append(
                f"contradictory labels: {counted(len(self.contradictory), 'pair')} of sequences "
                f"with the same tokens and other segments, such as sequences {first} and {second}, "
                f"{self.contradiction!r}; correct one of each pair"
            )
        if self.empty:
            said.append(f"{counted(self.empty, 'sequence')} without tokens")
        return said

    def as_json(self) -> dict[str, Any]:
        """Return the summary as a dict for JSON."""
        found = self._asdict() | {"labels": [label._asdict() for label in self.labels]}
        return found | {"warnings": self.warnings}


def summarise(documents: Sequence[Document], outside: str = "O") -> Summary:
    """Compute the statistics of a corpus."""
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    longest: dict[str, int] = {}
    first_of: dict[tuple[str, ...], tuple[int, tuple[Segment, ...]]] = {}
    contradictory: list[tuple[int, int]] = []
    rest = repeated = partial = 0
    contradiction = ""
    for number, document in enumerate(documents, 1):
        given = document.segments if document.known is None else document.known.segments
        segments = tuple(s for s in given or () if s.label != outside)
        for start, end, label in segments:
            counts[label] += 1
            sums[label] += end - start
            longest[label] = max(longest.get(label, 0), end - start)
        if document.known is not None:  # it is consistent with any other labels
            partial += 1
            continue
        rest += len(document) - sum(end - start for start, end, _ in segments)
        if document.tokens and any(document.tokens):  # signals have empty tokens
            earlier, said = first_of.setdefault(document.tokens, (number, segments))
            if said != segments:
                contradictory.append((earlier, number))
                contradiction = contradiction or " ".join(document.tokens)[:BEGINNING]
            elif earlier != number:
                repeated += 1
    sizes = [len(document) for document in documents]
    labels = [
        Label(name, count, longest[name], sums[name] / count)
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Summary(
        sequences=len(sizes),
        tokens=sum(sizes),
        longest=max(sizes, default=0),
        segments=counts.total(),
        outside=rest,
        labels=labels,
        empty=sizes.count(0),
        repeated=repeated,
        contradictory=contradictory,
        contradiction=contradiction,
        partial=partial,
    )


def overlap(train: Sequence[Document], dev: Sequence[Document]) -> int:
    """Count the sequences of one corpus that are also in another."""
    seen = {document.tokens for document in train if any(document.tokens)}
    return sum(document.tokens in seen for document in dev)


def show(parts: Sequence[tuple[str, Summary]]) -> None:
    """Print the statistics of one or several corpora."""
    header = ["data", "sequences", "tokens", "segments", "outside", "longest sequence"]
    table(
        header,
        [
            (
                name,
                s.sequences,
                s.tokens,
                s.segments,
                f"{s.outside / max(1, s.tokens):.0%}",
                s.longest,
            )
            for name, s in parts
        ],
    )
    for name, s in parts:
        if s.partial:
            say(f"{name}: {counted(s.partial, 'sequence')} labelled only in part")
    say()
    rest = [(name, {label.name: label for label in s.labels}) for name, s in parts[1:]]
    header = ["label", "segments", "longest", "mean length", *(name for name, _ in rest)]
    known = [*parts[0][1].labels]
    rows: list[list[object]] = [
        [
            *(one.name, one.segments, one.longest, f"{one.mean:.1f}"),
            *(found[one.name].segments if one.name in found else 0 for _, found in rest),
        ]
        for one in known
    ]
    new = {label for _, found in rest for label in found} - {one.name for one in known}
    rows += [
        [label, 0, 0, "-", *(f[label].segments if label in f else 0 for _, f in rest)]
        for label in sorted(new)
    ]
    table(header, rows)
    say()


def between(
    train: list[Document],
    dev: list[Document],
    of_train: Summary,
    of_dev: Summary,
) -> list[str]:
    """Return likely problems in the relation of training to development data."""
    said = []
    known = {label.name for label in of_train.labels}
    new = sorted({label.name for label in of_dev.labels} - known)
    if new:
        said.append(f"dev: labels that train does not have: {', '.join(new)}; they count as missed")
    both = overlap(train, dev)
    if both:
        share = f"{both} of its {len(dev)} sequences are also in train"
        said.append(f"dev: {share}; scores on it will be too high")
    return said
