"""Choice of the coarsest tokeniser whose tokens fit all labelled spans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from caesura.documents.document import Document, trusted_document
from caesura.documents.spans import Alignment, Span, checked_spans, is_cut, labelled
from caesura.documents.tokenisers import Tokeniser
from caesura.errors import InvalidInput

__all__ = ["AUTO", "LEVELS", "Fitting", "level_of", "recut"]

AUTO = "auto"  # stands for the tokeniser of LEVELS that fits the spans
LEVELS = ("words", "parts", "characters")  # each keeps all boundaries of the previous one


class Fitting:
    """The coarsest of `LEVELS` that fits all spans seen so far.

    Examples
    --------
    >>> fitting = Fitting()
    >>> fitting.see([{"text": "5km away", "spans": [[0, 1, "number"]]}])
    >>> print(fitting.tokeniser, fitting.reason, sep=": ")
    parts: '5', labelled number, is only a part of the token '5km'
    """

    def __init__(self) -> None:
        self.level = 0
        self.reason = ""  # names a span that cuts a token, if there is one

    @property
    def tokeniser(self) -> str:
        """The name of the tokeniser."""
        return LEVELS[self.level]

    def see(self, xs: Iterable[Any]) -> None:
        """Inspect dicts with a text and spans; other inputs are ignored."""
        for x in xs:
            if not isinstance(x, Mapping) or not isinstance(x.get("text"), str):
                continue
            if x.get("spans") is None or any(x.get(key) is not None for key in _GIVEN):
                continue
            document, tally = Document.from_text(x["text"]), Alignment()
            tally.fitting = self
            try:
                labelled(document, checked_spans(list(x["spans"]), document), tally)
            except (InvalidInput, TypeError):  # raised again, with the place, when X is read
                continue

    def finer(self, document: Document, span: Span, token: str) -> Document | None:
        """Return a document with finer tokens that fit a span; None if no tokeniser does.

        Its level is noted if it is the finest so far.
        """
        at = level_of(document)
        for level in range(0 if at is None else at + 1, 0 if at is None else len(LEVELS)):
            finer = _cut(document, Tokeniser(LEVELS[level]))
            if is_cut(finer, span):
                continue
            if level > self.level:
                self.level = level
                part = repr((document.text or "")[span.start : span.end])
                said = f"{part}, labelled {span.label}"
                self.reason = f"{said}, is only a part of the token {token!r}"
            return finer
        return None


_GIVEN = ("tokens", "offsets")  # keys of texts that have been tokenised


def recut(document: Document, tokeniser: Tokeniser | str | Mapping[str, str]) -> Document:
    """Retokenise a document and its segments.

    One whose tokens were not made by one of `LEVELS`, or that has more than tokens and segments,
    is returned as it is.

    Examples
    --------
    >>> from caesura.documents import as_document
    >>> whole = as_document({"text": "New York", "spans": [[4, 8, "town"]]})
    >>> recut(whole, "characters").segments
    (Segment(start=3, end=7, label='town'),)
    """
    at, cutter = level_of(document), Tokeniser.of(tokeniser)
    if at is None or LEVELS[at] == cutter.name:
        return document
    cut = _cut(document, cutter)
    offsets = document.offsets or ()
    if document.known is not None:
        return replace(cut, known=document.known.moved(_places(document, cut)))
    if document.segments is None:
        return cut
    spans = [Span(offsets[s.start][0], offsets[s.end - 1][1], s.label) for s in document.segments]
    return labelled(cut, spans, Alignment())


def _places(document: Document, cut: Document) -> Callable[[int], int]:
    """Return a mapping from the tokens of a document to those of a finer tokenisation."""
    starts = [start for start, _ in document.offsets or ()]
    index = {start: t for t, (start, _) in enumerate(cut.offsets or ())}

    def place(t: int) -> int:
        if t == len(starts):
            return len(cut)
        if starts[t] not in index:
            raise InvalidInput(
                place="known",
                got=f"a boundary before {document.tokens[t]!r}, which the tokeniser does not cut",
                remedy="label with the same tokeniser",
            )
        return index[starts[t]]

    return place


def level_of(document: Document) -> int | None:
    """Return the coarsest level that yields the tokens of a document, if it can be retokenised.

    Examples
    --------
    >>> level_of(Document.from_text("5 km")), level_of(Document(("5", "km")))
    (0, None)
    """
    if document.text is None or document.columns or document.attributes is not None:
        return None
    if document.dense is not None:
        return None
    cuts = (Tokeniser(name).spans(document.text) for name in LEVELS)
    return next((level for level, spans in enumerate(cuts) if spans == document.offsets), None)


def _cut(document: Document, tokeniser: Tokeniser) -> Document:
    """Return a document with other tokens, without segments."""
    text = document.text or ""
    offsets = tokeniser.spans(text)
    cut = trusted_document(tuple([text[start:end] for start, end in offsets]), text, offsets)
    object.__setattr__(cut, "carried", document.carried)
    return cut
