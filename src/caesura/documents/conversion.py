"""Conversion of user input to documents: texts, tokens, attributes, arrays, dicts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from caesura.documents.document import (
    FIELDS,
    Document,
    checked_attributes,
    checked_strings,
    document_without_words,
    trusted_document,
)
from caesura.documents.frames import is_frame, numbers_of
from caesura.documents.spans import Alignment, checked_spans, labelled
from caesura.documents.sparse import rows_of
from caesura.documents.tokenisers import Tokeniser, align
from caesura.errors import InvalidInput, message

__all__ = ["as_document", "text_of"]


def as_document(
    x: object, tokeniser: Tokeniser | str | Mapping[str, str] = "words", name: str = "x"
) -> Document:
    """Convert a text, a list of tokens, attributes, an array or a dict to a document.

    Parameters
    ----------
    x : str, list, array, DataFrame, dict or Document
        A text; a list of tokens; a list with the attributes of each token (strings, or a dict
        with values, as python-crfsuite has them); an array of numbers of shape (T, D), or a
        DataFrame of pandas or polars or a table of Arrow with nothing but numbers; a sparse array
        of SciPy, whose columns are attributes named by their numbers; or a dict
        of some of tokens, text, offsets, columns, attributes, dense, segments, and spans, which are
        [start, end, label] by the characters of the text. Other keys with a list of one string
        or number for each token are columns, too. The rest (an id, a price) and the lists beside
        a text are carried along. Where there are no words, the tokens are empty strings.
    tokeniser : Tokeniser, str or dict
        The tokeniser of texts.
    name : str
        The name of x in errors, such as ``X[3]``.

    Returns
    -------
    Document
        A Document is returned unchanged.

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
    >>> as_document({"text": "New Zealand", "spans": [[0, 11, "country"]], "id": 7}).segments
    (Segment(start=0, end=2, label='country'),)
    >>> as_document(np.zeros((2, 5))).tokens
    ('', '')
    >>> as_document(["New", None], name="X[3]")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    caesura.errors.InvalidInput: X[3][1]: got None, expected a string; ...
    """
    if isinstance(x, Document):
        return x
    if type(x) not in (str, list) and is_frame(x):
        numbers, names = numbers_of(x, name)
        tokens = _no_words(len(numbers))
        return document_without_words(_named(name, tokens=tokens, dense=numbers, dense_names=names))
    if (
        type(x) is list
        and x
        and set(map(type, x)) <= {list, dict}
        and isinstance(next(iter(x[0]), ""), str)
    ):
        return _of_bags(x)
    if hasattr(x, "tocoo"):
        return _of_bags(rows_of(x, name))
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "UO":
        x = x.tolist()
    if isinstance(x, str):
        return Document.from_text(x, tokeniser)
    if isinstance(x, Mapping):
        return _from_mapping(x, Tokeniser.of(tokeniser), name)
    if isinstance(x, np.ndarray) and x.ndim:
        return document_without_words(_named(name, tokens=_no_words(len(x)), dense=x))
    if isinstance(x, Sequence) and not isinstance(x, bytes | bytearray | memoryview):
        if any(issubclass(kind, str) for kind in set(map(type, x))) or not x:
            return Document(checked_strings(name, x))
        return document_without_words(
            Document(_no_words(len(x)), attributes=checked_attributes(name, x))
        )
    expected = "a text, tokens, attributes of each token, an array of shape (T, D) or a Document"
    raise InvalidInput(message(name, x, expected, "pass one of these for each sequence"))


@functools.lru_cache(maxsize=256)
def _no_words(count: int) -> tuple[str, ...]:
    return ("",) * count


def _of_bags(bags: Sequence[Any]) -> Document:
    """Return a document of attributes, which are checked when they are encoded."""
    return document_without_words(trusted_document(_no_words(len(bags)), attributes=bags))


def _from_mapping(x: Mapping[str, Any], tokeniser: Tokeniser, name: str) -> Document:
    """Convert a dict to a document; keys that are not fields become columns."""
    if not all(isinstance(key, str) for key in x):
        raise InvalidInput(message(name, x, "a dict with strings as keys", "rename its keys"))
    given = {key: x[key] for key in FIELDS if x.get(key) is not None}
    rest = {key: x[key] for key in x if key not in (*FIELDS, "columns", "spans")}
    rest = {key: list(one) if _is_list(one) else one for key, one in rest.items()}
    more = {} if x.get("columns") is None else _mapping(f"{name}.columns", x["columns"])
    text = given.get("text")
    if "tokens" in given:
        given["tokens"] = checked_strings(f"{name}.tokens", given["tokens"])
        if isinstance(text, str) and "offsets" not in given:
            given["offsets"] = align(text, given["tokens"])
    elif isinstance(text, str) and "offsets" not in given:
        given["offsets"] = tokeniser.spans(text)
        given["tokens"] = tuple(text[start:end] for start, end in given["offsets"])
    else:
        values = [given[key] for key in ("attributes", "dense") if key in given]
        counts = [len(value) for value in values if hasattr(value, "__len__")]
        if not counts:
            expected = "a dict with tokens, text (without offsets), attributes or dense"
            remedy = "pass one of them, or put a single sequence into a list: [x]"
            raise InvalidInput(message(name, x, expected, remedy))
        given["tokens"] = _no_words(counts[0])
        given |= _columns_and_carried(x, rest, more, counts[0], name)
        return document_without_words(_named(name, **given))
    given |= _columns_and_carried(x, rest, more, len(given["tokens"]), name)
    if x.get("spans") is None:
        return _named(name, **given)
    if "segments" in given:
        raise InvalidInput(
            place=f"{name}.spans", got="segments as well", remedy="leave one of the two out"
        )
    return _with_spans(_named(name, **given), x["spans"], name)


def _columns_and_carried(
    x: Mapping[str, Any], rest: dict[str, Any], more: Mapping[str, Any], count: int, name: str
) -> dict[str, Any]:
    """Return the columns of a dict, and what it carries along."""
    columns = token_columns(rest, count)
    if twice := sorted(columns.keys() & more.keys()):
        expected, remedy = "each column once", "leave one of the two out"
        raise InvalidInput(message(f"{name}.columns", twice, expected, remedy))
    carried = carried_keys(rest, columns, x.get("text") is not None)
    if x.get("text") is None:  # a list with strings is meant as a column, an error if too short
        wrong = [key for key in carried if key not in columns and _has_strings(carried[key])]
        columns |= {key: carried.pop(key) for key in wrong}
    return {"columns": {**columns, **more}, "carried": carried}


def token_columns(given: Mapping[str, Any], count: int) -> dict[str, list[str]]:
    """Return the lists with a string or number for each token, as strings.

    Examples
    --------
    >>> token_columns({"pos": ["JJ", "NN"], "geo": [53.8, -1.5], "id": 7, "tags": ["a"]}, 2)
    {'pos': ['JJ', 'NN'], 'geo': ['53.8', '-1.5']}
    """
    return {
        key: [str(value) for value in values]
        for key, values in given.items()
        if isinstance(values, list)
        and len(values) == count
        and all(isinstance(value, str | int | float) for value in values)
    }


def carried_keys(
    given: Mapping[str, Any], columns: Mapping[str, Any], has_text: bool
) -> dict[str, Any]:
    """Return what is carried along as given: all but annotations of given tokens.

    Beside a text, a list may have as many items as the text has tokens by chance.

    Examples
    --------
    >>> given = {"pos": ["JJ", "NN"], "geo": [53.8, -1.5], "id": 7}
    >>> columns = token_columns(given, 2)
    >>> carried_keys(given, columns, has_text=False)
    {'geo': [53.8, -1.5], 'id': 7}
    """
    return {
        key: value
        for key, value in given.items()
        if has_text or key not in columns or not _all_strings(value)
    }


def _all_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _has_strings(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(one, str) for one in value)


def _is_list(value: object) -> bool:
    """Return whether a value may hold one item for each token."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set)


def _with_spans(document: Document, spans: Any, name: str) -> Document:
    """Return a document with segments given as character spans."""
    try:
        given = list(spans) if _is_list(spans) else spans
        return labelled(document, checked_spans(given, document), Alignment())
    except InvalidInput as error:
        raise error.within(name, ".") from None


def _mapping(name: str, x: Any) -> Mapping[str, Any]:
    if not isinstance(x, Mapping):
        remedy = "write {'pos': ['JJ', 'NN']}, or 'pos' as a key of its own"
        raise InvalidInput(message(name, x, "a dict of columns", remedy))
    return x


def _named(name: str, **fields: Any) -> Document:
    """Return a document; errors start with its name."""
    try:
        return Document(**fields)
    except InvalidInput as error:
        raise error.within(name, ".") from None


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
        The tokeniser of texts, equal to that of the model.

    Examples
    --------
    >>> text_of("12 High Street, Leeds", (1, 3, "street"))
    'High Street'
    >>> text_of("12 High Street, Leeds", (4, 5, "town"))
    'Leeds'
    """
    return as_document(x, tokeniser).text_of(segment)
