"""A corpus: a file of documents, and the notes taken while reading it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple, get_args

from caesura.corpora.columns import Columns
from caesura.corpora.files import Damaged, Name, name_of
from caesura.documents import Document
from caesura.documents.spans import Alignment
from caesura.documents.tokeniser_fitting import Fitting, recut
from caesura.errors import InvalidInput, TooLarge, counted, message

__all__ = ["KEPT", "Align", "Corpus", "Notes", "OnError", "Tally"]

Align = Literal["strict", "expand", "contract"]
OnError = Literal["raise", "skip"]
SHOWN = 5  # cells listed in a warning
KEPT: ContextVar[int] = ContextVar("KEPT", default=20)  # stored messages of each kind


class Notes(NamedTuple):
    """Notes taken while reading a corpus.

    Examples
    --------
    >>> print(Notes(documents=2000, n_skipped=1, cut_spans=3, align="expand"))
    2000 documents; 1 skipped because of errors; 3 spans cut a token (expand)
    """

    documents: int = 0  # number of documents read
    skipped: tuple[str, ...] = ()  # errors of skipped documents: the first 20
    n_skipped: int = 0  # number of skipped documents
    cut_spans: int = 0  # character spans whose ends are not token boundaries
    align: Align = "strict"  # how they were aligned
    lost_spans: int = 0  # cut spans that were left without tokens
    discontinuous: int = 0  # spans in several parts, all skipped
    relations: int = 0  # relations, events, attributes and remarks, all skipped
    repeated: int = 0  # cells whose value occurs more than once in their text
    first_repeated: str = ""  # the first of them
    skipped_at: tuple[int, ...] = ()  # indices of the skipped documents
    damaged: str | None = None  # why the rest of the file could not be read
    repeated_at: tuple[str, ...] = ()  # the first 20 repeated cells
    errors: tuple[InvalidInput, ...] = ()  # those of `skipped`, with the line and other fields

    def __str__(self) -> str:
        parts = [f"{self.documents} document{'s' * (self.documents != 1)}"]
        parts += [f"{self.n_skipped} skipped because of errors"] * bool(self.n_skipped)
        lost = f", {self.lost_spans} of them dropped" if self.lost_spans else ""
        cut = f"{self.cut_spans} span{'s' * (self.cut_spans != 1)} cut a token ({self.align}{lost})"
        parts += [cut] * bool(self.cut_spans)
        parts += [f"{counted(self.discontinuous, 'discontinuous span')} skipped"] * bool(
            self.discontinuous
        )
        parts += [f"{counted(self.relations, 'relation')} or the like skipped"] * bool(
            self.relations
        )
        occur = "value occurs twice in its" if self.repeated == 1 else "values occur twice in their"
        twice = f"{self.repeated} {occur} text, such as {self.first_repeated}"
        parts += [twice] * bool(self.repeated)
        return "; ".join(parts)

    def warn_of_repeated(self, name: str, stacklevel: int) -> None:
        """Warn about values that occur more than once in their text.

        Parameters
        ----------
        name : str
            The argument or the file that the warning is about.
        stacklevel : int
            Number of callers above this method to which the warning points.
        """
        if self.repeated:
            shown = "; ".join(self.repeated_at[:SHOWN])
            more = ", for example" if self.repeated > SHOWN else ""
            one = self.repeated == 1
            warnings.warn(
                f"{name}: {counted(self.repeated, 'value')} {'occurs' if one else 'occur'} more "
                f"than once in {'its' if one else 'their'} text{more} ({shown}); the segment is "
                "the first occurrence that keeps the order of the columns; write the offsets of "
                "another into the cell, as in 'York @10:14'",
                stacklevel=stacklevel + 1,
            )


class Tally(Alignment):
    """The counts of one pass over a file."""

    def __init__(self, on_error: OnError, align: Align) -> None:
        for name, given, kinds in (("on_error", on_error, OnError), ("align", align, Align)):
            known = get_args(kinds)
            if given not in known:
                expected = " or ".join(map(repr, known))
                raise InvalidInput(message(name, given, expected, "pass one of them"))
        self.on_error = on_error
        self.align: Align = align
        self.documents = self.n_skipped = self.cut = self.lost = 0
        self.discontinuous = self.relations = self.n_repeated = 0
        self.repeated_at: list[str] = []
        self.place = ""  # place of the current row, for messages
        self.errors: list[InvalidInput] = []
        self.skipped_at: list[int] = []
        self.damaged: str | None = None

    def refuse(self, error: InvalidInput) -> None:
        """Raise an error, or count it where invalid documents are skipped."""
        if self.on_error == "raise":
            raise error from None
        self.skipped_at.append(self.documents + self.n_skipped)
        self.n_skipped += 1
        if isinstance(error, Damaged):
            self.damaged = str(error)
        if len(self.errors) < KEPT.get():
            self.errors.append(error.with_traceback(None))

    def repeated(self, part: str, label: str) -> None:
        """Count a cell whose value occurs more than once in its text."""
        self.n_repeated += 1
        if len(self.repeated_at) < KEPT.get():
            self.repeated_at.append(f"{self.place}{label}: {part!r}")

    @property
    def notes(self) -> Notes:
        """The notes so far."""
        spans = (self.cut, self.align, self.lost, self.discontinuous, self.relations)
        skipped = tuple(map(str, self.errors))
        made = Notes(self.documents, skipped, self.n_skipped, *spans)
        return made._replace(
            repeated=self.n_repeated,
            first_repeated=self.repeated_at[0] if self.repeated_at else "",
            repeated_at=tuple(self.repeated_at),
            skipped_at=tuple(self.skipped_at),
            damaged=self.damaged,
            errors=tuple(self.errors),
        )


class Corpus:
    r"""The documents of a file, read from the beginning on each iteration.

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
    columns : Columns or None
        The roles of the columns of a table: text, labels and carried columns; known once reading
        has begun.
    on_columns : callable, optional
        Function that is called with the columns when they are first known.
    automatic : bool
        Whether no tokeniser was given, so that a model may cut the texts as it needs them.

    Examples
    --------
    >>> import tempfile
    >>> from caesura.corpora import read_conll
    >>> with tempfile.NamedTemporaryFile("w", suffix=".conll") as file:
    ...     _ = file.write("Ann B-PER\nLee E-PER\nsings O\n\nBob\n")
    ...     file.flush()
    ...     corpus = read_conll(file.name, on_error="skip")
    ...     corpus.scheme, [document.tokens for document in corpus]
    ('BIOES', [('Ann', 'Lee', 'sings')])
    >>> print(corpus.notes)
    1 document; 1 skipped because of errors
    """

    def __init__(
        self,
        path: Name,
        format: str,
        documents: Callable[[Tally], Iterator[Document]],
        scheme: str | None = None,
        on_error: OnError = "raise",
        align: Align = "strict",
    ) -> None:
        self.path = path
        self.format = format
        self.scheme = scheme
        self._documents = documents
        self.columns: Columns | None = None
        self.on_columns: Callable[[Columns], None] | None = None
        self.automatic = False  # whether a model may choose the tokeniser
        self._choices = on_error, align
        self._tally = Tally(*self._choices)

    @property
    def notes(self) -> Notes:
        """The notes of the latest pass."""
        return self._tally.notes

    def __iter__(self) -> Iterator[Document]:
        return self.fitted(None)

    def fitted(self, fitting: Fitting | None) -> Iterator[Document]:
        """Read the documents; with a fitting, each is tokenised as finely as its spans need."""
        self._tally = tally = Tally(*self._choices)
        tally.fitting = fitting
        return self._counted(tally)

    def cut_by(self, tokeniser: Any) -> Iterable[Document]:
        """Return the documents retokenised, read from the beginning on each iteration."""
        return _Recut(self, tokeniser)

    def found(self, columns: Columns) -> None:
        """Record the roles of the columns of a table."""
        first, self.columns = self.columns is None, columns
        if first and self.on_columns is not None:
            self.on_columns(columns)

    def _counted(self, tally: Tally) -> Iterator[Document]:
        documents = self._documents(tally)
        while True:
            try:
                document = next(documents, None)
            except MemoryError:
                number = tally.documents + tally.n_skipped + 1
                raise TooLarge(
                    "there is not enough memory to read it",
                    file=name_of(self.path),
                    line=number,
                    unit="sequence",
                    remedy="split it into shorter ones",
                ) from None
            if document is None:
                return
            tally.documents += 1
            yield document

    def __repr__(self) -> str:
        scheme = f", scheme={self.scheme!r}" if self.scheme else ""
        return f"Corpus({name_of(self.path)!r}, format={self.format!r}{scheme})"


class _Recut:
    """The documents of a corpus, retokenised."""

    def __init__(self, corpus: Corpus, tokeniser: Any) -> None:
        self.corpus, self.tokeniser = corpus, tokeniser

    def __iter__(self) -> Iterator[Document]:
        for i, document in enumerate(self.corpus.fitted(Fitting()), 1):
            try:
                yield recut(document, self.tokeniser)
            except InvalidInput as error:
                name = name_of(self.corpus.path)
                raise error.changed(file=name, line=i, unit="sequence") from None
