"""Reading of X and y: single or several sequences, lists or generators, with or without labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from caesura import _kernels
from caesura.documents import Document, Tokeniser, as_document
from caesura.documents.document import has_no_words
from caesura.documents.frames import is_frame, refuse_frame
from caesura.encoding import Encoder
from caesura.encoding.bags import encode_bags, takes_bags
from caesura.errors import InvalidInput, message
from caesura.models.targets import Target, read_target

__all__ = [
    "CHUNK",
    "check_words",
    "chunks",
    "documents_of",
    "encoded",
    "kinds_of",
    "labelled",
    "one_sequence",
    "paired",
    "raw_chunks",
    "sequences",
]

CHUNK = 1000  # sequences that are encoded or predicted at a time
FRAMES = "pass a column of texts, as X['title'], or caesura.corpora.from_frame(X, text='title')"
OF_NUMBERS = "for numbers, pass a list with a frame for each recording, such as [X]"
_FILES = {
    ".csv",
    ".tsv",
    ".jsonl",
    ".json",
    ".ndjson",
    ".conll",
    ".xml",
    ".parquet",
    ".xlsx",
    ".txt",
}
_OWN = object()  # stands for the labels that a document carries
_END = object()


def sequences(X: Any, name: str = "X", tokeniser: Any = "words") -> Iterator[Any]:
    """Return an iterator over sequences, or raise if X is a single sequence.

    A corpus whose tokeniser was not chosen is cut by this one.
    """
    if getattr(X, "automatic", False) and Tokeniser.of(tokeniser).name != "words":
        X = X.cut_by(tokeniser)
    refuse_frame(X, name, "a list of sequences", f"{FRAMES}; {OF_NUMBERS}")
    _refuse_file(X, name)
    one = isinstance(X, np.ndarray) and X.ndim <= 2 and X.dtype.kind in "biuf"
    one = one or hasattr(X, "tocoo")  # a sparse array, whose rows are the tokens of one sequence
    if one or isinstance(X, str | bytes | Document | Mapping) or not isinstance(X, Iterable):
        remedy = "put a single sequence into a list: [x]"
        raise InvalidInput(message(name, X, "a list of sequences", remedy))
    if hasattr(X, "to_pylist"):  # an Arrow array
        X = X.to_pylist()
    return chain.from_iterable(_parts(iter(X), name))


def _parts(items: Iterator[Any], name: str) -> Iterator[Iterable[Any]]:
    """Yield the first sequence, then the others; raise if the first is a file name."""
    yield _first_of(items, name)  # without a variable that keeps it alive
    yield items


def _first_of(items: Iterator[Any], name: str) -> list[Any]:
    first = list(islice(items, 1))
    for x in first:
        _refuse_file(x, f"{name}[0]")
    return first


def _refuse_file(x: Any, name: str) -> None:
    """Raise if a text is a file name."""
    if not isinstance(x, str | os.PathLike) or len(os.fspath(x)) > 300:
        return
    path = os.fspath(x)
    if os.path.splitext(path)[1].lower() in _FILES and os.path.isfile(path):
        expected = "a text, not the name of a file with texts"
        remedy = f"pass caesura.corpora.read({path!r})"
        raise InvalidInput(message(name, path, expected, remedy))


def one_sequence(x: Any, name: str = "x") -> Any:
    """Return one sequence, or raise for a list of texts, which would be taken as tokens."""
    listed = isinstance(x, list | tuple) and len(x) > 0
    if listed and all(isinstance(one, str) for one in x):
        if any(len(one.split()) > 1 for one in x):
            expected = "one sequence: a text, or a list of tokens without spaces in them"
            remedy = "pass one text at a time, or Document(tokens) if these are tokens"
            raise InvalidInput(message(name, x, expected, remedy))
    elif listed and all(_is_sequence(one) for one in x):
        came = f"a list of {len(x)} sequences ({type(x[0]).__name__})"
        raise InvalidInput(
            place=name, got=came, expected="one sequence", remedy="pass one at a time"
        )
    if hasattr(type(x), "iloc") and getattr(x, "ndim", 2) == 1:  # a pandas column
        expected = "one sequence, not a column of sequences"
        raise InvalidInput(message(name, type(x), expected, "pass one at a time"))
    _refuse_file(x, name)
    return x


def _is_sequence(x: Any) -> bool:
    """Return whether a value cannot be the attributes of a token."""
    if isinstance(x, Mapping):
        return any(isinstance(x.get(key), list | tuple) for key in ("tokens", "spans", "dense"))
    many = isinstance(x, np.ndarray) and x.ndim == 2
    inner = isinstance(x, list) and len(x) > 0 and isinstance(x[0], list | tuple | Mapping)
    return many or inner or isinstance(x, Document) or is_frame(x) or hasattr(x, "tocoo")


def raw_chunks(X: Any, tokeniser: Any = "words") -> Iterator[tuple[int, list[Any]]]:
    """Yield chunks of raw sequences, with the index of the first sequence in each."""
    xs, first = sequences(X, tokeniser=tokeniser), 0
    while some := list(islice(xs, CHUNK)):
        yield first, some
        first += len(some)


def chunks(X: Any, tokeniser: Any) -> Iterator[tuple[int, list[Document]]]:
    """Yield chunks of documents with the index of their first."""
    for first, some in raw_chunks(X, tokeniser):
        yield first, documents_of(some, tokeniser, "X", first)


def encoded(
    encoder: Encoder, words: _kernels.WordRows, some: list[Any], tokeniser: Any, first: int
) -> tuple[_kernels.Corpus, npt.NDArray[np.int64]]:
    """Encode sequences; return them with their lengths.

    Texts, lists of tokens and, where features look at nothing else, lists of attributes go to the
    kernels as they are; all else becomes documents first.
    """
    kinds = set(map(type, some))
    if kinds == {str}:
        return encoder.encode_texts(some, tokeniser, first=first, words=words)
    if kinds == {list} and all(set(map(type, one)) <= {str} for one in some):
        return encoder.encode_tokens(some, first=first, words=words)
    if takes_bags(encoder, some):
        return encode_bags(encoder, some, first)
    documents = documents_of(some, tokeniser, "X", first)
    if encoder.needs_words:
        check_words(documents, first)
    corpus = encoder.encode(documents, False, None, first, words)
    return corpus, np.array([*map(len, documents)], np.int64)


def documents_of(xs: Sequence[Any], tokeniser: Any, name: str, first: int) -> list[Document]:
    """Return sequences as documents; errors call the first ``name[first]``."""
    return [as_document(x, tokeniser, f"{name}[{i}]") for i, x in enumerate(xs, first)]


def paired(
    X: Any, y: Any, names: tuple[str, str] = ("X", "y"), tokeniser: Any = "words"
) -> Iterator[tuple[Any, Any]]:
    """Return an iterator over sequences with their targets."""
    xs = sequences(X, names[0], tokeniser)
    refuse_frame(y, names[1], "the labels of each sequence", "pass a list of them")
    if y is None:
        return ((x, _OWN) for x in xs)
    if isinstance(y, str) or not isinstance(y, Iterable):
        expected = "a list with the labels of each sequence"
        raise InvalidInput(
            message(names[1], y, expected, "give segments, tags or Partial for each")
        )
    return _both(xs, iter(y), names)


def _both(
    xs: Iterator[Any], ys: Iterator[Any], names: tuple[str, str]
) -> Iterator[tuple[Any, Any]]:
    """Yield pairs, or raise if the numbers differ."""
    i = 0
    while True:
        x, target = next(xs, _END), next(ys, _END)
        if x is _END and target is _END:
            return
        if x is _END or target is _END:
            short, longer = names if x is _END else names[::-1]
            raise InvalidInput(
                place=f"{names[0]}, {names[1]}",
                got=f"only {i} in {short} and more in {longer}",
                expected="as many sequences as labels of sequences",
                remedy="give as many of both",
            )
        yield x, target
        i += 1


def labelled(
    pairs: Iterator[tuple[Any, Any]],
    tokeniser: Any,
    names: tuple[str, str] = ("X", "y"),
    size: int = CHUNK,
) -> Iterator[tuple[int, list[Document], list[Target]]]:
    """Yield chunks of documents and targets with the index of their first."""
    first = 0
    while some := list(islice(pairs, size)):
        documents = documents_of([x for x, _ in some], tokeniser, names[0], first)
        targets: list[Target] = []
        for i, (document, (_, y)) in enumerate(zip(documents, some, strict=True), first):
            if y is _OWN and document.segments is not None:  # checked by the document
                targets.append(list(document.segments))
                continue
            own = document.known if y is _OWN else y
            if own is None:
                expected = "labels, or a document that has segments"
                raise InvalidInput(message(f"{names[1]}[{i}]", None, expected, "give them"))
            targets.append(read_target(own, len(document), f"{names[1]}[{i}]"))
        yield first, documents, targets
        first += len(some)


def kinds_of(documents: Iterable[Document]) -> set[str]:
    """Return the kinds of content in documents: attributes, dense arrays, words."""
    found: set[str] = set()
    for document in documents:
        found |= {kind for kind in ("attributes", "dense") if getattr(document, kind) is not None}
        if "words" not in found and any(document.tokens):
            found.add("words")
    return found


def check_words(documents: Sequence[Document], first: int) -> None:
    """Raise for a document without words, where features need words."""
    for i, document in enumerate(documents, first):
        if has_no_words(document):
            came = "attributes" if document.attributes is not None else "numbers"
            raise InvalidInput(
                place=f"X[{i}]",
                got=f"{came} without words",
                expected="tokens or a text, which the features of this model look at",
                remedy="give the same form of X as in fit",
            )
