r"""Brat stand-off: a text file, and a file with its character spans.

::

    a.txt   Ann Lee sings.
    a.ann   T1\tPER 0 7\tAnn Lee
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from caesura.corpora.corpus import Align, Corpus, OnError, Tally
from caesura.corpora.files import Name, Source
from caesura.corpora.spans import Span, labelled, spans_of, text_of
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, message

__all__ = ["read_brat", "write_brat"]

_SPAN = re.compile(r"(\S+) ([0-9]{1,15} [0-9]{1,15}(?:;[0-9]{1,15} [0-9]{1,15})*)")
_OTHERS = "REAMN#*"  # relations, events, attributes, references, notes, equivalences
_NAME = "T1<tab>label start end<tab>text"


# ---- reading ----------------------------------------------------------------------------------


def read_brat(
    path: Name,
    *,
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    align: Align = "strict",
    on_error: OnError = "raise",
    encoding: str = "utf-8",
) -> Corpus:
    r"""Read brat stand-off: each text file is a document, with its spans in an .ann file.

    A text without a file beside it has no segments (None). Spans in several parts, relations,
    events, attributes and remarks are counted in the notes and left out.

    Parameters
    ----------
    path : str or path
        A folder, which is read with all folders in it, in the order of names; or a .txt or .ann
        file.
    tokeniser : Tokeniser, str or dict
        How a text is split into tokens.
    align : {"strict", "expand", "contract"}
        What to do with a span that begins or ends inside a token: raise, include the whole token,
        or exclude it. The notes of the corpus count these spans.
    on_error : {"raise", "skip"}
        Whether a document that cannot be read is an error, or skipped and noted.
    encoding : str
        The encoding of the files.

    Returns
    -------
    Corpus
        The documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.txt").write_text("Ann Lee sings.")
    ...     _ = pathlib.Path(folder, "a.ann").write_text("T1\tPER 0 7\tAnn Lee\n")
    ...     [document] = read_brat(folder)
    >>> document.segments
    (Segment(start=0, end=2, label='PER'),)
    """
    cutter, place = Tokeniser.of(tokeniser), Path(path)
    if not place.is_dir() and place.suffix.lower() not in (".txt", ".ann"):
        expected, remedy = "a folder, or a .txt or .ann file", "pass the folder of the pairs"
        raise InvalidInput(message("path", os.fspath(path), expected, remedy))
    if not place.is_dir():
        os.stat(place.with_suffix(".txt"))  # raises if the text does not exist
    Source(os.devnull, encoding)  # validates the encoding at once

    def documents(tally: Tally) -> Iterator[Document]:
        for text in _texts(place):
            try:
                document = _document(text, cutter, encoding, tally)
            except InvalidInput as error:
                tally.refuse(error)
            else:
                yield document

    return Corpus(path, "brat", documents, on_error=on_error, align=align)


def _texts(place: Path) -> Iterator[Path]:
    """Return the text files, sorted by name."""
    if not place.is_dir():
        yield place.with_suffix(".txt")
        return
    for folder, inner, names in os.walk(place):
        inner.sort()
        for name in sorted(names):
            if name.endswith(".txt"):
                yield Path(folder, name)


def _document(path: Path, tokeniser: Tokeniser, encoding: str, tally: Tally) -> Document:
    """Read a text and its annotations."""
    try:
        text = path.read_bytes().decode(encoding)
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        came = f"bytes that are not {encoding}, {error.reason}"
        refused = InvalidInput(got=came, remedy="pass another encoding")
        raise Source(path).error(number, refused) from None
    document = Document.from_text(text, tokeniser)
    notes = path.with_suffix(".ann")
    if not notes.exists():
        return document
    source = Source(notes, encoding)
    spans: list[Span] = []
    keys: list[str] = []
    lines: dict[str, int] = {}
    for number, line in source.lines():
        if isinstance(line, InvalidInput):
            raise line
        try:
            found = _span(line, text, tally)
        except InvalidInput as error:
            raise source.error(number, error) from None
        if found is not None:
            spans.append(found)
            keys.append(line.partition("\t")[0])
            lines[keys[-1]] = number
    try:
        return labelled(document, spans, tally, keys)
    except InvalidInput as error:
        raise error.changed(file=source.name, line=lines.get(error.place)) from None


def _span(line: str, text: str, tally: Tally) -> Span | None:
    """Return the span on an annotation line; None for other annotations."""
    if not line.strip():
        return None
    if line[0] in _OTHERS:
        tally.relations += 1
        return None
    key, _, rest = line.partition("\t")
    told, _, covered = rest.partition("\t")
    found = _SPAN.fullmatch(told)
    if not key.startswith("T") or found is None:
        raise InvalidInput(message("the line", line, _NAME, "correct the line"))
    if ";" in found[2]:
        tally.discontinuous += 1
        return None
    start, end = map(int, found[2].split())
    if not start < end <= len(text):
        expected = f"a span within the {len(text)} characters of the text"
        raise InvalidInput(message(key, (start, end), expected, "ends are exclusive"))
    meant = re.sub(r"[\r\n]", " ", text[start:end])
    if covered and re.sub(r"[\r\n]", " ", covered) != meant:
        expected = f"{meant!r}, the text from {start} to {end}"
        raise InvalidInput(message(key, covered, expected, "count characters from 0"))
    return Span(start, end, found[1])


# ---- writing ----------------------------------------------------------------------------------


def write_brat(path: Name, documents: Iterable[Document]) -> int:
    """Write brat stand-off for `read_brat`: two files for each document.

    Parameters
    ----------
    path : str or path
        A folder that is empty or does not exist. It is given its name once it is complete.
    documents : iterable of Document
        The documents, of which texts and segments are written. If a document has no text, its
        tokens are joined by spaces.

    Returns
    -------
    int
        The number of documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = pathlib.Path(folder, "names")
    ...     _ = write_brat(place, [Document(("Ann", "Lee"), segments=((0, 2, "PER"),))])
    ...     sorted(file.name for file in place.iterdir())
    ...     print(place.joinpath("000000.ann").read_text().expandtabs(2).strip())
    ['000000.ann', '000000.txt']
    T1  PER 0 7 Ann Lee
    """
    place = Path(os.path.realpath(path))
    if path == "-" or (place.exists() and not (place.is_dir() and not any(place.iterdir()))):
        expected, remedy = "a folder that is empty or not there yet", "pass another name"
        raise InvalidInput(message("path", os.fspath(path), expected, remedy))
    beside = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    i = -1
    try:
        beside.mkdir(parents=True)
        for i, document in enumerate(documents):
            try:
                _write(beside / f"{i:06d}", document)
            except InvalidInput as error:
                raise error.within(f"documents[{i}]", ".") from None
        if place.exists():
            place.rmdir()
        beside.rename(place)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return i + 1


def _write(place: Path, document: Document) -> None:
    """Write the two files of a document."""
    text, spans = text_of(document), spans_of(document)
    place.with_suffix(".txt").write_text(text, "utf-8", newline="\n")
    if spans is None:
        return
    with open(place.with_suffix(".ann"), "w", encoding="utf-8", newline="\n") as file:
        for i, (start, end, label) in enumerate(spans, 1):
            if _SPAN.fullmatch(f"{label} {start} {end}") is None:
                expected, remedy = "a label without spaces", "rename it"
                raise InvalidInput(message("segments", label, expected, remedy))
            covered = re.sub(r"[\r\n]", " ", text[start:end])
            file.write(f"T{i}\t{label} {start} {end}\t{covered}\n")
