"""Damaged corpora and models through the commands; bench/fuzz.py --commands does more of it."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture(scope="module")
def fuzz() -> Any:
    sys.path.insert(0, str(BENCH))
    try:
        yield runpy.run_path(str(BENCH / "fuzz.py"))
    finally:
        sys.path.remove(str(BENCH))


@pytest.mark.parametrize("what", ["conll", "jsonl", "csv", "xml", "brat", "text", "model"])
def test_of_damage_comes_a_line_and_nothing_else(
    fuzz: Any, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused, done, crashes = fuzz["of_commands"](what, 150 if what == "model" else 40, seed=1)
    assert crashes == 0, capsys.readouterr().err
    assert refused > 0
    assert done > 0
