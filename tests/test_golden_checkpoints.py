"""Files of training runs by the first version, which later versions must continue."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caesura import ChainCRF
from caesura.features import word
from caesura.learning.checkpoint import settings_of


def words_and_segments() -> tuple[list[list[str]], list[list[tuple[int, int, str]]]]:
    """Return the data of the golden checkpoints."""
    rng = np.random.default_rng(0)
    X = [[f"w{k}" for k in rng.integers(60, size=12)] for _ in range(40)]
    Y = []
    for words in X:
        found, start = [], 0
        while start < 12:
            number = int(words[start][1:])
            end = min(start + 1 + number % 3, 12)
            if number % 4:
                found.append((start, end, "ABC"[number % 3]))
            start = end
        Y.append(found)
    return X, Y


@pytest.mark.parametrize(("name", "c1"), [("lbfgs", 0.0), ("owlqn", 0.1)])
@pytest.mark.parametrize("memory", [None, 6])
def test_checkpoints_of_the_first_version_go_on(
    name: str, c1: float, memory: int | None, tmp_path: Path
) -> None:
    """They have six correction pairs in double precision, after four iterations."""
    X, Y = words_and_segments()
    settings: dict[str, Any] = {"c1": c1, "c2": 1.0, "n_threads": 1}
    path = tmp_path / "run"
    shutil.copy(Path(__file__).parent / "golden" / f"{name}.checkpoint", path)
    resumed = ChainCRF([word[0], word[-1]], memory=memory, **settings).fit(X, Y, checkpoint=path)
    anew = ChainCRF([word[0], word[-1]], **settings).fit(X, Y)
    assert [one.iteration for one in resumed.history_[:5]] == [1, 2, 3, 4, 5]
    assert resumed.history_[3].step > 0.0
    assert resumed.history_[-1].objective == pytest.approx(anew.history_[-1].objective, rel=1e-4)
    assert settings_of(path)["memory"] == 6
