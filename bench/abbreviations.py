"""Abbreviations defined in neighbouring sentences, such as Duchenne dystrophy ( DMD ).

A definition is a short form in parentheses whose letters and digits are found, from the right, in
the words before it, the first one at the beginning of a word.  Sentences nearby are told: a short
form carries the words of its long form, and the words of a long form their place in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import caesura

NEARBY = 12  # sentences on each side


class Definition(NamedTuple):
    short: str
    long: tuple[str, ...]  # in lower case


def definitions(tokens: Sequence[str]) -> list[Definition]:
    """Return the abbreviations that a sentence defines.

    >>> definitions("the adenomatous polyposis coli ( APC ) gene".split())
    [Definition(short='APC', long=('adenomatous', 'polyposis', 'coli'))]
    """
    found = []
    for t in range(1, len(tokens) - 2):
        short = _bare(tokens[t + 1])
        if tokens[t] != "(" or tokens[t + 2] not in (")", ";", ","):
            continue
        if 2 <= len(tokens[t + 1]) <= 10 and any("A" <= c <= "Z" for c in short):
            most = min(len(tokens[t + 1]) + 5, 2 * len(tokens[t + 1]))
            before = [token.lower() for token in tokens[max(0, t - most) : t]]
            start = _start(short.lower(), before)
            if start is not None and len(" ".join(before[start:])) > len(tokens[t + 1]):
                found.append(Definition(short, tuple(before[start:])))
    return found


def _bare(word: str) -> str:
    """Return a word without the s of a plural behind capitals."""
    return word[:-1] if word.endswith("s") and word[:-1].isupper() else word


def _start(short: str, words: Sequence[str]) -> int | None:
    """Return the word at which the long form starts."""
    text = " ".join(words)
    at = len(text)
    wanted = [c for c in short if c.isalnum()]
    for k, character in reversed(list(enumerate(wanted))):
        at -= 1
        while at >= 0 and (text[at] != character or (k == 0 and at and text[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return None
    return text[:at].count(" ")


def told(documents: Sequence[caesura.Document]) -> list[caesura.Document]:
    """Return sentences in text order with known abbreviations as attributes."""
    defined = [definitions(document.tokens) for document in documents]
    out = []
    for i, document in enumerate(documents):
        near = range(max(0, i - NEARBY), min(len(documents), i + NEARBY + 1))
        known = {
            one.short: one.long
            for j in sorted(near, key=lambda j: -abs(i - j))
            for one in defined[j]
        }
        out.append(replace(document, attributes=_attributes(document.tokens, known)))
    return out


def _attributes(tokens: Sequence[str], known: dict[str, tuple[str, ...]]) -> list[list[str]]:
    bags: list[list[str]] = [[] for _ in tokens]
    for bag, token in zip(bags, tokens, strict=True):
        long = known.get(token) or known.get(_bare(token))
        if long:
            head = long[-1]
            bag += ["short", f"long first={long[0]}", f"long last={head}"]
            bag += [f"long last{n}={head[-n:]}" for n in (3, 4)]
            bag += [f"long has={word}" for word in sorted(set(long))]
    words = tuple(token.lower() for token in tokens)
    for long in sorted(set(known.values())):
        n = len(long)
        for s in range(len(words) - n + 1):
            if words[s : s + n] == long:
                for t in range(s, s + n):
                    bags[t].append(f"in long={_place(t - s, n)}")
    return bags


def _place(t: int, n: int) -> str:
    if n == 1:
        return "single"
    return "begin" if t == 0 else "end" if t == n - 1 else "inside"
