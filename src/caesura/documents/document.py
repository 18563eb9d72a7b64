"""The document: the tokens of one sequence with all annotations."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from caesura.documents.partial import Partial
from caesura.documents.tokenisers import Offsets, Tokeniser
from caesura.errors import InvalidInput, message
from caesura.segments.segmentation import Segment, in_order

__all__ = ["FIELDS", "GIVE_ONE_EACH", "GIVE_ROWS", "Document"]

GIVE_ONE_EACH = "check how the tokens were cut"  # remedies in errors
GIVE_ROWS = "give a row of numbers for each token"
FIELDS = ("tokens", "text", "offsets", "attributes", "dense", "dense_names", "segments", "known")
Sized = TypeVar("Sized", bound=Sequence[Any])


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A sequence: its tokens, and optionally text, offsets, columns, attributes and segments.

    Fields are checked and stored as tuples; errors name the field. The tokens of a sequence without
    words, such as a signal, are empty strings.

    Examples
    --------
    >>> Document(("New", "Zealand")).tokens
    ('New', 'Zealand')
    >>> Document(("New", "Zealand"), columns={"pos": ["JJ"]})
    Traceback (most recent call last):
    caesura.errors.InvalidInput: columns['pos']: got 1 of them, expected 2, one for each token;
    check how the tokens were cut
    """

    tokens: tuple[str, ...]
    text: str | None = None
    offsets: Offsets | None = None  # the half-open character span of each token
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)  # as {"pos": ("JJ", "NN")}
    attributes: Sequence[Any] | None = None  # one item per token: strings, or a dict with values
    dense: npt.NDArray[np.float64] | None = None  # (T, D)
    segments: tuple[Segment, ...] | None = None
    carried: Mapping[str, Any] = field(default_factory=dict)  # other fields of its row or object
    dense_names: tuple[str, ...] | None = None  # names of the columns of `dense`
    known: Partial | None = None  # partial labels, in place of `segments`
    _wordless: bool = field(default=False, init=False, repr=False)  # made of attributes or numbers

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        put("tokens", tokens := checked_strings("tokens", self.tokens))
        T = len(tokens)
        if self.text is not None and not isinstance(self.text, str):
            raise InvalidInput(message("text", self.text, "a string", "pass the text or None"))
        if self.offsets is not None:
            put("offsets", _spans(self.offsets, T, self.text))
        if self.columns:
            put(
                "columns",
                {n: checked_strings(f"columns[{n!r}]", v, T) for n, v in self.columns.items()},
            )
        if self.attributes is not None:
            put("attributes", checked_attributes("attributes", self.attributes, T))
        if self.dense is not None:
            put("dense", _dense(self.dense, T))
        if self.dense_names is not None:
            put("dense_names", _named_columns(self.dense_names, self.dense))
        if self.segments is not None:
            put("segments", tuple(in_order(self.segments, T)))
        if self.known is not None:
            put("known", _checked_known(self.known, self.segments, T))

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def from_text(
        cls, text: str, tokeniser: Tokeniser | str | Mapping[str, str] = "words"
    ) -> Document:
        """Tokenise a text.

        Examples
        --------
        >>> document = Document.from_text("New Zealand!")
        >>> document.tokens, document.offsets
        (('New', 'Zealand', '!'), ((0, 3), (4, 11), (11, 12)))
        """
        if not isinstance(text, str):
            raise InvalidInput(message("text", text, "a string", "pass a text"))
        offsets = Tokeniser.of(tokeniser).spans(text)
        tokens = tuple([text[start:end] for start, end in offsets])
        return trusted_document(tokens, text=text, offsets=offsets)

    def text_of(self, segment: Sequence[Any]) -> str:
        """Return the text of a segment exactly as in the document.

        Parameters
        ----------
        segment : Segment
            Or any tuple that begins with the first token and the one after the last.

        Examples
        --------
        >>> Document.from_text("12 High Street, Leeds").text_of(Segment(1, 4, "street"))
        'High Street,'
        >>> Document(("New", "Zealand")).text_of((0, 2))
        'New Zealand'
        """
        start, end = _token_span(segment, len(self))
        if self.text is not None and self.offsets is not None:
            return self.text[self.offsets[start][0] : self.offsets[end - 1][1]]
        return " ".join(self.tokens[start:end])


def _token_span(segment: Any, length: int) -> tuple[int, int]:
    """Return the span of a segment, or raise if it is outside the document."""
    try:
        start, end = map(operator.index, tuple(segment)[:2])
    except (TypeError, ValueError):
        expected = "a segment: (start, end) or (start, end, label)"
        raise InvalidInput(message("segment", segment, expected, "pass a Segment")) from None
    if not 0 <= start < end <= length:
        expected = f"0 <= start < end <= {length}, the number of tokens"
        remedy = "ask the document, or with the tokeniser, that the segment was found in"
        raise InvalidInput(message("segment", segment, expected, remedy))
    return start, end


def checked_strings(name: str, values: object, count: int | None = None) -> tuple[str, ...]:
    """Return strings as a tuple, or raise."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        remedy = "pass one string for each token"
        raise InvalidInput(message(name, values, "a list of strings", remedy))
    strings = tuple(values)
    if not set(map(type, strings)) <= {str}:
        for t, value in enumerate(strings):
            if not isinstance(value, str):
                remedy = "pass one string for each token"
                raise InvalidInput(message(f"{name}[{t}]", value, "a string", remedy))
        strings = tuple(map(str, strings))  # converts strings of NumPy
    return strings if count is None else _counted(name, strings, count)


def _counted(name: str, values: Sized, count: int) -> Sized:
    """Return values, or raise unless there is one for each token."""
    if len(values) != count:
        raise InvalidInput(
            place=name,
            got=f"{len(values)} of them",
            expected=f"{count}, one for each token",
            remedy=GIVE_ONE_EACH,
        )
    return values


def _spans(offsets: Iterable[Any], count: int, text: str | None) -> Offsets:
    """Return sorted character spans, or raise."""
    try:
        spans = tuple((int(start), int(end)) for start, end in offsets)
    except (TypeError, ValueError, OverflowError):
        expected = "(start, end) for each token"
        remedy = "pass character spans with exclusive ends"
        raise InvalidInput(message("offsets", offsets, expected, remedy)) from None
    _counted("offsets", spans, count)
    reached = 0
    for t, (start, end) in enumerate(spans):
        if not reached <= start <= end or (text is not None and end > len(text)):
            last = "" if text is None else f" <= {len(text)}, the length of the text"
            expected = f"{reached} <= start <= end{last}"
            remedy = "count characters from 0, with exclusive ends, in order"
            raise InvalidInput(message(f"offsets[{t}]", (start, end), expected, remedy))
        reached = end
    return spans


def checked_attributes(name: str, attributes: Any, count: int | None = None) -> Sequence[Any]:
    """Return the attributes of each token, or raise; their content is checked by the encoder."""
    bags = (list, tuple, Set, Mapping)
    remedy = "pass a list of strings, or a dict with values, for each token"
    if not isinstance(attributes, Sequence) or isinstance(attributes, str):
        raise InvalidInput(message(name, attributes, "a list of attributes per token", remedy))
    if not all(issubclass(kind, bags) for kind in set(map(type, attributes))):
        t = next(t for t, bag in enumerate(attributes) if not isinstance(bag, bags))
        expected = "the attributes of a token"
        raise InvalidInput(message(f"{name}[{t}]", attributes[t], expected, remedy))
    first = next(iter(attributes[0]), "") if attributes else ""
    if not isinstance(first, str):
        expected = "names of attributes, which are strings"
        remedy = "pass an array of shape (T, D) for numbers without names"
        raise InvalidInput(message(f"{name}[0]", attributes[0], expected, remedy))
    return attributes if count is None else _counted(name, attributes, count)


def _dense(dense: npt.ArrayLike, count: int) -> npt.NDArray[np.float64]:
    """Return a finite array of shape (T, D), or raise."""
    try:
        array = np.asarray(dense)
    except ValueError:
        raise InvalidInput(
            place="dense",
            got="rows of different lengths",
            expected="numbers of shape (T, D)",
            remedy=GIVE_ROWS,
        ) from None
    if array.dtype.kind not in "biuf" or array.ndim != 2:
        came = f"an array of shape {array.shape} and type {array.dtype}"
        raise InvalidInput(
            place="dense", got=came, expected="numbers of shape (T, D)", remedy=GIVE_ROWS
        )
    _counted("dense", cast(Sequence[Any], array), count)
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        t, d = np.argwhere(~np.isfinite(array))[0].tolist()
        number, remedy = float(array[t, d]), "fill in missing values"
        raise InvalidInput(message(f"dense[{t}, {d}]", number, "a finite number", remedy))
    return array


def _named_columns(names: Any, dense: npt.NDArray[np.float64] | None) -> tuple[str, ...]:
    """Return the names of the dense columns, or raise."""
    if dense is None:
        raise InvalidInput(
            place="dense_names",
            got="names without dense",
            expected="both",
            remedy="give the numbers",
        )
    checked = checked_strings("dense_names", names)
    if len(set(checked)) < len(checked) or len(checked) != dense.shape[1]:
        expected = f"{dense.shape[1]} different names, one for each column of dense"
        raise InvalidInput(message("dense_names", checked, expected, "name each column once"))
    return checked


def _checked_known(known: Any, segments: Any, count: int) -> Partial:
    """Return the checked segments or partial labels of a document."""
    if segments is not None:
        raise InvalidInput(place="known", got="segments as well", remedy="leave one of the two out")
    partial = Partial.of(known)
    partial.check(count, "known")
    return partial


def has_no_words(document: Document) -> bool:
    """Return whether a document consists of attributes or numbers alone.

    Examples
    --------
    >>> from caesura.documents import as_document
    >>> has_no_words(as_document([["w=a"], ["w=b"]])), has_no_words(as_document(["a", "b"]))
    (True, False)
    """
    return document._wordless and bool(document.tokens)


def trusted_document(
    tokens: tuple[str, ...],
    text: str | None = None,
    offsets: Offsets | None = None,
    attributes: Sequence[Any] | None = None,
) -> Document:
    """Make a document without checks."""
    document: Document = object.__new__(Document)
    put = object.__setattr__
    put(document, "tokens", tokens)
    put(document, "text", text)
    put(document, "offsets", offsets)
    put(document, "attributes", attributes)
    put(document, "columns", {})
    put(document, "dense", None)
    put(document, "segments", None)
    put(document, "carried", {})
    put(document, "dense_names", None)
    put(document, "known", None)
    put(document, "_wordless", False)
    return document


def with_columns(document: Document, columns: Mapping[str, Sequence[str]]) -> Document:
    """Return a document with its columns replaced.

    Examples
    --------
    >>> with_columns(Document(("New", "York")), {"pos": ["JJ", "NN"]}).columns
    {'pos': ('JJ', 'NN')}
    """
    d = document
    kept = (d.attributes, d.dense, d.segments, d.carried, d.dense_names, d.known)
    made = Document(d.tokens, d.text, d.offsets, columns, *kept)
    return document_without_words(made) if d._wordless else made


def document_without_words(document: Document) -> Document:
    object.__setattr__(document, "_wordless", True)
    return document
