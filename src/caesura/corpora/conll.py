"""CoNLL columns: one line for each token, blank lines between sequences.

::

    # text = Ann Lee sings.        a comment, which may tell the text
    Ann    NNP  B-PER
    Lee    NNP  I-PER              token, columns, tag
    sings  VBZ  O
    .      .    O
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from caesura.corpora.corpus import Corpus, OnError, Tally
from caesura.corpora.files import Name, Source, writing
from caesura.corpora.rows import DOCUMENT_START, TAG, TOKEN, Form, Rows, sequences
from caesura.corpora.schemes import TagCounts, check_foreign, find_scheme
from caesura.documents import Document, align
from caesura.errors import InvalidInput, message
from caesura.segments import from_tags, to_tags
from caesura.segments.tags import Repair

__all__ = ["read_conll", "write_conll"]

_NOT_RAW = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")


# ---- reading ----------------------------------------------------------------------------------


def read_conll(
    path: Name,
    columns: Sequence[str | None] | None = None,
    scheme: str = "auto",
    *,
    outside: str = "O",
    untyped: str = "",
    repair: Repair = "error",
    separator: str | None = None,
    comment: str | None = "#",
    on_error: OnError = "raise",
    encoding: str = "utf-8",
) -> Corpus:
    r"""Read CoNLL columns: one line for each token, blank lines between sequences.

    Parameters
    ----------
    path : str or path
        The file; decompressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard input.
    columns : sequence of str, optional
        The names of the columns: ``token``, ``tag`` for the tags if there are any, others as
        features will call them, None for those to leave out. By default the names that the file
        itself tells (``# global.columns = ...``), or token, column1, column2 and so on, and tag
        for the last one.
    scheme : str
        The tag scheme, as in `from_tags`. Where it is ``auto``, the file is read twice: once to
        find the scheme from all its tags.
    outside, untyped, repair
        Outside tag, label of untyped tags and treatment of ill-formed tags, as in `from_tags`.
    separator : str, optional
        The column separator; by default spaces and tabs.
    comment : str, optional
        The prefix of comment lines; None if there are no comments. A ``#`` may also be a token: its
        line has as many fields as the others and, where a sequence begins, as many tabs, and a tag
        with a letter if the first tag of the file has one.
    on_error : {"raise", "skip"}
        Whether a sequence that cannot be read is an error, or skipped and noted. Where tags are of
        several schemes, skipping takes the scheme of most of them.
    encoding : str
        The encoding of the file.

    Returns
    -------
    Corpus
        The documents, and the scheme.

    Raises
    ------
    InvalidInput
        If the file is malformed; the message contains its name and the number of the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.conll")
    ...     _ = file.write_text("Ann NNP B-PER\nLee NNP I-PER\n\nOslo NNP B-LOC\n")
    ...     corpus = read_conll(file, columns=["token", "pos", "tag"])
    ...     first, second = corpus
    >>> corpus.scheme
    'BIO'
    >>> first.tokens, first.columns, first.segments
    (('Ann', 'Lee'), {'pos': ('NNP', 'NNP')}, (Segment(start=0, end=2, label='PER'),))
    """
    Tally(on_error, "strict")  # validates the argument at once
    check_columns(columns)
    if separator == "":
        expected = "a column separator"
        raise InvalidInput(message("separator", "", expected, "pass None for spaces and tabs"))
    form = Form(columns, separator, comment)
    tagged = columns is None or TAG in columns
    source = Source(path, encoding, twice=tagged and scheme == "auto")
    found, foreign = (scheme if tagged else None), frozenset[str]()
    if tagged and scheme == "auto":
        found, foreign = _detect(source, form, outside, on_error == "skip")
    from_tags([], found or "BIO", repair=repair)  # validates the arguments at once

    def documents(tally: Tally) -> Iterator[Document]:
        for rows, layout in sequences(source, form):
            try:
                _check(rows, layout, source, foreign)
                document = _document(rows, layout, source, found, (outside, repair, untyped))
            except InvalidInput as error:
                tally.refuse(error)
            else:
                yield document

    return Corpus(path, "conll", documents, found, on_error)


def check_columns(columns: Sequence[str | None] | None, needed: tuple[str, ...] = (TOKEN,)) -> None:
    """Raise if column names are invalid or required columns are missing."""
    if columns is None:
        return
    names = [] if isinstance(columns, str) else [name for name in columns if name is not None]
    if not {*needed} <= {*names} or len(set(names)) < len(names):
        expected = f"different names, {' and '.join(map(repr, needed))} among them"
        raise InvalidInput(message("columns", columns, expected, "name the columns in order"))


def _detect(
    source: Source, form: Form, outside: str, skip: bool
) -> tuple[str | None, frozenset[str]]:
    """Detect the tag scheme of a file (None without tags) and tags of other schemes."""
    counts, tagged = TagCounts(), False
    for rows, layout in sequences(source, form):
        if rows.problem is not None and not skip:
            raise rows.problem
        if TAG in layout and rows.problem is None:
            tagged, place = True, layout[TAG]
            counts.add([fields[place] for fields in rows.fields], rows.lines)
    if not tagged:
        return None, frozenset()
    return find_scheme(counts, outside, source, skip)


def _check(rows: Rows, layout: dict[str, int], source: Source, foreign: frozenset[str]) -> None:
    """Raise for an unreadable sequence or a tag of another scheme."""
    if rows.problem is not None:
        raise rows.problem
    if foreign:
        check_foreign([fields[layout[TAG]] for fields in rows.fields], rows.lines, foreign, source)


def _document(
    rows: Rows,
    layout: dict[str, int],
    source: Source,
    scheme: str | None,
    reading: tuple[str, Repair, str],
) -> Document:
    """Convert the rows of a sequence to a document."""
    by_column = list(zip(*rows.fields, strict=True))
    columns = {name: by_column[i] for name, i in layout.items() if name not in (TOKEN, TAG)}
    tokens = by_column[layout[TOKEN]]
    segments = None
    if TAG in layout and scheme is not None:
        outside, repair, untyped = reading
        try:
            tags = by_column[layout[TAG]]
            segments = tuple(from_tags(tags, scheme, outside, repair, untyped=untyped))
        except InvalidInput as error:
            raise source.error(rows.lines[error.index or 0], error.changed(place="tag")) from None
    text, offsets = _text(rows, tokens, source)
    try:
        return Document(tokens, text, offsets, columns, segments=segments)
    except InvalidInput as error:  # its text or offsets came from a comment
        raise source.error(rows.lines[0], error) from None


def _text(rows: Rows, tokens: Sequence[str], source: Source) -> tuple[str | None, Any]:
    """Return the text and the offsets given in comments."""
    text = offsets = None
    for key, (value, number) in rows.metadata.items():
        try:
            if key == "text":
                text = value
            elif key == "text_json":
                text = json.loads(value)
            elif key == "offsets":
                offsets = tuple(tuple(map(int, span.split(":"))) for span in value.split())
        except ValueError:
            expected = "JSON" if key == "text_json" else "pairs of numbers, as 0:4 5:9"
            refused = InvalidInput(message(key, value, expected, "correct the comment"))
            raise source.error(number, refused) from None
    if isinstance(text, str) and offsets is None:
        offsets = align(text, tokens)
    return text, offsets


# ---- writing ----------------------------------------------------------------------------------


def write_conll(
    path: Name,
    documents: Iterable[Document],
    scheme: str = "BIO",
    *,
    columns: Sequence[str] | None = None,
    outside: str = "O",
    untyped: str = "",
    separator: str = " ",
    comments: bool = True,
) -> int:
    """Write CoNLL columns for `read_conll`: token, columns, and tags where there are segments.

    Parameters
    ----------
    path : str or path
        The file; compressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard output. An
        existing file is replaced once the new one is complete.
    documents : iterable of Document
        The documents, of which tokens, columns, segments, text and offsets are written.
    scheme, outside, untyped
        The tag scheme, the outside tag and the label of untyped tags, as in `to_tags`.
    columns : sequence of str, optional
        The columns to write; by default those of the first document. All documents must have
        them, and segments if the first has.
    separator : str
        The column separator. With a tab, tokens may contain spaces.
    comments : bool
        Whether to write column names, text and offsets as comments. Other
        programs may not understand them.

    Returns
    -------
    int
        The number of documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.conll")
    ...     _ = write_conll(file, [Document(("Ann", "Lee"), segments=((0, 2, "PER"),))])
    ...     print(file.read_text().strip())
    # global.columns = token tag
    Ann B-PER
    Lee I-PER
    """
    i = -1
    with writing(path) as file:
        names: list[str] = []
        for i, document in enumerate(documents):
            try:
                if i == 0:
                    names = _names(document, columns, comments, file)
                tags = None
                if document.segments is not None and TAG in names:
                    T = len(document)
                    tags = to_tags(document.segments, scheme, T, outside, untyped=untyped)
                rows = _written(document, names, tags, separator)
            except InvalidInput as error:
                raise error.within(f"documents[{i}]", ".") from None
            file.writelines(f"{line}\n" for line in _metadata_lines(document) if comments)
            file.writelines(f"{row}\n" for row in rows)
            file.write("\n")
    return i + 1


def _names(
    document: Document, columns: Sequence[str] | None, comments: bool, file: IO[str]
) -> list[str]:
    """Return the columns of a file from its first document, and write the header."""
    names = [TOKEN, *(document.columns if columns is None else columns)]
    names += [TAG] if document.segments is not None else []
    for name in names:
        if not name or len(name.split()) != 1 or names.count(name) > 1 or not name.isprintable():
            expected = "a name without spaces, other than token and tag"
            raise InvalidInput(message("columns", name, expected, "rename the column"))
    if comments:
        file.write(f"# global.columns = {' '.join(names)}\n")
    return names


def _metadata_lines(document: Document) -> Iterator[str]:
    """Write the text and the offsets as comments."""
    text, offsets = document.text, document.offsets
    if text is not None:
        raw = text == text.strip() != "" and not _NOT_RAW.search(text)
        yield f"# text = {text}" if raw else f"# text_json = {json.dumps(text)}"
    if offsets is not None and (text is None or offsets != align(text, document.tokens)):
        yield f"# offsets = {' '.join(f'{start}:{end}' for start, end in offsets)}"


def _written(
    document: Document, names: list[str], tags: list[str] | None, separator: str
) -> list[str]:
    """Return the lines of a document, or raise for values that columns cannot hold."""
    if not document.tokens:
        raise InvalidInput(
            place="tokens",
            got="none",
            expected="at least one",
            remedy="leave the document out, or write JSON lines",
        )
    values: list[Sequence[str]] = []
    for name in names:
        column = document.tokens if name == TOKEN else document.columns.get(name)
        if (column := tags if name == TAG else column) is None:
            if name == TAG:
                raise InvalidInput(
                    place="segments",
                    got="None",
                    expected="segments, as in the first document",
                    remedy="label all documents, or none",
                )
            raise InvalidInput(
                place="columns",
                got=f"no {name!r}",
                expected="this column in every document",
                remedy="add it, or leave the column out",
            )
        values.append(column)
    if tags is None and document.segments is not None:
        raise InvalidInput(
            place="segments",
            got="a list",
            expected="None as in the first document",
            remedy="label all documents, or none",
        )
    spaces = " \t" if separator == " " else separator
    wrong = re.compile(f"[\r\n\ud800-\udfff{re.escape(spaces)}]")
    for name, column in zip(names, values, strict=True):
        for t, value in enumerate(column):
            blank = not value.strip(" \t") and (name == TOKEN or separator == " ")
            if blank or wrong.search(value) or (name == TOKEN and value == DOCUMENT_START):
                what = {TOKEN: f"tokens[{t}]", TAG: f"tags[{t}]"}.get(name)
                expected = "a value that fits into a column: not empty, no separator or line end"
                remedy = "pass separator='\\t' for spaces, or write JSON lines"
                what = what or f"columns[{name!r}][{t}]"
                raise InvalidInput(message(what, value, expected, remedy))
    return [separator.join(row) for row in zip(*values, strict=True)]
