"""Batches of documents, in which features are computed once for each distinct word."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document
from caesura.documents.characters import CHARACTERS
from caesura.features.compiled import SEVERAL, compiled
from caesura.features.templates import Column

__all__ = ["Batch", "Firings", "Words"]

UNSEEN = -3  # number of an unknown value, as in cpp/encode/attributes.hpp


class Words:
    """The distinct words seen so far, and the encoded column values of each.

    A word's index is its type. The kernels keep all this in `types`; only a column that they cannot
    compute is computed here, once for each new type.
    """

    def __init__(self) -> None:
        self.types = _kernels.TokenTypes(CHARACTERS)
        self._words: list[str] = []
        self._columns: dict[Hashable, int] = {}
        self._compiled: set[int] = set()  # columns of `column` that the kernels compute
        self._said: dict[Column, tuple[int, _kernels.Interner, bool]] = {}
        self._nested: dict[str, Words] = {}

    def __len__(self) -> int:
        return len(self.types) + sum(map(len, self._nested.values()))

    def nested(self, by: str) -> Words:
        """Return the words that contain the tokens, as found by a tokeniser, or their pieces."""
        return self._nested.setdefault(by, Words())

    @property
    def words(self) -> list[str]:
        """The words by type index."""
        if len(self._words) < len(self.types):
            self._words += self.types.words(len(self._words))
        return self._words

    def forget(self) -> None:
        """Clear the words, but keep the columns."""
        self.types.forget()
        self._words = []
        for words in self._nested.values():
            words.forget()

    def column(self, key: Hashable, column: Column, values: _kernels.Interner) -> int:
        """Return the index of a word column; a new column is added under its key."""
        if key not in self._columns:
            made = compiled(column)
            arguments = made or {"kind": "python", "normalisers": []}
            self._columns[key] = self.types.add_column(values=values, **arguments)
            if made is not None:
                self._compiled.add(self._columns[key])
        return self._columns[key]

    def compute(self, index: int, column: Column, values: _kernels.Interner, grow: bool) -> None:
        """Compute a column for the words added since the last call.

        The kernels compute adjacent columns together, so that they read each word once.
        """
        if index not in self._compiled:
            self.extend(index, column.of_word, values, grow)
        elif self.types.n_done(index) < len(self.types):
            first = last = index
            while first - 1 in self._compiled:
                first -= 1
            while last + 1 in self._compiled:
                last += 1
            self.types.extend(first, last + 1, grow)

    def extend(
        self,
        index: int,
        say: Callable[[str], Iterable[str]],
        values: _kernels.Interner,
        grow: bool,
    ) -> None:
        """Compute a Python column for the words added since the last call."""
        done = self.types.n_done(index)
        if done == len(self.types):
            return
        said = [list(say(word)) for word in self.words[done:]]
        counts = np.array(list(map(len, said)), np.int64)
        numbers = values.ids(list(chain.from_iterable(said)), grow)
        self.types.put(index, counts, np.where(numbers < 0, np.int32(UNSEEN), numbers))

    def numbers(
        self, key: Hashable, normalisers: Sequence[str], values: _kernels.Interner, batch: Batch
    ) -> npt.NDArray[np.int32]:
        """Return the value number of each token of a batch, normalised; negative for none.

        The normalisers are "folded", "zeroed", "lowered" and "bare" (see `lexicons.bare`).
        """
        if key not in self._columns:
            self._columns[key] = self.types.add_column("word", list(normalisers), values)
        return self._taken(self._columns[key], batch.tokens)

    def said(self, column: Column, batch: Batch) -> tuple[_kernels.Interner, npt.NDArray[np.int32]]:
        """Return the distinct values of a column, and the value number of each token.

        Several values are joined by "/".
        """
        if column not in self._said:
            made = compiled(column)
            in_python = made is None or made["kind"] in SEVERAL
            arguments = {"kind": "python", "normalisers": []} if in_python or not made else made
            values = _kernels.Interner()
            index = self.types.add_column(values=values, every=True, **arguments)
            self._said[column] = index, values, in_python
        index, values, in_python = self._said[column]
        tokens = batch.tokens  # may add new words
        if in_python:
            self.extend(index, lambda word: ["/".join(column.of_word(word))], values, True)
        return values, self._taken(index, tokens)

    def _taken(self, index: int, tokens: _kernels.TokenBatch) -> npt.NDArray[np.int32]:
        """Return the value number of each token in a single-valued column."""
        self.types.extend(index, index + 1, False)
        return self.types.take([index], tokens)[0][1]


class Batch:
    """The concatenated tokens of many documents.

    Document i has the tokens offsets[i] to offsets[i + 1]; error messages call it
    X[first + i], or use another name than X.

    Parameters
    ----------
    documents : sequence of Document, or a function that returns one
        A function is called when a feature asks for the documents; then `tokens` must be given.
    words : Words
        Vocabulary of words seen so far.
    first : int
        Index of the first document, for error messages.
    tokens : TokenBatch, optional
        Indices of all tokens in `words`.
    name : str
        Name of the argument, for error messages.
    texts : sequence of str, optional
        The texts that `tokens` were cut from, and which it locates.
    """

    def __init__(
        self,
        documents: Sequence[Document] | Callable[[], Sequence[Document]],
        words: Words,
        first: int = 0,
        tokens: _kernels.TokenBatch | None = None,
        name: str = "X",
        texts: Sequence[str] | None = None,
    ) -> None:
        self._documents, self.first, self.words = documents, first, words
        self._texts = texts
        self.name = name
        self._tokens = tokens
        self.enclosed: dict[str, Any] = {}  # tokeniser -> the words around tokens

    # No property is a cached_property: before Python 3.12, all instances share one lock, which a
    # forked child may inherit locked.

    @property
    def documents(self) -> Sequence[Document]:
        """The documents, created on demand if the batch holds texts."""
        if callable(self._documents):
            self._documents = self._documents()
        return self._documents

    @property
    def tokens(self) -> _kernels.TokenBatch:
        """The type of each token, as held by the kernels."""
        if self._tokens is None:
            rows = [document.tokens for document in self.documents]
            self._tokens = self.words.types.read_tokens(rows)
        return self._tokens

    def texts(self) -> tuple[list[Any] | None, list[Any] | None]:
        """Return the text of each document, or None, and the spans of its tokens.

        Without spans, `tokens` has them.
        """
        if self._texts is not None:
            return list(self._texts), None
        if callable(self._documents):  # lists of tokens
            return None, None
        return [one.text for one in self.documents], [one.offsets for one in self.documents]

    @property
    def types(self) -> npt.NDArray[np.int32]:
        """The type of each token, an index into words.words, of shape (N,)."""
        return self.tokens.types

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """The start of each document and the end of the last, of shape (n + 1,)."""
        if self._tokens is not None:
            return self._tokens.offsets
        lengths = [len(document) for document in self.documents]
        return np.cumsum([0, *lengths], dtype=np.int64)


class Firings(NamedTuple):
    """The firings of a feature in a batch: parallel arrays, in any order.

    Spans count tokens from the start of the batch, not of the document. An attribute's full name is
    the feature's name followed by its entry in `names`.
    """

    starts: npt.NDArray[np.int32]  # of the core span [start, end)
    ends: npt.NDArray[np.int32]
    flags: npt.NDArray[np.uint8]  # OPEN_START | OPEN_END
    names: list[str]  # the distinct attributes, such as "=3" or ">=0.8"
    which: npt.NDArray[np.int32]  # indices into names
    values: npt.NDArray[np.float64]
