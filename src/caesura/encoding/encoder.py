"""The encoder: known attributes, their names and their storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any
from weakref import WeakSet

import numpy as np

from caesura import _kernels
from caesura.documents import Document, Tokeniser, as_document
from caesura.encoding.attributes import KnownAttributes
from caesura.encoding.firings import FiringReader, read_firings
from caesura.encoding.values import Longs, Values, check_offsets, values_of
from caesura.features import Column, Incremental, SegmentFeature, SegmentTemplate, Template
from caesura.features.batch import Batch, Words
from caesura.features.compiled import compiled
from caesura.features.dense_columns import in_order
from caesura.features.enclosing import EnclosingColumn, PlaceColumn
from caesura.features.templates import PLACES

__all__ = ["Encoder"]

MOST_WORDS = 50_000  # distinct words whose values are cached: about 10 MB
MOST_BYTES = 2**25  # of cached word scores: 32 MB
_NO_VALUES: Values = (None, np.zeros(0, np.int32), None)
_ALL: WeakSet[Encoder] = WeakSet()


class Encoder(KnownAttributes):
    """Encode documents as rows of attributes.

    Parameters
    ----------
    features : sequence of Template and SegmentFeature
        What to look at; those that learn have learnt.

    Examples
    --------
    >>> from caesura.features import word
    >>> encoder = Encoder([word[0], word[-1]])
    >>> corpus = encoder.encode([Document(("New", "Zealand"))], grow=True)
    >>> encoder.names(range(len(encoder)))
    ['word[0]=New', 'word[-1]=<s>', 'word[0]=Zealand', 'word[-1]=New']
    """

    corpus_kind: type[Any] = _kernels.Corpus  # the class of corpora that `encode` fills

    def __init__(self, features: Sequence[Template | SegmentFeature]) -> None:
        self.features = list(features)
        index: dict[Column, int] = {}
        self._plans: list[tuple[list[tuple[int, int]], int]] = []  # as in KnownAttributes
        self._segments: list[int] = []  # the indices of segment features
        for source, feature in enumerate(self.features):
            if isinstance(feature, Template):
                check_offsets(feature)
                parts = [(index.setdefault(c, len(index)), offset) for c, offset in feature.parts]
                self._plans.append((parts, PLACES.index(feature.place)))
            elif isinstance(feature, SegmentTemplate | Incremental):
                for _, _, one in feature.parts if isinstance(feature, SegmentTemplate) else ():
                    index.setdefault(one, len(index))
                self._plans.append(([], 0))
            else:
                self._segments.append(source)
                self._plans.append(([], 0))
        self.columns = list(index)
        # One per column, then one per segment feature.
        self.values = [_kernels.Interner() for _ in (*self.columns, *self._segments)]
        self.dense_names = _kernels.Interner()
        orders = [feature.order for feature in self.features]
        more = (orders,) if any(orders) else ()
        self._extractor = _kernels.Extractor(self._plans, *more)
        self._lock = Lock()
        _ALL.add(self)
        seen = (c.column if isinstance(c, EnclosingColumn) else c for c in self.columns)
        per_word = [column for column in seen if column.per_word]
        self.needs_words = any(one.of_word("") != one.of_word("word") for one in per_word)
        # Whether columns need the places of tokens in their texts.
        self._locates = any(isinstance(c, EnclosingColumn | PlaceColumn) for c in self.columns)
        self._readers = [
            FiringReader(source, feature, values)
            for source, values in zip(self._segments, self.values[len(index) :], strict=True)
            if isinstance(feature := self.features[source], SegmentFeature)
        ]
        self._words = Words()
        self._of_words: dict[int, int] = {}  # word column -> its index in `types`
        self._in_python: list[int] = []  # word columns that the kernels cannot compute
        for c, column in enumerate(self.columns):
            if column.per_word:
                self._add_word_column(c)
        self._frozen = False  # whether words were encoded without `grow`, and may be unknown

    def _add_word_column(self, c: int) -> None:
        made = compiled(self.columns[c])
        if made is None:
            made = {"kind": "python", "normalisers": []}
            self._in_python.append(c)
        self._of_words[c] = self._words.types.add_column(values=self.values[c], **made)

    def copy(self) -> Encoder:
        """Return an independent encoder with the same numbering of attributes."""
        twin = Encoder(self.features)
        twin.restore(self.state(np.arange(len(self), dtype=np.int32)))
        return twin

    def keep_first(self, limit: int | None) -> None:
        """Limit the number of known attributes to the first n; None removes the limit."""
        self._extractor.limit = 2**31 - 1 if limit is None else limit

    def forget(self) -> None:
        """Clear the cache of words, but keep the numbering of their values."""
        with self._lock:  # another thread may be encoding
            self._forget()

    def _forget(self) -> None:
        self._words.forget()
        self._frozen = False

    @property
    def types(self) -> _kernels.TokenTypes:
        """The distinct words seen so far, and the values of their columns."""
        return self._words.types

    def encode(
        self,
        documents: Sequence[Document],
        grow: bool,
        corpus: _kernels.Corpus | None = None,
        first: int = 0,
        words: _kernels.WordRows | None = None,
        name: str = "X",
    ) -> _kernels.Corpus:
        """Encode documents and append them to a corpus, or to a new one.

        Parameters
        ----------
        documents : sequence of Document
            What to encode.
        grow : bool
            Whether attributes that are not known yet become known, or are left out.
        corpus : Corpus, optional
            Where to append.
        first : int
            What errors call the first document: ``X[first]``.
        words : WordRows, optional
            What words score by themselves: attributes of single words are left out then, and the
            corpus is good for prediction with these weights only.
        name : str
            What errors call the documents.
        """

        def batch() -> Batch:
            arranged = self.arranged(documents, grow, first, name)
            return Batch(arranged, self._words, first, name=name)

        return self._encode(batch, grow, corpus, words)[0]

    def encode_texts(
        self,
        texts: Sequence[str],
        tokeniser: Tokeniser | str | Mapping[str, str] = "words",
        grow: bool = False,
        corpus: _kernels.Corpus | None = None,
        first: int = 0,
        words: _kernels.WordRows | None = None,
    ) -> tuple[_kernels.Corpus, Longs]:
        """Encode texts and append them to a corpus, or to a new one.

        The result is that of `encode` for their documents. A document is made only if a column or a
        feature needs one.

        Returns
        -------
        corpus : Corpus
            The corpus.
        lengths : array of shape (n,)
            The number of tokens of each text.

        Examples
        --------
        >>> from caesura.features import word
        >>> corpus, lengths = Encoder([word[0]]).encode_texts(["New York.", "Rome"], grow=True)
        >>> len(corpus), lengths.tolist()
        (2, [3, 1])
        """
        cut = Tokeniser.of(tokeniser)

        def batch() -> Batch:
            tokens = cut.read(self._words.types, texts, self._locates)

            def documents() -> list[Document]:
                return [as_document(text, cut) for text in texts]

            located = texts if self._locates else None
            return Batch(documents, self._words, first, tokens, texts=located)

        return self._encode(batch, grow, corpus, words)

    def encode_tokens(
        self,
        sequences: Sequence[Sequence[str]],
        grow: bool = False,
        corpus: _kernels.Corpus | None = None,
        first: int = 0,
        words: _kernels.WordRows | None = None,
    ) -> tuple[_kernels.Corpus, Longs]:
        """Encode lists of tokens and append them to a corpus; see `encode_texts`."""

        def batch() -> Batch:
            types = self._words.types.read_tokens(sequences)
            return Batch(lambda: [*map(as_document, sequences)], self._words, first, types)

        return self._encode(batch, grow, corpus, words)

    def word_rows(
        self, parameters: _kernels.Parameters, scorer: _kernels.Scorer
    ) -> _kernels.WordRows:
        """Return the scores of words on their own under given weights."""
        columns = [self._of_words.get(c, -1) for c in range(len(self.columns))]
        return _kernels.WordRows(parameters, scorer, self._extractor, columns)

    def _encode(
        self,
        make: Callable[[], Batch],
        grow: bool,
        corpus: _kernels.Corpus | None,
        words: _kernels.WordRows | None,
    ) -> tuple[_kernels.Corpus, Longs]:
        """Encode a batch, append it to a corpus, and return the lengths of its sequences."""
        corpus = _kernels.Corpus() if corpus is None else corpus
        words = words if self._of_words else None  # no column depends on words
        with self._lock:
            grow = grow and len(self) < self._extractor.limit
            full = len(self._words) > MOST_WORDS or (words and words.bytes > MOST_BYTES)
            if full or (grow and self._frozen):
                self._forget()  # unknown words may now become known
            self._frozen = not grow
            batch = make()
            columns = self._columns(batch, grow, None if words is None else words.needed)
            firings = read_firings(self._readers, batch, grow)
            tokens = None if words is None else batch.tokens
            self._extractor.extract(
                corpus, batch.offsets, columns, firings, grow, words, self.types, tokens
            )
        return corpus, np.diff(batch.offsets)

    def arranged(
        self, documents: Sequence[Document], grow: bool, first: int = 0, name: str = "X"
    ) -> Sequence[Document]:
        """Return documents with named dense columns in the order of the training data.

        Functions of users take a column by its place, and so need this order.
        """
        named = [i for i, one in enumerate(documents) if one.dense_names and len(one)]
        if not named:
            return documents
        known = self.dense_names
        if not len(known) and grow:
            known.ids(list(documents[named[0]].dense_names or ()), True)
        names = [known.text(d) for d in range(len(known))]
        out = list(documents)
        for i in named if names else ():
            out[i] = in_order(out[i], names, f"{name}[{first + i}]")
        return out

    def append_columns(
        self, corpus: _kernels.Corpus, offsets: Longs, columns: Sequence[Values], grow: bool
    ) -> None:
        """Append sequences of encoded columns, without segment features.

        Parameters
        ----------
        corpus : Corpus
            Where to append.
        offsets : array of shape (n + 1,)
            Where the tokens of each sequence begin, and where those of the last end.
        columns : sequence of (ptr, numbers, weights)
            The values of each column at each token, as numbers of `values`.
        grow : bool
            Whether attributes that are not known yet become known, or are left out.
        """
        with self._lock:
            self._extractor.extract(corpus, offsets, columns, _kernels.Firings(), grow)

    def _columns(self, batch: Batch, grow: bool, needed: list[int] | None) -> list[Values]:
        """Return the encoded values of all tokens of a batch in each column.

        Those of columns that are not needed are empty.
        """
        kept = {c: k for c, k in self._of_words.items() if needed is None or needed[c]}
        of_words: dict[int, Values] = {}
        if self._of_words:
            tokens, types = batch.tokens, self._words.types  # may add new words
            types.extend(0, len(self._of_words), grow)
            for c in self._in_python:
                column, values = self.columns[c], self.values[c]
                self._words.extend(self._of_words[c], column.of_word, values, grow)
            taken = types.take(list(kept.values()), tokens)
            of_words = dict.fromkeys(self._of_words, _NO_VALUES)
            of_words |= dict(zip(kept, taken, strict=True))
        return [
            of_words[c]
            if c in of_words
            else values_of(column, self.values[c], batch, grow, batch.first)
            for c, column in enumerate(self.columns)
        ]


def _unlock_in_child() -> None:
    """Reset locks in a forked child, where the threads that held them do not exist.

    A lock that looks free may still be taken, by a thread that waits for the GIL.
    """
    for encoder in list(_ALL):
        if encoder._lock.locked():
            encoder._forget()  # the cache of words may be half written
        encoder._lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)
