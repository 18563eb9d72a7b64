"""The compiled module: its two builds agree, and its stub is current."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import caesura
from caesura import _kernels
from caesura.inference.problems import problem_of

SOURCE = Path(caesura.__file__).parent

# Answers of one build to a fixed set of questions, as JSON.
QUESTIONS = """
import json, sys
import numpy as np
import caesura
from caesura import _kernels
from caesura.inference.problems import problem_of

rng = np.random.default_rng(0)
answers = {"name": _kernels.name()}
for i in range(24):
    T, Y = int(rng.integers(1, 40)), int(rng.integers(1, 30))
    bound = [None, 1, 4][i % 3]
    scale = [1.0, 30.0, 1000.0][i // 8]
    p = caesura.Potentials(T, Y, max_length=bound)
    p.emission = scale * rng.normal(size=(T, Y))
    p.transition = scale * rng.normal(size=(Y, Y))
    n = 3 * T if i % 2 else 0
    starts = rng.integers(0, T, n)
    ends = np.minimum(starts + rng.integers(1, 4, n), T)
    kinds = rng.integers(0, 2, (2, n)).astype(bool)
    p.add_many(starts, ends, rng.integers(0, Y, n), rng.normal(size=n), *kinds)
    if i % 4 == 3:
        p.add_pattern([0, Y - 1, 0], 0.5)
    m = caesura.marginals(p)
    answers[str(i)] = {
        "log_partition": m.log_partition,
        "general": caesura.log_partition(p.constrain()),
        "tokens": m.tokens.tolist(),
        "transitions": m.transitions.tolist(),
        "potentials": m.potentials.tolist(),
        "entropy": caesura.entropy(p),
        "viterbi": caesura.viterbi(p).score,
    }
json.dump(answers, sys.stdout)
"""


def ask(build: str) -> dict[str, dict[str, object]]:
    run = subprocess.run(
        [sys.executable, "-c", QUESTIONS],
        env={**os.environ, "CAESURA_KERNELS": build},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)  # type: ignore[no-any-return]


def test_plain_and_wide_builds_agree() -> None:
    plain, wide = ask("plain"), ask("wide")
    assert plain.pop("name") == "plain"  # type: ignore[comparison-overlap]
    wide.pop("name")
    assert len(plain) == 24
    for i, answers in plain.items():
        for name, value in answers.items():
            a, b = np.array(value), np.array(wide[i][name])
            error = np.abs(a - b) / np.maximum(1.0, np.abs(a))
            assert error.max(initial=0.0) <= 1e-12, (i, name)


@pytest.mark.parametrize("build", ["plain", "wide"])
def test_the_variable_forces_a_build(build: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from caesura import _kernels; print(_kernels.name())"],
        env={**os.environ, "CAESURA_KERNELS": build},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() in {"plain", build}  # wide needs a machine that has it


def test_an_unknown_build_is_an_error() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import caesura.inference"],
        env={**os.environ, "CAESURA_KERNELS": "fastest"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert "CAESURA_KERNELS" in run.stderr
    assert "plain" in run.stderr


def test_the_stub_is_current(tmp_path: Path) -> None:
    """`make stubs` writes it."""
    made = tmp_path / "made.pyi"
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-m", "caesura._kernels", "-o", str(made), "-q"],
        check=True,
    )
    assert made.read_text() == (SOURCE / "_kernels.pyi").read_text()


def test_exp_and_log_are_accurate_to_the_last_digits() -> None:
    """Of one token with two labels: ln Z = log(e^a + e^b), and P = 1 / (1 + e^(b - a))."""
    rng = np.random.default_rng(1)
    for a, b in rng.uniform(-40, 40, (500, 2)):
        p = caesura.Potentials(2, 2)
        p.transition[:] = -np.inf
        p.emission[0] = a, b
        m = caesura.marginals(p)
        assert abs(m.log_partition - np.logaddexp(a, b)) <= 1e-14 * max(1.0, abs(m.log_partition))
        exact = 1 / (1 + np.exp(b - a))
        assert abs(m.tokens[0, 0] - exact) <= 1e-14 * exact + 1e-300


def test_kernels_check_what_they_are_given() -> None:
    with pytest.raises(TypeError):
        _kernels.Problem()  # type: ignore[call-arg]
    p = caesura.Potentials(2, 2)
    p._constraints.tables.append(("at most once", (5,)))
    with pytest.raises(ValueError, match="label out of range"):
        problem_of(p)
    with pytest.raises(ValueError, match="order"):
        _kernels.Automaton([0, 2])
