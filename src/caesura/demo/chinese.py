"""Chinese sentences segmented into words; tokens are characters."""

from __future__ import annotations

import random
from importlib import resources

from caesura.demo.templates import check
from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.segments import Segment

__all__ = ["chinese"]


def chinese(n: int | None = None, seed: int = 0) -> list[Document]:
    """Return Chinese sentences cut into words, in random order.

    Parameters
    ----------
    n : int, optional
        Number of sentences; all 120 by default.
    seed : int
        The same seed gives the same order.

    Returns
    -------
    list of Document
        Their tokens are characters; every character is in a segment, whose label is w.

    Examples
    --------
    >>> document = chinese(1, seed=0)[0]
    >>> document.text
    '星期一早上学校有考试。'
    >>> [document.text[start:end] for start, end, _ in document.segments]
    ['星期一', '早上', '学校', '有', '考试', '。']
    """
    lines = _lines()
    check(len(lines) if n is None else n, seed)
    if n is not None and n > len(lines):
        raise InvalidInput(message("n", n, f"at most {len(lines)}", "leave it out for all"))
    order = random.Random(f"chinese {seed}").sample(lines, len(lines))
    return [_document(line) for line in order[:n]]


def _lines() -> list[str]:
    """Return the sentences, with words separated by spaces."""
    file = resources.files("caesura.demo").joinpath("chinese.txt")
    return file.read_text(encoding="utf-8").splitlines()


def _document(line: str) -> Document:
    segments: list[Segment] = []
    reached = 0
    for word in line.split():
        segments.append(Segment(reached, reached + len(word), "w"))
        reached += len(word)
    text = line.replace(" ", "")
    offsets = tuple((t, t + 1) for t in range(len(text)))
    return Document(tuple(text), text, offsets, segments=tuple(segments))
