"""The tokens of one sequence and what is known about them, made of whatever users have."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from caesura.documents.tokenisers import Offsets, Tokeniser, align
from caesura.errors import InvalidInput, message
from caesura.segments import Segment, _in_order

__all__ = ["FIELDS", "Document", "as_document", "text_of"]

FIELDS = ("tokens", "text", "offsets", "attributes", "dense", "segments")  # and columns
Sized = TypeVar("Sized", bound=Sequence[Any])


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """The tokens of one sequence, and what is known about them.

    What is given is checked and stored as tuples; an error names the field. A sequence that has
    no words, such as a signal, has empty strings for tokens.

    Examples
    --------
    >>> Document(("New", "Zealand")).tokens
    ('New', 'Zealand')
    >>> Document(("New", "Zealand"), columns={"pos": ["JJ"]})
    Traceback (most recent call last):
    caesura.errors.InvalidInput: columns['pos']: got 1 of them, expected 2, one for each token
    """

    tokens: tuple[str, ...]
    text: str | None = None
    offsets: Offsets | None = None  # character span of each token, half-open
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)  # as {"pos": ("JJ", "NN")}
    attributes: Sequence[Any] | None = None  # of each token: strings, or a dict with values
    dense: npt.NDArray[np.float64] | None = None  # (T, D)
    segments: tuple[Segment, ...] | None = None
    _wordless: bool = field(default=False, init=False, repr=False)  # made of something else

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        put("tokens", tokens := _strings("tokens", self.tokens))
        T = len(tokens)
        if self.text is not None and not isinstance(self.text, str):
            raise InvalidInput(message("text", self.text, "a string", "pass the text or None"))
        if self.offsets is not None:
            put("offsets", _spans(self.offsets, T, self.text))
        if self.columns:
            put("columns", {n: _strings(f"columns[{n!r}]", v, T) for n, v in self.columns.items()})
        if self.attributes is not None:
            put("attributes", _attributes("attributes", self.attributes, T))
        if self.dense is not None:
            put("dense", _dense(self.dense, T))
        if self.segments is not None:
            put("segments", tuple(_in_order(self.segments, T)))

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def from_text(
        cls, text: str, tokeniser: Tokeniser | str | Mapping[str, str] = "words"
    ) -> Document:
        """Cut a text into tokens.

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
        return _trusted(tokens, text=text, offsets=offsets)

    def text_of(self, segment: Sequence[Any]) -> str:
        """Return the text of a segment, as it stands in the document.

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
    """Return the span of a segment, or raise if it does not lie in a document."""
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


def text_of(
    x: Document | str | Sequence[str],
    segment: Sequence[Any],
    tokeniser: Tokeniser | str | Mapping[str, str] = "words",
) -> str:
    """Return the text of a segment of a sequence.

    Parameters
    ----------
    x : str, list of tokens or Document
        The sequence, as it was given to the model.
    segment : Segment
        A segment of its tokens.
    tokeniser : Tokeniser, str or dict
        How a text becomes tokens; the one of the model.

    Examples
    --------
    >>> text_of("12 High Street, Leeds", (1, 3, "street"))
    'High Street'
    >>> text_of("12 High Street, Leeds", Segment(4, 5, "town"))
    'Leeds'
    """
    return as_document(x, tokeniser).text_of(segment)


def _strings(name: str, values: object, count: int | None = None) -> tuple[str, ...]:
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
        strings = tuple(map(str, strings))  # those of numpy
    return strings if count is None else _counted(name, strings, count)


def _counted(name: str, values: Sized, count: int) -> Sized:
    """Return values of which there is one for each token, or raise."""
    if len(values) != count:
        raise InvalidInput(
            f"{name}: got {len(values)} of them, expected {count}, one for each token"
        )
    return values


def _spans(offsets: Iterable[Any], count: int, text: str | None) -> Offsets:
    """Return character spans in order, or raise."""
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


def _attributes(name: str, attributes: Any, count: int | None = None) -> Sequence[Any]:
    """Return the attributes of each token, or raise; what is in them is read by the features."""
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
    """Return finite numbers of shape (T, D), or raise."""
    try:
        array = np.asarray(dense)
    except ValueError:
        raise InvalidInput(
            "dense: got rows of different lengths, expected numbers of shape (T, D)"
        ) from None
    if array.dtype.kind not in "biuf" or array.ndim != 2:
        came = f"an array of shape {array.shape} and type {array.dtype}"
        raise InvalidInput(f"dense: got {came}, expected numbers of shape (T, D)")
    _counted("dense", cast(Sequence[Any], array), count)
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        t, d = np.argwhere(~np.isfinite(array))[0].tolist()
        number, remedy = float(array[t, d]), "fill in what is missing"
        raise InvalidInput(message(f"dense[{t}, {d}]", number, "a finite number", remedy))
    return array


# ---- whatever users have ----------------------------------------------------------------------


def as_document(
    x: object, tokeniser: Tokeniser | str | Mapping[str, str] = "words", name: str = "x"
) -> Document:
    """Make a document of what users have.

    Parameters
    ----------
    x : str, list, array, dict or Document
        A text; a list of tokens; a list with the attributes of each token (strings, or a dict
        with values, as python-crfsuite has them); an array of numbers of shape (T, D); or a dict
        of some of tokens, text, offsets, columns, attributes, dense and segments, whose other keys
        are columns too. Where there are no words, the tokens are empty strings.
    tokeniser : Tokeniser, str or dict
        How a text becomes tokens.
    name : str
        What errors call x, as ``X[3]``.

    Returns
    -------
    Document
        A Document is returned as it is.

    Examples
    --------
    >>> as_document("New Zealand").tokens
    ('New', 'Zealand')
    >>> as_document(["New", "Zealand"]).tokens
    ('New', 'Zealand')
    >>> as_document([["w=New", "upper"], {"w=Zealand": 0.5}]).attributes[1]
    {'w=Zealand': 0.5}
    >>> as_document({"tokens": ["New", "Zealand"], "pos": ["JJ", "NN"]}).columns
    {'pos': ('JJ', 'NN')}
    >>> as_document(np.zeros((2, 5))).tokens
    ('', '')
    >>> as_document(["New", None], name="X[3]")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: X[3][1]: got None, expected a string; ...
    """
    if isinstance(x, Document):
        return x
    if (
        type(x) is list
        and x
        and set(map(type, x)) <= {list, dict}
        and isinstance(next(iter(x[0]), ""), str)
    ):
        return _of_bags(x)
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "UO":
        x = x.tolist()
    if isinstance(x, str):
        return Document.from_text(x, tokeniser)
    if isinstance(x, Mapping):
        return _from_mapping(x, Tokeniser.of(tokeniser), name)
    if isinstance(x, np.ndarray) and x.ndim:
        return _without_words(_named(name, tokens=_no_words(len(x)), dense=x))
    if isinstance(x, Sequence) and not isinstance(x, bytes | bytearray | memoryview):
        if any(issubclass(kind, str) for kind in set(map(type, x))) or not x:
            return Document(_strings(name, x))
        return _without_words(Document(_no_words(len(x)), attributes=_attributes(name, x)))
    expected = "a text, tokens, attributes of each token, an array of shape (T, D) or a Document"
    raise InvalidInput(message(name, x, expected, "pass one of these for each sequence"))


@functools.lru_cache(maxsize=256)
def _no_words(count: int) -> tuple[str, ...]:
    return ("",) * count


def has_no_words(document: Document) -> bool:
    """Say whether a document was made of attributes or numbers alone.

    Examples
    --------
    >>> has_no_words(as_document([["w=a"], ["w=b"]])), has_no_words(as_document(["a", "b"]))
    (True, False)
    """
    return document._wordless and bool(document.tokens)


def _of_bags(bags: Sequence[Any]) -> Document:
    """Return a document of attributes, which are checked when they are read."""
    return _without_words(_trusted(_no_words(len(bags)), attributes=bags))


def _trusted(
    tokens: tuple[str, ...],
    text: str | None = None,
    offsets: Offsets | None = None,
    attributes: Sequence[Any] | None = None,
) -> Document:
    """Return a document of what needs no check."""
    document: Document = object.__new__(Document)
    put = object.__setattr__
    put(document, "tokens", tokens)
    put(document, "text", text)
    put(document, "offsets", offsets)
    put(document, "attributes", attributes)
    put(document, "columns", {})
    put(document, "dense", None)
    put(document, "segments", None)
    put(document, "_wordless", False)
    return document


def with_columns(document: Document, columns: Mapping[str, Sequence[str]]) -> Document:
    """Return a document with these columns in place of its own.

    Examples
    --------
    >>> with_columns(Document(("New", "York")), {"pos": ["JJ", "NN"]}).columns
    {'pos': ('JJ', 'NN')}
    """
    d = document
    made = Document(d.tokens, d.text, d.offsets, columns, d.attributes, d.dense, d.segments)
    return _without_words(made) if d._wordless else made


def _without_words(document: Document) -> Document:
    object.__setattr__(document, "_wordless", True)
    return document


def _from_mapping(x: Mapping[str, Any], tokeniser: Tokeniser, name: str) -> Document:
    """Return the document of a dict: the fields by their names, the rest are columns."""
    if not all(isinstance(key, str) for key in x):
        raise InvalidInput(message(name, x, "a dict with strings as keys", "rename its keys"))
    given = {key: x[key] for key in FIELDS if x.get(key) is not None}
    given["columns"] = {key: x[key] for key in x if key not in (*FIELDS, "columns")}
    if x.get("columns") is not None:
        more = _mapping(f"{name}.columns", x["columns"])
        if twice := sorted(given["columns"].keys() & more.keys()):
            expected, remedy = "each column once", "leave one of the two out"
            raise InvalidInput(message(f"{name}.columns", twice, expected, remedy))
        given["columns"] |= more
    text = given.get("text")
    if "tokens" in given:
        if isinstance(text, str) and "offsets" not in given:
            given["offsets"] = align(text, _named(name, tokens=given["tokens"]).tokens)
    elif isinstance(text, str) and "offsets" not in given:
        given["offsets"] = tokeniser.spans(text)
        given["tokens"] = tuple(text[start:end] for start, end in given["offsets"])
    else:
        values = [given[key] for key in ("attributes", "dense") if key in given]
        counts = [len(value) for value in values if hasattr(value, "__len__")]
        if not counts:
            expected = "a dict with tokens, text (without offsets), attributes or dense"
            raise InvalidInput(message(name, x, expected, "pass at least one of them"))
        return _without_words(_named(name, tokens=_no_words(counts[0]), **given))
    return _named(name, **given)


def _mapping(name: str, x: Any) -> Mapping[str, Any]:
    if not isinstance(x, Mapping):
        remedy = "write {'pos': ['JJ', 'NN']}, or 'pos' as a key of its own"
        raise InvalidInput(message(name, x, "a dict of columns", remedy))
    return x


def _named(name: str, **fields: Any) -> Document:
    """Return a document whose errors begin with its name."""
    try:
        return Document(**fields)
    except InvalidInput as error:
        raise InvalidInput(f"{name}.{error}") from None
