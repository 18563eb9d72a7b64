"""The search space of `tune`: values by name, as a grid or sampled, and settings as TOML."""

from __future__ import annotations

import difflib
import itertools
import json
import math
import os
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from caesura.cli.model_settings import ALIASES, Choices, known_choices
from caesura.errors import InvalidInput, message

__all__ = ["Range", "candidates", "parse", "toml"]

POINTS = 5  # values per range in a grid
Space = dict[str, "Range | list[Any]"]


class Range(NamedTuple):
    """A range of numbers, on a logarithmic scale where both ends are positive.

    Examples
    --------
    >>> Range(0.01, 1.0).points(3)
    [0.01, 0.1, 1.0]
    >>> Range(1, 9).points(3)
    [1, 3, 9]
    """

    low: float
    high: float

    def points(self, count: int) -> list[float]:
        """Return evenly spaced numbers."""
        return list(dict.fromkeys(self._at(k / max(1, count - 1)) for k in range(count)))

    def draw(self, chance: random.Random) -> float:
        """Draw a random number."""
        return self._at(chance.random())

    def _at(self, share: float) -> float:
        if self.low > 0:
            value = math.exp(math.log(self.low) * (1 - share) + math.log(self.high) * share)
        else:
            value = self.low + (self.high - self.low) * share
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        return round(value) if whole else float(f"{value:.4g}")


def parse(given: Sequence[str]) -> Space:
    """Parse the search space into values by parameter name.

    Parameters
    ----------
    given : sequence of str
        As ``c2=0.1,1,10``, ``preset=ner,generic`` or ``c1=0.001..1``.

    Examples
    --------
    >>> parse(["c2=0.1,1", "preset=ner,generic", "c1=0.001..1.0"])
    {'c2': [0.1, 1], 'features': ['ner', 'generic'], 'c1': Range(low=0.001, high=1.0)}
    """
    space: Space = {}
    known = known_choices()
    for one in given:
        name, mark, values = (part.strip() for part in one.partition("="))
        key = ALIASES.get(name.replace("-", "_"), name.replace("-", "_"))
        if not mark or not values:
            raise InvalidInput(message("--try", one, "NAME=VALUE,VALUE", "write c2=0.1,1,10"))
        if key not in known:
            near = difflib.get_close_matches(key, [*known, *ALIASES], 3)
            expected = f"a choice such as {', '.join(near)}" if near else "a choice"
            raise InvalidInput(message("--try", name, expected, "see caesura train --help"))
        low, dots, high = values.partition("..")
        space[key] = _range(one, low, high) if dots else [_value(v) for v in values.split(",")]
    return space


def _range(one: str, low: str, high: str) -> Range:
    found = Range(_value(low), _value(high))
    if not all(isinstance(end, int | float) for end in found) or not found.low < found.high:
        raise InvalidInput(message("--try", one, "LOW..HIGH", "write c2=0.01..10"))
    return found


def _value(text: str) -> Any:
    """Parse a value as TOML, or else as a string."""
    if text.strip().lower() == "none":
        return None
    try:
        return tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def candidates(space: Space, draws: int | None, seed: int) -> Iterator[Choices]:
    """Yield all combinations of values, or random ones.

    Examples
    --------
    >>> list(candidates({"c1": [0, 1], "c2": [2]}, None, 0))
    [{'c1': 0, 'c2': 2}, {'c1': 1, 'c2': 2}]
    >>> len(list(candidates({"c2": Range(0.01, 10.0)}, 3, 0)))
    3
    """
    if draws is None:
        listed = [v.points(POINTS) if isinstance(v, Range) else v for v in space.values()]
        for values in itertools.product(*listed):
            yield dict(zip(space, values, strict=True))
        return
    chance = random.Random(seed)
    seen: set[str] = set()
    for _ in range(20 * draws):  # a small space may contain fewer than `draws`
        drawn = {
            name: values.draw(chance) if isinstance(values, Range) else chance.choice(values)
            for name, values in space.items()
        }
        if repr(drawn) not in seen and len(seen) < draws:
            seen.add(repr(drawn))
            yield drawn


def toml(choices: Mapping[str, Any], beside: Path | None = None) -> str:
    """Format settings as TOML for ``train --config``.

    Examples
    --------
    >>> print(toml({"c2": 0.1, "features": "ner", "max_length": {"PER": 5}, "scheme": None}))
    c2 = 0.1
    preset = "ner"
    max_length = { "PER" = 5 }
    scheme = "none"
    """
    lines = []
    for name, value in choices.items():
        if name == "gazetteer":
            folder = Path.cwd() if beside is None else beside.absolute().parent
            value = [os.path.relpath(one, folder) for one in value]
        lines.append(f"{'preset' if name == 'features' else name} = {_toml(value)}")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_toml(str(k))} = {_toml(v)}" for k, v in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
