"""Detection of the tag scheme.

In each scheme, whether tags are well formed is a matter of each tag and the one before it. So it is
enough to count these pairs, however long the file: the scheme with the fewest wrong ones is it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from caesura.corpora.files import Source
from caesura.errors import InvalidInput, message
from caesura.segments import SCHEMES, Scheme

__all__ = [
    "NAME_SCHEME",
    "NAME_SCHEME_OR_PLAIN",
    "TagCounts",
    "check_foreign",
    "detect_scheme",
    "find_scheme",
    "odd_tags",
    "scheme_of_most",
]

NAME_SCHEME = "correct the tags or name their scheme"  # remedies in errors
NAME_SCHEME_OR_PLAIN = f"{NAME_SCHEME}, plain if they are labels"
# In order of preference. S/A is never guessed, as its tags look too much like labels.
_CANDIDATES = [row for row in SCHEMES if row.begin and row.name != "SA"]
_LETTERS = {row.name: {row.begin, row.inside, row.end, row.single} for row in _CANDIDATES}
_ALL_LETTERS = set().union(*_LETTERS.values())
FEW = 10  # tags outside the scheme may be mistakes if at most one tag in FEW is
Pair = tuple[str | None, str | None]  # None before the first tag and after the last


class TagCounts:
    """The counts of adjacent tag pairs in many sequences."""

    def __init__(self) -> None:
        self.pairs: Counter[Pair] = Counter()
        self.lines: dict[str, int] = {}  # the line of the first occurrence of each tag

    def add(self, tags: Sequence[str], lines: Iterable[int]) -> None:
        """Count the tags of a sequence on the given lines."""
        self.pairs.update(zip([None, *tags], [*tags, None], strict=True))
        if not self.lines.keys() >= set(tags):
            for tag, line in zip(tags, lines, strict=True):
                self.lines.setdefault(tag, line)


def detect_scheme(
    counts: TagCounts,
    outside: str = "O",
    name: str = "tags",
    place: str = "line {}",
    others: TagCounts | None = None,
) -> str:
    """Return the scheme of tags, or raise if no single scheme fits.

    An error is about the argument `name`, and says by `place` where a tag came first. `others`
    are written in the same scheme, but may be ill formed: only their letters count.

    Examples
    --------
    >>> counts = TagCounts()
    >>> counts.add(["I-NP", "B-NP", "I-NP", "O"], [1, 2, 3, 4])
    >>> detect_scheme(counts)
    'IOB1'
    """
    lines = counts.lines if others is None else others.lines | counts.lines
    tags = [tag for tag in lines if tag not in ("O", outside)]
    lettered = [tag for tag in tags if tag.partition("-")[0] in _ALL_LETTERS]
    bare = all("-" not in tag for tag in lettered)
    if not tags:
        return "BIO"
    if len(lettered) < len(tags) and bare:  # some labels may look like letters
        return "plain"
    if len(lettered) < len(tags):
        other = next(tag for tag in tags if tag not in lettered)
        one, two = (f"{tag!r} ({place.format(lines[tag])})" for tag in (lettered[0], other))
        raise InvalidInput(
            place=name, got=f"{one} and {two}", expected="tags of one scheme", remedy=NAME_SCHEME
        )
    letters = {tag.partition("-")[0] for tag in tags}
    rows = [row for row in _CANDIDATES if letters <= _LETTERS[row.name]]
    wrong = {row.name: _wrong(counts.pairs, row) for row in rows}
    if not rows or (bare and min(wrong.values())):
        shown = f"{tags[0]!r} ({place.format(lines[tags[0]])})"
        raise InvalidInput(
            place=name,
            got=f"the letters {', '.join(sorted(letters))}, as in {shown}",
            expected="those of one scheme",
            remedy=NAME_SCHEME_OR_PLAIN,
        )
    return min(wrong, key=lambda name: wrong[name])


def find_scheme(
    counts: TagCounts, outside: str, source: Source, skip: bool, others: TagCounts | None = None
) -> tuple[str, frozenset[str]]:
    """Return the scheme of a file's tags, and the skipped tags of other schemes.

    Raise if the tags are of no single scheme, unless they are to be skipped: then it is the scheme
    of most of them.
    """
    try:
        return detect_scheme(counts, outside, others=others), frozenset()
    except InvalidInput as error:
        if not skip:
            raise error.changed(file=source.name) from None
        return scheme_of_most(counts, outside)


def check_foreign(
    tags: Iterable[str], lines: Iterable[int], foreign: frozenset[str], source: Source
) -> None:
    """Raise for a tag of another scheme."""
    for tag, line in zip(tags, lines, strict=True) if foreign else ():
        if tag in foreign:
            expected, remedy = "a plain label, as most other tags", "name the scheme of the tags"
            raise source.error(line, InvalidInput(message("tag", tag, expected, remedy)))


def scheme_of_most(counts: TagCounts, outside: str = "O") -> tuple[str, frozenset[str]]:
    """Return the scheme that fits most tags, and the prefixed tags if it is "plain".

    Of schemes into which as many fit, it is that with the fewest wrong pairs.

    Examples
    --------
    >>> counts = TagCounts()
    >>> counts.add(["B-NP", "I-NP", "B-VP", "verb", "O"], [1, 2, 3, 4, 5])
    >>> scheme_of_most(counts)
    ('BIO', frozenset())
    """
    times: Counter[str] = Counter()
    for (_, tag), count in counts.pairs.items():
        if tag not in ("O", outside, None):
            times[tag] += count
    lettered = frozenset(tag for tag in times if tag.partition("-")[0] in _ALL_LETTERS)
    if sum(times[tag] for tag in lettered) * 2 < times.total():
        return "plain", frozenset(tag for tag in lettered if "-" in tag)
    fitting = {
        row.name: sum(times[tag] for tag in lettered if tag.partition("-")[0] in _LETTERS[row.name])
        for row in _CANDIDATES
    }
    rows = [row for row in _CANDIDATES if fitting[row.name] == max(fitting.values())]
    return min(rows, key=lambda row: _wrong(counts.pairs, row)).name, frozenset()


def odd_tags(counts: TagCounts, outside: str = "O") -> tuple[str, list[str]]:
    """Return the scheme of nearly all tags, and the few that are not of it, probably mistyped.

    Examples
    --------
    >>> counts = TagCounts()
    >>> counts.add([*["B-NP", "I-NP"] * 5, "B_NP", "O"], range(12))
    >>> odd_tags(counts)
    ('BIO', ['B_NP'])
    """
    scheme, _ = scheme_of_most(counts, outside)
    if scheme == "plain":
        return scheme, []
    tags = [tag for tag in counts.lines if tag not in ("O", outside)]
    odd = [tag for tag in tags if tag.partition("-")[0] not in _LETTERS[scheme]]
    times: Counter[str | None] = Counter()
    for (_, tag), count in counts.pairs.items():
        times[tag] += count
    few = sum(times[tag] for tag in odd) * FEW <= sum(times[tag] for tag in tags)
    return scheme, odd if few else []


def _wrong(pairs: Counter[Pair], row: Scheme) -> int:
    """Return the number of tag pairs that a scheme never produces."""
    return sum(count for pair, count in pairs.items() if not _well_formed(*pair, row))


def _well_formed(before: str | None, after: str | None, row: Scheme) -> bool:
    """Return whether a scheme may produce two adjacent tags."""
    (left, left_label), (right, right_label) = _place(before), _place(after)
    return row.fits(left, right, left_label == right_label)


def _place(tag: str | None) -> tuple[str, str]:
    """Return the letter and label of a tag; no letter for outside."""
    letter, _, label = (tag or "O").partition("-")
    return ("", "") if letter == "O" else (letter, label)
