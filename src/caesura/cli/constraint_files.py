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
            form = "TOML" if suffix == ".toml" else "JSON"
            raise InvalidInput(
                f"not {form}: {error}", place=path, remedy="correct the file"
            ) from None
        self._all = _checked(rules, path)

    def take(self, count: int) -> Any:
        """Return the constraints of the next sequences: one dict for all, or one for each."""
        if self._all is not None:
            return self._all
        lines = list(itertools.islice(self._lines, count))
        if len(lines) < count:
            raise InvalidInput(
                place=self.path,
                got="fewer lines than there are sequences",
                expected="one for each",
                remedy="write {} for a sequence without constraints",
            )
        found = []
        for number, line in lines:
            try:
                found.append(_checked(json.loads(line), self.path, number))
            except json.JSONDecodeError as error:
                raise InvalidInput(
                    f"not JSON: {error.msg}", file=self.path, line=number, remedy="correct the line"
                ) from None
        return found

    def end(self) -> None:
        """Raise if constraints are left over."""
        if next(self._lines, None) is not None:
            raise InvalidInput(
                place=self.path,
                got="more lines than there are sequences",
                expected="one for each",
                remedy="remove the last lines",
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
                raise InvalidInput(
                    f"not UTF-8: {error.reason}", file=path, line=number, remedy="convert the file"
                ) from None
            if text.strip():
                yield number, text


def _checked(rules: Any, path: Path, line: int | None = None) -> dict[str, Any]:
    """Return constraints with integer token keys, which JSON stores as strings."""
    if not isinstance(rules, dict):
        raise InvalidInput(
            file=path,
            line=line,
            got=f"{rules!r:.60}",
            expected='an object, as {"at_most_once": ["year"]}',
            remedy="write the rules as keys of one object",
        )
    for key in rules:
        if key not in KNOWN:
            raise InvalidInput(
                file=path,
                line=line,
                got=f"the rule {key!r}",
                expected=f"one of {', '.join(KNOWN)}",
                remedy="correct the name of the rule",
            )
    found = dict(rules)
    for key in ("required", "forbidden"):
        if key in found:
            try:
                found[key] = [(int(start), int(end), str(y)) for start, end, y in found[key]]
            except (TypeError, ValueError):
                raise InvalidInput(
                    file=path,
                    line=line,
                    place=key,
                    got=f"{found[key]!r:.60}",
                    expected='segments by tokens, as [[0, 2, "author"]]',
                    remedy="write the start, the end and the label of each",
                ) from None
    if "allowed" in found:
        try:
            found["allowed"] = {int(token): y for token, y in found["allowed"].items()}
        except (AttributeError, ValueError):
            raise InvalidInput(
                file=path,
                line=line,
                place="allowed",
                got=f"{found['allowed']!r:.60}",
                expected='labels for the numbers of tokens, as {"0": ["author"]}',
                remedy="write a list of labels for each token",
            ) from None
    return found
