"""Conversion of spaCy documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from spacy.tokens import Doc

from caesura.documents import Document
from caesura.errors import InvalidInput, message
from caesura.segments import Segment

__all__ = ["document_of", "from_docs"]


def from_docs(
    docs: Iterable[Doc],
    *,
    spans_key: str | None = None,
    columns: Mapping[str, str] | None = None,
    labelled: bool = True,
) -> list[Document]:
    """Convert spaCy documents to training documents, with entities as segments.

    Parameters
    ----------
    docs : iterable of Doc
        For example of ``DocBin().from_disk(path).get_docs(nlp.vocab)``.
    spans_key : str, optional
        Take the spans ``doc.spans[spans_key]``, which must not overlap, in place of ``doc.ents``.
    columns : dict, optional
        Columns that features may look at, each with the attribute of tokens that it holds:
        ``{"pos": "tag_"}``.
    labelled : bool
        Whether documents have segments; without them they can only be predicted.

    Returns
    -------
    list of Document

    Examples
    --------
    >>> import spacy
    >>> doc = spacy.blank("en")("Ada Lund flew home.")
    >>> doc.ents = [doc.char_span(0, 8, "PERSON")]
    >>> document = from_docs([doc], columns={"lower": "lower_"})[0]
    >>> document.segments, document.columns["lower"][:2]
    ((Segment(start=0, end=2, label='PERSON'),), ('ada', 'lund'))
    """
    out = []
    for i, doc in enumerate(docs):
        if not isinstance(doc, Doc):
            remedy = "pass a list of Doc; of an Example, its reference"
            raise InvalidInput(message(f"docs[{i}]", doc, "a Doc of spaCy", remedy))
        segments = _segments(doc, spans_key, i) if labelled else None
        out.append(document_of(doc, columns or {}, segments))
    return out


def _segments(doc: Doc, spans_key: str | None, i: int) -> tuple[Segment, ...]:
    """Return the entities or the spans of a document as segments."""
    if spans_key is not None and spans_key not in doc.spans:
        known = ", ".join(doc.spans) or "none"
        expected = f"a key of doc.spans, which has {known}"
        remedy = "add the spans, or leave the document out"
        raise InvalidInput(message(f"spans_key of docs[{i}]", spans_key, expected, remedy))
    spans = sorted(doc.ents if spans_key is None else doc.spans[spans_key])
    for before, span in pairwise(spans):
        if span.start < before.end:
            came = f"{before.text} ({before.label_}), {span.text} ({span.label_})"
            remedy = "keep one of them, for example with spacy.util.filter_spans"
            expected = "spans that do not overlap"
            raise InvalidInput(message(f"docs[{i}]", came, expected, remedy))
    return tuple(Segment(span.start, span.end, span.label_) for span in spans)


def document_of(
    doc: Doc, columns: Mapping[str, str], segments: tuple[Segment, ...] | None
) -> Document:
    """Return a document with the tokens of a spaCy document and some attributes as columns.

    Examples
    --------
    >>> import spacy
    >>> document_of(spacy.blank("en")("So it goes."), {}, None).tokens
    ('So', 'it', 'goes', '.')
    """
    tokens = tuple(token.text for token in doc)
    offsets = tuple((token.idx, token.idx + len(token)) for token in doc)
    named = {}
    for name, attribute in columns.items():
        try:
            named[name] = [str(getattr(token, attribute)) for token in doc]
        except AttributeError:
            expected = "an attribute of spaCy's tokens, such as 'tag_', 'pos_' or 'lower_'"
            remedy = "correct the name"
            raise InvalidInput(message(f"columns[{name!r}]", attribute, expected, remedy)) from None
    return Document(tokens, doc.text, offsets, columns=named, segments=segments)
