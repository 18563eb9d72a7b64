"""Training on parts with label patterns, and with learners whose passes are mixed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parts_data import FEATURES, same

import caesura
from caesura import ChainCRF, InvalidInput, SemiCRF
from caesura.demo.citations import citations
from caesura.evaluation import segment_counts

MIXED = ["sgd", "adagrad", "perceptron", "pa", "arow", "svm"]


@pytest.fixture(scope="module")
def documents() -> list[caesura.Document]:
    return citations(60, seed=3)


@pytest.fixture(scope="module")
def parts(documents: list[caesura.Document]) -> list[list[caesura.Document]]:
    return [documents[k : k + 13] for k in range(0, 60, 13)]


def f1(model: Any, documents: Any) -> float:
    gold = [document.segments for document in documents]
    return float(segment_counts(gold, model.predict(documents), model.outside).f1)


# -- label patterns --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (SemiCRF, {"order": 2}),
        (SemiCRF, {"order": 3, "pattern_min_freq": 4}),
        (ChainCRF, {"order": 2, "c2": 1.0}),
        (SemiCRF, {"patterns": ["author > title > date", ("title", "journal", "date")]}),
    ],
)
def test_patterns_have_the_optimum_of_the_whole(
    kind: Any, settings: dict[str, Any], documents: Any, parts: Any
) -> None:
    exact: dict[str, Any] = {
        "features": FEATURES,
        "c2": 0.1,
        "epsilon": 1e-9,
        "delta": 0.0,
    } | settings
    whole, parted = kind(**exact).fit(documents), kind(**exact).fit_parts(parts)
    assert parted.n_features_ == whole.n_features_
    objective = whole.history_[-1].objective
    assert parted.history_[-1].objective == pytest.approx(objective, rel=1e-8)
    assert parted.predict(documents[:5]) == whole.predict(documents[:5])
    assert not parted.approximate_


def test_patterns_have_the_same_bits(parts: Any, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"features": FEATURES, "c2": 0.1, "max_iterations": 8, "order": 2}
    expected = SemiCRF(**settings).fit_parts(parts)
    assert same(SemiCRF(**settings).fit_parts(parts, 2), expected)
    assert same(SemiCRF(**settings).fit_parts(parts, folder=tmp_path), expected)
    warm = [SemiCRF(**settings, warm_start=True).fit_parts(parts[:3]) for _ in range(2)]
    assert same(warm[0].fit_parts(parts), warm[1].fit_parts(parts, 1))


def test_patterns_that_are_not_for_parts(parts: Any) -> None:
    with pytest.raises(InvalidInput, match=r"patterns: got 'grow', expected None or a list"):
        SemiCRF(order=2, patterns="grow").fit_parts(parts)


# -- mixing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", MIXED)
@pytest.mark.filterwarnings("ignore:learner")
def test_mixing_does_not_depend_on_workers(learner: str, parts: Any, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "features": FEATURES,
        "learner": learner,
        "c2": 0.1,
        "max_iterations": 4,
    }
    expected = SemiCRF(**settings).fit_parts(parts)
    assert expected.approximate_
    for workers in (1, 3):
        assert same(SemiCRF(**settings).fit_parts(parts, workers), expected)
    assert same(SemiCRF(**settings).fit_parts(parts, folder=tmp_path), expected)
    place = tmp_path / "checkpoint"
    SemiCRF(**settings | {"max_iterations": 2}).fit_parts(parts, checkpoint=place)
    assert same(SemiCRF(**settings).fit_parts(parts, checkpoint=place), expected)


@pytest.mark.parametrize("learner", MIXED)
@pytest.mark.filterwarnings("ignore:learner")
def test_mixing_learns_as_well_as_one_machine(learner: str) -> None:
    documents, test = citations(200, seed=3), citations(100, seed=9)
    settings: dict[str, Any] = {
        "features": FEATURES,
        "learner": learner,
        "c2": 0.1,
    }  # to their own ends
    whole = SemiCRF(**settings).fit(documents)
    parted = SemiCRF(**settings).fit_parts([documents[k::4] for k in range(4)])
    assert f1(parted, test) > f1(whole, test) - 0.03
    assert f1(parted, test) > 0.6


def test_mixing_is_announced_where_it_approximates(documents: Any, parts: Any) -> None:
    settings: dict[str, Any] = {"features": FEATURES, "learner": "perceptron", "max_iterations": 2}
    with pytest.warns(UserWarning, match="'perceptron' is trained on each of 5 parts alone"):
        model = SemiCRF(**settings).fit_parts(parts)
    assert model.approximate_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not model.fit_parts([documents]).approximate_
    assert not model.fit(documents).approximate_


def test_an_empty_part_changes_nothing(parts: Any) -> None:
    def mixed(some: Any) -> Any:
        settings: dict[str, Any] = {
            "features": FEATURES,
            "learner": "sgd",
            "c2": 0.1,
            "max_iterations": 3,
        }
        with pytest.warns(UserWarning, match="parts alone"):
            return SemiCRF(**settings).fit_parts(some)

    found, expected = mixed([*parts[:2], []]), mixed(parts[:2])
    assert np.array_equal(found.weights_, expected.weights_)


def test_cutting_planes_are_exact(documents: Any, parts: Any) -> None:
    settings: dict[str, Any] = {"features": FEATURES, "learner": "cutting-plane", "c2": 1.0}
    settings["same_label_adjacent"] = False  # else the loss leaves some segments divided
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parted = SemiCRF(**settings, delta=0.01).fit_parts(parts)
    whole = SemiCRF(**settings, delta=0.01).fit(documents)
    assert parted.history_[-1].objective == pytest.approx(whole.history_[-1].objective, rel=0.02)
    assert not parted.approximate_
    assert same(SemiCRF(**settings, delta=0.01).fit_parts(parts, 2), parted)


def test_proximal_steps_approach_the_optimum_of_the_svm(documents: Any, parts: Any) -> None:
    settings: dict[str, Any] = {"features": FEATURES, "learner": "svm", "c2": 1.0}
    optimum = SemiCRF(**settings).fit(documents).history_[-1].objective
    with pytest.warns(
        UserWarning, match="'svm' is trained on blocks .*'cutting-plane' is exact on parts"
    ):
        parted = SemiCRF(**settings).fit_parts(parts)
    assert parted.approximate_
    assert optimum * 0.999 < parted.history_[-1].objective < optimum * 1.1


@pytest.mark.parametrize(("loss", "same"), [(None, "cutting-plane"), ("log", "lbfgs")])
def test_eg_is_refused_with_a_remedy(loss: str | None, same: str, parts: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"learner: got 'eg', .*; use {same}, which minimises"):
        SemiCRF(learner="eg", loss=loss, c2=0.1).fit_parts(parts)
