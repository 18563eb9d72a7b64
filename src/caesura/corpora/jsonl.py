"""JSON lines: a document on each line, its segments by tokens or by characters.

::

    {"tokens": ["Ann", "Lee", "sings"], "segments": [[0, 2, "PER"]], "pos": ["NNP", "NNP", "VBZ"]}
    {"text": "Ann Lee sings", "spans": [[0, 7, "PER"]]}
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from caesura.corpora.corpus import Align, Corpus, OnError, Tally
from caesura.corpora.files import Name, Source, writing
from caesura.corpora.spans import Span, labelled, spans_of
from caesura.documents import FIELDS, Document, Tokeniser, as_document
from caesura.documents.document import with_columns
from caesura.errors import InvalidInput, message

__all__ = ["read_jsonl", "write_jsonl"]

RESERVED = {*FIELDS, "spans"}  # keys that are no columns


def read_jsonl(
    path: Name,
    *,
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    align: Align = "strict",
    on_error: OnError = "raise",
    encoding: str = "utf-8",
) -> Corpus:
    r"""Read JSON lines: an object with tokens or with text on each line.

    The keys are ``tokens`` and ``segments``, which are [start, end, label] by tokens; or ``text``
    and ``spans``, which are [start, end, label] by characters (code points); ends are exclusive.
    There may be ``offsets`` (the span of each token in the text), ``attributes`` and ``dense`` as
    in `Document`. Other keys with a list of one string or number for each token are columns, and
    the rest are not read.

    Parameters
    ----------
    path : str or path
        The file; unpacked if it ends in .gz, .bz2 or .xz; ``-`` is the standard input.
    tokeniser : Tokeniser, str or dict
        How a text becomes tokens where there are none.
    align : {"strict", "expand", "contract"}
        What to do with a span that begins or ends inside a token: raise, take the whole token, or
        leave it out. They are counted in the notes of the corpus.
    on_error : {"raise", "skip"}
        Whether a document that cannot be read is an error, or left out and noted.
    encoding : str
        The encoding of the file.

    Returns
    -------
    Corpus
        The documents.

    Raises
    ------
    InvalidInput
        With the name of the file and the number of the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.jsonl")
    ...     _ = file.write_text('{"text": "Ann Lee sings", "spans": [[0, 7, "PER"]]}\n')
    ...     [document] = read_jsonl(file)
    >>> document.tokens, document.segments
    (('Ann', 'Lee', 'sings'), (Segment(start=0, end=2, label='PER'),))
    """
    cutter = Tokeniser.of(tokeniser)
    source = Source(path, encoding)

    def documents(tally: Tally) -> Iterator[Document]:
        for number, line in source.lines():
            if isinstance(line, InvalidInput):
                tally.refuse(line)
            elif line.strip():
                try:
                    document = _document(_loaded(line), cutter, tally)
                except InvalidInput as error:
                    tally.refuse(source.error(number, error))
                else:
                    yield document

    return Corpus(path, "jsonl", documents, on_error=on_error, align=align)


def _loaded(line: str) -> Any:
    """Return what is on a line, or raise."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        problem = f"got no JSON at column {error.colno}: {error.msg}"
    except (RecursionError, ValueError) as error:  # nested too deep, a number with too many digits
        problem = f"got JSON that cannot be read: {error}"
    raise InvalidInput(f"{problem}; write an object with tokens or text") from None


def _document(record: Any, tokeniser: Tokeniser, tally: Tally) -> Document:
    """Make a document of what was on a line."""
    if not isinstance(record, dict):
        expected, remedy = "an object with tokens or text", "write {...}"
        raise InvalidInput(message("the line", record, expected, remedy))
    if record.get("segments") is not None and record.get("spans") is not None:
        raise InvalidInput("spans: got segments as well, expected one of them; leave one out")
    if not isinstance(record.get("segments") or [], list):
        expected, remedy = "a list of [start, end, label]", "ends are exclusive"
        raise InvalidInput(message("segments", record["segments"], expected, remedy))
    given = {key: record[key] for key in FIELDS if record.get(key) is not None}
    try:
        bare = as_document(given, tokeniser, "record")
    except InvalidInput as error:
        raise InvalidInput(str(error).removeprefix("record.").removeprefix("record: ")) from None
    spans = record.get("spans")
    checked = None if spans is None else _checked(spans, bare)
    if columns := _columns(record, len(bare)):
        bare = with_columns(bare, columns)
    return bare if checked is None else labelled(bare, checked, tally)


def _columns(record: Mapping[str, Any], count: int) -> dict[str, list[str]]:
    """Return the lists that have a string or a number for each token, also those in columns."""
    inner = record.get("columns")
    given = {**record, **(inner if isinstance(inner, dict) else {})}
    return {
        key: [str(value) for value in values]
        for key, values in given.items()
        if key not in RESERVED
        and isinstance(values, list)
        and len(values) == count
        and all(isinstance(value, str | int | float) for value in values)
    }


def _checked(spans: Any, document: Document) -> list[Span]:
    """Return spans of characters, or raise at what is none."""
    if document.offsets is None:
        came = "no text" if document.text is None else "tokens that do not stand in the text"
        raise InvalidInput(f"spans: got {came}, expected text; pass offsets, or segments by tokens")
    checked = []
    for i, span in enumerate(spans if isinstance(spans, list) else [spans]):
        try:
            start, end, label = operator.index(span[0]), operator.index(span[1]), span[2]
            right = len(span) == 3 and isinstance(label, str)
        except (TypeError, IndexError, KeyError):
            right = False
        if not right:
            expected = f"[start, end, label] within the {len(document.text or '')} characters"
            raise InvalidInput(message(f"spans[{i}]", span, expected, "ends are exclusive"))
        checked.append(Span(start, end, label))
    return checked


def write_jsonl(
    path: Name, documents: Iterable[Document], *, form: Literal["tokens", "text"] = "tokens"
) -> int:
    """Write JSON lines, which `read_jsonl` reads.

    Parameters
    ----------
    path : str or path
        The file; packed if it ends in .gz, .bz2 or .xz; ``-`` is the standard output. It is
        replaced only once all is written.
    documents : iterable of Document
        All that they hold is written.
    form : {"tokens", "text"}
        Tokens with segments, and text with offsets where they are known; or nothing but text with
        spans of characters.

    Returns
    -------
    int
        The number of documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.jsonl")
    ...     _ = write_jsonl(file, [Document(("Ann", "Lee"), segments=((0, 2, "PER"),))])
    ...     print(file.read_text().strip())
    {"tokens": ["Ann", "Lee"], "segments": [[0, 2, "PER"]]}
    """
    if form not in ("tokens", "text"):
        raise InvalidInput(message("form", form, "'tokens' or 'text'", "pass one of them"))
    i = -1
    with writing(path) as file:
        for i, document in enumerate(documents):
            try:
                record = _record(document) if form == "tokens" else _text_record(document)
                file.write(_json(record) + "\n")
            except InvalidInput as error:
                raise InvalidInput(f"documents[{i}].{error}") from None
    return i + 1


def _record(document: Document) -> dict[str, Any]:
    """Return all that a document holds."""
    record: dict[str, Any] = {"text": document.text, "tokens": document.tokens}
    record |= {"offsets": document.offsets, "segments": document.segments}
    for name, values in document.columns.items():
        if name in RESERVED:
            remedy = "rename the column"
            raise InvalidInput(message("columns", name, "a name that means nothing else", remedy))
        record[name] = values
    record["attributes"] = document.attributes
    record["dense"] = None if document.dense is None else document.dense.tolist()
    return {key: value for key, value in record.items() if value is not None}


def _text_record(document: Document) -> dict[str, Any]:
    """Return the text and the segments by its characters."""
    if document.text is None or document.offsets is None:
        came = "text" if document.text is None else "offsets"
        raise InvalidInput(message(came, None, "one", "write them with form='tokens'"))
    record = {"text": document.text, "spans": spans_of(document)}
    return {key: value for key, value in record.items() if value is not None}


def _json(record: dict[str, Any]) -> str:
    """Write an object on one line, with letters as they are where UTF-8 can hold them."""
    try:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False, default=_plain)
        line.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(record, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"attributes: got what JSON cannot hold: {error}") from None
    return line


def _plain(value: object) -> object:
    """Return what JSON can hold in place of sets and numbers of numpy."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} in an attribute")
