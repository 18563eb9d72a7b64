"""Bags of attributes: normalisation of user-supplied token attributes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from caesura.errors import InvalidInput, message

__all__ = ["bag", "pairs", "plain"]

_EXPECTED = "strings, or a dict from strings to numbers, strings, dicts or lists"


def bag(given: Any, where: str = "attributes") -> tuple[str, ...] | dict[str, float]:
    """Return the attributes of a token as strings, optionally with values.

    Parameters
    ----------
    given : iterable of str, or dict
        Strings have the value 1. In a dict, {"a": 2.0} is a with the value 2, {"a": True} a with
        1, {"a": "x"} is a:x, and {"a": {"b": 1}} and {"a": ["b"]} are a:b. This is the form that
        python-crfsuite takes. What is there twice counts twice. A vector of numbers, as in
        {"a": numpy.array([0.5, 2.0])}, is a:0 and a:1 with these values.
    where : str
        Name of the argument, for error messages.

    Examples
    --------
    >>> bag(["bias", "w=the"])
    ('bias', 'w=the')
    >>> bag({"w": "the", "length": 3, "is": {"title": False, "kind": ["a", "b"]}})
    {'w:the': 1.0, 'length': 3.0, 'is:title': 0.0, 'is:kind:a': 1.0, 'is:kind:b': 1.0}
    """
    if isinstance(given, Mapping):
        values: dict[str, float] = {}
        for name, value in _walk(given, where):
            values[name] = values.get(name, 0.0) + value
        return values
    if type(given) in (list, tuple) and set(map(type, given)) == {str}:
        return tuple(given)  # the most common form by far
    return tuple(name for name, _ in _walk(given, where))


def pairs(given: Any, where: str = "attributes") -> list[tuple[str, float]]:
    """Return the names and values of a token's attributes in order, including duplicates.

    The kernels read bags of the usual types themselves and call this function for others; the
    result is the same.

    Examples
    --------
    >>> pairs({"w": ["the", "the"], "length": 3})
    [('w:the', 1.0), ('w:the', 1.0), ('length', 3.0)]
    """
    return list(_walk(given, where))


def plain(bags: list[tuple[str, ...] | dict[str, float]]) -> Any:
    """Return bags in one representation: tuples if all are tuples, else mappings.

    Examples
    --------
    >>> plain([("a",), ("b", "b")])
    [('a',), ('b', 'b')]
    >>> plain([{"a": 2.0}, ("b", "b")])
    [{'a': 2.0}, {'b': 2.0}]
    """
    if not any(isinstance(one, dict) for one in bags):
        return bags
    return [one if isinstance(one, dict) else _counts(one) for one in bags]


def _counts(names: Iterable[str]) -> dict[str, float]:
    """Count the occurrences of each name."""
    return {name: float(count) for name, count in Counter(names).items()}


def _walk(given: Any, where: str) -> Iterator[tuple[str, float]]:
    """Yield the names and values in a bag, or raise."""
    try:
        # The iteration order of a set differs between runs.
        items = iter(sorted(given, key=str) if isinstance(given, set | frozenset) else given)
    except TypeError:  # not iterable, such as a number or a 0-d array
        items = None
    if items is None or isinstance(given, str | bytes):
        raise InvalidInput(message(where, given, _EXPECTED, "put a single string into a list"))
    for one in items:
        key = _text(one, where)
        if not isinstance(key, str):
            raise InvalidInput(message(where, key, _EXPECTED, "name each attribute by a string"))
        if not isinstance(given, Mapping):
            yield key, 1.0
            continue
        value = _text(given[one], where)
        if isinstance(value, str):
            yield f"{key}:{value}", 1.0
        elif isinstance(value, Mapping | list | set | frozenset | tuple):
            yield from ((f"{key}:{name}", number) for name, number in _walk(value, where))
        elif isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biuf":
            for j, number in enumerate(value.tolist()):
                yield f"{key}:{j}", _number(number, f"{where}[{key!r}][{j}]")
        else:
            yield key, _number(value, f"{where}[{key!r}]")


def _text(given: Any, where: str) -> Any:
    """Convert bytes and string subclasses to str; return other values unchanged."""
    if isinstance(given, str):
        return str.__str__(given)  # the content of a str subclass, whatever its __str__ returns
    try:
        return given.decode() if isinstance(given, bytes) else given
    except UnicodeDecodeError:
        remedy = "decode them with the encoding that they are in"
        raise InvalidInput(message(where, given, "a string, or bytes in UTF-8", remedy)) from None


def _number(value: Any, where: str) -> float:
    """Return a value as a finite float, or raise."""
    try:
        # float() of a complex number raises TypeError in Python, but only warns in NumPy.
        number = math.nan if isinstance(value, np.complexfloating) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        remedy = "leave the attribute out where it has no value"
        raise InvalidInput(
            message(where, value, "a finite number, a string, a dict or a list", remedy)
        )
    return number
