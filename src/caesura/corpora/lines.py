"""Plain text: one document on each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from caesura.corpora.corpus import Corpus, OnError, Tally
from caesura.corpora.files import Name, Source, writing
from caesura.corpora.spans import text_of
from caesura.documents import Document, Tokeniser
from caesura.errors import InvalidInput, message

__all__ = ["read_text", "write_text"]


def read_text(
    path: Name,
    *,
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
    on_error: OnError = "raise",
    encoding: str = "utf-8",
) -> Corpus:
    r"""Read plain text: one document on each line; an empty line has no tokens.

    Parameters
    ----------
    path : str or path
        The file; decompressed if it ends in .gz, .bz2 or .xz; ``-`` is the standard input.
    tokeniser : Tokeniser, str or dict
        How a text is split into tokens.
    on_error : {"raise", "skip"}
        Whether a line that is not in the encoding is an error, or skipped and noted.
    encoding : str
        The encoding of the file.

    Returns
    -------
    Corpus
        The documents, without segments.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.txt")
    ...     _ = file.write_text("Ann Lee sings.\nShe left.\n")
    ...     [document.tokens for document in read_text(file)]
    [('Ann', 'Lee', 'sings', '.'), ('She', 'left', '.')]
    """
    cutter = Tokeniser.of(tokeniser)
    source = Source(path, encoding)

    def documents(tally: Tally) -> Iterator[Document]:
        for _, line in source.lines():
            if isinstance(line, InvalidInput):
                tally.refuse(line)
            else:
                yield Document.from_text(line, cutter)

    return Corpus(path, "text", documents, on_error=on_error)


def write_text(path: Name, documents: Iterable[Document]) -> int:
    r"""Write the texts of documents, one on each line, without segments.

    Returns
    -------
    int
        The number of documents.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "names.txt")
    ...     _ = write_text(file, [Document.from_text("Ann  Lee"), Document(("sings", "."))])
    ...     file.read_text()
    'Ann  Lee\nsings .\n'
    """
    i = -1
    with writing(path) as file:
        for i, document in enumerate(documents):
            try:
                text = text_of(document)
                if "\n" in text or text.endswith("\r"):
                    expected, remedy = "a text on one line", "write JSON lines"
                    raise InvalidInput(message("text", text, expected, remedy))
            except InvalidInput as error:
                raise error.within(f"documents[{i}]", ".") from None
            marked = i == 0 and text.startswith("\ufeff")  # readers drop one byte order mark
            file.write("\ufeff" * marked + text + "\n")
    return i + 1
