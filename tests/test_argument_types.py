"""Arguments of every type: inference and potentials raise `InvalidInput` that names them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import caesura
from caesura import InvalidInput, Potentials, Segment
from caesura.inference.results import Path

WRONG: list[Any] = [
    *("x", b"x", float("nan"), float("inf"), -1, 2**63, 2**70, -(2**70), None, True, 1.5, 3j),
    *(
        [],
        [1],
        ["x"],
        [[1], [2, 3]],
        [None],
        [2**70],
        {},
        {"x": 1},
        {2**70: ["name"]},
        set(),
        object,
    ),
    *(np.array([1, 2]), np.array(2), [("x", 1, "name")], [(0, 1)], (), [()]),
]


def potentials() -> Potentials:
    p = Potentials(3, ["name", "other"], max_length=2)
    p.add(0, 2, "name", 1.0)
    return p


def paths(segments: Any) -> str:
    return str(Path(segments, 1.0))


ASK: dict[str, Callable[[Any], Any]] = {
    "min_probability": lambda x: caesura.marginals(potentials()).segments(x),
    "position": lambda x: caesura.marginals(potentials()).transition(x, "name", "other"),
    "previous": lambda x: caesura.marginals(potentials()).transition(1, x, "other"),
    "segment": lambda x: caesura.marginals(potentials()).segment(x, 2, "name"),
    "segment end": lambda x: caesura.marginals(potentials()).segment(0, x, "name"),
    "labels": lambda x: caesura.marginals(potentials()).segment(0, 1, x),
    "segments": paths,
    "label": lambda x: potentials().add_many([0], [2], x, [1.0]),
    "starts": lambda x: potentials().add_many(x, [2], "name", [1.0]),
    "open_start": lambda x: potentials().add(0, 1, "name", 1.0, open_start=x),
    "add_pattern": lambda x: potentials().add_pattern(x, 1.0),
    "tokens": lambda x: Potentials(3, ["name"], tokens=x),
    "max_length": lambda x: Potentials(3, ["name"], max_length=x),
    "method": lambda x: caesura.marginals(potentials(), method=x),
    "p": lambda x: caesura.log_partition(x),
    "score": lambda x: caesura.score(potentials(), x),
}


def constrained(rule: str, value: Any) -> Potentials:
    return potentials().constrain(**{rule: value})


RULES = ["required", "forbidden", "boundaries", "no_boundaries", "allowed", "ordered"]
ASK |= {rule: partial(constrained, rule) for rule in [*RULES, "at_most_once", "exactly_once"]}


@pytest.mark.parametrize("name", ASK)
def test_wrong_types_are_refused_by_name(name: str) -> None:
    refused = 0
    for value in WRONG:
        try:
            ASK[name](value)
        except InvalidInput:
            refused += 1
    assert refused


@pytest.mark.parametrize("value", ["x", None, [0.5], float("nan"), -1, 2**70, np.array([1, 2])])
def test_a_wrong_probability_is_named(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^min_probability: got .*, expected a number from 0"):
        caesura.marginals(potentials()).segments(value)


def test_paths_with_numbered_labels_are_shown() -> None:
    shown = paths([(np.int64(0), 1, 0), Segment(1, 2, "name")])
    assert "[0, 1)" in shown
    assert "name" in shown
