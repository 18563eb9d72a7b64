"""Serialisation of features for model files.

A feature is written as its type and its fields: {"type": "Length", "exact": [1, 2], ...}. A lexicon
is written as {"lexicon": name}, for its entries are kept apart, and a function as {"function":
"module:name"}.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import reduce
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from caesura.documents.tokenisers import check_trusted
from caesura.errors import InvalidInput, message
from caesura.features.columns import NormalisedColumn, WordColumn
from caesura.features.dictionary import Dictionary, MatchedColumn, Text
from caesura.features.document_columns import (
    AttributesColumn,
    DenseColumn,
    FunctionColumn,
    GivenColumn,
    PositionColumn,
    RepeatColumn,
    remembered,
)
from caesura.features.enclosing import EnclosingColumn, PlaceColumn
from caesura.features.history import SegmentHistory
from caesura.features.lexicons import Lexicon
from caesura.features.lookback import Incremental, SegmentTemplate
from caesura.features.segment import Length, Pattern, SegmentFunction, SegmentShape, TokenAt
from caesura.features.segment_base import SegmentFeature
from caesura.features.similar import Similar
from caesura.features.templates import Column, Template

__all__ = ["declared", "from_spec", "lexicons_of", "to_spec"]

_TYPES: dict[str, type] = {
    one.__name__: one
    for one in (
        *(Template, WordColumn, NormalisedColumn, GivenColumn, PositionColumn, RepeatColumn),
        *(FunctionColumn, AttributesColumn, DenseColumn, MatchedColumn),
        *(EnclosingColumn, PlaceColumn),
        *(Length, TokenAt, SegmentShape, Pattern, SegmentFunction, Dictionary, Text, Similar),
        *(SegmentHistory, SegmentTemplate, Incremental),
    )
}


def declared(features: Iterable[Any]) -> list[Template | SegmentFeature]:
    """Return features as a list, or raise if an item is not a feature.

    Parameters
    ----------
    features : iterable of Template, SegmentFeature or Column
        A bare column has offset 0.

    Examples
    --------
    >>> from caesura.features import Length, word
    >>> declared([word, word[-1], Length(exact=2)])
    [word[0], word[-1], Length(exact=(1, 2), at_least=(), ranges=())]
    >>> declared(["word"])
    Traceback (most recent call last):
    caesura.errors.InvalidInput: features[0]: got 'word', expected a template or a feature of
    segments; write word[0] or Length(exact=3), or use a preset
    """
    if isinstance(features, str) or not isinstance(features, Iterable):
        remedy = "pass a list like [word[0], word[-1]]"
        raise InvalidInput(message("features", features, "a list of features", remedy))
    checked = _checked(features)
    _check_names(checked)
    _check_lexicons(checked)
    return checked


def _checked(features: Iterable[Any]) -> list[Template | SegmentFeature]:
    """Return features as a list, or raise if an item is not a feature or occurs twice."""
    checked: dict[Template | SegmentFeature, int] = {}
    columns: dict[str, Column] = {}
    for i, given in enumerate(features):
        one = given[0] if isinstance(given, Column) else given
        if not isinstance(one, Template | SegmentFeature):
            remedy = "write word[0] or Length(exact=3), or use a preset"
            expected = "a template or a feature of segments"
            raise InvalidInput(message(f"features[{i}]", given, expected, remedy))
        if one in checked:
            expected = f"each feature once; this is also features[{checked[one]}]"
            raise InvalidInput(message(f"features[{i}]", given, expected, "leave one out"))
        checked[one] = i
        for column in _columns_of(one):
            if columns.setdefault(column.name, column) != column:
                expected = f"a name other than that of {columns[column.name]!r}"
                remedy = "give one of the two columns another name"
                raise InvalidInput(message(f"features[{i}]", column.name, expected, remedy))
    return list(checked)


def _columns_of(feature: Template | SegmentFeature) -> list[Column]:
    """Return the columns used by a template."""
    if isinstance(feature, Template):
        return [column for column, _ in feature.parts]
    return [part[2] for part in feature.parts] if isinstance(feature, SegmentTemplate) else []


def _check_names(features: Sequence[Template | SegmentFeature]) -> None:
    """Raise if the attributes of two features have the same names."""
    called: dict[str, list[tuple[int, set[str]]]] = {}
    known = set(_TYPES.values())
    for i, one in enumerate(features):
        if isinstance(one, Template):
            name, says = one.prefix[:-1], {""}
        else:
            name, says = one.name, set(one.says)
        for other, said in called.setdefault(name, []):
            both = sorted(says & said) or [""] * ("" in says | said)
            if both:
                plain = _plain(one)
                own = isinstance(plain, Pattern | SegmentFunction) or type(plain) not in known
                remedy = "give one another name" if own else "leave out one of the two"
                expected = f"other names than {name}{both[0]}, which features[{other}] has too"
                raise InvalidInput(message(f"features[{i}]", one, expected, remedy))
        called[name].append((i, says))


def _check_lexicons(features: Sequence[Template | SegmentFeature]) -> None:
    """Raise if two lexicons share a name, including those to be learnt."""
    known = lexicons_of(features)
    for i, one in enumerate(map(_plain, features)):
        if isinstance(one, Text) and known.get(one.learnt, one.lexicon) != one.lexicon:
            expected = f"no lexicon called {one.learnt!r}, which this will learn"
            raise InvalidInput(message(f"features[{i}]", one, expected, "rename the lexicon"))


def _plain(feature: Template | SegmentFeature) -> Template | SegmentFeature:
    """Return a feature without its label history."""
    return feature.feature if isinstance(feature, SegmentHistory) else feature


def to_spec(features: Iterable[Template | SegmentFeature]) -> list[Any]:
    """Return features as data for JSON.

    Raises
    ------
    InvalidInput
        For a function that has no import name, such as a lambda, and for a feature of a class that
        this library does not have.

    Examples
    --------
    >>> from caesura.features import Length, first, prefix
    >>> to_spec([first(prefix(3)[0])])  # doctest: +NORMALIZE_WHITESPACE
    [{'type': 'Template', 'parts': [[{'type': 'WordColumn', 'kind': 'prefix', 'arguments': [3],
      'name': 'prefix3'}, 0]], 'place': 'first'}]
    >>> from_spec(to_spec([Length(at_least=3)]))
    [Length(exact=(), at_least=(3,), ranges=())]
    """
    return [_written(feature) for feature in features]


def from_spec(
    spec: Iterable[Any], lexicons: Mapping[str, Lexicon] | None = None, trust: bool = False
) -> list[Template | SegmentFeature]:
    """Return features from the output of `to_spec`.

    Parameters
    ----------
    spec : list
        The result of `to_spec`.
    lexicons : mapping from str to Lexicon
        The lexicons by name, as `lexicons_of` gives them.
    trust : bool
        Whether to import the modules of functions that the spec names.  Functions that this process
        has passed to a feature or a normaliser need no trust.  Without it, regular expressions that
        may take exponential time are refused.

    Raises
    ------
    InvalidInput
        For something that is not known here, a lexicon that is not given, or a function that
        cannot be imported.

    Examples
    --------
    >>> from caesura.features import Dictionary
    >>> features = [Dictionary(Lexicon("cities", ["New York"]))]
    >>> from_spec(to_spec(features), lexicons_of(features)) == features
    True
    """
    return _checked(_read(one, lexicons or {}, trust) for one in spec)


def lexicons_of(features: Iterable[Any]) -> dict[str, Lexicon]:
    """Return all lexicons that features use, by name.

    Examples
    --------
    >>> from caesura.features import in_lexicon
    >>> lexicons_of([in_lexicon(Lexicon("cities", ["Chicago"]))[0]])
    {'cities': Lexicon('cities', 1 entry)}
    """
    found: dict[str, Lexicon] = {}
    for lexicon in _lexicons(list(features)):
        if found.setdefault(lexicon.name, lexicon) != lexicon:
            expected = "one lexicon of each name"
            raise InvalidInput(message("lexicon", lexicon.name, expected, "rename one of them"))
    return found


def _lexicons(value: Any) -> Iterator[Lexicon]:
    """Yield the lexicons in a feature, recursively."""
    if isinstance(value, Lexicon):
        yield value
        return
    parts = value if isinstance(value, list | tuple) else _fields(value)
    for one in parts:
        yield from _lexicons(one)


def _fields(value: Any) -> list[Any]:
    """Return the fields of a dataclass; empty for other objects."""
    return [getattr(value, name) for name in getattr(value, "__dataclass_fields__", ())]


def _written(value: Any) -> Any:
    """Return a feature or one of its fields as data for JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_written(one) for one in value]
    if isinstance(value, Lexicon):
        return {"lexicon": value.name}
    if _TYPES.get(type(value).__name__) is type(value):
        parts = {name: _written(getattr(value, name)) for name in _arguments(type(value))}
        if isinstance(value, Template) and not value.order:
            del parts["order"]  # so that versions without histories can read it
        if isinstance(value, DenseColumn) and not value.mean:
            del parts["mean"], parts["scale"]  # so that versions without standardisation can read
        return {"type": type(value).__name__, **parts}
    if callable(value) and not isinstance(value, Column | SegmentFeature):
        return {"function": function_name(value)}
    remedy = "use function(f) or SegmentFunction(f, max_length) for your own"
    raise InvalidInput(message("features", value, "features of this library", remedy))


def _arguments(kind: Any) -> list[str]:
    """Return the argument names of a feature type."""
    return [field.name for field in fields(kind) if field.init]


def function_name(function: Callable[..., Any]) -> str:
    """Return "module:name" of a function, or raise if it cannot be imported by that name."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None)
    full = f"{module}:{name}"
    if not module or not name or "<" in name or _resolved(full) is not function:
        expected = "a function that can be imported by its name, unlike a lambda"
        remedy = "define it by def at the top of a module, import it from there, and fit again"
        raise InvalidInput(message("function", function, expected, remedy))
    if module == "__main__":
        warnings.warn(
            f"function: {name} is defined in __main__, from which no other program can load it; "
            "define it in a module, import it from there, and fit again",
            stacklevel=2,
        )
    return full


def _resolved(full: str) -> Any:
    """Return the object with an import name; None if there is none."""
    module, _, name = full.partition(":")
    try:
        return reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError, ValueError):
        return None


def _read(value: Any, lexicons: Mapping[str, Lexicon], trust: bool) -> Any:
    """Return the object that serialised data describes."""
    if isinstance(value, list):
        return tuple(_read(one, lexicons, trust) for one in value)
    if not isinstance(value, Mapping):
        return value
    if "type" in value:
        return _made(value, lexicons, trust)
    if set(value) == {"lexicon"}:
        if value["lexicon"] not in lexicons:
            known = ", ".join(lexicons) or "none"
            expected = f"one of the lexicons that are given: {known}"
            raise InvalidInput(
                message("lexicon", value["lexicon"], expected, "pass this lexicon as well")
            )
        return lexicons[value["lexicon"]]
    if set(value) == {"function"} and isinstance(value["function"], str):
        return named_function(value["function"], trust)
    raise InvalidInput(message("spec", value, "what to_spec writes", "write it again"))


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value has the type of a field."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is tuple and inner[-1] is not Ellipsis:
        same = isinstance(value, tuple) and len(value) == len(inner)
        return same and all(map(_fits, value, inner))
    if origin in (tuple, Sequence):
        return isinstance(value, tuple) and all(_fits(one, inner[0]) for one in value)
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and not isinstance(
            value, bool
        )
    return isinstance(value, origin or hint)


def named_function(full: str, trust: bool) -> Any:
    """Return the function with an import name, if the module defines it.

    Without trust, only functions that this process has passed to a feature or a normaliser are
    found, and nothing is imported: functions of this library can delete files, for example.
    """
    used = remembered(full)
    if used is not None:
        return used
    if not trust:
        expected = "a function that this process has used as a feature or a normaliser"
        remedy = "pass trust=True (--trust on the command line) to import it, if you trust the file"
        raise InvalidInput(message("function", full, expected, remedy))
    function = _resolved(full)
    own = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not callable(function) or ":".join(map(str, own)) != full:
        expected = "a function that can be imported here"
        remedy = "install or write the module that has it, under the same name"
        raise InvalidInput(message("function", full, expected, remedy))
    return function


def _made(value: Mapping[str, Any], lexicons: Mapping[str, Lexicon], trust: bool) -> Any:
    """Construct a feature or a column from its type and fields."""
    kind = _TYPES.get(str(value["type"]))
    if kind is None:
        remedy = "a newer version may have written it: update the library"
        raise InvalidInput(message("type", value["type"], ", ".join(_TYPES), remedy))
    parts = {name: _read(part, lexicons, trust) for name, part in value.items() if name != "type"}
    known = set(_arguments(kind))
    try:
        if not parts.keys() <= known:
            raise TypeError(f"no field {min(parts.keys() - known)}")
        hints = get_type_hints(kind)
        for name, part in parts.items():
            if not _fits(part, hints[name]):
                raise TypeError(f"{name} is {part!r}")
        made = kind(**parts)
    except (TypeError, AttributeError) as error:
        expected = f"the fields of {kind.__name__}, which are {', '.join(sorted(known))}"
        remedy = f"a newer version may have written it ({error})"
        raise InvalidInput(message("spec", dict(value), expected, remedy)) from error
    if not trust and isinstance(made, Pattern):
        check_trusted(made.pattern, "pattern", search=False)
    elif not trust and isinstance(made, WordColumn) and made.kind == "matches":
        check_trusted(str(made.arguments[0]), "pattern", search=False)
    return made
