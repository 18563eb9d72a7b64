"""Corpora: reading and writing files of documents.

Each format is a module with a reader and a writer, and a row of the table here. A reader returns
a `Corpus`; a name that ends in .gz, .bz2 or .xz is packed, and ``-`` is the standard input or
output.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from caesura.corpora.columns import Columns
from caesura.corpora.conll import read_conll, write_conll
from caesura.corpora.corpus import Align, Corpus, Notes, OnError, Tally
from caesura.corpora.detection import SUFFIXES, detect
from caesura.corpora.files import Name, noting_missing, unpacked_suffix
from caesura.corpora.frames import from_frame
from caesura.corpora.jsonl import read_jsonl, write_jsonl
from caesura.corpora.lines import read_text, write_text
from caesura.corpora.sheets import read_parquet, read_xlsx, write_parquet, write_xlsx
from caesura.corpora.side_by_side import SideBySide, read_conlleval
from caesura.corpora.standoff import read_brat, write_brat
from caesura.corpora.tables import read_csv, write_csv
from caesura.corpora.xml_documents import read_xml, write_xml
from caesura.documents import Document, Tokeniser
from caesura.documents.tokeniser_fitting import AUTO
from caesura.errors import InvalidInput, message

__all__ = [
    "FORMATS",
    "Columns",
    "Corpus",
    "Notes",
    "SideBySide",
    "detect",
    "from_frame",
    "read",
    "read_brat",
    "read_conll",
    "read_conlleval",
    "read_csv",
    "read_jsonl",
    "read_parquet",
    "read_text",
    "read_xlsx",
    "read_xml",
    "write",
    "write_brat",
    "write_conll",
    "write_csv",
    "write_jsonl",
    "write_parquet",
    "write_text",
    "write_xlsx",
    "write_xml",
]


class _Format(NamedTuple):
    """The reader and writer of a format."""

    read: Callable[..., Corpus]
    write: Callable[..., int]
    cuts: bool = True  # whether its reader takes a tokeniser
    aligns: bool = True  # whether its reader aligns spans with tokens


_FORMATS = {
    "conll": _Format(read_conll, write_conll, cuts=False, aligns=False),
    "jsonl": _Format(read_jsonl, write_jsonl),
    "csv": _Format(read_csv, write_csv),
    "parquet": _Format(read_parquet, write_parquet),
    "xlsx": _Format(read_xlsx, write_xlsx),
    "xml": _Format(read_xml, write_xml),
    "brat": _Format(read_brat, write_brat),
    "text": _Format(read_text, write_text, aligns=False),
}

FORMATS: tuple[str, ...] = tuple(_FORMATS)
"""The names of the formats."""
_NAMES = f"{', '.join(map(repr, FORMATS[:-1]))} or {FORMATS[-1]!r}"
OTHER_FORMAT = f"pass format={_NAMES}"  # remedies in errors
NAME_WITH_LABELS = "name it .conll or .jsonl, or pass format='text' for the texts alone"


def read(
    path: Name,
    format: str | None = None,
    *,
    tokeniser: Tokeniser | str | Mapping[str, str] = AUTO,
    align: Align = "strict",
    on_error: OnError = "raise",
    **options: Any,
) -> Corpus:
    """Read documents from a file in any supported format.

    Parameters
    ----------
    path : str or path
        The file, or brat's folder; unpacked if it ends in .gz, .bz2 or .xz; ``-`` is the standard
        input.
    format : {"conll", "jsonl", "csv", "parquet", "xlsx", "xml", "brat", "text"}, optional
        The format; by default what `detect` finds.
    tokeniser : Tokeniser, str or dict
        How a text is split into tokens, in formats that have no tokens.  "auto" is words, but a
        model that is given the corpus splits its texts as the model needs them: `fit` chooses the
        coarsest of words, parts and characters for which no span begins or ends inside a token,
        and `predict` uses the model's own.
    align : {"strict", "expand", "contract"}
        What to do with a span of characters that begins or ends inside a token: raise, take the
        whole token, or leave it out.  The notes of the corpus count these spans.
    on_error : {"raise", "skip"}
        Whether a document that cannot be read is an error, or skipped and noted.
    **options
        Further options of the reader of the format, such as `read_conll`.

    Returns
    -------
    Corpus
        The documents, and notes about them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.jsonl.gz")
    ...     write(file, [Document(("Ann", "Lee"), segments=((0, 2, "PER"),))])
    ...     [document.segments for document in read(file)]
    1
    [(Segment(start=0, end=2, label='PER'),)]
    """
    with noting_missing(path):
        name = _known(format) if format is not None else detect(path)
    form = _FORMATS[name]
    Tally(on_error, align)  # validates both arguments before the file is opened
    automatic = tokeniser == AUTO and align == "strict" and form.cuts and path != "-"
    cutter = Tokeniser.of("words" if tokeniser == AUTO else tokeniser)
    _check_options(form.read, options)
    given: dict[str, Any] = {"tokeniser": cutter} if form.cuts else {}
    given |= {"align": align} if form.aligns else {}
    with noting_missing(path):
        corpus = form.read(path, **given, on_error=on_error, **options)
    corpus.automatic = automatic
    return corpus


def write(
    path: Name, documents: Iterable[Document], format: str | None = None, **options: Any
) -> int:
    """Write documents in the format given by the file name; the inverse of `read`.

    A .tsv file gets columns, unless the format is ``csv``; a .txt file gets text, and a folder
    brat's files. Text has no labels: labelled documents are refused, unless the format is ``text``.
    The options are those of the writer of the format, as `write_conll`.

    Examples
    --------
    >>> write("names.doc", [])
    Traceback (most recent call last):
    caesura.errors.InvalidInput: path: got 'names.doc', expected a name that ends in .conll,
    .conllu, .iob, .bio, .cols, .jsonl, .ndjson, .json, .csv, .parquet, .pq, .xlsx, .xml, .tsv,
    .txt, or a folder; pass format='conll', 'jsonl', 'csv', 'parquet', 'xlsx', 'xml', 'brat' or
    'text'
    """
    name = _known(format) if format is not None else _by_name(path)
    _check_options(_FORMATS[name].write, options)
    if name == "text" and format is None:
        documents = _unlabelled(path, documents)
    return _FORMATS[name].write(path, documents, **options)


def _unlabelled(path: Name, documents: Iterable[Document]) -> Iterator[Document]:
    """Yield documents; raise for one with labels, which its text would lose."""
    for document in documents:
        if getattr(document, "segments", None) or getattr(document, "known", None) is not None:
            expected = "the name of a format with labels, as the sequences have some"
            raise InvalidInput(message("path", os.fspath(path), expected, NAME_WITH_LABELS))
        yield document


def _known(name: str) -> str:
    """Return the name of a format, or raise."""
    if name not in _FORMATS:
        raise InvalidInput(message("format", name, " or ".join(_FORMATS), "pass one of them"))
    return name


def _check_options(function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Raise for an option that a reader or writer does not support."""
    code = function.__code__
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    for name in options:
        if name not in known:
            expected = f"an option of {function.__name__}: {', '.join(known)}"
            raise InvalidInput(message("options", name, expected, "leave it out"))


def _by_name(path: Name) -> str:
    """Return the format for writing to a file."""
    names = {suffix: name for suffix, name in SUFFIXES.items() if name != "brat"}
    names |= {".tsv": "conll", ".txt": "text"}
    suffix = "" if path == "-" else unpacked_suffix(path)
    if suffix in names:
        return names[suffix]
    if path != "-" and os.path.isdir(path):
        return "brat"
    expected = f"a name that ends in {', '.join(names)}, or a folder"
    raise InvalidInput(message("path", os.fspath(path), expected, OTHER_FORMAT))
