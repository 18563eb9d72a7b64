"""A semi-CRF over the spans that a first model keeps: bound, gradient, answers."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from cli_data import bad
from hypothesis import given
from oracle import close

import caesura
from caesura import persistence
from caesura.errors import InvalidInput, NotFitted
from caesura.features import word
from caesura.models import PrunedSemiCRF
from caesura.models.span_pool import threshold_for
from caesura.segments import Segment

STREETS = ["High", "Mill", "Park", "Kirk", "Low", "New"]
TOWNS = ["Leeds", "York", "Hull", "Ripon"]


def addresses(n: int, seed: int) -> tuple[list[str], list[list[Segment]]]:
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        number, street, town = int(rng.integers(1, 99)), rng.choice(STREETS), rng.choice(TOWNS)
        X.append(f"at {number} {street} Road {town}")
        y.append([Segment(1, 2, "number"), Segment(2, 4, "street"), Segment(4, 5, "town")])
    return X, y


def described(document: caesura.Document, start: int, end: int) -> Iterator[str]:
    yield f"text={' '.join(document.tokens[start:end])}"
    yield f"length={end - start}"


@pytest.fixture(scope="module")
def model() -> PrunedSemiCRF:
    first = caesura.SemiCRF([word[0], word[1]], max_length=3, c2=0.5, tokeniser="words")
    return PrunedSemiCRF(described, first, max_lost=0.02, max_iterations=20).fit(*addresses(40, 0))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 1))
def test_the_threshold_is_the_highest_within_the_bound(chances: list[float], bound: float) -> None:
    least, lost = threshold_for(chances, bound)
    assert lost == sum(p < least for p in chances) / len(chances)
    assert lost <= bound + 1e-9
    higher = [p for p in chances if p > least]
    if higher:  # the next one loses too much
        assert sum(p < min(higher) for p in chances) / len(chances) > bound - 1e-9


def test_it_learns_and_keeps_the_bound(model: PrunedSemiCRF) -> None:
    X, y = addresses(20, 1)
    assert model.score(X, y) == 1.0
    assert model.lost_ <= 0.02
    assert model.kept_ < 3 * 3  # spans of up to three tokens with three labels
    assert model.labels_ == ["number", "street", "town"]
    assert model.predict([[]]) == [[]]


def test_the_gradient_of_the_objective(model: PrunedSemiCRF) -> None:
    X, gold = addresses(4, 2)
    documents, _ = model._read(X, gold)
    from caesura.models.span_pool import Seen

    seen = Seen.of(model.first_, documents)
    kept = [model._kept(one) for one in seen]
    for some, one, cut in zip(kept, seen, gold, strict=True):
        known = {segment for segment, _ in some}
        some += [(s, one.chance(s)) for s in cut if s not in known]
    pool = model._pooled(documents, seen, kept, False)
    objective = model._objective(pool, gold)
    rng = np.random.default_rng(0)
    w = rng.normal(size=len(model.weights_)) * 0.3
    value, gradient = objective(w)
    assert value > 0.0
    for _ in range(5):
        direction = rng.normal(size=len(w))
        step = 1e-5 * direction
        numeric = (objective(w + step)[0] - objective(w - step)[0]) / 2e-5
        assert close(float(gradient @ direction), numeric, 1e-5)


def test_probabilities_are_sums_over_paths_of_kept_spans(model: PrunedSemiCRF) -> None:
    X, _ = addresses(1, 3)
    (found,) = model.predict_confident(X)
    [(graph, pool)] = list(model._answers(X))
    log_z = graph.log_partition()
    paths = graph.n_best(100_000)
    assert close(sum(math.exp(path.score - log_z) for path in paths), 1.0, 1e-9)
    for one in found:
        total = sum(
            math.exp(path.score - log_z)
            for path in paths
            if one.segment in [s for s, _ in model._split(path.spans, pool)[0]]
        )
        assert close(one.probability, total, 1e-9)


def test_functions_are_called_for_kept_spans_only() -> None:
    asked: list[tuple[int, int]] = []

    def seen(document: caesura.Document, start: int, end: int) -> str:
        asked.append((start, end))
        return f"length={end - start}"

    X, y = addresses(30, 4)
    made = PrunedSemiCRF(seen, caesura.SemiCRF([word[0]], c2=0.1), max_lost=0.1).fit(X, y)
    asked.clear()
    made.predict(X[:10])
    assert 0 < len(asked) < 10 * 15  # a text of five tokens has 15 spans


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"features": 3}, "features: got 3"),
        ({"max_lost": 2.0}, "max_lost: got 2.0"),
        ({"folds": 1}, "folds: got 1"),
        ({"folds": 50}, "folds: got 50, expected at most 10"),
        ({"first": caesura.ChainCRF()}, "first: got"),
        ({"features": lambda d, s, e: 1 / 0}, r"features\(document, .*\) of X\[0\]"),
    ],
)
def test_errors_name_the_argument(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        PrunedSemiCRF(**{"features": described, **settings}).fit(*addresses(10, 0))


def test_it_must_be_fitted_on_some_segments() -> None:
    with pytest.raises(NotFitted):
        PrunedSemiCRF(described).predict(["x"])
    with pytest.raises(InvalidInput, match="y: got no segment at all"):
        PrunedSemiCRF(described).fit(["a", "b", "c"], [[], [], []])


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [True, False])
def test_it_survives_a_file(model: PrunedSemiCRF, given: bool, tmp_path: Path) -> None:
    X, _ = addresses(20, 1)
    if not given:
        model = PrunedSemiCRF(described, folds=2, max_iterations=5).fit(*addresses(12, 0))
    model.save(tmp_path / "it.model")
    loaded = caesura.load(tmp_path / "it.model")
    assert type(loaded) is PrunedSemiCRF
    assert loaded.predict_confident(X) == model.predict_confident(X)
    for name in ("threshold_", "lost_", "kept_", "labels_", "vocabulary_"):
        assert getattr(loaded, name) == getattr(model, name)
    assert repr(loaded) == repr(model)
    assert loaded.features is described
    again = loaded.fit(*addresses(12, 2))  # the settings are all there
    assert again.predict(X) == type(model)(**model.get_params()).fit(*addresses(12, 2)).predict(X)


def test_the_function_is_imported_only_with_trust(tmp_path: Path) -> None:
    (tmp_path / "whole_spans.py").write_text(
        "def text(document, start, end):\n    return ' '.join(document.tokens[start:end])\n"
    )
    code = """
        import sys, caesura
        from caesura.models import PrunedSemiCRF
        X = [["at", "5", "High", "Road"], ["at", "7", "Mill", "Road"]] * 2
        y = [[(1, 2, "number"), (2, 4, "street")]] * 4
        if sys.argv[1] == "save":
            from whole_spans import text
            PrunedSemiCRF(text, folds=2).fit(X, y).save("it.model")
        else:
            print(caesura.load("it.model", trust=sys.argv[1] == "trust").predict(X[:1]))
    """
    (tmp_path / "use.py").write_text(textwrap.dedent(code))

    def run(how: str) -> Any:
        command = [sys.executable, "use.py", how]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert run("save").returncode == 0
    assert "label='street'" in run("trust").stdout
    refused = run("doubt")
    assert refused.returncode == 1
    assert "it.model: function: got 'whole_spans:text'" in refused.stderr
    assert "pass trust=True" in refused.stderr


def test_what_cannot_be_saved_or_loaded(model: PrunedSemiCRF, tmp_path: Path) -> None:
    file = tmp_path / "it.model"
    with pytest.raises(NotFitted, match="PrunedSemiCRF: not fitted yet"):
        PrunedSemiCRF(described).save(file)
    plain = PrunedSemiCRF(lambda document, start, end: "x", folds=2, max_iterations=2)
    plain.fit(*addresses(6, 0))
    with pytest.raises(InvalidInput, match=r"function: got .* unlike a lambda"):
        plain.save(file)
    assert not file.exists()
    model.save(file)
    header, arrays = persistence.read(file, "model")
    damaged: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {"weights": arrays["weights"][:-1]}, "weights: wrong"),
        ({}, {"weights": arrays["weights"] * np.nan}, "weights: got NaN"),
        ({}, {"vocabulary": persistence.pack(["a", "a"])}, "vocabulary: wrong"),
        ({"labels": []}, {}, "labels: wrong"),
        ({"labels": [1, 2, 3]}, {}, "labels: wrong"),
        ({"numbers": {"threshold_": -1, "lost_": 0, "kept_": 0}}, {}, "numbers: wrong"),
        ({"first": {"model": "pruned"}}, {}, "expected a model that this version can read"),
        ({"options": header["options"] | {"folds": 1}}, {}, "folds: got 1"),
        ({"options": header["options"] | {"features": "os:system"}}, {}, "function: got 'os:syst"),
    ]
    for changed, other, said in damaged:
        persistence.write(file, "model", header | changed, arrays | other)
        with pytest.raises(InvalidInput, match=said):
            caesura.load(file)


def test_commands_do_not_take_it(model: PrunedSemiCRF, tmp_path: Path) -> None:
    model.save(tmp_path / "it.model")
    assert "got a PrunedSemiCRF, which commands do not support" in bad(
        "segment", tmp_path / "it.model", "-", stdin="at 5 High Road Leeds"
    )
