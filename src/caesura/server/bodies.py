"""Request bodies: parsed within limits and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from caesura.errors import InvalidInput, message
from caesura.server.limits import Limits, Refused

__all__ = ["Question", "read_json", "read_question", "whole_number"]

KEYS = ("texts", "text", "model", "constraints", "n", "reasons")
SPANS = ("required", "forbidden")
BOUNDARIES = ("boundaries", "no_boundaries")
LABELS = ("at_most_once", "exactly_once", "ordered")
MOST_RULES = 1000  # maximum number of items in one constraint


class Question(NamedTuple):
    """The content of a request."""

    texts: list[str]
    model: str | None = None
    constraints: list[Mapping[str, Any]] | None = None  # by characters, one for each text
    n: int = 5
    reasons: int = 12


def read_json(body: bytes) -> Any:
    """Return the value of a JSON text.

    Examples
    --------
    >>> read_json(b'{"text": "Leeds"}')
    {'text': 'Leeds'}
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(400, f"body: got no JSON: {error}; send an object") from None


def read_question(body: Any, limits: Limits) -> Question:
    """Return the checked content of a request.

    Parameters
    ----------
    body : object
        The parsed body.
    limits : Limits
        The limits of a request.

    Examples
    --------
    >>> read_question({"texts": ["12 High Street"], "n": 3}, Limits()).n
    3
    >>> read_question({"text": ["a"]}, Limits())
    Traceback (most recent call last):
    caesura.errors.InvalidInput: text: got ['a'], expected a string; send a text
    """
    if not isinstance(body, dict):
        raise InvalidInput(message("body", body, "an object", 'send {"texts": ["..."]}'))
    for key in body:
        if key not in KEYS:
            expected = f"keys among {', '.join(KEYS)}"
            raise InvalidInput(message("body", key, expected, "leave out other keys"))
    texts = _texts(body, limits)
    model = body.get("model")
    if model is not None and not isinstance(model, str):
        raise InvalidInput(message("model", model, "the name of a model", "GET /models lists them"))
    n = whole_number("n", body.get("n", Question._field_defaults["n"]), 1, limits.n_best)
    reasons = whole_number("reasons", body.get("reasons", 12), 0, 1000)
    return Question(texts, model, _constraints(body.get("constraints"), len(texts)), n, reasons)


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """Return an integer in a range, or raise.

    Examples
    --------
    >>> whole_number("n", 3, 1, 10)
    3
    """
    if type(value) is not int or not least <= value <= most:
        expected = f"a whole number, {least} to {most:,}"
        raise InvalidInput(message(name, value, expected, "send another number"))
    return value


def _texts(body: Mapping[str, Any], limits: Limits) -> list[str]:
    """Return the texts of a request."""
    if ("texts" in body) == ("text" in body):
        raise InvalidInput(
            place="body", expected="either texts, a list of strings, or text", remedy="send one key"
        )
    if "text" in body:
        return [_text("text", body["text"], limits)]
    texts = body["texts"]
    if not isinstance(texts, list):
        raise InvalidInput(message("texts", texts, "a list of strings", "send [text]"))
    if len(texts) > limits.texts:
        most = f"at most {limits.texts:,}; send several requests, or a stream of JSON lines"
        raise Refused(413, f"texts: got {len(texts):,} texts, expected {most}")
    return [_text(f"texts[{i}]", text, limits) for i, text in enumerate(texts)]


def _text(name: str, text: Any, limits: Limits) -> str:
    if not isinstance(text, str):
        raise InvalidInput(message(name, text, "a string", "send a text"))
    if len(text) > limits.characters:
        reason = f"{name}: got {len(text):,} characters, expected at most {limits.characters:,}"
        raise Refused(413, f"{reason}; send its parts")
    return text


def _constraints(given: Any, count: int) -> list[Mapping[str, Any]] | None:
    """Return the constraints on each text, or None where there are none."""
    if given is None or given == {}:
        return None
    if isinstance(given, dict):
        _check_rules("constraints", given)
        return [given] * count
    if not isinstance(given, list) or len(given) != count:
        expected = "an object, or a list with an object for each text"
        remedy = 'send {"required": [[0, 7, "author"]]}'
        raise InvalidInput(message("constraints", given, expected, remedy))
    for i, rules in enumerate(given):
        _check_rules(f"constraints[{i}]", rules)
    return given


def _check_rules(name: str, rules: Any) -> None:
    """Raise unless constraints have valid keys with lists of valid items."""
    if not isinstance(rules, dict):
        raise InvalidInput(message(name, rules, "an object", 'send {"at_most_once": ["year"]}'))
    for key, items in rules.items():
        if key not in (*SPANS, *BOUNDARIES, *LABELS):
            expected = f"one of {', '.join((*SPANS, *BOUNDARIES, *LABELS))}"
            raise InvalidInput(message(name, key, expected, "correct the key"))
        place = f"{name}.{key}"
        if not isinstance(items, list) or len(items) > MOST_RULES:
            expected = f"a list of at most {MOST_RULES} items"
            raise InvalidInput(message(place, items, expected, "send a list"))
        for i, item in enumerate(items):
            _check_item(f"{place}[{i}]", key, item)


def _check_item(name: str, key: str, item: Any) -> None:
    if key in LABELS:
        good, expected = isinstance(item, str), "a label"
    elif key in BOUNDARIES:
        good, expected = type(item) is int and item >= 0, "the offset of a character"
    else:
        expected = "[start, end, label] by characters"
        good = (
            isinstance(item, list)
            and [type(part) for part in item] == [int, int, str]
            and 0 <= item[0] < item[1]
        )
    if not good:
        raise InvalidInput(message(name, item, expected, f"send {expected}"))
