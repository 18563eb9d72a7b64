"""JSON lines: one document on each line, with segments by tokens or by characters.

::

    {"tokens": ["Ann", "Lee", "sings"], "segments": [[0, 2, "PER"]], "pos": ["NNP", "NNP", "VBZ"]}
    {"text": "Ann Lee sings", "spans": [[0, 7, "PER"]]}
    {"tokens": ["Ann", "Lee", "sings"], "known": {"segments": [[0, 2, "PER"]]}}
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from caesura.corpora.cells import document_of
from caesura.corpora.columns import NAME_TEXT, SAMPLE, Columns, choose, renamed, text_cell
from caesura.corpora.corpus import Align, Corpus, OnError, Tally
from caesura.corpora.files import Name, Source, writing
from caesura.corpora.spans import labelled, spans_of
from caesura.documents import FIELDS, Document, Tokeniser, as_document
from caesura.documents.conversion import carried_keys, token_columns
from caesura.documents.document import GIVE_ONE_EACH, GIVE_ROWS, with_columns
from caesura.documents.spans import checked_spans
from caesura.errors import InvalidInput, message

__all__ = ["read_jsonl", "write_jsonl"]

RESERVED = {*FIELDS, "spans"}  # keys that are not columns
RENAME = "rename the key if it means something else"
OWN = {"text", "tokens", "attributes", "dense"}  # keys that hold a sequence


def read_jsonl(
    path: Name,
    *,
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    text: str | None = None,
    labels: Iterable[str] | None = None,
    align: Align = "strict",
    on_error: OnError = "raise",
    encoding: str = "utf-8",
) -> Corpus:
    r"""Read JSON lines: one object with tokens or text on each line.

    The keys are ``tokens`` and ``segments``, which are [start, end, label] by tokens; or ``text``
    and ``spans``, which are [start, end, label] by characters (code points); ends are exclusive.
    ``known`` in place of segments holds the arguments of `Partial`: labels of a part of the tokens.
    There may be ``offsets`` (the span of each token in the text), ``attributes`` and ``dense`` as
    in `Document`. Other keys with a list of one string or number for each token are columns. The
    rest, and lists beside a text, are carried along unchanged: `Document.carried`.

    Parameters
    ----------
    path : str or path
        The file; decompressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard input.
    tokeniser : Tokeniser, str or dict
        How a text is split into tokens where none are given.
    text : str, optional
        The key of the text. By default ``text``, or where objects have neither that nor tokens,
        the key that clearly is it, see `read_csv`.
    labels : iterable of str, optional
        Keys whose values are segments, strings or lists of them, which are located in the text.
        By default none, or where the key of the text is guessed, those whose values stand in it.
    align : {"strict", "expand", "contract"}
        What to do with a span that begins or ends inside a token: raise, include the whole token,
        or exclude it. The notes of the corpus count these spans.
    on_error : {"raise", "skip"}
        Whether a document that cannot be read is an error, or skipped and noted.
    encoding : str
        The encoding of the file.

    Returns
    -------
    Corpus
        The documents.

    Raises
    ------
    InvalidInput
        If the file is malformed; the message contains its name and the number of the line.

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
    given = [labels] if isinstance(labels, str) else None if labels is None else list(labels)

    def documents(tally: Tally) -> Iterator[Document]:
        numbered = source.lines()
        first = list(itertools.islice(numbered, SAMPLE if text is None else 0))
        keys = _Keys(text, given or [])
        if columns := _guessed(first, given, cutter if align == "strict" else None):
            keys = _Keys(columns.text, list(columns.labels))
            corpus.found(columns)
        for number, line in itertools.chain(first, numbered):
            if isinstance(line, InvalidInput):
                tally.refuse(line)
            elif line.strip():
                try:
                    tally.place = f"line {number}, "
                    document = _document(keys.read(_loaded(line)), cutter, tally)
                    if keys.labels:
                        document = keys.labelled(document, cutter, tally)
                except InvalidInput as error:
                    tally.refuse(source.error(number, error))
                else:
                    yield document

    corpus = Corpus(path, "jsonl", documents, on_error=on_error, align=align)
    return corpus


def _guessed(
    lines: Iterable[tuple[int, str | InvalidInput]],
    labels: list[str] | None,
    tokeniser: Tokeniser | None,
) -> Columns | None:
    """Guess the roles of the keys from the first objects, where they are unambiguous."""
    records = []
    for _, line in lines:
        with contextlib.suppress(InvalidInput):
            if isinstance(line, str) and line.strip():
                records.append(_loaded(line))
    if not records or not all(isinstance(one, dict) and not one.keys() & OWN for one in records):
        return None
    names = list(dict.fromkeys(key for record in records for key in record))
    rows = [[record.get(name) for name in names] for record in records]
    try:
        return choose(names, rows, None, labels, tokeniser)._replace(types={}, more=True)
    except InvalidInput:
        return None  # the first object will raise an error


class _Keys(NamedTuple):
    """The keys of the text and of the segments, where others are chosen."""

    text: str | None
    labels: list[str]

    def read(self, record: Any) -> Any:
        """Return an object with its text under the expected key."""
        if not isinstance(record, dict):
            return record
        if self.text is None or self.text == "text":
            if not record.keys() & OWN and record:
                listed = ", ".join(map(repr, list(record)[:12]))
                expected = "the key of the text: none is named text or tokens"
                raise InvalidInput(
                    place="text", got=f"the keys {listed}", expected=expected, remedy=NAME_TEXT
                )
            return record
        if self.text not in record:
            listed = ", ".join(map(repr, list(record)[:12]))
            raise InvalidInput(message("text", self.text, f"one of {listed}", "pass one of them"))
        kept = {key: one for key, one in record.items() if key not in {*RESERVED, self.text}}
        other = {f"{key} (input)": value for key, value in record.items() if key in RESERVED}
        other.pop(f"{self.text} (input)", None)
        text = text_cell(record[self.text], self.text)
        return {"text": text, **kept, **(other if "spans" not in record else {})} | (
            {"spans": record["spans"]} if record.get("spans") is not None else {}
        )

    def labelled(self, document: Document, tokeniser: Tokeniser, tally: Tally) -> Document:
        """Return a document with the segments given by the values of keys."""
        carried = dict(document.carried)
        values = {label: carried.pop(label, None) for label in self.labels}
        columns = Columns(("text", *values), "text", tuple(values))
        place = {name: i for i, name in enumerate(columns.names)}
        row = [document.text or "", *values.values()]
        found = document_of(columns, place, row, tokeniser, tally)
        return replace(found, carried=carried)


def _loaded(line: str) -> Any:
    """Parse a line, or raise."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        problem = f"invalid JSON at column {error.colno}: {error.msg}"
    except (RecursionError, ValueError) as error:  # too deeply nested, or too many digits
        problem = f"got JSON that cannot be read: {error}"
    raise InvalidInput(problem, remedy="write an object with tokens or text") from None


def _document(record: Any, tokeniser: Tokeniser, tally: Tally) -> Document:
    """Convert a parsed line to a document."""
    if not isinstance(record, dict):
        expected, remedy = "an object with tokens or text", "write {...}"
        raise InvalidInput(message("the line", record, expected, remedy))
    if record.get("segments") is not None and record.get("spans") is not None:
        raise InvalidInput(
            place="spans", got="segments as well", expected="one of them", remedy="leave one out"
        )
    if not isinstance(record.get("segments") or [], list):
        expected, remedy = "a list of [start, end, label]", "ends are exclusive"
        raise InvalidInput(message("segments", record["segments"], expected, remedy))
    given = {key: record[key] for key in FIELDS if record.get(key) is not None}
    try:
        bare = as_document(given, tokeniser, "record")
    except InvalidInput as error:
        argument = (error.argument or "").removeprefix("record").removeprefix(".")
        part = error.part if argument else error.part.removeprefix(".")
        named = error.changed(argument=argument, part=part, remedy=error.remedy or RENAME)
        raise named.reworded(
            {one: f"{one}, or {RENAME}" for one in (GIVE_ONE_EACH, GIVE_ROWS)}
        ) from None
    spans = record.get("spans")
    checked = None if spans is None else checked_spans(spans, bare)
    given = {key: value for key, value in record.items() if key not in RESERVED}
    inner = given.get("columns")
    inner = inner if isinstance(inner, dict) else {}
    columns = token_columns({**given, **inner}, len(bare))
    if inner and inner.keys() <= columns.keys():
        del given["columns"]
    if columns:
        bare = with_columns(bare, columns)
    if carried := carried_keys(given, columns, record.get("text") is not None):
        object.__setattr__(bare, "carried", carried)
    return bare if checked is None else labelled(bare, checked, tally)


def write_jsonl(
    path: Name, documents: Iterable[Document], *, form: Literal["tokens", "text"] = "tokens"
) -> int:
    """Write JSON lines that `read_jsonl` reads.

    Parameters
    ----------
    path : str or path
        The file; compressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard output. An
        existing file is replaced once the new one is complete.
    documents : iterable of Document
        The documents, which are written completely.
    form : {"tokens", "text"}
        "tokens" writes tokens and segments, and text and offsets where they are known; "text"
        writes only texts with spans of characters.

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
                raise error.within(f"documents[{i}]", ".") from None
    return i + 1


def _record(document: Document) -> dict[str, Any]:
    """Return all fields of a document."""
    record: dict[str, Any] = {"text": document.text, "tokens": document.tokens}
    record |= {"offsets": document.offsets, "segments": document.segments}
    record["known"] = None if document.known is None else document.known.plain()
    for name, values in document.columns.items():
        if name in document.carried:
            continue  # written as it was read
        if name in RESERVED:
            remedy = "rename the column"
            raise InvalidInput(message("columns", name, "a name that is not reserved", remedy))
        record[name] = values
    record["attributes"] = document.attributes
    record["dense"] = None if document.dense is None else document.dense.tolist()
    record["dense_names"] = document.dense_names
    return _with_carried(record, document)


def _with_carried(record: dict[str, Any], document: Document) -> dict[str, Any]:
    """Return the present fields of a record with those carried along by its document."""
    found = {key: value for key, value in record.items() if value is not None}
    return {**found, **renamed(document.carried, {*RESERVED, *found})}


def _text_record(document: Document) -> dict[str, Any]:
    """Return the text with segments by characters; partial labels stay by tokens."""
    if document.known is not None:
        return _record(document)
    if document.text is None or document.offsets is None:
        came = "text" if document.text is None else "offsets"
        expected, remedy = "a text with offsets", "write them with form='tokens'"
        raise InvalidInput(message(came, None, expected, remedy))
    return _with_carried({"text": document.text, "spans": spans_of(document)}, document)


def _json(record: dict[str, Any]) -> str:
    """Format an object on one line; characters are escaped only where UTF-8 needs it."""
    try:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False, default=_plain)
        line.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(record, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            place="attributes",
            got=f"what JSON cannot hold: {error}",
            remedy="convert it to numbers, strings, lists and dicts",
        ) from None
    return line


def _plain(value: object) -> object:
    """Convert sets and numpy numbers to JSON types."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} in an attribute")
