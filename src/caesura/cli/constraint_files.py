"""Constraint files: one object for all sequences, or one line for each."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from caesura.cli.output import warn
from caesura.cli.reading import base_name
from caesura.errors import InvalidInput

__all__ = ["Rules", "warn_uncalibrated"]

KNOWN = (
    *("required", "forbidden", "boundaries", "no_boundaries", "allowed"),
    *("at_most_once", "exactly_once", "ordered"),
)


class Rules:
    """Constraints read from a file, in the form that `Potentials.constrain` takes.

    Parameters
    ----------
    path : path
        ``.jsonl`` or ``.ndjson``: an object on each line, one for each sequence, read as they
        come; ``.toml``, or anything else, which is JSON: one object for all sequences.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._all: Mapping[str, Any] | None = None
        self._lines: Iterator[tuple[int, str]] = iter(())
        suffix = base_name(path).suffix
        if suffix in (".jsonl", ".ndjson"):
            self._lines = _lines(path)
            return
        try:
            text = path.read_text(encoding="utf-8")
            rules = tomllib.loads(text) if suffix == ".toml" else json.loads(text)
        except ValueError as error:  # invalid TOML, JSON or UTF-8
            raise InvalidInput(
                f"{path}: not {'TOML' if suffix == '.toml' else 'JSON'}: {error}"
            ) from None
        self._all = _checked(rules, str(path))

    def take(self, count: int) -> Any:
        """Return the constraints of the next sequences: one dict for all, or one for each."""
        if self._all is not None:
            return self._all
        lines = list(itertools.islice(self._lines, count))
        if len(lines) < count:
            raise InvalidInput(
                f"{self.path}: got fewer lines than there are sequences, expected one for each; "
                "write {} for a sequence without constraints"
            )
        found = []
        for number, line in lines:
            try:
                found.append(_checked(json.loads(line), f"{self.path}, line {number}"))
            except json.JSONDecodeError as error:
                raise InvalidInput(f"{self.path}, line {number}: not JSON: {error.msg}") from None
        return found

    def end(self) -> None:
        """Raise if constraints are left over."""
        if next(self._lines, None) is not None:
            raise InvalidInput(
                f"{self.path}: got more lines than there are sequences, expected one for each"
            )


def warn_uncalibrated(model: Any) -> None:
    """Warn if a model is calibrated, as its probabilities under constraints are not."""
    if getattr(model, "calibration_", None) is not None:
        warn(
            "--constraints: probabilities under constraints are the model's own, not calibrated, "
            "so that a threshold selects other sequences than without constraints"
        )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines of a file with their numbers."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise InvalidInput(f"{path}, line {number}: not UTF-8: {error.reason}") from None
            if text.strip():
                yield number, text


def _checked(rules: Any, place: str) -> dict[str, Any]:
    """Return constraints with integer token keys, which JSON stores as strings."""
    if not isinstance(rules, dict):
        raise InvalidInput(
            f'{place}: got {rules!r:.60}, expected an object, as {{"at_most_once": ["year"]}}'
        )
    for key in rules:
        if key not in KNOWN:
            raise InvalidInput(f"{place}: got the rule {key!r}, expected one of {', '.join(KNOWN)}")
    found = dict(rules)
    for key in ("required", "forbidden"):
        if key in found:
            found[key] = _segments(found[key], f"{place}: {key}")
    if "allowed" in found:
        try:
            found["allowed"] = {int(token): y for token, y in found["allowed"].items()}
        except (AttributeError, ValueError):
            raise InvalidInput(
                f"{place}: allowed: got {found['allowed']!r:.60}, expected labels for "
                'the numbers of tokens, as {"0": ["author"]}'
            ) from None
    return found


def _segments(given: Any, place: str) -> list[tuple[int, int, str]]:
    try:
        return [(int(start), int(end), str(label)) for start, end, label in given]
    except (TypeError, ValueError):
        raise InvalidInput(
            f'{place}: got {given!r:.60}, expected segments by tokens, as [[0, 2, "author"]]'
        ) from None
