"""XML: an element for each document, and in it one for each segment.

::

    <dataset>
      <sequence>
        <author>Lee, Ann.</author>
        <date>1999.</date>
      </sequence>
    </dataset>

White space with a line end in it is how the file is laid out: it stands for one space, and for
none where a document begins or ends. With ``xml:space="preserve"`` the text is kept as it is.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

from caesura.corpora.corpus import Align, Corpus, OnError, Tally
from caesura.corpora.files import Name, Source, writing
from caesura.corpora.spans import Span, labelled, spans_of, text_of
from caesura.corpora.xml_parsing import SEGMENT, Record, records
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, message

__all__ = ["read_xml", "write_xml"]

_LAID_OUT = re.compile(r"[ \t]*\n[ \t\n]*")
_PLAIN_NAME = re.compile(r"(?!(?i:xml))[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_LOOKED_AT = 200  # records read to find out whether elements are tokens


# ---- reading ----------------------------------------------------------------------------------


def read_xml(
    path: Name,
    *,
    record: str | None = None,
    merge: bool | None = None,
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    align: Align = "strict",
    on_error: OnError = "raise",
    encoding: str | None = None,
) -> Corpus:
    r"""Read XML: an element for each document, and in it one for each segment, named by its label.

    Parameters
    ----------
    path : str or path
        The file; decompressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard input.
    record : str, optional
        The name of the elements that are documents; by default all in the outermost element.
    merge : bool, optional
        Whether neighbours with one label are one segment, because elements are tokens. By default
        so if, in the first 200 documents, each element is one word and some neighbours are equal;
        the scheme of the corpus is then ``plain``. Never where ``xml:space="preserve"`` is set.
    tokeniser : Tokeniser, str or dict
        How a text is split into tokens.
    align : {"strict", "expand", "contract"}
        What to do with an element that begins or ends inside a token: raise, include the whole
        token, or exclude it. The notes of the corpus count these elements.
    on_error : {"raise", "skip"}
        Whether a document that cannot be read is an error, or skipped and noted. After broken XML,
        reading continues at the next document.
    encoding : str, optional
        The encoding of the file, if it declares a wrong one.

    Returns
    -------
    Corpus
        The documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.xml")
    ...     _ = file.write_text("<a><b><author>Lee, Ann.</author>\n  <date>1999</date></b></a>")
    ...     [document] = read_xml(file)
    >>> document.text
    'Lee, Ann. 1999'
    >>> document.segments
    (Segment(start=0, end=4, label='author'), Segment(start=4, end=5, label='date'))
    """
    cutter = Tokeniser.of(tokeniser)
    source = Source(path, encoding or "utf-8", twice=merge is None)
    if merge is None:
        merge = _are_tokens(itertools.islice(records(source, record, encoding), _LOOKED_AT))
    merged = bool(merge)

    def documents(tally: Tally) -> Iterator[Document]:
        for found in records(source, record, encoding):
            try:
                if isinstance(found, InvalidInput):
                    raise found
                document = _document(found, cutter, merged, tally)
            except InvalidInput as error:
                named = error if error is found else source.error(_line(found), error)
                tally.refuse(named)
            else:
                yield document

    return Corpus(path, "xml", documents, "plain" if merged else None, on_error, align)


def _line(found: Record | InvalidInput) -> int:
    return found.line if isinstance(found, Record) else 0


def _are_tokens(found: Iterable[Record | InvalidInput]) -> bool:
    """Return whether elements are words, so that neighbours with one label form a segment."""
    equal = False
    for record in found:
        if isinstance(record, InvalidInput) or record.preserved:
            continue
        text, spans = _laid(record)
        if any(len(text[span.start : span.end].split()) > 1 for span in spans):
            return False
        equal = equal or len(_joined(text, spans)) < len(spans)
    return equal


def _laid(record: Record) -> tuple[str, list[Span]]:
    """Return the text of a record and the spans of its elements."""
    text, spans = "", []
    for label, piece in record.pieces:
        start = len(text)
        if record.preserved:
            text, end = text + piece, start + len(piece)
        else:
            piece = _LAID_OUT.sub(" ", piece)
            text, end = text + piece, start + len(piece.rstrip())
            start += len(piece) - len(piece.lstrip())
        if label is not None and start < end:
            spans.append(Span(start, end, label))
    if record.preserved:
        return text, spans
    before = len(text) - len(text.lstrip())
    return text.strip(), [Span(s.start - before, s.end - before, s.label) for s in spans]


def _joined(text: str, spans: Iterable[Span]) -> list[Span]:
    """Join neighbours with the same label that only white space separates."""
    joined: list[Span] = []
    for span in spans:
        before = joined[-1] if joined else None
        if before and before.label == span.label and not text[before.end : span.start].strip():
            joined[-1] = before._replace(end=span.end)
        else:
            joined.append(span)
    return joined


def _document(record: Record, tokeniser: Tokeniser, merge: bool, tally: Tally) -> Document:
    """Convert a record to a document."""
    if record.error is not None:
        raise record.error
    text, spans = _laid(record)
    if merge and not record.preserved:
        spans = _joined(text, spans)
    document = Document.from_text(text, tokeniser)
    if not record.labelled:
        return document
    return labelled(document, spans, tally, [f"<{span.label}>" for span in spans])


# ---- writing ----------------------------------------------------------------------------------


def write_xml(
    path: Name, documents: Iterable[Document], *, root: str = "documents", record: str = "document"
) -> int:
    """Write XML, which `read_xml` reads.

    Parameters
    ----------
    path : str or path
        The file; compressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard output. An
        existing file is replaced once the new one is complete.
    documents : iterable of Document
        The documents, of which texts and segments are written. If a document has no text, its
        tokens are joined by spaces. A label that cannot be the name of an element is written as
        ``<segment label="...">``.
    root, record : str
        The names of the outermost element, and of those for documents.

    Returns
    -------
    int
        The number of documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.xml")
    ...     _ = write_xml(file, [Document(("Ann", "Lee"), segments=((0, 2, "PER"),))])
    ...     print(file.read_text().strip())
    <?xml version="1.0" encoding="UTF-8"?>
    <documents>
    <document xml:space="preserve"><PER>Ann Lee</PER></document>
    </documents>
    """
    for name, given in (("root", root), ("record", record)):
        if not isinstance(given, str) or not _PLAIN_NAME.fullmatch(given):
            expected = "a name of ASCII letters, digits, _, . and -"
            raise InvalidInput(message(name, given, expected, "pass another"))
    i = -1
    with writing(path) as file:
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>\n')
        for i, document in enumerate(documents):
            try:
                content = _content(document)
            except InvalidInput as error:
                raise error.within(f"documents[{i}]", ".") from None
            told = "" if document.segments is not None else ' labelled="no"'
            file.write(f'<{record} xml:space="preserve"{told}>{content}</{record}>\n')
        file.write(f"</{root}>\n")
    return i + 1


def _content(document: Document) -> str:
    """Return the content of a document's element."""
    text, spans = text_of(document), spans_of(document)
    pieces, reached = [], 0
    for start, end, label in spans or ():
        plain = _PLAIN_NAME.fullmatch(label) and label != SEGMENT
        opening = label if plain else f'{SEGMENT} label="{_attribute(label)}"'
        closing = label if plain else SEGMENT
        inside = _escaped(text[start:end])
        pieces += [_escaped(text[reached:start]), f"<{opening}>{inside}</{closing}>"]
        reached = end
    return "".join([*pieces, _escaped(text[reached:])])


def _escaped(text: str) -> str:
    return html.escape(_held("text", text), quote=False).replace("\r", "&#13;")


def _attribute(label: str) -> str:
    """Escape a label for an attribute, including its white space."""
    escaped = html.escape(_held("segments", label))
    return re.sub("[\t\n\r]", lambda found: f"&#{ord(found[0])};", escaped)


def _held(name: str, text: str) -> str:
    """Return a text, or raise if XML cannot represent it."""
    if wrong := _NOT_XML.search(text):
        expected, remedy = "no control characters, which XML cannot hold", "write JSON lines"
        raise InvalidInput(message(name, wrong[0], expected, remedy))
    return text
