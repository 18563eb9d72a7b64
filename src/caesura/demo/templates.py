"""Templates with random slot values and inline labels.

In a template, ``{list}`` is an entry of a list, which may have slots of its own, and
``[label text]`` is a segment; the rest is text outside.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.segments import Segment

__all__ = ["Lists", "check", "filled", "labelled", "pieces"]

Lists = Mapping[str, Sequence[str]]

_SLOT = re.compile(r"\{(\w+)\}")
_PIECE = re.compile(r"\[(\w+) ([^\]]*)\]|([^\[]+)")


def check(n: object, seed: object) -> None:
    """Raise unless n and seed are integers and n is at least 0.

    Examples
    --------
    >>> check(-1, 0)
    Traceback (most recent call last):
    caesura.errors.InvalidInput: n: got -1, expected a whole number, at least 0; pass 100,
    for example
    """
    if not isinstance(n, int) or n < 0:
        raise InvalidInput(message("n", n, "a whole number, at least 0", "pass 100, for example"))
    if not isinstance(seed, int):
        raise InvalidInput(message("seed", seed, "a whole number", "pass 0, the default"))


def filled(template: str, lists: Lists, draw: random.Random) -> str:
    """Fill each slot of a template at random, recursively.

    Examples
    --------
    >>> lists = {"town": ["{side} Hill"], "side": ["North"]}
    >>> filled("to [town {town}]", lists, random.Random(0))
    'to [town North Hill]'
    """
    while _SLOT.search(template):
        template = _SLOT.sub(lambda found: draw.choice(lists[found[1]]), template)
    return template


def pieces(template: str) -> Iterator[tuple[str | None, str]]:
    """Yield the labelled pieces of a filled template; None is outside.

    Examples
    --------
    >>> list(pieces("to [town North Hill]"))
    [(None, 'to '), ('town', 'North Hill')]
    """
    for found in _PIECE.finditer(template):
        yield found[1], found[2] if found[1] else found[3]


def labelled(template: str) -> Document:
    """Return a filled template as a document with text, tokens and segments.

    Examples
    --------
    >>> document = labelled("to [town North Hill]!")
    >>> document.text, document.segments
    ('to North Hill!', (Segment(start=1, end=3, label='town'),))
    """
    text = ""
    spans: list[tuple[int, int, str]] = []
    for label, piece in pieces(template):
        if label is not None:
            spans.append((len(text), len(text) + len(piece), label))
        text += piece
    document = Document.from_text(text)
    assert document.offsets is not None
    starts = {start: t for t, (start, _) in enumerate(document.offsets)}
    ends = {end: t + 1 for t, (_, end) in enumerate(document.offsets)}
    segments = tuple(Segment(starts[start], ends[end], label) for start, end, label in spans)
    return Document(document.tokens, text, document.offsets, segments=segments)
