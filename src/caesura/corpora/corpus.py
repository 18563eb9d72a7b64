"""A corpus: a file of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from caesura.corpora.files import Source
from caesura.documents import Document

__all__ = ["Corpus"]


class Corpus:
    r"""The documents of a file, read one by one, from its beginning each time.

    So a file may be larger than memory; ``list(corpus)`` keeps all documents. The standard input
    can be read only once.

    Attributes
    ----------
    path : str or path
        The file.
    format : str
        The name of its format, as ``conll``.
    scheme : str or None
        The tag scheme of its tags, given or found; None where it has no tags.

    Examples
    --------
    >>> import tempfile
    >>> from caesura.corpora import read_conll
    >>> with tempfile.NamedTemporaryFile("w", suffix=".conll") as file:
    ...     _ = file.write("Ann B-PER\nLee E-PER\nsings O\n")
    ...     file.flush()
    ...     corpus = read_conll(file.name)
    ...     corpus.scheme, [document.tokens for document in corpus]
    ('BIOES', [('Ann', 'Lee', 'sings')])
    """

    def __init__(
        self,
        source: Source,
        format: str,
        documents: Callable[[Source], Iterator[Document]],
        scheme: str | None = None,
    ) -> None:
        self.path = source.path
        self.format = format
        self.scheme = scheme
        self._source = source
        self._documents = documents

    def __iter__(self) -> Iterator[Document]:
        return self._documents(self._source)

    def __repr__(self) -> str:
        scheme = f", scheme={self.scheme!r}" if self.scheme else ""
        return f"Corpus({self._source.name!r}, format={self.format!r}{scheme})"
