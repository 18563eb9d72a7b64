"""Conversion of token segments to character spans; `caesura.documents.spans` is the inverse."""

from __future__ import annotations

import itertools

from caesura.documents import Document
from caesura.documents.spans import OTHER_ALIGNMENT, Span, labelled
from caesura.errors import InvalidInput, message

__all__ = ["OTHER_ALIGNMENT", "Span", "labelled", "spans_of", "text_of"]


def text_of(document: Document) -> str:
    """Return the text of a document, or its tokens joined by spaces."""
    text = " ".join(document.tokens) if document.text is None else document.text
    try:
        text.encode()
    except UnicodeEncodeError:
        expected, remedy = "no half of a surrogate pair", "write JSON lines"
        raise InvalidInput(message("text", text, expected, remedy)) from None
    return text


def spans_of(document: Document) -> list[Span] | None:
    """Return segments as character spans of `text_of`; the inverse of `labelled`."""
    if document.segments is None:
        return None
    offsets = document.offsets
    if document.text is None:
        ends = itertools.accumulate((len(token) + 1 for token in document.tokens), initial=0)
        pairs = zip(ends, document.tokens, strict=False)  # one end more than there are tokens
        offsets = tuple((start, start + len(token)) for start, token in pairs)
    if offsets is None:
        raise InvalidInput(
            place="offsets",
            got="tokens that do not occur in the text",
            expected="tokens of the text",
            remedy="pass offsets, or write JSON lines",
        )
    spans = [Span(offsets[s.start][0], offsets[s.end - 1][1], s.label) for s in document.segments]
    for i, span in enumerate(spans):
        if span.start >= span.end:
            expected, remedy = "a segment with characters in it", "write JSON lines"
            raise InvalidInput(message(f"segments[{i}]", tuple(span), expected, remedy))
    return spans
