"""Corpora: files of documents, read one by one and written whole.

Each format is a module with a reader and a writer, and a row of the table here. A reader returns
a `Corpus`; a name that ends in .gz is packed, and ``-`` is the standard input or output.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from caesura.corpora.conll import read_conll, write_conll
from caesura.corpora.corpus import Corpus
from caesura.corpora.files import Name
from caesura.corpora.jsonl import read_jsonl, write_jsonl
from caesura.documents import Document
from caesura.errors import InvalidInput, message

__all__ = ["Corpus", "read", "read_conll", "read_jsonl", "write", "write_conll", "write_jsonl"]


class _Format(NamedTuple):
    """How a format is read and written, and the names of its files."""

    read: Callable[..., Corpus]
    write: Callable[..., int]
    suffixes: tuple[str, ...]


_FORMATS = {
    "conll": _Format(read_conll, write_conll, (".conll", ".iob", ".bio", ".tsv", ".cols")),
    "jsonl": _Format(read_jsonl, write_jsonl, (".jsonl", ".ndjson", ".json")),
}


def read(path: Name, format: str | None = None, **options: Any) -> Corpus:
    """Read documents in the format that the name of the file tells.

    Parameters
    ----------
    path : str or path
        The file: .conll, .iob, .bio, .tsv or .cols for columns, .jsonl, .ndjson or .json for JSON
        lines; also with .gz after it.
    format : {"conll", "jsonl"}, optional
        The format, for ``-`` and files with other names.
    **options
        As for `read_conll` or `read_jsonl`.

    Returns
    -------
    Corpus
        The documents.

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
    return _format(path, format).read(path, **options)


def write(
    path: Name, documents: Iterable[Document], format: str | None = None, **options: Any
) -> int:
    """Write documents in the format that the name of the file tells; the inverse of `read`.

    Examples
    --------
    >>> write("names.txt", [])
    Traceback (most recent call last):
    caesura.errors.InvalidInput: path: got 'names.txt', expected a name that ends in .conll,
    .iob, .bio, .tsv, .cols, .jsonl, .ndjson, .json, or - with a format; pass format='conll' or
    format='jsonl'
    """
    return _format(path, format).write(path, documents, **options)


def _format(path: Name, name: str | None) -> _Format:
    """Return a format by its name or by that of a file, or raise."""
    remedy = "pass " + " or ".join(f"format={known!r}" for known in _FORMATS)
    if name is not None:
        if name not in _FORMATS:
            raise InvalidInput(message("format", name, " or ".join(_FORMATS), remedy))
        return _FORMATS[name]
    suffix = Path(os.fspath(path).removesuffix(".gz")).suffix.lower()
    for form in _FORMATS.values():
        if suffix in form.suffixes:
            return form
    suffixes = ", ".join(suffix for form in _FORMATS.values() for suffix in form.suffixes)
    expected = f"a name that ends in {suffixes}, or - with a format"
    raise InvalidInput(message("path", os.fspath(path), expected, remedy))
