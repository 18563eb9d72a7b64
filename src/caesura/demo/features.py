"""What the models of the demonstration look at."""

from __future__ import annotations

from collections.abc import Sequence

from caesura.features import Lexicon, Pattern, SegmentFeature, Template, preset

__all__ = ["features", "patterns"]

_NAME = r"(?:[A-Z]\w*(?:['’]\w+)?|[.,&:;-]|and|et|al|van|der|von|de|[Ii]n|editors?|[Ee]ds?)"
_WORD = r"(?:[^\W\d_][\w'’]*|[,:?!/'’\-]|\d+)"
_YEAR = r"(?:1[5-9]|20)\d\d"
_MONTH = r"[A-Z][a-z]+(?: \.)?"
_PAGE = r"[A-Z]?\d+"


def patterns() -> list[Pattern]:
    """Return what fields look like as a whole, in any style: only a semi-CRF can use it.

    Examples
    --------
    >>> [pattern.name for pattern in patterns()]
    ['names', 'quoted', 'bracketed', 'words', 'whole date', 'whole pages']
    """
    return [
        Pattern(f"(?:{_NAME} )*{_NAME}", 60, "names"),
        Pattern(r"[\"“] .* [\"”](?: [.,])?", 45, "quoted"),
        Pattern(r"\( .* \)(?: [.,:])?", 20, "bracketed"),
        Pattern(rf"(?:{_WORD} )*{_WORD}(?: \.)?", 45, "words"),
        Pattern(
            rf"(?:\( )?(?:{_MONTH} )?{_YEAR}(?: {_MONTH})?(?: \))?(?: [.,;:])*", 8, "whole date"
        ),
        Pattern(
            rf"(?:\( )?(?:(?:pp?|pages?) (?:\. )?)?{_PAGE}(?: [-–](?: -)? {_PAGE})?(?: \))?"
            r"(?: [.,])*",
            10,
            "whole pages",
        ),
    ]


def features(lexicons: Sequence[Lexicon], segments: bool) -> list[Template | SegmentFeature]:
    """Return the preset for citations, and for a semi-CRF what fields look like as a whole.

    Examples
    --------
    >>> tokens, both = (features([], segments) for segments in (False, True))
    >>> len(tokens) < len(both), both[: len(tokens)] == tokens
    (True, True)
    """
    chosen = preset("citations", gazetteers=lexicons, segments=segments)
    return [*chosen, *patterns()] if segments else chosen
